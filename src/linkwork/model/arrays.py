# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of doubles that models hold: checked once, then read-only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linkwork.errors import LinkworkError, ModelError
from linkwork.inputs import float_array

Floats = npt.NDArray[np.float64]
VectorLike = Sequence[float] | npt.NDArray[np.float64]


def frozen(array: Floats) -> Floats:
    """The array itself, read-only from now on."""
    array.setflags(write=False)
    return array


def numbers(values: object, what: str, error: type[LinkworkError] = ModelError) -> Floats:
    """A copy of ``values`` as doubles; an error unless they are numbers.

    Args:
        values: Numbers of any shape.
        what: Their name in errors.
        error: Its type.
    """
    return np.array(float_array(values, what, error))


def finite(values: object, what: str, error: type[LinkworkError] = ModelError) -> Floats:
    """A copy of ``values`` as doubles; an error unless all are finite numbers.

    Args:
        values: Numbers of any shape.
        what: Their name in errors.
        error: Its type.
    """
    array = numbers(values, what, error)
    if not np.isfinite(array).all():
        raise error(f"{what} holds NaN or infinity")
    return array


def finite_array(values: object, shape: tuple[int, ...], what: str, error: type[LinkworkError] = ModelError) -> Floats:
    """A read-only copy of ``values``; an error unless they are finite numbers of this shape.

    Args:
        values: Numbers.
        shape: The shape that they need.
        what: Their name in errors.
        error: Its type.
    """
    array = finite(values, what, error)
    if array.shape != shape:
        raise error(f"{what} has shape {array.shape}, needs {shape}")
    return frozen(array)
