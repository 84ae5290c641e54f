# SPDX-License-Identifier: BSD-3-Clause
"""Bodies that are held by friction alone: a capsule between two pads, a cube in a hand.

Springs of joints press; in the pose ``"assembled"`` they balance contact forces and weights, so that all is at rest.
"""

from __future__ import annotations

from math import atan2, pi

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from linkwork.mechanism.joint_options import JointOptions
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Prismatic, Revolute
from linkwork.model.parts import GRAVITY
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Cylinder, Sphere
from linkwork.zoo.contact_builder import ContactScene, above_zero
from linkwork.zoo.linkages import meeting
from linkwork.zoo.places import turn

PAD = (0.01, 0.04, 0.04)
"""Meters: edge lengths of a pad of `pinched_capsule`."""

PALM, PROXIMAL, DISTAL, TIP = (0.06, 0.12), 0.08, 0.07, 0.01
"""Meters: how far finger bases of `hand_and_cube` are out from and above the cube's center, lengths of links, radius of
fingertips."""


@converted
def pinched_capsule(
    force: float = 30.0,
    friction: float = 0.7,
    *,
    radius: float = 0.004,
    length: float = 0.03,
    mass: float = 0.045,
    stiffness: float = 1e4,
) -> Mechanism:
    """A capsule that lies between two pads which springs press against it: held if ``2 friction force`` is its weight.

    The scene of mujoco#3328, where the capsule creeps. Its axis is along y; pads slide along x, with damping.

    Args:
        force: With which each pad presses, in newtons.
        friction: Coefficient of friction.
        radius: Of the capsule, in meters.
        length: Of the capsule, in meters, between the centers of its round ends.
        mass: Of the capsule, in kilograms; a pad has 50 g.
        stiffness: Of the springs, in N/m.
    """
    above_zero(stiffness, "stiffness")
    scene = ContactScene("pinched capsule", friction)
    lying = Placement((0.0, 0.0, 0.1)) * turn("x", pi / 2)
    ends = (0.0, 0.0, -length / 2), (0.0, 0.0, length / 2)
    solid = Cylinder(radius, length, rounded=True)
    capsule = scene.free("capsule", Inertia.rod(mass, *ends, radius), solid, lying)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        body, at = f"{side}_pad", (sign * (radius + PAD[0] / 2), 0.0, 0.1)
        scene.build.body(body, Inertia.box(0.05, PAD))
        inward, pressing = Prismatic("x" if sign < 0 else "-x"), force / stiffness
        scene.build.joint(body, inward, WORLD, body, at, stiffness=stiffness, rest=pressing, damping=40.0)
        scene.pose[body] = (0.0,)
        scene.touch(scene.shape(body, Box(PAD)), capsule, 2)
    return scene.finish()


@converted
def hand_and_cube(
    force: float = 5.0,
    friction: float = 0.8,
    *,
    size: float = 0.06,
    mass: float = 0.1,
    stiffness: float = 20.0,
    damping: float = 0.02,
) -> Mechanism:
    """A hand whose four fingers hold a cube by friction alone: 14 velocities, four contact points.

    Fingers hang from a palm that is fixed to the world, one at each side of the cube, and touch the middle of its
    faces with round tips. A finger, such as ``finger0``, has the joints ``finger0_base`` and ``finger0_knee`` with
    springs. The cube is held if ``4 friction force`` is more than its weight.

    Args:
        force: With which each fingertip presses, in newtons.
        friction: Coefficient of friction.
        size: Edge length of the cube, in meters.
        mass: Of the cube, in kilograms; a link of a finger has 20 g.
        stiffness: Of the joints' springs, in N m/rad.
        damping: Of the joints, in N m s/rad.
    """
    above_zero(stiffness, "stiffness")
    scene, height = ContactScene("hand and cube", friction), 0.2
    edges, link = (size, size, size), 0.02
    cube = scene.free("cube", Inertia.box(mass, edges), Box(edges), Placement((0.0, 0.0, height)))
    base, tip = np.array(PALM), np.array([size / 2 + TIP, 0.0])
    knee = meeting(base, PROXIMAL, tip, DISTAL)
    if knee is None:
        raise InputError(f"fingers do not reach the faces of a cube of {size:g} m; try another size")
    share = np.array([force, mass * GRAVITY[2] / 4])  # of the cube on a fingertip, outward and up
    loads = [
        (tip - (TIP, 0.0), share),
        ((knee + tip) / 2, np.array([0.0, link * GRAVITY[2]])),
        ((base + knee) / 2, np.array([0.0, link * GRAVITY[2]])),
    ]
    first, second = _angle(knee - base), _angle(tip - knee)
    bend = second - first
    bent = {
        "base": (first, _rest(first, base, loads, stiffness)),
        "knee": (bend, _rest(bend, knee, loads[:2], stiffness)),
    }
    for k in range(4):
        parent, at = WORLD, Placement((0.0, 0.0, height)) * turn("z", k * pi / 2) * Placement((PALM[0], 0.0, PALM[1]))
        for joint, body, length in (("base", "proximal", PROXIMAL), ("knee", "distal", DISTAL)):
            name, end = f"finger{k}_{body}", (0.0, 0.0, -length)
            scene.build.body(name, Inertia.rod(link, (0.0, 0.0, 0.0), end, radius=0.6 * TIP))
            q, rest = bent[joint]
            spring = JointOptions(stiffness=stiffness, rest=rest, damping=damping)
            scene.build.joint(f"finger{k}_{joint}", Revolute("y"), parent, name, at, **spring)
            scene.pose[f"finger{k}_{joint}"] = (q,)
            scene.build.shape(name, Cylinder(0.6 * TIP, length), (0.0, 0.0, -length / 2))
            parent, at = name, Placement(end)
        scene.touch(cube, scene.shape(parent, Sphere(TIP), at, f"finger{k}"))
    palm = Placement((0.0, 0.0, height + PALM[1]))
    scene.build.shape(WORLD, Box((2 * PALM[0], 2 * PALM[0], TIP)), palm)
    return scene.finish()


def _angle(along: Floats) -> float:
    """About y, that turns a link from hanging down to a direction, inward if positive."""
    return atan2(-along[0], -along[1])


def _rest(q: float, at: Floats, loads: list[tuple[Floats, Floats]], stiffness: float) -> float:
    """Rest position of the spring of a joint at which it balances the moments of forces about y."""
    moment = sum((p - at)[1] * f[0] - (p - at)[0] * f[1] for p, f in loads)
    return float(q - moment / stiffness)
