# SPDX-License-Identifier: BSD-3-Clause
"""A ratchet: a toothed wheel and a pawl, by contact of the round tip of the pawl with every tooth."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from linkwork.conversions import converted
from linkwork.inputs import above_zero
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Revolute
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Capsule, Cylinder, Sphere
from linkwork.zoo.contact_builder import ContactScene
from linkwork.zoo.places import at_least

PRESSED = 0.5
"""Angle by which the spring of the pawl is bent, in radians."""
LEAN = 0.35
"""Angle between the pawl and the back of the tooth that it rests on, in radians: loads press it into the teeth."""


@converted
def ratchet(
    teeth: int = 12, radius: float = 0.05, height: float = 0.008, press: float = 0.02, friction: float = 0.2
) -> Mechanism:
    """A ratchet that turns counterclockwise, click by click, and holds clockwise.

    The wheel (joint ``wheel``, about z) has a bar for each tooth; its back lifts the pawl (joint ``pawl``), which a
    spring turns inward and which drops behind the tooth; the front of a tooth then stands on the tip of the pawl, in
    line with its pivot, and cannot pass. In the pose ``"assembled"`` the pawl rests on the middle of a tooth.

    Args:
        teeth: Number of teeth.
        radius: From which teeth rise, in meters.
        height: Of a tooth, in meters; the tip of the pawl has a third of it for a radius.
        press: Torque of the spring on the pawl, in Nm.
        friction: Coefficient of friction of tip and teeth.
    """
    at_least(teeth, 8, "teeth")
    tip, depth, pitch = above_zero(height, "height") / 3, above_zero(radius, "radius") / 4, 2 * pi / teeth
    scene = ContactScene(f"ratchet of {teeth} teeth", friction)
    build = scene.build
    build.body("wheel", Inertia.disc(0.3, radius, depth, axis="z"))
    build.joint("wheel", Revolute("z"), WORLD, "wheel", damping=5e-3, actuated=True)
    build.shape("wheel", Cylinder(radius, 0.8 * depth))
    root, edge = _polar(radius, pi / 2 + pitch / 2), _polar(radius + height, pi / 2 - pitch / 2)
    length = float(np.linalg.norm(edge - root))
    along = (edge - root) / length
    outward = np.cross((0.0, 0.0, 1.0), along)
    back = Placement((root + edge) / 2, np.column_stack([along, outward, (0.0, 0.0, 1.0)]))
    bar = Box((length, height, depth))
    bars = [
        scene.shape("wheel", bar, Placement.rpy(0, 0, k * pitch) * back * Placement((0, -height / 2, 0)), f"tooth{k}")
        for k in range(teeth)
    ]
    arm = radius * (cos(LEAN) * along + sin(LEAN) * outward)
    build.body("pawl", Inertia.rod(0.02, (0.0, 0.0, 0.0), tuple(-arm), tip))
    at = back.position + tip * outward + arm
    stiffness = above_zero(press, "press") / PRESSED
    build.joint("pawl", Revolute("z"), WORLD, "pawl", at, stiffness=stiffness, rest=PRESSED, damping=1e-4)
    inward = -arm / np.linalg.norm(arm)
    axes = np.column_stack([np.cross((0.0, 0.0, 1.0), inward), (0.0, 0.0, 1.0), inward])
    build.shape("pawl", Capsule(tip, float(np.linalg.norm(arm))), Placement(-arm / 2, axes))
    scene.pose |= {"wheel": (0.0,), "pawl": (0.0,)}
    round_tip = scene.shape("pawl", Sphere(tip), Placement(-arm))
    for tooth in bars:
        scene.touch(tooth, round_tip, 1)
    return scene.finish()


def _polar(radius: float, angle: float) -> np.ndarray:
    return np.array([radius * cos(angle), radius * sin(angle), 0.0])
