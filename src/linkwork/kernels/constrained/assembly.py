# SPDX-License-Identifier: BSD-3-Clause
"""Closing loops: Levenberg-Marquardt on the joints' manifolds, with a line search, for one state or a batch.

Each step is the least motion that closes the loops to first order, ``x = -J' (J J' + mu)^-1 e``, in scaled rows and
coordinates without units. The regularization shrinks with the error, ``mu ~ |e|``, so that convergence stays quadratic,
also where rows are redundant (Fan and Yuan, On the Quadratic Convergence of the Levenberg-Marquardt Method without
Nonsingularity Assumption, 2005): no rank has to be determined.

| symbol      | meaning                                                                        |
|-------------|--------------------------------------------------------------------------------|
| row_scale   | one over the unit of each row, 0 for a row that is ignored                     |
| joint_scale | the unit of each coordinate, 0 for one that is held                            |
| e           | errors times ``row_scale``                                                     |
| J           | Jacobian of ``e`` on the joints that support each row, times ``joint_scale``   |
| Jm, free    | ``J`` without coordinates that are held at a limit; 0 for these, else 1        |
| row_R       | regularization of each row: ``mu``                                             |
| A           | ``J J' + row_R``, one block for each group of loops that share joints          |
| l, x        | multipliers; the step                                                          |

Selects (`where`) repeat the condition of the branch that they are in: straight-line programs derive branches from
these (`compilers.trace.branches`).

``progress`` is the largest remaining error (zero where an iteration cannot continue), the number of iterations, the
largest error, and the number of successive iterations with little decrease.
Cost of an iteration: with m rows of a group on d joints, m² d + m³ for each group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import CLOSURE, constraint_error, coupling_rows, row_jacobian
from linkwork.kernels.elementary import copy_numbers, max_norm, maximum, minimum
from linkwork.kernels.indexed_ldl import factorize_at, solve_at
from linkwork.kernels.integration import integrate, normalize
from linkwork.kernels.joints import dof_of
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.kernels.thresholds import IGNORED_ROW, LEAST_REGULARIZATION, LITTLE_CLOSING, SUFFICIENT_DECREASE
from linkwork.kernels.tree.kinematics import POSE
from linkwork.model.joints import FREE, PLANAR, SPHERICAL
from linkwork.plans.assembly import ASSEMBLY_TREE

REGULARIZATION = 1e-3
"""``mu``, relative to the norm of the error."""
STEP_SIZES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3)
"""Step sizes that the line search tries."""
MAX_STEP = 1.0
"""Change of a coordinate in one step, in its unit: a radian, or the robot's length."""
MAX_STALLED = 5.5
"""The iteration ends after more successive steps of little decrease (`LITTLE_CLOSING`) than this."""


class Problem(NamedTuple):
    """The inputs of an assembly."""

    q: Array
    row_scale: Array
    joint_scale: Array
    lower: Array
    """(nq,) limits."""
    upper: Array
    settings: Array
    """(2,) tolerance and most iterations."""


@kernel
def row_errors(tree: Array, w: Array, q: Array, row_scale: Array) -> Scalar:
    """``e`` and its norm."""
    constraint_error(tree, w, q, w.e)
    squares = 0.0
    for r in range(tree.nc):
        w.e[r] *= row_scale[r]
        squares += w.e[r] * w.e[r]
    return sqrt(squares)


@kernel
def support_jacobian(tree: Array, w: Array, row_scale: Array, joint_scale: Array) -> None:
    """``J``; ancestors of the root of a loop are left out, as they turn its error but do not reduce it."""
    loop_jacobian(tree, w)
    scale_jacobian(tree, w, row_scale, joint_scale)


@kernel
def loop_jacobian(tree: Array, w: Array) -> None:
    """Rows of constraints in ``J``, in their own units."""
    coupling_rows(tree, w, w.J)
    for m in range(tree.nk):
        row_jacobian(tree, w, m, tree.k_root[m], w.J)


