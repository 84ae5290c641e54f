# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators and steps as functions of arrays, with products whose derivatives by configurations are in coordinates.

| product | called with                                | returns                                                      |
|---------|--------------------------------------------|--------------------------------------------------------------|
| `value` | inputs                                     | results, then what products may take of them (`kept`)         |
| `vjp`   | inputs, outputs, seeds of results          | ``s' J``, by inputs; results without a seed count nothing     |
| `jvp`   | inputs, outputs, directions of inputs      | ``J d``, by results                                          |
| `hvp`   | inputs, outputs, seeds, directions         | the derivative of ``s' J`` along the direction: symmetric     |

Arrays are NumPy's, or those of a device that evaluators on it take. See `quantities.coordinate_derivatives` for
coordinates: to a framework, functions of ``q`` are those that normalize quaternions first, so that second derivatives
are symmetric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from linkwork.dynamics.forward import ForwardDynamics
from linkwork.dynamics.impact import ImpactDynamics
from linkwork.dynamics.solution import ResultLayout
from linkwork.errors import InputError
from linkwork.kernels.algorithm import resolve
from linkwork.quantities.coordinate_derivatives import CoordinateDerivatives, is_curved
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.products import Product

Arrays = Mapping[str, Any]
Shapes = dict[str, tuple[int, ...]]


class ArrayFunction:
    """An evaluator as a function of arrays.

    Args:
        evaluator: The evaluator.
        by: Names of the inputs to differentiate by; by default all that a call must have, and those that it may have.
        convert: Makes evaluators run where arrays are; by default they stay as they are.
    """

    left_out: ClassVar[tuple[str, ...]] = ()
    """Inputs that are zero where they are not given."""

    def __init__(
        self, evaluator: Any, by: Sequence[str] | None = None, convert: Callable[[Any], Any] | None = None
    ) -> None:
        self.evaluator = evaluator if convert is None else convert(evaluator)
        self.robot = evaluator.robot
        known = self._differentiated(evaluator)
        self.given, self.optional = known.given, known.optional
        for name in by or ():
            if name not in known.inputs:
                raise InputError(
                    f"{evaluator.quantity} of '{self.robot.name}' has no derivative by '{name}'; there are those by "
                    f"{', '.join(known.inputs)}"
                )
        self.by = tuple(dict.fromkeys(by)) if by is not None else self._default_by(evaluator, known)
        """Names of the inputs to differentiate by."""
        self.results = tuple(known.results)
        curved = is_curved(self.robot)
        self.curved = known.curved if curved else ()
        self.curved_results = known.curved_results if curved else ()
        self._maps: CoordinateDerivatives | None = None
        self._convert = convert
        self._products: dict[str, Any] = {}

    def _differentiated(self, evaluator: Any) -> Differentiated:
        differentiated: Differentiated = evaluator.differentiated
        return differentiated

    def _default_by(self, evaluator: Any, known: Differentiated) -> tuple[str, ...]:
        optional = ("wrenches", "commands", *evaluator.parameters)
        return (*known.given, *(name for name in known.optional if name in optional))

    def shapes(self) -> tuple[Shapes, Shapes, Shapes]:
        """Shapes of one state: of inputs, of results, and of what else `value` returns."""
        raise NotImplementedError

    @property
    def takes_outputs(self) -> bool:
        """Whether products take what `value` returned."""
        return bool(self.curved_results)

    @property
    def maps(self) -> CoordinateDerivatives:
        """Derivatives in coordinates."""
        if self._maps is None:
            derivatives = CoordinateDerivatives(self.robot)
            self._maps = derivatives if self._convert is None else derivatives.on(self._convert)
        return self._maps

    # In tangent spaces -----------------------------------------------------------------------------------------

    def value(self, inputs: Arrays) -> list[Any]:
        """Results, and what products may take of them."""
        raise NotImplementedError

    def positional_value(self) -> Callable[..., Sequence[Any]]:
        """`value` of exactly the inputs that a call must have, in their order."""
        return lambda *arrays: self.value(dict(zip(self.given, arrays, strict=True)))

    def positional_vjp(self, seeded: Sequence[str]) -> Callable[..., list[Any]] | None:
        """`vjp` of exactly the inputs that a call must have, then seeds of these results; None where it is no program.

        Args:
            seeded: Results that have seeds.
        """
        return None

    def tangent_vjp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays) -> list[Any]:
        """``y' J``, by `by`; of configurations in tangent spaces."""
        raise NotImplementedError

    def tangent_jvp(self, inputs: Arrays, outputs: Sequence[Any], directions: Arrays) -> list[Any]:
        """``J d``; of configurations in tangent spaces."""
        raise NotImplementedError

    def tangent_hvp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays, directions: Arrays) -> list[Any]:
        """The derivative of `tangent_vjp` along a direction, seeds held."""
        raise NotImplementedError

    # In coordinates --------------------------------------------------------------------------------------------

    def vjp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays) -> list[Any]:
        """``s' J``, by `by`."""
        gradients = self.tangent_vjp(inputs, outputs, self._tangent_seeds(outputs, seeds))
        for name in self.curved:
            if name in self.by:
                k = self.by.index(name)
                gradients[k] = self.maps.gradient(inputs[name], gradients[k])
        return gradients

    def jvp(self, inputs: Arrays, outputs: Sequence[Any], directions: Arrays) -> list[Any]:
        """``J d``, by results."""
        rates = self.tangent_jvp(inputs, outputs, self._tangent_directions(inputs, directions))
        for k, name in enumerate(self.results):
            if name in self.curved_results:
                rates[k] = self.maps.rate(outputs[k], rates[k])
        return rates

    def hvp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays, directions: Arrays) -> list[Any]:
        """The derivative of `vjp` along a direction, seeds held: the Hessian of ``s' f`` times the direction."""
        y, d = self._tangent_seeds(outputs, seeds), self._tangent_directions(inputs, directions)
        products = self.tangent_hvp(inputs, outputs, y, d)
        if self.curved_results:  # seeds in the tangent space change with the configuration that they are seeds of
            rates = self.tangent_jvp(inputs, outputs, d)
            moving = {}
            for k, name in enumerate(self.results):
                if name in self.curved_results and name in seeds:
                    rate = self.maps.rate(outputs[k], rates[k])
                    moving[name] = self.maps.seed.jvp(outputs[k], seeds[name], rate, 0.0 * seeds[name])
            if moving:
                products = [h + g for h, g in zip(products, self.tangent_vjp(inputs, outputs, moving), strict=True)]
        if any(name in self.by for name in self.curved):
            gradients = self.tangent_vjp(inputs, outputs, y)
            for name in self.curved:
                k = self.by.index(name)
                direction = directions[name] if name in directions else 0.0 * inputs[name]
                products[k] = self.maps.gradient.jvp(inputs[name], gradients[k], direction, products[k])
        return products

    def _tangent_seeds(self, outputs: Sequence[Any], seeds: Arrays) -> dict[str, Any]:
        return {
            name: self.maps.seed(outputs[self.results.index(name)], s) if name in self.curved_results else s
            for name, s in seeds.items()
        }

    def _tangent_directions(self, inputs: Arrays, directions: Arrays) -> dict[str, Any]:
        return {
            name: self.maps.direction(inputs[name], d) if name in self.curved else d for name, d in directions.items()
        }

    # Products that are evaluators ------------------------------------------------------------------------------

    def _options(self, inputs: Arrays) -> dict[str, Any]:
        """Inputs that need not be given."""
        return {name: inputs[name] for name in self.optional if name in inputs}

    def _state(self, inputs: Arrays) -> list[Any]:
        return [inputs[name] for name in self.given]


