# SPDX-License-Identifier: BSD-3-Clause
"""Contacts by Newton's method on an augmented Lagrangian, whose matrix is factored by LCABA.

With ``f0`` forces, ``sigma`` a penalty and ``Gamma`` the correction of De Saxcé, all held, accelerations minimize ::

    1/2 |a - a_free|²_M + 1/(2 sigma) |P_K(f0 - sigma (J a + b + Gamma))|²        plus loops, limits, dry friction

which is convex and once differentiable. Newton's matrix is ``M + J' G J`` with a symmetric 3 x 3 block ``G`` for each
contact, sigma times the derivative of the projection: LCABA, whose rows carry blocks instead of numbers (`lcaba`).
Forces ``f`` of an iterate are those that its accelerations are the motion of, ``M a + c = tau + J' f``, so that dynamics
always hold; the slope of the function along a step, ``J da . (f - P_K(...))``, needs rows alone.

| symbol      | meaning                                                                                        |
|-------------|------------------------------------------------------------------------------------------------|
| P, G        | projected force of each contact, and its block of Newton's matrix                               |
| dy          | ``J da`` of each contact: what a full step changes ``y`` by                                     |
| df          | what a full step changes forces by                                                              |
| box_P, box_G, box_dy, box_df | the same of limits and dry friction                                            |
| rows, drows | ``k - J_l a`` of loops, and what a full step changes it by                                      |

Other symbols as in `contact_problem`. Cost of a step: that of `lcaba`, and linear in contacts.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.cones import clamp, clamp_slope, cone_derivative, magnitude, project_cone, tangential_length
from linkwork.kernels.constrained import DISABLED, force_residual, maximum
from linkwork.kernels.contact_problem import (
    INPUTS,
    OUTPUTS,
    PROBLEM_WORK,
    ContactProblem,
    ContactResult,
    ContactSettings,
    add_contact_inertia,
    apply_contact_force,
    contact_accelerations,
    contact_view,
    problem_residual,
    set_slot_vector,
    setup_contact_problem,
    slot_vector,
    write_step,
)
from linkwork.kernels.lcaba import (
    apply_constraint_forces,
    articulate_coupled,
    constraint_residual,
    coupled_accelerations,
    coupled_bias_forces,
    init_augmented_inertias,
)
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Six, Triple, dot, symmetric_product
from linkwork.plans.contact_lcaba import CONTACT_LCABA_TREE

TRIALS = 8
"""Lengths of a step that the line search tries."""
SHORT = 0.5
"""A full step is taken where the slope at its end is less than this part of that at its start."""

NEWTON_WORK: dict[str, Shape] = PROBLEM_WORK | {
    "contact_P": ("nslots", 3),
    "contact_G": ("nslots", 6),
    "contact_dy": ("nslots", 3),
    "contact_df": ("nslots", 3),
    "box_P": ("nboxes",),
    "box_G": ("nboxes",),
    "box_dy": ("nboxes",),
    "box_df": ("nboxes",),
    "rows": ("nc",),
    "drows": ("nc",),
    "row_forces": ("nc",),
}


# Projections ------------------------------------------------------------------------------------------------------


@kernel
def squeeze(tree: Array, s: int, settings: ContactSettings) -> Scalar:
    """How much softer the penalty of the normal direction is than that of tangents, by compliance; a root."""
    sigma = settings.penalty / settings.D[s]
    return 1.0 / sqrt(1.0 + sigma * (tree.contact_compliance[s] / (settings.dt * settings.dt)))


@kernel
def penalized(tree: Array, s: int, settings: ContactSettings, f0: Vector, gamma: Scalar, y: Vector) -> Triple:
    """``f0 - sigma (y + Gamma)``, the normal component divided by `squeeze`."""
    sigma = settings.penalty / settings.D[s]
    k = squeeze(tree, s, settings)
    return f0[0] - sigma * y[0], f0[1] - sigma * y[1], k * (f0[2] - sigma * (y[2] + gamma))


@kernel
def projected(tree: Array, s: int, settings: ContactSettings, f0: Vector, gamma: Scalar, y: Vector) -> Triple:
    """The force ``P_K(f0 - sigma (y + Gamma))`` of a contact; compliance makes the norm another."""
    k = squeeze(tree, s, settings)
    p = project_cone(k * tree.friction[s], penalized(tree, s, settings, f0, gamma, y))
    return p[0], p[1], k * p[2]


@kernel
def contact_block(tree: Array, s: int, settings: ContactSettings, f0: Vector, gamma: Scalar, y: Vector) -> Six:
    """``G``: minus the derivative of `projected` by ``y``."""
    sigma = settings.penalty / settings.D[s]
    k = squeeze(tree, s, settings)
    d = cone_derivative(k * tree.friction[s], penalized(tree, s, settings, f0, gamma, y))
    n = sigma * k
    return sigma * d[0], sigma * d[1], n * d[2], sigma * d[3], n * d[4], n * k * d[5]


@kernel
def box_penalized(settings: ContactSettings, b: int, f0: Scalar, y: Scalar) -> Scalar:
    """``f0 - sigma y`` of a limit, or of dry friction."""
    return f0 - settings.penalty / settings.box_D[b] * y


@kernel
def linearize(tree: Array, w: Array, settings: ContactSettings, result: ContactResult) -> None:
    """``P`` and ``G`` of all contacts and boxes at ``y``."""
    for s in range(tree.nslots):
        f0 = slot_vector(result.center, s)
        p = projected(tree, s, settings, f0, result.gamma[s], w.contact_y[s])
        g = contact_block(tree, s, settings, f0, result.gamma[s], w.contact_y[s])
        for k in range(3):
            w.contact_P[s, k] = p[k]
        for k in range(6):
            w.contact_G[s, k] = g[k]
    for b in range(tree.nboxes):
        x = box_penalized(settings, b, result.box_center[b], w.box_y[b])
        w.box_P[b] = clamp(x, tree.box_lower[b], tree.box_upper[b])
        slope = clamp_slope(x, tree.box_lower[b], tree.box_upper[b])
        w.box_G[b] = settings.penalty / settings.box_D[b] * slope


# Newton's step ----------------------------------------------------------------------------------------------------


@kernel
def factorize_contacts(tree: Array, w: Array, settings: ContactSettings) -> None:
    """The factor of ``M + J' G J``, loops included."""
    init_augmented_inertias(tree, w, settings.R)
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            add_contact_inertia(tree, w, c, s, w.contact_G[s])
    for b in range(tree.nboxes):
        w.joint_inertia[tree.box_v[b]] += w.box_G[b]
    articulate_coupled(tree, w)


