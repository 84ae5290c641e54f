# SPDX-License-Identifier: BSD-3-Clause
"""The equations of a step with contacts as an evaluator, and a step as derivatives see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from linkwork.compilers.program import Backend, Program
from linkwork.compilers.trace.tracing import Trace
from linkwork.errors import ProgramTooLarge
from linkwork.inputs import BackendName
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.derivatives.contact_step_equations import EQUATIONS
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import NOTHING, BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.parameters import ParameterInputs
from linkwork.quantities.products import Kind

if TYPE_CHECKING:
    from linkwork.model.model import Model

Which = Literal["state", "equations", "all"]

GIVEN = ("q", "v", "tau")
STATE = ("q1", "v1")


class ContactFunction(Protocol):
    """A step with contacts as derivatives see it: `ContactStep`, or a `Stepper` with contacts."""

    @property
    def robot(self) -> Model:
        """The mechanism."""

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames that external wrenches act on."""

    @property
    def backend(self) -> BackendName:
        """The backend of the step; derivatives are plain where it is."""

    @property
    def planned(self) -> Program:
        """The step, without parameters of the robot among its inputs."""

    @property
    def equations(self) -> Algorithm:
        """The equations of a step at its solution."""

    @property
    def sensitivity(self) -> Algorithm:
        """Linear systems at the solution of a step; its inputs begin with those of the step."""

    @property
    def smoothed(self) -> Algorithm:
        """Steps of a smoothed problem; the same."""

    @property
    def dt(self) -> float:
        """Time of a step."""

    @property
    def parameter_inputs(self) -> ParameterInputs:
        """Parameters of the robot that are inputs."""

    @property
    def acting(self) -> tuple[str, ...]:
        """Inputs besides torques: commands and wrenches, where there are any."""

    def equation_inputs(self, state: Sequence[Any], optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """All inputs of `equations` but parameters; ``optional`` may have ``result``, ``cells`` and ``given``."""

    def problem_inputs(self, q: Any, v: Any, optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """Inputs of the system: q, v, tau, wrenches, given, start, settings."""

    def applied_torques(self, state: Sequence[Any], optional: Mapping[str, Any], parameters: Sequence[Any]) -> Any:
        """Torques given, and those of stops and actuators."""

    def solve(self, state: Sequence[Any], optional: Mapping[str, Any]) -> Any:
        """The result of a call: commands, wrenches and parameters are by name."""

    def solved(self, solution: Any) -> tuple[Array, Array, Array]:
        """The state after the step, and the result, from the outputs of a call."""


class ContactEquations(BaseEvaluator):
    """The equations of a step as a function of arrays, for sweeps over its trace.

    Args:
        step: The step.
        which: Results to differentiate: the state after the step, the equations, or both.
        cells: Slots whose cells of height fields are given; without them, programs have all cells.
    """

    def __init__(self, step: Any, which: Which, cells: int = 0) -> None:
        self.step, self.which = step, which
        super().__init__(
            step.robot,
            f"{which} of a contact step",
            lambda: replace(step.planned, algorithm=step.equations, tree=step.planned.tree._replace(ncells=cells)),
            {"step": step, "which": which, "cells": cells},
            step.frames,
            parameters=step.parameter_inputs,
            backend=Backend("plain") if step.backend == "plain" else None,
        )

    @property
    def differentiated(self) -> Differentiated:
        """The state, what acts, and the result that equations are taken at; `cells` are data."""
        of = {"state": STATE, "equations": tuple(EQUATIONS), "all": (*STATE, *EQUATIONS)}[self.which]
        optional = (*self.step.acting, *self.parameters, "result", "cells")
        results = {name: (name, slice(None)) for name in of}
        return Differentiated(GIVEN, optional, results, ("q",), ("q1",))

    def product_trace(self, kind: Kind, by: Sequence[str], limit: int) -> Trace:
        """The straight-line program of a product; an error proposes changes that make it shorter.

        Args:
            kind: ``"jvp"`` or ``"vjp"``.
            by: Names of the inputs to differentiate by.
            limit: The most operations; `ProgramTooLarge` where there are more.
        """
        try:
            return super().product_trace(kind, by, limit)
        except ProgramTooLarge:
            tree = self.program.tree
            advice = (
                "keep the pairs that touch, robot.without_contacts().with_contacts(*pairs), or none, "
                "Stepper(..., contact=False)"
            )
            if tree.nheights and not tree.ncells:
                advice = f"{tree.nheights} heights of ground are part of it; jvp and vjp of the step itself need few"
            raise ProgramTooLarge(
                f"derivatives of steps of '{self.robot.name}', with {tree.nslots} contact points of {tree.ncontacts} "
                f"pairs, would be a program of more than {limit} operations: {advice}"
            ) from None

    def input_arrays(
        self,
        given: Sequence[Any],
        named: Mapping[str, Any] = NOTHING,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        once: bool = False,
    ) -> list[Any]:
        """All inputs of the program; the step holds the others.

        Args:
            given: q, v and tau.
            named: Inputs, parameters, the result and cells, by name.
            parameters: Parameters of the robot that are inputs, by name.
            once: Whether parameters are given once for many calls.
        """
        inputs: list[Any] = self.step.equation_inputs(given, named, self.dtype)
        return self.parameter_inputs.among(self.program, inputs, self.given_parameters({**named, **parameters}))

    def given_parameters(self, optional: Mapping[str, Any]) -> tuple[Any, ...]:
        """All parameters that are inputs, in order.

        Args:
            optional: Arguments by name.
        """
        known = self.parameter_inputs
        values = {name: x for name, x in optional.items() if name in known.names}
        return known.given(known.held(self.dtype), values)
