# SPDX-License-Identifier: BSD-3-Clause
"""Slots of a sweep for the data of few bodies at a time.

A sweep from the root to the leaves needs the velocity of a body until that of its last child is known; one from the
leaves to the root needs the articulated inertia of a body from its first gain to its elimination. Native code keeps
such arrays in as many *slots* as there are bodies in need at a time (two, for a chain), not in one for each body: they
stay in the first-level cache, and a long chain in lanes does not wait for memory.

| slots        | order          | a body holds one                                                          |
|--------------|----------------|---------------------------------------------------------------------------|
| ``forward``  | root to leaves | from its own turn to that of its last child                               |
| ``backward`` | leaves to root | from the turn of its last child, which comes first, to its own            |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.plans.layout import Integers


class Slots(NamedTuple):
    """Numbers of slots by body, and how many there are."""

    last_child: Integers
    """The child that comes last, 0 for a leaf."""
    forward: Integers
    backward: Integers

    @property
    def forward_count(self) -> int:
        """Slots of a sweep from the root."""
        return int(self.forward.max(initial=0)) + 1

    @property
    def backward_count(self) -> int:
        """Slots of a sweep to the root."""
        return int(self.backward.max(initial=0)) + 1


def slots_of(parent: Sequence[int] | Integers) -> Slots:
    """The slots of a tree whose bodies come after their parents; body 0 is the root."""
    n = len(parent)
    last = np.zeros(n, dtype=np.int64)
    for i in range(1, n):
        last[parent[i]] = i
    forward, free = np.zeros(n, dtype=np.int64), _Free()
    for i in range(n):
        forward[i] = free.take()
        ended = [i] if last[i] == 0 else []
        h = parent[i] if i else 0
        if i and last[h] == i:
            ended.append(h)
        free.give(forward[k] for k in ended)
    backward, free = np.zeros(n, dtype=np.int64), _Free()
    for i in range(n - 1, 0, -1):
        if last[i] == 0:
            backward[i] = free.take()
        if parent[i] and last[parent[i]] == i:
            backward[parent[i]] = free.take()
        free.give([backward[i]])
    return Slots(last, forward, backward)


class _Free:
    """Slots that no body holds, the smallest first."""

    def __init__(self) -> None:
        self._given, self._back = 0, list[int]()

    def take(self) -> int:
        """A slot that no body holds."""
        if self._back:
            self._back.sort()
            return self._back.pop(0)
        self._given += 1
        return self._given - 1

    def give(self, numbers: Iterable[int]) -> None:
        """Slots that are free again."""
        self._back.extend(int(k) for k in numbers)
