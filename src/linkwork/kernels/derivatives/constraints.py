# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constraint accelerations ``s = J a + dJ/dt v`` by configuration and velocity, with ``a`` held.

Each row has three covectors on each of its bodies in the common frame (`derivatives.pairs` for pairs of frames, below
for centers of mass and linear combinations; `derivatives.tendon_couplings` for tendons, `derivatives.couplings` for
joints); with the columns of `common_frame`, joint j before the body has::

    ds/dq_j = Q . S_j + W . Psid_j + K . Psidd_j        ds/dv_j = W . S_j + K . Psid_Sd_j        J_j = K . S_j

With Baumgarte's gains, s is ``J a + dJ/dt v + kd J v + kp e``, which equals the target at a solution of constrained
dynamics. With ``a = 0`` these are derivatives of `constraint_bias`, with ``v = 0`` those of ``J a``.

| symbol   | meaning                                                             |
|----------|---------------------------------------------------------------------|
| Kc, Wc, Qc | covectors of each row of K in the common frame                      |
| k_root   | the body before which a row of K has no derivatives                 |

Cost: O(m d), with m rows and d the joints that support them.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import CLOSURE, RATES, constraint_rows
from linkwork.kernels.constrained.rows import term_second_derivative
from linkwork.kernels.derivatives.couplings import JETS, coupling_derivatives
from linkwork.kernels.derivatives.pairs import (
    PAIR_PARTIALS,
    force_cross,
    pair_frames,
    pair_pose_partials,
    pair_velocity_partials,
    point_acceleration,
    point_pose_partial,
    point_velocity,
    point_velocity_partial,
)
from linkwork.kernels.derivatives.tendon_couplings import (
    TENDON_PARTIALS,
    add_joint_accelerations,
    add_joint_derivatives,
    tendon_pose_partials,
    tendon_velocity_partials,
)
from linkwork.kernels.functions import tape_second_rates
from linkwork.kernels.joints import dof_of, rotate_to_child
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import (
    Triple,
    add,
    angular,
    cross,
    linear,
    rotate,
    scale,
    set_angular,
    set_linear,
    set_vector,
)
from linkwork.kernels.tree.common_frame import (
    COMMON_MOTION,
    acceleration_columns,
    in_root_frame,
    motion_columns,
    world_acceleration,
)
from linkwork.kernels.tree.inertia_columns import spatial_dot
from linkwork.plans.constraint_derivatives import DERIVATIVE_TREE

ROW_PARTIALS: dict[str, Shape] = COMMON_MOTION | PAIR_PARTIALS | JETS | TENDON_PARTIALS


@kernel
def set_world(tree: Array, w: Array) -> None:
    """Pose of the world in the common frame, and its acceleration, after `motion_columns` with one frame."""
    if in_root_frame(tree, 1) == 1 and tree.n > 1:
        for k in range(3):
            x = rotate_to_child(tree, w, 1, (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0))
            w.Ec[0, 0, k] = x[0]
            w.Ec[0, 1, k] = x[1]
            w.Ec[0, 2, k] = x[2]
        set_vector(scale(-1.0, rotate_to_child(tree, w, 1, w.r[1])), w.oc[0])
    set_angular((0.0, 0.0, 0.0), w.A[0])
    set_linear((0.0, 0.0, 0.0), w.A[0])
    if tree.n > 1:
        set_linear(world_acceleration(tree, w, 1, 1), w.A[0])


@kernel
def rows_in_common_frame(tree: Array, w: Array) -> None:
    """``Kc``, and the frames of pairs, from rows of K in the axes of bodies; after `set_world`."""
    for m in range(tree.nk):
        i = tree.k_body[m]
        f = rotate(w.Ec[i], linear(w.K[m]))
        set_angular(add(rotate(w.Ec[i], angular(w.K[m])), cross(w.oc[i], f)), w.Kc[m])
        set_linear(f, w.Kc[m])
    for p in range(tree.npairs):
        pair_frames(tree, w, p)


@kernel
def velocity_partials(tree: Array, w: Array, v: Array) -> None:
    """``W`` of all rows of K, after `rows_in_common_frame`."""
    for p in range(tree.npairs):
        pair_velocity_partials(tree, w, p)
    for t in range(tree.ncom):
        xd = moment_velocity(tree, w, t)
        for k in range(tree.com_nrows[t]):
            f = rotate(w.Ec[0], tree.com_axes[t, k])
            point_velocity_partial(w, tree.com_k[t] + k, xd, f, tree.kd[tree.com_row[t] + k])
    for t in range(tree.ncombinations):
        combination_velocity_partial(tree, w, t)
    if tree.ntendon_rows != 0:
        tendon_velocity_partials(tree, w, v)


