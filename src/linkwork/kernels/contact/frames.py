# SPDX-License-Identifier: BSD-3-Clause
"""Contact frames: tangents of a normal, and what a contact point is written as.

| symbol    | meaning                                                                                              |
|-----------|------------------------------------------------------------------------------------------------------|
| n         | normal, a unit vector from the first shape to the second                                             |
| gap       | distance of the two surfaces along n, negative where they overlap                                    |
| point     | midway between the two surfaces                                                                      |
| contact_R | contact frame in world axes, columns ``t1, t2, n``                                                   |

Cost: 30 operations a contact point.
"""

from __future__ import annotations

from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, dot, scale

NO_CONTACT = 1e6
"""The gap of a slot that has no point in this configuration: farther than anything that could touch."""

LOWEST_UPRIGHT = -0.77
"""Normals with z components below this have tangents of their own. No face of usual terrain and no wall lies there, so
that rounding does not switch the tangents of contacts that last."""

TINY = 1e-300
"""Squares of lengths below this are zeros."""


@kernel
def tangents(n: Vector) -> tuple[Triple, Triple]:
    """Two unit vectors with ``t1 x t2 = n``: x and y of the smallest rotation from z, or from -z, to ``n``.

    Duff et al., Building an Orthonormal Basis, Revisited (2017).
    """
    s = where(n[2], LOWEST_UPRIGHT, -1.0, 1.0)
    a = -1.0 / (s + n[2])
    b = n[0] * n[1] * a
    return (1.0 + s * n[0] * n[0] * a, s * b, -s * n[0]), (b, s + n[1] * n[1] * a, -n[1])


@kernel
def set_contact(w: Array, slot: int, gap: Scalar, point: Vector, n: Vector) -> None:
    """Write a contact point: its gap, where it is, and its frame."""
    t = tangents(n)
    w.gap[slot] = gap
    for j in range(3):
        w.point[slot, j] = point[j]
        w.contact_R[slot, j, 0] = t[0][j]
        w.contact_R[slot, j, 1] = t[1][j]
        w.contact_R[slot, j, 2] = n[j]


@kernel
def set_contact_below(w: Array, slot: int, gap: Scalar, surface: Vector, n: Vector) -> None:
    """Write a contact point where the second shape has ``surface``, and the first ``surface - gap n``."""
    set_contact(w, slot, gap, add(surface, scale(-0.5 * gap, n)), n)


@kernel
def unit_or(x: Vector, default: Vector) -> tuple[Triple, Scalar]:
    """``x / |x|`` and ``|x|``; ``default`` in place of the direction where ``x`` is zero."""
    square = dot(x, x)
    length = sqrt(square)
    inverse = 1.0 / where(square, TINY, 1.0, length)
    return (
        where(square, TINY, default[0], inverse * x[0]),
        where(square, TINY, default[1], inverse * x[1]),
        where(square, TINY, default[2], inverse * x[2]),
    ), length


@kernel
def magnitude(x: Scalar) -> Scalar:
    """``|x|``."""
    return where(x, 0.0, -x, x)


@kernel
def sign(x: Scalar) -> Scalar:
    """-1.0 where ``x < 0``, 1.0 elsewhere."""
    return where(x, 0.0, -1.0, 1.0)
