# SPDX-License-Identifier: BSD-3-Clause
"""Project Chrono's joint tests: set-ups by name of case, and what MSC ADAMS printed, whichever files of it are there.

Set-ups have the numbers of Chrono's unit tests ``utest_JOINT_*``. A file ``NAME_CaseNN_ADAMS_WHAT.txt`` in a folder of
`FOLDER` is compared without a change of code: NAME is one of `SETUPS`, WHAT one of the quantities of its set-up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism

FOLDER = Path(os.environ.get("LINKWORK_VALIDATION", "../shared/validation")) / "adams"
MARK = "_ADAMS_"
GRAVITY = (0, 0, -9.80665)
LENGTH = 2.0
"""From the joint of a pendulum to its center, in m; its mass is 1 kg."""
ALONG_X, ALONG_Y, ALONG_Z = np.diag([0.04, 0.1, 0.1]), np.diag([0.1, 0.04, 0.1]), np.diag([0.1, 0.1, 0.04])
"""Moments of inertia of slender bodies."""
QUARTER = np.pi / 2

Quantities = dict[str, Callable[[Any], np.ndarray]]
Tolerances = Mapping[str, float]


class Setup(NamedTuple):
    """A mechanism, and what is compared with Chrono's tolerances (root mean squares)."""

    robot: Mechanism
    quantities: Quantities
    tolerances: Tolerances
    dt: float = 1e-3


def cases() -> list[str]:
    """Cases of which there are results."""
    return sorted({path.name.partition(MARK)[0] for path in FOLDER.glob(f"*/*{MARK}*.txt")})


