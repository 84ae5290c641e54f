# SPDX-License-Identifier: BSD-3-Clause
"""Constraints of a model in URDF: its own ``<mimic>``, ``<loop>`` and ``<coupling>`` of URDF+, ``<constraint>`` of
urdfdom#264; which of them there are says the dialect.

| in the model                             | in the file                                                        |
|------------------------------------------|--------------------------------------------------------------------|
| Hinge, Slider, PlaneOnPlane, Point, Weld | ``<loop>`` of type continuous, prismatic, planar, spherical, fixed |
| Cardan, Cylindrical                      | ``<loop>`` of type universal (with ``<axis2>``), cylindrical       |
| PointOnLine, PointOnPlane, Rod, Rolling  | ``<loop>`` of type point_on_line, point_on_plane, rod, rolling     |
| two joints, one with the factor 1        | ``<mimic>`` of that joint                                          |
| other linear equations, locks            | ``<coupling type="linear">``                                       |

A ``<constraint>`` has the names of types of ``<loop>``, an origin and an axis on both links, and no ``<coupling>``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.constraints import (
    WORLD,
    Axial,
    Cardan,
    Constraint,
    Coupling,
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
)
from linkwork.model.model import Model
from linkwork.model.placement import Placement, as_placement
from linkwork.saving.dialects import LINKWORK, Dialect
from linkwork.saving.equations import JointEquation, equations_of
from linkwork.saving.joint_numbers import refuse_softness
from linkwork.saving.layout import Layout
from linkwork.saving.report import Report
from linkwork.saving.xml import add, is_identity, number, numbers, rpy

_TYPES: dict[type[Pair], str] = {
    Hinge: "continuous",
    Slider: "prismatic",
    PlaneOnPlane: "planar",
    Point: "spherical",
    Weld: "fixed",
    Cardan: "universal",
    Cylindrical: "cylindrical",
    PointOnLine: "point_on_line",
    PointOnPlane: "point_on_plane",
    Rod: "rod",
    Rolling: "rolling",
}


def implied_by_names(model: Model) -> set[str]:
    """Points that close two frames ``closing_x_1`` and ``closing_x_2``, which say so by their names.

    Args:
        model: The model.
    """
    return {
        c.name
        for c in model.constraints
        if type(c) is Point
        and c.name.startswith("closing_")
        and c.places == (f"{c.name}_1", f"{c.name}_2")
        and is_identity(as_placement(c.first_at))
        and is_identity(as_placement(c.second_at))
    }


def loops(robot: Any, layout: Layout, report: Report, said: Collection[str], dialect: Dialect) -> None:
    """Add all constraints that the file does not say elsewhere.

    Args:
        robot: The root element.
        layout: The model, in the frames of the file.
        report: Where to refuse constraints.
        said: Names of those that are mimics, or that frames say by their names.
        dialect: Which elements the file may hold.
    """
    for constraint in layout.model.constraints:
        refuse_softness(constraint, report)
        if constraint.name in said or not constraint.enabled:
            continue
        if isinstance(constraint, Pair) and _has(dialect, constraint):
            (_loop if dialect.loops == "loop" else _constraint)(robot, layout, constraint)
        elif isinstance(constraint, Coupling) and dialect.loops == "loop":
            _coupling(robot, constraint, report)
        else:
            refuse_constraint(constraint, report, dialect)


def tied_joints(model: Model) -> set[str]:
    """The joints that constraints act on: those that they name, and those between the places that they join.

    Args:
        model: The model.
    """
    above = {WORLD: frozenset[str]()}
    for joint in model.joints:
        above[joint.child] = above[joint.parent] | {joint.name}
    joints: set[str] = set()
    for constraint in model.constraints:
        paths = [above[model.frames[place].body] for place in constraint.places]
        joints |= {*constraint.joints, *frozenset().union(*paths)} - (
            frozenset.intersection(*paths) if paths else set()
        )
    return joints


def mimics(model: Model) -> dict[str, Mimic]:
    """The constraints that are mimics, by name; each joint follows one other at most.

    Args:
        model: The model.
    """
    mimics_of_loops: dict[str, Mimic] = {}
    followers: set[str] = set()
    names = {constraint.name for constraint in model.constraints}
    for constraint in model.constraints:
        free = [m for m in as_mimics(constraint) if m.follower not in followers]
        said = next((m for m in free if f"{m.follower}_mimic" not in names - {constraint.name}), None)
        if said is not None and constraint.enabled:
            mimics_of_loops[constraint.name] = said
            followers.add(said.follower)
    return mimics_of_loops


class Mimic(NamedTuple):
    """``follower = multiplier leader + offset``."""

    follower: str
    leader: str
    multiplier: float
    offset: float


def as_mimics(constraint: Constraint) -> list[Mimic]:
    """A linear equation of two joints as a mimic of one with the factor 1: in no way, in one, or in two.

    Args:
        constraint: Any constraint.
    """
    equations = equations_of(constraint) if isinstance(constraint, Coupling) else None
    if equations is None or len(equations) != 1 or equations[0].leader is not None or len(equations[0].linear) != 2:
        return []
    first, second = equations[0].linear.items()
    return [
        Mimic(follower[0], leader[0], -other, equations[0].value)
        for (follower, factor), (leader, other) in ((first, second), (second, first))
        if factor == 1 and other != 0
    ]


def _has(dialect: Dialect, constraint: Pair) -> bool:
    """Whether a dialect has an element for a constraint."""
    if dialect.loops == "constraint":
        return type(constraint) in _TYPES and not isinstance(constraint, Rod | Rolling)
    return dialect.loops == "loop" and type(constraint) in _TYPES


def _loop(robot: Any, layout: Layout, constraint: Pair) -> None:
    loop = add(robot, "loop", name=constraint.name, type=_TYPES[type(constraint)])
    ends, axes = _ends(constraint)
    for tag, place, at in zip(("predecessor", "successor"), constraint.places, ends, strict=True):
        body, there = layout.at(place, at)
        _end(add(loop, tag, link=body), there)
    for tag, axis in zip(("axis", "axis2"), axes, strict=False):
        add(loop, tag, xyz=numbers(axis))
    if isinstance(constraint, Rod | Rolling):
        loop.set("length" if isinstance(constraint, Rod) else "radius", number(constraint.size))


def _constraint(robot: Any, layout: Layout, constraint: Pair) -> None:
    """Two axes, each in the frame of its end."""
    element = add(robot, "constraint", name=constraint.name, type=_TYPES[type(constraint)])
    ends, axes = _ends(constraint)
    for k, (side, place, at) in enumerate(zip(("parent", "child"), constraint.places, ends, strict=True)):
        body, there = layout.at(place, at)
        add(element, side, link=body)
        add(element, f"{side}_origin", xyz=numbers(there.position), rpy=numbers(rpy(there.rotation)))
        if axes:
            add(element, f"{side}_axis", xyz=numbers(axes[min(k, len(axes) - 1)]))


def _ends(constraint: Pair) -> tuple[list[Placement], list[Any]]:
    """Frames of the joint that closes a loop on both of its places, and its axes: none, one for both, or two."""
    ends = [as_placement(constraint.first_at), as_placement(constraint.second_at)]
    if isinstance(constraint, Cardan):
        return ends, [constraint.axis, constraint.second_axis]
    if not isinstance(constraint, Axial):
        return ends, []
    if np.array_equal(np.asarray(constraint.axis), np.asarray(constraint.second_axis)):
        return ends, [constraint.axis]
    return list(constraint.frames()), [(0.0, 0.0, 1.0)]


def _end(element: Any, at: Placement) -> None:
    add(element, "origin", xyz=numbers(at.position), rpy=numbers(rpy(at.rotation)))


def _coupling(robot: Any, constraint: Coupling, report: Report) -> None:
    equations = equations_of(constraint)
    if equations is None or any(not _sayable(equation) for equation in equations) or len(equations) != 1:
        refuse_constraint(constraint, report, LINKWORK)
        return
    (equation,) = equations
    coupling = add(robot, "coupling", name=constraint.name, type="linear", offset=number(equation.value))
    for (joint, _), factor in equation.linear.items():
        add(coupling, "joint", name=joint, factor=number(factor))


def _sayable(equation: JointEquation) -> bool:
    """Whether it is linear, on joints of one coordinate."""
    return equation.leader is None and all(coordinate == 0 for _, coordinate in equation.linear)


def refuse_constraint(constraint: Constraint, report: Report, dialect: Dialect) -> None:
    """Refuse a constraint that a dialect cannot say.

    Args:
        constraint: The constraint.
        report: Where to refuse it.
        dialect: The dialect.
    """
    what = f"{dialect.shown} has no counterpart of this {type(constraint).__name__}"
    if dialect.loops == "refused":
        what = "standard URDF has no constraints other than mimics"
    report.refuse("constraints", f"'{constraint.name}'", what)
