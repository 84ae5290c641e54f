# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of native code on a GPU beside its text (`kernel_text`): the plan of a robot, and scratch memory of
threads.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

from linkwork.compilers import llvm
from linkwork.compilers.cache import key
from linkwork.compilers.cuda.driver import Device, Memory
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.fingerprint import fingerprint
from linkwork.compilers.program import Program
from linkwork.kernels.algorithm import Algorithm, resolve

WARP = 32
"""Threads of a warp, which is a block by itself: few states have many multiprocessors."""
BLOCKS = 16
"""Blocks that share one multiprocessor: 512 threads of 128 registers. Most time goes by waiting for memory."""
SHARE = 16
"""Of the GPU's memory, the part that a scratch takes at most, unless one block needs more."""
FURTHER = 4
"""Arguments of the kernel beyond those of straight-line code."""
ALIGNMENT = 16
ONE_AXIS = 1 << 62
"""States along the first axis where there is no second: more than there are."""
PLAN_WORDS = 3


def has_text(program: Program) -> bool:
    """Whether a program has kernel code of its own that can be run for one state after another."""
    return program.derivation is None and not program.algorithm.traced and not program.algorithm.shared


@cache
def cache_name(algorithm: Algorithm, dtype: str, wanted: tuple[bool, ...], *target: str) -> str:
    """The name under which a kernel is kept: it does not depend on the mechanism."""
    shapes = repr([dict(part) for part in (algorithm.inputs, algorithm.outputs, algorithm.stored)])
    layout = repr((algorithm.layout.sizes, dict(algorithm.layout.integers), dict(algorithm.layout.floats)))
    texts = map(fingerprint, algorithm.texts)
    return key("cuda native", algorithm.name, *texts, shapes, layout, dtype, repr(wanted), *target, llvm.version())


# What it reads -------------------------------------------------------------------------------------------------------


class Plan:
    """The context of native code on a GPU: the plan of a robot, copied there once, and where things are in a scratch.

    Args:
        program: Kernel code and the plan.
        dtype: Type of the numbers.
        make: Allocates memory of the GPU, given how many bytes.
    """

    def __init__(self, program: Program, dtype: str, make: Callable[[int], Memory]) -> None:
        algorithm, tree, t = program.algorithm, program.tree, Type(dtype, 1)
        layout = algorithm.layout
        arrays = [
            np.ascontiguousarray(getattr(tree, name), np.int64 if name in layout.integers else np.dtype(dtype))
            for name in layout.shapes
        ]
        arrays.append(np.array(program.units, np.int64).reshape(-1, 2))
        shapes = [*algorithm.stored.values(), *algorithm.inputs.values(), *algorithm.outputs.values()]
        sizes = [math.prod(resolve(shape, tree)) for shape in shapes]
        self.arrays = len(algorithm.inputs) + len(algorithm.outputs)
        one_axis = np.array([ONE_AXIS, *[0] * self.arrays], np.int64)
        arrays.append(one_axis)
        offsets = [WARP * t.bytes * sum(sizes[:k]) for k in range(len(sizes))]
        self.warp_bytes: int = WARP * t.bytes * max(sum(sizes), 1)
        """Scratch of a warp."""
        stored = len(algorithm.stored)
        words = len(layout.sizes) + len(arrays) - 2 + stored + PLAN_WORDS + 2 * (len(sizes) - stored)
        starts, end = list[int](), aligned(8 * words)
        for array in arrays:
            starts.append(end)
            end = aligned(end + array.nbytes)
        self._memory = make(end)
        self.address: int = self._memory.pointer
        """Where the context is."""
        table = [int(getattr(tree, name)) for name in layout.sizes]
        table += [self.address + start for start in starts[:-2]]
        table += offsets[:stored]
        table += [self.warp_bytes, len(program.units), self.address + starts[-2]]
        self.one_axis: int = self.address + starts[-1]
        """Where it says that states are along one axis (`layout.Launch.second`)."""
        table += [word for pair in zip(offsets[stored:], sizes[stored:], strict=True) for word in pair]
        content = bytearray(end)
        content[: 8 * words] = np.array(table, np.int64).tobytes()
        for start, array in zip(starts, arrays, strict=True):
            content[start : start + array.nbytes] = array.tobytes()
        self._memory.write(bytes(content))


