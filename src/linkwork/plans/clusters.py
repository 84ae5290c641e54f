# SPDX-License-Identifier: BSD-3-Clause
"""Clusters: bodies whose joints constraints couple, each cluster carried by bodies of one other, its output bodies.

**clusters** Section IV. A constraint between bodies couples all joints between them, one between joints these joints;
constraints that share a joint form one cluster. So each body is in one cluster, alone where no constraint acts. Where
the bodies that carry a cluster are in several clusters, those between them join it: then a cluster meets the rest of
the tree at its output bodies (Section IV-B), all of one cluster, and at bodies that carry other clusters: clusters are
a tree, and each can be eliminated as a body is. Elimination couples its output bodies with each other. Of a cluster's
degrees of freedom some are independent, and the others depend on them by the cluster's rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import SHIFT_ROWS, TURN_ROWS
from linkwork.model.graphs import DisjointSet, ancestors
from linkwork.model.joints import DOF, PRISMATIC, SPHERICAL
from linkwork.model.model import Model
from linkwork.plans.constraints import CONSTRAINED_TREE, constrained_tree
from linkwork.plans.layout import Integers, Ragged, ragged
from linkwork.plans.tree import LOCAL, Tree

CLUSTER_TREE = CONSTRAINED_TREE.extended(
    "clusters",
    sizes=(
        *("nclusters", "nmembers", "nind", "ndep", "ncluster_rows", "nzero"),
        *("nplaces", "ndep_places", "nind_places", "ncluster_k", "ncluster_pairs"),
        *("ncluster_outputs", "nwide", "nblocks", "ncoupled_bodies", "noutput_pairs"),
    ),
    integers={
        "body_cluster": ("n",),  # the cluster of each body, -1 for the world; children come before their parents
        "output_start": ("nclusters",),  # bodies that carry a cluster: first and count
        "output_count": ("nclusters",),
        "output_body": ("ncluster_outputs",),
        "body_output": ("n",),  # the place among these of the one that carries a body
        "output_pair_start": ("nclusters",),  # blocks of pairs of these that are coupled with each other
        "output_pair": ("noutput_pairs",),
        "coupled_start": ("n",),  # pairs of a body with others that its cluster's children couple: first and count
        "coupled_count": ("n",),
        "coupled_body": ("ncoupled_bodies",),  # the other body,
        "coupled_block": ("ncoupled_bodies",),  # the block with rows of the one that has the greater number,
        "coupled_output": ("ncoupled_bodies",),  # the output body that carries the other,
        "coupled_next": (
            "ncoupled_bodies",
        ),  # the block of the parent and the other; -1: these are one body, -2: none,
        "coupled_transposed": ("ncoupled_bodies",),  # and 1 where that block has the other's rows
        "cluster_parent": ("nclusters",),  # the first output body
        "single_body": ("nclusters",),  # 1 for a body on which no constraint acts
        "member_start": ("nclusters",),  # bodies of a cluster, parents first: first and count
        "member_count": ("nclusters",),
        "member": ("nmembers",),
        "ind_start": ("nclusters",),  # independent degrees of freedom
        "ind_count": ("nclusters",),
        "ind_dof": ("nind",),
        "dep_start": ("nclusters",),  # and dependent ones
        "dep_count": ("nclusters",),
        "dep_dof": ("ndep",),
        "cluster_row_start": ("nclusters",),  # rows of the constraints in a cluster
        "cluster_row_count": ("nclusters",),
        "cluster_row": ("ncluster_rows",),
        "row_lines": ("nclusters",),  # lines of four that these rows fill
        "row_place": ("nc",),  # the place of a row among those of its cluster
        "cluster_k": ("ncluster_k",),  # rows of K of clusters that are not of pairs
        "cluster_pair": ("ncluster_pairs",),  # pairs with rows in a cluster
        "pair_rows": ("npairs",),  # rows of a pair,
        "pair_turn_rows": ("npairs",),  # those of rotation, which come first,
        "pair_panels": ("npairs",),  # the panels that all make,
        "pair_place": ("npairs", 2),  # and the place of the first column of each; others' columns in it are zero
        "zero_start": ("nclusters",),  # degrees of freedom of one cluster of which neither supports the other:
        "zero_count": ("nclusters",),  # zeros of its mass matrix
        "zero_first": ("nzero",),
        "zero_second": ("nzero",),
        "ind_column": ("nind",),  # the column of each independent one in G, in the order of v
        "is_dependent": ("n",),  # 1 for a body whose joint is dependent
        "is_rod": ("n",),  # 1 for a leaf on a ball joint whose inertia is that of a rigid body when it is eliminated
        "ndependent": ("n",),  # dependent degrees of freedom of a body's joint
        "row_cluster": ("nc",),  # the cluster of each row, -2 for a row that is not enabled
    },
    floats={
        "rotor_inertia": ("nv",),  # inertia of its own body about a dependent joint of one degree of freedom
        "row_scale": ("nc",),  # errors of rows times this have no unit
        "place_weight": ("nclusters", "nplaces"),  # their squares by places of rows; zero where there is none
        "joint_unit": ("nv",),  # units of coordinates
    },
)
"""A mechanism with its constraints, by clusters."""


class DependentCoordinates(NamedTuple):
    """Which degrees of freedom depend on the others, and the units of rows and coordinates."""

    dofs: Set[int]
    row_units: Floats
    joint_units: Floats


class Cluster(NamedTuple):
    """Bodies and rows of a cluster, by number."""

    outputs: tuple[int, ...]
    """The bodies that carry it."""
    bodies: tuple[int, ...]
    dofs: tuple[int, ...]
    rows: tuple[int, ...]


def clusters_of(tree: Tree, rows: Iterable[int], single_parent: bool = False) -> list[Cluster]:
    """The clusters that these rows make, children before their parents; each carried by a single body if asked."""
    parent = tree.parent.tolist()
    supports = _supports(tree, rows)
    sets = DisjointSet[int](range(1, tree.n))
    for bodies in supports.values():
        for body in bodies:
            sets.merge(body, min(bodies))
    while (group := _carried_by_several(parent, sets, single_parent)) is not None:
        for body in _between([ancestors(parent, i) for i in _outputs(parent, group)]):
            sets.merge(body, min(group))
    groups = sets.subsets()
    number = {body: k for k, group in enumerate(groups) for body in group}
    rows_of: list[list[int]] = [[] for _ in groups]
    for r, bodies in supports.items():
        if bodies:
            rows_of[number[min(bodies)]].append(r)
    clusters = []
    for group, of_group in zip(groups, rows_of, strict=True):
        members = tuple(sorted(group))
        dofs = tuple(int(tree.iv[i]) + k for i in members for k in range(DOF[int(tree.kind[i])]))
        clusters.append(Cluster(_outputs(parent, group), members, dofs, tuple(of_group)))
    return sorted(clusters, key=lambda cluster: _rank(cluster, clusters, number), reverse=True)


def _outputs(parent: Sequence[int], bodies: Set[int]) -> tuple[int, ...]:
    """The bodies that carry these."""
    return tuple(sorted({parent[i] for i in bodies} - bodies))


def _carried_by_several(parent: Sequence[int], sets: DisjointSet[int], single_parent: bool) -> set[int] | None:
    """The first set of bodies that several sets carry, or several bodies if asked; None if there is none."""
    for group in sorted(sets.subsets(), key=min):
        outputs = _outputs(parent, group)
        if len(outputs) > 1 and (single_parent or outputs[0] == 0 or len({sets[i] for i in outputs}) > 1):
            return group
    return None


def _supports(tree: Tree, rows: Iterable[int]) -> dict[int, set[int]]:
    """For each row the bodies whose joints it couples: its own joints, and those between the bodies that it binds."""
    joint_of = {int(tree.iv[i]) + k: i for i in range(1, tree.n) for k in range(DOF[int(tree.kind[i])])}
    ends: dict[int, list[int]] = {r: [] for r in rows}
    coupled: dict[int, list[int]] = {r: [] for r in ends}
    for body, r in zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True):
        if r in ends:
            ends[r].append(body)
    com_rows = [r for start, n in zip(tree.com_row, tree.com_nrows, strict=True) for r in range(start, start + n)]
    for r in {*com_rows, *tree.combination_row.tolist()} & ends.keys():
        ends[r].append(0)  # the motion of a center of mass, or of a combination, is relative to the world
    for v, r in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        if r in coupled:
            coupled[r].append(joint_of[v])
    parent = tree.parent.tolist()
    lines = {
        r: [ancestors(parent, i) for i in ends[r]] + [ancestors(parent, parent[i]) for i in coupled[r] if ends[r]]
        for r in ends
    }
    return {r: _between(lines[r]) | set(coupled[r]) for r in ends}


def _between(lines: Sequence[Sequence[int]]) -> set[int]:
    """Bodies on these lines to the root that are not on all of them."""
    common = set(lines[0]).intersection(*lines[1:]) if lines else set()
    return {body for line in lines for body in line} - common


def _rank(cluster: Cluster, clusters: Sequence[Cluster], number: dict[int, int]) -> tuple[int, int]:
    """The depth of a cluster in the tree of clusters, and its first body."""
    depth, at = 0, cluster
    while at.outputs[0] > 0:
        depth, at = depth + 1, clusters[number[at.outputs[0]]]
    return depth, cluster.bodies[0]


def _mass_matrix_zeros(tree: Tree, cluster: Cluster) -> list[tuple[int, int]]:
    """Pairs of degrees of freedom of which neither supports the other, unless no constraint acts on the cluster."""
    if not cluster.rows:
        return []
    parent = tree.parent.tolist()
    support = {i: set(ancestors(parent, i)) for i in cluster.bodies}
    pairs = [(i, j) for i in cluster.bodies for j in cluster.bodies if i < j and i not in support[j]]
    return [
        (int(tree.iv[i]) + k, int(tree.iv[j]) + m)
        for i, j in pairs
        for k in range(DOF[int(tree.kind[i])])
        for m in range(DOF[int(tree.kind[j])])
    ]


def enabled_rows(mechanism: Model) -> list[int]:
    """The rows of constraints that are enabled."""
    spans = [mechanism.row_slice(c.name) for c in mechanism.constraints if c.enabled]
    return [r for span in spans for r in range(span.start, span.stop)]


def _output_couplings(tree: Tree, clusters: Sequence[Cluster]) -> dict[str, object]:
    """Couplings of bodies that carry a cluster together, and their places in the cluster of these bodies."""
    parent: list[int] = tree.parent.tolist()
    cluster = {i: c for c, members in enumerate(clusters) for i in members.bodies}
    place = {i: k for k, i in enumerate(i for members in clusters for i in reversed(members.bodies))}
    output = {
        i: k for members in clusters for i in members.bodies for k, h in enumerate(members.outputs) if h == parent[i]
    }
    for members in clusters:
        for i in members.bodies:
            output[i] = output[i] if i in output else output[parent[i]]
    blocks: dict[tuple[int, int], int] = {}
    near: list[list[int]] = [[] for _ in parent]
    entries: list[list[tuple[int, int, int, int, int]]] = [[] for _ in parent]
    pairs: list[list[int]] = []

    def block(a: int, b: int) -> int:
        """The block of two bodies, with rows of the one that is eliminated first."""
        first, second = (a, b) if place[a] < place[b] else (b, a)
        if (first, second) not in blocks:
            near[first].append(second)
        return blocks.setdefault((first, second), len(blocks))

    for c, members in enumerate(clusters):
        for i in reversed(members.bodies):
            h = parent[i]
            for j in near[i]:
                following = -1 if h == j else -2 if 0 in (h, j) else block(h, j)
                transposed = int(following >= 0 and place[j] < place[h])
                carrier = output[j] if cluster[j] == c else members.outputs.index(j)
                entries[i].append((j, blocks[i, j], carrier, following, transposed))
        pairs.append([block(a, b) for k, a in enumerate(members.outputs) for b in members.outputs[:k]])
    spans = ragged([0] * len(of_body) for of_body in entries)
    names = ("coupled_body", "coupled_block", "coupled_output", "coupled_next", "coupled_transposed")
    columns = list(zip(*(entry for of_body in entries for entry in of_body), strict=True)) or [()] * len(names)
    outputs, output_pairs = ragged(members.outputs for members in clusters), ragged(pairs)
    return {
        "nwide": tree.nv * max((len(members.outputs) for members in clusters), default=1),
        "nblocks": len(blocks),
        "body_cluster": [-1, *(cluster[i] for i in range(1, tree.n))],
        "body_output": [0, *(output[i] for i in range(1, tree.n))],
        "output_start": outputs.start,
        "output_count": outputs.count,
        "output_body": outputs.entries,
        "output_pair_start": output_pairs.start,
        "output_pair": output_pairs.entries,
        "coupled_start": spans.start,
        "coupled_count": spans.count,
        **dict(zip(names, columns, strict=True)),
    }


def _row_places(tree: Tree, row_cluster: Integers, rows: Ragged, row_scale: Floats) -> dict[str, object]:
    """Where rows of clusters are in their columns, by fours: panels of a pair that end with its last row."""
    lines = -(-rows.count // 4)
    place = np.zeros(tree.nc, dtype=np.int64)
    weight = np.zeros((len(lines), 4 * int(lines.max(initial=0))))
    for c, (start, n) in enumerate(zip(rows.start.tolist(), rows.count.tolist(), strict=True)):
        of_cluster = rows.entries[start : start + n]
        place[of_cluster] = np.arange(n)
        weight[c, :n] = row_scale[of_cluster] ** 2
    of_pairs, in_cluster = set[int](), list[int]()
    turns = np.array([TURN_ROWS[turns] for turns in tree.pair_rotation], dtype=np.int64)
    count = turns + np.array([SHIFT_ROWS[shifts] for shifts in tree.pair_translation], dtype=np.int64)
    places = np.zeros((tree.npairs, 2), dtype=np.int64)
    for p, (row, n) in enumerate(zip(tree.pair_row.tolist(), count.tolist(), strict=True)):
        c = row_cluster[row]
        if c >= 0:
            in_cluster.append(p)
            of_pairs |= set(range(row, row + n))
            places[p] = min(place[row], 4 * lines[c] - 4), place[row] + n - 4
    other = [m for m, r in enumerate(tree.k_row.tolist()) if row_cluster[r] >= 0 and r not in of_pairs]
    return {
        "nplaces": weight.shape[1],
        "place_weight": weight,
        "row_lines": lines,
        "row_place": place,
        "cluster_k": other,
        "cluster_pair": in_cluster,
        "pair_rows": count,
        "pair_turn_rows": turns,
        "pair_panels": 1 + (count > 4),
        "pair_place": places,
    }


def cluster_tree(
    mechanism: Model,
    frames: Sequence[str],
    dependent: DependentCoordinates,
    rows: Iterable[int] | None = None,
    single_parent: bool = False,
) -> Tree:
    """The arrays of a mechanism by the clusters that some rows make; by default all rows that are enabled."""
    tree = constrained_tree(mechanism, frames, LOCAL)
    clusters = clusters_of(tree, enabled_rows(mechanism) if rows is None else rows, single_parent)
    row_cluster = np.full(tree.nc, -2, dtype=np.int64)
    is_dependent, rotor_inertia = np.zeros(tree.n, dtype=np.int64), np.zeros(tree.nv)
    ndependent = np.zeros(tree.n, dtype=np.int64)
    has_armature = tree.has_armature.copy()
    for c, cluster in enumerate(clusters):
        row_cluster[list(cluster.rows)] = c
        for i in cluster.bodies:
            dofs = range(int(tree.iv[i]), int(tree.iv[i]) + DOF[int(tree.kind[i])])
            is_dependent[i] = int(all(k in dependent.dofs for k in dofs))
            ndependent[i] = sum(k in dependent.dofs for k in dofs)
            has_armature[i] |= int(bool(cluster.rows))  # reflected inertia of dependent joints
            rotor_inertia[tree.iv[i]] = tree.mass[i] if tree.kind[i] == PRISMATIC else tree.I[i, 5]
    members = ragged(cluster.bodies for cluster in clusters)
    ind = ragged([k for k in cluster.dofs if k not in dependent.dofs] for cluster in clusters)
    dep = ragged([k for k in cluster.dofs if k in dependent.dofs] for cluster in clusters)
    row_lists = ragged(cluster.rows for cluster in clusters)
    zeros = [_mass_matrix_zeros(tree, cluster) for cluster in clusters]
    first, second = (ragged([pair[side] for pair in pairs] for pairs in zeros) for side in (0, 1))
    return CLUSTER_TREE.build(
        tree,
        has_armature=has_armature,
        cluster_parent=[cluster.outputs[0] for cluster in clusters],
        single_body=[int(not cluster.rows and len(cluster.bodies) == 1) for cluster in clusters],
        member_start=members.start,
        member_count=members.count,
        member=members.entries,
        ind_start=ind.start,
        ind_count=ind.count,
        ind_dof=ind.entries,
        ind_column=np.argsort(np.argsort(ind.entries)),
        dep_start=dep.start,
        dep_count=dep.count,
        dep_dof=dep.entries,
        ndep_places=4 * -(-int(dep.count.max(initial=0)) // 4),
        nind_places=4 * -(-(1 + int(ind.count.max(initial=0))) // 4),
        cluster_row_start=row_lists.start,
        cluster_row_count=row_lists.count,
        cluster_row=row_lists.entries,
        zero_start=first.start,
        zero_count=first.count,
        zero_first=first.entries,
        zero_second=second.entries,
        is_dependent=is_dependent,
        is_rod=(tree.kind == SPHERICAL) & (tree.last_child == 0),
        ndependent=ndependent,
        row_cluster=row_cluster,
        **_output_couplings(tree, clusters),
        **_row_places(tree, row_cluster, row_lists, 1.0 / dependent.row_units),
        rotor_inertia=rotor_inertia,
        row_scale=1.0 / dependent.row_units,
        joint_unit=dependent.joint_units,
    )
