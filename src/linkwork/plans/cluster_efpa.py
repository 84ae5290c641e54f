# SPDX-License-Identifier: BSD-3-Clause
"""The paths of end effectors toward the world, cluster by cluster, and where they end (C-EFPA).

**clusters** Section VIII. A *propagator* takes six rows across one cluster, from the body they act on to the body that
carries the cluster (Eq. 62). Rows end at the world, or at a common ancestor of several end effectors. Such an ancestor
is a *source* of six rows of its own, unit forces on it, as an end effector is: the clusters between it and the world
are crossed once for all end effectors that it supports.

A *block* is the inverse inertia between two sources, 6 x 6: a sum over the clusters that support both. Of the clusters
beyond the ancestor ``m`` where rows of the first source end, with ``K`` these rows, the sum is ``K`` times the block of
``m`` and the second source; where they are few, the rows of ``m`` across each of them, times ``K``, are those of the
first. The first source is the one with more ancestors between it and the world, so that rows of the second do not end
before they meet those of the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.clusters import CLUSTER_TREE, DependentCoordinates, cluster_tree
from linkwork.plans.layout import ragged
from linkwork.plans.tree import Tree

CLUSTER_EFPA_TREE = CLUSTER_TREE.extended(
    "cluster_efpa",
    sizes=("npropagators", "nomega", "nshared", "nrows"),
    integers={
        "propagator_source": ("npropagators",),  # the propagator before, or -1 less the number of a source
        "propagator_operand": ("npropagators",),  # the propagator of the ancestor where rows end, to multiply; -1: none
        "propagator_body": ("npropagators",),  # the body that rows act on,
        "propagator_parent": ("npropagators",),  # and the one that they act on after
        "propagator_ind": ("npropagators",),  # independent degrees of freedom that they cross: first and count
        "propagator_ind_count": ("npropagators",),
        "propagator_dep": ("npropagators",),  # and dependent ones
        "propagator_dep_count": ("npropagators",),
        "block_first": ("nomega",),  # two sources, end effectors or ancestors
        "block_second": ("nomega",),
        "block_rows": ("nomega",),  # rows of the first where they end: a propagator, or -1 less the number of a source
        "block_operand": ("nomega",),  # the block, made before, of the ancestor there and the second; -1: none
        "block_transposed": ("nomega",),  # 1 if it has the second first
        "shared_start": ("nomega",),  # clusters that both cross before: first and count
        "shared_count": ("nomega",),
        "shared_first": ("nshared",),  # propagators of both across them
        "shared_second": ("nshared",),
    },
    floats={},
)
"""A mechanism by clusters, with the end effectors whose inverse inertia is wanted."""


PRODUCT = 11
"""Operations of one entry of ``K`` times a block; a sum over clusters takes two for each degree of freedom."""
SHIFT = 24
"""About the operations that take one row from a body to its parent."""


class _Crossing(NamedTuple):
    """The crossing of a cluster, or of its joint, by rows on a body."""

    body: int
    parent: int
    ind: int
    ind_count: int
    dep: int
    dep_count: int


class _Propagator(NamedTuple):
    crossing: _Crossing
    source: int
    operand: int = -1


class _Block(NamedTuple):
    first: int
    second: int
    rows: int
    operand: int
    transposed: bool
    shared: list[tuple[int, int]]


def cluster_efpa_tree(
    mechanism: Model, frames: Sequence[str], dependent: DependentCoordinates, ancestors: Collection[int] = ()
) -> Tree:
    """The arrays of a mechanism with its end effectors, whose rows end at these ancestors."""
    tree = cluster_tree(mechanism, frames, dependent, single_parent=True)
    crossings = {}
    for c in range(tree.nclusters):
        dofs = (tree.ind_start[c], tree.ind_count[c], tree.dep_start[c], tree.dep_count[c])
        for i in tree.member[tree.member_start[c] : tree.member_start[c] + tree.member_count[c]].tolist():
            crossings[i] = _Crossing(i, int(tree.cluster_parent[c]), *map(int, dofs))
    return _planned(tree, crossings, ancestors)


def approximate_efpa_tree(
    mechanism: Model, frames: Sequence[str], dependent: DependentCoordinates, ancestors: Collection[int] = ()
) -> Tree:
    """The plan of the independent tree, whose joints are crossed one by one."""
    tree = cluster_tree(mechanism, frames, dependent, single_parent=True)
    place = {k: e for e, k in enumerate(tree.ind_dof.tolist())}
    crossings = {
        i: _Crossing(i, int(tree.parent[i]), place[int(tree.iv[i])], DOF[int(tree.kind[i])], 0, 0)
        for i in range(1, tree.n)
        if not tree.is_dependent[i]
    }
    return _planned(tree, crossings, ancestors)


def efpa_ancestors(tree: Tree) -> tuple[int, ...]:
    """Common ancestors of end effectors at which rows should end instead of at the world, by estimated operations.

    Args:
        tree: A plan whose rows end at the world.
    """
    names = ("body", "parent", "ind", "ind_count", "dep", "dep_count")
    each = zip(*(getattr(tree, f"propagator_{name}").tolist() for name in names), strict=True)
    crossings = {crossing.body: crossing for crossing in map(_Crossing._make, each)}
    arriving, chosen = Counter[int](tree.frame_body[: tree.nf].tolist()), []
    for body in sorted(crossings, reverse=True):
        count = arriving[body]
        if count > 1 and _saved(crossings, body, count) > 0:
            chosen.append(body)
            count = 1
        arriving[crossings[body].parent] += count
    return tuple(chosen[::-1])


def _saved(crossings: Mapping[int, _Crossing], body: int, count: int) -> int:
    """About the operations saved where the rows of so many sources end at a body."""
    row, n = 0, 0  # of one row across all clusters to the world, and degrees of freedom of these
    while body > 0:
        _, body, _, free, _, tied = crossings[body]
        row += free * (free + 2 * tied) + (SHIFT * (1 + tied) + 12 * free if body > 0 else 0)
        n += free
    rows, entry = 6 * count, min(2 * n, PRODUCT)
    return (rows - 6) * row - rows * PRODUCT * min(n, 6) + rows * (rows + 1) // 2 * (2 * n - entry)


def _planned(tree: Tree, crossings: Mapping[int, _Crossing], ancestors: Collection[int]) -> Tree:
    plan = _Plan(tree.frame_body[: tree.nf].tolist(), crossings, ancestors)
    for a in range(tree.nf):
        for b in range(a + 1):
            plan.block(a, b)
    each, blocks = [p.crossing for p in plan.propagators], plan.blocks
    shared_first, shared_second = (ragged([pair[side] for pair in b.shared] for b in blocks) for side in (0, 1))
    return CLUSTER_EFPA_TREE.build(
        tree,
        nrows=6 * int(tree.nf),
        propagator_source=[p.source for p in plan.propagators],
        propagator_operand=[p.operand for p in plan.propagators],
        propagator_body=[crossing.body for crossing in each],
        propagator_parent=[crossing.parent for crossing in each],
        propagator_ind=[crossing.ind for crossing in each],
        propagator_ind_count=[crossing.ind_count for crossing in each],
        propagator_dep=[crossing.dep for crossing in each],
        propagator_dep_count=[crossing.dep_count for crossing in each],
        block_first=[b.first for b in blocks],
        block_second=[b.second for b in blocks],
        block_rows=[b.rows for b in blocks],
        block_operand=[b.operand for b in blocks],
        block_transposed=[int(b.transposed) for b in blocks],
        shared_start=shared_first.start,
        shared_count=shared_first.count,
        shared_first=shared_first.entries,
        shared_second=shared_second.entries,
    )


class _Plan:
    """Sources, end effectors on these bodies and then ancestors, with their propagators, and blocks of pairs of them.

    Clusters are known by where their independent degrees of freedom start; those that have none add to no block.
    """

    def __init__(self, bodies: Sequence[int], crossings: Mapping[int, _Crossing], ancestors: Collection[int]) -> None:
        self.propagators: list[_Propagator] = []
        self.blocks: list[_Block] = []
        self._end: list[int] = []  # where the rows of a source end: an ancestor, as a source, or -1: the world
        self._rows: list[int] = []  # these rows
        self._before: list[set[int]] = []  # clusters that they cross until there
        self._support: list[dict[int, _Crossing]] = []  # and all clusters between the source and the world
        self._across: dict[tuple[int, int], int] = {}  # propagators by source and cluster
        self._block: dict[tuple[int, int], int] = {}
        number = {body: len(bodies) + k for k, body in enumerate(sorted(ancestors))}
        for s, body in enumerate((*bodies, *number)):
            rows, end, support, before = -1 - s, -1, dict[int, _Crossing](), set[int]()
            while body > 0:
                crossing = crossings[body]
                if end < 0 and number.get(body, s) != s:
                    end = number[body]
                if end < 0:
                    self.propagators.append(_Propagator(crossing, rows))
                    rows = len(self.propagators) - 1
                if crossing.ind_count:
                    support[crossing.ind] = crossing
                    if end < 0:
                        self._across[s, crossing.ind] = rows
                        before.add(crossing.ind)
                body = crossing.parent
            self._end.append(end)
            self._rows.append(rows)
            self._before.append(before)
            self._support.append(support)
        self._order = [(self._level(s), end, s) for s, end in enumerate(self._end)]

    def block(self, a: int, b: int) -> int:
        """The number of the block of two sources; -1 where no cluster supports both."""
        second, first = sorted((a, b), key=self._order.__getitem__)
        if (first, second) not in self._block:
            shared, operand = [c for c in self._support[first] if c in self._support[second]], -1
            beyond = [c for c in shared if c not in self._before[first]]
            if 2 * sum(self._support[first][c].ind_count for c in beyond) >= PRODUCT:
                shared, operand = shared[: len(shared) - len(beyond)], self.block(self._end[first], second)
            self._block[first, second] = len(self.blocks) if shared or operand >= 0 else -1
            if shared or operand >= 0:
                pairs = [(self._propagator(first, c), self._propagator(second, c)) for c in shared]
                transposed = operand >= 0 and self.blocks[operand].first != self._end[first]
                self.blocks.append(_Block(first, second, self._rows[first], operand, transposed, pairs))
        return self._block[first, second]

    def _propagator(self, s: int, c: int) -> int:
        """The propagator of a source across a cluster, made from that of the ancestor where its rows end if need be."""
        if (s, c) not in self._across:
            operand = self._propagator(self._end[s], c)
            self._across[s, c] = len(self.propagators)
            self.propagators.append(_Propagator(self._support[s][c], self._rows[s], operand))
        return self._across[s, c]

    def _level(self, s: int) -> int:
        """The number of ancestors between a source and the world."""
        return 0 if self._end[s] < 0 else 1 + self._level(self._end[s])
