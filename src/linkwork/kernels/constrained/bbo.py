# SPDX-License-Identifier: BSD-3-Clause
"""proxBBO: constraints are propagated towards the root with the articulated bodies, and eliminated where loops close.

**loops** Section V, Algorithms 4 to 6. Where all constraints are with the world this is the PV solver, and proxPV
(**lqr** Algorithm 1, Eq. 42). Rows of K at link i satisfy ``K a_i + L lambda = k`` at every step, with ``L = R`` at
first and ``k = k + R lambda0``. A row at a link has a *slot*; rows that are eliminated at the same link, ``R_i`` of the
paper, are a *block*, coupled to the rows ``U_i`` that are propagated on. Rows to the world end there (**lqr** Eqs. 47,
48), or at a floating base b, before it: ``H_b + K_b' L_b^-1 K_b`` (**lqr** Eqs. 46, 49), with a block for each branch.

Rows are handled four at a time, in panels (`panels`): what follows has a column for each row of a panel.

| symbol | meaning                                                                                     |
|--------|---------------------------------------------------------------------------------------------|
| Ks     | ``K_i`` of each place; after `rows_to_parent`, that of the parent: ``K (1 - S D^-1 U')``    |
| Ts     | ``D^-1 S' K'``; of an eliminated block, with the factor ``L D L'``, ``D^-1 L^-1 K_R``       |
| Zs     | of the link at hand, ``S' K'``; of an eliminated block, ``L^-1 K_R``                        |
| Ls     | tiles of L (**loops** Eq. 46d); of an eliminated block, its factor, and ``D^-1 L^-1 L_RU``  |
| ks     | right-hand side of each row; of an eliminated row, ``L^-1 k_R``                             |
| lams   | multipliers lambda                                                                          |
| g      | coefficient of a row on the acceleration of joint i itself (joint couplings)                |
| pivot  | least pivot of L, relative to its diagonal entry and absolute; and the largest such entry   |
| k, lam | ``ks`` and ``lams`` without columns that have no row                                        |

All that depends on q and R alone is in `bbo_factor`; `row_bias_forces` and `multipliers_and_accelerations` solve for
one right-hand side: all forces in the first iteration, the residual in each further one. Multipliers have the sign of
``M a + c = tau + J' lambda``, opposite to the paper's.
Cost: O(n + m_b^3 n), with m_b the largest number of rows propagated together.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.constrained.bbo_factor import TRAVEL, articulate_rows, block_tile
from linkwork.kernels.constrained.problem import (
    INPUTS,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    clear_forces,
    copy_rows,
    first_forward_sweep,
    forward_view,
    remove_internal_forces,
    residual_norm,
    residual_progress,
    subtract_rows,
)
from linkwork.kernels.elementary import minimum
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.panels import (
    ZERO,
    line,
    minus_product,
    minus_scaled,
    minus_transposed_product,
    set_line,
    solve_line,
    solve_line_transposed,
    sum_of_products,
    times_diagonal,
)
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.kernels.spatial import angular, dot, linear
from linkwork.kernels.thresholds import DISABLED, NEGLIGIBLE_ROW
from linkwork.kernels.tree.aba import (
    articulated_bias_force,
    joint_acceleration,
)
from linkwork.model.joints import HELICAL
from linkwork.plans.bbo import BBO_TREE


@kernel
def eliminate_row_forces(tree: Array, w: Array, i: int) -> None:
    """``x = L^-1 k_R``, ``f -= T' x``, ``k_U -= W' x`` (**loops** Eq. 52; Algorithm 5, line 3)."""
    for b in range(tree.block_start[i], tree.block_start[i] + tree.block_count[i]):
        o = tree.block_slot[b]
        m = tree.coupled_count[b]
        for a in range(tree.block_size[b]):
            p = tree.slot_panel[o + a]
            x = line(w.ks, p)
            for e in range(a):
                x = minus_product(x, line(w.ks, tree.slot_panel[o + e]), w.Ls[block_tile(tree, b, a, e)])
            x = solve_line(w.Ls[block_tile(tree, b, a, a)], x)
            set_line(x, w.ks, p)
            if i > 0:
                for j in range(6):
                    w.f[i, j] -= sum_of_products(line(w.Ts, tree.slot_line[o + a] + j), x)
            for u in range(m):
                r = tree.slot_panel[tree.coupled_slot[tree.coupled_start[b] + u]]
                W = w.Ls[tree.cross_tile[tree.cross_start[b] + a * m + u]]
                set_line(minus_product(line(w.ks, r), x, W), w.ks, r)


@kernel
def propagate_row_forces(tree: Array, w: Array, i: int, tau: Array) -> None:
    """``k -= K S D^-1 u`` of the rows propagated past joint ``i`` (**loops** Eq. 46e; Algorithm 5, line 6)."""
    kind = tree.kind[i]
    f = w.f[i]
    for s in range(tree.slot_start[i], tree.slot_start[i] + tree.slot_count[i]):
        x = line(w.ks, tree.slot_panel[s])
        for k in range(dof_of(kind)):
            u = tau[tree.iv[i] + k] - f[axis_of(kind, k)]
            if kind == HELICAL:
                u = u - tree.pitch[i] * f[5]
            x = minus_scaled(x, u, line(w.Ts, tree.slot_line[s] + k))
        set_line(x, w.ks, tree.slot_panel[s])


@kernel
def row_bias_forces(tree: Array, w: Array, tau: Array) -> None:
    """Backward sweep of forces and right-hand sides (**loops** Algorithm 5, lines 1 to 8)."""
    for p in range(tree.npanels):
        set_line(ZERO, w.ks, p)
    for r in range(tree.nc):
        w.ks[tree.row_panel[r], tree.row_column[r]] = w.k[r]
    for i in range(tree.n - 1, 0, -1):
        eliminate_row_forces(tree, w, i)
        propagate_row_forces(tree, w, i, tau)
        articulated_bias_force(tree, w, i, tau)
    eliminate_row_forces(tree, w, 0)


@kernel
def solve_multipliers(tree: Array, w: Array, i: int) -> None:
    """``lambda_R = L'^-1 (D^-1 L^-1 k_R - T a_i - W lambda_U)`` (**loops** Eq. 51; Algorithm 4, line 23)."""
    for b in range(tree.block_start[i], tree.block_start[i] + tree.block_count[i]):
        o = tree.block_slot[b]
        n = tree.block_size[b]
        m = tree.coupled_count[b]
        for a in range(n):
            p = tree.slot_panel[o + a]
            x = times_diagonal(w.Ls[block_tile(tree, b, a, a)], line(w.ks, p))
            if i > 0:
                for j in range(6):
                    x = minus_scaled(x, w.a[i, j], line(w.Ts, tree.slot_line[o + a] + j))
            for u in range(m):
                coupled = tree.slot_panel[tree.coupled_slot[tree.coupled_start[b] + u]]
                W = w.Ls[tree.cross_tile[tree.cross_start[b] + a * m + u]]
                x = minus_transposed_product(x, line(w.lams, coupled), W)
            set_line(x, w.lams, p)
        for a in range(n - 1, -1, -1):
            p = tree.slot_panel[o + a]
            x = line(w.lams, p)
            for e in range(a + 1, n):
                x = minus_transposed_product(x, line(w.lams, tree.slot_panel[o + e]), w.Ls[block_tile(tree, b, e, a)])
            set_line(solve_line_transposed(w.Ls[block_tile(tree, b, a, a)], x), w.lams, p)


