# SPDX-License-Identifier: BSD-3-Clause
"""The order in which clusters are eliminated when other constraints couple their bodies (C-LCABA).

Constraints are *local*, rows of clusters (`plans.clusters`), or *penalties*, which couple bodies as in `plans.lcaba`. A
cluster is eliminated as a body is: this couples its parent and all bodies that its members were coupled to with each
other. Bodies without local constraints are clusters of one, and their couplings are those of `plans.lcaba`. Of all
clusters that carry none, one with the fewest neighbors goes first, and, where that can be, one whose elimination
couples no two bodies of one cluster: such couplings would be a part of the cluster's own mass matrix, and are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from linkwork.model.graphs import ancestors
from linkwork.model.model import Model
from linkwork.plans.clusters import CLUSTER_TREE, DependentCoordinates, cluster_tree, enabled_rows
from linkwork.plans.layout import ragged
from linkwork.plans.lcaba import ClosedForms, closed_forms, equal_compliances, initial_couplings, rows_in_closed_form
from linkwork.plans.tree import Tree

CLUSTER_LCABA_TREE = CLUSTER_TREE.extended(
    "cluster_lcaba",
    sizes=(
        "ncouplings",
        "nneighbors",
        "nfill",
        "ninitial",
        "nouter",
        "npenalty_rows",
        "nmember_couplings",
        "nC",
        "nsupporting",
    ),
    integers={
        "elimination_order": ("nclusters",),  # clusters in the order of elimination
        "neighbor_start": ("n",),  # neighbors of a cluster when it is eliminated, by its first body: first and count
        "neighbor_count": ("n",),
        "neighbor_body": ("nneighbors",),
        "neighbor_coupling": ("nneighbors",),  # the coupling of a single body to that neighbor, else -1
        "parent_coupling": ("nneighbors",),  # of the parent to that neighbor; -1: the neighbor is the parent
        "parent_coupling_transposed": ("nneighbors",),  # 1 where that coupling has the neighbor's rows
        "fill_start": ("nneighbors",),  # couplings of a neighbor to those after it in the list
        "fill": ("nfill",),
        "coupling_first": ("ncouplings",),  # bodies of a coupling, the one that is eliminated first,
        "coupling_second": ("ncouplings",),  # and the other
        "C_start": ("nneighbors",),  # of a neighbor of a cluster: its first row of C
        "dof_place": ("nv",),  # the place of a degree of freedom among those of its cluster
        "member_coupling_start": ("nclusters",),  # couplings of a cluster's members, children first: first and count
        "member_coupling_count": ("nclusters",),
        "member_coupling": ("nmember_couplings",),
        "member_coupling_body": ("nmember_couplings",),  # the member,
        "member_coupling_neighbor": ("nmember_couplings",),  # the place of the neighbor in the list above,
        "member_coupling_next": ("nmember_couplings",),  # and the coupling of the member's parent, -1 outside
        "supporting": ("nsupporting",),  # clusters whose joints move penalties, in the order of elimination
        "single_joint": ("nc",),  # 0: rows on joints are local
        "pair_coupling": ("npairs",),  # of penalties in closed form, as in `plans.lcaba`
        "pair_coupling_transposed": ("npairs",),
        "outer_k": ("nouter",),  # rows of K of the other penalties
        "penalty_row": ("npenalty_rows",),  # rows of penalties
        "initial_coupling": ("ninitial",),  # couplings of two rows of K of one row; -1: both are on one body
        "initial_a": ("ninitial",),
        "initial_b": ("ninitial",),
    },
    floats={},
)
"""A mechanism by clusters, with penalties between them and the order of elimination."""


class InsideCluster(ValueError):
    """Penalties couple two bodies of one cluster, whatever the order."""


def cluster_lcaba_tree(
    mechanism: Model, frames: Sequence[str], dependent: DependentCoordinates, local: Iterable[int]
) -> Tree:
    """The arrays of a mechanism whose rows ``local`` are solved in clusters; `InsideCluster` where that cannot be.

    For a regularization of penalties that is equal where compliances of a pair's rows are: see `plans.lcaba`.
    """
    rows = sorted(local)
    tree = cluster_tree(mechanism, frames, dependent, rows, single_parent=True)
    penalties = sorted(set(enabled_rows(mechanism)) - set(rows))
    equal = equal_compliances(mechanism)
    closed = closed_forms(tree, [same and r in penalties for r, same in enumerate(equal)])
    return _Elimination(tree, penalties, closed).build()


class _Neighbor(NamedTuple):
    """A neighbor of a cluster that is eliminated: see the fields ``neighbor_``, ``parent_coupling`` and ``C_start``."""

    body: int
    coupling: int
    parent_coupling: int
    parent_coupling_transposed: bool
    fill: list[int]
    C_start: int


class _MemberCoupling(NamedTuple):
    """A coupling of a member of a cluster: see the fields ``member_coupling``."""

    coupling: int
    member: int
    neighbor: int
    following: int


class _Elimination:
    """Eliminates clusters once, in integers."""

    def __init__(self, tree: Tree, penalties: Sequence[int], closed: ClosedForms) -> None:
        self.tree, self.penalties, self.closed = tree, penalties, closed
        self.in_closed_form = rows_in_closed_form(tree, closed)
        self.members = [
            tree.member[start : start + count].tolist()
            for start, count in zip(tree.member_start, tree.member_count, strict=True)
        ]
        self.cluster = {body: c for c, bodies in enumerate(self.members) for body in bodies}
        self.row_k: dict[int, list[int]] = {r: [] for r in penalties}
        for m, r in enumerate(tree.k_row.tolist()):
            if r in self.row_k:
                self.row_k[r].append(m)
        self.order, self.neighbors = self._order()
        self.place = {c: k for k, c in enumerate(self.order)}
        self.couplings: dict[tuple[int, int], int] = {}

    def build(self) -> Tree:
        tree = self.tree
        self._number_couplings()
        pairs = [self._pair_coupling(p) for p in range(tree.npairs)]
        neighbors: list[_Neighbor] = []
        members: list[list[_MemberCoupling]] = [[] for _ in self.members]
        start, count = [0] * tree.n, [0] * tree.n
        nC = 0
        for c in self.order:
            others = sorted(self.neighbors[c], key=lambda body: (self.place[self.cluster[body]], body))
            first, alone = self.members[c][0], bool(tree.single_body[c])
            start[first], count[first] = len(neighbors), len(others)
            if not alone:
                members[c] = self._member_couplings(c, others)
            for k, j in enumerate(others):
                coupling = self._coupling(first, j) if alone else -1
                fill = [self._coupling(j, other) for other in others[k + 1 :]]
                neighbors.append(_Neighbor(j, coupling, *self._to_parent(c, j), fill, nC))
                nC += 0 if alone else int(tree.ind_count[c] + tree.dep_count[c])
        outer = [m for r in self.penalties for m in self.row_k[r] if not self.in_closed_form[r]]
        fills = ragged(neighbor.fill for neighbor in neighbors)
        handed = [coupling for of_cluster in members for coupling in of_cluster]
        places = ragged(range(len(of_cluster)) for of_cluster in members)
        return CLUSTER_LCABA_TREE.build(
            tree,
            nC=nC,
            elimination_order=self.order,
            neighbor_start=start,
            neighbor_count=count,
            neighbor_body=[neighbor.body for neighbor in neighbors],
            neighbor_coupling=[neighbor.coupling for neighbor in neighbors],
            parent_coupling=[neighbor.parent_coupling for neighbor in neighbors],
            parent_coupling_transposed=[neighbor.parent_coupling_transposed for neighbor in neighbors],
            fill_start=fills.start,
            fill=fills.entries,
            C_start=[neighbor.C_start for neighbor in neighbors],
            dof_place=self._dof_places(),
            member_coupling_start=places.start,
            member_coupling_count=places.count,
            member_coupling=[coupling.coupling for coupling in handed],
            member_coupling_body=[coupling.member for coupling in handed],
            member_coupling_neighbor=[coupling.neighbor for coupling in handed],
            member_coupling_next=[coupling.following for coupling in handed],
            supporting=self._supporting(),
            is_rod=self._rods(),
            single_joint=[0] * tree.nc,
            **self.closed._asdict(),
            closed_form=self.in_closed_form,
            pair_coupling=[coupling for coupling, _ in pairs],
            pair_coupling_transposed=[transposed for _, transposed in pairs],
            outer_k=outer,
            coupling_first=[first for first, _ in self.couplings],
            coupling_second=[second for _, second in self.couplings],
            **initial_couplings(outer, tree.k_body.tolist(), tree.k_row.tolist(), self.couplings),
            penalty_row=self.penalties,
        )

    def _dof_places(self) -> list[int]:
        tree, places = self.tree, [0] * self.tree.nv
        for c in range(len(self.members)):
            dofs = [
                *tree.ind_dof[tree.ind_start[c] : tree.ind_start[c] + tree.ind_count[c]].tolist(),
                *tree.dep_dof[tree.dep_start[c] : tree.dep_start[c] + tree.dep_count[c]].tolist(),
            ]
            for k, dof in enumerate(dofs):
                places[dof] = k
        return places

    def _coupling(self, a: int, b: int) -> int:
        """The coupling of two bodies, with the rows of the one that is eliminated first."""
        pair = (a, b) if self.place[self.cluster[a]] < self.place[self.cluster[b]] else (b, a)
        return self.couplings.setdefault(pair, len(self.couplings))

    def _to_parent(self, c: int, j: int) -> tuple[int, bool]:
        """The coupling of a cluster's parent to a neighbor, and whether it has the neighbor's rows."""
        h = int(self.tree.cluster_parent[c])
        if h in (0, j):
            return -1, False
        return self._coupling(h, j), self.place[self.cluster[j]] < self.place[self.cluster[h]]

    def _member_couplings(self, c: int, others: Sequence[int]) -> list[_MemberCoupling]:
        """Couplings of the members of a cluster to its neighbors, children first, each handed on to the parent."""
        parent, h, couplings = self.tree.parent, int(self.tree.cluster_parent[c]), []
        for i in reversed(self.members[c]):
            for place, j in enumerate(others):
                pair = (i, j)
                if pair in self.couplings:
                    up = int(parent[i])
                    following = self._coupling(up, j) if up != h else -1
                    couplings.append(_MemberCoupling(self.couplings[pair], i, place, following))
        return couplings

    def _supporting(self) -> list[int]:
        """Clusters with bodies that penalties act on, or that carry such, in the order of elimination."""
        on = {int(self.tree.k_body[m]) for ms in self.row_k.values() for m in ms}
        carriers = {above for body in on for above in ancestors(self.tree.parent.tolist(), body)} - {0}
        clusters = {self.cluster[body] for body in carriers}
        return [c for c in self.order if c in clusters]

    def _rods(self) -> list[int]:
        """`is_rod` of bodies that no penalty acts on: those that have one are not rigid to the sweeps."""
        on = {int(self.tree.k_body[m]) for ms in self.row_k.values() for m in ms}
        return [int(rod and i not in on) for i, rod in enumerate(self.tree.is_rod)]

    def _pair_coupling(self, p: int) -> tuple[int, bool]:
        """The coupling of the bodies of a pair that is in closed form, and whether it has the second body's rows."""
        first, second = (int(self.tree.frame_body[ends[p]]) for ends in (self.tree.pair_first, self.tree.pair_second))
        if not (self.closed.closed_rotation[p] or self.closed.closed_translation[p]) or first == 0 or second == 0:
            return -1, False
        return self._coupling(first, second), self.place[self.cluster[second]] < self.place[self.cluster[first]]

    def _number_couplings(self) -> None:
        """Number the couplings that penalties make, before any other."""
        for ms in self.row_k.values():
            bodies = sorted({int(self.tree.k_body[m]) for m in ms} - {0})
            for k, a in enumerate(bodies):
                for b in bodies[k + 1 :]:
                    self._coupling(a, b)

    def _order(self) -> tuple[list[int], dict[int, set[int]]]:
        """Clusters in the order of elimination, and the bodies that each one is coupled to at that time."""
        tree, cluster = self.tree, self.cluster
        near: dict[int, set[int]] = {body: set() for body in cluster}
        for ms in self.row_k.values():
            bodies = {int(tree.k_body[m]) for m in ms} - {0}
            if len({cluster[b] for b in bodies}) < len(bodies):
                raise InsideCluster
            for b in bodies:
                near[b] |= bodies - {b}
        carried = [0] * len(self.members)
        for h in tree.cluster_parent.tolist():
            if h > 0:
                carried[cluster[h]] += 1
        ready = {c for c, n in enumerate(carried) if n == 0}
        order: list[int] = []
        neighbors: dict[int, set[int]] = {}

        def joined(c: int) -> set[int]:
            """Bodies that eliminating a cluster couples with each other."""
            others = {j for body in self.members[c] for j in near[body]}
            h = int(tree.cluster_parent[c])
            return others | {h} if others and h > 0 else others

        while ready:
            allowed = [c for c in ready if len({cluster[b] for b in joined(c)}) == len(joined(c))]
            if not allowed:
                raise InsideCluster
            c = min(allowed, key=lambda c: (len({j for b in self.members[c] for j in near[b]}), -self.members[c][0]))
            ready.remove(c)
            order.append(c)
            neighbors[c] = {j for body in self.members[c] for j in near[body]}
            together = joined(c)
            for j in neighbors[c]:
                near[j] -= set(self.members[c])
            for j in together:
                near[j] |= together - {j}
            h = int(tree.cluster_parent[c])
            if h > 0:
                carried[cluster[h]] -= 1
                if carried[cluster[h]] == 0:
                    ready.add(cluster[h])
        return order, neighbors
