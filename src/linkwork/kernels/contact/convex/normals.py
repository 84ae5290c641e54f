# SPDX-License-Identifier: BSD-3-Clause
"""The normal of two convex cores to rounding error, from a simplex that is near it.

Along any unit vector n the cores are at least ``f(n) = min n . w``, w in D, apart, and their distance, or less their
depth, is the largest of these. So guesses are compared by f alone, and no wrong one does harm. They come from what the
simplex is made of:

| first core  | second core | normal                                                                     |
|-------------|-------------|----------------------------------------------------------------------------|
| a face      | anything    | the face's (and so for the second)                                         |
| an edge     | an edge     | across both                                                                |
| an edge     | a point     | Newton's method for f on the circle across the edge                        |
| a point     | a point     | Newton's method for f on the sphere                                        |

The side of a cylinder is an edge along its axis, its ends are faces; rims and ellipsoids are points with a support that
bends.
f has the gradient ``g = y - x`` of the two supports, and with H the sum of the Hessians of the support functions the
step of Newton's method in the tangent plane is ``(H + f) step = g``.

Cost: two supports a guess, and four times as much an iteration of Newton's method.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.contact.convex.support import Pair, is_smooth, set_difference
from linkwork.kernels.contact.shapes.frames import tangents, unit_or
from linkwork.kernels.elementary import magnitude, minimum, sign_or_one
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below, sqrt
from linkwork.kernels.spatial import Triple, add, column, cross, dot, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import CONVERGED_NORMAL, NEWTON_REGIME, PARALLEL_FEATURES, ROUNDED_LENGTH, ZERO_SQUARE
from linkwork.plans.cores import CYLINDER_CORE, ELLIPSOID_CORE

NEWTON_STEPS = 12
"""Most iterations for a normal."""

LONGEST_STEP = 0.5
"""The longest step of a normal, in radians."""

NEAR_AXIS = 0.6
"""The ends of a cylinder are tried as faces where the cosine of the normal and its axis is larger; its side as an edge
where the cosine is less than one half of this."""

POINT, EDGE, FACE = range(3)


class Normal(NamedTuple):
    """A unit vector from the first core to the second, and how far they are apart along it."""

    n: Triple
    f: Scalar


class Feature(NamedTuple):
    """The feature of a core in a simplex: a point, an edge with its direction, or a face with its normal."""

    kind: int
    d: Triple


@kernel
def better(tree: Array, w: Array, pair: Pair, best: Normal, n: Vector) -> Normal:
    """The better of two directions; the second is turned to the side of the first."""
    n = scale(sign_or_one(dot(n, best.n)), n)
    f = set_difference(tree, w, pair, n, 4)
    if some_below(best.f, f):
        return Normal((n[0], n[1], n[2]), f)
    return best


@kernel
def refined(tree: Array, w: Array, pair: Pair, count: int, n: Vector, size: Scalar) -> Normal:
    """The best direction that the simplex and ``n`` lead to."""
    best = Normal((n[0], n[1], n[2]), set_difference(tree, w, pair, n, 4))
    a = feature(w.simplex_x, w.simplex_i, count)
    b = feature(w.simplex_y, w.simplex_j, count)
    if pair.core == CYLINDER_CORE:
        a, best = cylinder_feature(tree, w, pair, (0.0, 0.0, 1.0), best)
    if pair.other == CYLINDER_CORE:
        b, best = cylinder_feature(tree, w, pair, column(w.pose_C, 2), best)
    if a.kind == FACE:
        best = better(tree, w, pair, best, a.d)
    if b.kind == FACE:
        best = better(tree, w, pair, best, b.d)
    if a.kind == EDGE and b.kind == EDGE:
        across, sine = unit_or(cross(a.d, b.d), best.n)
        if some_below(PARALLEL_FEATURES, sine):
            best = better(tree, w, pair, best, across)
    if is_smooth(pair.core) + is_smooth(pair.other) == 0:
        # rounding turns the way from a corner to an edge that it all but touches
        if a.kind == EDGE and b.kind == POINT:
            best = newton_on_circle(tree, w, pair, best, a.d, size)
        if a.kind == POINT and b.kind == EDGE:
            best = newton_on_circle(tree, w, pair, best, b.d, size)
    else:
        before = best
        if a.kind == EDGE:
            best = newton_on_circle(tree, w, pair, best, a.d, size)
        if b.kind == EDGE:
            best = newton_on_circle(tree, w, pair, best, b.d, size)
        best = newton_on_sphere(tree, w, pair, best, size)
        if a.kind == FACE:
            best = around_face(tree, w, pair, w.simplex_x, before, best, size)
        if b.kind == FACE:
            best = around_face(tree, w, pair, w.simplex_y, before, best, size)
    return best


@kernel
def around_face(tree: Array, w: Array, pair: Pair, x: Array, start: Normal, best: Normal, size: Scalar) -> Normal:
    """The better of a normal and those across edges of a triangle, which a simplex may have in place of an edge."""
    for k in range(3):
        e, length = unit_or(sub(x[(k + 1) % 3], x[k]), (0.0, 0.0, 1.0))
        if some_below(ROUNDED_LENGTH * w.grain[0] * size, length):
            other = newton_on_circle(tree, w, pair, start, e, size)
            if some_below(best.f, other.f):
                best = newton_on_sphere(tree, w, pair, other, size)
    return best


@kernel
def feature(x: Array, numbers: Array, count: int) -> Feature:
    """The feature of a core that points of a simplex span, by the numbers of corners."""
    if numbers[0] < 0 or count < 2:
        return Feature(POINT, (0.0, 0.0, 1.0))
    second = 0
    third = 0
    for k in range(1, 3):
        if k < count and numbers[k] != numbers[0]:
            if second == 0:
                second = k
            elif numbers[k] != numbers[second]:
                third = k
    if second == 0:
        return Feature(POINT, (0.0, 0.0, 1.0))
    e = sub(x[second], x[0])
    length = sqrt(dot(e, e))
    if third > 0:
        d = sub(x[third], x[0])
        m = cross(e, d)
        area = sqrt(dot(m, m))
        if some_below(PARALLEL_FEATURES * length * sqrt(dot(d, d)), area):
            return Feature(FACE, scale(1.0 / area, m))
    return Feature(EDGE, scale(1.0 / length, e))


@kernel
def cylinder_feature(tree: Array, w: Array, pair: Pair, axis: Vector, best: Normal) -> tuple[Feature, Normal]:
    """An end or the side of a cylinder where the normal is near it, and the better of the normal and that of an end."""
    along = magnitude(dot(best.n, axis))
    if some_below(NEAR_AXIS, along):
        best = better(tree, w, pair, best, axis)
    if some_below(along, 0.5 * NEAR_AXIS):
        return Feature(EDGE, (axis[0], axis[1], axis[2])), best
    return Feature(POINT, (axis[0], axis[1], axis[2])), best


# Newton's method ------------------------------------------------------------------------------------------


@kernel
def newton_on_sphere(tree: Array, w: Array, pair: Pair, best: Normal, size: Scalar) -> Normal:
    """Newton's method for the largest f, from a direction."""
    step = 1.0
    for _ in range(NEWTON_STEPS):
        if some_below(step, CONVERGED_NORMAL):
            return best
        f = set_difference(tree, w, pair, best.n, 4)
        g = w.simplex_w[4]
        p, q = tangents(best.n)
        gp = dot(g, p)
        gq = dot(g, q)
        a = bending(tree, w, pair, best.n, p, p) + f
        b = bending(tree, w, pair, best.n, p, q)
        c = bending(tree, w, pair, best.n, q, q) + f
        det = a * c - b * b
        if not some_below(0.0, minimum(a, det)):
            return best
        x = (c * gp - b * gq) / det
        y = (a * gq - b * gp) / det
        best, step = moved(tree, w, pair, best, add(scale(x, p), scale(y, q)), size)
    return best


