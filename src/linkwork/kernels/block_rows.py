# SPDX-License-Identifier: BSD-3-Clause
"""Rows of six numbers: 6 x 6 blocks, whose columns are forces or accelerations, row by row.

An operation on all columns (a projection from the left, a transform of forces) combines rows. The six numbers of a row
are contiguous in memory; one instruction handles four of them, another two. Cost: that of the operation number by
number.
"""

from __future__ import annotations

from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import Six

NO_ROW = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def row(A: Array, k: int) -> Six:
    """Row ``k`` of a block."""
    return A[k, 0], A[k, 1], A[k, 2], A[k, 3], A[k, 4], A[k, 5]


@kernel
def set_row(x: Vector, A: Array, k: int) -> None:
    """Set row ``k`` of a block."""
    A[k, 0] = x[0]
    A[k, 1] = x[1]
    A[k, 2] = x[2]
    A[k, 3] = x[3]
    A[k, 4] = x[4]
    A[k, 5] = x[5]


@kernel
def scaled_row(a: Scalar, x: Vector) -> Six:
    """``a x``."""
    return a * x[0], a * x[1], a * x[2], a * x[3], a * x[4], a * x[5]


@kernel
def row_plus(x: Vector, y: Vector) -> Six:
    """``x + y``."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4], x[5] + y[5]


@kernel
def row_plus_scaled(x: Vector, a: Scalar, y: Vector) -> Six:
    """``x + a y``."""
    return (
        x[0] + a * y[0],
        x[1] + a * y[1],
        x[2] + a * y[2],
        x[3] + a * y[3],
        x[4] + a * y[4],
        x[5] + a * y[5],
    )


@kernel
def row_minus_scaled(x: Vector, a: Scalar, y: Vector) -> Six:
    """``x - a y``."""
    return (
        x[0] - a * y[0],
        x[1] - a * y[1],
        x[2] - a * y[2],
        x[3] - a * y[3],
        x[4] - a * y[4],
        x[5] - a * y[5],
    )


@kernel
def clear_block(C: Array) -> None:
    """``C = 0``."""
    for j in range(6):
        set_row(NO_ROW, C, j)


@kernel
def copy_block(C: Array, X: Array) -> None:
    """``X = C``."""
    for j in range(6):
        set_row(row(C, j), X, j)


@kernel
def add_block(X: Array, C: Array) -> None:
    """``C = C + X``."""
    for j in range(6):
        set_row(row_plus(row(C, j), row(X, j)), C, j)


@kernel
def subtract_product(a: Array, b: Vector, C: Array) -> None:
    """``C = C - a b'``."""
    for j in range(6):
        set_row(row_minus_scaled(row(C, j), a[j], b), C, j)


@kernel
def rotate_rows_about_z(cos: Scalar, sin: Scalar, C: Array, X: Array) -> None:
    """``X = diag(R, R) C``, R the rotation about z by the angle of ``(cos, sin)``."""
    for o in range(2):
        x = row(C, 3 * o)
        y = row(C, 3 * o + 1)
        set_row(row_minus_scaled(scaled_row(cos, x), sin, y), X, 3 * o)
        set_row(row_plus_scaled(scaled_row(sin, x), cos, y), X, 3 * o + 1)
        set_row(row(C, 3 * o + 2), X, 3 * o + 2)


@kernel
def rotate_rows(R: Array, C: Array, X: Array) -> None:
    """``X = diag(R, R) C``; X may be C."""
    for o in range(2):
        x = row(C, 3 * o)
        y = row(C, 3 * o + 1)
        z = row(C, 3 * o + 2)
        for j in range(3):
            first = row_plus_scaled(scaled_row(R[j, 0], x), R[j, 1], y)
            set_row(row_plus_scaled(first, R[j, 2], z), X, 3 * o + j)


@kernel
def shift_rows(r: Vector, X: Array) -> None:
    """Forces in columns about a point at ``r``, shifted to the origin: ``n + r x f``, in place."""
    x = row(X, 3)
    y = row(X, 4)
    z = row(X, 5)
    set_row(row_minus_scaled(row_plus_scaled(row(X, 0), r[1], z), r[2], y), X, 0)
    set_row(row_minus_scaled(row_plus_scaled(row(X, 1), r[2], x), r[0], z), X, 1)
    set_row(row_minus_scaled(row_plus_scaled(row(X, 2), r[0], y), r[1], x), X, 2)


@kernel
def solve_ldl_rows(n: int, L: Array, T: Array) -> None:
    """``T = (L D L')^-1 T`` with the factor of `aba.factorize_ldl`, six columns at once."""
    for j in range(n):
        for k in range(j):
            set_row(row_minus_scaled(row(T, j), L[j, k], row(T, k)), T, j)
    for j in range(n):
        set_row(scaled_row(L[j, j], row(T, j)), T, j)
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            set_row(row_minus_scaled(row(T, j), L[k, j], row(T, k)), T, j)
