# SPDX-License-Identifier: BSD-3-Clause
"""Limits of ball joints in steps by the reduced matrix: one row each, on the three velocities of the joint.

They come after the boxes of joints and tendons (`contact_tendons`), with no degree of freedom of their own.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.model import Model
from linkwork.model.parts import TreeJoint
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.layout import Integers, Shape

BALL_BOX_SIZES = ("nball_boxes",)
BALL_BOX_INTEGERS: dict[str, Shape] = {
    "ball_box_q": ("nball_boxes",),  # the first coordinate of the joint, and its first velocity
    "ball_box_v": ("nball_boxes",),
    "ball_box_limb": ("nball_boxes",),
}
BALL_BOX_FLOATS: dict[str, Shape] = {"ball_D": ("nball_boxes", 3)}
"""Inverse inertia about each axis of the body."""


class BallBox(NamedTuple):
    """The limit of a ball joint."""

    joint: str
    value: float
    """The largest angle."""
    sign: float = -1.0
    lower: float = 0.0
    """Between which numbers its moment is."""
    upper: float = UNBOUNDED


def limited_balls(model: Model) -> list[TreeJoint]:
    """Ball joints with a largest angle.

    Args:
        model: The mechanism.
    """
    return [joint for joint in model.joints if np.isfinite(joint.limits.angle)]


def ball_boxes(model: Model, limited: Collection[str] | bool) -> list[BallBox]:
    """Limits of ball joints.

    Args:
        model: The mechanism.
        limited: Joints whose limits hold; True: all, False: none.
    """
    balls = limited_balls(model)
    named = {joint.name for joint in balls if limited} if isinstance(limited, bool) else set(limited)
    return [BallBox(joint.name, joint.limits.angle) for joint in balls if joint.name in named]


def ball_tables(model: Model, dof_limb: Integers, boxes: list[BallBox]) -> dict[str, Any]:
    """The arrays of `BALL_BOX_INTEGERS`.

    Args:
        model: The mechanism.
        dof_limb: The limb of each degree of freedom.
        boxes: The boxes.
    """
    first = [model.v_slice(box.joint).start for box in boxes]
    return {
        "ball_box_q": [model.q_slice(box.joint).start for box in boxes],
        "ball_box_v": first,
        "ball_box_limb": [int(dof_limb[k]) for k in first],
    }
