# SPDX-License-Identifier: BSD-3-Clause
"""A `ContactStep` as derivatives see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compilers.program import Program
from linkwork.contact.field_cells import NO_CELLS
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import BackendName
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.derivatives.contact_sensitivity import CONTACT_SENSITIVITY
from linkwork.kernels.derivatives.contact_step_equations import CONTACT_EQUATIONS, SMOOTHED_CONTACTS
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.parameters import ParameterInputs

if TYPE_CHECKING:
    from linkwork.contact.solution import ContactSolution
    from linkwork.contact.step import ContactStep


class ContactStepFunction:
    """A `ContactStep` as derivatives see it (`contact.step_equations.ContactFunction`).

    Args:
        step: The step.
    """

    def __init__(self, step: ContactStep) -> None:
        self.step, self.robot, self.frames, self.dt = step, step.robot, step.frames, step.dt
        need_derivatives(step.robot, step.dtype, bool(step.program.tree.ngiven))

    @property
    def backend(self) -> BackendName:
        """The backend of the step."""
        return self.step.backend

    @property
    def planned(self) -> Program:
        """The step, without parameters of the robot among its inputs."""
        return self.step.unparametrized_program

    @property
    def equations(self) -> Algorithm:
        """The equations of a step at its solution."""
        return CONTACT_EQUATIONS

    @property
    def sensitivity(self) -> Algorithm:
        """Linear systems at the solution of a step."""
        return CONTACT_SENSITIVITY

    @property
    def smoothed(self) -> Algorithm:
        """Steps of a smoothed problem."""
        return SMOOTHED_CONTACTS

    @property
    def parameter_inputs(self) -> ParameterInputs:
        """Parameters of the robot that are inputs."""
        return self.step.parameter_inputs

    @property
    def acting(self) -> tuple[str, ...]:
        """Inputs besides torques."""
        return ("wrenches",) * bool(self.frames)

    def equation_inputs(self, state: Sequence[Any], optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """All inputs of `equations` but parameters.

        Args:
            state: q, v and tau.
            optional: Wrenches, the result and cells of height fields, by name.
            dtype: Of arrays that are made.
        """
        result = optional.get("result")
        none = np.zeros(int(self.step.program.tree.nresult), dtype)
        inputs = self._inputs([*state, optional.get("wrenches")])
        return [*inputs, none if result is None else result, optional.get("cells", NO_CELLS)]

    def problem_inputs(self, q: Any, v: Any, optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """Inputs of linear systems.

        Args:
            q: Configuration.
            v: Joint velocities.
            optional: Wrenches, by name.
            dtype: Of arrays that are made.
        """
        return self._inputs([q, v, None, optional.get("wrenches")])

    def _inputs(self, given: Sequence[Any]) -> list[Any]:
        """All inputs of the step but parameters."""
        arrays = dict(zip(self.step.program.algorithm.inputs, self.step.input_arrays(given), strict=True))
        return [arrays[name] for name in self.planned.algorithm.inputs]

    def applied_torques(self, state: Sequence[Any], optional: Mapping[str, Any], parameters: Sequence[Any]) -> Any:
        """Torques given: there are no others.

        Args:
            state: q, v and tau.
            optional: Wrenches, by name.
            parameters: Parameters of the robot that are inputs, in order.
        """
        return state[2]

    def solve(self, state: Sequence[Any], optional: Mapping[str, Any]) -> ContactSolution:
        """The result of a call.

        Args:
            state: q, v and tau.
            optional: Wrenches and parameters, by name.
        """
        return self.step(*state, **optional)

    def solved(self, solution: ContactSolution) -> tuple[Array, Array, Array]:
        """The state after the step, and the result.

        Args:
            solution: Result of a call.
        """
        result = solution.result_by_slots if hasattr(solution, "result_by_slots") else solution.result
        return solution.q, solution.v, result


def need_derivatives(robot: Model, dtype: Any, given: bool) -> None:
    """Raise an error where a step with contacts has no derivatives.

    Args:
        robot: The mechanism.
        dtype: Of the step.
        given: Whether contact points of some pairs are given.
    """
    if np.dtype(dtype) != np.float64:
        raise InputError(f"derivatives of steps with contacts need float64; the step computes in {dtype}")
    if given:
        raise UnsupportedFeature(
            f"contact points of some pairs of '{robot.name}' come from coal, which has no derivatives: use "
            "boxes, capsules or spheres for these bodies"
        )
