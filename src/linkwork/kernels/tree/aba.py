# SPDX-License-Identifier: BSD-3-Clause
"""Articulated-body algorithm: joint accelerations of a tree, by `aba`, and products with the inverse mass matrix.

Featherstone, Rigid Body Dynamics Algorithms, Table 7.1; **lqr** Eqs. 42 for the same recursion as dynamic programming.

| symbol | meaning                                                                                       |
|--------|-----------------------------------------------------------------------------------------------|
| H      | articulated-body inertia, the book's IA; after `eliminate`, ``Ia = IA - U D^-1 U'``           |
| f      | bias force, the book's pA; after `articulated_bias_force`, ``pa = pA + U D^-1 u``             |
| U, D   | ``U = IA S``, ``D = S' U`` (+ armature); V = D^-1 U'. `eliminate` leaves ``1 / D`` in D       |
| y      | ``D^-1 u``, ``u = tau - S' pA``                                                               |
| L, Y   | ``L D L'`` factor of D and ``U D^-1``, where a joint has several degrees of freedom           |
| joint_inertia | armature: inertia along the joint itself, of rotors and of constraints on the joint    |
| a      | acceleration beyond that of ``qdd = 0``                                                       |

The first pass is that of `rnea` with ``qdd = 0``: bias forces and accelerations contain the velocity products ``c`` and
gravity already, and the second and third pass solve for what joint accelerations add, without ``c``. Without armature,
the rows of ``H - U V`` along the joint's axes vanish and the force there is ``tau``: one-DoF joints and joints whose S
is a selection of axes have these zeros as constants. Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import axis_of, dof_of, moves_along, rotate_to_child
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import (
    add,
    add_shifted_inertia,
    angular,
    cross,
    linear,
    rotate_inertia,
    rotate_inertia_about_z,
    set_angular,
    set_linear,
    set_rigid_inertia,
    symmetrize,
)
from linkwork.kernels.tree.kinematics import ACCELERATION, MOTION, POSE, joint_transforms
from linkwork.kernels.tree.rnea import (
    FORCE,
    FORWARD,
    WRENCHES,
    apply_wrenches,
    force_to_parent,
    forward_pass,
    init_root,
)
from linkwork.model.joints import FREE, HELICAL, PRISMATIC, REVOLUTE, SPHERICAL

ARTICULATED: dict[str, Shape] = {
    "H": ("n", 6, 6),
    "V": ("n", 6),
    "D": ("n",),
    "L": ("n", 6, 6),
    "Y": ("n", 6, 6),
    "Z": (6, 6),
    "y": ("nv",),
    "joint_inertia": ("nv",),
}


@kernel
def eliminate_axis(H: Array, V: Array, axis: int) -> Scalar:
    """One-DoF joint along a unit axis, no armature: row and column ``axis`` of ``Ia`` are zero; returns ``1 / D``."""
    inverse = 1.0 / H[axis, axis]
    for j in range(6):
        V[j] = H[j, axis] * inverse
    V[axis] = 1.0
    for j in range(6):
        if j != axis:
            for k in range(j, 6):
                if k != axis:
                    H[j, k] -= H[j, axis] * V[k]
    for j in range(6):
        H[j, axis] = 0.0
        H[axis, j] = 0.0
    return inverse


@kernel
def eliminate_one_dof(tree: Array, w: Array, i: int) -> None:
    """One-DoF joint with armature, or helical: ``Ia = IA - U D^-1 U'``."""
    H = w.H[i]
    V = w.V[i]
    U = w.L[i, 0]
    axis = axis_of(tree.kind[i], 0)
    for j in range(6):
        U[j] = H[j, axis]
    D = U[axis]
    if tree.kind[i] == HELICAL:
        for j in range(6):
            U[j] += tree.pitch[i] * H[j, 5]
        D = U[2] + tree.pitch[i] * U[5]
    w.D[i] = 1.0 / (D + w.joint_inertia[tree.iv[i]])
    for j in range(6):
        V[j] = U[j] * w.D[i]
    for j in range(6):
        for k in range(j, 6):
            H[j, k] -= U[j] * V[k]


