# SPDX-License-Identifier: BSD-3-Clause
"""Bodies of a tree level by level: those with as many ancestors, which do not depend on each other, and children."""

from __future__ import annotations

from typing import Any

from linkwork.plans.layout import Shape, ragged
from linkwork.plans.tree import Tree

LEVEL_SIZES = ("nlevels", "nleveled")
LEVEL_INTEGERS: dict[str, Shape] = {
    "level_start": ("nlevels",),
    "level_bodies": ("nlevels",),
    "level_body": ("nleveled",),  # all bodies but the world
    "child_start": ("n",),  # children of a body, the last first
    "children": ("n",),
    "child": ("nleveled",),
}


def level_tables(tree: Tree) -> dict[str, Any]:
    """The fields of `LEVEL_SIZES` and `LEVEL_INTEGERS`, for `Layout.build`.

    Args:
        tree: The arrays of a mechanism.
    """
    parents = [int(h) for h in tree.parent]
    depth = [0] * len(parents)
    children: list[list[int]] = [[] for _ in parents]
    for i, h in enumerate(parents[1:], 1):
        depth[i] = depth[h] + 1
        children[h].insert(0, i)
    levels = ragged([i for i, d in enumerate(depth) if d == level] for level in range(1, max(depth) + 1))
    below = ragged(children)
    return {
        "nlevels": max(depth),
        "nleveled": len(parents) - 1,
        "level_start": levels.start,
        "level_bodies": levels.count,
        "level_body": levels.entries,
        "child_start": below.start,
        "children": below.count,
        "child": below.entries,
    }
