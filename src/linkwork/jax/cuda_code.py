# SPDX-License-Identifier: BSD-3-Clause
"""The machine code of handlers for CUDA devices: it launches a program's kernel on the stream that XLA gives.

Parameters of a kernel (`compilers.cuda`): of each array its address, the distance of its rows and that of the numbers
of a row; then the number of states, and the address of words that count what is not finite. Arrays with batch axes are
number-major here, which XLA is told when it compiles (`calls`).
"""

from __future__ import annotations

from functools import cache

from linkwork.compilers.entry.entry_point import MOST_ARRAYS, RECORD
from linkwork.compilers.entry.functions import foreign, functions
from linkwork.compilers.lanes import Type
from linkwork.jax.call_frame import (
    API,
    CONTEXT,
    DEVICE_ORDINAL,
    FIRST,
    INSTANCE,
    INTERNAL,
    PLACES,
    STREAM_GET,
    SYMBOL,
    functions_of_frames,
    kept_code,
    read_buffers,
    store,
    word,
)

# Words of an instance: of the program, its record, numbers of arrays and of threads of a block, shared memory; of the
# driver, functions; how many devices there are, and the address of each one's words.
ENTRY, ARRAYS, THREADS, SHARED, LAUNCH, PUSH, POP, COUNT, DEVICES, WORDS = range(FIRST, FIRST + 10)
# Words of a device: its context, the kernel there, words for what is not finite, and addresses of held inputs.
DEVICE_CONTEXT, DEVICE_FUNCTION, DEVICE_STATUS, DEVICE_HELD = range(4)

DOES_NOT_FIT, NO_DEVICE, NOT_LAUNCHED = range(3)
"""Messages."""
COMMAND_BUFFER = 1
"""The trait of handlers that launch the same kernels in every call: XLA may record them as a CUDA graph."""


@cache
def object_code(dtype: str) -> bytes:
    """The machine code of handlers for a type of numbers, to be linked to an instance."""
    return kept_code(f"cuda {dtype}", [__file__], lambda: module(dtype))


def module(dtype: str) -> str:
    """The LLVM IR of handlers for a type of numbers."""
    from linkwork.compilers.language.lowering import Unit
    from linkwork.compilers.language.values import (
        INTEGER,
        Fixed,
        array_type,
        tables,
    )  # where something is to be compiled alone

    t = Type(dtype, 1)
    integers = array_type(INTEGER, ("arrays",))
    table, _ = tables(RECORD, {})
    unit = Unit(t, table, len(table.sizes) + len(table.arrays), foreign=foreign())
    read = unit.root(read_buffers, (Fixed(table), *[integers] * 5))
    texts = [unit.text(), functions(t), functions_of_frames(WORDS), _ordinal(), _stream(), _values(), _launched()]
    return "\n".join([*texts, _handler(read.name)])


def _ordinal() -> str:
    """The number of the device; the first where this XLA does not say."""
    return f"""
define internal i64 @ordinal(ptr %frame) {{
  %args = alloca [4 x i64]
{word("count", f"@{INSTANCE}", COUNT)}
  %several = icmp sgt i64 %count, 1
  br i1 %several, label %find, label %first
find:
{word("api", "%frame", API, "ptr")}
{word("size", "%api", 0)}
  %known = icmp uge i64 %size, {8 * (DEVICE_ORDINAL + 1)}
  br i1 %known, label %ask, label %first
ask:
{word("ctx", "%frame", CONTEXT)}
{word("get", "%api", DEVICE_ORDINAL, "ptr")}
{store("%args", 0, "i64 28")}
{store("%args", 1, "i64 0")}
{store("%args", 2, "i64 %ctx")}
  %error = call ptr %get(ptr %args)
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %read, label %first
read:
{word("number", "%args", 3, "i32")}
  %wide = sext i32 %number to i64
  ret i64 %wide
first:
  ret i64 0
}}
"""


def _stream() -> str:
    """The stream to launch on; an error of XLA, or none."""
    return f"""
define internal ptr @stream(ptr %frame, ptr %found) {{
  %args = alloca [4 x i64]
{word("api", "%frame", API, "ptr")}
{word("ctx", "%frame", CONTEXT)}
{word("get", "%api", STREAM_GET, "ptr")}
{store("%args", 0, "i64 32")}
{store("%args", 1, "i64 0")}
{store("%args", 2, "i64 %ctx")}
{store("%args", 3, "i64 0")}
  %error = call ptr %get(ptr %args)
{word("stream", "%args", 3)}
  store i64 %stream, ptr %found
  ret ptr %error
}}
"""


