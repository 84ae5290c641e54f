# SPDX-License-Identifier: BSD-3-Clause
"""Whether the inertia of every leaf of a tree determines its acceleration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.inertia import Inertia
from linkwork.model.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL, Joint, atoms_of
from linkwork.model.parts import TreeJoint


def check_leaves(joints: Sequence[TreeJoint], inertias: Mapping[str, Inertia]) -> None:
    """Raise `ModelError` for a leaf that its joint moves without moving any mass: its acceleration is undetermined."""
    parents = {j.parent for j in joints}
    for joint in joints:
        if joint.child in parents or (joint.armature > 0).all():
            continue
        inertia = inertias[joint.child]
        if _least_inertia(joint.type, inertia) <= 0:
            raise ModelError(
                f"joint '{joint.name}' ({joint.type.kind_name}) moves body '{joint.child}', which has no "
                f"{'mass' if inertia.mass == 0 else 'inertia about its axis'} and carries no other body: "
                "its acceleration would be undetermined. Give the body an inertia, the joint an armature, or fix it",
                subject=joint.name,
            )


def _least_inertia(type: Joint, inertia: Inertia) -> float:
    """The least inertia that a motion of the joint moves, as a part of what there is; zero for round-off."""
    atom = atoms_of(type)[-1]
    about_origin, about_com = inertia.about_origin(), inertia.rotational
    rotational: dict[int, list[tuple[Floats, Floats | None]]] = {
        REVOLUTE: [(about_origin, atom.axis)],
        PRISMATIC: [],
        HELICAL: [(about_origin + atom.pitch**2 * inertia.mass * np.eye(3), atom.axis)],
        SPHERICAL: [(about_origin, None)],
        PLANAR: [(about_com, atom.axis)],  # free to turn about the center of mass
        FREE: [(about_com, None)],
    }
    moved = [inertia.mass] if atom.kind in (PRISMATIC, PLANAR, FREE) else []
    for I, axis in rotational[atom.kind]:
        part = float(np.linalg.eigvalsh(I)[0] if axis is None else axis @ I @ axis)
        moved.append(part if part > 1e-14 * float(np.trace(about_origin)) else 0.0)
    return min(moved)
