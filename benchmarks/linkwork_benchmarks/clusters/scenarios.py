# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of transmissions, as data. A new system, family or method is one entry here.

Names of metrics begin with the name of a scenario: ``systems.Tello``, ``growth.belt_chain``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import linkwork as lw
from linkwork import zoo
from linkwork_benchmarks.clusters.robots import SUBJECTS, Subject, bare_stalk, geared_stalk
from linkwork_benchmarks.scenario import NamedScenario

FORWARD = ("cluster", "projection", "ltl", "lcaba", "prox_bbo", "approximate")
"""Methods of forward dynamics: the paper's (Table III, Fig. 10), and two that iterate."""

INVERSE = ("cluster", "projected", "rnea", "approximate")
"""The same of inverse dynamics (Table II, Fig. 9); `rnea` is that of the tree with rotors, loops cut."""

INERTIA = ("efpa", "projection", "approximate")
"""The same of the inverse inertia of end effectors (Table IV, Figs. 12, 13)."""

METHODS: Mapping[str, tuple[str, ...]] = {"inverse": INVERSE, "forward": FORWARD, "inertia": INERTIA}
OURS: Mapping[str, str] = {"inverse": "cluster", "forward": "cluster", "inertia": "efpa"}
"""The method by clusters: what others are compared with."""
TITLES: Mapping[str, str] = {"inverse": "C-RNEA", "forward": "C-ABA", "inertia": "C-EFPA"}


@dataclass(frozen=True)
class System(NamedScenario):
    """Inverse and forward dynamics and inverse inertia of one system: our methods beside those of the bare tree."""

    NAME = "systems.{system}"

    system: str
    subject: Subject
    specialized: int = 60_000
    """Programs with more operations are timed natively only."""


@dataclass(frozen=True)
class Growth(NamedScenario):
    """A chain that grows: native times and operation counts over the number of links."""

    NAME = "growth.{quantity}_of_{family}"

    family: str
    make: Callable[[int], lw.Mechanism]
    sizes: tuple[int, ...]
    quantity: str = "forward"
    methods: tuple[str, ...] = FORWARD


@dataclass(frozen=True)
class Parallel(NamedScenario):
    """Parallel chains with a loop: native times and operation counts over depth and size of the loop."""

    NAME = "parallel.{kind}"

    kind: str
    """``"explicit"`` or ``"implicit"``."""
    loops: Mapping[int, tuple[int, ...]]
    """Sizes of loops by depth."""
    methods: tuple[str, ...] = FORWARD[:5]


@dataclass(frozen=True)
class Stem(NamedScenario):
    """Operations of C-EFPA over the links of a stem with chains at both ends, whose tips are the end effectors."""

    NAME = "stem.{family}"

    family: str
    make: Callable[[int, int], lw.Mechanism]
    stems: tuple[int, ...]
    branches: int = 8


@dataclass(frozen=True)
class Torques(NamedScenario):
    """Torques of one leg that follows sines, by the exact dynamics and by others (Fig. 14)."""

    NAME = "leg"

    side: str = "right"
    amplitude: float = 0.5
    """Radians, of every joint."""
    frequency: float = 1.5
    """Periods a second: the paper's omega, which it multiplies by 2 pi."""
    states: int = 3000
    """Moments of one period."""
    points: int = 60
    """Of which curves keep so many."""


Scenario = System | Growth | Parallel | Stem | Torques

LINKS = (2, 4, 8, 12, 16, 20, 24, 36, 48, 72, 96)
"""Of chains: those of Fig. 11, and some that show where powers lead to."""

PAPERS = 24
"""The most links of Fig. 11."""

EXPLICIT = {5: (2, 4, 6, 8, 10), 10: (2, 4, 8, 12, 16), 20: (2, 6, 12, 20, 30), 40: (2, 8, 16, 28, 40)}
IMPLICIT = {5: (3, 5, 7, 9, 11), 10: (3, 5, 9, 13, 17), 20: (3, 7, 13, 21, 31), 40: (3, 9, 17, 29, 41)}
"""Sizes of loops that there are files of."""

STEMS = (2, 8, 14, 20, 26)
"""Every three links of a stalk the axes of all joints are the same again."""

SCENARIOS: tuple[Scenario, ...] = (
    *(System(name, subject) for name, subject in SUBJECTS.items()),
    Growth("geared_chain", zoo.geared_chain, LINKS),
    Growth("belt_chain", zoo.belt_chain, LINKS),
    Growth("belt_chain", zoo.belt_chain, LINKS, "inertia", INERTIA),
    Parallel("explicit", EXPLICIT),
    Parallel("implicit", IMPLICIT, ("cluster", "projection", "lcaba", "prox_bbo")),  # redundant rows: no ltl
    Stem("stalk", bare_stalk, STEMS),
    Stem("geared_stalk", geared_stalk, STEMS),
    Torques(),
)


def smaller(scenario: Scenario) -> Scenario:
    """The same in a fraction of the time, for ``--quick``."""
    match scenario:
        case System():
            return replace(scenario, specialized=10_000)
        case Growth():
            return replace(scenario, sizes=tuple(n for n in scenario.sizes if n <= 2 * PAPERS))
        case Parallel():
            return replace(scenario, loops={depth: sizes[:3] for depth, sizes in scenario.loops.items() if depth < 40})
        case Stem():
            return replace(scenario, stems=scenario.stems[:2])
        case Torques():
            return replace(scenario, states=300)
