# SPDX-License-Identifier: BSD-3-Clause
"""Inverse kinematics: sequential quadratic programming on the joints' manifolds, for one state or a batch.

Rows ``e`` are the errors of loops, which are *hard* (they are to be zero), and of tasks, which are *soft*: they are to
be small, ``1/2 |e_soft|²``, or hard as well where targets can be met and a posture decides what is left over,
``1/2 |p|²``. Each step minimizes the model of Gauss and Newton with Levenberg and Marquardt's damping ``mu`` subject to
the hard rows, linearized (Nocedal and Wright, Numerical Optimization, Sections 10.3 and 18.3); in scaled coordinates::

    (J F J' + R) l = e - J F p,    x = -F (p + J' l)          without tasks and posture: `assembly`

with ``R = mu`` on soft rows. On hard rows ``R`` is far smaller and shrinks with their error, so that redundant rows
need no rank (see `assembly`). Limits are an active set: coordinates that a step would take past one are held,
``F = 0``, and the step is solved for again. A line search decreases ``1/2 |e_soft|² + 1/2 |p|² + nu |e_hard|``, with a
penalty ``nu`` above the norm of the multipliers.

| symbol      | meaning                                                                                      |
|-------------|----------------------------------------------------------------------------------------------|
| row_scale   | weight of each row over its unit, 0 for a row that is ignored                                |
| soft        | 1 for soft rows, 0 for hard ones                                                             |
| joint_scale | the unit of each coordinate, 0 for one that is held                                          |
| e           | errors times ``row_scale``                                                                   |
| J           | Jacobian of ``e`` on the joints that support each row, times ``joint_scale``                 |
| p           | difference from the posture over ``joint_scale``, where a posture counts, otherwise 0        |
| A           | ``J F J' + R``, one block for each group of rows that share joints                           |
| l, x        | multipliers; the step                                                                        |

Rows of tasks are those of `tasks`, the posture's distance that of `posture`. ``progress`` is the measure of convergence
(zero where iterations cannot continue), the number of iterations, the largest error by tolerance, and the number of
successive iterations with little decrease.
Cost of an iteration: with m rows of a group on d joints, m² d + m³ for each group.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.constrained.assembly import (
    DESCENT,
    MAX_STALLED,
    MAX_STEP,
    REGULARIZATION,
    STEP_SIZES,
    clip_to_limits,
    loop_jacobian,
    scale_jacobian,
    solve_groups,
    step_within_limits,
    subtract_multipliers,
)
from linkwork.kernels.constrained.constraints import CLOSURE, constraint_rows
from linkwork.kernels.constrained.posture import posture_difference
from linkwork.kernels.constrained.tasks import TASKS, task_errors, task_jacobian
from linkwork.kernels.elementary import copy_numbers, max_norm, maximum
from linkwork.kernels.integration import integrate
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.kernels.thresholds import (
    IGNORED_ROW,
    LITTLE_DECREASE,
    LITTLE_DECREASE_OF_POSTURE,
    SUFFICIENT_DECREASE,
)
from linkwork.kernels.tree.kinematics import POSE, joint_transforms
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.inverse_kinematics import TASK_TREE

LEAST_PENALTY = 0.1
"""Least ``nu``."""


class Problem(NamedTuple):
    """The inputs of inverse kinematics."""

    q: Array
    """(nq,) initial guess."""
    targets: Array
    """(ntasks, 3, 3) rotation of a frame; or, in its first row, position of a frame or of the center of mass."""
    row_scale: Array
    """(nrows,) of constraints, then of tasks."""
    soft: Array
    tolerance: Array
    """(nrows,) of scaled errors."""
    joint_scale: Array
    """(nv,)"""
    lower: Array
    """(nq,) limits."""
    upper: Array
    posture: Array
    """(nq,)"""
    pull: Array
    """(nv,) 1 for coordinates that the posture counts for, 0 for others."""
    settings: Array
    """(4,) tolerance, most iterations, whether a posture counts, the largest step at which one is reached."""


class Result(NamedTuple):
    """The outputs of inverse kinematics."""

    q: Array
    errors: Array
    """(nrows,) scaled."""
    progress: Array
    """(4,)"""


# Rows ----------------------------------------------------------------------------------------------------------------


@kernel
def row_errors(tree: Array, w: Array, q: Array, problem: Problem) -> None:
    """``e`` of loops and of tasks."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.e)
    task_errors(tree, w, problem.targets)
    for r in range(tree.nrows):
        w.e[r] *= problem.row_scale[r]


