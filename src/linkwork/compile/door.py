"""The way from Python into machine code: one C function that looks at arrays, checks numbers, and calls a kernel.

It is generated once per machine as LLVM IR and speaks CPython's vector-call protocol, so a call costs a tenth of a
microsecond. It reads the fields of NumPy's array objects, whose layout is part of NumPy's C interface; `layout_holds`
tries that on known arrays before the door is ever used.

A door never raises: it returns a status, and the caller's slow path says in words what was wrong, or makes arrays that
pass.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from linkwork.compile import llvm
from linkwork.compile.cache import fetch, key
from linkwork.compile.lanes import Type
from linkwork.errors import LinkworkError

DONE, SHAPES, NOT_FINITE, NO_DIRECTION, OVERFLOW = range(5)
"""What a door answers: computed; arrays it does not take; NaN or infinity among inputs; numbers that should have unit
length and have none, or one beyond all bounds; result not finite."""

CHUNK = 64
"""States between two looks at the numbers: small enough that they are still in the cache."""

MAX_RANK = 3
TINY = 1e-12
"""Least squared length of a quaternion."""


def undirected(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which rows of numbers of unit length have none, or one whose square is infinite."""
    with np.errstate(all="ignore"):
        squared = np.sum(np.square(x), axis=-1)
    none: np.ndarray[Any, Any] = ~((squared > TINY) & (squared < math.inf))
    return none


# Places in a descriptor, in 8-byte words.
KERNEL, CONTEXT, ARRAYS, INPUTS, DTYPE, UNITS, UNIT_TABLE, FIRST_ARRAY = range(8)
RANK, EXTENTS, WIDTH, ARRAY_WORDS = 0, 1, 4, 5

_OBJECT = object.__basicsize__
TYPE_AT = _OBJECT - 8
DATA, RANK_AT, DIMENSIONS, DTYPE_AT, FLAGS = _OBJECT, _OBJECT + 8, _OBJECT + 16, _OBJECT + 40, _OBJECT + 48
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400


def layout_holds() -> bool:
    """Whether arrays of this NumPy have the layout that the door reads."""
    probe = np.zeros((3, 5))
    at = id(probe)

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(at + offset).value

    dimensions = word(DIMENSIONS)
    return (
        ctypes.sizeof(ctypes.c_void_p) == 8
        and word(TYPE_AT) == id(np.ndarray)
        and word(DATA) == probe.ctypes.data
        and ctypes.c_int32.from_address(at + RANK_AT).value == 2
        and [ctypes.c_int64.from_address(dimensions + 8 * k).value for k in range(2)] == [3, 5]
        and word(DTYPE_AT) == id(probe.dtype)
        and ctypes.c_int32.from_address(at + FLAGS).value & (C_CONTIGUOUS | ALIGNED | WRITEABLE)
        == C_CONTIGUOUS | ALIGNED | WRITEABLE
    )


def descriptor(
    kernel: int,
    context: int,
    dtype: np.dtype[Any],
    shapes: Sequence[tuple[int, ...]],
    inputs: int,
    units: Sequence[tuple[int, int]],
) -> tuple[np.ndarray[Any, Any], Any]:
    """The words that tell a door what to call and what to expect, and the memory that they point to."""
    table = np.array([number for pair in units for number in pair], dtype=np.int64)
    words = [kernel, context, len(shapes), inputs, id(dtype), len(units), table.ctypes.data]
    for shape in shapes:
        words += [len(shape), *shape, *[1] * (MAX_RANK - len(shape)), int(np.prod(shape, dtype=np.int64))]
    return np.array(words, dtype=np.int64), table


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL = 0x80


def make(words: np.ndarray[Any, Any], dtype: str, *memory: Any) -> Callable[..., int]:
    """A door for one descriptor: call it with the arrays, inputs then outputs; it answers with a status.

    ``memory`` is what the descriptor points to; it lives as long as the door.
    """
    definition = _method(dtype)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    # The third argument is the function's module, to CPython any object: it keeps memory alive.
    function: Callable[..., int] = new(ctypes.addressof(definition), words, (words, *memory))
    return function


