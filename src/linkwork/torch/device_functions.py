# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as functions of tensors on a CUDA device: the same products as on the CPU, each a launch or a few."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch

from linkwork.dynamics.implicit_products import DUALS
from linkwork.dynamics.solution import HEAD
from linkwork.dynamics.staged_products import Stages
from linkwork.errors import UnsupportedFeature
from linkwork.quantities.coordinate_derivatives import CoordinateDerivatives
from linkwork.quantities.products import Product
from linkwork.simulation.stepper import Stepper
from linkwork.torch.array_functions import ArrayFunction, Arrays, EvaluatorFunction, Shapes
from linkwork.torch.launches import Given, Launch, Tensor, named


class MapOnDevice:
    """A map of `CoordinateDerivatives` on a device.

    Args:
        evaluator: The map, or its product, on ``"cuda"``.
        device: Where.
    """

    def __init__(self, evaluator: Any, device: torch.device) -> None:
        self._evaluator, self._device = evaluator, device
        self._launch: Launch | None = None
        self._jvp: MapOnDevice | None = None

    def __call__(self, *tensors: Tensor) -> Tensor:
        """The vector that the map makes."""
        if self._launch is None:
            runner = self._evaluator.runner
            self._launch = Launch(runner, named(runner.names), self._device)
            self._names = list(runner.names)
        return self._launch(dict(zip(self._names, tensors, strict=True)))[0]

    @property
    def jvp(self) -> MapOnDevice:
        """Its rate along a direction."""
        if self._jvp is None:
            self._jvp = MapOnDevice(self._evaluator.jvp, self._device)
        return self._jvp


