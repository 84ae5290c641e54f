# SPDX-License-Identifier: BSD-3-Clause
"""Models as URDF: that of the standard, or in a dialect (`saving.dialects`) that has more.

The world is the root link, so that bases are where the model has them: held by a joint, or on a ``floating`` one. A
link's frame is at its joint. Frames are links without mass on fixed joints. What is written for constraints is in
`saving.urdf_loops`.

| in the model                        | in the file                                                            |
|-------------------------------------|------------------------------------------------------------------------|
| Revolute with limits, without       | ``revolute``, ``continuous``                                           |
| Prismatic, Planar, Free             | ``prismatic``, ``planar``, ``floating``                                |
| Spherical, Universal, Helical       | ``linkwork``: ``<drake:joint>`` of type ``ball``, ``universal``,       |
|                                     | ``screw``; else chains of revolute joints (`standard_joints`)          |
| armature                            | ``linkwork``: ``drake:rotor_inertia`` of a transmission, else          |
|                                     | ``<dynamics armature>``                                                |
| springs                             | ``linkwork``: ``springStiffness``, ``springReference`` of ``<gazebo>`` |
| actuated                            | ``<transmission>``                                                     |
| Capsule, Ellipsoid                  | ``linkwork``: ``<capsule>`` (of URDF 1.2), ``<drake:ellipsoid>``       |
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from lxml import etree

from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model.model import Model
from linkwork.model.parts import GRAVITY, Frame, TreeJoint
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation
from linkwork.saving.dialects import Target
from linkwork.saving.joint_numbers import one_number, refuse_limits, refuse_number, refuse_tendons
from linkwork.saving.layout import Layout, frame_on_axis
from linkwork.saving.loop_file import LOOP_FILE, loop_file
from linkwork.saving.report import Report
from linkwork.saving.standard_joints import with_standard_joints
from linkwork.saving.urdf_loops import Mimic, implied_by_names, loops, mimics, tied_joints
from linkwork.saving.urdf_shapes import UrdfShapes
from linkwork.saving.xml import DRAKE, UNLIMITED, add, document, drake, fresh, is_identity, number, numbers, rpy

_CLOSING = re.compile(r"closing_.+_[12]", re.DOTALL)
"""Links that are mere frames and called so close a loop (onshape-to-robot): such frames are no links here."""


_SQUARE = 1e-15
"""Cosine of axes at right angles, but for round-off."""


def urdf_text(model: Model, report: Report, target: Target) -> tuple[str, dict[str, str]]:
    """A model as URDF, and the texts of files beside it, by name.

    Args:
        model: The model.
        report: Where to note what URDF cannot say.
        target: Where it is to be saved, and in which dialect.
    """
    if not np.array_equal(model.gravity, GRAVITY):
        report.refuse("gravity", f"robot '{model.name}'", f"URDF has no gravity but {list(GRAVITY)}")
    for actuator in model.actuators:
        report.refuse("actuators", f"actuator '{actuator.name}'", "URDF has no gains, gears and ranges of motors")
    for body in model.gravity_compensation:
        report.refuse("gravity_compensation", f"body '{body}'", "URDF has no gravity compensation")
    for pair in model.contacts:
        report.refuse("contacts", f"contact '{pair.name}'", "URDF does not say which shapes touch")
    refuse_tendons(model, report)
    for name in model.poses:
        report.leave_out("poses", f"pose '{name}'", "URDF has no poses")
    if not target.dialect.additions:
        model = with_standard_joints(model, report)
    writer = _Writer(model, report, target)
    return document(writer.robot()), writer.beside


class _Writer:
    """One model, written element by element."""

    def __init__(self, model: Model, report: Report, target: Target) -> None:
        self.model, self.report, self.dialect = model, report, target.dialect
        self.layout = Layout(model, {joint.child: _link_frame(model, joint, report) for joint in model.joints}, report)
        self.shapes = UrdfShapes(self.layout, report, target)
        self.beside: dict[str, str] = {}
        self._alone = target.alone
        self.joint_names = set(model.joint_names)
        self.tied = tied_joints(model) if any(joint.independent is False for joint in model.joints) else set()

    def robot(self) -> Any:
        """The root element."""
        more = {"nsmap": {"drake": DRAKE}} if self.dialect.additions else {}
        robot = etree.Element("robot", name=self.model.name, **more)
        mere = {frame.name for frame in self.layout.frames if _CLOSING.fullmatch(frame.name)}
        links = [frame for frame in self.layout.frames if frame.name not in mere]
        implied = implied_by_names(self.model) if self.dialect.additions else set()
        by_name = {frame.name for name in implied for frame in self._closing_frames(name)}
        links += [frame for frame in self.layout.frames if frame.name in by_name]
        self._link(robot, WORLD)
        for joint in self.model.joints:
            self._link(robot, joint.child)
        follows = mimics(self.model)
        by_follower = {mimic.follower: mimic for mimic in follows.values()}
        for joint in self.model.joints:
            self._joint(robot, joint, by_follower.get(joint.name))
        for name, mimic in follows.items():
            if name != f"{mimic.follower}_mimic":
                what = f"a mimic has no name in URDF: it is called '{mimic.follower}_mimic'"
                self.report.leave_out("names", f"constraint '{name}'", what)
        self._frames(robot, links)
        self._mere_frames(robot, mere - by_name)
        self._loops(robot, {*implied, *follows})
        self._transmissions(robot)
        self._springs(robot)
        return robot

    def _mere_frames(self, robot: Any, names: set[str]) -> None:
        """Frames that would close a loop, were they links."""
        for frame in (frame for frame in self.layout.frames if frame.name in names):
            if self.dialect.additions:
                at = _place(self.layout.inside(frame.body, frame.placement))
                add(robot, "frame", name=frame.name, link=frame.body, **at)
            else:
                what = "links of this name close a loop for readers of onshape-to-robot's files"
                self.report.leave_out("frames", f"frame '{frame.name}'", what)

    def _loops(self, robot: Any, said: set[str]) -> None:
        if self.dialect.loops == "robot.yaml" and not self._alone:
            ends: list[Frame] = []
            text = loop_file(self.layout, self.report, said, ends)
            self._frames(robot, ends)
            self.beside = {LOOP_FILE: text} if text else {}
        else:
            loops(robot, self.layout, self.report, said, self.dialect)

    def _closing_frames(self, constraint: str) -> list[Frame]:
        return [frame for frame in self.layout.frames if frame.name in (f"{constraint}_1", f"{constraint}_2")]

    # Links ---------------------------------------------------------------------------------------------

    def _link(self, robot: Any, body: str) -> None:
        link = add(robot, "link", name=body)
        if body != WORLD:
            self._inertial(link, self.layout.inertia(body))
        self.shapes.write(link, body)

    @staticmethod
    def _inertial(link: Any, inertia: Inertia) -> None:
        if inertia.mass != 0 or inertia.rotational.any():
            inertial = add(link, "inertial")
            add(inertial, "origin", xyz=numbers(inertia.com), rpy="0 0 0")
            add(inertial, "mass", value=number(inertia.mass))
            I = inertia.rotational
            moments = {f"i{a}{b}": I[i, j] for i, a in enumerate("xyz") for j, b in enumerate("xyz") if i <= j}
            add(inertial, "inertia", **{name: number(x) for name, x in moments.items()})

    def _frames(self, robot: Any, frames: Sequence[Frame]) -> None:
        """Links without mass. A fixed joint is a frame, too, where its name is not that of its link: two frames at one
        place, which a fixed joint has left, are a link and its joint."""
        k, held = 0, self.layout.base_inertia(self.report)
        while k < len(frames):
            frame, joint = frames[k], frames[k].name
            if k + 1 < len(frames) and _at_one_place(frame, frames[k + 1]) and not _CLOSING.fullmatch(frame.name):
                joint = frames[k + 1].name
                k += 1
            elif not self.dialect.additions:  # readers that look frames up by name know links and joints alike
                joint = f"{frame.name}_joint"
            link = add(robot, "link", name=frame.name)
            if held is not None and frame is held[0]:
                self._inertial(link, held[1])
            self.shapes.write(link, frame.body, frame)
            element = add(robot, "joint", name=fresh(joint, self.joint_names), type="fixed")
            add(element, "origin", **_place(self.layout.inside(frame.body, frame.placement), both=True))
            add(element, "parent", link=frame.body)
            add(element, "child", link=frame.name)
            k += 1

    # Joints --------------------------------------------------------------------------------------------

    def _joint(self, robot: Any, joint: TreeJoint, follows: Mimic | None) -> None:
        type = joint.type
        tag, kind = _kind(type, joint)
        element = add(robot, tag, name=joint.name, type=kind)
        if joint.independent is not None:
            self._independence(element, joint)
        start = joint.placement * self.layout.written[joint.child]
        add(element, "origin", **_place(self.layout.inside(joint.parent, start), both=True))
        add(element, "parent", link=joint.parent)
        add(element, "child", link=joint.child)
        if isinstance(type, Revolute | Prismatic | Helical):
            add(element, "axis", xyz=numbers(self.layout.written[joint.child].rotation.T @ type.axis))
        if isinstance(type, Planar):
            add(element, "axis", xyz="0 0 1")
        if isinstance(type, Helical) and not self.dialect.additions:
            what = "standard URDF has no helical joint"
            self.report.refuse("joints", f"joint '{joint.name}'", what)
        elif isinstance(type, Helical):
            add(element, drake("screw_thread_pitch"), value=number(2 * math.pi * type.pitch))
        self._limits(element, joint, kind)
        self._dynamics(element, joint)
        if follows is not None:
            numbers_of = {"multiplier": number(follows.multiplier), "offset": number(follows.offset)}
            add(element, "mimic", joint=follows.leader, **numbers_of)

    def _independence(self, element: Any, joint: TreeJoint) -> None:
        """A dependent joint that nothing ties is an error for readers of URDF+."""
        if not self.dialect.additions:
            self.report.leave_out("marks", f"joint '{joint.name}'", "standard URDF has no independent joints")
        elif joint.independent or joint.name in self.tied:
            element.set("independent", "true" if joint.independent else "false")
        else:
            self.report.leave_out("marks", f"joint '{joint.name}'", "in URDF+ a constraint ties a dependent joint")

    def _limits(self, element: Any, joint: TreeJoint, kind: str) -> None:
        limits = joint.limits
        if kind not in ("revolute", "continuous", "prismatic"):
            refuse_limits(joint, self.report, position=True, velocity=True, effort=True)
            return
        if np.isfinite(limits.actuation).any() and not np.allclose(
            limits.actuation, (-limits.effort[0], limits.effort[0])
        ):
            what = f"URDF has no range of the torque of all actuators together, such as {limits.actuation}"
            self.report.refuse("actuators", f"joint '{joint.name}'", what)
        attributes = {}
        without = kind == "prismatic" and not self.dialect.additions  # the defaults of the standard are 0
        if without or np.isfinite((limits.lower[0], limits.upper[0])).any():
            attributes = {"lower": number(_bound(limits.lower[0])), "upper": number(_bound(limits.upper[0]))}
        effort, velocity = limits.effort[0], limits.velocity[0]
        if kind != "continuous" or np.isfinite((effort, velocity)).any():
            add(element, "limit", **attributes, effort=number(_bound(effort)), velocity=number(_bound(velocity)))

    def _dynamics(self, element: Any, joint: TreeJoint) -> None:
        """One number for all degrees of freedom, or one for each."""
        attributes: dict[str, str] = {}
        armature = joint.armature if joint.type.nv > 1 or not joint.actuated else np.zeros(1)
        for what, values in (("damping", joint.damping), ("friction", joint.friction), ("armature", armature)):
            if not self.dialect.additions:
                if what == "armature":
                    refuse_number(joint, what, joint.armature, self.report)
                elif one_number(joint, what, values, self.report):
                    attributes[what] = number(values[0])
            elif values.any():
                attributes[what] = numbers(values if np.ptp(values) else values[:1])
        if attributes:  # urdfdom refuses a <dynamics> without damping and friction
            add(element, "dynamics", **({"damping": "0"} | attributes))

    def _transmissions(self, robot: Any) -> None:
        for joint in self.model.joints:
            if not joint.actuated:
                continue
            transmission = add(robot, "transmission", name=f"{joint.name}_transmission")
            add(transmission, "type", "transmission_interface/SimpleTransmission")
            driven = add(transmission, "joint", name=joint.name)
            add(driven, "hardwareInterface", "hardware_interface/EffortJointInterface")
            motor = add(transmission, "actuator", name=f"{joint.name}_motor")
            add(motor, "mechanicalReduction", "1")
            if self.dialect.additions and joint.type.nv == 1 and joint.armature.any():
                add(motor, drake("rotor_inertia"), value=number(joint.armature[0]))

    def _springs(self, robot: Any) -> None:
        for joint in self.model.joints:
            if joint.type.nv > 1 or not self.dialect.additions:
                refuse_number(joint, "springs", joint.stiffness, self.report)
            elif joint.stiffness.any():
                gazebo = add(robot, "gazebo", reference=joint.name)
                add(gazebo, "springStiffness", number(joint.stiffness[0]))
                add(gazebo, "springReference", number(joint.rest[0]))


def _link_frame(model: Model, joint: TreeJoint, report: Report) -> Placement:
    """The frame of a link in that of its joint: its own, where the joint is the same there.

    That of a universal joint has its axes along x and y, which it turns about in this order.
    """
    type, own = joint.type, model.frames[joint.child].placement
    if frame_on_axis(joint, own):
        return own
    if isinstance(type, Planar):  # readers that know no axis of a planar joint take z
        upright = type.axis[2] == 1
        return Placement() if upright else Placement((0.0, 0.0, 0.0), aligning_rotation(type.axis))
    if not isinstance(type, Universal):
        return Placement()
    if abs(float(type.first @ type.second)) > _SQUARE:
        report.refuse(
            "joints", f"joint '{joint.name}'", "URDF has no universal joint with axes at other than right angles"
        )
        return Placement()
    return Placement((0.0, 0.0, 0.0), np.column_stack([type.first, type.second, np.cross(type.first, type.second)]))


def _kind(type: Joint, joint: TreeJoint) -> tuple[str, str]:
    """Tag and type of a joint."""
    if isinstance(type, Revolute):
        limited = np.isfinite((joint.limits.lower[0], joint.limits.upper[0])).any()
        return "joint", "revolute" if limited else "continuous"
    plain = {Prismatic: "prismatic", Planar: "planar", Free: "floating"}
    added = {Spherical: "ball", Universal: "universal", Helical: "screw"}
    for kinds, tag in ((plain, "joint"), (added, drake("joint"))):
        for known, word in kinds.items():
            if isinstance(type, known):
                return tag, word
    raise AssertionError(type)


def _bound(x: float) -> float:
    """A limit; the greatest float for none."""
    return float(x) if np.isfinite(x) else math.copysign(UNLIMITED, x)


def _place(place: Placement, both: bool = False) -> dict[str, str]:
    """Attributes of an origin."""
    turned = both or not np.array_equal(place.rotation, np.eye(3))
    return {"xyz": numbers(place.position)} | ({"rpy": numbers(rpy(place.rotation))} if turned else {})


def _at_one_place(a: Frame, b: Frame) -> bool:
    if a.body != b.body or _CLOSING.fullmatch(b.name):
        return False
    there = a.placement.inverse() * b.placement
    return a.placement is b.placement or is_identity(there)
