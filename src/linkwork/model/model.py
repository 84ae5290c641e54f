"""A mechanism: bodies, joints, frames and constraints, immutable, with names to look things up by.

Made by `builder`. What needs kernels (`Mechanism.assemble` and its kin) is in `closure`, imported when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, ModelError
from linkwork.inputs import real_array, suggest
from linkwork.model import lie
from linkwork.model.arrays import Floats, VectorLike
from linkwork.model.computed import Computed
from linkwork.model.constraints import CenterOfMass, Constraint, Coupling, JointLock
from linkwork.model.inertia import Inertia
from linkwork.model.named import Named
from linkwork.model.notebook import mechanism_tables
from linkwork.model.parts import Actuator, Frame, Limits, TreeJoint
from linkwork.model.placement import PlacementLike, as_placement
from linkwork.model.shapes import Mesh, Shape


@dataclass(frozen=True, eq=False)
class Model:
    """Bodies connected by joints into a tree, and constraints that close its loops, ready for computation.

    Made by `Builder`, `load`, `compose` or `attach`. Joint ``k`` leads to body ``k``; bodies are ordered so that
    parents come first. A body moves with the frame of its joint, in which its inertia is given.
    """

    name: str
    """What messages and pictures call it."""
    joints: tuple[TreeJoint, ...]
    """Joints of the tree, parents first."""
    inertias: Mapping[str, Inertia]
    """Inertias of the moving bodies by name, in the frames of their joints."""
    frames: Mapping[str, Frame]
    """Every named place: bodies, merged bodies, and frames added by hand."""
    gravity: Floats
    """Acceleration of free fall, ``(3,)``, in m/s², in the world's axes."""
    shapes: tuple[Shape, ...] = ()
    """What bodies look like and collide with, for viewers."""
    constraints: tuple[Constraint, ...] = ()
    """What closes loops and binds joints, in the order of rows."""
    poses: Mapping[str, Floats] = field(default_factory=dict)
    """Configurations that have a name: keyframes of a file, the assembled pose of a mechanism of the zoo."""
    actuators: tuple[Actuator, ...] = ()
    """Motors, in the order of commands."""
    gravity_compensation: Mapping[str, Inertia] = field(default_factory=dict)
    """Mass of the bodies whose weight, or a part of it, something holds up that is not modeled, in their frames (MJCF:
    ``gravcomp``). Simulations apply it with the springs and dampers of joints."""

    # Sizes and names ---------------------------------------------------------------------------

    @property
    def body_names(self) -> tuple[str, ...]:
        """The moving bodies, in the order of their joints."""
        return tuple(j.child for j in self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints, in the order of q and v."""
        return tuple(j.name for j in self.joints)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Every name that frame functions take."""
        return tuple(self.frames)

    @property
    def meshes(self) -> dict[str, tuple[str, ...]]:
        """Mesh file names of each body that has any, as the model file spells them."""
        found: dict[str, dict[str, None]] = {}
        for shape in self.shapes:
            if isinstance(shape.solid, Mesh):
                found.setdefault(shape.body, {})[shape.solid.name] = None
        return {body: tuple(names) for body, names in found.items()}

    nq: int = field(init=False)
    nv: int = field(init=False)
    nc: int = field(init=False)
    """Rows of all constraints."""
    _rows: Mapping[str, slice] = field(init=False)
    _at: Mapping[str, int] = field(init=False)
    _q: tuple[slice, ...] = field(init=False)
    _v: tuple[slice, ...] = field(init=False)
    _groups: tuple[tuple[lie.Group, slice, slice], ...] = field(init=False)
    _units: tuple[slice, ...] = field(init=False)
    computed: Computed = field(init=False, repr=False)
    """What functions have computed once for this mechanism; goes with it."""

    def __post_init__(self) -> None:
        qs, vs, nq, nv = [], [], 0, 0
        for joint in self.joints:
            qs.append(slice(nq, nq + joint.type.nq))
            vs.append(slice(nv, nv + joint.type.nv))
            nq, nv = qs[-1].stop, vs[-1].stop
        for key, value in {
            "nq": nq,
            "nv": nv,
            "_at": Named(self.name, "joint", {j.name: k for k, j in enumerate(self.joints)}),
            "_q": tuple(qs),
            "_v": tuple(vs),
            "computed": Computed(),
            "_groups": _runs(self.joints, qs, vs),
            "_units": tuple(
                slice(at.start + j.type.unit[0], at.start + sum(j.type.unit))
                for j, at in zip(self.joints, qs, strict=True)
                if j.type.unit is not None
            ),
            "inertias": MappingProxyType(Named(self.name, "body", self.inertias)),
            "frames": MappingProxyType(Named(self.name, "frame", self.frames)),
            "poses": MappingProxyType(
                Named(self.name, "pose", {name: self._stored(q, nq, name) for name, q in self.poses.items()})
            ),
            "gravity_compensation": MappingProxyType(dict(self.gravity_compensation)),
        }.items():
            object.__setattr__(self, key, value)
        for actuator in self.actuators:
            self._check_actuator(actuator)
        rows: dict[str, slice] = Named(self.name, "constraint", {})
        nc = 0
        for constraint in self.constraints:
            if constraint.name in rows:
                raise ModelError(
                    f"two constraints are called '{constraint.name}'; give one another name", subject=constraint.name
                )
            self._check_constraint(constraint)
            rows[constraint.name] = slice(nc, nc + constraint.rows)
            nc += constraint.rows
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "nc", nc)

    def _stored(self, q: npt.ArrayLike, nq: int, name: str) -> Floats:
        array = np.array(q, dtype=np.float64)
        if array.shape != (nq,) or not np.isfinite(array).all():
            raise ModelError(f"pose '{name}' is not {nq} finite numbers")
        array.setflags(write=False)
        return array

    def _check_actuator(self, actuator: Actuator) -> None:
        """It drives joints that move, with a gear for each degree of freedom; a servo has coordinates to follow."""
        for joint, gear in actuator.gears:
            if joint not in self._at:
                raise ModelError(
                    f"actuator '{actuator.name}' drives joint '{joint}', which does not move{suggest(joint, self._at)}",
                    subject=actuator.name,
                )
            type = self.joint(joint).type
            if len(gear) != type.nv:
                raise ModelError(
                    f"actuator '{actuator.name}' has {len(gear)} gears, joint '{joint}' {type.nv} degrees of freedom",
                    subject=actuator.name,
                )
            if type.nq != type.nv and (actuator.gain[1] != 0 or actuator.bias[1] != 0):
                raise ModelError(
                    f"actuator '{actuator.name}' is a servo of the position of joint '{joint}' ({type.kind_name}), "
                    "whose coordinates are no plain numbers",
                    subject=actuator.name,
                )

    def _check_constraint(self, constraint: Constraint) -> None:
        """Everything it binds is there and can be bound."""

        def fail(message: str) -> ModelError:
            return ModelError(f"{constraint}: {message}", subject=constraint.name)

        for place in constraint.places:
            if place not in self.frames:
                raise fail(f"robot '{self.name}' has no body or frame '{place}'{suggest(place, self.frames)}")
        for name in constraint.joints:
            if name not in self._at:
                raise fail(f"robot '{self.name}' has no joint '{name}'{suggest(name, self._at)}")
        if isinstance(constraint, Coupling):
            for term in (term for terms, _ in constraint.equations() for term in terms):
                joint = self.joint(term.joint).type
                if joint.group is not lie.VECTOR:
                    raise fail(
                        f"joint '{term.joint}' ({joint.kind_name}) has coordinates that are no plain numbers; "
                        "bind its bodies instead, e.g. with a Weld"
                    )
                bound = constraint.rows if isinstance(constraint, JointLock) else 1
                if joint.nv != bound:
                    raise fail(f"joint '{term.joint}' has {joint.nv} coordinates, not {bound}")
        elif isinstance(constraint, CenterOfMass):
            for place in constraint.places:
                if place not in self.inertias:
                    raise fail(f"'{place}' is a frame, not a body that moves")
            if not sum(self.inertias[name].mass for name in constraint.bodies or self.body_names) > 0:
                raise fail("the bodies have no mass")
        elif len(constraint.places) > 1 and len({self.frames[place].body for place in constraint.places}) == 1:
            body = self.frames[constraint.places[0]].body
            raise fail(f"'{constraint.places[0]}' and '{constraint.places[1]}' are both part of '{body}'")

    def joint(self, name: str) -> TreeJoint:
        """The joint of that name.

        Args:
            name: Name of the joint.
        """
        return self.joints[self._joint_index(name)]

    def q_slice(self, joint: str) -> slice:
        """Where in q the numbers of a joint stand.

        Args:
            joint: Name of the joint.
        """
        return self._q[self._joint_index(joint)]

    def v_slice(self, joint: str) -> slice:
        """Where in v, tau and accelerations the numbers of a joint stand.

        Args:
            joint: Name of the joint.
        """
        return self._v[self._joint_index(joint)]

    def q_index(self, joint: str) -> int:
        """The place in q of a joint with one number.

        Args:
            joint: Name of the joint.
        """
        return _single(self.q_slice(joint), joint, "q_slice")

    def v_index(self, joint: str) -> int:
        """The place in v of a joint with one degree of freedom.

        Args:
            joint: Name of the joint.
        """
        return _single(self.v_slice(joint), joint, "v_slice")

    def constraint(self, name: str) -> Constraint:
        """The constraint of that name.

        Args:
            name: Name of the constraint.
        """
        self.row_slice(name)
        return next(c for c in self.constraints if c.name == name)

    def row_slice(self, constraint: str) -> slice:
        """Where among the rows of all constraints those of one stand.

        Args:
            constraint: Name of the constraint.
        """
        return self._rows[constraint]

    def frame(self, name: str) -> Frame:
        """The frame of that name.

        Args:
            name: Name of a frame or body.
        """
        return self.frames[name]

    def _joint_index(self, name: str) -> int:
        return self._at[name]

    # Numbers of the joints, in one array each -----------------------------------------------------

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
        """Limits of |tau|, ``(nv,)``."""
        return self._gather("effort", of_limits=True)

    @property
    def armature(self) -> Floats:
        """Inertia of rotors seen at the joints, ``(nv,)``: added to the diagonal of the mass matrix."""
        return self._gather("armature")

    @property
    def damping(self) -> Floats:
        """Viscous damping of the joints, ``(nv,)``: part of motion in time and of inverse dynamics (`passive_forces`);
        forward dynamics takes all torques from ``tau``."""
        return self._gather("damping")

    @property
    def friction(self) -> Floats:
        """Dry friction of the joints, ``(nv,)``. Kept from files; not applied."""
        return self._gather("friction")

    @property
    def stiffness(self) -> Floats:
        """Stiffness of the joints' springs, ``(nv,)``; where it counts, see `damping`."""
        return self._gather("stiffness")

    @property
    def mass(self) -> float:
        """Total mass of the moving bodies."""
        return float(sum(self.inertias[name].mass for name in self.body_names))

    # Configurations ------------------------------------------------------------------------------

    def neutral(self) -> Floats:
        """The configuration of all joints at rest, ``(nq,)``."""
        return np.array([x for j in self.joints for x in j.type.neutral], dtype=np.float64)

    def random(self, seed: int | np.random.Generator, size: int | Sequence[int] = ()) -> Floats:
        """A random configuration within the limits, ``(nq,)``: angles without limits in ±π, positions in ±1 m.

        Args:
            seed: Of the random numbers, or what makes them.
            size: Shape of a batch: ``robot.random(0, 4096)`` is ``(4096, nq)``.
        """
        rng = np.random.default_rng(seed)
        lead = (size,) if isinstance(size, int | np.integer) else tuple(size)
        parts = [j.type.group.random(rng, j.limits.lower, j.limits.upper, j.type.width, lead) for j in self.joints]
        return np.concatenate(parts, axis=-1) if parts else np.zeros((*lead, 0))

    def integrate(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
        """Move ``q`` along the velocity ``v`` for one second, ``(..., nq)``: ``q + v`` on the joints' manifolds.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
        """
        return self._combine("integrate", self._configuration(q, "q"), self._checked(v, self.nv, "v"), self.nq)

    def difference(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """The velocity that leads from ``q`` to ``p`` in one second, ``(..., nv)``.

        Args:
            q: Configuration to start from, ``(..., nq)``.
            p: Configuration to reach, ``(..., nq)``.
        """
        return self._combine("difference", self._configuration(q, "q"), self._configuration(p, "p"), self.nv)

    def normalize(self, q: npt.ArrayLike) -> Floats:
        """``q`` with quaternions (and the cos, sin of planar joints) of unit length.

        Args:
            q: Configuration, ``(..., nq)``.
        """
        out = self._configuration(q, "q").copy()
        for at in self.unit_slices():
            part = out[..., at] / np.abs(out[..., at]).max(axis=-1, keepdims=True)  # squares must not overflow
            out[..., at] = part / np.linalg.norm(part, axis=-1, keepdims=True)
        return out

    def unit_slices(self) -> tuple[slice, ...]:
        """Where in q numbers of unit length stand: quaternions, and cos and sin of planar joints."""
        return self._units

    def _combine(self, operation: str, q: Floats, other: Floats, width: int) -> Floats:
        batch = q.shape[:-1]
        if batch != other.shape[:-1]:
            try:
                batch = np.broadcast_shapes(batch, other.shape[:-1])
            except ValueError:
                raise InputError(f"leading axes {batch} and {other.shape[:-1]} do not broadcast") from None
            q = np.broadcast_to(q, (*batch, q.shape[-1]))
            other = np.broadcast_to(other, (*batch, other.shape[-1]))
        out = np.empty((*batch, width))
        integrating = operation == "integrate"
        for group, in_q, in_v in self._groups:
            second, result = (in_v, in_q) if integrating else (in_q, in_v)
            out[..., result] = getattr(group, operation)(q[..., in_q], other[..., second])
        return out

    def _configuration(self, q: npt.ArrayLike, name: str) -> Floats:
        """``q`` as an array, its numbers of unit length having a length."""
        array = self._checked(q, self.nq, name)
        for at in self.unit_slices():
            if (np.abs(array[..., at]).max(axis=-1, initial=0.0) < 1e-6).any():
                raise InputError(f"{name}[{at.start}:{at.stop}] has zero length: no direction to normalize to")
        return array

    def _checked(self, x: npt.ArrayLike, width: int, name: str) -> Floats:
        array: Floats = real_array(x, name).astype(np.float64, copy=False)
        if array.ndim == 0 or array.shape[-1] != width:
            found = "a single number" if array.ndim == 0 else f"{array.shape[-1]} numbers"
            raise InputError(f"{name} has {found}, robot '{self.name}' needs {width}")
        if not np.isfinite(array).all():
            raise InputError(f"{name} holds NaN or infinity")
        return array

    # New mechanisms from old ones ------------------------------------------------------------------

    def constrained(self, *constraints: Constraint) -> Self:
        """A new mechanism with these constraints added; this one is unchanged.

        Args:
            constraints: Those to add.
        """
        self._check_constraints(constraints)
        return replace(self, constraints=(*self.constraints, *constraints))

    def _check_constraints(self, constraints: Sequence[Constraint]) -> None:
        for constraint in constraints:
            if not isinstance(constraint, Constraint):
                pose = "; a configuration at which constraints are to hold is given by name: at=q"
                hint = pose if np.shape(constraint) == (self.nq,) and self.nq else ""
                raise InputError(f"{constraint!r} is no constraint, such as Weld or Gear{hint}")

    def unconstrained(self, *names: str) -> Self:
        """A new mechanism without these constraints; without any, if none is named.

        Args:
            names: Names of constraints to leave out; with none, all are.
        """
        for name in names:
            self.row_slice(name)
        kept = tuple(c for c in self.constraints if names and c.name not in names)
        return replace(self, constraints=kept)

    def switched(self, enabled: Mapping[str, bool]) -> Self:
        """The same mechanism with constraints switched on or off; nothing has to be prepared anew.

        Args:
            enabled: Whether constraints bind, by name; others stay as they are.
        """
        for name in enabled:
            self.row_slice(name)
        new = replace(
            self, constraints=tuple(replace(c, enabled=enabled.get(c.name, c.enabled)) for c in self.constraints)
        )
        object.__setattr__(new, "computed", self.computed)
        return new

    def with_frame(self, name: str, body: str, placement: PlacementLike = (0.0, 0.0, 0.0)) -> Model:
        """A new mechanism with a named place more; this one is unchanged.

        Args:
            name: What frame functions and constraints are to call it.
            body: The body that it is on, ``"world"``, or another frame.
            placement: Where it is in the frame of that body: a position, or a `Placement`.
        """
        on = self.frame(body)
        if not name or name in self.frames:
            raise InputError(f"robot '{self.name}' has a frame '{name}' already" if name else "a frame needs a name")
        return replace(self, frames={**self.frames, name: Frame(name, on.body, on.placement * as_placement(placement))})

    def with_actuators(self, *actuators: Actuator | str) -> Self:
        """A new mechanism with these motors more, whose joints are marked as actuated; this one is unchanged.

        Args:
            actuators: Motors, or names of joints with one degree of freedom: each is driven by a motor of the joint's
                name, whose commands are the torque or force there.
        """
        new = [Actuator(a, a, (1.0,)) if isinstance(a, str) else a for a in actuators]
        taken = {a.name for a in self.actuators}
        for actuator in new:
            if not isinstance(actuator, Actuator):
                raise InputError(f"{actuator!r} is neither an Actuator nor the name of a joint")
            if actuator.name in taken:
                raise InputError(f"two actuators are called '{actuator.name}'; give one another name")
            taken.add(actuator.name)
        driven = {joint for actuator in new for joint, _ in actuator.gears}
        joints = tuple(replace(j, actuated=True) if j.name in driven else j for j in self.joints)
        return replace(self, joints=joints, actuators=(*self.actuators, *new))

    def with_gravity(self, gravity: VectorLike) -> Self:
        """The same mechanism under another gravity, e.g. ``(0, 0, 0)``.

        Args:
            gravity: Acceleration of free fall, in m/s², in the world's axes.
        """
        g = np.array(gravity, dtype=np.float64)
        if g.shape != (3,) or not np.isfinite(g).all():
            raise InputError("gravity is three finite numbers")
        g.setflags(write=False)
        return replace(self, gravity=g)

    def __reduce__(self) -> tuple[Any, ...]:
        plain = (dict(self.inertias), dict(self.frames), self.gravity, self.shapes)
        driven = (self.actuators, dict(self.gravity_compensation))
        return type(self), (self.name, self.joints, *plain, self.constraints, dict(self.poses), *driven)

    def __repr__(self) -> str:
        sizes = f"nq={self.nq}, nv={self.nv}" + (f", nc={self.nc}" if self.nc else "")
        return f"<{type(self).__name__} '{self.name}': {len(self.joints)} joints, {sizes}, {self.mass:.4g} kg>"

    def _repr_html_(self) -> str:
        return mechanism_tables(self)


_INSTEAD = {
    "gravity": "robot.with_gravity(...)",
    "frames": "robot.with_frame(name, body, placement)",
    "actuators": "robot.with_actuators(...)",
    "constraints": "robot.constrained(...), unconstrained(...) or switched(...)",
}
"""What gives a new mechanism where people assign to fields of one."""


def _refuse_assignment(robot: Model, name: str, value: object) -> NoReturn:
    instead = _INSTEAD.get(name)
    if instead is None:
        of_joint = {f.name for kind in (TreeJoint, Limits) for f in fields(kind)} | {"velocity_limit", "effort_limit"}
        if name in {f.name for f in fields(robot) if f.init}:
            instead = f"dataclasses.replace(robot, {name}=...)"
        elif name in of_joint:
            instead = f"dataclasses.replace(robot, joints=...), {name} being kept with each of robot.joints,"
    more = f"; {instead} gives a new one" if instead else ""
    raise FrozenInstanceError(f"cannot assign to '{name}': a mechanism does not change{more}")


Model.__setattr__ = _refuse_assignment  # type: ignore[method-assign, assignment]  # the dataclass made its own


def _runs(
    joints: Sequence[TreeJoint], qs: Sequence[slice], vs: Sequence[slice]
) -> tuple[tuple[lie.Group, slice, slice], ...]:
    """The group of each joint and its places in q and v, neighbors that are plain numbers taken together."""
    runs: list[tuple[lie.Group, slice, slice]] = []
    for joint, q, v in zip(joints, qs, vs, strict=True):
        group = joint.type.group
        if runs and group is lie.VECTOR and runs[-1][0] is lie.VECTOR:
            q, v = slice(runs[-1][1].start, q.stop), slice(runs[-1][2].start, v.stop)
            runs.pop()
        runs.append((group, q, v))
    return tuple(runs)


def _single(at: slice, joint: str, other: str) -> int:
    if at.stop - at.start != 1:
        raise InputError(f"joint '{joint}' has {at.stop - at.start} numbers, not one: use {other}")
    return int(at.start)
