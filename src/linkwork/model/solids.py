# SPDX-License-Identifier: BSD-3-Clause
"""Volume, center and moments of inertia of solids that are filled evenly, for a density of one."""

from __future__ import annotations

import os
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats, finite
from linkwork.model.mesh_files import Triangles
from linkwork.model.mesh_inertia import MeshProperties, mesh_properties
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Mesh, Solid, Sphere


def solid_properties(solid: Solid) -> MeshProperties:
    """Volume, center and moments of a solid in its own frame; of a mesh those of the volume that it encloses.

    Args:
        solid: A box, sphere, ellipsoid, cylinder, capsule or mesh.
    """
    match solid:
        case Box(size=size):
            return _ellipsoidal(float(np.prod(size)), np.square(size) / 12)
        case Sphere(radius=r):
            return _ellipsoidal(4 / 3 * pi * r**3, np.full(3, r * r) / 5)
        case Ellipsoid(radii=radii):
            return _ellipsoidal(4 / 3 * pi * float(np.prod(radii)), np.square(radii) / 5)
        case Cylinder(radius=r, length=length, rounded=rounded):
            volume = pi * r**2 * length
            across, along = volume * (3 * r**2 + length**2) / 12, volume * r**2 / 2
            if rounded:  # two half balls, whose centers of mass are 3/8 r from their flats
                ends = 4 / 3 * pi * r**3
                along += ends * 0.4 * r**2
                across += ends * (0.4 * r**2 + length**2 / 4 + 3 / 8 * length * r)
                volume += ends
            return MeshProperties(volume, np.zeros(3), np.diag([across, across, along]))
        case Mesh():
            scale = np.array(solid.scale)
            surface = solid.surface()
            faces = surface.faces if scale.prod() > 0 else surface.faces[:, ::-1]
            return mesh_properties(Triangles(surface.vertices * scale, faces), "exact")
    raise ModelError(f"a {type(solid).__name__} has no volume, and so no inertia")


def _ellipsoidal(volume: float, squares: Floats) -> MeshProperties:
    """A solid with mean squares of its coordinates."""
    return MeshProperties(volume, np.zeros(3), volume * np.diag(squares.sum() - squares))


def as_solid(shape: Any) -> Solid:
    """A solid, from itself, the path of a mesh file, or an object with vertices and faces."""
    if isinstance(shape, Solid):
        return shape
    if isinstance(shape, str | os.PathLike):
        file = Path(shape)
        if not file.is_file():
            raise ModelError(f"there is no mesh file {os.fspath(shape)}")
        return Mesh(file.name, file)
    if hasattr(shape, "vertices") and hasattr(shape, "faces"):
        vertices, faces = finite(shape.vertices, "vertices"), np.asarray(shape.faces, dtype=np.int64)
        return Mesh("mesh", None, triangles=Triangles(vertices.reshape(-1, 3), faces.reshape(-1, 3)))
    raise ModelError(f"{shape!r} is not a solid: needs one of lw.shapes, a path, or an object with vertices and faces")


def extruded(outline: npt.ArrayLike, thickness: float) -> MeshProperties:
    """Volume, center and moments of a plate with a polygon in the x-y plane, by Green's theorem."""
    points = finite(outline, "outline")
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
        raise ModelError(f"outline has shape {points.shape}, needs (n, 2) with three corners or more")
    if not 0 < thickness < np.inf:
        raise ModelError(f"thickness is {thickness}, needs a finite number > 0")
    after = np.roll(points, -1, axis=0)
    cross = points[:, 0] * after[:, 1] - points[:, 1] * after[:, 0]
    area = 0.5 * float(cross.sum())
    if abs(area) <= np.finfo(float).eps * float(np.ptp(points, axis=0).prod()):
        raise ModelError("the outline encloses no area")
    center: Floats = cross @ (points + after) / (6 * area)
    p, q = points - center, after - center
    cross = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
    products = sum(np.einsum("i,ij,ik->jk", cross, a, b) for a, b in ((p, p), (q, q), (p + q, p + q))) / 24
    second = np.zeros((3, 3))  # of mass, about the center
    second[:2, :2] = products * np.sign(area) * thickness
    second[2, 2] = abs(area) * thickness**3 / 12
    return MeshProperties(abs(area) * thickness, np.array([*center, 0.0]), np.trace(second) * np.eye(3) - second)
