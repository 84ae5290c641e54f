# SPDX-License-Identifier: BSD-3-Clause
"""The depth of two convex cores that overlap: the expanding polytope (van den Bergen 2001).

A polytope in the difference D that has the origin inside grows at the face that is nearest to it: the point of D that
is farthest along its normal joins it. Faces whose planes that point is beyond go, and new ones close the hole. No way
out of D is shorter than the distance of the nearest face; each point that joins says how far D goes along a normal.

Faces of polytopes are found after finitely many points. Of smooth shapes, all faces that may have a shorter way out
behind them than the best so far are refined (`normals`).

| symbol     | meaning                                                                                            |
|------------|----------------------------------------------------------------------------------------------------|
| polytope_x, polytope_y, polytope_w | vertices: points of both cores, and their differences             |
| polytope_i, polytope_j | numbers of their corners                                                               |
| facet      | three vertices of a face, counterclockwise from outside                                            |
| facet_n    | outward unit normal of a face, and its distance from the origin                                    |
| rim        | edges of the hole                                                                                  |

Cost: two supports and 15 operations a face for each point; 5 to 60 points.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.convex.normals import Normal, refined
from linkwork.kernels.contact.convex.support import Pair, copy_row, is_smooth, set_difference
from linkwork.kernels.contact.shapes.frames import tangents, unit_or
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below, sqrt
from linkwork.kernels.spatial import add, cross, dot, scale, set_vector, sub
from linkwork.kernels.thresholds import FLAT_DIFFERENCE, ROUNDED_LENGTH, SMOOTH_FACETS
from linkwork.model.thresholds import UNBOUNDED

MOST_VERTICES = 192
MOST_FACETS = 384
MOST_RIM = 128
SAME_WAY = 0.9998
"""Directions whose cosine is larger lead to the same normal."""

EPA_WORK: dict[str, Shape] = {
    "polytope_x": (MOST_VERTICES, 3),
    "polytope_y": (MOST_VERTICES, 3),
    "polytope_w": (MOST_VERTICES, 3),
    "facet_n": (MOST_FACETS, 4),
    "kept": (10, 3),
}
EPA_INTEGERS: dict[str, Shape] = {
    "polytope_i": (MOST_VERTICES,),
    "polytope_j": (MOST_VERTICES,),
    "facet": (MOST_FACETS, 3),
    "rim": (MOST_RIM, 2),
    "epa": (4,),  # vertices, faces, edges of the hole; 1 where the surface is closed
    "kept_i": (6,),
}


@kernel
def penetration(tree: Array, w: Array, pair: Pair, count: int, size: Scalar, center: Vector) -> Normal:
    """The normal along which two cores overlap least, from a simplex with the origin in it.

    The simplex becomes the face that the normal is from. ``center`` is a direction from the first core to the second,
    for cores whose difference has no volume.
    """
    count = span_tetrahedron(tree, w, pair, count, size)
    w.epa[0] = 0
    w.epa[1] = 0
    w.epa[3] = 1
    if count < 4:
        return flat_normal(tree, w, pair, count, center)
    for k in range(4):
        add_vertex(w, k)
    middle = scale(0.25, add(add(w.polytope_w[0], w.polytope_w[1]), add(w.polytope_w[2], w.polytope_w[3])))
    for k in range(4):
        a = 1 if k == 0 else 0
        b = 2 if k < 2 else 1
        c = 3 if k < 3 else 2
        n = cross(sub(w.polytope_w[b], w.polytope_w[a]), sub(w.polytope_w[c], w.polytope_w[a]))
        if some_below(dot(n, sub(w.polytope_w[a], middle)), 0.0):
            add_facet(w, a, c, b, size)
        else:
            add_facet(w, a, b, c, size)
    smooth = is_smooth(pair.core) + is_smooth(pair.other)
    rounding = rounding_of(w, size)
    tolerance = maximum(SMOOTH_FACETS * size, rounding) if smooth > 0 else rounding
    best = normal_of_facet(tree, w, pair, expand(tree, w, pair, tolerance, size), size)
    if smooth > 0:
        best = other_ways(tree, w, pair, best, size)
    return best


@kernel
def rounding_of(w: Array, size: Scalar) -> Scalar:
    """Rounding of lengths."""
    return ROUNDED_LENGTH * w.grain[0] * size


@kernel
def normal_of_facet(tree: Array, w: Array, pair: Pair, near: int, size: Scalar) -> Normal:
    """The normal of a face, which becomes the simplex."""
    n = w.facet_n[near]
    take_facet(w, near)
    return refined(tree, w, pair, 3, (-n[0], -n[1], -n[2]), size)


@kernel
def expand(tree: Array, w: Array, pair: Pair, tolerance: Scalar, size: Scalar) -> int:
    """Let the polytope grow until its nearest face is within ``tolerance`` of the surface of D; that face."""
    near = nearest_facet(w)
    for _ in range(MOST_VERTICES - 4):
        n = w.facet_n[near]
        begin_at(w, w.facet[near, 0])
        beyond = -set_difference(tree, w, pair, (-n[0], -n[1], -n[2]), 4) - n[3]
        if some_below(beyond, tolerance):
            return near
        if w.epa[0] == MOST_VERTICES or not has_room(w):
            return near
        add_vertex(w, 4)
        open_hole(w, w.epa[0] - 1, near, size)
        if w.epa[1] + w.epa[2] > MOST_FACETS:
            w.epa[3] = 0
            return nearest_facet(w)
        for k in range(w.epa[2]):
            add_facet(w, w.rim[k, 0], w.rim[k, 1], w.epa[0] - 1, size)
        near = nearest_facet(w)
    return near


@kernel
def begin_at(w: Array, vertex: int) -> None:
    """Let searches for supports begin at a vertex of the polytope."""
    w.hint[0] = w.polytope_i[vertex] if w.polytope_i[vertex] >= 0 else 0
    w.hint[1] = w.polytope_j[vertex] if w.polytope_j[vertex] >= 0 else 0


@kernel
def has_room(w: Array) -> bool:
    """Whether a hole in all faces would fit."""
    room: bool = w.epa[1] * 3 // 2 <= MOST_FACETS
    return room


@kernel
def other_ways(tree: Array, w: Array, pair: Pair, best: Normal, size: Scalar) -> Normal:
    """The best normal, with those of all faces that may be better: no way out behind a face is shorter than it."""
    for k in range(w.epa[1]):
        n = w.facet_n[k]
        if some_below(n[3], -best.f - ROUNDED_LENGTH * w.grain[0] * size) and some_below(-dot(n, best.n), SAME_WAY):
            keep_simplex(w)
            take_facet(w, k)
            other = refined(tree, w, pair, 3, (-n[0], -n[1], -n[2]), size)
            if some_below(best.f, other.f):
                best = other
            else:
                restore_simplex(w)
    return best


@kernel
def add_vertex(w: Array, row: int) -> None:
    """A row of the simplex as a vertex."""
    k = w.epa[0]
    set_vector(w.simplex_x[row], w.polytope_x[k])
    set_vector(w.simplex_y[row], w.polytope_y[k])
    set_vector(w.simplex_w[row], w.polytope_w[k])
    w.polytope_i[k] = w.simplex_i[row]
    w.polytope_j[k] = w.simplex_j[row]
    w.epa[0] = k + 1


@kernel
def take_facet(w: Array, face: int) -> None:
    """The simplex of a face, with the weights of its point nearest to the origin."""
    n = w.facet_n[face]
    foot = scale(n[3], n)
    total = 0.0
    for k in range(3):
        v = w.facet[face, k]
        set_vector(w.polytope_x[v], w.simplex_x[k])
        set_vector(w.polytope_y[v], w.simplex_y[k])
        set_vector(w.polytope_w[v], w.simplex_w[k])
        w.simplex_i[k] = w.polytope_i[v]
        w.simplex_j[k] = w.polytope_j[v]
        p = sub(w.polytope_w[w.facet[face, (k + 1) % 3]], foot)
        q = sub(w.polytope_w[w.facet[face, (k + 2) % 3]], foot)
        area = dot(n, cross(p, q))
        w.simplex_l[k] = area if some_below(0.0, area) else 0.0
        total += w.simplex_l[k]
    for k in range(3):
        w.simplex_l[k] = w.simplex_l[k] / total if some_below(0.0, total) else 1.0 / 3.0


@kernel
def keep_simplex(w: Array) -> None:
    """Keep the three rows of the simplex."""
    for k in range(3):
        set_vector(w.simplex_x[k], w.kept[k])
        set_vector(w.simplex_y[k], w.kept[3 + k])
        set_vector(w.simplex_w[k], w.kept[6 + k])
        w.kept[9, k] = w.simplex_l[k]
        w.kept_i[k] = w.simplex_i[k]
        w.kept_i[3 + k] = w.simplex_j[k]


@kernel
def restore_simplex(w: Array) -> None:
    """The simplex as it was kept."""
    for k in range(3):
        set_vector(w.kept[k], w.simplex_x[k])
        set_vector(w.kept[3 + k], w.simplex_y[k])
        set_vector(w.kept[6 + k], w.simplex_w[k])
        w.simplex_l[k] = w.kept[9, k]
        w.simplex_i[k] = w.kept_i[k]
        w.simplex_j[k] = w.kept_i[3 + k]


@kernel
def add_facet(w: Array, a: int, b: int, c: int, size: Scalar) -> None:
    """A face of three vertices; one without area is never the nearest."""
    k = w.epa[1]
    w.facet[k, 0] = a
    w.facet[k, 1] = b
    w.facet[k, 2] = c
    set_facet(w, k, size)
    w.epa[1] = k + 1


@kernel
def set_facet(w: Array, k: int, size: Scalar) -> None:
    """The plane of a face."""
    x = w.polytope_w[w.facet[k, 0]]
    m = cross(sub(w.polytope_w[w.facet[k, 1]], x), sub(w.polytope_w[w.facet[k, 2]], x))
    area = sqrt(dot(m, m))
    thin = some_below(area, FLAT_DIFFERENCE * FLAT_DIFFERENCE * w.grain[0] * size * size)
    n = scale(1.0 / (1.0 if thin else area), m)
    set_vector(n, w.facet_n[k])
    w.facet_n[k, 3] = UNBOUNDED if thin else dot(n, x)


@kernel
def nearest_facet(w: Array) -> int:
    """The face that is nearest to the origin."""
    best = w.facet_n[0, 3]
    near = 0
    for k in range(1, w.epa[1]):
        if some_below(w.facet_n[k, 3], best):
            best = w.facet_n[k, 3]
            near = k
    return near


@kernel
def open_hole(w: Array, vertex: int, near: int, size: Scalar) -> None:
    """Remove the faces that a vertex is beyond, ``near`` in any case; ``rim`` is left open."""
    w.epa[2] = 0
    x = w.polytope_w[vertex]
    k = 0
    while k < w.epa[1]:
        n = w.facet_n[k]
        if k == near or some_below(n[3] + ROUNDED_LENGTH * w.grain[0] * size, dot(n, x)):
            for j in range(3):
                add_rim(w, w.facet[k, j], w.facet[k, (j + 1) % 3])
            last = w.epa[1] - 1
            for j in range(3):
                w.facet[k, j] = w.facet[last, j]
            for j in range(4):
                w.facet_n[k, j] = w.facet_n[last, j]
            w.epa[1] = last
            near = -1 if k == near else (k if near == last else near)
        else:
            k += 1


@kernel
def add_rim(w: Array, a: int, b: int) -> None:
    """An edge of a face that goes; it is none of the hole where the face on its other side went, too."""
    count = w.epa[2]
    for k in range(count):
        if w.rim[k, 0] == b and w.rim[k, 1] == a:
            w.rim[k, 0] = w.rim[count - 1, 0]
            w.rim[k, 1] = w.rim[count - 1, 1]
            w.epa[2] = count - 1
            return
    if count < MOST_RIM:
        w.rim[count, 0] = a
        w.rim[count, 1] = b
        w.epa[2] = count + 1
    else:
        w.epa[3] = 0


# The first tetrahedron ------------------------------------------------------------------------------------


@kernel
def span_tetrahedron(tree: Array, w: Array, pair: Pair, count: int, size: Scalar) -> int:
    """Add points to the simplex until it is a tetrahedron; fewer points where D has no volume."""
    least = FLAT_DIFFERENCE * w.grain[0] * size
    if count == 1:
        for k in range(6):
            if count == 1:
                s = 1.0 if k % 2 == 0 else -1.0
                d = (s if k // 2 == 0 else 0.0, s if k // 2 == 1 else 0.0, s if k // 2 == 2 else 0.0)
                set_difference(tree, w, pair, d, 4)
                e = sub(w.simplex_w[4], w.simplex_w[0])
                count = joined(w, count, sqrt(dot(e, e)), least)
    if count == 2:
        p, q = tangents(unit_or(sub(w.simplex_w[1], w.simplex_w[0]), (0.0, 0.0, 1.0))[0])
        e = unit_or(sub(w.simplex_w[1], w.simplex_w[0]), (0.0, 0.0, 1.0))[0]
        for k in range(6):
            if count == 2:
                d = (p, q, add(p, q))[k // 2]
                set_difference(tree, w, pair, scale(1.0 if k % 2 == 0 else -1.0, d), 4)
                m = cross(e, sub(w.simplex_w[4], w.simplex_w[0]))
                count = joined(w, count, sqrt(dot(m, m)), least)
    if count == 3:
        n = unit_or(cross(sub(w.simplex_w[1], w.simplex_w[0]), sub(w.simplex_w[2], w.simplex_w[0])), (0.0, 0.0, 1.0))[0]
        for k in range(2):
            if count == 3:
                set_difference(tree, w, pair, scale(1.0 if k == 0 else -1.0, n), 4)
                height = magnitude(dot(n, sub(w.simplex_w[4], w.simplex_w[0])))
                count = joined(w, count, height, least)
    return count


@kernel
def joined(w: Array, count: int, away: Scalar, least: Scalar) -> int:
    """Let row 4 join the simplex where it is far enough from it."""
    if some_below(least, away):
        copy_row(w, 4, count)
        w.simplex_l[count] = 0.0
        return count + 1
    return count


@kernel
def flat_normal(tree: Array, w: Array, pair: Pair, count: int, center: Vector) -> Normal:
    """A normal of a difference in a plane or on a line, on the side of ``center``: cores touch there, at most."""
    for k in range(3):
        w.simplex_l[k] = w.simplex_l[k] if k < count else 0.0
    e = unit_or(sub(w.simplex_w[1 if count > 1 else 0], w.simplex_w[0]), (0.0, 0.0, 1.0))[0]
    across = unit_or(sub(center, scale(dot(center, e), e)), tangents(e)[0])[0]
    n = across
    if count == 3:
        n = unit_or(cross(e, sub(w.simplex_w[2], w.simplex_w[0])), across)[0]
    n = scale(-1.0 if some_below(dot(n, center), 0.0) else 1.0, n)
    return Normal((n[0], n[1], n[2]), set_difference(tree, w, pair, n, 4))
