# SPDX-License-Identifier: BSD-3-Clause
"""The functions that CasADi asks of a library, as traces: a function, its derivatives, and the patterns of all.

| function | inputs                          | outputs                                                              |
|----------|---------------------------------|----------------------------------------------------------------------|
| f        | x                               | y                                                                    |
| fwd1_f   | x, out_y, fwd_x                 | fwd_y = (dy/dx) fwd_x: forward sweep                                  |
| adj1_f   | x, out_y, adj_y                 | adj_x = (dy/dx)' adj_y: reverse sweep                                 |
| jac_f    | x, out_y                        | jac_y_x = dy/dx, for each output all inputs, with exact patterns      |

``fwd1_adj1_f`` has second derivatives, forward over reverse: it takes what ``adj1_f`` takes and returns, and directions
of the former, and gives ``fwd_adj_x``.

Derivatives are by coordinates, as CasADi takes them: of ``q`` by its ``nq`` numbers, quaternions included.
Matrices have CasADi's order, column by column. Iterations are differentiated at their end, where constraint forces do
not change any more: one iteration from the forces in ``out_multipliers``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linkwork.compilers.program import Program
from linkwork.compilers.trace.differentiation import Place, adjoints, pattern, tangents
from linkwork.compilers.trace.sparse_jacobian import Vector, jacobian
from linkwork.compilers.trace.tracing import Trace
from linkwork.errors import ProgramTooLarge
from linkwork.export.patterns import Pattern, column_groups
from linkwork.kernels.algorithm import resolve
from linkwork.model.expressions import INPUT, Symbol
from linkwork.quantities.counts import OperationCount


@dataclass(frozen=True)
class CasadiArray:
    """An input or output of a function as CasADi sees it."""

    name: str
    pattern: Pattern
    array: str
    """The array of the program that it is, or is a part of."""
    size: int
    """Numbers of that array."""
    places: tuple[int, ...]
    """Where each of its entries stands there: row by row, zeros included."""

    @property
    def in_order(self) -> bool:
        """Whether the program's array is the same."""
        return self.places == tuple(range(self.size))


@dataclass(frozen=True)
class Differentiated:
    """A function and its derivatives, as traces. Arrays of derivatives have CasADi's order and no zeros."""

    inputs: tuple[CasadiArray, ...]
    outputs: tuple[CasadiArray, ...]
    start: bool
    """Whether derivatives read the forces at which iterations ended."""
    forward: Trace
    reverse: Trace
    second: Trace | None
    """The forward sweep over the reverse one; None where it is too large."""
    jacobian: Trace | None
    """None where it is too large: then `groups` of columns are found by forward products."""
    patterns: tuple[tuple[Pattern, ...], ...]
    """Of each output, by each input."""
    groups: tuple[tuple[tuple[int, int], ...], ...]
    """Columns, as input and entry, that share no row."""


FORCES = 2
"""Where constraint forces begin in the output ``result``."""
OMITTED = ("progress", "step_error")
"""Outputs about how results were found."""


def arrays_of(
    program: Program, traced: Trace, given: Sequence[str]
) -> tuple[tuple[CasadiArray, ...], tuple[CasadiArray, ...]]:
    """Inputs and outputs of a program as CasADi sees them: of ``result``, the forces of constraints.

    Outputs of programs that iterate have all entries.

    Args:
        program: Says the shapes of arrays.
        traced: Its trace.
        given: Inputs that are arguments.
    """
    algorithm, tree, sizes = program.algorithm, program.tree, dict(traced.inputs)
    inputs = tuple(
        _array(name, resolve(algorithm.inputs[name], tree)) for name in sizes if name in given and sizes[name]
    )
    outputs = []
    for name, symbols in traced.outputs:
        there = None if traced.further else [traced.graph.value(s.i) != 0.0 for s in symbols]
        if name == "result":
            nc = getattr(tree, "nc", 0)  # plans of trees have no rows
            if nc:
                outputs.append(_array("multipliers", (nc,), there, name, FORCES, len(symbols)))
        elif symbols and name not in OMITTED:
            outputs.append(_array(name, resolve(algorithm.outputs[name], tree), there))
    return inputs, tuple(outputs)


