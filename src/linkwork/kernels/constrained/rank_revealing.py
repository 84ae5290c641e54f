# SPDX-License-Identifier: BSD-3-Clause
"""Rank-revealing early elimination of multipliers: the fallback of PV-early in singular configurations.

**lqr** Section VIII, Remarks 7 to 9. At each degree of freedom a Householder reflection (Eqs. 65 and 67) leaves one row
with ``K S != 0``: that row determines the joint's acceleration, and its multiplier is eliminated. Rows with ``K S = 0``
are propagated unchanged (Remark 8): the number of remaining rows is not known beforehand, so that arrays and loops have
the largest possible one. So redundant rows and joints with several degrees of freedom need no cases of their own. Rows
that reach the root have ``K = 0``: ``k`` is zero, or the constraints contradict each other.

Digits are lost where a joint hardly moves the row that it has to satisfy. Therefore the code solves for the residual of
accelerations and multipliers, from Newton's and Euler's equations, and adds the solution to them: from zero this is the
problem itself, and once more is one step of iterative refinement.

| symbol        | meaning                                                                                |
|---------------|----------------------------------------------------------------------------------------|
| KA, kA        | rows on a link's acceleration, ``K^A a = k^A`` (-l^A of the paper), stacked link by link |
| gA            | their coefficients on the acceleration of the link's joint itself (joint couplings)    |
| ks            | ``ks = K^A S`` (Eq. 67)                                                                |
| Qj, qj        | reflection ``1 - qj Qj Qj'`` at a degree of freedom                                    |
| Qc, qc        | reflections that condense a stack of more than six rows to six (Remark 9)              |
| Uv, Dv        | ``U = H S`` and ``D = S' H S`` (+ armature) of a degree of freedom                     |
| alpha, Bv     | its acceleration is ``alpha - B a``: by the eliminated row, or as in ABA               |
| inverse_KS    | 1 over ``K S`` of the eliminated row; 0 where there is none                            |
| tau, minus_u  | residual torques; ``-u = S' f - tau``                                                  |
| lam           | multipliers of stacked rows                                                            |
| row_norm2     | squared norm of the rows on a link and its descendants, as they were given             |
| infeasibility | largest ``k`` of a row with ``K = 0``                                                  |
| least_pivot   | smallest ``(K S)^2 / D`` that is not zero, as a part of the inverse inertia of rows    |
| rank_tolerance | least squared norm of ``K S`` relative to ``row_norm2``; ``k`` below which rows agree     |
| sqrt_inertia  | root of the inertia of each row, which makes rows of different units comparable        |

Cost: O(n + m).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.problem import (
    Problem,
    Result,
    constraint_violation,
    relative_gap_squared,
    relative_residual,
    set_residual_scale,
    setup_problem_at,
)
from linkwork.kernels.elementary import magnitude, max_norm, maximum, minimum
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_child, rotate_to_parent
from linkwork.kernels.scalar import Array, Scalar, kernel, sqrt, where
from linkwork.kernels.spatial import (
    add,
    angular,
    cross,
    linear,
    set_angular,
    set_linear,
    subtract_scaled,
    symmetrize,
)
from linkwork.kernels.thresholds import (
    DISABLED,
    LEAST_REFLECTOR,
    NEARLY_CLOSED,
    REFINED,
    SQUARED_RANK,
    SQUARED_ROUNDING,
    WEAK_PIVOT,
)
from linkwork.kernels.tree.aba import init_rigid_inertias, whole_inertia_to_parent
from linkwork.kernels.tree.rnea import force_to_parent
from linkwork.model.joints import HELICAL

UNFINISHED = 0.5
"""``progress`` above this, before the `LAST` iteration, asks for another."""
LAST = 6.0
"""Most iterations: rows that shrink (`kernels.constrained.pv_early`), revealed ranks, steps of refinement."""
ENDED = LAST + 1.0
"""The number of iterations where they end whatever ``progress`` is."""
OPEN = 10.0
"""Entries of rows smaller than this factor times the error of the loops count as zero."""
STACKS: dict[str, Shape] = {
    "KA": ("nstack", 6),
    "kA": ("nstack",),
    "gA": ("nstack",),
    "Qc": ("nstack", 6),
    "Qj": ("nstack", 6),
    "qc": ("n", 6),
    "qj": ("n", 6),
    "lam": ("nstack",),
    "Uv": ("nv", 6),
    "Dv": ("nv",),
    "Bv": ("nv", 6),
    "alpha": ("nv",),
    "inverse_KS": ("nv",),
    "tau": ("nv",),
    "minus_u": ("nv",),
    "least_pivot": (1,),
    "rank_tolerance": (2,),
    "ks": ("nstack",),
    "infeasibility": (1,),
    "sqrt_inertia": ("nc",),
    "row_norm2": ("n",),
}


@kernel
def householder_vector(n: int, x: Array, o: int, Q: Array, k: int) -> Scalar:
    """Column ``k`` of ``Q``, from row ``o``: ``w = x + sign(x1) |x| e1``; returns ``2 / w' w`` (**lqr** Eq. 65, 67)."""
    square = 0.0
    for a in range(n):
        square = square + x[o + a] * x[o + a]
        Q[o + a, k] = x[o + a]
    norm = sqrt(square)
    Q[o, k] += where(x[o], 0.0, -norm, norm)
    ww = 0.0
    for a in range(n):
        ww = ww + Q[o + a, k] * Q[o + a, k]
    return where(ww, LEAST_REFLECTOR, 0.0, 2.0 / where(ww, LEAST_REFLECTOR, 1.0, ww))


