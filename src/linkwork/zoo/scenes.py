"""Robots that stand or have fallen, their contacts held (**delassus** Table I).

A contact holds its point in all three directions (`Point`, 3 rows), and joint friction holds the rate of a joint
(`JointLock`, 1 row each), as the Delassus operator sees them. The paper's robots are Unitree's Go2 and G1; `quadruped`
and `small_humanoid` have their joints, sizes and masses, the bodies being boxes. Where the paper gives numbers of
contacts only, postures and points are chosen here: limbs are balls at their ends, turned at their joints until these
rest on the ground.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import atan2, hypot, pi
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import real_array
from linkwork.mechanism import Builder, Mechanism, compose
from linkwork.model import lie
from linkwork.model.arrays import Floats, VectorLike
from linkwork.model.constraints import WORLD, Constraint, JointLock, Point
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Revolute
from linkwork.model.placement import Placement, as_placement
from linkwork.zoo.contacts import pyramid
from linkwork.zoo.places import ASSEMBLED, at_least, placements, turn

Vector = tuple[float, float, float]
Contact = tuple[str, VectorLike] | tuple[str, str, VectorLike]
"""A body or frame and a point of it that touches the ground, or with the name of what it touches in between."""

STANDING = "standing"
"""The pose of the robots here in which they stand on flat ground."""

SIDES = (("left", 1.0), ("right", -1.0))


# Contacts held as they are -----------------------------------------------------------------------------


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
        joint_friction: Whether the rate of every joint of plain coordinates is held too (revolute, prismatic and their
            kin, not a free base): ``friction_joint``, a row for each degree of freedom.
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
        plain = [joint.name for joint in robot.joints if joint.type.group is lie.VECTOR]
        held += [JointLock(joint, at[robot.q_slice(joint)].tolist(), name=f"friction_{joint}") for joint in plain]
    bound = robot.constrained(*held)
    return replace(bound, name=robot.name if name is None else name, poses={**robot.poses, ASSEMBLED: at})


def _contact(robot: Mechanism, k: int, item: Contact) -> tuple[str, str, Floats]:
    """The two places of a contact and its point on the first, checked."""
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise InputError(f"contacts[{k}] is (body, point) or (body, other body, point), not {item!r}")
    *named, given = item
    places = [str(place) for place in named] + [WORLD] * (3 - len(item))
    bodies = [robot.frame(place).body for place in places]
    if bodies[0] == bodies[1]:
        raise InputError(f"contacts[{k}]: '{places[0]}' and '{places[1]}' are both part of '{bodies[0]}'")
    point = real_array(given, f"contacts[{k}]: the point").astype(np.float64)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise InputError(f"contacts[{k}]: the point on '{places[0]}' is three finite numbers, not {given!r}")
    return places[0], places[1], point


# What rests on the ground ------------------------------------------------------------------------------


class _Ball(NamedTuple):
    """A round part of a body, such as a foot; a corner has no radius."""

    body: str
    center: Vector
    radius: float = 0.0


def _lowest(robot: Mechanism, q: Floats, balls: Sequence[_Ball]) -> list[tuple[str, Floats]]:
    """The lowest point of each ball, as contacts with the ground."""
    where = placements(robot, q, list({ball.body: None for ball in balls}))
    down = {body: placement.rotation.T @ (0.0, 0.0, -1.0) for body, placement in where.items()}
    return [(ball.body, np.array(ball.center) + ball.radius * down[ball.body]) for ball in balls]


def _lowered(robot: Mechanism, q: Floats, balls: Sequence[_Ball]) -> Floats:
    """The floating robot moved down, or up, until the lowest ball touches the ground."""
    q, where = q.copy(), placements(robot, q, list({ball.body: None for ball in balls}))
    q[2] -= min((where[ball.body] * Placement(ball.center)).position[2] - ball.radius for ball in balls)
    return q


def _settled(robot: Mechanism, q: Floats, rests: Mapping[str, _Ball]) -> Floats:
    """Joints turned, by Newton's method, until each of as many balls rests on the ground.

    A joint about the unit axis a through o moves a point p by a × (p - o) per angle, if it carries it.
    """
    q, joints, balls = q.copy(), [robot.joint(name) for name in rests], list(rests.values())
    axes = [joint.type.axis for joint in joints if isinstance(joint.type, Revolute)]
    above = {joint.child: joint.parent for joint in robot.joints}
    carried = np.array([[_carries(above, joint.child, ball.body) for joint in joints] for ball in balls])
    turned = [robot.q_index(name) for name in rests]
    for _ in range(10):
        where = placements(robot, q, list(above))
        p = np.array([(where[ball.body] * Placement(ball.center)).position for ball in balls])
        height = p[:, 2] - [ball.radius for ball in balls]
        if np.abs(height).max() < 1e-15:
            break
        o = np.array([where[joint.child].position for joint in joints])
        a = np.array([where[joint.child].rotation @ axis for joint, axis in zip(joints, axes, strict=True)])
        q[turned] -= np.linalg.solve(np.cross(a, p[:, None] - o)[..., 2] * carried, height)
    return q


def _carries(above: Mapping[str, str], body: str, other: str) -> bool:
    while other not in (body, WORLD):
        other = above[other]
    return other == body


def _posed(robot: Mechanism, angles: Mapping[str, float], base: Placement) -> Floats:
    """A configuration of a floating robot."""
    q = robot.neutral()
    q[robot.q_slice("base")] = [*base.position, *base.quaternion]
    for joint, angle in angles.items():
        q[robot.q_index(joint)] = angle
    return q


# A quadruped -------------------------------------------------------------------------------------------

LEGS = tuple((f"{end}_{side}", x, y) for end, x in (("front", 1.0), ("rear", -1.0)) for side, y in SIDES)
TRUNK = (0.376, 0.094, 0.114)
SHANK = 0.213
FOOT = 0.022
"""Meters: the trunk's edges, the length of thighs and of shins, and the radius of feet and knees."""


