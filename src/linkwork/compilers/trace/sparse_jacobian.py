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

from linkwork.compilers.trace.differentiation import Place, partials
from linkwork.compilers.trace.tracing import Trace
from linkwork.model.expressions import CONST, INPUT, SELECT, Graph, Node, Symbol

Vector = dict[int, Any]
"""A sparse vector of symbols."""


def jacobian(graph: Graph, of: Sequence[Symbol], by: Sequence[Place]) -> list[Vector]:
    """The derivatives of symbols by inputs, a sparse row ``{column: symbol}`` for each symbol.

    The sweep is forward, or reverse where there are far fewer symbols than inputs.

    Args:
        graph: The graph, which gets further nodes.
        of: Symbols of it.
        by: Inputs, in the order of columns.
    """
    return _forward(graph, of, by) if len(by) <= 2 * len(of) else _reverse(graph, of, by)


def _forward(graph: Graph, of: Sequence[Symbol], by: Sequence[Place]) -> list[Vector]:
    column = {place: j for j, place in enumerate(by)}
    d: dict[int, Vector] = {}
    for i in _needed(graph, of):
        node = graph.nodes[i]
        if node[0] is INPUT:
            j = column.get((node[1], node[2]))
            d[i] = {} if j is None else {j: 1.0}
        elif node[0] is SELECT:
            d[i] = _selected(graph, node, d[node[3]], d[node[4]])
        elif node[0] is not CONST and any(d[k] for k in node[1:]):
            d[i] = {}
            for k, factor in partials(graph, i):
                _add(d[i], d[k], factor)
        else:
            d[i] = {}
    return [{j: -x if symbol.minus else x for j, x in d[symbol.i].items()} for symbol in of]


def _reverse(graph: Graph, of: Sequence[Symbol], by: Sequence[Place]) -> list[Vector]:
    column = {place: j for j, place in enumerate(by)}
    bar: dict[int, Vector] = {}
    order = _needed(graph, of)
    for row, symbol in enumerate(of):
        _add(bar.setdefault(symbol.i, {}), {row: -1.0 if symbol.minus else 1.0}, 1.0)
    rows: list[Vector] = [{} for _ in of]
    for i in reversed(order):
        x = bar.pop(i, None)
        node = graph.nodes[i]
        if not x:
            continue
        if node[0] is INPUT:
            if (node[1], node[2]) in column:
                for row, y in x.items():
                    rows[row][column[node[1], node[2]]] = y
        elif node[0] is SELECT:
            _add(bar.setdefault(node[3], {}), _selected(graph, node, x, {}), 1.0)
            _add(bar.setdefault(node[4], {}), _selected(graph, node, {}, x), 1.0)
        else:
            for k, factor in partials(graph, i):
                _add(bar.setdefault(k, {}), x, factor)
    return rows


def _needed(graph: Graph, of: Iterable[Symbol]) -> list[int]:
    return Trace("", graph, (), (("of", tuple(of)),)).reached()


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
    """Derivatives of a selection: those of the selected node."""
    below = Symbol(graph, node[1], False)
    bound = Symbol(graph, node[2], False)
    return {
        j: below.where(below, bound, then.get(j, 0.0), otherwise.get(j, 0.0))
        for j in [*then, *(otherwise.keys() - then)]
    }
