# SPDX-License-Identifier: BSD-3-Clause
"""Handlers: one for each target, machine code linked to a record of the program that it runs.

A handler that XLA knows is never given back: programs that XLA compiled keep its address.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from linkwork.compilers import llvm, native
from linkwork.compilers.backends import NativeRunner, SpecializedRunner
from linkwork.compilers.entry.entry_point import CHUNK, NO_DIRECTION, OVERFLOW, SHAPES, addresses, entry_record
from linkwork.compilers.entry.uneven import GROUP
from linkwork.compilers.lanes import Type
from linkwork.compilers.run import Runner
from linkwork.errors import UnsupportedFeature
from linkwork.jax import call_frame, cpu_code

OnError = Literal["raise", "nan"]
"""Treatment of states that are not finite: an error of the whole call, or NaN as their results."""

MOST_CONTEXTS = 32
"""Threads that run one program at the same time; further ones wait."""


@cache
def api_minor() -> int:
    """The minor version of XLA's foreign function interface in this jaxlib, as its own header says."""
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    try:
        minor = re.search(r"#define\s+XLA_FFI_API_MINOR\s+(\d+)", header.read_text(encoding="utf-8"))
    except OSError:
        minor = None
    return 0 if minor is None else int(minor[1])


class Handler:
    """Machine code that XLA calls to run a program.

    Args:
        runner: Runner of the program.
        held: Inputs that are the same for all states and calls, by name.
    """

    def __init__(self, runner: Runner, held: Mapping[str, Any]) -> None:
        self.runner = runner
        self.held = {name: np.ascontiguousarray(x, runner.dtype) for name, x in held.items()}
        self.what = f"{runner.program.algorithm.name} of '{runner.program.robot}'"
        self._kept: list[Any] = []

    def link(self, code: bytes, words: np.ndarray[Any, Any], traits: int, messages: Sequence[str]) -> None:
        """Set the words that all instances begin with, and link machine code to the instance.

        Args:
            code: The machine code.
            words: The instance.
            traits: Of the handler, as XLA knows them.
            messages: Texts of errors.
        """
        words[call_frame.MINOR] = api_minor()
        words[call_frame.TRAITS] = traits
        words[call_frame.MESSAGES] = self._texts(messages)
        words[call_frame.PLACES] = self.table(self._places())
        self._words = words
        self._code = llvm.Code(code, call_frame.SYMBOL, {call_frame.INSTANCE: words.ctypes.data})
        self.address = self._code.address
        """Where the machine code is."""

    def _places(self) -> list[int]:
        """Of each array, its place among arguments or results; -1 for one that is held."""
        names = [name for name in self.runner.names if name not in self.held]
        inputs = [names.index(name) if name in names else -1 for name in self.runner.names]
        return [*inputs, *range(len(self.runner.outputs))]

    def table(self, numbers: Sequence[int]) -> int:
        """The address of some integers, which are kept."""
        array = np.array(numbers, np.int64)
        self._kept.append(array)
        return int(array.ctypes.data)

    def record(self, kernel: tuple[int, int], chunk: int = CHUNK) -> int:
        """The address of the handler's record of a kernel (`entry.RECORD`)."""
        runner = self.runner
        kind = (0, call_frame.TYPES[runner.dtype.name], 0)
        units, count = runner.program.units, len(runner.inputs)
        record = entry_record(kernel, kind, runner.dtype.itemsize, runner.shapes, count, units, chunk)
        self._kept.append(record)
        return int(record[0].ctypes.data)

    def _texts(self, messages: Sequence[str]) -> int:
        texts = [np.frombuffer(message.encode() + b"\0", np.uint8) for message in messages]
        self._kept.append(texts)
        return self.table([text.ctypes.data for text in texts])


class CpuHandler(Handler):
    """Machine code that XLA calls to run a program on the CPU.

    Args:
        runner: Runner of the program, native or specialized.
        held: Inputs that are the same for all states and calls, by name.
        on_error: Treatment of states that are not finite.
    """

    def __init__(self, runner: Runner, held: Mapping[str, Any], on_error: OnError) -> None:
        super().__init__(runner, held)
        words = np.zeros(cpu_code.WORDS, np.int64)
        words[cpu_code.SINGLE : cpu_code.SINGLE + 3] = self._pool(batched=False)
        words[cpu_code.BATCH : cpu_code.BATCH + 3] = self._pool(batched=True)
        words[cpu_code.THREADS] = runner.threads
        words[cpu_code.MARKS] = on_error == "nan"
        words[cpu_code.BYTES] = runner.dtype.itemsize
        fixed = [self.held[name].ctypes.data if name in self.held else 0 for name in runner.names]
        words[cpu_code.HELD] = self.table([*fixed, *[0] * len(runner.outputs)])
        self.link(cpu_code.object_code(runner.dtype.name), words, 0, self._messages())

    def _pool(self, batched: bool) -> tuple[int, int, int]:
        """Records of the program, for one state or for batches: where they are, how many, and flags of those in use.

        Where a program has no work arrays, as straight-line code, there is one record for all, and no flags.
        """
        runner = self.runner
        if isinstance(runner, SpecializedRunner):
            entry = runner.own_entry(batched)
            self._kept.append(entry)
            chunk = GROUP if runner.program.algorithm.uneven else CHUNK
            return self.table([self.record(addresses(entry), chunk)]), 0, 0
        if not isinstance(runner, NativeRunner):
            raise UnsupportedFeature(f"{self.what} runs as plain Python, which XLA cannot call: leave plain() out")
        program, t = runner.program, Type(runner.dtype.name, runner.lanes if batched else 1)
        code = native.code(program.algorithm, t)
        count = min(MOST_CONTEXTS, max(runner.threads, os.cpu_count() or 1))
        contexts = [native.Context(program.algorithm, program.tree, t) for _ in range(count)]
        flags = np.zeros(count, np.int32)
        self._kept += [code, contexts, flags]
        records = [self.record((code.address, context.address)) for context in contexts]
        return self.table(records), count, int(flags.ctypes.data)

    def _messages(self) -> list[str]:
        """Messages by status, then those of inputs that are not finite."""
        messages = [f"{self.what}: unknown status"] * cpu_code.MESSAGE_OF_INPUT
        messages[SHAPES] = f"{self.what}: buffers do not fit the program; please report this"
        messages[NO_DIRECTION] = (
            f"{self.what}: q holds a quaternion or a direction (cos, sin) of zero or immense length"
        )
        messages[OVERFLOW] = (
            f"{self.what}: a result is not finite: numbers are too large for {self.runner.dtype}, or a body has no "
            "inertia, or constraints depend on each other, which a method without regularization cannot solve"
        )
        return messages + [f"{self.what}: {name} holds NaN or infinity" for name in self.runner.names]
