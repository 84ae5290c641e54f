# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of shapes by pairs of bodies, *groups*, and bounding spheres: of shapes, of bodies, of parts of large groups.

Large groups are divided: a static hierarchy of bounding spheres of the shapes of one body, the one that has more of
them (Quinlan, Efficient distance computation between non-convex objects, 1994), halved along the longest edge of the
box of their centers. Nodes are in the order of a traversal, each with the one to go on with where it is not near.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.contacts import ContactPairs
from linkwork.model.model import Model
from linkwork.model.shapes import Ground, HeightField, bounding_box, bounding_sphere
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contact_friction import shape_inflation
from linkwork.plans.layout import Integers, Shape

LEAF_PAIRS = 8
"""Pairs that are compared one by one; groups of more are divided."""

GROUP_SIZES = (
    "ngroups",  # pairs of bodies with pairs of shapes,
    "nwide",  # those of the world and of bodies without a bounding sphere
    "nnodes",  # parts of large groups, and pairs in them
    "nnode_pairs",
)
GROUP_INTEGERS: dict[str, Shape] = {
    "group_first": ("ngroups",),  # the bodies,
    "group_second": ("ngroups",),
    "body_group": ("n",),  # groups that a body is the first body of: the first, and how many
    "body_groups": ("n",),
    "body_swept": ("n",),  # 1 of bodies with a bounding sphere that are in a group with another of these
    "wide_group": ("nwide",),  # groups of the other bodies, and of the world
    "group_start": ("ngroups",),  # and their pairs of shapes in `group_contact`
    "group_count": ("ngroups",),
    "group_contact": ("ncontacts",),
    "group_slot": ("ncontacts",),  # number of the first slot of each of these in results
    "group_node": ("ngroups",),  # parts of a large group: the first, and how many
    "group_nodes": ("ngroups",),
    "node_next": ("nnodes",),  # the part to go on with where this one is not near
    "node_body": ("nnodes",),  # the body whose shapes it has
    "node_start": ("nnodes",),  # its pairs in `node_pair`, if it is not divided further; else none
    "node_count": ("nnodes",),
    "node_pair": ("nnode_pairs",),  # places in `group_contact`
    "shape_unbounded": ("nshapes",),  # 1 of planes and height fields
}
GROUP_FLOATS: dict[str, Shape] = {
    "body_center": ("n", 3),  # bounding sphere of all shapes of a body, in its frame
    "body_radius": ("n",),
    "shape_center": ("nshapes", 3),  # and of a shape, in its own frame
    "shape_radius": ("nshapes",),
    "box_center": ("nshapes", 3),  # bounding box of a shape, in its own frame
    "box_half": ("nshapes", 3),
    "shape_top": ("nshapes",),  # the largest height of an unbounded shape, along its z axis
    "node_center": ("nnodes", 3),  # bounding sphere of the shapes of a part, in the frame of `node_body`
    "node_radius": ("nnodes",),
}


def slot_order(first: Integers, second: Integers, slots: Integers) -> dict[str, Any]:
    """Pairs of shapes by pairs of bodies: the fields ``group_``, and ``listed_slot``.

    Args:
        first: The first body of each pair, ``(ncontacts,)``.
        second: The second.
        slots: Contact points of each pair.
    """
    order = np.lexsort((second, first))
    keys = np.stack([first[order], second[order]], axis=1)
    starts = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)]) if len(keys) else np.zeros(0, np.int64)
    counts = slots[order]
    begin, number = (np.cumsum(slots) - slots)[order], np.cumsum(counts) - counts
    within = np.arange(int(counts.sum())) - np.repeat(number, counts)
    return {
        "group_first": keys[starts, 0],
        "group_second": keys[starts, 1],
        "group_start": starts,
        "group_count": np.diff(np.r_[starts, len(keys)]),
        "group_contact": order,
        "group_slot": number,
        "listed_slot": np.repeat(begin, counts) + within,
    }


def enclosing_sphere(centers: Floats, radii: Floats) -> tuple[Floats, float]:
    """A sphere around spheres: about the middle of their box; unbounded where one of them is.

    Args:
        centers: Of the spheres, ``(n, 3)``.
        radii: Theirs, ``(n,)``.
    """
    if (radii >= UNBOUNDED).any():
        return np.zeros(3), UNBOUNDED
    middle = (np.min(centers - radii[:, None], axis=0) + np.max(centers + radii[:, None], axis=0)) / 2
    return middle, float(np.max(np.linalg.norm(centers - middle, axis=1) + radii))


