# SPDX-License-Identifier: BSD-3-Clause
"""What is measured, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

BATCH = 64
"""States of a batch."""


@dataclass(frozen=True)
class Jacobians:
    """Times and operations of all Jacobians of a tree, beside Pinocchio's."""

    robot: str
    dynamics: Literal["forward", "inverse"]
    compiled: bool = False
    """Whether a straight-line program is made too, in seconds to minutes."""
    batch: int = BATCH

    @property
    def name(self) -> str:
        """Of its results."""
        return f"{self.dynamics}.{self.robot}"


@dataclass(frozen=True)
class Growth:
    """Operations of Jacobians of mechanisms of growing size."""

    family: Literal["chain", "star"]
    sizes: tuple[int, ...] = (8, 16, 32, 64)

    @property
    def name(self) -> str:
        """Of its results."""
        return f"growth.{self.family}"


Scenario = Jacobians | Growth

ROBOTS = ("talos", "simple_humanoid", "go2", "iiwa14", "ur5")

SCENARIOS: tuple[Scenario, ...] = (
    *(Jacobians(robot, "forward", robot in ("go2", "iiwa14", "ur5")) for robot in ROBOTS),
    *(Jacobians(robot, "inverse", robot != "talos") for robot in ROBOTS),
    Growth("chain"),
    Growth("star", (2, 4, 8, 16)),
)


def smaller(scenario: Scenario) -> Scenario:
    """The same, for a quick look."""
    if isinstance(scenario, Jacobians):
        return replace(scenario, compiled=False, batch=8)
    return replace(scenario, sizes=scenario.sizes[:2])
