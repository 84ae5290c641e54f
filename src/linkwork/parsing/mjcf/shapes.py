# SPDX-License-Identifier: BSD-3-Clause
"""Geoms as shapes, and the mesh assets they name.

A geom is there for collisions if its group is one that MuJoCo's viewer hides (3 or more) or its class is named so;
otherwise it is there to be seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.placement import Placement
from linkwork.model.shapes import (
    Box,
    Color,
    Cylinder,
    Ellipsoid,
    Ground,
    HeightField,
    Mesh,
    Role,
    Solid,
    Sphere,
    Surface,
    as_color,
)
from linkwork.model.soft_contact import USUAL
from linkwork.parsing.appearance import LinkShape, MeshFinder, readable_shapes
from linkwork.parsing.mjcf.contact_numbers import GeomNumbers, surface_motion
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument, asset_folder
from linkwork.parsing.mjcf.height_fields import read_height_fields
from linkwork.parsing.mjcf.inertia import GEOMS, SIZES, size_and_place
from linkwork.parsing.mjcf.settings import Settings, quaternion
from linkwork.parsing.mjcf.tree import Body
from linkwork.parsing.xml import Node, located

_HERE = Placement()
_HIDDEN = 3
"""The first group of geoms that MuJoCo's viewer does not show."""


@dataclass(frozen=True)
class Looks:
    """What geoms are drawn with."""

    settings: Settings
    meshes: Mapping[str, tuple[Mesh, Placement]]
    """Mesh assets by name, and where they stand in the frames of their geoms."""
    materials: Mapping[str, Color | None]
    fields: Mapping[str, HeightField]
    """Height fields by name."""

    def surface(self, node: Node) -> Surface | None:
        """What a geom says of its contacts, if it may have any."""
        if not (node.number("contype", 1.0) or node.number("conaffinity", 1.0)):
            return None
        said = GeomNumbers.of(node, self.settings)
        velocity, angular_velocity = surface_motion(node)
        return Surface(
            said.friction[0] if said.condim > 1 else 0.0,
            combination="greater",
            torsional_friction=said.friction[1] if said.condim > 3 else None,
            rolling_friction=said.friction[2] if said.condim > 4 else None,
            velocity=velocity,
            angular_velocity=angular_velocity,
            adhesion=said.adhesion,
            soft=None if said.soft == USUAL else said.soft,
        )


def read_looks(document: MjcfDocument, defaults: Defaults, settings: Settings) -> Looks:
    """The assets of a model; those that are wrong are left out."""
    finder = MeshFinder(document.root.file)
    folder = asset_folder(document, "meshdir")
    meshes: dict[str, tuple[Mesh, Placement]] = {}
    materials: dict[str, Color | None] = {}
    for node in document.inside("asset", "mesh", "material"):
        try:
            if node.tag == "material":
                node = defaults.apply(node, "material")
                materials[node.text("name")] = as_color(node.numbers("rgba", 4))
            elif node.get("file"):
                meshes[mesh_name(node)] = _mesh(defaults.apply(node, "mesh"), folder, finder)
        except ModelError:
            continue
    return Looks(settings, meshes, materials, read_height_fields(document, finder))


def mesh_name(mesh: Node) -> str:
    """The name of a mesh asset; one without is called as its file."""
    return mesh.get("name") or Path(mesh.get("file") or "").stem


def _mesh(node: Node, folder: Path, finder: MeshFinder) -> tuple[Mesh, Placement]:
    """Vertices are moved by ``refpos``, turned back by ``refquat``, and scaled then."""
    name = node.text("file")
    x, y, z = node.vector("scale", (1.0, 1.0, 1.0))
    mesh = Mesh(name, finder.find(str(folder / name)), (x, y, z), convex=True)
    turn, at = node.numbers("refquat", 4), node.vector("refpos", (0.0, 0.0, 0.0))
    if turn is None and not any(at):
        return mesh, _HERE
    if turn is not None and not x == y == z:
        raise node.error("a mesh that is turned and scaled by three numbers is not drawn")
    R = np.eye(3) if turn is None else quaternion(node, "refquat", turn).rotation.T
    with located(node):
        return mesh, Placement(-np.array([x, y, z]) * (R @ np.array(at)), R)


def read_shapes(body: Body, looks: Looks) -> tuple[LinkShape, ...]:
    """What a body looks like and collides with, in its frame."""
    frames = {item.node: item.frame for item in body.all("geom")}

    def read(node: Node) -> LinkShape | None:
        found = _solid(node, looks)
        if found is None:
            return None
        solid, place = found
        place = frames[node] * place
        name = node.get("name") or ""
        return LinkShape(solid, place, _color(node, looks), _role(node), name, looks.surface(node), node)

    return readable_shapes(iter(frames), read)


def _solid(node: Node, looks: Looks) -> tuple[Solid, Placement] | None:
    type = node.choice("type", GEOMS, "sphere")
    mesh = node.get("mesh")
    if mesh is not None:
        if mesh not in looks.meshes:
            return None
        solid, inside = looks.meshes[mesh]
        return solid, looks.settings.placement(node) * inside
    if type == "hfield":
        field = looks.fields.get(node.get("hfield") or "")
        return None if field is None else (field, looks.settings.placement(node))
    if type == "plane":
        return Ground(), looks.settings.placement(node)
    if type not in SIZES:
        return None
    size, place = size_and_place(node, type, looks.settings)
    return _primitive(type, size), place


def _primitive(type: str, size: Floats) -> Solid:
    """From MuJoCo's radii and half lengths."""
    a, b, c = (float(x) for x in (*size, 0.0, 0.0)[:3])
    match type:
        case "sphere":
            return Sphere(a)
        case "ellipsoid":
            return Ellipsoid((a, b, c))
        case "box":
            return Box((2 * a, 2 * b, 2 * c))
    return Cylinder(a, 2 * b, rounded=type == "capsule")


def _color(node: Node, looks: Looks) -> Color | None:
    """Its own, or else that of its material."""
    own = as_color(node.numbers("rgba", 4))
    return looks.materials.get(node.get("material") or "") if own is None else own


def _role(node: Node) -> Role:
    named = "collision" in (node.get("class") or "").lower()
    return "collision" if named or node.number("group", 0.0) >= _HIDDEN else "visual"
