# SPDX-License-Identifier: BSD-3-Clause
"""Shapes of a model as geoms of MJCF, and its contacts as explicit pairs.

Geoms never touch by their masks: ``contype`` is 1 and ``conaffinity`` 0 where a shape has a surface, whose friction is
kept so, and both are 0 where it has none. Which shapes touch, and with which friction, is in ``<pair>`` elements.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPair, ContactShape, contact_shapes
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, HeightField, Mesh, Shape, Solid, Sphere, Surface
from linkwork.model.soft_contact import USUAL, SoftConstraint, SoftContact
from linkwork.plans.contacts import planned_pair
from linkwork.saving.layout import Layout
from linkwork.saving.meshes import mesh_path
from linkwork.saving.report import Report
from linkwork.saving.xml import add, fresh, is_identity, number, numbers, quaternion

_GROUPS = {"visual": "2", "collision": "3"}
"""MuJoCo's viewer shows groups 0 to 2."""
_MESHES = (".stl", ".obj", ".msh")
"""Files that MuJoCo reads."""


class GeomWriter:
    """Writes shapes and contacts of one model.

    Args:
        layout: The model, in the frames of the file.
        report: Where to note what MJCF has not.
        folder: Where the model is saved.
    """

    def __init__(self, layout: Layout, report: Report, folder: Path | None) -> None:
        self.layout, self.report, self.folder = layout, report, folder
        self._names: set[str] = {shape.name for shape in contact_shapes(layout.model.contacts)}
        self._assets: dict[tuple[object, ...], str] = {}
        self._touching = contact_shapes(layout.model.contacts)
        """Shapes of contacts that have no geom yet."""
        self._geoms: dict[ContactShape, str] = {}
        self._asset_names: set[str] = set()

    # Assets --------------------------------------------------------------------------------------------

    def assets(self, root: Any) -> None:
        """Add the meshes and height fields of all shapes.

        Args:
            root: The root element.
        """
        model = self.layout.model
        solids = [*(shape.solid for shape in model.shapes), *(shape.solid for shape in self._touching)]
        section = None
        for solid in solids:
            key = self._key(solid)
            if key is None or key in self._assets or self._unsaid(solid):
                continue
            section = add(root, "asset") if section is None else section
            if isinstance(solid, Mesh):
                name = fresh(Path(solid.name).stem or "mesh", self._asset_names)
                # MuJoCo computes an inertia of every mesh, for which the surface of an open one has no volume
                asset = add(section, "mesh", name=name, inertia="shell")
                if solid.triangles is None:
                    asset.set("file", mesh_path(solid, self.folder))
                else:
                    asset.set("vertex", numbers(solid.triangles.vertices.reshape(-1)))
                    asset.set("face", " ".join(map(str, solid.triangles.faces.reshape(-1).tolist())))
                if solid.scale != (1.0, 1.0, 1.0):
                    asset.set("scale", numbers(solid.scale))
            else:
                name = fresh("terrain", self._asset_names)
                _height_field(add(section, "hfield", name=name), solid)
            self._assets[key] = name

    @staticmethod
    def _key(solid: Solid) -> tuple[object, ...] | None:
        if isinstance(solid, Mesh):
            return id(solid.triangles) if solid.triangles is not None else solid.file or solid.name, solid.scale
        return (id(solid),) if isinstance(solid, HeightField) else None

    @staticmethod
    def _unsaid(solid: Solid) -> str:
        """Why MJCF has no such solid; empty if it has."""
        if not isinstance(solid, Mesh) or solid.triangles is not None:
            return ""
        if Path(solid.name).suffix.lower() not in _MESHES:
            return f"MuJoCo reads meshes of {', '.join(_MESHES)}, not '{Path(solid.name).name}'"
        if solid.file is None and "://" in solid.name:
            return f"the file of mesh '{solid.name}' was not found"
        return ""

    # Geoms ---------------------------------------------------------------------------------------------

    def write(self, element: Any, body: str) -> None:
        """Add the shapes of a body to its element, and those that its contacts have besides.

        Args:
            element: The element.
            body: A moving body, or the world.
        """
        known = {id(shape): shape for shape in self._touching if shape.body == body}
        for shape in self.layout.model.shapes:
            if shape.body != body:
                continue
            touching = next((t for t in known.values() if _same_shape(t, shape)), None)
            wanted = shape.name if touching is None else touching.name
            name = self._geom(element, body, shape, wanted, touching)
            if touching is not None and name:
                del known[id(touching)]
                self._geoms[touching] = name
        for touching in known.values():
            collision = Shape(body, touching.solid, touching.placement, role="collision")
            name = self._geom(element, body, collision, touching.name, touching)
            if name:
                self._geoms[touching] = name

    def _geom(self, element: Any, body: str, shape: Shape, wanted: str, touching: ContactShape | None) -> str:
        """Add a geom, which may be that of a shape of contacts; its name, if it has one."""
        unsaid = self._unsaid(shape.solid)
        if unsaid:
            self.report.leave_out("shapes", f"a shape of '{shape.link or body}'", unsaid)
            return ""
        name = wanted if touching is not None else fresh(wanted, self._names) if wanted else ""
        kind, size, at = _geometry(shape.solid, shape.placement)
        placed, at = at, self.layout.inside(body, at)
        geom = add(element, "geom", **({"name": name} if name else {}), type=kind)
        key = self._key(shape.solid)
        if key is not None:
            geom.set("hfield" if kind == "hfield" else "mesh", self._assets[key])
        if size:
            geom.set("size", numbers(size))
        if not is_identity(at):
            geom.set("pos", numbers(at.position))
            geom.set("quat", quaternion(at))
        geom.set("group", _GROUPS[shape.role])
        self._surface(geom, shape.surface, shape.link or body)
        velocity, turning = np.zeros(3), np.zeros(3)
        if touching is not None:
            velocity, turning = np.array(touching.surface_velocity), np.array(touching.surface_angular_velocity)
        elif shape.surface is not None:
            velocity, turning = np.array(shape.surface.velocity), np.array(shape.surface.angular_velocity)
        if velocity.any() or turning.any():
            moved = shape.placement.rotation.T @ (placed.position - shape.placement.position)
            geom.set("surfacevel", numbers((*(velocity + np.cross(turning, moved)), *turning)))
        if shape.color is not None:
            geom.set("rgba", numbers(shape.color))
        return name

    def _surface(self, geom: Any, surface: Surface | None, body: str) -> None:
        geom.set("contype", "0" if surface is None or surface.mask == 0 else "1")
        geom.set("conaffinity", "0")
        if surface is None or surface.mask == 0:
            return
        if surface.friction is not None:
            coefficients = surface.friction, surface.torsional_friction or 0.0, surface.rolling_friction or 0.0
            _set_friction(geom, *coefficients, sides=1)
        if surface.adhesion:
            geom.set("adhesion", number(surface.adhesion))
        set_softness(geom, surface.soft)
        plain = surface.restitution is None and surface.compliance is None and surface.mask == -1
        if not plain or surface.combination != "greater":
            what = "surfaces in MJCF have friction alone, of two the greater"
            self.report.leave_out("surfaces", f"a shape of '{body}'", what)

    # Contacts ------------------------------------------------------------------------------------------

    def cones(self) -> dict[str, str]:
        """MuJoCo's ``impratio`` and ``cone``, each one for the whole model."""
        model = self.layout.model
        softness = [(pair.soft or USUAL, pair.name) for pair in model.contacts]
        pairs = {(soft.friction_ratio, soft.pyramidal): name for soft, name in softness}
        if len(pairs) > 1:
            name = list(pairs.values())[1]
            what = "friction_ratio and pyramidal of soft contacts are the same for all in MJCF"
            self.report.refuse("contacts", f"contact '{name}'", what)
        said = (shape.surface.soft or USUAL for shape in model.shapes if shape.surface is not None)
        ratio, pyramidal = next(iter(pairs), next(((s.friction_ratio, s.pyramidal) for s in said), (1.0, False)))
        return {"cone": "pyramidal" if pyramidal else "elliptic"} | ({"impratio": number(ratio)} if ratio != 1 else {})

    def contacts(self, root: Any) -> None:
        """Add all pairs that may touch.

        Args:
            root: The root element.
        """
        pairs = self.layout.model.contacts
        if not pairs:
            return
        section = add(root, "contact")
        for pair in pairs:
            self._refuse(pair)
            ends = [self._geoms.get(shape) for shape in (pair.first, pair.second)]
            if None in ends:
                self.report.refuse("contacts", f"contact '{pair.name}'", "MJCF has none of its shapes")
                continue
            named = {} if pair.name == f"{pair.first.name}:{pair.second.name}" else {"name": pair.name}
            element = add(section, "pair", **named, geom1=str(ends[0]), geom2=str(ends[1]))
            _set_friction(element, pair.friction, pair.torsional_friction, pair.rolling_friction, sides=2)
            for name in ("margin", "gap", "adhesion"):
                if getattr(pair, name) != 0:
                    element.set(name, number(getattr(pair, name)))
            set_softness(element, pair.soft)

    def _refuse(self, pair: ContactPair) -> None:
        where = f"contact '{pair.name}'"
        for what, value, usual in (
            ("restitution", pair.restitution, 0.0),
            ("compliance", pair.compliance, 0.0),
            ("number of contact points", planned_pair(pair).slots, planned_pair(replace(pair, slots=None)).slots),
        ):
            if value != usual:
                self.report.refuse("contacts", where, f"the {what} of a contact is not in MJCF")
        flat = [
            shape.body != WORLD and isinstance(shape.solid, Ground | HeightField) for shape in (pair.first, pair.second)
        ]
        if any(flat):
            self.report.refuse("contacts", where, "in MJCF planes and height fields do not move")


