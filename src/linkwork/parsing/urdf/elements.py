# SPDX-License-Identifier: BSD-3-Clause
"""Links and joints of a URDF file, and its placements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.model.inertia import Inertia
from linkwork.model.joints import Joint
from linkwork.model.placement import Placement
from linkwork.parsing.appearance import LinkShape
from linkwork.parsing.xml import Node, located


@dataclass(frozen=True)
class UrdfLink:
    """A link."""

    name: str
    node: Node
    inertia: Inertia
    shapes: tuple[LinkShape, ...]


@dataclass(frozen=True)
class UrdfJoint:
    """A joint; ``options`` are those of `Builder.joint`."""

    name: str
    node: Node
    type: Joint
    parent: str
    child: str
    place: Placement
    options: dict[str, Any]


@dataclass(frozen=True)
class UrdfGraph:
    """Links and joints of a file by their names."""

    roots: Sequence[str]
    """The links that are the child of no joint."""
    links: dict[str, UrdfLink]
    joints: dict[str, UrdfJoint]


def placement_of_origin(node: Node) -> Placement:
    """The placement of the ``<origin>`` inside."""
    origin = node.child("origin")
    return Placement() if origin is None else placement(origin)


def placement(node: Node) -> Placement:
    """The placement by ``xyz``, and ``rpy`` or (URDF 1.1) ``quat_xyzw``, of an element."""
    position, angles = node.vector("xyz", (0, 0, 0)), node.vector("rpy", (0, 0, 0))
    quaternion = node.numbers("quat_xyzw", 4)
    if quaternion is not None and node.get("rpy") is not None:
        raise node.error("both 'rpy' and 'quat_xyzw' are given; leave one of them out")
    with located(node):
        if quaternion is not None:
            x, y, z, w = quaternion
            return Placement.from_quaternion(x, y, z, w, position=position)
        return Placement.rpy(*angles, position=position) if any(angles) else Placement(position)


def zero_configuration(graph: UrdfGraph) -> dict[str, Placement]:
    """Placements of the links in the world when all joints are at zero."""
    children: dict[str, list[UrdfJoint]] = {}
    for joint in graph.joints.values():
        children.setdefault(joint.parent, []).append(joint)
    places, stack = {root: Placement() for root in graph.roots}, list(graph.roots)
    while stack:
        parent = stack.pop()
        for joint in children.get(parent, ()):
            if joint.child not in places:
                places[joint.child] = places[parent] * joint.place
                stack.append(joint.child)
    return places
