"""What kernels read of actuators and of gravity compensation, beside the arrays of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.model import Model
from linkwork.plans.elimination import COUPLED
from linkwork.plans.layout import Layout, Shape
from linkwork.plans.tree import TREE, Tree, plant, tree_of

BEYOND = 1e30
"""A limit that nothing reaches."""

_SIZES = (
    "nu",  # actuators
    "npulls",  # pairs of an actuator and a degree of freedom that it drives
    "ncompensated",  # bodies with gravity compensation
)
_INTEGERS: dict[str, Shape] = {
    "pull_start": ("nu",),  # degrees of freedom of an actuator: first and count
    "pull_count": ("nu",),
    "pull_q": ("npulls",),
    "pull_v": ("npulls",),
}
_FLOATS: dict[str, Shape] = {
    "pull_length": ("npulls",),  # what a coordinate adds to the length; zero where it is no plain number
    "pull_gear": ("npulls",),
    "gain": ("nu", 3),
    "bias": ("nu", 3),
    "command_range": ("nu", 2),
    "force_range": ("nu", 2),
    "actuation_range": ("nv", 2),  # of the torques of all actuators together
    "held_mass": ("n",),  # mass whose weight is held up,
    "held_mc": ("n", 3),  # and its first moment
}


def _driven(layout: Layout) -> Layout:
    return layout.extended(f"driven_{layout.name}", _SIZES, _INTEGERS, _FLOATS)


DRIVEN, DRIVEN_COUPLED = _driven(TREE), _driven(COUPLED)
"""A mechanism with its actuators: without constraints, and with them and the order of elimination."""


def driven_tree(mechanism: Model) -> Tree:
    """The arrays of a mechanism without its constraints, with its actuators."""
    return with_actuators(mechanism, tree_of(mechanism), DRIVEN)


def with_actuators(mechanism: Model, tree: Tree, layout: Layout) -> Tree:
    """The arrays of a mechanism with those of its actuators."""
    arrays: dict[str, Any] = {name: [] for name in (*_INTEGERS, *_FLOATS)}
    for actuator in mechanism.actuators:
        arrays["pull_start"].append(len(arrays["pull_q"]))
        for name, gears in actuator.gears:
            joint, in_q, in_v = mechanism.joint(name), mechanism.q_slice(name), mechanism.v_slice(name)
            plain = joint.type.nq == joint.type.nv
            for k, gear in enumerate(gears):
                arrays["pull_q"].append(in_q.start + k)
                arrays["pull_v"].append(in_v.start + k)
                arrays["pull_length"].append(gear if plain else 0.0)
                arrays["pull_gear"].append(gear)
        arrays["pull_count"].append(len(arrays["pull_q"]) - arrays["pull_start"][-1])
        arrays["gain"].append(actuator.gain)
        arrays["bias"].append(actuator.bias)
        arrays["command_range"].append(_finite(actuator.limits))
        arrays["force_range"].append(_finite(actuator.force_limits))
    for joint in mechanism.joints:
        arrays["actuation_range"] += [_finite(joint.limits.actuation)] * joint.type.nv
    mass, mc = np.zeros(tree.n), np.zeros((tree.n, 3))
    if mechanism.gravity_compensation:
        ground = plant(mechanism)[1]
        for body, held in mechanism.gravity_compensation.items():
            i = ground.number[body]
            seen = held.moved(ground.inner[i].inverse())
            mass[i], mc[i] = seen.mass, seen.mass * seen.com
    sizes = {
        "nu": len(mechanism.actuators),
        "npulls": len(arrays["pull_q"]),
        "ncompensated": len(mechanism.gravity_compensation),
    }
    shaped: dict[str, Any] = {name: np.array(arrays[name], dtype=np.int64) for name in _INTEGERS}
    for name, shape in _FLOATS.items():
        extents = [sizes.get(str(size), getattr(tree, str(size), size)) for size in shape]
        shaped[name] = np.array(arrays[name], dtype=np.float64).reshape(extents) if arrays[name] else np.zeros(extents)
    shaped |= {"held_mass": mass, "held_mc": mc}
    return layout.type(**tree._asdict(), **sizes, **shaped)


def _finite(bounds: tuple[float, float]) -> tuple[float, float]:
    return max(bounds[0], -BEYOND), min(bounds[1], BEYOND)