@cache
def _method(dtype: str) -> _MethodDef:
    if not layout_holds():
        raise LinkworkError(
            f"Python {sys.version.split()[0]} with NumPy {np.__version__} lays out arrays in a way that is not known "
            "here: linkwork needs 64-bit CPython with the global interpreter lock"
        )
    name = key("door", dtype, llvm.version(), str(_OBJECT))
    code = fetch(name, lambda: llvm.object_code(_ir(dtype)))
    return _MethodDef(b"door", llvm.load(code, "door"), _FASTCALL, None)


def _ir(dtype: str) -> str:
    """The door as LLVM IR."""
    t, v = Type(dtype, 1), Type(dtype, 4)
    f = t.scalar
    return f"""
declare ptr @PyLong_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

; 1 if n numbers are all finite: x - x is NaN for NaN and infinity
define internal i1 @finite(ptr %x, i64 %n) {{
entry:
  %whole = and i64 %n, -4
  %some = icmp sgt i64 %whole, 0
  br i1 %some, label %wide, label %after
wide:
  %i = phi i64 [ 0, %entry ], [ %i4, %wide ]
  %bad = phi <4 x i1> [ zeroinitializer, %entry ], [ %worse, %wide ]
  %p = getelementptr {f}, ptr %x, i64 %i
  %a = load {v.name}, ptr %p, align {t.bytes}
  %d = fsub {v.name} %a, %a
  %nan = fcmp uno {v.name} %d, zeroinitializer
  %worse = or <4 x i1> %bad, %nan
  %i4 = add i64 %i, 4
  %more = icmp slt i64 %i4, %whole
  br i1 %more, label %wide, label %after
after:
  %found = phi <4 x i1> [ zeroinitializer, %entry ], [ %worse, %wide ]
  %bits = bitcast <4 x i1> %found to i4
  %clean = icmp eq i4 %bits, 0
  br label %rest
rest:
  %j = phi i64 [ %whole, %after ], [ %j1, %one ]
  %good = phi i1 [ %clean, %after ], [ %still, %one ]
  %left = icmp slt i64 %j, %n
  br i1 %left, label %one, label %end
one:
  %r = getelementptr {f}, ptr %x, i64 %j
  %b = load {f}, ptr %r
  %e = fsub {f} %b, %b
  %ok = fcmp ord {f} %e, 0.0
  %still = and i1 %good, %ok
  %j1 = add i64 %j, 1
  br label %rest
end:
  ret i1 %good
}}

; 1 if in each of n rows every run of unit numbers has a length that can be squared
define internal i1 @directed(ptr %x, i64 %n, i64 %width, i64 %units, ptr %table) {{
entry:
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %inside = icmp slt i64 %i, %n
  br i1 %inside, label %unit, label %good
unit:
  %u = phi i64 [ 0, %row ], [ %u1, %summed ]
  %any = icmp slt i64 %u, %units
  br i1 %any, label %start, label %next
start:
  %w = shl i64 %u, 1
  %pt = getelementptr i64, ptr %table, i64 %w
  %at = load i64, ptr %pt
  %pc = getelementptr i64, ptr %pt, i64 1
  %count = load i64, ptr %pc
  %m = mul i64 %i, %width
  %o = add i64 %m, %at
  br label %sum
sum:
  %k = phi i64 [ 0, %start ], [ %k1, %sum ]
  %total = phi {f} [ 0.0, %start ], [ %grown, %sum ]
  %ok = add i64 %o, %k
  %p = getelementptr {f}, ptr %x, i64 %ok
  %a = load {f}, ptr %p
  %aa = fmul {f} %a, %a
  %grown = fadd {f} %total, %aa
  %k1 = add i64 %k, 1
  %go = icmp slt i64 %k1, %count
  br i1 %go, label %sum, label %summed
summed:
  %u1 = add i64 %u, 1
  %long = fcmp ogt {f} %grown, {t.number(TINY)}
  %short = fcmp olt {f} %grown, {t.number(math.inf)}
  %length = and i1 %long, %short
  br i1 %length, label %unit, label %lost
next:
  %i1 = add i64 %i, 1
  br label %row
good:
  ret i1 true
lost:
  ret i1 false
}}

define ptr @door(ptr %self, ptr %args, i64 %nargs) {{
entry:
  %bases = alloca [16 x ptr]
  %rows = alloca [16 x ptr]
  %steps = alloca [16 x i64]
  %sizes = alloca [16 x i64]
  %scratch = alloca [8 x i64]
  %pself = getelementptr i8, ptr %self, i64 {DATA}
  %d = load ptr, ptr %pself
  %kernel = load ptr, ptr %d
  %pcontext = getelementptr i64, ptr %d, i64 {CONTEXT}
  %context = load i64, ptr %pcontext
  %parrays = getelementptr i64, ptr %d, i64 {ARRAYS}
  %arrays = load i64, ptr %parrays
  %pinputs = getelementptr i64, ptr %d, i64 {INPUTS}
  %inputs = load i64, ptr %pinputs
  %pdtype = getelementptr i64, ptr %d, i64 {DTYPE}
  %dtype = load i64, ptr %pdtype
  %punits = getelementptr i64, ptr %d, i64 {UNITS}
  %units = load i64, ptr %punits
  %ptable = getelementptr i64, ptr %d, i64 {UNIT_TABLE}
  %table = load ptr, ptr %ptable
  %ptype = getelementptr i8, ptr %self, i64 {TYPE_AT}
  %arraytype = load i64, ptr %ptype
  %number = icmp eq i64 %nargs, %arrays
  br i1 %number, label %look, label %refuse

; what each array is: -1 is the batch not known yet
look:
  %k = phi i64 [ 0, %entry ], [ %k1, %taken ]
  %batch = phi i64 [ -1, %entry ], [ %batch1, %taken ]
  %done = icmp eq i64 %k, %arrays
  br i1 %done, label %overlap_out, label %array
array:
  %pa = getelementptr ptr, ptr %args, i64 %k
  %a = load ptr, ptr %pa
  %pt = getelementptr i8, ptr %a, i64 {TYPE_AT}
  %type = load i64, ptr %pt
  %pd = getelementptr i8, ptr %a, i64 {DTYPE_AT}
  %is_array = icmp eq i64 %type, %arraytype
  br i1 %is_array, label %kind, label %refuse
kind:
  %adtype = load i64, ptr %pd
  %pf = getelementptr i8, ptr %a, i64 {FLAGS}
  %flags = load i32, ptr %pf
  %is_output = icmp sge i64 %k, %inputs
  %need = select i1 %is_output, i32 {C_CONTIGUOUS | ALIGNED | WRITEABLE}, i32 {C_CONTIGUOUS | ALIGNED}
  %have = and i32 %flags, %need
  %flags_ok = icmp eq i32 %have, %need
  %dtype_ok = icmp eq i64 %adtype, %dtype
  %both = and i1 %flags_ok, %dtype_ok
  %pr = getelementptr i8, ptr %a, i64 {RANK_AT}
  %rank32 = load i32, ptr %pr
  %rank = sext i32 %rank32 to i64
  %word = mul i64 %k, {ARRAY_WORDS}
  %word8 = add i64 %word, {FIRST_ARRAY}
  %e = getelementptr i64, ptr %d, i64 %word8
  %core = load i64, ptr %e
  %lead = sub i64 %rank, %core
  %lead_ok = icmp ult i64 %lead, 2
  %fine = and i1 %both, %lead_ok
  br i1 %fine, label %extents, label %refuse
extents:
  %pdims = getelementptr i8, ptr %a, i64 {DIMENSIONS}
  %dims = load ptr, ptr %pdims
  %tail = getelementptr i64, ptr %dims, i64 %lead
  br label %extent
extent:
  %x = phi i64 [ 0, %extents ], [ %x1, %same ]
  %checked = icmp eq i64 %x, %core
  br i1 %checked, label %shaped, label %compare
compare:
  %px = getelementptr i64, ptr %tail, i64 %x
  %found = load i64, ptr %px
  %x1 = add i64 %x, 1
  %pw = getelementptr i64, ptr %e, i64 %x1
  %wanted = load i64, ptr %pw
  %equal = icmp eq i64 %found, %wanted
  br i1 %equal, label %same, label %refuse
same:
  br label %extent
shaped:
  %pwidth = getelementptr i64, ptr %e, i64 {WIDTH}
  %width = load i64, ptr %pwidth
  %is_batch = icmp eq i64 %lead, 1
  br i1 %is_batch, label %rowed, label %single
single:
  ; an output without a batch axis is for one state only
  %unknown = icmp slt i64 %batch, 0
  %mismatch = xor i1 %unknown, true
  %outside = and i1 %is_output, %mismatch
  br i1 %outside, label %refuse, label %taken
rowed:
  %length = load i64, ptr %dims
  %first = icmp slt i64 %batch, 0
  %agrees = icmp eq i64 %batch, %length
  %may = or i1 %first, %agrees
  ; a batched output needs a batched input before it
  %lonely = and i1 %first, %is_output
  %together = xor i1 %lonely, true
  %accept = and i1 %may, %together
  br i1 %accept, label %taken, label %refuse
taken:
  %batch1 = phi i64 [ %batch, %single ], [ %length, %rowed ]
  %step = phi i64 [ 0, %single ], [ %width, %rowed ]
  %pdata = getelementptr i8, ptr %a, i64 {DATA}
  %data = load ptr, ptr %pdata
  %q0 = getelementptr ptr, ptr %bases, i64 %k
  store ptr %data, ptr %q0
  %q1 = getelementptr i64, ptr %steps, i64 %k
  store i64 %step, ptr %q1
  %q2 = getelementptr i64, ptr %sizes, i64 %k
  store i64 %width, ptr %q2
  %k1 = add i64 %k, 1
  br label %look

; outputs must not share memory with anything else
overlap_out:
  %one_state = icmp slt i64 %batch, 0
  %states = select i1 %one_state, i64 1, i64 %batch
  br label %outs
outs:
  %o = phi i64 [ %inputs, %overlap_out ], [ %o1, %apart_all ]
  %outs_done = icmp eq i64 %o, %arrays
  br i1 %outs_done, label %compute, label %others_start
others_start:
  %po = getelementptr ptr, ptr %bases, i64 %o
  %obase = load ptr, ptr %po
  %ostart = ptrtoint ptr %obase to i64
  %pos = getelementptr i64, ptr %sizes, i64 %o
  %osize = load i64, ptr %pos
  %on = mul i64 %osize, %states
  %obytes = mul i64 %on, {t.bytes}
  %oend = add i64 %ostart, %obytes
  br label %others
others:
  %h = phi i64 [ 0, %others_start ], [ %h1, %others_next ]
  %h_done = icmp eq i64 %h, %o
  br i1 %h_done, label %apart_all, label %test
test:
  %ph = getelementptr ptr, ptr %bases, i64 %h
  %hbase = load ptr, ptr %ph
  %hstart = ptrtoint ptr %hbase to i64
  %phs = getelementptr i64, ptr %sizes, i64 %h
  %hsize = load i64, ptr %phs
  %pstep = getelementptr i64, ptr %steps, i64 %h
  %hstep = load i64, ptr %pstep
  %hflat = icmp eq i64 %hstep, 0
  %hstates = select i1 %hflat, i64 1, i64 %states
  %hn = mul i64 %hsize, %hstates
  %hbytes = mul i64 %hn, {t.bytes}
  %hend = add i64 %hstart, %hbytes
  %before = icmp ule i64 %oend, %hstart
  %behind = icmp ule i64 %hend, %ostart
  %apart = or i1 %before, %behind
  br i1 %apart, label %others_next, label %refuse
others_next:
  %h1 = add i64 %h, 1
  br label %others
apart_all:
  %o1 = add i64 %o, 1
  br label %outs

compute:
  %many = icmp sgt i64 %states, 8
  br i1 %many, label %release, label %chunks
release:
  %thread = call ptr @PyEval_SaveThread()
  br label %chunks
chunks:
  %held = phi ptr [ null, %compute ], [ %thread, %release ]
  br label %chunk
chunk:
  %s = phi i64 [ 0, %chunks ], [ %s1, %chunk_done ]
  %remaining = sub i64 %states, %s
  %over = icmp sgt i64 %remaining, 0
  br i1 %over, label %rows_start, label %finish_good
rows_start:
  %short = icmp slt i64 %remaining, {CHUNK}
  %n = select i1 %short, i64 %remaining, i64 {CHUNK}
  br label %point
point:
  %c = phi i64 [ 0, %rows_start ], [ %c1, %pointed ]
  %c_done = icmp eq i64 %c, %arrays
  br i1 %c_done, label %call, label %point_one
point_one:
  %pcb = getelementptr ptr, ptr %bases, i64 %c
  %cbase = load ptr, ptr %pcb
  %pcs = getelementptr i64, ptr %steps, i64 %c
  %cstep = load i64, ptr %pcs
  %moved = mul i64 %s, %cstep
  %row = getelementptr {f}, ptr %cbase, i64 %moved
  %prow = getelementptr ptr, ptr %rows, i64 %c
  store ptr %row, ptr %prow
  %c1 = add i64 %c, 1
  %is_in = icmp slt i64 %c, %inputs
  br i1 %is_in, label %check, label %pointed
check:
  %flat = icmp eq i64 %cstep, 0
  %cn = select i1 %flat, i64 1, i64 %n
  %pcw = getelementptr i64, ptr %sizes, i64 %c
  %cwidth = load i64, ptr %pcw
  %numbers = mul i64 %cn, %cwidth
  %is_finite = call i1 @finite(ptr %row, i64 %numbers)
  br i1 %is_finite, label %check_units, label %finish_nan
check_units:
  %is_q = icmp eq i64 %c, 0
  %has_units = icmp sgt i64 %units, 0
  %look_units = and i1 %is_q, %has_units
  br i1 %look_units, label %directions, label %pointed
directions:
  %is_directed = call i1 @directed(ptr %row, i64 %cn, i64 %cwidth, i64 %units, ptr %table)
  br i1 %is_directed, label %pointed, label %finish_zero
pointed:
  br label %point
call:
  %irows = ptrtoint ptr %rows to i64
  %isteps = ptrtoint ptr %steps to i64
  %scratch1 = getelementptr i64, ptr %scratch, i64 4
  %code = call i32 %kernel(ptr %scratch, ptr %scratch1, i64 %irows, i64 %isteps, i64 %n, i64 %context)
  br label %results
results:
  %y = phi i64 [ %inputs, %call ], [ %y1, %result_good ]
  %y_done = icmp eq i64 %y, %arrays
  br i1 %y_done, label %chunk_done, label %result
result:
  %py = getelementptr ptr, ptr %rows, i64 %y
  %yrow = load ptr, ptr %py
  %pyw = getelementptr i64, ptr %sizes, i64 %y
  %ywidth = load i64, ptr %pyw
  %ynumbers = mul i64 %n, %ywidth
  %y_finite = call i1 @finite(ptr %yrow, i64 %ynumbers)
  br i1 %y_finite, label %result_good, label %finish_overflow
result_good:
  %y1 = add i64 %y, 1
  br label %results
chunk_done:
  %s1 = add i64 %s, {CHUNK}
  br label %chunk

finish_good:
  br label %finish
finish_nan:
  br label %finish
finish_zero:
  br label %finish
finish_overflow:
  br label %finish
finish:
  %status = phi i64 [ {DONE}, %finish_good ], [ {NOT_FINITE}, %finish_nan ],
                    [ {NO_DIRECTION}, %finish_zero ], [ {OVERFLOW}, %finish_overflow ]
  %was_released = icmp ne ptr %held, null
  br i1 %was_released, label %restore, label %answer
restore:
  call void @PyEval_RestoreThread(ptr %held)
  br label %answer
answer:
  %said = phi i64 [ %status, %finish ], [ %status, %restore ]
  %result_object = call ptr @PyLong_FromLong(i64 %said)
  ret ptr %result_object
refuse:
  %refusal = call ptr @PyLong_FromLong(i64 {SHAPES})
  ret ptr %refusal
}}
"""