def printed(case: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Times and columns of the results of a case, by quantity."""
    tables = {path.stem.partition(MARK)[2]: path for path in sorted(FOLDER.glob(f"*/{case}{MARK}*.txt"))}
    return {what: (x[:, 0], x[:, 1:]) for what, x in ((w, np.loadtxt(p, skiprows=3)) for w, p in tables.items())}


def setup(case: str) -> Setup:
    """The set-up of a case, such as ``Revolute_Case01``."""
    name, _, number = case.partition("_Case")
    return SETUPS[name](name, int(number))


def turned(axis: int, angle: float) -> np.ndarray:
    """The rotation about x, y or z."""
    k, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[k, k] = R[j, j] = np.cos(angle)
    R[j, k] = np.sin(angle)
    R[k, j] = -R[j, k]
    return R


def motion(frame: str = "center", prefix: str = "") -> Quantities:
    """Position, orientation, velocities and accelerations of a frame, in the world's axes."""
    quantities: Quantities = {
        "Pos": lambda run: run.frame_path(frame),
        "Quat": lambda run: run.frame_placement(frame).quaternion[:, [3, 0, 1, 2]],
        "Vel": lambda run: run.frame_velocity(frame)[:, 3:],
        "Acc": lambda run: run.frame_acceleration(frame)[:, 3:],
        "Avel": lambda run: run.frame_velocity(frame)[:, :3],
        "Aacc": lambda run: run.frame_acceleration(frame)[:, :3],
    }
    return {prefix + what: quantity for what, quantity in quantities.items()}


def error(ours: np.ndarray, theirs: np.ndarray, what: str) -> float:
    """Root mean square over time of the worst column; quaternions of both signs are one rotation."""
    if what.endswith("Quat"):
        ours = ours * np.sign((ours * theirs).sum(axis=1, keepdims=True))
    return float(np.sqrt(((ours - theirs) ** 2).mean(axis=0)).max())


def on_ground(joint: str) -> Quantities:
    """Force and torque of a joint on the ground, at the joint, in the world's axes."""
    return {
        "Rforce": lambda run: -run.reactions[joint][:, 3:],
        "Rtorque": lambda run: -run.reactions[joint][:, :3],
    }


def tolerances(*values: float) -> dict[str, float]:
    """Of Chrono's tests, in their order."""
    return dict(zip(("Pos", "Vel", "Acc", "Quat", "Avel", "Aacc", "Rforce", "Rtorque"), values, strict=True))


# Joints -----------------------------------------------------------------------------------------------------------

ORIGIN, AWAY = (0.0, 0.0, 0.0), (1.0, 2.0, 3.0)
PLACES: dict[tuple[str, int], tuple[tuple[float, ...], np.ndarray]] = {
    ("Revolute", 1): (ORIGIN, turned(0, -QUARTER)),
    ("Revolute", 2): (AWAY, turned(0, -QUARTER / 2)),
    ("Spherical", 1): (ORIGIN, np.eye(3)),
    ("Spherical", 2): (AWAY, turned(0, -QUARTER / 2)),
    ("Universal", 1): (ORIGIN, turned(0, QUARTER)),
    ("Universal", 2): (ORIGIN, turned(1, QUARTER)),
    ("Universal", 3): (ORIGIN, turned(2, -QUARTER / 2) @ turned(0, QUARTER) @ turned(2, QUARTER / 2)),
    ("Prismatic", 1): (ORIGIN, np.eye(3)),
    ("Prismatic", 2): (AWAY, turned(0, -QUARTER / 2)),
    ("Prismatic", 3): (AWAY, turned(0, -QUARTER)),
    ("Cylindrical", 1): (ORIGIN, np.eye(3)),
    ("Cylindrical", 2): (ORIGIN, turned(0, -QUARTER)),
    ("Cylindrical", 3): (AWAY, turned(0, -QUARTER / 2)),
}
"""Where joints are, and their axes."""
JOINTS: dict[str, Any] = {
    "Revolute": lw.joints.Revolute("z"),
    "Spherical": lw.joints.Spherical(),
    "Universal": lw.joints.Universal("x", "y"),
    "Prismatic": lw.joints.Prismatic("z"),
    "Cylindrical": lw.joints.Revolute("z"),
}
ACCURACY: dict[tuple[str, int], Tolerances] = {
    ("Revolute", 1): tolerances(1e-3, 1e-4, 2e-2, 1e-3, 1e-2, 1e-2, 2e-2, 1e-2),
    ("Revolute", 2): tolerances(1e-3, 1e-4, 1e-2, 1e-3, 1e-5, 1e-2, 1e-2, 1e-2),
    ("Spherical", 1): tolerances(2e-3, 1e-3, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 1e-6),
    ("Spherical", 2): tolerances(2e-3, 1e-3, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 1e-6),
    ("Universal", 1): tolerances(2e-3, 2e-3, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 1e-6),
    ("Universal", 2): tolerances(2e-3, 2e-3, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 1e-6),
    ("Universal", 3): tolerances(2e-3, 2e-3, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 5e-4),
    ("Prismatic", 1): tolerances(1e-2, 1e-4, 2e-2, 1e-3, 2e-2, 2e-2, 1e-6, 1e-6),
    ("Prismatic", 2): tolerances(1e-2, 1e-4, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 1e-1),
    ("Prismatic", 3): tolerances(1e-5, 1e-4, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 1e-3),
    ("Cylindrical", 1): tolerances(1e-2, 1e-4, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 1e-6),
    ("Cylindrical", 2): tolerances(1e-2, 1e-4, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 1e-6),
    ("Cylindrical", 3): tolerances(1e-2, 1e-4, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 5e-1),
}


def pendulum(name: str, number: int) -> Setup:
    """A body on a joint to the ground."""
    where, axes = PLACES[name, number]
    hanging = name == "Universal"
    center = (0, 0, -LENGTH) if hanging else (LENGTH, 0, 0)
    build = lw.Builder(f"{name}_Case0{number}", gravity=GRAVITY)
    carrier = "world"
    if name == "Cylindrical":  # a slider that turns on a slider
        carrier = "slider"
        build.body(carrier, lw.Inertia.zero())
        build.joint("slide", lw.joints.Prismatic("z"), "world", "slider", at=lw.Placement(where, axes))
    build.body("body", lw.Inertia(1.0, center, ALONG_Z if hanging else ALONG_X))
    at = lw.Placement() if carrier != "world" else lw.Placement(where, axes)
    build.joint("joint", JOINTS[name], carrier, "body", at=at)
    build.frame("center", "body", center)
    robot = build.build(massless=name == "Cylindrical")
    reactions = on_ground("joint")
    if name in ("Prismatic", "Cylindrical"):  # about the place on the ground

        def about_ground(run: Any) -> np.ndarray:
            joint = run.frame_path("body")
            return reactions["Rtorque"](run) + np.cross(joint - np.array(where), reactions["Rforce"](run))

        return Setup(robot, {**motion(), **reactions, "Rtorque": about_ground}, ACCURACY[name, number])
    return Setup(robot, {**motion(), **reactions}, ACCURACY[name, number])


def rotational(name: str, number: int) -> Setup:
    """A pendulum on a hinge about y with a torsion spring, linear or hardening."""
    stiffness: Any = {1: 200.0, 2: lambda x: (50 + 10 * np.abs(x)) * x}[number]
    robot = pendulum("Revolute", 1).robot.with_forces(
        lw.forces.TorsionSpring("joint", stiffness=stiffness, damping=10.0, name="spring")
    )
    return Setup(robot, {**motion(), **on_ground("joint")}, tolerances(1e-3, 5e-4, 2e-2, 1e-3, 1e-3, 5e-3, 5e-3, 1e-2))


# Bodies between points ----------------------------------------------------------------------------------------------

BETWEEN: dict[int, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], np.ndarray]] = {
    0: (ORIGIN, ORIGIN, ORIGIN, np.eye(3)),
    1: (ORIGIN, (0, 2, 0), (0, 2, 0), np.eye(3)),
    2: (AWAY, (1, 4, 3), (-1, 4, 3), np.eye(3)),
    3: (ORIGIN, (0, 2, 0), (0, 4, 0), turned(2, -QUARTER)),
}
"""A point of the ground, a point of the body, its center, and its axes, at the start: two meters lie between the points
but in the first, where they coincide."""


