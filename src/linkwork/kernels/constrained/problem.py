# SPDX-License-Identifier: BSD-3-Clause
"""Constrained forward dynamics: the problem that all methods solve, its first forward sweep, and convergence.

With ``R`` the regularization of each row (a diagonal; the papers' ``1/mu``, or ``mu`` of **proximal**) and ``lambda0``
the warm start, one iteration solves::

    M a + c = tau + J' lambda
    J a + R (lambda - lambda0) = k,        k = target - bias

The proximal method of multipliers (**proximal** Section III, **loops** Section III-D) repeats this with the new
multipliers for lambda0, and converges to ``J a = k`` also where rows are redundant. Rows that are not enabled have
infinite regularization.

| symbol         | meaning                                                                                  |
|----------------|------------------------------------------------------------------------------------------|
| k              | right-hand side of each row, beyond the motion with ``qdd = 0``                          |
| error, Jv      | position and velocity error of each row                                                  |
| target         | Baumgarte's target                                                                       |
| da             | change of joint accelerations in an iteration                                            |
| residual_scale | square of the scale of residuals; square of the residual's change in the iteration before |

Convergence: the residual ``k - J a``, weighed by the inertia of each row, relative to the effect of gravity, torques,
wrenches and velocities, weighed by inertia as well. Both are in kg m²/s⁴: the ratio has no unit.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.constraints import (
    CLOSURE,
    RATES,
    constraint_bias,
    constraint_rows,
    constraint_velocities,
)
from linkwork.kernels.elementary import maximum, minimum
from linkwork.kernels.records import Entry, view_of
from linkwork.kernels.scalar import Array, Scalar, kernel, sqrt, where
from linkwork.kernels.thresholds import (
    DEPENDENT_CHANGE,
    DISABLED,
    INTERNAL_ACCELERATION,
    NEARLY_CLOSED,
    NEGLIGIBLE_RESIDUAL,
    RESOLVED_ROWS,
    STAGNATION,
)
from linkwork.kernels.tree.aba import ARTICULATED
from linkwork.kernels.tree.kinematics import ACCELERATION, MOTION, POSE, acceleration_from_parent, velocities
from linkwork.kernels.tree.rnea import (
    FORCE,
    WRENCHES,
    apply_wrenches,
    forward_pass,
    inertial_force,
    init_root,
)

INPUTS: dict[str, Shape] = {
    "q": ("nq",),
    "v": ("nv",),
    "tau": ("nv",),
    "wrenches": WRENCHES,
    "regularization": ("nc",),
    "target": ("nc",),
    "multipliers": ("nc",),
    "settings": ("nsettings",),
}
"""Flat inputs, as `Problem` names them; ``settings`` are `Settings`."""
OUTPUTS: dict[str, Shape] = {"a": ("nv",), "result": ("nresult",)}
"""Flat outputs, as `Result` names them: ``result`` is one array, since making arrays takes time."""


class Settings(NamedTuple):
    """Scales of the convergence test (`quantities.scales`), without units of their own where they are multiplied."""

    tolerance: Entry
    """The relative residual at which iterations end."""
    most: Entry
    """The maximum number of iterations; the loop reads it, and the entries before and after it."""
    rounding: Entry
    """The relative residual by rounding after one iteration with stiff rows."""
    regularization: Entry
    """Regularization of a row of compliance one, as a part of the diagonal of J M⁻¹ Jᵀ."""
    gravity: Entry
    """Square of the robot's weight over its mass."""
    inverse_mass: Entry
    inverse_inertia: Entry
    """1 over a moment of inertia of the robot."""
    mobility: Annotated[Array, ("nv",)]
    """Inverse inertia of each joint."""
    row_inertia: Annotated[Array, ("nc",)]
    """1 over the diagonal of J M⁻¹ Jᵀ."""


class Problem(NamedTuple):
    """The inputs of constrained forward dynamics."""

    q: Array
    v: Array
    tau: Array
    wrenches: Array
    """(nf, 6) external wrenches."""
    R: Array
    """(nc,) regularization of each row; infinite where a row is not enabled."""
    target: Array
    """(nc,) accelerations of the rows beyond those of Baumgarte's gains."""
    multipliers0: Array
    """(nc,) lambda0, the warm start."""
    settings: Settings


