# SPDX-License-Identifier: BSD-3-Clause
"""`Model`: bodies, joints, frames and constraints of a mechanism as immutable data, with lookup by name.

Users hold a `mechanism.Mechanism`, which adds functions that need kernels: assembly, simulation, drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError, ModelError
from linkwork.inputs import each_name, plural
from linkwork.model.arrays import Floats, finite, finite_array
from linkwork.model.computed import Computed
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import ContactPair
from linkwork.model.forces import ForceElement
from linkwork.model.inertia import Inertia
from linkwork.model.medium import Medium
from linkwork.model.named import Named
from linkwork.model.notebook import mechanism_tables
from linkwork.model.parts import Actuator, Frame, TreeJoint
from linkwork.model.placement import PlacementLike, as_placement
from linkwork.model.sensors import Sensor, check_sensors
from linkwork.model.shapes import Mesh, Shape
from linkwork.model.space import ConfigurationSpace, single_index
from linkwork.model.tendons import Tendon
from linkwork.model.validation import (
    check_actuator,
    check_are_constraints,
    check_constraint,
    check_contacts,
    check_forces,
    check_tendons,
    checked_mocap,
)


@dataclass(frozen=True, eq=False)
class Model:
    """Bodies connected by joints into a tree, and constraints that close its loops.

    Joint ``k`` leads to body ``k``; parents come first. A body moves with the frame of its joint, in which its inertia
    is given.
    """

    name: str
    """Name in messages and pictures."""
    joints: tuple[TreeJoint, ...]
    """Joints of the tree, parents first."""
    inertias: Mapping[str, Inertia]
    """Inertias of the moving bodies by name, in the frames of their joints."""
    frames: Mapping[str, Frame]
    """All frames by name: moving bodies, bodies merged into them, and frames that were added."""
    gravity: Floats
    """Acceleration of free fall, ``(3,)``, in m/s², in the world's axes."""
    shapes: tuple[Shape, ...] = ()
    """Visual and collision shapes of bodies."""
    constraints: tuple[Constraint, ...] = ()
    """Constraints that close loops and couple joints, in the order of rows."""
    poses: Mapping[str, Floats] = field(default_factory=dict)
    """Named configurations: keyframes of a file, the assembled pose of a mechanism of the zoo."""
    actuators: tuple[Actuator, ...] = ()
    """Motors and servos, in the order of commands."""
    gravity_compensation: Mapping[str, Inertia] = field(default_factory=dict)
    """Masses whose weight is compensated, by body and in its frame (MJCF: ``gravcomp``). Simulations apply the
    compensation as a passive force, with springs and dampers of joints."""
    elimination_order: tuple[str, ...] = ()
    """Bodies in the order in which `lcaba` is to eliminate them, those first that are leaves by then; by default in an
    order of minimum degree. `Mechanism.optimized` finds better ones."""
    contacts: Sequence[ContactPair] = ()
    """Pairs of shapes that may touch, in the order of contact points."""
    base_inertia: Inertia = field(default_factory=Inertia.zero)
    """Inertia that is fixed to the world, in its axes. It counts where `attach` puts the mechanism on a moving body."""
    tendons: tuple[Tendon, ...] = ()
    """Fixed and spatial tendons, in the order of their lengths."""
    activations: Mapping[str, Floats] = field(default_factory=dict)
    """Activations of actuators by the name of a pose (keyframes of MJCF: ``act``), ``(na,)`` each."""
    commands: Mapping[str, Floats] = field(default_factory=dict)
    """Commands of actuators by the name of a pose (keyframes of MJCF: ``ctrl``), ``(actuators,)`` each."""
    mocap: Mapping[str, Floats] = field(default_factory=dict)
    """Placements of mocap bodies by the name of a pose (keyframes: ``mpos``, ``mquat``), ``(mocap, 7)`` each."""
    sensors: tuple[Sensor, ...] = ()
    """Sensors, in the order of their values; see `Sensors`."""
    medium: Medium = field(default_factory=Medium)
    """Air or water, which pushes at shapes with the role ``"fluid"``."""
    time: float = 0.0
    """Seconds: when constraints and forces that depend on time are evaluated. Simulations have a clock of their own."""
    forces: tuple[ForceElement, ...] = ()
    """Force elements: springs, dampers and other laws."""

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """The moving bodies, in the order of their joints."""
        return tuple(j.child for j in self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints, in the order of q and v."""
        return tuple(j.name for j in self.joints)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames, bodies among them."""
        return tuple(self.frames)

    @property
    def meshes(self) -> dict[str, tuple[str, ...]]:
        """Names of mesh files by body, as written in the model file."""
        meshes: dict[str, dict[str, None]] = {}
        for shape in self.shapes:
            if isinstance(shape.solid, Mesh):
                meshes.setdefault(shape.body, {})[shape.solid.name] = None
        return {body: tuple(names) for body, names in meshes.items()}

    nq: int = field(init=False)
    """Numbers of a configuration q."""
    nv: int = field(init=False)
    """Degrees of freedom of the tree: numbers of v, tau and accelerations."""
    nc: int = field(init=False)
    """Rows of all constraints."""
    na: int = field(init=False)
    """Activations of actuators: those of the actuators that have one, in their order."""
    space: ConfigurationSpace = field(init=False, repr=False)
    """Where in q and v joints have their coordinates, and the operations on them."""
    _rows: Mapping[str, slice] = field(init=False, repr=False)
    computed: Computed = field(init=False, repr=False)
    """Results that functions have computed once for this mechanism; deleted with it."""

    def __post_init__(self) -> None:
        space = ConfigurationSpace(self.name, self.joints, [constraint.name for constraint in self.constraints])
        poses = {name: self._stored(q, space.nq, name) for name, q in self.poses.items()}
        self._set(
            nq=space.nq,
            nv=space.nv,
            space=space,
            computed=Computed(),
            inertias=MappingProxyType(Named(self.name, "body", self.inertias)),
            frames=MappingProxyType(Named(self.name, "frame", self.frames)),
            poses=MappingProxyType(Named(self.name, "pose", poses)),
            gravity_compensation=MappingProxyType(dict(self.gravity_compensation)),
        )
        check_tendons(self, self.tendons)
        check_forces(self, self.forces)
        for actuator in self.actuators:
            check_actuator(self, actuator)
        na = sum(len(a.states) for a in self.actuators)
        act = {name: finite_array(x, (na,), f"activations of pose '{name}'") for name, x in self.activations.items()}
        self._set(na=na, activations=MappingProxyType(Named(self.name, "pose with activations", act)))
        count = (len(self.actuators),)
        ctrl = {name: finite_array(x, count, f"commands of pose '{name}'") for name, x in self.commands.items()}
        self._set(commands=MappingProxyType(Named(self.name, "pose with commands", ctrl)))
        self._set(elimination_order=tuple(self.elimination_order), mocap=checked_mocap(self.mocap, self.frames))
        for body in self.elimination_order:
            self.inertias[body]  # raises where there is no such body
        check_contacts(self, self.contacts)
        rows: dict[str, slice] = Named(self.name, "constraint", {})
        nc = 0
        for constraint in self.constraints:
            if constraint.name in rows:
                raise ModelError(
                    f"two constraints are called '{constraint.name}'; give one another name", subject=constraint.name
                )
            check_constraint(self, constraint)
            rows[constraint.name] = slice(nc, nc + constraint.rows)
            nc += constraint.rows
        self._set(_rows=rows, nc=nc)
        check_sensors(self, self.sensors)

    def _set(self, **values: object) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def _stored(self, q: npt.ArrayLike, nq: int, name: str) -> Floats:
        return finite_array(q, (nq,), f"pose '{name}'")

    def joint(self, name: str) -> TreeJoint:
        """The joint of that name.

        Args:
            name: Name of the joint.
        """
        return self.joints[self.space.indices[name]]

    def q_slice(self, joint: str) -> slice:
        """Coordinates of a joint in q.

        Args:
            joint: Name of the joint.
        """
        return self.space.q_slices[self.space.indices[joint]]

    def v_slice(self, joint: str) -> slice:
        """Degrees of freedom of a joint in v, tau and accelerations.

        Args:
            joint: Name of the joint.
        """
        return self.space.v_slices[self.space.indices[joint]]

    def q_index(self, joint: str) -> int:
        """Index in q of a joint with one coordinate.

        Args:
            joint: Name of the joint.
        """
        return single_index(self.q_slice(joint), joint, "q_slice")

    def v_index(self, joint: str) -> int:
        """Index in v of a joint with one degree of freedom.

        Args:
            joint: Name of the joint.
        """
        return single_index(self.v_slice(joint), joint, "v_slice")

    def constraint(self, name: str) -> Constraint:
        """The constraint of that name.

        Args:
            name: Name of the constraint.
        """
        self.row_slice(name)
        return next(c for c in self.constraints if c.name == name)

    def row_slice(self, constraint: str) -> slice:
        """Rows of a constraint among those of all.

        Args:
            constraint: Name of the constraint.
        """
        return self._rows[constraint]

    def sensor(self, name: str) -> Sensor:
        """The sensor of that name.

        Args:
            name: Name of the sensor.
        """
        return Named(self.name, "sensor", {sensor.name: sensor for sensor in self.sensors})[name]

    def tendon(self, name: str) -> Tendon:
        """The tendon of that name.

        Args:
            name: Name of the tendon.
        """
        return Named(self.name, "tendon", {tendon.name: tendon for tendon in self.tendons})[name]

    def frame(self, name: str) -> Frame:
        """The frame of that name.

        Args:
            name: Name of a frame or body.
        """
        return self.frames[name]

    def _gather(self, pick: str, of_limits: bool = False) -> Floats:
        parts = [getattr(j.limits if of_limits else j, pick) for j in self.joints]
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def lower(self) -> Floats:
        """Lower limits of q, ``(nq,)``; -inf where there is none."""
        return self._gather("lower", of_limits=True)

    @property
    def upper(self) -> Floats:
        """Upper limits of q, ``(nq,)``; inf where there is none."""
        return self._gather("upper", of_limits=True)

    @property
    def velocity_limit(self) -> Floats:
        """Limits of |v|, ``(nv,)``."""
        return self._gather("velocity", of_limits=True)

    @property
    def effort_limit(self) -> Floats:
        """Limits of |tau|, ``(nv,)``: those of joints, and of their actuators in any state. `torque_limits` has those
        of actuators in one state."""
        effort = self._gather("effort", of_limits=True)
        if any(a.tendon and self.tendon(a.tendon).is_spatial for a in self.actuators):
            return effort  # moment arms of spatial tendons change
        most, driven = np.zeros(self.nv), np.zeros(self.nv, dtype=bool)
        for actuator in self.actuators:
            arms = self.tendon(actuator.tendon).joints if actuator.tendon else {}
            pulled = ((joint, (actuator.gear[0] * arm,)) for joint, arm in arms.items())
            for joint, gears in (*actuator.gears, *pulled):
                for k, gear in enumerate(gears, self.v_slice(joint).start):
                    most[k] += abs(gear) * actuator.largest_force if gear else 0.0
                    driven[k] |= gear != 0
        return np.where(driven, np.minimum(effort, most), effort)

    @property
    def armature(self) -> Floats:
        """Reflected inertia of rotors, ``(nv,)``: added to the diagonal of the mass matrix."""
        return self._gather("armature")

    @property
    def damping(self) -> Floats:
        """Viscous damping of the joints, ``(nv,)``: a passive force of simulations and inverse dynamics
        (`passive_forces`); forward dynamics takes all torques from ``tau``."""
        return self._gather("damping")

    @property
    def friction(self) -> Floats:
        """Dry friction of the joints, ``(nv,)``: it acts in steps with contacts."""
        return self._gather("friction")

    @property
    def stiffness(self) -> Floats:
        """Stiffness of the joints' springs, ``(nv,)``: a passive force, as `damping` is."""
        return self._gather("stiffness")

    @cached_property
    def mass(self) -> float:
        """Total mass of the moving bodies."""
        return float(sum(self.inertias[name].mass for name in self.body_names))

    def neutral(self) -> Floats:
        """The neutral configuration of all joints, ``(nq,)``."""
        return self.space.neutral()

    def random(self, seed: int | np.random.Generator, size: int | Sequence[int] = ()) -> Floats:
        """A random configuration within the limits, ``(nq,)``: angles without limits in ±π, positions in ±1 m.

        Args:
            seed: Of the random numbers, or their generator.
            size: Shape of a batch: ``robot.random(0, 4096)`` is ``(4096, nq)``.
        """
        return self.space.random(seed, size)

    def integrate(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
        """Move ``q`` along the velocity ``v`` for one second, ``(..., nq)``: ``q + v`` on the joints' manifolds.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
        """
        return self.space.integrate(q, v)

    def difference(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """The velocity that leads from ``q`` to ``p`` in one second, ``(..., nv)``.

        Args:
            q: Configuration to start from, ``(..., nq)``.
            p: Configuration to reach, ``(..., nq)``.
        """
        return self.space.difference(q, p)

    def interpolate(self, q: npt.ArrayLike, p: npt.ArrayLike, part: npt.ArrayLike) -> Floats:
        """Configurations on the way from ``q`` (``part`` = 0) to ``p`` (1) at constant velocity, ``(..., nq)``.

        Args:
            q: Configuration to start from, ``(..., nq)``.
            p: Configuration to reach, ``(..., nq)``.
            part: Fraction of the way, any shape that broadcasts with the leading axes; beyond 1, farther in the same
                direction.
        """
        far = finite(part, "part", InputError)
        return self.integrate(q, far[..., None] * self.difference(q, p))

    def distance(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """The distance of ``p`` from ``q``, ``(...)``: the norm of their `difference`, angles and meters alike.

        Args:
            q: Configuration, ``(..., nq)``.
            p: Configuration, ``(..., nq)``.
        """
        distances: Floats = np.linalg.norm(self.difference(q, p), axis=-1)
        return distances

    def normalize(self, q: npt.ArrayLike) -> Floats:
        """``q`` with quaternions (and the cos, sin of planar joints) of unit length.

        Args:
            q: Configuration, ``(..., nq)``.
        """
        return self.space.normalize(q)

    def unit_slices(self) -> tuple[slice, ...]:
        """Coordinates in q that have unit length together: quaternions, and cos and sin of planar joints."""
        return self.space.unit_slices

    def constrained(self, *constraints: Constraint) -> Self:
        """A new mechanism with these constraints added; this one is unchanged.

        Args:
            constraints: Those to add.
        """
        check_are_constraints(self, constraints)
        return replace(self, constraints=(*self.constraints, *constraints))

    def unconstrained(self, *names: str) -> Self:
        """A new mechanism without these constraints; without any, if none is named.

        Args:
            names: Names of constraints to leave out; with none, all are.
        """
        for name in each_name(names, "unconstrained"):
            self.row_slice(name)
        kept = tuple(c for c in self.constraints if names and c.name not in names)
        return replace(self, constraints=kept)

    @converted
    def switched(self, enabled: Mapping[str, bool]) -> Self:
        """A copy with constraints enabled or disabled; computed values are shared.

        Args:
            enabled: Whether constraints are enabled, by name; others keep their state.
        """
        for name in enabled:
            self.row_slice(name)
        turned = {c.name for c in self.constraints if enabled.get(c.name, c.enabled) != c.enabled}
        kept = (replace(c, enabled=not c.enabled) if c.name in turned else c for c in self.constraints)
        new = replace(self, constraints=tuple(kept))
        new._set(computed=self.computed)
        return new

    @converted
    def with_frame(self, name: str, body: str, placement: PlacementLike = (0.0, 0.0, 0.0)) -> Self:
        """A new mechanism with one more frame; this one is unchanged.

        Args:
            name: Name of the frame.
            body: The body that it is on, ``"world"``, or another frame.
            placement: Where it is in the frame of that body: a position, or a `Placement`.
        """
        on = self.frame(body)
        if not name or name in self.frames:
            raise InputError(f"robot '{self.name}' has a frame '{name}' already" if name else "a frame needs a name")
        return replace(self, frames={**self.frames, name: Frame(name, on.body, on.placement * as_placement(placement))})

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, one.name) for one in fields(self) if one.init)
        return type(self), tuple(dict(x) if isinstance(x, MappingProxyType) else x for x in values)

    def __repr__(self) -> str:
        sizes = f"nq={self.nq}, nv={self.nv}{f', nc={self.nc}' if self.nc else ''}, {self.mass:.4g} kg"
        return f"<{type(self).__name__} '{self.name}': {plural(len(self.joints), 'joint')}, {sizes}>"

    _repr_html_ = mechanism_tables
