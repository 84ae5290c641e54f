# SPDX-License-Identifier: BSD-3-Clause
"""Force laws of actuators: gains, biases and ranges, from their elements and the default classes that they inherit.

Every kind of actuator is a shortcut for <general>: it sets some of the numbers, and leaves others as a default class
has set them. What has a law that is not affine in length and rate, or an activation other than of integrators and
filters, is not modeled, and refused by its name when it is commanded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from linkwork.model.activations import ACTIVATIONS
from linkwork.model.motors import MOST_DELAY
from linkwork.parsing.mjcf.settings import YES_NO, YES_NO_AUTO, Range
from linkwork.parsing.xml import Node

_PARAMETERS = range(1, 21)
"""Sizes: numbers ``gainprm``, ``biasprm`` and ``dynprm`` have."""
UNLIMITED = (-math.inf, math.inf)
MUSCLE = (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2)
"""Range in optimal lengths, force, scale, lmin, lmax, vmax, fpmax, fvmax of a <muscle>."""

LEAST_TIME = 1e-15
"""MuJoCo's reading of a time constant of zero."""
INPUTS = ("pos", "vel", "ff", "voltage")
"""Commands that a <pid> and, with the last one, a <dcmotor> can have, in the order that they are in."""
_ELECTRIC = {
    "resistance": 1,
    "motorconst": 2,
    "nominal": 3,
    "saturation": 3,
    "controller": 6,
    "inductance": 2,
    "thermal": 6,
    "cogging": 3,
    "lugre": 5,
}
"""Attributes of a <dcmotor>, and how many numbers they have."""
_ROUNDING = 1e-9
"""Steps by which a delay may miss a whole number of them."""


@dataclass
class Law:
    """``force = (gain . (1, l, r)) u + bias . (1, l, r)`` of the length ``l`` and its rate ``r``; see `Actuator`."""

    gain: list[float] = field(default_factory=lambda: [1.0, 0.0, 0.0])
    bias: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    gain_type: str = "fixed"
    bias_type: str = "none"
    dynamics: str = "none"
    time_constant: float = 1.0
    """Of its activation (``dynprm``)."""
    early: bool = False
    activation_limited: str = "auto"
    activation_range: Range | None = None
    control_limited: str = "auto"
    control_range: Range | None = None
    inherited_range: float = 0.0
    """Of the range of its joint, the part that is the range of its control."""
    kind: str = "general"
    """The element that has set it last."""
    refused: str = ""
    muscle_gain: tuple[float, ...] = MUSCLE
    """Numbers of a muscle's gain, and of its bias."""
    muscle_bias: tuple[float, ...] = MUSCLE
    muscle_times: tuple[float, ...] = (1.0, 0.0, 0.0)
    """Numbers of a muscle's activation."""
    length_range: Range | None = None
    integral: float = 0.0
    """Of a <pid>: force per integral of the error, whose growth ends at ``windup``."""
    windup: float = math.inf
    inputs: tuple[str, ...] = ()
    """Commands of a <pid> or a <dcmotor>; none of others, which have one."""
    input_ranges: dict[str, Range] = field(default_factory=dict)
    """Of those commands that are not the first."""
    voltage_gain: float = 0.0
    """Force per voltage of a <dcmotor>."""
    electric: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Attributes of a <dcmotor>."""
    force_range: Range | None = None
    """Of a <dcmotor>, by its saturation."""
    delay: float = 0.0
    """Of commands, in s."""
    samples: int = 0
    """Commands that are kept, of which one is read so much later."""
    interpolation: str = "zoh"
    slew: float = 0.0
    """The limit of the rate of a command."""

    @property
    def is_muscle(self) -> bool:
        """Whether any part of it is a muscle's."""
        return "muscle" in (self.gain_type, self.bias_type, self.dynamics)

    @property
    def affine_gain(self) -> tuple[float, float, float]:
        """The gain of the command."""
        return (self.gain[0], *((self.gain[1], self.gain[2]) if self.gain_type == "affine" else (0.0, 0.0)))

    @property
    def affine_bias(self) -> tuple[float, float, float]:
        """The bias."""
        return (self.bias[0], self.bias[1], self.bias[2]) if self.bias_type == "affine" else (0.0, 0.0, 0.0)

    def delay_in_steps(self, timestep: float) -> float:
        """Steps that commands are late: one at least, and no more than are kept.

        Args:
            timestep: Of the file, in s.
        """
        if self.delay <= 0:
            return 0.0
        steps = self.delay / timestep
        if self.interpolation == "zoh" or abs(steps - round(steps)) < _ROUNDING:
            steps = math.ceil(steps - _ROUNDING)
        return float(min(max(steps, 1.0), self.samples))

    def by_input(self) -> list[tuple[str, Law]]:
        """Laws with one command each whose sum it is, by suffixes of names; the first has all bias."""
        if len(self.inputs) < 2:
            return [("", self)]
        gains = {"pos": -self.bias[1], "vel": -self.bias[2], "ff": 1.0, "voltage": self.voltage_gain}
        first, *others = self.inputs
        laws = [("", replace(self, gain=[gains[first], 0.0, 0.0], inputs=(first,)))]
        for name in others:
            law = Law(gain=[gains[name], 0.0, 0.0], refused=self.refused, kind=self.kind, inputs=(name,))
            if name in self.input_ranges:
                law.control_range, law.control_limited = self.input_ranges[name], "true"
            law.delay, law.samples, law.interpolation = self.delay, self.samples, self.interpolation
            laws.append((f"_{name}", law))
        return laws

    @property
    def has_damping_ratio(self) -> bool:
        """Whether it is a position servo with a bias above zero, which is a damping ratio."""
        return self.gain_type == "fixed" and self.gain[0] == -self.bias[1] and self.bias[2] > 0


