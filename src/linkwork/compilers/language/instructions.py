# SPDX-License-Identifier: BSD-3-Clause
"""LLVM IR as it is written for kernel text: the instructions of one function of a `module`.

`Writer` has values in registers, variables and arrays in memory, blocks and branches. What they are written for is the
matter of `expressions` and `lowering`.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.compilers.language.fingerprint import is_own
from linkwork.compilers.language.guards import CALL, SPARE, TAG, UNWRITTEN
from linkwork.compilers.language.module import Module
from linkwork.compilers.language.values import (
    CONSTANT,
    INTEGER,
    STATE,
    Array,
    ArrayType,
    Bool,
    Fixed,
    Float,
    Int,
    Record,
    RecordType,
    Source,
    Table,
    Value,
    entries_of,
    type_of,
    word,
)
from linkwork.errors import KernelError

MOST_WORDS = 60
"""Characters of an expression that a message shows."""

LINE = 4
"""Floats of a line (`kernels.panels`): in code for one state a vector."""


@dataclass(eq=False)
class Slot:
    """The memory of a local variable that is assigned more than once."""

    kind: Any
    places: list[str]


@dataclass(frozen=True, eq=False)
class Unset:
    """A name that may have no value, or values of several types, and why."""

    reason: str


class Writer:
    """The instructions of one function, for the text of one kernel."""

    def __init__(self, unit: Module, source: Source, name: str) -> None:
        self.unit, self.source, self.symbol = unit, source, name
        self._head: list[str] = []
        """Instructions at the start of the function: memory of variables, and what is read of the context."""
        self._lines: list[str] = []
        self._count = 0
        self._block = "entry"
        self.size_of_text = source.size
        """Nodes of syntax, with those of all calls so far."""
        self.skippable: tuple[ast.expr, ...] = ()
        """Calls of `any_below` in the test of the branch that is being written."""
        self.skipped = 0
        """How many branches that some states skip there are around what is being written."""
        self._loops = 0
        """How many loops there are around what is being written."""
        self._open = True
        """Whether the block that is being written has not ended."""
        self._names: dict[str, Any] = {}
        self._slots: dict[Any, Slot] = {}
        self._read: dict[Any, str] = {}
        self._vectors: dict[tuple[str, ...], str] = {}
        """Vectors by the names of their entries, where these were taken from one (`line_functions`)."""
        stores = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self._assigned = Counter(n.id for n in stores)

    # Writing instructions ---------------------------------------------------------------------------------------------

    def error(self, node: ast.AST | None, message: str) -> KernelError:
        """What is wrong with the text at a node."""
        return self.source.error(node, message)

    def new(self, prefix: str = "v") -> str:
        """A name for a value or a block."""
        self._count += 1
        return f"%{prefix}{self._count}"

    def emit(self, line: str) -> None:
        """Write an instruction."""
        self._lines.append(line)

    def made(self, expression: str, prefix: str = "v") -> str:
        """Write an instruction; the name of its value."""
        name = self.new(prefix)
        self._lines.append(f"{name} = {expression}")
        return name

    def label(self, name: str) -> None:
        """Begin a block."""
        self._lines.append(f"{name}:")
        self._block, self._open = name, True

    def branch(self, name: str) -> None:
        """End the block."""
        if self._open:
            self.emit(f"br label %{name}")
        self._open = False

    def fork(self, condition: Value, then: str, otherwise: str) -> None:
        """End the block where a truth value decides how to go on."""
        self.emit(f"br i1 {self.truth(condition)}, label %{then}, label %{otherwise}")
        self._open = False

    def fresh_label(self, prefix: str) -> str:
        """A name for a block."""
        return self.new(prefix)[1:]

    # Values -----------------------------------------------------------------------------------------------------------

    def parts(self, value: Value) -> list[str]:
        """A value as LLVM operands."""
        if (entries := entries_of(value)) is not None:
            return [name for part in entries for name in self.parts(part)]
        if isinstance(value, Array) and self.unit.checked:
            return [value.name, value.extent]
        if isinstance(value, Int | Bool | Float | Array):
            return [value.name]
        if isinstance(value, bool):
            return ["true" if value else "false"]
        if isinstance(value, int):
            return [str(value)]
        if isinstance(value, float):
            return [self.unit.t.number(value)]
        return []

    def rebuilt(self, kind: Any, names: Iterator[str]) -> Value:
        """A value of this type from LLVM operands."""
        if isinstance(kind, tuple):
            return tuple(self.rebuilt(part, names) for part in kind)
        if isinstance(kind, RecordType):
            return Record(kind.type, tuple(self.rebuilt(part, names) for part in kind.fields))
        if isinstance(kind, ArrayType):
            return Array(next(names), kind, next(names) if self.unit.checked else "")
        if isinstance(kind, Fixed):
            return kind.value
        return kind(next(names))

    def as_float(self, node: ast.AST, value: Value) -> str:
        """The operand of a float."""
        if isinstance(value, Float | float):
            return self.parts(value)[0]
        if isinstance(value, int) and not isinstance(value, bool):
            raise self.error(node, f"{value} is an integer where a float is needed: write {value}.0")
        if isinstance(value, Int):
            raise self.error(
                node, "an integer where a float is needed: integers and floats do not mix; float(k) makes one"
            )
        raise self.error(node, f"{word(type_of(value))} where a float is needed")

    def as_int(self, node: ast.AST, value: Value) -> str:
        """The operand of an integer."""
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise self.error(node, f"{value} is beyond the integers of machine code, which have 64 bits")
        if isinstance(value, Int) or (isinstance(value, int) and not isinstance(value, bool)):
            return self.parts(value)[0]
        raise self.error(node, f"{word(type_of(value))} where an integer is needed")

    def integer(self, operation: str, a: Value, b: Value) -> Value:
        """An operation on integers; zeros and ones need none."""
        if operation == "add nsw" and (a == 0 or b == 0):
            return b if a == 0 else a
        if operation == "mul nsw" and (a == 1 or b == 1):
            return b if a == 1 else a
        return Int(self.made(f"{operation} i64 {self.parts(a)[0]}, {self.parts(b)[0]}"))

    def truth(self, value: Value) -> str:
        """The operand of a truth value."""
        return self.parts(value)[0]

    # Variables --------------------------------------------------------------------------------------------------------

    def _is_line(self, kind: Any) -> bool:
        """Whether a variable is a line of four floats: a vector in code for one state, also where loops carry it."""
        return self.unit.t.lanes == self.unit.spacing == 1 and kind == (Float,) * LINE

    def _slot_types(self, kind: Any) -> list[str]:
        """LLVM types of the memory of a variable."""
        return [self.line_type] if self._is_line(kind) else self.unit.llvm_types(kind)

    def slot(self, name: Any, kind: Any) -> Slot:
        """The memory of a variable of this type."""
        key = (name, kind)
        if key not in self._slots:
            places = []
            for t in self._slot_types(kind):
                place = self.new("s")
                self._head.append(f"{place} = alloca {t}")
                places.append(place)
            self._slots[key] = Slot(kind, places)
        return self._slots[key]

    def store_slot(self, slot: Slot, value: Value) -> None:
        """Put a value into memory."""
        types, parts = self._slot_types(slot.kind), self.parts(value)
        if self._is_line(slot.kind):
            parts = [self.vector(tuple(parts))]
        for t, part, place in zip(types, parts, slot.places, strict=True):
            self.emit(f"store {t} {part}, ptr {place}")

    def load_slot(self, slot: Slot) -> Value:
        """What the memory of a variable holds."""
        types = self._slot_types(slot.kind)
        names = [self.made(f"load {t}, ptr {place}") for t, place in zip(types, slot.places, strict=True)]
        if self._is_line(slot.kind):
            names = list(self.entries(names[0]))
        return self.rebuilt(slot.kind, iter(names))

    # Lines of four floats ---------------------------------------------------------------------------------------------

    @property
    def line_type(self) -> str:
        """A vector of four floats."""
        return f"<{LINE} x {self.unit.t.scalar}>"

    def vector(self, names: tuple[str, ...]) -> str:
        """Four floats as a vector."""
        known = self._vectors.get(names)
        if known is not None:
            return known
        vector = "poison"
        for k, name in enumerate(names):
            vector = self.made(f"insertelement {self.line_type} {vector}, {self.unit.t.scalar} {name}, i32 {k}")
        return vector

    def entries(self, vector: str) -> tuple[str, ...]:
        """A vector as four floats, which are known to be its entries."""
        names = tuple(self.made(f"extractelement {self.line_type} {vector}, i32 {k}") for k in range(LINE))
        self._vectors[names] = vector
        return names

    def bind(self, node: ast.AST, name: str, value: Value) -> None:
        """Give a variable a value."""
        if value is None:
            raise self.error(node, f"{name} gets nothing: the kernel that is called returns no value")
        if isinstance(value, Table) or self._assigned[name] < 2:
            self._names[name] = value
            return
        kind = type_of(value)
        slot = self.slot(name, kind)
        self.store_slot(slot, value)
        self._names[name] = slot

    def name(self, node: ast.AST, name: str) -> Value:
        """What a name means."""
        if name in self._names:
            found = self._names[name]
            if isinstance(found, Unset):
                raise self.error(node, found.reason)
            return self.load_slot(found) if isinstance(found, Slot) else found
        if name in self._assigned:
            raise self.error(node, f"{name} is used before it has a value")
        if name not in self.source.outer:
            close = difflib.get_close_matches(name, [*self._names, *self.source.outer], 1)
            raise self.error(node, f"there is no {name}" + (f"; did you mean {close[0]}?" if close else ""))
        return self.source.outer[name]

    # Memory -----------------------------------------------------------------------------------------------------------

    def of_table(self, node: ast.AST, table: Table, name: str) -> Value:
        """An entry of a table, read from the context once in the function."""
        if name in table.sizes:
            return Int(self.context_word(table.sizes[name], "i64"))
        if name not in table.arrays:
            close = difflib.get_close_matches(name, [*table.sizes, *table.arrays], 1)
            raise self.error(node, f"{table.name} has no {name}" + (f"; did you mean {close[0]}?" if close else ""))
        place, kind = table.arrays[name]
        if self.unit.spacing == 1 or kind.element != STATE:
            return Array(self.context_word(place, self.unit.pointer), kind, self.extent(node, table.extents[name]))
        key = (place, "own")
        if key not in self._read:
            offset, name = self.context_word(place, "i64"), self.new("w")
            self._head.append(f"{name} = getelementptr i8, {self.unit.pointer} %own, i64 {offset}")
            self._read[key] = name
        return Array(self._read[key], kind)

    def context_word(self, place: int, llvm_type: str) -> str:
        """A word of the context, which does not change while the kernel runs."""
        key = (place, llvm_type)
        if key not in self._read:
            address, name = self.new("p"), self.new("w")
            self._head.append(f"{address} = getelementptr i64, {self.unit.pointer} %c, i64 {place}")
            self._head.append(f"{name} = load {llvm_type}, {self.unit.pointer} {address}, !invariant.load !0")
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
            listed = ", ".join(f"i64 {operand}" for operand in operands)
            return self.made(f"getelementptr inbounds {block}, {base}, {listed}", "p")
        offset: Value = 0
        for axis, k in enumerate(at):
            stride: Value = math.prod(size for size in kind.trailing[axis:] if isinstance(size, int))
            for size in kind.trailing[axis:]:
                if isinstance(size, str):
                    stride = self.integer("mul nsw", stride, self.size(node, size))
            offset = self.integer("add nsw", offset, self.integer("mul nsw", k, stride))
        return self.made(f"getelementptr inbounds {cell}, {base}, i64 {self.as_int(node, offset)}", "p")

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
        """The same of a row: none where the row itself is out of range."""
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

    def load(self, node: ast.AST, array: Array, at: Sequence[Value]) -> Value:
        """An entry, or the rows that are left."""
        kind = array.type
        place = self.address(node, array, at)
        if len(at) < kind.rank:
            left = kind.trailing[len(at) - 1 :]
            row = ArrayType(kind.element, len(left), left[1:], kind.writable, kind.tag)
            return Array(place, row, self.extent_within(place, self.extent(node, left[0])))
        element, alignment = self.unit.element(kind)
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

    def results(self, kind: Any, call: str) -> Value:
        """The value of a call."""
        types = [] if kind is None else self.unit.llvm_types(kind)
        if not types:
            self.emit(call)
            return None if kind is None else self.rebuilt(kind, iter(()))
        whole = self.made(call)
        if len(types) == 1:
            return self.rebuilt(kind, iter([whole]))
        struct = self.unit.result_type(kind)
        names = [self.made(f"extractvalue {struct} {whole}, {k}") for k in range(len(types))]
        return self.rebuilt(kind, iter(names))
