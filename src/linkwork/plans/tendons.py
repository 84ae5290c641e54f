# SPDX-License-Identifier: BSD-3-Clause
"""The plan of tendons: joints with coefficients, and straight segments between points of bodies.

A segment between two points of one body has a constant length, which is counted once (`tendon_constant`). The Jacobian
of a segment ends at the body that carries both of its ends, its root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.graphs import ancestors
from linkwork.model.model import Model
from linkwork.model.tendons import Tendon
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.bodies import BodyTable, size_of
from linkwork.plans.kernel_frames import rounded
from linkwork.plans.layout import Shape
from linkwork.plans.transmissions import (
    TRANSMISSION_FLOATS,
    TRANSMISSION_INTEGERS,
    TRANSMISSION_SIZES,
    transmission_arrays,
)

TENDON_SIZES = (
    *TRANSMISSION_SIZES,
    "ntendons",
    "npassive_tendons",  # 1 if a tendon has a spring, a damper or a stop; else zero
    "nbounded_tendons",  # 1 if a tendon bounds the force of its actuators; else zero
    "ntendon_terms",  # joints of fixed tendons
    "nsegments",  # segments of spatial tendons whose ends are on two bodies
)
TENDON_INTEGERS: dict[str, Shape] = {
    **TRANSMISSION_INTEGERS,
    "tendon_term_tendon": ("ntendon_terms",),
    "tendon_term_q": ("ntendon_terms",),  # where its joint stands in q, and in v
    "tendon_term_v": ("ntendon_terms",),
    "segment_tendon": ("nsegments",),
    "segment_first_body": ("nsegments",),
    "segment_second_body": ("nsegments",),
    "segment_root": ("nsegments",),  # the body that carries both
}
TENDON_FLOATS: dict[str, Shape] = {
    **TRANSMISSION_FLOATS,
    "tendon_constant": ("ntendons",),  # length that no joint changes
    # stiffness, damping, range of lengths in which the spring is slack, limits, stiffness and damping beyond them, and
    # factors of squares and cubes of springs and dampers
    "tendon_passive": ("ntendons", 12),
    "tendon_force_range": ("ntendons", 2),
    "tendon_term_coefficient": ("ntendon_terms",),
    "segment_first": ("nsegments", 3),  # where its ends are on their bodies
    "segment_second": ("nsegments", 3),
    "segment_scale": ("nsegments",),  # one over the divisor of its pulley
}

TENDON_ROW_SIZES = (
    "ntendon_rows",  # rows of constraints on lengths of tendons,
    "nrow_segments",  # segments between points of bodies in them,
    "nrow_joints",  # joints,
    "ntendon_k",  # and rows of K
)
TENDON_ROW_INTEGERS: dict[str, Shape] = {
    "tendon_row": ("ntendon_rows",),  # the row of a constraint
    "tendon_k": ("ntendon_k",),
    "row_segment_row": ("nrow_segments",),  # the tendon row of a segment,
    "row_segment_role": ("nrow_segments",),  # 0 where it is of the follower, 1 of the leader,
    "row_segment_first_body": ("nrow_segments",),  # the bodies of its ends, their poses and rows of K
    "row_segment_second_body": ("nrow_segments",),
    "row_segment_first_pose": ("nrow_segments",),
    "row_segment_second_pose": ("nrow_segments",),
    "row_segment_first_k": ("nrow_segments",),
    "row_segment_second_k": ("nrow_segments",),
    "row_joint_row": ("nrow_joints",),  # the tendon row of a joint, and its term
    "row_joint_term": ("nrow_joints",),
}
TENDON_ROW_FLOATS: dict[str, Shape] = {
    "tendon_row_polynomial": ("ntendon_rows", 5),
    "tendon_row_origin": ("ntendon_rows", 2),  # lengths of follower and leader that are subtracted
    "row_segment_first": ("nrow_segments", 3),  # where its ends are on their bodies
    "row_segment_second": ("nrow_segments", 3),
    "row_segment_scale": ("nrow_segments",),
    "row_joint_coefficient": ("nrow_joints", 2),  # of the follower's length and of the leader's
}


class Segment(NamedTuple):
    """A straight line between points of two bodies."""

    tendon: int
    bodies: tuple[int, int]
    root: int
    points: tuple[Floats, Floats]
    """In the kernels' frames of the bodies."""
    scale: float


def tendon_segments(
    mechanism: Model, tendons: Sequence[Tendon], parent: Sequence[int], bodies: BodyTable
) -> tuple[list[Segment], list[float]]:
    """Segments of spatial tendons that joints can change, and the length of each tendon that they cannot."""
    length = size_of(mechanism)

    def point(site: str) -> tuple[int, Floats]:
        frame = mechanism.frames[site]
        body = bodies.number[frame.body]
        at = bodies.frames[body].inverse() * frame.placement
        return body, rounded(at.position, length)

    segments, constants = list[Segment](), [tendon.offset for tendon in tendons]
    for t, tendon in enumerate(tendons):
        for branch in tendon.branches:
            for ends in branch.segments:
                (first, at), (second, to) = (point(site) for site in ends)
                if first == second:
                    constants[t] += float(np.linalg.norm(to - at)) / branch.divisor
                    continue
                shared = set(ancestors(parent, first)) & set(ancestors(parent, second))
                root = max(shared, default=0)
                segments.append(Segment(t, (first, second), root, (at, to), 1.0 / branch.divisor))
    return segments, constants


def tendon_arrays(mechanism: Model, parent: Sequence[int], bodies: BodyTable) -> dict[str, Any]:
    """The arrays of all tendons of a mechanism."""
    tendons = mechanism.tendons
    segments, constants = tendon_segments(mechanism, tendons, parent, bodies)
    terms = [(t, name, c) for t, tendon in enumerate(tendons) for name, c in tendon.joints.items()]
    return {
        "ntendons": len(tendons),
        "npassive_tendons": int(any(tendon.is_passive for tendon in tendons)),
        "nbounded_tendons": int(any(np.isfinite(tendon.force_limits).any() for tendon in tendons)),
        "tendon_force_range": [np.clip(tendon.force_limits, -UNBOUNDED, UNBOUNDED) for tendon in tendons],
        "tendon_term_tendon": [t for t, _, _ in terms],
        "tendon_term_q": [mechanism.q_index(name) for _, name, _ in terms],
        "tendon_term_v": [mechanism.v_index(name) for _, name, _ in terms],
        "tendon_term_coefficient": [c for _, _, c in terms],
        "tendon_constant": constants,
        "tendon_passive": [
            [
                *(t.stiffness, t.damping, *np.clip((*t.rest, *t.limits), -UNBOUNDED, UNBOUNDED), *t.stop),
                *(*t.stiffness_terms, *t.damping_terms),
            ]
            for t in tendons
        ],
        **transmission_arrays(mechanism, parent, bodies),
        "segment_tendon": [s.tendon for s in segments],
        "segment_first_body": [s.bodies[0] for s in segments],
        "segment_second_body": [s.bodies[1] for s in segments],
        "segment_root": [s.root for s in segments],
        "segment_first": [s.points[0] for s in segments],
        "segment_second": [s.points[1] for s in segments],
        "segment_scale": [s.scale for s in segments],
    }
