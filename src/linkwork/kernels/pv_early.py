"""PV-early: each joint satisfies as much of the rows that reach it as it can, and the rest goes on to its parent.

**lqr** Section VI, for constraints that bind one moving body or one joint each, without regularization and without
iterations. At a degree of freedom the rows on its body are reflected (Householder) so that one of them alone feels it:
that row then says how the joint must move, and is done with. Rows that feel nothing of the joint go on as they are, so
that redundant rows and joints of several degrees of freedom need no cases of their own: what reaches the world says
nothing, or contradicts the rest.

| symbol    | meaning                                                                           |
|-----------|-----------------------------------------------------------------------------------|
| Rk, rk    | rows of a stack and their right-hand sides, ``Rk a = rk``                         |
| Qc, Qj    | reflections: of a stack of more than six rows into six, and at a degree of freedom |
| U, D      | ``H S`` and ``S' H S`` (+ armature) at a degree of freedom                        |
| alpha, B  | its acceleration is ``alpha - B a``, by the row it satisfies or as in ABA         |
| felt      | 1 over what the row feels of it; 0 where there is no such row                     |
| lack      | force on it less its torque                                                       |
| mu        | multipliers of the rows of a stack                                                |
| size      | squares of the numbers that the rows of a stack started with                      |

Cost: linear in the bodies and in the rows.
"""

from __future__ import annotations

from linkwork.kernels.aba import init_rigid_inertias, whole_inertia_to_parent
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained import (
    DISABLED,
    INPUTS,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    constraint_violation,
    forward_view,
    relative_residual,
    set_residual_scale,
    setup_problem,
)
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_child, rotate_to_parent
from linkwork.kernels.rnea import force_to_parent
from linkwork.kernels.scalar import Array, Scalar, kernel, sqrt, where
from linkwork.kernels.spatial import add, angular, cross, linear, set_angular, set_linear, symmetrize
from linkwork.model.joints import HELICAL
from linkwork.plans.pv_early import PV_EARLY_TREE

RANK_TOLERANCE = 1e-18
"""A row feels a joint if the square of what it feels is more than this part of the rows as they started."""

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
    "minus_u": ("nv",),
    "KS": ("nstack",),
    "infeasibility": (1,),
    "sqrt_inertia": ("nc",),
    "row_norm2": ("n",),
}


@kernel
def householder_vector(n: int, x: Array, o: int, Q: Array, k: int) -> Scalar:
    """Column ``k`` of ``Q``, from row ``o`` on, and ``s`` such that ``1 - s Q Q'`` takes ``x`` to its first axis."""
    size = 0.0
    for a in range(n):
        size = size + x[o + a] * x[o + a]
        Q[o + a, k] = x[o + a]
    length = sqrt(size)
    Q[o, k] += where(x[o], 0.0, -length, length)
    whole = 0.0
    for a in range(n):
        whole = whole + Q[o + a, k] * Q[o + a, k]
    return where(whole, 1e-200, 0.0, 2.0 / where(whole, 1e-200, 1.0, whole))


@kernel
def householder_on_rows(n: int, w: Array, o: int, Q: Array, k: int, scaled: Scalar) -> None:
    """Rows of a stack under a reflection."""
    for j in range(6):
        x = 0.0
        for a in range(n):
            x = x + Q[o + a, k] * w.KA[o + a, j]
        x = x * scaled
        for a in range(n):
            w.KA[o + a, j] -= x * Q[o + a, k]
    x = 0.0
    y = 0.0
    for a in range(n):
        x = x + Q[o + a, k] * w.kA[o + a]
        y = y + Q[o + a, k] * w.gA[o + a]
    for a in range(n):
        w.kA[o + a] -= (x * scaled) * Q[o + a, k]
        w.gA[o + a] -= (y * scaled) * Q[o + a, k]


@kernel
def householder_on_multipliers(n: int, w: Array, o: int, Q: Array, k: int, scaled: Scalar) -> None:
    """Multipliers of a stack under the same reflection."""
    x = 0.0
    for a in range(n):
        x = x + Q[o + a, k] * w.lam[o + a]
    for a in range(n):
        w.lam[o + a] -= (x * scaled) * Q[o + a, k]


