# SPDX-License-Identifier: BSD-3-Clause
"""Round bodies on the ground: balls, a disc, tops, Painlevé's rod, and Newton's cradle.

A body that floats has a `Free` joint of its name with the velocities ``[linear, angular]`` in the body's axes, to be
set for those scenes that start in motion.
"""

from __future__ import annotations

from itertools import pairwise
from math import atan, cos, isfinite, pi, sin

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import VectorLike, finite_array
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Revolute
from linkwork.model.placement import Placement
from linkwork.model.shapes import Cylinder, Ellipsoid, Sphere
from linkwork.zoo.contact_builder import ContactScene, above_zero, reach
from linkwork.zoo.places import at_least, turn

RAISED = "raised"
"""The pose of `newtons_cradle` in which the first ball is raised."""


@converted
def bouncing_ball(
    restitution: float = 0.8, height: float = 1.0, *, radius: float = 0.1, mass: float = 1.0, friction: float = 0.5
) -> Mechanism:
    """A ball above the ground, to fall and bounce: each time to ``restitution²`` of the height before.

    Args:
        restitution: Newton's coefficient of restitution, 0 to 1.
        height: Of the gap below the ball, in meters.
        radius: In meters.
        mass: In kilograms.
        friction: Coefficient of friction.
    """
    scene = ContactScene("bouncing ball", friction, restitution)
    where = Placement((0.0, 0.0, radius + height))
    scene.touch(scene.ground(), scene.free("ball", Inertia.sphere(mass, radius), Sphere(radius), where))
    return scene.finish()


@converted
def rolling_sphere(angle: float = 0.0, friction: float = 0.5, *, radius: float = 0.1, mass: float = 1.0) -> Mechanism:
    """A ball on the ground or on a slope that goes down along x.

    It rolls on a slope of less than ``tan(angle) = 7/2 friction``, and gains ``5/7 g sin(angle)``. Of a ball that is
    pushed without spin, 5/7 of the velocity remain when it rolls.

    Args:
        angle: Of the slope, in radians.
        friction: Coefficient of friction.
        radius: In meters.
        mass: In kilograms.
    """
    scene, slope = ContactScene("rolling sphere", friction), turn("y", angle)
    ball = scene.free("ball", Inertia.sphere(mass, radius), Sphere(radius), slope * Placement((0.0, 0.0, radius)))
    scene.touch(scene.ground(slope), ball)
    return scene.finish()


@converted
def spinning_disc(
    tilt: float = 0.0, friction: float = 0.3, *, radius: float = 0.1, thickness: float = 0.02, mass: float = 1.0
) -> Mechanism:
    """A disc that lies on the ground, to be spun about its axis z, or stands tilted on its rim as Euler's disc.

    It lies on four points of its rim: friction slows its spin by ``2 friction g / radius``.

    Args:
        tilt: Angle between the disc and the ground, in radians.
        friction: Coefficient of friction.
        radius: In meters.
        thickness: In meters.
        mass: In kilograms.
    """
    scene, solid, turned = ContactScene("spinning disc", friction), Cylinder(radius, thickness), turn("x", tilt)
    where = Placement((0.0, 0.0, reach(solid, turned.rotation, (0.0, 0.0, -1.0)))) * turned
    inertia = Inertia.rod(mass, (0.0, 0.0, -thickness / 2), (0.0, 0.0, thickness / 2), radius)
    scene.touch(scene.ground(), scene.free("disc", inertia, solid, where), 4)
    return scene.finish()


@converted
def spinning_top(
    tilt: float = 0.2, friction: float = 0.3, *, radius: float = 0.03, height: float = 0.03, mass: float = 0.1
) -> Mechanism:
    """A top on its round tip: a disc on a stem, to be spun about its axis z.

    Contacts are of the tip and of the disc, with which it comes to lie. The frame of the body is at the center of the
    tip.

    Args:
        tilt: Angle of the axis from the vertical, in radians.
        friction: Coefficient of friction.
        radius: Of the disc, in meters.
        height: Of the center of the disc above that of the tip, in meters.
        mass: Of the disc, in kilograms; the stem has a twentieth of it.
    """
    tip, thickness, stem = 0.1 * radius, 0.3 * radius, 2.5 * height
    if not isfinite(tilt) or not height * cos(tilt) - radius * sin(tilt) - thickness / 2 * cos(tilt) > -tip:
        raise InputError(f"tilt is {tilt:g} rad: the disc would be in the ground; try a smaller one")
    scene, center = ContactScene("spinning top", friction), Placement((0.0, 0.0, height))
    low, high = ((0.0, 0.0, height + sign * thickness / 2) for sign in (-1, 1))
    inertia = Inertia.rod(mass, low, high, radius) + Inertia.rod(mass / 20, (0.0, 0.0, 0.0), (0.0, 0.0, stem), tip / 2)
    touching = scene.free("top", inertia, Sphere(tip), Placement((0.0, 0.0, tip)) * turn("x", tilt))
    disc, ground = scene.shape("top", Cylinder(radius, thickness), center, "disc"), scene.ground()
    scene.build.shape("top", Cylinder(tip / 2, stem), (0.0, 0.0, stem / 2))
    scene.touch(ground, touching)
    scene.touch(ground, disc, 4)
    return scene.finish()


