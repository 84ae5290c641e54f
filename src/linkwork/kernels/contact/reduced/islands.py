# SPDX-License-Identifier: BSD-3-Clause
"""Islands: limbs that contacts and loops couple, directly or through others, and sets of rows of these alone.

Sets of different islands have nothing to do with each other. Where Newton's method solves some islands and fails in
others, each of the others is solved by itself: steps are as long as its own equations allow, and cost as much as its
own limbs and sets. The order of elimination and the blocks of the factor stay.

| symbol        | meaning                                                                                           |
|---------------|---------------------------------------------------------------------------------------------------|
| limb_island   | a limb of the island of each limb, the same for all: the one that is eliminated last               |
| island_open   | 1 of islands with a set that is not solved, in any lane                                           |
| swapped       | which set each set of the island has changed places with                                          |
| kept_z, kept_v | impulses and velocities of all islands                                                           |

Cost: linear in sets and limbs.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.dense import list_for_warp
from linkwork.kernels.contact.reduced.pattern import activate_all, fill_pattern
from linkwork.kernels.contact.reduced.problem import ACTIVE, CONES
from linkwork.kernels.scalar import Array, in_warp, kernel

ISLAND_INTEGERS: dict[str, Shape] = {
    "limb_island": ("nlimbs",),
    "island_open": ("nlimbs",),
    "swapped": ("nsets",),
}
ISLAND_WORK: dict[str, Shape] = {"kept_z": ("nrows",), "kept_v": ("nv",)}


@kernel
def label_islands(tree: Array, w: Array) -> None:
    """``limb_island``, after `fill_pattern`; no island is open."""
    if in_warp() and tree.nstride > 0:
        fill_pattern(tree, w)
    for place in range(tree.nlimbs - 1, -1, -1):
        a = w.limb_order[place]
        w.island_open[a] = 0
        w.limb_island[a] = a
        if w.near_count[a] > 0:
            w.limb_island[a] = w.limb_island[w.near_limb[w.near_start[a]]]


@kernel
def island_of(w: Array, e: int) -> int:
    """The island of a set."""
    island: int = w.limb_island[w.side_limb[w.cone_side[e]]]
    return island


@kernel
def swap_integers(x: Array, i: int, j: int) -> None:
    """Change the places of two numbers."""
    first = x[i]
    x[i] = x[j]
    x[j] = first


@kernel
def swap_numbers(x: Array, i: int, j: int) -> None:
    """Change the places of two numbers."""
    first = x[i] + 0.0
    x[i] = x[j]
    x[j] = first


@kernel
def swap_sets(w: Array, i: int, j: int) -> None:
    """Change the places of two sets; their rows and sides stay."""
    if i != j:
        swap_integers(w.cone_row, i, j)
        swap_integers(w.cone_dim, i, j)
        swap_integers(w.cone_kind, i, j)
        swap_integers(w.cone_side, i, j)
        swap_integers(w.cone_sides, i, j)
        swap_integers(w.cone_pair, i, j)
        swap_integers(w.cone_box, i, j)
        swap_numbers(w.lower, i, j)
        swap_numbers(w.upper, i, j)
        swap_numbers(w.cone_D, i, j)
        swap_numbers(w.cone_sigma, i, j)
        swap_numbers(w.cone_mu, i, j)
        swap_numbers(w.cone_unit, i, j)
        swap_numbers(w.cone_saxce, i, j)
        swap_numbers(w.removal, i, j)
        swap_numbers(w.yields, i, j)


@kernel
def select_island(tree: Array, w: Array, island: int) -> int:
    """Leave the sets and limbs of an island alone in the problem; how many sets there were."""
    sets: int = w.counts[CONES]
    n = 0
    for e in range(sets):
        if island_of(w, e) == island:
            w.swapped[n] = e
            swap_sets(w, n, e)
            n += 1
    w.counts[CONES] = n
    n = 0
    for place in range(tree.nlimbs):
        if w.limb_island[w.limb_order[place]] == island:
            w.active_limb[n] = w.limb_order[place]
            n += 1
    w.counts[ACTIVE] = n
    list_for_warp(tree, w)
    return sets


@kernel
def keep_island(tree: Array, w: Array, sets: int) -> None:
    """Keep the best iterate of the island; all sets in their places."""
    for e in range(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            w.kept_z[r] = w.z_best[r]
    for place in range(w.counts[ACTIVE]):
        a = w.active_limb[place]
        for k in range(tree.limb_v[a], tree.limb_v[a] + tree.limb_size[a]):
            w.kept_v[k] = w.v_best[k]
    for k in range(w.counts[CONES] - 1, -1, -1):
        swap_sets(w, k, w.swapped[k])
    w.counts[CONES] = sets
    activate_all(tree, w)
    list_for_warp(tree, w)
