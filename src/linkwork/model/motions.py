# SPDX-License-Identifier: BSD-3-Clause
"""Motions: functions of time as tapes; their values, rates and second rates at given times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.expressions import ADD, CONST, COS, DIV, INPUT, MUL, NEG, RINT, SELECT, SIN, SQRT, SUB
from linkwork.model.functions import Tape, record
from linkwork.model.profiles import curve_or_function, spline

Motion = Callable[[Any], Any] | Sequence[Any] | float
"""A function of time, a table ``(times, values)``, a curve of `scipy.interpolate`, or a number where it rests."""


def function_of_time(motion: Any, what: str) -> Callable[[Any], Any]:
    """A motion as a function that can be recorded.

    Args:
        motion: As users give it, see `Motion`.
        what: Whose it is, for errors.
    """
    if callable(motion):
        return curve_or_function(motion)
    if isinstance(motion, (int, float)):
        return lambda t: float(motion) + 0.0 * t
    if isinstance(motion, Sequence) and len(motion) == 2 and all(np.ndim(part) == 1 for part in motion):
        return spline(*motion)
    raise ModelError(
        f"{what}: motion is {motion!r}; needs a function of time, a number, a table (times, values) or a profile of "
        "lw.profiles"
    )


def motion_tape(motion: Any, what: str) -> Tape:
    """The tape of a motion, a function of time with one result or several.

    Args:
        motion: As users give it, see `Motion`.
        what: Whose it is, for errors.
    """
    try:
        return record(function_of_time(motion, what), 1)
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from None


def motion_at(tape: Tape, time: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Values, rates and second rates of a motion at some times, ``(..., outputs)`` each.

    Args:
        tape: The motion.
        time: Seconds, ``(...)``.
    """
    t = np.asarray(time, dtype=np.float64)
    jets: list[tuple[Any, Any, Any]] = []
    with np.errstate(divide="ignore", invalid="ignore"):  # in branches that are not taken
        for op, *operands in tape.nodes:
            jets.append((t, 1.0, 0.0) if op == INPUT else _jet(op, operands, jets))
    chosen = [tuple(np.broadcast_to(x, t.shape) for x in jets[k]) for k in tape.outputs]
    value, rate, second = (np.stack([jet[k] for jet in chosen], axis=-1) for k in range(3))
    return value, rate, second


def value_and_rate(tape: Tape, x: Any) -> tuple[Any, Any]:
    """The first result of a tape of one number, and its derivative, as expressions of a tape variable.

    Args:
        tape: A function of one number.
        x: The variable.
    """
    jets: list[tuple[Any, Any]] = []
    for op, *operands in tape.nodes:
        jets.append((x, 1.0) if op == INPUT else _dual(op, operands, jets, 0.0 * x))
    return jets[tape.outputs[0]]


def _dual(op: Any, operands: list[Any], jets: list[tuple[Any, Any]], none: Any) -> tuple[Any, Any]:
    """Value and rate of a node, on tape variables; ``none`` is a variable that is zero."""
    if op == CONST:
        return operands[0] + none, 0.0
    x, d = jets[operands[0]]
    if op == SELECT:
        bound, (y, e), (z, f) = jets[operands[1]][0], jets[operands[2]], jets[operands[3]]
        return (x + none).where_below(bound, y, z), (x + none).where_below(bound, e, f)
    if op == NEG:
        return -x, -d
    if op == RINT:
        return np.rint(x), 0.0
    if op == SQRT:
        root = np.sqrt(x)
        return root, 0.5 * d / root
    if op in (SIN, COS):
        return (np.sin(x), np.cos(x) * d) if op == SIN else (np.cos(x), -1.0 * np.sin(x) * d)
    z, e = jets[operands[1]]
    if op in (ADD, SUB):
        return (x + z, d + e) if op == ADD else (x - z, d - e)
    if op == MUL:
        return x * z, d * z + x * e
    assert op == DIV
    return x / z, (d - x / z * e) / z


def _jet(op: Any, operands: list[Any], jets: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    """Value, rate and second rate of a node, as `kernels.functions` has them."""
    if op == CONST:
        return operands[0], 0.0, 0.0
    x, d, y = jets[operands[0]]
    if op == SELECT:
        below = x < jets[operands[1]][0]
        then, otherwise = jets[operands[2]], jets[operands[3]]
        value, rate, second = (np.where(below, a, b) for a, b in zip(then, otherwise, strict=True))
        return value, rate, second
    if op == NEG:
        return -x, -d, -y
    if op == RINT:
        return np.rint(x), 0.0, 0.0
    if op == SQRT:
        root = np.sqrt(x)
        slope = 0.5 * d / root
        return root, slope, (0.5 * y - slope * slope) / root
    if op in (SIN, COS):
        sine, cosine = np.sin(x), np.cos(x)
        wave, slope = (sine, cosine) if op == SIN else (cosine, -sine)
        return wave, slope * d, slope * y - wave * d * d
    z, e, w = jets[operands[1]]
    if op == ADD:
        return x + z, d + e, y + w
    if op == SUB:
        return x - z, d - e, y - w
    if op == MUL:
        return x * z, d * z + x * e, y * z + 2.0 * d * e + x * w
    assert op == DIV
    ratio = x / z
    change = (d - ratio * e) / z
    return ratio, change, (y - 2.0 * change * e - ratio * w) / z
