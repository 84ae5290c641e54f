# SPDX-License-Identifier: BSD-3-Clause
"""Contacts by a smoothing Newton method, whose matrix is factored by LCABA.

The conditions of all contacts are one equation for accelerations and forces: with ``f = T z``, ``T = diag(mu, mu, 1)``
and ``s = sqrt(|y_t|² + e²)`` for the length of the tangential part in De Saxcé's correction, ::

    M a + c = tau + J' T z,        z = P(z - sigma w),        w = T y + (0, 0, s) + compliance z_n,        y = J a + b

with ``P`` the smoothed projection on the cone ``|z_t| <= z_n`` (`cones.smooth_cone`) at the smoothing ``theta``, which
goes to zero. Newton's step has ``dz = -G (T dy + (0, 0, eta)) - r'`` with a symmetric block ``G`` of each contact and
``eta = y_t . dy_t / s``: for given ``eta``, accelerations are those of LCABA whose rows carry blocks instead of numbers;
one number ``eta`` of each contact is found by a few conjugate residuals (GCR), each of which is a product with the
inverse of the factored matrix. The length of a step is the largest tried that reduces the residual ``|(z - P) / sigma|``.

Dynamics hold at every iterate, by the forces of its own step; loops are rows with a penalty and multipliers, as in
`lcaba`; limits and dry friction of joints are smoothed projections on intervals.

| symbol      | meaning                                                                                        |
|-------------|------------------------------------------------------------------------------------------------|
| contact_P, contact_G | forces at the start of a full step, and what they lose with ``dy``: ``f + df = P - G dy - g eta`` |
| contact_g   | force of a unit of ``eta``                                                                     |
| contact_t   | ``eta = contact_t . dy_t``                                                                     |
| contact_dy, contact_df | what a full step changes ``y`` and ``f`` by                                         |
| box_P, box_G, box_dy, box_df | the same of limits and dry friction                                            |
| rows, drows | ``k - J_l a`` of loops, and what a full step changes it by                                     |
| eta, eta_r  | ``eta`` of each contact, and the residual of its equation                                      |
| krylov, krylov_A | directions of GCR, and their images                                                       |

Other symbols as in `contact_problem`. Cost of a step: that of `lcaba`, and linear in contacts.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.cones import clamp, magnitude, project_cone, smooth_cone, smooth_plus, spectral, tangential_length
from linkwork.kernels.constrained import clear_forces, force_residual, maximum, minimum
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
from linkwork.kernels.scalar import Array, Scalar, Vector, any_below, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, symmetric_product
from linkwork.plans.contact_lcaba import CONTACT_LCABA_TREE

LEAST_SLACK = 1e-7
"""One less an eigenvalue of the projection's derivative is at least this: it bounds penalties."""
DIRECTIONS = 3
"""The most conjugate residuals of a step."""
INEXACT = 0.1
"""What they leave of their residual."""
NEGLIGIBLE = 0.02
"""Or of the residual of contacts."""
TRIALS = 9
"""Lengths of a step that are tried, each half of that before."""
REDUCTION = 0.1
"""Part of the step by which a length has to reduce the residual."""
SHORT = 0.05
"""Where steps are shorter, smoothing goes back."""
NEAR = 3.0
"""Smoothing goes down where the residual is less than this many times it."""
FAST = 0.1
"""And faster, where it is less than this part of that."""
SHRINK, LEAST_SHRINK, MOST_SHRINK = 0.1, 0.02, 0.8
"""The factor by which it does: at first, and its bounds."""
ROUNDING = 0.003
"""``e`` as a part of the smoothing."""
LEAST_SMOOTHING = 1e-14
"""Smoothing at the end, as a part of that at the beginning."""

SOFT = 0.5
"""Part of the tolerance that the largest force may make by compliance."""
SOFTEST = 1e-6
"""And the most, as a part of the inverse inertia that a contact feels."""
FAILURES = 5.5
"""More steps that got stuck than this lead to another path: another weight of ``w`` against ``z``."""

PATHS = (1.0, 10.0, 0.1, 3.0)
"""Weights of the paths, in units of the first."""

