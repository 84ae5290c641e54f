# SPDX-License-Identifier: BSD-3-Clause
"""Humanoids that have fallen onto a pyramid of boxes (**delassus** Table I)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from math import atan2, hypot, pi

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism, compose
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.placement import Placement
from linkwork.model.poses import ASSEMBLED
from linkwork.zoo.contacts import pyramid
from linkwork.zoo.humanoids import on_back, small_humanoid
from linkwork.zoo.places import at_least, placements, turn
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
    *(("torso", 2, y) for y in (0.02, 0.045, 0.07, 0.095)),
    *(("pelvis", 1, y) for y in (-0.06, -0.02, 0.02, 0.06)),
)
"""Bodies of a robot by the edge of a layer of the pyramid that they lie on, and their distance beside its axis."""

HEEL = 0.02
"""Half the width of a heel."""


@converted
def robots_on_pyramid(robots: int = 3) -> Mechanism:
    """Small humanoids that have fallen onto the pyramid of boxes, each on a side of it (**delassus** Table I).

    Three robots: 285 velocities, 108 contacts, 324 rows, four points a touching pair but two under a heel. Robots lie
    with their backs on the edges of the boxes, knees bent: the torso on one box, the pelvis on another, heels on the
    ground. Of the boxes, those along the four edges of the pyramid bear on each other and on the ground, and the middle
    one of the second layer bears two: 18 pairs. The others are in their places without bearing anything, as boxes of a
    pile that is hit do for a moment. Which pairs touch is chosen here: the paper gives the number of contacts, and up
    to four points for each pair of surfaces, so that most of the pyramid's 72 pairs cannot.

    Args:
        robots: Number of robots.
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
    where, heels = placements(robot, q, [ball.body for ball in rests.values()]), list[tuple[str, Floats]]()
    for heel, point in lowest_points(robot, q, list(rests.values())):
        level = where[heel].rotation.T @ (0.0, HEEL, 0.0)
        heels += [(heel, point - level), (heel, point + level)]
    return q, edges, heels


def _loosened(pile: Mechanism) -> Mechanism:
    """The pyramid with the contacts of some pairs of boxes: those along its edges, and two of the second layer."""
    number = {(layer, i, j): k for k, (layer, i, j) in enumerate(_places())}
    bearing = {(number[1, 1, 1], number[2, i, i]) for i in range(2)}
    for side in ((0, 0), (0, 1), (1, 0), (1, 1)):
        most = [LAYERS - 1 - layer for layer in range(LAYERS)]
        corner = [number[layer, side[0] * end, side[1] * end] for layer, end in enumerate(most)]
        bearing |= {(-1, corner[0]), *pairwise(corner)}
    names = {tuple(WORLD if k < 0 else f"box{k}" for k in pair) for pair in bearing}
    return replace(pile, constraints=tuple(c for c in pile.constraints if c.places in names))


def _places() -> list[tuple[int, int, int]]:
    """Layer, row and column of each box, in the order of `pyramid`."""
    return [(layer, i, j) for layer in range(LAYERS) for i, j in product(range(LAYERS - layer), repeat=2)]
