# SPDX-License-Identifier: BSD-3-Clause
"""proxBBO: constraints are propagated towards the root with the articulated bodies, and eliminated where loops close.

**loops** Section V, Algorithms 4 to 6. Where all constraints are with the world this is the PV solver, and proxPV
(**lqr** Algorithm 1, Eqs. 42 and 46 to 49). Rows of K at link i satisfy ``K a_i + L lambda = k`` at every step, with
``L = R`` at first and ``k = k + R lambda0``. A row at a link has a *slot*; rows that are eliminated at the same link,
``R_i`` of the paper, are a *block*, coupled to the rows ``U_i`` that are propagated on.

| symbol | meaning                                                                                     |
|--------|---------------------------------------------------------------------------------------------|
| Ks     | ``K_i`` of each slot; after `rows_to_parent`, ``K P' = K (1 - S D^-1 U')``                  |
| Ts     | ``D^-1 S' K'``                                                                              |
| Ls     | entries of L (**loops** Eq. 46d); those of an eliminated block, its factor ``L D L'``       |
| Zs     | ``S' K'`` while a joint is eliminated; of an eliminated block, ``L_RR^-1 K_R``              |
| Ws     | ``L_RR^-1 L_RU`` of an eliminated block                                                     |
| k      | right-hand side of each row; of an eliminated row, ``L_RR^-1 k_R``                          |
| lam    | multipliers lambda                                                                          |
| g      | coefficient of a row on the acceleration of joint i itself (joint couplings)                |
| pivot  | least pivot of L, relative to its diagonal entry and absolute; and the largest such entry   |

All that depends on q and R alone is in `articulate_rows`; `row_bias_forces` and `multipliers_and_accelerations` solve
for one right-hand side: all forces in the first iteration, the residual in each further one. Multipliers have the sign
of ``M a + c = tau + J' lambda``, opposite to the paper's.
Cost: O(n + m_b^3 n), with m_b the largest number of rows propagated together.
"""

from __future__ import annotations

from linkwork.kernels.aba import (
    articulated_bias_force,
    eliminate,
    inertia_to_parent,
    init_rigid_inertias,
    joint_acceleration,
    solve_ldl,
)
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained import (
    DISABLED,
    INPUTS,
    NEGLIGIBLE_ROW,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    clear_forces,
    copy_rows,
    first_forward_sweep,
    forward_view,
    maximum,
    minimum,
    residual_norm,
    residual_progress,
)
from linkwork.kernels.joints import axis_of, dof_of, moves_along, rotate_to_parent
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.kernels.spatial import add, add_to, angular, cross, dot, linear
from linkwork.model.joints import HELICAL
from linkwork.plans.bbo import BBO_TREE

TRAVEL: dict[str, Shape] = {
    "Ks": ("nslots", 6),
    "Ts": ("nslots", 6),
    "Zs": ("nslots", 6),
    "g": ("nslots",),
    "Ls": ("nentries",),
    "Ws": ("ncross",),
    "x": ("max_block",),
    "lam": ("nc",),
    "pivot": (3,),
}


