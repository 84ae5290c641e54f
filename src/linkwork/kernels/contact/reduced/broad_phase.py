# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs of shapes are near: bounding spheres of bodies, then of shapes, their boxes, and planes.

Pairs are near whose spheres are closer than their bodies can come to each other in a step. In lanes a pair is near
that is near in any of them.

| symbol               | meaning                                                                        |
|----------------------|--------------------------------------------------------------------------------|
| body_c, shape_c      | centers of bounding spheres in the world                                       |
| speed                | the most that a point of a body's sphere moves in a second                     |
| near, near_slot      | near pairs, and the numbers of their first slots in results                    |
| counts[NEAR]         | how many there are                                                             |

Cost: linear in pairs of bodies, and in pairs of shapes of bodies that are near.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.problem import NEAR
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, some_below, sqrt, where
from linkwork.kernels.spatial import add, column, dot, rotate, set_vector, sub
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contacts import GIVEN

BROAD_INTEGERS: dict[str, Shape] = {"near": ("ncontacts",), "near_slot": ("ncontacts",)}
BROAD_WORK: dict[str, Shape] = {
    "body_c": ("n", 3),
    "shape_c": ("nshapes", 3),
    "speed": ("n",),
}

MOTION = 2.0
"""Bodies approach each other by at most so many times what velocities before the step make: impacts change them."""


@kernel
def bounding_spheres(tree: Array, w: Array, h: Scalar, gravity: Scalar) -> None:
    """Centers of spheres in the world, how far bodies move; after `world_poses`, `poses_of_shapes`, `velocities`."""
    for i in range(tree.n):
        set_vector(add(w.body_o[i], rotate(w.body_E[i], tree.body_center[i])), w.body_c[i])
        w.speed[i] = 0.0
        if i > 0:
            w.speed[i] = sqrt(dot(w.u[i], w.u[i])) + gravity * h
    for i in range(1, tree.n):
        c = tree.body_center[i]
        lever = sqrt(dot(c, c)) + where_bounded(tree.body_radius[i])
        w.speed[i] += lever * sqrt(dot(w.omega[i], w.omega[i]))
    for s in range(tree.nshapes):
        set_vector(add(w.shape_p[s], rotate(w.shape_R[s], tree.shape_center[s])), w.shape_c[s])


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
def find_near_pairs(tree: Array, w: Array, h: Scalar) -> None:
    """``near``: pairs of shapes that can touch within the step ``h``, in the order of groups."""
    w.counts[NEAR] = 0
    for g in range(tree.ngroups):
        i = tree.group_first[g]
        j = tree.group_second[g]
        reach = tree.reach[0] + MOTION * h * (w.speed[i] + w.speed[j])
        r = tree.body_radius[i] + reach
        if some_below(gap_of_spheres(w.body_c[i], r, w.body_c[j], tree.body_radius[j]), 0.0):
            for k in range(tree.group_start[g], tree.group_start[g] + tree.group_count[g]):
                c = tree.group_contact[k]
                if some_below(pair_gap(tree, w, c, reach), 0.0):
                    w.near[w.counts[NEAR]] = c
                    w.near_slot[w.counts[NEAR]] = tree.group_slot[k]
                    w.counts[NEAR] += 1


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
        return height - tree.shape_top[a] - tree.shape_radius[b] - reach
    gap = gap_of_spheres(w.shape_c[a], tree.shape_radius[a] + reach, w.shape_c[b], tree.shape_radius[b])
    if some_below(gap, 0.0):
        gap = maximum(box_gap(tree, w, a, b), box_gap(tree, w, b, a)) - reach
    return gap


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