@kernel
def condense_rows(tree: Array, w: Array, i: int) -> None:
    """A stack of more than six rows as six that say the same; what is left over ought to say ``0 = 0``."""
    o = tree.stack_start[i]
    n = tree.stack_count[i]
    for c in range(6):
        for a in range(c, n):
            w.KS[o + a] = w.KA[o + a, c]
        w.qc[i, c] = householder_vector(n - c, w.KS, o + c, w.Qc, c)
        householder_on_rows(n - c, w, o + c, w.Qc, c, w.qc[i, c])
    for a in range(6, n):
        x = where(w.kA[o + a], 0.0, -w.kA[o + a], w.kA[o + a])
        w.infeasibility[0] = where(w.infeasibility[0], x, x, w.infeasibility[0])


@kernel
def eliminate_dof(tree: Array, w: Array, i: int, k: int, n: int, tau: Array) -> None:
    """Degree of freedom ``k`` of joint ``i``: the row it satisfies, and what that leaves of inertia and force."""
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
    pushed = f[axis]
    if kind == HELICAL:
        for j in range(6):
            U[j] += tree.pitch[i] * H[j, 5]
        D = U[2] + tree.pitch[i] * U[5] + w.joint_inertia[v]
        pushed = pushed + tree.pitch[i] * f[5]
    w.Dv[v] = D
    w.minus_u[v] = pushed - tau[v]
    inverse = 1.0 / D
    feels = 0.0
    for a in range(n):
        w.KS[o + a] = w.KA[o + a, axis] + w.gA[o + a]
        if kind == HELICAL:
            w.KS[o + a] += tree.pitch[i] * w.KA[o + a, 5]
        feels = feels + w.KS[o + a] * w.KS[o + a]
    alpha = -(w.minus_u[v] * inverse)
    w.alpha[v] = alpha
    w.inverse_KS[v] = 0.0
    for j in range(6):
        B[j] = U[j] * inverse
    if n > 0:
        w.qj[i, k] = householder_vector(n, w.KS, o, w.Qj, k)
        householder_on_rows(n, w, o, w.Qj, k, w.qj[i, k])
        least = RANK_TOLERANCE * w.row_norm2[i]
        first = w.KA[o, axis] + w.gA[o]
        if kind == HELICAL:
            first = first + tree.pitch[i] * w.KA[o, 5]
        # feels <= least: no row feels the joint
        w.inverse_KS[v] = where(least, feels, 1.0 / where(least, feels, first, 1.0), 0.0)
        w.alpha[v] = where(least, feels, w.kA[o] * w.inverse_KS[v], alpha)
        for j in range(6):
            B[j] = where(least, feels, w.KA[o, j] * w.inverse_KS[v], B[j])
            w.KA[o, j] = where(least, feels, 0.0, w.KA[o, j])
        w.kA[o] = where(least, feels, 0.0, w.kA[o])
        for a in range(n):
            w.gA[o + a] = 0.0
    for j in range(6):
        y = D * B[j]
        for c in range(j, 6):
            H[j, c] -= U[j] * B[c] + B[j] * U[c] - y * B[c]
    symmetrize(H)
    left = w.minus_u[v] + D * w.alpha[v]
    for j in range(6):
        f[j] += U[j] * w.alpha[v] - B[j] * left


@kernel
def rows_to_parent(tree: Array, w: Array, i: int, n: int) -> None:
    """Rows, inertia and force of body ``i`` to its parent."""
    o = tree.stack_start[i]
    h = tree.parent[i]
    for a in range(n):
        K = w.KA[o + a]
        if h == 0:
            x = where(w.kA[o + a], 0.0, -w.kA[o + a], w.kA[o + a])
            w.infeasibility[0] = where(w.infeasibility[0], x, x, w.infeasibility[0])
        else:
            d = tree.stack_parent[i] + a
            force = rotate_to_parent(tree, w, i, linear(K))
            set_angular(add(rotate_to_parent(tree, w, i, angular(K)), cross(w.r[i], force)), w.KA[d])
            set_linear(force, w.KA[d])
            w.kA[d] = w.kA[o + a]
            w.gA[d] = 0.0
    if h > 0:
        whole_inertia_to_parent(tree, w, i)
        force_to_parent(tree, w, i)


