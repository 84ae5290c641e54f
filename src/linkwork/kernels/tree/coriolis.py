# SPDX-License-Identifier: BSD-3-Clause
"""The Coriolis matrix of a tree for which ``dM/dt - 2 C`` is skew-symmetric.

Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems,
2021, Algorithm 1, in the common frame (`common_frame`, `inertia_columns`): with joint i at or before joint j::

    C_ij = S_i' (I Sd_j + 1/2 B S_j)        C_ji = S_j' (I Sd_i + 1/2 B S_i)

``Sd = v x S`` with the velocity of the joint's own body. Cost: O(n d), with d the depth of the tree.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import angular, scale, set_vector
from linkwork.kernels.tree.common_frame import (
    COMMON_INERTIA,
    COMMON_MOTION,
    ROOT_FRAMES,
    body_inertias,
    composite_inertias,
    motion_columns,
)
from linkwork.kernels.tree.inertia_columns import (
    TORQUE_COLUMNS,
    add_velocity_product,
    clear,
    inertia_product,
    inertial_columns,
    moment_dot,
    spatial_dot,
    transposed_velocity_product,
)


@kernel
def velocity_columns(tree: Array, w: Array) -> None:
    """``Sd``, in ``Psid_Sd``: of one-DoF joints ``Psid``."""
    for i in range(1, tree.n):
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            for j in range(6):
                w.Psid_Sd[k, j] -= w.Psid[k, j]


@kernel
def coriolis_columns(w: Array, i: int, j: int) -> None:
    """``I Sd_j + 1/2 B S_j``, in ``Tv``, and ``1/2 B' S_j``, in ``Tb``, of degree of freedom ``j``, of joint ``i``."""
    inertia_product(w, i, w.Psid_Sd[j], w.Tv[j])
    add_velocity_product(w, i, scale(0.5, angular(w.S[j])), w.Tv[j])
    set_vector(scale(0.5, transposed_velocity_product(w, i, w.S[j])), w.Tb[j])


@kernel
def related_entries(w: Array, j: int, i: int) -> tuple[Scalar, Scalar]:
    """``C_ij, C_ji`` of degrees of freedom, that of i at or before that of j, after `coriolis_columns` of j."""
    return spatial_dot(w.S[i], w.Tv[j]), spatial_dot(w.Psid_Sd[i], w.Ta[j]) + moment_dot(w.Tb[j], w.S[i])


@kernel
def coriolis_matrix(tree: Array, w: Array, q: Array, v: Array, C: Array) -> None:
    """``C(q, v)``: ``C v`` is the part of the bias forces that velocities cause."""
    motion_columns(tree, w, q, v, ROOT_FRAMES)
    velocity_columns(tree, w)
    body_inertias(tree, w)
    composite_inertias(tree, w)
    inertial_columns(tree, w)
    clear(tree.nv, C)
    for i in range(1, tree.n):
        first = tree.iv[i]
        last = first + dof_of(tree.kind[i])
        for j in range(first, last):
            coriolis_columns(w, i, j)
            for k in range(first, last):
                _, C[j, k] = related_entries(w, j, k)
            h = tree.parent[i]
            while h > 0:
                o = tree.iv[h]
                for k in range(o, o + dof_of(tree.kind[h])):
                    C[k, j], C[j, k] = related_entries(w, j, k)
                h = tree.parent[h]


CORIOLIS = Algorithm(
    "coriolis",
    coriolis_matrix,
    {"q": ("nq",), "v": ("nv",)},
    {"C": ("nv", "nv")},
    COMMON_MOTION | COMMON_INERTIA | TORQUE_COLUMNS,
)
