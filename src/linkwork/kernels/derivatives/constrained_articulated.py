# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constrained forward dynamics by articulated bodies, for deep trees.

Computes the results of `constrained_derivatives` in a number of operations that grows as ``n² m`` however deep
the tree is. To the tree, forces f of constraints are wrenches on a few bodies, the *ends* of constraints, and torques
at coupled joints. With wrenches that move with their bodies, `articulated_derivatives` has the derivative ``da0`` at
the solution. Wrenches as seen from their bodies change by ``Ye`` (`derivatives.constraint_forces`), torques by ``-B``:
with ``Pe = M^-1 Je'`` they add ``Pe Ye - M^-1 B``. Changes of forces cancel the remaining residual of rows::

    df = E' y,    y = -pivot E (ds + J da0),    da = da0 + W y        by torques: M^-1 - W pivot W'

Orthogonal rows and ``W = L^-1 D^-1 Q`` are those of `constrained_derivatives`: articulated bodies have the same factor
``M = L' D L``, and sweeps over them are products with ``L^-T`` and ``L^-1`` (Rodriguez, Jain and Kreutz-Delgado, A
spatial operator algebra for manipulator modeling and control, 1991).

| symbol   | meaning                                                                                   |
|----------|-------------------------------------------------------------------------------------------|
| Jc       | J; of `constrained_derivatives` the rows ``J L^-1``                                          |
| Fq, Fv   | ``da0_dq``, ``da0_dv``                                                                      |
| Ye, Pe   | changes of wrenches on the ends of constraints by each column, and ``M^-1 Je'``             |
| Bc       | minus the derivatives of torques of coupled joints, f held                                |

Other symbols: `constrained_derivatives`, `articulated_derivatives`. Cost: O(n² (m + e) + m² n + m³), with m rows that
act on e bodies; `plans.constrained_articulated_derivatives` counts products.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.derivatives.articulated import SWEEPS, minus_dot, next_state, state_of, sweep_columns
from linkwork.kernels.derivatives.constrained_columns import (
    AppliedFactor,
    DerivativeProblem,
    combine_targets,
    constrained_algorithm,
    nothing,
    solve_rows,
)
from linkwork.kernels.derivatives.constraint_forces import wrench_changes
from linkwork.kernels.derivatives.couplings import coupling_force_derivatives
from linkwork.kernels.joints import dof_of
from linkwork.kernels.panels import (
    ZERO,
    Four,
    entries,
    line,
    minus_scaled,
    plus,
    plus_scaled,
    scaled,
    set_entries,
    set_line,
)
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.tree.common_articulated import (
    ARTICULATED,
    accelerations_by_articulated_bodies,
    articulate,
    inverse_inertias,
)
from linkwork.kernels.tree.common_frame import ONE_FRAME, body_inertias, motion_columns
from linkwork.plans.aba_derivatives import LINE
from linkwork.plans.constrained_articulated_derivatives import CONSTRAINED_ARTICULATED_TREE

FREE: dict[str, Shape] = {
    "Fq": ("nv", "ncolumns"),
    "Fv": ("nv", "ncolumns"),
    "Bc": ("nv", "ncolumns"),
    "Ye": ("nends", 6, "ncolumns"),
    "Pe": ("nv", "nend_columns"),
    "D": ("nv",),
}


# Products with the factor, four columns at a time ---------------------------------------------------------


@kernel
def half_solve_columns(tree: Array, w: Array, c: int, Q: Array) -> None:
    """``Q = L^-T Q`` in four columns from ``c`` on, leaves to root; articulated bias forces are in ``Gq``."""
    for i in range(1, tree.n):
        for j in range(6):
            set_line(ZERO, w.Gq[state_of(tree, i)], j)
    for i in range(tree.n - 1, 0, -1):
        p = w.Gq[state_of(tree, i)]
        for k in range(state_of(tree, i) - 1, tree.iv[i] - 1, -1):
            u = minus_dot(entries(Q[k], c), w.S[k], p)
            set_entries(u, Q[k], c)
            for j in range(6):
                set_line(plus_scaled(line(p, j), w.Y[k, j], u), p, j)
        if tree.parent[i] > 0:
            h = w.Gq[state_of(tree, tree.parent[i])]
            for j in range(6):
                set_line(plus(line(h, j), line(p, j)), h, j)


