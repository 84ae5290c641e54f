# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a mechanism's graph: bodies in columns by depth, joints, loops, couplings, clusters, elimination.

The world is on the left. Each leaf has a row of its own and a body stands in the middle of those it carries, so that
subtrees never overlap (`layout`). Lengths are inches of paper; nothing needs a display.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwork.drawing.pictures import (
    COUPLING,
    FAINT,
    GROUND,
    INK,
    LOOP,
    PASTELS,
    blank,
    kind_of,
    write_picture,
)
from linkwork.model.constraints import WORLD, Coupling, LinearCombination, Pair, TendonCoupling
from linkwork.model.model import Model
from linkwork.plans.clusters import clusters_of, enabled_rows
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.lcaba import lcaba_tree
from linkwork.plans.tree import LOCAL, build_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELED = 40
"""Robots with more bodies than this are drawn smaller, and their joints without names; so are curves, if more."""
DEEP = 20
"""So are robots of more columns than this."""
NAMED = 3
"""Of more constraints at one place than this, the first are named and the others counted."""

Points = list[tuple[float, float]]


# Contents ----------------------------------------------------------------------------------------------------


def layout(robot: Model) -> dict[str, tuple[int, float]]:
    """Column and row of each body and of the world: depth in the tree, and leaves from the top down.

    A body with children stands in the middle between the first and the last of them.
    """
    children: dict[str, list[str]] = {WORLD: []}
    column = {WORLD: 0}
    for joint in robot.joints:  # parents come first
        children[joint.child] = []
        children[joint.parent].append(joint.child)
        column[joint.child] = column[joint.parent] + 1
    leaves: list[str] = []
    waiting = [WORLD]
    while waiting:  # depth first, the first child on top
        body = waiting.pop()
        if not children[body]:
            leaves.append(body)
        waiting += reversed(children[body])
    row = {body: float(k) for k, body in enumerate(leaves)}
    for body in [*(joint.child for joint in reversed(robot.joints)), WORLD]:
        if children[body]:
            row[body] = 0.5 * (row[children[body][0]] + row[children[body][-1]])
    return {body: (column[body], row[body]) for body in column}


@dataclass(frozen=True)
class Tie:
    """Constraints between two bodies (or on one), by names."""

    bodies: tuple[str, ...]
    style: str
    """``"loop"`` between frames of two bodies, ``"coupling"`` of joints, ``"ground"`` to the world, ``"lock"``."""
    names: tuple[str, ...]
    enabled: bool

    @property
    def label(self) -> str:
        """The names, some of them where there are many."""
        if len(self.names) <= NAMED:
            return ", ".join(self.names)
        return f"{', '.join(self.names[: NAMED - 1])} and {len(self.names) - NAMED + 1} more"


def ties(robot: Model) -> list[Tie]:
    """All constraints of a robot, those between the same bodies together."""
    by_pair: dict[tuple[tuple[str, ...], str, bool], list[str]] = {}
    order = {name: k for k, name in enumerate((WORLD, *robot.body_names))}
    for c in robot.constraints:
        if isinstance(c, Coupling):
            bodies = [robot.joint(name).child for name in c.joints]
        else:
            places = [robot.frames[place].body for place in c.places]
            bodies = list(dict.fromkeys([*places, *(robot.joint(name).child for name in c.joints)]))
        moving = [body for body in bodies if body != WORLD]
        if len(moving) >= 2 and isinstance(c, Coupling | Pair | LinearCombination | TendonCoupling):
            style = "coupling" if isinstance(c, Coupling | TendonCoupling) else "loop"
            for other in moving[1:]:
                pair = tuple(sorted((moving[0], other), key=order.__getitem__))
                by_pair.setdefault((pair, style, c.enabled), []).append(c.name)
        elif isinstance(c, Coupling):
            by_pair.setdefault(((moving[0],), "lock", c.enabled), []).append(c.name)
        else:  # of a center of mass, the mark is at the world
            end = moving[0] if len(moving) == 1 else WORLD
            by_pair.setdefault(((end,), "ground", c.enabled), []).append(c.name)
    return [Tie(bodies, style, tuple(names), enabled) for (bodies, style, enabled), names in by_pair.items()]


def elimination(robot: Model) -> dict[str, int]:
    """For each body, when LCABA eliminates it: 1 for the first."""
    place = {int(body): k for k, body in enumerate(lcaba_tree(robot).elimination_order)}
    number = build_tree(robot)[1].number
    return {body: k for k, body in enumerate(sorted(robot.body_names, key=lambda name: place[number[name]]), start=1)}


