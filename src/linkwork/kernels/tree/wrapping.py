# SPDX-License-Identifier: BSD-3-Clause
"""Tendons around spheres and cylinders: the shortest path from a point to another that does not enter the obstacle.

As in MuJoCo (`mju_wrap`) the path is found in a plane: of a sphere that of its center and the two points, of a cylinder
the one across its axis. It is a straight line, or two tangents with an arc between them; around a cylinder, a helix.

| symbol | meaning                                                                            |
|--------|------------------------------------------------------------------------------------|
| a, b   | the two points in the plane, from the center; each two numbers                      |
| s      | a point on the side where the tendon passes, in the plane, at the radius            |
| p, q   | points of tangency                                                                 |
| r      | radius                                                                             |

To first order, lengths do not depend on the points of tangency: moment arms are those of two points fixed to the
obstacle. Cost: a fixed number of operations.
"""

from __future__ import annotations

from linkwork.kernels.elementary import clamp, magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, cross, dot, rotate, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import LEAST_DIVISOR, WRAP_TOLERANCE
from linkwork.kernels.tree.configurations import arc_over_sine
from linkwork.kernels.tree.tendon_geometry import distance_of
from linkwork.kernels.tree.world_points import add_point_jacobian, world_point

CROSSED = -10000.0
"""Score of a path whose tangents cross."""
NO_SIDE, SIDE, INSIDE = range(3)
"""Sides of an obstacle on which a tendon passes: either, a given one, inside."""
NEWTON_STEPS, NEWTON_START = 20, 1.0 - 1e-7

Pair = tuple[Scalar, Scalar]
Path = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
"""One where the tendon wraps, else zero; the two points of tangency; the length of the arc."""


@kernel
def crossing(ax: Scalar, ay: Scalar, px: Scalar, py: Scalar, bx: Scalar, by: Scalar, qx: Scalar, qy: Scalar) -> Scalar:
    """One where the line from ``a`` to ``p`` crosses that from ``b`` to ``q``, else zero."""
    det = (qy - by) * (px - ax) - (qx - bx) * (py - ay)
    safe = where(magnitude(det), LEAST_DIVISOR, 1.0, det)
    t = ((qx - bx) * (ay - by) - (qy - by) * (ax - bx)) / safe
    u = ((px - ax) * (ay - by) - (py - ay) * (ax - bx)) / safe
    inside = where(t, 0.0, 0.0, where(1.0, t, 0.0, where(u, 0.0, 0.0, where(1.0, u, 0.0, 1.0))))
    return where(magnitude(det), LEAST_DIVISOR, 0.0, inside)