def _set_friction(element: Any, sliding: float, spinning: float, rolling: float, sides: int) -> None:
    """Write ``condim`` and ``friction`` of a geom or pair that has ``sides`` directions of sliding and of rolling."""
    dim = 6 if rolling > 0 else 4 if spinning > 0 else 3 if sliding > 0 else 1
    if dim != 3:
        element.set("condim", str(dim))
    if dim == 3:
        element.set("friction", numbers((sliding,) * sides))
    elif dim > 3:
        element.set("friction", numbers((*(sliding,) * sides, spinning, *(rolling,) * sides)))


def set_softness(element: Any, soft: SoftContact | SoftConstraint | None, of: str = "") -> None:
    """Write what is not usual of how soft a contact, a limit, dry friction or an equality is.

    Args:
        element: Of the file.
        soft: Softness.
        of: The end of the names of attributes: ``limit`` or ``friction`` of joints.
    """
    if soft is None:
        return
    if soft.reference != USUAL.reference:
        element.set(f"solref{of}", numbers(soft.reference))
    if soft.impedance != USUAL.impedance:
        element.set(f"solimp{of}", numbers(soft.impedance))
    if isinstance(soft, SoftContact) and soft.friction_reference != USUAL.friction_reference:
        element.set("solreffriction", numbers(soft.friction_reference))