class Result(NamedTuple):
    """The outputs of constrained forward dynamics."""

    a: Array
    """(nv,) joint accelerations."""
    progress: Annotated[Array, (1,)]
    """Relative residual; of methods that do not iterate, how independent the rows are."""
    iterations: Annotated[Array, (1,)]
    """Number of iterations."""
    multipliers: Annotated[Array, ("nc",)]
    """lambda, the constraint forces."""
    residual: Annotated[Array, ("nc",)]
    """k - J a."""
    violation: Annotated[Array, (2,)]
    """Largest position error, and largest velocity error (-1 where no row has gains)."""


forward_view = view_of(Problem, Result)
"""`Algorithm.view` of every method of constrained forward dynamics."""

WORK: dict[str, Shape] = (
    POSE
    | MOTION
    | CLOSURE
    | RATES
    | ACCELERATION
    | FORCE
    | ARTICULATED
    | {"error": ("nc",), "target": ("nc",), "k": ("nc",), "da": ("nv",), "residual_scale": (2,), "Jv": ("nc",)}
)


@kernel
def setup_problem(tree: Array, w: Array, q: Array, v: Array, wrenches: Array, target: Array) -> None:
    """First forward sweep (**loops** Section IV-C1): poses, bias forces, rows of K and their right-hand sides ``k``.

    Forces and right-hand sides are those beyond the motion with ``qdd = 0``; ``target`` is added to Baumgarte's.
    """
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    setup_problem_at(tree, w, q, v, w.qdd0, wrenches, target)


@kernel
def setup_problem_at(tree: Array, w: Array, q: Array, v: Array, qdd: Array, wrenches: Array, target: Array) -> None:
    """The problem relative to the motion with these joint accelerations; ``k`` lacks the part of joint couplings."""
    init_root(tree, w)
    for i in range(1, tree.n):
        forward_pass(tree, w, i, q, v, qdd)
    constraint_rows(tree, w, q, w.error)
    constraint_bias(tree, w, q, v)
    if tree.has_gains != 0:
        velocities(tree, w, v)
        constraint_velocities(tree, w, q, v, w.Jv)
        for r in range(tree.nc):
            w.target[r] = -(tree.kp[r] * w.error[r]) - tree.kd[r] * w.Jv[r]
    apply_wrenches(tree, w, wrenches)
    for j in range(6):
        w.a[0, j] = 0.0
    for r in range(tree.nc):
        w.k[r] = target[r] - w.beta[r]
        if tree.has_gains != 0:
            w.k[r] += w.target[r]


@kernel
def clear_forces(tree: Array, w: Array, joints: Array) -> None:
    """``f = 0``, ``a0 = 0``: no forces but those of rows (**loops** Algorithm 6, lines 3 and 4).

    ``joints``, accelerations or torques of all of them, are zero as well.
    """
    for i in range(tree.n):
        for j in range(6):
            w.f[i, j] = 0.0
    for j in range(6):
        w.a[0, j] = 0.0
    for k in range(tree.nv):
        joints[k] = 0.0


@kernel
def force_residual(tree: Array, w: Array, tau: Array, qdd: Array) -> None:
    """Iterative refinement: bias forces and torques of the accelerations so far, ``f = f0 + I a``, ``tau - I_r qdd``.

    Stiff rows dominate the inertias to which they are added: where the inverse inertia of a row is 1e9 times its
    regularization, the factor has seven digits of the dynamics. The iteration corrects the unbalanced force. ``f0`` are
    the bias forces of ``qdd = 0`` by `setup_problem`, ``I_r`` rotor inertias.
    """
    for j in range(6):
        w.a[0, j] = 0.0
    for i in range(1, tree.n):
        acceleration_from_parent(tree, w, i, qdd)
        inertial_force(tree, w, i)
        for j in range(6):
            w.f[i, j] += w.f0[i, j]
    for k in range(tree.nv):
        w.tau[k] = tau[k] - tree.armature[k] * qdd[k]


