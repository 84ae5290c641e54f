# SPDX-License-Identifier: BSD-3-Clause
"""Rays against the shapes of a robot: distance, normal and shape of the nearest hit.

Volumes and planes are hit where `ray_shapes` says; meshes, hulls and height fields are triangles in a hierarchy of
boxes, whose nodes are in the order of a depth-first walk with the place where each node's subtree ends: no stack, and
lanes walk it together. Woop, Benthin and Wald, Watertight Ray/Triangle Intersection, 2013: corners are projected along
the ray, and the ray is inside where all edges turn the same way; a shared edge is computed alike in both triangles.

| symbol | meaning                                                                                  |
|--------|------------------------------------------------------------------------------------------|
| x, d   | start of a ray and its direction, a unit vector                                          |
| t      | distance along it                                                                        |
| basis  | two unit vectors across the ray                                                          |
| E, o   | rotation and position of a body in the world                                             |

Cost: 70 operations for a volume; a mesh of n triangles, about 30 log n for boxes and 60 for a triangle that is near.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.contact.shapes.frames import select, tangents, unit_or
from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below, sqrt, where
from linkwork.kernels.sensors.ray_shapes import ray_solid, solid_normal
from linkwork.kernels.spatial import Triple, add, cross, dot, rotate, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import ON_RAY, PARALLEL_RAY
from linkwork.kernels.tree.kinematics import POSE, WORLD_POSE, support_transforms
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.rays import FIELD, RAY_TREE, TRIANGLES, WORLD_AXES, YAW

DISTANCE, DIRECTION, ORIGIN, POINT, NORMAL, DEPTH = range(6)
"""Columns of ``ray_value``, in the order of `RAY_DATA`."""


class Hit(NamedTuple):
    """The nearest hit of a ray so far."""

    distance: Scalar
    """`UNBOUNDED` where there is none."""
    shape: Scalar
    """Number of the shape, -1 where there is none."""
    normal: Triple
    """In the world, or in axes of a shape while its triangles are tried."""


class Ray(NamedTuple):
    """A ray in axes of a shape, and quantities for tests against its triangles."""

    x: Triple
    d: Triple
    inverse: Triple
    """One over each component of ``d``, kept finite."""
    first: Triple
    second: Triple


@kernel
def ray_in_shape(tree: Array, w: Array, s: int, x: Vector, d: Vector) -> tuple[Triple, Triple]:
    """A ray given in the world, in axes of a shape."""
    b = tree.shape_body[s]
    R = tree.shape_rotation[s]
    away = sub(rotate_inverse(w.E[b], sub(x, w.o[b])), tree.shape_position[s])
    return rotate_inverse(R, away), rotate_inverse(R, rotate_inverse(w.E[b], d))


@kernel
def cast_ray(tree: Array, w: Array, first: int, count: int, x: Vector, d: Vector) -> Hit:
    """The nearest hit of a ray in the world, among ``count`` shapes of ``seen_shape`` from ``first`` on."""
    best = Hit(UNBOUNDED, -1.0, (0.0, 0.0, 0.0))
    for e in range(first, first + count):
        s = tree.seen_shape[e]
        kind = tree.shape_kind[s]
        y, u = ray_in_shape(tree, w, s, x, d)
        t = UNBOUNDED
        n = (0.0, 0.0, 1.0)
        if kind == TRIANGLES or kind == FIELD:
            a, b = tangents(u)
            ray = Ray(y, u, (slope(u[0]), slope(u[1]), slope(u[2])), a, b)
            hit = ray_triangles(tree, s, kind, ray, Hit(best.distance, -1.0, (0.0, 0.0, 1.0)))
            t = where(hit.shape, 0.0, UNBOUNDED, hit.distance)
            n = unit_or(hit.normal, (0.0, 0.0, 1.0))[0]
        else:
            t = ray_solid(kind, tree.shape_size[s], y, u)
            n = solid_normal(kind, tree.shape_size[s], add(y, scale(where(t, UNBOUNDED, t, 0.0), u)))
        n = rotate(w.E[tree.shape_body[s]], rotate(tree.shape_rotation[s], n))
        best = nearer(t, float(s), n, best)
    return best


@kernel
def nearer(t: Scalar, shape: Scalar, n: Vector, best: Hit) -> Hit:
    """The nearer of two hits."""
    return Hit(
        minimum(t, best.distance),
        where(t, best.distance, shape, best.shape),
        select(t, best.distance, n, best.normal),
    )


@kernel
def slope(d: Scalar) -> Scalar:
    """``1 / d``, finite."""
    safe = where(magnitude(d), PARALLEL_RAY, PARALLEL_RAY, magnitude(d))
    return where(d, 0.0, -1.0, 1.0) / safe


# Triangles ----------------------------------------------------------------------------------------------------------


@kernel
def ray_triangles(tree: Array, s: int, kind: int, ray: Ray, best: Hit) -> Hit:
    """The nearest hit of a mesh or a height field, in its axes; ``shape`` is 1 there, normals are not of length one."""
    k = tree.shape_node[s]
    end = k + tree.shape_nodes[s]
    while k < end:
        near, far = box_interval(tree.node_box[k], ray)
        if some_below(maximum(near, 0.0), minimum(far, best.distance)):
            for e in range(tree.node_first[k], tree.node_first[k] + tree.node_count[k]):
                if kind == FIELD:
                    best = ray_cell(tree, s, e, ray, best)
                else:
                    a = tree.triangle[e, 0]
                    b = tree.triangle[e, 1]
                    c = tree.triangle[e, 2]
                    best = ray_triangle(tree.corner_at[a], tree.corner_at[b], tree.corner_at[c], ray, best)
            k = k + 1
        else:
            k = tree.node_end[k]
    return best


@kernel
def box_interval(box: Array, ray: Ray) -> tuple[Scalar, Scalar]:
    """Where a ray is within a box given by its least and largest coordinates."""
    low = -UNBOUNDED
    high = UNBOUNDED
    for k in range(3):
        t = (box[k] - ray.x[k]) * ray.inverse[k]
        u = (box[k + 3] - ray.x[k]) * ray.inverse[k]
        low = maximum(low, minimum(t, u))
        high = minimum(high, maximum(t, u))
    return low, high


@kernel
def ray_cell(tree: Array, s: int, e: int, ray: Ray, best: Hit) -> Hit:
    """The two triangles of a cell of a height field, by the number of its first height."""
    f = tree.shape_field[s]
    columns = tree.field_columns[f]
    at = e - tree.field_start[f]
    i = at // columns
    j = at - i * columns
    half_x = tree.shape_size[s, 0]
    half_y = tree.shape_size[s, 1]
    dx = 2.0 * half_x / float(tree.field_rows[f] - 1)
    dy = 2.0 * half_y / float(columns - 1)
    h = tree.heights
    a = (float(i) * dx - half_x, float(j) * dy - half_y, h[e])
    b = (float(i + 1) * dx - half_x, float(j) * dy - half_y, h[e + columns])
    c = (float(i + 1) * dx - half_x, float(j + 1) * dy - half_y, h[e + columns + 1])
    d = (float(i) * dx - half_x, float(j + 1) * dy - half_y, h[e + 1])
    return ray_triangle(a, c, d, ray, ray_triangle(a, b, c, ray, best))


@kernel
def across(ray: Ray, x: Vector) -> tuple[Scalar, Scalar]:
    """A vector as seen along the ray."""
    return dot(ray.first, x), dot(ray.second, x)


@kernel
def edge(p: Vector, q: Vector) -> tuple[Scalar, Scalar]:
    """The orientation of an edge about the ray, and a bound of its rounding error."""
    x = p[0] * q[1]
    y = p[1] * q[0]
    return x - y, ON_RAY * (magnitude(x) + magnitude(y))


@kernel
def ray_triangle(a: Vector, b: Vector, c: Vector, ray: Ray, best: Hit) -> Hit:
    """The nearer of a hit and that of a triangle, from either side; its normal is outside of counterclockwise."""
    p = sub(a, ray.x)
    q = sub(b, ray.x)
    r = sub(c, ray.x)
    u, u_slack = edge(across(ray, q), across(ray, r))
    v, v_slack = edge(across(ray, r), across(ray, p))
    x, x_slack = edge(across(ray, p), across(ray, q))
    least = minimum(minimum(u + u_slack, v + v_slack), x + x_slack)
    largest = maximum(maximum(u - u_slack, v - v_slack), x - x_slack)
    outside = where(least, 0.0, where(0.0, largest, 1.0, 0.0), 0.0)
    N = cross(sub(b, a), sub(c, a))
    steep = dot(N, ray.d)
    flat = where(magnitude(steep), PARALLEL_RAY * sqrt(dot(N, N)), 1.0, 0.0)
    t = dot(N, p) / where(0.5, flat, 1.0, where(steep * steep, 0.0, 1.0, where(magnitude(steep), 0.0, 1.0, steep)))
    t = where(0.5, outside + flat, UNBOUNDED, where(t, 0.0, UNBOUNDED, t))
    return nearer(t, 1.0, N, best)


# Range finders ------------------------------------------------------------------------------------------------------


@kernel
def sense_range(tree: Array, w: Array, k: int, x: Vector, d: Vector, values: Array) -> None:
    """Values of a range finder whose ray starts at ``x`` along ``d``, both in the world: `RAY_DATA`."""
    hit = cast_ray(tree, w, tree.seen_start[k], tree.seen_count[k], x, d)
    there = where(hit.distance, UNBOUNDED, 1.0, 0.0)
    distance = where(0.5, there, hit.distance, -1.0)
    o = tree.sensor_value[k]
    at = tree.ray_value[k]
    if at[DISTANCE] >= 0:
        values[o + at[DISTANCE]] = distance
    if at[DEPTH] >= 0:
        values[o + at[DEPTH]] = distance
    for j in range(3):
        if at[DIRECTION] >= 0:
            values[o + at[DIRECTION] + j] = there * d[j]
        if at[ORIGIN] >= 0:
            values[o + at[ORIGIN] + j] = x[j]
        if at[POINT] >= 0:
            values[o + at[POINT] + j] = where(0.5, there, x[j] + hit.distance * d[j], 0.0)
        if at[NORMAL] >= 0:
            values[o + at[NORMAL] + j] = hit.normal[j]


# Rays of an evaluator -----------------------------------------------------------------------------------------------


@kernel
def rays(
    tree: Array, w: Array, q: Array, origin: Array, direction: Array, distance: Array, normal: Array, shape: Array
) -> None:
    """The hit of a ray that is given in axes of a frame."""
    support_transforms(tree, w, q)
    f = 0
    b = tree.frame_body[f]
    x = rotate(tree.frame_rotation[f], (origin[0], origin[1], origin[2]))
    d = rotate(tree.frame_rotation[f], (direction[0], direction[1], direction[2]))
    at = add(w.o[b], rotate(w.E[b], tree.frame_position[f]))
    if tree.ray_axes == YAW:
        heading = rotate(
            w.E[b], (tree.frame_rotation[f, 0, 0], tree.frame_rotation[f, 1, 0], tree.frame_rotation[f, 2, 0])
        )
        c, s = unit_or((heading[0], heading[1], 0.0), (1.0, 0.0, 0.0))[0][0:2]
        x = (c * origin[0] - s * origin[1], s * origin[0] + c * origin[1], origin[2])
        d = (c * direction[0] - s * direction[1], s * direction[0] + c * direction[1], direction[2])
    elif tree.ray_axes == WORLD_AXES:
        x = (origin[0], origin[1], origin[2])
        d = (direction[0], direction[1], direction[2])
    else:
        x = rotate(w.E[b], x)
        d = rotate(w.E[b], d)
    u, length = unit_or(d, (0.0, 0.0, 1.0))
    hit = cast_ray(tree, w, 0, tree.nseen, add(at, x), u)
    t = hit.distance / where(length, PARALLEL_RAY, 1.0, length)
    none = where(hit.distance, tree.ray_reach[0], where(length, PARALLEL_RAY, 1.0, 0.0), 1.0)
    distance[0] = where(0.5, none, tree.ray_miss[0], t)
    shape[0] = where(0.5, none, -1.0, hit.shape)
    n = select(0.5, none, (0.0, 0.0, 0.0), hit.normal)
    for j in range(3):
        normal[j] = n[j]


RAY_WORK: dict[str, Shape] = {**POSE, **WORLD_POSE}

RAYS = Algorithm(
    "rays",
    rays,
    {"q": ("nq",), "origin": (3,), "direction": (3,)},
    {"distance": (1,), "normal": (3,), "shape": (1,)},
    RAY_WORK,
    RAY_TREE,
)
"""One ray a state."""
