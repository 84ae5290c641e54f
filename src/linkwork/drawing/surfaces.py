# SPDX-License-Identifier: BSD-3-Clause
"""Shapes of robots as triangles for pictures: few of each, flat, the farthest drawn first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from linkwork.drawing.skeleton import LIMBS, Skeleton
from linkwork.errors import ModelError
from linkwork.model.constraints import WORLD
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, HeightField, Mesh, Shape, Solid, Sphere
from linkwork.quantities.arguments import Array

Faces = npt.NDArray[np.int64]
FACETS = 24
"""Around a capsule, a cylinder, a sphere."""
MOST = 16_000
"""Triangles of all meshes of a robot, about; those of meshes with more are joined."""
FEW = 200
"""Triangles that a mesh may always have."""
CELLS = 96
"""Along each side of a height field, at most."""
TERRAIN = (0.72, 0.74, 0.68)
AMBIENT = 0.55
"""Light on a triangle that is seen from the side, as a part of that on one which faces the light."""


# Solids ------------------------------------------------------------------------------------------------------------


def solid_triangles(solid: Solid, most: int = MOST) -> tuple[Array, Faces] | None:
    """Vertices ``(n, 3)`` and faces ``(m, 3)`` of a solid in its own frame; None of a plane, or a mesh that is absent.

    Args:
        solid: The solid.
        most: Triangles of a mesh, about.
    """
    match solid:
        case Box(size=size):
            corners = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)]) - 0.5
            return corners * np.array(size), _BOX
        case Sphere(radius=radius):
            return capsule_triangles(radius, 0.0)
        case Ellipsoid(radii=radii):
            vertices, faces = capsule_triangles(1.0, 0.0)
            return vertices * np.array(radii), faces
        case Cylinder(radius=radius, length=length, rounded=True):
            return capsule_triangles(radius, length)
        case Cylinder(radius=radius, length=length):
            return _cylinder(radius, length)
        case HeightField():
            return field_triangles(solid, CELLS)
        case Mesh():
            try:
                surface = solid.surface()
            except ModelError:
                return None
            faces = surface.faces
            return simplified(surface.vertices * np.array(solid.scale), faces, most) if len(faces) else None
    return None


_SQUARES = np.array([[0, 2, 1, 3], [4, 5, 6, 7], [0, 1, 4, 5], [2, 6, 3, 7], [0, 4, 2, 6], [1, 3, 5, 7]])
_BOX: Faces = np.concatenate([_SQUARES[:, [0, 1, 2]], _SQUARES[:, [2, 1, 3]]])


def facets_of(radius: float, sag: float) -> int:
    """Facets around a circle whose chords are no farther from it than ``sag``: a multiple of 4, at most `FACETS`.

    Args:
        radius: Of the circle.
        sag: Distance between an arc and its chord.
    """
    turn = 2 * np.arccos(1 - min(sag / radius, 1.0)) if radius > 0 else np.pi
    return min(4 * max(2, math.ceil(0.5 * np.pi / turn)), FACETS)


def capsule_triangles(radius: float, length: float, facets: int = FACETS) -> tuple[Array, Faces]:
    """Triangles of a cylinder along z with half spheres on its ends: rings from the top to the bottom.

    Args:
        radius: In meters.
        length: Between the centers of the half spheres.
        facets: Around it, a multiple of 4.
    """
    half = np.linspace(0, np.pi / 2, facets // 4 + 1)
    fall = np.concatenate([half, half + np.pi / 2])  # the equator twice, half the length up and down
    height = radius * np.cos(fall) + np.where(np.arange(len(fall)) < len(half), length / 2, -length / 2)
    return _rings(radius * np.sin(fall), height, facets)


def _cylinder(radius: float, length: float) -> tuple[Array, Faces]:
    half = 0.5 * length
    return _rings(np.array([0.0, radius, radius, 0.0]), np.array([half, half, -half, -half]))


def _rings(radii: Array, heights: Array, facets: int = FACETS) -> tuple[Array, Faces]:
    """Triangles between circles about z, from the top to the bottom."""
    around = np.linspace(0, 2 * np.pi, facets, endpoint=False)
    flat = radii[:, None, None] * np.stack([np.cos(around), np.sin(around)], axis=-1)
    vertices = np.concatenate([flat, np.broadcast_to(heights[:, None, None], (*flat.shape[:2], 1))], axis=-1)
    upper = np.arange(len(radii) - 1)[:, None] * facets + np.arange(facets)
    beside = upper - np.arange(facets) + (np.arange(facets) + 1) % facets
    sides = [(upper, upper + facets, beside), (beside, upper + facets, beside + facets)]
    faces = np.concatenate([np.stack(side, axis=-1).reshape(-1, 3) for side in sides])
    return vertices.reshape(-1, 3), faces


def field_triangles(solid: HeightField, most: int | None = None) -> tuple[Array, Faces]:
    """Two triangles between each four heights that are next to each other.

    Args:
        solid: The height field.
        most: Cells along each side, at most; by default all.
    """
    heights = np.array(solid.heights)
    x, y = (np.linspace(-0.5, 0.5, count) * size for count, size in zip(heights.shape, solid.size, strict=True))
    if most is not None:
        rows, columns = (np.unique(np.linspace(0, n - 1, most + 1).astype(int)) for n in heights.shape)
        heights, x, y = heights[np.ix_(rows, columns)], x[rows], y[columns]
    vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1).reshape(-1, 3)
    number = np.arange(heights.size).reshape(heights.shape)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[:-1, 1:], number[1:, 1:]
    faces = np.stack([np.stack([a, b, d], axis=-1), np.stack([a, d, c], axis=-1)]).reshape(-1, 3)
    return vertices, faces


def simplified(vertices: Array, faces: Faces, most: int = MOST) -> tuple[Array, Faces]:
    """A surface with about so many triangles: vertices in a cell of a grid are joined (Rossignac and Borrel 1993).

    Args:
        vertices: ``(n, 3)``.
        faces: ``(m, 3)``.
        most: Triangles, about.
    """
    low, extent = vertices.min(axis=0), np.ptp(vertices, axis=0)
    cells = 96
    while True:
        edge = max(float(extent.max()) / cells, np.finfo(float).tiny)
        x, y, z = np.floor((vertices - low) / edge).astype(np.int64).T
        _, number = np.unique((x * (cells + 1) + y) * (cells + 1) + z, return_inverse=True)
        joined = number[faces]
        whole = (joined[:, 0] != joined[:, 1]) & (joined[:, 1] != joined[:, 2]) & (joined[:, 2] != joined[:, 0])
        joined = joined[whole]
        a, b, c = np.sort(joined, axis=1).T
        count = int(number.max()) + 1
        _, first = np.unique((a * count + b) * count + c, return_index=True)
        if len(first) <= most or cells <= 4:
            break
        cells = max(4, int(cells * max(0.5, 0.95 * (most / len(first)) ** 0.5)))
    sums = np.stack([np.bincount(number, vertices[:, k]) for k in range(3)], axis=1)
    means = sums / np.bincount(number)[:, None]
    return means, joined[np.sort(first)]


# Robots ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Triangles on the bodies of a robot."""

    corners: Array
    """In the frames of bodies, ``(triangles, 3, 3)``."""
    body: npt.NDArray[np.int64]
    """The body of each triangle by its number, 0 for the world, ``(triangles,)``."""
    colors: Array
    """Red, green, blue of each, ``(triangles, 3)``."""

    @property
    def bodies(self) -> list[int]:
        """Bodies that have some, by their numbers."""
        return sorted(set(self.body.tolist()))

    def near(self, center: Array, reach: float) -> Surfaces:
        """Those on bodies, and those of the world near a point: what is far away would fill a picture.

        Args:
            center: The point, ``(3,)``.
            reach: Largest distance of triangles of the world, in meters.
        """
        middle = self.corners.mean(axis=1, keepdims=True)
        sizes = np.linalg.norm(self.corners - middle, axis=2).max(axis=1)
        away = np.linalg.norm(middle[:, 0] - center, axis=1) - sizes
        kept = (self.body > 0) | (away < reach) & (sizes < 4 * reach)
        return Surfaces(self.corners[kept], self.body[kept], self.colors[kept])

    def placed(self, R: Array, p: Array) -> Array:
        """Triangles in the world, ``(..., triangles, 3, 3)``.

        Args:
            R: Rotations of the world and of all bodies, ``(..., bodies, 3, 3)``.
            p: Their positions, ``(..., bodies, 3)``.
        """
        turned = np.einsum("...nij,nkj->...nki", R[..., self.body, :, :], self.corners)
        points: Array = turned + p[..., self.body, None, :]
        return points

    def shaded(self, triangles: Array, light: Array) -> Array:
        """Colors of triangles in the world, darker where they turn away from the light.

        Args:
            triangles: In the world, ``(triangles, 3, 3)``.
            light: A unit vector toward it, ``(3,)``.
        """
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        sizes = np.maximum(np.linalg.norm(normals, axis=1), np.finfo(float).tiny)
        facing = np.abs(normals @ light) / sizes
        shades: Array = np.clip(self.colors * (AMBIENT + (1 - AMBIENT) * facing)[:, None], 0.0, 1.0)
        return shades


