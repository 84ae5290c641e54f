# SPDX-License-Identifier: BSD-3-Clause
"""The interpreter of pipelines for tensors on a CUDA device: launches and elementwise operations, never waited for.

Nothing here looks at numbers: a `When` that the structure of the robot does not rule out is run for all states, and
results are chosen state by state on the device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch

from linkwork.compilers.pipeline import Call, Pipeline, When
from linkwork.compilers.program import Program
from linkwork.torch.launches import Given, Launch, Tensor

Tensors = dict[str, Tensor]


class Launcher(Protocol):
    """Makes launches of programs."""

    def __call__(self, program: Program, inputs: Mapping[str, Any]) -> Launch:
        """A program whose inputs, by name, are `Given` or arrays that are the same in all calls."""


class DevicePipeline:
    """A pipeline on a CUDA device.

    Args:
        pipeline: The pipeline.
        held: Arrays that are the same in all calls, by name; all others are tensors of calls.
        launch: Makes launches.
        device: Where.
    """

    def __init__(self, pipeline: Pipeline, held: Mapping[str, Any], launch: Launcher, device: torch.device) -> None:
        self.pipeline, self._held, self._launch, self._device = pipeline, held, launch, device
        self._launches: dict[Call, Launch] = {}
        self._constants: dict[Pipeline, Tensors] = {}

    def __call__(self, tensors: Mapping[str, Tensor]) -> Tensors:
        """Results by name.

        Args:
            tensors: By name; leading axes are batch axes and broadcast.
        """
        scope = self._run(self.pipeline, dict(tensors), dict(self._held))
        return {name: scope[name] for name in self.pipeline.outputs}

    def _run(self, pipeline: Pipeline, scope: Tensors, held: dict[str, Any]) -> Tensors:
        held = {**held, **pipeline.constants}
        scope = {**scope, **self._on_device(pipeline)}
        for step in pipeline.steps:
            if isinstance(step, Call):
                results = self._call(step, held)({name: scope[name] for name in step.arguments if name in scope})
                computed = dict(zip(step.outputs, results, strict=True))
            elif not isinstance(step, When):
                computed = {step.output: step.value(torch, scope)}
            elif step.expected:
                computed = step.selected(torch, pipeline.ranks, scope, self._run(step.pipeline, scope, held))
            else:
                continue
            scope |= computed
            for name in computed:
                held.pop(name, None)
        return scope

    def _call(self, step: Call, held: Mapping[str, Any]) -> Launch:
        """The launch of a program; what is held is known to it."""
        if step not in self._launches:
            named = zip(step.program.algorithm.inputs, step.arguments, strict=True)
            inputs = {key: held.get(name, Given(name)) for key, name in named}
            self._launches[step] = self._launch(step.program, inputs)
        return self._launches[step]

    def _on_device(self, pipeline: Pipeline) -> Tensors:
        """Constants of a pipeline as tensors."""
        if pipeline not in self._constants:
            self._constants[pipeline] = {
                name: torch.tensor(x, device=self._device) for name, x in pipeline.constants.items()
            }
        return self._constants[pipeline]
