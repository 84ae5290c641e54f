# SPDX-License-Identifier: BSD-3-Clause
"""Actuators of a model: what they drive, with which gear, how they make force, and the inertia of their rotors.

Those on joints and tendons have gears. Those on sites, by slider-cranks, and on ball and free joints in axes that are
not the body's, pull a length of their own (`Transmission`). Those on bodies make their contacts adhesive; where the
body does not move, they are left out, with a warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from linkwork.errors import UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.model.joints import Free
from linkwork.model.motors import Motor as ServoMotor
from linkwork.model.muscles import Muscle
from linkwork.model.tendons import Tendon
from linkwork.model.transmissions import JointWrench, SiteWrench, SliderCrank
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument
from linkwork.parsing.mjcf.joints import MjcfJoint
from linkwork.parsing.mjcf.servos import LEAST_TIME, UNLIMITED, Law, read_law
from linkwork.parsing.mjcf.settings import Range, Settings, counted_range, range_of
from linkwork.parsing.mjcf.tendons import MjcfTendon
from linkwork.parsing.mjcf.tree import fresh
from linkwork.parsing.mjcf.vocabulary import ACTUATORS, not_understood, refuse_unknown
from linkwork.parsing.xml import Node, located, warn

_TRANSMISSIONS = ("body", "site", "cranksite", "tendon", "jointinparent", "joint")
"""Of several the first counts, as in MuJoCo."""


@dataclass(frozen=True)
class Motor:
    """An actuator on a joint, or on the joints of a tendon."""

    name: str
    node: Node
    law: Law
    delay: float
    """Steps that commands are late."""
    limits: Range
    """Of its control."""
    force_limits: Range
    """Of its force, before the gear."""
    activation_limits: Range
    gear: tuple[float, ...]
    joint: str = ""
    also: tuple[tuple[str, float], ...] = ()
    """Further joints of the tendon, with their gears."""
    armature: float = 0.0
    """Of the rotor, seen at the joint or tendon."""
    damping: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Factors of the rate there, its square and its cube."""
    tendon: str = ""
    """The tendon that it pulls, in place of joints: a spatial one, or one that bounds the force of its actuators."""
    transmission: SiteWrench | JointWrench | SliderCrank | None = None
    """Its transmission, where that is a length of its own, which is the tendon then; with sites in place of frames."""
    body: str = ""
    """The body whose contacts it makes adhesive, in place of joints."""
    loads: tuple[str, str] = ("", "")
    """Load of its rotor and its damper: ``joint`` or ``tendon``, and the name."""

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
        if not self.law.refused and (self.law.integral > 0 or self.delay > 0):
            law["motor"] = ServoMotor(integral=self.law.integral, windup=self.law.windup, delay=self.delay)
        limits = {"limits": self.limits, "force_limits": self.force_limits}
        return {**limits, "also": self.also, "tendon": self.tendon, "body": self.body, **law}


@dataclass(frozen=True)
class Motors:
    """The actuators that can be kept, and every joint that some actuator drives, also through a tendon."""

    kept: tuple[Motor, ...]
    driven: frozenset[str]
    exist: bool
    """Whether there is any actuator; without, nothing is known of which joints are driven."""

    tendons: Mapping[str, MjcfTendon]
    """The tendons of the file."""
    left_out: bool
    """Whether there are actuators that are not kept."""

    def at(self, joint: MjcfJoint) -> dict[str, Any]:
        """The options of a joint that motors and tendons change: their rotors and dampers are its own."""
        own = self._loading.get(("joint", joint.name), [])
        armature = joint.options.get("armature", 0.0) + sum(motor.armature for motor in own)
        for read in self.tendons.values():
            if list(read.tendon.joints) == [joint.name]:
                rotors = self._loading.get(("tendon", read.name), [])
                inertia = read.armature + sum(motor.armature for motor in rotors)
                armature += inertia * read.tendon.joints[joint.name] ** 2
        terms = joint.options.get("damping_terms", (0.0, 0.0))
        linear, *further = _sums((joint.options.get("damping", 0.0), *terms), own)
        options = {"actuated": joint.name in self.driven if self.exist else None, "armature": armature}
        return options | {"damping": linear} | ({"damping_terms": tuple(further)} if any(further) else {})

    def damped(self, tendon: Tendon) -> Tendon:
        """A tendon with the dampers of its motors."""
        own = self._loading.get(("tendon", tendon.name), [])
        linear, *further = _sums((tendon.damping, *tendon.damping_terms), own)
        return replace(tendon, damping=linear, damping_terms=(further[0], further[1]))

    @cached_property
    def _loading(self) -> dict[tuple[str, str], list[Motor]]:
        motors: dict[tuple[str, str], list[Motor]] = {}
        for motor in self.kept:
            motors.setdefault(motor.loads, []).append(motor)
        return motors


def _sums(damping: tuple[float, ...], motors: Sequence[Motor]) -> list[float]:
    """Factors of damping, with those of motors."""
    return [sum(factors) for factors in zip(damping, *(motor.damping for motor in motors), strict=True)]


