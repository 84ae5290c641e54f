# SPDX-License-Identifier: BSD-3-Clause
"""A height field against spheres, the ends of capsules and the corners of boxes.

The surface is two triangles a cell, which meet in the diagonal from ``(x_i, y_j)`` to ``(x_i+1, y_j+1)``. The nearest
point of all of them is that of the surface; what is below it leaves by the shortest way. Cells that are too far to have
it are skipped: a strip of cells along y costs 5 operations then, and so does a cell of a strip that is near.

Beside the rectangle, what is lower than its rim is as far from the field as from the rim in the plane: walls go down
from it.

A capsule touches with its two ends and a box with its corners: peaks between them are not seen.

Straight-line programs would have all cells of the field. Where ``tree.ncells`` is not zero, ``w.cells`` has the two
cells of each slot that its contact depends on: the one with the nearest point, and the one below or above ``x``.

| symbol | meaning                                                                                                 |
|--------|---------------------------------------------------------------------------------------------------------|
| x      | the point, in axes of the field                                                                         |
| best   | the least square of a distance so far                                                                   |
| near   | the point of the surface at that distance                                                               |
| up     | the upward normal there; of an edge or a corner, that of one of its triangles                           |

Cost: 250 operations a cell that may be the nearest.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.contact.shapes.frames import select, set_core_contact, unit_or
from linkwork.kernels.contact.shapes.planes import box_corner, half_edges, lowest_corner, lowest_corners
from linkwork.kernels.elementary import clamp, magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, Vector, any_below, kernel, where
from linkwork.kernels.spatial import Triple, add, column, cross, dot, rotate, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import CELL_ROUNDING

CELLS = (2, 6)
"""Of a slot whose cells are given: each by its least x and y, and its heights there and counterclockwise."""


class Nearest(NamedTuple):
    """The nearest point of a surface so far."""

    best: Scalar
    near: Triple
    up: Triple
    flat: Scalar
    """1 where it is inside a triangle."""
    below: Scalar
    """1 where the surface, or the rim next to the point, has been found to be higher than it."""


@kernel
def field_sphere(tree: Array, w: Array, field: int, sphere: int, slot: int, way: Scalar) -> None:
    """The contact point of a height field and a sphere."""
    set_field_contact(tree, w, field, w.shape_p[sphere], tree.shape_size[sphere, 0], slot, way)


@kernel
def field_capsule(tree: Array, w: Array, field: int, capsule: int, slot: int, way: Scalar) -> None:
    """The contact points of a height field and the half spheres of a capsule."""
    end = scale(tree.shape_size[capsule, 1], column(w.shape_R[capsule], 2))
    for k in range(2):
        core = add(w.shape_p[capsule], scale(-1.0 if k == 0 else 1.0, end))
        set_field_contact(tree, w, field, core, tree.shape_size[capsule, 0], slot + k, way)


@kernel
def field_box(tree: Array, w: Array, field: int, box: int, slot: int, count: int, way: Scalar) -> None:
    """The contact points of a height field and the corners of a box: all eight, or the four lowest."""
    edges = half_edges(tree, w, box)
    lowest = lowest_corners(column(w.shape_R[field], 2), edges)
    for k in range(count):
        corner = add(w.shape_p[box], box_corner(k, edges) if count == 8 else lowest_corner(k, lowest))
        set_field_contact(tree, w, field, corner, 0.0, slot + k, way)


@kernel
def set_field_contact(tree: Array, w: Array, field: int, core: Vector, radius: Scalar, slot: int, way: Scalar) -> None:
    """Write the contact point of a height field and a ball."""
    x = rotate_inverse(w.shape_R[field], sub(core, w.shape_p[field]))
    distance, n = point_field(tree, w, field, x, slot)
    set_core_contact(w, slot, distance - radius, core, radius, rotate(w.shape_R[field], n), 1.0, way)


@kernel
def point_field(tree: Array, w: Array, field: int, x: Vector, slot: int) -> tuple[Scalar, Triple]:
    """Distance of a point from the surface, negative below it, and the normal."""
    f = tree.shape_field[field]
    rows = tree.field_rows[f]
    columns = tree.field_columns[f]
    half_x = tree.shape_size[field, 0]
    half_y = tree.shape_size[field, 1]
    dx = 2.0 * half_x / float(rows - 1)
    dy = 2.0 * half_y / float(columns - 1)
    beside = (x[0] - clamp(x[0], -half_x, half_x), x[1] - clamp(x[1], -half_y, half_y), 0.0)
    # some point of the surface is not farther than this
    height = maximum(magnitude(x[2] - tree.field_range[f, 0]), magnitude(x[2] - tree.field_range[f, 1]))
    best = 1.001 * (dot(beside, beside) + height * height) + dx * dy * CELL_ROUNDING * CELL_ROUNDING
    nearest = Nearest(best, (x[0], x[1], x[2]), (0.0, 0.0, 1.0), 0.0, 0.0)
    if tree.ncells > 0:
        for k in range(2):
            nearest = nearest_of_cell(w.cells[slot, k], x, beside, dx, dy, nearest)
    else:
        for i in range(rows - 1):
            x_low = float(i) * dx - half_x
            side = maximum(magnitude(x[0] - x_low - 0.5 * dx) - 0.5 * dx, 0.0)
            if any_below(side * side - nearest.best, 0.0):
                for j in range(columns - 1):
                    y_low = float(j) * dy - half_y
                    front = maximum(magnitude(x[1] - y_low - 0.5 * dy) - 0.5 * dy, 0.0)
                    if any_below(side * side + front * front - nearest.best, 0.0):
                        h = tree.heights
                        a = tree.field_start[f] + i * columns + j
                        b = a + columns
                        corners = (x_low, y_low, h[a], h[b], h[b + 1], h[a + 1])
                        nearest = nearest_of_cell(corners, x, beside, dx, dy, nearest)
    return field_distance(x, beside, nearest, CELL_ROUNDING * (dx + dy))


@kernel
def field_distance(x: Vector, beside: Vector, nearest: Nearest, least: Scalar) -> tuple[Scalar, Triple]:
    """Distance and normal, from the nearest point. Where this has no direction, the normal is that of a triangle."""
    away = sub(x, nearest.near)
    out, length = unit_or(away, nearest.up)
    from_wall, to_wall = unit_or(beside, (1.0, 0.0, 0.0))
    s = 1.0 - 2.0 * nearest.below
    flat = where(0.5, nearest.flat, 1.0, where(length, least, 1.0, 0.0))
    n = select(0.5, flat, nearest.up, scale(s, out))
    distance = where(0.5, nearest.flat, dot(nearest.up, away), s * length)
    walled = where(0.0, to_wall, nearest.below, 0.0)
    return where(0.5, walled, to_wall, distance), select(0.5, walled, from_wall, n)


@kernel
def nearest_of_cell(cell: Array, x: Vector, beside: Vector, dx: Scalar, dy: Scalar, nearest: Nearest) -> Nearest:
    """The nearest point so far, and of the two triangles of a cell."""
    x_low = cell[0]
    y_low = cell[1]
    a = (x_low, y_low, cell[2])
    b = (x_low + dx, y_low, cell[3])
    c = (x_low + dx, y_low + dy, cell[4])
    d = (x_low, y_low + dy, cell[5])
    u = (x[0] - beside[0] - x_low) / dx
    v = (x[1] - beside[1] - y_low) / dy
    # the height of the surface at x, or at the rim next to it: beyond the diagonal, u < v, it is the second triangle's
    height = a[2] + where(u, v, u * (c[2] - d[2]) + v * (d[2] - a[2]), u * (b[2] - a[2]) + v * (c[2] - b[2]))
    outside = maximum(maximum(-u, u - 1.0), maximum(-v, v - 1.0))
    over = where(x[2], height, where(outside, CELL_ROUNDING, 1.0, nearest.below), nearest.below)
    nearest = Nearest(nearest.best, nearest.near, nearest.up, nearest.flat, over)
    nearest = nearest_of_triangle(x, a, b, c, nearest)
    return nearest_of_triangle(x, a, c, d, nearest)


@kernel
def nearest_of_triangle(x: Vector, a: Vector, b: Vector, c: Vector, nearest: Nearest) -> Nearest:
    """The nearest point so far, and of a triangle that is counterclockwise from above."""
    p = sub(b, a)
    q = sub(c, a)
    r = sub(x, a)
    N = cross(p, q)
    inverse = 1.0 / dot(N, N)
    u = dot(cross(r, q), N) * inverse
    v = dot(cross(p, r), N) * inverse
    inside = minimum(minimum(u, v), 1.0 - u - v)
    up = unit_or(N, (0.0, 0.0, 1.0))[0]
    near = sub(x, scale(dot(r, up), up))
    near = select(inside, 0.0, nearest_of_edges(x, a, b, c), near)
    away = sub(x, near)
    square = dot(away, away)
    return Nearest(
        minimum(square, nearest.best),
        select(square, nearest.best, near, nearest.near),
        select(square, nearest.best, up, nearest.up),
        where(square, nearest.best, where(inside, 0.0, 0.0, 1.0), nearest.flat),
        nearest.below,
    )


@kernel
def nearest_of_edges(x: Vector, a: Vector, b: Vector, c: Vector) -> Triple:
    """The nearest point on the edges of a triangle."""
    best = nearest_of_edge(x, a, b)
    other = nearest_of_edge(x, b, c)
    away = sub(x, best)
    square = dot(away, away)
    away = sub(x, other)
    other_square = dot(away, away)
    best = select(other_square, square, other, best)
    square = minimum(square, other_square)
    other = nearest_of_edge(x, c, a)
    away = sub(x, other)
    return select(dot(away, away), square, other, best)


@kernel
def nearest_of_edge(x: Vector, a: Vector, b: Vector) -> Triple:
    """The nearest point on the segment from ``a`` to ``b``."""
    e = scale(0.5, sub(b, a))
    m = scale(0.5, add(a, b))
    return add(m, scale(clamp(dot(e, sub(x, m)) / dot(e, e), -1.0, 1.0), e))