@kernel
def factorize_ldl(n: int, L: Array) -> None:
    """``L D L'`` of a symmetric matrix given in the lower triangle, in place; the diagonal becomes ``1 / D``."""
    for j in range(n):
        for k in range(j):
            x = L[j, k]
            for m in range(k):
                x = x - L[j, m] * L[k, m]
            L[j, k] = x
        for k in range(j):
            scaled = L[j, k] * L[k, k]
            L[j, j] -= L[j, k] * scaled
            L[j, k] = scaled
        L[j, j] = 1.0 / L[j, j]


@kernel
def solve_ldl(n: int, L: Array, x: Array) -> None:
    """``x = (L D L')^-1 x`` with the factor of `factorize_ldl`."""
    for j in range(n):
        for k in range(j):
            x[j] -= L[j, k] * x[k]
    for j in range(n):
        x[j] *= L[j, j]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            x[j] -= L[k, j] * x[k]


@kernel
def eliminate_multi_dof(tree: Array, w: Array, i: int) -> None:
    """Joint with several degrees of freedom, S a selection of unit axes; ``Y = U D^-1``."""
    kind = tree.kind[i]
    n = dof_of(kind)
    H = w.H[i]
    L = w.L[i]
    Y = w.Y[i]
    for j in range(n):
        for k in range(j + 1):
            L[j, k] = H[axis_of(kind, j), axis_of(kind, k)]
        L[j, j] += w.joint_inertia[tree.iv[i] + j]
    factorize_ldl(n, L)
    geared = tree.has_armature[i]
    U = w.Z
    for j in range(6):
        for k in range(n):
            U[j, k] = H[j, axis_of(kind, k)]
        if geared != 0 or moves_along(kind, j) == 0:
            for k in range(n):
                Y[j, k] = U[j, k]
            solve_ldl(n, L, Y[j])
    for j in range(6):
        for k in range(j, 6):
            if geared != 0 or (moves_along(kind, j) == 0 and moves_along(kind, k) == 0):
                for m in range(n):
                    H[j, k] -= U[j, m] * Y[k, m]
    if geared == 0:
        for m in range(n):
            for j in range(6):
                H[j, axis_of(kind, m)] = 0.0
                H[axis_of(kind, m), j] = 0.0


@kernel
def articulate(tree: Array, w: Array) -> None:
    """Second pass, inertias alone: leaves to root."""
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        eliminate(tree, w, i)
        inertia_to_parent(tree, w, i)


@kernel
def init_rigid_inertia(tree: Array, w: Array, i: int) -> None:
    """``IA_i = I_i``."""
    set_rigid_inertia(tree.mass[i], tree.mc[i], tree.I[i], w.H[i])


@kernel
def init_rigid_inertias(tree: Array, w: Array) -> None:
    """``IA_i = I_i`` of every body, and the armature of every joint."""
    for i in range(1, tree.n):
        init_rigid_inertia(tree, w, i)
    for k in range(tree.nv):
        w.joint_inertia[k] = tree.armature[k]


@kernel
def eliminate(tree: Array, w: Array, i: int) -> None:
    """``Ia = IA - U D^-1 U'``: the articulated inertia of body ``i`` with its joint eliminated."""
    kind = tree.kind[i]
    H = w.H[i]
    symmetrize(H)
    if kind > HELICAL:
        eliminate_multi_dof(tree, w, i)
    elif tree.has_armature[i] != 0 or kind == HELICAL:
        eliminate_one_dof(tree, w, i)
    elif kind == REVOLUTE:
        w.D[i] = eliminate_axis(H, w.V[i], 2)
    else:
        w.D[i] = eliminate_axis(H, w.V[i], 5)


