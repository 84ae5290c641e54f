# SPDX-License-Identifier: BSD-3-Clause
"""Entry points that make their results: a C function of inputs that returns a new array, or a tuple of new arrays.

Around the entry point of one state (`entry`): in Python, making an array takes longer than the mass matrix of an arm,
making four and a named tuple of them longer than its Jacobians. Arrays are made by `PyArray_New` of NumPy's C
interface, a named tuple as any subclass of `tuple` is. Where the entry point answers with another status than
`entry.DONE`, a general path in Python takes over, which says what was wrong; without one, the result is None.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.compilers import llvm
from linkwork.compilers.cache import fetch, key
from linkwork.compilers.entry.entry_point import _FASTCALL, _NEW, DATA, MOST_ARRAYS, Entry, Owned, _MethodDefinition

PYARRAY_NEW = 93
"""Place of `PyArray_New` in the table of NumPy's C interface, which is part of its ABI."""

ENTRY, SELF, INPUTS, OUTPUTS, RECORD, NEW, ARRAY, NUMBER, LEAST, HELD, HELD_AT, NONE, GENERAL, RANKS = range(14)
"""Words of the table that the function reads. `HELD` and `HELD_AT` are the number and the address of the last inputs,
of which callers leave out `LEAST` or more. From `RANKS` on, the number of axes and the address of the sizes of each
output."""

BARE, PLAIN = 0, 1
"""In place of a class of named tuples: the array itself, of the only output; a plain tuple."""

_KEYWORDS = 0x2
_LOCK = threading.Lock()
_CODE: list[llvm.Code] = []


def _array_interface() -> int:
    """The address of NumPy's table of C functions."""
    core = getattr(np, "_core", None) or np.core
    capsule = ctypes.pythonapi.PyCapsule_GetPointer
    capsule.restype, capsule.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = capsule(core.multiarray._ARRAY_API, None)
    return address


