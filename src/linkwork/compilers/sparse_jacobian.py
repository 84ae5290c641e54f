# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of straight-line programs, all columns or all rows at once, with their exact patterns.

Every node has a sparse vector: in the forward sweep its derivatives by the inputs, in the reverse sweep those of the
outputs by it. Entries are symbols of the same graph: what columns share is one node, and what is zero vanishes.

| symbol | meaning                                                                                  |
|--------|------------------------------------------------------------------------------------------|
| d      | derivatives of a node by inputs, ``{column: symbol}``                                      |
| bar    | derivatives of outputs by a node, ``{row: symbol}``                                        |

Griewank and Walther, Evaluating Derivatives (2008), section 7.2. Cost: that of the program times the entries of a
node's vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linkwork.compilers.trace import Trace
from linkwork.model import expressions
from linkwork.model.expressions import CONST, COS, INPUT, RINT, SELECT, SIN, Graph, Node, Symbol

Place = tuple[int, int]
"""An input: the number of its array, and its place there."""
Vector = dict[int, Any]
"""A sparse vector of symbols."""


def forward(graph: Graph, of: Sequence[Symbol], seeds: Mapping[Place, Vector]) -> list[Vector]:
    """The derivatives of symbols along sparse directions of the inputs, ``{direction: symbol}`` each; a forward sweep.

    Args:
        graph: The graph, which gets further nodes.
        of: Symbols of it.
        seeds: Derivatives of inputs along the directions; of those left out, none.
    """
    d: dict[int, Vector] = {}
    for i in _needed(graph, of):
        node = graph.nodes[i]
        if node[0] is INPUT:
            d[i] = dict(seeds.get((node[1], node[2]), {}))
        elif node[0] is SELECT:
            d[i] = _selected(graph, node, d[node[3]], d[node[4]])
        elif node[0] is CONST or node[0] is RINT:
            d[i] = {}
        elif any(d[k] for k in node[1:]):
            d[i] = _combined((d[k], factor) for k, factor in partials(graph, i))
        else:
            d[i] = {}
    return [_signed(d[symbol.i], symbol.minus) for symbol in of]


def reverse(graph: Graph, of: Sequence[Symbol], seeds: Sequence[Vector]) -> dict[Place, Vector]:
    """The derivatives by inputs of sparse combinations of symbols, ``{combination: symbol}`` each; a reverse sweep.

    Args:
        graph: The graph, which gets further nodes.
        of: Symbols of it.
        seeds: Of each symbol its weights in the combinations.
    """
    bar: dict[int, Vector] = {}
    order = _needed(graph, of)
    for symbol, weights in zip(of, seeds, strict=True):
        _add(bar.setdefault(symbol.i, {}), weights, -1.0 if symbol.minus else 1.0)
    found: dict[Place, Vector] = {}
    for i in reversed(order):
        x = bar.pop(i, None)
        node = graph.nodes[i]
        if not x or node[0] is CONST or node[0] is RINT:
            continue
        if node[0] is INPUT:
            found[node[1], node[2]] = x
        elif node[0] is SELECT:
            _add(bar.setdefault(node[3], {}), _selected(graph, node, x, {}), 1.0)
            _add(bar.setdefault(node[4], {}), _selected(graph, node, {}, x), 1.0)
        else:
            for k, factor in partials(graph, i):
                _add(bar.setdefault(k, {}), x, factor)
    return found


def jacobian(graph: Graph, of: Sequence[Symbol], by: Sequence[Place]) -> list[Vector]:
    """The derivatives of symbols by inputs, a sparse row ``{column: symbol}`` for each symbol.

    The sweep is that with fewer entries: forward, or reverse where there are fewer symbols than inputs.

    Args:
        graph: The graph, which gets further nodes.
        of: Symbols of it.
        by: Inputs, in the order of columns.
    """
    if len(by) <= 2 * len(of):
        return forward(graph, of, {place: {j: 1.0} for j, place in enumerate(by)})
    found = reverse(graph, of, [{row: 1.0} for row in range(len(of))])
    rows: list[Vector] = [{} for _ in of]
    for j, place in enumerate(by):
        for row, x in found.get(place, {}).items():
            rows[row][j] = x
    return rows


