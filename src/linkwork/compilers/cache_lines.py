# SPDX-License-Identifier: BSD-3-Clause
"""Cache lines that a program touches: its text, run as it stands on arrays that note where they are read and written.

No clock and no simulator: as with operations, the number is exact for the arrays of the code (plan, work arrays, inputs
and outputs, each from the start of a line on), and the same on every machine. What machine code keeps on its stack, and
the code itself, are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.kernels.algorithm import resolve

LINE = 64
"""Bytes of a cache line."""


def cache_lines(program: Program, inputs: Sequence[npt.ArrayLike]) -> int:
    """The number of cache lines that the first iteration of a program reads or writes for one state.

    Args:
        program: The program.
        inputs: Its inputs, for one state.
    """
    algorithm, layout = program.algorithm, program.algorithm.layout
    lines: set[tuple[str, int]] = set()

    def watched(name: str, array: Any) -> Watched:
        return Watched(name, array, lines)

    arrays = {name: watched(f"tree.{name}", getattr(program.tree, name)) for name in layout.shapes}
    sizes = {name: int(getattr(program.tree, name)) for name in layout.sizes}
    work = {
        name: watched(f"w.{name}", np.zeros(resolve(shape, program.tree))) for name, shape in algorithm.work.items()
    }
    watched_arrays = [watched(f"input {k}", np.asarray(x, dtype=np.float64)) for k, x in enumerate(inputs)]
    results = [watched(f"output {k}", np.zeros(shape)) for k, shape in enumerate(program.output_shapes())]
    with np.errstate(all="ignore"):
        algorithm.text(layout.type(**sizes, **arrays), algorithm.work_type(**work), *watched_arrays, *results)
    return len(lines)


class Watched:
    """An array, or a part of one, that notes the cache lines of reads and writes. All numbers have eight bytes."""

    __slots__ = ("_flat", "_lines", "_name", "_shape", "_start", "_strides")

    def __init__(self, name: str, array: npt.NDArray[Any], lines: set[tuple[str, int]]) -> None:
        self._name, self._lines = name, lines
        self._flat: list[float] = array.ravel().tolist()
        self._shape: tuple[int, ...] = array.shape
        self._start = 0
        self._strides = tuple(int(np.prod(array.shape[k + 1 :], dtype=np.int64)) for k in range(array.ndim))

    def _part(self, start: int, shape: tuple[int, ...]) -> Watched:
        part = Watched.__new__(Watched)
        part._name, part._lines, part._flat = self._name, self._lines, self._flat
        part._shape, part._start, part._strides = shape, start, self._strides[len(self._strides) - len(shape) :]
        return part

    def _place(self, at: Any) -> tuple[int, tuple[int, ...]]:
        """Where an entry or a row begins, and the shape that is left."""
        place, rank = self._start, 0
        for index in at if isinstance(at, tuple) else (at,):
            if isinstance(index, slice):
                first, last, _ = index.indices(self._shape[rank])
                return place + first * self._strides[rank], (last - first, *self._shape[rank + 1 :])
            if not 0 <= index < self._shape[rank]:
                raise IndexError(f"index {index} of {self._name}, which has {self._shape[rank]}")
            place += index * self._strides[rank]
            rank += 1
        return place, self._shape[rank:]

    def __getitem__(self, at: Any) -> Any:
        place, shape = self._place(at)
        if shape:
            return self._part(place, shape)
        self._lines.add((self._name, place // (LINE // 8)))
        return self._flat[place]

    def __setitem__(self, at: Any, value: float) -> None:
        place, shape = self._place(at)
        if shape:
            raise TypeError(f"{self._name}: entries are written one by one")
        self._lines.add((self._name, place // (LINE // 8)))
        self._flat[place] = value

    def __len__(self) -> int:
        return self._shape[0]
