# SPDX-License-Identifier: BSD-3-Clause
"""Trajectories as stick figures: one state, or all of them moving.

It draws a `skeleton`. Places of all states come from one call; a frame of a video then only moves the ends of
lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linkwork.drawing.contacts import ContactPictures
from linkwork.drawing.mp4 import ffmpeg, write_mp4
from linkwork.drawing.outlines import outlines
from linkwork.drawing.pictures import FAINT, GROUND, INK, LOOP, blank, kind_of, write_picture
from linkwork.drawing.plots import finite_part
from linkwork.drawing.skeleton import (
    IMMENSE,
    LIMBS,
    Skeleton,
    floor_of,
    front,
    ground_plane,
    on_plane,
    skeleton,
    square,
)
from linkwork.drawing.surfaces import Surfaces, surfaces
from linkwork.errors import InputError
from linkwork.inputs import real_array
from linkwork.model.constraints import WORLD
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import frame_placement

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from linkwork.dynamics.motion import Motion

VIDEOS = (".gif", ".png", ".apng", ".mp4")
"""Kinds of files that videos are written to."""
SLIDE, SPRING = "#6f6f6f", "#2e7d4f"
COILS = 12
"""Strokes of a spring."""
SIZE = (6.4, 4.8)
"""Of figures, in inches."""
MOST_PICTURES = 1e6
"""Of one video."""
SEEN_THROUGH = 0.75
"""Opacity of shapes, within which bones are seen."""
ARROW = 0.3
"""The longest arrow, as a part of the figure's size."""


def chosen(times: Array, fps: float, speed: float = 1.0) -> npt.NDArray[np.int64]:
    """The recorded states nearest to the instants of a video."""
    if not (np.isfinite(fps) and fps > 0 and np.isfinite(speed) and speed > 0):
        raise InputError(f"fps and speed are above zero, not {fps} and {speed}")
    step = speed / fps
    if not 0 < step < np.inf or (times[-1] - times[0]) / step > MOST_PICTURES:
        raise InputError(f"a video at fps={fps:g} and speed={speed:g} would have more than {MOST_PICTURES:g} pictures")
    instants = times[0] + step * np.arange(int((times[-1] - times[0]) / step + 1e-6) + 1)
    frames: npt.NDArray[np.int64] = np.searchsorted(0.5 * (times[1:] + times[:-1]), instants - 1e-9 * step)
    return frames


# Drawing --------------------------------------------------------------------------------------------------


