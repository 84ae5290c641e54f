# SPDX-License-Identifier: BSD-3-Clause
"""Rows of contacts times motions, forces and inertias: what solvers of contacts do with the rows of a contact point.

A contact point has three rows, along its tangents and its normal, on each of its two bodies: ``K``, 3 x 6, stored as
three rows of six from ``start`` on.

| symbol | meaning                                                                   |
|--------|---------------------------------------------------------------------------|
| K      | rows of contact points on a body                                          |
| G      | symmetric 3 x 3 matrix of a contact point, six numbers: penalties          |
| H, C   | inertia of a body, and coupling inertia of two, that ``K' G K`` is added to |

Cost: 18 to 200 operations for each contact point.
"""

from __future__ import annotations

from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import (
    Triple,
    add,
    angular,
    dot,
    linear,
    sub,
)


@kernel
def rows_times(K: Array, start: int, omega: Array, u: Array) -> Triple:
    """Three rows of K times ``[omega; u]``."""
    return (
        dot(angular(K[start]), omega) + dot(linear(K[start]), u),
        dot(angular(K[start + 1]), omega) + dot(linear(K[start + 1]), u),
        dot(angular(K[start + 2]), omega) + dot(linear(K[start + 2]), u),
    )


@kernel
def contact_accelerations(tree: Array, w: Array, c: int, s: int) -> Triple:
    """``J a`` of slot ``s`` of contact ``c``."""
    i = tree.contact_body_first[c]
    j = tree.contact_body_second[c]
    u = (0.0, 0.0, 0.0)
    if i > 0:
        u = sub(u, rows_times(w.contact_K[s], 0, angular(w.a[i]), linear(w.a[i])))
    if j > 0:
        u = add(u, rows_times(w.contact_K[s], 3, angular(w.a[j]), linear(w.a[j])))
    return u


@kernel
def add_force(K: Array, start: int, x: Triple, f: Array) -> None:
    """``f = f + K' x`` of three rows."""
    a = K[start]
    b = K[start + 1]
    c = K[start + 2]
    for j in range(6):
        f[j] += a[j] * x[0] + b[j] * x[1] + c[j] * x[2]


@kernel
def apply_contact_force(tree: Array, w: Array, c: int, s: int, x: Triple) -> None:
    """``f -= K' x`` of slot ``s`` of contact ``c``: on its second body ``x``, on the first ``-x``."""
    i = tree.contact_body_first[c]
    j = tree.contact_body_second[c]
    if i > 0:
        add_force(w.contact_K[s], 0, x, w.f[i])
    if j > 0:
        add_force(w.contact_K[s], 3, (-x[0], -x[1], -x[2]), w.f[j])


@kernel
def add_contact_inertia(tree: Array, w: Array, c: int, s: int, G: Array) -> None:
    """``H_ii += K_i' G K_i``, ``H_ij -= K_i' G K_j`` of slot ``s`` of contact ``c``, with a symmetric block ``G``."""
    i = tree.contact_body_first[c]
    j = tree.contact_body_second[c]
    coupling = tree.contact_coupling[c]
    K = w.contact_K[s]
    if i > 0:
        add_block_square(G, K, 0, w.H[i])
    if j > 0:
        add_block_square(G, K, 3, w.H[j])
    if coupling >= 0:
        if tree.contact_coupling_transposed[c] != 0:
            subtract_block_product(G, K, 3, 0, w.Hij[coupling])
        else:
            subtract_block_product(G, K, 0, 3, w.Hij[coupling])


@kernel
def add_block_square(G: Array, K: Array, start: int, H: Array) -> None:
    """``H = H + K' G K`` (upper triangle) of three rows of K and a symmetric block."""
    a = spatial(K[start])
    b = spatial(K[start + 1])
    c = spatial(K[start + 2])
    for j in range(6):
        x = G[0] * a[j] + G[1] * b[j] + G[2] * c[j]
        y = G[1] * a[j] + G[3] * b[j] + G[4] * c[j]
        z = G[2] * a[j] + G[4] * b[j] + G[5] * c[j]
        for k in range(j, 6):
            H[j, k] += x * a[k] + y * b[k] + z * c[k]


@kernel
def subtract_block_product(G: Array, K: Array, first: int, second: int, C: Array) -> None:
    """``C = C - K1' G K2`` of three rows each."""
    a = spatial(K[first])
    b = spatial(K[first + 1])
    c = spatial(K[first + 2])
    d = spatial(K[second])
    e = spatial(K[second + 1])
    f = spatial(K[second + 2])
    for j in range(6):
        x = G[0] * a[j] + G[1] * b[j] + G[2] * c[j]
        y = G[1] * a[j] + G[3] * b[j] + G[4] * c[j]
        z = G[2] * a[j] + G[4] * b[j] + G[5] * c[j]
        for k in range(6):
            C[j, k] -= x * d[k] + y * e[k] + z * f[k]


@kernel
def spatial(x: Array) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
    """All six numbers."""
    return x[0], x[1], x[2], x[3], x[4], x[5]
