# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators whose results are records of new arrays, made in machine code for one state (`compilers.record_entry`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from linkwork.compilers.entry import SHAPES
from linkwork.compilers.program import Backend
from linkwork.compilers.record_entry import record_entry
from linkwork.quantities.base import ArrayEvaluator


class RecordEvaluator(ArrayEvaluator):
    """An evaluator that returns all its outputs as a named tuple."""

    record: ClassVar[type[Any]]
    """Class of the result."""

    def _set_backend(self, backend: Backend) -> None:
        super()._set_backend(backend)
        self._new_record: Callable[..., Any] = self._first_record

    def _first_record(self, *inputs: Any) -> Any:
        """The first calls: until there is an entry point, which calls for one state make, a status alone."""
        if self._entry == self._first_call and self._entry(*inputs) and self._entry == self._first_call:
            return SHAPES
        runner = self.runner
        if hasattr(self._entry, "__self__") and runner.checks:
            self._new_record = record_entry(self._entry, self.record, runner.outputs, len(runner.inputs), runner.dtype)
            return self._new_record(*inputs)
        return SHAPES
