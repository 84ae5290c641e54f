"""SDF files (SDFormat 1.4 to 1.12) to mechanisms.

Read: one ``<model>``, alone or in a ``<world>`` (whose gravity is taken), with nested models (their names become
``model::link``), links, joints of all types, frames, mimics, gearboxes, and of Drake's additions the inertia of rotors,
``drake:mimic`` and ``drake:ball_constraint``; and shapes, for viewers. What senses or controls is passed over. Anything
else could change the dynamics and is an `UnsupportedFeature`.

Where files and the standard leave room:
- All joints are at zero in the pose that the file gives the links, so that loops of joints are closed there. Joints may
  form any graph; see `Builder.joint` for which of them become constraints.
- What no joint holds in the world floats: a `Free` joint ``root_joint`` leads to it, and the pose ``"initial"`` is
  where the file puts it. ``base="fixed"`` holds it there instead. A ``<static>`` model does not move at all.
- A link without an ``<inertial>`` weighs 1 kg and has unit moments of inertia, by the standard; this is a warning.
- A joint stands where its child is. A parent that is named by a frame elsewhere on the parent link is a warning: Drake
  and Gazebo do not move that frame to the joint, and neither does this.
- A gearbox binds the angles of two revolute joints from its reference body, to its parent and to its child:
  ``angle of child = - gearbox_ratio (angle of parent)``, each about the axis that the gearbox gives it.
"""

from __future__ import annotations

import re
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, JointCoupling, Point
from linkwork.model.joints import Fixed, Free, Joint, Revolute
from linkwork.model.parts import GRAVITY
from linkwork.model.placement import Placement
from linkwork.model.rotations import quaternion_of
from linkwork.parsing.appearance import MeshFinder
from linkwork.parsing.assembly import ROOT_JOINT, Assembly, free_name, mimic_constraint
from linkwork.parsing.options import Base, Inertias, check_options, model_path, read_file
from linkwork.parsing.options import Mimic as MimicOption
from linkwork.parsing.sdf_frames import Scope, read_scope
from linkwork.parsing.sdf_joints import IN_JOINT, Axes, Mimic, Version, axis_direction, read_joint
from linkwork.parsing.sdf_links import read_link
from linkwork.parsing.sdf_shapes import Frames, read_shapes
from linkwork.parsing.xml import Node, located, read_xml, warn

_OLDEST, _NEWEST = (1, 4), (1, 12)
_WORLD_GRAVITY = (0.0, 0.0, -9.8)
"""Of a world that does not say, by the standard."""

# What does not change the dynamics, by the element it stands in. Read elsewhere: the first line of each.
_UNDERSTOOD = {
    "sdf": {"model", "world"} | {"light", "actor"},
    "world": {"model", "gravity", "physics"}
    | {"light", "gui", "scene", "plugin", "spherical_coordinates", "atmosphere", "magnetic_field", "wind", "audio"}
    | {"road", "actor"},
    "model": {"link", "joint", "frame", "model", "pose", "static", "drake:ball_constraint"}
    | {"self_collide", "allow_auto_disable", "plugin", "gripper", "enable_wind", "drake:collision_filter_group"},
}


def load_sdf(
    path: str | PathLike[str],
    base: Base | None = None,
    *,
    mimic: MimicOption = "constrain",
    inertias: Inertias = "warn",
) -> Mechanism:
    """A mechanism from an SDF file.

    ``base``: what no joint holds in the world is ``"floating"`` (default) or ``"fixed"`` where it stands.
    ``mimic``: a joint that mimics another is bound by a constraint, or ``"ignore"`` the tag and leave the joint free.
    ``inertias``: those that no distribution of mass has are a warning (``"warn"``), an error (``"check"``), or taken
    silently (``"trust"``).
    """
    check_options(base=base, mimic=mimic, inertias=inertias)
    file = model_path(path)
    return parse_sdf(read_file(file), str(file), base, mimic=mimic, inertias=inertias)


def parse_sdf(
    text: bytes | str,
    file: str = "<text>",
    base: Base | None = None,
    *,
    mimic: MimicOption = "constrain",
    inertias: Inertias = "warn",
) -> Mechanism:
    """A mechanism from the text of an SDF file; ``file`` is its name in messages. Options as for `load_sdf`."""
    check_options(base=base, mimic=mimic, inertias=inertias)
    if not isinstance(text, bytes | str):
        raise InputError(f"text is str or bytes, not {type(text).__name__}")
    sdf = read_xml(text, file)
    if sdf.tag != "sdf":
        raise sdf.error("the root element of an SDF file is <sdf>")
    version = _version(sdf)
    model, gravity = _the_model(sdf)
    for node in (model, *model.descendants("model")):
        _refuse_unknown(node)
    reader = _Reader(
        read_scope(model, version), Assembly(model, model.text("name"), inertias, gravity), inertias == "trust"
    )
    return reader.read(base, mimic)


