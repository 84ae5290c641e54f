# SPDX-License-Identifier: BSD-3-Clause
"""Cones that forces of a step are in: projections on them, their derivatives, and the residual of a contact.

A contact's force is in Coulomb's cone ``|f_t| <= mu f_n``, that of a joint limit is not negative, that of dry friction
in a box, that of a loop anywhere. With ``u`` the velocity of a contact after the step, ``b`` its gap over the step and
``Gamma(u) = (0, 0, mu |u_t|)`` (De Saxcé), Signorini's condition, Coulomb's law and maximum dissipation are one::

    K ∋ f ⟂ u + b + Gamma(u) ∈ K*        <=>        f = P_K(f - (u + b + Gamma(u)) / D)        for any D > 0

The *residual* of a contact is how far the second form is from true, ``|D (f - P_K(f - ...))|``, with ``D`` the inverse
apparent inverse inertia of the contact: a velocity, and the same number for every solver.

| symbol     | meaning                                                                                    |
|------------|--------------------------------------------------------------------------------------------|
| x, y       | tangential components of a vector, in the axes ``t1, t2`` of a contact                       |
| n          | its normal component                                                                        |
| r          | length of the tangential part                                                               |
| mu         | coefficient of friction                                                                     |

Everything is free of branches, and defined at the apex of a cone and for ``mu = 0``.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.elementary import clamp, magnitude
from linkwork.kernels.scalar import Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Six, Triple


@kernel
def tangential_length(x: Vector) -> Scalar:
    """``|x_t|``."""
    return sqrt(x[0] * x[0] + x[1] * x[1])


@kernel
def inverse_length(r: Scalar) -> Scalar:
    """``1 / r``; zero for zero."""
    return where(0.0, r, 1.0 / where(0.0, r, r, 1.0), 0.0)


@kernel
def project_cone(mu: Scalar, x: Vector) -> Triple:
    """The force in Coulomb's cone that is nearest to ``x``."""
    r = tangential_length(x)
    normal = (mu * r + x[2]) / (1.0 + mu * mu)  # of the side of the cone
    side = mu * normal * inverse_length(r)
    inside = where(mu * x[2], r, 0.0, 1.0)
    polar = where(-(mu * r), x[2], 0.0, 1.0)
    tangential = where(0.5, polar, 0.0, where(0.5, inside, 1.0, side))
    return tangential * x[0], tangential * x[1], where(0.5, polar, 0.0, where(0.5, inside, x[2], normal))


# Derivatives of projections ----------------------------------------------------------------------------------------


