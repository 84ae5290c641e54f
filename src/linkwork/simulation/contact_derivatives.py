# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of steps with contacts of a `Stepper`, with its stops and actuators (`contact.derivatives`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.contact.derivatives import ContactDerivatives, checked_state
from linkwork.contact.step_products import need_double, need_no_parameters
from linkwork.dynamics.step_derivatives import StepDerivatives
from linkwork.errors import UnsupportedFeature
from linkwork.inputs import BackendName
from linkwork.kernels.contact_step_equations import APPLIED_TORQUES, DRIVEN_CONTACT_EQUATIONS
from linkwork.quantities.arguments import Array

if TYPE_CHECKING:
    from linkwork.simulation.step_result import StepResult
    from linkwork.simulation.stepper import Stepper


class StepperFunction:
    """Steps of a `Stepper` with contacts as derivatives see them.

    Args:
        stepper: The steps.
    """

    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.robot, self.frames = stepper, stepper.robot, stepper.frames
        need_double(stepper.dtype)
        need_no_parameters(stepper.parameters)
        if stepper.given is not None:
            raise UnsupportedFeature(
                f"contact points of some pairs of '{stepper.source.name}' come from coal, which says nothing of how "
                "they move: steps with meshes have no derivatives; give these bodies boxes, capsules or spheres"
            )

    @property
    def backend(self) -> BackendName:
        """How the step is run."""
        return self.stepper.backend

    @property
    def equations_program(self) -> Program:
        """The equations of a step at its solution."""
        return replace(self.stepper.program, algorithm=DRIVEN_CONTACT_EQUATIONS)

    @property
    def differentiated_by(self) -> tuple[str, ...]:
        """Inputs to differentiate by."""
        return ("q", "v", "tau") + ("commands",) * bool(self.stepper.takes_commands) + ("wrenches",) * bool(self.frames)

    def equation_inputs(self, state: Sequence[Any], optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """All inputs of `equations_program`.

        Args:
            state: q, v and tau.
            optional: Commands, wrenches and the result, by name.
            dtype: Of arrays that are made.
        """
        result = optional.get("result")
        none = np.zeros(int(self.stepper.program.tree.nresult), dtype)
        held = self.stepper.held(optional.get("commands"), optional.get("wrenches"))
        return [*state, *held, none if result is None else result]

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
        program = replace(self.stepper.program, algorithm=APPLIED_TORQUES)
        return runner_for(program, Backend("native"))

    def applied_torques(self, q: Any, v: Any, tau: Any, optional: Mapping[str, Any]) -> Any:
        """Torques given, and those of stops and actuators.

        Args:
            q: Configuration.
            v: Joint velocities.
            tau: Joint torques.
            optional: Commands and wrenches, by name.
        """
        commands, _, passive, _, timing = self.stepper.held(optional.get("commands"))
        (applied,) = self._applied.evaluate([q, v, tau, commands, passive, timing], [None])
        return applied

    def solution(self, q: Any, v: Any, tau: Any, optional: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """The state after the step, and the result.

        Args:
            q: Configuration.
            v: Joint velocities.
            tau: Joint torques.
            optional: Commands and wrenches, by name.
        """
        made = self.stepper(q, v, tau, commands=optional.get("commands"), wrenches=optional.get("wrenches"))
        return made.q, made.v, made._found


class ContactStepperProduct:
    """What derivatives of steps with contacts share.

    Args:
        derivatives: Of the step.
    """

    def __init__(self, derivatives: ContactDerivatives) -> None:
        self._derivatives = derivatives

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs to differentiate by."""
        return self._derivatives.step.differentiated_by

    def _at(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        given: Mapping[str, npt.ArrayLike | None],
        made: StepResult | None,
        smoothing: float | None,
    ) -> tuple[list[Any], dict[str, Any], tuple[list[Any], Array, Array], tuple[Array, Array]]:
        step = self._derivatives.step
        state = checked_state(q, v, tau, step.robot.nv)
        optional = {name: np.asarray(x, float) for name, x in given.items() if x is not None}
        if made is None:
            q1, v1, result = step.solution(state[0], state[1], state[2], optional)
        else:
            q1, v1, result = made.q, made.v, made._found
        return state, optional, self._derivatives.at(state, optional, result, smoothing), (q1, v1)


class ContactStepperJvp(ContactStepperProduct):
    """Rates of the state after a step: ``stepper.jvp(q, v, tau, dq, dv, dtau)``."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        dq: npt.ArrayLike,
        dv: npt.ArrayLike,
        dtau: npt.ArrayLike,
        *,
        commands: npt.ArrayLike | None = None,
        dcommands: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
        dwrenches: npt.ArrayLike | None = None,
        made: StepResult | None = None,
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
            commands: Commands of the actuators, ``(..., actuators)``.
            dcommands: Their direction.
            wrenches: External wrenches, ``(..., frames, 6)``.
            dwrenches: Their direction.
            made: What the stepper returned for these inputs; by default the step is made again.
            smoothing: In m/s: derivatives of a problem in which contacts are smoothed by about this velocity. By
                default they are those of the step itself.
        """
        given = {"commands": commands, "wrenches": wrenches}
        state, optional, at, _ = self._at(q, v, tau, given, made, smoothing)
        along = {"q": dq, "v": dv, "tau": dtau, "commands": dcommands, "wrenches": dwrenches}
        directions = {name: np.asarray(x, float) for name, x in along.items() if x is not None}
        return self._derivatives.forward(state, directions, optional, at)


class ContactStepperVjp(ContactStepperProduct):
    """Gradients of a function of the state after a step: ``stepper.vjp(q, v, tau, y_q1, y_v1)``."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        y_q1: npt.ArrayLike,
        y_v1: npt.ArrayLike,
        *,
        commands: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
        made: StepResult | None = None,
        smoothing: float | None = None,
    ) -> tuple[Array, ...]:
        """One array for each of `inputs`, ``(dq, dv, dtau, ...)``. Leading axes broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; None: none.
            y_q1: Derivative of a function by the configuration after the step, in its tangent space, ``(..., nv)``.
            y_v1: Derivative by the velocities after the step, ``(..., nv)``.
            commands: Commands of the actuators, ``(..., actuators)``.
            wrenches: External wrenches, ``(..., frames, 6)``.
            made: What the stepper returned for these inputs; by default the step is made again.
            smoothing: As for ``jvp``.
        """
        given = {"commands": commands, "wrenches": wrenches}
        state, optional, at, _ = self._at(q, v, tau, given, made, smoothing)
        return self._derivatives.reverse(state, [np.asarray(y_q1, float), np.asarray(y_v1, float)], optional, at)


class ContactStepperJacobian(ContactStepperProduct):
    """All derivatives of a step: ``stepper.derivatives(q, v, tau).A``."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        *,
        commands: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
        made: StepResult | None = None,
        smoothing: float | None = None,
    ) -> StepDerivatives:
        """Derivatives of the state after the step by that before it, torques and commands. Leading axes broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            commands: Commands of the actuators, ``(..., actuators)``.
            wrenches: External wrenches, ``(..., frames, 6)``.
            made: What the stepper returned for these inputs; by default the step is made again.
            smoothing: As for ``jvp``.
        """
        given = {"commands": commands, "wrenches": wrenches}
        state, optional, at, after = self._at(q, v, tau, given, made, smoothing)
        return self._derivatives.jacobian(state, optional, at, after)