@kernel
def scale_jacobian(tree: Array, w: Array, row_scale: Array, joint_scale: Array) -> None:
    """All rows of ``J`` in scaled rows and coordinates."""
    for r in range(tree.nrows):
        for c in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            w.J[r, tree.row_dof[c]] *= row_scale[r] * joint_scale[tree.row_dof[c]]


@kernel
def solve_groups(tree: Array, w: Array, J: Array) -> None:
    """``l = (J J' + row_R)^-1 l``, with the least regularization added to ``row_R``."""
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
                    product += J[r, tree.row_dof[c]] * J[s, tree.row_dof[c]]
                w.A[r, s] = product
            least = maximum(least, LEAST_REGULARIZATION * w.A[r, r])
        for a in range(n):
            r = tree.group_row[o + a]
            w.row_R[r] += least
            w.A[r, r] += w.row_R[r] + IGNORED_ROW
        factorize_at(tree.group_row, o, n, w.A)
        solve_at(tree.group_row, o, n, w.A, w.l)


@kernel
def subtract_multipliers(tree: Array, w: Array, J: Array) -> None:
    """``x = x - J' l``."""
    for r in range(tree.nrows):
        for c in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            w.x[tree.row_dof[c]] -= J[r, tree.row_dof[c]] * w.l[r]


@kernel
def regularized_step(tree: Array, w: Array, J: Array, mu: Scalar) -> None:
    """``x = -J' (J J' + mu)^-1 e``."""
    for r in range(tree.nrows):
        w.l[r] = w.e[r]
        w.row_R[r] = mu
    solve_groups(tree, w, J)
    for k in range(tree.nv):
        w.x[k] = 0.0
    subtract_multipliers(tree, w, J)


@kernel
def clip_to_limits(tree: Array, lower: Array, upper: Array, q: Array) -> None:
    """``q`` clipped to its limits."""
    for k in range(tree.nq):
        q[k] = maximum(lower[k], minimum(upper[k], q[k]))


