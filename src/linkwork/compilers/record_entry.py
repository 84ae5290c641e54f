# SPDX-License-Identifier: BSD-3-Clause
"""Entry points that make their results: a C function of inputs that returns a record of new arrays.

Around the entry point of one state (`entry`): in Python, making four arrays and a named tuple of them takes longer than
the Jacobians of an arm. Arrays are made by `PyArray_New` of NumPy's C interface, the record as any subclass of `tuple`
is. A status other than `entry.DONE` is returned as it is, an integer: the caller's general path says what was wrong.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.compilers import llvm
from linkwork.compilers.cache import fetch, key
from linkwork.compilers.entry import _FASTCALL, _NEW, DATA, MOST_ARRAYS, SHAPES, Entry, Owned, _MethodDefinition

PYARRAY_NEW = 93
"""Place of `PyArray_New` in the table of NumPy's C interface, which is part of its ABI."""

ENTRY, SELF, INPUTS, OUTPUTS, RECORD, NEW, ARRAY, NUMBER, RANKS = range(9)
"""Words of the table that the function reads; from `RANKS` on, the number of axes and the address of the sizes of each
output."""

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
    entry: Entry, record: type[tuple[Any, ...]], shapes: Sequence[tuple[int, ...]], inputs: int, dtype: np.dtype[Any]
) -> Callable[..., Any]:
    """A function of the inputs of one state: a record of results, or the status that says why there is none.

    Args:
        entry: The entry point, of inputs and outputs of one state.
        record: Class of the result, a named tuple with a field for each output.
        shapes: Of the outputs.
        inputs: How many inputs there are.
        dtype: Type of the outputs.
    """
    with _LOCK:
        if not _CODE:
            name = key("record entry", llvm.version())
            _CODE.append(llvm.Code(fetch(name, lambda: llvm.object_code(module(), 1)), "record_entry"))
    table = (ctypes.c_void_p * (PYARRAY_NEW + 1)).from_address(_array_interface())
    owned: Any = entry.__self__  # type: ignore[attr-defined]
    definition: _MethodDefinition = entry.__module__.definition  # type: ignore[attr-defined]
    sizes = [np.array(shape, dtype=np.int64) for shape in shapes]
    words = [definition.function, id(owned), inputs, len(shapes), id(record), table[PYARRAY_NEW], id(np.ndarray)]
    words += [dtype.num, *(word for size in sizes for word in (len(size), size.ctypes.data))]
    made = _MethodDefinition(b"record_entry", _CODE[0].address, _FASTCALL, None)
    # The module of the function, to CPython any object, keeps memory alive.
    kept = Owned(_CODE[0], (entry, record), _CODE[0], made, sizes)
    function: Callable[..., Any] = _NEW(ctypes.addressof(made), np.array(words, dtype=np.int64), kept)
    return function


def module() -> str:
    """The LLVM IR of the function."""

    def word(name: str, k: int, type_: str = "i64") -> str:
        return f"  %p.{name} = getelementptr i64, ptr %table, i64 {k}\n  %{name} = load {type_}, ptr %p.{name}"

    return f"""
declare ptr @PyLong_FromLong(i64)
declare i64 @PyLong_AsLong(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptr @record_entry(ptr %self, ptr %given, i64 %count) {{
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
  %type = trunc i64 %number to i32
  %fits = icmp eq i64 %count, %inputs
  br i1 %fits, label %go, label %misfit
misfit:
  %refused = call ptr @PyLong_FromLong(i64 {SHAPES})
  ret ptr %refused
go:
  %bytes = mul i64 %inputs, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %arrays, ptr %given, i64 %bytes, i1 false)
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
  %all = add i64 %inputs, %outputs
  %status = call ptr %entry.function(ptr %entry.self, ptr %arrays, i64 %all)
  %lost = icmp eq ptr %status, null
  br i1 %lost, label %drop, label %answer
answer:
  %value = call i64 @PyLong_AsLong(ptr %status)
  %done = icmp eq i64 %value, 0
  br i1 %done, label %tuple, label %drop
tuple:
  call void @Py_DecRef(ptr %status)
  %tuple.new = call ptr @PyType_GenericAlloc(ptr %record, i64 %outputs)
  %none = icmp eq ptr %tuple.new, null
  br i1 %none, label %drop, label %fill
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
  %instead = phi ptr [ null, %make ], [ null, %run ], [ %status, %answer ], [ null, %tuple ]
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
  ret ptr %instead
}}
"""