@kernel
def newton_on_circle(tree: Array, w: Array, pair: Pair, best: Normal, e: Vector, size: Scalar) -> Normal:
    """The normal across an edge ``e``, a unit vector, by Newton's method; the better of its result and its start."""
    n, length = unit_or(sub(best.n, scale(dot(best.n, e), e)), best.n)
    if some_below(length, PARALLEL_FEATURES):
        return best
    normal = Normal((n[0], n[1], n[2]), set_difference(tree, w, pair, n, 4))
    step = 1.0
    for _ in range(NEWTON_STEPS):
        if not some_below(step, CONVERGED_NORMAL):
            f = set_difference(tree, w, pair, normal.n, 4)
            p = cross(e, normal.n)
            a = bending(tree, w, pair, normal.n, p, p) + f
            if some_below(0.0, a):
                normal, step = moved(tree, w, pair, normal, scale(dot(w.simplex_w[4], p) / a, p), size)
            else:
                step = 0.0
    if some_below(best.f, normal.f):
        return normal
    return best


@kernel
def moved(tree: Array, w: Array, pair: Pair, best: Normal, step: Vector, size: Scalar) -> tuple[Normal, Scalar]:
    """The direction after a step that makes f larger, or a part of it, and the length of the step; 0 if none does."""
    length = sqrt(dot(step, step)) + ZERO_SQUARE
    k = minimum(1.0, LONGEST_STEP / length)
    for _ in range(5):
        n = unit_or(add(best.n, scale(k, step)), best.n)[0]
        f = set_difference(tree, w, pair, n, 4)
        # rounding hides what the last steps gain
        slack = ROUNDED_LENGTH * w.grain[0] * size if some_below(k * length, NEWTON_REGIME) else 0.0
        if some_below(best.f - slack, f):
            return Normal(n, f), k * length
        k *= 0.25
    return best, 0.0


@kernel
def bending(tree: Array, w: Array, pair: Pair, n: Vector, p: Vector, q: Vector) -> Scalar:
    """``p H q`` with the Hessian of the support functions of both cores."""
    total = bending_of(tree, pair.first, pair.core, n, p, q)
    C = w.pose_C
    if is_smooth(pair.other) == 1:
        total += bending_of(
            tree, pair.second, pair.other, rotate_inverse(C, n), rotate_inverse(C, p), rotate_inverse(C, q)
        )
    return total


@kernel
def bending_of(tree: Array, s: int, core: int, n: Vector, p: Vector, q: Vector) -> Scalar:
    """``p H q`` of one core: of a rim, ``r / |n_xy|`` along it; of an ellipsoid, h its support function ``|A n|``."""
    if core == CYLINDER_CORE:
        square = n[0] * n[0] + n[1] * n[1] + ZERO_SQUARE
        along = (n[0] * p[1] - n[1] * p[0]) * (n[0] * q[1] - n[1] * q[0])
        return tree.shape_size[s, 0] * along / (square * sqrt(square))
    elif core == ELLIPSOID_CORE:
        a = tree.shape_size[s]
        an = (a[0] * n[0], a[1] * n[1], a[2] * n[2])
        ap = (a[0] * p[0], a[1] * p[1], a[2] * p[2])
        aq = (a[0] * q[0], a[1] * q[1], a[2] * q[2])
        h = sqrt(dot(an, an))
        return (dot(ap, aq) - dot(ap, an) * dot(aq, an) / (h * h)) / h
    return 0.0
