# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs of shapes are near: bounding spheres of bodies, of parts of them, of shapes; their boxes, and planes.

Pairs are near whose spheres are closer than their bodies can come to each other in a step. In lanes a pair is near
that is near in any of them.

Few pairs of bodies are compared one by one. Of many, the boxes about their spheres are rounded outward to cells along
the two axes on which most bodies fit side by side, about as many cells as bodies; in lanes to those of all lanes
together. Bodies are sorted by their first cells, and compared with bodies that begin in one of their cells along the
first axis, and no farther before them along the second than any reaches (sweep and prune, with a grid). Cells cover a
few deviations, the outer ones what is beyond: bodies that fly away do not make them large. Pairs of bodies with
the world are compared one by one always.

Pairs of shapes of two bodies that are near are compared one by one; many of them by a hierarchy of bounding spheres of
the body that has more shapes (`plans.contact_groups`).

| symbol               | meaning                                                                        |
|----------------------|--------------------------------------------------------------------------------|
| body_c, shape_c      | centers of bounding spheres in the world                                       |
| speed                | the most that a point of a body's sphere moves in a second                     |
| near, near_slot      | near pairs, and the numbers of their first slots in results                    |
| counts[NEAR]         | how many there are                                                             |
| group_near           | candidates of a group, pairs of shapes: all of one that is near                |
| near_group, group_found | of candidates their groups, and places in `group_contact`                     |
| pair_near, part_count | which candidates are near; how many entries parts of a list have              |
| cell_origin, cell_range | where cells begin along the axes, and the length of all of them                  |
| cell_low, cell_high  | first and last cells of a body along the axes                                  |
| cell_end             | bodies whose first cells are before this one or the same                       |
| swept                | bodies in the order of their first cells                                       |
| first_group, next_group | pairs of bodies that are near, by the first body, in the order of groups       |

Cost: linear in pairs of bodies, or in bodies and pairs of them that share a cell along two axes; and linear in pairs of
shapes of bodies that are near, or in the shapes of the one that are near the other.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.bounding_volumes import MOTION, approach, gap_of_spheres, pair_gap
from linkwork.kernels.contact.reduced.problem import NEAR
from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, in_warp, kernel, prange, some_below, sqrt
from linkwork.kernels.spatial import add, rotate
from linkwork.kernels.thresholds import LEAST_SPAN
from linkwork.model.thresholds import UNBOUNDED

DEVIATIONS = 3.0
"""Cells cover so many deviations of bodies on either side of their middle: of even ones all."""

FEW_GROUPS = 300
"""Pairs of bodies that are compared one by one: the sort of as few bodies takes about as long."""

PARTS = 32
"""Parts of lists that lanes of a warp make: one for each."""

BROAD_INTEGERS: dict[str, Shape] = {
    "near": ("ncontacts",),
    "near_slot": ("ncontacts",),
    "group_near": ("ngroups",),
    "group_found": ("ncontacts",),
    "near_group": ("ncontacts",),
    "pair_near": ("ncontacts",),
    "part_count": (PARTS,),
    "cell_low": ("n", 3),
    "cell_high": ("n", 3),
    "cell_end": ("ngrid",),
    "swept": ("n",),
    "first_group": ("n",),
    "next_group": ("ngroups",),
}
BROAD_WORK: dict[str, Shape] = {
    "body_c": ("n", 3),
    "shape_c": ("nshapes", 3),
    "speed": ("n",),
    "cell_origin": (3,),
    "cell_range": (3,),
}


@kernel
def find_near_pairs(tree: Array, w: Array, h: Scalar) -> None:
    """``near``: pairs of shapes that can touch within the step ``h``, in the order of groups."""
    w.counts[NEAR] = 0
    if in_warp():
        find_near_groups(tree, w, h)
    elif tree.ngroups <= FEW_GROUPS:
        for g in range(tree.ngroups):
            if groups_are_near(tree, w, g, h) == 1:
                find_near_shapes(tree, w, g, h)
    else:
        find_near_bodies(tree, w, h)
        for i in range(tree.n):
            g = w.first_group[i]
            while g >= 0:
                find_near_shapes(tree, w, g, h)
                g = w.next_group[g]


