# SPDX-License-Identifier: BSD-3-Clause
"""The distance of two convex cores (Gilbert, Johnson and Keerthi 1988).

A simplex of at most four points of the difference D goes toward the origin: its point ``near`` that is nearest to the
origin is a direction, the point of D that is least along it joins the simplex, and points without weight leave it.
Corners of polytopes are found after finitely many iterations; of smooth shapes, iterations approach the distance, and
`normals` ends them.

Cost: 150 operations an iteration and two supports; 4 to 10 iterations for polytopes, 10 to 40 for smooth shapes.
"""

from __future__ import annotations

from linkwork.kernels.contact.convex.support import Pair, copy_row, has_faces, is_smooth, set_difference, weighted
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below
from linkwork.kernels.spatial import cross, dot, set_vector, sub
from linkwork.kernels.thresholds import CONVERGED_DISTANCE, FLAT_SIMPLEX, MIXED_DISTANCE, TOUCHING_CORES
from linkwork.model.thresholds import UNBOUNDED

MOST_ITERATIONS = 64
"""Of GJK."""

SMOOTH_DISTANCE = 1e-6
"""Accuracy of the distance of smooth cores before Newton's method, relative to the size of the shapes."""

OVERLAP = 5
"""The number of points that GJK gives where cores overlap or touch and the simplex is a tetrahedron; else 5 more."""


@kernel
def gjk(tree: Array, w: Array, pair: Pair, d: Vector, size: Scalar, limit: Scalar, count: int) -> int:
    """Points of the final simplex of two cores, and `OVERLAP` more where the origin is in it; ``near`` and weights.

    It begins with the ``count`` points that the simplex has, or with the point along ``d`` where it has none.

    ``d`` is a first direction from the first core to the second, a unit vector, ``size`` a length that rounding is
    measured by. Cores that are farther apart than ``limit``, which is above zero, have 0 points. The distance of smooth
    cores is found to `SMOOTH_DISTANCE` or `MIXED_DISTANCE`.
    """
    if count == 0:
        if some_below(limit, set_difference(tree, w, pair, d, 0)):
            return 0
        w.simplex_l[0] = 1.0
        count = 1
    elif count == 4:
        return count + OVERLAP
    set_vector(weighted(w.simplex_w, w.simplex_l, count), w.nearest)
    slack = 0.0
    if is_smooth(pair.core) + is_smooth(pair.other) > 0:
        slack = (MIXED_DISTANCE if has_faces(pair.core) + has_faces(pair.other) > 0 else SMOOTH_DISTANCE) * size
    square = dot(w.nearest, w.nearest)
    least = TOUCHING_CORES * TOUCHING_CORES * w.grain[0] * size * size
    for _ in range(MOST_ITERATIONS):
        if some_below(square, least):
            return count + OVERLAP
        along = set_difference(tree, w, pair, w.nearest, count)
        # (square - along) / |near| is by how much the distance may be less
        more = square - along
        if some_below(more, CONVERGED_DISTANCE * square) or some_below(more * more, slack * slack * square):
            return count
        if some_below(0.0, along) and some_below(limit * limit * square, along * along):
            return 0
        for k in range(count):
            if w.simplex_i[k] >= 0 and w.simplex_j[k] >= 0:
                if w.simplex_i[k] == w.simplex_i[count] and w.simplex_j[k] == w.simplex_j[count]:
                    return count
        count = nearest_in_simplex(w, count + 1, size)
        if count == 4:
            return count + OVERLAP
        set_vector(weighted(w.simplex_w, w.simplex_l, count), w.nearest)
        before = square
        square = dot(w.nearest, w.nearest)
        if not some_below(square, before):
            return count
    return count


@kernel
def nearest_in_simplex(w: Array, count: int, size: Scalar) -> int:
    """Reduce the simplex to the points that its nearest point is between; 4 where the origin is inside."""
    if count == 2:
        return nearest_on_segment(w, 0, 1)
    if count == 3:
        return nearest_on_triangle(w, 0, 1, 2)
    return nearest_in_tetrahedron(w, size)


@kernel
def keep_one(w: Array, a: int) -> int:
    """The simplex of one point."""
    copy_row(w, a, 0)
    w.simplex_l[0] = 1.0
    return 1


@kernel
def keep_two(w: Array, a: int, b: int, t: Scalar) -> int:
    """The simplex of two points, ``a < b``, with the weight ``t`` of the second."""
    copy_row(w, a, 0)
    copy_row(w, b, 1)
    w.simplex_l[0] = 1.0 - t
    w.simplex_l[1] = t
    return 2


