# SPDX-License-Identifier: BSD-3-Clause
"""The ground and the lights of a scene, with shadows and without.

With shadows the ground is viser's infinite grid, which computes every pixel that it covers, and there are two lights.
Without, it is lines around the robot and one light: browsers without a graphics card draw a humanoid in 27 ms of CPU
time in place of 38.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.placement import Placement
from linkwork.quantities.arguments import Array
from linkwork.viewer.framing import Framing
from linkwork.viewer.solids import wxyz_of

CELL, SECTION = (225, 227, 230), (190, 194, 200)
"""Colors of lines between squares, and of every fifth."""
IN_SECTION = 5
"""Squares between two darker lines."""
REACH = 20
"""Squares on each side of the robot that have lines."""
SUN = (0.3, -0.4, 1.0)
"""Direction to the light, in the axes of the ground."""


class SceneGround:
    """The ground and the lights.

    Args:
        scene: The scene to draw in.
        view: Size and place of the robot.
        at: Place of the ground, its normal along z.
    """

    def __init__(self, scene: Any, view: Framing, at: Placement) -> None:
        self._scene, self._at, self._section = scene, at, IN_SECTION * view.side
        self._visible, self._shadows = True, True
        where: dict[str, Any] = {"position": at.position, "wxyz": wxyz_of(at.rotation)}
        self.grid = scene.add_grid(
            "/ground",
            infinite_grid=True,
            cell_size=view.side,
            cell_color=CELL,
            section_size=self._section,
            section_color=SECTION,
            fade_distance=10 * view.size,
            shadow_opacity=0.2,
            **where,
        )
        """The grid, which shadows fall on."""
        number = np.arange(-REACH, REACH + 1)
        ends = np.stack(np.broadcast_arrays(number[:, None], np.array([-REACH, REACH])), axis=-1)
        lines = np.concatenate([ends, ends[..., ::-1]]) * view.side
        colors = np.where((number % IN_SECTION == 0)[:, None], np.array(SECTION), np.array(CELL)).astype(np.uint8)
        self.lines = scene.add_line_segments(
            "/ground_lines",
            np.concatenate([lines, np.zeros((*lines.shape[:2], 1))], axis=-1),
            np.tile(colors[:, None], (2, 2, 1)),
            thickness=1.0,
            thickness_units="screen",
            visible=False,
            **where,
        )
        """Lines around the robot."""
        direction = tuple((at.rotation @ np.array(SUN)).tolist())
        self._sun = scene.add_light_directional("/sun", intensity=3.0, position=direction, visible=False)

    @property
    def visible(self) -> bool:
        """Whether the ground is drawn."""
        return self._visible

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._visible = visible
        self.grid.visible, self.lines.visible = visible and self._shadows, visible and not self._shadows

    def cast_shadows(self, shadows: bool) -> None:
        """Have bodies cast shadows, or draw faster.

        Args:
            shadows: Whether they do.
        """
        self._shadows = shadows
        self._scene.configure_default_lights(enabled=shadows, cast_shadow=shadows)
        self._sun.visible = not shadows
        self.visible = self._visible

    def follow(self, middle: Array) -> None:
        """Put lines around the robot, where they continue those that were there.

        Args:
            middle: Of the robot, ``(3,)``.
        """
        local = self._at.rotation.T @ (middle - self._at.position)
        local[:2] = self._section * np.round(local[:2] / self._section)
        local[2] = 0.0
        there = self._at.position + self._at.rotation @ local
        if not np.array_equal(there, self.lines.position):
            self.lines.position = there
