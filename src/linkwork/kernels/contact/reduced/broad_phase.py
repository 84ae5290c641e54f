# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs of shapes are near: bounding spheres of bodies, then of shapes, their boxes, and planes.

Pairs are near whose spheres are closer than their bodies can come to each other in a step. In lanes a pair is near
that is near in any of them.

Few pairs of bodies are compared one by one. Of many, the boxes about their spheres are rounded outward to cells, the
same number along each axis; in lanes to those of all lanes together. Bodies are sorted by their first cells along the
axis on which the fewest share one (sweep and prune). Pairs of bodies with the world are compared one by one always.

| symbol               | meaning                                                                        |
|----------------------|--------------------------------------------------------------------------------|
| body_c, shape_c      | centers of bounding spheres in the world                                       |
| speed                | the most that a point of a body's sphere moves in a second                     |
| near, near_slot      | near pairs, and the numbers of their first slots in results                    |
| counts[NEAR]         | how many there are                                                             |
| cell_low, cell_high  | first and last cells of a body along the three axes                            |
| cell_start           | bodies whose first cells along an axis are before this one                     |
| swept                | bodies in the order of their first cells along the axis                        |
| first_group, next_group | pairs of bodies that are near, by the first body, in the order of groups       |

Cost: linear in pairs of bodies, or in bodies and pairs of them that share a cell along one axis; and linear in pairs of
shapes of bodies that are near.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.problem import NEAR
from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, kernel, some_below, sqrt, where
from linkwork.kernels.spatial import add, column, dot, rotate, set_vector, sub
from linkwork.kernels.thresholds import LEAST_SPAN
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contacts import GIVEN

BROAD_INTEGERS: dict[str, Shape] = {
    "near": ("ncontacts",),
    "near_slot": ("ncontacts",),
    "cell_low": ("n", 3),
    "cell_high": ("n", 3),
    "cell_start": (3, "nintervals"),
    "swept": ("n",),
    "first_group": ("n",),
    "next_group": ("ngroups",),
}
BROAD_WORK: dict[str, Shape] = {
    "body_c": ("n", 3),
    "shape_c": ("nshapes", 3),
    "speed": ("n",),
}

MOTION = 2.0
"""Bodies come closer by at most so many times what their velocities before the step make: impacts change them."""

FEW_GROUPS = 300
"""Pairs of bodies that are compared one by one: the sort of as few bodies takes about as long."""


@kernel
def bounding_spheres(tree: Array, w: Array, h: Scalar, gravity: Scalar) -> None:
    """Centers of spheres in the world, and how far bodies move; after poses and velocities of bodies and shapes."""
    for i in range(tree.n):
        set_vector(add(w.body_o[i], rotate(w.body_E[i], tree.body_center[i])), w.body_c[i])
        w.speed[i] = 0.0
        if i > 0:
            w.speed[i] = sqrt(dot(w.u[i], w.u[i])) + gravity * h
    for i in range(1, tree.n):
        c = tree.body_center[i]
        lever = sqrt(dot(c, c)) + where_bounded(tree.body_radius[i])
        w.speed[i] += lever * sqrt(dot(w.omega[i], w.omega[i]))
    for s in range(tree.nshapes):
        set_vector(add(w.shape_p[s], rotate(w.shape_R[s], tree.shape_center[s])), w.shape_c[s])


@kernel
def where_bounded(radius: Scalar) -> Scalar:
    """A radius, or nothing where there is none."""
    return where(radius, UNBOUNDED, radius, 0.0)


@kernel
def gap_of_spheres(a: Array, r: Scalar, b: Array, s: Scalar) -> Scalar:
    """Less than zero where two spheres overlap: the square of the distance less that of the radii."""
    d = sub(a, b)
    return dot(d, d) - (r + s) * (r + s)


@kernel
def find_near_pairs(tree: Array, w: Array, h: Scalar) -> None:
    """``near``: pairs of shapes that can touch within the step ``h``, in the order of groups."""
    w.counts[NEAR] = 0
    if tree.ngroups <= FEW_GROUPS:
        for g in range(tree.ngroups):
            if groups_are_near(tree, w, g, h) == 1:
                find_near_shapes(tree, w, g, h)
    else:
        find_near_bodies(tree, w, h)
        for i in range(tree.n):
            if is_unbounded(tree, i) == 1:
                for g in range(tree.body_group[i], tree.body_group[i] + tree.body_groups[i]):
                    if groups_are_near(tree, w, g, h) == 1:
                        find_near_shapes(tree, w, g, h)
            else:
                g = w.first_group[i]
                while g >= 0:
                    find_near_shapes(tree, w, g, h)
                    g = w.next_group[g]