class EvaluatorFunction(ArrayFunction):
    """Quantities, inverse dynamics, forward dynamics and impacts."""

    def shapes(self) -> tuple[Shapes, Shapes, Shapes]:
        """Shapes of one state: of inputs, of results, and of what else `value` returns."""
        source = self.evaluator.differentiated_program
        shapes = source.algorithm.inputs
        inputs = {name: resolve(shapes[name], source.tree) for name in (*self.given, *self.optional)}
        kept: Shapes = {"result": (ResultLayout(self.robot.nc).size,)} if self._keeps_result else {}
        return inputs, self.evaluator.vjp.part_shapes, kept

    @cached_property
    def _keeps_result(self) -> bool:
        """Whether products take the solution of equations, and how iterations ended."""
        return self.evaluator.vjp.computation is not None

    @property
    def takes_outputs(self) -> bool:
        """Whether products take what `value` returned."""
        return self._keeps_result or bool(self.curved_results)

    def _product(self, kind: str) -> Any:
        product = self._products.get(kind)
        if product is None:
            product = getattr(self.evaluator, kind)
            if product.inputs != self.by:
                product = product.by(*self.by)
            self._products[kind] = product
        return product

    def value(self, inputs: Arrays) -> list[Any]:
        """Results."""
        options, state = self._options(inputs), self._state(inputs)
        solution = self.evaluator(*state, **options)
        if isinstance(self.evaluator, ForwardDynamics):
            values = [solution.acceleration, solution.multipliers] if len(self.results) > 1 else [solution.acceleration]
            return [*values, solution.result] if self._keeps_result else values
        if isinstance(self.evaluator, ImpactDynamics):
            velocity, result = self.evaluator.solved(solution)
            return [velocity, result[..., ResultLayout(self.robot.nc).multipliers], result]
        return list(solution) if isinstance(solution, tuple | list) else [solution]

    def positional_value(self) -> Callable[..., Sequence[Any]]:
        """`value` of exactly the inputs that a call must have, in their order."""
        evaluate: Callable[..., Any] = self.evaluator
        if isinstance(evaluate, ForwardDynamics):
            if len(self.results) == 1:
                return lambda q, v, tau: (evaluate(q, v, tau).acceleration,)
            forces, keeps = ResultLayout(self.robot.nc).multipliers, self._keeps_result

            def solve(q: Any, v: Any, tau: Any) -> tuple[Any, ...]:
                solution: Any = evaluate(q, v, tau)
                result = solution.result
                values = solution.acceleration, result[forces] if result.ndim == 1 else result[..., forces]
                return (*values, result) if keeps else values

            return solve
        if isinstance(evaluate, ImpactDynamics):
            return super().positional_value()
        return evaluate if len(self.results) > 1 else lambda *arrays: (evaluate(*arrays),)

    def _solution(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """The solution that products reuse."""
        return {"solution": (outputs[0], outputs[2])} if self._keeps_result else {}

    def tangent_vjp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays) -> list[Any]:
        """``y' J``, by `by`; of configurations in tangent spaces."""
        product, options = self._product("vjp"), self._options(inputs)
        return list(product(*self._state(inputs), **self._seeds(product, seeds), **options, **self._solution(outputs)))

    def tangent_jvp(self, inputs: Arrays, outputs: Sequence[Any], directions: Arrays) -> list[Any]:
        """``J d``; of configurations in tangent spaces."""
        further = self._directed(directions)
        product, options = self._product("jvp"), self._options(inputs)
        rates = product(*self._state(inputs), **options, **further, **self._solution(outputs))
        return list(rates) if isinstance(rates, tuple) else [rates]

    def tangent_hvp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays, directions: Arrays) -> list[Any]:
        """The derivative of `tangent_vjp` along a direction, seeds held."""
        product, options = self._product("hvp"), self._options(inputs)
        arguments = {**self._seeds(product, seeds), **options, **self._directed(directions), **self._solution(outputs)}
        return list(product(*self._state(inputs), **arguments))

    def _seeds(self, product: Product, seeds: Arrays) -> Arrays:
        """Seeds by name: that of the first result must be there."""
        first = self.results[0]
        return seeds if first in seeds else {first: product.zeros[f"y_{first}"], **seeds}

    def _directed(self, directions: Arrays) -> dict[str, Any]:
        return {f"d{name}": d for name, d in directions.items()}