def partials(graph: Graph, i: int) -> list[tuple[int, Any]]:
    """The operands of a node and its derivatives by them. That of a square root at zero is zero.

    Args:
        graph: The graph.
        i: A node; not an input, a constant or a selection.
    """
    operation, *k = graph.nodes[i]

    def symbol(n: int) -> Symbol:
        return Symbol(graph, n, False)

    def value(n: int) -> Any:
        known = graph.value(n)
        return symbol(n) if known is None else known

    match operation:
        case expressions.ADD:
            return [(k[0], 1.0), (k[1], 1.0)]
        case expressions.SUB:
            return [(k[0], 1.0), (k[1], -1.0)]
        case expressions.MUL:
            return [(k[0], value(k[1])), (k[1], value(k[0]))]
        case expressions.DIV:
            inverse = 1.0 / symbol(k[1])
            return [(k[0], inverse), (k[1], -(symbol(i) * inverse))]
        case expressions.NEG:
            return [(k[0], -1.0)]
        case expressions.SQRT:
            x = symbol(i)
            return [(k[0], x.where(0.0, x, 0.5 / x, 0.0))]
        case expressions.SIN:
            return [(k[0], Symbol(graph, graph.node(COS, k[0]), False))]
        case expressions.COS:
            return [(k[0], -Symbol(graph, graph.node(SIN, k[0]), False))]
        case expressions.FMA:
            return [(k[0], value(k[1])), (k[1], value(k[0])), (k[2], 1.0)]
    raise ValueError(f"no derivative of {operation!r}")


def dependencies(graph: Graph, of: Sequence[Symbol], by: Sequence[Place]) -> list[int]:
    """Which inputs each symbol depends on, a bit for each, without a derivative: at no cost beyond the trace.

    Args:
        graph: The graph.
        of: Symbols of it.
        by: Inputs, in the order of bits.
    """
    bit = {place: 1 << j for j, place in enumerate(by)}
    bits: dict[int, int] = {}
    for i in _needed(graph, of):
        operation, *k = graph.nodes[i]
        if operation is INPUT:
            bits[i] = bit.get((k[0], k[1]), 0)
        elif operation is CONST or operation is RINT:
            bits[i] = 0
        else:
            found = 0
            for n in k[2:] if operation is SELECT else k:
                found |= bits[n]
            bits[i] = found
    return [bits[symbol.i] for symbol in of]


def _needed(graph: Graph, of: Iterable[Symbol]) -> list[int]:
    return Trace("", graph, (), (("of", tuple(of)),)).reached()


def _signed(x: Mapping[int, Any], minus: bool) -> Vector:
    return {j: -y if minus else y for j, y in x.items()}


def _combined(terms: Iterable[tuple[Vector, Any]]) -> Vector:
    result: Vector = {}
    for x, factor in terms:
        _add(result, x, factor)
    return result


def _add(result: Vector, x: Mapping[int, Any], factor: Any) -> None:
    """``result += factor x``, without entries that are zero."""
    for j, y in x.items():
        term = y * factor
        total = result[j] + term if j in result else term
        if isinstance(total, float) and total == 0.0:
            result.pop(j, None)
        else:
            result[j] = total


def _selected(graph: Graph, node: Node, then: Vector, otherwise: Vector) -> Vector:
    """Derivatives of a selection: those of what is selected."""
    below = Symbol(graph, node[1], False)
    bound = Symbol(graph, node[2], False)
    return {
        j: below.where(below, bound, then.get(j, 0.0), otherwise.get(j, 0.0))
        for j in [*then, *(otherwise.keys() - then)]
    }
