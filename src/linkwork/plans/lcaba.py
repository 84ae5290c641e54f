# SPDX-License-Identifier: BSD-3-Clause
"""The order in which bodies are eliminated when constraints couple them (LCABA), and the couplings that arise.

**loops** Section IV: a leaf of the remaining tree is eliminated with its joint; this couples its parent and all bodies
it was coupled to with each other. Of all leaves the one with the fewest neighbors goes first (minimum degree), unless
the mechanism has an order of its own (`Model.elimination_order`).
Couplings ``H_ij`` are 6 x 6 blocks, with the rows of the body that is eliminated first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import TURN_ROWS
from linkwork.model.graphs import ancestors
from linkwork.model.joints import atoms_of
from linkwork.model.model import Model
from linkwork.model.pairs import MEET, NO_TURN
from linkwork.plans.constraints import CONSTRAINED_TREE, body_of_dof, constrained_tree
from linkwork.plans.layout import Layout, ragged
from linkwork.plans.tree import LOCAL, Tree

LCABA_TREE = CONSTRAINED_TREE.extended(
    "lcaba",
    sizes=(
        "ncouplings",
        "nneighbors",  # pairs of a body and a neighbor it has when it is eliminated
        "nfill",
        "ninitial",
        "nrow_k",
        "nouter",
        "nsupporting",
    ),
    integers={
        "elimination_order": ("n",),  # bodies in the order of elimination, from place 1 on
        "supporting": ("nsupporting",),  # those of them whose joints move rows, in the same order
        "neighbor_start": ("n",),  # neighbors of a body when it is eliminated: first and count
        "neighbor_count": ("n",),
        "neighbor_body": ("nneighbors",),
        "neighbor_coupling": ("nneighbors",),  # the coupling to that neighbor
        "parent_coupling": ("nneighbors",),  # of the parent to that neighbor; -1: the neighbor is the parent
        "parent_coupling_transposed": ("nneighbors",),  # 1 where that coupling has the neighbor's rows
        "fill_start": ("nneighbors",),  # couplings of a neighbor to those after it in the list
        "fill": ("nfill",),
        "coupling_first": ("ncouplings",),  # bodies of a coupling, the one that is eliminated first,
        "coupling_second": ("ncouplings",),  # and the other
        "term_k": ("nterms",),  # rows of K of a joint's body,
        "term_parent_k": ("nterms",),  # and of its parent; -1 for a row of one joint
        "term_body": ("nterms",),
        "single_joint": ("nc",),  # 1 for a row on one degree of freedom alone (joint-level), which stays with the joint
        "row_k_start": ("nc",),  # rows of K of a row: first and count
        "row_k_count": ("nc",),
        "row_k": ("nrow_k",),
        "pair_coupling": ("npairs",),  # the coupling of its bodies; -1 where one of them is the world
        "pair_coupling_transposed": ("npairs",),  # 1 where that coupling has the second body's rows
        "outer_k": ("nouter",),  # the other rows of K, whose outer products are summed one by one
        "initial_coupling": ("ninitial",),  # couplings of two rows of K of one row; -1: both are on one body
        "initial_a": ("ninitial",),
        "initial_b": ("ninitial",),
    },
    floats={},
)
"""A mechanism with its constraints and the order of elimination."""


def lcaba_tree(mechanism: Model, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a mechanism with its order of elimination, for any regularization of rows."""
    return any_regularization(lcaba_tree_of_compliances(mechanism, frames))


def lcaba_tree_of_compliances(
    mechanism: Model, frames: Sequence[str] = (), coupled: Iterable[tuple[int, int]] = ()
) -> Tree:
    """The plan for a regularization that is equal where compliances of a pair's rows are: see `shares_penalties`.

    ``coupled`` are pairs of bodies that something else couples, contacts for instance: they have couplings from the
    start.
    """
    tree = constrained_tree(mechanism, frames, LOCAL, joint_level=True)
    closed = closed_forms(tree, equal_compliances(mechanism))
    return _Elimination(tree, closed, wanted_places(mechanism), coupled).build()


def has_closed_forms(layout: Layout) -> bool:
    """Whether plans of a layout sum rows of pairs in closed form."""
    return "pair_coupling" in layout.shapes


def with_all_rows(tree: Tree) -> Tree:
    """The arrays with rows of K of all pairs, for kernels that read them: none are in closed form.

    Args:
        tree: Arrays of a mechanism; those without constraints are returned.
    """
    fields = [name for name in ("closed_form", "closed_rotation", "closed_translation") if hasattr(tree, name)]
    return tree._replace(**{name: np.zeros_like(getattr(tree, name)) for name in fields})


