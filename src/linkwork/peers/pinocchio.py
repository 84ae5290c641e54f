# SPDX-License-Identifier: BSD-3-Clause
"""Pinocchio's models as mechanisms, and states across in both directions.

| Pinocchio                               | here                                                                     |
|-----------------------------------------|--------------------------------------------------------------------------|
| RX, RevoluteUnaligned, ...              | `Revolute`                                                               |
| RUBX, RevoluteUnboundedUnaligned, ...   | `Revolute`: an angle, where Pinocchio has its cosine and sine            |
| PX, PrismaticUnaligned, ...             | `Prismatic`                                                              |
| HX, HelicalUnaligned, ...               | `Helical`                                                                |
| Universal, Spherical, Planar, FreeFlyer | `Universal`, `Spherical`, `Planar`, `Free`: coordinates are the same     |
| Translation                             | three `Prismatic` joints, ``name/1`` to ``name/3``                       |
| SphericalZYX                            | three `Revolute` joints                                                  |
| Composite                               | its joints, one after the other                                          |
| RigidConstraintModel, anchors           | `Point`, `Weld`                                                          |

A mimic joint has no coordinates of its own in Pinocchio and is refused: load its file here, which keeps it as a
constraint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import rows_of
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.checks import check_robot
from linkwork.model.constraints import WORLD, Constraint, Point, Weld
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model.placement import Placement

_AXES = {"X": "x", "Y": "y", "Z": "z"}


@dataclass(frozen=True)
class _Part:
    """One of our joints for a joint, or a part of one, of Pinocchio."""

    name: str
    type: Joint
    before: Placement
    """From the part before it, or from the joint's placement."""
    angle: bool = False
    """Whether Pinocchio has the cosine and sine of its angle."""


def from_pinocchio(model: Any, constraint_models: Sequence[Any] = (), *, name: str | None = None) -> Mechanism:
    """A mechanism from a model of Pinocchio, with its loops.

    Bodies are called as the frames of bodies there, or else as their joints; all other frames are frames here.

    Args:
        model: A ``pinocchio.Model``.
        constraint_models: Its constraints: ``RigidConstraintModel``, ``PointAnchorConstraintModel`` or
            ``FrameAnchorConstraintModel``.
        name: Name of the mechanism; by default that of the model.
    """
    if not hasattr(model, "jointPlacements"):
        raise InputError(f"from_pinocchio takes a pinocchio.Model, not {type(model).__name__}; lw.load reads files")
    build = Builder(name or model.name or "robot", gravity=np.array(model.gravity.linear))
    bodies = _body_names(model)
    for k in range(1, model.njoints):
        _add_joint(build, model, k, bodies)
    taken = set(bodies)
    for frame in model.frames:
        if frame.name not in taken and frame.name != "universe":
            taken.add(frame.name)
            build.frame(frame.name, bodies[frame.parentJoint], _placement(frame.placement))
    for pose, q in dict(model.referenceConfigurations).items():
        build.pose(pose, _coordinates(model, np.array(q)))
    mechanism = build.build()
    return mechanism.constrained(*(_constraint(c, bodies, n) for n, c in enumerate(constraint_models)))


def _body_names(model: Any) -> list[str]:
    """A name for the body of each joint: that of the first frame of a body which is the joint's own frame."""
    names = [WORLD, *list(model.names)[1:]]
    used = set(names)
    for frame in model.frames:
        k = frame.parentJoint
        own = k > 0 and names[k] == model.names[k] and frame.placement.isIdentity(1e-14)
        if own and str(frame.type) == "BODY" and frame.name not in used:
            used.add(frame.name)
            names[k] = frame.name
    return names


def _add_joint(build: Builder, model: Any, k: int, bodies: Sequence[str]) -> None:
    parts = _parts(model, k)
    body, joint = bodies[k], model.joints[k]
    at, parent = _placement(model.jointPlacements[k]), bodies[model.parents[k]]
    in_q, in_v = joint.idx_q, joint.idx_v
    for n, part in enumerate(parts):
        last = n == len(parts) - 1
        child = body if last else f"{body}/{n + 1}"
        build.body(child, _inertia(model.inertias[k]) if last else None, check=False)
        rows, places = slice(in_v, in_v + part.type.nv), slice(in_q, in_q + (2 if part.angle else part.type.nq))
        unbounded = part.angle or part.type.unit is not None
        build.joint(
            part.name,
            part.type,
            parent,
            child,
            at * part.before,
            lower=None if unbounded else _bound(model.lowerPositionLimit[places], -np.inf),
            upper=None if unbounded else _bound(model.upperPositionLimit[places], np.inf),
            velocity=_bound(model.upperVelocityLimit[rows], np.inf),
            effort=_bound(model.upperEffortLimit[rows], np.inf),
            armature=np.array(model.armature[rows]),
            damping=np.array(model.damping[rows]),
            friction=np.array(model.upperDryFrictionLimit[rows]),
        )
        at, parent, in_q, in_v = Placement(), child, places.stop, rows.stop


