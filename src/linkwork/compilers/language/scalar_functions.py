# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the compiler of kernel code knows by itself: those of `scalar`, and two of Python's own."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from typing import Any

from linkwork.compilers.language.memory import Writer
from linkwork.compilers.language.values import (
    STATE,
    Array,
    Bool,
    Float,
    Int,
    Record,
    Table,
    Value,
    array_type,
    is_number,
    source_of,
    type_of,
)
from linkwork.kernels import scalar
from linkwork.kernels.records import Place, Places, places_of, view_records

FOUR_BYTES = 16
"""Alignment of four consecutive numbers on a GPU, as its widest loads need it."""


def _floats(writer: Writer, node: ast.Call, arguments: list[Value], count: int, name: str) -> list[str]:
    if len(arguments) != count:
        raise writer.error(node, f"{name} takes {count} arguments")
    return [writer.as_float(node, x) for x in arguments]


def _intrinsic(name: str, count: int) -> Callable[[Writer, ast.Call, list[Value]], Value]:
    def lower(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
        t = writer.unit.t
        operands = ", ".join(f"{t.name} {x}" for x in _floats(writer, node, arguments, count, name))
        return Float(writer.made(f"call {t.name} @llvm.{name}.{t.suffix}({operands})"))

    return lower


def _where(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    t = writer.unit.t
    below, bound, then, otherwise = _floats(writer, node, arguments, 4, "where")
    mask = writer.made(f"fcmp olt {t.name} {below}, {bound}")
    kind = "i1" if t.lanes == 1 else f"<{t.lanes} x i1>"
    return Float(writer.made(f"select {kind} {mask}, {t.name} {then}, {t.name} {otherwise}"))


def _any_below(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    x, bound = _floats(writer, node, arguments, 2, "any_below")
    if node not in writer.skippable:
        raise writer.error(node, "any_below(x, bound) is for the test of an if without else, also in and, or")
    if writer.unit.checked:
        return True  # all text is run once
    return _in_any_lane(writer, x, bound)


def _some_below(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    x, bound = _floats(writer, node, arguments, 2, "some_below")
    return _in_any_lane(writer, x, bound)


def _in_any_lane(writer: Writer, x: str, bound: str) -> Bool:
    t = writer.unit.t
    below = writer.made(f"fcmp olt {t.name} {x}, {bound}")
    if t.lanes == 1:
        return Bool(below)
    bits = writer.made(f"bitcast <{t.lanes} x i1> {below} to i{t.lanes}")
    return Bool(writer.made(f"icmp ne i{t.lanes} {bits}, 0"))


def _stage(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    if writer.in_one_lane:
        raise writer.error(node, "no stage ends inside prange: its iterations are those of one robot")
    if writer.unit.is_warp and not writer.unit.is_emulated:
        writer.emit("call void @llvm.nvvm.barrier.cta.sync.all(i32 0)")
    return None


def _in_warp(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    return writer.unit.is_warp


def _aligned_entries(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    if len(arguments) != 2 or not isinstance(arguments[0], Array) or arguments[0].type.rank != 1:
        raise writer.error(node, "aligned_entries takes an array of one axis and the number of its first entry")
    array, k = arguments
    together = FOUR_BYTES if writer.unit.is_warp else 0
    first = writer.load(node, array, [k], together)
    return (first, *(writer.load(node, array, [writer.integer("add nsw", k, j)]) for j in (1, 2, 3)))


def _each_lane(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    unit = writer.unit
    if not arguments or not getattr(arguments[0], "__kernel__", False):
        raise writer.error(node, "each_lane takes a kernel and its arguments")
    function, *values = arguments
    kinds = [type_of(x) for x in values]
    if any(not isinstance(x, Table | Int | int) for x in values):
        raise writer.error(node, "each_lane passes tree, w and integers: numbers of the state are in work arrays")
    if len(values) != len(source_of(function).names):
        raise writer.error(node, f"{function.__name__} takes {source_of(function).takes}")
    inner = unit if unit.t.lanes == 1 else unit.lane_unit()
    lowered = inner.function(function, kinds, writer.source, node, writer.in_one_lane)
    if lowered.result is not None:
        raise writer.error(node, "a kernel for each lane returns nothing: it writes to work arrays")
    operands = []
    for kind, value in zip(kinds, values, strict=True):
        operands += [f"{t} {part}" for t, part in zip(unit.llvm_types(kind), writer.parts(value), strict=False)]
    for lane in range(unit.t.lanes):
        first = unit.context if unit.t.lanes == 1 else f"ptr %c, i64 {lane}"
        writer.emit(f"call void @{lowered.name}({', '.join([first, *operands])})")
    return None


def _unpack(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    if len(arguments) != 2 or not all(isinstance(x, tuple) for x in arguments):
        raise writer.error(node, "unpack takes a tuple of arrays and a constant tuple of places")
    arrays, places = arguments
    parts = []
    for k, start, shape in places:
        flat = arrays[k]
        if shape:
            kind = array_type(STATE, shape, flat.type.writable, flat.type.tag)
            whole = writer.part(node, flat, start, start + math.prod(shape))
            parts.append(Array(whole.name, kind, writer.extent_within(whole.name, writer.extent(node, shape[0]))))
        else:
            parts.append(writer.load(node, flat, [start]))
    return tuple(parts)


def _view_records(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    if (
        len(arguments) != 3
        or not isinstance(arguments[0], Table)
        or not all(isinstance(x, tuple) for x in arguments[1:])
    ):
        raise writer.error(node, "view_records takes tree, a tuple of arrays and a constant tuple of records")
    tree, arrays, items = arguments

    def total(terms: Iterable[tuple[int, str]]) -> Value:
        """A sum of multiples of sizes of the tree."""
        result: Value = sum(k for k, size in terms if not size)
        for k, size in terms:
            if size:
                count = writer.as_int(node, writer.of_table(node, tree, size))
                term = count if k == 1 else writer.made(f"mul nsw {writer.unit.integer} {k}, {count}")
                result = Int(term) if result == 0 else writer.integer("add nsw", result, Int(term))
        return result

    def value(field: Any) -> Value:
        if isinstance(field, Places):
            return Record(field.record, tuple(map(value, field.fields)))
        if not isinstance(field, Place):
            return field
        array = arrays[field.array]
        if field.length is None:
            return array
        if field.is_entry:
            return writer.load(node, array, [total(field.start)])
        return writer.part(node, array, total(field.start), total((*field.start, field.length)))

    return tuple(map(value, places_of(items)))


def _with_arrays(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    if len(arguments) != 3 or not all(isinstance(x, Table) for x in arguments[:2]) or type(arguments[2]) is not tuple:
        raise writer.error(node, "with_arrays takes tree, w and a constant tuple of pairs of names")
    tree, work, fields = arguments
    for field, name in fields:
        if field not in tree.arrays or name not in work.arrays:
            raise writer.error(node, f"with_arrays: there is no array {field} of tree, or no work array {name}")
    return writer.unit.table_with(tree, work, fields)


def _sincos(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    t, (x,) = writer.unit.t, _floats(writer, node, arguments, 1, "sincos")
    name = writer.unit.sincos(writer.source, node)
    call = f"call {{ {t.name}, {t.name} }} @{name}({writer.unit.context}, {t.name} {x})"
    return writer.results((Float, Float), call)


def _length(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    entries = arguments[0].fields if len(arguments) == 1 and isinstance(arguments[0], Record) else arguments[0]
    if len(arguments) != 1 or not isinstance(entries, tuple):
        raise writer.error(node, "len is for tuples: sizes of arrays are sizes of tree, such as tree.nv")
    return len(entries)


def _float(writer: Writer, node: ast.Call, arguments: list[Value]) -> Value:
    if len(arguments) != 1:
        raise writer.error(node, "float takes one integer")
    if is_number(arguments[0]):
        return float(arguments[0])
    if isinstance(arguments[0], Float):
        raise writer.error(node, "float is for integers: this is a float already")
    t = writer.unit.t
    integer = f"{writer.unit.integer} {writer.as_int(node, arguments[0])}"
    return Float(writer.splat(writer.made(f"sitofp {integer} to {t.scalar}")))


SCALAR_FUNCTIONS: dict[Any, Callable[[Writer, ast.Call, list[Value]], Value]] = {
    scalar.sqrt: _intrinsic("sqrt", 1),
    scalar.rint: _intrinsic("rint", 1),
    scalar.fma: _intrinsic("fma", 3),
    scalar.where: _where,
    scalar.any_below: _any_below,
    scalar.some_below: _some_below,
    scalar.in_warp: _in_warp,
    scalar.stage: _stage,
    scalar.aligned_entries: _aligned_entries,
    scalar.each_lane: _each_lane,
    scalar.unpack: _unpack,
    scalar.with_arrays: _with_arrays,
    view_records: _view_records,
    scalar.sincos: _sincos,
    len: _length,
    float: _float,
}
"""Functions that the compiler knows by itself."""
