# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA's driver, by its C interface: devices, memory, machine code, launches. No toolkit and no package is needed.

Work is done in the primary context of a device, which torch, JAX and CuPy share. Nothing here waits for the GPU but
what says so.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from linkwork.compilers.entry.batch import SYMBOL
from linkwork.errors import DeviceError

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
NEWEST = 120
"""The newest architecture that PTX is written for; newer GPUs run code for older ones."""
PTX_INPUT = 1
JIT_LOG, JIT_LOG_SIZE, JIT_LEVEL, JIT_SPLIT = 5, 6, 7, 34
MOST_SHARED_OF_BLOCK, SHARED_OF_MULTIPROCESSOR, MULTIPROCESSORS, MAJOR, MINOR, CLOCK = 97, 81, 16, 75, 76, 13
DYNAMIC_SHARED = 8
PARAMETER_BUFFER, PARAMETER_SIZE, PARAMETERS_END = 1, 2, 0


class Driver:
    """The functions of the driver; each raises `DeviceError` where it fails."""

    def __init__(self) -> None:
        try:
            self._library: Any = (ctypes.WinDLL if sys.platform == "win32" else ctypes.CDLL)(LIBRARY)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            raise DeviceError(
                f"there is no NVIDIA driver on this machine ({LIBRARY} was not found): "
                "run where one is installed, or on the CPU: evaluator.compile()"
            ) from None
        self.launch_kernel = self._library.cuLaunchKernel
        self.launch_kernel.argtypes = [c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p]
        status = self._library.cuInit(0)
        if status:
            raise DeviceError(f"NVIDIA's driver finds no GPU that it can use: {self.words(status)}")

    def __getattr__(self, name: str) -> Callable[..., None]:
        """The function ``cu<name>``, which raises where it fails."""
        function = getattr(self._library, f"cu{name}")

        def call(*arguments: Any) -> None:
            status = function(*arguments)
            if status:
                raise DeviceError(f"cu{name} failed: {self.words(status)}")

        setattr(self, name, call)
        return call

    def words(self, status: int) -> str:
        """The meaning of a status."""
        text = c_char_p()
        self._library.cuGetErrorString(status, byref(text))
        return f"{(text.value or b'unknown error').decode()} (error {status})"


@cache
def driver() -> Driver:
    """The driver of this machine."""
    return Driver()


@cache
def version() -> int:
    """The newest CUDA that the driver knows: 13000 for 13.0."""
    number = c_int()
    driver().DriverGetVersion(byref(number))
    return number.value


_NOTHING = nullcontext()


@dataclass(frozen=True)
class Device:
    """A GPU and its primary context."""

    index: int

    @cached_property
    def handle(self) -> int:
        """The driver's number of it."""
        count, handle = c_int(), c_int()
        driver().DeviceGetCount(byref(count))
        if self.index >= count.value:
            raise DeviceError(f"there is no GPU {self.index}; the driver finds {count.value}")
        driver().DeviceGet(byref(handle), self.index)
        return handle.value

    @cached_property
    def context(self) -> int:
        """Its primary context, kept for the life of the process."""
        handle = c_void_p()
        driver().DevicePrimaryCtxRetain(byref(handle), self.handle)
        return handle.value or 0

    def attribute(self, which: int) -> int:
        """A number that describes it."""
        value = c_int()
        driver().DeviceGetAttribute(byref(value), which, self.handle)
        return value.value

    @cached_property
    def name(self) -> str:
        """NVIDIA's name of the device."""
        text = ctypes.create_string_buffer(256)
        driver().DeviceGetName(text, 256, self.handle)
        return text.value.decode()

    @cached_property
    def architecture(self) -> str:
        """The architecture that code is made for: ``sm_90``."""
        number = 10 * self.attribute(MAJOR) + self.attribute(MINOR)
        return f"sm_{min(number, NEWEST)}"

    @cached_property
    def shared_memory(self) -> int:
        """Shared memory of a multiprocessor in bytes."""
        return self.attribute(SHARED_OF_MULTIPROCESSOR)

    @cached_property
    def multiprocessors(self) -> int:
        """The number of multiprocessors."""
        return self.attribute(MULTIPROCESSORS)

    @cached_property
    def memory(self) -> int:
        """All its memory in bytes."""
        size = c_size_t()
        driver().DeviceTotalMem_v2(byref(size), self.handle)
        return size.value

    def current(self) -> AbstractContextManager[None]:
        """While its context is the current one of this thread."""
        handle = c_void_p()
        driver().CtxGetCurrent(byref(handle))
        return _NOTHING if handle.value == self.context else self._pushed()

    @contextmanager
    def _pushed(self) -> Iterator[None]:
        cu, handle = driver(), c_void_p()
        cu.CtxPushCurrent_v2(c_void_p(self.context))
        try:
            yield
        finally:
            cu.CtxPopCurrent_v2(byref(handle))