def any_regularization(tree: Tree) -> Tree:
    """The plan for a regularization that differs from row to row: no row is summed in closed form."""
    closed = ClosedForms(tree.closed_rotation.tolist(), tree.closed_translation.tolist(), tree.closed_start.tolist())
    rows = {r for r, inside in enumerate(rows_in_closed_form(tree, closed)) if inside}
    rows |= {int(tree.k_row[m]) for m in tree.outer_k}
    outer = [m for m, r in enumerate(tree.k_row.tolist()) if r in rows]
    pairs = zip(tree.coupling_first.tolist(), tree.coupling_second.tolist(), strict=True)
    numbers = {pair: number for number, pair in enumerate(pairs)}
    initial = initial_couplings(outer, tree.k_body.tolist(), tree.k_row.tolist(), numbers)
    values = {"outer_k": outer, **initial}
    arrays = {name: np.array(value, dtype=np.int64) for name, value in values.items()}
    return with_all_rows(tree)._replace(nouter=len(outer), ninitial=len(initial["initial_a"]), **arrays)


def equal_compliances(mechanism: Model) -> list[bool]:
    """For each row, whether it has the compliance of all rows of its block (rows of rotation, or of translation)."""
    equal: list[bool] = []
    for constraint in mechanism.constraints:
        start = 0
        for size in constraint.blocks:
            values = np.broadcast_to(constraint.compliance, constraint.rows)[start : start + size]
            equal += [bool((values == values[0]).all())] * size
            start += size
    return equal


def shares_penalties(tree: Tree, R: Floats) -> bool:
    """Whether a regularization of rows ``(..., nc)`` is equal where a plan sums rows in closed form."""
    for p in range(tree.npairs):
        for closed, start in ((tree.closed_rotation[p], 0), (tree.closed_translation[p], tree.closed_start[p])):
            rows = R[..., tree.pair_row[p] + start : tree.pair_row[p] + start + 3]
            if closed and not (rows == rows[..., :1]).all():
                return False
    return True


class ClosedForms(NamedTuple):
    """Which rows of pairs are summed in closed form: see the fields of the layout."""

    closed_rotation: list[bool]
    closed_translation: list[bool]
    closed_start: list[int]


def closed_forms(tree: Tree, equal: Sequence[bool]) -> ClosedForms:
    """Rows of pairs that hold an orientation, or a point, and share one penalty."""
    closed = ClosedForms([], [], [])
    for p in range(tree.npairs):
        first, second = (int(tree.frame_body[frame[p]]) for frame in (tree.pair_first, tree.pair_second))
        row, start = int(tree.pair_row[p]), TURN_ROWS[tree.pair_rotation[p]]
        apart = first != second
        closed.closed_rotation.append(apart and tree.pair_rotation[p] == NO_TURN and equal[row])
        closed.closed_translation.append(apart and tree.pair_translation[p] == MEET and equal[row + start])
        closed.closed_start.append(start)
    return closed


def rows_in_closed_form(tree: Tree, closed: ClosedForms) -> list[bool]:
    """For each row, whether it is summed with others of its pair."""
    inside = [False] * tree.nc
    for p, (rotation, translation, start) in enumerate(zip(*closed, strict=True)):
        row = int(tree.pair_row[p])
        for in_closed_form, first in ((rotation, row), (translation, row + start)):
            if in_closed_form:
                inside[first : first + 3] = [True] * 3
    return inside


def wanted_places(mechanism: Model) -> list[int]:
    """For each body of the arrays, its place in the order that the mechanism asks for; 0 where it asks for none."""
    place = {body: k for k, body in enumerate(mechanism.elimination_order, start=1)}
    return [0, *(place.get(joint.child, 0) for joint in mechanism.joints for _ in atoms_of(joint.type))]


def single_joint_rows(tree: Tree) -> list[int]:
    """1 for each row on one degree of freedom alone."""
    joints: list[set[int]] = [set() for _ in range(tree.nc)]
    for v, r in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        joints[r].add(v)
    on_bodies = set(tree.k_row.tolist())
    return [int(len(vs) == 1 and r not in on_bodies) for r, vs in enumerate(joints)]


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


def initial_couplings(
    outer: Iterable[int], k_body: Sequence[int], k_row: Sequence[int], couplings: Mapping[tuple[int, int], int]
) -> dict[str, list[int]]:
    """Couplings of pairs of rows of K of one row, of those in ``outer``: see the fields ``initial_``.

    ``couplings`` are numbers of pairs of bodies, the one that is eliminated first in front.
    """
    arrays: dict[str, list[int]] = {"initial_coupling": [], "initial_a": [], "initial_b": []}
    before: dict[int, list[int]] = {}
    for m in outer:
        if k_body[m] == 0:
            continue
        for other in before.setdefault(k_row[m], []):
            pair = k_body[other], k_body[m]
            first, second = (other, m) if pair in couplings or pair[0] == pair[1] else (m, other)
            number = -1 if pair[0] == pair[1] else couplings[k_body[first], k_body[second]]
            for name, value in zip(arrays, (number, first, second), strict=True):
                arrays[name].append(value)
        before[k_row[m]].append(m)
    return arrays


