# SPDX-License-Identifier: BSD-3-Clause
"""Products of evaluators that solve equations: an interface, which `dynamics` implements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from linkwork.compilers.pipeline import Pipeline
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.quantities.arguments import Array
from linkwork.quantities.counts import OperationCount


class Computation(Protocol):
    """The computation of a product that takes several programs."""

    @property
    def solution_inputs(self) -> Mapping[str, Array]:
        """Inputs of the evaluator that differ where derivatives are taken: its iterations end later."""

    def pipeline(self, seeded: Sequence[str]) -> Pipeline:
        """The programs; outputs are ``<kind>.<name>``. ``seeded``: results that have cotangents."""

    def program(self) -> Program:
        """The one of them that grows the most with the robot."""

    def backend(self, program: Program) -> Backend:
        """The backend of a program of the pipeline."""

    def runner(self, program: Program) -> Runner:
        """The runner of a program of the pipeline; kept."""

    def prepare(self) -> None:
        """Make machine code of all programs now; `ProgramTooLarge` where one has too many operations."""

    def takes_jacobians(self, arrays: Sequence[Any], given: Mapping[str, Any], out: Sequence[Any]) -> bool:
        """Whether states are so few that Jacobians take less time than several programs."""

    def results(self, arrays: Sequence[Any], given: Mapping[str, Any], solution: Any) -> list[Array]:
        """Results of a call, each a new array. ``solution``: the evaluator's result, where known."""

    def bind(self, arrays: Sequence[Array], given: Mapping[str, Array], out: Sequence[Array]) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes others."""

    def check(self, arrays: Sequence[Any]) -> None:
        """Check the first state that is computed by Jacobians, as the evaluator does the first that it sees."""

    def operation_count(self) -> OperationCount:
        """Operations of all programs, those of the evaluator included."""
