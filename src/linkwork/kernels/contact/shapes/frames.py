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

from linkwork.kernels.elementary import clamp, magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, dot, scale
from linkwork.kernels.thresholds import NO_CONTACT, ZERO_SQUARE

LOWEST_UPRIGHT = -0.77
"""Normals with z components below this have tangents of their own. No face of usual terrain and no wall lies there, so
that rounding does not switch the tangents of contacts that last."""


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
def set_contact_on(w: Array, slot: int, gap: Scalar, surface: Vector, n: Vector, way: Scalar) -> None:
    """Write a contact point where one shape has ``surface``, and the other ``surface - gap n``.

    The normal is ``way n``: ``way`` is 1, or -1 where the shapes of the pair are in the other order.
    """
    set_contact(w, slot, gap, add(surface, scale(-0.5 * gap, n)), scale(way, n))


@kernel
def set_core_contact(
    w: Array, slot: int, gap: Scalar, core: Vector, radius: Scalar, n: Vector, there: Scalar, way: Scalar
) -> None:
    """Write a contact point at ``core - radius n`` on the second shape; none where ``there`` is 0."""
    point = add(core, scale(-(radius + 0.5 * gap), n))
    set_contact(w, slot, where(0.5, there, gap, NO_CONTACT), point, scale(way, n))


@kernel
def unit_or(x: Vector, default: Vector, least: Scalar = 0.0) -> tuple[Triple, Scalar]:
    """``x / |x|`` and ``|x|``; ``default`` in place of the direction where ``x`` is zero, or shorter than ``least``."""
    square = dot(x, x)
    length = sqrt(square)
    bound = ZERO_SQUARE + least * least
    inverse = 1.0 / where(square, bound, 1.0, length)
    return select(square, bound, default, scale(inverse, x)), length


@kernel
def select(below: Scalar, bound: Scalar, x: Vector, y: Vector) -> Triple:
    """``x`` where ``below < bound``, ``y`` elsewhere."""
    return (
        where(below, bound, x[0], y[0]),
        where(below, bound, x[1], y[1]),
        where(below, bound, x[2], y[2]),
    )


@kernel
def select_largest(a: Vector, x: Vector, y: Vector, z: Vector) -> Triple:
    """``x``, ``y`` or ``z``: where the first, second or third entry of ``a`` is the largest."""
    return select(a[2], maximum(a[0], a[1]), select(a[0], a[1], y, x), z)


@kernel
def magnitudes(x: Vector) -> Triple:
    """``|x|`` of each entry."""
    return magnitude(x[0]), magnitude(x[1]), magnitude(x[2])


@kernel
def clamp_vector(x: Vector, bound: Vector) -> Triple:
    """Each entry of ``x`` within plus and minus that of ``bound``."""
    return clamp(x[0], -bound[0], bound[0]), clamp(x[1], -bound[1], bound[1]), clamp(x[2], -bound[2], bound[2])


@kernel
def size_of_box(h: Vector) -> Scalar:
    """A length that differences of lengths of a box with half edges ``h`` are measured by."""
    return h[0] + h[1] + h[2]
