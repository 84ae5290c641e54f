# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of a model: what they are on, as frames, joints and actuators of the mechanism.

No sensor changes the dynamics, so none is an error: one that is not understood, or on something that is not there, is
kept with the reason why it is not computed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.placement import Placement
from linkwork.model.rotations import quaternion_conjugate, quaternion_product
from linkwork.model.sensors import OUTBOARD, SENSOR_TYPES, Sensor
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Solid, Sphere
from linkwork.parsing.located_builder import LocatedBuilder
from linkwork.parsing.mjcf.document import MjcfDocument
from linkwork.parsing.mjcf.inertia import SIZES, size_and_place
from linkwork.parsing.mjcf.quaternions import NeutralOrientations
from linkwork.parsing.mjcf.settings import Settings
from linkwork.parsing.mjcf.tree import Body, Item, Tree, fresh
from linkwork.parsing.mjcf.vocabulary import READ, WITHOUT_EFFECT
from linkwork.parsing.xml import Node

NOT_COMPUTED: Mapping[str, str] = MappingProxyType(
    {
        "camprojection": "images of cameras are not computed",
        "distance": "distances of geoms are those of ContactGeometry",
        "normal": "distances of geoms are those of ContactGeometry",
        "fromto": "distances of geoms are those of ContactGeometry",
        "contact": "contacts are those of ContactSolution and ContactGeometry",
        "tendonlimitfrc": "limits of tendons are soft stops, whose forces no solution has",
        "tactile": "fields of forces on meshes are not computed",
        "plugin": "plugins are not read",
        "user": "its values are those of a program of the user",
    }
)
"""Types of MuJoCo that are not computed, and why."""

SITE_SIZE = (0.005, 0.005, 0.005)
"""Sizes of a site that the file does not give."""

AXES = ("framequat", "framexaxis", "frameyaxis", "framezaxis")
"""Types whose values depend on the axes of a frame."""

_DELAYS = ("delay", "interval", "nsample")


class _NotComputed(Exception):
    """Why a sensor is not computed."""


