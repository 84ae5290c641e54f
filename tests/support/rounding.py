# SPDX-License-Identifier: BSD-3-Clause
"""A number with a bound on its rounding error: kernel code runs on it, and says how far backends may be apart.

Each operation adds `ULPS` roundings of its result to what its operands bring in. That covers machine code that fuses
multiplications and additions, gathers constants, or multiplies by a reciprocal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from linkwork.kernels import scalar

ULPS = 4.0


class Undecided(Exception):
    """Rounding decides which way the text goes: two numbers are closer than they are known."""


@dataclass(frozen=True)
class Precision:
    """Of a type of numbers: half a unit in the last place of one, and what underflow loses."""

    unit: float
    least: float
    largest: float

    def constant(self, x: float) -> Bounded:
        """A number of the text or the tree, rounded to this type; small integers and halves are exact."""
        exact = self.unit < 1e-10 or math.frexp(x)[0] * 2**20 % 1.0 == 0.0
        return Bounded(x, 0.0 if exact else self.unit * abs(x), self)


DOUBLE = Precision(2.0**-53, 1e-300, 1e100)
SINGLE = Precision(2.0**-24, 1e-36, 1e18)


class Bounded:
    """A float as plain text computes it, and how far any way to compute it may be from the true number."""

    __slots__ = ("error", "precision", "value")

    def __init__(self, value: float, error: float, precision: Precision) -> None:
        self.value, self.error, self.precision = float(value), error, precision
        if not abs(value) < precision.largest:
            raise Undecided("overflow")

    def _with(self, x: Any) -> Bounded:
        return x if isinstance(x, Bounded) else self.precision.constant(float(x))

    def _rounded(self, value: float, error: float) -> Bounded:
        p = self.precision
        return Bounded(value, error + ULPS * p.unit * (abs(value) + error) + p.least, p)

    def __add__(self, other: Any) -> Bounded:
        y = self._with(other)
        return self._rounded(self.value + y.value, self.error + y.error)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Bounded:
        y = self._with(other)
        return self._rounded(self.value - y.value, self.error + y.error)

    def __rsub__(self, other: Any) -> Bounded:
        return self._with(other) - self

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.error, self.precision)

    def _product_error(self, y: Bounded) -> float:
        return abs(self.value) * y.error + abs(y.value) * self.error + self.error * y.error

    def __mul__(self, other: Any) -> Bounded:
        y = self._with(other)
        return self._rounded(self.value * y.value, self._product_error(y))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Bounded:
        y = self._with(other)
        least = abs(y.value) - y.error
        if least <= 0.0:
            raise Undecided("division")
        value = self.value / y.value
        return self._rounded(value, (self.error + abs(value) * y.error) / least)

    def __rtruediv__(self, other: Any) -> Bounded:
        return self._with(other) / self

    def sqrt(self) -> Bounded:
        """For `scalar.sqrt`."""
        if self.value - self.error < 0.0:
            raise Undecided("root")
        value = math.sqrt(self.value)
        return self._rounded(value, value - math.sqrt(self.value - self.error))

    def sincos(self) -> tuple[Bounded, Bounded]:
        """For `scalar.sincos`."""
        p = self.precision
        error = min(2.0, self.error + ULPS * p.unit)
        return Bounded(math.sin(self.value), error, p), Bounded(math.cos(self.value), error, p)

    def rint(self) -> Bounded:
        """For `scalar.rint`."""
        value = float(round(self.value))
        if 0.5 - abs(self.value - value) <= self.error and self.error > 0.0:
            raise Undecided("rounding to integers")
        return Bounded(value, 0.0, self.precision)

    def fma(self, a: Any, b: Any, c: Any) -> Bounded:
        """For `scalar.fma`."""
        x, y, z = (self._with(one) for one in (a, b, c))
        return self._rounded(scalar.fma(x.value, y.value, z.value), x._product_error(y) + z.error)

    def where(self, below: Any, bound: Any, then: Any, otherwise: Any) -> Bounded:
        """For `scalar.where`."""
        return self._with(then) if is_less(self._with(below), self._with(bound)) else self._with(otherwise)


def is_less(x: Bounded, y: Bounded) -> bool:
    """Whether one number is less than another, however they were rounded."""
    error = x.error + y.error
    if error > 0.0 and abs(x.value - y.value) <= error:
        raise Undecided("comparison")
    return x.value < y.value