def aligned(size: int) -> int:
    """The next multiple of `ALIGNMENT`."""
    return -(-size // ALIGNMENT) * ALIGNMENT


# Launches ------------------------------------------------------------------------------------------------------------


class Launchable(Protocol):
    """A kernel that can be launched: `driver.CudaCode`."""

    arrays: int
    threads: int
    shared_bytes: int

    def function(self, where: Device) -> int:
        """The driver's handle of the kernel on a GPU."""

    def launch_blocks(self, values: Sequence[int], blocks: int, stream: int, where: Device) -> None:
        """Launch so many blocks."""


class NativeCode:
    """A kernel and the plan that it reads, launched as straight-line code is.

    Args:
        code: The kernel.
        plan: The plan, on the same GPU.
        make: Allocates memory of the GPU, given how many bytes.
    """

    def __init__(self, code: Launchable, plan: Plan, make: Callable[[int], Memory]) -> None:
        self.code, self.plan, self._make = code, plan, make
        self.arrays, self.threads, self.shared_bytes = code.arrays, code.threads, code.shared_bytes

    def function(self, where: Device) -> int:
        """The driver's handle of the kernel (``CUfunction``) on a GPU."""
        return self.code.function(where)

    def second_axis(self, second: Sequence[int]) -> Memory:
        """The table of a second axis, `layout.Launch.second`, on the GPU."""
        memory = self._make(8 * len(second))
        memory.write(np.array(second, np.int64).tobytes())
        return memory

    def launch(
        self, values: Sequence[int], count: int, stream: int, where: Device, status: int = 0, second: int = 0
    ) -> None:
        """Compute ``count`` states, ordered on a stream. The context of the GPU must be the current one.

        Args:
            values: Of each array, inputs then outputs: its address, the distance of its rows, and that of the numbers
                of a row, both in numbers.
            count: Number of states.
            stream: The driver's handle of the stream.
            where: The GPU.
            status: Address of four words that count what is not finite (`ptx`); 0: none.
            second: Address of a `second_axis`; 0: none.
        """
        if not count:
            return
        most = min(BLOCKS * where.multiprocessors, max(where.memory // SHARE // self.plan.warp_bytes, 1))
        blocks = min(-(-count // WARP), most)
        with _LOCK:  # else another thread might give the scratch back before the launch
            scratch = scratch_of(where.index, stream, blocks * self.plan.warp_bytes, self._make)
            further = (self.plan.address, scratch, blocks * WARP, second or self.plan.one_axis)
            self.code.launch_blocks((*values, count, status, *further), blocks, stream, where)


PER_THREAD = 2
"""The handle that stands for another stream in each thread of the host (``CU_STREAM_PER_THREAD``)."""
_SCRATCH: dict[tuple[int, int, int], Any] = {}
_LOCK = threading.Lock()


def scratch_of(where: int, stream: int, size: int, make: Callable[[int], Memory]) -> int:
    """The address of a scratch of at least so many bytes, one for each stream: what is on it runs in order.

    Where a larger one takes the place of another, the driver waits for all work before it gives memory back.

    Args:
        where: Number of the GPU.
        stream: The driver's handle of the stream.
        size: Number of bytes.
        make: Allocates memory of the GPU, given how many bytes.
    """
    place = (where, stream, threading.get_ident() if stream == PER_THREAD else 0)
    memory = _SCRATCH.get(place)
    if memory is None or memory.bytes < size:
        _SCRATCH.pop(place, None)
        memory = None  # freed before more is allocated
        memory = _SCRATCH[place] = make(size)
    return int(memory.pointer)
