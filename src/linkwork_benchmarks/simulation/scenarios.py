"""What is measured, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Energy:
    """What a robot without friction and motors loses or gains in a while, with rk4 and steps of 1 ms."""

    system: str
    seconds: float = 10.0

    @property
    def name(self) -> str:
        """By which it is known, and its results are kept."""
        return f"energy.{self.system}"


@dataclass(frozen=True)
class Momentum:
    """The momentum of a robot in space, with steps of 1 ms at most."""

    system: str
    integrator: str = "rk4"
    seconds: float = 1.0

    @property
    def name(self) -> str:
        """By which it is known, and its results are kept."""
        return f"momentum.{self.system}.{self.integrator}"


@dataclass(frozen=True)
class Loops:
    """How far loops open while each motor pushes at random, 1 N m in the mean; euler with steps of 1 ms."""

    system: str
    project_every: int = 0
    seconds: float = 100.0

    @property
    def name(self) -> str:
        """By which it is known, and its results are kept."""
        return f"loops.{self.system}." + ("projected" if self.project_every else "stabilized")


@dataclass(frozen=True)
class Order:
    """By which power of the step errors fall."""

    integrator: str
    system: str

    @property
    def name(self) -> str:
        """By which it is known, and its results are kept."""
        return f"order.{self.system}.{self.integrator}"


@dataclass(frozen=True)
class Trajectory:
    """The same motion elsewhere: Runge and Kutta's method with steps of ``dt``."""

    system: str
    peer: Literal["pinocchio.lcaba", "pinocchio.constraintDynamics", "mujoco"]
    dt: float = 1e-3
    seconds: float = 1.0

    @property
    def name(self) -> str:
        """By which it is known, and its results are kept."""
        return f"trajectory.{self.system}.{self.peer}.{round(self.dt * 1e6)}us"


@dataclass(frozen=True)
class Speed:
    """Steps a second with euler and steps of 1 ms, in batches and one by one, beside MuJoCo without contacts."""

    system: str
    states: int = 4096
    steps: int = 20

    @property
    def name(self) -> str:
        """By which it is known, and its results are kept."""
        return f"speed.{self.system}"


Scenario = Energy | Momentum | Loops | Order | Trajectory | Speed

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
)


def smaller(scenario: Scenario) -> Scenario:
    """The same for a quick look."""
    match scenario:
        case Energy() | Loops():
            return replace(scenario, seconds=1.0)
        case Momentum() | Trajectory():
            return replace(scenario, seconds=0.1)
        case Speed():
            return replace(scenario, states=256, steps=5)
    return scenario
