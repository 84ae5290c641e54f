# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of inverse kinematics as rows behind those of the constraints: what they are about, which joints move them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.model.graphs import ancestors, connected
from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.assembly import loop_roots, row_supports
from linkwork.plans.constraints import CONSTRAINED_TREE, constrained_tree
from linkwork.plans.layout import ragged
from linkwork.plans.tree import Tree

ORIENTATION, POSITION, CENTER = 0, 1, 2
"""Kinds of tasks, of three rows each: orientation of a frame, its position, the center of mass."""

TASK_TREE = CONSTRAINED_TREE.extended(
    "inverse_kinematics",
    sizes=("nrows", "ntasks", "nsupport", "ngroups"),
    integers={
        "k_root": ("nk",),  # the loop root of a pair, whose ancestors move both bodies alike; else the world
        "task_kind": ("ntasks",),
        "task_frame": ("ntasks",),  # of a task on a frame, which
        "row_start": ("nrows",),  # degrees of freedom that support a row of a constraint or a task: first and count
        "row_count": ("nrows",),
        "row_dof": ("nsupport",),
        "group_start": ("ngroups",),  # rows that share joints, directly or through others: first and count
        "group_count": ("ngroups",),
        "group_row": ("nrows",),
    },
    floats={},
)
"""A mechanism with its constraints, and tasks: row ``nc + 3 t`` is the first of task ``t``."""


def task_tree(mechanism: Model, frames: Sequence[str], tasks: Sequence[tuple[int, int]]) -> Tree:
    """The arrays of a mechanism with tasks, each a kind and the number of its frame."""
    tree = constrained_tree(mechanism, frames)
    parent = tree.parent.tolist()
    roots = loop_roots(tree)
    supports = row_supports(tree, roots)
    for kind, frame in tasks:
        bodies = range(1, tree.n) if kind == CENTER else ancestors(parent, int(tree.frame_body[frame]))[:-1]
        dofs = {int(tree.iv[i]) + k for i in bodies for k in range(DOF[int(tree.kind[i])])}
        supports += [dofs] * 3
    numbers = connected(supports)
    rows = ragged(sorted(dofs) for dofs in supports)
    groups = ragged([r for r, number in enumerate(numbers) if number == g] for g in range(max(numbers, default=-1) + 1))
    return TASK_TREE.build(
        tree,
        k_root=roots,
        task_kind=np.array([kind for kind, _ in tasks], dtype=np.int64),
        task_frame=np.array([frame for _, frame in tasks], dtype=np.int64),
        row_start=rows.start,
        row_count=rows.count,
        row_dof=rows.entries,
        group_start=groups.start,
        group_count=groups.count,
        group_row=groups.entries,
    )
