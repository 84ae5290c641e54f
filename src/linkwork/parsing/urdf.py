"""URDF files to mechanisms.

Read: links with their inertials and shapes, joints of all six standard types, mimics, limits, damping, friction,
transmissions (they say which joints motors drive). Of Drake's additions: the named ``<frame>``, joints of type ball,
universal, planar and screw, ball constraints, and the inertia of rotors (``drake:rotor_inertia``, seen at the joint as
``gear_ratio² rotor_inertia``). Loops, in every way that files say them: see `parsing.urdf_loops`. What looks, collides,
senses or controls does not change the dynamics and is passed over. Anything else could and is an `UnsupportedFeature`.
Elements that Drake is told to ignore (``drake_ignore="true"``) are ignored here.

Where files and the standard leave room:
- A revolute or prismatic joint needs a ``<limit>`` (as in urdfdom). With neither ``lower`` nor ``upper`` in it there
  is no limit: the standard's default, both 0, would forbid all motion. With one of them, the other is 0.
- A link called ``world`` at the root *is* the world. It cannot float: with ``base="floating"`` that is an error.
- As in Drake, ``world`` may be named (as the parent of a joint, by a frame or a loop) without being declared, and a
  link that no joint holds in such a file is a body of its own, which floats unless ``base="fixed"``.
- A link may be the child of several joints, which then close loops; the root is the one link that is the child of none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.errors import InputError, TopologyError, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model.placement import Placement
from linkwork.parsing.appearance import MeshFinder
from linkwork.parsing.assembly import ROOT_JOINT, Assembly, free_name, refuse_untied
from linkwork.parsing.options import (
    EXPAND_XACRO,
    Base,
    Dependent,
    Inertias,
    Loops,
    Mimic,
    check_options,
    model_path,
    read_file,
)
from linkwork.parsing.side_file import SideFile, find_side_file, load_side_file
from linkwork.parsing.urdf_loops import add_loops, apply_side_file, gazebo_springs
from linkwork.parsing.urdf_parts import UrdfJoint, UrdfLink, placement, placement_of_origin
from linkwork.parsing.urdf_shapes import named_colors, read_shapes
from linkwork.parsing.xml import LARGEST, Node, located, read_xml, warn

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
    "drake:linear_bushing_rpy": "a bushing, a spring and damper between two frames, is no force that is computed here; "
    "where it stands for a joint that closes a loop, say that joint instead: by a <drake:ball_constraint>, or without "
    "the bushing and with robot.constrained(lw.Hinge(...)) in code",
    "drake:linear_spring_damper": "a spring and damper between two points is no force that is computed here",
    "drake:tendon_constraint": "bounds on a weighted sum of joint positions are not kept here; a tendon of fixed "
    "length is a JointCoupling: remove the element, and use robot.constrained(lw.JointCoupling(...)) in code",
}
"""What Drake adds to the dynamics and is not read; what is said of it."""

_HOLDERS = ("joint", "drake:joint", "frame", "loop", "loop_joint", "drake:ball_constraint")
_BALL_ENDS = ("drake:ball_constraint_body_A", "drake:ball_constraint_body_B")
"""Elements that may name the world."""


@dataclass(frozen=True)
class _Options:
    base: Base | None
    mimic: Mimic
    inertias: Inertias
    dependent: Dependent
    loops: bool


def load_urdf(
    path: str | PathLike[str],
    base: Base | None = None,
    *,
    mimic: Mimic = "constrain",
    inertias: Inertias = "warn",
    loops: Loops = None,
    dependent: Dependent = "error",
) -> Mechanism:
    """A mechanism from a URDF file.

    ``base``: the root link is ``"fixed"`` to the world (default), or ``"floating"`` on a `Free` joint ``root_joint``.
    ``mimic``: a joint that mimics another is bound by a constraint, or ``"ignore"`` the tag and leave the joint free.
    ``inertias``: those that no distribution of mass has are a warning (``"warn"``), an error (``"check"``), or taken
    silently (``"trust"``).
    ``loops``: a file that describes loops (``robot.yaml``); by default the one in the folder of the model, if there is
    one. ``False`` leaves open what is not closed by elements of URDF: side file, pairs of frames, joints in
    ``<gazebo>``.
    ``dependent``: joints that are marked as dependent while nothing in the file ties them are an ``"error"``, or
    ``"free"``.
    """
    check_options(base=base, mimic=mimic, inertias=inertias, dependent=dependent)
    file = model_path(path)
    side = find_side_file(file) if loops is None else None
    return _parse(read_file(file), str(file), base, mimic, inertias, loops, dependent, side)


def parse_urdf(
    text: bytes | str,
    file: str = "<text>",
    base: Base | None = None,
    *,
    mimic: Mimic = "constrain",
    inertias: Inertias = "warn",
    loops: Loops = None,
    dependent: Dependent = "error",
) -> Mechanism:
    """A mechanism from the text of a URDF file; ``file`` is its name in messages. Options as for `load_urdf`.

    No other file is read, unless ``loops`` names one.
    """
    check_options(base=base, mimic=mimic, inertias=inertias, dependent=dependent)
    if not isinstance(text, bytes | str):
        raise InputError(f"text is str or bytes, not {type(text).__name__}")
    return _parse(text, file, base, mimic, inertias, loops, dependent, None)


def _parse(
    text: bytes | str,
    file: str,
    base: Base | None,
    mimic: Mimic,
    inertias: Inertias,
    loops: Loops,
    dependent: Dependent,
    found: SideFile | None,
) -> Mechanism:
    """``found`` is a side file that nobody has asked for: it counts if it speaks of this robot."""
    if not (loops is None or loops is False or isinstance(loops, str | PathLike)):
        raise InputError(f"loops is {loops!r}; it is the path of a file, None, or False")
    side = None if loops is None or loops is False else load_side_file(loops)
    options = _Options(base, mimic, inertias, dependent, loops is not False)
    robot = read_xml(text, file)
    if robot.tag != "robot":
        raise robot.error("the root element of a URDF file is <robot>")
    _refuse_unknown(robot)
    links = _read_links(robot)
    joints = _read_joints(robot, links)
    if found is not None and found.frames & {*links, *joints}:
        side = found
    if side is not None:
        joints = apply_side_file(side, joints)
    return _assemble(robot, links, joints, side, options)


# Links -------------------------------------------------------------------------------------------


def _read_links(robot: Node) -> dict[str, UrdfLink]:
    links: dict[str, UrdfLink] = {}
    colors, meshes = named_colors(robot), MeshFinder(robot.file)
    for node in _heeded(robot, "link"):
        name = node.text("name")
        if name in links:
            raise node.error(f"two links are called '{name}'; the first is on line {links[name].node.line}")
        _refuse_unknown(node)
        _refuse_strange_link(node)
        links[name] = UrdfLink(name, node, _inertia(node), read_shapes(node, colors, meshes))
    if not links:
        raise robot.error("the robot has no <link>")
    named = None if WORLD in links else _names_world(robot)
    if named is not None:
        links[WORLD] = UrdfLink(WORLD, named, Inertia.zero(), ())
    return links


def _heeded(robot: Node, *tags: str) -> Iterator[Node]:
    """The elements called one of ``tags`` but for those that Drake is told to ignore."""
    return (node for node in robot.children(*tags) if node.get("drake_ignore") != "true")


def _names_world(robot: Node) -> Node | None:
    """The first element that hangs something on the world, which in Drake's URDF nobody has to declare."""
    for node in robot.children(*_HOLDERS):
        for end in (node, *node.children()):
            if WORLD in (end.get("link"), end.get("name") if end.tag in _BALL_ENDS else None):
                return end
    return None


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
    place = placement_of_origin(inertial)
    R = place.rotation
    turned = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return Inertia(mass, place.position, (turned + turned.T) / 2)


