# SPDX-License-Identifier: BSD-3-Clause
"""Paths of degrees of freedom to the root, for the mass matrix's factor and its inverse (`kernels.aba_derivatives`).

Featherstone's expanded parent array, with ancestors numbered by depth: rows of ``M = L' D L`` and of ``L^-1`` have an
entry for each ancestor, and those of an ancestor are the first of its descendants'. Columns are handled four at a time,
in *lines*: a line is related to a degree of freedom if one of its columns is that of an ancestor or descendant. Rows
are handled four at a time as well, in *blocks* of degrees of freedom that lie on one path.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.layout import ragged
from linkwork.plans.tree import LOCAL, TREE, Tree, tree_of

LINE = 4
"""Columns of a line, and steps of a path that are taken together."""

PATH_TREE = TREE.extended(
    "paths",
    sizes=(
        "ndepth",  # degrees of freedom of the longest path, rounded up to lines
        "ncolumns",  # degrees of freedom, rounded up to lines
        "nrelated",
        "nblocks",
        "nrows",  # degrees of freedom, and one that stands for none
    ),
    integers={
        "depth": ("nv",),  # ancestors of each degree of freedom
        "path": ("nv", "ndepth"),  # these from the root, the degree of freedom itself, zeros
        "related_start": ("nv",),  # first columns of the lines that are related to it: first and count
        "related_count": ("nv",),
        "related_column": ("nrelated",),
        "block": ("nblocks", LINE),  # four degrees of freedom, from the root; ``nv`` for none
        "block_end": ("nblocks",),  # the last of them, whose path has the others
    },
    floats={},
)
"""A tree with the paths of its degrees of freedom to the root."""


def path_tree(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> Tree:
    """The arrays of a mechanism with the paths of its degrees of freedom."""
    tree = tree_of(mechanism, frames, reference)
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
    lines = ragged(sorted(columns) for columns in related)
    blocks = _blocks(paths)
    return PATH_TREE.build(
        tree,
        ndepth=ndepth,
        ncolumns=-(-tree.nv // LINE) * LINE,
        depth=[len(path) - 1 for path in paths],
        path=table,
        related_start=lines.start,
        related_count=lines.count,
        related_column=lines.entries,
        nrows=tree.nv + 1,
        block=[[*block, *[tree.nv] * (LINE - len(block))] for block in blocks],
        block_end=[block[-1] for block in blocks],
    )


def _blocks(paths: list[list[int]]) -> list[list[int]]:
    """Degrees of freedom in blocks of at most four on a path, few blocks: longest paths first."""
    length = [0] * len(paths)
    for path in reversed(paths):
        for above, k in enumerate(reversed(path)):
            length[k] = max(length[k], above)
    children: list[list[int]] = [[] for _ in paths]
    starts = []
    for k, path in enumerate(paths):
        (children[path[-2]] if len(path) > 1 else starts).append(k)
    blocks = []
    while starts:
        chain = [starts.pop()]
        while children[chain[-1]]:
            others = sorted(children[chain[-1]], key=length.__getitem__)
            starts += others[:-1]
            chain.append(others[-1])
        blocks += [chain[k : k + LINE] for k in range(0, len(chain), LINE)]
    return sorted(blocks)
