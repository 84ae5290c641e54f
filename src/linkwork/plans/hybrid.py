# SPDX-License-Identifier: BSD-3-Clause
"""Joints whose motion is prescribed, in a tree, and as rows of a mechanism with constraints (`kernels.tree.hybrid`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from linkwork.model.model import Model
from linkwork.plans.layout import Layout
from linkwork.plans.tree import TREE, Tree, tree_of

HYBRID_TREE = TREE.extended("hybrid", sizes=(), integers={"prescribed": ("n",)}, floats={})
"""A mechanism without constraints, and 1 for each body whose joint has a prescribed motion."""


def hybrid_tree(robot: Model, frames: Sequence[str], dofs: Sequence[int]) -> Tree:
    """The arrays of a tree.

    Args:
        robot: The mechanism.
        frames: Frames that external wrenches act on.
        dofs: Degrees of freedom of the joints with a prescribed motion.
    """
    tree = tree_of(robot, frames)
    return HYBRID_TREE.build(tree, prescribed=[0, *(int(v) in dofs for v in tree.iv[1:])])


@cache
def hybrid_layout(layout: Layout) -> Layout:
    """The layout of a method of constrained dynamics, with the row of each prescribed degree of freedom, -1 of others.

    Args:
        layout: Of the method.
    """
    return layout.extended(f"hybrid_{layout.name}", sizes=(), integers={"prescribed_row": ("nv",)}, floats={})
