# SPDX-License-Identifier: BSD-3-Clause
"""Parallel platforms, with their inverse kinematics in closed form: the Stewart platform and the delta robot."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.arrays import Floats, VectorLike
from linkwork.model.constraints import WORLD, Cardan, Point, Rod
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Prismatic, Revolute, Spherical, Universal
from linkwork.model.placement import Placement, PlacementLike, as_placement
from linkwork.model.poses import ASSEMBLED
from linkwork.model.rotations import axis_rotation, quaternion_of

Foot = Literal["universal", "spherical"]
Head = Literal["spherical", "universal"]
Rods = Literal["universal", "spherical", "rod"]

LEGS = range(6)
ARMS = range(3)
SIDES = ("left", "right")


# Stewart platform ------------------------------------------------------------------------------------


@converted
def stewart(
    foot: Foot = "universal",
    head: Head = "spherical",
    base: float = 0.6,
    platform: float = 0.35,
    spread: float = 0.25,
    height: float = 0.7,
) -> Mechanism:
    """A platform on six legs that change their length; six degrees of freedom.

    Each leg stands on the world on a universal joint, slides, and meets the platform in a `Point` (24 velocities, 18
    rows). With a ``"spherical"`` foot a leg can spin, six degrees of freedom more, unless its ``head`` is
    ``"universal"``: a `Cardan` (30 velocities, 24 rows). With universal joints at both ends, the axes of
    all feet parallel, the platform turns about x only: four degrees of freedom, and rows are redundant (24
    velocities, 24 rows of rank 20).

    Joints stand on circles of radius ``base`` and ``platform``, in pairs ``2 spread`` radians apart. Assembled, the
    platform is ``height`` above the base, a little turned and to the side; `stewart_pose` finds other poses.

    Args:
        foot: Joint of a leg on the world.
        head: Joint of a leg at the platform.
        base: Radius of the circle of feet, in meters.
        platform: Radius of the circle of heads, in meters.
        spread: Half the angle between the two legs of a pair, seen from the middle, in radians.
        height: Of the platform in the pose ``"assembled"``, in meters.
    """
    if foot not in ("universal", "spherical") or head not in ("universal", "spherical"):
        raise InputError(f"foot '{foot}' and head '{head}' are each universal or spherical")
    build = Builder(f"Stewart platform ({foot} feet, {head} heads)")
    build.body("platform", Inertia.box(2.0, (platform, platform, 0.05)))
    build.joint("platform", Free(), WORLD, "platform")
    for k in LEGS:
        pair, side = divmod(k, 2)
        sign = 2 * side - 1
        stand = _on_circle(base, 2 * np.pi / 3 * pair + sign * spread)
        # Heads of one pair of feet go to different pairs of heads, which are turned by 60 degrees.
        meet = _on_circle(platform, 2 * np.pi / 3 * pair + sign * (np.pi / 3 - spread))
        build.body(f"lower{k}", Inertia.rod(0.6, (0, 0, 0), (0, 0, 0.4), radius=0.02))
        build.body(f"upper{k}", Inertia.rod(0.4, (0, 0, -0.4), (0, 0, 0), radius=0.012))
        turning = Universal("x", "y") if foot == "universal" else Spherical()
        build.joint(f"foot{k}", turning, WORLD, f"lower{k}", at=stand)
        build.joint(f"leg{k}", Prismatic("z"), f"lower{k}", f"upper{k}", actuated=True)
        build.frame(f"head{k}", on="platform", at=meet)
        if head == "spherical":
            build.constrain(Point(f"head{k}", f"upper{k}", name=f"head{k}"))
        else:
            build.constrain(Cardan(f"head{k}", f"upper{k}", name=f"head{k}", axis="x", second_axis="y"))
    turns = foot == "spherical" or head == "spherical"
    at = (0.05, -0.03, height)
    robot = build.build()
    where = Placement.rpy(0.1, -0.15, 0.2, position=at) if turns else Placement.rpy(0.1, 0.0, 0.0, position=at)
    return replace(robot, poses={ASSEMBLED: stewart_pose(robot, where)})


@converted
def stewart_pose(robot: Mechanism, placement: PlacementLike) -> Floats:
    """The configuration of a `stewart` platform whose platform is at ``placement``, ``(nq,)``: closed form.

    Where feet and heads are both universal, only a placement turned about x closes the legs.

    Args:
        robot: A `stewart` platform.
        placement: Of the platform, in the world.
    """
    where = as_placement(placement)
    q = robot.neutral()
    q[robot.q_slice("platform")] = [*where.position, *where.quaternion]
    for k in LEGS:
        joint = robot.joint(f"foot{k}")
        meet = where * robot.frame(f"head{k}").placement
        d = meet.position - joint.placement.position
        length = float(np.linalg.norm(d))
        if isinstance(joint.type, Universal):
            q[robot.q_slice(f"foot{k}")] = universal_angles(d)
        else:  # z along the leg, y normal to the axis of the head that the platform carries
            z = d / length
            y = np.cross(z, meet.rotation[:, 0])
            y /= np.linalg.norm(y)
            q[robot.q_slice(f"foot{k}")] = quaternion_of(np.column_stack([np.cross(y, z), y, z]))
        q[robot.q_index(f"leg{k}")] = length
    return q


def universal_angles(d: VectorLike) -> Floats:
    """Angles of ``Universal("x", "y")`` that turn z into the direction of ``d``: ``Rx(a) Ry(b) z = d / |d|``."""
    x, y, z = (float(k) for k in d)
    return np.array([np.arctan2(-y, z), np.arctan2(x, np.hypot(y, z))])


# Delta robot -----------------------------------------------------------------------------------------


@converted
def delta(
    rods: Rods = "universal",
    base: float = 0.2,
    platform: float = 0.06,
    arm: float = 0.25,
    rod: float = 0.6,
    width: float = 0.08,
    tool: VectorLike = (0.05, -0.04, -0.6),
) -> Mechanism:
    """A delta robot: three arms, each with a parallelogram of two rods to the platform, which does not turn.

    Three degrees of freedom, those of the platform's position. Rods hang on the elbows by ``"universal"`` joints and
    meet the platform in a `Point` (21 velocities, 18 rows); by ``"spherical"`` joints, each can spin (27 velocities, 9
    degrees of freedom); as ``"rod"``, they have no mass and are `Rod` constraints (9 velocities, 6 rows).

    Hips stand on a circle of radius ``base`` in the plane z = 0, rods end on one of radius ``platform``; the two
    rods of an arm are ``width`` apart. Assembled, the platform is at ``tool``; `delta_pose` finds other poses. Dropped
    without motors, its arms stretch within 0.25 s, where universal joints of rods come to a singular direction and
    turn at 1000 rad/s: there `simulate` needs ``rk4``, which it chooses, or steps of 0.1 ms.

    Args:
        rods: Joints of the rods.
        base: Radius of the circle of hips, in meters.
        platform: Radius of the circle of wrists, in meters.
        arm: Length of the arms, in meters.
        rod: Length of the rods, in meters.
        width: Distance of the two rods of an arm, in meters.
        tool: Position of the platform in the pose ``"assembled"``.
    """
    if rods not in ("universal", "spherical", "rod"):
        raise InputError(f"rods '{rods}' are none of universal, spherical, rod")
    build = Builder(f"delta robot ({rods} rods)")
    build.body("platform", Inertia.box(0.2, (2 * platform, 2 * platform, 0.02)))
    build.joint("platform", Free(), WORLD, "platform")
    for k in ARMS:
        azimuth = axis_rotation((0, 0, 1), 2 * np.pi / 3 * k)
        hip = Placement(azimuth @ [base, 0.0, 0.0], azimuth)
        build.body(f"arm{k}", Inertia.rod(0.4, (0, 0, 0), (arm, 0, 0)))
        build.joint(f"arm{k}", Revolute("y"), WORLD, f"arm{k}", at=hip, actuated=True)
        for side, offset in zip(SIDES, (width / 2, -width / 2), strict=True):
            name = f"{side}{k}"
            build.frame(f"elbow_{name}", on=f"arm{k}", at=(arm, offset, 0.0))
            build.frame(f"wrist_{name}", on="platform", at=azimuth @ [platform, offset, 0.0])
            if rods == "rod":
                build.constrain(Rod(f"elbow_{name}", f"wrist_{name}", name=name, length=rod))
                continue
            build.body(f"rod_{name}", Inertia.rod(0.06, (0, 0, 0), (0, 0, rod), radius=0.005))
            turning = Universal("x", "y") if rods == "universal" else Spherical()
            build.joint(f"rod_{name}", turning, f"arm{k}", f"rod_{name}", at=(arm, offset, 0.0))
            build.constrain(Point(f"wrist_{name}", f"rod_{name}", name=name, second_at=(0.0, 0.0, rod)))
    robot = build.build()
    return replace(robot, poses={ASSEMBLED: delta_pose(robot, tool)})


@converted
def delta_pose(robot: Mechanism, tool: VectorLike) -> Floats:
    """The configuration of a `delta` robot whose platform is at ``tool``, ``(nq,)``: closed form, elbows outwards.

    In the plane of an arm, with the elbow at ``a (cos t, -sin t)`` from the hip and the wrist at ``(x, z)``, ``y``
    aside, the rod's length ``l`` asks for ``x cos t - z sin t = (x² + y² + z² + a² - l²) / (2 a)``.

    Args:
        robot: A `delta` robot.
        tool: Position of the platform, in the world.
    """
    q = robot.neutral()
    at = np.array(tool, dtype=np.float64)
    q[robot.q_slice("platform")] = [*at, 0.0, 0.0, 0.0, 1.0]
    for k in ARMS:
        hip = robot.joint(f"arm{k}").placement
        elbow = robot.frame(f"elbow_left{k}").placement.position
        wrist = hip.rotation.T @ (at + robot.frame(f"wrist_left{k}").placement.position - hip.position)
        x, y, z = wrist - [0.0, elbow[1], 0.0]
        a, l = float(elbow[0]), _rod_length(robot, f"left{k}")
        reach, wanted = float(np.hypot(x, z)), float((x**2 + y**2 + z**2 + a**2 - l**2) / (2 * a))
        if abs(wanted) > reach:
            raise InputError(f"arm {k} does not reach a platform at {at.tolist()}")
        t = float(np.arctan2(-z, x)) - float(np.arccos(wanted / reach))
        q[robot.q_index(f"arm{k}")] = t
        for side in SIDES:
            if f"rod_{side}{k}" not in robot.joint_names:
                continue
            d = axis_rotation((0, 1, 0), t).T @ (wrist - a * np.array([np.cos(t), 0.0, -np.sin(t)]) - [0, elbow[1], 0])
            angles = universal_angles(d)
            joint = robot.joint(f"rod_{side}{k}")
            turned = axis_rotation((1, 0, 0), angles[0]) @ axis_rotation((0, 1, 0), angles[1])
            q[robot.q_slice(joint.name)] = angles if isinstance(joint.type, Universal) else quaternion_of(turned)
    return q


def _rod_length(robot: Mechanism, name: str) -> float:
    constraint = robot.constraint(name)
    if isinstance(constraint, Rod):
        return float(constraint.length)
    if isinstance(constraint, Point):
        return float(as_placement(constraint.second_at).position[2])
    raise InputError(f"robot '{robot.name}' is not of the zoo's delta robots: {constraint} is no rod")


def _on_circle(radius: float, angle: float) -> tuple[float, float, float]:
    return (float(radius * np.cos(angle)), float(radius * np.sin(angle)), 0.0)