@kernel
def outside_path(a: Pair, b: Pair, s: Pair, has_side: int, r: Scalar) -> Path:
    """The path around a circle; ``s`` is a point on the side where it passes."""
    aa = a[0] * a[0] + a[1] * a[1]
    bb = b[0] * b[0] + b[1] * b[1]
    rr = r * r
    dx = b[0] - a[0]
    dy = b[1] - a[1]
    dd = dx * dx + dy * dy
    t = clamp(-(dx * a[0] + dy * a[1]) / maximum(dd, LEAST_DIVISOR), 0.0, 1.0)
    nx = a[0] + t * dx
    ny = a[1] + t * dy
    wraps = where(aa, rr, 0.0, where(bb, rr, 0.0, where(dd, LEAST_DIVISOR, 0.0, 1.0)))
    clear = where(rr, nx * nx + ny * ny, 1.0, 0.0)
    if has_side != 0:
        clear = clear * (1.0 - passes_behind(a, b, s))
    wraps = wraps * (1.0 - clear)
    ta = r * sqrt(maximum(aa - rr, 0.0))
    tb = r * sqrt(maximum(bb - rr, 0.0))
    ia = 1.0 / maximum(aa, LEAST_DIVISOR)
    ib = 1.0 / maximum(bb, LEAST_DIVISOR)
    # the two paths: the first touches at the left of the line from the first point to the center
    px = (ia * (a[0] * rr + a[1] * ta), ia * (a[0] * rr - a[1] * ta))
    py = (ia * (a[1] * rr - a[0] * ta), ia * (a[1] * rr + a[0] * ta))
    qx = (ib * (b[0] * rr - b[1] * tb), ib * (b[0] * rr + b[1] * tb))
    qy = (ib * (b[1] * rr + b[0] * tb), ib * (b[1] * rr - b[0] * tb))
    good = (0.0, 0.0)
    if has_side != 0:
        g0 = side_of(px[0] + qx[0], py[0] + qy[0], s)
        g1 = side_of(px[1] + qx[1], py[1] + qy[1], s)
        good = (g0, g1)
    else:
        g0 = -((px[0] - qx[0]) * (px[0] - qx[0]) + (py[0] - qy[0]) * (py[0] - qy[0]))
        g1 = -((px[1] - qx[1]) * (px[1] - qx[1]) + (py[1] - qy[1]) * (py[1] - qy[1]))
        good = (g0, g1)
    x0 = crossing(a[0], a[1], px[0], py[0], b[0], b[1], qx[0], qy[0])
    x1 = crossing(a[0], a[1], px[1], py[1], b[0], b[1], qx[1], qy[1])
    first = where(0.5, x0, CROSSED, good[0])
    second = where(0.5, x1, CROSSED, good[1])
    ux = where(second, first, px[0], px[1])
    uy = where(second, first, py[0], py[1])
    wx = where(second, first, qx[0], qx[1])
    wy = where(second, first, qy[0], qy[1])
    turned = where(second, first, 1.0, -1.0)
    wraps = wraps * (1.0 - where(second, first, x0, x1))
    # angle 2 t of the arc: sin t from the chord, cos t from the middle; beyond half a turn where it goes the other way
    chord = ((ux - wx) * (ux - wx) + (uy - wy) * (uy - wy)) / (4.0 * rr)
    middle = sqrt(((ux + wx) * (ux + wx) + (uy + wy) * (uy + wy)) / (4.0 * rr))
    angle = 2.0 * arc_over_sine(minimum(chord, 1.0), middle) * sqrt(minimum(chord, 1.0))
    twist = turned * (uy * wx - ux * wy)
    angle = where(twist, 0.0, 6.283185307179586 - angle, angle)
    return wraps, ux, uy, wx, wy, r * angle


@kernel
def passes_behind(a: Pair, b: Pair, s: Pair) -> Scalar:
    """One where the line from ``a`` to ``b`` passes the center on the side opposite to ``s``, else zero."""
    ca = s[1] * a[0] - s[0] * a[1]
    cb = s[1] * b[0] - s[0] * b[1]
    apart = where(ca * cb, 0.0, ca - cb, 1.0)
    along = s[0] * a[0] + s[1] * a[1] + ca / apart * (s[0] * (b[0] - a[0]) + s[1] * (b[1] - a[1]))
    return where(ca * cb, 0.0, where(along, 0.0, 1.0, 0.0), 0.0)


@kernel
def side_of(x: Scalar, y: Scalar, s: Pair) -> Scalar:
    """The signed component of a direction on the side of ``s``."""
    return (x * s[0] + y * s[1]) / sqrt(maximum(x * x + y * y, LEAST_DIVISOR))


@kernel
def arc_sine(x: Scalar) -> Scalar:
    """``asin x``, ``0 <= x <= 1``."""
    return x * arc_over_sine(x * x, sqrt(maximum(1.0 - x * x, 0.0)))