def quadruped() -> Mechanism:
    """A floating quadruped of 15 kg like Unitree's Go2: a trunk of 6.9 kg, legs of three joints, 18 velocities.

    A leg, such as ``front_left``, turns about x and y at its hip and about y at its knee; frames ``front_left_foot``
    are at the centers of its feet. It stands in the pose ``"standing"``.
    """
    build = Builder("quadruped")
    build.body("trunk", Inertia.box(6.92, TRUNK, com=(0.021, 0.0, -0.005)))
    build.joint("base", Free(), WORLD, "trunk")
    for leg, x, y in LEGS:
        links = (
            (f"{leg}_hip", "x", (0.1934 * x, 0.0465 * y, 0.0), Inertia.box(0.678, (0.09, 0.07, 0.09)), 1.05, -1.05),
            (f"{leg}_thigh", "y", (0.0, 0.0955 * y, 0.0), _hanging(1.152, SHANK, 0.04), 3.49, -1.57),
            (f"{leg}_shin", "y", (0.0, 0.0, -SHANK), _hanging(0.2814, SHANK, 0.025), -0.83, -2.73),
        )
        parent = "trunk"
        for body, axis, at, inertia, upper, lower in links:
            build.body(body, inertia)
            build.joint(f"{body}_joint", Revolute(axis), parent, body, at, lower=lower, upper=upper, actuated=True)
            parent = body
        build.frame(f"{leg}_foot", on=parent, at=(0.0, 0.0, -SHANK))
    robot = build.build()
    bent = {f"{leg}_{link}_joint": angle for leg, *_ in LEGS for link, angle in (("thigh", 0.9), ("shin", -1.8))}
    q = _lowered(robot, _posed(robot, bent, Placement()), [_foot(leg) for leg, *_ in LEGS])
    return replace(robot, poses={STANDING: q})


def _hanging(mass: float, length: float, width: float) -> Inertia:
    return Inertia.box(mass, (width, width, length), com=(0.0, 0.0, -length / 2))


def _foot(leg: str) -> _Ball:
    return _Ball(f"{leg}_shin", (0.0, 0.0, -SHANK), FOOT)


def _knee(leg: str) -> _Ball:
    return _Ball(f"{leg}_thigh", (0.0, 0.0, -SHANK), FOOT)