@kernel
def support_jacobian(tree: Array, w: Array, problem: Problem) -> None:
    """``J``, after `row_errors`."""
    loop_jacobian(tree, w)
    task_jacobian(tree, w, problem.targets)
    scale_jacobian(tree, w, problem.row_scale, problem.joint_scale)


@kernel
def posture_distance(tree: Array, w: Array, q: Array, problem: Problem) -> Scalar:
    """``p``, and half the square of the distance from the posture."""
    return posture_difference(tree, w, q, problem.posture, problem.pull, problem.joint_scale)


@kernel
def largest_error(tree: Array, w: Array, tolerance: Array) -> Scalar:
    """The largest error of a row by its tolerance."""
    largest = 0.0
    for r in range(tree.nrows):
        size = where(w.e[r], 0.0, -w.e[r], w.e[r])
        largest = maximum(largest, size / tolerance[r])
    return largest


@kernel
def squares(tree: Array, w: Array, soft: Array) -> tuple[Scalar, Scalar]:
    """Sums of the squares of soft and of hard rows."""
    of_soft = 0.0
    of_hard = 0.0
    for r in range(tree.nrows):
        of_soft += soft[r] * (w.e[r] * w.e[r])
        of_hard += (1.0 - soft[r]) * (w.e[r] * w.e[r])
    return of_soft, of_hard


# Steps ---------------------------------------------------------------------------------------------------------------


@kernel
def regularized_step(tree: Array, w: Array, J: Array, soft: Array, of_soft: Scalar, of_hard: Scalar) -> None:
    """``l`` and ``x``; ``of_soft`` and ``of_hard`` are ``R`` of soft and of hard rows, without its least part."""
    for r in range(tree.nrows):
        w.l[r] = w.e[r]
        for c in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            w.l[r] -= J[r, tree.row_dof[c]] * w.p[tree.row_dof[c]]
        w.row_R[r] = soft[r] * of_soft + (1.0 - soft[r]) * of_hard
    solve_groups(tree, w, J)
    for k in range(tree.nv):
        w.x[k] = -(w.free[k] * w.p[k])
    subtract_multipliers(tree, w, J)


bounded_step = step_within_limits(regularized_step)


@kernel
def penalty_and_slope(tree: Array, w: Array, soft: Array, factor: Scalar, hard: Scalar) -> tuple[Scalar, Scalar]:
    """``nu``, and the derivative of the merit along the step.

    The rows' own derivatives are ``J x = R l - e``; multipliers are ``factor l``, and ``hard`` is the norm of the hard
    rows.
    """
    slope = 0.0
    slope_of_hard = 0.0
    multipliers = 0.0
    for r in range(tree.nrows):
        rate = w.e[r] * (w.row_R[r] * w.l[r] - w.e[r])
        slope += soft[r] * rate
        slope_of_hard += (1.0 - soft[r]) * rate
        multipliers += (1.0 - soft[r]) * (w.l[r] * w.l[r])
    for k in range(tree.nv):
        slope += w.p[k] * w.x[k]
    nu = maximum(LEAST_PENALTY, 2.0 * factor * sqrt(multipliers))
    return nu, slope + nu * (slope_of_hard / maximum(hard, IGNORED_ROW))


