# SPDX-License-Identifier: BSD-3-Clause
"""Bounding volumes, spheres, boxes, and the range of planes and height fields: where they are, and their gaps."""

from __future__ import annotations

from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, prange, some_below, sqrt, where
from linkwork.kernels.spatial import add, column, dot, rotate, set_vector, sub
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contacts import GIVEN

MOTION = 2.0
"""Bodies come closer by at most so many times what their velocities before the step make: impacts change them."""


@kernel
def where_bounded(radius: Scalar) -> Scalar:
    """A radius, or nothing where there is none."""
    return where(radius, UNBOUNDED, radius, 0.0)


@kernel
def gap_of_spheres(a: Array, r: Scalar, b: Array, s: Scalar) -> Scalar:
    """Less than zero where two spheres overlap: the square of the distance less that of the radii."""
    d = sub(a, b)
    return dot(d, d) - (r + s) * (r + s)


@kernel
def pair_gap(tree: Array, w: Array, c: int, reach: Scalar) -> Scalar:
    """Less than zero where the shapes of a pair are near, by spheres, or by a plane or the range of a height field."""
    a = tree.contact_first[c]
    b = tree.contact_second[c]
    if tree.contact_reversed[c] == 1:
        a = tree.contact_second[c]
        b = tree.contact_first[c]
    if tree.contact_kind[c] == GIVEN:
        return -1.0
    if tree.shape_unbounded[a] != 0:
        height = dot(column(w.shape_R[a], 2), sub(w.shape_c[b], w.shape_p[a]))
        gap = height - tree.shape_top[a] - tree.shape_radius[b] - reach
        if some_below(gap, 0.0):
            gap = box_height(tree, w, a, b) - tree.shape_top[a] - reach
        return gap
    gap = gap_of_spheres(w.shape_c[a], tree.shape_radius[a] + reach, w.shape_c[b], tree.shape_radius[b])
    if some_below(gap, 0.0):
        gap = maximum(box_gap(tree, w, a, b), box_gap(tree, w, b, a)) - reach
    return gap


@kernel
def box_height(tree: Array, w: Array, a: int, b: int) -> Scalar:
    """The height of the bounding box of a shape above a plane."""
    out = column(w.shape_R[a], 2)
    x = dot(out, sub(add(w.shape_p[b], rotate(w.shape_R[b], tree.box_center[b])), w.shape_p[a]))
    for j in range(3):
        x = x - tree.box_half[b, j] * magnitude(dot(out, column(w.shape_R[b], j)))
    return x


@kernel
def box_gap(tree: Array, w: Array, a: int, b: int) -> Scalar:
    """The largest distance of the bounding boxes of two shapes along an axis of the first: they are apart by as much.

    Gottschalk, Lin and Manocha, OBBTree (1996), without the nine axes across two edges.
    """
    d = sub(
        add(w.shape_p[b], rotate(w.shape_R[b], tree.box_center[b])),
        add(w.shape_p[a], rotate(w.shape_R[a], tree.box_center[a])),
    )
    gap = -UNBOUNDED
    for i in range(3):
        axis = column(w.shape_R[a], i)
        x = magnitude(dot(axis, d)) - tree.box_half[a, i]
        for j in range(3):
            x = x - tree.box_half[b, j] * magnitude(dot(axis, column(w.shape_R[b], j)))
        gap = maximum(gap, x)
    return gap


@kernel
def bounding_spheres(tree: Array, w: Array, h: Scalar, gravity: Scalar) -> None:
    """Centers of spheres in the world, and how far bodies move; after poses and velocities of bodies and shapes."""
    for i in prange(tree.n):
        set_vector(add(w.body_o[i], rotate(w.body_E[i], tree.body_center[i])), w.body_c[i])
        w.speed[i] = 0.0
        if i > 0:
            w.speed[i] = sqrt(dot(w.u[i], w.u[i])) + gravity * h
    for i in prange(1, tree.n):
        c = tree.body_center[i]
        lever = sqrt(dot(c, c)) + where_bounded(tree.body_radius[i])
        w.speed[i] += lever * sqrt(dot(w.omega[i], w.omega[i]))
    for s in prange(tree.nshapes):
        set_vector(add(w.shape_p[s], rotate(w.shape_R[s], tree.shape_center[s])), w.shape_c[s])


@kernel
def approach(tree: Array, w: Array, i: int, j: int, h: Scalar) -> Scalar:
    """The distance by which two bodies may approach each other in the step ``h``."""
    return tree.reach[0] + MOTION * h * (w.speed[i] + w.speed[j])