def record_entry(
    entry: Entry,
    record: type[tuple[Any, ...]] | None,
    shapes: Sequence[tuple[int, ...]],
    inputs: int,
    dtype: np.dtype[Any],
    held: Sequence[Any] = (),
    left_out: int = 0,
    general: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A function of the inputs of one state: new arrays of results.

    Args:
        entry: The entry point, of inputs and outputs of one state.
        record: Class of the result, a named tuple with a field for each output; None: the array of the only output, or
            a tuple where there are several.
        shapes: Of the outputs.
        inputs: Number of inputs.
        dtype: Type of the outputs.
        held: The last inputs, where calls leave them out, from the end.
        left_out: Number of inputs that all calls leave out.
        general: Function called in its place, with the same arguments, where arrays or numbers are refused, or
            arguments have names; by default the result is None.
    """
    with _LOCK:
        if not _CODE:
            name = key("record entry", llvm.version())
            _CODE.append(llvm.Code(fetch(name, lambda: llvm.object_code(module(), 1)), "record_entry"))
    table = (ctypes.c_void_p * (PYARRAY_NEW + 1)).from_address(_array_interface())
    owned: Any = entry.__self__  # type: ignore[attr-defined]
    definition: _MethodDefinition = entry.__module__.definition  # type: ignore[attr-defined]
    sizes = [np.array(shape, dtype=np.int64) for shape in shapes]
    objects = np.array([id(x) for x in held], dtype=np.int64)
    kind = id(record) if record is not None else BARE if len(shapes) == 1 else PLAIN
    words = [definition.function, id(owned), inputs, len(shapes), kind, table[PYARRAY_NEW], id(np.ndarray)]
    words += [dtype.num, left_out, len(held), objects.ctypes.data, id(None), 0 if general is None else id(general)]
    words += [word for size in sizes for word in (len(size), size.ctypes.data)]
    method = _MethodDefinition(b"record_entry", _CODE[0].address, _FASTCALL | _KEYWORDS, None)
    # The module of the function, to CPython any object, keeps memory alive.
    kept = Owned(_CODE[0], (entry, record, tuple(held), general), _CODE[0], method, [*sizes, objects])
    function: Callable[..., Any] = _NEW(ctypes.addressof(method), np.array(words, dtype=np.int64), kept)
    return function


def module() -> str:
    """The LLVM IR of the function."""

    def word(name: str, k: int, type_: str = "i64") -> str:
        return f"  %p.{name} = getelementptr i64, ptr %table, i64 {k}\n  %{name} = load {type_}, ptr %p.{name}"

    return f"""
declare i64 @PyLong_AsLong(ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptr @record_entry(ptr %self, ptr %given, i64 %count, ptr %keywords) {{
entry:
  %arrays = alloca [{MOST_ARRAYS} x ptr]
  %at = getelementptr i64, ptr %self, i64 {DATA}
  %table = load ptr, ptr %at
{word("entry.function", ENTRY, "ptr")}
{word("entry.self", SELF, "ptr")}
{word("inputs", INPUTS)}
{word("outputs", OUTPUTS)}
{word("record", RECORD, "ptr")}
{word("new", NEW, "ptr")}
{word("array", ARRAY, "ptr")}
{word("number", NUMBER)}
{word("least", LEAST)}
{word("held", HELD)}
{word("held.at", HELD_AT, "ptr")}
{word("nothing", NONE, "ptr")}
{word("general", GENERAL, "ptr")}
  %type = trunc i64 %number to i32
  %left = sub i64 %inputs, %count
  %enough = icmp sge i64 %left, %least
  %all = icmp sle i64 %left, %held
  %unnamed = icmp eq ptr %keywords, null
  %counted = and i1 %enough, %all
  %fits = and i1 %counted, %unnamed
  br i1 %fits, label %go, label %refused
refused:
  %alone = icmp eq ptr %general, null
  br i1 %alone, label %none, label %other
none:
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
other:
  %found = call ptr @PyObject_Vectorcall(ptr %general, ptr %given, i64 %count, ptr %keywords)
  ret ptr %found
go:
  %bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %arrays, ptr %given, i64 %bytes, i1 false)
  %rest = getelementptr ptr, ptr %arrays, i64 %count
  %rest.bytes = mul i64 %left, 8
  %given.held = sub i64 %held, %left
  %held.rest = getelementptr ptr, ptr %held.at, i64 %given.held
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %held.rest, i64 %rest.bytes, i1 false)
  %results = getelementptr ptr, ptr %arrays, i64 %inputs
  br label %make
make:
  %k = phi i64 [ 0, %go ], [ %k1, %made ]
  %twice = shl i64 %k, 1
  %prank = getelementptr i64, ptr %table, i64 %twice
  %prank0 = getelementptr i64, ptr %prank, i64 {RANKS}
  %rank = load i64, ptr %prank0
  %psizes = getelementptr i64, ptr %prank0, i64 1
  %sizes = load ptr, ptr %psizes
  %axes = trunc i64 %rank to i32
  %x = call ptr %new(ptr %array, i32 %axes, ptr %sizes, i32 %type, ptr null, ptr null, i32 0, i32 0, ptr null)
  %missing = icmp eq ptr %x, null
  br i1 %missing, label %drop, label %made
made:
  %place = getelementptr ptr, ptr %results, i64 %k
  store ptr %x, ptr %place
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %outputs
  br i1 %more, label %make, label %run
run:
  %both = add i64 %inputs, %outputs
  %status = call ptr %entry.function(ptr %entry.self, ptr %arrays, i64 %both)
  %lost = icmp eq ptr %status, null
  br i1 %lost, label %drop, label %answer
answer:
  %value = call i64 @PyLong_AsLong(ptr %status)
  call void @Py_DecRef(ptr %status)
  %done = icmp eq i64 %value, 0
  br i1 %done, label %solved, label %drop
solved:
  %kind = ptrtoint ptr %record to i64
  switch i64 %kind, label %named [ i64 {BARE}, label %bare  i64 {PLAIN}, label %plain ]
bare:
  %only = load ptr, ptr %results
  ret ptr %only
plain:
  %tuple.plain = call ptr @PyTuple_New(i64 %outputs)
  br label %tuple
named:
  %tuple.named = call ptr @PyType_GenericAlloc(ptr %record, i64 %outputs)
  br label %tuple
tuple:
  %tuple.new = phi ptr [ %tuple.plain, %plain ], [ %tuple.named, %named ]
  %lacking = icmp eq ptr %tuple.new, null
  br i1 %lacking, label %drop, label %fill
fill:
  %f = phi i64 [ 0, %tuple ], [ %f1, %fill ]
  %pf = getelementptr ptr, ptr %results, i64 %f
  %xf = load ptr, ptr %pf
  %set = call i32 @PyTuple_SetItem(ptr %tuple.new, i64 %f, ptr %xf)
  %f1 = add i64 %f, 1
  %fmore = icmp slt i64 %f1, %outputs
  br i1 %fmore, label %fill, label %end
end:
  ret ptr %tuple.new
drop:
  %have = phi i64 [ %k, %make ], [ %outputs, %run ], [ %outputs, %answer ], [ %outputs, %tuple ]
  %failed = phi i1 [ true, %make ], [ true, %run ], [ false, %answer ], [ true, %tuple ]
  %some = icmp sgt i64 %have, 0
  br i1 %some, label %next, label %dropped
next:
  %d = phi i64 [ 0, %drop ], [ %d1, %next ]
  %pd = getelementptr ptr, ptr %results, i64 %d
  %xd = load ptr, ptr %pd
  call void @Py_DecRef(ptr %xd)
  %d1 = add i64 %d, 1
  %dmore = icmp slt i64 %d1, %have
  br i1 %dmore, label %next, label %dropped
dropped:
  br i1 %failed, label %raised, label %refused
raised:
  ret ptr null
}}
"""