def read_law(elements: Sequence[Sequence[Node]]) -> Law:
    """The law of an actuator.

    Args:
        elements: Those of each default class that it inherits from, the outermost first; its own comes last.
    """
    law, classes = Law(), list[Law]()
    for own in elements:
        for node in own:
            law = _law_after(node, law, classes)
        classes.append(deepcopy(law))
    if not law.refused:
        law.refused = _not_modeled(law)
    return law


_OF_KIND = (
    *("gain", "bias", "gain_type", "bias_type", "dynamics", "time_constant", "early", "inherited_range"),
    *("muscle_gain", "muscle_bias", "muscle_times"),
)
"""Fields of a law that a kind of actuator sets."""


def _law_after(node: Node, law: Law, classes: Sequence[Law]) -> Law:
    """The law with what an element says. A shortcut after another begins with the numbers of the closest class around
    it whose law is of its own kind, or with none."""
    limited = node.choice("ctrllimited", YES_NO_AUTO, "")
    range = node.numbers("ctrlrange", 2)
    law.control_limited = limited or law.control_limited
    if range is not None:
        law.control_range, law.inherited_range = (range[0], range[1]), 0.0
    law.activation_limited = node.choice("actlimited", YES_NO_AUTO, "") or law.activation_limited
    active = node.numbers("actrange", 2)
    if active is not None:
        law.activation_range = active[0], active[1]
    lengths = node.numbers("lengthrange", 2)
    if lengths is not None:
        law.length_range = lengths[0], lengths[1]
    law.delay, law.samples = node.number("delay", law.delay), int(node.number("nsample", law.samples))
    law.interpolation = node.choice("interp", ("zoh", "linear", "cubic"), law.interpolation)
    if node.tag in _SHORTCUTS:
        if node.tag not in ("pid", "general"):
            law.integral, law.windup, law.inputs, law.slew = 0.0, math.inf, (), 0.0
        if not _begins_with(node.tag, law):
            before = next((one for one in reversed(classes) if _begins_with(node.tag, one)), Law())
            law = replace(law, **{name: deepcopy(getattr(before, name)) for name in _OF_KIND})
        _SHORTCUTS[node.tag](node, law)
    else:
        law.refused = f"a <{node.tag}>"
    law.kind = node.tag
    return law


def _begins_with(kind: str, law: Law) -> bool:
    """Whether a kind of actuator begins with the numbers of a law: one of its own kind, or of <general>, which for a
    damper must have an affine gain; <general> begins with any."""
    return kind in (law.kind, "general") or (law.kind == "general" and (kind != "damper" or law.gain_type == "affine"))


def _not_modeled(law: Law) -> str:
    """The part of a law that is not modeled; empty where all is."""
    if law.dynamics not in ("none", *ACTIVATIONS):
        return f"an actuator with dyntype '{law.dynamics}'"
    if law.gain_type not in ("fixed", "affine", "muscle"):
        return f"an actuator with gaintype '{law.gain_type}'"
    if law.bias_type not in ("none", "affine", "muscle"):
        return f"an actuator with biastype '{law.bias_type}'"
    pulls = "muscle" in (law.gain_type, law.bias_type)
    if law.gain_type == law.bias_type == "muscle" and law.muscle_gain != law.muscle_bias:
        return "a muscle whose gain and bias have different numbers"
    if pulls and (law.length_range is None or not law.length_range[0] < law.length_range[1]):
        return "a muscle without 'lengthrange', which MuJoCo's compiler finds by a simulation: write it"
    if law.delay > 0 and (law.interpolation == "cubic" or law.samples > MOST_DELAY):
        return f"an actuator with a delay of more than {MOST_DELAY} samples, or with cubic interpolation"
    if len(law.inputs) > 1 and (law.has_damping_ratio or law.slew):
        return f"a <{law.kind}> with several inputs and 'dampratio' or a limit of their rate"
    return f"a <{law.kind}> with a limit of the rate of its input" if law.slew else ""


