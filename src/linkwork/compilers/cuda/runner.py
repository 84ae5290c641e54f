# SPDX-License-Identifier: BSD-3-Clause
"""The backend ``"cuda"``: a program on a GPU, called with arrays that are there.

A program is straight-line code, or native code where it would be too long.

Inputs that an evaluator holds itself (settings, regularization, parameters) are NumPy arrays of one state: they are
copied to the GPU once. Those that are all zero (wrenches, targets, directions that a call leaves out) are not even
that: straight-line code is made for the inputs that are given, and what depends on zeros alone vanishes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from linkwork.compilers import cache as disk
from linkwork.compilers import llvm
from linkwork.compilers.cuda import native, ptx
from linkwork.compilers.cuda.arrays import KNOWN, Library, View, library_of, strides_of
from linkwork.compilers.cuda.assembling import Assembler, uncollected
from linkwork.compilers.cuda.calls import Call, Prepared
from linkwork.compilers.cuda.device_functions import declared, own_module
from linkwork.compilers.cuda.driver import (
    CudaCode,
    Device,
    Memory,
    device,
    packed,
    unpacked,
    version,
)
from linkwork.compilers.cuda.layout import Layouts, Rows, rows_of
from linkwork.compilers.cuda.native import NativeCode
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.compilers.trace.fixed import fixed
from linkwork.compilers.trace.tracing import Trace
from linkwork.errors import InputError, NotFinite, ProgramTooLarge

GIVEN = ("q", "v", "tau", "a")
"""Inputs that no evaluator holds, but for zeros: NumPy arrays in their place are mistakes."""
PRECISIONS = ("float32", "float64")
SMALL = 4096
"""Bytes of a NumPy array up to which it is compared by its numbers."""
MOST_CALLS = 64
"""Kinds of calls that are remembered."""


@dataclass(frozen=True)
class Signature:
    """Which inputs of a program a kernel does not read from the caller's arrays."""

    zero: frozenset[int] = frozenset()
    """Inputs that are zero, and left out of the program."""
    held: frozenset[int] = frozenset()
    """Inputs that are the same for all states."""