def _values() -> str:
    """The parameters of the kernel: three words of each array, the number of states, and where it counts."""
    return f"""
define internal i64 @values(ptr %values, ptr %bases, ptr %steps, i64 %states, i64 %status) {{
entry:
{word("arrays", f"@{INSTANCE}", ARRAYS)}
  br label %array
array:
  %k = phi i64 [ 0, %entry ], [ %k1, %array ]
  %at.base = getelementptr i64, ptr %bases, i64 %k
  %base = load i64, ptr %at.base
  %at.step = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %at.step
  %batched = icmp sgt i64 %step, 0
  %row = zext i1 %batched to i64
  %number = select i1 %batched, i64 %states, i64 1
  %place = mul i64 %k, 3
  %to = getelementptr i64, ptr %values, i64 %place
{store("%to", 0, "i64 %base")}
{store("%to", 1, "i64 %row")}
{store("%to", 2, "i64 %number")}
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %arrays
  br i1 %more, label %array, label %end
end:
  %behind = mul i64 %arrays, 3
  %last = getelementptr i64, ptr %values, i64 %behind
{store("%last", 0, "i64 %states")}
{store("%last", 1, "i64 %status")}
  %words = add i64 %behind, 2
  %bytes = mul i64 %words, 8
  ret i64 %bytes
}}
"""


def _launched() -> str:
    """The status of a launch, in the context of a device."""
    return f"""
define internal i32 @launched(ptr %device, i64 %stream, ptr %bases, ptr %steps, i64 %states) {{
  %values = alloca [{3 * MOST_ARRAYS + 2} x i64]
  %size = alloca i64
  %extra = alloca [5 x i64]
  %old = alloca i64
{word("context", "%device", DEVICE_CONTEXT)}
{word("function", "%device", DEVICE_FUNCTION)}
{word("counts", "%device", DEVICE_STATUS)}
{word("threads", f"@{INSTANCE}", THREADS)}
{word("shared", f"@{INSTANCE}", SHARED)}
{word("launch", f"@{INSTANCE}", LAUNCH, "ptr")}
{word("push", f"@{INSTANCE}", PUSH, "ptr")}
{word("pop", f"@{INSTANCE}", POP, "ptr")}
  %bytes = call i64 @values(ptr %values, ptr %bases, ptr %steps, i64 %states, i64 %counts)
  store i64 %bytes, ptr %size
{store("%extra", 0, "i64 1")}
{store("%extra", 1, "ptr %values")}
{store("%extra", 2, "i64 2")}
{store("%extra", 3, "ptr %size")}
{store("%extra", 4, "i64 0")}
  %rounded = add i64 %states, %threads
  %less = sub i64 %rounded, 1
  %many = sdiv i64 %less, %threads
  %blocks = trunc i64 %many to i32
  %width = trunc i64 %threads to i32
  %memory = trunc i64 %shared to i32
  %pushed = call i32 %push(i64 %context)
  %status = call i32 %launch(i64 %function, i32 %blocks, i32 1, i32 1, i32 %width, i32 1, i32 1, i32 %memory,
                             i64 %stream, ptr null, ptr %extra)
  %popped = call i32 %pop(ptr %old)
  %first = or i32 %pushed, %popped
  %any = or i32 %status, %first
  ret i32 %any
}}
"""


def _handler(read: str) -> str:
    """LLVM IR of the function that XLA calls."""
    return f"""
define ptr @{SYMBOL}(ptr %frame) {{
entry:
  %bases = alloca [{MOST_ARRAYS} x i64]
  %steps = alloca [{MOST_ARRAYS} x i64]
  %found = alloca i64
  %query = call i1 @described(ptr %frame)
  br i1 %query, label %good, label %choose
choose:
  %ordinal = call i64 @ordinal(ptr %frame)
{word("count", f"@{INSTANCE}", COUNT)}
  %known = icmp ult i64 %ordinal, %count
  br i1 %known, label %read, label %wrong
read:
{word("devices", f"@{INSTANCE}", DEVICES, "ptr")}
  %at.device = getelementptr ptr, ptr %devices, i64 %ordinal
  %device = load ptr, ptr %at.device
  %held = getelementptr i64, ptr %device, i64 {DEVICE_HELD}
{word("e", f"@{INSTANCE}", ENTRY, "ptr")}
{word("places", f"@{INSTANCE}", PLACES, "ptr")}
  %states = call i64 @{read}(ptr %e, ptr %frame, ptr %places, ptr %held, ptr %bases, ptr %steps)
  %fits = icmp sge i64 %states, 0
  br i1 %fits, label %some, label %wrong
some:
  %any = icmp sgt i64 %states, 0
  br i1 %any, label %ask, label %good
ask:
  %error = call ptr @stream(ptr %frame, ptr %found)
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %go, label %refused
refused:
  ret ptr %error
go:
  %stream = load i64, ptr %found
  %status = call i32 @launched(ptr %device, i64 %stream, ptr %bases, ptr %steps, i64 %states)
  %right = icmp eq i32 %status, 0
  br i1 %right, label %good, label %wrong
good:
  ret ptr null
wrong:
  %message = phi i64 [ {NO_DEVICE}, %choose ], [ {DOES_NOT_FIT}, %read ], [ {NOT_LAUNCHED}, %go ]
  %made = call ptr @failed(ptr %frame, i64 %message, i64 {INTERNAL})
  ret ptr %made
}}
"""
