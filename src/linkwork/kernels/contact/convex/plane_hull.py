# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of a plane and a convex hull: the lowest vertex, and those that are farthest out of low ones and of
those in the ground.

All vertices are compared, which needs no path of edges: all states of a block go through them together.

Cost: 12 operations a vertex, and 100 for each that is low.
"""

from __future__ import annotations

from linkwork.kernels.contact.convex.choice import MOST_CHOSEN, consider, finish_choice, start_choice
from linkwork.kernels.contact.convex.pairs import write_slots
from linkwork.kernels.contact.shapes.frames import select, size_of_box, tangents, unit_or
from linkwork.kernels.elementary import maximum, minimum
from linkwork.kernels.scalar import Array, kernel, some_below, where
from linkwork.kernels.spatial import column, dot, rotate_inverse, set_vector, sub
from linkwork.model.thresholds import UNBOUNDED

LOW_VERTICES = 0.02
"""Vertices outside of the ground that are higher above the lowest than this part of the hull's size do not touch beside
it."""
ACROSS = 0.1
"""The square of the part of an axis of the hull along the plane below which another axis serves."""


@kernel
def plane_hull(tree: Array, w: Array, plane: int, s: int, c: int) -> None:
    """The contact points of pair ``c``, of a plane and a hull."""
    slots = tree.contact_slots[c]
    out = column(w.shape_R[plane], 2)
    n = rotate_inverse(w.shape_R[s], out)
    level = dot(out, sub(w.shape_p[s], w.shape_p[plane]))
    p, q = tangents(n)
    set_vector(p, w.axes_p)
    set_vector(q, w.axes_q)
    # directions are fixed to the hull: to its x axis, or to y where x is along the normal
    e = select(p[0] * p[0] + q[0] * q[0], ACROSS, (p[1], q[1], 0.0), (p[0], q[0], 0.0))
    e = unit_or(e, (1.0, 0.0, 0.0))[0]
    size = size_of_box(tree.shape_size[s])
    start_choice(w)
    h = tree.shape_hull[s]
    first = tree.hull_point[h]
    last = first + tree.hull_points[h]
    depth = UNBOUNDED
    for k in range(first, last):
        depth = minimum(depth, dot(n, tree.hull_vertex[k]))
    gap = level + depth
    near = where(w.within[0], gap, 0.0, 1.0)
    low = maximum(LOW_VERTICES * size, -gap)
    x = (0.0, 0.0, 0.0)
    if some_below(0.5 - near, 0.0):
        for k in range(first, last):
            v = tree.hull_vertex[k]
            along = dot(n, v)
            if some_below(along - depth, low):
                above = where(along - depth, low, level + along, UNBOUNDED)
                consider(w, k - first, slots, e, (dot(p, v), dot(q, v)), above, along - 0.5 * above, size)
                x = select(depth, along, x, v)
        finish_choice(w, slots, (dot(p, x), dot(q, x)), gap, depth - 0.5 * gap, size)
    for k in range(MOST_CHOSEN):
        w.chosen_k[k] = where(0.5, near, w.chosen_k[k], -1.0)
    way = -1.0 if tree.contact_reversed[c] == 1 else 1.0
    write_slots(w, s, tree.contact_slot[c], slots, n, x, way)