class _Stage:
    """A figure with everything in it; `show` moves it to a state."""

    def __init__(
        self,
        figure: Figure,
        motion: Motion,
        states: npt.NDArray[np.int64],
        view: tuple[float, float] | None,
        trace: str | Sequence[str] = (),
    ) -> None:
        robot = motion._known()
        self.words = [f"{robot.name}    {motion._moment(int(k))}" for k in states]
        self.bones = bones = skeleton(robot)
        R, p = bones.poses(motion.q[states])
        self.points = bones.placed(R, p)
        some = {*bones.rods.flat, *bones.slides.flat, *bones.ropes.flat, *bones.marks["pin"], *bones.marks["held"]}
        self.outlines = outlines(bones, R, p)
        self.springs = _element_ends(bones, R, p)
        self.poses, self.skin = (R, p), surfaces(bones)
        lines = self.outlines.reshape(len(states), -1, 3)
        names = [trace] if isinstance(trace, str) else list(trace)
        self.traces = [frame_placement(robot, motion.q, name).position.reshape(-1, 3) for name in names]
        lines = np.concatenate([lines, self.springs.reshape(len(states), -1, 3)], axis=1)
        drawn = np.concatenate([self.points[:, sorted(some)], lines], axis=1)
        for path in self.traces:
            ends = np.stack([path.min(axis=0), path.max(axis=0)])
            drawn = np.concatenate([drawn, np.broadcast_to(ends, (len(states), 2, 3))], axis=1)
        for k in reversed(self.skin.bodies):  # the world last: its shapes count up to twice the size of the rest
            box = _corners_in_world(self.skin, k, R[:, k], p[:, k])
            if k or not drawn.size or np.ptp(box, axis=(0, 1)).max() <= 2 * np.ptp(drawn, axis=(0, 1)).max():
                drawn = np.concatenate([drawn, box], axis=1)
        if not drawn.size:
            raise InputError(f"robot '{robot.name}' has nothing to draw: neither joints nor shapes")
        low, high = drawn.min(axis=(0, 1)), drawn.max(axis=(0, 1))
        size = max(float((high - low).max()), 1e-3)
        self.skin = self.skin.near(0.5 * (low + high), size)
        multipliers = np.nan_to_num(motion.multipliers[states], posinf=0, neginf=0)
        self.starts, forces = bones.pushes(R, self.points, multipliers)
        marks = ContactPictures(motion).at(states)
        if marks is not None:
            self.starts = np.concatenate([self.starts, marks.points], axis=1)
            forces = np.concatenate([forces, np.where(marks.touching[..., None], marks.forces, 0.0)], axis=1)
        strengths = np.linalg.norm(forces, axis=-1, keepdims=True)
        strong = float(np.quantile(strengths[strengths > 0], 0.95)) if (strengths > 0).any() else 1.0
        self.arrows = forces * (ARROW * size / np.maximum(strengths, strong))  # blows are no longer than the longest
        self.up = int(np.abs(robot.gravity).argmax()) if np.any(robot.gravity) else 2
        self.view = front(high - low, self.up) if view is None else _angles(view)
        self.figure = figure
        axes: Any = figure.add_axes((0, 0, 1, 1), projection="3d", computed_zorder=False)
        self.axes: Any = axes
        self.axes.set_axis_off()
        self.axes.view_init(*self.view, vertical_axis="xyz"[self.up])
        self.plane = ground_plane(robot)
        low[self.up] = floor = floor_of(float(low[self.up]), size)
        side = self._ground(low, high, floor)
        self._fit(np.concatenate([drawn.reshape(-1, 3), (self.starts + self.arrows).reshape(-1, 3)]), floor)
        self._add_artists()
        self.title = figure.text(0.5, 0.965, "", ha="center", va="top", fontsize=11, parse_math=False)
        note = f"grid {side:g} m" + (f", longest arrow {strong:.3g} N" if self.arrows.any() else "")
        figure.text(0.98, 0.02, note, ha="right", va="bottom", fontsize=8, color=FAINT)

    def _add_artists(self) -> None:
        """Lines and marks, in their first places."""
        Line3DCollection = _space("art3d").Line3DCollection
        looks: tuple[tuple[str, Any, float, int], ...] = (
            ("rods", [LIMBS[k % len(LIMBS)] for k in self.bones.limb], 3.0, 3),
            ("slides", SLIDE, 2.0, 2),
            ("outlines", INK, 0.8, 2),
            ("ropes", LOOP, 1.5, 3),
            ("springs", SPRING, 1.2, 4),
            ("arrows", GROUND, 1.6, 5),
        )
        self.surface: Any = None
        if len(self.skin.body):
            triangles, colors = self._skin(0)
            how: dict[str, Any] = {"zorder": 1.5, "linewidths": 0.2, "clip_on": False, "alpha": SEEN_THROUGH}
            self.surface = _space("art3d").Poly3DCollection(triangles, facecolors=colors, edgecolors=colors, **how)
            self.axes.add_collection3d(self.surface)
        self.lines: dict[str, Any] = {}
        for kind, color, thick, order in looks:
            if len(pieces := self._pieces(kind, 0)):
                ends: dict[str, Any] = {"capstyle": "round", "clip_on": False}
                self.lines[kind] = Line3DCollection(pieces, colors=color, linewidths=thick, zorder=order, **ends)
                self.axes.add_collection3d(self.lines[kind])
        for path in self.traces:
            self.axes.plot(*path.T, color=LOOP, linewidth=1.0, linestyle="--", zorder=2, clip_on=False)
        styles: dict[str, dict[str, Any]] = {
            "joint": {"marker": "o", "color": "white", "markeredgecolor": INK, "markersize": 3.5},
            "mass": {"marker": "o", "color": INK, "markersize": 5},
            "pin": {"marker": "^", "color": INK, "markersize": 5},
            "loop": {"marker": "o", "color": LOOP, "markersize": 4},
            "held": {"marker": "^", "color": GROUND, "markersize": 5},
        }
        self.marks: dict[str, Any] = {
            kind: self.axes.plot([], [], [], linestyle="none", zorder=4, clip_on=False, **how)[0]
            for kind, how in styles.items()
            if self.bones.marks[kind]
        }

    def _ground(self, low: Array, high: Array, floor: float) -> float:
        """Equal axes for all states, and a ground of squares."""
        Line3DCollection = _space("art3d").Line3DCollection
        around = max(float((high - low).max()), 1e-3)
        center, half = 0.5 * (low + high), 0.5 * np.maximum(high - low, 0.4 * around)
        self.axes.set(**{f"{name}lim": (c - h, c + h) for name, c, h in zip("xyz", center, half, strict=True)})
        self.half = half
        side = square(around)
        one, other = (self.up + 1) % 3, (self.up + 2) % 3
        lines = []
        for along, across in ((one, other), (other, one)):
            begin, end = (
                side * np.array([np.floor((c - h) / side - 0.5), np.ceil((c + h) / side + 0.5)])
                for c, h in ((center[k], half[k]) for k in (along, across))
            )
            for x in np.arange(end[0], end[1] + 0.5 * side, side):
                line = np.full((2, 3), floor)
                line[:, along], line[:, across] = begin, x
                lines.append(line)
        squares = list(on_plane(np.array(lines), self.plane, self.up))
        ground = Line3DCollection(squares, colors="#d9d9d9", linewidths=0.6, zorder=1, clip_on=False)
        self.axes.add_collection3d(ground)
        return side

    def _fit(self, points: Array, floor: float) -> None:
        """Choose zoom and place of the axes so that these points, and the ground below them, fill the figure."""
        proj_transform = _space("proj3d").proj_transform
        below = points.copy()
        below[:, self.up] = floor
        every = np.concatenate([points, below]).T
        wide, tall = self.figure.get_size_inches()
        left, right, low, high = 0.06, 0.94, 0.08, 0.88  # what the title and the note leave
        zoom, x, y = 1.0, 0.0, 0.0
        for _ in range(3):  # perspective bends the rule of three
            self.axes.set_box_aspect(self.half, zoom=zoom)
            self.axes.set_position((x, y, 1.0, wide / tall))  # a square as wide as the figure
            self.axes.apply_aspect()
            u, v, _ = proj_transform(*every, self.axes.get_proj())
            at = self.figure.transFigure.inverted().transform(self.axes.transData.transform(np.column_stack([u, v])))
            spread = np.maximum(np.ptp(at, axis=0), 1e-6)
            more = float(min((right - left) / spread[0], (high - low) / spread[1]))
            middle = 0.5 * (at.min(axis=0) + at.max(axis=0))
            center = np.array([x + 0.5, y + 0.5 * wide / tall])
            zoom *= more
            x, y = np.array([0.5 * (left + right), 0.5 * (low + high)]) - more * (middle - center) - (center - [x, y])
        self.axes.set_box_aspect(self.half, zoom=zoom)
        self.axes.set_position((x, y, 1.0, wide / tall))

    def show(self, k: int) -> None:
        """Move everything to the k-th of the states."""
        if self.surface is not None:
            triangles, colors = self._skin(k)
            self.surface.set_verts(triangles)
            self.surface.set_facecolor(colors)
            self.surface.set_edgecolor(colors)
        for kind, lines in self.lines.items():
            lines.set_segments(self._pieces(kind, k))
        for kind, line in self.marks.items():
            line.set_data_3d(*self.points[k, self.bones.marks[kind]].T)
        self.title.set_text(self.words[k])

    def _skin(self, k: int) -> tuple[Array, Array]:
        """Triangles of shapes in the k-th state, the farthest first, and their colors."""
        R, p = self.poses
        triangles = self.skin.placed(R[k], p[k])
        order = np.argsort(triangles.mean(axis=1) @ self._eye())
        light = self._eye() + np.eye(3)[self.up]
        colors = self.skin.shaded(triangles, light / np.linalg.norm(light))
        return triangles[order], colors[order]

    def _eye(self) -> Array:
        """A unit vector toward the eye."""
        E, A = np.radians(self.view)
        return np.roll([np.cos(E) * np.cos(A), np.cos(E) * np.sin(A), np.sin(E)], self.up - 2)

    def _pieces(self, kind: str, k: int) -> Array:
        """Straight pieces of one kind in the k-th state, ``(pieces, 2, 3)``; heads of arrows face the eye."""
        if kind == "outlines":
            edges: Array = self.outlines[k]
            return edges
        if kind == "springs":
            return _zigzags(self.springs[k], self._eye(), 0.025 * float(self.half.max()))
        if kind != "arrows":
            segments: Array = self.points[k, getattr(self.bones, kind)]
            return segments
        start, along = self.starts[k], self.arrows[k]
        tip, side = start + along, np.cross(along, self._eye())
        strokes = [(start, tip), (tip, tip - 0.2 * along + 0.1 * side), (tip, tip - 0.2 * along - 0.1 * side)]
        return np.concatenate([np.stack(ends, axis=1) for ends in strokes])

    def image(self) -> Image:
        """The image of the figure."""
        from PIL import Image

        canvas: Any = self.figure.canvas
        canvas.draw()
        return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())