class CudaRunner(Runner):
    """Runs a program on GPUs: one thread a state."""

    def __init__(self, program: Program, backend: Backend) -> None:
        super().__init__(program, backend)
        self.limit, self._asked = backend.max_operations, backend.device_code
        outputs = program.algorithm.outputs
        self.wanted = [backend.outputs is None or name in backend.outputs for name in outputs]
        """Which outputs are computed."""
        if program.algorithm.iterate is not None and not self.wanted[-1]:
            raise InputError(
                f"{program.algorithm.name} of '{program.robot}' iterates until '{list(outputs)[-1]}' says that it has "
                "converged: with max_iterations=1 it can be left out"
            )
        self.sizes = [math.prod(shape) for shape in self.shapes]
        self._lock = threading.Lock()
        self._trace: Trace | None = None
        self.codes: dict[tuple[Signature, int], CudaCode | NativeCode] = {}
        """Kernels that were made, by signature and GPU."""
        self._constants: dict[tuple[int, bytes], Memory] = {}
        self._copies: dict[tuple[int, int], tuple[Memory, Any]] = {}
        self._status: dict[int, Memory] = {}
        self._calls: dict[tuple[Any, ...], Call] = {}
        self._quick: dict[tuple[Any, ...], tuple[Call, list[int], Any]] = {}
        """Calls with what evaluators hold, which is kept: it is known by its identity."""

    # Machine code ----------------------------------------------------------------------------------------------------

    @cached_property
    def is_native(self) -> bool:
        """Whether code reads the plan: by request, or where straight-line code would be too long."""
        if self._asked is not None or not native.has_text(self.program):
            return self._asked == "native" and native.has_text(self.program)

        def make() -> bytes:
            try:
                self._trace = self.program.trace(self.limit)
            except ProgramTooLarge:
                return b"native"
            return b"specialized"

        return disk.fetch(disk.key("cuda code", *self.program.content(), str(self.limit)), make) == b"native"

    def code(self, signature: Signature, where: Device) -> CudaCode | NativeCode:
        """The kernel for a set of given inputs: from this process, from the cache, or made now."""
        code = self.codes.get((signature, where.index))
        if code is None:
            with self._lock:
                code = self.codes.get((signature, where.index))
                if code is None:
                    code = self.codes[signature, where.index] = self._made(signature, where)
        return code

    def _made(self, signature: Signature, where: Device) -> CudaCode | NativeCode:
        target = (where.architecture, str(version()))
        name = native.cache_name(self.program.algorithm, self.dtype.name, tuple(self.wanted), *target)
        if not self.is_native:
            name = self._cache_name(signature, where)

        def make() -> bytes:
            robot = "" if self.is_native else f" of '{self.program.robot}'"
            words = f"{self.program.algorithm.name}{robot} ({self.dtype}, {where.name})"
            with disk.announced(words), uncollected():
                kernel = self.kernel(signature, where.shared_memory)
                with Assembler(where, kernel.level, kernel.optimization, side_by_side=bool(kernel.parts)) as assembler:
                    ir = kernel.ir
                    for part in kernel.parts:
                        assembler.add(own_module(kernel.head, part))
                        ir = ir.replace(part, declared(part), 1)
                    cubin = assembler.complete(ir)
                return packed(cubin, threads=kernel.threads, shared_bytes=kernel.shared_bytes)

        cubin, known = unpacked(disk.fetch(name, make))
        further = native.FURTHER if self.is_native else 0
        return self.with_plan(CudaCode(cubin, len(self.shapes), **known, further=further), where)

    def with_plan(self, code: CudaCode, where: Device) -> CudaCode | NativeCode:
        """A kernel, and the plan that it reads where it does."""
        if not self.is_native:
            return code
        memory = partial(Memory, where)
        return NativeCode(code, native.Plan(self.program, self.dtype.name, memory), memory)

    def _cache_name(self, signature: Signature, where: Device) -> str:
        parts = [self.dtype.name, str(self.limit), repr((sorted(signature.zero), sorted(signature.held), self.wanted))]
        parts += [
            where.architecture,
            str(where.shared_memory),
            str(version()),
            llvm.version(),
            repr(self.program.units),
        ]
        return disk.key("cuda", *self.program.content(), *parts)

    def kernel(self, signature: Signature, shared_memory: int) -> ptx.Kernel:
        """The kernel as LLVM IR, for multiprocessors with so many bytes of shared memory."""
        if self.is_native:
            from linkwork.compilers.cuda import kernel_text  # where something is to be compiled alone

            return kernel_text.kernel(self.program.algorithm, self.dtype.name, self.wanted)
        limits = ptx.limits(self.dtype.name, shared_memory)
        held = signature.zero | signature.held
        return ptx.kernel(self.traced(signature), self.dtype.name, limits, held, self.program.units)

    def traced(self, signature: Signature) -> Trace:
        """The straight-line program of those inputs that are not zero, and of those outputs that are wanted."""
        if self._trace is None:
            self._trace = self.program.trace(self.limit)
        traced = self._trace
        zeros = {name: [0.0] * size for k, (name, size) in enumerate(traced.inputs) if k in signature.zero}
        if zeros:
            traced = fixed(traced, zeros)
        wanted = zip(traced.outputs, self.wanted, strict=True)
        return replace(traced, outputs=tuple((name, symbols if has else ()) for (name, symbols), has in wanted))

    # Calls -----------------------------------------------------------------------------------------------------------

    def evaluate(self, arguments: Sequence[Any], out: Sequence[Any], stream: int | None = None) -> list[Any]:
        """Compute for arrays on a GPU, without waiting for it; leading axes broadcast."""
        key = self._key(arguments, out)
        call = None if key is None else self._calls.get(key)
        if call is not None:
            return call.run(arguments, out, stream)
        call, views = self._new_call(arguments, out, stream)
        if key is not None and len(call.launches) == 1:
            if len(self._calls) >= MOST_CALLS:
                self._calls.clear()
            self._calls[key] = call
        return call.run(arguments, out, stream, views)

    def evaluate_with(self, held: tuple[Any, ...], given: Sequence[Any]) -> list[Any]:
        """Compute for arrays of the caller, new outputs, at little cost from the second call on.

        Args:
            held: Arrays that an evaluator holds, after the caller's arrays: known by its identity, never changed.
            given: Arrays of the caller.
        """
        try:
            key = (id(held), *[KNOWN[type(x)].key(x) for x in given])
        except (KeyError, NotImplementedError, AttributeError):  # of a type that was not seen, or has no key
            key = ()
        known = self._quick.get(key)
        if known is not None:
            call, values, _ = known
            return call.again(given, values)
        arguments, out = [*given, *held], [None] * len(self.outputs)
        results = self.evaluate(arguments, out)
        name = self._key(arguments, out)
        prepared = None if name is None else self._calls.get(name)
        if key and prepared is not None and prepared.given == tuple(range(len(given))):
            if len(self._quick) >= MOST_CALLS:
                self._quick.clear()
            self._quick[key] = prepared, prepared.relative, held
        return results

    @staticmethod
    def _key(arguments: Sequence[Any], out: Sequence[Any]) -> tuple[Any, ...] | None:
        """The key of a call, all but the addresses of arrays, if it can be determined quickly."""
        parts: list[Any] = []
        for x in (*arguments, *out):
            if x is None:
                parts.append(None)
            elif type(x) is np.ndarray:
                parts.append(x.tobytes() if x.nbytes <= SMALL else id(x))
                parts.append(x.shape)
            else:
                reader = KNOWN.get(type(x))
                if reader is None or not reader.quick:
                    return None
                parts.append(reader.key(x))
        return tuple(parts)

    def _new_call(
        self, arguments: Sequence[Any], out: Sequence[Any], stream: int | None
    ) -> tuple[Call, list[View | None]]:
        """A new call for such arrays, and views of them."""
        views, library, constants = self._views(arguments, stream)
        where = device(next(view.device for view in views if view is not None))
        layouts = Layouts(self.names, views, self.inputs)
        made_views: list[View] = []
        for name, array, shape in zip(self.program.algorithm.outputs, out, self.outputs, strict=True):
            full = (*layouts.lead, *shape)
            if array is None:
                major = len(layouts.lead) if layouts.number_major and len(shape) == 1 and library.strided else 0
                made_views.append(View(0, full, strides_of(full, major), self.dtype.name, where.index))
            else:
                view = library_of(array, f"out for {name}").view(array, f"out for {name}", stream)
                self._check_view(f"out for {name}", view, where.index)
                if view.shape != full:
                    raise InputError(f"out for {name} has shape {view.shape}, needs {full}")
                made_views.append(view)
        with where.current():
            signature = self.signature(constants)
            code, status = self.code(signature, where), self.status(where)
            rows = [
                self._constant(k, constants[k], signature, where) if view is None else rows_of(name, view, len(shape))
                for k, (name, view, shape) in enumerate(zip(self.names, views, self.inputs, strict=True))
            ]
            rows += [
                rows_of("a result", view, len(shape)) for view, shape in zip(made_views, self.outputs, strict=True)
            ]
        array = [k for k, x in enumerate(arguments) if type(x) is not np.ndarray]
        made_views = [view._replace(owner=None) for view in made_views]
        launches = list(layouts.launches(rows, two_axes=self.is_native))
        call = Call(code, where, status, library, array, made_views, self.wanted, rows, launches)
        return call, [*views, *made_views]

    def _views(self, arguments: Sequence[Any], stream: int | None) -> tuple[list[View | None], Library, dict[int, Any]]:
        """Views of the caller's arrays, None for those that the evaluator holds; their library; those that it holds."""
        views: list[View | None] = []
        library, where = None, -1
        constants: dict[int, Any] = {}
        for k, (name, x, shape) in enumerate(zip(self.names, arguments, self.inputs, strict=True)):
            if type(x) is np.ndarray and self._is_held(name, x, shape):
                constants[k] = x
                views.append(None)
                continue
            reader = library_of(x, name)
            view = reader.view(x, name, stream)
            lead = len(view.shape) - len(shape)
            if lead < 0 or view.shape[lead:] != shape:
                raise InputError(self._wrong_shape(name, view.shape, shape))
            if library is None:
                library, where = reader, view.device
            self._check_view(name, view, where)
            views.append(view)
        if library is None:
            raise InputError(f"{self.program.algorithm.name} on 'cuda' needs an array on a GPU among its inputs")
        for k in [k for k, x in constants.items() if x.shape != self.inputs[k]]:
            views[k] = self._copied(constants.pop(k), device(where))
        return views, library, constants

    def _copied(self, x: Any, where: Device) -> View:
        """A batch that an evaluator holds, such as parameters: copied once."""
        known = self._copies.get((where.index, id(x)))
        if known is None:
            memory = Memory(where, x.nbytes)
            memory.write(np.ascontiguousarray(x, self.dtype).tobytes())
            known = self._copies[where.index, id(x)] = (memory, x)
        strides = tuple(math.prod(x.shape[k + 1 :]) for k in range(x.ndim))
        return View(known[0].pointer, x.shape, strides, self.dtype.name, where.index)

    @staticmethod
    def _is_held(name: str, x: Any, shape: tuple[int, ...]) -> bool:
        """Whether a NumPy array is an evaluator's own: of one state, or a batch that cannot change."""
        if name in GIVEN:
            return x.shape == shape and not x.any()
        return bool(x.shape == shape or (not x.flags.writeable and x.shape[x.ndim - len(shape) :] == shape))

    def _check_view(self, name: str, view: View, where: int) -> None:
        if view.dtype != self.dtype.name:
            other = f", or make the evaluator by .to('cuda', dtype='{view.dtype}')" if view.dtype in PRECISIONS else ""
            raise InputError(
                f"{name} has dtype {view.dtype}, this evaluator computes in {self.dtype}: convert it{other}"
            )
        if view.device != where:
            raise InputError(f"{name} is on GPU {view.device}, other arrays are on GPU {where}")

    def signature(self, constants: Mapping[int, Any]) -> Signature:
        """The signature of calls with these inputs held."""
        if self.is_native:
            return Signature()  # one kernel for all
        zero = frozenset(k for k, x in constants.items() if not x.any())
        return Signature(zero, frozenset(constants) - zero)

    def _constant(self, k: int, x: Any, signature: Signature, where: Device) -> Rows:
        """An input that is the same for all states."""
        if k in signature.zero:
            return Rows(0, (), 1)
        content = np.ascontiguousarray(x, self.dtype).tobytes()
        memory = self._constants.get((where.index, content))
        if memory is None:
            if not np.isfinite(x).all():
                raise InputError(f"{self.names[k]} holds numbers that are not finite")
            memory = Memory(where, len(content))
            memory.write(content)
            self._constants[where.index, content] = memory
        return Rows(memory.pointer, (), 1)

    def prepared(self, constants: Mapping[str, Any], where: int = 0) -> Prepared:
        """Code for callers that have addresses of arrays, not arrays: frameworks, and loops over steps.

        Args:
            constants: Inputs that are the same for all states and calls, by name, as NumPy arrays of one state.
            where: Number of the GPU.
        """
        at = device(where)
        held = {self.names.index(name): np.asarray(x, self.dtype) for name, x in constants.items()}
        with at.current():
            signature = self.signature(held)
            code = self.code(signature, at)
            code.function(at)
            fixed = {k: self._constant(k, x, signature, at).pointer for k, x in held.items()}
            return Prepared(code, at, fixed, self.status(at))

    # What is not finite ----------------------------------------------------------------------------------------------

    def status(self, where: Device) -> int:
        """The address of the words that count states that are not finite (`ptx`), on a GPU."""
        memory = self._status.get(where.index)
        if memory is None:
            with self._lock:
                memory = self._status.get(where.index)
                if memory is None:
                    memory = Memory(where, 4 * len(ptx.STATUS_WORDS))
                    memory.write(np.array(ptx.STATUS_WORDS, np.uint32).tobytes())
                    self._status[where.index] = memory
        return memory.pointer

    def check(self) -> None:
        """Raise `InputError` or `NotFinite` where states since the last check were not finite; waits for the GPU."""
        for memory in self._status.values():
            words = np.frombuffer(memory.read(memory.bytes), np.uint32)
            if words[0] or words[2]:
                memory.write(np.array(ptx.STATUS_WORDS, np.uint32).tobytes())
            what = f"{self.program.algorithm.name} of '{self.program.robot}'"
            if words[0]:
                raise InputError(
                    f"inputs of {words[0]} states of {what} hold NaN or infinity, or a quaternion of no length; the "
                    f"first is state {words[1]}; their results are NaN"
                )
            if words[2]:
                raise NotFinite(
                    f"results of {words[2]} states of {what} are not finite; the first is state {words[3]}: numbers "
                    f"are too large for {self.dtype}, or a body has no inertia"
                )