@kernel
def accelerate_columns(tree: Array, w: Array, c: int, Q: Array, X: Array) -> None:
    """``X = L^-1 D^-1 Q`` in four columns from ``c`` on, root to leaves; accelerations of states are in ``Aq``."""
    for j in range(6):
        set_line(ZERO, w.Aq[0], j)
    for k in range(tree.nv):
        p = tree.before[k]
        x = minus_dot(scaled(w.Dinv[k], entries(Q[k], c)), w.Y[k], w.Aq[p])
        set_entries(x, X[k], c)
        if tree.has_beyond[k] != 0:
            next_state(w.S[k], x, w.Aq[p], w.Aq[k + 1])


@kernel
def set_row_columns(tree: Array, w: Array) -> None:
    """``Q = L^-T J'``, and ``1 / D`` under the name that `orthogonal_rows` has for it."""
    for k in range(tree.nv):
        w.D[k] = w.Dinv[k]
        for r in range(tree.nrow_columns):
            w.Qr[k, r] = w.Jc[r, k] if r < tree.nc else 0.0
    for c in range(0, tree.nrow_columns, LINE):
        half_solve_columns(tree, w, c, w.Qr)


@kernel
def set_end_columns(tree: Array, w: Array) -> None:
    """``Pe = M^-1 Je'``: accelerations by wrenches on the ends of constraints."""
    for k in range(tree.nv):
        for c in range(tree.nend_columns):
            w.Pe[k, c] = 0.0
    for e in range(tree.nends):
        i = tree.end_body[e]
        while i > 0:
            for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                for c in range(6):
                    w.Pe[k, 6 * e + c] = w.S[k, c]
            i = tree.parent[i]
    for c in range(0, tree.nend_columns, LINE):
        half_solve_columns(tree, w, c, w.Pe)
        accelerate_columns(tree, w, c, w.Pe, w.Pe)


# The solution -----------------------------------------------------------------------------------------


@kernel
def solve_constrained(tree: Array, w: Array, tau: Array, least: Scalar, a: Array, f: Array) -> None:
    """``W`` and ``T``; ``f = E' y`` and ``a = a0 + W y`` with ``y = pivot E (k - J a0)``; a0 is in a before."""
    for c in range(0, tree.nrow_columns, LINE):
        accelerate_columns(tree, w, c, w.Qr, w.Wr)
    combine_targets(tree, w, least)
    for r in range(tree.nc):
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            w.k[r] -= w.Jc[r, tree.row_dof[e]] * a[tree.row_dof[e]]
    solve_rows(tree, w, f)
    for k in range(tree.nv):
        for s in range(tree.nc):
            a[k] += w.Wr[k, s] * w.yr[s]


# Columns, a line of four at a time ---------------------------------------------------------------------


@kernel
def clear_free(tree: Array, w: Array) -> None:
    """Zeros beyond the last column, and in ``Bc`` where joints are coupled."""
    for k in range(tree.nv):
        for j in range(tree.nv, tree.ncolumns):
            w.Fq[k, j] = 0.0
            w.Fv[k, j] = 0.0
    for l in range(tree.nlines):
        for e in range(tree.coupled_start[l], tree.coupled_start[l] + tree.coupled_count[l]):
            set_entries(ZERO, w.Bc[tree.coupled_dof[e]], LINE * l)


@kernel
def add_force_changes(tree: Array, w: Array, inverse: Array) -> None:
    """``da0_dq = da0_dq + Pe Ye - M^-1 B``, with the inverse of the mass matrix."""
    for l in range(tree.nlines):
        add_force_changes_line(tree, w, l, inverse)