def group_tables(
    model: Model, contacts: Mapping[str, Any], first: Integers, second: Integers, n: int
) -> dict[str, Any]:
    """Arrays of `GROUP_INTEGERS` and `GROUP_FLOATS`, for `Layout.build`.

    Args:
        model: The mechanism.
        contacts: Tables of its pairs (`plans.contacts.contact_tables`).
        first: The first body of each pair, ``(ncontacts,)``.
        second: The second.
        n: Number of bodies.
    """
    pairs = ContactPairs.of(model.contacts)
    of_shape = np.asarray(contacts["shape_body"], dtype=np.int64)
    groups = slot_order(first, second, np.asarray(contacts["contact_slots"], dtype=np.int64))
    groups.pop("listed_slot")
    count = np.bincount(groups["group_first"], minlength=n)
    spheres = [bounding_sphere(shape.solid) for shape in pairs.shapes]
    centers = np.reshape([center for center, _ in spheres], (-1, 3))
    inflation = shape_inflation(pairs)
    radii = np.array([min(radius, UNBOUNDED) for _, radius in spheres]) + inflation
    places = zip(contacts["shape_rotation"], contacts["shape_position"], centers, strict=True)
    at = np.array([rotation @ center + position for rotation, position, center in places]).reshape(-1, 3)
    center, radius = np.zeros((n, 3)), np.zeros(n)
    for own in _by_body(of_shape):
        body = int(of_shape[own[0]])
        center[body], radius[body] = enclosing_sphere(at[own], radii[own])
    bounded = (radius < UNBOUNDED) & (np.arange(n) > 0)
    of_bounded = bounded[groups["group_first"]] & bounded[groups["group_second"]]
    swept = np.zeros(n, dtype=np.int64)
    swept[groups["group_first"][of_bounded]] = swept[groups["group_second"][of_bounded]] = 1
    solids = [shape.solid for shape in pairs.shapes]
    boxes = [bounding_box(solid) for solid in solids]
    shapes = pairs.first.astype(np.int64), pairs.second.astype(np.int64)
    return {
        **groups,
        **_nodes(groups, shapes, of_shape, at, radii),
        "body_group": np.cumsum(count) - count,
        "body_groups": count,
        "body_swept": swept,
        "wide_group": np.flatnonzero(~of_bounded),
        "shape_center": centers,
        "shape_radius": radii,
        "box_center": np.reshape([center for center, _ in boxes], (-1, 3)),
        "box_half": np.reshape([half for _, half in boxes], (-1, 3)) + inflation[:, None],
        "shape_unbounded": [int(isinstance(solid, Ground | HeightField)) for solid in solids],
        "shape_top": [np.max(solid.heights) if isinstance(solid, HeightField) else 0.0 for solid in solids],
        "body_center": center,
        "body_radius": radius,
    }


def _by_body(of_shape: Integers) -> list[Integers]:
    """The shapes of each body that has any."""
    order = np.argsort(of_shape, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(of_shape[order])) + 1) if len(order) else []


def _nodes(
    groups: Mapping[str, Any], shapes: tuple[Integers, Integers], of_shape: Integers, at: Floats, radii: Floats
) -> dict[str, Any]:
    """The hierarchies of large groups; ``shapes``: the first and the second of all pairs."""
    after, body, start, count = (list[int]() for _ in range(4))
    spheres, pairs = list[tuple[Floats, float]](), list[int]()

    def divide(places: Integers, own: Integers) -> None:
        """Nodes of the pairs at these places of `group_contact`, of these shapes."""
        node, parts = len(after), _halves(own, at, radii) if len(own) > LEAF_PAIRS else []
        leaf = [] if parts else places.tolist()
        after.append(0)
        body.append(int(of_shape[own[0]]))
        start.append(len(pairs))
        count.append(len(leaf))
        spheres.append(enclosing_sphere(at[own], radii[own]))
        pairs.extend(leaf)
        for part in parts:
            divide(places[part], own[part])
        after[node] = len(after)

    first, number = (np.zeros(len(groups["group_start"]), dtype=np.int64) for _ in range(2))
    for g in np.flatnonzero(groups["group_count"] > LEAF_PAIRS).tolist():
        places = groups["group_start"][g] + np.arange(groups["group_count"][g])
        one, other = (side[groups["group_contact"][places]] for side in shapes)
        first[g] = len(after)
        divide(places, one if len(np.unique(one)) >= len(np.unique(other)) else other)
        number[g] = len(after) - first[g]
    return {
        "group_node": first,
        "group_nodes": number,
        "node_next": after,
        "node_body": body,
        "node_start": start,
        "node_count": count,
        "node_pair": pairs,
        "node_center": np.reshape([center for center, _ in spheres], (-1, 3)),
        "node_radius": [radius for _, radius in spheres],
    }


def _halves(own: Integers, at: Floats, radii: Floats) -> list[Integers]:
    """Places of pairs of these shapes in two parts: unbounded shapes and others, or halves along an axis; none where
    all are of one shape."""
    unbounded = radii[own] >= UNBOUNDED
    if unbounded.any() and not unbounded.all():
        return [np.flatnonzero(unbounded), np.flatnonzero(~unbounded)]
    order = np.argsort(at[own, int(np.argmax(np.ptp(at[own], axis=0)))], kind="stable")
    return [] if (own == own[0]).all() else [order[: len(own) // 2], order[len(own) // 2 :]]
