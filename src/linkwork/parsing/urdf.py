"""URDF files to mechanisms.

Read: links with their inertials and mesh names, joints of all six standard types, limits, damping, friction, and of
Drake's additions the named ``<frame>`` and the inertia of rotors (``drake:rotor_inertia``, seen at the joint as
``gear_ratio² rotor_inertia``). What looks, collides, senses or controls does not change the dynamics and is passed
over. Anything else could change them and is an `UnsupportedFeature`: above all, whatever closes a loop.

Where files and the standard leave room:
- A revolute or prismatic joint needs a ``<limit>`` (as in urdfdom). With neither ``lower`` nor ``upper`` in it there
  is no limit: the standard's default, both 0, would forbid all motion. With one of them, the other is 0.
- A link called ``world`` at the root *is* the world. It cannot float: with ``base="floating"`` that is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.builder import Builder
from linkwork.constraints import WORLD
from linkwork.errors import InputError, ModelError, TopologyError, UnsupportedFeature
from linkwork.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from linkwork.mechanism import Mechanism
from linkwork.parsing.options import Base, Inertias, Mimic, check_options, model_path
from linkwork.parsing.xml import LARGEST, Node, located, read_xml
from linkwork.rigid import Inertia, Placement

ROOT_JOINT = "root_joint"

_JOINTS: dict[str, Callable[[tuple[float, float, float]], Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "planar": Planar,
    "floating": lambda axis: Free(),
    "fixed": lambda axis: Fixed(),
}

# What does not change the dynamics, by the element it stands in. Read elsewhere in this file: the first line of each.
_UNDERSTOOD = {
    "robot": {"link", "joint", "frame", "transmission", "gazebo"}
    | {"material", "sensor", "ros2_control", "mujoco", "verbose", "self_collision_checking"}
    | {"collision_filter_group", "drake:collision_filter_group"},
    "link": {"inertial", "visual", "collision", "origin", "gravity", "kinematic"}
    | {"material", "sensor", "contact", "surface", "verbose", "audio_source"}
    | {"collision_checking", "self_collision_checking", "self_filter"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "drake:mimic"}
    | {"calibration", "safety_controller", "joint_properties", "hardwareInterface"},
    "inertial": {"origin", "mass", "inertia"},
}

# SDF inside <gazebo> that adds matter or closes loops; all else there is of contact, sensors and plugins.
_GAZEBO_STRUCTURE = ("joint", "link", "model", "include")


def load_urdf(
    path: str | PathLike[str], base: Base = "fixed", *, mimic: Mimic = "error", inertias: Inertias = "check"
) -> Mechanism:
    """A mechanism from a URDF file.

    ``base``: the root link is ``"fixed"`` to the world, or ``"floating"`` on a `Free` joint called ``root_joint``.
    ``mimic``: a joint that mimics another is an ``"error"``, or ``"ignore"`` the tag and leave the joint free.
    ``inertias``: ``"check"`` that some distribution of mass has them, or ``"trust"`` the file.
    """
    check_options(base, mimic, inertias)
    file = model_path(path)
    try:
        text = file.read_bytes()
    except OSError as e:
        raise ModelError(f"the file cannot be read: {e.strerror or e}", file=file) from None
    return parse_urdf(text, str(file), base, mimic=mimic, inertias=inertias)


def parse_urdf(
    text: bytes | str,
    file: str = "<text>",
    base: Base = "fixed",
    *,
    mimic: Mimic = "error",
    inertias: Inertias = "check",
) -> Mechanism:
    """A mechanism from the text of a URDF file; ``file`` is its name in messages. Options as for `load_urdf`."""
    check_options(base, mimic, inertias)
    if not isinstance(text, bytes | str):
        raise InputError(f"text is str or bytes, not {type(text).__name__}")
    robot = read_xml(text, file)
    if robot.tag != "robot":
        raise robot.error("the root element of a URDF file is <robot>")
    _refuse_unknown(robot)
    _refuse_structure_in_gazebo(robot)
    links = _read_links(robot)
    joints = _read_joints(robot, links, mimic)
    return _assemble(robot, _root_of(robot, links, joints), links, joints, base, inertias)


# Links -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Link:
    name: str
    node: Node
    inertia: Inertia
    meshes: tuple[str, ...]


def _read_links(robot: Node) -> dict[str, _Link]:
    links: dict[str, _Link] = {}
    for node in robot.children("link"):
        name = node.text("name")
        if name in links:
            raise node.error(f"two links are called '{name}'; the first is on line {links[name].node.line}")
        _refuse_unknown(node)
        _refuse_strange_link(node)
        links[name] = _Link(name, node, _inertia(node), _meshes(node))
    if not links:
        raise robot.error("the robot has no <link>")
    return links


def _refuse_strange_link(link: Node) -> None:
    """Elements outside the standard that are harmless while they say what holds anyway."""
    origin = link.child("origin")
    if origin is not None and (any(origin.vector("xyz", (0, 0, 0))) or any(origin.vector("rpy", (0, 0, 0)))):
        raise origin.error("a link has no origin of its own; place it by the origin of its joint", UnsupportedFeature)
    for tag, usual in (("gravity", ("1", "true", "")), ("kinematic", ("0", "false", ""))):
        node = link.child(tag)
        if node is not None and node.content.lower() not in usual:
            raise node.error(f"'{node.content}' would change the dynamics of this one link", UnsupportedFeature)


def _inertia(link: Node) -> Inertia:
    inertial = link.child("inertial")
    if inertial is None:
        return Inertia.zero()
    _refuse_unknown(inertial)
    mass = inertial.need("mass").number("value")
    if mass < 0:
        raise inertial.need("mass").error(f"link '{link.text('name')}' has mass {mass}; a mass is not negative")
    moments = inertial.need("inertia")
    xx, xy, xz, yy, yz, zz = (moments.number(k) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    place = _origin(inertial)
    R = place.rotation
    turned = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return Inertia(mass, place.position, (turned + turned.T) / 2)


def _origin(node: Node) -> Placement:
    origin = node.child("origin")
    return Placement() if origin is None else _placement(origin)


def _placement(node: Node) -> Placement:
    with located(node):
        return Placement.rpy(*node.vector("rpy", (0, 0, 0)), position=node.vector("xyz", (0, 0, 0)))


def _meshes(link: Node) -> tuple[str, ...]:
    """Mesh file names as they are written, each once."""
    found = [
        mesh.get("filename")
        for shape in link.children("visual", "collision")
        for geometry in shape.children("geometry")
        for mesh in geometry.children("mesh")
    ]
    return tuple(dict.fromkeys(name for name in found if name))


# Joints ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Joint:
    name: str
    node: Node
    type: Joint
    parent: str
    child: str
    placement: Placement
    options: dict[str, float]


def _read_joints(robot: Node, links: dict[str, _Link], mimic: Mimic) -> dict[str, _Joint]:
    joints: dict[str, _Joint] = {}
    for node in robot.children("joint"):
        name = node.text("name")
        if name in joints:
            raise node.error(f"two joints are called '{name}'; the first is on line {joints[name].node.line}")
        joints[name] = _read_joint(node, name, links, mimic)
    for name, (armature, node) in _armatures(robot).items():
        if name not in joints:
            raise node.error(f"the transmission moves joint '{name}', which is no joint of this robot")
        if joints[name].type.nv > 1:
            raise node.error(
                f"a rotor on joint '{name}', which has {joints[name].type.nv} degrees of freedom", UnsupportedFeature
            )
        joints[name].options["armature"] = armature
    return joints


def _read_joint(node: Node, name: str, links: dict[str, _Link], mimic: Mimic) -> _Joint:
    _refuse_unknown(node)
    kind = node.text("type")
    if kind not in _JOINTS:
        raise node.error(f"joint type '{kind}' is none of {', '.join(_JOINTS)}", UnsupportedFeature)
    for tag in ("mimic", "drake:mimic"):
        follower = node.child(tag)
        if follower is not None and kind != "fixed" and mimic == "error":
            raise follower.error(
                f"joint '{name}' mimics joint '{follower.get('joint')}', a constraint that this release does not do; "
                "mimic='ignore' loads it as a free joint",
                UnsupportedFeature,
            )
    if (node.get("independent") or "true").strip().lower() not in ("true", "1"):
        raise node.error(
            f"joint '{name}' is not independent (URDF+): a loop or transmission ties it to others, "
            "and this release computes the dynamics of trees",
            UnsupportedFeature,
        )
    ends = []
    for tag in ("parent", "child"):
        end = node.need(tag)
        link = end.text("link")
        if link not in links:
            raise end.error(f"joint '{name}' has {tag} '{link}', which is no link of this robot", TopologyError)
        ends.append(link)
    axis = node.child("axis")
    direction = (1.0, 0.0, 0.0) if axis is None else axis.vector("xyz", (1.0, 0.0, 0.0))
    with located(node if axis is None else axis):
        type = _JOINTS[kind](direction)
    return _Joint(name, node, type, ends[0], ends[1], _origin(node), _limits(node, kind) | _losses(node, kind))


def _limits(joint: Node, kind: str) -> dict[str, float]:
    limit = joint.child("limit")
    if kind not in ("revolute", "prismatic", "continuous"):
        return {}
    if limit is None:
        if kind == "continuous":
            return {}
        other = "; a joint without limits is of type 'continuous'" if kind == "revolute" else ""
        raise joint.error(f"a {kind} joint needs a <limit> inside{other}")
    found = {key: _bound(limit, key, math.inf) for key in ("velocity", "effort")}
    for key, value in found.items():
        if value < 0:
            raise limit.error(f"attribute '{key}' is {value}; a limit of a magnitude is not negative")
    if kind != "continuous" and not limit.get("lower") is limit.get("upper") is None:
        found |= {key: _bound(limit, key, 0.0) for key in ("lower", "upper")}
        if found["lower"] > found["upper"]:
            raise limit.error(f"lower limit {found['lower']} is above upper limit {found['upper']}")
    return found


def _bound(limit: Node, key: str, default: float) -> float:
    """A limit; files write ``inf`` or the largest float for none."""
    value = limit.number(key, default, largest=math.inf)
    return value if abs(value) < LARGEST else math.copysign(math.inf, value)


def _losses(joint: Node, kind: str) -> dict[str, float]:
    dynamics = joint.child("dynamics")
    if dynamics is None or kind == "fixed":
        return {}
    found = {key: dynamics.number(key, 0.0) for key in ("damping", "friction")}
    for key, value in found.items():
        if value < 0:
            raise dynamics.error(f"attribute '{key}' is {value}; it is not negative")
    return found


def _armatures(robot: Node) -> dict[str, tuple[float, Node]]:
    """Inertia of Drake's rotors as seen at the joints, where the transmission is one actuator on one joint."""
    found: dict[str, tuple[float, Node]] = {}
    for transmission in robot.children("transmission"):
        rotors = [node for node in transmission.descendants("drake:rotor_inertia") if node.number("value") != 0]
        if not rotors:
            continue
        moved, actuators = list(transmission.children("joint")), list(transmission.children("actuator"))
        simple = len(rotors) == len(moved) == len(actuators) == 1
        if not simple or actuators[0].child("drake:rotor_inertia") is None:
            raise rotors[0].error(
                "rotor inertia is understood in transmissions of one <actuator> on one <joint>", UnsupportedFeature
            )
        gear = actuators[0].child("drake:gear_ratio")
        ratio = 1.0 if gear is None else gear.number("value")
        inertia = rotors[0].number("value")
        if inertia < 0:
            raise rotors[0].error(f"rotor inertia {inertia} is negative")
        name = moved[0].text("name")
        if name in found:
            raise transmission.error(f"a second rotor on joint '{name}'", UnsupportedFeature)
        found[name] = (ratio**2 * inertia, transmission)
    return found


