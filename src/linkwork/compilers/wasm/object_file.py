# SPDX-License-Identifier: BSD-3-Clause
"""Object files of WebAssembly as LLVM writes them, and a linker for one of them.

An object is a module whose calls and addresses are placeholders of five bytes; custom sections say which symbol belongs
to each (WebAssembly tool conventions, Linking). Linking one object is: functions and data get their places, and every
placeholder the number of its symbol, in as few bytes as it takes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from linkwork.compilers.wasm import binary
from linkwork.errors import LinkworkError

FUNCTION, DATA, GLOBAL = 0, 1, 2
"""Kinds of symbols."""
UNDEFINED, EXPLICIT_NAME = 0x10, 0x40
"""Flags of symbols."""
PLACEHOLDER = 5
"""Bytes of a 32-bit integer before it is known."""
FUNCTION_INDEX, ADDRESS, SIGNED_ADDRESS, ADDRESS_IN_DATA, GLOBAL_INDEX = 0, 3, 4, 5, 7
"""Kinds of relocations."""


@dataclass(frozen=True)
class Symbol:
    """A function, a global variable, or a place in a segment of data."""

    kind: int
    name: str
    defined: bool
    index: int = 0
    """Of the function, variable or segment."""
    offset: int = 0
    """In the segment."""


@dataclass(frozen=True)
class Relocation:
    """A placeholder in a section."""

    kind: int
    offset: int
    symbol: int
    addend: int = 0


@dataclass(frozen=True)
class Section:
    """The content of a section, and its placeholders."""

    content: bytes = b""
    relocations: tuple[Relocation, ...] = ()


@dataclass(frozen=True)
class ObjectFile:
    """An object: the sections that a linker needs."""

    types: tuple[bytes, ...]
    imported: tuple[str, ...]
    """Functions that it calls and does not have, which come first."""
    functions: tuple[int, ...]
    """Types of its own functions."""
    code: Section
    data: Section
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True)
class Linked:
    """Functions and data with their places."""

    functions: tuple[binary.Body, ...]
    data: Mapping[int, bytes]
    """Segments by their addresses."""
    exports: Mapping[str, int]
    """Functions by name."""


class _Reader:
    """Reads a part of an object."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    @property
    def more(self) -> bool:
        return self.at < len(self.content)

    def take(self, count: int) -> bytes:
        self.at += count
        return self.content[self.at - count : self.at]

    def unsigned(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        begin = self.at
        value, bits = self.unsigned(), 7 * (self.at - begin)
        return value - (1 << bits) if value >> (bits - 1) else value

    def name(self) -> str:
        return self.take(self.unsigned()).decode()


def read_object(content: bytes) -> ObjectFile:
    """An object file.

    Args:
        content: Its bytes.
    """
    if content[:8] != b"\0asm\1\0\0\0":
        raise LinkworkError("this is not an object file of WebAssembly")
    reader, sections, numbers = _Reader(content), dict[int, bytes](), list[int]()
    relocations: dict[int, tuple[Relocation, ...]] = {}
    symbols: tuple[Symbol, ...] = ()
    reader.at = 8
    while reader.more:
        number = reader.take(1)[0]
        part = _Reader(reader.take(reader.unsigned()))
        if number == 0:
            title = part.name()
            if title == "linking":
                symbols = _symbols(part)
            elif title.startswith("reloc."):
                target = part.unsigned()
                relocations[numbers[target]] = _relocations(part)
        else:
            sections[number] = part.content
        numbers.append(number)
    types = _Reader(sections.get(1, b"\0"))
    functions = _Reader(sections.get(3, b"\0"))
    return ObjectFile(
        tuple(_type(types) for _ in range(types.unsigned())),
        _imported_functions(_Reader(sections.get(2, b"\0"))),
        tuple(functions.unsigned() for _ in range(functions.unsigned())),
        Section(sections.get(10, b"\0"), relocations.get(10, ())),
        Section(sections.get(11, b"\0"), relocations.get(11, ())),
        symbols,
    )


def _type(reader: _Reader) -> bytes:
    begin = reader.at
    reader.take(1)
    for _ in range(2):
        reader.take(reader.unsigned())
    return reader.content[begin : reader.at]


def _imported_functions(reader: _Reader) -> tuple[str, ...]:
    names = list[str]()
    for _ in range(reader.unsigned()):
        reader.name()
        name, kind = reader.name(), reader.take(1)[0]
        if kind == 0:
            reader.unsigned()
            names.append(name)
        elif kind == 3:  # a global variable: type and mutability
            reader.take(2)
        else:  # memory, or a table with its type: with limits
            reader.take(kind == 1)
            for _ in range(1 + (reader.unsigned() & 1)):
                reader.unsigned()
    return tuple(names)


def _symbols(reader: _Reader) -> tuple[Symbol, ...]:
    """The symbol table of the section ``linking``."""
    reader.unsigned()  # its version
    symbols = list[Symbol]()
    while reader.more:
        part, content = reader.take(1)[0], _Reader(reader.take(reader.unsigned()))
        for _ in range(content.unsigned() if part == 8 else 0):
            kind, flags = content.take(1)[0], content.unsigned()
            defined = not flags & UNDEFINED
            if kind == DATA:
                name = content.name()
                index, offset, _ = (content.unsigned() for _ in range(3)) if defined else (0, 0, 0)
                symbols.append(Symbol(kind, name, defined, index, offset))
            elif kind in (FUNCTION, GLOBAL):
                index = content.unsigned()
                name = content.name() if defined or flags & EXPLICIT_NAME else ""
                symbols.append(Symbol(kind, name, defined, index))
            else:
                raise LinkworkError(f"the linker does not know symbols of kind {kind}")
    return tuple(symbols)


def _relocations(reader: _Reader) -> tuple[Relocation, ...]:
    relocations = list[Relocation]()
    for _ in range(reader.unsigned()):
        kind, offset, symbol = reader.take(1)[0], reader.unsigned(), reader.unsigned()
        addressed = kind in (ADDRESS, SIGNED_ADDRESS, ADDRESS_IN_DATA)
        if not addressed and kind not in (FUNCTION_INDEX, GLOBAL_INDEX):
            raise LinkworkError(f"the linker does not know relocations of kind {kind}")
        relocations.append(Relocation(kind, offset, symbol, reader.signed() if addressed else 0))
    return tuple(relocations)


# Linking -----------------------------------------------------------------------------------------------------------


def link(file: ObjectFile, first: int, address: int, outside: Mapping[str, int]) -> Linked:
    """Functions and data of an object, for a module whose only global variable is the stack pointer.

    Args:
        file: The object.
        first: Number of its first own function in the module.
        address: Where its data begin in memory, a multiple of 16.
        outside: Numbers of the functions that it calls and does not have.
    """
    missing = [name for name in file.imported if name not in outside]
    if missing:
        raise LinkworkError(f"the object calls {', '.join(missing)}, which the module does not have")
    segments = _segments(file.data.content)
    starts = list[int]()
    for _, content in segments:
        starts.append(address)
        address += -(-len(content) // 16) * 16
    imported = len(file.imported)

    def value(relocation: Relocation) -> int:
        symbol = file.symbols[relocation.symbol]
        if symbol.kind == GLOBAL:
            return 0
        if symbol.kind == DATA:
            return starts[symbol.index] + symbol.offset + relocation.addend
        own = symbol.index >= imported
        return first + symbol.index - imported if own else outside[file.imported[symbol.index]]

    data = dict[int, bytes]()
    for start, (begin, content) in zip(starts, segments, strict=True):
        filled = bytearray(content)
        for relocation in _within(file.data, begin, len(content)):
            at = relocation.offset - begin
            filled[at : at + 4] = struct.pack("<I", value(relocation))
        data[start] = bytes(filled)
    reader, functions = _Reader(file.code.content), list[binary.Body]()
    for kind in file.functions if reader.unsigned() else ():
        length = reader.unsigned()
        begin = reader.at
        functions.append(binary.Body(file.types[kind], _filled(file.code, begin, reader.take(length), value)))
    exports = {s.name: value(Relocation(0, 0, k)) for k, s in enumerate(file.symbols) if s.kind == FUNCTION and s.name}
    return Linked(tuple(functions), data, exports)


def _segments(content: bytes) -> list[tuple[int, bytes]]:
    """Segments of the data section, and where they begin in it."""
    reader, segments = _Reader(content), list[tuple[int, bytes]]()
    for _ in range(reader.unsigned()):
        reader.unsigned()  # active, in the one memory
        reader.take(1)
        reader.signed()  # its place before linking
        reader.take(1)
        length = reader.unsigned()
        segments.append((reader.at, reader.take(length)))
    return segments


def _within(section: Section, begin: int, length: int) -> Sequence[Relocation]:
    return [r for r in section.relocations if begin <= r.offset < begin + length]


def _filled(section: Section, begin: int, body: bytes, value: Callable[[Relocation], int]) -> bytes:
    """A body with the numbers of its placeholders: nothing in WebAssembly counts the bytes within one."""
    parts, at = list[bytes](), 0
    for relocation in _within(section, begin, len(body)):
        place = relocation.offset - begin
        encoded = binary.signed if relocation.kind == SIGNED_ADDRESS else binary.unsigned
        parts += [body[at:place], encoded(value(relocation))]
        at = place + PLACEHOLDER
    return b"".join([*parts, body[at:]])