def _corners_in_world(skin: Surfaces, body: int, R: Array, p: Array) -> Array:
    """Corners of the box around the shapes of a body in all states, ``(states, 8, 3)``."""
    corners = skin.corners[skin.body == body].reshape(-1, 3)
    picks = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)], dtype=bool)
    box = np.where(picks, corners.min(axis=0), corners.max(axis=0))
    points: Array = np.einsum("tij,nj->tni", R, box) + p[:, None]
    return points


def _element_ends(bones: Skeleton, R: Array, p: Array) -> Array:
    """Both ends of force elements between points, ``(states, elements, 2, 3)``."""
    robot = bones.robot
    number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}
    elements = []
    for element in robot.forces:
        if len(element.places) == 2 and element.coordinates == 1:
            ends = []
            for name, at in element.places:
                frame = robot.frames[name]
                local = (frame.placement * at).position
                ends.append(R[:, number[frame.body]] @ local + p[:, number[frame.body]])
            elements.append(np.stack(ends, axis=1))
    return np.stack(elements, axis=1) if elements else np.zeros((len(p), 0, 2, 3))


def _zigzags(ends: Array, eye: Array, half: float) -> Array:
    """Springs between points as straight pieces across the line of sight, ``(pieces, 2, 3)``."""
    d = ends[:, 1] - ends[:, 0]
    across = np.cross(d, eye)
    across = half * across / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), np.finfo(float).tiny)
    s = np.concatenate([[0.0, 0.1], 0.1 + 0.8 * (np.arange(COILS) + 0.5) / COILS, [0.9, 1.0]])[:, None]
    side = np.concatenate([[0.0, 0.0], 1.0 - 2.0 * (np.arange(COILS) % 2), [0.0, 0.0]])[:, None]
    paths = ends[:, None, 0] + s * d[:, None] + side * across[:, None]
    segments: Array = np.stack([paths[:, :-1], paths[:, 1:]], axis=2).reshape(-1, 2, 3)
    return segments


