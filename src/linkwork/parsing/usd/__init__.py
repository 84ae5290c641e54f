# SPDX-License-Identifier: BSD-3-Clause
"""USD files (UsdPhysics) to mechanisms, by usd-core: ``pip install 'linkwork[usd]'``.

Read: rigid bodies with masses, joints, drives as actuators, limits, gravity of the physics scene, primitive shapes
with their physics materials, in units of the stage. What UsdPhysics leaves to engines, and what engines add:

- Joints form any graph; those with ``physics:excludeFromArticulation`` close the loops that they are in, and else see
  `Builder.joint` for which of them become constraints.
- A joint is at zero where its two frames meet. The pose ``"initial"`` is how the stage is drawn.
- What no joint holds in the world floats on a `Free` joint ``root_joint``: to the body with
  ``PhysicsArticulationRootAPI``, or else to the first from which joints lead to all others. ``base="fixed"`` fixes it
  where it is drawn.
- A drive is an actuator called as its joint: a position servo if it has stiffness, whose command is the target in rad
  or m; a velocity servo if it has damping alone; else a motor. The pose ``"drive_target"`` has the targets.
- The world is turned so that z is up.
- PhysX' armature, limits of velocity, mimic joints and bodies without gravity are read. Its tendons, gears, vehicles,
  and typed prims of other vendors that bind or drive anything are an `UnsupportedFeature`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, JointCoupling
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Fixed, Free, Joint, Planar, Spherical
from linkwork.model.placement import Placement
from linkwork.parsing.connected import connected_parts, distances, root_of
from linkwork.parsing.contact_rules import SelfCollision, Unused, with_loaded_contacts
from linkwork.parsing.located_builder import ROOT_JOINT, LocatedBuilder, unused_name
from linkwork.parsing.options import Document, LoadSettings
from linkwork.parsing.usd.bodies import Bodies, read_inertia, unique_names
from linkwork.parsing.usd.joints import Drive, JointReader, UsdJoint
from linkwork.parsing.usd.shapes import Geometry, read_shape
from linkwork.parsing.usd.stage import PrimLocation, Stage, libraries, usd_error
from linkwork.parsing.xml import warn

EARTH = 9.81
"""Of a scene that does not say, in m/s²."""

APART = 1e-3
"""Frames of a joint that are farther apart in the drawing do not meet, in m or rad."""

_BINDING = ("Joint", "Tendon", "Equality", "Gear", "Mimic", "Actuator", "Deformable", "Vehicle", "Particle")
"""Words in names of schemas, of vendors that USD does not know here, which change the dynamics."""
_READ = ("PhysxJointAPI", "PhysxMimicJointAPI", "PhysxJointStateAPI", "PhysicsJointStateAPI")


def read_usd(document: Document, settings: LoadSettings) -> Mechanism:
    """A mechanism from a USD file."""
    pxr = libraries()
    try:
        return _Reader(Stage(document), settings).read()
    except pxr.Tf.ErrorException as e:  # of a value that its attribute cannot have
        raise usd_error(e, document.name) from None


class _Reader:
    """One reading of one stage."""

    def __init__(self, stage: Stage, settings: LoadSettings) -> None:
        self.stage, self.settings = stage, settings
        self.whole = PrimLocation(stage.file, "/")
        self.bodies = Bodies(stage)
        self.unused = Unused(all_of_it=bool(settings.contacts))
        default = stage.usd.GetDefaultPrim()
        name = str(default.GetName()) if default else "stage"
        self.builder = LocatedBuilder(self.whole, name, settings.inertias, _gravity(stage))
        self.joints: dict[str, UsdJoint] = {}

    def read(self) -> Mechanism:
        """The mechanism."""
        for prim in self.stage.prims:
            self._refuse(prim)
        if not self.bodies.by_path:
            raise self.whole.error("the stage has no prim with PhysicsRigidBodyAPI, which a robot is made of")
        geometry = self._shapes()
        for body in self.bodies:
            inertia = read_inertia(self.stage, body, geometry[body.name], self.settings.inertias == "trust")
            off = 1.0 if self.stage.flag(body.prim, "physxRigidBody:disableGravity", False) else 0.0
            self.builder.link(self.stage.where(body.prim), body.name, inertia, off)
        self._warn_of_drag()
        for name, geometry_of_body in geometry.items():
            self.builder.shapes(name, geometry_of_body.shapes)
        self._read_joints()
        roots = self._add_root_joints()
        self._add_joints(roots)
        self._add_poses(roots)
        self._add_frames()
        if self.settings.mimic == "constrain":
            self._add_mimics()
        robot = self.builder.finish()
        if self.settings.contacts:
            rules = self._self_collision()
            robot = with_loaded_contacts(robot, self.settings.contacts, rules, self.unused, self.whole)
            self.unused.warn()
        return robot

    def _refuse(self, prim: Any) -> None:
        """Raise for what vendors add that would change the dynamics and is not read."""
        kind = str(prim.GetTypeName())
        known = prim.GetPrimTypeInfo().GetSchemaType()
        foreign = [kind] if kind and known == self.stage.pxr.Tf.Type.Unknown else []
        ours = set(map(str, prim.GetAppliedSchemas()))
        foreign += [name for name in self.stage.schemas(prim) if name not in ours]
        for name in foreign:
            if any(word in name for word in _BINDING) and name.partition(":")[0] not in _READ:
                raise self.stage.where(prim).error(
                    f"{name} is not understood, and it could change the dynamics; if it does not, remove it",
                    UnsupportedFeature,
                )

    def _warn_of_drag(self) -> None:
        """PhysX slows bodies down by rates of their own, also by default."""
        words = ("physxRigidBody:linearDamping", "physxRigidBody:angularDamping")
        slowed = [body for body in self.bodies if any(self.stage.number(body.prim, word) > 0 for word in words)]
        if slowed:
            names = ", ".join(body.name for body in slowed[:5]) + (", ..." if len(slowed) > 5 else "")
            warn(self.stage.where(slowed[0].prim), f"PhysX' damping of bodies is not modeled: {names}")

    # Bodies --------------------------------------------------------------------------------------

    def _shapes(self) -> dict[str, Geometry]:
        """Shapes by body, and those of the world."""
        geometry_by_body = {body.name: Geometry() for body in self.bodies} | {WORLD: Geometry()}
        Gprim = self.stage.pxr.UsdGeom.Gprim
        for prim in self.stage.prims:
            if prim.IsA(Gprim):
                body = self.bodies.of(prim)
                home, name = (Placement(), WORLD) if body is None else (body.place, body.name)
                read_shape(self.stage, prim, home, self.unused, geometry_by_body[name], moves=body is not None)
        return geometry_by_body

    def _add_frames(self) -> None:
        """Xforms on bodies that hold no geometry are frames, such as those of tools."""
        stage, geom = self.stage, self.stage.pxr.UsdGeom
        prims = []
        for prim in stage.prims:
            body = self.bodies.of(prim)
            if prim.GetTypeName() == "Xform" and body is not None and body.prim != prim:
                if not any(p.IsA(geom.Gprim) or str(p.GetPath()) in self.bodies.by_path for p in stage.below(prim)):
                    prims.append(prim)
        taken = [WORLD, *(body.name for body in self.bodies), *self.joints]
        for prim, name in zip(prims, unique_names(stage, prims, taken), strict=True):
            body = self.bodies.of(prim)
            if body is not None and (at := _place_of(stage, prim)) is not None:
                self.builder.frame(stage.where(prim), name, body.name, body.place.inverse() * at)

    # Joints --------------------------------------------------------------------------------------

    def _read_joints(self) -> None:
        prims = [prim for prim in self.stage.prims if prim.IsA(self.stage.pxr.UsdPhysics.Joint)]
        reader = JointReader(self.stage, self.bodies)
        for prim, name in zip(prims, unique_names(self.stage, prims), strict=True):
            self.joints |= {joint.name: joint for joint in reader.read(prim, name)}
        for joint in self.joints.values():
            if joint.carries:
                self.builder.link(self.stage.where(joint.prim), joint.carries, Inertia.zero())

    def _ends(self) -> list[tuple[str, str]]:
        """Bodies that joints connect; the world is no parent of what holds it by ``body1``."""
        ends = [(j.first, j.second) for j in self.joints.values() if j.constraint is None]
        return [(b, a) if b == WORLD else (a, b) for a, b in ends]

    def _add_root_joints(self) -> dict[str, tuple[str, Joint]]:
        """The joint from the world to each connected part that has none, by the body that it leads to."""
        ends = self._ends()
        marked = [body.name for body in self.bodies if body.prim.HasAPI(self.stage.pxr.UsdPhysics.ArticulationRootAPI)]
        ordered = [*marked, *(body.name for body in self.bodies if body.name not in marked)]
        roots: dict[str, tuple[str, Joint]] = {}
        for part in connected_parts([body.name for body in self.bodies], ends):
            if WORLD in part:
                if self.settings.base == "floating":
                    held = next(j for j in self.joints.values() if WORLD in (j.first, j.second))
                    raise self.stage.where(held.prim).error(
                        "the joint holds the robot in the world: load without base='floating'"
                    )
                continue
            here = [name for name in ordered if name in part]
            root = here[0] if here[0] in marked else root_of(part, here, ends)
            taken = {*(body.name for body in self.bodies), *self.joints, *(name for name, _ in roots.values())}
            roots[root] = unused_name(ROOT_JOINT, taken), Fixed() if self.settings.base == "fixed" else Free()
        for root, (name, type) in roots.items():
            body = next(body for body in self.bodies if body.name == root)
            at = body.place if isinstance(type, Fixed) else Placement()
            self.builder.joint(self.stage.where(body.prim), name, type, WORLD, root, at)
        return roots

    def _add_joints(self, roots: dict[str, tuple[str, Joint]]) -> None:
        """Add joints; those that cannot be passed backwards lead away from the root."""
        far = distances(WORLD, [*self._ends(), *((WORLD, root) for root in roots)])
        for name, joint in self.joints.items():
            where = self.stage.where(joint.prim)
            if joint.constraint is not None:
                self.builder.constrain(where, joint.constraint)
                continue
            one_way = isinstance(joint.type, Spherical | Planar) and far[joint.second] < far[joint.first]
            if joint.second == WORLD or one_way:
                joint = self.joints[name] = joint.turned()
            if joint.options.get("cut") and joint.drive is not None:
                raise where.error(
                    "a joint with a drive is excluded from the articulation, so that it is a constraint, which nothing "
                    "drives: exclude another joint of the loop",
                    UnsupportedFeature,
                )
            self.builder.joint(
                where, name, joint.type, joint.first, joint.second, joint.first_at, joint.second_at, **joint.options
            )
            if joint.drive is not None:
                self.builder.actuator(where, name, name, 1.0, **_law(joint.drive))

    def _add_poses(self, roots: dict[str, tuple[str, Joint]]) -> None:
        """Adds the pose as drawn, and the targets of drives."""
        pose: dict[str, Floats] = {}
        for body in self.bodies:
            name, type = roots.get(body.name, ("", Fixed()))
            if isinstance(type, Free):
                pose[name] = np.concatenate([body.place.position, body.place.quaternion])
        moving = {name: joint for name, joint in self.joints.items() if joint.type.nq}
        pose |= {name: joint.coordinates() for name, joint in moving.items()}
        self.builder.pose("initial", pose)
        apart = [name for name, joint in self.joints.items() if joint.gap() > APART]
        if apart:
            more = f" and {len(apart) - 5} more" if len(apart) > 5 else ""
            warn(
                self.stage.where(self.joints[apart[0]].prim),
                f"as the stage is drawn, the frames of joints do not meet: {', '.join(apart[:5])}{more}. The pose "
                "'initial' is what joints allow; robot.assemble() closes loops",
            )
        targets = {name: np.array([j.drive.target]) for name, j in moving.items() if j.drive and j.drive.stiffness > 0}
        if targets:
            self.builder.pose("drive_target", pose | targets)

    def _add_mimics(self) -> None:
        """PhysX: ``q + gearing (q of the reference joint) + offset = 0``."""
        stage = self.stage
        for name, joint in self.joints.items():
            for schema in stage.schemas(joint.prim):
                kind, _, dof = schema.partition(":")
                if kind != "PhysxMimicJointAPI":
                    continue
                key = f"physxMimicJoint:{dof}:"
                targets = joint.prim.GetRelationship(key + "referenceJoint").GetTargets()
                leader = next((n for n, j in self.joints.items() if targets and j.prim.GetPath() == targets[0]), None)
                if leader is None or leader == name or joint.type.nv != 1 or self.joints[leader].type.nv != 1:
                    raise stage.where(joint.prim).error(
                        f"{schema} needs a reference joint of one degree of freedom other than itself"
                    )
                unit = np.pi / 180 if dof.startswith("rot") else stage.meters
                gearing, offset = (
                    stage.number(joint.prim, key + "gearing", 1.0),
                    stage.number(joint.prim, key + "offset"),
                )
                mimic = JointCoupling({name: 1.0, leader: gearing}, -offset * unit, name=f"{name}_mimic")
                self.builder.constrain(stage.where(joint.prim), mimic)

    def _self_collision(self) -> SelfCollision:
        """Bodies of articulations that touch themselves, by PhysX' flag, and pairs that are filtered."""
        links: set[str] = set()
        excluded: set[frozenset[str]] = set()
        physics = self.stage.pxr.UsdPhysics
        for prim in self.stage.prims:
            if prim.HasAPI(physics.ArticulationRootAPI):
                if self.stage.flag(prim, "physxArticulation:enabledSelfCollisions", False):
                    links |= set(self.bodies.around(prim))
            if prim.HasAPI(physics.FilteredPairsAPI):
                targets = prim.GetRelationship("physics:filteredPairs").GetTargets()
                others = [self.stage.usd.GetPrimAtPath(path) for path in targets]
                for other in filter(None, others):
                    here, there = self.bodies.around(prim), self.bodies.around(other)
                    excluded |= {frozenset((a, b)) for a in here for b in there if a != b}
            if prim.IsA(physics.CollisionGroup):
                self.unused.add(self.stage.where(prim), "a PhysicsCollisionGroup", always=True)
        return SelfCollision(frozenset(links), frozenset(excluded))