@kernel
def multipliers_and_accelerations(tree: Array, w: Array, qdd: Array) -> None:
    """Forward sweep: joint torques of rows, accelerations, multipliers (**loops** Algorithm 4, lines 18 to 23)."""
    solve_multipliers(tree, w, 0)
    for i in range(1, tree.n):
        for s in range(tree.slot_start[i], tree.slot_start[i] + tree.slot_count[i]):
            x = line(w.lams, tree.slot_panel[s])
            for k in range(dof_of(tree.kind[i])):
                w.y[tree.iv[i] + k] += sum_of_products(line(w.Ts, tree.slot_line[s] + k), x)
        joint_acceleration(tree, w, i, qdd)
        solve_multipliers(tree, w, i)
    for r in range(tree.nc):
        w.lam[r] = w.lams[tree.row_panel[r], tree.row_column[r]]


@kernel
def row_residuals(tree: Array, w: Array, qdd: Array, R: Array, residual: Array) -> None:
    """``residual = residual - K a``; zero where a row is not enabled."""
    for m in range(tree.nk_link):
        i = tree.k_body[m]
        if i > 0:
            K = w.K[m]
            a = w.a[i]
            residual[tree.k_row[m]] -= dot(angular(K), angular(a)) + dot(linear(K), linear(a))
    for t in range(tree.nterms):
        residual[tree.term_row[t]] -= w.dphi[t] * qdd[tree.term_v[t]]
    for r in range(tree.nc):
        residual[r] = where(R[r], DISABLED, residual[r], 0.0)


