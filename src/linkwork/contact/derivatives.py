# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of a step with contacts: the implicit function theorem at its solution (`kernels.contact_sensitivity`).

A step is an implicit function of the state. At its solution, equations that hold before and after a change of the state
are linear in what changes: a forward or reverse sweep over the equations (straight-line code), and one system with the
factor of Newton's matrix (native code) in between. What contacts do, stick, slide or part, is what they do at the
solution; where two of these meet, derivatives are those of a smoothed problem.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.dynamics.step_derivatives import StepDerivatives, one_more_axis, state_columns, unit_directions
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import BackendName, above_zero
from linkwork.kernels.contact_sensitivity import CONTACT_SENSITIVITY
from linkwork.kernels.contact_step_equations import EQUATIONS, SMOOTHED_CONTACTS
from linkwork.plans.contact_lcaba import HEAD
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import ArrayEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.products import JacobianVectorProduct, VectorJacobianProduct

if TYPE_CHECKING:
    from linkwork.model.model import Model

Which = Literal["state", "equations", "all"]

STATE = ("q1", "v1")
SMOOTHED_ITERATIONS = 50
"""The most Newton steps of a smoothed problem."""
SMOOTHED_TOLERANCE = 1e-6
"""What they may leave, as a part of the smoothing."""


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
        """How the step is run: derivatives are run plainly where it is."""

    @property
    def equations_program(self) -> Program:
        """The equations of a step at its solution."""

    @property
    def differentiated_by(self) -> tuple[str, ...]:
        """Inputs to differentiate by: the first three are q, v, tau."""

    def equation_inputs(self, state: Sequence[Any], optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """All inputs of `equations_program`; ``optional`` may have ``result`` and ``given``."""

    def problem_inputs(self, q: Any, v: Any, optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """Inputs of the system: q, v, tau, wrenches, given, start, settings."""

    def applied_torques(self, q: Any, v: Any, tau: Any, optional: Mapping[str, Any]) -> Any:
        """Torques given, and those of stops and actuators."""

    def solution(self, q: Any, v: Any, tau: Any, optional: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """The state after the step, and the result."""


class ContactEquations(ArrayEvaluator):
    """The equations of a step as a function of arrays: what sweeps are made of.

    Args:
        step: The step.
        which: Results to differentiate: the state after the step, the equations, or both.
    """

    def __init__(self, step: Any, which: Which) -> None:
        self.step, self.which = step, which
        super().__init__(
            step.robot,
            f"{which} of a contact step",
            lambda: step.equations_program,
            {"step": step, "which": which},
            step.frames,
        )
        if step.backend == "plain":
            self._set_backend(Backend("plain"))

    @property
    def differentiated(self) -> Differentiated:
        """The state, what acts, and the result that equations are taken at."""
        of = {"state": STATE, "equations": tuple(EQUATIONS), "all": (*STATE, *EQUATIONS)}[self.which]
        optional = (*self.step.differentiated_by[3:], "result")
        results = {name: (name, slice(None)) for name in of}
        return Differentiated(self.step.differentiated_by[:3], optional, results, ("q",), ("q1",))

    def _prepare_inputs(self) -> None:
        """The step has them."""

    def _inputs(self, given: Sequence[npt.ArrayLike | None]) -> list[npt.ArrayLike]:
        return self._inputs_with(given, {})

    def _inputs_with(self, state: Sequence[Any], optional: dict[str, Any]) -> list[Any]:
        found: list[Any] = self.step.equation_inputs(state, optional, self._dtype)
        return found


def need_own_parameters(names: Collection[str]) -> None:
    """Raise where parameters of the robot are inputs of a step with contacts: its derivatives know none."""
    if names:
        raise UnsupportedFeature(
            "derivatives of a step with contacts are those of the robot's own parameters: make the step of "
            f"robot.with_parameters(...), without parameters={list(names)}"
        )


class ContactDerivatives:
    """What products and Jacobians of a step with contacts are made of.

    Args:
        step: The step.
    """

    def __init__(self, step: ContactFunction) -> None:
        self.step = step
        self.dtype = np.dtype(np.float64)

    @cached_property
    def _rates(self) -> JacobianVectorProduct:
        return JacobianVectorProduct(ContactEquations(self.step, "equations"), self.step.differentiated_by)

    @cached_property
    def _state_rates(self) -> JacobianVectorProduct:
        return JacobianVectorProduct(ContactEquations(self.step, "state"), ("q", "v", "result"))

    @cached_property
    def _state_seeds(self) -> VectorJacobianProduct:
        return VectorJacobianProduct(ContactEquations(self.step, "state"), ("result",))

    @cached_property
    def _gradients(self) -> VectorJacobianProduct:
        return VectorJacobianProduct(ContactEquations(self.step, "all"), self.step.differentiated_by)

    def _runner(self, algorithm: Any) -> Runner:
        program = replace(self.step.equations_program, algorithm=algorithm, derivation=None)
        return runner_for(program, Backend("plain" if self.step.backend == "plain" else "native"))

    @cached_property
    def _sensitivity(self) -> Runner:
        return self._runner(CONTACT_SENSITIVITY)

    @cached_property
    def _smoothed(self) -> Runner:
        return self._runner(SMOOTHED_CONTACTS)

    # At the solution ---------------------------------------------------------------------------------------------

    def at(
        self, state: Sequence[Any], optional: Mapping[str, Any], result: Array, smoothing: float | None
    ) -> tuple[list[Any], Array, Array]:
        """Inputs of linear systems, the result to differentiate at, and the smoothing, an acceleration.

        Args:
            state: q, v and tau.
            optional: Commands and wrenches, by name.
            result: The result of the step.
            smoothing: Of the smoothed problem, in m/s; None: the step itself.
        """
        q, v, tau = state
        inputs = self.step.problem_inputs(q, v, optional, self.dtype)
        settings = inputs[-1]
        dt, tolerance = float(settings[2]), float(settings[0])
        if smoothing is None:
            return inputs, result, np.array([tolerance / dt])
        theta = np.array([above_zero(smoothing, "smoothing") / dt])
        most = np.array([SMOOTHED_TOLERANCE * theta[0], SMOOTHED_ITERATIONS])
        applied = list(inputs)
        applied[2] = self.step.applied_torques(q, v, tau, optional)
        found = self._smoothed.evaluate([*applied, result, theta, most], [None] * 4)
        return inputs, found[2], theta

    # Products ------------------------------------------------------------------------------------------------------

    def forward(
        self,
        state: Sequence[Any],
        directions: Mapping[str, Any],
        optional: Mapping[str, Any],
        at: tuple[list[Any], Array, Array],
    ) -> tuple[Array, Array]:
        """Rates of the state after the step along directions of the inputs.

        Args:
            state: q, v and tau.
            directions: By names of inputs; none is zero.
            optional: Commands, wrenches and given contact points, by name.
            at: What `at` returned.
        """
        inputs, result, theta = at
        along = {f"d{name}": x for name, x in directions.items()}
        named = {name: along.pop(name) for name in list(along) if name[1:] not in ("q", "v", "tau")}
        rates = self._rates(*state, along["dq"], along["dv"], along["dtau"], result=result, **optional, **named)
        how = np.array([theta[0], 0.0])
        changes = self._sensitivity.evaluate([*inputs, result, how, -rates[0], *rates[1:]], [None] * 4)
        dresult = np.zeros((*changes[0].shape[:-1], result.shape[-1]))
        dresult[..., HEAD : HEAD + self.step.robot.nv] = changes[0]
        dq1, dv1 = self._state_rates(*state, along["dq"], along["dv"], result=result, dresult=dresult, **optional)
        return dq1, dv1

    def reverse(
        self,
        state: Sequence[Any],
        seeds: Sequence[Any],
        optional: Mapping[str, Any],
        at: tuple[list[Any], Array, Array],
    ) -> tuple[Array, ...]:
        """Derivatives of ``y_q1 q1 + y_v1 v1`` by the inputs.

        Args:
            state: q, v and tau.
            seeds: ``y_q1`` and ``y_v1``.
            optional: Commands, wrenches and given contact points, by name.
            at: What `at` returned.
        """
        inputs, result, theta = at
        (of_result,) = self._state_seeds(*state, *seeds, result=result, **optional)
        seed = np.ascontiguousarray(of_result[..., HEAD : HEAD + self.step.robot.nv])
        zeros = [np.zeros(shape) for shape in self._sensitivity.program.input_shapes()[-3:]]
        how = np.array([theta[0], 1.0])
        balance, y, rows, box_y = self._sensitivity.evaluate([*inputs, result, how, seed, *zeros], [None] * 4)
        found: tuple[Array, ...] = self._gradients(*state, *seeds, -balance, y, -rows, box_y, result=result, **optional)
        return found

    def jacobian(
        self,
        state: Sequence[Any],
        optional: Mapping[str, Any],
        at: tuple[list[Any], Array, Array],
        after: tuple[Array, Array],
    ) -> StepDerivatives:
        """All derivatives, as a batch of products with unit directions.

        Args:
            state: q, v and tau.
            optional: Commands, wrenches and given contact points, by name.
            at: What `at` returned.
            after: The state after the step.
        """
        nv = self.step.robot.nv
        sizes = {"q": nv, "v": nv, "tau": nv}
        if optional.get("commands") is not None:
            sizes["commands"] = np.shape(optional["commands"])[-1]
        inputs, result, theta = at
        axes = [1, 1, 1, 2, 2, 1, 1]
        more = [one_more_axis(x, inner) for x, inner in zip(inputs, axes, strict=True)]
        wider = {name: one_more_axis(x, 1 if name == "commands" else 2) for name, x in optional.items()}
        units = unit_directions(sizes)
        lead = np.broadcast_shapes(*(np.shape(x)[:-1] for x in state))
        full = [np.broadcast_to(one_more_axis(x), (*lead, sum(sizes.values()), np.shape(x)[-1])) for x in state]
        rates = self.forward(full, units, wider, (more, one_more_axis(result), theta))
        return StepDerivatives(*after, **state_columns(rates, sizes))


def checked_state(q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike | None, nv: int) -> list[Any]:
    """q, v and tau, zero if it is None.

    Args:
        q: Configuration.
        v: Joint velocities.
        tau: Joint torques.
        nv: How many there are.
    """
    if np.shape(v)[-1:] != (nv,):
        raise InputError(f"v has shape {np.shape(v)}, needs (..., {nv})")
    return [np.asarray(q, float), np.asarray(v, float), np.zeros(nv) if tau is None else np.asarray(tau, float)]
