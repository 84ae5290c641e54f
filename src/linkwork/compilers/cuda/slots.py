# SPDX-License-Identifier: BSD-3-Clause
"""The actions of an allocated program, in order, and the memory slots of its values.

A value has a slot from when it is stored to when it is last read. Shared memory is for the values with the most
accesses for the time that they take a slot, as many as fit at any time; the others are in local memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np


class Slot(NamedTuple):
    """A place of one thread in memory."""

    shared: bool
    place: int


class Load(NamedTuple):
    """A value comes into a register; ``slot`` None: an input from its array."""

    value: int
    slot: Slot | None


class Store(NamedTuple):
    """A value, or a constant, is copied to a slot."""

    value: int
    slot: Slot


class Compute(NamedTuple):
    """Nodes that are computed at once: one, or sine and cosine of one angle."""

    values: tuple[int, ...]


class Put(NamedTuple):
    """A value is written to number ``place`` of output ``array`` (as many as there are outputs: carry)."""

    value: int
    array: int
    place: int


class Begin(NamedTuple):
    """The start of a section up to `End` that runs where ``below < bound``."""

    below: int
    bound: int


class End(NamedTuple):
    """The end of a branch."""


class Cut(NamedTuple):
    """The end of a part: no value is in a register."""


Action = Load | Store | Compute | Put | Begin | End | Cut


@dataclass(frozen=True)
class Allocation:
    """A program with places for its values."""

    actions: list[Action]
    shared: int
    """Slots of shared memory that are used."""
    local: int
    """Slots of local memory."""


@dataclass
class _Stay:
    """The time that a value needs a slot, and how often it is stored and loaded."""

    value: int
    first: int
    last: int
    accesses: int = 1


def placed(actions: Sequence[Action], shared: int) -> Allocation:
    """Actions with slots in place of the numbers of values: values that need a slot at the same time have different
    ones."""
    stays: dict[int, _Stay] = {}
    for now, action in enumerate(actions):
        if isinstance(action, Load | Store) and action.slot is not None:
            value = action.slot.place
            if value in stays:
                stays[value].last = now
                stays[value].accesses += 1
            else:
                stays[value] = _Stay(value, now, now)
    near = _densest(list(stays.values()), shared, len(actions))
    slots: dict[int, Slot] = {}
    counts = [0, 0]
    for is_shared in (True, False):
        part = [stay for stay in stays.values() if (stay.value in near) == is_shared]
        places, counts[is_shared] = _colored(part)
        slots |= {value: Slot(is_shared, place) for value, place in places.items()}
    replaced = [
        action._replace(slot=slots[action.slot.place])
        if isinstance(action, Load | Store) and action.slot is not None
        else action
        for action in actions
    ]
    return Allocation(replaced, counts[True], counts[False])


def _densest(stays: Sequence[_Stay], slots: int, end: int) -> set[int]:
    """Values with the most accesses for their time, as many as so many slots hold at any time."""
    step = 1 + end // 4096
    taken = np.zeros(end // step + 1, dtype=np.int64)
    chosen = set[int]()
    for stay in sorted(stays, key=lambda stay: (stay.last - stay.first + 1) / stay.accesses):
        time = taken[stay.first // step : stay.last // step + 1]
        if time.max() < slots:
            time += 1
            chosen.add(stay.value)
    return chosen


def _colored(stays: Sequence[_Stay]) -> tuple[dict[int, int], int]:
    """A place for each value, and how many there are: the lowest that is free when it comes."""
    places: dict[int, int] = {}
    free: list[int] = []
    leaving: list[tuple[int, int]] = []
    count = 0
    for stay in sorted(stays, key=lambda stay: stay.first):
        while leaving and leaving[0][0] < stay.first:
            heappush(free, heappop(leaving)[1])
        if not free:
            free.append(count)
            count += 1
        places[stay.value] = heappop(free)
        heappush(leaving, (stay.last, places[stay.value]))
    return places, count