@converted
def rattleback(
    radii: VectorLike = (0.2, 0.03, 0.02),
    friction: float = 1.0,
    *,
    mass: float = 1.0,
    drop: float = 0.01,
    moments: VectorLike = (2e-4, 1.6e-3, 1.7e-3),
    product: float = 2e-5,
) -> Mechanism:
    """A rattleback (celt): an ellipsoid whose axes of inertia are not those of its shape.

    Spun the wrong way about z it begins to rattle, stops, and turns the other way. The numbers are those of Kane and
    Levinson, "Realistic mathematical modeling of the rattleback" (1982).

    Args:
        radii: Semi-axes, in meters, the shortest along z.
        friction: Coefficient of friction.
        mass: In kilograms.
        drop: Distance of the center of mass below the center of the ellipsoid, in meters.
        moments: Moments of inertia about x, y, z through the center of mass, in kg m².
        product: Of inertia, ``I_xy``, in kg m²; its sign is the side to which it turns by preference.
    """
    a, b, c = (above_zero(float(axis), "radii") for axis in finite_array(radii, (3,), "radii"))
    rotational = np.diag(finite_array(moments, (3,), "moments"))
    rotational[0, 1] = rotational[1, 0] = product
    scene, solid = ContactScene("rattleback", friction), Ellipsoid((a, b, c))
    body = scene.free("celt", Inertia(mass, (0.0, 0.0, -drop), rotational), solid, Placement((0.0, 0.0, c)))
    scene.touch(scene.ground(), body)
    return scene.finish()


@converted
def painleve_rod(
    friction: float = 2.0, angle: float = atan(2.0), *, length: float = 1.0, radius: float = 0.005, mass: float = 1.0
) -> Mechanism:
    """A thin rod that stands on one end on rough ground, to slide along x: Painlevé's paradox.

    While the end slides along +x, a force on it accelerates it into the ground if ``friction`` is more than
    ``(1 + 3 cos²) / (3 sin cos)`` of the angle, at least 4/3: no finite force keeps the rod from penetrating, and an
    impact without collision ends the motion.

    Args:
        friction: Coefficient of friction.
        angle: Between the rod and the ground, in radians; the rod is above the ground behind its end, at smaller x.
        length: In meters, between the centers of its round ends.
        radius: In meters.
        mass: In kilograms.
    """
    if not 0 < angle < pi:
        raise InputError(f"angle is {angle:g} rad, needs one between 0 and π")
    scene, half = ContactScene("Painlevé's rod", friction), length / 2
    where = Placement((0.0, 0.0, radius)) * turn("y", angle - pi / 2) * Placement((0.0, 0.0, half))
    inertia = Inertia.rod(mass, (0.0, 0.0, -half), (0.0, 0.0, half), radius)
    rod = scene.free("rod", inertia, Cylinder(radius, length, rounded=True), where)
    scene.touch(scene.ground(), rod, 2)
    return scene.finish()


@converted
def newtons_cradle(
    balls: int = 5,
    restitution: float = 1.0,
    *,
    gap: float = 0.0,
    raised: float = 0.5,
    radius: float = 0.02,
    length: float = 0.2,
    mass: float = 0.1,
) -> Mechanism:
    """Balls on pendulums in a row along x that touch their neighbors without friction.

    They hang in the pose ``"assembled"``; in the pose ``"raised"`` the first is raised. Joints are called as the
    balls, ``ball0`` and so on, and turn about y.

    Args:
        balls: Number of balls.
        restitution: Newton's coefficient of restitution.
        gap: Between neighbors, in meters. Where it is more than a ball moves in a time step, balls collide one after
            the other, otherwise at once.
        raised: Angle of the first ball in the pose ``"raised"``, in radians.
        radius: Of the balls, in meters.
        length: From the pivots to the centers of balls, in meters.
        mass: Of a ball, in kilograms.
    """
    at_least(balls, 1, "balls")
    if not gap >= 0:
        raise InputError(f"gap is {gap:g} m, must be >= 0")
    scene, center = ContactScene("Newton's cradle", 0.0, restitution), (0.0, 0.0, -length)
    row = []
    for k in range(balls):
        body, pivot = f"ball{k}", (k * (2 * radius + gap), 0.0, 1.5 * length)
        scene.build.body(body, Inertia.sphere(mass, radius, center))
        scene.build.joint(body, Revolute("y"), WORLD, body, pivot)
        scene.pose[body] = (0.0,)
        row.append(scene.shape(body, Sphere(radius), Placement(center)))
        scene.build.shape(body, Cylinder(0.05 * radius, length), (0.0, 0.0, -length / 2))
    for ball, following in pairwise(row):
        scene.touch(ball, following)
    return scene.finish({RAISED: {"ball0": (raised,)}})