@kernel
def inertia_to_parent(tree: Array, w: Array, i: int) -> None:
    """``IA_p(i) = IA_p(i) + p(i)X*i Ia iXp(i)``; of a free joint without armature, ``Ia = 0``."""
    if tree.kind[i] != FREE or tree.has_armature[i] != 0:
        whole_inertia_to_parent(tree, w, i)


@kernel
def whole_inertia_to_parent(tree: Array, w: Array, i: int) -> None:
    """``IA_p(i) = IA_p(i) + p(i)X*i IA_i iXp(i)``: for any joint, without its elimination."""
    kind = tree.kind[i]
    H = w.H[i]
    h = tree.parent[i]
    if h > 0:
        if kind == SPHERICAL or kind == FREE:
            rotate_inertia(w.R[i], H)
        else:
            if kind != PRISMATIC:
                rotate_inertia_about_z(w.cos[i], w.sin[i], H)
            if tree.has_rotation[i] != 0:
                rotate_inertia(tree.P[i], H)
        add_shifted_inertia(w.r[i], H, w.H[h])


@kernel
def bias_force_one_dof(tree: Array, w: Array, i: int, tau: Array) -> None:
    """``u = tau - S' pA``, ``pa = pA + U D^-1 u``; one-DoF joints."""
    kind = tree.kind[i]
    o = tree.iv[i]
    f = w.f[i]
    V = w.V[i]
    axis = axis_of(kind, 0)
    u = tau[o] - f[axis]
    if kind == HELICAL:
        u = u - tree.pitch[i] * f[5]
    w.y[o] = w.D[i] * u
    if tree.parent[i] > 0:
        if kind == HELICAL or tree.has_armature[i] != 0:
            for j in range(6):
                f[j] += V[j] * u
        else:
            for j in range(6):
                if j != axis:
                    f[j] += V[j] * u
            f[axis] = tau[o]


@kernel
def bias_force_multi_dof(tree: Array, w: Array, i: int, tau: Array) -> None:
    """``u = tau - S' pA``, ``pa = pA + U D^-1 u``; joints with several degrees of freedom."""
    kind = tree.kind[i]
    o = tree.iv[i]
    n = dof_of(kind)
    f = w.f[i]
    u = w.Z[0]
    for k in range(n):
        u[k] = tau[o + k] - f[axis_of(kind, k)]
        w.y[o + k] = u[k]
    solve_ldl(n, w.L[i], w.y[o : o + n])
    if tree.parent[i] > 0:
        for j in range(6):
            if tree.has_armature[i] != 0 or moves_along(kind, j) == 0:
                for k in range(n):
                    f[j] += w.Y[i, j, k] * u[k]
        if tree.has_armature[i] == 0:
            for k in range(n):
                f[axis_of(kind, k)] = tau[o + k]


@kernel
def articulated_bias_forces(tree: Array, w: Array, tau: Array) -> None:
    """Second pass, bias forces alone: leaves to root."""
    for i in range(tree.n - 1, 0, -1):
        articulated_bias_force(tree, w, i, tau)


@kernel
def articulated_bias_force(tree: Array, w: Array, i: int, tau: Array) -> None:
    """``u`` of joint ``i``, and ``pA_p(i) = pA_p(i) + p(i)X*i pa``."""
    if tree.kind[i] > HELICAL:
        bias_force_multi_dof(tree, w, i, tau)
    else:
        bias_force_one_dof(tree, w, i, tau)
    force_to_parent(tree, w, i)


@kernel
def joint_accelerations(tree: Array, w: Array, qdd: Array) -> None:
    """Third pass, root to leaves: accelerations of joints and bodies."""
    for j in range(6):
        w.a[0, j] = 0.0
    for i in range(1, tree.n):
        joint_acceleration(tree, w, i, qdd)


