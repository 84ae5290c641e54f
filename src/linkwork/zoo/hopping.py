# SPDX-License-Identifier: BSD-3-Clause
"""A hopper on the ground whose leg is a four-bar linkage with a spring.

Points and angles are in the x-z plane, angles counted from x toward z, as in `linkages`.
"""

from __future__ import annotations

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from linkwork.mechanism.joint_options import JointOptions
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, PointOnLine
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Prismatic, Revolute
from linkwork.model.parts import GRAVITY
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation
from linkwork.model.shapes import Box, Cylinder, Sphere
from linkwork.zoo.contact_builder import ContactScene, above_zero
from linkwork.zoo.linkages import AXIS, Bar, in_space, meeting

PIVOT = np.array([-0.073, -0.03])
THIGH, HEEL, ROD, SHANK, BEND, FOOT = 0.16, 0.044, 0.1955, 0.184, 0.087, 0.02
"""Meters: where the rod is pinned to the trunk, seen from the hip; lengths of the thigh, from the knee to the
rod's other pin, of the rod, from the knee to the foot; radians: between heel and foot at the knee; meters: the radius
of the foot. It moves up and down by 0.17 m within 2 cm of a vertical line."""

TRUNK = (0.2, 0.12, 0.08)


@converted
def hopper(
    angle: float = -0.785,
    friction: float = 0.8,
    *,
    mass: float = 2.0,
    stiffness: float = 60.0,
    damping: float = 0.0,
    height: float = 0.0,
) -> Mechanism:
    """A hopper on the ground with a spring at the hip of its four-bar leg: 5 velocities, 2 rows, 3 degrees of freedom.

    The trunk slides along x and z on rails (``rail_x``, ``rail_z``) and does not turn. Thigh, shank and rod move in the
    x-z plane; the rod pulls the knee as the thigh turns, so that one joint, ``hip``, extends the leg. The spring
    carries the weight in the pose ``"assembled"``, where the foot, a ball, touches the ground if ``height`` is 0.

    Args:
        angle: Of the thigh, in radians from the horizontal, -1.3 (stretched) to -0.3.
        friction: Coefficient of friction.
        mass: Of the trunk, in kilograms; the leg has 0.5 kg and the carriage on the rail 0.1 kg.
        stiffness: Of the spring at the hip, in N m/rad.
        damping: At the hip, in N m s/rad.
        height: Of the foot above the ground, in meters.
    """
    above_zero(stiffness, "stiffness")
    if not -1.3 <= angle <= -0.3:
        raise InputError(f"angle is {angle:g} rad, needs one between -1.3 and -0.3")
    hip = np.zeros(2)
    knee = _away(THIGH, angle)
    heel = meeting(knee, HEEL, PIVOT, ROD)
    if heel is None:
        raise InputError(f"the leg does not close at the angle {angle:g}")
    foot = knee + _away(SHANK, float(np.arctan2(*(heel - knee)[::-1])) + BEND)
    bars = {
        "thigh": Bar.between("hip", "knee", hip, knee),
        "shank": Bar.between("knee", "heel", knee, heel).with_pin("foot", knee, foot),
        "rod": Bar.between("pivot", "heel", PIVOT, heel),
    }
    masses = {"thigh": 0.2, "shank": 0.2, "rod": 0.1}
    centers = {"thigh": (hip + knee) / 2, "shank": (knee + foot) / 2, "rod": (PIVOT + heel) / 2}
    torque = _balancing_torque(knee, heel, foot, {"trunk": (mass, hip), **{b: (masses[b], centers[b]) for b in bars}})
    scene = ContactScene("hopper", friction)
    build, up = scene.build, FOOT + height - float(foot[1])
    build.body("carriage", Inertia.box(0.1, (0.04, 0.04, 0.04))).body("trunk", Inertia.box(mass, TRUNK))
    build.joint("rail_x", Prismatic("x"), WORLD, "carriage").joint("rail_z", Prismatic("z"), "carriage", "trunk")
    build.shape("trunk", Box(TRUNK), (0.0, 0.0, TRUNK[2] / 2))
    for body, bar in bars.items():
        build.body(body, _bar_inertia(masses[body], bar))
        for pin in list(bar.pins)[1:]:
            along = in_space(bar.pins[pin])
            middle = Placement(np.array(along) / 2) * _z_along(along)
            build.shape(body, Cylinder(0.4 * FOOT, float(np.linalg.norm(along))), middle)
    spring = JointOptions(stiffness=stiffness, rest=angle + torque / stiffness, damping=damping)
    build.joint("hip", Revolute(AXIS), "trunk", "thigh", actuated=True, **spring)
    build.joint("knee", Revolute(AXIS), "thigh", "shank", in_space((THIGH, 0.0)))
    build.joint("pivot", Revolute(AXIS), "trunk", "rod", in_space((float(PIVOT[0]), float(PIVOT[1]))))
    at, second_at = (in_space(bars[body].pins["heel"]) for body in ("shank", "rod"))
    build.constrain(PointOnLine("shank", "rod", name="heel", first_at=at, second_at=second_at, axis=AXIS))
    turned = bars["shank"].angle - angle
    scene.pose |= {"rail_z": (up,), "hip": (angle,), "knee": (turned,), "pivot": (bars["rod"].angle,)}
    end = Placement(in_space(bars["shank"].pins["foot"]))
    scene.touch(scene.ground(), scene.shape("shank", Sphere(FOOT), end, "foot"))
    return scene.finish()


def _balancing_torque(knee: Floats, heel: Floats, foot: Floats, bodies: dict[str, tuple[float, Floats]]) -> float:
    """Torque at the hip that carries the weight of all bodies while the foot stands.

    By virtual work: rates are those for a rate 1 of the thigh; of shank and rod, ω2 and ω3, from the velocity of the
    pin between them: ``knee' + ω2 x (heel - knee) = ω3 x (heel - pivot)``.
    """
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    rate = turn @ knee
    w2, w3 = np.linalg.solve(np.column_stack([-turn @ (heel - knee), turn @ (heel - PIVOT)]), rate)
    pinned = {"thigh": (np.zeros(2), np.zeros(2), 1.0), "shank": (rate, knee, w2), "rod": (np.zeros(2), PIVOT, w3)}

    def rises(body: str, point: Floats) -> float:
        velocity, pin, w = pinned[body]
        return float((velocity + w * turn @ (point - pin))[1])

    of_foot = rises("shank", foot)
    heights = {body: 0.0 if body == "trunk" else rises(body, p) for body, (_, p) in bodies.items()}
    return float(sum(-GRAVITY[2] * m * (heights[body] - of_foot) for body, (m, _) in bodies.items()))


def _bar_inertia(mass: float, bar: Bar) -> Inertia:
    """A rod from the first pin of a bar to the last."""
    return Inertia.rod(mass, (0.0, 0.0, 0.0), in_space(list(bar.pins.values())[-1]), radius=0.4 * FOOT)


def _z_along(direction: tuple[float, float, float]) -> Placement:
    """A rotation that takes z to a direction."""
    return Placement((0.0, 0.0, 0.0), aligning_rotation(np.array(direction) / np.linalg.norm(direction)))


def _away(distance: float, angle: float) -> Floats:
    return distance * np.array([np.cos(angle), np.sin(angle)])
