# SPDX-License-Identifier: BSD-3-Clause
"""NumPy arrays that share the memory of another library's tensors, made in machine code: 0.13 µs each, where torch's
``Tensor.numpy()`` takes 0.7.

The function reads a tensor's type and address by DLPack's table of C functions (`DLPackExchangeAPI`, an
attribute of the class of tensors); arrays are made by `PyArray_New` of NumPy's C interface. A call never raises for
tensors that are others (on a device, of another type of numbers, of a subclass): it returns None, and the caller's
general path says what was wrong, or converts them.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.compilers import llvm
from linkwork.compilers.cache import fetch, key
from linkwork.compilers.entry.entry_point import (
    _FASTCALL,
    _NEW,
    DATA,
    TYPE,
    WRITEABLE,
    Owned,
    _MethodDefinition,
    layout_holds,
)
from linkwork.compilers.entry.records import PYARRAY_NEW, _array_interface

PYARRAY_SET_BASE_OBJECT = 282
"""Place of `PyArray_SetBaseObject` in the table of NumPy's C interface, which is part of its ABI."""

# DLPack's structures, part of its ABI; see dlpack.h.
MAJOR_VERSION = 1
DESCRIBE = 5
"""Word of the table with `dltensor_from_py_object_no_sync`, which says of a tensor what `TENSOR` has."""
TENSOR = "{ ptr, i32, i32, i32, i32, ptr, ptr, i64 }"
"""Data, type and number of the device, rank, type of numbers, sizes, strides in numbers, offset in bytes."""
CPU, FLOAT = 1, 2
MOST_AXES = 8

CONVERT, CLASS, NEW, SET_BASE, ARRAY, NUMBER, KIND, ITEMSIZE, NONE = range(9)
"""Words of the table that the function reads."""

_LOCK = threading.Lock()
_CODE: list[llvm.Code] = []


def shared_arrays(tensor: type[Any], dtype: np.dtype[Any]) -> Callable[..., tuple[Any, ...] | None] | None:
    """A function of tensors: arrays that share their memory, or None where one is not on the CPU or is another.

    None where the library, an older one, has no table of C functions, or objects have a layout that is not known here.

    Args:
        tensor: Class of the tensors; its subclasses are not taken.
        dtype: Type of their numbers, a float.
    """
    describe = _exchange_function(tensor, DESCRIBE)
    if not describe or sys.implementation.name != "cpython" or not layout_holds():
        return None
    with _LOCK:
        if not _CODE:
            text = module()
            kept = fetch(key("shared arrays", llvm.version(), text), lambda: llvm.object_code(text, 1))
            _CODE.append(llvm.Code(kept, "shared_arrays"))
    numpy_functions = (ctypes.c_void_p * (PYARRAY_SET_BASE_OBJECT + 1)).from_address(_array_interface())
    kind = FLOAT + (8 * dtype.itemsize << 8) + (1 << 16)
    words = [describe, id(tensor), numpy_functions[PYARRAY_NEW], numpy_functions[PYARRAY_SET_BASE_OBJECT]]
    words += [id(np.ndarray), dtype.num, kind, dtype.itemsize, id(None)]
    entry = _MethodDefinition(b"shared_arrays", _CODE[0].address, _FASTCALL, None)
    # The module of the function, to CPython any object, keeps memory alive.
    owned = Owned(_CODE[0], tensor, _CODE[0], entry, [])
    function: Callable[..., Any] = _NEW(ctypes.addressof(entry), np.array(words, dtype=np.int64), owned)
    return function


def _exchange_function(tensor: type[Any], word: int) -> int:
    """The address of a function of DLPack's table; 0 for none."""
    table = getattr(tensor, "__dlpack_c_exchange_api__", None)
    if type(table).__name__ != "PyCapsule":
        return 0
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(table, b"dlpack_exchange_api")
    if ctypes.c_uint32.from_address(address).value != MAJOR_VERSION:
        return 0
    return ctypes.c_void_p.from_address(address + 8 * word).value or 0