# Joints ------------------------------------------------------------------------------------------


def _read_joints(robot: Node, links: dict[str, UrdfLink]) -> dict[str, UrdfJoint]:
    joints: dict[str, UrdfJoint] = {}
    for node in _heeded(robot, "joint", "drake:joint"):
        name = node.text("name")
        if name in joints:
            raise node.error(f"two joints are called '{name}'; the first is on line {joints[name].node.line}")
        joints[name] = _read_joint(node, name, links)
    for name, (armature, node) in _armatures(robot).items():
        if name not in joints:
            raise node.error(f"the transmission moves joint '{name}', which is no joint of this robot")
        if joints[name].type.nv > 1:
            raise node.error(
                f"a rotor on joint '{name}', which has {joints[name].type.nv} degrees of freedom", UnsupportedFeature
            )
        joints[name].options["armature"] = armature
    for name in _actuated(robot):
        if name in joints:
            joints[name].options["actuated"] = True
    for name, spring in gazebo_springs(robot).items():
        if name in joints and joints[name].type.nv == 1:
            joints[name].options.update(spring)
    return joints


def _read_joint(node: Node, name: str, links: dict[str, UrdfLink]) -> UrdfJoint:
    _refuse_unknown(node)
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
    options = _limits(node, kind) | _losses(node, kind) | _independence(node)
    return UrdfJoint(name, node, type, ends[0], ends[1], placement_of_origin(node), options)


