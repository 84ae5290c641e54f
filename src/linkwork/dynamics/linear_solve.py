# SPDX-License-Identifier: BSD-3-Clause
"""The linear system of constrained forward dynamics with any right-hand side, by the method's own program.

    M x - J' w = force,        J x = rows

Forward dynamics is linear in torques and targets. Its tangent along them, which knows neither velocities nor gravity,
is this solution: of the first iteration, and of each further one. So every method that iterates solves linear systems
as exactly as it does its own, redundant rows included: of all ``w`` the one with the smallest ``w' R w`` where rows do
not contradict each other. The matrix is symmetric in ``x`` and ``-w``: one program serves forward and reverse.

Convergence is judged as that of forward dynamics is, relative to the energies of the right-hand sides.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from linkwork.compilers.program import Program
from linkwork.compilers.trace.derived_programs import derived
from linkwork.compilers.trace.differentiation import Place, dependent, tangents
from linkwork.compilers.trace.replay import replay, signed
from linkwork.compilers.trace.tracing import Trace, with_carry
from linkwork.errors import LinkworkError
from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.problem import Settings, residual_norm, residual_progress
from linkwork.kernels.elementary import maximum
from linkwork.kernels.records import view_records
from linkwork.kernels.scalar import where
from linkwork.kernels.thresholds import DISABLED, STAGNATION
from linkwork.model.expressions import INPUT, Graph, Symbol

LINEAR = ("v", "tau", "wrenches", "target", "multipliers")
"""Inputs of forward dynamics that the linear system does not depend on, right-hand sides apart."""
OUTPUTS: dict[str, Shape] = {"x": ("nv",), "result": ("nresult",)}
"""As those of forward dynamics: ``result`` has progress, iterations, ``w``, and the residual of each row."""


def solve_inputs(source: Program) -> dict[str, tuple[int, ...]]:
    """Shapes of the inputs of the linear system: configuration, right-hand sides, and inputs of its matrix.

    Args:
        source: A program of constrained forward dynamics.
    """
    shapes = dict(zip(source.algorithm.inputs, source.input_shapes(), strict=True))
    matrix = {name: shape for name, shape in shapes.items() if name not in (*LINEAR, "q")}
    return {"q": shapes["q"], "force": shapes["tau"], "rows": shapes["target"], **matrix}


def solve_program(source: Program) -> Program:
    """The program that solves the linear system of one of constrained forward dynamics.

    Its iterations keep the internal forces of redundant rows, since removing them is not linear: `implicit_steps` does.

    Args:
        source: A method that iterates, or one that takes rows to be independent.
    """
    algorithm = source.algorithm
    if algorithm.iterate is not None:
        source = replace(source, tree=source.tree._replace(has_redundant_rows=0))
    return derived(
        source,
        f"{algorithm.name}_solve",
        solve_inputs(source),
        OUTPUTS,
        lambda limit: linear_solve(source, source.trace(limit), limit),
        key="solve",
        iterates=algorithm.iterate is not None,
        refines=algorithm.refine is not None,
    )


def linear_solve(source: Program, traced: Trace, limit: int = sys.maxsize) -> Trace:
    """The straight-line program of the linear system.

    Args:
        source: A program with the inputs and outputs of `kernels.constrained.problem`.
        traced: Its trace; the graphs grow.
        limit: The most operations; `ProgramTooLarge` where there are more.
    """
    return _LinearSolve(source, traced).made(limit)


FORCE, ROWS, X, RESULT, CARRY = -2, -3, -4, -5, -6
"""Numbers of arrays that are directions: of torques and targets, of outputs, and of the state of iterations."""


class _LinearSolve:
    """Tangents of a program of forward dynamics along torques and targets, on graphs of their own."""

    def __init__(self, source: Program, traced: Trace) -> None:
        self.traced, self.tree = traced, source.tree
        self.nv, self.nc = int(source.tree.nv), int(source.tree.nc)
        self.inputs = tuple((name, math.prod(shape)) for name, shape in solve_inputs(source).items())
        self.matrix = [name for name, _ in traced.inputs if name not in LINEAR]
        self.numbers = {name: k for k, (name, _) in enumerate(traced.inputs)}

    def made(self, limit: int) -> Trace:
        traced, graph = self.traced, Graph(sys.maxsize)
        inputs = self._inputs(graph)
        read = self._read()
        kept = [traced.carry[j] for j in read]
        values = self._replayed(traced, [*self._solution(traced), *kept], inputs, {}, {})
        x, lines, rates = values[: self.nv], values[self.nv : self.nv + 2 * self.nc], values[self.nv + 2 * self.nc :]
        settings, w = self._scales(inputs)
        norm = residual_norm(self.tree, w, settings, lines[self.nc :])
        if traced.refine is not None:
            norm = maximum(norm, settings.rounding)
        first = self._trace("solve", graph, x, [norm, 1.0, *lines])
        if traced.iterate is not None:
            carried = dict(zip(read, zip(self._carried(inputs, kept), rates, strict=True), strict=True))
            places: dict[int, int] = {}
            further = {name: self._iteration(name, text, carried, places) for name, text in traced.further.items()}
            first = with_carry(first, list(places), further)
        graph.limit = limit
        graph.check(sum(sum(program.operation_count().values()) for program in (first, *first.further.values())))
        return first

    def _iteration(
        self, name: str, program: Trace, carried: Mapping[int, tuple[Any, Any]], places: dict[int, int]
    ) -> Trace:
        """A further iteration: ``carried`` are values and rates that the first leaves, ``places`` where they go."""
        graph, nc = Graph(sys.maxsize), self.nc
        inputs = self._inputs(graph)
        x = [graph.input(len(self.inputs), j) for j in range(self.nv)]
        before = [graph.input(len(self.inputs) + 1, j) for j in range(2 + 2 * nc)]

        def brought(value: Any) -> Any:
            if value is None:
                raise LinkworkError(f"{program.name} is not linear in torques and targets: please report this")
            if not isinstance(value, Symbol):
                return value
            symbol = graph.input(len(self.inputs) + 2, places.setdefault(value.i, len(places)))
            return -symbol if value.minus else symbol

        start = len(self.traced.inputs)
        directions = {(start, j): program.graph.input(X, j) for j in range(self.nv)}
        directions |= {(start + 1, j): program.graph.input(RESULT, j) for j in range(2, 2 + 2 * nc)}
        directions |= {
            (start + 2, j): program.graph.input(CARRY, j)
            for j, (_, rate) in carried.items()
            if isinstance(rate, Symbol) or rate != 0.0
        }
        kept = _Lazy(lambda j: brought(carried[j][0]))
        known = {X: x, RESULT: before, CARRY: _Lazy(lambda j: brought(carried[j][1])), start + 2: kept}
        values = self._replayed(program, self._solution(program), inputs, directions, known)
        lines = values[self.nv :]
        norm = self._progress(name, inputs, before, lines[nc:])
        return self._trace(f"solve_{name}", graph, values[: self.nv], [norm, before[1] + 1.0, *lines])

    def _progress(self, name: str, inputs: Mapping[str, Any], before: Sequence[Any], residual: Sequence[Any]) -> Any:
        """The quantity that must fall below the tolerance, as `constrained.problem` and `constrained.lcaba` define
        it.
        """
        settings, w = self._scales(inputs)
        if name == "refine" or self.traced.refine is None:
            return residual_progress(self.tree, w, settings, before[2 + self.nc :], residual)
        norm = residual_norm(self.tree, w, settings, residual)
        least = maximum(settings.rounding, 2.0 * settings.tolerance)
        return where(norm, (1.0 - STAGNATION) * before[0], maximum(norm, least), least)

    def _scales(self, inputs: Mapping[str, Any]) -> tuple[Settings, Any]:
        """Settings by name, and the scale of residuals: energies of the right-hand sides."""
        (settings,) = view_records(self.tree, (inputs["settings"],), (Settings,))
        scale: Any = 0.0
        for k, force in enumerate(inputs["force"]):
            scale = scale + settings.mobility[k] * (force * force)
        for r, row in enumerate(inputs["rows"]):
            scale = scale + settings.row_inertia[r] * (row * row)
        return settings, SimpleNamespace(residual_scale=[scale, DISABLED])

    def _inputs(self, graph: Graph) -> dict[str, list[Symbol]]:
        return {name: [graph.input(k, j) for j in range(size)] for k, (name, size) in enumerate(self.inputs)}

    def _trace(self, name: str, graph: Graph, x: Sequence[Any], result: Sequence[Any]) -> Trace:
        padded = [*result, 0.0, 0.0]
        outputs = (("x", tuple(map(graph.symbol, x))), ("result", tuple(map(graph.symbol, padded))))
        return Trace(f"{self.traced.name}_{name}", graph, self.inputs, outputs)

    def _solution(self, program: Trace) -> list[Symbol]:
        """Accelerations, multipliers and residuals: the outputs that are linear in torques and targets."""
        a, result = (symbols for _, symbols in program.outputs)
        return [*a, *result[2 : 2 + 2 * self.nc]]

    def _read(self) -> list[int]:
        """Entries of the state of iterations on which the solution depends; convergence may depend on more."""
        read: set[int] = set()
        array = len(self.traced.inputs) + len(self.traced.outputs)
        for program in self.traced.further.values():
            nodes = program.graph.nodes
            reached = replace(program, outputs=(("solution", tuple(self._solution(program))),)).reached()
            read |= {nodes[i][2] for i in reached if nodes[i][:2] == (INPUT, array)}
        return sorted(read)

    def _carried(self, inputs: Mapping[str, Sequence[Any]], kept: Sequence[Symbol]) -> list[Any]:
        """The factors that the first program passes on, on the graph of the linear program; None for all else."""
        known = {self.numbers[name]: inputs[name] for name in self.matrix}
        other = dependent(self.traced.graph, lambda array, _: array not in known, through_all=True)
        wanted = tuple(symbol for symbol in kept if not other[symbol.i])
        program = replace(self.traced, outputs=(("carry", wanted),), carry=())
        values = replay(program, lambda array, j: known[array][j])
        return [None if other[symbol.i] else signed(values, symbol) for symbol in kept]

    def _replayed(
        self,
        program: Trace,
        outputs: Sequence[Symbol],
        inputs: Mapping[str, Sequence[Any]],
        directions: Mapping[Place, Symbol],
        others: Mapping[int, Any],
    ) -> list[Any]:
        """Tangents of a program's outputs along torques, targets and further directions, on another graph.

        ``others``: values of further arrays of the program there, by number.
        """
        program.graph.limit = sys.maxsize
        rhs = {(self.numbers["tau"], j): program.graph.input(FORCE, j) for j in range(self.nv)}
        rhs |= {(self.numbers["target"], j): program.graph.input(ROWS, j) for j in range(self.nc)}
        rates = tuple(map(program.graph.symbol, tangents(program.graph, outputs, {**rhs, **directions})))
        known: dict[int, Any] = {self.numbers[name]: inputs[name] for name in self.matrix}
        known |= {FORCE: inputs["force"], ROWS: inputs["rows"], **others}

        def bring(array: int, place: int) -> Any:
            if array not in known:
                raise LinkworkError(f"{program.name} is not linear in torques and targets: please report this")
            return known[array][place]

        values = replay(replace(program, outputs=(("rates", rates),), carry=()), bring)
        return [signed(values, rate) for rate in rates]


class _Lazy:
    """An array whose numbers are made when they are read."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._make = make

    def __getitem__(self, k: int) -> Any:
        return self._make(k)
