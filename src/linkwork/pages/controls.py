# SPDX-License-Identifier: BSD-3-Clause
"""Controls and plots of a page: motors, masses, link lengths; angles, torques, forces, energy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.errors import InputError
from linkwork.inputs import suggest
from linkwork.model.constraints import WORLD, Pair
from linkwork.model.joints import Prismatic
from linkwork.model.model import Model
from linkwork.model.parts import TreeJoint
from linkwork.quantities.arguments import Array

MODES = ("free", "torque", "velocity", "position")
SERVO = 2 * np.pi * 8
"""Angular frequency of position servos, rad/s: stiff to the eye, slow beside a step."""
SPEED_GAIN = 100.0
"""Of velocity servos, 1/s: deviations fade in 10 ms."""
FASTEST = 10.0
"""Of velocity sliders, rad/s."""
STRONGEST = 60.0
"""Acceleration that the largest torque of a motor without a limit gives, beside holding the robot, rad/s²."""
CURVES = 8
"""Curves of a plot, at most."""
HAND = 2 * np.pi * 1.5
"""Angular frequency of the whole robot on the spring of the hand, rad/s."""

Drive = Mapping[str, tuple[str, float]]
"""Initial modes of motors: a mode and a value, by joint."""


def motors(robot: Model, inertias: Array, size: float, drive: Drive) -> list[dict[str, Any]]:
    """Joints that motors turn: those that are actuated; where none is, all of a tree, or those on the ground.

    Args:
        robot: The mechanism.
        inertias: Apparent inertia of each degree of freedom, ``(nv,)``.
        size: Of the robot, in meters.
        drive: Initial modes of motors.
    """
    single = {joint.name: joint for joint in robot.joints if joint.type.nq == joint.type.nv == 1}
    known = {name: joint for name, joint in single.items() if np.isfinite(inertias[robot.v_slice(name)]).all()}
    for name, (mode, value) in drive.items():
        if name not in single:
            raise InputError(f"drive: '{robot.name}' has no joint '{name}' of one degree{suggest(name, list(single))}")
        if name not in known:
            raise InputError(f"drive: constraints of '{robot.name}' hold the joint '{name}', which no torque moves")
        if mode not in MODES or not np.isfinite(value):
            raise InputError(f"drive: '{name}' is ({mode!r}, {value!r}), needs one of {', '.join(MODES)} and a number")
    driven = {actuator.joint for actuator in robot.actuators if getattr(actuator, "joint", None)}
    actuated = [joint for joint in known.values() if joint.actuated or joint.name in driven or joint.name in drive]
    grounded = [joint for joint in known.values() if joint.parent == WORLD] if robot.nc else []
    chosen = actuated or grounded or list(known.values())
    weight = float(np.linalg.norm(robot.gravity)) * sum(robot.inertias[name].mass for name in robot.body_names)
    motors_of_page = []
    for joint in chosen:
        inertia = float(inertias[robot.v_slice(joint.name).start])
        holding = weight if isinstance(joint.type, Prismatic) else 0.5 * weight * size
        mode, value = drive.get(joint.name, ("free", 0.0))
        motors_of_page.append(
            _motor(robot, joint, inertia, holding + STRONGEST * inertia) | {"mode": mode, "value": float(value)}
        )
    return motors_of_page


def _motor(robot: Model, joint: TreeJoint, inertia: float, strongest: float) -> dict[str, Any]:
    at = robot.v_slice(joint.name).start
    effort = float(joint.limits.effort[0])
    torque = effort if np.isfinite(effort) and effort > 0 else strongest
    turns = not isinstance(joint.type, Prismatic)
    low, high = float(joint.limits.lower[0]), float(joint.limits.upper[0])
    reach = np.pi if turns else 0.5
    return {
        "name": joint.name,
        "at": {"q": robot.q_slice(joint.name).start, "v": at},
        "unit": "rad" if turns else "m",
        "torque": torque,
        "stiffness": inertia * SERVO**2,
        "damping": 2 * inertia * SERVO,
        "gain": SPEED_GAIN * inertia,
        "ranges": {
            "torque": [-torque, torque],
            "velocity": [-FASTEST, FASTEST] if turns else [-1.0, 1.0],
            "position": [max(low, -reach), min(high, reach)] if low < high else [-reach, reach],
        },
    }


def servo_torques(driven: list[dict[str, Any]], q: Array, v: Array) -> Array:
    """Torques of motors at a state, as the page computes them, ``(nv,)``.

    Args:
        driven: The motors.
        q: Configuration.
        v: Joint velocities.
    """
    tau = np.zeros(len(v))
    for motor in driven:
        at, value = motor["at"], motor["value"]
        laws = {
            "free": 0.0,
            "torque": value,
            "velocity": motor["gain"] * (value - v[at["v"]]),
            "position": motor["stiffness"] * (value - q[at["q"]]) - motor["damping"] * v[at["v"]],
        }
        tau[at["v"]] = np.clip(laws[motor["mode"]], -motor["torque"], motor["torque"])
    return tau


def hands(robot: Model, masses: Array, dt: float, rate: float = HAND) -> list[dict[str, float]]:
    """Springs and dampers by which bodies are pulled: as strong as the robot needs, and no stiffer than steps bear.

    Args:
        robot: The mechanism.
        masses: The least apparent mass of each body, ``(bodies,)``.
        dt: Time of one step, in seconds.
        rate: Angular frequency of the whole robot on the spring, in rad/s.
    """
    total = sum(robot.inertias[name].mass for name in robot.body_names)
    hands_of_page = []
    for mass in masses.tolist():
        stiffness = min(total * rate**2, 0.1 * mass / dt**2)
        damping = min(1.4 * total * rate, 0.3 * mass / dt)
        hands_of_page.append({"stiffness": stiffness, "damping": damping})
    return hands_of_page


def masses(robot: Model) -> list[dict[str, Any]]:
    """A slider for the mass of each body that has one."""
    every = [(name, robot.inertias[name].mass) for name in robot.body_names]
    return [{"name": name, "at": k, "value": mass} for k, (name, mass) in enumerate(every) if mass > 0]


def lengths(robot: Model, mobile: Mapping[str, Array]) -> list[dict[str, Any]]:
    """A slider for the distance of each joint and each anchor from the origin of the body that it is on.

    Args:
        robot: The mechanism.
        mobile: Parameters with link lengths, by name.
    """
    lengths_of_page = []

    def add(name: str, array: str, at: int) -> None:
        vector = mobile[array].ravel()[at : at + 3]
        if np.linalg.norm(vector) > 1e-6:
            lengths_of_page.append({"name": name, "array": array, "at": at, "vector": vector.tolist()})

    if "joint_position" in mobile:
        for k, joint in enumerate(robot.joints):
            add(f"{joint.parent}, to {joint.name}", "joint_position", 3 * k)
    if "anchor_position" in mobile:
        for k, c in enumerate(c for c in robot.constraints if isinstance(c, Pair)):
            for side, place in enumerate((c.first, c.second)):
                add(f"{place}, to {c.name}", "anchor_position", 6 * k + 3 * side)
    return lengths_of_page


def springs(robot: Model) -> list[tuple[int, float, float]]:
    """Springs of joints whose coordinates are numbers: place in ``q``, rest and stiffness."""
    return [
        (robot.q_slice(joint.name).start + k, float(joint.rest[k]), float(stiffness))
        for joint in robot.joints
        if joint.type.nq == joint.type.nv
        for k, stiffness in enumerate(robot.stiffness[robot.v_slice(joint.name)])
        if stiffness
    ]


def plots(robot: Model, driven: list[dict[str, Any]], touching: bool = False) -> list[dict[str, Any]]:
    """Groups of curves.

    Args:
        robot: The mechanism.
        driven: Its motors.
        touching: Whether contacts act.
    """
    single = [joint for joint in robot.joints if joint.type.nq == joint.type.nv == 1][:CURVES]
    kinds = (("Positions", "q", "rad, m"), ("Velocities", "v", "rad/s, m/s"))
    energies = ["kinetic", "potential", *(["springs of joints"] if springs(robot) else [])]
    others = bool(robot.forces) or any(tendon.stiffness for tendon in robot.tendons)
    total = "their sum, without other springs" if others else "total"
    curves = [{"name": name, "of": "energy", "at": k} for k, name in enumerate(energies)]
    groups: list[dict[str, Any]] = [{"name": "Energy", "unit": "J", "curves": [*curves, {"name": total, "sum": True}]}]
    if single:
        for name, of, unit in kinds:
            place = robot.q_slice if of == "q" else robot.v_slice
            curves = [{"name": joint.name, "of": of, "at": place(joint.name).start} for joint in single]
            turns = not any(isinstance(joint.type, Prismatic) for joint in single)
            groups.append({"name": name, "unit": unit.split(",")[0] if turns else "", "curves": curves})
    if driven:
        curves = [{"name": motor["name"], "of": "tau", "at": motor["at"]["v"]} for motor in driven]
        groups.append({"name": "Torques", "unit": "N m", "curves": curves})
    rows = [(c.name, robot.row_slice(c.name)) for c in robot.constraints if c.enabled]
    if rows:
        curves = [
            {"name": name, "of": "forces", "at": at.start, "length": at.stop - at.start}
            for name, at in rows
            if at.stop > at.start
        ]
        groups.append({"name": "Reactions of loops", "unit": "N", "curves": curves})
    if touching and len(robot.contacts):
        pairs = [pair.name for pair in robot.contacts][:CURVES]
        curves = [{"name": name, "of": "normals", "at": k} for k, name in enumerate(pairs)]
        every = {"name": "all contacts", "of": "normals", "at": len(robot.contacts)}
        groups.append({"name": "Contacts", "unit": "N", "curves": [every, *curves[: CURVES - 1]]})
    return [groups[1], *groups[2:], groups[0]] if len(groups) > 1 else groups