@kernel
def accelerations_and_multipliers(tree: Array, w: Array, i: int, n: int, qdd: Array, multipliers: Array) -> None:
    """Accelerations of body ``i`` and its joint, then the multipliers of its rows."""
    kind = tree.kind[i]
    o = tree.stack_start[i]
    b = w.a[tree.parent[i]]
    a = w.a[i]
    set_angular(rotate_to_child(tree, w, i, angular(b)), a)
    set_linear(rotate_to_child(tree, w, i, add(linear(b), cross(angular(b), w.r[i]))), a)
    for m in range(n):
        w.lam[o + m] = 0.0
        if tree.parent[i] > 0:
            w.lam[o + m] = w.lam[tree.stack_parent[i] + m]
    # the last degree of freedom was taken out last: it is the first to be known
    for back in range(dof_of(kind)):
        k = dof_of(kind) - 1 - back
        v = tree.iv[i] + k
        x = w.alpha[v]
        need = w.minus_u[v]
        for j in range(6):
            x = x - w.Bv[v, j] * a[j]
            need = need + w.Uv[v, j] * a[j]
        qdd[v] = x
        if n > 0:
            need = (need + w.Dv[v] * x) * w.inverse_KS[v]
            w.lam[o] = where(0.0, w.inverse_KS[v] * w.inverse_KS[v], need, w.lam[o])
            householder_on_multipliers(n, w, o, w.Qj, k, w.qj[i, k])
        a[axis_of(kind, k)] += x
        if kind == HELICAL:
            a[5] += tree.pitch[i] * x
    m = tree.stack_count[i]
    if m > 6:
        for c in range(6, m):
            w.lam[o + c] = 0.0
        for back in range(6):
            c = 5 - back
            householder_on_multipliers(m - c, w, o + c, w.Qc, c, w.qc[i, c])
    for c in range(m):
        r = tree.stack_row[o + c]
        if r >= 0:
            multipliers[r] += w.lam[o + c]


@kernel
def pv_early(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """Accelerations and multipliers; ``progress`` says by how much rows contradict each other.

    Rows are measured by the root of the inertia that they feel, so that rows of different units can be compared.
    """
    setup_problem(tree, w, problem.q, problem.v, problem.wrenches, problem.target)
    constraint_violation(tree, w, problem.R, result)
    init_rigid_inertias(tree, w)
    set_residual_scale(tree, w, problem)
    for r in range(tree.nc):
        w.sqrt_inertia[r] = sqrt(problem.settings.row_inertia[r])
    w.infeasibility[0] = 0.0
    for i in range(tree.n):
        w.row_norm2[i] = 0.0
    for e in range(tree.nstack):
        r = tree.stack_row[e]
        m = tree.stack_k[e]
        t = tree.stack_term[e]
        w.gA[e] = 0.0
        for j in range(6):
            w.KA[e, j] = 0.0
        if r >= 0:
            on = where(problem.R[r], DISABLED, w.sqrt_inertia[r], 0.0)
            w.kA[e] = on * w.k[r]
            if t >= 0:
                w.gA[e] = on * w.dphi[t]
            else:
                for j in range(6):
                    w.KA[e, j] = on * w.K[m, j]
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
        result.residual[r] = 0.0
    for i in range(tree.n - 1, 0, -1):
        symmetrize(w.H[i])
        n = tree.stack_count[i]
        for e in range(tree.stack_start[i], tree.stack_start[i] + n):
            if tree.stack_row[e] >= 0:
                w.row_norm2[i] += w.gA[e] * w.gA[e]
                for j in range(6):
                    w.row_norm2[i] += w.KA[e, j] * w.KA[e, j]
        if n > 6:
            condense_rows(tree, w, i)
            n = 6
        for k in range(dof_of(tree.kind[i])):
            eliminate_dof(tree, w, i, k, n, problem.tau)
        rows_to_parent(tree, w, i, n)
        if tree.parent[i] > 0:
            w.row_norm2[tree.parent[i]] += w.row_norm2[i]
    for i in range(1, tree.n):
        n = tree.stack_count[i]
        if n > 6:
            n = 6
        accelerations_and_multipliers(tree, w, i, n, result.a, result.multipliers)
    for r in range(tree.nc):
        result.multipliers[r] *= w.sqrt_inertia[r]
    result.progress[0] = relative_residual(w, w.infeasibility[0] * w.infeasibility[0])
    result.iterations[0] = 1.0


PV_EARLY = Algorithm("pv_early", pv_early, INPUTS, OUTPUTS, WORK | STACKS, PV_EARLY_TREE, view=forward_view)
