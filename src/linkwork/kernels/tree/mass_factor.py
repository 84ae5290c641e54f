# SPDX-License-Identifier: BSD-3-Clause
"""The sparse factor ``M = L' D L`` of the mass matrix, rows by depth, its inverse, and rows of ``M^-1``.

Featherstone, Rigid Body Dynamics Algorithms, Section 6.5. The inverse of ``L`` has the sparsity of ``L``: a row of
either has an entry for each ancestor of a joint. Columns of results are handled four at a time.

| symbol | meaning                                                                                   |
|--------|-------------------------------------------------------------------------------------------|
| L, D   | factor of the mass matrix, rows by depth (`plans.aba_derivatives`), and ``1 / D``         |
| Linv   | ``L^-1``, rows by depth, the unit diagonal included; LinvD: ``L^-1 D^-1``                   |
| Ya     | ``L^-T``, four columns                                                                    |

Cost: O(n d^2 + n^2 c), with d the depth of the tree and c <= d the mean number of ancestors that two joints share.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.panels import (
    ZERO,
    entries,
    line,
    minus_scaled,
    plus_scaled,
    scaled,
    set_entries,
    set_line,
)
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.inertia_columns import spatial_dot
from linkwork.plans.aba_derivatives import LINE

FACTOR: dict[str, Shape] = {
    "L": ("nv", "ndepth"),
    "D": ("nv",),
    "Linv": ("nv", "ndepth"),
    "LinvD": ("nv", "ndepth"),
    "qdd0": ("nv",),
}
COLUMNS: dict[str, Shape] = {
    "Bq": ("nv", "ncolumns"),
    "Bv": ("nv", "ncolumns"),
    "Yq": ("nv", LINE),
    "Yv": ("nv", LINE),
    "Ya": ("nv", LINE),
    "X": (3, LINE),
}


@kernel
def mass_matrix_by_depth(tree: Array, w: Array) -> None:
    """Rows of ``M`` up to the diagonal, in ``L``, after `inertial_columns`."""
    for k in range(tree.nv):
        for t in range(tree.depth[k] + 1):
            w.L[k, t] = spatial_dot(w.S[tree.path[k, t]], w.Ta[k])
        for t in range(tree.depth[k] + 1, tree.ndepth):
            w.L[k, t] = 0.0
        w.L[k, tree.depth[k]] += tree.armature[k]


@kernel
def factorize_by_depth(tree: Array, w: Array) -> None:
    """``M = L' D L`` in place, leaves first; ``D`` is the inverse of the book's.

    A row is divided at the end: reading a number just stored as part of a vector of four would stall.
    """
    for k in range(tree.nv - 1, -1, -1):
        d = tree.depth[k]
        inverse = 1.0 / w.L[k, d]
        w.D[k] = inverse
        for s in range(d - 1, -1, -1):
            i = tree.path[k, s]
            x = w.L[k, s] * inverse
            for t in range(0, s + 1, LINE):
                set_entries(minus_scaled(entries(w.L[i], t), x, entries(w.L[k], t)), w.L[i], t)
        for t in range(0, d + 1, LINE):
            set_entries(scaled(inverse, entries(w.L[k], t)), w.L[k], t)


@kernel
def invert_factor(tree: Array, w: Array) -> None:
    """``L^-1`` and ``L^-1 D^-1``, roots first."""
    for k in range(tree.nv):
        d = tree.depth[k]
        path = tree.path[k]
        for t in range(0, d, LINE):
            x = scaled(-w.L[k, d - 1], entries(w.Linv[path[d - 1]], t))
            for s in range(d - 2, t - 1, -1):
                x = minus_scaled(x, w.L[k, s], entries(w.Linv[path[s]], t))
            set_entries(x, w.Linv[k], t)
        for t in range((d + LINE - 1) // LINE * LINE, tree.ndepth, LINE):
            set_entries(ZERO, w.Linv[k], t)
        w.Linv[k, d] = 1.0
        for t in range(0, tree.ndepth, LINE):
            set_entries(ZERO, w.LinvD[k], t)
        for t in range(d + 1):
            w.LinvD[k, t] = w.Linv[k, t] * w.D[tree.path[k, t]]


@kernel
def solve_by_depth(tree: Array, w: Array, x: Array) -> None:
    """``x = M^-1 x`` with the factor."""
    for k in range(tree.nv - 1, -1, -1):
        for t in range(tree.depth[k]):
            x[tree.path[k, t]] -= w.L[k, t] * x[k]
    for k in range(tree.nv):
        y = x[k] * w.D[k]
        for t in range(tree.depth[k]):
            y = y - w.L[k, t] * x[tree.path[k, t]]
        x[k] = y


@kernel
def set_inverse_factor_line(tree: Array, w: Array, l: int) -> None:
    """``Ya = L^-T`` in the columns of line ``l``."""
    for i in range(tree.nv):
        set_line(ZERO, w.Ya, i)
    for c in range(LINE):
        k = LINE * l + c
        if k < tree.nv:
            for t in range(tree.depth[k] + 1):
                w.Ya[tree.path[k, t], c] = w.Linv[k, t]


@kernel
def inverse_line(tree: Array, w: Array, l: int, k: int, da_dtau: Array) -> None:
    """Row ``k`` of ``M^-1 = L^-1 D^-1 L^-T``, in the columns of line ``l``, and the same in column ``k``."""
    path = tree.path[k]
    x = w.LinvD[k]
    sums = ZERO
    for t in range(0, tree.common[k, l], 2):
        sums = plus_scaled(plus_scaled(sums, x[t], line(w.Ya, path[t])), x[t + 1], line(w.Ya, path[t + 1]))
    first = LINE * l
    if first + LINE <= k:
        set_entries(sums, da_dtau[k], first)
        for c in range(LINE):
            da_dtau[first + c, k] = sums[c]
    else:
        for c in range(LINE):
            if first + c <= k:
                da_dtau[k, first + c] = sums[c]
                da_dtau[first + c, k] = sums[c]
