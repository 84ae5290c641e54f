# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of evaluators: arrays that are bound once, names of frames, threads, lanes and types of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import default_threads
from linkwork.compilers.program import Backend
from linkwork.compilers.run import Runner
from linkwork.compilers.trace.tracing import GPU_OPERATIONS, MAX_OPERATIONS
from linkwork.errors import InputError, NotFinite
from linkwork.inputs import BackendName, DeviceCode, Lanes, Precision, plural

Array = npt.NDArray[Any]


def bound_call(runner: Runner, arrays: Sequence[Array], state: tuple[Array, Array] | None = None) -> Callable[[], None]:
    """A call without arguments that runs a program with these arrays, inputs then outputs, as they then are.

    The first two outputs are copied to ``state``, if that is given.
    """
    wrong = runner.misfit(arrays)
    if wrong:
        raise InputError(f"bind: {wrong}")
    bound, count = tuple(arrays), len(runner.inputs)
    entry = runner.own_entry(bound[-1].ndim > len(runner.outputs[-1]))

    def step() -> None:
        status = entry(*bound)
        if status:
            runner.explain(status, bound[:count], bound[count:])

    if state is None:
        return step
    (q, v), (q1, v1) = state, bound[count : count + 2]

    def advance() -> None:
        status = entry(*bound)
        if status:
            runner.explain(status, bound[:count], bound[count:])
        q[...] = q1
        v[...] = v1

    return advance


def verified(
    step: Callable[[], None],
    arrays: Sequence[Array],
    verify: Callable[[Sequence[Array]], bool | None] | None,
) -> Callable[[], None]:
    """A bound call after which its arrays are verified.

    Args:
        step: The call.
        arrays: Its inputs and outputs.
        verify: Raises an error where they show that results mean nothing; True: it computed them in another way. None:
            nothing is verified.
    """
    if verify is None:
        return step

    def verified_step() -> None:
        try:
            step()
        except NotFinite:
            if not verify(arrays):  # may know why
                raise
        else:
            verify(arrays)

    return verified_step


def state_not_finite(runner: Runner, inputs: Sequence[npt.ArrayLike]) -> str:
    """Words for the first state of a batch whose results are not finite; nothing for one state alone.

    Args:
        runner: Runner of the program.
        inputs: All its inputs.
    """
    arrays = [np.asarray(x, dtype=np.float64) for x in inputs]
    lead = np.broadcast_shapes(*(x.shape[: x.ndim - len(s)] for x, s in zip(arrays, runner.inputs, strict=True)))
    full = [np.broadcast_to(x, (*lead, *shape)) for x, shape in zip(arrays, runner.inputs, strict=True)]
    for k in np.ndindex(*lead) if lead else ():
        try:
            runner.evaluate([x[k] for x in full], [None] * len(runner.outputs))
        except NotFinite:
            return f" in state {k}"
    return ""


def listed_outputs(runner: Runner, quantity: str, out: Array | Sequence[Array] | None) -> list[Any]:
    """Arrays to write outputs to; None for those that are to be made.

    Args:
        runner: Runner of the program.
        quantity: Name of the quantity, for messages.
        out: The array of the main output, a tuple of all outputs, or None.
    """
    shapes = runner.outputs
    if out is None:
        return [None] * len(shapes)
    if len(shapes) == 1:
        return [out]
    if isinstance(out, np.ndarray):
        return [out, *[None] * (len(shapes) - 1)]
    if not isinstance(out, tuple | list) or len(out) != len(shapes):
        names = list(runner.program.algorithm.outputs)
        each = ", ".join(f"{name} {shape}" for name, shape in zip(names, shapes, strict=True))
        description = plural(len(out), "array") if isinstance(out, tuple | list) else type(out).__name__
        raise InputError(
            f"{quantity} writes {each}: out is an array for {names[0]}, or ({', '.join(names)}); found {description}"
        )
    return list(out)


def with_further_outputs(runner: Runner, first: Array) -> list[Array]:
    """An array for the first output of a program, and new ones for the others.

    Args:
        runner: Runner of the program.
        first: The array, with the batch axes that all have.
    """
    lead = first.shape[: max(0, first.ndim - len(runner.outputs[0]))]
    return [first, *(np.empty((*lead, *shape), runner.dtype) for shape in runner.outputs[1:])]


def present(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays by name, without those that are None.

    Args:
        arrays: By name.
    """
    return {name: x for name, x in arrays.items() if x is not None}


def chosen_backend(
    name: BackendName,
    dtype: Precision,
    lanes: Lanes,
    threads: int,
    max_operations: int | None,
    outputs: tuple[str, ...] | None,
    code: DeviceCode | None,
) -> Backend:
    """The backend that arguments of `BaseEvaluator.compile` say, checked."""
    if name not in ("specialized", "native", "plain", "cuda"):
        raise InputError(f"backend is {name!r}, needs 'specialized', 'native', 'plain' or 'cuda'")
    if name != "cuda" and (outputs is not None or code is not None):
        raise InputError(f"outputs and code are for backend 'cuda', not for '{name}'")
    if code not in (None, "specialized", "native"):
        raise InputError(f"code is {code!r}, needs 'specialized' or 'native'")
    if name == "plain":
        return Backend("plain")
    most = max_operations or (GPU_OPERATIONS if name == "cuda" else MAX_OPERATIONS)
    return Backend(name, checked_dtype(dtype), checked_lanes(lanes), thread_count(threads), most, outputs, code)


def frame_names(frames: str | Sequence[str]) -> tuple[str, ...]:
    """Names of frames as a tuple."""
    if isinstance(frames, str):
        return (frames,)
    if type(frames) is tuple and not frames:
        return ()
    if not isinstance(frames, Sequence) or not all(isinstance(name, str) for name in frames):
        raise InputError(f"frames are names, one or a list of them; found {frames!r}")
    return tuple(frames)


def thread_count(threads: int | None) -> int:
    """The number of threads that share a large batch: an explicit number, or that of the cores."""
    if threads is None:
        return default_threads()
    if not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads is {threads!r}, needs a whole number above zero")
    return threads


def checked_dtype(dtype: str) -> str:
    """A type of numbers that programs compute with."""
    if not isinstance(dtype, str) or dtype not in ("float64", "float32"):
        raise InputError(f"dtype '{dtype}' is neither 'float64' nor 'float32'")
    return dtype


def checked_lanes(lanes: int | str) -> int | None:
    """A number of lanes; None: as many as fit the machine."""
    if isinstance(lanes, str) and lanes == "auto":
        return None
    if not isinstance(lanes, int) or lanes not in (1, 2, 4, 8, 16):
        raise InputError(f"lanes is {lanes!r}, needs 'auto' or one of 1, 2, 4, 8, 16")
    return lanes
