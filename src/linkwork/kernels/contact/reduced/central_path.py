# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method along the central path: what solves steps that semismooth Newton does not.

Solutions of smoothed equations (`smoothing_newton`) for all smoothings are the central path of interior-point methods,
but iterates need not be inside the cones, so that a path may begin anywhere. A step to another smoothing is linear in
the change of the smoothing: one factor and two solutions, Newton's step at ``theta`` and the tangent of the path, give
the steps to all (Burke and Xu, "A non-interior predictor-corrector path following algorithm", 1998). Of the smoothings
``LEAST theta, RATIO LEAST theta, ...`` the least is taken whose full step ends near the path: with a residual below
``near`` times the smoothing. Where there is none, Newton's step at ``theta`` is halved until it reduces the residual.
Where it hardly does, the path bends back (De Saxcé's term makes equations nonmonotone), and smoothing grows; after
`SETBACKS` of these, another path begins, at larger smoothing, with iterates nearer to it. On the last one De Saxcé's
term fades in: it begins at the convex problem, whose equations are monotone.

| symbol    | meaning                                                                                     |
|-----------|---------------------------------------------------------------------------------------------|
| theta     | smoothing, a velocity                                                                       |
| tangent   | ``-theta`` times the derivative of the step by the change of ``theta``: of ``z, y, v``       |
| part      | of ``theta``: the smoothing that a step leads to                                             |

Cost of an iteration: that of `smoothing_newton`, a further solution, and residuals, linear in rows.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.factor import solve_reduced
from linkwork.kernels.contact.reduced.matrix import add_rows_transposed, rows_times
from linkwork.kernels.contact.reduced.problem import ACTIVE, BOX, CONE, CONES, PYRAMID, SYMMETRIC
from linkwork.kernels.contact.reduced.pyramid import linearize_pyramid_smoothing
from linkwork.kernels.contact.reduced.residual import final_residual, keep_best, problem_residual
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.contact.reduced.smoothing_newton import (
    ROUNDING,
    Smoothing,
    cone_spectrum,
    interval,
    linearize,
    merit,
    newton_direction,
    row_velocities,
    smoothing_of,
    take_step,
    unprojected,
)
from linkwork.kernels.elementary import maximum, minimum, total_of
from linkwork.kernels.scalar import Array, Scalar, in_warp, kernel, prange, some_below, sqrt, where
from linkwork.kernels.thresholds import LEAST_RADIUS, LEAST_SMOOTHING
from linkwork.model.thresholds import UNBOUNDED

PATHS = 3
"""Paths that are tried: from the impulses of the step before, then twice from none."""
NEAR, NEARER = 10.0, 3.0
"""Residuals of steps end below so many times the smoothing, on the first path and on later ones."""
WIDE = 10.0
"""Later paths begin at so many times the largest velocity of a row."""
PENALTIES = (3.0, 100.0, 1.0)
"""Weights of ``w`` against ``z`` on the paths, in units of the inertia of a row: where one path bends back, others with
a weight far from it need not."""
LEAST, RATIO, TARGETS = 1e-3, 3.0, 7
"""The least part of the smoothing that a step may lead to, the ratio of those that are tried, and how many are below
one."""
TRIALS = 7
"""Lengths of Newton's step that are tried, each half of that before."""
REDUCTION = 0.1
"""Part of a length by which it has to reduce the residual."""
SHORT = 0.1
"""Shorter steps are setbacks: smoothing becomes `RATIO` times what it was."""
SETBACKS = 5.5
"""With more of them a path ends."""

PATH_WORK: dict[str, Shape] = {"tangent_z": ("nrows",), "tangent_y": ("nrows",), "tangent_v": ("nv",)}


# The tangent of the path --------------------------------------------------------------------------------------------

# With 2 tau = theta dtau / dtheta and s ds = (ROUNDING theta)² dtheta / theta, of the eigenvector (1, t):
#
#     theta P_theta = (2 tau - sigma p_a theta s_theta) / q_a         p_a = (a + q_a) / 2,  q_a = sqrt(a² + 4 tau)
#
# and likewise of (1, -t); r1 = -(1 + S C)^-1 (1 - D)^-1 theta P_theta.


@kernel
def linearize_smoothing(w: Array, e: int, how: Smoothing) -> None:
    """``r1``, in ``tangent_z``, of a set."""
    row = w.cone_row[e]
    sigma = how.penalty * w.cone_sigma[e]
    for r in range(row, row + w.cone_dim[e]):
        w.tangent_z[r] = 0.0
    if w.cone_kind[e] == CONE:
        Cn = w.compliance[row]
        _, _, length, tau, pa, pb, ia, ib, plus, minus, _, Sp, Sm, _, Ct = x = cone_spectrum(w, e, sigma, how)
        shift = 0.0
        if w.cone_dim[e] > 1:
            rounding = ROUNDING * how.theta
            shift = how.saxce * sigma * w.cone_saxce[e] * rounding * rounding / maximum(length, LEAST_RADIUS)
        first = plus * (2.0 * tau - pa * shift) * ia
        second = minus * (2.0 * tau - pb * shift) * ib
        r0 = 0.5 * (first + second)
        rt = 0.5 * (first - second)
        mean = 0.5 * (Sp + Sm)
        mixed = 0.5 * (Sp - Sm)
        share = -1.0 / (1.0 + mean * (Cn + Ct) + Cn * Ct * Sp * Sm)
        w.tangent_z[row] = share * ((1.0 + mean * Ct) * r0 - mixed * Ct * rt)
        rt = share * ((1.0 + mean * Cn) * rt - mixed * Cn * r0)
        for r in range(row + 1, row + w.cone_dim[e]):
            w.tangent_z[r] = rt * unprojected(w, r, sigma, 0.0) * x.inverse
    elif w.cone_kind[e] == BOX:
        tau = smoothing_of(w, e, sigma, how)
        u = unprojected(w, row, sigma, 0.0)
        a = u - w.lower[e]
        b = u - w.upper[e]
        _, slope, rest = interval(w, e, u, tau)
        change = 2.0 * tau / sqrt(a * a + 4.0 * tau) - 2.0 * tau / sqrt(b * b + 4.0 * tau)
        w.tangent_z[row] = -change / maximum(rest + slope * sigma * w.compliance[row], how.slack)
    elif w.cone_kind[e] == PYRAMID:
        linearize_pyramid_smoothing(w, e, sigma, smoothing_of(w, e, sigma, how))


@kernel
def path_tangent(tree: Array, w: Array) -> None:
    """``tangent_v, tangent_y, tangent_z``, after `newton_direction`; ``r1`` is in ``tangent_z``."""
    if in_warp():
        for k in prange(tree.nv):
            w.tangent_v[k] = 0.0
    for place in prange(w.counts[ACTIVE]):
        a = w.active_limb[place]
        for k in range(tree.limb_v[a], tree.limb_v[a] + tree.limb_size[a]):
            w.tangent_v[k] = 0.0
    add_rows_transposed(tree, w, w.tangent_z, w.tangent_v)
    solve_reduced(tree, w, w.tangent_v)
    rows_times(tree, w, w.tangent_v, w.tangent_y)
    for e in prange(w.counts[CONES]):
        row = w.cone_row[e]
        for i in range(w.cone_dim[e]):
            for j in range(w.cone_dim[e]):
                w.tangent_z[row + i] -= w.cone_G[row + i, j] * w.tangent_y[row + j]


@kernel
def add_tangent(w: Array, part: Scalar) -> None:
    """Add a part of the tangent to the step of rows."""
    for e in prange(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            w.dz[r] += part * w.tangent_z[r]
            w.dy[r] += part * w.tangent_y[r]


# Steps along the path -----------------------------------------------------------------------------------------------


@kernel
def choose_smoothing(w: Array, how: Smoothing, near: Scalar) -> tuple[Scalar, Scalar]:
    """The least part of the smoothing whose full step ends near the path, and whether there is one: ``dz, dy`` are that
    step, or else Newton's."""
    part = 1.0
    searching = 1.0
    trial = LEAST
    k = 0
    while k < TARGETS and some_below(-searching, 0.0):
        add_tangent(w, searching * (part - trial))
        part = where(0.5, searching, trial, part)
        x = merit(w, how._replace(theta=trial * how.theta), 1.0)
        searching = searching * where(x, near * trial * how.theta, 0.0, 1.0)
        trial = RATIO * trial
        k += 1
    add_tangent(w, searching * (part - 1.0))
    return where(0.5, searching, 1.0, part), 1.0 - searching


@kernel
def step_length(w: Array, how: Smoothing, before: Scalar, searching: Scalar) -> Scalar:
    """The first length of a halving that reduces the residual enough, or the best of all; one in lanes that are not
    ``searching``."""
    t = 1.0 - searching
    best = before
    trial = 2.0
    k = 0
    while k < TRIALS and some_below(-searching, 0.0):
        trial = 0.5 * trial
        x = merit(w, how, trial)
        better = where(x, best, searching, 0.0)
        t = where(0.5, better, trial, t)
        best = where(0.5, better, x, best)
        searching = searching * where(x, (1.0 - REDUCTION * trial) * before, 0.0, 1.0)
        k += 1
    return t


@kernel
def largest_velocity(w: Array) -> Scalar:
    """The largest velocity of cones that close or slide."""
    largest = 0.0
    for e in range(w.counts[CONES]):
        if w.cone_kind[e] == CONE or w.cone_kind[e] == PYRAMID:
            y = minimum(w.row_y[w.cone_row[e]], 0.0)
            square = y * y
            for r in range(w.cone_row[e] + 1, w.cone_row[e] + w.cone_dim[e]):
                square = square + w.row_y[r] * w.row_y[r]
            largest = maximum(largest, w.cone_unit[e] * sqrt(square))
    return largest


@kernel
def follow_path(
    tree: Array, w: Array, settings: ReducedSettings, number: int, failed: Scalar, best: Scalar, left: Scalar
) -> tuple[Scalar, Scalar]:
    """The least residual along a path in lanes that have ``failed``, and iterations below ``left``.

    Args:
        tree: Of the robot.
        w: Work arrays, at the first iterate.
        settings: Parameters of the step.
        number: Of the path, from zero on.
        failed: One in lanes that take part.
        best: The least residual so far.
        left: The most iterations.
    """
    near = NEARER if number > 0 else NEAR
    penalty = PENALTIES[0]
    if number > 0:
        penalty = PENALTIES[1] if number < PATHS - 1 else PENALTIES[2]
    fading = 1.0 if number == PATHS - 1 else 0.0
    row_velocities(tree, w)
    for e in prange(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            w.dz[r] = 0.0
            w.dy[r] = 0.0
    theta = merit(w, Smoothing(0.0, penalty, settings.slack, 1.0, settings.mean, 0.0), 0.0)
    theta = maximum(theta, settings.gravity * settings.dt)
    if number > 0:
        theta = maximum(theta, WIDE * largest_velocity(w))
    first = theta
    going = failed
    missed = UNBOUNDED
    iterations = 0.0
    setbacks = 0.0
    while some_below(0.5 - going, 0.0):
        saxce = 1.0 - fading * minimum(theta / first, 1.0)
        how = Smoothing(theta, penalty, settings.slack, saxce, settings.mean, 0.0)
        w.counts[SYMMETRIC] = 1
        for e in prange(w.counts[CONES]):
            w.set_value[e] = linearize(w, e, how)
            linearize_smoothing(w, e, how)
        before = total_of(w.set_value, w.counts[CONES])
        newton_direction(tree, w)
        path_tangent(tree, w)
        part, path = choose_smoothing(w, how, near)
        searching = where(0.5, iterations, 1.0 - path, 0.0)  # the first step is a full one: it balances momentum
        t = step_length(w, how, sqrt(before), searching)
        for place in prange(w.counts[ACTIVE]):
            a = w.active_limb[place]
            for k in range(tree.limb_v[a], tree.limb_v[a] + tree.limb_size[a]):
                w.dv[k] += (1.0 - part) * w.tangent_v[k]
        take_step(tree, w, going * t)
        setback = where(t, SHORT, 1.0, 0.0)
        theta = maximum(where(0.5, setback, RATIO, part) * theta, LEAST_SMOOTHING * first)
        setbacks = setbacks + setback
        end = final_residual(settings.tolerance, missed)
        missed = problem_residual(w)
        best = where(0.5, going, keep_best(tree, w, where(0.5, going, missed, best), best), best)
        iterations = iterations + going
        going = going * where(end, missed, where(iterations, left, 1.0, 0.0), 0.0)
        going = going * where(setbacks, SETBACKS, where(missed, UNBOUNDED, 1.0, 0.0), 0.0)
    return best, iterations
