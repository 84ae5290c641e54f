# SPDX-License-Identifier: BSD-3-Clause
"""What is measured beside peers on a GPU, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwork.inputs import Precision
from linkwork_benchmarks.scenario import NamedScenario


@dataclass(frozen=True)
class Fall(NamedScenario):
    """Robots fall from the first pose of their file with noise, land, and come to rest; commands are zero."""

    NAME = "gpu_peers.{scene}.{robots}.{dtype}"

    scene: str
    robots: int
    dtype: Precision = "float32"
    dt: float = 5e-3
    contacts: int = 64
    """Contacts of a world that the peer has room for."""
    rows: int = 256
    """Constraint rows of a world that the peer has room for."""
    steps: int = 50
    """Steps of a phase that are timed."""
    compile: bool | None = None
    """Whether it is a program for the robot, as in `Simulation`."""


PHASES: dict[str, int] = {"falling": 1, "landing": 80, "at rest": 400}
"""The step at which each phase begins."""

SCENARIOS: tuple[Fall, ...] = (
    *(Fall(scene, robots) for scene in ("humanoid", "g1") for robots in (1024, 4096, 8192, 32_768)),
    *(Fall("humanoid", robots, "float64") for robots in (4096, 8192)),
)


def smaller(scenario: Fall) -> Fall:
    """For a quick look."""
    return replace(scenario, robots=min(scenario.robots, 1024), steps=20)