def _same_shape(touching: ContactShape, shape: Shape) -> bool:
    """Whether a contact is of a shape of the model."""
    if touching.solid is not shape.solid and touching.solid != shape.solid:
        return False
    a, b = touching.placement, shape.placement
    return bool(np.array_equal(a.position, b.position) and np.array_equal(a.rotation, b.rotation))


def _geometry(solid: Solid, at: Placement) -> tuple[str, tuple[float, ...], Placement]:
    """Type and sizes of a geom, and where it is."""
    if isinstance(solid, Box):
        return "box", tuple(edge / 2 for edge in solid.size), at
    if isinstance(solid, Sphere):
        return "sphere", (solid.radius,), at
    if isinstance(solid, Cylinder):
        return "capsule" if solid.rounded else "cylinder", (solid.radius, solid.length / 2), at
    if isinstance(solid, Ellipsoid):
        return "ellipsoid", tuple(solid.radii), at
    if isinstance(solid, Ground):
        return "plane", (0.0, 0.0, 1.0), at
    if isinstance(solid, HeightField):
        lowest = min(min(row) for row in solid.heights)
        return "hfield", (), at if lowest == 0 else at * Placement((0.0, 0.0, lowest))
    return "mesh", (), at


def _height_field(element: Any, solid: Solid) -> None:
    """Heights above the lowest; rows of the file run along y, from the far end."""
    assert isinstance(solid, HeightField)
    heights = np.array(solid.heights)
    above = (heights - heights.min()).T[::-1]
    rows, columns = above.shape
    element.set("nrow", str(rows))
    element.set("ncol", str(columns))
    element.set("size", numbers((solid.size[0] / 2, solid.size[1] / 2, above.max() or 1.0, above.max() or 1.0)))
    element.set("elevation", numbers(above))