def _version(sdf: Node) -> Version:
    given = sdf.text("version")
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", given, re.ASCII)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if not _OLDEST <= version <= _NEWEST:
        raise sdf.error(f"SDF version '{given}': versions 1.4 to 1.12 are read", UnsupportedFeature)
    return version


def _the_model(sdf: Node) -> tuple[Node, Floats]:
    """The one model of the file, and the gravity it stands in."""
    _refuse_unknown(sdf)
    worlds, models, gravity = list(sdf.children("world")), list(sdf.children("model")), np.array(GRAVITY)
    for world in worlds:
        _refuse_unknown(world)
        models += world.children("model")
        gravity = np.array(_WORLD_GRAVITY)
        for node in (world, *world.children("physics")):
            given = node.child("gravity")
            if given is not None:
                gravity = np.array(given.values(3))
    if len(worlds) > 1 or len(models) != 1:
        raise sdf.error(
            f"the file has {len(models)} models in {len(worlds)} worlds; one model is read: split the file, "
            "and put the mechanisms together with compose",
            UnsupportedFeature,
        )
    pose = models[0].child("pose")
    if pose is not None and (pose.get("relative_to") or WORLD) != WORLD:
        raise pose.error("the model stands in the world, whose frames are not read", UnsupportedFeature)
    return models[0], gravity


def _refuse_unknown(node: Node) -> None:
    for child in node.children("include"):
        raise child.error("other files are not opened: put the model that it includes in its place", UnsupportedFeature)
    node.holds_only(_UNDERSTOOD[node.tag])


class _Joint(NamedTuple):
    """A joint of the mechanism, or a gearbox (no type)."""

    node: Node
    scope: Scope
    name: str
    type: Joint | None
    parent: str
    child: str
    place: Placement
    """In the frame of the whole model."""
    options: dict[str, Any]