def surfaces(bones: Skeleton) -> Surfaces:
    """The shapes that a robot is drawn with: of each body the visual ones, or where it has none, those of collisions.

    Args:
        bones: The robot.
    """
    robot = bones.robot
    number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}
    corners, body, colors = [np.zeros((0, 3, 3))], [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
    drawn = {name: drawn_shapes([s for s in robot.shapes if s.body == name]) for name in number}
    meshes = sum(isinstance(shape.solid, Mesh) for shapes in drawn.values() for shape in shapes)
    for name, shapes in drawn.items():
        for shape in shapes:
            triangles = _local(shape, max(MOST // max(meshes, 1), FEW))
            if triangles is not None:
                corners.append(triangles)
                body.append(np.full(len(triangles), number[name]))
                colors.append(np.broadcast_to(shape_color(shape, int(bones.limbs[number[name]])), (len(triangles), 3)))
    return Surfaces(np.concatenate(corners), np.concatenate(body), np.concatenate(colors))


def drawn_shapes(shapes: list[Shape]) -> list[Shape]:
    """Those of one body that are seen: the visual ones, or where there are none, those of collisions.

    Args:
        shapes: Of the body.
    """
    seen = [s for s in shapes if s.role == "visual" and (s.color is None or s.color[3] > 0)]
    return [s for s in seen if _known(s.solid)] or [s for s in shapes if s.role == "collision"]


def _known(solid: Solid) -> bool:
    return not isinstance(solid, Mesh) or solid.is_found


@lru_cache(maxsize=512)
def _local(shape: Shape, most: int) -> Array | None:
    """Triangles of a shape in its body's frame."""
    surface = solid_triangles(shape.solid, most)
    if surface is None:
        return None
    vertices, faces = surface
    corners: Array = shape.placement.act(vertices)[faces]
    return corners


def shape_color(shape: Shape, limb: int) -> Array:
    """Red, green and blue of a shape, or pale ones of its limb.

    Args:
        shape: The shape.
        limb: The number of its body's color.
    """
    if shape.color is not None and shape.color[3] > 0:
        return np.array(shape.color[:3])
    if isinstance(shape.solid, HeightField):
        return np.array(TERRAIN)
    text = LIMBS[limb % len(LIMBS)]
    return np.array([0.45 * int(text[k : k + 2], 16) / 255 + 0.55 for k in (1, 3, 5)])
