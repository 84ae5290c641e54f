# SPDX-License-Identifier: BSD-3-Clause
"""Lines of four numbers and rows of six in registers: functions of `kernels.panels` and `kernels.block_rows`.

To kernel code a line is four floats, a row six. In code for one state operations on a line are those of a vector of
four, and on a row those of a vector of four and one of two; where a float is a lane of several states already, the code
of these functions is compiled as it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from linkwork.compilers.language.instructions import LINE
from linkwork.compilers.language.memory import Writer
from linkwork.compilers.language.values import Array, Float, Value, entries_of
from linkwork.kernels import block_rows, panels

Lower = Callable[[Writer, ast.Call, list[Value]], Value]
Parts = tuple[int, ...]
"""Sizes of the vectors that numbers are in."""

LINE_PARTS: Parts = (LINE,)
ROW_PARTS: Parts = (LINE, 2)


def _packed(writer: Writer, node: ast.Call, value: Value, parts: Parts) -> list[str]:
    """So many floats, or an array of as many, as vectors."""
    if isinstance(value, Array):
        return _loaded(writer, node, value, [], parts)
    names = [writer.as_float(node, x) for x in entries_of(value) or ()]
    if len(names) != sum(parts):
        raise writer.error(node, f"{'a line' if len(parts) == 1 else 'a row'} has {sum(parts)} numbers")
    return [writer.vector(tuple(names[start : start + n])) for start, n in _spans(parts)]


def _spans(parts: Parts) -> list[tuple[int, int]]:
    """Where each vector begins, and its size."""
    return [(sum(parts[:k]), n) for k, n in enumerate(parts)]


def _unpacked(writer: Writer, vectors: list[str], parts: Parts) -> Value:
    """Vectors as floats, which are known to be their entries."""
    return tuple(Float(name) for x, n in zip(vectors, parts, strict=True) for name in writer.entries(x, n))


def _spread(writer: Writer, node: ast.Call, value: Value, parts: Parts) -> list[str]:
    """One float in all entries."""
    name, vectors = writer.as_float(node, value), []
    for n in parts:
        t = writer.vector_type(n)
        one = writer.made(f"insertelement {t} poison, {writer.unit.t.scalar} {name}, i32 0")
        vectors.append(writer.made(f"shufflevector {t} {one}, {t} poison, <{n} x i32> zeroinitializer"))
    return vectors


def _loaded(writer: Writer, node: ast.Call, array: Array, at: list[Value], parts: Parts) -> list[str]:
    unit, vectors = writer.unit, []
    for start, n in _spans(parts):
        place = writer.address(node, array, [*at, start])
        t = writer.vector_type(n)
        vectors.append(writer.made(f"load {t}, ptr {place}, align {unit.t.bytes}{unit.alias(array.type)}"))
    return vectors


def _stored(writer: Writer, node: ast.Call, x: Value, array: Array, at: list[Value], parts: Parts) -> Value:
    unit = writer.unit
    for (start, n), vector in zip(_spans(parts), _packed(writer, node, x, parts), strict=True):
        place = writer.address(node, array, [*at, start])
        t = writer.vector_type(n)
        writer.emit(f"store {t} {vector}, ptr {place}, align {unit.t.bytes}{unit.alias(array.type)}")
    return None


def _operation(writer: Writer, name: str, x: list[str], y: list[str], parts: Parts) -> list[str]:
    return [
        writer.made(f"{name} {writer.unit.flags}{writer.vector_type(n)} {a}, {b}")
        for a, b, n in zip(x, y, parts, strict=True)
    ]


def _line(parts: Parts) -> Lower:
    def lower(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
        array, k = arguments
        return _unpacked(writer, _loaded(writer, node, array, [k], parts), parts)

    return lower


def _set_line(parts: Parts) -> Lower:
    def lower(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
        x, array, k = arguments
        return _stored(writer, node, x, array, [k], parts)

    return lower


def _entries(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    array, k = arguments
    t, unit = writer.line_type, writer.unit
    place = writer.address(node, array, [k])
    vector = writer.made(f"load {t}, ptr {place}, align {unit.t.bytes}{unit.alias(array.type)}")
    return _unpacked(writer, [vector], LINE_PARTS)


def _set_entries(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    x, array, k = arguments
    (vector,), unit = _packed(writer, node, x, LINE_PARTS), writer.unit
    place = writer.address(node, array, [k])
    writer.emit(f"store {writer.line_type} {vector}, ptr {place}, align {unit.t.bytes}{unit.alias(array.type)}")
    return None


def _scaled(parts: Parts) -> Lower:
    def lower(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
        a, x = arguments
        factors, numbers = _spread(writer, node, a, parts), _packed(writer, node, x, parts)
        return _unpacked(writer, _operation(writer, "fmul", factors, numbers, parts), parts)

    return lower


def _plus(parts: Parts) -> Lower:
    def lower(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
        x, y = (_packed(writer, node, value, parts) for value in arguments)
        return _unpacked(writer, _operation(writer, "fadd", x, y, parts), parts)

    return lower


def _with_scaled(name: str, parts: Parts) -> Lower:
    def lower(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
        x, a, y = arguments
        factors, numbers = _spread(writer, node, a, parts), _packed(writer, node, y, parts)
        products = _operation(writer, "fmul", factors, numbers, parts)
        return _unpacked(writer, _operation(writer, name, _packed(writer, node, x, parts), products, parts), parts)

    return lower


def _plus_products(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    x, y, z = (_packed(writer, node, value, LINE_PARTS) for value in arguments)
    products = _operation(writer, "fmul", y, z, LINE_PARTS)
    return _unpacked(writer, _operation(writer, "fadd", x, products, LINE_PARTS), LINE_PARTS)


def _sum_of_products(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    x, y = (_packed(writer, node, value, LINE_PARTS) for value in arguments)
    return _sum(writer, _operation(writer, "fmul", x, y, LINE_PARTS)[0])


def _sum_of(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    (x,) = (_packed(writer, node, value, LINE_PARTS) for value in arguments)
    return _sum(writer, x[0])


def _sum(writer: Writer, line: str) -> Value:
    """The sum of the entries of a vector."""
    t, two = writer.line_type, writer.vector_type(2)
    low = writer.made(f"shufflevector {t} {line}, {t} poison, <2 x i32> <i32 0, i32 1>")
    high = writer.made(f"shufflevector {t} {line}, {t} poison, <2 x i32> <i32 2, i32 3>")
    both = writer.made(f"fadd {writer.unit.flags}{two} {low}, {high}")
    first, second = (writer.made(f"extractelement {two} {both}, i32 {k}") for k in range(2))
    return Float(writer.made(f"fadd {writer.unit.flags}{writer.unit.t.scalar} {first}, {second}"))


LINE_FUNCTIONS: dict[Any, Lower] = {
    panels.line: _line(LINE_PARTS),
    panels.set_line: _set_line(LINE_PARTS),
    panels.entries: _entries,
    panels.set_entries: _set_entries,
    panels.scaled: _scaled(LINE_PARTS),
    panels.plus: _plus(LINE_PARTS),
    panels.plus_scaled: _with_scaled("fadd", LINE_PARTS),
    panels.minus_scaled: _with_scaled("fsub", LINE_PARTS),
    panels.plus_products: _plus_products,
    panels.sum_of_products: _sum_of_products,
    panels.sum_of: _sum_of,
    block_rows.row: _line(ROW_PARTS),
    block_rows.set_row: _set_line(ROW_PARTS),
    block_rows.scaled_row: _scaled(ROW_PARTS),
    block_rows.row_plus: _plus(ROW_PARTS),
    block_rows.row_plus_scaled: _with_scaled("fadd", ROW_PARTS),
    block_rows.row_minus_scaled: _with_scaled("fsub", ROW_PARTS),
}
"""Functions of lines and rows, in code for one state."""
