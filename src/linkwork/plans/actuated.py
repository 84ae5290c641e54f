# SPDX-License-Identifier: BSD-3-Clause
"""The actuated degrees of freedom of each cluster, whose torques inverse dynamics may choose."""

from __future__ import annotations

from collections.abc import Sequence, Set

from linkwork.model.model import Model
from linkwork.plans.clusters import CLUSTER_TREE, DependentCoordinates, cluster_tree
from linkwork.plans.layout import ragged
from linkwork.plans.tree import Tree

ACTUATED_TREE = CLUSTER_TREE.extended(
    "actuated",
    sizes=("nactuated",),
    integers={
        "actuated_start": ("nclusters",),  # actuated degrees of freedom of a cluster: first and count
        "actuated_count": ("nclusters",),
        "actuated_dof": ("nactuated",),
        "actuated_ind": ("nactuated",),  # its place in ind_dof, -1 where it is dependent
    },
    floats={},
)
"""A mechanism with its constraints, by clusters, and the degrees of freedom that are actuated."""


def actuated_tree(mechanism: Model, frames: Sequence[str], dependent: DependentCoordinates, actuated: Set[int]) -> Tree:
    """The arrays of a mechanism by clusters; ``actuated`` are the degrees of freedom with a torque of their own."""
    tree = cluster_tree(mechanism, frames, dependent)
    place = {int(k): f for f, k in enumerate(tree.ind_dof)}
    each = []
    for c in range(tree.nclusters):
        dofs = [
            *tree.ind_dof[tree.ind_start[c] : tree.ind_start[c] + tree.ind_count[c]].tolist(),
            *tree.dep_dof[tree.dep_start[c] : tree.dep_start[c] + tree.dep_count[c]].tolist(),
        ]
        each.append(sorted(k for k in dofs if k in actuated))
    chosen = ragged(each)
    return ACTUATED_TREE.build(
        tree,
        actuated_start=chosen.start,
        actuated_count=chosen.count,
        actuated_dof=chosen.entries,
        actuated_ind=[place.get(k, -1) for k in chosen.entries.tolist()],
    )
