# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over traces: tangents forward, adjoints in reverse (Griewank and Walther, Evaluating Derivatives, Chapter 3).

A derivative is made of further nodes of the same graph. Hash-consing finds what it shares with the program itself, what
no result needs is never emitted, and zeros vanish: a sweep knows the sparsity of the program.

| symbol | meaning                                                                                       |
|--------|-----------------------------------------------------------------------------------------------|
| x'     | tangent of a node: its derivative along a direction of the inputs                             |
| x̄      | adjoint of a node: the derivative of ``y' outputs`` by it                                      |
| b      | the adjoint of a node that reads another; ``x̄`` is a sum of ``c b``                            |

An adjoint is summed when all of it is known: ``c1 b + c2 b`` is ``(c1 + c2) b``, ``c b1 + c b2`` is ``c (b1 + b2)``.
`tangents` of a program are the adjoints of its adjoints, which are linear in the seeds: the transpose of a linear
program has its multiplications, so that both sweeps cost the same.

Derivatives of `rint` are zero, those of a square root at zero too: lengths of vectors that vanish, as friction without
sliding has them. A selection has the derivative of the branch that is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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

Bools = npt.NDArray[np.bool_]

Place = tuple[int, int]
"""Number of an input array, and a place in it."""

SEEDS = -1
"""Number of an array that is no input: the variable by which a linear program is transposed, never read."""


def partials(graph: Graph, i: int) -> list[tuple[int, Any]]:
    """The derivatives of node ``i`` by its operands, numbers or symbols; those that are always zero are left out.

    Args:
        graph: The graph of a trace.
        i: Number of the node.
    """
    node = graph.nodes[i]
    op = node[0]
    if op is MUL:
        return [(node[1], _value(graph, node[2])), (node[2], _value(graph, node[1]))]
    if op is ADD:
        return [(node[1], 1.0), (node[2], 1.0)]
    if op is SUB:
        return [(node[1], 1.0), (node[2], -1.0)]
    if op is DIV:
        inverse = 1.0 / Symbol(graph, node[2], False)
        return [(node[1], inverse), (node[2], -(Symbol(graph, i, False) * inverse))]
    if op is NEG:
        return [(node[1], -1.0)]
    if op is SQRT:
        root = Symbol(graph, i, False)
        return [(node[1], root.where(0.0, root, 0.5 / root, 0.0))]
    if op is SIN:
        return [(node[1], Symbol(graph, graph.node(COS, node[1]), False))]
    if op is COS:
        return [(node[1], -Symbol(graph, graph.node(SIN, node[1]), False))]
    if op is FMA:
        return [(node[1], _value(graph, node[2])), (node[2], _value(graph, node[1])), (node[3], 1.0)]
    if op is SELECT:
        below, bound = (_value(graph, k) for k in node[1:3])
        chosen = Symbol(graph, i, False).where(below, bound, 1.0, 0.0)
        return [(node[3], chosen), (node[4], 1.0 - chosen)]
    return []  # inputs, constants, rint


def _value(graph: Graph, i: int) -> Any:
    value = graph.value(i)
    return Symbol(graph, i, False) if value is None else value


def dependent(
    graph: Graph, inputs: Callable[[int, int], bool], size: int | None = None, through_all: bool = False
) -> bytearray:
    """Which nodes depend on some inputs, through operations that have a derivative.

    Args:
        graph: The graph of a trace.
        inputs: ``inputs(array, place)``: whether an input is one of them.
        size: Number of nodes to consider; by default all.
        through_all: Whether to count what is compared and rounded as well, which has no derivative.
    """
    nodes = graph.nodes
    marks = bytearray(len(nodes) if size is None else size)
    for i in range(len(marks)):
        node = nodes[i]
        op = node[0]
        if op is INPUT:
            marks[i] = inputs(node[1], node[2])
        elif op is not CONST and (through_all or op is not RINT):
            marks[i] = any(marks[k] for k in (node[3:] if op is SELECT and not through_all else node[1:]))
    return marks


class _Adjoint:
    """The adjoint of a node while it is being summed: terms ``c b``, by ``b`` and by ``c``."""

    __slots__ = ("terms",)

    def __init__(self) -> None:
        self.terms: list[tuple[Any, Symbol]] = []

    def sum(self, graph: Graph) -> Any:
        """The sum of all terms, with common factors taken out."""
        terms = self.terms
        if len(terms) > 1:
            terms = _factored(terms)
        total: Any = 0.0
        for c, b in terms:
            total = total + c * b
        return total


