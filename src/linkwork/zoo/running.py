# SPDX-License-Identifier: BSD-3-Clause
"""A hopper that runs: a trunk free in the x-z plane, with a leg that two servos move through a four-bar linkage.

Points and angles are in the x-z plane. An angle of a bar is that by which it is turned forward, toward x, from hanging
down. Both motors are at the hip: one turns the thigh, the other a crank, whose rod moves the lever behind the knee.
Crank, rod, lever and thigh are the four bars.
"""

from __future__ import annotations

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, PointOnLine
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Prismatic, Revolute
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Cylinder, Sphere
from linkwork.zoo.contact_builder import ContactScene, above_zero
from linkwork.zoo.linkages import AXIS, meeting

THIGH, SHANK, CRANK, LEVER, ROD, FOOT = 0.2, 0.2, 0.06, 0.05, 0.2077, 0.025
"""Meters: from the hip to the knee, from the knee to the foot, from the hip to the rod, from the knee to the rod's
other end, length of the rod, radius of the foot. The knee turns 1.15 to 1.4 times as fast as the crank."""

TRUNK = (0.3, 0.16, 0.1)
HIP_LIMITS, KNEE_LIMITS = (-0.6, 1.8), (-2.3, -0.45)
"""Radians. Crank and rod are not in line within these, nor are rod and lever."""


@converted
def running_hopper(
    hip: float = 0.62,
    knee: float = -1.3,
    *,
    friction: float = 0.8,
    mass: float = 4.0,
    stiffness: float = 60.0,
    damping: float = 1.0,
    torque: float = 25.0,
) -> Mechanism:
    """A hopper in the x-z plane with a four-bar leg and two servos: 7 velocities, 2 rows, 5 degrees of freedom.

    The trunk slides along x and z (``rail_x``, ``rail_z``) and turns (``pitch``, positive where its front rises), all
    without a motor. The servos ``hip`` and ``crank`` take angles. In the pose ``"assembled"`` the foot, a ball, touches
    the ground below the hip; commands equal to the angles there hold the leg up to its weight. It stands on a point: it
    falls unless it hops.

    Args:
        hip: Angle of the thigh in the pose ``"assembled"``, in radians.
        knee: Angle of the shank, seen from the thigh, in radians.
        friction: Coefficient of friction.
        mass: Of the trunk, in kilograms; the rest has 0.68 kg.
        stiffness: Of the servos, in N m/rad.
        damping: Of the servos, in N m s/rad.
        torque: That servos give at most, in N m.
    """
    for value, name in ((mass, "mass"), (stiffness, "stiffness"), (torque, "torque")):
        above_zero(value, name)
    for angle, name, (low, high) in ((hip, "hip", HIP_LIMITS), (knee, "knee", KNEE_LIMITS)):
        if not low <= angle <= high:
            raise InputError(f"{name} is {angle:g} rad, needs an angle between {low:g} and {high:g}")
    at_knee, lower = THIGH * _hanging(hip), hip + knee
    crank, rod = _crank(at_knee - LEVER * _hanging(lower))
    scene = ContactScene("running hopper", friction)
    build = scene.build
    for body in ("carriage", "slide"):
        build.body(body, Inertia.box(0.05, (0.02, 0.02, 0.02)))
    build.body("trunk", Inertia.box(mass, TRUNK))
    build.joint("rail_x", Prismatic("x"), WORLD, "carriage").joint("rail_z", Prismatic("z"), "carriage", "slide")
    build.joint("pitch", Revolute(AXIS), "slide", "trunk")
    build.shape("trunk", Box(TRUNK))
    foot = Inertia.sphere(0.03, FOOT).moved(Placement((0.0, 0.0, -SHANK)))
    bars = {
        "thigh": (0.3, 0.0, -THIGH, 0.015),
        "shank": (0.15, LEVER, -SHANK, 0.01),
        "crank": (0.05, 0.0, CRANK, 0.01),
        "rod": (0.05, 0.0, -ROD, 0.006),
    }
    for body, (weight, top, bottom, radius) in bars.items():
        inertia = Inertia.rod(weight, (0.0, 0.0, top), (0.0, 0.0, bottom), radius=radius)
        build.body(body, inertia + foot if body == "shank" else inertia)
        middle = Placement((0.0, 0.0, (top + bottom) / 2))
        build.shape(body, Cylinder(radius, abs(top - bottom)), middle)
    low, high = HIP_LIMITS
    build.joint("hip", Revolute(AXIS), "trunk", "thigh", actuated=True, armature=0.02, lower=low, upper=high)
    low, high = KNEE_LIMITS
    build.joint("knee", Revolute(AXIS), "thigh", "shank", (0, 0, -THIGH), damping=0.05, lower=low, upper=high)
    build.joint("crank", Revolute(AXIS), "trunk", "crank", actuated=True, armature=0.02)
    build.joint("rod", Revolute(AXIS), "crank", "rod", (0.0, 0.0, CRANK))
    ends = (0.0, 0.0, LEVER), (0.0, 0.0, -ROD)
    build.constrain(PointOnLine("shank", "rod", name="lever", first_at=ends[0], second_at=ends[1], axis=AXIS))
    for motor in ("hip", "crank"):
        law = (0.0, -stiffness, -damping)
        build.actuator(motor, motor, gain=(stiffness, 0, 0), bias=law, force_limits=(-torque, torque))
    up = FOOT - float((at_knee + SHANK * _hanging(lower))[1])
    scene.pose |= {"rail_z": (up,), "hip": (hip,), "knee": (knee,), "crank": (crank,), "rod": (rod - crank,)}
    scene.touch(scene.ground(), scene.shape("shank", Sphere(FOOT), Placement((0.0, 0.0, -SHANK)), "foot"))
    return scene.finish()


def _crank(lever: Floats) -> tuple[float, float]:
    """Angles of crank and rod where the lever's end is there, seen from the hip: the crank points back."""
    tip = meeting(np.zeros(2), CRANK, lever, ROD)
    assert tip is not None  # within the limits of the knee the four bars meet
    along = lever - tip
    return float(np.arctan2(-tip[0], tip[1])), float(np.arctan2(along[0], -along[1]))


def _hanging(angle: float) -> Floats:
    """The direction of a bar that hangs down, turned forward."""
    return np.array([np.sin(angle), -np.cos(angle)])
