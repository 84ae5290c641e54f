# SPDX-License-Identifier: BSD-3-Clause
"""Contacts by a smoothing Newton method, whose matrix is factored by LCABA.

The conditions of all contacts are one equation for accelerations and forces: with ``f = T z``, ``T = diag(mu, mu, 1)``
and ``s = sqrt(|T y_t|² + e²)`` for the length of the tangential part in De Saxcé's correction, ::

    M a + c = tau + J' T z,        z = P(z - sigma w),        w = T y + (0, 0, s) + compliance z_n,        y = J a + b

with ``P`` the smoothed projection on the cone ``|z_t| <= z_n`` (`cones.smooth_cone`) at the smoothing ``theta``, which
goes to zero. Newton's step is that of `contact.direction`. Its length is the largest tried that reduces the residual
``|(z - P) / sigma|``, or leaves it near to theta.

Dynamics hold at every iterate, by the forces of its own step; loops are rows with a penalty and multipliers, as in
`lcaba`; limits and dry friction of joints are smoothed projections on intervals (`contact_equation`). The first step is
taken in full, about a guess: what gravity and velocities do, or that contacts of a warm start go on.

Other symbols as in `contact.problem` and `contact.direction`. Cost of a step: that of `lcaba`, and linear in contacts.
"""

from __future__ import annotations

from dataclasses import replace

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.constrained.lcaba import constraint_residual
from linkwork.kernels.constrained.problem import force_residual
from linkwork.kernels.contact.cones import project_cone, tangential_length
from linkwork.kernels.contact.direction import NEWTON_WORK, newton_direction
from linkwork.kernels.contact.equation import (
    linearize_box,
    linearize_contact,
    merit,
    on_path,
    penalized,
    penalty,
    scaled_force,
)
from linkwork.kernels.contact.problem import (
    INPUTS,
    OUTPUTS,
    ContactProblem,
    ContactResult,
    ContactSettings,
    contact_view,
    problem_residual,
    set_slot_vector,
    setup_contact_problem,
    slot_vector,
    write_step,
)
from linkwork.kernels.contact.restitution import reduce_restitution
from linkwork.kernels.contact.row_products import contact_accelerations
from linkwork.kernels.contact.smoothing import (
    APART,
    CLOSE,
    FACTOR,
    FRESH,
    LARGEST,
    LEAST,
    LEAST_SHRINK,
    NEAR,
    PATH,
    PREVIOUS,
    ROUND,
    SHRINK,
    SLACK,
    SMOOTHING,
    STUCK,
    follow_change,
    update_smoothing,
)
from linkwork.kernels.elementary import clamp, magnitude, maximum, minimum
from linkwork.kernels.integration import integrate_from_axes
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.kernels.spatial import symmetric_product
from linkwork.kernels.thresholds import DISABLED, STAGNATION
from linkwork.plans.contact_lcaba import CONTACT_LCABA_TREE, KNOWN_CONTACT_TREE

TRIALS = 9
"""Lengths of a step that are tried, each half of that before."""
REDUCTION = 0.1
"""Part of the step by which a length has to reduce the residual."""
SMALLEST = 0.01
"""Smoothing of a warm start that misses nothing, as a part of the tolerance."""
WARM = 0.3
"""A contact of a warm start goes on where less than this part of what its force can do would end it."""
SLIDES = 0.9
"""A contact of a warm start slides with more than this part of the force that friction can have."""
SLIPPING = 0.3
"""Smoothing of a warm start with contacts that slide, as a part of gravity, or of their velocity over the step."""
FIRST, ABOVE = 0.1, 1.001
"""The first step ends iterations only with this part of the tolerance, else its residual is said to be above it: what
steps of a simulation that start warm leave has one sign, and adds up."""
# The iteration ----------------------------------------------------------------------------------------------------


@kernel
def take_step(tree: Array, w: Array, result: ContactResult, t: Scalar) -> None:
    """Accelerations, rows and forces after the part ``t`` of the step."""
    for k in range(tree.nv):
        result.a[k] += t * w.da0[k]
    for s in range(tree.nslots):
        for k in range(3):
            w.contact_y[s, k] += t * w.contact_dy[s, k]
            result.forces[3 * s + k] += t * w.contact_df[s, k]
    for b in range(tree.nboxes):
        w.box_y[b] += t * w.box_dy[b]
        result.boxes[b] += t * w.box_df[b]
    for r in range(tree.nc):
        result.multipliers[r] += t * w.dmultipliers[r]
        w.rows[r] += t * w.drows[r]


