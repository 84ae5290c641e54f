# SPDX-License-Identifier: BSD-3-Clause
"""Settings of a whole model: units and conventions of its numbers, gravity, rules to complete inertias."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.model.arrays import Floats
from linkwork.model.medium import VACUUM, Medium
from linkwork.model.placement import Placement
from linkwork.model.rotations import axis_rotation
from linkwork.model.soft_contact import USUAL_CONSTRAINT, SoftConstraint, SoftContact
from linkwork.model.thresholds import UNBOUNDED
from linkwork.parsing.mjcf.document import DEGREES, EULERSEQ, ORIENTATIONS, MjcfDocument
from linkwork.parsing.mjcf.vocabulary import refuse_unknown
from linkwork.parsing.xml import Node, located, warn

YES_NO = ("false", "true")
YES_NO_AUTO = ("false", "true", "auto")
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
IMPEDANCE = (0.9, 0.95, 0.001, 0.5, 2.0)
"""MuJoCo's default of ``solimp``."""
REFERENCE = (0.02, 1.0)
"""MuJoCo's default of ``solref``."""
FRICTION = (1.0, 1.0, 0.005, 0.0001, 0.0001)
"""MuJoCo's default of ``friction``: two directions of sliding, spinning, two of rolling."""
_NO_DIRECTION = 1e-10
"""An axis shorter than this (MuJoCo: 1e-14) has no direction worth the name."""


@dataclass(frozen=True)
class Settings:
    """The attributes of all <compiler> and <option> elements; of repeated ones the last counts."""

    degrees: bool
    eulerseq: str
    autolimits: bool
    alignfree: bool
    inertia_from_geoms: str
    inertia_groups: tuple[float, float]
    least_mass: float
    least_inertia: float
    total_mass: float
    balance: bool
    exact_meshes: bool
    """Whether inertias of meshes are exact unless they say otherwise."""
    fit_bounds: bool
    """Whether primitives are fitted to the bounding boxes of meshes."""
    timestep: float
    """Of steps, in s."""
    gravity: tuple[float, float, float]
    constraints: bool
    """Whether equalities are switched on."""
    limits: bool
    """Whether limits of joints and tendons are switched on."""
    friction: bool
    """Whether dry friction of joints and tendons is switched on."""
    springs: bool
    """Whether springs of joints and tendons are switched on."""
    dampers: bool
    """Whether dampers of joints, tendons and actuators are switched on."""
    actuation: bool
    """Whether actuators are switched on."""
    disabled_groups: tuple[float, ...]
    """Groups of actuators that are switched off."""
    clamp_controls: bool
    """Whether ranges of controls count."""
    contacts: bool
    """Whether contacts are switched on."""
    collision: str
    """Which pairs of geoms touch: all, those of <pair>, or those of masks."""
    filter_parents: bool
    """Whether a body does not touch its parent."""
    override_friction: tuple[float, ...] | None
    """Five coefficients of friction of all contacts, if they are given for them."""
    override_margin: float | None
    """Margin of all contacts, if one is given for them."""
    override_soft: SoftContact | None
    """Softness of all contacts, if it is given for them."""
    impedance_ratio: float
    """Impedance of friction relative to that of the normal direction."""
    pyramidal: bool
    """Whether friction cones are pyramids."""
    medium: Medium
    """The medium."""

    def angle(self, value: float, node: Node) -> float:
        """An angle of an element in radians."""
        own = node.get(DEGREES)  # of an attached model
        return math.radians(value) if (self.degrees if own is None else own == "true") else value

    def euler_axes(self, node: Node) -> str:
        """About which axes Euler angles of an element turn."""
        return node.get(EULERSEQ) or self.eulerseq

    def placement(self, node: Node) -> Placement:
        """The place that ``pos`` and one of the notations of an orientation give."""
        with located(node):
            return Placement(node.vector("pos", (0.0, 0.0, 0.0)), self.rotation(node))

    def rotation(self, node: Node) -> Floats:
        """The orientation of an element."""
        ways = [way for way in ORIENTATIONS if node.get(way) is not None]
        if len(ways) > 1:
            raise node.error(f"'{ways[0]}' and '{ways[1]}' both give the orientation; keep one")
        if not ways:
            return np.eye(3)
        if ways[0] == "quat":
            return quaternion(node, "quat", _given(node, "quat", 4)).rotation
        values = np.array(_given(node, ways[0], {"axisangle": 4, "xyaxes": 6}.get(ways[0], 3)))
        if ways[0] == "axisangle":
            return axis_rotation(_unit(node, "axisangle", values[:3]), self.angle(values[3], node))
        if ways[0] == "xyaxes":
            x = _unit(node, "xyaxes", values[:3])
            y = _unit(node, "xyaxes", values[3:])
            y = _unit(node, "xyaxes", y - x * (x @ y))
            return np.column_stack([x, y, np.cross(x, y)])
        if ways[0] == "zaxis":
            return z_along(_unit(node, "zaxis", values))
        return self.euler_rotation(node, values)

    def euler_rotation(self, node: Node, angles: Floats) -> Floats:
        """The rotation by Euler angles of an element."""
        R = np.eye(3)
        for letter, value in zip(self.euler_axes(node), angles, strict=True):
            turn = axis_rotation(_AXES[letter.lower()], self.angle(float(value), node))
            R = R @ turn if letter.islower() else turn @ R
        return R


