# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in, arrays out, for all backends. `Runner` runs the Python code itself; `backends` has the others.

A runner's ``entry`` is the entry point for one state whose arrays fit as they are; `Runner.evaluate` takes anything
array-like, broadcasts leading axes as NumPy does, uses lanes and threads for batches, and turns whatever is wrong into
an `InputError`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.checks import check, located
from linkwork.compilers.entry import entry_point as entries
from linkwork.compilers.entry.interrupts import Job, go_on, shared
from linkwork.compilers.program import Backend, Program
from linkwork.errors import InputError, NotFinite
from linkwork.inputs import plural, real_array
from linkwork.kernels.algorithm import resolve

Array = npt.NDArray[Any]
Entry = Callable[..., int]

SHARE = 512
"""States that are worth handing to another thread."""

PLAIN = Backend("plain")


class Runner:
    """Runs a program as plain Python. Immutable, and safe from several threads."""

    checks = False
    """Whether `run` finds out by itself that arrays do not fit."""

    def __init__(self, program: Program, backend: Backend = PLAIN) -> None:
        check(program)
        self.program = program
        self.dtype: np.dtype[Any] = np.dtype(backend.dtype)
        self.threads = backend.threads
        self.names = list(program.algorithm.inputs)
        self.inputs = program.input_shapes()
        self.outputs = program.output_shapes()

    @property
    def entry(self) -> Entry:
        """Takes inputs and outputs of one state that fit as they are; answers with a status of `entry`."""
        return always_refused

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """Compute prepared arrays: C-contiguous, of the runner's type, inputs with the batch axis or without."""
        status = self._check_numbers(inputs)
        if status != entries.DONE:
            return status
        tree, algorithm = self.program.tree, self.program.algorithm
        for s in range(count):
            work = [np.full(resolve(shape, tree), np.nan) for shape in algorithm.work.values()]
            work += [np.zeros(resolve(shape, tree), dtype=np.int64) for shape in algorithm.integers.values()]
            rows = [x[s] if x.ndim > len(shape) else x for x, shape in zip(inputs, self.inputs, strict=True)]
            results = [y[s] if y.ndim > len(shape) else y for y, shape in zip(outputs, self.outputs, strict=True)]
            memory = algorithm.work_type(*work)
            with np.errstate(all="ignore"), located(algorithm):
                algorithm.text(tree, memory, *rows, *results)
                while algorithm.iterate and results[-1][0] > rows[-1][0] and results[-1][1] < rows[-1][1]:
                    ending = algorithm.refine if _about_to_end(results[-1], rows[-1]) else None
                    (ending or algorithm.iterate)(tree, memory, *rows, *results)
        return entries.DONE if all(np.isfinite(y).all() for y in outputs) else entries.OVERFLOW

    def check(self) -> None:
        """Raise an error where numbers were not finite since the last check; here every call says so itself."""

    def own_entry(self, batched: bool) -> Entry:
        """An entry point for one caller's own use, for arrays of which `misfit` finds nothing to say."""

        def through(*arrays: Array) -> int:
            count = max(len(x) if x.ndim > len(shape) else 1 for x, shape in zip(arrays, self.shapes, strict=True))
            return self.run(arrays[: len(self.inputs)], arrays[len(self.inputs) :], count)

        return through

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of one state's inputs and outputs."""
        return self.inputs + self.outputs

    def misfit(self, arrays: Sequence[Any]) -> str | None:
        """Why inputs and outputs cannot be used as they are, if so."""
        names = [*self.names, *(f"out for {name}" for name in self.program.algorithm.outputs)]
        leads = []
        for k, (name, x, shape) in enumerate(zip(names, arrays, self.shapes, strict=True)):
            if type(x) is not np.ndarray or x.dtype != self.dtype or not (x.flags.c_contiguous and x.flags.aligned):
                return f"{name} is no C-contiguous {self.dtype} array"
            lead = x.ndim - len(shape)
            if lead not in (0, 1) or x.shape[lead:] != shape:
                return f"{name} has shape {x.shape}, needs {shape}, or one batch axis before"
            if k >= len(self.inputs) and not x.flags.writeable:
                return f"{name} is read-only"
            if k >= len(self.inputs) and any(np.may_share_memory(x, y) for y in arrays[:k]):
                return f"{name} shares memory with another array"
            leads.append(x.shape[:lead])
        batch = max(leads[: len(self.inputs)])
        if any(lead not in ((), batch) for lead in leads) or any(lead != batch for lead in leads[len(self.inputs) :]):
            return f"batch axes {leads} differ"
        return None

    def _check_numbers(self, inputs: Sequence[Array]) -> int:
        if not all(np.isfinite(x).all() for x in inputs):
            return entries.NOT_FINITE
        for start, count in self.program.units:
            if entries.undirected(inputs[0][..., start : start + count]).any():
                return entries.NO_DIRECTION
        return entries.DONE

    # The general path --------------------------------------------------------------------------

    def evaluate_with(self, held: tuple[Any, ...], given: Sequence[Any]) -> list[Any]:
        """Compute for arrays of the caller, new outputs.

        Args:
            held: Arrays that an evaluator holds, after the caller's arrays: known by its identity, never changed.
            given: Arrays of the caller.
        """
        return list(self.evaluate([*given, *held], [None] * len(self.outputs)))

    def evaluate(self, arguments: Sequence[npt.ArrayLike], out: Sequence[Array | None]) -> list[Array]:
        """Compute for anything array-like; leading axes broadcast. Results go to ``out`` where it is given."""
        if self.checks:
            quick = self._run_unprepared(arguments, out)
            if quick is not None:
                return quick
        inputs, leads, lead = self.broadcast(arguments)
        flat = [self._flattened(x, own, lead, shape) for x, own, shape in zip(inputs, leads, self.inputs, strict=True)]
        results: list[Array] = []
        for name, array, shape in zip(self.program.algorithm.outputs, out, self.outputs, strict=True):
            if array is not None:
                check_out(name, array, (*lead, *shape), self.dtype)
                if any(other is not None and np.may_share_memory(array, other) for other in out[: len(results)]):
                    raise InputError(f"out for {name} shares memory with another output")
            usable = type(array) is np.ndarray and array.flags.carray
            usable = usable and not any(np.may_share_memory(array, x) for x in flat)
            results.append(array if usable else np.empty((*lead, *shape), dtype=self.dtype))  # type: ignore[arg-type]
        count = int(np.prod(lead, dtype=np.int64))
        if count:
            axis = (count,) if count > 1 else ()
            rows = [y.reshape(axis + shape) for y, shape in zip(results, self.outputs, strict=True)]
            status = self.run_threaded(flat, rows, count)
            if status != entries.DONE:
                self.explain(status, inputs, results)
        for k, array in enumerate(out):
            if array is not None and array is not results[k]:
                array[...] = results[k]
                results[k] = array
        return results

    def broadcast(
        self, arguments: Sequence[npt.ArrayLike]
    ) -> tuple[list[Array], list[tuple[int, ...]], tuple[int, ...]]:
        """Arrays for anything array-like, the leading axes of each, and those of all."""
        inputs = [
            self._prepared(name, x, shape) for name, x, shape in zip(self.names, arguments, self.inputs, strict=True)
        ]
        leads = [x.shape[: x.ndim - len(shape)] for x, shape in zip(inputs, self.inputs, strict=True)]
        try:
            lead = np.broadcast_shapes(*leads)
        except ValueError:
            each = ", ".join(f"{name} {lead}" for name, lead in zip(self.names, leads, strict=True) if lead)
            raise InputError(f"leading axes do not broadcast: {each}") from None
        return inputs, leads, lead

    def _run_unprepared(self, arguments: Sequence[Any], out: Sequence[Array | None]) -> list[Array] | None:
        """Results for one batch of arrays, if these need no conversion."""
        batches = [
            x.shape
            for x, shape in zip(arguments, self.inputs, strict=True)
            if type(x) is np.ndarray and x.ndim == len(shape) + 1
        ]
        count = batches[0][0] if batches else 0
        if count < 2 or (self.threads > 1 and count >= 2 * SHARE):
            return None
        results = [
            np.empty((count, *shape), dtype=self.dtype) if array is None else array
            for array, shape in zip(out, self.outputs, strict=True)
        ]
        return results if self.run(arguments, results, count) == entries.DONE else None

    def _prepared(self, name: str, x: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
        array = real_array(x, name)
        if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
            raise InputError(self._wrong_shape(name, array.shape, shape))
        with np.errstate(over="ignore"):
            return np.asarray(array, dtype=self.dtype)

    def _wrong_shape(self, name: str, given: tuple[int, ...], shape: tuple[int, ...]) -> str:
        if len(shape) == 1 and len(given) >= 1:
            hint = ""
            if name == "q" and self.program.units:
                hint = " (" + ", ".join(f"q[{a}:{a + n}] of unit length" for a, n in self.program.units[:3]) + ")"
            if name == "tau" and given[-1] == self.program.motors:
                hint = "; these are as many as it has motors: torques of all joints are needed, 0 where no motor is: "
                hint += "tau = np.zeros(robot.nv), and tau[robot.v_index(joint)] for each motor's joint"
            return f"{name} has {plural(given[-1], 'number')}, robot '{self.program.robot}' needs {shape[0]}{hint}"
        return f"{name} has shape {given}, robot '{self.program.robot}' needs (..., {', '.join(map(str, shape))})"

    def _flattened(self, x: Array, own: tuple[int, ...], lead: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """One batch axis, or none where every state shares the array."""
        if any(size != 1 for size in own):
            x = np.broadcast_to(x, (*lead, *shape)).reshape((math.prod(lead), *shape))  # of no numbers, too
        else:
            x = x.reshape(shape)
        return np.require(x, requirements=["C", "A"])

    def run_threaded(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """In parts, which threads take as they become free: this one, and others of the pool."""
        parts = min(8 * self.threads, count // SHARE)
        if self.threads < 2 or parts < 2:
            return self.run(inputs, outputs, count)
        edges = [count * k // parts for k in range(parts + 1)]
        queue = pairwise(edges)

        job = Job()

        def work() -> int:
            status = entries.DONE
            with shared(job):
                for start, stop in queue:
                    go_on()
                    rows = [x[start:stop] if x.ndim > len(s) else x for x, s in zip(inputs, self.inputs, strict=True)]
                    status = max(status, self.run(rows, [y[start:stop] for y in outputs], stop - start))
            return status

        others = [thread_pool(self.threads).submit(work) for _ in range(min(self.threads, parts) - 1)]
        try:
            return max([work(), *(other.result() for other in others)])
        except BaseException:
            job.given_up = True
            raise

    def explain(self, status: int, inputs: Sequence[npt.ArrayLike], outputs: Sequence[Array]) -> None:
        """Raise the error that a status stands for."""
        arrays = [np.asarray(x, dtype=self.dtype) for x in inputs]
        for name, x in zip(self.names, arrays, strict=True):
            if not np.isfinite(x).all():
                index = tuple(int(k) for k in np.argwhere(~np.isfinite(x))[0])
                value = "NaN" if np.isnan(x[index]) else "infinity"
                raise InputError(f"{name} holds {value} at index {index if len(index) > 1 else index[0]}")
        q = arrays[0]
        for start, count in self.program.units:
            lost = entries.undirected(q[..., start : start + count])
            if lost.any():
                where = "" if q.ndim == 1 else f" of state {tuple(int(k) for k in np.argwhere(lost)[0])}"
                what = "quaternion" if count == 4 else "direction (cos, sin)"
                size = "zero length" if np.abs(q[..., start : start + count][lost]).min() < 1.0 else "immense length"
                raise InputError(f"q[{start}:{start + count}]{where} is a {what} of {size}")
        if status == entries.OVERFLOW:
            where = ""
            for y, shape in zip(outputs, self.outputs, strict=True):
                bad = np.argwhere(~np.isfinite(y))
                if y.ndim > len(shape) and len(bad):
                    where = f" for state {tuple(int(k) for k in bad[0][: y.ndim - len(shape)])}"
            sizes = ", ".join(
                f"|{n}| up to {np.abs(x).max():.3g}" for n, x in zip(self.names, arrays, strict=True) if x.size
            )
            raise NotFinite(
                f"the result{where} is not finite: numbers are too large for {self.dtype}, "
                f"or a body has no inertia ({sizes})"
            )
        raise InputError("arrays do not fit: they changed since they were bound")  # e.g. made read-only


def _about_to_end(progress: Array, settings: Array) -> bool:
    """Whether the next iteration is the last that is allowed, or likely to be the last that is needed."""
    residual, iterations = progress[:2]
    near = residual * residual <= settings[0] or residual <= settings[2:3].max(initial=0.0)
    return bool(near or iterations + 1 >= settings[1])


def always_refused(*arrays: Array) -> int:
    """The entry point of evaluators that take the general path alone."""
    return entries.SHAPES


@cache
def thread_pool(threads: int) -> ThreadPoolExecutor:
    """Threads that share batches, kept for the life of the process."""
    return ThreadPoolExecutor(threads, thread_name_prefix="linkwork")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=thread_pool.cache_clear)  # threads do not survive a fork


def check_out(name: str, given: Any, shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
    """An `InputError` unless results of this shape and type can be written to an array.

    Args:
        name: Name of the output.
        given: The array.
        shape: Shape that it needs.
        dtype: Type of its numbers.
    """
    if not isinstance(given, np.ndarray):
        raise InputError(f"out for {name} is {type(given).__name__}, needs a NumPy array")
    if given.shape != shape:
        raise InputError(f"out for {name} has shape {given.shape}, needs {shape}")
    if given.dtype != dtype:
        raise InputError(f"out for {name} has dtype {given.dtype}, needs {dtype}")
    if not given.flags.writeable:
        raise InputError(f"out for {name} is read-only")
