# SPDX-License-Identifier: BSD-3-Clause
"""``L D L'`` factors of symmetric matrices by lines of four: rows are neighbors in memory, a multiple of four wide.

The upper triangle of ``n`` rows from row ``o`` on becomes ``L'``, with ``1 / D`` on the diagonal. Columns of a line
before the diagonal and beyond the matrix are changed and not used. Cost: ``n^3 / 6``, as number by number.
"""

from __future__ import annotations

from linkwork.kernels.panels import entries, minus_scaled, scaled, set_entries
from linkwork.kernels.scalar import Array, kernel


@kernel
def factorize_by_lines(o: int, n: int, N: Array, y: Array) -> None:
    """``L D L'`` of the rows of ``N``, in place; ``y`` is scratch, as wide as a row."""
    lines = (n + 3) // 4
    for a in range(n):
        A = N[o + a]
        inverse = 1.0 / A[a]
        for l in range(a // 4, lines):
            set_entries(scaled(inverse, entries(A, 4 * l)), y, 4 * l)
        for j in range(a + 1, n):
            J = N[o + j]
            for l in range(j // 4, lines):
                set_entries(minus_scaled(entries(J, 4 * l), y[j], entries(A, 4 * l)), J, 4 * l)
        for l in range(a // 4, lines):
            set_entries(entries(y, 4 * l), A, 4 * l)
        A[a] = inverse


@kernel
def solve_by_lines(o: int, n: int, N: Array, lines: int, X: Array) -> None:
    """``X = (L D L')^-1 X``: so many lines of the ``n`` rows of ``X`` from ``o`` on are right-hand sides."""
    for a in range(n):
        for j in range(a + 1, n):
            for l in range(lines):
                x = minus_scaled(entries(X[o + j], 4 * l), N[o + a, j], entries(X[o + a], 4 * l))
                set_entries(x, X[o + j], 4 * l)
    for a in range(n - 1, -1, -1):
        for l in range(lines):
            x = scaled(N[o + a, a], entries(X[o + a], 4 * l))
            for j in range(a + 1, n):
                x = minus_scaled(x, N[o + a, j], entries(X[o + j], 4 * l))
            set_entries(x, X[o + a], 4 * l)


@kernel
def solve_one_by_lines(o: int, n: int, N: Array, x: Array) -> None:
    """``x = (L D L')^-1 x`` of one right-hand side, ``n`` numbers."""
    for a in range(n):
        for j in range(a + 1, n):
            x[j] -= N[o + a, j] * x[a]
    for a in range(n):
        x[a] *= N[o + a, a]
    for a in range(n - 1, 0, -1):
        for j in range(a):
            x[j] -= N[o + j, a] * x[a]
