# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of two convex shapes.

First the distance of cores (`gjk`), where they overlap their depth (`epa`), the normal to rounding error (`normals`),
then contact points of faces along it (`faces`, `choice`). Each decides by numbers of the state, so that this is native
code; in lanes it runs for one state after the other (`each_lane`).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.convex.choice import (
    CHOICE_WORK,
    MOST_CHOSEN,
    consider,
    finish_choice,
    start_choice,
)
from linkwork.kernels.contact.convex.coherence import (
    COHERENCE_INTEGERS,
    POLYTOPE,
    grown_polytope,
    keep_start,
    start_simplex,
)
from linkwork.kernels.contact.convex.epa import EPA_INTEGERS, EPA_WORK, penetration
from linkwork.kernels.contact.convex.faces import FACE_INTEGERS, FACE_WORK, in_first, shared_corners
from linkwork.kernels.contact.convex.gjk import OVERLAP, gjk
from linkwork.kernels.contact.convex.normals import Normal, refined
from linkwork.kernels.contact.convex.support import (
    SUPPORT_INTEGERS,
    SUPPORT_WORK,
    Pair,
    core_radius,
    grain,
    is_smooth,
    set_pose,
    support,
    weighted,
)
from linkwork.kernels.contact.shapes.frames import select, set_contact, size_of_box, tangents, unit_or
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below, sqrt, where
from linkwork.kernels.spatial import Triple, add, dot, rotate, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import CLEARLY_APART, EDGE_ON, NO_CONTACT, SIDE_ON, ZERO_WEIGHT
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.cores import CYLINDER_CORE, ELLIPSOID_CORE, POINT_CORE

SMALLER = 1.0001
"""Ratio of squared extents above which the other polygon counts as the smaller one."""

CONVEX_WORK: dict[str, Shape] = SUPPORT_WORK | EPA_WORK | FACE_WORK | CHOICE_WORK | {"within": (1,)}
CONVEX_INTEGERS: dict[str, Shape] = SUPPORT_INTEGERS | EPA_INTEGERS | FACE_INTEGERS | COHERENCE_INTEGERS


@kernel
def convex_convex(tree: Array, w: Array, first: int, second: int, c: int) -> None:
    """The contact points of pair ``c``, of two convex shapes; for one state."""
    pair = Pair(first, second, tree.shape_core[first], tree.shape_core[second])
    slot = tree.contact_slot[c]
    slots = tree.contact_slots[c]
    way = -1.0 if tree.contact_reversed[c] == 1 else 1.0
    set_pose(w, first, second)
    w.hint[0] = 0
    w.hint[1] = 0
    size = size_of_box(tree.shape_size[first]) + size_of_box(tree.shape_size[second])
    w.grain[0] = grain(size)
    center = unit_or(w.pose_t, (0.0, 0.0, 1.0))[0]
    a = core_radius(tree, first, pair.core)
    b = core_radius(tree, second, pair.other)
    start_choice(w)
    normal, count = core_normal(tree, w, pair, center, size, w.within[0] + a + b)
    n = normal.n
    gap = normal.f - a - b
    if some_below(w.within[0], gap):
        write_slots(w, first, slot, slots, n, (0.0, 0.0, 0.0), way)
        return
    x = nearest_point(tree, w, pair, n, count, normal.f, a, b)
    if slots > 1 and one_point(pair) == 0:
        corners = shared_corners(tree, w, pair, n, EDGE_ON * w.grain[0] * size)
        if corners > 0:
            e = first_axis(w)
            for k in range(corners):
                at = w.candidate[k]
                # no point is nearer than the shapes are: rounding aside, at corners that margins let in
                consider(w, k, slots, e, (at[0], at[1]), maximum(at[3] - at[2], gap), 0.5 * (at[2] + at[3]), size)
    else:
        p, q = tangents(n)
        for k in range(3):
            w.axes_p[k] = p[k]
            w.axes_q[k] = q[k]
    finish_choice(w, slots, (dot(w.axes_p, x), dot(w.axes_q, x)), gap, dot(n, x), size)
    write_slots(w, first, slot, slots, n, x, way)


@kernel
def one_point(pair: Pair) -> int:
    """1 of pairs that have one contact point: of a sphere or an ellipsoid."""
    first = 1 if pair.core == POINT_CORE or pair.core == ELLIPSOID_CORE else 0
    second = 1 if pair.other == POINT_CORE or pair.other == ELLIPSOID_CORE else 0
    return 1 if first + second > 0 else 0


