# SPDX-License-Identifier: BSD-3-Clause
"""Two boxes: the normal along which they are nearest or overlap least, and the corners of what they share.

Overlap is least along one of 15 axes: the normals of faces, and across an edge of each (Gottschalk, Lin and Manocha
1996).
Boxes that are apart are nearest at a corner of one of them, or at an edge of each.

Seen along the normal, a face of each is a parallelogram; they share a polygon of at most eight corners, each the start
of the part of an edge that is over the other face. These are the contact points, with distances along the normal: eight
slots, or four, which are then the outermost corners, and the nearest point in any case.

| symbol | meaning                                                                                                 |
|--------|---------------------------------------------------------------------------------------------------------|
| a, b   | half edges of the first and the second box                                                              |
| C, t   | pose of the second box in the first                                                                     |
| n      | normal, from the first box to the second, in axes of the first                                          |
| box_C  | C                                                                                                       |
| clip   | candidates for contact points: x, y, z, gap, 1 where it is one, two numbers to choose by                |

Cost: 2900 operations, and 1600 more for nearest points where boxes are apart and no corner is over a face.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.shapes.frames import (
    clamp_vector,
    magnitudes,
    select,
    select_largest,
    set_contact,
    size_of_box,
    tangents,
    unit_or,
)
from linkwork.kernels.elementary import clamp, magnitude, maximum, minimum, sign_or_one
from linkwork.kernels.scalar import Array, Scalar, Vector, any_below, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, column, cross, dot, rotate, rotate_inverse, scale, set_vector, sub
from linkwork.kernels.thresholds import (
    BOX_TILT,
    COINCIDENT_EDGES,
    EQUAL_LENGTHS,
    LEANING,
    NO_CONTACT,
    PARALLEL_EDGES,
    ZERO_SQUARE,
)
from linkwork.model.thresholds import UNBOUNDED

BOX_WORK: dict[str, Shape] = {"box_C": (3, 3), "clip": (8, 7), "chosen": (4, 5)}


class Face(NamedTuple):
    """A face of a box seen along the normal: a parallelogram, counterclockwise."""

    x: Scalar
    """Center, in the tangent plane, and along the normal."""
    y: Scalar
    z: Scalar
    ux: Scalar
    """The two half edges."""
    uy: Scalar
    uz: Scalar
    vx: Scalar
    vy: Scalar
    vz: Scalar
    inverse: Scalar
    """One over the cross product of the half edges in the tangent plane."""


@kernel
def box_box(tree: Array, w: Array, first: int, second: int, slot: int, count: int, way: Scalar) -> None:
    """The contact points of two boxes, four or eight slots."""
    R = w.shape_R[first]
    a = tree.shape_size[first]
    b = tree.shape_size[second]
    C = w.box_C
    for k in range(3):
        x = rotate_inverse(R, column(w.shape_R[second], k))
        for j in range(3):
            C[j, k] = x[j]
    t = rotate_inverse(R, sub(w.shape_p[second], w.shape_p[first]))
    size = size_of_box(a) + size_of_box(b)
    margin = EQUAL_LENGTHS * size
    gap, n = separating_axis(a, b, C, t, margin)
    # the corners that are nearest along n, and of these to the other box: where one is as near to it as the axis says,
    # no other points are nearer, and any point does, for the polygon below has the nearest
    toward = add(n, scale(LEANING / size, t))
    corner = signed(toward, a)
    other = sub(t, rotate(C, signed(rotate_inverse(C, toward), b)))
    point = scale(0.5, add(corner, other))
    near = minimum(distance_to_box(other, a), distance_to_box(rotate_inverse(C, sub(corner, t)), b))
    if any_below(maximum(-gap, gap + margin - near), 0.0):
        x, y = nearest_points(a, b, C, t)
        out, distance = unit_or(sub(y, x), n)
        exact = where(0.0, gap, where(gap + margin, distance, 1.0, 0.0), 0.0)
        point = select(0.5, exact, scale(0.5, add(x, y)), point)
        n = select(0.5, exact, out, n)
        gap = where(0.5, exact, distance, gap)
    shared_polygon(w, a, b, C, t, n, point)
    if count == 4:
        outermost_corners(w, point)
        keep_nearest(w.chosen, 4, gap, point, margin)
        for k in range(4):
            set_box_contact(w, first, slot + k, w.chosen[k], R, n, way)
    else:
        keep_nearest(w.clip, 8, gap, point, margin)
        for k in range(8):
            set_box_contact(w, first, slot + k, w.clip[k], R, n, way)


@kernel
def set_box_contact(w: Array, first: int, slot: int, x: Array, R: Array, n: Vector, way: Scalar) -> None:
    """Write one contact point."""
    point = add(w.shape_p[first], rotate(R, (x[0], x[1], x[2])))
    set_contact(w, slot, where(0.5, x[4], x[3], NO_CONTACT), point, scale(way, rotate(R, n)))


@kernel
def distance_to_box(x: Vector, h: Vector) -> Scalar:
    """Distance of a point from a box; 0 inside."""
    out = sub(x, clamp_vector(x, h))
    return sqrt(dot(out, out))


@kernel
def signed(x: Vector, h: Vector) -> Triple:
    """``h`` with the signs of ``x``: the corner of a box that is farthest along ``x``."""
    return sign_or_one(x[0]) * h[0], sign_or_one(x[1]) * h[1], sign_or_one(x[2]) * h[2]


# The normal -----------------------------------------------------------------------------------------------


@kernel
def separating_axis(a: Vector, b: Vector, C: Array, t: Vector, margin: Scalar) -> tuple[Scalar, Triple]:
    """The axis along which two boxes are farthest apart, or overlap least: distance, and direction.

    Of axes that differ by less than ``margin``, a normal of the first box goes before one of the second, and that
    before one across two edges.
    """
    best = -UNBOUNDED
    n = (0.0, 0.0, 1.0)
    for i in range(3):
        apart = magnitude(t[i]) - a[i] - dot(b, magnitudes(C[i]))
        s = sign_or_one(t[i])
        axis = (s if i == 0 else 0.0, s if i == 1 else 0.0, s if i == 2 else 0.0)
        n = select(best, apart, axis, n)
        best = maximum(best, apart)
    for j in range(3):
        axis = column(C, j)
        along = dot(t, axis)
        apart = magnitude(along) - b[j] - dot(a, magnitudes(axis))
        n = select(best + margin, apart, scale(sign_or_one(along), axis), n)
        best = where(best + margin, apart, apart, best)
    for i in range(3):
        edge = (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
        for j in range(3):
            axis = unit_or(cross(edge, column(C, j)), edge)[0]
            along = dot(t, axis)
            spread = dot(a, magnitudes(axis)) + dot(b, magnitudes(rotate_inverse(C, axis)))
            apart = magnitude(along) - spread
            n = select(best + margin, apart, scale(sign_or_one(along), axis), n)
            best = where(best + margin, apart, apart, best)
    return best, n


@kernel
def nearest_points(a: Vector, b: Vector, C: Array, t: Vector) -> tuple[Triple, Triple]:
    """The points of two boxes that are nearest to each other: of the first, and of the second.

    They are at a corner of one of them, or on two edges that both are foremost across these edges.
    """
    x = (0.0, 0.0, 0.0)
    y = (0.0, 0.0, 0.0)
    best = UNBOUNDED
    for k in range(8):
        s = (-1.0 if k % 2 == 0 else 1.0, -1.0 if k // 2 % 2 == 0 else 1.0, -1.0 if k // 4 == 0 else 1.0)
        corner = (s[0] * a[0], s[1] * a[1], s[2] * a[2])
        near = add(t, rotate(C, clamp_vector(rotate_inverse(C, sub(corner, t)), b)))
        x, y, best = nearer(x, y, best, corner, near)
        corner = add(t, rotate(C, (s[0] * b[0], s[1] * b[1], s[2] * b[2])))
        x, y, best = nearer(x, y, best, clamp_vector(corner, a), corner)
    for i in range(3):
        e = (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
        for j in range(3):
            d = column(C, j)
            # where faces are parallel, which edges are foremost is decided as if the second box were a little tilted
            axis = cross(e, add(d, cross(BOX_TILT, d)))
            axis = scale(sign_or_one(dot(axis, t)), axis)
            inner = signed(axis, a)
            outer = rotate_inverse(C, axis)
            outer = signed(sub(outer, rotate_inverse(C, cross(BOX_TILT, axis))), b)
            # centers of the two edges
            p = (inner[0] * (1.0 - e[0]), inner[1] * (1.0 - e[1]), inner[2] * (1.0 - e[2]))
            q = (0.0 if j == 0 else -outer[0], 0.0 if j == 1 else -outer[1], 0.0 if j == 2 else -outer[2])
            q = add(t, rotate(C, q))
            u, v = nearest_on_edges(e, d, a[i], b[j], sub(p, q))
            x, y, best = nearer(x, y, best, add(p, scale(u, e)), add(q, scale(v, d)))
    return x, y


@kernel
def nearer(x: Vector, y: Vector, best: Scalar, first: Vector, second: Vector) -> tuple[Triple, Triple, Scalar]:
    """The nearest two points so far, ``x, y`` with the square of their distance, and ``first, second``."""
    between = sub(first, second)
    square = dot(between, between)
    return select(square, best, first, x), select(square, best, second, y), minimum(square, best)


@kernel
def nearest_on_edges(e: Vector, d: Vector, h: Scalar, k: Scalar, r: Vector) -> tuple[Scalar, Scalar]:
    """Where two edges are nearest: directions ``e, d``, half lengths ``h, k``, ``r`` from the center of the second.

    Ericson, Real-Time Collision Detection, 5.1.9.
    """
    m = cross(e, d)
    square = dot(m, m)
    b = dot(e, d)
    u = clamp(-dot(cross(d, m), r) / where(square, ZERO_SQUARE, 1.0, square), -h, h)
    v = clamp(b * u + dot(d, r), -k, k)
    return clamp(b * v - dot(e, r), -h, h), v


# The polygon ----------------------------------------------------------------------------------------------


@kernel
def shared_polygon(w: Array, a: Vector, b: Vector, C: Array, t: Vector, n: Vector, default: Vector) -> None:
    """``clip``: corners of what a face of each box share, seen along ``n``; ``default`` where there is none.

    Corner k is the start of the part of edge k, of the second box, then of the first, that is over the other's face.
    """
    p, q = tangents(n)
    A = face_along(n, p, q, (0.0, 0.0, 0.0), a, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), 1.0)
    B = face_along(n, p, q, t, b, column(C, 0), column(C, 1), column(C, 2), -1.0)
    # corners are numbered along the diagonals of the smaller face: the one with the larger inverse
    smaller_is_A = where(B.inverse, A.inverse, 1.0, 0.0)
    for k in range(8):
        if k < 4:
            place, valid = edge_over_face(k, B, A, COINCIDENT_EDGES)
        else:
            place, valid = edge_over_face(k - 4, A, B, -COINCIDENT_EDGES)
        on_A = in_face(A, place[0], place[1])
        on_B = in_face(B, place[0], place[1])
        low = A.z + on_A[0] * A.uz + on_A[1] * A.vz
        high = B.z + on_B[0] * B.uz + on_B[1] * B.vz
        point = add(add(scale(place[0], p), scale(place[1], q)), scale(0.5 * (low + high), n))
        set_vector(select(0.5, valid, point, default), w.clip[k])
        w.clip[k, 3] = high - low
        w.clip[k, 4] = valid
        w.clip[k, 5] = where(0.5, smaller_is_A, on_A[0], on_B[0])
        w.clip[k, 6] = where(0.5, smaller_is_A, on_A[1], on_B[1])


@kernel
def face_along(
    n: Vector, p: Vector, q: Vector, center: Vector, h: Vector, x: Vector, y: Vector, z: Vector, way: Scalar
) -> Face:
    """The face of a box that is most nearly across ``way n``, seen in the axes ``p, q, n``.

    The box has the axes ``x, y, z`` and half edges ``h``.
    """
    facing = magnitudes((dot(n, x), dot(n, y), dot(n, z)))
    x = scale(h[0], x)
    y = scale(h[1], y)
    z = scale(h[2], z)
    i = select_largest(facing, x, y, z)
    s = sign_or_one(dot(n, i))
    middle = add(center, scale(way * s, i))
    u = scale(s, select_largest(facing, y, z, x))
    v = select_largest(facing, z, x, y)
    ux = dot(p, u)
    uy = dot(q, u)
    vx = dot(p, v)
    vy = dot(q, v)
    inverse = 1.0 / (ux * vy - uy * vx)
    return Face(dot(p, middle), dot(q, middle), dot(n, middle), ux, uy, dot(n, u), vx, vy, dot(n, v), inverse)


@kernel
def in_face(face: Face, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """A place as numbers of half edges of a face; both are from -1 to 1 in it."""
    dx = x - face.x
    dy = y - face.y
    return (dx * face.vy - dy * face.vx) * face.inverse, (face.ux * dy - face.uy * dx) * face.inverse


@kernel
def edge_over_face(k: int, edges: Face, face: Face, margin: Scalar) -> tuple[tuple[Scalar, Scalar], Scalar]:
    """Where the part of edge ``k`` of one face that is over another starts, and whether there is such a part."""
    x = -1.0 if k == 0 or k == 3 else 1.0
    y = -1.0 if k < 2 else 1.0
    dx = 2.0 if k == 0 else (-2.0 if k == 2 else 0.0)
    dy = 2.0 if k == 1 else (-2.0 if k == 3 else 0.0)
    start_x = edges.x + x * edges.ux + y * edges.vx
    start_y = edges.y + x * edges.uy + y * edges.vy
    along_x = dx * edges.ux + dy * edges.vx
    along_y = dx * edges.uy + dy * edges.vy
    at = in_face(face, start_x, start_y)
    along = in_face(face, face.x + along_x, face.y + along_y)
    low, high = clipped_edge(at[0], along[0], 1.0 + margin, 0.0, 1.0)
    low, high = clipped_edge(at[1], along[1], 1.0 + margin, low, high)
    valid = where(low, high, 1.0, 0.0)
    # the start within the margin: without it, an edge that lies beside one of the face may start where they cross
    return (start_x + low * along_x, start_y + low * along_y), valid


@kernel
def clipped_edge(x: Scalar, dx: Scalar, bound: Scalar, low: Scalar, high: Scalar) -> tuple[Scalar, Scalar]:
    """The part of ``low <= t <= high`` with ``|x + t dx| <= bound``; empty where its end is below its start."""
    level = where(magnitude(dx), PARALLEL_EDGES, 1.0, 0.0)
    inverse = 1.0 / where(0.5, level, 1.0, dx)
    a = (-bound - x) * inverse
    b = (bound - x) * inverse
    start = where(0.5, level, low, maximum(low, minimum(a, b)))
    end = where(0.5, level, high, minimum(high, maximum(a, b)))
    outside = where(0.5, level * where(bound, magnitude(x), 1.0, 0.0), 1.0, 0.0)
    return start, where(0.5, outside, low - 1.0, end)


# Which corners --------------------------------------------------------------------------------------------


@kernel
def outermost_corners(w: Array, default: Vector) -> None:
    """``chosen``: of the corners in ``clip``, those that are farthest out along the four half diagonals of a face."""
    for d in range(4):
        x = -1.0 if d % 2 == 0 else 1.0
        y = -1.0 if d // 2 == 0 else 1.0
        chosen = w.chosen[d]
        set_vector(default, chosen)
        chosen[3] = NO_CONTACT
        chosen[4] = 0.0
        best = -UNBOUNDED
        for k in range(8):
            corner = w.clip[k]
            out = where(0.5, corner[4], x * corner[5] + y * corner[6], -UNBOUNDED)
            set_vector(select(best, out, corner, chosen), chosen)
            chosen[3] = where(best, out, corner[3], chosen[3])
            chosen[4] = where(best, out, float(k + 1), chosen[4])
            best = maximum(best, out)
    # a corner that is outermost in two directions is one contact point
    for d in range(1, 4):
        again = 0.0
        for k in range(d):
            again = where(magnitude(w.chosen[d, 4] - w.chosen[k, 4]), 0.5, 1.0, again)
        set_vector(select(0.5, again, default, w.chosen[d]), w.chosen[d])
        w.chosen[d, 4] = where(0.5, again, 0.0, w.chosen[d, 4])


@kernel
def keep_nearest(points: Array, count: int, gap: Scalar, point: Vector, margin: Scalar) -> None:
    """Put the nearest point in place of the contact point next to it, or of one that is missing, if none is as near."""
    least = UNBOUNDED
    next_to = UNBOUNDED
    place = -1.0
    for k in range(count):
        x = points[k]
        least = where(0.5, x[4], minimum(least, x[3]), least)
        away = sub(x, point)
        square = where(0.5, x[4], dot(away, away) + ZERO_SQUARE, 0.0)
        place = where(square, next_to, float(k), place)
        next_to = minimum(square, next_to)
    for k in range(count):
        x = points[k]
        moved = where(gap + margin, least, where(magnitude(place - float(k)), 0.5, 1.0, 0.0), 0.0)
        set_vector(select(0.5, moved, point, x), x)
        x[3] = where(0.5, moved, gap, x[3])
        x[4] = where(0.5, moved, 1.0, x[4])