@kernel
def householder_on_rows(n: int, w: Array, o: int, Q: Array, k: int, two_over_ww: Scalar) -> None:
    """Reflect the rows of a stack (**lqr** Eq. 68)."""
    for j in range(6):
        x = 0.0
        for a in range(n):
            x = x + Q[o + a, k] * w.KA[o + a, j]
        x = x * two_over_ww
        for a in range(n):
            w.KA[o + a, j] -= x * Q[o + a, k]
    x = 0.0
    y = 0.0
    for a in range(n):
        x = x + Q[o + a, k] * w.kA[o + a]
        y = y + Q[o + a, k] * w.gA[o + a]
    for a in range(n):
        w.kA[o + a] -= (x * two_over_ww) * Q[o + a, k]
        w.gA[o + a] -= (y * two_over_ww) * Q[o + a, k]


@kernel
def householder_on_multipliers(n: int, w: Array, o: int, Q: Array, k: int, two_over_ww: Scalar) -> None:
    """Reflect the multipliers of a stack (**lqr** Eq. 64)."""
    x = 0.0
    for a in range(n):
        x = x + Q[o + a, k] * w.lam[o + a]
    for a in range(n):
        w.lam[o + a] -= (x * two_over_ww) * Q[o + a, k]


@kernel
def condense_rows(tree: Array, w: Array, i: int) -> None:
    """Six rows for a stack of more than six (**lqr** Remark 9): the others become ``0 = 0``, or are infeasible."""
    o = tree.stack_start[i]
    n = tree.stack_count[i]
    for c in range(6):
        for a in range(c, n):
            w.ks[o + a] = w.KA[o + a, c]
        w.qc[i, c] = householder_vector(n - c, w.ks, o + c, w.Qc, c)
        householder_on_rows(n - c, w, o + c, w.Qc, c, w.qc[i, c])
    for a in range(6, n):
        infeasible(w, w.kA[o + a])


@kernel
def infeasible(w: Array, k: Scalar) -> None:
    """A row ``0 = k``."""
    w.infeasibility[0] = maximum(w.infeasibility[0], magnitude(k))


