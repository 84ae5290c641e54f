# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of constraints for docs/how-to/constraints.md: ``python scripts/constraint_pictures.py``.

Two bodies each, the first gray, the second orange. Green arrows are what stays free, red ones what is held. Bodies are
boxes and cylinders in a parallel projection, painted from far to near.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.drawing.pictures import FAINT, GROUND, INK, LOOP, blank, write_picture

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "constraints"
FREE, HELD = GROUND, LOOP
FIRST, SECOND = "#b9c0ca", "#f5c07a"
Floats = npt.NDArray[np.float64]
Vector = Sequence[float] | Floats

RIGHT, UP = np.array([-0.68, 0.73, 0.0]), np.array([-0.34, -0.31, 0.88])
"""Where x, y and z go on the paper."""
NEAR = np.cross(RIGHT, UP)
X, Y, Z = np.eye(3)


def shade(color: str, light: float) -> tuple[float, float, float]:
    """A color made darker or lighter."""
    from matplotlib.colors import to_rgb

    r, g, b = (min(1.0, c * light) for c in to_rgb(color))
    return r, g, b


def across(axis: Vector) -> tuple[Floats, Floats]:
    """Two directions normal to an axis, right-handed with it."""
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    x = np.cross(Y if abs(z[1]) < 0.9 else X, z)
    x /= np.linalg.norm(x)
    return x, np.cross(z, x)


