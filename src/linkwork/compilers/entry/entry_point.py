# SPDX-License-Identifier: BSD-3-Clause
"""The entry point from Python into machine code: a C function that checks arrays and numbers, then calls a kernel.

It is kernel code itself (`check_arrays`, `compute`), compiled once for a machine and a type of numbers; around it are
thirty lines of LLVM IR that speak CPython's vector-call protocol, so that a call costs a tenth of a microsecond. It
reads the fields of NumPy's array objects, whose layout is part of NumPy's C interface; `layout_holds` tries that on
known arrays before an entry point is made.

An entry point never raises: it returns a status, and the caller's general path says in words what was wrong, or makes
arrays that pass. `entry_point` makes one: a Python function that owns the machine code, the context and all else that
it points to.
"""

from __future__ import annotations

import ctypes
import math
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.compilers import llvm
from linkwork.compilers.cache import fetch, key
from linkwork.compilers.entry import interrupts
from linkwork.compilers.entry.functions import call_kernel, floats, foreign, functions, is_below, is_finite, poll, words
from linkwork.compilers.lanes import Type
from linkwork.compilers.thresholds import LEAST_QUATERNION
from linkwork.errors import LinkworkError
from linkwork.kernels.scalar import kernel
from linkwork.plans.layout import Layout

Entry = Callable[..., int]
"""A function of arrays, inputs then outputs, that answers with a status."""

DONE, SHAPES, NOT_FINITE, NO_DIRECTION, OVERFLOW, ENDED = range(6)
"""Results of an entry point: computed; arrays it does not take; NaN or infinity among inputs; numbers that should
have unit length and have none, or one beyond all bounds; result not finite. Where it was told to end (`interrupts`), an
exception is raised in place of the last."""

CHUNK = 64
"""States between two looks at the numbers, at most: few enough that they are still in the cache."""

NEAR = 1 << 19
"""Bytes of results that are still in the cache (of the second level) when they are looked at."""
WIDEST = 64
"""Bytes of a vector register, at most: chunks are not smaller than its lanes."""

RELEASED = 8
"""Beyond so many states, other threads of Python may run meanwhile."""

MOST_ARRAYS = 48
# Words of objects: NumPy's arrays and their dtypes, behind what every object of CPython begins with.
HEADER = object.__basicsize__ // 8
TYPE, DATA, RANK, DIMENSIONS, DTYPE, FLAGS = HEADER - 1, HEADER, HEADER + 1, HEADER + 2, HEADER + 5, HEADER + 6
NUMBER = HEADER + 1
"""Of a dtype: characters for kind, type and byte order, and NumPy's number of the type."""

LOW = 1 << 32
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400

RECORD = Layout(
    "entry",
    sizes=(
        "kernel",
        "context",
        "arrays",
        "inputs",
        "array_type",
        "type_number",
        "byte_order",
        "units",
        "bytes",
        "chunk",
    ),
    integers={
        "rank": ("arrays",),  # axes of one state's array
        "extent": ("arrays",),  # where its sizes begin in `extents`
        "width": ("arrays",),  # how many numbers it has
        "extents": ("arrays",),
        "unit": ("units", 2),  # where numbers of unit length begin in the first input, and how many they are
    },
    floats={},
)
"""Properties of the kernel of an entry point."""


# Kernel code ---------------------------------------------------------------------------------------------------------


