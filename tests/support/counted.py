# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that count what is done with them: operations with zeros and ones, and signs, are free.

Each knows its depth: the most operations that were one after another to compute it, as many cores would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.support.states import Floats


@dataclass
class Tally:
    """Operations so far."""

    operations: int = 0

    def numbers(self, values: Floats) -> Floats:
        """An array of numbers that count here."""
        result = np.empty(np.shape(values), dtype=object)
        for place in np.ndindex(result.shape):
            result[place] = Counted(float(values[place]), self)
        return result


def plain(numbers: Floats) -> Floats:
    """The values."""
    return np.array([x.value for x in np.ravel(numbers)], dtype=np.float64).reshape(np.shape(numbers))


class Counted:
    """A number."""

    __slots__ = ("depth", "tally", "value")

    def __init__(self, value: float, tally: Tally, depth: int = 0) -> None:
        self.value, self.tally, self.depth = value, tally, depth

    def __float__(self) -> float:
        return self.value

    def _new(self, value: float, other: Counted, free: bool) -> Counted:
        self.tally.operations += not free
        return Counted(value, self.tally, max(self.depth, other.depth) + (not free))

    def __add__(self, other: Counted) -> Counted:
        return self._new(self.value + other.value, other, 0.0 in (self.value, other.value))

    def __sub__(self, other: Counted) -> Counted:
        return self._new(self.value - other.value, other, 0.0 in (self.value, other.value))

    def __mul__(self, other: Counted) -> Counted:
        known = {0.0, 1.0, -1.0}
        return self._new(self.value * other.value, other, self.value in known or other.value in known)

    def __truediv__(self, other: Counted) -> Counted:
        return self._new(self.value / other.value, other, self.value == 0.0 or other.value in (1.0, -1.0))

    def __neg__(self) -> Counted:
        return Counted(-self.value, self.tally, self.depth)
