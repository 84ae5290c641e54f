# SPDX-License-Identifier: BSD-3-Clause
"""Solids as nodes of viser's scene, with triangles from mesh files read by trimesh."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.drawing.surfaces import capsule_triangles, facets_of, field_triangles
from linkwork.model.joints import Helical, Joint, Prismatic, Revolute
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation, quaternion_of
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, HeightField, Mesh, Solid, Sphere
from linkwork.quantities.arguments import Array

Rgb = tuple[float, float, float]
"""Red, green and blue, from 0 to 1."""


def rgb_of(text: str) -> Rgb:
    """A color from ``#rrggbb``."""
    red, green, blue = (int(text[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def wxyz_of(rotation: Array) -> Array:
    """Quaternions ``(..., 4)`` of rotations ``(..., 3, 3)`` in viser's order."""
    return np.roll(quaternion_of(rotation), 1, axis=-1)


def along(start: Array, end: Array, radius: float) -> tuple[Solid, Placement] | None:
    """A rod with round ends between two points; none between points that are one."""
    length = float(np.linalg.norm(end - start))
    if not length > 1e-9:
        return None
    return Cylinder(radius, length, rounded=True), Placement(
        (start + end) / 2, aligning_rotation((end - start) / length)
    )


def pin_of(type: Joint, radius: float) -> tuple[Solid, Placement]:
    """The solid of a joint between bones: a pin along its axis, a block that slides, a ball."""
    if isinstance(type, Revolute | Helical):
        return Cylinder(1.5 * radius, 4 * radius), Placement((0.0, 0.0, 0.0), aligning_rotation(type.axis))
    if isinstance(type, Prismatic):
        return Box((3 * radius,) * 3), Placement((0.0, 0.0, 0.0), aligning_rotation(type.axis))
    return Sphere(2 * radius), Placement()


# Mesh files -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Triangles:
    """The surface in a mesh file."""

    vertices: Array
    faces: npt.NDArray[np.int64]
    color: Rgb | None
    """If the file says one."""


@dataclass
class MeshFiles:
    """Reads mesh files, each once; those that are missing or cannot be read are in `skipped` with the reason."""

    skipped: dict[str, str] = field(default_factory=dict)
    _read: dict[Path, Triangles | None] = field(default_factory=dict)

    def triangles(self, mesh: Mesh) -> Triangles | None:
        """The triangles of a mesh as they are in its file, unscaled."""
        if mesh.triangles is not None:
            return Triangles(mesh.triangles.vertices, mesh.triangles.faces, None)
        if mesh.file is None:
            self.skipped[mesh.name] = "there is no such file"
            return None
        if mesh.file not in self._read:
            try:
                self._read[mesh.file] = _load(mesh.file)
            except Exception as error:  # readers of a dozen formats raise what they like
                self._read[mesh.file] = None
                self.skipped[mesh.name] = f"{type(error).__name__}: {error}"
        return self._read[mesh.file]


def _load(file: Path) -> Triangles:
    mesh = import_module("trimesh").load(file, force="mesh")
    if not len(mesh.faces):
        raise ValueError("it has no triangles")
    return Triangles(np.asarray(mesh.vertices), np.asarray(mesh.faces), _color(mesh.visual))


def _color(visual: Any) -> Rgb | None:
    if visual.kind == "texture":
        main = visual.material.main_color
    elif visual.defined:
        main = visual.main_color
    else:
        return None
    red, green, blue = (float(channel) / 255 for channel in main[:3])
    return red, green, blue


# Nodes ----------------------------------------------------------------------------------------------------


def corners(solid: Solid, meshes: MeshFiles) -> Array | None:
    """The corners of the box around a solid, ``(8, 3)``; none around unbounded solids and missing files."""
    match solid:
        case Box():
            half = np.array(solid.size) / 2
        case Sphere():
            half = np.full(3, solid.radius)
        case Ellipsoid():
            half = np.array(solid.radii)
        case Cylinder():
            half = np.array([solid.radius, solid.radius, solid.length / 2 + solid.radius * solid.rounded])
        case Ground():
            return None
        case HeightField():
            x, y = (0.5 * length for length in solid.size)
            heights = np.array(solid.heights)
            return _combined(np.array([-x, -y, heights.min()]), np.array([x, y, heights.max()]))
        case Mesh():
            triangles = meshes.triangles(solid)
            if triangles is None:
                return None
            ends = np.array([triangles.vertices.min(axis=0), triangles.vertices.max(axis=0)]) * solid.scale
            return _combined(ends[0], ends[1])
    return _combined(-half, half)


def _combined(low: Array, high: Array) -> Array:
    picks = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)], dtype=bool)
    return np.where(picks, high, low)


def put(scene: Any, path: str, solid: Solid, place: Placement, color: Rgb | None, meshes: MeshFiles, sag: float) -> Any:
    """A node for a solid; None for the ground and meshes that are not found. No ``color``: the file's, or gray.

    Round solids have as many facets as bring their edges within ``sag`` of the surface: pixels that a processor draws
    take as long as a facet of a few.
    """
    at = {"position": place.position, "wxyz": wxyz_of(place.rotation)}
    paint = (0.7, 0.72, 0.75) if color is None else color
    match solid:
        case Box():
            return scene.add_box(path, paint, solid.size, **at)
        case Sphere():
            vertices, faces = capsule_triangles(solid.radius, 0.0, facets_of(solid.radius, sag))
            return scene.add_mesh_simple(path, vertices, faces, color=paint, **at)
        case Ellipsoid():
            vertices, faces = capsule_triangles(1.0, 0.0, facets_of(max(solid.radii), sag))
            return scene.add_mesh_simple(path, vertices, faces, color=paint, scale=solid.radii, **at)
        case Cylinder(rounded=True):
            vertices, faces = capsule_triangles(solid.radius, solid.length, facets_of(solid.radius, sag))
            return scene.add_mesh_simple(path, vertices, faces, color=paint, **at)
        case Cylinder():
            segments = facets_of(solid.radius, sag)
            return scene.add_cylinder(path, solid.radius, solid.length, paint, radial_segments=segments, **at)
        case HeightField():
            vertices, faces = field_triangles(solid)
            how = {"color": paint, "flat_shading": True, "side": "double"}
            return scene.add_mesh_simple(path, vertices, faces, **how, **at)
        case Mesh():
            triangles = meshes.triangles(solid)
            if triangles is None:
                return None
            how = {"color": color or triangles.color or paint, "scale": solid.scale, "flat_shading": True}
            return scene.add_mesh_simple(path, triangles.vertices, triangles.faces, side="double", **how, **at)
    return None
