# SPDX-License-Identifier: BSD-3-Clause
"""DLPack by ctypes: capsules of other libraries are read, and made of our own arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import InputError

CODES = {"i": 0, "u": 1, "f": 2}
"""Kinds of numbers, by NumPy's letters."""
NAME, USED = b"dltensor", b"used_dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("offset", c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("owner", c_void_p), ("deleter", c_void_p))


_api = ctypes.pythonapi
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_pointer = _api.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [py_object, c_char_p]
_valid = _api.PyCapsule_IsValid
_valid.restype, _valid.argtypes = ctypes.c_int, [py_object, c_char_p]


class Tensor(NamedTuple):
    """The tensor in a capsule; strides in numbers."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


def read(capsule: Any) -> Tensor:
    """The tensor in a capsule. The capsule stays with the caller: its destructor gives the memory back.

    Args:
        capsule: Result of an array's ``__dlpack__``.
    """
    tensor = _Managed.from_address(_pointer(capsule, NAME)).tensor
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[k] for k in range(tensor.ndim))
    else:
        strides = tuple(int(np.prod(shape[k + 1 :], dtype=np.int64)) for k in range(len(shape)))
    if tensor.lanes != 1:
        raise InputError("arrays of vectors are not taken")
    kinds = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
    dtype = f"{kinds.get(tensor.code, 'unknown')}{tensor.bits}"
    return Tensor((tensor.data or 0) + tensor.offset, shape, strides, dtype)


_KEPT: dict[int, tuple[Any, ...]] = {}
"""Records of capsules, until their consumers are done: by the address of the record."""


def _delete(address: int) -> None:
    """For consumers: they are done with a record."""
    _KEPT.pop(address, None)


def _unused(capsule: int) -> None:
    """For Python: a capsule is gone; if it was not consumed, so is its record."""
    pointer = ctypes.cast(capsule, py_object)
    if _valid(pointer, NAME):
        _KEPT.pop(_pointer(pointer, NAME), None)


_CALLBACK = ctypes.CFUNCTYPE(None, c_void_p)
_DELETE, _UNUSED = _CALLBACK(_delete), _CALLBACK(_unused)


def capsule(
    owner: Any, pointer: int, shape: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any], device: int
) -> Any:
    """A capsule of an array on a GPU.

    Args:
        owner: Object that keeps its memory alive.
        pointer: Its address.
        shape: Its shape.
        strides: Distances of its axes in numbers.
        dtype: Type of its numbers.
        device: Number of the GPU.
    """
    ndim = len(shape)
    sizes, steps = (c_int64 * ndim)(*shape), (c_int64 * ndim)(*strides)
    record = _Managed()
    record.tensor = _Tensor(
        pointer,
        2,
        device,
        ndim,
        CODES[dtype.kind],
        8 * dtype.itemsize,
        1,
        ctypes.cast(sizes, POINTER(c_int64)),
        ctypes.cast(steps, POINTER(c_int64)),
        0,
    )
    record.deleter = ctypes.cast(_DELETE, c_void_p)
    address = ctypes.addressof(record)
    _KEPT[address] = (record, sizes, steps, owner)
    return _new(address, NAME, ctypes.cast(_UNUSED, c_void_p))
