# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of inverse dynamics by configuration, velocity and acceleration, by `rnea_derivatives`.

Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018; Singh, Russell and Wensing,
Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra, 2022, Algorithm 1. In the common
frame (symbols of motion and inertia: `common_frame`), with joint i at or before joint j on its way to the root::

    dtau_i/dq_j = S_i' (B Psid_j + I Psidd_j + S_j x* f)       dtau_i/dv_j = S_i' (B S_j + I Psid_Sd_j)
    dtau_j/dq_i = S_j' (B Psid_i + I Psidd_i)                  dtau_j/dv_i = S_j' (B S_i + I Psid_Sd_i)

with the composite inertia ``I``, force ``f`` and ``B = sum (v x* I - I v x + (I v) xbar*)`` of body j; those of one
joint are of the second kind. ``B`` has a simple form, which the papers do not use: its columns for linear velocities
are zero, the others are twice ``[tr(N) 1 - N; -[p]x]``, twelve numbers a body.

Symbols of columns: `inertia_columns`. Forces on bodies that are constant in their axes are held
(`common_frame.subtract_body_force`). Cost: O(n d), with d the depth of the tree.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import (
    add,
    add_to,
    angular,
    cross,
    linear,
    set_vector,
)
from linkwork.kernels.tree.common_frame import (
    COMMON_INERTIA,
    COMMON_MOTION,
    ROOT_FRAMES,
    acceleration_columns,
    body_inertias,
    composite_forces,
    composite_inertias,
    motion_columns,
    net_forces,
)
from linkwork.kernels.tree.inertia_columns import (
    TORQUE_COLUMNS,
    add_velocity_product,
    clear,
    common_mass_matrix,
    inertia_product,
    inertial_columns,
    moment_dot,
    spatial_dot,
    transposed_velocity_product,
)
from linkwork.kernels.tree.passive import subtract_joint_torques
from linkwork.kernels.tree.rnea import WRENCHES


@kernel
def torque_columns(w: Array, i: int, k: int) -> None:
    """``Tq, Tv, Tb`` of degree of freedom ``k``, of joint ``i``."""
    S = w.S[k]
    f = w.fC[i]
    inertia_product(w, i, w.Psidd[k], w.Tq[k])
    add_velocity_product(w, i, angular(w.Psid[k]), w.Tq[k])
    add_to(add(cross(angular(S), angular(f)), cross(linear(S), linear(f))), cross(angular(S), linear(f)), w.Tq[k])
    inertia_product(w, i, w.Psid_Sd[k], w.Tv[k])
    add_velocity_product(w, i, angular(S), w.Tv[k])
    set_vector(transposed_velocity_product(w, i, S), w.Tb[k])


@kernel
def set_before(w: Array, j: int, i: int, dtau_dq: Array, dtau_dv: Array) -> None:
    """Derivatives by ``q_j, v_j`` of the torque ``i`` of a joint before that of ``j``."""
    dtau_dq[i, j] = spatial_dot(w.S[i], w.Tq[j])
    dtau_dv[i, j] = spatial_dot(w.S[i], w.Tv[j])


@kernel
def set_beyond(w: Array, j: int, i: int, dtau_dq: Array, dtau_dv: Array) -> None:
    """Derivatives by ``q_i, v_i`` of the torque ``j`` of that joint or of one beyond it."""
    dtau_dq[j, i] = spatial_dot(w.Psidd[i], w.Ta[j]) + moment_dot(w.Tb[j], w.Psid[i])
    dtau_dv[j, i] = spatial_dot(w.Psid_Sd[i], w.Ta[j]) + moment_dot(w.Tb[j], w.S[i])


@kernel
def torque_derivatives(tree: Array, w: Array, dtau_dq: Array, dtau_dv: Array) -> None:
    """``dtau_dq, dtau_dv`` from composite inertias and the forces ``F`` of bodies, after `inertial_columns`."""
    composite_forces(tree, w)
    for i in range(tree.n - 1, 0, -1):
        first = tree.iv[i]
        last = first + dof_of(tree.kind[i])
        for j in range(first, last):
            torque_columns(w, i, j)
            for k in range(first, last):
                set_beyond(w, j, k, dtau_dq, dtau_dv)
            h = tree.parent[i]
            while h > 0:
                o = tree.iv[h]
                for k in range(o, o + dof_of(tree.kind[h])):
                    set_before(w, j, k, dtau_dq, dtau_dv)
                    set_beyond(w, j, k, dtau_dq, dtau_dv)
                h = tree.parent[h]


@kernel
def add_passive_derivatives(tree: Array, dtau_dq: Array, dtau_dv: Array) -> None:
    """Adds derivatives of springs and dampers of joints: ``tau = ... + k (q - rest) + d v``."""
    for s in range(tree.nsprings):
        dtau_dq[tree.spring_v[s], tree.spring_v[s]] += tree.stiffness[s]
    for d in range(tree.ndampers):
        dtau_dv[tree.damper_v[d], tree.damper_v[d]] += tree.damping[d]


@kernel
def rnea_derivatives(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    a: Array,
    wrenches: Array,
    dtau_dq: Array,
    dtau_dv: Array,
    M: Array,
    tau: Array,
) -> None:
    """Derivatives of `rnea.inverse_dynamics` by ``q`` (tangent space), ``v``, ``a`` (the mass matrix), and torques."""
    motion_columns(tree, w, q, v, ROOT_FRAMES)
    acceleration_columns(tree, w, v, a, ROOT_FRAMES)
    body_inertias(tree, w)
    net_forces(tree, w, wrenches)
    composite_inertias(tree, w)
    inertial_columns(tree, w)
    clear(tree.nv, M)
    common_mass_matrix(tree, w, M)
    clear(tree.nv, dtau_dq)
    clear(tree.nv, dtau_dv)
    torque_derivatives(tree, w, dtau_dq, dtau_dv)
    add_passive_derivatives(tree, dtau_dq, dtau_dv)
    for i in range(1, tree.n):
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            tau[k] = spatial_dot(w.S[k], w.fC[i]) + tree.armature[k] * a[k]
    subtract_joint_torques(tree, q, v, tau)


RNEA_DERIVATIVES = Algorithm(
    "rnea_derivatives",
    rnea_derivatives,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",), "wrenches": WRENCHES},
    {"dtau_dq": ("nv", "nv"), "dtau_dv": ("nv", "nv"), "dtau_da": ("nv", "nv"), "tau": ("nv",)},
    COMMON_MOTION | COMMON_INERTIA | TORQUE_COLUMNS,
)
