# SPDX-License-Identifier: BSD-3-Clause
"""Running kernel code on symbols: straight-line programs as graphs of scalar expressions (`model.expressions`).

Operations that no output needs are never emitted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.kernels.algorithm import Algorithm, resolve
from linkwork.model.expressions import CONST, COS, INPUT, NEG, SIN, Graph, Symbol, operands
from linkwork.plans.tree import Tree

MAX_OPERATIONS = 120_000
"""Beyond this a straight-line program outgrows instruction caches and compilers."""

GPU_OPERATIONS = 200_000
"""Limit on a GPU, whose assembler takes minutes for so many."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A straight-line program: input arrays (name, length), output arrays, and the nodes they need."""

    name: str
    graph: Graph
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, tuple[Symbol, ...]], ...]
    carry: tuple[Symbol, ...] = ()
    """Values of work arrays that a further iteration reads."""
    iterate: Trace | None = None
    """The program of a further iteration. Its inputs are all arrays of the first: inputs, outputs, and ``carry``."""
    refine: Trace | None = None
    """Trace of an iteration that may be the last."""
    uneven: bool = False
    """Whether states need iterations of very different number (`Algorithm.uneven`)."""
    shapes: tuple[tuple[int, ...], ...] = ()
    """Shapes of the outputs, where they are known: rows of matrices are packed (`packing`)."""

    @property
    def further(self) -> dict[str, Trace]:
        """Programs of further iterations by name."""
        programs = {"iterate": self.iterate, "refine": self.refine}
        return {name: program for name, program in programs.items() if program is not None}

    @property
    def results(self) -> tuple[tuple[Symbol, ...], ...]:
        """All that is stored: outputs, then ``carry``."""
        return (*(symbols for _, symbols in self.outputs), self.carry)

    def needed(self) -> list[int]:
        """The nodes that outputs depend on, in the order to compute them: depth first from the outputs, the operand
        that needs more registers first (Sethi and Ullman), which keeps few values alive."""
        nodes, seen, order = self.graph.nodes, set[int](), list[int]()
        registers = self._registers()
        for symbols in self.results:
            for symbol in symbols:
                stack = [symbol.i]
                while stack:
                    i = stack[-1]
                    if i in seen:
                        stack.pop()
                        continue
                    waiting = [k for k in operands(nodes[i]) if k not in seen]
                    if waiting:
                        stack.extend(sorted(waiting, key=registers.__getitem__))
                    else:
                        seen.add(i)
                        order.append(i)
                        stack.pop()
        return order

    def reached(self) -> list[int]:
        """The reachable nodes in the order of their numbers, which suffices to count, in a fifth of the time."""
        nodes = self.graph.nodes
        needed = bytearray(len(nodes))
        for symbols in self.results:
            for symbol in symbols:
                needed[symbol.i] = 1
        for i in range(len(nodes) - 1, -1, -1):  # operands have smaller numbers
            if needed[i]:
                for k in operands(nodes[i]):
                    needed[k] = 1
        return [i for i, is_needed in enumerate(needed) if is_needed]

    def _registers(self) -> list[int]:
        """The number of registers that each node would need, were the graph a tree."""
        need: list[int] = []
        for node in self.graph.nodes:
            below = sorted((need[k] for k in operands(node)), reverse=True)
            need.append(max((n + k for k, n in enumerate(below)), default=1))
        return need

    def operation_count(self) -> dict[str, int]:
        """The count of each operation: + - * / sqrt sincos and, where they occur, the rarer ones."""
        nodes = self.graph.nodes
        count: Counter[str] = Counter()
        angles = set()
        for i in self.reached():
            op = nodes[i][0]
            if op in (SIN, COS):
                angles.add(nodes[i][1])
            elif op not in (INPUT, CONST):
                count[op] += 1
        count[NEG] += sum(s.minus for _, symbols in self.outputs for s in symbols)
        count["sincos"] = len(angles)
        return {op: n for op, n in count.items() if n}


def trace(algorithm: Algorithm, tree: Tree, limit: int = MAX_OPERATIONS) -> Trace:
    """Run an algorithm's text on symbols, for one tree."""
    if algorithm.integers:
        raise UnsupportedFeature(
            f"{algorithm.name} decides by numbers of the state; straight-line programs have no branches: use native "
            "code"
        )
    graph = Graph(limit)
    inputs, arrays = [], []
    for k, (name, shape) in enumerate(algorithm.inputs.items()):
        size = math.prod(resolve(shape, tree))
        inputs.append((name, size))
        arrays.append(_objects([graph.input(k, j) for j in range(size)], resolve(shape, tree)))
    outputs = [np.empty(resolve(shape, tree), dtype=object) for shape in algorithm.outputs.values()]
    work = [np.empty(resolve(shape, tree), dtype=object) for shape in algorithm.work.values()]
    loose = _loosened(algorithm, tree)
    algorithm.text(loose, algorithm.work_type(*work), *arrays, *outputs)
    graph.check(len(graph.nodes) + sum(array.size for array in outputs))
    shapes = tuple(array.shape for array in outputs)
    first = Trace(algorithm.name, graph, tuple(inputs), _named(graph, algorithm, outputs), shapes=shapes)
    if algorithm.iterate is None:
        return first
    return _traced_iterations(algorithm, loose, first, work)


