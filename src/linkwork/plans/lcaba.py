# SPDX-License-Identifier: BSD-3-Clause
"""The order in which bodies are eliminated when constraints couple them (LCABA), and the couplings that arise.

**loops** Section IV: a leaf of the remaining tree is eliminated with its joint; this couples its parent and all bodies
it was coupled to with each other. Of all leaves the one with the fewest neighbors goes first (minimum degree).
Couplings ``H_ij`` are 6 x 6 blocks, with the rows of the body that is eliminated first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.model.model import Model
from linkwork.plans.constraints import CONSTRAINED_TREE, body_of_dof, constrained_tree
from linkwork.plans.layout import ragged
from linkwork.plans.tree import LOCAL, Tree

LCABA_TREE = CONSTRAINED_TREE.extended(
    "lcaba",
    sizes=(
        "ncouplings",
        "nneighbors",  # pairs of a body and a neighbor it has when it is eliminated
        "nfill",
        "ninitial",
        "nrow_k",
    ),
    integers={
        "elimination_order": ("n",),  # bodies in the order of elimination, from place 1 on
        "neighbor_start": ("n",),  # neighbors of a body when it is eliminated: first and count
        "neighbor_count": ("n",),
        "neighbor_body": ("nneighbors",),
        "neighbor_coupling": ("nneighbors",),  # the coupling to that neighbor
        "parent_coupling": ("nneighbors",),  # of the parent to that neighbor; -1: the neighbor is the parent
        "parent_coupling_transposed": ("nneighbors",),  # 1 where that coupling has the neighbor's rows
        "fill_start": ("nneighbors",),  # couplings of a neighbor to those after it in the list
        "fill": ("nfill",),
        "term_k": ("nterms",),  # rows of K of a joint's body,
        "term_parent_k": ("nterms",),  # and of its parent; -1 for a row of one joint
        "term_body": ("nterms",),
        "single_joint": ("nc",),  # 1 for a row on one degree of freedom alone (joint-level), which stays with the joint
        "row_k_start": ("nc",),  # rows of K of a row: first and count
        "row_k_count": ("nc",),
        "row_k": ("nrow_k",),
        "initial_coupling": ("ninitial",),  # couplings of two rows of K of one row; -1: both are on one body
        "initial_a": ("ninitial",),
        "initial_b": ("ninitial",),
    },
    floats={},
)
"""A mechanism with its constraints and the order of elimination."""


def lcaba_tree(mechanism: Model, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a mechanism with its order of elimination."""
    return _Elimination(constrained_tree(mechanism, frames, LOCAL, joint_level=True)).build()


def single_joint_rows(tree: Tree) -> list[int]:
    """1 for each row on one degree of freedom alone."""
    joints: list[set[int]] = [set() for _ in range(tree.nc)]
    for v, r in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        joints[r].add(v)
    return [int(len(vs) == 1) for vs in joints]


class LinkRows(NamedTuple):
    """All rows of K when terms of couplings are rows on bodies too: on that of the joint and on its parent."""

    k_body: list[int]
    k_row: list[int]
    term_k: list[int]
    term_parent_k: list[int]
    term_body: list[int]


def link_rows(tree: Tree, single_joint: Sequence[int] | None = None) -> LinkRows:
    """Rows of K with those for terms of couplings; rows marked in ``single_joint`` stay with their joint, without."""
    joints = body_of_dof(tree)
    rows = LinkRows(tree.k_body.tolist(), tree.k_row.tolist(), [], [], [])
    for v, r in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        body = joints[v]
        rows.term_body.append(body)
        for places, b in ((rows.term_k, body), (rows.term_parent_k, int(tree.parent[body]))):
            if single_joint is not None and single_joint[r]:
                places.append(-1)
                continue
            places.append(len(rows.k_body))
            rows.k_body.append(b)
            rows.k_row.append(r)
    return rows


class _Neighbor(NamedTuple):
    """A neighbor of a body that is eliminated: see the fields ``neighbor_`` and ``parent_coupling``."""

    body: int
    coupling: int
    parent_coupling: int
    parent_coupling_transposed: bool
    fill: list[int]


class _Initial(NamedTuple):
    """The coupling of two rows of K."""

    coupling: int
    a: int
    b: int


