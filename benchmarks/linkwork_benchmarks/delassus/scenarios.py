# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of Delassus operators, as data. A new scene, family, robot or method is one entry here.

Names of metrics begin with the name of a scenario: ``table.Go2 standing``, ``growth.swimmer``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import linkwork as lw
from linkwork import zoo
from linkwork_benchmarks import scenes
from linkwork_benchmarks.constrained.scenarios import PROXIMAL_ROBOTS
from linkwork_benchmarks.delassus import robots
from linkwork_benchmarks.scenario import NamedScenario

Make = Callable[[], lw.Mechanism]

EXPLICIT = ("ltl", "pv_osim", "efpa")
"""Our methods for the matrix that are timed beside the operator."""

METHODS = ("ltl", "pv_osim", "pv_osimr", "pv_osim_fast", "efpa", "kjr")
"""Methods whose operations are counted (**lqr** Fig. 2)."""

DAMPING = 1e-3
"""Of every row, per kg: the paper gives none."""
STIFF = 1e-6
"""A damping that makes the inverse refine what it finds."""
NEW = 2e-3
"""Another damping."""


@dataclass(frozen=True)
class Table(NamedScenario):
    """A row of **delassus** Table I: the operator and its damped inverse, ours, Pinocchio's and dense ones."""

    NAME = "table.{row}"

    row: str
    make: Make
    specialized: int = 120_000
    """Programs with more operations are timed natively only."""
    counted: int = 1000
    """Operations are not counted, nor programs made, where there are more rows."""
    explicit: tuple[str, ...] = EXPLICIT


@dataclass(frozen=True)
class Growth(NamedScenario):
    """A scene that grows (**delassus** Fig. 2): native times, and operations where they are counted quickly."""

    NAME = "growth.{family}"

    family: str
    make: Callable[[int], lw.Mechanism]
    sizes: tuple[int, ...]
    counted: int = 200
    explicit: Mapping[str, int] = field(default_factory=lambda: {"ltl": 50, "pv_osim": 50})
    """Our methods that make the matrix, and up to which size."""
    peers: int = 100
    """Pinocchio takes part up to this size."""


@dataclass(frozen=True)
class Operations(NamedScenario):
    """Operations to make the matrix and its factor (**lqr** Fig. 2a to 2d)."""

    NAME = "operations.{robot}"

    robot: str
    make: Make
    methods: tuple[str, ...] = METHODS


@dataclass(frozen=True)
class Stalk(NamedScenario):
    """Operations on a long stem with branches at both ends (**lqr** Fig. 2e, 2f)."""

    NAME = "stalk.{branches}"

    branches: int
    stems: tuple[int, ...]
    methods: tuple[str, ...] = ("pv_osim", "efpa")


@dataclass(frozen=True)
class Extraction(NamedScenario):
    """The matrix and its damped inverse as matrices (**proximal** Figs. 6, 7)."""

    NAME = "extraction.{robot}"

    robot: str
    make: Make
    specialized: int = 60_000


Scenario = Table | Growth | Operations | Stalk | Extraction

SCENES: Mapping[str, Make] = {
    "Go2 standing": robots.go2_standing,
    "Go2 standing, friction": partial(robots.go2_standing, True),
    "Go2 fallen": robots.go2_fallen,
    "Go2 fallen, friction": partial(robots.go2_fallen, True),
    "Cassie": robots.cassie,
    "Cassie, friction": partial(robots.cassie, True),
    "Cassie with loops": robots.cassie_with_loops,
    "Cassie with loops, friction": partial(robots.cassie_with_loops, True),
    "G1 standing": robots.g1_standing,
    "G1 standing, friction": partial(robots.g1_standing, True),
    "G1 fallen": robots.g1_fallen,
    "G1 fallen, friction": partial(robots.g1_fallen, True),
    "Stack of boxes": zoo.stack,
    "Box pyramid": zoo.pyramid,
    "Pyramid and robots": zoo.robots_on_pyramid,
}
"""The rows of **delassus** Table I, and Cassie with its loops, which the table leaves out."""

SIZES = (10, 20, 50, 100, 200, 500, 1000)

COUNTED = tuple(name for name, scene in scenes.LQR_TABLE.items() if scene.rows)
"""Robots and row sets of **lqr** Fig. 2, by the names of its Table II: all that have rows."""

BRANCHES = (2, 4, 6, 8, 9, 10)
STEMS = (2, 4, 8, 16, 54)

SCENARIOS: tuple[Scenario, ...] = (
    *(Table(row, make) for row, make in SCENES.items()),
    Growth("swimmer", zoo.swimmer, SIZES),
    Growth("stack", zoo.stack, SIZES, explicit={}, peers=20),
    *(Operations(name, scenes.LQR_TABLE[name].make) for name in COUNTED),
    *(Stalk(branches, STEMS) for branches in BRANCHES),
    *(Extraction(name, make) for name, make in PROXIMAL_ROBOTS.items() if not name.endswith("(0)")),
)


def smaller(scenario: Scenario) -> Scenario:
    """The same in a fraction of the time, for ``--quick``."""
    match scenario:
        case Table():
            return replace(scenario, specialized=6_000, counted=200)
        case Growth():
            sizes = tuple(n for n in scenario.sizes if n <= 200)
            return replace(scenario, sizes=sizes, counted=50, explicit=dict.fromkeys(scenario.explicit, 20), peers=20)
        case Operations():
            return scenario
        case Stalk():
            return replace(scenario, stems=tuple(n for n in scenario.stems if n in (2, 8)))
        case Extraction():
            return replace(scenario, specialized=0)
