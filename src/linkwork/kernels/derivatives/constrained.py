# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constrained forward dynamics: accelerations and constraint forces, by `constrained_derivatives`.

By the implicit function theorem where ``r = ID(q, v, a) - J' f - tau`` and ``s = J a + dJ/dt v - target`` are zero::

    [M  -J'] [da]     [dr]            da_dtau = M^-1 - P X P'      da_dtarget = P X
    [J    0] [df] = - [ds]            df_dtau = -X P'              df_dtarget = X

with ``P = M^-1 J'`` and ``X`` the inverse of ``J P``, the operational-space inertia matrix; of redundant rows its
pseudoinverse in the metric of the regularization, which gives the smallest forces. Rows are made orthogonal
(`orthogonal_rows`), so that ``X = E' pivot E`` and ``P X = W pivot E`` lose few digits where rows are nearly dependent.
All by the sparse factor ``M = L' D L`` (`aba_derivatives`), four columns at a time: with ``Y = L^-T dr``, related ones
alone, ``y = pivot E (-ds + J L^-1 D^-1 Y)``, ``df = E' y`` and ``da = L^-1 D^-1 (-Y + L^-T J' df)``.

Every exact method has these derivatives: where rows are redundant, accelerations do not depend on the distribution of
forces. Derivatives of the null combinations, which matter above all on open loops, are in `dependent_rows`.

| symbol     | meaning                                                                                 |
|------------|-----------------------------------------------------------------------------------------|
| Jc, JD     | ``J L^-1``, and ``D^-1 (J L^-1)'``                                                      |
| Wr, X, T   | W: ``L^-1 D^-1 Q``, above, and ``T = P X``                                                 |
| Bq ... Ya  | ``dr_dq``, and columns by q, v and tau, of `aba_derivatives`                             |
| uq, uv     | four columns of ``-ds + J L^-1 D^-1 Y``; yq, yv, yr of ``y``; dfq, dfv of ``df``             |
| Wl         | four columns of ``pivot W'``                                                            |
| Xl         | four numbers of a row of each result                                                    |
| k, error   | right-hand sides of rows; errors of constraints                                         |

Cost: O(n d² + n² c + m n d + m² n + m³), with m rows; the results are (n + m) (3 n + m) numbers.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.derivatives.aba import clear_related, half_solve_line
from linkwork.kernels.derivatives.constrained_columns import (
    AppliedFactor,
    DerivativeProblem,
    combine_targets,
    constrained_algorithm,
    nothing,
    solve_rows,
)
from linkwork.kernels.derivatives.constraint_forces import wrench_derivatives
from linkwork.kernels.derivatives.couplings import coupling_force_derivatives
from linkwork.kernels.derivatives.rnea import torque_derivatives
from linkwork.kernels.derivatives.tendon_couplings import tendon_force_derivatives
from linkwork.kernels.joints import dof_of
from linkwork.kernels.panels import ZERO, Four, entries, line, minus_scaled, plus_scaled, scaled, set_entries, set_line
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.tree.common_frame import (
    ONE_FRAME,
    acceleration_columns,
    body_inertias,
    composite_forces,
    composite_inertias,
    motion_columns,
    net_forces,
)
from linkwork.kernels.tree.inertia_columns import TORQUE_COLUMNS, inertial_columns, spatial_dot
from linkwork.kernels.tree.mass_factor import COLUMNS, FACTOR, factorize_by_depth, invert_factor, mass_matrix_by_depth
from linkwork.plans.aba_derivatives import LINE
from linkwork.plans.constraint_derivatives import DERIVATIVE_TREE

BY_FACTOR: dict[str, Shape] = {"JD": ("nv", "nrow_columns"), "z": ("nv",)}


# The solution -----------------------------------------------------------------------------------------


@kernel
def rows_by_factor(tree: Array, w: Array) -> None:
    """``Jc = J L^-1``, ``Q = Jc'`` and ``JD = D^-1 Jc'`` (**proximal** Algorithm 1, pass over the constraints)."""
    for k in range(tree.nv):
        for c in range(0, tree.nrow_columns, LINE):
            set_entries(ZERO, w.JD[k], c)
            set_entries(ZERO, w.Qr[k], c)
    for r in range(tree.nc):
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = w.Jc[r, k]
            for t in range(tree.depth[k]):
                w.Jc[r, tree.path[k, t]] -= w.L[k, t] * x
            w.JD[k, r] = x * w.D[k]
            w.Qr[k, r] = x


@kernel
def solve_constrained(tree: Array, w: Array, tau: Array, least: Scalar, a: Array, f: Array) -> None:
    """``y = pivot E (k - J M^-1 (tau - c))``, ``f = E' y``, ``a = M^-1 (tau - c) + W y``; bias forces are in ``fC``."""
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
    solve_rows(tree, w, f)
    for k in range(tree.nv):
        x = w.z[k]
        if tree.is_bound[k] != 0:
            for s in range(tree.nc):
                x = x + w.D[k] * (w.Qr[k, s] * w.yr[s])
        for t in range(tree.depth[k]):
            x = x - w.L[k, t] * a[tree.path[k, t]]
        a[k] = x


# Blocks of the inverse of the KKT matrix --------------------------------------------------------------


@kernel
def target_columns(tree: Array, w: Array, least: Scalar) -> None:
    """``W = L^-1 D^-1 Q`` and ``T = W pivot E``, rows of W padded with zeros."""
    for k in range(tree.nv):
        for c in range(0, tree.nrow_columns, LINE):
            x = ZERO
            if tree.is_bound[k] != 0:
                x = scaled(w.D[k], entries(w.Qr[k], c))
            for t in range(tree.depth[k]):
                x = minus_scaled(x, w.L[k, t], entries(w.Wr[tree.path[k, t]], c))
            set_entries(x, w.Wr[k], c)
    combine_targets(tree, w, least)


