# SPDX-License-Identifier: BSD-3-Clause
"""Columns of the motion subspace times composite inertias and velocity products, in the common frame.

The mass matrix, the Coriolis matrix, momenta and derivatives of dynamics are dot products of these columns with others
(Singh, Russell and Wensing 2022, Algorithm 1; symbols of motion and inertia: `common_frame`).

| symbol | meaning                                                                           |
|--------|-----------------------------------------------------------------------------------|
| Tq, Tv | force on joints before j by ``q_j``, and by ``v_j``                               |
| Ta     | by its acceleration: ``I S``                                                      |
| Tb     | ``B' S``, a moment: torque of joint j by the angular velocities of bodies before it |

Cost: a fixed number of operations for each product; O(n d) for the mass matrix, with d the depth of the tree.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import (
    Triple,
    add,
    add_to,
    angular,
    cross,
    linear,
    rotate,
    rotate_inverse,
    scale,
    set_angular,
    set_linear,
    sub,
    symmetric_product,
)

TORQUE_COLUMNS: dict[str, Shape] = {"Tq": ("nv", 6), "Tv": ("nv", 6), "Ta": ("nv", 6), "Tb": ("nv", 3)}


@kernel
def inertia_product(w: Array, i: int, x: Array, y: Array) -> None:
    """``y = I x`` with the composite inertia of body ``i``."""
    set_angular(add(symmetric_product(w.JC[i], angular(x)), cross(w.bC[i], linear(x))), y)
    set_linear(add(scale(w.mC[i], linear(x)), cross(angular(x), w.bC[i])), y)


@kernel
def add_velocity_product(w: Array, i: int, x: Vector, y: Array) -> None:
    """``y = y + B x`` of body ``i``, of the angular part of a velocity."""
    x2 = add(x, x)
    N = w.NC[i]
    add_to(sub(scale(N[0, 0] + N[1, 1] + N[2, 2], x2), rotate(N, x2)), cross(x2, w.pC[i]), y)


@kernel
def transposed_velocity_product(w: Array, i: int, x: Array) -> Triple:
    """The moment of ``B' x`` of body ``i``; the force is zero."""
    s = angular(x)
    N = w.NC[i]
    y = add(sub(scale(N[0, 0] + N[1, 1] + N[2, 2], s), rotate_inverse(N, s)), cross(w.pC[i], linear(x)))
    return add(y, y)


@kernel
def inertial_column(w: Array, i: int, k: int) -> None:
    """``Ta`` of degree of freedom ``k``, of joint ``i``."""
    inertia_product(w, i, w.S[k], w.Ta[k])


@kernel
def inertial_columns(tree: Array, w: Array) -> None:
    """``Ta`` of all degrees of freedom, from composite inertias."""
    for i in range(1, tree.n):
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            inertial_column(w, i, k)


@kernel
def spatial_dot(x: Array, y: Array) -> Scalar:
    """``x . y`` of spatial vectors."""
    return (x[0] * y[0] + x[1] * y[1] + x[2] * y[2]) + (x[3] * y[3] + x[4] * y[4] + x[5] * y[5])


@kernel
def moment_dot(x: Array, y: Array) -> Scalar:
    """``x . y`` of a moment and the angular part of a spatial vector."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


@kernel
def common_mass_matrix(tree: Array, w: Array, M: Array) -> None:
    """``M_ij = S_i' I S_j`` of related joints, and armatures, after `inertial_columns`; zeros are not written."""
    for i in range(1, tree.n):
        for j in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            for k in range(tree.iv[i], j):
                M[j, k] = spatial_dot(w.S[k], w.Ta[j])
                M[k, j] = M[j, k]
            M[j, j] = spatial_dot(w.S[j], w.Ta[j]) + tree.armature[j]
            h = tree.parent[i]
            while h > 0:
                o = tree.iv[h]
                for k in range(o, o + dof_of(tree.kind[h])):
                    M[j, k] = spatial_dot(w.S[k], w.Ta[j])
                    M[k, j] = M[j, k]
                h = tree.parent[h]


@kernel
def clear(n: int, x: Array) -> None:
    """``x = 0``, an ``n x n`` matrix."""
    for j in range(n):
        for k in range(n):
            x[j, k] = 0.0
