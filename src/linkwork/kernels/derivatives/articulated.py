# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of forward dynamics of a tree by articulated bodies, for deep trees, by `articulated_derivatives`.

Computes the results of `aba_derivatives` in a number of operations that is proportional to theirs however deep
the tree is. With the partial of accelerations of bodies beyond joint j by its coordinate, ``Psidd_j``, and of their
velocities, ``Psid_j`` (`common_frame`; Singh, Russell and Wensing 2022), bodies there have the derivative ``a' =
Psidd_j + sum S qdd'``, and the equations of motion are, for j and every joint i beyond it::

    S_i' sum (I a' + B Psid_j) = 0

over the bodies beyond i: those of an articulated body with the bias force ``B Psid_j``, whose elimination is the same
for all columns (`common_articulated`)::

    qdd'_i = -Y_i . a'_p(i) - Yb_i . Psid_j         a'_i = a'_p(i) + S_i qdd'_i

The bodies beyond j act on the rest of the tree by the force ``c_j = -(Ia Psidd_j + Ba Psid_j + S_j x* f)`` on the
parent, with the force f across the joint (Carpentier and Mansard 2018). So ``a'_p(j) = Lambda c_j`` at first, and a
joint k before j has ``qdd'_k = g_k . c``, with the motion ``g_k`` of its body by a unit torque at k, and ``c``
propagated to it, ``c_p(i) = c_i - Y_i S_i . c_i``. On another branch it has ``qdd'_k = alpha_k . c``, with the motion
``alpha_k`` by a unit torque at k where branches meet. By velocities: ``Psid_Sd_j`` in place of Psidd_j, ``S_j`` of
Psid_j, no force across the joint. By torques: the force ``-Y_j`` on the parent.

| symbol   | meaning                                                                                   |
|----------|-------------------------------------------------------------------------------------------|
| cq, cv, ct | ``c_j`` by configuration, velocity and torque                                             |
| startq, startv | ``a'`` before joint j                                                                 |
| g, alpha | motions by a torque, of its body and where the tree branches                              |
| Gq, Gv, Gt | ``c`` of four columns at each state; Gj: across a joint                                    |
| Aq, Av   | ``a'`` of four columns at each state                                                      |
| omega    | angular parts of ``Psid_j`` and ``S_j``, four columns                                      |
| Xl       | four numbers of a row of each result                                                      |
| force    | the force of a torque on its way to the root                                              |

Cost: O(n^2) for 3 n^2 numbers: for each pair of related joints 84 multiplications and additions, for each other pair
30; and O(n d) where trees branch. (`products` of the plan counts them.)
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.derivatives.aba import store_line
from linkwork.kernels.joints import dof_of
from linkwork.kernels.panels import ZERO, Four, line, minus_scaled, plus, plus_scaled, scaled, set_line
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import add, angular, cross, linear
from linkwork.kernels.tree.common_articulated import (
    ARTICULATED,
    accelerations_by_articulated_bodies,
    articulate,
    inverse_inertias,
    symmetric_times,
)
from linkwork.kernels.tree.common_frame import (
    COMMON_INERTIA,
    COMMON_MOTION,
    ROOT_FRAMES,
    acceleration_columns,
    body_inertias,
    composite_forces,
    motion_columns,
    net_forces,
)
from linkwork.kernels.tree.inertia_columns import moment_dot, spatial_dot
from linkwork.kernels.tree.rnea import WRENCHES
from linkwork.plans.aba_derivatives import LINE
from linkwork.plans.articulated_derivatives import ARTICULATED_TREE, BEFORE, INSIDE, MIXED

SWEEPS: dict[str, Shape] = {
    "cq": ("nv", 6),
    "cv": ("nv", 6),
    "startq": ("nv", 6),
    "startv": ("nv", 6),
    "ct": ("nv", 6),
    "g": ("nv", 6),
    "alpha": ("nv", "nbranches", 6),
    "Gq": ("nstates", 6, LINE),
    "Gv": ("nstates", 6, LINE),
    "Gt": ("nstates", 6, LINE),
    "Gj": (6, LINE),
    "Aq": ("nstates", 6, LINE),
    "Av": ("nstates", 6, LINE),
    "omega": (6, LINE),
    "Xl": (3, LINE),
    "force": (6,),
}


# Columns: where they begin -----------------------------------------------------------------------------


@kernel
def bias_force(w: Array, i: int, psi: Array, omega: Array, c: Array) -> None:
    """``c = -(Ia psi + Ba omega)`` of body ``i``."""
    for r in range(6):
        c[r] = -(spatial_dot(w.H[i, r], psi) + moment_dot(w.BA[i, r], omega))


