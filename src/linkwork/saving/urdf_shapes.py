# SPDX-License-Identifier: BSD-3-Clause
"""``<visual>`` and ``<collision>`` of URDF, and in the dialect of linkwork surfaces of links as Bullet and Drake write
them. A capsule of standard URDF is a cylinder and two spheres."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from linkwork.model.model import Model
from linkwork.model.parts import Frame
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Color, Cylinder, Ellipsoid, Mesh, Shape, Solid, Sphere, Surface
from linkwork.saving.dialects import Target
from linkwork.saving.layout import Layout
from linkwork.saving.meshes import mesh_path
from linkwork.saving.report import Report, unsaid_of_surfaces
from linkwork.saving.xml import add, drake, number, numbers, rpy


class UrdfShapes:
    """Writes shapes of one model.

    Args:
        layout: The model, in the frames of the file.
        report: Where to note shapes that URDF has not.
        target: Where the model is saved, and in which dialect.
    """

    def __init__(self, layout: Layout, report: Report, target: Target) -> None:
        self.layout, self.report, self.target = layout, report, target
        self._colors: dict[Color, str] = {}
        self._links = links_of_shapes(layout.model)

    def write(self, link: Any, body: str, frame: Frame | None = None) -> None:
        """Add the shapes of a link to its element.

        Args:
            link: The element.
            body: The moving body that it is part of, or the world.
            frame: Its frame there; by default it is the body itself.
        """
        name = body if frame is None else frame.name
        shapes = self._links.get((body, name), [])
        back = None if frame is None else self.layout.inside(body, frame.placement).inverse()
        touching = [shape for shape in shapes if shape.role == "collision" or shape.surface is not None]
        shared = self._shared_surface(link, name, touching)
        for shape in self._standard(shapes):
            at = self.layout.inside(body, shape.placement)
            at = at if back is None else back * at
            collides = shape.role == "collision" or shape.surface is not None
            for role in ["visual"] * (shape.role == "visual") + ["collision"] * collides:
                solid = self._solid(shape.solid)
                if isinstance(solid, str):
                    self.report.leave_out("shapes", f"a shape of '{name}'", solid)
                    break
                named = {"name": shape.name} if shape.name else {}
                element = add(link, role, **named)
                add(element, "origin", xyz=numbers(at.position), rpy=numbers(rpy(at.rotation)))
                tag, attributes = solid
                add(add(element, "geometry"), tag, **attributes)
                if role == "visual" or self._additions:
                    self._color(element, shape.color)
                if role == "collision" and shape.surface is not None and not shared:
                    self._surface(element, name, shape.surface)

    @property
    def _additions(self) -> bool:
        return self.target.dialect.additions

    def _standard(self, shapes: list[Shape]) -> Iterator[Shape]:
        """The shapes, of which standard URDF can say each that it can say at all."""
        for shape in shapes:
            solid = shape.solid
            if self._additions or not (isinstance(solid, Cylinder) and solid.rounded):
                yield shape
                continue
            ends = [Placement((0.0, 0.0, z)) for z in (-solid.length / 2, solid.length / 2)]
            named = [f"{shape.name}_{part}" if shape.name else shape.name for part in ("start", "end")]
            yield replace(shape, solid=Cylinder(solid.radius, solid.length))
            for end, name in zip(ends, named, strict=True):
                yield replace(shape, solid=Sphere(solid.radius), placement=shape.placement * end, name=name)

    def _color(self, element: Any, color: Color | None) -> None:
        if color is not None:
            name = self._colors.setdefault(color, f"color_{len(self._colors) + 1}")
            add(add(element, "material", name=name), "color", rgba=numbers(color))

    def _shared_surface(self, link: Any, name: str, shapes: list[Shape]) -> bool:
        """Write the surface that all shapes of a link have, as Bullet does; whether they have one."""
        first = shapes[0].surface if shapes else None
        if (
            not self._additions
            or first is None
            or first.combination != "lesser"
            or any(shape.surface != first for shape in shapes)
        ):
            return False
        contact = add(link, "contact")
        stiffness = 1.0 / first.compliance if first.compliance else None
        for tag, value in (
            ("lateral_friction", first.friction),
            ("spinning_friction", first.torsional_friction),
            ("rolling_friction", first.rolling_friction),
            ("restitution", first.restitution),
            ("stiffness", stiffness),
        ):
            if value is not None:
                add(contact, tag, value=number(value))
        if first.mask != -1:
            self.report.leave_out("surfaces", f"link '{name}'", "URDF has no masks of collision")
        for what in unsaid_of_surfaces(first, "torsional_friction", "rolling_friction"):
            self.report.leave_out("surfaces", f"link '{name}'", f"URDF has no {what}")
        return True

    def _surface(self, element: Any, name: str, surface: Surface) -> None:
        """Drake's properties of a shape, whose friction is combined by the harmonic mean."""
        if not self._additions:
            self.report.leave_out("surfaces", f"a shape of '{name}'", "standard URDF has no friction and stiffness")
            return
        if surface.combination != "harmonic" or surface.restitution is not None or surface.mask != -1:
            what = "URDF has no restitution, mask or greater friction of one shape of several"
            self.report.leave_out("surfaces", f"a shape of '{name}'", what)
            return
        for what in unsaid_of_surfaces(surface):
            self.report.leave_out("surfaces", f"a shape of '{name}'", f"URDF has no {what}")
        properties = add(element, drake("proximity_properties"))
        if surface.friction is not None:
            add(properties, drake("mu_dynamic"), value=number(surface.friction))
        if surface.compliance:
            add(properties, drake("point_contact_stiffness"), value=number(1.0 / surface.compliance))

    def _solid(self, solid: Solid) -> tuple[str, dict[str, str]] | str:
        """Tag and attributes of a geometry; of what the dialect has not, why."""
        if isinstance(solid, Box):
            return "box", {"size": numbers(solid.size)}
        if isinstance(solid, Sphere):
            return "sphere", {"radius": number(solid.radius)}
        if isinstance(solid, Cylinder):
            tag = "capsule" if solid.rounded else "cylinder"
            return tag, {"radius": number(solid.radius), "length": number(solid.length)}
        if isinstance(solid, Ellipsoid) and self._additions:
            a, b, c = (number(radius) for radius in solid.radii)
            return drake("ellipsoid"), {"a": a, "b": b, "c": c}
        if isinstance(solid, Mesh):
            path = mesh_path(solid, self.target.folder, self.target.package)
            if path.lower().endswith(".msh") and not self._additions:
                return "readers of standard URDF know no meshes of .msh"
            return "mesh", {"filename": path, "scale": numbers(solid.scale)}
        return f"{self.target.dialect.shown} has no {type(solid).__name__}"


def links_of_shapes(model: Model) -> dict[tuple[str, str], list[Shape]]:
    """The shapes by moving body and link: the frame that they were given to, or else the body.

    Args:
        model: The model.
    """
    links: dict[tuple[str, str], list[Shape]] = {}
    for shape in model.shapes:
        frame = model.frames.get(shape.link)
        on = shape.link if frame is not None and frame.body == shape.body else shape.body
        links.setdefault((shape.body, on), []).append(shape)
    return links
