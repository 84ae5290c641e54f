# SPDX-License-Identifier: BSD-3-Clause
"""Actuators of a compiled model of MuJoCo as MJCF."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from lxml import etree

from linkwork.peers.mujoco_assets import written_numbers as _numbers

_GAINS = ("fixed", "affine", "muscle", "dcmotor", "so3", "pid", "user")
_BIASES = ("none", "affine", "muscle", "dcmotor", "so3", "user")
_TRANSMISSIONS = (
    ("joint", "joint"),
    ("jointinparent", "joint"),
    ("cranksite", "site"),
    ("tendon", "tendon"),
    ("site", "site"),
    ("body", "body"),
)
"""Target of an actuator: attribute and kind of element, in MuJoCo's order;"""
_SO3 = 6
"""and an orientation."""
_INTERPOLATIONS = ("zoh", "linear", "cubic")
_INPUTS = {"pos": 1, "vel": 2, "ff": 4, "voltage": 8}
"""Bits of ``actuator_ctrlspec``."""
_OF_GENERAL = ("gaintype", "biastype", "dyntype", "gainprm", "biasprm", "dynprm", "actearly")
_DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle", "dcmotor", "pid", "user")


class Writer(Protocol):
    """Writer of the rest of the model."""

    model: Any

    def add(self, parent: Any, tag: str, kind: str, k: int, **attributes: str) -> Any:
        """An element with the name of an object of the model."""

    def name(self, kind: str, k: int) -> str:
        """The name of an object of the model."""

    def numbers_of(self, kind: str, k: int, *names: str) -> dict[str, str]:
        """Attributes of numbers of an object."""

    def polynomial(self, what: str, k: int) -> str:
        """A number with its further coefficients."""


class ActuatorWriter:
    """Writes the actuators of a model.

    Args:
        writer: Writer of the rest of the model.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer, self.model = writer, writer.model

    def write(self, root: Any) -> list[str]:
        """Add the section to a document; names of those that are left out, whose transmission is not known.

        Args:
            root: The document.
        """
        m, left_out = self.model, list[str]()
        section = etree.SubElement(root, "actuator")
        # an actuator may have several commands and gears: an orientation three, a PID controller two
        count = getattr(m, "nactuator", m.nu)
        command, output = (getattr(m, f"actuator_{what}adr", np.arange(count)) for what in ("ctrl", "out"))
        for k in range(count):
            transmission = int(m.actuator_trntype[k])
            if transmission == _SO3:
                self._orientation(section, k)
                continue
            if transmission >= len(_TRANSMISSIONS):
                left_out.append(m.actuator(k).name or str(k))
                continue
            target, kind = _TRANSMISSIONS[transmission]
            attributes = {
                target: self._writer.name(kind, int(m.actuator_trnid[k, 0])),
                "gear": _numbers(m.actuator_gear[output[k]]),
                "gaintype": _GAINS[int(m.actuator_gaintype[k])],
                "biastype": _BIASES[int(m.actuator_biastype[k])],
                "dyntype": _DYNAMICS[int(m.actuator_dyntype[k])],
                "group": str(int(m.actuator_group[k])),
            }
            if m.actuator_trnid[k, 1] >= 0 and target in ("site", "cranksite"):
                other = "refsite" if target == "site" else "slidersite"
                attributes[other] = self._writer.name("site", int(m.actuator_trnid[k, 1]))
            if target == "cranksite":
                attributes["cranklength"] = repr(float(m.actuator_cranklength[k]))
            if m.actuator_lengthrange[k].any():
                attributes["lengthrange"] = _numbers(m.actuator_lengthrange[k])
            attributes |= self._writer.numbers_of(
                "actuator", k, "gainprm", "biasprm", "dynprm", "armature", "damping", "delay"
            )
            if "damping" in attributes:
                attributes["damping"] = self._writer.polynomial("actuator_damping", k)
            if m.actuator_dyntype[k]:
                attributes["actearly"] = "true" if m.actuator_actearly[k] else "false"
            for what in ("ctrl", "force", *(("act",) if m.actuator_dyntype[k] else ())):
                at = int(command[k]) if what == "ctrl" else k
                limited = bool(getattr(m, f"actuator_{what}limited")[at])
                attributes[f"{what}limited"] = "true" if limited else "false"
                if limited:
                    attributes[f"{what}range"] = _numbers(getattr(m, f"actuator_{what}range")[at])
            if "delay" in attributes:
                count, order = (int(number) for number in m.actuator_history[k])
                attributes |= {"nsample": str(count), "interp": _INTERPOLATIONS[order]}
            tag = "plugin" if m.actuator_plugin[k] >= 0 else "general"
            if tag == "general" and attributes["gaintype"] in ("pid", "dcmotor"):
                own = self._controller(attributes["gaintype"], k, int(command[k]))
                tag = attributes["gaintype"] if own else tag
                attributes |= own
            if tag != "general":
                attributes = {name: said for name, said in attributes.items() if name not in _OF_GENERAL}
            self._writer.add(section, tag, "actuator", k, **attributes)
        return left_out

    def _controller(self, kind: str, k: int, first: int) -> dict[str, str]:
        """Attributes of a PID controller or a DC motor; none of a motor with states of its own but the integral."""
        m = self.model
        inputs = [name for name, bit in _INPUTS.items() if int(m.actuator_ctrlspec[k]) & bit]
        gain, bias, dynamic = m.actuator_gainprm[k].copy(), m.actuator_biasprm[k], m.actuator_dynprm[k].copy()
        said = {"input": " ".join(inputs)}
        for at, name in enumerate(inputs, start=first):
            if m.actuator_ctrllimited[at] and name != "voltage":
                said[f"{name}range"] = _numbers(m.actuator_ctrlrange[at])
        if kind == "pid":
            numbers = {"kp": -bias[1], "kv": -bias[2], "ki": gain[0], "imax": dynamic[0], "slewmax": dynamic[1]}
            return said | {name: repr(float(x)) for name, x in numbers.items()}
        R, K, kp, ki, kd, most = (float(x) for x in (*gain[:2], *gain[4:7], dynamic[8]))
        gain[[0, 1, 4, 5, 6]] = dynamic[8] = 0.0
        if not inputs or gain.any() or bias.any() or dynamic.any():
            return {}
        numbers = {"resistance": repr(R), "motorconst": repr(K), "controller": _numbers((kp, ki, kd, 0.0, most))}
        return {"input": said["input"], **numbers}

    def _orientation(self, section: Any, k: int) -> None:
        """A servo of the orientation of a ball joint, or of a site relative to another."""
        first, second = (int(x) for x in self.model.actuator_trnid[k])
        ends = {"joint": ("joint", first)} if second < 0 else {"site": ("site", first), "refsite": ("site", second)}
        attributes = {attribute: self._writer.name(kind, number) for attribute, (kind, number) in ends.items()}
        self._writer.add(
            section, "orientation", "actuator", k, group=str(int(self.model.actuator_group[k])), **attributes
        )
