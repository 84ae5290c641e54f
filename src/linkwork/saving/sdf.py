# SPDX-License-Identifier: BSD-3-Clause
"""Models as SDF 1.11: links where they are drawn, joints at zero there, loops of joints closed there.

All joints of an SDF model are at zero in the pose that the file draws. By default that is the neutral configuration;
with another ``pose`` joints have their zeros there: ``q`` of the file is measured from it.

| in the model                          | in the file                                                             |
|---------------------------------------|-------------------------------------------------------------------------|
| Revolute, Prismatic, Helical          | ``revolute``, ``prismatic``, ``screw``                                  |
| Universal, Spherical                  | ``universal``, ``ball``                                                 |
| Free                                  | nothing: what no joint holds floats, on joints called ``root_joint``    |
| Hinge, Slider, Weld, Cardan, Point    | joints that close loops (`saving.sdf_loops`)                            |
| armature                              | ``drake:rotor_inertia``                                                 |
| gravity                               | that of a ``<world>`` around the model                                  |
| shapes of the world                   | those of a link that is fixed to it                                     |
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joint_placement import joint_placement
from linkwork.model.joints import Free, Helical, Prismatic, Revolute, Spherical, Universal, atoms_of
from linkwork.model.model import Model
from linkwork.model.parts import GRAVITY, TreeJoint
from linkwork.model.placement import Placement
from linkwork.saving.joint_numbers import one_number, refuse_limits, refuse_number, refuse_tendons
from linkwork.saving.layout import Layout, body_places
from linkwork.saving.report import Report
from linkwork.saving.sdf_loops import SdfLoops
from linkwork.saving.sdf_names import SdfNames
from linkwork.saving.sdf_shapes import SdfShapes
from linkwork.saving.xml import DRAKE, add, document, drake, is_identity, number, numbers, pose

VERSION = "1.11"
INITIAL = "initial"
"""The pose in which a model from SDF is drawn."""

_TYPES = {Revolute: "revolute", Prismatic: "prismatic", Helical: "screw", Universal: "universal", Spherical: "ball"}


def sdf_text(model: Model, report: Report, folder: Path | None, drawn: Floats | None) -> str:
    """A model as SDF.

    Args:
        model: The model.
        report: Where to note what SDF cannot say.
        folder: Where it is to be saved, for paths of meshes.
        drawn: Configuration in which it is drawn; by default the neutral one.
    """
    for actuator in model.actuators:
        report.refuse("actuators", f"actuator '{actuator.name}'", "SDF has no gains, gears and ranges of motors")
    for body in model.gravity_compensation:
        report.refuse("gravity_compensation", f"body '{body}'", "SDF has no gravity compensation")
    for pair in model.contacts:
        report.refuse("contacts", f"contact '{pair.name}'", "SDF does not say which shapes touch")
    refuse_tendons(model, report)
    for name in model.poses:
        if name != INITIAL:
            report.leave_out("poses", f"pose '{name}'", "SDF has no poses but that in which the model is drawn")
    return document(_Writer(model, report, folder, drawn).sdf())


class _Writer:
    """One model, written element by element."""

    def __init__(self, model: Model, report: Report, folder: Path | None, drawn: Floats | None) -> None:
        self.model, self.report = model, report
        self.zero = np.array(model.neutral() if drawn is None else drawn)
        """Coordinates at which joints of the file are at zero."""
        if drawn is None and INITIAL in model.poses:
            for joint in model.joints:
                if isinstance(joint.type, Free):
                    self.zero[model.q_slice(joint.name)] = model.poses[INITIAL][model.q_slice(joint.name)]
        written = {
            j.child: Placement() if isinstance(j.type, Free) else model.frames[j.child].placement for j in model.joints
        }
        self.layout = Layout(model, written, report)
        self.names = SdfNames(self.layout, report)
        self.places = {b: at * self.layout.written[b] for b, at in body_places(model, self.zero).items()}
        """Of bodies in the world, in the frames of the file."""
        self.shapes = SdfShapes(self.layout, report, folder)
        self.loops = SdfLoops(self.layout, self.names, report, self.places, self.zero)

    def sdf(self) -> Any:
        """The root element."""
        sdf = etree.Element("sdf", nsmap={"drake": DRAKE}, version=VERSION)
        around = sdf
        if not np.array_equal(self.model.gravity, GRAVITY):
            around = add(sdf, "world", name="default")
            add(around, "gravity", numbers(self.model.gravity))
        model = add(around, "model", name=self.model.name)
        for joint in self.model.joints:
            self._link(model, joint.child, self.layout.inertia(joint.child))
        if (
            not self.model.joints
            or self.model.base_inertia.mass
            or any(shape.body == WORLD for shape in self.model.shapes)
        ):
            self._world_link(model)
        for joint in self.model.joints:
            self._joint(model, joint)
        self.loops.write(model)
        for frame in self.layout.frames:
            element = add(model, "frame", name=self.names.frames[frame.name], attached_to=frame.body)
            add(element, "pose", pose(self.layout.inside(frame.body, frame.placement)))
        return sdf

    # Links ---------------------------------------------------------------------------------------------

    def _link(self, model: Any, name: str, inertia: Inertia) -> Any:
        link = add(model, "link", name=name)
        add(link, "pose", pose(self.places.get(name, Placement())))
        inertial = add(link, "inertial")
        add(inertial, "pose", f"{numbers(inertia.com)} 0 0 0")
        add(inertial, "mass", number(inertia.mass))
        moments = add(inertial, "inertia")
        for i, a in enumerate("xyz"):
            for j, b in enumerate("xyz"):
                if i <= j:
                    add(moments, f"i{a}{b}", number(inertia.rotational[i, j]))
        self.shapes.write(link, WORLD if name not in self.places else name)
        return link

    def _world_link(self, model: Any) -> None:
        """The shapes of the world, on a link that is fixed to it; without mass there, it has some, as SDF wants."""
        name, joint = self.names.new("world_link"), self.names.new("world_joint")
        inertia = self.model.base_inertia
        self._link(model, name, inertia if inertia.mass else Inertia(1.0, rotational=np.eye(3)))
        fixed = add(model, "joint", name=joint, type="fixed")
        add(fixed, "parent", WORLD)
        add(fixed, "child", name)

    # Joints --------------------------------------------------------------------------------------------

    def _joint(self, model: Any, joint: TreeJoint) -> None:
        where, type = f"joint '{joint.name}'", joint.type
        if joint.actuated:
            self.report.leave_out("marks", where, "SDF does not say which joints are driven")
        if joint.independent is not None:
            self.report.leave_out("marks", where, "SDF does not say which joints are independent")
        if isinstance(type, Free):
            self._free(joint)
            return
        if not isinstance(type, tuple(_TYPES)):
            self.report.refuse("joints", where, f"SDF has no {type.kind_name} joint")
            return
        element = add(model, "joint", name=self.names.joints[joint.name], type=_TYPES[type.__class__])
        add(element, "parent", joint.parent)
        add(element, "child", joint.child)
        at = self.zero[self.model.q_slice(joint.name)]
        start = self.places[joint.parent] * self.layout.joint(joint)
        # a universal joint has turned about its first axis where its joint frame is
        moved = (
            joint_placement(Revolute(type.first), at[:1]) if isinstance(type, Universal) else joint_placement(type, at)
        )
        add(element, "pose", pose(self.places[joint.child].inverse() * start * moved))
        if isinstance(type, Helical):
            add(element, "screw_thread_pitch", number(2 * math.pi * type.pitch))
        if isinstance(type, Spherical):
            refuse_limits(joint, self.report, position=True, velocity=True, effort=True)
            self._refuse_numbers(joint)
            return
        for k, axis in enumerate(atom.axis for atom in atoms_of(type)):
            assert axis is not None  # of all joints here but the ball
            self._axis(add(element, "axis" if k == 0 else "axis2"), joint, k, axis, float(at[k]))
        armature = one_number(joint, "armature", joint.armature, self.report)
        if armature != 0:
            add(element, drake("rotor_inertia"), number(armature))

    def _free(self, joint: TreeJoint) -> None:
        where = f"joint '{joint.name}'"
        if joint.parent != WORLD or not is_identity(joint.placement):
            self.report.refuse("joints", where, "in SDF what floats does so from the origin of the world")
        if joint.name != self.names.joints[joint.name]:
            what = f"what floats has no joint in SDF: it is called '{self.names.joints[joint.name]}'"
            self.report.leave_out("names", where, what)
        refuse_limits(joint, self.report, position=True, velocity=True, effort=True)
        self._refuse_numbers(joint)

    def _refuse_numbers(self, joint: TreeJoint) -> None:
        refuse_number(joint, "armature", joint.armature, self.report)
        refuse_number(joint, "damping", joint.damping, self.report)
        refuse_number(joint, "friction", joint.friction, self.report)
        refuse_number(joint, "springs", joint.stiffness, self.report)

    def _axis(self, element: Any, joint: TreeJoint, k: int, axis: Floats, zero: float) -> None:
        """One axis of a joint; its numbers are measured from where the file draws it."""
        add(element, "xyz", numbers(axis))
        limits = joint.limits
        bounds = {"lower": limits.lower[k] - zero, "upper": limits.upper[k] - zero}
        if isinstance(joint.type, Helical):
            refuse_limits(joint, self.report, position=True, velocity=False, effort=False)
            bounds = {}
        if np.isfinite(limits.actuation).any() and not np.allclose(
            limits.actuation, (-limits.effort[k], limits.effort[k])
        ):
            what = f"SDF has no range of the torque of all actuators together, such as {limits.actuation}"
            self.report.refuse("actuators", f"joint '{joint.name}'", what)
        bounds |= {"effort": limits.effort[k], "velocity": limits.velocity[k]}
        finite = {tag: value for tag, value in bounds.items() if np.isfinite(value)}
        if finite:
            limit = add(element, "limit")
            for tag, value in finite.items():
                add(limit, tag, number(value))
        rest = joint.rest[k] - zero if joint.stiffness[k] != 0 else 0.0
        dynamics = {
            "damping": joint.damping[k],
            "friction": joint.friction[k],
            "spring_reference": rest,
            "spring_stiffness": joint.stiffness[k],
        }
        if any(dynamics.values()):
            section = add(element, "dynamics")
            for tag, value in dynamics.items():
                add(section, tag, number(value))
        self.loops.mimic(element, joint, k)
