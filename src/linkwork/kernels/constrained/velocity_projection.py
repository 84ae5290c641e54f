# SPDX-License-Identifier: BSD-3-Clause
"""The velocity closest to a given one, in kinetic energy, that satisfies the constraints: ``J v = 0``.

With ``M = L' D L`` and ``z = D^1/2 L v`` the kinetic energy is ``z . z / 2``, and rows of ``B = J L^-1 D^-1/2`` are the
constraints on z: ``z1`` is z without its components along the rows. Rows are made orthogonal by modified Gram-Schmidt,
whose errors are those of rounding times the condition of the rows (Bjoerck, Numerical Methods for Least Squares
Problems, Section 2.4); z is projected twice, so that ``B z1`` is zero to rounding.

A row whose distance from those before it counts as zero (`closure.mobility.rank_cut`) is omitted. If that distance is
more than rounding of this computation, as where numbers in a file are rounded, no row is to be preferred: the residual
of all rows, ``e = B z1``, is minimized along the orthogonal rows, ``C' C x = C' e``. Where a distance is little more
than the threshold of zero, ``uncertain`` is one: singular values determine which combinations of rows count.

| symbol    | meaning                                                                              |
|-----------|--------------------------------------------------------------------------------------|
| M         | mass matrix; after `factorize_mass_matrix`, ``L`` and ``1 / D``                      |
| row_scale | one over the root of the apparent inverse inertia of a row; 0 if it is not enabled |
| row_units | one over the unit of each error; 0 if it is none of a closed loop                    |
| Qr        | Q: orthogonal rows, in columns; first ``B'``                                         |
| pivot     | 1 / squared distance of a row from those before it; zero if it depends on them       |
| C, share  | ``B = C Q'``: parts of the orthogonal rows in all; one column of C                   |
| settings  | ``RANK``, the same of rounded loops, ``OPEN``, ``ROUNDED``, ``WEAK``                 |

Cost: O(n d² + m n d + m² n), with d the depth of the tree and m the rows.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.constrained.constraints import CLOSURE, constraint_rows, jacobian_from_rows
from linkwork.kernels.constrained.ltl import factorize_mass_matrix, rows_by_factor, solve_L
from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.panels import ZERO, entries, minus_scaled, plus_scaled, scaled, set_entries
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.kernels.thresholds import CLEAR_DISTANCE, MASSLESS_PIVOT
from linkwork.kernels.tree.aba import factorize_ldl, solve_ldl
from linkwork.kernels.tree.crba import COMPOSITE, mass_matrix
from linkwork.kernels.tree.kinematics import POSE, joint_transforms
from linkwork.plans.aba_derivatives import LINE
from linkwork.plans.constraint_derivatives import DERIVATIVE_TREE

MARGIN = 10.0
"""Distances above this many times the threshold of zero, and above `CLEAR_DISTANCE`, are not rounding."""


@kernel
def factorize(tree: Array, w: Array) -> Scalar:
    """``L`` and ``1 / D`` of the mass matrix; returns its least pivot, relative to the diagonal."""
    mass_matrix(tree, w, w.M)
    for k in range(tree.nv):
        w.z[k] = w.M[k, k]
    factorize_mass_matrix(tree, w)
    least = 1.0
    for k in range(tree.nv):
        part = 1.0 / (w.M[k, k] * w.z[k])
        least = where(part, least, part, least)  # pivots after a zero may be NaN
    return least


@kernel
def scaled_rows(tree: Array, w: Array, q: Array, row_scale: Array) -> Scalar:
    """``Q = B'``, padded with zeros; returns the largest norm of a row, or one."""
    jacobian_from_rows(tree, w, q, w.Jc)
    rows_by_factor(tree, w)
    for k in range(tree.nv):
        for c in range(0, tree.nrow_columns, LINE):
            set_entries(ZERO, w.Qr[k], c)
    largest = 1.0
    for r in range(tree.nc):
        square = 0.0
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = row_scale[r] * (w.Jc[r, k] * w.root[k])
            square = square + x * x
            w.Qr[k, r] = x
        largest = maximum(largest, square)
    return sqrt(largest)


@kernel
def rank_cut(tree: Array, w: Array, row_units: Array, settings: Array) -> Scalar:
    """Distances of rows that count as zero, by the gap of the loops, whose errors are in ``error``."""
    gap = 0.0
    for r in range(tree.nc):
        e = w.error[r] * row_units[r]
        gap = maximum(gap, magnitude(e))
    return maximum(settings[0], where(settings[3], gap, 0.0, maximum(settings[1], settings[2] * gap)))


