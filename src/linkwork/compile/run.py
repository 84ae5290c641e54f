"""Three ways to run one text: `plain`, `native`, `specialised`. Each gives a `Runner` that takes arrays.

A runner's ``door`` is the quick way in for arrays that fit as they are; `Runner.evaluate` takes anything array-like,
broadcasts leading axes as NumPy does, uses threads for large batches, and turns whatever is wrong into an `InputError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.algorithms.algorithm import Algorithm, resolve
from linkwork.compile import cache as disk
from linkwork.compile import door as doors
from linkwork.compile import emit, llvm, native
from linkwork.compile.trace import MAX_OPERATIONS, Trace, trace
from linkwork.errors import InputError
from linkwork.plans.tree import SHAPES, SIZES, Tree

Array = npt.NDArray[Any]
Door = Callable[..., int]

SYMBOL = "linkwork_kernel"
SHARE = 512
"""States that are worth a thread of their own."""


@dataclass(frozen=True)
class Subject:
    """What a runner computes for: an algorithm on a tree, and words for messages."""

    algorithm: Algorithm
    tree: Tree
    units: tuple[tuple[int, int], ...]
    robot: str

    def input_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of one state's inputs."""
        return [resolve(shape, self.tree) for shape in self.algorithm.inputs.values()]

    def output_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of one state's outputs."""
        return [resolve(shape, self.tree) for shape in self.algorithm.outputs.values()]


