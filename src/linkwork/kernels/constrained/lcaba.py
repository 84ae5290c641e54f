# SPDX-License-Identifier: BSD-3-Clause
"""LCABA: loop-constrained articulated-body algorithm, the augmented Lagrangian method with ABA for inner problem.

**loops** Section IV, Algorithms 1 to 3; where no constraint is between two moving bodies, constrainedABA; with one
iteration, PV-soft (**lqr** Section VI). The augmented Lagrangian adds a penalty ``mu / 2 |K a - k|^2``: the inertia
``mu K' K``, which couples the accelerations of links, and the force ``K' (lambda + mu k)``. Links are eliminated in the
order of `plans.lcaba`; those that are coupled to link i when it is eliminated are its neighbors ``N_i``. Rows of a pair
that share one penalty are summed in closed form (`pair_springs`): a mass at a point, a rotational inertia.

The factor (`lcaba_factor`) has ``1e-16 / R`` of the dynamics: iterations end with one that starts from all forces,
unbalanced ones too (`lcaba_refine`); those before change accelerations by the residual alone, as Algorithm 2 does
(`lcaba_iterate`).

| symbol  | meaning                                                                                 |
|---------|-----------------------------------------------------------------------------------------|
| H, f    | inertia ``H_ii`` and bias force of link i, as in `aba`                                  |
| Hij     | coupling inertia ``H_ij`` of two links; rows for the one that is eliminated first       |
| SH, DSH | ``S' H_ij`` and ``D^-1 S' H_ij``                                                        |
| mu      | penalty of each row, ``1 / R``                                                          |
| tau     | joint torques, with the forces of rows on a single joint                                |
| f0      | bias forces of ``qdd = 0``                                                              |
| X       | scratch: coupling inertias on the way to the parent, or of a pair                       |

Multipliers have the sign of ``M a + c = tau + J' lambda``, opposite to the paper's.
Cost: O(n + m + m_c^2 n), with m_c the largest number of neighbors.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.block_rows import row, row_plus_scaled, set_row
from linkwork.kernels.constrained.lcaba_factor import SPRINGS, articulate_loops
from linkwork.kernels.constrained.pair_springs import apply_pair_force, pair_residual
from linkwork.kernels.constrained.problem import (
    INPUTS,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    Settings,
    clear_forces,
    copy_rows,
    ends_by_stagnation,
    first_forward_sweep,
    force_residual,
    forward_view,
    relative_change,
    relative_residual,
    remove_internal_forces,
    residual_norm,
    residual_progress,
)
from linkwork.kernels.elementary import maximum
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, where
from linkwork.kernels.spatial import (
    angular,
    dot,
    linear,
    subtract_scaled,
)
from linkwork.kernels.thresholds import DISABLED, STAGNATION
from linkwork.kernels.tree.aba import (
    articulated_bias_force,
    joint_acceleration,
)
from linkwork.model.joints import HELICAL
from linkwork.plans.lcaba import LCABA_TREE


@kernel
def apply_constraint_forces(tree: Array, w: Array, forces: Array) -> None:
    """``f -= K' lambda`` on links, ``tau += K' lambda`` on joints for rows of a single joint (lines 9, 10)."""
    for p in range(tree.npairs):
        if tree.closed_rotation[p] != 0 or tree.closed_translation[p] != 0:
            apply_pair_force(tree, w, p, forces)
    for e in range(tree.nouter):
        m = tree.outer_k[e]
        i = tree.k_body[m]
        if i > 0:
            subtract_scaled(forces[tree.k_row[m]], w.K[m], w.f[i])
    for t in range(tree.nterms):
        r = tree.term_row[t]
        if tree.single_joint[r] != 0:
            w.tau[tree.term_v[t]] += w.dphi[t] * forces[r]


@kernel
def forces_to_neighbors(tree: Array, w: Array, i: int, tau: Array) -> None:
    """``f_j += H_ji S D^-1 u`` of the neighbors of link ``i`` (**loops** Eq. 30e; Algorithm 2, line 4)."""
    kind = tree.kind[i]
    f = w.f[i]
    for e in range(tree.neighbor_start[i], tree.neighbor_start[i] + tree.neighbor_count[i]):
        j = tree.neighbor_body[e]
        for k in range(dof_of(kind)):
            u = tau[tree.iv[i] + k] - f[axis_of(kind, k)]
            if kind == HELICAL:
                u = u - tree.pitch[i] * f[5]
            set_row(row_plus_scaled(row(w.f, j), u, row(w.DSH[e], k)), w.f, j)


@kernel
def coupled_bias_forces(tree: Array, w: Array, tau: Array) -> None:
    """Backward sweep of forces (**loops** Algorithm 2, lines 1 to 6)."""
    for s in range(1, tree.n):
        coupled_bias_force(tree, w, tree.elimination_order[s], tau)


@kernel
def coupled_bias_force(tree: Array, w: Array, i: int, tau: Array) -> None:
    """`coupled_bias_forces` of link ``i``."""
    forces_to_neighbors(tree, w, i, tau)
    articulated_bias_force(tree, w, i, tau)


@kernel
def coupled_accelerations(tree: Array, w: Array, qdd: Array) -> None:
    """Forward sweep in the reverse order (**loops** Algorithm 1, lines 24 to 26; Algorithm 2, lines 8 to 12)."""
    for s in range(tree.n - 1, 0, -1):
        coupled_acceleration(tree, w, tree.elimination_order[s], qdd)


@kernel
def coupled_acceleration(tree: Array, w: Array, i: int, qdd: Array) -> None:
    """`coupled_accelerations` of link ``i``."""
    for e in range(tree.neighbor_start[i], tree.neighbor_start[i] + tree.neighbor_count[i]):
        a = w.a[tree.neighbor_body[e]]
        for k in range(dof_of(tree.kind[i])):
            for c in range(6):
                w.y[tree.iv[i] + k] -= w.DSH[e, k, c] * a[c]
    joint_acceleration(tree, w, i, qdd)


@kernel
def constraint_residual(tree: Array, w: Array, qdd: Array, residual: Array) -> None:
    """``residual = residual - K a`` (**loops** Algorithm 3, line 6)."""
    for p in range(tree.npairs):
        if tree.closed_rotation[p] != 0 or tree.closed_translation[p] != 0:
            pair_residual(tree, w, p, residual)
    for e in range(tree.nouter):
        m = tree.outer_k[e]
        K = w.K[m]
        a = w.a[tree.k_body[m]]
        if tree.k_body[m] > 0:
            residual[tree.k_row[m]] -= dot(angular(K), angular(a)) + dot(linear(K), linear(a))
    for t in range(tree.nterms):
        if tree.single_joint[tree.term_row[t]] != 0:
            residual[tree.term_row[t]] -= w.dphi[t] * qdd[tree.term_v[t]]


@kernel
def update_multipliers(tree: Array, w: Array, R: Array, multipliers: Array, residual: Array) -> None:
    """``lambda += mu (k - K a)`` (**loops** Eq. 33); the residual of rows that are not enabled is zero."""
    for r in range(tree.nc):
        residual[r] = where(R[r], DISABLED, residual[r], 0.0)
        multipliers[r] += w.mu[r] * residual[r]


@kernel
def lcaba_sweeps(
    tree: Array,
    w: Array,
    tau: Array,
    R: Array,
    multipliers0: Array,
    a: Array,
    multipliers: Array,
    residual: Array,
) -> None:
    """**loops** Algorithm 1 after its first forward sweep, `setup_problem`, and the multiplier update."""
    articulate_loops(tree, w, R)  # lines 4 to 23, inertias
    for i in range(1, tree.n):
        for j in range(6):
            w.f0[i, j] = w.f[i, j]
    for k in range(tree.nv):
        w.tau[k] = tau[k]
    for r in range(tree.nc):
        multipliers[r] = multipliers0[r]
        residual[r] = multipliers0[r] + w.mu[r] * w.k[r]
    apply_constraint_forces(tree, w, residual)  # lines 9 and 10
    coupled_bias_forces(tree, w, w.tau)  # lines 11 to 23, forces
    coupled_accelerations(tree, w, a)  # lines 24 to 26
    for r in range(tree.nc):
        residual[r] = w.k[r]
    constraint_residual(tree, w, a, residual)  # Algorithm 3, line 6
    update_multipliers(tree, w, R, multipliers, residual)  # Algorithm 3, line 8


@kernel
def lcaba_sweeps_iterate(tree: Array, w: Array, a: Array, multipliers: Array, residual: Array) -> None:
    """**loops** Algorithm 2 and the multiplier update: the change of accelerations from the residual alone.

    Joints that no row depends on, and residuals of rows that are not enabled, are computed in the last iteration,
    `lcaba_sweeps_refine`. Afterwards ``k`` is the forces ``mu residual``.
    """
    clear_forces(tree, w, w.qdd0)  # Algorithm 3, line 4
    for k in range(tree.nv):
        w.tau[k] = 0.0
    for r in range(tree.nc):
        w.k[r] = w.mu[r] * residual[r]
    apply_constraint_forces(tree, w, w.k)  # Algorithm 3, line 7
    for s in range(tree.nsupporting):
        coupled_bias_force(tree, w, tree.supporting[s], w.tau)  # Algorithm 2, lines 1 to 6
    for s in range(tree.nsupporting - 1, -1, -1):
        i = tree.supporting[s]
        coupled_acceleration(tree, w, i, w.da)  # Algorithm 2, lines 7 to 12
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            a[k] += w.da[k]  # Algorithm 3, line 12
    constraint_residual(tree, w, w.da, residual)  # Algorithm 3, line 6
    for r in range(tree.nc):
        w.k[r] = w.mu[r] * residual[r]
        multipliers[r] += w.k[r]  # Algorithm 3, line 8


@kernel
def start_without_internal_forces(tree: Array, w: Array, iterations: int, multipliers: Array) -> None:
    """Multipliers from which the last of ``iterations`` starts, after `lcaba_sweeps_iterate`.

    Internal forces that the last one added are subtracted, ``iterations`` times: as
    `constrained.remove_internal_forces`.
    """
    for r in range(tree.nc):
        multipliers[r] -= float(iterations) * w.k[r]


@kernel
def lcaba_sweeps_refine(
    tree: Array, w: Array, tau: Array, R: Array, a: Array, multipliers: Array, residual: Array
) -> None:
    """An iteration from all forces, for all joints: iterative refinement by `force_residual`."""
    force_residual(tree, w, tau, a)
    for r in range(tree.nc):
        w.k[r] = multipliers[r] + w.mu[r] * residual[r]
    apply_constraint_forces(tree, w, w.k)
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, w.da)
    constraint_residual(tree, w, w.da, residual)
    update_multipliers(tree, w, R, multipliers, residual)
    for k in range(tree.nv):
        a[k] += w.da[k]


@kernel
def penalty_norm(tree: Array, w: Array, settings: Settings, forces: Array, residual: Array) -> Scalar:
    """`residual_norm` by the energies ``mu residual^2`` of rows, ``forces`` being ``mu residual``."""
    square = 0.0
    for r in range(tree.nc):
        square = maximum(square, forces[r] * residual[r])
    return relative_residual(w, settings.regularization * square)


@kernel
def lcaba(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The first iteration of **loops** Algorithm 3: the three-sweep Algorithm 1."""
    first_forward_sweep(tree, w, problem, result)
    lcaba_sweeps(tree, w, problem.tau, problem.R, problem.multipliers0, result.a, result.multipliers, result.residual)
    result.progress[0] = maximum(residual_norm(tree, w, problem.settings, result.residual), problem.settings.rounding)
    result.iterations[0] = 1.0


