"""Actuators of a model: what they drive, with which gear, and the inertia of their rotors.

How they make force is the user's affair. Those that act on a tendon, a site, a body or a slider-crank, or on axes of
ball and free joints that do not turn with the body, are not kept: they change nothing of the dynamics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwork.errors import UnsupportedFeature
from linkwork.joints import Free
from linkwork.parsing.mjcf.document import Defaults, Document
from linkwork.parsing.mjcf.joints import MjcfJoint
from linkwork.parsing.mjcf.settings import YES_NO_AUTO, Settings
from linkwork.parsing.mjcf.tree import fresh
from linkwork.parsing.mjcf.vocabulary import ACTUATORS, not_understood
from linkwork.parsing.xml import Node

_TRANSMISSIONS = ("joint", "jointinparent", "tendon", "site", "body", "cranksite")


@dataclass(frozen=True)
class Motor:
    """An actuator on a joint."""

    name: str
    node: Node
    joint: str
    gear: tuple[float, ...]
    armature: float
    """Of the rotor, seen at the joint."""
    damping: float
    limits: tuple[float, float]
    """Of its force, before the gear; of a plain motor also of its control, which is its force."""


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
        found: dict[str, list[Motor]] = {}
        for motor in self.kept:
            found.setdefault(motor.joint, []).append(motor)
        return found


def read_motors(
    document: Document,
    defaults: Defaults,
    joints: Mapping[str, MjcfJoint],
    tendons: Mapping[str, dict[str, float] | None],
    settings: Settings,
) -> Motors:
    """All actuators of a model."""
    elements = list(document.inside("actuator"))
    taken = {node.get("name") for node in elements}
    kept, driven = [], set()
    for bare in elements:
        if bare.tag not in ACTUATORS:
            raise not_understood(bare, "actuator")
        node = defaults.apply(bare, "actuator")
        target = next((attribute for attribute in _TRANSMISSIONS if node.get(attribute) is not None), None)
        if target is None:
            raise node.error(f"an actuator acts on one of: {', '.join(_TRANSMISSIONS)}")
        if target in ("joint", "jointinparent"):
            name = node.text(target)
            if name not in joints:
                raise node.error(f"there is no joint '{name}'")
            driven.add(name)
            motor = _motor(node, joints[name], target == "jointinparent", taken, settings)
            if motor is not None:
                kept.append(motor)
        else:
            if target == "tendon":
                driven.update(tendons.get(node.text(target)) or ())
            _refuse_rotor(node)
    return Motors(tuple(kept), frozenset(driven), bool(elements))


def _motor(node: Node, joint: MjcfJoint, in_parent: bool, taken: set[str | None], settings: Settings) -> Motor | None:
    given = node.numbers("gear", 1, 2, 3, 4, 5, 6) or (1.0,)
    gear = (given + (0.0,) * 6)[: joint.type.nv]
    name = node.get("name") or fresh(f"{joint.name}_motor", taken)
    ranges = [_range(node, "force", settings)] + ([_range(node, "ctrl", settings)] if node.tag == "motor" else [])
    limits = max(low for low, _ in ranges), min(high for _, high in ranges)
    if joint.is_scalar:
        armature = node.number("armature", 0.0) * gear[0] ** 2
        damping = (node.numbers("damping", 1, 2, 3) or (0.0,))[0] * gear[0] ** 2
        return Motor(name, node, joint.name, gear, armature, damping, limits)
    _refuse_rotor(node)
    if in_parent or (isinstance(joint.type, Free) and any(gear[:3])):
        return None
    return Motor(name, node, joint.name, gear, 0.0, 0.0, limits)


def _range(node: Node, what: str, settings: Settings) -> tuple[float, float]:
    """``ctrlrange`` or ``forcerange``, where it counts."""
    given = node.numbers(f"{what}range", 2)
    limited = node.choice(f"{what}limited", YES_NO_AUTO, "auto")
    if given is None or limited == "false":
        return -math.inf, math.inf
    low, high = given
    if limited == "auto" and not (settings.autolimits and low < high):
        return -math.inf, math.inf
    if not low < high:
        raise node.error(f"{what}range goes from {low:g} to {high:g}")
    return low, high


def _refuse_rotor(node: Node) -> None:
    if node.number("armature", 0.0) != 0:
        raise node.error(
            "the inertia of an actuator ('armature') is supported on hinges and slides only", UnsupportedFeature
        )
