# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of a model as MJCF has them. None changes the dynamics: what cannot be said is left out with a warning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.model.model import Model
from linkwork.model.sensors import ACTUATOR, BALL, BODY, FRAME, JOINT, SENSOR_TYPES, TENDON, Sensor
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Solid, Sphere
from linkwork.saving.mjcf_names import MjcfNames
from linkwork.saving.report import Report
from linkwork.saving.xml import add, number, numbers


def write_sensors(root: Any, elements: Mapping[str, Any], model: Model, names: MjcfNames, report: Report) -> None:
    """Add all sensors.

    Args:
        root: The root element.
        elements: Those of bodies and the world.
        model: The model.
        names: Names of the file.
        report: Where to note sensors that are left out.
    """
    if model.sensors:
        writer = _Sensors(root, elements, model, names)
        for sensor in model.sensors:
            unsaid = writer.write(sensor)
            if unsaid:
                report.leave_out("sensors", f"sensor '{sensor.name}'", unsaid)


class _Sensors:
    def __init__(self, root: Any, elements: Mapping[str, Any], model: Model, names: MjcfNames) -> None:
        self.root, self.elements, self.model, self.names = root, elements, model, names
        self.section = add(root, "sensor")
        self.flux: tuple[float, ...] | None = None
        self.written = {name: self._element("joint", name) for name in model.joint_names}

    def _element(self, tag: str, name: str) -> Any:
        return next((e for e in self.root.iter(tag) if e.get("name") == name and e.get("type")), None)

    def write(self, sensor: Sensor) -> str:
        """Add a sensor; why not, where it cannot be said."""
        if sensor.refused:
            return f"it is not computed: {sensor.refused}"
        if sensor.outboard is not None:
            return "it is about a part of a body, which is one body in the file"
        if sensor.type == "rangefinder" and sensor.exclude != self.model.frames[sensor.of].body:
            return f"in MJCF it does not see its own body, and nothing else; here '{sensor.exclude}'"
        on = SENSOR_TYPES[sensor.type].on
        attributes: dict[str, str] = {}
        if on == FRAME:
            if sensor.of == "world" and not sensor.type.startswith("frame"):
                return "it is on the world"
            attributes = self._frames(sensor)
        elif on == BODY:
            if sensor.of not in self.elements:
                return f"'{sensor.of}' is no body in the file"
            attributes = {"body": sensor.of}
        elif on in (JOINT, BALL):
            if self.written[sensor.of] is None:
                return f"joint '{sensor.of}' is several in the file"
            attributes = {"joint": sensor.of}
            if sensor.margin != 0:
                self.written[sensor.of].set("margin", number(sensor.margin))
        elif on == ACTUATOR:
            if not any(e.get("name") == sensor.of for e in self.root.iterfind("actuator/*")):
                return f"actuator '{sensor.of}' is not in the file"
            attributes = {"actuator": sensor.of}
        elif on == TENDON:
            tendon = next((e for e in self.root.iterfind("tendon/*") if e.get("name") == sensor.of), None)
            if tendon is None:
                return f"tendon '{sensor.of}' is not in the file"
            attributes = {"tendon": sensor.of}
            if sensor.type == "tendonactuatorfrc" and self._pulling(sensor) != self._pulled(sensor.of):
                return "in MJCF it is about all actuators on the tendon"
            if sensor.margin != 0:
                tendon.set("margin", number(sensor.margin))
        unsaid = self._volume(sensor, attributes) or self._magnetic(sensor)
        if not unsaid:
            element = add(self.section, sensor.type, name=sensor.name, **attributes)
            if sensor.type == "rangefinder":
                element.set("data", " ".join(sensor.data))
            for what, value in (("cutoff", sensor.cutoff), ("noise", sensor.noise)):
                if value != 0:
                    element.set(what, number(value))
        return unsaid

    def _pulling(self, sensor: Sensor) -> set[str]:
        """Actuators whose forces a sensor adds up."""
        return set(sensor.actuators) or {a.name for a in self.model.actuators if a.tendon == sensor.of}

    def _pulled(self, tendon: str) -> set[str]:
        """Actuators of the file that pull a tendon."""
        return {e.get("name") for e in self.root.iterfind("actuator/*") if e.get("tendon") == tendon}

    def _frames(self, sensor: Sensor) -> dict[str, str]:
        if sensor.type == "insidesite":
            return {"site": self.names.site_of(self.elements, sensor.reference), **self._object("obj", sensor.of)}
        if not sensor.type.startswith("frame"):
            return {"site": self.names.site_of(self.elements, sensor.of)}
        attributes = self._object("obj", sensor.of)
        return attributes | self._object("ref", sensor.reference) if sensor.reference else attributes

    def _object(self, role: str, place: str) -> dict[str, str]:
        return {f"{role}type": "xbody" if place in self.elements else "site", f"{role}name": place}

    def _magnetic(self, sensor: Sensor) -> str:
        """The magnetic flux is one for all."""
        if sensor.type != "magnetometer":
            return ""
        if self.flux is not None and self.flux != sensor.magnetic_flux:
            return "MJCF has one magnetic flux for all sensors"
        self.flux = sensor.magnetic_flux
        self.root.find("option").set("magnetic", numbers(sensor.magnetic_flux))
        return ""

    def _volume(self, sensor: Sensor, attributes: dict[str, str]) -> str:
        """The volume of a touch sensor is that of its site."""
        if sensor.volume is None:
            return ""
        site = next(e for e in self.root.iter("site") if e.get("name") == attributes["site"] and e.get("pos"))
        kind, size = _site(sensor.volume)
        if site.get("type") not in (None, kind) or site.get("size") not in (None, numbers(size)):
            return "its site has another volume"
        site.set("type", kind)
        site.set("size", numbers(size))
        return ""


def _site(solid: Solid) -> tuple[str, tuple[float, ...]]:
    """Type and sizes of a site."""
    if isinstance(solid, Box):
        x, y, z = solid.size
        return "box", (x / 2, y / 2, z / 2)
    if isinstance(solid, Ellipsoid):
        return "ellipsoid", solid.radii
    if isinstance(solid, Cylinder):
        return "capsule" if solid.rounded else "cylinder", (solid.radius, solid.length / 2)
    assert isinstance(solid, Sphere)
    return "sphere", (solid.radius,)