def quadruped_standing(joint_friction: bool = False) -> Mechanism:
    """The quadruped on its four feet: 4 contacts and 12 rows, 24 with joint friction (**delassus** Table I).

    Args:
        joint_friction: Whether rates of joints are held as well, as by dry friction: a row for each degree of freedom.
    """
    robot = quadruped()
    q = robot.poses[STANDING]
    contacts = _lowest(robot, q, [_foot(leg) for leg, *_ in LEGS])
    return resting(robot, q, contacts, joint_friction=joint_friction, name="quadruped standing")


def quadruped_fallen(joint_friction: bool = False) -> Mechanism:
    """The quadruped on its belly: 9 contacts and 27 rows, with joint friction 10 and 42 (**delassus** Table I).

    Four corners of the trunk, knees and feet of the splayed front legs, and a rear foot touch the ground; with joint
    friction both rear feet do. Otherwise the other leg is in the air.

    Args:
        joint_friction: Whether rates of joints are held as well, as by dry friction: a row for each degree of freedom.
    """
    robot = quadruped()
    angles: dict[str, float] = {}
    for leg, x, y in LEGS:
        thigh, shin = (1.0, -2.6) if x > 0 else (2.2, -2.5) if y > 0 or joint_friction else (2.6, -1.5)
        splay = 0.6 * y if x > 0 else 0.4 * y
        angles |= {f"{leg}_hip_joint": splay, f"{leg}_thigh_joint": thigh, f"{leg}_shin_joint": shin}
    rests = {f"{leg}_thigh_joint": _knee(leg) for leg, x, _ in LEGS if x > 0}
    rests |= {f"{leg}_shin_joint": _foot(leg) for leg, x, y in LEGS if x > 0 or y > 0 or joint_friction}
    q = _settled(robot, _posed(robot, angles, Placement((0.0, 0.0, TRUNK[2] / 2))), rests)
    belly = [_Ball("trunk", (x, y, -TRUNK[2] / 2)) for x, y in _corners(TRUNK[0] / 2, TRUNK[1] / 2)]
    contacts = _lowest(robot, q, [*belly, *rests.values()])
    return resting(robot, q, contacts, joint_friction=joint_friction, name="quadruped fallen")


def _corners(x: float, y: float) -> list[tuple[float, float]]:
    """Of a rectangle about the origin."""
    return [(i * x, j * y) for i, j in product((-1, 1), repeat=2)]


# A humanoid --------------------------------------------------------------------------------------------


class _Link(NamedTuple):
    """A link on a revolute joint, of the left side: axis, place on the link before, box, and limits of the joint."""

    name: str
    axis: str
    at: Vector
    mass: float
    size: Vector
    com: Vector
    limits: tuple[float, float]