@kernel
def inverse_kinematics(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """``q`` within its limits, and its errors."""
    copy_numbers(problem.q, result.q, tree.nq)
    clip_to_limits(tree, problem.lower, problem.upper, result.q)
    row_errors(tree, w, result.q, problem)
    for r in range(tree.nrows):
        result.errors[r] = w.e[r]
    progress = result.progress
    progress[2] = largest_error(tree, w, problem.tolerance)
    progress[0] = maximum(progress[2], where(0.5, problem.settings[2], UNBOUNDED, 0.0))
    progress[1] = 0.0
    progress[3] = 0.0


@kernel
def iterate(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """One step: the longest of `STEP_SIZES` that decreases the merit."""
    postural = problem.settings[2]
    row_errors(tree, w, result.q, problem)
    support_jacobian(tree, w, problem)
    posed = posture_distance(tree, w, result.q, problem)
    of_soft, of_hard = squares(tree, w, problem.soft)
    hard = sqrt(of_hard)
    mu = REGULARIZATION * sqrt(of_soft)
    bounded_step(tree, w, result.q, problem.lower, problem.upper, problem.soft, mu, REGULARIZATION * hard)
    nu, slope = penalty_and_slope(tree, w, problem.soft, where(0.5, postural, 1.0, mu), hard)
    length = max_norm(tree.nv, w.x)
    part = MAX_STEP / maximum(length, MAX_STEP)
    for k in range(tree.nv):
        w.x[k] *= problem.joint_scale[k] * part
    before = 0.5 * of_soft + posed + nu * hard
    after = before
    searching = 1.0
    copy_numbers(result.q, w.best, tree.nq)
    for s in range(len(STEP_SIZES)):
        if any_below(-searching, -0.5):
            integrate(tree, result.q, w.x, STEP_SIZES[s], w.trial)
            clip_to_limits(tree, problem.lower, problem.upper, w.trial)
            row_errors(tree, w, w.trial, problem)
            of_soft, of_hard = squares(tree, w, problem.soft)
            merit = 0.5 * of_soft + posture_distance(tree, w, w.trial, problem) + nu * sqrt(of_hard)
            taken = where(merit, before + SUFFICIENT_DECREASE * STEP_SIZES[s] * part * slope, searching, 0.0)
            largest = largest_error(tree, w, problem.tolerance)
            for k in range(tree.nq):
                w.best[k] = where(taken, 0.5, w.best[k], w.trial[k])
            for r in range(tree.nrows):
                result.errors[r] = where(taken, 0.5, result.errors[r], w.e[r])
            after = where(taken, 0.5, after, merit)
            result.progress[2] = where(taken, 0.5, result.progress[2], largest)
            searching = searching - taken
    copy_numbers(w.best, result.q, tree.nq)
    progress = result.progress
    little = where(0.5, postural, LITTLE_DECREASE_OF_POSTURE, LITTLE_DECREASE)
    progress[1] += 1.0
    progress[3] = where((1.0 - little) * before, after, progress[3] + 1.0, 0.0)
    left = maximum(progress[2], where(0.5, postural, length / problem.settings[3], 0.0))
    progress[0] = where(searching, 0.5, where(progress[3], MAX_STALLED, left, 0.0), 0.0)


INVERSE_KINEMATICS = Algorithm(
    "inverse_kinematics",
    inverse_kinematics,
    {
        "q": ("nq",),
        "targets": ("ntasks", 3, 3),
        "row_scale": ("nrows",),
        "soft": ("nrows",),
        "tolerance": ("nrows",),
        "joint_scale": ("nv",),
        "lower": ("nq",),
        "upper": ("nq",),
        "posture": ("nq",),
        "pull": ("nv",),
        "settings": (4,),
    },
    {"solution": ("nq",), "errors": ("nrows",), "progress": (4,)},
    POSE | CLOSURE | TASKS | DESCENT | {"p": ("nv",)},
    TASK_TREE,
    iterate,
    view=view_of(Problem, Result),
)
