# SPDX-License-Identifier: BSD-3-Clause
"""Every quantity of a mechanism as a case to run by every backend: what to ask for, and random inputs for it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from linkwork import zoo
from linkwork.mechanism import Mechanism
from linkwork.model.inertia import Inertia
from linkwork.model.parts import Actuator
from linkwork.model.tendons import Tendon
from linkwork.quantities.evaluator import QUANTITIES, Evaluator
from tests.support.states import random_state


class Case(NamedTuple):
    """A quantity, and the axes of its vectors."""

    quantity: str
    reference: str = "local"

    def __str__(self) -> str:
        return self.quantity if self.reference == "local" else f"{self.quantity}-{self.reference}"


CASES = [Case(quantity) for quantity in QUANTITIES]
CASES += [Case(q, r) for q in ("frame_velocity", "frame_jacobian") for r in ("aligned", "world")]
CASES += [Case("frame_acceleration", "aligned")]

FRAMES = ("frame0", "frame2", "world")


@cache
def tree(seed: int) -> Mechanism:
    """Four bodies; seeds 0 to 3 together have every joint type, armature, and several roots."""
    kinds = ("rphu", "sSf", "rsu", "fhpS")[seed % 4]
    return driven(zoo.random_tree(seed, bodies=4, kinds=kinds, armature=seed % 2 == 0), seed)


def driven(robot: Mechanism, seed: int) -> Mechanism:
    """The robot with an actuator on each joint, a servo where coordinates are plain numbers, and part of it held up.

    Where it has frames, an actuator with an activation pulls a tendon with a spring through them.
    """
    rng = np.random.default_rng([seed, 8])
    actuators = []
    for joint in robot.joints:
        gain, bias = rng.normal(size=(2, 3))
        if joint.type.nq != joint.type.nv:
            gain[1] = bias[1] = 0.0
        gear = tuple(rng.normal(size=joint.type.nv))
        actuators.append(
            Actuator(f"{joint.name}_servo", joint.name, gear, (-1.0, 2.0), tuple(gain), tuple(bias), (-3.0, 3.0))
        )
    tendons = ()
    if {*FRAMES} <= robot.frames.keys():
        tendons = (Tendon("rope", path=("frame0", "world", "frame2"), stiffness=3.0, damping=0.2, rest=(0.1, 0.5)),)
        law = {"gain": (1.0, 0.2, 0.3), "dynamics": "filterexact", "time_constant": 0.3}
        actuators.append(Actuator("winch", "", (0.7,), tendon="rope", **law))
    held = {name: Inertia(0.3 * inertia.mass, inertia.com) for name, inertia in list(robot.inertias.items())[:2]}
    return replace(robot, actuators=tuple(actuators), tendons=tendons, gravity_compensation=held)


@cache
def native(case: Case, robot: Mechanism, threads: int | None = None) -> Evaluator:
    """The case for a robot, external wrenches on all of `FRAMES`."""
    takes_frames = "wrenches" in QUANTITIES[case.quantity].inputs or case.quantity.startswith(("frame", "point"))
    return Evaluator(robot, case.quantity, FRAMES if takes_frames else (), case.reference, threads)


@cache
def specialized(case: Case, robot: Mechanism, lanes: int = 4, dtype: str = "float64", threads: int = 1) -> Evaluator:
    """The same, compiled for the robot."""
    return native(case, robot).compile(lanes=lanes, dtype=dtype, threads=threads)


def inputs(case: Case, robot: Mechanism, seed: int, *lead: int) -> list[Any]:
    """Random arguments with batch axes ``lead``."""
    rng = np.random.default_rng([seed, 7])
    sizes = {"nq": robot.nq, "nv": robot.nv, "nf": len(FRAMES), "ncommands": len(robot.actuators) + robot.na}
    found = []
    for name, shape in QUANTITIES[case.quantity].inputs.items():
        numbers = tuple(sizes[n] if isinstance(n, str) else n for n in shape)
        found.append(configurations(robot, seed, lead) if name == "q" else rng.normal(size=(*lead, *numbers)))
    return found


@lru_cache(maxsize=64)
def configurations(robot: Mechanism, seed: int, lead: tuple[int, ...]) -> Any:
    """Random configurations, the same for every quantity."""
    found = random_state(robot, seed, *lead).q
    found.setflags(write=False)
    return found


def results(evaluator: Evaluator, arguments: list[Any]) -> list[Any]:
    """All outputs, also where there is but one."""
    found = evaluator(*arguments)
    found = getattr(found, "acceleration", found)
    return list(found) if isinstance(found, tuple) else [found]
