# SPDX-License-Identifier: BSD-3-Clause
"""The same robot in other units: `scaled` writes its numbers anew, `Units` those of its states and forces.

A quantity of dimension length^l mass^m time^t has its number multiplied by the factors to these powers: in millimeters
and grams ``length = mass = 1000``. Angles have no unit. Of a row of a constraint the unit is that of its error:

| constraint                        | unit of its rows                                                     |
|-----------------------------------|----------------------------------------------------------------------|
| between two frames                | none (turning), length (sliding)                                     |
| on joints                         | that of the first joint, whose coefficient stays                     |
| `CenterOfMass`                    | length                                                               |
| `LinearCombination`               | length where a linear velocity occurs                                |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import (
    TURN_ROWS,
    Belt,
    CenterOfMass,
    Constraint,
    Coupling,
    Follows,
    FunctionCoupling,
    Gear,
    JointCoupling,
    JointLock,
    LinearCombination,
    Pair,
    PolynomialCoupling,
    Rod,
    Rolling,
)
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Helical, Joint, Planar, Prismatic
from linkwork.model.parts import Actuator, Limits, TreeJoint
from linkwork.model.placement import Placement, as_placement
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Mesh, Shape, Solid, Sphere


class Units:
    """How numbers change with units: each method takes those of the first robot to those of the scaled one."""

    def __init__(self, robot: Mechanism, length: float, mass: float, time: float) -> None:
        self.length, self.mass, self.time = float(length), float(mass), float(time)
        joints = [j.type for j in robot.joints]
        self.positions = _joined([lengths_of_q(j, self.length) for j in joints])
        """Of each number of q, ``(nq,)``."""
        self.motions = _joined([lengths_of_v(j, self.length) for j in joints])
        """Of each small motion, ``(nv,)``: velocities are these over time."""
        self.rows = _joined([self.rows_of(robot, c) for c in robot.constraints])
        """Of the error of each row, ``(nc,)``."""

    @property
    def energy(self) -> float:
        """Of a moment, too."""
        return self.mass * self.length**2 / self.time**2

    def q(self, q: npt.ArrayLike) -> Floats:
        """Configurations."""
        return np.asarray(q) * self.positions

    def v(self, v: npt.ArrayLike) -> Floats:
        """Velocities."""
        return np.asarray(v) * (self.motions / self.time)

    def a(self, a: npt.ArrayLike) -> Floats:
        """Accelerations."""
        return np.asarray(a) * (self.motions / self.time**2)

    def tau(self, tau: npt.ArrayLike) -> Floats:
        """Torques, and forces of sliding joints: with a motion they make an energy."""
        return np.asarray(tau) * (self.energy / self.motions)

    def error(self, error: npt.ArrayLike) -> Floats:
        """Errors of rows."""
        return np.asarray(error) * self.rows

    def forces(self, forces: npt.ArrayLike) -> Floats:
        """Forces of rows."""
        return np.asarray(forces) * (self.energy / self.rows)

    def impulses(self, impulses: npt.ArrayLike) -> Floats:
        """Impulses of rows."""
        return np.asarray(impulses) * (self.energy * self.time / self.rows)

    def rows_of(self, robot: Mechanism, constraint: Constraint) -> Floats:
        """The units of the errors of a constraint's rows."""
        if isinstance(constraint, Pair):
            turning = TURN_ROWS[constraint.turns]
            return np.array([1.0] * turning + [self.length] * (constraint.rows - turning))
        if isinstance(constraint, JointLock):
            return lengths_of_q(robot.joint(constraint.joint).type, self.length)
        if isinstance(constraint, Coupling):
            return np.full(constraint.rows, self.coordinate(robot, constraint.joints[0]))
        if isinstance(constraint, CenterOfMass):
            return np.full(constraint.rows, self.length)
        if isinstance(constraint, LinearCombination):
            linear = np.any([np.asarray(m)[:, 3:] != 0 for m in constraint.matrices.values()], axis=(0, 2))
            return np.where(linear, self.length, 1.0)
        raise NotImplementedError(f"the units of {constraint}")

    def coordinate(self, robot: Mechanism, joint: str) -> float:
        """The unit of the coordinate of a joint that has one."""
        return float(lengths_of_q(robot.joint(joint).type, self.length)[0])


