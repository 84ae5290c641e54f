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
from linkwork.model.joints import DOF, PRISMATIC, REVOLUTE, SPHERICAL, atoms_of
from linkwork.model.lie import VECTOR
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.plans.bodies import BodyTable, size_of
from linkwork.plans.force_elements import FORCE_FLOATS, FORCE_INTEGERS, FORCE_SIZES, NO_FORCES, force_arrays
from linkwork.plans.force_laws import LAW_FLOATS, LAW_INTEGERS, LAW_SIZES, law_arrays
from linkwork.plans.kernel_frames import TreeAtom, kernel_frames, rounded, rounded_rotation
from linkwork.plans.layout import Integers, Layout
from linkwork.plans.slots import slots_of
from linkwork.plans.tendons import TENDON_FLOATS, TENDON_INTEGERS, TENDON_SIZES, tendon_arrays
from linkwork.plans.thresholds import EQUAL_NUMBERS

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
        "nframe_support",  # bodies between the root and the kernel's frames
        "reference",  # axes of vectors at frames: LOCAL, ALIGNED or WORLD_ORIGIN
        "nforward",  # slots of sweeps from the root, and to it
        "nbackward",
        "nsprings",  # degrees of freedom with a spring, and with a damper
        "ndampers",
        *TENDON_SIZES,
        *FORCE_SIZES,
        *LAW_SIZES,
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
        "frame_support": ("nframe_support",),  # the bodies that carry one of the first nf frames, root to leaves
        "spring_v": ("nsprings",),  # where a spring's degree of freedom stands in v, and in q
        "spring_q": ("nsprings",),
        "damper_v": ("ndampers",),
        **TENDON_INTEGERS,
        **FORCE_INTEGERS,
        **LAW_INTEGERS,
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
        "time": (1,),  # seconds
        "frame_rotation": ("nframes", 3, 3),  # rotation of each frame in its body
        "frame_position": ("nframes", 3),  # position of each frame in its body
        "stiffness": ("nsprings",),
        "rest": ("nsprings",),  # where a spring is at rest
        "damping": ("ndampers",),
        **TENDON_FLOATS,
        **FORCE_FLOATS,
        **LAW_FLOATS,
    },
)
"""A mechanism without constraints."""


def tree_of(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> Tree:
    """The arrays of a mechanism without its constraints, with these frames to observe or apply wrenches at."""
    return build_tree(mechanism, frames, reference)[0]


def build_tree(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> tuple[Tree, BodyTable]:
    """The arrays of a mechanism, and the table of its bodies."""
    joints, number = _tree_joints(mechanism)
    length = size_of(mechanism)
    inner, turned = kernel_frames(joints, length)
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
        frame_support=_support(parent, [number[frame.body] for frame in chosen]),
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
        time=[mechanism.time],
        frame_rotation=merged([rounded_rotation(placement.rotation) for placement in at], 1.0),
        frame_position=merged([rounded(placement.position, length) for placement in at], length, p),
        stiffness=[spring.stiffness for spring in springs],
        rest=[spring.rest for spring in springs],
        damping=[damping for _, damping in dampers],
        **tendon_arrays(mechanism, parent.tolist(), bodies),
        **force_arrays(mechanism, bodies),
        **law_arrays(mechanism, parent.tolist(), bodies),
    )
    return tree, bodies


def _support(parent: Integers, bodies: Sequence[int]) -> list[int]:
    """These bodies and all between them and the root, root to leaves."""
    carrying: set[int] = set()
    for body in bodies:
        i = body
        while i > 0 and i not in carrying:
            carrying.add(i)
            i = int(parent[i])
    return sorted(carrying)


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
    """The tree of a mechanism without springs and dampers of joints and tendons, and without force elements."""
    laws = ("law_node", "coordinate_constant", "coordinate_law")
    elements = ("spring_v", "spring_q", "damper_v", "stiffness", "rest", "damping", *laws)
    none = {"nsprings": 0, "ndampers": 0, "npassive_tendons": 0, "ncoordinates": 0} | NO_FORCES
    further = (name for name in (*FORCE_INTEGERS, *FORCE_FLOATS) if name != "medium")
    return tree._replace(**none, **{name: getattr(tree, name)[:0] for name in (*elements, *further)})


def _tree_joints(mechanism: Model) -> tuple[list[TreeAtom], dict[str, int]]:
    """The atoms in order, and the number of each body; a universal joint gets a massless body between."""
    joints: list[TreeAtom] = []
    index = {WORLD: 0}
    for joint in mechanism.joints:
        atoms = atoms_of(joint.type)
        iq, iv = mechanism.q_slice(joint.name).start, mechanism.v_slice(joint.name).start
        for k, atom in enumerate(atoms):
            last = k == len(atoms) - 1
            joints.append(
                TreeAtom(
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
    energies do not change. Bodies that are ``kept`` keep their inertia: their joints are not where the plan has them.
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
    starts = np.diff(sizes[order], prepend=-1.0) > EQUAL_NUMBERS * np.maximum(size, sizes[order])
    group = np.empty(len(sizes), dtype=np.int64)
    group[order] = np.cumsum(starts) - 1
    _, first = np.unique(group, return_index=True)
    array_of_group: Floats = sizes[first][group[len(others) :]].reshape(array.shape)
    return np.copysign(array_of_group, array)


def unit_ranges(mechanism: Model) -> tuple[tuple[int, int], ...]:
    """Start and count of the numbers in q that must not all vanish."""
    return tuple((at.start, at.stop - at.start) for at in mechanism.unit_slices())