LEG = (
    _Link("hip_pitch", "y", (0.0, 0.064, -0.10), 1.35, (0.09, 0.1, 0.09), (0.0, 0.04, -0.01), (-2.53, 2.88)),
    _Link("hip_roll", "x", (0.0, 0.052, -0.03), 1.52, (0.09, 0.08, 0.14), (0.0, 0.0, -0.05), (-0.52, 2.96)),
    _Link("hip_yaw", "z", (0.0, 0.0, -0.12), 1.70, (0.09, 0.09, 0.2), (0.0, 0.0, -0.08), (-2.75, 2.75)),
    _Link("knee", "y", (0.0, 0.0, -0.18), 1.93, (0.08, 0.07, 0.3), (0.0, 0.0, -0.13), (-0.087, 2.88)),
    _Link("ankle_pitch", "y", (0.0, 0.0, -0.30), 0.10, (0.04, 0.03, 0.03), (0.0, 0.0, 0.0), (-0.87, 0.52)),
    _Link("ankle_roll", "x", (0.0, 0.0, -0.018), 0.61, (0.17, 0.06, 0.04), (0.035, 0.0, -0.015), (-0.26, 0.26)),
)
WAIST = (
    _Link("waist_yaw", "z", (0.0, 0.0, 0.0), 0.30, (0.06, 0.06, 0.04), (0.0, 0.0, 0.02), (-2.61, 2.61)),
    _Link("waist_roll", "x", (0.0, 0.0, 0.035), 0.20, (0.05, 0.06, 0.04), (0.0, 0.0, 0.01), (-0.52, 0.52)),
    _Link("torso", "y", (0.0, 0.0, 0.019), 9.30, (0.14, 0.22, 0.36), (0.0, 0.0, 0.19), (-0.52, 0.52)),
)
ARM = (
    _Link("shoulder_pitch", "y", (0.0, 0.10, 0.24), 0.72, (0.06, 0.08, 0.06), (0.0, 0.03, -0.01), (-3.08, 2.67)),
    _Link("shoulder_roll", "x", (0.0, 0.04, -0.01), 0.64, (0.06, 0.06, 0.1), (0.0, 0.0, -0.05), (-1.58, 2.25)),
    _Link("shoulder_yaw", "z", (0.0, 0.0, -0.10), 0.73, (0.05, 0.05, 0.1), (0.0, 0.0, -0.04), (-2.61, 2.61)),
    _Link("elbow", "y", (0.0, 0.0, -0.08), 0.60, (0.05, 0.05, 0.1), (0.0, 0.0, -0.05), (-2.6, 0.5)),
    _Link("wrist_roll", "z", (0.0, 0.0, -0.10), 0.09, (0.04, 0.04, 0.04), (0.0, 0.0, -0.02), (-1.97, 1.97)),
    _Link("wrist_pitch", "y", (0.0, 0.0, -0.04), 0.48, (0.04, 0.05, 0.06), (0.0, 0.0, -0.02), (-1.61, 1.61)),
    _Link("hand", "x", (0.0, 0.0, -0.05), 0.25, (0.04, 0.06, 0.12), (0.0, 0.0, -0.06), (-1.61, 1.61)),
)
DEPTH = 0.07
"""Meters: from the middle of torso and pelvis to the back; also the radius of the head."""


def small_humanoid() -> Mechanism:
    """A floating humanoid of 35 kg and 1.3 m like Unitree's G1: 29 revolute joints, 35 velocities.

    Legs have six joints, arms seven and the waist three, named as the body that they carry: ``left_knee_joint``.
    Limbs hang straight at rest; it stands in the pose ``"standing"``.
    """
    build = Builder("small humanoid")
    build.body("pelvis", Inertia.box(3.81, (2 * DEPTH, 0.2, 0.16), com=(0.0, 0.0, -0.05)))
    build.joint("base", Free(), WORLD, "pelvis")
    _add_limb(build, "pelvis", WAIST)
    for side, sign in SIDES:
        _add_limb(build, "pelvis", LEG, f"{side}_", sign)
        _add_limb(build, "torso", ARM, f"{side}_", sign)
    robot = build.build()
    angles = (("hip_pitch", -0.3), ("knee", 0.6), ("ankle_pitch", -0.3), ("elbow", -0.5))
    bent = {f"{side}_{link}_joint": angle for side, _ in SIDES for link, angle in angles}
    return replace(robot, poses={STANDING: _lowered(robot, _posed(robot, bent, Placement()), _soles())})


def _add_limb(build: Builder, parent: str, links: Sequence[_Link], prefix: str = "", sign: float = 1.0) -> None:
    """A chain of links, mirrored for the right side."""
    for link in links:
        (x, y, z), (a, b, c), (lower, upper) = link.at, link.com, link.limits
        if sign < 0 and link.axis != "y":
            lower, upper = -upper, -lower
        body = f"{prefix}{link.name}"
        build.body(body, Inertia.box(link.mass, link.size, com=(a, sign * b, c)))
        at = (x, sign * y, z)
        build.joint(f"{body}_joint", Revolute(link.axis), parent, body, at, lower=lower, upper=upper, actuated=True)
        parent = body


def _sole(side: str, x: float, width: float) -> list[_Ball]:
    """Corners of a foot in front or behind."""
    return [_Ball(f"{side}_ankle_roll", (x, y, -0.035)) for y in (-width, width)]


def _heel(side: str) -> list[_Ball]:
    return _sole(side, -0.05, 0.025)


def _soles() -> list[_Ball]:
    return [ball for side, _ in SIDES for ball in (*_heel(side), *_sole(side, 0.12, 0.03))]


