# SPDX-License-Identifier: BSD-3-Clause
"""Capsules against capsules and boxes: two contact points, so that what lies along an edge, a face or an axis rests.

A capsule is a segment, its core, and all within its radius. Contact points are where cores are nearest to each other;
but where they are as near at the two ends of what they have in common, these.

| symbol | meaning                                                                                                 |
|--------|---------------------------------------------------------------------------------------------------------|
| u, h   | axis of a capsule and half the length of its core                                                       |
| s, t   | places on the two cores, in lengths from their centers                                                  |
| n      | normal, from the first shape to the second                                                              |

Cost: 250 operations for two capsules, 500 for a box and a capsule.
"""

from __future__ import annotations

from linkwork.kernels.contact.shapes.frames import (
    clamp_vector,
    magnitudes,
    select,
    select_largest,
    set_core_contact,
    size_of_box,
    unit_or,
)
from linkwork.kernels.elementary import clamp, magnitude, maximum, minimum, sign_or_one
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, where
from linkwork.kernels.spatial import Triple, add, column, cross, dot, rotate, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import EQUAL_LENGTHS, LEVEL, ONE_POINT, ZERO_SQUARE


@kernel
def capsule_capsule(tree: Array, w: Array, first: int, second: int, slot: int, count: int, way: Scalar) -> None:
    """One contact point of two capsules, or two: at the ends of the part of their axes that is side by side."""
    u1 = column(w.shape_R[first], 2)
    u2 = column(w.shape_R[second], 2)
    h1 = tree.shape_size[first, 1]
    h2 = tree.shape_size[second, 1]
    r = sub(w.shape_p[first], w.shape_p[second])
    b = dot(u1, u2)
    c = dot(u1, r)
    f = dot(u2, r)
    m = cross(u1, u2)
    square = dot(m, m)
    # where the lines are nearest; then within both cores (Ericson, Real-Time Collision Detection, 5.1.9)
    s = clamp(-dot(cross(u2, m), r) / where(square, ZERO_SQUARE, 1.0, square), -h1, h1)
    t = clamp(b * s + f, -h2, h2)
    s = clamp(b * t - c, -h1, h1)
    # what the second core has beside the first
    reach = magnitude(b) * h2
    low = clamp(-c - reach, -h1, h1)
    high = clamp(-c + reach, -h1, h1)
    t_low = clamp(b * low + f, -h2, h2)
    t_high = clamp(b * high + f, -h2, h2)
    # where axes meet, rounding has no direction that is across both
    across = unit_or(m, column(w.shape_R[first], 0), EQUAL_LENGTHS)[0]
    margin = EQUAL_LENGTHS * (h1 + h2 + tree.shape_size[first, 0] + tree.shape_size[second, 0])
    touch = core_to_core(r, u1, u2, s, t, across, margin)
    at_low = core_to_core(r, u1, u2, low, t_low, across, margin)
    at_high = core_to_core(r, u1, u2, high, t_high, across, margin)
    better = where(touch[1] + margin, minimum(at_low[1], at_high[1]), 1.0, 0.0)
    radius = tree.shape_size[second, 0]
    radii = tree.shape_size[first, 0] + radius
    center = w.shape_p[second]
    if count == 1:
        s = where(0.5, better, s, 0.5 * (low + high))
        t = where(0.5, better, t, clamp(b * s + f, -h2, h2))
        n, distance = core_to_core(r, u1, u2, s, t, across, margin)
        set_core_contact(w, slot, distance - radii, add(center, scale(t, u2)), radius, n, 1.0, way)
    else:
        one = where(high - low, ONE_POINT * (h1 + h2), 1.0, 0.0)
        lower = where(s - low, high - s, 1.0, one)
        moved = where(0.5, maximum(better, one) * lower, 1.0, 0.0)
        core = add(center, scale(where(0.5, moved, t, t_low), u2))
        n = select(0.5, moved, touch[0], at_low[0])
        distance = where(0.5, moved, touch[1], at_low[1])
        set_core_contact(w, slot, distance - radii, core, radius, n, 1.0, way)
        moved = where(0.5, better * (1.0 - lower), 1.0, 0.0)
        core = add(center, scale(where(0.5, moved, t, t_high), u2))
        n = select(0.5, moved, touch[0], at_high[0])
        distance = where(0.5, moved, touch[1], at_high[1])
        set_core_contact(w, slot + 1, distance - radii, core, radius, n, 1.0 - one, way)


