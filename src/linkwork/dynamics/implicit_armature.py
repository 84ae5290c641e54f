# SPDX-License-Identifier: BSD-3-Clause
"""Springs and dampers of joints at the end of a step of semi-implicit Euler."""

from __future__ import annotations

from dataclasses import replace

from linkwork.model.medium import VACUUM
from linkwork.model.model import Model


def with_implicit_armature(robot: Model, h: float) -> Model:
    """The robot with ``h d + h² k`` more of armature: springs and dampers at the end of a step of the time ``h``."""
    joints = []
    for joint in robot.joints:
        springs = joint.stiffness if joint.type.nq == joint.type.nv else 0.0
        joints.append(replace(joint, armature=joint.armature + h * joint.damping + h * h * springs))
    return replace(robot, joints=tuple(joints))


def without_passive_forces(robot: Model) -> Model:
    """The robot without springs and dampers of joints, and without a medium."""
    none = (0.0, 0.0)
    linear = (replace(j, damping=0.0 * j.damping, stiffness=0.0 * j.stiffness) for j in robot.joints)
    joints = tuple(replace(j, stiffness_terms=none, damping_terms=none) for j in linear)
    return replace(robot, joints=joints, medium=VACUUM)


def without_joint_friction(robot: Model) -> Model:
    """The robot without dry friction of joints and tendons."""
    joints = tuple(replace(joint, friction=0.0 * joint.friction) for joint in robot.joints)
    return replace(robot, joints=joints, tendons=tuple(replace(tendon, friction=0.0) for tendon in robot.tendons))
