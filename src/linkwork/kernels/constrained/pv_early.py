# SPDX-License-Identifier: BSD-3-Clause
"""PV-early: the PV solver with early elimination of multipliers; rows shrink by one at every degree of freedom.

**lqr** Section VIII, for constraints between one moving body or joint and the world, without regularization and without
iterations. At a joint of one degree of freedom, a Householder reflection (Eqs. 65 and 67) leaves one of the rows on its
link with ``K S != 0``. The multiplier of that row is eliminated (Eqs. 60 to 63), a rank-one update of the inertia that
ABA computes, and the others, with ``K S = 0``, are propagated to the parent. Links without rows are those of ABA.

The number of rows that end at a joint is known when the plan is made (`plans.pv_early`): the rank of ``K S`` in
general. Joints that move no row pass all rows on (Remark 8). Joints of several degrees of freedom eliminate as many
rows as that rank says in one step (Eqs. 57 and 61, with a factor ``L D L'`` in the place of singular values).

In a singular configuration ``K S`` has a lower rank: pivots are monitored. Where the least of them costs digits, a
second kernel refines the solution with the same factor (`pv_early_refinement`); where that does not suffice, a third
recomputes it (`rank_revealing`). Rows that are redundant in every configuration are solved by the third alone.

| symbol       | meaning                                                                                 |
|--------------|-----------------------------------------------------------------------------------------|
| KA, kA       | rows on a link's acceleration, ``K^A a = k^A`` (-l^A of the paper), link by link        |
| gA           | their coefficients on the acceleration of the link's joint itself (joint couplings)     |
| KS           | ``ks = K^A S`` (Eq. 67)                                                                 |
| Qv, Qt       | reflection ``1 - Qt Qv Qv'`` (Eq. 65), with 1 for the first entry of ``Qv``             |
| DKS          | ``D^-1 S' K^A'`` of eliminated rows; of joints of one degree of freedom ``1 / ks``      |
| Sigma        | ``K^A S D^-1 S' K^A'`` of eliminated rows (Eqs. 57 and 66), then its inverse or factor  |
| SK, Sk       | ``Sigma^-1 K^A`` and ``Sigma^-1 k^A`` of eliminated rows, without the joint (Eq. 62); of |
|              | joints of one degree of freedom ``B = K / ks`` and ``alpha = k / ks``                   |
| V, y         | where a row ended at such a joint, ``U = H S`` and ``-u = S' f - tau``                  |
| lam          | multipliers of stacked rows                                                             |
| least_pivot  | smallest pivot, relative to the apparent inverse inertia of rows                        |
| sqrt_inertia | root of the inertia of each row, which makes rows of different units comparable         |

Cost: O(n + m).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.block_rows import solve_ldl_rows
from linkwork.kernels.constrained.problem import (
    INPUTS,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    constraint_violation,
    forward_view,
    setup_problem,
)
from linkwork.kernels.constrained.pv_early_refinement import (
    UNREFINED,
    planned,
    refined_right_hand_sides,
    refinement_result,
    watch_pivot,
)
from linkwork.kernels.constrained.pv_reflections import reflect_multipliers, reflect_rows
from linkwork.kernels.constrained.rank_revealing import (
    STACKS,
    rank_revealing,
    rank_revealing_progress,
    rank_revealing_step,
    refinement_progress,
)
from linkwork.kernels.joints import axis_of, dof_of, moves_along, rotate_to_parent
from linkwork.kernels.scalar import Array, kernel, sqrt, where
from linkwork.kernels.spatial import add, angular, cross, linear, set_angular, set_linear, symmetrize
from linkwork.kernels.thresholds import WEAK_PIVOT
from linkwork.kernels.tree.aba import (
    acceleration_from_parent,
    articulated_bias_force,
    bias_force_multi_dof,
    eliminate,
    factorize_ldl,
    inertia_to_parent,
    init_rigid_inertia,
    joint_acceleration,
    solve_joint_acceleration,
    solve_ldl,
    whole_inertia_to_parent,
)
from linkwork.kernels.tree.rnea import force_to_parent
from linkwork.model.joints import HELICAL
from linkwork.plans.pv_early import PV_EARLY_TREE

EARLY: dict[str, Shape] = {
    "KS": (6, "nearly"),
    "Qv": (6, "nearly"),
    "Qt": ("nv",),
    "DKS": (6, "nearly"),
    "Sigma": ("n", 6, 6),
    "SK": ("nearly", 6),
    "Sk": ("nearly",),
    "z6": (6,),
}


@kernel
def init_rows(tree: Array, w: Array, problem: Problem) -> None:
    """``K^A = K``, ``k^A = k`` of the rows on each link, scaled by the root of their inertia."""
    w.least_pivot[0] = planned(tree, problem)
    for r in range(tree.nc):
        e = tree.early_place[r]
        w.sqrt_inertia[r] = sqrt(problem.settings.row_inertia[r])
        if e >= 0:
            w.kA[e] = w.sqrt_inertia[r] * w.k[r]
            w.gA[e] = 0.0
            for j in range(6):
                w.KA[e, j] = 0.0
    for m in range(tree.nk):
        r = tree.k_row[m]
        if tree.k_body[m] > 0 and tree.early_place[r] >= 0:
            for j in range(6):
                w.KA[tree.early_place[r], j] += w.sqrt_inertia[r] * w.K[m, j]
    for t in range(tree.nterms):
        r = tree.term_row[t]
        if tree.early_place[r] >= 0:
            w.gA[tree.early_place[r]] += w.sqrt_inertia[r] * w.dphi[t]


@kernel
def rows_on_joint(tree: Array, w: Array, i: int) -> None:
    """``ks = K^A S`` of the rows on link ``i`` (**lqr** Eq. 67)."""
    kind = tree.kind[i]
    for e in range(tree.early_start[i], tree.early_start[i] + tree.early_count[i]):
        for k in range(dof_of(kind)):
            w.KS[k, e] = w.KA[e, axis_of(kind, k)]
        w.KS[0, e] += w.gA[e]
        if kind == HELICAL:
            w.KS[0, e] += tree.pitch[i] * w.KA[e, 5]
        if tree.skip_axis[i] >= 0:
            w.KA[e, tree.skip_axis[i]] = 0.0


@kernel
def eliminate_row(tree: Array, w: Array, i: int, tau: Array) -> None:
    """One row ends at a joint of one degree of freedom (**lqr** Eqs. 42 and 63).

    The row says ``qdd = alpha - B a``, with ``B = K / ks``. ABA's inertia and the rank-one update are, in one::

        H - U D^-1 U' + (K - ks D^-1 U')' Sigma^-1 (K - ks D^-1 U') = H - U B' - B U' + D B B'
    """
    kind = tree.kind[i]
    axis = axis_of(kind, 0)
    e = tree.early_start[i]
    v = tree.iv[i]
    skip = tree.skip_axis[i]
    B = w.SK[e]
    U = w.V[i]
    H = w.H[i]
    f = w.f[i]
    x = w.z6
    s = w.KS[0, e]
    symmetrize(H)
    for j in range(6):
        U[j] = H[j, axis]
    D = U[axis]
    minus_u = f[axis] - tau[v]
    if kind == HELICAL:
        for j in range(6):
            U[j] += tree.pitch[i] * H[j, 5]
        D = U[2] + tree.pitch[i] * U[5]
        minus_u = minus_u + tree.pitch[i] * f[5]
    D = D + w.joint_inertia[v]
    inverse = 1.0 / s
    w.least_pivot[0] = where(WEAK_PIVOT * D, s * s, w.least_pivot[0], 0.0)  # Sigma = ks^2 / D (Eq. 66)
    w.DKS[0, e] = inverse
    w.Sk[e] = w.kA[e] * inverse
    w.y[v] = minus_u
    for j in range(6):
        B[j] = w.KA[e, j] * inverse
    if skip >= 0:
        B[skip] = 1.0
    if tree.parent[i] > 0:
        joint_force = minus_u + D * w.Sk[e]
        half = 0.5 * D
        for j in range(6):
            f[j] += U[j] * w.Sk[e] - B[j] * joint_force
            x[j] = U[j] - half * B[j]
        for j in range(6):
            for k in range(j, 6):
                H[j, k] -= B[j] * x[k] + x[j] * B[k]
        if skip >= 0:
            f[skip] = tau[v]
            for j in range(6):
                H[j, skip] = 0.0
                H[skip, j] = 0.0


@kernel
def eliminate_rows(tree: Array, w: Array, i: int, tau: Array) -> None:
    """Rows end at a joint of several degrees of freedom, after `eliminate` (**lqr** Eqs. 57, 62 and 63)."""
    kind = tree.kind[i]
    o = tree.early_start[i]
    m = tree.early_rank[i]
    d = dof_of(kind)
    H = w.H[i]
    f = w.f[i]
    x = w.z6
    Sigma = w.Sigma[i]
    bias_force_multi_dof(tree, w, i, tau)
    for b in range(m):
        K = w.KA[o + b]
        w.Sk[o + b] = w.kA[o + b]
        for k in range(d):
            w.Sk[o + b] -= w.KS[k, o + b] * w.y[tree.iv[i] + k]
            x[k] = w.KS[k, o + b]
        solve_ldl(d, w.L[i], x)
        for k in range(d):
            w.DKS[k, o + b] = x[k]
        for j in range(6):
            if tree.has_armature[i] == 0 and moves_along(kind, j) != 0:
                K[j] = 0.0
            else:
                for k in range(d):
                    K[j] -= w.Y[i, j, k] * w.KS[k, o + b]
            w.SK[o + b, j] = K[j]
        for c in range(b + 1):
            Sigma[b, c] = 0.0
            for k in range(d):
                Sigma[b, c] += w.DKS[k, o + b] * w.KS[k, o + c]
    factorize_ldl(m, Sigma)
    for b in range(m):
        watch_pivot(w, 1.0 / Sigma[b, b])
    solve_ldl(m, Sigma, w.Sk[o : o + m])
    solve_ldl_rows(m, Sigma, w.SK[o : o + m])
    if tree.parent[i] > 0:
        for b in range(m):
            for j in range(6):
                for k in range(j, 6):
                    H[j, k] += w.KA[o + b, j] * w.SK[o + b, k]
                f[j] -= w.KA[o + b, j] * w.Sk[o + b]


@kernel
def rows_to_parent(tree: Array, w: Array, i: int) -> None:
    """The remaining rows on link ``i``, as rows on its parent (**lqr** Eqs. 42c and 42d)."""
    for b in range(tree.early_count[i] - tree.early_rank[i]):
        o = tree.early_start[i] + tree.early_rank[i] + b
        e = tree.early_parent[i] + b
        K = w.KA[o]
        if tree.skip_axis[i] >= 0:
            K[tree.skip_axis[i]] = 0.0  # K S = 0
        force = rotate_to_parent(tree, w, i, linear(K))
        set_angular(add(rotate_to_parent(tree, w, i, angular(K)), cross(w.r[i], force)), w.KA[e])
        set_linear(force, w.KA[e])
        w.kA[e] = w.kA[o]
        w.gA[e] = 0.0


@kernel
def eliminate_link(tree: Array, w: Array, i: int, tau: Array) -> None:
    """Backward sweep at link ``i``: eliminate rows and the joint, propagate the remaining rows to the parent."""
    n = tree.early_count[i]
    m = tree.early_rank[i]
    h = tree.parent[i]
    if tree.last_child[i] == 0:
        init_rigid_inertia(tree, w, i)
    if h > 0 and tree.last_child[h] == i:
        init_rigid_inertia(tree, w, h)
    if m == 0:
        eliminate(tree, w, i)
        inertia_to_parent(tree, w, i)
        articulated_bias_force(tree, w, i, tau)
    else:
        rows_on_joint(tree, w, i)
        if n > m:
            for c in range(m):
                reflect_rows(tree, w, i, c, n - c)
        if tree.kind[i] > HELICAL:
            eliminate(tree, w, i)
            eliminate_rows(tree, w, i, tau)
        else:
            eliminate_row(tree, w, i, tau)
        whole_inertia_to_parent(tree, w, i)
        force_to_parent(tree, w, i)
    rows_to_parent(tree, w, i)


@kernel
def accelerations_and_multipliers(tree: Array, w: Array, i: int, qdd: Array, multipliers: Array) -> None:
    """Forward sweep at link ``i``: multipliers of its rows (**lqr** Eqs. 62 and 64), then its joint and its link."""
    o = tree.early_start[i]
    n = tree.early_count[i]
    m = tree.early_rank[i]
    a = w.a[i]
    acceleration_from_parent(tree, w, i)
    if m > 0 and tree.kind[i] <= HELICAL:
        row_acceleration(tree, w, i, qdd)
    elif m > 0:
        for b in range(m):
            x = w.Sk[o + b]
            for j in range(6):
                x = x - w.SK[o + b, j] * a[j]
            w.lam[o + b] = x
            for k in range(dof_of(tree.kind[i])):
                w.y[tree.iv[i] + k] += w.DKS[k, o + b] * x
    for b in range(n - m):
        w.lam[o + m + b] = w.lam[tree.early_parent[i] + b]
    if m > 0 and n > m:
        for back in range(m):
            c = m - 1 - back
            reflect_multipliers(n - c, w, o + c, w.Qv[c], w.Qt[tree.iv[i] + c])
    for b in range(n):
        r = tree.early_row[o + b]
        if r >= 0:
            multipliers[r] += w.lam[o + b] * w.sqrt_inertia[r]
    if m == 0 or tree.kind[i] > HELICAL:
        solve_joint_acceleration(tree, w, i, qdd)


@kernel
def row_acceleration(tree: Array, w: Array, i: int, qdd: Array) -> None:
    """``qdd = alpha - B a'`` by the row that ended at joint ``i``; its multiplier from ``S' f`` of the link."""
    kind = tree.kind[i]
    axis = axis_of(kind, 0)
    v = tree.iv[i]
    e = tree.early_start[i]
    a = w.a[i]
    x = w.Sk[e]
    for j in range(6):
        x = x - w.SK[e, j] * a[j]
    qdd[v] = x
    a[axis] += x
    if kind == HELICAL:
        a[5] += tree.pitch[i] * x
    joint_force = w.y[v] + w.joint_inertia[v] * x
    for j in range(6):
        joint_force = joint_force + w.V[i, j] * a[j]
    w.lam[e] = joint_force * w.DKS[0, e]


@kernel
def shrinking(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The two sweeps with rows that shrink; ``progress`` is 0, or more where a pivot is too small to be trusted."""
    setup_problem(tree, w, problem.q, problem.v, problem.wrenches, problem.target)
    constraint_violation(tree, w, problem.R, result)
    for k in range(tree.nv):
        w.joint_inertia[k] = tree.armature[k]
    init_rows(tree, w, problem)
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
        result.residual[r] = 0.0
    for i in range(tree.n - 1, 0, -1):  # backward sweep
        eliminate_link(tree, w, i, problem.tau)
    for i in range(1, tree.n):  # second forward sweep
        if tree.early_count[i] > 0:
            accelerations_and_multipliers(tree, w, i, result.a, result.multipliers)
        else:
            joint_acceleration(tree, w, i, result.a)
    result.progress[0] = where(WEAK_PIVOT, w.least_pivot[0], 0.0, UNREFINED)
    result.iterations[0] = 1.0


