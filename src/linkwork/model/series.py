# SPDX-License-Identifier: BSD-3-Clause
"""Exponentials, logarithms and arctangents of tape variables, of the operations that kernels have: series, and `where`.

Each is exact to rounding, and so are its derivatives, which are those of the series. Arguments are reduced first:

| function | reduction                                                   | series                                 |
|----------|-------------------------------------------------------------|----------------------------------------|
| exp      | ``2^k exp(r)``, ``|r| <= log(2) / 2``                       | Taylor's, 14 terms                     |
| log      | ``1024 log(x^(1/1024))``, then a step of Newton's method    | ``2 artanh``, 17 terms                 |
| arctan   | ``pi / 2 - arctan(1 / x)``; halved twice, ``|x| <= 0.2``    | Taylor's, 12 terms                     |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError

if TYPE_CHECKING:
    from linkwork.model.functions import TapeVariable

EXP_TERMS, LOG_TERMS, ARCTAN_TERMS = 14, 17, 12
LOG_2 = (0.693147180369123816490, 1.90821492927058770002e-10)
"""The logarithm of 2 in two parts, the first of which has zeros at its end."""
MOST_EXPONENT = 1000.0
"""The largest power of two."""
ROOTS = 10
"""Number of square roots before the series of a logarithm."""


def exp(x: TapeVariable) -> TapeVariable:
    """``exp(x)``; beyond powers of two of ``MOST_EXPONENT``, that bound."""
    k = _clamped((x * (1.0 / math.log(2.0))).rint(), MOST_EXPONENT)
    r = (x - k * LOG_2[0]) - k * LOG_2[1]
    total: Any = 1.0
    for n in range(EXP_TERMS, 0, -1):
        total = 1.0 + r * (1.0 / n) * total
    size, power = abs(k), 1.0 + 0.0 * k
    for bit in (512.0, 256.0, 128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0):
        power = size.where_below(bit, power, power * 2.0**bit)
        size = size.where_below(bit, size, size - bit)
    result: TapeVariable = k.where_below(0.0, total / power, total * power)
    return result


def log(x: TapeVariable) -> TapeVariable:
    """``log(x)``, ``x > 0``."""
    root = x
    for _ in range(ROOTS):
        root = root.sqrt()
    z = (root - 1.0) / (root + 1.0)
    total: Any = 0.0
    for n in range(LOG_TERMS - 1, -1, -1):
        total = 1.0 / (2 * n + 1) + z * z * total
    y = 2.0 ** (ROOTS + 1) * z * total
    e = y.exp()
    result: TapeVariable = y + 2.0 * (x - e) / (x + e)
    return result


def arctan(x: TapeVariable) -> TapeVariable:
    """``arctan(x)``."""
    size = abs(x)
    steep = size.where_below(1.0, 0.0, 1.0)
    y = size.where_below(1.0, size, 1.0 / size.where_below(1.0, 1.0, size))
    for _ in range(2):
        y = y / (1.0 + (1.0 + y * y).sqrt())
    total: Any = 0.0
    for n in range(ARCTAN_TERMS - 1, -1, -1):
        total = (-1.0) ** n / (2 * n + 1) + y * y * total
    angle = 4.0 * y * total
    angle = angle + steep * (0.5 * math.pi - 2.0 * angle)
    return x.where_below(0.0, -angle, angle)


def arctan2(y: TapeVariable, x: TapeVariable) -> TapeVariable:
    """``arctan2(y, x)``."""
    flat = arctan(y / abs(x).where_below(abs(y), 1.0, x.where_below(0.0, x, (-x).where_below(0.0, x, 1.0))))
    flat = flat + x.where_below(0.0, y.where_below(0.0, -math.pi, math.pi), 0.0)
    upright = y.where_below(0.0, -0.5 * math.pi, 0.5 * math.pi) - arctan(x / abs(x).where_below(abs(y), y, 1.0))
    return abs(x).where_below(abs(y), upright, flat)


def interpolated(x: Any, points: npt.ArrayLike, values: npt.ArrayLike) -> Any:
    """``numpy.interp(x, points, values)``: straight lines between points, constant beyond them."""
    at, to = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if at.ndim != 1 or at.shape != to.shape or len(at) < 2 or not (np.diff(at) > 0).all():
        raise ModelError("interp needs at least two increasing points, and as many values")
    slopes = np.diff(to) / np.diff(at)
    return piecewise(x, at, np.column_stack([to[:-1], slopes]))


def piecewise(x: Any, breaks: npt.NDArray[np.float64], coefficients: npt.NDArray[np.float64]) -> Any:
    """A piecewise polynomial of a tape variable, constant beyond its ends.

    Args:
        x: The variable.
        breaks: Ends of pieces, increasing, ``(n + 1,)``.
        coefficients: Of powers of the distance from the start of a piece, ``(n, degree + 1)``, constant first.
    """
    x = x.where_below(breaks[0], breaks[0], x)
    x = x.where_below(breaks[-1], x, breaks[-1])
    origin, chosen = _chosen(x, breaks, breaks[:-1]), [_chosen(x, breaks, column) for column in coefficients.T]
    total = chosen[-1]
    for c in chosen[-2::-1]:
        total = c + (x - origin) * total
    return total


def _chosen(x: Any, breaks: Sequence[float] | npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> Any:
    """The value of the piece that ``x`` is in."""
    if (values == values[0]).all():
        return float(values[0])
    chosen: Any = float(values[-1])
    for end, value in zip(reversed(breaks[1:-1]), reversed(values[:-1]), strict=True):
        chosen = x.where_below(float(end), float(value), chosen)
    return chosen


def _clamped(x: Any, bound: float) -> Any:
    x = x.where_below(-bound, -bound, x)
    return x.where_below(bound, x, bound)
