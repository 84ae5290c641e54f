# SPDX-License-Identifier: BSD-3-Clause
"""Similar mechanisms: all lengths, masses and times multiplied; `Scaling` does the same to states and forces.

A quantity of dimension length^l mass^m time^t is multiplied by the factors to these powers. So the numbers of a robot
in other units are found (in millimeters and grams ``length = mass = 1000``), and the robot that moves alike at another
size. Angles have no unit. Of a row of a constraint the unit is that of its error:

| constraint                        | unit of its rows                                                     |
|-----------------------------------|----------------------------------------------------------------------|
| between two frames                | none (turning), length (sliding)                                     |
| on joints                         | that of the first joint, whose coefficient stays                     |
| `CenterOfMass`                    | length                                                               |
| `LinearCombination`               | length where a linear velocity occurs                                |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import above_zero
from linkwork.mechanism.scaled_softness import scaled_soft_contact, scaled_softness
from linkwork.mechanism.scaled_tendons import scaled_tendon, scaled_terms, tendon_unit
from linkwork.model.arrays import Floats
from linkwork.model.checks import refuse_laws
from linkwork.model.constraints import (
    TURN_ROWS,
    Belt,
    CenterOfMass,
    Constraint,
    Coupling,
    FixedTendonCoupling,
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
    TendonCoupling,
    Term,
)
from linkwork.model.contacts import ContactPair, ContactShape, changed_shapes
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Helical, Joint, Planar, Prismatic
from linkwork.model.medium import Medium
from linkwork.model.model import Model
from linkwork.model.parts import Actuator, Limits, TreeJoint
from linkwork.model.placement import Placement, as_placement
from linkwork.model.sensors import Sensor
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, HeightField, Mesh, Shape, Solid, Sphere

M = TypeVar("M", bound=Model)


class Scaling:
    """Scale factors of lengths and units: each method converts quantities of a robot to those of the scaled one.

    Args:
        robot: The mechanism.
        length: Factor of all lengths.
        mass: Factor of all masses.
        time: Factor of all times.
    """

    def __init__(self, robot: Model, length: float, mass: float, time: float) -> None:
        self.length, self.mass, self.time = length, mass, time
        if not (0 < time * time < np.inf and 0 < length * length < np.inf and 0 < self.energy < np.inf):
            raise InputError(
                f"factors {length:g} of lengths, {mass:g} of masses, {time:g} of times exceed the range of floats"
            )
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
        return self.mass * (self.length * self.length) / (self.time * self.time)

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

    def rows_of(self, robot: Model, constraint: Constraint) -> Floats:
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
        if isinstance(constraint, TendonCoupling):
            return np.array([tendon_unit(robot, constraint.follower, self)])
        if isinstance(constraint, LinearCombination):
            linear = np.any([np.asarray(m)[:, 3:] != 0 for m in constraint.matrices.values()], axis=(0, 2))
            return np.where(linear, self.length, 1.0)
        raise NotImplementedError(f"the units of {constraint}")

    def coordinate(self, robot: Model, joint: str) -> float:
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


def scaled(robot: M, length: float, mass: float, time: float | None) -> M:
    """The similar mechanism; see `Mechanism.scaled`."""
    for name, factor in (("length", length), ("mass", mass), ("time", 1.0 if time is None else time)):
        above_zero(factor, name)
    by = Scaling(robot, length, mass, length**0.5 if time is None else time)
    compensated = robot.gravity_compensation.items()
    refuse_laws(robot, "scaled")
    return replace(
        robot,
        joints=tuple(_joint(j, by) for j in robot.joints),
        inertias={name: _inertia(i, by) for name, i in robot.inertias.items()},
        frames={name: replace(f, placement=_placement(f.placement, length)) for name, f in robot.frames.items()},
        gravity=robot.gravity if time is None else robot.gravity * (length / time**2),
        shapes=tuple(_shape(s, length) for s in robot.shapes),
        constraints=tuple(_constraint(robot, c, by) for c in robot.constraints),
        poses={name: by.q(q) for name, q in robot.poses.items()},
        actuators=tuple(_actuator(robot, a, by) for a in robot.actuators),
        gravity_compensation={name: _inertia(i, by) for name, i in compensated},
        contacts=_contacts(robot.contacts, by),
        base_inertia=_inertia(robot.base_inertia, by),
        tendons=tuple(scaled_tendon(robot, tendon, by) for tendon in robot.tendons),
        activations={name: act * _activation_units(robot, by) for name, act in robot.activations.items()},
        mocap={name: x * ([length] * 3 + [1.0] * 4) for name, x in robot.mocap.items()},
        sensors=tuple(_sensor(robot, sensor, by) for sensor in robot.sensors),
        medium=_medium(robot.medium, by),
    )


def _medium(medium: Medium, by: Scaling) -> Medium:
    x, y, z = (np.array(medium.wind) * (by.length / by.time)).tolist()
    density, viscosity = by.mass / by.length**3, by.mass / (by.length * by.time)
    return Medium(medium.density * density, medium.viscosity * viscosity, (x, y, z))


def _sensor(robot: Model, sensor: Sensor, by: Scaling) -> Sensor:
    """Bounds have the units of values: powers of length, mass, time, and the coordinate that they are of."""
    joint = sensor.of
    for actuator in robot.actuators:
        if actuator.name == sensor.of and sensor.type.startswith("actuator"):
            joint = actuator.joint
    own = by.coordinate(robot, joint) if joint in robot.space.indices else 1.0
    if sensor.type.startswith("tendon") and any(t.name == sensor.of for t in robot.tendons):
        tendon = robot.tendon(sensor.of)
        own = by.length if tendon.is_spatial else by.coordinate(robot, next(iter(tendon.joints)))
    of_length, of_mass, of_time, of_coordinate = SENSOR_UNITS.get(sensor.type, (0, 0, 0, 0))
    unit = by.length**of_length * by.mass**of_mass * by.time**of_time * own**of_coordinate
    part, volume = sensor.outboard, sensor.volume
    return replace(
        sensor,
        cutoff=sensor.cutoff * unit,
        noise=sensor.noise * unit,
        margin=sensor.margin * own,
        outboard=None if part is None else replace(part, inertia=_inertia(part.inertia, by)),
        volume=None if volume is None else _solid(volume, by.length),
    )


SENSOR_UNITS: Mapping[str, tuple[int, int, int, int]] = MappingProxyType(
    {
        **dict.fromkeys(("accelerometer", "framelinacc"), (1, 0, -2, 0)),
        **dict.fromkeys(("velocimeter", "framelinvel", "subtreelinvel"), (1, 0, -1, 0)),
        **dict.fromkeys(("gyro", "frameangvel", "ballangvel"), (0, 0, -1, 0)),
        "frameangacc": (0, 0, -2, 0),
        **dict.fromkeys(("force", "touch"), (1, 1, -2, 0)),
        **dict.fromkeys(("torque", "e_potential", "e_kinetic"), (2, 1, -2, 0)),
        **dict.fromkeys(("framepos", "subtreecom"), (1, 0, 0, 0)),
        "subtreeangmom": (2, 1, -1, 0),
        **dict.fromkeys(("jointpos", "jointlimitpos", "actuatorpos", "tendonpos", "tendonlimitpos"), (0, 0, 0, 1)),
        **dict.fromkeys(("jointvel", "jointlimitvel", "actuatorvel", "tendonvel", "tendonlimitvel"), (0, 0, -1, 1)),
        **dict.fromkeys(("jointlimitfrc", "jointactuatorfrc", "actuatorfrc", "tendonactuatorfrc"), (2, 1, -2, -1)),
        "clock": (0, 0, 1, 0),
    }
)
"""Units of sensors: powers of length, mass, time, and of the coordinate that they are of; others have none."""


def _contacts(contacts: Sequence[ContactPair], by: Scaling) -> tuple[ContactPair, ...]:
    def changed(shape: ContactShape) -> ContactShape:
        x, y, z = (u * by.length / by.time for u in shape.surface_velocity)
        a, b, c = (u / by.time for u in shape.surface_angular_velocity)
        return replace(
            shape,
            solid=_solid(shape.solid, by.length),
            placement=_placement(shape.placement, by.length),
            surface_velocity=(x, y, z),
            surface_angular_velocity=(a, b, c),
            center=None if shape.center is None else tuple(by.length * np.array(shape.center)),
        )

    return tuple(
        replace(
            pair,
            compliance=pair.compliance * by.time**2 / by.mass,
            margin=pair.margin * by.length,
            gap=pair.gap * by.length,
            torsional_friction=pair.torsional_friction * by.length,
            rolling_friction=pair.rolling_friction * by.length,
            adhesion=pair.adhesion * by.mass * by.length / by.time**2,
            soft=scaled_soft_contact(pair.soft, by.time, by.length),
        )
        for pair in changed_shapes(contacts, changed)
    )


def _placement(placement: Placement, length: float) -> Placement:
    return Placement(placement.position * length, placement.rotation)


def _inertia(inertia: Inertia, by: Scaling) -> Inertia:
    I = inertia.rotational * (by.mass * by.length**2)
    return Inertia(inertia.mass * by.mass, inertia.com * by.length, I)


def _joint(joint: TreeJoint, by: Scaling) -> TreeJoint:
    q, v = lengths_of_q(joint.type, by.length), lengths_of_v(joint.type, by.length)
    stiffness = by.energy / v**2
    type = Helical(joint.type.axis, joint.type.pitch * by.length) if isinstance(joint.type, Helical) else joint.type
    limits = joint.limits
    return replace(
        joint,
        type=type,
        placement=_placement(joint.placement, by.length),
        limits=Limits(
            limits.lower * q,
            limits.upper * q,
            limits.velocity * v / by.time,
            limits.effort * by.energy / v,
            (limits.actuation[0] * by.energy / v[0], limits.actuation[1] * by.energy / v[0]),
            limits.angle,
        ),
        armature=joint.armature * stiffness * by.time**2,
        damping=joint.damping * stiffness * by.time,
        friction=joint.friction * by.energy / v,
        stiffness=joint.stiffness * stiffness,
        stiffness_terms=scaled_terms(joint.stiffness_terms, by.energy / v[0] ** 2, v[0]),
        damping_terms=scaled_terms(joint.damping_terms, by.energy / v[0] ** 2 * by.time, v[0] / by.time),
        rest=joint.rest * q if len(joint.rest) == len(q) else joint.rest * v,
        soft_limit=scaled_softness(joint.soft_limit, by.time, float(v[0])),
        soft_friction=scaled_softness(joint.soft_friction, by.time, float(v[0])),
    )


def _actuator(robot: Model, actuator: Actuator, by: Scaling) -> Actuator:
    """Commands are unchanged; its length has the unit of the first degree of freedom that it drives."""
    if actuator.motor is not None:
        raise UnsupportedFeature(
            f"actuator '{actuator.name}' has a Motor, whose rates and forces are not scaled: leave it out, scale, and "
            "give one",
            subject=actuator.name,
        )
    gear = np.array(actuator.gear)
    if actuator.tendon:
        length = tendon_unit(robot, robot.tendon(actuator.tendon), by)
    elif actuator.body:
        length = by.length
    else:
        units = lengths_of_v(robot.joint(actuator.joint).type, by.length)
        length = float(units[0])
        gear = gear * length / units
    force = by.energy / length
    law = np.array([force, force / length, force * by.time / length])
    unit = by.time if actuator.dynamics == "integrator" else 1.0  # of its activation
    return replace(
        actuator,
        gear=tuple(gear.tolist()),
        time_constant=actuator.time_constant * by.time,
        activation_limits=(actuator.activation_limits[0] * unit, actuator.activation_limits[1] * unit),
        also=tuple((name, x * length / by.coordinate(robot, name)) for name, x in actuator.also),
        gain=_times(actuator.gain, law / unit),
        bias=_times(actuator.bias, law),
        force_limits=(actuator.force_limits[0] * force, actuator.force_limits[1] * force),
    )


def _activation_units(robot: Model, by: Scaling) -> Floats:
    """Integrals of commands take longer; other activations are commands."""
    late = [a for a in robot.actuators for _ in a.states]
    return np.array([by.time if a.dynamics == "integrator" else 1.0 for a in late])


def _times(law: tuple[float, float, float], factors: Floats) -> tuple[float, float, float]:
    constant, of_length, of_rate = (float(x) for x in np.array(law) * factors)
    return constant, of_length, of_rate


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
    if isinstance(solid, HeightField):
        x, y = solid.size
        return HeightField(tuple(tuple(z * length for z in row) for row in solid.heights), (x * length, y * length))
    return solid


def _constraint(robot: Model, constraint: Constraint, by: Scaling) -> Constraint:
    kp, kd = constraint.gains or (0.0, 0.0)
    changes: dict[str, Any] = {"gains": (kp / by.time**2, kd / by.time), "time_constant": None}
    row = by.rows_of(robot, constraint)
    changes["soft"] = scaled_softness(constraint.soft, by.time, float(row[-1]))
    if isinstance(constraint, Pair):
        for end in ("first_at", "second_at"):
            changes[end] = _placement(as_placement(getattr(constraint, end)), by.length)
        if isinstance(constraint, Rod):
            changes["length"] = constraint.length * by.length
        if isinstance(constraint, Rolling):
            changes["radius"] = constraint.radius * by.length
    elif isinstance(constraint, Gear):
        changes["ratio"] = constraint.ratio * row[0] / by.coordinate(robot, constraint.driven)
        changes["offset"] = constraint.offset * row[0]
    elif isinstance(constraint, Belt):
        ratios = constraint.driven.items()
        changes["driven"] = {name: ratio * row[0] / by.coordinate(robot, name) for name, ratio in ratios}
        changes["offset"] = constraint.offset * row[0]
    elif isinstance(constraint, JointCoupling):
        terms = constraint.coefficients.items()
        changes["coefficients"] = {name: c * row[0] / by.coordinate(robot, name) for name, c in terms}
        changes["offset"] = constraint.offset * row[0]
    elif isinstance(constraint, PolynomialCoupling):
        x = 1.0 if constraint.leader is None else by.coordinate(robot, constraint.leader)
        changes["coefficients"] = [c * row[0] / x**k for k, c in enumerate(constraint.coefficients)]
        changes["follower_origin"] = constraint.follower_origin * row[0]
        changes["leader_origin"] = constraint.leader_origin * x
    elif isinstance(constraint, FixedTendonCoupling):
        changes["terms"] = tuple(_term(term, by.coordinate(robot, term.joint), row[0]) for term in constraint.terms)
        changes["value"] = constraint.value * row[0]
    elif isinstance(constraint, JointLock):
        changes["position"] = (np.asarray(constraint.position) * row).tolist()
    elif isinstance(constraint, Follows):
        leaders = [by.coordinate(robot, name) for name in constraint.leaders]
        scaled = _function(constraint.function, leaders, row)
        changes["function"] = lambda *q: scaled(*q)[0]
        changes["offset"] = (np.asarray(constraint.offset) * row).tolist()
    elif isinstance(constraint, FunctionCoupling):
        over = [by.coordinate(robot, name) for name in constraint.over]
        changes["function"] = _function(constraint.function, over, row)
        changes["offset"] = (np.asarray(constraint.offset) * row).tolist()
    elif isinstance(constraint, TendonCoupling):
        units = [tendon_unit(robot, tendon, by) for tendon in constraint.tendons]
        x = units[-1]
        changes["follower"] = scaled_tendon(robot, constraint.follower, by)
        changes["leader"] = None if constraint.leader is None else scaled_tendon(robot, constraint.leader, by)
        changes["coefficients"] = [c * units[0] / x**k for k, c in enumerate(constraint.coefficients)]
        changes |= {"follower_origin": constraint.follower_origin * units[0]}
        changes |= {"leader_origin": constraint.leader_origin * x}
    elif isinstance(constraint, CenterOfMass):
        changes["at"] = _placement(as_placement(constraint.at), by.length)
    elif isinstance(constraint, LinearCombination):
        column = np.array([1.0] * 3 + [by.length] * 3)
        changes["matrices"] = {
            place: np.asarray(m) * (row[:, None] / column) for place, m in constraint.matrices.items()
        }
    return replace(constraint, **changes)


def _term(term: Term, unit: float, row: float) -> Term:
    """The polynomial of a coordinate in another unit, with values in that of its row."""
    c1, c2, c3, c4 = (c * row / unit ** (k + 1) for k, c in enumerate(term.coefficients))
    return replace(term, coefficients=(c1, c2, c3, c4), origin=term.origin * unit)


def _function(function: Callable[..., Any], over: Sequence[float], rows: Floats) -> Callable[..., Any]:
    """The function of coordinates in other units."""

    def other(*q: Any) -> Any:
        value = function(*(x * (1.0 / unit) for x, unit in zip(q, over, strict=True)))
        return [x * unit for x, unit in zip(value if isinstance(value, list | tuple) else [value], rows, strict=True)]

    return other