@kernel
def pv_early(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The PV solver with early elimination; where rows are redundant in all configurations, with revealed ranks."""
    if tree.early_ends != 0:
        shrinking(tree, w, problem, result)
    else:
        rank_revealing(tree, w, problem, result, 1.0)


@kernel
def pv_early_refine(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """A step of refinement with the factor of `pv_early`, where its pivots were weak."""
    refined_right_hand_sides(tree, w, problem, result)
    for i in range(1, tree.n):  # second forward sweep
        if tree.early_count[i] > 0:
            accelerations_and_multipliers(tree, w, i, w.da, result.multipliers)
        else:
            joint_acceleration(tree, w, i, w.da)
    for k in range(tree.nv):
        result.a[k] += w.da[k]
    refinement_result(tree, w, problem, result)


@kernel
def pv_early_iterate(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """PV-early with revealed ranks, where a pivot of the first kernel was weak; then refined, as long as that helps.

    ``progress`` is the relative infeasibility of the rows in the end.
    """
    # after `shrinking`, the first of these iterations starts from zero
    began = 1.5 if tree.early_ends != 0 else 0.5
    count = result.iterations[0]
    progress = result.progress[0]
    for k in range(tree.nv):
        result.a[k] = where(count, began, 0.0, result.a[k])
    for r in range(tree.nc):
        result.multipliers[r] = where(count, began, 0.0, result.multipliers[r])
    infeasibility = rank_revealing_step(tree, w, problem, result)
    refinement_progress(tree, w, progress, count, result)
    refined = result.progress[0]
    refinements = result.iterations[0]
    rank_revealing_progress(w, infeasibility, 2.0, result)
    result.progress[0] = where(count, began, result.progress[0], refined)
    result.iterations[0] = where(count, began, result.iterations[0], refinements)


PV_EARLY = Algorithm(
    "pv_early",
    pv_early,
    INPUTS,
    OUTPUTS,
    WORK | STACKS | EARLY,
    PV_EARLY_TREE,
    pv_early_iterate,
    view=forward_view,
    refinement=pv_early_refine,
)
