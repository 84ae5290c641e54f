# SPDX-License-Identifier: BSD-3-Clause
"""Rays and convex volumes around the origin: entry, exit and normals.

Kay and Kajiya, Ray Tracing Complex Scenes, 1986 (slabs); a quadric is cut from the point of the ray that is nearest to
the center, so that no digits are lost far from it.

| symbol    | meaning                                                             |
|-----------|---------------------------------------------------------------------|
| x, d      | start of a ray and its direction, a unit vector, in axes of a shape |
| near, far | where it enters and leaves, as distances along it                   |

Cost: 20 to 60 operations.
"""

from __future__ import annotations

from linkwork.kernels.contact.shapes.frames import select, unit_or
from linkwork.kernels.elementary import clamp, magnitude, maximum, minimum, sign_or_one
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, dot, scale
from linkwork.kernels.thresholds import PARALLEL_RAY
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.rays import BOX, CAPSULE, CYLINDER, PLANE


@kernel
def between(low: Scalar, high: Scalar, near: Scalar, far: Scalar) -> tuple[Scalar, Scalar]:
    """The intersection of two intervals; its end is before its start where it is empty."""
    return maximum(low, near), minimum(high, far)


@kernel
def slab(x: Scalar, d: Scalar, size: Scalar) -> tuple[Scalar, Scalar]:
    """Where ``|x + t d| <= size``."""
    along = magnitude(d)
    safe = where(along, PARALLEL_RAY, 1.0, d)
    t = (-size - x) / safe
    u = (size - x) / safe
    inside = where(size, magnitude(x), -1.0, 1.0)
    low = where(along, PARALLEL_RAY, -(inside * UNBOUNDED), minimum(t, u))
    return low, where(along, PARALLEL_RAY, inside * UNBOUNDED, maximum(t, u))


@kernel
def quadric(a: Scalar, b: Scalar, c: Scalar) -> tuple[Scalar, Scalar]:
    """Where ``a t² + 2 b t + c <= 0``, ``a >= 0``."""
    safe = where(a, PARALLEL_RAY, 1.0, a)
    inner = b * b - a * c
    root = sqrt(where(inner, 0.0, 0.0, inner))
    inside = where(0.0, c, -1.0, 1.0)
    low = where(a, PARALLEL_RAY, -(inside * UNBOUNDED), where(inner, 0.0, UNBOUNDED, (-b - root) / safe))
    high = where(a, PARALLEL_RAY, inside * UNBOUNDED, where(inner, 0.0, -UNBOUNDED, (root - b) / safe))
    return low, high


@kernel
def hits(low: Scalar, high: Scalar) -> Scalar:
    """1 where a ray that is inside from ``low`` to ``high`` meets the volume, else 0."""
    return where(high, low, 0.0, where(high, 0.0, 0.0, 1.0))


@kernel
def ray_interval(kind: int, size: Array, start: Vector, d: Vector) -> tuple[Scalar, Scalar]:
    """Where a ray is within a volume; the second is before the first where it is nowhere."""
    nearest = -dot(start, d)
    x = add(start, scale(nearest, d))
    low = -UNBOUNDED
    high = UNBOUNDED
    if kind == BOX:
        for k in range(3):
            near, far = slab(x[k], d[k], size[k])
            low, high = between(low, high, near, far)
    elif kind == CYLINDER or kind == CAPSULE:
        square = size[0] * size[0]
        across = d[0] * d[0] + d[1] * d[1]
        low, high = quadric(across, x[0] * d[0] + x[1] * d[1], x[0] * x[0] + x[1] * x[1] - square)
        near, far = slab(x[2], d[2], size[1])
        low, high = between(low, high, near, far)
        if kind == CAPSULE:
            empty = where(high, low, 1.0, 0.0)
            low = where(0.5, empty, UNBOUNDED, low)
            high = where(0.5, empty, -UNBOUNDED, high)
            for k in range(2):
                end = (x[0], x[1], x[2] + (size[1] if k == 0 else -size[1]))
                near, far = quadric(dot(d, d), dot(end, d), dot(end, end) - square)
                low = minimum(low, near)
                high = maximum(high, far)
    else:
        y = (x[0] / size[0], x[1] / size[1], x[2] / size[2])
        e = (d[0] / size[0], d[1] / size[1], d[2] / size[2])
        low, high = quadric(dot(e, e), dot(y, e), dot(y, y) - 1.0)
    return low + nearest, high + nearest


@kernel
def ray_meets(kind: int, size: Array, x: Vector, d: Vector) -> Scalar:
    """1 where the ray from ``x`` along ``d`` meets a volume around the origin, else 0."""
    low, high = ray_interval(kind, size, x, d)
    return hits(low, high)


@kernel
def ray_solid(kind: int, size: Array, x: Vector, d: Vector) -> Scalar:
    """Distance to the surface of a volume, from inside or outside, or to the front of a plane; else `UNBOUNDED`."""
    if kind == PLANE:
        t = x[2] / where(d[2], -PARALLEL_RAY, -d[2], 1.0)
        beyond = maximum(magnitude(x[0] + t * d[0]) - size[0], magnitude(x[1] + t * d[1]) - size[1])
        t = where(t, 0.0, UNBOUNDED, where(0.0, beyond, UNBOUNDED, t))
        return where(d[2], -PARALLEL_RAY, t, UNBOUNDED)
    low, high = ray_interval(kind, size, x, d)
    t = where(low, 0.0, high, low)
    return where(high, low, UNBOUNDED, where(t, 0.0, UNBOUNDED, t))


@kernel
def solid_normal(kind: int, size: Array, y: Vector) -> Triple:
    """The outward normal at a point of the surface."""
    if kind == PLANE:
        return 0.0, 0.0, 1.0
    if kind == BOX:
        x_over = magnitude(y[0]) - size[0]
        y_over = magnitude(y[1]) - size[1]
        z_over = magnitude(y[2]) - size[2]
        side = select(x_over, y_over, (0.0, sign_or_one(y[1]), 0.0), (sign_or_one(y[0]), 0.0, 0.0))
        return select(z_over, maximum(x_over, y_over), side, (0.0, 0.0, sign_or_one(y[2])))
    if kind == CAPSULE:
        return unit_or((y[0], y[1], y[2] - clamp(y[2], -size[1], size[1])), (0.0, 0.0, 1.0))[0]
    if kind == CYLINDER:
        out, radius = unit_or((y[0], y[1], 0.0), (1.0, 0.0, 0.0))
        return select(magnitude(y[2]) - size[1], radius - size[0], out, (0.0, 0.0, sign_or_one(y[2])))
    inverse = (1.0 / (size[0] * size[0]), 1.0 / (size[1] * size[1]), 1.0 / (size[2] * size[2]))
    return unit_or((y[0] * inverse[0], y[1] * inverse[1], y[2] * inverse[2]), (0.0, 0.0, 1.0))[0]
