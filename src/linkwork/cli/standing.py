# SPDX-License-Identifier: BSD-3-Clause
"""The ground below a robot of a file that has none, and the height at which it starts: for ``linkwork simulate``."""

from __future__ import annotations

from dataclasses import replace

import linkwork as lw
from linkwork.cli.loading import ModelRequest
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.parts import TreeJoint
from linkwork.model.placement import Placement
from linkwork.model.shapes import Ground, Shape


def on_own_ground(robot: Mechanism, request: ModelRequest) -> Mechanism:
    """The robot with the plane z = 0, if it floats, touches nothing of the world, and no contacts were given.

    All its shapes for collision may touch the plane. A robot with a fixed base is unchanged.

    Args:
        robot: The mechanism of a file.
        request: Options of loading.
    """
    touches_world = any(WORLD in (pair.first.body, pair.second.body) for pair in robot.contacts)
    shapes = any(shape.collides and shape.body != WORLD for shape in robot.shapes)
    if request.load.contacts is not None or floating_base(robot) is None or touches_world or not shapes:
        return robot
    placed = robot.with_contacts()
    return replace(placed, shapes=(*placed.shapes, Shape(WORLD, Ground(), Placement())))


def floating_base(robot: Mechanism) -> TreeJoint | None:
    """The free joint that carries the robot; None where it has a fixed base, or several bodies are on the world."""
    roots = [joint for joint in robot.joints if joint.parent == WORLD]
    return roots[0] if len(roots) == 1 and isinstance(roots[0].type, lw.joints.Free) else None


def standing(robot: Mechanism, q: Floats, *, lower: bool) -> Floats:
    """The configuration with a floating robot lifted out of the ground, or put on it.

    Args:
        robot: The mechanism.
        q: Configuration, ``(nq,)``.
        lower: Whether a robot that is above the ground is put on it, too.
    """
    base = floating_base(robot)
    grounds = [pair for pair in robot.contacts if pair.first.body == WORLD and isinstance(pair.first.solid, Ground)]
    if not grounds or base is None:
        return q
    contacts = lw.contact.ContactGeometry(replace(robot, contacts=tuple(grounds)), native=True)(q)
    # how far along z the least gap of each pair is below zero
    rise = max(float((-contacts[pair.name].gaps / contacts[pair.name].normals[:, 2]).max()) for pair in grounds)
    placed = q.copy()
    placed[robot.q_slice(base.name)][:3] += base.placement.rotation.T @ (0.0, 0.0, rise if lower else max(rise, 0.0))
    return placed


def height_of(robot: Mechanism, q: Floats) -> float:
    """Of a floating base above the plane z = 0 of its joint, in meters; zero of other robots.

    Args:
        robot: The mechanism.
        q: Configuration, ``(nq,)``.
    """
    base = floating_base(robot)
    return 0.0 if base is None else float((base.placement.rotation @ q[robot.q_slice(base.name)][:3])[2])