@kernel
def core_normal(tree: Array, w: Array, pair: Pair, center: Vector, size: Scalar, limit: Scalar) -> tuple[Normal, int]:
    """The normal of two cores with their distance along it, negative by how far they overlap, and the simplex.

    ``center`` is a direction from the first to the second. Cores that are farther apart than ``limit`` have no simplex.
    """
    overlap = grown_polytope(tree, w, pair, size)
    if some_below(overlap.f, UNBOUNDED):
        return overlap, 3
    count = gjk(tree, w, pair, center, size, limit, start_simplex(tree, w, pair, size))
    keep_start(w, pair, count if count < OVERLAP else POLYTOPE)
    if count == 0:
        return Normal((center[0], center[1], center[2]), UNBOUNDED), 0
    if count > OVERLAP:
        return penetration(tree, w, pair, count - OVERLAP, size, center), 3
    n, distance = unit_or(w.nearest, center)
    smooth = is_smooth(pair.core) + is_smooth(pair.other)
    if smooth == 0 and some_below(CLEARLY_APART * size, distance):
        return Normal((n[0], n[1], n[2]), distance), count
    return refined(tree, w, pair, count, n, size), count


@kernel
def nearest_point(tree: Array, w: Array, pair: Pair, n: Vector, count: int, f: Scalar, a: Scalar, b: Scalar) -> Triple:
    """Midway between the nearest points of two shapes, in axes of the first.

    It is that of a smooth core, or of a corner, where there is one; else that of the simplex.
    """
    if point_like(pair.core, n) == 1:
        own = support(tree, w, pair.first, pair.core, w.hint[0], n)
        return add((own.x, own.y, own.z), scale(0.5 * (f + a - b), n))
    turned = rotate_inverse(w.pose_C, n)
    if point_like(pair.other, turned) == 1:
        own = support(tree, w, pair.second, pair.other, w.hint[1], (-turned[0], -turned[1], -turned[2]))
        at = add(w.pose_t, rotate(w.pose_C, (own.x, own.y, own.z)))
        return add(at, scale(0.5 * (a - b - f), n))
    if is_corner(w.simplex_i, w.simplex_l, count) == 1:
        return add(w.simplex_x[0], scale(0.5 * (f + a - b), n))
    if is_corner(w.simplex_j, w.simplex_l, count) == 1:
        return add(w.simplex_y[0], scale(0.5 * (a - b - f), n))
    x = weighted(w.simplex_x, w.simplex_l, count)
    y = weighted(w.simplex_y, w.simplex_l, count)
    middle = scale(0.5, add(x, y))
    return add(middle, scale(0.5 * (a - b), n))


@kernel
def is_corner(numbers: Array, weights: Array, count: int) -> int:
    """1 where all points of a core in the simplex that have weight are its first, a corner."""
    for k in range(count):
        if numbers[k] < 0 or (numbers[k] != numbers[0] and some_below(ZERO_WEIGHT, weights[k])):
            return 0
    return 1


@kernel
def point_like(core: int, n: Vector) -> int:
    """1 where a core has one point along ``n``, in its own axes, and that is smooth."""
    if core == ELLIPSOID_CORE or core == POINT_CORE:
        return 1
    if core == CYLINDER_CORE:
        across = sqrt(n[0] * n[0] + n[1] * n[1])
        if some_below(across, SIDE_ON) or some_below(magnitude(n[2]), SIDE_ON):
            return 0
        return 1
    return 0


@kernel
def first_axis(w: Array) -> Triple:
    """The direction that those of slots are measured from: the first edge of the smaller polygon."""
    spread = (0.0, 0.0)
    smaller = 0
    for which in range(2):
        x = w.outline[which, 0]
        total = 0.0
        for k in range(1, w.outlines[which]):
            away = sub(w.outline[which, k], x)
            square = away[0] * away[0] + away[1] * away[1]
            total = square if some_below(total, square) else total
        spread = (total, spread[1]) if which == 0 else (spread[0], total)
    if some_below(spread[1] * SMALLER, spread[0]):
        smaller = 1
    e = sub(w.outline[smaller, 1], w.outline[smaller, 0])
    return unit_or((e[0], e[1], 0.0), (1.0, 0.0, 0.0))[0]


@kernel
def write_slots(w: Array, first: int, slot: int, slots: int, n: Vector, x: Vector, way: Scalar) -> None:
    """Write what was chosen to the slots of a pair; ``n`` and places are in axes of the first shape."""
    R = w.shape_R[first]
    out = scale(way, rotate(R, n))
    for k in range(slots):
        gap = NO_CONTACT
        at = (x[0], x[1], x[2])
        if k < MOST_CHOSEN:
            gap = where(w.chosen_k[k], 0.0, NO_CONTACT, w.chosen_x[k, 2])
            at = in_first(w, n, w.chosen_x[k, 0], w.chosen_x[k, 1], w.chosen_x[k, 3])
            at = select(w.chosen_k[k], 0.0, x, at)
        set_contact(w, slot + k, gap, add(w.shape_p[first], rotate(R, at)), out)
