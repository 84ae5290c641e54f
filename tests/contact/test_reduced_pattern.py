# SPDX-License-Identifier: BSD-3-Clause
"""Pattern of the reduced matrix against symbolic elimination of a Boolean matrix, on random forests and contacts."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linkwork.kernels.contact.reduced.pattern import PATTERN_INTEGERS, ancestor_block, fill_pattern
from linkwork.kernels.contact.reduced.problem import BLOCKS, CONES, EDGES, FULL


def ancestors(parent: list[int], a: int) -> list[int]:
    """The ancestors of a limb, the nearest first."""
    result = []
    while parent[a] >= 0:
        a = parent[a]
        result.append(a)
    return result


def problem(parent: list[int], sizes: list[int], sets: list[list[int]], room: int = 10**6) -> tuple[Any, Any]:
    """Plan and work arrays of limbs with these parents and sizes, and of sets that depend on these limbs."""
    n = len(parent)
    reach, block, static = list[int](), list[int](), 0
    for a, h in enumerate(parent):
        above = reach[h] if h >= 0 else 0
        reach.append(above + sizes[a])
        static += sizes[a] * above
        block.append(static)
    pairs = sum(len(s) * (len(s) - 1) // 2 for s in sets)
    links = 2 * (pairs + sum(len(ancestors(parent, a)) for a in range(n)))
    tree = SimpleNamespace(
        nlimbs=n,
        nstatic=static,
        nblocks=room,
        nedges=min(room, n * n),
        nside_pairs=pairs,
        nlinks=links,
        nsets=len(sets),
    )
    tree.limb_parent, tree.limb_size, tree.limb_reach, tree.limb_block = map(np.array, (parent, sizes, reach, block))
    w = SimpleNamespace(
        counts=np.zeros(11, dtype=np.int64),
        cone_sides=np.array([len(s) for s in sets], dtype=np.int64),
        cone_side=np.cumsum([0, *(len(s) for s in sets)])[:-1],
        side_limb=np.array([limb for s in sets for limb in s], dtype=np.int64),
    )
    w.counts[CONES] = len(sets)
    for name, shape in PATTERN_INTEGERS.items():
        setattr(w, name, np.full([getattr(tree, str(k)) for k in shape], -7))
    return tree, w


def random_problem(seed: int) -> tuple[list[int], list[int], list[list[int]]]:
    """A forest, sizes of its limbs, and sets of rows of contacts between random limbs with the limbs between them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    parent = [int(rng.integers(-1, a)) if a and rng.random() < 0.4 else -1 for a in range(n)]
    sizes = rng.integers(1, 7, size=n).tolist()
    sets = list[list[int]]()
    for _ in range(int(rng.integers(0, 3 * n))):
        a, b = rng.integers(n, size=2).tolist()
        sides = {a, *ancestors(parent, a)} ^ {b, *ancestors(parent, b)}
        sets += [sorted(sides or {a}, reverse=True)] * int(rng.integers(1, 5))
    return parent, sizes, sets


def neighbors(w: Any, a: int) -> list[int]:
    """Limbs that are coupled to this one and eliminated after it."""
    start = int(w.near_start[a])
    return [int(b) for b in w.near_limb[start : start + w.near_count[a]]]


@pytest.mark.parametrize("seed", range(60))
def test_fill_is_that_of_symbolic_elimination(seed: int) -> None:
    parent, sizes, sets = random_problem(seed)
    tree, w = problem(parent, sizes, sets)
    fill_pattern(tree, w)
    n = len(parent)
    assert sorted(w.limb_order.tolist()) == list(range(n))
    assert all(h < 0 or w.limb_place[a] < w.limb_place[h] for a, h in enumerate(parent)), "children before parents"
    full = np.zeros((n, n), dtype=bool)
    for a in range(n):
        full[a, ancestors(parent, a)] = True
    for s in sets:
        full[np.ix_(s, s)] = True
    full |= full.T
    for place, a in enumerate(w.limb_order.tolist()):
        later = [b for b in w.limb_order[place + 1 :].tolist() if full[a, b]]
        assert neighbors(w, a) == later
        full[np.ix_(later, later)] = True
    assert w.counts[FULL] == 0
    assert w.counts[EDGES] == sum(w.near_count)


@pytest.mark.parametrize("seed", range(60))
def test_blocks_are_apart_and_sets_know_theirs(seed: int) -> None:
    parent, sizes, sets = random_problem(seed)
    tree, w = problem(parent, sizes, sets)
    fill_pattern(tree, w)
    used = np.zeros(int(w.counts[BLOCKS]), dtype=int)
    at = dict[frozenset[int], int]()
    for a in range(len(parent)):
        for k, b in enumerate(neighbors(w, a)):
            start = int(w.near_at[w.near_start[a] + k])
            used[start : start + sizes[a] * sizes[b]] += 1
            at[frozenset((a, b))] = start
            if b in ancestors(parent, a):
                assert start == ancestor_block(tree, a, b)
    assert (used == 1).all(), "blocks neither overlap nor leave room"
    for e, s in enumerate(sets):
        pairs = [at[frozenset((a, b))] for k, a in enumerate(s) for b in s[k + 1 :]]
        first = int(w.cone_pair[e])
        assert w.pair_block[first : first + len(pairs)].tolist() == pairs


def test_a_chain_of_bodies_in_any_order_has_no_fill() -> None:
    chain = np.random.default_rng(0).permutation(200).tolist()
    _, w = solved = problem([-1] * 200, [6] * 200, [[a, b] for a, b in pairwise(chain)])
    fill_pattern(*solved)
    assert w.counts[EDGES] == 199


def test_fill_of_a_grid_of_bodies_is_less_than_half_of_that_by_rows() -> None:
    """In the order of rows each of the bodies is coupled to as many as a row has."""
    side = 30
    number = np.arange(side * side).reshape(side, side)
    sets = [[a, b] for a, b in zip(number[1:].ravel().tolist(), number[:-1].ravel().tolist(), strict=True)]
    sets += [[a, b] for a, b in zip(number[:, 1:].ravel().tolist(), number[:, :-1].ravel().tolist(), strict=True)]
    tree, w = problem([-1] * side * side, [6] * side * side, sets)
    fill_pattern(tree, w)
    assert w.counts[EDGES] < side**3 / 2


@pytest.mark.parametrize("seed", range(20))
def test_too_little_room_is_said(seed: int) -> None:
    parent, sizes, sets = random_problem(1000 + seed)
    tree, w = problem(parent, sizes, sets)
    fill_pattern(tree, w)
    needed = int(w.counts[EDGES])
    tree, w = problem(parent, sizes, sets, room=tree.nstatic + 10)
    tree.nedges = max(needed - 1, 0)
    w.near_limb, w.near_at = np.full(tree.nedges, -7), np.full(tree.nedges, -7)
    fill_pattern(tree, w)
    assert sorted(w.limb_order.tolist()) == list(range(len(parent)))
    assert w.counts[BLOCKS] <= tree.nblocks
    assert w.counts[FULL] == (1 if needed else 0)
