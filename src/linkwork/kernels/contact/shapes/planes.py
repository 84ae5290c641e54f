# SPDX-License-Identifier: BSD-3-Clause
"""A plane against others: their lowest points, in the direction of its normal.

The normal of all contact points is that of the plane, the z axis of its pose ``R, p``.

| pair           | contact points                                                                            |
|----------------|-------------------------------------------------------------------------------------------|
| plane, sphere  | the lowest point                                                                          |
| plane, capsule | the lowest point of each end                                                              |
| plane, box     | the four lowest corners, or all eight                                                     |
| plane, cylinder | the lowest point of each rim, and two more of the lower rim, a third of a turn away      |
| plane, ellipsoid | the lowest point                                                                        |

Cost: 10 to 60 operations a contact point.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.contact.shapes.frames import magnitudes, select_largest, set_contact_on, unit_or
from linkwork.kernels.elementary import magnitude, sign_or_one
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, column, cross, dot, rotate, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import UPRIGHT

HALF_SQRT_3 = 3.0**0.5 / 2.0
"""The sine of a third of a turn."""


@kernel
def plane_sphere(tree: Array, w: Array, plane: int, sphere: int, slot: int, way: Scalar) -> None:
    """The lowest point of a sphere."""
    n = column(w.shape_R[plane], 2)
    lowest = add(w.shape_p[sphere], scale(-tree.shape_size[sphere, 0], n))
    set_contact_on(w, slot, dot(n, sub(lowest, w.shape_p[plane])), lowest, n, way)


@kernel
def plane_capsule(tree: Array, w: Array, plane: int, capsule: int, slot: int, way: Scalar) -> None:
    """The lowest point of each half sphere of a capsule: first that of the lower end of its own axis."""
    n = column(w.shape_R[plane], 2)
    axis = scale(tree.shape_size[capsule, 1], column(w.shape_R[capsule], 2))
    below = add(w.shape_p[capsule], scale(-tree.shape_size[capsule, 0], n))
    for k in range(2):
        lowest = add(below, scale(-1.0 if k == 0 else 1.0, axis))
        set_contact_on(w, slot + k, dot(n, sub(lowest, w.shape_p[plane])), lowest, n, way)


@kernel
def plane_box(tree: Array, w: Array, plane: int, box: int, slot: int, count: int, way: Scalar) -> None:
    """Corners of a box: all eight, or the four lowest."""
    n = column(w.shape_R[plane], 2)
    edges = half_edges(tree, w, box)
    lowest = lowest_corners(n, edges)
    for k in range(count):
        corner = add(w.shape_p[box], box_corner(k, edges) if count == 8 else lowest_corner(k, lowest))
        set_contact_on(w, slot + k, dot(n, sub(corner, w.shape_p[plane])), corner, n, way)


@kernel
def half_edges(tree: Array, w: Array, box: int) -> tuple[Triple, Triple, Triple]:
    """The three half edges of a box, in world axes."""
    return (
        scale(tree.shape_size[box, 0], column(w.shape_R[box], 0)),
        scale(tree.shape_size[box, 1], column(w.shape_R[box], 1)),
        scale(tree.shape_size[box, 2], column(w.shape_R[box], 2)),
    )


@kernel
def box_corner(k: int, edges: tuple[Triple, Triple, Triple]) -> Triple:
    """Corner ``k`` of the eight of a box, from its center."""
    corner = add(scale(-1.0 if k % 2 == 0 else 1.0, edges[0]), scale(-1.0 if k // 2 % 2 == 0 else 1.0, edges[1]))
    return add(corner, scale(-1.0 if k // 4 == 0 else 1.0, edges[2]))


class LowestCorners(NamedTuple):
    """The face of a box that is most nearly level, and which of its corners is not among the four lowest."""

    c: Triple
    """The half edge that is most nearly vertical, pointing down; the face is at its end."""
    a: Triple
    """The half edges of the face: those after that one in the order x y z x y."""
    b: Triple
    up_a: Scalar
    """1 where ``a`` points up, -1 where it points down."""
    up_b: Scalar
    pointed: Scalar
    """1 where a corner points down so steeply that its three neighbors are lower than the face's last corner."""


