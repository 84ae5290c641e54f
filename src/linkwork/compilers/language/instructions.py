# SPDX-License-Identifier: BSD-3-Clause
"""LLVM IR of one function of a `module`: instructions, blocks and branches, values in registers, variables.

`memory.Writer` adds entries of arrays. What they are written for is the matter of `expressions` and `lowering`.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from linkwork.compilers.language.module import Module
from linkwork.compilers.language.values import (
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


class Instructions:
    """The instructions of one function, for the code of one kernel."""

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
        """Number of branches that that some states skip there are around what is being written."""
        self.in_one_lane = False
        """Whether what is being written is for one lane of a warp alone, as the body of a `scalar.prange` is."""
        self._loops = 0
        """Number of loops there are around what is being written."""
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
        """The error of the code at a node."""
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

    def branch(self, name: str, notes: str = "") -> None:
        """End the block; ``notes`` are metadata of the branch."""
        if self._open:
            self.emit(f"br label %{name}{notes}")
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
        return Int(self.made(f"{operation} {self.unit.integer} {self.parts(a)[0]}, {self.parts(b)[0]}"))

    def truth(self, value: Value) -> str:
        """The operand of a truth value."""
        return self.parts(value)[0]

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

    # Variables --------------------------------------------------------------------------------------------------------

    def _is_line(self, kind: Any) -> bool:
        """Whether a variable is a line of four floats: a vector in code for one state, also where loops carry it."""
        return self.unit.has_lines and kind == (Float,) * LINE

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
        """The value in the memory of a variable."""
        types = self._slot_types(slot.kind)
        names = [self.made(f"load {t}, ptr {place}") for t, place in zip(types, slot.places, strict=True)]
        if self._is_line(slot.kind):
            names = list(self.entries(names[0]))
        return self.rebuilt(slot.kind, iter(names))

    # Lines of four floats ---------------------------------------------------------------------------------------------

    @property
    def line_type(self) -> str:
        """A vector of four floats."""
        return self.vector_type(LINE)

    def vector_type(self, n: int) -> str:
        """A vector of so many floats."""
        return f"<{n} x {self.unit.t.scalar}>"

    def vector(self, names: tuple[str, ...]) -> str:
        """Floats as a vector."""
        known = self._vectors.get(names)
        if known is not None:
            return known
        vector, t = "poison", self.vector_type(len(names))
        for k, name in enumerate(names):
            vector = self.made(f"insertelement {t} {vector}, {self.unit.t.scalar} {name}, i32 {k}")
        return vector

    def entries(self, vector: str, n: int = LINE) -> tuple[str, ...]:
        """A vector as floats, which are known to be its entries."""
        names = tuple(self.made(f"extractelement {self.vector_type(n)} {vector}, i32 {k}") for k in range(n))
        self._vectors[names] = vector
        return names

    def bind(self, node: ast.AST, name: str, value: Value) -> None:
        """Give a variable a value."""
        if value is None:
            raise self.error(node, f"{name} has no value: the kernel that is called returns none")
        if isinstance(value, Table) or self._assigned[name] < 2:
            self._names[name] = value
            return
        kind = type_of(value)
        slot = self.slot(name, kind)
        self.store_slot(slot, value)
        self._names[name] = slot

    def name(self, node: ast.AST, name: str) -> Value:
        """The value of a name."""
        if name in self._names:
            number = self._names[name]
            if isinstance(number, Unset):
                raise self.error(node, number.reason)
            return self.load_slot(number) if isinstance(number, Slot) else number
        if name in self._assigned:
            raise self.error(node, f"{name} is used before it has a value")
        if name not in self.source.outer:
            close = difflib.get_close_matches(name, [*self._names, *self.source.outer], 1)
            raise self.error(node, f"there is no {name}" + (f"; did you mean {close[0]}?" if close else ""))
        return self.source.outer[name]
