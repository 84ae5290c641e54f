# SPDX-License-Identifier: BSD-3-Clause
"""Steps with contacts as functions of tensors on a CUDA device: the step, and the pipelines of `contact.implicit`.

Nothing waits for the device. Derivatives are those of a step in float64: where tensors are float32, the step is
computed again in float64 before its first product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from linkwork.compilers.cuda.runner import CudaRunner
from linkwork.compilers.program import Backend, Program
from linkwork.contact.implicit import StepPrograms, how, jvp, vjp
from linkwork.contact.step_function import ContactStepFunction, need_derivatives
from linkwork.errors import UnsupportedFeature
from linkwork.quantities.coordinate_derivatives import CoordinateDerivatives
from linkwork.quantities.products import Kind
from linkwork.simulation.contact_derivatives import StepperFunction
from linkwork.simulation.stepper import Stepper
from linkwork.torch.array_functions import Arrays
from linkwork.torch.contact_functions import ContactArrayFunction
from linkwork.torch.device_functions import device_maps
from linkwork.torch.launches import Given, Launch, Tensor, named
from linkwork.torch.pipeline import DevicePipeline

STATE = ("q1", "v1")
"""Results that have derivatives."""


class ContactDeviceFunction(ContactArrayFunction):
    """A step in time with contacts: ``(q, v)`` after it.

    Args:
        evaluator: The step, with the slots of all its pairs.
        by: Names of the inputs to differentiate by.
        device: Where.
        dtype: Type of the numbers.
        smoothing: There is none on a device.
    """

    def __init__(
        self, evaluator: Any, by: Sequence[str] | None, device: torch.device, dtype: str, smoothing: float | None = None
    ) -> None:
        if smoothing is not None:
            raise UnsupportedFeature(
                "derivatives of a smoothed problem have no functions of tensors on a CUDA device: leave smoothing out, "
                "or move tensors to the CPU"
            )
        need_derivatives(evaluator.robot, np.float64, evaluator.program.tree.ngiven > 0)
        super().__init__(evaluator.native(dtype), by)
        self._double = self.evaluator if dtype == "float64" else evaluator.native("float64")
        self.device, self.dtype = device, dtype
        self._launches: dict[Any, Launch] = {}
        self._runners: dict[tuple[int, str], CudaRunner] = {}
        self._pipelines: dict[Any, DevicePipeline] = {}

    @property
    def maps(self) -> CoordinateDerivatives:
        """Derivatives in coordinates."""
        if self._maps is None:
            self._maps = device_maps(self.robot, lambda mapping: mapping.to("cuda", dtype=self.dtype), self.device)
        return self._maps

    # The step ----------------------------------------------------------------------------------------------------

    def value(self, inputs: Arrays) -> list[Any]:
        """The state after the step, and the result of its solver."""
        return self._step(self.evaluator, inputs)

    def _step(self, evaluator: Any, inputs: Arrays) -> list[Tensor]:
        """The step of an evaluator of one type of numbers."""
        key = evaluator.dtype.name, tuple(inputs)
        if key not in self._launches:
            program = evaluator.program
            if isinstance(evaluator, Stepper):
                program = evaluator.planned.single(evaluator.dtype.name)
            held = {**held_inputs(evaluator, program, "commands" in inputs), **named(tuple(inputs))}
            self._launches[key] = self._launch(program, held, evaluator.dtype.name)
        launch = self._launches[key]
        results = dict(zip(launch.names, launch(inputs), strict=True))
        return [results["q1"], results["v1"], results["result"]]

    def _launch(self, program: Program, inputs: Mapping[str, Any], dtype: str = "float64") -> Launch:
        key = id(program), dtype
        if key not in self._runners:
            self._runners[key] = CudaRunner(program, Backend("cuda", dtype))
        return Launch(self._runners[key], inputs, self.device)

    # Products ----------------------------------------------------------------------------------------------------

    @cached_property
    def _programs(self) -> StepPrograms:
        own = self._double
        return StepPrograms(StepperFunction(own) if isinstance(own, Stepper) else ContactStepFunction(own), self.by)

    def _pipeline(self, kind: Kind, names: tuple[str, ...], further: tuple[str, ...]) -> DevicePipeline:
        """A product whose calls have certain inputs, and certain seeds or directions."""
        key = kind, names, further
        if key not in self._pipelines:
            programs = self._programs
            pipeline = (jvp if kind == "jvp" else vjp)(programs)
            state = [Given(name) if name in names else np.zeros(self.robot.nv) for name in self.given]
            inputs = programs.inputs(state, {**named([*names[len(self.given) :]]), "result": Given("result")})
            inputs |= {name: self._double.execution.held[name] for name in self._double.parameters}
            held = {name: x for name, x in inputs.items() if not isinstance(x, Given)}
            held["how"] = how(kind, float(held["settings"][0]) / float(held["settings"][2]))
            first = next(pipeline.calls()).program
            shapes = dict(zip(first.algorithm.inputs, first.input_shapes(), strict=True))
            zeros = [f"d{name}" for name in self.by] if kind == "jvp" else [f"y_{name}" for name in STATE]
            held |= {name: np.zeros(shapes[name]) for name in zeros if name not in further}
            held = {name: x for name, x in held.items() if name not in names}
            self._pipelines[key] = DevicePipeline(pipeline, held, self._launch, self.device)
        return self._pipelines[key]

    def _run(self, kind: Kind, inputs: Arrays, outputs: Sequence[Any], further: Arrays) -> list[Tensor]:
        wide = {name: x.double() for name, x in inputs.items()}
        _, _, result = outputs if self.dtype == "float64" else self._step(self._double, wide)
        pipeline = self._pipeline(kind, tuple(inputs), tuple(further))
        results = pipeline({**wide, "result": result, **{name: x.double() for name, x in further.items()}})
        return [results[f"{kind}.{name}"].to(outputs[0].dtype) for name in (STATE if kind == "jvp" else self.by)]

    def tangent_vjp(self, inputs: Arrays, outputs: Sequence[Any], seeds: Arrays) -> list[Any]:
        """``y' J``, by `by`; of configurations in tangent spaces."""
        return self._run("vjp", inputs, outputs, {f"y_{name}": s for name, s in seeds.items()})

    def tangent_jvp(self, inputs: Arrays, outputs: Sequence[Any], directions: Arrays) -> list[Any]:
        """``J d``; of configurations in tangent spaces."""
        return self._run("jvp", inputs, outputs, {f"d{name}": d for name, d in directions.items()})


def held_inputs(evaluator: Any, program: Program, commanded: bool) -> dict[str, Any]:
    """Inputs of the program of a step with contacts that calls do not have.

    Args:
        evaluator: A `ContactStep`, or a `Stepper` with contacts.
        program: One step.
        commanded: Whether calls have commands.
    """
    names, shapes = list(program.algorithm.inputs), program.input_shapes()
    zeros = {name: np.zeros(shape, evaluator.dtype) for name, shape in zip(names, shapes, strict=True)}
    if not isinstance(evaluator, Stepper):
        arranged = evaluator.input_arrays([Given(name) for name in ("q", "v")])
        return zeros | {name: x for name, x in zip(names, arranged, strict=False) if not isinstance(x, Given)}
    commands, wrenches, _, R, timing = evaluator.held(evaluator.held.commands if commanded else None)
    held = {"commands": commands, "wrenches": wrenches, "timing": timing, "settings": R[:2]}
    return zeros | held | {name: evaluator.execution.held[name] for name in evaluator.parameters}
