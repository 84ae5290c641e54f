# SPDX-License-Identifier: BSD-3-Clause
"""Actuators of a model: what they drive, with which gear, how they make force, and the inertia of their rotors.

Those on joints and tendons have gears. Those on sites, by slider-cranks, and on ball and free joints in axes that are
not the body's, pull a length of their own (`Transmission`). Those on bodies make their contacts adhesive; where the
body does not move, they are left out, with a warning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.mechanism import Mechanism
from linkwork.model.joints import Free
from linkwork.model.motors import Motor as ServoMotor
from linkwork.model.muscles import Muscle
from linkwork.model.tendons import Tendon
from linkwork.model.transmissions import JointWrench, SiteWrench, SliderCrank
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument
from linkwork.parsing.mjcf.joints import MjcfJoint, open_end
from linkwork.parsing.mjcf.servos import UNLIMITED, Law, Range, read_law
from linkwork.parsing.mjcf.settings import YES_NO_AUTO, Settings
from linkwork.parsing.mjcf.tendons import MjcfTendon
from linkwork.parsing.mjcf.tree import fresh
from linkwork.parsing.mjcf.vocabulary import ACTUATORS, not_understood
from linkwork.parsing.xml import Node, located, warn
from linkwork.quantities.actuation import actuation_matrix
from linkwork.quantities.evaluator import Evaluator

LEAST_TIME = 1e-15
"""MuJoCo's reading of a time constant of zero."""

_TRANSMISSIONS = ("joint", "jointinparent", "tendon", "site", "body", "cranksite")


