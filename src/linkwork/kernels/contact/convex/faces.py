# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of two convex shapes along a normal: corners of what a face of each shares, seen along it.

Each shape has a polygon on the side of the other: the face that is most nearly across the normal, an end of a cylinder
as a polygon of `RIM` corners, the axis of a capsule or of a cylinder that lies as a segment. Where the two polygons
overlap, seen along the normal, corners of the shared polygon are candidates, with the distances of the two planes
there. Of these, those that are farthest out in directions that are fixed to the smaller polygon are the contact points,
one a slot, so that they stay where they are from step to step. The nearest point of the two shapes is among them.

| symbol     | meaning                                                                                              |
|------------|------------------------------------------------------------------------------------------------------|
| axes_p, axes_q | tangents of the normal, in axes of the first shape                                                |
| outline    | polygons of the two shapes, then the shared one: coordinates along p, q and n                         |
| tilt       | of each polygon: the radius that the surface around a segment bends with; slopes along p and q         |
| candidate  | coordinates along p and q, height of the first surface, and of the second                             |

Cost: 30 operations for each corner of one polygon and edge of the other.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.convex.support import Pair, support
from linkwork.kernels.contact.shapes.frames import tangents, unit_or
from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below
from linkwork.kernels.spatial import Triple, add, dot, rotate, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import ZERO_SQUARE
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.cores import (
    BOX_CORE,
    CYLINDER_CORE,
    HULL_CORE,
    RIM,
    SEGMENT_CORE,
    TRIANGLE_CORE,
    TURNS,
)

MOST_CORNERS = 32
"""Of a polygon; of larger faces, every other corner counts, or every third."""
STEEPEST = 0.2
"""Faces whose normals have a cosine below this with the contact's are seen from the side, and have no points."""
ALONG_AXIS = 0.7
"""A cylinder touches with its end where the cosine of the normal and its axis is larger, else with its side."""

PARALLEL_SEGMENTS = 0.05
"""The sine of an angle below which segments lie side by side."""
CROSSING_SLACK = 1e-9
"""Extension of segments in tests of crossing, relative to their lengths."""

FACE_WORK: dict[str, Shape] = {
    "axes_p": (3,),
    "axes_q": (3,),
    "outline": (3, 2 * MOST_CORNERS, 3),
    "tilt": (2, 3),
    "candidate": (2 * MOST_CORNERS, 4),
}
FACE_INTEGERS: dict[str, Shape] = {"outlines": (3,)}


class Posed(NamedTuple):
    """One of the two shapes: its number, the kind of its core, and which of the two it is."""

    s: int
    core: int
    which: int


@kernel
def place_corner(w: Array, one: Posed, x: Vector, n: Vector) -> None:
    """Add a corner, in axes of the shape, to its polygon; at most so many as there is room for."""
    at = add(w.pose_t, rotate(w.pose_C, x)) if one.which == 1 else (x[0], x[1], x[2])
    k = w.outlines[one.which]
    w.outline[one.which, k, 0] = dot(w.axes_p, at)
    w.outline[one.which, k, 1] = dot(w.axes_q, at)
    w.outline[one.which, k, 2] = dot(n, at)
    w.outlines[one.which] = k + 1


@kernel
def outline_of(tree: Array, w: Array, one: Posed, n: Vector, hint: int) -> Scalar:
    """The polygon of a shape on the side of the other, and its plane; how far the surface is outside it along ``n``.

    ``n`` is the contact normal in axes of the first shape; a polygon of one corner is a point without a plane.
    """
    w.outlines[one.which] = 0
    w.tilt[one.which, 0] = 0.0
    w.tilt[one.which, 1] = 0.0
    w.tilt[one.which, 2] = 0.0
    local = rotate_inverse(w.pose_C, n) if one.which == 1 else (n[0], n[1], n[2])
    d = scale(-1.0 if one.which == 1 else 1.0, local)
    size = tree.shape_size[one.s]
    radius = 0.0
    if one.core == SEGMENT_CORE:
        radius = size[0]
        w.tilt[one.which, 0] = radius
        for k in range(2):
            place_corner(w, one, (0.0, 0.0, size[1] if k == 1 else -size[1]), n)
    elif one.core == CYLINDER_CORE:
        if some_below(ALONG_AXIS, magnitude(d[2])):
            end = -1.0 if some_below(d[2], 0.0) else 1.0
            for k in range(RIM):
                place_corner(w, one, (size[0] * TURNS[k][0], end * size[0] * TURNS[k][1], end * size[1]), n)
            set_plane(w, one, (0.0, 0.0, end), d)
        else:
            # the line of its side that is farthest along d
            out = unit_or((d[0], d[1], 0.0), (1.0, 0.0, 0.0))[0]
            w.tilt[one.which, 0] = size[0]
            for k in range(2):
                place_corner(w, one, (size[0] * out[0], size[0] * out[1], size[1] if k == 1 else -size[1]), n)
    elif one.core == BOX_CORE:
        box_outline(tree, w, one, d, n)
    elif one.core == HULL_CORE:
        hull_outline(tree, w, one, d, n, hint)
    elif one.core == TRIANGLE_CORE:
        for k in range(3):
            place_corner(w, one, w.triangle[k], n)
        e = sub(w.triangle[1], w.triangle[0])
        f = sub(w.triangle[2], w.triangle[0])
        m = (e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0])
        set_plane(w, one, unit_or(m, (0.0, 0.0, 1.0))[0], d)
    else:
        x = support(tree, w, one.s, one.core, hint, d)
        place_corner(w, one, (x.x, x.y, x.z), n)
    return radius


