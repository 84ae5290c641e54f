# SPDX-License-Identifier: BSD-3-Clause
"""The paths of end effectors to the world, cluster by cluster, and the clusters they share (C-EFPA).

**clusters** Section VIII. A *propagator* takes the six rows of an end effector across one cluster, from the body they
act on to the body that carries the cluster (Eq. 62).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.model.model import Model
from linkwork.plans.clusters import CLUSTER_TREE, DependentCoordinates, cluster_tree
from linkwork.plans.tree import Tree

CLUSTER_EFPA_TREE = CLUSTER_TREE.extended(
    "cluster_efpa",
    sizes=("npropagators", "nshared", "nrows"),
    integers={
        "propagator_body": ("npropagators",),  # the body that rows act on
        "propagator_cluster": ("npropagators",),  # the cluster that they cross
        "propagator_source": ("npropagators",),  # the propagator before, or -1 less the number of an end effector
        "shared_first": ("nshared",),  # two end effectors that a cluster supports, and their propagators across it
        "shared_second": ("nshared",),
        "shared_first_propagator": ("nshared",),
        "shared_second_propagator": ("nshared",),
    },
    floats={},
)
"""A mechanism by clusters, with the end effectors whose inverse inertia is wanted."""


class _Propagator(NamedTuple):
    body: int
    cluster: int
    source: int


def cluster_efpa_tree(mechanism: Model, frames: Sequence[str], dependent: DependentCoordinates) -> Tree:
    """The arrays of a mechanism with its end effectors."""
    tree = cluster_tree(mechanism, frames, dependent)
    cluster_of = {
        int(i): c
        for c in range(tree.nclusters)
        for i in tree.member[tree.member_start[c] : tree.member_start[c] + tree.member_count[c]]
    }
    propagators: list[_Propagator] = []
    paths: list[dict[int, int]] = []
    for f in range(tree.nf):
        body, source, path = int(tree.frame_body[f]), -1 - f, dict[int, int]()
        while body > 0:
            c = cluster_of[body]
            path[c] = len(propagators)
            propagators.append(_Propagator(body, c, source))
            source, body = path[c], int(tree.cluster_parent[c])
        paths.append(path)
    shared = [(a, b, c) for a in range(tree.nf) for b in range(a + 1) for c in paths[a] if c in paths[b]]
    return CLUSTER_EFPA_TREE.build(
        tree,
        nrows=6 * int(tree.nf),
        propagator_body=[p.body for p in propagators],
        propagator_cluster=[p.cluster for p in propagators],
        propagator_source=[p.source for p in propagators],
        shared_first=[a for a, _, _ in shared],
        shared_second=[b for _, b, _ in shared],
        shared_first_propagator=[paths[a][c] for a, _, c in shared],
        shared_second_propagator=[paths[b][c] for _, b, c in shared],
    )
