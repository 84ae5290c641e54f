"""A mechanism: bodies, joints and frames, immutable, with names to look things up by.

`Builder` collects bodies, joints and frames as a person thinks of them and checks the whole in `Builder.build`:
one joint leads to each body, fixed joints are merged away (their frames stay), and bodies are ordered depth first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, ModelError, TopologyError
from linkwork.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL, Fixed, Joint, atoms_of
from linkwork.rigid import Floats, Inertia, Placement, PlacementLike, VectorLike, as_placement

WORLD = "world"
GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds of one joint: position as long as q, the others as long as v; infinite where there is none."""

    lower: Floats
    upper: Floats
    velocity: Floats
    effort: Floats


@dataclass(frozen=True, eq=False)
class JointEntry:
    """A joint in its place: it leads from ``parent`` to ``child``, at ``placement`` in the parent's frame."""

    name: str
    type: Joint
    parent: str
    child: str
    placement: Placement
    limits: Limits
    armature: Floats
    damping: Floats
    friction: Floats


@dataclass(frozen=True, eq=False)
class Frame:
    """A named place on a body."""

    name: str
    body: str
    placement: Placement


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
class Mechanism:
    """Bodies connected by joints into a tree, ready for computation. Made by `Builder`, `load` or `compose`.

    Joint ``k`` leads to body ``k``; bodies are ordered so that parents come first.
    """

    name: str
    joints: tuple[JointEntry, ...]
    inertias: Mapping[str, Inertia]
    frames: Mapping[str, Frame]
    """Every named place: bodies, merged bodies, and frames added by hand."""
    gravity: Floats
    meshes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Mesh file names of each body, as the model file spells them."""
    constraints: tuple[object, ...] = ()

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

    nq: int = field(init=False)
    nv: int = field(init=False)
    nc: int = field(init=False)
    _at: Mapping[str, int] = field(init=False)
    _q: tuple[slice, ...] = field(init=False)
    _v: tuple[slice, ...] = field(init=False)

    def __post_init__(self) -> None:
        qs, vs, nq, nv = [], [], 0, 0
        for joint in self.joints:
            qs.append(slice(nq, nq + joint.type.nq))
            vs.append(slice(nv, nv + joint.type.nv))
            nq, nv = qs[-1].stop, vs[-1].stop
        for key, value in {
            "nq": nq,
            "nv": nv,
            "nc": 0,
            "_at": {j.name: k for k, j in enumerate(self.joints)},
            "_q": tuple(qs),
            "_v": tuple(vs),
            "inertias": MappingProxyType(dict(self.inertias)),
            "frames": MappingProxyType(dict(self.frames)),
            "meshes": MappingProxyType(dict(self.meshes)),
        }.items():
            object.__setattr__(self, key, value)

    def joint(self, name: str) -> JointEntry:
        """The joint of that name."""
        return self.joints[self._joint_index(name)]

    def q_slice(self, joint: str) -> slice:
        """Where in q the numbers of a joint stand."""
        return self._q[self._joint_index(joint)]

    def v_slice(self, joint: str) -> slice:
        """Where in v, tau and accelerations the numbers of a joint stand."""
        return self._v[self._joint_index(joint)]

    def q_index(self, joint: str) -> int:
        """The place in q of a joint with one number."""
        return _single(self.q_slice(joint), joint, "q_slice")

    def v_index(self, joint: str) -> int:
        """The place in v of a joint with one degree of freedom."""
        return _single(self.v_slice(joint), joint, "v_slice")

    def frame(self, name: str) -> Frame:
        """The frame of that name."""
        if name not in self.frames:
            raise InputError(f"robot '{self.name}' has no frame '{name}'{_suggest(name, self.frames)}")
        return self.frames[name]

    def _joint_index(self, name: str) -> int:
        if name not in self._at:
            raise InputError(f"robot '{self.name}' has no joint '{name}'{_suggest(name, self._at)}")
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
        """Viscous damping of the joints, ``(nv,)``. Kept from files; dynamics functions take all torques from ``tau``."""
        return self._gather("damping")

    @property
    def friction(self) -> Floats:
        """Dry friction of the joints, ``(nv,)``. Kept from files; not applied."""
        return self._gather("friction")

    @property
    def mass(self) -> float:
        """Total mass of the moving bodies."""
        return float(sum(self.inertias[name].mass for name in self.body_names))

    # Configurations ------------------------------------------------------------------------------

    def neutral(self) -> Floats:
        """The configuration of all joints at rest, ``(nq,)``."""
        return np.array([x for j in self.joints for x in j.type.neutral], dtype=np.float64)

    def random(self, seed: int | np.random.Generator) -> Floats:
        """A random configuration within the limits, ``(nq,)``: angles without limits in ±π, positions in ±1 m."""
        rng = np.random.default_rng(seed)
        parts = [j.type.group.random(rng, j.limits.lower, j.limits.upper) for j in self.joints]
        return np.concatenate(parts) if parts else np.zeros(0)

    def integrate(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
        """Move ``q`` along the velocity ``v`` for one second, ``(..., nq)``: ``q + v`` on the joints' manifolds."""
        return self._combine("integrate", self._checked(q, self.nq, "q"), self._checked(v, self.nv, "v"), self.nq)

    def difference(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """The velocity that leads from ``q`` to ``p`` in one second, ``(..., nv)``."""
        return self._combine("difference", self._checked(q, self.nq, "q"), self._checked(p, self.nq, "p"), self.nv)

    def normalise(self, q: npt.ArrayLike) -> Floats:
        """``q`` with quaternions (and the cos, sin of planar joints) of unit length."""
        out = self._checked(q, self.nq, "q").copy()
        for at in self.unit_slices():
            part = out[..., at]
            length = np.linalg.norm(part, axis=-1, keepdims=True)
            if (length < 1e-6).any():
                raise InputError(f"q[{at.start}:{at.stop}] has zero length: no direction to normalise to")
            out[..., at] = part / length
        return out

    def unit_slices(self) -> tuple[slice, ...]:
        """Where in q numbers of unit length stand: quaternions, and cos and sin of planar joints."""
        found = []
        for joint, at in zip(self.joints, self._q, strict=True):
            if joint.type.unit is not None:
                start, count = joint.type.unit
                found.append(slice(at.start + start, at.start + start + count))
        return tuple(found)

    def _combine(self, operation: str, q: Floats, other: Floats, width: int) -> Floats:
        batch = np.broadcast_shapes(q.shape[:-1], other.shape[:-1])
        q = np.broadcast_to(q, (*batch, q.shape[-1]))
        other = np.broadcast_to(other, (*batch, other.shape[-1]))
        out = np.empty((*batch, width))
        for joint, in_q, in_v in zip(self.joints, self._q, self._v, strict=True):
            second = in_v if operation == "integrate" else in_q
            result = in_q if operation == "integrate" else in_v
            out[..., result] = getattr(joint.type.group, operation)(q[..., in_q], other[..., second])
        return out

    def _checked(self, x: npt.ArrayLike, width: int, name: str) -> Floats:
        array = np.asarray(x, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != width:
            found = "a single number" if array.ndim == 0 else f"{array.shape[-1]} numbers"
            raise InputError(f"{name} has {found}, robot '{self.name}' needs {width}")
        if not np.isfinite(array).all():
            raise InputError(f"{name} holds NaN or infinity")
        return array

    # New mechanisms from old ones ------------------------------------------------------------------

    def constrained(self, *constraints: object) -> Mechanism:
        """A new mechanism with these constraints added; this one is unchanged."""
        if constraints:
            raise NotImplementedError("constraints are not available yet: this release computes the dynamics of trees")
        return self

    def attached(
        self, other: Mechanism, to: str, at: PlacementLike = (0.0, 0.0, 0.0), prefix: str | None = None
    ) -> Mechanism:
        """A new mechanism in which ``other`` stands on the body or frame ``to`` of this one instead of the world.

        Names of ``other`` become ``prefix/name`` (default prefix: the name of ``other``).
        """
        base = self.frame(to)
        build = Builder(self.name, gravity=self.gravity)
        build.add_mechanism(self)
        build.add_mechanism(
            other, prefix=other.name if prefix is None else prefix, to=base.body, at=base.placement * as_placement(at)
        )
        return build.build()

    def with_gravity(self, gravity: VectorLike) -> Mechanism:
        """The same mechanism under another gravity, e.g. ``(0, 0, 0)``."""
        g = np.array(gravity, dtype=np.float64)
        if g.shape != (3,) or not np.isfinite(g).all():
            raise InputError("gravity is three finite numbers")
        g.setflags(write=False)
        return replace(self, gravity=g)

    def __repr__(self) -> str:
        return f"<Mechanism '{self.name}': {len(self.joints)} joints, nq={self.nq}, nv={self.nv}, {self.mass:.4g} kg>"


def _single(at: slice, joint: str, other: str) -> int:
    if at.stop - at.start != 1:
        raise InputError(f"joint '{joint}' has {at.stop - at.start} numbers, not one: use {other}")
    return int(at.start)


def _suggest(name: str, known: Mapping[str, object]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=3)
    return f"; did you mean {', '.join(repr(c) for c in close)}?" if close else ""


class Builder:
    """Collects bodies, joints and frames; `build` makes the mechanism.

    >>> build = Builder("double pendulum")
    >>> build.body("upper", Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
    >>> build.joint("shoulder", Revolute("y"), parent="world", child="upper")
    >>> build.body("lower", Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
    >>> build.joint("elbow", Revolute("y"), parent="upper", child="lower", at=(0, 0, -0.5))
    >>> build.frame("tip", on="lower", at=(0, 0, -0.5))
    >>> build.build()
    <Mechanism 'double pendulum': 2 joints, nq=2, nv=2, 2 kg>
    """

    def __init__(self, name: str = "mechanism", gravity: VectorLike = GRAVITY) -> None:
        self.name = name
        g = np.array(gravity, dtype=np.float64)
        if g.shape != (3,) or not np.isfinite(g).all():
            raise ModelError("gravity is three finite numbers")
        g.setflags(write=False)
        self._gravity = g
        self._inertias: dict[str, Inertia] = {}
        self._joints: dict[str, JointEntry] = {}
        self._leads_to: dict[str, str] = {}
        self._frames: dict[str, Frame] = {}
        self._meshes: dict[str, tuple[str, ...]] = {}

    def body(
        self, name: str, inertia: Inertia | None = None, meshes: Sequence[str] = (), check: bool = True
    ) -> Builder:
        """Add a body. Without an inertia it is massless, which only a body that carries others may be.

        ``check=False`` takes an inertia that no distribution of mass has, as some model files hold.
        """
        if not name or name == WORLD:
            raise ModelError(f"a body cannot be called '{name}'")
        if name in self._inertias:
            raise ModelError(f"two bodies are called '{name}'")
        inertia = Inertia.zero() if inertia is None else inertia
        if check:
            inertia.validate(name)
        self._inertias[name] = inertia
        if meshes:
            self._meshes[name] = tuple(meshes)
        return self

    def joint(
        self,
        name: str,
        type: Joint,
        parent: str,
        child: str,
        at: PlacementLike = (0.0, 0.0, 0.0),
        *,
        lower: float | Sequence[float] | Floats | None = None,
        upper: float | Sequence[float] | Floats | None = None,
        velocity: float | Sequence[float] | Floats | None = None,
        effort: float | Sequence[float] | Floats | None = None,
        armature: float | Sequence[float] | Floats = 0.0,
        damping: float | Sequence[float] | Floats = 0.0,
        friction: float | Sequence[float] | Floats = 0.0,
    ) -> Builder:
        """Add a joint from ``parent`` (a body, or ``"world"``) to ``child``; at rest the child's frame stands ``at`` the
        given place of the parent's frame. Limits, armature and damping are one number, or one per coordinate.
        """
        if not name:
            raise ModelError("a joint needs a name")
        if name in self._joints:
            raise ModelError(f"two joints are called '{name}'")
        if child in self._leads_to:
            raise TopologyError(
                f"body '{child}' is the child of joint '{self._leads_to[child]}' and of joint '{name}': "
                "in a tree one joint leads to each body"
            )
        nq, nv = type.nq, type.nv
        limits = Limits(
            _per_dof(lower, nq, -np.inf, f"joint '{name}': lower limit"),
            _per_dof(upper, nq, np.inf, f"joint '{name}': upper limit"),
            _per_dof(velocity, nv, np.inf, f"joint '{name}': velocity limit"),
            _per_dof(effort, nv, np.inf, f"joint '{name}': effort limit"),
        )
        if (limits.lower > limits.upper).any():
            raise ModelError(f"joint '{name}': lower limit {limits.lower} is above upper limit {limits.upper}")
        numbers = {}
        for what, value in (("armature", armature), ("damping", damping), ("friction", friction)):
            numbers[what] = _per_dof(value, nv, 0.0, f"joint '{name}': {what}")
            if (numbers[what] < 0).any() or not np.isfinite(numbers[what]).all():
                raise ModelError(f"joint '{name}': {what} {numbers[what]} is negative or infinite")
        self._joints[name] = JointEntry(name, type, parent, child, as_placement(at), limits, **numbers)
        self._leads_to[child] = name
        return self

    def frame(self, name: str, on: str, at: PlacementLike = (0.0, 0.0, 0.0)) -> Builder:
        """Add a named place on a body."""
        if name in self._frames:
            raise ModelError(f"two frames are called '{name}'")
        self._frames[name] = Frame(name, on, as_placement(at))
        return self

    def add_mechanism(
        self, other: Mechanism, prefix: str = "", to: str = WORLD, at: PlacementLike = (0.0, 0.0, 0.0)
    ) -> Builder:
        """Add a copy of a whole mechanism, standing on ``to`` instead of the world, its names prefixed."""
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
            self.body(named(joint.child), other.inertias[joint.child], other.meshes.get(joint.child, ()))
            name = named(joint.name)
            if name in self._joints:
                raise ModelError(f"two joints are called '{name}'; give a prefix")
            self._joints[name] = replace(
                joint,
                name=name,
                parent=to if at_root else named(joint.parent),
                child=named(joint.child),
                placement=place * joint.placement if at_root else joint.placement,
            )
            self._leads_to[named(joint.child)] = name
        for frame in other.frames.values():
            if frame.name == WORLD or frame.name in other.inertias:
                continue
            on_world = frame.body == WORLD
            self.frame(
                named(frame.name),
                to if on_world else named(frame.body),
                place * frame.placement if on_world else frame.placement,
            )
        return self

    def build(self) -> Mechanism:
        """Check everything and make the mechanism."""
        self._check_names()
        order = self._depth_first()
        home, inertias, frames = self._merge_fixed(order)
        joints = []
        for name in order:
            joint = self._joints[name]
            if isinstance(joint.type, Fixed):
                continue
            body, place = home[joint.parent]
            joints.append(replace(joint, parent=body, placement=place * joint.placement))
        _check_leaves(joints, inertias)
        meshes: dict[str, tuple[str, ...]] = {}
        for name, files in self._meshes.items():
            body = home[name][0]
            meshes[body] = meshes.get(body, ()) + files
        return Mechanism(self.name, tuple(joints), inertias, frames, self._gravity, meshes)

    def _check_names(self) -> None:
        for joint in self._joints.values():
            for role, body in (("parent", joint.parent), ("child", joint.child)):
                if body not in self._inertias and not (body == WORLD and role == "parent"):
                    known = {**self._inertias, WORLD: None}
                    raise TopologyError(f"joint '{joint.name}' has {role} '{body}', which is no body{_suggest(body, known)}")
        for frame in self._frames.values():
            if frame.body not in self._inertias and frame.body != WORLD:
                raise TopologyError(f"frame '{frame.name}' is on '{frame.body}', which is no body")
            if frame.name in self._inertias or frame.name == WORLD:
                raise ModelError(f"frame '{frame.name}' has the name of a body")
        for body in self._inertias:
            if body not in self._leads_to:
                raise TopologyError(
                    f"no joint leads to body '{body}': add one from the world, "
                    f"e.g. joint('{body}_base', Free(), 'world', '{body}')"
                )

    def _depth_first(self) -> list[str]:
        children: dict[str, list[str]] = {}
        for joint in self._joints.values():
            children.setdefault(joint.parent, []).append(joint.name)
        order: list[str] = []
        stack = children.get(WORLD, [])[::-1]
        while stack:
            name = stack.pop()
            order.append(name)
            stack.extend(children.get(self._joints[name].child, [])[::-1])
        if len(order) < len(self._joints):
            lost = next(name for name in self._joints if name not in set(order))
            raise TopologyError(f"joint '{lost}' is part of a cycle that does not reach the world")
        return order

    def _merge_fixed(
        self, order: list[str]
    ) -> tuple[dict[str, tuple[str, Placement]], dict[str, Inertia], dict[str, Frame]]:
        """Where each body ends up (body, place), the inertias that move, and all frames."""
        home: dict[str, tuple[str, Placement]] = {WORLD: (WORLD, Placement())}
        inertias: dict[str, Inertia] = {}
        frames = {WORLD: Frame(WORLD, WORLD, Placement())}
        for name in order:
            joint = self._joints[name]
            inertia = self._inertias[joint.child]
            if isinstance(joint.type, Fixed):
                body, place = home[joint.parent]
                here = place * joint.placement
                home[joint.child] = (body, here)
                if body != WORLD:
                    inertias[body] = inertias[body] + inertia.moved(here)
                frames[joint.child] = Frame(joint.child, body, here)
                if name not in self._inertias and name not in self._frames and name != WORLD:
                    frames[name] = Frame(name, body, here)
            else:
                home[joint.child] = (joint.child, Placement())
                inertias[joint.child] = inertia
                frames[joint.child] = Frame(joint.child, joint.child, Placement())
        for frame in self._frames.values():
            body, place = home[frame.body]
            frames[frame.name] = Frame(frame.name, body, place * frame.placement)
        return home, inertias, frames


def _check_leaves(joints: Sequence[JointEntry], inertias: Mapping[str, Inertia]) -> None:
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
                "its acceleration would be undetermined. Give the body an inertia, the joint an armature, or fix it"
            )


def _least_moved(type: Joint, inertia: Inertia) -> float:
    """The least inertia that a motion of the joint moves."""
    atom = atoms_of(type)[-1]
    I = inertia.about_origin()  # noqa: E741
    about_axis = inertia.mass if atom.axis is None else float(atom.axis @ I @ atom.axis)
    least = float(np.linalg.eigvalsh(I)[0])
    return {
        REVOLUTE: about_axis,
        PRISMATIC: inertia.mass,
        HELICAL: about_axis + atom.pitch**2 * inertia.mass,
        SPHERICAL: least,
        PLANAR: min(inertia.mass, about_axis),
        FREE: min(inertia.mass, least),
    }[atom.kind]


def compose(
    parts: Mapping[str, Mechanism],
    at: Mapping[str, PlacementLike] | None = None,
    name: str = "scene",
) -> Mechanism:
    """One scene of several mechanisms; their names become ``"key/name"``.

    ``at`` places the world of a part in the scene.
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