def _bound(values: Any, none: float) -> Floats:
    """Limits, of which the largest number that a double has means none."""
    bounds = np.array(values, dtype=np.float64)
    return np.where(np.abs(bounds) >= np.finfo(np.float64).max, none, bounds)


def _parts(model: Any, k: int) -> list[_Part]:
    """Our joints for a joint of Pinocchio."""
    parts = list(_kinds(model.joints[k].extract(), model.names[k], Placement()))
    if len(parts) == 1:
        return [_Part(model.names[k], *parts[0])]
    return [_Part(f"{model.names[k]}/{n}", *part) for n, part in enumerate(parts, 1)]


def _kinds(joint: Any, name: str, before: Placement) -> Iterator[tuple[Joint, Placement, bool]]:
    """Types of our joints, their placements, and whether Pinocchio has cosine and sine of an angle."""
    kind = joint.shortname().removeprefix("JointModel")
    angle = kind.startswith(("RUB", "RevoluteUnbounded"))
    if kind in ("RX", "RY", "RZ", "RUBX", "RUBY", "RUBZ"):
        yield Revolute(_AXES[kind[-1]]), before, angle
    elif kind in ("PX", "PY", "PZ"):
        yield Prismatic(_AXES[kind[-1]]), before, False
    elif kind in ("HX", "HY", "HZ"):
        yield Helical(_AXES[kind[-1]], float(joint.pitch)), before, False
    elif kind in ("RevoluteUnaligned", "RevoluteUnboundedUnaligned"):
        yield Revolute(_axis(joint)), before, angle
    elif kind == "PrismaticUnaligned":
        yield Prismatic(np.array(joint.axis)), before, False
    elif kind == "HelicalUnaligned":
        yield Helical(np.array(joint.axis), float(joint.pitch)), before, False
    elif kind == "Universal":
        yield Universal(np.array(joint.axis1), np.array(joint.axis2)), before, False
    elif kind in ("Spherical", "Planar", "FreeFlyer"):
        yield {"Spherical": Spherical, "Planar": Planar, "FreeFlyer": Free}[kind](), before, False
    elif kind == "Translation":
        yield from ((Prismatic(axis), before if axis == "x" else Placement(), False) for axis in "xyz")
    elif kind == "SphericalZYX":
        yield from ((Revolute(axis), before if axis == "z" else Placement(), False) for axis in "zyx")
    elif kind == "Composite":
        for placement, one in zip(joint.jointPlacements, joint.joints, strict=True):
            yield from _kinds(one.extract(), name, before * _placement(placement))
            before = Placement()
    else:
        raise UnsupportedFeature(
            f"joint '{name}' is of type {kind}, which has no counterpart here; of a mimic joint, load the file: "
            "linkwork keeps it as a constraint"
        )


def _axis(joint: Any) -> Floats:
    """The axis of a revolute joint, from its motion subspace: not all types say it themselves."""
    data = joint.createData()
    joint.calc(data, np.array([1.0, 0.0] if joint.nq == 2 else [0.0]))
    return np.array(data.S).reshape(6)[3:]


def _constraint(model: Any, bodies: Sequence[str], number: int) -> Constraint:
    """`Point` or `Weld` for a constraint of Pinocchio; forces are those on the second place."""
    kind = type(model).__name__
    if kind == "ConstraintModel":
        return _constraint(model.extract(), bodies, number)
    if kind == "RigidConstraintModel":
        welded = str(model.type) == "CONTACT_6D"
        corrector = model.m_baumgarte_parameters
    elif kind in ("PointAnchorConstraintModel", "FrameAnchorConstraintModel"):
        welded = kind.startswith("Frame")
        corrector = model.baumgarte_corrector_parameters
    else:
        raise UnsupportedFeature(
            f"constraint {number} is a {kind}; rigid constraints and anchors of points and frames are read"
        )
    constraint = Weld if welded else Point
    gains = float(np.mean(corrector.Kp)), float(np.mean(corrector.Kd))
    return constraint(
        bodies[model.joint1_id],
        bodies[model.joint2_id],
        first_at=_placement(model.joint1_placement),
        second_at=_placement(model.joint2_placement),
        name=model.name or f"constraint{number}",
        gains=gains,
    )


