# SPDX-License-Identifier: BSD-3-Clause
"""Others against a sphere: the point of their surface that is nearest to its center.

With ``N`` the outward normal there and ``d`` the distance of the center, negative inside, ``gap = d - radius``. A
center inside leaves by the shortest way. Where there are several, as at the center of a shape, one is chosen.

| pair              | the nearest point                                                                      |
|-------------------|----------------------------------------------------------------------------------------|
| sphere, sphere    | on the line of centers                                                                 |
| capsule, sphere   | from the nearest point of the axis                                                     |
| box, sphere       | the center clamped; inside, the nearest face                                           |
| cylinder, sphere  | the same in the half plane of axis and center                                          |
| ellipsoid, sphere | Newton's method on the secular equation                                                |

Cost: 30 to 80 operations; of an ellipsoid 700.
"""

from __future__ import annotations

from linkwork.kernels.contact.shapes.frames import (
    clamp_vector,
    magnitudes,
    select,
    select_largest,
    set_core_contact,
    unit_or,
)
from linkwork.kernels.elementary import clamp, magnitude, maximum, minimum, sign_or_one
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, column, dot, rotate, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import EQUAL_LENGTHS, LEAST_COORDINATE

NEWTON_STEPS = 16
"""Steps of the secular equation. Six are enough but for centers near the focal ellipse or hyperbola."""


@kernel
def set_sphere_contact(
    tree: Array, w: Array, sphere: int, slot: int, distance: Scalar, normal: Vector, way: Scalar
) -> None:
    """The contact point of a sphere whose center is ``distance`` from a surface with this outward normal."""
    radius = tree.shape_size[sphere, 0]
    set_core_contact(w, slot, distance - radius, w.shape_p[sphere], radius, normal, 1.0, way)


@kernel
def sphere_sphere(tree: Array, w: Array, first: int, second: int, slot: int, way: Scalar) -> None:
    """The contact point of two spheres; the normal of concentric ones is z."""
    between = unit_or(sub(w.shape_p[second], w.shape_p[first]), (0.0, 0.0, 1.0))
    distance = between[1] - tree.shape_size[first, 0]
    set_sphere_contact(tree, w, second, slot, distance, between[0], way)


@kernel
def capsule_sphere(tree: Array, w: Array, capsule: int, sphere: int, slot: int, way: Scalar) -> None:
    """The contact point of a capsule and a sphere; the normal on the capsule's axis is its x."""
    axis = column(w.shape_R[capsule], 2)
    arm = sub(w.shape_p[sphere], w.shape_p[capsule])
    along = clamp(dot(axis, arm), -(tree.shape_size[capsule, 1]), tree.shape_size[capsule, 1])
    # on the axis, rounding has no direction that is across it
    least = EQUAL_LENGTHS * (tree.shape_size[capsule, 0] + tree.shape_size[capsule, 1])
    between = unit_or(sub(arm, scale(along, axis)), column(w.shape_R[capsule], 0), least)
    distance = between[1] - tree.shape_size[capsule, 0]
    set_sphere_contact(tree, w, sphere, slot, distance, between[0], way)


@kernel
def box_sphere(tree: Array, w: Array, box: int, sphere: int, slot: int, way: Scalar) -> None:
    """The contact point of a box and a sphere."""
    center = rotate_inverse(w.shape_R[box], sub(w.shape_p[sphere], w.shape_p[box]))
    distance, normal = point_box(center, tree.shape_size[box])
    normal = rotate(w.shape_R[box], normal)
    set_sphere_contact(tree, w, sphere, slot, distance, normal, way)


