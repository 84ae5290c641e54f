# SPDX-License-Identifier: BSD-3-Clause
"""``<visual>`` and ``<collision>`` of SDF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.model.shapes import (
    PATCH_LEVER,
    Box,
    Color,
    Cylinder,
    Ellipsoid,
    Ground,
    Mesh,
    Shape,
    Solid,
    Sphere,
    Surface,
)
from linkwork.saving.layout import Layout
from linkwork.saving.meshes import mesh_path
from linkwork.saving.report import Report, unsaid_of_surfaces
from linkwork.saving.xml import add, drake, fresh, number, numbers, pose


class SdfShapes:
    """Writes shapes of one model.

    Args:
        layout: The model, in the frames of the file.
        report: Where to note shapes that SDF has not.
        folder: Where the model is saved.
    """

    def __init__(self, layout: Layout, report: Report, folder: Path | None) -> None:
        self.layout, self.report, self.folder = layout, report, folder

    def write(self, link: Any, body: str) -> None:
        """Add the shapes of a body to the element of its link.

        Args:
            link: The element.
            body: A moving body, or the world.
        """
        taken: set[str] = set()
        shapes = [shape for shape in self.layout.model.shapes if shape.body == body]
        for shape in shapes:
            if _sayable(shape.solid):
                for role in ("visual", "collision"):
                    if role == shape.role or (role == "collision" and shape.surface is not None):
                        self._shape(link, role, shape, taken)
            else:
                what = f"SDF has no {type(shape.solid).__name__} that is read"
                self.report.leave_out("shapes", f"a shape of '{shape.link or body}'", what)

    def _shape(self, link: Any, role: str, shape: Shape, taken: set[str]) -> None:
        plain = f"{shape.link or shape.body}_visual" if role == "visual" else shape.link or shape.body
        element = add(link, role, name=fresh(shape.name or plain, taken))
        add(element, "pose", pose(self.layout.inside(shape.body, shape.placement)))
        _geometry(add(element, "geometry"), shape.solid, self.folder)
        if shape.color is not None and role == shape.role:
            _color(element, shape.color)
        if role == "collision" and shape.surface is not None:
            self._surface(element, shape.surface, shape.link or shape.body)

    def _surface(self, element: Any, surface: Surface, body: str) -> None:
        if surface.combination == "harmonic":
            properties = add(element, drake("proximity_properties"))
            if surface.friction is not None:
                add(properties, drake("mu_dynamic"), number(surface.friction))
            if surface.compliance:
                add(properties, drake("point_contact_stiffness"), number(1.0 / surface.compliance))
            more = surface.torsional_friction or unsaid_of_surfaces(surface)
            if surface.restitution is None and surface.mask == -1 and not more:
                return
        surface_element = add(element, "surface")
        sliding = surface.friction is not None and surface.combination != "harmonic"
        friction = add(surface_element, "friction") if sliding or surface.torsional_friction else None
        if surface.friction is not None and sliding:
            ode = add(friction, "ode")
            add(ode, "mu", number(surface.friction))
            add(ode, "mu2", number(surface.friction))
        if surface.torsional_friction:
            torsional = add(friction, "torsional")
            add(torsional, "coefficient", number(1.0))
            add(torsional, "use_patch_radius", "true")
            add(torsional, "patch_radius", number(surface.torsional_friction / PATCH_LEVER))
        for what in unsaid_of_surfaces(surface, "torsional_friction"):
            self.report.leave_out("surfaces", f"a shape of '{body}'", f"SDF has no {what}")
        if surface.restitution is not None:
            add(add(surface_element, "bounce"), "restitution_coefficient", number(surface.restitution))
        contact = add(surface_element, "contact")
        if surface.mask >= 0:
            add(contact, "collide_bitmask", str(surface.mask))
        if surface.compliance and surface.combination != "harmonic":
            add(add(contact, "ode"), "kp", number(1.0 / surface.compliance))
        if surface.combination == "greater":
            what = "of two surfaces of SDF the lesser friction counts, not the greater"
            self.report.leave_out("surfaces", f"a shape of '{body}'", what)


def _sayable(solid: Solid) -> bool:
    return isinstance(solid, Box | Sphere | Cylinder | Ellipsoid | Ground | Mesh)


def _color(element: Any, color: Color) -> None:
    material = add(element, "material")
    add(material, "ambient", numbers(color))
    add(material, "diffuse", numbers(color))


def _geometry(geometry: Any, solid: Solid, folder: Path | None) -> None:
    if isinstance(solid, Box):
        add(add(geometry, "box"), "size", numbers(solid.size))
    elif isinstance(solid, Sphere):
        add(add(geometry, "sphere"), "radius", number(solid.radius))
    elif isinstance(solid, Cylinder):
        element = add(geometry, "capsule" if solid.rounded else "cylinder")
        add(element, "radius", number(solid.radius))
        add(element, "length", number(solid.length))
    elif isinstance(solid, Ellipsoid):
        add(add(geometry, "ellipsoid"), "radii", numbers(solid.radii))
    elif isinstance(solid, Ground):
        element = add(geometry, "plane")
        add(element, "normal", "0 0 1")
        add(element, "size", "100 100")
    elif isinstance(solid, Mesh):
        element = add(geometry, "mesh")
        add(element, "uri", mesh_path(solid, folder))
        if solid.scale != (1.0, 1.0, 1.0):
            add(element, "scale", numbers(solid.scale))