def _placement(placement: Any) -> Placement:
    return Placement(np.array(placement.translation), np.array(placement.rotation))


def _inertia(inertia: Any) -> Inertia:
    return Inertia(float(inertia.mass), np.array(inertia.lever), np.array(inertia.inertia))


# States ----------------------------------------------------------------------------------------------


def _coordinates(model: Any, q: Floats) -> dict[str, Floats]:
    """Coordinates of our joints by name, ``(..., nq of the joint)``."""
    coordinates = {}
    for k in range(1, model.njoints):
        at = model.joints[k].idx_q
        for part in _parts(model, k):
            width = 2 if part.angle else part.type.nq
            x = q[..., at : at + width]
            coordinates[part.name] = np.arctan2(x[..., 1:], x[..., :1]) if part.angle else x
            at += width
    return coordinates


@dataclass(frozen=True, eq=False)
class PinocchioMap:
    """Pinocchio's vectors and ours; leading axes are batch axes.

    Velocities, accelerations and torques have the same numbers in another order. A joint without limits is an angle
    here, and cosine and sine there.
    """

    robot: Mechanism
    """The mechanism."""
    model: Any
    """Pinocchio's model."""
    v_order: npt.NDArray[np.intp]
    """Where Pinocchio has each of our degrees of freedom."""

    def to_q(self, q: npt.ArrayLike) -> Floats:
        """Pinocchio's configuration, ``(..., model.nq)``.

        Args:
            q: Ours, ``(..., nq)``.
        """
        ours = rows_of(q, "q", (self.robot.nq,))
        parts = []
        for k in range(1, self.model.njoints):
            for part in _parts(self.model, k):
                x = ours[..., self.robot.q_slice(part.name)]
                parts.append(np.concatenate([np.cos(x), np.sin(x)], axis=-1) if part.angle else x)
        return np.concatenate(parts, axis=-1) if parts else ours

    def from_q(self, q: npt.ArrayLike) -> Floats:
        """Our configuration, ``(..., nq)``.

        Args:
            q: Pinocchio's, ``(..., model.nq)``.
        """
        theirs = rows_of(q, "q", (self.model.nq,))
        coordinates = _coordinates(self.model, theirs)
        parts = [coordinates[name] for name in self.robot.joint_names]
        return np.concatenate(parts, axis=-1) if parts else theirs

    def to_v(self, v: npt.ArrayLike) -> Floats:
        """Pinocchio's velocity, acceleration or torque, ``(..., nv)``.

        Args:
            v: Ours, ``(..., nv)``.
        """
        ours = rows_of(v, "v", (self.robot.nv,))
        theirs = np.empty_like(ours)
        theirs[..., self.v_order] = ours
        return theirs

    def from_v(self, v: npt.ArrayLike) -> Floats:
        """Our velocity, acceleration or torque, ``(..., nv)``.

        Args:
            v: Pinocchio's, ``(..., nv)``.
        """
        return rows_of(v, "v", (self.robot.nv,))[..., self.v_order]


def pinocchio_map(robot: Mechanism, model: Any) -> PinocchioMap:
    """States of a mechanism as states of a model of Pinocchio that has the same joints, and back.

    Args:
        robot: From `from_pinocchio`, or from the file that the model is from.
        model: A ``pinocchio.Model``.
    """
    check_robot(robot)
    if not hasattr(model, "njoints"):
        raise InputError(f"model is {type(model).__name__}, needs a pinocchio.Model")
    places: dict[str, npt.NDArray[np.intp]] = {}
    for k in range(1, model.njoints):
        at = model.joints[k].idx_v
        for part in _parts(model, k):
            places[part.name] = np.arange(at, at + part.type.nv)
            at += part.type.nv
    ours = dict.fromkeys(robot.joint_names)
    if set(ours) != set(places):
        odd = sorted(set(ours) ^ set(places))
        raise InputError(f"'{robot.name}' and the model differ in joints: {', '.join(odd[:6])}")
    order = np.concatenate([places[name] for name in ours]) if ours else np.zeros(0, dtype=np.intp)
    return PinocchioMap(robot, model, order.astype(np.intp))