class _Reader:
    """One reading of one model."""

    def __init__(self, top: Scope, assembly: Assembly, quiet: bool) -> None:
        self.top = top
        self.assembly = assembly
        self.quiet = quiet
        self.links: dict[str, Placement] = {}
        self.joints: dict[str, _Joint] = {}
        self.mimics: list[Mimic] = []
        self.meshes = MeshFinder(top.node.file)

    def read(self, base: Base | None, mimic: MimicOption) -> Mechanism:
        """The mechanism."""
        static = _flag(self.top.node, "static")
        for scope in self.top.walk():
            if scope is not self.top and _flag(scope.node, "static"):
                raise scope.node.need("static").error("a static model inside one that moves", UnsupportedFeature)
            self._read_links(scope)
        if not self.links:
            raise self.top.node.error("the model has no <link>")
        if static:
            for name in self.links:
                self._to_world(name, f"{name}_static", Fixed())
            return self.assembly.finish()
        for scope in self.top.walk():
            for node in scope.node.children("joint"):
                self._read_joint(scope, node)
        self._stand_in_world(base)
        for joint in self.joints.values():
            self._add_joint(joint)
        for scope in self.top.walk():
            self._add_frames(scope)
            for k, node in enumerate(scope.node.children("drake:ball_constraint")):
                self._add_ball(scope, node, k)
        if mimic == "constrain":
            for follower in self.mimics:
                self._add_mimic(follower)
        return self.assembly.finish()

    # Links ---------------------------------------------------------------------------------------

    def _read_links(self, scope: Scope) -> None:
        for node in scope.node.children("link"):
            name = scope.prefix + node.text("name")
            self.links[name] = self.top.place(node, name)
            self.assembly.link(node, name, read_link(node, name, scope.version, quiet=self.quiet))
            self.assembly.look(name, read_shapes(node, scope.version, self._frames_from(scope, name), self.meshes))

    def _frames_from(self, scope: Scope, link: str) -> Frames:
        """Where frames of a model stand, seen from a link."""

        def frames(asked_by: Node, frame: str) -> Placement:
            return self.links[link].inverse() * self._in_whole(scope, asked_by) * scope.place(asked_by, frame)

        return frames

    # Joints --------------------------------------------------------------------------------------

    def _read_joint(self, scope: Scope, node: Node) -> None:
        name = scope.prefix + node.text("name")
        if name in self.joints:
            raise node.error(f"two joints are called '{name}'; the first is on line {self.joints[name].node.line}")
        parent, child = node.need("parent"), node.need("child")
        ends = [scope.body(end, end.word()) for end in (parent, child)]
        place = self._in_whole(scope, node) * scope.stands(node)

        if node.text("type") == "gearbox":
            node.holds_only(IN_JOINT)
            self.joints[name] = _Joint(node, scope, name, None, ends[0], ends[1], place, {})
            return
        words = read_joint(node, name, scope.version, self._axes(scope, place))
        self.joints[name] = _Joint(node, scope, name, words.type, ends[0], ends[1], place, words.options)
        self.mimics += words.mimics
        named = scope.look_up(parent, parent.word())
        if named[1] in named[0].elements and named[0].elements[named[1]].tag == "frame":
            at = self._in_whole(scope, node) * scope.place(parent, parent.word())
            if np.abs(at.position - place.position).max() > 1e-6:
                warn(
                    parent,
                    f"frame '{parent.word()}' is not where joint '{name}' stands, which is where its child is: the "
                    "frame only says which link the parent is",
                )

    def _axes(self, scope: Scope, joint: Placement) -> Axes:
        """How frames of a model are turned, seen from a joint."""

        def axes(asked_by: Node, frame: str) -> Floats:
            there = self._in_whole(scope, asked_by) * scope.place(asked_by, frame)
            turned: Floats = joint.rotation.T @ there.rotation
            return turned

        return axes

    def _in_whole(self, scope: Scope, asked_by: Node) -> Placement:
        """The frame of a nested model, in that of the whole."""
        return self.top.place(asked_by, scope.prefix.removesuffix("::")) if scope.prefix else Placement()

    def _add_joint(self, joint: _Joint) -> None:
        if joint.type is None:
            self._add_gearbox(joint)
            return
        ends = [self._link_place(joint.node, end).inverse() * joint.place for end in (joint.parent, joint.child)]
        self.assembly.joint(
            joint.node, joint.name, joint.type, joint.parent, joint.child, ends[0], ends[1], **joint.options
        )

    def _link_place(self, asked_by: Node, name: str) -> Placement:
        return self.top.place(asked_by, WORLD) if name == WORLD else self.links[name]

    def _add_gearbox(self, gearbox: _Joint) -> None:
        node = gearbox.node
        ratio = node.value_of("gearbox_ratio", 1.0)
        given = node.need("gearbox_reference_body")
        reference = gearbox.scope.body(given, given.word())
        if ratio == 0:
            raise node.error("gearbox_ratio is zero")
        turns: dict[str, float] = {}
        for end, tag, factor in ((gearbox.parent, "axis", ratio), (gearbox.child, "axis2", 1.0)):
            axis = node.need(tag)
            axes = self._axes(gearbox.scope, gearbox.place)
            direction = gearbox.place.rotation @ axis_direction(axis, self.top.version, axes)
            joint, sign = self._turning(axis, reference, end, direction)
            if joint in turns:
                raise node.error(f"both sides of the gearbox are joint '{joint}'")
            turns[joint] = sign * factor
        self.assembly.constrain(node, JointCoupling(turns, name=gearbox.name))

    def _turning(self, axis: Node, reference: str, end: str, direction: Floats) -> tuple[str, float]:
        """The revolute joint between two links, and which way its angle counts about a direction."""
        length = float(np.linalg.norm(direction))
        for joint in self.joints.values():
            if {joint.parent, joint.child} != {reference, end} or not isinstance(joint.type, Revolute):
                continue
            along = float(joint.place.rotation @ joint.type.axis @ direction)
            if length > 0 and abs(along) > (1 - 1e-6) * length:
                return joint.name, float(np.sign(along)) * (1.0 if joint.parent == reference else -1.0)
        raise axis.error(
            f"a gearbox is read where one revolute joint about this axis leads from '{reference}' to '{end}'",
            UnsupportedFeature,
        )

    def _add_mimic(self, mimic: Mimic) -> None:
        follower, k = mimic.follower
        scope = self.joints[follower].scope
        model, name = scope.look_up(mimic.where, mimic.leader[0])
        leader, n = model.prefix + name, mimic.leader[1]
        if leader not in self.joints or self.joints[leader].type is None or leader == follower:
            raise mimic.where.error(f"joint '{follower}' mimics '{mimic.leader[0]}', which is no other joint")
        type = self.joints[leader].type
        if (k, n) != (0, 0) or any(t is not None and t.nv > 1 for t in (type, self.joints[follower].type)):
            raise mimic.where.error("joints of several degrees of freedom cannot mimic here", UnsupportedFeature)
        constraint = mimic_constraint(follower, leader, isinstance(type, Fixed), mimic.multiplier, mimic.offset)
        self.assembly.constrain(mimic.where, constraint)

    # The whole -----------------------------------------------------------------------------------

    def _stand_in_world(self, base: Base | None) -> None:
        """A joint from the world to each part that none holds."""
        placed: dict[str, Any] = {}
        joints = [joint for joint in self.joints.values() if joint.type is not None]
        for part in _parts(list(self.links), joints):
            if WORLD in part:
                if base == "floating":
                    held = next(joint for joint in joints if WORLD in (joint.parent, joint.child))
                    raise held.node.error("the joint holds the model in the world: load without base='floating'")
                continue
            root = self._root(part, joints)
            name = free_name(ROOT_JOINT, {*self.links, *self.joints, *placed})
            self._to_world(root, name, Fixed() if base == "fixed" else Free())
            if base != "fixed":
                at = self.top.in_world(self.top.node, root)
                placed[name] = np.concatenate([at.position, quaternion_of(at.rotation)])
        if placed:
            self.assembly.pose("initial", placed)

    def _to_world(self, link: str, name: str, type: Joint) -> None:
        at = self.top.in_world(self.top.node, link) if isinstance(type, Fixed) else Placement()
        self.assembly.joint(self.top.node, name, type, WORLD, link, at)

    def _root(self, part: set[str], joints: list[_Joint]) -> str:
        """The canonical link, or else the first from which joints lead to all others; or else the first."""
        scope, name = self.top.canonical(self.top.node)
        ordered = [link for link in (scope.prefix + name, *self.links) if link in part]
        below: dict[str, list[str]] = {}
        for joint in joints:
            below.setdefault(joint.parent, []).append(joint.child)
        return next((link for link in _sources(ordered, below) if _reached(link, below) >= part), ordered[0])

    def _add_frames(self, scope: Scope) -> None:
        for node in scope.node.children("frame"):
            name = scope.prefix + node.text("name")
            body = scope.body(node, node.text("name"))
            here = self._link_place(node, body).inverse() * self.top.place(node, name)
            self.assembly.frame(node, name, body, here)

    def _add_ball(self, scope: Scope, node: Node, k: int) -> None:
        ends = [node.need(f"drake:ball_constraint_body_{end}") for end in "AB"]
        points = [node.need(f"drake:ball_constraint_p_{end}").values(3) for end in ("AP", "BQ")]
        bodies = [scope.body(end, end.word()) for end in ends]
        name = f"{scope.prefix}ball_constraint_{k}"
        with located(node):
            constraint = Point(bodies[0], bodies[1], first_at=points[0], second_at=points[1], name=name)
        self.assembly.constrain(node, constraint)


def _flag(node: Node, tag: str) -> bool:
    child = node.child(tag)
    return child is not None and bool(child.content) and child.flag()


def _parts(links: list[str], joints: list[_Joint]) -> list[set[str]]:
    """The links that joints connect, however; in the order of their first links."""
    around: dict[str, list[str]] = {link: [] for link in links}
    for joint in joints:
        around.setdefault(joint.parent, []).append(joint.child)
        around.setdefault(joint.child, []).append(joint.parent)
    parts: list[set[str]] = []
    seen: set[str] = set()
    for link in links:
        if link not in seen:
            parts.append(_reached(link, around))
            seen |= parts[-1]
    return parts


def _reached(start: str, below: dict[str, list[str]]) -> set[str]:
    found, stack = {start}, [start]
    while stack:
        new = [name for name in below.get(stack.pop(), ()) if name not in found]
        found.update(new)
        stack += new
    return found


def _sources(ordered: list[str], below: dict[str, list[str]]) -> list[str]:
    """The first link, and those that no joint leads to: if one reaches all others, it is one of them."""
    led_to = {child for children in below.values() for child in children}
    return ordered[:1] + [link for link in ordered[1:] if link not in led_to]