def cluster_numbers(robot: Model) -> dict[str, int]:
    """The cluster of each body that constraints tie, numbered as by `coordinates.clusters`."""
    if not robot.nc:
        return {}
    owner = {k: j.child for j in robot.joints for k in range(*robot.v_slice(j.name).indices(robot.nv))}
    clusters = [c for c in clusters_of(constrained_tree(robot, (), LOCAL), enabled_rows(robot)) if c.rows]
    return {owner[dof]: k for k, cluster in enumerate(clusters[::-1]) for dof in cluster.dofs}


# The picture ----------------------------------------------------------------------------------------------


def draw_graph(robot: Model, path: str | os.PathLike[str] | None = None) -> Figure:
    """Bodies, joints, loops, couplings, clusters and the order of elimination; to a file if asked."""
    if path is not None:
        kind_of(path)
    figure = _Drawing(robot).figure
    if path is not None:
        write_picture(figure, path, dpi=150)
    return figure


class _Drawing:
    """Places boxes, then draws the lines between them."""

    def __init__(self, robot: Model) -> None:
        self.figure = blank(4, 3)
        self.robot = robot
        self.places = layout(robot)
        self.ties = ties(robot)
        self.small = len(robot.joints) > LABELED or max(column for column, _ in self.places.values()) > DEEP
        self.named = len(self.ties) <= LABELED
        self.font = 5.5 if self.small else 8.0
        self.pitch = 0.26 if self.small else 0.56
        self.tall = 0.15 if self.small else 0.26
        self.roof = 0.5 * self.tall
        self.carriers = {joint.parent for joint in robot.joints}
        self.wide = {body: self._width(body, self.font) + 0.16 for body in self.places}
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self._columns()
        self.reach = {body: self.x(body, 1) for body in self.places}
        """Right end of a box and its labels."""
        self.lanes: list[tuple[float, float, float]] = []
        """Upright pieces of curves: where, from below to above."""
        self.arches = 0
        """Curves over a row; those that follow each other have different heights."""
        for joint in robot.joints:
            self._joint(joint.parent, joint.child, joint.name, joint.type.kind_name)
        self.marks = marks = dict[str, int]()
        for tie in sorted(self.ties, key=lambda tie: (self._span(tie.bodies), self._columns_between(tie.bodies))):
            if len(tie.bodies) == 2:
                self._tie(tie)
            else:
                self._mark(tie, marks.setdefault(tie.bodies[0], 0))
                marks[tie.bodies[0]] += 1
        self._boxes()
        self._finish()

    def _width(self, text: str, size: float) -> float:
        """Of a text, in inches."""
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        wide, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)
        return float(wide) / 72

    def _columns(self) -> None:
        """Where columns begin: after the widest box, and the longest name of a joint, of the one before."""
        depth = max(column for column, _ in self.places.values())
        box, gap = [0.0] * (depth + 1), [0.35] * (depth + 1)
        for body, (column, _) in self.places.items():
            box[column] = max(box[column], self.wide[body])
        if not self.small:
            for joint in self.robot.joints:
                column = self.places[joint.parent][0]
                texts = [joint.type.kind_name, *([joint.name] if joint.name != joint.child else [])]
                gap[column] = max(gap[column], 0.38 + max(self._width(text, self.font - 1) for text in texts))
        self.left = [0.3]
        for k in range(depth):
            self.left.append(self.left[-1] + box[k] + gap[k])
        self.box = box
        self.extent = self.left[-1] + box[-1]
        """Right end of the picture."""

    def _span(self, bodies: Sequence[str]) -> float:
        rows = [self.places[body][1] for body in bodies]
        return max(rows) - min(rows)

    def _columns_between(self, bodies: Sequence[str]) -> int:
        columns = [self.places[body][0] for body in bodies]
        return max(columns) - min(columns)

    def y(self, body: str) -> float:
        return -self.pitch * self.places[body][1]

    def x(self, body: str, side: float) -> float:
        """On a box: 0 at its left, 1 at its right."""
        return self.left[self.places[body][0]] + side * self.wide[body]

    def _text(self, x: float, y: float, text: str, **how: Any) -> None:
        size = how.pop("size", self.font - 1)
        self.axes.text(x, y, text, fontsize=size, parse_math=False, **how)

    def _line(self, points: Sequence[tuple[float, float]], codes: Sequence[int], **how: Any) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Curve

        self.axes.add_patch(PathPatch(Curve(list(points), list(codes)), fill=False, **how))

    def _joint(self, parent: str, child: str, name: str, kind: str) -> None:
        """An S from the parent, then a straight piece that carries the name."""
        x0, y0, x1, y1 = self.x(parent, 1), self.y(parent), self.x(child, 0), self.y(child)
        bend = self.left[self.places[parent][0]] + self.box[self.places[parent][0]]
        x2 = bend + (0.24 if not self.small else x1 - bend)
        middle = 0.5 * (max(x0, bend - 0.1) + x2)
        self._line(
            [(x0, y0), (middle, y0), (middle, y1), (x2, y1), (x1, y1)],
            [1, 4, 4, 4, 2],
            edgecolor=INK,
            linewidth=0.6 if self.small else 1.1,
            zorder=1,
        )
        if not self.small:
            if name != child:
                self._text(x1 - 0.07, y1 + 0.03, name, ha="right", va="bottom", color=INK)
            self._text(x1 - 0.07, y1 - 0.035, kind, ha="right", va="top", color=FAINT)

    def _tie(self, tie: Tie) -> None:
        """Leaves let go of a curve to the right, where their rows are empty; other bodies upwards or downwards."""
        first, second = sorted(tie.bodies, key=lambda body: self.places[body][1])
        loop, level = tie.style == "loop", self._span(tie.bodies) < 0.75
        shift = 0.035 if loop else -0.035
        leaves = [body for body in (first, second) if body not in self.carriers and not level]
        text = tie.label if tie.enabled else f"{tie.label} (off)"
        wide = self._width(text, self.font - 1)
        color = (LOOP if loop else COUPLING) if tie.enabled else FAINT
        if leaves and self.named:
            body = min(leaves, key=lambda leaf: sum(leaf in other.bodies for other in self.ties))
            x, y = self.reach[body] + 0.12, self.y(body) + shift
            up = {"va": "bottom"} if loop else {"va": "top"}
            self._text(x, y + 0.6 * shift, text, color=color, ha="left", zorder=4, **up)
            self.reach[body] += wide + 0.12
        if len(leaves) == 2:
            points, codes = self._round_the_right(first, second, shift)
        else:
            points, codes = self._swing(first, second, shift, leaves, level)
        self._line(
            points,
            codes,
            edgecolor=color,
            linestyle=(0, (4, 2)) if loop else (0, (1, 1.5)),
            linewidth=0.9 if self.small else 1.4,
            zorder=3,
        )
        if not leaves and self.named:
            ends = points[-4:]
            x, y = (sum(w * p[k] for w, p in zip((1, 3, 3, 1), ends, strict=True)) / 8 for k in (0, 1))
            box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
            self._text(x, y, text, color=color, ha="center", va="center", bbox=box, zorder=4)
            self.extent = max(self.extent, x + 0.5 * wide)

    def _round_the_right(self, first: str, second: str, shift: float) -> tuple[Points, list[int]]:
        """Along the rows of two leaves to a lane of its own, to the right of all between them."""
        top, low = self.y(first) + shift, self.y(second) + shift
        rows = self.places[first][1], self.places[second][1]
        x = 0.2 + max(self.reach[body] for body, (_, row) in self.places.items() if rows[0] <= row <= rows[1])
        while any(abs(x - lane) < 0.08 and low <= above and below <= top for lane, below, above in self.lanes):
            x += 0.09
        self.lanes.append((x, low, top))
        self.extent = max(self.extent, x)
        r = min(0.12, 0.5 * (top - low))
        corner = [(x - r, top), (x, top), (x, top - r), (x, low + r), (x, low), (x - r, low)]
        return [(self.x(first, 1), top), *corner, (self.x(second, 1), low)], [1, 2, 3, 3, 2, 3, 3, 2]

    def _swing(
        self, first: str, second: str, shift: float, leaves: Sequence[str], level: bool
    ) -> tuple[Points, list[int]]:
        """A curve that leaves one or both bodies through the roof or the floor."""
        reach = max(0.55 * abs(self.y(first) - self.y(second)), 0.4)
        arch = self.pitch * (0.6 + 0.12 * self._columns_between((first, second)) + 0.3 * (self.arches % 4))
        self.arches += int(level)
        starts: dict[str, tuple[Points, tuple[float, float]]] = {}
        for body, sign in ((first, 1 if level else -1), (second, 1)):
            if body in leaves:
                y, x = self.y(body) + shift, max(self.reach[body], self.x(body, 1))
                starts[body] = [(self.x(body, 1), y), (x, y)], (x + 0.5 + 0.2 * reach, y)
                self.extent = max(self.extent, x + 0.5)
            else:
                x, y = self.x(body, 0.5) + 2 * shift, self.y(body) + sign * 0.5 * self.tall
                starts[body] = [(x, y)], (x, y + sign * (arch if level else reach))
                self.roof = max(self.roof, y + 0.75 * arch if level else y)
        (before, leaving), (after, arriving) = starts[first], starts[second]
        points = [*before, leaving, arriving, *after[::-1]]
        return points, [1, *[2] * (len(before) - 1), 4, 4, 4, *[2] * (len(after) - 1)]

    def _mark(self, tie: Tie, before: int) -> None:
        """A sign below a box, and its meaning."""
        body = tie.bodies[0]
        locked = tie.style == "lock"
        color = FAINT if not tie.enabled else COUPLING if locked else GROUND
        x, y = self.x(body, 0) + 0.08, self.y(body) - 0.5 * self.tall - (0.045 if self.small else 0.07) - 0.13 * before
        self.axes.plot(
            [x], [y], marker="s" if locked else "^", markersize=2.5 if self.small else 5, color=color, zorder=4
        )
        if not self.small:
            text = tie.label if tie.enabled else f"{tie.label} (off)"
            self._text(x + 0.08, y, text, ha="left", va="center", color=color, size=self.font - 1.5, zorder=4)
            self.extent = max(self.extent, x + 0.1 + self._width(text, self.font - 1.5))

    def _boxes(self) -> None:
        from matplotlib.patches import FancyBboxPatch

        cluster = cluster_numbers(self.robot)
        number = elimination(self.robot) if self.robot.nc else {}
        for body in self.places:
            x, y = self.x(body, 0), self.y(body)
            world = body == WORLD
            face = "#444444" if world else PASTELS[cluster[body] % len(PASTELS)] if body in cluster else "white"
            self.axes.add_patch(
                FancyBboxPatch(
                    (x, y - 0.5 * self.tall),
                    self.wide[body],
                    self.tall,
                    boxstyle=f"round,pad=0,rounding_size={0.35 * self.tall}",
                    facecolor=face,
                    edgecolor=INK,
                    linewidth=0.5 if self.small else 0.9,
                    zorder=5,
                )
            )
            middle = x + 0.5 * self.wide[body]
            color = "white" if world else INK
            self._text(middle, y, body, ha="center", va="center", color=color, size=self.font, zorder=6)
            if body in number:
                circle = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": INK, "linewidth": 0.5}
                self._text(
                    x + self.wide[body],
                    y + 0.5 * self.tall,
                    str(number[body]),
                    ha="center",
                    va="center",
                    color=INK,
                    size=self.font - (1.5 if self.small else 2.5),
                    bbox=circle,
                    zorder=7,
                )

    def _finish(self) -> None:
        """The legend below, the title above, and paper of the right size."""
        handles = self._legend(cluster_numbers(self.robot))
        title = self.robot.name
        width = max(self.extent + 0.3, self._width(title, 11) + 0.6, 3.5)
        columns = max(1, min(len(handles), int(width / 1.8)))
        floor = min(self.y(body) - 0.5 * self.tall - 0.14 * self.marks.get(body, 0) for body in self.places)
        low, high = floor - 0.4 - 0.17 * -(-len(handles) // columns), self.roof + 0.49
        self.figure.set_size_inches(width, high - low)
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(low, high)
        self._text(0.3, high - 0.12, title, ha="left", va="top", size=11, color=INK, weight="bold")
        self.axes.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.3, low + 0.15),
            bbox_transform=self.axes.transData,
            borderpad=0.0,
            ncols=columns,
            fontsize=7,
            frameon=False,
            borderaxespad=0.0,
            columnspacing=1.2,
        )

    def _legend(self, cluster: Mapping[str, int]) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        styles = {tie.style for tie in self.ties}
        silent = not self.small and any(joint.name == joint.child for joint in self.robot.joints)
        label = "joint (type alone: named as its body)" if silent else "joint"
        handles: list[Any] = [Line2D([], [], color=INK, linewidth=1.1, label=label)]
        signs: dict[str, dict[str, Any]] = {
            "loop": {"color": LOOP, "linestyle": (0, (4, 2)), "label": "loop"},
            "coupling": {"color": COUPLING, "linestyle": (0, (1, 1.5)), "label": "coupling of joints"},
            "ground": {
                "color": GROUND,
                "linestyle": "none",
                "marker": "^",
                "markersize": 5,
                "label": "held by the world",
            },
            "lock": {"color": COUPLING, "linestyle": "none", "marker": "s", "markersize": 5, "label": "locked joint"},
        }
        for style, how in signs.items():
            if style in styles:
                handles.append(Line2D([], [], **how))
        if self.robot.nc:
            circle: dict[str, Any] = {
                "marker": "o",
                "markerfacecolor": "white",
                "markeredgecolor": INK,
                "markersize": 6,
            }
            handles.append(Line2D([], [], linestyle="none", label="order of elimination", **circle))
        sizes: dict[int, int] = {}
        for k in cluster.values():
            sizes[k] = sizes.get(k, 0) + 1
        for k in sorted(sizes)[: len(PASTELS)]:
            bodies = "1 body" if sizes[k] == 1 else f"{sizes[k]} bodies"
            handles.append(
                Patch(facecolor=PASTELS[k], edgecolor=INK, linewidth=0.5, label=f"cluster {k + 1}: {bodies}")
            )
        if len(sizes) > len(PASTELS):
            handles.append(Patch(facecolor="none", edgecolor="none", label=f"... {len(sizes)} clusters, colors repeat"))
        return handles
