# SPDX-License-Identifier: BSD-3-Clause
"""The tangent space at a configuration: rates of coordinates from joint velocities and back, gradients in both.

| symbol  | meaning                                                                                     |
|---------|---------------------------------------------------------------------------------------------|
| q       | configuration; ``o`` is where a joint's coordinates begin                                     |
| v       | a tangent vector, as joint velocities are: ``k`` is where a joint's begin                     |
| rates   | ``dq/dt``: positions move by ``R v``, quaternions by ``1/2 q * w``, directions by a quarter turn |
| T, V    | ``rates = T(q) v`` and ``v = V(q) rates``: ``V T = 1``, and ``V`` maps changes of length to zero |
| y       | gradient of a function in the tangent space                                                 |
| g       | its gradient by coordinates, ``V' y``: zero along changes of length, and ``T' g = y``         |

``integrate(q, h v) = q + h rates + O(h²)`` (`integration`), up to the length of quaternions and directions, which no
kernel depends on: rates of numbers that are not of unit length are in proportion to it. Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.integration import rotate
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt
from linkwork.kernels.spatial import add, cross, dot, scale, sub
from linkwork.model.joints import FREE, PLANAR, SPHERICAL


@kernel
def quaternion_rates(q: Array, o: int, w: Vector, rates: Array) -> None:
    """``1/2 q * w`` of the quaternion that begins at ``o``, ``w`` in the body's axes."""
    half = scale(0.5, w)
    a = (q[o], q[o + 1], q[o + 2])
    x = add(scale(q[o + 3], half), cross(a, half))
    for j in range(3):
        rates[o + j] = x[j]
    rates[o + 3] = -dot(a, half)


@kernel
def angular_velocity_of_rates(q: Array, o: int, rates: Array) -> tuple[Scalar, Scalar, Scalar]:
    """``2 q^-1 * rates`` of the quaternion that begins at ``o``."""
    a = (q[o], q[o + 1], q[o + 2])
    u = q[o + 3]
    x = (rates[o], rates[o + 1], rates[o + 2])
    scaled = 2.0 / (dot(a, a) + u * u)
    return scale(scaled, sub(sub(scale(u, x), scale(rates[o + 3], a)), cross(a, x)))


@kernel
def coordinate_rates(tree: Array, q: Array, v: Array, rates: Array) -> None:
    """``dq/dt`` of the coordinates ``q`` at joint velocities ``v``."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            quaternion_rates(q, o, (v[k], v[k + 1], v[k + 2]), rates)
        elif kind == FREE:
            moving = rotate(q, o + 3, (v[k], v[k + 1], v[k + 2]))
            for j in range(3):
                rates[o + j] = moving[j]
            quaternion_rates(q, o + 3, (v[k + 3], v[k + 4], v[k + 5]), rates)
        elif kind == PLANAR:
            length = 1.0 / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
            rates[o] = length * (q[o + 2] * v[k] - q[o + 3] * v[k + 1])
            rates[o + 1] = length * (q[o + 3] * v[k] + q[o + 2] * v[k + 1])
            rates[o + 2] = -(q[o + 3] * v[k + 2])
            rates[o + 3] = q[o + 2] * v[k + 2]
        else:
            for j in range(dof_of(kind)):
                rates[o + j] = v[k + j]


@kernel
def velocities_of_rates(tree: Array, q: Array, rates: Array, v: Array) -> None:
    """Joint velocities ``v`` of rates of coordinates: the inverse of `coordinate_rates`; lengths may change."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            turning = angular_velocity_of_rates(q, o, rates)
            for j in range(3):
                v[k + j] = turning[j]
        elif kind == FREE:
            moving = rotate_back(q, o + 3, (rates[o], rates[o + 1], rates[o + 2]))
            turning = angular_velocity_of_rates(q, o + 3, rates)
            for j in range(3):
                v[k + j] = moving[j]
                v[k + 3 + j] = turning[j]
        elif kind == PLANAR:
            squared = q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3]
            length = 1.0 / sqrt(squared)
            v[k] = length * (q[o + 2] * rates[o] + q[o + 3] * rates[o + 1])
            v[k + 1] = length * (q[o + 2] * rates[o + 1] - q[o + 3] * rates[o])
            v[k + 2] = (q[o + 2] * rates[o + 3] - q[o + 3] * rates[o + 2]) / squared
        else:
            for j in range(dof_of(kind)):
                v[k + j] = rates[o + j]


