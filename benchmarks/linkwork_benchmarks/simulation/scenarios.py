# SPDX-License-Identifier: BSD-3-Clause
"""What is measured, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from linkwork_benchmarks.scenario import NamedScenario
from linkwork_benchmarks.simulation.motions import MOTIONS


@dataclass(frozen=True)
class Energy(NamedScenario):
    """The change of energy of a robot without friction and motors, with rk4 and steps of 1 ms."""

    NAME = "energy.{system}"

    system: str
    seconds: float = 10.0


@dataclass(frozen=True)
class Momentum(NamedScenario):
    """The momentum of a robot in space, with steps of 1 ms at most."""

    NAME = "momentum.{system}.{integrator}"

    system: str
    integrator: str = "rk4"
    seconds: float = 1.0


@dataclass(frozen=True)
class Loops(NamedScenario):
    """Loop errors while each motor has random torques of 1 N m on average; euler with steps of 1 ms."""

    NAME = "loops.{system}"

    system: str
    project_every: int = 0
    seconds: float = 100.0

    @property
    def name(self) -> str:
        """The name of the scenario, with how loops are kept closed."""
        return f"{super().name}." + ("projected" if self.project_every else "stabilized")


@dataclass(frozen=True)
class Order(NamedScenario):
    """The order of an integrator: by which power of the step errors fall."""

    NAME = "order.{system}.{integrator}"

    integrator: str
    system: str


@dataclass(frozen=True)
class Trajectory(NamedScenario):
    """The same motion by a peer: rk4 with steps of ``dt``."""

    NAME = "trajectory.{system}.{peer}"

    system: str
    peer: Literal["pinocchio.lcaba", "pinocchio.constraintDynamics", "mujoco"]
    dt: float = 1e-3
    seconds: float = 1.0

    @property
    def name(self) -> str:
        """The name of the scenario, with its step in microseconds."""
        return f"{super().name}.{round(self.dt * 1e6)}us"


@dataclass(frozen=True)
class Speed(NamedScenario):
    """Steps a second with euler and steps of 1 ms, in batches and one by one, beside MuJoCo without contacts."""

    NAME = "speed.{system}"

    system: str
    states: int = 4096
    steps: int = 20


@dataclass(frozen=True)
class Minimal(NamedScenario):
    """Steps of 1 ms in minimal coordinates beside those of all joints, in batches, and how far loops are open then.

    Loops are measured while each motor has random torques of 1 N m on average, in double and in single precision.
    """

    NAME = "minimal.{system}.{integrator}"

    system: str
    integrator: str = "euler"
    states: int = 512
    steps: int = 20
    seconds: float = 100.0


@dataclass(frozen=True)
class WholeBody(NamedScenario):
    """A center of mass that follows a path, by torques of task-space inverse dynamics: how far it is off."""

    NAME = "whole_body.{system}"

    system: str
    seconds: float = 4.0


Scenario = Minimal | Energy | Momentum | Loops | Order | Trajectory | Speed | WholeBody

FOUR_BAR, STEWART, ROBOTIQ, CASSIE, DIGIT = "four-bar", "Stewart platform", "Robotiq 2F-85", "Cassie", "Digit"
PEERS: tuple[Literal["pinocchio.lcaba", "pinocchio.constraintDynamics"], ...] = (
    "pinocchio.lcaba",
    "pinocchio.constraintDynamics",
)

SCENARIOS: tuple[Scenario, ...] = (
    *(Energy(system) for system in (FOUR_BAR, STEWART, CASSIE)),
    *(Momentum(DIGIT, integrator) for integrator in ("rk4", "dopri5")),
    *(Order(integrator, "humanoid") for integrator in ("euler", "rk4", "dopri5")),
    *(Order(integrator, FOUR_BAR) for integrator in ("euler", "rk4")),
    *(Loops(system, every) for system in (CASSIE, DIGIT) for every in (0, 10)),
    *(Trajectory(system, peer) for system in (FOUR_BAR, ROBOTIQ, CASSIE) for peer in PEERS),
    *(Trajectory(system, "mujoco", dt) for system in (FOUR_BAR, ROBOTIQ, CASSIE) for dt in (1e-3, 1e-4)),
    Speed(CASSIE),
    Speed(DIGIT),
    Speed(ROBOTIQ),
    Minimal(CASSIE),
    Minimal(CASSIE, "rk4", seconds=10.0),
    Minimal(DIGIT),
    *(WholeBody(system) for system in MOTIONS),
)


def smaller(scenario: Scenario) -> Scenario:
    """The same for a quick look."""
    match scenario:
        case Energy() | Loops() | WholeBody():
            return replace(scenario, seconds=1.0)
        case Momentum() | Trajectory():
            return replace(scenario, seconds=0.1)
        case Speed():
            return replace(scenario, states=256, steps=5)
        case Minimal():
            return replace(scenario, states=64, steps=5, seconds=0.5)
    return scenario
