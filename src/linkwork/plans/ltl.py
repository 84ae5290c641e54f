# SPDX-License-Identifier: BSD-3-Clause
"""Branch-induced sparsity of the mass matrix and of constraint rows (LTL, **proximal** Section IV).

Featherstone's expanded parent array: entry (i, j) of the mass matrix is zero unless one degree of freedom is an
ancestor of the other, and a row is zero but on the degrees of freedom that support its bodies.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.constraints import CONSTRAINED_TREE, constrained_tree
from linkwork.plans.layout import ragged
from linkwork.plans.tree import LOCAL, Tree

LTL_TREE = CONSTRAINED_TREE.extended(
    "ltl",
    sizes=("nsupport",),
    integers={
        "dof_parent": ("nv",),  # the parent of each degree of freedom in the expanded tree, -1 at the world
        "row_start": ("nc",),  # degrees of freedom that support a row's bodies, leaves first: first and count
        "row_count": ("nc",),
        "row_dof": ("nsupport",),
    },
    floats={},
)
"""A mechanism with its constraints, by degrees of freedom."""


def ltl_tree(mechanism: Model, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a mechanism by degrees of freedom."""
    tree = constrained_tree(mechanism, frames, LOCAL, joint_level=True)
    parent = [-1] * tree.nv
    last = [-1] * tree.n
    for i in range(1, tree.n):
        before = last[int(tree.parent[i])]
        for k in range(DOF[int(tree.kind[i])]):
            parent[int(tree.iv[i]) + k] = before
            before = int(tree.iv[i]) + k
        last[i] = before
    supports: list[set[int]] = [set() for _ in range(tree.nc)]

    def add_support(dof: int, row: int) -> None:
        while dof >= 0 and dof not in supports[row]:
            supports[row].add(dof)
            dof = parent[dof]

    for body, row in zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True):
        add_support(last[body], row)
    for v, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        add_support(v, row)
    rows = ragged(sorted(dofs, reverse=True) for dofs in supports)
    return LTL_TREE.build(tree, dof_parent=parent, row_start=rows.start, row_count=rows.count, row_dof=rows.entries)
