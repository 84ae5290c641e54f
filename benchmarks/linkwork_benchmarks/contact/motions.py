# SPDX-License-Identifier: BSD-3-Clause
"""Motions that are measured, as data, and how: facts of mechanics, energies, impacts, random scenes, MuJoCo's motion.

Names of metrics begin with the name of a scenario: ``physics.rolling``, ``motion.dominoes``, ``impacts.first``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork_benchmarks.contact import impacts, mujoco, physics, robustness
from linkwork_benchmarks.contact.motion import move
from linkwork_benchmarks.robots import Floats
from linkwork_benchmarks.runner import Journal, Settings, say
from linkwork_benchmarks.scenario import NamedScenario


@dataclass(frozen=True)
class Fact(NamedScenario):
    """A fact of mechanics."""

    NAME = "physics.{fact}"

    fact: str
    seconds: float = 10.0


@dataclass(frozen=True)
class Moving(NamedScenario):
    """A scene without restitution and motors: residuals, iterations, energy."""

    NAME = "motion.{scene}"

    scene: str
    seconds: float = 2.0


@dataclass(frozen=True)
class Impacts(NamedScenario):
    """Random impacts."""

    NAME = "impacts.{which}"

    which: str
    first: int
    count: int


@dataclass(frozen=True)
class RandomScenes(NamedScenario):
    """Random scenes that are hard on purpose."""

    NAME = "robustness.{which}"

    which: str
    count: int


@dataclass(frozen=True)
class Beside(NamedScenario):
    """A scene beside MuJoCo: differences by the time of a step."""

    NAME = "mujoco.{scene}"

    scene: str
    steps: tuple[float, ...] = (1e-3, 2.5e-4, 6.25e-5)


Motions = Fact | Moving | Impacts | RandomScenes | Beside


@dataclass(frozen=True)
class Compared:
    """A scene that moves in MuJoCo, too."""

    make: Callable[[], lw.Mechanism]
    v: tuple[float, ...] | None
    seconds: float
    friction_time: float | None = None
    mass: float = 1.0


def _soft(scene: lw.Mechanism, compliance: float) -> lw.Mechanism:
    return replace(scene, contacts=tuple(replace(pair, compliance=compliance) for pair in scene.contacts))


FLAT = (0.2, 0.2, 0.05)
COMPARED = {
    "box that slides": Compared(lambda: zoo.sliding_box(FLAT, friction=0.3), (1, 0, 0, 0, 0, 0), 0.4, 0.005),
    "ball that comes to roll": Compared(lambda: zoo.rolling_sphere(0.0, 0.2), (1, 0, 0, 0, 0, 0), 0.3, 0.005),
    "boxes on a slope": Compared(lambda: zoo.boxes_on_slope(0.4, (0.3, 0.5), FLAT), None, 0.5, 0.01),
    "box that rocks": Compared(lambda: zoo.sliding_box((0.1, 0.1, 0.3), friction=0.8), (0.3, 0, 0, 0, 2.5, 0), 0.4),
    "three dominoes": Compared(lambda: zoo.dominoes(3, tilt=0.25), None, 0.25),
    "pinched capsule": Compared(zoo.pinched_capsule, None, 0.5),
    "ball on soft ground": Compared(lambda: _soft(zoo.bouncing_ball(0.0, 0.05), 1e-4), None, 0.4),
    "box that slides on soft ground": Compared(
        lambda: _soft(zoo.sliding_box(FLAT, friction=0.3), 1e-5), (1, 0, 0, 0, 0, 0), 0.3, 0.02
    ),
    "box that slides and spins": Compared(lambda: zoo.sliding_box(FLAT, friction=0.3), (1, 0.3, 0, 0, 0, 3), 0.3, 0.02),
}

MOTIONS: tuple[Motions, ...] = (
    *(Fact(name) for name in physics.FACTS),
    *(Moving(name) for name in physics.SCENES),
    Impacts("first", 0, impacts.FIRST),
    Impacts("more", impacts.FIRST, 2000),
    RandomScenes("random scenes", 2000),
    *(Beside(name) for name in COMPARED),
)


def smaller_motion(scenario: Motions) -> Motions:
    """The same in a fraction of the time."""
    match scenario:
        case Fact():
            return replace(scenario, seconds=0.2)
        case Moving():
            return replace(scenario, seconds=0.05)
        case Impacts() | RandomScenes():
            return replace(scenario, count=5)
        case Beside():
            return replace(scenario, steps=(1e-3,))


def difference(compared: Compared, dt: float) -> dict[str, float]:
    """The largest difference of any coordinate from MuJoCo's, how far bodies move, and what both took."""
    scene, steps = compared.make(), round(compared.seconds / dt)
    q, v = scene.poses[zoo.ASSEMBLED], np.zeros(scene.nv) if compared.v is None else np.array(compared.v)
    ours = move(lw.contact.ContactStep(scene, dt), q, v, steps)
    theirs = mujoco.move(scene, q, v, dt, steps, compared.mass, compared.friction_time)
    return {"difference": largest_difference(scene, ours.q, theirs), "moved": float(np.abs(ours.q - q).max())}


def largest_difference(scene: lw.Mechanism, ours: Floats, theirs: Floats) -> float:
    """Of any coordinate; a quaternion may have either sign."""
    same = theirs.copy()
    for at in scene.unit_slices():
        same[:, at] *= np.sign((same[:, at] * ours[:, at]).sum(axis=1, keepdims=True))
    return float(np.abs(ours - same).max())


def measure_motion(scenario: Motions, settings: Settings, journal: Journal) -> None:
    """Measure one scenario."""
    match scenario:
        case Fact():
            found = physics.FACTS[scenario.fact](scenario.seconds)
            if scenario.fact == "pinching":
                found["mujoco"] = mujoco.creep(zoo.pinched_capsule(), min(scenario.seconds, 4.0))
        case Moving():
            _, found = physics.moved(scenario.scene, scenario.seconds)
        case Impacts():
            found = impacts.solve(range(scenario.first, scenario.first + scenario.count)).metrics()
        case RandomScenes():
            outcomes = robustness.run(range(scenario.count))
            found = outcomes.metrics()
            for error in outcomes.errors[:3]:
                journal.note(f"{scenario.name}: {error}")
        case Beside():
            found = {}
            for dt in scenario.steps:
                each = difference(COMPARED[scenario.scene], dt)
                found |= {f"{dt!r}.{key}": value for key, value in each.items()}
    journal.metrics |= {f"{scenario.name}.{key}": value for key, value in found.items()}
    say("  " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()))