def _array(
    name: str,
    shape: tuple[int, ...],
    there: Sequence[bool] | None = None,
    array: str | None = None,
    first: int = 0,
    size: int | None = None,
) -> CasadiArray:
    """An array, or the part of another that begins at ``first``; ``there``: which numbers of that are not zero."""
    rows, columns = (shape[0], 1) if len(shape) == 1 else (math.prod(shape[:-1]), shape[-1])
    entries = [(r, c) for r in range(rows) for c in range(columns) if there is None or there[first + r * columns + c]]
    pattern = Pattern.of(rows, columns, entries)
    places = tuple(first + r * columns + c for r, c in pattern.entries)
    return CasadiArray(name, pattern, array or name, rows * columns if size is None else size, places)


def only(traced: Trace, outputs: Sequence[CasadiArray]) -> Trace:
    """A program without nodes that no output needs.

    Args:
        traced: The program; where it iterates, it stays as it is.
        outputs: Outputs that are wanted.
    """
    if traced.further:
        return traced
    wanted = {(y.array, j) for y in outputs for j in y.places}
    zero = traced.graph.const(0.0)
    kept = [
        (name, tuple(s if (name, j) in wanted else zero for j, s in enumerate(symbols)))
        for name, symbols in traced.outputs
        if any(name == y.array for y in outputs)
    ]
    return replace(traced, outputs=tuple(kept))


def differentiated(
    traced: Trace, inputs: Sequence[CasadiArray], outputs: Sequence[CasadiArray], limit: int
) -> Differentiated:
    """A program with its derivatives.

    Args:
        traced: The program, without further iterations, on a graph of its own.
        inputs: Arguments of the function.
        outputs: Its results.
        limit: The most operations of the Jacobian as one straight line.
    """
    numbers = {name: k for k, (name, _) in enumerate(traced.inputs)}
    by: list[tuple[Place, ...]] = [tuple((numbers[x.array], j) for j in x.places) for x in inputs]
    expressions = dict(traced.outputs)
    of = [tuple(expressions[y.array][j] for j in y.places) for y in outputs]
    ahead = _forward(traced, inputs, outputs, by, of)
    back = _reverse(traced, inputs, outputs, by, of)
    patterns, whole = _jacobian(traced, inputs, outputs, by, of, limit)
    reads = "multipliers" in numbers and _reads(ahead, numbers["multipliers"])
    groups = () if whole is not None else tuple(_groups(patterns, inputs))
    twice = _second(back, inputs, outputs, by, numbers["multipliers"] if reads else None)
    second = twice if OperationCount.of_trace(twice).total <= limit else None
    return Differentiated(tuple(inputs), tuple(outputs), reads, ahead, back, second, whole, patterns, groups)


def _forward(
    traced: Trace,
    inputs: Sequence[CasadiArray],
    outputs: Sequence[CasadiArray],
    by: Sequence[Sequence[Place]],
    of: Sequence[Sequence[Symbol]],
) -> Trace:
    graph, first = traced.graph, len(traced.inputs)
    directions = {place: graph.input(first + k, j) for k, places in enumerate(by) for j, place in enumerate(places)}
    rates = iter(tangents(graph, [s for symbols in of for s in symbols], directions))
    arrays = tuple((f"fwd_{x.name}", x.pattern.size) for x in inputs)
    results = tuple(
        (f"fwd_{y.name}", tuple(graph.symbol(next(rates)) for _ in symbols))
        for y, symbols in zip(outputs, of, strict=True)
    )
    return Trace("fwd1", graph, (*traced.inputs, *arrays), results)


def _reverse(
    traced: Trace,
    inputs: Sequence[CasadiArray],
    outputs: Sequence[CasadiArray],
    by: Sequence[Sequence[Place]],
    of: Sequence[Sequence[Symbol]],
) -> Trace:
    graph, first = traced.graph, len(traced.inputs)
    seeds = [(s, graph.input(first + k, j)) for k, symbols in enumerate(of) for j, s in enumerate(symbols)]
    known = {place for places in by for place in places}
    derivatives = adjoints(graph, seeds, lambda array, place: (array, place) in known)
    arrays = tuple((f"adj_{y.name}", y.pattern.size) for y in outputs)
    results = tuple(
        (f"adj_{x.name}", tuple(graph.symbol(derivatives.get(place, 0.0)) for place in places))
        for x, places in zip(inputs, by, strict=True)
    )
    return Trace("adj1", graph, (*traced.inputs, *arrays), results)


