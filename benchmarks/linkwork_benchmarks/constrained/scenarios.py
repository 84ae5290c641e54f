# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of constrained dynamics, as data. A new system, family or method is one entry here.

Names of metrics begin with the name of a scenario: ``loops.AH-cube``, ``growth.single_loop``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork_benchmarks import scenes
from linkwork_benchmarks.robots import EXAMPLES, MODELS
from linkwork_benchmarks.scenario import NamedScenario

Make = Callable[[], lw.Mechanism]

REGULARIZATION = 1e-6
"""The regularization of the iterations in all timings, ours and Pinocchio's: **loops** recommends 1e-5 to 1e-7."""

PROXIMAL = ("lcaba", "prox_bbo", "prox_ltl")
"""The methods of **loops**."""

LOCAL_LOOPS = (*PROXIMAL, "cluster_lcaba")
"""The same, and local loops in clusters: for robots with linkages, where loops are closed."""

EXTREMES = tuple(float(f"1e-{k}") for k in range(3, 13))
"""Regularizations of **loops** Fig. 11."""

WEIGHTS = tuple(float(f"1e{k}") for k in range(2, 13))
"""Penalty weights of soft rows in **lqr** Fig. 3: inverse regularizations."""

GROUNDED = ("pv", "pv_early", "pv_soft", "constrained_aba", "ltl", "lcaba")
"""The methods of **lqr**, and their descendants."""

LTL_SOFT = "ltl_soft"
"""LTL-s of **lqr**: no method of the package, see `joint_space`."""


@dataclass(frozen=True)
class System(NamedScenario):
    """Times of one system: our methods, natively and specialized, beside the peers that can take it."""

    NAME = "{study}.{system}"

    study: str
    """Which table it belongs to."""
    system: str
    make: Make
    methods: tuple[str, ...]
    iterations: tuple[int, ...] = (1, 3)
    peers: tuple[str, ...] = ("pinocchio", "mujoco")
    mjcf: Path | None = None
    """Its MJCF file; without one, MuJoCo is given MJCF that is written here."""
    specialized: int = 60_000
    """Programs with more operations are timed natively only."""
    batches: bool = True
    auto: bool = True
    """Whether the method that ``auto`` takes is timed too, and it and `lcaba` are specialized whatever their size."""
    free: bool = False
    """Whether `aba` of the robot without its constraints is timed too (the last column of **loops** Table II)."""
    soft: bool = False
    """Whether LTL-s is timed too."""
    predecessor: bool = False
    """Whether what Pinocchio had before `constraintDynamics` is timed too."""


@dataclass(frozen=True)
class Growth(NamedScenario):
    """A family that grows: native times and operation counts over the number of links."""

    NAME = "growth.{family}"

    family: str
    make: Callable[[int], lw.Mechanism]
    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    paper: str


@dataclass(frozen=True)
class Convergence(NamedScenario):
    """Residuals over iterations, and accelerations over regularizations, of one system (**loops** Figs. 10, 11)."""

    NAME = "convergence.{system}"

    system: str
    make: Make
    methods: tuple[str, ...] = PROXIMAL
    regularizations: tuple[float, ...] = (1e-3, 1e-5, 1e-6, 1e-7)
    iterations: tuple[int, ...] = tuple(range(1, 12))
    extremes: tuple[float, ...] = EXTREMES
    states: int = 10_000
    spread: float = 0.2
    """Standard deviation of random configurations about the assembled one, before loops are closed."""
    speed: float = 1.0
    """Standard deviation of random velocities, before those that open loops are taken away."""


@dataclass(frozen=True)
class Softness(NamedScenario):
    """Residuals, and distances from the hard solution, over the penalty weight of soft rows (**lqr** Fig. 3)."""

    NAME = "softness.{system}"

    system: str
    make: Make
    weights: tuple[float, ...] = WEIGHTS
    states: int = 1000


@dataclass(frozen=True)
class Duplicated(NamedScenario):
    """Every constraint twice: who finds the accelerations all the same (**proximal** Sec. V-F)."""

    NAME = "duplicated.{system}"

    system: str
    make: Make
    regularizations: tuple[float, ...] = (1e-4, 1e-6, 1e-8)
    states: int = 64


@dataclass(frozen=True)
class Factor(NamedScenario):
    """The factor of the KKT matrix: operations with the zeros of the tree used and not, and times beside Eigen's and
    Pinocchio's (**proximal** Figs. 4, 5)."""

    NAME = "factor.{system}"

    system: str
    make: Make