class Sketch:
    """A small picture of things in space; one unit is an inch."""

    def __init__(self, width: float = 3.0, height: float = 2.3, middle: tuple[float, float] = (1.5, 1.05)) -> None:
        self.figure = blank(width, height)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(0, height)
        self.middle = np.array(middle)

    def at(self, p: Vector) -> Floats:
        """Where a point of space is on the paper."""
        q = np.asarray(p, dtype=float)
        return np.array([RIGHT @ q, UP @ q]) + self.middle

    def polygon(
        self, points: Sequence[Vector], face: Any, edge: str = INK, depth: float | None = None, **how: Any
    ) -> None:
        """A flat piece; nearer ones are painted over farther ones."""
        from matplotlib.patches import Polygon

        far = float(np.mean([NEAR @ np.asarray(p, dtype=float) for p in points])) if depth is None else depth
        how = {"linewidth": 0.7, "joinstyle": "round"} | how
        outline = [self.at(p) for p in points]
        self.axes.add_patch(Polygon(outline, facecolor=face, edgecolor=edge, zorder=2 + 0.1 * far, **how))

    def box(self, middle: Vector, size: Vector, color: str, alpha: float = 1.0) -> None:
        """A box along the axes: the three faces that one sees."""
        c, s = np.asarray(middle, dtype=float), np.asarray(size, dtype=float) / 2
        for k, light in ((0, 0.86), (1, 0.95), (2, 1.08)):
            sign = 1.0 if NEAR[k] > 0 else -1.0
            a, b = (k + 1) % 3, (k + 2) % 3
            corners = []
            for u, v in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                p = c.copy()
                p[k] += sign * s[k]
                p[a] += u * s[a]
                p[b] += v * s[b]
                corners.append(p)
            self.polygon(corners, (*shade(color, light), alpha), depth=float(NEAR @ c) + 0.01 * k)

    def disc(
        self, middle: Vector, axis: Vector, radius: float, color: Any, depth: float | None = None, **how: Any
    ) -> None:
        """A flat round piece."""
        x, y = across(axis)
        turns = np.linspace(0, 2 * np.pi, 41)
        points = [np.asarray(middle) + radius * (np.cos(t) * x + np.sin(t) * y) for t in turns]
        self.polygon(points, color, depth=depth, **how)

    def cylinder(self, start: Vector, end: Vector, radius: float, color: str) -> None:
        """From one disc to another: the outline of both, then the near lid."""
        a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
        if NEAR @ a > NEAR @ b:
            a, b = b, a
        x, y = across(b - a)
        turns = np.linspace(0, 2 * np.pi, 73)
        rim = [radius * (np.cos(t) * x + np.sin(t) * y) for t in turns]
        from scipy.spatial import ConvexHull

        points = [*(a + p for p in rim), *(b + p for p in rim)]
        flat = np.array([self.at(p) for p in points])
        depth = float(NEAR @ (a + b)) / 2
        self.polygon([points[k] for k in ConvexHull(flat).vertices], shade(color, 0.92), depth=depth)
        self.disc(b, b - a, radius, shade(color, 1.08), depth=depth + 0.01)

    def ball(self, middle: Vector, radius: float, color: str) -> None:
        """A ball, with a light on it."""
        from matplotlib.patches import Circle

        far = 2 + 0.1 * float(NEAR @ np.asarray(middle, dtype=float))
        p = self.at(middle)
        self.axes.add_patch(Circle(p, radius, facecolor=shade(color, 0.97), edgecolor=INK, linewidth=0.7, zorder=far))
        light = p + radius * np.array([-0.3, 0.35])
        self.axes.add_patch(Circle(light, 0.28 * radius, facecolor=shade(color, 1.15), linewidth=0, zorder=far))

    def line(self, points: Sequence[Vector], color: str = INK, **how: Any) -> None:
        """A line through space, above everything unless told otherwise."""
        flat = np.array([self.at(p) for p in points])
        self.axes.plot(*flat.T, color=color, **({"linewidth": 1.0, "zorder": 6, "solid_capstyle": "round"} | how))

    def dot(self, p: Vector, color: str = INK, size: float = 4) -> None:
        """A point."""
        self.axes.plot(*self.at(p), "o", color=color, markersize=size, zorder=9)

    def text(self, p: Vector, text: str, size: float = 8, dx: float = 0.0, dy: float = 0.0, **how: Any) -> None:
        """Words at a point of space."""
        x, y = self.at(p)
        self.note(x + dx, y + dy, text, size, **how)

    def note(self, x: float, y: float, text: str, size: float = 8, **how: Any) -> None:
        """Words on the paper."""
        how = {"ha": "center", "va": "center", "color": INK} | how
        self.axes.text(x, y, text, fontsize=size, parse_math=False, zorder=12, **how)

    # What moves ------------------------------------------------------------------------------------------

    def arrow(self, start: Vector, end: Vector, color: str, both: bool = True) -> None:
        """A sliding: an arrow with a head at the end, or at both."""
        from matplotlib.patches import FancyArrowPatch

        how = {"linewidth": 2.0, "mutation_scale": 11, "shrinkA": 0, "shrinkB": 0, "zorder": 10}
        style = "<|-|>" if both else "-|>"
        self.axes.add_patch(FancyArrowPatch(self.at(start), self.at(end), arrowstyle=style, color=color, **how))

    def turn(self, middle: Vector, axis: Vector, color: str, radius: float = 0.2, both: bool = True) -> None:
        """A turning: most of a circle about an axis, with heads."""
        x, y = across(axis)
        angles = np.radians(np.linspace(-60, 200, 40))
        path = np.array([self.at(np.asarray(middle) + radius * (np.cos(t) * x + np.sin(t) * y)) for t in angles])
        self.axes.plot(*path[2:-2].T, color=color, linewidth=2.0, zorder=10, solid_capstyle="butt")
        for tip, before in ((path[-1], path[-5]), *(((path[0], path[4]),) if both else ())):
            self.head(before, tip, color)

    def head(self, before: Floats, tip: Floats, color: str) -> None:
        """The head of an arrow."""
        from matplotlib.patches import Polygon

        d = (tip - before) / max(float(np.linalg.norm(tip - before)), 1e-9)
        n = np.array([-d[1], d[0]])
        back = tip - 0.075 * d
        corners = [tip + 0.03 * d, back + 0.05 * n, back - 0.05 * n]
        self.axes.add_patch(Polygon(corners, facecolor=color, edgecolor=color, linewidth=0.5, zorder=11))

    def freedoms(self, origin: Vector, slides: str, turns: str, reach: float = 0.72, names: bool = True) -> None:
        """Three axes: sliding along each and turning about each, green where free (named in the strings), else red."""
        o = np.asarray(origin, dtype=float)
        for name, axis in zip("xyz", (X, Y, Z), strict=True):
            self.line([o, o + reach * axis], INK, linewidth=0.7, zorder=9)
            slide = FREE if name in slides else HELD
            spin = FREE if name in turns else HELD
            self.arrow(o + (reach - 0.02) * axis, o + (reach + 0.36) * axis, slide)
            self.turn(o + (reach - 0.18) * axis, axis, spin, 0.15)
            if names:
                self.text(o + (reach + 0.46) * axis, name, 8, color=INK)
        self.dot(o)


