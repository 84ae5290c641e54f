# SPDX-License-Identifier: BSD-3-Clause
"""Where derivatives of constraint rows end: at the root of a loop, or at the world.

A row between bodies does not change where all of them move together, so that joints before the root of their loop have
no part in its derivatives. Rows of vectors between points that are to meet do change there while these are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from linkwork.model.model import Model
from linkwork.model.pairs import MEET
from linkwork.plans.aba_derivatives import LINE, PATH_INTEGERS, PATH_SIZES, path_fields
from linkwork.plans.layout import Shape, ragged
from linkwork.plans.ltl import LTL_TREE, ltl_tree
from linkwork.plans.tree import Tree

ROW_SIZES = (
    "nrow_columns",  # rows, rounded up to lines
    "nbound",
    "redundant",  # 1 if rows may depend on others, open loops included
    "soft",  # 1 if rows give way
)
ROW_INTEGERS: dict[str, Shape] = {
    "k_root": ("nk",),  # the body before which a row of K has no derivatives
    "is_bound": ("nv",),  # 1 for degrees of freedom that support rows
    "bound": ("nbound",),  # these
    "dof_row_start": ("nv",),  # rows that a degree of freedom supports: first and count
    "dof_row_count": ("nv",),
    "dof_row": ("nsupport",),
}

DERIVATIVE_TREE = LTL_TREE.extended(
    "derivative",
    sizes=(*PATH_SIZES, *ROW_SIZES),
    integers={
        **PATH_INTEGERS,
        **ROW_INTEGERS,
        "bound_depth": ("nv",),  # how many of a path, from the root, support rows
    },
    floats={},
)
"""A mechanism with its constraints by degrees of freedom, their paths, and where derivatives of rows end."""

TURN_ROWS = (0, 3, 2, 1)
"""Rows of each kind of `pairs` that are about axes."""


def derivative_tree(robot: Model, frames: Sequence[str] = (), redundant: bool = True, soft: bool = False) -> Tree:
    """The arrays that derivatives of constrained dynamics read.

    ``redundant`` says whether some rows depend on others: then forces are the smallest ones. ``soft`` says whether
    rows give way.
    """
    tree = ltl_tree(robot, frames)
    rows = row_fields(tree, redundant, soft)
    paths, bound = path_fields(tree, row_supports(tree)), rows["is_bound"]
    return DERIVATIVE_TREE.build(
        tree,
        bound_depth=[int(bound[path[: d + 1]].sum()) for path, d in zip(paths["path"], paths["depth"], strict=True)],
        **rows,
        **paths,
    )


def row_supports(tree: Tree) -> list[set[int]]:
    """The degrees of freedom that support each row."""
    starts = zip(tree.row_start.tolist(), tree.row_count.tolist(), strict=True)
    return [set(tree.row_dof[start : start + count].tolist()) for start, count in starts]


def row_fields(tree: Tree, redundant: bool, soft: bool) -> dict[str, Any]:
    """The fields of rows, for a layout that has them; of an `ltl_tree`."""
    roots = np.zeros(tree.nk, dtype=np.int64)
    for p in range(tree.npairs):
        root = common_body(tree, int(tree.frame_body[tree.pair_first[p]]), int(tree.frame_body[tree.pair_second[p]]))
        meets = tree.pair_translation[p] == MEET
        count = int(tree.pair_second_k[p] - tree.pair_first_k[p])  # rows of the first body come first
        for k in range(count):
            if k < TURN_ROWS[int(tree.pair_rotation[p])] or not meets:
                roots[tree.pair_first_k[p] + k] = roots[tree.pair_second_k[p] + k] = root
    for r in tree.tendon_row.tolist():
        parts = [k for k in tree.tendon_k.tolist() if tree.k_row[k] == r]
        bodies = [int(tree.k_body[k]) for k in parts]
        roots[parts] = reduce(partial(common_body, tree), bodies, bodies[0]) if bodies else 0
    supports = row_supports(tree)
    bound = np.isin(np.arange(tree.nv), tree.row_dof)
    rows = ragged([r for r, support in enumerate(supports) if k in support] for k in range(tree.nv))
    return {
        "nrow_columns": -(-tree.nc // LINE) * LINE,
        "redundant": int(redundant),
        "soft": int(soft),
        "k_root": roots,
        "is_bound": bound,
        "bound": np.flatnonzero(bound),
        "dof_row_start": rows.start,
        "dof_row_count": rows.count,
        "dof_row": rows.entries,
    }


def row_tree(robot: Model) -> Tree:
    """The plan of derivatives of rows alone: without Baumgarte's gains."""
    tree = derivative_tree(robot)
    return tree._replace(has_gains=0, kp=np.zeros(tree.nc), kd=np.zeros(tree.nc))


def error_tree(robot: Model) -> Tree:
    """The plan of derivatives of errors: rows with a gain of one at zero velocity and acceleration."""
    tree = derivative_tree(robot)
    return tree._replace(has_gains=1, kp=np.ones(tree.nc), kd=np.zeros(tree.nc), gravity=np.zeros(3))


def common_body(tree: Tree, i: int, j: int) -> int:
    """The nearest common ancestor of two bodies."""
    while i != j:
        i, j = (int(tree.parent[i]), j) if i > j else (i, int(tree.parent[j]))
    return i
