# SPDX-License-Identifier: BSD-3-Clause
"""The second stage of a program whose matrices are packed (`packing`), as LLVM IR: vectors from memory to results.

A common factor is spread over a vector as it is read, which is no instruction of its own on processors that do so with
operands from memory. Every line of columns is a function of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from linkwork.compilers.lanes import FRAME, Type
from linkwork.compilers.trace.packing import ONE, Pack, Packing, Result, Term
from linkwork.model.expressions import Symbol

WINDOW = 256
"""Numbers that one pointer reaches with the shortest instructions."""

TOGETHER = 12
"""Sums that are computed at the same time, in as many registers."""

STAGE = "line"
"""Prefix of names of functions."""


def functions(packing: Packing, t: Type) -> list[str]:
    """The second stage as functions, one for each line of columns, of pointers to the outputs that it writes, and to
    what the first stage stored; and what they call."""
    parameters = ", ".join(f"ptr noalias %a{k}" for k in sorted(packing.arrays))
    parts, called = list[str](), set[str]()
    for line in range(count(packing)):
        code = _Line(packing, Type(t.dtype, packing.width))
        for k in sorted(packing.arrays):
            code.add([result for result in packing.results if (result.line, result.array) == (line, k)])
        called |= code.declarations
        head = f"define internal void @{STAGE}{line}({parameters}, ptr noalias %carry) noinline {FRAME} {{"
        parts.append("\n  ".join([head, *code.lines, "ret void\n}"]))
    return [*parts, *sorted(called)]


def factors_apart(packing: Packing) -> Packing:
    """The packing with common factors in a place of their own, in the order of their use: near each other, they are
    addressed by a byte, which makes instructions a quarter shorter.
    """
    graph, carry = packing.first.graph, list(packing.first.carry)
    order: dict[int, None] = {}
    seen: set[Pack] = set()

    def visit(pack: Pack) -> None:
        if pack not in seen:
            seen.add(pack)
            for term in packing.sums.get(pack, ()):
                visit(term.pack)
            order.update((term.factor, None) for term in packing.sums.get(pack, ()) if term.factor != ONE)

    for result in sorted(packing.results, key=lambda result: (result.line, result.array, result.place)):
        visit(result.pack)
    start = -(-len(carry) // WINDOW) * WINDOW
    zero = graph.symbol(0.0)
    needed = {place + c for pack, (place, _) in packing.places.items() for c, entry in enumerate(pack) if entry}
    carry = [symbol if place in needed else zero for place, symbol in enumerate(carry)]
    carry += [zero] * (start - len(carry)) + [Symbol(graph, factor, False) for factor in order]
    factors = {factor: (start + k, False) for k, factor in enumerate(order)}
    return replace(packing, first=replace(packing.first, carry=tuple(carry)), factors=factors)


def count(packing: Packing) -> int:
    """The number of lines."""
    return 1 + max(result.line for result in packing.results)


class _Line:
    """Instructions of the results of a line of columns; packs that several of them need are computed once."""

    def __init__(self, packing: Packing, t: Type) -> None:
        self.packing, self.t = packing, t
        self.nodes = packing.first.graph.nodes
        self.declarations: set[str] = set()
        self.lines: list[str] = []
        self._values: dict[Pack, tuple[str, bool]] = {}
        self._windows: dict[int, str] = {}
        self._count = 0

    def add(self, results: Sequence[Result]) -> None:
        """Add the instructions of results of one array."""
        for first in range(0, len(results), TOGETHER):
            group = results[first : first + TOGETHER]
            self._compute([result.pack for result in group])
            for result in group:
                value, minus = self._value(result.pack)
                if result.minus != minus:
                    value = self._made(f"fneg {self.t.name} {value}")
                self._store(f"%a{result.array}", result.place, len(result.pack), value)

    def _compute(self, packs: Sequence[Pack]) -> None:
        """Sums that are not known yet, several at a time: a pack that they have in common is read once for all."""
        sums = self.packing.sums
        missing = [pack for pack in dict.fromkeys(packs) if pack in sums and pack not in self._values]
        for first in range(0, len(missing), TOGETHER):
            group = missing[first : first + TOGETHER]
            by_pack: dict[Pack, list[tuple[int, Term]]] = {}
            for k, pack in enumerate(group):
                for term in sums[pack]:
                    by_pack.setdefault(term.pack, []).append((k, term))
            self._compute(list(by_pack))
            self._windows = {}
            lanes: list[tuple[str, bool] | None] = [None] * len(group)
            for terms in by_pack.values():
                for k, term in terms:
                    lanes[k] = self._plus(lanes[k], term)
            self._values |= {pack: value for pack, value in zip(group, lanes, strict=True) if value is not None}

    def _plus(self, before: tuple[str, bool] | None, term: Term) -> tuple[str, bool]:
        """A sum, and whether it is negative, with one more term."""
        value, minus = self._value(term.pack)
        minus = minus != term.minus
        if term.factor != ONE:
            factor, negative = self._spread(term.factor)
            minus = minus != negative
            value = self._made(f"fmul contract {self.t.name} {factor}, {value}")
        if before is None:
            return value, minus
        operation = "fadd" if minus == before[1] else "fsub"
        return self._made(f"{operation} contract {self.t.name} {before[0]}, {value}"), before[1]

    def _made(self, instruction: str) -> str:
        self._count += 1
        self.lines.append(f"%x{self._count} = {instruction}")
        return f"%x{self._count}"

    def _value(self, pack: Pack) -> tuple[str, bool]:
        """The name of a pack's vector, and whether it is negative: computed, read, or constant."""
        value = self._values.get(pack)
        if value is None:
            place = self.packing.places.get(pack)
            value = (self._constant(pack), False) if place is None else (self._read(pack), place[1])
            self._values[pack] = value
        return value

    def _spread(self, factor: int) -> tuple[str, bool]:
        """A scalar in all entries, and whether it is negative."""
        place, minus = self.packing.factors[factor]
        window = place // WINDOW
        middle = window * WINDOW + WINDOW // 2
        if window not in self._windows:  # a pointer whose origin LLVM does not see: it would count from %carry
            start = self._made(f"getelementptr {self.t.scalar}, ptr %carry, i64 {middle}")
            self._windows[window] = self._made(f'call ptr asm "", "=r,0"(ptr {start})')
        pointer = self._made(f"getelementptr {self.t.scalar}, ptr {self._windows[window]}, i64 {place - middle}")
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
            return self._made(f"load {t.name}, ptr {pointer}, align {t.bytes * t.lanes}")
        name = f"@llvm.masked.load.{t.suffix}.p0"
        self.declarations.add(f"declare {t.name} {name}(ptr, i32, <{t.lanes} x i1>, {t.name})")
        mask = self._mask(live)
        return self._made(
            f"call {t.name} {name}(ptr {pointer}, i32 {t.bytes * t.lanes}, {mask}, {t.name} zeroinitializer)"
        )

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