def legend(sketch: Sketch, words: str = "") -> Sketch:
    """What the colors mean, at the bottom."""
    sketch.axes.plot(0.14, 0.12, "s", markersize=5, color=FREE)
    sketch.note(0.22, 0.115, "free", 7, ha="left", color=FREE)
    sketch.axes.plot(0.56, 0.12, "s", markersize=5, color=HELD)
    sketch.note(0.64, 0.115, "held", 7, ha="left", color=HELD)
    if words:
        sketch.note(2.9, 0.115, words, 7, ha="right", color=FAINT)
    return sketch


def named(sketch: Sketch, first: tuple[float, float], second: tuple[float, float]) -> None:
    """The two bodies by name, on the paper."""
    sketch.note(*first, "first", 8, color="#5b6470", style="italic")
    sketch.note(*second, "second", 8, color="#b06a10", style="italic")


# Between two frames ------------------------------------------------------------------------------------------------


def weld() -> Sketch:
    """Two boxes glued."""
    s = Sketch(middle=(1.5, 0.9))
    s.box((-0.55, 0, 0), (1.0, 0.5, 0.5), FIRST)
    s.box((0.4, 0, 0), (0.8, 0.5, 0.5), SECOND)
    s.freedoms((0, 0, 0.25), "", "")
    named(s, (2.6, 1.6), (0.45, 0.45))
    return legend(s, "6 rows")


def hinge() -> Sketch:
    """Two plates on a pin."""
    s = Sketch(middle=(1.5, 0.9))
    s.cylinder((0, 0, -0.35), (0, 0, -0.05), 0.22, FIRST)
    s.box((-0.6, 0, -0.2), (0.9, 0.3, 0.3), FIRST)
    s.box((0.6, 0, 0.12), (0.9, 0.3, 0.3), SECOND)
    s.cylinder((0, 0, -0.03), (0, 0, 0.27), 0.22, SECOND)
    s.freedoms((0, 0, 0.27), "", "z")
    named(s, (2.65, 1.35), (0.35, 0.6))
    return legend(s, "5 rows, axis z")


def slider() -> Sketch:
    """A block on a rail."""
    s = Sketch()
    s.box((0, 0, -0.18), (0.26, 0.26, 1.5), FIRST)
    s.box((0, 0, -0.1), (0.62, 0.62, 0.4), SECOND)
    s.freedoms((0, 0, 0.1), "z", "")
    named(s, (1.0, 0.35), (0.75, 1.3))
    return legend(s, "5 rows, axis z")


def cylindrical() -> Sketch:
    """A sleeve on a round bar."""
    s = Sketch()
    s.cylinder((0, 0, -0.95), (0, 0, 0.35), 0.13, FIRST)
    s.cylinder((0, 0, -0.3), (0, 0, 0.1), 0.3, SECOND)
    s.freedoms((0, 0, 0.1), "z", "z")
    named(s, (1.0, 0.35), (0.75, 1.25))
    return legend(s, "4 rows, axis z")


def cardan() -> Sketch:
    """Two forks and a cross."""
    s = Sketch()
    s.box((0, 0, -0.75), (0.3, 0.3, 0.3), FIRST)
    s.box((-0.36, 0, -0.35), (0.08, 0.22, 0.9), FIRST)
    s.box((0, 0, -0.62), (0.8, 0.22, 0.08), FIRST)
    s.box((0, 0.36, 0.3), (0.22, 0.08, 0.8), SECOND)
    s.box((0, 0, 0.66), (0.22, 0.8, 0.08), SECOND)
    s.box((0, -0.36, 0.3), (0.22, 0.08, 0.8), SECOND)
    s.box((0.36, 0, -0.35), (0.08, 0.22, 0.9), FIRST)
    s.line([(-0.55, 0, 0), (0.75, 0, 0)], INK, linewidth=1.6)
    s.line([(0, -0.55, 0), (0, 0.75, 0)], INK, linewidth=1.6)
    s.turn((0.62, 0, 0), X, FREE, 0.17)
    s.turn((0, 0.66, 0), Y, FREE, 0.17)
    s.turn((0, 0, 0.95), Z, HELD, 0.17)
    for axis in (X, Y, Z):
        s.arrow((0, 0, 0), 0.3 * axis, HELD, both=False)
    s.dot((0, 0, 0))
    s.text((0.98, 0, 0), "axis", 8)
    s.text((0, 0.98, 0), "second_axis", 8, dx=0.12, dy=0.1)
    named(s, (2.35, 0.45), (0.75, 1.95))
    return legend(s, "4 rows")


