# SPDX-License-Identifier: BSD-3-Clause
"""The machine code of handlers of XLA's foreign function interface for the CPU: kernel text, and LLVM IR around it.

XLA calls a handler with one argument, a call frame (``xla/ffi/api/c_api.h`` of jaxlib, whose layout is stable): buffers
of arguments and results, and functions of XLA (threads, errors). A handler is the same machine code for all programs of
a type of numbers, made once for a machine and kept in the cache; it is linked for each program to its *instance*, the
words that say what the program is (`handlers`).

| part                     | what it does                                                                          |
|--------------------------|---------------------------------------------------------------------------------------|
| `read_buffers`           | addresses, row distances and the number of states, from the call frame                  |
| `compute` (`entry`)      | checks numbers and calls the program's kernel, for a chunk of states at a time          |
| `mark_states`            | the same, with NaN as the result of states that are wrong                               |
| ``run``                  | one share of a batch, with work arrays that no other thread has                         |
| ``work``                 | takes shares of a batch until none is left; in the caller's thread and in XLA's         |
| ``linkwork_handler``     | answers the query for metadata, or runs a batch and turns a status into an XLA error    |
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

from linkwork.compilers import llvm
from linkwork.compilers.cache import fetch, key
from linkwork.compilers.entry import (
    DONE,
    LOW,
    MOST_ARRAYS,
    NO_DIRECTION,
    NOT_FINITE,
    OVERFLOW,
    RECORD,
    SHAPES,
    compute,
    have_directions,
)
from linkwork.compilers.entry_functions import call_kernel, floats, foreign, functions, is_finite, words
from linkwork.compilers.lanes import Type
from linkwork.compilers.run import SHARE
from linkwork.kernels.scalar import kernel

SYMBOL = "linkwork_handler"

# Words of structures of XLA's C API.
API, CONTEXT, STAGE, ARGUMENTS, ARGUMENT_LIST, RESULTS, RESULT_LIST = 2, 3, 4, 7, 9, 12, 14
"""Of a call frame."""
BUFFER_TYPE, BUFFER_DATA, BUFFER_RANK, BUFFER_DIMENSIONS = 2, 3, 4, 5
"""Of a buffer."""
VERSION, ERROR_CREATE, ERROR_DESTROY, SCHEDULE = 4, 6, 8, 17
"""Of the table of functions."""
METADATA = 1
"""The type of the extension by which XLA asks for metadata."""
INVALID_ARGUMENT = 3
"""XLA's code of errors in arguments."""

# Words of an instance.
SINGLE, SINGLES, SINGLE_FLAGS, BATCH, BATCHES, BATCH_FLAGS, THREADS, MESSAGES, MARKS, MINOR, BYTES = range(11)
INSTANCE = 11
# Words of a job: a batch that threads share.
JOB_STATES, JOB_PARTS, JOB_NEXT, JOB_DONE, JOB_STATUS, JOB_OWNERS, JOB_BASES = range(7)
JOB_STEPS = JOB_BASES + MOST_ARRAYS
JOB = JOB_STEPS + MOST_ARRAYS

# Messages of an instance, by the status; of input k that is not finite, the one at MESSAGE_OF_INPUT + k.
MESSAGE_OF_INPUT = OVERFLOW + 1


def store_nan(address: int, numbers: int) -> None:
    """Write NaN."""
    raise NotImplementedError


# Kernel text ---------------------------------------------------------------------------------------------------------


@kernel
def buffer_of(frame: Any, k: int, inputs: int) -> int:
    """Where a buffer is described: arguments, then results."""
    if k < inputs:
        return words(frame[ARGUMENT_LIST])[k]
    return words(frame[RESULT_LIST])[k - inputs]