@kernel
def set_plane(w: Array, one: Posed, m: Vector, d: Vector) -> None:
    """Slopes of a polygon from its outward normal ``m``, both in axes of the shape; a steep one becomes a point."""
    cosine = dot(m, d)
    if some_below(cosine, STEEPEST):
        w.outlines[one.which] = 1
        return
    turned = rotate(w.pose_C, m) if one.which == 1 else (m[0], m[1], m[2])
    # the height of the plane, along n: points x with m . (x - corner) = 0; m . n has the sign of d
    k = -1.0 / (cosine if one.which == 0 else -cosine)
    w.tilt[one.which, 1] = k * dot(w.axes_p, turned)
    w.tilt[one.which, 2] = k * dot(w.axes_q, turned)


@kernel
def box_outline(tree: Array, w: Array, one: Posed, d: Vector, n: Vector) -> None:
    """The face of a box that is most nearly across ``d``."""
    h = tree.shape_size[one.s]
    i = 0
    if some_below(magnitude(d[0]), magnitude(d[1])):
        i = 1
    if some_below(magnitude(d[i]), magnitude(d[2])):
        i = 2
    s = -1.0 if some_below(d[i], 0.0) else 1.0
    j = (i + 1) % 3
    for k in range(4):
        a = -s if k == 0 or k == 3 else s
        b = -1.0 if k < 2 else 1.0
        x = s * h[0] if i == 0 else (a * h[0] if j == 0 else b * h[0])
        y = s * h[1] if i == 1 else (a * h[1] if j == 1 else b * h[1])
        z = s * h[2] if i == 2 else (a * h[2] if j == 2 else b * h[2])
        place_corner(w, one, (x, y, z), n)
    set_plane(w, one, (s if i == 0 else 0.0, s if i == 1 else 0.0, s if i == 2 else 0.0), d)


