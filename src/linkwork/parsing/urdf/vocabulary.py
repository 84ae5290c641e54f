# SPDX-License-Identifier: BSD-3-Clause
"""Elements of URDF and of Drake's additions: read, irrelevant for the dynamics, or refused."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.errors import UnsupportedFeature
from linkwork.parsing.options import EXPAND_XACRO
from linkwork.parsing.xml import Node

# What does not change the dynamics, by the element it stands in. Read elsewhere: the first line of each.
_UNDERSTOOD = {
    "robot": {"link", "joint", "drake:joint", "frame", "transmission", "gazebo", "loop", "loop_joint", "coupling"}
    | {"drake:ball_constraint", "material", "sensor", "ros2_control", "mujoco", "verbose", "self_collision_checking"}
    | {"collision_filter_group", "drake:collision_filter_group"},
    "link": {"inertial", "visual", "collision", "origin", "gravity", "kinematic"}
    | {"material", "sensor", "contact", "surface", "verbose", "audio_source"}
    | {"collision_checking", "self_collision_checking", "self_filter"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "drake:mimic"}
    | {"drake:screw_thread_pitch", "calibration", "safety_controller", "joint_properties", "hardwareInterface"},
    "inertial": {"origin", "mass", "inertia"},
}

_REFUSED = {
    "drake:linear_bushing_rpy": "a bushing, a spring and damper between two frames, is not supported as a force; "
    "where it stands for a joint that closes a loop, say that joint instead: by a <drake:ball_constraint>, or without "
    "the bushing and with robot.constrained(lw.Hinge(...)) in code",
    "drake:linear_spring_damper": "a spring and damper between two points is not supported as a force",
    "drake:tendon_constraint": "bounds on a weighted sum of joint positions are not kept here; a tendon of fixed "
    "length is a JointCoupling: remove the element, and use robot.constrained(lw.JointCoupling(...)) in code",
}
"""Additions of Drake to the dynamics that are not read, and the error for each."""


def refuse_unknown(node: Node) -> None:
    """Raise an error for an element inside that is not understood."""
    for child in node.children():
        if child.tag.startswith("xacro:"):
            raise child.error(f"the file is a xacro template; {EXPAND_XACRO}")
        if child.tag in _REFUSED:
            raise child.error(_REFUSED[child.tag], UnsupportedFeature)
    node.refuse_other_elements(_UNDERSTOOD[node.tag.removeprefix("drake:")])


def not_ignored(robot: Node, *tags: str) -> Iterator[Node]:
    """The elements called one of ``tags`` without those that Drake is told to ignore."""
    return (node for node in robot.children(*tags) if node.get("drake_ignore") != "true")
