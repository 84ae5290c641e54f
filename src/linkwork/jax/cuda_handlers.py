# SPDX-License-Identifier: BSD-3-Clause
"""Handlers for CUDA devices: a kernel on each device of this process, launched by machine code on XLA's stream."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from linkwork.compilers.cuda.calls import Prepared
from linkwork.compilers.cuda.driver import driver
from linkwork.compilers.cuda.runner import CudaRunner
from linkwork.compilers.program import Backend, Program
from linkwork.jax import cuda_code
from linkwork.jax.handlers import Handler


class CudaHandler(Handler):
    """Machine code that XLA calls to run a program on a GPU.

    Args:
        program: The program.
        backend: With which numbers, and how many operations at most.
        held: Inputs that are the same for all states and calls, by name; those that are zero are left out of the
            program.
    """

    def __init__(self, program: Program, backend: Backend, held: Mapping[str, Any]) -> None:
        # XLA launches the kernel itself, and has no scratch for native code.
        runner = CudaRunner(program, replace(backend, device_code="specialized"))
        super().__init__(runner, held)
        self._runner = runner
        calls = [runner.prepared(self.held, number) for number in device_numbers()]
        code = calls[0].code
        words = np.zeros(cuda_code.WORDS, np.int64)
        words[cuda_code.ENTRY] = self.record((0, 0))
        words[cuda_code.ARRAYS] = len(runner.shapes)
        words[cuda_code.THREADS], words[cuda_code.SHARED] = code.threads, code.shared_bytes
        words[cuda_code.LAUNCH : cuda_code.POP + 1] = driver_functions()
        words[cuda_code.COUNT] = len(calls)
        words[cuda_code.DEVICES] = self.table([self._device(one) for one in calls])
        self._kept.append(calls)
        self.link(cuda_code.object_code(runner.dtype.name), words, cuda_code.COMMAND_BUFFER, self._messages())

    def _device(self, prepared: Prepared) -> int:
        """The address of a device's words."""
        held = [prepared.held.get(k, 0) for k in range(len(self.runner.shapes))]
        return self.table([prepared.device.context, prepared.code.function(prepared.device), prepared.status, *held])

    def _messages(self) -> Sequence[str]:
        return [
            f"{self.what}: buffers do not fit the program; please report this",
            f"{self.what}: this GPU was not there when the program was made",
            f"{self.what}: the driver could not launch the kernel",
        ]


def device_numbers() -> list[int]:
    """Numbers of the GPUs that JAX has in this process: one handler serves all of them."""
    numbers = [getattr(each, "local_hardware_id", None) for each in jax.local_devices(backend="cuda")]
    most = max((number for number in numbers if number is not None), default=0)
    return list(range(most + 1))


def driver_functions() -> list[int]:
    """Addresses of the driver's functions: to launch a kernel, and to make a context current and not so."""
    library = driver()._library
    names = ("cuLaunchKernel", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2")
    return [ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names]
