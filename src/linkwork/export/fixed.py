# SPDX-License-Identifier: BSD-3-Clause
"""A trace in which some inputs are numbers that are known: what depends on them alone is computed now.

The nodes are run once more, on a new graph: constants fold and zeros vanish as they do when kernel text is traced.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkwork.compilers.trace import Trace, with_carry
from linkwork.errors import InputError
from linkwork.kernels import scalar
from linkwork.model.expressions import (
    ADD,
    CONST,
    COS,
    DIV,
    FMA,
    INPUT,
    MUL,
    NEG,
    RINT,
    SELECT,
    SIN,
    SQRT,
    SUB,
    Graph,
    Symbol,
)

Bring = Callable[[int, int], Any]
"""``bring(array, place)``: what stands there, a number or a symbol."""


def fixed(traced: Trace, known: Mapping[str, Sequence[float]]) -> Trace:
    """The same program for known values of some inputs. Arrays keep their numbers; known ones are not read."""
    values = {k: list(known[name]) for k, (name, _) in enumerate(traced.inputs) if name in known}
    graph = Graph(sys.maxsize)

    def bring(array: int, place: int) -> Any:
        return values[array][place] if array in values else graph.input(array, place)

    result = _run(traced, graph, bring)
    first = replace(traced, graph=graph, outputs=_outputs(traced, graph, result), carry=(), iterate=None, refine=None)
    carried = [_of(result, symbol) for symbol in traced.carry]
    places: dict[int, int] = {}
    further = {name: _iteration(first, text, carried, values, places) for name, text in traced.further.items()}
    return with_carry(first, list(places), further)


def _iteration(
    first: Trace,
    further: Trace,
    carried: Sequence[Any],
    values: Mapping[int, Sequence[float]],
    places: dict[int, int],
) -> Trace:
    """The program of further iterations with what the first carries to it: symbols that it reads, not known numbers.

    ``places`` says where nodes of the first program are carried to.
    """
    graph = Graph(sys.maxsize)
    carry = len(first.inputs) + len(first.outputs)

    def bring(array: int, place: int) -> Any:
        if array in values:
            return values[array][place]
        if array != carry:
            return graph.input(array, place)
        x = carried[place]
        if not isinstance(x, Symbol):
            return x
        symbol = graph.input(carry, places.setdefault(x.i, len(places)))
        return -symbol if x.minus else symbol

    result = _run(further, graph, bring)
    return replace(further, graph=graph, outputs=_outputs(further, graph, result))


def _run(traced: Trace, graph: Graph, bring: Bring) -> dict[int, Any]:
    """What each node is worth on another graph: a number, or a symbol of that graph."""
    result: dict[int, Any] = {}
    for i in traced.needed():
        operation, *operands = traced.graph.nodes[i]
        if operation is INPUT:
            result[i] = bring(*operands)
        elif operation is CONST:
            result[i] = operands[0]
        else:
            result[i] = _ACTIONS[operation](*(result[k] for k in operands))
    return result


def _of(values: Mapping[int, Any], symbol: Symbol) -> Any:
    return -values[symbol.i] if symbol.minus else values[symbol.i]


def _outputs(traced: Trace, graph: Graph, values: Mapping[int, Any]) -> tuple[tuple[str, tuple[Symbol, ...]], ...]:
    return tuple((name, tuple(graph.symbol(_of(values, s)) for s in symbols)) for name, symbols in traced.outputs)


def _divided(x: Any, y: Any) -> Any:
    if isinstance(y, float) and y == 0.0:
        raise InputError("with these settings the program divides by zero: give rows a regularization above zero")
    return x / y


def _chosen(below: Any, bound: Any, then: Any, otherwise: Any) -> Any:
    if isinstance(below, float) and isinstance(bound, float):
        return then if below < bound else otherwise
    return scalar.where(below, bound, then, otherwise)


_ACTIONS: Mapping[str, Callable[..., Any]] = {
    ADD: operator.add,
    SUB: operator.sub,
    MUL: operator.mul,
    DIV: _divided,
    NEG: operator.neg,
    SQRT: scalar.sqrt,
    RINT: scalar.rint,
    FMA: scalar.fma,
    SELECT: _chosen,
    SIN: lambda x: scalar.sincos(x)[0],
    COS: lambda x: scalar.sincos(x)[1],
}
