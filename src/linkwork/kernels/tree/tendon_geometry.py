# SPDX-License-Identifier: BSD-3-Clause
"""Distances between points of bodies, of which lengths of tendons are sums, and their rates.

With ``d`` from one point to the other, ``u = d / |d|`` and ``span = |d|``. Cost: a fixed number of operations.
"""

from __future__ import annotations

from linkwork.kernels.scalar import Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, dot, scale, sub
from linkwork.kernels.thresholds import COINCIDENT_ENDS


@kernel
def distance_of(d: Vector) -> Scalar:
    """``|d|``, never zero."""
    square = dot(d, d)
    return sqrt(where(square, COINCIDENT_ENDS, COINCIDENT_ENDS, square))


@kernel
def distance_second_rate(u: Vector, span: Scalar, dd: Vector, ddd: Vector) -> Scalar:
    """``|d|'' = u . d'' + (d' . d' - |d|'^2) / |d|``."""
    rate = dot(u, dd)
    return dot(u, ddd) + (dot(dd, dd) - rate * rate) / span


@kernel
def direction_rate(u: Vector, span: Scalar, dd: Vector) -> Triple:
    """``u' = (d' - |d|' u) / |d|``; with a displacement in place of ``d'``, the change of ``u`` along it."""
    return scale(1.0 / span, sub(dd, scale(dot(u, dd), u)))


@kernel
def direction_second_rate(u: Vector, span: Scalar, dd: Vector, ud: Vector, ddd: Vector) -> Triple:
    """``u'' = (d'' - 2 |d|' u' - |d|'' u) / |d|``."""
    second = distance_second_rate(u, span, dd, ddd)
    return scale(1.0 / span, sub(ddd, add(scale(2.0 * dot(u, dd), ud), scale(second, u))))
