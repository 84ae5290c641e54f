# SPDX-License-Identifier: BSD-3-Clause
"""Constraints of a URDF file beyond its tree, in every notation in use.

| in the file                                   | here                                                              |
|-----------------------------------------------|-------------------------------------------------------------------|
| ``<mimic>`` of a joint                        | JointCoupling ``<joint>_mimic``; JointLock if the leader is fixed |
| ``<loop>`` (URDF+)                            | the constraint that a joint of its type is                        |
| ``<loop_joint>`` (Drake before 2016, Isaac)   | the same                                                          |
| ``<coupling>`` (URDF+)                        | JointCoupling: ``ratio`` times the sum of the joints to the       |
|                                               | predecessor is the sum of those to the successor                  |
| ``<coupling type="linear">`` (ours)           | JointCoupling: joints times their factors sum to ``offset``       |
| ``<loop>`` of other types (ours)              | Cardan, Cylindrical, PointOnLine, PointOnPlane, Rod, Rolling      |
| ``<loop_joint>`` with parent and child        | the same (exporters of Fusion)                                    |
| ``<constraint>`` of urdfdom#264               | that of its type, with an origin and an axis on both links        |
| ``<drake:ball_constraint>``                   | Point                                                             |
| SDF ``<joint>`` inside ``<gazebo>``           | an additional joint, by which the graph has a loop                |
| ``closed_loop`` of a ``robot.yaml``           | Weld (6d) or Point (3d)                                           |
| closures of a ``loop_closures.yaml``          | Hinge, Point: see `closure_file`                                  |
| frames ``closing_x_1``, ``closing_x_2``       | Point ``closing_x`` (convention of onshape-to-robot)              |

The axis of a ``<loop>`` stands in the frame of that joint, which is where the origins on predecessor and successor
meet, so that it is the same in both. The sums of a ``<coupling>`` run over the joints below the nearest common ancestor
(as in generalized_rbda, which devised it): the successor is usually a rotor, and the ratio its gear.

Frames that are named as pairs to be closed are closed in position: for the ball joints and the planar linkages that
onshape-to-robot is used for, this is the whole constraint or implies it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from linkwork.errors import ModelError, TopologyError, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.model.arrays import Floats
from linkwork.model.constraints import (
    WORLD,
    JointCoupling,
    Point,
    Weld,
)
from linkwork.model.joints import Fixed, Revolute
from linkwork.model.placement import Placement
from linkwork.parsing.located_builder import LocatedBuilder, mimic_constraint
from linkwork.parsing.options import LoadSettings
from linkwork.parsing.sdf.frames import read_pose
from linkwork.parsing.sdf.joints import read_joint
from linkwork.parsing.urdf.closure_file import add_closure
from linkwork.parsing.urdf.elements import UrdfGraph, UrdfJoint, UrdfLink, zero_configuration
from linkwork.parsing.urdf.loop_elements import add_constraint, add_loop, loop_ends
from linkwork.parsing.urdf.loop_file import LoopFile
from linkwork.parsing.xml import Node, located, warn

_CLOSING = re.compile(r"(closing_.+)_1", re.DOTALL)
_GAZEBO_SDF = (1, 7)
"""The version of SDF that Gazebo converts URDF files to."""

Links = dict[str, UrdfLink]
Joints = dict[str, UrdfJoint]


def add_loops(
    builder: LocatedBuilder, robot: Node, graph: UrdfGraph, loop_file: LoopFile | None, settings: LoadSettings
) -> None:
    """Add every constraint of a file; unless ``settings.loops`` is False, also those that are not of URDF itself."""
    links, joints, beyond_urdf = graph.links, graph.joints, settings.loops is not False
    for node in robot.children("loop", "loop_joint"):
        add_loop(builder, node, graph)
    for node in robot.children("constraint"):
        add_constraint(builder, node, links)
    for node in robot.children("coupling"):
        _add_coupling(builder, node, links, joints)
    for k, node in enumerate(robot.children("drake:ball_constraint")):
        _add_ball(builder, node, links, k)
    if settings.mimic == "constrain":
        exact = frozenset() if loop_file is None else loop_file.dependent
        for joint in joints.values():
            if joint.name not in exact:
                _add_mimic(builder, joint, joints)
    _read_gazebo(builder, robot, graph, with_joints=beyond_urdf)
    if loop_file is not None:
        _add_pairs(builder, loop_file, robot, links, joints)
        for loop in loop_file.closures:
            add_closure(builder, loop, links, zero_configuration(graph))
    elif beyond_urdf:
        _add_closing_frames(builder, links, joints)


# Elements of the file ------------------------------------------------------------------------------


def _add_mimic(builder: LocatedBuilder, joint: UrdfJoint, joints: Joints) -> None:
    nodes = list(joint.node.children("mimic", "drake:mimic"))
    if not nodes or isinstance(joint.type, Fixed):
        return
    node = nodes[0]
    if len(nodes) > 1:
        raise nodes[1].error(f"joint '{joint.name}' mimics twice; the first is on line {node.line}")
    leader = joints.get(node.text("joint"))
    if leader is None or leader is joint:
        near = suggest(node.text("joint"), [name for name in joints if name != joint.name])
        raise node.error(
            f"joint '{joint.name}' mimics '{node.text('joint')}', which is no other joint of this robot{near}"
        )
    for end in (joint, leader):
        if end.type.nv > 1:
            raise node.error(
                f"joint '{end.name}' ({end.type.kind_name}) has {end.type.nv} degrees of freedom: a mimic does not "
                "say which of them follows",
                UnsupportedFeature,
            )
    fixed = isinstance(leader.type, Fixed)
    multiplier, offset = node.number("multiplier", 1.0), node.number("offset", 0.0)
    builder.constrain(node, mimic_constraint(joint.name, leader.name, fixed, multiplier, offset))


def _add_coupling(builder: LocatedBuilder, node: Node, links: Links, joints: Joints) -> None:
    if node.get("type") == "linear":
        _add_linear_coupling(builder, node, joints)
        return
    node.refuse_other_elements({"predecessor", "successor", "ratio"})
    if (node.get("type") or "rolling") != "rolling":
        raise node.error(
            f"coupling type '{node.get('type')}' is not supported; 'rolling' and 'linear' are", UnsupportedFeature
        )
    ratio = node.need("ratio").number("value")
    if ratio == 0:
        raise node.error("the ratio is 0; it must not be zero")
    chains = [_chain(end, end.text("link"), joints) for end in loop_ends(node, links)]
    common = set(chains[0]) & set(chains[1])
    moving = [[name for name in chain if name not in common and joints[name].type.nv > 0] for chain in chains]
    if not all(moving):
        raise node.error("no joint moves the links of the coupling against their nearest common ancestor")
    for name in (*moving[0], *moving[1]):
        if joints[name].type.nv > 1:
            raise node.error(f"joint '{name}' of the coupling has several degrees of freedom", UnsupportedFeature)
    terms = dict.fromkeys(moving[1], 1.0) | dict.fromkeys(moving[0], -ratio)
    builder.constrain(node, JointCoupling(terms, name=node.text("name")))


def _add_linear_coupling(builder: LocatedBuilder, node: Node, joints: Joints) -> None:
    """Coordinates of joints times their factors sum to ``offset``."""
    node.refuse_other_elements({"joint"})
    factors: dict[str, float] = {}
    for part in node.children("joint"):
        name = part.text("name")
        if name not in joints:
            raise part.error(
                f"the coupling names joint '{name}', which is no joint of this robot{suggest(name, joints)}"
            )
        if name in factors:
            raise part.error(f"joint '{name}' is in this coupling twice")
        factors[name] = part.number("factor")
    with located(node):
        constraint = JointCoupling(factors, node.number("offset", 0.0), name=node.text("name"))
    builder.constrain(node, constraint)


def _chain(referrer: Node, link: str, joints: Joints) -> list[str]:
    """The joints above a link, in a file where each link has one."""
    above: dict[str, list[UrdfJoint]] = {}
    for joint in joints.values():
        above.setdefault(joint.child, []).append(joint)
    chain: list[str] = []
    while link in above:
        if len(above[link]) > 1:
            raise referrer.error(
                f"link '{link}' is the child of several joints: which of them counts for the coupling is ambiguous",
                UnsupportedFeature,
            )
        chain.append(above[link][0].name)
        link = above[link][0].parent
        if len(chain) > len(joints):
            raise referrer.error("the joints above the link form a cycle", TopologyError)
    return chain


def _add_ball(builder: LocatedBuilder, node: Node, links: Links, k: int) -> None:
    ends = [node.need(f"drake:ball_constraint_body_{end}") for end in "AB"]
    for end in ends:
        if end.text("name") not in links:
            near = suggest(end.text("name"), links)
            raise end.error(f"'{end.text('name')}' is no link of this robot{near}", TopologyError)
    points = [node.need(f"drake:ball_constraint_p_{end}") for end in ("AP", "BQ")]
    for point in points:
        point.text("value")
    at = [point.vector("value", (0.0, 0.0, 0.0)) for point in points]
    name = node.get("name") or f"ball_constraint_{k}"
    names = [end.text("name") for end in ends]
    builder.constrain(node, Point(names[0], names[1], first_at=at[0], second_at=at[1], name=name))


# Gazebo --------------------------------------------------------------------------------------------


def _read_gazebo(builder: LocatedBuilder, robot: Node, graph: UrdfGraph, with_joints: bool) -> None:
    """SDF inside ``<gazebo>``: joints are read, bodies are refused, the rest concerns contact, sensors and plugins."""
    rest: dict[str, Placement] | None = None
    for gazebo in robot.children("gazebo"):
        for node in gazebo.children():
            if node.tag in ("link", "model", "include"):
                raise node.error(f"a <{node.tag}> inside <gazebo> adds bodies, which is not read", UnsupportedFeature)
            if (node.tag == "joint" or node.tag.startswith("joint:")) and with_joints:
                rest = rest or zero_configuration(graph)
                _add_gazebo_joint(builder, node, rest)
            if node.tag in ("turnGravityOff", "gravity"):
                off = (node.get("value") or node.content).strip().lower() in ("true", "1")
                if off is (node.tag == "turnGravityOff"):
                    warn(node, f"Gazebo lets '{gazebo.get('reference')}' float without gravity; here it falls")
            if node.tag == "static" and node.content.lower() in ("true", "1"):
                warn(node, "Gazebo keeps this model where it is; here its joints move")


def _add_gazebo_joint(builder: LocatedBuilder, node: Node, rest: dict[str, Placement]) -> None:
    if node.tag != "joint":
        raise node.error(
            f"a <{node.tag}> inside <gazebo> is of a Gazebo before SDF; loops=False leaves it out", UnsupportedFeature
        )
    name = node.text("name")
    ends = [node.need("parent").word(), node.need("child").word()]
    for end in ends:
        if end not in rest and end != WORLD:
            raise node.error(f"the joint connects '{end}', which is no link of this robot", TopologyError)
    pose = node.child("pose")
    if pose is not None and pose.get("relative_to"):
        raise pose.error("a pose inside <gazebo> is read relative to the child", UnsupportedFeature)
    places = [rest.get(end, Placement()) for end in ends]
    here = places[1] * read_pose(node, _GAZEBO_SDF)

    def axes(referrer: Node, frame: str) -> Floats:
        if frame != "__model__" and frame not in rest:
            raise referrer.error(f"the axis is given in '{frame}', which is no link of this robot", TopologyError)
        turned: Floats = here.rotation.T @ rest.get(frame, Placement()).rotation
        return turned

    element = read_joint(node, name, _GAZEBO_SDF, axes)
    if element.mimics:
        raise element.mimics[0].where.error("a mimic inside <gazebo> is not read", UnsupportedFeature)
    at = [place.inverse() * here for place in places]
    builder.joint(node, name, element.type, ends[0], ends[1], at[0], at[1], **element.options)


def gazebo_springs(robot: Node) -> dict[str, dict[str, float]]:
    """Springs that ``<gazebo reference="joint">`` adds to joints."""
    springs: dict[str, dict[str, float]] = {}
    for gazebo in robot.children("gazebo"):
        spring: dict[str, float] = {}
        for node in gazebo.children("springStiffness", "springReference"):
            value = node.number("value") if node.get("value") is not None else node.values(1)[0]
            spring["stiffness" if node.tag == "springStiffness" else "rest"] = value
        if spring:
            springs[gazebo.get("reference") or ""] = spring
    return springs


# Loop file, and frames named as pairs ----------------------------------------------------------------


def apply_loop_file(loop_file: LoopFile, joints: Joints) -> Joints:
    """The joints with the types and motors that a loop file gives them."""
    joints_of_file = dict(joints)
    for name, (type, where) in loop_file.types.items():
        joint = _named(loop_file, name, where, joints)
        if not isinstance(joint.type, Revolute):
            raise where.error(f"joint '{name}' is {joint.type.kind_name} in the URDF, not revolute", UnsupportedFeature)
        if any(joint.node.children("mimic", "drake:mimic")):
            raise where.error(f"joint '{name}' mimics another in the URDF", UnsupportedFeature)
        kept: dict[str, Any] = {key: v for key, v in joint.options.items() if key in ("actuated", "independent")}
        joints_of_file[name] = replace(joint, type=type, options=kept)
    for name, where in (loop_file.motors or {}).items():
        _named(loop_file, name, where, joints)
    if loop_file.motors is not None:
        for joint in joints_of_file.values():
            joint.options["actuated"] = joint.name in loop_file.motors
            if joint.name in loop_file.independent | loop_file.dependent:
                joint.options["independent"] = joint.name in loop_file.independent
    return joints_of_file


def _named(loop_file: LoopFile, name: str, where: Any, joints: Joints) -> UrdfJoint:
    if name not in joints:
        error: ModelError = where.error(
            f"joint '{name}' is no joint of the URDF; loops=False loads the URDF without '{loop_file.file}'"
        )
        raise error
    return joints[name]


def _add_pairs(builder: LocatedBuilder, loop_file: LoopFile, robot: Node, links: Links, joints: Joints) -> None:
    here = {name: joint.child for name, joint in joints.items()}
    here |= {name: name for name in (*links, *(frame.text("name") for frame in robot.children("frame")))}
    for pair in loop_file.pairs:
        for name in (pair.first, pair.second):
            if name not in here:
                raise pair.where.error(f"frame '{name}' is neither link nor joint of the URDF")
        kind = Weld if pair.kind == "6d" else Point
        stem = pair.first.removesuffix("_1")
        name = stem if (pair.first, pair.second) == (f"{stem}_1", f"{stem}_2") else f"{pair.first}:{pair.second}"
        builder.constrain(pair.where, kind(here[pair.first], here[pair.second], name=name))


def _add_closing_frames(builder: LocatedBuilder, links: Links, joints: Joints) -> None:
    """Pairs of links that are mere frames: fixed to something, carrying nothing."""
    carrying = {joint.parent for joint in joints.values()}
    fixed = {joint.child for joint in joints.values() if isinstance(joint.type, Fixed)}
    for name, link in links.items():
        match = _CLOSING.fullmatch(name)
        other = f"{match[1]}_2" if match else ""
        if match and {name, other} <= fixed and not {name, other} & carrying:
            builder.constrain(link.node, Point(name, other, name=match[1]))
