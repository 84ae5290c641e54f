# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of contacts, as data. A new pile or family is one entry here.

Names of metrics begin with the name of a scenario: ``solve.10 boxes``, ``growth.boxes``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from linkwork_benchmarks.contact.motions import MOTIONS, Motions, smaller_motion
from linkwork_benchmarks.contact.piles import Pile, pyramid, stack
from linkwork_benchmarks.scenario import NamedScenario

RESIDUAL = 1e-8
"""What every solver is to reach, in m/s."""


@dataclass(frozen=True)
class Solve(NamedScenario):
    """One problem by every solver: iterations, residual, time; and whole steps of the same scene."""

    NAME = "solve.{pile}"

    pile: str
    make: Callable[[], Pile]
    scene: tuple[str, tuple[float, ...]] = ("boxes", ())
    """The scene of the zoo and what it is made of: masses of a stack, layers of a pyramid."""
    most: int = 20_000
    """Iterations that a solver may take."""


@dataclass(frozen=True)
class Growth(NamedScenario):
    """A scene that grows: time of an iteration of a step, by size."""

    NAME = "growth.{family}"

    family: str
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class OnGround(NamedScenario):
    """Cassie on the ground in a batch on one core, beside ``mj_step``."""

    NAME = "robots.cassie.{motion}"

    motion: str
    seconds: float
    robots: int = 4096
    rounds: int = 3


Scenario = Solve | Growth | OnGround | Motions

SIZES = (10, 20, 50, 100, 200, 500)


def masses(boxes: int, top: float = 1.0) -> tuple[float, ...]:
    """Of a stack whose highest box has another mass."""
    return (*(1.0,) * (boxes - 1), top)


def _stack(title: str, boxes: int, top: float = 1.0) -> Solve:
    given = masses(boxes, top)
    return Solve(title, lambda: stack(given), ("boxes", given))


ONE, TEN, TWENTY = "one box", "10 boxes", "20 boxes"
THOUSAND, TEN_THOUSAND = "10 boxes, the top one 1000 kg", "10 boxes, the top one 10 000 kg"
PYRAMID = "pyramid of 55"

SCENARIOS: tuple[Scenario, ...] = (
    _stack(ONE, 1),
    _stack(TEN, 10),
    _stack(TWENTY, 20),
    _stack(THOUSAND, 10, 1e3),
    _stack(TEN_THOUSAND, 10, 1e4),
    Solve(PYRAMID, lambda: pyramid(10), ("box_pyramid", (10,)), most=10_000),
    Growth("boxes", SIZES),
    Growth("swimmer", SIZES),
    OnGround("standing", 0.5),
    OnGround("pushed", 0.2),
    OnGround("dropped", 0.2),
    *MOTIONS,
)


def smaller(scenario: Scenario) -> Scenario:
    """The same in a fraction of the time, for ``--quick``."""
    match scenario:
        case Solve():
            return replace(scenario, most=2_000)
        case Growth():
            return replace(scenario, sizes=tuple(n for n in scenario.sizes if n <= 50))
        case OnGround():
            return replace(scenario, robots=64, rounds=1, seconds=0.02)
        case _:
            return smaller_motion(scenario)
