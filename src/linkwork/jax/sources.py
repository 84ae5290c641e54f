# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as functions of JAX arrays, with their products: programs that JAX calls, in the order of evaluation.

| source             | of                                                    | products                               |
|--------------------|-------------------------------------------------------|----------------------------------------|
| `EvaluatorSource`  | quantities, inverse dynamics, direct forward dynamics  | one program each                       |
| `StepSource`       | steps without contacts                                 | one program each, of a single step     |
| `staged_sources`   | forward dynamics by methods that iterate, impacts      | several programs, at the solution      |
| `contact_sources`  | steps with contacts                                    | several programs, at the solution      |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from linkwork.closure.tolerances import LEAST_PIVOT
from linkwork.compilers.program import Backend, Program
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.dynamics.methods import METHODS
from linkwork.dynamics.solution import PROGRESS
from linkwork.errors import UnsupportedFeature
from linkwork.jax.calls import ProgramCall
from linkwork.jax.handlers import OnError
from linkwork.jax.tangent_space import TangentSpace
from linkwork.quantities.base import ArrayEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.products import (
    HessianVectorProduct,
    JacobianVectorProduct,
    Product,
    VectorJacobianProduct,
)

Array = Any
Arrays = Sequence[Any]
Shape = tuple[int, ...]


def typed(evaluator: Any, dtype: str) -> Any:
    """An evaluator with numbers of a type, on a backend that XLA can call."""
    backend: Backend = evaluator._backend
    if backend.name == "plain":
        raise UnsupportedFeature(f"{evaluator!r} runs as plain Python, which XLA cannot call: leave plain() out")
    name = backend.name if backend.name == "specialized" else "native"
    made = evaluator._on(replace(backend, name=name, dtype=dtype, single_for_single=False))
    made._prepare_inputs()
    return made


