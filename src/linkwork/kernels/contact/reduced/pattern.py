# SPDX-License-Identifier: BSD-3-Clause
"""The pattern of the reduced matrix: limbs that are coupled, their order of elimination, and the blocks of the factor.

A limb is coupled to its ancestors and to the limbs of bodies that it touches. Limbs are eliminated children before
parents, and of those the one next that has the fewest neighbors (approximate minimum degree: Amestoy, Davis and Duff
1996). An eliminated limb is an *element*: its neighbors are coupled to each other from then on, and an element whose
neighbors are all in a later one is absorbed. So the neighbors of limbs that remain are in no more room than the graph
had at first, and what the elements are in the end is the pattern of the factor. Nothing is kept from step to step: the
order depends on what touches alone.

| symbol                | meaning                                                                                   |
|-----------------------|-------------------------------------------------------------------------------------------|
| limb_order, limb_place | limbs in the order of elimination, and the place of each in it; -1: not eliminated yet    |
| active_limb           | limbs that take part in the factor, in this order: all of them, or those of an island     |
| near_*                | neighbors of a limb that are eliminated after it, in this order: first, count, limb, block |
| cone_pair, pair_block | blocks of all pairs of sides of a set, in the order (0, 1), (0, 2), ..., (1, 2), ... |
| graph_*               | neighbors of a limb that remains: first, how many limbs, then how many elements            |
| degree                | the most neighbors that a limb that remains can have                                      |
| bucket_*              | limbs without children that remain, by degree: the first, and for each the next and last    |
| element_size          | neighbors of an element that are not neighbors of the limb that is eliminated              |
| absorbed              | 1 of elements that later ones hold                                                        |

Cost: linear in blocks of the factor, times the elements that a limb has; no more than the factor itself.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.problem import ACTIVE, BLOCKS, CONES, EDGES, FULL
from linkwork.kernels.scalar import Array, kernel

PATTERN_INTEGERS: dict[str, Shape] = {
    "limb_order": ("nlimbs",),
    "limb_place": ("nlimbs",),
    "active_limb": ("nlimbs",),
    "near_start": ("nlimbs",),
    "near_count": ("nlimbs",),
    "near_limb": ("nedges",),
    "near_at": ("nedges",),
    "cone_pair": ("nsets",),
    "pair_block": ("nside_pairs",),
    "graph": ("nlinks",),
    "graph_start": ("nlimbs",),
    "graph_limbs": ("nlimbs",),
    "graph_elements": ("nlimbs",),
    "degree": ("nlimbs",),
    "children": ("nlimbs",),
    "bucket_first": ("nlimbs",),
    "bucket_next": ("nlimbs",),
    "bucket_last": ("nlimbs",),
    "limb_mark": ("nlimbs",),
    "element_mark": ("nlimbs",),
    "element_size": ("nlimbs",),
    "absorbed": ("nlimbs",),
}


@kernel
def ancestor_block(tree: Array, a: int, b: int) -> int:
    """Where the block of limb ``a`` with its ancestor ``b`` begins."""
    at: int = tree.limb_block[a] - tree.limb_size[a] * tree.limb_reach[b]
    return at


@kernel
def fill_pattern(tree: Array, w: Array) -> None:
    """The order of elimination, the neighbors of each limb that are eliminated after it, and all blocks."""
    coupled_limbs(tree, w)
    begin_order(tree, w)
    w.counts[EDGES] = 0
    least = 0
    for place in range(tree.nlimbs):
        while w.bucket_first[least] < 0:
            least += 1
        a = w.bucket_first[least]
        take_from_bucket(w, a)
        w.limb_order[place] = a
        w.limb_place[a] = place
        make_element(tree, w, a)
        count_outside(w, a)
        h = tree.limb_parent[a]
        if h >= 0:
            w.children[h] -= 1
        for k in range(w.near_start[a], w.near_start[a] + w.near_count[a]):
            least = update_neighbor(tree, w, a, w.near_limb[k], tree.nlimbs - 2 - place, least)
        if h >= 0 and w.children[h] == 0 and w.limb_mark[h] != a:  # what was left out for want of room
            put_in_bucket(w, h)
            least = w.degree[h] if w.degree[h] < least else least
    w.counts[BLOCKS] = tree.nstatic
    for place in range(tree.nlimbs):
        place_blocks(tree, w, w.limb_order[place])
    blocks_of_sets(w)
    activate_all(tree, w)


@kernel
def activate_all(tree: Array, w: Array) -> None:
    """All limbs take part in the factor."""
    for place in range(tree.nlimbs):
        w.active_limb[place] = w.limb_order[place]
    w.counts[ACTIVE] = tree.nlimbs


# The graph ----------------------------------------------------------------------------------------------------------


@kernel
def same_sides(w: Array, e: int) -> int:
    """1 where a set depends on the limbs of the set before, as contact points of one pair of bodies do; else 0."""
    if e == 0 or w.cone_sides[e] != w.cone_sides[e - 1]:
        return 0
    s = 0
    while s < w.cone_sides[e] and w.side_limb[w.cone_side[e] + s] == w.side_limb[w.cone_side[e - 1] + s]:
        s += 1
    return 1 if s == w.cone_sides[e] else 0


@kernel
def link(w: Array, a: int, b: int) -> None:
    """Make two limbs neighbors of each other."""
    w.graph[w.graph_start[a] + w.graph_limbs[a]] = b
    w.graph[w.graph_start[b] + w.graph_limbs[b]] = a
    w.graph_limbs[a] += 1
    w.graph_limbs[b] += 1


@kernel
def coupled_limbs(tree: Array, w: Array) -> None:
    """``graph``: the limbs that each limb is coupled to."""
    for a in range(tree.nlimbs):
        w.graph_start[a] = 0
        w.graph_limbs[a] = 0
        w.limb_mark[a] = -1
    for a in range(tree.nlimbs):  # how many there are, in `graph_start`
        b = tree.limb_parent[a]
        while b >= 0:
            w.graph_start[a] += 1
            w.graph_start[b] += 1
            b = tree.limb_parent[b]
    for e in range(w.counts[CONES]):
        n = w.cone_sides[e]
        if n > 1 and same_sides(w, e) == 0:
            for s in range(w.cone_side[e], w.cone_side[e] + n):
                w.graph_start[w.side_limb[s]] += n - 1
    start = 0
    for a in range(tree.nlimbs):
        n = w.graph_start[a]
        w.graph_start[a] = start
        start += n
    for a in range(tree.nlimbs):
        b = tree.limb_parent[a]
        while b >= 0:
            link(w, a, b)
            b = tree.limb_parent[b]
    for e in range(w.counts[CONES]):
        n = w.cone_sides[e]
        if n > 1 and same_sides(w, e) == 0:
            for x in range(w.cone_side[e], w.cone_side[e] + n):
                for y in range(x + 1, w.cone_side[e] + n):
                    link(w, w.side_limb[x], w.side_limb[y])
    for a in range(tree.nlimbs):  # each neighbor once
        n = 0
        for k in range(w.graph_start[a], w.graph_start[a] + w.graph_limbs[a]):
            b = w.graph[k]
            if w.limb_mark[b] != a:
                w.limb_mark[b] = a
                w.graph[w.graph_start[a] + n] = b
                n += 1
        w.graph_limbs[a] = n


# The order ----------------------------------------------------------------------------------------------------------


@kernel
def put_in_bucket(w: Array, a: int) -> None:
    """Make a limb the first of those with its degree."""
    d = w.degree[a]
    b = w.bucket_first[d]
    w.bucket_next[a] = b
    w.bucket_last[a] = -1
    if b >= 0:
        w.bucket_last[b] = a
    w.bucket_first[d] = a


@kernel
def take_from_bucket(w: Array, a: int) -> None:
    """Take a limb out of those with its degree."""
    after = w.bucket_next[a]
    before = w.bucket_last[a]
    if after >= 0:
        w.bucket_last[after] = before
    if before >= 0:
        w.bucket_next[before] = after
    else:
        w.bucket_first[w.degree[a]] = after


@kernel
def begin_order(tree: Array, w: Array) -> None:
    """No limb is eliminated; those without children can be next."""
    for a in range(tree.nlimbs):
        w.limb_place[a] = -1
        w.limb_mark[a] = -1
        w.graph_elements[a] = 0
        w.degree[a] = w.graph_limbs[a]
        w.children[a] = 0
        w.bucket_first[a] = -1
        w.element_mark[a] = -1
        w.absorbed[a] = 0
    for a in range(tree.nlimbs):
        if tree.limb_parent[a] >= 0:
            w.children[tree.limb_parent[a]] += 1
    for a in range(tree.nlimbs):
        if w.children[a] == 0:
            put_in_bucket(w, a)


@kernel
def add_neighbor(tree: Array, w: Array, a: int, b: int) -> None:
    """Add a limb that remains to the neighbors of the element ``a``, once."""
    if w.limb_mark[b] != a and w.limb_place[b] < 0:
        if w.counts[EDGES] < tree.nedges:
            w.limb_mark[b] = a
            w.near_limb[w.counts[EDGES]] = b
            w.counts[EDGES] += 1
        else:
            w.counts[FULL] = 1


@kernel
def make_element(tree: Array, w: Array, a: int) -> None:
    """The neighbors of a limb, and of all elements that it is in, which are absorbed."""
    w.near_start[a] = w.counts[EDGES]
    first = w.graph_start[a]
    last = first + w.graph_limbs[a]
    for k in range(first, last):
        add_neighbor(tree, w, a, w.graph[k])
    for k in range(last, last + w.graph_elements[a]):
        e = w.graph[k]
        w.absorbed[e] = 1
        for x in range(w.near_start[e], w.near_start[e] + w.near_count[e]):
            add_neighbor(tree, w, a, w.near_limb[x])
    w.near_count[a] = w.counts[EDGES] - w.near_start[a]


@kernel
def count_outside(w: Array, a: int) -> None:
    """``element_size`` of all elements that neighbors of the element ``a`` are in."""
    for k in range(w.near_start[a], w.near_start[a] + w.near_count[a]):
        i = w.near_limb[k]
        first = w.graph_start[i] + w.graph_limbs[i]
        for x in range(first, first + w.graph_elements[i]):
            e = w.graph[x]
            if w.element_mark[e] != a:
                w.element_mark[e] = a
                w.element_size[e] = w.near_count[e]
            w.element_size[e] -= 1


@kernel
def update_neighbor(tree: Array, w: Array, a: int, i: int, most: int, least: int) -> int:
    """Neighbors and degree of a limb in the element ``a``; the least degree of all that can be next."""
    if w.children[i] == 0 and tree.limb_parent[a] != i:
        take_from_bucket(w, i)
    first = w.graph_start[i]
    middle = first + w.graph_limbs[i]
    at = first
    for k in range(first, middle):
        b = w.graph[k]
        if w.limb_mark[b] != a and w.limb_place[b] < 0:
            w.graph[at] = b
            at += 1
    degree = at - first + w.near_count[a] - 1
    w.graph_limbs[i] = at - first
    start = at
    for k in range(middle, middle + w.graph_elements[i]):
        e = w.graph[k]
        if w.absorbed[e] == 0 and w.element_size[e] > 0:
            w.graph[at] = e
            at += 1
            degree += w.element_size[e]
    w.graph[at] = a
    w.graph_elements[i] = at + 1 - start
    w.degree[i] = degree if degree < most else most
    if w.children[i] == 0:
        put_in_bucket(w, i)
        return w.degree[i] if w.degree[i] < least else least
    return least


# Blocks -------------------------------------------------------------------------------------------------------------


@kernel
def place_blocks(tree: Array, w: Array, a: int) -> None:
    """Sort the neighbors of a limb by their places, and make room for their blocks."""
    first = w.near_start[a]
    for k in range(first + 1, first + w.near_count[a]):
        b = w.near_limb[k]
        at = k
        while at > first and w.limb_place[w.near_limb[at - 1]] > w.limb_place[b]:
            w.near_limb[at] = w.near_limb[at - 1]
            at -= 1
        w.near_limb[at] = b
    h = tree.limb_parent[a]
    while h >= 0:
        w.limb_mark[h] = tree.nlimbs + a
        h = tree.limb_parent[h]
    n = 0
    for k in range(first, first + w.near_count[a]):
        b = w.near_limb[k]
        size = tree.limb_size[a] * tree.limb_size[b]
        if w.limb_mark[b] == tree.nlimbs + a:
            w.near_limb[first + n] = b
            w.near_at[first + n] = ancestor_block(tree, a, b)
            n += 1
        elif w.counts[BLOCKS] + size <= tree.nblocks:
            w.near_limb[first + n] = b
            w.near_at[first + n] = w.counts[BLOCKS]
            w.counts[BLOCKS] += size
            n += 1
        else:
            w.counts[FULL] = 1
    w.near_count[a] = n


@kernel
def block_of(w: Array, a: int, b: int) -> int:
    """Where the block of two limbs begins; -1: there is none."""
    first = a if w.limb_place[a] < w.limb_place[b] else b
    second = b if w.limb_place[a] < w.limb_place[b] else a
    k = w.near_start[first]
    last = k + w.near_count[first]
    while k < last and w.near_limb[k] != second:
        k += 1
    return w.near_at[k] if k < last else -1


@kernel
def blocks_of_sets(w: Array) -> None:
    """``pair_block``: the blocks of all pairs of sides of sets."""
    n = 0
    for e in range(w.counts[CONES]):
        if same_sides(w, e) == 1:
            w.cone_pair[e] = w.cone_pair[e - 1]
        else:
            w.cone_pair[e] = n
            first = w.cone_side[e]
            for x in range(first, first + w.cone_sides[e]):
                for y in range(x + 1, first + w.cone_sides[e]):
                    w.pair_block[n] = block_of(w, w.side_limb[x], w.side_limb[y])
                    n += 1