@kernel
def step_length(
    tree: Array, w: Array, settings: ContactSettings, result: ContactResult, theta: Scalar, before: Scalar
) -> tuple[Scalar, Scalar]:
    """The first length of a halving that reduces the residual enough, or, close to a solution, leaves it near to the
    smoothing; or the best of all; and the residual there.

    Zero where none reduces it.
    """
    t = 0.0
    best = before
    open = 1.0
    trial = 2.0
    close = result.state[CLOSE]
    for _ in range(TRIALS):
        trial = 0.5 * trial
        if any_below(-open, 0.0):
            # by `where` of the same condition, so that straight-line programs can branch around all of it
            x = where(0.0, open, merit(tree, w, settings, result, theta, trial), DISABLED)
            enough = where(x, maximum((1.0 - REDUCTION * trial) * before, close * (NEAR * theta)), open, 0.0)
            better = where(x, best, open, enough)
            t = where(0.5, better, trial, t)
            best = where(0.5, better, x, best)
            open = open - enough
    return t, best


@kernel
def guess(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> Scalar:
    """Forces and ``y`` to linearize at first, and the smoothing there: what they miss.

    Contacts of a warm start are taken to go on, sticking or sliding, and others that do not approach to stay open.
    Without a start all that gravity closes are taken to stick, as they do in a pile at rest.
    """
    settings = problem.settings
    largest = 0.0
    bears = 0.0
    for s in range(tree.nslots):
        bears = maximum(bears, problem.forces0[3 * s + 2])
    cold = where(0.0, bears, 0.0, 1.0)
    for s in range(tree.nslots):
        f = slot_vector(problem.forces0, s)
        set_slot_vector(f, result.forces, s)
        b = w.contact_b[s]
        mu = tree.friction[s]
        goes_on = where(b[2], WARM * settings.D[s] * f[2], 1.0, 0.0)
        slides = where(tangential_length(f), SLIDES * mu * f[2], 0.0, goes_on)
        rests = where(magnitude(b[2]), settings.gravity, cold, 0.0)
        f = (f[0], f[1], where(0.5, rests, settings.gravity / settings.D[s], f[2]))
        set_slot_vector(f, result.forces, s)
        goes_on = maximum(goes_on, rests)
        moves = 1.0 - goes_on + slides
        w.contact_y[s, 0] = moves * b[0]
        w.contact_y[s, 1] = moves * b[1]
        w.contact_y[s, 2] = where(0.5, goes_on, 0.0, b[2])
        sigma = penalty(tree, s, settings)
        z = scaled_force(mu, f)
        p = project_cone(1.0, penalized(tree, w, s, settings, z, w.contact_y[s], 0.0))
        r = (z[0] - p[0], z[1] - p[1], z[2] - p[2])
        largest = maximum(largest, (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / (sigma * sigma))
        slip = SLIPPING * minimum(tangential_length(b), settings.gravity)
        largest = maximum(largest, slides * slip * slip)
    for k in range(tree.nboxes):
        result.boxes[k] = problem.boxes0[k]
        w.box_y[k] = w.box_b[k]
        sigma = settings.penalty / settings.box_D[k]
        x = clamp(problem.boxes0[k] - sigma * w.box_y[k], tree.box_lower[k], tree.box_upper[k])
        x = settings.box_unit[k] * (problem.boxes0[k] - x) / sigma
        largest = maximum(largest, x * x)
    for i in range(tree.nc):
        result.multipliers[i] = problem.multipliers0[i]
        w.rows[i] = w.k[i]
    for k in range(tree.nv):
        result.a[k] = 0.0
    return maximum(sqrt(largest), SMALLEST * settings.tolerance / settings.dt)


@kernel
def no_changes(tree: Array, w: Array) -> None:
    """A step of nothing."""
    for s in range(tree.nslots):
        for k in range(3):
            w.contact_dy[s, k] = 0.0
            w.contact_df[s, k] = 0.0
    for b in range(tree.nboxes):
        w.box_dy[b] = 0.0
        w.box_df[b] = 0.0


@kernel
def linearize(
    tree: Array, w: Array, settings: ContactSettings, result: ContactResult, theta: Scalar, fresh: Scalar
) -> Scalar:
    """All contacts and boxes; where ``fresh`` is one there are none, so that the step leads to free motion.

    Returns:
        The residual ``|(z - P) / sigma|``.
    """
    there = 1.0 - fresh
    square = 0.0
    for s in range(tree.nslots):
        y = (w.contact_y[s, 0], w.contact_y[s, 1], w.contact_y[s, 2])
        square = square + linearize_contact(tree, w, s, settings, slot_vector(result.forces, s), y, theta)
        for k in range(3):
            w.contact_P[s, k] *= there
            w.contact_g[s, k] *= there
        for k in range(6):
            w.contact_G[s, k] *= there
    for b in range(tree.nboxes):
        square = square + linearize_box(tree, w, b, settings, result.boxes[b], w.box_y[b], theta)
        w.box_P[b] *= there
        w.box_G[b] *= there
    return sqrt(square)


@kernel
def limit_energy(tree: Array, w: Array, problem: ContactProblem, result: ContactResult, going: Scalar) -> None:
    """Iterations go on with less restitution where they have ended (``going`` was one) and contacts added energy."""
    settings = problem.settings
    changed = reduce_restitution(tree, w, problem, result, going)
    if any_below(0.5 - changed, 0.0):
        no_changes(tree, w)
        now = merit(tree, w, settings, result, result.state[SMOOTHING], 0.0)
        follow_change(result.state, changed, now, settings.slack)


@kernel
def contact_newton(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """The first Newton step, in full, about a guess of what contacts do."""
    settings = problem.settings
    result.reduction[0] = 0.0
    setup_contact_problem(tree, w, problem, 0.0)
    theta = guess(tree, w, problem, result)
    linearize(tree, w, settings, result, theta, 0.0)
    for s in range(tree.nslots):  # P - G (b - y): forces at a = 0 of what is linear about the guess
        b = w.contact_b[s]
        y = w.contact_y[s]
        x = symmetric_product(w.contact_G[s], (b[0] - y[0], b[1] - y[1], b[2] - y[2]))
        for k in range(3):
            w.contact_P[s, k] -= x[k]
            w.contact_y[s, k] = b[k]
    for k in range(tree.nv):
        w.tau[k] = w.torque[k]
    for j in range(6):
        w.a[0, j] = 0.0
    newton_direction(tree, w, settings, result, theta)
    take_step(tree, w, result, 1.0)
    no_changes(tree, w)
    now = merit(tree, w, settings, result, theta, 0.0)
    result.state[LARGEST] = maximum(theta, now)
    result.state[SMOOTHING] = maximum(theta, APART * now / NEAR)
    result.state[PREVIOUS] = minimum(result.state[SMOOTHING] / SHRINK, result.state[LARGEST])
    result.state[FACTOR] = SHRINK
    result.state[LEAST] = LEAST_SHRINK
    result.state[STUCK] = 0.0
    result.state[SLACK] = settings.slack
    result.state[PATH] = 0.0
    missed = problem_residual(tree, w, problem, result, w.rows)
    result.residual[0] = where(missed, FIRST * settings.tolerance, missed, maximum(missed, ABOVE * settings.tolerance))
    update_smoothing(result.state, 0.9, DISABLED, now, missed / settings.dt, settings.slack)
    result.iterations[0] = 1.0
    write_step(tree, w, problem, result)
    limit_energy(tree, w, problem, result, 1.0)


@kernel
def rows_of(tree: Array, w: Array, a: Array) -> None:
    """``y``, ``box_y`` and ``rows`` of joint accelerations, and of bodies' after `force_residual`."""
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            u = contact_accelerations(tree, w, c, s)
            for k in range(3):
                w.contact_y[s, k] = w.contact_b[s, k] + u[k]
    for b in range(tree.nboxes):
        w.box_y[b] = w.box_b[b] + tree.box_sign[b] * a[tree.box_v[b]]
    for r in range(tree.nc):
        w.rows[r] = w.k[r]
    constraint_residual(tree, w, a, w.rows)


@kernel
def leave_contradictions(tree: Array, w: Array, settings: ContactSettings) -> None:
    """``row_forces``: ``rows``, or zeros where a full step does not change them.

    Rows that contradict each other, as redundant ones do that differ by rounding in a file, cannot be met.
    """
    square = 0.0
    change = 0.0
    for r in range(tree.nc):
        unit = where(settings.R[r], DISABLED, settings.row_unit[r], 0.0)
        square = square + unit * unit * (w.rows[r] * w.rows[r])
        change = change + unit * unit * (w.drows[r] * w.drows[r])
    for r in range(tree.nc):
        w.row_forces[r] = where(change, STAGNATION * STAGNATION * square, 0.0, w.rows[r])


@kernel
def write_best_step(tree: Array, w: Array, problem: ContactProblem, result: ContactResult, missed: Scalar) -> None:
    """The state after the step, of the iterate that missed least, and its residual."""
    h = problem.settings.dt
    best = result.residual[0]
    for k in range(tree.nv):
        w.v_after[k] = problem.v[k] + h * result.a[k]
    integrate_from_axes(tree, problem.q, w.v_after, h, w.q_after)
    for k in range(tree.nv):
        result.v[k] = where(missed, best, w.v_after[k], result.v[k])
    for k in range(tree.nq):
        result.q[k] = where(missed, best, w.q_after[k], result.q[k])
    for s in range(tree.nslots):
        u = w.contact_y[s]
        before = slot_vector(result.velocities, s)
        after = (
            where(missed, best, h * u[0], before[0]),
            where(missed, best, h * u[1], before[1]),
            where(missed, best, h * (u[2] - w.offset[s]), before[2]),
        )
        set_slot_vector(after, result.velocities, s)
    result.residual[0] = minimum(missed, best)


@kernel
def contact_newton_iterate(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """A further Newton step."""
    going = where(problem.settings.tolerance, result.residual[0], 1.0, 0.0)
    theta = result.state[SMOOTHING]
    # on the second path De Saxcé's correction comes as smoothing goes: from the convex problem, which has no traps
    path = result.state[PATH] - where(ROUND - 0.5, result.state[PATH], ROUND, 0.0)
    fading = 1.0 - minimum(theta / result.state[LARGEST], 1.0)
    saxce = where(0.5, path, where(1.5, path, 1.0, fading), 1.0)
    settings = on_path(problem.settings, path, result.state[SLACK], saxce)
    fresh = result.state[FRESH]
    force_residual(tree, w, w.torque, result.a)
    rows_of(tree, w, result.a)
    before = linearize(tree, w, settings, result, theta, fresh)
    newton_direction(tree, w, settings, result, before)
    t, now = step_length(tree, w, settings, result, theta, before)
    if any_below(0.5 - fresh, 0.0):
        t = where(0.5, fresh, 1.0, t)
        now = where(0.5, fresh, merit(tree, w, settings, result, theta, 1.0), now)
    take_step(tree, w, result, t)
    leave_contradictions(tree, w, settings)
    missed = problem_residual(tree, w, problem, result, w.row_forces)
    update_smoothing(result.state, t, before, now, missed / settings.dt, problem.settings.slack)
    write_best_step(tree, w, problem, result, missed)
    result.iterations[0] += 1.0
    limit_energy(tree, w, problem, result, going)


CONTACT_NEWTON = Algorithm(
    "contact_newton",
    contact_newton,
    INPUTS,
    OUTPUTS,
    NEWTON_WORK,
    CONTACT_LCABA_TREE,
    contact_newton_iterate,
    view=contact_view,
    uneven=True,
)


@kernel
def known_contact_view(tree: Array, *arrays: Array) -> tuple[ContactProblem, ContactResult]:
    """Problem and result with the settings of the plan; the loop reads the tolerance and the iteration limit of the
    inputs.
    """
    return contact_view(tree, *arrays[0:6], tree.solver_settings, *arrays[7:10])


KNOWN_CONTACT_NEWTON = replace(
    CONTACT_NEWTON, name="known_contact_newton", layout=KNOWN_CONTACT_TREE, view=known_contact_view, traced=True
)
"""With settings that are constants of a straight-line program."""