@kernel
def pose_partials(tree: Array, w: Array, a: Array) -> None:
    """``Q`` of all rows of K, after `velocity_partials` and `acceleration_columns`."""
    for p in range(tree.npairs):
        pair_pose_partials(tree, w, p)
    for t in range(tree.ncom):
        i = tree.com_body[t]
        xd = moment_velocity(tree, w, t)
        xdd = add(scale(tree.com_mass[t], linear(w.A[i])), cross(angular(w.A[i]), first_moment(tree, w, t)))
        xdd = add(xdd, cross(angular(w.V[i]), xd))
        for k in range(tree.com_nrows[t]):
            row = tree.com_row[t] + k
            f = rotate(w.Ec[0], tree.com_axes[t, k])
            point_pose_partial(w, tree.com_k[t] + k, add(xdd, scale(tree.kd[row], xd)), f, tree.kp[row])
    for t in range(tree.ncombinations):
        combination_pose_partial(tree, w, t)
    if tree.ntendon_rows != 0:
        tendon_pose_partials(tree, w, a)


# Centers of mass: rows [x x f; m f] with the world's axes f, x the first moment of mass of a body


@kernel
def first_moment(tree: Array, w: Array, t: int) -> Triple:
    """First moment of one body of a center of mass."""
    i = tree.com_body[t]
    return add(scale(tree.com_mass[t], w.oc[i]), rotate(w.Ec[i], tree.com_mc[t]))


@kernel
def moment_velocity(tree: Array, w: Array, t: int) -> Triple:
    """Rate of `first_moment`."""
    V = w.V[tree.com_body[t]]
    return add(scale(tree.com_mass[t], linear(V)), cross(angular(V), first_moment(tree, w, t)))


# Linear combinations: rows [n + x x f; f] at a frame, with n, f constant in the world or in the body


@kernel
def frame_origin(tree: Array, w: Array, f: int) -> Triple:
    """Where a frame is in the common frame."""
    i = tree.frame_body[f]
    return add(w.oc[i], rotate(w.Ec[i], tree.frame_position[f]))


@kernel
def combination_velocity_partial(tree: Array, w: Array, t: int) -> None:
    """``W`` of one row of a linear combination on one body."""
    frame = tree.combination_frame[t]
    V = w.V[tree.frame_body[frame]]
    m = tree.combination_k[t]
    kd = tree.kd[tree.combination_row[t]]
    if tree.combination_aligned[t] != 0:
        point_velocity_partial(w, m, point_velocity(V, frame_origin(tree, w, frame)), linear(w.Kc[m]), kd)
        n = rotate(w.Ec[0], (tree.combination[t, 0], tree.combination[t, 1], tree.combination[t, 2]))
        set_angular(add(angular(w.Wc[m]), cross(angular(V), n)), w.Wc[m])
    else:
        n = angular(w.Kc[m])
        f = linear(w.Kc[m])
        Wn, Wf = force_cross(V, n, f)
        set_angular(add(Wn, scale(kd, n)), w.Wc[m])
        set_linear(add(Wf, scale(kd, f)), w.Wc[m])


@kernel
def combination_pose_partial(tree: Array, w: Array, t: int) -> None:
    """``Q`` of the same; a row that is constant in the body is relative to the world's acceleration, which changes in
    its axes."""
    frame = tree.combination_frame[t]
    i = tree.frame_body[frame]
    m = tree.combination_k[t]
    kd = tree.kd[tree.combination_row[t]]
    if tree.combination_aligned[t] != 0:
        x = frame_origin(tree, w, frame)
        n = rotate(w.Ec[0], (tree.combination[t, 0], tree.combination[t, 1], tree.combination[t, 2]))
        xdd = add(point_acceleration(w.V[i], w.A[i], x), scale(kd, point_velocity(w.V[i], x)))
        point_pose_partial(w, m, xdd, linear(w.Kc[m]), 0.0)
        alpha = add(angular(w.A[i]), scale(kd, angular(w.V[i])))
        set_angular(add(angular(w.Qc[m]), cross(alpha, n)), w.Qc[m])
    else:
        Qn, Qf = force_cross(w.A[0], angular(w.Kc[m]), linear(w.Kc[m]))
        set_angular(Qn, w.Qc[m])
        set_linear(Qf, w.Qc[m])


# Rows on joints ---------------------------------------------------------------------------------------