def _independence(joint: Node) -> dict[str, Any]:
    """URDF+: whether the coordinate is among those that describe the robot."""
    given = joint.get("independent")
    if given is None:
        return {}
    word = given.strip().lower()
    if word not in ("true", "1", "false", "0"):
        raise joint.error(f"attribute 'independent' is '{given}', neither true nor false")
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


def _losses(joint: Node, kind: str) -> dict[str, Any]:
    dynamics = joint.child("dynamics")
    if dynamics is None or kind == "fixed":
        return {}
    if kind == "planar" and len(dynamics.numbers("damping", 1, 3) or ()) == 3:
        return {"damping": dynamics.vector("damping", (0.0, 0.0, 0.0))}
    found = {key: dynamics.number(key, 0.0) for key in ("damping", "friction")}
    for key, value in found.items():
        if value < 0:
            raise dynamics.error(f"attribute '{key}' is {value}; it is not negative")
    return found


def _actuated(robot: Node) -> set[str]:
    """The joints that a transmission or a command of ros2_control moves."""
    found = {node.get("name") for t in robot.children("transmission") for node in t.children("joint")}
    for control in robot.children("ros2_control"):
        found |= {node.get("name") for node in control.children("joint") if any(node.children("command_interface"))}
    return {name for name in found if name}


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
        if child.tag.startswith("xacro:"):
            raise child.error(f"the file is a xacro template; {EXPAND_XACRO}")
        if child.tag in _REFUSED:
            raise child.error(_REFUSED[child.tag], UnsupportedFeature)
    node.holds_only(_UNDERSTOOD[node.tag.removeprefix("drake:")])


def _roots_of(links: dict[str, UrdfLink], joints: dict[str, UrdfJoint]) -> list[str]:
    """The links that no joint leads to: one, or the world and what floats in it."""
    led_to = {joint.child for joint in joints.values()}
    roots = [name for name in links if name not in led_to]
    if not roots:
        first = next(iter(links))
        back = next(joint for joint in joints.values() if joint.child == first)
        raise back.node.error(
            f"joint '{back.name}' leads to link '{first}', and some joint to every other: they form a cycle, and no "
            "link is the root",
            TopologyError,
        )
    if len(roots) > 1 and WORLD not in roots:
        raise links[roots[1]].node.error(
            f"no joint leads to link '{roots[1]}', nor to '{roots[0]}' (line {links[roots[0]].node.line}): "
            f"a robot has one root link, this one {len(roots)}",
            TopologyError,
        )
    return roots


def _assemble(
    robot: Node, links: dict[str, UrdfLink], joints: dict[str, UrdfJoint], side: SideFile | None, options: _Options
) -> Mechanism:
    assembly = Assembly(robot, robot.get("name") or Path(robot.file).stem, options.inertias)
    roots = _roots_of(links, joints)
    if roots == [WORLD] and options.base == "floating":
        raise links[WORLD].node.error(
            "the root link is called 'world', which does not float: load with base='fixed', or rename the link"
        )
    for link in links.values():
        if link.name != WORLD:
            assembly.link(link.node, link.name, link.inertia)
        assembly.look(link.name, link.shapes)
    base, held = options.base, [root for root in roots if root != WORLD]
    if base is None and WORLD in roots and held:
        base = "floating"
        warn(
            links[held[0]].node,
            f"the file speaks of the world, and no joint holds {', '.join(map(repr, held))} there: floating, as in "
            "Drake; base='floating' says so without this warning, base='fixed' holds it",
        )
    taken = {*joints, *links, *(frame.get("name") for frame in robot.children("frame"))}
    for root in held:
        name = free_name(ROOT_JOINT, taken)
        taken.add(name)
        assembly.joint(links[root].node, name, Free() if base == "floating" else Fixed(), WORLD, root, Placement())
    for joint in joints.values():
        assembly.joint(joint.node, joint.name, joint.type, joint.parent, joint.child, joint.place, **joint.options)
    for node in robot.children("frame"):
        on = node.text("link")
        if on not in links:
            near = suggest(on, links)
            raise node.error(f"the frame is on link '{on}', which is no link of this robot{near}", TopologyError)
        assembly.frame(node, node.text("name"), on, placement(node))
    add_loops(assembly, robot, roots, links, joints, side, outside=options.loops, mimic=options.mimic)
    mechanism = assembly.finish()
    if options.dependent == "error":
        refuse_untied(assembly, mechanism)
    return mechanism
