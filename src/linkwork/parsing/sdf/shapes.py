# SPDX-License-Identifier: BSD-3-Clause
"""``<visual>`` and ``<collision>`` of SDF, with Drake's capsules and ellipsoids."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation
from linkwork.model.shapes import Box, Color, Cylinder, Ellipsoid, Ground, Mesh, Solid, as_color
from linkwork.parsing.appearance import LinkShape, MeshFinder, readable_shapes, sphere
from linkwork.parsing.sdf.frames import read_pose
from linkwork.parsing.sdf.joints import Version
from linkwork.parsing.surfaces import SurfaceReader
from linkwork.parsing.xml import Node

Frames = Callable[[Node, str], Placement]
"""The placement of a frame of the model in the frame of the link: ``(element that refers to it, its name)``."""


def read_shapes(
    link: Node, version: Version, frames: Frames, meshes: MeshFinder, surfaces: SurfaceReader
) -> tuple[LinkShape, ...]:
    """Visual and collision shapes of a link."""

    def read(node: Node) -> LinkShape | None:
        geometry = _solid(node.need("geometry"), meshes, node.tag == "collision")
        if geometry is None:
            return None
        solid, turned = geometry
        pose = node.child("pose")
        named = None if pose is None else pose.get("relative_to")
        place = read_pose(node, version) * turned
        if named and named != link.get("name"):
            place = frames(node, named) * place
        if node.tag == "visual":
            return LinkShape(solid, place, _color(node), "visual")
        return LinkShape(solid, place, _color(node), "collision", node.get("name") or "", surfaces.of_sdf(node))

    shapes = readable_shapes(link.children("visual", "collision"), read)
    said = sum(1 for _ in link.children("collision"))
    if sum(shape.role == "collision" for shape in shapes) < said:
        surfaces.unused.add(link, "a <collision> that cannot be read", always=True)
    return shapes


def _color(node: Node) -> Color | None:
    """The diffuse color, or else the ambient one."""
    material = node.child("material")
    if material is None:
        return None
    child = material.child("diffuse") or material.child("ambient")
    color = None if child is None else as_color(child.values(3, 4))
    if color is None:
        return None
    return as_color((*color[:3], color[3] * (1.0 - node.value_of("transparency", 0.0))))


def _solid(geometry: Node, meshes: MeshFinder, collides: bool) -> tuple[Solid, Placement] | None:
    """A solid, and how it is turned before its pose is read."""
    for node in geometry.children():
        match node.tag.removeprefix("drake:"):
            case "box":
                x, y, z = node.need("size").values(3)
                return Box((x, y, z)), Placement()
            case "sphere":
                return sphere(node.value_of("radius"), collides), Placement()
            case "cylinder" | "capsule" as kind:
                rounded = kind == "capsule"
                return Cylinder(node.value_of("radius"), node.value_of("length"), rounded), Placement()
            case "ellipsoid":
                radii = node.child("radii")
                a, b, c = (node.value_of(k) for k in "abc") if radii is None else radii.values(3)
                return Ellipsoid((a, b, c)), Placement()
            case "plane":
                child = node.child("normal")
                normal = np.array((0.0, 0.0, 1.0) if child is None else child.values(3))
                length = float(np.linalg.norm(normal))
                if not length > 1e-9:
                    raise node.error("the normal of a plane has no direction")
                return Ground(), Placement((0.0, 0.0, 0.0), aligning_rotation(normal / length))
            case "mesh":
                name, scale = node.need("uri").word(), node.child("scale")
                x, y, z = (1.0, 1.0, 1.0) if scale is None else scale.values(3)
                return Mesh(name, meshes.find(name), (x, y, z)), Placement()
    return None
