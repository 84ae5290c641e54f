# SPDX-License-Identifier: BSD-3-Clause
"""The arrays that kernels read: a mechanism's tree of atoms, in frames chosen for cheap arithmetic.

Each body's frame is turned so that the axis of its one-DoF joint is z, turned about that axis and slid along it to
where the placements of its children have the most zeros. The parent sees the joint at rest with an x axis of its own
choice; the angle between the two is an offset of the joint's angle, as in Denavit and Hartenberg's convention. Users
never see these frames: the frames of `Tree` lead from them to the places that users name. Matter that a joint cannot
tell from matter of the parent is counted with the parent (`regrouped`: the base parameters of system identification),
which leaves zeros behind.

Body 0 is the world. Body ``i`` hangs on ``parent[i] < i``, at rest at rotation ``P[i]`` and offset ``p[i]``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import DOF, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL, Atom, atoms_of
from linkwork.model.lie import VECTOR
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation
from linkwork.plans.layout import Integers, Layout
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
        "nf",  # frames of the kernel's inputs or outputs
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
        "has_rotation": ("n",),  # 1 where P is not the identity
        "has_armature": ("n",),  # 1 where the joint has armature
        "last_child": ("n",),  # 0 for a leaf
        "forward_slot": ("n",),  # see `slots`
        "backward_slot": ("n",),
        "has_offset": ("n",),  # 1 where a joint's angle has one
        "frame_body": ("nframes",),  # the body of each frame
        "spring_v": ("nsprings",),  # where a spring's degree of freedom stands in v, and in q
        "spring_q": ("nsprings",),
        "damper_v": ("ndampers",),
    },
    floats={
        "P": ("n", 3, 3),
        "p": ("n", 3),
        "pitch": ("n",),
        "offset": ("n", 2),  # cosine and sine of a joint's angle at rest
        "mass": ("n",),  # as mc and I, of matter as `regrouped`; that of body 0 does not move
        "mc": ("n", 3),  # first moment of mass
        "I": ("n", 6),  # rotational inertia about the body's origin: xx xy xz yy yz zz
        "armature": ("nv",),
        "gravity": (3,),
        "frame_rotation": ("nframes", 3, 3),  # rotation of each frame in its body
        "frame_position": ("nframes", 3),  # position of each frame in its body
        "stiffness": ("nsprings",),
        "rest": ("nsprings",),  # where a spring is at rest
        "damping": ("ndampers",),
    },
)
"""A mechanism without constraints."""

ROUND_OFF = 2e-13
"""Numbers below this part of a size are zeros, and numbers of rotations that near to 0 or 1 are these: what poses leave
that were assembled, or composed of many placements. Programs and their operation counts do not depend on it then."""
EQUAL = 5e-14
"""Numbers that differ by less than this part of a size are equal. It is less than what closed loops may be open by, so
that equal numbers open none."""
DISTINCT = 1e-6
"""Directions that are off an axis by more than this part of the mechanism's size are directions of their own."""
LEAST_SLOPE = 1e-3
"""Components of an axis below this are not used to slide a frame: it would slide too far."""

DEFAULT_SIZE = 0.1
"""Meters: the size of a mechanism whose joints are all in one point, or on the world."""

TO_PARENT, OF_CHILDREN = 4, 3
"""What a number of the rotation to the parent counts, and of a child's axis, where one of an offset, of an angle at
rest or of an inertia counts one. Operations of ABA on 14 robots are fewest so, and on none more than with ones."""

SLIDES = (REVOLUTE, PRISMATIC, HELICAL)
"""Kinds whose frame may move along z: the joint's motion commutes with that."""


class _TreeJoint(NamedTuple):
    """One atom and its child body, before the body's frame is chosen."""

    parent: int
    atom: Atom
    placement: Placement
    inertia: Inertia
    iq: int
    iv: int


