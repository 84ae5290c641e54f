# SPDX-License-Identifier: BSD-3-Clause
"""Articulated bodies in the common frame: inertias, their inverses, and the accelerations of forward dynamics.

Featherstone, Rigid Body Dynamics Algorithms, Section 7.3 and Table 7.1, in one coordinate system, a degree of freedom
after the other; Wensing, Featherstone and Orin, A reduced-order recursive algorithm for the computation of the
operational-space inertia matrix, 2012, for the inverses. Beside inertias, the matrices ``B`` of `rnea_derivatives` are
eliminated: ``B x`` is the force by a change ``x`` of velocities.

| symbol   | meaning                                                                                       |
|----------|-----------------------------------------------------------------------------------------------|
| H, BA    | articulated inertia and ``B`` of body i, ``IA`` and ``BA``; after elimination ``Ia``, ``Ba``           |
| Y, Dinv  | ``IA S / D`` and ``1 / D`` of each degree of freedom, ``D = S' IA S`` (+ armature)               |
| Yb       | ``BA' S / D``, on angular velocities                                                          |
| Lam      | Lambda of each state: acceleration by a unit force, the inverse operational-space inertia       |
| U        | ``IA S``, ``Lambda_p Y``                                                                      |
| states, forces | accelerations of states beyond those of ``qdd = 0``, articulated bias forces               |

States: `plans.articulated_derivatives`. Other symbols: `common_frame`. Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.common_frame import acceleration_columns, net_forces
from linkwork.kernels.tree.inertia_columns import spatial_dot

ARTICULATED: dict[str, Shape] = {
    "H": ("n", 6, 6),
    "BA": ("n", 6, 3),
    "Y": ("nv", 6),
    "Dinv": ("nv",),
    "Yb": ("nv", 3),
    "Lam": ("nstates", 6, 6),
    "U": (6,),
    "qdd0": ("nv",),
    "states": ("nstates", 6),
    "forces": ("n", 6),
}


# Articulated bodies -----------------------------------------------------------------------------------


@kernel
def init_articulated(tree: Array, w: Array, i: int) -> None:
    """``IA = I`` and ``BA = B`` of body ``i`` alone, about the common origin."""
    H, J, b, m = w.H[i], w.J[i], w.b[i], tree.mass[i]
    for r in range(3):
        for s in range(3):
            H[r, s] = J[r + s + (1 if r > 0 and s > 0 else 0)]
            H[3 + r, 3 + s] = m if r == s else 0.0
    set_cross(b, H, 0, 3)
    for r in range(3):
        for s in range(3):
            H[3 + r, s] = H[s, 3 + r]
    N, B, p = w.N[i], w.BA[i], w.p[i]
    trace = N[0, 0] + N[1, 1] + N[2, 2]
    for r in range(3):
        for s in range(3):
            x = trace - N[r, s] if r == s else -N[r, s]
            B[r, s] = x + x
    for r in range(3):
        B[3 + r, r] = 0.0
    B[3, 1] = p[2] + p[2]
    B[3, 2] = -(p[1] + p[1])
    B[4, 0] = -(p[2] + p[2])
    B[4, 2] = p[0] + p[0]
    B[5, 0] = p[1] + p[1]
    B[5, 1] = -(p[0] + p[0])


@kernel
def set_cross(b: Array, H: Array, r: int, s: int) -> None:
    """The block of ``H`` at ``r, s``: ``b x``."""
    for j in range(3):
        H[r + j, s + j] = 0.0
    H[r, s + 1] = -b[2]
    H[r, s + 2] = b[1]
    H[r + 1, s] = b[2]
    H[r + 1, s + 2] = -b[0]
    H[r + 2, s] = -b[1]
    H[r + 2, s + 1] = b[0]


@kernel
def eliminate_dof(tree: Array, w: Array, i: int, k: int) -> None:
    """``Y, D, Yb`` of degree of freedom ``k`` of joint ``i``; ``Ia = IA - U Y'`` and ``Ba = BA - U Yb'``."""
    H, B, S, Y = w.H[i], w.BA[i], w.S[k], w.Y[k]
    for r in range(6):
        w.U[r] = spatial_dot(H[r], S)
    inverse = 1.0 / (spatial_dot(S, w.U) + tree.armature[k])
    w.Dinv[k] = inverse
    for r in range(6):
        Y[r] = w.U[r] * inverse
    for c in range(3):
        x = S[0] * B[0, c] + S[1] * B[1, c] + S[2] * B[2, c] + (S[3] * B[3, c] + S[4] * B[4, c] + S[5] * B[5, c])
        w.Yb[k, c] = x * inverse
        for r in range(6):
            B[r, c] -= Y[r] * x
    for r in range(6):
        for s in range(r, 6):
            H[r, s] -= w.U[r] * Y[s]
            H[s, r] = H[r, s]


@kernel
def articulate(tree: Array, w: Array) -> None:
    """Leaves to root: articulated inertias and bias matrices, after `body_inertias`."""
    for i in range(1, tree.n):
        init_articulated(tree, w, i)
    for i in range(tree.n - 1, 0, -1):
        for k in range(tree.iv[i] + dof_of(tree.kind[i]) - 1, tree.iv[i] - 1, -1):
            eliminate_dof(tree, w, i, k)
        h = tree.parent[i]
        if h > 0:
            for r in range(6):
                for s in range(6):
                    w.H[h, r, s] += w.H[i, r, s]
                for c in range(3):
                    w.BA[h, r, c] += w.BA[i, r, c]


@kernel
def symmetric_times(A: Array, x: Array, y: Array) -> None:
    """``y = A x``."""
    for r in range(6):
        y[r] = spatial_dot(A[r], x)


@kernel
def inverse_inertias(tree: Array, w: Array) -> None:
    """Root to leaves: ``Lambda = X Lambda_p X' + S S' / D`` of each state, with ``X = 1 - S Y'``."""
    for r in range(6):
        for s in range(6):
            w.Lam[0, r, s] = 0.0
    for k in range(tree.nv):
        S, P, L, t = w.S[k], w.Lam[tree.before[k]], w.Lam[k + 1], w.U
        symmetric_times(P, w.Y[k], t)
        half = 0.5 * (spatial_dot(w.Y[k], t) + w.Dinv[k])
        for r in range(6):
            t[r] -= half * S[r]
        for r in range(6):
            for s in range(r, 6):
                L[r, s] = P[r, s] - (S[r] * t[s] + t[r] * S[s])
                L[s, r] = L[r, s]