@kernel
def passes_limit(q: Scalar, x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """One where a coordinate is at a limit and the step ``x`` would take it past that, else zero."""
    down = where(lower, q, 0.0, where(x, 0.0, 1.0, 0.0))
    up = where(q, upper, 0.0, where(0.0, x, 1.0, 0.0))
    return maximum(down, up)


@kernel
def hold_at_limits(tree: Array, w: Array, q: Array, lower: Array, upper: Array) -> Scalar:
    """The number of coordinates at a limit that the step would take past it; they are no longer ``free``."""
    count = 0.0
    for i in range(1, tree.n):
        kind = tree.kind[i]
        if kind != SPHERICAL and kind != FREE and kind != PLANAR:
            for j in range(dof_of(kind)):
                at = tree.iq[i] + j
                k = tree.iv[i] + j
                passed = passes_limit(q[at], w.x[k], lower[at], upper[at])
                count += passed
                w.free[k] *= 1.0 - passed
    return count


def step_within_limits(step: Callable[..., None]) -> Callable[..., None]:
    """A kernel that takes a step, and solves for it again while coordinates are held at a limit.

    Args:
        step: ``step(tree, w, J, *arguments)``: sets ``x``; ``J`` has zeros for coordinates that are not ``free``.
    """

    @kernel
    def bounded(tree: Array, w: Array, q: Array, lower: Array, upper: Array, *arguments: Any) -> None:
        for k in range(tree.nv):
            w.free[k] = 1.0
        step(tree, w, w.J, *arguments)
        held = hold_at_limits(tree, w, q, lower, upper)
        for _ in range(tree.nv):
            if any_below(-held, -0.5):
                for r in range(tree.nrows):
                    for k in range(tree.nv):
                        w.Jm[r, k] = w.J[r, k] * w.free[k]
                for k in range(tree.nv):
                    w.x_before[k] = w.x[k]
                    w.free_before[k] = w.free[k]
                step(tree, w, w.Jm, *arguments)
                further = hold_at_limits(tree, w, q, lower, upper)
                for k in range(tree.nv):
                    w.x[k] = where(-held, -0.5, w.x[k], w.x_before[k])
                    w.free[k] = where(-held, -0.5, w.free[k], w.free_before[k])
                held = where(-held, -0.5, further, held)

    return bounded


bounded_step = step_within_limits(regularized_step)


@kernel
def assemble(tree: Array, w: Array, problem: Problem, closed: Array, progress: Array) -> None:
    """``q`` with normalized quaternions, and clipped to its limits unless its loops are closed; its error."""
    row_scale = problem.row_scale
    copy_numbers(problem.q, closed, tree.nq)
    normalize(tree, closed)
    row_errors(tree, w, closed, row_scale)
    progress[0] = max_norm(tree.nc, w.e)
    is_open = where(problem.settings[0], progress[0], 1.0, 0.0)
    if any_below(-is_open, -0.5):
        copy_numbers(closed, w.trial, tree.nq)
        clip_to_limits(tree, problem.lower, problem.upper, w.trial)
        row_errors(tree, w, w.trial, row_scale)
        progress[0] = where(-is_open, -0.5, max_norm(tree.nc, w.e), progress[0])
        for k in range(tree.nq):
            closed[k] = where(-is_open, -0.5, w.trial[k], closed[k])
    progress[1] = 0.0
    progress[2] = progress[0]
    progress[3] = 0.0


@kernel
def assemble_iterate(tree: Array, w: Array, problem: Problem, closed: Array, progress: Array) -> None:
    """One step from ``closed``: the longest of `STEP_SIZES` that decreases the error."""
    row_scale = problem.row_scale
    joint_scale = problem.joint_scale
    before = row_errors(tree, w, closed, row_scale)
    support_jacobian(tree, w, row_scale, joint_scale)
    bounded_step(tree, w, closed, problem.lower, problem.upper, REGULARIZATION * before)
    length = maximum(max_norm(tree.nv, w.x), MAX_STEP)
    for k in range(tree.nv):
        w.x[k] *= joint_scale[k] * (MAX_STEP / length)
    copy_numbers(closed, w.best, tree.nq)
    after = before
    searching = 1.0
    for s in range(len(STEP_SIZES)):
        if any_below(-searching, -0.5):
            integrate(tree, closed, w.x, STEP_SIZES[s], w.trial)
            clip_to_limits(tree, problem.lower, problem.upper, w.trial)
            size = row_errors(tree, w, w.trial, row_scale)
            gap = max_norm(tree.nc, w.e)
            bound = (1.0 - SUFFICIENT_DECREASE * STEP_SIZES[s]) * before
            for k in range(tree.nq):
                w.best[k] = where(-searching, -0.5, where(size, bound, w.trial[k], w.best[k]), w.best[k])
            after = where(-searching, -0.5, where(size, bound, size, after), after)
            progress[2] = where(-searching, -0.5, where(size, bound, gap, progress[2]), progress[2])
            searching = where(-searching, -0.5, where(size, bound, 0.0, 1.0), searching)
    copy_numbers(w.best, closed, tree.nq)
    progress[1] += 1.0
    progress[3] = where((1.0 - LITTLE_CLOSING) * before, after, progress[3] + 1.0, 0.0)
    progress[0] = where(searching, 0.5, where(progress[3], MAX_STALLED, progress[2], 0.0), 0.0)


DESCENT: dict[str, Shape] = {
    "e": ("nrows",),
    "y6": (6,),
    "J": ("nrows", "nv"),
    "A": ("nrows", "nrows"),
    "row_R": ("nrows",),
    "l": ("nrows",),
    "x": ("nv",),
    "Jm": ("nrows", "nv"),
    "free": ("nv",),
    "x_before": ("nv",),
    "free_before": ("nv",),
    "best": ("nq",),
    "trial": ("nq",),
}

ASSEMBLY = Algorithm(
    "assembly",
    assemble,
    {"q": ("nq",), "row_scale": ("nc",), "joint_scale": ("nv",), "lower": ("nq",), "upper": ("nq",), "settings": (2,)},
    {"closed": ("nq",), "search": (4,)},
    POSE | CLOSURE | DESCENT,
    ASSEMBLY_TREE,
    assemble_iterate,
    view=view_of(Problem, Array, Array),
)
