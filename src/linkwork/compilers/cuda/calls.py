# SPDX-License-Identifier: BSD-3-Clause
"""Calls of a program on a GPU whose kernel is made: with arrays of known shapes, or with addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.compilers.cuda.arrays import KNOWN, Library, View
from linkwork.compilers.cuda.driver import CudaCode, Device
from linkwork.compilers.cuda.layout import Launch, Rows
from linkwork.compilers.cuda.native import NativeCode
from linkwork.errors import DeviceError, InputError


class Call:
    """A call with arrays of known shapes and strides: what remains is their addresses.

    Args:
        code: The kernel.
        where: The GPU.
        status: Address of the words that count states that are not finite.
        library: Whose arrays results are.
        given: Which inputs are the caller's arrays.
        outputs: Views of outputs.
        wanted: Which outputs are computed.
        rows: All arrays by their rows, inputs then outputs.
        launches: Those that together compute all states.
    """

    def __init__(
        self,
        code: CudaCode | NativeCode,
        where: Device,
        status: int,
        library: Library,
        given: Sequence[int],
        outputs: Sequence[View],
        wanted: Sequence[bool],
        rows: Sequence[Rows],
        launches: Sequence[Launch],
    ) -> None:
        self.code, self.where, self.status, self.library = code, where, status, library
        self.given, self.outputs, self.launches = tuple(given), tuple(outputs), list(launches)
        self.wanted = tuple(wanted)
        self._second = [
            code.second_axis(launch.second) if launch.second and isinstance(code, NativeCode) else None
            for launch in launches
        ]
        self._starts = [row.pointer for row in rows]
        first = len(rows) - len(outputs)
        self._new = [(n, 3 * (first + n), like) for n, like in enumerate(outputs) if wanted[n]]

    def again(self, given: Sequence[Any], values: Sequence[int]) -> list[Any]:
        """Launch with arrays of the caller like those of the first call, and new outputs.

        Args:
            given: All that are the caller's.
            values: Result of `relative` for the launch.
        """
        full, library, where = list(values), self.library, self.where
        for k, x in zip(self.given, given, strict=True):
            full[3 * k] += KNOWN[type(x)].pointer(x)
        results: list[Any] = [None] * len(self.outputs)
        for n, k, like in self._new:
            results[n], full[k] = library.empty(like)
        stream = library.stream(where.index)
        try:  # where the library's current device is this one, its context is the current one
            self._launch(0, full, stream)
        except DeviceError:
            with where.current():
                self._launch(0, full, stream)
        return [None if x is None else library.finished(x) for x in results]

    def _launch(self, n: int, values: Sequence[int], stream: int) -> None:
        """Launch number ``n`` with these values."""
        states, second = self.launches[n].states, self._second[n]
        if second is None:
            self.code.launch(values, states, stream, self.where, self.status)
        elif isinstance(self.code, NativeCode):
            self.code.launch(values, states, stream, self.where, self.status, second.pointer)

    @property
    def relative(self) -> list[int]:
        """Values of the launch with addresses of the caller's arrays relative to where these begin."""
        values = self.launches[0].values.copy()
        for k in self.given:
            values[3 * k] -= self._starts[k]
        return values

    def run(
        self, arguments: Sequence[Any], out: Sequence[Any], stream: int | None, views: Sequence[View | None] = ()
    ) -> list[Any]:
        """Launch with these arrays; ``views`` of them, where they are known."""
        library, where = self.library, self.where
        pointers = list(self._starts)
        for k in () if views else self.given:  # else they are those of the first call
            x = arguments[k]
            pointers[k] = KNOWN[type(x)].pointer(x)
        read = {pointers[k] for k in self.given}
        results: list[Any] = []
        for k, (target, like, wanted) in enumerate(zip(out, self.outputs, self.wanted, strict=True), len(arguments)):
            if not wanted:
                array = None
            elif target is None:
                array, pointers[k] = library.empty(like)
            else:
                array = target
                if not views:
                    pointers[k] = KNOWN[type(target)].pointer(target)
                if pointers[k] in read:
                    raise InputError("an array that is given as out is an input too: give another")
            results.append(array)
        if stream is None:
            stream = library.stream(where.index)
        with where.current():
            for n, launch in enumerate(self.launches):
                full = launch.values.copy()
                for k, start in enumerate(self._starts):
                    full[3 * k] += pointers[k] - start
                self._launch(n, full, stream)
        return [
            x if target is not None or x is None else library.finished(x)
            for x, target in zip(results, out, strict=True)
        ]


@dataclass(frozen=True)
class Prepared:
    """A kernel, and the addresses of inputs that are the same for all states and calls."""

    code: CudaCode | NativeCode
    device: Device
    held: Mapping[int, int]
    """Addresses of inputs that are held, by their place among the arrays (0: zero, and not read)."""
    status: int
    """The address of the words that count states that are not finite."""

    def values(self, given: Sequence[int]) -> list[int]:
        """All values of a launch, from address, row and number distance of each array that is not held."""
        rest, values = iter(given), list[int]()
        for k in range(self.code.arrays):
            values += (self.held[k], 0, 1) if k in self.held else (next(rest), next(rest), next(rest))
        return values

    def launch(self, given: Sequence[int], count: int, stream: int) -> None:
        """Compute ``count`` states, ordered on a stream. The context of the GPU must be the current one.

        Args:
            given: Of each array that is not held, inputs then outputs: its address, the distance of its rows, and that
                of the numbers of a row, both in numbers.
            count: Number of states.
            stream: The driver's handle of the stream.
        """
        self.code.launch(self.values(given), count, stream, self.device, self.status)
