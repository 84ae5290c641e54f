# SPDX-License-Identifier: BSD-3-Clause
"""Arrays on a GPU: those of torch, CuPy, JAX and others are read as they are; results are arrays of the same library.

| what an array has                | how it is read and made                                                     |
|----------------------------------|-----------------------------------------------------------------------------|
| torch's tensors, CuPy's arrays   | by their own attributes, on their library's current stream                  |
| ``__dlpack__`` (JAX and others)  | by DLPack, ordered on our stream; results of JAX are made of ours           |
| ``__cuda_array_interface__``     | by that; results are `DeviceArray`                                          |
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from linkwork.compilers.cuda import dlpack
from linkwork.compilers.cuda.driver import Device, Memory, device, driver
from linkwork.conversions import converted_but
from linkwork.errors import InputError
from linkwork.inputs import real_array

CUDA = 2
"""DLPack's number of devices of NVIDIA."""
LEGACY_STREAM = 1
"""DLPack's number of the default stream."""


class View(NamedTuple):
    """An array as a kernel sees it: strides in numbers, not bytes."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: int
    owner: Any = None
    """Object that keeps the memory alive."""


class Library(Protocol):
    """Access to the arrays of one library."""

    strided: bool
    """Whether its arrays can be number-major."""
    quick: bool
    """Whether `key` and `pointer` tell all of an array."""

    def view(self, x: Any, name: str, stream: int | None) -> View:
        """An array as a kernel sees it; ready on the stream."""

    def key(self, x: Any) -> Any:
        """All of an array but its address: shape, strides, type, device."""

    def pointer(self, x: Any) -> int:
        """The address of an array."""

    def stream(self, where: int) -> int:
        """The library's current stream on a device."""

    def empty(self, like: View) -> tuple[Any, int]:
        """A new array of the shape, strides, type and device of a view, and its address."""

    def finished(self, x: Any) -> Any:
        """A new array as the caller gets it, after it was written."""


def library_of(x: Any, name: str) -> Library:
    """The library of an array.

    Args:
        x: The array.
        name: Of the argument, for messages.
    """
    kind = type(x)
    library = KNOWN.get(kind)
    if library is None:
        library = KNOWN[kind] = _library(kind, x, name)
    return library


def _library(kind: type, x: Any, name: str) -> Library:
    names = {base.__module__.partition(".")[0] for base in kind.__mro__}
    if isinstance(x, DeviceArray):
        return _Own()
    if "torch" in names:
        return _Torch()
    if "cupy" in names:
        return _CuPy()
    if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
        return _Jax() if names & {"jax", "jaxlib"} else _DLPack()
    if hasattr(kind, "__cuda_array_interface__"):
        return _Interface()
    what = "a NumPy array" if isinstance(x, np.ndarray) else f"a {kind.__name__}"
    raise InputError(
        f"{name} is {what}, which is in the memory of the CPU; evaluators on 'cuda' take arrays on a GPU: "
        "lw.devices.to_device(x), torch.as_tensor(x, device='cuda'), cupy.asarray(x), jax.device_put(x)"
    )


KNOWN: dict[type, Library] = {}
"""Readers of arrays, by type."""


# Libraries -----------------------------------------------------------------------------------------------------------


class _Torch:
    """torch's tensors."""

    strided = quick = True

    def __init__(self) -> None:
        self.torch: Any = import_module("torch")
        torch = self.torch
        self.names = {torch.float32: "float32", torch.float64: "float64"}
        self.types = {"float32": torch.float32, "float64": torch.float64}
        self._empty = torch.empty_strided
        self._devices: dict[int, Any] = {}
        self._stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def view(self, x: Any, name: str, stream: int | None) -> View:
        where = x.device
        if where.type != "cuda":
            raise InputError(f"{name} is a tensor on '{where}', needs one on a GPU: {name}.to('cuda')")
        dtype = self.names.get(x.dtype) or str(x.dtype).removeprefix("torch.")
        return View(x.data_ptr(), tuple(x.shape), x.stride(), dtype, where.index or 0, x)

    def stream(self, where: int) -> int:
        if self._stream is not None:
            return int(self._stream(where))
        return int(self.torch.cuda.current_stream(where).cuda_stream)

    def key(self, x: Any) -> Any:
        return x.shape, x.stride(), x.dtype, x.device

    def pointer(self, x: Any) -> int:
        return int(x.data_ptr())

    def empty(self, like: View) -> tuple[Any, int]:
        device = self._devices.get(like.device)
        if device is None:
            device = self._devices[like.device] = self.torch.device("cuda", like.device)
        array = self._empty(like.shape, like.strides, dtype=self.types[like.dtype], device=device)
        return array, array.data_ptr()

    def finished(self, x: Any) -> Any:
        return x


