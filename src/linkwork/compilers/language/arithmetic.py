# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic of kernel code in LLVM IR: floats in lanes, integers that round and overflow as they do in Python."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from linkwork.compilers.language.memory import Writer
from linkwork.compilers.language.values import Float, Int, Value, is_number

INTEGER_OPERATIONS = {ast.Add: "add nsw", ast.Sub: "sub nsw", ast.Mult: "mul nsw"}
OVERFLOWING: dict[type, tuple[str, str]] = {ast.Add: ("sadd", "+"), ast.Sub: ("ssub", "-"), ast.Mult: ("smul", "*")}
FLOAT_OPERATIONS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
FOLDED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}


def binary(writer: Writer, node: ast.AST, op: ast.operator, a: Value, b: Value) -> Value:
    """``a op b``: of floats, or of integers."""
    kind = type(op)
    if kind not in FOLDED:
        advice = ": write products out" if kind is ast.Pow else ""
        raise writer.error(node, f"{kind.__name__} is not part of the kernel language, which has + - * / // %{advice}")
    if is_number(a) and is_number(b):
        try:
            return FOLDED[kind](a, b)
        except ZeroDivisionError:
            raise writer.error(node, "division by zero") from None
    if isinstance(a, Float | float) or isinstance(b, Float | float):
        if kind not in FLOAT_OPERATIONS:
            raise writer.error(node, "// and % are for integers")
        x, y = writer.as_float(node, a), writer.as_float(node, b)
        t = writer.unit.t
        return Float(writer.made(f"{FLOAT_OPERATIONS[kind]} {writer.unit.flags}{t.name} {x}, {y}"))
    x, y = writer.as_int(node, a), writer.as_int(node, b)
    if kind in INTEGER_OPERATIONS:
        if writer.unit.checked:
            return Int(within_64_bits(writer, node, kind, x, y))
        return Int(writer.made(f"{INTEGER_OPERATIONS[kind]} {writer.unit.integer} {x}, {y}"))
    if kind is ast.Div:
        raise writer.error(node, "/ of integers: use // for a whole number, or float() for a float")
    if y == "0":
        raise writer.error(node, "division by zero")
    return Int(_floored(writer, kind, x, _checked_divisor(writer, node, x, y) if writer.unit.checked else y))


def within_64_bits(writer: Writer, node: ast.AST, kind: type, x: str, y: str) -> str:
    """In checked code, a sum, difference or product of integers that has 64 bits."""
    name, sign = OVERFLOWING[kind]
    both = writer.made(f"call {{ i64, i1 }} @llvm.{name}.with.overflow.i64(i64 {x}, i64 {y})")
    result, over = (writer.made(f"extractvalue {{ i64, i1 }} {both}, {k}") for k in range(2))
    writer.guard(
        writer.made(f"xor i1 {over}, true"),
        node,
        f"{{first}} {sign} {{second}} is beyond the integers of machine code, which have 64 bits",
        x,
        y,
    )
    return result


def _checked_divisor(writer: Writer, node: ast.AST, x: str, y: str) -> str:
    """In checked code, a divisor for which there is a quotient, or 1."""
    some = writer.made(f"icmp ne i64 {y}, 0")
    writer.guard(some, node, f"division of {{first}} by zero, in {writer.shown(node)}", x)
    least, minus = writer.made(f"icmp eq i64 {x}, {-(2**63)}"), writer.made(f"icmp eq i64 {y}, -1")
    fits = writer.made(f"xor i1 {writer.made(f'and i1 {least}, {minus}')}, true")
    writer.guard(fits, node, "{first} // {second} is beyond the integers of machine code, which have 64 bits", x, y)
    return writer.made(f"select i1 {writer.made(f'and i1 {some}, {fits}')}, i64 {y}, i64 1")


def _floored(writer: Writer, kind: type, x: str, y: str) -> str:
    """``x // y`` or ``x % y`` as Python rounds: down."""
    i = writer.unit.integer
    rest = writer.made(f"srem {i} {x}, {y}")
    off = writer.made(f"icmp ne {i} {rest}, 0")
    signs = writer.made(f"xor {i} {rest}, {y}")
    apart = writer.made(f"icmp slt {i} {signs}, 0")
    wrong = writer.made(f"and i1 {off}, {apart}")
    if kind is ast.Mod:
        return writer.made(f"select i1 {wrong}, {i} {writer.made(f'add {i} {rest}, {y}')}, {i} {rest}")
    whole = writer.made(f"sdiv {i} {x}, {y}")
    return writer.made(f"select i1 {wrong}, {i} {writer.made(f'sub {i} {whole}, 1')}, {i} {whole}")
