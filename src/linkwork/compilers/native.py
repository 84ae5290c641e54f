# SPDX-License-Identifier: BSD-3-Clause
"""Machine code that is generic in the mechanism: kernel code compiled once, topology being data.

A module of native code is the code of an algorithm (`lowering`), for one state or one state a lane, in a loop over the
states of a batch (`batch`). It reads a *context*: words that hold the sizes of the mechanism, addresses of its arrays,
of work arrays, and of the memory where states are in lanes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from linkwork.compilers import llvm
from linkwork.compilers.cache import announced, key
from linkwork.compilers.entry import batch, ordered
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.fingerprint import fingerprint, own_modules
from linkwork.compilers.language.guards import WORDS, Guards
from linkwork.kernels.algorithm import ORDER, Algorithm, Shape, resolve
from linkwork.plans.tree import Tree

SCALAR_LEVEL, LANE_LEVEL, CHECKED_LEVEL = 2, 1, 0
"""Of LLVM's optimizations: the second buys scalar code 7 %, lanes nothing; checked code is run once."""

ALIGNMENT = 64
"""Bytes: work arrays begin where vectors may, or where longer ones do if there are more lanes."""


@cache
def is_foreign(algorithm: Algorithm) -> bool:
    """Whether some of an algorithm's text is from outside the package."""
    return any(fingerprint(text) for text in algorithm.texts)


@cache
def cache_name(algorithm: Algorithm, dtype: str, lanes: int, checked: bool = False) -> str:
    """The name under which an algorithm's object code is kept."""
    shapes = repr([dict(part) for part in (algorithm.inputs, algorithm.outputs, algorithm.stored, algorithm.integers)])
    layout = algorithm.layout
    return key(
        "native",
        algorithm.name,
        *(fingerprint(text) for text in algorithm.texts),
        shapes,
        repr((layout.sizes, dict(layout.integers), dict(layout.floats))),
        repr(algorithm.shared),
        f"{dtype} x {lanes}{', checked' if checked else ''}",
        llvm.version(),
        modules=(__name__, *(name for text in algorithm.texts for name in own_modules(text))),
    )


def code(algorithm: Algorithm, t: Type, checked: bool = False) -> llvm.Code:
    """An algorithm's machine code, from this process, from the cache, or compiled now; ``checked``: see `guards`."""
    name = cache_name(algorithm, t.dtype, t.lanes, checked)

    def make() -> bytes:
        lanes = "" if t.lanes == 1 else f", {t.lanes} lanes"
        level = CHECKED_LEVEL if checked else SCALAR_LEVEL if t.lanes == 1 else LANE_LEVEL
        with announced(f"{algorithm.name} ({t.dtype}{lanes}{', checked' if checked else ''})"):
            return llvm.object_code(module(algorithm, t, checked=checked), level)

    return llvm.loaded(name, batch.SYMBOL, make)


def module(algorithm: Algorithm, t: Type, contract: bool = True, checked: bool = False) -> str:
    """The LLVM IR of an algorithm."""
    return guarded_module(algorithm, t, contract, checked)[0]


def guarded_module(
    algorithm: Algorithm, t: Type, contract: bool = True, checked: bool = False
) -> tuple[str, Guards | None]:
    """The module, and its run-time checks; None where all text is the package's own."""
    # Only where something is to be compiled: a process that finds all code in the cache does without.
    from linkwork.compilers.language.lowering import RowUnit, Unit
    from linkwork.compilers.language.values import STATE, Fixed, array_type, source_of, tables

    tree, work = tables(algorithm.layout, algorithm.stored, algorithm.folded, algorithm.shared, algorithm.integers)
    words = len(tree.sizes) + len(tree.arrays) + len(work.arrays)
    guards = Guards(words, checked) if checked or is_foreign(algorithm) else None
    words += guards is not None
    unit = Unit(t, tree, words, contract, guards=guards)
    shapes = [*algorithm.inputs.values(), *algorithm.outputs.values()]
    kinds = [
        array_type(STATE, shape, writable=k >= len(algorithm.inputs), tag=f"argument {k}")
        for k, shape in enumerate(shapes)
    ]
    prologue, sizes, known = list[str](), list[str](), set[str]()
    for k, shape in enumerate(shapes):
        prologue += _size(f"%size{k}", shape, tree.sizes, known)
        sizes.append(f"%size{k}")
    first_axes = [shape[0] if shape else 1 for shape in shapes]
    extents = [str(size) if isinstance(size, int) else f"%size.{size}" for size in first_axes]
    if guards is not None:
        prologue += guards.prologue()
    buffers, spares = list[str](), list[str]()
    if t.lanes > 1:
        for k in range(len(shapes) + (len(algorithm.outputs) if algorithm.iterate is not None else 0)):
            name = f"%buffer{k}"
            prologue += [
                f"%pbuffer{k} = getelementptr ptr, ptr %c, i64 {words + k}",
                f"{name} = load ptr, ptr %pbuffer{k}",
            ]
            (buffers if k < len(shapes) else spares).append(name)

    def calling(text: Any) -> Any:
        lowered = unit.root(text, (Fixed(tree), Fixed(work), *kinds))
        if lowered.result is not None:
            source = source_of(text)
            raise source.error(source.tree, "the code of an algorithm returns no value: write it to an output")

        def call(rows: Sequence[str]) -> list[str]:
            operands = [f"ptr {row}" for row in rows]
            if checked:
                operands = [f"{row}, i64 {extent}" for row, extent in zip(operands, extents, strict=True)]
            return [f"call void @{lowered.name}(ptr %c, {', '.join(operands)})"]

        return call

    body = batch.Body(
        prologue,
        sizes,
        len(algorithm.inputs),
        calling(algorithm.text),
        None if algorithm.iterate is None else calling(algorithm.iterate),
        buffers,
        spares,
        None if algorithm.refine is None else calling(algorithm.refine),
    )
    if guards is not None:
        body = replace(body, ending=guards.ending())
    if checked:  # all kernels once, whatever the numbers are
        calls = [call for call in (body.call, body.iterate, body.refine) if call is not None]

        def each(rows: Sequence[str]) -> list[str]:
            return [line for call in calls for line in call(rows)]

        body = replace(body, call=each, iterate=None, refine=None)
    elif t.lanes > 1 and algorithm.arrange is not None:
        key = array_type(STATE, (ORDER,), writable=True, tag="key")
        by_key = RowUnit(unit).root(algorithm.arrange, (Fixed(tree), key, *kinds))

        def order(at: str, rows: Sequence[str]) -> list[str]:
            return [f"call void @{by_key.name}(ptr %c, {', '.join(f'ptr {row}' for row in (at, *rows))})"]

        body = replace(body, order=order)
    loop = batch.function if body.order is None else ordered.function
    return unit.text() + "\n" + loop(body, t), guards


