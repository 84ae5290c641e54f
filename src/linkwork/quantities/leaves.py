# SPDX-License-Identifier: BSD-3-Clause
"""Whether the inertias of a tree determine the accelerations of its leaves, and of bodies without mass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import ModelError, SingularMassMatrix
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.inertia import Inertia
from linkwork.model.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL, Joint, atoms_of
from linkwork.model.model import Model
from linkwork.model.parts import TreeJoint
from linkwork.plans.bodies import largest_size
from linkwork.plans.loops import loops_of
from linkwork.plans.thresholds import ROUND_OFF
from linkwork.quantities.thresholds import LIGHTEST, ZERO_MOMENT

if TYPE_CHECKING:
    from linkwork.compilers.program import Program

DYNAMICS = frozenset(
    {"forward_dynamics", "forward_dynamics_derivatives", "inverse_dynamics", "inverse_dynamics_derivatives", "impact"}
    | {"inverse_mass_product", "inverse_mass_matrix", "bias_forces", "coriolis_matrix", "gravity_forces", "energy"}
    | {"centroidal_momentum", "centroidal_momentum_matrix", "centroidal_momentum_matrix_rate", "terms", "regressor"}
    | {"kkt", "delassus", "damped_inverse", "delassus_matrix", "inverse_matrix", "contact_step"}
)
"""Quantities that a robot without inertias does not have. The mass matrix, with zeros, is what scales are made of."""


def check_leaves(joints: Sequence[TreeJoint], inertias: Mapping[str, Inertia], massless: bool = False) -> None:
    """Raise `ModelError` for a leaf that its joint moves without moving any mass: its acceleration is undetermined.

    Leaves without any mass may be ``massless``: such a robot has kinematics alone (`check_dynamics`).
    """
    parents = {j.parent for j in joints}
    size, heaviest = largest_size(joints, inertias), max((y.mass for y in inertias.values()), default=0.0)
    for joint in joints:
        if joint.child in parents or (joint.armature > 0).all():
            continue
        inertia = inertias[joint.child]
        if inertia.mass == 0 and not inertia.rotational.any():
            if massless:
                continue
            lacks = "no mass"
        elif 0 < inertia.mass < LIGHTEST * heaviest:
            lacks = f"{inertia.mass:.3g} kg, which is rounding beside the {heaviest:.3g} kg of another body,"
        elif (least := _least_inertia(joint.type, inertia, size)) < 0:
            lacks = f"a negative inertia about its axis, {least:.3g} kg m²,"
        elif least == 0:
            lacks = f"no inertia about its axis (or rounding of one, in a robot of {size:.3g} m)"
        else:
            continue
        raise ModelError(
            f"joint '{joint.name}' ({joint.type.kind_name}) moves body '{joint.child}', which has {lacks} and carries "
            "no other body: its acceleration would be undetermined. Give the body an inertia, the joint an armature, "
            "or fix it",
            subject=joint.name,
        )


def massless_leaves(joints: Sequence[TreeJoint], inertias: Mapping[str, Inertia]) -> list[TreeJoint]:
    """Joints that move a leaf without any mass, and have no armature: files that say nothing of inertias have them."""
    parents, result = {j.parent for j in joints}, []
    for joint in joints:
        inertia = inertias[joint.child]
        if joint.child not in parents and inertia.mass == 0 and not inertia.rotational.any():
            result += [] if (joint.armature > 0).all() else [joint]
    return result


def free_massless_leaves(robot: Model) -> list[TreeJoint]:
    """Joints that move a leaf without any mass, and that no enabled constraint depends on."""
    if not lacks_mass(robot):
        return []
    loops = [loop for loop in loops_of(robot).loops if robot.constraint(loop.constraint).enabled]
    held = {joint for loop in loops for joint in loop.support}
    return [joint for joint in massless_leaves(robot.joints, robot.inertias) if joint.name not in held]


def check_dynamics(robot: Model) -> None:
    """Raise `SingularMassMatrix` for a robot with kinematics alone: no constraint holds a leaf that has no mass."""
    leaves = free_massless_leaves(robot)
    if leaves:
        raise SingularMassMatrix(
            f"robot '{robot.name}' has kinematics, but no dynamics: {without_mass(leaves)}. Give each an inertia "
            "(<inertial> in the file), or lock its joint, robot.reduced(...)",
            joint=leaves[0].name,
        )


def without_mass(leaves: Sequence[TreeJoint]) -> str:
    """In words, which leaves have no mass."""
    if len(leaves) == 1:
        return f"body '{leaves[0].child}', which joint '{leaves[0].name}' moves, has no mass and carries no other body"
    named = ", ".join(f"'{joint.child}'" for joint in leaves[:5])
    return f"{len(leaves)} bodies that carry no others have no mass ({named}{', ...' if len(leaves) > 5 else ''})"


@computed_once
def lacks_mass(robot: Model) -> bool:
    """Whether a leaf has no mass: unless a constraint holds it, the robot has kinematics alone."""
    return bool(massless_leaves(robot.joints, robot.inertias))


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
                "mass: its acceleration is undetermined unless constraints hold it. Give the body an inertia, or fix "
                "it; where the file has a floating joint of its own, load it without base='floating'"
            )
    return None


def _least_inertia(type: Joint, inertia: Inertia, size: float) -> float:
    """The least inertia that a motion of the joint moves; zero if it is rounding in a robot of this size."""
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
    scale = inertia.mass * size**2  # kernels take moments that are round-off of this for zero
    moved = [inertia.mass] if atom.kind in (PRISMATIC, PLANAR, FREE) else []
    for I, axis in rotational[atom.kind]:
        part = float(np.linalg.eigvalsh(I)[0] if axis is None else axis @ I @ axis)
        zero = max(ZERO_MOMENT * abs(float(np.trace(about_origin))), ROUND_OFF * scale)
        moved.append(part if abs(part) > zero else 0.0)
    return min(moved)


def planned(robot: Model, quantity: str, program: Callable[[], Program]) -> Program:
    """The program of a quantity; an error where it needs inertias that the robot does not have.

    Args:
        robot: The mechanism.
        quantity: Name of the quantity.
        program: Makes the program.
    """
    if quantity in DYNAMICS:
        check_dynamics(robot)
    return program()