def point() -> Sketch:
    """A ball in a socket."""
    s = Sketch()
    s.box((-0.65, 0, -0.1), (0.85, 0.4, 0.4), FIRST)
    s.ball((0, 0, 0), 0.2, SECOND)
    s.box((0.62, 0, -0.15), (0.8, 0.22, 0.22), SECOND)
    s.freedoms((0, 0, 0.1), "", "xyz")
    named(s, (2.5, 1.5), (0.4, 0.75))
    return legend(s, "3 rows")


def plane_on_plane() -> Sketch:
    """A plate on a table."""
    s = Sketch(middle=(1.4, 0.95))
    s.box((0, 0, -0.12), (1.9, 1.6, 0.12), FIRST)
    s.box((0, 0, 0.06), (0.8, 0.6, 0.24), SECOND)
    s.freedoms((0, 0, 0.18), "xy", "z", reach=0.6)
    named(s, (2.55, 0.6), (0.85, 1.35))
    return legend(s, "3 rows, normal z")


def point_on_line() -> Sketch:
    """A bead on a wire."""
    s = Sketch()
    s.box((0, 0, -0.85), (0.5, 0.5, 0.2), FIRST)
    s.line([(0, 0, -0.75), (0, 0, 0.6)], "#5b6470", linewidth=2.5, zorder=1.9)
    s.ball((0, 0, -0.1), 0.17, SECOND)
    s.box((0.6, 0, -0.25), (0.7, 0.22, 0.22), SECOND)
    s.freedoms((0, 0, 0.0), "z", "xyz")
    named(s, (2.2, 0.33), (0.4, 0.55))
    return legend(s, "2 rows, axis z")


def point_on_plane() -> Sketch:
    """A tip on a table."""
    s = Sketch(middle=(1.4, 0.95))
    s.box((0, 0, -0.12), (1.9, 1.6, 0.12), FIRST)
    s.ball((0, 0, 0.06), 0.12, SECOND)
    s.cylinder((0.05, -0.02, 0.16), (0.3, -0.3, 0.75), 0.09, SECOND)
    s.freedoms((0, 0, 0.06), "xy", "xyz", reach=0.66)
    named(s, (2.55, 0.6), (2.1, 1.65))
    return legend(s, "1 row, normal z")


def rod() -> Sketch:
    """Two points at one distance."""
    s = Sketch()
    s.box((-0.95, 0, 0.1), (0.45, 0.45, 0.45), FIRST)
    s.box((0.95, 0, 0.1), (0.45, 0.45, 0.45), SECOND)
    a, b = np.array((-0.72, 0.2, 0.1)), np.array((0.72, 0.2, 0.1))
    s.line([a, b], INK, linewidth=3.0)
    for p in (a, b):
        s.dot(p, INK, 7)
        s.dot(p, "white", 3)
    s.arrow(b - 0.75 * X, b - 0.3 * X, HELD)
    s.arrow(b - 0.36 * Y, b + 0.5 * Y, FREE)
    s.arrow(b - 0.4 * Z, b + 0.55 * Z, FREE)
    for k, axis in enumerate((X, Y, Z)):
        s.turn(np.array((0.95, 0.0, 0.45)) + (0.45, 0.45, 0.22)[k] * axis, axis, FREE, 0.15)
    s.text((a + b) / 2, "length", 8, dx=0.18, dy=-0.14)
    named(s, (2.65, 1.8), (0.4, 0.35))
    return legend(s, "1 row")


def rolling() -> Sketch:
    """A ball on a table."""
    s = Sketch(middle=(1.4, 0.75))
    s.box((0, 0, -0.1), (1.9, 1.6, 0.12), FIRST)
    s.ball((0, 0, 0.4), 0.44, SECOND)
    o = np.array((0, 0, -0.04))
    s.line([(0, 0, 0.4), o], INK, linewidth=0.8)
    s.text((0, 0, 0.15), "radius", 7.5, dx=0.19, dy=0.0)
    s.dot((0, 0, 0.4))
    s.arrow(o + 0.06 * X, o + 0.55 * X, HELD)
    s.arrow(o + 0.06 * Y, o + 0.6 * Y, HELD)
    s.arrow((0, 0, 0.9), (0, 0, 1.25), HELD)
    s.turn((0, 0, 0.72), Z, FREE, 0.2)
    s.turn((0.52, 0, 0.42), X, FREE, 0.2)
    s.turn((0, 0.62, 0.42), Y, FREE, 0.2)
    s.text(o + 0.66 * X, "slip", 7.5, color=HELD, dx=0.03)
    named(s, (2.75, 0.5), (0.75, 1.7))
    return legend(s, "3 rows, normal z")