@kernel
def find_near_groups(tree: Array, w: Array, h: Scalar) -> None:
    """Near pairs in a warp: its lanes take groups, then the pairs of shapes of those that are near.

    Lanes list what they have in parts of equal length, one after the other in the order of groups, as numbers of all
    parts before are known: no list is made by one lane for all.
    """
    for g in prange(tree.ngroups):
        near = groups_are_near(tree, w, g, h)
        w.group_near[g] = tree.group_count[g] * near if tree.group_nodes[g] == 0 else near
    for x in prange(PARTS):
        n = 0
        for g in range(part_start(x, tree.ngroups), part_start(x + 1, tree.ngroups)):
            n += w.group_near[g]
        w.part_count[x] = n
    for x in prange(PARTS):
        n = count_before(w, x)
        for g in range(part_start(x, tree.ngroups), part_start(x + 1, tree.ngroups)):
            for k in range(w.group_near[g]):
                w.near_group[n] = g
                w.group_found[n] = tree.group_start[g] + k
                n += 1
    candidates = count_before(w, PARTS)
    for n in prange(candidates):
        g = w.near_group[n]
        if tree.group_nodes[g] == 0:
            reach = approach(tree, w, tree.group_first[g], tree.group_second[g], h)
            gap = pair_gap(tree, w, tree.group_contact[w.group_found[n]], reach)
            w.pair_near[n] = 1 if some_below(gap, 0.0) else 0
    if tree.nnodes > 0:
        for n in range(candidates):
            if tree.group_nodes[w.near_group[n]] > 0:
                find_near_shapes(tree, w, w.near_group[n], h)
            elif w.pair_near[n] == 1:
                add_near(tree, w, w.group_found[n])
    else:
        list_near(tree, w, candidates)


@kernel
def list_near(tree: Array, w: Array, candidates: int) -> None:
    """``near``: of so many candidates those that are."""
    for x in prange(PARTS):
        n = 0
        for k in range(part_start(x, candidates), part_start(x + 1, candidates)):
            n += w.pair_near[k]
        w.part_count[x] = n
    for x in prange(PARTS):
        n = count_before(w, x)
        for k in range(part_start(x, candidates), part_start(x + 1, candidates)):
            if w.pair_near[k] == 1:
                w.near[n] = tree.group_contact[w.group_found[k]]
                w.near_slot[n] = tree.group_slot[w.group_found[k]]
                n += 1
    w.counts[NEAR] = count_before(w, PARTS)


@kernel
def part_start(x: int, count: int) -> int:
    """Where part ``x`` of so many entries begins."""
    return x * count // PARTS


@kernel
def count_before(w: Array, x: int) -> int:
    """The number of entries of the parts before ``x``."""
    total = 0
    for k in range(x):
        total += w.part_count[k]
    return total


@kernel
def add_near(tree: Array, w: Array, k: int) -> None:
    """Add a pair of a group, by its place in `group_contact`."""
    w.near[w.counts[NEAR]] = tree.group_contact[k]
    w.near_slot[w.counts[NEAR]] = tree.group_slot[k]
    w.counts[NEAR] += 1


@kernel
def bodies_are_near(tree: Array, w: Array, i: int, j: int, h: Scalar) -> int:
    """1 where two bodies are near, else 0."""
    r = tree.body_radius[i] + approach(tree, w, i, j, h)
    if some_below(gap_of_spheres(w.body_c[i], r, w.body_c[j], tree.body_radius[j]), 0.0):
        return 1
    return 0


@kernel
def groups_are_near(tree: Array, w: Array, g: int, h: Scalar) -> int:
    """1 where the bodies of a group are near, else 0."""
    return bodies_are_near(tree, w, tree.group_first[g], tree.group_second[g], h)