@kernel
def add_force_changes_line(tree: Array, w: Array, l: int, inverse: Array) -> None:
    """Adds force changes in the columns of line ``l``."""
    for k in range(tree.nv):
        x = entries(w.Fq[k], LINE * l)
        for n in range(tree.end_start[l], tree.end_start[l] + tree.end_count[l]):
            e = tree.line_end[n]
            for c in range(6):
                x = plus_scaled(x, w.Pe[k, 6 * e + c], entries(w.Ye[e, c], LINE * l))
        for n in range(tree.coupled_start[l], tree.coupled_start[l] + tree.coupled_count[l]):
            i = tree.coupled_dof[n]
            x = minus_scaled(x, inverse[k, i], entries(w.Bc[i], LINE * l))
        set_entries(x, w.Fq[k], LINE * l)


@kernel
def subtract_row_motion(tree: Array, w: Array, l: int) -> None:
    """``u - J da0`` in the columns of line ``l``."""
    for b in range(tree.nbound):
        k = tree.bound[b]
        q = entries(w.Fq[k], LINE * l)
        v = entries(w.Fv[k], LINE * l)
        for n in range(tree.dof_row_start[k], tree.dof_row_start[k] + tree.dof_row_count[k]):
            r = tree.dof_row[n]
            set_line(minus_scaled(line(w.uq, r), w.Jc[r, k], q), w.uq, r)
            set_line(minus_scaled(line(w.uv, r), w.Jc[r, k], v), w.uv, r)


@kernel
def acceleration_line(tree: Array, w: Array, l: int, k: int) -> tuple[Four, Four]:
    """Row ``k`` of ``da0 + W y``, in the columns of line ``l``."""
    q = entries(w.Fq[k], LINE * l)
    v = entries(w.Fv[k], LINE * l)
    for s in range(tree.nc):
        q = plus_scaled(q, w.Wr[k, s], line(w.yq, s))
        v = plus_scaled(v, w.Wr[k, s], line(w.yv, s))
    return q, v


@kernel
def torque_line(tree: Array, w: Array, l: int, k: int, da_dtau: Array) -> None:
    """Subtract row ``k`` of ``W pivot W'``, in the columns of line ``l`` up to ``k``; the same in column ``k``."""
    x = ZERO
    for s in range(tree.nc):
        x = plus_scaled(x, w.Wr[k, s], line(w.Wl, s))
    set_line(x, w.Xl, 2)
    for c in range(LINE):
        j = LINE * l + c
        if j <= k:
            da_dtau[k, j] -= w.Xl[2, c]
            da_dtau[j, k] = da_dtau[k, j]


# Steps of `derivatives_by` ----------------------------------------------------------------------------


@kernel
def factorize(tree: Array, w: Array, problem: DerivativeProblem, a: Array) -> None:
    """Articulated bodies, and ``a0``, accelerations without forces of constraints."""
    motion_columns(tree, w, problem.q, problem.v, ONE_FRAME)
    body_inertias(tree, w)
    articulate(tree, w)
    inverse_inertias(tree, w)
    accelerations_by_articulated_bodies(tree, w, problem.v, problem.tau, problem.wrenches, ONE_FRAME, a)


@kernel
def force_derivatives(tree: Array, w: Array, f: Array, da_dtau: Array) -> None:
    """``da0``, with wrenches that move with their bodies; ``Pe`` and ``Ye``."""
    clear_free(tree, w)
    sweep_columns(tree, w, w.Fq, w.Fv, da_dtau)
    set_end_columns(tree, w)
    wrench_changes(tree, w, f)


@kernel
def coupling_derivatives(tree: Array, w: Array, q: Array, least: Scalar, f: Array) -> None:
    """``B``."""
    coupling_force_derivatives(tree, w, q, f, w.Bc)


BY_ARTICULATED_BODIES = AppliedFactor(
    factorize,
    set_row_columns,
    solve_constrained,
    force_derivatives,
    coupling_derivatives,
    add_force_changes,
    subtract_row_motion,
    nothing,
    acceleration_line,
    torque_line,
)

CONSTRAINED_ARTICULATED_DERIVATIVES = constrained_algorithm(
    "constrained_articulated_derivatives",
    BY_ARTICULATED_BODIES,
    ARTICULATED | SWEEPS | FREE,
    CONSTRAINED_ARTICULATED_TREE,
)