class _Elimination:
    """Eliminates bodies once, in integers."""

    def __init__(
        self, tree: Tree, closed: ClosedForms, wanted: Sequence[int], coupled: Iterable[tuple[int, int]] = ()
    ) -> None:
        self.tree, self.closed, self.wanted = tree, closed, wanted
        self.coupled = [(a, b) for a, b in coupled if a > 0 and b > 0 and a != b]
        self.parent: list[int] = tree.parent.tolist()
        self.single_joint = single_joint_rows(tree)
        self.rows = link_rows(tree, self.single_joint)
        self.row_k: list[list[int]] = [[] for _ in range(tree.nc)]
        for m, r in enumerate(self.rows.k_row):
            self.row_k[r].append(m)
        self.in_closed_form = rows_in_closed_form(tree, closed)
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
        fill, row_k = ragged(neighbor.fill for neighbor in in_order), ragged(self.row_k)
        outer = [m for m, r in enumerate(rows.k_row) if not self.in_closed_form[r]]
        pairs = [self._pair_coupling(p) for p in range(tree.npairs)]
        has_armature = tree.has_armature.copy()
        for body, r in zip(rows.term_body, tree.term_row.tolist(), strict=True):
            has_armature[body] |= self.single_joint[r]  # the row adds to the joint's own inertia
        return LCABA_TREE.build(
            tree,
            has_armature=has_armature,
            elimination_order=self.order,
            supporting=self._supporting(),
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
            pair_coupling=[coupling for coupling, _ in pairs],
            pair_coupling_transposed=[transposed for _, transposed in pairs],
            outer_k=outer,
            coupling_first=[first for first, _ in self.couplings],
            coupling_second=[second for _, second in self.couplings],
            **self.closed._asdict(),
            closed_form=self.in_closed_form,
            **initial_couplings(outer, rows.k_body, rows.k_row, self.couplings),
            **rows._asdict(),
        )

    def _supporting(self) -> list[int]:
        """Bodies that rows act on, and those that carry them, in the order of elimination."""
        on = {*self.rows.k_body, *self.rows.term_body}
        carried = {above for body in on for above in ancestors(self.parent, body)}
        return [body for body in self.order[1:] if body in carried]

    def _coupling(self, a: int, b: int) -> int:
        """The coupling of two bodies, with the rows of the one that is eliminated first."""
        pair = (a, b) if self.place[a] < self.place[b] else (b, a)
        return self.couplings.setdefault(pair, len(self.couplings))

    def _neighbors_of(self, i: int) -> list[_Neighbor]:
        others = sorted(self.neighbors[i], key=self.place.__getitem__)
        h = self.parent[i]
        neighbors = []
        for k, j in enumerate(others):
            to_parent = j != h and h != 0
            coupling = self._coupling(i, j)
            parent_coupling = self._coupling(h, j) if to_parent else -1
            transposed = to_parent and self.place[j] < self.place[h]
            fill = [self._coupling(j, other) for other in others[k + 1 :]]
            neighbors.append(_Neighbor(j, coupling, parent_coupling, transposed, fill))
        return neighbors

    def _pair_coupling(self, p: int) -> tuple[int, bool]:
        """The coupling of the bodies of a pair that is in closed form, and whether it has the second body's rows."""
        first, second = (int(self.tree.frame_body[ends[p]]) for ends in (self.tree.pair_first, self.tree.pair_second))
        closed = self.closed.closed_rotation[p] or self.closed.closed_translation[p]
        if not closed or first == 0 or second == 0:
            return -1, False
        return self._coupling(first, second), self.place[second] < self.place[first]

    def _order(self) -> tuple[list[int], dict[int, set[int]]]:
        """Bodies in the order of elimination (the world in place 0), and each one's neighbors at that time."""
        n = self.tree.n
        near: list[set[int]] = [set() for _ in range(n)]
        for ms in self.row_k:
            bodies = {self.rows.k_body[m] for m in ms} - {0}
            for b in bodies:
                near[b] |= bodies - {b}
        for a, b in self.coupled:
            near[a].add(b)
            near[b].add(a)
        children = [0] * n
        for i in range(1, n):
            children[self.parent[i]] += 1
        leaves = {i for i in range(1, n) if children[i] == 0}
        order, neighbors = [0], dict[int, set[int]]()
        while leaves:
            i = min(leaves, key=lambda b: (self.wanted[b], len(near[b]), -b))
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
