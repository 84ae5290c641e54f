# SPDX-License-Identifier: BSD-3-Clause
"""The interpreter of pipelines for JAX arrays, which XLA compiles, branches included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from linkwork.compilers.pipeline import Call, Pipeline, When
from linkwork.compilers.program import Program
from linkwork.jax.calls import ProgramCall

Array = Any
Arrays = dict[str, Array]


class JaxPipeline:
    """A pipeline that JAX traces.

    Args:
        pipeline: The pipeline.
        call: Makes a program callable by JAX; called once for a program.
    """

    def __init__(self, pipeline: Pipeline, call: Callable[[Program], ProgramCall]) -> None:
        self.pipeline, self._make = pipeline, call
        self._calls: dict[int, ProgramCall] = {}

    def __call__(self, arrays: Mapping[str, Array]) -> Arrays:
        """Results by name.

        Args:
            arrays: By name; NumPy arrays among them are constants. Batch axes lead, the same for all that have any.
        """
        scope = self._run(self.pipeline, dict(arrays))
        return {name: scope[name] for name in self.pipeline.outputs}

    def _run(self, pipeline: Pipeline, scope: Arrays) -> Arrays:
        scope = {**scope, **pipeline.constants}
        for step in pipeline.steps:
            if isinstance(step, Call):
                results = self._call(step.program)(
                    dict(zip(step.program.algorithm.inputs, (scope[name] for name in step.arguments), strict=True))
                )
                scope |= zip(step.outputs, results.values(), strict=True)
            elif isinstance(step, When):
                scope |= self._when(step, pipeline.ranks, scope)
            else:
                scope[step.output] = step.value(jnp, scope)
        return scope

    def _when(self, step: When, ranks: Mapping[str, int], scope: Arrays) -> Arrays:
        """Outputs of a `When`: its pipeline is run where there are such states."""

        def selected(run: bool) -> Arrays:
            chosen: Arrays = step.selected(jnp, ranks, scope, self._run(step.pipeline, scope) if run else scope)
            return chosen

        chosen: Arrays = jax.lax.cond(jnp.any(scope[step.mask]), lambda: selected(True), lambda: selected(False))
        return chosen

    def _call(self, program: Program) -> ProgramCall:
        """A program that JAX calls; programs that `Pipeline` holds live as long as it does."""
        if id(program) not in self._calls:
            self._calls[id(program)] = self._make(program)
        return self._calls[id(program)]