# On joints ---------------------------------------------------------------------------------------------------------


def wheel(s: Sketch, x: float, y: float, radius: float, color: str, teeth: int = 0, label: str = "") -> None:
    """A wheel seen along its axis, on the paper."""
    from matplotlib.patches import Circle, Polygon

    if teeth:
        angles = np.linspace(0, 2 * np.pi, 4 * teeth, endpoint=False)
        radii = [radius + (0.035 if k % 4 in (0, 1) else -0.035) for k in range(4 * teeth)]
        rim = [(x + r * np.cos(t), y + r * np.sin(t)) for r, t in zip(radii, angles, strict=True)]
        s.axes.add_patch(Polygon(rim, facecolor=color, edgecolor=INK, linewidth=0.7, zorder=3))
    else:
        s.axes.add_patch(Circle((x, y), radius, facecolor=color, edgecolor=INK, linewidth=0.7, zorder=3))
    s.axes.plot(x, y, "o", markersize=4, color=INK, zorder=4)
    if label:
        s.note(x, y - 0.12, label, 7.5)


def spin(
    s: Sketch, x: float, y: float, radius: float, color: str, start: float, end: float, both: bool = False
) -> None:
    """A turning on the paper, from one angle to another in degrees."""
    angles = np.radians(np.linspace(start, end, 40))
    path = np.array([(x + radius * np.cos(t), y + radius * np.sin(t)) for t in angles])
    s.axes.plot(*path[1:-2].T, color=color, linewidth=2.0, zorder=10)
    s.head(path[-5], path[-1], color)
    if both:
        s.head(path[4], path[0], color)


def link(s: Sketch, x: float, y: float, length: float, angle: float, color: str) -> tuple[float, float]:
    """A bar that turns about a pin on the paper; its end."""
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.transforms import Affine2D

    bar = FancyBboxPatch(
        (0, -0.06),
        length,
        0.12,
        boxstyle="round,pad=0,rounding_size=0.06",
        facecolor=color,
        edgecolor=INK,
        linewidth=0.7,
        zorder=3,
    )
    bar.set_transform(Affine2D().rotate_deg(angle).translate(x, y) + s.axes.transData)
    s.axes.add_patch(bar)
    s.axes.plot(x, y, "o", markersize=4, color=INK, zorder=4)
    return x + length * np.cos(np.radians(angle)), y + length * np.sin(np.radians(angle))


def ground(s: Sketch, x: float, y: float) -> None:
    """A pin's stand."""
    from matplotlib.patches import Polygon

    s.axes.add_patch(
        Polygon(
            [(x, y), (x - 0.12, y - 0.2), (x + 0.12, y - 0.2)], facecolor=FIRST, edgecolor=INK, linewidth=0.7, zorder=2
        )
    )
    s.axes.plot([x - 0.18, x + 0.18], [y - 0.2, y - 0.2], color=INK, linewidth=1.0)


def formula(s: Sketch, words: str) -> Sketch:
    """What is held, as an equation."""
    s.note(1.5, 0.36, words, 9, color=HELD)
    return legend(s)


def joint_coupling() -> Sketch:
    """Two bars that turn alike."""
    s = Sketch()
    for x, angle, name in ((0.55, 55, "a"), (1.85, 35, "b")):
        ground(s, x, 0.95)
        link(s, x, 0.95, 0.85, angle, SECOND)
        spin(s, x, 0.95, 0.5, FREE, 0, angle)
        s.axes.plot([x, x + 0.75], [0.95, 0.95], color=FAINT, linewidth=0.7, linestyle=(0, (4, 2)))
        s.note(x + 0.66 * np.cos(np.radians(angle / 2)), 0.95 + 0.66 * np.sin(np.radians(angle / 2)), f"q_{name}", 8)
    s.axes.plot([0.55, 1.85], [0.95, 0.95], color=HELD, linewidth=1.2, linestyle=(0, (1, 1.5)), zorder=1)
    return formula(s, "c_a q_a + c_b q_b + … = offset")


def gear() -> Sketch:
    """Two toothed wheels."""
    s = Sketch()
    wheel(s, 0.95, 1.25, 0.3, SECOND, 10, "driver")
    wheel(s, 1.88, 1.25, 0.62, FIRST, 20, "driven")
    spin(s, 0.95, 1.25, 0.47, FREE, 60, 210)
    spin(s, 1.88, 1.25, 0.78, FREE, 110, 35)
    return formula(s, "q_driver = ratio · q_driven + offset")


