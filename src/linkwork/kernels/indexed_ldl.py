# SPDX-License-Identifier: BSD-3-Clause
"""``L D L'`` factors of symmetric matrices whose rows and columns are given by a list of indices, in place."""

from __future__ import annotations

from linkwork.kernels.scalar import Array, kernel


@kernel
def factorize_at(at: Array, o: int, n: int, L: Array) -> None:
    """``L D L'`` of the rows and columns ``at[o : o + n]``, in place; the diagonal becomes ``1 / D``."""
    for a in range(n):
        j = at[o + a]
        for b in range(a):
            k = at[o + b]
            x = L[j, k]
            for c in range(b):
                x = x - L[j, at[o + c]] * L[k, at[o + c]]
            L[j, k] = x
        for b in range(a):
            k = at[o + b]
            scaled = L[j, k] * L[k, k]
            L[j, j] -= L[j, k] * scaled
            L[j, k] = scaled
        L[j, j] = 1.0 / L[j, j]


@kernel
def forward_substitute_at(at: Array, o: int, n: int, L: Array, x: Array) -> None:
    """``x = L^-1 x`` on these rows."""
    for a in range(n):
        j = at[o + a]
        for b in range(a):
            x[j] -= L[j, at[o + b]] * x[at[o + b]]


@kernel
def back_substitute_at(at: Array, o: int, n: int, L: Array, x: Array) -> None:
    """``x = L'^-1 x`` on these rows."""
    for a in range(n - 1, -1, -1):
        j = at[o + a]
        for b in range(a + 1, n):
            k = at[o + b]
            x[j] -= L[k, j] * x[k]


@kernel
def solve_at(at: Array, o: int, n: int, L: Array, x: Array) -> None:
    """``x = (L D L')^-1 x`` on these rows."""
    forward_substitute_at(at, o, n, L, x)
    for a in range(n):
        x[at[o + a]] *= L[at[o + a], at[o + a]]
    back_substitute_at(at, o, n, L, x)
