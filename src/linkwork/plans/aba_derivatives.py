# SPDX-License-Identifier: BSD-3-Clause
"""Paths of degrees of freedom to the root, for the mass matrix's factor and its inverse (`kernels.aba_derivatives`).

Featherstone's expanded parent array, with ancestors numbered by depth: rows of ``M = L' D L`` and of ``L^-1`` have an
entry for each ancestor, and those of an ancestor are the first of its descendants'. Columns are handled four at a time,
in *lines*. Two degrees of freedom are related if one is an ancestor of the other, or both are the same; a line is
related to one if one of its columns is.
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
"""Columns of a line."""

PATHS: dict[str, Shape] = {
    "depth": ("nv",),  # ancestors of each degree of freedom
    "path": ("nv", "ndepth"),  # these from the root, the degree of freedom itself, zeros
}
PATH_SIZES = (
    "ndepth",  # degrees of freedom of the longest path, rounded up to lines
    "ncolumns",  # degrees of freedom, rounded up to lines
    "nrelated",
)
PATH_INTEGERS: dict[str, Shape] = PATHS | {
    "related_start": ("nv",),  # first columns of the lines that are related to it: first and count
    "related_count": ("nv",),
    "related_column": ("nrelated",),
}

PATH_TREE = TREE.extended(
    "paths",
    sizes=(*PATH_SIZES, "nlines"),
    integers=PATHS
    | {
        "line_start": ("nlines",),  # degrees of freedom that are related to a line: first and count
        "line_count": ("nlines",),
        "line_dof": ("nrelated",),
        "reach": ("nv", "nlines"),  # how many of a path, from the root, are related to a line
        "common": ("nv", "nlines"),  # how many of them are ancestors of one of its columns, or one themselves
    },
    floats={},
)
"""A tree with the paths of its degrees of freedom to the root."""


def path_tree(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> Tree:
    """The arrays of a mechanism with the paths of its degrees of freedom."""
    tree = tree_of(mechanism, frames, reference)
    paths = [set(path) for path in _paths(tree)]
    related = [set(path) for path in paths]
    for k, path in enumerate(paths):
        for i in path:
            related[i].add(k)
    lines = [range(first, min(first + LINE, tree.nv)) for first in range(0, tree.nv, LINE)]
    near = [set[int]().union(*(related[c] for c in line)) for line in lines]
    above = [set[int]().union(*(paths[c] for c in line)) for line in lines]
    dofs = ragged(sorted(rows) for rows in near)
    return PATH_TREE.build(
        tree,
        **_path_table(_paths(tree)),
        nlines=len(lines),
        line_start=dofs.start,
        line_count=dofs.count,
        line_dof=dofs.entries,
        reach=[[len(path & rows) for rows in near] for path in paths],
        common=[[len(path & rows) for rows in above] for path in paths],
    )


def path_fields(tree: Tree, coupled: Iterable[Sequence[int]] = ()) -> dict[str, Any]:
    """The fields of `PATH_INTEGERS`, for a layout that has them.

    ``coupled`` are sets of degrees of freedom that are related besides, each with all ancestors of its members.
    """
    paths = _paths(tree)
    related: list[set[int]] = [set() for _ in paths]
    for k, path in enumerate(paths):
        for i in path:
            related[k].add(i // LINE * LINE)
            related[i].add(k // LINE * LINE)
    for group in coupled:
        lines_of_group = {k // LINE * LINE for k in group}
        for k in group:
            related[k] |= lines_of_group
    lines = ragged(sorted(columns) for columns in related)
    return {
        **_path_table(paths),
        "related_start": lines.start,
        "related_count": lines.count,
        "related_column": lines.entries,
    }


def _paths(tree: Tree) -> list[list[int]]:
    """The ancestors of each degree of freedom from the root, and itself."""
    paths: list[list[int]] = [[] for _ in range(tree.nv)]
    last: list[list[int]] = [[] for _ in range(tree.n)]
    for i in range(1, tree.n):
        before = last[int(tree.parent[i])]
        for k in range(int(tree.iv[i]), int(tree.iv[i]) + DOF[int(tree.kind[i])]):
            before = paths[k] = [*before, k]
        last[i] = before
    return paths


def _path_table(paths: list[list[int]]) -> dict[str, Any]:
    longest = max((len(path) for path in paths), default=0)
    table = np.zeros((len(paths), -(-longest // LINE) * LINE), dtype=np.int64)
    for k, path in enumerate(paths):
        table[k, : len(path)] = path
    return {
        "ndepth": table.shape[1],
        "ncolumns": -(-len(paths) // LINE) * LINE,
        "depth": [len(path) - 1 for path in paths],
        "path": table,
    }
