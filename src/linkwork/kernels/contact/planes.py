# SPDX-License-Identifier: BSD-3-Clause
"""A plane against others: their lowest points, in the direction of its normal.

The normal of all contact points is that of the plane, the z axis of its pose ``R, p``.

| pair           | contact points                                                                            |
|----------------|-------------------------------------------------------------------------------------------|
| plane, sphere  | the lowest point                                                                          |
| plane, capsule | the lowest point of each end                                                              |
| plane, box     | the four lowest corners, or all eight                                                     |

Cost: 10 to 60 operations a contact point.
"""

from __future__ import annotations

from linkwork.kernels.contact.frames import magnitude, set_contact_below, sign
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, where
from linkwork.kernels.spatial import Triple, add, column, dot, scale, sub


@kernel
def plane_sphere(tree: Array, w: Array, plane: int, sphere: int, slot: int) -> None:
    """The lowest point of a sphere."""
    n = column(w.shape_R[plane], 2)
    lowest = add(w.shape_p[sphere], scale(-tree.shape_size[sphere, 0], n))
    set_contact_below(w, slot, dot(n, sub(lowest, w.shape_p[plane])), lowest, n)


@kernel
def plane_capsule(tree: Array, w: Array, plane: int, capsule: int, slot: int) -> None:
    """The lowest point of each half sphere of a capsule: first that of the lower end of its own axis."""
    n = column(w.shape_R[plane], 2)
    axis = scale(tree.shape_size[capsule, 1], column(w.shape_R[capsule], 2))
    below = add(w.shape_p[capsule], scale(-tree.shape_size[capsule, 0], n))
    for k in range(2):
        lowest = add(below, scale(-1.0 if k == 0 else 1.0, axis))
        set_contact_below(w, slot + k, dot(n, sub(lowest, w.shape_p[plane])), lowest, n)


@kernel
def plane_box(tree: Array, w: Array, plane: int, box: int, slot: int, count: int) -> None:
    """Corners of a box: all eight, or the four lowest."""
    n = column(w.shape_R[plane], 2)
    x = scale(tree.shape_size[box, 0], column(w.shape_R[box], 0))
    y = scale(tree.shape_size[box, 1], column(w.shape_R[box], 1))
    z = scale(tree.shape_size[box, 2], column(w.shape_R[box], 2))
    center = w.shape_p[box]
    if count == 8:
        for k in range(8):
            corner = add(center, scale(-1.0 if k % 2 == 0 else 1.0, x))
            corner = add(corner, scale(-1.0 if k // 2 % 2 == 0 else 1.0, y))
            corner = add(corner, scale(-1.0 if k // 4 == 0 else 1.0, z))
            set_contact_below(w, slot + k, dot(n, sub(corner, w.shape_p[plane])), corner, n)
    else:
        four_lowest_corners(w, plane, slot, n, center, x, y, z)


@kernel
def four_lowest_corners(
    w: Array, plane: int, slot: int, n: Vector, center: Vector, x: Vector, y: Vector, z: Vector
) -> None:
    """The four lowest corners of a box with these half edges.

    They are those of the face that is most nearly parallel to the plane, in an order that rounding does not change; but
    where a corner points down, the lowest corner's neighbor above that face takes the place of the face's highest.
    """
    hx = dot(n, x)
    hy = dot(n, y)
    hz = dot(n, z)
    ax = magnitude(hx)
    ay = magnitude(hy)
    az = magnitude(hz)
    # c: the half edge that is most nearly vertical, pointing down; a and b: the next two in the order x y z x y
    c = _vertical(ax, ay, az, x, y, z)
    a = _vertical(ax, ay, az, y, z, x)
    b = _vertical(ax, ay, az, z, x, y)
    h = dot(n, c)
    ha = dot(n, a)
    hb = dot(n, b)
    c = scale(-sign(h), c)
    fall = magnitude(h)
    rise_a = magnitude(ha)
    rise_b = magnitude(hb)
    sa = sign(ha)
    sb = sign(hb)
    pointed = where(fall, rise_a + rise_b, 1.0, 0.0)
    for k in range(4):
        ka = -1.0 if k % 2 == 0 else 1.0
        kb = -1.0 if k // 2 == 0 else 1.0
        highest = where(0.5, pointed * where(ka * sa + kb * sb, 1.5, 0.0, 1.0), 1.0, 0.0)
        flip = 1.0 - 2.0 * highest
        corner = add(center, scale(flip, c))
        corner = add(corner, scale(flip * ka, a))
        corner = add(corner, scale(flip * kb, b))
        set_contact_below(w, slot + k, dot(n, sub(corner, w.shape_p[plane])), corner, n)


@kernel
def _vertical(ax: Scalar, ay: Scalar, az: Scalar, x: Vector, y: Vector, z: Vector) -> Triple:
    """``x``, ``y`` or ``z``: where ``ax``, ``ay`` or ``az`` is the largest."""
    xy = where(ax, ay, ay, ax)
    return (
        where(az, xy, where(ax, ay, y[0], x[0]), z[0]),
        where(az, xy, where(ax, ay, y[1], x[1]), z[1]),
        where(az, xy, where(ax, ay, y[2], x[2]), z[2]),
    )
