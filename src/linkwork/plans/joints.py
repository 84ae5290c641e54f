"""Which degrees of freedom and rows of constraints meet in the mass matrix (LTL): sparsity that branching brings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.loops import LOOPS, constrained_tree
from linkwork.plans.tree import LOCAL, Tree

JOINTS = LOOPS.extended(
    "joints",
    sizes=("nrd",),
    integers={
        "dof_up": ("nv",),  # the degree of freedom below each one in the tree, -1 at the world
        "row_start": ("nc",),  # degrees of freedom that a row's bodies hang on, leaves first: first and count
        "row_count": ("nc",),
        "row_dof": ("nrd",),
    },
    floats={},
)
"""A mechanism with its constraints, by degrees of freedom."""


def joints_tree(mechanism: Model, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a mechanism by degrees of freedom."""
    tree = constrained_tree(mechanism, frames, LOCAL)
    up = np.full(tree.nv, -1, dtype=np.int64)
    last = [-1] * tree.n
    for i in range(1, tree.n):
        below = last[int(tree.parent[i])]
        for k in range(DOF[int(tree.kind[i])]):
            up[tree.iv[i] + k] = below
            below = int(tree.iv[i]) + k
        last[i] = below
    touched: list[set[int]] = [set() for _ in range(tree.nc)]

    def reach(dof: int, row: int) -> None:
        while dof >= 0 and dof not in touched[row]:
            touched[row].add(dof)
            dof = int(up[dof])

    for body, row in zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True):
        reach(last[body], row)
    for v, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        reach(v, row)
    counts = [len(dofs) for dofs in touched]
    return JOINTS.type(
        **tree._asdict(),
        nrd=sum(counts),
        dof_up=up,
        row_start=np.cumsum([0, *counts])[:-1].astype(np.int64),
        row_count=np.array(counts, dtype=np.int64),
        row_dof=np.array([k for dofs in touched for k in sorted(dofs, reverse=True)], dtype=np.int64),
    )