def _place_of(stage: Stage, prim: Any) -> Placement | None:
    """Where a frame is in our world; None where it is mirrored or sheared, which changes no dynamics."""
    try:
        return stage.in_world(prim).place
    except ModelError:
        return None


def _law(drive: Drive) -> dict[str, Any]:
    """Gain, bias and limits of the actuator that a drive is; see `Actuator`."""
    if drive.accelerates:
        return {"refused": "a drive of accelerations, whose force depends on the inertia that it moves"}
    law: dict[str, Any] = {"force_limits": (-drive.force, drive.force)}
    if drive.stiffness > 0:
        return law | {
            "gain": (drive.stiffness, 0.0, 0.0),
            "bias": (drive.damping * drive.rate, -drive.stiffness, -drive.damping),
        }
    if drive.damping > 0:
        return law | {"gain": (drive.damping, 0.0, 0.0), "bias": (0.0, 0.0, -drive.damping)}
    return law


def _gravity(stage: Stage) -> Floats:
    """Of the physics scene; by USD's defaults that of the earth, down."""
    scenes = [prim for prim in stage.prims if prim.IsA(stage.pxr.UsdPhysics.Scene)]
    if len(scenes) > 1:
        warn(stage.where(scenes[1]), "the stage has several physics scenes; the gravity of the first is taken")
    down = stage.upright.rotation.T @ [0.0, 0.0, -1.0]
    if not scenes:
        return stage.upright.rotation @ down * EARTH
    direction = stage.vector(scenes[0], "physics:gravityDirection")
    magnitude = stage.number(scenes[0], "physics:gravityMagnitude", -np.inf)
    length = float(np.linalg.norm(direction))
    unit = down if length == 0 else direction / length
    strength = EARTH if magnitude == -np.inf else magnitude * stage.meters
    return stage.upright.rotation @ unit * strength
