# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constrained forward dynamics: accelerations and constraint forces, by `constrained_derivatives`.

By the implicit function theorem where ``r = ID(q, v, a) - J' f - tau`` and ``s = J a + dJ/dt v - target`` are zero::

    [M  -J'] [da]     [dr]            da_dtau = M^-1 - P X P'      da_dtarget = P X
    [J    0] [df] = - [ds]            df_dtau = -X P'              df_dtarget = X

with ``P = M^-1 J'`` and ``X`` the inverse of ``J P``, the operational-space inertia matrix; of redundant rows its
pseudoinverse in the metric of the regularization, which gives the smallest forces (`symmetric_inverse`). All by
the sparse factor ``M = L' D L`` (`aba_derivatives`): with ``Y = -D^-1 L^-T dr``, related columns alone,
``df = X (-ds - J L^-1 Y)`` and ``da = L^-1 (Y + D^-1 L^-T J' df)``.

Every exact method has these derivatives: where rows are redundant, accelerations do not depend on how forces share.

| symbol     | meaning                                                                                 |
|------------|-----------------------------------------------------------------------------------------|
| Jc, JD     | ``J L^-1``, and ``D^-1 (J L^-1)'``                                                      |
| Pj, X, T   | above, and ``T = P X``                                                                  |
| Yq, Yv, Ya | columns by q, v and tau, of `aba_derivatives`                                           |
| dfq, dfv   | ``-ds - J L^-1 Y``; df after the product with X                                         |
| k, error   | right-hand sides of rows; errors of constraints                                         |

Cost: O(n d² + n² c + m n d + m² n + m³), with m rows; the results are (n + m) (3 n + m) numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.aba_derivatives import FACTOR, factorize_by_depth, invert_factor, mass_matrix_by_depth
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.common_frame import (
    COMMON_INERTIA,
    acceleration_columns,
    body_inertias,
    composite_forces,
    composite_inertias,
    motion_columns,
    net_forces,
)
from linkwork.kernels.constraint_derivatives import (
    ROW_PARTIALS,
    common_jacobian,
    row_accelerations,
    row_derivatives,
    rows_in_common_frame,
    set_world,
    velocity_partials,
)
from linkwork.kernels.constraint_force_derivatives import (
    FORCE_PARTIALS,
    apply_constraint_wrenches,
    wrench_derivatives,
)
from linkwork.kernels.constraints import CLOSURE, RATES, constraint_rows
from linkwork.kernels.coupling_derivatives import coupling_force_derivatives
from linkwork.kernels.factor_columns import COLUMNS, add_four_rows, clear_columns, half_solve_columns, store_row
from linkwork.kernels.joints import dof_of
from linkwork.kernels.panels import ZERO, entries, minus_scaled, plus, plus_scaled, set_entries
from linkwork.kernels.rnea import WRENCHES
from linkwork.kernels.rnea_derivatives import TORQUE_COLUMNS, inertial_columns, spatial_dot, torque_derivatives
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.symmetric_inverse import INVERSE, weighted_inverse
from linkwork.plans.aba_derivatives import LINE
from linkwork.plans.constraint_derivatives import DERIVATIVE_TREE

ROWS: dict[str, Shape] = {
    "k": ("nc",),
    "error": ("nc",),
    "Jc": ("nc", "nv"),
    "JD": ("nv", "nrow_columns"),
    "Pj": ("nv", "nrow_columns"),
    "T": ("nv", "nrow_columns"),
    "X": ("nc", "nrow_columns"),
    "ds_dq": ("nc", "nv"),
    "ds_dv": ("nc", "nv"),
    "uq": ("nc", "ncolumns"),
    "uv": ("nc", "ncolumns"),
    "dfq": ("nc", "ncolumns"),
    "dfv": ("nc", "ncolumns"),
    "z": ("nv",),
}


class Jacobians(NamedTuple):
    """Derivatives of accelerations ``a`` and constraint forces ``f``."""

    da_dq: Array
    da_dv: Array
    da_dtau: Array
    df_dq: Array
    df_dv: Array
    df_dtau: Array
    da_dtarget: Array
    df_dtarget: Array


# The solution -----------------------------------------------------------------------------------------


@kernel
def setup_rows(tree: Array, w: Array, q: Array, v: Array, target: Array) -> None:
    """Rows in the common frame, ``J``, and their right-hand sides ``k``; after `acceleration_columns` with a = 0."""
    constraint_rows(tree, w, q, w.error)
    set_world(tree, w)
    rows_in_common_frame(tree, w)
    velocity_partials(tree, w)
    row_accelerations(tree, w, q, v, w.k)
    for r in range(tree.nc):
        w.k[r] = target[r] - w.k[r] - tree.kp[r] * w.error[r]
    common_jacobian(tree, w, w.Jc)


@kernel
def rows_by_factor(tree: Array, w: Array) -> None:
    """``Jc = J L^-1`` and ``JD = D^-1 Jc'`` (**proximal** Algorithm 1, pass over the constraints)."""
    for k in range(tree.nv):
        for c in range(0, tree.nrow_columns, LINE):
            set_entries(ZERO, w.JD[k], c)
    for r in range(tree.nc):
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = w.Jc[r, k]
            for t in range(tree.depth[k]):
                w.Jc[r, tree.path[k, t]] -= w.L[k, t] * x
            w.JD[k, r] = x * w.D[k]


@kernel
def delassus_rows(tree: Array, w: Array) -> None:
    """``J M^-1 J'``, the lower triangle."""
    for r in range(tree.nc):
        for s in range(r + 1):
            w.U[r, s] = 0.0
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = w.Jc[r, k]
            for s in range(r + 1):
                w.U[r, s] += x * w.JD[k, s]


@kernel
def solve_constrained(tree: Array, w: Array, tau: Array, a: Array, f: Array) -> None:
    """``f = X (k - J M^-1 (tau - c))`` and ``a = M^-1 (tau - c + J' f)``, with bias forces in ``fC``."""
    for i in range(1, tree.n):
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            w.z[k] = tau[k] - spatial_dot(w.S[k], w.fC[i])
    for k in range(tree.nv - 1, -1, -1):
        for t in range(tree.depth[k]):
            w.z[tree.path[k, t]] -= w.L[k, t] * w.z[k]
        w.z[k] = w.z[k] * w.D[k]
    for r in range(tree.nc):
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            w.k[r] -= w.Jc[r, tree.row_dof[e]] * w.z[tree.row_dof[e]]
    for r in range(tree.nc):
        x = 0.0
        for s in range(tree.nc):
            x = x + w.X[r, s] * w.k[s]
        f[r] = x
    for k in range(tree.nv):
        x = w.z[k]
        if tree.is_bound[k] != 0:
            for r in range(tree.nc):
                x = x + w.JD[k, r] * f[r]
        for t in range(tree.depth[k]):
            x = x - w.L[k, t] * a[tree.path[k, t]]
        a[k] = x


# Blocks of the inverse of the KKT matrix --------------------------------------------------------------


@kernel
def target_columns(tree: Array, w: Array) -> None:
    """``P = M^-1 J'`` and ``T = P X``."""
    for k in range(tree.nv):
        for c in range(0, tree.nrow_columns, LINE):
            x = entries(w.JD[k], c)
            for t in range(tree.depth[k]):
                x = minus_scaled(x, w.L[k, t], entries(w.Pj[tree.path[k, t]], c))
            set_entries(x, w.Pj[k], c)
        for c in range(0, tree.nrow_columns, LINE):
            x = ZERO
            for s in range(tree.nc):
                x = plus_scaled(x, w.Pj[k, s], entries(w.X[s], c))
            set_entries(x, w.T[k], c)


@kernel
def force_columns(tree: Array, w: Array) -> None:
    """``df = X (-ds - J L^-1 Y)`` by q and v."""
    for r in range(tree.nc):
        for k in range(tree.nv):
            w.uq[r, k] = -w.ds_dq[r, k]
            w.uv[r, k] = -w.ds_dv[r, k]
        for k in range(tree.nv, tree.ncolumns):
            w.uq[r, k] = 0.0
            w.uv[r, k] = 0.0
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = w.Jc[r, k]
            for n in range(tree.related_start[k], tree.related_start[k] + tree.related_count[k]):
                c = tree.related_column[n]
                set_entries(minus_scaled(entries(w.uq[r], c), x, entries(w.Yq[k], c)), w.uq[r], c)
                set_entries(minus_scaled(entries(w.uv[r], c), x, entries(w.Yv[k], c)), w.uv[r], c)
    for c in range(0, tree.ncolumns, LINE):
        for r in range(tree.nc):
            x = ZERO
            y = ZERO
            for s in range(tree.nc):
                x = plus_scaled(x, w.X[r, s], entries(w.uq[s], c))
                y = plus_scaled(y, w.X[r, s], entries(w.uv[s], c))
            set_entries(x, w.dfq[r], c)
            set_entries(y, w.dfv[r], c)


@kernel
def add_forces(tree: Array, w: Array) -> None:
    """``Y = Y + D^-1 L^-T J' df``, for degrees of freedom that support rows."""
    for r in range(tree.nc):
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = w.JD[k, r]
            for c in range(0, tree.ncolumns, LINE):
                set_entries(plus_scaled(entries(w.Yq[k], c), x, entries(w.dfq[r], c)), w.Yq[k], c)
                set_entries(plus_scaled(entries(w.Yv[k], c), x, entries(w.dfv[r], c)), w.Yv[k], c)


@kernel
def acceleration_rows(tree: Array, w: Array, k: int) -> None:
    """Row ``k`` of ``L^-1 Y``: ``Xq, Xv``, and ``Xa`` up to the diagonal."""
    for c in range(0, tree.ncolumns, LINE):
        set_entries(ZERO, w.Xq, c)
        set_entries(ZERO, w.Xv, c)
        set_entries(ZERO, w.Xa, c)
    for t in range(0, tree.depth[k] + 1, LINE):
        x = (w.Linv[k, t], w.Linv[k, t + 1], w.Linv[k, t + 2], w.Linv[k, t + 3])
        i = tree.path[k, t]
        i1 = tree.path[k, t + 1]
        i2 = tree.path[k, t + 2]
        i3 = tree.path[k, t + 3]
        for e in range(tree.related_start[i], tree.related_start[i] + tree.related_count[i]):
            c = tree.related_column[e]
            if tree.is_bound[i] == 0:
                add_four_rows(x[0], x[1], x[2], x[3], w.Yq[i], w.Yq[i1], w.Yq[i2], w.Yq[i3], c, w.Xq)
                add_four_rows(x[0], x[1], x[2], x[3], w.Yv[i], w.Yv[i1], w.Yv[i2], w.Yv[i3], c, w.Xv)
            if c <= k:
                add_four_rows(x[0], x[1], x[2], x[3], w.Ya[i], w.Ya[i1], w.Ya[i2], w.Ya[i3], c, w.Xa)
        if tree.is_bound[i] != 0:
            for c in range(0, tree.ncolumns, LINE):
                add_four_rows(x[0], x[1], x[2], x[3], w.Yq[i], w.Yq[i1], w.Yq[i2], w.Yq[i3], c, w.Xq)
                add_four_rows(x[0], x[1], x[2], x[3], w.Yv[i], w.Yv[i1], w.Yv[i2], w.Yv[i3], c, w.Xv)


@kernel
def torque_row(tree: Array, w: Array, k: int, da_dtau: Array) -> None:
    """Row and column ``k`` of ``M^-1 - P T'``, up to the diagonal, with a row of ``M^-1`` in ``Xa``."""
    for j in range(k + 1):
        x = ZERO
        for c in range(0, tree.nrow_columns, LINE):
            y = entries(w.T[j], c)
            z = entries(w.Pj[k], c)
            x = plus(x, (y[0] * z[0], y[1] * z[1], y[2] * z[2], y[3] * z[3]))
        entry = w.Xa[j] - ((x[0] + x[1]) + (x[2] + x[3]))
        da_dtau[j, k] = entry
        da_dtau[k, j] = entry


@kernel
def store_columns(tree: Array, w: Array, outputs: Jacobians) -> None:
    """All derivatives, row by row."""
    for k in range(tree.nv):
        acceleration_rows(tree, w, k)
        store_row(tree.nv, w.Xq, outputs.da_dq[k])
        store_row(tree.nv, w.Xv, outputs.da_dv[k])
        torque_row(tree, w, k, outputs.da_dtau)
        for r in range(tree.nc):
            outputs.da_dtarget[k, r] = w.T[k, r]
            outputs.df_dtau[r, k] = -w.T[k, r]
    for r in range(tree.nc):
        store_row(tree.nv, w.dfq[r], outputs.df_dq[r])
        store_row(tree.nv, w.dfv[r], outputs.df_dv[r])
        store_row(tree.nc, w.X[r], outputs.df_dtarget[r])


@kernel
def constrained_derivatives(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array,
    softness: Array,
    regularization: Array,
    target: Array,
    cut: Array,
    da_dq: Array,
    da_dv: Array,
    da_dtau: Array,
    df_dq: Array,
    df_dv: Array,
    df_dtau: Array,
    da_dtarget: Array,
    df_dtarget: Array,
    a: Array,
    f: Array,
    pivot: Array,
) -> None:
    """Derivatives of accelerations and constraint forces, these themselves, and the least pivot of the rows."""
    outputs = Jacobians(da_dq, da_dv, da_dtau, df_dq, df_dv, df_dtau, da_dtarget, df_dtarget)
    motion_columns(tree, w, q, v, 1)
    body_inertias(tree, w)
    composite_inertias(tree, w)
    inertial_columns(tree, w)
    mass_matrix_by_depth(tree, w)
    factorize_by_depth(tree, w)
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    acceleration_columns(tree, w, v, w.qdd0, 1)
    net_forces(tree, w, wrenches)
    composite_forces(tree, w)
    setup_rows(tree, w, q, v, target)
    rows_by_factor(tree, w)
    delassus_rows(tree, w)
    for r in range(tree.nc):
        for c in range(tree.nc, tree.nrow_columns):
            w.X[r, c] = 0.0
    pivot[0] = weighted_inverse(tree.nc, w, softness, regularization, cut[0], tree.redundant, w.X)
    solve_constrained(tree, w, tau, a, f)
    acceleration_columns(tree, w, v, a, 1)
    net_forces(tree, w, wrenches)
    apply_constraint_wrenches(tree, w, f)
    clear_columns(tree, w)
    torque_derivatives(tree, w, w.Yq, w.Yv)
    wrench_derivatives(tree, w, f, w.Yq)
    row_derivatives(tree, w, q, v, a, w.ds_dq, w.ds_dv)
    coupling_force_derivatives(tree, w, q, f, w.Yq)
    invert_factor(tree, w)
    half_solve_columns(tree, w)
    target_columns(tree, w)
    force_columns(tree, w)
    add_forces(tree, w)
    store_columns(tree, w, outputs)


CONSTRAINED_DERIVATIVES = Algorithm(
    "constrained_derivatives",
    constrained_derivatives,
    {
        "q": ("nq",),
        "v": ("nv",),
        "tau": ("nv",),
        "wrenches": WRENCHES,
        "softness": ("nc",),
        "regularization": ("nc",),
        "target": ("nc",),
        "cut": (1,),
    },
    {
        "da_dq": ("nv", "nv"),
        "da_dv": ("nv", "nv"),
        "da_dtau": ("nv", "nv"),
        "df_dq": ("nc", "nv"),
        "df_dv": ("nc", "nv"),
        "df_dtau": ("nc", "nv"),
        "da_dtarget": ("nv", "nc"),
        "df_dtarget": ("nc", "nc"),
        "a": ("nv",),
        "f": ("nc",),
        "pivot": (1,),
    },
    ROW_PARTIALS
    | COMMON_INERTIA
    | TORQUE_COLUMNS
    | FACTOR
    | COLUMNS
    | CLOSURE
    | RATES
    | FORCE_PARTIALS
    | INVERSE
    | ROWS,
    DERIVATIVE_TREE,
)