def _general(node: Node, law: Law) -> None:
    law.gain_type = node.get("gaintype") or law.gain_type
    law.bias_type = node.get("biastype") or law.bias_type
    law.dynamics = node.get("dyntype") or law.dynamics
    law.time_constant = (node.numbers("dynprm", *_PARAMETERS) or (law.time_constant,))[0]
    law.early = node.choice("actearly", YES_NO, "true" if law.early else "false") == "true"
    for attribute, numbers in (("gainprm", law.gain), ("biasprm", law.bias)):
        parameters = (node.numbers(attribute, *_PARAMETERS) or ())[:3]
        numbers[: len(parameters)] = parameters
    law.muscle_gain = _longer(node.numbers("gainprm", *_PARAMETERS), law.muscle_gain)
    law.muscle_bias = _longer(node.numbers("biasprm", *_PARAMETERS), law.muscle_bias)
    law.muscle_times = _longer(node.numbers("dynprm", *_PARAMETERS), law.muscle_times)


def _longer(parameters: tuple[float, ...] | None, before: tuple[float, ...]) -> tuple[float, ...]:
    """Numbers that an element says, and those after them that it does not."""
    entries = (parameters or ())[: len(before)]
    return entries + before[len(entries) :]


def _muscle(node: Node, law: Law) -> None:
    """A muscle: numbers that are not said, or less than zero but for the force, are the usual ones."""
    before = law if law.is_muscle else Law()
    numbers = list(MUSCLE if not law.is_muscle else before.muscle_gain)
    numbers[:2] = node.numbers("range", 2) or numbers[:2]
    for k, name in enumerate(("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"), start=2):
        numbers[k] = node.number(name, numbers[k])
    times = list(before.muscle_times if law.is_muscle else (0.01, 0.04, 0.0))
    times[:2] = node.numbers("timeconst", 2) or times[:2]
    times[2] = node.number("tausmooth", times[2])
    _set(law, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], bias_type="muscle")
    law.gain_type = law.dynamics = "muscle"
    law.muscle_gain, law.muscle_bias, law.muscle_times = tuple(numbers), tuple(numbers), tuple(times)


def _motor(node: Node, law: Law) -> None:
    _set(law, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], bias_type="none")


def _position(node: Node, law: Law) -> None:
    inherited = law.time_constant if law.dynamics == "filterexact" else 0.0
    time_constant = node.number("timeconst", inherited)
    _servo(node, law)
    if time_constant != 0:
        law.dynamics, law.time_constant = "filterexact", time_constant


def _integrated_velocity(node: Node, law: Law) -> None:
    _servo(node, law)
    law.dynamics = "integrator"


def _servo(node: Node, law: Law) -> None:
    """A servo of position."""
    kp, damping = node.number("kp", _fixed_gain(law)), law.bias[2]
    if node.get("kv") is not None:
        damping = -node.number("kv")
    if node.get("dampratio") is not None:
        if node.get("kv") is not None:
            raise node.error("'kv' and 'dampratio' both give the damping; keep one")
        damping = node.number("dampratio")
    own = "actrange" if node.tag == "intvelocity" else "ctrlrange"
    part = 0.0 if node.get(own) is not None else node.number("inheritrange", law.inherited_range)
    _set(law, [kp, 0.0, 0.0], [0.0, -kp, damping], bias_type="affine")
    law.inherited_range = part


def _pid(node: Node, law: Law) -> None:
    """A servo of position and velocity, with an integral and a force that is added."""
    law.integral = node.number("ki", law.integral)
    most = node.number("imax", law.windup if math.isfinite(law.windup) else 0.0)
    law.windup = most if most > 0 else math.inf
    _servo(node, law)
    law.inputs = _inputs(node, "pos vel", INPUTS[:3]) if node.get("input") is not None else law.inputs or INPUTS[:2]
    law.slew = node.number("slewmax", law.slew)
    for name in INPUTS[:3]:
        low_high = node.numbers(f"{name}range", 2)
        if low_high is not None:
            law.input_ranges[name] = low_high[0], low_high[1]
    if law.inputs[0] in law.input_ranges:
        law.control_range, law.control_limited = law.input_ranges[law.inputs[0]], "true"
    _without_position(law)


