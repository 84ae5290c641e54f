# SPDX-License-Identifier: BSD-3-Clause
"""A module of LLVM IR for kernel code: the spelling of values, and the kinds of memory."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from linkwork.compilers.lanes import Type
from linkwork.compilers.language.guards import Guards
from linkwork.compilers.language.values import (
    CONSTANT,
    INTEGER,
    STATE,
    ArrayType,
    Bool,
    Fixed,
    Float,
    Int,
    RecordType,
    Source,
    Table,
    array_type,
    is_number,
)


@dataclass(frozen=True)
class Lowered:
    """A function of machine code."""

    name: str
    result: Any
    """The type that it returns; None for nothing."""
    size: int
    """Size of its code, with all functions that it calls."""


@dataclass(frozen=True)
class Foreign:
    """A function that is not kernel code: its name in LLVM IR, whether it takes the context, and its result."""

    name: str
    result: Any


class Module:
    """A module of LLVM IR: its contents so far, and the spelling of values."""

    pointer = "ptr"
    """The type of addresses of arrays and of the context."""
    context = "ptr %c"
    """First arguments of every function."""
    table = "ptr %c"
    """Where the words of the context are."""
    spacing = 1
    """Number of numbers apart numbers of a state are."""
    integer = "i64"
    """The type of integers."""
    has_scratch = False
    """Whether work arrays are offsets from ``%own``: on a GPU each robot has some of its own."""
    is_warp = False
    """Whether lanes of a warp run it together, for one robot: `scalar.prange` deals iterations to them."""
    group = 1
    """Number of lanes these are."""
    loop_notes = short_loop_notes = few_loop_notes = ""
    """Metadata of branches back to the heads of loops, and of loops in one lane of a warp that call nothing."""
    is_emulated = False
    """Whether the lanes of a warp are one after the other, on a CPU."""
    one_lane = False
    """Whether this is code for the state in one lane, ``%lane``, of arrays that have all lanes."""
    prefix = ""
    """Of the names of functions."""

    def __init__(
        self,
        t: Type,
        layout: Table,
        words: int,
        contract: bool = True,
        foreign: Mapping[Callable[..., Any], Foreign] = MappingProxyType({}),
        guards: Guards | None = None,
    ) -> None:
        self.t = t
        self.foreign = foreign
        self.guards = guards
        """Run-time checks of kernels from outside the package."""
        self.layout = layout
        """Sizes and arrays that every context has, and their words."""
        self.words = words
        """Number of words that a context has at least."""
        self.flags = "contract " if contract else ""
        """Whether multiplications and additions may be fused."""
        self._text: list[str] = []
        self._constants: dict[Any, tuple[str, ArrayType]] = {}
        self._tags: dict[str, int] = {}
        self._functions: dict[Any, Lowered | None] = {}
        """Those that are written; None while one is being written."""
        self._sincos = ""
        self._tables: dict[Any, Table] = {}
        self._lane: Module | None = None

    @property
    def has_lines(self) -> bool:
        """Whether lines of four floats are vectors (`line_functions`): in code for one state on a CPU."""
        return self.t.lanes == self.spacing == 1 and not self.is_warp

    def function(
        self,
        function: Callable[..., Any],
        kinds: Sequence[Any],
        caller: Source,
        node: ast.AST,
        in_one_lane: bool = False,
    ) -> Lowered:
        """The machine code of a kernel for arguments of these types; of a warp, or for one lane of it."""
        raise NotImplementedError

    def inlining(self, source: Source, size: int) -> str:
        """The attribute of LLVM that says whether a function is inlined."""
        raise NotImplementedError

    def table_with(self, tree: Table, work: Table, fields: tuple[tuple[str, str], ...]) -> Table:
        """A table with work arrays, read-only, in place of some of its own: the same one for the same arguments."""
        key = (tree, work, fields)
        if key not in self._tables:
            arrays = {field: work.arrays[name] for field, name in fields}
            moved = {field: (place, replace(kind, writable=False)) for field, (place, kind) in arrays.items()}
            extents = {**tree.extents, **{field: work.extents[name] for field, name in fields}}
            self._tables[key] = Table(tree.name, tree.sizes, {**tree.arrays, **moved}, extents)
        return self._tables[key]

    def sincos(self, caller: Source, node: ast.AST) -> str:
        """The name of the function for sine and cosine."""
        raise NotImplementedError

    def lane_unit(self) -> Module:
        """Where functions are for the state in one lane; part of the same code."""
        raise NotImplementedError

    def text(self) -> str:
        """The text of the module, with declarations of LLVM's functions."""
        one = list[str]()
        for t in (self.t,) if self._lane is None else (self.t, self._lane.t):
            one += [f"declare {t.name} @llvm.{f}.{t.suffix}({t.name})" for f in ("sqrt", "rint", "fabs")]
            one.append(f"declare {t.name} @llvm.fma.{t.suffix}({t.name}, {t.name}, {t.name})")
        tags = ['!2 = !{!"linkwork"}']
        for name, number in self._tags.items():
            tags += [
                f'!{number + 1} = !{{!"{name}", !2, i64 0}}',
                f"!{number} = !{{!{number + 1}, !{number + 1}, i64 0}}",
            ]
        guards = [] if self.guards is None else [self.guards.functions()]
        return "\n".join([*one, *guards, *self._text, "attributes #0 = { nounwind }", "!0 = !{}", *tags])

    @property
    def checked(self) -> bool:
        """Whether indices and integers are checked."""
        return self.guards is not None and self.guards.checked

    def llvm_types(self, kind: Any) -> list[str]:
        """The LLVM types of a value of this type; constants are not passed."""
        if isinstance(kind, RecordType):
            kind = kind.fields
        if isinstance(kind, tuple):
            return [name for part in kind for name in self.llvm_types(part)]
        if isinstance(kind, ArrayType):
            return [self.pointer, "i64"] if self.checked else [self.pointer]
        if isinstance(kind, Fixed):
            return []
        return [{Int: self.integer, Bool: "i1", Float: self.t.name}[kind]]

    def result_type(self, kind: Any) -> str:
        """The LLVM type of a function's result."""
        names = [] if kind is None else self.llvm_types(kind)
        return "void" if not names else names[0] if len(names) == 1 else "{ " + ", ".join(names) + " }"

    def element(self, kind: ArrayType) -> tuple[str, int]:
        """The LLVM type of one entry of an array in memory, and its alignment."""
        if kind.element == INTEGER:
            return self.integer, int(self.integer[1:]) // 8
        return (self.t.name, self.t.bytes * self.t.lanes) if kind.element == STATE else (self.t.scalar, self.t.bytes)

    def cell(self, kind: ArrayType) -> str:
        """The LLVM type of one entry of an array with the entries of others between it and the next."""
        element, _ = self.element(kind)
        return element if self.spacing == 1 or kind.element != STATE else f"[{self.spacing} x {element}]"

    def alias(self, kind: ArrayType) -> str:
        """LLVM's alias attributes of an array: constant memory, or memory that overlaps no other."""
        if kind.element != STATE and not kind.writable:
            return ", !invariant.load !0"
        if not kind.tag:
            return ""
        number = self._tags.setdefault(kind.tag, 10 + 2 * len(self._tags))
        return f", !tbaa !{number}"

    def constant_array(self, value: tuple[Any, ...]) -> tuple[str, ArrayType] | None:
        """A tuple of constant numbers, or of such tuples of one length, as an array; None if it is none."""
        key = Fixed(value)
        if key not in self._constants:
            shape, numbers = [len(value)], list(value)
            while numbers and all(isinstance(x, tuple) for x in numbers) and len({len(x) for x in numbers}) == 1:
                shape.append(len(numbers[0]))
                numbers = [y for x in numbers for y in x]
            if not numbers or not all(is_number(x) and not isinstance(x, bool) for x in numbers):
                return None
            integers = all(isinstance(x, int) for x in numbers)
            if not integers and not all(isinstance(x, float) for x in numbers):
                return None
            name = f"@constant.{len(self._constants)}"
            scalar_type, one = (self.integer, str) if integers else (self.t.scalar, Type(self.t.dtype, 1).number)
            listed = ", ".join(f"{scalar_type} {one(x)}" for x in numbers)
            space = self.pointer.removeprefix("ptr")
            kept = f"private unnamed_addr{space} constant"
            self._text.append(f"{name} = {kept} [{len(numbers)} x {scalar_type}] [{listed}]")
            kind = array_type(INTEGER if integers else CONSTANT, tuple(shape), writable=False)
            self._constants[key] = (name, kind)
        return self._constants[key]