@cache
def device(index: int = 0) -> Device:
    """A GPU by its number."""
    return Device(index)


# Memory --------------------------------------------------------------------------------------------------------------


class Memory:
    """Memory of a GPU, given back when this object is gone."""

    def __init__(self, where: Device, size: int) -> None:
        self.device, self.bytes = where, size
        pointer = c_uint64()
        with where.current():
            driver().MemAlloc_v2(byref(pointer), c_size_t(max(size, 1)))
        self.pointer: int = pointer.value

    def write(self, content: bytes, stream: int = 0) -> None:
        """Copy bytes there."""
        with self.device.current():
            driver().MemcpyHtoD_v2(c_uint64(self.pointer), content, c_size_t(len(content)))

    def read(self, size: int, offset: int = 0) -> bytes:
        """Copy bytes from there; waits for all work before."""
        content = ctypes.create_string_buffer(max(size, 1))
        with self.device.current():
            driver().CtxSynchronize()
            driver().MemcpyDtoH_v2(content, c_uint64(self.pointer + offset), c_size_t(size))
        return content.raw[:size]

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        pointer = self.__dict__.pop("pointer", 0)
        if pointer and not ending():
            with self.device.current():
                driver().MemFree_v2(c_uint64(pointer))


def zeroed(memory: Memory, stream: int) -> None:
    """Set memory to zero, ordered on a stream. The context of the GPU must be the current one.

    Args:
        memory: Of a GPU, a multiple of four bytes.
        stream: The driver's handle of the stream.
    """
    driver().MemsetD32Async(c_uint64(memory.pointer), 0, c_size_t(memory.bytes // 4), c_void_p(stream))


# Machine code --------------------------------------------------------------------------------------------------------


class Linker:
    """Makes machine code of PTX texts, which are assembled one after another while further ones are written.

    Args:
        where: The GPU.
        level: Level of optimization of the assembler, 0 to 4.
        side_by_side: Whether functions of a text are assembled at the same time, without looking at one another:
            in a fraction of the time, for code that may be slower.
    """

    def __init__(self, where: Device, level: int = 3, side_by_side: bool = False) -> None:
        self.device, self.side_by_side = where, side_by_side
        self._log = ctypes.create_string_buffer(8192)
        self._options = {JIT_LOG: ctypes.addressof(self._log), JIT_LOG_SIZE: len(self._log), JIT_LEVEL: level}
        self._given: Any = None
        self._state = c_void_p()
        self._added = list[Future[None]]()

    def __enter__(self) -> Linker:
        self._pool = ThreadPoolExecutor(1)
        with self.device.current():
            try:
                self._create({**self._options, JIT_SPLIT: os.cpu_count() or 1 if self.side_by_side else 1})
            except DeviceError:  # an older driver assembles one function after another
                self._create(self._options)
        return self

    def _create(self, options: dict[int, int]) -> None:
        names, values = (c_int * len(options))(*options), (c_void_p * len(options))(*options.values())
        driver().LinkCreate_v2(len(options), names, values, byref(self._state))
        self._given = names, values  # for as long as the driver reads them

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        with self.device.current():
            driver().LinkDestroy(self._state)

    def add(self, ptx: str | Callable[[], str]) -> None:
        """Have a text assembled.

        Args:
            ptx: The text, or what makes it.
        """
        self._added.append(self._pool.submit(self._add, ptx))

    def _add(self, ptx: str | Callable[[], str]) -> None:
        text = (ptx if isinstance(ptx, str) else ptx()).encode() + b"\0"
        with self._told(), self.device.current():
            driver().LinkAddData_v2(self._state, PTX_INPUT, text, c_size_t(len(text)), b"linkwork", 0, None, None)

    def complete(self) -> bytes:
        """The machine code of all texts."""
        for each in self._added:
            each.result()
        code, size = c_void_p(), c_size_t()
        with self._told(), self.device.current():
            driver().LinkComplete(self._state, byref(code), byref(size))
            return ctypes.string_at(code.value or 0, size.value)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except DeviceError as error:
            raise DeviceError(f"{error}; the assembler says: {self._log.value.decode().strip()}") from None


def machine_code(ptx: str, where: Device, level: int = 3) -> bytes:
    """Machine code of PTX for a GPU, made by the driver.

    Args:
        ptx: The text.
        where: The GPU.
        level: Level of optimization of the assembler, 0 to 4.
    """
    with Linker(where, level) as linker:
        linker.add(ptx)
        return linker.complete()


class CudaCode:
    """A kernel on one or more GPUs: machine code that is loaded once for each of them.

    Args:
        cubin: Machine code for a GPU.
        arrays: Number of arrays that it takes.
        threads: Threads of a block.
        shared_bytes: Shared memory of a block.
        further: Parameters beyond arrays, count and status.
    """

    def __init__(self, cubin: bytes, arrays: int, threads: int, shared_bytes: int, further: int = 0) -> None:
        self.cubin, self.arrays, self.threads, self.shared_bytes = cubin, arrays, threads, shared_bytes
        self._functions: dict[int, int] = {}
        self._lock = threading.Lock()
        self._format = struct.Struct(f"<{3 * arrays + 2 + further}q")
        self._idle: list[_Parameters] = []

    def function(self, where: Device) -> int:
        """The driver's handle of the kernel (``CUfunction``) on a GPU."""
        function = self._functions.get(where.index)
        return self._load(where) if function is None else function

    def _load(self, where: Device) -> int:
        with self._lock:
            if where.index not in self._functions:
                cu, module, function = driver(), c_void_p(), c_void_p()
                with where.current():
                    cu.ModuleLoadData(byref(module), self.cubin)
                    cu.ModuleGetFunction(byref(function), module, SYMBOL.encode())
                    if self.shared_bytes:
                        cu.FuncSetAttribute(function, DYNAMIC_SHARED, self.shared_bytes)
                    self._loaded(module)
                self._functions[where.index] = function.value or 0
            return self._functions[where.index]

    def _loaded(self, module: c_void_p) -> None:
        """Registers a loaded module."""

    def launch(self, values: Sequence[int], count: int, stream: int, where: Device, status: int = 0) -> None:
        """Compute ``count`` states, ordered on a stream. The context of the GPU must be the current one.

        Args:
            values: Of each array, inputs then outputs: its address, the distance of its rows, and that of the numbers
                of a row, both in numbers.
            count: Number of states.
            stream: The driver's handle of the stream (``CUstream``).
            where: The GPU.
            status: Address of four words that count what is not finite (`ptx`); 0: none.
        """
        if count:
            self.launch_blocks((*values, count, status), -(-count // self.threads), stream, where)

    def launch_blocks(
        self, values: Sequence[int], blocks: int, stream: int, where: Device, threads: int | None = None
    ) -> None:
        """Launch so many blocks, ordered on a stream. The context of the GPU must be the current one.

        Args:
            values: All parameters of the kernel, 64 bits each.
            blocks: Number of blocks.
            stream: The driver's handle of the stream.
            where: The GPU.
            threads: Threads of a block; by default as many as the kernel is made for.
        """
        try:
            parameters = self._idle.pop()
        except IndexError:
            parameters = _Parameters(self._format.size)
        self._format.pack_into(parameters.content, 0, *values)
        cu, size = driver(), threads or self.threads
        failed = cu.launch_kernel(
            self.function(where), blocks, 1, 1, size, 1, 1, self.shared_bytes, stream, None, parameters.address
        )
        self._idle.append(parameters)
        if failed:
            raise DeviceError(f"cuLaunchKernel failed: {cu.words(failed)}")


class _Parameters:
    """The parameters of a launch in one buffer, as the driver takes them."""

    def __init__(self, size: int) -> None:
        self.content = ctypes.create_string_buffer(size)
        self._size = c_size_t(size)
        self._extra = (c_void_p * 5)(
            PARAMETER_BUFFER,
            ctypes.addressof(self.content),
            PARAMETER_SIZE,
            ctypes.addressof(self._size),
            PARAMETERS_END,
        )
        self.address = ctypes.addressof(self._extra)


def packed(cubin: bytes, **known: int) -> bytes:
    """Machine code and what a launch needs to know, as one entry of the cache."""
    head = json.dumps(known).encode()
    return len(head).to_bytes(4, "little") + head + cubin


def unpacked(content: bytes) -> tuple[bytes, dict[str, int]]:
    """The content that `packed` joined."""
    size = int.from_bytes(content[:4], "little")
    return content[4 + size :], json.loads(content[4 : 4 + size])