@kernel
def find_near_shapes(tree: Array, w: Array, g: int, h: Scalar) -> None:
    """Add the near pairs of shapes of a group, those of a large one by its parts."""
    i = tree.group_first[g]
    j = tree.group_second[g]
    reach = approach(tree, w, i, j, h)
    if tree.group_nodes[g] == 0:
        for k in range(tree.group_start[g], tree.group_start[g] + tree.group_count[g]):
            keep_pair(tree, w, k, reach)
    else:
        first = w.counts[NEAR]
        n = tree.group_node[g]
        while n < tree.group_node[g] + tree.group_nodes[g]:
            a = tree.node_body[n]
            b = i + j - a
            center = add(w.body_o[a], rotate(w.body_E[a], tree.node_center[n]))
            gap = gap_of_spheres(center, tree.node_radius[n] + reach, w.body_c[b], tree.body_radius[b])
            if some_below(gap, 0.0):
                for x in range(tree.node_start[n], tree.node_start[n] + tree.node_count[n]):
                    keep_pair(tree, w, tree.node_pair[x], reach)
                n += 1
            else:
                n = tree.node_next[n]
        sort_near(w, first)


@kernel
def keep_pair(tree: Array, w: Array, k: int, reach: Scalar) -> None:
    """Add a pair of a group, by its place in `group_contact`, if it is near."""
    if some_below(pair_gap(tree, w, tree.group_contact[k], reach), 0.0):
        add_near(tree, w, k)


@kernel
def sort_near(w: Array, first: int) -> None:
    """Put the near pairs from ``first`` on in the order of their numbers in results."""
    for k in range(first + 1, w.counts[NEAR]):
        c = w.near[k]
        slot = w.near_slot[k]
        at = k
        while at > first and w.near_slot[at - 1] > slot:
            w.near[at] = w.near[at - 1]
            w.near_slot[at] = w.near_slot[at - 1]
            at -= 1
        w.near[at] = c
        w.near_slot[at] = slot


# Sweep and prune ----------------------------------------------------------------------------------------------------


@kernel
def half_width(tree: Array, w: Array, i: int, h: Scalar) -> Scalar:
    """Half the edge of the box about what a body with a bounding sphere can reach."""
    return tree.body_radius[i] + 0.5 * tree.reach[0] + MOTION * h * w.speed[i]


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
    """The largest cell number of all lanes."""
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
def set_range(tree: Array, w: Array, h: Scalar, axis: int) -> int:
    """``cell_origin, cell_range`` along an axis; how many bodies of the mean width are as long as this range.

    The middle is a mean with weights by the distance from the mean, a step toward the median (Weiszfeld 1937), and the
    deviation the square of the mean root of distances: a few bodies far away hardly change them.
    """
    n = 0
    mean = 0.0
    width = 0.0
    low = UNBOUNDED
    high = -UNBOUNDED
    for i in range(1, tree.n):
        if tree.body_swept[i] == 1:
            x = half_width(tree, w, i, h)
            low = minimum(low, w.body_c[i, axis] - x)
            high = maximum(high, w.body_c[i, axis] + x)
            mean = mean + w.body_c[i, axis]
            width = width + 2.0 * x
            n += 1
    mean = mean / float(n)
    width = maximum(width / float(n), LEAST_SPAN)
    total = 0.0
    middle = 0.0
    for i in range(1, tree.n):
        if tree.body_swept[i] == 1:
            weight = 1.0 / (width + magnitude(w.body_c[i, axis] - mean))
            middle = middle + weight * w.body_c[i, axis]
            total = total + weight
    middle = middle / total
    root = 0.0
    for i in range(1, tree.n):
        if tree.body_swept[i] == 1:
            root = root + sqrt(magnitude(w.body_c[i, axis] - middle)) / float(n)
    low = maximum(low, middle - DEVIATIONS * root * root - width)
    high = minimum(high, middle + DEVIATIONS * root * root + width)
    w.cell_origin[axis] = low
    w.cell_range[axis] = maximum(high - low, LEAST_SPAN)
    cells = last_cell(w.cell_range[axis] / width, tree.ngrid)
    return cells if cells > 1 else 1


