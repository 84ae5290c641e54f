# SPDX-License-Identifier: BSD-3-Clause
"""Models as MJCF: bodies nested as the tree is, all numbers resolved, angles in radians.

| in the model                     | in the file                                                                   |
|----------------------------------|-------------------------------------------------------------------------------|
| Revolute, Prismatic              | ``hinge``, ``slide``, with ``ref`` where the model is drawn elsewhere than at 0 |
| Spherical, Free                  | ``ball``, ``free``                                                            |
| Universal                        | two hinges in one body, ``<joint>_first`` and ``<joint>_second``              |
| a body without mass between two  | nothing: both joints are in the second body, as MuJoCo's bodies have mass     |
| frames                           | sites                                                                         |
| poses                            | keyframes; ``qpos0`` is how the model is drawn                                |
| constraints                      | `saving.mjcf_equalities`                                                      |
| tendons, actuators, sensors      | `saving.mjcf_tendons`, `saving.mjcf_actuators`, `saving.mjcf_sensors`          |
| shapes and contacts              | `saving.mjcf_geoms`                                                           |

Planar and helical joints are refused: chains of hinges and slides have other coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joint_placement import joint_placement
from linkwork.model.joints import Free, Prismatic, Revolute, Spherical, Universal
from linkwork.model.model import Model
from linkwork.model.parts import Frame, TreeJoint
from linkwork.model.placement import Placement
from linkwork.model.poses import QPOS0
from linkwork.model.thresholds import UNBOUNDED
from linkwork.saving.joint_numbers import one_number, refuse_limits, refuse_number
from linkwork.saving.layout import Layout
from linkwork.saving.mjcf_actuators import write_actuators
from linkwork.saving.mjcf_equalities import write_equalities
from linkwork.saving.mjcf_geoms import GeomWriter, set_softness
from linkwork.saving.mjcf_names import MjcfNames
from linkwork.saving.mjcf_sensors import write_sensors
from linkwork.saving.mjcf_tendons import MjcfTendons
from linkwork.saving.report import Report
from linkwork.saving.xml import add, document, is_identity, number, numbers, quaternion

_DEEPEST = 450
"""Bodies within each other that readers take: 500 elements, less those around them."""


def mjcf_text(model: Model, report: Report, folder: Path | None, pose: Floats | None) -> str:
    """A model as MJCF.

    Args:
        model: The model.
        report: Where to note what MJCF cannot say.
        folder: Where it is to be saved, for paths of meshes.
        pose: Configuration in which it is drawn; by default that called ``qpos0``, or the neutral one.
    """
    return document(_Writer(model, report, folder, pose).mujoco())


class _Writer:
    """One model, written element by element."""

    def __init__(self, model: Model, report: Report, folder: Path | None, pose: Floats | None) -> None:
        self.model, self.report = model, report
        q = model.poses[QPOS0] if pose is None and QPOS0 in model.poses else pose
        self.drawn = _drawable(model, model.neutral() if q is None else q)
        self.layout = Layout(model, {joint.child: _body_frame(model, joint) for joint in model.joints}, report)
        own = {b: self.layout.at(b, Placement())[1] for b in (WORLD, *model.body_names)}
        self.names = MjcfNames(model, self.drawn, own)
        self.geoms = GeomWriter(self.layout, report, folder)

    def mujoco(self) -> Any:
        """The root element."""
        model = self.model
        root = etree.Element("mujoco", model=model.name)
        add(root, "compiler", angle="radian", autolimits="false", inertiafromgeom="false")
        add(root, "option", gravity=numbers(model.gravity), **self.geoms.cones())
        self.geoms.assets(root)
        elements = {WORLD: add(root, "worldbody")}
        self.geoms.write(elements[WORLD], WORLD)
        depth = {WORLD: 0}
        for chain in self._chains():
            parent, body = chain[0].parent, chain[-1].child
            depth[body] = depth[parent] + 1
            if depth[body] == _DEEPEST:
                what = f"bodies are nested in MJCF, and this one is below {_DEEPEST} others: no reader goes deeper"
                self.report.refuse("bodies", f"body '{body}'", what)
            elements[body] = self._body(elements[parent], chain)
        based = self._base(elements)
        for frame in self.layout.frames:
            if frame is not based:
                self.names.site(elements[frame.body], frame.name, self.layout.inside(frame.body, frame.placement))
        tendons = MjcfTendons(root, elements, self.layout, self.names, self.report)
        write_equalities(root, self.layout, tendons, self.drawn, self.report)
        write_actuators(root, model, tendons, self.report)
        write_sensors(root, elements, model, self.names, self.report)
        self.geoms.contacts(root)
        self._keyframes(root)
        return root

    # Bodies --------------------------------------------------------------------------------------------

    def _chains(self) -> list[list[TreeJoint]]:
        """The joints of each body: its own, after those of bodies without mass that lead to nothing else."""
        passed = massless_links(self.model)
        chains: dict[str, list[TreeJoint]] = {}
        for joint in self.model.joints:
            chains[joint.child] = [*(chains.pop(joint.parent) if joint.parent in passed else ()), joint]
        for body, chain in chains.items():
            for joint in chain[:-1]:
                called = f"{body}_after_{joint.name}"
                if joint.child != called:
                    what = f"a body without mass between two joints is none in MJCF: it is called '{called}'"
                    self.report.leave_out("names", f"body '{joint.child}'", what)
        return list(chains.values())

    def _body(self, parent: Any, chain: Sequence[TreeJoint]) -> Any:
        """A body with its joints, each seen from the body in the reference configuration."""
        body = chain[-1].child
        behind = self.layout.written[body]
        seen = []
        for joint in reversed(chain):
            moved = joint_placement(joint.type, self.drawn[self.model.q_slice(joint.name)])
            seen.append((joint, behind.inverse()))
            behind = joint.placement * moved * behind
        at = self.layout.inside(chain[0].parent, behind)
        element = add(parent, "body", name=body, pos=numbers(at.position), quat=quaternion(at))
        for joint, there in reversed(seen):
            self._joint(element, joint, there)
        self._inertial(element, self.layout.inertia(body))
        self._compensation(element, body)
        self.geoms.write(element, body)
        return element

    def _base(self, elements: dict[str, Any]) -> Frame | None:
        """Writes the inertia fixed to the world as a body without joints at its first frame; returns that frame."""
        held = self.layout.base_inertia(self.report)
        if held is None:
            return None
        frame, inertia = held
        element = add(elements[WORLD], "body", name=frame.name, pos=numbers(frame.placement.position))
        element.set("quat", quaternion(frame.placement))
        elements[frame.name] = element
        self._inertial(element, inertia)
        return frame

    @staticmethod
    def _inertial(element: Any, inertia: Inertia) -> None:
        if inertia.mass != 0 or inertia.rotational.any():
            I = inertia.rotational
            full = numbers((I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
            add(element, "inertial", pos=numbers(inertia.com), mass=number(inertia.mass), fullinertia=full)

    def _compensation(self, element: Any, body: str) -> None:
        held = self.model.gravity_compensation.get(body)
        if held is None:
            return
        own = self.model.inertias[body]
        if own.mass == 0 or not np.allclose(held.com, own.com, rtol=0, atol=1e-14 * (1 + np.abs(own.com).max())):
            what = "MJCF compensates the weight of a body at its center of mass, not that of a part of it elsewhere"
            self.report.refuse("gravity_compensation", f"body '{body}'", what)
            return
        element.set("gravcomp", number(held.mass / own.mass))

    # Joints --------------------------------------------------------------------------------------------

    def _joint(self, element: Any, joint: TreeJoint, seen: Placement) -> None:
        """A joint, whose frame is seen from the body in the reference configuration."""
        type, where = joint.type, f"joint '{joint.name}'"
        ref = self.drawn[self.model.q_slice(joint.name)]
        if isinstance(type, Free):
            if joint.parent != WORLD or not is_identity(joint.placement):
                self.report.refuse("joints", where, "in MJCF a free joint begins at the origin of the world")
            element_of_joint = add(element, "joint", name=joint.name, type="free")
            self._numbers(element_of_joint, joint)
        elif isinstance(type, Spherical):
            element_of_joint = add(element, "joint", name=joint.name, type="ball", pos=numbers(seen.position))
            self._numbers(element_of_joint, joint)
        elif isinstance(type, Revolute | Prismatic):
            kind = "hinge" if isinstance(type, Revolute) else "slide"
            element_of_joint = add(element, "joint", name=joint.name, type=kind)
            # a slide's axis and a hinge's axis line stay where they are as the joint moves: at ref as at zero
            self._scalar(element_of_joint, joint, 0, seen.position, seen.rotation @ type.axis, ref[0])
        elif isinstance(type, Universal):
            # the first axis is seen from a body that has turned about the second
            turned = seen.rotation @ joint_placement(Revolute(type.second), ref[1:]).rotation.T
            for k, axis in enumerate((turned @ type.first, seen.rotation @ type.second)):
                element_of_joint = add(element, "joint", name=self.names.hinges[joint.name][k], type="hinge")
                self._scalar(element_of_joint, joint, k, seen.position, axis, ref[k])
        else:
            self.report.refuse("joints", where, f"MJCF has no {type.kind_name} joint")
        if joint.independent is not None:
            self.report.leave_out("marks", where, "MJCF does not say which joints are independent")
        if joint.actuated and not any(joint.name in dict(a.gears) for a in self.model.actuators):
            self.report.leave_out("marks", where, "in MJCF a driven joint has an actuator")

    def _numbers(self, element: Any, joint: TreeJoint) -> None:
        """Writes the numbers of a ball or free joint."""
        refuse_limits(joint, self.report, position=np.isinf(joint.limits.angle), velocity=True, effort=True)
        if np.isfinite(joint.limits.angle):
            element.set("limited", "true")
            element.set("range", numbers((0.0, joint.limits.angle)))
            self._soft_limit(element, joint)
        free = isinstance(joint.type, Free)
        if free:
            refuse_number(joint, "armature", joint.armature, self.report)
        numbers_of_joint = {
            "armature": 0.0 if free else one_number(joint, "armature", joint.armature, self.report),
            "damping": one_number(joint, "damping", joint.damping, self.report),
            "frictionloss": one_number(joint, "friction", joint.friction, self.report),
            "stiffness": one_number(joint, "springs", joint.stiffness, self.report),
        }
        if numbers_of_joint["stiffness"] and not np.array_equal(joint.rest, joint.type.neutral):
            what = f"the spring of a {joint.type.kind_name} joint rests at the reference pose in MJCF"
            self.report.refuse("springs", f"joint '{joint.name}'", what)
        for name, value in numbers_of_joint.items():
            if value != 0:
                element.set(name, number(value))
        set_softness(element, joint.soft_friction, "friction")

    def _soft_limit(self, element: Any, joint: TreeJoint) -> None:
        """Softness and margin of the limits of a joint."""
        set_softness(element, joint.soft_limit, "limit")
        if joint.soft_limit is not None and joint.soft_limit.margin != 0:
            element.set("margin", number(joint.soft_limit.margin))

    def _scalar(self, element: Any, joint: TreeJoint, k: int, at: Floats, axis: Floats, ref: float) -> None:
        """Degree of freedom ``k`` of a joint as a hinge or slide."""
        element.set("pos", numbers(at))
        element.set("axis", numbers(axis))
        if ref != 0:
            element.set("ref", number(ref))
        limits = joint.limits
        lower, upper = float(limits.lower[k]), float(limits.upper[k])
        if lower == upper:
            what = f"in MJCF the lower limit is less than the upper one, not {lower:g} as well"
            self.report.refuse("limits", f"joint '{joint.name}'", what)
        elif np.isfinite((lower, upper)).any():
            element.set("limited", "true")
            element.set("range", numbers((max(lower, -UNBOUNDED), min(upper, UNBOUNDED))))
        refuse_limits(joint, self.report, position=False, velocity=True, effort=False)
        self._effort(element, joint, k)
        for name, values in (
            ("armature", joint.armature),
            ("damping", joint.damping),
            ("frictionloss", joint.friction),
            ("stiffness", joint.stiffness),
            ("springref", joint.rest),
        ):
            if values[k] != 0:
                element.set(name, number(values[k]))
        self._soft_limit(element, joint)
        set_softness(element, joint.soft_friction, "friction")
        for name, terms in (("damping", joint.damping_terms), ("stiffness", joint.stiffness_terms)):
            if any(terms):
                element.set(name, numbers((getattr(joint, name)[k], *terms)))

    def _effort(self, element: Any, joint: TreeJoint, k: int) -> None:
        """The range of the torque of all actuators of a joint; in MJCF its bounds are also the limits of effort."""
        low, high = joint.limits.actuation
        effort = float(joint.limits.effort[k])
        bounded = np.isfinite((low, high)).any()
        if effort == 0 or low == high:
            what = "in MJCF a range of torques is not empty, nor zero"
            self.report.refuse("limits", f"joint '{joint.name}'", what)
        elif bounded and effort == max(abs(low), abs(high)):
            element.set("actuatorfrclimited", "true")
            element.set("actuatorfrcrange", numbers((max(low, -UNBOUNDED), min(high, UNBOUNDED))))
        elif bounded:
            what = f"in MJCF the limit of effort is the greater bound of 'actuatorfrcrange', not {effort:g}"
            self.report.refuse("limits", f"joint '{joint.name}'", what)
        elif np.isfinite(effort) and any(joint.name in dict(a.gears) for a in self.model.actuators):
            what = "in MJCF a limit of effort clamps the actuators of the joint, which are not clamped here"
            self.report.refuse("limits", f"joint '{joint.name}'", what)
        elif np.isfinite(effort):
            element.set("actuatorfrclimited", "true")
            element.set("actuatorfrcrange", numbers((-effort, effort)))

    def _keyframes(self, root: Any) -> None:
        poses = {name: q for name, q in self.model.poses.items() if name != QPOS0}
        if poses:
            section = add(root, "keyframe")
            for name, q in poses.items():
                key = add(section, "key", name=name, qpos=numbers(self._qpos(root, q)))
                if name in self.model.commands and len(self.model.commands[name]):
                    key.set("ctrl", numbers(self.model.commands[name]))
                if name in self.model.activations:
                    key.set("act", numbers(self.model.activations[name]))

    def _qpos(self, root: Any, q: Floats) -> Floats:
        """A configuration in the order of the file, quaternions w first."""
        coordinates: list[float] = []
        done: set[str] = set()
        for element in root.iter("joint"):
            if element.get("type") is None or element.getparent().tag != "body":
                continue
            name = self.names.owner.get(element.get("name"), element.get("name"))
            if name in done:
                continue
            done.add(name)
            own = q[self.model.q_slice(name)]
            if isinstance(self.model.joint(name).type, Free | Spherical):
                own = np.concatenate([own[:-4], own[[-1, -4, -3, -2]]])
            coordinates += own.tolist()
        return np.array(coordinates)


def massless_links(model: Model) -> set[str]:
    """Bodies without mass and anything else on them, after a hinge or slide, and before such a joint or a ball joint.

    Args:
        model: The model.
    """
    scalar = {j.child for j in model.joints if isinstance(j.type, Revolute | Prismatic | Universal)}
    ball = {j.child for j in model.joints if isinstance(j.type, Spherical)}
    children: dict[str, list[str]] = {}
    for joint in model.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    used = {frame.body for name, frame in model.frames.items() if name != frame.body}
    used |= {shape.body for shape in model.shapes} | {body for pair in model.contacts for body in pair.bodies}
    places = [place for c in model.constraints for place in c.places]
    places += [site for tendon in model.tendons for site in tendon.sites]
    places += [name for s in model.sensors for name in (s.of, s.reference) if name in model.frames]
    used |= {model.frames[place].body for place in places}
    links = set()
    for body in model.body_names:
        inertia, below = model.inertias[body], children.get(body, [])
        plain = inertia.mass == 0 and not inertia.rotational.any() and body not in used
        if plain and len(below) == 1 and body in scalar and below[0] in scalar | ball:
            links.add(body)
    return links


def _body_frame(model: Model, joint: TreeJoint) -> Placement:
    """The frame of a body in that of its joint: its own, but for what a ball or free joint turns in its own axes."""
    own = model.frames[joint.child].placement
    if isinstance(joint.type, Free):
        return Placement()
    return Placement(own.position) if isinstance(joint.type, Spherical) else own


def _drawable(model: Model, q: Floats) -> Floats:
    """The configuration as MJCF can draw it: ball joints are drawn at their neutral position."""
    drawn = np.array(q)
    for joint in model.joints:
        if not isinstance(joint.type, Free | Revolute | Prismatic | Universal):
            drawn[model.q_slice(joint.name)] = joint.type.neutral
    return drawn