def belt() -> Sketch:
    """A belt over three pulleys."""
    s = Sketch()
    wheels = ((0.5, 1.2, 0.2, SECOND, "driver"), (1.5, 1.35, 0.34, FIRST, "a"), (2.45, 1.15, 0.26, FIRST, "b"))
    from scipy.spatial import ConvexHull

    rim = np.array(
        [
            (x + (r + 0.03) * np.cos(t), y + (r + 0.03) * np.sin(t))
            for x, y, r, _, _ in wheels
            for t in np.linspace(0, 2 * np.pi, 60)
        ]
    )
    around = [*ConvexHull(rim).vertices]
    s.axes.plot(*rim[[*around, around[0]]].T, color=HELD, linewidth=2.2, zorder=2)
    for x, y, r, color, name in wheels:
        wheel(s, x, y, r, color, 0, name if name != "driver" else "")
        spin(s, x, y, r + 0.17, FREE, 70, 150)
    s.note(0.5, 0.84, "driver", 7.5)
    return formula(s, "q_driver = r_a q_a + r_b q_b + offset")


def curve(s: Sketch, function: Callable[[Floats], Floats], words: str) -> None:
    """A small graph on the right, with a dot that follows it."""
    x = np.linspace(0, 1, 50)
    y = function(x)
    left, low, wide, tall = 1.95, 0.95, 0.85, 0.8
    s.axes.plot(left + wide * x, low + tall * y, color=HELD, linewidth=1.8, zorder=4)
    s.axes.plot([left, left, left + wide], [low + tall, low, low], color=INK, linewidth=0.8)
    k = 33
    s.axes.plot(left + wide * x[k], low + tall * y[k], "o", markersize=6, color=FREE, zorder=6)
    s.axes.plot([left + wide * x[k]] * 2, [low, low + tall * y[k]], color=FAINT, linewidth=0.7, linestyle=(0, (3, 2)))
    s.note(left + wide * 0.5, low - 0.13, "leader", 7.5)
    s.note(left - 0.06, low + tall + 0.1, "follower", 7.5, ha="left")
    s.note(left + wide, low + tall + 0.1, words, 7.5, ha="right", color=HELD)


def two_bars(s: Sketch) -> None:
    """A leader and a follower."""
    for x, angle, name in ((0.35, 60, "leader"), (1.05, 25, "follower")):
        ground(s, x, 1.0)
        link(s, x, 1.0, 0.7, angle, SECOND if name == "follower" else FIRST)
        spin(s, x, 1.0, 0.42, FREE, 0, angle)
    s.note(0.35, 0.7, "leader", 7)
    s.note(1.1, 0.7, "follower", 7)


def polynomial_coupling() -> Sketch:
    """A joint that follows a polynomial."""
    s = Sketch()
    two_bars(s)
    curve(s, lambda x: 0.1 + 0.5 * x + 1.5 * x**2 - 1.25 * x**3, "")
    return formula(s, "q = c0 + c1 x + … + c4 x⁴")


def follows() -> Sketch:
    """A joint that follows a function."""
    s = Sketch()
    two_bars(s)
    curve(s, lambda x: 0.45 + 0.35 * np.sin(6 * x), "")
    return formula(s, "q_follower = f(q_leader, …)")


def function_coupling() -> Sketch:
    """A crank and a piston with a rod of no mass between them."""
    from matplotlib.patches import Rectangle

    s = Sketch()
    ground(s, 0.6, 1.1)
    end = link(s, 0.6, 1.1, 0.5, 50, FIRST)
    spin(s, 0.6, 1.1, 0.66, FREE, 15, 95, both=True)
    s.axes.add_patch(Rectangle((1.95, 0.95), 0.4, 0.3, facecolor=SECOND, edgecolor=INK, linewidth=0.7, zorder=3))
    s.axes.plot([1.5, 2.85], [0.93, 0.93], color=INK, linewidth=1.0)
    s.axes.plot([end[0], 2.15], [end[1], 1.1], color=HELD, linewidth=2.0, zorder=5)
    for p in (end, (2.15, 1.1)):
        s.axes.plot(*p, "o", markersize=5, color=INK, zorder=6)
    from matplotlib.patches import FancyArrowPatch

    s.axes.add_patch(
        FancyArrowPatch((1.85, 1.5), (2.5, 1.5), arrowstyle="<|-|>", color=FREE, linewidth=2.0, mutation_scale=11)
    )
    s.note(0.6, 0.78, "q_a", 8)
    s.note(2.55, 1.1, "q_b", 8)
    s.note(1.6, 1.75, "no body here", 7.5, color=HELD)
    return formula(s, "f(q_a, q_b, …) = offset")