def _factored(terms: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Terms ``c b`` with common factors taken out: first those of the same ``c``, then those of the same ``b``."""
    for side in (0, 1):
        groups: dict[Any, list[tuple[Any, Any]]] = {}
        for term in terms:
            key, other = term[side], term[1 - side]
            plain = not isinstance(key, Symbol) or (side == 1 and not isinstance(other, Symbol))
            groups.setdefault(len(groups) if plain else (key.i,), []).append(term)
        terms = []
        for group in groups.values():
            if len(group) == 1:
                terms += group
                continue
            first = group[0][side]
            rest: Any = 0.0
            for term in group:
                rest = rest + (term[1 - side] if term[side].minus == first.minus else -term[1 - side])
            terms.append((rest, first) if side == 1 else (first, rest))
    return terms


def adjoints(graph: Graph, seeds: Iterable[tuple[Symbol, Any]], inputs: Callable[[int, int], bool]) -> dict[Place, Any]:
    """The derivative of ``sum seed symbol`` by inputs, by their places; those that are always zero are left out.

    Args:
        graph: The graph of a trace.
        seeds: Outputs, and the cotangent of each: symbols or numbers.
        inputs: ``inputs(array, place)``: whether to differentiate by an input.
    """
    seeds = list(seeds)
    size = 1 + max((output.i for output, _ in seeds), default=-1)
    active = dependent(graph, inputs, size)
    sums: dict[int, _Adjoint] = {}

    def add(i: int, c: Any, b: Any) -> None:
        if active[i] and not (type(b) is float and b == 0.0) and not (type(c) is float and c == 0.0):
            sums.setdefault(i, _Adjoint()).terms.append((c, b))

    for output, seed in seeds:
        add(output.i, -1.0 if output.minus else 1.0, seed)
    derivatives: dict[Place, Any] = {}
    nodes = graph.nodes
    for i in range(size - 1, -1, -1):
        if i not in sums:
            continue
        b = sums.pop(i).sum(graph)
        if type(b) is float and b == 0.0:
            continue
        node = nodes[i]
        op = node[0]
        if op is INPUT:
            derivatives[node[1], node[2]] = b
        elif op is SELECT:
            below, bound = (_value(graph, k) for k in node[1:3])
            y = graph.symbol(b)
            add(node[3], 1.0, y.where(below, bound, b, 0.0) if active[node[3]] else 0.0)
            add(node[4], 1.0, y.where(below, bound, 0.0, b) if active[node[4]] else 0.0)
        elif op is DIV:
            x = b / Symbol(graph, node[2], False)
            add(node[1], 1.0, x)
            add(node[2], -Symbol(graph, i, False), x)
        else:
            for k, c in partials(graph, i):
                add(k, c, b)
    return derivatives


def tangents(graph: Graph, outputs: Sequence[Symbol], directions: Mapping[Place, Any]) -> list[Any]:
    """The derivatives of outputs along a direction of inputs: numbers or symbols.

    Args:
        graph: The graph of a trace.
        outputs: Outputs to be differentiated.
        directions: The rate of each input, by its place: symbols or numbers; those of other inputs are zero.
    """
    seeds = [graph.input(SEEDS, k) for k in range(len(outputs))]
    products = adjoints(graph, zip(outputs, seeds, strict=True), lambda array, place: (array, place) in directions)
    pairs = [(graph.symbol(x), directions[place]) for place, x in products.items()]
    transposed = adjoints(graph, pairs, lambda array, _: array == SEEDS)
    return [transposed.get((SEEDS, k), 0.0) for k in range(len(outputs))]


def pattern(graph: Graph, outputs: Sequence[Symbol], array: int, size: int) -> Bools:
    """Which outputs depend on which numbers of an input array, ``(outputs, size)``, where a derivative is not zero.

    Sets of inputs are integers, one bit for each number.

    Args:
        graph: The graph of a trace.
        outputs: Results.
        array: Number of the input array.
        size: Its length.
    """
    nodes = graph.nodes
    sets: list[int] = []
    for i in range(1 + max((output.i for output in outputs), default=-1)):
        node = nodes[i]
        op = node[0]
        entries = 0
        if op is INPUT:
            entries = 1 << node[2] if node[1] == array else 0
        elif op is not CONST and op is not RINT:
            for k in node[3:] if op is SELECT else node[1:]:
                entries |= sets[k]
        sets.append(entries)
    rows = [[sets[output.i] >> j & 1 for j in range(size)] for output in outputs]
    return np.array(rows, dtype=bool).reshape(len(outputs), size)