@kernel
def joint_acceleration(tree: Array, w: Array, i: int, qdd: Array) -> None:
    """``a' = iXp(i) a_p(i)``, ``qdd = D^-1 (u - U' a')``, ``a = a' + S qdd``."""
    acceleration_from_parent(tree, w, i)
    solve_joint_acceleration(tree, w, i, qdd)


@kernel
def acceleration_from_parent(tree: Array, w: Array, i: int) -> None:
    """``a' = iXp(i) a_p(i)``."""
    b = w.a[tree.parent[i]]
    a = w.a[i]
    set_angular(rotate_to_child(tree, w, i, angular(b)), a)
    set_linear(rotate_to_child(tree, w, i, add(linear(b), cross(angular(b), w.r[i]))), a)


@kernel
def solve_joint_acceleration(tree: Array, w: Array, i: int, qdd: Array) -> None:
    """``qdd = D^-1 (u - U' a')``, ``a = a' + S qdd``."""
    kind = tree.kind[i]
    o = tree.iv[i]
    a = w.a[i]
    if kind > HELICAL:
        for k in range(dof_of(kind)):
            x = w.y[o + k]
            for j in range(6):
                if tree.has_armature[i] != 0 or moves_along(kind, j) == 0:
                    x = x - w.Y[i, j, k] * a[j]
            if tree.has_armature[i] == 0:
                x = x - a[axis_of(kind, k)]
            qdd[o + k] = x
        for k in range(dof_of(kind)):
            a[axis_of(kind, k)] += qdd[o + k]
    else:
        axis = axis_of(kind, 0)
        x = w.y[o]
        for j in range(6):
            if j != axis:
                x = x - w.V[i, j] * a[j]
        if kind == HELICAL or tree.has_armature[i] != 0:
            x = x - w.V[i, axis] * a[axis]
            qdd[o] = x
            a[axis] += x
            if kind == HELICAL:
                a[5] += tree.pitch[i] * x
        else:
            qdd[o] = x - a[axis]
            a[axis] = x


@kernel
def aba(tree: Array, w: Array, q: Array, v: Array, tau: Array, wrenches: Array, a: Array) -> None:
    """``a = M^-1 (tau - c + sum J' wrench)``, in the three passes of Table 7.1."""
    init_root(tree, w)
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
        w.joint_inertia[k] = tree.armature[k]
    for i in range(1, tree.n):  # pass 1
        forward_pass(tree, w, i, q, v, w.qdd0)
    apply_wrenches(tree, w, wrenches)
    for i in range(tree.n - 1, 0, -1):  # pass 2
        h = tree.parent[i]
        if tree.last_child[i] == 0:
            init_rigid_inertia(tree, w, i)
        eliminate(tree, w, i)
        if h > 0 and tree.last_child[h] == i:
            init_rigid_inertia(tree, w, h)
        inertia_to_parent(tree, w, i)
        articulated_bias_force(tree, w, i, tau)
    joint_accelerations(tree, w, a)  # pass 3


@kernel
def inverse_mass_product(tree: Array, w: Array, q: Array, x: Array, y: Array) -> None:
    """``y = M^-1 x``: passes 2 and 3 with ``v = 0`` and without gravity."""
    joint_transforms(tree, w, q)
    for i in range(tree.n):
        for j in range(6):
            w.f[i, j] = 0.0
    articulate(tree, w)
    articulated_bias_forces(tree, w, x)
    joint_accelerations(tree, w, y)


ABA = Algorithm(
    "aba",
    aba,
    {"q": ("nq",), "v": ("nv",), "tau": ("nv",), "wrenches": WRENCHES},
    {"a": ("nv",)},
    POSE | MOTION | ACCELERATION | FORCE | ARTICULATED,
    folded={**FORWARD, "H": "backward"},
)
INVERSE_MASS = Algorithm(
    "inverse_mass",
    inverse_mass_product,
    {"q": ("nq",), "x": ("nv",)},
    {"y": ("nv",)},
    POSE | {"a": ACCELERATION["a"]} | FORCE | ARTICULATED,
)