@kernel
def check_arrays(e: Any, given: Any, count: int, bases: Any, steps: Any) -> int:
    """The number of states; 0 for arrays that do not fit as they are. ``bases`` and ``steps`` are set."""
    if count != e.arrays:
        return 0
    states = -1  # not known yet
    for k in range(e.arrays):
        array = words(given[k])
        output = k >= e.inputs
        if array[TYPE] != e.array_type:
            return 0
        number = words(array[DTYPE])[NUMBER]
        if number // LOW != e.type_number or number // 65536 % 256 != e.byte_order:
            return 0
        flags = array[FLAGS]
        if flags % 2 != 1 or flags // ALIGNED % 2 != 1 or (output and flags // WRITEABLE % 2 != 1):
            return 0
        dimensions = words(array[DIMENSIONS])
        leading = array[RANK] % LOW - e.rank[k]
        if leading != 0 and leading != 1:
            return 0
        for axis in range(e.rank[k]):
            if dimensions[leading + axis] != e.extents[e.extent[k] + axis]:
                return 0
        steps[k] = 0
        if leading == 1:
            if states == -1 and not output:
                states = dimensions[0]
            if states != dimensions[0]:
                return 0
            steps[k] = e.width[k]
        elif output and states != -1:  # one row for the results of several states
            return 0
        bases[k] = array[DATA]
    if states == -1:
        states = 1
    return states if are_apart(e, states, bases, steps) == 1 else 0


@kernel
def are_apart(e: Any, states: int, bases: Any, steps: Any) -> int:
    """1 if no output shares memory with another array."""
    for o in range(e.inputs, e.arrays):
        start = bases[o]
        end = start + e.width[o] * states * e.bytes
        for k in range(o):
            other = bases[k] + e.width[k] * (states if steps[k] > 0 else 1) * e.bytes
            if end > bases[k] and other > start:
                return 0
    return 1


@kernel
def have_directions(e: Any, x: Any, states: int) -> int:
    """1 if in each state numbers of unit length have a length that can be squared."""
    for i in range(states):
        for u in range(e.units):
            squared = 0.0
            for k in range(e.unit[u, 1]):
                y = x[i * e.width[0] + e.unit[u, 0] + k]
                squared = squared + y * y
            if is_below(LEAST_QUATERNION, squared) == 0 or is_below(squared, math.inf) == 0:
                return 0
    return 1


@kernel
def compute(e: Any, states: int, bases: Any, steps: Any, rows: Any, watch: int) -> int:
    """Chunks of states: inputs are looked at, the kernel is called, results are looked at, and so is the watch."""
    done = 0
    while done < states:
        n = e.chunk if states - done > e.chunk else states - done
        for k in range(e.arrays):
            rows[k] = bases[k] + done * steps[k] * e.bytes
            if k < e.inputs:
                if done == 0 or steps[k] > 0:
                    if is_finite(rows[k], e.width[k] * (n if steps[k] > 0 else 1)) == 0:
                        return NOT_FINITE
                    if k == 0 and e.units > 0:
                        if have_directions(e, floats(rows[k]), n if steps[k] > 0 else 1) == 0:
                            return NO_DIRECTION
        if call_kernel(e.kernel, rows, steps, n, e.context, watch) != 0:
            return ENDED
        for k in range(e.inputs, e.arrays):
            if is_finite(rows[k], e.width[k] * n) == 0:
                return OVERFLOW
        done = done + n
        if done < states:
            if poll(watch) != 0:
                return ENDED
    return DONE


# Around it -----------------------------------------------------------------------------------------------------------


def undirected(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which rows of numbers of unit length have none, or one whose square is infinite."""
    with np.errstate(all="ignore"):
        squared = np.sum(np.square(x), axis=-1)
    none: np.ndarray[Any, Any] = ~((squared > LEAST_QUATERNION) & (squared < math.inf))
    return none


def layout_holds() -> bool:
    """Whether arrays of this NumPy have the layout that entry points read."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    probe = np.zeros((3, 5))

    def word(address: int, k: int) -> int:
        return ctypes.c_int64.from_address(address + 8 * k).value

    array, dtype = id(probe), id(probe.dtype)
    return (
        word(array, TYPE) == id(np.ndarray)
        and word(array, DATA) == probe.ctypes.data
        and word(array, RANK) % LOW == 2
        and [word(word(array, DIMENSIONS), k) for k in range(2)] == [3, 5]
        and word(array, DTYPE) == dtype
        and word(array, FLAGS) % LOW & 0xFFF == C_CONTIGUOUS | ALIGNED | WRITEABLE | 0x4
        and word(dtype, NUMBER) // LOW == probe.dtype.num
        and word(dtype, NUMBER) // 65536 % 256 == ord(probe.dtype.byteorder)
    )


def _refuse_unknown_interpreters() -> None:
    result = f"{sys.implementation.name} {sys.version.split()[0]}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise LinkworkError(
            f"this is {result} without the global interpreter lock (free-threaded), on which compiled evaluators are "
            "not safe: use the ordinary build of Python"
        )
    if sys.implementation.name != "cpython" or not layout_holds():
        raise LinkworkError(
            f"{result} with NumPy {np.__version__} has an unknown memory layout of arrays: linkwork needs "
            "64-bit CPython on a little-endian machine"
        )


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL = 0x80
_LOCK = threading.Lock()
_CODE: dict[str, llvm.Code] = {}