@kernel
def apply_row_forces(tree: Array, w: Array, multipliers: Array) -> None:
    """``f -= K' P``, ``tau += K' P`` of contacts and boxes, and forces ``lambda + mu (k - J_l a)`` of loops."""
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            apply_contact_force(tree, w, c, s, (w.contact_P[s, 0], w.contact_P[s, 1], w.contact_P[s, 2]))
    for b in range(tree.nboxes):
        w.tau[tree.box_v[b]] += tree.box_sign[b] * w.box_P[b]
    for r in range(tree.nc):
        w.row_forces[r] = multipliers[r] + w.mu[r] * w.rows[r]
    apply_constraint_forces(tree, w, w.row_forces)


@kernel
def row_accelerations(tree: Array, w: Array, qdd: Array) -> None:
    """``dy``, ``box_dy`` and ``drows``: what joint accelerations ``qdd``, and those of bodies, change rows by."""
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            u = contact_accelerations(tree, w, c, s)
            for k in range(3):
                w.contact_dy[s, k] = u[k]
    for b in range(tree.nboxes):
        w.box_dy[b] = tree.box_sign[b] * qdd[tree.box_v[b]]
    for r in range(tree.nc):
        w.drows[r] = 0.0
    constraint_residual(tree, w, qdd, w.drows)


@kernel
def newton_direction(tree: Array, w: Array, settings: ContactSettings, result: ContactResult) -> None:
    """``da``, and what it changes rows by, from forces ``f`` and torques ``tau`` that are out of balance."""
    factorize_contacts(tree, w, settings)
    apply_row_forces(tree, w, result.multipliers)
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, w.da)
    row_accelerations(tree, w, w.da)


# Line search --------------------------------------------------------------------------------------------------------


