# SPDX-License-Identifier: BSD-3-Clause
"""Straight-line programs in sequence, on one graph: results of one are inputs of the next, nothing is done twice."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.compilers.trace.replay import replay, signed
from linkwork.compilers.trace.tracing import Trace
from linkwork.errors import LinkworkError
from linkwork.model.expressions import Graph, Symbol


class Composition:
    """A program that is made of others."""

    def __init__(self) -> None:
        self.graph = Graph(sys.maxsize)
        self.inputs: list[tuple[str, int]] = []

    def input(self, name: str, size: int) -> list[Symbol]:
        """Symbols of a further input array.

        Args:
            name: Its name.
            size: Its length.
        """
        self.inputs.append((name, size))
        return [self.graph.input(len(self.inputs) - 1, j) for j in range(size)]

    def run(self, traced: Trace, given: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Values of the outputs of a program, by name: symbols of this graph, or numbers.

        Args:
            traced: The program, of one iteration.
            given: Values of its inputs, by name; those that it does not read may be left out.
        """

        def bring(array: int, place: int) -> Any:
            name = traced.inputs[array][0]
            if name not in given:
                raise LinkworkError(f"{traced.name} depends on {name}, which it should not: please report this")
            return given[name][place]

        values = replay(traced, bring)
        return {name: [signed(values, symbol) for symbol in symbols] for name, symbols in traced.outputs}

    def trace(self, name: str, outputs: Mapping[str, Sequence[Any]], limit: int = sys.maxsize) -> Trace:
        """The program that computes these arrays.

        Args:
            name: Its name.
            outputs: Arrays by name: symbols of this graph, or numbers.
            limit: The most operations; `ProgramTooLarge` where there are more.
        """
        arrays = tuple((key, tuple(map(self.graph.symbol, values))) for key, values in outputs.items())
        trace = Trace(name, self.graph, tuple(self.inputs), arrays)
        self.graph.limit = limit
        self.graph.check(sum(trace.operation_count().values()))
        return trace