@kernel
def read_buffers(e: Any, frame: Any, bases: Any, steps: Any) -> int:
    """The number of states; -1 for buffers that do not fit. ``bases`` and ``steps`` are set."""
    if frame[ARGUMENTS] != e.inputs or frame[RESULTS] != e.arrays - e.inputs:
        return -1
    states = -1  # not known yet
    for k in range(e.arrays):
        buffer = words(buffer_of(frame, k, e.inputs))
        leading = buffer[BUFFER_RANK] - e.rank[k]
        if buffer[BUFFER_TYPE] % LOW != e.type_number or leading < 0:
            return -1
        dimensions = words(buffer[BUFFER_DIMENSIONS])
        rows = 1
        for axis in range(leading):
            rows = rows * dimensions[axis]
        for axis in range(e.rank[k]):
            if dimensions[leading + axis] != e.extents[e.extent[k] + axis]:
                return -1
        bases[k] = buffer[BUFFER_DATA]
        steps[k] = e.width[k] if leading > 0 else 0
        if leading > 0 or k >= e.inputs:
            if states == -1:
                states = rows
            if states != rows:
                return -1
    return states


@kernel
def check_inputs(e: Any, rows: Any, steps: Any, states: int) -> int:
    """The status of inputs of so many states; of those that are not finite, 16 times which one is added."""
    for k in range(e.inputs):
        n = states if steps[k] > 0 else 1
        if is_finite(rows[k], e.width[k] * n) == 0:
            return NOT_FINITE + 16 * k
        if k == 0 and e.units > 0:
            if have_directions(e, floats(rows[k]), n) == 0:
                return NO_DIRECTION
    return DONE


@kernel
def mark_states(e: Any, states: int, bases: Any, steps: Any, rows: Any) -> None:
    """States one by one: those with inputs that are not finite have NaN as results."""
    for s in range(states):
        for k in range(e.arrays):
            rows[k] = bases[k] + s * steps[k] * e.bytes
        if check_inputs(e, rows, steps, 1) == DONE:
            call_kernel(e.kernel, rows, steps, 1, e.context)
        else:
            for k in range(e.inputs, e.arrays):
                store_nan(rows[k], e.width[k])


@kernel
def run_share(e: Any, marks: int, states: int, bases: Any, steps: Any, rows: Any, chunk_bases: Any) -> int:
    """The status of a share of a batch; states that are wrong are marked where that is wanted."""
    if marks == 0:
        status = compute(e, states, bases, steps, rows)
        if status == NOT_FINITE:
            status = check_inputs(e, bases, steps, states)
        return status
    done = 0
    while done < states:
        n = e.chunk if states - done > e.chunk else states - done
        for k in range(e.arrays):
            chunk_bases[k] = bases[k] + done * steps[k] * e.bytes
        status = compute(e, n, chunk_bases, steps, rows)
        if status == NOT_FINITE or status == NO_DIRECTION:
            mark_states(e, n, chunk_bases, steps, rows)
        done = done + n
    return DONE


# Machine code --------------------------------------------------------------------------------------------------------


@cache
def object_code(dtype: str) -> bytes:
    """The machine code of handlers for a type of numbers, to be linked to an instance."""
    text = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    name = key("xla handler", dtype, llvm.version(), sys.platform, text)
    return fetch(name, lambda: llvm.object_code(module(dtype), 1))


def module(dtype: str) -> str:
    """The LLVM IR of handlers for a type of numbers."""
    from linkwork.compilers.instructions import Foreign  # where something is to be compiled alone
    from linkwork.compilers.language import INTEGER, Fixed, Int, array_type, tables
    from linkwork.compilers.lowering import Unit

    t = Type(dtype, 1)
    integers = array_type(INTEGER, ("arrays",))
    table, _ = tables(RECORD, {})
    known = {**foreign(), store_nan: Foreign("store_nan", None)}
    unit = Unit(t, table, len(table.sizes) + len(table.arrays), foreign=known)
    e = Fixed(table)
    read = unit.root(read_buffers, (e, integers, integers, integers))
    share = unit.root(run_share, (e, Int, Int, integers, integers, integers, integers))
    return "\n".join([unit.text(), functions(t), _nan(t), _run(share.name), _work(), _handler(read.name)])


