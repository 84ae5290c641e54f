# SPDX-License-Identifier: BSD-3-Clause
"""A program on a backend, with the inputs that calls may leave out, which an evaluator runs.

Nothing is computed when an execution is created: held inputs and the runner are made when they are first needed,
machine code for one state at the first call with one state, code for batches at the first batch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from inspect import isfunction
from typing import Any, Protocol, TypeVar

import numpy as np

from linkwork.compilers.entry.entry_point import SHAPES
from linkwork.compilers.entry.records import record_entry
from linkwork.compilers.program import Backend
from linkwork.compilers.run import Runner, always_refused
from linkwork.quantities.arguments import Array

T = TypeVar("T")

LOCK = threading.RLock()
"""Lock of objects that are made at first use."""


class Source(Protocol):
    """The source of an execution: makes runner and inputs when they are first needed."""

    def runner_on(self, backend: Backend) -> Runner:
        """The runner of the program on a backend."""
        ...

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls may leave out, by name, in a type of numbers."""
        ...


class Execution:
    """A program on a backend, with the inputs that calls may leave out.

    Args:
        source: The program and its held inputs.
        backend: Backend of the program, and with which numbers.
        record: Class of the results, a named tuple; None: the array itself, or a plain tuple of several.
    """

    __slots__ = ("_held", "_runner", "_source", "_tail", "backend", "dtype", "entry", "record", "results")

    entry: Callable[..., int]
    """The entry point for all inputs and outputs of one state that fit as they are; answers with a status."""
    results: Callable[..., Any]
    """A function of the inputs of one state, without held ones at the end: new arrays of results, made in machine code.
    None where arrays do not fit as they are, numbers are not finite, or there is no machine code yet."""

    def __init__(self, source: Source, backend: Backend, record: type[Any] | None = None) -> None:
        self._source, self.backend, self.record = source, backend, record
        self.dtype: np.dtype[Any] = np.dtype(backend.dtype)
        self._runner: Runner | None = None
        self._held: dict[str, Array] | None = None
        self._tail: tuple[Array, ...] | None = None
        on_gpu = backend.name == "cuda"
        self.entry = always_refused if on_gpu else self._first_entry
        self.results = _no_results if on_gpu else self._first_results

    @property
    def held(self) -> dict[str, Array]:
        """Inputs that calls may leave out, by name."""
        if self._held is None:
            with LOCK:
                if self._held is None:
                    self._held = self._source.held_inputs(self.dtype)
        return self._held

    @property
    def runner(self) -> Runner:
        """The runner of the program."""
        if self._runner is None:
            with LOCK:
                if self._runner is None:
                    self._runner = self._source.runner_on(self.backend)
        return self._runner

    def packed(self, results: Sequence[Any]) -> Any:
        """Outputs of the program as a call returns them: a record, the array itself, or a plain tuple of several.

        Args:
            results: All outputs.
        """
        if self.record is not None:
            return self.record(*results)
        return results[0] if len(results) == 1 else tuple(results)

    def prepare(self) -> None:
        """Prepare the backend now, not at the first call: straight-line code is compiled."""
        with LOCK:
            self._runner = self.runner

    @property
    def has_runner(self) -> bool:
        """Whether something has run."""
        return self._runner is not None

    @property
    def tail(self) -> tuple[Array, ...]:
        """Held inputs at the end, which calls leave out together: the same object every time."""
        if self._tail is None:
            names, held = self.runner.names, self.held
            free = next((k for k in range(len(names), 0, -1) if names[k - 1] not in held), 0)
            self._tail = tuple(held[name] for name in names[free:])
        return self._tail

    def completed(self, inputs: Sequence[Any]) -> list[Any] | None:
        """All inputs of the program: those of a caller, then held ones that the caller left out at the end.

        None where these are not the first inputs, all but such held ones.

        Args:
            inputs: The first inputs.
        """
        tail = self.tail
        if len(inputs) + len(tail) != len(self.runner.inputs):
            return None
        for x in inputs:  # quicker than any() of so few
            if x is None:
                return None
        return [*inputs, *tail]

    def writes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
        """Write the results of one state; False where arrays are not those of one state that fit as they are.

        Args:
            inputs: All inputs, or all but held ones at the end.
            outputs: Arrays for all outputs.
        """
        if [getattr(x, "shape", None) for x in outputs] != self.runner.outputs:
            return False
        arrays = self.completed(inputs)
        return not self.entry(*(inputs if arrays is None else arrays), *outputs)

    def holding(self, arrays: Mapping[str, Array]) -> Execution:
        """A copy with the runner of this one and other arrays for held inputs.

        Args:
            arrays: By the names of inputs.
        """
        return Execution(_Holding(self, arrays), self.backend, self.record)

    @property
    def has_code(self) -> bool:
        """Whether there is machine code for one state."""
        return self.results not in (self._first_results, _no_results)

    def direct(self, given: Sequence[str], general: Callable[..., Any]) -> Callable[..., Any]:
        """A call in machine code, where there is some (`has_code`).

        Args:
            given: Names of inputs that callers may give; of held ones, the others are left out always.
            general: Called with the same arguments where they are not a single state in the expected layout.
        """
        names = self.runner.names
        least = sum(name not in given for name in names[len(names) - len(self.tail) :])
        return self._machine_code(least, general)

    def _machine_code(self, least: int = 0, general: Callable[..., Any] | None = None) -> Callable[..., Any]:
        runner = self.runner
        return record_entry(
            self.entry, self.record, runner.outputs, len(runner.inputs), runner.dtype, self.tail, least, general
        )

    def _makes_code(self, inputs: Sequence[Any]) -> bool:
        """Whether inputs are those of a single state, for which machine code is then made."""
        runner = self.runner
        one = zip(inputs, runner.inputs, strict=False)
        if not runner.checks or not all(getattr(x, "ndim", len(shape)) == len(shape) for x, shape in one):
            return False
        self.entry = runner.entry
        self.results = self._machine_code()
        return True

    def _first_results(self, *inputs: Any) -> Any:
        """`results` until there is machine code."""
        return self.results(*inputs) if self._makes_code(inputs) else None

    def _first_entry(self, *arrays: Any) -> int:
        """`entry` until there is machine code."""
        return self.entry(*arrays) if self._makes_code(arrays[: len(self.runner.inputs)]) else SHAPES


