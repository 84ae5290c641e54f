# SPDX-License-Identifier: BSD-3-Clause
"""``<joint>`` of URDF: its type, its limits, damping and friction, and what transmissions say of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from linkwork.errors import TopologyError, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.model.constraints import WORLD
from linkwork.model.joints import Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model.thresholds import UNBOUNDED
from linkwork.parsing.urdf.elements import UrdfJoint, UrdfLink, placement_of_origin
from linkwork.parsing.urdf.loops import gazebo_springs
from linkwork.parsing.urdf.vocabulary import not_ignored, refuse_unknown
from linkwork.parsing.xml import Node, located, warn

_JOINTS: dict[str, Callable[[tuple[float, float, float]], Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "planar": Planar,
    "floating": lambda axis: Free(),
    "fixed": lambda axis: Fixed(),
}

_DRAKE_JOINTS: dict[str, Callable[[tuple[float, float, float]], Joint]] = {
    "ball": lambda axis: Spherical(),
    "universal": lambda axis: Universal("x", "y"),
    "planar": Planar,
    "screw": Helical,
}
"""Of ``<drake:joint>``; the universal joint has no axes of its own choice in Drake."""


def read_joints(robot: Node, links: dict[str, UrdfLink]) -> dict[str, UrdfJoint]:
    """The joints of a file by their names."""
    joints: dict[str, UrdfJoint] = {}
    for node in not_ignored(robot, "joint", "drake:joint"):
        name = node.text("name")
        if name in joints:
            raise node.error(f"two joints are called '{name}'; the first is on line {joints[name].node.line}")
        joints[name] = _read_joint(node, name, links)
    for name, (armature, node) in _armatures(robot).items():
        if name not in joints:
            raise node.error(f"the transmission moves joint '{name}', which is no joint of this robot")
        if joints[name].type.nv > 1:
            raise node.error(
                f"joint '{name}' has a rotor and {joints[name].type.nv} degrees of freedom; a rotor needs one",
                UnsupportedFeature,
            )
        joints[name].options["armature"] = armature
    for name, node in _actuated(robot).items():
        if name in joints:
            joints[name].options["actuated"] = True
        else:
            near = suggest(name, joints)
            warn(node, f"joint '{name}' is to be driven, and there is no such joint in this robot{near}")
    for name, spring in gazebo_springs(robot).items():
        if name in joints and joints[name].type.nv == 1:
            joints[name].options.update(spring)
    return joints


def _read_joint(node: Node, name: str, links: dict[str, UrdfLink]) -> UrdfJoint:
    refuse_unknown(node)
    kind = node.text("type")
    types = _JOINTS if node.tag == "joint" else _DRAKE_JOINTS
    if kind not in types:
        raise node.error(f"joint type '{kind}' is none of {', '.join(types)}", UnsupportedFeature)
    ends = []
    for tag in ("parent", "child"):
        end = node.need(tag)
        link = end.text("link")
        if tag == "child" and link == WORLD:
            raise end.error(f"joint '{name}' leads to 'world', which does not move: exchange its ends", TopologyError)
        if link not in links:
            near = suggest(link, links)
            raise end.error(f"joint '{name}' has {tag} '{link}', which is no link of this robot{near}", TopologyError)
        ends.append(link)
    axis = node.child("axis")
    direction = (1.0, 0.0, 0.0) if axis is None else axis.vector("xyz", (1.0, 0.0, 0.0))
    with located(node if axis is None else axis):
        type = types[kind](direction)
        if isinstance(type, Helical):
            type = Helical(direction, node.need("drake:screw_thread_pitch").number("value") / (2 * math.pi))
    options = _limits(node, kind) | _damping_and_friction(node, type.nv) | _independence(node)
    return UrdfJoint(name, node, type, ends[0], ends[1], placement_of_origin(node), options)


def _independence(joint: Node) -> dict[str, Any]:
    """URDF+: whether the coordinate is among those that describe the robot."""
    text = joint.get("independent")
    if text is None:
        return {}
    word = text.strip().lower()
    if word not in ("true", "1", "false", "0"):
        raise joint.error(f"attribute 'independent' is '{text}', neither true nor false")
    return {"independent": word in ("true", "1")}


def _limits(joint: Node, kind: str) -> dict[str, Any]:
    limit = joint.child("limit")
    if kind not in ("revolute", "prismatic", "continuous"):
        return {}
    if limit is None:
        if kind == "continuous":
            return {}
        other = "; a joint without limits is of type 'continuous'" if kind == "revolute" else ""
        raise joint.error(f"a {kind} joint needs a <limit> inside{other}")
    limits = {key: _bound(limit, key, math.inf) for key in ("velocity", "effort")}
    for key, value in limits.items():
        if value < 0:
            raise limit.error(f"attribute '{key}' is {value}; it must be >= 0")
    if kind != "continuous" and not limit.get("lower") is limit.get("upper") is None:
        limits |= {key: _bound(limit, key, 0.0) for key in ("lower", "upper")}
        if limits["lower"] > limits["upper"]:
            raise limit.error(f"lower limit {limits['lower']} is above upper limit {limits['upper']}")
    return limits


def _bound(limit: Node, key: str, default: float) -> float:
    """A limit; files write ``inf`` or the largest float for none."""
    value = limit.number(key, default, largest=math.inf)
    return value if abs(value) < UNBOUNDED else math.copysign(math.inf, value)


def _damping_and_friction(joint: Node, freedoms: int) -> dict[str, Any]:
    """Of ``<dynamics>``: one number for all degrees of freedom, or one for each. Armature is an addition of ours."""
    dynamics = joint.child("dynamics")
    if dynamics is None or freedoms == 0:
        return {}
    by_key: dict[str, Any] = {}
    for key in ("damping", "friction", "armature"):
        values = dynamics.numbers(key, 1, freedoms)
        if values is None:
            continue
        if min(values) < 0:
            raise dynamics.error(f"attribute '{key}' is {min(values)}; it must be >= 0")
        by_key[key] = values[0] if len(values) == 1 else values
    return by_key


def _actuated(robot: Node) -> dict[str, Node]:
    """The joints that a transmission or a command of ros2_control moves, and where it says so."""
    nodes = [node for transmission in robot.children("transmission") for node in transmission.children("joint")]
    for control in robot.children("ros2_control"):
        nodes += [node for node in control.children("joint") if any(node.children("command_interface"))]
    return {name: node for node in nodes if (name := node.get("name"))}


def _armatures(robot: Node) -> dict[str, tuple[float, Node]]:
    """Inertia of Drake's rotors as seen at the joints, where the transmission is one actuator on one joint."""
    armatures: dict[str, tuple[float, Node]] = {}
    for transmission in robot.children("transmission"):
        rotors = [node for node in transmission.descendants("drake:rotor_inertia") if node.number("value") != 0]
        if not rotors:
            continue
        moved, actuators = list(transmission.children("joint")), list(transmission.children("actuator"))
        simple = len(rotors) == len(moved) == len(actuators) == 1
        if not simple or actuators[0].child("drake:rotor_inertia") is None:
            raise rotors[0].error(
                "rotor inertia is supported in transmissions of one <actuator> on one <joint>", UnsupportedFeature
            )
        gear = actuators[0].child("drake:gear_ratio")
        ratio = 1.0 if gear is None else gear.number("value")
        inertia = rotors[0].number("value")
        if inertia < 0:
            raise rotors[0].error(f"rotor inertia is {inertia}; it must be >= 0")
        name = moved[0].text("name")
        if name in armatures:
            raise transmission.error(f"joint '{name}' has a second rotor; one is supported", UnsupportedFeature)
        armatures[name] = (ratio**2 * inertia, transmission)
    return armatures
