# SPDX-License-Identifier: BSD-3-Clause
"""Robots of model files in contact, as **delassus** Table I has them.

The paper gives numbers of contacts, not points or postures: these are chosen here, on the bodies' surfaces as far as
the files show them. Where the file of Go2 or G1 is absent, the zoo's robot of the same make stands in for it.

Cassie's loops (two a leg) are no rows in the paper's table: it counts 8 contacts and 24 rows. With them stands
`cassie_with_loops`. Its joint friction is 26 rows, one for each of Cassie's velocities beside the floating base, those
of the two ball joints of its rods among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import pi

import linkwork as lw
from linkwork import zoo
from linkwork.model.rotations import quaternion_of
from linkwork.zoo.supports import Contact
from linkwork_benchmarks.robots import MODELS, ROBOTS, Floats, load
from linkwork_benchmarks.scenes import ASSEMBLED

Resting = Callable[[bool], lw.Mechanism]
"""With joint friction, or without."""

SIDES = ("left", "right")
LEGS = ("FL", "FR", "RL", "RR")
FOOT_RADIUS = 0.022
TRUNK = (0.188, 0.047, -0.057)
"""A corner of Go2's belly."""


def _posed(robot: lw.Mechanism, angles: Mapping[str, float], base: lw.Placement) -> Floats:
    q = robot.neutral()
    q[robot.q_slice("root_joint")] = [*base.position, *quaternion_of(base.rotation)]
    for joint, angle in angles.items():
        q[robot.q_index(joint)] = angle
    return q


# Unitree Go2 -----------------------------------------------------------------------------------------------


def go2_standing(joint_friction: bool = False) -> lw.Mechanism:
    """On its feet: 4 contacts, 12 rows, 24 with joint friction."""
    if not ROBOTS["go2"].path.is_file():
        return zoo.quadruped_standing(joint_friction)
    angles = {f"{leg}_{link}_joint": angle for leg in LEGS for link, angle in (("thigh", 0.9), ("calf", -1.8))}
    contacts: list[Contact] = [(f"{leg}_foot", (0.0, 0.0, -FOOT_RADIUS)) for leg in LEGS]
    return _resting("go2", angles, lw.Placement((0.0, 0.0, 0.29)), contacts, joint_friction)


def go2_fallen(joint_friction: bool = False) -> lw.Mechanism:
    """On its belly: trunk, front knees, front feet and a rear foot, 27 rows; with friction both rear feet, 42."""
    if not ROBOTS["go2"].path.is_file():
        return zoo.quadruped_fallen(joint_friction)
    angles: dict[str, float] = {}
    for leg in LEGS:
        splay = 0.5 if leg.endswith("L") else -0.5
        thigh, calf = (1.0, -2.6) if leg.startswith("F") else (2.2, -2.5)
        angles |= {f"{leg}_hip_joint": splay, f"{leg}_thigh_joint": thigh, f"{leg}_calf_joint": calf}
    x, y, z = TRUNK
    contacts: list[Contact] = [("base", (i * x, j * y, z)) for i in (-1, 1) for j in (-1, 1)]
    contacts += [(f"{leg}_calf", (0.0, 0.0, -FOOT_RADIUS)) for leg in LEGS[:2]]
    contacts += [(f"{leg}_foot", (0.0, 0.0, -FOOT_RADIUS)) for leg in LEGS[: 4 if joint_friction else 3]]
    return _resting("go2", angles, lw.Placement((0.0, 0.0, -z)), contacts, joint_friction)


# Unitree G1 ------------------------------------------------------------------------------------------------

SOLE_OF_G1 = ((-0.05, 0.025), (0.12, 0.03))
"""Heel and toes: how far ahead, and to either side."""