class Started(Source, Protocol):
    """An evaluator."""

    execution: Execution
    kept: dict[Any, Any]
    __call__: Callable[..., Any]

    @property
    def given_names(self) -> tuple[str, ...]:
        """Names of inputs that callers give."""
        ...

    @property
    def evaluate(self) -> Callable[..., Any]:
        """The call in Python."""
        ...


def start(evaluator: Started, backend: Backend, record: type[Any] | None) -> None:
    """Run an evaluator's program by this backend; nothing has run yet.

    Args:
        evaluator: The evaluator.
        backend: Backend of the program.
        record: Class of its results.
    """
    evaluator.kept = {}
    evaluator.execution = Execution(evaluator, backend, record)
    if isfunction(type(evaluator).__call__):  # a method of its own
        return

    def first_call(*inputs: Any, **options: Any) -> Any:
        result = evaluator.evaluate(*inputs, **options)
        if evaluator.execution.has_code:
            evaluator.__call__ = evaluator.execution.direct(evaluator.given_names, evaluator.evaluate)
        return result

    evaluator.__call__ = first_call


class _Holding:
    """The source of executions that share a runner: `Execution.holding`."""

    def __init__(self, execution: Execution, arrays: Mapping[str, Array]) -> None:
        self._execution, self._arrays = execution, arrays

    def runner_on(self, backend: Backend) -> Runner:
        """The runner of the program on a backend."""
        return self._execution.runner

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """The held inputs, some replaced."""
        return {**self._execution.held, **self._arrays}


def _no_results(*inputs: Any) -> None:
    """Results of one state where there is no machine code for it."""


def once(make: Callable[[], T]) -> Callable[[], T]:
    """A function that calls ``make`` once: further calls return the first result.

    Args:
        make: The function.
    """
    result: list[T] = []

    def made() -> T:
        if not result:
            with LOCK:
                if not result:
                    result.append(make())
        return result[0]

    return made
