# SPDX-License-Identifier: BSD-3-Clause
"""By how much loops stay open because numbers in files are rounded: measured near a configuration with closed loops."""

from __future__ import annotations

import numpy as np

from linkwork.closure.assembly_problem import (
    Problem,
    Search,
    closed_to,
    largest_unit,
    which_enabled,
    which_holonomic,
)
from linkwork.closure.thresholds import RANK, ROUNDED
from linkwork.errors import AssemblyError
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.quantities.functions import constraint_error, constraint_jacobian
from linkwork.quantities.scales import joint_units, row_units

NEAR = 0.05
"""Distance of perturbed configurations from a closed one, in rad and lengths of the robot."""
TRIES = 3
"""Number of perturbed configurations."""


def loop_gap(robot: Model, q: Floats, J: Floats | None = None) -> Floats:
    """The largest gap of loops, ``(...)``, relative to the robot's length and to one."""
    rows = which_enabled(robot) & which_holonomic(robot)
    e = constraint_error(robot, q) / row_units(robot, constraint_jacobian(robot, q) if J is None else J)
    result: Floats = np.abs(e[..., rows]).max(axis=-1, initial=0.0)
    return result


def loop_rounding(robot: Model) -> float:
    """By how much loops stay open, for each unit of motion, as the robot moves: zero unless numbers are rounded.

    From a configuration in which loops are closed it moves a little, closes them as well as it can, and measures.
    """
    gaps = [gap for _, gap in nearby(robot)]
    return max((gap for gap in gaps if gap <= ROUNDED), default=0.0) / NEAR


def loops_close(robot: Model) -> bool:
    """Whether loops close at some configuration a little off one at which they do; not where numbers are rounded."""
    return any(gap <= RANK for _, gap in nearby(robot)[1:])


def nearby(robot: Model) -> list[tuple[Floats, float]]:
    """A configuration in which loops are closed, others slightly off it, and the gaps of loops there."""
    return _nearby(robot, tuple(which_enabled(robot).tolist()))


@computed_once
def _nearby(robot: Model, enabled: tuple[bool, ...]) -> list[tuple[Floats, float]]:
    rng = np.random.default_rng(0)
    at = _closed_pose(robot)
    if at is None:
        return []
    result = [(at, float(loop_gap(robot, at)))]
    for _ in range(TRIES):
        off = robot.integrate(at, NEAR * joint_units(robot) * rng.normal(size=robot.nv))
        q, gap = nearest_closed(robot, off)
        if gap <= ROUNDED:
            result.append((q, gap))
    return result


def nearest_closed(robot: Model, q: Floats) -> tuple[Floats, float]:
    """The configuration after one attempt to close loops, and its largest gap."""
    try:
        return _closed(robot, q, attempts=1, limits=False, tolerance=closed_to(robot)), 0.0
    except AssemblyError as error:
        result = np.asarray(error.q)
        return result, float(loop_gap(robot, result))


def _closed_pose(robot: Model) -> Floats | None:
    """A pose in which loops are closed: one that has a name, at best within limits, or one near such a pose.

    Where joints are beyond their limits, as those of Cassie's feet are in its first pose, mechanisms are not used and
    may be at a dead center.
    """
    named = list(robot.poses.values())
    usual = [q for q in named if ((robot.lower <= q) & (q <= robot.upper)).all()]
    for poses in (usual, named):
        for q in poses:
            if loop_gap(robot, q) < RANK:
                return q
        for q in poses:
            try:
                return _closed(robot, q, attempts=1)
            except AssemblyError:  # the next may be nearer
                continue
    try:  # nearly closed first: the least error of the loops is needed
        near = _closed(robot, robot.neutral(), limits=False, tolerance=ROUNDED * largest_unit(robot))
    except AssemblyError:
        return None
    return nearest_closed(robot, near)[0]


def _closed(
    robot: Model, q: Floats, *, attempts: int = 20, limits: bool = True, tolerance: float | None = None
) -> Floats:
    """`assembly.assemble`, which asks this module how far loops close: in one attempt, or to a tolerance."""
    return Problem(robot, (), limits).solve(q, Search(tolerance, 200, attempts, seed=0)).q