def _nan(t: Type) -> str:
    return f"""
define internal void @store_nan(ptr %c, i64 %address, i64 %n) {{
entry:
  %x = inttoptr i64 %address to ptr
  br label %check
check:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %next, label %end
next:
  %at = getelementptr {t.scalar}, ptr %x, i64 %i
  store {t.scalar} 0x7FF8000000000000, ptr %at
  %i1 = add i64 %i, 1
  br label %check
end:
  ret void
}}
"""


_YIELD = "" if sys.platform == "win32" else "  %yielded = call i32 @sched_yield()\n"


def _word(name: str, base: str, k: int, kind: str = "i64") -> str:
    """Instructions that load a word of a structure."""
    return f"  %at.{name} = getelementptr i64, ptr {base}, i64 {k}\n  %{name} = load {kind}, ptr %at.{name}"


def _store(base: str, k: int, value: str) -> str:
    """Instructions that store a word of a structure."""
    at = f"%to.{base[1:]}.{k}"
    return f"  {at} = getelementptr i64, ptr {base}, i64 {k}\n  store {value}, ptr {at}"


def _run(share: str) -> str:
    """One share of a batch: a record (work arrays) that is free, the kernel, the record given back."""
    return f"""
@linkwork_instance = external global [{INSTANCE} x i64]
{"" if sys.platform == "win32" else "declare i32 @sched_yield()"}
define internal i64 @run(i64 %states, ptr %bases, ptr %steps) {{
entry:
  %rows = alloca [{MOST_ARRAYS} x i64]
  %chunk = alloca [{MOST_ARRAYS} x i64]
{_word("marks", "@linkwork_instance", MARKS)}
  %one = icmp eq i64 %states, 1
  %kind = select i1 %one, i64 {SINGLE}, i64 {BATCH}
  %pool = getelementptr i64, ptr @linkwork_instance, i64 %kind
{_word("records", "%pool", 0, "ptr")}
{_word("count", "%pool", SINGLES)}
{_word("flags", "%pool", SINGLE_FLAGS, "ptr")}
  %shared = icmp eq i64 %count, 0
  br i1 %shared, label %go, label %search
search:
  %k = phi i64 [ 0, %entry ], [ %k1, %taken ], [ 0, %wait ]
  %flag = getelementptr i32, ptr %flags, i64 %k
  %pair = cmpxchg ptr %flag, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %mine, label %go, label %taken
taken:
  %k1 = add i64 %k, 1
  %others = icmp slt i64 %k1, %count
  br i1 %others, label %search, label %wait
wait:
{_YIELD}  br label %search
go:
  %chosen = phi i64 [ 0, %entry ], [ %k, %search ]
  %at.record = getelementptr ptr, ptr %records, i64 %chosen
  %record = load ptr, ptr %at.record
  %status = call i64 @{share}(ptr %record, i64 %marks, i64 %states, ptr %bases, ptr %steps, ptr %rows, ptr %chunk)
  br i1 %shared, label %end, label %free
free:
  %used = getelementptr i32, ptr %flags, i64 %chosen
  store atomic i32 0, ptr %used release, align 4
  br label %end
end:
  ret i64 %status
}}
"""


