# SPDX-License-Identifier: BSD-3-Clause
"""Elements of a URDF file that close a loop by a joint: ``<loop>``, ``<loop_joint>``, ``<constraint>``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.errors import TopologyError, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.model.constraints import (
    Axial,
    Cardan,
    Constraint,
    Cylindrical,
    Hinge,
    Pair,
    PlaneOnPlane,
    Point,
    PointOnLine,
    PointOnPlane,
    Rod,
    Rolling,
    Slider,
    Weld,
    closing,
)
from linkwork.model.joints import Fixed, Joint, Planar, Prismatic, Revolute, Spherical
from linkwork.model.placement import Placement
from linkwork.parsing.located_builder import LocatedBuilder
from linkwork.parsing.urdf.elements import UrdfGraph, UrdfLink, placement, placement_of_origin, zero_configuration
from linkwork.parsing.xml import Node, located

_LOOPS: dict[str, type[Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "planar": Planar,
    "spherical": Spherical,
    "ball": Spherical,
    "fixed": Fixed,
}
_PAIRS: dict[str, type[Pair]] = {
    "universal": Cardan,
    "cylindrical": Cylindrical,
    "point_on_line": PointOnLine,
    "point_on_plane": PointOnPlane,
    "rod": Rod,
    "rolling": Rolling,
}
"""Loops that close by what is no joint of URDF: additions of linkwork to URDF+."""
_CONSTRAINTS: dict[str, type[Pair]] = {
    "revolute": Hinge,
    "continuous": Hinge,
    "prismatic": Slider,
    "planar": PlaneOnPlane,
    "spherical": Point,
    "ball": Point,
    "fixed": Weld,
    "universal": Cardan,
    "cylindrical": Cylindrical,
    "point_on_line": PointOnLine,
    "point_on_plane": PointOnPlane,
}
"""Types of ``<constraint>``."""
_INSIDE = {
    "loop": {"predecessor", "successor", "axis", "axis2"},
    "loop_joint": {"link1", "link2", "parent", "child", "parent_origin", "child_origin", "axis"},
}
"""Elements of loops."""


def loop_ends(node: Node, links: Mapping[str, UrdfLink]) -> list[Node]:
    """The two elements of a loop or coupling that name links of the robot."""
    if node.tag == "loop_joint" and node.child("link1") is not None:
        ends = list(node.children("link1", "link2"))
        if len(ends) != 2:
            raise node.error(f"a <loop_joint> holds a <link1> and a <link2>; this one {len(ends)} of them")
    elif node.tag in ("loop_joint", "constraint"):
        ends = [node.need("parent"), node.need("child")]
    else:
        ends = [node.need("predecessor"), node.need("successor")]
    for end in ends:
        if end.text("link") not in links:
            near = suggest(end.text("link"), links)
            raise end.error(f"{end.tag} '{end.text('link')}' is no link of this robot{near}", TopologyError)
    return ends


def add_constraint(builder: LocatedBuilder, node: Node, links: Mapping[str, UrdfLink]) -> None:
    """A ``<constraint>`` of urdfdom#264: each link has an origin, and an axis in it."""
    sides = ("parent", "child")
    node.refuse_other_elements({*sides, *(f"{side}_{what}" for side in sides for what in ("origin", "axis"))})
    kind = node.text("type")
    if kind not in _CONSTRAINTS:
        raise node.error(f"constraint type '{kind}' is none of {', '.join(_CONSTRAINTS)}", UnsupportedFeature)
    first, second = (end.text("link") for end in loop_ends(node, links))
    with located(node):
        origins = [node.child(f"{side}_origin") for side in sides]
        at = [Placement() if origin is None else placement(origin) for origin in origins]
        options: dict[str, Any] = {"name": node.text("name"), "first_at": at[0], "second_at": at[1]}
        if issubclass(_CONSTRAINTS[kind], Axial | Cardan):
            across = issubclass(_CONSTRAINTS[kind], Cardan)
            options["axis"] = _direction(node, "parent_axis", (1.0, 0.0, 0.0))
            default = (0.0, 1.0, 0.0) if across else options["axis"]
            options["second_axis"] = _direction(node, "child_axis", default)
        builder.constrain(node, _CONSTRAINTS[kind](first, second, **options))


def add_loop(builder: LocatedBuilder, node: Node, graph: UrdfGraph) -> None:
    """A ``<loop>`` or ``<loop_joint>``."""
    node.refuse_other_elements(_INSIDE[node.tag])
    kind = node.text("type")
    if kind not in _LOOPS and kind not in _PAIRS:
        raise node.error(f"loop type '{kind}' is none of {', '.join((*_LOOPS, *_PAIRS))}", UnsupportedFeature)
    ends = loop_ends(node, graph.links)
    first, second = (end.text("link") for end in ends)
    with located(node):
        at = [_end_placement(node, end) for end in ends]
        axis = node.child("axis")
        if axis is not None and axis.get("frame") == "parent":  # ends without orientation, parallel at zero
            zero = zero_configuration(graph)
            at[1] = at[1] * Placement((0, 0, 0), zero[second].rotation.T @ zero[first].rotation)
        constraint: Constraint | None
        if kind in _LOOPS:
            type, direction = _LOOPS[kind], _direction(node, "axis", (1.0, 0.0, 0.0))
            joint = type(direction) if issubclass(type, Revolute | Prismatic | Planar) else type()
            constraint = closing(node.text("name"), joint, first, second, at[0], at[1])
        else:
            constraint = _pair(node, _PAIRS[kind], (first, second), at)
    if constraint is not None:
        builder.constrain(node, constraint)


def _end_placement(node: Node, end: Node) -> Placement:
    """Where the joint of a loop is on one of its links."""
    beside = node.child(f"{end.tag}_origin")
    if beside is not None:
        return placement(beside)
    return placement(end) if end.child("origin") is None else placement_of_origin(end)


def _direction(node: Node, tag: str, default: tuple[float, float, float]) -> tuple[float, float, float]:
    axis = node.child(tag)
    return default if axis is None else axis.vector("xyz", default)


def _pair(node: Node, kind: type[Pair], ends: tuple[str, str], at: list[Placement]) -> Pair:
    """A constraint between two frames that is no joint of URDF."""
    options: dict[str, Any] = {"name": node.text("name"), "first_at": at[0], "second_at": at[1]}
    if issubclass(kind, Cardan):
        options["axis"] = _direction(node, "axis", (1.0, 0.0, 0.0))
        options["second_axis"] = _direction(node, "axis2", (0.0, 1.0, 0.0))
    elif issubclass(kind, Axial):
        options["axis"] = _direction(node, "axis", (1.0, 0.0, 0.0))
    for known, size in ((Rod, "length"), (Rolling, "radius")):
        if issubclass(kind, known):
            options[size] = node.number(size)
    return kind(*ends, **options)
