"""What users pass for numbers and arrays, made into such."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError


def above_zero(x: Any, name: str) -> float:
    """``x`` as a number above zero."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Real) or not 0 < float(x) < np.inf:
        raise InputError(f"{name} is {x!r}, needs a number above zero")
    return float(x)


def count(x: Any, name: str) -> int:
    """``x`` as a whole number above zero."""
    if isinstance(x, bool | np.bool_) or not isinstance(x, Integral) or x < 1:
        raise InputError(f"{name} is {x!r}, needs a whole number above zero")
    return int(x)


def real_array(x: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """``x`` as an array of real numbers of whatever type; `InputError` names the argument if it is none."""
    if np.ma.isMaskedArray(x) and np.ma.is_masked(x):
        raise InputError(f"{name} has masked numbers")
    try:
        array = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} has dtype {array.dtype}, needs real numbers")
    return array


def fresh_floats(x: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """A new array of doubles. (Arrays that have been pickled have a type of their own that is merely equal.)"""
    given = real_array(x, name)
    found = np.empty(given.shape)
    found[...] = given
    return found