@kernel
def eliminate_dof(tree: Array, w: Array, i: int, k: int, n: int) -> None:
    """Degree of freedom ``k`` of joint ``i``: eliminate one row (**lqr** Eqs. 60 to 63) and the joint (Eq. 42)."""
    kind = tree.kind[i]
    v = tree.iv[i] + k
    axis = axis_of(kind, k)
    o = tree.stack_start[i]
    H = w.H[i]
    f = w.f[i]
    U = w.Uv[v]
    B = w.Bv[v]
    for j in range(6):
        U[j] = H[j, axis]
    D = U[axis] + w.joint_inertia[v]
    Sf = f[axis]
    if kind == HELICAL:
        for j in range(6):
            U[j] += tree.pitch[i] * H[j, 5]
        D = U[2] + tree.pitch[i] * U[5] + w.joint_inertia[v]
        Sf = Sf + tree.pitch[i] * f[5]
    w.Dv[v] = D
    w.minus_u[v] = Sf - w.tau[v]
    inverse = 1.0 / D
    KS2 = 0.0
    for a in range(n):
        w.ks[o + a] = w.KA[o + a, axis] + w.gA[o + a]
        if kind == HELICAL:
            w.ks[o + a] += tree.pitch[i] * w.KA[o + a, 5]
        KS2 = KS2 + w.ks[o + a] * w.ks[o + a]
    alpha = -(w.minus_u[v] * inverse)
    w.alpha[v] = alpha
    w.inverse_KS[v] = 0.0
    for j in range(6):
        B[j] = U[j] * inverse
    if n > 0:
        w.qj[i, k] = householder_vector(n, w.ks, o, w.Qj, k)
        householder_on_rows(n, w, o, w.Qj, k, w.qj[i, k])
        least = w.rank_tolerance[0] * w.row_norm2[i]
        first = w.KA[o, axis] + w.gA[o]
        if kind == HELICAL:
            first = first + tree.pitch[i] * w.KA[o, 5]
        # KS2 <= least: as if K S = 0 (Remark 8)
        w.inverse_KS[v] = where(least, KS2, 1.0 / where(least, KS2, first, 1.0), 0.0)
        felt = where(SQUARED_ROUNDING * w.row_norm2[i], KS2, KS2 * inverse, 1.0)
        w.least_pivot[0] = minimum(felt, w.least_pivot[0])
        w.alpha[v] = where(least, KS2, w.kA[o] * w.inverse_KS[v], alpha)
        for j in range(6):
            B[j] = where(least, KS2, w.KA[o, j] * w.inverse_KS[v], B[j])
            w.KA[o, j] = where(least, KS2, 0.0, w.KA[o, j])
        w.kA[o] = where(least, KS2, 0.0, w.kA[o])
        for a in range(n):
            w.gA[o + a] = 0.0
    for j in range(6):
        y = D * B[j]
        for c in range(j, 6):
            H[j, c] -= U[j] * B[c] + B[j] * U[c] - y * B[c]
    symmetrize(H)
    joint_force = w.minus_u[v] + D * w.alpha[v]
    for j in range(6):
        f[j] += U[j] * w.alpha[v] - B[j] * joint_force


@kernel
def rows_to_parent(tree: Array, w: Array, i: int) -> None:
    """Rows, inertia and force of link ``i`` to its parent (**lqr** Eq. 42), of more than six rows six."""
    o = tree.stack_start[i]
    n = tree.stack_count[i]
    h = tree.parent[i]
    if h > 0 and n > 6:
        condense_rows(tree, w, i)
        n = 6
    for a in range(n):
        K = w.KA[o + a]
        if h == 0:
            infeasible(w, w.kA[o + a])
        else:
            e = tree.stack_parent[i] + a
            force = rotate_to_parent(tree, w, i, linear(K))
            set_angular(add(rotate_to_parent(tree, w, i, angular(K)), cross(w.r[i], force)), w.KA[e])
            set_linear(force, w.KA[e])
            w.kA[e] = w.kA[o + a]
            w.gA[e] = 0.0
    if h > 0:
        whole_inertia_to_parent(tree, w, i)
        force_to_parent(tree, w, i)


@kernel
def multipliers_from_parent(tree: Array, w: Array, i: int) -> None:
    """Multipliers of the rows on link ``i`` that its joint did not eliminate."""
    o = tree.stack_start[i]
    n = tree.stack_count[i]
    for m in range(n):
        w.lam[o + m] = 0.0
        if tree.parent[i] > 0 and m < 6:
            w.lam[o + m] = w.lam[tree.stack_parent[i] + m]
    if tree.parent[i] > 0 and n > 6:
        for back in range(6):
            c = 5 - back
            householder_on_multipliers(n - c, w, o + c, w.Qc, c, w.qc[i, c])


