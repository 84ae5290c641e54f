# SPDX-License-Identifier: BSD-3-Clause
"""The inverse of a symmetric positive-semidefinite matrix, or a weighted pseudoinverse where rows depend on others.

``A = L D L'`` row by row. A pivot that is a small part of its diagonal entry is zero: its row depends on rows before
it, and ``n = L^-T e`` is in the null space of A. Without the dependent rows, ``G = L^-T D^+ L^-1`` is the inverse of
the others. Of all solutions of ``A x = b`` the smallest in the metric of the weights R is ``X b``::

    X = P G P',        P = 1 - N' (N R N')^-1 N R,        N: the null vectors in rows

and where b contradicts itself, ``X b`` solves for what is left of it without that: X is the pseudoinverse in this
metric, the limit of proximal iterations with R.

| symbol | meaning                                                     |
|--------|-------------------------------------------------------------|
| U      | A in the lower triangle, then ``L`` below the diagonal      |
| Z      | ``L^-1``                                                    |
| root   | roots of the diagonal                                       |
| pivot  | ``1 / D``, zero where a row depends on others               |
| null   | 1 where a row depends on others, else 0                     |
| C      | ``N R N'``, and ones on the diagonal of independent rows    |

Cost: O(m³) for m rows.
"""

from __future__ import annotations

from linkwork.kernels.aba import factorize_ldl, solve_ldl
from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained import DISABLED
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where

EXPECTED = 1e-3
"""Rows whose relative pivots are all larger do not depend on each other, whatever counts as zero."""

INVERSE: dict[str, Shape] = {
    "U": ("nc", "nc"),
    "Z": ("nc", "nc"),
    "C": ("nc", "nc"),
    "P": ("nc", "nc"),
    "pivot": ("nc",),
    "null": ("nc",),
    "row": ("nc",),
    "root": ("nc",),
}


@kernel
def factorize_semidefinite(n: int, w: Array, softness: Array, cut: Array, negligible: Array) -> Scalar:
    """``U = L D L'`` in place, ``Z``, ``pivot`` and ``null``; returns the least pivot, relative to its diagonal entry.

    A pivot is ``z A z'`` with the row z of ``L^-1``. It is zero below ``cut[0]`` of the diagonal entry, below
    ``negligible``, and below what rounding may leave of such a product, ``cut[1]`` of ``(sum |z_k| sqrt(A_kk))²``. Rows
    that are not enabled have a softness beyond `DISABLED`: they count as rows without entries.
    """
    least = 1.0
    for r in range(n):
        on = where(softness[r], DISABLED, 1.0, 0.0)
        diagonal = w.U[r, r] + where(softness[r], DISABLED, softness[r], 0.0)
        w.root[r] = sqrt(where(0.0, diagonal, diagonal, 0.0))
        for s in range(r):
            x = w.U[r, s]
            for k in range(s):
                x = x - w.U[r, k] * w.U[s, k]
            w.U[r, s] = x
        pivot = diagonal
        for s in range(r):
            x = on * (w.U[r, s] * w.pivot[s])
            pivot = pivot - w.U[r, s] * x
            w.U[r, s] = x
        noise = w.root[r] + inverse_row(r, w)
        bound = larger(larger(cut[0] * diagonal, cut[1] * (noise * noise)), negligible[r])
        found = where(bound, pivot, on, 0.0)
        w.pivot[r] = where(0.0, found, 1.0 / where(bound, pivot, pivot, 1.0), 0.0)
        w.null[r] = on - found
        relative = where(0.0, found, pivot / where(0.0, diagonal, diagonal, 1.0), 0.0)
        relative = where(0.5, on, relative, 1.0)
        least = where(relative, least, relative, least)
    return least


@kernel
def larger(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two numbers."""
    return where(x, y, y, x)


@kernel
def inverse_row(r: int, w: Array) -> Scalar:
    """Row ``r`` of ``Z = L^-1``, and ``sum |z_k| sqrt(A_kk)`` before the diagonal."""
    total = 0.0
    for s in range(r):
        x = -w.U[r, s]
        for k in range(s + 1, r):
            x = x - w.U[r, k] * w.Z[k, s]
        w.Z[r, s] = x
        total = total + where(x, 0.0, -x, x) * w.root[s]
    w.Z[r, r] = 1.0
    return total


@kernel
def invert_semidefinite(n: int, w: Array, X: Array) -> None:
    """``X = L^-T D^+ L^-1``, after `factorize_semidefinite`."""
    for r in range(n):
        for s in range(r + 1):
            x = w.Z[r, s] * w.pivot[r]
            for k in range(r + 1, n):
                x = x + w.Z[k, r] * (w.Z[k, s] * w.pivot[k])
            X[r, s] = x
            X[s, r] = x


@kernel
def smallest_solutions(n: int, w: Array, R: Array, X: Array) -> None:
    """``X = P X P'``, after `invert_semidefinite`."""
    for r in range(n):
        for s in range(r + 1):
            x = 0.0
            for k in range(s + 1):
                x = x + w.Z[r, k] * (where(R[k], DISABLED, R[k], 0.0) * w.Z[s, k])
            x = (w.null[r] * w.null[s]) * x
            w.C[r, s] = x + (1.0 - w.null[r]) if r == s else x
    factorize_ldl(n, w.C)
    for s in range(n):  # columns of P
        for r in range(n):
            in_row = w.Z[r, s] if s <= r else 0.0
            w.row[r] = w.null[r] * (in_row * where(R[s], DISABLED, R[s], 0.0))
        solve_ldl(n, w.C, w.row)
        for r in range(n):
            x = 1.0 if r == s else 0.0
            for k in range(r, n):
                x = x - w.Z[k, r] * (w.null[k] * w.row[k])
            w.P[r, s] = x
    for r in range(n):  # rows of P X, then of P X P'
        for s in range(n):
            x = 0.0
            for k in range(n):
                x = x + w.P[r, k] * X[k, s]
            w.C[r, s] = x
    for r in range(n):
        for s in range(r + 1):
            x = 0.0
            for k in range(n):
                x = x + w.C[r, k] * w.P[s, k]
            X[r, s] = x
            X[s, r] = x


@kernel
def weighted_inverse(
    n: int, w: Array, softness: Array, R: Array, cut: Array, negligible: Array, redundant: int, X: Array
) -> Scalar:
    """``X`` of the matrix in the lower triangle of ``U``; returns the least relative pivot.

    Where ``redundant`` is 0, dependent rows are not expected: of states in which there are some, their part is zero.
    """
    least = factorize_semidefinite(n, w, softness, cut, negligible)
    invert_semidefinite(n, w, X)
    if redundant != 0:
        if any_below(least, EXPECTED):
            smallest_solutions(n, w, R, X)
    return least