@kernel
def point_box(x: Vector, h: Vector) -> tuple[Scalar, Triple]:
    """Distance of a point from a box with half edges ``h``, negative inside, and the outward normal."""
    beyond = sub(magnitudes(x), h)
    inside = select_largest(beyond, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    inside = (sign_or_one(x[0]) * inside[0], sign_or_one(x[1]) * inside[1], sign_or_one(x[2]) * inside[2])
    out, length = unit_or(sub(x, clamp_vector(x, h)), inside)
    depth = maximum(maximum(beyond[0], beyond[1]), beyond[2])
    return where(0.0, depth, length, depth), out


@kernel
def cylinder_sphere(tree: Array, w: Array, cylinder: int, sphere: int, slot: int, way: Scalar) -> None:
    """The contact point of a cylinder and a sphere; the radial direction on the axis is x."""
    x = rotate_inverse(w.shape_R[cylinder], sub(w.shape_p[sphere], w.shape_p[cylinder]))
    radial, radius = unit_or((x[0], x[1], 0.0), (1.0, 0.0, 0.0))
    beyond = radius - tree.shape_size[cylinder, 0]
    above = magnitude(x[2]) - tree.shape_size[cylinder, 1]
    axial = (0.0, 0.0, sign_or_one(x[2]))
    nearer = select(beyond, above, axial, radial)
    outside = add(scale(maximum(beyond, 0.0), radial), scale(maximum(above, 0.0), axial))
    normal, length = unit_or(outside, nearer)
    depth = maximum(beyond, above)
    distance = where(0.0, depth, length, depth)
    normal = rotate(w.shape_R[cylinder], normal)
    set_sphere_contact(tree, w, sphere, slot, distance, normal, way)


@kernel
def ellipsoid_sphere(tree: Array, w: Array, ellipsoid: int, sphere: int, slot: int, way: Scalar) -> None:
    """The contact point of an ellipsoid and a sphere."""
    center = rotate_inverse(w.shape_R[ellipsoid], sub(w.shape_p[sphere], w.shape_p[ellipsoid]))
    distance, normal = point_ellipsoid(center, tree.shape_size[ellipsoid])
    normal = rotate(w.shape_R[ellipsoid], normal)
    set_sphere_contact(tree, w, sphere, slot, distance, normal, way)


@kernel
def point_ellipsoid(y: Vector, a: Vector) -> tuple[Scalar, Triple]:
    """Distance of a point from an ellipsoid with semi-axes ``a``, negative inside, and the outward normal.

    The nearest point is ``x_i = a_i² y_i / (s + d_i)``, ``d_i = a_i² - min a²``, with ``s > 0`` from the secular
    equation ``F(s) = sum (a_i y_i / (s + d_i))² = 1``. Newton's method on ``1 / sqrt(F) = 1``, which is concave and all
    but linear (Moré and Sorensen 1983), goes up to the root from any ``s`` below it: that at which one term alone is 1.
    """
    least = minimum(minimum(a[0], a[1]), a[2])
    low = LEAST_COORDINATE * least
    m = magnitudes(y)
    c = (a[0] * maximum(m[0], low), a[1] * maximum(m[1], low), a[2] * maximum(m[2], low))
    d = ((a[0] - least) * (a[0] + least), (a[1] - least) * (a[1] + least), (a[2] - least) * (a[2] + least))
    s = maximum(maximum(c[0] - d[0], c[1] - d[1]), c[2] - d[2])
    for _ in range(NEWTON_STEPS):
        k = (1.0 / (s + d[0]), 1.0 / (s + d[1]), 1.0 / (s + d[2]))
        f = (c[0] * k[0], c[1] * k[1], c[2] * k[2])
        ff = (f[0] * f[0], f[1] * f[1], f[2] * f[2])
        F = ff[0] + ff[1] + ff[2]
        s += F * (sqrt(F) - 1.0) / dot(ff, k)
    x = (a[0] * c[0] / (s + d[0]), a[1] * c[1] / (s + d[1]), a[2] * c[2] / (s + d[2]))
    x = (sign_or_one(y[0]) * x[0], sign_or_one(y[1]) * x[1], sign_or_one(y[2]) * x[2])
    N = unit_or((x[0] / (a[0] * a[0]), x[1] / (a[1] * a[1]), x[2] / (a[2] * a[2])), (1.0, 0.0, 0.0))[0]
    return dot(N, sub(y, x)), N
