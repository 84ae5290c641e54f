# SPDX-License-Identifier: BSD-3-Clause
"""Which rows meet on which body when each joint eliminates the constraints it can satisfy (PV-early, **lqr** VIII).

Rows start on the bodies they constrain and are propagated from child to parent. On each body they form a stack: first
the body's own rows, then those of its children. No more than six rows of six numbers are independent, so that no more
are passed to the parent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.model.model import Model
from linkwork.plans.constraints import CONSTRAINED_TREE, body_of_dof, constrained_tree
from linkwork.plans.tree import LOCAL, Tree

PV_EARLY_TREE = CONSTRAINED_TREE.extended(
    "pv_early",
    sizes=("nstack",),
    integers={
        "stack_start": ("n",),  # rows on a body: first and count
        "stack_count": ("n",),
        "stack_parent": ("n",),  # the place in the parent's stack for the rows that a body passes on
        "stack_k": ("nstack",),  # the row of K that a place starts from, -1 for none
        "stack_term": ("nstack",),  # the term of a coupling that it starts from, -1 for none
        "stack_row": ("nstack",),  # the row of the constraint, -1 for a row of a child
    },
    floats={},
)
"""A mechanism whose constraints each act on one moving body or one joint, and the stacks of their rows."""


def pv_early_tree(mechanism: Model, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a mechanism with the stacks of its rows."""
    tree = constrained_tree(mechanism, frames, LOCAL)
    joints = body_of_dof(tree)
    own: list[list[tuple[int, int, int]]] = [[] for _ in range(tree.n)]
    for m, (body, row) in enumerate(zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True)):
        if body > 0:
            own[body].append((m, -1, row))
    for t, (v, row) in enumerate(zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True)):
        own[joints[v]].append((-1, t, row))
    children: list[list[int]] = [[] for _ in range(tree.n)]
    for i in range(1, tree.n):
        children[int(tree.parent[i])].append(i)
    start, count, in_parent = [0] * tree.n, [0] * tree.n, [-1] * tree.n
    places: list[tuple[int, int, int]] = []
    for i in range(tree.n - 1, 0, -1):
        start[i] = len(places)
        places += own[i]
        for child in children[i]:
            in_parent[child] = len(places)
            places += [(-1, -1, -1)] * min(6, count[child])
        count[i] = len(places) - start[i]
    table = np.array(places, dtype=np.int64).reshape(-1, 3)
    return PV_EARLY_TREE.build(
        tree,
        stack_start=start,
        stack_count=count,
        stack_parent=in_parent,
        stack_k=table[:, 0],
        stack_term=table[:, 1],
        stack_row=table[:, 2],
    )
