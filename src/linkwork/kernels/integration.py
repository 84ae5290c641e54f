# SPDX-License-Identifier: BSD-3-Clause
"""Integration on the configuration space: exponential map, retraction, and the inverse of its derivative.

A configuration is a point of a product of Lie groups: numbers, directions (cos, sin) and unit quaternions.

| symbol    | meaning                                                                                     |
|-----------|---------------------------------------------------------------------------------------------|
| q, q1     | configuration before and after; ``o`` is where a joint's coordinates begin                    |
| v         | joint velocities; ``k`` is where a joint's begin                                              |
| w         | rotation vector: axis times angle, in the body's axes                                        |
| x         | coordinates of a configuration relative to another: translations, and rotation vectors       |
| s         | square of an angle, so that series and closed forms have no square root at zero               |

`integrate` is the exponential map of each joint's group (for free joints that of SE(3)). `retract` takes translations
and rotations apart; Runge-Kutta-Munthe-Kaas methods work in its coordinates, ``x' = dexp^-1(x) v``. Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, prange, sincos, sqrt, where
from linkwork.kernels.spatial import add, cross, scale
from linkwork.model.joints import FREE, PLANAR, SPHERICAL

SMALL = 1e-2
"""Below this, of the square of an angle, series are exact to rounding."""


# Rotations ----------------------------------------------------------------------------------------------------


@kernel
def sinc(s: Scalar) -> tuple[Scalar, Scalar]:
    """``sin t / t`` and ``cos t`` from ``s = t²``."""
    t = sqrt(where(s, SMALL, 1.0, s))
    sine, cosine = sincos(t)
    series = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)))
    series_cos = 1.0 - s / 2.0 * (1.0 - s / 12.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0))))
    return where(s, SMALL, series, sine / t), where(s, SMALL, series_cos, cosine)


@kernel
def sine_remainder(s: Scalar) -> Scalar:
    """``(t - sin t) / t³`` from ``s = t²``."""
    t = sqrt(where(s, SMALL, 1.0, s))
    sine, _ = sincos(t)
    series = 1.0 / 6.0 - s / 120.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0)))
    return where(s, SMALL, series, (t - sine) / (t * t * t))


@kernel
def integrate_quaternion(q: Array, o: int, w: Vector, q1: Array) -> None:
    """``q1 = q exp(w)`` of the quaternions that begin at ``o``, of unit length."""
    s = 0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    half, c = sinc(s)
    v = scale(0.5 * half, w)
    a = (q[o], q[o + 1], q[o + 2])
    u = q[o + 3]
    x = add(add(scale(c, a), scale(u, v)), cross(a, v))
    y = u * c - (a[0] * v[0] + a[1] * v[1] + a[2] * v[2])
    length = 1.0 / sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + y * y)
    q1[o] = x[0] * length
    q1[o + 1] = x[1] * length
    q1[o + 2] = x[2] * length
    q1[o + 3] = y * length


@kernel
def rotate(q: Array, o: int, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """``x`` rotated by the quaternion that begins at ``o``."""
    a = (q[o], q[o + 1], q[o + 2])
    k = 2.0 / (a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + q[o + 3] * q[o + 3])
    t = scale(k, cross(a, x))
    return add(x, add(scale(q[o + 3], t), cross(a, t)))


@kernel
def integrate_direction(q: Array, o: int, angle: Scalar, q1: Array) -> None:
    """The direction ``(cos, sin)`` that begins at ``o``, turned by an angle."""
    sine, cosine = sincos(angle)
    x = q[o] * cosine - q[o + 1] * sine
    y = q[o] * sine + q[o + 1] * cosine
    length = 1.0 / sqrt(x * x + y * y)
    q1[o] = x * length
    q1[o + 1] = y * length


# Configurations -------------------------------------------------------------------------------------------------


@kernel
def integrate(tree: Array, q: Array, v: Array, h: Scalar, q1: Array) -> None:
    """``q1``: the configuration after the time ``h`` at constant joint velocities (**loops** Eq. 55)."""
    for i in prange(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            integrate_quaternion(q, o, (h * v[k], h * v[k + 1], h * v[k + 2]), q1)
        elif kind == FREE:
            w = (h * v[k + 3], h * v[k + 4], h * v[k + 5])
            u = (h * v[k], h * v[k + 1], h * v[k + 2])
            s = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
            half, _ = sinc(0.25 * s)
            # exp of SE(3): u + (1 - cos t) / t² w×u + (t - sin t) / t³ w×(w×u)
            wu = cross(w, u)
            local = add(u, add(scale(0.5 * half * half, wu), scale(sine_remainder(s), cross(w, wu))))
            shift = rotate(q, o + 3, local)
            q1[o] = q[o] + shift[0]
            q1[o + 1] = q[o + 1] + shift[1]
            q1[o + 2] = q[o + 2] + shift[2]
            integrate_quaternion(q, o + 3, w, q1)
        elif kind == PLANAR:
            angle = h * v[k + 2]
            half, _ = sinc(0.25 * angle * angle)
            along, _ = sinc(angle * angle)
            across = 0.5 * angle * half * half
            x = h * (along * v[k] - across * v[k + 1])
            y = h * (across * v[k] + along * v[k + 1])
            length = 1.0 / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
            q1[o] = q[o] + length * (q[o + 2] * x - q[o + 3] * y)
            q1[o + 1] = q[o + 1] + length * (q[o + 3] * x + q[o + 2] * y)
            integrate_direction(q, o + 2, angle, q1)
        else:
            for j in range(dof_of(kind)):
                q1[o + j] = q[o + j] + h * v[k + j]


@kernel
def normalize_numbers(q: Array, o: int, count: int) -> None:
    """Scale the numbers from ``o`` on to unit length."""
    squares = 0.0
    for j in range(count):
        squares = squares + q[o + j] * q[o + j]
    length = sqrt(squares)
    for j in range(count):
        q[o + j] = q[o + j] / length


@kernel
def normalize(tree: Array, q: Array) -> None:
    """Quaternions and directions of ``q`` of unit length."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        if kind == SPHERICAL:
            normalize_numbers(q, o, 4)
        elif kind == FREE:
            normalize_numbers(q, o + 3, 4)
        elif kind == PLANAR:
            normalize_numbers(q, o + 2, 2)


