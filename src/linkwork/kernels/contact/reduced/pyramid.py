# SPDX-License-Identifier: BSD-3-Clause
"""Soft contacts with pyramidal cones, MuJoCo's default: forces along the edges of a pyramid, each a soft row.

The edges of a contact are the normal plus and minus each direction of friction, times its coefficient. With rows scaled
as those of cones (`problem`), impulses ``g >= 0`` of edges are impulses ``z`` of rows, and velocities ``y`` of rows are
those of edges::

    z_0 = sum_k g_k+ + g_k-        z_k = g_k+ - g_k-        y_k± = y_0 ± y_k
    0 <= g ⟂ y_k± + R g >= 0       R = 2 mu² (1 + mu²) / impratio  times R of the normal (`soft`)

As ``R > 0``, impulses are functions ``z = F(y)`` of velocities, ``g = max(0, -y / R)``; smoothed, ``g (y + R g)`` is
``tau / sigma`` instead of zero. So ``dz = -G dy - (z - F)`` with ``G = -F'``, as `smoothing_newton` needs it.

A pyramid has directions, MuJoCo's: y of the world in the tangent plane, or z where the normal is near y, or the axis of
a capsule on a plane.

| symbol | meaning                                                                |
|--------|------------------------------------------------------------------------|
| R      | regularization of an edge: ``compliance`` of all rows of the set         |
| turn   | cosine and sine of the angle from ``t1`` of a contact to the first edge   |
| a, q   | ``-y / R``, and ``sqrt(a² + 4 tau / (sigma R))``: ``g = (a + q) / 2``       |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.cones import smooth_parts
from linkwork.kernels.contact.reduced.problem import FORCE, GAP
from linkwork.kernels.contact.shapes.frames import select
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, column, dot, scale
from linkwork.kernels.thresholds import LEAST_RADIUS
from linkwork.plans.contacts import PLANE_CAPSULE

PYRAMID_WORK: dict[str, Shape] = {"turn": ("nlisted", 2)}


@kernel
def set_turn(tree: Array, w: Array, p: int, c: int, s: int) -> None:
    """``turn`` of a listed contact point, in slot ``s`` of pair ``c``."""
    R = w.contact_R[s]
    axis = select(magnitude(R[1, 2]), 0.5, (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    if tree.contact_kind[c] == PLANE_CAPSULE:
        along = column(w.shape_R[tree.contact_second[c]], 2)
        upright = 1.0 - dot(along, column(R, 2)) * dot(along, column(R, 2))
        axis = select(upright, LEAST_RADIUS, (1.0, 0.0, 0.0), along)
    x = dot(column(R, 0), axis)
    y = dot(column(R, 1), axis)
    length = maximum(sqrt(x * x + y * y), LEAST_RADIUS)
    w.turn[p, 0] = x / length
    w.turn[p, 1] = y / length


@kernel
def turned(w: Array, p: int, x: Scalar, y: Scalar, back: Scalar) -> tuple[Scalar, Scalar]:
    """Components along the edges of a vector along ``t1`` and ``t2``; the other way where ``back`` is -1."""
    sine = back * w.turn[p, 1]
    return w.turn[p, 0] * x + sine * y, w.turn[p, 0] * y - sine * x


@kernel
def turned_axis(w: Array, p: int, R: Array, x: Scalar, y: Scalar) -> Triple:
    """In the world, the vector with the components ``x, y`` along the edges."""
    a, b = turned(w, p, x, y, -1.0)
    return add(scale(a, column(R, 0)), scale(b, column(R, 1)))


@kernel
def turn_point_back(w: Array, p: int, point: Array) -> None:
    """Force, velocity and moment of a contact point along ``t1`` and ``t2``, which are along the edges before."""
    for first in range(FORCE, GAP, 3):
        x, y = turned(w, p, point[first], point[first + 1], -1.0)
        point[first] = x
        point[first + 1] = y


@kernel
def edge_compliance(mu: Scalar, ratio: Scalar, R: Scalar) -> Scalar:
    """``R`` of an edge, from that of the normal, the coefficient ``mu`` against sliding, and ``impratio``."""
    return 2.0 * mu * mu * (1.0 + mu * mu) / ratio * R


@kernel
def edge_impulse(y: Scalar, R: Scalar, tau: Scalar) -> tuple[Scalar, Scalar]:
    """``g`` of an edge, and ``-dg/dy``; ``tau`` is divided by ``sigma R``."""
    a = -y / R
    q = sqrt(a * a + 4.0 * tau)
    g, _ = smooth_parts(a, q, tau)
    return g, g / (q * R)


@kernel
def pyramid_equation(w: Array, e: int, sigma: Scalar, tau: Scalar, t: Scalar) -> Scalar:
    """The square of ``z - F``, as a velocity, after the part ``t`` of a step."""
    row = w.cone_row[e]
    R = w.compliance[row]
    smoothing = tau / (sigma * R)
    y0 = w.row_y[row] + t * w.dy[row]
    d0 = w.z[row] + t * w.dz[row]
    square = 0.0
    for r in range(row + 1, row + w.cone_dim[e]):
        y = w.row_y[r] + t * w.dy[r]
        plus, _ = edge_impulse(y0 + y, R, smoothing)
        minus, _ = edge_impulse(y0 - y, R, smoothing)
        d0 = d0 - plus - minus
        d = w.z[r] + t * w.dz[r] - plus + minus
        square = square + d * d
    weight = R / (1.0 + sigma * R)
    return (square + d0 * d0) * weight * weight


@kernel
def linearize_pyramid(w: Array, e: int, sigma: Scalar, tau: Scalar) -> Scalar:
    """``G``, and ``z - F`` in ``dz``; returns the square of the latter, as a velocity."""
    row = w.cone_row[e]
    dim = w.cone_dim[e]
    R = w.compliance[row]
    smoothing = tau / (sigma * R)
    y0 = w.row_y[row]
    for i in range(dim):
        for j in range(dim):
            w.cone_G[row + i, j] = 0.0
    d0 = w.z[row]
    square = 0.0
    for k in range(1, dim):
        r = row + k
        plus, steep = edge_impulse(y0 + w.row_y[r], R, smoothing)
        minus, other = edge_impulse(y0 - w.row_y[r], R, smoothing)
        d0 = d0 - plus - minus
        w.dz[r] = w.z[r] - plus + minus
        square = square + w.dz[r] * w.dz[r]
        w.cone_G[row, 0] += steep + other
        w.cone_G[row, k] = steep - other
        w.cone_G[r, 0] = steep - other
        w.cone_G[r, k] = steep + other
    w.dz[row] = d0
    weight = R / (1.0 + sigma * R)
    return (square + d0 * d0) * weight * weight


@kernel
def linearize_pyramid_smoothing(w: Array, e: int, sigma: Scalar, tau: Scalar) -> None:
    """``-theta F_theta`` of a pyramid, in ``tangent_z``: ``theta dg/dtheta = 2 tau / q``, as ``tau`` goes as its
    square."""
    row = w.cone_row[e]
    R = w.compliance[row]
    smoothing = tau / (sigma * R)
    y0 = w.row_y[row]
    total = 0.0
    for r in range(row + 1, row + w.cone_dim[e]):
        a = (y0 + w.row_y[r]) / R
        b = (y0 - w.row_y[r]) / R
        plus = 2.0 * smoothing / sqrt(a * a + 4.0 * smoothing)
        minus = 2.0 * smoothing / sqrt(b * b + 4.0 * smoothing)
        total = total + plus + minus
        w.tangent_z[r] = minus - plus
    w.tangent_z[row] = -total


@kernel
def pyramid_residual(w: Array, e: int) -> Scalar:
    """The length of ``z - F``, as a velocity, without smoothing."""
    row = w.cone_row[e]
    R = w.compliance[row]
    y0 = w.row_y[row]
    d0 = w.z[row]
    square = 0.0
    for r in range(row + 1, row + w.cone_dim[e]):
        plus = maximum(-(y0 + w.row_y[r]) / R, 0.0)
        minus = maximum(-(y0 - w.row_y[r]) / R, 0.0)
        d0 = d0 - plus - minus
        d = w.z[r] - plus + minus
        square = square + d * d
    return sqrt(square + d0 * d0) * R * w.cone_D[e] / (w.cone_D[e] + R)


@kernel
def guess_pyramid(w: Array, e: int, goes_on: Scalar) -> None:
    """``guessed`` of a contact that goes on: velocities at which edges have the impulses ``z`` together, those of all
    pairs of edges alike; else velocities as they are."""
    row = w.cone_row[e]
    R = w.compliance[row]
    share = 0.5 / float(w.cone_dim[e] - 1)
    w.guessed[row] = where(0.5, goes_on, -(R * share * w.z[row]), w.row_y[row])
    for r in range(row + 1, row + w.cone_dim[e]):
        w.guessed[r] = where(0.5, goes_on, -(0.5 * R * w.z[r]), w.row_y[r])


@kernel
def project_pyramid(w: Array, e: int) -> None:
    """Impulses in the pyramid: ``sum_k |z_k| <= z_0``."""
    row = w.cone_row[e]
    w.z[row] = maximum(w.z[row], 0.0)
    total = 0.0
    for r in range(row + 1, row + w.cone_dim[e]):
        total = total + magnitude(w.z[r])
    part = where(w.z[row], total, w.z[row] / maximum(total, LEAST_RADIUS), 1.0)
    for r in range(row + 1, row + w.cone_dim[e]):
        w.z[r] = part * w.z[r]