def joint_lock() -> Sketch:
    """A bar that stays."""
    s = Sketch()
    ground(s, 1.0, 0.95)
    link(s, 1.0, 0.95, 1.2, 35, SECOND)
    s.axes.plot([1.0, 2.1], [0.95, 0.95], color=FAINT, linewidth=0.7, linestyle=(0, (4, 2)))
    spin(s, 1.0, 0.95, 0.62, HELD, 0, 35, both=True)
    s.note(1.95, 1.1, "position", 8)
    for angle in (46, 24):
        t = np.radians(angle)
        s.axes.plot(
            [1 + 0.85 * np.cos(t), 1 + 1.05 * np.cos(t)],
            [0.95 + 0.85 * np.sin(t), 0.95 + 1.05 * np.sin(t)],
            color=HELD,
            linewidth=3.0,
        )
    return formula(s, "q = position")


def velocity_coupling() -> Sketch:
    """Velocities of a ball joint, weighed and added."""
    s = Sketch(middle=(1.45, 1.2))
    s.box((0, 0, -0.45), (0.9, 0.9, 0.12), FIRST)
    s.box((0, 0, 0.5), (0.22, 0.22, 0.9), SECOND)
    o = np.array((0.0, 0.0, -0.1))
    s.dot(o)
    for axis, held in ((X, False), (Y, False), (Z, True)):
        s.turn(o + 0.75 * axis, axis, HELD if held else FREE, 0.2, both=not held)
        s.line([o, o + 0.75 * axis], FAINT, linewidth=0.7, linestyle=(0, (4, 2)))
    return formula(s, "A v = 0")


# On many bodies ----------------------------------------------------------------------------------------------------


def center_of_mass() -> Sketch:
    """A few bodies and the point that stands for them."""
    s = Sketch(middle=(1.35, 0.75))
    s.box((0, 0, -0.12), (1.9, 1.5, 0.08), FIRST)
    s.box((0, -0.5, 0.22), (0.25, 0.22, 0.6), SECOND)
    s.box((0, 0.5, 0.22), (0.25, 0.22, 0.6), SECOND)
    s.box((0, 0, 0.65), (0.32, 1.25, 0.26), SECOND)
    o = np.array((0.0, 0.0, 0.35))
    s.line([o, (0, 0, -0.08)], INK, linewidth=0.8, linestyle=(0, (3, 2)), zorder=9)
    from matplotlib.patches import Circle, Wedge

    p = s.at(o)
    s.axes.add_patch(Circle(p, 0.09, facecolor="white", edgecolor=INK, linewidth=0.8, zorder=11))
    for start in (0, 180):
        s.axes.add_patch(Wedge(p, 0.09, start, start + 90, facecolor=INK, zorder=12))
    s.arrow(o + 0.16 * X, o + 0.75 * X, HELD)
    s.arrow(o + 0.16 * Y, o + 0.75 * Y, HELD)
    s.arrow(o + 0.6 * Z, o + 1.0 * Z, FREE)
    s.text(o + 0.86 * X, "x", 8)
    s.text(o + 0.86 * Y, "y", 8)
    s.text(o + 1.1 * Z, "z", 8)
    s.dot((0, 0, -0.08), INK, 3)
    s.text((0, 0, -0.08), "at", 8, style="italic", color="#5b6470", dx=0.14, dy=-0.08)
    return legend(s, 'axes="xy": 2 rows')


def linear_combination() -> Sketch:
    """Velocities of two places, weighed and added."""
    s = Sketch(middle=(1.45, 1.3))
    a, b = np.array((-0.75, 0, 0.0)), np.array((0.75, 0, 0.0))
    s.box(a, (0.5, 0.45, 0.45), FIRST)
    s.box(b, (0.5, 0.45, 0.45), SECOND)
    for p, name in ((a, "a"), (b, "b")):
        top = p + 0.23 * Z
        s.dot(top)
        s.arrow(top, top + np.array((0.2, 0, 0.4)), FREE, both=False)
        s.text(top + np.array((0.25, 0, 0.5)), f"v_{name}", 8)
        s.turn(p + 0.25 * Y, Y, FREE, 0.16, both=False)
    s.text(a, "place a", 7.5, dy=-0.47, style="italic", color="#5b6470")
    s.text(b, "place b", 7.5, dy=-0.47, style="italic", color="#b06a10")
    return formula(s, "A_a v_a + A_b v_b + … = 0")


