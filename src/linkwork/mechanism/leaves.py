# SPDX-License-Identifier: BSD-3-Clause
"""Whether the inertias of a tree determine the accelerations of its leaves, and of bodies without mass."""

from __future__ import annotations

from collections import Counter
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


def moved_too_freely(joints: Sequence[TreeJoint], inertias: Mapping[str, Inertia]) -> tuple[str, str] | None:
    """A body without mass whose acceleration is undetermined, and why; None where there is none.

    It is one of those between joints that move one other body by more than six degrees of freedom, such as a floating
    base without mass that carries one arm: the mass matrix is singular, and constraints alone can hold it.
    """
    carried = Counter(joint.parent for joint in joints)
    leading = {joint.child: joint for joint in joints}
    for joint in joints:
        chain, freedoms = [joint], int((joint.armature == 0).sum())
        while freedoms <= 6 and (above := leading.get(chain[-1].parent)) is not None:
            inertia = inertias[above.child]
            if carried[above.child] > 1 or inertia.mass > 0 or inertia.rotational.any():
                break
            chain.append(above)
            freedoms += int((above.armature == 0).sum())
        if freedoms > 6:
            names, body = ", ".join(repr(one.name) for one in reversed(chain)), chain[-1].child
            return body, (
                f"joints {names} move body '{joint.child}' by {freedoms} degrees of freedom, and body '{body}' has no "
                "mass: its acceleration is undetermined unless constraints hold it. Give the body an inertia, or fix it"
            )
    return None


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
