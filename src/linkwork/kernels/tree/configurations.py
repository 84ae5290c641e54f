# SPDX-License-Identifier: BSD-3-Clause
"""Configurations as points of a manifold: integration, difference, interpolation, distance.

Lynch and Park, Modern Robotics, Section 3.2.3 and 3.3.3: matrix logarithms of rotations and of rigid motions; here of
unit quaternions. `difference` is the inverse of `integration.integrate`, along the shorter rotation.

| symbol  | meaning                                                                                     |
|---------|---------------------------------------------------------------------------------------------|
| q, p    | configurations; ``o`` is where a joint's coordinates begin, ``k`` where its velocities do      |
| x, c    | quaternion of the rotation between: ``x = n sin(t / 2)``, ``c = cos(t / 2) >= 0``               |
| s       | square of a sine, so that series have no square root at zero                                 |
| w       | rotation vector: axis times angle, in the body's axes                                        |

Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.elementary import magnitude
from linkwork.kernels.integration import SMALL, integrate, sinc
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, cross, dot, scale
from linkwork.model.joints import FREE, PLANAR, SPHERICAL

HALF_PI, QUARTER_PI = 1.5707963267948966, 0.7853981633974483
NEAR = 0.3
"""Squares of sines below it need no reduction: the tangent is below 0.66, where the rational function is accurate."""
STEEP = 0.3826834323650898
"""Cosine of 3/8 pi: below it, the complement of the angle to a right one is computed."""
NUMERATOR = (
    -6.485021904942025371773e1,
    -1.228866684490136173410e2,
    -7.500855792314704667340e1,
    -1.615753718733365076637e1,
    -8.750608600031904122785e-1,
)
DENOMINATOR = (
    1.945506571482613964425e2,
    4.853903996359136964868e2,
    4.328810604912902668951e2,
    1.650270098316988542046e2,
    2.485846490142306297962e1,
    1.0,
)
"""``atan(y) = y + y z N(z) / D(z)``, ``z = y²``: Moshier, Methods and programs for mathematical functions (Cephes)."""


@kernel
def polynomial(coefficients: tuple[float, ...], z: Scalar) -> Scalar:
    """``c0 + z (c1 + z (c2 + ...))``."""
    y = coefficients[len(coefficients) - 1]
    for k in range(len(coefficients) - 2, -1, -1):
        y = y * z + coefficients[k]
    return y


@kernel
def arc_over_sine(s: Scalar, c: Scalar) -> Scalar:
    """``t / sin t`` of an angle of at most a right one, from ``s = sin² t`` and ``c = cos t``."""
    sine = sqrt(where(s, NEAR, 1.0, s))
    cosine = where(s, NEAR, c, 1.0)
    # t = pi/2 - atan(c / sin t), or pi/4 + atan((sin t - c) / (sin t + c)): the argument is below 0.42
    y = where(c, STEEP, -c, sine - c) / where(c, STEEP, sine, sine + c)
    z = where(s, NEAR, s / (cosine * cosine), y * y)
    rest = z * polynomial(NUMERATOR, z) / polynomial(DENOMINATOR, z)
    angle = where(c, STEEP, HALF_PI, QUARTER_PI) + (y + y * rest)
    return where(s, NEAR, (1.0 + rest) / cosine, angle / sine)


@kernel
def relative_quaternion(q: Array, p: Array, o: int) -> tuple[Triple, Scalar]:
    """``q^-1 p`` of the quaternions that begin at ``o``, of unit length, with a scalar part that is not negative."""
    a = (q[o], q[o + 1], q[o + 2])
    b = (p[o], p[o + 1], p[o + 2])
    x = add(add(scale(q[o + 3], b), scale(-p[o + 3], a)), cross(b, a))
    c = q[o + 3] * p[o + 3] + dot(a, b)
    squares = (dot(a, a) + q[o + 3] * q[o + 3]) * (dot(b, b) + p[o + 3] * p[o + 3])
    length = where(c, 0.0, -1.0, 1.0) / sqrt(squares)
    return scale(length, x), length * c


@kernel
def rotation_vector(x: Vector, c: Scalar) -> Triple:
    """``w`` of a quaternion of unit length with ``c >= 0``."""
    return scale(2.0 * arc_over_sine(dot(x, x), c), x)


@kernel
def cotangent_remainder(s: Scalar, h: Scalar) -> Scalar:
    """``(1 - h) / t²`` with ``h = t/2 cot(t/2)``, from ``s = t²``."""
    series = 1.0 / 12.0 + s * (1.0 / 720.0 + s * (1.0 / 30240.0 + s * (1.0 / 1209600.0 + s / 47900160.0)))
    return where(s, SMALL, series, (1.0 - h) / where(s, SMALL, 1.0, s))


@kernel
def rotate_inverse_by_quaternion(q: Array, o: int, x: Vector) -> Triple:
    """``x`` rotated by the inverse of the quaternion that begins at ``o``."""
    a = (q[o], q[o + 1], q[o + 2])
    k = 2.0 / (dot(a, a) + q[o + 3] * q[o + 3])
    t = scale(k, cross(x, a))
    return add(x, add(scale(q[o + 3], t), cross(t, a)))


@kernel
def free_difference(q: Array, p: Array, o: int, k: int, v: Array) -> None:
    """``log(q^-1 p)`` of SE(3): ``u - w x u / 2 + (1 - t/2 cot(t/2)) / t² w x (w x u)``."""
    x, c = relative_quaternion(q, p, o + 3)
    arc = arc_over_sine(dot(x, x), c)
    w = scale(2.0 * arc, x)
    u = rotate_inverse_by_quaternion(q, o + 3, (p[o] - q[o], p[o + 1] - q[o + 1], p[o + 2] - q[o + 2]))
    wu = cross(w, u)
    rest = cotangent_remainder(dot(w, w), arc * c)
    moved = add(u, add(scale(-0.5, wu), scale(rest, cross(w, wu))))
    for j in range(3):
        v[k + j] = moved[j]
        v[k + 3 + j] = w[j]


@kernel
def planar_difference(q: Array, p: Array, o: int, k: int, v: Array) -> None:
    """``log(q^-1 p)`` of SE(2)."""
    a = q[o + 2]
    b = q[o + 3]
    inverse = 1.0 / sqrt(a * a + b * b)
    length = inverse / sqrt(p[o + 2] * p[o + 2] + p[o + 3] * p[o + 3])
    c = length * (a * p[o + 2] + b * p[o + 3])
    s = length * (a * p[o + 3] - b * p[o + 2])
    arc = s * arc_over_sine(s * s, magnitude(c))
    straight = where(s, 0.0, -2.0 * HALF_PI, 2.0 * HALF_PI)
    angle = where(c, 0.0, straight - arc, arc)
    half, cosine = sinc(0.25 * angle * angle)
    h = cosine / half
    x = inverse * (a * (p[o] - q[o]) + b * (p[o + 1] - q[o + 1]))
    y = inverse * (a * (p[o + 1] - q[o + 1]) - b * (p[o] - q[o]))
    v[k] = h * x + 0.5 * angle * y
    v[k + 1] = h * y - 0.5 * angle * x
    v[k + 2] = angle


@kernel
def difference(tree: Array, q: Array, p: Array, v: Array) -> None:
    """``v``: the joint velocities that lead from ``q`` to ``p`` in one second."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            x, c = relative_quaternion(q, p, o)
            w = rotation_vector(x, c)
            for j in range(3):
                v[k + j] = w[j]
        elif kind == FREE:
            free_difference(q, p, o, k, v)
        elif kind == PLANAR:
            planar_difference(q, p, o, k, v)
        else:
            for j in range(dof_of(kind)):
                v[k + j] = p[o + j] - q[o + j]


