# SPDX-License-Identifier: BSD-3-Clause
"""Which rows meet on which body when each joint eliminates the constraints it can satisfy (PV-early, **lqr** VIII).

Rows start on the bodies they constrain and are propagated from child to parent. On each body they form a stack: first
the body's own rows, then those of its children. There are two sets of stacks:

- ``early_*``, of rows that shrink: a joint takes out as many rows as the rank of ``K S`` in general, and hands the
  others to the parent. Rows of constraints that are not enabled are not there.
- ``stack_*``, for the code that reveals ranks: no more than six rows of six numbers are independent, so that no more
  than six are handed to the parent, and as many as that at every joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.model.joints import HELICAL, PRISMATIC
from linkwork.model.model import Model
from linkwork.plans.constraints import CONSTRAINED_TREE, body_of_dof, constrained_tree
from linkwork.plans.tree import LOCAL, Tree

PV_EARLY_TREE = CONSTRAINED_TREE.extended(
    "pv_early",
    sizes=(
        "nstack",
        "nearly",
        "early_ends",  # 1 where rows that shrink end at joints; 0 where some are redundant in every configuration
    ),
    integers={
        "stack_start": ("n",),  # rows on a body: first and count
        "stack_count": ("n",),
        "stack_parent": ("n",),  # the place in the parent's stack for the rows that a body passes on
        "stack_row": ("nstack",),  # the row of the constraint that starts here, -1 for a row of a child
        "stack_place": ("nc",),  # where a row starts
        "early_start": ("n",),  # the same for rows that shrink
        "early_count": ("n",),
        "early_parent": ("n",),
        "early_row": ("nearly",),
        "early_place": ("nc",),
        "early_rank": ("n",),  # rows that end at a body's joint
        "early_dof": ("nv",),  # the degree of freedom that each of its reflections is for
        "skip_axis": ("n",),  # the axis along which rows beyond the joint are zero, -1 for none
    },
    floats={},
)
"""A mechanism whose constraints each act on one moving body or one joint, and the stacks of their rows."""


@dataclass(frozen=True)
class RowRanks:
    """Of each body, how many rows its joint can satisfy in general, and by which degrees of freedom."""

    rank: tuple[int, ...]
    dofs: tuple[tuple[int, ...], ...]
    ends: bool
    """Whether all rows end at joints: else some are redundant in every configuration."""


@dataclass(frozen=True)
class Stacks:
    """Rows on each body: their places in one list, and where those of a body start in its parent's."""

    start: list[int]
    count: list[int]
    in_parent: list[int]
    row: list[int]
    place: list[int]


def rows_of_bodies(tree: Tree) -> list[list[int]]:
    """The rows of constraints that act on each body, or on its joint."""
    joints = body_of_dof(tree)
    own: list[list[int]] = [[] for _ in range(tree.n)]
    starts = [*zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True)]
    starts += [(joints[v], row) for v, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True)]
    for body, row in starts:
        if body > 0 and row not in own[body]:
            own[body].append(row)
    return own


def children_of(tree: Tree) -> list[list[int]]:
    """The children of each body."""
    children: list[list[int]] = [[] for _ in range(tree.n)]
    for i in range(1, tree.n):
        children[int(tree.parent[i])].append(i)
    return children


def stacked(tree: Tree, own: list[list[int]], ended: Sequence[int], most: int) -> Stacks:
    """Stacks where so many rows end at each joint, and at most so many pass it."""
    children = children_of(tree)
    start, count, in_parent = [0] * tree.n, [0] * tree.n, [-1] * tree.n
    row: list[int] = []
    place = [-1] * tree.nc
    for i in range(tree.n - 1, 0, -1):
        start[i] = len(row)
        for r in own[i]:
            place[r] = len(row)
            row.append(r)
        for child in children[i]:
            in_parent[child] = len(row)
            row += [-1] * min(most, count[child] - ended[child])
        count[i] = len(row) - start[i]
    return Stacks(start, count, in_parent, row, place)


def pv_early_tree(mechanism: Model, frames: Sequence[str], ranks: RowRanks) -> Tree:
    """The arrays of a mechanism with the stacks of its rows."""
    tree = constrained_tree(mechanism, frames, LOCAL)
    own = rows_of_bodies(tree)
    enabled = np.repeat([c.enabled for c in mechanism.constraints], [c.rows for c in mechanism.constraints])
    held = [[r for r in rows if enabled[r]] for rows in own] if ranks.ends else [[] for _ in own]
    early = stacked(tree, held, ranks.rank, mechanism.nc)
    stack = stacked(tree, own, [0] * tree.n, 6)
    dofs = np.zeros(tree.nv, dtype=np.int64)
    for i in range(1, tree.n):
        dofs[tree.iv[i] : tree.iv[i] + len(ranks.dofs[i])] = ranks.dofs[i]
    geared = set(np.flatnonzero(tree.has_armature).tolist()) | {body_of_dof(tree)[int(v)] for v in tree.term_v}
    one_dof = {i: 5 if tree.kind[i] == PRISMATIC else 2 for i in range(1, tree.n) if tree.kind[i] < HELICAL}
    return PV_EARLY_TREE.build(
        tree,
        early_ends=int(ranks.ends),
        stack_start=stack.start,
        stack_count=stack.count,
        stack_parent=stack.in_parent,
        stack_row=stack.row,
        stack_place=stack.place,
        early_start=early.start,
        early_count=early.count,
        early_parent=early.in_parent,
        early_row=early.row,
        early_place=early.place,
        early_rank=ranks.rank,
        early_dof=dofs,
        skip_axis=[one_dof.get(i, -1) if i not in geared else -1 for i in range(tree.n)],
    )
