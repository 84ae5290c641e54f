"""Arrays of doubles that models hold: checked once, then read-only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError

Floats = npt.NDArray[np.float64]
VectorLike = Sequence[float] | npt.NDArray[np.float64]


def frozen(array: Floats) -> Floats:
    """The same array, read-only from now on."""
    array.setflags(write=False)
    return array


def numbers(values: object, what: str) -> Floats:
    """A copy of ``values`` as doubles; `ModelError` unless they are numbers.

    Args:
        values: Numbers of any shape.
        what: What the error calls them.
    """
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {values!r}, needs numbers") from None


def finite(values: object, what: str) -> Floats:
    """A copy of ``values`` as doubles; `ModelError` unless all are finite numbers.

    Args:
        values: Numbers of any shape.
        what: What the error calls them.
    """
    array = numbers(values, what)
    if not np.isfinite(array).all():
        raise ModelError(f"{what} holds NaN or infinity")
    return array


def finite_array(values: object, shape: tuple[int, ...], what: str) -> Floats:
    """A read-only copy of ``values``; `ModelError` unless they are finite numbers of this shape.

    Args:
        values: Numbers.
        shape: The shape that they need.
        what: What the error calls them.
    """
    array = finite(values, what)
    if array.shape != shape:
        raise ModelError(f"{what} has shape {array.shape}, needs {shape}")
    return frozen(array)
