# SPDX-License-Identifier: BSD-3-Clause
"""Steps with contacts as functions of arrays, and the choice of the class that an evaluator has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from linkwork.contact.step import ContactStep
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.simulation.stepper import Stepper
from linkwork.torch.array_functions import ArrayFunction, Arrays, EvaluatorFunction, Shapes, StepperArrayFunction


class ContactArrayFunction(ArrayFunction):
    """A step in time with contacts: ``(q, v)`` after it. Derivatives are found in float64, of a step in float64.

    Args:
        evaluator: The step.
        by: Names of the inputs to differentiate by.
        convert: Makes evaluators run where arrays are.
        smoothing: As for `ContactStep.vjp`.
    """

    left_out = ("tau",)

    def __init__(
        self,
        evaluator: ContactStep | Stepper,
        by: Sequence[str] | None = None,
        convert: Callable[[Any], Any] | None = None,
        smoothing: float | None = None,
    ) -> None:
        super().__init__(evaluator, by, convert)
        self.smoothing, self._double = smoothing, evaluator

    def _differentiated(self, evaluator: Any) -> Differentiated:
        commands = isinstance(evaluator, Stepper) and evaluator.takes_commands
        optional = ("commands",) * commands + ("wrenches",) * bool(evaluator.frames)
        results = {"q1": ("q1", slice(None)), "v1": ("v1", slice(None))}
        return Differentiated(("q", "v", "tau"), (*optional, *evaluator.parameters), results, ("q",), ("q1",))

    def shapes(self) -> tuple[Shapes, Shapes, Shapes]:
        """Shapes of one state: of inputs, of results, and of what else `value` returns."""
        program, nq, nv = self.evaluator.program, self.robot.nq, self.robot.nv
        shapes = dict(zip(program.algorithm.inputs, program.input_shapes(), strict=True))
        result = program.output_shapes()[2]
        inputs = {name: shapes[name] for name in (*self.given, *self.optional)}
        return inputs, {"q1": (nq,), "v1": (nv,)}, {"result": result}

    @property
    def takes_outputs(self) -> bool:
        """Whether products take the result of `value`: contact forces."""
        return True

    def value(self, inputs: Arrays) -> list[Any]:
        """The state after the step, and the result of its solver."""
        result = self.evaluator(*self._state(inputs), **self._options(inputs))
        return [result.q, result.v, result.result]

    def _further(self, inputs: Arrays, outputs: Sequence[Any]) -> dict[str, Any]:
        further = {**self._options(inputs), "smoothing": self.smoothing}
        if outputs[0].dtype == np.float64:  # else the step is made again in double precision
            q1, v1, result = outputs
            further["solution"] = SimpleNamespace(q=q1, v=v1, result=result)
        return further

    def tangent_vjp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays) -> list[Any]:
        """``y' J``, by `by`; of configurations in tangent spaces."""
        none, product = np.zeros(self.robot.nv), self._double.vjp
        cotangents = [seeds.get(name, none) for name in self.results]
        gradients = product(*self._state(inputs), *cotangents, **self._further(inputs, outputs))
        by_name = dict(zip(product.inputs, gradients, strict=True))
        return [by_name[name] for name in self.by]

    def tangent_jvp(self, inputs: Arrays, outputs: Sequence[Any], directions: Arrays) -> list[Any]:
        """``J d``; of configurations in tangent spaces."""
        rates = [directions.get(name, np.zeros(self.robot.nv)) for name in self.given]
        options = {f"d{name}": d for name, d in directions.items() if name not in self.given}
        product: Callable[..., Any] = self._double.jvp
        return list(product(*self._state(inputs), *rates, **options, **self._further(inputs, outputs)))

    def tangent_hvp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays, directions: Arrays) -> list[Any]:
        """There are none."""
        raise UnsupportedFeature(f"steps of '{self.robot.name}' with contacts have no second derivatives")


def array_function(
    evaluator: Any,
    by: Sequence[str] | None = None,
    smoothing: float | None = None,
    convert: Callable[[Any], Any] | None = None,
) -> ArrayFunction:
    """An evaluator as a function of arrays.

    Args:
        evaluator: The evaluator.
        by: Names of the inputs to differentiate by.
        smoothing: Of steps with contacts, as for ``ContactStep.vjp``.
        convert: Makes evaluators run where arrays are.
    """
    if isinstance(evaluator, ContactStep) or (isinstance(evaluator, Stepper) and evaluator.contact):
        return ContactArrayFunction(evaluator.by_slots, by, convert, smoothing)
    if smoothing is not None:
        raise InputError("smoothing is for steps with contacts: ContactStep, or Stepper of a robot with contact pairs")
    if isinstance(evaluator, Stepper):
        return StepperArrayFunction(evaluator, by, convert)
    if isinstance(evaluator, BaseEvaluator):
        return EvaluatorFunction(evaluator, by, convert)
    raise InputError(
        f"a function of tensors is made of an evaluator: ForwardDynamics, InverseDynamics, ImpactDynamics, Evaluator, "
        f"Stepper or ContactStep; found {type(evaluator).__name__}"
    )