@kernel
def accelerations_and_multipliers(tree: Array, w: Array, i: int, qdd: Array, multipliers: Array) -> None:
    """Forward sweep of link ``i``: accelerations of the link and its joint, multipliers of its rows (Eqs. 62, 64)."""
    n = tree.stack_count[i]
    kind = tree.kind[i]
    o = tree.stack_start[i]
    b = w.a[tree.parent[i]]
    a = w.a[i]
    set_angular(rotate_to_child(tree, w, i, angular(b)), a)
    set_linear(rotate_to_child(tree, w, i, add(linear(b), cross(angular(b), w.r[i]))), a)
    multipliers_from_parent(tree, w, i)
    # the last degree of freedom was eliminated last: it is the first to be known
    for back in range(dof_of(kind)):
        k = dof_of(kind) - 1 - back
        v = tree.iv[i] + k
        x = w.alpha[v]
        joint_force = w.minus_u[v]
        for j in range(6):
            x = x - w.Bv[v, j] * a[j]
            joint_force = joint_force + w.Uv[v, j] * a[j]
        qdd[v] = x
        if n > 0:
            joint_force = (joint_force + w.Dv[v] * x) * w.inverse_KS[v]
            w.lam[o] = where(0.0, w.inverse_KS[v] * w.inverse_KS[v], joint_force, w.lam[o])
            householder_on_multipliers(n, w, o, w.Qj, k, w.qj[i, k])
        a[axis_of(kind, k)] += x
        if kind == HELICAL:
            a[5] += tree.pitch[i] * x
    for c in range(n):
        r = tree.stack_row[o + c]
        if r >= 0:
            multipliers[r] += w.sqrt_inertia[r] * w.lam[o + c]


@kernel
def init_stacks(tree: Array, w: Array, problem: Problem) -> None:
    """``K^A = K``, ``k^A = k`` of the rows on each link, scaled by the root of their inertia."""
    for r in range(tree.nc):
        inertia = problem.settings.row_inertia[r]  # zero where the robot has the row disabled; a call may enable it
        w.sqrt_inertia[r] = where(0.0, inertia, sqrt(inertia), 1.0)
    w.infeasibility[0] = 0.0
    w.least_pivot[0] = 1.0
    for i in range(tree.n):
        w.row_norm2[i] = 0.0
    for e in range(tree.nstack):
        w.kA[e] = 0.0
        w.gA[e] = 0.0
        for j in range(6):
            w.KA[e, j] = 0.0
    for r in range(tree.nc):
        e = tree.stack_place[r]
        if e >= 0:
            w.kA[e] = where(problem.R[r], DISABLED, w.sqrt_inertia[r], 0.0) * w.k[r]
    for m in range(tree.nk):
        r = tree.k_row[m]
        e = tree.stack_place[r]
        if tree.k_body[m] > 0 and e >= 0:
            weight = where(problem.R[r], DISABLED, w.sqrt_inertia[r], 0.0)
            for j in range(6):
                w.KA[e, j] += weight * w.K[m, j]
    for t in range(tree.nterms):
        r = tree.term_row[t]
        e = tree.stack_place[r]
        if e >= 0:
            w.gA[e] += where(problem.R[r], DISABLED, w.sqrt_inertia[r], 0.0) * w.dphi[t]


@kernel
def add_row_norms(tree: Array, w: Array, i: int) -> None:
    """Squared norm of the rows on link ``i``, added to those of its descendants."""
    for e in range(tree.stack_start[i], tree.stack_start[i] + tree.stack_count[i]):
        if tree.stack_row[e] >= 0:
            w.row_norm2[i] += w.gA[e] * w.gA[e]
            for j in range(6):
                w.row_norm2[i] += w.KA[e, j] * w.KA[e, j]
    if tree.parent[i] > 0:
        w.row_norm2[tree.parent[i]] += w.row_norm2[i]