def _named(graph: Graph, algorithm: Algorithm, outputs: Sequence[Any]) -> tuple[tuple[str, tuple[Symbol, ...]], ...]:
    return tuple(
        (name, tuple(graph.symbol(x) for x in array.ravel()))
        for name, array in zip(algorithm.outputs, outputs, strict=True)
    )


def _traced_iterations(algorithm: Algorithm, loose: Tree, first: Trace, work: Sequence[Any]) -> Trace:
    """The first program with the work arrays that further iterations read, and the programs of these iterations."""
    places: dict[int, int] = {}
    texts = {"iterate": algorithm.iterate, "refine": algorithm.refine}
    further = {
        name: _traced_iteration(f"{algorithm.name}_{name}", text, algorithm, loose, first, work, places)
        for name, text in texts.items()
        if text is not None
    }
    return replace(with_carry(first, list(places), further), uneven=algorithm.uneven)


def _traced_iteration(
    name: str,
    text: Callable[..., None],
    algorithm: Algorithm,
    loose: Tree,
    first: Trace,
    work: Sequence[Any],
    places: dict[int, int],
) -> Trace:
    """The program of a further iteration; ``places``: where nodes of the first program are carried to it."""
    graph = Graph(first.graph.limit)
    sizes = [size for _, size in first.inputs] + [len(symbols) for _, symbols in first.outputs]
    shapes = [*algorithm.inputs.values(), *algorithm.outputs.values()]
    arrays = [
        _objects([graph.input(k, j) for j in range(size)], resolve(shape, loose))
        for k, (size, shape) in enumerate(zip(sizes, shapes, strict=True))
    ]

    def carried(x: Any) -> Any:
        if not isinstance(x, Symbol):
            return x
        known = first.graph.value(x.i)
        if known is not None:
            return -known if x.minus else known
        symbol = graph.input(len(sizes), places.setdefault(x.i, len(places)))
        return -symbol if x.minus else symbol

    kept = [_objects([carried(x) for x in array.ravel()], array.shape) for array in work]
    text(loose, algorithm.work_type(*kept), *arrays)
    return Trace(name, graph, first.inputs, _named(graph, algorithm, arrays[len(first.inputs) :]))


def with_carry(first: Trace, nodes: Sequence[int], further: Mapping[str, Trace]) -> Trace:
    """The first program with programs of further iterations, which carry those of its ``nodes`` that are read."""
    array = len(first.inputs) + len(first.outputs)
    read: set[int] = set()
    for program in further.values():
        program_nodes = program.graph.nodes
        read |= {program_nodes[i][2] for i in program.reached() if program_nodes[i][:2] == (INPUT, array)}
    order = sorted(read)
    moved = {place: k for k, place in enumerate(order)}
    for program in further.values():
        program.graph.nodes = [
            (INPUT, array, moved.get(n[2], 0)) if n[:2] == (INPUT, array) else n for n in program.graph.nodes
        ]
    carry = tuple(Symbol(first.graph, nodes[place], False) for place in order)
    return replace(first, carry=carry, iterate=further.get("iterate"), refine=further.get("refine"))


def is_zero(trace: Trace, k: int, j: int) -> bool:
    """Whether number ``j`` of result ``k`` is zero in every state."""
    return trace.graph.value(trace.results[k][j].i) == 0.0


def mostly_zero(trace: Trace) -> set[int]:
    """Outputs with so many zeros, as in mass matrices and Jacobians, that they are cleared as a whole beforehand."""
    counts = {k: sum(is_zero(trace, k, j) for j in range(len(s))) for k, (_, s) in enumerate(trace.outputs)}
    return {k for k, zeros in counts.items() if zeros > 16}


def trace_function(name: str, function: Callable[..., Sequence[Any]], arguments: Sequence[str]) -> Trace:
    """Run a scalar function on symbols: each argument an input array of one number, each result an output."""
    graph = Graph(MAX_OPERATIONS)
    results = function(*(graph.input(k, 0) for k in range(len(arguments))))
    return Trace(
        name,
        graph,
        tuple((argument, 1) for argument in arguments),
        tuple((f"result{k}", (graph.symbol(x),)) for k, x in enumerate(results)),
    )


def _objects(values: list[Any], shape: tuple[int, ...]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def _loosened(algorithm: Algorithm, tree: Tree) -> Tree:
    """The tree with Python numbers in its arrays, which fold faster and mix with symbols; lists are read fastest."""
    integers = algorithm.layout.integers
    loose: Mapping[str, Any] = {
        name: array.tolist() if name in integers and array.ndim == 1 else array.astype(object)
        for name, array in ((name, getattr(tree, name)) for name in algorithm.layout.shapes)
    }
    return tree._replace(**loose)