def tree_of(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> Tree:
    """The arrays of a mechanism without its constraints, with these frames to observe or apply wrenches at."""
    return build_tree(mechanism, frames, reference)[0]


class BodyTable(NamedTuple):
    """Bodies of a mechanism by name, and their frames and inertias in its arrays."""

    number: dict[str, int]
    """The number of each body."""
    frames: list[Placement]
    """The kernels' frame of each body, in the user's frame of that body."""
    inertias: tuple[Floats, Floats, Floats]
    """Mass, first moment and rotational inertia of each body in the kernels' frame, before they are `regrouped`."""


def build_tree(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> tuple[Tree, BodyTable]:
    """The arrays of a mechanism, and the table of its bodies."""
    joints, number = _tree_joints(mechanism)
    length = size_of(mechanism)
    inner, turned = _kernel_frames(joints, length)
    n = len(joints) + 1
    armature = mechanism.armature
    P, p = np.zeros((n, 3, 3)), np.zeros((n, 3))
    P[0] = np.eye(3)
    mass, mc, I = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    has_rotation, has_armature = [False] * n, [False] * n
    offset = np.tile([1.0, 0.0], (n, 1))
    for i, joint in enumerate(joints, start=1):
        placement = inner[joint.parent].inverse() * joint.placement * inner[i]
        P[i], p[i] = rounded_rotation(placement.rotation @ turned[i].T), rounded(placement.position, length)
        offset[i] = turned[i][0, 0], turned[i][1, 0]
        has_rotation[i] = not np.array_equal(P[i], np.eye(3))
        has_armature[i] = bool(armature[joint.iv : joint.iv + DOF[joint.atom.kind]].any())
        inertia = joint.inertia.moved(inner[i].inverse())
        mass[i], mc[i], I[i] = inertia.mass, inertia.mass * inertia.com, inertia.about_origin()
    bodies = BodyTable(number, inner, (mass, mc, I))
    parent = np.array([0, *(joint.parent for joint in joints)], dtype=np.int64)
    kind = np.array([0, *(joint.atom.kind for joint in joints)], dtype=np.int64)
    P, p, offset = merged(P, 1.0), merged(p, length), merged(offset, 1.0)
    carried = _carried_mass(parent, mass)
    mass, mc, I = regrouped(parent, kind, P, p, mass, mc, I)
    slots = slots_of(parent)
    chosen = [mechanism.frame(name) for name in frames]
    at = [inner[number[frame.body]].inverse() * frame.placement for frame in chosen]
    springs, dampers = _springs(mechanism), _dampers(mechanism)
    tree = TREE.build(
        nq=mechanism.nq,
        nv=mechanism.nv,
        nf=len(chosen),
        reference=reference,
        nforward=slots.forward_count,
        nbackward=slots.backward_count,
        parent=parent,
        kind=kind,
        iq=[0, *(joint.iq for joint in joints)],
        iv=[0, *(joint.iv for joint in joints)],
        has_rotation=has_rotation,
        has_armature=has_armature,
        last_child=slots.last_child,
        forward_slot=slots.forward,
        backward_slot=slots.backward,
        has_offset=np.any(offset != (1.0, 0.0), axis=1),
        frame_body=[number[frame.body] for frame in chosen],
        spring_v=[spring.v for spring in springs],
        spring_q=[spring.q for spring in springs],
        damper_v=[v for v, _ in dampers],
        P=P,
        p=p,
        offset=offset,
        pitch=[0.0, *(joint.atom.pitch for joint in joints)],
        mass=mass,
        mc=merged([rounded(row, m * length) for row, m in zip(mc, carried, strict=True)]),
        I=merged([rounded(row[np.triu_indices(3)], m * length**2) for row, m in zip(I, carried, strict=True)]),
        armature=armature,
        gravity=mechanism.gravity,
        frame_rotation=merged([rounded_rotation(placement.rotation) for placement in at], 1.0),
        frame_position=merged([rounded(placement.position, length) for placement in at], length, p),
        stiffness=[spring.stiffness for spring in springs],
        rest=[spring.rest for spring in springs],
        damping=[damping for _, damping in dampers],
    )
    return tree, bodies


class _Spring(NamedTuple):
    """The spring of a degree of freedom."""

    v: int
    q: int
    stiffness: float
    rest: float


def _springs(mechanism: Model) -> list[_Spring]:
    """Springs of joints, which act where coordinates are plain numbers."""
    springs = []
    for joint in mechanism.joints:
        if joint.type.group is VECTOR:
            q, v = mechanism.q_slice(joint.name).start, mechanism.v_slice(joint.name).start
            springs += [_Spring(v + k, q + k, s, joint.rest[k]) for k, s in enumerate(joint.stiffness) if s]
    return springs


def _dampers(mechanism: Model) -> list[tuple[int, float]]:
    """Degrees of freedom with a damper, and its coefficient."""
    starts = [(joint, mechanism.v_slice(joint.name).start) for joint in mechanism.joints]
    return [(v + k, d) for joint, v in starts for k, d in enumerate(joint.damping) if d]


def without_passive_elements(tree: Tree) -> Tree:
    """The same arrays of a mechanism whose joints have neither springs nor dampers."""
    elements = ("spring_v", "spring_q", "damper_v", "stiffness", "rest", "damping")
    return tree._replace(nsprings=0, ndampers=0, **{name: getattr(tree, name)[:0] for name in elements})


def _tree_joints(mechanism: Model) -> tuple[list[_TreeJoint], dict[str, int]]:
    """The atoms in order, and the number of each body; a universal joint gets a massless body between."""
    joints: list[_TreeJoint] = []
    index = {WORLD: 0}
    for joint in mechanism.joints:
        atoms = atoms_of(joint.type)
        iq, iv = mechanism.q_slice(joint.name).start, mechanism.v_slice(joint.name).start
        for k, atom in enumerate(atoms):
            last = k == len(atoms) - 1
            joints.append(
                _TreeJoint(
                    parent=index[joint.parent] if k == 0 else len(joints),
                    atom=atom,
                    placement=joint.placement if k == 0 else Placement(),
                    inertia=mechanism.inertias[joint.child] if last else Inertia.zero(),
                    iq=iq + k,
                    iv=iv + k,
                )
            )
        index[joint.child] = len(joints)
    return joints, index


def _kernel_frames(joints: list[_TreeJoint], length: float) -> tuple[list[Placement], list[Floats]]:
    """The kernel's frame of each body, in the user's frame of that body: first rotated, then slid along z.

    And how it is rotated about z against the frame in which the parent sees the joint at rest: as in Denavit and
    Hartenberg's convention, the x axis that suits the parent need not be the one that suits the children.
    """
    children: list[list[_TreeJoint]] = [[] for _ in range(len(joints) + 1)]
    for joint in joints:
        children[joint.parent].append(joint)
    rotation, turned = [np.eye(3)], [np.eye(3)]
    for i, joint in enumerate(joints, start=1):
        seen, own = _rotated(joint, rotation[joint.parent], children[i], length)
        rotation.append(own)
        turned.append(rounded_rotation(seen.T @ own))
    slide = _slides(joints, rotation, length)
    frames = [
        Placement((0, 0, 0) if i == 0 else rotation[i][:, 2] * slide[i], rotation[i]) for i in range(len(joints) + 1)
    ]
    return frames, turned


def _rotated(
    joint: _TreeJoint, parent_rotation: Floats, children: list[_TreeJoint], length: float
) -> tuple[Floats, Floats]:
    """Rotations whose z is the joint's axis, as the parent sees the joint and as its children do.

    Where x points is free, and chosen for the most zeros. Tried are x along the user's axes, along the parent's, along
    the center of mass, and along the axis and the offset of each child.
    """
    axis = joint.atom.axis
    if axis is None:
        return np.eye(3), np.eye(3)
    if joint.atom.kind == PLANAR:
        only = np.eye(3) if axis[2] == 1 else aligning_rotation(axis)
        return only, only
    to_parent = parent_rotation.T @ joint.placement.rotation
    seen = rounded_rotation(to_parent @ axis)
    straight = np.eye(3) if np.array_equal(seen, (0.0, 0.0, 1.0)) else aligning_rotation(seen)
    options = [aligning_rotation(axis), rounded_rotation(to_parent.T @ straight)]
    directions = [joint.inertia.com]
    for child in children:
        directions += [child.placement.rotation @ _axis_of(child), child.placement.position]
    for direction in directions:
        x = direction - axis * (axis @ direction)
        distance = float(np.linalg.norm(x))
        if distance > DISTINCT * length:
            x = x / distance
            options.append(rounded_rotation(np.column_stack([x, np.cross(axis, x), axis])))

    def cost(pair: tuple[Floats, Floats]) -> int:
        seen, own = pair
        offset = _uneven(rounded_rotation((seen.T @ own)[0]))
        return (
            TO_PARENT * _uneven(rounded_rotation(to_parent @ seen))
            + offset
            + _nonzeros(own, joint.inertia, children, length)
        )

    ends = options[:2] if joint.atom.kind != PRISMATIC else []
    return min([*((own, own) for own in options), *((end, own) for end in ends for own in options)], key=cost)


def _nonzeros(rotation: Floats, inertia: Inertia, children: list[_TreeJoint], length: float) -> int:
    """Numbers that are not 0, or not 0 or ±1 where they multiply, if a body's frame is rotated so.

    They are those of the mass that stays with the body (`regrouped`), and of the axes and offsets of the children.
    Along z, offsets do not count: frames can slide.
    """
    I = rotation.T @ inertia.about_origin() @ rotation
    mixed = rounded(np.array([I[0, 1], I[0, 2], I[1, 2]]), float(np.trace(I)))
    numbers = [rounded(rotation.T @ inertia.com)[:2], mixed]
    numbers += [rounded(rotation.T @ child.placement.position, length)[:2] for child in children]
    factors = [rotation.T @ child.placement.rotation @ _axis_of(child) for child in children]
    return sum(int(np.count_nonzero(x)) for x in numbers) + OF_CHILDREN * sum(
        _uneven(rounded_rotation(x)) for x in factors
    )


def _axis_of(joint: _TreeJoint) -> Floats:
    """The axis of a joint; z where it has none."""
    return np.array([0.0, 0.0, 1.0]) if joint.atom.axis is None else joint.atom.axis


def _uneven(x: Floats) -> int:
    """How many numbers are neither 0 nor ±1."""
    return int(np.count_nonzero(np.abs(x) * (1.0 - np.abs(x))))


def _slides(joints: list[_TreeJoint], rotation: list[Floats], length: float) -> list[float]:
    """How far to slide each frame along its z so that offsets between bodies have the fewest non-zeros.

    An offset is linear in the slides at its two ends: ``start + along slide - z slide_of_parent``. Children before
    parents and again, each body takes the best of the slides that zero a number of an offset it touches. Offsets from
    the world do not count: no inertia is carried over them, and they may be kilometers.
    """
    n = len(joints) + 1
    children: list[list[int]] = [[] for _ in range(n)]
    start, along = [[0.0] * 3], [[0.0] * 3]
    for i, joint in enumerate(joints, start=1):
        children[joint.parent].append(i)
        start.append((rotation[joint.parent].T @ joint.placement.position).tolist())
        along.append((rotation[joint.parent].T @ joint.placement.rotation @ rotation[i][:, 2]).tolist())
    slide = [0.0] * n

    def offset(i: int) -> list[float]:
        s, (x, y, z), (a, b, c) = slide[i], start[i], along[i]
        return [x + a * s, y + b * s, z + c * s - slide[joints[i - 1].parent]]

    def cost(i: int) -> int:
        touched = children[i] if joints[i - 1].parent == 0 else (i, *children[i])
        return sum(abs(x) > ROUND_OFF * length for k in touched for x in offset(k))

    for _ in range(3):
        for i in range(n - 1, 0, -1):
            if joints[i - 1].atom.kind not in SLIDES:
                continue
            before, now = slide[i], offset(i)
            options = [before, 0.0]
            if joints[i - 1].parent > 0:
                options += [before - now[k] / along[i][k] for k in range(3) if abs(along[i][k]) > LEAST_SLOPE]
            options += [before + offset(k)[2] for k in children[i]]
            scores = []
            for slide[i] in options:
                scores.append((cost(i), round(abs(slide[i]) / length, 9), slide[i]))
            slide[i] = min(scores)[2]
    return slide


def regrouped(
    parent: Integers,
    kind: Integers,
    P: Floats,
    p: Floats,
    mass: Floats,
    mc: Floats,
    I: Floats,
    kept: Collection[int] = (),
) -> tuple[Floats, Floats, Floats]:
    """Inertia moved, leaves first, from each body to its parent where no motion of the joint makes a difference.

    These are the base parameters of system identification. A thin rod along the axis of a revolute joint, of mass
    ``m``, first moment ``(0, 0, b)`` and inertia ``(J, J, 0)``, may be on either side of it; so may a rotational
    inertia at a prismatic joint, and a mass at the center of a spherical one. Torques, accelerations, momenta and
    energies do not change. Bodies that are ``kept`` keep what they have: their joints are not where the plan has them.
    """
    mass, mc, I = mass.copy(), mc.copy(), I.copy()
    for i in range(len(mass) - 1, 0, -1):
        if i in kept:
            continue
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
    return np.where(np.abs(x) < ROUND_OFF * max(size, float(np.abs(x).max(initial=0.0))), 0.0, x)


def rounded_rotation(R: Floats) -> Floats:
    """The same rotation, or part of one, with its numbers that are round-off of 0, 1 or -1 set to these.

    About an axis of coordinates, it is a rotation to the last digit.
    """
    near: Floats = np.where(np.abs(R) < ROUND_OFF, 0.0, R)
    alone = np.ones(R.shape, dtype=bool)
    for axis in range(R.ndim):
        alone &= np.count_nonzero(near, axis=axis, keepdims=True) == 1
    near = np.where(alone & (near != 0.0), np.rint(near), near)
    if R.shape == (3, 3) and np.count_nonzero(near) == 5 and 1.0 in np.abs(near):
        near = near / np.linalg.norm(near, axis=1, keepdims=True)
    return near


def _carried_mass(parent: Integers, mass: Floats) -> Floats:
    """The mass of each body and of all that it carries."""
    carried = mass.copy()
    for i in range(len(mass) - 1, 0, -1):
        carried[parent[i]] += carried[i]
    return carried


def merged(x: npt.ArrayLike, size: float = 0.0, known: npt.ArrayLike = ()) -> Floats:
    """Numbers that differ by round-off alone, signs aside, made equal, or equal to ones that are ``known``.

    Round-off is that of ``size``, or of the numbers themselves. Traced programs compute with equal numbers once.
    """
    array, others = np.asarray(x, dtype=np.float64), np.abs(known).ravel()
    sizes = np.concatenate([others, np.abs(array).ravel()])
    order = np.argsort(sizes, kind="stable")
    starts = np.diff(sizes[order], prepend=-1.0) > EQUAL * np.maximum(size, sizes[order])
    group = np.empty(len(sizes), dtype=np.int64)
    group[order] = np.cumsum(starts) - 1
    _, first = np.unique(group, return_index=True)
    made: Floats = sizes[first][group[len(others) :]].reshape(array.shape)
    return np.copysign(made, array)


def size_of(mechanism: Model) -> float:
    """Meters: the largest size of a body or distance of joints on one, which round-off in offsets is measured by."""
    sizes = [float(np.abs(joint.placement.position).max()) for joint in mechanism.joints if joint.parent != WORLD]
    for inertia in mechanism.inertias.values():
        if inertia.mass > 0:
            radius = np.sqrt(max(float(np.trace(inertia.rotational)), 0.0) / inertia.mass)
            sizes += [float(np.abs(inertia.com).max()), float(radius)]
    return max(sizes, default=0.0) or DEFAULT_SIZE


def unit_ranges(mechanism: Model) -> tuple[tuple[int, int], ...]:
    """Start and count of the numbers in q that must not all vanish."""
    return tuple((at.start, at.stop - at.start) for at in mechanism.unit_slices())