def entry_point(
    code: llvm.Code,
    context: Any,
    dtype: np.dtype[Any],
    shapes: Sequence[tuple[int, ...]],
    inputs: int,
    units: Sequence[tuple[int, int]],
    chunk: int = CHUNK,
    near: int = NEAR,
) -> Callable[..., int]:
    """A function of arrays, inputs then outputs, that runs a kernel and answers with a status.

    The kernel is called for at most ``chunk`` states at a time, and ``near`` bytes of results.

    It owns the kernel's ``code`` and ``context`` (whose ``address`` the kernel is given; None for none): they live as
    long as it does.
    """
    checks = _checks(dtype.name)
    address = 0 if context is None else context.address
    numpy_type = (id(np.ndarray), dtype.num, ord(dtype.byteorder))
    results = sum(math.prod(shape) for shape in shapes[inputs:]) * dtype.itemsize
    while chunk * dtype.itemsize > WIDEST and chunk * results > near:
        chunk //= 2
    record, arrays = entry_record((code.address, address), numpy_type, dtype.itemsize, shapes, inputs, units, chunk)
    definition = _MethodDefinition(b"entry", checks.address, _FASTCALL, None)
    # The second argument is the function's self, the third its module, to CPython any object: they keep memory alive.
    owned = Owned(code, context, checks, definition, arrays)
    function: Callable[..., int] = _NEW(ctypes.addressof(definition), record, owned)
    return function


def entry_record(
    kernel: tuple[int, int],
    number_type: tuple[int, int, int],
    itemsize: int,
    shapes: Sequence[tuple[int, ...]],
    inputs: int,
    units: Sequence[tuple[int, int]],
    chunk: int = CHUNK,
) -> tuple[np.ndarray[Any, Any], list[np.ndarray[Any, Any]]]:
    """The data of an entry point about its kernel (`RECORD`), and the tables that it points to.

    ``kernel``: where the kernel and its context are; ``number_type``: of arrays, as the caller of the entry has it.
    """
    if len(shapes) > MOST_ARRAYS:
        raise LinkworkError(f"{len(shapes)} arrays: an algorithm has at most {MOST_ARRAYS} inputs and outputs")
    tables_of = [
        [len(shape) for shape in shapes],
        [sum(len(shape) for shape in shapes[:k]) for k in range(len(shapes))],
        [math.prod(shape) for shape in shapes],
        [extent for shape in shapes for extent in shape],
        [number for unit in units for number in unit],
    ]
    arrays = [np.array(numbers, dtype=np.int64) for numbers in tables_of]
    places = [array.ctypes.data for array in arrays]
    words_of = [*kernel, len(shapes), inputs, *number_type, len(units), itemsize, chunk, *places]
    further = [0, id(interrupts.go_on)]  # whether its work arrays are in use; what a watch asks
    return np.array([*words_of, *further], dtype=np.int64), arrays


def addresses(entry: Callable[..., int]) -> tuple[int, int]:
    """Where an entry point's kernel and its context are: for loops in machine code, which hold the entry meanwhile."""
    record: Any = entry.__self__  # type: ignore[attr-defined]
    return int(record[0]), int(record[1])


class Owned(NamedTuple):
    """The objects that an entry point points to."""

    code: llvm.Code
    context: Any
    checks: llvm.Code
    definition: Any
    arrays: list[Any]


