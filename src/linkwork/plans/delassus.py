# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of the Delassus operator, in patches: the points at which the same two bodies touch.

A point between two bodies (`Point`, three rows) is a force and its two lever arms; as rows of K it would be 36 numbers.
Points of a patch share the rotation between the bodies, which is all that they need of the configuration beside their
arms, and their forces add up before they are turned. Rows of all other constraints are rows of K as before.
"""

from __future__ import annotations

import numpy as np

from linkwork.model.model import Model
from linkwork.model.pairs import ANY_TURN, MEET
from linkwork.plans.constraints import CONSTRAINED_TREE, constrained_tree
from linkwork.plans.layout import ragged
from linkwork.plans.tree import Tree

DELASSUS_TREE = CONSTRAINED_TREE.extended(
    "delassus",
    sizes=("npatches", "npoints"),
    integers={
        "patch_first": ("npatches",),  # the two bodies of a patch,
        "patch_second": ("npatches",),
        "patch_first_pose": ("npatches",),  # their poses,
        "patch_second_pose": ("npatches",),
        "patch_start": ("npatches",),  # and its points: first and count
        "patch_count": ("npatches",),
        "point_row": ("npoints",),  # the first row of a point,
        "point_first": ("npoints",),  # its frames,
        "point_second": ("npoints",),
        "point_rotated": ("npoints",),  # and whether its rows are along other axes than those of the first body
    },
    floats={},
)
"""A mechanism with its constraints, those that hold a point by patches."""


def delassus_tree(mechanism: Model, moving: bool = False) -> Tree:
    """The arrays of a mechanism with its contact points in patches.

    Args:
        mechanism: The mechanism.
        moving: Whether frames of points are put elsewhere later, and turned.
    """
    tree = constrained_tree(mechanism, joint_level=True)
    is_point = (tree.pair_rotation == ANY_TURN) & (tree.pair_translation == MEET)
    body = {
        p: (int(tree.frame_body[tree.pair_first[p]]), int(tree.frame_body[tree.pair_second[p]]))
        for p in range(tree.npairs)
    }
    patches: dict[tuple[int, int], list[int]] = {}
    for p in np.flatnonzero(is_point).tolist():
        patches.setdefault(body[p], []).append(p)
    of_patch = ragged(patches.values())
    points, first = of_patch.entries, of_patch.entries[of_patch.start]
    turned = [not np.array_equal(R, np.eye(3)) for R in tree.frame_rotation[tree.pair_first[points]]]
    return DELASSUS_TREE.build(
        _without_points(tree, is_point),
        patch_first=[i for i, _ in patches],
        patch_second=[j for _, j in patches],
        patch_first_pose=tree.pair_first_pose[first],
        patch_second_pose=tree.pair_second_pose[first],
        patch_start=of_patch.start,
        patch_count=of_patch.count,
        point_row=tree.pair_row[points],
        point_first=tree.pair_first[points],
        point_second=tree.pair_second[points],
        point_rotated=np.ones(len(points)) if moving else turned,
    )


def _without_points(tree: Tree, is_point: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Tree:
    """The same without some pairs that have three rows each, and without their rows of K."""
    kept = np.ones(tree.nk, dtype=bool)
    for start in (tree.pair_first_k, tree.pair_second_k):
        for k in range(3):
            kept[start[is_point] + k] = False
    place = np.cumsum(kept) - 1
    pairs = {
        name: getattr(tree, name)[~is_point] for name, shape in CONSTRAINED_TREE.shapes.items() if shape[0] == "npairs"
    }
    starts = {name: place[pairs[name]] for name in ("pair_first_k", "pair_second_k")}
    others = ("com_k", "combination_k", "combination_world_k")
    return CONSTRAINED_TREE.build(
        tree,
        nk_link=int(kept.sum()),
        k_body=tree.k_body[kept],
        k_row=tree.k_row[kept],
        **pairs | starts | {name: place[getattr(tree, name)] for name in others},
    )
