"""The order in which bodies are eliminated when constraints couple them (LCABA), and the couplings that arise.

**loops** Section IV: a leaf of what is left of the tree is eliminated with its joint; this couples its parent and all
bodies it was coupled to with each other. Of all leaves the one with the fewest neighbors goes first (minimum degree).
Couplings are 6 x 6 blocks, rows for the body that is eliminated first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.model.model import Model
from linkwork.plans.loops import LOOPS, constrained_tree
from linkwork.plans.tree import LOCAL, Tree

COUPLED = LOOPS.extended(
    "coupled",
    sizes=(
        "ncouplings",
        "nlinks",  # pairs of a body and a neighbor it has when it is eliminated
        "nfill",
        "nfirst",
        "ntouch",
    ),
    integers={
        "order": ("n",),  # bodies in the order of elimination, from place 1 on
        "link_start": ("n",),  # neighbors of a body when it is eliminated: first and count
        "link_count": ("n",),
        "link_body": ("nlinks",),
        "link_block": ("nlinks",),  # the coupling to that neighbor
        "link_up": ("nlinks",),  # the coupling of the parent to that neighbor; -1: the neighbor is the parent
        "link_turned": ("nlinks",),  # 1 where that coupling has the neighbor's rows
        "fill_start": ("nlinks",),  # couplings of a neighbor to those after it in the list
        "fill": ("nfill",),
        "fill_turned": ("nfill",),  # 1 where that coupling has the rows of the later one
        "term_k": ("nterms",),  # rows of K of a joint's body,
        "term_parent_k": ("nterms",),  # and of its parent; -1 for a row of one joint
        "term_body": ("nterms",),
        "lone": ("nc",),  # 1 for a row on one joint alone, which stays with the joint
        "touch_start": ("nc",),  # rows of K that make up a row: first and count
        "touch_count": ("nc",),
        "touch": ("ntouch",),
        "first_block": ("nfirst",),  # couplings of two rows of K of one row; -1: both are on one body
        "first_a": ("nfirst",),
        "first_b": ("nfirst",),
    },
    floats={},
)
"""A mechanism with its constraints and the order of elimination."""


def coupled_tree(mechanism: Model, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a mechanism with its order of elimination."""
    return _Elimination(constrained_tree(mechanism, frames, LOCAL)).write()


def lone_rows(tree: Tree) -> list[int]:
    """1 for each row on one joint alone."""
    joints: list[set[int]] = [set() for _ in range(tree.nc)]
    for v, r in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        joints[r].add(v)
    return [int(len(vs) == 1) for vs in joints]


def parts_of_terms(tree: Tree, every: bool = False) -> tuple[dict[str, list[int]], list[int], list[int]]:
    """Rows of K for terms of couplings, on the body of the joint and on its parent; then body and row of each of K.

    Rows on one joint alone have none unless ``every`` is asked for: they can stay with the joint.
    """
    joints = {int(v): i for i, v in enumerate(tree.iv) if i > 0}
    k_body, k_row = tree.k_body.tolist(), tree.k_row.tolist()
    lone = lone_rows(tree)
    found: dict[str, list[int]] = {"term_k": [], "term_parent_k": [], "term_body": []}
    for v, r in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        body = joints[v]
        found["term_body"].append(body)
        for name, b in (("term_k", body), ("term_parent_k", int(tree.parent[body]))):
            if lone[r] and not every:
                found[name].append(-1)
                continue
            found[name].append(len(k_body))
            k_body.append(b)
            k_row.append(r)
    return found, k_body, k_row


