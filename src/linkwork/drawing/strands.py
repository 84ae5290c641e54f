# SPDX-License-Identifier: BSD-3-Clause
"""Lines between bodies: paths of tendons, around obstacles, too, and springs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from linkwork.kernels.tree.wrapping import NO_SIDE, SIDE, inside_path, outside_path, plane_axes
from linkwork.model.constraints import WORLD
from linkwork.model.forces import ForceElement
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.model.tendons import Branch
from linkwork.model.transmissions import Wrap
from linkwork.quantities.arguments import Array

ARC = 8
"""Straight pieces of a tendon around an obstacle."""
COILS = 7
"""Of a spring."""
SLIM = 0.12
"""Half the width of a spring, as a part of its length; `THICK` bounds it."""
THICK = 0.02
"""Half the width of a spring, as a part of the robot's size, at most."""


class Strands:
    """Tendons and force elements of a robot as straight pieces in the world.

    Args:
        robot: The mechanism.
        size: Of the robot, in meters.
    """

    def __init__(self, robot: Model, size: float) -> None:
        self._robot, self._thick = robot, THICK * size
        self._number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}
        self.tendons = [branch for tendon in robot.tendons for branch in tendon.branches]
        """Paths of spatial tendons, between pulleys."""
        self.springs = [element for element in robot.forces if len(element.places) == 2]
        """Force elements between two places."""

    def tendon_lines(self, R: Array, p: Array) -> Array:
        """Pieces of the paths of tendons, ``(pieces, 2, 3)``.

        Args:
            R: Rotations of the world and of all bodies, ``(bodies, 3, 3)``.
            p: Their positions, ``(bodies, 3)``.
        """
        pieces = [pair for branch in self.tendons for pair in pairwise(self._path(branch, R, p))]
        return np.array(pieces).reshape(-1, 2, 3)

    def spring_lines(self, R: Array, p: Array) -> Array:
        """Pieces of coils between the places of force elements, ``(pieces, 2, 3)``.

        Args:
            R: Rotations of the world and of all bodies, ``(bodies, 3, 3)``.
            p: Their positions, ``(bodies, 3)``.
        """
        pieces = [pair for one in self.springs for pair in pairwise(self._coil(one, R, p))]
        return np.array(pieces).reshape(-1, 2, 3)

    # Inside -------------------------------------------------------------------------------------------------------

    def _pose(self, place: str, at: Placement, R: Array, p: Array) -> Placement:
        """A place in the world, of a place on a frame."""
        frame = self._robot.frames.get(place)
        local, k = (at, 0) if frame is None else (frame.placement * at, self._number[frame.body])
        return Placement(p[k], R[k], check=False) * local

    def _path(self, branch: Branch, R: Array, p: Array) -> Iterator[Array]:
        """Points of a path, one after the other."""
        at = Placement()
        for k, stop in enumerate(branch.sites):
            if isinstance(stop, str):
                yield self._pose(stop, at, R, p).position
            else:
                before, after = (self._pose(str(branch.sites[n]), at, R, p).position for n in (k - 1, k + 1))
                side = self._pose(stop.side, at, R, p).position if stop.side else None
                yield from around(stop, self._pose(stop.frame, at, R, p), before, after, side)

    def _coil(self, element: ForceElement, R: Array, p: Array) -> Sequence[Array]:
        """Points of a zigzag."""
        (a, at), (b, to) = element.places
        start, end = self._pose(a, at, R, p).position, self._pose(b, to, R, p).position
        along = end - start
        length = float(np.linalg.norm(along))
        if not length > 1e-9:
            return []
        across = np.cross(along, np.eye(3)[np.abs(along).argmin()])
        across *= min(SLIM * length, self._thick) / np.linalg.norm(across)
        steps = (np.arange(2 * COILS) + 0.5) / (2 * COILS)
        turns = (
            start + (0.15 + 0.7 * steps)[:, None] * along + np.where(np.arange(2 * COILS) % 2, 1, -1)[:, None] * across
        )
        return [start, start + 0.15 * along, *turns, end - 0.15 * along, end]


def around(wrap: Wrap, at: Placement, before: Array, after: Array, side: Array | None) -> list[Array]:
    """Points of a tendon on an obstacle, none where it passes by.

    Args:
        wrap: The obstacle.
        at: Where it is.
        before: The site before it, ``(3,)``.
        after: The site after it, ``(3,)``.
        side: A point on the side where the tendon passes; None: on either.
    """
    a, b = at.inverse().act(before), at.inverse().act(after)
    x, y = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)) if wrap.cylinder else plane_axes(tuple(a), tuple(b))
    axes = np.array([x, y])
    first, second = tuple(axes @ a), tuple(axes @ b)
    if wrap.inside:
        wraps, px, py, qx, qy, length = inside_path(first, second, wrap.radius)
    else:
        s = (0.0, 0.0) if side is None else tuple(axes @ at.inverse().act(side))
        wraps, px, py, qx, qy, length = outside_path(first, second, s, NO_SIDE if side is None else SIDE, wrap.radius)
    if not wraps:
        return []
    turn = length / wrap.radius
    begin, end = np.arctan2(py, px), np.arctan2(qy, qx)
    gap = (end - begin) % (2 * np.pi)
    if abs(gap - turn) > abs(2 * np.pi - gap - turn):  # it goes the other way
        turn = -turn
    angles = begin + turn * np.linspace(0, 1, ARC + 1 if length else 1)
    radius = float(np.hypot(px, py))
    points = radius * (np.cos(angles)[:, None] * axes[0] + np.sin(angles)[:, None] * axes[1])
    if wrap.cylinder:
        ways = [
            float(np.hypot(*(np.array(first) - (px, py)))),
            float(length),
            float(np.hypot(*(np.array(second) - (qx, qy)))),
        ]
        heights = a[2] + (b[2] - a[2]) * (ways[0] + ways[1] * np.linspace(0, 1, len(points))) / max(sum(ways), 1e-12)
        points = points + heights[:, None] * np.array([0.0, 0.0, 1.0])
    return list(at.act(points))
