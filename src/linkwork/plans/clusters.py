"""Clusters: bodies that constraints tie together, each cluster hanging from one body, its top.

**clusters** Section IV. A constraint ties the joints that move it (its support) and those between them and the body
where they meet; what shares a joint is one cluster. So each body is in one cluster, alone where nothing ties it, and a
cluster meets the rest of the tree at its top and at bodies that carry other clusters: it can be eliminated as a body
is.
Of a cluster's degrees of freedom some are free, and the rest is tied to them by the cluster's rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.joints import DOF, PRISMATIC
from linkwork.model.model import Model
from linkwork.plans.loops import LOOPS, constrained_tree
from linkwork.plans.tree import LOCAL, Tree

CLUSTERS = LOOPS.extended(
    "clusters",
    sizes=("nclusters", "nmembers", "nfree", "ntied", "nbound", "napart"),
    integers={
        "cluster_top": ("nclusters",),  # the body that carries a cluster; clusters come before the one of their top
        "alone": ("nclusters",),  # 1 for a body that nothing ties
        "member_start": ("nclusters",),  # bodies of a cluster, parents first: first and count
        "member_count": ("nclusters",),
        "member": ("nmembers",),
        "free_start": ("nclusters",),  # degrees of freedom that move freely
        "free_count": ("nclusters",),
        "free_dof": ("nfree",),
        "tied_start": ("nclusters",),  # and those that follow them
        "tied_count": ("nclusters",),
        "tied_dof": ("ntied",),
        "bound_start": ("nclusters",),  # rows of the constraints in a cluster
        "bound_count": ("nclusters",),
        "bound_row": ("nbound",),
        "apart_start": ("nclusters",),  # degrees of freedom of one cluster of which neither carries the other
        "apart_count": ("nclusters",),
        "apart_one": ("napart",),
        "apart_other": ("napart",),
        "free_place": ("nfree",),  # where each free one stands among all of them, in the order of v
        "follows": ("n",),  # 1 for a body whose joint is tied
        "row_top": ("nc",),  # the top of each row's cluster, -1 for a row that is not enabled
    },
    floats={
        "spin": ("nv",),  # inertia that a tied joint of one degree of freedom has of its own body
        "row_scale": ("nc",),  # errors of rows times this have no unit
        "joint_unit": ("nv",),  # what coordinates are measured by
    },
)
"""A mechanism with its constraints, by clusters."""


class Ties(NamedTuple):
    """Which degrees of freedom follow the others, and what rows and coordinates are measured by."""

    dofs: Set[int]
    row_units: Floats
    joint_units: Floats


class Cluster(NamedTuple):
    """Bodies and rows that hang together, by number."""

    top: int
    bodies: tuple[int, ...]
    dofs: tuple[int, ...]
    rows: tuple[int, ...]


def clusters_of(tree: Tree, rows: Iterable[int]) -> list[Cluster]:
    """The clusters that these rows make, those on a body of another before that one."""
    joint_of = {int(tree.iv[i]) + k: i for i in range(1, tree.n) for k in range(DOF[int(tree.kind[i])])}
    ends: dict[int, list[int]] = {r: [] for r in rows}
    turned: dict[int, list[int]] = {r: [] for r in ends}
    for body, r in zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True):
        if r in ends:
            ends[r].append(body)
    spread = [r for start, n in zip(tree.part_row, tree.part_rows, strict=True) for r in range(start, start + n)]
    for r in {*spread, *tree.mix_row.tolist()} & ends.keys():
        ends[r].append(0)  # the motion of a center of mass, or of a combination, is that relative to the world
    for v, r in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        if r in turned:
            turned[r].append(joint_of[v])
    ties = {r: _tied(tree, ends[r], turned[r]) for r in ends}
    groups = _merged([*({i} for i in range(1, tree.n)), *(bodies for bodies in ties.values() if bodies)])
    number = {body: k for k, group in enumerate(groups) for body in group}
    held: list[list[int]] = [[] for _ in groups]
    for r, bodies in ties.items():
        if bodies:
            held[number[min(bodies)]].append(r)
    found = []
    for group, of_group in zip(groups, held, strict=True):
        members = tuple(sorted(group))
        dofs = tuple(int(tree.iv[i]) + k for i in members for k in range(DOF[int(tree.kind[i])]))
        found.append(Cluster(int(tree.parent[members[0]]), members, dofs, tuple(of_group)))
    return sorted(found, key=lambda cluster: _rank(cluster, found, number), reverse=True)


def _rank(cluster: Cluster, clusters: Sequence[Cluster], number: dict[int, int]) -> tuple[int, int]:
    """How many clusters lie between a cluster and the world, and its first body."""
    steps, at = 0, cluster
    while at.top > 0:
        steps, at = steps + 1, clusters[number[at.top]]
    return steps, cluster.bodies[0]


def _tied(tree: Tree, ends: Sequence[int], turned: Sequence[int]) -> set[int]:
    """The bodies whose joints a row ties: those that move its ends, its own joints, and those between them."""
    lines = [_line(tree, body) for body in ends] + [_line(tree, int(tree.parent[body])) for body in turned]
    if not lines:
        return set()
    common = set(lines[0]).intersection(*lines[1:])
    return ({body for line in lines for body in line} | set(turned)) - common - {0}


def _line(tree: Tree, body: int) -> list[int]:
    """A body and all below it, ending with the world."""
    line = [body]
    while line[-1] > 0:
        line.append(int(tree.parent[line[-1]]))
    return line


def _apart(tree: Tree, cluster: Cluster) -> list[tuple[int, int]]:
    """Pairs of degrees of freedom of which neither carries the other, unless nothing ties the cluster."""
    if not cluster.rows:
        return []
    carried = {i: set(_line(tree, i)) for i in cluster.bodies}
    pairs = [(i, j) for i in cluster.bodies for j in cluster.bodies if i < j and i not in carried[j]]
    return [
        (int(tree.iv[i]) + k, int(tree.iv[j]) + m)
        for i, j in pairs
        for k in range(DOF[int(tree.kind[i])])
        for m in range(DOF[int(tree.kind[j])])
    ]


def _merged(sets: Iterable[Set[int]]) -> list[set[int]]:
    """Sets that share members made one."""
    leader: dict[int, int] = {}

    def find(k: int) -> int:
        while leader.setdefault(k, k) != k:
            leader[k] = leader[leader[k]]
            k = leader[k]
        return k

    for members in sets:
        first = find(min(members))
        for member in members:
            leader[find(member)] = first
    groups: dict[int, set[int]] = {}
    for member in leader:
        groups.setdefault(find(member), set()).add(member)
    return list(groups.values())


def enabled_rows(mechanism: Model) -> list[int]:
    """The rows of constraints that are enabled."""
    spans = [mechanism.row_slice(c.name) for c in mechanism.constraints if c.enabled]
    return [r for span in spans for r in range(span.start, span.stop)]


def clusters_tree(mechanism: Model, frames: Sequence[str], ties: Ties) -> Tree:
    """The arrays of a mechanism by clusters."""
    tree, tied = constrained_tree(mechanism, frames, LOCAL), ties.dofs
    clusters = clusters_of(tree, enabled_rows(mechanism))
    row_top = np.full(tree.nc, -1, dtype=np.int64)
    for cluster in clusters:
        row_top[list(cluster.rows)] = cluster.top
    lists: dict[str, Sequence[Sequence[int]]] = {
        "member": [cluster.bodies for cluster in clusters],
        "free": [[k for k in cluster.dofs if k not in tied] for cluster in clusters],
        "tied": [[k for k in cluster.dofs if k in tied] for cluster in clusters],
        "bound": [cluster.rows for cluster in clusters],
    }
    apart = [_apart(tree, cluster) for cluster in clusters]
    lists["apart"] = [[one for one, _ in pairs] for pairs in apart]
    arrays: dict[str, list[int]] = {}
    for name, each in lists.items():
        counts = [len(x) for x in each]
        arrays[f"{name}_start"] = np.cumsum([0, *counts])[:-1].tolist()
        arrays[f"{name}_count"] = counts
    entries = {"member": "member", "free": "free_dof", "tied": "tied_dof", "bound": "bound_row", "apart": "apart_one"}
    for name, entry in entries.items():
        arrays[entry] = [int(k) for x in lists[name] for k in x]
    arrays["apart_other"] = [other for pairs in apart for _, other in pairs]
    follows, spin, geared = np.zeros(tree.n, dtype=np.int64), np.zeros(tree.nv), tree.geared.copy()
    for cluster in clusters:
        for i in cluster.bodies:
            dofs = range(int(tree.iv[i]), int(tree.iv[i]) + DOF[int(tree.kind[i])])
            follows[i] = int(all(k in tied for k in dofs))
            geared[i] |= int(bool(cluster.rows))  # by what follows it
            spin[tree.iv[i]] = tree.mass[i] if tree.kind[i] == PRISMATIC else tree.I[i, 5]
    kept = {name: value for name, value in tree._asdict().items() if name != "geared"}
    return CLUSTERS.type(
        **kept,
        geared=geared,
        follows=follows,
        spin=spin,
        row_scale=1.0 / ties.row_units,
        joint_unit=ties.joint_units,
        nclusters=len(clusters),
        nmembers=len(arrays["member"]),
        nfree=len(arrays["free_dof"]),
        ntied=len(arrays["tied_dof"]),
        nbound=len(arrays["bound_row"]),
        napart=len(arrays["apart_one"]),
        cluster_top=np.array([cluster.top for cluster in clusters], dtype=np.int64),
        alone=np.array([int(not cluster.rows and len(cluster.bodies) == 1) for cluster in clusters], dtype=np.int64),
        free_place=np.argsort(np.argsort(arrays["free_dof"])).astype(np.int64),
        row_top=row_top,
        **{name: np.array(values, dtype=np.int64) for name, values in arrays.items()},
    )
