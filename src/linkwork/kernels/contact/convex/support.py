# SPDX-License-Identifier: BSD-3-Clause
"""Support mappings: the point of a convex shape that is farthest in a direction.

A shape is a core and all within a radius of it: the core of a sphere is a point, of a capsule a segment; others are
their cores. Corners of boxes, hulls, segments and triangles have numbers, points of smooth shapes the number -1.

All is in the axes of the first shape, in which the second has the pose ``C, t``, so that places far from the origin of
the world lose no digits. The difference of two shapes is ``D = {y - x}``, x of the first and y of the second; its point
that is nearest to the origin is the shortest way from one to the other.

| symbol       | meaning                                                                                          |
|--------------|--------------------------------------------------------------------------------------------------|
| pose_C, pose_t | pose of the second shape in the first                                                          |
| triangle     | corners of a triangle of a height field, in axes of the field, which is first                     |
| simplex_x    | points of the first core, then of the second, then their differences: rows of a simplex           |
| simplex_i    | numbers of these corners                                                                          |
| simplex_l    | weights of the points, whose sum is 1                                                             |
| grain        | how many times coarser rounding is than in double precision                                       |
| near         | the point of a simplex that is nearest to the origin                                              |

Cost: 10 to 30 operations; of a hull 5 a vertex up to `EXHAUSTIVE` vertices, then those along a path of edges.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.elementary import magnitude, maximum, sign_or_one
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below, sqrt, where
from linkwork.kernels.spatial import Triple, add, column, dot, rotate, rotate_inverse, scale, set_vector, sub
from linkwork.kernels.thresholds import ZERO_SQUARE
from linkwork.plans.cores import (
    BOX_CORE,
    CYLINDER_CORE,
    ELLIPSOID_CORE,
    HULL_CORE,
    POINT_CORE,
    SEGMENT_CORE,
)

EXHAUSTIVE = 24
"""Hulls with more vertices are searched along edges, from the best of some that are known."""
LARGE_COMPONENT = 0.4
"""Components of a direction that are less than this part of its largest count as zero: the cells have equal sizes."""

DOUBLE_PRECISION = 1.0 + 1e-8
"""A number that is 1 in single precision."""
SINGLE_GRAIN = 1e6
"""Rounding in single precision against double, less a margin that thresholds have."""

SUPPORT_WORK: dict[str, Shape] = {
    "pose_C": (3, 3),
    "pose_t": (3,),
    "triangle": (3, 3),
    "simplex_x": (5, 3),
    "simplex_y": (5, 3),
    "simplex_w": (5, 3),
    "simplex_l": (5,),
    "nearest": (3,),
    "grain": (1,),
}
SUPPORT_INTEGERS: dict[str, Shape] = {"simplex_i": (5,), "simplex_j": (5,), "hint": (2,)}


class Pair(NamedTuple):
    """Two convex shapes: their numbers, and the kinds of their cores."""

    first: int
    second: int
    core: int
    other: int


class Corner(NamedTuple):
    """A point of a core, and its number."""

    x: Scalar
    y: Scalar
    z: Scalar
    number: int


@kernel
def set_pose(w: Array, first: int, second: int) -> None:
    """``pose_C, pose_t`` of two shapes."""
    R = w.shape_R[first]
    for k in range(3):
        x = rotate_inverse(R, column(w.shape_R[second], k))
        for j in range(3):
            w.pose_C[j, k] = x[j]
    set_vector(rotate_inverse(R, sub(w.shape_p[second], w.shape_p[first])), w.pose_t)


@kernel
def grain(size: Scalar) -> Scalar:
    """1 in double precision; in single precision, how many times larger thresholds of rounding are."""
    return where(size, DOUBLE_PRECISION * size, 1.0, SINGLE_GRAIN)


@kernel
def core_radius(tree: Array, s: int, core: int) -> Scalar:
    """The radius of a shape around its core."""
    return tree.shape_size[s, 0] if core == POINT_CORE or core == SEGMENT_CORE else 0.0


@kernel
def is_smooth(core: int) -> int:
    """1 of cores whose support bends."""
    return 1 if core == CYLINDER_CORE or core == ELLIPSOID_CORE else 0


@kernel
def has_faces(core: int) -> int:
    """1 of cores that have edges or faces."""
    smooth = core == POINT_CORE or core == ELLIPSOID_CORE
    return 0 if smooth else 1


@kernel
def support(tree: Array, w: Array, s: int, core: int, hint: int, d: Vector) -> Corner:
    """The point of a core that is farthest along ``d``, in its own axes; ``hint`` is where a search may begin."""
    if core == POINT_CORE:
        return Corner(0.0, 0.0, 0.0, 0)
    elif core == SEGMENT_CORE:
        half = tree.shape_size[s, 1]
        if some_below(d[2], 0.0):
            return Corner(0.0, 0.0, -half, 0)
        return Corner(0.0, 0.0, half, 1)
    elif core == BOX_CORE:
        return box_support(tree, s, d)
    elif core == CYLINDER_CORE:
        across = sqrt(d[0] * d[0] + d[1] * d[1])
        level = where(across, ZERO_SQUARE, 1.0, 0.0)
        k = tree.shape_size[s, 0] / (across + level)
        return Corner(k * (d[0] + level), k * d[1], sign_or_one(d[2]) * tree.shape_size[s, 1], -1)
    elif core == ELLIPSOID_CORE:
        a = tree.shape_size[s]
        x = (a[0] * d[0], a[1] * d[1], a[2] * d[2])
        k = 1.0 / sqrt(dot(x, x) + ZERO_SQUARE)
        return Corner(k * a[0] * x[0], k * a[1] * x[1], k * a[2] * x[2], -1)
    elif core == HULL_CORE:
        return hull_support(tree, s, hint, d)
    return triangle_support(w, d)


@kernel
def box_support(tree: Array, s: int, d: Vector) -> Corner:
    """A corner of a box; bits of its number are 1 on the positive side."""
    number = 0 if some_below(d[0], 0.0) else 1
    number += 0 if some_below(d[1], 0.0) else 2
    number += 0 if some_below(d[2], 0.0) else 4
    h = tree.shape_size[s]
    return Corner(sign_or_one(d[0]) * h[0], sign_or_one(d[1]) * h[1], sign_or_one(d[2]) * h[2], number)


@kernel
def triangle_support(w: Array, d: Vector) -> Corner:
    """A corner of the triangle."""
    best = dot(w.triangle[0], d)
    number = 0
    for k in range(1, 3):
        along = dot(w.triangle[k], d)
        if some_below(best, along):
            best = along
            number = k
    x = w.triangle[number]
    return Corner(x[0], x[1], x[2], number)


@kernel
def direction_cell(d: Vector) -> int:
    """Which of 27 a direction is near to, by the signs of its large components."""
    large = LARGE_COMPONENT * maximum(maximum(magnitude(d[0]), magnitude(d[1])), magnitude(d[2]))
    cell = 0
    for k in range(3):
        cell = 3 * cell + 1
        if some_below(d[k], -large):
            cell -= 1
        if some_below(large, d[k]):
            cell += 1
    return cell


@kernel
def hull_support(tree: Array, s: int, hint: int, d: Vector) -> Corner:
    """A vertex of a hull: of all, or the end of a path of edges that goes up."""
    h = tree.shape_hull[s]
    first = tree.hull_point[h]
    count = tree.hull_points[h]
    number = hint if hint < count else 0
    best = dot(tree.hull_vertex[first + number], d)
    if count <= EXHAUSTIVE:
        for k in range(count):
            along = dot(tree.hull_vertex[first + k], d)
            if some_below(best, along):
                best = along
                number = k
    else:
        start = tree.hull_start[h, direction_cell(d)]
        along = dot(tree.hull_vertex[first + start], d)
        if some_below(best, along):
            best = along
            number = start
        left = count
        while left > 0:
            nearby = tree.point_neighbor[first + number]
            left = 0
            for k in range(nearby, nearby + tree.point_neighbors[first + number]):
                at = tree.neighbor[k]
                along = dot(tree.hull_vertex[first + at], d)
                if some_below(best, along):
                    best = along
                    number = at
                    left = 1
    x = tree.hull_vertex[first + number]
    return Corner(x[0], x[1], x[2], number)


@kernel
def set_difference(tree: Array, w: Array, pair: Pair, d: Vector, row: int) -> Scalar:
    """Row ``row`` of the simplex: the point of D that is least along ``d``; how far that is, ``d . w``."""
    x = support(tree, w, pair.first, pair.core, w.hint[0], d)
    turned = rotate_inverse(w.pose_C, d)
    local = support(tree, w, pair.second, pair.other, w.hint[1], (-turned[0], -turned[1], -turned[2]))
    y = add(w.pose_t, rotate(w.pose_C, (local.x, local.y, local.z)))
    set_vector((x.x, x.y, x.z), w.simplex_x[row])
    set_vector(y, w.simplex_y[row])
    set_vector(sub(y, (x.x, x.y, x.z)), w.simplex_w[row])
    w.simplex_i[row] = x.number
    w.simplex_j[row] = local.number
    w.hint[0] = x.number if x.number >= 0 else 0
    w.hint[1] = local.number if local.number >= 0 else 0
    return dot(d, w.simplex_w[row])


@kernel
def copy_row(w: Array, source: int, target: int) -> None:
    """Put a row of the simplex in another place."""
    for k in range(3):
        w.simplex_x[target, k] = w.simplex_x[source, k]
        w.simplex_y[target, k] = w.simplex_y[source, k]
        w.simplex_w[target, k] = w.simplex_w[source, k]
    w.simplex_l[target] = w.simplex_l[source]
    w.simplex_i[target] = w.simplex_i[source]
    w.simplex_j[target] = w.simplex_j[source]


@kernel
def weighted(x: Array, l: Array, count: int) -> Triple:
    """The sum of rows by their weights."""
    total = (0.0, 0.0, 0.0)
    for k in range(count):
        total = add(total, scale(l[k], x[k]))
    return total