def _inputs(node: Node, usual: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Commands that an actuator has."""
    names = (node.get("input") or usual).split()
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None or names != [name for name in known if name in names]:
        raise node.error(f"attribute 'input' is some of {' '.join(known)}, in this order, not '{' '.join(names)}'")
    return tuple(names)


def _without_position(law: Law) -> None:
    """The gain of the first command, where that is no position."""
    if law.inputs[0] != "pos":
        law.gain[0] = -law.bias[2] if law.inputs[0] == "vel" else 1.0


def _dcmotor(node: Node, law: Law) -> None:
    """A motor driven by a voltage, ``K/R (u - K r)``, or by a controller of its current, which is a <pid> then."""
    for name, count in _ELECTRIC.items():
        entries = node.numbers(name, *range(1, count + 1))
        if entries is not None:
            law.electric[name] = (*entries, *(0.0,) * (count - len(entries)))
    inputs = node.get("input")
    law.inputs = law.inputs or ("voltage",)
    if inputs is not None:
        law.inputs = () if inputs == "none" else _inputs(node, "voltage", INPUTS)
    said = {name: law.electric.get(name, (0.0,) * count) for name, count in _ELECTRIC.items()}
    voltage, stall, speed = said["nominal"]
    both = [constant for constant in said["motorconst"] if constant > 0]
    K = math.prod(both) ** (1 / len(both)) if both else voltage / speed if speed > 0 else 0.0
    R = said["resistance"][0] or (K * voltage / stall if stall > 0 else 0.0)
    kp, ki, kd, slew, most, highest = said["controller"]
    further = next((name for name in ("inductance", "thermal", "cogging", "lugre") if any(said[name])), "")
    controlled = any(name != "voltage" for name in law.inputs)
    _set(law, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], bias_type="affine")
    law.slew = slew
    if R <= 0 or K <= 0:
        law.refused = "a <dcmotor> without 'nominal', or 'resistance' and 'motorconst', above zero"
    elif further or highest or not law.inputs:
        law.refused = f"a <dcmotor> with '{further}'" if further else "a <dcmotor> with Vmax, or without inputs"
    else:
        law.voltage_gain = K / R
        law.bias = [0.0, -kp, -kd] if controlled else [0.0, 0.0, -K * K / R]
        law.gain[0] = {"pos": kp, "vel": kd, "ff": 1.0, "voltage": K / R}[law.inputs[0]]
        law.integral, law.windup = ki, most if most > 0 else math.inf
        torque, current, _ = said["saturation"]
        largest = torque or K * current
        law.force_range = (-largest, largest) if largest > 0 else None


def _cylinder(node: Node, law: Law) -> None:
    bias, time_constant = list(node.numbers("bias", 3) or law.bias), node.number("timeconst", law.time_constant)
    area = node.number("area", law.gain[0])
    if node.get("diameter") is not None:
        area = math.pi / 4 * node.number("diameter") ** 2
    _set(law, [area, 0.0, 0.0], bias, bias_type="affine")
    law.dynamics, law.time_constant = "filter", time_constant


def _velocity(node: Node, law: Law) -> None:
    kv = node.number("kv", _fixed_gain(law))
    _set(law, [kv, 0.0, 0.0], [0.0, 0.0, -kv], bias_type="affine")


def _damper(node: Node, law: Law) -> None:
    kv = node.number("kv", -law.gain[2] if law.gain_type == "affine" else 0.0)
    _set(law, [0.0, 0.0, -kv], [0.0, 0.0, 0.0], bias_type="none")
    law.gain_type, law.control_limited = "affine", "true"


def _fixed_gain(law: Law) -> float:
    """The gain that a servo has unless its element says another."""
    return law.gain[0] if law.gain_type == "fixed" else 1.0


def _set(law: Law, gain: list[float], bias: list[float], bias_type: str) -> None:
    law.gain, law.bias, law.gain_type, law.bias_type, law.dynamics = gain, bias, "fixed", bias_type, "none"
    law.inherited_range, law.refused, law.time_constant, law.early = 0.0, "", 1.0, False


def _adhesion(node: Node, law: Law) -> None:
    gain = node.number("gain", _fixed_gain(law))
    _set(law, [gain, 0.0, 0.0], [0.0, 0.0, 0.0], bias_type="none")
    law.control_limited = "true"


_SHORTCUTS: dict[str, Callable[[Node, Law], None]] = {
    "general": _general,
    "motor": _motor,
    "position": _position,
    "velocity": _velocity,
    "damper": _damper,
    "intvelocity": _integrated_velocity,
    "cylinder": _cylinder,
    "pid": _pid,
    "muscle": _muscle,
    "adhesion": _adhesion,
    "dcmotor": _dcmotor,
}
