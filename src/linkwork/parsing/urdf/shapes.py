# SPDX-License-Identifier: BSD-3-Clause
"""``<visual>`` and ``<collision>`` of URDF, with Drake's capsules and ellipsoids."""

from __future__ import annotations

from collections.abc import Mapping

from linkwork.errors import ModelError
from linkwork.model.shapes import Box, Color, Cylinder, Ellipsoid, Mesh, Solid, as_color
from linkwork.parsing.appearance import LinkShape, MeshFinder, readable_shapes, sphere
from linkwork.parsing.urdf.elements import placement_of_origin
from linkwork.parsing.urdf.surfaces import LinkSurfaces
from linkwork.parsing.xml import Node


def named_colors(robot: Node) -> dict[str, Color]:
    """The colors of materials; the first that a name is given."""
    colors: dict[str, Color] = {}
    for node in robot.descendants("material"):
        name = node.get("name")
        color = _own_color(node)
        if name and color is not None:
            colors.setdefault(name, color)
    return colors


def _own_color(material: Node) -> Color | None:
    try:
        node = material.child("color")
        return None if node is None else as_color(node.numbers("rgba", 4))
    except ModelError:
        return None


def read_shapes(
    link: Node, colors: Mapping[str, Color], meshes: MeshFinder, surfaces: LinkSurfaces
) -> tuple[LinkShape, ...]:
    """Visual and collision shapes of a link."""

    def read(node: Node) -> LinkShape | None:
        solid = _solid(node.need("geometry"), meshes, node.tag == "collision")
        if solid is None:
            return None
        material = node.child("material")
        color = None
        if material is not None:
            color = _own_color(material) or colors.get(material.get("name") or "")
        place = placement_of_origin(node)
        if node.tag == "visual":
            return LinkShape(solid, place, color, "visual")
        surface = surfaces.of_collision(link, node)
        return LinkShape(solid, place, color, "collision", node.get("name") or "", surface)

    shapes = readable_shapes(link.children("visual", "collision"), read)
    said = sum(1 for _ in link.children("collision"))
    if sum(shape.role == "collision" for shape in shapes) < said:
        surfaces.unused.add(link, "a <collision> that cannot be read", always=True)
    return shapes


def _solid(geometry: Node, meshes: MeshFinder, collides: bool) -> Solid | None:
    for node in geometry.children():
        match node.tag.removeprefix("drake:"):
            case "box":
                x, y, z = node.numbers("size", 3) or (0.0, 0.0, 0.0)
                return Box((x, y, z))
            case "sphere":
                return sphere(node.number("radius"), collides)
            case "cylinder" | "capsule" as kind:
                return Cylinder(node.number("radius"), node.number("length"), rounded=kind == "capsule")
            case "ellipsoid":
                return Ellipsoid((node.number("a"), node.number("b"), node.number("c")))
            case "mesh":
                name = node.text("filename")
                return Mesh(name, meshes.find(name), node.vector("scale", (1.0, 1.0, 1.0)))
    return None
