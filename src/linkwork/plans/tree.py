"""The arrays that kernels read: a mechanism's tree of atoms, in frames chosen for cheap arithmetic.

Each body's frame is turned so that the axis of its one-DoF joint is z, turned about that axis and slid along it to
where the placements of its parent and children have the most zeros. Users never see these frames: the frames of `Tree`
lead from them to the places that users name. Matter that a joint cannot tell from matter of the parent is counted with
the parent (`regrouped`: the base parameters of system identification), which leaves zeros behind.

Body 0 is the world. Body ``i`` hangs on ``parent[i] < i``, at rest at rotation ``P[i]`` and offset ``p[i]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import DOF, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL, Atom, atoms_of
from linkwork.model.lie import VECTOR
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation, tidy
from linkwork.plans.layout import Layout
from linkwork.plans.slots import slots_of

LOCAL, ALIGNED, WORLD_ORIGIN = range(3)
"""Vectors at a frame in its own axes; in the world's axes; as spatial vectors at the world's origin."""


Tree = Any
"""The named tuple of a `Layout`: topology and constants of a mechanism, for kernels."""

TREE = Layout(
    "tree",
    sizes=(
        "n",  # bodies, with the world
        "nq",
        "nv",
        "nf",  # frames that the kernel was asked for
        "nframes",  # these and the frames of constraints
        "reference",  # axes of vectors at frames: LOCAL, ALIGNED or WORLD_ORIGIN
        "nforward",  # slots of sweeps from the root, and to it
        "nbackward",
        "nsprings",  # degrees of freedom with a spring, and with a damper
        "ndampers",
    ),
    integers={
        "parent": ("n",),
        "kind": ("n",),
        "iq": ("n",),  # where a body's joint starts in q
        "iv": ("n",),  # where it starts in v
        "turned": ("n",),  # 1 where P is not the identity
        "geared": ("n",),  # 1 where the joint has armature
        "last_child": ("n",),  # 0 for a leaf
        "forward_slot": ("n",),  # see `slots`
        "backward_slot": ("n",),
        "body": ("nframes",),  # the body of each frame
        "spring_v": ("nsprings",),  # where a spring's degree of freedom stands in v, and in q
        "spring_q": ("nsprings",),
        "damper_v": ("ndampers",),
    },
    floats={
        "P": ("n", 3, 3),
        "p": ("n", 3),
        "pitch": ("n",),
        "mass": ("n",),  # as mc and I, of matter as `regrouped`; that of body 0 does not move
        "mc": ("n", 3),  # first moment of mass
        "I": ("n", 6),  # rotational inertia about the body's origin: xx xy xz yy yz zz
        "armature": ("nv",),
        "gravity": (3,),
        "F": ("nframes", 3, 3),  # rotation of each frame in its body
        "f": ("nframes", 3),  # position of each frame in its body
        "stiffness": ("nsprings",),
        "rest": ("nsprings",),  # where a spring is at rest
        "damping": ("ndampers",),
    },
)
"""A mechanism without constraints."""

LENGTH = 0.1
"""Meters: the size of a body, against which round-off in offsets is measured."""

SLIDES = (REVOLUTE, PRISMATIC, HELICAL)
"""Kinds whose frame may move along z: the joint's motion commutes with that."""


class _Link(NamedTuple):
    """One atom and the body behind it, before its frame is chosen."""

    parent: int
    atom: Atom
    placement: Placement
    inertia: Inertia
    iq: int
    iv: int


