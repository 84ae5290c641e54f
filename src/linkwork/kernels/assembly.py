"""Closing loops: damped Gauss-Newton on the joints' manifolds, with a line search, for one state or a batch.

Each step is the least motion that closes the loops to first order, ``x = -J' (J J' + mu)^-1 e``, all without units:
errors times the ``rows`` they are asked for, motions as parts of what is ``mobile``. That is Levenberg-Marquardt
in the rows, whose damping shrinks with the error, ``mu ~ |e|``. So convergence stays quadratic, also where rows repeat
others (Fan and Yuan, On the Quadratic Convergence of the Levenberg-Marquardt Method without Nonsingularity Assumption,
2005): no rank has to be found.

| symbol  | meaning                                                                             |
|---------|-------------------------------------------------------------------------------------|
| e       | errors times ``rows``: one over what they are measured by, or 0                     |
| J       | their Jacobian on the joints that move each loop, times ``mobile``                  |
| mobile  | what each coordinate is measured by, 0 where it stays                               |
| A       | ``J J' + mu``, one block for each group of loops that share joints                  |
| mu      | the damping                                                                         |

``progress`` is what is still to be closed (zero where an iteration cannot go on), the iterations, the largest error,
and how many steps in a row made little difference.
Cost of an iteration: with m rows of a group on d joints, m² d + m³ for each group.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.clusters import factorize_at, solve_at
from linkwork.kernels.constrained import max_norm, maximum, minimum
from linkwork.kernels.constraints import CLOSURE, constraint_error, coupling_rows, row_jacobian
from linkwork.kernels.integration import integrate
from linkwork.kernels.joints import dof_of
from linkwork.kernels.kinematics import POSE
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.model.joints import FREE, PLANAR, SPHERICAL
from linkwork.plans.assembly import SUPPORTS

DAMPING = 1e-3
"""Of a step, in parts of the error."""
LEAST_DAMPING = 1e-13
"""Of a step, in parts of the largest entry of ``J J'``: above what rounding leaves of rows that repeat others."""
SCALES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3)
"""Parts of a step that the line search tries."""
LONGEST = 1.0
"""Change of a coordinate in one step: no turn of more than a radian at once, no slide beyond the robot's length."""
STUCK = 1e-4
"""A relative decrease of the error in one iteration that makes little difference,"""
PATIENCE = 5.5
"""and how many of them in a row are borne."""


@kernel
def row_errors(tree: Array, w: Array, q: Array, rows: Array) -> Scalar:
    """``e`` and its length."""
    constraint_error(tree, w, q, w.e)
    squares = 0.0
    for r in range(tree.nc):
        w.e[r] *= rows[r]
        squares += w.e[r] * w.e[r]
    return sqrt(squares)


@kernel
def support_jacobian(tree: Array, w: Array, rows: Array, mobile: Array) -> None:
    """``J``. Where points that should meet are apart, what carries the whole loop turns the gap: that closes nothing,
    and is left out."""
    coupling_rows(tree, w, w.J)
    for m in range(tree.nk):
        row_jacobian(tree, w, m, tree.k_root[m], w.J)
    for r in range(tree.nc):
        for c in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            w.J[r, tree.row_dof[c]] *= rows[r] * mobile[tree.row_dof[c]]


@kernel
def damped_step(tree: Array, w: Array, mu: Scalar) -> None:
    """``x = -J' (J J' + mu)^-1 e``."""
    for g in range(tree.ngroups):
        o = tree.group_start[g]
        n = tree.group_count[g]
        least = 0.0
        for a in range(n):
            r = tree.group_row[o + a]
            for b in range(a + 1):
                s = tree.group_row[o + b]
                product = 0.0
                for c in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
                    product += w.J[r, tree.row_dof[c]] * w.J[s, tree.row_dof[c]]
                w.A[r, s] = product
            least = maximum(least, LEAST_DAMPING * w.A[r, r])
            w.l[r] = -w.e[r]
        for a in range(n):
            w.A[tree.group_row[o + a], tree.group_row[o + a]] += mu + least
        factorize_at(tree.group_row, o, n, w.A)
        solve_at(tree.group_row, o, n, w.A, w.l)
    for k in range(tree.nv):
        w.x[k] = 0.0
    for r in range(tree.nc):
        for c in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            w.x[tree.row_dof[c]] += w.J[r, tree.row_dof[c]] * w.l[r]


@kernel
def clip_to_limits(tree: Array, lower: Array, upper: Array, q: Array) -> None:
    """``q`` between its limits; of coordinates without, these are far away."""
    for k in range(tree.nq):
        q[k] = maximum(lower[k], minimum(upper[k], q[k]))


