# SPDX-License-Identifier: BSD-3-Clause
"""Paths of degrees of freedom to the root, for the mass matrix's factor and its inverse (`kernels.derivatives.aba`).

Featherstone's expanded parent array, with ancestors numbered by depth: rows of ``M = L' D L`` and of ``L^-1`` have an
entry for each ancestor, and those of an ancestor are the first of its descendants'. Columns are handled four at a time,
in *lines*. Two degrees of freedom are related if one is an ancestor of the other, or both are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.layout import Shape, ragged
from linkwork.plans.tree import LOCAL, TREE, Tree, tree_of

LINE = 4
"""Columns of a line."""

PATH_SIZES = (
    "ndepth",  # degrees of freedom of the longest path, rounded up to lines
    "nlines",
    "ncolumns",  # degrees of freedom, rounded up to lines
    "nrelated",
)
PATH_INTEGERS: dict[str, Shape] = {
    "depth": ("nv",),  # ancestors of each degree of freedom
    "path": ("nv", "ndepth"),  # these from the root, the degree of freedom itself, zeros
    "line_start": ("nlines",),  # degrees of freedom that are related to one of a line: first and count
    "line_count": ("nlines",),
    "line_dof": ("nrelated",),
    "reach": ("nv", "nlines"),  # how many of a path, from the root, are related to one of a line
    "common": ("nv", "nlines"),  # how many are the same or ancestors of one of a line
}

PATH_TREE = TREE.extended("paths", sizes=PATH_SIZES, integers=PATH_INTEGERS, floats={})
"""A tree with the paths of its degrees of freedom to the root."""


def path_tree(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> Tree:
    """The arrays of a mechanism with the paths of its degrees of freedom."""
    tree = tree_of(mechanism, frames, reference)
    return PATH_TREE.build(tree, **path_fields(tree))


def path_fields(tree: Tree, coupled: Iterable[Collection[int]] = ()) -> dict[str, Any]:
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
    above = [set(path) for path in paths]
    related = [set(path) for path in paths]
    for k, path in enumerate(paths):
        for i in path:
            related[i].add(k)
    for group in coupled:
        for k in group:
            related[k].update(group)
    longest = max((len(path) for path in paths), default=0)
    lines = [range(first, min(first + LINE, tree.nv)) for first in range(0, tree.nv, LINE)]
    near = [set().union(*(related[c] for c in line)) for line in lines]
    beyond = [set().union(*(above[c] for c in line)) for line in lines]
    rows = ragged(sorted(dofs) for dofs in near)
    table = np.zeros((tree.nv, -(-longest // LINE) * LINE), dtype=np.int64)
    for k, path in enumerate(paths):
        table[k, : len(path)] = path
    return {
        "ndepth": table.shape[1],
        "nlines": len(lines),
        "ncolumns": LINE * len(lines),
        "depth": [len(path) - 1 for path in paths],
        "path": table,
        "line_start": rows.start,
        "line_count": rows.count,
        "line_dof": rows.entries,
        "reach": [[len(above[k] & dofs) for dofs in near] for k in range(tree.nv)],
        "common": [[len(above[k] & dofs) for dofs in beyond] for k in range(tree.nv)],
    }