@kernel
def column_forces(tree: Array, w: Array) -> None:
    """``cq, cv`` of all degrees of freedom, and ``a'`` before their joints; forces across joints are in ``fC``."""
    for i in range(1, tree.n):
        f = w.fC[i]
        L = w.Lam[tree.entry[tree.iv[i]]]
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            S, c = w.S[k], w.cq[k]
            bias_force(w, i, w.Psidd[k], w.Psid[k], c)
            moment = add(cross(angular(S), angular(f)), cross(linear(S), linear(f)))
            moved = cross(angular(S), linear(f))
            for j in range(3):
                c[j] -= moment[j]
                c[3 + j] -= moved[j]
            bias_force(w, i, w.Psid_Sd[k], S, w.cv[k])
            for j in range(6):
                w.startq[k, j] = w.Psidd[k, j] + spatial_dot(L[j], c)
                w.startv[k, j] = w.Psid_Sd[k, j] + spatial_dot(L[j], w.cv[k])


@kernel
def torque_motions(tree: Array, w: Array, da_dtau: Array) -> None:
    """Motion ``g`` of its body by a unit torque, the part of ``M^-1`` in its joint, and the force ``ct``.

    The force is propagated to the states where the tree branches, for ``alpha``.
    """
    for i in range(1, tree.n):
        last = tree.iv[i] + dof_of(tree.kind[i])
        for k in range(tree.iv[i], last):
            g = w.g[k]
            symmetric_times(w.Lam[tree.before[k]], w.Y[k], g)
            x = w.Dinv[k] + spatial_dot(w.Y[k], g)
            da_dtau[k, k] = x
            for j in range(6):
                g[j] = w.S[k, j] * x - g[j]
            for h in range(k + 1, last):
                x = -spatial_dot(w.Y[h], g)
                da_dtau[h, k] = x
                da_dtau[k, h] = x
                for j in range(6):
                    g[j] += w.S[h, j] * x
            for j in range(6):
                w.force[j] = -w.Y[k, j]
            s = travel(tree, w, tree.before[k], tree.entry[k])
            for j in range(6):
                w.ct[k, j] = w.force[j]
            while s > 0:
                if tree.branch[s] >= 0:
                    symmetric_times(w.Lam[s], w.force, w.alpha[k, tree.branch[s]])
                s = 0 if s == tree.top[k] else travel(tree, w, s, tree.before[s - 1])


@kernel
def travel(tree: Array, w: Array, s: int, end: int) -> int:
    """Propagate the force at state ``s`` to the state ``end`` before it, which is returned."""
    t = s
    while t != end:
        u = spatial_dot(w.S[t - 1], w.force)
        for j in range(6):
            w.force[j] -= w.Y[t - 1, j] * u
        t = tree.before[t - 1]
    return t


# Columns, four at a time: forces on their way to the root ------------------------------------------------


@kernel
def minus_dot(x: Four, Y: Array, A: Array) -> Four:
    """``x - Y . A`` of lines."""
    y = minus_scaled(minus_scaled(minus_scaled(x, Y[0], line(A, 0)), Y[1], line(A, 1)), Y[2], line(A, 2))
    return minus_scaled(minus_scaled(minus_scaled(y, Y[3], line(A, 3)), Y[4], line(A, 4)), Y[5], line(A, 5))


@kernel
def line_dot(c: Array, A: Array) -> Four:
    """``c . A`` of lines."""
    y = plus_scaled(plus_scaled(scaled(c[0], line(A, 0)), c[1], line(A, 1)), c[2], line(A, 2))
    return plus_scaled(plus_scaled(plus_scaled(y, c[3], line(A, 3)), c[4], line(A, 4)), c[5], line(A, 5))


@kernel
def next_state(S: Array, x: Four, P: Array, A: Array) -> None:
    """``A = P + S x`` of lines."""
    for j in range(6):
        set_line(plus_scaled(line(P, j), S[j], x), A, j)


@kernel
def begin_forces(tree: Array, w: Array, l: int) -> None:
    """Forces ``c`` of the columns of line ``l`` at the states before their joints, and none elsewhere."""
    for e in range(tree.above_start[l], tree.above_start[l] + tree.above_count[l]):
        s = state_of(tree, tree.above_body[e])
        for j in range(6):
            set_line(ZERO, w.Gq[s], j)
            set_line(ZERO, w.Gv[s], j)
            set_line(ZERO, w.Gt[s], j)
    for c in range(LINE):
        k = LINE * l + c
        if k < tree.nv and tree.entry[k] > 0:
            for j in range(6):
                w.Gq[tree.entry[k], j, c] = w.cq[k, j]
                w.Gv[tree.entry[k], j, c] = w.cv[k, j]
                w.Gt[tree.entry[k], j, c] = w.ct[k, j]


