# SPDX-License-Identifier: BSD-3-Clause
"""A height field against a convex shape: contact points with the triangles of the cells that it is over.

Each triangle is a convex shape of three corners. Where the shape, seen along the triangle's normal, is nearest over the
triangle, that is the normal; else it is that of the two (`pairs.core_normal`). A normal that leads into a triangle on
the other side of an edge is not one of the surface: there, and below the surface, contact points have the normal of the
triangle, where the shape is over it and overlaps it. So shapes slide over edges within a plane or a valley.

Cells count that the shape's extent, as large as its distance makes it, covers; a shape that is above the whole field by
more than its own size has a gap straight down, and one that is farther than its size may be nearer to a cell beside.
Beyond the rectangle there is nothing.

| symbol   | meaning                                                                                               |
|----------|-------------------------------------------------------------------------------------------------------|
| extent   | least and largest coordinates of the shape, in axes of the field                                       |
| best_x   | the nearest contact point so far: place and normal, in axes of the field, and gap                      |
| slant    | how far the shape goes in directions `SLANTS`                                                          |
| slot_x   | the same of each slot, and once more in the last row                                                   |

Cost: 20 operations a cell, 60 for a triangle that is near, and a pair of convex shapes where it may touch.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.convex.choice import MOST_CHOSEN, NEAREST, consider, finish_choice, start_choice
from linkwork.kernels.contact.convex.faces import in_first, shared_corners
from linkwork.kernels.contact.convex.normals import Normal
from linkwork.kernels.contact.convex.pairs import core_normal, nearest_point, one_point
from linkwork.kernels.contact.convex.support import Pair, core_radius, grain, set_difference, set_pose, support
from linkwork.kernels.contact.shapes.fields import Nearest, field_distance, nearest_of_cell
from linkwork.kernels.contact.shapes.frames import set_contact, set_core_contact, size_of_box, unit_or
from linkwork.kernels.elementary import clamp, magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below, sqrt
from linkwork.kernels.spatial import Triple, add, cross, dot, rotate, rotate_inverse, scale, set_vector, sub
from linkwork.kernels.thresholds import CELL_ROUNDING, EDGE_ON, EQUAL_LENGTHS, INTERNAL_EDGE, NO_CONTACT, ON_EDGE
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.cores import SLANTS, TRIANGLE_CORE

FAR_ABOVE = 4.0
"""A sphere that is higher above the whole field than so many radii has a gap straight down."""
BAND = 0.01
"""Contact points count that are farther than the nearest by at most this part of the shape's size."""

MANY_CELLS = 12
"""With as many cells or more, the shape's extent in slanted directions is found first."""

FIELD_WORK: dict[str, Shape] = {
    "extent": (2, 3),
    "slant": (len(SLANTS),),
    "best_x": (7,),
    "slot_x": (MOST_CHOSEN + 1, 7),
}
FIELD_INTEGERS: dict[str, Shape] = {"found": (1,)}


@kernel
def field_convex(tree: Array, w: Array, field: int, s: int, c: int) -> None:
    """The contact points of pair ``c``, of a height field and a convex shape; for one state."""
    pair = Pair(field, s, TRIANGLE_CORE, tree.shape_core[s])
    slots = tree.contact_slots[c]
    set_pose(w, field, s)
    w.hint[0] = 0
    w.hint[1] = 0
    size = size_of_box(tree.shape_size[s])
    w.grain[0] = grain(size)
    radius = core_radius(tree, s, pair.other)
    lowest = set_extent(tree, w, pair, radius)
    start_choice(w)
    w.found[0] = 0
    f = tree.shape_field[field]
    down = lowest[2] - surface_height(tree, field, lowest)
    set_vector(add(lowest, (0.0, 0.0, -0.5 * down)), w.best_x)
    set_vector((0.0, 0.0, 1.0), w.best_x[3:6])
    w.best_x[6] = UNBOUNDED
    if some_below(w.extent[0, 2] - tree.field_range[f, 1], size):
        cells_below(tree, w, pair, slots, minimum(maximum(down, 0.0), size), size)
    if some_below(NO_CONTACT, w.best_x[6]):
        # beyond the rectangle there is nothing
        w.best_x[6] = down if over_field(tree, field, lowest) == 1 else NO_CONTACT
    best = w.best_x
    finish_choice(w, slots, (best[0], best[1]), best[6], 0.0, size)
    for j in range(7):
        w.slot_x[MOST_CHOSEN, j] = best[j]
    for k in range(MOST_CHOSEN):
        if some_below(0.5 * NEAREST, w.chosen_k[k]):
            for j in range(7):
                w.slot_x[k, j] = best[j]
        w.slot_x[k, 6] = w.chosen_x[k, 2]
    way = -1.0 if tree.contact_reversed[c] == 1 else 1.0
    R = w.shape_R[field]
    for k in range(slots):
        row = MOST_CHOSEN
        if k < MOST_CHOSEN:
            row = MOST_CHOSEN if some_below(w.chosen_k[k], 0.0) else k
        x = w.slot_x[row]
        point = add(w.shape_p[field], rotate(R, (x[0], x[1], x[2])))
        n = scale(way, rotate(R, (x[3], x[4], x[5])))
        set_contact(w, tree.contact_slot[c] + k, NO_CONTACT if row == MOST_CHOSEN else x[6], point, n)


