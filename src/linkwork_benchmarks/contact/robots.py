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
    points, held = lw.ContactGeometry(robot)(q).points, list[lw.Point]()
    for k, pair in enumerate(robot.contacts):
        foot = lw.frame_placement(robot, q, pair.second.body)
        for at in points[4 * k : 4 * k + 3]:
            on_foot = foot.rotation.T @ (at - foot.position)
            held.append(lw.Point("world", pair.second.body, first_at=at, second_at=on_foot, name=f"held {len(held)}"))
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


def rolling(stance: Stance, start: Start, count: int, seconds: float, compile: bool) -> Callable[[], lw.Trajectory]:
    """A call that simulates a batch on one core."""
    q, v = states(stance, start, count)
    controller = holding(stance, start)

    def roll() -> lw.Trajectory:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.StateWarning)
            return lw.rollouts(
                stance.robot, q, v, seconds=seconds, dt=DT, controller=controller, compile=compile, threads=1
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


def mujoco_seconds(stance: Stance, start: Start, count: int, seconds: float) -> tuple[float, float]:
    """Time of a step of ``mj_step``, and contacts in the end, on average."""
    import mujoco as mj

    model, same = mujoco_scene(stance, start), mujoco_map(stance.robot)
    data, steps = mj.MjData(model), round(seconds / DT)
    q, v = states(stance, start, count)
    took, touching = 0.0, 0
    for k in range(count):
        mj.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = same.to_qpos(q[k]), same.to_qvel(q[k], v[k])
        data.qfrc_applied[:] = same.to_qvel(q[k], stance.torques)
        begin = process_time()
        for _ in range(steps):
            mj.mj_step(model, data)
        took += process_time() - begin
        touching += data.ncon
    return took / (steps * count), touching / count


def measured(motion: str, count: int, seconds: float, rounds: int) -> dict[str, float]:
    """Times of a step in microseconds, contenders taking turns; iterations of the last step, and how open loops are."""
    stance, start = cassie_stance(), STARTS[motion]
    few = min(count, 256)
    ways = {
        "compiled": (rolling(stance, start, count, seconds, compile=True), count),
        "native": (rolling(stance, start, few, seconds, compile=False), few),
    }
    found: dict[str, float] = {}
    steps = round(seconds / DT)
    for _, (roll, _) in ways.items():
        roll()  # code is made
    for _ in range(rounds):
        for name, (roll, robots) in ways.items():
            begin = process_time()
            trajectory = roll()
            took = 1e6 * (process_time() - begin) / (steps * robots)
            found[f"{name}.us"] = min(found.get(f"{name}.us", np.inf), took)
            found[f"{name}.open"] = float(trajectory.errors.max())
            found[f"{name}.iterations"] = float(trajectory.contacts.iterations[-1].mean())
            found[f"{name}.missed"] = float(trajectory.contacts.missed[-1].sum())
        took, touching = mujoco_seconds(stance, start, 4, seconds)
        found["mujoco.us"] = min(found.get("mujoco.us", np.inf), 1e6 * took)
        found["mujoco.contacts"] = touching
    return found | {f"{name}.ratio": found["mujoco.us"] / found[f"{name}.us"] for name in ways}