_NEW = ctypes.pythonapi.PyCFunction_NewEx
_NEW.restype = ctypes.py_object
_NEW.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]


def _checks(dtype: str) -> llvm.Code:
    """The machine code that all entry points of a type of numbers share."""
    with _LOCK:
        if dtype not in _CODE:
            _refuse_unknown_interpreters()
            name = key("entry", dtype, llvm.version(), str(HEADER), sys.platform)
            _CODE[dtype] = llvm.Code(
                fetch(name, lambda: llvm.object_code(module(dtype), 1)), "entry", others=["linkwork_poll"]
            )
        return _CODE[dtype]


def watch() -> interrupts.Watch:
    """A new watch, for loops in machine code that are not those of an entry point."""
    return interrupts.Watch(_checks("float64").symbol("linkwork_poll"))


def module(dtype: str) -> str:
    """The LLVM IR of an entry point."""
    # Only where something is to be compiled.
    from linkwork.compilers.language.lowering import Unit
    from linkwork.compilers.language.values import INTEGER, Fixed, Int, array_type, tables

    t = Type(dtype, 1)
    integers = array_type(INTEGER, ("arrays",))
    table, _ = tables(RECORD, {})
    unit = Unit(t, table, len(table.sizes) + len(table.arrays), foreign=foreign())
    e = Fixed(table)
    first = unit.root(check_arrays, (e, integers, Int, integers, integers))
    second = unit.root(compute, (e, Int, integers, integers, integers, Int))
    return f"""{unit.text()}
declare ptr @PyLong_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
{interrupts.functions()}
define ptr @entry(ptr %self, ptr %given, i64 %count) {{
  %bases = alloca [{MOST_ARRAYS} x i64]
  %steps = alloca [{MOST_ARRAYS} x i64]
  %rows = alloca [{MOST_ARRAYS} x i64]
  %watch = alloca [{interrupts.WORDS} x i64]
  %at = getelementptr i64, ptr %self, i64 {DATA}
  %record = load ptr, ptr %at
  %busy.at = getelementptr i64, ptr %record, i64 {len(table.sizes) + len(table.arrays)}
  %busy = load i64, ptr %busy.at
  %free = icmp eq i64 %busy, 0
  br i1 %free, label %begin, label %answer
begin:
  %states = call i64 @{first.name}(ptr %record, ptr %given, i64 %count, ptr %bases, ptr %steps)
  %fits = icmp sgt i64 %states, 0
  br i1 %fits, label %go, label %answer
go:
  store ptr @linkwork_poll, ptr %watch
  %function.at = getelementptr i64, ptr %watch, i64 {interrupts.FUNCTION}
  %asked.at = getelementptr i64, ptr %busy.at, i64 1
  %asked = load i64, ptr %asked.at
  store [{interrupts.WORDS - interrupts.FUNCTION} x i64] zeroinitializer, ptr %function.at
  store i64 %asked, ptr %function.at
  %w = ptrtoint ptr %watch to i64
  %context.at = getelementptr i64, ptr %record, i64 1
  %context = load i64, ptr %context.at
  store i64 %context, ptr %busy.at
  %many = icmp sgt i64 %states, {RELEASED}
  br i1 %many, label %released, label %held
held:
  %quick = call i64 @{second.name}(ptr %record, i64 %states, ptr %bases, ptr %steps, ptr %rows, i64 %w)
  br label %done
released:
  %thread = call ptr @PyEval_SaveThread()
  %slow = call i64 @{second.name}(ptr %record, i64 %states, ptr %bases, ptr %steps, ptr %rows, i64 %w)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
done:
  %found = phi i64 [ %quick, %held ], [ %slow, %released ]
  store i64 0, ptr %busy.at
  %ended = icmp eq i64 %found, {ENDED}
  br i1 %ended, label %raised, label %answer
raised:
  ret ptr null
answer:
  %status = phi i64 [ {SHAPES}, %0 ], [ {SHAPES}, %begin ], [ %found, %done ]
  %object = call ptr @PyLong_FromLong(i64 %status)
  ret ptr %object
}}
{functions(t)}"""
