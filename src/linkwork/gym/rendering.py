# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of robots as arrays of pixels, from a camera that may go along with the robot.

What is drawn are silhouettes of the robot's shapes, rods of its `skeleton` where a body has none, and a ground of
squares, in parallel projection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.drawing.outlines import solid_edges
from linkwork.drawing.pictures import LOOP, blank
from linkwork.drawing.skeleton import LIMBS, Skeleton, skeleton, square
from linkwork.model.constraints import WORLD
from linkwork.model.model import Model
from linkwork.model.shapes import Sphere
from linkwork.quantities.arguments import Array

Frame = npt.NDArray[np.uint8]
"""Red, green and blue of a picture, ``(height, width, 3)``."""

DPI = 100
GRID = "#d5d5d5"


@dataclass(frozen=True)
class Camera:
    """Where pictures are taken from.

    Args:
        center: The point in the middle of the picture, in meters; beside a followed body, seen from it.
        height: Meters from the lower edge of the picture to the upper.
        elevation: Of the camera above the horizontal, in degrees.
        azimuth: Of the camera about z, in degrees: -90 looks along y.
        follow: The body whose x and y coordinates the camera follows; None: it stands still.
        size: Width and height, in pixels.
    """

    center: tuple[float, float, float] = (0.0, 0.0, 0.5)
    height: float = 1.5
    elevation: float = 12.0
    azimuth: float = -75.0
    follow: str | None = None
    size: tuple[int, int] = (480, 320)

    def picture(self, robot: Model, q: Array, words: str = "") -> Frame:
        """The robot in a configuration.

        Args:
            robot: The mechanism.
            q: Configuration, ``(nq,)``; one that is not finite shows the ground alone.
            words: Written above.
        """
        wide, tall = self.size
        figure = blank(wide / DPI, tall / DPI)
        figure.set_dpi(DPI)
        half = np.array([wide / tall, 1.0]) * self.height / 2
        axes: Any = figure.add_axes((0, 0, 1, 1), xlim=(-half[0], half[0]), ylim=(-half[1], half[1]))
        axes.set_axis_off()
        if np.isfinite(q).all():
            look = _look(robot)
            R, p = look.bones.poses(q)
            center = np.array(self.center)
            if self.follow is not None:
                center[:2] += p[1 + robot.body_names.index(self.follow), :2]
            self._draw(axes, self._grid(center), GRID, 0.8)
            self._draw_robot(axes, look, R, p - center)
        else:
            self._draw(axes, self._grid(np.array(self.center)), GRID, 0.8)
        figure.text(0.5, 0.97, words, ha="center", va="top", fontsize=9, parse_math=False)
        canvas: Any = figure.canvas
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()

    def _draw_robot(self, axes: Any, look: _Look, R: Array, p: Array) -> None:
        """Rods of bodies without shapes, then shapes from the farthest to the nearest, then where loops close."""
        bones, points = look.bones, look.bones.placed(R, p)
        for limb in sorted({int(k) for k in bones.limb}):
            rods = bones.rods[(bones.limb == limb) & ~np.isin(bones.body[bones.rods[:, 1]], look.solid)]
            self._draw(axes, points[rods], LIMBS[limb % len(LIMBS)], 3.0)
        placed = [(look.body[k], local @ R[look.body[k]].T + p[look.body[k]]) for k, local in enumerate(look.local)]
        for body, outline in sorted(placed, key=lambda one: float(one[1].mean(axis=0) @ self._axes()[2])):
            color = LIMBS[bones.limbs[body] % len(LIMBS)]
            axes.fill(*_hull(self._flat(outline)).T, facecolor=_pale(color), edgecolor=color, linewidth=1.0, zorder=3)
        at = self._flat(points[bones.marks["loop"]])
        axes.plot(*at.T, linestyle="none", marker="o", color=LOOP, markersize=3.0, zorder=4)

    def _grid(self, center: Array) -> Array:
        """Squares of the ground z = 0 around a point, seen from it."""
        side = square(2 * self.height)
        reach = 1.2 * self.height * self.size[0] / self.size[1]
        lines = []
        for along, across in ((0, 1), (1, 0)):
            first, last = (side * np.round((center[across] + sign * reach) / side) for sign in (-1, 1))
            for x in np.arange(first, last + side / 2, side):
                line = np.zeros((2, 3))
                line[:, across], line[:, along] = x, center[along] + np.array([-reach, reach])
                lines.append(line)
        return np.array(lines) - center

    def _axes(self) -> Array:
        """To the right, up, and toward the camera, ``(3, 3)``."""
        E, A = np.radians([self.elevation, self.azimuth])
        right = [-np.sin(A), np.cos(A), 0.0]
        up = [-np.sin(E) * np.cos(A), -np.sin(E) * np.sin(A), np.cos(E)]
        return np.array([right, up, [np.cos(E) * np.cos(A), np.cos(E) * np.sin(A), np.sin(E)]])

    def _flat(self, points: Array) -> Array:
        """Points from the middle of the picture in its plane, ``(..., 2)``."""
        flat: Array = points @ self._axes()[:2].T
        return flat

    def _draw(self, axes: Any, pieces: Array, color: str, thick: float) -> None:
        from matplotlib.collections import LineCollection

        if len(pieces):
            axes.add_collection(LineCollection(list(self._flat(pieces)), colors=color, linewidths=thick))


