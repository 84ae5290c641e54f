# SPDX-License-Identifier: BSD-3-Clause
"""Convex hulls of meshes as arrays: vertices, the graph of edges, and faces, which are polygons.

Flat meshes have two faces, those of one line none. Vertices of a hull are numbered from 0.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.shapes import Mesh
from linkwork.plans.layout import Shape
from linkwork.plans.thresholds import FLAT_MESH, SAME_PLANE

HULL_SIZES = (
    "nhulls",
    "nhullpoints",  # vertices of all hulls
    "nhulledges",  # ends of edges
    "nhullfaces",
    "ncorners",  # of all faces
)
HULL_INTEGERS: dict[str, Shape] = {
    "hull_point": ("nhulls",),  # first vertex, and their count
    "hull_points": ("nhulls",),
    "hull_start": ("nhulls", 27),  # the vertex that is farthest along a direction, by the signs of its large components
    "point_neighbor": ("nhullpoints",),  # first of the vertices at the other ends of its edges, and their count
    "point_neighbors": ("nhullpoints",),
    "neighbor": ("nhulledges",),
    "point_face": ("nhullpoints",),  # first of the faces around a vertex, and their count
    "point_faces": ("nhullpoints",),
    "around": ("ncorners",),
    "face_corner": ("nhullfaces",),  # first corner, and their count
    "face_corners": ("nhullfaces",),
    "corner": ("ncorners",),  # vertices of faces, counterclockwise from outside
}
HULL_FLOATS: dict[str, Shape] = {"hull_vertex": ("nhullpoints", 3), "face_normal": ("nhullfaces", 3)}


class Hull(NamedTuple):
    """A convex hull."""

    points: Floats
    """Vertices, ``(count, 3)``."""
    neighbors: tuple[tuple[int, ...], ...]
    """Of each vertex: those at the other ends of its edges."""
    faces: tuple[tuple[int, ...], ...]
    """Corners of each face, counterclockwise from outside."""
    normals: Floats
    """Of the faces, outward, ``(faces, 3)``."""

    @property
    def half(self) -> tuple[float, float, float]:
        """Half the extent along x, y and z."""
        x, y, z = (np.ptp(self.points, axis=0) / 2).tolist()
        return x, y, z


def hull_of_mesh(mesh: Mesh) -> Hull:
    """The convex hull of a mesh; `ModelError` where its file was not found, or has no hull.

    Args:
        mesh: The mesh.
    """
    if not mesh.is_found:
        raise ModelError(f"the file of mesh '{mesh.name}' was not found; its convex hull needs its vertices")
    return _hull(mesh.vertices().tobytes(), mesh.name)


@lru_cache(maxsize=256)
def _hull(content: bytes, name: str) -> Hull:
    return convex_hull(np.frombuffer(content).reshape(-1, 3), f"mesh '{name}'")


def convex_hull(points: Floats, what: str) -> Hull:
    """The convex hull of points ``(count, 3)``, which may be in a plane or on a line.

    Args:
        points: The points.
        what: Their name in errors.
    """
    center = points.mean(axis=0)
    _, extent, axes = np.linalg.svd(points - center, full_matrices=False)
    if len(points) < 2 or not extent[0] > 0:
        raise ModelError(f"{what} has no convex hull: its {len(points)} points are one point")
    rank = int((extent > FLAT_MESH * extent[0]).sum())
    try:
        if rank == 1:
            along = (points - center) @ axes[0]
            return Hull(points[[along.argmin(), along.argmax()]], ((1,), (0,)), (), np.zeros((0, 3)))
        if rank == 2:
            order = ConvexHull((points - center) @ axes[:2].T).vertices
            return _flat(points[order])
        return _solid(points)
    except QhullError as error:
        raise ModelError(f"{what} has no convex hull: {str(error).splitlines()[0]}") from None


def _flat(polygon: Floats) -> Hull:
    """Both sides of a polygon, which is counterclockwise around one of its normals."""
    count = len(polygon)
    normal = np.cross(polygon, np.roll(polygon, -1, axis=0)).sum(axis=0)
    normal = normal / np.linalg.norm(normal)
    around = tuple(range(count))
    neighbors = tuple(((k - 1) % count, (k + 1) % count) for k in around)
    return Hull(polygon, neighbors, (around, around[::-1]), np.array([normal, -normal]))


def _solid(points: Floats) -> Hull:
    """The hull of points that span a volume."""
    hull = ConvexHull(points)
    number = np.full(len(points), -1)
    number[hull.vertices] = np.arange(len(hull.vertices))
    triangles = number[hull.simplices]
    edges: list[set[int]] = [set() for _ in hull.vertices]
    for a, b, c in triangles.tolist():
        edges[a] |= {b, c}
        edges[b] |= {a, c}
        edges[c] |= {a, b}
    vertices = points[hull.vertices]
    faces, normals = [], []
    for group in _coplanar(hull.equations[:, :3], hull.neighbors):
        normal = hull.equations[group, :3].mean(axis=0)
        normal /= np.linalg.norm(normal)
        corners = np.unique(triangles[group])
        faces.append(_counterclockwise(vertices[corners], corners, normal))
        normals.append(normal)
    return Hull(vertices, tuple(tuple(sorted(edge)) for edge in edges), tuple(faces), np.array(normals))


def _coplanar(normals: Floats, neighbors: npt.NDArray[Any]) -> list[list[int]]:
    """Triangles in groups of those that are next to each other and in one plane."""
    seen = np.zeros(len(normals), dtype=bool)
    groups = []
    for start in range(len(normals)):
        if seen[start]:
            continue
        seen[start] = True
        group, at = [start], 0
        while at < len(group):
            for other in neighbors[group[at]].tolist():
                if not seen[other] and np.linalg.norm(normals[other] - normals[start]) < SAME_PLANE:
                    seen[other] = True
                    group.append(other)
            at += 1
        groups.append(group)
    return groups


def _counterclockwise(at: Floats, corners: npt.NDArray[Any], normal: Floats) -> tuple[int, ...]:
    """Corners in order around their face."""
    arms = at - at.mean(axis=0)
    x = arms[0] - normal * (arms[0] @ normal)
    angle = np.arctan2(arms @ np.cross(normal, x), arms @ x)
    return tuple(corners[np.argsort(angle)].tolist())


_DIRECTIONS = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
"""Directions by the signs of their components, the last one first."""
_DIRECTIONS /= np.maximum(np.linalg.norm(_DIRECTIONS, axis=1, keepdims=True), 1.0)


def hull_tables(hulls: list[Hull]) -> dict[str, Any]:
    """The arrays of `HULL_INTEGERS` and `HULL_FLOATS`, for `Layout.build`.

    Args:
        hulls: The hulls, each once.
    """
    tables: dict[str, list[Any]] = {name: [] for name in (*HULL_INTEGERS, *HULL_FLOATS)}
    for hull in hulls:
        tables["hull_point"].append(len(tables["hull_vertex"]))
        tables["hull_points"].append(len(hull.points))
        tables["hull_start"].append(np.argmax(hull.points @ _DIRECTIONS.T, axis=0))
        around: list[list[int]] = [[] for _ in hull.points]
        for face, normal in zip(hull.faces, hull.normals, strict=True):
            for corner in face:
                around[corner].append(len(tables["face_normal"]))
            tables["face_normal"].append(normal)
            _append(tables, "face_corner", "face_corners", "corner", face)
        for neighbors, faces in zip(hull.neighbors, around, strict=True):
            _append(tables, "point_neighbor", "point_neighbors", "neighbor", neighbors)
            _append(tables, "point_face", "point_faces", "around", faces)
        tables["hull_vertex"] += list(hull.points)
    return {
        **{name: np.array(tables[name], dtype=np.int64) for name in HULL_INTEGERS},
        "hull_start": np.array(tables["hull_start"], dtype=np.int64).reshape(-1, len(_DIRECTIONS)),
        **{name: np.array(tables[name], dtype=np.float64).reshape(-1, 3) for name in HULL_FLOATS},
    }


def _append(tables: dict[str, list[Any]], first: str, count: str, entries: str, values: Any) -> None:
    """Add a list to one of all lists: where it begins, and how long it is."""
    tables[first].append(len(tables[entries]))
    tables[count].append(len(values))
    tables[entries] += list(values)