def humanoid_standing(joint_friction: bool = False) -> Mechanism:
    """The small humanoid on its feet, four corners each: 24 rows, 53 with joint friction (**delassus** Table I).

    Args:
        joint_friction: Whether rates of joints are held as well, as by dry friction: a row for each degree of freedom.
    """
    robot = small_humanoid()
    q = robot.poses[STANDING]
    return resting(robot, q, _lowest(robot, q, _soles()), joint_friction=joint_friction, name="humanoid standing")


def humanoid_fallen(joint_friction: bool = False) -> Mechanism:
    """The small humanoid on its back: 23 contacts and 69 rows, with joint friction 24 and 101 (**delassus** Table I).

    Corners of pelvis and torso, the head, knees and heels, elbows, wrists and two corners of each hand touch the
    ground; with joint friction a third corner of the left hand does. The paper prints 25 contacts there, of which its
    101 rows leave 24.

    Args:
        joint_friction: Whether rates of joints are held as well, as by dry friction: a row for each degree of freedom.
    """
    robot = small_humanoid()
    q, limbs = _on_back(robot)
    back = [_Ball("pelvis", (-DEPTH, y, z)) for y, z in product((-0.1, 0.1), (-0.13, 0.03))]
    back += [_Ball("torso", (-DEPTH, y, z)) for y, z in product((-0.11, 0.11), (0.01, 0.37))]
    more = [_Ball("left_hand", (-0.02, 0.03, 0.0))] if joint_friction else []
    contacts = _lowest(robot, q, [*back, _Ball("torso", (0.0, 0.0, 0.45), DEPTH), *limbs, *more])
    return resting(robot, q, contacts, joint_friction=joint_friction, name="humanoid fallen")


def _on_back(robot: Mechanism) -> tuple[Floats, list[_Ball]]:
    """The posture of a small humanoid on its back, head toward -x, and the parts of its limbs that rest then."""
    angles: dict[str, float] = {}
    rests: dict[str, _Ball] = {}
    for side, sign in SIDES:
        spread = 0.15 + 0.05 * sign
        angles |= {f"{side}_hip_roll_joint": sign * spread, f"{side}_shoulder_roll_joint": sign * spread / 2}
        angles |= {f"{side}_ankle_pitch_joint": -0.3}
        rests[f"{side}_hip_pitch_joint"] = _Ball(f"{side}_knee", (0.0, 0.0, 0.0), 0.05)
        rests[f"{side}_hip_yaw_joint"], rests[f"{side}_knee_joint"] = _heel(side)
        rests[f"{side}_shoulder_pitch_joint"] = _Ball(f"{side}_elbow", (0.0, 0.0, 0.0), 0.035)
        rests[f"{side}_elbow_joint"] = _Ball(f"{side}_wrist_pitch", (0.0, 0.0, 0.0), 0.02)
        rests[f"{side}_wrist_roll_joint"] = _Ball(f"{side}_hand", (-0.02, -0.03, -0.12))
        rests[f"{side}_wrist_pitch_joint"] = _Ball(f"{side}_hand", (-0.02, 0.03, -0.12))
    lying = Placement((0.0, 0.0, DEPTH)) * turn("y", -pi / 2)
    return _settled(robot, _posed(robot, angles, lying), rests), list(rests.values())


# Humanoids on a pyramid --------------------------------------------------------------------------------

BOX = 0.2
GAP = 0.02
LAYERS = 4

ON_BOXES = (
    *(("torso", 3, y) for y in (-0.06, 0.06)),
    *(("torso", 2, y) for y in (-0.09, -0.03, 0.03, 0.09)),
    *(("pelvis", 1, y) for y in (-0.06, 0.06)),
    *((f"{side}_wrist_pitch", 1, 0.0) for side, _ in SIDES),
)
"""What of a robot lies on the edge of which layer of the pyramid, and how far beside the axis of the body."""