@kernel
def subtract_row_motion(tree: Array, w: Array, l: int) -> None:
    """``Y = L^-T dr`` and ``u + J L^-1 D^-1 Y`` in the columns of line ``l``."""
    for b in range(tree.nbound):
        set_line(ZERO, w.Yq, tree.bound[b])
        set_line(ZERO, w.Yv, tree.bound[b])
    half_solve_line(tree, w, l)
    for e in range(tree.line_start[l], tree.line_start[l] + tree.line_count[l]):
        k = tree.line_dof[e]
        if tree.is_bound[k] != 0:
            q = line(w.Yq, k)
            v = line(w.Yv, k)
            for n in range(tree.dof_row_start[k], tree.dof_row_start[k] + tree.dof_row_count[k]):
                r = tree.dof_row[n]
                set_line(plus_scaled(line(w.uq, r), w.JD[k, r], q), w.uq, r)
                set_line(plus_scaled(line(w.uv, r), w.JD[k, r], v), w.uv, r)


@kernel
def add_force_line(tree: Array, w: Array, l: int) -> None:
    """``Y = D^-1 (-Y + Jc' df)`` in the columns of line ``l``; rows of ``Jc`` have fewer entries than ``Q``."""
    for e in range(tree.line_start[l], tree.line_start[l] + tree.line_count[l]):
        k = tree.line_dof[e]
        set_line(scaled(-w.D[k], line(w.Yq, k)), w.Yq, k)
        set_line(scaled(-w.D[k], line(w.Yv, k)), w.Yv, k)
    for b in range(tree.nbound):
        k = tree.bound[b]
        q = line(w.Yq, k)
        v = line(w.Yv, k)
        for n in range(tree.dof_row_start[k], tree.dof_row_start[k] + tree.dof_row_count[k]):
            r = tree.dof_row[n]
            q = plus_scaled(q, w.JD[k, r], line(w.dfq, r))
            v = plus_scaled(v, w.JD[k, r], line(w.dfv, r))
        set_line(q, w.Yq, k)
        set_line(v, w.Yv, k)


@kernel
def acceleration_line(tree: Array, w: Array, l: int, k: int) -> tuple[Four, Four]:
    """Row ``k`` of ``L^-1 Y``, in the columns of line ``l``."""
    reach = tree.reach[k, l]
    bound = tree.bound_depth[k]
    q = ZERO
    v = ZERO
    for t in range(reach if reach > bound else bound):
        x = w.Linv[k, t]
        i = tree.path[k, t]
        q = plus_scaled(q, x, line(w.Yq, i))
        v = plus_scaled(v, x, line(w.Yv, i))
    return q, v


@kernel
def torque_line(tree: Array, w: Array, l: int, k: int, da_dtau: Array) -> None:
    """Row ``k`` of ``M^-1 - W pivot W'``, in the columns of line ``l``, and the same in column ``k``."""
    x = ZERO
    for t in range(tree.common[k, l]):
        x = plus_scaled(x, w.LinvD[k, t], line(w.Ya, tree.path[k, t]))
    for r in range(tree.nc):
        x = minus_scaled(x, w.Wr[k, r], line(w.Wl, r))
    set_line(x, w.Xl, 2)
    for c in range(LINE):
        j = LINE * l + c
        if j <= k:
            da_dtau[k, j] = w.Xl[2, c]
            da_dtau[j, k] = w.Xl[2, c]


# Steps of `derivatives_by` ----------------------------------------------------------------------------


@kernel
def factorize(tree: Array, w: Array, problem: DerivativeProblem, a: Array) -> None:
    """The factor of the mass matrix by paths, and bias forces."""
    motion_columns(tree, w, problem.q, problem.v, ONE_FRAME)
    body_inertias(tree, w)
    composite_inertias(tree, w)
    inertial_columns(tree, w)
    mass_matrix_by_depth(tree, w)
    factorize_by_depth(tree, w)
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    acceleration_columns(tree, w, problem.v, w.qdd0, ONE_FRAME)
    net_forces(tree, w, problem.wrenches)
    composite_forces(tree, w)


@kernel
def force_derivatives(tree: Array, w: Array, f: Array, da_dtau: Array) -> None:
    """``dr``, but for torques of couplings."""
    clear_related(tree, w)
    torque_derivatives(tree, w, w.Bq, w.Bv)
    wrench_derivatives(tree, w, f, w.Bq)


@kernel
def coupling_derivatives(tree: Array, w: Array, q: Array, least: Scalar, f: Array) -> None:
    """Torques of couplings in ``dr``; ``L^-1``, ``W`` and ``T``."""
    coupling_force_derivatives(tree, w, q, f, w.Bq)
    tendon_force_derivatives(tree, w, f, w.Bq)
    invert_factor(tree, w)
    target_columns(tree, w, least)


BY_PATHS = AppliedFactor(
    factorize,
    rows_by_factor,
    solve_constrained,
    force_derivatives,
    coupling_derivatives,
    nothing,
    subtract_row_motion,
    add_force_line,
    acceleration_line,
    torque_line,
)

CONSTRAINED_DERIVATIVES = constrained_algorithm(
    "constrained_derivatives", BY_PATHS, TORQUE_COLUMNS | FACTOR | COLUMNS | BY_FACTOR, DERIVATIVE_TREE
)