def _space(part: str) -> Any:
    """Of matplotlib's pictures in three dimensions, which have no types."""
    return import_module(f"mpl_toolkits.mplot3d.{part}")


def _angles(view: tuple[float, float]) -> tuple[float, float]:
    angles = real_array(view, "view")
    if angles.shape != (2,) or not np.isfinite(angles).all():
        raise InputError(f"view is elevation and azimuth in degrees, not {view!r}")
    return float(angles[0]), float(angles[1])


def draw_state(
    motion: Motion,
    time: float | None,
    path: str | os.PathLike[str] | None,
    view: tuple[float, float] | None,
    index: int,
    trace: str | Sequence[str] = (),
) -> Figure:
    """One state of a trajectory as a stick figure."""
    if path is not None:
        kind_of(path)
    figure = blank(*SIZE)
    motion = finite_part(motion, index, IMMENSE)
    k = len(motion) - 1 if time is None else motion._nearest(time)
    _Stage(figure, motion, np.array([k]), view, trace).show(0)
    if path is not None:
        write_picture(figure, path)
    return figure


def animation(motion: Motion, fps: float, view: tuple[float, float] | None, speed: float, index: int) -> FuncAnimation:
    """A trajectory as an animation of matplotlib's."""
    figure = blank(*SIZE)
    from matplotlib.animation import FuncAnimation

    motion = finite_part(motion, index, IMMENSE)
    states = chosen(motion.times, fps, speed)
    stage = _Stage(figure, motion, states, view)
    return FuncAnimation(figure, stage.show, frames=len(states), interval=1000 / fps)


def write_video(
    motion: Motion,
    path: str | os.PathLike[str],
    fps: float,
    view: tuple[float, float] | None,
    speed: float,
    index: int,
    trace: str | Sequence[str] = (),
) -> Path:
    """A trajectory as a GIF, an animated PNG or an MP4. A state that stays for several instants is drawn once."""
    place, kind = Path(path), kind_of(path, VIDEOS)
    if kind == ".mp4":
        ffmpeg()  # or it is missed after all is drawn
    figure = blank(*SIZE)
    motion = finite_part(motion, index, IMMENSE)
    states = chosen(motion.times, fps, speed)
    first = np.flatnonzero(np.diff(states, prepend=-1))
    stage = _Stage(figure, motion, states[first], view, trace)

    def images() -> Iterator[Image]:
        for k in range(len(first)):
            stage.show(k)
            yield stage.image()

    if kind == ".mp4":
        often = np.diff(np.append(first, len(states))).tolist()
        pictures = (picture.tobytes() for picture, n in zip(images(), often, strict=True) for _ in range(n))
        return write_mp4(place, figure.canvas.get_width_height(), fps, pictures)
    unit = 10 if kind == ".gif" else 1  # milliseconds that files count in; rounded so that their sums are right
    ends = np.rint(np.append(first, len(states)) * (1000 / fps / unit)).astype(int) * unit
    how: dict[str, Any] = {"duration": np.diff(ends).tolist(), "loop": 0, "save_all": True}
    if kind == ".gif":
        rest = (picture.quantize(colors=128) for picture in images())
        next(rest).save(place, format="GIF", append_images=rest, **how)
    else:  # Pillow looks at these twice
        one, *others = images()
        one.save(place, format="PNG", append_images=others, **how)
    return place
