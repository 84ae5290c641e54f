# SPDX-License-Identifier: BSD-3-Clause
"""The plan of actuators, tendons and gravity compensation, beside the arrays of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from linkwork.model.activations import ACTIVATIONS, ERROR_INTEGRAL, NETWORK_MEMORY, REGISTER
from linkwork.model.model import Model
from linkwork.model.motors import Motor
from linkwork.model.muscles import Muscle
from linkwork.model.parts import Actuator
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.clusters import CLUSTER_TREE
from linkwork.plans.implicit_damping import ImplicitDamping, Transmission, with_armature
from linkwork.plans.layout import Layout, Shape, ragged
from linkwork.plans.lcaba import LCABA_TREE
from linkwork.plans.networks import NETWORK_FLOATS, NETWORK_INTEGERS, NETWORK_SIZES, network_arrays
from linkwork.plans.tree import TREE, Tree, build_tree, tree_of

_SIZES = (
    "nu",  # actuators
    "na",  # activations
    "ncommands",  # commands of all actuators and, after them, activations at the start
    "act_start",  # where the activations begin in the result of steps: they are at its end
    "nmuscles",
    "npulling",  # actuators on tendons
    "ntransmissions",  # pairs of an actuator and a degree of freedom that it drives
    "ncompensated",  # bodies with gravity compensation
    "ncoupled",  # dampers that couple degrees of freedom: tendons, and actuators that drive several
    *NETWORK_SIZES,
)
_INTEGERS: dict[str, Shape] = {
    "transmission_start": ("nu",),  # degrees of freedom that an actuator drives: first and count
    "transmission_count": ("nu",),
    "transmission_q": ("ntransmissions",),
    "transmission_v": ("ntransmissions",),
    "actuator_tendon": ("nu",),  # the tendon that an actuator pulls, or -1
    "actuator_act": ("nu",),  # its activation, or -1
    "actuator_integral": ("nu",),  # the integral of its error, or -1
    "actuator_register": ("nu",),  # its first command on its way, or -1, and their count
    "actuator_registers": ("nu",),
    "actuator_curve": ("nu",),  # 1 with a torque-speed curve
    "actuator_rubs": ("nu",),  # 1 with friction
    "actuator_play": ("nu",),  # 1 with backlash
    "actuator_memory": ("nu",),  # the first number that its network keeps, or -1
    "actuator_muscle": ("nu",),  # its numbers as a muscle, or -1
    "coupled_tendon": ("ncoupled",),  # the tendon of a damper that couples degrees of freedom, or -1,
    "coupled_actuator": ("ncoupled",),  # and the actuator, or -1
    "act_actuator": ("na",),  # the actuator of an activation,
    "act_dynamics": ("na",),  # how it follows the command, as `ACTIVATIONS`,
    "act_early": ("na",),  # and 1 where forces come from the activation after the step
    **NETWORK_INTEGERS,
}
_FLOATS: dict[str, Shape] = {
    "transmission_length": ("ntransmissions",),  # derivative of the length; zero where q is no plain number
    "transmission_gear": ("ntransmissions",),
    "tendon_gear": ("nu",),  # of actuators on tendons
    "act_time_constant": ("na",),
    "act_muscle": ("na", 3),  # time constants of rise and fall, smoothing between them
    "muscle": ("nmuscles", 11),  # see `kernels.tree.muscles`
    "act_range": ("na", 2),
    "actuator_gain": ("nu", 3),
    "actuator_bias": ("nu", 3),
    "command_range": ("nu", 2),
    "force_range": ("nu", 2),
    "motor": ("nu", 10),  # see `kernels.tree.motors`
    "actuation_range": ("nv", 2),  # of the torques of all actuators together
    "compensated_mass": ("n",),  # mass whose weight is compensated,
    "compensated_mc": ("n", 3),  # and its first moment
    **NETWORK_FLOATS,
}


def actuated_layout(layout: Layout) -> Layout:
    """A layout with the data of actuators that kernels read."""
    return layout.extended(f"actuation_{layout.name}", _SIZES, _INTEGERS, _FLOATS)


ACTUATION_TREE, ACTUATION_LCABA_TREE = actuated_layout(TREE), actuated_layout(LCABA_TREE)
"""A mechanism with its actuators: without constraints, and with them and the order of elimination."""
ACTUATION_CLUSTER_TREE = actuated_layout(CLUSTER_TREE)
"""With its elimination by clusters."""


def actuation_tree(mechanism: Model) -> Tree:
    """The arrays of a mechanism without its constraints, with its actuators."""
    return with_actuators(mechanism, tree_of(mechanism), ACTUATION_TREE)


def with_actuators(
    mechanism: Model, tree: Tree, layout: Layout, implicit: ImplicitDamping | None = None, **tables: Any
) -> Tree:
    """The arrays of a mechanism with those of its actuators, and further arrays and sizes of the layout.

    Args:
        mechanism: The mechanism.
        tree: Its arrays without actuators.
        layout: That of the arrays with them.
        implicit: Which dampers belong to the matrix of a step; None: none does.
        tables: Further arrays and sizes of the layout.
    """
    transmissions: list[Transmission] = []
    of_actuator: list[range] = []
    for actuator in mechanism.actuators:
        first = len(transmissions)
        for name, gears in actuator.gears:
            joint, in_q, in_v = mechanism.joint(name), mechanism.q_slice(name), mechanism.v_slice(name)
            plain = joint.type.nq == joint.type.nv
            for k, gear in enumerate(gears):
                transmissions.append(Transmission(in_q.start + k, in_v.start + k, gear if plain else 0.0, gear))
        of_actuator.append(range(first, len(transmissions)))
    mass, mc = np.zeros(tree.n), np.zeros((tree.n, 3))
    bodies = build_tree(mechanism)[1]
    if mechanism.gravity_compensation:
        for body, compensated in mechanism.gravity_compensation.items():
            i = bodies.number[body]
            moved = compensated.moved(bodies.frames[i].inverse())
            mass[i], mc[i] = moved.mass, moved.mass * moved.com
    spans = ragged(of_actuator)
    actuators = mechanism.actuators
    result = tables.get("nresult", getattr(tree, "nresult", 0))
    if "nresult" in layout.sizes:
        tables["nresult"] = result + mechanism.na
    coupled = [] if implicit is None else implicit.coupled(mechanism)
    if implicit is not None:
        driven = implicit.armature(mechanism, transmissions, of_actuator)
        tree = with_armature(tree, driven | implicit.bound(mechanism, tree, bodies))
    return layout.build(
        tree,
        nu=len(actuators),
        ncoupled=len(coupled),
        coupled_tendon=[damper.tendon for damper in coupled],
        coupled_actuator=[damper.actuator for damper in coupled],
        ncommands=len(actuators) + mechanism.na,
        act_start=result,
        npulling=sum(bool(actuator.tendon) for actuator in actuators),
        **_activation_arrays(actuators),
        **network_arrays(actuators),
        **_pulling_arrays(mechanism),
        ncompensated=len(mechanism.gravity_compensation),
        transmission_start=spans.start,
        transmission_count=spans.count,
        transmission_q=[transmission.q for transmission in transmissions],
        transmission_v=[transmission.v for transmission in transmissions],
        transmission_length=[transmission.length for transmission in transmissions],
        transmission_gear=[transmission.gear for transmission in transmissions],
        actuator_gain=[actuator.gain for actuator in actuators],
        actuator_bias=[actuator.bias for actuator in actuators],
        command_range=[_finite(actuator.limits) for actuator in actuators],
        force_range=[_finite(actuator.force_limits) for actuator in actuators],
        actuation_range=[_finite(joint.limits.actuation) for joint in mechanism.joints for _ in range(joint.type.nv)],
        compensated_mass=mass,
        compensated_mc=mc,
        **tables,
    )


def _activation_arrays(actuators: Sequence[Actuator]) -> dict[str, Any]:
    """Which actuators have activations, and how these follow commands."""
    kinds = [_state_kinds(actuator) for actuator in actuators]
    starts = np.cumsum([0, *map(len, kinds)]).tolist()
    own = [k for k, matches in enumerate(kinds) for _ in matches]

    def first(kind: int | None) -> list[int]:
        """Of each actuator its first state of a kind, or of its own dynamics, or -1."""
        wanted = [ACTIVATIONS.get(a.dynamics) if kind is None else kind for a in actuators]
        return [s + f.index(x) if x in f else -1 for s, f, x in zip(starts, kinds, wanted, strict=False)]

    return {
        "na": len(own),
        "actuator_act": first(None),
        "actuator_integral": first(ERROR_INTEGRAL),
        "actuator_register": first(REGISTER),
        "actuator_registers": [0 if a.motor is None else a.motor.registers for a in actuators],
        "actuator_curve": [int(a.motor is not None and isfinite(a.motor.stall)) for a in actuators],
        "actuator_rubs": [int(a.motor is not None and a.motor.rubs) for a in actuators],
        "actuator_play": [int(a.motor is not None and a.motor.backlash > 0) for a in actuators],
        "actuator_memory": first(NETWORK_MEMORY),
        "motor": [np.clip((a.motor or Motor()).numbers, -UNBOUNDED, UNBOUNDED) for a in actuators],
        "act_actuator": own,
        "act_dynamics": [kind for matches in kinds for kind in matches],
        "act_early": [int(actuators[k].early) for k in own],
        "act_time_constant": [actuators[k].time_constant for k in own],
        "act_muscle": [_times(actuators[k].muscle) for k in own],
        **_muscle_arrays(actuators),
        "act_range": [_state_range(a, kind) for a, matches in zip(actuators, kinds, strict=True) for kind in matches],
    }


def _state_kinds(actuator: Actuator) -> list[int]:
    """Kinds of the activations of an actuator, in the order of `Actuator.states`."""
    kinds = [ACTIVATIONS[actuator.dynamics]] if actuator.has_activation else []
    if actuator.motor is not None:
        kinds += [ERROR_INTEGRAL] * (actuator.motor.integral > 0) + [REGISTER] * actuator.motor.registers
        kinds += [NETWORK_MEMORY] * actuator.motor.memory
    return kinds


def _state_range(actuator: Actuator, kind: int) -> tuple[float, float]:
    if kind == ERROR_INTEGRAL and actuator.motor is not None:
        return _finite((-actuator.motor.windup, actuator.motor.windup))
    return (-UNBOUNDED, UNBOUNDED) if kind in (REGISTER, NETWORK_MEMORY) else _finite(actuator.activation_limits)


def _times(muscle: Muscle | None) -> tuple[float, float, float]:
    return (1.0, 1.0, 0.0) if muscle is None else (muscle.rise, muscle.fall, muscle.smoothing)


def _muscle_arrays(actuators: Sequence[Actuator]) -> dict[str, Any]:
    """Numbers of the actuators that pull as muscles."""
    own = [k for k, a in enumerate(actuators) if a.muscle is not None and (a.muscle.pulls or a.muscle.stretches)]
    return {
        "actuator_muscle": [own.index(k) if k in own else -1 for k in range(len(actuators))],
        "muscle": [_muscle_numbers(m) for k in own if (m := actuators[k].muscle) is not None],
    }


def _muscle_numbers(m: Muscle) -> list[float]:
    optimal = (m.lengths[1] - m.lengths[0]) / (m.range[1] - m.range[0])
    curves = [m.shortest, m.longest, m.velocity, m.passive, m.lengthening, float(m.pulls), float(m.stretches)]
    return [m.lengths[0], optimal, m.peak, m.range[0], *curves]


def _pulling_arrays(mechanism: Model) -> dict[str, Any]:
    """Which actuators pull which tendons."""
    number = {tendon.name: t for t, tendon in enumerate(mechanism.tendons)}
    return {
        "actuator_tendon": [number.get(actuator.tendon, -1) for actuator in mechanism.actuators],
        "tendon_gear": [actuator.gear[0] if actuator.tendon else 0.0 for actuator in mechanism.actuators],
    }


def _finite(bounds: tuple[float, float]) -> tuple[float, float]:
    return max(bounds[0], -UNBOUNDED), min(bounds[1], UNBOUNDED)