class EvaluatorSource:
    """An evaluator whose products are one program each.

    Args:
        evaluator: What is evaluated, with numbers of the type wanted.
        names: Inputs that calls have.
        by: Those of them to differentiate by.
        on_error: What becomes of states that are not finite, on the CPU.
    """

    def __init__(self, evaluator: Any, names: Sequence[str], by: Sequence[str], on_error: OnError) -> None:
        self.evaluator, self.on_error = evaluator, on_error
        self.what = f"{evaluator.quantity} of '{evaluator.robot.name}'"
        self.dtype: str = evaluator.dtype.name
        self.known = self._differentiated()
        self.by = tuple(by)
        self.curved, self.curved_results = (
            self.known.curved,
            tuple(name for name, (output, _) in self.known.results.items() if output in self.known.curved_results),
        )
        program = self.program
        inputs = dict(zip(program.algorithm.inputs, program.input_shapes(), strict=True))
        self.shapes: dict[str, Shape] = {name: inputs[name] for name in names}
        outputs = dict(zip(program.algorithm.outputs, program.output_shapes(), strict=True))
        self._outputs = list(outputs)
        self.results = {name: _part(outputs[output], at) for name, (output, at) in self.known.results.items()}
        self.further: list[Shape] = []
        self.space = TangentSpace(program.tree)
        self._held = self._held_inputs()

    def _differentiated(self) -> Differentiated:
        found: Differentiated = self.evaluator.differentiated
        return found

    @property
    def program(self) -> Program:
        """What computes results: a plan that needs no fallback."""
        evaluator = self.evaluator
        if getattr(evaluator, "_has_fallback", False):
            return evaluator.exported_program
        return evaluator.traced_program if evaluator.backend == "specialized" else evaluator.program

    def _held_inputs(self) -> dict[str, Any]:
        """Inputs of the program that calls do not have, as the evaluator holds them."""
        given = [Given(name) for name in self.known.given]
        arranged = self.evaluator._inputs_with(given, {})
        names = list(self.evaluator.program.algorithm.inputs)
        return {name: x for name, x in zip(names, arranged, strict=True) if not isinstance(x, Given)}

    def call_of(self, program: Program, backend: Backend | None = None, traced: Program | None = None) -> ProgramCall:
        """A program that JAX calls.

        Args:
            program: The program.
            backend: How it is run; by default as the evaluator.
            traced: What is run on GPUs in its place.
        """
        return ProgramCall(program, self.evaluator._backend if backend is None else backend, self.on_error, traced)

    def run(self, call: ProgramCall, *named: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs of a program by name, from inputs by name; else those that the evaluator holds."""
        known: dict[str, Array] = dict(self._held)
        for arrays in named:
            known |= arrays
        return call(known)

    # The function ------------------------------------------------------------------------------------------------

    @cached_property
    def _value(self) -> ProgramCall:
        return self.call_of(self.program, traced=self.evaluator.exported_program)

    def value(self, x: dict[str, Array]) -> list[Array]:
        """Results of the evaluator.

        Args:
            x: Inputs by name.
        """
        found = self.run(self._value, x)
        parts = self.known.results.items()
        results = [_taken(found[output], len(self.results[name]), at) for name, (output, at) in parts]
        if not isinstance(self.evaluator, ForwardDynamics) or "result" not in found:
            return results
        solved = self._solved_states(found["result"][..., PROGRESS])
        return results if solved is None else [jnp.where(solved[..., None], y, jnp.nan) for y in results]

    def _solved_states(self, progress: Array) -> Array | None:
        """Which states a method without regularization solved, or iterations that must converge; None: all."""
        evaluator = self.evaluator
        if evaluator.strict and METHODS[evaluator.method].iterates:
            return progress <= evaluator._by.tolerance
        if not evaluator._hard:
            return None
        least = LEAST_PIVOT if evaluator._least_pivot > -np.inf else evaluator._least_pivot
        return (progress > least) & (progress <= evaluator._most_progress)

    # Products ----------------------------------------------------------------------------------------------------

    def _product(self, kind: type[Product]) -> Product:
        return kind(self._products_of, self.by)

    @property
    def _products_of(self) -> ArrayEvaluator:
        found: ArrayEvaluator = self.evaluator
        return found

    def _product_call(self, kind: type[Product]) -> ProgramCall:
        product = self._product(kind)
        return self.call_of(product.program, product._backend)

    @cached_property
    def _jvp(self) -> ProgramCall:
        return self._product_call(JacobianVectorProduct)

    @cached_property
    def _vjp(self) -> ProgramCall:
        return self._product_call(VectorJacobianProduct)

    @cached_property
    def _hvp(self) -> ProgramCall:
        return self._product_call(HessianVectorProduct)

    def forward(self, x: dict[str, Array], outs: Arrays, d: dict[str, Array]) -> list[Array]:
        """Rates of results.

        Args:
            x: Inputs by name.
            outs: Results.
            d: Directions by names of inputs, in tangent spaces.
        """
        found = self.run(self._jvp, x, {f"d{name}": one for name, one in d.items()})
        return [found[name] for name in self.results]

    def reverse(self, x: dict[str, Array], outs: Arrays, y: Arrays) -> dict[str, Array]:
        """Gradients by inputs.

        Args:
            x: Inputs by name.
            outs: Results.
            y: Seeds of results, in tangent spaces.
        """
        return self.run(self._vjp, x, self._seeds(y))

    def second(self, x: dict[str, Array], outs: Arrays, y: Arrays, d: dict[str, Array]) -> dict[str, Array]:
        """Rates of gradients along a direction.

        Args:
            x: Inputs by name.
            outs: Results.
            y: Seeds of results, in tangent spaces.
            d: Directions by names of inputs, in tangent spaces.
        """
        return self.run(self._hvp, x, self._seeds(y), {f"d{name}": one for name, one in d.items()})

    def _seeds(self, y: Arrays) -> dict[str, Array]:
        return {f"y_{name}": one for name, one in zip(self.results, y, strict=True)}


class StepSource(EvaluatorSource):
    """One step of a `Stepper` without contacts.

    Args:
        evaluator: The stepper, with numbers of the type wanted.
        names: Inputs that calls have.
        by: Those of them to differentiate by.
        on_error: What becomes of states that are not finite, on the CPU.
    """

    def __init__(self, evaluator: Any, names: Sequence[str], by: Sequence[str], on_error: OnError) -> None:
        self._commanded = "commands" in names
        super().__init__(evaluator, names, by, on_error)
        self.results = {name.removesuffix("1"): shape for name, shape in self.results.items()}
        self.curved_results = ("q",)

    def _differentiated(self) -> Differentiated:
        found: Differentiated = self.evaluator._function.differentiated
        return found

    def _held_inputs(self) -> dict[str, Any]:
        stepper = self.evaluator
        commands = stepper.held.commands if self._commanded else None
        held = [*stepper.held(commands), *stepper._own_parameters]
        if stepper.integrator != "dopri5":
            held.append(stepper.held.once)
        names = list(self.program.algorithm.inputs)[3:]
        return {"tau": np.zeros(stepper.robot.nv, self.dtype), **dict(zip(names, held, strict=True))}

    def value(self, x: dict[str, Array]) -> list[Array]:
        """The state after the step.

        Args:
            x: Inputs by name.
        """
        found = self.run(self._value, x)
        return [found["q1"], found["v1"]]

    @property
    def _products_of(self) -> ArrayEvaluator:
        found: ArrayEvaluator = self.evaluator._function
        return found

    def forward(self, x: dict[str, Array], outs: Arrays, d: dict[str, Array]) -> list[Array]:
        """Rates of the state after the step.

        Args:
            x: Inputs by name.
            outs: Results.
            d: Directions by names of inputs, in tangent spaces.
        """
        found = self.run(self._jvp, x, {f"d{name}": one for name, one in d.items()})
        return [found["q1"], found["v1"]]

    def _seeds(self, y: Arrays) -> dict[str, Array]:
        return dict(zip(("y_q1", "y_v1"), y, strict=True))


class Given:
    """Stands for an input that calls have."""

    def __init__(self, name: str) -> None:
        self.name = name


def _part(shape: Shape, at: slice) -> Shape:
    return shape if at == slice(None) else (len(range(*at.indices(shape[0]))), *shape[1:])


def _taken(x: Array, rank: int, at: slice) -> Array:
    """A part of one state's array, behind batch axes."""
    return x if at == slice(None) else x[(..., at, *[slice(None)] * (rank - 1))]