def floating(name: str, kind: int) -> tuple[Mechanism, tuple[float, ...], np.ndarray]:
    """A free body, the point of the ground, and the point of the body in its axes."""
    ground, point, center, axes = BETWEEN[kind]
    build = lw.Builder(name, gravity=GRAVITY)
    build.body("body", lw.Inertia(1.0, (0, 0, 0), ALONG_X))
    build.joint("free", lw.joints.Free(), "world", "body", at=lw.Placement(center, axes))
    build.frame("center", "body")
    return build.build(), ground, axes.T @ (np.array(point) - center)


def distance(name: str, number: int) -> Setup:
    """A body a point of which keeps its distance from a point of the ground."""
    robot, ground, point = floating(name, number)
    rod = lw.constraints.Rod("world", "body", first_at=ground, second_at=point, length=2.0, name="rod")
    usual = tolerances(1e-3, 1e-4, 2e-2, 1e-3, 1e-2, 1e-1, 2e-2, 1e-10)
    far = tolerances(1e-3, 2e-3, 2.0, 4e-3, 2e-2, 20.0, 1e-1, 1e-10)
    force = {"Rforce": on_ground("rod")["Rforce"], "Rtorque": lambda run: np.zeros((len(run), 3))}
    return Setup(robot.constrained(rod), {**motion(), **force}, far if number == 2 else usual)


def translational(name: str, number: int) -> Setup:
    """A body on a spring and a damper between a point of it and the ground."""
    robot, ground, point = floating(name, number - 1)
    stiffness, damping = {1: (10.0, 0.5), 2: (100.0, 5.0)}.get(number, (lambda x: 50 * x + 10 * x * np.abs(x), 5.0))
    spring = lw.SpringDamper(
        ("world", ground),
        ("body", tuple(point)),
        stiffness,
        damping,
        free_length=0.0 if number == 1 else 2.0,
        name="spring",
    )

    def on_world(run: Any) -> np.ndarray:
        """Of the spring, from the ground's point to the other."""
        states = lw.forces.element_states(run.robot, run.q, run.v)["spring"]
        along = run.frame_path("body", point) - ground
        size = np.linalg.norm(along, axis=-1, keepdims=True)
        return -states.force * along / np.where(size > 0, size, 1.0)

    quantities = {**motion(), "Rforce": on_world, "Rtorque": lambda run: np.zeros((len(run), 3))}
    pushed = tolerances(1e-4, 5e-4, 1e-3, 5e-5, 5e-3, 5e-2, 5e-3, 1e-10)
    exact = tolerances(1e-4, 5e-5, 5e-4, 1e-10, 1e-10, 1e-10, 5e-4, 1e-10)
    plain = tolerances(1e-3, 3e-4, 2e-2, 1e-10, 1e-10, 1e-10, 5e-3, 1e-10)
    return Setup(
        robot.with_forces(spring), quantities, pushed if number > 2 else exact if name == "TranSpringCB" else plain
    )


# Actuators, links, gears -------------------------------------------------------------------------------------------