@dataclass
class MotorReader:
    """Reads the actuators of a model.

    Args:
        document: The model.
        defaults: Its default classes.
        joints: Its joints.
        tendons: Its tendons.
        bodies: By name of a body, the body that carries it; empty where that does not move.
        settings: <compiler> and <option>.
    """

    document: MjcfDocument
    defaults: Defaults
    joints: Mapping[str, MjcfJoint]
    tendons: Mapping[str, MjcfTendon]
    bodies: Mapping[str, str]
    settings: Settings
    _taken: set[str | None] = field(default_factory=set)
    """Names of actuators."""
    _lengths: set[str | None] = field(default_factory=set)
    """Names of tendons, and of lengths that actuators pull."""

    def motors(self) -> Motors:
        """All actuators."""
        elements = list(self.document.inside("actuator"))
        self._taken, self._lengths = {node.get("name") for node in elements}, set(self.tendons)
        kept, driven, left_out = list[Motor](), set[str](), False
        for bare in elements:
            if bare.tag not in ACTUATORS:
                raise not_understood(bare, "actuator")
            inherited = self.defaults.actuators(bare)
            for element in chain.from_iterable(inherited):
                refuse_unknown(element)
            node = self.defaults.apply(bare, "actuator")
            targets = [attribute for attribute in _TRANSMISSIONS if node.get(attribute) is not None]
            if not targets:
                raise node.error(f"an actuator acts on one of: {', '.join(_TRANSMISSIONS)}")
            if len(targets) > 1:
                warn(node, f"an actuator acts on one of {', '.join(targets)}: here on the {targets[0]}, as in MuJoCo")
            target = targets[0]
            driven.update(self._driven(node, target))
            law = read_law(inherited)
            if not self.settings.actuation or node.number("group", 0.0) in self.settings.disabled_groups:
                law.refused = "an actuator that is switched off in <option>"
            for k, (suffix, part) in enumerate(law.by_input()):
                motor = self._motor(node, target, part)
                if motor is None:
                    what = "an actuator on a body that does not move is not supported: it is left out, commands have"
                    warn(bare, f"{what} none for it")
                    left_out = True
                    break
                if len(law.inputs) > 1 and any(map(math.isfinite, motor.force_limits)):
                    part.refused = part.refused or "an actuator with several inputs, whose forces have a range together"
                loads = ("", "") if k else motor.loads  # one rotor and one damper
                kept.append(replace(motor, name=self._named(motor.name, suffix), loads=loads))
        return Motors(tuple(kept), frozenset(driven), bool(elements), self.tendons, left_out)

    def _named(self, name: str, suffix: str) -> str:
        """The name of an actuator for one of its inputs."""
        return fresh(name + suffix, self._taken) if suffix else name

    def _driven(self, node: Node, target: str) -> Iterable[str]:
        """Joints that an actuator drives by name."""
        name = node.text(target)
        if target in ("joint", "jointinparent"):
            if name not in self.joints:
                raise node.error(f"there is no joint '{name}'")
            return (name,)
        if target == "tendon":
            if name not in self.tendons:
                raise node.error(f"there is no tendon '{name}'{suggest(name, self.tendons)}")
            return self.tendons[name].tendon.joints
        return ()

    def _motor(self, node: Node, target: str, law: Law) -> Motor | None:
        if target in ("joint", "jointinparent"):
            return self._on_joint(node, self.joints[node.text(target)], law, target == "jointinparent")
        if target == "tendon":
            return self._on_tendon(node, self.tendons[node.text(target)], law)
        armature, damping = self._load(node, 1.0)
        if armature or any(damping):
            raise node.error("'damping' and 'armature' of an actuator need a joint or a tendon that it drives")
        return self._on_site(node, target, law) if target in ("site", "cranksite") else self._on_body(node, law)

    def _on_joint(self, node: Node, joint: MjcfJoint, law: Law, in_parent: bool) -> Motor:
        numbers = node.numbers("gear", 1, 2, 3, 4, 5, 6) or (1.0,)
        gear = (numbers + (0.0,) * 6)[: joint.type.nv]
        name = node.get("name") or fresh(f"{joint.name}_motor", self._taken)
        armature, damping = self._load(node, numbers[0])
        if any(damping[1:]) and not joint.is_scalar:
            raise node.error(
                "damping of a ball or free joint that is a polynomial is not supported", UnsupportedFeature
            )
        own = joint.options.get("lower", -math.inf), joint.options.get("upper", math.inf)
        free = isinstance(joint.type, Free)
        curved = law.affine_gain[1] or law.affine_bias[1] or law.is_muscle
        if not joint.is_scalar and (in_parent or (free and any(gear[:3])) or curved):
            wrench = JointWrench(joint.name, gear if free else (0.0, 0.0, 0.0, *gear), in_parent)
            motor = self._on_length(node, name, wrench, law)
        else:
            motor = self._law_of(node, name, law, own, joint=joint.name, gear=gear)
        return replace(motor, armature=armature, damping=damping, loads=("joint", joint.name))

    def _load(self, node: Node, gear: float) -> tuple[float, tuple[float, float, float]]:
        """Inertia and damping that an actuator adds to what it drives."""
        written = (node.numbers("damping", 1, 2, 3) if self.settings.dampers else None) or ()
        linear, square, cube = (*written, 0.0, 0.0, 0.0)[:3]
        armature = node.number("armature", 0.0)
        return armature * gear**2, (linear * gear**2, square * gear**2, cube * gear**2)

    def _on_site(self, node: Node, target: str, law: Law) -> Motor:
        """An actuator on a site, or by a slider-crank."""
        site = node.text(target)
        gear = ((node.numbers("gear", 1, 2, 3, 4, 5, 6) or (1.0,)) + (0.0,) * 6)[:6]
        name = node.get("name") or fresh(f"{site}_motor", self._taken)
        if target == "site":
            return self._on_length(node, name, SiteWrench(site, gear, node.get("refsite") or ""), law)
        with located(node):
            crank = SliderCrank(site, node.text("slidersite"), node.number("cranklength"))
        return self._on_length(node, name, crank, law, gear[0])

    def _on_length(
        self,
        node: Node,
        name: str,
        transmission: SiteWrench | JointWrench | SliderCrank,
        law: Law,
        gear: float = 1.0,
    ) -> Motor:
        """An actuator that pulls a length of its own."""
        own = fresh(name, self._lengths) if name in self._lengths else name
        self._lengths.add(own)
        return self._law_of(node, name, law, UNLIMITED, gear=(gear,), tendon=own, transmission=transmission)

    def _on_tendon(self, node: Node, read: MjcfTendon, law: Law) -> Motor:
        tendon = read.tendon
        gear = (node.numbers("gear", 1, 2, 3, 4, 5, 6) or (1.0,))[0]
        armature, damping = self._load(node, gear)
        if armature and len(tendon.joints) != 1:
            raise read.several_joints(node, "the inertia of an actuator ('armature')")
        name = node.get("name") or fresh(f"{node.text('tendon')}_motor", self._taken)
        if tendon.is_spatial or any(math.isfinite(bound) for bound in tendon.force_limits):
            motor = self._law_of(node, name, law, tendon.limits, gear=(gear,), tendon=tendon.name)
        else:
            (first, own), *others = ((joint, gear * coefficient) for joint, coefficient in tendon.joints.items())
            motor = self._law_of(node, name, law, tendon.limits, joint=first, gear=(own,), also=tuple(others))
        return replace(motor, armature=armature, damping=damping, loads=("tendon", tendon.name))

    def _on_body(self, node: Node, law: Law) -> Motor | None:
        """An actuator that makes contacts of a body adhesive; None for one on what does not move."""
        name = node.text("body")
        if name not in self.bodies:
            raise node.error(f"there is no body '{name}'{suggest(name, self.bodies)}")
        if not self.bodies[name]:
            return None
        if any((*law.affine_gain[1:], *law.affine_bias[1:])):
            law.refused = law.refused or "an actuator on a body with a servo law"
            law.gain, law.bias = [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        own = node.get("name") or fresh(f"{name}_adhesion", self._taken)
        return self._law_of(node, own, law, UNLIMITED, gear=(1.0,), body=self.bodies[name])

    def _law_of(self, node: Node, name: str, law: Law, target: Range, **where: Any) -> Motor:
        """An actuator with its ranges.

        Args:
            node: Its element.
            name: Its name.
            law: Its force law.
            target: Range of what it drives.
            where: Its target.
        """
        settings = self.settings
        limits, active = _control_range(node, law, target, settings), _activation_range(node, law, target, settings)
        forces = law.force_range or range_of(node, "force", settings) or UNLIMITED
        delay = 0.0 if law.refused else law.delay_in_steps(settings.timestep)
        if delay % 1 and any(map(math.isfinite, limits)):
            law.refused = "an actuator with a range of controls and a delay between samples"
        elif delay > 0:
            warn(
                node,
                f"a delay is a number of steps here: {law.delay:g} s are {delay:g} steps of the file's timestep, "
                f"{settings.timestep:g} s; simulate with this dt",
            )
        return Motor(name, node, law, delay, limits, forces, active, **where)


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


def _control_range(node: Node, law: Law, target: Range, settings: Settings) -> Range:
    """The range of controls, where it counts; that of the target where it is inherited."""
    range = law.control_range
    if law.inherited_range != 0 and law.dynamics != "integrator":
        range = _inherited_range(node, law, target)
    counts = settings.clamp_controls
    return (counts and counted_range(node, "ctrl", range, law.control_limited, settings)) or UNLIMITED


def _activation_range(node: Node, law: Law, target: Range, settings: Settings) -> Range:
    """The range of activations, where it counts."""
    range = law.activation_range
    if law.inherited_range != 0 and law.dynamics == "integrator":
        range = _inherited_range(node, law, target)
    return counted_range(node, "act", range, law.activation_limited, settings) or UNLIMITED


def _inherited_range(node: Node, law: Law, target: Range) -> Range:
    if not all(math.isfinite(bound) for bound in target):
        raise node.error("'inheritrange' takes the range of what the actuator drives, which has none")
    middle, half = (target[0] + target[1]) / 2, (target[1] - target[0]) / 2 * law.inherited_range
    return middle - half, middle + half
