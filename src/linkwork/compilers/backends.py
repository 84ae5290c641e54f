# SPDX-License-Identifier: BSD-3-Clause
"""Backends that run machine code: native code, which reads the plan of a robot, and code specialized for one robot."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from linkwork.compilers import cache as disk
from linkwork.compilers import llvm, native
from linkwork.compilers.entry import ordered, uneven
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.entry.entry_point import CHUNK, NEAR, entry_point
from linkwork.compilers.lanes import Type
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Array, Entry, Runner, thread_pool
from linkwork.compilers.trace import emit
from linkwork.compilers.trace.packing import Packing, packed
from linkwork.compilers.trace.tracing import Trace
from linkwork.errors import InputError

WIDEST_PACK = 8
"""Entries of a pack, at most."""

STACK = 1 << 20
"""Bytes of the stack that inputs and outputs in lanes may take."""


def runner_for(program: Program, backend: Backend) -> Runner:
    """The runner of a program on a backend."""
    if backend.name == "cuda":
        from linkwork.compilers.cuda.runner import CudaRunner  # only where there is a GPU

        return CudaRunner(program, backend)
    kinds: dict[str, type[Runner]] = {"plain": Runner, "native": NativeRunner, "specialized": SpecializedRunner}
    return kinds[backend.name](program, backend)


class NativeRunner(Runner):
    """Machine code that is generic in the mechanism: scalar for single states, lanes for batches.

    Code is compiled when it is first needed.
    """

    checks = True

    def __init__(self, program: Program, backend: Backend) -> None:
        super().__init__(program, backend)
        self.lanes = backend.lanes or best_lanes(backend.dtype)
        self._lock = threading.Lock()
        self._idle: dict[int, list[Entry]] = {1: [], self.lanes: []}

    @cached_property
    def _single(self) -> Entry:
        return self._new_entry(1)

    @property
    def entry(self) -> Entry:
        """Scalar code, with work arrays of its own: a call for one state keeps other threads out."""
        with self._lock:
            return self._single

    def _new_entry(self, lanes: int) -> Entry:
        """An entry point with work arrays of its own."""
        program, t = self.program, Type(self.dtype.name, lanes)
        code = native.code(program.algorithm, t)
        context = native.Context(program.algorithm, program.tree, t)
        arranged = lanes > 1 and program.algorithm.order is not None
        chunk, near = (ordered.GROUP, sys.maxsize) if arranged else (CHUNK, NEAR)
        return entry_point(code, context, self.dtype, self.shapes, len(self.inputs), program.units, chunk, near)

    def own_entry(self, batched: bool) -> Entry:
        """An entry point whose work arrays no other caller touches."""
        return self._new_entry(self.lanes if batched else 1)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """Through an entry point that no other thread uses at the moment.

        Two states take lanes already: a block of them costs about as much as two states in scalar code.
        """
        lanes = self.lanes if count > 1 else 1
        idle = self._idle[lanes]
        try:
            free = idle.pop()
        except IndexError:
            free = self._new_entry(lanes)
        try:
            return free(*inputs, *outputs)
        finally:
            idle.append(free)


class SpecializedRunner(Runner):
    """A straight-line program for one mechanism: scalar for single states, SIMD lanes for batches."""

    checks = True

    def __init__(self, program: Program, backend: Backend) -> None:
        super().__init__(program, backend)
        lanes = backend.lanes or best_lanes(backend.dtype)
        numbers = sum(int(np.prod(shape)) for shape in self.shapes)
        while lanes > 1 and lanes * numbers * self.dtype.itemsize > STACK:
            lanes //= 2
        self.lanes = lanes
        code = _SpecializedCode(program, backend.dtype, backend.max_operations)
        wanted = [1] if lanes == 1 else [1, lanes]
        with disk.announced(f"{program.algorithm.name} of '{program.robot}' ({backend.dtype})"):
            if len(wanted) > 1 and not all(code.cached(k) for k in wanted):
                code.packing()  # shared by both
                codes = list(thread_pool(2).map(code.code, wanted))
            else:
                codes = [code.code(k) for k in wanted]
        self._single, self._batch = self._new_entry(codes[0]), self._new_entry(codes[-1])

    @property
    def entry(self) -> Entry:
        """Scalar code."""
        return self._single

    def _new_entry(self, code: llvm.Code) -> Entry:
        chunk = uneven.GROUP if self.program.algorithm.uneven else CHUNK
        return entry_point(code, None, self.dtype, self.shapes, len(self.inputs), self.program.units, chunk)

    def own_entry(self, batched: bool) -> Entry:
        """Scalar code or lanes; programs share nothing that changes."""
        return self._batch if batched else self._single

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """One state through scalar code, more through lanes."""
        return (self._single if count == 1 else self._batch)(*inputs, *outputs)


class _SpecializedCode:
    """The machine code of one program, for any number of lanes, from the cache or made now."""

    def __init__(self, program: Program, dtype: str, limit: int) -> None:
        self.program, self.dtype, self.limit = program, dtype, limit
        self._trace: Trace | None = None
        self._packed = False
        self._packing: Packing | None = None
        self._content = disk.key(*program.content(), dtype, str(limit))

    def trace(self) -> Trace:
        """The straight-line program before code is made of it."""
        if self._trace is None:
            self._trace = self.program.trace(self.limit)
        return self._trace

    def packing(self) -> Packing | None:
        """A packing of the program's matrices, where that pays."""
        if not self._packed:
            self._packing = packed(self.trace(), min(WIDEST_PACK, best_lanes(self.dtype)))
            self._packed = True
        return self._packing

    def _name(self, lanes: int) -> str:
        return disk.key("specialized", self._content, str(lanes), llvm.version())

    def cached(self, lanes: int) -> bool:
        """Whether nothing needs compiling."""
        return (disk.folder() / self._name(lanes)).exists()

    def code(self, lanes: int) -> llvm.Code:
        """The code in this process."""

        def make() -> bytes:
            return llvm.object_code(emit.module(self.trace(), self.dtype, lanes, self.packing()))

        return llvm.loaded(self._name(lanes), SYMBOL, make)


def best_lanes(dtype: str) -> int:
    """Lanes that fill one vector register of this machine."""
    return llvm.vector_bytes() // np.dtype(dtype).itemsize


def default_threads() -> int:
    """``LINKWORK_NUM_THREADS``, or the cores this process may use."""
    setting = os.environ.get("LINKWORK_NUM_THREADS")
    if setting:
        try:
            return max(1, int(setting))
        except ValueError:
            raise InputError(f"LINKWORK_NUM_THREADS is '{setting}', needs a whole number") from None
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
