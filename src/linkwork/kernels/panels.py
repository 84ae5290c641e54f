# SPDX-License-Identifier: BSD-3-Clause
"""Four rows at a time: panels of constraint rows, and symmetric matrices in 4 x 4 tiles.

Rows of one constraint are propagated four together (`plans.bbo.PANEL`). A *panel* has a column for each of its rows: a
spatial vector of each row is an array ``(6, 4)``, a number of each row ``(4,)``. The *tile* of two panels p >= q is
``A[d, c]``, the entry of a symmetric matrix for row ``c`` of p and row ``d`` of q. Sizes are constants and the four
numbers of a line are contiguous in memory, so that one instruction handles them. Columns without a row are zero; in
the matrix their diagonal entry is one.

The factor of a tile on the diagonal is ``L D L'`` with ``1 / D`` on the diagonal and ``L`` beyond it (``c > d``); its
entries before the diagonal are not used. Cost: that of the operations row by row.
"""

from __future__ import annotations

from linkwork.kernels.scalar import Array, Scalar, Vector, kernel

Four = tuple[Scalar, Scalar, Scalar, Scalar]

ZERO = (0.0, 0.0, 0.0, 0.0)


@kernel
def line(A: Array, k: int) -> Four:
    """Line ``k`` of a panel or tile: a number for each column."""
    return A[k, 0], A[k, 1], A[k, 2], A[k, 3]


@kernel
def set_line(x: Vector, A: Array, k: int) -> None:
    """Set line ``k`` of a panel or tile."""
    A[k, 0] = x[0]
    A[k, 1] = x[1]
    A[k, 2] = x[2]
    A[k, 3] = x[3]


@kernel
def entries(x: Array, k: int) -> Four:
    """Four entries of a vector, from ``k`` on."""
    return x[k], x[k + 1], x[k + 2], x[k + 3]


@kernel
def set_entries(y: Vector, x: Array, k: int) -> None:
    """Set four entries of a vector, from ``k`` on."""
    x[k] = y[0]
    x[k + 1] = y[1]
    x[k + 2] = y[2]
    x[k + 3] = y[3]


@kernel
def scaled(a: Scalar, x: Vector) -> Four:
    """``a x``."""
    return a * x[0], a * x[1], a * x[2], a * x[3]


@kernel
def plus(x: Vector, y: Vector) -> Four:
    """``x + y``."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]


@kernel
def plus_scaled(x: Vector, a: Scalar, y: Vector) -> Four:
    """``x + a y``."""
    return x[0] + a * y[0], x[1] + a * y[1], x[2] + a * y[2], x[3] + a * y[3]


@kernel
def minus_scaled(x: Vector, a: Scalar, y: Vector) -> Four:
    """``x - a y``."""
    return x[0] - a * y[0], x[1] - a * y[1], x[2] - a * y[2], x[3] - a * y[3]


@kernel
def sum_of_products(x: Vector, y: Vector) -> Scalar:
    """``x . y``."""
    return (x[0] * y[0] + x[2] * y[2]) + (x[1] * y[1] + x[3] * y[3])


@kernel
def plus_products(x: Vector, y: Vector, z: Vector) -> Four:
    """``x + y z``, number by number."""
    return x[0] + y[0] * z[0], x[1] + y[1] * z[1], x[2] + y[2] * z[2], x[3] + y[3] * z[3]


@kernel
def sum_of(x: Vector) -> Scalar:
    """The sum of the four numbers."""
    return (x[0] + x[2]) + (x[1] + x[3])


@kernel
def rotate_panel_about_z(c: Scalar, s: Scalar, K: Array) -> None:
    """Rotate the forces of a panel about z by the angle of ``(c, s)``, in place."""
    for o in range(2):
        x = line(K, 3 * o)
        y = line(K, 3 * o + 1)
        set_line(minus_scaled(scaled(c, x), s, y), K, 3 * o)
        set_line(plus_scaled(scaled(s, x), c, y), K, 3 * o + 1)


@kernel
def subtract_panel_line(V: Vector, x: Vector, K: Array) -> None:
    """``K - V x'``, in place."""
    for j in range(6):
        set_line(minus_scaled(line(K, j), V[j], x), K, j)