SMOOTHING, PREVIOUS, LARGEST, FACTOR, LEAST, STUCK, PATH, LENGTH, MERIT = range(9)
"""Entries of the solver's state: smoothing now, before, and the largest; its factor, and the least that it may be; steps
that got stuck on this path; the number of the path; length of the last step, and the residual after it."""

NEWTON_WORK: dict[str, Shape] = PROBLEM_WORK | {
    "contact_P": ("nslots", 3),
    "contact_G": ("nslots", 6),
    "contact_g": ("nslots", 3),
    "contact_t": ("nslots", 2),
    "contact_dy": ("nslots", 3),
    "contact_df": ("nslots", 3),
    "box_P": ("nboxes",),
    "box_G": ("nboxes",),
    "box_dy": ("nboxes",),
    "box_df": ("nboxes",),
    "rows": ("nc",),
    "drows": ("nc",),
    "row_forces": ("nc",),
    "eta": ("nslots",),
    "eta_r": ("nslots",),
    "krylov": (DIRECTIONS, "nslots"),
    "krylov_A": (DIRECTIONS, "nslots"),
    "krylov_norm": (DIRECTIONS,),
    "krylov_da": (DIRECTIONS, "nv"),
    "krylov_dy": (DIRECTIONS, "nslots", 3),
    "krylov_rows": (DIRECTIONS, "nc"),
    "da0": ("nv",),
}


# The equation of a contact ------------------------------------------------------------------------------------------


@kernel
def path_weight(path: Scalar) -> Scalar:
    """Factor of ``sigma`` on a path, in turn."""
    return where(
        path, 0.5, PATHS[0], where(path, 1.5, PATHS[1], where(path, 2.5, PATHS[2], PATHS[3]))
    )


@kernel
def penalty(tree: Array, s: int, settings: ContactSettings) -> Scalar:
    """``sigma`` of a contact: the inertia that it feels, of scaled forces."""
    mu = tree.friction[s]
    return 2.0 * settings.penalty / (settings.D[s] * (1.0 + mu * mu))


@kernel
def weighted(settings: ContactSettings, weight: Scalar, softness: Scalar) -> ContactSettings:
    """The same with another penalty and softness."""
    return ContactSettings(
        tolerance=settings.tolerance,
        dt=settings.dt,
        penetration_time=settings.penetration_time,
        loop_time=settings.loop_time,
        push=settings.push,
        threshold=settings.threshold,
        gravity=settings.gravity,
        penalty=weight * settings.penalty,
        softness=softness,
        D=settings.D,
        box_D=settings.box_D,
        box_unit=settings.box_unit,
        R=settings.R,
        row_unit=settings.row_unit,
    )


@kernel
def softness(tree: Array, settings: ContactSettings, forces: Array) -> Scalar:
    """A compliance by which the largest of these forces makes a part of the tolerance.

    It makes the forces of several contacts of a face unique.
    """
    largest = 0.0
    for s in range(tree.nslots):
        largest = maximum(largest, forces[3 * s + 2])
    return where(0.0, largest, SOFT * settings.tolerance / (settings.dt * where(0.0, largest, largest, 1.0)), 0.0)


@kernel
def softness_of(s: int, settings: ContactSettings) -> Scalar:
    """The same of one contact: a small part of the inverse inertia that it feels."""
    return minimum(settings.softness, SOFTEST * settings.D[s])


@kernel
def scaled_force(mu: Scalar, f: Vector) -> Triple:
    """``z = T^-1 f``; without friction, there is no tangential part."""
    inverse = where(0.0, mu, 1.0 / where(0.0, mu, mu, 1.0), 0.0)
    return inverse * f[0], inverse * f[1], f[2]


@kernel
def smoothed_length(mu: Scalar, y: Vector, theta: Scalar) -> Scalar:
    """``s``: the length of the tangential part of ``T y``, smoothed."""
    e = ROUNDING * theta * mu
    return sqrt(mu * mu * (y[0] * y[0] + y[1] * y[1]) + e * e)