def lengths_of_q(joint: Joint, length: float) -> Floats:
    """The units of a joint's coordinates."""
    sliding = {Prismatic: 1, Planar: 2, Free: 3}.get(type(joint), 0)
    return np.array([length] * sliding + [1.0] * (joint.nq - sliding))


def lengths_of_v(joint: Joint, length: float) -> Floats:
    """The units of a joint's motions."""
    sliding = {Prismatic: 1, Planar: 2, Free: 3}.get(type(joint), 0)
    return np.array([length] * sliding + [1.0] * (joint.nv - sliding))


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(0)


def scaled(robot: Mechanism, length: float, mass: float, time: float) -> Mechanism:
    """The same robot with numbers in units that are smaller by these factors."""
    units = Units(robot, length, mass, time)
    return replace(
        robot,
        joints=tuple(_joint(j, units) for j in robot.joints),
        inertias={name: _inertia(i, units) for name, i in robot.inertias.items()},
        frames={name: replace(f, placement=_placement(f.placement, length)) for name, f in robot.frames.items()},
        gravity=robot.gravity * (length / time**2),
        shapes=tuple(_shape(s, length) for s in robot.shapes),
        constraints=tuple(_constraint(robot, c, units) for c in robot.constraints),
        poses={name: units.q(q) for name, q in robot.poses.items()},
        actuators=tuple(_actuator(robot, a, units) for a in robot.actuators),
    )


def _placement(placement: Placement, length: float) -> Placement:
    return Placement(placement.position * length, placement.rotation)


def _inertia(inertia: Inertia, units: Units) -> Inertia:
    I = inertia.rotational * (units.mass * units.length**2)
    return Inertia(inertia.mass * units.mass, inertia.com * units.length, I)


def _joint(joint: TreeJoint, units: Units) -> TreeJoint:
    q, v = lengths_of_q(joint.type, units.length), lengths_of_v(joint.type, units.length)
    stiffness = units.energy / v**2
    type = Helical(joint.type.axis, joint.type.pitch * units.length) if isinstance(joint.type, Helical) else joint.type
    limits = joint.limits
    return replace(
        joint,
        type=type,
        placement=_placement(joint.placement, units.length),
        limits=Limits(
            limits.lower * q, limits.upper * q, limits.velocity * v / units.time, limits.effort * units.energy / v
        ),
        armature=joint.armature * stiffness * units.time**2,
        damping=joint.damping * stiffness * units.time,
        friction=joint.friction * units.energy / v,
        stiffness=joint.stiffness * stiffness,
        rest=joint.rest * q if len(joint.rest) == len(q) else joint.rest * v,
    )


def _actuator(robot: Mechanism, actuator: Actuator, units: Units) -> Actuator:
    """Commands stay what they are; its length has the unit of the first degree of freedom that it drives."""
    length = float(lengths_of_v(robot.joint(actuator.joint).type, units.length)[0])
    force = units.energy / length
    law = np.array([force, force / length, force * units.time / length])
    gear = np.array(actuator.gear) * length / lengths_of_v(robot.joint(actuator.joint).type, units.length)
    return replace(
        actuator,
        gear=tuple(gear.tolist()),
        also=tuple((name, x * length / units.coordinate(robot, name)) for name, x in actuator.also),
        gain=tuple((np.array(actuator.gain) * law).tolist()),
        bias=tuple((np.array(actuator.bias) * law).tolist()),
        force_limits=tuple((np.array(actuator.force_limits) * force).tolist()),
    )


def _shape(shape: Shape, length: float) -> Shape:
    return replace(shape, solid=_solid(shape.solid, length), placement=_placement(shape.placement, length))


