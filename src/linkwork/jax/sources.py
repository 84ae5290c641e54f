# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as functions of JAX arrays, with their products: programs that JAX calls, in the order of evaluation.

| source             | of                                                    | products                               |
|--------------------|-------------------------------------------------------|----------------------------------------|
| `EvaluatorSource`  | quantities, inverse and forward dynamics, impacts      | pipelines of the evaluator's products  |
| `StepSource`       | steps without contacts                                 | pipelines of one program               |
| `contact_sources`  | steps with contacts                                    | pipelines of `contact.implicit`        |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from linkwork.closure.thresholds import LEAST_PIVOT
from linkwork.compilers.program import Backend, Program
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.dynamics.methods import METHODS
from linkwork.dynamics.solution import PROGRESS
from linkwork.errors import UnsupportedFeature
from linkwork.jax.calls import ProgramCall
from linkwork.jax.handlers import OnError
from linkwork.jax.pipeline import JaxPipeline
from linkwork.jax.tangent_space import TangentSpace
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.products import Kind, Product

Array = Any
Arrays = Sequence[Any]
Shape = tuple[int, ...]


def typed(evaluator: Any, dtype: str) -> Any:
    """An evaluator with numbers of a type, on a backend that XLA can call."""
    backend: Backend = evaluator.execution.backend
    if backend.name == "plain":
        raise UnsupportedFeature(f"{evaluator!r} runs as plain Python, which XLA cannot call: leave plain() out")
    name = backend.name if backend.name == "specialized" else "native"
    return evaluator.on(replace(backend, name=name, dtype=dtype, single_for_single=False))


