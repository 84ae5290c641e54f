# SPDX-License-Identifier: BSD-3-Clause
"""Robots that rest on contacts: points held in all three directions (`resting`), and postures in which they touch.

A contact holds its point (`Point`, 3 rows), and joint friction the velocities of a joint (`JointLock`, and
`VelocityCoupling` where coordinates are no vector space; a row for each degree of freedom), as the Delassus operator
sees them. Limbs are balls at their ends, turned at their joints until these rest on the ground.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import real_array
from linkwork.mechanism import Mechanism
from linkwork.model import lie
from linkwork.model.arrays import Floats, VectorLike
from linkwork.model.constraints import WORLD, Constraint, JointLock, Point, VelocityCoupling
from linkwork.model.graphs import named_ancestors
from linkwork.model.joints import Revolute
from linkwork.model.parts import TreeJoint
from linkwork.model.placement import Placement
from linkwork.model.poses import ASSEMBLED
from linkwork.zoo.places import placements

Vector = tuple[float, float, float]
Contact = tuple[str, VectorLike] | tuple[str, str, VectorLike]
"""A body or frame and a point of it that touches the ground, or with the name of what it touches in between."""

STANDING = "standing"
"""The pose of the robots here in which they stand on flat ground."""

SIDES = (("left", 1.0), ("right", -1.0))


@converted
def resting(
    robot: Mechanism,
    q: npt.ArrayLike,
    contacts: Sequence[Contact],
    *,
    joint_friction: bool = False,
    name: str | None = None,
) -> Mechanism:
    """The robot with contact points held where they are at ``q``, which becomes its pose ``"assembled"``.

    The robot's own constraints stay, and are to hold at ``q``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(nq,)``.
        contacts: ``(body, point)`` is held to the ground: ``contact0`` and so on, three rows in the world's axes;
            ``(body, other, point)`` to another body, rows in the axes of the first. Points are three numbers in the
            frame of the body that is named first.
        joint_friction: Whether the velocities of every joint are held too, but those of a floating base: rows
            ``friction_joint``, one for each degree of freedom.
        name: Of the new mechanism; by default that of the robot.
    """
    at = robot.normalize(q)
    if at.shape != (robot.nq,):
        raise InputError(f"q is one configuration of {robot.nq} numbers, not {at.shape}")
    touching = [_contact(robot, k, item) for k, item in enumerate(contacts)]
    where = placements(robot, at, list(dict.fromkeys(place for *pair, _ in touching for place in pair)))
    held: list[Constraint] = []
    for k, (first, second, point) in enumerate(touching):
        touched = where[first] * Placement(point)
        if second == WORLD:
            held.append(Point(WORLD, first, name=f"contact{k}", first_at=touched.position, second_at=point))
        else:
            there = (where[second].inverse() * touched).position
            held.append(Point(first, second, name=f"contact{k}", first_at=point, second_at=there))
    if joint_friction:
        held += [_friction(robot, joint, at) for joint in robot.joints if not _is_base(joint)]
    bound = robot.constrained(*held)
    return replace(bound, name=robot.name if name is None else name, poses={**robot.poses, ASSEMBLED: at})


def _is_base(joint: TreeJoint) -> bool:
    """Whether a joint is the floating or planar base of a robot."""
    return joint.parent == WORLD and joint.type.group is not lie.VECTOR


def _friction(robot: Mechanism, joint: TreeJoint, q: Floats) -> Constraint:
    """Rows of the velocities of a joint."""
    name = f"friction_{joint.name}"
    if joint.type.group is lie.VECTOR:
        return JointLock(joint.name, q[robot.q_slice(joint.name)].tolist(), name=name)
    return VelocityCoupling({joint.name: np.eye(joint.type.nv)}, name=name)


def _contact(robot: Mechanism, k: int, item: Contact) -> tuple[str, str, Floats]:
    """The two places of a contact and its point on the first, checked."""
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise InputError(f"contacts[{k}] is (body, point) or (body, other body, point), not {item!r}")
    *named, contact = item
    places = [str(place) for place in named] + [WORLD] * (3 - len(item))
    bodies = [robot.frame(place).body for place in places]
    if bodies[0] == bodies[1]:
        raise InputError(f"contacts[{k}]: '{places[0]}' and '{places[1]}' are both part of '{bodies[0]}'")
    point = real_array(contact, f"contacts[{k}]: the point").astype(np.float64)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise InputError(f"contacts[{k}]: the point on '{places[0]}' is three finite numbers, not {contact!r}")
    return places[0], places[1], point


class Ball(NamedTuple):
    """A round part of a body, such as a foot; a corner has no radius."""

    body: str
    center: Vector
    radius: float = 0.0


def lowest_points(robot: Mechanism, q: Floats, balls: Sequence[Ball]) -> list[tuple[str, Floats]]:
    """The lowest point of each ball, as contacts with the ground."""
    where = placements(robot, q, list({ball.body: None for ball in balls}))
    down = {body: placement.rotation.T @ (0.0, 0.0, -1.0) for body, placement in where.items()}
    return [(ball.body, np.array(ball.center) + ball.radius * down[ball.body]) for ball in balls]


def lowered(robot: Mechanism, q: Floats, balls: Sequence[Ball]) -> Floats:
    """The floating robot moved down, or up, until the lowest ball touches the ground."""
    q, where = q.copy(), placements(robot, q, list({ball.body: None for ball in balls}))
    q[2] -= min((where[ball.body] * Placement(ball.center)).position[2] - ball.radius for ball in balls)
    return q


def settled(robot: Mechanism, q: Floats, rests: Mapping[str, Ball]) -> Floats:
    """Joints turned, by Newton's method, until each of as many balls rests on the ground.

    A joint about the unit axis a through o moves a point p by a × (p - o) per angle, if it carries it.
    """
    q, joints, balls = q.copy(), [robot.joint(name) for name in rests], list(rests.values())
    axes = [joint.type.axis for joint in joints if isinstance(joint.type, Revolute)]
    parent = {joint.child: joint.parent for joint in robot.joints}
    carried = np.array([[joint.child in named_ancestors(parent, ball.body) for joint in joints] for ball in balls])
    turned = [robot.q_index(name) for name in rests]
    for _ in range(10):
        where = placements(robot, q, list(parent))
        p = np.array([(where[ball.body] * Placement(ball.center)).position for ball in balls])
        height = p[:, 2] - [ball.radius for ball in balls]
        if np.abs(height).max() < 1e-15:
            break
        o = np.array([where[joint.child].position for joint in joints])
        a = np.array([where[joint.child].rotation @ axis for joint, axis in zip(joints, axes, strict=True)])
        q[turned] -= np.linalg.solve(np.cross(a, p[:, None] - o)[..., 2] * carried, height)
    return q


def posed(robot: Mechanism, angles: Mapping[str, float], base: Placement) -> Floats:
    """A configuration of a floating robot."""
    q = robot.neutral()
    q[robot.q_slice("base")] = [*base.position, *base.quaternion]
    for joint, angle in angles.items():
        q[robot.q_index(joint)] = angle
    return q
