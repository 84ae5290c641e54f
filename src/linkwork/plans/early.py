"""Where rows of constraints meet when each joint takes out what it can satisfy (PV-early).

Rows start on the bodies they touch and go from child to parent. On each body they form a stack: first the body's own
rows, then what its children hand down. No more than six rows say anything new about the six numbers of an acceleration,
so that no more are handed down.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.model.model import Model
from linkwork.plans.loops import LOOPS, constrained_tree
from linkwork.plans.tree import LOCAL, Tree

EARLY = LOOPS.extended(
    "early",
    sizes=("nstack",),
    integers={
        "stack_start": ("n",),  # rows on a body: first and count
        "stack_count": ("n",),
        "stack_down": ("n",),  # the place in the parent's stack for what a body hands down
        "stack_k": ("nstack",),  # the row of K that a place starts from, -1 for none
        "stack_term": ("nstack",),  # the term of a coupling that it starts from, -1 for none
        "stack_row": ("nstack",),  # the row of the constraint, -1 for what a child hands down
    },
    floats={},
)
"""A mechanism with constraints that each bind one moving body or one joint, and the stacks of their rows."""


def early_tree(mechanism: Model, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a mechanism with the stacks of its rows."""
    tree = constrained_tree(mechanism, frames, LOCAL)
    joints = {int(v): i for i, v in enumerate(tree.iv) if i > 0}
    own: list[list[tuple[int, int, int]]] = [[] for _ in range(tree.n)]
    for m, (body, row) in enumerate(zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True)):
        if body > 0:
            own[body].append((m, -1, row))
    for t, (v, row) in enumerate(zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True)):
        own[joints[v]].append((-1, t, row))
    children: list[list[int]] = [[] for _ in range(tree.n)]
    for i in range(1, tree.n):
        children[int(tree.parent[i])].append(i)
    start, count, down = [0] * tree.n, [0] * tree.n, [-1] * tree.n
    places: list[tuple[int, int, int]] = []
    for i in range(tree.n - 1, 0, -1):
        start[i] = len(places)
        places += own[i]
        for child in children[i]:
            down[child] = len(places)
            places += [(-1, -1, -1)] * min(6, count[child])
        count[i] = len(places) - start[i]
    table = np.array(places, dtype=np.int64).reshape(-1, 3)
    return EARLY.type(
        **tree._asdict(),
        nstack=len(places),
        stack_start=np.array(start, dtype=np.int64),
        stack_count=np.array(count, dtype=np.int64),
        stack_down=np.array(down, dtype=np.int64),
        stack_k=table[:, 0].copy(),
        stack_term=table[:, 1].copy(),
        stack_row=table[:, 2].copy(),
    )
