# SPDX-License-Identifier: BSD-3-Clause
"""Handlers of XLA's foreign function interface, called as XLA calls them: with call frames that a test makes.

That of CUDA devices launches a kernel of the host in place of a GPU's, through a driver that the test makes as well.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend
from tests.support.cuda_on_host import HostDevice, use_host

jax = pytest.importorskip("jax")

from linkwork.jax import call_frame, cuda_handlers, handlers  # noqa: E402

CONTEXT, STREAM = 777, 4242
FROM_POINTER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int64, *[ctypes.c_uint] * 7, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
)
PUSH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)
POP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
ON_HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def words_at(address: int, count: int) -> Any:
    return (ctypes.c_int64 * count).from_address(address)


def address_of(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class Frames:
    """Call frames, and the table of XLA's functions that handlers call."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.kept: list[Any] = []
        self.api = (ctypes.c_int64 * 24)(192)
        self._set(call_frame.ERROR_CREATE, self._error)
        self._set(call_frame.STREAM_GET, self._stream)

    def _set(self, place: int, function: Any) -> None:
        made = FROM_POINTER(function)
        self.kept.append(made)
        self.api[place] = address_of(made)

    def _error(self, address: int) -> int:
        text = ctypes.string_at(words_at(address, 4)[2])
        self.errors.append(text.decode())
        return 1

    def _stream(self, address: int) -> None:
        words = words_at(address, 4)
        assert words[0] == 32
        assert words[2] == CONTEXT
        words[3] = STREAM

    def buffer(self, x: Any) -> int:
        dimensions = (ctypes.c_int64 * max(x.ndim, 1))(*x.shape)
        kind = call_frame.TYPES[x.dtype.name]
        made = (ctypes.c_int64 * 6)(48, 0, kind, x.ctypes.data, x.ndim, ctypes.addressof(dimensions))
        self.kept += [x, dimensions, made]
        return ctypes.addressof(made)

    def call(self, handler: Any, arguments: Any, results: Any, extension: int = 0) -> int | None:
        lists = [(ctypes.c_int64 * max(len(arrays), 1))(*map(self.buffer, arrays)) for arrays in (arguments, results)]
        frame = (ctypes.c_int64 * 22)(160, extension, ctypes.addressof(self.api), CONTEXT, 3)
        frame[call_frame.ARGUMENTS], frame[call_frame.RESULTS] = len(arguments), len(results)
        frame[call_frame.ARGUMENT_LIST], frame[call_frame.RESULT_LIST] = (ctypes.addressof(one) for one in lists)
        made: int | None = FROM_POINTER(handler.address)(ctypes.addressof(frame))
        return made


@pytest.fixture(scope="module")
def inverse() -> lw.InverseDynamics:
    return lw.InverseDynamics(lw.zoo.pendulum(2)).compile(lanes=1)


def test_handler_of_the_cpu_reads_call_frames(inverse: lw.InverseDynamics) -> None:
    frames, rng = Frames(), np.random.default_rng(0)
    runner = runner_for(inverse.traced_program, Backend("specialized", lanes=1))
    handler = handlers.CpuHandler(runner, {"wrenches": np.zeros((0, 6))}, "raise")
    q, v, a = rng.normal(size=(3, 4, 2)), rng.normal(size=2), rng.normal(size=(3, 4, 2))
    tau = np.zeros((3, 4, 2))
    assert frames.call(handler, [q, v, a], [tau]) is None
    np.testing.assert_allclose(tau, inverse(q, v, a), rtol=1e-13)
    wrong = [
        ([q, v], [tau]),
        ([q, v, a[..., :1]], [tau]),
        ([q.astype(np.float32), v, a], [tau]),
        ([q[:2], v, a], [tau]),
        ([q[0, 0], v, a[0, 0]], [np.zeros((2, 2))[:, :1]]),
    ]
    for arguments, results in wrong:
        assert frames.call(handler, arguments, results) == 1
    assert all("do not fit" in error for error in frames.errors)
    a[2, 1, 0] = np.nan
    assert frames.call(handler, [q, v, a], [tau]) == 1
    assert frames.errors[-1].endswith("a holds NaN or infinity")


def test_handlers_say_which_interface_they_speak(inverse: lw.InverseDynamics) -> None:
    runner = runner_for(inverse.traced_program, Backend("specialized", lanes=1))
    handler = handlers.CpuHandler(runner, {"wrenches": np.zeros((0, 6))}, "raise")
    metadata = (ctypes.c_int64 * 6)(48)
    extension = (ctypes.c_int64 * 4)(32, call_frame.METADATA, 0, ctypes.addressof(metadata))
    assert Frames().call(handler, [], [], ctypes.addressof(extension)) is None
    version = np.frombuffer(metadata, np.int32)
    assert version[6] == 0
    assert version[7] == handlers.api_minor() > 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_handler_of_cuda_devices_launches_the_kernel(
    dtype: str, inverse: lw.InverseDynamics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Number-major arrays, ones that states share, and one that is held, on XLA's stream and in its context."""
    use_host(monkeypatch)
    monkeypatch.setattr(HostDevice, "context", 55, raising=False)
    monkeypatch.setattr(cuda_handlers, "device_numbers", lambda: [0])
    calls: list[Any] = []

    def launch(function: int, blocks: int, *rest: Any) -> int:
        threads, shared, stream, _, extra = rest[2], rest[5], rest[6], rest[7], words_at(rest[8], 5)
        assert (extra[0], extra[2], extra[4], stream) == (1, 2, 0, STREAM)
        calls.append((blocks, shared, words_at(extra[3], 1)[0]))
        ON_HOST(function)(extra[1], threads, blocks)
        return 0

    def push(context: int) -> int:
        calls.append(context)
        return 0

    made = LAUNCH(launch), PUSH(push), POP(lambda _: 0)
    monkeypatch.setattr(cuda_handlers, "driver_functions", lambda: [address_of(one) for one in made])
    frames, rng = Frames(), np.random.default_rng(1)
    held = {"wrenches": np.zeros((0, 6))}
    handler = cuda_handlers.CudaHandler(inverse.traced_program, Backend("cuda", dtype), held)
    q, v, a = (rng.normal(size=shape).astype(dtype) for shape in ((300, 2), (2,), (300, 2)))
    tau = np.zeros((2, 300), dtype)
    arguments = [np.ascontiguousarray(x.T).reshape(300, 2) if x.ndim > 1 else x for x in (q, v, a)]
    assert frames.call(handler, arguments, [tau.reshape(300, 2)]) is None
    assert calls[0] == 55
    assert calls[1][0] == 3
    assert calls[1][2] == 8 * (3 * 5 + 2)
    np.testing.assert_allclose(tau.T, inverse(q, v, a), rtol=1e-12 if dtype == "float64" else 1e-4, atol=1e-5)
    assert frames.call(handler, arguments[:2], [tau.reshape(300, 2)]) == 1
    assert "do not fit" in frames.errors[-1]
