# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of robots as arrays of pixels, from a camera that may go along with the robot.

Drawn are the robot's shapes, meshes and height fields among them, rods of its `skeleton` where a body has none,
and a ground of squares, in parallel projection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.drawing.pictures import LOOP, blank
from linkwork.drawing.skeleton import LIMBS, Skeleton, ground_plane, on_plane, skeleton, square
from linkwork.drawing.surfaces import Surfaces, surfaces
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import contact_shapes
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.model.shapes import Shape
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
            self._draw(axes, self._grid(center, ground_plane(robot)), GRID, 0.8)
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
        self._draw_surfaces(axes, look, R, p)
        at = self._flat(points[bones.marks["loop"]])
        axes.plot(*at.T, linestyle="none", marker="o", color=LOOP, markersize=3.0, zorder=4)

    def _draw_surfaces(self, axes: Any, look: _Look, R: Array, p: Array) -> None:
        """Triangles, the farthest first."""
        from matplotlib.collections import PolyCollection

        triangles = look.skin.placed(R, p)
        toward = self._axes()[2]
        order = np.argsort(triangles.mean(axis=1) @ toward)
        light = toward + np.array([0.0, 0.0, 1.0])
        colors = look.skin.shaded(triangles, light / np.linalg.norm(light))[order]
        flat: Any = self._flat(triangles[order])
        axes.add_collection(PolyCollection(flat, facecolors=colors, edgecolors=colors, linewidths=0.3, zorder=3))

    def _grid(self, center: Array, plane: Placement | None = None) -> Array:
        """Squares of the ground around a point, seen from it: of a plane, by default z = 0."""
        side = square(2 * self.height)
        reach = 1.2 * self.height * self.size[0] / self.size[1]
        lines = []
        for along, across in ((0, 1), (1, 0)):
            first, last = (side * np.round((center[across] + sign * reach) / side) for sign in (-1, 1))
            for x in np.arange(first, last + side / 2, side):
                line = np.zeros((2, 3))
                line[:, across], line[:, along] = x, center[along] + np.array([-reach, reach])
                lines.append(line)
        return on_plane(np.array(lines), plane, 2) - center

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
    """The geometry of a robot to draw: triangles of its shapes, and bones of bodies that have none."""

    bones: Skeleton
    skin: Surfaces

    @property
    def solid(self) -> list[int]:
        """Bodies that have shapes, by their numbers."""
        return self.skin.bodies


@lru_cache(maxsize=8)
def _look(robot: Model) -> _Look:
    """Shapes that are drawn; of bodies that have none, those that touch others."""
    shaped = {shape.body for shape in robot.shapes}
    touching = [
        Shape(one.body, one.solid, one.placement, role="collision")
        for one in contact_shapes(robot.contacts)
        if one.body not in shaped and one.body != WORLD
    ]
    bones = skeleton(robot)
    return _Look(bones, surfaces(replace(bones, robot=replace(robot, shapes=(*robot.shapes, *touching)))))