@kernel
def retract(tree: Array, q: Array, x: Array, q1: Array) -> None:
    """``q1``: the configuration with coordinates ``x`` relative to ``q``."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            integrate_quaternion(q, o, (x[k], x[k + 1], x[k + 2]), q1)
        elif kind == FREE:
            for j in range(3):
                q1[o + j] = q[o + j] + x[k + j]
            integrate_quaternion(q, o + 3, (x[k + 3], x[k + 4], x[k + 5]), q1)
        elif kind == PLANAR:
            q1[o] = q[o] + x[k]
            q1[o + 1] = q[o + 1] + x[k + 1]
            integrate_direction(q, o + 2, x[k + 2], q1)
        else:
            for j in range(dof_of(kind)):
                q1[o + j] = q[o + j] + x[k + j]


@kernel
def displace(tree: Array, i: int, x: Array, q: Array) -> None:
    """Move joint ``i`` of ``q`` by a small ``x``, to first order, which suffices for corrections of Newton's method.

    A quaternion ``(x/2, 1)`` has the length ``sqrt(1 + s)``, ``s = |x/2|²``, of which three terms of the inverse are
    taken; `integrate` normalizes.
    """
    kind = tree.kind[i]
    o = tree.iq[i]
    k = tree.iv[i]
    if kind == SPHERICAL:
        turn_quaternion(q, o, (x[k], x[k + 1], x[k + 2]))
    elif kind == FREE:
        shift = rotate(q, o + 3, (x[k], x[k + 1], x[k + 2]))
        for j in range(3):
            q[o + j] += shift[j]
        turn_quaternion(q, o + 3, (x[k + 3], x[k + 4], x[k + 5]))
    elif kind == PLANAR:
        c = q[o + 2]
        s = q[o + 3]
        q[o] += c * x[k] - s * x[k + 1]
        q[o + 1] += s * x[k] + c * x[k + 1]
        length = inverse_length(x[k + 2] * x[k + 2])
        q[o + 2] = length * (c - s * x[k + 2])
        q[o + 3] = length * (s + c * x[k + 2])
    else:
        for j in range(dof_of(kind)):
            q[o + j] += x[k + j]


@kernel
def inverse_length(s: Scalar) -> Scalar:
    """``1 / sqrt(1 + s)`` for a small ``s``."""
    return 1.0 - s * (0.5 - 0.375 * s)


@kernel
def turn_quaternion(q: Array, o: int, x: Vector) -> None:
    """The quaternion that begins at ``o``, turned by a small rotation vector."""
    v = scale(0.5, x)
    a = (q[o], q[o + 1], q[o + 2])
    u = q[o + 3]
    length = inverse_length(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    turned = add(add(a, scale(u, v)), cross(a, v))
    for j in range(3):
        q[o + j] = length * turned[j]
    q[o + 3] = length * (u - (a[0] * v[0] + a[1] * v[1] + a[2] * v[2]))


@kernel
def dexp_inverse(x: Vector, w: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """``dexp^-1(x) w``: the rate of a rotation vector ``x`` at angular velocity ``w``, for angles below half a turn."""
    s = x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
    series = 1.0 / 12.0 + s * (1.0 / 720.0 + s * (1.0 / 30240.0 + s * (1.0 / 1209600.0 + s / 47900160.0)))
    xw = cross(x, w)
    return add(w, add(scale(0.5, xw), scale(series, cross(x, xw))))


@kernel
def chart_rate(tree: Array, q: Array, x: Array, v: Array, dx: Array) -> None:
    """``dx``: the rate of the coordinates ``x`` of the configuration ``q`` at joint velocities ``v``."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            turning = dexp_inverse((x[k], x[k + 1], x[k + 2]), (v[k], v[k + 1], v[k + 2]))
            for j in range(3):
                dx[k + j] = turning[j]
        elif kind == FREE:
            moving = rotate(q, o + 3, (v[k], v[k + 1], v[k + 2]))
            turning = dexp_inverse((x[k + 3], x[k + 4], x[k + 5]), (v[k + 3], v[k + 4], v[k + 5]))
            for j in range(3):
                dx[k + j] = moving[j]
                dx[k + 3 + j] = turning[j]
        elif kind == PLANAR:
            length = 1.0 / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
            dx[k] = length * (q[o + 2] * v[k] - q[o + 3] * v[k + 1])
            dx[k + 1] = length * (q[o + 3] * v[k] + q[o + 2] * v[k + 1])
            dx[k + 2] = v[k + 2]
        else:
            for j in range(dof_of(kind)):
                dx[k + j] = v[k + j]


