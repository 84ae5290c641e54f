# SPDX-License-Identifier: BSD-3-Clause
"""Steps with contacts of a `Stepper`, with its stops and actuators, as derivatives see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.contact.field_cells import NO_CELLS
from linkwork.contact.step_function import need_derivatives
from linkwork.inputs import BackendName
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.derivatives.contact_step_equations import (
    APPLIED_TORQUES,
    DAMPED_CONTACT_SENSITIVITY,
    DAMPED_SMOOTHED_CONTACTS,
    DRIVEN_CONTACT_EQUATIONS,
)
from linkwork.quantities.arguments import Array
from linkwork.quantities.parameters import ParameterInputs
from linkwork.simulation.activations import refuse_activations

if TYPE_CHECKING:
    from linkwork.simulation.step_result import StepResult
    from linkwork.simulation.stepper import Stepper


class StepperFunction:
    """Steps of a `Stepper` with contacts as derivatives see them (`contact.step_equations.ContactFunction`).

    Args:
        stepper: The steps.
    """

    def __init__(self, stepper: Stepper) -> None:
        refuse_activations(stepper.source, "derivatives of steps")
        self.stepper, self.robot, self.frames, self.dt = stepper, stepper.robot, stepper.frames, stepper.dt
        need_derivatives(stepper.source, stepper.dtype, stepper.given is not None)

    @property
    def backend(self) -> BackendName:
        """The backend of the step."""
        return self.stepper.backend

    @property
    def planned(self) -> Program:
        """The steps, without parameters of the robot among their inputs."""
        return self.stepper.unparametrized_program

    @property
    def equations(self) -> Algorithm:
        """The equations of a step at its solution."""
        return DRIVEN_CONTACT_EQUATIONS

    @property
    def sensitivity(self) -> Algorithm:
        """Linear systems at the solution of a step."""
        return DAMPED_CONTACT_SENSITIVITY

    @property
    def smoothed(self) -> Algorithm:
        """Steps of a smoothed problem."""
        return DAMPED_SMOOTHED_CONTACTS

    @property
    def parameter_inputs(self) -> ParameterInputs:
        """Parameters of the robot that are inputs."""
        return self.stepper.parameter_inputs

    @property
    def acting(self) -> tuple[str, ...]:
        """Inputs besides torques."""
        return ("commands",) * bool(self.stepper.takes_commands) + ("wrenches",) * bool(self.frames)

    def equation_inputs(self, state: Sequence[Any], optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """All inputs of `equations` but parameters.

        Args:
            state: q, v and tau.
            optional: Commands, wrenches, the result and cells of height fields, by name.
            dtype: Of arrays that are made.
        """
        result = optional.get("result")
        none = np.zeros(int(self.stepper.program.tree.nresult), dtype)
        held = self.stepper.held(optional.get("commands"), optional.get("wrenches"))
        return [*state, *held, none if result is None else result, optional.get("cells", NO_CELLS)]

    def problem_inputs(self, q: Any, v: Any, optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """Inputs of linear systems.

        Args:
            q: Configuration.
            v: Joint velocities.
            optional: Commands and wrenches, by name.
            dtype: Of arrays that are made.
        """
        tree = self.stepper.program.tree
        _, wrenches, _, R, _ = self.stepper.held(None, optional.get("wrenches"))
        none = np.zeros(self.robot.nv, dtype), np.zeros((0, 7), dtype), np.zeros(int(tree.nstart), dtype)
        return [q, v, none[0], wrenches, none[1], none[2], R[: int(tree.nsettings)]]

    @cached_property
    def _applied(self) -> Runner:
        program = replace(self.planned, algorithm=APPLIED_TORQUES)
        return runner_for(self.parameter_inputs.program(program), Backend("native"))

    def applied_torques(self, state: Sequence[Any], optional: Mapping[str, Any], parameters: Sequence[Any]) -> Any:
        """Torques given, and those of stops and actuators.

        Args:
            state: q, v and tau.
            optional: Commands and wrenches, by name.
            parameters: Parameters of the robot that are inputs, in order.
        """
        commands, _, passive, _, timing = self.stepper.held(optional.get("commands"))
        (applied,) = self._applied.evaluate([*state, commands, passive, timing, *parameters], [None])
        return applied

    def solve(self, state: Sequence[Any], optional: Mapping[str, Any]) -> StepResult:
        """The result of a call.

        Args:
            state: q, v and tau.
            optional: Commands, wrenches and parameters, by name.
        """
        return self.stepper(*state, **optional)

    def solved(self, solution: StepResult) -> tuple[Array, Array, Array]:
        """The state after the step, and the result.

        Args:
            solution: Result of a call.
        """
        result = solution.result_by_slots if hasattr(solution, "result_by_slots") else solution.result
        return solution.q, solution.v, result
