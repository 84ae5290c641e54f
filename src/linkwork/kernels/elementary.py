# SPDX-License-Identifier: BSD-3-Clause
"""Elementary functions of numbers and of arrays of numbers, all by `where`: no branch depends on a state."""

from __future__ import annotations

from linkwork.kernels.scalar import Array, Scalar, kernel, prange, where


@kernel
def magnitude(x: Scalar) -> Scalar:
    """``|x|``."""
    return where(x, 0.0, -x, x)


@kernel
def sign(x: Scalar) -> Scalar:
    """1, -1, or 0 at zero."""
    return where(x, 0.0, -1.0, where(0.0, x, 1.0, 0.0))


@kernel
def sign_or_one(x: Scalar) -> Scalar:
    """-1 where ``x < 0``, 1 elsewhere."""
    return where(x, 0.0, -1.0, 1.0)


@kernel
def minimum(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two numbers."""
    return where(x, y, x, y)


@kernel
def maximum(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two numbers."""
    return where(x, y, y, x)


@kernel
def clamp(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """The number in ``[lower, upper]`` that is nearest to ``x``."""
    return where(x, lower, lower, where(upper, x, upper, x))


@kernel
def max_norm(n: int, x: Array) -> Scalar:
    """The largest magnitude of the first ``n`` entries."""
    norm = 0.0
    for k in range(n):
        norm = maximum(norm, magnitude(x[k]))
    return norm


@kernel
def total_of(x: Array, count: int) -> Scalar:
    """The sum of the first numbers."""
    total = 0.0
    for k in range(count):
        total = total + x[k]
    return total


@kernel
def largest_of(x: Array, count: int) -> Scalar:
    """The largest of the first numbers, and no less than zero."""
    largest = 0.0
    for k in range(count):
        largest = maximum(largest, x[k])
    return largest


@kernel
def copy_numbers(x: Array, y: Array, count: int) -> None:
    """``y = x``."""
    for k in prange(count):
        y[k] = x[k]
