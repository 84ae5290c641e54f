# SPDX-License-Identifier: BSD-3-Clause
"""Rays against the shapes of a robot and of its surroundings: LiDARs, height scans, range finders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Backend, Program
from linkwork.conversions import converted
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.kernels.sensors.rays import RAYS
from linkwork.model.checks import check_robot
from linkwork.model.computed import computed_once
from linkwork.model.constraints import WORLD
from linkwork.model.model import Model
from linkwork.model.shapes import HeightField, Mesh, Role, Shape
from linkwork.plans.rays import FRAME_AXES, WORLD_AXES, YAW, RayMeshes, ray_tree, seen_shapes
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import BaseEvaluator

RayAxes = Literal["frame", "yaw", "world"]
"""Frame that rays rotate with: their frame, with its heading about the vertical, or not at all."""

_AXES = {"frame": FRAME_AXES, "yaw": YAW, "world": WORLD_AXES}


class RayHits(NamedTuple):
    """Hits of rays, ``(...)``."""

    distance: Array
    """In lengths of the direction; where nothing is hit -1, or the reach."""
    normal: Array
    """Outward unit normal at the hit, in the world, ``(..., 3)``; zeros without a hit."""
    shape: Array
    """Number of the shape that is hit, among those of the evaluator; -1 where none is."""


class Rays(BaseEvaluator):
    """Rays from a frame of a robot: ``rays(q, origins, directions)``, as many as the last axes have.

    Every ray is a state of its own: axes of ``q``, ``origins`` and ``directions`` are batch axes and broadcast, so that
    ``q[:, None]`` and patterns ``(n, 3)`` are n rays for each robot. Rays start inside of shapes, too. Planes are hit
    from above; of meshes the triangles, from both sides; of height fields the surface.

    Args:
        robot: The mechanism.
        frame: Where origins and directions are given.
        axes: Frame that rays rotate with: ``"frame"``, its heading alone (``"yaw"``), or ``"world"``: nothing.
        roles: Shapes that rays hit, by their roles.
        exclude: Bodies, and links that are part of a body, that rays do not hit; by default the one that the frame is
            on, unless that is the world.
        meshes: Part of meshes that rays hit: ``"triangles"`` or ``"hull"``.
        reach: The greatest distance, in meters; rays that hit nothing within it have it as their distance. By default
            there is none, and rays that hit nothing have -1, as in MuJoCo's ``mj_ray``.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    @converted
    def __init__(
        self,
        robot: Model,
        frame: str = WORLD,
        *,
        axes: RayAxes = "frame",
        roles: Role | Sequence[Role] = "collision",
        exclude: str | Sequence[str] | None = None,
        meshes: RayMeshes = "triangles",
        reach: float | None = None,
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        on = robot.frame(frame).body
        if exclude is None:
            exclude = [] if on == WORLD else [on]
        hidden = (exclude,) if isinstance(exclude, str) else tuple(exclude)
        kinds = (roles,) if isinstance(roles, str) else tuple(roles)
        _check_names(robot, hidden)
        if reach is not None and not 0 < reach < inf:
            raise InputError(f"reach is {reach}, needs a finite distance > 0, or None: unlimited")
        self.shapes = tuple(seen_shapes(robot, kinds, hidden))
        """Shapes that rays hit, by the numbers of hits."""
        if not self.shapes:
            raise InputError(
                f"robot '{robot.name}' has no shapes for rays to hit with roles {list(kinds)} beside {list(hidden)}: "
                'add some (robot.with_contacts() adds a ground), or take roles=("collision", "visual")'
            )

        def program() -> Program:
            miss = -1.0 if reach is None else reach
            far = inf if reach is None else reach
            return Program.of_robot(robot, RAYS, ray_tree(robot, self.shapes, frame, meshes, _AXES[axes], far, miss))

        arguments = {
            "robot": robot,
            "frame": frame,
            "axes": axes,
            "roles": kinds,
            "exclude": hidden,
            "meshes": meshes,
            "reach": reach,
        }
        super().__init__(robot, "rays", program, arguments, (), threads)

    def __call__(
        self,
        q: npt.ArrayLike,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        *,
        out: Array | Sequence[Array] | None = None,
    ) -> RayHits:
        """Hits of rays. Leading axes broadcast; those of rays are among them.

        Args:
            q: Configuration, ``(..., nq)``.
            origins: Where rays start, in axes of the frame, ``(..., 3)``.
            directions: Where they go, ``(..., 3)``.
            out: Arrays for distances ``(..., 1)``, normals ``(..., 3)`` and shapes ``(..., 1)``; by default new ones.
        """
        arrays = [q, origins, directions]
        typed = self.for_type_of([*arrays, *(self.output_arrays(out) if out is not None else ())])
        distance, normal, shape = typed.runner.evaluate(typed.input_arrays(arrays), typed.output_arrays(out))
        return RayHits(distance[..., 0], normal, shape[..., 0])

    def _adapted(self, backend: Backend) -> Backend:
        return native_on_device(backend, self.shapes)

    def _check_backend(self, backend: Backend) -> None:
        check_straight_line(backend, self.shapes, "rays")

    def bodies(self, hits: RayHits) -> npt.NDArray[np.str_]:
        """Names of the links that were hit, ``(...)``; empty where a ray hits none.

        Args:
            hits: Result of a call.
        """
        names = np.array([*(shape.link or shape.body for shape in self.shapes), ""])
        return names[np.asarray(hits.shape).astype(np.int64)]


def _check_names(robot: Model, hidden: Sequence[str]) -> None:
    known = {WORLD, *robot.body_names, *(shape.link for shape in robot.shapes), *robot.frames}
    for name in hidden:
        if name not in known:
            raise InputError(
                f"rays should ignore '{name}', which is not a body of '{robot.name}'{suggest(name, known)}"
            )


def has_triangles(shapes: Iterable[Shape]) -> bool:
    """Whether rays walk hierarchies of triangles, which straight-line programs cannot."""
    return any(isinstance(shape.solid, Mesh | HeightField) for shape in shapes)


def native_on_device(backend: Backend, shapes: Iterable[Shape]) -> Backend:
    """A backend with native code on a GPU where rays need it."""
    if backend.name == "cuda" and backend.device_code is None and has_triangles(shapes):
        return replace(backend, device_code="native")
    return backend


def check_straight_line(backend: Backend, shapes: Iterable[Shape], what: str) -> None:
    """Raise an error where a straight-line program would have to walk triangles."""
    straight = backend.name == "specialized" or (backend.name == "cuda" and backend.device_code == "specialized")
    if straight and has_triangles(shapes):
        raise UnsupportedFeature(
            f"{what} against meshes and height fields branch on the state, which straight-line programs cannot: use "
            "native code (no compile(); on a GPU, code='native')"
        )


def raycast(
    robot: Model,
    q: npt.ArrayLike,
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    frame: str = WORLD,
    **options: Any,
) -> RayHits:
    """Hits of rays: distances, normals and shapes. Leading axes of ``origins`` and ``directions`` are rays.

    The shapes are prepared once for a robot and a set of options; for a loop, hold on to a `Rays`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``; one more axis of rays is added behind its batch axes.
        origins: Where rays start, ``(..., rays, 3)``.
        directions: Where they go, ``(..., rays, 3)``; distances are in their lengths.
        frame: The frame that both are given in.
        options: As for `Rays`.
    """
    names = tuple(sorted((name, tuple(x) if isinstance(x, list) else x) for name, x in options.items()))
    hits: RayHits = _rays_of(robot, frame, names)(np.asarray(q)[..., None, :], origins, directions)
    return hits


@computed_once
def _rays_of(robot: Model, frame: str, options: tuple[tuple[str, Any], ...]) -> Rays:
    return Rays(robot, frame, **dict(options))


class RayPattern(NamedTuple):
    """Rays in a frame: for ``rays(q[:, None], *pattern)``."""

    origins: Array
    """``(rays, 3)``."""
    directions: Array
    """``(rays, 3)``, of length one."""


def height_scan(size: tuple[float, float] = (1.6, 1.0), resolution: float = 0.1, above: float = 20.0) -> RayPattern:
    """Rays straight down on a grid around a frame, x changing fastest; with ``axes="yaw"`` the terrain ahead.

    Distances less ``above`` are depths below the frame: its height over the terrain at each point.

    Args:
        size: Extent along x and y, in meters.
        resolution: Distance of rays, in meters.
        above: Height over the frame that rays start at, in meters, over all that may be in their way.
    """
    if not (resolution > 0 and min(size) >= 0):
        raise InputError(f"resolution is {resolution} and size {tuple(size)}: needs > 0 and >= 0")
    x, y = (np.arange(round(length / resolution) + 1) * resolution - length / 2 for length in size)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    origins = np.column_stack([grid, np.full(len(grid), above)])
    return RayPattern(origins, np.tile([0.0, 0.0, -1.0], (len(grid), 1)))


def lidar(
    channels: int = 16,
    vertical: tuple[float, float] = (-15.0, 15.0),
    horizontal: tuple[float, float] = (-180.0, 180.0),
    resolution: float = 1.0,
) -> RayPattern:
    """Rays of a turning LiDAR from the origin of a frame: x is ahead, z up; channels after each other.

    Args:
        channels: Rays one over the other.
        vertical: Angles of the lowest and the highest, in degrees.
        horizontal: Angles that it turns through about z, in degrees; a full turn has its end left out.
        resolution: Angle between rays of a channel, in degrees.
    """
    if channels < 1 or not resolution > 0:
        raise InputError(f"channels is {channels} and resolution {resolution}: needs >= 1 and > 0")
    turn = horizontal[1] - horizontal[0]
    count = max(round(turn / resolution), 0)
    around = np.deg2rad(horizontal[0] + resolution * np.arange(count if turn >= 360 else count + 1))
    up = np.deg2rad(np.linspace(*vertical, channels))[:, None]
    x, y = np.cos(up) * np.cos(around), np.cos(up) * np.sin(around)
    directions = np.stack([x, y, np.broadcast_to(np.sin(up), x.shape)], axis=-1).reshape(-1, 3)
    return RayPattern(np.zeros_like(directions), directions)