def _work() -> str:
    """Shares of a job, until none is left; the last owner of the job frees it."""
    return f"""
declare void @PyMem_RawFree(ptr)

define internal void @work(ptr %job) {{
entry:
  %bases = alloca [{MOST_ARRAYS} x i64]
  %steps = getelementptr i64, ptr %job, i64 {JOB_STEPS}
{_word("states", "%job", JOB_STATES)}
{_word("parts", "%job", JOB_PARTS)}
{_word("bytes", "@linkwork_instance", BYTES)}
  %next = getelementptr i64, ptr %job, i64 {JOB_NEXT}
  %done = getelementptr i64, ptr %job, i64 {JOB_DONE}
  %worst = getelementptr i64, ptr %job, i64 {JOB_STATUS}
  br label %take
take:
  %part = atomicrmw add ptr %next, i64 1 monotonic
  %left = icmp slt i64 %part, %parts
  br i1 %left, label %edges, label %end
edges:
  %s0 = mul i64 %states, %part
  %start = sdiv i64 %s0, %parts
  %part1 = add i64 %part, 1
  %s1 = mul i64 %states, %part1
  %stop = sdiv i64 %s1, %parts
  %n = sub i64 %stop, %start
  br label %base
base:
  %k = phi i64 [ 0, %edges ], [ %k1, %base ]
  %jk = add i64 %k, {JOB_BASES}
  %at.from = getelementptr i64, ptr %job, i64 %jk
  %from = load i64, ptr %at.from
  %at.step = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %at.step
  %numbers = mul i64 %start, %step
  %offset = mul i64 %numbers, %bytes
  %moved = add i64 %from, %offset
  %to = getelementptr i64, ptr %bases, i64 %k
  store i64 %moved, ptr %to
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, {MOST_ARRAYS}
  br i1 %more, label %base, label %run
run:
  %status = call i64 @run(i64 %n, ptr %bases, ptr %steps)
  %before = atomicrmw max ptr %worst, i64 %status monotonic
  %counted = atomicrmw add ptr %done, i64 1 release
  br label %take
end:
  ret void
}}

define internal void @leave(ptr %job) {{
  %owners = getelementptr i64, ptr %job, i64 {JOB_OWNERS}
  %before = atomicrmw sub ptr %owners, i64 1 acq_rel
  %last = icmp eq i64 %before, 1
  br i1 %last, label %free, label %end
free:
  call void @PyMem_RawFree(ptr %job)
  br label %end
end:
  ret void
}}

define internal void @task(ptr %job) {{
  call void @work(ptr %job)
  call void @leave(ptr %job)
  ret void
}}
"""


