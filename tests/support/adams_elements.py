# SPDX-License-Identifier: BSD-3-Clause
"""Project Chrono's tests of springs, of an actuator and of a revolute-spherical link: set-ups, and what ADAMS found.

The set-ups have the numbers of Chrono's unit tests ``utest_JOINT_*`` (the models of ADAMS beside the results of springs
are of others).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism

GRAVITY = (0, 0, -9.80665)
SLENDER = np.diag([0.04, 0.1, 0.1])
FOLDERS = {
    "TranSpring_Case01": "transpring_force",
    "TranSpring_Case02": "transpring_force",
    "TranSpringCB_Case01": "transpringcb_force",
    "TranSpringCB_Case02": "transpringcb_force",
    "TranSpringCB_Case04": "transpringcb_force",
    "RotSpring_Case01": "rotspring_force",
    "RotSpring_Case02": "rotspring_force",
    "LinActuator_Case01": "lin_actuator",
    "LinActuator_Case02": "lin_actuator",
    "RevSpherical_Case01": "revsph_constraint",
    "RevSpherical_Case02": "revsph_constraint",
}
"""Folders of results, by case."""


class Setup(NamedTuple):
    """A mechanism, and what is compared with Chrono's tolerances (root mean squares)."""

    robot: Mechanism
    found: dict[str, Callable[[Any], np.ndarray]]
    tolerances: dict[str, float]
    dt: float = 1e-3


def setup(case: str) -> Setup:
    """The set-up of a case."""
    name, number = case.split("_Case")
    make = {"RotSpring": rotational, "LinActuator": actuator, "RevSpherical": revolute_spherical}
    return make[name](int(number)) if name in make else translational(name, int(number))


MOTION: dict[str, Callable[[Any], np.ndarray]] = {
    "Pos": lambda run: run.frame_path("center"),
    "Vel": lambda run: run.frame_velocity("center")[:, 3:],
    "Acc": lambda run: run.frame_acceleration("center")[:, 3:],
    "Avel": lambda run: run.frame_velocity("center")[:, :3],
    "Aacc": lambda run: run.frame_acceleration("center")[:, :3],
}
"""What is known of the center of mass, in the world's axes."""


def translational(name: str, number: int) -> Setup:
    """A body on a spring and a damper between a point of it and the world."""
    start, turn, end = {
        1: ((0, 0, 0), 0.0, (0, 0, 0)),
        2: ((0, 2, 0), 0.0, (0, 2, 0)),
        4: ((0, 4, 0), -np.pi / 2, (0, 2, 0)),
    }[number]
    stiffness, damping = {1: (10.0, 0.5), 2: (100.0, 5.0), 4: (lambda x: 50 * x + 10 * x * np.abs(x), 5.0)}[number]
    build = lw.Builder(f"{name}_Case0{number}", gravity=GRAVITY)
    build.body("body", lw.Inertia(1.0, (0, 0, 0), SLENDER))
    c, s = np.cos(turn), np.sin(turn)
    build.joint("free", lw.joints.Free(), "world", "body", at=lw.Placement(start, [[c, -s, 0], [s, c, 0], [0, 0, 1]]))
    build.frame("center", "body")
    at = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) @ (np.array(end) - start)
    spring = lw.SpringDamper(
        ("world", (0, 0, 0)),
        ("body", tuple(at)),
        stiffness,
        damping,
        free_length=float(np.linalg.norm(end)),
        name="spring",
    )

    def on_world(run: Any) -> np.ndarray:
        """Of the spring, from the world's point to the other."""
        robot = run.robot
        states = lw.forces.element_states(robot, run.q, run.v)["spring"]
        along = run.frame_path("body", at)
        size = np.linalg.norm(along, axis=-1, keepdims=True)
        return -states.force * along / np.where(size > 0, size, 1.0)

    exact = name == "TranSpringCB"
    tight = {"Pos": 1e-4, "Vel": 5e-5, "Acc": 5e-4, "Avel": 1e-10, "Aacc": 1e-10, "Rforce": 5e-4}
    loose = {"Pos": 1e-3, "Vel": 3e-4, "Acc": 2e-2, "Avel": 1e-10, "Aacc": 1e-10, "Rforce": 5e-3}
    pendulum = {"Pos": 1e-4, "Vel": 5e-4, "Acc": 1e-3, "Avel": 5e-3, "Aacc": 5e-2, "Rforce": 5e-3}
    tolerances = pendulum if number == 4 else tight if exact else loose
    return Setup(build.build().with_forces(spring), {**MOTION, "Rforce": on_world}, tolerances)


