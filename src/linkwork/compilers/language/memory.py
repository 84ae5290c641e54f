# SPDX-License-Identifier: BSD-3-Clause
"""Entries of arrays in LLVM IR: their addresses, loads and stores, and guards in checked code."""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Sequence

from linkwork.compilers.language.fingerprint import is_own
from linkwork.compilers.language.guards import CALL, SPARE, TAG, UNWRITTEN
from linkwork.compilers.language.instructions import Instructions
from linkwork.compilers.language.values import (
    CONSTANT,
    INTEGER,
    STATE,
    Array,
    ArrayType,
    Float,
    Int,
    Table,
    Value,
)

MOST_WORDS = 60
"""Characters of an expression that a message shows."""


class Writer(Instructions):
    """Instructions, and arrays in memory."""

    # Memory -----------------------------------------------------------------------------------------------------------

    def of_table(self, node: ast.AST, table: Table, name: str) -> Value:
        """An entry of a table, read from the context once in the function."""
        if name in table.sizes:
            return Int(self.context_word(table.sizes[name], self.unit.integer))
        if name not in table.arrays:
            close = difflib.get_close_matches(name, [*table.sizes, *table.arrays], 1)
            raise self.error(node, f"{table.name} has no {name}" + (f"; did you mean {close[0]}?" if close else ""))
        place, kind = table.arrays[name]
        shared = kind.element != STATE and (self.unit.one_lane or not kind.writable)  # lanes have integers in common
        if shared or not (self.unit.has_scratch or self.unit.one_lane):
            return Array(self.context_word(place, self.unit.pointer), kind, self.extent(node, table.extents[name]))
        key = (place, "own")
        if key not in self._read:
            if self.unit.one_lane:
                own = f"{self.unit.t.scalar}, ptr {self.context_word(place, 'ptr')}, i64 %lane"
            else:
                own = f"i8, {self.unit.pointer} %own, i64 {self.context_word(place, 'i64')}"
            name = self.new("w")
            self._head.append(f"{name} = getelementptr {own}")
            self._read[key] = name
        return Array(self._read[key], kind)

    def context_word(self, place: int, llvm_type: str) -> str:
        """A word of the context, which does not change while the kernel runs."""
        key = (place, llvm_type)
        if key not in self._read:
            address, name = self.new("p"), self.new("w")
            table = self.unit.table
            pointer, _, _ = table.rpartition(" ")
            self._head.append(f"{address} = getelementptr i64, {table}, i64 {place}")
            self._head.append(f"{name} = load {llvm_type}, {pointer} {address}, !invariant.load !0")
            self._read[key] = name
        return self._read[key]

    def address(self, node: ast.AST, array: Array, at: Sequence[Value]) -> str:
        """Where an entry or a row is."""
        kind = array.type
        self._check_count(node, kind, at)
        if kind.slots:
            at = [self.load(node, self.of_table(node, self.unit.layout, kind.slots), [at[0]]), *at[1:]]
        operands = [self.as_int(node, k) for k in at]
        if self.unit.checked:
            return self.checked_place(node, array, operands, self._place_of(node, array, at, operands))
        return self._place_of(node, array, at, operands)

    def part(self, node: ast.AST, array: Array, low: Value, high: Value | None) -> Array:
        """``array[low:high]``: rows of the first axis. In machine code the end matters to checks alone."""
        self._check_count(node, array.type, [low])
        if array.type.slots:
            raise self.error(node, "this array is folded: its rows are not in order, and it has no parts")
        start = self.as_int(node, low)
        end = self.as_int(node, high) if high is not None else array.extent
        place = self._place_of(node, array, [low], [start])
        if not self.unit.checked:
            return Array(place, array.type)
        after, within = self.made(f"icmp sle i64 {start}, {end}"), self.made(f"icmp ule i64 {end}, {array.extent}")
        counted = self.made(f"icmp sge i64 {start}, 0")
        sound = self.made(f"and i1 {counted}, {self.made(f'and i1 {after}, {within}')}")
        what = self.shown(node)
        words = f"the end {{first}} is out of range: axis 0 has size {{second}}, in {what}"
        self.guard(within, node, words, end, array.extent)
        self.guard(sound, node, f"there is no part from {{first}} to {{second}}, in {what}", start, end)
        length = self.made(f"select i1 {sound}, i64 {self.made(f'sub i64 {end}, {start}')}, i64 0")
        return Array(self.made(f"select i1 {sound}, ptr {place}, ptr {self.spare}", "p"), array.type, length)

    def _check_count(self, node: ast.AST, kind: ArrayType, at: Sequence[Value]) -> None:
        """Refuse more indices than there are axes, and constants that count from the end."""
        if len(at) > kind.rank or (kind.rank and not at):
            raise self.error(node, f"{len(at)} indices for {kind}")
        for k in at:
            if isinstance(k, int) and k < 0:
                raise self.error(node, "indices count from the start: sizes of arrays are not known here")

    def _place_of(self, node: ast.AST, array: Array, at: Sequence[Value], operands: Sequence[str]) -> str:
        """The address of an entry or a row, wherever it is."""
        kind = array.type
        cell, base = self.unit.cell(kind), f"{self.unit.pointer} {array.name}"
        if all(operand == "0" for operand in operands):
            return array.name
        if all(isinstance(size, int) for size in kind.trailing):
            block = cell
            for size in reversed(kind.trailing):
                block = f"[{size} x {block}]"
            listed = ", ".join(f"{self.unit.integer} {operand}" for operand in operands)
            return self.made(f"getelementptr inbounds {block}, {base}, {listed}", "p")
        offset: Value = 0
        for axis, k in enumerate(at):
            stride: Value = math.prod(size for size in kind.trailing[axis:] if isinstance(size, int))
            for size in kind.trailing[axis:]:
                if isinstance(size, str):
                    stride = self.integer("mul nsw", stride, self.size(node, size))
            offset = self.integer("add nsw", offset, self.integer("mul nsw", k, stride))
        return self.made(f"getelementptr inbounds {cell}, {base}, {self.unit.integer} {self.as_int(node, offset)}", "p")

    # Checks -----------------------------------------------------------------------------------------------------------

    def guard(self, sound: str, node: ast.AST, words: str, first: str = "0", second: str = "0") -> None:
        """In checked code, a fault unless a condition holds; ``words`` tell of it with ``{first}`` and ``{second}``."""
        assert self.unit.guards is not None
        site = self.unit.guards.site(self.source, node, words)
        self.emit(f"call void @linkwork_check(ptr %c, i1 {sound}, i64 {site}, i64 {first}, i64 {second})")

    def note_call(self, node: ast.AST) -> None:
        """In checked code, that this call is the last in text from outside the package."""
        assert self.unit.guards is not None
        record = self.context_word(self.unit.guards.place, self.unit.pointer)
        place = self.made(f"getelementptr i64, ptr {record}, i64 {CALL}", "p")
        self.emit(f"store i64 {self.unit.guards.site(self.source, node, '')}, ptr {place}{TAG}")

    def check_written(self, node: ast.AST, name: str) -> None:
        """In checked code of text from outside the package, a fault where a number is read before it is written."""
        if not is_own(self.source.function):
            bits = self.made(f"bitcast {self.unit.t.name} {name} to i64")
            words = f"an entry is read that was never written, in {self.shown(node)}"
            self.guard(self.made(f"icmp ne i64 {bits}, {UNWRITTEN}"), node, words)

    def shown(self, node: ast.AST) -> str:
        """An expression as part of a message that is filled in later."""
        text = ast.unparse(node)
        short = text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}..."
        return short.replace("{", "{{").replace("}", "}}")

    def extent(self, node: ast.AST, size: int | str) -> str:
        """In checked code, the size of an axis as an operand."""
        if not self.unit.checked:
            return ""
        return str(size) if isinstance(size, int) else self.parts(self.size(node, size))[0]

    def extent_within(self, place: str, extent: str) -> str:
        """The extent of a row: none where the row itself is out of range."""
        if not self.unit.checked:
            return ""
        outside = self.made(f"icmp eq ptr {place}, {self.spare}")
        return self.made(f"select i1 {outside}, i64 0, i64 {extent}")

    @property
    def spare(self) -> str:
        """The address of memory for entries out of range."""
        assert self.unit.guards is not None
        key = (self.unit.guards.place, "spare")
        if key not in self._read:
            record = self.context_word(self.unit.guards.place, self.unit.pointer)
            self._read[key] = self.new("p")
            self._head.append(f"{self._read[key]} = getelementptr i64, ptr {record}, i64 {SPARE}")
        return self._read[key]

    def checked_place(self, node: ast.AST, array: Array, operands: Sequence[str], place: str) -> str:
        """The address of an entry or a row, or of spare memory where it is out of range."""
        sound = ""
        sizes = [array.extent, *(self.extent(node, size) for size in array.type.trailing)]
        for axis, (operand, size) in enumerate(zip(operands, sizes, strict=False)):
            inside = self.made(f"icmp ult i64 {operand}, {size}")
            words = f"index {{first}} is out of range: axis {axis} has size {{second}}, in {self.shown(node)}"
            self.guard(inside, node, words, operand, size)
            sound = inside if not sound else self.made(f"and i1 {sound}, {inside}")
        return self.made(f"select i1 {sound}, ptr {place}, ptr {self.spare}", "p") if sound else place

    def size(self, node: ast.AST, name: str) -> Value:
        """A size by the name that layouts give it."""
        return self.of_table(node, self.unit.layout, name)

    def load(self, node: ast.AST, array: Array, at: Sequence[Value], alignment: int = 0) -> Value:
        """An entry, or the rows that are left.

        Args:
            node: The expression.
            array: The array.
            at: Indices.
            alignment: Of the entry in bytes, where more is known than that of its type.
        """
        kind = array.type
        place = self.address(node, array, at)
        if len(at) < kind.rank:
            left = kind.trailing[len(at) - 1 :]
            row = ArrayType(kind.element, len(left), left[1:], kind.writable, kind.tag)
            return Array(place, row, self.extent_within(place, self.extent(node, left[0])))
        element, natural = self.unit.element(kind)
        alignment = max(alignment, natural)
        still = self.unit.alias(kind)
        name = self.made(f"load {element}, {self.unit.pointer} {place}, align {alignment}{still}")
        if self.unit.checked and kind.element == STATE and kind.writable and not self.skipped:
            self.check_written(node, name)
        if kind.element == INTEGER:
            return Int(name)
        return Float(self.splat(name) if kind.element == CONSTANT else name)

    def splat(self, name: str) -> str:
        """One number in all lanes."""
        t = self.unit.t
        if t.lanes == 1:
            return name
        one = self.made(f"insertelement {t.name} poison, {t.scalar} {name}, i32 0")
        return self.made(f"shufflevector {t.name} {one}, {t.name} poison, <{t.lanes} x i32> zeroinitializer")

    def store(self, node: ast.AST, array: Array, at: Sequence[Value], value: Value) -> None:
        """Write an entry."""
        kind = array.type
        if not kind.writable:
            raise self.error(node, "this array is read-only: arrays of tree and inputs are not written")
        if len(at) != kind.rank:
            raise self.error(node, f"{len(at)} indices for {kind}: entries are written one by one")
        element, alignment = self.unit.element(kind)
        operand = self.as_int(node, value) if kind.element == INTEGER else self.as_float(node, value)
        place = f"{self.unit.pointer} {self.address(node, array, at)}"
        self.emit(f"store {element} {operand}, {place}, align {alignment}{self.unit.alias(kind)}")