# On lengths of tendons ---------------------------------------------------------------------------------------------


def tendon_coupling() -> Sketch:
    """A rope from the world through an eye of a bar to the tip of another."""
    s = Sketch()
    ground(s, 0.7, 0.75)
    knee = link(s, 0.7, 0.75, 0.9, 40, FIRST)
    tip = link(s, *knee, 0.9, -15, SECOND)
    eye = (1.05, 1.35)
    s.axes.plot([0.7 + 0.5 * np.cos(np.radians(40)), eye[0]], [0.75 + 0.5 * np.sin(np.radians(40)), eye[1]], color=INK)
    s.axes.plot([0.25, eye[0], tip[0]], [1.75, eye[1], tip[1]], color=HELD, linewidth=2.0, zorder=5)
    for p in ((0.25, 1.75), eye, tip):
        s.axes.plot(*p, "o", markersize=5, color=INK, zorder=6)
    s.note(0.25, 1.92, "site", 8)
    s.note(2.55, 1.35, "site", 8)
    return formula(s, "length = polynomial of another's")


def frame_drive() -> Sketch:
    """The tip of two bars on a curve of the world."""
    s = Sketch()
    ground(s, 0.6, 0.7)
    knee = link(s, 0.6, 0.7, 0.9, 55, FIRST)
    tip = link(s, *knee, 0.95, -25, SECOND)
    x = np.linspace(-0.55, 0.55, 60)
    s.axes.plot(tip[0] + x, tip[1] + 0.25 * np.sin(4 * x), color=HELD, linewidth=2.0, linestyle="--", zorder=4)
    s.axes.plot(*tip, "o", markersize=6, color=INK, zorder=6)
    return formula(s, "x, y, z = p(t)")


def length_drive() -> Sketch:
    """A cylinder between the ground and a bar, whose stroke is given."""
    s = Sketch()
    ground(s, 0.7, 0.75)
    tip = link(s, 0.7, 0.75, 1.5, 40, FIRST)
    foot = (1.7, 0.6)
    end = (0.7 + 0.65 * (tip[0] - 0.7), 0.75 + 0.65 * (tip[1] - 0.75))
    middle = (0.5 * (foot[0] + end[0]), 0.5 * (foot[1] + end[1]))
    s.axes.plot([foot[0], middle[0]], [foot[1], middle[1]], color=SECOND, linewidth=9, solid_capstyle="butt", zorder=5)
    s.axes.plot([middle[0], end[0]], [middle[1], end[1]], color=HELD, linewidth=3.0, zorder=4)
    for p in (foot, end):
        s.axes.plot(*p, "o", markersize=5, color=INK, zorder=6)
    return formula(s, "length = p(t)")


PICTURES: dict[str, Callable[[], Sketch]] = {
    "Weld": weld,
    "Hinge": hinge,
    "Slider": slider,
    "Cylindrical": cylindrical,
    "Cardan": cardan,
    "Point": point,
    "PlaneOnPlane": plane_on_plane,
    "PointOnLine": point_on_line,
    "PointOnPlane": point_on_plane,
    "Rod": rod,
    "Rolling": rolling,
    "JointCoupling": joint_coupling,
    "Gear": gear,
    "Belt": belt,
    "PolynomialCoupling": polynomial_coupling,
    "JointLock": joint_lock,
    "VelocityCoupling": velocity_coupling,
    "FunctionCoupling": function_coupling,
    "Follows": follows,
    "CenterOfMass": center_of_mass,
    "LinearCombination": linear_combination,
    "TendonCoupling": tendon_coupling,
    "FrameDrive": frame_drive,
    "LengthDrive": length_drive,
}
"""All pictures, by the names of constraints."""


def main(folder: Path = FOLDER, ending: str = ".svg") -> None:
    """Draw them all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        write_picture(draw().figure, folder / f"{name}{ending}", dpi=100)


if __name__ == "__main__":
    main(*(Path(word) if k == 0 else word for k, word in enumerate(sys.argv[1:])))  # type: ignore[arg-type]