@kernel
def subtract_and_rotate_panel(V: Vector, x: Vector, c: Scalar, s: Scalar, K: Array) -> None:
    """``K - V x'``, rotated about z by the angle of ``(c, s)``, in place."""
    for o in range(2):
        u = minus_scaled(line(K, 3 * o), V[3 * o], x)
        v = minus_scaled(line(K, 3 * o + 1), V[3 * o + 1], x)
        set_line(minus_scaled(scaled(c, u), s, v), K, 3 * o)
        set_line(plus_scaled(scaled(s, u), c, v), K, 3 * o + 1)
        set_line(minus_scaled(line(K, 3 * o + 2), V[3 * o + 2], x), K, 3 * o + 2)


@kernel
def shift_panel(r: Vector, K: Array) -> None:
    """Forces of a panel about a point at ``r``, shifted to the origin: ``n + r x f``, ``f``; in place."""
    set_shifted_panel(r, line(K, 0), line(K, 1), line(K, 2), line(K, 3), line(K, 4), line(K, 5), K)


@kernel
def set_shifted_panel(
    r: Vector, n0: Vector, n1: Vector, n2: Vector, f0: Vector, f1: Vector, f2: Vector, K: Array
) -> None:
    """``K = [n + r x f; f]``."""
    set_line(plus(n0, minus_scaled(scaled(r[1], f2), r[2], f1)), K, 0)
    set_line(plus(n1, minus_scaled(scaled(r[2], f0), r[0], f2)), K, 1)
    set_line(plus(n2, minus_scaled(scaled(r[0], f1), r[1], f0)), K, 2)
    set_line(f0, K, 3)
    set_line(f1, K, 4)
    set_line(f2, K, 5)


@kernel
def rotated_line(R: Array, j: int, x: Vector, y: Vector, z: Vector) -> Four:
    """Line ``j`` of ``R [x; y; z]``."""
    return plus_scaled(plus_scaled(scaled(R[j, 0], x), R[j, 1], y), R[j, 2], z)


@kernel
def transform_panel(R: Array, r: Vector, K: Array) -> None:
    """Forces of a panel in axes ``R`` at ``r``, in those of the parent: rotated, then shifted; in place."""
    n0 = line(K, 0)
    n1 = line(K, 1)
    n2 = line(K, 2)
    f0 = line(K, 3)
    f1 = line(K, 4)
    f2 = line(K, 5)
    set_shifted_panel(
        r,
        rotated_line(R, 0, n0, n1, n2),
        rotated_line(R, 1, n0, n1, n2),
        rotated_line(R, 2, n0, n1, n2),
        rotated_line(R, 0, f0, f1, f2),
        rotated_line(R, 1, f0, f1, f2),
        rotated_line(R, 2, f0, f1, f2),
        K,
    )


@kernel
def add_panel(K: Array, P: Array) -> None:
    """``P = P + K``."""
    for j in range(6):
        set_line(plus(line(P, j), line(K, j)), P, j)


@kernel
def add_outer_tile(x: Vector, y: Vector, A: Array) -> None:
    """``A = A + x y'``: ``y`` of the columns."""
    u = (x[0], x[1], x[2], x[3])
    v = (y[0], y[1], y[2], y[3])
    for d in range(4):
        set_line(plus_scaled(line(A, d), u[d], v), A, d)


@kernel
def subtract_transposed_product(B: Array, C: Array, A: Array) -> None:
    """``A = A - B' C`` of tiles."""
    c0 = line(C, 0)
    c1 = line(C, 1)
    c2 = line(C, 2)
    c3 = line(C, 3)
    for d in range(4):
        x = minus_scaled(minus_scaled(line(A, d), B[0, d], c0), B[1, d], c1)
        set_line(minus_scaled(minus_scaled(x, B[2, d], c2), B[3, d], c3), A, d)


