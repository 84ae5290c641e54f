# SPDX-License-Identifier: BSD-3-Clause
"""What is measured on a GPU, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from linkwork.inputs import ForwardMethod, Precision
from linkwork_benchmarks.scenario import NamedScenario

STATES = 1 << 20
"""States of a batch."""


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
class Steps(NamedScenario):
    """Semi-implicit Euler steps of Cassie with its loops: in the air under constant torques, or on its feet."""

    NAME = "gpu.steps.{motion}.{dtype}"

    motion: Literal["free", "standing", "pushed"]
    dtype: Precision
    robots: int = 1 << 18
    steps: int = 1000


ROBOTS: tuple[tuple[str, ForwardMethod], ...] = (("talos", "aba"), ("cassie", "cluster"), ("digit", "prox_bbo"))
TYPES: tuple[Precision, ...] = ("float32", "float64")

SCENARIOS: tuple[NamedScenario, ...] = (
    *(Dynamics(robot, method, dtype) for robot, method in ROBOTS for dtype in TYPES),
    *(Dynamics(robot, method, dtype, "solution") for robot, method in ROBOTS[1:] for dtype in TYPES),
    *(Dynamics("digit", "prox_bbo", dtype, "converged") for dtype in TYPES),
    FirstCalls((("talos", "aba", "float32"), ("cassie", "cluster", "float64"), ("digit", "prox_bbo", "float64"))),
    Overhead(),
    *(Gradient(dtype) for dtype in TYPES),
    Steps("free", "float32"),
    Steps("standing", "float32", steps=200),
    Steps("pushed", "float32", steps=200),
)


def smaller(scenario: NamedScenario) -> NamedScenario:
    """For a quick look."""
    if isinstance(scenario, Dynamics | Gradient):
        return replace(scenario, states=1 << 14)
    return replace(scenario, robots=1 << 12, steps=20) if isinstance(scenario, Steps) else scenario
