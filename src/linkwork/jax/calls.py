# SPDX-License-Identifier: BSD-3-Clause
"""Programs as JAX calls: one primitive, whose lowering is a foreign function call of the platform.

A call takes arrays of one state, or with leading batch axes that are the same for all which have any; those without
are shared by all states. `vmap` adds an axis and stays one call. Derivatives are rules of whole functions (`rules`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from linkwork.compilers.backends import runner_for
from linkwork.compilers.cache import key
from linkwork.compilers.program import Backend, Program
from linkwork.errors import InputError
from linkwork.jax.array_types import batch_axes, common_lead, result_type
from linkwork.jax.handlers import CpuHandler, OnError

Array = Any

_LOCK = threading.Lock()
_HANDLERS: dict[tuple[str, str], Any] = {}
"""Handlers that XLA knows, by name and platform: they live as long as the process."""


class ProgramCall:
    """A program that JAX calls with arrays by name.

    Args:
        program: Kernel code and the plan of a robot.
        backend: Its backend on the CPU: native or specialized, with which numbers.
        on_error: Treatment of states that are not finite, on the CPU.
        traced: Program for GPUs, in place of the program.
    """

    def __init__(self, program: Program, backend: Backend, on_error: OnError, traced: Program | None = None) -> None:
        self.program, self.backend, self.on_error = program, backend, on_error
        self.traced = program if traced is None else traced
        self.names = list(program.algorithm.inputs)
        self.inputs = dict(zip(self.names, program.input_shapes(), strict=True))
        self.outputs = dict(zip(program.algorithm.outputs, program.output_shapes(), strict=True))
        settings = (backend.name, backend.dtype, str(backend.lanes), str(backend.threads), on_error)
        self._content = key(*program.content(), *settings)
        self._targets: dict[tuple[bytes, ...], Target] = {}

    def __call__(self, arrays: Mapping[str, Any]) -> dict[str, Array]:
        """Outputs by name.

        Args:
            arrays: Inputs by name, and others. Those that are NumPy arrays are held: the same for all states, and
                constants of the call.
        """
        dtype = self.backend.dtype
        held = {name: np.asarray(arrays[name], dtype) for name in self.names if isinstance(arrays[name], np.ndarray)}
        for name, x in held.items():
            if x.shape != self.inputs[name]:
                raise InputError(f"held {name} has shape {x.shape}, needs {self.inputs[name]}: give it in calls")
        content = tuple(name.encode() + x.tobytes() for name, x in held.items())
        if content not in self._targets:
            self._targets[content] = Target(self, held)
        operands = [jnp.asarray(arrays[name], dtype) for name in self.names if name not in held]
        results = program_p.bind(*operands, target=self._targets[content])
        return dict(zip(self.outputs, results, strict=True))


class Target:
    """A program with some inputs held, as XLA knows it.

    Args:
        call: The program.
        held: Inputs that are the same for all states and calls, by name.
    """

    def __init__(self, call: ProgramCall, held: Mapping[str, Any]) -> None:
        self.call, self.held = call, held
        self.inputs = [shape for name, shape in call.inputs.items() if name not in held]
        self.outputs = list(call.outputs.values())
        content = [part for name, x in held.items() for part in (name, x.tobytes())]
        self.name = ".".join(("linkwork", call.program.algorithm.name, key(call._content, *content)[:24]))
        """Name of the call, equal in every process."""

    def register(self, platform: str) -> None:
        """Make the handler of a platform, and have XLA know it.

        Args:
            platform: Where the program runs.
        """
        with _LOCK:
            if (self.name, platform) not in _HANDLERS:
                handler = self._handler(platform)
                known = {"cpu": "cpu", "cuda": "CUDA"}[platform]
                jax.ffi.register_ffi_target(self.name, jax.ffi.pycapsule(handler.address), platform=known)
                _HANDLERS[self.name, platform] = handler

    def _handler(self, platform: str) -> Any:
        call = self.call
        if platform == "cpu":
            return CpuHandler(runner_for(call.program, call.backend), self.held, call.on_error)
        from linkwork.jax.cuda_handlers import CudaHandler  # where there is a GPU

        return CudaHandler(call.traced, replace(call.backend, name="cuda"), self.held)


program_p = Primitive("linkwork_program")
"""A call of a program: parameter ``target``, a `Target`."""
program_p.multiple_results = True


@cache
def _eager(target: Target) -> Any:
    """The call outside of `jit`."""
    return jax.jit(partial(program_p.bind, target=target))


@program_p.def_impl
def _evaluate(*arrays: Array, target: Target) -> Any:
    return _eager(target)(*arrays)


@program_p.def_abstract_eval
def _shapes(*arrays: Any, target: Target) -> list[Any]:
    lead = common_lead(target.name, [x.shape for x in arrays], target.inputs)
    return [result_type((*lead, *shape), target.call.backend.dtype, arrays) for shape in target.outputs]


def _batched(arrays: Sequence[Array], axes: Sequence[Any], *, target: Target) -> tuple[list[Array], list[int]]:
    results = program_p.bind(*batch_axes(arrays, axes, target.inputs), target=target)
    return results, [0] * len(results)


batching.primitive_batchers[program_p] = _batched


def _lowered(platform: str, ctx: Any, *operands: Any, target: Target) -> Any:
    target.register(platform)
    if platform == "cpu":
        return jax.ffi.ffi_lowering(target.name)(ctx, *operands)
    layouts = [
        [_number_major(len(x.shape), len(own)) for x, own in zip(avals, shapes, strict=True)]
        for avals, shapes in ((ctx.avals_in, target.inputs), (ctx.avals_out, target.outputs))
    ]
    return jax.ffi.ffi_lowering(target.name, operand_layouts=layouts[0], result_layouts=layouts[1])(ctx, *operands)


def _number_major(rank: int, own: int) -> tuple[int, ...]:
    """A layout, minor to major, in which states are contiguous: the fastest to read on GPUs."""
    return (*reversed(range(rank - own)), *reversed(range(rank - own, rank)))


for _platform in ("cpu", "cuda"):
    mlir.register_lowering(program_p, partial(_lowered, _platform), platform=_platform)