# Velocities in the axes of the start -------------------------------------------------------------------------------


@kernel
def axes_accelerations(tree: Array, v: Array, a: Array) -> None:
    """Joint accelerations at which no body changes its velocity: ``-w x u`` of the linear velocities of free joints.

    These velocities are in rotating axes. An integrator that holds ``a`` constant over a step makes ``u`` longer by the
    square of the angle in each step; with ``a`` relative to this acceleration, in the axes at the start of the step, it
    does not.
    """
    for k in prange(tree.nv):
        a[k] = 0.0
    for i in prange(1, tree.n):
        kind = tree.kind[i]
        k = tree.iv[i]
        if kind == FREE:
            x = cross((v[k + 3], v[k + 4], v[k + 5]), (v[k], v[k + 1], v[k + 2]))
            for j in range(3):
                a[k + j] = -x[j]
        elif kind == PLANAR:
            a[k] = v[k + 2] * v[k + 1]
            a[k + 1] = -(v[k + 2] * v[k])


@kernel
def rotate_by_vector(w: Vector, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """``x`` rotated by the angle ``|w|`` about ``w``."""
    s = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    sine, _ = sinc(s)
    half, _ = sinc(0.25 * s)
    wx = cross(w, x)
    return add(x, add(scale(sine, wx), scale(0.5 * half * half, cross(w, wx))))


@kernel
def integrate_from_axes(tree: Array, q: Array, v: Array, h: Scalar, q1: Array) -> None:
    """``q1`` after the time ``h`` at velocities ``v`` in the axes of ``q``; then ``v`` is in the axes of ``q1``."""
    integrate(tree, q, v, h, q1)
    for i in prange(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == FREE:
            u = (v[k], v[k + 1], v[k + 2])
            shift = rotate(q, o + 3, u)
            new = rotate_by_vector((-(h * v[k + 3]), -(h * v[k + 4]), -(h * v[k + 5])), u)
            for j in range(3):
                q1[o + j] = q[o + j] + h * shift[j]
                v[k + j] = new[j]
        elif kind == PLANAR:
            sine, cosine = sincos(h * v[k + 2])
            x = v[k]
            y = v[k + 1]
            length = 1.0 / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
            q1[o] = q[o] + h * length * (q[o + 2] * x - q[o + 3] * y)
            q1[o + 1] = q[o + 1] + h * length * (q[o + 3] * x + q[o + 2] * y)
            v[k] = cosine * x + sine * y
            v[k + 1] = cosine * y - sine * x
