# SPDX-License-Identifier: BSD-3-Clause
"""Iterative refinement of PV-early with the factor of its own sweeps.

A joint that hardly moves the row that ends there makes the links beyond it heavy: ``D B B'`` has the size 1 over the
pivot, and digits of the inertia below it are lost. Those of the solution are not: the residual of accelerations and
multipliers, from Newton's and Euler's equations, is solved for with the same factor, and the solution is added. A step
multiplies the error by the relative error of the first solution: one step suffices where that is small, else another
follows. Where steps are large the configuration is singular for this order of elimination: `rank_revealing` follows.

The backward sweep passes right-hand sides alone: forces ``f`` and ``k^A`` (**lqr** Eqs. 42b and 42d), through the
reflections, rows and inertias of `pv_early`; the forward sweep is that of `pv_early`.

Cost: a sweep of bias forces, and two sweeps without inertias; O(n + m).
"""

from __future__ import annotations

from linkwork.kernels.constrained.problem import Problem, Result, relative_gap_squared
from linkwork.kernels.constrained.pv_reflections import reflect_right_hand_side
from linkwork.kernels.constrained.rank_revealing import OPEN, problem_left
from linkwork.kernels.elementary import max_norm, minimum
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.thresholds import DISABLED, NEARLY_CLOSED, REFINABLE, REFINED, WEAK_PIVOT
from linkwork.kernels.tree.aba import articulated_bias_force, bias_force_multi_dof, solve_ldl
from linkwork.kernels.tree.rnea import force_to_parent
from linkwork.model.joints import HELICAL

UNREFINED = 0.6
"""``progress`` of a state that is to be refined: above the tolerance 0.5, and its square below, so that the code for
the end of iterations is run (`linkwork.kernels.algorithm.Algorithm.refinement`)."""
MOST_STEPS = 3.0
"""Steps of refinement."""
SINGULAR = 1.0
"""``progress`` of a state in which ranks have to be revealed."""


@kernel
def planned(tree: Array, problem: Problem) -> Scalar:
    """1 where rows are enabled as the plan has them, 0 elsewhere: the plan is not for that state."""
    same = 1.0
    for r in range(tree.nc):
        if tree.early_place[r] < 0:
            same = where(problem.R[r], DISABLED, 0.0, same)
        else:
            same = where(problem.R[r], DISABLED, same, 0.0)
    return same


@kernel
def watch_pivot(w: Array, pivot: Scalar) -> None:
    """Update the least pivot; one that is not finite, as where a link has no mass, counts as zero."""
    w.least_pivot[0] = minimum(where(pivot, 1.0 / WEAK_PIVOT, pivot, 0.0), w.least_pivot[0])


@kernel
def force_past_row(tree: Array, w: Array, i: int, tau: Array) -> None:
    """``k`` and the bias force where a row ended at a joint of one degree of freedom, after its inertia is known."""
    kind = tree.kind[i]
    axis = axis_of(kind, 0)
    e = tree.early_start[i]
    v = tree.iv[i]
    B = w.SK[e]
    U = w.V[i]
    f = w.f[i]
    D = U[axis] + w.joint_inertia[v]
    minus_u = f[axis] - tau[v]
    if kind == HELICAL:
        D = U[2] + tree.pitch[i] * U[5] + w.joint_inertia[v]
        minus_u = minus_u + tree.pitch[i] * f[5]
    watch_pivot(w, 1.0 / (w.DKS[0, e] * w.DKS[0, e] * D))
    w.Sk[e] = w.kA[e] * w.DKS[0, e]
    w.y[v] = minus_u
    if tree.parent[i] > 0:
        joint_force = minus_u + D * w.Sk[e]
        for j in range(6):
            f[j] += U[j] * w.Sk[e] - B[j] * joint_force


@kernel
def force_past_rows(tree: Array, w: Array, i: int, tau: Array) -> None:
    """``k`` and the bias force where rows ended at a joint of several degrees of freedom (**lqr** Eq. 62)."""
    o = tree.early_start[i]
    m = tree.early_rank[i]
    f = w.f[i]
    bias_force_multi_dof(tree, w, i, tau)
    for b in range(m):
        watch_pivot(w, 1.0 / w.Sigma[i, b, b])
        w.Sk[o + b] = w.kA[o + b]
        for k in range(dof_of(tree.kind[i])):
            w.Sk[o + b] -= w.KS[k, o + b] * w.y[tree.iv[i] + k]
        if tree.parent[i] > 0:
            for j in range(6):
                f[j] -= w.SK[o + b, j] * w.Sk[o + b]
    solve_ldl(m, w.Sigma[i], w.Sk[o : o + m])


@kernel
def pass_right_hand_sides(tree: Array, w: Array, i: int, tau: Array) -> None:
    """Backward sweep at link ``i``: bias force and right-hand sides of rows, to the parent."""
    n = tree.early_count[i]
    m = tree.early_rank[i]
    o = tree.early_start[i]
    if m == 0:
        articulated_bias_force(tree, w, i, tau)
    else:
        if n > m:
            for c in range(m):
                reflect_right_hand_side(n - c, w, o + c, w.Qv[c], w.Qt[tree.iv[i] + c])
        if tree.kind[i] > HELICAL:
            force_past_rows(tree, w, i, tau)
        else:
            force_past_row(tree, w, i, tau)
        force_to_parent(tree, w, i)
    for b in range(n - m):
        w.kA[tree.early_parent[i] + b] = w.kA[o + m + b]


@kernel
def refined_right_hand_sides(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """Residual of accelerations and multipliers, passed to the root."""
    problem_left(tree, w, problem, result)
    for r in range(tree.nc):
        if tree.early_place[r] >= 0:
            w.kA[tree.early_place[r]] = w.sqrt_inertia[r] * w.k[r]
    w.least_pivot[0] = planned(tree, problem)
    for i in range(tree.n - 1, 0, -1):
        pass_right_hand_sides(tree, w, i, w.tau)


@kernel
def refinement_result(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """``progress`` after a step ``da``: zero where it is small, and where it is not too large for another.

    Rows that are redundant on closed loops have pivots of the square of the gap of the loops: `rank_revealing` omits
    them, so that a solution with them must not count as converged here.
    """
    count = result.iterations[0]
    size = max_norm(tree.nv, result.a)
    step = max_norm(tree.nv, w.da)
    gap = relative_gap_squared(problem.settings, result)
    least = where(gap, NEARLY_CLOSED * NEARLY_CLOSED, (OPEN * OPEN) * gap, 0.0)
    another = where(step, REFINABLE * size, where(count, MOST_STEPS + 0.5, UNREFINED, SINGULAR), SINGULAR)
    progress = where(least, w.least_pivot[0], where(step, REFINED * size, 0.0, another), SINGULAR)
    result.progress[0] = progress
    result.iterations[0] = where(progress, UNREFINED + 0.1, count + 1.0, 1.0)  # ranks are revealed from the start