@kernel
def nearest_on_segment(w: Array, a: int, b: int) -> int:
    """Reduce the simplex to the part of an edge that is nearest, ``a < b``."""
    p = w.simplex_w[a]
    e = sub(w.simplex_w[b], p)
    t = -dot(p, e)
    square = dot(e, e)
    if not some_below(0.0, t):
        return keep_one(w, a)
    if not some_below(t, square):
        return keep_one(w, b)
    return keep_two(w, a, b, t / square)


@kernel
def nearest_on_triangle(w: Array, a: int, b: int, c: int) -> int:
    """Reduce the simplex to the part of a triangle that is nearest, ``a < b < c``.

    Ericson, Real-Time Collision Detection, 5.1.5; areas by cross products, whose digits small triangles keep.
    """
    A = w.simplex_w[a]
    B = w.simplex_w[b]
    C = w.simplex_w[c]
    ab = sub(B, A)
    ac = sub(C, A)
    d1 = -dot(ab, A)
    d2 = -dot(ac, A)
    if not some_below(0.0, d1) and not some_below(0.0, d2):
        return keep_one(w, a)
    d3 = -dot(ab, B)
    d4 = -dot(ac, B)
    if not some_below(d3, 0.0) and not some_below(d3, d4):
        return keep_one(w, b)
    d5 = -dot(ab, C)
    d6 = -dot(ac, C)
    if not some_below(d6, 0.0) and not some_below(d6, d5):
        return keep_one(w, c)
    n = cross(ab, ac)
    wc = dot(n, cross(A, B))
    if not some_below(0.0, wc) and not some_below(d1, 0.0) and not some_below(0.0, d3):
        return nearest_on_segment(w, a, b)
    wb = dot(n, cross(C, A))
    if not some_below(0.0, wb) and not some_below(d2, 0.0) and not some_below(0.0, d6):
        return nearest_on_segment(w, a, c)
    wa = dot(n, cross(B, C))
    if not some_below(0.0, wa) and not some_below(d4, d3) and not some_below(d5, d6):
        return nearest_on_segment(w, b, c)
    total = wa + wb + wc
    if not some_below(0.0, total):
        return nearest_on_segment(w, a, b)
    inverse = 1.0 / total
    copy_row(w, a, 0)
    copy_row(w, b, 1)
    copy_row(w, c, 2)
    w.simplex_l[0] = wa * inverse
    w.simplex_l[1] = wb * inverse
    w.simplex_l[2] = wc * inverse
    return 3


@kernel
def nearest_in_tetrahedron(w: Array, size: Scalar) -> int:
    """Reduce the simplex of four points: to the nearest face, or not at all where the origin is inside."""
    inside = 1
    best = UNBOUNDED
    chosen = 0
    for k in range(4):
        # the face without point k
        a, b, c = face_without(k)
        A = w.simplex_w[a]
        n = cross(sub(w.simplex_w[b], A), sub(w.simplex_w[c], A))
        height = dot(n, sub(w.simplex_w[k], A))
        origin = -dot(n, A)
        # the origin is outside where it is beyond the face, seen from the fourth point; all faces of a flat one count
        flat = FLAT_SIMPLEX * w.grain[0] * size * size * size
        if some_below(height * height, flat * flat) or some_below(height * origin, 0.0):
            inside = 0
            square = square_to_triangle(w, a, b, c)
            if some_below(square, best):
                best = square
                chosen = k
    if inside == 1:
        return 4
    a, b, c = face_without(chosen)
    return nearest_on_triangle(w, a, b, c)


@kernel
def face_without(k: int) -> tuple[int, int, int]:
    """The three rows of four that are not ``k``, in order."""
    return (1 if k == 0 else 0), (2 if k < 2 else 1), (3 if k < 3 else 2)


@kernel
def square_to_triangle(w: Array, a: int, b: int, c: int) -> Scalar:
    """The square of the distance of the origin from a triangle of the simplex."""
    A = w.simplex_w[a]
    B = w.simplex_w[b]
    C = w.simplex_w[c]
    n = cross(sub(B, A), sub(C, A))
    wa = dot(n, cross(B, C))
    wb = dot(n, cross(C, A))
    wc = dot(n, cross(A, B))
    square = dot(n, n)
    if not some_below(wa, 0.0) and not some_below(wb, 0.0) and not some_below(wc, 0.0) and some_below(0.0, square):
        along = dot(n, A)
        return along * along / square
    best = square_to_segment(A, B)
    other = square_to_segment(B, C)
    best = other if some_below(other, best) else best
    other = square_to_segment(A, C)
    return other if some_below(other, best) else best


@kernel
def square_to_segment(p: Vector, q: Vector) -> Scalar:
    """The square of the distance of the origin from a segment."""
    e = sub(q, p)
    t = -dot(p, e)
    square = dot(e, e)
    if not some_below(0.0, t):
        return dot(p, p)
    if not some_below(t, square):
        return dot(q, q)
    m = cross(p, e)
    return dot(m, m) / square
