# SPDX-License-Identifier: BSD-3-Clause
"""Work arrays that several algorithms share: one factorizes, others apply the factors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from linkwork.compilers import native
from linkwork.compilers.backends import best_lanes
from linkwork.compilers.entry.entry_point import entry_point
from linkwork.compilers.lanes import Type
from linkwork.compilers.program import Program
from linkwork.compilers.run import Entry
from linkwork.kernels.algorithm import Algorithm

ONE = Type("float64", 1)
"""Numbers of one state."""


class Workspace:
    """Work arrays of one state, and the entry points of algorithms that share them: one prepares, others read.

    The algorithms have the same layout and the same work arrays. For one thread at a time.
    """

    def __init__(self, program: Program, algorithms: Sequence[Algorithm], own: Collection[str] = ()) -> None:
        self._program, self._own = program, tuple(own)
        self._algorithms = {algorithm.name: algorithm for algorithm in algorithms}
        self._columns: dict[str, Entry] = {}
        self.context = native.Context(algorithms[0], program.tree, ONE, own)
        self.entries: dict[str, Entry] = {name: self._entry(name, ONE, self.context) for name in self._algorithms}

    def columns(self, name: str) -> Entry:
        """The entry point of an algorithm for several inputs at once, one a lane, which share prepared arrays."""
        if name not in self._columns:
            t = Type("float64", best_lanes("float64"))
            context = native.Context(self._algorithms[name], self._program.tree, t, base=self.context)
            self._columns[name] = self._entry(name, t, context)
        return self._columns[name]

    def _entry(self, name: str, t: Type, context: native.Context) -> Entry:
        algorithm = self._algorithms[name]
        units = self._program.units if "q" in algorithm.inputs else ()
        part = replace(self._program, algorithm=algorithm, units=units)
        inputs = part.input_shapes()
        shapes = inputs + part.output_shapes()
        return entry_point(native.code(algorithm, t), context, np.dtype(np.float64), shapes, len(inputs), units)

    def copy(self) -> Workspace:
        """Another one with the same content."""
        other = Workspace(self._program, tuple(self._algorithms.values()), self._own)
        other.context.take(self.context)
        return other