@kernel
def integrate_for_one_second(tree: Array, w: Array, q: Array, v: Array, q1: Array) -> None:
    """``q1``: ``q`` moved along ``v``."""
    integrate(tree, q, v, 1.0, q1)


@kernel
def configuration_difference(tree: Array, w: Array, q: Array, p: Array, v: Array) -> None:
    """`difference`, as an algorithm."""
    difference(tree, q, p, v)


@kernel
def interpolate(tree: Array, w: Array, q: Array, p: Array, part: Array, q1: Array) -> None:
    """``q1``: interpolation from ``q`` (``part`` = 0) to ``p`` (1) at constant velocity."""
    difference(tree, q, p, w.x)
    integrate(tree, q, w.x, part[0], q1)


@kernel
def distance(tree: Array, w: Array, q: Array, p: Array, d: Array) -> None:
    """``d``: the length of the `difference`."""
    difference(tree, q, p, w.x)
    squares = 0.0
    for k in range(tree.nv):
        squares = squares + w.x[k] * w.x[k]
    d[0] = sqrt(squares)


_TWO: dict[str, Shape] = {"q": ("nq",), "p": ("nq",)}
_STEP: dict[str, Shape] = {"x": ("nv",)}

INTEGRATE = Algorithm("integrate", integrate_for_one_second, {"q": ("nq",), "v": ("nv",)}, {"q1": ("nq",)}, {})
DIFFERENCE = Algorithm("difference", configuration_difference, _TWO, {"v": ("nv",)}, {})
INTERPOLATE = Algorithm("interpolate", interpolate, {**_TWO, "part": (1,)}, {"q1": ("nq",)}, _STEP)
DISTANCE = Algorithm("distance", distance, _TWO, {"distance": (1,)}, _STEP)
