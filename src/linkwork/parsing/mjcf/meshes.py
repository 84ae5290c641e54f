# SPDX-License-Identifier: BSD-3-Clause
"""Mesh assets: where their triangles come from, their inertia, and the primitives that are fitted to them.

Vertices are moved by ``refpos``, turned back by ``refquat``, and scaled then. The inertia of a mesh is that of its
triangles, by one of four rules (`mesh_inertia`). A geom that names a mesh and is a primitive has the sizes of the box
with the mesh's inertia, or with ``fitaabb`` of its bounding box, along the principal axes of inertia.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import get_args

import numpy as np

from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.model.arrays import Floats, frozen
from linkwork.model.mesh_files import Triangles
from linkwork.model.mesh_inertia import MeshInertia, MeshProperties, mesh_properties
from linkwork.model.placement import Placement
from linkwork.model.shapes import Mesh
from linkwork.parsing.appearance import MeshFinder
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument, asset_folder
from linkwork.parsing.mjcf.settings import quaternion
from linkwork.parsing.mjcf.vocabulary import refuse_unknown
from linkwork.parsing.xml import Node, located

_HERE = Placement()


@dataclass(frozen=True)
class MeshAsset:
    """A mesh of the model."""

    node: Node
    solid: Mesh
    place: Placement
    """Where the triangles of the file, scaled, stand in the frame of a geom."""
    kind: MeshInertia
    hull_vertices: int

    @cached_property
    def triangles(self) -> Triangles:
        """The triangles in the frame of a geom; `ModelError` where the file was not found or cannot be read."""
        surface, scale = self.solid.surface(), np.array(self.solid.scale)
        points = surface.vertices if self.solid.triangles is not None else _single(surface)
        vertices = (points * scale) @ self.place.rotation.T + self.place.position
        return Triangles(vertices, surface.faces if scale.prod() > 0 else surface.faces[:, ::-1])

    @cached_property
    def properties(self) -> MeshProperties:
        """Volume or area, center of mass and moments, in the frame of a geom."""
        with located(self.node):
            return mesh_properties(self.triangles, self.kind, self.hull_vertices)

    @cached_property
    def principal(self) -> tuple[Floats, Floats]:
        """Principal moments, the largest first, and the rotation to their axes."""
        moments, axes = np.linalg.eigh(self.properties.moments)
        axes = axes[:, ::-1].copy()
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        return moments[::-1], axes

    def fitted(self, type: str, by_bounds: bool, scale: float) -> tuple[Floats, Placement]:
        """Sizes of a primitive that is fitted to the mesh, and where it stands in the frame of the geom.

        Args:
            type: Of the geom.
            by_bounds: Whether the bounding box along the principal axes counts, and not the box of the same inertia.
            scale: Of all sizes.
        """
        moments, axes = self.principal
        if not by_bounds:
            half = np.sqrt(np.maximum(6 * (moments.sum() / 2 - moments) * 2 / self.properties.measure, 0.0)) / 2
            return scale * _BY_INERTIA[type](half), Placement(self.properties.center, axes)
        points = (self.triangles.vertices - self.properties.center) @ axes
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        return scale * _BY_BOUNDS[type](points.max(axis=0) - middle), Placement(
            self.properties.center + axes @ middle, axes
        )


_BY_INERTIA: dict[str, Callable[[Floats], Floats]] = {
    "sphere": lambda half: np.array([half.mean()]),
    "capsule": lambda half: np.array([half[:2].mean(), max(0.0, half[2] - half[:2].mean() / 2)]),
    "cylinder": lambda half: np.array([half[:2].mean(), half[2]]),
    "ellipsoid": lambda half: half,
    "box": lambda half: half,
}
"""Sizes from the half edges of a box with the inertia of the mesh."""
_BY_BOUNDS: dict[str, Callable[[Floats], Floats]] = {
    "sphere": lambda half: np.array([half.max()]),
    "capsule": lambda half: np.array([half[:2].max(), max(0.0, half[2] - half[:2].max())]),
    "cylinder": lambda half: np.array([half[:2].max(), half[2]]),
    "ellipsoid": lambda half: half,
    "box": lambda half: half,
}
"""Sizes from the half edges of the bounding box."""


class MeshAssets(Mapping[str, MeshAsset]):
    """The meshes of a model by name; those that are wrong are kept with what is wrong, and raise it when they count."""

    def __init__(self, document: MjcfDocument, defaults: Defaults, exact: bool) -> None:
        self._found: dict[str, MeshAsset] = {}
        self.wrong: dict[str, ModelError] = {}
        finder = MeshFinder(document.root.file)
        for bare in document.inside("asset", "mesh"):
            name = _name(bare)
            try:
                folder = asset_folder(document, "meshdir")
                self._found[name] = _read(defaults.apply(bare, "mesh"), folder, finder, exact)
            except ModelError as error:
                self.wrong[name] = error

    def __getitem__(self, name: str) -> MeshAsset:
        return self._found[name]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def needed(self, name: str, geom: Node, what: str) -> MeshAsset:
        """A mesh whose triangles are needed; an error that says for what, where there is none.

        Args:
            name: Of the mesh.
            geom: The element that names it.
            what: Is computed of it.
        """
        if name in self.wrong:
            raise self.wrong[name]
        if name not in self._found:
            raise geom.error(f"there is no mesh '{name}'")
        asset = self._found[name]
        if not asset.solid.is_found:
            absent = [mesh.solid.name for mesh in self._found.values() if not mesh.solid.is_found]
            others = f"; {len(absent)} mesh files of the model are absent" if len(absent) > 1 else ""
            raise geom.error(
                f"{what} must come from mesh '{name}', whose file '{asset.solid.name}' was not found{others}. Put the "
                "file there, or give the body an <inertial>, as MuJoCo's compiler saves it (saveinertial='true')"
            )
        return asset


def _name(mesh: Node) -> str:
    """The name of a mesh asset; one without is called as its file."""
    return mesh.get("name") or Path(mesh.get("file") or "").stem


def _read(node: Node, folder: Path, finder: MeshFinder, exact: bool) -> MeshAsset:
    refuse_unknown(node)
    if node.get("builtin") not in (None, "none"):
        raise node.error(f"a mesh that MuJoCo makes itself (builtin='{node.get('builtin')}')", UnsupportedFeature)
    x, y, z = node.vector("scale", (1.0, 1.0, 1.0))
    name, triangles = node.get("file") or "", None
    if name:
        # seen from the model's folder, else from that of the included file that names it
        file = finder.find(str(folder / name)) or MeshFinder(node.file).find(str(folder / name))
        mesh = Mesh(name, file, (x, y, z), convex=True)
    else:
        triangles = _given(node)
        mesh = Mesh(node.get("name") or "mesh", None, (x, y, z), convex=True, triangles=triangles)
    turn, at = node.numbers("refquat", 4), node.vector("refpos", (0.0, 0.0, 0.0))
    place = _HERE
    if turn is not None or any(at):
        R = np.eye(3) if turn is None else quaternion(node, "refquat", turn).rotation.T
        if turn is not None and not x == y == z:  # scaled in axes that are not those of the file
            with located(node):
                surface = mesh.surface()
            turned = Triangles(frozen((_single(surface) - at) @ R.T), surface.faces)
            mesh = Mesh(name or mesh.name, mesh.file, (x, y, z), convex=True, triangles=turned)
        else:
            with located(node):
                place = Placement(-np.array([x, y, z]) * (R @ np.array(at)), R)
    usual = "exact" if exact else "legacy"
    kind: MeshInertia = node.choice("inertia", get_args(MeshInertia), usual)  # type: ignore[assignment]
    return MeshAsset(node, mesh, place, kind, int(node.number("maxhullvert", -1.0)))


def _single(surface: Triangles) -> Floats:
    """Vertices as numbers of 32 bits, as MuJoCo's readers have them."""
    rounded: Floats = surface.vertices.astype(np.float32).astype(np.float64)
    return rounded


def _given(node: Node) -> Triangles:
    """Triangles that are written in the model."""
    words, faces = (node.get("vertex") or "").split(), (node.get("face") or "").split()
    try:
        vertices = np.array(words, dtype=np.float32).astype(np.float64)
        corners = np.array(faces, dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise node.error(f"vertices and faces are numbers: {error}") from None
    if not len(words) or len(words) % 3 or len(faces) % 3:
        raise node.error("a mesh needs a file, or 'vertex' with three numbers for each vertex and 'face' with three")
    if corners.size and not 0 <= corners.min() <= corners.max() < len(words) // 3:
        raise node.error(f"faces name vertices 0 to {len(words) // 3 - 1}")
    return Triangles(frozen(vertices.reshape(-1, 3)), corners.reshape(-1, 3))
