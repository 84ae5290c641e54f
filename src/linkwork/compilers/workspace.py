# SPDX-License-Identifier: BSD-3-Clause
"""Work arrays that several algorithms share: one factorizes, others apply the factors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from linkwork.compilers import native
from linkwork.compilers.entry import entry_point
from linkwork.compilers.lanes import Type
from linkwork.compilers.program import Program
from linkwork.compilers.run import Entry
from linkwork.kernels.algorithm import Algorithm


class Workspace:
    """Work arrays of one state, and the entry points of algorithms that share them: what one prepares, others read.

    The algorithms have the same layout and the same work arrays. For one thread at a time.
    """

    def __init__(self, program: Program, algorithms: Sequence[Algorithm], own: Collection[str] = ()) -> None:
        self._arguments = (program, tuple(algorithms), tuple(own))
        t, dtype = Type("float64", 1), np.dtype(np.float64)
        self.context = native.Context(algorithms[0], program.tree, t, own)
        self.entries: dict[str, Entry] = {}
        for algorithm in algorithms:
            part = replace(program, algorithm=algorithm, units=program.units if "q" in algorithm.inputs else ())
            inputs = part.input_shapes()
            shapes = inputs + part.output_shapes()
            code = native.code(algorithm, t)
            self.entries[algorithm.name] = entry_point(code, self.context, dtype, shapes, len(inputs), part.units)

    def copy(self) -> Workspace:
        """Another one with the same content."""
        other = Workspace(*self._arguments)
        other.context.take(self.context)
        return other
