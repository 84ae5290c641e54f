# SPDX-License-Identifier: BSD-3-Clause
"""Robots of model files on the ground: Cassie, Digit and Go2, with contacts of their feet.

Files say what feet look like, rarely where the ground is. Here feet are put flat on the plane z = 0 with loops closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import items
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.checks import check_all
from linkwork.model.constraints import WORLD, Constraint, PlaneOnPlane, PointOnPlane
from linkwork.model.contacts import ContactShape
from linkwork.model.placement import Placement
from linkwork.model.poses import ASSEMBLED
from linkwork.model.shapes import Box, Cylinder, Ground, Shape, Sphere
from linkwork.zoo.contact_builder import reach
from linkwork.zoo.places import placements, turn
from linkwork.zoo.supports import SIDES

CASSIE_TOE, CASSIE_HEEL = np.array([-0.052821, 0.092622, 0.0]), np.array([0.069746, -0.010224, 0.0])
CASSIE_FOOT = 0.02
"""Meters: ends and radius of the capsule of a foot in ``cassie.xml``, in the frame of the foot."""

DIGIT_FOOT = Box((0.08, 0.235, 0.023))
GO2_FOOT = Sphere(0.022)
"""The feet of ``digit-v3.xml`` and of ``go2.urdf``, the latter a mesh there."""


@converted
def on_ground(
    robot: Mechanism,
    feet: Sequence[ContactShape],
    q: npt.ArrayLike | None = None,
    *,
    friction: float = 0.8,
    slots: int | None = None,
    name: str | None = None,
) -> Mechanism:
    """The robot with shapes that touch the ground z = 0 with friction, put flat on it in the pose ``"assembled"``.

    Contacts that the robot has had are left out. Pairs are called ``ground:foot`` after the shapes. Loops are closed
    near ``q``, while a side of each box, both ends of each capsule and each sphere come to the ground.

    Args:
        robot: The mechanism, with a floating base.
        feet: Boxes, capsules and spheres, with placements in the frames of their bodies.
        q: Configuration near which the robot stands, ``(nq,)``; by default the neutral one. Its height does not matter.
        friction: Coefficient of friction.
        slots: Contact points of each pair; by default as many as shapes need.
        name: Of the new mechanism; by default that of the robot with "on the ground".
    """
    feet = items(feet, "feet", "a list of ContactShape")
    check_all(feet, ContactShape, "a ContactShape")
    if not feet:
        raise InputError("feet is empty, needs at least one ContactShape")
    near = robot.neutral() if q is None else robot.normalize(q)
    if near.shape != (robot.nq,):
        raise InputError(f"q has shape {near.shape}, needs ({robot.nq},): one configuration")
    where = placements(robot, near, list(dict.fromkeys(foot.body for foot in feet)))
    lowest = min(_height(where[foot.body] * foot.placement, foot) for foot in feet)
    near[2] -= lowest
    level = [c for foot in feet for c in _on_plane(foot, where[foot.body] * foot.placement)]
    stands = replace(robot, contacts=()).constrained(*level).assemble(near)
    placed = replace(robot, contacts=()).with_contacts(*feet, friction=friction, slots=slots)
    drawn = (*placed.shapes, Shape(WORLD, Ground(), Placement()))
    titled = f"{robot.name} on the ground" if name is None else name
    return replace(placed, name=titled, shapes=drawn, poses={**robot.poses, ASSEMBLED: stands})


@converted
def cassie_on_ground(robot: Mechanism, feet: Literal["box", "capsule"] = "box", *, friction: float = 0.8) -> Mechanism:
    """Cassie on both feet, near its pose ``"home"``.

    Args:
        robot: Agility's Cassie, ``lw.load("cassie.xml")`` of MuJoCo's menagerie.
        feet: ``"capsule"`` as in the file, 2 contact points a foot; ``"box"``: around the capsule, 4 points a foot.
        friction: Coefficient of friction.
    """
    if feet not in ("box", "capsule"):
        raise InputError(f"feet is '{feet}', needs 'box' or 'capsule'")
    along = CASSIE_TOE - CASSIE_HEEL
    length = float(np.linalg.norm(along))
    x = along / length
    y = np.array([0.0, 0.0, -1.0])  # the axis of the foot's joint
    lying = Placement((CASSIE_TOE + CASSIE_HEEL) / 2, np.column_stack([x, y, np.cross(x, y)]))
    if feet == "box":
        solid: Box | Cylinder = Box((length + 2 * CASSIE_FOOT, 2 * CASSIE_FOOT, 2 * CASSIE_FOOT))
    else:
        solid, lying = Cylinder(CASSIE_FOOT, length, rounded=True), lying * turn("y", np.pi / 2)
    shapes = [ContactShape(f"{side}-foot", f"{side}-foot", solid, lying) for side, _ in SIDES]
    return on_ground(robot, shapes, robot.poses["home"], friction=friction, slots=4 if feet == "box" else 2)


@converted
def digit_on_ground(robot: Mechanism, *, friction: float = 0.7) -> Mechanism:
    """Digit on both feet, which are boxes with 4 contact points each.

    Args:
        robot: Agility's Digit, ``lw.load("digit-v3.xml")``.
        friction: Coefficient of friction; 0.7 is that of the file.
    """
    shapes = []
    for side, sign in SIDES:
        sole = Placement((0.0, -0.0437 * sign, -0.0255)) * turn("x", -sign * np.pi / 3)
        shapes.append(ContactShape(f"{side}-foot", f"{side}-toe-roll", DIGIT_FOOT, sole))
    return on_ground(robot, shapes, friction=friction, slots=4)


@converted
def go2_on_ground(robot: Mechanism, *, friction: float = 0.8, bend: Mapping[str, float] | None = None) -> Mechanism:
    """Unitree's Go2 on its four feet, which are balls.

    Args:
        robot: The Go2, ``lw.load("go2.urdf", base="floating")``.
        friction: Coefficient of friction.
        bend: Angles of its ``hip``, ``thigh`` and ``calf`` joints, in radians; by default 0, 0.9 and -1.8.
    """
    angles, q = {"hip": 0.0, "thigh": 0.9, "calf": -1.8, **(bend or {})}, robot.neutral()
    legs = ("FL", "FR", "RL", "RR")
    for leg in legs:
        for part, angle in angles.items():
            q[robot.q_index(f"{leg}_{part}_joint")] = angle
    return on_ground(
        robot, [ContactShape(f"{leg}_foot", f"{leg}_foot", GO2_FOOT) for leg in legs], q, friction=friction
    )


def _height(at: Placement, foot: ContactShape) -> float:
    """Of the lowest point of a shape."""
    return float(at.position[2]) - reach(foot.solid, at.rotation, (0.0, 0.0, -1.0))


def _on_plane(foot: ContactShape, at: Placement) -> list[Constraint]:
    """Constraints that put a shape on the plane z = 0: of a box, the side that is most level."""
    names = f"{foot.name} on the ground"
    match foot.solid:
        case Box(size):
            up = at.rotation[2]
            k = int(np.argmax(np.abs(up)))
            axis: Floats = np.sign(up[k]) * np.eye(3)[k]
            middle = Placement((0.0, 0.0, size[k] / 2))
            return [
                PlaneOnPlane(
                    WORLD, foot.body, name=names, first_at=middle, second_at=foot.placement, axis="z", second_axis=axis
                )
            ]
        case Cylinder(radius, length, True):
            ends = [foot.placement * Placement((0.0, 0.0, sign * length / 2)) for sign in (-1, 1)]
        case Sphere(radius):
            ends = [foot.placement]
        case _:
            raise InputError(f"'{foot.name}' is a {type(foot.solid).__name__}; feet are boxes, capsules and spheres")
    center = (0.0, 0.0, radius)
    return [
        PointOnPlane(WORLD, foot.body, name=f"{names} {k}", first_at=center, second_at=end, axis="z")
        for k, end in enumerate(ends)
    ]