@kernel
def constraint_violation(tree: Array, w: Array, R: Array, result: Result) -> None:
    """Largest position error, and velocity error where rows have gains (else -1), after `setup_problem`."""
    position = 0.0
    velocity = 0.0
    for r in range(tree.nc):
        position = maximum(position, where(R[r], DISABLED, w.error[r] * w.error[r], 0.0))
        if tree.has_gains != 0:
            velocity = maximum(velocity, where(R[r], DISABLED, w.Jv[r] * w.Jv[r], 0.0))
    result.violation[0] = sqrt(position)
    result.violation[1] = sqrt(velocity) if tree.has_gains != 0 else -1.0


@kernel
def set_residual_scale(tree: Array, w: Array, problem: Problem) -> None:
    """Square of the scale of residuals: gravity, torques, wrenches and velocities, weighed by inertia."""
    settings = problem.settings
    tau = problem.tau
    wrenches = problem.wrenches
    x = settings.gravity
    for k in range(tree.nv):
        x = x + settings.mobility[k] * (tau[k] * tau[k])
    for r in range(tree.nc):
        x = x + settings.row_inertia[r] * (w.k[r] * w.k[r])
    for e in range(tree.nf):
        for j in range(3):
            x = x + settings.inverse_inertia * (wrenches[e, j] * wrenches[e, j])
            x = x + settings.inverse_mass * (wrenches[e, 3 + j] * wrenches[e, 3 + j])
    w.residual_scale[0] = x


@kernel
def relative_residual(w: Array, square: Scalar) -> Scalar:
    """Root of a square relative to that of `set_residual_scale`; zero where the robot is at rest and without forces."""
    return sqrt(square / where(0.0, w.residual_scale[0], w.residual_scale[0], 1.0))


@kernel
def residual_norm(tree: Array, w: Array, settings: Settings, residual: Array) -> Scalar:
    """Largest residual, relative to `set_residual_scale`."""
    inertia = settings.row_inertia
    square = 0.0
    for r in range(tree.nc):
        square = maximum(square, inertia[r] * (residual[r] * residual[r]))
    w.residual_scale[1] = DISABLED
    return relative_residual(w, square)


@kernel
def residual_progress(tree: Array, w: Array, settings: Settings, before: Array, residual: Array) -> Scalar:
    """`residual_norm`, or the change of the residual since ``before`` if that is less (**loops** Algorithm 3, line 9).

    The residual of contradictory rows does not fall, while their multipliers grow, and with these the rounding errors
    of accelerations. The residual of rows that differ from others only by rounded numbers in a file stagnates: a change
    of less than `stagnation` in an iteration, about as large as in the one before, counts as none.
    """
    least = stagnation(settings)
    inertia = settings.row_inertia
    square = 0.0
    change = 0.0
    for r in range(tree.nc):
        y = residual[r] - before[r]
        square = maximum(square, inertia[r] * (residual[r] * residual[r]))
        change = maximum(change, inertia[r] * (y * y))
    smaller = minimum(square, change)
    stagnant = where(0.25 * w.residual_scale[1], change, NEGLIGIBLE_RESIDUAL, relative_residual(w, smaller))
    w.residual_scale[1] = change
    return where(change, least * least * square, stagnant, relative_residual(w, smaller))


@kernel
def stagnation(settings: Settings) -> Scalar:
    """The least change of the residual in an iteration that is worth another, as a part of the residual.

    A row whose singular value is s changes by ``s^2 / (s^2 + R)``: under a large regularization also one that is
    independent changes by little, and iterations that end there have not converged.
    """
    return minimum(STAGNATION, RESOLVED_ROWS * settings.rounding)


@kernel
def relative_gap_squared(settings: Settings, result: Result) -> Scalar:
    """Square of the largest position error, in lengths of the robot (`Scales.length`) where these are below one."""
    shorter = maximum(1.0, settings.inverse_inertia / (12.0 * settings.inverse_mass))
    return (result.violation[0] * result.violation[0]) * shorter


@kernel
def relative_change(tree: Array, w: Array, problem: Problem, result: Result) -> Scalar:
    """Relative change of the residual in the last iteration: ``s^2 / R`` of rows that contradict each other."""
    square = 0.0
    for r in range(tree.nc):
        y = where(problem.R[r], DISABLED, result.residual[r], 0.0)
        square = maximum(square, problem.settings.row_inertia[r] * (y * y))
    return sqrt(w.residual_scale[1] / where(0.0, square, square, 1.0))


