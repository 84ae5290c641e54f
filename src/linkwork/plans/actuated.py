"""Who pushes in each cluster: the degrees of freedom whose torques inverse dynamics may choose."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from linkwork.model.model import Model
from linkwork.plans.clusters import CLUSTERS, Ties, clusters_tree
from linkwork.plans.tree import Tree

ACTUATED = CLUSTERS.extended(
    "actuated",
    sizes=("npush",),
    integers={
        "push_start": ("nclusters",),  # degrees of freedom of a cluster that push: first and count
        "push_count": ("nclusters",),
        "push_dof": ("npush",),
        "push_free": ("npush",),  # where one stands in free_dof, -1 where it is tied
    },
    floats={},
)
"""A mechanism with its constraints, by clusters, and who pushes."""


def actuated_tree(mechanism: Model, frames: Sequence[str], ties: Ties, pushes: Set[int]) -> Tree:
    """The arrays of a mechanism by clusters; ``pushes`` are the degrees of freedom that push."""
    tree = clusters_tree(mechanism, frames, ties)
    free_at = {int(k): f for f, k in enumerate(tree.free_dof)}
    each = []
    for c in range(tree.nclusters):
        mine = [
            *tree.free_dof[tree.free_start[c] : tree.free_start[c] + tree.free_count[c]].tolist(),
            *tree.tied_dof[tree.tied_start[c] : tree.tied_start[c] + tree.tied_count[c]].tolist(),
        ]
        each.append(sorted(k for k in mine if k in pushes))
    counts = [len(dofs) for dofs in each]
    chosen = [k for dofs in each for k in dofs]
    return ACTUATED.type(
        **tree._asdict(),
        npush=len(chosen),
        push_start=np.cumsum([0, *counts])[:-1].astype(np.int64),
        push_count=np.array(counts, dtype=np.int64),
        push_dof=np.array(chosen, dtype=np.int64),
        push_free=np.array([free_at.get(k, -1) for k in chosen], dtype=np.int64),
    )
