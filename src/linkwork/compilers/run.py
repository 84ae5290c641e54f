"""Three ways to run one text: `plain`, `native`, `specialized`. Each gives a `Runner` that takes arrays.

A runner's ``entry`` is the quick way in for one state whose arrays fit as they are; `Runner.evaluate` takes anything
array-like, broadcasts leading axes as NumPy does, uses lanes and threads for batches, and turns whatever is wrong into
an `InputError`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers import cache as disk
from linkwork.compilers import emit, llvm, native
from linkwork.compilers import entry as entries
from linkwork.compilers.batch import SYMBOL
from linkwork.compilers.entry import entry_point
from linkwork.compilers.fingerprint import fingerprint
from linkwork.compilers.lanes import Type
from linkwork.compilers.trace import MAX_OPERATIONS, Trace, trace
from linkwork.errors import InputError, NotFinite
from linkwork.inputs import real_array
from linkwork.kernels.algorithm import Algorithm, resolve
from linkwork.plans.tree import Tree

Array = npt.NDArray[Any]
Entry = Callable[..., int]

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
    motors: int = 0
    """How many torques people think of who think of motors alone."""

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

    @property
    def entry(self) -> Entry:
        """Takes inputs and outputs of one state that fit as they are; answers with a status of `entry`."""
        return _always_general

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """Compute prepared arrays: C-contiguous, of the runner's type, inputs with the batch axis or without."""
        status = self._look(inputs)
        if status != entries.DONE:
            return status
        tree, algorithm = self.subject.tree, self.subject.algorithm
        for s in range(count):
            work = [np.full(resolve(shape, tree), np.nan) for shape in algorithm.work.values()]
            rows = [x[s] if x.ndim > len(shape) else x for x, shape in zip(inputs, self.inputs, strict=True)]
            results = [y[s] if y.ndim > len(shape) else y for y, shape in zip(outputs, self.outputs, strict=True)]
            made = algorithm.work_type()(*work)
            with np.errstate(all="ignore"):
                algorithm.text(tree, made, *rows, *results)
                while algorithm.iterate and results[-1][0] > rows[-1][0] and results[-1][1] < rows[-1][1]:
                    algorithm.iterate(tree, made, *rows, *results)
        return entries.DONE if all(np.isfinite(y).all() for y in outputs) else entries.OVERFLOW

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
            return entries.NOT_FINITE
        for start, count in self.subject.units:
            if entries.undirected(inputs[0][..., start : start + count]).any():
                return entries.NO_DIRECTION
        return entries.DONE

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
            if status != entries.DONE:
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
        return results if self.run(arguments, results, count) == entries.DONE else None

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
            if name == "tau" and found[-1] == self.subject.motors:
                hint = "; these are as many as it has motors: torques of all joints are needed, 0 where no motor is: "
                hint += "tau = np.zeros(robot.nv), and tau[robot.v_index(joint)] for each motor's joint"
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
            status = entries.DONE
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


def _always_general(*arrays: Array) -> int:
    return entries.SHAPES


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="linkwork")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


class NativeRunner(Runner):
    """Machine code that is generic in the mechanism: scalar for single states, lanes for batches.

    Code is compiled when it is first needed.
    """

    way = "native"
    checks = True

    def __init__(self, subject: Subject, threads: int = 1, dtype: str = "float64", lanes: int | None = None) -> None:
        super().__init__(subject, dtype, threads)
        self.lanes = best_lanes(dtype) if lanes is None else lanes
        self._lock = threading.Lock()
        self._idle: dict[int, list[Entry]] = {1: [], self.lanes: []}

    @cached_property
    def _single(self) -> Entry:
        return self._new_entry(1)

    @property
    def entry(self) -> Entry:
        """Scalar code, with work arrays of its own: a call for one state keeps other threads out."""
        with self._lock:
            return self._single

    def _new_entry(self, lanes: int) -> Entry:
        """An entry point with work arrays of its own."""
        subject, t = self.subject, Type(self.dtype.name, lanes)
        code = native.code(subject.algorithm, t)
        context = native.Context(subject.algorithm, subject.tree, t)
        return entry_point(code, context, self.dtype, self.shapes, len(self.inputs), subject.units)

    def own_entry(self, batched: bool) -> Entry:
        """An entry point whose work arrays no other caller touches."""
        return self._new_entry(self.lanes if batched else 1)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """Through an entry point that no other thread uses at the moment.

        Two states take lanes already: a block of them costs about as much as two states in scalar code.
        """
        lanes = self.lanes if count > 1 else 1
        idle = self._idle[lanes]
        try:
            free = idle.pop()
        except IndexError:
            free = self._new_entry(lanes)
        try:
            return free(*inputs, *outputs)
        finally:
            idle.append(free)


