# SPDX-License-Identifier: BSD-3-Clause
"""Where evaluators run: on the CPU, or on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.compilers.trace.tracing import GPU_OPERATIONS
from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import DeviceCode, DeviceName, Precision, among
from linkwork.quantities.arguments import checked_dtype
from linkwork.quantities.differentiable import Differentiable


class OnDevices:
    """An evaluator that runs on the CPU, and whose like runs on a GPU."""

    quantity: str
    _backend: Backend
    _runner: Runner | None

    @property
    def program(self) -> Program:
        """The kernel text and the plan of a robot."""
        raise NotImplementedError

    def _on(self, backend: Backend) -> Self:
        """The same on another backend."""
        raise NotImplementedError

    @converted
    def to(
        self,
        device: DeviceName,
        dtype: Precision = "float64",
        max_operations: int = GPU_OPERATIONS,
        outputs: str | Sequence[str] | None = None,
        code: DeviceCode | None = None,
    ) -> Self:
        """The same on a GPU, or back on the CPU in native code.

        On ``"cuda"`` an evaluator is called with arrays that are on a GPU of NVIDIA (torch, CuPy, JAX, or any that
        speaks DLPack or ``__cuda_array_interface__``; `to_device` makes some), and returns such arrays: ordered on the
        caller's stream, without waiting and without a copy through the host. Machine code is made at the first call
        and kept on disk. States whose inputs are not finite have results that are NaN; `check` raises an error.

        Args:
            device: Where to run.
            dtype: Numbers to compute with.
            max_operations: The most operations that specialized code may have on a GPU.
            outputs: On a GPU, names of results that are wanted, such as ``"acceleration"`` of `ForwardDynamics`: what
                the others alone need is not computed, and they are None. By default all.
            code: On a GPU, ``"specialized"`` code is a straight line for one robot, ``"native"`` code reads its plan.
                By default the first, and the second where that would have more than ``max_operations``. Programs that
                are made of others, as `jvp` and `vjp` are, are specialized always.
        """
        kind = checked_dtype(dtype)
        if device == "cpu":
            return self._on(Backend("native", kind, threads=self._backend.threads))
        if device != "cuda":
            raise InputError(f"device is {device!r}, needs 'cpu' or 'cuda'")
        self._check_gpu(kind)
        wanted = None if outputs is None else self._output_names([outputs] if isinstance(outputs, str) else outputs)
        if code not in (None, "specialized", "native"):
            raise InputError(f"code is {code!r}, needs 'specialized' or 'native'")
        return self._on(Backend("cuda", kind, None, self._backend.threads, max_operations, wanted, code))

    def _check_gpu(self, dtype: str) -> None:
        """Raise an error where this evaluator cannot run on a GPU."""

    @property
    def _sees_results(self) -> bool:
        """Whether results can be looked at when a call has ended: not on a GPU, which is not waited for."""
        return self._backend.name != "cuda"

    def _output_names(self, results: Sequence[str]) -> tuple[str, ...]:
        """Names of output arrays of the program that have these results."""
        known = {name: name for name in self.program.algorithm.outputs}
        if isinstance(self, Differentiable):
            known |= {name: output for name, (output, _) in self.differentiated.results.items()}
        for name in results:
            if name not in known:
                raise InputError(f"{self.quantity} has no result '{name}'{among(name, known)}")
        return tuple(dict.fromkeys(known[name] for name in results))

    def check(self) -> None:
        """Raise an error where states that a GPU computed since the last check were not finite; waits for the GPU.

        On the CPU every call checks its numbers.
        """
        if self._runner is not None:
            self._runner.check()