@dataclass(frozen=True)
class Baseline(NamedScenario):
    """Native `lcaba` for the instruction set of Pinocchio's wheel, beside Pinocchio, one iteration (`baseline`)."""

    NAME = "baseline.{system}"

    system: str
    """The name of a `System`: ``loops.AH-cube``."""
    cpu: str = "x86-64"
    """As LLVM calls the processor: neither AVX nor FMA."""


Scenario = System | Growth | Convergence | Softness | Duplicated | Factor | Baseline


# Systems ---------------------------------------------------------------------------------------------------


def from_mjcf(path: Path) -> lw.Mechanism:
    """A robot of an MJCF file, with its loops closed."""
    robot = lw.load(path)
    return replace(robot, poses={scenes.ASSEMBLED: robot.assemble(robot.poses["qpos0"])})


MJCF = {
    "Cassie": MODELS / "cassie/cassie_nomesh.xml",
    "Digit, its file": MODELS / "digit/digit-v3_nomesh.xml",
    "Booster T1": MODELS / "booster_t1/T1_23dof_parallel_nomesh.xml",
    "Reachy Mini": MODELS / "reachy_mini/reachy_mini_nomesh.xml",
    "Robotiq 2F-85": MODELS / "robotiq_2f85/2f85_nomesh.xml",
}
"""Robots whose files have loops."""


def twice(make: Make) -> lw.Mechanism:
    """Every constraint of a mechanism a second time."""
    robot = make()
    copies = [replace(c, name=f"{c.name} copy", time_constant=None) for c in robot.constraints]
    return replace(robot, constraints=(*robot.constraints, *copies))


def _example(path: str, base: str = "floating", mimic: str = "constrain") -> lw.Mechanism:
    return lw.load(EXAMPLES / path, base, mimic=mimic)  # type: ignore[arg-type]


TALOS_LIMBS = ("right_sole_link", "left_sole_link", "gripper_left_base_link", "gripper_right_base_link")
ICUB_LIMBS = ("l_sole", "r_sole", "l_hand", "r_hand")
ANYMAL_FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
SOLO_FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
SOLO = partial(_example, "solo_description/robots/solo12.urdf")
ANYMAL = partial(_example, "anymal_b_simple_description/robots/anymal.urdf")
ICUB = partial(_example, "icub_description/robots/icub_reduced.urdf")
TALOS = partial(_example, "talos_data/robots/talos_reduced.urdf", mimic="ignore")
UR5 = partial(_example, "ur_description/urdf/ur5_robot.urdf", "fixed")

PROXIMAL_ROBOTS: dict[str, Make] = {
    "UR5 (0)": partial(scenes.held, UR5),
    "UR5 (3)": partial(scenes.held, UR5, points=["tool0"]),
    "UR5 (6)": partial(scenes.held, UR5, welds=["tool0"]),
    **{f"Solo ({3 * k})": partial(scenes.held, SOLO, points=SOLO_FEET[:k]) for k in (0, 2, 4)},
    **{f"ANYmal ({3 * k})": partial(scenes.held, ANYMAL, points=ANYMAL_FEET[:k]) for k in (0, 2, 4)},
    **{f"iCub ({6 * k})": partial(scenes.held, ICUB, ICUB_LIMBS[:k]) for k in (0, 1, 2, 4)},
    **{f"Talos 38 ({6 * k})": partial(scenes.held, TALOS, TALOS_LIMBS[:k]) for k in (0, 1, 2, 4)},
}
"""The robots of **proximal** Figs. 4, 5, 8 with their rows. (Solo has 12 joints here; the paper does not say which.)"""


# Families --------------------------------------------------------------------------------------------------

LENGTHS = (10, 20, 50, 100, 200, 350, 500)


def _loops(links: int) -> lw.Mechanism:
    return zoo.chain_of_loops(round((links - 1) / 6))


def _hinged_loops(links: int) -> lw.Mechanism:
    return zoo.chain_of_loops(round((links - 1) / 6), closing="hinge")


def _coupled(links: int) -> lw.Mechanism:
    return zoo.coupled_loops(round((links + 3) / 8))


def _star(links: int) -> lw.Mechanism:
    return zoo.star_of_loops(round((links - 1) / 7))


def _rungs(links: int) -> lw.Mechanism:
    return zoo.ladder(round(links / 10))


