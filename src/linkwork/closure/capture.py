# SPDX-License-Identifier: BSD-3-Clause
"""Constraints that hold where a robot is: behind `Mechanism.constrained` with ``at``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.model.arrays import Floats
from linkwork.model.constraints import (
    WORLD,
    Axial,
    Cardan,
    CenterOfMass,
    Constraint,
    FixedTendonCoupling,
    FunctionCoupling,
    JointCoupling,
    JointLock,
    Pair,
    PolynomialCoupling,
    Rod,
    Rolling,
    TendonCoupling,
)
from linkwork.model.model import Model
from linkwork.model.pairs import ANY_TURN, NO_TURN
from linkwork.model.placement import Placement, as_placement
from linkwork.model.rotations import aligning_rotation
from linkwork.quantities.functions import constraint_error, frame_placement

SIDES = ("first_at", "second_at")
"""Where a pair has the frames of its two places."""


def _norm(x: Floats) -> float:
    return float(np.linalg.norm(x))


def captured(robot: Model, constraints: Sequence[Constraint], q: npt.ArrayLike) -> tuple[Constraint, ...]:
    """The constraints, changed so that they hold at ``q``."""
    at = robot.normalize(q)
    if at.shape != (robot.nq,):
        raise InputError(f"at is one configuration of {robot.nq} numbers, not {at.shape}")
    return tuple(_captured(robot, constraint, at) for constraint in constraints)


def _captured(robot: Model, constraint: Constraint, q: Floats) -> Constraint:
    if constraint.motion is not None:  # it holds where its motion says
        return constraint
    kept: dict[str, Any] = {"gains": constraint.gains, "time_constant": None}
    if isinstance(constraint, Rod | Rolling):
        first, second = _places(robot, constraint, q)
        between = first.inverse() * second
        if isinstance(constraint, Rod):
            return replace(constraint, length=_norm(between.position), **kept)
        normal = np.asarray(constraint.axis, dtype=np.float64)
        height = float(normal @ between.position)
        lifted = as_placement(constraint.first_at) * Placement(normal * (height - constraint.radius))
        return replace(constraint, first_at=lifted, **kept)
    if isinstance(constraint, Pair):
        return replace(constraint, **_put_together(robot, constraint, q), **kept)
    if isinstance(constraint, JointCoupling):
        total = sum(c * q[robot.q_index(joint)] for joint, c in constraint.coefficients.items())
        return replace(constraint, offset=float(total), **kept)
    if isinstance(constraint, JointLock):
        position = tuple(q[robot.q_slice(constraint.joint)].tolist())
        if len(position) != constraint.rows:
            kept["compliance"] = float(np.asarray(constraint.compliance)[0])
        return replace(constraint, position=position, **kept)
    if isinstance(constraint, PolynomialCoupling):
        c0, *rest = constraint.coefficients
        return replace(constraint, coefficients=(c0 + float(_error(robot, constraint, q)[0]), *rest), **kept)
    if isinstance(constraint, FixedTendonCoupling):
        return replace(constraint, value=constraint.value + float(_error(robot, constraint, q)[0]), **kept)
    if isinstance(constraint, TendonCoupling):
        off = float(_error(robot, constraint, q)[0])
        return replace(constraint, follower_origin=constraint.follower_origin + off, **kept)
    if isinstance(constraint, FunctionCoupling):
        held = np.asarray(constraint.offset) + _error(robot, constraint, q)
        return replace(constraint, offset=tuple(held.tolist()), **kept)
    if isinstance(constraint, CenterOfMass):
        at = as_placement(constraint.at)
        off = sum(
            x * at.rotation[:, "xyz".index(k)]
            for x, k in zip(_error(robot, constraint, q), constraint.axes, strict=True)
        )
        return replace(constraint, at=Placement(at.position + off, at.rotation), **kept)
    return constraint


def _put_together(robot: Model, pair: Pair, q: Floats) -> dict[str, Any]:
    """The fields of a pair that must change for it to hold at ``q``; see `Mechanism.constrained`.

    Origins: that on the world is put where the other is, of two bodies that of the second; but of two of which one was
    given, the other. Turning: ``axis`` keeps its direction in the first place, and ``second_axis`` follows; where no
    turning is left, the second frame is turned as the first, or the first, where only the second was given turned.
    """
    at = [as_placement(pair.first_at), as_placement(pair.second_at)]
    frames = _places(robot, pair, q)

    def other(side: int) -> Placement:
        """The frame of the other side, seen from the place of this one."""
        return at[side] * frames[side].inverse() * frames[1 - side]

    present = [bool(here.position.any()) for here in at]
    one = int(robot.frame(pair.first).body != WORLD) if present[0] == present[1] else present.index(False)
    result: dict[str, Any] = {SIDES[one]: Placement(other(one).position, at[one].rotation)}
    if pair.turns == NO_TURN:
        turned = [not np.array_equal(here.rotation, np.eye(3)) for here in at]
        one = 0 if turned == [False, True] else 1
        result[SIDES[one]] = Placement(result.get(SIDES[one], at[one]).position, other(one).rotation)
        if isinstance(pair, Axial):  # the same line in the first place
            axis = np.asarray(pair.axis) if one else other(0).rotation.T @ at[0].rotation @ np.asarray(pair.axis)
            result |= {"axis": axis, "second_axis": axis}
    elif pair.turns != ANY_TURN and isinstance(pair, Axial | Cardan):
        seen = frames[1].rotation.T @ frames[0].rotation @ np.asarray(pair.axis)
        result["second_axis"] = _normal_to(seen, pair.second_axis) if isinstance(pair, Cardan) else seen
    return result


def _normal_to(axis: Floats, wanted: Any) -> Floats:
    """The direction normal to an axis that is nearest to the one that is wanted."""
    normal: Floats = np.asarray(wanted) - axis * float(axis @ wanted)
    return normal if _norm(normal) > 1e-6 else aligning_rotation(axis)[:, 0]


def _error(robot: Model, constraint: Constraint, q: Floats) -> Floats:
    """The error of a constraint that the robot may not have yet."""
    result: Floats = constraint_error(robot.unconstrained().constrained(constraint), q)
    return result


def _places(robot: Model, constraint: Pair, q: Floats) -> tuple[Placement, Placement]:
    """The frames of a pair in the world, as the user gave them."""
    result = frame_placement(robot, q, constraint.places)
    return result[0] * as_placement(constraint.first_at), result[1] * as_placement(constraint.second_at)