@dataclass
class SensorReader:
    """Reads the sensors of a model.

    Args:
        document: The model.
        tree: Its bodies.
        settings: <compiler> and <option>.
        builder: Builder that frames of geoms, cameras and inertias are added to.
        site_frames: Frames of sites, by their names in the file.
        centers: Centers of mass of bodies, in their frames, as far as they are known.
        masses: Bodies whose masses are known.
        frame_names: Names that frames have already.
        neutral: Orientations with the signs of the file.
        light: Whether there is mass without weight, the armature of a free joint.
    """

    document: MjcfDocument
    tree: Tree
    settings: Settings
    builder: LocatedBuilder
    site_frames: Mapping[str, str]
    centers: Mapping[Body, Floats]
    masses: Container[Body]
    frame_names: set[str | None]
    neutral: NeutralOrientations
    light: bool = False
    _made: dict[tuple[str, str], str] = field(default_factory=dict)

    def sensors(self) -> Iterator[Sensor]:
        """All sensors, in the order of the file."""
        nodes = list(self.document.inside("sensor"))
        taken: set[str | None] = {node.get("name") for node in nodes}
        seen: set[str] = set()
        for node in nodes:
            written = node.get("name")
            name = written if written and written not in seen else fresh(f"{written or node.tag}", taken)
            seen.add(name)
            try:
                yield self._sensor(node, name)
            except (_NotComputed, LinkworkError) as why:
                yield Sensor(name, node.tag, refused=str(why))

    def _sensor(self, node: Node, name: str) -> Sensor:
        if node.tag not in SENSOR_TYPES:
            raise _NotComputed(NOT_COMPUTED.get(node.tag, f"a <{node.tag}> is not understood"))
        unknown = next((a for a in node.attributes if a not in READ["sensor"] | WITHOUT_EFFECT["sensor"]), None)
        if unknown is not None:
            raise _NotComputed(f"attribute '{unknown}' is not understood")
        if node.is_set("enclosed"):
            raise _NotComputed("distances of a whole body to the boundary of a site are not computed")
        if any(node.number(what, 0.0) != 0 for what in _DELAYS):
            raise _NotComputed("delayed values are not kept")
        if self.light and node.tag in OUTBOARD:
            raise _NotComputed("the armature of a free joint would count as mass of its body")
        of, options = self._object(node)
        if node.tag in OUTBOARD:
            self._check_masses(node)
        options |= {what: max(node.number(what, 0.0), 0.0) for what in ("cutoff", "noise")}
        return Sensor(name, node.tag, of, **options)

    def _object(self, node: Node) -> tuple[str, dict[str, Any]]:
        """The object of a sensor, and further options of its type."""
        kind = node.tag
        on = SENSOR_TYPES[kind].on
        if on == "":
            return "", {}
        if kind.startswith("frame"):
            return self._frames(node)
        if on == "frame":
            if node.get("camera") is not None:
                raise _NotComputed("images of cameras are not computed")
            site = node.text("site")
            if site not in self.site_frames:
                raise _NotComputed(f"there is no site '{site}'")
            if kind == "insidesite":
                of = self._frame(node.text("objtype"), node.text("objname"), False)
                return of, {"reference": self.site_frames[site], "volume": self._volume(site)}
            options: dict[str, Any] = {}
            if kind == "magnetometer":
                options["magnetic_flux"] = self._magnetic_flux()
            elif kind == "touch":
                options["volume"] = self._volume(site)
            elif kind == "rangefinder":
                options |= self._ray(node, site)
            return self.site_frames[site], options
        if on == "body":
            return self._body_name(node.text("body")), {}
        if on == "actuator":
            return node.text("actuator"), {}
        if on == "tendon":
            return self._tendon(node)
        joint = node.text("joint")
        if kind.startswith("jointlimit"):
            return joint, {"margin": self._margin(joint)}
        return joint, {}

    def _ray(self, node: Node, site: str) -> dict[str, Any]:
        """Outputs of a range finder, and its body, which it does not see."""
        on = next(body for body in self.tree.bodies for i in body.all("site") if i.node.get("name") == site)
        return {"data": tuple((node.get("data") or "dist").split()), "exclude": self.tree.names[on]}

    def _check_masses(self, node: Node) -> None:
        """Masses of bodies that cannot move may be missing: meshes are not read."""
        site, name = node.get("site"), node.get("body") or WORLD
        start = next(body for body, known in self.tree.names.items() if known == name)
        if site:
            start = next(body for body in self.tree.bodies for i in body.all("site") if i.node.get("name") == site)
        carried = {start}
        for body, known in self.tree.without_world:
            if body.parent in carried or body is start:
                carried.add(body)
                if body.is_static and body not in self.masses:
                    raise _NotComputed(f"the mass of '{known}', which cannot move, would have to come from a mesh")

    def _tendon(self, node: Node) -> tuple[str, dict[str, Any]]:
        name = node.text("tendon")
        tendon = next((one for one in self.document.inside("tendon") if one.get("name") == name), None)
        if tendon is None:
            raise _NotComputed(f"there is no tendon '{name}'")
        if node.tag == "tendonactuatorfrc":
            pulling = [one for one in self.document.inside("actuator") if one.get("tendon") == name]
            return name, {"actuators": tuple(one.text("name") for one in pulling)}
        return name, {"margin": tendon.number("margin", 0.0)}

    def _body_name(self, name: str) -> str:
        if name != WORLD and name not in self.tree.names.values():
            raise _NotComputed(f"there is no body '{name}'")
        return name

    def _margin(self, joint: str) -> float:
        for body, names in self.tree.joint_names.items():
            for name, item in zip(names, body.all("joint"), strict=True):
                if name == joint:
                    return item.node.number("margin", 0.0)
        raise _NotComputed(f"there is no joint '{joint}'")

    def _magnetic_flux(self) -> tuple[float, float, float]:
        x, y, z = 0.0, -0.5, 0.0
        for option in self.document.children(self.document.root, "option"):
            x, y, z = option.vector("magnetic", (x, y, z))
        return x, y, z

    # Frames -----------------------------------------------------------------------------------------

    def _frames(self, node: Node) -> tuple[str, dict[str, Any]]:
        turned = node.tag in AXES
        kind, name = node.text("objtype"), node.text("objname")
        of = self._frame(kind, name, turned)
        options: dict[str, Any] = {}
        reference = node.get("refname")
        if reference is not None:
            options["reference"] = self._frame(node.text("reftype"), reference, True)
        if node.tag == "framequat":
            x, y, z, w = self._orientation(kind, name)
            if reference is not None:
                seen = quaternion_conjugate(self._orientation(node.text("reftype"), reference))
                x, y, z, w = quaternion_product(seen, np.array([x, y, z, w]))
            options["neutral_quaternion"] = float(w), float(x), float(y), float(z)
        return of, options

    def _orientation(self, kind: str, name: str) -> Floats:
        """Where joints are at zero, with the sign that MuJoCo's product has."""
        for body in self.tree.bodies:
            if kind in ("body", "xbody"):
                if self.tree.names[body] == name:
                    if kind == "xbody" or name == WORLD:
                        return self.neutral.of_body(body)
                    return self._item_orientation(body, *self._inertial_element(body))
                continue
            for item in body.all(kind):
                if item.node.get("name") == name:
                    return self._item_orientation(body, kind, item)
        raise _NotComputed(f"there is no {kind} '{name}'")

    def _item_orientation(self, body: Body, kind: str, item: Item) -> Floats:
        """That of an element of a body."""
        drawn = item.node.get("fromto") is not None
        return self.neutral.of(body, item, self._item_place(kind, item).rotation if drawn else None)

    def _frame(self, kind: str, name: str, needs_axes: bool) -> str:
        """The frame of an object; that of a <geom>, a <camera> and of an inertia is made where sensors need it."""
        if kind == "xbody":
            return self._body_name(name)
        if kind == "site":
            if name not in self.site_frames:
                raise _NotComputed(f"there is no site '{name}'")
            return self.site_frames[name]
        if kind not in ("body", "geom", "camera"):
            raise _NotComputed(f"objects of type '{kind}' are not understood")
        if kind == "body" and name == WORLD:
            return WORLD
        body, place, item = self._place(kind, name, needs_axes)
        if (kind, name) not in self._made:
            frame = fresh(f"{name}_inertial" if kind == "body" else f"{name}_{kind}", self.frame_names)
            self.builder.frame(item, frame, self.tree.names[body], place)
            self._made[kind, name] = frame
        return self._made[kind, name]

    def _place(self, kind: str, name: str, needs_axes: bool) -> tuple[Body, Placement, Node]:
        if kind == "body":
            body = next((body for body, known in self.tree.names.items() if known == name), None)
            if body is None:
                raise _NotComputed(f"there is no body '{name}'")
            return body, self._inertial(body, needs_axes), body.node
        for body in self.tree.bodies:
            for item in body.all(kind):
                if item.node.get("name") == name:
                    return body, item.frame * self._item_place(kind, item), item.node
        raise _NotComputed(f"there is no {kind} '{name}'")

    def _item_place(self, kind: str, item: Item) -> Placement:
        type = item.node.get("type") or "sphere"
        if kind == "site":
            return size_and_place(item.node, type, self.settings)[1]
        if kind == "inertial":
            return self.settings.placement(item.node)
        if kind == "camera":
            if (item.node.get("mode") or "fixed") != "fixed":
                raise _NotComputed("cameras that follow something are not read")
            return self.settings.placement(item.node)
        if item.node.get("mesh") is not None or type in ("mesh", "sdf"):
            raise _NotComputed("MuJoCo moves the frame of a mesh to its center, and meshes are not read")
        return (
            size_and_place(item.node, type, self.settings)[1] if type in SIZES else self.settings.placement(item.node)
        )

    def _inertial(self, body: Body, needs_axes: bool) -> Placement:
        """The inertial frame of a body: its center of mass and principal axes."""
        try:
            kind, item = self._inertial_element(body)
        except _NotComputed:
            if needs_axes:
                raise
            if body not in self.centers:
                name = self.tree.names[body]
                raise _NotComputed(
                    f"the center of mass of '{name}', which cannot move, would have to come from a mesh"
                ) from None
            return Placement(self.centers[body])
        return item.frame * self._item_place(kind, item)

    def _inertial_element(self, body: Body) -> tuple[str, Item]:
        """The <inertial> or the only <geom> of a body, whose frame is its inertial frame."""
        said, geoms, group = body.all("inertial"), body.all("geom"), self.settings.inertia_groups
        weighs = [item for item in geoms if group[0] <= item.node.number("group", 0.0) <= group[1]]
        from_geoms = self.settings.inertia_from_geoms
        if from_geoms == "true" or (from_geoms == "auto" and not said):
            if len(weighs) == 1:
                return "geom", weighs[0]
        elif said and said[0].node.get("fullinertia") is None:
            return "inertial", said[0]
        raise _NotComputed("which principal axes of inertia MuJoCo takes is not known: write 'diaginertia'")

    # Volumes ----------------------------------------------------------------------------------------

    def _volume(self, site: str) -> Solid:
        """The volume of a site."""
        node = next(i.node for body in self.tree.bodies for i in body.all("site") if i.node.get("name") == site)
        type = node.get("type") or "sphere"
        if node.get("fromto") is not None:
            x, y, z = (*size_and_place(node, type, self.settings)[0].tolist(), *SITE_SIZE)[:3]
        else:
            size = node.numbers("size", 1, 2, 3) or ()
            x, y, z = (*size, *SITE_SIZE[len(size) :])
        if node.get("mesh") is not None:
            raise _NotComputed("the size of a site that is fitted to a mesh is not read")
        if type == "sphere":
            return Sphere(x)
        if type == "ellipsoid":
            return Ellipsoid((x, y, z))
        if type == "box":
            return Box((2 * x, 2 * y, 2 * z))
        if type in ("capsule", "cylinder"):
            return Cylinder(x, 2 * y, rounded=type == "capsule")
        raise _NotComputed(f"a site that is a {type} has no volume")
