# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of a compiled model of MuJoCo, written as MJCF.

Frames of geoms and cameras, which the text may lack, are written as sites: a compiled model knows where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lxml import etree

from linkwork.model.sensors import RAY_DATA

_TYPES = (
    *("touch", "accelerometer", "velocimeter", "gyro", "force", "torque"),
    *("magnetometer", "rangefinder", "camprojection", "jointpos", "jointvel", "tendonpos"),
    *("tendonvel", "actuatorpos", "actuatorvel", "actuatorfrc", "jointactuatorfrc", "tendonactuatorfrc"),
    *("ballquat", "ballangvel", "jointlimitpos", "jointlimitvel", "jointlimitfrc", "tendonlimitpos"),
    *("tendonlimitvel", "tendonlimitfrc", "framepos", "framequat", "framexaxis", "frameyaxis"),
    *("framezaxis", "framelinvel", "frameangvel", "framelinacc", "frameangacc", "subtreecom"),
    *("subtreelinvel", "subtreeangmom", "insidesite", "distance", "normal", "fromto"),
    *("contact", "e_potential", "e_kinetic", "clock", "tactile", "plugin"),
    *("user",),
)
"""Types, in MuJoCo's order."""

_BODY, _XBODY, _JOINT, _GEOM, _SITE, _CAMERA = 1, 2, 3, 5, 6, 7
_PLAIN = {_BODY: "body", _XBODY: "xbody", _SITE: "site"}
_PLACED = {_GEOM: ("geom", "geom"), _CAMERA: ("camera", "cam")}

Name = Callable[[str, int], str]
"""The name of an element, by its kind and number."""


class SensorWriter:
    """Writes the sensors of a model.

    Args:
        model: A ``mujoco.MjModel``.
        name: Names of elements that were written.
        bodies: Elements of bodies, by number.
    """

    def __init__(self, model: Any, name: Name, bodies: dict[int, Any]) -> None:
        self.model, self._name, self._bodies = model, name, bodies
        self._sites: dict[tuple[int, int], str] = {}

    def write(self, root: Any) -> None:
        """Add the section to a document."""
        m = self.model
        if not m.nsensor:
            return
        section = etree.SubElement(root, "sensor")
        for k in range(m.nsensor):
            tag = _TYPES[int(m.sensor_type[k])] if int(m.sensor_type[k]) < len(_TYPES) else "other"
            sensor = etree.SubElement(section, tag, **self._object(tag, k))
            if m.sensor(k).name:
                sensor.set("name", m.sensor(k).name)
            for what in ("cutoff", "noise"):
                sensor.set(what, repr(float(getattr(m, f"sensor_{what}")[k])))
            if tag == "rangefinder":
                said = [part for bit, part in enumerate(RAY_DATA) if int(m.sensor_intprm[k, 0]) >> bit & 1]
                sensor.set("data", " ".join(said))
            for what in ("delay", "interval"):
                if getattr(m, f"sensor_{what}", None) is not None and getattr(m, f"sensor_{what}")[k].any():
                    sensor.set(what, repr(float(getattr(m, f"sensor_{what}")[k].max())))

    def _object(self, tag: str, k: int) -> dict[str, str]:
        m = self.model
        kind, number = int(m.sensor_objtype[k]), int(m.sensor_objid[k])
        if tag.startswith("frame"):
            attributes = self._frame("obj", kind, number)
            if int(m.sensor_refid[k]) >= 0:
                attributes |= self._frame("ref", int(m.sensor_reftype[k]), int(m.sensor_refid[k]))
            return attributes
        if tag == "insidesite":
            return {**self._frame("obj", kind, number), "site": self._name("site", int(m.sensor_refid[k]))}
        if tag.startswith("subtree"):
            return {"body": self._name("body", number)}
        for what in ("tendon", "actuator"):
            if tag.startswith(what):
                return {what: self._name(what, number)}
        if tag.startswith(("joint", "ball")):
            return {"joint": self._name("joint", number)}
        return {"site": self._name("site", number)} if kind == _SITE else {}

    def _frame(self, role: str, kind: int, number: int) -> dict[str, str]:
        if kind in _PLACED:
            return {f"{role}type": "site", f"{role}name": self._site(kind, number)}
        name = self._name("site" if kind == _SITE else "body", number)
        return {f"{role}type": _PLAIN.get(kind, "other"), f"{role}name": name}

    def _site(self, kind: int, number: int) -> str:
        """A site where a geom or a camera is."""
        if (kind, number) not in self._sites:
            m, (what, short) = self.model, _PLACED[kind]
            name = f"{getattr(m, short if short == 'cam' else what)(number).name or number}_{what}"
            taken = {m.site(j).name for j in range(m.nsite)} | set(self._sites.values())
            while name in taken:
                name += "_"
            place = {x: " ".join(repr(float(y)) for y in getattr(m, f"{short}_{x}")[number]) for x in ("pos", "quat")}
            etree.SubElement(self._bodies[int(getattr(m, f"{short}_bodyid")[number])], "site", name=name, **place)
            self._sites[kind, number] = name
        return self._sites[kind, number]