@kernel
def lcaba_iterate(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """A further iteration of **loops** Algorithm 3, the two-sweep Algorithm 2, and not the last one.

    Where the residual stagnates, the next iteration, `lcaba_refine`, decides whether iterations end.
    """
    settings = problem.settings
    before = (1.0 - STAGNATION) * result.progress[0]
    lcaba_sweeps_iterate(tree, w, result.a, result.multipliers, result.residual)
    norm = penalty_norm(tree, w, settings, w.k, result.residual)
    least = maximum(settings.rounding, 2.0 * settings.tolerance)
    result.progress[0] = where(norm, before, maximum(norm, least), least)
    result.iterations[0] += 1.0


@kernel
def lcaba_refine(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """An iteration with which iterations may end: it corrects rounding errors."""
    copy_rows(tree, result.residual, w.error)
    lcaba_sweeps_refine(tree, w, problem.tau, problem.R, result.a, result.multipliers, result.residual)
    result.progress[0] = residual_progress(tree, w, problem.settings, w.error, result.residual)
    result.iterations[0] += 1.0
    if tree.has_redundant_rows != 0:
        ended = ends_by_stagnation(problem.settings, result, relative_change(tree, w, problem, result))
        if any_below(-ended, -0.5):
            next_change(tree, w, result)
            remove_internal_forces(tree, w, problem, w.k, w.error, result)


@kernel
def next_change(tree: Array, w: Array, result: Result) -> None:
    """The change of accelerations, of all joints, and of multipliers in a further iteration: ``da`` and ``k``.

    Without corrections of rounding errors. ``J da`` is in ``error``.
    """
    clear_forces(tree, w, w.qdd0)
    for k in range(tree.nv):
        w.tau[k] = 0.0
    for r in range(tree.nc):
        w.k[r] = w.mu[r] * result.residual[r]
        w.error[r] = result.residual[r]
    apply_constraint_forces(tree, w, w.k)
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, w.da)
    constraint_residual(tree, w, w.da, w.error)
    for r in range(tree.nc):
        w.k[r] = w.mu[r] * w.error[r]
        w.error[r] = result.residual[r] - w.error[r]


LCABA = Algorithm(
    "lcaba",
    lcaba,
    INPUTS,
    OUTPUTS,
    WORK | SPRINGS,
    LCABA_TREE,
    lcaba_iterate,
    view=forward_view,
    refinement=lcaba_refine,
)
