# SPDX-License-Identifier: BSD-3-Clause
"""Links with their motors' rotors: chains with gears and belts, and the differentials that Tello's model file omits.

**clusters** Figs. 8b, 8e, 8f, 11, 13. Of the chains the paper gives counts (12 links; 2 to 24 in Fig. 11); lengths,
masses and ratios are chosen here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError, ModelError
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.constraints import WORLD, Belt, Constraint, FunctionCoupling, Gear
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Revolute
from linkwork.model.poses import ASSEMBLED
from linkwork.zoo.places import at_least

LENGTH = 0.3
"""Meters: a link of the chains."""


@converted
def geared_chain(links: int = 12, ratio: float = 6.0, rotor_mass: float = 0.2) -> Mechanism:
    """A chain of links, each turned through a gear by a rotor on the link before (**clusters** Fig. 8e).

    Axes change from joint to joint. ``2 links`` velocities, one row a gear, ``links`` degrees of freedom.

    Args:
        links: Number of links.
        ratio: Turns of a rotor for one of its link.
        rotor_mass: Of each rotor, in kilograms.
    """
    return _chain(f"geared chain of {links}", links, 1, ratio, 1.0, rotor_mass)


@converted
def belt_chain(
    links: int = 12, group: int = 2, ratio: float = 6.0, belt: float = 1.0, rotor_mass: float = 0.2
) -> Mechanism:
    """A chain of links turned by parallel belts, rotors of ``group`` joints before the first (**clusters** Fig. 8f).

    The belt of the second, third, ... joint of a group passes over the joints before it, so that its rotor turns
    ``ratio (belt q1 + belt² q2 + ...)``. A group of two is the knee and ankle of the MIT Humanoid. Axes of a group are
    parallel. ``2 links`` velocities, one row a belt, ``links`` degrees of freedom.

    Args:
        links: Number of links: a whole number of groups.
        group: Joints that share the belts of a group.
        ratio: Turns of a rotor for one of its link.
        belt: Ratio of the belt's wheels.
        rotor_mass: Of each rotor, in kilograms.
    """
    at_least(group, 1, "group")
    if links % group:
        raise InputError(f"{links} links are no whole number of groups of {group}")
    return _chain(f"belt chain of {links}", links, group, ratio, belt, rotor_mass)


def _chain(name: str, links: int, group: int, ratio: float, belt: float, rotor_mass: float) -> Mechanism:
    """Links in groups; the rotors of a group turn on the link before it."""
    if links < 1 or group < 1:
        raise InputError(f"links and group are at least 1, not {links} and {group}")
    build = Builder(name)
    angles = {f"joint{k}": 0.4 * float(np.sin(1.0 + k)) for k in range(links)}
    pose = dict(angles)
    for start in range(0, links, group):
        carrier = f"link{start - 1}" if start else WORLD
        axis = "zyx"[start // group % 3]
        top = (0.0, 0.0, LENGTH) if start else (0.0, 0.0, 0.0)
        for k in range(start, start + group):
            first = k == start
            build.body(f"link{k}", Inertia.rod(1.0, (0.02, 0.0, 0.0), (0.0, 0.0, LENGTH), radius=0.04))
            parent, at = (carrier, top) if first else (f"link{k - 1}", (0.0, 0.0, LENGTH))
            build.joint(f"joint{k}", Revolute(axis), parent, f"link{k}", at, independent=True)
        for k in range(start, start + group):
            build.body(f"rotor{k}", Inertia.box(rotor_mass, (0.04, 0.05, 0.06)))
            build.joint(f"rotor{k}", Revolute(axis), carrier, f"rotor{k}", top, actuated=True, independent=False)
            over = {f"joint{j}": ratio * float(np.float64(belt) ** (j - start + 1)) for j in range(start, k + 1)}
            if group == 1:
                build.constrain(Gear(f"rotor{k}", f"joint{k}", ratio, name=f"gear{k}"))
            else:
                build.constrain(Belt(f"rotor{k}", over, name=f"belt{k}"))
            pose[f"rotor{k}"] = sum(r * angles[joint] for joint, r in over.items())
    return build.pose(ASSEMBLED, pose).build()


# Tello --------------------------------------------------------------------------------------------------

REDUCTION = 6.0
"""A rotor of Tello turns so many times as far as its joint; that of an elbow `ELBOW_REDUCTION` times."""
ELBOW_REDUCTION = 9.0

HIP_CRANK = 0.080
"""Meters: from a motor's axis to the rod's upper end, and from the gimbal to its lower end, backwards."""
HIP_WIDTH = 0.070
"""From the middle to each rod, sideways."""
HIP_HEIGHT = 0.1425
"""From the gimbal up to the motors' axis."""
HIP_ROD = 0.155

SHIN = 0.260
"""From the knee to the ankle."""
ANKLE_CRANK = 0.040
ANKLE_LEVER = 0.035
"""From the ankle to the rod's lower end."""
ANKLE_OFFSET = 0.042
"""From the knee to the crank's axis."""
ANKLE_ROD = 0.2146
OFFSET_ANGLE = np.pi / 9
"""Angles from the shin, at zero of all joints: of the offset, the crank and the lever."""
CRANK_ANGLE = 493 * np.pi / 1500
LEVER_ANGLE = 11 * np.pi / 30


