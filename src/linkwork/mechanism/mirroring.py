# SPDX-License-Identifier: BSD-3-Clause
"""The mirror image of a mechanism: a left arm from a right one.

With ``S`` the reflection, a placement ``(R, p)`` becomes ``(S R S, S p)``, an inertia ``S I S``, and the axis of a
sliding joint ``S a``. A rotation about ``a`` becomes one about ``-S a`` by the same angle, so that coordinates of
joints stay, but for those that are vectors themselves: see `mirrored_q`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.model.arrays import Floats
from linkwork.model.checks import refuse_laws
from linkwork.model.constraints import (
    Axial,
    Cardan,
    CenterOfMass,
    Constraint,
    LinearCombination,
    Pair,
    VelocityCoupling,
)
from linkwork.model.contacts import ContactShape, changed_shapes
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model.model import Model
from linkwork.model.parts import Actuator, TreeJoint
from linkwork.model.placement import Placement, as_placement
from linkwork.model.rotations import aligning_rotation
from linkwork.model.sensors import Sensor
from linkwork.model.shapes import Ground, HeightField, Mesh, Shape
from linkwork.model.tendons import Tendon

M = TypeVar("M", bound=Model)

PLANES = {"xy": 2, "xz": 1, "yz": 0}
"""The axis that each plane reflects."""


def mirrored(robot: M, plane: str) -> M:
    """The mirror image; see `Mechanism.mirrored`."""
    S = _reflection(plane)
    refuse_laws(robot, "mirrored")
    return replace(
        robot,
        joints=tuple(_joint(j, S) for j in robot.joints),
        inertias={name: _inertia(i, S) for name, i in robot.inertias.items()},
        frames={name: replace(f, placement=_placement(f.placement, S)) for name, f in robot.frames.items()},
        gravity=S * robot.gravity,
        medium=replace(robot.medium, wind=tuple((S * np.array(robot.medium.wind)).tolist())),
        shapes=tuple(replace(s, **_shape(s, S)) for s in robot.shapes),
        constraints=tuple(_constraint(robot, c, S) for c in robot.constraints),
        poses={name: mirrored_q(robot, q, plane) for name, q in robot.poses.items()},
        gravity_compensation={name: _inertia(i, S) for name, i in robot.gravity_compensation.items()},
        actuators=tuple(_actuator(robot, a, S) for a in robot.actuators),
        base_inertia=_inertia(robot.base_inertia, S),
        tendons=tuple(_tendon(t, S) for t in robot.tendons),
        contacts=changed_shapes(robot.contacts, lambda s: replace(s, **_shape(s, S), **_vectors(s, S))),
        mocap={name: _mocap(x, S) for name, x in robot.mocap.items()},
        sensors=tuple(_sensor(sensor, S) for sensor in robot.sensors),
    )


def _mocap(x: Floats, S: Floats) -> Floats:
    """Placements of mocap bodies, position and quaternion: turns about axes in the plane change their sense."""
    return np.asarray(x * np.concatenate([S, np.prod(S) * S, [1.0]]))


def mirrored_q(robot: Model, q: npt.ArrayLike, plane: str = "xz") -> Floats:
    """The configuration of the mirror image that is the mirror image of a configuration, ``(..., nq)``.

    Angles and lengths stay; positions of free joints are reflected, and quaternions turn the other way.

    Args:
        robot: The mechanism.
        q: Its configuration, ``(..., nq)``.
        plane: The plane: ``"xy"``, ``"xz"`` or ``"yz"``.
    """
    return np.asarray(q, dtype=np.float64) * _signs(robot, _reflection(plane), rates=False)


def mirrored_v(robot: Model, v: npt.ArrayLike, plane: str = "xz") -> Floats:
    """The velocity (or acceleration, or torque) of the mirror image, ``(..., nv)``.

    Args:
        robot: The mechanism.
        v: Its velocity, ``(..., nv)``.
        plane: The plane: ``"xy"``, ``"xz"`` or ``"yz"``.
    """
    return np.asarray(v, dtype=np.float64) * _signs(robot, _reflection(plane), rates=True)


def _reflection(plane: str) -> Floats:
    """The diagonal of ``S``."""
    if plane not in PLANES:
        raise InputError(f"plane is {plane!r}, needs one of {', '.join(PLANES)}")
    S = np.ones(3)
    S[PLANES[plane]] = -1.0
    return S


def _signs(robot: Model, S: Floats, *, rates: bool) -> Floats:
    """Signs of all coordinates, or of their rates."""
    parts = [_coordinate_signs(joint.type, S, rates=rates) for joint in robot.joints]
    return np.concatenate(parts) if parts else np.zeros(0)


def _placement(placement: Placement, S: Floats, local: Floats | None = None) -> Placement:
    """The mirror image of a placement, in which local axes are reflected by ``local``, by default as those outside."""
    inner = S if local is None else local
    return Placement(S * placement.position, S[:, None] * placement.rotation * inner)


def _inertia(inertia: Inertia, S: Floats) -> Inertia:
    return Inertia(inertia.mass, S * inertia.com, S[:, None] * inertia.rotational * S)


def _joint(joint: TreeJoint, S: Floats) -> TreeJoint:
    alone = replace(joint, type=_type(joint, S))
    positions, rates = (_coordinate_signs(joint.type, S, rates=rates) for rates in (False, True))
    ends = positions * joint.limits.lower, positions * joint.limits.upper
    limits = replace(joint.limits, lower=np.minimum(*ends), upper=np.maximum(*ends))
    rest = joint.rest * (positions if joint.rest.shape == positions.shape else rates)
    return replace(alone, placement=_placement(joint.placement, S), limits=limits, rest=rest)


def _type(joint: TreeJoint, S: Floats) -> Joint:
    """A joint that moves as the mirror image does, by the same angles and lengths."""
    kind = joint.type
    if isinstance(kind, Revolute):
        return Revolute(-S * kind.axis)
    if isinstance(kind, Prismatic):
        return Prismatic(S * kind.axis)
    if isinstance(kind, Helical):
        return Helical(-S * kind.axis, -kind.pitch)
    if isinstance(kind, Universal):
        return Universal(-S * kind.first, -S * kind.second)
    if isinstance(kind, Planar):
        _plane_signs(kind, S)
        return Planar(S * kind.axis)
    return kind


def _plane_signs(kind: Planar, S: Floats) -> Floats:
    """Signs of the two coordinates of a planar joint in its mirror image."""
    axes, new = (np.eye(3) if a[2] == 1 else aligning_rotation(a) for a in (kind.axis, S * kind.axis))
    for signs in (np.array([1.0, -1.0]), np.array([-1.0, 1.0])):
        if np.allclose(new[:, :2], S[:, None] * axes[:, :2] * signs, atol=1e-12):
            return signs
    raise UnsupportedFeature(
        f"a planar joint about {kind.axis.tolist()} has no mirror image with the same axes in its plane; turn the "
        "joint's placement so that its axis is x, y or z"
    )


def _coordinate_signs(kind: Joint, S: Floats, *, rates: bool) -> Floats:
    """Signs of the coordinates of one joint, or of their rates."""
    turned = -S if rates else np.append(-S, 1.0)
    if isinstance(kind, Spherical):
        return turned
    if isinstance(kind, Free):
        return np.concatenate([S, turned])
    if isinstance(kind, Planar):
        return np.concatenate([_plane_signs(kind, S), [-1.0] if rates else [1.0, -1.0]])
    return np.ones(kind.nv if rates else kind.nq)


def _shape(shape: Shape | ContactShape, S: Floats) -> dict[str, Any]:
    """The solid and the placement of a mirror image.

    Shapes without another side, the ground and height fields, are reflected along their own x.
    """
    solid = shape.solid
    if isinstance(solid, Ground | HeightField):
        turned = _placement(shape.placement, S, np.array([-1.0, 1.0, 1.0]))
        flipped = replace(solid, heights=solid.heights[::-1]) if isinstance(solid, HeightField) else solid
        return {"solid": flipped, "placement": turned}
    if isinstance(solid, Mesh):
        x, y, z = (float(k) for k in S * solid.scale)
        solid = replace(solid, scale=(x, y, z))
    return {"solid": solid, "placement": _placement(shape.placement, S)}


def _vectors(shape: ContactShape, S: Floats) -> dict[str, Any]:
    """Velocities of a surface and the center of mass of a part in the axes of the mirror image of its shape."""
    own = np.array([-1.0, 1.0, 1.0]) if isinstance(shape.solid, Ground | HeightField) else S
    moved, turned = own * shape.surface_velocity + 0.0, -own * shape.surface_angular_velocity + 0.0
    center = None if shape.center is None else own * shape.center + 0.0
    return {"surface_velocity": moved, "surface_angular_velocity": turned, "center": center}


def _constraint(robot: Model, constraint: Constraint, S: Floats) -> Constraint:
    changes: dict[str, Any] = {"gains": constraint.gains, "time_constant": None}
    if isinstance(constraint, Pair):
        for end in ("first_at", "second_at"):
            changes[end] = _placement(as_placement(getattr(constraint, end)), S)
        if isinstance(constraint, Axial | Cardan):
            changes |= {"axis": S * np.asarray(constraint.axis), "second_axis": S * np.asarray(constraint.second_axis)}
    elif isinstance(constraint, CenterOfMass):
        changes["at"] = _placement(as_placement(constraint.at), S)
    elif isinstance(constraint, LinearCombination):
        twist = np.concatenate([-S, S])
        changes["matrices"] = {place: np.asarray(m) * twist for place, m in constraint.matrices.items()}
    elif isinstance(constraint, VelocityCoupling):
        signs = {name: _coordinate_signs(robot.joint(name).type, S, rates=True) for name in constraint.joints}
        changes["matrices"] = {name: np.asarray(m) * signs[name] for name, m in constraint.matrices.items()}
    return replace(constraint, **changes)


def _actuator(robot: Model, actuator: Actuator, S: Floats) -> Actuator:
    if actuator.tendon or actuator.body:
        return actuator
    signs = _coordinate_signs(robot.joint(actuator.joint).type, S, rates=True)
    return replace(actuator, gear=tuple((np.array(actuator.gear) * signs).tolist()))


def _tendon(tendon: Tendon, S: Floats) -> Tendon:
    other = tendon.transmission
    return tendon if other is None else replace(tendon, transmission=other.mirrored(S))


def _sensor(sensor: Sensor, S: Floats) -> Sensor:
    x, y, z = (float(k) for k in S * sensor.magnetic_flux)
    part = sensor.outboard
    outboard = None if part is None else replace(part, inertia=_inertia(part.inertia, S))
    return replace(sensor, magnetic_flux=(x, y, z), outboard=outboard, neutral_quaternion=None)