class _Elimination:
    """Eliminates bodies once, in integers."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.parent: list[int] = tree.parent.tolist()
        self.single_joint = single_joint_rows(tree)
        self.rows = link_rows(tree, self.single_joint)
        self.row_k: list[list[int]] = [[] for _ in range(tree.nc)]
        for m, r in enumerate(self.rows.k_row):
            self.row_k[r].append(m)
        self.order, self.neighbors = self._order()
        self.place = {body: k for k, body in enumerate(self.order)}
        self.couplings: dict[tuple[int, int], int] = {}

    def build(self) -> Tree:
        tree, rows = self.tree, self.rows
        each: list[list[_Neighbor]] = [[] for _ in range(tree.n)]
        for i in self.order[1:]:
            each[i] = self._neighbors_of(i)
        in_order = [neighbor for i in self.order[1:] for neighbor in each[i]]
        starts, at = [0] * tree.n, 0
        for i in self.order[1:]:
            starts[i], at = at, at + len(each[i])
        fill, initial, row_k = ragged(neighbor.fill for neighbor in in_order), self._initial(), ragged(self.row_k)
        has_armature = tree.has_armature.copy()
        for body, r in zip(rows.term_body, tree.term_row.tolist(), strict=True):
            has_armature[body] |= self.single_joint[r]  # the row adds to the joint's own inertia
        return LCABA_TREE.build(
            tree,
            ncouplings=len(self.couplings),
            has_armature=has_armature,
            elimination_order=self.order,
            neighbor_start=starts,
            neighbor_count=[len(neighbors) for neighbors in each],
            neighbor_body=[neighbor.body for neighbor in in_order],
            neighbor_coupling=[neighbor.coupling for neighbor in in_order],
            parent_coupling=[neighbor.parent_coupling for neighbor in in_order],
            parent_coupling_transposed=[neighbor.parent_coupling_transposed for neighbor in in_order],
            fill_start=fill.start,
            fill=fill.entries,
            single_joint=self.single_joint,
            row_k_start=row_k.start,
            row_k_count=row_k.count,
            row_k=row_k.entries,
            initial_coupling=[pair.coupling for pair in initial],
            initial_a=[pair.a for pair in initial],
            initial_b=[pair.b for pair in initial],
            **rows._asdict(),
        )

    def _coupling(self, a: int, b: int) -> int:
        """The coupling of two bodies, with the rows of the one that is eliminated first."""
        pair = (a, b) if self.place[a] < self.place[b] else (b, a)
        return self.couplings.setdefault(pair, len(self.couplings))

    def _neighbors_of(self, i: int) -> list[_Neighbor]:
        others = sorted(self.neighbors[i], key=self.place.__getitem__)
        h = self.parent[i]
        found = []
        for k, j in enumerate(others):
            to_parent = j != h and h != 0
            coupling = self._coupling(i, j)
            parent_coupling = self._coupling(h, j) if to_parent else -1
            transposed = to_parent and self.place[j] < self.place[h]
            fill = [self._coupling(j, other) for other in others[k + 1 :]]
            found.append(_Neighbor(j, coupling, parent_coupling, transposed, fill))
        return found

    def _initial(self) -> list[_Initial]:
        found = []
        for ms in self.row_k:
            for k, m in enumerate(ms):
                for other in ms[k + 1 :]:
                    a, b = self.rows.k_body[m], self.rows.k_body[other]
                    if a != 0 and b != 0:
                        first, second = (m, other) if self.place[a] < self.place[b] else (other, m)
                        found.append(_Initial(-1 if a == b else self._coupling(a, b), first, second))
        return found

    def _order(self) -> tuple[list[int], dict[int, set[int]]]:
        """Bodies in the order of elimination (the world in place 0), and each one's neighbors at that time."""
        n = self.tree.n
        near: list[set[int]] = [set() for _ in range(n)]
        for ms in self.row_k:
            bodies = {self.rows.k_body[m] for m in ms} - {0}
            for b in bodies:
                near[b] |= bodies - {b}
        children = [0] * n
        for i in range(1, n):
            children[self.parent[i]] += 1
        leaves = {i for i in range(1, n) if children[i] == 0}
        order, neighbors = [0], dict[int, set[int]]()
        while leaves:
            i = min(leaves, key=lambda b: (len(near[b]), -b))
            leaves.remove(i)
            order.append(i)
            neighbors[i] = set(near[i])
            h = self.parent[i]
            joined = near[i] | ({h} if h > 0 else set()) if near[i] else set()
            for j in near[i]:
                near[j].discard(i)
            for j in joined:
                near[j] |= joined - {j}
            children[h] -= 1
            if h > 0 and children[h] == 0:
                leaves.add(h)
        return order, neighbors
