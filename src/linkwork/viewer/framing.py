# SPDX-License-Identifier: BSD-3-Clause
"""Size and place of a robot, for a camera that sees all of it from the side that shows most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.drawing.skeleton import floor_of, front, square
from linkwork.model.constraints import WORLD
from linkwork.model.model import Model
from linkwork.model.rotations import aligning_rotation
from linkwork.model.shapes import Ground
from linkwork.quantities.arguments import Array

FIELD_OF_VIEW = np.radians(40.0)
FAR = 2.0
"""A trajectory that spreads over more than this many sizes of the robot is looked at where it starts."""


@dataclass(frozen=True, eq=False)
class Framing:
    """Lengths in meters, directions and points in the world."""

    level: Array
    """The axes of the ground, its normal last, as columns."""
    size: float
    """Of the robot in its first state: the longest edge of the box around it."""
    floor: float
    """The height of the ground along its normal."""
    side: float
    """Of the ground's squares."""
    center: Array
    eye: Array
    """Where to look at `center` from."""
    wanders: bool
    """Whether the robot goes so far that only its start is looked at."""

    @property
    def up(self) -> Array:
        """Against gravity."""
        axis: Array = self.level[:, 2]
        return axis


def framing(robot: Model, points: Array) -> Framing:
    """The camera for points ``(states, points, 3)`` of a robot."""
    strength = float(np.linalg.norm(robot.gravity))
    level = aligning_rotation(-robot.gravity / strength) if strength > 0 else np.eye(3)
    seen = points @ level
    first, whole = (_box(seen[:1]), _box(seen))
    size = max(float((first[1] - first[0]).max()), 1e-3)
    wanders = float((whole[1] - whole[0]).max()) > FAR * size
    low, high = first if wanders else whole
    floor = floor_of(float(low[2]), size)
    for shape in robot.shapes:
        if isinstance(shape.solid, Ground) and shape.body == WORLD:
            floor = float(level[:, 2] @ shape.placement.position)
    E, A = np.radians(front(high - low, 2))
    toward = np.array([np.cos(E) * np.cos(A), np.cos(E) * np.sin(A), np.sin(E)])
    radius = 0.5 * max(float(np.linalg.norm(high - low)), 1e-3)
    center = 0.5 * (low + high)
    eye = center + toward * radius / np.sin(0.5 * FIELD_OF_VIEW)
    return Framing(level, size, floor, square(size), level @ center, level @ eye, wanders)


def _box(points: Array) -> tuple[Array, Array]:
    every = points.reshape(-1, 3)
    return every.min(axis=0), every.max(axis=0)