class Held:
    """Work arrays of one state, and the entry points of texts that share them: what one prepares, the others read.

    The algorithms have the same layout and the same work arrays. For one thread at a time.
    """

    def __init__(self, subject: Subject, algorithms: Sequence[Algorithm], own: Collection[str] = ()) -> None:
        self._recipe = (subject, tuple(algorithms), tuple(own))
        t, dtype = Type("float64", 1), np.dtype(np.float64)
        self.context = native.Context(algorithms[0], subject.tree, t, own)
        self.entries: dict[str, Entry] = {}
        for algorithm in algorithms:
            part = replace(subject, algorithm=algorithm, units=subject.units if "q" in algorithm.inputs else ())
            inputs = part.input_shapes()
            shapes = inputs + part.output_shapes()
            code = native.code(algorithm, t)
            self.entries[algorithm.name] = entry_point(code, self.context, dtype, shapes, len(inputs), part.units)

    def copy(self) -> Held:
        """Another one in the same state."""
        other = Held(*self._recipe)
        other.context.take(self.context)
        return other


class SpecializedRunner(Runner):
    """A straight-line program for one mechanism: scalar for single states, SIMD lanes for batches."""

    way = "specialized"
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
                codes = list(_pool(2).map(made.code, wanted))
            else:
                codes = [made.code(k) for k in wanted]
        self._single, self._batch = self._made(codes[0]), self._made(codes[-1])

    @property
    def entry(self) -> Entry:
        """Scalar code."""
        return self._single

    def _made(self, code: llvm.Code) -> Entry:
        return entry_point(code, None, self.dtype, self.shapes, len(self.inputs), self.subject.units)

    def own_entry(self, batched: bool) -> Entry:
        """Scalar code or lanes; programs share nothing that changes."""
        return self._batch if batched else self._single

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> int:
        """One state through scalar code, more through lanes."""
        return (self._single if count == 1 else self._batch)(*inputs, *outputs)


class _Programs:
    """The machine code of one subject, for any number of lanes, from the cache or made now."""

    def __init__(self, subject: Subject, dtype: str, limit: int) -> None:
        self.subject, self.dtype, self.limit = subject, dtype, limit
        self._trace: Trace | None = None
        iterate = subject.algorithm.iterate
        texts = (subject.algorithm.text,) if iterate is None else (subject.algorithm.text, iterate)
        self._content = disk.key(subject.algorithm.name, *map(fingerprint, texts), content(subject), dtype, str(limit))

    def trace(self) -> Trace:
        """The program before code is made of it."""
        if self._trace is None:
            self._trace = trace(self.subject.algorithm, self.subject.tree, self.limit)
        return self._trace

    def _name(self, lanes: int) -> str:
        return disk.key("specialized", self._content, str(lanes), llvm.version())

    def cached(self, lanes: int) -> bool:
        """Whether nothing needs compiling."""
        return (disk.folder() / self._name(lanes)).exists()

    def code(self, lanes: int) -> llvm.Code:
        """The code in this process."""

        def make() -> bytes:
            return llvm.object_code(emit.module(self.trace(), self.dtype, lanes))

        return llvm.loaded(self._name(lanes), SYMBOL, make)


def content(subject: Subject) -> bytes:
    """Everything of a tree that a program depends on."""
    tree, layout = subject.tree, subject.algorithm.layout
    parts = [str([int(getattr(tree, name)) for name in layout.sizes]).encode()]
    parts += [np.ascontiguousarray(getattr(tree, name)).tobytes() for name in layout.shapes]
    return b"|".join(parts)


def best_lanes(dtype: str) -> int:
    """Lanes that fill one vector register of this machine."""
    return llvm.vector_bytes() // np.dtype(dtype).itemsize


def default_threads() -> int:
    """``LINKWORK_NUM_THREADS``, or the cores this process may use."""
    given = os.environ.get("LINKWORK_NUM_THREADS")
    if given:
        try:
            return max(1, int(given))
        except ValueError:
            raise InputError(f"LINKWORK_NUM_THREADS is '{given}', needs a whole number") from None
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
