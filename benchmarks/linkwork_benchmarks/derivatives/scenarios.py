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

    family: Literal["chain", "branched", "star"]
    """A chain; a chain of half as many links with another at each; limbs on a floating base."""
    sizes: tuple[int, ...] = (8, 16, 32, 64, 128)

    @property
    def name(self) -> str:
        """Of its results."""
        return f"growth.{self.family}"


@dataclass(frozen=True)
class HeldGrowth:
    """Operations of Jacobians of chains of growing size whose tip is held."""

    rows: Literal[3, 6]
    """At a point (3), or welded to the world (6)."""
    sizes: tuple[int, ...] = (8, 16, 32, 64, 128)

    @property
    def name(self) -> str:
        """Of its results."""
        return f"held_growth.{self.rows}"


@dataclass(frozen=True)
class Feet:
    """Times and operations of all Jacobians of a robot whose feet are held, beside Pinocchio's."""

    robot: str
    joints: tuple[str, ...]
    """The last joints of its legs, whose bodies are welded to the world (6 rows each) or held at a point (3)."""
    rows: Literal[3, 6] = 6
    compiled: bool = False
    batch: int = BATCH

    @property
    def name(self) -> str:
        """Of its results."""
        return f"constrained.{self.robot}"


Scenario = Jacobians | Growth | HeldGrowth | Feet

ROBOTS = ("talos", "simple_humanoid", "go2", "iiwa14", "ur5")

SCENARIOS: tuple[Scenario, ...] = (
    *(Jacobians(robot, "forward", compiled=True) for robot in ROBOTS),
    *(Jacobians(robot, "inverse", compiled=True) for robot in ROBOTS),
    Feet("simple_humanoid", ("RLEG_ANKLE_R", "LLEG_ANKLE_R"), compiled=True),
    Feet("talos", ("leg_left_6_joint", "leg_right_6_joint")),
    Feet("go2", ("FL_calf_joint", "FR_calf_joint", "RL_calf_joint", "RR_calf_joint"), 3, compiled=True),
    Growth("chain"),
    Growth("branched"),
    Growth("star", (2, 4, 8, 16)),
    HeldGrowth(3),
    HeldGrowth(6),
)


def smaller(scenario: Scenario) -> Scenario:
    """The same, for a quick look."""
    if isinstance(scenario, Jacobians | Feet):
        return replace(scenario, compiled=False, batch=8)
    return replace(scenario, sizes=scenario.sizes[:2])