@kernel
def init_rows(tree: Array, w: Array, R: Array) -> None:
    """``K``, ``L = R`` of each row at the links that it constrains (**loops** Algorithm 4, lines 4 to 7)."""
    for s in range(tree.nslots):
        for j in range(6):
            w.Ks[s, j] = 0.0
        w.g[s] = 0.0
    for m in range(tree.nk):
        s = tree.k_slot[m]
        if s >= 0:
            for j in range(6):
                w.Ks[s, j] += w.K[m, j]
    for t in range(tree.nterms):
        w.g[tree.term_slot[t]] += w.dphi[t]
    w.pivot[0] = 1.0
    w.pivot[1] = DISABLED
    w.pivot[2] = 0.0
    for e in range(tree.nentries):
        w.Ls[e] = 0.0
    for b in range(tree.nblocks):
        for a in range(tree.block_size[b]):
            r = tree.slot_row[tree.block_slot[b] + a]
            w.Ls[tree.block_entry[tree.block_entry_start[b] + a * (a + 1) // 2 + a]] = R[r]


@kernel
def factorize_block(tree: Array, w: Array, b: int) -> None:
    """``L_RR = L D L'`` of a block, in place; the diagonal becomes ``1 / D``."""
    o = tree.block_entry_start[b]
    L = w.Ls
    for j in range(tree.block_size[b]):
        row = o + j * (j + 1) // 2
        for k in range(j):
            x = L[tree.block_entry[row + k]]
            row_k = o + k * (k + 1) // 2
            for m in range(k):
                x = x - L[tree.block_entry[row + m]] * L[tree.block_entry[row_k + m]]
            L[tree.block_entry[row + k]] = x
        x = L[tree.block_entry[row + j]]
        diagonal = x
        for k in range(j):
            y = L[tree.block_entry[row + k]]
            scaled = y * L[tree.block_entry[o + k * (k + 1) // 2 + k]]
            x = x - y * scaled
            L[tree.block_entry[row + k]] = scaled
        L[tree.block_entry[row + j]] = 1.0 / x
        relative = x / diagonal
        w.pivot[0] = minimum(relative, w.pivot[0])
        w.pivot[1] = minimum(x, w.pivot[1])
        w.pivot[2] = maximum(where(diagonal, DISABLED, diagonal, 0.0), w.pivot[2])


@kernel
def solve_block(tree: Array, w: Array, b: int) -> None:
    """``x = L_RR^-1 x`` with the factor of a block."""
    o = tree.block_entry_start[b]
    n = tree.block_size[b]
    L = w.Ls
    x = w.x
    for j in range(n):
        for k in range(j):
            x[j] -= L[tree.block_entry[o + j * (j + 1) // 2 + k]] * x[k]
    for j in range(n):
        x[j] *= L[tree.block_entry[o + j * (j + 1) // 2 + j]]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            x[j] -= L[tree.block_entry[o + k * (k + 1) // 2 + j]] * x[k]


@kernel
def eliminate_rows(tree: Array, w: Array, i: int) -> None:
    """``H += K_R' L_RR^-1 K_R``, ``K_U``, ``L_UU``: eliminate the rows that close at link ``i`` (**loops** Eq. 52)."""
    for b in range(tree.block_start[i], tree.block_start[i] + tree.block_count[i]):
        factorize_block(tree, w, b)
        o = tree.block_slot[b]
        n = tree.block_size[b]
        m = tree.coupled_count[b]
        ru = tree.cross_start[b]
        if i > 0:
            for j in range(6):
                for a in range(n):
                    w.x[a] = w.Ks[o + a, j]
                solve_block(tree, w, b)
                for a in range(n):
                    w.Zs[o + a, j] = w.x[a]
            for j in range(6):
                for k in range(j, 6):
                    for a in range(n):
                        w.H[i, j, k] += w.Ks[o + a, j] * w.Zs[o + a, k]
        for u in range(m):
            for a in range(n):
                w.x[a] = w.Ls[tree.cross_entry[ru + a * m + u]]
            solve_block(tree, w, b)
            for a in range(n):
                w.Ws[ru + a * m + u] = w.x[a]
        for u in range(m):
            s = tree.coupled_slot[tree.coupled_start[b] + u]
            for a in range(n):
                y = w.Ls[tree.cross_entry[ru + a * m + u]]
                if i > 0:
                    for j in range(6):
                        w.Ks[s, j] -= y * w.Zs[o + a, j]
                for t in range(u + 1):
                    entry = tree.passing_entry[tree.coupled_passing_start[b] + u * (u + 1) // 2 + t]
                    w.Ls[entry] -= y * w.Ws[ru + a * m + t]


@kernel
def propagate_rows(tree: Array, w: Array, i: int) -> None:
    """``K_p(i)`` and ``L`` of the rows that are propagated past joint ``i`` (**loops** Eqs. 46c, 46d)."""
    o = tree.slot_start[i]
    n = tree.slot_count[i]
    project_rows_on_joint(tree, w, i)
    for a in range(n):
        for b in range(a + 1):
            entry = tree.passing_entry[tree.passing_start[i] + a * (a + 1) // 2 + b]
            for k in range(dof_of(tree.kind[i])):
                w.Ls[entry] += w.Zs[o + a, k] * w.Ts[o + b, k]
    rows_to_parent(tree, w, i)


@kernel
def project_rows_on_joint(tree: Array, w: Array, i: int) -> None:
    """``S' K'`` and ``D^-1 S' K'`` of the rows at link ``i``."""
    kind = tree.kind[i]
    o = tree.slot_start[i]
    n = tree.slot_count[i]
    dof = dof_of(kind)
    axis = axis_of(kind, 0)
    for a in range(n):
        K = w.Ks[o + a]
        T = w.Ts[o + a]
        S = w.Zs[o + a]
        if kind > HELICAL:
            for k in range(dof):
                S[k] = K[axis_of(kind, k)]
                T[k] = S[k]
            solve_ldl(dof, w.L[i], T)
        else:
            S[0] = K[axis] + w.g[o + a]
            if kind == HELICAL:
                S[0] += tree.pitch[i] * K[5]
            T[0] = S[0] * w.D[i]


@kernel
def rows_to_parent(tree: Array, w: Array, i: int) -> None:
    """``K_p(i) += K_i P' iXp(i)`` (**loops** Eq. 46c)."""
    kind = tree.kind[i]
    o = tree.slot_start[i]
    dof = dof_of(kind)
    axis = axis_of(kind, 0)
    for a in range(tree.slot_count[i]):
        K = w.Ks[o + a]
        S = w.Zs[o + a]
        if kind > HELICAL:
            for j in range(6):
                if tree.has_armature[i] != 0 or moves_along(kind, j) == 0:
                    for k in range(dof):
                        K[j] -= w.Y[i, j, k] * S[k]
                else:
                    K[j] = 0.0
        else:
            for j in range(6):
                if j != axis or kind == HELICAL or tree.has_armature[i] != 0:
                    K[j] -= w.V[i, j] * S[0]
            if kind != HELICAL and tree.has_armature[i] == 0:
                K[axis] = -w.g[o + a]
        s = tree.slot_parent[o + a]
        if s >= 0:
            f = rotate_to_parent(tree, w, i, linear(K))
            add_to(add(rotate_to_parent(tree, w, i, angular(K)), cross(w.r[i], f)), f, w.Ks[s])


@kernel
def articulate_rows(tree: Array, w: Array, R: Array) -> None:
    """Backward sweep of inertias, K and L (**loops** Algorithm 4, lines 8 to 17 without forces)."""
    init_rows(tree, w, R)
    init_rigid_inertias(tree, w)
    for i in range(tree.n - 1, 0, -1):
        eliminate_rows(tree, w, i)
        eliminate(tree, w, i)
        propagate_rows(tree, w, i)
        inertia_to_parent(tree, w, i)
    eliminate_rows(tree, w, 0)


@kernel
def eliminate_row_forces(tree: Array, w: Array, i: int) -> None:
    """``f -= K_R' L_RR^-1 k_R``, ``k_U -= L_UR L_RR^-1 k_R`` (**loops** Eq. 52; Algorithm 5, line 3)."""
    for b in range(tree.block_start[i], tree.block_start[i] + tree.block_count[i]):
        o = tree.block_slot[b]
        n = tree.block_size[b]
        m = tree.coupled_count[b]
        for a in range(n):
            w.x[a] = w.k[tree.slot_row[o + a]]
        solve_block(tree, w, b)
        for a in range(n):
            w.k[tree.slot_row[o + a]] = w.x[a]
            if i > 0:
                for j in range(6):
                    w.f[i, j] -= w.Ks[o + a, j] * w.x[a]
            for u in range(m):
                r = tree.slot_row[tree.coupled_slot[tree.coupled_start[b] + u]]
                w.k[r] -= w.Ls[tree.cross_entry[tree.cross_start[b] + a * m + u]] * w.x[a]


@kernel
def propagate_row_forces(tree: Array, w: Array, i: int, tau: Array) -> None:
    """``k -= K S D^-1 u`` of the rows propagated past joint ``i`` (**loops** Eq. 46e; Algorithm 5, line 6)."""
    kind = tree.kind[i]
    o = tree.slot_start[i]
    f = w.f[i]
    for a in range(tree.slot_count[i]):
        r = tree.slot_row[o + a]
        for k in range(dof_of(kind)):
            u = tau[tree.iv[i] + k] - f[axis_of(kind, k)]
            if kind == HELICAL:
                u = u - tree.pitch[i] * f[5]
            w.k[r] -= w.Ts[o + a, k] * u


@kernel
def row_bias_forces(tree: Array, w: Array, tau: Array) -> None:
    """Backward sweep of forces and right-hand sides (**loops** Algorithm 5, lines 1 to 8)."""
    for i in range(tree.n - 1, 0, -1):
        eliminate_row_forces(tree, w, i)
        propagate_row_forces(tree, w, i, tau)
        articulated_bias_force(tree, w, i, tau)
    eliminate_row_forces(tree, w, 0)


@kernel
def solve_multipliers(tree: Array, w: Array, i: int) -> None:
    """``lambda_R = L_RR^-1 (k_R - K_R a_i - L_RU lambda_U)`` (**loops** Eq. 51; Algorithm 4, line 23)."""
    for b in range(tree.block_start[i], tree.block_start[i] + tree.block_count[i]):
        o = tree.block_slot[b]
        m = tree.coupled_count[b]
        for a in range(tree.block_size[b]):
            r = tree.slot_row[o + a]
            x = w.k[r]
            if i > 0:
                for j in range(6):
                    x = x - w.Zs[o + a, j] * w.a[i, j]
            for u in range(m):
                coupled = tree.slot_row[tree.coupled_slot[tree.coupled_start[b] + u]]
                x = x - w.Ws[tree.cross_start[b] + a * m + u] * w.lam[coupled]
            w.lam[r] = x


@kernel
def multipliers_and_accelerations(tree: Array, w: Array, qdd: Array) -> None:
    """Forward sweep: joint torques of rows, accelerations, multipliers (**loops** Algorithm 4, lines 18 to 23)."""
    solve_multipliers(tree, w, 0)
    for i in range(1, tree.n):
        o = tree.slot_start[i]
        for a in range(tree.slot_count[i]):
            for k in range(dof_of(tree.kind[i])):
                w.y[tree.iv[i] + k] += w.Ts[o + a, k] * w.lam[tree.slot_row[o + a]]
        joint_acceleration(tree, w, i, qdd)
        solve_multipliers(tree, w, i)


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
    clear_forces(tree, w)  # Algorithm 6, lines 3 and 4
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


@kernel
def pv(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The PV solver (**lqr** Algorithm 1), ``R = 0``, no iterations; ``progress`` is the least pivot of L."""
    prox_bbo(tree, w, problem, result)
    result.progress[0] = minimum(w.pivot[0], NEGLIGIBLE_ROW * (w.pivot[1] / w.pivot[2]))


PV = Algorithm("pv", pv, INPUTS, OUTPUTS, WORK | TRAVEL, BBO_TREE, view=forward_view)
PROX_BBO = Algorithm(
    "prox_bbo", prox_bbo, INPUTS, OUTPUTS, WORK | TRAVEL, BBO_TREE, prox_bbo_iterate, view=forward_view
)