@kernel
def hull_outline(tree: Array, w: Array, one: Posed, d: Vector, n: Vector, hint: int) -> None:
    """The face of a hull that is most nearly across ``d``, of those around its farthest vertex; or that vertex."""
    h = tree.shape_hull[one.s]
    x = support(tree, w, one.s, one.core, hint, d)
    vertex = tree.hull_point[h] + x.number
    best = -UNBOUNDED
    face = -1
    start = tree.point_face[vertex]
    for k in range(start, start + tree.point_faces[vertex]):
        cosine = dot(tree.face_normal[tree.around[k]], d)
        if some_below(best, cosine):
            best = cosine
            face = tree.around[k]
    if face < 0:
        place_corner(w, one, (x.x, x.y, x.z), n)
        return
    count = tree.face_corners[face]
    stride = (count + MOST_CORNERS - 1) // MOST_CORNERS
    first = tree.face_corner[face]
    for k in range((count + stride - 1) // stride):
        place_corner(w, one, tree.hull_vertex[tree.hull_point[h] + tree.corner[first + k * stride]], n)
    set_plane(w, one, tree.face_normal[face], d)


@kernel
def height(w: Array, which: int, p: Scalar, q: Scalar) -> Scalar:
    """The height of a polygon's plane at a place."""
    x = w.outline[which, 0]
    return x[2] + w.tilt[which, 1] * (p - x[0]) + w.tilt[which, 2] * (q - x[1])


# The shared polygon ---------------------------------------------------------------------------------------


@kernel
def add_candidate(w: Array, count: int, p: Scalar, q: Scalar, low: Scalar, high: Scalar) -> int:
    """One more candidate, where there is room for it."""
    if count < 2 * MOST_CORNERS:
        w.candidate[count, 0] = p
        w.candidate[count, 1] = q
        w.candidate[count, 2] = low
        w.candidate[count, 3] = high
        return count + 1
    return count


@kernel
def shared_corners(tree: Array, w: Array, pair: Pair, n: Vector, margin: Scalar) -> int:
    """``candidate``: corners of what the polygons of both shapes share; how many there are."""
    p, q = tangents(n)
    for k in range(3):
        w.axes_p[k] = p[k]
        w.axes_q[k] = q[k]
    r = outline_of(tree, w, Posed(pair.first, pair.core, 0), n, w.hint[0])
    s = outline_of(tree, w, Posed(pair.second, pair.other, 1), n, w.hint[1])
    a = w.outlines[0]
    b = w.outlines[1]
    if a == 1 or b == 1:
        return 0
    if a == 2 and b == 2:
        return shared_segment(w, r, s)
    if a == 2:
        return segment_over_polygon(w, 0, 1, r, margin)
    if b == 2:
        return segment_over_polygon(w, 1, 0, s, margin)
    return clipped_polygon(w, margin)


@kernel
def clipped_polygon(w: Array, margin: Scalar) -> int:
    """Clip the second polygon by the edges of the first (Sutherland and Hodgman 1974).

    Edges that are farther from its center than all its corners leave it whole. Places of ``outline[2]`` and
    ``candidate`` take turns.
    """
    count: int = w.outlines[1]
    center = (0.0, 0.0)
    for k in range(count):
        for j in range(2):
            w.outline[2, k, j] = w.outline[1, k, j]
        center = (center[0] + w.outline[1, k, 0], center[1] + w.outline[1, k, 1])
    center = (center[0] / float(count), center[1] / float(count))
    square = 0.0
    for k in range(count):
        dx = w.outline[1, k, 0] - center[0]
        dy = w.outline[1, k, 1] - center[1]
        square = maximum(square, dx * dx + dy * dy)
    corners = w.outlines[0]
    for edge in range(corners):
        x = w.outline[0, edge]
        y = w.outline[0, edge + 1 if edge + 1 < corners else 0]
        # inward normal of the edge: polygons of the first shape go counterclockwise around n
        m = (-(y[1] - x[1]), y[0] - x[0], 0.0)
        inside = m[0] * (center[0] - x[0]) + m[1] * (center[1] - x[1])
        if some_below(inside, 0.0) or some_below(inside * inside, square * dot(m, m)):
            u = unit_or(m, (0.0, 0.0, 0.0))[0]
            least = 0.0
            for k in range(count):
                at = w.outline[2, k]
                least = minimum(least, u[0] * (at[0] - x[0]) + u[1] * (at[1] - x[1]) + margin)
            if some_below(least, 0.0):
                count = clipped_by_edge(w, count, x, u, margin)
    for k in range(count):
        at = w.outline[2, k]
        add_candidate(w, k, at[0], at[1], height(w, 0, at[0], at[1]), height(w, 1, at[0], at[1]))
    return count


@kernel
def clipped_by_edge(w: Array, count: int, x: Vector, u: Vector, margin: Scalar) -> int:
    """Leave the part of the shared polygon that is beyond the line through ``x`` along ``u``; how many corners."""
    total = 0
    at = w.outline[2, 0]
    here = u[0] * (at[0] - x[0]) + u[1] * (at[1] - x[1]) + margin
    for k in range(count):
        at = w.outline[2, k]
        after = w.outline[2, k + 1 if k + 1 < count else 0]
        there = u[0] * (after[0] - x[0]) + u[1] * (after[1] - x[1]) + margin
        if not some_below(here, 0.0):
            total = add_candidate(w, total, at[0], at[1], 0.0, 0.0)
        if (some_below(here, 0.0) and some_below(0.0, there)) or (some_below(there, 0.0) and some_below(0.0, here)):
            t = here / (here - there)
            total = add_candidate(w, total, at[0] + t * (after[0] - at[0]), at[1] + t * (after[1] - at[1]), 0.0, 0.0)
        here = there
    for k in range(total):
        for j in range(2):
            w.outline[2, k, j] = w.candidate[k, j]
    return total


@kernel
def segment_over_polygon(w: Array, segment: int, polygon: int, radius: Scalar, margin: Scalar) -> int:
    """The ends of the part of a segment, with a radius, that is over a polygon."""
    corners = w.outlines[polygon]
    x = w.outline[segment, 0]
    e = sub(w.outline[segment, 1], x)
    low = 0.0
    high = 1.0
    # the polygon of the second shape goes clockwise around n
    way = 1.0 if polygon == 0 else -1.0
    for edge in range(corners):
        y = w.outline[polygon, edge]
        z = w.outline[polygon, (edge + 1) % corners]
        u = unit_or((-way * (z[1] - y[1]), way * (z[0] - y[0]), 0.0), (0.0, 0.0, 0.0))[0]
        here = u[0] * (x[0] - y[0]) + u[1] * (x[1] - y[1]) + margin
        slope = u[0] * e[0] + u[1] * e[1]
        if some_below(magnitude(slope), margin):
            if some_below(here, 0.0):
                high = low - 1.0
        elif some_below(0.0, slope):
            low = maximum(low, -here / slope)
        else:
            high = high if some_below(high, -here / slope) else -here / slope
    if some_below(high, low):
        return 0
    count = 0
    for k in range(2):
        t = low if k == 0 else high
        if k == 0 or some_below(low, high):
            p = x[0] + t * e[0]
            q = x[1] + t * e[1]
            own = x[2] + t * e[2] + (radius if segment == 0 else -radius)
            other = height(w, polygon, p, q)
            count = add_candidate(w, count, p, q, own if segment == 0 else other, other if segment == 0 else own)
    return count


@kernel
def shared_segment(w: Array, r: Scalar, s: Scalar) -> int:
    """Of two segments with radii: where they cross, or the ends of what lies side by side where they are parallel."""
    x = w.outline[0, 0]
    y = w.outline[1, 0]
    e = sub(w.outline[0, 1], x)
    d = sub(w.outline[1, 1], y)
    ee = e[0] * e[0] + e[1] * e[1] + ZERO_SQUARE
    dd = d[0] * d[0] + d[1] * d[1] + ZERO_SQUARE
    area = e[0] * d[1] - e[1] * d[0]
    px = y[0] - x[0]
    py = y[1] - x[1]
    if some_below(PARALLEL_SEGMENTS * PARALLEL_SEGMENTS * ee * dd, area * area):
        t = (px * d[1] - py * d[0]) / area
        u = (px * e[1] - py * e[0]) / area
        outside = maximum(maximum(-t, t - 1.0), maximum(-u, u - 1.0))
        if some_below(outside, CROSSING_SLACK):
            p = x[0] + t * e[0]
            q = x[1] + t * e[1]
            return add_candidate(w, 0, p, q, x[2] + t * e[2] + r, y[2] + u * d[2] - s)
        return 0
    # places of the second's ends along the first
    first = (px * e[0] + py * e[1]) / ee
    last = first + (d[0] * e[0] + d[1] * e[1]) / ee
    span = last - first
    if some_below(magnitude(span), CROSSING_SLACK):
        return 0
    low = maximum(0.0, first if some_below(first, last) else last)
    high = last if some_below(first, last) else first
    high = 1.0 if some_below(1.0, high) else high
    if some_below(high, low):
        return 0
    count = 0
    for k in range(2):
        t = low if k == 0 else high
        u = (t - first) / span
        p = x[0] + t * e[0]
        q = x[1] + t * e[1]
        # beside each other by a little: surfaces bend away from each other
        beside = (y[0] + u * d[0] - p) * (y[0] + u * d[0] - p) + (y[1] + u * d[1] - q) * (y[1] + u * d[1] - q)
        low_height = x[2] + t * e[2] + r
        apart = y[2] + u * d[2] - s - low_height
        more = 0.5 * beside / (w.tilt[0, 0] + w.tilt[1, 0] + maximum(apart, 0.0) + ZERO_SQUARE)
        count = add_candidate(w, count, p, q, low_height, low_height + apart + more)
    return count


@kernel
def in_first(w: Array, n: Vector, p: Scalar, q: Scalar, h: Scalar) -> Triple:
    """A place in axes of the first shape."""
    return add(add(scale(p, w.axes_p), scale(q, w.axes_q)), scale(h, n))
