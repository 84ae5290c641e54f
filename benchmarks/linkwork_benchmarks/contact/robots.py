# SPDX-License-Identifier: BSD-3-Clause
"""Cassie on the ground, in batches on one core: times of a step beside ``mj_step`` of the same scene.

Both feet are boxes with four contact points each, eight in all; four loops, springs, limits. A controller holds the
stance: torques of the equilibrium, springs and dampers of the motors about it. Ours is a kernel, computed in every step
and counted; in MuJoCo springs and dampers of joints stand in for it, and torques are applied forces.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import process_time
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork.kernels.scalar import kernel
from linkwork.model.shapes import Box
from linkwork.parsing.mjcf import mujoco_map
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import MODELS, Floats

CASSIE = MODELS / "cassie" / "cassie.xml"
IN_MUJOCO = MODELS / "cassie" / "cassie_nomesh.xml"
DT = 1e-3
FRICTION = 0.8
PART = 4096
"""Robots that are timed together; they also are in a batch of many."""


@dataclass(frozen=True)
class Stance:
    """A robot that stands, and what holds it."""

    robot: lw.Mechanism
    q: Floats
    torques: Floats
    """Of the equilibrium, ``(nv,)``."""
    motors: tuple[tuple[int, int], ...]
    """Places of motors in v and in q."""


@dataclass(frozen=True)
class Start:
    """How states of a batch begin, and the gains of the controller, in N m/rad and N m s/rad."""

    height: float
    """Up to which feet are above the ground, in meters."""
    speed: float
    """Up to which the pelvis moves in each direction, in m/s."""
    turning: float
    """And turns, in rad/s."""
    stiffness: float
    damping: float


STARTS = {
    "standing": Start(0.0, 0.0, 0.0, 1000.0, 30.0),
    "pushed": Start(0.0, 0.1, 0.0, 1000.0, 30.0),
    "dropped": Start(0.05, 0.3, 0.3, 100.0, 1.0),
}
"""Gains are lower where feet are in the air: they act on light legs there."""


@cache
def cassie_stance() -> Stance:
    """Cassie where it stands still; `Unable` where there is no file of it."""
    if not CASSIE.is_file():
        raise Unable(f"no file {CASSIE}")
    robot = zoo.cassie_on_ground(lw.load(CASSIE), friction=FRICTION)
    q = robot.poses[zoo.ASSEMBLED]
    points, held = lw.contact.ContactGeometry(robot)(q).points, list[lw.constraints.Point]()
    for k, pair in enumerate(robot.contacts):
        foot = lw.frame_placement(robot, q, pair.second.body)
        for at in points[4 * k : 4 * k + 3]:
            on_foot = foot.rotation.T @ (at - foot.position)
            held.append(
                lw.constraints.Point(
                    "world", pair.second.body, first_at=at, second_at=on_foot, name=f"held {len(held)}"
                )
            )
    stance = robot.constrained(*held).equilibrium(q)
    motors = tuple((robot.v_index(motor.joint), robot.q_index(motor.joint)) for motor in robot.actuators)
    return Stance(robot, stance.q, stance.torque, motors)


def holding(stance: Stance, start: Start) -> lw.Controller:
    """The controller as a kernel."""
    motors = stance.motors
    count = len(motors)

    @kernel
    def hold(time: Any, q: Any, v: Any, torques: Any, at: Any, stiffness: Any, damping: Any, tau: Any) -> None:
        for k in range(len_of_v):
            tau[k] = torques[k]
        for e in range(count):
            i = motors[e][0]
            j = motors[e][1]
            tau[i] = torques[i] - stiffness * (q[j] - at[j]) - damping * v[i]

    len_of_v = stance.robot.nv
    return lw.Controller(hold, torques=stance.torques, at=stance.q, stiffness=start.stiffness, damping=start.damping)


def states(stance: Stance, start: Start, count: int) -> tuple[Floats, Floats]:
    """Configurations and velocities of a batch."""
    rng = np.random.default_rng(3)
    q, v = np.tile(stance.q, (count, 1)), np.zeros((count, stance.robot.nv))
    q[:, 2] += rng.uniform(0.0, 1.0, count) * start.height
    v[:, :3] = start.speed * rng.uniform(-1.0, 1.0, (count, 3))
    v[:, 3:6] = start.turning * rng.uniform(-1.0, 1.0, (count, 3))
    return q, v


def rolling(
    stance: Stance, start: Start, begin: tuple[Floats, Floats], seconds: float, compile: bool
) -> Callable[[], lw.Trajectory]:
    """A call that simulates robots on one core."""
    controller = holding(stance, start)

    def roll() -> lw.Trajectory:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.errors.StateWarning)
            return lw.rollouts(
                stance.robot, *begin, seconds=seconds, dt=DT, controller=controller, compile=compile, threads=1
            )

    return roll


def mujoco_scene(stance: Stance, start: Start) -> Any:
    """The scene in MuJoCo: its own solver and softness of contacts, as they are by default."""
    import mujoco as mj

    spec = mj.MjSpec.from_file(str(IN_MUJOCO))
    spec.option.timestep = DT
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    spec.worldbody.add_geom(name="ground", type=mj.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=0, conaffinity=0)
    for pair in stance.robot.contacts:
        foot = pair.second
        assert isinstance(foot.solid, Box)
        x, y, z, w = foot.placement.quaternion
        spec.body(foot.body).add_geom(
            name=foot.name,
            type=mj.mjtGeom.mjGEOM_BOX,
            size=np.array(foot.solid.size) / 2,
            pos=foot.placement.position,
            quat=[w, x, y, z],
            contype=0,
            conaffinity=0,
            mass=0,
        )
        spec.add_pair(
            name=pair.name,
            geomname1="ground",
            geomname2=foot.name,
            condim=3,
            friction=[FRICTION, FRICTION, 0, 0, 0],
        )
    model = spec.compile()
    at = mujoco_map(stance.robot).to_qpos(stance.q)
    for motor in stance.robot.actuators:
        joint = model.joint(motor.joint).id
        model.jnt_stiffness[joint] = start.stiffness
        model.qpos_spring[model.jnt_qposadr[joint]] = at[model.jnt_qposadr[joint]]
        model.dof_damping[model.jnt_dofadr[joint]] += start.damping
    return model


def stepping(stance: Stance, start: Start, q: Floats, v: Floats, seconds: float) -> Callable[[], int]:
    """A call of ``mj_step`` for all steps of one robot, which returns how many contacts there are in the end."""
    import mujoco as mj

    model, same = mujoco_scene(stance, start), mujoco_map(stance.robot)
    data, steps = mj.MjData(model), round(seconds / DT)

    def step() -> int:
        mj.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = same.to_qpos(q), same.to_qvel(q, v)
        data.qfrc_applied[:] = same.to_qvel(q, stance.torques)
        for _ in range(steps):
            mj.mj_step(model, data)
        return int(data.ncon)

    return step


def measured(motion: str, count: int, seconds: float, rounds: int) -> dict[str, float]:
    """Times of a step in microseconds; iterations of the last step, steps that were not solved, how open loops are.

    Contenders take turns part by part, and the best round of each part counts: other processes disturb less then.
    """
    stance, start = cassie_stance(), STARTS[motion]
    q, v = states(stance, start, count)
    parts = [(q[k : k + PART], v[k : k + PART]) for k in range(0, count, PART)]
    few = [(q[k : k + PART // 16], v[k : k + PART // 16]) for k in range(0, count, 8 * PART)]
    calls: dict[str, list[tuple[Callable[[], Any], int]]] = {
        "compiled": [(rolling(stance, start, part, seconds, True), len(part[0])) for part in parts],
        "native": [(rolling(stance, start, part, seconds, False), len(part[0])) for part in few],
        "mujoco": [(stepping(stance, start, q[k], v[k], seconds), 1) for k in range(0, count, PART // 8)],
    }
    for name in ("compiled", "native"):
        calls[name][0][0]()  # code is made
    best: dict[tuple[str, int], float] = {}
    last: dict[tuple[str, int], Any] = {}
    for _ in range(rounds):
        for k in range(max(map(len, calls.values()))):
            for name, each in calls.items():
                if k < len(each):
                    begin = process_time()
                    last[name, k] = each[k][0]()
                    best[name, k] = min(best.get((name, k), np.inf), process_time() - begin)
    found: dict[str, float] = {}
    steps = round(seconds / DT)
    for name, each in calls.items():
        robots = sum(number for _, number in each)
        found[f"{name}.us"] = 1e6 * sum(best[name, k] for k in range(len(each))) / (steps * robots)
    for name in ("compiled", "native"):
        runs = [last[name, k] for k in range(len(calls[name]))]
        found[f"{name}.open"] = max(float(run.errors.max()) for run in runs)
        found[f"{name}.iterations"] = float(np.mean([run.contacts.iterations[-1].mean() for run in runs]))
        found[f"{name}.missed"] = float(sum(run.contacts.missed[-1].sum() for run in runs))
        found[f"{name}.ratio"] = found["mujoco.us"] / found[f"{name}.us"]
    return found | {"mujoco.contacts": float(np.mean([last["mujoco", k] for k in range(len(calls["mujoco"]))]))}
