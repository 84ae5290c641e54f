# SPDX-License-Identifier: BSD-3-Clause
"""Contact problems of rows as arrays: checked inputs, and results of a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.contact.thresholds import ASYMMETRY
from linkwork.errors import InputError
from linkwork.inputs import float_array
from linkwork.model.thresholds import UNBOUNDED
from linkwork.quantities.arguments import Array


@dataclass(frozen=True, eq=False)
class RowSolution:
    """The solution of a contact problem of rows, or an approximation: see `converged`."""

    impulses: Array
    """(..., m) forces or impulses of rows, in their cones."""
    velocities: Array
    """(..., m) ``G f + g``, without the term of compliance."""
    residual: Array
    """(...) the largest residual of any contact or row, a velocity."""
    iterations: Array
    """(...) sweeps of `pgs`, iterations of `admm`."""
    converged: Array
    """(...) whether the residual is at most the tolerance."""
    factorizations: Array | None = None
    """(...) of `admm`: how often the damped matrix was factorized."""


def check_contacts(rows: Sequence[int], m: int, size: int) -> None:
    """An error unless contacts with these first rows have ``size`` rows each of their own.

    Args:
        rows: First rows of contacts.
        m: The number of rows of the problem.
        size: Rows of a contact.
    """
    taken = [r + k for r in rows for k in range(size)]
    needed = "three" if size == 3 else str(size)
    if taken and (min(taken) < 0 or max(taken) >= m):
        raise InputError(f"contacts has first rows {tuple(rows)}: each needs {needed} rows of the {m} that there are")
    if len(set(taken)) < len(taken):
        raise InputError(f"contacts has first rows {tuple(rows)}: two share a row; each has {needed} of its own")


def check_symmetric(matrix: Array) -> None:
    """An error unless this is a Delassus matrix, or a batch of them.

    Args:
        matrix: The matrix, ``(..., m, m)``.
    """
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or not matrix.size:
        raise InputError(f"G has shape {matrix.shape}, needs (..., m, m) with m >= 1")
    if np.abs(matrix - np.swapaxes(matrix, -1, -2)).max() > ASYMMETRY * np.abs(matrix).max():
        raise InputError("G is not symmetric: a Delassus matrix J M^-1 J' is; give both triangles")


def row_arrays(
    m: int,
    slots: int,
    g: npt.ArrayLike,
    friction: npt.ArrayLike,
    compliance: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    guess: npt.ArrayLike,
) -> list[Array]:
    """The inputs of kernels that are about rows."""
    mu, R = each_row(friction, "friction", slots), each_row(compliance, "compliance", m)
    for x, name in ((mu, "friction"), (R, "compliance")):
        if x.size and not x.min() >= 0:
            raise InputError(f"{name} must be >= 0; found {x.min():g}")
    low, high = (np.clip(each_row(x, n, m), -UNBOUNDED, UNBOUNDED) for x, n in ((lower, "lower"), (upper, "upper")))
    if (low > high).any():
        raise InputError("lower must be <= upper for every row; one is above")
    return [each_row(g, "g", m), mu, R, low, high, each_row(guess, "guess", m)]


def each_row(x: npt.ArrayLike, name: str, size: int) -> Array:
    """One number for all rows, or an array with one for each."""
    array = float_array(x, name)
    if array.ndim == 0:
        array = np.full(size, float(array))
    if size and not array.size:
        raise InputError(f"{name} has shape {array.shape}, needs numbers")
    if array.shape[-1] != size:
        raise InputError(f"{name} has {array.shape[-1]} numbers, needs {size}")
    if np.isnan(array).any():
        raise InputError(f"{name} holds NaN, needs numbers")
    return array
