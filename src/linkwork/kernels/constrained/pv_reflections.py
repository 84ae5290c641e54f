# SPDX-License-Identifier: BSD-3-Clause
"""Householder reflections of the rows of `pv_early`, after which one row alone depends on a degree of freedom.

**lqr** Eqs. 64, 65, 67 and 68.

| symbol   | meaning                                                                                                  |
|----------|----------------------------------------------------------------------------------------------------------|
| KS       | ``ks = K^A S``, a row of it for each degree of freedom of a joint                                        |
| Qv, Qt   | of each reflection ``1 - t u u'`` the vector ``u``, whose first entry is one, and ``t``                  |
| KA, kA   | rows on a link, and their right-hand side                                                                |
| lam      | multipliers of rows                                                                                      |

Cost: linear in the rows on a link, for each of them that ends there.
"""

from __future__ import annotations

from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, kernel, sqrt, where


@kernel
def reflect_rows(tree: Array, w: Array, i: int, c: int, n: int) -> None:
    """Reflection after which a degree of freedom moves the first of ``n`` rows alone (**lqr** Eqs. 65, 67 and 68)."""
    o = tree.early_start[i] + c
    v = tree.iv[i] + c
    k = tree.early_dof[v]
    ks = w.KS[k]
    Q = w.Qv[c]
    x = w.z6
    s = ks[o]
    square = s * s
    for e in range(o + 1, o + n):
        square = square + ks[e] * ks[e]
    norm = sqrt(square)
    norm = where(s, 0.0, -norm, norm)
    first = s + norm
    inverse = 1.0 / first
    t = first / norm
    w.Qt[v] = t
    y = w.kA[o]
    for j in range(6):
        x[j] = w.KA[o, j]
    for e in range(o + 1, o + n):
        Q[e] = ks[e] * inverse
        y = y + Q[e] * w.kA[e]
        for j in range(6):
            x[j] += Q[e] * w.KA[e, j]
    y = y * t
    w.kA[o] -= y
    for j in range(6):
        x[j] *= t
        w.KA[o, j] -= x[j]
    for e in range(o + 1, o + n):
        w.kA[e] -= Q[e] * y
        for j in range(6):
            w.KA[e, j] -= Q[e] * x[j]
    for m in range(dof_of(tree.kind[i])):
        if m != k:
            y = w.KS[m, o]
            for e in range(o + 1, o + n):
                y = y + Q[e] * w.KS[m, e]
            y = y * t
            w.KS[m, o] -= y
            for e in range(o + 1, o + n):
                w.KS[m, e] -= Q[e] * y
    ks[o] = -norm
    for e in range(o + 1, o + n):
        ks[e] = 0.0


@kernel
def reflect_multipliers(n: int, w: Array, o: int, Q: Array, t: Scalar) -> None:
    """Multipliers of rows as they were before their reflection (**lqr** Eq. 64)."""
    x = w.lam[o]
    for a in range(1, n):
        x = x + Q[o + a] * w.lam[o + a]
    x = x * t
    w.lam[o] -= x
    for a in range(1, n):
        w.lam[o + a] -= Q[o + a] * x


@kernel
def reflect_right_hand_side(n: int, w: Array, o: int, Q: Array, t: Scalar) -> None:
    """Right-hand sides of ``n`` rows after their reflection (**lqr** Eq. 68)."""
    y = w.kA[o]
    for a in range(1, n):
        y = y + Q[o + a] * w.kA[o + a]
    y = y * t
    w.kA[o] -= y
    for a in range(1, n):
        w.kA[o + a] -= Q[o + a] * y
