# SPDX-License-Identifier: BSD-3-Clause
"""Mocap bodies: frames of the world whose placements are inputs, and the items that move with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.errors import InputError
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactShape, changed_shapes
from linkwork.model.model import Model
from linkwork.model.parts import mocap_frames
from linkwork.model.placement import Placement
from linkwork.model.rotations import quaternion_matrix, quaternion_of


def mocap_bodies(robot: Model) -> list[str]:
    """Frames of the world whose placements are given from outside, by name."""
    return mocap_frames(robot.frames)


def mocap_placements(robot: Model) -> Floats:
    """Placements of mocap bodies, ``(mocap, 7)``: position, quaternion ``x y z w``."""
    places = [robot.frames[name].placement for name in mocap_bodies(robot)]
    return np.array([[*at.position, *quaternion_of(at.rotation)] for at in places]).reshape(-1, 7)


def with_mocap(robot: Model, x: Floats) -> dict[str, Any]:
    """Parts that move with mocap bodies: frames, contact shapes, and visual shapes."""
    moves = {}
    for name, (*position, qx, qy, qz, qw) in zip(mocap_bodies(robot), x, strict=True):
        turn = np.array([qx, qy, qz, qw]) / np.linalg.norm([qx, qy, qz, qw])
        moves[name] = Placement(position, quaternion_matrix(turn)) * robot.frames[name].placement.inverse()

    def touching(shape: ContactShape) -> ContactShape:
        return replace(shape, placement=moves[shape.mocap] * shape.placement) if shape.mocap in moves else shape

    def mocap_of(link: str) -> str:
        return robot.frames[link].mocap if link in robot.frames else ""

    return {
        "frames": {
            name: replace(frame, placement=moves[frame.mocap] * frame.placement) if frame.mocap in moves else frame
            for name, frame in robot.frames.items()
        },
        "contacts": changed_shapes(robot.contacts, touching),
        "shapes": tuple(
            replace(shape, placement=moves[mocap_of(shape.link)] * shape.placement)
            if shape.body == WORLD and mocap_of(shape.link) in moves
            else shape
            for shape in robot.shapes
        ),
    }


def check_turns(x: Any, name: str) -> None:
    """Raise where a quaternion has zero length.

    Args:
        x: Placements, ``(..., mocap, 7)``.
        name: Their name.
    """
    if not (np.abs(np.asarray(x)[..., 3:]).max(axis=-1, initial=0.0) > 0).all():
        raise InputError(f"{name}: a quaternion has zero length; rows are position and quaternion x y z w")