@kernel
def approach(tree: Array, w: Array, g: int, h: Scalar) -> Scalar:
    """How far the bodies of a group come to each other in the step ``h``."""
    return approach_of(tree, w, tree.group_first[g], tree.group_second[g], h)


@kernel
def approach_of(tree: Array, w: Array, i: int, j: int, h: Scalar) -> Scalar:
    """How far two bodies come to each other in the step ``h``."""
    return tree.reach[0] + MOTION * h * (w.speed[i] + w.speed[j])


@kernel
def groups_are_near(tree: Array, w: Array, g: int, h: Scalar) -> int:
    """1 where the bodies of a group are near, else 0."""
    i = tree.group_first[g]
    j = tree.group_second[g]
    r = tree.body_radius[i] + approach(tree, w, g, h)
    if some_below(gap_of_spheres(w.body_c[i], r, w.body_c[j], tree.body_radius[j]), 0.0):
        return 1
    return 0


@kernel
def find_near_shapes(tree: Array, w: Array, g: int, h: Scalar) -> None:
    """Add the near pairs of shapes of a group."""
    reach = approach(tree, w, g, h)
    for k in range(tree.group_start[g], tree.group_start[g] + tree.group_count[g]):
        c = tree.group_contact[k]
        if some_below(pair_gap(tree, w, c, reach), 0.0):
            w.near[w.counts[NEAR]] = c
            w.near_slot[w.counts[NEAR]] = tree.group_slot[k]
            w.counts[NEAR] += 1


@kernel
def pair_gap(tree: Array, w: Array, c: int, reach: Scalar) -> Scalar:
    """Less than zero where the shapes of a pair are near, by spheres, or by a plane or the range of a height field."""
    a = tree.contact_first[c]
    b = tree.contact_second[c]
    if tree.contact_reversed[c] == 1:
        a = tree.contact_second[c]
        b = tree.contact_first[c]
    if tree.contact_kind[c] == GIVEN:
        return -1.0
    if tree.shape_unbounded[a] != 0:
        height = dot(column(w.shape_R[a], 2), sub(w.shape_c[b], w.shape_p[a]))
        gap = height - tree.shape_top[a] - tree.shape_radius[b] - reach
        if some_below(gap, 0.0):
            gap = box_height(tree, w, a, b) - tree.shape_top[a] - reach
        return gap
    gap = gap_of_spheres(w.shape_c[a], tree.shape_radius[a] + reach, w.shape_c[b], tree.shape_radius[b])
    if some_below(gap, 0.0):
        gap = maximum(box_gap(tree, w, a, b), box_gap(tree, w, b, a)) - reach
    return gap


@kernel
def box_height(tree: Array, w: Array, a: int, b: int) -> Scalar:
    """The height of the bounding box of a shape above a plane."""
    out = column(w.shape_R[a], 2)
    x = dot(out, sub(add(w.shape_p[b], rotate(w.shape_R[b], tree.box_center[b])), w.shape_p[a]))
    for j in range(3):
        x = x - tree.box_half[b, j] * magnitude(dot(out, column(w.shape_R[b], j)))
    return x


@kernel
def box_gap(tree: Array, w: Array, a: int, b: int) -> Scalar:
    """The largest distance of the bounding boxes of two shapes along an axis of the first: they are apart by as much.

    Gottschalk, Lin and Manocha, OBBTree (1996), without the nine axes across two edges.
    """
    d = sub(
        add(w.shape_p[b], rotate(w.shape_R[b], tree.box_center[b])),
        add(w.shape_p[a], rotate(w.shape_R[a], tree.box_center[a])),
    )
    gap = -UNBOUNDED
    for i in range(3):
        axis = column(w.shape_R[a], i)
        x = magnitude(dot(axis, d)) - tree.box_half[a, i]
        for j in range(3):
            x = x - tree.box_half[b, j] * magnitude(dot(axis, column(w.shape_R[b], j)))
        gap = maximum(gap, x)
    return gap


# Sweep and prune ----------------------------------------------------------------------------------------------------


@kernel
def is_unbounded(tree: Array, i: int) -> int:
    """1 of the world and of bodies without a bounding sphere, whose pairs are compared one by one; else 0."""
    if i == 0 or some_below(-tree.body_radius[i], -0.5 * UNBOUNDED):
        return 1
    return 0


