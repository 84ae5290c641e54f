"""Building mechanisms: `Builder` for a new one, `compose` and `attach` for one made of others.

`Builder` collects bodies, joints, frames and constraints as a person thinks of them and makes the whole in
`Builder.build`: joints that form loops are cut into a tree (`plans.spanning`) and constraints, fixed joints are merged
away (their frames stay), and bodies are ordered depth first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, ModelError, TopologyError, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.mechanism.mechanism import Mechanism
from linkwork.model.arrays import Floats, VectorLike
from linkwork.model.constraints import WORLD, CenterOfMass, Constraint, Renaming, closing
from linkwork.model.inertia import Inertia
from linkwork.model.joints import (
    FREE,
    HELICAL,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Fixed,
    Helical,
    Joint,
    Prismatic,
    Revolute,
    atoms_of,
)
from linkwork.model.model import Model
from linkwork.model.parts import GRAVITY, Actuator, Frame, Limits, TreeJoint
from linkwork.model.placement import Placement, PlacementLike, as_placement
from linkwork.model.shapes import Ground, Role, Shape, Solid, as_color
from linkwork.model.spanning import Edge, Spanning, spanning_tree


def _per_dof(value: float | Sequence[float] | Floats | None, count: int, default: float, what: str) -> Floats:
    array = np.full(count, default) if value is None else np.array(value, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(count, float(array))
    if array.shape != (count,):
        raise ModelError(f"{what} has {array.size} numbers, needs {count}")
    if np.isnan(array).any():
        raise ModelError(f"{what} is NaN")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class _Joint:
    """A joint as it was added: between ``entry.placement`` on the parent and ``child_at`` on the child."""

    entry: TreeJoint
    child_at: Placement
    cut: bool | None


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

    def __init__(self, name: str = "mechanism", gravity: VectorLike = GRAVITY) -> None:
        self.name = name
        g = np.array(gravity, dtype=np.float64)
        if g.shape != (3,) or not np.isfinite(g).all():
            raise ModelError("gravity is three finite numbers")
        g.setflags(write=False)
        self._gravity = g
        self._inertias: dict[str, Inertia] = {}
        self._compensation: dict[str, Inertia] = {}
        self._joints: dict[str, _Joint] = {}
        self._frames: dict[str, Frame] = {}
        self._shapes: list[Shape] = []
        self._trusted: set[str] = set()
        self._constraints: list[Constraint] = []
        self._actuators: list[Actuator] = []
        self._poses: dict[str, dict[str, Floats]] = {}

    def body(
        self, name: str, inertia: Inertia | None = None, check: bool = True, *, gravity_compensation: float = 0.0
    ) -> Builder:
        """Add a body.

        Args:
            name: Its name.
            inertia: Mass, center of mass and inertia in its frame. Without, it is massless, which only a body that
                carries others may be.
            check: Whether an inertia that no distribution of mass has, as some model files hold, is an error.
            gravity_compensation: Part of its weight that is held up in simulations: 1 for all of it.
        """
        if not name or name == WORLD:
            raise ModelError(f"a body cannot be called '{name}'", subject=name)
        if name in self._inertias:
            raise ModelError(f"two bodies are called '{name}'", subject=name)
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

    def joint(
        self,
        name: str,
        type: Joint,
        parent: str,
        child: str,
        at: PlacementLike = (0.0, 0.0, 0.0),
        child_at: PlacementLike = (0.0, 0.0, 0.0),
        *,
        lower: float | Sequence[float] | Floats | None = None,
        upper: float | Sequence[float] | Floats | None = None,
        velocity: float | Sequence[float] | Floats | None = None,
        effort: float | Sequence[float] | Floats | None = None,
        actuation: tuple[float, float] = (-np.inf, np.inf),
        armature: float | Sequence[float] | Floats = 0.0,
        damping: float | Sequence[float] | Floats = 0.0,
        friction: float | Sequence[float] | Floats = 0.0,
        stiffness: float | Sequence[float] | Floats = 0.0,
        rest: float | Sequence[float] | Floats | None = None,
        actuated: bool | None = None,
        independent: bool | None = None,
        cut: bool | None = None,
    ) -> Builder:
        """Add a joint from one body to another.

        At rest the place ``child_at`` of the child's frame stands ``at`` the given place of the parent's frame. Limits,
        armature, damping and the like are one number, or one per coordinate.

        Joints may form loops. Then some of them become constraints: those with ``cut=True``, or else what the library
        chooses, keeping fixed and ``actuated`` joints and cutting passive ones, of many degrees of freedom first.

        Args:
            name: Name of the joint.
            type: How it moves, such as ``Revolute("y")``.
            parent: The body it starts from, or ``"world"``.
            child: The body it leads to.
            at: Its place in the parent's frame (three numbers, or a `Placement`).
            child_at: Its place in the child's frame.
            lower: Lower limits of position; by default none.
            upper: Upper limits of position; by default none.
            velocity: Limits of speed; by default none.
            effort: Limits of torque or force; by default none.
            actuation: Bounds of the torque that all actuators of a joint with one degree of freedom make together.
            armature: Inertia of the rotor, seen at the joint.
            damping: Viscous damping.
            friction: Dry friction; kept, not applied.
            stiffness: Stiffness of a spring.
            rest: Where that spring is at rest; by default at the joint's neutral position.
            actuated: Whether a motor drives it; None: nobody has said.
            independent: Whether its coordinates are among those that describe the mechanism; None: nobody has said.
            cut: Whether it becomes a constraint where it closes a loop; None: the library chooses.
        """
        if not name:
            raise ModelError("a joint needs a name")
        if name in self._joints:
            raise ModelError(f"two joints are called '{name}'", subject=name)
        nq, nv = type.nq, type.nv
        limits = Limits(
            _per_dof(lower, nq, -np.inf, f"joint '{name}': lower limit"),
            _per_dof(upper, nq, np.inf, f"joint '{name}': upper limit"),
            _per_dof(velocity, nv, np.inf, f"joint '{name}': velocity limit"),
            _per_dof(effort, nv, np.inf, f"joint '{name}': effort limit"),
            (float(actuation[0]), float(actuation[1])),
        )
        if not limits.actuation[0] <= limits.actuation[1]:
            raise ModelError(f"joint '{name}': actuation goes from {actuation[0]} to {actuation[1]}", subject=name)
        if nv != 1 and np.isfinite(limits.actuation).any():
            raise ModelError(f"joint '{name}': actuation limits need one degree of freedom, not {nv}", subject=name)
        if (limits.lower > limits.upper).any():
            raise ModelError(f"joint '{name}': lower limit {limits.lower} is above upper limit {limits.upper}")
        numbers = {}
        losses = {"armature": armature, "damping": damping, "friction": friction, "stiffness": stiffness}
        for what, value in losses.items():
            numbers[what] = _per_dof(value, nv, 0.0, f"joint '{name}': {what}")
            if (numbers[what] < 0).any() or not np.isfinite(numbers[what]).all():
                raise ModelError(f"joint '{name}': {what} {numbers[what]} is negative or infinite")
        at_rest = np.array(type.neutral) if rest is None else np.array(rest, dtype=np.float64).reshape(-1)
        numbers["rest"] = _per_dof(at_rest, nq, 0.0, f"joint '{name}': rest position of the spring")
        entry = TreeJoint(
            name, type, parent, child, as_placement(at), limits, **numbers, actuated=actuated, independent=independent
        )
        self._joints[name] = _Joint(entry, as_placement(child_at), cut)
        return self

    def constrain(self, *constraints: Constraint) -> Builder:
        """Add constraints between bodies and frames that are or will be added.

        Args:
            constraints: Those to add.
        """
        for constraint in constraints:
            if not isinstance(constraint, Constraint):
                raise ModelError(f"{constraint!r} is no constraint, such as Weld or Gear")
        self._constraints += constraints
        return self

    def actuator(
        self,
        name: str,
        joint: str,
        gear: float | Sequence[float] = 1.0,
        limits: tuple[float, float] = (-np.inf, np.inf),
        *,
        gain: Sequence[float] = (1.0, 0.0, 0.0),
        bias: Sequence[float] = (0.0, 0.0, 0.0),
        force_limits: tuple[float, float] = (-np.inf, np.inf),
        also: Mapping[str, float] | Sequence[tuple[str, float]] = (),
        refused: str = "",
    ) -> Builder:
        """Add a motor or a servo on a joint: by default one unit of its command makes ``gear`` torques or forces there.

        Args:
            name: Its name.
            joint: The joint that it drives.
            gear: Torques or forces on the joint's degrees of freedom that one unit of command makes.
            limits: Commands beyond these are as these, in simulations.
            gain: Of the force of a servo, as `Actuator` says: constant, and by length and rate, times the command.
            bias: The same, without the command.
            force_limits: Forces beyond these are as these, before the gear.
            also: Further joints that it drives, with gears of their own.
            refused: What it is, if its force is not modeled: it takes no commands.
        """
        low, high = (float(x) for x in limits)
        if not low <= high:
            raise ModelError(f"actuator '{name}' takes commands from {low} to {high}, which are none", subject=name)
        least, most = (float(x) for x in force_limits)
        if not least <= most:
            raise ModelError(f"actuator '{name}' has forces from {least} to {most}, which are none", subject=name)
        law = {}
        for what, given in (("gain", gain), ("bias", bias)):
            numbers = tuple(float(x) for x in given)
            if len(numbers) != 3 or not np.isfinite(numbers).all():
                raise ModelError(f"actuator '{name}': {what} is {numbers}, needs 3 finite numbers", subject=name)
            law[what] = numbers
        gears = tuple(float(g) for g in np.atleast_1d(np.asarray(gear)))
        pulled = tuple((joint, float(g)) for joint, g in dict(also).items())
        self._actuators.append(
            Actuator(name, joint, gears, (low, high), law["gain"], law["bias"], (least, most), pulled, refused)
        )
        return self

    def pose(self, name: str, positions: Mapping[str, npt.ArrayLike]) -> Builder:
        """Name a configuration: coordinates by joint, those at rest left out.

        Args:
            name: Its name.
            positions: Coordinates by joint; joints left out are at rest.
        """
        self._poses[name] = {joint: np.array(q, dtype=np.float64).reshape(-1) for joint, q in dict(positions).items()}
        return self

    def frame(self, name: str, on: str, at: PlacementLike = (0.0, 0.0, 0.0)) -> Builder:
        """Add a named place on a body.

        Args:
            name: Its name.
            on: The body.
            at: Its place in the body's frame (three numbers, or a `Placement`).
        """
        if name in self._frames:
            raise ModelError(f"two frames are called '{name}'")
        self._frames[name] = Frame(name, on, as_placement(at))
        return self

    def shape(
        self,
        body: str,
        solid: Solid,
        at: PlacementLike = (0.0, 0.0, 0.0),
        color: Sequence[float] | None = None,
        role: Role = "visual",
    ) -> Builder:
        """Say what a body looks like; dynamics never ask.

        Args:
            body: The body, or ``"world"``.
            solid: A solid of `shapes`.
            at: Its place in the body's frame (three numbers, or a `Placement`).
            color: Red, green, blue and perhaps opacity, from 0 to 1.
            role: Shapes that are ``"visual"`` are drawn; those for ``"collision"`` on demand, or where a body has no
                others.
        """
        self._shapes.append(Shape(body, solid, as_placement(at), as_color(color), role))
        return self

    def add_mechanism(
        self, other: Model, prefix: str = "", to: str = WORLD, at: PlacementLike = (0.0, 0.0, 0.0)
    ) -> Builder:
        """Add a copy of a whole mechanism, standing on ``to`` instead of the world, its names prefixed.

        Args:
            other: The mechanism to copy.
            prefix: Its names become ``prefix/name``; by default they stay.
            to: The body that it stands on.
            at: Where its world stands in that body's frame (three numbers, or a `Placement`).
        """
        place = as_placement(at)
        if not np.array_equal(other.gravity, self._gravity):
            raise ModelError(
                f"'{other.name}' has gravity {other.gravity.tolist()}, '{self.name}' has {self._gravity.tolist()}; "
                "use with_gravity() to make them equal"
            )

        def named(name: str) -> str:
            return f"{prefix}/{name}" if prefix else name

        for joint in other.joints:
            at_root = joint.parent == WORLD
            seen = other.frames[joint.child].placement.inverse()  # the joint, from the frame that users see
            inertia = other.inertias[joint.child].moved(seen)
            self.body(named(joint.child), inertia, check=False)
            if joint.child in other.gravity_compensation:
                self._compensation[named(joint.child)] = other.gravity_compensation[joint.child].moved(seen)
            name = named(joint.name)
            if name in self._joints:
                raise ModelError(f"two joints are called '{name}'; give a prefix")
            below = place if at_root else other.frames[joint.parent].placement.inverse()
            entry = replace(
                joint,
                name=name,
                parent=to if at_root else named(joint.parent),
                child=named(joint.child),
                placement=below * joint.placement,
            )
            self._joints[name] = _Joint(entry, seen, None)
        for frame in other.frames.values():
            if frame.name == WORLD or frame.name in other.inertias:
                continue
            on_world = frame.body == WORLD
            below = place if on_world else other.frames[frame.body].placement.inverse()
            self.frame(named(frame.name), to if on_world else named(frame.body), below * frame.placement)
        for shape in other.shapes:
            on_world = shape.body == WORLD
            if isinstance(shape.solid, Ground) and to != WORLD:
                continue  # what stands on a body has left its floor
            below = place if on_world else other.frames[shape.body].placement.inverse()
            body = to if on_world else named(shape.body)
            self._shapes.append(replace(shape, body=body, placement=below * shape.placement))
        for constraint in other.constraints:
            if isinstance(constraint, CenterOfMass) and constraint.bodies is None:
                constraint = replace(constraint, bodies=other.body_names)
            names = Renaming(named, named, to, place, f"{prefix}/" if prefix else "")
            self._constraints.append(constraint.renamed(names))
        for actuator in other.actuators:
            also = tuple((named(joint), gear) for joint, gear in actuator.also)
            self._actuators.append(replace(actuator, name=named(actuator.name), joint=named(actuator.joint), also=also))
        for pose, q in other.poses.items():
            known = self._poses.setdefault(pose, {})
            known.update({named(joint.name): q[other.q_slice(joint.name)] for joint in other.joints})
        return self

    def build(self) -> Mechanism:
        """Check everything and make the mechanism."""
        self._check_names()
        for body, inertia in self._inertias.items():
            if body not in self._trusted:
                inertia.validate_mass(body)
        spanning = self._span()
        home, joints, inertias, frames = self._merge_fixed(spanning)
        self._check_inertias(home, inertias)
        _check_leaves(joints, inertias)
        shapes = tuple(_moved(shape, *home[shape.body]) for shape in self._shapes)
        constraints = (*self._cut(spanning, frames), *self._constraints)
        tree = Mechanism(self.name, tuple(joints), inertias, frames, self._gravity, shapes)
        poses = {name: self._pose_of(tree, name) for name in self._poses}
        held = self._merge_compensation(home)
        return replace(
            tree,
            constraints=constraints,
            poses=poses,
            actuators=tuple(self._actuators),
            gravity_compensation=held,
        )

    def _merge_compensation(self, home: Mapping[str, tuple[str, Placement]]) -> dict[str, Inertia]:
        """The compensated mass of each body that moves."""
        held: dict[str, Inertia] = {}
        for name, mass in self._compensation.items():
            body, place = home[name]
            if body != WORLD:
                held[body] = held.get(body, Inertia.zero()) + mass.moved(place)
        return {body: Inertia(sum_of.mass, sum_of.com) for body, sum_of in held.items() if sum_of.mass != 0}

    def _pose_of(self, tree: Mechanism, name: str) -> Floats:
        q = tree.neutral()
        for joint, values in self._poses[name].items():
            if joint not in self._joints:
                raise ModelError(f"pose '{name}' names joint '{joint}', which does not exist", subject=name)
            if joint in tree.joint_names:
                at = tree.q_slice(joint)
                if values.size != at.stop - at.start:
                    raise ModelError(f"pose '{name}': joint '{joint}' has {at.stop - at.start} numbers", subject=name)
                q[at] = values
        return q

    def _check_names(self) -> None:
        for joint in (joint.entry for joint in self._joints.values()):
            if joint.parent == joint.child:
                raise TopologyError(f"joint '{joint.name}' leads from '{joint.child}' to itself", subject=joint.name)
            for role, body in (("parent", joint.parent), ("child", joint.child)):
                if body not in self._inertias and body != WORLD:
                    known = {**self._inertias, WORLD: None}
                    raise TopologyError(
                        f"joint '{joint.name}' has {role} '{body}', which is no body{suggest(body, known)}",
                        subject=joint.name,
                    )
        for frame in self._frames.values():
            if frame.body not in self._inertias and frame.body != WORLD:
                near = suggest(frame.body, self._inertias)
                raise TopologyError(
                    f"frame '{frame.name}' is on '{frame.body}', which is no body{near}", subject=frame.name
                )
            if frame.name in self._inertias or frame.name == WORLD:
                raise ModelError(f"frame '{frame.name}' has the name of a body", subject=frame.name)

        for shape in self._shapes:
            if shape.body not in self._inertias and shape.body != WORLD:
                raise TopologyError(
                    f"a shape is on '{shape.body}', which is no body{suggest(shape.body, self._inertias)}",
                    subject=shape.body,
                )

    def _check_inertias(self, home: Mapping[str, tuple[str, Placement]], inertias: Mapping[str, Inertia]) -> None:
        """Of bodies as they move: what is fixed to a body counts with it."""
        trusted = {home[name][0] for name in self._trusted}
        for body, inertia in inertias.items():
            if body not in trusted:
                inertia.validate(body)

    def _span(self) -> Spanning:
        """The joints that carry, in depth-first order, and those that close loops."""
        edges = [
            Edge(name, joint.entry.parent, joint.entry.child, (*_preference(joint), -k), _reversible(joint.entry.type))
            for k, (name, joint) in enumerate(self._joints.items())
        ]
        spanning = spanning_tree(WORLD, edges)
        if spanning.stuck is not None:
            joint = self._joints[spanning.stuck].entry
            raise TopologyError(
                f"joint '{joint.name}' ({joint.type.kind_name}) would have to carry its parent '{joint.parent}' "
                f"from its child '{joint.child}', which no other joint leads to from the world: swap parent and child",
                subject=joint.name,
            )
        reached = {WORLD} | {e for name, _ in spanning.order for e in self._ends(name)}
        led_to = {joint.entry.child for joint in self._joints.values()}
        for body in self._inertias:
            if body not in reached and body not in led_to:
                raise TopologyError(
                    f"no joint leads to body '{body}': add one from the world, "
                    f"e.g. joint('{body}_base', Free(), 'world', '{body}')",
                    subject=body,
                )
        if spanning.lost:
            lost = spanning.lost[0]
            raise TopologyError(f"joint '{lost}' is part of a cycle that does not reach the world", subject=lost)
        return spanning

    def _ends(self, name: str) -> tuple[str, str]:
        entry = self._joints[name].entry
        return entry.parent, entry.child

    def _merge_fixed(
        self, spanning: Spanning
    ) -> tuple[dict[str, tuple[str, Placement]], list[TreeJoint], dict[str, Inertia], dict[str, Frame]]:
        """Where each body ends up (body, place), the joints and inertias that move, and all frames.

        A body that moves has the frame of its joint, so that its own frame may stand somewhere in it.
        """
        home: dict[str, tuple[str, Placement]] = {WORLD: (WORLD, Placement())}
        joints: list[TreeJoint] = []
        inertias: dict[str, Inertia] = {}
        frames = {WORLD: Frame(WORLD, WORLD, Placement())}
        for name, turned in spanning.order:
            joint, child_at = self._joints[name].entry, self._joints[name].child_at
            if turned:
                joint, child_at = _turned_around(joint, child_at), joint.placement
            inertia = self._inertias[joint.child]
            body, place = home[joint.parent]
            here, seen = place * joint.placement, child_at.inverse()
            if isinstance(joint.type, Fixed):
                here = here * seen
                home[joint.child] = (body, here)
                if body != WORLD:
                    inertias[body] = inertias[body] + inertia.moved(here)
                frames[joint.child] = Frame(joint.child, body, here)
                if name not in self._inertias and name not in self._frames and name != WORLD:
                    frames[name] = Frame(name, body, here)
            else:
                joints.append(replace(joint, parent=body, placement=here))
                home[joint.child] = (joint.child, seen)
                inertias[joint.child] = inertia.moved(seen)
                frames[joint.child] = Frame(joint.child, joint.child, seen)
        for frame in self._frames.values():
            body, place = home[frame.body]
            frames[frame.name] = Frame(frame.name, body, place * frame.placement)
        return home, joints, inertias, frames

    def _cut(self, spanning: Spanning, frames: Mapping[str, Frame]) -> list[Constraint]:
        """The constraints that stand for joints that close loops."""
        found: list[Constraint] = []
        for name in spanning.cut:
            joint, child_at = self._joints[name].entry, self._joints[name].child_at
            if joint.armature.any():
                raise UnsupportedFeature(
                    f"joint '{name}' closes a loop and has armature, which only a joint that carries can have: "
                    "cut another joint of the loop",
                    subject=name,
                )
            first, second = frames[joint.parent], frames[joint.child]
            if first.body == second.body:
                if isinstance(joint.type, Fixed) and _same(
                    first.placement * joint.placement, second.placement * child_at
                ):
                    continue
                raise TopologyError(
                    f"joint '{name}' connects '{joint.parent}' and '{joint.child}', which are fixed to each other",
                    subject=name,
                )
            constraint = closing(name, joint.type, joint.parent, joint.child, joint.placement, child_at)
            if constraint is not None:
                found.append(constraint)
        return found


def _moved(shape: Shape, body: str, place: Placement) -> Shape:
    """The shape on the body that its own has become part of."""
    return replace(shape, body=body, placement=place * shape.placement)


def _preference(joint: _Joint) -> tuple[int, ...]:
    """What to keep when a loop is cut, the most important first."""
    entry = joint.entry
    return (
        joint.cut is not True,
        isinstance(entry.type, Fixed),
        isinstance(entry.type, Helical) or bool(entry.armature.any()),
        entry.actuated is True,
        bool(entry.stiffness.any()),
        entry.actuated is not False,
        -entry.type.nv,
    )


def _reversible(type: Joint) -> bool:
    """Whether the joint, passed from child to parent, is one of the same coordinates."""
    return isinstance(type, Revolute | Prismatic | Helical | Fixed)


def _turned_around(joint: TreeJoint, child_at: Placement) -> TreeJoint:
    """The joint that leads from its child to its parent, with the same coordinate."""
    type = joint.type
    if isinstance(type, Helical):
        type = Helical(-type.axis, type.pitch)
    elif isinstance(type, Revolute):
        type = Revolute(-type.axis)
    elif isinstance(type, Prismatic):
        type = Prismatic(-type.axis)
    return replace(joint, type=type, parent=joint.child, child=joint.parent, placement=child_at)


def _same(a: Placement, b: Placement) -> bool:
    """Whether two placements agree to round-off of a file."""
    return bool(np.abs(a.position - b.position).max() < 1e-6 and np.abs(a.rotation - b.rotation).max() < 1e-6)


def _check_leaves(joints: Sequence[TreeJoint], inertias: Mapping[str, Inertia]) -> None:
    """A leaf that its joint can move without moving any mass has no determined acceleration."""
    parents = {j.parent for j in joints}
    for joint in joints:
        if joint.child in parents or (joint.armature > 0).all():
            continue
        inertia = inertias[joint.child]
        if _least_moved(joint.type, inertia) <= 0:
            raise ModelError(
                f"joint '{joint.name}' ({joint.type.kind_name}) moves body '{joint.child}', which has no "
                f"{'mass' if inertia.mass == 0 else 'inertia about its axis'} and carries no other body: "
                "its acceleration would be undetermined. Give the body an inertia, the joint an armature, or fix it",
                subject=joint.name,
            )


def _least_moved(type: Joint, inertia: Inertia) -> float:
    """The least inertia that a motion of the joint moves, as a part of what there is; zero for round-off."""
    atom = atoms_of(type)[-1]
    about_origin, about_com = inertia.about_origin(), inertia.rotational
    turns: dict[int, list[tuple[Floats, Floats | None]]] = {
        REVOLUTE: [(about_origin, atom.axis)],
        PRISMATIC: [],
        HELICAL: [(about_origin + atom.pitch**2 * inertia.mass * np.eye(3), atom.axis)],
        SPHERICAL: [(about_origin, None)],
        PLANAR: [(about_com, atom.axis)],  # free to turn about the center of mass
        FREE: [(about_com, None)],
    }
    moved = [inertia.mass] if atom.kind in (PRISMATIC, PLANAR, FREE) else []
    for I, axis in turns[atom.kind]:
        part = float(np.linalg.eigvalsh(I)[0] if axis is None else axis @ I @ axis)
        moved.append(part if part > 1e-14 * float(np.trace(about_origin)) else 0.0)
    return min(moved)


def compose(
    parts: Mapping[str, Model],
    at: Mapping[str, PlacementLike] | None = None,
    name: str = "scene",
) -> Mechanism:
    """One scene of several mechanisms; their names become ``"key/name"``.

    Args:
        parts: Mechanisms by key.
        at: Where the world of a part stands in the scene, by key (three numbers, or a `Placement`); by default at its
            origin.
        name: Name of the scene.
    """
    if not parts:
        raise InputError("compose needs at least one mechanism")
    places = dict(at or {})
    for key in places:
        if key not in parts:
            raise InputError(f"'at' names '{key}', which is none of the parts: {', '.join(parts)}")
    build = Builder(name, gravity=next(iter(parts.values())).gravity)
    for key, part in parts.items():
        build.add_mechanism(part, prefix=key, at=places.get(key, (0.0, 0.0, 0.0)))
    return build.build()


def attach(
    base: Model, other: Model, to: str, at: PlacementLike = (0.0, 0.0, 0.0), prefix: str | None = None
) -> Mechanism:
    """A new mechanism in which one stands on a body of another instead of the world.

    Args:
        base: The mechanism that carries.
        other: The mechanism that is carried.
        to: Body or frame of ``base`` that it stands on.
        at: Where its world stands in that frame (three numbers, or a `Placement`).
        prefix: Names of ``other`` become ``prefix/name``; by default the prefix is its own name.
    """
    frame = base.frame(to)
    here = base.frames[frame.body].placement.inverse() * frame.placement * as_placement(at)
    build = Builder(base.name, gravity=base.gravity)
    build.add_mechanism(base)
    build.add_mechanism(other, prefix=other.name if prefix is None else prefix, to=frame.body, at=here)
    return build.build()
