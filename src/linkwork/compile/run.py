"""Three ways to run one text: `plain`, `native`, `specialised`. Each gives a `Runner` that takes arrays.

A runner's ``door`` is the quick way in for arrays that fit as they are; `Runner.evaluate` takes anything array-like,
broadcasts leading axes as NumPy does, uses threads for large batches, and turns whatever is wrong into an `InputError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.algorithms.algorithm import Algorithm, resolve
from linkwork.compile import cache as disk
from linkwork.compile import door as doors
from linkwork.compile import emit, llvm, native
from linkwork.compile.trace import MAX_OPERATIONS, Trace, trace
from linkwork.errors import InputError, NotFinite
from linkwork.inputs import real_array
from linkwork.plans.tree import Tree

Array = npt.NDArray[Any]
Door = Callable[..., int]

SYMBOL = "linkwork_kernel"
STACK = 1 << 20
"""Bytes of the stack that inputs and outputs in lanes may take."""

SHARE = 512
"""States that are worth handing to another thread."""


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
    checks = False
    """Whether `run` finds out by itself that arrays do not fit."""

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
            made = algorithm.work_type()(*work)
            with np.errstate(all="ignore"):
                algorithm.text(tree, made, *rows, *results)
                while algorithm.again and results[-1][0] > rows[-1][0] and results[-1][1] < rows[-1][1]:
                    algorithm.again(tree, made, *rows, *results)
        return doors.DONE if all(np.isfinite(y).all() for y in outputs) else doors.OVERFLOW

    def own_door(self, batched: bool) -> Door:
        """A door for one caller's own use, for arrays of which `misfit` finds nothing to say."""

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
        names = [*self.names, *(f"out for {name}" for name in self.subject.algorithm.outputs)]
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

    def _look(self, inputs: Sequence[Array]) -> int:
        if not all(np.isfinite(x).all() for x in inputs):
            return doors.NOT_FINITE
        for start, count in self.subject.units:
            if doors.undirected(inputs[0][..., start : start + count]).any():
                return doors.NO_DIRECTION
        return doors.DONE

    # The general way in ------------------------------------------------------------------------

    def evaluate(self, arguments: Sequence[npt.ArrayLike], out: Sequence[Array | None]) -> list[Array]:
        """Compute for anything array-like; leading axes broadcast. Results go to ``out`` where it is given."""
        if self.checks and all(given is None for given in out):
            quick = self._as_they_are(arguments)
            if quick is not None:
                return quick
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
        results: list[Array] = []
        for name, given, shape in zip(self.subject.algorithm.outputs, out, self.outputs, strict=True):
            if given is not None:
                self._check_out(name, given, (*lead, *shape))
                if any(other is not None and np.may_share_memory(given, other) for other in out[: len(results)]):
                    raise InputError(f"out for {name} shares memory with another output")
            usable = type(given) is np.ndarray and given.flags.carray
            usable = usable and not any(np.may_share_memory(given, x) for x in flat)
            results.append(given if usable else np.empty((*lead, *shape), dtype=self.dtype))  # type: ignore[arg-type]
        count = int(np.prod(lead, dtype=np.int64))
        if count:
            axis = (count,) if count > 1 else ()
            rows = [y.reshape(axis + shape) for y, shape in zip(results, self.outputs, strict=True)]
            status = self._run_threaded(flat, rows, count)
            if status != doors.DONE:
                self.explain(status, inputs, results)
        for k, given in enumerate(out):
            if given is not None and given is not results[k]:
                given[...] = results[k]
                results[k] = given
        return results

    def _as_they_are(self, arguments: Sequence[Any]) -> list[Array] | None:
        """Results for one batch of arrays that need no preparation, if that is what they are."""
        batches = [
            x.shape
            for x, shape in zip(arguments, self.inputs, strict=True)
            if type(x) is np.ndarray and x.ndim == len(shape) + 1
        ]
        count = batches[0][0] if batches else 0
        if count < 2 or (self.threads > 1 and count >= 2 * SHARE):
            return None
        results = [np.empty((count, *shape), dtype=self.dtype) for shape in self.outputs]
        return results if self.run(arguments, results, count) == doors.DONE else None

    def _prepared(self, name: str, x: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
        array = real_array(x, name)
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

    def _check_out(self, name: str, given: Any, shape: tuple[int, ...]) -> None:
        if not isinstance(given, np.ndarray):
            raise InputError(f"out for {name} is {type(given).__name__}, needs a NumPy array")
        if given.shape != shape:
            raise InputError(f"out for {name} has shape {given.shape}, needs {shape}")
        if given.dtype != self.dtype:
            raise InputError(f"out for {name} has dtype {given.dtype}, needs {self.dtype}")
        if not given.flags.writeable:
            raise InputError(f"out for {name} is read-only")

    def _run_threaded(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """In parts, which threads take as they become free: this one, and others of the pool."""
        parts = min(8 * self.threads, count // SHARE)
        if self.threads < 2 or parts < 2:
            return self.run(inputs, outputs, count)
        edges = [count * k // parts for k in range(parts + 1)]
        queue = pairwise(edges)

        def work() -> int:
            status = doors.DONE
            for start, stop in queue:
                rows = [x[start:stop] if x.ndim > len(s) else x for x, s in zip(inputs, self.inputs, strict=True)]
                status = max(status, self.run(rows, [y[start:stop] for y in outputs], stop - start))
            return status

        others = [_pool(self.threads).submit(work) for _ in range(min(self.threads, parts) - 1)]
        return max([work(), *(other.result() for other in others)])

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
            lost = doors.undirected(q[..., start : start + count])
            if lost.any():
                where = "" if q.ndim == 1 else f" of state {tuple(int(k) for k in np.argwhere(lost)[0])}"
                what = "quaternion" if count == 4 else "direction (cos, sin)"
                size = "zero length" if np.abs(q[..., start : start + count][lost]).min() < 1.0 else "immense length"
                raise InputError(f"q[{start}:{start + count}]{where} is a {what} of {size}")
        if status == doors.OVERFLOW:
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


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="linkwork")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


class NativeRunner(Runner):
    """Machine code that is generic in the mechanism."""

    way = "native"
    checks = True

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
            self._address, context.address, self.dtype, self.shapes, len(self.inputs), subject.units
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


class Held:
    """Work arrays of one state, and the doors of texts that share them: what one prepares, the others read.

    The algorithms have the same layout and the same work arrays. For one thread at a time.
    """

    def __init__(self, subject: Subject, algorithms: Sequence[Algorithm], own: Collection[str] = ()) -> None:
        self._recipe = (subject, tuple(algorithms), tuple(own))
        self.context = native.Context(algorithms[0], subject.tree, own)
        self.doors: dict[str, Door] = {}
        for algorithm in algorithms:
            part = replace(subject, algorithm=algorithm, units=subject.units if "q" in algorithm.inputs else ())
            inputs = part.input_shapes()
            words, table = doors.descriptor(
                native.address(algorithm),
                self.context.address,
                np.dtype(np.float64),
                inputs + part.output_shapes(),
                len(inputs),
                part.units,
            )
            self.doors[algorithm.name] = doors.make(words, "float64", self.context, table)

    def copy(self) -> Held:
        """Another one in the same state."""
        other = Held(*self._recipe)
        other.context.take(self.context)
        return other


class SpecialisedRunner(Runner):
    """A straight-line program for one mechanism: scalar for single states, SIMD lanes for batches."""

    way = "specialised"
    checks = True

    def __init__(self, subject: Subject, dtype: str, lanes: int, threads: int, limit: int = MAX_OPERATIONS) -> None:
        super().__init__(subject, dtype, threads)
        numbers = sum(int(np.prod(shape)) for shape in self.shapes)
        while lanes > 1 and lanes * numbers * self.dtype.itemsize > STACK:
            lanes //= 2
        self.lanes = lanes
        made = _Programs(subject, dtype, limit)
        wanted = [1] if lanes == 1 else [1, lanes]
        with disk.announced(f"{subject.algorithm.name} of '{subject.robot}' ({dtype})"):
            if len(wanted) > 1 and not all(made.cached(k) for k in wanted):
                made.trace()  # shared by both
                addresses = list(_pool(2).map(made.address, wanted))
            else:
                addresses = [made.address(k) for k in wanted]
        self.door, self._batch_door = self._made(addresses[0]), self._made(addresses[-1])

    def _made(self, address: int) -> Door:
        words, table = doors.descriptor(address, 0, self.dtype, self.shapes, len(self.inputs), self.subject.units)
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
        again = "" if subject.algorithm.again is None else "again"
        self._content = disk.key(subject.algorithm.name, again, content(subject), dtype, str(limit))

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
            return llvm.object_code(emit.module(self.trace(), SYMBOL, self.dtype, lanes))

        return llvm.load(disk.fetch(self._name(lanes), make), SYMBOL)


def content(subject: Subject) -> bytes:
    """Everything of a tree that a program depends on."""
    tree, layout = subject.tree, subject.algorithm.layout
    parts = [str([int(getattr(tree, name)) for name in layout.sizes]).encode()]
    parts += [np.ascontiguousarray(getattr(tree, name)).tobytes() for name in layout.shapes]
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
