# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constraint accelerations ``s = J a + dJ/dt v`` by configuration and velocity, with ``a`` held.

Each row has three covectors on each of its bodies in the common frame (`pair_derivatives` for pairs of frames, below
for centers of mass and linear combinations; `coupling_derivatives` for joints); with the columns of `common_frame`,
joint j before the body has::

    ds/dq_j = Q . S_j + W . Psid_j + K . Psidd_j        ds/dv_j = W . S_j + K . Psid_Sd_j        J_j = K . S_j

With Baumgarte's gains, s is ``J a + dJ/dt v + kd J v + kp e``: what a solution of constrained dynamics keeps at the
target. With ``a = 0`` these are derivatives of `constraint_bias`, with ``v = 0`` those of ``J a``.

| symbol   | meaning                                                             |
|----------|---------------------------------------------------------------------|
| Kc, W, Q | covectors of each row of K in the common frame                      |
| k_root   | the body before which a row of K has no derivatives                 |

Cost: O(m d), with m rows and d the joints that support them.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.common_frame import (
    COMMON_MOTION,
    acceleration_columns,
    in_root_frame,
    motion_columns,
    world_acceleration,
)
from linkwork.kernels.constraints import CLOSURE, RATES, constraint_rows
from linkwork.kernels.coupling_derivatives import JETS, coupling_derivatives
from linkwork.kernels.joints import dof_of, rotate_to_child
from linkwork.kernels.pair_derivatives import (
    PAIR_PARTIALS,
    force_cross,
    pair_frames,
    pair_partials,
    point_acceleration,
    point_row,
    point_velocity,
)
from linkwork.kernels.rnea_derivatives import spatial_dot
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import (
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
from linkwork.plans.constraint_derivatives import DERIVATIVE_TREE

ROW_PARTIALS: dict[str, Shape] = COMMON_MOTION | PAIR_PARTIALS | JETS


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
def row_partials(tree: Array, w: Array) -> None:
    """``W`` and ``Q`` of all rows of K, after `rows_in_common_frame` and `acceleration_columns`."""
    for p in range(tree.npairs):
        pair_partials(tree, w, p)
    for t in range(tree.ncom):
        center_partials(tree, w, t)
    for t in range(tree.ncombinations):
        combination_partials(tree, w, t)


@kernel
def center_partials(tree: Array, w: Array, t: int) -> None:
    """One body of a center of mass: rows ``[x x f; m f]`` with the world's axes f, x the first moment of mass."""
    i = tree.com_body[t]
    m = tree.com_mass[t]
    x = add(scale(m, w.oc[i]), rotate(w.Ec[i], tree.com_mc[t]))
    omega = angular(w.V[i])
    xd = add(scale(m, linear(w.V[i])), cross(omega, x))
    xdd = add(add(scale(m, linear(w.A[i])), cross(angular(w.A[i]), x)), cross(omega, xd))
    for k in range(tree.com_nrows[t]):
        row = tree.com_row[t] + k
        f = rotate(w.Ec[0], tree.com_axes[t, k])
        kd = tree.kd[row]
        point_row(w, tree.com_k[t] + k, xd, add(xdd, scale(kd, xd)), f, tree.kp[row], kd)


@kernel
def combination_partials(tree: Array, w: Array, t: int) -> None:
    """One row of a linear combination on one body."""
    i = tree.frame_body[tree.combination_frame[t]]
    m = tree.combination_k[t]
    kd = tree.kd[tree.combination_row[t]]
    n = angular(w.Kc[m])
    f = linear(w.Kc[m])
    if tree.combination_aligned[t] != 0:  # n and f at a point x, constant in the world: K = [n + x x f; f]
        x = add(w.oc[i], rotate(w.Ec[i], tree.frame_position[tree.combination_frame[t]]))
        c = tree.combination[t]
        n = rotate(w.Ec[0], (c[0], c[1], c[2]))
        xd = point_velocity(w.V[i], x)
        xdd = add(point_acceleration(w.V[i], w.A[i], x), scale(kd, xd))
        point_row(w, m, xd, xdd, f, 0.0, kd)
        set_angular(add(angular(w.W[m]), cross(angular(w.V[i]), n)), w.W[m])
        alpha = add(angular(w.A[i]), scale(kd, angular(w.V[i])))
        set_angular(add(angular(w.Q[m]), cross(alpha, n)), w.Q[m])
    else:  # K is constant in the body's axes; the world's acceleration, which rows are relative to, is not
        Wn, Wf = force_cross(w.V[i], n, f)
        set_angular(add(Wn, scale(kd, n)), w.W[m])
        set_linear(add(Wf, scale(kd, f)), w.W[m])
        Qn, Qf = force_cross(w.A[0], n, f)
        set_angular(Qn, w.Q[m])
        set_linear(Qf, w.Q[m])


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
def row_derivatives(tree: Array, w: Array, q: Array, v: Array, a: Array, ds_dq: Array, ds_dv: Array) -> None:
    """``ds_dq`` and ``ds_dv`` of all rows, after `rows_in_common_frame` and `acceleration_columns`."""
    row_partials(tree, w)
    for r in range(tree.nc):
        for k in range(tree.nv):
            ds_dq[r, k] = 0.0
            ds_dv[r, k] = 0.0
    for m in range(tree.nk):
        r = tree.k_row[m]
        i = tree.k_body[m]
        while i > tree.k_root[m]:
            for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                by_pose = spatial_dot(w.Q[m], w.S[k]) + spatial_dot(w.W[m], w.Psid[k])
                ds_dq[r, k] += by_pose + spatial_dot(w.Kc[m], w.Psidd[k])
                ds_dv[r, k] += spatial_dot(w.W[m], w.S[k]) + spatial_dot(w.Kc[m], w.Psid_Sd[k])
            i = tree.parent[i]
    coupling_derivatives(tree, w, q, v, a, ds_dq, ds_dv)


@kernel
def constraint_derivatives(tree: Array, w: Array, q: Array, v: Array, a: Array, ds_dq: Array, ds_dv: Array) -> None:
    """Derivatives of the rows' accelerations."""
    motion_columns(tree, w, q, v, 1)
    acceleration_columns(tree, w, v, a, 1)
    constraint_rows(tree, w, q, w.e)
    set_world(tree, w)
    rows_in_common_frame(tree, w)
    row_derivatives(tree, w, q, v, a, ds_dq, ds_dv)


CONSTRAINT_DERIVATIVES = Algorithm(
    "constraint_derivatives",
    constraint_derivatives,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",)},
    {"ds_dq": ("nc", "nv"), "ds_dv": ("nc", "nv")},
    ROW_PARTIALS | CLOSURE | RATES | {"e": ("nc",)},
    DERIVATIVE_TREE,
)
