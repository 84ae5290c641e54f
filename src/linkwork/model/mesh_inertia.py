# SPDX-License-Identifier: BSD-3-Clause
"""Volume, center of mass and moments of inertia that a surface of triangles encloses, or has itself.

Each triangle with corners ``D, E, F`` and a common apex is a pyramid; with the apex at the center of mass its second
moments are ``V / 20 (sum of all products of two corners)``, ``V`` its signed volume, and those of the triangle itself
``A / 12 (...)``, ``A`` its area (Mirtich 1996; MuJoCo's compiler computes the same). How a surface counts:

| kind     | pyramids                                                                                |
|----------|-----------------------------------------------------------------------------------------|
| exact    | signed volumes: right for closed surfaces whose triangles all face outward              |
| legacy   | absolute volumes from the center of the faces: any surface, too large where not convex  |
| convex   | those of the convex hull                                                                |
| shell    | none: the mass is on the triangles                                                      |
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.mesh_files import Faces, Triangles

MeshInertia = Literal["legacy", "exact", "convex", "shell"]
"""Methods for the inertia of a mesh."""
SMALLEST = 1e-15
"""Volumes and areas below this are none (MuJoCo: ``mjMINVAL``)."""


class MeshProperties(NamedTuple):
    """Volume and moments of a mesh: the factors of a density."""

    measure: float
    """Volume, or the area of a shell."""
    center: Floats
    """Center of mass, ``(3,)``."""
    moments: Floats
    """Rotational inertia about the center of mass for a density of one, ``(3, 3)``."""


def mesh_properties(mesh: Triangles, kind: MeshInertia, hull_vertices: int = -1) -> MeshProperties:
    """Volume, center and moments of inertia of a mesh; `ModelError` where it has none.

    Args:
        mesh: The triangles; without faces its convex hull counts.
        kind: Method.
        hull_vertices: At most so many vertices of the convex hull count; negative: all.
    """
    faces = mesh.faces
    if kind == "convex" or not len(faces):
        faces = hull_faces(mesh.vertices, hull_vertices)
    middle = _area_center(mesh.vertices, mesh.faces if len(mesh.faces) else faces)
    if kind == "shell":
        center = middle
    else:
        volumes, centers = _pyramids(mesh.vertices - middle, faces, kind)
        total = float(volumes.sum())
        if total < SMALLEST:
            what = "negative: its triangles face inward" if total < 0 else "zero"
            raise ModelError(f"the volume of the mesh is {what}; say inertia='shell' or 'convex'")
        center = middle + 0.75 * (volumes @ centers) / total
    points = mesh.vertices - center
    weights = _areas(points, faces)[0] if kind == "shell" else _pyramids(points, faces, kind)[0]
    D, E, F = (points[faces[:, k]] for k in range(3))
    # The sum of all products of two corners, each twice: S S' + D D' + E E' + F F' with S = D + E + F.
    S = D + E + F
    products = sum(np.einsum("f,fi,fj->ij", weights, x, x) for x in (S, D, E, F)) / (12 if kind == "shell" else 20)
    return MeshProperties(float(weights.sum()), center, np.trace(products) * np.eye(3) - products)


def hull_faces(vertices: Floats, most: int = -1) -> Faces:
    """Triangles of the convex hull of points, facing outward.

    Args:
        vertices: The points, ``(count, 3)``.
        most: Points that are added to the hull at most; negative: all.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(vertices, qhull_options="Qt" + (f" TA{max(most - 4, 0)}" if most >= 0 else ""))
    except QhullError as error:
        raise ModelError(f"the mesh has no convex hull: {str(error).splitlines()[0]}") from None
    faces: Faces = hull.simplices.astype(np.int64)
    D, E, F = (vertices[faces[:, k]] for k in range(3))
    inward = np.einsum("fi,fi->f", np.cross(E - D, F - D), hull.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return faces


def _areas(points: Floats, faces: Faces) -> tuple[Floats, Floats]:
    """Areas of triangles, and their normals times twice the areas."""
    D, E, F = (points[faces[:, k]] for k in range(3))
    normals: Floats = np.cross(E - D, F - D)
    return np.linalg.norm(normals, axis=1) / 2, normals


def _pyramids(points: Floats, faces: Faces, kind: MeshInertia) -> tuple[Floats, Floats]:
    """Volumes of the pyramids between the origin and the triangles, and the centers of the triangles."""
    centers = points[faces].mean(axis=1)
    volumes: Floats = np.einsum("fi,fi->f", centers, _areas(points, faces)[1]) / 6
    return np.abs(volumes) if kind == "legacy" else volumes, centers


def _area_center(vertices: Floats, faces: Faces) -> Floats:
    areas, _ = _areas(vertices, faces)
    if not areas.sum() >= SMALLEST:
        raise ModelError("the surface of the mesh has no area")
    center: Floats = areas @ vertices[faces].mean(axis=1) / areas.sum()
    return center
