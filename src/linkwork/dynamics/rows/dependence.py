# SPDX-License-Identifier: BSD-3-Clause
"""Whether rows of a robot's constraints depend on others, in general: at configurations in which loops are closed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.closure.loop_rounding import nearby
from linkwork.closure.thresholds import CLUSTER_RANK, RANK
from linkwork.dynamics.thresholds import INDEPENDENT_AT_POSES
from linkwork.errors import NotFinite
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.plans.clusters import enabled_rows
from linkwork.quantities.arguments import Array
from linkwork.quantities.scales import quantity, scales_of

CONFIGURATIONS = 3
"""At how many configurations rows are looked at."""


class RowDependence(NamedTuple):
    """Linear dependence of the rows of a robot."""

    idle: npt.NDArray[np.bool_]
    """Rows that no joint moves on closed loops, ``(nc,)``: their forces have no effect; in plane loops."""
    idle_open: npt.NDArray[np.bool_]
    """Those of them that no joint moves on open loops either. Points that are to meet in a plane are moved across it,
    where they are apart, by joints that turn both: those of a floating base, for instance."""
    least: float
    """The least singular value of the others, each scaled to length one; zero where it is not known."""


@computed_once
def row_dependence(robot: Model) -> RowDependence:
    """Linear dependence of rows at configurations with closed loops, and the structurally zero rows.

    Args:
        robot: The mechanism.
    """
    rows, none = enabled_rows(robot), np.zeros(robot.nc, dtype=bool)
    jacobian, scales = quantity(robot, "constraint_jacobian"), scales_of(robot)
    poses = [q for q, _ in nearby(robot)[:CONFIGURATIONS]] or [next(iter(robot.poses.values()), robot.neutral())]

    def unitless(q: Array) -> Array | None:
        try:
            J: Array = jacobian(q) / np.sqrt(np.outer(scales.rows, scales.joints))
        except (ArithmeticError, ValueError, NotFinite):  # a function of joints has no value here
            return None
        return J[rows]

    candidates = [unitless(q) for q in poses]
    jacobians = [J for J in candidates if J is not None]
    if len(jacobians) < len(candidates):
        return RowDependence(none, none, 0.0)
    lengths = np.array([np.linalg.norm(J, axis=1) for J in jacobians])
    moved = lengths.max(axis=0, initial=0.0) > RANK
    idle, idle_open = none.copy(), none.copy()
    idle[np.asarray(rows, np.int64)[~moved]] = True
    opened = unitless(robot.random(np.random.default_rng(0))) if idle.any() else None
    if opened is not None:
        idle_open[np.asarray(rows, np.int64)[~moved & (np.linalg.norm(opened, axis=1) <= RANK)]] = True
    if moved.sum() > robot.nv or not (lengths[:, moved] > 0).all():
        return RowDependence(idle, idle_open, 0.0)
    scaled = [J[moved] / length[moved, None] for J, length in zip(jacobians, lengths, strict=True)]
    values = [np.linalg.svd(J, compute_uv=False).min(initial=1.0) for J in scaled]
    return RowDependence(idle, idle_open, float(min(values, default=1.0)))


def rows_depend(robot: Model) -> bool:
    """Whether some rows may depend on others, at some configurations at least.

    Args:
        robot: The mechanism.
    """
    dependence = row_dependence(robot)
    return bool(dependence.idle.any()) or dependence.least < INDEPENDENT_AT_POSES


def rows_redundant(robot: Model) -> bool:
    """Whether some rows depend on others to rounding, beside zero rows: their forces are not unique.

    Args:
        robot: The mechanism.
    """
    return row_dependence(robot).least < CLUSTER_RANK


def rows_redundant_open(robot: Model) -> bool:
    """Whether zero rows of closed loops become nonzero where loops are open, and may depend on others there.

    Args:
        robot: The mechanism.
    """
    dependence = row_dependence(robot)
    return bool((dependence.idle != dependence.idle_open).any())