def robots_on_pyramid(robots: int = 3) -> Mechanism:
    """Small humanoids that have fallen onto the pyramid of boxes, each on a side of it (**delassus** Table I).

    Three robots: 285 velocities, 108 contacts, 324 rows. Robots lie with their backs on the edges of the boxes, knees
    bent: 10 contacts each between a body (``robot0/torso``) and a box (``pyramid/box3``), and the heels on the ground.
    The boxes have moved and touch at one point a pair, each box above still standing on its four corners: 56 contacts
    between boxes, 16 on the ground. Which contacts are left is chosen here; the paper gives their number.

    Args:
        robots: How many robots.
    """
    at_least(robots, 1, "robots")
    if robots > 4:
        raise InputError(f"robots: a pyramid has four sides, not {robots}")
    pile = _loosened(pyramid(LAYERS, BOX, GAP))
    robot = replace(small_humanoid(), poses={})
    parts = {f"robot{k}": robot for k in range(robots)}
    scene = compose({"pyramid": pile, **parts}, name=f"{robots} humanoids on a pyramid")
    centers = pile.poses[ASSEMBLED].reshape(-1, 7)[:, :3]
    leaning, edges, heels = _on_slope(robot)
    where = placements(robot, leaning, ["pelvis"])["pelvis"]
    q, contacts = scene.poses[ASSEMBLED].copy(), list[Contact]()
    for k in range(robots):
        side = Placement(centers.mean(axis=0) * (1.0, 1.0, 0.0)) * turn("z", k * pi / 2)
        base = side * where
        at = scene.q_slice(f"robot{k}/base")
        q[at.start : at.start + robot.nq] = leaning
        q[at] = [*base.position, *base.quaternion]
        for body, point in edges:
            edge = (side * Placement(point)).position
            box = int(np.argmin(np.abs(centers - edge).max(axis=1)))
            contacts.append((f"pyramid/box{box}", f"robot{k}/{body}", edge - centers[box]))
        contacts += [(f"robot{k}/{heel}", point) for heel, point in heels]
    return resting(scene, q, contacts)


def _on_slope(robot: Mechanism) -> tuple[Floats, list[tuple[str, Floats]], list[tuple[str, Floats]]]:
    """A robot on the side of a pyramid in +x, with what touches edges (in the world) and the ground (on the body).

    The outer edges of the layers lie in a plane, on which the robot lies as on the ground.
    """
    step = (BOX + GAP) / 2
    slope = Placement((LAYERS * step - GAP / 2 + step, 0.0, 0.0)) * turn("y", atan2(BOX, step))
    q, _ = _on_back(robot)
    q[0] = -0.5  # how far up the pelvis is
    where = placements(robot, q, list(dict.fromkeys(body for body, *_ in ON_BOXES)))
    edges: list[tuple[str, Floats]] = []
    for body, layer, beside in ON_BOXES:
        x = -(layer + 1) * hypot(BOX, step)
        start, along = where[body].position, where[body].rotation[:, 2]
        y = start[1] + along[1] * (x - start[0]) / along[0] + beside
        edges.append((body, (slope * Placement((x, y, 0.0))).position))
    base = slope * where["pelvis"]
    q[robot.q_slice("base")] = [*base.position, *base.quaternion]
    for side, _ in SIDES:
        q[robot.q_index(f"{side}_hip_pitch_joint")], q[robot.q_index(f"{side}_knee_joint")] = -0.8, 0.8
    rests = {f"{side}_knee_joint": _Ball(f"{side}_ankle_roll", (-0.05, 0.0, -0.035)) for side, _ in SIDES}
    q = _settled(robot, q, rests)
    return q, edges, _lowest(robot, q, list(rests.values()))


def _loosened(pile: Mechanism) -> Mechanism:
    """The pyramid with one contact a pair, at the corner of the upper box, or on the ground farthest outside."""
    middle = pile.poses[ASSEMBLED].reshape(-1, 7)[:, :2].mean(axis=0)
    kept: dict[tuple[str, ...], Constraint] = {}
    reach: dict[tuple[str, ...], float] = {}
    for contact in (c for c in pile.constraints if isinstance(c, Point)):
        first, second = (as_placement(at).position[:2] for at in (contact.first_at, contact.second_at))
        far = float(np.linalg.norm(first - middle if contact.first == WORLD else second))
        if far > reach.get(contact.places, 0.0) + 1e-9:
            kept[contact.places], reach[contact.places] = contact, far
    return replace(pile, constraints=tuple(kept.values()))
