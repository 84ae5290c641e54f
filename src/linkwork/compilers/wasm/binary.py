# SPDX-License-Identifier: BSD-3-Clause
"""WebAssembly's binary format: integers, instructions, and a module of its sections (WebAssembly Core, chapter 5)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PAGE = 65536
"""Bytes of a page of memory."""
DOUBLE = 8
"""Bytes of a number."""

F64, I32 = b"\x7c", b"\x7f"
"""Types of values."""

LOOP, BLOCK, END, BRANCH_IF, CALL, DROP, SELECT = b"\x03\x40", b"\x02\x40", b"\x0b", b"\x0d", b"\x10", b"\x1a", b"\x1b"
IF, ELSE, BRANCH = b"\x04\x40", b"\x05", b"\x0c"
GET, SET, TEE = b"\x20", b"\x21", b"\x22"
EQUAL, LESS, GREATER, LESS_EQUAL = b"\x61", b"\x63", b"\x64", b"\x65"
NEGATE, NEAREST, ROOT = b"\x9a", b"\x9e", b"\x9f"
PLUS, MINUS, TIMES, DIVIDE = b"\xa0", b"\xa1", b"\xa2", b"\xa3"
NOT, OR, AND = b"\x45", b"\x72", b"\x71"
"""Of conditions: i32.eqz, i32.or, i32.and."""

ONE = b"\x42\x01"
"""A 64-bit integer."""
_ZERO = b"\x41\x00"


def unsigned(n: int) -> bytes:
    """An integer in LEB128."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def signed(n: int) -> bytes:
    """A signed integer in LEB128."""
    out = bytearray()
    while not -64 <= n < 64:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n & 127])


def vector(items: Sequence[bytes]) -> bytes:
    """Items after their number."""
    return unsigned(len(items)) + b"".join(items)


def name(text: str) -> bytes:
    """A name, in UTF-8."""
    content = text.encode()
    return unsigned(len(content)) + content


# Instructions ------------------------------------------------------------------------------------------------------


def constant(x: float) -> bytes:
    """``f64.const``."""
    return b"\x44" + struct.pack("<d", x)


def address(x: int) -> bytes:
    """``i32.const``."""
    return b"\x41" + signed(x)


def load(place: int) -> bytes:
    """The number at a place of the memory."""
    return _ZERO + b"\x2b\x03" + unsigned(DOUBLE * place)


def store(place: int, value: bytes) -> bytes:
    """Store the result of ``value`` at a place of the memory."""
    return _ZERO + value + b"\x39\x03" + unsigned(DOUBLE * place)


def fill_zeros(place: int, count: int) -> bytes:
    """``memory.fill``: zeros from a place on."""
    return address(DOUBLE * place) + _ZERO + address(DOUBLE * count) + b"\xfc\x0b\x00"


def call(function: int) -> bytes:
    """Call a function of the module."""
    return CALL + unsigned(function)


def get(local: int) -> bytes:
    """The value of a local variable."""
    return GET + unsigned(local)


def branch_if(depth: int) -> bytes:
    """Leave so many blocks, or repeat a loop, where the condition on the stack holds."""
    return BRANCH_IF + unsigned(depth)


# Modules -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Function:
    """A function: numbers in, numbers out, doubles all."""

    code: bytes
    """Instructions without the end."""
    locals: int = 0
    """Local doubles beside the parameters."""
    parameters: int = 0
    results: int = 0

    @property
    def type(self) -> bytes:
        """The type, as the type section has it."""
        return b"\x60" + vector([F64] * self.parameters) + vector([F64] * self.results)

    @property
    def body(self) -> bytes:
        """The entry of the code section."""
        declared = vector([unsigned(self.locals) + F64] if self.locals else [])
        content = declared + self.code + END
        return unsigned(len(content)) + content


@dataclass(frozen=True)
class Body:
    """A function of another compiler."""

    type: bytes
    """As the type section has it."""
    content: bytes
    """Local variables and instructions, as the code section has them."""

    @property
    def body(self) -> bytes:
        """The entry of the code section."""
        return unsigned(len(self.content)) + self.content


def module(
    functions: Sequence[Function | Body],
    exports: Mapping[str, int],
    size: int,
    data: Mapping[int, bytes],
    stack: int | None = None,
) -> bytes:
    """A module with a memory, exported as ``memory``, and no imports.

    Args:
        functions: All functions; calls are by their place here.
        exports: Names of functions that are seen from outside.
        size: Bytes that the memory holds.
        data: Initial memory, by address; the rest is zero.
        stack: Address at which the stack begins, of which functions of another compiler have a global variable.
    """
    segments = [b"\x00\x41" + signed(at) + END + unsigned(len(x)) + x for at, x in data.items()]
    types = list(dict.fromkeys(function.type for function in functions))
    pages = max(-(-size // PAGE), 1)
    seen = [name("memory") + b"\x02\x00", *(name(text) + b"\x00" + unsigned(k) for text, k in exports.items())]
    sections = {
        1: vector(types),
        3: vector([unsigned(types.index(function.type)) for function in functions]),
        5: vector([b"\x01" + unsigned(pages) * 2]),  # it does not grow
        6: vector([] if stack is None else [I32 + b"\x01\x41" + signed(stack) + END]),
        7: vector(seen),
        10: vector([function.body for function in functions]),
        11: vector(segments),
    }
    parts = [bytes([number]) + unsigned(len(content)) + content for number, content in sections.items()]
    return b"\0asm\1\0\0\0" + b"".join(parts)
