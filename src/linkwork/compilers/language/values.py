# SPDX-License-Identifier: BSD-3-Clause
"""The language of kernels: its values, its source text, and its errors.

Kernel code is Python that handles six kinds of values:

| value    | meaning                                                                   | in machine code          |
|----------|---------------------------------------------------------------------------|--------------------------|
| `Int`    | an integer: loop counters, sizes, entries of integer arrays               | ``i64``                  |
| `Bool`   | the outcome of comparing integers                                         | ``i1``                   |
| `Float`  | a number of the state                                                     | a scalar, or one a lane  |
| `Array`  | memory with known trailing sizes                                          | an address               |
| tuple    | several of these                                                          | several of these         |
| `Record` | several of these with names: an instance of a `NamedTuple`                | several of these         |

`Table` (the arguments ``tree`` and ``w``) is a set of arrays and sizes with names. Everything else, such as functions,
numbers and tuples of modules and closures, is a constant of the compiler and folds. See docs/internals/kernels.md.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, TypeGuard

from linkwork.errors import KernelError
from linkwork.plans.layout import Layout, Shape

INTEGER, CONSTANT, STATE = "integers", "constants", "state"
"""Kinds of arrays: integers; floats that all lanes share; floats of one state, or of one state a lane."""


@dataclass(frozen=True)
class Int:
    """An integer that machine code computes."""

    name: str


@dataclass(frozen=True)
class Bool:
    """A truth value that machine code computes."""

    name: str


@dataclass(frozen=True)
class Float:
    """A floating-point number that machine code computes, of every lane."""

    name: str


@dataclass(frozen=True)
class ArrayType:
    """The type of an array: its numbers, the count of its axes, and the sizes of all but the first: numbers, or names
    of sizes.
    """

    element: str
    rank: int
    trailing: Shape
    writable: bool = True
    tag: str = ""
    """Memory that it is part of: arrays of different tags do not overlap."""
    slots: str = ""
    """The array of the layout that says where each row of the first axis is; empty where rows are in order."""

    def __str__(self) -> str:
        named = f" ({self.tag})" if self.tag else ""
        return f"an array of {self.element} with {self.rank} {'axis' if self.rank == 1 else 'axes'}{named}"


@dataclass(frozen=True)
class Array:
    """An array at an address."""

    name: str
    type: ArrayType
    extent: str = ""
    """In checked code, how many entries its first axis has."""


@dataclass(frozen=True)
class Record:
    """An instance of a named tuple that the code makes: fields are known by name, and cost what a tuple's do."""

    type: type
    fields: tuple[Any, ...]

    def get(self, name: str) -> Any:
        """The value of a field."""
        return self.fields[field_names(self.type).index(name)]


@dataclass(frozen=True)
class RecordType:
    """The type of a `Record`: its class and the types of its fields."""

    type: type
    fields: tuple[Any, ...]


def is_record_class(value: Any) -> TypeGuard[type]:
    """Whether a value is a class of named tuples."""
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def field_names(record: type) -> tuple[str, ...]:
    """The names of the fields of a class of named tuples."""
    names: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
    return names


def field_defaults(record: type) -> Mapping[str, Any]:
    """The defaults of fields of a class of named tuples."""
    defaults: Mapping[str, Any] = record._field_defaults  # type: ignore[attr-defined]
    return defaults


def entries_of(value: Any) -> tuple[Any, ...] | None:
    """The entries of a tuple or the fields of a record; None of anything else."""
    if isinstance(value, Record):
        return value.fields
    return value if type(value) is tuple else None


@dataclass(frozen=True)
class Table:
    """Arrays and sizes by name; ``places`` are their words in the context that machine code is given."""

    name: str
    sizes: Mapping[str, int]
    arrays: Mapping[str, tuple[int, ArrayType]]
    extents: Mapping[str, int | str]
    """Sizes of the first axes of the arrays: numbers, or names of sizes."""

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


Value = Any
"""`Int`, `Bool`, `Float`, `Array`, `Table`, `Record`, a tuple of values, or any Python object as a constant."""


def array_type(element: str, shape: Shape, writable: bool = True, tag: str = "") -> ArrayType:
    """The type of an array of this shape."""
    return ArrayType(element, len(shape), tuple(shape[1:]), writable, tag)


def tables(
    layout: Layout,
    work: Mapping[str, Shape],
    folded: Mapping[str, str] = MappingProxyType({}),
    shared: Collection[str] = (),
    integers: Mapping[str, Shape] = MappingProxyType({}),
) -> tuple[Table, Table]:
    """``tree`` and ``w`` of an algorithm: its sizes, arrays and work arrays, a word of the context each."""
    sizes = {name: k for k, name in enumerate(layout.sizes)}
    arrays: dict[str, tuple[int, ArrayType]] = {}
    for name, shape in layout.shapes.items():
        element = INTEGER if name in layout.integers else CONSTANT
        arrays[name] = (len(sizes) + len(arrays), array_type(element, shape, writable=False))
    first = len(sizes) + len(arrays)
    worked = {
        name: (first + k, array_type(STATE, shape, tag=f"w.{name}")) for k, (name, shape) in enumerate(work.items())
    }
    for name in shared:
        place, kind = worked[name]
        worked[name] = (place, replace(kind, element=CONSTANT, writable=False))
    for name, order in folded.items():
        place, kind = worked[name]
        worked[name] = (place, replace(kind, slots=f"{order}_slot"))
    for name, shape in integers.items():
        worked[name] = (first + len(worked), array_type(INTEGER, shape, tag=f"w.{name}"))
    worked_shapes = {**work, **integers}
    first_axes = [
        {name: shape[0] if shape else 1 for name, shape in of.items()} for of in (layout.shapes, worked_shapes)
    ]
    return Table("tree", sizes, arrays, first_axes[0]), Table("w", {}, worked, first_axes[1])