def tree_of(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> Tree:
    """The arrays of a mechanism without its constraints, with these frames to look at or push on."""
    return plant(mechanism, frames, reference)[0]


class Ground(NamedTuple):
    """What stays known of a mechanism when its arrays are made."""

    number: dict[str, int]
    """The number of each body."""
    inner: list[Placement]
    """The frame of kernels, in the user's frame, of each body."""
    inertias: tuple[Floats, Floats, Floats]
    """Mass, first moment and rotational inertia of each body in the frame of kernels, before they are `regrouped`."""


def plant(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> tuple[Tree, Ground]:
    """The arrays of a mechanism, and what they were made from."""
    links, index = _atoms(mechanism)
    inner = _inner_frames(links)
    n = len(links) + 1
    nv = mechanism.nv
    ints = {name: np.zeros(n, dtype=np.int64) for name in ("parent", "kind", "iq", "iv", "turned", "geared")}
    P, p = np.zeros((n, 3, 3)), np.zeros((n, 3))
    P[0] = np.eye(3)
    pitch, mass = np.zeros(n), np.zeros(n)
    mc, I = np.zeros((n, 3)), np.zeros((n, 3, 3))
    armature = mechanism.armature
    for i, link in enumerate(links, start=1):
        place = inner[link.parent].inverse() * link.placement * inner[i]
        P[i], p[i] = place.rotation, rounded(place.position, LENGTH)
        ints["parent"][i], ints["kind"][i] = link.parent, link.atom.kind
        ints["iq"][i], ints["iv"][i] = link.iq, link.iv
        ints["turned"][i] = not np.array_equal(place.rotation, np.eye(3))
        ints["geared"][i] = armature[link.iv : link.iv + DOF[link.atom.kind]].any()
        pitch[i] = link.atom.pitch
        seen = link.inertia.moved(inner[i].inverse())
        mass[i], mc[i], I[i] = seen.mass, seen.mass * seen.com, seen.about_origin()
    ground = Ground(index, inner, (mass, mc, I))
    mass, mc, I = regrouped(ints["parent"], ints["kind"], P, p, mass, mc, I)
    slots = slots_of(ints["parent"])
    chosen = [mechanism.frame(name) for name in frames]
    at = [inner[index[frame.body]].inverse() * frame.placement for frame in chosen]
    tree = TREE.type(
        n=n,
        nq=mechanism.nq,
        nv=nv,
        nf=len(chosen),
        reference=reference,
        nforward=slots.forward_count,
        nbackward=slots.backward_count,
        **ints,
        last_child=slots.last_child,
        forward_slot=slots.forward,
        backward_slot=slots.backward,
        body=np.array([index[frame.body] for frame in chosen], dtype=np.int64),
        P=P,
        p=p,
        pitch=pitch,
        mass=mass,
        mc=np.array([rounded(row) for row in mc]),
        I=np.array([rounded(row[np.triu_indices(3)]) for row in I]),
        armature=armature,
        gravity=np.array(mechanism.gravity),
        F=np.array([place.rotation for place in at]).reshape(-1, 3, 3),
        f=np.array([rounded(place.position, LENGTH) for place in at]).reshape(-1, 3),
        nframes=len(chosen),
        **_passive_elements(mechanism),
    )
    return tree, ground


def _passive_elements(mechanism: Model) -> dict[str, Any]:
    """Springs and dampers of joints; springs act where coordinates are plain numbers."""
    springs, dampers = [], []
    for joint in mechanism.joints:
        q, v = mechanism.q_slice(joint.name), mechanism.v_slice(joint.name)
        dampers += [(v.start + k, d) for k, d in enumerate(joint.damping) if d]
        if joint.type.group is VECTOR:
            springs += [(v.start + k, q.start + k, s, joint.rest[k]) for k, s in enumerate(joint.stiffness) if s]
    of_springs, of_dampers = np.array(springs).reshape(-1, 4), np.array(dampers).reshape(-1, 2)
    return {
        "nsprings": len(springs),
        "ndampers": len(dampers),
        "spring_v": of_springs[:, 0].astype(np.int64),
        "spring_q": of_springs[:, 1].astype(np.int64),
        "damper_v": of_dampers[:, 0].astype(np.int64),
        "stiffness": of_springs[:, 2].copy(),
        "rest": of_springs[:, 3].copy(),
        "damping": of_dampers[:, 1].copy(),
    }


def without_passive_elements(tree: Tree) -> Tree:
    """The same arrays of a mechanism whose joints have neither springs nor dampers."""
    elements = ("spring_v", "spring_q", "damper_v", "stiffness", "rest", "damping")
    return tree._replace(nsprings=0, ndampers=0, **{name: getattr(tree, name)[:0] for name in elements})


def _atoms(mechanism: Model) -> tuple[list[_Link], dict[str, int]]:
    """The atoms in order, and the number of each body; a universal joint gets a massless link between."""
    links: list[_Link] = []
    index = {WORLD: 0}
    for joint in mechanism.joints:
        atoms = atoms_of(joint.type)
        iq, iv = mechanism.q_slice(joint.name).start, mechanism.v_slice(joint.name).start
        for k, atom in enumerate(atoms):
            last = k == len(atoms) - 1
            links.append(
                _Link(
                    parent=index[joint.parent] if k == 0 else len(links),
                    atom=atom,
                    placement=joint.placement if k == 0 else Placement(),
                    inertia=mechanism.inertias[joint.child] if last else Inertia.zero(),
                    iq=iq + k,
                    iv=iv + k,
                )
            )
        index[joint.child] = len(links)
    return links, index


def _inner_frames(links: list[_Link]) -> list[Placement]:
    """The kernel's frame of each body, in the user's frame of that body: first turned, then slid."""
    children: list[list[_Link]] = [[] for _ in range(len(links) + 1)]
    for link in links:
        children[link.parent].append(link)
    turn = [np.eye(3)]
    for i, link in enumerate(links, start=1):
        turn.append(_turned(link, turn[link.parent], children[i]))
    slide = _slides(links, turn)
    return [Placement((0, 0, 0) if i == 0 else turn[i][:, 2] * slide[i], turn[i]) for i in range(len(turn))]


def _turned(link: _Link, parent_turn: Floats, children: list[_Link]) -> Floats:
    """A rotation whose z is the joint's axis; where x points is free, and chosen for the most zeros.

    Tried are x along the user's axes, along the parent's, and along the axis and the offset of each child.
    """
    axis = link.atom.axis
    if axis is None:
        return np.eye(3)
    if link.atom.kind == PLANAR:
        return np.eye(3) if axis[2] == 1 else aligning_rotation(axis)
    to_parent = parent_turn.T @ link.placement.rotation
    seen = tidy(to_parent @ axis)
    straight = np.eye(3) if np.array_equal(seen, (0.0, 0.0, 1.0)) else aligning_rotation(seen)
    options = [aligning_rotation(axis), tidy(to_parent.T @ straight)]
    for child in children:
        for direction in (child.placement.rotation @ _axis_of(child), child.placement.position):
            x = direction - axis * (axis @ direction)
            length = float(np.linalg.norm(x))
            if length > 1e-6 * LENGTH:
                options.append(tidy(np.column_stack([x / length, np.cross(axis, x / length), axis])))
    return min(options, key=lambda turn: _untidiness(turn, to_parent, link.inertia, children))


def _untidiness(turn: Floats, to_parent: Floats, inertia: Inertia, children: list[_Link]) -> int:
    """Numbers that are not 0, or not 0 or ±1 where they multiply, if a body's frame is turned so.

    They are those of the turn to the parent, of the matter that stays with the body (`regrouped`), and of the axes and
    offsets of the children. Along z, offsets do not count: frames can slide.
    """
    I = turn.T @ inertia.about_origin() @ turn
    mixed = rounded(np.array([I[0, 1], I[0, 2], I[1, 2]]), float(np.trace(I)))
    numbers = [rounded(turn.T @ inertia.com)[:2], mixed]
    numbers += [rounded(turn.T @ child.placement.position, LENGTH)[:2] for child in children]
    factors = [to_parent @ turn]
    factors += [turn.T @ child.placement.rotation @ _axis_of(child) for child in children]
    return sum(int(np.count_nonzero(x)) for x in numbers) + sum(_uneven(tidy(x)) for x in factors)


def _axis_of(link: _Link) -> Floats:
    """The axis of a link's joint; where it has none, z stands for all."""
    return np.array([0.0, 0.0, 1.0]) if link.atom.axis is None else link.atom.axis


def _uneven(x: Floats) -> int:
    """How many numbers are neither 0 nor ±1."""
    return int(np.count_nonzero(np.abs(x) * (1.0 - np.abs(x))))


def _slides(links: list[_Link], turn: list[Floats]) -> list[float]:
    """How far to slide each frame along its z so that offsets between bodies have the fewest non-zeros.

    An offset is linear in the slides at its two ends: ``start + along slide - z slide_of_parent``. Children before
    parents and again, each body takes the best of the slides that zero a number of an offset it touches. Offsets from
    the world do not count: no inertia is carried over them, and they may be kilometers.
    """
    n = len(links) + 1
    children: list[list[int]] = [[] for _ in range(n)]
    start, along = [[0.0] * 3], [[0.0] * 3]
    for i, link in enumerate(links, start=1):
        children[link.parent].append(i)
        start.append((turn[link.parent].T @ link.placement.position).tolist())
        along.append((turn[link.parent].T @ link.placement.rotation @ turn[i][:, 2]).tolist())
    slide = [0.0] * n

    def offset(i: int) -> list[float]:
        s, (x, y, z), (a, b, c) = slide[i], start[i], along[i]
        return [x + a * s, y + b * s, z + c * s - slide[links[i - 1].parent]]

    def cost(i: int) -> int:
        touched = children[i] if links[i - 1].parent == 0 else (i, *children[i])
        return sum(abs(x) > 1e-15 * LENGTH for k in touched for x in offset(k))

    for _ in range(3):
        for i in range(n - 1, 0, -1):
            if links[i - 1].atom.kind not in SLIDES:
                continue
            before, now = slide[i], offset(i)
            options = [before, 0.0]
            if links[i - 1].parent > 0:
                options += [before - now[k] / along[i][k] for k in range(3) if abs(along[i][k]) > 1e-3]
            options += [before + offset(k)[2] for k in children[i]]
            scores = []
            for slide[i] in options:
                scores.append((cost(i), abs(slide[i]), slide[i]))
            slide[i] = min(scores)[2]
    return slide


def regrouped(
    parent: Any, kind: Any, P: Floats, p: Floats, mass: Floats, mc: Floats, I: Floats
) -> tuple[Floats, Floats, Floats]:
    """Matter moved, leaves first, from each body to its parent where no motion of the joint can tell.

    A revolute joint cannot tell a thin rod along its axis: mass ``m``, first moment ``(0, 0, b)`` and inertia
    ``(J, J, 0)`` look the same at every angle and resist no turn. A prismatic joint cannot tell a rotational inertia, a
    spherical one a mass at its center. Torques, accelerations, momenta and energies stay what they are.
    """
    mass, mc, I = mass.copy(), mc.copy(), I.copy()
    for i in range(len(mass) - 1, 0, -1):
        m, b, J = 0.0, np.zeros(3), np.zeros((3, 3))
        if kind[i] == REVOLUTE:
            m, b, J = mass[i], np.array([0.0, 0.0, mc[i, 2]]), np.diag([I[i, 1, 1], I[i, 1, 1], 0.0])
        elif kind[i] == PRISMATIC:
            J = I[i].copy()
        elif kind[i] == SPHERICAL:
            m = mass[i]
        mass[i] -= m
        mc[i] -= b
        I[i] -= J
        h, r = parent[i], p[i]
        turned = P[i] @ b
        moved = turned + m * r
        shift = (r @ turned + r @ moved) * np.eye(3) - np.outer(turned, r) - np.outer(r, moved)
        mass[h] += m
        mc[h] += moved
        I[h] += P[i] @ J @ P[i].T + shift
    return mass, mc, I


def rounded(x: Floats, size: float = 0.0) -> Floats:
    """Numbers that are round-off of the largest one, or of ``size``, are zeros."""
    return np.where(np.abs(x) < 1e-15 * max(size, float(np.abs(x).max(initial=0.0))), 0.0, x)


def unit_ranges(mechanism: Model) -> tuple[tuple[int, int], ...]:
    """Start and count of the numbers in q that must not all vanish."""
    return tuple((at.start, at.stop - at.start) for at in mechanism.unit_slices())