@kernel
def field_ball(tree: Array, w: Array, field: int, sphere: int, c: int) -> None:
    """The contact point of pair ``c``, of a height field and a sphere; for one state.

    Cells count that are within the distance straight down.
    """
    f = tree.shape_field[field]
    x = rotate_inverse(w.shape_R[field], sub(w.shape_p[sphere], w.shape_p[field]))
    radius = tree.shape_size[sphere, 0]
    half_x = tree.shape_size[field, 0]
    half_y = tree.shape_size[field, 1]
    rows = tree.field_rows[f]
    columns = tree.field_columns[f]
    dx = 2.0 * half_x / float(rows - 1)
    dy = 2.0 * half_y / float(columns - 1)
    beside = (x[0] - clamp(x[0], -half_x, half_x), x[1] - clamp(x[1], -half_y, half_y), 0.0)
    down = x[2] - surface_height(tree, field, x)
    reach = sqrt(dot(beside, beside) + down * down)
    distance = down
    n = (0.0, 0.0, 1.0)
    if some_below(x[2] - tree.field_range[f, 1], FAR_ABOVE * radius) or over_field(tree, field, x) == 0:
        best = 1.001 * reach * reach + dx * dy * CELL_ROUNDING * CELL_ROUNDING
        nearest = Nearest(best, (x[0], x[1], x[2]), (0.0, 0.0, 1.0), 0.0, 0.0)
        reach = sqrt(best)
        j_low = cell_at(x[1] - reach, half_y, columns)
        j_high = cell_at(x[1] + reach, half_y, columns)
        h = tree.heights
        for i in range(cell_at(x[0] - reach, half_x, rows), cell_at(x[0] + reach, half_x, rows) + 1):
            x_low = float(i) * dx - half_x
            side = maximum(magnitude(x[0] - x_low - 0.5 * dx) - 0.5 * dx, 0.0)
            for j in range(j_low, j_high + 1):
                y_low = float(j) * dy - half_y
                front = maximum(magnitude(x[1] - y_low - 0.5 * dy) - 0.5 * dy, 0.0)
                if some_below(side * side + front * front, nearest.best):
                    a = tree.field_start[f] + i * columns + j
                    b = a + columns
                    corners = (x_low, y_low, h[a], h[b], h[b + 1], h[a + 1])
                    nearest = nearest_of_cell(corners, x, beside, dx, dy, nearest)
        distance, n = field_distance(x, beside, nearest, CELL_ROUNDING * (dx + dy))
    way = -1.0 if tree.contact_reversed[c] == 1 else 1.0
    normal = rotate(w.shape_R[field], n)
    set_core_contact(w, tree.contact_slot[c], distance - radius, w.shape_p[sphere], radius, normal, 1.0, way)