@kernel
def problem_left(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The residual problem of accelerations and multipliers: bias forces, torques and right-hand sides of rows."""
    a = result.a
    setup_problem_at(tree, w, problem.q, problem.v, a, problem.wrenches, problem.target)
    for k in range(tree.nv):
        w.tau[k] = problem.tau[k] - tree.armature[k] * a[k]
    for m in range(tree.nk):
        if tree.k_body[m] > 0:
            subtract_scaled(result.multipliers[tree.k_row[m]], w.K[m], w.f[tree.k_body[m]])
    for t in range(tree.nterms):
        v = tree.term_v[t]
        r = tree.term_row[t]
        w.tau[v] += w.dphi[t] * result.multipliers[r]
        w.k[r] -= w.dphi[t] * a[v]


@kernel
def set_rank_tolerance(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """Sets the rank tolerance by the gap of loops that are nearly closed, after `constraint_violation`.

    Rows that are redundant on closed loops are independent by as much as loops are open. The quotient of Baumgarte's
    target and that distance would be a spurious acceleration, so that they count as dependent, and as feasible.
    """
    settings = problem.settings
    gap = relative_gap_squared(settings, result)
    near = where(gap, NEARLY_CLOSED * NEARLY_CLOSED, 1.0, 0.0)
    w.rank_tolerance[0] = maximum(SQUARED_RANK, near * (OPEN * OPEN) * gap)
    w.rank_tolerance[1] = 0.0
    if tree.has_gains != 0:
        for r in range(tree.nc):
            w.rank_tolerance[1] += near * settings.row_inertia[r] * (w.target[r] * w.target[r])


@kernel
def rank_revealing_step(tree: Array, w: Array, problem: Problem, result: Result) -> Scalar:
    """Add to accelerations and multipliers the solution for their residual; returns the infeasibility of the rows.

    Rows are scaled by the root of their inertia, so that rows of different units can be compared.
    """
    problem_left(tree, w, problem, result)
    set_residual_scale(tree, w, problem)
    constraint_violation(tree, w, problem.R, result)
    set_rank_tolerance(tree, w, problem, result)
    init_rigid_inertias(tree, w)
    init_stacks(tree, w, problem)
    for r in range(tree.nc):
        result.residual[r] = 0.0
    for i in range(tree.n - 1, 0, -1):  # backward sweep
        symmetrize(w.H[i])
        add_row_norms(tree, w, i)
        for k in range(dof_of(tree.kind[i])):
            eliminate_dof(tree, w, i, k, tree.stack_count[i])
        rows_to_parent(tree, w, i)
    for i in range(1, tree.n):  # second forward sweep
        accelerations_and_multipliers(tree, w, i, w.da, result.multipliers)
    for k in range(tree.nv):
        result.a[k] += w.da[k]
    return relative_residual(w, maximum(0.0, w.infeasibility[0] * w.infeasibility[0] - w.rank_tolerance[1]))


@kernel
def rank_revealing(tree: Array, w: Array, problem: Problem, result: Result, count: Scalar) -> None:
    """The solution from zero: ``progress`` is the relative infeasibility, and 1 more where it needs refinement."""
    for k in range(tree.nv):
        result.a[k] = 0.0
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
    left = rank_revealing_step(tree, w, problem, result)
    rank_revealing_progress(w, left, count, result)


@kernel
def rank_revealing_progress(w: Array, infeasibility: Scalar, count: Scalar, result: Result) -> None:
    """Iterations end here (their number is the last, or ``progress`` less than `UNFINISHED`) but for weak pivots."""
    last = where(infeasibility, UNFINISHED, count, ENDED)
    result.progress[0] = infeasibility + where(w.least_pivot[0], WEAK_PIVOT, 1.0, 0.0)
    result.iterations[0] = where(w.least_pivot[0], WEAK_PIVOT, count, last)


@kernel
def refinement_progress(tree: Array, w: Array, progress: Scalar, count: Scalar, result: Result) -> None:
    """``progress`` after a step from the previous solution: whether another one is worth it."""
    small = REFINED * max_norm(tree.nv, result.a)
    more = where(small, max_norm(tree.nv, w.da), where(count, LAST - 1.5, 1.0, 0.0), 0.0)
    left = where(count, LAST - 0.5, progress - 1.0 + more, progress)  # nothing to refine after the last
    result.progress[0] = left
    # infeasible rows alone must not cause another iteration: then the number of iterations is the last
    result.iterations[0] = where(left - 2.0 * more, UNFINISHED, count + 1.0, ENDED)