@kernel
def inside_path(a: Pair, b: Pair, r: Scalar) -> Path:
    """The path that touches a circle from inside, at one point: Newton's method on its angle, as in MuJoCo."""
    la = sqrt(maximum(a[0] * a[0] + a[1] * a[1], LEAST_DIVISOR))
    lb = sqrt(maximum(b[0] * b[0] + b[1] * b[1], LEAST_DIVISOR))
    dx = b[0] - a[0]
    dy = b[1] - a[1]
    dd = dx * dx + dy * dy
    t = -(dx * a[0] + dy * a[1]) / maximum(dd, LEAST_DIVISOR)
    nx = a[0] + t * dx
    ny = a[1] + t * dy
    wraps = where(r, la, where(r, lb, 1.0, 0.0), 0.0)
    near = where(0.0, t, where(t, 1.0, where(r * r, nx * nx + ny * ny, 0.0, 1.0), 0.0), 0.0)
    wraps = wraps * (1.0 - near)
    A = minimum(r / la, 1.0)
    B = minimum(r / lb, 1.0)
    cosine = (la * la + lb * lb - dd) / (2.0 * la * lb)
    wraps = wraps * where(cosine, -1.0 + LEAST_DIVISOR, 0.0, 1.0)
    # where Newton's method fails, the middle of both directions
    mx = 0.5 * (a[0] + b[0])
    my = 0.5 * (a[1] + b[1])
    m = r / sqrt(maximum(mx * mx + my * my, LEAST_DIVISOR))
    fails = where(1.0 - LEAST_DIVISOR, cosine, 1.0, 0.0)
    half = sqrt(maximum(0.5 * (1.0 - cosine), 0.0))
    G = 2.0 * arc_sine(minimum(half, 1.0))
    z = NEWTON_START
    f = arc_sine(A * z) + arc_sine(B * z) - 2.0 * arc_sine(z) + G
    fails = maximum(fails, where(0.0, f, 1.0, 0.0))
    for _ in range(NEWTON_STEPS):
        slope = A / sqrt(maximum(1.0 - z * z * A * A, LEAST_DIVISOR)) + B / sqrt(
            maximum(1.0 - z * z * B * B, LEAST_DIVISOR)
        )
        slope = slope - 2.0 / sqrt(maximum(1.0 - z * z, LEAST_DIVISOR))
        open_ = where(WRAP_TOLERANCE, magnitude(f), 1.0, 0.0)
        z = clamp(z - open_ * f / minimum(slope, -LEAST_DIVISOR), 0.0, 1.0)
        f = arc_sine(A * z) + arc_sine(B * z) - 2.0 * arc_sine(z) + G
    fails = maximum(fails, where(WRAP_TOLERANCE, magnitude(f), 1.0, 0.0))
    left = where(0.0, a[0] * b[1] - a[1] * b[0], 1.0, 0.0)
    vx = where(0.5, left, a[0] / la, b[0] / lb)
    vy = where(0.5, left, a[1] / la, b[1] / lb)
    ratio = where(0.5, left, A, B)
    # the angle is asin z - asin (ratio z)
    cz = sqrt(maximum(1.0 - z * z, 0.0))
    cr = sqrt(maximum(1.0 - ratio * z * (ratio * z), 0.0))
    sine = z * cr - cz * (ratio * z)
    cosine = cz * cr + z * (ratio * z)
    x = where(0.5, fails, m * mx, r * (cosine * vx - sine * vy))
    y = where(0.5, fails, m * my, r * (sine * vx + cosine * vy))
    return wraps, x, y, x, y, 0.0


@kernel
def plane_axes(a: Vector, b: Vector) -> tuple[Triple, Triple]:
    """Axes of the plane through the origin and two points, the first along ``a``."""
    x = scale(1.0 / distance_of(a), a)
    n = cross(a, b)
    size = sqrt(dot(n, n))
    # where both are on a line, any plane through it
    ax = magnitude(x[0])
    ay = magnitude(x[1])
    az = magnitude(x[2])
    second = where(ax, ay, where(az, ay, 1.0, 0.0), 0.0)
    third = (1.0 - second) * where(ax, az, where(ay, az, 1.0, 0.0), 0.0)
    other = cross(x, (second + third, 1.0 - second, 1.0 - third))
    parallel = where(size, LEAST_DIVISOR, 1.0, 0.0)
    n = add(scale(1.0 - parallel, n), scale(parallel, other))
    y = cross(scale(1.0 / distance_of(n), n), x)
    return x, scale(1.0 / distance_of(y), y)