@kernel
def set_extent(tree: Array, w: Array, pair: Pair, radius: Scalar) -> Triple:
    """``extent`` of the shape, and its lowest point."""
    lowest = (0.0, 0.0, 0.0)
    for k in range(6):
        sign = -1.0 if k < 3 else 1.0
        d = (sign if k % 3 == 0 else 0.0, sign if k % 3 == 1 else 0.0, sign if k % 3 == 2 else 0.0)
        x = support(tree, w, pair.second, pair.other, w.hint[1], rotate_inverse(w.pose_C, d))
        at = add(add(w.pose_t, rotate(w.pose_C, (x.x, x.y, x.z))), scale(radius, d))
        w.extent[k // 3, k % 3] = at[k % 3]
        if k == 2:
            lowest = at
    return lowest


@kernel
def over_field(tree: Array, field: int, x: Vector) -> int:
    """1 where a point is over or below the rectangle of a field."""
    beyond = maximum(magnitude(x[0]) - tree.shape_size[field, 0], magnitude(x[1]) - tree.shape_size[field, 1])
    return 0 if some_below(0.0, beyond) else 1


@kernel
def cell_at(x: Scalar, half: Scalar, count: int) -> int:
    """The cell of a strip that a coordinate is in; the first or the last beyond its ends."""
    d = 2.0 * half / float(count - 1)
    low = 0
    high = count - 2
    while low < high:
        middle = (low + high + 1) // 2
        if some_below(x, float(middle) * d - half):
            high = middle - 1
        else:
            low = middle
    return low


@kernel
def surface_height(tree: Array, field: int, x: Vector) -> Scalar:
    """The height of the surface at a place, or at the rim next to it."""
    f = tree.shape_field[field]
    rows = tree.field_rows[f]
    columns = tree.field_columns[f]
    i = cell_at(x[0], tree.shape_size[field, 0], rows)
    j = cell_at(x[1], tree.shape_size[field, 1], columns)
    dx = 2.0 * tree.shape_size[field, 0] / float(rows - 1)
    dy = 2.0 * tree.shape_size[field, 1] / float(columns - 1)
    u = minimum(maximum((x[0] + tree.shape_size[field, 0]) / dx - float(i), 0.0), 1.0)
    v = minimum(maximum((x[1] + tree.shape_size[field, 1]) / dy - float(j), 0.0), 1.0)
    at = tree.field_start[f] + i * columns + j
    a = tree.heights[at]
    b = tree.heights[at + columns]
    c = tree.heights[at + columns + 1]
    d = tree.heights[at + 1]
    if some_below(u, v):
        return a + u * (c - d) + v * (d - a)
    return a + u * (b - a) + v * (c - b)


@kernel
def cells_below(tree: Array, w: Array, pair: Pair, slots: int, reach: Scalar, size: Scalar) -> None:
    """Contact points with the triangles of all cells within ``reach`` of the shape's extent."""
    field = pair.first
    f = tree.shape_field[field]
    rows = tree.field_rows[f]
    columns = tree.field_columns[f]
    i_low = cell_at(w.extent[0, 0] - reach, tree.shape_size[field, 0], rows)
    i_high = cell_at(w.extent[1, 0] + reach, tree.shape_size[field, 0], rows)
    j_low = cell_at(w.extent[0, 1] - reach, tree.shape_size[field, 1], columns)
    j_high = cell_at(w.extent[1, 1] + reach, tree.shape_size[field, 1], columns)
    slanted = 1 if (i_high - i_low + 1) * (j_high - j_low + 1) >= MANY_CELLS else 0
    if slanted == 1:
        set_slants(tree, w, pair)
    for i in range(i_low, i_high + 1):
        for j in range(j_low, j_high + 1):
            at = tree.field_start[f] + i * columns + j
            h = tree.heights
            top = maximum(maximum(h[at], h[at + 1]), maximum(h[at + columns], h[at + columns + 1]))
            x = grid_point(tree, field, i, j)
            y = grid_point(tree, field, i + 1, j + 1)
            side = maximum(maximum(x[0] - w.extent[1, 0], w.extent[0, 0] - y[0]), 0.0)
            front = maximum(maximum(x[1] - w.extent[1, 1], w.extent[0, 1] - y[1]), 0.0)
            above = maximum(w.extent[0, 2] - top, 0.0)
            limit = maximum(minimum(w.best_x[6], reach), 0.0) + BAND * size
            if some_below(side * side + front * front + above * above, limit * limit):
                if slanted == 0 or beyond_slants(w, x, y, top, limit) == 0:
                    for k in range(2):
                        triangle_contact(tree, w, pair, i, j, k, slots, reach, size)


@kernel
def set_slants(tree: Array, w: Array, pair: Pair) -> None:
    """Extents of the shape in slanted directions."""
    radius = core_radius(tree, pair.second, pair.other)
    for k in range(len(SLANTS)):
        d = (SLANTS[k][0], SLANTS[k][1], SLANTS[k][2])
        x = support(tree, w, pair.second, pair.other, w.hint[1], rotate_inverse(w.pose_C, d))
        w.hint[1] = x.number if x.number >= 0 else 0
        w.slant[k] = dot(d, add(w.pose_t, rotate(w.pose_C, (x.x, x.y, x.z)))) + radius


@kernel
def beyond_slants(w: Array, x: Vector, y: Vector, top: Scalar, limit: Scalar) -> int:
    """1 where a cell, from ``x`` to ``y`` and up to ``top``, is farther than ``limit`` in a slanted direction."""
    for k in range(len(SLANTS)):
        d = SLANTS[k]
        least = minimum(d[0] * x[0], d[0] * y[0]) + minimum(d[1] * x[1], d[1] * y[1]) + d[2] * top
        if some_below(w.slant[k] + limit, least):
            return 1
    return 0


@kernel
def grid_point(tree: Array, field: int, i: int, j: int) -> Triple:
    """A corner of the surface."""
    f = tree.shape_field[field]
    dx = 2.0 * tree.shape_size[field, 0] / float(tree.field_rows[f] - 1)
    dy = 2.0 * tree.shape_size[field, 1] / float(tree.field_columns[f] - 1)
    h = tree.heights[tree.field_start[f] + i * tree.field_columns[f] + j]
    return float(i) * dx - tree.shape_size[field, 0], float(j) * dy - tree.shape_size[field, 1], h


@kernel
def triangle_contact(
    tree: Array, w: Array, pair: Pair, i: int, j: int, k: int, slots: int, reach: Scalar, size: Scalar
) -> None:
    """Contact points with one of the two triangles of a cell: below its diagonal (``k`` is 0), or above it."""
    field = pair.first
    set_vector(grid_point(tree, field, i, j), w.triangle[0])
    set_vector(grid_point(tree, field, i + 1, j if k == 0 else j + 1), w.triangle[1])
    set_vector(grid_point(tree, field, i + 1 if k == 0 else i, j + 1), w.triangle[2])
    m = cross(sub(w.triangle[1], w.triangle[0]), sub(w.triangle[2], w.triangle[0]))
    m = unit_or(m, (0.0, 0.0, 1.0))[0]
    radius = core_radius(tree, pair.second, pair.other)
    limit = minimum(w.best_x[6], reach) + BAND * size
    flat = set_difference(tree, w, pair, m, 4)
    if not some_below(flat - radius, limit):
        return
    margin = EDGE_ON * w.grain[0] * size
    # where the shape is nearest over the triangle, its normal is that of both
    over = support_over(w, m, flat)
    corners = 0
    nearest = UNBOUNDED
    if one_point(pair) == 0:
        corners = shared_corners(tree, w, pair, m, margin)
        for n in range(corners):
            nearest = minimum(nearest, w.candidate[n, 3] - w.candidate[n, 2])
    if some_below(nearest, flat - radius + EQUAL_LENGTHS * w.grain[0] * size) or over == 1:
        if over == 1:
            add_point(w, sub(w.simplex_y[4], scale(0.5 * (flat + radius), m)), flat - radius, m, slots, size)
        add_corners(w, corners, m, flat - radius, slots, size)
        return
    normal, count = core_normal(tree, w, pair, m, size, maximum(limit + radius, BAND * size))
    if some_below(normal.f - radius, limit):
        x = nearest_point(tree, w, pair, normal.n, count, normal.f, 0.0, radius)
        foot = sub(x, scale(0.5 * (normal.f - radius), normal.n))
        if is_of_surface(tree, w, pair, i, j, k, normal, foot, size) == 1:
            add_point(w, x, normal.f - radius, normal.n, slots, size)
            corners = shared_corners(tree, w, pair, normal.n, margin)
            add_corners(w, corners, normal.n, normal.f - radius, slots, size)
        else:
            corners = shared_corners(tree, w, pair, m, margin)
            overlapping(w, corners, m, slots, size)


@kernel
def support_over(w: Array, m: Vector, flat: Scalar) -> int:
    """1 where the point of the shape that is lowest along ``m`` is over the triangle."""
    x = sub(w.simplex_y[4], scale(flat, m))
    for k in range(3):
        a = w.triangle[k]
        b = w.triangle[(k + 1) % 3]
        if some_below(dot(m, cross(sub(b, a), sub(x, a))), 0.0):
            return 0
    return 1


@kernel
def add_corners(w: Array, corners: int, n: Vector, gap: Scalar, slots: int, size: Scalar) -> None:
    """All candidates, none nearer than ``gap``."""
    for k in range(corners):
        x = w.candidate[k]
        at = in_first(w, n, x[0], x[1], 0.5 * (x[2] + x[3]))
        add_point(w, at, maximum(x[3] - x[2], gap), n, slots, size)


@kernel
def overlapping(w: Array, corners: int, n: Vector, slots: int, size: Scalar) -> None:
    """All candidates where the shape is below the triangle."""
    for k in range(corners):
        x = w.candidate[k]
        if some_below(x[3] - x[2], 0.0):
            at = in_first(w, n, x[0], x[1], 0.5 * (x[2] + x[3]))
            add_point(w, at, x[3] - x[2], n, slots, size)


@kernel
def add_point(w: Array, x: Vector, gap: Scalar, n: Vector, slots: int, size: Scalar) -> None:
    """A candidate for the slots, and for the nearest point."""
    w.found[0] += 1
    if some_below(gap, w.best_x[6]):
        set_row(w.best_x, x, gap, n)
    if slots > 1:
        consider(w, w.found[0], slots, (1.0, 0.0, 0.0), (x[0], x[1]), gap, 0.0, size)
        for k in range(MOST_CHOSEN):
            if some_below(float(w.found[0]) - 0.5, w.chosen_k[k]):
                set_row(w.slot_x[k], x, gap, n)


@kernel
def set_row(row: Array, x: Vector, gap: Scalar, n: Vector) -> None:
    """Place, normal and gap of a contact point."""
    for k in range(3):
        row[k] = x[k]
        row[3 + k] = n[k]
    row[6] = gap


# Edges within the surface ---------------------------------------------------------------------------------


@kernel
def is_of_surface(
    tree: Array, w: Array, pair: Pair, i: int, j: int, k: int, normal: Normal, foot: Vector, size: Scalar
) -> int:
    """1 where a normal points up and does not lead into a triangle on the other side of an edge that ``foot`` is on."""
    n = normal.n
    if some_below(n[2], 0.0):
        return 0
    field = pair.first
    f = tree.shape_field[field]
    a = w.triangle[0]
    area = cross(sub(w.triangle[1], a), sub(w.triangle[2], a))
    square = dot(area, area)
    # corners that are foremost along n: all where the triangle is across it, two of an edge, or one
    most = maximum(maximum(dot(n, a), dot(n, w.triangle[1])), dot(n, w.triangle[2])) - ON_EDGE * size
    foremost = 0
    for corner in range(3):
        foremost += 1 if some_below(most, dot(n, w.triangle[corner])) else 0
    for edge in range(3):
        p = w.triangle[edge]
        q = w.triangle[(edge + 1) % 3]
        ends = (1 if some_below(most, dot(n, p)) else 0) + (1 if some_below(most, dot(n, q)) else 0)
        on = 1 if ends == foremost or (foremost == 1 and ends == 1) else 0
        if foremost == 3:
            # the weight of the corner that is not on the edge
            weight = dot(area, cross(sub(q, p), sub(foot, p))) / square
            on = 1 if some_below(weight, ON_EDGE) else 0
        if on == 1:
            oi, oj = beyond_edge(i, j, k, edge)
            inside = oi >= 0 and oj >= 0 and oi < tree.field_rows[f] and oj < tree.field_columns[f]
            if inside:
                rise = dot(n, grid_point(tree, field, oi, oj)) - maximum(dot(n, p), dot(n, q))
                o = sub(grid_point(tree, field, oi, oj), p)
                if some_below(INTERNAL_EDGE * sqrt(dot(o, o)), rise):
                    return 0
    return 1


@kernel
def beyond_edge(i: int, j: int, k: int, edge: int) -> tuple[int, int]:
    """The corner of the triangle on the other side of an edge, by its row and column."""
    if k == 0:
        # corners (i, j), (i + 1, j), (i + 1, j + 1)
        if edge == 0:
            return i, j - 1
        elif edge == 1:
            return i + 2, j + 1
        return i, j + 1
    # corners (i, j), (i + 1, j + 1), (i, j + 1)
    if edge == 0:
        return i + 1, j
    elif edge == 1:
        return i + 1, j + 2
    return i - 1, j
