# SPDX-License-Identifier: BSD-3-Clause
"""Results of one state as new arrays, made in machine code (`compilers.entry.records`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linkwork.compilers.entry.records import record_entry
from linkwork.compilers.run import Runner
from linkwork.errors import NotFinite
from linkwork.quantities.arguments import Array


class NewResults:
    """An evaluator whose results for one state are new arrays: one, or a tuple of several."""

    record: ClassVar[type[Any] | None] = None
    """Class of the tuple; by default a plain one, and the array itself where there is one result."""

    _entry: Callable[..., int]
    _new_results: Callable[..., Any]
    """A function of all inputs of one state; None where arrays do not fit as they are, or numbers are not finite."""
    _no_wrenches: Array
    _own_parameters: tuple[Array, ...]

    @property
    def runner(self) -> Runner:
        """What runs the program with arrays."""
        raise NotImplementedError

    def _first_call(self, *arrays: Any) -> int:
        """The entry point before there is one."""
        raise NotImplementedError

    def _first_results(self, *inputs: Any) -> Any:
        """The first calls: None until there is an entry point, which calls for one state make."""
        if not self._has_entry(inputs):
            return None
        runner = self.runner
        self._new_results = record_entry(self._entry, self.record, runner.outputs, len(runner.inputs), runner.dtype)
        return self._new_results(*inputs)

    def _has_entry(self, inputs: Sequence[Any]) -> bool:
        """Whether there is an entry point, or these inputs, which are of one state, make it."""
        if self._entry == self._first_call and self._entry(*inputs) and self._entry == self._first_call:
            return False
        return hasattr(self._entry, "__self__") and self.runner.checks

    def _direct_call(self, general: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """A call in machine code: wrenches are given or left out, parameters are the robot's own; else ``general``."""
        runner, parameters = self.runner, self._own_parameters
        if parameters and runner.names[-1] == "settings":
            return general or always_refused
        free = runner.names[: len(runner.names) - len(parameters)]
        held = [self._no_wrenches, *parameters] if free[-1] == "wrenches" else [*parameters]
        return record_entry(
            self._entry,
            self.record,
            runner.outputs,
            len(runner.inputs),
            runner.dtype,
            held,
            len(parameters),
            general,
        )

    def _state_not_finite(self, inputs: Sequence[npt.ArrayLike]) -> str:
        """Words for the first state of a batch whose results are not finite; nothing for one state alone."""
        runner = self.runner
        given = [np.asarray(x, dtype=np.float64) for x in inputs]
        lead = np.broadcast_shapes(*(x.shape[: x.ndim - len(s)] for x, s in zip(given, runner.inputs, strict=True)))
        full = [np.broadcast_to(x, (*lead, *shape)) for x, shape in zip(given, runner.inputs, strict=True)]
        for k in np.ndindex(*lead) if lead else ():
            try:
                runner.evaluate([x[k] for x in full], [None] * len(runner.outputs))
            except NotFinite:
                return f" in state {k}"
        return ""


def always_refused(*inputs: Any) -> None:
    """A call of which nothing is known in machine code."""


class DirectCall(property):
    """``__call__`` of a class whose instances have functions of their own for it, in ``_direct``, machine code at best.

    A method in Python takes longer to be called than the mass matrix of an arm to be computed; a property whose getter
    is not Python's costs nothing.

    Args:
        method: The general path, in Python.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        super().__init__(attrgetter("_direct"))
        self.method, self.__doc__ = method, method.__doc__


def direct_call(method: Callable[..., Any]) -> Any:
    """`DirectCall` of a method, as a decorator.

    Args:
        method: The general path, in Python.
    """
    return DirectCall(method)
