# SPDX-License-Identifier: BSD-3-Clause
"""SDF files (SDFormat 1.4 to 1.12) to mechanisms.

Read: one ``<model>``, or all of a ``<world>`` (whose gravity is taken; of several models names become ``model/link``),
those of included files in their places (`includes`), with nested models (their names become
``model::link``), links, joints of all types, frames, mimics, gearboxes, and of Drake's additions the inertia of rotors,
``drake:mimic`` and ``drake:ball_constraint``; and shapes, for viewers. What senses or controls is skipped. Anything
else could change the dynamics and is an `UnsupportedFeature`.

Where files and the standard leave room:
- All joints are at zero in the pose that the file gives the links, so that loops of joints are closed there. Joints may
  form any graph; see `Builder.joint` for which of them become constraints.
- What no joint connects to the world floats: a `Free` joint ``root_joint`` leads to it, and the pose ``"initial"`` is
  where the file puts it. ``base="fixed"`` fixes it there instead. A ``<static>`` model does not move at all.
- A link without an ``<inertial>`` weighs 1 kg and has unit moments of inertia, by the standard; this is a warning.
- A joint is placed at its child. A parent that is named by a frame elsewhere on the parent link is a warning: Drake
  and Gazebo do not move that frame to the joint, and neither does this.
- A gearbox binds the angles of two revolute joints from its reference body, to its parent and to its child:
  ``angle of child = - gearbox_ratio (angle of parent)``, each about the axis that the gearbox gives it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.mechanism.compose import compose
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, JointCoupling, Point
from linkwork.model.joints import Fixed, Free, Joint, Revolute
from linkwork.model.parts import GRAVITY
from linkwork.model.placement import Placement
from linkwork.model.rotations import quaternion_of
from linkwork.parsing.appearance import MeshFinder
from linkwork.parsing.connected import connected_parts, root_of
from linkwork.parsing.contact_rules import SelfCollision, Unused, with_loaded_contacts
from linkwork.parsing.located_builder import ROOT_JOINT, LocatedBuilder, mimic_constraint, unused_name
from linkwork.parsing.options import Document, LoadSettings
from linkwork.parsing.sdf.frames import Scope, read_scope
from linkwork.parsing.sdf.includes import with_includes
from linkwork.parsing.sdf.joints import IN_JOINT, Axes, Mimic, Version, axis_direction, read_joint
from linkwork.parsing.sdf.links import read_link
from linkwork.parsing.sdf.shapes import Frames, read_shapes
from linkwork.parsing.surfaces import SurfaceReader, filtered_pairs
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


def read_sdf(document: Document, settings: LoadSettings) -> Mechanism:
    """A mechanism from an SDF file."""
    sdf = read_xml(document.text, document.name)
    if sdf.tag != "sdf":
        raise sdf.error("the root element of an SDF file is <sdf>")
    version = _version(sdf)
    sdf = with_includes(sdf, settings.folders)
    models, gravity = _models(sdf)
    if len(models) == 1:
        return _read_model(models[0], gravity, version, settings)
    if settings.contacts and any(_flag(node, "self_collide") for node in models):
        raise sdf.error("self_collide in a world of several models is not supported", UnsupportedFeature)
    alone = replace(settings, contacts=None)
    parts = {node.text("name"): _read_model(node, gravity, version, alone) for node in models}
    if len(parts) < len(models):
        names = [node.text("name") for node in models]
        twice = next(name for name in names if names.count(name) > 1)
        raise sdf.error(f"two models of the world are called '{twice}'; give each a name of its own")
    scene = compose(parts, name=sdf.need("world").get("name") or "world")
    if settings.contacts:
        unused = Unused(all_of_it=True)
        scene = with_loaded_contacts(scene, settings.contacts, SelfCollision(), unused, sdf)
        unused.warn()
    return scene


def _read_model(model: Node, gravity: Floats, version: Version, settings: LoadSettings) -> Mechanism:
    """A mechanism of one model."""
    for node in (model, *model.descendants("model")):
        _refuse_unknown(node)
    for node in model.descendants("use_parent_model_frame"):
        if version >= (1, 7) and node.flag():
            raise node.error("SDF 1.7 and later have <xyz expressed_in='__model__'> for it", UnsupportedFeature)
    builder = LocatedBuilder(model, model.text("name"), settings.inertias, gravity)
    reader = _Reader(read_scope(model, version), builder, settings)
    robot = reader.read()
    if settings.contacts:
        unused = reader.surfaces.unused
        robot = with_loaded_contacts(robot, settings.contacts, reader.self_collision(), unused, model)
        unused.warn()
    return robot


def _version(sdf: Node) -> Version:
    text = sdf.text("version")
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", text, re.ASCII)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if not _OLDEST <= version <= _NEWEST:
        raise sdf.error(f"SDF version '{text}': versions 1.4 to 1.12 are read", UnsupportedFeature)
    return version


def _models(sdf: Node) -> tuple[list[Node], Floats]:
    """The models of the file: one, or those of its world; and the gravity that they stand in."""
    _refuse_unknown(sdf)
    worlds, models, gravity = list(sdf.children("world")), list(sdf.children("model")), np.array(GRAVITY)
    for world in worlds:
        _refuse_unknown(world)
        models += world.children("model")
        gravity = np.array(_WORLD_GRAVITY)
        for node in (world, *world.children("physics")):
            child = node.child("gravity")
            if child is not None:
                gravity = np.array(child.values(3))
    if len(worlds) > 1 or not models or (len(models) > 1 and not worlds):
        raise sdf.error(
            f"the file has {len(models)} models in {len(worlds)} worlds; one model is read, or those of one world",
            UnsupportedFeature,
        )
    for model in models:
        pose = model.child("pose")
        if pose is not None and (pose.get("relative_to") or WORLD) != WORLD:
            raise pose.error("a model stands in the world, whose frames are not read", UnsupportedFeature)
    return models, gravity


def _refuse_unknown(node: Node) -> None:
    node.refuse_other_elements(_UNDERSTOOD[node.tag])


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

    def __init__(self, top: Scope, builder: LocatedBuilder, settings: LoadSettings) -> None:
        self.top = top
        self.builder = builder
        self.settings = settings
        self.links: dict[str, Placement] = {}
        self.joints: dict[str, _Joint] = {}
        self.mimics: list[Mimic] = []
        self.finders: dict[str, MeshFinder] = {}
        self.surfaces = SurfaceReader(Unused(all_of_it=bool(settings.contacts)))

    def read(self) -> Mechanism:
        """The mechanism."""
        static = _flag(self.top.node, "static")
        for scope in self.top.walk():
            if not static and _flag(scope.node, "static"):
                raise scope.node.need("static").error(
                    "a static model inside one that moves is not supported; fix its links by joints", UnsupportedFeature
                )
            self._read_links(scope)
        if not self.links:
            raise self.top.node.error("the model has no <link>")
        if static:
            for name in self.links:
                self._to_world(name, f"{name}_static", Fixed())
            for scope in self.top.walk():
                self._add_frames(scope)
            return self.builder.finish()
        for scope in self.top.walk():
            for node in scope.node.children("joint"):
                self._read_joint(scope, node)
        self._add_root_joints()
        for joint in self.joints.values():
            self._add_joint(joint)
        for scope in self.top.walk():
            self._add_frames(scope)
            for k, node in enumerate(scope.node.children("drake:ball_constraint")):
                self._add_ball(scope, node, k)
        if self.settings.mimic == "constrain":
            for follower in self.mimics:
                self._add_mimic(follower)
        return self.builder.finish()

    # Links ---------------------------------------------------------------------------------------

    def _read_links(self, scope: Scope) -> None:
        for node in scope.node.children("link"):
            name = scope.prefix + node.text("name")
            self.links[name] = self.top.place(node, name)
            quiet = self.settings.inertias == "trust"
            frames = self._frames_from(scope, name)
            meshes = self.finders.setdefault(node.file, MeshFinder(node.file, self.settings.folders))
            shapes = read_shapes(node, scope.version, frames, meshes, self.surfaces)
            self.builder.link(node, name, read_link(node, name, scope.version, shapes, quiet=quiet))
            self.builder.shapes(name, shapes)

    def self_collision(self) -> SelfCollision:
        """Which links touch each other."""
        links: set[str] = set()
        excluded: set[frozenset[str]] = set()
        for scope in self.top.walk():
            all_of_them = _flag(scope.node, "self_collide")
            for node in scope.node.children("link"):
                if _flag(node, "self_collide") if node.child("self_collide") is not None else all_of_them:
                    links.add(scope.prefix + node.text("name"))
            excluded |= filtered_pairs(scope.node, scope.prefix)
        return SelfCollision(frozenset(links), frozenset(excluded))

    def _frames_from(self, scope: Scope, link: str) -> Frames:
        """Placements of frames of a model in the frame of a link."""

        def frames(referrer: Node, frame: str) -> Placement:
            return self.links[link].inverse() * self._model_place(scope, referrer) * scope.place(referrer, frame)

        return frames

    # Joints --------------------------------------------------------------------------------------

    def _read_joint(self, scope: Scope, node: Node) -> None:
        name = scope.prefix + node.text("name")
        if name in self.joints:
            raise node.error(f"two joints are called '{name}'; the first is on line {self.joints[name].node.line}")
        parent, child = node.need("parent"), node.need("child")
        ends = [scope.body(end, end.word()) for end in (parent, child)]
        place = self._model_place(scope, node) * scope.element_place(node)

        if node.text("type") == "gearbox":
            node.refuse_other_elements(IN_JOINT)
            self.joints[name] = _Joint(node, scope, name, None, ends[0], ends[1], place, {})
            return
        element = read_joint(node, name, scope.version, self._axes(scope, place))
        self.joints[name] = _Joint(node, scope, name, element.type, ends[0], ends[1], place, element.options)
        self.mimics += element.mimics
        named = scope.look_up(parent, parent.word())
        if named[1] in named[0].elements and named[0].elements[named[1]].tag == "frame":
            at = self._model_place(scope, node) * scope.place(parent, parent.word())
            if np.abs(at.position - place.position).max() > 1e-6:
                warn(
                    parent,
                    f"frame '{parent.word()}' is not at joint '{name}', which is placed at its child: the frame "
                    "only names the parent link",
                )

    def _axes(self, scope: Scope, joint: Placement) -> Axes:
        """Rotations of frames of a model in the frame of a joint."""

        def axes(referrer: Node, frame: str) -> Floats:
            there = self._model_place(scope, referrer) * scope.place(referrer, frame)
            rotation: Floats = joint.rotation.T @ there.rotation
            return rotation

        return axes

    def _model_place(self, scope: Scope, referrer: Node) -> Placement:
        """The frame of a nested model, in that of the outermost one."""
        return self.top.place(referrer, scope.prefix.removesuffix("::")) if scope.prefix else Placement()

    def _add_joint(self, joint: _Joint) -> None:
        if joint.type is None:
            self._add_gearbox(joint)
            return
        ends = [self._link_place(joint.node, end).inverse() * joint.place for end in (joint.parent, joint.child)]
        self.builder.joint(
            joint.node, joint.name, joint.type, joint.parent, joint.child, ends[0], ends[1], **joint.options
        )

    def _link_place(self, referrer: Node, name: str) -> Placement:
        return self.top.place(referrer, WORLD) if name == WORLD else self.links[name]

    def _add_gearbox(self, gearbox: _Joint) -> None:
        node = gearbox.node
        ratio = node.value_of("gearbox_ratio", 1.0)
        body = node.need("gearbox_reference_body")
        reference = gearbox.scope.body(body, body.word())
        if ratio == 0:
            raise node.error("gearbox_ratio is 0; it must not be zero")
        coefficients: dict[str, float] = {}
        for end, tag, factor in ((gearbox.parent, "axis", ratio), (gearbox.child, "axis2", 1.0)):
            axis = node.need(tag)
            axes = self._axes(gearbox.scope, gearbox.place)
            direction = gearbox.place.rotation @ axis_direction(axis, self.top.version, axes)
            joint, sign = self._geared_joint(axis, reference, end, direction)
            if joint in coefficients:
                raise node.error(f"both sides of the gearbox are joint '{joint}'")
            coefficients[joint] = sign * factor
        self.builder.constrain(node, JointCoupling(coefficients, name=gearbox.name))

    def _geared_joint(self, axis: Node, reference: str, end: str, direction: Floats) -> tuple[str, float]:
        """The revolute joint between two links, and the sign of its angle about a direction."""
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
        self.builder.constrain(mimic.where, constraint)

    # World and frames -----------------------------------------------------------------------------------

    def _add_root_joints(self) -> None:
        """Add a joint from the world to each connected part that has none."""
        base = self.settings.base
        placed: dict[str, Any] = {}
        joints = [joint for joint in self.joints.values() if joint.type is not None]
        for part in connected_parts(self.links, [(j.parent, j.child) for j in joints]):
            if WORLD in part:
                if base == "floating":
                    held = next(joint for joint in joints if WORLD in (joint.parent, joint.child))
                    raise held.node.error("the joint holds the model in the world: load without base='floating'")
                continue
            root = self._root(part, joints)
            name = unused_name(ROOT_JOINT, {*self.links, *self.joints, *placed})
            self._to_world(root, name, Fixed() if base == "fixed" else Free())
            if base != "fixed":
                at = self.top.in_world(self.top.node, root)
                placed[name] = np.concatenate([at.position, quaternion_of(at.rotation)])
        if placed:
            self.builder.pose("initial", placed)

    def _to_world(self, link: str, name: str, type: Joint) -> None:
        at = self.top.in_world(self.top.node, link) if isinstance(type, Fixed) else Placement()
        self.builder.joint(self.top.node, name, type, WORLD, link, at)

    def _root(self, part: set[str], joints: list[_Joint]) -> str:
        """The canonical link, or else the first from which joints lead to all others; or else the first."""
        scope, name = self.top.canonical(self.top.node)
        ordered = [link for link in (scope.prefix + name, *self.links) if link in part]
        return root_of(part, ordered, [(joint.parent, joint.child) for joint in joints])

    def _add_frames(self, scope: Scope) -> None:
        for node in scope.node.children("frame"):
            name = scope.prefix + node.text("name")
            body = scope.body(node, node.text("name"))
            here = self._link_place(node, body).inverse() * self.top.place(node, name)
            self.builder.frame(node, name, body, here)

    def _add_ball(self, scope: Scope, node: Node, k: int) -> None:
        ends = [node.need(f"drake:ball_constraint_body_{end}") for end in "AB"]
        points = [node.need(f"drake:ball_constraint_p_{end}").values(3) for end in ("AP", "BQ")]
        bodies = [scope.body(end, end.word()) for end in ends]
        name = f"{scope.prefix}ball_constraint_{k}"
        with located(node):
            constraint = Point(bodies[0], bodies[1], first_at=points[0], second_at=points[1], name=name)
        self.builder.constrain(node, constraint)


def _flag(node: Node, tag: str) -> bool:
    child = node.child(tag)
    return child is not None and bool(child.content) and child.flag()