@kernel
def slope(tree: Array, w: Array, settings: ContactSettings, result: ContactResult, t: Scalar) -> Scalar:
    """The derivative of the augmented Lagrangian along the step, at the part ``t`` of it."""
    x = 0.0
    for s in range(tree.nslots):
        dy = w.contact_dy[s]
        f = slot_vector(result.forces, s)
        y = (w.contact_y[s, 0] + t * dy[0], w.contact_y[s, 1] + t * dy[1], w.contact_y[s, 2] + t * dy[2])
        p = projected(tree, s, settings, slot_vector(result.center, s), result.gamma[s], y)
        for k in range(3):
            x = x + dy[k] * (f[k] + t * w.contact_df[s, k] - p[k])
    for b in range(tree.nboxes):
        y = box_penalized(settings, b, result.box_center[b], w.box_y[b] + t * w.box_dy[b])
        p = clamp(y, tree.box_lower[b], tree.box_upper[b])
        x = x + w.box_dy[b] * (result.boxes[b] + t * w.box_df[b] - p)
    for r in range(tree.nc):
        enabled = where(settings.R[r], DISABLED, w.mu[r], 0.0)
        x = x + (1.0 - t) * enabled * (w.drows[r] * w.rows[r])
    return x


@kernel
def line_search(tree: Array, w: Array, settings: ContactSettings, result: ContactResult) -> Scalar:
    """The part of the step at which the slope is about zero: regula falsi (Illinois), or all of it."""
    low = 0.0
    high = 1.0
    below = slope(tree, w, settings, result, 0.0)
    above = slope(tree, w, settings, result, 1.0)
    least = -(SHORT * below)
    t = 1.0
    at = above
    for _ in range(TRIALS):
        open = where(least, at, 1.0, where(at, -least, 1.0, 0.0))
        open = where(above, 0.0, 0.0, open)
        width = above - below
        trial = (low * above - high * below) / where(0.0, width, width, 1.0)
        t = where(0.5, open, trial, t)
        at = where(0.5, open, slope(tree, w, settings, result, t), at)
        beyond = where(0.0, at, 1.0, 0.0)
        # an end that stays has its slope halved
        high = where(0.5, beyond * open, t, high)
        low = where(0.5, (1.0 - beyond) * open, t, low)
        above = where(0.5, open, where(0.5, beyond, at, 0.5 * above), above)
        below = where(0.5, open, where(0.5, beyond, 0.5 * below, at), below)
    return t


# The iteration ------------------------------------------------------------------------------------------------------


@kernel
def forces_of_step(tree: Array, w: Array, result: ContactResult) -> None:
    """``df``: a full step has the forces ``P - G dy``."""
    for s in range(tree.nslots):
        g = symmetric_product(w.contact_G[s], w.contact_dy[s])
        for k in range(3):
            w.contact_df[s, k] = w.contact_P[s, k] - g[k] - result.forces[3 * s + k]
    for b in range(tree.nboxes):
        w.box_df[b] = w.box_P[b] - w.box_G[b] * w.box_dy[b] - result.boxes[b]


@kernel
def take_step(tree: Array, w: Array, result: ContactResult, t: Scalar) -> None:
    """Accelerations, rows and forces after the part ``t`` of the step."""
    for k in range(tree.nv):
        result.a[k] += t * w.da[k]
    for s in range(tree.nslots):
        for k in range(3):
            w.contact_y[s, k] += t * w.contact_dy[s, k]
            result.forces[3 * s + k] += t * w.contact_df[s, k]
    for b in range(tree.nboxes):
        w.box_y[b] += t * w.box_dy[b]
        result.boxes[b] += t * w.box_df[b]
    for r in range(tree.nc):
        result.multipliers[r] += t * w.mu[r] * (w.rows[r] + w.drows[r])
        w.rows[r] += t * w.drows[r]


@kernel
def update_centers(tree: Array, w: Array, settings: ContactSettings, result: ContactResult, whole: Scalar) -> None:
    """``f0 = P_K(f0 - sigma (y + Gamma))`` and ``Gamma(y)``, where ``whole`` is one."""
    for s in range(tree.nslots):
        f0 = slot_vector(result.center, s)
        p = projected(tree, s, settings, f0, result.gamma[s], w.contact_y[s])
        for k in range(3):
            result.center[3 * s + k] = where(0.5, whole, p[k], f0[k])
        gamma = tree.friction[s] * tangential_length(w.contact_y[s])
        result.gamma[s] = where(0.5, whole, gamma, result.gamma[s])
    for b in range(tree.nboxes):
        x = box_penalized(settings, b, result.box_center[b], w.box_y[b])
        p = clamp(x, tree.box_lower[b], tree.box_upper[b])
        result.box_center[b] = where(0.5, whole, p, result.box_center[b])