class _CuPy:
    """CuPy's arrays."""

    strided = quick = True

    def __init__(self) -> None:
        self.cupy: Any = import_module("cupy")

    def view(self, x: Any, name: str, stream: int | None) -> View:
        size = x.itemsize
        return View(x.data.ptr, x.shape, tuple(s // size for s in x.strides), x.dtype.name, x.device.id, x)

    def stream(self, where: int) -> int:
        return int(self.cupy.cuda.get_current_stream(where).ptr)

    def key(self, x: Any) -> Any:
        return x.shape, x.strides, x.dtype, x.device.id

    def pointer(self, x: Any) -> int:
        return int(x.data.ptr)

    def empty(self, like: View) -> tuple[Any, int]:
        with self.cupy.cuda.Device(like.device):
            memory = self.cupy.empty(math.prod(like.shape), like.dtype)
        size = memory.itemsize
        strides = tuple(s * size for s in like.strides)
        return self.cupy.ndarray(like.shape, like.dtype, memory.data, strides), int(memory.data.ptr)

    def finished(self, x: Any) -> Any:
        return x


class _Own:
    """Our own arrays, on the default stream."""

    strided = quick = True

    def view(self, x: DeviceArray, name: str, stream: int | None) -> View:
        return View(x.pointer, x.shape, x.strides, x.dtype.name, x.device, x)

    def stream(self, where: int) -> int:
        return 0

    def key(self, x: Any) -> Any:
        return x.shape, x.strides, x.dtype, x.device

    def pointer(self, x: Any) -> int:
        return int(x.pointer)

    def empty(self, like: View) -> tuple[Any, int]:
        array = DeviceArray(like.shape, like.dtype, like.device, like.strides)
        return array, array.pointer

    def finished(self, x: Any) -> Any:
        return x


class _DLPack(_Own):
    """Arrays that speak DLPack."""

    quick = False

    def view(self, x: Any, name: str, stream: int | None) -> View:
        kind, where = x.__dlpack_device__()
        if kind != CUDA:
            raise InputError(
                f"{name} is a {type(x).__name__} that is not on a GPU of NVIDIA (DLPack device {int(kind)}): "
                "lw.devices.to_device(x) makes an array there"
            )
        capsule = x.__dlpack__(stream=stream or LEGACY_STREAM)
        view = dlpack.read(capsule)
        return View(view.pointer, view.shape, view.strides, view.dtype, where, (x, capsule))


class _Jax(_DLPack):
    """JAX's arrays, which are never written to: results are handed over when they are computed."""

    strided = False

    def finished(self, x: Any) -> Any:
        return import_module("jax.dlpack").from_dlpack(x)


class _Interface(_Own):
    """Arrays that have ``__cuda_array_interface__``."""

    quick = False

    def view(self, x: Any, name: str, stream: int | None) -> View:
        known = x.__cuda_array_interface__
        dtype = np.dtype(known["typestr"])
        shape = tuple(known["shape"])
        steps = known.get("strides")
        strides = strides_of(shape, 0) if steps is None else tuple(s // dtype.itemsize for s in steps)
        return View(known["data"][0], shape, strides, dtype.name, _device_of(known["data"][0]), x)


def _device_of(pointer: int) -> int:
    """The GPU that an address belongs to."""
    device = ctypes.c_int()
    driver().PointerGetAttribute(ctypes.byref(device), 9, ctypes.c_uint64(pointer))
    return device.value


def strides_of(shape: Sequence[int], number_major: int = 0) -> tuple[int, ...]:
    """Strides of a new array: C order, or with the first ``number_major`` axes varying fastest.

    Args:
        shape: Its shape.
        number_major: Number of leading axes that vary fastest.
    """
    order = [*range(number_major, len(shape)), *range(number_major)]
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis], step = step, step * max(shape[axis], 1)
    return tuple(strides)


# Arrays of our own ---------------------------------------------------------------------------------------------------


class DeviceArray:
    """An array on a GPU, for use without a framework: made by `to_device`, and by evaluators on ``"cuda"``.

    torch, CuPy and JAX take it without a copy (``torch.from_dlpack(x)``); ``x.numpy()`` brings it back.

    Args:
        shape: Its shape.
        dtype: Its type of numbers.
        device: Number of the GPU.
        strides: Distances of its axes in numbers; by default C order.
    """

    def __init__(
        self, shape: Sequence[int], dtype: str = "float64", device: int = 0, strides: Sequence[int] | None = None
    ) -> None:
        self.shape = tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)
        self.device = device
        self.strides: tuple[int, ...] = strides_of(self.shape, 0) if strides is None else tuple(strides)
        self._memory = Memory(_device(device), math.prod(self.shape) * self.dtype.itemsize)
        self._offset = 0

    @property
    def pointer(self) -> int:
        """Its address on the GPU."""
        return self._memory.pointer + self._offset

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def T(self) -> DeviceArray:
        """A view with the order of axes reversed: a number-major batch is ``to_device(q.T).T``."""
        return self._part(self.shape[::-1], self.strides[::-1], self._offset)

    def __getitem__(self, index: Any) -> DeviceArray:
        """A part of it, in the same memory: integers, slices and ``...`` as of NumPy."""
        whole = self._laid_out(np.empty(1, self.dtype))
        part = whole[index]
        if not isinstance(part, np.ndarray):
            part = whole[*(index if isinstance(index, tuple) else (index,)), None][0:1].reshape(())
        if part.base is None:
            raise InputError(f"arrays on a GPU take integers, slices and ..., not {index!r}")
        moved = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        strides = tuple(s // self.dtype.itemsize for s in part.strides)
        return self._part(part.shape, strides, self._offset + moved)

    def reshape(self, *shape: int) -> DeviceArray:
        """A view with the last axis as several, one of them -1 if its size follows from the others.

        Args:
            shape: The new shape: all axes but the last as they are, then those of the last.
        """
        lead, size, step = self.shape[:-1], self.shape[-1], self.strides[-1]
        *same, missing = [*shape[: len(lead)], shape[len(lead) :]]
        known = math.prod(n for n in missing if n >= 0)
        full = tuple(n if n >= 0 else size // max(known, 1) for n in missing)
        if tuple(same) != lead or math.prod(full) != size:
            raise InputError(f"an array on a GPU of shape {self.shape} has no reshape to {shape}: its last axis alone")
        return self._part((*lead, *full), (*self.strides[:-1], *(step * s for s in strides_of(full))), self._offset)

    def _part(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> DeviceArray:
        other = object.__new__(DeviceArray)
        other.__dict__.update(self.__dict__, shape=shape, strides=strides, _offset=offset)
        return other

    def _laid_out(self, memory: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """An array of this one's shape and strides, beginning where ``memory`` does."""
        strides = tuple(s * self.dtype.itemsize for s in self.strides)
        return np.lib.stride_tricks.as_strided(memory, self.shape, strides)

    def numpy(self) -> npt.NDArray[Any]:
        """The numbers as a NumPy array; waits for all work on the GPU."""
        content = self._memory.read(self._memory.bytes)[self._offset :]
        return self._laid_out(np.frombuffer(content, dtype=self.dtype)).copy()

    def __array__(self, *arguments: Any, **options: Any) -> npt.NDArray[Any]:
        raise TypeError("an array on a GPU is not a NumPy array: x.numpy() copies it, and waits for the GPU")

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<DeviceArray {self.shape} {self.dtype} on GPU {self.device}>"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "strides": tuple(s * self.dtype.itemsize for s in self.strides),
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "stream": 1,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        """A capsule of DLPack; the consumer's stream waits for the work queued before."""
        if stream not in (None, 0, LEGACY_STREAM, -1):
            ordered(_device(self.device), 0, 0 if stream is None else stream)
        return dlpack.capsule(self, self.pointer, self.shape, self.strides, self.dtype, self.device)


def ordered(where: Device, before: int, after: int) -> None:
    """Let work on one stream wait for all that is on another now."""
    cu, event = driver(), ctypes.c_void_p()
    with where.current():
        cu.EventCreate(ctypes.byref(event), 2)
        try:
            cu.EventRecord(event, ctypes.c_void_p(before))
            cu.StreamWaitEvent(ctypes.c_void_p(after), event, 0)
        finally:
            cu.EventDestroy_v2(event)


_device = device


@converted_but("array")
def to_device(array: npt.ArrayLike, dtype: str | None = None, device: int = 0) -> DeviceArray:
    """A NumPy array as an array on a GPU, for evaluators on ``"cuda"`` where no framework is used.

    Strides are kept as far as they are those of C or Fortran order: ``to_device(q.T.copy().T)`` is number-major.

    Args:
        array: Numbers.
        dtype: Type of the numbers there; by default that of the array.
        device: Number of the GPU.
    """
    values = real_array(array, "array")
    if dtype not in (None, "float64", "float32"):
        raise InputError(f"dtype '{dtype}' is neither 'float64' nor 'float32'")
    if dtype is not None or values.dtype.kind != "f":
        values = values.astype(dtype or "float64")
    fortran = values.flags.f_contiguous and not values.flags.c_contiguous
    strides = tuple(s // values.itemsize for s in values.strides) if fortran else None
    copy = DeviceArray(values.shape, values.dtype.name, device, strides)
    copy._memory.write(values.tobytes(order="F" if fortran else "C"))
    return copy


if sys.maxsize < 2**32:
    raise ImportError("GPUs need a system of 64 bits")
