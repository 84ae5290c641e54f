# SPDX-License-Identifier: BSD-3-Clause
"""Lines between bodies: joints that slide, ends of loops that are apart, forces. And a `Film` of them.

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
from linkwork.quantities.base import Array
from linkwork.viewer.solids import rgb_of
from linkwork.viewer.touching import RIBS

SLIDES, GAPS, ARROWS, CONTACTS, CONES = "slides", "gaps", "forces", "contact forces", "friction cones"
"""What there are lines for; the names of their nodes."""
SLIDE = rgb_of("#6f6f6f")
SETS = 25
"""Sets of lines in a film: one that draws every 25th of its states still has all in step."""

Lines = Mapping[str, Array | None]
"""Both ends of lines, ``(lines, 2, 3)``, by what they are for; None where nothing is to be seen."""


class Between:
    """The lines of one state."""

    def __init__(self, scene: Any, path: str, bones: Skeleton, radius: float, slots: int = 0) -> None:
        self.nodes: dict[str, Any] = {}
        self._visible, self._seen = True, dict.fromkeys((SLIDES, GAPS, ARROWS, CONTACTS, CONES), False)
        thick = {"thickness": 0.9 * radius, "visible": False}
        if len(bones.slides):
            blank = np.zeros((len(bones.slides), 2, 3))
            self.nodes[SLIDES] = scene.add_line_segments(f"{path}/{SLIDES}", blank, SLIDE, **thick)
        loops, held = len(bones.loops), len(bones.held)
        if loops + held:
            colors = np.array([rgb_of(LOOP)] * loops + [rgb_of(GROUND)] * held)
            blank, both = np.zeros((loops + held, 2, 3)), np.repeat(colors[:, None], 2, axis=1)
            self.nodes[GAPS] = scene.add_line_segments(f"{path}/{GAPS}", blank, both, **thick)
            how = {"shaft_radius": 1.15 * radius, "head_radius": 2.4 * radius, "head_length": 5 * radius}
            no_shade = 0.5 * colors
            self.nodes[ARROWS] = scene.add_arrows(f"{path}/{ARROWS}", blank, no_shade, visible=False, **how)
        if slots:
            how = {"shaft_radius": radius, "head_radius": 2.1 * radius, "head_length": 4.5 * radius}
            green, blank = np.tile(0.5 * np.array(rgb_of(GROUND)), (slots, 1)), np.zeros((slots, 2, 3))
            self.nodes[CONTACTS] = scene.add_arrows(f"{path}/{CONTACTS}", blank, green, visible=False, **how)
            ribs = np.zeros((slots * 2 * RIBS, 2, 3))
            thin = {"thickness": 0.25 * radius, "visible": False}
            self.nodes[CONES] = scene.add_line_segments(f"{path}/{CONES}", ribs, SLIDE, **thin)

    def put(self, lines: Lines) -> None:
        """Change what there is to be seen."""
        for name, node in self.nodes.items():
            points = lines.get(name)
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