@kernel
def subtract_row(tree: Array, w: Array, r: int) -> None:
    """Subtract the components along orthogonal row ``r`` from the rows after it, four at a time."""
    for c in range(LINE * (r // LINE), tree.nrow_columns, LINE):
        x = ZERO
        for b in range(tree.nbound):
            k = tree.bound[b]
            x = plus_scaled(x, w.Qr[k, r], entries(w.Qr[k], c))
        set_entries(scaled(w.pivot[r], x), w.share, c)
        for s in range(c, r + 1):  # of rows up to this one, nothing
            w.share[s] = 0.0
        for s in range(c, c + LINE):
            w.C[s, r] = w.share[s]
        x = entries(w.share, c)
        for b in range(tree.nbound):
            k = tree.bound[b]
            set_entries(minus_scaled(entries(w.Qr[k], c), w.Qr[k, r], x), w.Qr[k], c)


@kernel
def orthogonalize(tree: Array, w: Array, cut: Scalar, weak: Scalar) -> Scalar:
    """Orthogonal rows in ``Q``; returns one where a distance is uncertain, else zero.

    Omitted rows whose distance is not ``weak`` are uncertain, too.
    """
    low = minimum(cut, weak)
    high = maximum(CLEAR_DISTANCE, MARGIN * cut)
    uncertain = 0.0
    for r in range(tree.nc):
        square = 0.0
        for b in range(tree.nbound):
            k = tree.bound[b]
            square = square + w.Qr[k, r] * w.Qr[k, r]
        w.distance[r] = sqrt(square)
        w.kept[r] = where(cut, w.distance[r], 1.0, 0.0)
        w.pivot[r] = w.kept[r] / where(cut, w.distance[r], square, 1.0)
        uncertain = maximum(uncertain, where(low, w.distance[r], where(w.distance[r], high, 1.0, 0.0), 0.0))
        subtract_row(tree, w, r)
        w.C[r, r] = w.kept[r]
    return uncertain


@kernel
def project(tree: Array, w: Array) -> None:
    """Subtract from ``z`` its components along the orthogonal rows."""
    for r in range(tree.nc):
        x = 0.0
        for b in range(tree.nbound):
            k = tree.bound[b]
            x = x + w.Qr[k, r] * w.z[k]
        x = w.pivot[r] * x
        for b in range(tree.nbound):
            k = tree.bound[b]
            w.z[k] -= x * w.Qr[k, r]


@kernel
def fit_rows(tree: Array, w: Array, row_scale: Array, rank: Scalar) -> None:
    """Where omitted rows have a distance of more than ``rank``, minimize ``|B z|`` along the orthogonal rows."""
    rounded = 0.0
    for r in range(tree.nc):
        rounded = maximum(rounded, where(rank, w.distance[r], 1.0 - w.kept[r], 0.0))
    if any_below(-rounded, -0.5):
        for r in range(tree.nc):
            w.e[r] = 0.0
            for k in range(tree.nv):
                w.e[r] += row_scale[r] * (w.Jc[r, k] * (w.root[k] * w.z[k]))
        for r in range(tree.nc):
            for s in range(r + 1):
                x = 0.0
                for t in range(r, tree.nc):
                    x = x + w.C[t, r] * w.C[t, s]
                x = (w.kept[r] * w.kept[s]) * x
                w.A[r, s] = x + (1.0 - w.kept[r]) if r == s else x
            w.x[r] = 0.0
            for t in range(r, tree.nc):
                w.x[r] += w.kept[r] * (w.C[t, r] * w.e[t])
        factorize_ldl(tree.nc, w.A)
        solve_ldl(tree.nc, w.A, w.x)
        for b in range(tree.nbound):
            k = tree.bound[b]
            x = w.z[k]
            for r in range(tree.nc):
                x = x - (w.pivot[r] * w.x[r]) * w.Qr[k, r]
            w.z[k] = where(-rounded, -0.5, x, w.z[k])


@kernel
def velocity_projection(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    row_scale: Array,
    row_units: Array,
    settings: Array,
    allowed: Array,
    uncertain: Array,
) -> None:
    """``allowed``, the velocity closest to ``v`` that satisfies the constraints, and whether it is uncertain."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    least = factorize(tree, w)
    for k in range(tree.nv):
        w.root[k] = sqrt(w.M[k, k])
    for k in range(tree.nv):  # z = D^1/2 L v
        x = v[k]
        i = tree.dof_parent[k]
        while i >= 0:
            x = x + w.M[k, i] * v[i]
            i = tree.dof_parent[i]
        w.z[k] = x / w.root[k]
    largest = scaled_rows(tree, w, q, row_scale)
    cut = rank_cut(tree, w, row_units, settings)
    unknown = orthogonalize(tree, w, largest * cut, largest * settings[4])
    project(tree, w)
    project(tree, w)
    fit_rows(tree, w, row_scale, largest * settings[0])
    for k in range(tree.nv):
        allowed[k] = w.root[k] * w.z[k]
    solve_L(tree, w, allowed)
    uncertain[0] = where(least, MASSLESS_PIVOT, 1.0, unknown)


VELOCITY_PROJECTION = Algorithm(
    "velocity_projection",
    velocity_projection,
    {"q": ("nq",), "v": ("nv",), "row_scale": ("nc",), "row_units": ("nc",), "settings": (5,)},
    {"allowed": ("nv",), "uncertain": (1,)},
    POSE
    | CLOSURE
    | COMPOSITE
    | {
        "M": ("nv", "nv"),
        "Jc": ("nc", "nv"),
        "y6": (6,),
        "error": ("nc",),
        "Qr": ("nv", "nrow_columns"),
        "pivot": ("nrow_columns",),
        "share": ("nrow_columns",),
        "C": ("nrow_columns", "nc"),
        "distance": ("nc",),
        "kept": ("nc",),
        "e": ("nc",),
        "A": ("nc", "nc"),
        "x": ("nc",),
        "root": ("nv",),
        "z": ("nv",),
    },
    DERIVATIVE_TREE,
)