def _handler(read: str) -> str:
    """What XLA calls."""
    return f"""
declare ptr @PyMem_RawMalloc(i64)

define internal i64 @threaded(ptr %frame, i64 %states, i64 %parts, ptr %bases, ptr %steps) {{
entry:
  %args = alloca [5 x i64]
  %gone = alloca [3 x i64]
  %job = call ptr @PyMem_RawMalloc(i64 {8 * JOB})
  %none = icmp eq ptr %job, null
  br i1 %none, label %alone, label %fill
alone:
  %whole = call i64 @run(i64 %states, ptr %bases, ptr %steps)
  ret i64 %whole
fill:
{_word("threads", "@linkwork_instance", THREADS)}
  %few = icmp slt i64 %parts, %threads
  %owners = select i1 %few, i64 %parts, i64 %threads
{_store("%job", JOB_STATES, "i64 %states")}
{_store("%job", JOB_PARTS, "i64 %parts")}
{_store("%job", JOB_NEXT, "i64 0")}
{_store("%job", JOB_DONE, "i64 0")}
{_store("%job", JOB_STATUS, f"i64 {DONE}")}
{_store("%job", JOB_OWNERS, "i64 %owners")}
  %to.bases = getelementptr i64, ptr %job, i64 {JOB_BASES}
  %to.steps = getelementptr i64, ptr %job, i64 {JOB_STEPS}
  call void @llvm.memcpy.p0.p0.i64(ptr %to.bases, ptr %bases, i64 {8 * MOST_ARRAYS}, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %to.steps, ptr %steps, i64 {8 * MOST_ARRAYS}, i1 false)
{_word("api", "%frame", API, "ptr")}
{_word("ctx", "%frame", CONTEXT)}
{_word("schedule", "%api", SCHEDULE, "ptr")}
{_word("destroy", "%api", ERROR_DESTROY, "ptr")}
{_store("%args", 0, "i64 40")}
{_store("%args", 1, "i64 0")}
{_store("%args", 2, "i64 %ctx")}
{_store("%args", 3, "ptr @task")}
{_store("%args", 4, "ptr %job")}
  br label %ask
ask:
  %k = phi i64 [ 1, %fill ], [ %k1, %asked ]
  %more = icmp slt i64 %k, %owners
  br i1 %more, label %help, label %begin
help:
  %refused = call ptr %schedule(ptr %args)
  %fine = icmp eq ptr %refused, null
  br i1 %fine, label %asked, label %lost
lost:
{_store("%gone", 0, "i64 24")}
{_store("%gone", 1, "i64 0")}
{_store("%gone", 2, "ptr %refused")}
  call void %destroy(ptr %gone)
  call void @leave(ptr %job)
  br label %asked
asked:
  %k1 = add i64 %k, 1
  br label %ask
begin:
  call void @work(ptr %job)
  %at.done = getelementptr i64, ptr %job, i64 {JOB_DONE}
  br label %check
check:
  %done = load atomic i64, ptr %at.done acquire, align 8
  %all = icmp eq i64 %done, %parts
  br i1 %all, label %end, label %wait
wait:
{_YIELD}  br label %check
end:
{_word("status", "%job", JOB_STATUS)}
  call void @leave(ptr %job)
  ret i64 %status
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptr @{SYMBOL}(ptr %frame) {{
entry:
  %bases = alloca [{MOST_ARRAYS} x i64]
  %steps = alloca [{MOST_ARRAYS} x i64]
  %error = alloca [4 x i64]
{_word("extension", "%frame", 1, "ptr")}
  %asked = icmp ne ptr %extension, null
  br i1 %asked, label %query, label %read
query:
{_word("kind", "%extension", 1, "i32")}
  %metadata = icmp eq i32 %kind, {METADATA}
  br i1 %metadata, label %describe, label %read
describe:
{_word("record", "%extension", 3, "ptr")}
{_word("minor", "@linkwork_instance", MINOR, "i32")}
  %at.major = getelementptr i32, ptr %record, i64 6
  store i32 0, ptr %at.major
  %at.its.minor = getelementptr i32, ptr %record, i64 7
  store i32 %minor, ptr %at.its.minor
  %at.traits = getelementptr i32, ptr %record, i64 8
  store i32 0, ptr %at.traits
  ret ptr null
read:
{_word("records", "@linkwork_instance", SINGLE, "ptr")}
  %e = load ptr, ptr %records
  %states = call i64 @{read}(ptr %e, ptr %frame, ptr %bases, ptr %steps)
  %fits = icmp sge i64 %states, 0
  br i1 %fits, label %some, label %wrong
some:
  %any = icmp sgt i64 %states, 0
  br i1 %any, label %go, label %good
go:
{_word("threads", "@linkwork_instance", THREADS)}
  %shares = sdiv i64 %states, {SHARE}
  %most = mul i64 %threads, 8
  %few = icmp slt i64 %shares, %most
  %parts = select i1 %few, i64 %shares, i64 %most
  %several = icmp sgt i64 %parts, 1
  %free = icmp sgt i64 %threads, 1
  %share = and i1 %several, %free
  br i1 %share, label %split, label %whole
split:
  %slow = call i64 @threaded(ptr %frame, i64 %states, i64 %parts, ptr %bases, ptr %steps)
  br label %answer
whole:
  %quick = call i64 @run(i64 %states, ptr %bases, ptr %steps)
  br label %answer
answer:
  %status = phi i64 [ %slow, %split ], [ %quick, %whole ]
  %right = icmp eq i64 %status, {DONE}
  br i1 %right, label %good, label %wrong
good:
  ret ptr null
wrong:
  %code = phi i64 [ {SHAPES}, %read ], [ %status, %answer ]
  %input = lshr i64 %code, 4
  %kept = and i64 %code, 15
  %numbered = add i64 %input, {MESSAGE_OF_INPUT}
  %not.finite = icmp eq i64 %kept, {NOT_FINITE}
  %message = select i1 %not.finite, i64 %numbered, i64 %kept
{_word("messages", "@linkwork_instance", MESSAGES, "ptr")}
  %at.text = getelementptr ptr, ptr %messages, i64 %message
  %text = load ptr, ptr %at.text
{_store("%error", 0, "i64 28")}
{_store("%error", 1, "i64 0")}
{_store("%error", 2, "ptr %text")}
{_store("%error", 3, f"i64 {INVALID_ARGUMENT}")}
{_word("api", "%frame", API, "ptr")}
{_word("create", "%api", ERROR_CREATE, "ptr")}
  %made = call ptr %create(ptr %error)
  ret ptr %made
}}
"""