@kernel
def coordinate_gradients(tree: Array, q: Array, y: Array, g: Array) -> None:
    """``g = V' y``: columns of ``T`` are orthogonal, and ``V'`` has them over the squares of their lengths."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            quaternion_rates(q, o, scale(4.0 / squared_length(q, o), (y[k], y[k + 1], y[k + 2])), g)
        elif kind == FREE:
            moving = rotate(q, o + 3, (y[k], y[k + 1], y[k + 2]))
            for j in range(3):
                g[o + j] = moving[j]
            turning = scale(4.0 / squared_length(q, o + 3), (y[k + 3], y[k + 4], y[k + 5]))
            quaternion_rates(q, o + 3, turning, g)
        elif kind == PLANAR:
            squared = q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3]
            length = 1.0 / sqrt(squared)
            g[o] = length * (q[o + 2] * y[k] - q[o + 3] * y[k + 1])
            g[o + 1] = length * (q[o + 3] * y[k] + q[o + 2] * y[k + 1])
            turn = y[k + 2] / squared
            g[o + 2] = -(q[o + 3] * turn)
            g[o + 3] = q[o + 2] * turn
        else:
            for j in range(dof_of(kind)):
                g[o + j] = y[k + j]


@kernel
def tangent_gradients(tree: Array, q: Array, g: Array, y: Array) -> None:
    """``y = T' g``: ``V`` without the squares of lengths that it divides by."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            turning = scale(0.25 * squared_length(q, o), angular_velocity_of_rates(q, o, g))
            for j in range(3):
                y[k + j] = turning[j]
        elif kind == FREE:
            moving = rotate_back(q, o + 3, (g[o], g[o + 1], g[o + 2]))
            turning = scale(0.25 * squared_length(q, o + 3), angular_velocity_of_rates(q, o + 3, g))
            for j in range(3):
                y[k + j] = moving[j]
                y[k + 3 + j] = turning[j]
        elif kind == PLANAR:
            length = 1.0 / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
            y[k] = length * (q[o + 2] * g[o] + q[o + 3] * g[o + 1])
            y[k + 1] = length * (q[o + 2] * g[o + 1] - q[o + 3] * g[o])
            y[k + 2] = q[o + 2] * g[o + 3] - q[o + 3] * g[o + 2]
        else:
            for j in range(dof_of(kind)):
                y[k + j] = g[o + j]


@kernel
def squared_length(q: Array, o: int) -> Scalar:
    """The squared length of the quaternion that begins at ``o``."""
    return q[o] * q[o] + q[o + 1] * q[o + 1] + q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3]


@kernel
def rotate_back(q: Array, o: int, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """``x`` rotated by the inverse of the quaternion that begins at ``o``."""
    a = (q[o], q[o + 1], q[o + 2])
    t = scale(2.0 / (dot(a, a) + q[o + 3] * q[o + 3]), cross(a, x))
    return add(x, sub(cross(a, t), scale(q[o + 3], t)))


@kernel
def evaluate_coordinate_rates(tree: Array, w: Array, q: Array, v: Array, rates: Array) -> None:
    """`coordinate_rates`."""
    coordinate_rates(tree, q, v, rates)


@kernel
def evaluate_velocities_of_rates(tree: Array, w: Array, q: Array, rates: Array, v: Array) -> None:
    """`velocities_of_rates`."""
    velocities_of_rates(tree, q, rates, v)


@kernel
def evaluate_coordinate_gradients(tree: Array, w: Array, q: Array, y: Array, g: Array) -> None:
    """`coordinate_gradients`."""
    coordinate_gradients(tree, q, y, g)


@kernel
def evaluate_tangent_gradients(tree: Array, w: Array, q: Array, g: Array, y: Array) -> None:
    """`tangent_gradients`."""
    tangent_gradients(tree, q, g, y)


COORDINATE_RATES = Algorithm(
    "coordinate_rates", evaluate_coordinate_rates, {"q": ("nq",), "v": ("nv",)}, {"rates": ("nq",)}, {}
)
VELOCITIES_OF_RATES = Algorithm(
    "velocities_of_rates", evaluate_velocities_of_rates, {"q": ("nq",), "rates": ("nq",)}, {"v": ("nv",)}, {}
)
COORDINATE_GRADIENTS = Algorithm(
    "coordinate_gradients", evaluate_coordinate_gradients, {"q": ("nq",), "y": ("nv",)}, {"g": ("nq",)}, {}
)
TANGENT_GRADIENTS = Algorithm(
    "tangent_gradients", evaluate_tangent_gradients, {"q": ("nq",), "g": ("nq",)}, {"y": ("nv",)}, {}
)
