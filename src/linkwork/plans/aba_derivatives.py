# SPDX-License-Identifier: BSD-3-Clause
"""Paths of degrees of freedom to the root, for the mass matrix's factor and its inverse (`kernels.aba_derivatives`).

Featherstone's expanded parent array, with ancestors numbered by depth: rows of ``M = L' D L`` and of ``L^-1`` have an
entry for each ancestor, and those of an ancestor are the first of its descendants'. Columns are handled four at a time,
in *lines*: a line is related to a degree of freedom if one of its columns is that of an ancestor or descendant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.layout import Shape, ragged
from linkwork.plans.tree import LOCAL, TREE, Tree, tree_of

LINE = 4
"""Columns of a line, and steps of a path that are taken together."""

PATH_SIZES = (
    "ndepth",  # degrees of freedom of the longest path, rounded up to lines
    "ncolumns",  # degrees of freedom, rounded up to lines
    "nrelated",
)
PATH_INTEGERS: dict[str, Shape] = {
    "depth": ("nv",),  # ancestors of each degree of freedom
    "path": ("nv", "ndepth"),  # these from the root, the degree of freedom itself, zeros
    "related_start": ("nv",),  # first columns of the lines that are related to it: first and count
    "related_count": ("nv",),
    "related_column": ("nrelated",),
}

PATH_TREE = TREE.extended("paths", sizes=PATH_SIZES, integers=PATH_INTEGERS, floats={})
"""A tree with the paths of its degrees of freedom to the root."""


def path_tree(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> Tree:
    """The arrays of a mechanism with the paths of its degrees of freedom."""
    tree = tree_of(mechanism, frames, reference)
    return PATH_TREE.build(tree, **path_fields(tree))


def path_fields(tree: Tree, coupled: Iterable[Sequence[int]] = ()) -> dict[str, Any]:
    """The fields of paths, for a layout that has them.

    ``coupled`` are sets of degrees of freedom that are related besides, each with all ancestors of its members.
    """
    paths: list[list[int]] = [[] for _ in range(tree.nv)]
    last: list[list[int]] = [[] for _ in range(tree.n)]
    for i in range(1, tree.n):
        before = last[int(tree.parent[i])]
        for k in range(int(tree.iv[i]), int(tree.iv[i]) + DOF[int(tree.kind[i])]):
            before = paths[k] = [*before, k]
        last[i] = before
    longest = max((len(path) for path in paths), default=0)
    ndepth = -(-longest // LINE) * LINE
    table = np.zeros((tree.nv, ndepth), dtype=np.int64)
    related: list[set[int]] = [set() for _ in range(tree.nv)]
    for k, path in enumerate(paths):
        table[k, : len(path)] = path
        for i in path:
            related[k].add(i // LINE * LINE)
            related[i].add(k // LINE * LINE)
    for group in coupled:
        lines_of_group = {k // LINE * LINE for k in group}
        for k in group:
            related[k] |= lines_of_group
    lines = ragged(sorted(columns) for columns in related)
    return {
        "ndepth": ndepth,
        "ncolumns": -(-tree.nv // LINE) * LINE,
        "depth": [len(path) - 1 for path in paths],
        "path": table,
        "related_start": lines.start,
        "related_count": lines.count,
        "related_column": lines.entries,
    }