@kernel
def ends_by_stagnation(settings: Settings, result: Result, change: Scalar) -> Scalar:
    """One where iterations end because the residual, whose `relative_change` this is, stagnates; else zero."""
    return where(settings.tolerance, result.progress[0], 0.0, where(change, stagnation(settings), 1.0, 0.0))


@kernel
def remove_internal_forces(
    tree: Array, w: Array, problem: Problem, force: Array, change: Array, result: Result
) -> None:
    """Remove internal forces and their accelerations, where iterations end with rows that contradict each other.

    Where loops are open by d, redundant rows have a singular value s of the order of d in place of zero, and ``k`` has
    a component in which they contradict each other. With ``rho = R / (s^2 + R)``, n iterations satisfy ``1 - rho^n`` of
    this component, ``n s^2 / R`` where s is small: each adds the same internal force to the multipliers and the same
    ``da`` to accelerations. If n times the last of these is subtracted, ``n (n - 1) / 2 (s^2 / R)^2`` remains
    satisfied. ``force`` is the change of the multipliers in an iteration, for which ``M da = J' force`` holds to
    rounding, unlike for the residual over R; ``change`` is ``J da``.

    If the remainder is not a small part of accelerations, or if loops are open by more than drift and such rows are
    weak rather than contradictory, iterations have not converged, and ``progress`` is larger.
    """
    settings = problem.settings
    along = 0.0
    growth = 0.0
    for r in range(tree.nc):
        y = where(problem.R[r], DISABLED, result.residual[r], 0.0)
        along = along + y * result.multipliers[r]
        growth = growth + y * (y / problem.R[r])
    moved = 0.0
    for k in range(tree.nv):
        moved = moved + w.da[k] * w.da[k] / settings.mobility[k]
    # internal forces are orthogonal to all others, rows being weighed by R: n from multipliers = n residual / R + ...
    n = along / where(0.0, growth, growth, 1.0)
    part = relative_change(tree, w, problem, result)
    gap = relative_gap_squared(settings, result)
    redundant = where(gap, NEARLY_CLOSED * NEARLY_CLOSED, 1.0, where(part, DEPENDENT_CHANGE, 1.0, 0.0))
    left = where(0.5, redundant, 0.5 * (n - 1.0) * part, 1.0) * n * relative_residual(w, moved)
    ended = ends_by_stagnation(settings, result, part)
    n = ended * redundant * where(INTERNAL_ACCELERATION, left, 0.0, n)
    result.progress[0] = maximum(result.progress[0], ended * where(INTERNAL_ACCELERATION, left, left, 0.0))
    for k in range(tree.nv):
        result.a[k] -= n * w.da[k]
    for r in range(tree.nc):
        y = where(problem.R[r], DISABLED, result.residual[r], 0.0)
        result.multipliers[r] -= n * where(problem.R[r], DISABLED, force[r], 0.0)
        result.residual[r] = y + n * where(problem.R[r], DISABLED, change[r], 0.0)


@kernel
def residual_from_step(tree: Array, change: Array, R: Array, residual: Array) -> None:
    """``k - J a = R (lambda - lambda0)``; zero where a row is not enabled."""
    for r in range(tree.nc):
        residual[r] = where(R[r], DISABLED, R[r] * change[r], 0.0)


@kernel
def copy_rows(tree: Array, x: Array, y: Array) -> None:
    """``y = x``, for rows."""
    for r in range(tree.nc):
        y[r] = x[r]


@kernel
def subtract_rows(tree: Array, x: Array, y: Array) -> None:
    """``y -= x``, for rows."""
    for r in range(tree.nc):
        y[r] -= x[r]


@kernel
def first_forward_sweep(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """`setup_problem`, the scale of residuals, and the constraint violation."""
    setup_problem(tree, w, problem.q, problem.v, problem.wrenches, problem.target)
    set_residual_scale(tree, w, problem)
    constraint_violation(tree, w, problem.R, result)