@kernel
def lowest_corners(n: Vector, edges: tuple[Triple, Triple, Triple]) -> LowestCorners:
    """The four lowest corners of a box in the direction ``n``, in an order that rounding does not change.

    They are those of the face that is most nearly level; but where a corner points down, the lowest corner's neighbor
    above that face takes the place of the face's highest.
    """
    steep = magnitudes((dot(n, edges[0]), dot(n, edges[1]), dot(n, edges[2])))
    c = select_largest(steep, edges[0], edges[1], edges[2])
    a = select_largest(steep, edges[1], edges[2], edges[0])
    b = select_largest(steep, edges[2], edges[0], edges[1])
    h = dot(n, c)
    ha = dot(n, a)
    hb = dot(n, b)
    pointed = where(magnitude(h), magnitude(ha) + magnitude(hb), 1.0, 0.0)
    return LowestCorners(scale(-sign_or_one(h), c), a, b, sign_or_one(ha), sign_or_one(hb), pointed)


@kernel
def lowest_corner(k: int, lowest: LowestCorners) -> Triple:
    """Corner ``k`` of the four lowest, from the center of the box."""
    ka = -1.0 if k % 2 == 0 else 1.0
    kb = -1.0 if k // 2 == 0 else 1.0
    highest = where(1.5, ka * lowest.up_a + kb * lowest.up_b, lowest.pointed, 0.0)
    flip = 1.0 - 2.0 * highest
    return add(scale(flip, lowest.c), add(scale(flip * ka, lowest.a), scale(flip * kb, lowest.b)))


@kernel
def plane_cylinder(tree: Array, w: Array, plane: int, cylinder: int, slot: int, way: Scalar) -> None:
    """The lowest point of each rim of a cylinder, and two points of the lower rim a third of a turn to both sides.

    Of an upright cylinder, whose rims have no lowest point, the first is along its x axis.
    """
    n = column(w.shape_R[plane], 2)
    axis = column(w.shape_R[cylinder], 2)
    x = column(w.shape_R[cylinder], 0)
    y = column(w.shape_R[cylinder], 1)
    radius = tree.shape_size[cylinder, 0]
    slope = dot(n, axis)
    # u: down the rim; less than UPRIGHT from upright it turns to x, which makes a part of UPRIGHT of the radius
    down = unit_or((UPRIGHT - dot(n, x), -dot(n, y), 0.0), (1.0, 0.0, 0.0))[0]
    u = add(scale(down[0], x), scale(down[1], y))
    v = scale(HALF_SQRT_3, cross(axis, u))
    end = scale(tree.shape_size[cylinder, 1], axis)
    lower = add(w.shape_p[cylinder], scale(-sign_or_one(slope), end))
    for k in range(4):
        if k < 2:
            rim = add(add(w.shape_p[cylinder], scale(-1.0 if k == 0 else 1.0, end)), scale(radius, u))
        else:
            side = add(scale(-0.5, u), scale(-1.0 if k == 2 else 1.0, v))
            rim = add(lower, scale(radius, side))
        set_contact_on(w, slot + k, dot(n, sub(rim, w.shape_p[plane])), rim, n, way)


@kernel
def plane_ellipsoid(tree: Array, w: Array, plane: int, ellipsoid: int, slot: int, way: Scalar) -> None:
    """The lowest point of an ellipsoid: ``-A² n / |A n|`` in its own axes, A the diagonal of semi-axes."""
    n = column(w.shape_R[plane], 2)
    radii = tree.shape_size[ellipsoid]
    down = rotate_inverse(w.shape_R[ellipsoid], n)
    x = (radii[0] * down[0], radii[1] * down[1], radii[2] * down[2])
    k = -1.0 / sqrt(dot(x, x))
    support = rotate(w.shape_R[ellipsoid], (k * radii[0] * x[0], k * radii[1] * x[1], k * radii[2] * x[2]))
    lowest = add(w.shape_p[ellipsoid], support)
    set_contact_on(w, slot, dot(n, sub(lowest, w.shape_p[plane])), lowest, n, way)
