# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of one pair of any kind, and of all pairs, as native code.

Work arrays are `PAIR_WORK`, with `shapes.geometry.CONTACT_WORK`, and lists of integers `PAIR_INTEGERS`; plans are made
with ``native=`` (`plans.contacts`).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.contact.convex.coherence import forget_start
from linkwork.kernels.contact.convex.fields import FIELD_INTEGERS, FIELD_WORK, field_ball, field_convex
from linkwork.kernels.contact.convex.pairs import CONVEX_INTEGERS, CONVEX_WORK, convex_convex
from linkwork.kernels.contact.convex.plane_hull import plane_hull
from linkwork.kernels.contact.shapes.geometry import (
    CONTACT_WORK,
    given_contacts,
    primitive_pair,
    shape_poses,
    subtract_margin,
)
from linkwork.kernels.scalar import Array, each_lane, kernel
from linkwork.kernels.tree.kinematics import POSE, WORLD_POSE, joint_transforms, world_transforms
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contacts import CONTACT_TREE, CONVEX_CONVEX, FIELD_CONVEX, FIELD_SPHERE, GIVEN, PLANE_HULL

PAIR_WORK: dict[str, Shape] = CONTACT_WORK | CONVEX_WORK | FIELD_WORK
"""``within``: convex shapes that are farther apart have no contact points, whose cost is then a few supports."""
PAIR_INTEGERS: dict[str, Shape] = CONVEX_INTEGERS | FIELD_INTEGERS


@kernel
def pair_geometry(tree: Array, w: Array, c: int) -> None:
    """Gap, point and frame of the slots of pair ``c``, unless its contact points are given; margins are left out."""
    kind = tree.contact_kind[c]
    if kind == CONVEX_CONVEX or kind == FIELD_CONVEX or kind == FIELD_SPHERE:
        forget_start(w)
        each_lane(native_pair, tree, w, c)
    elif kind == PLANE_HULL:
        turned = tree.contact_reversed[c]
        a = tree.contact_second[c] if turned == 1 else tree.contact_first[c]
        plane_hull(tree, w, a, tree.contact_first[c] + tree.contact_second[c] - a, c)
    else:
        primitive_pair(tree, w, c)


@kernel
def native_pair(tree: Array, w: Array, c: int) -> None:
    """The contact points of a pair whose kind branches by its state, for one state."""
    turned = tree.contact_reversed[c]
    a = tree.contact_second[c] if turned == 1 else tree.contact_first[c]
    b = tree.contact_first[c] if turned == 1 else tree.contact_second[c]
    kind = tree.contact_kind[c]
    if kind == CONVEX_CONVEX:
        convex_convex(tree, w, a, b, c)
    elif kind == FIELD_CONVEX:
        field_convex(tree, w, a, b, c)
    elif kind == FIELD_SPHERE:
        field_ball(tree, w, a, b, c)


@kernel
def native_contact_geometry(tree: Array, w: Array) -> None:
    """Gap, point and frame of the slots of every pair, unless its contact points are given."""
    for c in range(tree.ncontacts):
        pair_geometry(tree, w, c)
    for m in range(tree.nmargins):
        if tree.contact_kind[tree.margin_contact[m]] != GIVEN:
            subtract_margin(tree, w, m)


@kernel
def native_contact_points(
    tree: Array, w: Array, q: Array, given: Array, gaps: Array, points: Array, frames: Array
) -> None:
    """Gap, point and frame of every slot."""
    w.within[0] = UNBOUNDED
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    shape_poses(tree, w)
    native_contact_geometry(tree, w)
    given_contacts(tree, w, given)
    for s in range(tree.nslots):
        gaps[s] = w.gap[s]
        for j in range(3):
            points[s, j] = w.point[s, j]
            for k in range(3):
                frames[s, j, k] = w.contact_R[s, j, k]


NATIVE_CONTACT_POINTS = Algorithm(
    "native_contact_points",
    native_contact_points,
    {"q": ("nq",), "given": ("ngiven", 7)},
    {"gaps": ("nslots",), "points": ("nslots", 3), "frames": ("nslots", 3, 3)},
    POSE | WORLD_POSE | PAIR_WORK,
    CONTACT_TREE,
    integers=PAIR_INTEGERS,
)