def g1_standing(joint_friction: bool = False) -> lw.Mechanism:
    """On its feet, four corners each (those of the file): 24 rows, 53 with joint friction."""
    if not ROBOTS["g1"].path.is_file():
        return zoo.humanoid_standing(joint_friction)
    bent = (("hip_pitch", -0.3), ("knee", 0.6), ("ankle_pitch", -0.3), ("elbow", 0.5))
    angles = {f"{side}_{link}_joint": angle for side in SIDES for link, angle in bent}
    contacts: list[Contact] = []
    for side in SIDES:
        contacts += [(f"{side}_ankle_roll_link", (x, sign * y, -0.035)) for x, y in SOLE_OF_G1 for sign in (-1, 1)]
    return _resting("g1", angles, lw.Placement((0.0, 0.0, 0.75)), contacts, joint_friction)


def g1_fallen(joint_friction: bool = False) -> lw.Mechanism:
    """On its back: 23 contacts and 69 rows; with joint friction 24 and 101, a further corner of the left hand.

    The paper prints 25 contacts there, of which its 101 rows leave 24.
    """
    if not ROBOTS["g1"].path.is_file():
        return zoo.humanoid_fallen(joint_friction)
    angles = {f"{side}_{link}_joint": x for side in SIDES for link, x in (("knee", 0.1), ("ankle_pitch", -0.3))}
    contacts: list[Contact] = [("pelvis", (-0.07, y, z)) for y in (-0.08, 0.08) for z in (-0.12, 0.02)]
    contacts += [("torso_link", (-0.07, y, z)) for y in (-0.1, 0.1) for z in (0.05, 0.3)]
    contacts.append(("torso_link", (-0.07, 0.0, 0.45)))
    for side in SIDES:
        contacts.append((f"{side}_knee_link", (-0.05, 0.0, 0.0)))
        contacts += [(f"{side}_ankle_roll_link", (-0.05, y, -0.03)) for y in (-0.025, 0.025)]
        contacts += [(f"{side}_elbow_link", (0.0, 0.0, -0.03)), (f"{side}_wrist_pitch_link", (0.0, 0.0, -0.03))]
        contacts += [(f"{side}_wrist_yaw_link", (0.12, y, -0.03)) for y in (-0.03, 0.03)]
    if joint_friction:
        contacts.append(("left_wrist_yaw_link", (0.02, 0.0, -0.03)))
    lying = lw.Placement((0.0, 0.0, 0.07)) * lw.Placement.rpy(0.0, -pi / 2, 0.0)
    return _resting("g1", angles, lying, contacts, joint_friction)


def _resting(
    name: str, angles: Mapping[str, float], base: lw.Placement, contacts: list[Contact], joint_friction: bool
) -> lw.Mechanism:
    robot = load(name)
    return zoo.resting(robot, _posed(robot, angles, base), contacts, joint_friction=joint_friction)


# Cassie ----------------------------------------------------------------------------------------------------

CASSIE = MODELS / "cassie/cassie_nomesh.xml"
SOLE = ((-0.052821, 0.092622), (0.069746, -0.010224))
"""The ends of the foot, in its plane, from its file."""


def cassie(joint_friction: bool = False) -> lw.Mechanism:
    """On its feet, four points each: 24 rows, 50 with joint friction; its loops are no rows."""
    scene = cassie_with_loops(joint_friction)
    rows = tuple(c for c in scene.constraints if c.name.startswith(("contact", "friction")))
    return replace(scene, constraints=rows)


def cassie_with_loops(joint_friction: bool = False) -> lw.Mechanism:
    """On its feet, its four loops closed: 36 rows, 62 with joint friction."""
    if not CASSIE.is_file():
        raise FileNotFoundError(f"no model file {CASSIE.name}: set LINKWORK_MODELS to the models")
    robot = lw.load(CASSIE)
    contacts: list[Contact] = [
        (f"{side}-foot", (x, y, z)) for side in SIDES for x, y in SOLE for z in (-FOOT_RADIUS, FOOT_RADIUS)
    ]
    scene = zoo.resting(robot, robot.poses["qpos0"], contacts, joint_friction=joint_friction, name="Cassie")
    return replace(scene, poses={ASSEMBLED: scene.poses[ASSEMBLED]})