@kernel
def state_of(tree: Array, i: int) -> int:
    """The state of body ``i``."""
    last: int = tree.iv[i] + dof_of(tree.kind[i])
    return last


@kernel
def force_to_parent(tree: Array, w: Array, i: int, G: Array) -> None:
    """``G_p(i) = G_p(i) + X' G_i`` across joint ``i``, of lines."""
    s = state_of(tree, i)
    count = dof_of(tree.kind[i])
    for j in range(6):
        set_line(line(G[s], j), w.Gj, j)
    for n in range(count):
        k = s - 1 - n
        u = line_dot(w.S[k], w.Gj)
        for j in range(6):
            set_line(minus_scaled(line(w.Gj, j), w.Y[k, j], u), w.Gj, j)
    P = G[state_of(tree, tree.parent[i])]
    for j in range(6):
        set_line(plus(line(P, j), line(w.Gj, j)), P, j)


@kernel
def before_line(tree: Array, w: Array, l: int, da_dq: Array, da_dv: Array, da_dtau: Array) -> None:
    """Derivatives of accelerations before the joints of line ``l``."""
    begin_forces(tree, w, l)
    for e in range(tree.above_start[l], tree.above_start[l] + tree.above_count[l]):
        i = tree.above_body[e]
        s = state_of(tree, i)
        for k in range(tree.iv[i], s):
            set_products(w, w.g[k], s, 1)
            store_row(tree, w, l, k, BEFORE, da_dq, da_dv)
            store_symmetric(tree, w, l, k, BEFORE, da_dtau)
        if tree.parent[i] > 0:
            force_to_parent(tree, w, i, w.Gq)
            force_to_parent(tree, w, i, w.Gv)
            force_to_parent(tree, w, i, w.Gt)


@kernel
def set_products(w: Array, a: Array, s: int, torques: int) -> None:
    """``a . G`` of forces at state ``s``."""
    set_line(line_dot(a, w.Gq[s]), w.Xl, 0)
    set_line(line_dot(a, w.Gv[s]), w.Xl, 1)
    if torques != 0:
        set_line(line_dot(a, w.Gt[s]), w.Xl, 2)


@kernel
def apart_line(tree: Array, w: Array, l: int, da_dq: Array, da_dv: Array, da_dtau: Array) -> None:
    """Derivatives of accelerations on other branches than the joints of line ``l``."""
    for k in range(tree.nv):
        s = tree.line_relation[k, l]
        if s == 0:
            for j in range(3):
                set_line(ZERO, w.Xl, j)
        if s > 0:
            set_products(w, w.alpha[k, tree.branch[s]], s, 1 if k < LINE * l else 0)
        if s >= 0:
            store_row(tree, w, l, k, s, da_dq, da_dv)
            if k < LINE * l:
                store_symmetric(tree, w, l, k, s, da_dtau)
        if s == MIXED:
            for c in range(LINE):
                j = LINE * l + c
                if j < tree.nv:
                    apart_entry(tree, w, c, k, j, da_dq, da_dv, da_dtau)


@kernel
def apart_entry(tree: Array, w: Array, c: int, k: int, j: int, da_dq: Array, da_dv: Array, da_dtau: Array) -> None:
    """The entry of column ``j``, column ``c`` of its line."""
    s = tree.relation[k, j]
    if s == 0:
        da_dq[k, j] = 0.0
        da_dv[k, j] = 0.0
        if k < j:
            da_dtau[k, j] = 0.0
            da_dtau[j, k] = 0.0
    if s > 0:
        a = w.alpha[k, tree.branch[s]]
        da_dq[k, j] = column_dot(a, w.Gq[s], c)
        da_dv[k, j] = column_dot(a, w.Gv[s], c)
        if k < j:
            x = column_dot(a, w.Gt[s], c)
            da_dtau[k, j] = x
            da_dtau[j, k] = x


@kernel
def column_dot(a: Array, G: Array, c: int) -> Scalar:
    """``a . G`` of column ``c`` of lines."""
    return (a[0] * G[0, c] + a[1] * G[1, c] + a[2] * G[2, c]) + (a[3] * G[3, c] + a[4] * G[4, c] + a[5] * G[5, c])


@kernel
def store_row(tree: Array, w: Array, l: int, k: int, which: int, da_dq: Array, da_dv: Array) -> None:
    """Row ``k`` of derivatives in those columns of line ``l`` to which it has this relation."""
    if tree.line_relation[k, l] == which:
        store_line(tree.nv, w.Xl, 0, l, da_dq[k])
        store_line(tree.nv, w.Xl, 1, l, da_dv[k])
    else:
        for c in range(LINE):
            j = LINE * l + c
            if j < tree.nv and tree.relation[k, j] == which:
                da_dq[k, j] = w.Xl[0, c]
                da_dv[k, j] = w.Xl[1, c]