@kernel
def penalized(tree: Array, s: int, settings: ContactSettings, z: Vector, y: Vector, theta: Scalar) -> Triple:
    """``z - sigma w``."""
    mu = tree.friction[s]
    sigma = penalty(tree, s, settings)
    compliance = tree.contact_compliance[s] / (settings.dt * settings.dt) + softness_of(s, settings)
    normal = y[2] + smoothed_length(mu, y, theta) + compliance * z[2]
    x = sigma * mu
    return z[0] - x * y[0], z[1] - x * y[1], z[2] - sigma * normal


@kernel
def smoothing_of(sigma: Scalar, theta: Scalar) -> Scalar:
    """``tau`` of `smooth_cone`."""
    x = sigma * theta
    return x * x


@kernel
def contact_equation(tree: Array, s: int, settings: ContactSettings, f: Vector, y: Vector, theta: Scalar) -> Scalar:
    """The square of ``(z - P) / sigma``."""
    sigma = penalty(tree, s, settings)
    z = scaled_force(tree.friction[s], f)
    P = smooth_cone(penalized(tree, s, settings, z, y, theta), smoothing_of(sigma, theta)).P
    r = (z[0] - P[0], z[1] - P[1], z[2] - P[2])
    return (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / (sigma * sigma)


@kernel
def linearize_contact(
    tree: Array, w: Array, s: int, settings: ContactSettings, f: Vector, y: Vector, theta: Scalar
) -> None:
    """``P, G, g, t`` of a contact with the force ``f`` at ``y``.

    With ``D`` the derivative of the projection, ``(1 - D) dz = -r - sigma D dw``; compliance ``c`` in ``dw`` makes
    ``G - c g g' / (1 + c g_n)`` of ``G = sigma (1 - D)^-1 D``, ``g = G (0, 0, 1)``, and likewise of ``(1 - D)^-1 r``.
    """
    mu = tree.friction[s]
    sigma = penalty(tree, s, settings)
    z = scaled_force(mu, f)
    c = smooth_cone(penalized(tree, s, settings, z, y, theta), smoothing_of(sigma, theta))
    plus = 1.0 / maximum(c.not_plus, LEAST_SLACK)
    minus = 1.0 / maximum(c.not_minus, LEAST_SLACK)
    across = 1.0 / maximum(c.not_across, LEAST_SLACK)
    r = symmetric_product(spectral(c.t, plus, minus, across), (z[0] - c.P[0], z[1] - c.P[1], z[2] - c.P[2]))
    G = spectral(c.t, sigma * plus * c.plus, sigma * minus * c.minus, sigma * across * c.across)
    compliance = tree.contact_compliance[s] / (settings.dt * settings.dt) + softness_of(s, settings)
    share = compliance / (1.0 + compliance * G[5])
    k = share * r[2]
    w.contact_P[s, 0] = mu * (z[0] - r[0] + k * G[2])
    w.contact_P[s, 1] = mu * (z[1] - r[1] + k * G[4])
    w.contact_P[s, 2] = z[2] - r[2] + k * G[5]
    w.contact_G[s, 0] = mu * mu * (G[0] - share * G[2] * G[2])
    w.contact_G[s, 1] = mu * mu * (G[1] - share * G[2] * G[4])
    w.contact_G[s, 2] = mu * (G[2] - share * G[2] * G[5])
    w.contact_G[s, 3] = mu * mu * (G[3] - share * G[4] * G[4])
    w.contact_G[s, 4] = mu * (G[4] - share * G[4] * G[5])
    w.contact_G[s, 5] = G[5] - share * G[5] * G[5]
    w.contact_g[s, 0] = w.contact_G[s, 2]
    w.contact_g[s, 1] = w.contact_G[s, 4]
    w.contact_g[s, 2] = w.contact_G[s, 5]
    length = smoothed_length(mu, y, theta)
    x = mu * mu * where(0.0, length, 1.0 / where(0.0, length, length, 1.0), 0.0)
    w.contact_t[s, 0] = x * y[0]
    w.contact_t[s, 1] = x * y[1]


# The equation of a limit, or of dry friction ------------------------------------------------------------------------


@kernel
def box_projection(x: Scalar, lower: Scalar, upper: Scalar, tau: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The smoothed projection on ``[lower, upper]``, its derivative, and one less that."""
    a = x - lower
    b = x - upper
    qa = sqrt(a * a + 4.0 * tau)
    qb = sqrt(b * b + 4.0 * tau)
    pa = smooth_plus(a, qa, tau)
    pb = smooth_plus(b, qb, tau)
    return lower + pa - pb, pa / qa - pb / qb, smooth_plus(-a, qa, tau) / qa + pb / qb


@kernel
def box_equation(tree: Array, b: int, settings: ContactSettings, f: Scalar, y: Scalar, theta: Scalar) -> Scalar:
    """The square of ``(f - P) / sigma``, as a velocity."""
    sigma = settings.penalty / settings.box_D[b]
    tau = smoothing_of(sigma, theta / settings.box_unit[b])
    P, _, _ = box_projection(f - sigma * y, tree.box_lower[b], tree.box_upper[b], tau)
    x = settings.box_unit[b] * (f - P) / sigma
    return x * x


@kernel
def linearize_box(
    tree: Array, w: Array, b: int, settings: ContactSettings, f: Scalar, y: Scalar, theta: Scalar
) -> None:
    """``P, G`` of a limit, or of dry friction."""
    sigma = settings.penalty / settings.box_D[b]
    tau = smoothing_of(sigma, theta / settings.box_unit[b])
    P, slope, rest = box_projection(f - sigma * y, tree.box_lower[b], tree.box_upper[b], tau)
    inverse = 1.0 / maximum(rest, LEAST_SLACK)
    w.box_P[b] = f - inverse * (f - P)
    w.box_G[b] = sigma * inverse * slope


@kernel
def merit(tree: Array, w: Array, settings: ContactSettings, result: ContactResult, theta: Scalar, t: Scalar) -> Scalar:
    """The residual ``|(z - P) / sigma|`` of contacts, limits and dry friction after the part ``t`` of the step."""
    x = 0.0
    for s in range(tree.nslots):
        f = slot_vector(result.forces, s)
        df = w.contact_df[s]
        y = w.contact_y[s]
        dy = w.contact_dy[s]
        x = x + contact_equation(
            tree,
            s,
            settings,
            (f[0] + t * df[0], f[1] + t * df[1], f[2] + t * df[2]),
            (y[0] + t * dy[0], y[1] + t * dy[1], y[2] + t * dy[2]),
            theta,
        )
    for b in range(tree.nboxes):
        f = result.boxes[b] + t * w.box_df[b]
        x = x + box_equation(tree, b, settings, f, w.box_y[b] + t * w.box_dy[b], theta)
    return sqrt(x)


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
    """Forces ``P`` of contacts and boxes, and ``lambda + mu (k - J_l a)`` of loops."""
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            P = w.contact_P[s]
            apply_contact_force(tree, w, c, s, (P[0], P[1], P[2]))
    for b in range(tree.nboxes):
        w.tau[tree.box_v[b]] += tree.box_sign[b] * w.box_P[b]
    for r in range(tree.nc):
        w.row_forces[r] = multipliers[r] + w.mu[r] * w.rows[r]
    apply_constraint_forces(tree, w, w.row_forces)


@kernel
def changes_of_forces(tree: Array, w: Array, da: Array, dy: Array, drows: Array) -> None:
    """Accelerations of forces ``f`` and torques ``tau``, by the factor, and what they change rows by."""
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, da)
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            u = contact_accelerations(tree, w, c, s)
            for k in range(3):
                dy[s, k] = u[k]
    for r in range(tree.nc):
        drows[r] = 0.0
    constraint_residual(tree, w, da, drows)


@kernel
def sliding(w: Array, s: int, dy: Array) -> Scalar:
    """``eta`` of a change of ``y``."""
    return w.contact_t[s, 0] * dy[s, 0] + w.contact_t[s, 1] * dy[s, 1]


@kernel
def apply_eta(tree: Array, w: Array, eta: Array) -> None:
    """Forces ``-g eta`` and no others."""
    clear_forces(tree, w)
    for k in range(tree.nv):
        w.tau[k] = 0.0
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            g = w.contact_g[s]
            e = -eta[s]
            apply_contact_force(tree, w, c, s, (e * g[0], e * g[1], e * g[2]))


@kernel
def subtract_direction(tree: Array, w: Array, j: int, k: int, x: Scalar) -> None:
    """Direction ``k`` of GCR less ``x`` times direction ``j``, with all that it leads to."""
    for s in range(tree.nslots):
        w.krylov[k, s] -= x * w.krylov[j, s]
        w.krylov_A[k, s] -= x * w.krylov_A[j, s]
        for i in range(3):
            w.krylov_dy[k, s, i] -= x * w.krylov_dy[j, s, i]
    for i in range(tree.nv):
        w.krylov_da[k, i] -= x * w.krylov_da[j, i]
    for r in range(tree.nc):
        w.krylov_rows[k, r] -= x * w.krylov_rows[j, r]


@kernel
def conjugate_residual(tree: Array, w: Array, k: int, least: Scalar, left: Scalar) -> None:
    """One more direction of GCR: ``eta`` closer to that of the accelerations that it leads to."""
    for s in range(tree.nslots):
        w.krylov[k, s] = w.eta_r[s]
    apply_eta(tree, w, w.krylov[k])
    changes_of_forces(tree, w, w.krylov_da[k], w.krylov_dy[k], w.krylov_rows[k])
    for s in range(tree.nslots):
        w.krylov_A[k, s] = w.krylov[k, s] - sliding(w, s, w.krylov_dy[k])
    for j in range(k):
        x = 0.0
        for s in range(tree.nslots):
            x = x + w.krylov_A[k, s] * w.krylov_A[j, s]
        subtract_direction(tree, w, j, k, x * w.krylov_norm[j])
    x = 0.0
    y = 0.0
    for s in range(tree.nslots):
        x = x + w.krylov_A[k, s] * w.krylov_A[k, s]
        y = y + w.krylov_A[k, s] * w.eta_r[s]
    w.krylov_norm[k] = where(0.0, x, 1.0 / where(0.0, x, x, 1.0), 0.0)
    y = where(least, left, y * w.krylov_norm[k], 0.0)
    for s in range(tree.nslots):
        w.eta[s] += y * w.krylov[k, s]
        w.eta_r[s] -= y * w.krylov_A[k, s]
        for i in range(3):
            w.contact_dy[s, i] += y * w.krylov_dy[k, s, i]
    for i in range(tree.nv):
        w.da0[i] += y * w.krylov_da[k, i]
    for r in range(tree.nc):
        w.drows[r] += y * w.krylov_rows[k, r]


@kernel
def find_eta(tree: Array, w: Array, residual: Scalar) -> None:
    """``eta`` and the step with it, from that for ``eta = 0``, where it changes more than a part of the residual."""
    left = 0.0
    for s in range(tree.nslots):
        w.eta_r[s] = sliding(w, s, w.contact_dy)
        left = left + w.eta_r[s] * w.eta_r[s]
    least = maximum(INEXACT * INEXACT * left, NEGLIGIBLE * NEGLIGIBLE * residual * residual)
    for k in range(DIRECTIONS):
        if any_below(least - left, 0.0):
            conjugate_residual(tree, w, k, least, left)
            left = 0.0
            for s in range(tree.nslots):
                left = left + w.eta_r[s] * w.eta_r[s]


@kernel
def newton_direction(
    tree: Array, w: Array, settings: ContactSettings, result: ContactResult, residual: Scalar
) -> None:
    """``da0``, and what it changes rows and forces by, from forces ``f`` and torques ``tau`` that are out of balance."""
    factorize_contacts(tree, w, settings)
    for s in range(tree.nslots):
        w.eta[s] = 0.0
    apply_row_forces(tree, w, result.multipliers)
    changes_of_forces(tree, w, w.da0, w.contact_dy, w.drows)
    find_eta(tree, w, residual)
    for b in range(tree.nboxes):
        w.box_dy[b] = tree.box_sign[b] * w.da0[tree.box_v[b]]
    forces_of_step(tree, w, result)


@kernel
def forces_of_step(tree: Array, w: Array, result: ContactResult) -> None:
    """``df``: a full step has the forces ``P - G dy - g eta``."""
    for s in range(tree.nslots):
        x = symmetric_product(w.contact_G[s], w.contact_dy[s])
        for k in range(3):
            w.contact_df[s, k] = (
                w.contact_P[s, k] - x[k] - w.eta[s] * w.contact_g[s, k] - result.forces[3 * s + k]
            )
    for b in range(tree.nboxes):
        w.box_df[b] = w.box_P[b] - w.box_G[b] * w.box_dy[b] - result.boxes[b]


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
        result.multipliers[r] += t * w.mu[r] * (w.rows[r] + w.drows[r])
        w.rows[r] += t * w.drows[r]


@kernel
def step_length(
    tree: Array, w: Array, settings: ContactSettings, result: ContactResult, theta: Scalar, before: Scalar
) -> tuple[Scalar, Scalar]:
    """The first length of a halving that reduces the residual enough, or leaves it near to the smoothing, or the best
    of all; and the residual there.

    Zero where none reduces it.
    """
    t = 0.0
    best = before
    open = 1.0
    trial = 2.0
    for _ in range(TRIALS):
        trial = 0.5 * trial
        if any_below(-open, 0.0):
            x = merit(tree, w, settings, result, theta, trial)
            enough = where(x, maximum((1.0 - REDUCTION * trial) * before, NEAR * theta), open, 0.0)
            better = where(x, best, open, enough)
            t = where(0.5, better, trial, t)
            best = where(0.5, better, x, best)
            open = open - enough
    return t, best


@kernel
def update_smoothing(state: Array, t: Scalar, residual: Scalar) -> None:
    """Smoothing of the next step: less where the residual has followed, more where steps got stuck; another path where
    they did so too often."""
    theta = state[SMOOTHING]
    before = state[PREVIOUS]
    factor = state[FACTOR]
    largest = state[LARGEST]
    stuck = where(t, SHORT, 1.0, 0.0)
    near = where(residual, NEAR * theta, 1.0 - stuck, 0.0)
    slower = minimum(sqrt(factor), MOST_SHRINK)
    fast = where(residual, NEAR * FAST * theta, where(t, 1.0, 0.0, 1.0), 0.0)
    faster = where(0.5, fast, maximum(factor * factor, state[LEAST]), factor)
    less = maximum(factor * theta, LEAST_SMOOTHING * largest)
    count = state[STUCK] + stuck
    lost = where(FAILURES, count, 1.0, 0.0)
    path = state[PATH] + lost
    state[PATH] = where(3.5, path, 0.0, path)
    state[STUCK] = where(0.5, lost, 0.0, count)
    state[SMOOTHING] = where(0.5, lost, largest, where(0.5, stuck, before, where(0.5, near, less, theta)))
    earlier = where(0.5, stuck, minimum(before / slower, largest), where(0.5, near, theta, before))
    state[PREVIOUS] = where(0.5, lost, largest, earlier)
    state[LEAST] = where(0.5, lost, LEAST_SHRINK, where(0.5, stuck, maximum(state[LEAST], slower), state[LEAST]))
    state[LENGTH] = t
    state[MERIT] = residual
    state[FACTOR] = where(0.5, lost, SHRINK, where(0.5, stuck, slower, where(0.5, near, faster, factor)))


# The iteration ------------------------------------------------------------------------------------------------------


@kernel
def guess(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> Scalar:
    """Forces and ``y`` to linearize at first, and the smoothing there: what they miss.

    Contacts that gravity would close are taken to close; forces of a warm start to go on.
    """
    settings = problem.settings
    largest = 0.0
    for s in range(tree.nslots):
        f = slot_vector(problem.forces0, s)
        set_slot_vector(f, result.forces, s)
        b = w.contact_b[s]
        w.contact_y[s, 0] = b[0]
        w.contact_y[s, 1] = b[1]
        w.contact_y[s, 2] = where(0.0, f[2], 0.0, b[2] - settings.gravity)
        mu = tree.friction[s]
        sigma = penalty(tree, s, settings)
        z = scaled_force(mu, f)
        p = project_cone(1.0, penalized(tree, s, settings, z, w.contact_y[s], 0.0))
        r = (z[0] - p[0], z[1] - p[1], z[2] - p[2])
        largest = maximum(largest, (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / (sigma * sigma))
    for b in range(tree.nboxes):
        f = problem.boxes0[b]
        result.boxes[b] = f
        w.box_y[b] = w.box_b[b]
        sigma = settings.penalty / settings.box_D[b]
        x = (f - clamp(f - sigma * w.box_y[b], tree.box_lower[b], tree.box_upper[b])) / sigma
        x = settings.box_unit[b] * x
        largest = maximum(largest, x * x)
    for r in range(tree.nc):
        result.multipliers[r] = problem.multipliers0[r]
        w.rows[r] = w.k[r]
    for k in range(tree.nv):
        result.a[k] = 0.0
    return maximum(sqrt(largest), settings.tolerance / settings.dt)


@kernel
def linearize(tree: Array, w: Array, settings: ContactSettings, result: ContactResult, theta: Scalar) -> None:
    """All contacts and boxes."""
    for s in range(tree.nslots):
        y = (w.contact_y[s, 0], w.contact_y[s, 1], w.contact_y[s, 2])
        linearize_contact(tree, w, s, settings, slot_vector(result.forces, s), y, theta)
    for b in range(tree.nboxes):
        linearize_box(tree, w, b, settings, result.boxes[b], w.box_y[b], theta)


@kernel
def contact_newton(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """The first Newton step, in full, about a guess of what contacts do."""
    settings = weighted(problem.settings, 1.0, softness(tree, problem.settings, problem.forces0))
    setup_contact_problem(tree, w, problem)
    theta = guess(tree, w, problem, result)
    linearize(tree, w, settings, result, theta)
    for s in range(tree.nslots):  # P - G (b - y): forces at a = 0 of what is linear about the guess
        b = w.contact_b[s]
        x = symmetric_product(
            w.contact_G[s], (b[0] - w.contact_y[s, 0], b[1] - w.contact_y[s, 1], b[2] - w.contact_y[s, 2])
        )
        for k in range(3):
            w.contact_P[s, k] -= x[k]
            w.contact_y[s, k] = b[k]
    for k in range(tree.nv):
        w.tau[k] = w.torque[k]
    for j in range(6):
        w.a[0, j] = 0.0
    newton_direction(tree, w, settings, result, theta)
    take_step(tree, w, result, 1.0)
    for s in range(tree.nslots):
        for k in range(3):
            w.contact_dy[s, k] = 0.0
            w.contact_df[s, k] = 0.0
    for b in range(tree.nboxes):
        w.box_dy[b] = 0.0
        w.box_df[b] = 0.0
    now = merit(tree, w, settings, result, theta, 0.0)
    result.state[LARGEST] = maximum(theta, now)
    result.state[SMOOTHING] = maximum(theta, now / NEAR)
    result.state[PREVIOUS] = minimum(result.state[SMOOTHING] / SHRINK, result.state[LARGEST])
    result.state[FACTOR] = SHRINK
    result.state[LEAST] = LEAST_SHRINK
    result.state[STUCK] = 0.0
    result.state[9] = 0.0
    result.state[PATH] = 0.0
    update_smoothing(result.state, 0.9, now)
    result.residual[0] = problem_residual(tree, w, problem, result, w.rows)
    result.iterations[0] = 1.0
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
    """A further Newton step."""
    soft = softness(tree, problem.settings, result.forces)
    settings = weighted(problem.settings, path_weight(result.state[PATH]), soft)
    theta = result.state[SMOOTHING]
    force_residual(tree, w, w.torque, result.a)
    rows_of(tree, w, result.a)
    linearize(tree, w, settings, result, theta)
    for s in range(tree.nslots):
        for k in range(3):
            w.contact_dy[s, k] = 0.0
            w.contact_df[s, k] = 0.0
    for b in range(tree.nboxes):
        w.box_dy[b] = 0.0
        w.box_df[b] = 0.0
    before = merit(tree, w, settings, result, theta, 0.0)
    newton_direction(tree, w, settings, result, before)
    t, now = step_length(tree, w, settings, result, theta, before)
    take_step(tree, w, result, t)
    update_smoothing(result.state, t, now)
    result.residual[0] = problem_residual(tree, w, problem, result, w.rows)
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
