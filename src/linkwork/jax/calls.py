# SPDX-License-Identifier: BSD-3-Clause
"""Programs as JAX calls: one primitive, whose lowering is a foreign function call of the platform.

A call takes arrays of one state, or with leading batch axes that are the same for all which have any; those without
are shared by all states. `vmap` adds an axis and stays one call. Derivatives are rules of whole functions (`rules`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from linkwork.compilers.backends import runner_for
from linkwork.compilers.cache import key
from linkwork.compilers.program import Backend, Program
from linkwork.errors import UnsupportedFeature
from linkwork.jax.handlers import Handler, OnError

Array = Any

_LOCK = threading.Lock()
_HANDLERS: dict[tuple[str, str], Any] = {}
"""Handlers that XLA knows, by name and platform: they live as long as the process."""


class ProgramCall:
    """A program that JAX calls.

    Args:
        program: Kernel text and the plan of a robot.
        backend: How it is run on the CPU: native or specialized, with which numbers.
        on_error: What becomes of states that are not finite, on the CPU.
    """

    def __init__(self, program: Program, backend: Backend, on_error: OnError) -> None:
        self.program, self.backend, self.on_error = program, backend, on_error
        self.dtype = backend.dtype
        self.names = list(program.algorithm.inputs)
        self.inputs, self.outputs = program.input_shapes(), program.output_shapes()
        content = (*program.content(), backend.name, backend.dtype, str(backend.lanes), str(backend.threads), on_error)
        self.target = f"linkwork.{program.algorithm.name}.{key(*content)[:24]}"
        """The name under which XLA knows the program: the same in every process."""

    def __call__(self, *arrays: Array) -> list[Array]:
        """Outputs for inputs in the order of the program.

        Args:
            arrays: Inputs; leading axes are batch axes.
        """
        return program_p.bind(*(jnp.asarray(x, self.dtype) for x in arrays), call=self)  # type: ignore[no-untyped-call, no-any-return]

    def lead(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """Batch axes of a call with inputs of these shapes."""
        leads = {shape[: len(shape) - len(own)] for shape, own in zip(shapes, self.inputs, strict=True)} - {()}
        if len(leads) > 1:
            raise TypeError(f"{self.target}: batch axes differ: {sorted(leads)}")
        return leads.pop() if leads else ()

    def register(self, platform: str) -> None:
        """Make the handler of a platform, and have XLA know it."""
        with _LOCK:
            if (self.target, platform) in _HANDLERS:
                return
            if platform == "cpu":
                made: Any = Handler(runner_for(self.program, self.backend), self.on_error)
            elif platform == "cuda":
                from linkwork.jax.cuda_handlers import CudaHandler  # where there is a GPU

                made = CudaHandler(self.program, self.dtype)
            else:
                raise UnsupportedFeature(f"programs run on the CPU and on CUDA devices; found platform {platform!r}")
            name = "CUDA" if platform == "cuda" else platform
            jax.ffi.register_ffi_target(self.target, jax.ffi.pycapsule(made.address), platform=name)
            _HANDLERS[self.target, platform] = made


program_p = Primitive("linkwork_program")
"""A call of a program: parameter ``call``, a `ProgramCall`."""
program_p.multiple_results = True


@cache
def _eager(call: ProgramCall) -> Any:
    """The call outside of `jit`."""
    return jax.jit(partial(program_p.bind, call=call))


@program_p.def_impl
def _evaluate(*arrays: Array, call: ProgramCall) -> Any:
    return _eager(call)(*arrays)


@program_p.def_abstract_eval
def _shapes(*arrays: Any, call: ProgramCall) -> list[Any]:
    lead = call.lead([x.shape for x in arrays])
    return [jax.core.ShapedArray((*lead, *shape), jnp.dtype(call.dtype)) for shape in call.outputs]


def batch_axes(arrays: Sequence[Array], axes: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Arrays of a mapped call with the mapped axis in front, broadcast where batch axes would differ.

    Args:
        arrays: Arguments of the call.
        axes: Their mapped axes, None for those without.
        shapes: Shapes of one state's arguments.
    """
    size = next(x.shape[d] for x, d in zip(arrays, axes, strict=True) if d is not None)
    inner = [x.ndim - (d is not None) - len(own) for x, d, own in zip(arrays, axes, shapes, strict=True)]
    depth = max(inner)
    lead: tuple[int, ...] = ()
    for x, d, own, n in zip(arrays, axes, shapes, inner, strict=True):
        if n == depth and depth:
            shape = list(x.shape)
            if d is not None:
                del shape[d]
            lead = tuple(shape[: len(shape) - len(own)])
    moved = []
    for x, d, own, n in zip(arrays, axes, shapes, inner, strict=True):
        if d is not None:
            x = jnp.moveaxis(x, d, 0)
            if n < depth:
                x = jnp.broadcast_to(x.reshape((size, *[1] * depth, *own)), (size, *lead, *own))
        elif n:
            x = jnp.broadcast_to(x, (size, *x.shape))
        moved.append(x)
    return moved


def _batched(arrays: Sequence[Array], axes: Sequence[Any], *, call: ProgramCall) -> tuple[list[Array], list[int]]:
    found = program_p.bind(*batch_axes(arrays, axes, call.inputs), call=call)  # type: ignore[no-untyped-call]
    return found, [0] * len(found)


batching.primitive_batchers[program_p] = _batched


def _lowered(platform: str, ctx: Any, *operands: Any, call: ProgramCall) -> Any:
    call.register(platform)
    if platform == "cpu":
        return jax.ffi.ffi_lowering(call.target)(ctx, *operands)
    layouts = [
        [_number_major(len(x.shape), len(own)) for x, own in zip(avals, shapes, strict=True)]
        for avals, shapes in ((ctx.avals_in, call.inputs), (ctx.avals_out, call.outputs))
    ]
    rule = jax.ffi.ffi_lowering(call.target, operand_layouts=layouts[0], result_layouts=layouts[1])
    return rule(ctx, *operands)


def _number_major(rank: int, own: int) -> tuple[int, ...]:
    """A layout, minor to major, in which states are next to each other: what GPUs read fastest."""
    return (*reversed(range(rank - own)), *reversed(range(rank - own, rank)))


for _platform in ("cpu", "cuda"):
    mlir.register_lowering(program_p, partial(_lowered, _platform), platform=_platform)
