# SPDX-License-Identifier: BSD-3-Clause
"""Joints that standard URDF has not, as chains of joints that it has: the same motion, in other coordinates.

A universal joint is two revolute joints, with the same coordinates. A ball joint is three, about x, y and z of its
body, whose angles are singular where the second is a right angle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.model.inertia import Inertia
from linkwork.model.joints import Revolute, Spherical, Universal
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Limits, TreeJoint
from linkwork.model.placement import Placement
from linkwork.saving.joint_numbers import refuse_limits, refuse_number
from linkwork.saving.report import Report
from linkwork.saving.xml import fresh

_TURNS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def with_standard_joints(model: Model, report: Report) -> Model:
    """The model with chains of revolute joints, and bodies without mass between them, for universal and ball joints.

    Args:
        model: The model.
        report: Where to note them, and numbers of ball joints that single angles have not.
    """
    if not any(isinstance(joint.type, Universal | Spherical) for joint in model.joints):
        return model
    chains = _Chains(model, report)
    joints = tuple(part for joint in model.joints for part in chains.parts(joint))
    inertias = {joint.child: model.inertias.get(joint.child, Inertia.zero()) for joint in joints}
    frames = {**model.frames, **{body: Frame(body, body, Placement()) for body in chains.between}}
    tied = {name for constraint in model.constraints for name in constraint.joints} - {j.name for j in joints}
    for constraint in [c for c in model.constraints if tied & set(c.joints)]:
        what = "it ties a joint of several degrees of freedom, which URDF has as a chain of joints"
        report.refuse("constraints", f"'{constraint.name}'", what)
    kept = tuple(c for c in model.constraints if not tied & set(c.joints))
    unsaid: dict[str, Any] = dict.fromkeys(("actuators", "tendons", "sensors", "contacts", "elimination_order"), ())
    unsaid |= {"poses": {}, "activations": {}, "commands": {}}
    return replace(model, joints=joints, inertias=inertias, frames=frames, constraints=kept, **unsaid)


@dataclass
class _Chains:
    """Chains of one model, with names that are free."""

    model: Model
    report: Report

    def __post_init__(self) -> None:
        self.between: list[str] = []
        self._names, self._bodies = set(self.model.joint_names), set(self.model.frames)

    def parts(self, joint: TreeJoint) -> Iterator[TreeJoint]:
        """The joints that one joint becomes."""
        if isinstance(joint.type, Universal):
            turns = {"1": joint.type.first, "2": joint.type.second}
        elif isinstance(joint.type, Spherical):
            turns = {name: np.array(axis) for name, axis in _TURNS.items()}
            self._note(joint)
        else:
            yield joint
            return
        ball, parent, last = isinstance(joint.type, Spherical), joint.parent, len(turns) - 1
        for k, (suffix, axis) in enumerate(turns.items()):
            name = fresh(f"{joint.name}_{suffix}", self._names)
            child = joint.child if k == last else fresh(f"{joint.child}_after_{name}", self._bodies)
            if k < last:
                self.between.append(child)
            placement = joint.placement if k == 0 else Placement()
            own = _unlimited() if ball else _part(joint.limits, k)
            values: dict[str, Any] = {
                what: np.zeros(1) if ball else getattr(joint, what)[k : k + 1]
                for what in ("armature", "damping", "friction", "stiffness", "rest")
            }
            yield replace(
                joint,
                name=name,
                type=Revolute(axis),
                parent=parent,
                child=child,
                placement=placement,
                limits=own,
                **values,
            )
            parent = child

    def _note(self, joint: TreeJoint) -> None:
        what = "a ball joint is three revolute joints, about x, y and z, singular where the second is at a right angle"
        self.report.leave_out("joints", f"joint '{joint.name}'", what)
        refuse_limits(joint, self.report, position=True, velocity=True, effort=True)
        for kind, values in (("armature", joint.armature), ("damping", joint.damping), ("friction", joint.friction)):
            refuse_number(joint, kind, values, self.report)
        refuse_number(joint, "springs", joint.stiffness, self.report)


def _unlimited() -> Limits:
    return Limits(np.full(1, -np.inf), np.full(1, np.inf), np.full(1, np.inf), np.full(1, np.inf))


def _part(limits: Limits, k: int) -> Limits:
    own = slice(k, k + 1)
    return Limits(limits.lower[own], limits.upper[own], limits.velocity[own], limits.effort[own])