@kernel
def hold_at_limits(tree: Array, w: Array, q: Array, lower: Array, upper: Array) -> Scalar:
    """How many coordinates at a limit the step would take past it; their columns of ``J`` become zero."""
    count = 0.0
    for i in range(1, tree.n):
        kind = tree.kind[i]
        if kind != SPHERICAL and kind != FREE and kind != PLANAR:
            for j in range(dof_of(kind)):
                at = tree.iq[i] + j
                k = tree.iv[i] + j
                down = where(lower[at], q[at], 0.0, where(w.x[k], 0.0, 1.0, 0.0))
                up = where(q[at], upper[at], 0.0, where(0.0, w.x[k], 1.0, 0.0))
                passed = maximum(down, up)
                count += passed
                if any_below(-passed, -0.5):
                    for r in range(tree.nc):
                        w.J[r, k] *= 1.0 - passed
    return count


@kernel
def step_within_limits(tree: Array, w: Array, q: Array, mobile: Array, lower: Array, upper: Array, mu: Scalar) -> None:
    """The step, solved again while coordinates have to be held at a limit, and no longer than `LONGEST`."""
    damped_step(tree, w, mu)
    held = hold_at_limits(tree, w, q, lower, upper)
    for _ in range(tree.nv):
        if any_below(-held, -0.5):
            damped_step(tree, w, mu)
            held = hold_at_limits(tree, w, q, lower, upper)
    length = maximum(max_norm(tree.nv, w.x), LONGEST)
    for k in range(tree.nv):
        w.x[k] *= mobile[k] * (LONGEST / length)


@kernel
def start(
    tree: Array,
    w: Array,
    q: Array,
    rows: Array,
    mobile: Array,
    lower: Array,
    upper: Array,
    settings: Array,
    closed: Array,
    progress: Array,
) -> None:
    """``q`` within its limits, and its error."""
    for k in range(tree.nq):
        closed[k] = q[k]
    clip_to_limits(tree, lower, upper, closed)
    row_errors(tree, w, closed, rows)
    progress[0] = max_norm(tree.nc, w.e)
    progress[1] = 0.0
    progress[2] = progress[0]
    progress[3] = 0.0


@kernel
def iterate(
    tree: Array,
    w: Array,
    q: Array,
    rows: Array,
    mobile: Array,
    lower: Array,
    upper: Array,
    settings: Array,
    closed: Array,
    progress: Array,
) -> None:
    """One step from ``closed``: of its parts the longest that makes the error smaller."""
    before = row_errors(tree, w, closed, rows)
    support_jacobian(tree, w, rows, mobile)
    step_within_limits(tree, w, closed, mobile, lower, upper, DAMPING * before)
    for k in range(tree.nq):
        w.best[k] = closed[k]
    after = before
    searching = 1.0
    for s in range(len(SCALES)):
        if any_below(-searching, -0.5):
            integrate(tree, closed, w.x, SCALES[s], w.trial)
            clip_to_limits(tree, lower, upper, w.trial)
            size = row_errors(tree, w, w.trial, rows)
            taken = where(size, (1.0 - 1e-4 * SCALES[s]) * before, searching, 0.0)
            gap = max_norm(tree.nc, w.e)
            for k in range(tree.nq):
                w.best[k] = where(taken, 0.5, w.best[k], w.trial[k])
            after = where(taken, 0.5, after, size)
            progress[2] = where(taken, 0.5, progress[2], gap)
            searching = searching - taken
    for k in range(tree.nq):
        closed[k] = w.best[k]
    progress[1] += 1.0
    progress[3] = where((1.0 - STUCK) * before, after, progress[3] + 1.0, 0.0)
    progress[0] = where(searching, 0.5, where(progress[3], PATIENCE, progress[2], 0.0), 0.0)


ASSEMBLY = Algorithm(
    "assembly",
    start,
    {"q": ("nq",), "rows": ("nc",), "mobile": ("nv",), "lower": ("nq",), "upper": ("nq",), "settings": (2,)},
    {"closed": ("nq",), "progress": (4,)},
    POSE
    | CLOSURE
    | {
        "e": ("nc",),
        "y6": (6,),
        "J": ("nc", "nv"),
        "A": ("nc", "nc"),
        "l": ("nc",),
        "x": ("nv",),
        "best": ("nq",),
        "trial": ("nq",),
    },
    SUPPORTS,
    iterate,
)
