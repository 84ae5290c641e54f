# SPDX-License-Identifier: BSD-3-Clause
"""Geoms as shapes, and the mesh assets they name.

A geom is there for collisions if its group is one that MuJoCo's viewer hides (3 or more) or its class is named so;
otherwise it is there to be seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

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
    Role,
    Solid,
    Sphere,
    Surface,
    as_color,
)
from linkwork.model.soft_contact import USUAL
from linkwork.parsing.appearance import LinkShape, MeshFinder, readable_shapes
from linkwork.parsing.mjcf.contact_numbers import GeomNumbers, surface_motion
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument
from linkwork.parsing.mjcf.height_fields import read_height_fields
from linkwork.parsing.mjcf.inertia import GEOMS, SIZES, size_and_place
from linkwork.parsing.mjcf.meshes import MeshAssets
from linkwork.parsing.mjcf.settings import Settings
from linkwork.parsing.mjcf.tree import Body
from linkwork.parsing.xml import Node

_HERE = Placement()
_HIDDEN = 3
"""The first group of geoms that MuJoCo's viewer does not show."""


@dataclass(frozen=True)
class Looks:
    """Materials, colors and meshes of geoms."""

    settings: Settings
    meshes: MeshAssets
    materials: Mapping[str, Color | None]
    fields: Mapping[str, HeightField]
    """Height fields by name."""

    def surface(self, node: Node) -> Surface | None:
        """Contact properties of a geom, if it may have contacts."""
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


def read_looks(document: MjcfDocument, defaults: Defaults, settings: Settings, meshes: MeshAssets) -> Looks:
    """The assets of a model; those that are wrong are left out."""
    materials: dict[str, Color | None] = {}
    for node in document.inside("asset", "material"):
        try:
            node = defaults.apply(node, "material")
            materials[node.text("name")] = as_color(node.numbers("rgba", 4))
        except ModelError:
            continue
    return Looks(settings, meshes, materials, read_height_fields(document, MeshFinder(document.root.file)))


def read_shapes(body: Body, looks: Looks) -> tuple[LinkShape, ...]:
    """Visual and collision shapes of a body, in its frame."""
    frames = {item.node: item.frame for item in body.all("geom")}

    def read(node: Node) -> LinkShape | None:
        geometry = _solid(node, looks)
        if geometry is None:
            return None
        solid, place = geometry
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
        asset = looks.meshes[mesh]
        if type in SIZES and asset.solid.is_found:
            size, place = size_and_place(node, type, looks.settings, looks.meshes)
            return _primitive(type, size), place
        return asset.solid, looks.settings.placement(node) * asset.place
    if type == "hfield":
        field = looks.fields.get(node.get("hfield") or "")
        return None if field is None else (field, looks.settings.placement(node))
    if type == "plane":
        x, y, _ = node.numbers("size", 3) or (0.0, 0.0, 0.0)
        extent = x if x > 0 else inf, y if y > 0 else inf
        return Ground(extent), looks.settings.placement(node)
    if type not in SIZES:
        return None
    size, place = size_and_place(node, type, looks.settings, looks.meshes)
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
