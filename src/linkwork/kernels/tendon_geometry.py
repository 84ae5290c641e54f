# SPDX-License-Identifier: BSD-3-Clause
"""Distances between points of bodies, of which lengths of tendons are sums. Cost: a fixed number of operations."""

from __future__ import annotations

from linkwork.kernels.scalar import Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import dot

LEAST_SQUARE = 1e-30
"""Square of a length, in m², below which the ends of a segment coincide and it has no direction."""


@kernel
def distance_of(d: Vector) -> Scalar:
    """``|d|``, never zero."""
    square = dot(d, d)
    return sqrt(where(square, LEAST_SQUARE, LEAST_SQUARE, square))
