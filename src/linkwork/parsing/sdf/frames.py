# SPDX-License-Identifier: BSD-3-Clause
"""Placements of the links, joints and frames of an SDF model: its pose graph, resolved.

Every element with a ``<pose>`` stands relative to another one: the named one (``relative_to``), or by default a link
to its model, a joint to its child, a frame to what it is attached to, a model to the model around it. A model with a
``placement_frame`` says by its pose where that frame stands. Names are looked up in the model that they stand in;
``a::b`` is ``b`` in the nested model ``a``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from linkwork.errors import TopologyError, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.model.constraints import WORLD
from linkwork.model.placement import Placement
from linkwork.parsing.sdf.joints import Version
from linkwork.parsing.xml import Node, located

MODEL = "__model__"
_HERE = ("link", "joint", "frame", "model", "drake:joint")


@dataclass(eq=False)
class Scope:
    """A model: a namespace. ``prefix`` precedes its names in the mechanism (``arm::`` for a nested model)."""

    node: Node
    prefix: str
    outer: Scope | None
    version: Version
    elements: dict[str, Node] = field(default_factory=dict)
    inner: dict[str, Scope] = field(default_factory=dict)
    _placed: dict[str, Placement] = field(default_factory=dict)
    _bodies: dict[str, str] = field(default_factory=dict)

    # Names ---------------------------------------------------------------------------------------

    def walk(self) -> Iterator[Scope]:
        """This model and those inside it."""
        stack = [self]
        while stack:
            scope = stack.pop()
            yield scope
            stack.extend(reversed(scope.inner.values()))

    def look_up(self, referrer: Node, name: str) -> tuple[Scope, str]:
        """The model that a name stands in, and the name there."""
        scope, rest = self, name
        while rest not in scope.elements and "::" in rest:
            model, rest = rest.split("::", 1)
            if model not in scope.inner:
                raise referrer.error(f"'{name}': there is no model '{model}' inside", TopologyError)
            scope = scope.inner[model]
        if rest not in scope.elements and rest not in (MODEL, WORLD):
            near = suggest(rest, scope.elements)
            raise referrer.error(f"'{name}' is no link, joint, frame or model here{near}", TopologyError)
        return scope, rest

    def canonical(self, referrer: Node) -> tuple[Scope, str]:
        """The link that the frame of this model is attached to: the one named, or the first."""
        named = self.node.get("canonical_link")
        if named:
            scope, name = self.look_up(self.node, named)
            if name not in scope.elements or scope.elements[name].tag != "link":
                raise self.node.error(f"canonical_link '{named}' is no link", TopologyError)
            return scope, name
        for scope in self.walk():
            for name, node in scope.elements.items():
                if node.tag == "link":
                    return scope, name
        raise referrer.error("the model has no <link>", TopologyError)

    def body(self, referrer: Node, name: str) -> str:
        """The link (its name in the mechanism, or ``world``) that something is attached to."""
        scope, seen, body = self, dict[tuple[Scope, str], None](), ""
        while not body:
            scope, name = scope.look_up(referrer, name)
            if (scope, name) in seen:
                raise referrer.error(f"'{name}' is attached to itself, in a cycle", TopologyError)
            seen[scope, name] = None
            node = scope.elements.get(name)
            if name in scope._bodies or name == WORLD:
                body = scope._bodies.get(name, WORLD)
            elif node is None:
                scope, name = scope.canonical(referrer)
            elif node.tag == "link":
                body = scope.prefix + name
            elif node.tag == "model":
                scope, name = scope.inner[name], MODEL
            elif node.tag == "frame":
                name = node.get("attached_to") or MODEL
            else:
                name = node.need("child").word()
        for scope, name in seen:
            scope._bodies[name] = body
        return body

    # Places --------------------------------------------------------------------------------------

    def place(self, referrer: Node, name: str) -> Placement:
        """The placement of something in the frame of this model."""
        scope, inner = self.look_up(referrer, name)
        placement = scope._own_place(referrer, inner)
        while scope is not self:
            assert scope.outer is not None  # an inner model has one around it
            placement = scope.outer._own_place(referrer, _name_of(scope)) * placement
            scope = scope.outer
        return placement

    def element_place(self, node: Node) -> Placement:
        """The placement of an element of this model in its frame."""
        return self.place(node, self._relative_to(node)) * read_pose(node, self.version)

    def in_world(self, referrer: Node, name: str) -> Placement:
        """The placement of something in the world, in the pose that the file gives the model."""
        return self.place(referrer, WORLD).inverse() * self.place(referrer, name)

    def _own_place(self, referrer: Node, name: str) -> Placement:
        """Depth first over what it stands relative to, without recursion: chains may be long."""
        open_: dict[tuple[Scope, str], None] = {(self, name): None}
        while open_:
            scope, inner = next(reversed(open_))
            missing = next((need for need in scope._needs(inner) if need[1] not in need[0]._placed), None)
            if missing is None:
                scope._placed[inner] = scope._combine(inner)
                open_.popitem()
            elif missing in open_:
                node = missing[0].elements.get(missing[1], referrer)
                raise node.error(f"the pose of '{missing[1]}' depends on itself, in a cycle", TopologyError)
            else:
                open_[missing] = None
        return self._placed[name]

    def _needs(self, name: str) -> list[tuple[Scope, str]]:
        """Frames that must be placed before: chains of (model, name there)."""
        if name == MODEL:
            return []
        if name == WORLD:
            frame = self.node.get("placement_frame")
            needs = self._path(self.node, frame) if frame else []
            return needs if self.outer is None else [(self.outer, WORLD), (self.outer, _name_of(self))]
        node = self.elements[name]
        needs = self._path(node, self._relative_to(node))
        if node.tag == "model":
            frame = node.get("placement_frame")
            needs += self.inner[name]._path(node, frame) if frame else []
        return needs

    def _path(self, referrer: Node, name: str) -> list[tuple[Scope, str]]:
        scope, inner = self.look_up(referrer, name)
        scopes = [(scope, inner)]
        while scope is not self:
            assert scope.outer is not None
            scopes.append((scope.outer, _name_of(scope)))
            scope = scope.outer
        return scopes

    def _combine(self, name: str) -> Placement:
        """The place of something whose needs are placed."""
        if name == MODEL:
            return Placement()
        if name == WORLD:
            if self.outer is not None:
                return self.outer._placed[_name_of(self)].inverse() * self.outer._placed[WORLD]
            return self._placement_of(self.node, self).inverse()
        node = self.elements[name]
        if node.tag == "model":
            return self._along(node, self._relative_to(node)) * self._placement_of(node, self.inner[name])
        return self._along(node, self._relative_to(node)) * read_pose(node, self.version)

    def _placement_of(self, node: Node, model: Scope) -> Placement:
        """The frame of a model, where its pose says how its placement frame stands."""
        frame = node.get("placement_frame")
        pose = read_pose(node, self.version)
        return pose * model._along(node, frame).inverse() if frame else pose

    def _along(self, referrer: Node, name: str) -> Placement:
        placement = Placement()
        for scope, inner in self._path(referrer, name):
            placement = scope._placed[inner] * placement
        return placement

    def _relative_to(self, node: Node) -> str:
        pose = node.child("pose")
        named = None if pose is None else pose.get("relative_to")
        if named and self.version < (1, 7):
            raise node.error("'relative_to' needs SDF 1.7 or later; set the version of the file", UnsupportedFeature)
        if named:
            return named
        if node.tag == "joint":
            return node.need("child").word()
        return (node.get("attached_to") or MODEL) if node.tag == "frame" else MODEL


def _name_of(scope: Scope) -> str:
    return scope.node.text("name")


def read_scope(node: Node, version: Version, prefix: str = "", outer: Scope | None = None) -> Scope:
    """The names of a model and of those inside it."""
    scope = Scope(node, prefix, outer, version)
    for child in node.children(*_HERE):
        name = child.text("name")
        if name in (MODEL, WORLD) or (name.startswith("__") and name.endswith("__")):
            raise child.error(f"the name '{name}' is reserved")
        # Before 1.7, a joint may have the name of a link; nothing can refer to it then.
        taken = scope.elements.get(name)
        if taken is not None and (version >= (1, 7) or taken.tag == child.tag):
            raise child.error(f"two elements of the model are called '{name}'; the first is on line {taken.line}")
        if taken is None or child.tag == "link":
            scope.elements[name] = child
        if child.tag == "model":
            scope.inner[name] = read_scope(child, version, f"{prefix}{name}::", scope)
        elif child.tag == "frame" and version < (1, 7):
            raise child.error("<frame> is defined since SDF 1.7; set version='1.7' or later", UnsupportedFeature)
    return scope


def read_pose(node: Node, version: Version) -> Placement:
    """The ``<pose>`` of an element: position, then roll, pitch and yaw or a quaternion."""
    pose = node.child("pose")
    if pose is None or not pose.content:
        return Placement()
    if pose.get("frame"):
        raise pose.error(
            "attribute 'frame' of a pose has no defined meaning; SDF 1.7 has 'relative_to'", UnsupportedFeature
        )
    form = pose.get("rotation_format") or "euler_rpy"
    if form == "quat_xyzw":
        x, y, z, qx, qy, qz, qw = pose.values(7)
        with located(pose):
            return Placement.from_quaternion(qx, qy, qz, qw, position=(x, y, z))
    if form != "euler_rpy":
        raise pose.error(f"rotation_format '{form}' is neither 'euler_rpy' nor 'quat_xyzw'", UnsupportedFeature)
    x, y, z, roll, pitch, yaw = pose.values(6)
    unit = math.radians(1.0) if pose.is_set("degrees") else 1.0
    with located(pose):
        return Placement.rpy(roll * unit, pitch * unit, yaw * unit, position=(x, y, z))