def module() -> str:
    """The LLVM IR of the function."""

    def word(name: str, k: int, type_: str = "i64") -> str:
        return f"  %p.{name} = getelementptr i64, ptr %table, i64 {k}\n  %{name} = load {type_}, ptr %p.{name}"

    def field(name: str, k: int, type_: str) -> str:
        return f"  %p.{name} = getelementptr {TENSOR}, ptr %x, i32 0, i32 {k}\n  %{name} = load {type_}, ptr %p.{name}"

    arguments = "ptr %array, i32 %rank, ptr %sizes, i32 %type, ptr %steps, ptr %first"
    arguments += f", i32 0, i32 {WRITEABLE}, ptr null"
    return f"""
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)

define ptr @shared_arrays(ptr %self, ptr %given, i64 %count) {{
entry:
  %x = alloca {TENSOR}
  %steps = alloca [{MOST_AXES} x i64]
  %at = getelementptr i64, ptr %self, i64 {DATA}
  %table = load ptr, ptr %at
{word("convert", CONVERT, "ptr")}
{word("class", CLASS, "ptr")}
{word("new", NEW, "ptr")}
{word("set_base", SET_BASE, "ptr")}
{word("array", ARRAY, "ptr")}
{word("number", NUMBER)}
{word("kind64", KIND)}
{word("itemsize", ITEMSIZE)}
{word("none", NONE, "ptr")}
  %type = trunc i64 %number to i32
  %kind = trunc i64 %kind64 to i32
  %made = call ptr @PyTuple_New(i64 %count)
  %lost = icmp eq ptr %made, null
  br i1 %lost, label %failed, label %tensors
tensors:
  %k = phi i64 [ 0, %entry ], [ %k1, %set ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %look, label %done
look:
  %p = getelementptr ptr, ptr %given, i64 %k
  %tensor = load ptr, ptr %p
  %p.own = getelementptr ptr, ptr %tensor, i64 {TYPE}
  %own = load ptr, ptr %p.own
  %plain = icmp eq ptr %own, %class
  br i1 %plain, label %ask, label %refuse
ask:
  %answer = call i32 %convert(ptr %tensor, ptr %x)
  %told = icmp eq i32 %answer, 0
  br i1 %told, label %check, label %clear
clear:
  call void @PyErr_Clear()
  br label %refuse
check:
{field("data", 0, "ptr")}
{field("device", 1, "i32")}
{field("rank", 3, "i32")}
{field("numbers", 4, "i32")}
{field("sizes", 5, "ptr")}
{field("strides", 6, "ptr")}
{field("offset", 7, "i64")}
  %here = icmp eq i32 %device, {CPU}
  %same = icmp eq i32 %numbers, %kind
  %few = icmp ule i32 %rank, {MOST_AXES}
  %known = icmp ne ptr %strides, null
  %there = icmp ne ptr %data, null
  %c1 = and i1 %here, %same
  %c2 = and i1 %few, %known
  %c3 = and i1 %c1, %c2
  %fits = and i1 %c3, %there
  br i1 %fits, label %axes, label %refuse
axes:
  %i = phi i32 [ 0, %check ], [ %i1, %axis ]
  %left = icmp slt i32 %i, %rank
  br i1 %left, label %axis, label %make
axis:
  %p.stride = getelementptr i64, ptr %strides, i32 %i
  %stride = load i64, ptr %p.stride
  %step = mul i64 %stride, %itemsize
  %p.step = getelementptr i64, ptr %steps, i32 %i
  store i64 %step, ptr %p.step
  %i1 = add i32 %i, 1
  br label %axes
make:
  %first = getelementptr i8, ptr %data, i64 %offset
  %a = call ptr %new({arguments})
  %missing = icmp eq ptr %a, null
  br i1 %missing, label %drop, label %hold
hold:
  call void @Py_IncRef(ptr %tensor)
  %based = call i32 %set_base(ptr %a, ptr %tensor)
  %held = icmp eq i32 %based, 0
  br i1 %held, label %set, label %unheld
unheld:
  call void @Py_DecRef(ptr %a)
  br label %drop
set:
  %placed = call i32 @PyTuple_SetItem(ptr %made, i64 %k, ptr %a)
  %k1 = add i64 %k, 1
  br label %tensors
done:
  ret ptr %made
refuse:
  call void @Py_DecRef(ptr %made)
  call void @Py_IncRef(ptr %none)
  ret ptr %none
drop:
  call void @Py_DecRef(ptr %made)
  br label %failed
failed:
  ret ptr null
}}
"""
