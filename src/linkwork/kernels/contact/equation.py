# SPDX-License-Identifier: BSD-3-Clause
"""The equation of a contact, of a joint limit and of dry friction, smoothed, and its linearization (`contact_newton`).

``z = P(z - sigma w)`` with ``f = T z``, ``T = diag(mu, mu, 1)``, ``w = T y + (0, 0, s) + compliance z_n``, and
``P`` the smoothed projection on the cone ``|z_t| <= z_n``, or on an interval.

| symbol | meaning                                                                                         |
|--------|-------------------------------------------------------------------------------------------------|
| theta  | smoothing, an acceleration; ``tau`` of `cones.smooth_cone` is about ``(sigma theta)²``          |
| sigma  | weight of ``w`` against ``z``: an inertia                                                       |
| s      | ``sqrt(|T y_t|² + e²)``, the length in De Saxcé's correction                                    |

Other symbols as in `contact_newton`. Cost: linear in contacts, about 150 operations each.
"""

from __future__ import annotations

from linkwork.kernels.contact.cones import smooth_cone, smooth_parts, smooth_plus, spectral
from linkwork.kernels.contact.problem import ContactResult, ContactSettings, slot_vector
from linkwork.kernels.elementary import maximum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, symmetric_product

WEIGHTS = (1.0, 10.0, 10.0)
"""Of ``w`` against ``z``: what multiplies sigma, on each path."""
ROUNDINGS = (0.003, 0.003, 3.0)
"""``e`` as a part of the smoothing, on each path."""


# The equation of a contact ------------------------------------------------------------------------------------------


@kernel
def of_path(path: Scalar, values: tuple[float, float, float]) -> Scalar:
    """The value of a path, by its number."""
    return where(path, 0.5, values[0], where(path, 1.5, values[1], values[2]))


@kernel
def penalty(tree: Array, s: int, settings: ContactSettings) -> Scalar:
    """``sigma`` of a contact: its apparent inertia, of scaled forces."""
    mu = tree.friction[s]
    return 2.0 * settings.penalty / (settings.D[s] * (1.0 + mu * mu))


@kernel
def on_path(settings: ContactSettings, path: Scalar, slack: Scalar, saxce: Scalar) -> ContactSettings:
    """The settings of a path, with its slack and its factor of De Saxcé's correction."""
    return settings._replace(
        penalty=of_path(path, WEIGHTS) * settings.penalty,
        slack=slack,
        saxce=saxce,
        rounding=of_path(path, ROUNDINGS),
    )


@kernel
def scaled_force(mu: Scalar, f: Vector) -> Triple:
    """``z = T^-1 f``; without friction, there is no tangential part."""
    inverse = where(0.0, mu, 1.0 / where(0.0, mu, mu, 1.0), 0.0)
    return inverse * f[0], inverse * f[1], f[2]


@kernel
def smoothed_length(mu: Scalar, y: Vector, theta: Scalar, rounding: Scalar) -> Scalar:
    """``s``: the length of the tangential part of ``T y``, smoothed."""
    e = rounding * theta * mu
    return sqrt(mu * mu * (y[0] * y[0] + y[1] * y[1]) + e * e)


@kernel
def penalized(tree: Array, w: Array, s: int, settings: ContactSettings, z: Vector, y: Vector, theta: Scalar) -> Triple:
    """``z - sigma w``."""
    mu = tree.friction[s]
    sigma = penalty(tree, s, settings)
    normal = y[2] + settings.saxce * smoothed_length(mu, y, theta, settings.rounding) + w.contact_C[s] * z[2]
    x = sigma * mu
    return z[0] - x * y[0], z[1] - x * y[1], z[2] - sigma * normal


@kernel
def cone_smoothing(settings: ContactSettings, sigma: Scalar, theta: Scalar) -> Scalar:
    """``tau`` of a contact: between that of its own inertia and of the mean, as those of neighbors belong together."""
    return theta * theta * (sigma * sqrt(sigma * settings.penalty * settings.mean))


@kernel
def box_smoothing(sigma: Scalar, theta: Scalar) -> Scalar:
    """``tau`` of a limit, or of dry friction."""
    x = sigma * theta
    return x * x


