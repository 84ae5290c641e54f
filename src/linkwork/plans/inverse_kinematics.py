# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of inverse kinematics as rows behind those of the constraints: their frames, and the joints that move them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.model.graphs import ancestors
from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.assembly import ASSEMBLY_TREE, loop_roots, row_supports, with_supports
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import Tree

ORIENTATION, POSITION, CENTER = 0, 1, 2
"""Kinds of tasks, of three rows each: orientation of a frame, its position, the center of mass."""

TASK_TREE = ASSEMBLY_TREE.extended(
    "inverse_kinematics",
    sizes=("ntasks",),
    integers={
        "task_kind": ("ntasks",),
        "task_frame": ("ntasks",),  # of a task on a frame, which
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
    kinds, places = (np.array([task[k] for task in tasks], dtype=np.int64) for k in range(2))
    return with_supports(TASK_TREE, tree, roots, supports, task_kind=kinds, task_frame=places)
