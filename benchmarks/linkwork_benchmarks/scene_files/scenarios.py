# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of scenes of others, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwork_benchmarks.scenario import NamedScenario
from linkwork_benchmarks.scene_files.files import FILES
from linkwork_benchmarks.scene_files.systems import SCENES


@dataclass(frozen=True)
class Motion(NamedScenario):
    """A scene moves from its start: times of steps, one state and batches, and what the steps report."""

    NAME = "scenes.{scene}"

    scene: str
    seconds: float = 5.0
    """Simulated time; less where steps are slow."""
    states: int = 4096
    """Of a batch; fewer where steps are slow. Zero: batches are not measured."""


@dataclass(frozen=True)
class FarPairs(NamedScenario):
    """The humanoid on the ground with spheres far away, each of which may touch each of its shapes."""

    NAME = "far_pairs"

    spheres: tuple[int, ...] = (0, 5, 10, 27, 53, 106)


@dataclass(frozen=True)
class Growth(NamedScenario):
    """Boxes that lie apart on the ground: time of a step against their number."""

    NAME = "growth"

    bodies: tuple[int, ...] = (10, 30, 100, 300)


@dataclass(frozen=True)
class FirstCall(NamedScenario):
    """The first step of a robot in a fresh process: with an empty cache, and with a full one."""

    NAME = "first_call.{scene}"

    scene: str


Scenario = Motion | FarPairs | Growth | FirstCall

SCENARIOS: tuple[Scenario, ...] = (
    *(Motion(name, states=0 if name.startswith("pile of") else 4096) for name in SCENES),
    *(Motion(name) for name in FILES),
    FarPairs(),
    Growth(),
    FirstCall("humanoid falls"),
)


def smaller(scenario: Scenario) -> Scenario:
    """For a quick look."""
    match scenario:
        case Motion():
            return replace(scenario, seconds=0.1, states=min(scenario.states, 16))
        case FarPairs():
            return replace(scenario, spheres=(0, 5))
        case Growth():
            return replace(scenario, bodies=(2, 4))
    return scenario