def is_number(value: Value) -> bool:
    """Whether a value is a constant number."""
    return isinstance(value, int | float)


def type_of(value: Value) -> Any:
    """The type of a value for which a kernel is compiled: equal types share one function of machine code."""
    if isinstance(value, Array):
        return value.type
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(type_of(part) for part in value)
    if isinstance(value, Record):
        return RecordType(value.type, tuple(type_of(part) for part in value.fields))
    if isinstance(value, Bool | bool):
        return Bool
    if isinstance(value, Int | int):
        return Int
    if isinstance(value, Float | float):
        return Float
    return Fixed(value)


class Fixed:
    """The type of a constant: itself."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self._key = _exact(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _exact(value: Value) -> Any:
    """A key of a constant that differs for 1, 1.0, 0.0 and -0.0, which are equal to Python and not to machine code."""
    if isinstance(value, tuple):
        return (type(value), *(_exact(part) for part in value))
    if isinstance(value, float):
        return (type(value), value.hex())
    try:
        hash(value)
    except TypeError:
        return id(value)
    return (type(value), value)


def word(kind: Any) -> str:
    """A type in words, for messages."""
    if isinstance(kind, tuple):
        return f"a tuple of {len(kind)}"
    if isinstance(kind, RecordType):
        return f"a {kind.type.__name__}"
    if isinstance(kind, ArrayType):
        return str(kind)
    if isinstance(kind, Fixed):
        return kind.value.name if isinstance(kind.value, Table) else f"the constant {kind.value!r}"
    return {Int: "an integer", Bool: "a truth value", Float: "a float"}.get(kind, str(kind))


# Text ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Source:
    """A kernel's syntax tree, its place in a file, and the values of names outside it."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    file: str
    lines: Sequence[str]
    first: int
    """The number of the first line."""
    outer: Mapping[str, Any]
    """Present values of names outside the code, as `fingerprint` reads them."""

    def error(self, node: ast.AST | None, message: str) -> KernelError:
        """An error that shows the line of a node."""
        at = getattr(node, "lineno", 1)
        text = self.lines[at - 1].strip() if 0 < at <= len(self.lines) else ""
        return KernelError(message, kernel=self.tree.name, file=self.file, line=self.first + at - 1, text=text)

    @cached_property
    def parameters(self) -> list[str]:
        """The names of the arguments."""
        arguments = self.tree.args
        if arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
            raise self.error(self.tree, "a kernel takes plain arguments and *args only: no **kwargs, keyword-only ones")
        return [argument.arg for argument in arguments.args]

    @cached_property
    def gathered(self) -> str | None:
        """The name of ``*args``, a tuple of all positional arguments beyond the others; None without it."""
        return None if self.tree.args.vararg is None else self.tree.args.vararg.arg

    @cached_property
    def names(self) -> list[str]:
        """The names of the arguments, with that of ``*args`` at the end."""
        return self.parameters if self.gathered is None else [*self.parameters, self.gathered]

    @property
    def takes(self) -> str:
        """The arguments as a message lists them."""
        return ", ".join(self.parameters + ([f"*{self.gathered}"] if self.gathered else [])) or "nothing"

    def gather(self, arguments: Sequence[Any]) -> list[Any]:
        """Positional arguments, or their types, with those of ``*args`` as one tuple at the end."""
        count = len(self.parameters)
        if self.gathered is None or len(arguments) < count:
            return list(arguments)
        return [*arguments[:count], tuple(arguments[count:])]

    @cached_property
    def size(self) -> int:
        """The size of the code: nodes of the syntax tree."""
        return sum(1 for _ in ast.walk(self.tree))

    @cached_property
    def loops(self) -> bool:
        """Whether there are loops in it."""
        return any(isinstance(node, ast.For | ast.While) for node in ast.walk(self.tree))


@cache
def source_of(function: Callable[..., Any]) -> Source:
    """The code of a kernel."""
    name = getattr(function, "__qualname__", repr(function))
    code = getattr(function, "__code__", None)
    if code is None:
        raise KernelError(f"{name} is not a Python function: it has no kernel code", kernel=name)
    try:
        lines, first = inspect.getsourcelines(function)
        parsed = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, SyntaxError, IndexError) as error:
        raise KernelError(
            f"the code of {name} cannot be read ({error}): a kernel is a function defined with def, in a file",
            kernel=name,
            file=code.co_filename,
        ) from None
    if not isinstance(parsed, ast.FunctionDef):
        raise KernelError(f"{name} is not a function defined with def", kernel=name, file=code.co_filename, line=first)
    outer = ChainMap[str, Any](_Cells(function), function.__globals__, vars(builtins))  # type: ignore[arg-type]
    return Source(function, parsed, code.co_filename, lines, first, outer)


class _Cells(Mapping[str, Any]):
    """Variables of the functions around a kernel, with the values that they have when it is compiled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def __getitem__(self, name: str) -> Any:
        try:
            return self._cells[name].cell_contents
        except ValueError:  # not assigned yet: using it is an error of its own
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)
