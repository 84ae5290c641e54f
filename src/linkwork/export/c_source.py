# SPDX-License-Identifier: BSD-3-Clause
"""A program as C99: a function of arrays that calls its parts, and those of further iterations as long as need be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.compilers.trace.parts import Part, Parts, cut
from linkwork.compilers.trace.tracing import Trace
from linkwork.errors import UnsupportedFeature
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
    Node,
    operands,
)

WORK, CARRY = "work", "carry"
"""Arrays on the stack: numbers between parts, and those that the first iteration passes to the others."""

_BINARY = {ADD: "+", SUB: "-", MUL: "*", DIV: "/"}
_FUNCTIONS = {SQRT: "sqrt", SIN: "sin", COS: "cos", RINT: "rint", FMA: "fma"}

PART = """\
#if defined(__GNUC__)
#define LINKWORK_PART static __attribute__((noinline)) /* compilers take too long for one long function */
#else
#define LINKWORK_PART static
#endif
"""
"""Prefix of functions of parts."""


@dataclass(frozen=True)
class Iterations:
    """When to stop: numbers, or, where settings are an argument, where they stand."""

    tolerance: str
    most: str
    near: str = "0.0"
    """A residual at which iterations are about to end, for programs with a kernel to end with."""


class CText:
    """The C text of a trace: ``number`` is ``"double"`` or ``"float"``, ``given`` the inputs that are arguments."""

    def __init__(self, name: str, trace: Trace, number: str, given: Sequence[str], iterations: Iterations) -> None:
        self.name, self.number, self._iterations = name, number, iterations
        self._suffix = "f" if number == "float" else ""
        self.inputs = {array: size for array, size in trace.inputs if array in given and size}
        self.outputs = {array: len(symbols) for array, symbols in trace.outputs if symbols}
        self._arrays = [*(array for array, _ in trace.inputs), *(array for array, _ in trace.outputs), CARRY]
        self._trace = trace
        self._first = cut(trace)
        self._further = {label: cut(program) for label, program in trace.further.items()}

    # Text ------------------------------------------------------------------------------------------------------

    @property
    def stack(self) -> int:
        """Bytes of the arrays on the stack."""
        return (self._work + len(self._trace.carry)) * (4 if self.number == "float" else 8)

    @property
    def _work(self) -> int:
        return max(program.work for program in self._programs.values())

    @property
    def _programs(self) -> dict[str, Parts]:
        """All programs, by the names of their functions."""
        return {"part": self._first, **self._further}

    def prototype(self) -> str:
        """The function as it is declared and defined."""
        arrays = [f"const {self.number} {array}[{size_name(self.name, array)}]" for array in self.inputs]
        arrays += [f"{self.number} {array}[{size_name(self.name, array)}]" for array in self.outputs]
        return f"void {self.name}({', '.join(arrays)})"

    def source(self) -> str:
        """All functions, the one to call last."""
        return "\n".join([PART, self.functions()])

    def functions(self, static: bool = False) -> str:
        """The functions without the macro that they begin with; ``static``: for this file alone."""
        texts = []
        for label, program in self._programs.items():
            texts += [self._function(program, k, label) for k in range(len(program.parts))]
        return "\n".join([*texts, f"static {self._main()}" if static else self._main()])

    def _main(self) -> str:
        lines = [self.prototype(), "{"]
        programs = self._programs.values()
        used = {array for p in programs for k in range(len(p.parts)) for array in self._used(p, k)}
        lines += [f"    (void){array}; /* not used */" for array in self.inputs if array not in used]
        for array, size in ((WORK, self._work), (CARRY, len(self._trace.carry))):
            if size:
                lines.append(f"    {self.number} {array}[{size}];")
        for k in self._first.cleared:
            array = self._trace.outputs[k][0]
            within = f"int k = 0; k < {size_name(self.name, array)}; ++k"
            lines.append(f"    for ({within}) {array}[k] = {self._literal(0.0)};")
        lines += [f"    {self._call(self._first, k, 'part')};" for k in range(len(self._first.parts))]
        if self._further:
            lines += [f"    {line}" for line in self._loop()]
        return "\n".join([*lines, "}", ""])

    def _loop(self) -> list[str]:
        """Further iterations, the last one by a kernel of its own where there is one."""
        progress, until = f"{self._trace.outputs[-1][0]}[0]", self._iterations
        calls = {
            label: [f"{self._call(program, k, label)};" for k in range(len(program.parts))]
            for label, program in self._further.items()
        }
        lines = [f"for (int k = 1; k < {until.most} && {progress} > {until.tolerance}; ++k) {{"]
        if "refine" in calls:
            soon = f"{progress} * {progress} <= {until.tolerance} || {progress} <= {until.near}"
            lines += [f"    if (k + 1 >= {until.most} || {soon}) {{", *(f"        {c}" for c in calls["refine"])]
            lines += ["    } else {", *(f"        {call}" for call in calls["iterate"]), "    }"]
        else:
            lines += [f"    {call}" for call in calls["iterate"]]
        return [*lines, "}"]

    def _call(self, program: Parts, k: int, label: str) -> str:
        return f"{self.name}_{label}{k}({', '.join(self._used(program, k))})"

    def _used(self, program: Parts, k: int) -> list[str]:
        """The arrays that a part reads or writes."""
        nodes, part = program.trace.graph.nodes, program.parts[k]
        read = {nodes[i][1] for i in _read(nodes, part) if nodes[i][0] is INPUT}
        written = {len(program.trace.inputs) + store.array for store in part.stores}
        used = [self._arrays[j] for j in range(len(self._arrays)) if j in read | written]
        return [*used, WORK] if part.kept or part.loaded else used

    def _function(self, program: Parts, k: int, label: str) -> str:
        part = program.parts[k]
        written = {self._arrays[len(program.trace.inputs) + store.array] for store in part.stores}
        written |= {WORK} if part.kept else set()
        parameters = [
            f"{'' if array in written else 'const '}{self.number} *restrict {array}" for array in self._used(program, k)
        ]
        head = f"LINKWORK_PART void {self.name}_{label}{k}({', '.join(parameters) or 'void'})"
        return "\n".join([head, "{", *(f"    {line}" for line in self._lines(program, part)), "}", ""])

    def _lines(self, program: Parts, part: Part) -> Iterator[str]:
        """The statements of a part: a constant for each number, read or computed where it is first needed."""
        nodes = program.trace.graph.nodes
        known = set[int]()
        ready: dict[int, list[str]] = {}
        late = []
        for store in part.stores:
            target = f"{self._arrays[len(program.trace.inputs) + store.array]}[{store.place}]"
            value = f"{'-' if store.symbol.minus else ''}{self._value(nodes, store.symbol.i)}"
            if store.late:
                late.append((store.symbol.i, f"{target} = {value};"))
            else:
                ready.setdefault(store.symbol.i, []).append(f"{target} = {value};")

        def fetched(i: int) -> Iterator[str]:
            if i in known or nodes[i][0] is CONST:
                return
            known.add(i)
            if i in part.loaded:
                yield self._constant(i, f"{WORK}[{part.loaded[i]}]")
            elif nodes[i][0] is INPUT:
                yield self._constant(i, f"{self._arrays[nodes[i][1]]}[{nodes[i][2]}]")

        for i in part.nodes:
            for operand in operands(nodes[i]):
                yield from fetched(operand)
            known.add(i)
            yield self._constant(i, self._expression(nodes, nodes[i]))
            if i in part.kept:
                yield f"{WORK}[{part.kept[i]}] = n{i};"
            yield from ready.get(i, ())
        for i, _ in late:
            yield from fetched(i)
        for _, line in late:
            yield line

    def _constant(self, i: int, value: str) -> str:
        return f"const {self.number} n{i} = {value};"

    def _value(self, nodes: Sequence[Node], i: int) -> str:
        return self._literal(nodes[i][1]) if nodes[i][0] is CONST else f"n{i}"

    def _expression(self, nodes: Sequence[Node], node: Node) -> str:
        operation, *rest = node
        values = [self._value(nodes, k) for k in rest]
        if operation in _BINARY:
            return f" {_BINARY[operation]} ".join(values)
        if operation is NEG:
            return f"-{values[0]}"
        if operation is SELECT:
            return f"{values[0]} < {values[1]} ? {values[2]} : {values[3]}"
        return f"{_FUNCTIONS[operation]}{self._suffix}({', '.join(values)})"

    def _literal(self, value: float) -> str:
        return literal(value, self.number)


def _read(nodes: Sequence[Node], part: Part) -> set[int]:
    """Nodes that a part reads."""
    return {k for i in part.nodes for k in operands(nodes[i])} | {store.symbol.i for store in part.stores}


def size_name(name: str, array: str) -> str:
    """The macro that says how long an array is."""
    return f"{name}_{array}_SIZE".upper()


def literal(value: float, number: str) -> str:
    """A number as C writes it, to the last digit."""
    if number == "double":
        text = repr(float(value))
    else:
        with np.errstate(over="ignore"):
            single = np.float32(value)
        text = f"{single}f"
        value = float(single)
    if not np.isfinite(value):
        raise UnsupportedFeature(f"the program has a constant that is no {number}; export it as double")
    return text
