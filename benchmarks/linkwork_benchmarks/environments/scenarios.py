# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of environments, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwork_benchmarks.scenario import NamedScenario


@dataclass(frozen=True)
class Throughput(NamedScenario):
    """Random actions in all rows of a vector environment, episodes that end starting anew, on one core."""

    NAME = "environments.{id}"

    id: str
    num_envs: int = 256
    actions: int = 40
    """Actions of each environment in a round."""
    compiled: bool = True
    """Whether a program for the robot is measured, too."""


SCENARIOS: tuple[Throughput, ...] = (
    Throughput("Hopper-v0"),
    Throughput("BallBalance-v0"),
    Throughput("CassieStand-v0"),
)


def smaller(scenario: Throughput) -> Throughput:
    """For a quick look."""
    return replace(scenario, num_envs=16, actions=5, compiled=False)
