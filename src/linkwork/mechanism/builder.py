# SPDX-License-Identifier: BSD-3-Clause
"""`Builder`: collects bodies, joints, frames and constraints in any order and makes a mechanism of them.

In `Builder.build` joints that form loops are cut into a tree and constraints, fixed joints are merged (their frames
stay), and bodies are ordered depth first; see `topology`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted, converted_but
from linkwork.errors import ModelError
from linkwork.inputs import items, named_options
from linkwork.mechanism.actuators import checked_actuator
from linkwork.mechanism.contacts import Chosen, ContactOptions, chosen_contacts, part_contacts
from linkwork.mechanism.joint_options import JointOptions, check_options, dynamics_of, limits_of
from linkwork.mechanism.mechanism import Mechanism
from linkwork.mechanism.mounting import Part, activations_of, commands_of, pose_of
from linkwork.mechanism.outboard import OutboardParts, SensorOnGraph
from linkwork.mechanism.topology import Graph, GraphJoint, Tree
from linkwork.model.activations import ActuatorDynamics
from linkwork.model.arrays import Floats, VectorLike, finite, finite_array
from linkwork.model.checks import A_SENSOR, A_TENDON, check_all
from linkwork.model.constraints import WORLD, CenterOfMass, Constraint, Renaming
from linkwork.model.contacts import ContactPair, ContactPairs
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Fixed, Joint
from linkwork.model.medium import Drag
from linkwork.model.model import Model
from linkwork.model.motors import Motor
from linkwork.model.muscles import Muscle
from linkwork.model.parts import GRAVITY, Actuator, Frame, TreeJoint
from linkwork.model.placement import PlacementLike, as_placement
from linkwork.model.sensors import Sensor
from linkwork.model.shapes import Ground, Role, Shape, Solid, Surface, as_color
from linkwork.model.tendons import Tendon
from linkwork.quantities.leaves import check_leaves, lacks_mass


class Builder:
    """Collects bodies, joints, frames and constraints; `build` makes the mechanism.

    >>> build = Builder("double pendulum")
    >>> build.body("upper", Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
    >>> build.joint("shoulder", Revolute("y"), parent="world", child="upper")
    >>> build.body("lower", Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
    >>> build.joint("elbow", Revolute("y"), parent="upper", child="lower", at=(0, 0, -0.5))
    >>> build.frame("tip", on="lower", at=(0, 0, -0.5))
    >>> build.build()
    <Mechanism 'double pendulum': 2 joints, nq=2, nv=2, 2 kg>

    Args:
        name: Name of the mechanism.
        gravity: Acceleration of free fall, in m/s², in the world's axes.
    """

    @converted_but("gravity")
    def __init__(self, name: str = "mechanism", gravity: VectorLike = GRAVITY) -> None:
        self.name = name
        self._gravity = finite_array(gravity, (3,), "gravity")
        self._inertias: dict[str, Inertia] = {}
        self._compensation: dict[str, Inertia] = {}
        self._carried: list[tuple[str, Inertia]] = []
        self._joints: dict[str, GraphJoint] = {}
        self._frames: dict[str, Frame] = {}
        self._shapes: list[Shape] = []
        self._trusted: set[str] = set()
        self._constraints: list[Constraint] = []
        self._actuators: list[Actuator] = []
        self._tendons: list[Tendon] = []
        self._poses: dict[str, dict[str, Floats]] = {}
        self._activations, self._commands = dict[str, dict[str, float]](), dict[str, dict[str, float]]()
        self._contacts: list[ContactPair] | ContactPairs = []
        self._touching: list[tuple[tuple[Chosen, ...], ContactOptions]] = []
        self._sensors: list[SensorOnGraph] = []
        self._massless = False

    @converted_but("inertia")
    def body(
        self, name: str, inertia: Inertia | None = None, check: bool = True, *, gravity_compensation: float = 0.0
    ) -> Builder:
        """Add a body.

        Args:
            name: Its name.
            inertia: Mass, center of mass and inertia in its frame. Without, it is massless, which only a body that
                carries others may be.
            check: Whether an inertia that no distribution of mass has, as in some model files, is an error.
            gravity_compensation: Part of its weight that is compensated in simulations: 1 for all of it.
        """
        if not name or name == WORLD:
            raise ModelError(f"a body cannot be called '{name}'", subject=name)
        if name in self._inertias:
            raise ModelError(f"two bodies are called '{name}'", subject=name)
        if not isinstance(inertia, Inertia | None):
            what = f"{inertia!r} is no Inertia, such as Inertia.sphere(1.0, 0.1)"
            raise ModelError(f"body '{name}': {what}", subject=name)
        self._inertias[name] = Inertia.zero() if inertia is None else inertia
        if not check:
            self._trusted.add(name)
        if not 0 <= gravity_compensation < np.inf:
            raise ModelError(
                f"body '{name}': gravity_compensation is {gravity_compensation}, needs a number >= 0", subject=name
            )
        if inertia is not None and gravity_compensation * inertia.mass != 0:
            self._compensation[name] = Inertia(gravity_compensation * inertia.mass, inertia.com)
        return self

    @converted_but("type")
    def joint(
        self,
        name: str,
        type: Joint,
        parent: str,
        child: str,
        at: PlacementLike = (0.0, 0.0, 0.0),
        child_at: PlacementLike = (0.0, 0.0, 0.0),
        *,
        actuated: bool | None = None,
        independent: bool | None = None,
        cut: bool | None = None,
        **options: Unpack[JointOptions],
    ) -> Builder:
        """Add a joint from one body to another.

        In the neutral configuration ``child_at`` in the child's frame coincides with ``at`` in the parent's frame.
        Limits, armature, damping and the like are one number, or one per coordinate.

        Joints may form loops. Then some of them become constraints: those with ``cut=True``, or else joints of the
        library's choice: fixed and ``actuated`` joints stay, passive ones of many degrees of freedom are cut first.

        Args:
            name: Name of the joint.
            type: Type of joint, such as ``Revolute("y")``.
            parent: The body it starts from, or ``"world"``.
            child: The body it leads to.
            at: Its placement in the parent's frame (three numbers for a position, or a `Placement`).
            child_at: Its placement in the child's frame.
            actuated: Whether a motor drives it; None: not specified.
            independent: Whether it is one of the minimal coordinates of its loops; None: not specified.
            cut: Whether it becomes a constraint where it closes a loop; None: the library chooses.
            options: Limits (``lower``, ``upper``, ...) and constants of its dynamics: see `JointOptions`.
        """
        if not name:
            raise ModelError("a joint needs a name")
        if name in self._joints:
            raise ModelError(f"two joints are called '{name}'", subject=name)
        if not isinstance(type, Joint):
            what = f"{type!r} is no joint type, such as Revolute('z') or Free()"
            raise ModelError(f"joint '{name}': {what}", subject=name)
        check_options(name, options)
        joint = TreeJoint(
            name,
            type,
            parent,
            child,
            as_placement(at),
            limits_of(name, type, options),
            **dynamics_of(name, type, options),
            actuated=actuated,
            independent=independent,
        )
        self._joints[name] = GraphJoint(joint, as_placement(child_at), cut)
        return self

    def constrain(self, *constraints: Constraint) -> Builder:
        """Add constraints; the bodies, frames and joints that they name may be added later.

        Args:
            constraints: Those to add.
        """
        check_all(constraints, Constraint, "a constraint, such as Weld or Gear", ModelError)
        self._constraints += constraints
        return self

    @converted
    def actuator(
        self,
        name: str,
        joint: str = "",
        gear: float | Sequence[float] = 1.0,
        limits: tuple[float, float] = (-np.inf, np.inf),
        *,
        gain: Sequence[float] = (1.0, 0.0, 0.0),
        bias: Sequence[float] = (0.0, 0.0, 0.0),
        force_limits: tuple[float, float] = (-np.inf, np.inf),
        also: Mapping[str, float] | Sequence[tuple[str, float]] = (),
        tendon: str = "",
        body: str = "",
        dynamics: ActuatorDynamics = "none",
        time_constant: float = 1.0,
        activation_limits: tuple[float, float] = (-np.inf, np.inf),
        early: bool = False,
        refused: str = "",
        muscle: Muscle | None = None,
        motor: Motor | None = None,
    ) -> Builder:
        """Add a motor or a servo on a joint or a tendon; by default its torque is ``gear`` times the command.

        Args:
            name: Its name.
            joint: The joint that it drives; none if it pulls a tendon.
            gear: Torque or force on each degree of freedom of the joint per unit of force of the actuator.
            limits: Commands are clamped to these, in simulations.
            gain: Factors of the command in its force (see `Actuator`): constant, of the length, of its rate.
            bias: The part of its force that does not depend on the command: constant, of the length, of its rate.
            force_limits: Its force is clamped to these, before the gear.
            also: Further joints that it drives, with gears of their own.
            tendon: The tendon that it pulls, in place of joints.
            body: The body whose contact points its force pulls at together (adhesion), in place of joints.
            dynamics: Dynamics of an activation that follows the command and makes the force (`ACTIVATIONS`).
            time_constant: Of the filters, in seconds.
            activation_limits: Activations are clamped to these.
            early: Whether its force comes from the activation after a step, not before it.
            refused: Its kind, if its force is not modeled: it takes no commands.
            muscle: Muscle in place of gain and bias.
            motor: Its torque-speed curve, friction, integral action and delay.
        """
        ranges = {"command": limits, "force": force_limits, "activation": activation_limits}
        follows = {"dynamics": dynamics, "time_constant": float(time_constant), "early": bool(early)}
        other = {"tendon": tendon, "body": body, "refused": refused, "muscle": muscle, "motor": motor, **follows}
        self._actuators.append(checked_actuator(name, joint, gear, ranges, {"gain": gain, "bias": bias}, also, **other))
        return self

    def tendon(self, *tendons: Tendon) -> Builder:
        """Add tendons.

        Args:
            tendons: Those to add; they may pass frames and joints that come later.
        """
        check_all(tendons, Tendon, A_TENDON, ModelError)
        self._tendons += tendons
        return self

    def sensor(self, *sensors: Sensor, lenient: bool = False) -> Builder:
        """Add sensors; the frames, bodies, joints and actuators that they name may be added later.

        Args:
            sensors: Those to add.
            lenient: Whether one on something that is not there is kept, as one that is not computed; else an error.
        """
        check_all(sensors, Sensor, A_SENSOR, ModelError)
        self._sensors += [SensorOnGraph(sensor, lenient=lenient) for sensor in sensors]
        return self

    @converted_but("positions")
    def pose(self, name: str, positions: Mapping[str, npt.ArrayLike]) -> Builder:
        """Name a configuration.

        Args:
            name: Its name.
            positions: Coordinates by joint; joints left out are at their neutral position.
        """
        if not isinstance(positions, Mapping):
            raise ModelError(f"pose '{name}' needs coordinates by joint, such as {{'knee': 0.5}}", subject=name)
        known = ((joint, finite(q, f"pose '{name}': joint '{joint}'")) for joint, q in positions.items())
        self._poses[name] = {joint: q.reshape(-1) for joint, q in known}
        return self

    @converted
    def frame(self, name: str, on: str, at: PlacementLike = (0.0, 0.0, 0.0)) -> Builder:
        """Add a frame on a body.

        Args:
            name: Its name.
            on: The body.
            at: Its placement in the body's frame (three numbers, or a `Placement`).
        """
        if name in self._frames:
            raise ModelError(f"two frames are called '{name}'")
        self._frames[name] = Frame(name, on, as_placement(at))
        return self

    @converted
    def shape(
        self,
        body: str,
        solid: Solid,
        at: PlacementLike = (0.0, 0.0, 0.0),
        color: Sequence[float] | None = None,
        role: Role = "visual",
        *,
        name: str = "",
        surface: Surface | None = None,
        drag: Drag | None = None,
    ) -> Builder:
        """Add a shape to a body, for viewers, for contacts (see `contact`) and for a medium (see `Medium`).

        Args:
            body: The body, or ``"world"``.
            solid: A solid of `shapes`.
            at: Its placement in the body's frame (three numbers, or a `Placement`).
            color: Red, green, blue and perhaps opacity, from 0 to 1.
            role: ``"visual"`` shapes are drawn, those for ``"collision"`` on demand, or where a body has no others;
                at those for ``"fluid"`` a medium pushes, at boxes and ellipsoids.
            name: By which contacts of the shape are known; by default the name of the body.
            surface: Friction and restitution of its contacts, by default; a shape that has one may touch others.
            drag: Coefficients of fluid forces on an ellipsoid; None: the usual ones.
        """
        added = Shape(body, solid, as_placement(at), as_color(color), role, name=name, surface=surface, drag=drag)
        self._shapes.append(added)
        return self

    @named_options(ContactOptions)
    def contact(self, *touching: Chosen, **options: Unpack[ContactOptions]) -> Builder:
        """Let bodies or shapes touch the ground, and pairs each other; they may be added later.

        Args:
            touching: Names of bodies (all their shapes), shapes, tuples of two of these, and pairs; none: all bodies.
            options: Those of `Mechanism.with_contacts`: ``ground``, ``self_collision``, ``friction``,
                ``restitution``, ``compliance``, ``margin``, ``slots``, ``visual``.
        """
        self._touching.append((touching, options))
        return self

    def add_contacts(self, pairs: Iterable[ContactPair]) -> Builder:
        """Add pairs; those that fixed joints make one body are left out.

        Args:
            pairs: The pairs.
        """
        if isinstance(pairs, ContactPairs) and not self._contacts:
            self._contacts = pairs
            return self
        added = items(pairs, "pairs", "a list of ContactPair")
        check_all(added, ContactPair, "a ContactPair of two ContactShape")
        if not isinstance(self._contacts, list):
            self._contacts = list(self._contacts)
        self._contacts += added
        return self

    @converted
    def add_mechanism(
        self,
        other: Model,
        prefix: str = "",
        to: str = WORLD,
        at: PlacementLike = (0.0, 0.0, 0.0),
        by: str = WORLD,
    ) -> Builder:
        """Add a copy of a mechanism, fixed to the body ``to`` instead of the world, its names prefixed.

        Args:
            other: The mechanism to copy.
            prefix: Its names become ``prefix/name``; by default they stay.
            to: The body that it is fixed to.
            at: Placement of ``by`` in that body's frame (three numbers, or a `Placement`).
            by: The frame of ``other`` that is put there. One on a body of a floating mechanism takes the place of its
                `Free` joint.
        """
        if not np.array_equal(other.gravity, self._gravity):
            raise ModelError(
                f"'{other.name}' has gravity {other.gravity.tolist()}, '{self.name}' has {self._gravity.tolist()}; "
                "use with_gravity() to make them equal"
            )
        self._massless |= lacks_mass(other)
        part = Part.of(other, prefix, to, as_placement(at), by)
        if part.takes(WORLD) and other.base_inertia.mass:
            self._carried.append((to, other.base_inertia.moved(part.at)))
        for joint in other.joints:
            self._copy_joint(part, joint)
        for frame in other.frames.values():
            if frame.name != WORLD and frame.name not in other.inertias and part.takes(frame.body):
                self.frame(part.named(frame.name), *part.moved(frame.body, frame.placement))
        for shape in other.shapes:
            # a part on a body leaves its ground behind
            if (not isinstance(shape.solid, Ground) or to == WORLD) and part.takes(shape.body):
                body, placement = part.moved(shape.body, shape.placement)
                name, link = (part.named(own_names) if own_names else "" for own_names in (shape.name, shape.link))
                self._shapes.append(replace(shape, body=body, placement=placement, name=name, link=link))
        self.add_contacts(part_contacts(part.kept_pairs(), self._contacts, part.named, part.moved))
        names = Renaming(part.named, part.named, part.named, to, part.at, part.named(""))
        for constraint in other.constraints:
            if isinstance(constraint, CenterOfMass) and constraint.bodies is None:
                constraint = replace(constraint, bodies=other.body_names)
            self._constraints.append(constraint.renamed(names))
        self._actuators += (actuator.renamed(part.named) for actuator in other.actuators)
        self._tendons += (t.renamed(part.named(t.name), part.place, part.named) for t in other.tendons)
        self._sensors += (part.sensor(sensor) for sensor in other.sensors)
        for pose, q in other.poses.items():
            known = self._poses.setdefault(pose, {})
            known.update({part.named(joint.name): q[other.q_slice(joint.name)] for joint in other.joints})
        part.add_activations(self._activations, self._commands)
        return self

    def _copy_joint(self, part: Part, joint: TreeJoint) -> None:
        """Add a joint of a mechanism, and the body that it leads to."""
        name, child = part.named(joint.name), part.named(joint.child)
        seen = part.other.frames[joint.child].placement.inverse()  # the joint, from the frame that users see
        self.body(child, part.other.inertias[joint.child].moved(seen), check=False)
        if name in self._joints:
            raise ModelError(f"two joints are called '{name}'; give a prefix")
        if joint.child in part.other.gravity_compensation:
            self._compensation[child] = part.other.gravity_compensation[joint.child].moved(seen)
        parent, placement = part.moved(joint.parent, joint.placement)
        if joint.name == part.released:
            self.joint(name, Fixed(), part.to, part.named(part.frame.body), part.at, part.grip)
            return
        copy = replace(joint, name=name, parent=parent, child=child, placement=placement)
        self._joints[name] = GraphJoint(copy, seen)

    def build(self, *, massless: bool = False) -> Mechanism:
        """Check everything and make the mechanism.

        Args:
            massless: Whether bodies at the end of chains may have no mass: there are kinematics, and no dynamics.
        """
        graph = Graph(self._loaded_inertias(), self._joints, self._frames)
        graph.check_names(self._shapes, self._contacts)
        for body, inertia in self._inertias.items():
            if body not in self._trusted:
                inertia.validate_mass(body)
        spanning = graph.spanning()
        tree = Tree.of(graph, spanning)
        tree.check_inertias(self._trusted)
        check_leaves(tree.joints, tree.inertias, massless or self._massless)
        loops = graph.loop_constraints(spanning, tree.frames)
        shapes = tuple(tree.moved(shape) for shape in self._shapes)
        open_chain = Mechanism(self.name, tuple(tree.joints), tree.inertias, tree.frames, self._gravity, shapes)
        # what fixed joints make one body does not touch itself
        contacts = tree.moved_contacts(self._contacts)
        mechanism = replace(
            open_chain,
            constraints=(*loops, *self._constraints),
            poses={name: pose_of(open_chain, self._joints, name, positions) for name, positions in self._poses.items()},
            actuators=tuple(self._actuators),
            tendons=tuple(self._tendons),
            activations=activations_of(self._actuators, self._activations),
            commands=commands_of(self._actuators, self._commands),
            gravity_compensation=tree.merged(self._compensation),
            contacts=contacts,
            base_inertia=sum((y for to, y in self._carried if to == WORLD), tree.base_inertia),
        )
        if self._sensors:
            parts = OutboardParts(graph, spanning, tree)
            mechanism = replace(mechanism, sensors=tuple(parts.of(sensor, mechanism) for sensor in self._sensors))
        return replace(mechanism, contacts=chosen_contacts(mechanism, self._touching)) if self._touching else mechanism

    def _loaded_inertias(self) -> dict[str, Inertia]:
        """Inertias of bodies, with those that attached mechanisms had fixed to their own worlds."""
        inertias = {**self._inertias}
        for to, inertia in self._carried:
            inertias |= {to: inertias[to] + inertia} if to in inertias else {}
        return inertias