@kernel
def core_to_core(
    r: Vector, u1: Vector, u2: Vector, s: Scalar, t: Scalar, across: Vector, least: Scalar
) -> tuple[Triple, Scalar]:
    """Direction and distance from a place on the first core to one on the second; ``across`` where that is too near."""
    return unit_or(sub(scale(t, u2), add(r, scale(s, u1))), across, least)


# A box and a capsule --------------------------------------------------------------------------------------


@kernel
def box_capsule(tree: Array, w: Array, box: int, capsule: int, slot: int, way: Scalar) -> None:
    """Two contact points of a box and a capsule, of which the second is missing where they touch at one.

    All is in the axes of the box. The core is ``x(t) = c + t e``, t from -1 to 1.
    """
    R = w.shape_R[box]
    h = tree.shape_size[box]
    radius = tree.shape_size[capsule, 0]
    c = rotate_inverse(R, sub(w.shape_p[capsule], w.shape_p[box]))
    e = scale(tree.shape_size[capsule, 1], rotate_inverse(R, column(w.shape_R[capsule], 2)))
    margin = EQUAL_LENGTHS * (size_of_box(h) + tree.shape_size[capsule, 1])
    touch, n, nearest = segment_box_contact(h, c, e, margin)
    low, high, gap_low, gap_high = segment_over_face(h, c, e, n, margin)
    short = where(high - low, ONE_POINT, 1.0, 0.0)
    better = maximum(where(high, low, 1.0, 0.0), where(nearest + margin, minimum(gap_low, gap_high), 1.0, 0.0))
    lower = maximum(short, where(touch - low, high - touch, 1.0, 0.0))
    normal = rotate(R, n)
    moved = where(0.5, maximum(better, short) * lower, 1.0, 0.0)
    core = add(w.shape_p[capsule], rotate(R, scale(where(0.5, moved, touch, low), e)))
    gap = where(0.5, moved, nearest, gap_low) - radius
    set_core_contact(w, slot, gap, core, radius, normal, 1.0, way)
    moved = where(0.5, better * (1.0 - lower), 1.0, 0.0)
    core = add(w.shape_p[capsule], rotate(R, scale(where(0.5, moved, touch, high), e)))
    gap = where(0.5, moved, nearest, gap_high) - radius
    set_core_contact(w, slot + 1, gap, core, radius, normal, 1.0 - short, way)