@kernel
def clamp_slope(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """Derivative of `clamp`; one on the bounds."""
    return where(x, lower, 0.0, where(upper, x, 0.0, 1.0))


@kernel
def cone_derivative(mu: Scalar, x: Vector) -> Six:
    """The derivative of `project_cone`, a symmetric matrix ``xx xy xz yy yz zz``: the identity inside, at the apex too.

    On the side of the cone, with ``t`` the direction of the tangential part, it is ``w w' + (mu n / r) (1 - t t')``
    with ``w = (mu t, 1) / sqrt(1 + mu²)``.
    """
    r = tangential_length(x)
    inverse = inverse_length(r)
    t = (x[0] * inverse, x[1] * inverse)
    share = 1.0 / (1.0 + mu * mu)
    inside = where(mu * x[2], r, 0.0, 1.0)
    off = where(-(mu * r), x[2], 1.0, 0.0)  # zero in the polar cone
    along = where(0.5, inside, 1.0, off * (mu * mu * share))
    across = where(0.5, inside, 1.0, off * (mu * share * (mu * r + x[2]) * inverse))
    mixed = where(0.5, inside, 0.0, off * (mu * share))
    normal = where(0.5, inside, 1.0, off * share)
    d = along - across
    return (
        across + d * t[0] * t[0],
        d * t[0] * t[1],
        mixed * t[0],
        across + d * t[1] * t[1],
        mixed * t[1],
        normal,
    )


# Smoothed projections ---------------------------------------------------------------------------------------------


@kernel
def smooth_plus(x: Scalar, q: Scalar, tau: Scalar) -> Scalar:
    """``(x + q) / 2``, which is about ``max(x, 0)``, with ``q = sqrt(x² + 4 tau)``; without cancellation."""
    return where(0.0, x, 0.5 * (x + q), 2.0 * tau / where(0.0, x, 1.0, q - x))


@kernel
def smooth_parts(x: Scalar, q: Scalar, tau: Scalar) -> tuple[Scalar, Scalar]:
    """`smooth_plus` of ``x`` and of ``-x``, whose product is ``tau``, with one division."""
    larger = 0.5 * (where(0.0, x, x, -x) + q)
    smaller = tau / larger
    return where(0.0, x, larger, smaller), where(0.0, x, smaller, larger)


class SmoothCone(NamedTuple):
    """The smoothed projection ``P`` on the cone ``|x_t| <= x_n``, and the eigenvalues of its derivative.

    ``plus`` and ``minus`` belong to ``(t, 1)`` and ``(-t, 1)`` with ``t`` the direction of the tangential part,
    ``across`` to the tangent across it; the last three are one less these, without cancellation.
    """

    P: Triple
    t: tuple[Scalar, Scalar]
    plus: Scalar
    minus: Scalar
    across: Scalar
    not_plus: Scalar
    not_minus: Scalar
    not_across: Scalar


@kernel
def smooth_cone(x: Vector, tau: Scalar) -> SmoothCone:
    """The projection on ``|x_t| <= x_n``: `smooth_plus` of its eigenvalues ``x_n ± |x_t|``.

    Fukushima, Luo and Tseng, Smoothing functions for second-order-cone complementarity problems (2002).
    """
    r = tangential_length(x)
    inverse = inverse_length(r)
    t = (x[0] * inverse, x[1] * inverse)
    a = x[2] + r
    b = x[2] - r
    qa = sqrt(a * a + 4.0 * tau)
    qb = sqrt(b * b + 4.0 * tau)
    pa, na = smooth_parts(a, qa, tau)
    pb, nb = smooth_parts(b, qb, tau)
    ia = 1.0 / qa
    ib = 1.0 / qb
    both = 1.0 / (qa + qb)
    side = 0.5 * (pa - pb)
    P = (side * t[0], side * t[1], 0.5 * (pa + pb))
    return SmoothCone(P, t, pa * ia, pb * ib, (pa + pb) * both, na * ia, nb * ib, (na + nb) * both)


@kernel
def spectral(t: Vector, plus: Scalar, minus: Scalar, across: Scalar) -> Six:
    """The symmetric matrix ``xx xy xz yy yz zz`` with eigenvalues of ``(t, 1)``, ``(-t, 1)``, and across ``t``."""
    mean = 0.5 * (plus + minus)
    mixed = 0.5 * (plus - minus)
    d = mean - across
    return (
        across + d * t[0] * t[0],
        d * t[0] * t[1],
        mixed * t[0],
        across + d * t[1] * t[1],
        mixed * t[1],
        mean,
    )


# Residuals --------------------------------------------------------------------------------------------------------


@kernel
def contact_residual(mu: Scalar, D: Scalar, f: Vector, y: Vector, compliance: Scalar) -> Scalar:
    """``|D (f - P_K(f - (y + Gamma(y) + compliance f_n) / D))|``: what a contact misses, in the unit of ``y``."""
    normal = y[2] + mu * tangential_length(y) + compliance * f[2]
    p = project_cone(mu, (f[0] - y[0] / D, f[1] - y[1] / D, f[2] - normal / D))
    x = (f[0] - p[0], f[1] - p[1], f[2] - p[2])
    return D * sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


@kernel
def box_residual(D: Scalar, f: Scalar, y: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """``|D (f - P(f - y / D))|`` of a force in ``[lower, upper]``: a joint limit, dry friction of a joint."""
    return D * magnitude(f - clamp(f - y / D, lower, upper))
