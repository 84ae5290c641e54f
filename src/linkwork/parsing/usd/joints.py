# SPDX-License-Identifier: BSD-3-Clause
"""Joints of USD: types, the two frames that meet, limits and drives, in SI units and radians.

| prim                  | here                                                                      |
|-----------------------|---------------------------------------------------------------------------|
| PhysicsRevoluteJoint  | `Revolute` about its axis                                                 |
| PhysicsPrismaticJoint | `Prismatic`                                                               |
| PhysicsSphericalJoint | `Spherical`; limits of its cone are a warning                             |
| PhysicsFixedJoint     | `Fixed`                                                                   |
| PhysicsDistanceJoint  | `Rod`, where least and greatest distance are the same                     |
| PhysicsJoint (D6)     | by what ``PhysicsLimitAPI`` leaves free: one of the above, `Planar`, or   |
|                       | `Prismatic` and then `Revolute` joints or a `Spherical` one               |

Two rotations, and three with limits or drives, are `Revolute` joints about x, y, z, each carried by the one before, as
in Newton; USD does not say, and PhysX has another order: a warning.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, Constraint, Cylindrical, Rod
from linkwork.model.joint_placement import joint_placement
from linkwork.model.joints import Fixed, Joint, Planar, Prismatic, Revolute, Spherical
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation, axis_rotation, quaternion_of
from linkwork.parsing.usd.bodies import Bodies
from linkwork.parsing.usd.stage import Stage
from linkwork.parsing.xml import warn

NO_LIMIT = 1e16
"""Forces from here on mean that there is no limit: files write the largest float."""

_AXES = "XYZ"


@dataclass(frozen=True)
class Drive:
    """A drive of a joint with one degree of freedom: ``stiffness (target - q) + damping (rate - v)``, limited."""

    stiffness: float
    damping: float
    target: float
    rate: float
    force: float
    """The greatest force or torque."""
    accelerates: bool = False
    """Whether it gives accelerations instead of forces."""


@dataclass(frozen=True)
class UsdJoint:
    """A joint: frame ``second_at`` on the second body moves in frame ``first_at`` on the first."""

    prim: Any
    name: str
    type: Joint
    first: str
    second: str
    first_at: Placement
    second_at: Placement
    drawn: Placement
    """The second frame in the first, as the stage is drawn."""
    options: dict[str, Any] = field(default_factory=dict)
    drive: Drive | None = None
    constraint: Constraint | None = None
    """Constraint where no joint is like it: a rod, or a cylindrical joint that closes a loop."""
    carries: str = ""
    """The massless body that it leads to, as a part of a joint of several; empty where that is a body of the stage."""

    def turned(self) -> UsdJoint:
        """The reversed joint, from the second body to the first, with the same coordinates but for quaternions."""
        type = self.type
        if isinstance(type, Revolute | Prismatic):
            type = type.__class__(-type.axis)
        return UsdJoint(
            self.prim,
            self.name,
            type,
            self.second,
            self.first,
            self.second_at,
            self.first_at,
            self.drawn.inverse(),
            self.options,
            self.drive,
        )

    def gap(self) -> float:
        """The distance of the two frames, as the stage is drawn, from a pose that the joint allows; in m or rad."""
        if self.constraint is not None:
            return 0.0
        allowed = joint_placement(self.type, self.coordinates()) if self.type.nq else Placement()
        off = allowed.inverse() * self.drawn
        return float(max(np.abs(off.position).max(), np.abs(off.rotation - np.eye(3)).max()))

    def coordinates(self) -> Floats:
        """Its coordinates as the stage is drawn."""
        R, p = self.drawn.rotation, self.drawn.position
        match self.type:
            case Revolute(axis):
                twice_sine = axis @ [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
                return np.array([np.arctan2(twice_sine, np.trace(R) - 1.0)])
            case Prismatic(axis):
                return np.array([axis @ p])
            case Spherical():
                return quaternion_of(R)
            case Planar():
                return np.array([p[0], p[1], R[0, 0], R[1, 0]])
        return np.zeros(0)


@dataclass(frozen=True)
class Part:
    """A joint, or a part of it."""

    type: Joint
    dof: str = ""
    """Its name in drives and limits."""
    limits: dict[str, Any] = field(default_factory=dict)
    normal: Floats | None = None
    """Of the plane of a `Planar` joint."""


class JointReader:
    """Reads the joints of a stage.

    Args:
        stage: The stage.
        bodies: Its bodies.
    """

    def __init__(self, stage: Stage, bodies: Bodies) -> None:
        self.stage, self.bodies = stage, bodies

    def read(self, prim: Any, name: str) -> list[UsdJoint]:
        """A joint, or those it is made of; none where it is switched off, binds nothing, or joins what is one body."""
        stage = self.stage
        if not stage.flag(prim, "physics:jointEnabled", True):
            return []
        for what in ("breakForce", "breakTorque"):
            if stage.number(prim, f"physics:{what}", np.inf) < NO_LIMIT:
                raise stage.where(prim).error(f"joints that break ({what}) are not supported", UnsupportedFeature)
        (first, first_at), (second, second_at) = (self._end(prim, k) for k in (0, 1))
        if first == second:
            return []
        places = [Placement() if body == WORLD else self._place(body) for body in (first, second)]
        drawn = (places[0] * first_at).inverse() * (places[1] * second_at)
        cut = stage.flag(prim, "physics:excludeFromArticulation", False)
        joint = UsdJoint(prim, name, Fixed(), first, second, first_at, second_at, drawn, {"cut": True} if cut else {})
        if self._is(prim, "DistanceJoint"):
            ends: dict[str, Any] = {"first_at": first_at, "second_at": second_at}
            return [replace(joint, constraint=Rod(first, second, length=self._distance(prim), name=name, **ends))]
        parts = self._parts(prim)
        if len(parts) == 1:
            (part,) = parts
            turned = Placement(rotation=aligning_rotation(part.normal)) if part.normal is not None else Placement()
            back = turned.inverse()
            frames: dict[str, Any] = {"first_at": first_at * turned, "second_at": second_at * turned}
            return [self._completed(replace(joint, type=part.type, drawn=back * drawn * turned, **frames), part)]
        if not parts:
            return []
        return self._chain(joint, parts)

    def _chain(self, joint: UsdJoint, parts: list[Part]) -> list[UsdJoint]:
        """Joints one after the other, between massless bodies."""
        if joint.options.get("cut"):
            axes = {tuple(p.type.axis.tolist()) for p in parts if isinstance(p.type, Revolute | Prismatic)}
            if len(parts) > 2 or len(axes) != 1:
                raise self.stage.where(joint.prim).error(
                    "a joint of several degrees of freedom that closes a loop is read where it is cylindrical",
                    UnsupportedFeature,
                )
            places: dict[str, Any] = {"first_at": joint.first_at, "second_at": joint.second_at}
            cylindrical = Cylindrical(joint.first, joint.second, axis=axes.pop(), name=joint.name, **places)
            return [replace(joint, constraint=cylindrical)]
        chain = []
        here, at, drawn = joint.first, joint.first_at, joint.drawn
        for k, part in enumerate(parts):
            last = k == len(parts) - 1
            own = f"{joint.name}/{part.dof}"
            moved = drawn if last else _first_motion(part.type, parts[-1].type, drawn)
            second, second_at = (joint.second, joint.second_at) if last else (own, Placement())
            one = UsdJoint(joint.prim, own, part.type, here, second, at, second_at, moved)
            chain.append(self._completed(replace(one, carries="" if last else own), part))
            here, at, drawn = own, Placement(), moved.inverse() * drawn
        return chain

    def _completed(self, joint: UsdJoint, part: Part) -> UsdJoint:
        """A joint with its limits, its drive, and what PhysX adds."""
        drive = self._drive(joint.prim, part)
        options = joint.options | part.limits | self._further(joint.prim, part.type)
        if drive is not None:
            options["actuated"] = True
            if np.isfinite(drive.force):
                options["effort"] = drive.force
        return replace(joint, options=options, drive=drive)

    def _is(self, prim: Any, schema: str) -> bool:
        return bool(prim.IsA(getattr(self.stage.pxr.UsdPhysics, schema)))

    def _place(self, name: str) -> Placement:
        place: Placement = next(body.place for body in self.bodies if body.name == name)
        return place

    def _end(self, prim: Any, k: int) -> tuple[str, Placement]:
        """The body that a joint has at one end, or the world, and the joint's frame there."""
        stage = self.stage
        targets = prim.GetRelationship(f"physics:body{k}").GetTargets()
        position = stage.vector(prim, f"physics:localPos{k}")
        rotation = stage.rotation(prim, f"physics:localRot{k}")
        if not np.isfinite(position).all():
            raise stage.where(prim).error(f"physics:localPos{k} is {position.tolist()}, needs finite numbers")
        if not targets:
            return WORLD, stage.upright * Placement(position * stage.meters, rotation)
        target = stage.usd.GetPrimAtPath(targets[0])
        if len(targets) > 1 or not target:
            paths = ", ".join(map(str, targets))
            raise stage.where(prim).error(f"physics:body{k} must be one prim that exists, not {paths}")
        body = self.bodies.of(target)
        if body is not None and body.prim == target:
            return body.name, Placement(position * body.scale * stage.meters, rotation)
        at = stage.in_world(target)
        frame = at.place * Placement(position * at.scale * stage.meters, rotation)
        return (WORLD, frame) if body is None else (body.name, body.place.inverse() * frame)

    # Types ---------------------------------------------------------------------------------------

    def _parts(self, prim: Any) -> list[Part]:
        """The joints that a joint is composed of."""
        stage = self.stage
        if self._is(prim, "FixedJoint"):
            return [Part(Fixed())]
        if self._is(prim, "SphericalJoint"):
            if any(stage.number(prim, f"physics:coneAngle{k}Limit", -1.0) >= 0 for k in (0, 1)):
                warn(stage.where(prim), "limits of the cone of a spherical joint are not modeled")
            return [Part(Spherical())]
        if self._is(prim, "RevoluteJoint") or self._is(prim, "PrismaticJoint"):
            turns = self._is(prim, "RevoluteJoint")
            axis = stage.axis(prim, "physics:axis", "X")
            unit = self._unit(turns)
            low, high = (
                stage.number(prim, f"physics:{which}Limit", none) * unit
                for which, none in (("lower", -np.inf), ("upper", np.inf))
            )
            type = Revolute(axis) if turns else Prismatic(axis)
            dof = "angular" if turns else "linear"
            for drive in self._drives(prim):
                if drive != dof:
                    raise stage.where(prim).error(f"the drive of a {type.kind_name} joint is '{dof}', not '{drive}'")
            return [Part(type, dof, _bounds(low, high))]
        return self._by_limits(prim)

    def _unit(self, turns: bool) -> float:
        """Radians of a degree, or meters of a unit of length."""
        return np.pi / 180 if turns else self.stage.meters

    def _by_limits(self, prim: Any) -> list[Part]:
        """The parts of a joint whose degrees of freedom are locked one by one; none where all are free."""
        stage = self.stage
        free: dict[str, dict[str, Any]] = {}
        for dof in [*(f"trans{a}" for a in _AXES), *(f"rot{a}" for a in _AXES)]:
            low = stage.number(prim, f"limit:{dof}:physics:low", -np.inf)
            high = stage.number(prim, f"limit:{dof}:physics:high", np.inf)
            if low > high or low == high == 0:
                continue
            unit = self._unit(dof.startswith("rot"))
            free[dof] = _bounds(low * unit, high * unit)
        if prim.HasAPI(stage.pxr.UsdPhysics.LimitAPI, "distance"):
            raise stage.where(prim).error("limits of the distance are not supported", UnsupportedFeature)
        shifts, turns = ([dof[-1] for dof in free if dof.startswith(kind)] for kind in ("trans", "rot"))
        limited = any(np.isfinite(bound) for bounds in free.values() for bound in bounds.values())
        drives = self._drives(prim)
        if not free:
            return [Part(Fixed())]
        if not limited and not drives and len(free) == 6:
            return []
        if not limited and not drives and len(shifts) == 2 and len(turns) == 1 and turns[0] not in shifts:
            return [Part(Planar("z"), normal=np.eye(3)[_AXES.index(turns[0])])]
        parts = [Part(Prismatic(a.lower()), f"trans{a}", free[f"trans{a}"]) for a in shifts]
        plain = not any(np.isfinite(bound) for a in turns for bound in free[f"rot{a}"].values())
        if len(turns) == 3 and plain and not any(dof.startswith("rot") for dof in drives):
            return [*parts, Part(Spherical(), "rot")]
        if len(turns) > 1:
            warn(
                stage.where(prim),
                f"USD does not say in which order a joint turns about {', '.join(turns)}: here it is this one, each "
                "axis carried by the one before",
            )
        return [*parts, *(Part(Revolute(a.lower()), f"rot{a}", free[f"rot{a}"]) for a in turns)]

    def _distance(self, prim: Any) -> float:
        """The length of a rod."""
        low, high = (self.stage.number(prim, f"physics:{which}Distance", -1.0) for which in ("min", "max"))
        if low != high or not 0 < low < np.inf:
            raise self.stage.where(prim).error(
                f"a distance between {low:g} and {high:g} is not supported: read is one that stays the same",
                UnsupportedFeature,
            )
        return low * self.stage.meters

    # Drives and what other vendors add -------------------------------------------------------------

    def _drives(self, prim: Any) -> list[str]:
        """Degrees of freedom with drives."""
        schemas = (schema.partition(":") for schema in self.stage.schemas(prim))
        return [dof for schema, _, dof in schemas if schema == "PhysicsDriveAPI"]

    def _drive(self, prim: Any, part: Part) -> Drive | None:
        stage, type, drives = self.stage, part.type, self._drives(prim)
        if isinstance(type, Spherical) and any(not dof.startswith("trans") for dof in drives):
            raise stage.where(prim).error("drives of a spherical joint are not supported", UnsupportedFeature)
        if part.dof not in drives:
            return None
        key = f"drive:{part.dof}:physics:"
        turns = isinstance(type, Revolute)
        mass = stage.kilograms * (
            stage.meters**2 if turns else 1.0
        )  # of a torque for an angle, of a force for a length
        unit, force = self._unit(turns), stage.kilograms * stage.meters ** (2 if turns else 1)
        per = mass / unit if turns else mass
        stiffness, damping = (stage.number(prim, key + word) * per for word in ("stiffness", "damping"))
        target, rate = (stage.number(prim, key + word) * unit for word in ("targetPosition", "targetVelocity"))
        most = stage.number(prim, key + "maxForce", np.inf)
        if not (0 <= stiffness < np.inf and 0 <= damping < np.inf and most >= 0 and np.isfinite([target, rate]).all()):
            raise stage.where(prim).error("stiffness, damping and maxForce of a drive must be >= 0, targets finite")
        most = np.inf if most >= NO_LIMIT else most * force
        accelerates = str(stage.value(prim, key + "type", "force")) == "acceleration"
        return Drive(stiffness, damping, target, rate, most, accelerates)

    def _further(self, prim: Any, type: Joint) -> dict[str, Any]:
        """Armature and limits of velocity, as PhysX has them."""
        if not isinstance(type, Revolute | Prismatic):
            return {}
        stage, turns = self.stage, isinstance(type, Revolute)
        options = {}
        armature = stage.number(prim, "physxJoint:armature")
        if armature > 0:
            options["armature"] = armature * stage.kilograms * (stage.meters**2 if turns else 1.0)
        velocity = stage.number(prim, "physxJoint:maxJointVelocity", np.inf)
        if 0 < velocity < NO_LIMIT:
            options["velocity"] = velocity * self._unit(turns)
        if stage.number(prim, "physxJoint:jointFriction") > 0:
            warn(stage.where(prim), "friction of joints by PhysX' coefficient (jointFriction) is not modeled")
        return options


def _first_motion(first: Joint, last: Joint, drawn: Placement) -> Placement:
    """The part of a motion that the first of several joints makes, where the last turns about another axis."""
    if isinstance(first, Prismatic):
        return Placement(first.axis * float(first.axis @ drawn.position))
    if isinstance(first, Revolute) and isinstance(last, Revolute):
        # the joints after it keep the last axis in the plane of that axis and of the first: its angle about the first
        i, l = first.axis, last.axis
        u = drawn.rotation @ l
        return Placement(rotation=axis_rotation(i, float(np.arctan2(i @ np.cross(l, u), l @ u - (i @ l) * (i @ u)))))
    return Placement()


def _bounds(low: float, high: float) -> dict[str, Any]:
    """Limits, of which those beyond any number mean none."""
    return {"lower": low if low > -NO_LIMIT else -np.inf, "upper": high if high < NO_LIMIT else np.inf}
