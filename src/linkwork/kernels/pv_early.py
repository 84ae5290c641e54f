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
    INPUTS,
    OUTPUTS,
    SWITCHED_OFF,
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
from linkwork.plans.early import EARLY

FEELS = 1e-18
"""A row feels a joint if the square of what it feels is more than this part of the rows as they started."""

STACKS: dict[str, Shape] = {
    "Rk": ("nstack", 6),
    "rk": ("nstack",),
    "gk": ("nstack",),
    "Qc": ("nstack", 6),
    "Qj": ("nstack", 6),
    "qc": ("n", 6),
    "qj": ("n", 6),
    "mu": ("nstack",),
    "Ue": ("nv", 6),
    "De": ("nv",),
    "Be": ("nv", 6),
    "alpha": ("nv",),
    "felt": ("nv",),
    "lack": ("nv",),
    "sk": ("nstack",),
    "worst": (1,),
    "row_scale": ("nc",),
    "size": ("n",),
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
            x = x + Q[o + a, k] * w.Rk[o + a, j]
        x = x * scaled
        for a in range(n):
            w.Rk[o + a, j] -= x * Q[o + a, k]
    x = 0.0
    y = 0.0
    for a in range(n):
        x = x + Q[o + a, k] * w.rk[o + a]
        y = y + Q[o + a, k] * w.gk[o + a]
    for a in range(n):
        w.rk[o + a] -= (x * scaled) * Q[o + a, k]
        w.gk[o + a] -= (y * scaled) * Q[o + a, k]


@kernel
def householder_on_multipliers(n: int, w: Array, o: int, Q: Array, k: int, scaled: Scalar) -> None:
    """Multipliers of a stack under the same reflection."""
    x = 0.0
    for a in range(n):
        x = x + Q[o + a, k] * w.mu[o + a]
    for a in range(n):
        w.mu[o + a] -= (x * scaled) * Q[o + a, k]


@kernel
def condense_rows(tree: Array, w: Array, i: int) -> None:
    """A stack of more than six rows as six that say the same; what is left over ought to say ``0 = 0``."""
    o = tree.stack_start[i]
    n = tree.stack_count[i]
    for c in range(6):
        for a in range(c, n):
            w.sk[o + a] = w.Rk[o + a, c]
        w.qc[i, c] = householder_vector(n - c, w.sk, o + c, w.Qc, c)
        householder_on_rows(n - c, w, o + c, w.Qc, c, w.qc[i, c])
    for a in range(6, n):
        x = where(w.rk[o + a], 0.0, -w.rk[o + a], w.rk[o + a])
        w.worst[0] = where(w.worst[0], x, x, w.worst[0])


@kernel
def eliminate_dof(tree: Array, w: Array, i: int, k: int, n: int, tau: Array) -> None:
    """Degree of freedom ``k`` of joint ``i``: the row it satisfies, and what that leaves of inertia and force."""
    kind = tree.kind[i]
    v = tree.iv[i] + k
    axis = axis_of(kind, k)
    o = tree.stack_start[i]
    H = w.H[i]
    f = w.f[i]
    U = w.Ue[v]
    B = w.Be[v]
    for j in range(6):
        U[j] = H[j, axis]
    D = U[axis] + w.gear[v]
    pushed = f[axis]
    if kind == HELICAL:
        for j in range(6):
            U[j] += tree.pitch[i] * H[j, 5]
        D = U[2] + tree.pitch[i] * U[5] + w.gear[v]
        pushed = pushed + tree.pitch[i] * f[5]
    w.De[v] = D
    w.lack[v] = pushed - tau[v]
    inverse = 1.0 / D
    feels = 0.0
    for a in range(n):
        w.sk[o + a] = w.Rk[o + a, axis] + w.gk[o + a]
        if kind == HELICAL:
            w.sk[o + a] += tree.pitch[i] * w.Rk[o + a, 5]
        feels = feels + w.sk[o + a] * w.sk[o + a]
    alpha = -(w.lack[v] * inverse)
    w.alpha[v] = alpha
    w.felt[v] = 0.0
    for j in range(6):
        B[j] = U[j] * inverse
    if n > 0:
        w.qj[i, k] = householder_vector(n, w.sk, o, w.Qj, k)
        householder_on_rows(n, w, o, w.Qj, k, w.qj[i, k])
        least = FEELS * w.size[i]
        first = w.Rk[o, axis] + w.gk[o]
        if kind == HELICAL:
            first = first + tree.pitch[i] * w.Rk[o, 5]
        # feels <= least: no row feels the joint
        w.felt[v] = where(least, feels, 1.0 / where(least, feels, first, 1.0), 0.0)
        w.alpha[v] = where(least, feels, w.rk[o] * w.felt[v], alpha)
        for j in range(6):
            B[j] = where(least, feels, w.Rk[o, j] * w.felt[v], B[j])
            w.Rk[o, j] = where(least, feels, 0.0, w.Rk[o, j])
        w.rk[o] = where(least, feels, 0.0, w.rk[o])
        for a in range(n):
            w.gk[o + a] = 0.0
    for j in range(6):
        y = D * B[j]
        for c in range(j, 6):
            H[j, c] -= U[j] * B[c] + B[j] * U[c] - y * B[c]
    symmetrize(H)
    left = w.lack[v] + D * w.alpha[v]
    for j in range(6):
        f[j] += U[j] * w.alpha[v] - B[j] * left


@kernel
def rows_to_parent(tree: Array, w: Array, i: int, n: int) -> None:
    """Rows, inertia and force of body ``i`` to its parent."""
    o = tree.stack_start[i]
    h = tree.parent[i]
    for a in range(n):
        K = w.Rk[o + a]
        if h == 0:
            x = where(w.rk[o + a], 0.0, -w.rk[o + a], w.rk[o + a])
            w.worst[0] = where(w.worst[0], x, x, w.worst[0])
        else:
            d = tree.stack_down[i] + a
            force = rotate_to_parent(tree, w, i, linear(K))
            set_angular(add(rotate_to_parent(tree, w, i, angular(K)), cross(w.r[i], force)), w.Rk[d])
            set_linear(force, w.Rk[d])
            w.rk[d] = w.rk[o + a]
            w.gk[d] = 0.0
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
        w.mu[o + m] = 0.0
        if tree.parent[i] > 0:
            w.mu[o + m] = w.mu[tree.stack_down[i] + m]
    # the last degree of freedom was taken out last: it is the first to be known
    for back in range(dof_of(kind)):
        k = dof_of(kind) - 1 - back
        v = tree.iv[i] + k
        x = w.alpha[v]
        need = w.lack[v]
        for j in range(6):
            x = x - w.Be[v, j] * a[j]
            need = need + w.Ue[v, j] * a[j]
        qdd[v] = x
        if n > 0:
            need = (need + w.De[v] * x) * w.felt[v]
            w.mu[o] = where(0.0, w.felt[v] * w.felt[v], need, w.mu[o])
            householder_on_multipliers(n, w, o, w.Qj, k, w.qj[i, k])
        a[axis_of(kind, k)] += x
        if kind == HELICAL:
            a[5] += tree.pitch[i] * x
    m = tree.stack_count[i]
    if m > 6:
        for c in range(6, m):
            w.mu[o + c] = 0.0
        for back in range(6):
            c = 5 - back
            householder_on_multipliers(m - c, w, o + c, w.Qc, c, w.qc[i, c])
    for c in range(m):
        r = tree.stack_row[o + c]
        if r >= 0:
            multipliers[r] += w.mu[o + c]


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
        w.row_scale[r] = sqrt(problem.settings.row_inertia[r])
    w.worst[0] = 0.0
    for i in range(tree.n):
        w.size[i] = 0.0
    for e in range(tree.nstack):
        r = tree.stack_row[e]
        m = tree.stack_k[e]
        t = tree.stack_term[e]
        w.gk[e] = 0.0
        for j in range(6):
            w.Rk[e, j] = 0.0
        if r >= 0:
            on = where(problem.R[r], SWITCHED_OFF, w.row_scale[r], 0.0)
            w.rk[e] = on * w.ks[r]
            if t >= 0:
                w.gk[e] = on * w.slope[t]
            else:
                for j in range(6):
                    w.Rk[e, j] = on * w.K[m, j]
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
        result.residual[r] = 0.0
    for i in range(tree.n - 1, 0, -1):
        symmetrize(w.H[i])
        n = tree.stack_count[i]
        for e in range(tree.stack_start[i], tree.stack_start[i] + n):
            if tree.stack_row[e] >= 0:
                w.size[i] += w.gk[e] * w.gk[e]
                for j in range(6):
                    w.size[i] += w.Rk[e, j] * w.Rk[e, j]
        if n > 6:
            condense_rows(tree, w, i)
            n = 6
        for k in range(dof_of(tree.kind[i])):
            eliminate_dof(tree, w, i, k, n, problem.tau)
        rows_to_parent(tree, w, i, n)
        if tree.parent[i] > 0:
            w.size[tree.parent[i]] += w.size[i]
    for i in range(1, tree.n):
        n = tree.stack_count[i]
        if n > 6:
            n = 6
        accelerations_and_multipliers(tree, w, i, n, result.a, result.multipliers)
    for r in range(tree.nc):
        result.multipliers[r] *= w.row_scale[r]
    result.progress[0] = relative_residual(w, w.worst[0] * w.worst[0])
    result.iterations[0] = 1.0


PV_EARLY = Algorithm("pv_early", pv_early, INPUTS, OUTPUTS, WORK | STACKS, EARLY, view=forward_view)