class Runner:
    """An algorithm for one mechanism, run one way. Immutable, and safe from several threads."""

    way = "plain"

    def __init__(self, subject: Subject, dtype: str = "float64", threads: int = 1) -> None:
        self.subject = subject
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.threads = threads
        self.names = list(subject.algorithm.inputs)
        self.inputs = subject.input_shapes()
        self.outputs = subject.output_shapes()
        self.door: Door = self._always_general
        """Takes inputs and outputs that fit as they are; answers with a status of `door`."""

    @staticmethod
    def _always_general(*arrays: Array) -> int:
        return doors.SHAPES

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """Compute prepared arrays: C-contiguous, of the runner's type, inputs with the batch axis or without."""
        status = self._look(inputs)
        if status != doors.DONE:
            return status
        tree, algorithm = self.subject.tree, self.subject.algorithm
        for s in range(count):
            work = [np.full(resolve(shape, tree), np.nan) for shape in algorithm.work.values()]
            rows = [x[s] if x.ndim > len(shape) else x for x, shape in zip(inputs, self.inputs, strict=True)]
            results = [y[s] if y.ndim > len(shape) else y for y, shape in zip(outputs, self.outputs, strict=True)]
            with np.errstate(all="ignore"):
                algorithm.text(tree, algorithm.work_type()(*work), *rows, *results)
        return doors.DONE if all(np.isfinite(y).all() for y in outputs) else doors.OVERFLOW

    def own_door(self, batched: bool) -> Door:
        """A door for one caller's own use."""

        def through(*arrays: Array) -> int:
            self.evaluate(arrays[: len(self.inputs)], arrays[len(self.inputs) :])
            return doors.DONE

        return through

    def _look(self, inputs: Sequence[Array]) -> int:
        if not all(np.isfinite(x).all() for x in inputs):
            return doors.NOT_FINITE
        for start, count in self.subject.units:
            if (np.sum(inputs[0][..., start : start + count] ** 2, axis=-1) <= doors.TINY).any():
                return doors.NO_DIRECTION
        return doors.DONE

    # The general way in ------------------------------------------------------------------------

    def evaluate(self, arguments: Sequence[npt.ArrayLike], out: Sequence[Array | None]) -> list[Array]:
        """Compute for anything array-like; leading axes broadcast. Results go to ``out`` where it is given."""
        inputs = [
            self._prepared(name, x, shape) for name, x, shape in zip(self.names, arguments, self.inputs, strict=True)
        ]
        leads = [x.shape[: x.ndim - len(shape)] for x, shape in zip(inputs, self.inputs, strict=True)]
        try:
            lead = np.broadcast_shapes(*leads)
        except ValueError:
            found = ", ".join(f"{name} {lead}" for name, lead in zip(self.names, leads, strict=True) if lead)
            raise InputError(f"leading axes do not broadcast: {found}") from None
        flat = [self._flattened(x, own, lead, shape) for x, own, shape in zip(inputs, leads, self.inputs, strict=True)]
        results, targets = [], []
        for name, given, shape in zip(self.subject.algorithm.outputs, out, self.outputs, strict=True):
            target = None if given is None else self._checked_out(name, given, (*lead, *shape))
            usable = (
                target is not None and target.flags.carray and not any(np.may_share_memory(target, x) for x in flat)
            )
            result = target if usable and target is not None else np.empty((*lead, *shape), dtype=self.dtype)
            results.append(result)
            targets.append(None if result is target else target)
        count = int(np.prod(lead, dtype=np.int64))
        if count:
            axis = (count,) if count > 1 else ()
            rows = [y.reshape(axis + shape) for y, shape in zip(results, self.outputs, strict=True)]
            status = self._run_threaded(flat, rows, count)
            if status != doors.DONE:
                self.explain(status, inputs, results)
        for k, target in enumerate(targets):
            if target is not None:
                target[...] = results[k]
                results[k] = target
        return results

    def _prepared(self, name: str, x: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
        try:
            array = np.asarray(x)
        except (ValueError, TypeError) as error:
            raise InputError(f"{name} is not an array of numbers: {error}") from None
        if array.dtype.kind not in "fiu":
            raise InputError(f"{name} has dtype {array.dtype}, needs real numbers")
        if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
            raise InputError(self._wrong_shape(name, array.shape, shape))
        with np.errstate(over="ignore"):
            return np.asarray(array, dtype=self.dtype)

    def _wrong_shape(self, name: str, found: tuple[int, ...], shape: tuple[int, ...]) -> str:
        if len(shape) == 1 and len(found) >= 1:
            hint = ""
            if name == "q" and self.subject.units:
                hint = " (" + ", ".join(f"q[{a}:{a + n}] of unit length" for a, n in self.subject.units[:3]) + ")"
            return f"{name} has {found[-1]} numbers, robot '{self.subject.robot}' needs {shape[0]}{hint}"
        return f"{name} has shape {found}, robot '{self.subject.robot}' needs (..., {', '.join(map(str, shape))})"

    def _flattened(self, x: Array, own: tuple[int, ...], lead: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        """One batch axis, or none where every state shares the array."""
        if any(size != 1 for size in own):
            x = np.broadcast_to(x, (*lead, *shape)).reshape((-1, *shape))
        else:
            x = x.reshape(shape)
        return np.require(x, requirements=["C", "A"])

    def _checked_out(self, name: str, given: Any, shape: tuple[int, ...]) -> Array:
        if not isinstance(given, np.ndarray):
            raise InputError(f"out for {name} is {type(given).__name__}, needs a NumPy array")
        if given.shape != shape:
            raise InputError(f"out for {name} has shape {given.shape}, needs {shape}")
        if given.dtype != self.dtype:
            raise InputError(f"out for {name} has dtype {given.dtype}, needs {self.dtype}")
        if not given.flags.writeable:
            raise InputError(f"out for {name} is read-only")
        return given

    def _run_threaded(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        parts = min(self.threads, count // SHARE)
        if parts < 2:
            return self.run(inputs, outputs, count)
        edges = [count * k // parts for k in range(parts + 1)]

        def part(k: int) -> int:
            cut = slice(edges[k], edges[k + 1])
            rows = [x[cut] if x.ndim > len(shape) else x for x, shape in zip(inputs, self.inputs, strict=True)]
            return self.run(rows, [y[cut] for y in outputs], edges[k + 1] - edges[k])

        return max(_pool(self.threads).map(part, range(parts)))

    def explain(self, status: int, inputs: Sequence[npt.ArrayLike], outputs: Sequence[Array]) -> None:
        """Raise the error that a status stands for."""
        arrays = [np.asarray(x, dtype=self.dtype) for x in inputs]
        for name, x in zip(self.names, arrays, strict=True):
            if not np.isfinite(x).all():
                index = tuple(int(k) for k in np.argwhere(~np.isfinite(x))[0])
                found = "NaN" if np.isnan(x[index]) else "infinity"
                raise InputError(f"{name} holds {found} at index {index if len(index) > 1 else index[0]}")
        q = arrays[0]
        for start, count in self.subject.units:
            small = np.sum(np.square(q[..., start : start + count]), axis=-1) <= doors.TINY
            if small.any():
                where = "" if q.ndim == 1 else f" of state {tuple(int(k) for k in np.argwhere(small)[0])}"
                what = "quaternion" if count == 4 else "direction (cos, sin)"
                raise InputError(f"q[{start}:{start + count}]{where} is a {what} of zero length")
        if status == doors.OVERFLOW:
            where = ""
            for y, shape in zip(outputs, self.outputs, strict=True):
                bad = np.argwhere(~np.isfinite(y))
                if y.ndim > len(shape) and len(bad):
                    where = f" for state {tuple(int(k) for k in bad[0][: y.ndim - len(shape)])}"
            sizes = ", ".join(
                f"|{n}| up to {np.abs(x).max():.3g}" for n, x in zip(self.names, arrays, strict=True) if x.size
            )
            raise InputError(
                f"the result{where} is not finite: numbers are too large for {self.dtype}, "
                f"or a body has no inertia ({sizes})"
            )
        raise InputError("arrays do not fit: they changed since they were bound")


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="linkwork")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


class NativeRunner(Runner):
    """Machine code that is generic in the mechanism."""

    way = "native"

    def __init__(self, subject: Subject, threads: int = 1) -> None:
        super().__init__(subject, "float64", threads)
        self._address = native.address(subject.algorithm)
        self._idle: list[Door] = []
        self.door = self._new_door()

    def _new_door(self) -> Door:
        """A door with work arrays of its own."""
        subject = self.subject
        context = native.Context(subject.algorithm, subject.tree)
        words, table = doors.descriptor(
            self._address, context.address, self.dtype, self.inputs + self.outputs, len(self.inputs), subject.units
        )
        return doors.make(words, "float64", context, table)

    def own_door(self, batched: bool) -> Door:
        """A door whose work arrays no other caller touches."""
        return self._new_door()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """Through a door that no other thread uses at the moment."""
        try:
            free = self._idle.pop()
        except IndexError:
            free = self._new_door()
        try:
            return free(*inputs, *outputs)
        finally:
            self._idle.append(free)


class SpecialisedRunner(Runner):
    """A straight-line program for one mechanism: scalar for single states, SIMD lanes for batches."""

    way = "specialised"

    def __init__(self, subject: Subject, dtype: str, lanes: int, threads: int, limit: int = MAX_OPERATIONS) -> None:
        super().__init__(subject, dtype, threads)
        self.lanes = lanes
        made = _Programs(subject, dtype, limit)
        wanted = [1] if lanes == 1 else [1, lanes]
        if len(wanted) > 1 and not all(made.cached(k) for k in wanted):
            made.trace()  # shared by both
            addresses = list(_pool(2).map(made.address, wanted))
        else:
            addresses = [made.address(k) for k in wanted]
        self.door, self._batch_door = self._made(addresses[0]), self._made(addresses[-1])

    def _made(self, address: int) -> Door:
        words, table = doors.descriptor(
            address, 0, self.dtype, self.inputs + self.outputs, len(self.inputs), self.subject.units
        )
        return doors.make(words, self.dtype.name, table)

    def own_door(self, batched: bool) -> Door:
        """Scalar code or lanes; programs share nothing that changes."""
        return self._batch_door if batched else self.door

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """One state through scalar code, more through lanes."""
        return (self.door if count == 1 else self._batch_door)(*inputs, *outputs)


class _Programs:
    """The machine code of one subject, for any number of lanes, from the cache or made now."""

    def __init__(self, subject: Subject, dtype: str, limit: int) -> None:
        self.subject, self.dtype, self.limit = subject, dtype, limit
        self._trace: Trace | None = None
        self._content = disk.key(subject.algorithm.name, content(subject.tree), dtype)

    def trace(self) -> Trace:
        """The program before code is made of it."""
        if self._trace is None:
            self._trace = trace(self.subject.algorithm, self.subject.tree, self.limit)
        return self._trace

    def _name(self, lanes: int) -> str:
        return disk.key("specialised", self._content, str(lanes), llvm.version())

    def cached(self, lanes: int) -> bool:
        """Whether nothing needs compiling."""
        return (disk.folder() / self._name(lanes)).exists()

    def address(self, lanes: int) -> int:
        """Where the code is in this process."""

        def make() -> bytes:
            with disk.announced(
                f"{self.subject.algorithm.name} of '{self.subject.robot}' ({self.dtype}, {lanes} lanes)"
            ):
                return llvm.object_code(emit.module(self.trace(), SYMBOL, self.dtype, lanes))

        return llvm.load(disk.fetch(self._name(lanes), make), SYMBOL)


def content(tree: Tree) -> bytes:
    """Everything of a tree that a program depends on."""
    parts = [str([int(getattr(tree, name)) for name in SIZES]).encode()]
    parts += [np.ascontiguousarray(getattr(tree, name)).tobytes() for name in SHAPES]
    return b"|".join(parts)


def best_lanes(dtype: str) -> int:
    """Lanes that fill one vector register of this machine."""
    flags = llvm.features()
    width = 64 if flags.get("avx512f") else 32 if flags.get("avx2") else 16
    return width // np.dtype(dtype).itemsize


def default_threads() -> int:
    """``LINKWORK_NUM_THREADS``, or the cores this process may use."""
    given = os.environ.get("LINKWORK_NUM_THREADS")
    if given:
        try:
            return max(1, int(given))
        except ValueError:
            raise InputError(f"LINKWORK_NUM_THREADS is '{given}', needs a whole number") from None
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