@kernel
def prox_bbo(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The first iteration of **loops** Algorithm 6: the three-sweep Algorithm 4."""
    first_forward_sweep(tree, w, problem, result)
    for r in range(tree.nc):
        result.residual[r] = w.k[r]
        w.k[r] += problem.R[r] * problem.multipliers0[r]  # line 6
    articulate_rows(tree, w, problem.R)  # lines 4 to 17, inertias, K and L
    row_bias_forces(tree, w, problem.tau)  # lines 8 to 17, forces and k
    multipliers_and_accelerations(tree, w, result.a)  # lines 18 to 23
    copy_rows(tree, w.lam, result.multipliers)
    row_residuals(tree, w, result.a, problem.R, result.residual)
    result.progress[0] = residual_norm(tree, w, problem.settings, result.residual)
    result.iterations[0] = 1.0


@kernel
def prox_bbo_iterate(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """A further iteration of **loops** Algorithm 6: the two-sweep Algorithm 5 with the residual for k."""
    clear_forces(tree, w, w.qdd0)  # Algorithm 6, lines 3 and 4
    for r in range(tree.nc):
        w.k[r] = result.residual[r]  # Algorithm 6, lines 5 and 6
    row_bias_forces(tree, w, w.qdd0)  # lines 1 to 8
    multipliers_and_accelerations(tree, w, w.da)  # lines 9 to 16
    for k in range(tree.nv):
        result.a[k] += w.da[k]  # Algorithm 6, line 10
    for r in range(tree.nc):
        result.multipliers[r] += w.lam[r]  # Algorithm 6, line 11
    copy_rows(tree, result.residual, w.error)
    row_residuals(tree, w, w.da, problem.R, result.residual)
    result.progress[0] = residual_progress(tree, w, problem.settings, w.error, result.residual)
    result.iterations[0] += 1.0
    if tree.has_redundant_rows != 0:
        subtract_rows(tree, result.residual, w.error)
        remove_internal_forces(tree, w, problem, w.lam, w.error, result)


@kernel
def compare_block_pivots(tree: Array, w: Array, inertia: Array) -> None:
    """Pivots of rows that end at a link, relative to the apparent inverse inertia of each row with all links free.

    A stretched leg hardly moves its foot along itself. The pivot of that row is then small, and so is the diagonal
    entry of L to which `factorize_block` relates it.
    """
    for i in range(1, tree.n):
        for b in range(tree.block_start[i], tree.block_start[i] + tree.block_count[i]):
            for a in range(tree.block_size[b]):
                p = tree.slot_panel[tree.block_slot[b] + a]
                A = w.Ls[block_tile(tree, b, a, a)]
                for c in range(tree.panel_rows[p]):
                    w.pivot[0] = minimum(inertia[tree.panel_row[p] + c] / A[c, c], w.pivot[0])


@kernel
def pv(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The PV solver (**lqr** Algorithm 1), ``R = 0``, no iterations; ``progress`` is the least pivot of L."""
    prox_bbo(tree, w, problem, result)
    compare_block_pivots(tree, w, problem.settings.row_inertia)
    result.progress[0] = minimum(w.pivot[0], NEGLIGIBLE_ROW * (w.pivot[1] / w.pivot[2]))


PV = Algorithm("pv", pv, INPUTS, OUTPUTS, WORK | TRAVEL, BBO_TREE, view=forward_view)
PROX_BBO = Algorithm(
    "prox_bbo", prox_bbo, INPUTS, OUTPUTS, WORK | TRAVEL, BBO_TREE, prox_bbo_iterate, view=forward_view
)
