# SPDX-License-Identifier: BSD-3-Clause
"""The second stage of a program whose matrices are packed (`packing`), as LLVM IR: vectors from memory to results.

A common factor is read and spread over a vector where it is used, which is no instruction of its own on processors that
spread operands from memory. Every line of columns is a function of its own: in a batch one after the other is run for
the states of a block, so that instructions stay in the cache of the first level.
"""

from __future__ import annotations

from collections.abc import Collection

from linkwork.compilers.lanes import Type
from linkwork.compilers.packing import ONE, Pack, Packing, Result, Term
from linkwork.model.expressions import CONST

STAGE = "line"
"""How names of functions begin."""


def functions(packing: Packing, t: Type) -> list[str]:
    """The second stage as functions, one for each line of columns, of pointers to the outputs that it writes, and to
    what the first stage stored; and what they call."""
    parameters = ", ".join(f"ptr noalias %a{k}" for k in sorted(packing.arrays))
    parts, called = list[str](), set[str]()
    for line in range(count(packing)):
        code = _Line(packing, Type(t.dtype, packing.width))
        for result in packing.results:
            if result.line == line:
                code.result(result)
        called |= code.declarations
        head = f"define internal void @{STAGE}{line}({parameters}, ptr noalias %carry) noinline {{"
        parts.append("\n  ".join([head, *code.lines, "ret void\n}"]))
    return [*parts, *sorted(called)]


def count(packing: Packing) -> int:
    """How many lines there are."""
    return 1 + max(result.line for result in packing.results)


class _Line:
    """Instructions of the results of a line of columns; packs that several of them need are computed once."""

    def __init__(self, packing: Packing, t: Type) -> None:
        self.packing, self.t = packing, t
        self.nodes = packing.first.graph.nodes
        self.declarations: set[str] = set()
        self.lines: list[str] = []
        self._values: dict[Pack, tuple[str, bool]] = {}
        self._count = 0

    def result(self, result: Result) -> None:
        """Add the instructions of one result."""
        value, minus = self._value(result.pack)
        if result.minus != minus:
            value = self._made(f"fneg {self.t.name} {value}")
        self._store(f"%a{result.array}", result.place, len(result.pack), value)

    def _made(self, instruction: str) -> str:
        self._count += 1
        self.lines.append(f"%x{self._count} = {instruction}")
        return f"%x{self._count}"

    def _value(self, pack: Pack) -> tuple[str, bool]:
        """The name of a pack's vector, and whether it is negative: computed, read, or constant."""
        found = self._values.get(pack)
        if found is None:
            terms = self.packing.sums.get(pack)
            if terms is not None:
                found = self._sum(terms), False
            elif pack in self.packing.places:
                found = self._read(pack), self.packing.places[pack][1]
            else:
                found = self._constant(pack), False
            self._values[pack] = found
        return found

    def _sum(self, terms: list[Term]) -> str:
        result = ""
        for term in terms:
            value, minus = self._value(term.pack)
            minus = minus != term.minus
            if term.factor != ONE:
                factor, negative = self._spread(term.factor)
                minus = minus != negative
                value = self._made(f"fmul contract {self.t.name} {factor}, {value}")
            if result:
                result = self._made(f"{'fsub' if minus else 'fadd'} contract {self.t.name} {result}, {value}")
            else:
                result = self._made(f"fneg {self.t.name} {value}") if minus else value
        return result

    def _spread(self, factor: int) -> tuple[str, bool]:
        """A scalar in all entries, and whether it is negative."""
        place, minus = self.packing.factors[factor]
        pointer = self._made(f"getelementptr {self.t.scalar}, ptr %carry, i64 {place}")
        number = self._made(f"load {self.t.scalar}, ptr {pointer}")
        one = self._made(f"insertelement {self.t.name} poison, {self.t.scalar} {number}, i32 0")
        zeros = f"<{self.t.lanes} x i32> zeroinitializer"
        return self._made(f"shufflevector {self.t.name} {one}, {self.t.name} poison, {zeros}"), minus

    def _read(self, pack: Pack) -> str:
        """A stored pack; where it has no entry, nothing is read."""
        t, (place, _) = self.t, self.packing.places[pack]
        live = {column for column, entry in enumerate(pack) if entry is not None}
        pointer = self._made(f"getelementptr {t.scalar}, ptr %carry, i64 {place}")
        if len(live) == t.lanes:
            return self._made(f"load {t.name}, ptr {pointer}, align {t.bytes}")
        name = f"@llvm.masked.load.{t.suffix}.p0"
        self.declarations.add(f"declare {t.name} {name}(ptr, i32, <{t.lanes} x i1>, {t.name})")
        mask = self._mask(live)
        return self._made(f"call {t.name} {name}(ptr {pointer}, i32 {t.bytes}, {mask}, {t.name} zeroinitializer)")

    def _constant(self, pack: Pack) -> str:
        numbers = []
        for entry in (*pack, *[None] * (self.t.lanes - len(pack))):
            value = 0.0 if entry is None else 1.0 if entry[0] == ONE else self.nodes[entry[0]][1]
            numbers.append(Type(self.t.dtype, 1).number(-value if entry is not None and entry[1] < 0 else value))
        return f"<{', '.join(f'{self.t.scalar} {number}' for number in numbers)}>"

    def _mask(self, live: Collection[int]) -> str:
        bits = ", ".join(f"i1 {'true' if k in live else 'false'}" for k in range(self.t.lanes))
        return f"<{self.t.lanes} x i1> <{bits}>"

    def _store(self, array: str, place: int, count: int, value: str) -> None:
        """The first ``count`` entries: by a mask where vectors are long, else in parts."""
        t = self.t
        if t.lanes >= 8 and count < t.lanes:
            name = f"@llvm.masked.store.{t.suffix}.p0"
            self.declarations.add(f"declare void {name}({t.name}, ptr, i32, <{t.lanes} x i1>)")
            pointer = self._made(f"getelementptr {t.scalar}, ptr {array}, i64 {place}")
            self.lines.append(
                f"call void {name}({t.name} {value}, ptr {pointer}, i32 {t.bytes}, {self._mask(range(count))})"
            )
            return
        done, size = 0, t.lanes
        while done < count:
            if size <= count - done:
                part, name = value, t.name
                if size < t.lanes:
                    name = f"<{size} x {t.scalar}>"
                    picks = ", ".join(f"i32 {done + k}" for k in range(size))
                    part = self._made(f"shufflevector {t.name} {value}, {t.name} poison, <{size} x i32> <{picks}>")
                pointer = self._made(f"getelementptr {t.scalar}, ptr {array}, i64 {place + done}")
                self.lines.append(f"store {name} {part}, ptr {pointer}, align {t.bytes}")
                done += size
            else:
                size //= 2
