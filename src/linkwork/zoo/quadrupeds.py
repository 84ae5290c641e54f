# SPDX-License-Identifier: BSD-3-Clause
"""A quadruped like Unitree's Go2, standing and fallen (**delassus** Table I).

It has the joints, sizes and masses of the Go2, its bodies being boxes. Where the paper gives numbers of contacts only,
postures and points are chosen here.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from linkwork.conversions import converted
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Revolute
from linkwork.model.placement import Placement
from linkwork.zoo.supports import (
    SIDES,
    STANDING,
    Ball,
    lowered,
    lowest_points,
    posed,
    resting,
    settled,
)

LEGS = tuple((f"{end}_{side}", x, y) for end, x in (("front", 1.0), ("rear", -1.0)) for side, y in SIDES)
TRUNK = (0.376, 0.094, 0.114)
SHANK = 0.213
FOOT = 0.022
"""Meters: the trunk's edges, the length of thighs and of shins, and the radius of feet and knees."""


@converted
def quadruped() -> Mechanism:
    """A floating quadruped of 15 kg like Unitree's Go2: a trunk of 6.9 kg, legs of three joints, 18 velocities.

    A leg, such as ``front_left``, turns about x and y at its hip and about y at its knee; frames ``front_left_foot``
    are at the centers of its feet. It stands in the pose ``"standing"``.
    """
    build = Builder("quadruped")
    build.body("trunk", Inertia.box(6.92, TRUNK, com=(0.021, 0.0, -0.005)))
    build.joint("base", Free(), WORLD, "trunk")
    for leg, x, y in LEGS:
        links = (
            (f"{leg}_hip", "x", (0.1934 * x, 0.0465 * y, 0.0), Inertia.box(0.678, (0.09, 0.07, 0.09)), 1.05, -1.05),
            (f"{leg}_thigh", "y", (0.0, 0.0955 * y, 0.0), _hanging(1.152, SHANK, 0.04), 3.49, -1.57),
            (f"{leg}_shin", "y", (0.0, 0.0, -SHANK), _hanging(0.2814, SHANK, 0.025), -0.83, -2.73),
        )
        parent = "trunk"
        for body, axis, at, inertia, upper, lower in links:
            build.body(body, inertia)
            build.joint(f"{body}_joint", Revolute(axis), parent, body, at, lower=lower, upper=upper, actuated=True)
            parent = body
        build.frame(f"{leg}_foot", on=parent, at=(0.0, 0.0, -SHANK))
    robot = build.build()
    bent = {f"{leg}_{link}_joint": angle for leg, *_ in LEGS for link, angle in (("thigh", 0.9), ("shin", -1.8))}
    q = lowered(robot, posed(robot, bent, Placement()), [_foot(leg) for leg, *_ in LEGS])
    return replace(robot, poses={STANDING: q})


def _hanging(mass: float, length: float, width: float) -> Inertia:
    return Inertia.box(mass, (width, width, length), com=(0.0, 0.0, -length / 2))


def _foot(leg: str) -> Ball:
    return Ball(f"{leg}_shin", (0.0, 0.0, -SHANK), FOOT)


def _knee(leg: str) -> Ball:
    return Ball(f"{leg}_thigh", (0.0, 0.0, -SHANK), FOOT)


@converted
def quadruped_standing(joint_friction: bool = False) -> Mechanism:
    """The quadruped on its four feet: 4 contacts and 12 rows, 24 with joint friction (**delassus** Table I).

    Args:
        joint_friction: Whether rates of joints are held as well, as by dry friction: a row for each degree of freedom.
    """
    robot = quadruped()
    q = robot.poses[STANDING]
    contacts = lowest_points(robot, q, [_foot(leg) for leg, *_ in LEGS])
    return resting(robot, q, contacts, joint_friction=joint_friction, name="quadruped standing")


@converted
def quadruped_fallen(joint_friction: bool = False) -> Mechanism:
    """The quadruped on its belly: 9 contacts and 27 rows, with joint friction 10 and 42 (**delassus** Table I).

    Four corners of the trunk, knees and feet of the splayed front legs, and a rear foot touch the ground; with joint
    friction both rear feet do. Otherwise the other leg is in the air.

    Args:
        joint_friction: Whether rates of joints are held as well, as by dry friction: a row for each degree of freedom.
    """
    robot = quadruped()
    angles: dict[str, float] = {}
    for leg, x, y in LEGS:
        thigh, shin = (1.0, -2.6) if x > 0 else (2.2, -2.5) if y > 0 or joint_friction else (2.6, -1.5)
        splay = 0.6 * y if x > 0 else 0.4 * y
        angles |= {f"{leg}_hip_joint": splay, f"{leg}_thigh_joint": thigh, f"{leg}_shin_joint": shin}
    rests = {f"{leg}_thigh_joint": _knee(leg) for leg, x, _ in LEGS if x > 0}
    rests |= {f"{leg}_shin_joint": _foot(leg) for leg, x, y in LEGS if x > 0 or y > 0 or joint_friction}
    q = settled(robot, posed(robot, angles, Placement((0.0, 0.0, TRUNK[2] / 2))), rests)
    belly = [Ball("trunk", (x, y, -TRUNK[2] / 2)) for x, y in _corners(TRUNK[0] / 2, TRUNK[1] / 2)]
    contacts = lowest_points(robot, q, [*belly, *rests.values()])
    return resting(robot, q, contacts, joint_friction=joint_friction, name="quadruped fallen")


def _corners(x: float, y: float) -> list[tuple[float, float]]:
    """Of a rectangle about the origin."""
    return [(i * x, j * y) for i, j in product((-1, 1), repeat=2)]