class DeviceFunction(ArrayFunction):
    """An evaluator, or a step without contacts, as a function of tensors on a CUDA device.

    Args:
        evaluator: What is computed.
        by: Names of the inputs to differentiate by.
        device: Where.
        dtype: Type of the numbers.
    """

    def __init__(self, evaluator: Any, by: Sequence[str] | None, device: torch.device, dtype: str) -> None:
        source = evaluator._function if isinstance(evaluator, Stepper) else evaluator
        super().__init__(source, by, lambda made: made.to("cuda", dtype=dtype))
        self.device = device
        self.known = source.differentiated
        self._launches: dict[Any, Launch] = {}

    def _default_by(self, evaluator: Any, known: Any) -> tuple[str, ...]:
        return EvaluatorFunction._default_by(self, evaluator, known)

    def shapes(self) -> tuple[Shapes, Shapes, Shapes]:
        """Shapes of one state: those on the CPU."""
        raise NotImplementedError

    @property
    def maps(self) -> CoordinateDerivatives:
        """Derivatives in coordinates."""
        if self._maps is None:
            convert = self._convert
            assert convert is not None
            self._maps = CoordinateDerivatives(self.robot).on(lambda made: MapOnDevice(convert(made), self.device))
        return self._maps

    # Launches --------------------------------------------------------------------------------------------------

    def _launch(self, key: Any, make: Any) -> Launch:
        found = self._launches.get(key)
        if found is None:
            found = self._launches[key] = make()
        return found

    def _product(self, kind: str) -> Product:
        found: Product | None = self._products.get(kind)
        if found is None:
            found = getattr(self.evaluator, kind)
            assert found is not None
            if found.inputs != self.by:
                found = found.by(*self.by)
            self._products[kind] = found
        return found

    def _held(self, product: Product, options: Sequence[str], directions: Sequence[str]) -> dict[str, Any]:
        """All inputs of a product by name: tensors of calls, and what the evaluator holds."""
        state = [Given(name) for name in self.given]
        seeds = [Given(f"y_{name}") for name in self.results] if product.seeded else []
        along = named([f"d{name}" for name in directions])
        arranged = product._arranged([*state, *seeds], {**named(options), **along})
        source = self.evaluator.differentiated_program
        names = [*source.algorithm.inputs, *product._further_inputs(source)]
        return dict(zip(names, arranged, strict=True))

    def value(self, inputs: Arrays) -> list[Any]:
        """Results."""
        options = tuple(self._options(inputs)) if len(inputs) > len(self.given) else ()

        def make() -> Launch:
            runner = self.evaluator.runner
            arranged = self.evaluator._inputs_with([Given(name) for name in self.given], named(options))
            return Launch(runner, dict(zip(runner.names, arranged, strict=True)), self.device)

        made = self._launch(("value", options), make)(inputs)
        return [made[k] if at is None else made[k][..., at] for k, at in self._parts]

    @cached_property
    def _parts(self) -> list[tuple[int, slice | None]]:
        """Which outputs of the program results are, and which part of each."""
        outputs = list(self.evaluator.runner.program.algorithm.outputs)
        found = [(outputs.index(name), at) for name, at in self.known.results.values()]
        return [(k, None if at == slice(None) else at) for k, at in found]

    def _run(self, kind: str, inputs: Arrays, seeds: Sequence[Any], directions: Arrays) -> list[Any]:
        """A product that is one program."""
        product, options, along = self._product(kind), tuple(self._options(inputs)), tuple(directions)

        def make() -> Launch:
            return Launch(product.runner, self._held(product, options, along), self.device)  # type: ignore[arg-type]

        tensors = {**inputs, **{f"d{name}": d for name, d in directions.items()}}
        tensors |= {f"y_{name}": s for name, s in zip(self.results, seeds, strict=False)}
        return self._launch((kind, options, along), make)(tensors)

    def tangent_vjp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        """``y' J``, by `by`; of configurations in tangent spaces."""
        product = self._product("vjp")
        if isinstance(product, Stages):
            return self._staged_vjp(product, inputs, outputs, seeds)
        return self._run("vjp", inputs, seeds, {})

    def tangent_jvp(self, inputs: Arrays, outputs: Sequence[Any], directions: Arrays) -> list[Any]:
        """``J d``; of configurations in tangent spaces."""
        product = self._product("jvp")
        if isinstance(product, Stages):
            return self._staged_jvp(product, inputs, outputs, directions)
        return self._run("jvp", inputs, (), directions)

    def tangent_hvp(
        self, inputs: Arrays, outputs: Sequence[Any], seeds: Sequence[Any], directions: Arrays
    ) -> list[Any]:
        """The derivative of `tangent_vjp` along a direction, seeds held."""
        return self._run("hvp", inputs, seeds, directions)

    # In stages -------------------------------------------------------------------------------------------------

    def _solved(self, product: Stages, tensors: dict[str, Any], options: tuple[str, ...]) -> tuple[Any, Any]:
        """The solution of the linear system with right-hand sides ``force`` and ``rows``: ``x`` and ``w``."""

        def make() -> Launch:
            product.runner  # noqa: B018  makes what is held
            held = {**self._held(product, options, ()), **named(self.implicit_names(product))}
            arranged = product._of_system(held, Given("force"), Given("rows"))
            runner: Any = product.solve_runner
            return Launch(runner, dict(zip(runner.names, arranged, strict=True)), self.device)

        x, result = self._launch(("system", options), make)(tensors)
        rows = int(self.robot.nc)
        return x, result[..., HEAD : HEAD + rows]

    @staticmethod
    def implicit_names(product: Stages) -> list[str]:
        """Names of the solution among the inputs of residuals.

        Args:
            product: The product.
        """
        return list(product.implicit.solution)

    def _residual(self, product: Stages, tensors: dict[str, Any], options: tuple[str, ...], along: Any) -> list[Any]:
        """The derivative of the residual."""

        def make() -> Launch:
            runner: Any = product.runner
            held = {**self._held(product, options, along), **named(self.implicit_names(product))}
            held |= named(list(DUALS.values()))
            return Launch(runner, {name: held[name] for name in runner.names}, self.device)

        return self._launch((product.kind, options, along), make)(tensors)

    def _staged_vjp(self, product: Stages, inputs: Arrays, outputs: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        options = tuple(self._options(inputs))
        tensors = {**inputs, **dict(zip(self.implicit_names(product), outputs, strict=True))}
        p, w = self._solved(product, {**tensors, "force": seeds[0], "rows": -seeds[1]}, options)
        found: dict[str, Any] = {"tau": p, "target": -w}
        moving = list(product.program.algorithm.outputs)
        if moving:
            made = self._residual(product, {**tensors, **dict(zip(DUALS.values(), (p, w), strict=True))}, options, ())
            found |= zip(moving, made, strict=True)
        return [found[name] for name in product.inputs]

    def _staged_jvp(self, product: Stages, inputs: Arrays, outputs: Sequence[Any], directions: Arrays) -> list[Any]:
        options, along = tuple(self._options(inputs)), tuple(directions)
        tensors = {**inputs, **dict(zip(self.implicit_names(product), outputs, strict=True))}
        directed = {f"d{name}": d for name, d in directions.items()}
        force, rows = self._residual(product, {**tensors, **directed}, options, along)
        return list(self._solved(product, {**tensors, "force": force, "rows": rows}, options))


def check_device(evaluator: Any) -> None:
    """Raise where an evaluator has no function of tensors on a CUDA device.

    Args:
        evaluator: What is computed.
    """
    if getattr(evaluator, "contact", False) or evaluator.quantity == "contact_step":
        raise UnsupportedFeature(
            "steps with contacts have no functions of tensors on a CUDA device: their derivatives are found on the "
            "CPU; move tensors there, or simulate by lw.Simulation(robot, device='cuda')"
        )
