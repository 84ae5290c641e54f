# SPDX-License-Identifier: BSD-3-Clause
"""The joints that support each constraint row, and which rows have to be solved for together (closing loops)."""

from __future__ import annotations

import numpy as np

from linkwork.model.graphs import ancestors, common_ancestor, connected
from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.constraints import CONSTRAINED_TREE, constrained_tree
from linkwork.plans.layout import Integers, Layout, ragged
from linkwork.plans.tree import Tree

ASSEMBLY_TREE = CONSTRAINED_TREE.extended(
    "assembly",
    sizes=("nrows", "nsupport", "ngroups"),
    integers={
        "k_root": ("nk",),  # the loop root of a pair, whose ancestors move both bodies alike; else the world
        "row_start": ("nrows",),  # degrees of freedom that support a row of a constraint or a task: first and count
        "row_count": ("nrows",),
        "row_dof": ("nsupport",),
        "group_start": ("ngroups",),  # rows that share joints, directly or through others: first and count
        "group_count": ("ngroups",),
        "group_row": ("nrows",),
    },
    floats={},
)
"""A mechanism with its constraints, and the joints that close each of them."""


def loop_roots(tree: Tree) -> Integers:
    """``k_root``: of each row of K the loop root of its pair, or the world."""
    parent = tree.parent.tolist()
    k_root = np.zeros(tree.nk, dtype=np.int64)
    for first, second in zip(tree.pair_first_k.tolist(), tree.pair_second_k.tolist(), strict=True):
        root = common_ancestor(ancestors(parent, int(tree.k_body[k])) for k in (first, second))
        k_root[first : 2 * second - first] = root
    return k_root


def row_supports(tree: Tree, k_root: Integers) -> list[set[int]]:
    """The degrees of freedom that support each row of a constraint."""
    parent = tree.parent.tolist()
    supports: list[set[int]] = [set() for _ in range(tree.nc)]
    for body, root, row in zip(tree.k_body.tolist(), k_root.tolist(), tree.k_row.tolist(), strict=True):
        line = ancestors(parent, body)
        for i in line[: line.index(root)]:
            supports[row] |= set(range(int(tree.iv[i]), int(tree.iv[i]) + DOF[int(tree.kind[i])]))
    for dof, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        supports[row].add(dof)
    return supports


def with_supports(layout: Layout, tree: Tree, k_root: Integers, supports: list[set[int]], **arrays: Integers) -> Tree:
    """The arrays of a mechanism, with the supports of its rows and further arrays of the layout."""
    numbers = connected(supports)
    rows = ragged(sorted(dofs) for dofs in supports)
    groups = ragged([r for r, number in enumerate(numbers) if number == g] for g in range(max(numbers, default=-1) + 1))
    return layout.build(
        tree,
        k_root=k_root,
        row_start=rows.start,
        row_count=rows.count,
        row_dof=rows.entries,
        group_start=groups.start,
        group_count=groups.count,
        group_row=groups.entries,
        **arrays,
    )


def assembly_tree(mechanism: Model) -> Tree:
    """The arrays of a mechanism with the supports of its rows."""
    tree = constrained_tree(mechanism)
    k_root = loop_roots(tree)
    return with_supports(ASSEMBLY_TREE, tree, k_root, row_supports(tree, k_root))
