# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method on smoothed projections, with the reduced matrix: what solves steps that `semismooth` does not.

The equation of a set is ``z = P(z - sigma w)`` with ``P`` the projection on the unit cone, its eigenvalues smoothed
(Fukushima, Luo and Tseng 2002), or on an interval (Chen and Harker). Solutions for all smoothings are the central path
of interior-point methods. With ``D`` the derivative of ``P``, ``E`` that of ``w`` by ``y = A v + c``, which De Saxcé's
term makes unsymmetric, and ``S = sigma (1 - D)^-1 D``, a step to the smoothing ``theta + dtheta`` is::

    (1 - D) dz = -(z - P) + P_theta dtheta - sigma D (E dy + C dz)        =>        dz = -G dy - r - r1 dtheta / theta
    (M + A' G A) dv = p - M v + A' (z - r - r1 dtheta / theta)

Newton's step is that with ``dtheta = 0``; others are in `central_path`.

| symbol    | meaning                                                                             |
|-----------|-------------------------------------------------------------------------------------|
| theta     | smoothing, a velocity                                                               |
| sigma     | weight of ``w`` against ``z``: an inertia; ``cone_sigma`` is that of a penalty of one |
| y         | ``A v + c`` of all rows, ``row_y``                                                            |
| set_value | a number of each set, of which the sum or the largest is needed                     |
| r, dz, dy, dv | as above; ``r`` is in ``dz`` before the step is known                             |

Cost of an iteration: a factor of the reduced matrix, and products with all rows.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.cones import smooth_parts, smooth_plus
from linkwork.kernels.contact.reduced.factor import factorize_reduced, solve_reduced
from linkwork.kernels.contact.reduced.matrix import active_mass_times, add_rows_transposed, rows_times
from linkwork.kernels.contact.reduced.problem import ACTIVE, BOX, CONE, CONES, PYRAMID, SYMMETRIC
from linkwork.kernels.contact.reduced.pyramid import linearize_pyramid, pyramid_equation
from linkwork.kernels.elementary import maximum, total_of
from linkwork.kernels.scalar import Array, Scalar, in_warp, kernel, prange, some_below, sqrt, where
from linkwork.kernels.thresholds import LEAST_RADIUS, ZERO_SQUARE

NEWTON_WORK: dict[str, Shape] = {
    "row_y": ("nrows",),
    "dz": ("nrows",),
    "dy": ("nrows",),
    "dv": ("nv",),
    "Mv": ("nv",),
    "set_value": ("nsets",),
}
ROUNDING = 0.01
"""Part of the smoothing by which the length of a velocity is rounded at zero: small, as it shifts the equations."""


class Smoothing(NamedTuple):
    """Smoothing and weights of equations."""

    theta: Scalar
    penalty: Scalar
    """Factor of ``sigma``."""
    slack: Scalar
    """The least that one less an eigenvalue of ``D`` may be: it bounds ``G``."""
    saxce: Scalar
    """Factor of De Saxcé's term."""
    mean: Scalar
    """Geometric mean of the inertias of contacts."""
    semismooth: Scalar
    """One without smoothing, else zero."""


# Equations of sets --------------------------------------------------------------------------------------------------


@kernel
def sliding_length(w: Array, e: int, t: Scalar, rounding: Scalar) -> Scalar:
    """``s``: the length of the tangential part of ``y + t dy``, rounded at zero."""
    row = w.cone_row[e]
    x = rounding * rounding
    for r in range(row + 1, row + w.cone_dim[e]):
        u = w.row_y[r] + t * w.dy[r]
        x = x + u * u
    return sqrt(x)


@kernel
def smoothing_of(w: Array, e: int, sigma: Scalar, how: Smoothing) -> Scalar:
    """``tau`` of a set, about ``(sigma theta)²``: of contacts between that of their own inertia and of the mean, as
    those of neighbors belong together; never zero."""
    theta = how.theta / w.cone_unit[e]
    x = sigma
    if w.cone_dim[e] > 1:
        x = sqrt(sigma * how.penalty * how.mean)
    return theta * theta * sigma * x + ZERO_SQUARE


@kernel
def unprojected(w: Array, r: int, sigma: Scalar, t: Scalar) -> Scalar:
    """``z - sigma (y + C z)`` of a row of friction after the part ``t`` of a step."""
    z = w.z[r] + t * w.dz[r]
    return z - sigma * (w.row_y[r] + t * w.dy[r] + w.compliance[r] * z)


@kernel
def equation(w: Array, e: int, how: Smoothing, t: Scalar) -> Scalar:
    """The square of ``(z - P) / sigma``, a velocity, after the part ``t`` of a step."""
    row = w.cone_row[e]
    sigma = how.penalty * w.cone_sigma[e]
    if w.cone_kind[e] == PYRAMID:
        return pyramid_equation(w, e, sigma, smoothing_of(w, e, sigma, how), t)
    z0 = w.z[row] + t * w.dz[row]
    y0 = w.row_y[row] + t * w.dy[row]
    x = 0.0
    if w.cone_kind[e] == CONE:
        normal = y0 + w.compliance[row] * z0
        if w.cone_dim[e] > 1:
            normal = normal + how.saxce * w.cone_saxce[e] * sliding_length(w, e, t, ROUNDING * how.theta)
        tau = smoothing_of(w, e, sigma, how)
        n = z0 - sigma * normal
        radius = 0.0
        for r in range(row + 1, row + w.cone_dim[e]):
            u = unprojected(w, r, sigma, t)
            radius = radius + u * u
        radius = sqrt(radius)
        pa, _ = smooth_parts(n + radius, sqrt((n + radius) * (n + radius) + 4.0 * tau), tau)
        pb, _ = smooth_parts(n - radius, sqrt((n - radius) * (n - radius) + 4.0 * tau), tau)
        d = z0 - 0.5 * (pa + pb)
        x = d * d
        side = 0.5 * (pa - pb) / maximum(radius, LEAST_RADIUS)
        for r in range(row + 1, row + w.cone_dim[e]):
            d = w.z[r] + t * w.dz[r] - side * unprojected(w, r, sigma, t)
            x = x + d * d
    elif w.cone_kind[e] == BOX:
        tau = smoothing_of(w, e, sigma, how)
        d = z0 - interval(w, e, z0 - sigma * (y0 + w.compliance[row] * z0), tau)[0]
        x = d * d
    return x * (w.cone_unit[e] * w.cone_unit[e]) / (sigma * sigma)


@kernel
def interval(w: Array, e: int, x: Scalar, tau: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The smoothed projection on an interval, its derivative, and one less that."""
    a = x - w.lower[e]
    b = x - w.upper[e]
    qa = sqrt(a * a + 4.0 * tau)
    qb = sqrt(b * b + 4.0 * tau)
    pa, na = smooth_parts(a, qa, tau)
    pb = smooth_plus(b, qb, tau)
    return w.lower[e] + pa - pb, pa / qa - pb / qb, na / qa + pb / qb


@kernel
def linearize(w: Array, e: int, how: Smoothing) -> Scalar:
    """``G``, and ``r`` in ``dz``, of a set; returns the square of ``(z - P) / sigma``, a velocity."""
    row = w.cone_row[e]
    sigma = how.penalty * w.cone_sigma[e]
    square = 0.0
    if w.cone_kind[e] == PYRAMID:
        return linearize_pyramid(w, e, sigma, smoothing_of(w, e, sigma, how))
    if w.cone_kind[e] == CONE:
        square = linearize_cone(w, e, sigma, how)
    elif w.cone_kind[e] == BOX:
        tau = smoothing_of(w, e, sigma, how)
        C = w.compliance[row]
        P, slope, rest = interval(w, e, w.z[row] - sigma * (w.row_y[row] + C * w.z[row]), tau)
        inverse = 1.0 / maximum(rest + slope * sigma * C, how.slack)
        d = w.z[row] - P
        w.dz[row] = inverse * d
        w.cone_G[row, 0] = sigma * inverse * slope
        square = d * d
    else:
        linearize_equality(w, e)
    return square * (w.cone_unit[e] * w.cone_unit[e]) / (sigma * sigma)


@kernel
def linearize_equality(w: Array, e: int) -> None:
    """``G = 1 / R`` of rows of a loop: a proximal step, with the impulses before it for the multipliers."""
    row = w.cone_row[e]
    for i in range(w.cone_dim[e]):
        for j in range(w.cone_dim[e]):
            w.cone_G[row + i, j] = 0.0
        stiffness = 1.0 / (w.row_R[row + i] + w.compliance[row + i])
        w.cone_G[row + i, i] = stiffness
        w.dz[row + i] = stiffness * (w.row_y[row + i] + w.compliance[row + i] * w.z[row + i])


# The compliance of friction is the same in all directions, so that C = diag(C_n, C_t, C_t, ...) shares its invariant
# subspaces with S = sigma (1 - D)^-1 D: the plane of the normal and of the direction t of u = z - sigma w, where S is
# (m x; x m) by the eigenvalues S+, S- = m + x, m - x of (1, t), (1, -t), and all directions across it, where S is Sa:
#
#     (1 + S C) dz = -(1 - D)^-1 (z - P) - S E dy    =>    G = (1 + S C)^-1 S E,  r = (1 + S C)^-1 (1 - D)^-1 (z - P)
#     in the plane: det = 1 + m (C_n + C_t) + C_n C_t S+ S-
#       (1 + S C)^-1   = (1 + m C_t, -x C_t; -x C_n, 1 + m C_n) / det
#       (1 + S C)^-1 S = (m + C_t S+ S-, x; x, m + C_n S+ S-) / det
#     across it: 1 / (1 + Sa C_t), Sa / (1 + Sa C_t)


class ConeSpectrum(NamedTuple):
    """The smoothed projection of a cone by its eigenvectors: (1, t) first, (1, -t) second, ``t`` the direction."""

    inverse: Scalar
    """One over the length of the tangential part."""
    b: Scalar
    """The lesser eigenvalue of what is projected."""
    length: Scalar
    """``s`` of De Saxcé's term."""
    tau: Scalar
    pa: Scalar
    """Eigenvalues of ``P``, and one over their roots ``sqrt(a² + 4 tau)``."""
    pb: Scalar
    ia: Scalar
    ib: Scalar
    plus: Scalar
    """Eigenvalues of ``(1 - D)^-1``, and that across ``t``."""
    minus: Scalar
    across: Scalar
    Sp: Scalar
    """Eigenvalues of ``S``, and that across ``t``."""
    Sm: Scalar
    Sa: Scalar
    Ct: Scalar
    """Compliance along the tangents."""


@kernel
def cone_spectrum(w: Array, e: int, sigma: Scalar, how: Smoothing) -> ConeSpectrum:
    """The smoothed projection of a cone at the iterate."""
    row = w.cone_row[e]
    length = 1.0
    Ct = 0.0
    normal = w.row_y[row] + w.compliance[row] * w.z[row]
    if w.cone_dim[e] > 1:
        length = sliding_length(w, e, 0.0, ROUNDING * how.theta)
        normal = normal + how.saxce * w.cone_saxce[e] * length
        Ct = w.compliance[row + 1]
    tau = smoothing_of(w, e, sigma, how)
    n = w.z[row] - sigma * normal
    radius = 0.0
    for r in range(row + 1, row + w.cone_dim[e]):
        u = unprojected(w, r, sigma, 0.0)
        radius = radius + u * u
    radius = sqrt(radius)
    a = n + radius
    b = n - radius
    qa = sqrt(a * a + 4.0 * tau)
    qb = sqrt(b * b + 4.0 * tau)
    pa, na = smooth_parts(a, qa, tau)
    pb, nb = smooth_parts(b, qb, tau)
    both = 1.0 / (qa + qb)
    ia = 1.0 / qa
    ib = 1.0 / qb
    plus = 1.0 / maximum(na * ia, how.slack)
    minus = 1.0 / maximum(nb * ib, how.slack)
    across = 1.0 / maximum((na + nb) * both, how.slack)
    Sp = sigma * plus * pa * ia
    Sm = sigma * minus * pb * ib
    Sa = sigma * across * (pa + pb) * both
    inverse = 1.0 / maximum(radius, LEAST_RADIUS)
    return ConeSpectrum(inverse, b, length, tau, pa, pb, ia, ib, plus, minus, across, Sp, Sm, Sa, Ct)


@kernel
def linearize_cone(w: Array, e: int, sigma: Scalar, how: Smoothing) -> Scalar:
    """``G, r`` of a cone; returns the square of ``z - P``."""
    row = w.cone_row[e]
    dim = w.cone_dim[e]
    saxce = how.saxce * w.cone_saxce[e]
    Cn = w.compliance[row]
    x = cone_spectrum(w, e, sigma, how)
    inverse, b, length, _, pa, pb, _, _, plus, minus, across, Sp, Sm, Sa, Ct = x
    side = 0.5 * (pa - pb) * inverse
    d0 = w.z[row] - 0.5 * (pa + pb)
    along = 0.0
    square = d0 * d0
    sticks = 0.0
    if dim > 1:
        sticks = where(0.0, b, how.semismooth, 0.0)
        d0 = d0 - sticks * sigma * saxce * length
    for r in range(row + 1, row + dim):
        u = unprojected(w, r, sigma, 0.0)
        d = w.z[r] - side * u
        along = along + d * u * inverse
        square = square + d * d
    mean = 0.5 * (Sp + Sm)
    mixed = 0.5 * (Sp - Sm)
    share = 1.0 / (1.0 + mean * (Cn + Ct) + Cn * Ct * Sp * Sm)
    lateral = 1.0 / (1.0 + Sa * Ct)
    r0 = 0.5 * (plus + minus) * d0 + 0.5 * (plus - minus) * along
    rt = 0.5 * (plus - minus) * d0 + 0.5 * (plus + minus) * along
    w.dz[row] = share * ((1.0 + mean * Ct) * r0 - mixed * Ct * rt)
    rt = share * ((1.0 + mean * Cn) * rt - mixed * Cn * r0)
    Gnn = share * (mean + Ct * Sp * Sm)
    Gnt = share * mixed
    Gtt = share * (mean + Cn * Sp * Sm)
    Ga = lateral * Sa
    # Of a contact that sticks, dy_t = -y_t: De Saxcé's term and its change cancel, and G stays symmetric.
    slide = (1.0 - sticks) * saxce / maximum(length, LEAST_RADIUS)
    if dim > 1 and some_below(LEAST_RADIUS - slide * length * (mean + mixed), 0.0):
        w.counts[SYMMETRIC] = 0
    for r in range(row + 1, row + dim):
        u = unprojected(w, r, sigma, 0.0)
        d = w.z[r] - side * u
        t = u * inverse
        w.dz[r] = lateral * across * (d - along * t) + rt * t
    for i in range(dim):
        ti = 1.0 if i == 0 else unprojected(w, row + i, sigma, 0.0) * inverse
        gi = Gnn if i == 0 else Gnt * ti
        w.cone_G[row + i, 0] = gi
        for j in range(1, dim):
            tj = unprojected(w, row + j, sigma, 0.0) * inverse
            s = Gnt * tj
            if i > 0:
                s = (Gtt - Ga) * ti * tj
                if i == j:
                    s = s + Ga
            w.cone_G[row + i, j] = s + gi * (slide * w.row_y[row + j])
    return square


# Steps --------------------------------------------------------------------------------------------------------------


@kernel
def row_velocities(tree: Array, w: Array) -> None:
    """``y = A v + c``."""
    rows_times(tree, w, w.v_next, w.row_y)
    for e in prange(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            w.row_y[r] += w.row_c[r]


@kernel
def newton_direction(tree: Array, w: Array) -> None:
    """``dv, dy, dz`` of linearized sets, whose ``r`` is in ``dz``."""
    factorize_reduced(tree, w)
    active_mass_times(tree, w, w.v_next, w.Mv)
    if in_warp():
        for k in prange(tree.nv):
            w.dv[k] = 0.0
    for place in prange(w.counts[ACTIVE]):
        a = w.active_limb[place]
        for k in range(tree.limb_v[a], tree.limb_v[a] + tree.limb_size[a]):
            w.dv[k] = w.momentum[k] - w.Mv[k]
    for e in prange(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            w.dz[r] = w.z[r] - w.dz[r]
    add_rows_transposed(tree, w, w.dz, w.dv)
    solve_reduced(tree, w, w.dv)
    rows_times(tree, w, w.dv, w.dy)
    for e in prange(w.counts[CONES]):
        row = w.cone_row[e]
        for i in range(w.cone_dim[e]):
            x = w.dz[row + i] - w.z[row + i]
            for j in range(w.cone_dim[e]):
                x = x - w.cone_G[row + i, j] * w.dy[row + j]
            w.dz[row + i] = x


@kernel
def take_step(tree: Array, w: Array, t: Scalar) -> None:
    """Velocities and impulses after the part ``t`` of a step."""
    for place in prange(w.counts[ACTIVE]):
        a = w.active_limb[place]
        for k in range(tree.limb_v[a], tree.limb_v[a] + tree.limb_size[a]):
            w.v_next[k] += t * w.dv[k]
    for e in prange(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            w.z[r] += t * w.dz[r]
            w.row_y[r] += t * w.dy[r]


@kernel
def merit(w: Array, how: Smoothing, t: Scalar) -> Scalar:
    """The residual of all equations after the part ``t`` of a step, a velocity."""
    for e in prange(w.counts[CONES]):
        w.set_value[e] = equation(w, e, how, t)
    return sqrt(total_of(w.set_value, w.counts[CONES]))
