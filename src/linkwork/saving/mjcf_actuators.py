# SPDX-License-Identifier: BSD-3-Clause
"""Actuators of a model as MJCF's ``<general>``, on joints and on tendons."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.joints import Free, Universal
from linkwork.model.model import Model
from linkwork.model.muscles import Muscle
from linkwork.model.parts import Actuator
from linkwork.model.thresholds import UNBOUNDED
from linkwork.model.transmissions import JointWrench, SiteWrench, SliderCrank
from linkwork.saving.mjcf_tendons import MjcfTendons
from linkwork.saving.report import Report
from linkwork.saving.xml import add, number, numbers


def write_actuators(root: Any, model: Model, tendons: MjcfTendons, report: Report) -> None:
    """Add all actuators.

    Args:
        root: The root element.
        model: The model.
        tendons: Tendons of the file.
        report: Where to refuse actuators.
    """
    if not model.actuators:
        return
    elements = [(actuator, _driven(model, actuator, tendons, report)) for actuator in model.actuators]
    section = add(root, "actuator")
    for actuator, driven in elements:
        if driven is not None:
            _write(section, actuator, driven)


def _driven(model: Model, actuator: Actuator, tendons: MjcfTendons, report: Report) -> dict[str, str] | None:
    """The part that an actuator drives, and its gear; None where MJCF has no such transmission."""
    where = f"actuator '{actuator.name}'"
    if actuator.refused:
        report.refuse("actuators", where, f"{actuator.refused}, whose force is not in the model")
        return None
    if actuator.motor is not None:
        report.refuse(
            "actuators", where, "it has a Motor (torque-speed curve, friction, integral, delay, backlash, network)"
        )
        return None
    if not any(actuator.gain[1:]) and actuator.gain[0] == -actuator.bias[1] and actuator.bias[2] > 0:
        report.refuse("actuators", where, "in MJCF the damping of a position servo below zero is a damping ratio")
        return None
    for what, (low, high) in (("commands", actuator.limits), ("forces", actuator.force_limits)):
        if low == high:
            report.refuse("actuators", where, f"in MJCF a range of {what} is not empty, as {low:g} to {high:g} is")
            return None
    if actuator.body:
        return {"body": actuator.body}
    if actuator.tendon:
        transmission = model.tendon(actuator.tendon).transmission
        if transmission is not None:
            return _transmitted(model, transmission, actuator.gear[0], tendons)
        if not tendons.has(actuator.tendon):
            report.refuse("actuators", where, f"it pulls tendon '{actuator.tendon}', which is not in the file")
            return None
        return {"tendon": actuator.tendon, "gear": numbers(actuator.gear)}
    type = model.joint(actuator.joint).type
    if isinstance(type, Free) and any(actuator.gear[:3]):
        report.refuse("actuators", where, "in MJCF the force of a motor on a free joint does not turn with the body")
        return None
    if not actuator.also and not isinstance(type, Universal):
        return {"joint": actuator.joint, "gear": numbers(actuator.gear)}
    if type.nv != 1 and not isinstance(type, Universal):
        report.refuse("actuators", where, f"in MJCF no tendon passes a {type.kind_name} joint")
        return None
    factors = {(joint, k): g for joint, gear in actuator.gears for k, g in enumerate(gear)}
    name, ratio = tendons.fixed(actuator.name, factors, geared=True)
    return {"tendon": name, "gear": number(ratio)}


def _transmitted(
    model: Model, how: SiteWrench | JointWrench | SliderCrank, gear: float, tendons: MjcfTendons
) -> dict[str, str]:
    """Attributes of an actuator on a site, by a slider-crank, or on a ball or free joint."""

    def site(frame: str) -> str:
        return tendons.names.site_of(tendons.elements, frame)

    if isinstance(how, SliderCrank):
        ends = {"cranksite": site(how.crank), "slidersite": site(how.slider)}
        return {**ends, "cranklength": number(how.rod), "gear": number(gear)}
    if not isinstance(how, JointWrench):
        ends = {"site": site(how.on)} | ({"refsite": site(how.reference)} if how.reference else {})
        return {**ends, "gear": numbers(gear * np.array(how.gear))}
    own = how.gear if isinstance(model.joint(how.on).type, Free) else how.gear[3:]
    return {"jointinparent" if how.in_parent else "joint": how.on, "gear": numbers(gear * np.array(own))}


def _muscle(element: Any, muscle: Muscle) -> None:
    curves = (muscle.shortest, muscle.longest, muscle.velocity, muscle.passive, muscle.lengthening)
    for what, own in (("gain", muscle.pulls), ("bias", muscle.stretches)):
        if own:
            element.set(f"{what}type", "muscle")
            element.set(f"{what}prm", numbers((*muscle.range, muscle.peak, 1.0, *curves)))
    if muscle.pulls or muscle.stretches:
        element.set("lengthrange", numbers(muscle.lengths))


def _write(section: Any, actuator: Actuator, driven: dict[str, str]) -> None:
    affine = any(actuator.gain[1:])
    biased = any(actuator.bias)
    element = add(section, "general", name=actuator.name, **driven)
    element.set("gaintype", "affine" if affine else "fixed")
    element.set("gainprm", numbers(actuator.gain) if affine else number(actuator.gain[0]))
    if biased:
        element.set("biastype", "affine")
        element.set("biasprm", numbers(actuator.bias))
    if actuator.muscle is not None:
        _muscle(element, actuator.muscle)
    if actuator.has_activation:
        element.set("dyntype", actuator.dynamics)
        element.set("dynprm", number(actuator.time_constant))
        if actuator.muscle is not None and actuator.dynamics == "muscle":
            m = actuator.muscle
            element.set("dynprm", numbers((m.rise, m.fall, m.smoothing)))
        element.set("actearly", "true" if actuator.early else "false")
    for what, limits in (
        ("ctrl", actuator.limits),
        ("force", actuator.force_limits),
        ("act", actuator.activation_limits),
    ):
        if np.isfinite(limits).any():
            element.set(f"{what}limited", "true")
            element.set(f"{what}range", numbers(np.clip(limits, -UNBOUNDED, UNBOUNDED)))
