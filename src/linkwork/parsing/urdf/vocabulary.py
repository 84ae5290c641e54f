# SPDX-License-Identifier: BSD-3-Clause
"""Elements of URDF and of Drake's additions: read, irrelevant for the dynamics, or refused."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.errors import UnsupportedFeature
from linkwork.parsing.options import EXPAND_XACRO
from linkwork.parsing.xml import Node, warn

# What does not change the dynamics, by the element it stands in. Read elsewhere: the first line of each.
_UNDERSTOOD = {
    "robot": {"link", "joint", "drake:joint", "frame", "transmission", "gazebo", "loop", "loop_joint", "coupling"}
    | {"constraint"}
    | {"drake:ball_constraint", "material", "sensor", "ros2_control", "mujoco", "verbose", "self_collision_checking"}
    | {"collision_filter_group", "drake:collision_filter_group"},
    "link": {"inertial", "visual", "collision", "origin", "gravity", "kinematic"}
    | {"material", "sensor", "contact", "surface", "verbose", "audio_source"}
    | {"collision_checking", "self_collision_checking", "self_filter"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "drake:mimic"}
    | {"drake:screw_thread_pitch", "calibration", "safety_controller", "joint_properties", "hardwareInterface"},
    "inertial": {"origin", "mass", "inertia"},
}

_SKIPPED = {
    "robot": {"traits", "author", "license", "description", "version", "property", "group", "group_state"}
    | {"disable_collisions", "end_effector", "virtual_joint", "passive_joint", "chain", "link_sphere_approximation"}
    | {
        "properties",
        "disable_default_collisions",
        "enable_collisions",
        "texture",
        "color",
        "light",
        "plugin",
        "static",
        "camera",
    },
    "link": {"traits", "controller_gains", "color", "texture", "self_collide", "contact_coefficients", "plugin"}
    | {"description", "property", "drake:proximity_properties", "visibility", "camera"},
    "joint": {"traits", "controller_gains", "controller", "control", "pid", "gains", "home", "initial_position"}
    | {"plugin", "description", "property", "encoder", "interface", "command_interface", "state_interface"},
}
"""Elements of other tools for control, planning, looks, or notes: they cannot change the dynamics, and is skipped with
a warning."""

_REFUSED = {
    "drake:linear_bushing_rpy": "a bushing, a spring and damper between two frames, is not supported as a force; "
    "where it stands for a joint that closes a loop, say that joint instead: by a <drake:ball_constraint>, or without "
    "the bushing and with robot.constrained(lw.constraints.Hinge(...)) in code",
    "drake:linear_spring_damper": "a spring and damper between two points is not read; remove the element, and "
    "use robot.with_tendons(lw.tendons.Tendon('spring', path=(...), stiffness=..., damping=..., rest=(l, l))) in code",
    "drake:tendon_constraint": "bounds on a weighted sum of joint positions are not kept here; a tendon of fixed "
    "length is a JointCoupling: remove the element, and use "
    "robot.constrained(lw.constraints.JointCoupling(...)) in code",
}
"""Additions of Drake to the dynamics that are not read, and the error for each."""


def refuse_unknown(node: Node) -> None:
    """Raise an error for an element inside that is not understood."""
    for child in node.children():
        if child.tag.startswith("xacro:"):
            raise child.error(f"the file is a xacro template; {EXPAND_XACRO}")
        if child.tag in _REFUSED:
            raise child.error(_REFUSED[child.tag], UnsupportedFeature)
    kind = node.tag.removeprefix("drake:")
    node.refuse_other_elements(_UNDERSTOOD[kind] | _SKIPPED.get(kind, set()))


def warn_of_skipped(robot: Node) -> None:
    """One warning for each kind of element that is skipped, on the line of the first."""
    counts: dict[str, list[Node]] = {}
    for node in (robot, *robot.children("link", "joint", "drake:joint")):
        for child in node.children(*_SKIPPED[node.tag.removeprefix("drake:")]):
            counts.setdefault(child.tag, []).append(child)
    for tag, nodes in counts.items():
        more = f" (and {len(nodes) - 1} more)" if len(nodes) > 1 else ""
        warn(nodes[0], f"<{tag}> is no part of the dynamics here, and is skipped{more}")


def not_ignored(robot: Node, *tags: str) -> Iterator[Node]:
    """The elements called one of ``tags`` without those that Drake is told to ignore."""
    return (node for node in robot.children(*tags) if node.get("drake_ignore") != "true")