def actuator(name: str, number: int) -> Setup:
    """A plate on a slider that is driven at a constant speed."""
    build = lw.Builder(f"{name}_Case0{number}", gravity=GRAVITY)
    angle, speed = {1: (0.0, 1.0), 2: (QUARTER / 2, 0.5)}[number]
    build.body("plate", lw.Inertia(1.0, (0, 0, 0), np.eye(3)))
    axes = turned(1, angle)
    build.joint("slider", lw.joints.Prismatic("z"), "world", "plate", at=lw.Placement(ORIGIN, axes))
    build.frame("center", "plate")
    robot = build.build().constrained(lw.Drive("slider", lambda t: speed * t, name="actuator"))
    axis = axes[:, 2]

    def of_drive(run: Any) -> np.ndarray:
        """The part along the axis of the force that moves the plate."""
        return (run.reactions["slider"][:, 3:] @ axis)[:, None] * axis

    def on_world(run: Any) -> np.ndarray:
        """Of the slider alone, which carries no force along its axis."""
        return of_drive(run) - run.reactions["slider"][:, 3:]

    def moment(run: Any) -> np.ndarray:
        return -run.reactions["slider"][:, :3] + np.cross(run.frame_path("center"), on_world(run))

    quantities = {**motion(), "RforceA": of_drive, "RforceP": on_world, "RtorqueP": moment}
    quantities["RtorqueA"] = lambda run: np.zeros((len(run), 3))
    usual = tolerances(2e-3, 1e-3, 2e-2, 1e-3, 2e-2, 2e-2, 5e-1, 1e-10)
    slide = {1: (2e-2, 1e-10), 2: (3e-1, 5e-3)}[number]
    further = {"RforceA": 5e-1, "RtorqueA": 1e-10, "RforceP": slide[0], "RtorqueP": slide[1]}
    return Setup(robot, quantities, usual | further)


def revolute_spherical(name: str, number: int) -> Setup:
    """A body on a ball at the end of a massless rod that turns about an axis."""
    base, axis = {1: (ORIGIN, (0, 0, 1)), 2: (AWAY, (0, 1, 1))}[number]
    build = lw.Builder(f"{name}_Case0{number}", gravity=GRAVITY)
    build.body("rod", lw.Inertia.zero())
    build.body("body", lw.Inertia(1.0, (0, LENGTH, 0), ALONG_Y))
    build.joint("joint", lw.joints.Revolute(axis), "world", "rod", at=base)
    build.joint("ball", lw.joints.Spherical(), "rod", "body", at=(2, 0, 0))
    build.frame("center", "body", (0, LENGTH, 0))
    quantities = {
        **motion(),
        "Rforce_Body1": lambda run: -run.reactions["joint"][:, 3:],
        "Rtorque_Body1": lambda run: -run.reactions["joint"][:, :3],
        "Rforce_Body2": lambda run: run.reactions["ball"][:, 3:],
        "Rtorque_Body2": lambda run: run.reactions["ball"][:, :3],
    }
    usual = tolerances(1e-4, 1e-4, 1e-1, 1e-5, 1e-4 if number == 1 else 1e-3, 5e-1, 5e-1, 5e-1)
    forces = dict.fromkeys(("Rforce_Body1", "Rtorque_Body1", "Rforce_Body2", "Rtorque_Body2"), 5e-1)
    return Setup(build.build(massless=True), quantities, usual | forces, 2.5e-4)


def rack_and_pinion(name: str, number: int) -> Setup:
    """A rack that falls and turns a pinion of 0.1 m about x."""
    build = lw.Builder(f"{name}_Case0{number}", gravity=GRAVITY)
    build.body("pinion", lw.Inertia(1.0, (0, 0, 0), ALONG_X))
    build.body("rack", lw.Inertia(1.0, (0, 0, 0), ALONG_Z))
    build.joint("turn", lw.joints.Revolute("x"), "world", "pinion")
    build.joint("slide", lw.joints.Prismatic("z"), "world", "rack", at=(0, 0.1, 0))
    robot = build.build().constrained(lw.machines.rack("turn", "slide", 0.1))
    usual = tolerances(2e-3, 1e-4, 2e-2, 1e-3, 2e-2, 2e-2, 2e-2, 2e-2)
    parts = ("Pinion_", "Rack_")
    quantities = motion("pinion", parts[0]) | motion("rack", parts[1])
    return Setup(robot, quantities, {part + what: value for part in parts for what, value in usual.items()})


SETUPS: dict[str, Callable[[str, int], Setup]] = {
    **dict.fromkeys(JOINTS, pendulum),
    "Distance": distance,
    "TranSpring": translational,
    "TranSpringCB": translational,
    "RotSpring": rotational,
    "LinActuator": actuator,
    "RevSpherical": revolute_spherical,
    "RackPinion": rack_and_pinion,
}
"""Set-ups by name; every case of Chrono's."""