@dataclass(frozen=True)
class Motor:
    """An actuator on a joint, or on the joints of a tendon."""

    name: str
    node: Node
    joint: str
    gear: tuple[float, ...]
    also: tuple[tuple[str, float], ...]
    """Further joints of the tendon, with their gears."""
    armature: float
    """Of the rotor, seen at the joint."""
    damping: float
    law: Law
    limits: Range
    """Of its control."""
    force_limits: Range
    """Of its force, before the gear."""
    activation_limits: Range
    tendon: str = ""
    """The tendon that it pulls, in place of joints: a spatial one, or one that bounds the force of its actuators."""
    transmission: SiteWrench | JointWrench | SliderCrank | None = None
    """Its transmission, where that is a length of its own, which is the tendon then; with sites in place of frames."""
    body: str = ""
    """The body whose contacts it makes adhesive, in place of joints."""

    def length(self, frames: Mapping[str, str]) -> Tendon:
        """The length of its own that it pulls."""

        def frame(site: str) -> str:
            if site not in frames:
                raise self.node.error(f"there is no site '{site}'{suggest(site, frames)}")
            return frames[site]

        transmission = None if self.transmission is None else self.transmission.renamed(frame, str)
        return Tendon(self.tendon, transmission=transmission)

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `Builder.actuator`."""
        law: dict[str, Any] = {"gain": self.law.affine_gain, "bias": self.law.affine_bias, "refused": self.law.refused}
        if not self.law.refused and self.law.is_muscle:
            law["muscle"] = _muscle(self.law)
        if not self.law.refused and self.law.dynamics != "none":
            law |= {"dynamics": self.law.dynamics, "time_constant": max(self.law.time_constant, LEAST_TIME)}
            law |= {"activation_limits": self.activation_limits, "early": self.law.early}
        if not self.law.refused and self.law.integral > 0:
            law["motor"] = ServoMotor(integral=self.law.integral, windup=self.law.windup)
        limits = {"limits": self.limits, "force_limits": self.force_limits}
        return {**limits, "also": self.also, "tendon": self.tendon, "body": self.body, **law}


@dataclass(frozen=True)
class Motors:
    """The actuators that can be kept, and every joint that some actuator drives, also through a tendon."""

    kept: tuple[Motor, ...]
    driven: frozenset[str]
    exist: bool
    """Whether there is any actuator; without, nothing is known of which joints are driven."""

    def at(self, joint: MjcfJoint) -> dict[str, Any]:
        """The options of a joint that its motors change: their rotors and dampers are its own."""
        own = self._by_joint.get(joint.name, [])
        options: dict[str, Any] = {"actuated": joint.name in self.driven if self.exist else None}
        for what in ("armature", "damping"):
            options[what] = joint.options.get(what, 0.0) + sum(getattr(motor, what) for motor in own)
        return options

    @cached_property
    def _by_joint(self) -> dict[str, list[Motor]]:
        motors: dict[str, list[Motor]] = {}
        for motor in self.kept:
            motors.setdefault(motor.joint, []).append(motor)
        return motors


def read_motors(
    document: MjcfDocument,
    defaults: Defaults,
    joints: Mapping[str, MjcfJoint],
    tendons: Mapping[str, MjcfTendon],
    bodies: Mapping[str, str],
    settings: Settings,
) -> Motors:
    """All actuators of a model."""
    elements = list(document.inside("actuator"))
    taken = {node.get("name") for node in elements}
    kept, driven = [], set()
    lengths: set[str | None] = set(tendons)
    for bare in elements:
        if bare.tag not in ACTUATORS:
            raise not_understood(bare, "actuator")
        node = defaults.apply(bare, "actuator")
        target = next((attribute for attribute in _TRANSMISSIONS if node.get(attribute) is not None), None)
        if target is None:
            raise node.error(f"an actuator acts on one of: {', '.join(_TRANSMISSIONS)}")
        law = _law(node, defaults.actuators(bare), settings)
        motor = None
        if target in ("joint", "jointinparent"):
            name = node.text(target)
            if name not in joints:
                raise node.error(f"there is no joint '{name}'")
            driven.add(name)
            motor = _on_joint(node, joints[name], law, target == "jointinparent", taken, lengths, settings)
        else:
            _refuse_rotor(node)
            if target == "tendon":
                name = node.text(target)
                if name not in tendons:
                    raise node.error(f"there is no tendon '{name}'{suggest(name, tendons)}")
                driven.update(tendons[name].tendon.joints)
                motor = _on_tendon(node, tendons[name], law, taken, settings)
            elif target in ("site", "cranksite"):
                motor = _on_site(node, target, law, taken, lengths, settings)
            else:
                motor = _on_body(node, bodies, law, taken, settings)
        if motor is not None:
            kept.append(motor)
        else:
            warn(
                bare,
                "an actuator on a body that does not move is not supported: it is left out, commands have none for it",
            )
    return Motors(tuple(kept), frozenset(driven), bool(elements))


def _law(node: Node, elements: list[Node], settings: Settings) -> Law:
    law = read_law(elements)
    if not settings.actuation or node.number("group", 0.0) in settings.disabled_groups:
        law.refused = "an actuator that is switched off in <option>"
    return law


def _on_joint(
    node: Node,
    joint: MjcfJoint,
    law: Law,
    in_parent: bool,
    taken: set[str | None],
    lengths: set[str | None],
    settings: Settings,
) -> Motor:
    numbers = node.numbers("gear", 1, 2, 3, 4, 5, 6) or (1.0,)
    gear = (numbers + (0.0,) * 6)[: joint.type.nv]
    name = node.get("name") or fresh(f"{joint.name}_motor", taken)
    if not joint.is_scalar:
        _refuse_rotor(node)
        free = isinstance(joint.type, Free)
        if in_parent or (free and any(gear[:3])) or law.affine_gain[1] or law.affine_bias[1] or law.is_muscle:
            wrench = JointWrench(joint.name, gear if free else (0.0, 0.0, 0.0, *gear), in_parent)
            return _on_length(node, name, wrench, law, lengths, settings)
    armature, damping = 0.0, 0.0
    if joint.is_scalar:
        armature = node.number("armature", 0.0) * gear[0] ** 2
        damping = _damping(node, settings) * gear[0] ** 2
    own = joint.options.get("lower", -math.inf), joint.options.get("upper", math.inf)
    limits, forces = _control_range(node, law, own, settings), _range(node, "force", settings)
    active = _activation_range(node, law, own, settings)
    return Motor(name, node, joint.name, gear, (), armature, damping, law, limits, forces, active)


def _damping(node: Node, settings: Settings) -> float:
    """Of its own damper, where it is switched on; of polynomials the linear part."""
    linear, *further = (node.numbers("damping", 1, 2, 3) if settings.dampers else None) or (0.0,)
    if any(further):
        warn(node, "damping is a polynomial, of which the linear part alone is used")
    return linear


def _on_site(
    node: Node, target: str, law: Law, taken: set[str | None], lengths: set[str | None], settings: Settings
) -> Motor:
    """An actuator on a site, or by a slider-crank."""
    site = node.text(target)
    gear = ((node.numbers("gear", 1, 2, 3, 4, 5, 6) or (1.0,)) + (0.0,) * 6)[:6]
    name = node.get("name") or fresh(f"{site}_motor", taken)
    if target == "site":
        return _on_length(node, name, SiteWrench(site, gear, node.get("refsite") or ""), law, lengths, settings)
    with located(node):
        crank = SliderCrank(site, node.text("slidersite"), node.number("cranklength"))
    return _on_length(node, name, crank, law, lengths, settings, gear[0])


def _on_length(
    node: Node,
    name: str,
    transmission: SiteWrench | JointWrench | SliderCrank,
    law: Law,
    lengths: set[str | None],
    settings: Settings,
    gear: float = 1.0,
) -> Motor:
    """An actuator that pulls a length of its own."""
    if _damping(node, settings) != 0:
        law.refused = law.refused or "an actuator with damping on a site, or on a ball or free joint"
    limits, forces = _control_range(node, law, UNLIMITED, settings), _range(node, "force", settings)
    active = _activation_range(node, law, UNLIMITED, settings)
    own = fresh(name, lengths) if name in lengths else name
    lengths.add(own)
    return Motor(name, node, "", (gear,), (), 0.0, 0.0, law, limits, forces, active, own, transmission)


def _muscle(law: Law) -> Muscle:
    """A muscle; its force, where that is not written, is set when the model is there."""
    rise, fall, smoothing = law.muscle_times
    numbers = law.muscle_gain if law.gain_type == "muscle" else law.muscle_bias
    low, high, force, scale, shortest, longest, velocity, passive, lengthening = numbers
    return Muscle(
        lengths=law.length_range or (0.0, 1.0),
        peak=force if force >= 0 else -scale,
        range=(low, high),
        shortest=shortest,
        longest=longest,
        velocity=velocity,
        passive=passive,
        lengthening=lengthening,
        pulls=law.gain_type == "muscle",
        stretches=law.bias_type == "muscle",
        rise=rise,
        fall=fall,
        smoothing=smoothing,
    )


def with_muscle_forces(robot: Mechanism) -> Mechanism:
    """The mechanism with forces of muscles that are written as accelerations, as MuJoCo's compiler sets them.

    A muscle with the scale ``s`` has the force ``s / |M^-1 J'|``: it accelerates the reference configuration by ``s``.
    """
    if not any(a.muscle is not None and a.muscle.peak < 0 for a in robot.actuators):
        return robot
    q = robot.poses["qpos0"]
    M, B = Evaluator(robot, "mass_matrix").plain()(q), actuation_matrix(robot, q)
    actuators = []
    for k, actuator in enumerate(robot.actuators):
        if actuator.muscle is not None and actuator.muscle.peak < 0:
            acceleration = max(float(np.linalg.norm(np.linalg.lstsq(M, B[:, k], rcond=None)[0])), LEAST_TIME)
            actuator = replace(actuator, muscle=replace(actuator.muscle, peak=-actuator.muscle.peak / acceleration))
        actuators.append(actuator)
    return replace(robot, actuators=tuple(actuators))


def _on_tendon(node: Node, read: MjcfTendon, law: Law, taken: set[str | None], settings: Settings) -> Motor:
    tendon = read.tendon
    gear = (node.numbers("gear", 1, 2, 3, 4, 5, 6) or (1.0,))[0]
    if _damping(node, settings) != 0:
        law.refused = law.refused or "an actuator with damping on a tendon"
    name = node.get("name") or fresh(f"{node.text('tendon')}_motor", taken)
    limits, forces = _control_range(node, law, tendon.limits, settings), _range(node, "force", settings)
    active = _activation_range(node, law, tendon.limits, settings)
    if tendon.is_spatial or any(math.isfinite(bound) for bound in tendon.force_limits):
        return Motor(name, node, "", (gear,), (), 0.0, 0.0, law, limits, forces, active, tendon.name)
    (first, own), *others = ((joint, gear * coefficient) for joint, coefficient in tendon.joints.items())
    return Motor(name, node, first, (own,), tuple(others), 0.0, 0.0, law, limits, forces, active)


def _on_body(
    node: Node, bodies: Mapping[str, str], law: Law, taken: set[str | None], settings: Settings
) -> Motor | None:
    """An actuator that makes contacts of a body adhesive; None for one on what does not move."""
    name = node.text("body")
    if name not in bodies:
        raise node.error(f"there is no body '{name}'{suggest(name, bodies)}")
    if not bodies[name]:
        return None
    if any((*law.affine_gain[1:], *law.affine_bias[1:])):
        law.refused = law.refused or "an actuator on a body with a servo law"
        law.gain, law.bias = [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    own = node.get("name") or fresh(f"{name}_adhesion", taken)
    limits, forces = _control_range(node, law, UNLIMITED, settings), _range(node, "force", settings)
    active = _activation_range(node, law, UNLIMITED, settings)
    return Motor(own, node, "", (1.0,), (), 0.0, 0.0, law, limits, forces, active, body=bodies[name])


def with_resolved_damping_ratios(robot: Mechanism, motors: Motors) -> Mechanism:
    """The mechanism with damping in place of damping ratios of position servos, as MuJoCo's compiler sets it.

    A ratio ``z`` is the damping ``2 z sqrt(kp m)`` with the inertia ``m = 1 / (J M^-1 J')`` that the actuator's length
    moves in the reference configuration.
    """
    damped = {motor.name for motor in motors.kept if motor.law.has_damping_ratio}
    if not damped:
        return robot
    q = robot.poses["qpos0"]
    M = Evaluator(robot, "mass_matrix").plain()(q)
    arms = Evaluator(robot, "tendon_jacobian").plain()(q) if robot.tendons else np.zeros((0, robot.nv))
    pulled = {tendon.name: arm for tendon, arm in zip(robot.tendons, arms, strict=True)}
    actuators = []
    for actuator in robot.actuators:
        if actuator.name in damped:
            J = actuator.gear[0] * pulled[actuator.tendon] if actuator.tendon else np.zeros(robot.nv)
            for joint, gears in actuator.gears:
                J[robot.v_slice(joint)] += gears
            mobility = float(J @ np.linalg.lstsq(M, J, rcond=None)[0])
            inertia = 1.0 / mobility if mobility > 0 else 0.0
            damping = 2.0 * actuator.bias[2] * math.sqrt(actuator.gain[0] * inertia)
            actuator = replace(actuator, bias=(actuator.bias[0], actuator.bias[1], -damping))
        actuators.append(actuator)
    return replace(robot, actuators=tuple(actuators))


def _control_range(node: Node, law: Law, target: Range, settings: Settings) -> Range:
    """The range of controls, where it counts; that of the target where it is inherited."""
    range = law.control_range
    if law.inherited_range != 0 and law.dynamics != "integrator":
        range = _inherited_range(node, law, target)
    return _bounded(node, "ctrl", range, law.control_limited, settings) if settings.clamp_controls else UNLIMITED


def _activation_range(node: Node, law: Law, target: Range, settings: Settings) -> Range:
    """The range of activations, where it counts."""
    range = law.activation_range
    if law.inherited_range != 0 and law.dynamics == "integrator":
        range = _inherited_range(node, law, target)
    return _bounded(node, "act", range, law.activation_limited, settings)


def _inherited_range(node: Node, law: Law, target: Range) -> Range:
    if not all(math.isfinite(bound) for bound in target):
        raise node.error("'inheritrange' takes the range of what the actuator drives, which has none")
    middle, half = (target[0] + target[1]) / 2, (target[1] - target[0]) / 2 * law.inherited_range
    return middle - half, middle + half


def _range(node: Node, what: str, settings: Settings) -> Range:
    """``forcerange``, where it counts."""
    range = node.numbers(f"{what}range", 2)
    limited = node.choice(f"{what}limited", YES_NO_AUTO, "auto")
    return _bounded(node, what, None if range is None else (range[0], range[1]), limited, settings)


def _bounded(node: Node, what: str, given: Range | None, limited: str, settings: Settings) -> Range:
    if given is None and limited == "true":
        raise node.error(f"{what}range is missing, which counts as 'true' says")
    if given is None or limited == "false":
        return UNLIMITED
    low, high = given
    if limited == "auto" and not (settings.autolimits and low < high):
        return UNLIMITED
    if not low < high:
        raise node.error(f"{what}range goes from {low:g} to {high:g}")
    return open_end(low) or low, open_end(high) or high


def _refuse_rotor(node: Node) -> None:
    if node.number("armature", 0.0) != 0:
        raise node.error(
            "the inertia of an actuator ('armature') is supported on hinges and slides only", UnsupportedFeature
        )
