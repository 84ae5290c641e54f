# SPDX-License-Identifier: BSD-3-Clause
"""New mechanisms from old ones: methods of `Mechanism` that return a changed copy by packages above the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError, fields, replace
from typing import TYPE_CHECKING, Literal, NoReturn, Self

import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import each_name, named_options, suggest
from linkwork.model.arrays import Floats, VectorLike, finite_array
from linkwork.model.checks import A_SENSOR, A_TENDON, check_all
from linkwork.model.forces import ForceElement
from linkwork.model.medium import Medium
from linkwork.model.model import Model
from linkwork.model.motors import Motor
from linkwork.model.parts import Actuator, Limits, TreeJoint
from linkwork.model.sensors import Sensor
from linkwork.model.tendons import Tendon

if TYPE_CHECKING:
    from linkwork.inputs import ParameterName
    from linkwork.mechanism.contacts import Chosen, GroundLike


class Changeable(Model):
    """A model with the methods that give a changed copy of it; it is unchanged itself."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        instead = _INSTEAD.get(name)
        if instead is None:
            of_joint = {f.name for kind in (TreeJoint, Limits) for f in fields(kind)}
            if name in {f.name for f in fields(self) if f.init}:
                instead = f"dataclasses.replace(robot, {name}=...)"
            elif name in of_joint | {"velocity_limit", "effort_limit"}:
                instead = f"dataclasses.replace(robot, joints=...), {name} being a field of each of robot.joints,"
        more = f"; {instead} gives a new one" if instead else ""
        raise FrozenInstanceError(f"cannot assign to '{name}': a mechanism does not change{more}")

    def reduced(self, fixed: Sequence[str] | Mapping[str, npt.ArrayLike], *, q: npt.ArrayLike | None = None) -> Self:
        """A new mechanism in which these joints are locked, without their coordinates; this one is unchanged.

        ``robot.reduced({"elbow": 0.5})``, or ``robot.reduced(["elbow", "wrist"], q=q)``. What a locked joint moves is
        fixed to its parent: inertias merge; frames, shapes, contacts and constraints between frames stay. Constraints
        and actuators on several joints keep those that move; a constraint without moving joints is left out, or
        an error where it is open.

        Args:
            fixed: Names of joints, or their coordinates by name.
            q: Configuration, ``(nq,)``, at which joints given by name alone are locked; by default `neutral`.
        """
        from linkwork.mechanism.reduction import reduced

        return reduced(self, fixed, q)

    def with_tendons(self, *tendons: Tendon) -> Self:
        """A new mechanism with more tendons; this one is unchanged.

        Args:
            tendons: Those to add.
        """
        check_all(tendons, Tendon, A_TENDON)
        return replace(self, tendons=(*self.tendons, *tendons))

    def with_forces(self, *elements: ForceElement) -> Self:
        """A new mechanism with more force elements, springs and others; this one is unchanged.

        Args:
            elements: Those to add: ``lw.Spring("frame", ("arm", (0.2, 0, 0)), 500, free_length=0.1)``.
        """
        return replace(self, forces=(*self.forces, *elements))

    def with_actuators(self, *actuators: Actuator | str) -> Self:
        """A new mechanism with more actuators, whose joints are marked as actuated; this one is unchanged.

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
        from linkwork.mechanism.names import kept_commands

        every = (*self.actuators, *new)
        return replace(self, joints=joints, actuators=every, commands=kept_commands(self, every))

    @converted
    def with_gravity(self, gravity: VectorLike) -> Self:
        """A copy under another gravity, e.g. ``(0, 0, 0)``.

        Args:
            gravity: Acceleration of free fall, in m/s², in the world's axes.
        """
        return replace(self, gravity=finite_array(gravity, (3,), "gravity", InputError))

    @converted
    def with_medium(self, density: float = 0.0, viscosity: float = 0.0, wind: VectorLike = (0.0, 0.0, 0.0)) -> Self:
        """A copy in air or water, which acts on its shapes with the role ``"fluid"``; by default in vacuum.

        Args:
            density: In kg/m³: 1.2 of air, 1000 of water.
            viscosity: Dynamic viscosity, in Pa s: 0.00002 of air, 0.0009 of water.
            wind: Velocity of the medium, in m/s, in the world's axes.
        """
        x, y, z = finite_array(wind, (3,), "wind", InputError).tolist()
        return replace(self, medium=Medium(density, viscosity, (x, y, z)))

    @converted
    def scaled(self, length: float = 1.0, mass: float = 1.0, time: float | None = None) -> Self:
        """A new mechanism of another size that moves alike; this one is unchanged.

        Lengths, masses and times are multiplied by the factors, and so is all that is made of them: inertias, limits,
        springs, dampers, motors, contacts, gains of constraints. With the default ``time``, the root of ``length``,
        gravity is unchanged, and so is Froude's number: the pendulum of half the length swings faster by √2.
        With ``time=1`` and the units of a file as factors, it is the robot of that file in SI units.

        Args:
            length: Factor of all lengths.
            mass: Factor of all masses.
            time: Factor of all times.
        """
        from linkwork.mechanism.scaling import scaled

        return scaled(self, length, mass, time)

    def renamed(self, names: Mapping[str, str] | Callable[[str], str], *, name: str | None = None) -> Self:
        """A new mechanism with other names; this one is unchanged.

        ``robot.renamed({"hip": "left_hip"})``, or by a function: ``robot.renamed(lambda old: f"left_{old}")``. A name
        is that of everything called so: bodies, joints, frames, constraints, actuators, contacts and shapes.

        Args:
            names: New names by old ones, or a function from old to new names.
            name: New name of the robot itself.
        """
        from linkwork.mechanism.names import renamed

        return renamed(self, names, name)

    def without_bodies(self, *bodies: str) -> Self:
        """A new mechanism without these bodies and all that they carry; this one is unchanged.

        Frames, shapes, contacts, constraints and actuators that need what is gone are gone, too, and so are bodies
        without mass that led to it alone.

        Args:
            bodies: Names of moving bodies.
        """
        from linkwork.mechanism.names import without_bodies

        return without_bodies(self, each_name(bodies, "without_bodies"))

    @converted
    def mirrored(self, plane: Literal["xy", "xz", "yz"] = "xz") -> Self:
        """The mirror image, such as a left arm from a right one; this one is unchanged.

        Joints keep the signs of their angles and lengths: the image of an arm at ``q`` is the mirrored arm at ``q``,
        but for coordinates that are vectors themselves (of free, spherical and planar joints), which
        `mechanism.mirroring.mirrored_q` reflects.

        Args:
            plane: The plane of the mirror, through the world's origin.
        """
        from linkwork.mechanism.mirroring import mirrored

        return mirrored(self, plane)

    def with_motors(self, motor: Motor | None, *names: str) -> Self:
        """A new mechanism whose actuators have this motor; this one is unchanged.

        Args:
            motor: Torque-speed curve, friction, integral action, delay, backlash and network; None takes them away.
            names: Names of actuators; by default all.
        """
        known = [actuator.name for actuator in self.actuators]
        for name in names:
            if name not in known:
                raise InputError(f"'{self.name}' has no actuator '{name}'{suggest(name, known)}")
        motors = [replace(a, motor=motor) if not names or a.name in names else a for a in self.actuators]
        changed = {a.name for a, b in zip(self.actuators, motors, strict=True) if a.states != b.states}
        poses = {} if changed else self.activations
        return replace(self, actuators=tuple(motors), activations=poses)

    def with_sensors(self, *sensors: Sensor) -> Self:
        """A new mechanism with more sensors; this one is unchanged.

        Args:
            sensors: Those to add, after its own.
        """
        check_all(sensors, Sensor, A_SENSOR)
        return replace(self, sensors=(*self.sensors, *sensors))

    def with_independent(self, *joints: str) -> Self:
        """A copy with these joints as minimal coordinates of its loops; see `coordinates.Minimal`.

        Args:
            joints: Names of joints.
        """
        from linkwork.closure.clusters import independent

        return independent(self, each_name(joints, "with_independent"))

    def with_actuated(self, *joints: str) -> Self:
        """A copy with these joints marked as actuated, and all others as passive.

        Marks say which joints `InverseDynamics` has torques of, which `actuation` takes for motors, and what a loop is
        cut at. For commands and their limits, add actuators: `with_actuators`.

        Args:
            joints: Names of joints; with none, all are passive.
        """
        from linkwork.mechanism.names import actuated

        return actuated(self, each_name(joints, "with_actuated"))

    def without_actuators(self, *names: str) -> Self:
        """A new mechanism without these actuators; without any, if none is named. Marks of joints stay.

        Args:
            names: Names of actuators.
        """
        from linkwork.mechanism.names import without_actuators

        return without_actuators(self, each_name(names, "without_actuators"))

    def without_frames(self, *names: str) -> Self:
        """A new mechanism without these frames; this one is unchanged.

        Args:
            names: Names of frames that are no bodies and that no constraint is on.
        """
        from linkwork.mechanism.names import without_frames

        return without_frames(self, each_name(names, "without_frames"))

    @property
    def parameters(self) -> Mapping[ParameterName, Floats]:
        """Parameters by name, as arrays with a row for each body, degree of freedom, constraint and so on.

        ``robot.parameters["mass"]`` are the masses of the bodies. Each can be an input of evaluators, so that every row
        of a batch has a robot of its own: see `ForwardDynamics` and `rollouts`.
        """
        from linkwork.model.parameters import PARAMETERS, own_values

        names: tuple[ParameterName, ...] = tuple(PARAMETERS)  # type: ignore[arg-type]
        return {name: own_values(self, name) for name in names}

    def with_parameters(self, **values: npt.ArrayLike) -> Self:
        """A new mechanism with other values of some parameters; this one is unchanged.

        Args:
            values: By name, shaped as in `parameters`.
        """
        from linkwork.model.parameters import changed_fields

        changed = self
        for name, x in values.items():
            changed = replace(changed, **changed_fields(changed, name, x))
        return changed

    @property
    def inertial_parameters(self) -> Floats:
        """Ten numbers of each body, ``(bodies, 10)``: m, m c (3), and xx, xy, yy, xz, yz, zz about its frame's origin.

        Rows are in the order of `body_names`; flattened, they are in that of the columns of `regressor`s. The order is
        that of Pinocchio's ``Inertia.toDynamicParameters``; see `log_cholesky` for other parametrizations.
        """
        from linkwork.model.parameters import own_values

        return own_values(self, "inertial_parameters")

    def with_inertial_parameters(self, values: npt.ArrayLike, *, check: bool = True) -> Self:
        """A new mechanism with these inertial parameters; this one is unchanged.

        Args:
            values: As in `inertial_parameters`, ``(bodies, 10)``, or all in a row, ``(10 bodies,)``.
            check: Whether parameters that no distribution of mass has are an error; see `is_physically_consistent`.
        """
        from linkwork.model.parameters import with_inertial_parameters

        return with_inertial_parameters(self, values, check)

    @named_options()
    @converted
    def with_contacts(
        self,
        *touching: Chosen,
        ground: GroundLike = True,
        self_collision: bool = False,
        friction: float | None = None,
        restitution: float | None = None,
        compliance: float | None = None,
        margin: float = 0.0,
        slots: int | None = None,
        visual: bool = False,
    ) -> Self:
        """A new mechanism with more pairs of shapes that may touch; this one is unchanged.

        ``robot.with_contacts()`` lets all its shapes for collision touch the ground, ``robot.with_contacts("left_foot",
        "right_foot")`` those of two bodies, ``robot.with_contacts(("hand", "cube"))`` those of a hand and a cube each
        other. Pairs are called ``first:second``, by their shapes; a shape is called as in its file, or else as its
        body. A pair takes the place of one that has its name.

        Args:
            touching: Names of bodies or frames (all their shapes), shapes, tuples of two of these that touch each
                other, and pairs; with none, all moving bodies. Placements of new shapes are in the frame of the body
                or frame that they name, as those of `with_frame`. The shapes of ``"world"`` touch all that is named.
            ground: The ground that bodies and shapes touch: the robot's own ground or else the plane z = 0 (True),
                nothing (False), the plane of a placement, a height field on the world, or any shape. Tuples and pairs
                do not touch it.
            self_collision: Whether bodies and shapes touch each other, too, but for bodies that a joint or a
                constraint connects.
            friction: Coulomb's coefficient; by default that of the two shapes in the file, else 1.
            restitution: Newton's coefficient of restitution; by default that of the file, else 0.
            compliance: Of the normal direction, in m/N; by default that of the file, else 0: rigid.
            margin: Distance at which shapes count as touching, in m.
            slots: Contact points of each pair; by default as many as its shapes need.
            visual: Whether bodies that have no shapes for collision touch with those that are drawn.
        """
        from linkwork.mechanism.contacts import ContactChoice

        changed = ContactChoice(self).pairs(
            *touching,
            ground=ground,
            self_collision=self_collision,
            friction=friction,
            restitution=restitution,
            compliance=compliance,
            margin=margin,
            slots=slots,
            visual=visual,
        )
        known = {pair.name: pair for pair in self.contacts}
        return replace(self, contacts=tuple((known | {pair.name: pair for pair in changed}).values()))

    def without_contacts(self, *names: str) -> Self:
        """A new mechanism without these contacts; without any, if none is named.

        Args:
            names: Names of pairs; or of shapes or bodies, none of which touches anything then.
        """
        from linkwork.mechanism.contacts import kept_contacts

        return replace(self, contacts=kept_contacts(self, each_name(names, "without_contacts")))


_INSTEAD = {
    "gravity": "robot.with_gravity(...)",
    "medium": "robot.with_medium(...)",
    "frames": "robot.with_frame(name, body, placement)",
    "actuators": "robot.with_actuators(...)",
    "tendons": "robot.with_tendons(...)",
    "forces": "robot.with_forces(...)",
    "constraints": "robot.constrained(...), unconstrained(...) or switched(...)",
    "contacts": "robot.with_contacts(...) or without_contacts(...)",
}
"""Methods that give a new mechanism in place of assignments to fields."""