def _solid(solid: Solid, length: float) -> Solid:
    def times(sizes: tuple[float, float, float]) -> tuple[float, float, float]:
        x, y, z = sizes
        return x * length, y * length, z * length

    if isinstance(solid, Box):
        return Box(times(solid.size))
    if isinstance(solid, Ellipsoid):
        return Ellipsoid(times(solid.radii))
    if isinstance(solid, Sphere):
        return Sphere(solid.radius * length)
    if isinstance(solid, Cylinder):
        return replace(solid, radius=solid.radius * length, length=solid.length * length)
    if isinstance(solid, Mesh):
        return replace(solid, scale=times(solid.scale))
    return solid


def _constraint(robot: Mechanism, constraint: Constraint, units: Units) -> Constraint:
    kp, kd = constraint.gains or (0.0, 0.0)
    changes: dict[str, Any] = {"gains": (kp / units.time**2, kd / units.time), "time_constant": None}
    row = units.rows_of(robot, constraint)
    if isinstance(constraint, Pair):
        for end in ("first_at", "second_at"):
            changes[end] = _placement(as_placement(getattr(constraint, end)), units.length)
        if isinstance(constraint, Rod):
            changes["length"] = constraint.length * units.length
        if isinstance(constraint, Rolling):
            changes["radius"] = constraint.radius * units.length
    elif isinstance(constraint, Gear):
        changes["ratio"] = constraint.ratio * row[0] / units.coordinate(robot, constraint.driven)
        changes["offset"] = constraint.offset * row[0]
    elif isinstance(constraint, Belt):
        ratios = constraint.driven.items()
        changes["driven"] = {name: ratio * row[0] / units.coordinate(robot, name) for name, ratio in ratios}
        changes["offset"] = constraint.offset * row[0]
    elif isinstance(constraint, JointCoupling):
        terms = constraint.coefficients.items()
        changes["coefficients"] = {name: c * row[0] / units.coordinate(robot, name) for name, c in terms}
        changes["offset"] = constraint.offset * row[0]
    elif isinstance(constraint, PolynomialCoupling):
        x = 1.0 if constraint.leader is None else units.coordinate(robot, constraint.leader)
        changes["coefficients"] = [c * row[0] / x**k for k, c in enumerate(constraint.coefficients)]
        changes["follower_origin"] = constraint.follower_origin * row[0]
        changes["leader_origin"] = constraint.leader_origin * x
    elif isinstance(constraint, JointLock):
        changes["position"] = (np.asarray(constraint.position) * row).tolist()
    elif isinstance(constraint, Follows):
        leaders = [units.coordinate(robot, name) for name in constraint.leaders]
        scaled = _function(constraint.function, leaders, row)
        changes["function"] = lambda *q: scaled(*q)[0]
        changes["offset"] = (np.asarray(constraint.offset) * row).tolist()
    elif isinstance(constraint, FunctionCoupling):
        over = [units.coordinate(robot, name) for name in constraint.over]
        changes["function"] = _function(constraint.function, over, row)
        changes["offset"] = (np.asarray(constraint.offset) * row).tolist()
    elif isinstance(constraint, CenterOfMass):
        changes["at"] = _placement(as_placement(constraint.at), units.length)
    elif isinstance(constraint, LinearCombination):
        column = np.array([1.0] * 3 + [units.length] * 3)
        changes["matrices"] = {
            place: np.asarray(m) * (row[:, None] / column) for place, m in constraint.matrices.items()
        }
    return replace(constraint, **changes)


def _function(function: Callable[..., Any], over: Sequence[float], rows: Floats) -> Callable[..., Any]:
    """The function of coordinates in other units."""

    def other(*q: Any) -> Any:
        found = function(*(x * (1.0 / unit) for x, unit in zip(q, over, strict=True)))
        return [x * unit for x, unit in zip(found if isinstance(found, list | tuple) else [found], rows, strict=True)]

    return other