@kernel
def subtract_panel_product(B: Array, C: Array, A: Array) -> None:
    """``A = A - B C`` of panels A, B and a tile C."""
    c0 = line(C, 0)
    c1 = line(C, 1)
    c2 = line(C, 2)
    c3 = line(C, 3)
    for j in range(6):
        x = minus_scaled(minus_scaled(line(A, j), B[j, 0], c0), B[j, 1], c1)
        set_line(minus_scaled(minus_scaled(x, B[j, 2], c2), B[j, 3], c3), A, j)


@kernel
def factorize_tile(A: Array, D: Array) -> None:
    """``L D L'`` of a tile on the diagonal, in place, and its pivots ``D``."""
    for d in range(4):
        D[d] = A[d, d]
        inverse = 1.0 / A[d, d]
        for c in range(d + 1, 4):
            x = A[d, c] * inverse
            for e in range(c, 4):
                A[c, e] -= x * A[d, e]
        for c in range(d + 1, 4):
            A[d, c] *= inverse
        A[d, d] = inverse


@kernel
def solve_tile(L: Array, A: Array) -> None:
    """``A = L^-1 A`` with the unit lower triangle of a factor: lines of the tile ``A`` are its unknowns."""
    a0 = line(A, 0)
    a1 = minus_scaled(line(A, 1), L[0, 1], a0)
    a2 = minus_scaled(minus_scaled(line(A, 2), L[0, 2], a0), L[1, 2], a1)
    a3 = minus_scaled(minus_scaled(minus_scaled(line(A, 3), L[0, 3], a0), L[1, 3], a1), L[2, 3], a2)
    set_line(a1, A, 1)
    set_line(a2, A, 2)
    set_line(a3, A, 3)


@kernel
def solve_line(L: Array, x: Vector) -> Four:
    """``L^-1 x`` with the unit lower triangle of a factor."""
    x1 = x[1] - L[0, 1] * x[0]
    x2 = x[2] - L[0, 2] * x[0] - L[1, 2] * x1
    x3 = x[3] - L[0, 3] * x[0] - L[1, 3] * x1 - L[2, 3] * x2
    return x[0], x1, x2, x3


@kernel
def solve_line_transposed(L: Array, x: Vector) -> Four:
    """``L'^-1 x`` with the unit lower triangle of a factor."""
    x2 = x[2] - L[2, 3] * x[3]
    x1 = x[1] - L[1, 3] * x[3] - L[1, 2] * x2
    x0 = x[0] - L[0, 3] * x[3] - L[0, 2] * x2 - L[0, 1] * x1
    return x0, x1, x2, x[3]


@kernel
def times_diagonal(L: Array, x: Vector) -> Four:
    """``D^-1 x`` with the factor of a tile."""
    return L[0, 0] * x[0], L[1, 1] * x[1], L[2, 2] * x[2], L[3, 3] * x[3]


@kernel
def times_diagonal_tile(L: Array, A: Array) -> None:
    """``A = D^-1 A`` with the factor of a tile."""
    for d in range(4):
        set_line(scaled(L[d, d], line(A, d)), A, d)


@kernel
def minus_product(x: Vector, y: Vector, A: Array) -> Four:
    """``x - A' y`` of a tile."""
    z = minus_scaled(minus_scaled(x, y[0], line(A, 0)), y[1], line(A, 1))
    return minus_scaled(minus_scaled(z, y[2], line(A, 2)), y[3], line(A, 3))


@kernel
def minus_transposed_product(x: Vector, y: Vector, A: Array) -> Four:
    """``x - A y`` of a tile."""
    return (
        x[0] - sum_of_products(line(A, 0), y),
        x[1] - sum_of_products(line(A, 1), y),
        x[2] - sum_of_products(line(A, 2), y),
        x[3] - sum_of_products(line(A, 3), y),
    )


@kernel
def solve_ldl_panel(n: int, L: Array, T: Array) -> None:
    """``T = (L D L')^-1 T`` with the factor of `aba.factorize_ldl`, four columns at once."""
    for j in range(n):
        for k in range(j):
            set_line(minus_scaled(line(T, j), L[j, k], line(T, k)), T, j)
    for j in range(n):
        set_line(scaled(L[j, j], line(T, j)), T, j)
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            set_line(minus_scaled(line(T, j), L[k, j], line(T, k)), T, j)
