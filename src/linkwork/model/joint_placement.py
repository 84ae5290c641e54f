# SPDX-License-Identifier: BSD-3-Clause
"""Where a joint puts its child: the placement of one joint's moving frame, by its coordinates."""

from __future__ import annotations

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, Atom, Joint, atoms_of
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation, axis_rotation, quaternion_matrix, unit

_ORIGIN = (0.0, 0.0, 0.0)


def joint_placement(joint: Joint, q: Floats) -> Placement:
    """The moving frame of a joint, in its frame at rest.

    Args:
        joint: The type of the joint.
        q: Its coordinates, ``(nq,)``; quaternions of any length.
    """
    place = Placement()
    atoms = atoms_of(joint)
    for k, atom in enumerate(atoms):
        place = place * _atom_placement(atom, q[k : k + 1] if len(atoms) > 1 else q)
    return place


def _atom_placement(atom: Atom, q: Floats) -> Placement:
    axis = np.zeros(3) if atom.axis is None else atom.axis
    if atom.kind == REVOLUTE:
        return Placement(_ORIGIN, axis_rotation(axis, float(q[0])))
    if atom.kind == PRISMATIC:
        return Placement(axis * q[0])
    if atom.kind == HELICAL:
        return Placement(axis * (atom.pitch * q[0]), axis_rotation(axis, float(q[0])))
    if atom.kind == PLANAR:
        plane = np.eye(3) if axis[2] == 1 else aligning_rotation(axis)
        c, s = unit(q[2:4])
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return Placement(plane @ [q[0], q[1], 0.0], plane @ turn @ plane.T)
    position = q[:3] if atom.kind == FREE else _ORIGIN
    return Placement(position, quaternion_matrix(unit(q[-4:])))
