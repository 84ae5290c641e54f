# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as functions of tensors on a CUDA device: the same products as on the CPU, each a launch or a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import torch
from torch.autograd import forward_ad

from linkwork.compilers.program import Program
from linkwork.model.model import Model
from linkwork.quantities.coordinate_derivatives import CoordinateDerivatives
from linkwork.quantities.products import Kind, Product
from linkwork.simulation.stepper import Stepper
from linkwork.torch.array_functions import ArrayFunction, Arrays, EvaluatorFunction, Shapes
from linkwork.torch.launches import Given, Launch, Tensor, named
from linkwork.torch.pipeline import DevicePipeline


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
        return self._launch.run(tensors)[0]

    @property
    def jvp(self) -> MapOnDevice:
        """Its rate along a direction."""
        if self._jvp is None:
            self._jvp = MapOnDevice(self._evaluator.jvp, self._device)
        return self._jvp


class DeviceFunction(ArrayFunction):
    """An evaluator, or a step without contacts, as a function of tensors on a CUDA device.

    Args:
        evaluator: The evaluator.
        by: Names of the inputs to differentiate by.
        device: Where.
        dtype: Type of the numbers.
    """

    def __init__(self, evaluator: Any, by: Sequence[str] | None, device: torch.device, dtype: str) -> None:
        source = evaluator._function if isinstance(evaluator, Stepper) else evaluator
        super().__init__(source, by, lambda evaluator: evaluator.to("cuda", dtype=dtype))
        self.device = device
        self.known = source.differentiated
        self._launches: dict[Any, Launch] = {}
        self._pipelines: dict[Any, DevicePipeline] = {}

    def _default_by(self, evaluator: Any, known: Any) -> tuple[str, ...]:
        return EvaluatorFunction._default_by(self, evaluator, known)

    def shapes(self) -> tuple[Shapes, Shapes, Shapes]:
        """Shapes of one state: those on the CPU."""
        raise NotImplementedError

    @property
    def maps(self) -> CoordinateDerivatives:
        """Derivatives in coordinates."""
        if self._maps is None:
            assert self._convert is not None
            self._maps = device_maps(self.robot, self._convert, self.device)
        return self._maps

    # Launches --------------------------------------------------------------------------------------------------

    def _launch(self, key: Any, make: Any) -> Launch:
        launch = self._launches.get(key)
        if launch is None:
            launch = self._launches[key] = make()
        return launch

    def _product(self, kind: str) -> Product:
        product: Product | None = self._products.get(kind)
        if product is None:
            product = getattr(self.evaluator, kind)
            assert product is not None
            if product.inputs != self.by:
                product = product.by(*self.by)
            self._products[kind] = product
        return product

    def _held(
        self, product: Product, options: Sequence[str], directions: Sequence[str], seeds: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """All inputs of a product by name: tensors of calls, and held inputs of the evaluator."""
        inputs: dict[str, Any] = {name: zero for name, zero in product.zeros.items() if name[0] == "d"}
        if product.seeded:
            inputs |= {self.results[0]: product.zeros[f"y_{self.results[0]}"]}
            inputs |= {name: Given(f"y_{name}") for name in (self.results if seeds is None else seeds)}
        inputs |= named([*options, *(f"d{name}" for name in directions)])
        return product.arranged([Given(name) for name in self.given], inputs)

    def value(self, inputs: Arrays) -> list[Any]:
        """Results."""
        options = tuple(self._options(inputs)) if len(inputs) > len(self.given) else ()

        def make() -> Launch:
            runner = self.evaluator.runner
            arranged = self.evaluator.input_arrays([Given(name) for name in self.given], named(options))
            return Launch(runner, dict(zip(runner.names, arranged, strict=True)), self.device)

        results = self._launch(("value", options), make)(inputs)
        parts = [results[k] if at is None else results[k][..., at] for k, at in self._parts]
        if forward_ad._current_level >= 0:  # tangents of views must be laid out as they are
            return [x.contiguous() for x in parts]
        return parts

    def positional_value(self) -> Callable[..., Sequence[Any]]:
        """`value` of exactly the inputs that a call must have, in their order."""
        inputs = named(self.given)
        arranged = self.evaluator.input_arrays(list(inputs.values()), {})
        runner = self.evaluator.runner
        launch, parts = Launch(runner, dict(zip(runner.names, arranged, strict=True)), self.device), self._parts
        if not launch.takes(self.given):
            return super().positional_value()

        def run(*tensors: Tensor) -> Sequence[Tensor]:
            results = launch.run(tensors)
            return [results[k] if at is None else results[k][..., at] for k, at in parts]

        return run

    def positional_vjp(self, seeded: Sequence[str]) -> Callable[..., list[Tensor]] | None:
        """`vjp` of exactly the inputs that a call must have, then seeds of these results; None where it is no program.

        Args:
            seeded: Results that have seeds.
        """
        product = self._product("vjp")
        if product.computation is not None or self.curved_results:
            return None
        launch = Launch(product.runner, self._held(product, (), (), seeded), self.device)  # type: ignore[arg-type]
        places = launch.places([*self.given, *(f"y_{name}" for name in seeded)])
        if places is None:
            return None
        curved = [(self.by.index(name), self.given.index(name)) for name in self.curved if name in self.by]

        def run(*tensors: Tensor) -> list[Tensor]:
            gradients = launch.run([tensors[k] for k in places])
            for k, at in curved:
                gradients[k] = self.maps.gradient(tensors[at], gradients[k])
            return gradients

        return run

    @cached_property
    def _parts(self) -> list[tuple[int, slice | None]]:
        """Which outputs of the program results are, and which part of each."""
        outputs = list(self.evaluator.runner.program.algorithm.outputs)
        places = [(outputs.index(name), at) for name, at in self.known.results.values()]
        if self.evaluator.vjp.computation is not None:
            places.append((outputs.index("result"), slice(None)))  # which products on the CPU take
        return [(k, None if at == slice(None) else at) for k, at in places]

    def _run(
        self, kind: Kind, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays, directions: Arrays
    ) -> list[Tensor]:
        """A product by its pipeline."""
        product, options, along = self._product(kind), tuple(self._options(inputs)), tuple(directions)
        seeded, key = tuple(seeds), (kind, options, along, tuple(seeds))
        tensors = {**inputs, **{f"d{name}": d for name, d in directions.items()}}
        tensors |= {f"y_{name}": s for name, s in seeds.items()}
        if product.computation is not None:
            tensors |= {self.evaluator.implicit.solution[0]: outputs[0], "result": outputs[2]}
        pipeline = self._pipelines.get(key)
        if pipeline is None:
            held = {name: x for name, x in self._held(product, options, along, seeded).items() if name not in tensors}
            pipeline = DevicePipeline(product.pipeline(seeded), held, partial(self._made, product), self.device)
            self._pipelines[key] = pipeline
        results = pipeline(tensors)
        rates = [results[f"{kind}.{name}"] for name in product.result_names]
        if "refused" not in results:
            return rates
        mask, shapes = results["refused"], product.result_shapes.values()
        wide = [mask.reshape((*mask.shape, *[1] * len(shape))) for shape in shapes]
        return [torch.where(one, torch.nan, x) for one, x in zip(wide, rates, strict=True)]

    def _made(self, product: Product, program: Program, inputs: Arrays) -> Launch:
        """The launch of a program of a product; launches that read the same are one."""
        runner = product.runner if product.computation is None else product.computation.runner(program)
        return Launch(runner, inputs, self.device)  # type: ignore[arg-type]

    def tangent_vjp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays) -> list[Any]:
        """``y' J``, by `by`; of configurations in tangent spaces."""
        return self._run("vjp", inputs, outputs, seeds, {})

    def tangent_jvp(self, inputs: Arrays, outputs: Sequence[Any], directions: Arrays) -> list[Any]:
        """``J d``; of configurations in tangent spaces."""
        return self._run("jvp", inputs, outputs, {}, directions)

    def tangent_hvp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays, directions: Arrays) -> list[Any]:
        """The derivative of `tangent_vjp` along a direction, seeds held."""
        return self._run("hvp", inputs, outputs, seeds, directions)


def device_maps(robot: Model, convert: Callable[[Any], Any], device: torch.device) -> CoordinateDerivatives:
    """Derivatives in coordinates on a device.

    Args:
        robot: The mechanism.
        convert: Makes evaluators run on ``"cuda"``.
        device: Where.
    """
    return CoordinateDerivatives(robot).on(lambda mapping: MapOnDevice(convert(mapping), device))