@kernel
def segment_over_face(
    h: Vector, c: Vector, e: Vector, n: Vector, margin: Scalar
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """The part of a segment that, seen along ``n``, is over the face of the box that ``n`` leaves through.

    Returns where it starts and ends, and the distances from the face along ``n`` there.
    """
    facing = magnitudes(n)
    i = select_largest(facing, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    j = select_largest(facing, (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    k = select_largest(facing, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    # over the face, n times gap = (height + t rise) / (n . i) leads down to it
    inverse = 1.0 / dot(i, n)
    height = (dot(i, c) - sign_or_one(dot(i, n)) * dot(i, h)) * inverse
    rise = dot(i, e) * inverse
    shadow = sub(c, scale(height, n))
    along = sub(e, scale(rise, n))
    low, high = clipped(dot(j, shadow), dot(j, along), dot(j, h) + margin, -1.0, 1.0)
    low, high = clipped(dot(k, shadow), dot(k, along), dot(k, h) + margin, low, high)
    return low, high, height + low * rise, height + high * rise


@kernel
def clipped(x: Scalar, dx: Scalar, bound: Scalar, low: Scalar, high: Scalar) -> tuple[Scalar, Scalar]:
    """The part of ``low <= t <= high`` with ``|x + t dx| <= bound``; empty where its end is below its start."""
    level = where(magnitude(dx), LEVEL, 1.0, 0.0)
    inverse = 1.0 / where(0.5, level, 1.0, dx)
    a = (-bound - x) * inverse
    b = (bound - x) * inverse
    outside = where(0.5, level * where(bound, magnitude(x), 1.0, 0.0), 1.0, 0.0)
    start = where(0.5, level, low, maximum(low, minimum(a, b)))
    end = where(0.5, level, high, minimum(high, maximum(a, b)))
    return start, where(0.5, outside, low - 1.0, end)


@kernel
def segment_box_contact(h: Vector, c: Vector, e: Vector, margin: Scalar) -> tuple[Scalar, Triple, Scalar]:
    """Where a segment is nearest to a box: t, the normal, and the distance; negative, by how far they overlap.

    Overlap is least along a normal of a face or across an edge and the segment (separating axes). Where the distance is
    that along such an axis, to ``margin``, it is taken: it is exact where that from point to point has no direction.
    """
    d = magnitudes(c)
    reach = add(h, magnitudes(e))
    beyond = sub(d, reach)
    best = maximum(maximum(beyond[0], beyond[1]), beyond[2])
    i = select_largest(beyond, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    n = (sign_or_one(c[0]) * i[0], sign_or_one(c[1]) * i[1], sign_or_one(c[2]) * i[2])
    place = -sign_or_one(dot(n, e))
    for k in range(3):
        edge = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        axis = unit_or(cross(edge, e), edge)[0]
        axis = scale(sign_or_one(dot(axis, c)), axis)
        apart = dot(axis, c) - dot(magnitudes(axis), h) - magnitude(dot(axis, e))
        # the edge goes through this corner; across both, core and edge meet at t
        corner = (sign_or_one(axis[0]) * h[0], sign_or_one(axis[1]) * h[1], sign_or_one(axis[2]) * h[2])
        across = cross(axis, edge)
        slope = dot(across, e)
        t = clamp(dot(across, sub(corner, c)) / where(magnitude(slope), LEVEL, 1.0, slope), -1.0, 1.0)
        better = where(best + margin, apart, 1.0, 0.0)
        n = select(0.5, better, axis, n)
        place = where(0.5, better, t, place)
        best = where(0.5, better, apart, best)
    t = nearest_to_box(h, c, e)
    x = add(c, scale(t, e))
    out, distance = unit_or(sub(x, clamp_vector(x, h)), n)
    exact = where(0.0, best, where(best + margin, distance, 1.0, 0.0), 0.0)
    return (
        where(0.5, exact, t, place),
        select(0.5, exact, out, n),
        where(0.5, exact, distance, best),
    )


@kernel
def nearest_to_box(h: Vector, c: Vector, e: Vector) -> Scalar:
    """The place t, from -1 to 1, where the segment ``c + t e`` is nearest to the box with half edges ``h``.

    The derivative of the squared distance grows with t and is linear between the places where the segment crosses the
    planes of faces: its zero is between the last of these with a negative one, and the first with another.
    """
    low = -1.0
    high = 1.0
    slope_low = slope_of_distance(h, c, e, -1.0)
    slope_high = slope_of_distance(h, c, e, 1.0)
    last = slope_high
    for k in range(3):
        inverse = 1.0 / where(magnitude(e[k]), LEVEL, LEVEL, e[k])
        for side in range(2):
            t = clamp(((h[k] if side == 1 else -h[k]) - c[k]) * inverse, -1.0, 1.0)
            slope = slope_of_distance(h, c, e, t)
            up = where(slope, 0.0, where(low, t, 1.0, 0.0), 0.0)
            down = where(slope, 0.0, 0.0, where(t, high, 1.0, 0.0))
            low = where(0.5, up, t, low)
            slope_low = where(0.5, up, slope, slope_low)
            high = where(0.5, down, t, high)
            slope_high = where(0.5, down, slope, slope_high)
    low = where(last, 0.0, 1.0, low)
    slope_low = where(last, 0.0, 0.0, minimum(slope_low, 0.0))
    steps = slope_high - slope_low
    return low - (high - low) * slope_low / where(steps, ZERO_SQUARE, 1.0, steps)


@kernel
def slope_of_distance(h: Vector, c: Vector, e: Vector, t: Scalar) -> Scalar:
    """Half the derivative of the squared distance of ``c + t e`` from a box."""
    x = add(c, scale(t, e))
    return dot(e, sub(x, clamp_vector(x, h)))