@kernel
def mismatch(tree: Array, w: Array, settings: ContactSettings, result: ContactResult) -> Scalar:
    """The largest distance of forces from projected ones, as a velocity: zero at the minimum."""
    largest = 0.0
    for s in range(tree.nslots):
        p = projected(tree, s, settings, slot_vector(result.center, s), result.gamma[s], w.contact_y[s])
        f = slot_vector(result.forces, s)
        x = (f[0] - p[0], f[1] - p[1], f[2] - p[2])
        largest = maximum(largest, settings.D[s] * sqrt(dot(x, x)))
    for b in range(tree.nboxes):
        x = box_penalized(settings, b, result.box_center[b], w.box_y[b])
        p = clamp(x, tree.box_lower[b], tree.box_upper[b])
        largest = maximum(largest, settings.box_unit[b] * settings.box_D[b] * magnitude(result.boxes[b] - p))
    return settings.dt * largest


@kernel
def guess_rows(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """Where to linearize first: contacts that gravity would close are taken for sticking, or for sliding as they do."""
    for s in range(tree.nslots):
        f0 = slot_vector(problem.forces0, s)
        set_slot_vector(f0, result.center, s)
        set_slot_vector((0.0, 0.0, 0.0), result.forces, s)
        b = w.contact_b[s]
        w.contact_y[s, 0] = b[0]
        w.contact_y[s, 1] = b[1]
        w.contact_y[s, 2] = where(0.0, f0[2], 0.0, b[2] - problem.settings.gravity)
        result.gamma[s] = tree.friction[s] * tangential_length(b)
    for b in range(tree.nboxes):
        result.box_center[b] = problem.boxes0[b]
        result.boxes[b] = 0.0
        w.box_y[b] = w.box_b[b]
    for r in range(tree.nc):
        result.multipliers[r] = problem.multipliers0[r]
        w.rows[r] = w.k[r]
    for k in range(tree.nv):
        result.a[k] = 0.0


@kernel
def contact_newton(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """The first Newton step, about a guess of what contacts do."""
    settings = problem.settings
    setup_contact_problem(tree, w, problem)
    guess_rows(tree, w, problem, result)
    linearize(tree, w, settings, result)
    for s in range(tree.nslots):  # P - G (b - y): forces at a = 0 of what is linear about the guess
        b = w.contact_b[s]
        g = symmetric_product(
            w.contact_G[s], (b[0] - w.contact_y[s, 0], b[1] - w.contact_y[s, 1], b[2] - w.contact_y[s, 2])
        )
        for k in range(3):
            w.contact_P[s, k] -= g[k]
            w.contact_y[s, k] = b[k]
    for k in range(tree.nv):
        w.tau[k] = w.torque[k]
    for j in range(6):
        w.a[0, j] = 0.0
    newton_direction(tree, w, settings, result)
    forces_of_step(tree, w, result)
    take_step(tree, w, result, 1.0)
    update_centers(tree, w, settings, result, 1.0)
    result.residual[0] = problem_residual(tree, w, problem, result, w.rows)
    result.iterations[0] = 1.0
    for k in range(6):
        result.state[k] = 0.0
    write_step(tree, w, problem, result)


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
def contact_newton_iterate(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """A further Newton step, and new multipliers where it was taken in full."""
    settings = problem.settings
    force_residual(tree, w, w.torque, result.a)
    rows_of(tree, w, result.a)
    linearize(tree, w, settings, result)
    newton_direction(tree, w, settings, result)
    forces_of_step(tree, w, result)
    t = line_search(tree, w, settings, result)
    take_step(tree, w, result, t)
    miss = mismatch(tree, w, settings, result)
    now = problem_residual(tree, w, problem, result, w.rows)
    update_centers(tree, w, settings, result, where(miss, maximum(0.1 * now, 0.01 * settings.tolerance), 1.0, 0.0))
    result.residual[0] = now
    result.iterations[0] += 1.0
    write_step(tree, w, problem, result)


CONTACT_NEWTON = Algorithm(
    "contact_newton",
    contact_newton,
    INPUTS,
    OUTPUTS,
    NEWTON_WORK,
    CONTACT_LCABA_TREE,
    contact_newton_iterate,
    view=contact_view,
)
