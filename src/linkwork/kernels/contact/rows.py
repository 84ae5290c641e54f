# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a contact problem, for all solvers on rows: inverse inertias, projections and the residual.

::

    y = G f + R f + g,    f in a product of cones,    f = P(f - (y + Gamma(y)) / D)

A contact has three rows and Coulomb's cone (`cones`), every other row a box: an equality, whose box is all numbers,
a one-sided row, dry friction.

| symbol   | meaning                                                                        |
|----------|--------------------------------------------------------------------------------|
| G        | Delassus matrix ``J M^-1 J'``                                                    |
| g        | free velocity of rows and their bias: what rows do without forces               |
| R        | compliance of rows, in the unit of ``G``                                        |
| D        | inverse inertia of a row, the same for the three rows of a contact              |
| f, y     | impulses; velocities of rows with what compliance adds                          |
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.cones import box_residual, contact_residual, project_cone
from linkwork.kernels.elementary import clamp, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.spatial import Triple
from linkwork.kernels.thresholds import LEAST_INVERSE_INERTIA


class Rows(NamedTuple):
    """The rows of a contact problem."""

    g: Array
    """(nrows,) free velocity and bias."""
    friction: Array
    """(nslots,) coefficient of friction of each contact."""
    compliance: Array
    """(nrows,) compliance."""
    lower: Array
    """(nrows,) least force of rows that are of no contact,"""
    upper: Array
    """(nrows,) and the largest."""


ROW_INPUTS: dict[str, Shape] = {
    "g": ("nrows",),
    "friction": ("nslots",),
    "compliance": ("nrows",),
    "lower": ("nrows",),
    "upper": ("nrows",),
    "guess": ("nrows",),
}
"""The inputs of solvers on rows, less the matrix and the settings; ``guess`` is where they start."""


@kernel
def three(x: Array, r: int) -> Triple:
    """Rows ``r`` to ``r + 2`` of a vector."""
    return x[r], x[r + 1], x[r + 2]


@kernel
def set_three(value: Triple, x: Array, r: int) -> None:
    """Set rows ``r`` to ``r + 2`` of a vector."""
    x[r] = value[0]
    x[r + 1] = value[1]
    x[r + 2] = value[2]


@kernel
def at_least_smallest(x: Scalar) -> Scalar:
    """``x``, or the smallest number that is used as an inverse inertia."""
    return where(LEAST_INVERSE_INERTIA, x, x, LEAST_INVERSE_INERTIA)


@kernel
def project_rows(tree: Array, rows: Rows, x: Array, f: Array) -> None:
    """``f = P(x)``: forces in their cones."""
    for s in range(tree.nslots):
        r = tree.slot_row[s]
        set_three(project_cone(rows.friction[s], three(x, r)), f, r)
    for k in range(tree.nsingles):
        r = tree.single_row[k]
        f[r] = clamp(x[r], rows.lower[r], rows.upper[r])


@kernel
def rows_residual(tree: Array, rows: Rows, D: Array, f: Array, y: Array) -> Scalar:
    """The largest residual of any contact or row."""
    worst = 0.0
    for s in range(tree.nslots):
        r = tree.slot_row[s]
        worst = maximum(worst, contact_residual(rows.friction[s], D[r], three(f, r), three(y, r), 0.0))
    for k in range(tree.nsingles):
        r = tree.single_row[k]
        worst = maximum(worst, box_residual(D[r], f[r], y[r], rows.lower[r], rows.upper[r]))
    return worst
