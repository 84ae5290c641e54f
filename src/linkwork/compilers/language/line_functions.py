# SPDX-License-Identifier: BSD-3-Clause
"""Lines of four numbers in one register: the functions of `kernels.panels` that the compiler knows by itself.

To kernel code a line is four floats. In code for one state its operations are those of a vector of four; where a float
is a lane of several states already, the code of these functions is compiled as it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from linkwork.compilers.language.instructions import LINE
from linkwork.compilers.language.memory import Writer
from linkwork.compilers.language.values import Array, Float, Value, entries_of
from linkwork.kernels import panels


def _packed(writer: Writer, node: ast.Call, value: Value) -> str:
    """Four floats, or an array of four, as a vector."""
    if isinstance(value, Array):
        return _loaded(writer, node, value, [0])
    names = tuple(writer.as_float(node, x) for x in entries_of(value) or ())
    if len(names) != LINE:
        raise writer.error(node, f"a line has {LINE} numbers")
    return writer.vector(names)


def _unpacked(writer: Writer, vector: str) -> Value:
    """A vector as four floats, which are known to be its entries."""
    return tuple(Float(name) for name in writer.entries(vector))


def _spread(writer: Writer, node: ast.Call, value: Value) -> str:
    """One float four times."""
    t, name = writer.line_type, writer.as_float(node, value)
    one = writer.made(f"insertelement {t} poison, {writer.unit.t.scalar} {name}, i32 0")
    return writer.made(f"shufflevector {t} {one}, {t} poison, <{LINE} x i32> zeroinitializer")


def _loaded(writer: Writer, node: ast.Call, array: Array, at: list[Value]) -> str:
    place, unit = writer.address(node, array, at), writer.unit
    return writer.made(f"load {writer.line_type}, ptr {place}, align {unit.t.bytes}{unit.alias(array.type)}")


def _operation(writer: Writer, name: str, x: str, y: str) -> str:
    return writer.made(f"{name} {writer.unit.flags}{writer.line_type} {x}, {y}")


def _line(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    array, k = arguments
    return _unpacked(writer, _loaded(writer, node, array, [k, 0]))


def _entries(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    array, k = arguments
    return _unpacked(writer, _loaded(writer, node, array, [k]))


def _stored(writer: Writer, node: ast.Call, x: Value, array: Array, at: list[Value]) -> Value:
    vector, unit = _packed(writer, node, x), writer.unit
    place = writer.address(node, array, at)
    writer.emit(f"store {writer.line_type} {vector}, ptr {place}, align {unit.t.bytes}{unit.alias(array.type)}")
    return None


def _set_line(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    x, array, k = arguments
    return _stored(writer, node, x, array, [k, 0])


def _set_entries(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    x, array, k = arguments
    return _stored(writer, node, x, array, [k])


def _scaled(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    a, x = arguments
    return _unpacked(writer, _operation(writer, "fmul", _spread(writer, node, a), _packed(writer, node, x)))


def _plus(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    x, y = arguments
    return _unpacked(writer, _operation(writer, "fadd", _packed(writer, node, x), _packed(writer, node, y)))


def _with_scaled(name: str) -> Callable[[Writer, ast.Call, list[Value]], Value]:
    def lower(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
        x, a, y = arguments
        product = _operation(writer, "fmul", _spread(writer, node, a), _packed(writer, node, y))
        return _unpacked(writer, _operation(writer, name, _packed(writer, node, x), product))

    return lower


def _sum_of_products(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    t, two = writer.line_type, f"<2 x {writer.unit.t.scalar}>"
    product = _operation(writer, "fmul", *(_packed(writer, node, x) for x in arguments))
    low = writer.made(f"shufflevector {t} {product}, {t} poison, <2 x i32> <i32 0, i32 1>")
    high = writer.made(f"shufflevector {t} {product}, {t} poison, <2 x i32> <i32 2, i32 3>")
    both = writer.made(f"fadd {writer.unit.flags}{two} {low}, {high}")
    x, y = (writer.made(f"extractelement {two} {both}, i32 {k}") for k in range(2))
    return Float(writer.made(f"fadd {writer.unit.flags}{writer.unit.t.scalar} {x}, {y}"))


LINE_FUNCTIONS: dict[Any, Callable[[Writer, ast.Call, list[Value]], Value]] = {
    panels.line: _line,
    panels.set_line: _set_line,
    panels.entries: _entries,
    panels.set_entries: _set_entries,
    panels.scaled: _scaled,
    panels.plus: _plus,
    panels.plus_scaled: _with_scaled("fadd"),
    panels.minus_scaled: _with_scaled("fsub"),
    panels.sum_of_products: _sum_of_products,
}
"""Functions of lines, in code for one state."""
