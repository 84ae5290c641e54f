# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of joints that formats say once for all degrees of freedom, or only for some types, and what they refuse."""

from __future__ import annotations

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.model.parts import TreeJoint
from linkwork.saving.report import SHOWN, Report


def one_number(joint: TreeJoint, what: str, values: Floats, report: Report) -> float:
    """The number that all degrees of freedom of a joint have; where they differ it is refused.

    Args:
        joint: The joint.
        what: One of ``"armature"``, ``"damping"``, ``"friction"``, ``"springs"``.
        values: One for each degree of freedom.
        report: Where to refuse it.
    """
    if values.size and np.ptp(values) != 0:
        said = f"{SHOWN[report.format]} has one number for all degrees of freedom of a joint, not {values.tolist()}"
        report.refuse(what, f"joint '{joint.name}'", f"{what}: {said}")
        return 0.0
    return float(values[0]) if values.size else 0.0


def refuse_number(joint: TreeJoint, what: str, values: Floats, report: Report) -> None:
    """Refuse a number of a joint whose type has none in the format, unless it is zero.

    Args:
        joint: The joint.
        what: One of ``"armature"``, ``"damping"``, ``"friction"``, ``"springs"``.
        values: One for each degree of freedom.
        report: Where to refuse it.
    """
    if values.any():
        said = f"{what} of a {joint.type.kind_name} joint is not in {SHOWN[report.format]}"
        report.refuse(what, f"joint '{joint.name}'", said)


def refuse_limits(joint: TreeJoint, report: Report, *, position: bool, velocity: bool, effort: bool) -> None:
    """Refuse limits of a joint that the format has none of: of position and effort, which count in simulations and
    inverse dynamics. Those of velocity are left out.

    Args:
        joint: The joint.
        report: Where to refuse them.
        position: Whether limits of position cannot be said.
        velocity: Whether limits of velocity cannot be said.
        effort: Whether limits of effort cannot be said.
    """
    limits, where, kind = joint.limits, f"joint '{joint.name}'", joint.type.kind_name
    format = SHOWN[report.format]
    bounds = (*limits.lower, *limits.upper, limits.angle)
    if position and np.isfinite(bounds).any():
        report.refuse("limits", where, f"limits of position of a {kind} joint are not in {format}")
    if effort and np.isfinite(limits.effort).any():
        report.refuse("limits", where, f"limits of effort of a {kind} joint are not in {format}")
    if velocity and np.isfinite(limits.velocity).any():
        report.leave_out("velocity limits", where, f"limits of velocity of a {kind} joint are not in {format}")


def refuse_softness(constraint: Constraint, report: Report, *, switches: bool = False) -> None:
    """Refuse what no format says of constraints: gains, compliance and, unless the format has switches, being disabled.

    Args:
        constraint: The constraint.
        report: Where to refuse them.
        switches: Whether the format can say that a constraint is disabled.
    """
    where, format = str(constraint), SHOWN[report.format]
    if any(constraint.gains or ()):
        report.refuse("gains", where, f"gains of Baumgarte stabilization are not in {format}")
    if np.any(np.asarray(constraint.compliance) != 1.0):
        report.refuse("compliance", where, f"compliance of constraints is not in {format}")
    if not constraint.enabled and not switches:
        report.refuse("constraints", where, f"constraints that are disabled are not in {format}")


def refuse_tendons(model: Model, report: Report) -> None:
    """Refuse tendons with springs and dampers, which act, in a format without any; leave out others, and sensors.

    Args:
        model: The model.
        report: Where to refuse them.
    """
    format = SHOWN[report.format]
    for tendon in model.tendons:
        where = f"tendon '{tendon.name}'"
        if tendon.is_passive or tendon.is_limited:
            report.refuse("tendons", where, f"{format} has no tendons, and this one has a spring, a damper or limits")
        else:
            report.leave_out("tendons", where, f"{format} has no tendons")
    for sensor in model.sensors:
        report.leave_out("sensors", f"sensor '{sensor.name}'", f"sensors are not written as {format}")
