# SPDX-License-Identifier: BSD-3-Clause
"""A ``<joint>`` of SDF: its type, its numbers, and what it mimics. Also read inside ``<gazebo>`` of a URDF file.

| SDF                   | here                                                                                        |
|-----------------------|---------------------------------------------------------------------------------------------|
| revolute, continuous  | Revolute                                                                                    |
| prismatic             | Prismatic                                                                                   |
| ball                  | Spherical; an ``<axis>`` has no meaning for it and is skipped                             |
| universal, revolute2  | Universal: about ``axis`` on the parent, then about ``axis2`` on the child                  |
| screw                 | Helical; ``screw_thread_pitch`` in m a turn, right-handed; or ``thread_pitch`` in rad/m,    |
|                       | left-handed, as Gazebo has it. Its position limits have no settled unit and are not read    |
| fixed                 | Fixed                                                                                       |
| gearbox               | no joint but a constraint, see `parsing.sdf`                                                |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.model.arrays import Floats
from linkwork.model.joints import Fixed, Helical, Joint, Prismatic, Revolute, Spherical, Universal
from linkwork.parsing.xml import Node, located, warn

Version = tuple[int, int]
Axes = Callable[[Node, str], Floats]
"""The axes of a frame, in those of the joint: ``(element that asks, name of the frame) -> rotation``."""

TYPES = ("revolute", "continuous", "prismatic", "ball", "universal", "revolute2", "screw", "fixed")

NO_LIMIT = 1e16
"""Limits from here on mean that there is none."""

IN_JOINT = (
    {"parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch", "physics"}
    | {"gearbox_ratio", "gearbox_reference_body", "drake:mimic", "drake:rotor_inertia", "drake:gear_ratio"}
    | {"sensor", "drake:controller_gains", "plugin"}
)
"""Elements that are read, and (last) those that do not change the dynamics."""

_UNDERSTOOD = {
    "axis": {"xyz", "use_parent_model_frame", "limit", "dynamics", "mimic", "initial_position"},
    "limit": {"lower", "upper", "effort", "velocity", "stiffness", "dissipation", "drake:acceleration"},
    "dynamics": {"damping", "friction", "spring_reference", "spring_stiffness"},
}


@dataclass(frozen=True)
class Mimic:
    """One coordinate of a joint follows one of another: ``q = multiplier other + offset``."""

    where: Node
    follower: tuple[str, int]
    leader: tuple[str, int]
    multiplier: float
    offset: float


@dataclass(frozen=True)
class JointElement:
    """A joint without its placement: type, options of `Builder.joint`, mimics."""

    type: Joint
    options: dict[str, Any] = field(default_factory=dict)
    mimics: tuple[Mimic, ...] = ()


def read_joint(node: Node, name: str, version: Version, axes: Axes) -> JointElement:
    """The type and the numbers of a joint, axes in the joint's frame."""
    node.refuse_other_elements(IN_JOINT)
    kind = node.text("type")
    if kind not in TYPES:
        raise node.error(f"joint type '{kind}' is none of {', '.join(TYPES)}, gearbox", UnsupportedFeature)
    options: dict[str, Any] = {"cut": True} if _must_close_loop(node) else {}
    if kind == "fixed":
        return JointElement(Fixed(), options)
    if kind == "ball":
        for axis in node.children("axis", "axis2"):
            if any(_numbers(axis, limited=False)[key] for key in ("damping", "friction", "stiffness")):
                warn(axis, f"damping, friction and springs of ball joint '{name}' are not read: it has no axes")
        return JointElement(Spherical(), options)
    nodes = [node.need("axis")]
    if kind in ("universal", "revolute2"):
        nodes.append(node.need("axis2"))
    elif node.child("axis2") is not None:
        warn(node.need("axis2"), f"joint '{name}' is {kind}, and has one axis: <axis2> is not read")
    directions = [axis_direction(axis, version, axes) for axis in nodes]
    with located(nodes[0]):
        type = _type(node, kind, directions)
    numbers = [_numbers(axis, limited=kind not in ("screw", "continuous")) for axis in nodes]
    if kind == "screw" and np.isfinite([_numbers(nodes[0], limited=True)[key] for key in ("lower", "upper")]).any():
        warn(nodes[0], f"limits of screw joint '{name}' are not read: the standard does not say in which unit they are")
    options |= {key: [of_axis[key] for of_axis in numbers] for key in numbers[0]}
    options |= _rotor(node)
    mimics = [m for k, axis in enumerate(nodes) for m in _mimics(axis, (name, k))]
    follower = node.child("drake:mimic")
    if follower is not None:
        multiplier, offset = follower.number("multiplier", 1.0), follower.number("offset", 0.0)
        mimics.append(Mimic(follower, (name, 0), (follower.text("joint"), 0), multiplier, offset))
    return JointElement(type, options, tuple(mimics))


