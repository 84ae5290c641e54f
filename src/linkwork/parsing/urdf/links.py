# SPDX-License-Identifier: BSD-3-Clause
"""``<link>`` of URDF: its inertia and its shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.parsing.appearance import MeshFinder
from linkwork.parsing.urdf.elements import UrdfLink, placement_of_origin
from linkwork.parsing.urdf.shapes import named_colors, read_shapes
from linkwork.parsing.urdf.surfaces import LinkSurfaces
from linkwork.parsing.urdf.vocabulary import not_ignored, refuse_unknown
from linkwork.parsing.xml import Node, warn

_HOLDERS = ("joint", "drake:joint", "frame", "loop", "loop_joint", "drake:ball_constraint")
_BALL_ENDS = ("drake:ball_constraint_body_A", "drake:ball_constraint_body_B")
"""Elements that may name the world."""


def read_links(robot: Node, surfaces: LinkSurfaces, folders: tuple[Path, ...] = ()) -> dict[str, UrdfLink]:
    """The links of a file by their names; the world is one of them where something is attached to it."""
    links: dict[str, UrdfLink] = {}
    colors, meshes = named_colors(robot), MeshFinder(robot.file, folders)
    for node in not_ignored(robot, "link"):
        name = node.text("name")
        if name in links:
            raise node.error(f"two links are called '{name}'; the first is on line {links[name].node.line}")
        refuse_unknown(node)
        _refuse_dynamics_flags(node)
        links[name] = UrdfLink(name, node, _inertia(node), read_shapes(node, colors, meshes, surfaces))
    if not links:
        macros = ": it has xacro macros alone; load the file that calls them" if "xacro" in robot.file else ""
        raise robot.error(f"the robot has no <link>{macros}")
    named = None if WORLD in links else _names_world(robot)
    if named is not None:
        links[WORLD] = UrdfLink(WORLD, named, Inertia.zero(), ())
    return links


def _names_world(robot: Node) -> Node | None:
    """The first element that hangs something on the world, which need not be declared in Drake's URDF."""
    for node in robot.children(*_HOLDERS):
        for end in (node, *node.children()):
            if WORLD in (end.get("link"), end.get("name") if end.tag in _BALL_ENDS else None):
                return end
    return None


def _refuse_dynamics_flags(link: Node) -> None:
    """Elements outside the standard that are harmless while they say what holds anyway."""
    origin = link.child("origin")
    if origin is not None and (any(origin.vector("xyz", (0, 0, 0))) or any(origin.vector("rpy", (0, 0, 0)))):
        raise origin.error("a link has no origin of its own; place it by the origin of its joint", UnsupportedFeature)
    for tag, usual in (("gravity", ("1", "true", "")), ("kinematic", ("0", "false", ""))):
        node = link.child(tag)
        if node is not None and node.content.lower() not in usual:
            raise node.error(
                f"'{node.content}' changes the dynamics of this link alone, which is not supported; remove it",
                UnsupportedFeature,
            )


def _inertia(link: Node) -> Inertia:
    inertials = list(link.children("inertial"))
    if not inertials:
        return Inertia.zero()
    inertial = inertials[0]
    if len(inertials) > 1:
        warn(inertials[1], f"link '{link.text('name')}' has a second <inertial>: the first counts, as in urdfdom")
    density = inertial.child("density")
    if density is not None:
        raise density.error(
            "inertia from a density is not of URDF: write the <mass> and <inertia> that it makes of the link's shapes",
            UnsupportedFeature,
        )
    refuse_unknown(inertial)
    if inertial.child("mass") is None:
        raise inertial.error(
            "the <inertial> has no <mass>, which URDF requires: write one, or remove the <inertial>, and the link has "
            "no mass"
        )
    mass = inertial.need("mass").number("value")
    if mass < 0:
        raise inertial.need("mass").error(f"link '{link.text('name')}' has mass {mass}; it must be >= 0")
    moments = inertial.need("inertia")
    xx, xy, xz, yy, yz, zz = (moments.number(k) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    place = placement_of_origin(inertial)
    R = place.rotation
    turned = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return Inertia(mass, place.position, (turned + turned.T) / 2)
