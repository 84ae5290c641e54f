# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of a step in time: products with its Jacobian, and the Jacobian itself, in tangent spaces.

| symbol  | meaning                                                                                     |
|---------|---------------------------------------------------------------------------------------------|
| q, v    | state before the step; directions of ``q`` are tangent vectors there, as velocities are      |
| q1, v1  | state after it; rates of ``q1`` are tangent vectors at ``q1``                                |

A step is a straight line (`kernels.steps.integrators.single`), whatever the integrator: sweeps over its trace are its
exact derivatives, stages, springs, stops, actuators, stabilization and corrections of loops included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Backend
from linkwork.dynamics.jacobians.steps import StepDerivatives, state_columns
from linkwork.errors import InputError
from linkwork.inputs import were_given
from linkwork.quantities.base import NOTHING, BaseEvaluator
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.jacobian_columns import columns_evaluator, columns_product, one_more_axis, unit_directions
from linkwork.quantities.product_attributes import differentiable
from linkwork.quantities.products import Product
from linkwork.simulation.activations import refuse_activations
from linkwork.simulation.stage_derivatives import StageDerivatives

if TYPE_CHECKING:
    from linkwork.simulation.stepper import Stepper

T = TypeVar("T")

RESULTS = {"q1": ("q1", slice(None)), "v1": ("v1", slice(None))}
"""Differentiated output: the state after the step."""


@differentiable
class StepFunction(BaseEvaluator):
    """One step as a function of arrays, from which products are computed.

    Args:
        stepper: Says how steps are made.
    """

    def __init__(self, stepper: Stepper) -> None:
        refuse_activations(stepper.source, "derivatives of steps")
        self.stepper = stepper
        super().__init__(
            stepper.robot,
            stepper.quantity,
            lambda: stepper.planned.differentiated,
            {"stepper": stepper},
            stepper.frames,
            parameters=stepper.parameter_inputs,
            backend=stepper.execution.backend,
        )

    @property
    def differentiated(self) -> Differentiated:
        """State and torques; commands where there are actuators, wrenches where frames were named, parameters."""
        optional = ("commands",) * self.stepper.takes_commands + ("wrenches",) * bool(self.frames)
        return Differentiated(("q", "v", "tau"), (*optional, *self.parameters), RESULTS, ("q",), ("q1",))

    @property
    def derivatives(self) -> StepJacobian:
        """The Jacobian from which products are made where their programs would be too large."""
        return cast(StepJacobian, self.stepper.derivatives)

    @property
    def product_inputs(self) -> Sequence[str]:
        """Inputs that products differentiate by: all."""
        return self.differentiated.inputs

    def input_arrays(
        self,
        given: Sequence[Any],
        named: Mapping[str, Any] = NOTHING,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        once: bool = False,
    ) -> list[Any]:
        """All inputs of the program; steppers hold the others.

        Args:
            given: q, v and tau, which may be None.
            named: Commands, wrenches and parameters, by name.
            parameters: Parameters of the robot that are inputs, by name.
            once: Whether parameters are given once for many calls, and checked thoroughly.
        """
        if len(given) != 3:
            raise InputError(f"a step takes q, v, tau; {were_given(len(given))}")
        q, v, tau = given
        held = self._typed_stepper.held(named.get("commands"), named.get("wrenches"))
        inputs = [q, v, np.zeros(self.robot.nv, self.dtype) if tau is None else tau, *held]
        known = self.parameter_inputs
        values = {name: x for name, x in {**named, **parameters}.items() if name in known.names}
        return known.among(self.program, inputs, known.given(known.held(self.dtype), values, once=once))

    @property
    def _typed_stepper(self) -> Stepper:
        """The stepper in the number type of this evaluator."""
        if self.stepper.dtype == self.dtype:
            return self.stepper
        return self.keep("stepper", lambda: self.stepper.native(self.dtype.name))  # type: ignore[arg-type]


class StepJacobian(BaseEvaluator):
    """The derivatives of a step: ``stepper.derivatives(q, v, tau).A``.

    Columns are products with unit directions, found together as a batch of the program of `jvp`: they cost as much as
    some 2.5 steps for each degree of freedom, velocity and torque, in SIMD lanes. Where the program of a Runge-Kutta
    step would be too large, they are chained from programs of its stages (`stage_derivatives`).

    Args:
        function: The step.
    """

    def __init__(self, function: StepFunction) -> None:
        self._stages: StageDerivatives | None = None
        self.function = function
        super().__init__(**columns_evaluator(function))

    def _adapted(self, backend: Backend) -> Backend:
        return backend.straight_line

    @property
    def columns(self) -> Product:
        """Products with the Jacobian, on the backend of this evaluator."""
        return self.keep("columns", lambda: columns_product(self.function).on(self.execution.backend))

    def operation_count(self) -> OperationCount:
        """Of one column, of which there are as many as inputs have numbers."""
        return self.columns.operation_count()

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        *,
        commands: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
        **parameters: npt.ArrayLike,
    ) -> StepDerivatives:
        """Derivatives of the state after one step. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            commands: Commands of the actuators, ``(..., actuators)``, as for the stepper.
            wrenches: External wrenches, ``(..., frames, 6)``, as for the stepper.
            parameters: Parameters of the robot that are inputs, by name, as for the stepper.
        """
        nv, stepper = self.robot.nv, self.function.stepper
        arrays: dict[str, Any] = dict(parameters)
        after = stepper(q, v, tau, commands=commands, wrenches=wrenches, **arrays)
        sizes = {"q": nv, "v": nv, "tau": nv}
        shapes = stepper.parameter_inputs.shapes
        further: dict[str, Any] = {name: one_more_axis(x, len(shapes[name])) for name, x in arrays.items()}
        if commands is not None:
            sizes["commands"] = np.shape(commands)[-1]
            further["commands"] = one_more_axis(commands)
        if wrenches is not None:
            further["wrenches"] = one_more_axis(wrenches, 2)
        units = unit_directions(sizes)
        if commands is not None:
            further["dcommands"] = units["commands"]
        state = [one_more_axis(x) for x in (q, v, np.zeros(nv, self.dtype) if tau is None else tau)]
        rates = self._rates(state, [units["q"], units["v"], units["tau"]], further)
        return StepDerivatives(after.q, after.v, **state_columns(rates, sizes))

    def _rates(self, state: Sequence[Any], directions: Sequence[Any], further: dict[str, Any]) -> Sequence[Any]:
        """Rates of the state after the step; stage by stage where the program of a whole step is too large."""
        excess = self.columns.too_large()
        if excess is None and self._stages is None:
            return cast(Sequence[Any], self.columns(*state, *directions, **further))
        if self._stages is None:
            if excess is not None and not StageDerivatives.serves(self.function.stepper):
                raise excess
            self._stages = StageDerivatives(self.function.stepper)
        return self._stages.rates(state, directions, further)