def axis_direction(axis: Node, version: Version, axes: Axes) -> Floats:
    """The direction of an axis in the joint's frame.

    SDF 1.4 gives it in the axes of the model; 1.5 and 1.6 in those of the joint, or of the model if
    ``use_parent_model_frame`` says so; later ones in those of the joint, or of the frame it is ``expressed_in``.
    """
    axis.refuse_other_elements(_UNDERSTOOD["axis"])
    node = axis.child("xyz")
    xyz = np.array((0.0, 0.0, 1.0) if node is None else node.values(3))
    in_model = axis.child("use_parent_model_frame")
    frame = (node.get("expressed_in") if node is not None else None) or ""
    if frame and version < (1, 7):
        raise axis.error("'expressed_in' needs SDF 1.7 or later; set the version of the file", UnsupportedFeature)
    if version < (1, 5) or (in_model is not None and in_model.flag()):
        frame = "__model__"
    direction: Floats = axes(axis, frame) @ xyz if frame else xyz
    return direction


def _type(node: Node, kind: str, directions: list[Floats]) -> Joint:
    if kind == "prismatic":
        return Prismatic(directions[0])
    if kind == "screw":
        return Helical(directions[0], _pitch(node))
    if len(directions) == 2:
        return Universal(*directions)
    return Revolute(directions[0])


def _pitch(node: Node) -> float:
    """Meters along the axis for each radian."""
    if node.child("screw_thread_pitch") is not None:
        return node.value_of("screw_thread_pitch") / (2 * math.pi)
    if node.child("thread_pitch") is None:
        raise node.error("a screw joint needs a <screw_thread_pitch> inside: meters per revolution")
    turns = node.value_of("thread_pitch")
    if abs(turns) < 1e-9:
        raise node.error(f"thread pitch {turns} rad/m: it must be at least 1e-9")
    return -1.0 / turns


def _numbers(axis: Node, limited: bool) -> dict[str, float]:
    numbers: dict[str, float] = {}
    limit = axis.child("limit")
    if limit is not None:
        limit.refuse_other_elements(_UNDERSTOOD["limit"])
        if limited:
            numbers["lower"] = _bound(limit, "lower", -math.inf)
            numbers["upper"] = _bound(limit, "upper", math.inf)
        for key in ("velocity", "effort"):
            value = _bound(limit, key, math.inf)
            numbers[key] = value if value >= 0 else math.inf  # files write -1 for none
    else:
        numbers |= {"lower": -math.inf, "upper": math.inf} if limited else {}
        numbers |= {"velocity": math.inf, "effort": math.inf}
    dynamics = axis.child("dynamics")
    if dynamics is not None:
        dynamics.refuse_other_elements(_UNDERSTOOD["dynamics"])
    words = {"damping": "damping", "friction": "friction", "stiffness": "spring_stiffness", "rest": "spring_reference"}
    return numbers | {key: 0.0 if dynamics is None else dynamics.value_of(tag, 0.0) for key, tag in words.items()}


def _bound(limit: Node, tag: str, default: float) -> float:
    value = limit.value_of(tag, default, largest=math.inf)
    return value if abs(value) < NO_LIMIT else math.copysign(math.inf, value)


def _rotor(node: Node) -> dict[str, float]:
    """Drake's rotor, as seen at the joint."""
    inertia = node.child("drake:rotor_inertia")
    if inertia is None:
        return {}
    value = inertia.values(1)[0]
    if value < 0:
        raise inertia.error(f"rotor inertia is {value}; it must be >= 0")
    return {"armature": value * node.value_of("drake:gear_ratio", 1.0) ** 2}


def _mimics(axis: Node, follower: tuple[str, int]) -> list[Mimic]:
    node = axis.child("mimic")
    if node is None:
        return []
    which = node.get("axis") or "axis"
    if which not in ("axis", "axis2"):
        raise node.error(f"attribute 'axis' is 'axis' or 'axis2', not '{which}'")
    leader = (node.text("joint"), int(which == "axis2"))
    multiplier, reference = node.value_of("multiplier", 1.0), node.value_of("reference", 0.0)
    offset = node.value_of("offset", 0.0) - multiplier * reference
    return [Mimic(node, follower, leader, multiplier, offset)]


def _must_close_loop(node: Node) -> bool:
    """Whether the joint is marked (for Simbody) as the one at which its loop is cut."""
    return any(mark.flag() for mark in node.descendants("must_be_loop_joint"))
