# SPDX-License-Identifier: BSD-3-Clause
"""Whole-body motions under control: Cassie, Talos and ANYmal move their center of mass (**proximal** Figs. 9 to 11).

As the paper has it (Sec. V-E): task-space inverse dynamics that accounts for the kinematic constraints and a reference
of the center of mass gives torques; the simulation is constrained forward dynamics with these torques. Feet (and
Talos' grippers) are held by constraints: points at heel and toe of Cassie's feet, which are redundant, welds of the
four limbs of Talos, points of the four feet of ANYmal. Nothing bounds torques or forces.

| symbol | meaning                                                                                    |
|--------|--------------------------------------------------------------------------------------------|
| A, b   | constraints and center of mass: ``A a = b``; of constraints and of the motion's Jacobian     |
| ap     | accelerations that bring the joints back to their posture                                  |
| B      | actuation: unit torques of the joints that have motors                                     |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from linkwork_benchmarks import scenes
from linkwork_benchmarks.robots import EXAMPLES, MODELS, Floats

AMPLITUDE, PERIOD = np.array([0.01, 0.03, 0.04]), 2.0
"""Of the motion: meters forwards, to the left and down; seconds."""
STIFFNESS, DAMPING = 100.0, 20.0
"""Of errors of the center of mass and of the posture: 1/s², 1/s."""


@dataclass(frozen=True)
class Motion:
    """A robot whose limbs are held, the configuration from which it moves, and the velocities that have motors."""

    robot: lw.Mechanism
    q: Floats
    motors: tuple[int, ...]


def anymal() -> Motion:
    """ANYmal on point feet: 18 velocities and 12 rows."""
    path = EXAMPLES / "anymal_b_simple_description/robots/anymal.urdf"
    robot = lw.load(path, base="floating", contacts=False)
    bends = {"HAA": (0.1, 0.1), "HFE": (0.7, -0.7), "KFE": (-1.0, 1.0)}
    feet = ("LF", "RF", "LH", "RH")
    angles = {
        f"{foot}_{joint}": (x[0] if foot[1] == "F" else x[1]) * (-1.0 if joint == "HAA" and foot[0] == "L" else 1.0)
        for foot in feet
        for joint, x in bends.items()
    }
    return _held(robot, angles, [lw.constraints.Point("world", f"{foot}_FOOT", name=foot) for foot in feet])


def talos() -> Motion:
    """Talos with feet and grippers welded to the world, its fingers fixed: 36 velocities and 24 rows."""
    robot = scenes.talos()
    robot = robot.reduced([joint.name for joint in robot.joints if joint.name.startswith("gripper")])
    robot = robot.with_parameters(friction=np.zeros(robot.nv))
    legs = {"leg_{}_3_joint": -0.45, "leg_{}_4_joint": 0.9, "leg_{}_5_joint": -0.45}
    angles = {name.format(side): x for name, x in legs.items() for side in ("left", "right")}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        angles |= {f"arm_{side}_2_joint": 0.3 * sign, f"arm_{side}_4_joint": -1.5}
    limbs = ("left_sole_link", "right_sole_link", "gripper_left_base_link", "gripper_right_base_link")
    return _held(robot, angles, [lw.constraints.Weld("world", limb, name=limb) for limb in limbs])


def cassie() -> Motion:
    """Cassie on heels and toes: 32 velocities; 12 rows of loops, 12 redundant ones of feet, 4 of locked springs."""
    robot = lw.zoo.cassie_on_ground(lw.load(MODELS / "cassie" / "cassie_nomesh.xml"), "capsule")
    q = robot.poses["assembled"]
    points = lw.contact.ContactGeometry(robot)(q).points
    for k, x in enumerate(points):
        foot = robot.contacts[k // 2].second.body
        robot = robot.with_frame(f"contact {k}", foot, lw.frame_placement(robot, q, foot).inverse().act(x))
    springs = [joint.name for joint in robot.joints if joint.stiffness.any()]
    locks = [lw.constraints.JointLock(name, float(q[robot.q_index(name)])) for name in springs]
    ends = [lw.constraints.Point("world", f"contact {k}", first_at=x) for k, x in enumerate(points)]
    robot = robot.without_contacts().constrained(*ends, *locks)
    return Motion(robot, q, tuple(robot.v_index(motor.joint) for motor in robot.actuators))


MOTIONS: dict[str, Callable[[], Motion]] = {"Cassie": cassie, "Talos": talos, "ANYmal": anymal}


def _held(robot: lw.Mechanism, angles: dict[str, float], limbs: list[lw.constraints.Constraint]) -> Motion:
    """A robot that is held by its limbs where they are when joints have these angles."""
    q = robot.neutral()
    for name, angle in angles.items():
        q[robot.q_index(name)] = angle
    base = robot.v_slice(robot.joints[0].name)
    motors = tuple(range(base.stop, robot.nv))
    return Motion(robot.constrained(*limbs, at=q), q, motors)


def reference(t: float) -> tuple[Floats, Floats, Floats]:
    """Where the center of mass is to be, its velocity and its acceleration, from where it was: at rest at first."""
    rate = 2 * np.pi / PERIOD
    s, ds, dds = _ramp(t / PERIOD)
    phase = np.array([rate * t, rate * t, 0.5 * rate * t])
    x, dx, ddx = np.sin(phase), np.cos(phase), -np.sin(phase)
    w = np.array([rate, rate, 0.5 * rate])
    sign = AMPLITUDE * np.array([1.0, 1.0, -1.0])
    return (
        sign * s * x,
        sign * (ds / PERIOD * x + s * w * dx),
        sign * (dds / PERIOD**2 * x + 2 * ds / PERIOD * w * dx + s * w**2 * ddx),
    )


def _ramp(s: float) -> tuple[float, float, float]:
    """A polynomial from 0 to 1, with its derivatives, which begins and ends with zero velocity and acceleration."""
    if s >= 1.0:
        return 1.0, 0.0, 0.0
    return s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)


def torques(motion: Motion) -> Callable[[float, Floats, Floats], Floats]:
    """A controller: torques of the motors that make the center of mass follow its reference."""
    robot, q0 = motion.robot, motion.q
    start = lw.center_of_mass(robot, q0)
    B = np.eye(robot.nv)[list(motion.motors)].T

    def control(t: float, q: Floats, v: Floats) -> Floats:
        now = robot.terms(q, v)
        x, dx, ddx = reference(t)
        wanted = ddx + DAMPING * (dx - now.center_of_mass_velocity) + STIFFNESS * (start + x - now.center_of_mass)
        K, C = now.constraint_jacobian, now.center_of_mass_jacobian
        A = np.vstack([K, C])
        b = np.concatenate([-now.constraint_bias, wanted - now.center_of_mass_bias_acceleration])
        ap = STIFFNESS * robot.difference(q, q0) - DAMPING * v
        # of all accelerations with A a = b the closest to ap
        a = ap + np.linalg.lstsq(A, b - A @ ap, rcond=1e-10)[0]
        needed = now.mass_matrix @ a + now.bias_forces - lw.passive_forces(robot, q, v)
        shares = np.linalg.lstsq(np.hstack([B, K.T]), needed, rcond=1e-10)[0]
        held: Floats = B @ shares[: B.shape[1]]
        return held

    return control


def run(name: str, seconds: float = 4.0, dt: float = 1e-3, **options: Any) -> lw.Trajectory:
    """Simulate one of `MOTIONS`; its torques are held over a step."""
    motion = MOTIONS[name]()
    how = {"integrator": "rk4", "controller": torques(motion), **options}
    return lw.simulate(motion.robot, motion.q, seconds=seconds, dt=dt, **how)


def tracking_error(trajectory: lw.Trajectory) -> float:
    """How far the center of mass is from its reference at most, meters."""
    if trajectory.robot is None:
        raise ValueError("the trajectory has no robot: simulate one")
    center = lw.center_of_mass(trajectory.robot, trajectory.q)
    path = center[0] + np.array([reference(float(t))[0] for t in trajectory.times])
    return float(np.linalg.norm(center - path, axis=1).max())
