"""The ways of end effectors down to the world, cluster by cluster, and where they meet (C-EFPA).

**clusters** Section VIII. A *step* takes the six rows of a frame through one cluster, from the body they are on to the
cluster's top. Two frames meet in every cluster that both pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.model.model import Model
from linkwork.plans.clusters import CLUSTERS, Ties, clusters_tree
from linkwork.plans.tree import Tree

EFFECTORS = CLUSTERS.extended(
    "effectors",
    sizes=("nsteps", "nmeet", "nrows"),
    integers={
        "step_body": ("nsteps",),  # the body that rows are on
        "step_cluster": ("nsteps",),  # the cluster that they pass
        "step_from": ("nsteps",),  # the step that brought them, or -1 less the number of a frame that they start from
        "meet_first": ("nmeet",),  # frames that meet in a cluster, and their steps there
        "meet_second": ("nmeet",),
        "meet_step": ("nmeet",),
        "meet_other": ("nmeet",),
    },
    floats={},
)
"""A mechanism by clusters, with frames whose inverse inertia is asked for."""


def effectors_tree(mechanism: Model, frames: Sequence[str], ties: Ties) -> Tree:
    """The arrays of a mechanism with its end effectors."""
    tree = clusters_tree(mechanism, frames, ties)
    cluster_of = {
        int(i): c
        for c in range(tree.nclusters)
        for i in tree.member[tree.member_start[c] : tree.member_start[c] + tree.member_count[c]]
    }
    steps: list[tuple[int, int, int]] = []
    ways: list[dict[int, int]] = []
    for f in range(tree.nf):
        body, source, way = int(tree.body[f]), -1 - f, dict[int, int]()
        while body > 0:
            c = cluster_of[body]
            way[c] = len(steps)
            steps.append((body, c, source))
            source, body = way[c], int(tree.cluster_top[c])
        ways.append(way)
    meets = [
        (a, b, ways[a][c], ways[b][c]) for a in range(tree.nf) for b in range(a + 1) for c in ways[a] if c in ways[b]
    ]
    columns = {
        "step_body": [s[0] for s in steps],
        "step_cluster": [s[1] for s in steps],
        "step_from": [s[2] for s in steps],
        "meet_first": [m[0] for m in meets],
        "meet_second": [m[1] for m in meets],
        "meet_step": [m[2] for m in meets],
        "meet_other": [m[3] for m in meets],
    }
    return EFFECTORS.type(
        **tree._asdict(),
        nsteps=len(steps),
        nmeet=len(meets),
        nrows=6 * int(tree.nf),
        **{name: np.array(values, dtype=np.int64) for name, values in columns.items()},
    )