FAMILIES = (
    Growth("single_loop", zoo.single_loop, LENGTHS, PROXIMAL, "loops Fig. 6"),
    Growth("chain_of_loops", _loops, (7, 19, 49, 97, 199, 349, 499), PROXIMAL, "loops Fig. 7"),
    Growth("chain_of_hinged_loops", _hinged_loops, (7, 19, 49, 97, 199, 349, 499), PROXIMAL, "loops Fig. 7"),
    Growth("coupled_loops", _coupled, (13, 21, 53, 101, 197), PROXIMAL, "loops Fig. 8"),
    Growth("star_of_loops", _star, (15, 22, 50, 99, 197, 351, 498), PROXIMAL, "loops Fig. 9"),
    Growth("held_chain", zoo.held_chain, (6, 10, 20, 50, 70, 100), (*GROUNDED, LTL_SOFT), "lqr Fig. 4a"),
    Growth("ladder", _rungs, (10, 20, 50, 100, 200, 350, 500), (*GROUNDED, LTL_SOFT), "lqr Fig. 4c"),
)

SHOWN = ("Cassie", "Digit, its file", "Talos (2F)")
"""Robots that bars are for, beside **loops** Table II."""

SINGULAR = "Digit"
"""A system of **loops** Table II with redundant rows: 48 of rank 32."""

STRAIGHT = "AH²-cube, straight fingers"
"""The two hands of **loops** Fig. 10 where their rows are redundant: 24 of rank 16. At rest, since tips of straight
fingers that turn are drawn in, which rows of a still cube contradict."""

SPECIALIZED_OF_LQR = ("(0D)", "Iiwa", "Go1 (4F3)", "(2F)", "(2F+2H)")


def _lqr(name: str, make: Make) -> System:
    chosen = any(part in name for part in SPECIALIZED_OF_LQR)
    most = 60_000 if chosen else 0
    return System("lqr", name, make, GROUNDED, (1,), specialized=most, batches=False, auto=False, soft=True)


SCENARIOS: tuple[Scenario, ...] = (
    *(
        System("loops", name, scene.make, LOCAL_LOOPS if name in scenes.LOCAL_LOOPS else PROXIMAL, free=True)
        for name, scene in scenes.LOOPS_TABLE.items()
    ),
    *(System("robots", name, partial(from_mjcf, path), LOCAL_LOOPS, mjcf=path) for name, path in MJCF.items()),
    System("robots", "Digit-like (2F)", scenes.digit_like_standing, LOCAL_LOOPS),
    System("robots", "Talos (2F)", scenes.LQR_TABLE["Talos (2F)"].make, PROXIMAL),
    *(_lqr(name, scene.make) for name, scene in scenes.LQR_TABLE.items()),
    *(Baseline(f"loops.{name}") for name in scenes.LOOPS_TABLE),
    *(Baseline(f"robots.{name}") for name in SHOWN),
    *FAMILIES,
    Convergence("AH²-cube", scenes.LOOPS_TABLE["AH²-cube"].make),
    Convergence(STRAIGHT, scenes.straight_fingers_and_cube, spread=0.0, speed=0.0),
    Convergence(SINGULAR, scenes.LOOPS_TABLE[SINGULAR].make, regularizations=(1e-5, 1e-7, 1e-9, 1e-11), spread=0.1),
    Softness("Talos (2F+2H)", scenes.LQR_TABLE["Talos (2F+2H)"].make),
    *(Factor(name, make) for name, make in PROXIMAL_ROBOTS.items()),
    *(
        System("proximal", name, make, ("prox_ltl",), (1,), ("pinocchio",), batches=False, auto=False, predecessor=True)
        for name, make in PROXIMAL_ROBOTS.items()
    ),
    Duplicated("Talos", partial(twice, partial(scenes.held, scenes.talos, TALOS_LIMBS[:3]))),
)


def paper_of(scenario: Scenario) -> str:
    """The paper that a scenario is from, or stands beside."""
    match scenario:
        case System():
            return "loops" if scenario.study == "robots" else scenario.study
        case Growth():
            return scenario.paper.split()[0]
        case Convergence() | Baseline():
            return "loops"
        case Softness():
            return "lqr"
        case Duplicated() | Factor():
            return "proximal"


def smaller(scenario: Scenario) -> Scenario:
    """The same in a fraction of the time, for ``--quick``: smaller sizes, fewer states."""
    match scenario:
        case Growth():
            return replace(scenario, sizes=scenario.sizes[:3])
        case Convergence() | Softness():
            return replace(scenario, states=100)
        case Duplicated():
            return replace(scenario, states=8)
        case System():
            return replace(scenario, specialized=min(scenario.specialized, 10_000), auto=False)
        case Factor() | Baseline():
            return scenario


def links_of(robot: lw.Mechanism) -> int:
    """Bodies that move."""
    return int(np.count_nonzero([j.type.nv > 0 for j in robot.joints]))