def _size(name: str, shape: Shape, tree: Mapping[str, int], known: set[str]) -> list[str]:
    """Instructions that define how many numbers an array has."""
    lines, product = list[str](), str(math.prod(size for size in shape if isinstance(size, int)))
    for size in shape:
        if isinstance(size, str):
            if size not in known:
                known.add(size)
                lines += [
                    f"%psize.{size} = getelementptr i64, ptr %c, i64 {tree[size]}",
                    f"%size.{size} = load i64, ptr %psize.{size}",
                ]
            lines.append(f"{name}.{len(lines)} = mul i64 {product}, %size.{size}")
            product = f"{name}.{len(lines) - 1}"
    return [*lines, f"{name} = add i64 {product}, 0"]


class Context:
    """The words that native code reads: sizes and arrays of the tree, and work arrays of its own.

    Arrays of the tree that are named in ``own`` are copied, and may be changed. A context with a ``base`` reads the
    tree and the algorithm's shared work arrays of that one, a context of one state.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        tree: Tree,
        t: Type,
        own: Collection[str] = (),
        base: Context | None = None,
        checked: bool = False,
    ) -> None:
        layout, dtype = algorithm.layout, np.dtype(t.dtype)
        self._base = base
        self._tree: dict[str, Any] = {} if base is None else base._tree
        for name in layout.shapes if base is None else ():
            kept = np.int64 if name in layout.integers else dtype
            self._tree[name] = np.ascontiguousarray(getattr(tree, name), dtype=kept)
        self.own = {name: self._tree[name].copy() for name in own}
        self._tree |= self.own
        shared = () if base is None else algorithm.shared
        shapes = [(0,) if name in shared else shape for name, shape in algorithm.stored.items()]
        if t.lanes > 1:
            shapes += [*algorithm.inputs.values(), *algorithm.outputs.values()]
            shapes += algorithm.outputs.values() if algorithm.iterate is not None else ()
        alignment = max(ALIGNMENT, t.bytes * t.lanes)
        step = alignment // t.bytes if t.lanes > 1 else 1
        sizes = [-(-math.prod(resolve(shape, tree)) * t.lanes // step) * step for shape in shapes]
        memory = np.zeros(sum(sizes) + 2 * alignment, dtype=dtype)
        first = -memory.ctypes.data % alignment // t.bytes
        self._work = memory[first : first + sum(sizes)]
        starts = [memory.ctypes.data + t.bytes * (first + sum(sizes[:k])) for k in range(len(sizes))]
        self._places = dict(zip(algorithm.stored, starts, strict=False))
        for k, name in enumerate(algorithm.stored):
            if base is not None and name in shared:
                starts[k] = base._places[name]
        table = [int(getattr(tree, name)) for name in layout.sizes]
        table += [array.ctypes.data for array in self._tree.values()]
        table += starts[: len(algorithm.stored)]
        self._integers = [np.zeros(resolve(shape, tree), dtype=np.int64) for shape in algorithm.integers.values()]
        table += [array.ctypes.data for array in self._integers]
        self.record = np.zeros(WORDS, dtype=np.int64)
        """The code of a guarded kernel, which checks indices and loops (`guards`)."""
        if checked or is_foreign(algorithm):
            table.append(self.record.ctypes.data)
        table += starts[len(algorithm.stored) :]
        self._table = np.array(table, dtype=np.int64)
        self.address = self._table.ctypes.data

    @property
    def memory(self) -> Any:
        """All work arrays, one after the other."""
        return self._work

    @property
    def bytes(self) -> int:
        """Memory of the work arrays."""
        return int(self._work.nbytes)

    def take(self, other: Context) -> None:
        """Take the values of another context of the same shape."""
        self._work[:] = other._work
        for mine, theirs in zip(self._integers, other._integers, strict=True):
            mine[:] = theirs
        for name, array in self.own.items():
            array[:] = other.own[name]
