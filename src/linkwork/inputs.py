"""What users pass for arrays, made into arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError


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