def _given(node: Node, attribute: str, count: int) -> tuple[float, ...]:
    values = node.numbers(attribute, count)
    if values is None:
        raise node.error(f"attribute '{attribute}' is missing")
    return values


def quaternion(node: Node, attribute: str, values: tuple[float, ...]) -> Placement:
    """A quaternion ``w x y z`` as a placement at the origin."""
    largest = max(abs(value) for value in values)
    if largest == 0:
        raise node.error(f"attribute '{attribute}': a quaternion of zero length is no rotation")
    w, x, y, z = (value / largest for value in values)
    return Placement.from_quaternion(x, y, z, w)


def _unit(node: Node, attribute: str, vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    if length < _NO_DIRECTION:
        raise node.error(f"attribute '{attribute}' holds an axis of zero length, or parallel axes")
    unit: Floats = vector / length
    return unit


def z_along(direction: Floats) -> Floats:
    """The least rotation that turns the z axis into a unit vector."""
    axis = np.cross((0.0, 0.0, 1.0), direction)
    sine = float(np.linalg.norm(axis))
    axis = axis / sine if sine > _NO_DIRECTION else np.array([1.0, 0.0, 0.0])
    return axis_rotation(axis, math.atan2(sine, float(direction[2])))


def read_settings(document: MjcfDocument) -> Settings:
    """The settings of a model; those that no mechanism here can have are an `UnsupportedFeature`."""
    compiler = _last(document, list(document.children(document.root, "compiler")))
    option = _last(document, list(document.children(document.root, "option")))
    flag = _last(document, list(document.inside("option", "flag")))
    if compiler.choice("coordinate", ("local", "global"), "local") == "global":
        raise compiler.error("global coordinates are not supported, as in MuJoCo since 2.3.4", UnsupportedFeature)
    eulerseq = compiler.get("eulerseq") or "xyz"
    if len(eulerseq) != 3 or not set(eulerseq) <= set("xyzXYZ"):
        raise compiler.error(f"attribute 'eulerseq' is three of the letters x y z X Y Z, not '{eulerseq[:80]}'")
    total_mass = compiler.number("settotalmass", -1.0)
    if total_mass > 0 and compiler.choice("fusestatic", YES_NO, "false") == "true":
        raise compiler.error("'settotalmass' together with 'fusestatic' is not supported", UnsupportedFeature)
    groups = compiler.numbers("inertiagrouprange", 2) or (0.0, 5.0)
    switches = ("disable", "enable")
    override = flag.choice("override", switches, "disable") == "enable"

    def enabled(*names: str) -> bool:
        return all(flag.choice(name, switches, "enable") == "enable" for name in names)

    return Settings(
        degrees=compiler.choice("angle", ("degree", "radian"), "degree") == "degree",
        eulerseq=eulerseq,
        autolimits=compiler.choice("autolimits", YES_NO, "true") == "true",
        alignfree=compiler.choice("alignfree", YES_NO, "false") == "true",
        inertia_from_geoms=compiler.choice("inertiafromgeom", YES_NO_AUTO, "auto"),
        inertia_groups=(groups[0], groups[1]),
        least_mass=compiler.number("boundmass", 0.0),
        least_inertia=compiler.number("boundinertia", 0.0),
        total_mass=total_mass,
        balance=compiler.choice("balanceinertia", YES_NO, "false") == "true",
        exact_meshes=compiler.choice("exactmeshinertia", YES_NO, "false") == "true",
        fit_bounds=compiler.choice("fitaabb", YES_NO, "false") == "true",
        timestep=option.number("timestep", 0.002),
        gravity=option.vector("gravity", (0.0, 0.0, -9.81)) if enabled("gravity") else (0.0, 0.0, 0.0),
        constraints=enabled("constraint", "equality"),
        limits=enabled("constraint", "limit"),
        friction=enabled("constraint", "frictionloss"),
        springs=enabled("spring", "passive"),
        dampers=enabled("damper", "passive"),
        actuation=enabled("actuation"),
        disabled_groups=option.numbers("actuatorgroupdisable", *range(32)) or (),
        clamp_controls=enabled("clampctrl"),
        contacts=enabled("constraint", "contact"),
        collision=option.choice("collision", ("all", "predefined", "dynamic"), "all"),
        filter_parents=enabled("filterparent"),
        override_friction=option.completed("o_friction", FRICTION) if override else None,
        override_margin=option.number("o_margin", 0.0) if override else None,
        override_soft=_override_soft(option) if override else None,
        impedance_ratio=_impedance_ratio(option),
        pyramidal=_pyramidal(option),
        medium=_medium(option) if enabled("passive") else VACUUM,
    )


def _medium(option: Node) -> Medium:
    with located(option):
        wind = option.vector("wind", (0.0, 0.0, 0.0))
        return Medium(option.number("density", 0.0), option.number("viscosity", 0.0), wind)


def _impedance_ratio(option: Node) -> float:
    ratio = option.number("impratio", 1.0)
    if ratio <= 0:
        raise option.error(f"impratio is {ratio:g}; it must be > 0")
    return ratio


def _pyramidal(option: Node) -> bool:
    return option.choice("cone", ("pyramidal", "elliptic"), "pyramidal") == "pyramidal"


def _override_soft(option: Node) -> SoftContact:
    first, second = option.completed("o_solref", REFERENCE)
    with located(option):
        soft = SoftContact((first, second), option.completed("o_solimp", IMPEDANCE), (first, second))
        return replace(soft, friction_ratio=_impedance_ratio(option), pyramidal=_pyramidal(option))


def _last(document: MjcfDocument, nodes: list[Node]) -> Node:
    """The last element of a kind, with what the others say before it."""
    if not nodes:
        return document.root  # which has none of their attributes
    said: dict[str, str] = {}
    for node in nodes:
        refuse_unknown(node)
        said |= {name: node.get(name) or "" for name in node.attributes}
    return nodes[-1].inheriting(said)


Range = tuple[float, float]


def range_of(node: Node, what: str, settings: Settings) -> Range | None:
    """The range of an element where it counts; infinite where an end is open.

    Args:
        node: The element.
        what: Beginning of its attributes ``<what>range`` and ``<what>limited``.
        settings: <compiler> and <option>.
    """
    numbers, limited = node.numbers(f"{what}range", 2), node.choice(f"{what}limited", YES_NO_AUTO, "auto")
    return counted_range(node, what, None if numbers is None else (numbers[0], numbers[1]), limited, settings)


def counted_range(node: Node, what: str, range: Range | None, limited: str, settings: Settings) -> Range | None:
    """A range where it counts, by MuJoCo's rules: where it is said to, or where it ascends and is not said not to.

    Args:
        node: The element.
        what: The beginning of its attributes ``<what>range`` and ``<what>limited``.
        range: Its ends, if the element or its class says so.
        limited: ``true``, ``false`` or ``auto``.
        settings: <compiler> and <option>.
    """
    if range is None and limited == "true":
        raise node.error(f"{what}range is missing, which counts as 'true' says")
    if range is None or limited == "false":
        return None
    low, high = range
    if limited == "true" and not low < high:
        raise node.error(f"{what}range goes from {low:g} to {high:g}; the first must be less than the second")
    if limited == "auto" and not settings.autolimits:
        if low == high == 0:
            return None
        raise node.error(f"{what}range needs {what}limited='true' or 'false', as <compiler autolimits='false'> says")
    if low > high:
        warn(node, f"{what}range goes from {low:g} to {high:g}: it bounds nothing, as in MuJoCo")
    return (open_end(low) or low, open_end(high) or high) if low < high else None


def open_end(bound: float) -> float:
    """Infinity with the sign of a bound that stands for none, as the end of a range that is open; otherwise 0."""
    return math.copysign(math.inf, bound) if abs(bound) >= UNBOUNDED else 0.0


def softness_of(node: Node, reference: str, impedance: str, **more: float) -> SoftConstraint | None:
    """Softness of a limit, dry friction or an equality; None where it is MuJoCo's default.

    Args:
        node: The element.
        reference: The attribute that says ``solref``.
        impedance: The attribute that says ``solimp``.
        more: Further numbers of `SoftConstraint`.
    """
    first, second = node.completed(reference, REFERENCE)
    soft = SoftConstraint((first, second), node.completed(impedance, IMPEDANCE), **more)
    return None if soft == USUAL_CONSTRAINT else soft


def has_default_impedance(node: Node) -> bool:
    """Whether ``solimp`` of an element, which says how soft it is, is absent or MuJoCo's default."""
    numbers = node.numbers("solimp", 1, 2, 3, 4, 5) or ()
    return numbers == IMPEDANCE[: len(numbers)]