@kernel
def half_width(tree: Array, w: Array, i: int, h: Scalar) -> Scalar:
    """Half the edge of the box about what a body can reach; nothing of bodies without a bounding sphere."""
    return where_bounded(tree.body_radius[i]) + 0.5 * tree.reach[0] + MOTION * h * w.speed[i]


@kernel
def first_cell(x: Scalar, last: int) -> int:
    """The cell from 0 to ``last`` that ``x`` is in, in units of cells; the first of all lanes."""
    low = 0
    high = last
    while low < high:
        middle = (low + high) // 2
        if some_below(x, float(middle + 1)):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def last_cell(x: Scalar, last: int) -> int:
    """The same, the last of all lanes."""
    low = 0
    high = last
    while low < high:
        middle = (low + high + 1) // 2
        if some_below(-x, -float(middle)):
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def cells_of_bodies(tree: Array, w: Array, h: Scalar, axis: int) -> int:
    """Cells of all bodies along an axis, and ``cell_start``; how many pairs of bodies begin in the same cell."""
    low = UNBOUNDED
    high = -UNBOUNDED
    for i in range(1, tree.n):
        if tree.body_paired[i] == 1 and is_unbounded(tree, i) == 0:
            x = half_width(tree, w, i, h)
            low = minimum(low, w.body_c[i, axis] - x)
            high = maximum(high, w.body_c[i, axis] + x)
    last = tree.nintervals - 1
    scale = float(tree.nintervals) / maximum(high - low, LEAST_SPAN)
    for k in range(tree.nintervals):
        w.cell_start[axis, k] = 0
    for i in range(1, tree.n):
        if tree.body_paired[i] == 1:
            w.cell_low[i, axis] = 0
            w.cell_high[i, axis] = last
            if is_unbounded(tree, i) == 0:
                x = half_width(tree, w, i, h)
                w.cell_low[i, axis] = first_cell(scale * (w.body_c[i, axis] - x - low), last)
                w.cell_high[i, axis] = last_cell(scale * (w.body_c[i, axis] + x - low), last)
            w.cell_start[axis, w.cell_low[i, axis]] += 1
    start = 0
    shared = 0
    for k in range(tree.nintervals):
        count = w.cell_start[axis, k]
        w.cell_start[axis, k] = start
        start += count
        shared += count * count
    return shared


@kernel
def find_near_bodies(tree: Array, w: Array, h: Scalar) -> None:
    """``first_group``: near pairs of bodies that have bounding spheres, by the first body."""
    axis = 0
    least = cells_of_bodies(tree, w, h, 0)
    for k in range(1, 3):
        shared = cells_of_bodies(tree, w, h, k)
        if shared < least:
            least = shared
            axis = k
    n = 0
    w.first_group[0] = -1
    for i in range(1, tree.n):
        w.first_group[i] = -1
        if tree.body_paired[i] == 1:
            cell = w.cell_low[i, axis]
            w.swept[w.cell_start[axis, cell]] = i
            w.cell_start[axis, cell] += 1
            n += 1
    second = (axis + 1) % 3
    third = (axis + 2) % 3
    for x in range(n):
        i = w.swept[x]
        y = x + 1
        while y < n and w.cell_low[w.swept[y], axis] <= w.cell_high[i, axis]:
            j = w.swept[y]
            if share_cell(w, i, j, second) == 1 and share_cell(w, i, j, third) == 1:
                keep_group(tree, w, i, j, h)
                keep_group(tree, w, j, i, h)
            y += 1


@kernel
def share_cell(w: Array, i: int, j: int, axis: int) -> int:
    """1 where two bodies share a cell along an axis, else 0."""
    if w.cell_low[i, axis] <= w.cell_high[j, axis] and w.cell_low[j, axis] <= w.cell_high[i, axis]:
        return 1
    return 0


@kernel
def keep_group(tree: Array, w: Array, i: int, j: int, h: Scalar) -> None:
    """Add the group of two bodies to those of the first, in their order, if there is one and they are near."""
    low = tree.body_group[i]
    last = low + tree.body_groups[i]
    high = last
    while low < high:
        middle = (low + high) // 2
        if tree.group_second[middle] < j:
            low = middle + 1
        else:
            high = middle
    if is_unbounded(tree, i) == 0 and low < last and tree.group_second[low] == j:
        if groups_are_near(tree, w, low, h) == 1:
            before = -1
            after = w.first_group[i]
            while after >= 0 and after < low:
                before = after
                after = w.next_group[after]
            w.next_group[low] = after
            if before >= 0:
                w.next_group[before] = low
            else:
                w.first_group[i] = low