# The whole ---------------------------------------------------------------------------------------


def _refuse_unknown(node: Node) -> None:
    for child in node.children():
        if child.tag in _UNDERSTOOD[node.tag]:
            continue
        if child.tag.startswith("xacro:"):
            raise child.error("the file is a xacro template; expand it first: xacro robot.xacro > robot.urdf")
        if child.tag in ("loop", "coupling"):
            raise child.error(
                f"a <{child.tag}> (URDF+) closes a loop; this release computes the dynamics of trees",
                UnsupportedFeature,
            )
        raise child.error(
            f"<{child.tag}> inside <{node.tag}> is not understood, and it could change the dynamics; "
            "if it does not, remove it from the file",
            UnsupportedFeature,
        )


def _refuse_structure_in_gazebo(robot: Node) -> None:
    for gazebo in robot.children("gazebo"):
        for node in gazebo.children(*_GAZEBO_STRUCTURE):
            raise node.error(
                f"a <{node.tag}> inside <gazebo> closes a loop or adds bodies; this release reads trees of URDF joints",
                UnsupportedFeature,
            )


def _root_of(robot: Node, links: dict[str, _Link], joints: dict[str, _Joint]) -> str:
    """The one link that no joint leads to, from which all others are reached."""
    leads_to: dict[str, _Joint] = {}
    children: dict[str, list[str]] = {}
    for joint in joints.values():
        first = leads_to.setdefault(joint.child, joint)
        if first is not joint:
            raise joint.node.error(
                f"link '{joint.child}' is the child of joint '{first.name}' (line {first.node.line}) and of joint "
                f"'{joint.name}': this closes a loop, and this release computes the dynamics of trees",
                TopologyError,
            )
        children.setdefault(joint.parent, []).append(joint.child)
    roots = [name for name in links if name not in leads_to]
    if len(roots) > 1:
        raise links[roots[1]].node.error(
            f"no joint leads to link '{roots[1]}', nor to '{roots[0]}' (line {links[roots[0]].node.line}): "
            f"a robot has one root link, this one {len(roots)}",
            TopologyError,
        )
    reached, stack = set(roots), list(roots)
    while stack:
        below = children.get(stack.pop(), [])
        reached.update(below)
        stack.extend(below)
    for name, link in links.items():
        if name not in reached:
            joint = leads_to[name]
            raise joint.node.error(f"joint '{joint.name}' and link '{link.name}' are part of a cycle", TopologyError)
    return roots[0]


