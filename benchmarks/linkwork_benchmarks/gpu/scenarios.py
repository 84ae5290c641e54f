# SPDX-License-Identifier: BSD-3-Clause
"""What is measured on a GPU, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from linkwork.inputs import ForwardMethod, Precision
from linkwork_benchmarks.scenario import NamedScenario

STATES = 1 << 20
"""States of a batch."""


Motion = Literal["free", "standing", "pushed", "dropped"]


@dataclass(frozen=True)
class Dynamics(NamedScenario):
    """Forward dynamics of random states, all on the GPU, number-major."""

    NAME = "gpu.{robot}.{method}.{what}.{dtype}"

    robot: str
    method: ForwardMethod
    dtype: Precision
    what: Literal["acceleration", "solution", "converged"] = "acceleration"
    """Accelerations alone; with forces and residuals; with these, iterating until the tolerance is met."""
    states: int = STATES

    @property
    def max_iterations(self) -> int:
        """The most iterations."""
        return 20 if self.what == "converged" else 1


@dataclass(frozen=True)
class FirstCalls(NamedScenario):
    """Seconds from an evaluator to its first result in new processes, without machine code on disk and with it."""

    NAME = "gpu.first_call"

    robots: tuple[tuple[str, ForwardMethod, Precision], ...]


@dataclass(frozen=True)
class FirstSteps(NamedScenario):
    """Seconds from a simulation of Cassie on the ground to its first step, in the same way."""

    NAME = "gpu.first_steps.{dtype}"

    dtype: Precision


@dataclass(frozen=True)
class Overhead(NamedScenario):
    """Time that a call takes of the host, of arrays of torch."""

    NAME = "gpu.overhead"

    calls: int = 300


@dataclass(frozen=True)
class Gradient(NamedScenario):
    """Forward and backward of Cassie's dynamics in torch, beside forward alone."""

    NAME = "gpu.gradient.{dtype}"

    dtype: Precision
    states: int = 65_536


@dataclass(frozen=True)
class StepGradient(NamedScenario):
    """Forward and backward of steps of Cassie on the ground in torch, pushed, beside forward alone."""

    NAME = "gpu.step_gradient.{dtype}"

    dtype: Precision
    states: int = 4096


@dataclass(frozen=True)
class Steps(NamedScenario):
    """Semi-implicit Euler steps of Cassie with its loops: in the air under constant torques, or on its feet."""

    NAME = "gpu.steps.{motion}.{dtype}"

    motion: Motion
    dtype: Precision
    robots: int = 1 << 20
    steps: int = 100

    @property
    def name(self) -> str:
        """Those of fewer robots say so."""
        return super().name + ("" if self.robots >= 1 << 18 else f".{self.robots}")


@dataclass(frozen=True)
class PeerSteps(NamedScenario):
    """Steps of MJX with Cassie's file, its contacts on, as it does them: soft loops, few iterations of its solver."""

    NAME = "gpu.mjx.cassie"

    worlds: int = 32_768
    steps: int = 20
    iterations: int = 4


ROBOTS: tuple[tuple[str, ForwardMethod], ...] = (("talos", "aba"), ("cassie", "cluster"), ("digit", "prox_bbo"))
TYPES: tuple[Precision, ...] = ("float32", "float64")
MOTIONS: tuple[Motion, ...] = ("standing", "pushed", "dropped")
"""Of Cassie on the ground."""

SCENARIOS: tuple[NamedScenario, ...] = (
    *(Dynamics(robot, method, dtype) for robot, method in ROBOTS for dtype in TYPES),
    *(Dynamics(robot, method, dtype, "solution") for robot, method in ROBOTS[1:] for dtype in TYPES),
    *(Dynamics("digit", "prox_bbo", dtype, "converged") for dtype in TYPES),
    FirstCalls((("talos", "aba", "float32"), ("cassie", "cluster", "float64"), ("digit", "prox_bbo", "float64"))),
    *(FirstSteps(dtype) for dtype in TYPES),
    Overhead(),
    *(Gradient(dtype) for dtype in TYPES),
    *(StepGradient(dtype) for dtype in TYPES),
    Steps("free", "float32", 1 << 18, 1000),
    Steps("free", "float64", 1 << 18),
    *(Steps(motion, "float32") for motion in MOTIONS),
    *(Steps(motion, "float64", 1 << 18, 50) for motion in MOTIONS[1:]),
    *(Steps(motion, "float32", 4096) for motion in MOTIONS),
    PeerSteps(),
)


def smaller(scenario: NamedScenario) -> NamedScenario:
    """For a quick look."""
    if isinstance(scenario, Dynamics | Gradient):
        return replace(scenario, states=1 << 14)
    if isinstance(scenario, Steps):
        return replace(scenario, robots=min(scenario.robots, 1 << 18), steps=20)
    return replace(scenario, worlds=4096) if isinstance(scenario, PeerSteps) else scenario
