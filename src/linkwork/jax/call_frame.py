# SPDX-License-Identifier: BSD-3-Clause
"""Call frames of XLA's foreign function interface: buffers that a handler reads, and status words of all handlers.

XLA calls a handler with one argument, a call frame (``xla/ffi/api/c_api.h`` of jaxlib, whose layout is stable): buffers
of arguments and results, and functions of XLA (streams, threads, errors). A handler is the same machine code for all
programs of a type of numbers, made once for a machine and kept in the cache; it is linked for each target to its
*instance*, the words that say what it runs.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linkwork.compilers import llvm
from linkwork.compilers.cache import fetch, key
from linkwork.compilers.entry.entry_point import LOW
from linkwork.compilers.entry.functions import words
from linkwork.kernels.scalar import kernel

SYMBOL = "linkwork_handler"
INSTANCE = "linkwork_instance"

# Words of structures of XLA's C API.
API, CONTEXT, ARGUMENTS, ARGUMENT_LIST, RESULTS, RESULT_LIST = 2, 3, 7, 9, 12, 14
"""Of a call frame."""
BUFFER_TYPE, BUFFER_DATA, BUFFER_RANK, BUFFER_DIMENSIONS = 2, 3, 4, 5
"""Of a buffer."""
ERROR_CREATE, ERROR_DESTROY, STREAM_GET, SCHEDULE, DEVICE_ORDINAL = 6, 8, 10, 17, 23
"""Of the table of functions."""
METADATA = 1
"""The type of the extension by which XLA asks for metadata."""
INVALID_ARGUMENT, INTERNAL = 3, 13
"""XLA's codes of errors."""
TYPES = {"float32": 11, "float64": 12}
"""XLA's numbers of types."""

# Words that all instances begin with.
MINOR, TRAITS, MESSAGES, PLACES, FIRST = range(5)
"""The minor version of the interface, traits of the handler, texts by status, and of each array of the program, its
place among arguments and results, or -1 where it is held."""


@kernel
def read_buffers(e: Any, frame: Any, places: Any, held: Any, bases: Any, steps: Any) -> int:
    """The number of states; -1 for buffers that do not fit. ``bases`` and ``steps`` of all arrays are set."""
    count = 0
    for k in range(e.inputs):
        if places[k] >= 0:
            count = count + 1
    if frame[ARGUMENTS] != count or frame[RESULTS] != e.arrays - e.inputs:
        return -1
    states = -1  # not known yet
    for k in range(e.arrays):
        place = places[k]
        output = k >= e.inputs
        if place < 0:
            bases[k] = held[k]
            steps[k] = 0
        else:
            buffer = words(buffer_at(frame, place, output))
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
            if leading > 0 or output:
                if states == -1:
                    states = rows
                if states != rows:
                    return -1
    return states


@kernel
def buffer_at(frame: Any, place: int, output: bool) -> int:
    """Where a buffer is described."""
    if output:
        return words(frame[RESULT_LIST])[place]
    return words(frame[ARGUMENT_LIST])[place]


def word(name: str, base: str, k: int, kind: str = "i64") -> str:
    """Instructions that load a word of a structure."""
    return f"  %at.{name} = getelementptr i64, ptr {base}, i64 {k}\n  %{name} = load {kind}, ptr %at.{name}"


def store(base: str, k: int, value: str) -> str:
    """Instructions that store a word of a structure."""
    at = f"%to.{base[1:]}.{k}"
    return f"  {at} = getelementptr i64, ptr {base}, i64 {k}\n  store {value}, ptr {at}"


def functions_of_frames(words_of_instance: int) -> str:
    """LLVM IR: ``described`` answers the query for metadata, if the call is one; ``failed`` makes an XLA error."""
    return f"""
@{INSTANCE} = external global [{words_of_instance} x i64]

define internal i1 @described(ptr %frame) {{
{word("extension", "%frame", 1, "ptr")}
  %asked = icmp ne ptr %extension, null
  br i1 %asked, label %query, label %call
query:
{word("kind", "%extension", 1, "i32")}
  %metadata = icmp eq i32 %kind, {METADATA}
  br i1 %metadata, label %describe, label %call
describe:
{word("record", "%extension", 3, "ptr")}
{word("minor", f"@{INSTANCE}", MINOR, "i32")}
{word("traits", f"@{INSTANCE}", TRAITS, "i32")}
  %to.major = getelementptr i32, ptr %record, i64 6
  store i32 0, ptr %to.major
  %to.minor = getelementptr i32, ptr %record, i64 7
  store i32 %minor, ptr %to.minor
  %to.traits = getelementptr i32, ptr %record, i64 8
  store i32 %traits, ptr %to.traits
  ret i1 true
call:
  ret i1 false
}}

define internal ptr @failed(ptr %frame, i64 %message, i64 %code) {{
  %error = alloca [4 x i64]
{word("messages", f"@{INSTANCE}", MESSAGES, "ptr")}
  %at.text = getelementptr ptr, ptr %messages, i64 %message
  %text = load ptr, ptr %at.text
{store("%error", 0, "i64 28")}
{store("%error", 1, "i64 0")}
{store("%error", 2, "ptr %text")}
{store("%error", 3, "i64 %code")}
{word("api", "%frame", API, "ptr")}
{word("create", "%api", ERROR_CREATE, "ptr")}
  %made = call ptr %create(ptr %error)
  ret ptr %made
}}
"""


def kept_code(name: str, files: list[str], make: Callable[[], str]) -> bytes:
    """Machine code of a handler: from the cache, or made now. It depends on the code of these files."""
    digest = hashlib.sha256()
    for file in (__file__, *files):
        digest.update(Path(file).read_bytes())
    kept = key("xla handler", name, llvm.version(), sys.platform, digest.hexdigest())
    return fetch(kept, lambda: llvm.object_code(make(), 1))
