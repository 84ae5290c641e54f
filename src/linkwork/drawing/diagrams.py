# SPDX-License-Identifier: BSD-3-Clause
"""Kinematic diagrams in the symbols of textbooks, as SVG files that move in any browser.

It draws a `skeleton`, projected onto a plane. Bodies that move in it are drawn once, in groups that turn and
shift; all else, springs, cylinders, bodies that tumble, has points of its own in every picture.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.drawing.outlines import solid_edges
from linkwork.drawing.plots import COLORS, finite_part
from linkwork.drawing.silhouettes import hull, silhouette
from linkwork.drawing.skeleton import IMMENSE, Skeleton, skeleton
from linkwork.errors import InputError
from linkwork.inputs import count
from linkwork.model.constraints import WORLD, LengthDrive
from linkwork.model.forces import Damper, Force, GasSpring, HydraulicCylinder, SpringDamper
from linkwork.model.joints import Prismatic, Revolute, Spherical, Universal
from linkwork.model.model import Model
from linkwork.model.shapes import Ground, HeightField, Mesh
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import frame_placement

if TYPE_CHECKING:
    from linkwork.dynamics.motion import Motion

SIDE, MARGIN = 460.0, 34.0
"""Of the drawing, in pixels."""
PLANAR = 1e-6
"""Bodies whose points leave their plane by less, as a part of the size, are drawn once."""
PLANES = {"xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
OBLIQUE = np.array([[0.88, -0.47, 0.0], [0.20, 0.36, 0.91]])
"""Directions to the right and up of robots that do not move in a plane."""
PIN, INK, GRAY, TRACE = 4.5, "#222222", "#777777", "#c8321e"


class _Sheet:
    """Lines of an SVG file, and how meters become pixels."""

    def __init__(self, motion: Motion, frames: int, plane: str | None, trace: Sequence[str], seconds: float) -> None:
        robot = motion._known()
        self.robot, self.seconds = robot, seconds
        states = np.unique(np.linspace(0, len(motion) - 1, min(frames, len(motion))).astype(int))
        self.bones: Skeleton = skeleton(robot)
        self.R, self.p = self.bones.poses(motion.q[states])
        self.axes = _axes(robot, self.R, plane)
        self.points = self.bones.placed(self.R, self.p) @ self.axes.T
        self.eyes = [(f.body, f.placement.position) for f in (robot.frames[name] for name in trace)]
        self.eyes += _eyes(robot)
        """Points of bodies that are drawn as pins are: ends of elements and of tendons, traced frames."""
        traced = [frame_placement(robot, motion.q, name).position.reshape(-1, 3) @ self.axes.T for name in trace]
        self.traces = list(zip(traced, (path[states] for path in traced), strict=True))
        self.shapes = {k: self._solid_points(k) for k in range(len(self.p[0]))}
        drawn = [self.points.reshape(-1, 2), *traced, np.zeros((1, 2))]
        for k, outlines in self.shapes.items():
            drawn += [(self._placed(k, line) @ self.axes.T).reshape(-1, 2) for line in outlines]
        every = np.concatenate(drawn)
        self.low, high = every.min(axis=0), every.max(axis=0)
        self.size = max(float((high - self.low).max()), 1e-9)
        self.scale = SIDE / self.size
        self.width, self.height = (high - self.low) * self.scale + 2 * MARGIN
        self.lines: list[str] = []

    def pixels(self, points: Array) -> Array:
        """Points of the plane in pixels, downward."""
        pixels: Array = (points - self.low) * self.scale * [1, -1] + [MARGIN, self.height - MARGIN]
        return pixels

    def _placed(self, k: int, local: Array) -> Array:
        """Points of a body in all pictures, ``(frames, n, 3)``."""
        points: Array = np.einsum("fij,nj->fni", self.R[:, k], local) + self.p[:, k, None]
        return points

    def _solid_points(self, k: int) -> list[Array]:
        """Outlines of the shapes of a body as the eye sees them, in the body's frame."""
        robot, pieces = self.robot, list[Array]()
        body = WORLD if k == 0 else robot.body_names[k - 1]
        R = self.R[0, k]
        across = self.axes @ R  # directions of the picture in the body's frame
        flat = self.planar(k)
        shapes = [shape for shape in robot.shapes if shape.body == body and shape.role != "fluid"]
        for shape in [s for s in shapes if s.role == "visual"] or shapes:
            if isinstance(shape.solid, Ground | HeightField):
                continue
            if isinstance(shape.solid, Mesh) and shape.solid.is_found:
                surface = shape.solid.surface()
                local = surface.vertices * np.array(shape.solid.scale)
                local = local @ shape.placement.rotation.T + shape.placement.position
                pieces += silhouette(local, surface.faces, across)
            else:
                local = solid_edges(shape.solid).reshape(-1, 3) @ shape.placement.rotation.T + shape.placement.position
                seen = hull(local @ across.T) if flat else np.unique(local, axis=0, return_index=True)[1]
                pieces += [local[seen]] if len(local) else []
        return pieces

    def planar(self, k: int) -> bool:
        """Whether a body turns in the plane of the picture alone."""
        turned = np.einsum("ai,fij,kj,bk->fab", self.axes, self.R[:, k], self.R[0, k], self.axes)
        return bool(np.abs(np.einsum("fab,fcb->fac", turned, turned) - np.eye(2)).max() < PLANAR)

    def moving(self, paths: Array, look: str, closed: bool = False) -> None:
        """A line whose points move, ``(frames, n, 2)`` in meters."""
        if not paths.shape[1]:
            return
        words = [_path(one, closed) for one in self.pixels(paths)]
        self.lines.append(f'<path d="{words[0]}" {look}>{self._animate("d", words)}</path>')

    def turning(self, paths: Array, look: str) -> None:
        """The outline of a convex solid that tumbles, ``(frames, n, 2)`` in meters: that of its points."""
        words = [_path(one[hull(one)], True) for one in self.pixels(paths)]
        self.lines.append(f'<path d="{words[0]}" {look}>{self._animate("d", words, True)}</path>')

    def _animate(self, name: str, words: Sequence[str], steps: bool = False) -> str:
        if len(set(words)) < 2:
            return ""
        mode = ' calcMode="discrete"' if steps else ""
        return f'<animate attributeName="{name}" values="{";".join(words)}" {self._clock()}{mode}/>'

    def _clock(self) -> str:
        return f'dur="{self.seconds:g}s" repeatCount="indefinite"'

    def body(self, k: int, parts: Sequence[tuple[Array, str, bool]]) -> None:
        """Lines of a body: local points ``(n, 3)``, how they look, and whether they are closed."""
        if not parts:
            return
        if not self.planar(k):
            for local, look, closed in parts:
                self.moving(self._placed(k, local) @ self.axes.T, look, closed)
            return
        turned = np.einsum("ai,fij,kj,bk->fab", self.axes, self.R[:, k], self.R[0, k], self.axes)
        angle = -np.degrees(np.unwrap(np.arctan2(turned[:, 1, 0], turned[:, 0, 0])))
        shift = self.pixels(self.p[:, k] @ self.axes.T)
        at, turn = [f"{x:.1f} {y:.1f}" for x, y in shift], [f"{a:.2f}" for a in angle]
        self.lines.append(f'<g transform="translate({at[0]}) rotate({turn[0]})">')
        for kind, words, how in (("translate", at, ""), ("rotate", turn, ' additive="sum"')):
            if len(self.p) > 1:
                self.lines.append(
                    f'<animateTransform attributeName="transform" type="{kind}" values="{";".join(words)}" '
                    f"{self._clock()}{how}/>"
                )
        for local, look, closed in parts:
            flat = (local @ self.R[0, k].T @ self.axes.T) * self.scale * [1, -1]
            self.lines.append(f'<path d="{_path(flat, closed)}" {look}/>')
        self.lines.append("</g>")

    def text(self) -> str:
        """The file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'width="{self.width:.0f}" height="{self.height:.0f}" stroke-linecap="round" stroke-linejoin="round">'
        )
        title = f"<title>{escape(self.robot.name)}</title>"
        paper = '<rect width="100%" height="100%" fill="white"/>'
        return "\n".join([head, title, paper, *self.lines, "</svg>", ""])


def _axes(robot: Any, R: Array, plane: str | None) -> Array:
    """The directions to the right and up, ``(2, 3)``: of the plane that most hinges are normal to."""
    if plane is not None:
        if plane == "oblique":
            return OBLIQUE
        if plane not in PLANES:
            raise InputError(f"plane is {plane!r}, needs one of xy, xz, yz, oblique")
        return np.eye(3)[list(PLANES[plane])]
    number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}
    normals = [
        R[0, number[j.parent]] @ j.placement.rotation @ j.type.axis
        for j in robot.joints
        if isinstance(j.type, Revolute)
    ]
    if any(isinstance(joint.type, Universal | Spherical) for joint in robot.joints):
        return OBLIQUE
    if not normals:
        return np.eye(3)[[0, 2]]
    sizes = np.abs(np.array(normals))
    flat = (sizes > 1 - PLANAR).all(axis=0)
    if not flat.any():
        return OBLIQUE
    return np.eye(3)[{0: [1, 2], 1: [0, 2], 2: [0, 1]}[int(flat.argmax())]]


def _path(points: Array, closed: bool) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + ("Z" if closed else "")


def _stroke(color: str, width: float, fill: str = "none", extra: str = "") -> str:
    return f'fill="{fill}" stroke="{color}" stroke-width="{width:g}" {extra}'.rstrip()


def _circle(center: Array, radius: float, axes: Array) -> Array:
    angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)[:, None]
    points: Array = center + radius * (np.cos(angle) * axes[0] + np.sin(angle) * axes[1])
    return points


def _bodies(sheet: _Sheet) -> None:
    """Bars, plates between pins, and shapes; a color each."""
    bones, robot = sheet.bones, sheet.robot
    for k in range(1, 1 + len(robot.body_names)):
        color = COLORS[(k - 1) % len(COLORS)]
        ends = [at for name, at in sheet.eyes if name == robot.body_names[k - 1]]
        center = bones.marks["mass"] if sheet.shapes[k] else []  # of a body without pins
        mine = np.setdiff1d(np.flatnonzero(bones.body == k), center)
        local = np.array([*bones.local[mine], *ends]).reshape(-1, 3)
        parts: list[tuple[Array, str, bool]] = []
        if len(local) > 1:
            flat, wide = local @ sheet.R[0, k].T @ sheet.axes.T, 3 if sheet.shapes[k] else 5
            corners = hull(flat) if len(local) > 2 else np.arange(0)
            if len(corners) > 2:
                parts.append((local[corners], _stroke(color, wide, color, 'fill-opacity="0.2"'), True))
            else:
                parts += [(np.stack([local[0], end]), _stroke(color, wide), False) for end in local[1:]]
        fill = _stroke(color, 1.5, color, 'fill-opacity="0.3"')
        if sheet.planar(k):
            parts += [(line, fill, True) for line in sheet.shapes[k]]
        sheet.body(k, parts)
        if not sheet.planar(k):
            for line in sheet.shapes[k]:
                sheet.turning(sheet._placed(k, line) @ sheet.axes.T, fill)


def _sliders(sheet: _Sheet) -> None:
    """A guide on the parent of each sliding joint, and a block on its body."""
    robot, unit = sheet.robot, 1.0 / sheet.scale
    number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}
    for joint in robot.joints:
        if not isinstance(joint.type, Prismatic):
            continue
        me, parent = number[joint.child], number[joint.parent]
        along = joint.placement.rotation @ joint.type.axis
        origin = np.einsum("fji,fj->fi", sheet.R[:, parent], sheet.p[:, me] - sheet.p[:, parent])
        reach = (origin - joint.placement.position) @ along
        ends = [
            joint.placement.position + (x + s * 16 * unit) * along for x, s in ((reach.min(), -1), (reach.max(), 1))
        ]
        if parent == 0:
            sheet.body(0, [(np.array(ends), _stroke(GRAY, 2, extra='stroke-dasharray="7 4"'), False)])
        else:
            start = sheet._placed(parent, joint.placement.position[None])[:, 0] @ sheet.axes.T
            _cylinder(sheet, start, sheet.p[:, me] @ sheet.axes.T, 7.0, GRAY)
        if sheet.shapes[me]:
            continue
        inward = sheet.axes @ sheet.R[0, parent] @ along
        if np.linalg.norm(inward) > 0.1:
            x = inward / np.linalg.norm(inward)
            corners = np.array([[-11, -7], [11, -7], [11, 7], [-11, 7]]) @ np.array([x, [-x[1], x[0]]]) * unit
            local = corners @ sheet.axes @ sheet.R[0, me]
            sheet.body(me, [(local, _stroke(INK, 1.5, "white"), True)])


def _grounds(sheet: _Sheet) -> None:
    """The hatched ground under pins of the world."""
    bones = sheet.bones
    fixed = [k for k in {*bones.marks["pin"], *(end for _, *ends in bones.held for end in ends)} if bones.body[k] == 0]
    sliding = {slide for slide, _ in bones.slides}
    for x, y in {tuple(np.round(sheet.pixels(sheet.points[0, k]), 1)) for k in fixed if k not in sliding}:
        hatch = "".join(f"M{x + d:.1f} {y + 16:.1f}l-5 6" for d in (-9, -3, 3, 9, 14))
        triangle = f"M{x:.1f} {y:.1f}l-9 16h18Z"
        sheet.lines.append(f'<path d="{triangle}" {_stroke(INK, 1.5, "#eeeeee")}/>')
        sheet.lines.append(f'<path d="{hatch}M{x - 14:.1f} {y + 16:.1f}h29" {_stroke(INK, 1.2)}/>')


def _pins(sheet: _Sheet) -> None:
    """Circles where hinges are and where constraints hold points."""
    bones = sheet.bones
    sliding = {end for _, end in bones.slides}
    radius = PIN / sheet.scale
    marks = [*(k for k in bones.marks["joint"] if k not in sliding), *bones.marks["loop"], *bones.marks["held"]]
    seen = list[Array]()
    for k in dict.fromkeys(marks):
        path = sheet.points[:, k]
        if any(np.abs(path - other).max() < radius for other in seen):
            continue
        seen.append(path)
        body = int(bones.body[k])
        axes = sheet.axes @ sheet.R[0, body]
        sheet.body(body, [(_circle(bones.local[k], radius, axes), _stroke(INK, 1.5, "white"), True)])


def _elements(sheet: _Sheet) -> None:
    """Springs, dampers, cylinders and tendons."""
    robot = sheet.robot
    number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}

    def path(name: str, at: Array) -> Array:
        frame = robot.frames[name]
        local = frame.placement.rotation @ at + frame.placement.position
        return sheet._placed(number[frame.body], local[None])[:, 0] @ sheet.axes.T

    for element in robot.forces:
        if len(element.places) == 2 and element.coordinates == 1:
            a, b = (path(name, at.position) for name, at in element.places)
            if isinstance(element, GasSpring | HydraulicCylinder):
                _cylinder(sheet, a, b)
            elif isinstance(element, SpringDamper) and not isinstance(element, Damper):
                sheet.moving(_zigzag(a, b, 7 / sheet.scale), _stroke("#2e7d4f", 1.8))
            elif not isinstance(element, Force):
                _cylinder(sheet, a, b, 5.0, GRAY)
    for sites in _tendon_sites(robot):
        paths = [path(site, np.zeros(3)) for site in sites]
        if len(sites) == 2:
            _cylinder(sheet, paths[0], paths[1])
        else:
            sheet.moving(np.stack(paths, axis=1), _stroke(TRACE, 1.5))
    for a, b in sheet.bones.ropes:
        sheet.moving(sheet.points[:, [a, b]], _stroke(INK, 2))


def _tendon_sites(robot: Model) -> list[list[str]]:
    """Frames that tendons lead through, those of drives too; none of tendons that wrap around bodies."""
    driven = [c.tendon for c in robot.constraints if isinstance(c, LengthDrive)]
    groups = list[list[str]]()
    for tendon in (*robot.tendons, *driven):
        parts = [[part] if isinstance(part, str) else list(part.sites) for part in tendon.path]
        sites = [site for part in parts for site in part]
        names = [site for site in sites if isinstance(site, str) and site in robot.frames]
        if len(names) == len(sites) > 1:
            groups.append(names)
    return groups


def _eyes(robot: Model) -> list[tuple[str, Array]]:
    """Bodies, and the points of them at which elements and tendons end."""
    ends = [(name, at.position) for e in robot.forces if e.coordinates == 1 for name, at in e.places]
    ends += [(site, np.zeros(3)) for sites in _tendon_sites(robot) for site in sites]
    frames = [(robot.frames[name], at) for name, at in ends if name != WORLD]
    return [(f.body, f.placement.rotation @ at + f.placement.position) for f, at in frames]


def _cylinder(sheet: _Sheet, a: Array, b: Array, width: float = 9.0, color: str = "#9a6324") -> None:
    """A barrel of fixed length on the first end, and its rod."""
    span = np.linalg.norm(b - a, axis=-1, keepdims=True)
    barrel = a + (b - a) / np.maximum(span, 1e-12) * min(0.75 * float(span.min()), 0.6 * float(span.max()))
    sheet.moving(np.stack([a, b], axis=1), _stroke(INK, 2.5))
    sheet.moving(np.stack([a, barrel], axis=1), _stroke(color, width))


def _zigzag(a: Array, b: Array, half: float, coils: int = 7) -> Array:
    d = b - a
    span = np.maximum(np.linalg.norm(d, axis=-1, keepdims=True), 1e-12)
    across = np.stack([-d[:, 1], d[:, 0]], axis=-1) / span
    s = np.concatenate([[0.0, 0.12], 0.12 + 0.76 * (np.arange(2 * coils) + 0.5) / (2 * coils), [0.88, 1.0]])
    sides = np.concatenate([[0.0, 0.0], np.where(np.arange(2 * coils) % 2, -1.0, 1.0), [0.0, 0.0]])
    points: Array = a[:, None] + s[:, None] * d[:, None] + half * sides[:, None] * across[:, None]
    return points


def diagram(
    motion: Motion,
    path: str | os.PathLike[str] | None = None,
    *,
    trace: str | Sequence[str] = (),
    plane: str | None = None,
    frames: int = 60,
    seconds: float | None = None,
    index: int = 0,
) -> str:
    """The text of an SVG file: a kinematic diagram of a motion, which plays over and over.

    Args:
        motion: The motion; one state stands still.
        path: File to write, ``.svg``; by default none.
        trace: Frames whose paths are drawn.
        plane: ``"xy"``, ``"xz"``, ``"yz"`` or ``"oblique"``; by default the one that the hinges are normal to.
        frames: Pictures at most; browsers interpolate between them.
        seconds: Duration of playback; by default as long as the motion takes.
        index: Which robot, of rollouts.
    """
    if path is not None and Path(path).suffix.lower() != ".svg":
        raise InputError(f"{os.fspath(path)} is not an .svg file; for others use picture and save_video")
    one = finite_part(motion, index, IMMENSE)
    names = [trace] if isinstance(trace, str) else list(trace)
    lasts = float(one.times[-1] - one.times[0]) if seconds is None else float(seconds)
    sheet = _Sheet(one, count(frames, "frames"), plane, names, max(lasts, 0.1))
    for k, outlines in sheet.shapes.items():
        if k == 0:
            sheet.body(0, [(line, _stroke(GRAY, 1, "#dddddd"), True) for line in outlines])
    _grounds(sheet)
    for whole, _ in sheet.traces:
        some = whole[np.unique(np.linspace(0, len(whole) - 1, min(len(whole), 240)).astype(int))]
        sheet.moving(some[None], _stroke(TRACE, 1.3, extra='stroke-dasharray="2 3"'))
    for draw in (_bodies, _sliders, _elements, _pins):
        draw(sheet)
    for _, moving in sheet.traces:
        dots = np.stack([_circle(p, 4 / sheet.scale, np.eye(2)) for p in moving])
        sheet.moving(dots, _stroke(TRACE, 1, TRACE), True)
    text = sheet.text()
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