class StepperArrayFunction(EvaluatorFunction):
    """A step in time without contacts: ``(q, v)`` after it."""

    left_out = ("tau",)

    def _differentiated(self, evaluator: Any) -> Differentiated:
        differentiated: Differentiated = evaluator._function.differentiated
        return differentiated

    def shapes(self) -> tuple[Shapes, Shapes, Shapes]:
        """Shapes of one state: of inputs, of results, and of what else `value` returns."""
        source, nq, nv = self.evaluator.planned.differentiated, self.robot.nq, self.robot.nv
        program = self.evaluator.parameter_inputs.program(source)
        shapes = program.algorithm.inputs
        inputs = {name: resolve(shapes[name], program.tree) for name in (*self.given, *self.optional)}
        return inputs, {"q1": (nq,), "v1": (nv,)}, {}

    @cached_property
    def _keeps_result(self) -> bool:
        """Steps are straight lines."""
        return False

    def value(self, inputs: Arrays) -> list[Any]:
        """The state after the step."""
        result = self.evaluator(*self._state(inputs), **self._options(inputs))
        return [result.q, result.v]

    def positional_value(self) -> Callable[..., Sequence[Any]]:
        """`value` of exactly the inputs that a call must have, in their order."""
        step: Callable[..., Any] = self.evaluator

        def state(q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
            result = step(q, v, tau)
            return result.q, result.v

        return state

    def _product(self, kind: str) -> Any:
        product = self._products.get(kind)
        if product is None:
            product = self._products[kind] = getattr(self.evaluator._function, kind).by(*self.by)
        return product
