# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of the Delassus operator, in patches: the points at which the same two bodies touch.

A point between two bodies (`Point`, three rows) is a force and its two lever arms; as rows of K it would be 36 numbers.
Points of a patch share the rotation between the bodies, which is all that they need of the configuration beside their
arms, and their forces add up before they are turned. Rows of all other constraints are rows of K as before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.model.model import Model
from linkwork.model.pairs import ANY_TURN, MEET
from linkwork.plans.constraints import CONSTRAINED_TREE, constrained_tree
from linkwork.plans.layout import Shape, ragged
from linkwork.plans.lcaba import LCABA_TREE, lcaba_tree
from linkwork.plans.tree import Tree

Mask = npt.NDArray[np.bool_]

_PATCH_SIZES = ("npatches", "npoints")
_PATCHES: dict[str, Shape] = {
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
}

DELASSUS_TREE = CONSTRAINED_TREE.extended("delassus", _PATCH_SIZES, _PATCHES, {})
"""A mechanism with its constraints, those that hold a point by patches."""

DAMPED_TREE = LCABA_TREE.extended(
    "damped",
    (*_PATCH_SIZES, "nother_k"),
    _PATCHES | {"other_k": ("nother_k",)},  # rows of K on moving bodies that are not of points
    {},
)
"""The layout with the order of elimination. Rows of K of points are there as well, for springs."""


def delassus_tree(mechanism: Model, moving: bool = False) -> Tree:
    """The arrays of a mechanism with its contact points in patches.

    Args:
        mechanism: The mechanism.
        moving: Whether frames of points are put elsewhere later, and turned.
    """
    tree = constrained_tree(mechanism, joint_level=True)
    is_point = _are_points(tree)
    return DELASSUS_TREE.build(_without_points(tree, is_point), **_patches(tree, is_point, moving))


def damped_tree(mechanism: Model, moving: bool = False) -> Tree:
    """The plan with its order of elimination.

    Args:
        mechanism: The mechanism.
        moving: Whether frames of points are put elsewhere later, and turned.
    """
    tree = lcaba_tree(mechanism)
    is_point = _are_points(tree)
    other = tree.outer_k[(_not_of_points(tree, is_point) & (tree.k_body > 0))[tree.outer_k]]
    return DAMPED_TREE.build(tree, other_k=other, **_patches(tree, is_point, moving))


def _are_points(tree: Tree) -> Mask:
    """Which pairs hold a point and no more."""
    points: Mask = (tree.pair_rotation == ANY_TURN) & (tree.pair_translation == MEET)
    return points


def _patches(tree: Tree, is_point: Mask, moving: bool) -> dict[str, Any]:
    """The points by the two bodies that they are on."""
    first, second = tree.frame_body[tree.pair_first], tree.frame_body[tree.pair_second]
    patches: dict[tuple[int, int], list[int]] = {}
    for p in np.flatnonzero(is_point).tolist():
        patches.setdefault((int(first[p]), int(second[p])), []).append(p)
    of_patch = ragged(patches.values())
    points, any_point = of_patch.entries, of_patch.entries[of_patch.start]
    turned = [moving or not np.array_equal(R, np.eye(3)) for R in tree.frame_rotation[tree.pair_first[points]]]
    return {
        "patch_first": [i for i, _ in patches],
        "patch_second": [j for _, j in patches],
        "patch_first_pose": tree.pair_first_pose[any_point],
        "patch_second_pose": tree.pair_second_pose[any_point],
        "patch_start": of_patch.start,
        "patch_count": of_patch.count,
        "point_row": tree.pair_row[points],
        "point_first": tree.pair_first[points],
        "point_second": tree.pair_second[points],
        "point_rotated": turned,
    }


def _not_of_points(tree: Tree, is_point: Mask) -> Mask:
    """Which rows of K are not those of points."""
    kept = np.ones(tree.nk, dtype=bool)
    for start in (tree.pair_first_k, tree.pair_second_k):
        for k in range(3):
            kept[start[is_point] + k] = False
    return kept


def _without_points(tree: Tree, is_point: Mask) -> Tree:
    """The plan without points and their rows of K."""
    kept = _not_of_points(tree, is_point)
    place = np.cumsum(kept) - 1
    names = [name for name, shape in CONSTRAINED_TREE.shapes.items() if shape[0] == "npairs"]
    pairs = {name: getattr(tree, name)[~is_point] for name in names}
    starts = {name: place[pairs[name]] for name in ("pair_first_k", "pair_second_k")}
    others = (
        *("com_k", "combination_k", "combination_world_k", "joint_row_k", "joint_row_parent_k"),
        *("tendon_k", "row_segment_first_k", "row_segment_second_k"),
    )
    return CONSTRAINED_TREE.build(
        tree,
        nk_link=int(kept.sum()),
        k_body=tree.k_body[kept],
        k_row=tree.k_row[kept],
        **pairs | starts | {name: place[getattr(tree, name)] for name in others},
    )