@kernel
def store_symmetric(tree: Array, w: Array, l: int, k: int, which: int, da_dtau: Array) -> None:
    """Row ``k`` of ``M^-1`` in these columns, and the same in column ``k``."""
    for c in range(LINE):
        j = LINE * l + c
        if j < tree.nv and tree.relation[k, j] == which:
            da_dtau[k, j] = w.Xl[2, c]
            da_dtau[j, k] = w.Xl[2, c]


# Bodies beyond the joints that move -----------------------------------------------------------------------


@kernel
def enter_columns(tree: Array, w: Array, l: int, s: int) -> None:
    """``a'`` at state ``s`` of the columns of line ``l`` whose joints come next."""
    for c in range(LINE):
        k = LINE * l + c
        if k < tree.nv and tree.entry[k] == s:
            for j in range(6):
                w.Aq[s, j, c] = w.startq[k, j]
                w.Av[s, j, c] = w.startv[k, j]


@kernel
def begin_columns(tree: Array, w: Array, l: int) -> None:
    """States before the joints of line ``l``, and angular velocities ``omega``."""
    for c in range(LINE):
        k = LINE * l + c
        for j in range(3):
            w.omega[j, c] = w.Psid[k, j] if k < tree.nv else 0.0
            w.omega[3 + j, c] = w.S[k, j] if k < tree.nv else 0.0
        if k < tree.nv:
            s = tree.entry[k]
            for j in range(6):
                set_line(ZERO, w.Aq[s], j)
                set_line(ZERO, w.Av[s], j)
    for c in range(LINE):
        k = LINE * l + c
        if k < tree.nv:
            enter_columns(tree, w, l, tree.entry[k])


@kernel
def beyond_line(tree: Array, w: Array, l: int, da_dq: Array, da_dv: Array) -> None:
    """Derivatives by the columns of line ``l`` at their joints and beyond them."""
    begin_columns(tree, w, l)
    for e in range(tree.inside_start[l], tree.inside_start[l] + tree.inside_count[l]):
        i = tree.inside_dof[e]
        p = tree.before[i]
        b = w.Yb[i]
        q = minus_dot(ZERO, w.Y[i], w.Aq[p])
        v = minus_dot(ZERO, w.Y[i], w.Av[p])
        for j in range(3):
            q = minus_scaled(q, b[j], line(w.omega, j))
            v = minus_scaled(v, b[j], line(w.omega, 3 + j))
        set_line(q, w.Xl, 0)
        set_line(v, w.Xl, 1)
        store_row(tree, w, l, i, INSIDE, da_dq, da_dv)
        if tree.has_beyond[i] != 0:
            next_state(w.S[i], q, w.Aq[p], w.Aq[i + 1])
            next_state(w.S[i], v, w.Av[p], w.Av[i + 1])
            if tree.enters[i, l] != 0:
                enter_columns(tree, w, l, i + 1)


@kernel
def sweep_columns(tree: Array, w: Array, da_dq: Array, da_dv: Array, da_dtau: Array) -> None:
    """All derivatives, after `acceleration_columns` and `net_forces` at the accelerations of forward dynamics."""
    composite_forces(tree, w)
    column_forces(tree, w)
    torque_motions(tree, w, da_dtau)
    for l in range(tree.nlines):
        before_line(tree, w, l, da_dq, da_dv, da_dtau)
        beyond_line(tree, w, l, da_dq, da_dv)
        apart_line(tree, w, l, da_dq, da_dv, da_dtau)


@kernel
def articulated_derivatives(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array,
    da_dq: Array,
    da_dv: Array,
    da_dtau: Array,
    a: Array,
) -> None:
    """Derivatives of `aba.aba` by ``q`` (tangent space), ``v`` and ``tau``, and the accelerations themselves."""
    motion_columns(tree, w, q, v, ROOT_FRAMES)
    body_inertias(tree, w)
    articulate(tree, w)
    inverse_inertias(tree, w)
    accelerations_by_articulated_bodies(tree, w, v, tau, wrenches, ROOT_FRAMES, a)
    acceleration_columns(tree, w, v, a, ROOT_FRAMES)
    net_forces(tree, w, wrenches)
    sweep_columns(tree, w, da_dq, da_dv, da_dtau)


ARTICULATED_DERIVATIVES = Algorithm(
    "articulated_derivatives",
    articulated_derivatives,
    {"q": ("nq",), "v": ("nv",), "tau": ("nv",), "wrenches": WRENCHES},
    {"da_dq": ("nv", "nv"), "da_dv": ("nv", "nv"), "da_dtau": ("nv", "nv"), "a": ("nv",)},
    COMMON_MOTION | COMMON_INERTIA | ARTICULATED | SWEEPS,
    ARTICULATED_TREE,
)
