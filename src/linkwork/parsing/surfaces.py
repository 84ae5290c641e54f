# SPDX-License-Identifier: BSD-3-Clause
"""Surfaces of shapes, and groups that do not collide, as URDF and SDF write them, with Gazebo, Bullet and Drake.

| element                                                | what becomes of it                                       |
|--------------------------------------------------------|----------------------------------------------------------|
| SDF ``<surface>``: ``<friction>`` of ODE or Bullet     | friction; ``mu2`` and the like must be the same          |
| ``<bounce><restitution_coefficient>``                  | restitution                                              |
| ``<contact><ode><kp>``, Gazebo's ``<kp>``              | compliance 1/kp                                          |
| ``<contact><collide_bitmask>``, ``<..without_contact>``| mask: shapes touch where masks have a bit in common      |
| ``<gazebo reference="link">``: ``<mu1>``, ``<kp>``     | friction, compliance of the link's shapes                |
| ``<surface><friction><torsional>``                     | friction against spinning of a patch of a given radius   |
| Bullet's ``<link><contact>``                           | friction against sliding, spinning and rolling,          |
|                                                        | restitution, stiffness                                   |
| ``<drake:proximity_properties>``                       | mu_dynamic, point_contact_stiffness                      |
| ``<drake:collision_filter_group>``                     | links that do not touch each other                       |

Everything else, such as damping and hydroelastic contact, is noted as not used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from linkwork.errors import ModelError
from linkwork.model.shapes import PATCH_LEVER, Surface
from linkwork.parsing.contact_rules import Unused
from linkwork.parsing.xml import Node


class SurfaceReader:
    """Reads surfaces; what cannot be used is noted.

    Args:
        unused: Where to note it.
    """

    def __init__(self, unused: Unused) -> None:
        self.unused = unused

    def _number(self, node: Node | None, least: float = 0.0, most: float = float("inf")) -> float | None:
        """The number in an element or its attribute ``value``, if it is there and within bounds."""
        if node is None or not (node.get("value") or node.content):
            return None
        try:
            value = node.number("value") if node.get("value") is not None else node.values(1)[0]
        except ModelError:
            value = float("nan")
        if least <= value <= most:
            return value
        self.unused.add(node, f"<{node.tag}> {node.get('value') or node.content}, which is no such number")
        return None

    def _same(self, node: Node | None, friction: float | None, what: str) -> None:
        """Note a second coefficient that is not the first."""
        second = self._number(node)
        if node is not None and second is not None and second != friction:
            self.unused.add(node, f"<{node.tag}>: {what}")

    def _note(self, parent: Node, known: Iterable[str]) -> None:
        """Note elements inside that are not read."""
        for child in parent.children():
            if child.tag not in known:
                self.unused.add(child, f"<{child.tag}> in <{parent.tag}>")

    # SDF -------------------------------------------------------------------------------------------------

    def of_sdf(self, collision: Node) -> Surface | None:
        """The surface of a ``<collision>`` of SDF."""
        drake_surface = self.of_drake(collision)
        surface = _child(collision, "surface")
        if surface is None:
            return drake_surface
        said = self._friction(_child(surface, "friction"), drake_surface or Surface())
        bounce = _child(surface, "bounce")
        if bounce is not None:
            said = replace(said, restitution=self._number(_child(bounce, "restitution_coefficient"), most=1.0))
            self._note(bounce, ("restitution_coefficient", "threshold"))
        contact = _child(surface, "contact")
        if contact is not None:
            said = self._contact(contact, said)
        self._note(surface, ("friction", "bounce", "contact"))
        return said

    def _friction(self, node: Node | None, said: Surface) -> Surface:
        if node is None:
            return said
        for engine, first, second in (("ode", "mu", "mu2"), ("bullet", "friction", "friction2")):
            inside = _child(node, engine)
            if inside is None:
                continue
            mu = self._number(_child(inside, first))
            self._same(_child(inside, second), mu, "friction differs in two directions, and the first counts")
            self._note(inside, (first, second))
            if mu is not None and said.friction is None:
                said = replace(said, friction=mu)
        torsional = _child(node, "torsional")
        if torsional is not None:
            said = self._torsional(torsional, said)
        self._note(node, ("ode", "bullet", "torsional"))
        return said

    def _torsional(self, node: Node, said: Surface) -> Surface:
        """Gazebo's friction against spinning: that of a round patch, whose pressure is that of two spheres."""
        coefficient, radius = (self._number(_child(node, tag)) for tag in ("coefficient", "patch_radius"))
        flag = _child(node, "use_patch_radius")
        if flag is not None and not says_yes(flag):
            self.unused.add(node, "<torsional>: a patch whose radius depends on the depth")
            return said
        self._note(node, ("coefficient", "patch_radius", "use_patch_radius", "surface_radius"))
        torsional = PATCH_LEVER * (1.0 if coefficient is None else coefficient) * (radius or 0.0)
        return replace(said, torsional_friction=torsional) if torsional > 0 else said

    def _contact(self, node: Node, said: Surface) -> Surface:
        for engine in ("ode", "bullet"):
            inside = _child(node, engine)
            if inside is None:
                continue
            kp = self._number(_child(inside, "kp"))
            if kp and said.compliance is None:
                said = replace(said, compliance=1.0 / kp)
            self._note(inside, ("kp", "max_vel", "min_depth"))
        mask = self._number(_child(node, "collide_bitmask"))
        if mask is not None:
            said = replace(said, mask=int(mask))
        without = _child(node, "collide_without_contact")
        if without is not None and without.content.lower() in ("true", "1"):
            said = replace(said, mask=0)
        self._note(node, ("ode", "bullet", "collide_bitmask", "collide_without_contact"))
        return said

    # Drake, Gazebo and Bullet ---------------------------------------------------------------------------------

    def of_drake(self, collision: Node) -> Surface | None:
        """Contact properties in ``<drake:proximity_properties>`` of a ``<collision>``."""
        node = _child(collision, "drake:proximity_properties")
        if node is None:
            return None
        mu = self._number(_child(node, "drake:mu_dynamic"))
        static = _child(node, "drake:mu_static")
        if mu is None:
            mu = self._number(static)
        self._same(static, mu, "friction at rest and in motion differ, and the second counts")
        stiffness = self._number(_child(node, "drake:point_contact_stiffness"))
        self._note(node, ("drake:mu_dynamic", "drake:mu_static", "drake:point_contact_stiffness"))
        return Surface(mu, compliance=1.0 / stiffness if stiffness else None, combination="harmonic")

    def of_gazebo(self, gazebo: Node, said: Surface | None) -> Surface | None:
        """Contact properties of a link with those of ``<gazebo reference="link">`` added."""
        mu, kp = (self._number(_child(gazebo, tag)) for tag in ("mu1", "kp"))
        self._same(_child(gazebo, "mu2"), mu, "friction differs in two directions, and the first counts")
        for tag in ("kd", "fdir1", "maxContacts", "dampingFactor", "slip1", "slip2"):
            for node in gazebo.children(tag):
                self.unused.add(node, f"<{tag}>")
        inside = _child(gazebo, "collision")
        nested = None if inside is None else self.of_sdf(inside)
        known = said or nested
        if mu is None and not kp:
            return known
        known = known or Surface()
        friction = known.friction if mu is None else mu
        return replace(known, friction=friction, compliance=1.0 / kp if kp else known.compliance)

    def of_bullet(self, link: Node) -> Surface | None:
        """Contact properties in ``<contact>`` of a link, an extension of Bullet."""
        node = _child(link, "contact")
        if node is None:
            return None
        stiffness = self._number(_child(node, "stiffness"))
        self._note(node, ("lateral_friction", "restitution", "stiffness", "spinning_friction", "rolling_friction"))
        return Surface(
            self._number(_child(node, "lateral_friction")),
            self._number(_child(node, "restitution"), most=1.0),
            1.0 / stiffness if stiffness else None,
            torsional_friction=self._number(_child(node, "spinning_friction")),
            rolling_friction=self._number(_child(node, "rolling_friction")),
        )


