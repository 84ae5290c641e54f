# SPDX-License-Identifier: BSD-3-Clause
"""Handlers for the CPU: one for each program, its machine code linked to the words that say what the program is.

A handler that XLA knows is never given back: programs that XLA compiled keep its address.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from linkwork.compilers import llvm, native
from linkwork.compilers.backends import NativeRunner, SpecializedRunner
from linkwork.compilers.entry import (
    CHUNK,
    NO_DIRECTION,
    OVERFLOW,
    SHAPES,
    addresses,
    entry_record,
)
from linkwork.compilers.lanes import Type
from linkwork.compilers.run import Runner
from linkwork.compilers.uneven import GROUP
from linkwork.errors import UnsupportedFeature
from linkwork.jax import handler_code

OnError = Literal["raise", "nan"]
"""What becomes of states that are not finite: an error of the whole call, or NaN as their results."""

TYPES = {"float32": 11, "float64": 12}
"""XLA's numbers of types."""

MOST_CONTEXTS = 32
"""Threads that run one program at the same time; further ones wait."""


@cache
def api_minor() -> int:
    """The minor version of XLA's foreign function interface in this jaxlib, as its own header says."""
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    try:
        found = re.search(r"#define\s+XLA_FFI_API_MINOR\s+(\d+)", header.read_text(encoding="utf-8"))
    except OSError:
        found = None
    return 0 if found is None else int(found[1])


class Handler:
    """Machine code that XLA calls to run a program on the CPU.

    Args:
        runner: What runs the program, native or specialized.
        on_error: What becomes of states that are not finite.
    """

    def __init__(self, runner: Runner, on_error: OnError) -> None:
        if not isinstance(runner, NativeRunner | SpecializedRunner):
            raise UnsupportedFeature(
                f"{runner.program.algorithm.name} of '{runner.program.robot}' runs as plain Python, which XLA cannot "
                "call: use the evaluator itself, or its compile()"
            )
        self.runner = runner
        self._kept: list[Any] = []
        words = np.zeros(handler_code.INSTANCE, np.int64)
        words[handler_code.SINGLE : handler_code.SINGLE + 3] = self._pool(batched=False)
        words[handler_code.BATCH : handler_code.BATCH + 3] = self._pool(batched=True)
        words[handler_code.THREADS] = runner.threads
        words[handler_code.MESSAGES] = self._texts(self._messages())
        words[handler_code.MARKS] = on_error == "nan"
        words[handler_code.MINOR] = api_minor()
        words[handler_code.BYTES] = runner.dtype.itemsize
        self._words = words
        self._code = llvm.Code(
            handler_code.object_code(runner.dtype.name),
            handler_code.SYMBOL,
            {"linkwork_instance": words.ctypes.data},
        )
        self.address = self._code.address
        """Where the machine code is."""

    def _pool(self, batched: bool) -> tuple[int, int, int]:
        """Records of the program, for one state or for batches: where they are, how many, and flags of those in use.

        None are in use where a program has no work arrays, as straight-line code: then there is one record for all.
        """
        runner = self.runner
        if isinstance(runner, SpecializedRunner):
            entry = runner.own_entry(batched)
            self._kept.append(entry)
            return self._records([addresses(entry)]), 0, 0
        program, t = runner.program, Type(runner.dtype.name, runner.lanes if batched else 1)  # type: ignore[attr-defined]
        code = native.code(program.algorithm, t)
        count = min(MOST_CONTEXTS, max(runner.threads, os.cpu_count() or 1))
        contexts = [native.Context(program.algorithm, program.tree, t) for _ in range(count)]
        flags = np.zeros(count, np.int32)
        self._kept += [code, contexts, flags]
        return self._records([(code.address, context.address) for context in contexts]), count, flags.ctypes.data

    def _records(self, kernels: Sequence[tuple[int, int]]) -> int:
        """Where the addresses of records are, one for each kernel and its context."""
        runner = self.runner
        program, dtype = runner.program, runner.dtype
        chunk = GROUP if program.algorithm.uneven and isinstance(runner, SpecializedRunner) else CHUNK
        number_type = (0, TYPES[dtype.name], 0)
        made = [
            entry_record(kernel, number_type, dtype.itemsize, runner.shapes, len(runner.inputs), program.units, chunk)
            for kernel in kernels
        ]
        places = np.array([record.ctypes.data for record, _ in made], np.int64)
        self._kept += [made, places]
        return int(places.ctypes.data)

    def _texts(self, messages: Sequence[str]) -> int:
        """Where the addresses of texts are."""
        texts = [np.frombuffer(message.encode() + b"\0", np.uint8) for message in messages]
        places = np.array([text.ctypes.data for text in texts], np.int64)
        self._kept += [texts, places]
        return int(places.ctypes.data)

    def _messages(self) -> list[str]:
        """Messages by status, then those of inputs that are not finite."""
        runner = self.runner
        what = f"{runner.program.algorithm.name} of '{runner.program.robot}'"
        messages = [f"{what}: unknown status"] * handler_code.MESSAGE_OF_INPUT
        messages[SHAPES] = f"{what}: buffers do not fit the program; please report this"
        messages[NO_DIRECTION] = f"{what}: q holds a quaternion or a direction (cos, sin) of zero or immense length"
        messages[OVERFLOW] = (
            f"{what}: a result is not finite: numbers are too large for {runner.dtype}, or a body has no inertia, or "
            "constraints are not independent, which a method without regularization cannot solve"
        )
        return messages + [f"{what}: {name} holds NaN or infinity" for name in runner.names]