@kernel
def contact_equation(
    tree: Array, w: Array, s: int, settings: ContactSettings, f: Vector, y: Vector, theta: Scalar
) -> Scalar:
    """The square of ``(z - P) / sigma``."""
    sigma = penalty(tree, s, settings)
    z = scaled_force(tree.friction[s], f)
    P = smooth_cone(penalized(tree, w, s, settings, z, y, theta), cone_smoothing(settings, sigma, theta)).P
    r = (z[0] - P[0], z[1] - P[1], z[2] - P[2])
    return (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / (sigma * sigma)


@kernel
def linearize_contact(
    tree: Array, w: Array, s: int, settings: ContactSettings, f: Vector, y: Vector, theta: Scalar
) -> Scalar:
    """``P, G, g, t`` of a contact with the force ``f`` at ``y``; returns the square of ``(z - P) / sigma``.

    With ``D`` the derivative of the projection, ``(1 - D) dz = -r - sigma D dw``; compliance ``c`` in ``dw`` makes
    ``G - c g g' / (1 + c g_n)`` of ``G = sigma (1 - D)^-1 D``, ``g = G (0, 0, 1)``, and likewise of ``(1 - D)^-1 r``.
    """
    mu = tree.friction[s]
    sigma = penalty(tree, s, settings)
    z = scaled_force(mu, f)
    c = smooth_cone(penalized(tree, w, s, settings, z, y, theta), cone_smoothing(settings, sigma, theta))
    plus = 1.0 / maximum(c.not_plus, settings.slack)
    minus = 1.0 / maximum(c.not_minus, settings.slack)
    across = 1.0 / maximum(c.not_across, settings.slack)
    d = (z[0] - c.P[0], z[1] - c.P[1], z[2] - c.P[2])
    r = symmetric_product(spectral(c.t, plus, minus, across), d)
    G = spectral(c.t, sigma * plus * c.plus, sigma * minus * c.minus, sigma * across * c.across)
    compliance = w.contact_C[s]
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
    length = smoothed_length(mu, y, theta, settings.rounding)
    x = settings.saxce * mu * mu * where(0.0, length, 1.0 / where(0.0, length, length, 1.0), 0.0)
    w.contact_t[s, 0] = x * y[0]
    w.contact_t[s, 1] = x * y[1]
    return (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / (sigma * sigma)


# The equation of a limit, or of dry friction ------------------------------------------------------------------------


@kernel
def box_projection(tree: Array, k: int, x: Scalar, tau: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The smoothed projection on the interval of a box, its derivative, and one less that; limits have one bound."""
    lower = tree.box_lower[k]
    a = x - lower
    qa = sqrt(a * a + 4.0 * tau)
    pa, na = smooth_parts(a, qa, tau)
    ia = 1.0 / qa
    P = lower + pa
    slope = pa * ia
    rest = na * ia
    if tree.box_q[k] < 0:
        b = x - tree.box_upper[k]
        qb = sqrt(b * b + 4.0 * tau)
        pb = smooth_plus(b, qb, tau)
        outside = pb / qb
        P = P - pb
        slope = slope - outside
        rest = rest + outside
    return P, slope, rest


@kernel
def box_equation(tree: Array, b: int, settings: ContactSettings, f: Scalar, y: Scalar, theta: Scalar) -> Scalar:
    """The square of ``(f - P) / sigma``, as a velocity."""
    sigma = settings.penalty / settings.box_D[b]
    tau = box_smoothing(sigma, theta / settings.box_unit[b])
    P, _, _ = box_projection(tree, b, f - sigma * y, tau)
    x = settings.box_unit[b] * (f - P) / sigma
    return x * x


@kernel
def linearize_box(
    tree: Array, w: Array, b: int, settings: ContactSettings, f: Scalar, y: Scalar, theta: Scalar
) -> Scalar:
    """``P, G`` of a limit, or of dry friction; returns the square of ``(f - P) / sigma``, as a velocity."""
    sigma = settings.penalty / settings.box_D[b]
    tau = box_smoothing(sigma, theta / settings.box_unit[b])
    P, slope, rest = box_projection(tree, b, f - sigma * y, tau)
    inverse = 1.0 / maximum(rest, settings.slack)
    w.box_P[b] = f - inverse * (f - P)
    w.box_G[b] = sigma * inverse * slope
    x = settings.box_unit[b] * (f - P) / sigma
    return x * x


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
            w,
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