@kernel
def set_cells(tree: Array, w: Array, h: Scalar, axis: int, cells: int) -> int:
    """First and last of so many cells of bodies along an axis; the most that one of them is after the other."""
    span = 0
    scale = float(cells) / w.cell_range[axis]
    for i in range(1, tree.n):
        if tree.body_swept[i] == 1:
            x = w.body_c[i, axis] - w.cell_origin[axis]
            half = half_width(tree, w, i, h)
            w.cell_low[i, axis] = first_cell(scale * (x - half), cells - 1)
            w.cell_high[i, axis] = last_cell(scale * (x + half), cells - 1)
            width = w.cell_high[i, axis] - w.cell_low[i, axis]
            span = width if width > span else span
    return span


@kernel
def sort_by_cells(tree: Array, w: Array, first: int, second: int, m: int) -> None:
    """``swept, cell_end``: bodies by first cells along two axes, ``m`` cells along the second (counting sort)."""
    for k in range(tree.ngrid):
        w.cell_end[k] = 0
    for i in range(1, tree.n):
        if tree.body_swept[i] == 1:
            w.cell_end[m * w.cell_low[i, first] + w.cell_low[i, second]] += 1
    start = 0
    for k in range(tree.ngrid):
        count = w.cell_end[k]
        w.cell_end[k] = start
        start += count
    for i in range(1, tree.n):
        if tree.body_swept[i] == 1:
            cell = m * w.cell_low[i, first] + w.cell_low[i, second]
            w.swept[w.cell_end[cell]] = i
            w.cell_end[cell] += 1


@kernel
def find_near_bodies(tree: Array, w: Array, h: Scalar) -> None:
    """``first_group``: near pairs of bodies, by the first body."""
    for i in range(tree.n):
        w.first_group[i] = -1
    for k in range(tree.nwide):
        g = tree.wide_group[tree.nwide - 1 - k]  # from the last on, so that each becomes the first
        if groups_are_near(tree, w, g, h) == 1:
            keep_group(tree, w, g)
    if tree.nwide < tree.ngroups:
        sweep_bodies(tree, w, h)


@kernel
def sweep_bodies(tree: Array, w: Array, h: Scalar) -> None:
    """Add near pairs of bodies that both have a bounding sphere to ``first_group``."""
    first = 0  # the axis on which most bodies fit side by side, and the one after it
    second = 1
    most = set_range(tree, w, h, 0)
    next_most = 0
    for k in range(1, 3):
        cells = set_range(tree, w, h, k)
        if cells > most:
            second = first
            next_most = most
            first = k
            most = cells
        elif cells > next_most:
            second = k
            next_most = cells
    m = next_most if next_most < tree.nintervals else tree.nintervals
    room = tree.ngrid // m
    set_cells(tree, w, h, first, most if most < room else room)
    span = set_cells(tree, w, h, second, m)
    sort_by_cells(tree, w, first, second, m)
    for i in range(1, tree.n):
        if tree.body_swept[i] == 1:
            low = w.cell_low[i, second] - span
            low = low if low > 0 else 0
            for cell in range(w.cell_low[i, first], w.cell_high[i, first] + 1):
                at = m * cell + low
                x = w.cell_end[at - 1] if at > 0 else 0
                while x < w.cell_end[m * cell + w.cell_high[i, second]]:
                    j = w.swept[x]
                    # a pair with the same first cell is found from both sides
                    if cell > w.cell_low[i, first] or j > i:
                        if bodies_are_near(tree, w, i, j, h) == 1:
                            find_group(tree, w, i, j)
                            find_group(tree, w, j, i)
                    x += 1


@kernel
def find_group(tree: Array, w: Array, i: int, j: int) -> None:
    """Keep the group of two bodies, if there is one."""
    low = tree.body_group[i]
    last = low + tree.body_groups[i]
    high = last
    while low < high:
        middle = (low + high) // 2
        if tree.group_second[middle] < j:
            low = middle + 1
        else:
            high = middle
    if low < last and tree.group_second[low] == j:
        keep_group(tree, w, low)


@kernel
def keep_group(tree: Array, w: Array, g: int) -> None:
    """Add a group to those of its first body, in their order."""
    before = -1
    after = w.first_group[tree.group_first[g]]
    while after >= 0 and after < g:
        before = after
        after = w.next_group[after]
    w.next_group[g] = after
    if before >= 0:
        w.next_group[before] = g
    else:
        w.first_group[tree.group_first[g]] = g
