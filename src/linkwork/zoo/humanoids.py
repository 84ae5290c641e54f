# SPDX-License-Identifier: BSD-3-Clause
"""A small humanoid like Unitree's G1, standing and fallen (**delassus** Table I).

It has the joints, sizes and masses of the G1, its bodies being boxes. Where the paper gives numbers of contacts only,
postures and points are chosen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import pi
from typing import NamedTuple

from linkwork.conversions import converted
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Revolute
from linkwork.model.placement import Placement
from linkwork.zoo.places import turn
from linkwork.zoo.supports import (
    SIDES,
    STANDING,
    Ball,
    Vector,
    lowered,
    lowest_points,
    posed,
    resting,
    settled,
)


class _Link(NamedTuple):
    """A link on a revolute joint, of the left side: axis, place on the link before, box, and limits of the joint."""

    name: str
    axis: str
    at: Vector
    mass: float
    size: Vector
    com: Vector
    limits: tuple[float, float]


LEG = (
    _Link("hip_pitch", "y", (0.0, 0.064, -0.10), 1.35, (0.09, 0.1, 0.09), (0.0, 0.04, -0.01), (-2.53, 2.88)),
    _Link("hip_roll", "x", (0.0, 0.052, -0.03), 1.52, (0.09, 0.08, 0.14), (0.0, 0.0, -0.05), (-0.52, 2.96)),
    _Link("hip_yaw", "z", (0.0, 0.0, -0.12), 1.70, (0.09, 0.09, 0.2), (0.0, 0.0, -0.08), (-2.75, 2.75)),
    _Link("knee", "y", (0.0, 0.0, -0.18), 1.93, (0.08, 0.07, 0.3), (0.0, 0.0, -0.13), (-0.087, 2.88)),
    _Link("ankle_pitch", "y", (0.0, 0.0, -0.30), 0.10, (0.04, 0.03, 0.03), (0.0, 0.0, 0.0), (-0.87, 0.52)),
    _Link("ankle_roll", "x", (0.0, 0.0, -0.018), 0.61, (0.17, 0.06, 0.04), (0.035, 0.0, -0.015), (-0.26, 0.26)),
)
WAIST = (
    _Link("waist_yaw", "z", (0.0, 0.0, 0.0), 0.30, (0.06, 0.06, 0.04), (0.0, 0.0, 0.02), (-2.61, 2.61)),
    _Link("waist_roll", "x", (0.0, 0.0, 0.035), 0.20, (0.05, 0.06, 0.04), (0.0, 0.0, 0.01), (-0.52, 0.52)),
    _Link("torso", "y", (0.0, 0.0, 0.019), 9.30, (0.14, 0.22, 0.36), (0.0, 0.0, 0.19), (-0.52, 0.52)),
)
ARM = (
    _Link("shoulder_pitch", "y", (0.0, 0.10, 0.24), 0.72, (0.06, 0.08, 0.06), (0.0, 0.03, -0.01), (-3.08, 2.67)),
    _Link("shoulder_roll", "x", (0.0, 0.04, -0.01), 0.64, (0.06, 0.06, 0.1), (0.0, 0.0, -0.05), (-1.58, 2.25)),
    _Link("shoulder_yaw", "z", (0.0, 0.0, -0.10), 0.73, (0.05, 0.05, 0.1), (0.0, 0.0, -0.04), (-2.61, 2.61)),
    _Link("elbow", "y", (0.0, 0.0, -0.08), 0.60, (0.05, 0.05, 0.1), (0.0, 0.0, -0.05), (-2.6, 0.5)),
    _Link("wrist_roll", "z", (0.0, 0.0, -0.10), 0.09, (0.04, 0.04, 0.04), (0.0, 0.0, -0.02), (-1.97, 1.97)),
    _Link("wrist_pitch", "y", (0.0, 0.0, -0.04), 0.48, (0.04, 0.05, 0.06), (0.0, 0.0, -0.02), (-1.61, 1.61)),
    _Link("hand", "x", (0.0, 0.0, -0.05), 0.25, (0.04, 0.06, 0.12), (0.0, 0.0, -0.06), (-1.61, 1.61)),
)
DEPTH = 0.07
"""Meters: from the middle of torso and pelvis to the back; also the radius of the head."""


@converted
def small_humanoid() -> Mechanism:
    """A floating humanoid of 35 kg and 1.3 m like Unitree's G1: 29 revolute joints, 35 velocities.

    Legs have six joints, arms seven and the waist three, named as the body that they carry: ``left_knee_joint``.
    Limbs hang straight at rest; it stands in the pose ``"standing"``.
    """
    build = Builder("small humanoid")
    build.body("pelvis", Inertia.box(3.81, (2 * DEPTH, 0.2, 0.16), com=(0.0, 0.0, -0.05)))
    build.joint("base", Free(), WORLD, "pelvis")
    _add_limb(build, "pelvis", WAIST)
    for side, sign in SIDES:
        _add_limb(build, "pelvis", LEG, f"{side}_", sign)
        _add_limb(build, "torso", ARM, f"{side}_", sign)
    robot = build.build()
    angles = (("hip_pitch", -0.3), ("knee", 0.6), ("ankle_pitch", -0.3), ("elbow", -0.5))
    bent = {f"{side}_{link}_joint": angle for side, _ in SIDES for link, angle in angles}
    return replace(robot, poses={STANDING: lowered(robot, posed(robot, bent, Placement()), _soles())})


def _add_limb(build: Builder, parent: str, links: Sequence[_Link], prefix: str = "", sign: float = 1.0) -> None:
    """A chain of links, mirrored for the right side."""
    for link in links:
        (x, y, z), (a, b, c), (lower, upper) = link.at, link.com, link.limits
        if sign < 0 and link.axis != "y":
            lower, upper = -upper, -lower
        body = f"{prefix}{link.name}"
        build.body(body, Inertia.box(link.mass, link.size, com=(a, sign * b, c)))
        at = (x, sign * y, z)
        build.joint(f"{body}_joint", Revolute(link.axis), parent, body, at, lower=lower, upper=upper, actuated=True)
        parent = body


def _sole(side: str, x: float, width: float) -> list[Ball]:
    """Corners of a foot in front or behind."""
    return [Ball(f"{side}_ankle_roll", (x, y, -0.035)) for y in (-width, width)]


def _heel(side: str) -> list[Ball]:
    return _sole(side, -0.05, 0.025)


def _soles() -> list[Ball]:
    return [ball for side, _ in SIDES for ball in (*_heel(side), *_sole(side, 0.12, 0.03))]


@converted
def humanoid_standing(joint_friction: bool = False) -> Mechanism:
    """The small humanoid on its feet, four corners each: 24 rows, 53 with joint friction (**delassus** Table I).

    Args:
        joint_friction: Whether rates of joints are held as well, as by dry friction: a row for each degree of freedom.
    """
    robot = small_humanoid()
    q = robot.poses[STANDING]
    return resting(robot, q, lowest_points(robot, q, _soles()), joint_friction=joint_friction, name="humanoid standing")


@converted
def humanoid_fallen(joint_friction: bool = False) -> Mechanism:
    """The small humanoid on its back: 23 contacts and 69 rows, with joint friction 24 and 101 (**delassus** Table I).

    Corners of pelvis and torso, the head, knees and heels, elbows, wrists and two corners of each hand touch the
    ground; with joint friction a third corner of the left hand does. The paper prints 25 contacts there, of which its
    101 rows leave 24.

    Args:
        joint_friction: Whether rates of joints are held as well, as by dry friction: a row for each degree of freedom.
    """
    robot = small_humanoid()
    q, limbs = on_back(robot)
    back = [Ball("pelvis", (-DEPTH, y, z)) for y, z in product((-0.1, 0.1), (-0.13, 0.03))]
    back += [Ball("torso", (-DEPTH, y, z)) for y, z in product((-0.11, 0.11), (0.01, 0.37))]
    more = [Ball("left_hand", (-0.02, 0.03, 0.0))] if joint_friction else []
    contacts = lowest_points(robot, q, [*back, Ball("torso", (0.0, 0.0, 0.45), DEPTH), *limbs, *more])
    return resting(robot, q, contacts, joint_friction=joint_friction, name="humanoid fallen")


def on_back(robot: Mechanism) -> tuple[Floats, list[Ball]]:
    """The posture of a small humanoid on its back, head toward -x, and the parts of its limbs that rest then."""
    angles: dict[str, float] = {}
    rests: dict[str, Ball] = {}
    for side, sign in SIDES:
        spread = 0.15 + 0.05 * sign
        angles |= {f"{side}_hip_roll_joint": sign * spread, f"{side}_shoulder_roll_joint": sign * spread / 2}
        angles |= {f"{side}_ankle_pitch_joint": -0.3}
        rests[f"{side}_hip_pitch_joint"] = Ball(f"{side}_knee", (0.0, 0.0, 0.0), 0.05)
        rests[f"{side}_hip_yaw_joint"], rests[f"{side}_knee_joint"] = _heel(side)
        rests[f"{side}_shoulder_pitch_joint"] = Ball(f"{side}_elbow", (0.0, 0.0, 0.0), 0.035)
        rests[f"{side}_elbow_joint"] = Ball(f"{side}_wrist_pitch", (0.0, 0.0, 0.0), 0.02)
        rests[f"{side}_wrist_roll_joint"] = Ball(f"{side}_hand", (-0.02, -0.03, -0.12))
        rests[f"{side}_wrist_pitch_joint"] = Ball(f"{side}_hand", (-0.02, 0.03, -0.12))
    lying = Placement((0.0, 0.0, DEPTH)) * turn("y", -pi / 2)
    return settled(robot, posed(robot, angles, lying), rests), list(rests.values())