class EvaluatorSource:
    """An evaluator whose products are one program each.

    Args:
        evaluator: The evaluator, with numbers of the type wanted.
        names: Inputs that calls have.
        by: Those of them to differentiate by.
        on_error: Treatment of states that are not finite, on the CPU.
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
        self.further: list[Shape] = [outputs["result"]] if self._solves else []
        self._pipelines: dict[tuple[Kind, bool], tuple[JaxPipeline, Product]] = {}
        self.space = TangentSpace(program.tree)
        self._held = self._held_inputs()

    def _differentiated(self) -> Differentiated:
        differentiated: Differentiated = self.evaluator.differentiated
        return differentiated

    @property
    def program(self) -> Program:
        """The program of the results: its plan needs no fallback."""
        evaluator = self.evaluator
        if getattr(evaluator, "fallback", None) is not None:
            return evaluator.exported_program
        return evaluator.traced_program if evaluator.backend == "specialized" else evaluator.program

    def _held_inputs(self) -> dict[str, Any]:
        """Inputs of the program that calls do not have, as the evaluator holds them."""
        inputs = [Given(name) for name in self.known.given]
        arranged = self.evaluator.input_arrays(inputs, {})
        names = list(self.evaluator.program.algorithm.inputs)
        return {name: x for name, x in zip(names, arranged, strict=True) if not isinstance(x, Given)}

    def call_of(self, program: Program, backend: Backend | None = None, traced: Program | None = None) -> ProgramCall:
        """A program that JAX calls.

        Args:
            program: The program.
            backend: Its backend; by default as the evaluator.
            traced: Program for GPUs in its place.
        """
        own = self.evaluator.execution.backend if backend is None else backend
        return ProgramCall(program, own, self.on_error, traced)

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

    def value(self, x: dict[str, Array], differentiated: bool = False) -> list[Array]:
        """Results of the evaluator.

        Args:
            x: Inputs by name.
            differentiated: Whether derivatives are taken there.
        """
        values = self.run(self._value, self._solution_inputs if differentiated else {}, x)
        parts = self.known.results.items()
        results = [_taken(values[output], len(self.results[name]), at) for name, (output, at) in parts]
        if isinstance(self.evaluator, ForwardDynamics) and "result" in values:
            solved = self._solved_states(values["result"][..., PROGRESS])
            results = results if solved is None else [jnp.where(solved[..., None], y, jnp.nan) for y in results]
        return [*results, values["result"]] if self.further else results

    def _solved_states(self, progress: Array) -> Array | None:
        """Which states a method without regularization solved, or iterations that must converge; None: all."""
        evaluator = self.evaluator
        if evaluator.strict and METHODS[evaluator.method].iterates:
            return progress <= evaluator.solved_by.tolerance
        if not evaluator.hard:
            return None
        by = evaluator.solved_by
        least = LEAST_PIVOT if by.least > -np.inf else by.least
        return (progress > least) & (progress <= by.most)

    # Products ----------------------------------------------------------------------------------------------------

    @property
    def _products_of(self) -> BaseEvaluator:
        evaluator: BaseEvaluator = self.evaluator
        return evaluator

    @property
    def _solves(self) -> bool:
        """Whether the evaluator solves equations, so that products take its solution."""
        return Product(self._products_of, "vjp", self.by).computation is not None

    @cached_property
    def _solution_inputs(self) -> Mapping[str, Any]:
        computation = Product(self._products_of, "vjp", self.by).computation
        return {} if computation is None else computation.solution_inputs

    def _product(
        self, kind: Kind, x: dict[str, Array], outs: Arrays, *named: Mapping[str, Array], first: bool = False
    ) -> list[Array]:
        """Results of a product, by its pipeline."""
        if (kind, first) not in self._pipelines:
            product = Product(self._products_of, kind, self.by)
            seeded = tuple(self.known.results)[: 1 if first else None]
            product_pipeline = JaxPipeline(product.pipeline(seeded), partial(self._call_for, product))
            self._pipelines[kind, first] = product_pipeline, product
        pipeline, product = self._pipelines[kind, first]
        arrays: dict[str, Array] = {**self._held, **x, **self._solution(outs)}
        for further in named:
            arrays |= further
        computed = pipeline(arrays)
        results = [computed[f"{kind}.{name}"] for name in product.result_names]
        if "refused" not in computed:
            return results
        mask, axes = computed["refused"], [len(shape) for shape in product.result_shapes.values()]
        wide = [mask.reshape((*mask.shape, *[1] * n)) for n in axes]
        return [jnp.where(one, jnp.nan, y) for one, y in zip(wide, results, strict=True)]

    def _call_for(self, product: Product, program: Program) -> ProgramCall:
        """A program of a product that JAX calls."""
        computation = product.computation
        return self.call_of(program, product.execution.backend if computation is None else computation.backend(program))

    def _solution(self, outs: Arrays) -> dict[str, Array]:
        """Results of the evaluator as pipelines name them, where it solves equations."""
        if not self.further:
            return {}
        return {self.evaluator.implicit.solution[0]: outs[0], "result": outs[-1]}

    def forward(self, x: dict[str, Array], outs: Arrays, d: dict[str, Array]) -> list[Array]:
        """Rates of results.

        Args:
            x: Inputs by name.
            outs: Results.
            d: Directions by names of inputs, in tangent spaces.
        """
        return self._product("jvp", x, outs, self._tangents(d))

    def reverse(self, x: dict[str, Array], outs: Arrays, y: Arrays, first: bool = False) -> dict[str, Array]:
        """Gradients by inputs.

        Args:
            x: Inputs by name.
            outs: Results.
            y: Seeds of results, in tangent spaces.
            first: Whether seeds of all results but the first are zero.
        """
        return dict(zip(self.by, self._product("vjp", x, outs, self._cotangents(y), first=first), strict=True))

    def second(self, x: dict[str, Array], outs: Arrays, y: Arrays, d: dict[str, Array]) -> dict[str, Array]:
        """Rates of gradients along a direction.

        Args:
            x: Inputs by name.
            outs: Results.
            y: Seeds of results, in tangent spaces.
            d: Directions by names of inputs, in tangent spaces.
        """
        rates = self._product("hvp", x, outs, self._cotangents(y), self._tangents(d))
        return dict(zip(self.by, rates, strict=True))

    def _cotangents(self, y: Arrays) -> dict[str, Array]:
        return {f"y_{name}": one for name, one in zip(self.known.results, y, strict=True)}

    def _tangents(self, d: Mapping[str, Array]) -> dict[str, Array]:
        return {f"d{name}": one for name, one in d.items()}


class StepSource(EvaluatorSource):
    """One step of a `Stepper` without contacts.

    Args:
        evaluator: The stepper, with numbers of the type wanted.
        names: Inputs that calls have.
        by: Those of them to differentiate by.
        on_error: Treatment of states that are not finite, on the CPU.
    """

    def __init__(self, evaluator: Any, names: Sequence[str], by: Sequence[str], on_error: OnError) -> None:
        self._commanded = "commands" in names
        super().__init__(evaluator, names, by, on_error)
        self.results = {name.removesuffix("1"): shape for name, shape in self.results.items()}
        self.curved_results = ("q",)

    def _differentiated(self) -> Differentiated:
        differentiated: Differentiated = self.evaluator._function.differentiated
        return differentiated

    def _held_inputs(self) -> dict[str, Any]:
        stepper = self.evaluator
        commands = stepper.held.commands if self._commanded else None
        held = [*stepper.held(commands), *(stepper.execution.held[name] for name in stepper.parameters)]
        if stepper.integrator != "dopri5":
            held.append(stepper.held.once)
        names = list(self.program.algorithm.inputs)[3:]
        return {"tau": np.zeros(stepper.robot.nv, self.dtype), **dict(zip(names, held, strict=True))}

    def value(self, x: dict[str, Array], differentiated: bool = False) -> list[Array]:
        """The state after the step.

        Args:
            x: Inputs by name.
            differentiated: Whether derivatives are taken there.
        """
        values = self.run(self._value, x)
        return [values["q1"], values["v1"]]

    @property
    def _products_of(self) -> BaseEvaluator:
        function: BaseEvaluator = self.evaluator._function
        return function


class Given:
    """Stands for an input that calls have."""

    def __init__(self, name: str) -> None:
        self.name = name


def _part(shape: Shape, at: slice) -> Shape:
    return shape if at == slice(None) else (len(range(*at.indices(shape[0]))), *shape[1:])


def _taken(x: Array, rank: int, at: slice) -> Array:
    """A part of one state's array, behind batch axes."""
    return x if at == slice(None) else x[(..., at, *[slice(None)] * (rank - 1))]