# Accelerations ----------------------------------------------------------------------------------------


@kernel
def accelerations_by_articulated_bodies(
    tree: Array, w: Array, v: Array, tau: Array, wrenches: Array, frame: int, a: Array
) -> None:
    """``a = M^-1 (tau - c)`` (Featherstone's Table 7.1), with bias forces ``c`` in the common frame."""
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    acceleration_columns(tree, w, v, w.qdd0, frame)
    net_forces(tree, w, wrenches)
    for i in range(1, tree.n):
        for j in range(6):
            w.forces[i, j] = w.F[i, j]
    for i in range(tree.n - 1, 0, -1):
        for k in range(tree.iv[i] + dof_of(tree.kind[i]) - 1, tree.iv[i] - 1, -1):
            u = tau[k] - spatial_dot(w.S[k], w.forces[i])
            a[k] = u * w.Dinv[k]
            for j in range(6):
                w.forces[i, j] += w.Y[k, j] * u
        h = tree.parent[i]
        if h > 0:
            for j in range(6):
                w.forces[h, j] += w.forces[i, j]
    for j in range(6):
        w.states[0, j] = 0.0
    for k in range(tree.nv):
        p = tree.before[k]
        x = a[k] - spatial_dot(w.Y[k], w.states[p])
        a[k] = x
        for j in range(6):
            w.states[k + 1, j] = w.states[p, j] + w.S[k, j] * x