@kernel
def common_jacobian(tree: Array, w: Array, jacobian: Array) -> None:
    """``J`` from rows of K in the common frame and terms of couplings."""
    for r in range(tree.nc):
        for k in range(tree.nv):
            jacobian[r, k] = 0.0
    for t in range(tree.nterms):
        jacobian[tree.term_row[t], tree.term_v[t]] += w.dphi[t]
    for m in range(tree.nk):
        r = tree.k_row[m]
        i = tree.k_body[m]
        while i > tree.k_root[m]:
            for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                jacobian[r, k] += spatial_dot(w.Kc[m], w.S[k])
            i = tree.parent[i]


@kernel
def row_accelerations(tree: Array, w: Array, q: Array, v: Array, s: Array) -> None:
    """``s`` where no joint accelerates, and ``kd J v``, without errors; after `velocity_partials`.

    Rows are linear in accelerations and quadratic in velocities of bodies: ``s = sum K . a + W . v / 2``.
    """
    for r in range(tree.nc):
        s[r] = 0.0
    for t in range(tree.nterms):
        r = tree.term_row[t]
        rate = v[tree.term_v[t]]
        s[r] += term_second_derivative(tree, t, q) * (rate * rate) + tree.kd[r] * (w.dphi[t] * rate)
    tape_second_rates(tree, w, v)
    for e in range(tree.noutputs):
        s[tree.output_row[e]] += w.tape_ddot[tree.output_node[e]]
    for m in range(tree.nmotions):
        r = tree.motion_row[m]
        s[r] -= w.tape_ddot[tree.motion_node[m]] + tree.kd[r] * w.tape_dot[tree.motion_node[m]]
    add_joint_accelerations(tree, w, v, s)
    for m in range(tree.nk):
        r = tree.k_row[m]
        i = tree.k_body[m]
        s[r] += spatial_dot(w.Kc[m], w.A[i])
        if i > 0:
            half = spatial_dot(w.Wc[m], w.V[i]) + tree.kd[r] * spatial_dot(w.Kc[m], w.V[i])
            s[r] += 0.5 * half


@kernel
def row_derivatives(tree: Array, w: Array, q: Array, v: Array, a: Array, ds_dq: Array, ds_dv: Array) -> None:
    """``ds_dq`` and ``ds_dv`` of all rows, after `velocity_partials` and `acceleration_columns`."""
    pose_partials(tree, w, a)
    for r in range(tree.nc):
        for k in range(tree.nv):
            ds_dq[r, k] = 0.0
            ds_dv[r, k] = 0.0
    for m in range(tree.nk):
        r = tree.k_row[m]
        i = tree.k_body[m]
        while i > tree.k_root[m]:
            for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                by_pose = spatial_dot(w.Qc[m], w.S[k]) + spatial_dot(w.Wc[m], w.Psid[k])
                ds_dq[r, k] += by_pose + spatial_dot(w.Kc[m], w.Psidd[k])
                ds_dv[r, k] += spatial_dot(w.Wc[m], w.S[k]) + spatial_dot(w.Kc[m], w.Psid_Sd[k])
            i = tree.parent[i]
    coupling_derivatives(tree, w, q, v, a, ds_dq, ds_dv)
    add_joint_derivatives(tree, w, ds_dq, ds_dv)


@kernel
def constraint_derivatives(tree: Array, w: Array, q: Array, v: Array, a: Array, ds_dq: Array, ds_dv: Array) -> None:
    """Derivatives of the rows' accelerations."""
    motion_columns(tree, w, q, v, 1)
    acceleration_columns(tree, w, v, a, 1)
    constraint_rows(tree, w, q, w.e)
    set_world(tree, w)
    rows_in_common_frame(tree, w)
    velocity_partials(tree, w, v)
    row_derivatives(tree, w, q, v, a, ds_dq, ds_dv)


@kernel
def constraint_error_jacobian(tree: Array, w: Array, q: Array, jacobian: Array) -> None:
    """Derivatives of the errors: rows with a gain of one, at rest (`plans.constraint_derivatives`)."""
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    constraint_derivatives(tree, w, q, w.qdd0, w.qdd0, jacobian, w.ds_dv)


_WORK: dict[str, Shape] = ROW_PARTIALS | CLOSURE | RATES | {"e": ("nc",)}

CONSTRAINT_DERIVATIVES = Algorithm(
    "constraint_derivatives",
    constraint_derivatives,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",)},
    {"ds_dq": ("nc", "nv"), "ds_dv": ("nc", "nv")},
    _WORK,
    DERIVATIVE_TREE,
)
ERROR_JACOBIAN = Algorithm(
    "constraint_error_jacobian",
    constraint_error_jacobian,
    {"q": ("nq",)},
    {"jacobian": ("nc", "nv")},
    _WORK | {"qdd0": ("nv",), "ds_dv": ("nc", "nv")},
    DERIVATIVE_TREE,
)