class _Elimination:
    """Eliminates bodies once, in integers."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.parent = [int(p) for p in tree.parent]
        self.k_body: list[int] = []
        self.k_row: list[int] = []
        self.blocks: dict[tuple[int, int], int] = {}

    def write(self) -> Tree:
        tree = self.tree
        terms, self.k_body, self.k_row = parts_of_terms(tree)
        arrays: dict[str, Any] = {**terms, "lone": lone_rows(tree)}
        touched: list[list[int]] = [[] for _ in range(tree.nc)]
        for m, r in enumerate(self.k_row):
            touched[r].append(m)
        near: list[set[int]] = [set() for _ in range(tree.n)]
        for ms in touched:
            bodies = {self.k_body[m] for m in ms} - {0}
            for b in bodies:
                near[b] |= bodies - {b}
        order, neighbors = self._order(near)
        place = {body: k for k, body in enumerate(order)}

        def block(a: int, b: int) -> int:
            pair = (a, b) if place[a] < place[b] else (b, a)
            return self.blocks.setdefault(pair, len(self.blocks))

        lists: dict[str, list[int]] = {name: [] for name in COUPLED.integers.keys() - LOOPS.integers.keys()}
        start, count = [0] * tree.n, [0] * tree.n
        for i in order[1:]:
            others = sorted(neighbors[i], key=place.__getitem__)
            start[i], count[i] = len(lists["link_body"]), len(others)
            h = self.parent[i]
            for k, j in enumerate(others):
                lists["link_body"].append(j)
                lists["link_block"].append(block(i, j))
                lists["link_up"].append(-1 if j == h or h == 0 else block(h, j))
                lists["link_turned"].append(int(j != h and h != 0 and place[j] < place[h]))
                lists["fill_start"].append(len(lists["fill"]))
                for other in others[k + 1 :]:
                    lists["fill"].append(block(j, other))
                    lists["fill_turned"].append(0)
        firsts: dict[str, list[int]] = {"first_block": [], "first_a": [], "first_b": []}
        for ms in touched:
            for k, m in enumerate(ms):
                for other in ms[k + 1 :]:
                    a, b = self.k_body[m], self.k_body[other]
                    if a == 0 or b == 0:
                        continue
                    first, second = (m, other) if place[a] < place[b] else (other, m)
                    firsts["first_block"].append(-1 if a == b else block(a, b))
                    firsts["first_a"].append(first)
                    firsts["first_b"].append(second)
        arrays |= lists | arrays | firsts
        arrays["order"] = order
        arrays["link_start"], arrays["link_count"] = start, count
        arrays["touch_start"] = np.cumsum([0, *(len(ms) for ms in touched)])[:-1]
        arrays["touch_count"] = [len(ms) for ms in touched]
        arrays["touch"] = [m for ms in touched for m in ms]
        kept = {k: x for k, x in tree._asdict().items() if k not in ("nk", "k_body", "k_row")}
        kept["geared"] = tree.geared.copy()
        for body, r in zip(arrays["term_body"], tree.term_row.tolist(), strict=True):
            kept["geared"][body] |= arrays["lone"][r]  # the row is a part of the joint's own inertia
        return COUPLED.type(
            **kept,
            nk=len(self.k_body),
            k_body=np.array(self.k_body, dtype=np.int64),
            k_row=np.array(self.k_row, dtype=np.int64),
            ncouplings=len(self.blocks),
            nlinks=len(lists["link_body"]),
            nfill=len(lists["fill"]),
            nfirst=len(firsts["first_block"]),
            ntouch=len(arrays["touch"]),
            **{name: np.array(values, dtype=np.int64) for name, values in arrays.items()},
        )

    def _order(self, near: list[set[int]]) -> tuple[list[int], dict[int, set[int]]]:
        """Bodies in the order of elimination (the world in place 0), and each one's neighbors at that time."""
        children = [0] * self.tree.n
        for i in range(1, self.tree.n):
            children[self.parent[i]] += 1
        leaves = {i for i in range(1, self.tree.n) if children[i] == 0}
        order, found = [0], dict[int, set[int]]()
        while leaves:
            i = min(leaves, key=lambda b: (len(near[b]), -b))
            leaves.remove(i)
            order.append(i)
            found[i] = set(near[i])
            h = self.parent[i]
            joined = near[i] | ({h} if h > 0 else set()) if near[i] else set()
            for j in near[i]:
                near[j].discard(i)
            for j in joined:
                near[j] |= joined - {j}
            children[h] -= 1
            if h > 0 and children[h] == 0:
                leaves.add(h)
        return order, found
