# SPDX-License-Identifier: BSD-3-Clause
"""`ContactStep.jvp`, `vjp` and `derivatives`: derivatives of a step with contacts, as calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.contact.derivatives import ContactDerivatives, checked_state
from linkwork.dynamics.step_derivatives import StepDerivatives
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import BackendName
from linkwork.kernels.contact_step_equations import CONTACT_EQUATIONS
from linkwork.quantities.arguments import Array

if TYPE_CHECKING:
    from linkwork.contact.solution import ContactSolution
    from linkwork.contact.step import ContactStep


class ContactStepFunction:
    """A `ContactStep` as derivatives see it.

    Args:
        step: The step.
    """

    def __init__(self, step: ContactStep) -> None:
        self.step, self.robot, self.frames = step, step.robot, step.frames
        need_no_parameters(step.parameters)
        if step.program.tree.ngiven:
            raise UnsupportedFeature(
                f"contact points of some pairs of '{step.robot.name}' come from coal, which says nothing of how they "
                "move: steps with meshes have no derivatives; give these bodies boxes, capsules or spheres"
            )

    @property
    def backend(self) -> BackendName:
        """How the step is run."""
        return self.step.backend

    @property
    def equations_program(self) -> Program:
        """The equations of a step at its solution."""
        return replace(self.step.program, algorithm=CONTACT_EQUATIONS)

    @property
    def differentiated_by(self) -> tuple[str, ...]:
        """Inputs to differentiate by."""
        return ("q", "v", "tau") + ("wrenches",) * bool(self.frames)

    def equation_inputs(self, state: Sequence[Any], optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """All inputs of `equations_program`.

        Args:
            state: q, v and tau.
            optional: Wrenches and the result, by name.
            dtype: Of arrays that are made.
        """
        result = optional.get("result")
        none = np.zeros(int(self.step.program.tree.nresult), dtype)
        return [*self.step._inputs([*state, optional.get("wrenches")]), none if result is None else result]

    def problem_inputs(self, q: Any, v: Any, optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """Inputs of linear systems.

        Args:
            q: Configuration.
            v: Joint velocities.
            optional: Wrenches, by name.
            dtype: Of arrays that are made.
        """
        return self.step._inputs([q, v, None, optional.get("wrenches")])

    def applied_torques(self, q: Any, v: Any, tau: Any, optional: Mapping[str, Any]) -> Any:
        """Torques given: there are no others.

        Args:
            q: Configuration.
            v: Joint velocities.
            tau: Joint torques.
            optional: Wrenches, by name.
        """
        return tau

    def solution(self, q: Any, v: Any, tau: Any, optional: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """The state after the step, and the result.

        Args:
            q: Configuration.
            v: Joint velocities.
            tau: Joint torques.
            optional: Wrenches, by name.
        """
        made = self.step(q, v, tau, optional.get("wrenches"))
        return made.q, made.v, made._result


class _StepProduct:
    """What the derivatives of a `ContactStep` share."""

    def __init__(self, derivatives: ContactDerivatives) -> None:
        self._derivatives = derivatives

    def _at(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        wrenches: npt.ArrayLike | None,
        solution: ContactSolution | None,
        smoothing: float | None,
    ) -> tuple[list[Any], dict[str, Any], tuple[list[Any], Array, Array], tuple[Array, Array]]:
        step = self._derivatives.step
        state = checked_state(q, v, tau, step.robot.nv)
        optional = {} if wrenches is None else {"wrenches": np.asarray(wrenches, float)}
        if solution is None:
            q1, v1, result = step.solution(state[0], state[1], state[2], optional)
        else:
            q1, v1, result = solution.q, solution.v, solution._result
        return state, optional, self._derivatives.at(state, optional, result, smoothing), (q1, v1)


class ContactJacobianProduct(_StepProduct):
    """Rates of the state after a step along a direction: ``step.jvp(q, v, tau, dq, dv, dtau)``."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        dq: npt.ArrayLike,
        dv: npt.ArrayLike,
        dtau: npt.ArrayLike,
        *,
        wrenches: npt.ArrayLike | None = None,
        dwrenches: npt.ArrayLike | None = None,
        solution: ContactSolution | None = None,
        smoothing: float | None = None,
    ) -> tuple[Array, Array]:
        """``(dq1, dv1)``, in the tangent space at the configuration after the step. Leading axes broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; None: none.
            dq: Direction of ``q`` in its tangent space, ``(..., nv)``.
            dv: Direction of ``v``.
            dtau: Direction of ``tau``.
            wrenches: External wrenches, ``(..., frames, 6)``, as for the step.
            dwrenches: Their direction.
            solution: What the step returned for these inputs; by default it is made again.
            smoothing: In m/s: derivatives of a problem in which contacts are smoothed by about this velocity. By
                default they are those of the step itself.
        """
        state, optional, at, _ = self._at(q, v, tau, wrenches, solution, smoothing)
        along = {"q": np.asarray(dq, float), "v": np.asarray(dv, float), "tau": np.asarray(dtau, float)}
        if dwrenches is not None:
            along["wrenches"] = np.asarray(dwrenches, float)
        return self._derivatives.forward(state, along, optional, at)


class ContactAdjointProduct(_StepProduct):
    """Seeds of the state after a step times its Jacobian: ``step.vjp(q, v, tau, y_q1, y_v1)``."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        y_q1: npt.ArrayLike,
        y_v1: npt.ArrayLike,
        *,
        wrenches: npt.ArrayLike | None = None,
        solution: ContactSolution | None = None,
        smoothing: float | None = None,
    ) -> tuple[Array, ...]:
        """``(dq, dv, dtau)``, and ``dwrenches`` where frames were named. Leading axes broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; None: none.
            y_q1: Derivative of a function by the configuration after the step, in its tangent space, ``(..., nv)``.
            y_v1: Derivative by the velocities after the step, ``(..., nv)``.
            wrenches: External wrenches, ``(..., frames, 6)``, as for the step.
            solution: What the step returned for these inputs; by default it is made again.
            smoothing: As for `ContactStep.jvp`.
        """
        state, optional, at, _ = self._at(q, v, tau, wrenches, solution, smoothing)
        return self._derivatives.reverse(state, [np.asarray(y_q1, float), np.asarray(y_v1, float)], optional, at)


class ContactJacobian(_StepProduct):
    """All derivatives of a step: ``step.derivatives(q, v, tau).A``."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        *,
        wrenches: npt.ArrayLike | None = None,
        solution: ContactSolution | None = None,
        smoothing: float | None = None,
    ) -> StepDerivatives:
        """Derivatives of the state after the step by that before it and by torques. Leading axes broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            wrenches: External wrenches, ``(..., frames, 6)``, as for the step.
            solution: What the step returned for these inputs; by default it is made again.
            smoothing: As for `ContactStep.jvp`.
        """
        state, optional, at, after = self._at(q, v, tau, wrenches, solution, smoothing)
        return self._derivatives.jacobian(state, optional, at, after)


def need_double(dtype: Any) -> None:
    """Raise an error for other numbers than doubles.

    Args:
        dtype: Of the step.
    """
    if np.dtype(dtype) != np.float64:
        raise InputError(f"derivatives of steps with contacts are found in float64; the step computes with {dtype}")


def need_no_parameters(parameters: Mapping[str, Array]) -> None:
    """Raise an error where parameters of the robot are inputs.

    Args:
        parameters: These, by name.
    """
    if parameters:
        raise UnsupportedFeature(
            f"steps with contacts have no derivatives by parameters ({', '.join(parameters)}): make the step without "
            "parameters=, or with contact=False"
        )