def _assemble(
    robot: Node, root: str, links: dict[str, _Link], joints: dict[str, _Joint], base: Base, inertias: Inertias
) -> Mechanism:
    build = Builder(robot.get("name") or Path(robot.file).stem)
    nodes: dict[str, Node] = {}
    if root == WORLD and base == "floating":
        raise links[root].node.error(
            "the root link is called 'world', which does not float: load with base='fixed', or rename the link"
        )
    for link in links.values():
        nodes[link.name] = link.node
        if link.name == root == WORLD:
            continue
        with located(link.node):
            build.body(link.name, link.inertia, link.meshes, check=inertias == "check")
    if root != WORLD:
        taken = {*joints, *links, *(frame.get("name") for frame in robot.children("frame"))}
        build.joint(_free_name(taken), Free() if base == "floating" else Fixed(), WORLD, root)
    for joint in joints.values():
        nodes[joint.name] = joint.node
        options: dict[str, Any] = joint.options
        with located(joint.node):
            build.joint(joint.name, joint.type, joint.parent, joint.child, joint.placement, **options)
    for node in robot.children("frame"):
        nodes[node.text("name")] = node
        if node.text("link") not in links:
            raise node.error(
                f"the frame is on link '{node.text('link')}', which is no link of this robot", TopologyError
            )
        with located(node):
            build.frame(node.text("name"), node.text("link"), _placement(node))
    try:
        return build.build()
    except ModelError as e:
        culprit = nodes.get(e.subject or "", robot)
        hint = "; or load with inertias='trust' to take the file as it is" if "moments of inertia" in str(e) else ""
        raise culprit.error(f"{e}{hint}", type(e)) from e


def _free_name(taken: set[str | None]) -> str:
    name, k = ROOT_JOINT, 0
    while name in taken:
        k += 1
        name = f"{ROOT_JOINT}_{k}"
    return name
