"""Building mechanisms: `Builder` for a new one, `compose` and `attach` for one made of others.

`Builder` collects bodies, joints and frames as a person thinks of them and checks the whole in `Builder.build`:
one joint leads to each body, fixed joints are merged away (their frames stay), and bodies are ordered depth first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from linkwork.errors import InputError, ModelError, TopologyError
from linkwork.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL, Fixed, Joint, atoms_of
from linkwork.mechanism import WORLD, Frame, JointEntry, Limits, Mechanism, suggest
from linkwork.rigid import Floats, Inertia, Placement, PlacementLike, VectorLike, as_placement

GRAVITY = (0.0, 0.0, -9.81)


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
        self._trusted: set[str] = set()

    def body(
        self, name: str, inertia: Inertia | None = None, meshes: Sequence[str] = (), check: bool = True
    ) -> Builder:
        """Add a body. Without an inertia it is massless, which only a body that carries others may be.

        ``check=False`` takes an inertia that no distribution of mass has, as some model files hold.
        """
        if not name or name == WORLD:
            raise ModelError(f"a body cannot be called '{name}'", subject=name)
        if name in self._inertias:
            raise ModelError(f"two bodies are called '{name}'", subject=name)
        self._inertias[name] = Inertia.zero() if inertia is None else inertia
        if not check:
            self._trusted.add(name)
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
        """Add a joint from ``parent`` (a body, or ``"world"``) to ``child``.

        At rest the child's frame stands ``at`` the given place of the parent's frame. Limits, armature and damping are
        one number, or one per coordinate.
        """
        if not name:
            raise ModelError("a joint needs a name")
        if name in self._joints:
            raise ModelError(f"two joints are called '{name}'", subject=name)
        if child in self._leads_to:
            raise TopologyError(
                f"body '{child}' is the child of joint '{self._leads_to[child]}' and of joint '{name}': "
                "in a tree one joint leads to each body",
                subject=name,
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
            self.body(named(joint.child), other.inertias[joint.child], other.meshes.get(joint.child, ()), check=False)
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
        for body, inertia in self._inertias.items():
            if body not in self._trusted:
                inertia.validate_mass(body)
        order = self._depth_first()
        home, inertias, frames = self._merge_fixed(order)
        joints = []
        for name in order:
            joint = self._joints[name]
            if isinstance(joint.type, Fixed):
                continue
            body, place = home[joint.parent]
            joints.append(replace(joint, parent=body, placement=place * joint.placement))
        self._check_inertias(home, inertias)
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
                    raise TopologyError(
                        f"joint '{joint.name}' has {role} '{body}', which is no body{suggest(body, known)}",
                        subject=joint.name,
                    )
        for frame in self._frames.values():
            if frame.body not in self._inertias and frame.body != WORLD:
                raise TopologyError(f"frame '{frame.name}' is on '{frame.body}', which is no body", subject=frame.name)
            if frame.name in self._inertias or frame.name == WORLD:
                raise ModelError(f"frame '{frame.name}' has the name of a body", subject=frame.name)
        for body in self._inertias:
            if body not in self._leads_to:
                raise TopologyError(
                    f"no joint leads to body '{body}': add one from the world, "
                    f"e.g. joint('{body}_base', Free(), 'world', '{body}')",
                    subject=body,
                )

    def _check_inertias(self, home: Mapping[str, tuple[str, Placement]], inertias: Mapping[str, Inertia]) -> None:
        """Of bodies as they move: what is fixed to a body counts with it."""
        trusted = {home[name][0] for name in self._trusted}
        for body, inertia in inertias.items():
            if body not in trusted:
                inertia.validate(body)

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
            raise TopologyError(f"joint '{lost}' is part of a cycle that does not reach the world", subject=lost)
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
        PLANAR: [(about_com, atom.axis)],  # free to turn about the centre of mass
        FREE: [(about_com, None)],
    }
    moved = [inertia.mass] if atom.kind in (PRISMATIC, PLANAR, FREE) else []
    for I, axis in turns[atom.kind]:
        part = float(np.linalg.eigvalsh(I)[0] if axis is None else axis @ I @ axis)
        moved.append(part if part > 1e-14 * float(np.trace(about_origin)) else 0.0)
    return min(moved)


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


def attach(
    base: Mechanism, other: Mechanism, to: str, at: PlacementLike = (0.0, 0.0, 0.0), prefix: str | None = None
) -> Mechanism:
    """A new mechanism in which ``other`` stands on the body or frame ``to`` of ``base`` instead of the world.

    Names of ``other`` become ``prefix/name`` (default prefix: the name of ``other``).
    """
    frame = base.frame(to)
    build = Builder(base.name, gravity=base.gravity)
    build.add_mechanism(base)
    build.add_mechanism(
        other, prefix=other.name if prefix is None else prefix, to=frame.body, at=frame.placement * as_placement(at)
    )
    return build.build()