def _child(node: Node, tag: str) -> Node | None:
    """The first element inside called so."""
    return next(node.children(tag), None)


def filtered_pairs(parent: Node, prefix: str = "") -> frozenset[frozenset[str]]:
    """Pairs of links that ``<drake:collision_filter_group>`` elements keep from touching.

    Args:
        parent: The robot or model that they are in.
        prefix: Of the names of links there.
    """
    members: dict[str, set[str]] = {}
    ignored: list[tuple[str, str]] = []
    nested: list[tuple[str, str]] = []
    for group in parent.children("drake:collision_filter_group", "collision_filter_group"):
        name = group.get("name") or ""
        links = members.setdefault(name, set())
        for node in group.children():
            said = node.get("link") or node.get("name") or node.content
            match node.tag.removeprefix("drake:"):
                case "member":
                    links.add(prefix + said)
                case "ignored_collision_filter_group":
                    ignored.append((name, said))
                case "member_collision_filter_group":
                    nested.append((name, said))
    for _ in nested:  # groups within groups, as deep as there are
        for outer, inner in nested:
            members[outer] |= members.get(inner, set())
    return frozenset(
        frozenset((one, other))
        for first, second in ignored
        for one in members.get(first, ())
        for other in members.get(second, ())
    )


def says_yes(node: Node | None) -> bool:
    """Whether an element says true.

    Args:
        node: The element, if there is one.
    """
    return node is not None and (node.get("value") or node.content).strip().lower() in ("true", "1")
