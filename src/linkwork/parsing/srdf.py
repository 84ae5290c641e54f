# SPDX-License-Identifier: BSD-3-Clause
"""SRDF: named poses of a robot, and pairs of links that need not be checked for collision.

Read are ``<group_state>``, whose joints that are not named stay at their neutral position, and
``<disable_collisions>``. Groups, end effectors, virtual and passive joints are for planners, and are skipped.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike

import numpy as np

from linkwork.inputs import suggest
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.parsing.options import model_path, read_file
from linkwork.parsing.xml import Node, read_xml

_KNOWN = frozenset(
    word
    for line in (
        "group group_state end_effector virtual_joint passive_joint disable_collisions disable_default_collisions",
        "enable_collisions link_sphere_approximation joint_property",
    )
    for word in line.split()
)


def with_srdf(robot: Mechanism, path: str | PathLike[str]) -> Mechanism:
    """The robot with what an SRDF file says of it: poses, and no contacts between links that it excludes.

    Args:
        robot: The mechanism of the URDF file that it is about.
        path: The file.
    """
    file = model_path(path)
    root = read_xml(read_file(file), str(file))
    if root.tag != "robot":
        raise root.error("the root element of an SRDF file is <robot>")
    root.refuse_other_elements(_KNOWN)
    poses = dict(robot.poses)
    for state in root.children("group_state"):
        poses[state.text("name")] = _pose(robot, state)
    excluded = {_pair(robot, node) for node in root.children("disable_collisions")}
    links = {shape.name: shape.link or shape.body for shape in robot.shapes if shape.name}
    kept = tuple(
        pair
        for pair in robot.contacts
        if frozenset(links.get(s.name, s.body) for s in (pair.first, pair.second)) not in excluded
        and frozenset(pair.bodies) not in excluded
    )
    return replace(robot, poses=poses, contacts=kept)


def _pose(robot: Mechanism, state: Node) -> Floats:
    q = robot.neutral()
    for node in state.children("joint"):
        name = node.text("name")
        if name not in robot.joint_names:
            if name in robot.frames:
                continue  # of a fixed joint that is called as its link
            raise node.error(f"there is no joint '{name}'{suggest(name, robot.joint_names)}")
        at = robot.q_slice(name)
        values = node.numbers("value", at.stop - at.start)
        if values is None:
            raise node.error(f"joint '{name}' needs a 'value'")
        q[at] = np.array(values)
    return robot.normalize(q)


def _pair(robot: Mechanism, node: Node) -> frozenset[str]:
    names = [node.text("link1"), node.text("link2")]
    for name in names:
        if name not in robot.frames:
            raise node.error(f"there is no link '{name}'{suggest(name, robot.frames)}")
    return frozenset(names)
