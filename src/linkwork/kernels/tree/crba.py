# SPDX-License-Identifier: BSD-3-Clause
"""Composite-rigid-body algorithm: the mass matrix (joint-space inertia matrix) of a tree, by `crba`.

Featherstone, Rigid Body Dynamics Algorithms, Table 6.2, in body coordinates.

| symbol  | meaning                                                                                      |
|---------|----------------------------------------------------------------------------------------------|
| m, b, J | composite inertia ``Ic`` of body i: mass, first moment, rotational inertia about the origin   |
| n, f    | moment and force ``F = Ic S`` of a unit joint acceleration, transformed from body to body    |
| M       | mass matrix, the book's H                                                                     |

Cost: O(n d), with d the depth of the tree.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_parent
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, prange
from linkwork.kernels.spatial import (
    Six,
    add,
    cross,
    dot,
    rotate_symmetric,
    rotate_symmetric_about_z,
    scale,
    set_vector,
    symmetric_product,
)
from linkwork.kernels.tree.kinematics import POSE, joint_transforms
from linkwork.model.joints import FREE, HELICAL, PRISMATIC, SPHERICAL

COMPOSITE: dict[str, Shape] = {"m": ("n",), "b": ("n", 3), "J": ("n", 6)}


@kernel
def composite_inertias(tree: Array, w: Array) -> None:
    """Leaves to root: ``Ic_p(i) = Ic_p(i) + p(i)X*i Ic_i iXp(i)``."""
    for i in prange(1, tree.n):
        w.m[i] = tree.mass[i]
        set_vector(tree.mc[i], w.b[i])
        for j in range(6):
            w.J[i, j] = tree.I[i, j]
    for i in range(tree.n - 1, 0, -1):
        h = tree.parent[i]
        if h > 0:
            moved, x = inertia_in_parent(tree, w, i, w.m[i], w.b[i], w.J[i])
            for j in range(6):
                w.J[h, j] += x[j]
            set_vector(add(w.b[h], moved), w.b[h])
            w.m[h] += w.m[i]


@kernel
def inertia_in_parent(tree: Array, w: Array, i: int, m: Scalar, b: Vector, J: Vector) -> tuple[Vector, Six]:
    """``p(i)X*i I iXp(i)``: first moment and rotational inertia of a rigid body at ``i`` about its parent's origin."""
    kind = tree.kind[i]
    r = w.r[i]
    x = (J[0], J[1], J[2], J[3], J[4], J[5])
    if kind == SPHERICAL or kind == FREE:
        x = rotate_symmetric(w.R[i], x)
    else:
        if kind != PRISMATIC:
            x = rotate_symmetric_about_z(w.cos[i], w.sin[i], x)
        if tree.has_rotation[i] != 0:
            x = rotate_symmetric(tree.P[i], x)
    c = rotate_to_parent(tree, w, i, b)
    moved = add(c, scale(m, r))
    diagonal = dot(r, c) + dot(r, moved)
    return moved, (
        x[0] + (diagonal - (c[0] + moved[0]) * r[0]),
        x[1] - (c[0] * r[1] + r[0] * moved[1]),
        x[2] - (c[0] * r[2] + r[0] * moved[2]),
        x[3] + (diagonal - (c[1] + moved[1]) * r[1]),
        x[4] - (c[1] * r[2] + r[1] * moved[2]),
        x[5] + (diagonal - (c[2] + moved[2]) * r[2]),
    )


@kernel
def kronecker(j: int, k: int) -> Scalar:
    """Kronecker delta."""
    return 1.0 if j == k else 0.0


@kernel
def crba(tree: Array, w: Array, q: Array, M: Array) -> None:
    """The mass matrix ``M`` (Table 6.2)."""
    joint_transforms(tree, w, q)
    mass_matrix(tree, w, M)


@kernel
def mass_matrix(tree: Array, w: Array, M: Array) -> None:
    """``M`` from poses of bodies in their parents."""
    composite_inertias(tree, w)
    for j in range(tree.nv):
        for k in range(tree.nv):
            M[j, k] = 0.0
    for i in range(1, tree.n):
        kind = tree.kind[i]
        for k in range(dof_of(kind)):
            o = tree.iv[i] + k
            axis = axis_of(kind, k)
            S_angular = (kronecker(axis, 0), kronecker(axis, 1), kronecker(axis, 2))
            S_linear = (kronecker(axis, 3), kronecker(axis, 4), kronecker(axis, 5))
            if kind == HELICAL:
                S_linear = (0.0, 0.0, tree.pitch[i])
            n = add(symmetric_product(w.J[i], S_angular), cross(w.b[i], S_linear))  # F = Ic S
            f = add(scale(w.m[i], S_linear), cross(S_angular, w.b[i]))
            j = i
            while j > 0:
                ancestor = tree.kind[j]
                for m in range(dof_of(ancestor)):
                    c = axis_of(ancestor, m)
                    SF = n[c] if c < 3 else f[c - 3]  # M_ji = S_j' F
                    if ancestor == HELICAL:
                        SF = SF + tree.pitch[j] * f[2]
                    M[tree.iv[j] + m, o] = SF
                    M[o, tree.iv[j] + m] = SF
                f = rotate_to_parent(tree, w, j, f)
                n = add(rotate_to_parent(tree, w, j, n), cross(w.r[j], f))
                j = tree.parent[j]
    for k in range(tree.nv):
        M[k, k] += tree.armature[k]


CRBA = Algorithm("crba", crba, {"q": ("nq",)}, {"M": ("nv", "nv")}, POSE | COMPOSITE)
