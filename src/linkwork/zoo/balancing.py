# SPDX-License-Identifier: BSD-3-Clause
"""A ball on the plate of a Stewart platform whose legs are servos."""

from __future__ import annotations

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free
from linkwork.model.placement import Placement
from linkwork.model.poses import ASSEMBLED
from linkwork.model.shapes import Box, Cylinder, Sphere
from linkwork.zoo.contact_builder import above_zero, floating
from linkwork.zoo.platforms import LEGS, stewart, stewart_pose

PLATE = (0.5, 0.5, 0.02)
HEIGHT = 0.7
"""Of the middle of the plate in the pose ``"assembled"``, in meters."""


@converted
def ball_on_stewart(
    radius: float = 0.04,
    mass: float = 0.2,
    friction: float = 0.8,
    *,
    stiffness: float = 8000.0,
    damping: float = 150.0,
    force: float = 200.0,
) -> Mechanism:
    """A ball that rests on the plate of a `stewart` platform: 30 velocities, 18 rows, 12 degrees of freedom.

    In the pose ``"assembled"`` the platform is level and the ball in its middle. The servos ``leg0`` to ``leg5`` take
    lengths of the legs, in meters.

    Args:
        radius: Of the ball, in meters.
        mass: Of the ball, in kilograms: it is hollow, with a thin shell.
        friction: Coefficient of friction between ball and plate.
        stiffness: Of the servos, in N/m.
        damping: Of the joints between the parts of a leg, in N s/m.
        force: That servos give at most, in N.
    """
    for value, name in ((radius, "radius"), (mass, "mass"), (stiffness, "stiffness"), (force, "force")):
        above_zero(value, name)
    if not damping >= 0:
        raise InputError(f"damping must be >= 0, not {damping:g}")
    platform = stewart(height=HEIGHT)
    dampers = platform.parameters["damping"].copy()
    for k in LEGS:
        dampers[platform.v_index(f"leg{k}")] = damping
    level = stewart_pose(platform, (0.0, 0.0, HEIGHT))
    build = Builder("ball on a Stewart platform").add_mechanism(platform.with_parameters(damping=dampers))
    shell = 2 / 3 * mass * (radius * radius)
    build.body("ball", Inertia(mass, (0, 0, 0), ((shell, 0, 0), (0, shell, 0), (0, 0, shell))))
    build.joint("ball", Free(), WORLD, "ball")
    build.shape("platform", Box(PLATE)).shape("ball", Sphere(radius))
    for k in LEGS:
        build.shape(f"lower{k}", Cylinder(0.02, 0.4), (0.0, 0.0, 0.2))
        build.shape(f"upper{k}", Cylinder(0.012, 0.4), (0.0, 0.0, -0.2))
        bias = (0.0, -stiffness, 0.0)
        build.actuator(f"leg{k}", f"leg{k}", gain=(stiffness, 0, 0), bias=bias, force_limits=(-force, force))
    plate, ball = ContactShape("plate", "platform", Box(PLATE)), ContactShape("ball", "ball", Sphere(radius))
    build.add_contacts([ContactPair(plate, ball, friction=friction)])
    pose = {joint.name: level[platform.q_slice(joint.name)] for joint in platform.joints}
    build.pose(ASSEMBLED, {**pose, "ball": floating(Placement((0.0, 0.0, HEIGHT + PLATE[2] / 2 + radius)))})
    return build.build()