@converted
def tello(robot: Mechanism) -> Mechanism:
    """UIUC's Tello with the transmissions that its model files leave out (**clusters** Figs. 1b, 8b).

    Per leg, a gear turns the hip's clamp, a differential of two motors the gimbal and the thigh, another one knee and
    ankle; arms, where there are any, are geared. The humanoid has 42 velocities, 18 rows and 24 degrees of freedom, the
    legs 20, 10 and 10.

    Rows of the differentials are squares of rods' lengths in m², as in the sources: small numbers, to which methods
    that damp rows are less kind than to a gear's radians.

    Args:
        robot: ``lw.load("tello_humanoid.urdf", dependent="free")``, or the same of ``tello_legs.urdf``.
    """
    transmissions = list(_tello_transmissions(robot))
    motors = {name for _, rotors in transmissions for name in rotors}
    joints = tuple(replace(j, actuated=True) if j.name in motors else j for j in robot.joints)
    robot_with_motors = replace(robot, joints=joints).constrained(*(constraint for constraint, _ in transmissions))
    return replace(robot_with_motors, poses={**robot.poses, ASSEMBLED: robot_with_motors.assemble()})


def _tello_transmissions(robot: Mechanism) -> Iterator[tuple[Constraint, tuple[str, ...]]]:
    """Tello's constraints, each with the joints of its motors' rotors."""
    leads_to = {joint.child: joint.name for joint in robot.joints}

    def joint(body: str) -> str:
        if body not in leads_to:
            raise ModelError(
                f"robot '{robot.name}' has no body '{body}': it is no Tello with rotors, as tello_humanoid.urdf and "
                "tello_legs.urdf are (load them with dependent='free')",
                subject=body,
            )
        return leads_to[body]

    def geared(body: str, ratio: float) -> tuple[Constraint, tuple[str, ...]]:
        rotor = joint(f"{body}-rotor")
        return Gear(rotor, joint(body), ratio, name=body), (rotor,)

    for side in ("left", "right"):
        yield geared(f"{side}-hip-clamp", REDUCTION)
        for name, function, first, second in (
            ("hip", _hip_rods, "gimbal", "thigh"),
            ("knee-ankle", _knee_and_ankle, "shin", "foot"),
        ):
            rotors = tuple(joint(f"{side}-{name}-rotor-{k}") for k in (1, 2))
            over = [joint(f"{side}-{first}"), joint(f"{side}-{second}"), *rotors]
            yield FunctionCoupling(function, over, name=f"{side}-{name}-differential"), rotors
    if any("shoulder" in body for body in leads_to):
        for side in ("left", "right"):
            for part in ("shoulder-ry", "shoulder-rx", "shoulder-rz"):
                yield geared(f"{side}-{part}", REDUCTION)
            yield geared(f"{side}-elbow", ELBOW_REDUCTION)


def _hip_rods(roll: Any, pitch: Any, first: Any, second: Any) -> list[Any]:
    """Errors of the squared lengths of the two rods, for angles of gimbal and rotors.

    A rod leads from a crank on the clamp, which turns about y, to the thigh, which the gimbal turns about x and y.
    """
    rows = []
    for motor, width in ((first / REDUCTION, HIP_WIDTH), (second / REDUCTION, -HIP_WIDTH)):
        crank = (-HIP_CRANK * np.cos(motor), width, HIP_HEIGHT + HIP_CRANK * np.sin(motor))
        x, z = -HIP_CRANK * np.cos(pitch), HIP_CRANK * np.sin(pitch)
        thigh = (x, width * np.cos(roll) - z * np.sin(roll), width * np.sin(roll) + z * np.cos(roll))
        rows.append(_rod(crank, thigh, HIP_ROD))
    return rows


def _knee_and_ankle(knee: Any, ankle: Any, first: Any, second: Any) -> list[Any]:
    """The error of the rod along the shin, from a crank to a lever of the foot; the knee moves with both motors."""
    first, second = first / REDUCTION, second / REDUCTION
    crank, lever = (first - second) / 2 + CRANK_ANGLE, ankle - LEVER_ANGLE
    top = (
        ANKLE_OFFSET * np.cos(OFFSET_ANGLE) + ANKLE_CRANK * np.cos(crank),
        ANKLE_OFFSET * np.sin(OFFSET_ANGLE) - ANKLE_CRANK * np.sin(crank),
    )
    foot = (SHIN + ANKLE_LEVER * np.cos(lever), ANKLE_LEVER * np.sin(lever))
    return [_rod(top, foot, ANKLE_ROD), knee - (first + second) / 2]


def _rod(start: tuple[Any, ...], end: tuple[Any, ...], length: float) -> Any:
    """The square of the distance of two points, less that of a length."""
    return sum((b - a) * (b - a) for a, b in zip(start, end, strict=True)) - length * length