@dataclass(frozen=True, eq=False)
class _Look:
    """What is drawn of a robot: points of its solids in the frames of bodies, and bones where there are none."""

    bones: Skeleton
    body: list[int]
    local: list[Array]

    @property
    def solid(self) -> list[int]:
        """Bodies that have solids, by their numbers."""
        return sorted(set(self.body))


@lru_cache(maxsize=8)
def _look(robot: Model) -> _Look:
    """Shapes that are drawn; of bodies that have none but files, those that touch others."""
    number = {name: k for k, name in enumerate(robot.body_names, start=1)}
    shown = [(s.body, s.solid, s.placement) for s in robot.shapes if s.role == "visual" and s.body != WORLD]
    known = {body for body, solid, _ in shown if len(solid_edges(solid))}
    for pair in robot.contacts:
        for one in (pair.first, pair.second):
            if one.body != WORLD and one.body not in known:
                shown.append((one.body, one.solid, one.placement))
    look = _Look(skeleton(robot), [], [])
    for body, solid, at in shown:
        edges = _ball(solid.radius) if isinstance(solid, Sphere) else solid_edges(solid).reshape(-1, 3)
        if len(edges):
            look.body.append(number[body])
            look.local.append(edges @ at.rotation.T + at.position)
    return look


def _ball(radius: float, count: int = 300) -> Array:
    """Points on a sphere, evenly spread on a spiral."""
    z = 1 - (2 * np.arange(count) + 1) / count
    turn = np.pi * (1 + 5**0.5) * np.arange(count)
    around = np.sqrt(1 - z**2)
    points: Array = radius * np.stack([around * np.cos(turn), around * np.sin(turn), z], axis=1)
    return points


def _hull(points: Array) -> Array:
    """Corners of the convex hull of points in the plane, in order (Andrew's monotone chain)."""
    ordered = points[np.lexsort(points.T[::-1])]
    chains = []
    for row in (ordered, ordered[::-1]):
        chain: list[Array] = []
        for x in row:
            while len(chain) > 1 and _turns_right(chain[-2], chain[-1], x):
                chain.pop()
            chain.append(x)
        chains += chain[:-1]
    return np.array(chains)


def _turns_right(a: Array, b: Array, c: Array) -> bool:
    return bool((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0)


def _pale(color: str) -> tuple[float, ...]:
    """A color, mixed with white."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return tuple(0.45 * x + 0.55 for x in parts)