def _second(
    reverse: Trace,
    inputs: Sequence[CasadiArray],
    outputs: Sequence[CasadiArray],
    by: Sequence[Sequence[Place]],
    multipliers: int | None,
) -> Trace:
    """Rates of `_reverse` along its inputs: arguments, seeds and, where derivatives read them, forces."""
    graph, first = reverse.graph, len(reverse.inputs)
    seeds = range(first - len(outputs), first)
    moving = [(f"fwd_{x.name}", tuple(places)) for x, places in zip(inputs, by, strict=True)]
    moving += [
        (f"fwd_adj_{y.name}", tuple((k, j) for j in range(y.pattern.size))) for k, y in zip(seeds, outputs, strict=True)
    ]
    if multipliers is not None:
        size = reverse.inputs[multipliers][1]
        moving.append(("fwd_out_multipliers", tuple((multipliers, j) for j in range(size))))
    directions = {
        place: graph.input(first + k, j) for k, (_, places) in enumerate(moving) for j, place in enumerate(places)
    }
    rates = iter(tangents(graph, [s for _, symbols in reverse.outputs for s in symbols], directions))
    results = tuple(
        (f"fwd_{name}", tuple(graph.symbol(next(rates)) for _ in symbols)) for name, symbols in reverse.outputs
    )
    return Trace("fwd1_adj1", graph, (*reverse.inputs, *((name, len(places)) for name, places in moving)), results)


def _jacobian(
    traced: Trace,
    inputs: Sequence[CasadiArray],
    outputs: Sequence[CasadiArray],
    by: Sequence[Sequence[Place]],
    of: Sequence[Sequence[Symbol]],
    limit: int,
) -> tuple[tuple[tuple[Pattern, ...], ...], Trace | None]:
    """Patterns of all blocks, and the program of their entries, if it is not too large."""
    graph = traced.graph
    symbols, places = [s for group in of for s in group], [p for group in by for p in group]
    before, graph.limit = graph.limit, len(graph.nodes) + limit
    whole: list[Vector] | None
    try:
        whole = jacobian(graph, symbols, places)
        entries: list[set[int]] = [set(row) for row in whole]
    except ProgramTooLarge:
        whole = None
        entries = _pattern(traced, symbols, by)
    graph.limit = before
    patterns, results = [], []
    row = 0
    for y, group in zip(outputs, of, strict=True):
        rows = range(row, row + len(group))
        row += len(group)
        blocks, column = [], 0
        for x in inputs:
            size = x.pattern.size
            at = [c * y.pattern.rows + r for r, c in y.pattern.entries]  # as CasADi counts the entries of an output
            block = Pattern.of(
                y.pattern.rows * y.pattern.columns,
                size,
                [(at[r - rows.start], j - column) for r in rows for j in entries[r] if column <= j < column + size],
            )
            if whole is not None:
                number = dict(zip(at, rows, strict=True))
                results.append(
                    (
                        f"jac_{y.name}_{x.name}",
                        tuple(graph.symbol(whole[number[r]][column + j]) for r, j in block.entries),
                    )
                )
            blocks.append(block)
            column += size
        patterns.append(tuple(blocks))
    return tuple(patterns), None if whole is None else Trace("jac", graph, traced.inputs, tuple(results))


def _groups(
    patterns: Sequence[Sequence[Pattern]], inputs: Sequence[CasadiArray]
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Columns of all blocks that share no row."""
    columns = [(k, j) for k, x in enumerate(inputs) for j in range(x.pattern.size)]
    rows_of: dict[tuple[int, int], int] = dict.fromkeys(columns, 0)
    first = 0
    for blocks in patterns:
        for k, block in enumerate(blocks):
            for r, j in block.entries:
                rows_of[k, j] |= 1 << (first + r)
        first += blocks[0].rows
    for group in column_groups([rows_of[column] for column in columns]):
        yield tuple(columns[j] for j in group)


def _pattern(traced: Trace, of: Sequence[Symbol], by: Sequence[Sequence[Place]]) -> list[set[int]]:
    """Which inputs each symbol depends on."""
    rows: list[set[int]] = [set() for _ in of]
    first = 0
    for places in by:
        array = places[0][0]
        depends = pattern(traced.graph, of, array, traced.inputs[array][1])
        for row, entries in zip(rows, depends, strict=True):
            row |= {first + j for j, (_, place) in enumerate(places) if entries[place]}
        first += len(places)
    return rows


def _reads(traced: Trace, array: int) -> bool:
    nodes = traced.graph.nodes
    return any(nodes[i][0] is INPUT and nodes[i][1] == array for i in traced.reached())