def rotational(number: int) -> Setup:
    """A pendulum on a hinge about y with a torsion spring, linear or hardening."""
    build = lw.Builder(f"RotSpring_Case0{number}", gravity=GRAVITY)
    turned = lw.Placement((0, 0, 0), [[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # by -90 degrees about x
    build.body("body", lw.Inertia(1.0, (2, 0, 0), SLENDER))
    build.joint("joint", lw.joints.Revolute("z"), "world", "body", at=turned)
    build.frame("center", "body", (2, 0, 0))
    stiffness: Any = 200.0 if number == 1 else lambda x: (50 + 10 * np.abs(x)) * x
    robot = build.build().with_forces(
        lw.forces.TorsionSpring("joint", stiffness=stiffness, damping=10.0, name="spring")
    )
    found = {
        **MOTION,
        "Rforce": lambda run: -run.reactions["joint"][:, 3:],
        "Rtorque": lambda run: -run.reactions["joint"][:, :3],
    }
    tolerances = {"Pos": 1e-3, "Vel": 5e-4, "Acc": 2e-2, "Avel": 1e-3, "Aacc": 5e-3, "Rforce": 5e-3, "Rtorque": 1e-2}
    return Setup(robot, found, tolerances)


def actuator(number: int) -> Setup:
    """A plate on a slider that is driven at a constant speed."""
    build = lw.Builder(f"LinActuator_Case0{number}", gravity=GRAVITY)
    angle, speed = {1: (0.0, 1.0), 2: (np.pi / 4, 0.5)}[number]
    c, s = np.cos(angle), np.sin(angle)
    build.body("plate", lw.Inertia(1.0, (0, 0, 0), np.eye(3)))
    turned = lw.Placement((0, 0, 0), [[c, 0, s], [0, 1, 0], [-s, 0, c]])
    build.joint("slider", lw.joints.Prismatic("z"), "world", "plate", at=turned)
    build.frame("center", "plate")
    robot = build.build().constrained(lw.Drive("slider", lambda t: speed * t, name="actuator"))
    axis = np.array([s, 0, c])

    def of_drive(run: Any) -> np.ndarray:
        """The part along the axis of the force that moves the plate."""
        return (run.reactions["slider"][:, 3:] @ axis)[:, None] * axis

    def on_world(run: Any) -> np.ndarray:
        """Of the slider alone, which carries no force along its axis."""
        return of_drive(run) - run.reactions["slider"][:, 3:]

    def moment(run: Any) -> np.ndarray:
        return -run.reactions["slider"][:, :3] + np.cross(run.frame_path("center"), on_world(run))

    found = {**MOTION, "RforceA": of_drive, "RforceP": on_world, "RtorqueP": moment}
    tolerances = {"Pos": 2e-3, "Vel": 1e-3, "Acc": 2e-2, "Avel": 2e-2, "Aacc": 2e-2, "RforceA": 5e-1}
    further = {"RforceP": 2e-2, "RtorqueP": 1e-10} if number == 1 else {"RforceP": 3e-1, "RtorqueP": 5e-3}
    return Setup(robot, found, tolerances | further)


def revolute_spherical(number: int) -> Setup:
    """A body on a ball at the end of a massless rod that turns about an axis."""
    build = lw.Builder(f"RevSpherical_Case0{number}", gravity=GRAVITY)
    base, axis = {1: ((0, 0, 0), (0, 0, 1)), 2: ((1, 2, 3), (0, 1, 1))}[number]
    build.body("rod", lw.Inertia.zero())
    build.body("body", lw.Inertia(1.0, (0, 2, 0), np.diag([0.1, 0.04, 0.1])))
    build.joint("joint", lw.joints.Revolute(axis), "world", "rod", at=base)
    build.joint("ball", lw.joints.Spherical(), "rod", "body", at=(2, 0, 0))
    build.frame("center", "body", (0, 2, 0))
    found = {
        **MOTION,
        "Rforce_Body1": lambda run: -run.reactions["joint"][:, 3:],
        "Rtorque_Body1": lambda run: -run.reactions["joint"][:, :3],
        "Rforce_Body2": lambda run: run.reactions["ball"][:, 3:],
        "Rtorque_Body2": lambda run: run.reactions["ball"][:, :3],
    }
    tolerances = {"Pos": 1e-4, "Vel": 1e-4, "Acc": 1e-1, "Avel": 1e-4 if number == 1 else 1e-3, "Aacc": 5e-1}
    forces = dict.fromkeys(("Rforce_Body1", "Rtorque_Body1", "Rforce_Body2", "Rtorque_Body2"), 5e-1)
    return Setup(build.build(massless=True), found, tolerances | forces, 2.5e-4)
