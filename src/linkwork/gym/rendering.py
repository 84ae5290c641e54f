# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of robots as arrays of pixels, from a camera that may go along with the robot.

What is drawn is the `skeleton` of the robot, its shapes as outlines and a ground of squares, in parallel projection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.drawing.outlines import outlines
from linkwork.drawing.pictures import INK, LOOP, blank
from linkwork.drawing.skeleton import LIMBS, Skeleton, skeleton, square
from linkwork.model.model import Model
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
        center = np.array(self.center)
        seen = np.isfinite(q).all()
        if seen:
            bones = _bones(robot)
            R, p = bones.poses(q)
            if self.follow is not None:
                center[:2] += p[1 + robot.body_names.index(self.follow), :2]
        self._draw(axes, self._grid(center), GRID, 0.8)
        if seen:
            self._draw_robot(axes, robot, bones, R, p, center)
        figure.text(0.5, 0.97, words, ha="center", va="top", fontsize=9, parse_math=False)
        canvas: Any = figure.canvas
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()

    def _draw_robot(self, axes: Any, robot: Model, bones: Skeleton, R: Array, p: Array, center: Array) -> None:
        points = bones.placed(R, p) - center
        edges = outlines(bones, R, p) - center
        self._draw(axes, edges, INK, 0.8)
        rods = [(k, rod) for k, rod in zip(bones.limb, bones.rods, strict=True) if k not in _rails(robot)]
        for limb in sorted({int(k) for k, _ in rods}):
            pieces = points[np.array([rod for k, rod in rods if k == limb])]
            self._draw(axes, pieces, LIMBS[limb % len(LIMBS)], 3.0)
        self._draw(axes, points[bones.ropes], LOOP, 1.5)
        for marks, color, size in (("joint", "white", 4.0), ("loop", LOOP, 4.0)):
            at = self._flat(points[bones.marks[marks]])
            axes.plot(*at.T, linestyle="none", marker="o", color=color, markeredgecolor=INK, markersize=size)

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

    def _flat(self, points: Array) -> Array:
        """Points from the middle of the picture in its plane, ``(..., 2)``."""
        E, A = np.radians([self.elevation, self.azimuth])
        right = np.array([-np.sin(A), np.cos(A), 0.0])
        up = np.array([-np.sin(E) * np.cos(A), -np.sin(E) * np.sin(A), np.cos(E)])
        flat: Array = points @ np.stack([right, up], axis=1)
        return flat

    def _draw(self, axes: Any, pieces: Array, color: str, thick: float) -> None:
        from matplotlib.collections import LineCollection

        if len(pieces):
            axes.add_collection(LineCollection(list(self._flat(pieces)), colors=color, linewidths=thick))


@lru_cache(maxsize=8)
def _bones(robot: Model) -> Skeleton:
    return skeleton(robot)


def _rails(robot: Model) -> frozenset[int]:
    """Colors of bodies that are not drawn."""
    return frozenset()