@kernel
def wrapped_path(tree: Array, w: Array, m: int) -> tuple[Scalar, Triple, Triple, Scalar]:
    """Of obstacle ``m``: one where the tendon wraps, points of tangency in the world, the length between them."""
    i = tree.wrap_body[m]
    center = world_point(w, i, tree.wrap_position[m])
    R = tree.wrap_rotation[m]
    first = world_point(w, tree.wrap_first_body[m], tree.wrap_first[m])
    second = world_point(w, tree.wrap_second_body[m], tree.wrap_second[m])
    a = rotate_inverse(R, rotate_inverse(w.ten_E[i], sub(first, center)))
    b = rotate_inverse(R, rotate_inverse(w.ten_E[i], sub(second, center)))
    x = (1.0, 0.0, 0.0)
    y = (0.0, 1.0, 0.0)
    if tree.wrap_is_cylinder[m] == 0:
        x, y = plane_axes(a, b)
    r = tree.wrap_radius[m]
    pa = (dot(a, x), dot(a, y))
    pb = (dot(b, x), dot(b, y))
    if tree.wrap_side[m] == INSIDE:
        wraps, px, py, qx, qy, length = inside_path(pa, pb, r)
    else:
        s = (0.0, 0.0)
        if tree.wrap_side[m] == SIDE:
            at = world_point(w, tree.wrap_side_body[m], tree.wrap_side_point[m])
            local = rotate_inverse(R, rotate_inverse(w.ten_E[i], sub(at, center)))
            s = (dot(local, x), dot(local, y))
        wraps, px, py, qx, qy, length = outside_path(pa, pb, s, tree.wrap_side[m], r)
    p = add(scale(px, x), scale(py, y))
    q = add(scale(qx, x), scale(qy, y))
    if tree.wrap_is_cylinder[m] != 0:
        before = sqrt((a[0] - px) * (a[0] - px) + (a[1] - py) * (a[1] - py))
        after = sqrt((b[0] - qx) * (b[0] - qx) + (b[1] - qy) * (b[1] - qy))
        rise = (b[2] - a[2]) / maximum(before + length + after, LEAST_DIVISOR)
        p = (px, py, a[2] + rise * before)
        q = (qx, qy, a[2] + rise * (before + length))
        length = length * sqrt(1.0 + rise * rise)
    p = add(center, rotate(w.ten_E[i], rotate(R, p)))
    q = add(center, rotate(w.ten_E[i], rotate(R, q)))
    return wraps, p, q, length


@kernel
def add_wrap_lengths(tree: Array, w: Array, length: Array) -> None:
    """Add lengths of the parts of tendons that pass obstacles, after `world_poses`."""
    for m in range(tree.nwraps):
        first = world_point(w, tree.wrap_first_body[m], tree.wrap_first[m])
        second = world_point(w, tree.wrap_second_body[m], tree.wrap_second[m])
        wraps, p, q, arc = wrapped_path(tree, w, m)
        around = distance_of(sub(p, first)) + arc + distance_of(sub(second, q))
        straight = distance_of(sub(second, first))
        length[tree.wrap_tendon[m]] += tree.wrap_scale[m] * where(0.5, wraps, around, straight)


@kernel
def add_wrap_rows(tree: Array, w: Array, J: Array) -> None:
    """Add moment arms of these, after `world_poses`."""
    for m in range(tree.nwraps):
        i = tree.wrap_body[m]
        first = world_point(w, tree.wrap_first_body[m], tree.wrap_first[m])
        second = world_point(w, tree.wrap_second_body[m], tree.wrap_second[m])
        wraps, p, q, _ = wrapped_path(tree, w, m)
        straight = sub(second, first)
        to = sub(p, first)
        away = sub(second, q)
        c = tree.wrap_scale[m]
        direct = scale(c * (1.0 - wraps) / distance_of(straight), straight)
        before = scale(c * wraps / distance_of(to), to)
        after = scale(c * wraps / distance_of(away), away)
        row = J[tree.wrap_tendon[m]]
        add_point_jacobian(tree, w, tree.wrap_first_body[m], 0, first, scale(-1.0, add(direct, before)), row)
        add_point_jacobian(tree, w, tree.wrap_second_body[m], 0, second, add(direct, after), row)
        add_point_jacobian(tree, w, i, 0, p, before, row)
        add_point_jacobian(tree, w, i, 0, q, scale(-1.0, after), row)
