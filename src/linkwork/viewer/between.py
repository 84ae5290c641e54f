# SPDX-License-Identifier: BSD-3-Clause
"""Lines between bodies: joints that slide, ends of loops that are apart, forces, contacts. And a `Film` of them.

A browser moves a body, or shows and hides a node, in the frame in which it is told to. A line of other points is a new
object to it, which it makes for the next frame: in a page that plays, lines would trail behind bodies by a frame. So a
film has several sets of lines. Each is given its points while it is hidden, and shown when its state is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork.drawing.pictures import GROUND, LOOP
from linkwork.drawing.skeleton import Skeleton
from linkwork.drawing.strands import Strands
from linkwork.quantities.arguments import Array
from linkwork.viewer.solids import rgb_of

SLIDES, GAPS, ARROWS = "slides", "gaps", "forces"
TENDONS, SPRINGS = "tendons", "springs"
POINTS, CONES, PUSHES = "contacts", "cones", "pushes"
"""Kinds of lines; the names of their nodes. The last are of contacts: points, friction cones, forces."""
TOUCH = rgb_of("#d9480f")
TENDON = rgb_of("#a8323a")
SPRING = rgb_of("#3f7d20")
CONE = rgb_of("#e8a33d")
SLIDE = rgb_of("#6f6f6f")
SETS = 25
"""Sets of lines in a film: one that draws every 25th of its states still has all in step."""

Lines = Mapping[str, Array | None]
"""Both ends of lines, ``(lines, 2, 3)``, by their purpose, or points; None where nothing is visible."""


class Between:
    """The lines of one state."""

    def __init__(
        self, scene: Any, path: str, bones: Skeleton, radius: float, strands: Strands, contacts: bool = False
    ) -> None:
        self.nodes: dict[str, Any] = {}
        kinds = (SLIDES, GAPS, ARROWS, POINTS, CONES, PUSHES, TENDONS, SPRINGS)
        self._visible, self._seen = True, dict.fromkeys(kinds, False)
        thick = {"thickness": 0.9 * radius, "visible": False}
        for kind, those, color in ((TENDONS, strands.tendons, TENDON), (SPRINGS, strands.springs, SPRING)):
            if those:
                self.nodes[kind] = scene.add_line_segments(f"{path}/{kind}", np.zeros((1, 2, 3)), color, **thick)
        if len(bones.slides):
            blank = np.zeros((len(bones.slides), 2, 3))
            self.nodes[SLIDES] = scene.add_line_segments(f"{path}/{SLIDES}", blank, SLIDE, **thick)
        loops, held = len(bones.loops), len(bones.held)
        if loops + held:
            colors = np.array([rgb_of(LOOP)] * loops + [rgb_of(GROUND)] * held)
            blank, both = np.zeros((loops + held, 2, 3)), np.repeat(colors[:, None], 2, axis=1)
            self.nodes[GAPS] = scene.add_line_segments(f"{path}/{GAPS}", blank, both, **thick)
            no_shade = 0.5 * colors
            self.nodes[ARROWS] = scene.add_arrows(f"{path}/{ARROWS}", blank, no_shade, visible=False, **_head(radius))
        if contacts:
            self._contacts(scene, path, radius)

    def _contacts(self, scene: Any, path: str, radius: float) -> None:
        """Points, cones and forces of contacts: as many as touch."""
        how: dict[str, Any] = {"point_size": 1.4 * radius, "point_shape": "circle", "precision": "float32"}
        blank, color = np.zeros((1, 3)), np.array(TOUCH)
        self.nodes[POINTS] = scene.add_point_cloud(f"{path}/{POINTS}", blank, color, visible=False, **how)
        lines, thin = np.zeros((1, 2, 3)), 0.35 * radius
        self.nodes[CONES] = scene.add_line_segments(f"{path}/{CONES}", lines, CONE, thickness=thin, visible=False)
        head = {name: 0.8 * size for name, size in _head(radius).items()}
        self.nodes[PUSHES] = scene.add_arrows(f"{path}/{PUSHES}", lines, 0.5 * color, visible=False, **head)

    def put(self, lines: Lines) -> None:
        """Change the visible lines and points."""
        for name, node in self.nodes.items():
            points = lines[name]
            self._seen[name] = points is not None
            if points is not None:
                node.points = points
        self.show(self._visible)

    def show(self, visible: bool) -> None:
        """Show or hide it."""
        self._visible = visible
        for name, node in self.nodes.items():
            node.visible = visible and self._seen[name]

    def remove(self) -> None:
        """Take it out of the scene."""
        for node in self.nodes.values():
            node.remove()


def _head(radius: float) -> dict[str, float]:
    return {"shaft_radius": 1.15 * radius, "head_radius": 2.4 * radius, "head_length": 5 * radius}


class Film:
    """The lines of ``count`` states, one after the other; ``lines`` says what they are in each."""

    def __init__(self, make: Callable[[str], Between], count: int, lines: Callable[[int], Lines]) -> None:
        self._count, self._lines = count, lines
        self._sets = [make(f"/film/{k}") for k in range(min(SETS, count))]
        for k, one in enumerate(self._sets):
            one.show(k == 0)
            one.put(lines(k))

    def show(self, n: int) -> None:
        """Show the n-th state, the one after the last that was shown; the set that showed that is given later points.

        Behind the end these are those of its first state, with which the film starts anew.
        """
        if not n:
            return
        now, last = (self._sets[k % len(self._sets)] for k in (n, n - 1))
        last.show(False)
        now.show(True)
        later = n - 1 + len(self._sets)
        last.put(self._lines(later if later < self._count else (n - 1) % len(self._sets)))

    def remove(self) -> None:
        """Take it out of the scene."""
        for one in self._sets:
            one.remove()
