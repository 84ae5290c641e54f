# SPDX-License-Identifier: BSD-3-Clause
"""Humanoids that have fallen onto a pyramid of boxes (**delassus** Table I)."""

from __future__ import annotations

from dataclasses import replace
from math import atan2, hypot, pi

import numpy as np

from linkwork.errors import InputError
from linkwork.mechanism import Mechanism, compose
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, Constraint, Point
from linkwork.model.placement import Placement, as_placement
from linkwork.zoo.contacts import pyramid
from linkwork.zoo.humanoids import on_back, small_humanoid
from linkwork.zoo.places import ASSEMBLED, at_least, placements, turn
from linkwork.zoo.supports import (
    SIDES,
    Ball,
    Contact,
    lowest_points,
    resting,
    settled,
)

BOX = 0.2
GAP = 0.02
LAYERS = 4

ON_BOXES = (
    *(("torso", 3, y) for y in (-0.06, 0.06)),
    *(("torso", 2, y) for y in (-0.09, -0.03, 0.03, 0.09)),
    *(("pelvis", 1, y) for y in (-0.06, 0.06)),
    *((f"{side}_wrist_pitch", 1, 0.0) for side, _ in SIDES),
)
"""What of a robot lies on the edge of which layer of the pyramid, and how far beside the axis of the body."""


def robots_on_pyramid(robots: int = 3) -> Mechanism:
    """Small humanoids that have fallen onto the pyramid of boxes, each on a side of it (**delassus** Table I).

    Three robots: 285 velocities, 108 contacts, 324 rows. Robots lie with their backs on the edges of the boxes, knees
    bent: 10 contacts each between a body (``robot0/torso``) and a box (``pyramid/box3``), and the heels on the ground.
    The boxes have moved and touch at one point a pair, each box above still standing on its four corners: 56 contacts
    between boxes, 16 on the ground. Which contacts are left is chosen here; the paper gives their number.

    Args:
        robots: How many robots.
    """
    at_least(robots, 1, "robots")
    if robots > 4:
        raise InputError(f"robots: a pyramid has four sides, not {robots}")
    pile = _loosened(pyramid(LAYERS, BOX, GAP))
    robot = replace(small_humanoid(), poses={})
    parts = {f"robot{k}": robot for k in range(robots)}
    scene = compose({"pyramid": pile, **parts}, name=f"{robots} humanoids on a pyramid")
    centers = pile.poses[ASSEMBLED].reshape(-1, 7)[:, :3]
    leaning, edges, heels = _on_slope(robot)
    where = placements(robot, leaning, ["pelvis"])["pelvis"]
    q, contacts = scene.poses[ASSEMBLED].copy(), list[Contact]()
    for k in range(robots):
        side = Placement(centers.mean(axis=0) * (1.0, 1.0, 0.0)) * turn("z", k * pi / 2)
        base = side * where
        at = scene.q_slice(f"robot{k}/base")
        q[at.start : at.start + robot.nq] = leaning
        q[at] = [*base.position, *base.quaternion]
        for body, point in edges:
            edge = (side * Placement(point)).position
            box = int(np.argmin(np.abs(centers - edge).max(axis=1)))
            contacts.append((f"pyramid/box{box}", f"robot{k}/{body}", edge - centers[box]))
        contacts += [(f"robot{k}/{heel}", point) for heel, point in heels]
    return resting(scene, q, contacts)


def _on_slope(robot: Mechanism) -> tuple[Floats, list[tuple[str, Floats]], list[tuple[str, Floats]]]:
    """A robot on the side of a pyramid in +x, with what touches edges (in the world) and the ground (on the body).

    The outer edges of the layers lie in a plane, on which the robot lies as on the ground.
    """
    step = (BOX + GAP) / 2
    slope = Placement((LAYERS * step - GAP / 2 + step, 0.0, 0.0)) * turn("y", atan2(BOX, step))
    q, _ = on_back(robot)
    q[0] = -0.5  # how far up the pelvis is
    where = placements(robot, q, list(dict.fromkeys(body for body, *_ in ON_BOXES)))
    edges: list[tuple[str, Floats]] = []
    for body, layer, beside in ON_BOXES:
        x = -(layer + 1) * hypot(BOX, step)
        start, along = where[body].position, where[body].rotation[:, 2]
        y = start[1] + along[1] * (x - start[0]) / along[0] + beside
        edges.append((body, (slope * Placement((x, y, 0.0))).position))
    base = slope * where["pelvis"]
    q[robot.q_slice("base")] = [*base.position, *base.quaternion]
    for side, _ in SIDES:
        q[robot.q_index(f"{side}_hip_pitch_joint")], q[robot.q_index(f"{side}_knee_joint")] = -0.8, 0.8
    rests = {f"{side}_knee_joint": Ball(f"{side}_ankle_roll", (-0.05, 0.0, -0.035)) for side, _ in SIDES}
    q = settled(robot, q, rests)
    return q, edges, lowest_points(robot, q, list(rests.values()))


def _loosened(pile: Mechanism) -> Mechanism:
    """The pyramid with one contact a pair, at the corner of the upper box, or on the ground farthest outside."""
    middle = pile.poses[ASSEMBLED].reshape(-1, 7)[:, :2].mean(axis=0)
    kept: dict[tuple[str, ...], Constraint] = {}
    reach: dict[tuple[str, ...], float] = {}
    for contact in (c for c in pile.constraints if isinstance(c, Point)):
        first, second = (as_placement(at).position[:2] for at in (contact.first_at, contact.second_at))
        far = float(np.linalg.norm(first - middle if contact.first == WORLD else second))
        if far > reach.get(contact.places, 0.0) + 1e-9:
            kept[contact.places], reach[contact.places] = contact, far
    return replace(pile, constraints=tuple(kept.values()))
