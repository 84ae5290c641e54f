# SPDX-License-Identifier: BSD-3-Clause
"""Columns that are solved with the sparse factor of the mass matrix, all at once (`aba_derivatives` takes four).

For derivatives of constrained dynamics, which need all columns of ``Y = -D^-1 L^-T dtau_dq`` before any is finished.
Symbols: `aba_derivatives`; ``related`` lines of columns: `plans.aba_derivatives`. Cost: O(n d^2).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.panels import ZERO, entries, minus_scaled, plus_scaled, scaled, set_entries
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.plans.aba_derivatives import LINE

COLUMNS: dict[str, Shape] = {
    "Yq": ("nv", "ncolumns"),
    "Yv": ("nv", "ncolumns"),
    "Ya": ("nv", "ncolumns"),
    "Xq": ("ncolumns",),
    "Xv": ("ncolumns",),
    "Xa": ("ncolumns",),
}


@kernel
def clear_columns(tree: Array, w: Array) -> None:
    """``Yq = Yv = Ya = 0``."""
    for k in range(tree.nv):
        for c in range(0, tree.ncolumns, LINE):
            set_entries(ZERO, w.Yq[k], c)
            set_entries(ZERO, w.Yv[k], c)
            set_entries(ZERO, w.Ya[k], c)


@kernel
def half_solve_columns(tree: Array, w: Array) -> None:
    """``Y = -D^-1 L^-T Y`` of related columns, leaves first, and ``Ya = D^-1 L^-T``."""
    for k in range(tree.nv - 1, -1, -1):
        first = tree.related_start[k]
        for s in range(tree.depth[k]):
            i = tree.path[k, s]
            x = w.L[k, s]
            for e in range(first, first + tree.related_count[k]):
                c = tree.related_column[e]
                set_entries(minus_scaled(entries(w.Yq[i], c), x, entries(w.Yq[k], c)), w.Yq[i], c)
                set_entries(minus_scaled(entries(w.Yv[i], c), x, entries(w.Yv[k], c)), w.Yv[i], c)
            w.Ya[i, k] = w.Linv[k, s] * w.D[i]
        w.Ya[k, k] = w.D[k]
        minus = -w.D[k]
        for e in range(first, first + tree.related_count[k]):
            c = tree.related_column[e]
            set_entries(scaled(minus, entries(w.Yq[k], c)), w.Yq[k], c)
            set_entries(scaled(minus, entries(w.Yv[k], c)), w.Yv[k], c)


@kernel
def add_four_rows(
    x0: Scalar, x1: Scalar, x2: Scalar, x3: Scalar, y0: Array, y1: Array, y2: Array, y3: Array, c: int, X: Array
) -> None:
    """``X = X + x0 y0 + x1 y1 + x2 y2 + x3 y3`` in the line that begins with column ``c``."""
    z = plus_scaled(plus_scaled(entries(X, c), x0, entries(y0, c)), x1, entries(y1, c))
    set_entries(plus_scaled(plus_scaled(z, x2, entries(y2, c)), x3, entries(y3, c)), X, c)


@kernel
def store_row(n: int, X: Array, row: Array) -> None:
    """``row = X``, ``n`` numbers."""
    for c in range(0, n - LINE + 1, LINE):
        set_entries(entries(X, c), row, c)
    for c in range(n - n % LINE, n):
        row[c] = X[c]
