# SPDX-License-Identifier: BSD-3-Clause
"""Limbs of a tree: chains of bodies without a branch, whose degrees of freedom are neighbors in ``v``.

An arm, a leg, a finger or a free body is a limb. The mass matrix has a dense block for each limb, and one for each limb
with each of its ancestors; bodies that touch couple their limbs. So limbs are the blocks of the reduced matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.joints import DOF
from linkwork.plans.layout import Shape
from linkwork.plans.tree import Tree

LIMB_SIZES = (
    "nlimbs",
    "ndiagonal",  # numbers of all diagonal blocks
    "nstatic",  # numbers of blocks of limbs with their ancestors
    "nblocks",  # room for numbers of all blocks that are not on the diagonal
)
LIMB_INTEGERS: dict[str, Shape] = {
    "limb_v": ("nlimbs",),  # first degree of freedom, and their count
    "limb_size": ("nlimbs",),
    "limb_parent": ("nlimbs",),  # -1: the world
    "limb_diagonal": ("nlimbs",),  # where its diagonal block begins
    "limb_reach": ("nlimbs",),  # degrees of freedom of the limb and its ancestors
    "limb_block": ("nlimbs",),  # where the block with an ancestor would begin that has none: see `ancestor_block`
    "body_limb": ("n",),  # -1 of the world
    "dof_limb": ("nv",),
}

BLOCK_ROOM = 200
"""Blocks for each limb that the factor has room for, where a full matrix would take more."""


def limb_tables(tree: Tree) -> dict[str, Any]:
    """The fields of `LIMB_SIZES` and `LIMB_INTEGERS`, for `Layout.build`.

    Args:
        tree: The arrays of a mechanism.
    """
    n, nv = int(tree.n), int(tree.nv)
    parent, first = tree.parent, tree.iv
    ends = [int(first[i]) + (DOF[int(tree.kind[i])] if i else 0) for i in range(n)]
    children = np.bincount(parent[1:], minlength=n)
    body_limb, starts, parents = np.full(n, -1), list[int](), list[int]()
    for i in range(1, n):
        h = int(parent[i])
        if h and children[h] == 1 and ends[h] == first[i]:
            body_limb[i] = body_limb[h]
        else:
            body_limb[i] = len(starts)
            starts.append(int(first[i]))
            parents.append(int(body_limb[h]))
    dof_limb = np.zeros(nv, dtype=np.int64)
    for i in range(1, n):
        dof_limb[first[i] : ends[i]] = body_limb[i]
    sizes = np.bincount(dof_limb, minlength=len(starts)) if nv else np.zeros(0, dtype=np.int64)
    reach, blocks, static = list[int](), list[int](), 0
    for limb, ancestor in enumerate(parents):
        above = reach[ancestor] if ancestor >= 0 else 0
        reach.append(above + int(sizes[limb]))
        static += int(sizes[limb]) * above
        blocks.append(static)
    squares = sizes * sizes
    full = (nv * nv - int(squares.sum())) // 2
    return {
        "ndiagonal": int(squares.sum()),
        "nstatic": static,
        "nblocks": min(full, static + BLOCK_ROOM * int(squares.sum())),
        "limb_v": starts,
        "limb_size": sizes,
        "limb_parent": parents,
        "limb_reach": reach,
        "limb_block": blocks,
        "limb_diagonal": np.cumsum(squares) - squares,
        "body_limb": body_limb,
        "dof_limb": dof_limb,
    }
