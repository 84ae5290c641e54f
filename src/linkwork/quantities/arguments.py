# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of evaluators: arrays that are bound once, names of frames, threads, lanes and types of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from linkwork.compilers.backends import default_threads
from linkwork.compilers.run import Runner
from linkwork.errors import InputError

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
    """How many threads share a large batch: so many, or as many as there are cores."""
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
