# SPDX-License-Identifier: BSD-3-Clause
"""Limits and dry friction of tendons in steps by the reduced matrix: boxes on several degrees of freedom.

They come after the boxes of joints (`contact_lcaba.box_tables`), with no degree of freedom of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.model import Model
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.bodies import BodyTable
from linkwork.plans.contact_balls import BallBox
from linkwork.plans.implicit_damping import dofs_of_tendon
from linkwork.plans.layout import Integers, Shape
from linkwork.plans.tree import Tree

TENDON_BOX_SIZES = (
    "njoint_boxes",  # limits and dry friction of joints; all further boxes are those of tendons
    "ntendon_boxes",
    "ntendon_sides",
)
TENDON_BOX_INTEGERS: dict[str, Shape] = {
    "tendon_box": ("ntendon_boxes",),  # the tendon
    "tendon_box_limits": ("ntendon_boxes",),  # 1 of a limit, 0 of dry friction
    "tendon_box_side": ("ntendon_boxes",),  # limbs that its length depends on
    "tendon_box_sides": ("ntendon_boxes",),
    "tendon_side": ("ntendon_sides",),
}


class TendonBox(NamedTuple):
    """A limit of a tendon, or its dry friction."""

    tendon: int
    limits: bool
    sign: float
    value: float
    """The limit."""
    lower: float
    """Between which numbers its force is."""
    upper: float


def tendon_boxes(model: Model, limits: bool) -> list[TendonBox]:
    """Limits of tendons that are no springs, and dry friction of tendons.

    Args:
        model: The mechanism.
        limits: Whether limits are among them.
    """
    boxes = list[TendonBox]()
    for t, tendon in enumerate(model.tendons):
        for sign, bound in zip((1.0, -1.0), tendon.limits, strict=True):
            if limits and np.isfinite(bound) and not any(tendon.stop):
                boxes.append(TendonBox(t, True, sign, bound, 0.0, UNBOUNDED))
        if tendon.friction > 0:
            boxes.append(TendonBox(t, False, 1.0, 0.0, -tendon.friction, tendon.friction))
    return boxes


def with_wide_boxes(joints: Mapping[str, list[Any]], boxes: Sequence[TendonBox | BallBox]) -> dict[str, list[Any]]:
    """The fields ``box_`` of joints, and after them those of boxes on several degrees of freedom.

    Args:
        joints: Result of `contact_lcaba.box_tables`.
        boxes: Those of tendons and ball joints.
    """
    none = [-1] * len(boxes)
    more: dict[str, list[Any]] = {
        "box_v": none,
        "box_q": none,
        "box_sign": [box.sign for box in boxes],
        "box_value": [box.value for box in boxes],
        "box_lower": [box.lower for box in boxes],
        "box_upper": [box.upper for box in boxes],
    }
    return {name: [*column, *more[name]] for name, column in joints.items()}


def limbs_of_tendons(
    model: Model, tree: Tree, bodies: BodyTable, dof_limb: Integers, boxes: list[TendonBox]
) -> list[list[int]]:
    """Limbs that the tendon of each box depends on, those that are further from the root first.

    Args:
        model: The mechanism.
        tree: Its arrays.
        bodies: Its bodies.
        dof_limb: The limb of each degree of freedom.
        boxes: The boxes.
    """
    of: dict[int, list[int]] = {}
    for t in {box.tendon for box in boxes}:
        dofs = dofs_of_tendon(model, tree, bodies, t)
        of[t] = sorted({int(dof_limb[k]) for k in dofs}, reverse=True)
    return [of[box.tendon] for box in boxes]
