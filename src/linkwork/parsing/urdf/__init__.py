# SPDX-License-Identifier: BSD-3-Clause
"""URDF files to mechanisms.

Read: links with their inertials, shapes and surfaces, joints of all six standard types, mimics, limits, damping,
friction, transmissions (they say which joints motors drive). Of Drake's additions: the named ``<frame>``, joints of
type ball, universal, planar and screw, ball constraints, and the inertia of rotors (``drake:rotor_inertia``, seen at
the joint as ``gear_ratio² rotor_inertia``). Loops, in every notation in use: see `parsing.urdf.loops`. What looks,
senses or controls does not change the dynamics and is skipped. Anything else could and is an `UnsupportedFeature`.
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

from pathlib import Path

from linkwork.errors import TopologyError
from linkwork.inputs import suggest
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import WORLD
from linkwork.model.joints import Fixed, Free
from linkwork.model.placement import Placement
from linkwork.parsing.contact_rules import Unused, with_loaded_contacts
from linkwork.parsing.located_builder import (
    ROOT_JOINT,
    LocatedBuilder,
    refuse_unconstrained_dependents,
    unused_name,
)
from linkwork.parsing.options import Base, Document, LoadSettings
from linkwork.parsing.srdf import with_srdf
from linkwork.parsing.urdf.elements import UrdfGraph, UrdfJoint, UrdfLink, placement
from linkwork.parsing.urdf.joints import read_joints
from linkwork.parsing.urdf.links import read_links
from linkwork.parsing.urdf.loop_file import LoopFile, find_loop_file, load_loop_file
from linkwork.parsing.urdf.loops import add_loops, apply_loop_file
from linkwork.parsing.urdf.surfaces import LinkSurfaces
from linkwork.parsing.urdf.vocabulary import refuse_unknown, warn_of_skipped
from linkwork.parsing.xml import Node, read_xml, warn

__all__ = ["read_urdf"]


def read_urdf(document: Document, settings: LoadSettings) -> Mechanism:
    """A mechanism from a URDF file.

    A loop file beside the model that was not named (``settings.loops`` is None) is used if it names links or
    joints of this robot.
    """
    loops, file = settings.loops, None
    if loops is None and document.path is not None:
        file = find_loop_file(document.path)
    loop_file = None if loops is None or loops is False else load_loop_file(loops)
    robot = read_xml(document.text, document.name)
    if robot.tag != "robot":
        raise robot.error("the root element of a URDF file is <robot>")
    refuse_unknown(robot)
    warn_of_skipped(robot)
    unused = Unused(all_of_it=bool(settings.contacts))
    surfaces = LinkSurfaces(robot, unused)
    links = read_links(robot, surfaces, settings.folders)
    joints = read_joints(robot, links)
    if file is not None and file.frames & {*links, *joints}:
        loop_file = file
    if loop_file is not None:
        joints = apply_loop_file(loop_file, joints)
    graph = UrdfGraph(_roots(links, joints), links, joints)
    mechanism, builder = _mechanism(robot, graph, loop_file, settings)
    if settings.dependent == "error":
        refuse_unconstrained_dependents(builder, mechanism)
    if settings.contacts:
        rules = surfaces.self_collision(frozenset(links))
        mechanism = with_loaded_contacts(mechanism, settings.contacts, rules, unused, robot)
        unused.warn()
    return mechanism if settings.srdf is None else with_srdf(mechanism, settings.srdf)


def _roots(links: dict[str, UrdfLink], joints: dict[str, UrdfJoint]) -> list[str]:
    """The links that are the child of no joint: one, or the world and what floats in it."""
    children = {joint.child for joint in joints.values()}
    roots = [name for name in links if name not in children]
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


def _mechanism(
    robot: Node, graph: UrdfGraph, loop_file: LoopFile | None, settings: LoadSettings
) -> tuple[Mechanism, LocatedBuilder]:
    links, joints = graph.links, graph.joints
    builder = LocatedBuilder(robot, robot.get("name") or Path(robot.file).stem, settings.inertias)
    if graph.roots == [WORLD] and settings.base == "floating":
        raise links[WORLD].node.error(
            "the root link is called 'world', which does not float: load with base='fixed', or rename the link"
        )
    for link in links.values():
        if link.name != WORLD:
            builder.link(link.node, link.name, link.inertia)
        builder.shapes(link.name, link.shapes)
    _add_root_joints(builder, robot, graph, settings.base)
    for joint in joints.values():
        builder.joint(joint.node, joint.name, joint.type, joint.parent, joint.child, joint.place, **joint.options)
    for node in robot.children("frame"):
        on = node.text("link")
        if on not in links:
            near = suggest(on, links)
            raise node.error(f"the frame is on link '{on}', which is no link of this robot{near}", TopologyError)
        builder.frame(node, node.text("name"), on, placement(node))
    add_loops(builder, robot, graph, loop_file, settings)
    return builder.finish(massless=True), builder


def _add_root_joints(builder: LocatedBuilder, robot: Node, graph: UrdfGraph, base: Base | None) -> None:
    """Add a joint from the world to each root link."""
    links = graph.links
    others = [root for root in graph.roots if root != WORLD]
    if base is None and WORLD in graph.roots and others:
        base = "floating"
        warn(
            links[others[0]].node,
            f"the file refers to the world, and no joint connects {', '.join(map(repr, others))} to it: floating, as "
            "in Drake; base='floating' says so without this warning, base='fixed' fixes it",
        )
    taken = {*graph.joints, *links, *(frame.get("name") for frame in robot.children("frame"))}
    for root in others:
        name = unused_name(ROOT_JOINT, taken)
        taken.add(name)
        builder.joint(links[root].node, name, Free() if base == "floating" else Fixed(), WORLD, root, Placement())
