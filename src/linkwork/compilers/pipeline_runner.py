# SPDX-License-Identifier: BSD-3-Clause
"""The interpreter of pipelines for NumPy arrays: called with arrays, or bound to arrays that are allocated once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.pipeline import Call, Map, Part, Pipeline, Step, Sum, When
from linkwork.compilers.program import Program
from linkwork.compilers.run import Runner

Array = npt.NDArray[Any]
Arrays = dict[str, Any]
Bind = Callable[[Runner, Sequence[Any]], Callable[[], None]]


class PipelineRunner:
    """Runs a pipeline with NumPy arrays.

    Args:
        pipeline: The pipeline.
        runner: Runner of a program; called when the program is first needed.
    """

    def __init__(self, pipeline: Pipeline, runner: Callable[[Program], Runner]) -> None:
        self.pipeline, self._runner = pipeline, runner
        self._inner: dict[When, PipelineRunner] = {}
        kinds: dict[type, Callable[[Any, Arrays], None]] = {Call: self._call, When: self._when, Part: _part}
        self._steps = [
            (kinds.get(type(step), _compute), step, released)
            for step, released in zip(pipeline.steps, pipeline.released, strict=True)
        ]

    def __call__(self, arrays: Mapping[str, Any]) -> Arrays:
        """All arrays of the pipeline by name: new ones, and those that it was called with.

        Args:
            arrays: By name; leading axes are batch axes and broadcast.
        """
        scope: Arrays = {**arrays, **self.pipeline.constants}
        for run, step, released in self._steps:
            run(step, scope)
            for name in released:
                del scope[name]
        return scope

    def _call(self, step: Call, scope: Arrays) -> None:
        results = evaluated(self._runner(step.program), [scope[name] for name in step.arguments])
        scope.update(zip(step.outputs, results, strict=True))

    def _when(self, step: When, scope: Arrays) -> None:
        mask = scope[step.mask]
        if mask.all():
            results = self.inner(step)(scope)
            scope |= {name: results[name] for name in step.outputs}
        elif mask.any():
            scope |= self._of_states(step, scope, mask)

    def _of_states(self, step: When, scope: Arrays, mask: Array) -> Arrays:
        """Outputs of a `When`, whose pipeline is run for the states of its mask alone."""
        ranks = {name: self.pipeline.ranks.get(name, 1) for name in (*step.outputs, *step.pipeline.reads)}
        arrays = {name: np.asarray(scope[name]) for name in ranks if name in scope}
        lead = np.broadcast_shapes(mask.shape, *(x.shape[: max(x.ndim - ranks[name], 0)] for name, x in arrays.items()))
        states = np.broadcast_to(mask, lead)

        shared = {name: x for name, x in arrays.items() if x.ndim <= ranks[name]}
        own = {name: of_states(x, ranks[name], states) for name, x in arrays.items() if name not in shared}
        results = self.inner(step)(shared | own)
        outputs = {}
        for name in step.outputs:
            outputs[name] = wide(arrays[name], ranks[name], lead).copy()
            outputs[name][states] = results[name]
        return outputs

    def inner(self, step: When) -> PipelineRunner:
        """The runner of the pipeline of a `When`.

        Args:
            step: The step.
        """
        if step not in self._inner:
            self._inner[step] = PipelineRunner(step.pipeline, self._runner)
        return self._inner[step]

    # Bound to arrays -------------------------------------------------------------------------------------------

    def bind(self, arrays: Arrays, bind: Bind) -> Callable[[], None]:
        """A call without arguments that reads these arrays as they then are, and computes in arrays of its own.

        Args:
            arrays: By name; those that the pipeline computes are added.
            bind: Makes a call without arguments of a runner and the arrays of its program.
        """
        arrays |= self.pipeline.constants
        calls = [self._bound(step, arrays, bind) for step in self.pipeline.steps]

        def run() -> None:
            for call in calls:
                call()

        return run

    def _bound(self, step: Step, scope: Arrays, bind: Bind) -> Callable[[], None]:
        if isinstance(step, Call):
            runner = self._runner(step.program)
            inputs = [scope[name] for name in step.arguments]
            lead = _lead(inputs, runner.inputs)
            results = [np.zeros((*lead, *shape), runner.dtype) for shape in runner.outputs]
            scope.update(zip(step.outputs, results, strict=True))
            return bind(runner, [*inputs, *results])
        if isinstance(step, When):
            return self._bound_when(step, dict(scope), bind)
        if isinstance(step, Sum) and self._is_alias(step):
            scope[step.output] = scope[step.terms[0][1]]
            return _nothing
        known = dict(scope)
        with np.errstate(all="ignore"):  # arrays hold nothing yet
            result = scope[step.output] = np.array(step.value(np, known), order="C")
        if isinstance(step, Part):
            return _copy(result, step.value(np, known))
        return _bound_sum(step, known, result) or _write(result, partial(step.value, np, known))

    def _is_alias(self, step: Sum) -> bool:
        """Whether a sum is an array that is there already, and that no `When` writes to."""
        written = any(step.output in other.outputs for other in self.pipeline.steps if isinstance(other, When))
        return len(step.terms) == 1 and step.terms[0][0] == 1.0 and not written

    def _bound_when(self, step: When, scope: Arrays, bind: Bind) -> Callable[[], None]:
        mask, outputs = scope[step.mask], {name: scope[name] for name in step.outputs}
        where = {name: mask.reshape((*mask.shape, *[1] * self.pipeline.ranks[name])) for name in outputs}
        inner: list[Callable[[], None]] = []
        occurs = any_state(mask)

        def run() -> None:
            if occurs():
                if not inner:  # bound where it is first needed
                    inner.append(self.inner(step).bind(scope, bind))
                inner[0]()
                for name, x in outputs.items():
                    np.copyto(x, scope[name], where=where[name])

        return run


def wide(x: Array, rank: int, lead: tuple[int, ...]) -> Array:
    """An array with batch axes.

    Args:
        x: The array, whose batch axes broadcast.
        rank: Axes of one state's array.
        lead: Batch axes.
    """
    return np.broadcast_to(x, (*lead, *x.shape[x.ndim - rank :]))


def of_states(x: Any, rank: int, mask: Array) -> Array:
    """The states of a mask, on one axis.

    Args:
        x: An array, whose batch axes broadcast.
        rank: Axes of one state's array.
        mask: One boolean a state.
    """
    states: Array = wide(np.asarray(x), rank, mask.shape)[mask]
    return states


def _nothing() -> None:
    """A step that needs no time."""


def any_state(mask: Array) -> Callable[[], Any]:
    """Whether a mask has a state, as it then is.

    Args:
        mask: One boolean a state; of one state, without axes.
    """
    return mask.any if mask.ndim else mask.item


def _copy(to: Array, x: Array) -> Callable[[], None]:
    def copy() -> None:
        to[...] = x

    return copy


def _write(to: Array, value: Callable[[], Any]) -> Callable[[], None]:
    def write() -> None:
        to[...] = value()

    return write


def _bound_sum(step: Sum | Map, scope: Arrays, to: Array) -> Callable[[], None] | None:
    """A sum of one or two terms without further arrays; None: it has others."""
    match step:
        case Sum(terms=((1.0, x),)):
            return _copy(to, scope[x])
        case Sum(terms=((-1.0, x),)):
            return partial(np.negative, scope[x], to)
        case Sum(terms=((str(factor), x),)):
            return partial(np.multiply, scope[factor], scope[x], to)
        case Sum(terms=((1.0, x), (1.0, y))):
            return partial(np.add, scope[x], scope[y], to)
        case Sum(terms=((1.0, x), (-1.0, y))):
            return partial(np.subtract, scope[x], scope[y], to)
    return None


def _compute(step: Sum | Map, scope: Arrays) -> None:
    scope[step.output] = step.value(np, scope)


def _part(step: Part, scope: Arrays) -> None:
    scope[step.output] = np.ascontiguousarray(step.value(np, scope))


def _lead(arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(x.shape[: x.ndim - len(shape)] for x, shape in zip(arrays, shapes, strict=True)))


def evaluated(runner: Runner, inputs: Sequence[Any]) -> list[Array]:
    """New outputs of a program; of one state at once, where its arrays fit as they are.

    Args:
        runner: Runner of the program.
        inputs: Its inputs.
    """
    if all(np.ndim(x) == len(shape) for x, shape in zip(inputs, runner.inputs, strict=True)):
        results = [np.empty(shape, runner.dtype) for shape in runner.outputs]
        if not runner.entry(*inputs, *results):
            return results
    return runner.evaluate(inputs, [None] * len(runner.outputs))
