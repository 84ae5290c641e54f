# SPDX-License-Identifier: BSD-3-Clause
"""A trace in which some inputs are known numbers: nodes that depend on these alone are computed now.

The nodes are run once more, on a new graph: constants fold and zeros vanish as they do when kernel code is traced.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkwork.compilers.trace.replay import replay, signed
from linkwork.compilers.trace.tracing import Trace, with_carry
from linkwork.errors import InputError
from linkwork.model.expressions import DIV, Graph, Symbol


def fixed(traced: Trace, known: Mapping[str, Sequence[float | None]]) -> Trace:
    """The program for known values of some inputs, None for entries that stay inputs. Arrays keep their shape; known
    entries are not read."""
    values = {k: list(known[name]) for k, (name, _) in enumerate(traced.inputs) if name in known}
    graph = Graph(sys.maxsize)

    def bring(array: int, place: int) -> Any:
        value = values[array][place] if array in values else None
        return graph.input(array, place) if value is None else value

    result = replay(traced, bring, {DIV: _divided})
    first = replace(traced, graph=graph, outputs=_outputs(traced, graph, result), carry=(), iterate=None, refine=None)
    carried = [signed(result, symbol) for symbol in traced.carry]
    places: dict[int, int] = {}
    further = {name: _iteration(first, text, carried, values, places) for name, text in traced.further.items()}
    return with_carry(first, list(places), further)


def _iteration(
    first: Trace,
    further: Trace,
    carried: Sequence[Any],
    values: Mapping[int, Sequence[float | None]],
    places: dict[int, int],
) -> Trace:
    """The program of further iterations with what the first carries to it: symbols that it reads, not known numbers.

    ``places`` says where nodes of the first program are carried to.
    """
    graph = Graph(sys.maxsize)
    carry = len(first.inputs) + len(first.outputs)

    def bring(array: int, place: int) -> Any:
        if array in values and values[array][place] is not None:
            return values[array][place]
        if array != carry:
            return graph.input(array, place)
        x = carried[place]
        if not isinstance(x, Symbol):
            return x
        symbol = graph.input(carry, places.setdefault(x.i, len(places)))
        return -symbol if x.minus else symbol

    result = replay(further, bring, {DIV: _divided})
    return replace(further, graph=graph, outputs=_outputs(further, graph, result))


def _outputs(traced: Trace, graph: Graph, values: Mapping[int, Any]) -> tuple[tuple[str, tuple[Symbol, ...]], ...]:
    return tuple((name, tuple(graph.symbol(signed(values, s)) for s in symbols)) for name, symbols in traced.outputs)


def _divided(x: Any, y: Any) -> Any:
    if isinstance(y, float) and y == 0.0:
        raise InputError("with these settings the program divides by zero: give rows a regularization above zero")
    return x / y
