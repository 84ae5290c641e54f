# SPDX-License-Identifier: BSD-3-Clause
"""The machine code of handlers for the CPU: kernel code, and LLVM IR around it.

| part                     | task                                                                                  |
|--------------------------|---------------------------------------------------------------------------------------|
| `read_buffers`           | addresses, row distances and the number of states (`call_frame`)                        |
| `compute` (`entry`)      | checks numbers and calls the program's kernel, for a chunk of states at a time          |
| `mark_states`            | the same, with NaN as the result of states that are wrong                               |
| ``run``                  | one share of a batch, with work arrays that no other thread has                         |
| ``threaded``, ``work``   | shares of a batch, which this thread and those of XLA take until none is left           |
| ``linkwork_handler``     | runs a batch and turns a status into an XLA error                                       |
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from linkwork.compilers.entry.entry_point import (
    DONE,
    MOST_ARRAYS,
    NO_DIRECTION,
    NOT_FINITE,
    OVERFLOW,
    RECORD,
    SHAPES,
    compute,
    have_directions,
)
from linkwork.compilers.entry.functions import call_kernel, floats, foreign, functions, is_finite
from linkwork.compilers.lanes import Type
from linkwork.compilers.run import SHARE
from linkwork.jax.call_frame import (
    API,
    CONTEXT,
    ERROR_DESTROY,
    FIRST,
    INSTANCE,
    INVALID_ARGUMENT,
    PLACES,
    SCHEDULE,
    SYMBOL,
    functions_of_frames,
    kept_code,
    read_buffers,
    store,
    word,
)
from linkwork.kernels.scalar import kernel

# Words of an instance: records of the program and flags of those in use, for one state and for batches.
SINGLE, SINGLES, SINGLE_FLAGS, BATCH, BATCHES, BATCH_FLAGS, THREADS, MARKS, BYTES, HELD, WORDS = range(
    FIRST, FIRST + 11
)
# Words of a job: a batch that threads share.
JOB_STATES, JOB_PARTS, JOB_NEXT, JOB_DONE, JOB_STATUS, JOB_OWNERS, JOB_BASES = range(7)
JOB_STEPS = JOB_BASES + MOST_ARRAYS
JOB = JOB_STEPS + MOST_ARRAYS

MESSAGE_OF_INPUT = OVERFLOW + 1
"""Messages are by status; that of input k which is not finite is at this place plus k."""


def store_nan(address: int, numbers: int) -> None:
    """Write NaN."""
    raise NotImplementedError


# Kernel code ---------------------------------------------------------------------------------------------------------


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
            call_kernel(e.kernel, rows, steps, 1, e.context, 0)
        else:
            for k in range(e.inputs, e.arrays):
                store_nan(rows[k], e.width[k])


@kernel
def run_share(e: Any, marks: int, states: int, bases: Any, steps: Any, rows: Any, chunk_bases: Any) -> int:
    """The status of a share of a batch; states that are wrong are marked where that is wanted."""
    if marks == 0:
        status = compute(e, states, bases, steps, rows, 0)
        if status == NOT_FINITE:
            status = check_inputs(e, bases, steps, states)
        return status
    done = 0
    while done < states:
        n = e.chunk if states - done > e.chunk else states - done
        for k in range(e.arrays):
            chunk_bases[k] = bases[k] + done * steps[k] * e.bytes
        status = compute(e, n, chunk_bases, steps, rows, 0)
        if status == NOT_FINITE or status == NO_DIRECTION:
            mark_states(e, n, chunk_bases, steps, rows)
        done = done + n
    return DONE


# Machine code --------------------------------------------------------------------------------------------------------


@cache
def object_code(dtype: str) -> bytes:
    """The machine code of handlers for a type of numbers, to be linked to an instance."""
    return kept_code(f"cpu {dtype}", [__file__], lambda: module(dtype))


def module(dtype: str) -> str:
    """The LLVM IR of handlers for a type of numbers."""
    from linkwork.compilers.language.lowering import Unit
    from linkwork.compilers.language.module import Foreign  # where something is to be compiled alone
    from linkwork.compilers.language.values import INTEGER, Fixed, Int, array_type, tables

    t = Type(dtype, 1)
    integers = array_type(INTEGER, ("arrays",))
    table, _ = tables(RECORD, {})
    known = {**foreign(), store_nan: Foreign("store_nan", None)}
    unit = Unit(t, table, len(table.sizes) + len(table.arrays), foreign=known)
    e = Fixed(table)
    read = unit.root(read_buffers, (e, *[integers] * 5))
    share = unit.root(run_share, (e, Int, Int, *[integers] * 4))
    texts = [unit.text(), functions(t), functions_of_frames(WORDS), _nan(t), _run(share.name), _work()]
    return "\n".join([*texts, _threaded(), _handler(read.name)])


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


def _run(share: str) -> str:
    """One share of a batch: a record (work arrays) that is free, the kernel, the record given back."""
    return f"""
{"" if sys.platform == "win32" else "declare i32 @sched_yield()"}
define internal i64 @run(i64 %states, ptr %bases, ptr %steps) {{
entry:
  %rows = alloca [{MOST_ARRAYS} x i64]
  %chunk = alloca [{MOST_ARRAYS} x i64]
{word("marks", f"@{INSTANCE}", MARKS)}
  %one = icmp eq i64 %states, 1
  %kind = select i1 %one, i64 {SINGLE}, i64 {BATCH}
  %pool = getelementptr i64, ptr @{INSTANCE}, i64 %kind
{word("records", "%pool", 0, "ptr")}
{word("count", "%pool", 1)}
{word("flags", "%pool", 2, "ptr")}
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
{word("states", "%job", JOB_STATES)}
{word("parts", "%job", JOB_PARTS)}
{word("bytes", f"@{INSTANCE}", BYTES)}
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


def _threaded() -> str:
    """A batch in shares, which threads of XLA take, and this one."""
    return f"""
declare ptr @PyMem_RawMalloc(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

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
{word("threads", f"@{INSTANCE}", THREADS)}
  %few = icmp slt i64 %parts, %threads
  %owners = select i1 %few, i64 %parts, i64 %threads
{store("%job", JOB_STATES, "i64 %states")}
{store("%job", JOB_PARTS, "i64 %parts")}
{store("%job", JOB_NEXT, "i64 0")}
{store("%job", JOB_DONE, "i64 0")}
{store("%job", JOB_STATUS, f"i64 {DONE}")}
{store("%job", JOB_OWNERS, "i64 %owners")}
  %to.bases = getelementptr i64, ptr %job, i64 {JOB_BASES}
  %to.steps = getelementptr i64, ptr %job, i64 {JOB_STEPS}
  call void @llvm.memcpy.p0.p0.i64(ptr %to.bases, ptr %bases, i64 {8 * MOST_ARRAYS}, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %to.steps, ptr %steps, i64 {8 * MOST_ARRAYS}, i1 false)
{word("api", "%frame", API, "ptr")}
{word("ctx", "%frame", CONTEXT)}
{word("schedule", "%api", SCHEDULE, "ptr")}
{word("destroy", "%api", ERROR_DESTROY, "ptr")}
{store("%args", 0, "i64 40")}
{store("%args", 1, "i64 0")}
{store("%args", 2, "i64 %ctx")}
{store("%args", 3, "ptr @task")}
{store("%args", 4, "ptr %job")}
{_asked_for_help()}{_finished()}"""


def _asked_for_help() -> str:
    """Tasks for XLA's threads; where it refuses one, this thread does without."""
    return f"""  br label %ask
ask:
  %k = phi i64 [ 1, %fill ], [ %k1, %asked ]
  %more = icmp slt i64 %k, %owners
  br i1 %more, label %help, label %begin
help:
  %refused = call ptr %schedule(ptr %args)
  %fine = icmp eq ptr %refused, null
  br i1 %fine, label %asked, label %lost
lost:
{store("%gone", 0, "i64 24")}
{store("%gone", 1, "i64 0")}
{store("%gone", 2, "ptr %refused")}
  call void %destroy(ptr %gone)
  call void @leave(ptr %job)
  br label %asked
asked:
  %k1 = add i64 %k, 1
  br label %ask
"""


def _finished() -> str:
    """Shares that this thread takes, and the wait for those of others."""
    return f"""begin:
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
{word("status", "%job", JOB_STATUS)}
  call void @leave(ptr %job)
  ret i64 %status
}}
"""


def _handler(read: str) -> str:
    """LLVM IR of the function that XLA calls."""
    return f"""
define ptr @{SYMBOL}(ptr %frame) {{
entry:
  %bases = alloca [{MOST_ARRAYS} x i64]
  %steps = alloca [{MOST_ARRAYS} x i64]
  %query = call i1 @described(ptr %frame)
  br i1 %query, label %good, label %read
read:
{word("records", f"@{INSTANCE}", SINGLE, "ptr")}
{word("places", f"@{INSTANCE}", PLACES, "ptr")}
{word("held", f"@{INSTANCE}", HELD, "ptr")}
  %e = load ptr, ptr %records
  %states = call i64 @{read}(ptr %e, ptr %frame, ptr %places, ptr %held, ptr %bases, ptr %steps)
  %fits = icmp sge i64 %states, 0
  br i1 %fits, label %some, label %wrong
some:
  %any = icmp sgt i64 %states, 0
  br i1 %any, label %go, label %good
go:
  %status = call i64 @shared(ptr %frame, i64 %states, ptr %bases, ptr %steps)
  %right = icmp eq i64 %status, {DONE}
  br i1 %right, label %good, label %wrong
good:
  ret ptr null
wrong:
  %code = phi i64 [ {SHAPES}, %read ], [ %status, %go ]
  %input = lshr i64 %code, 4
  %kept = and i64 %code, 15
  %numbered = add i64 %input, {MESSAGE_OF_INPUT}
  %not.finite = icmp eq i64 %kept, {NOT_FINITE}
  %message = select i1 %not.finite, i64 %numbered, i64 %kept
  %made = call ptr @failed(ptr %frame, i64 %message, i64 {INVALID_ARGUMENT})
  ret ptr %made
}}

; as a whole, or in shares where a batch is large
define internal i64 @shared(ptr %frame, i64 %states, ptr %bases, ptr %steps) {{
{word("threads", f"@{INSTANCE}", THREADS)}
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
  ret i64 %slow
whole:
  %quick = call i64 @run(i64 %states, ptr %bases, ptr %steps)
  ret i64 %quick
}}
"""
