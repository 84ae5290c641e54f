# SPDX-License-Identifier: BSD-3-Clause
"""Batches as kernels take them: a row distance and a number distance for each array, whatever its layout.

Leading axes of all arrays are broadcast and then merged where they can be: one launch for one batch axis, further ones
only where arrays are broadcast along some axes and not along others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from linkwork.compilers.cuda.arrays import View
from linkwork.errors import InputError

FARTHEST = 1 << 31
"""Bytes between two numbers of a row, at most: kernels have them as integers of 32 bits."""


class Rows(NamedTuple):
    """An array by its rows: address, distances of leading axes, and of the numbers of a row."""

    pointer: int
    strides: tuple[int, ...]
    step: int
    bytes: int = 0


def rows_of(name: str, view: View, rank: int) -> Rows:
    """An array as rows of numbers that are equally far apart.

    Args:
        name: Of the argument, for messages.
        view: The array.
        rank: Number of axes that one state has.
    """
    lead = len(view.shape) - rank
    step, merged = 1, None
    for size, stride in zip(reversed(view.shape[lead:]), reversed(view.strides[lead:]), strict=True):
        if size == 1:
            continue
        if merged is None:
            step = merged = stride
        elif stride != merged:
            raise InputError(
                f"the axes of {name} that belong to one state have strides {tuple(view.strides[lead:])}, which are no "
                "row of numbers that are equally far apart: make it contiguous"
            )
        merged *= size
    size = 4 if view.dtype == "float32" else 8
    if abs(step) * size >= FARTHEST:
        raise InputError(
            f"numbers of a row of {name} are {abs(step) * size} bytes apart, at most {FARTHEST} are possible"
        )
    strides = tuple(
        0 if length == 1 else stride for length, stride in zip(view.shape[:lead], view.strides[:lead], strict=True)
    )
    return Rows(view.pointer, strides, step, size)


class Launch(NamedTuple):
    """Arguments of a launch."""

    values: list[int]
    """Address, distance of rows and distance of numbers of each array."""
    states: int
    """Number of states."""
    second: tuple[int, ...] = ()
    """Where states are along two axes: how many there are along the first, and distances of arrays along the second."""


class Layouts:
    """The batch axes of all inputs of a call."""

    def __init__(self, names: Sequence[str], views: Sequence[View | None], shapes: Sequence[tuple[int, ...]]) -> None:
        leads, major = [], False
        for view, shape in zip(views, shapes, strict=True):
            lead = () if view is None else view.shape[: len(view.shape) - len(shape)]
            leads.append(lead)
            if view is not None and len(lead) == 1 and len(shape) == 1 and lead[0] > 1 and shape[0] > 1:
                major = major or (view.strides[0] == 1 and view.strides[1] >= lead[0])
        self.number_major = major
        """Whether an input is number-major: new outputs are then, too."""
        self.lead = _broadcast(names, leads)

    def launches(self, rows: Sequence[Rows], two_axes: bool = False) -> Iterator[Launch]:
        """Launches that together compute all states.

        Args:
            rows: All arrays.
            two_axes: Whether the kernel goes along two axes.
        """
        strides = [(0,) * (len(self.lead) - len(row.strides)) + row.strides for row in rows]
        axes = _merged(self.lead, strides) or [(1, [0] * len(rows))]
        order = sorted(range(len(axes)), key=lambda k: axes[k][0])
        if two_axes:  # of the two longest the last one is the first of the kernel: neighbors are neighbors in memory
            order[-2:] = sorted(order[-2:])
        *outer, (count, inner) = [axes[k] for k in order]
        second: tuple[int, ...] = ()
        if two_axes and outer:
            size, steps = outer.pop()
            second, count = (count, *steps), count * size
        for index in product(*(range(size) for size, _ in outer)):
            values: list[int] = []
            for k, row in enumerate(rows):
                offset = sum(i * steps[k] for i, (_, steps) in zip(index, outer, strict=True))
                values += (row.pointer + offset * row.bytes, inner[k], row.step)
            yield Launch(values, count, second)


def _broadcast(names: Sequence[str], leads: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    different = {lead for lead in leads if lead}
    if len(different) <= 1:
        return next(iter(different), ())
    try:
        return np.broadcast_shapes(*different)
    except ValueError:
        each = ", ".join(f"{name} {lead}" for name, lead in zip(names, leads, strict=True) if lead)
        raise InputError(f"leading axes do not broadcast: {each}") from None


def _merged(lead: Sequence[int], strides: Sequence[Sequence[int]]) -> list[tuple[int, list[int]]]:
    """Axes as sizes and strides of all arrays, neighbors merged where they are one axis to every array."""
    axes: list[tuple[int, list[int]]] = []
    for k, size in enumerate(lead):
        if size == 1:
            continue
        steps = [of_array[k] for of_array in strides]
        if axes and all(before == size * step for before, step in zip(axes[-1][1], steps, strict=True)):
            axes[-1] = (axes[-1][0] * size, steps)
        else:
            axes.append((size, steps))
    return axes
