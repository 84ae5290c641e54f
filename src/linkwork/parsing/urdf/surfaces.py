# SPDX-License-Identifier: BSD-3-Clause
"""Contacts in a URDF file: surfaces of links, and pairs of links that touch each other."""

from __future__ import annotations

from linkwork.model.shapes import Surface
from linkwork.parsing.contact_rules import SelfCollision, Unused
from linkwork.parsing.surfaces import SurfaceReader, filtered_pairs, says_yes
from linkwork.parsing.xml import Node

_UNUSED = ("self_filter", "collision_checking", "self_collision_checking", "surface")
"""Additions to links by tools of old."""


class LinkSurfaces:
    """The surfaces of a robot's links.

    Args:
        robot: The root element.
        unused: Where to note what is not used.
    """

    def __init__(self, robot: Node, unused: Unused) -> None:
        self.unused = unused
        self._robot = robot
        self._reader = SurfaceReader(unused)
        self._links: dict[str, Surface | None] = {}
        self._read: set[str] = set()
        for gazebo in robot.children("gazebo"):
            link = gazebo.get("reference")
            if link:
                self._links[link] = self._reader.of_gazebo(gazebo, self._links.get(link))

    def of_collision(self, link: Node, collision: Node) -> Surface | None:
        """The surface of a shape: its own, or else that of its link.

        Args:
            link: The link.
            collision: The ``<collision>``.
        """
        name = link.get("name") or ""
        if name not in self._read:
            self._read.add(name)
            bullet = self._reader.of_bullet(link)
            self._links[name] = self._links.get(name) or bullet
            for node in link.children(*_UNUSED):
                self.unused.add(node, f"<{node.tag}>")
        return self._reader.of_drake(collision) or self._links[name]

    def self_collision(self, links: frozenset[str]) -> SelfCollision:
        """Which links touch each other.

        Args:
            links: All of the robot.
        """
        everywhere = False
        yes: set[str] = set()
        no: set[str] = set()
        for gazebo in self._robot.children("gazebo"):
            link = gazebo.get("reference")
            for node in gazebo.children("selfCollide", "self_collide"):
                if link:
                    (yes if says_yes(node) else no).add(link)
                else:
                    everywhere = says_yes(node)
        for node in self._robot.children("self_collision_checking"):
            self.unused.add(node, f"<{node.tag}>")
        touching = (links - no) if everywhere else frozenset(yes) & links
        return SelfCollision(touching, filtered_pairs(self._robot))
