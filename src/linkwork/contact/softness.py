# SPDX-License-Identifier: BSD-3-Clause
"""Inverse inertias that MuJoCo makes contacts, limits, dry friction and constraints soft by.

MuJoCo scales the regularization of a contact by ``body_invweight0`` of its two bodies: a third of the trace of
``J M⁻¹ J'`` of the translation of the center of mass at ``qpos0``, that of a weld's rotation by that of the rotation,
and that of joints by ``dof_invweight0``, the diagonal of ``M⁻¹``, a mean over the axes of a ball or free joint. Bodies
that fixed joints make one are one body here; contact shapes keep the center of mass of their part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import WORLD, Point, PolynomialCoupling, Weld
from linkwork.model.contacts import ContactPairs
from linkwork.model.inertia import Inertia
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.model.poses import QPOS0
from linkwork.model.soft_contact import USUAL_CONSTRAINT
from linkwork.plans.contact_balls import BallBox
from linkwork.plans.contact_tendons import TendonBox
from linkwork.quantities.actuation import tendon_jacobian
from linkwork.quantities.evaluator import Evaluator
from linkwork.quantities.scales import free_bodies, scales_of


class InverseWeights(NamedTuple):
    """Of a body: means of the diagonal of ``J M⁻¹ J'``."""

    translation: float
    rotation: float


@computed_once
def inverse_weights(robot: Model) -> dict[str, InverseWeights]:
    """Mean inverse inertias of the translation of each moving body's center of mass, in 1/kg, and of its rotation, in
    the configuration in which the robot is drawn."""
    alone = free_bodies(robot)
    weights = {body: _of_free_body(robot.inertias[body]) for body in robot.body_names if body in alone}
    carried = [body for body in robot.body_names if body not in alone]
    return weights | dict(zip(carried, _at(robot, [(b, robot.inertias[b].com) for b in carried]), strict=True))


def _at(robot: Model, points: Sequence[tuple[str, Floats]]) -> list[InverseWeights]:
    """Mean inverse inertias of bodies at points in their frames."""
    if not points:
        return []
    marked = robot
    names = [f"center of mass {k}" for k in range(len(points))]
    for name, (body, position) in zip(names, points, strict=True):
        marked = marked.with_frame(name, body, robot.frames[body].placement.inverse() * Placement(position))
    J = Evaluator(marked, "frame_jacobian", names, "aligned").plain()(_drawn(robot))
    M = Evaluator(robot, "mass_matrix").plain()(_drawn(robot))
    moved = np.flatnonzero(np.diag(M) > 0)
    M, J = M[np.ix_(moved, moved)], J[:, :, moved]
    diagonals = [np.diag(rows @ np.linalg.solve(M, rows.T)) for rows in J]
    return [InverseWeights(float(each[3:].mean()), float(each[:3].mean())) for each in diagonals]


def _drawn(robot: Model) -> Floats:
    """The configuration in which an MJCF file is drawn, of other robots the neutral one."""
    return np.asarray(robot.poses.get(QPOS0, robot.neutral()))


def _of_free_body(inertia: Inertia) -> InverseWeights:
    return InverseWeights(1 / inertia.mass, float(np.trace(np.linalg.inv(inertia.rotational))) / 3)


@computed_once
def soft_weights(robot: Model) -> Floats:
    """(ncontacts,) inverse inertia of the normal of each pair, as MuJoCo has it: ``D`` of `reduced.soft`."""
    weights = inverse_weights(robot) | {WORLD: InverseWeights(0.0, 0.0)}
    pairs = ContactPairs.of(robot.contacts)
    each = np.array([weights[shape.body].translation for shape in pairs.shapes])
    parts = {k: (s.body, s.placement.act(s.center)) for k, s in enumerate(pairs.shapes) if s.center and s.body != WORLD}
    each[list(parts)] = [weight.translation for weight in _at(robot, list(parts.values()))]
    return np.asarray(each[pairs.first] + each[pairs.second]) if len(pairs) else np.zeros(0)


@computed_once
def joint_weights(robot: Model) -> Floats:
    """(nv,) inverse inertia of each degree of freedom, as MuJoCo has it: `InverseWeights` of joints."""
    M = Evaluator(robot, "mass_matrix").plain()(_drawn(robot))
    moved = np.flatnonzero(np.diag(M) > 0)
    weights = np.zeros(robot.nv)
    weights[moved] = np.diag(np.linalg.inv(M[np.ix_(moved, moved)]))
    for joint in robot.joints:
        at = robot.v_slice(joint.name)
        for part in np.split(np.arange(at.start, at.stop), range(3, joint.type.nv, 3)) if joint.type.nv > 2 else ():
            weights[part] = weights[part].mean()
    return weights


@computed_once
def tendon_weights(robot: Model) -> Floats:
    """(tendons,) inverse inertia of the length of each tendon, as MuJoCo has it: ``J M⁻¹ J'`` where the robot is
    drawn."""
    M, J = Evaluator(robot, "mass_matrix").plain()(_drawn(robot)), tendon_jacobian(robot, _drawn(robot))
    moved = np.flatnonzero(np.diag(M) > 0)
    return np.asarray(np.diag(J[:, moved] @ np.linalg.solve(M[np.ix_(moved, moved)], J[:, moved].T)))


def soft_boxes(
    robot: Model, joint_boxes: Mapping[str, list[Any]], of_tendons: Sequence[TendonBox], of_balls: Sequence[BallBox]
) -> dict[str, Any]:
    """Arrays ``box_`` of soft limits and soft dry friction, for `plans.contact_reduced`.

    Args:
        robot: The mechanism.
        joint_boxes: Which limits and dry friction of joints there are (`plans.contact_lcaba.box_tables`).
        of_tendons: Those of tendons (`plans.contact_tendons.tendon_boxes`).
        of_balls: Limits of ball joints (`plans.contact_balls.ball_boxes`).
    """
    joints = {v: joint for joint in robot.joints for v in range(robot.nv)[robot.v_slice(joint.name)]}
    soft = [
        joints[v].soft_limit if q >= 0 else joints[v].soft_friction
        for v, q in zip(joint_boxes["box_v"], joint_boxes["box_q"], strict=True)
    ]
    for box in of_tendons:
        tendon = robot.tendons[box.tendon]
        soft.append(tendon.soft_limit if box.limits else tendon.soft_friction)
    soft += [robot.joint(box.joint).soft_limit for box in of_balls]
    own = [one or USUAL_CONSTRAINT for one in soft]
    weights = [joint_weights(robot)[v] for v in joint_boxes["box_v"]]
    weights += [tendon_weights(robot)[box.tendon] for box in of_tendons]
    weights += [joint_weights(robot)[robot.v_slice(box.joint).start] for box in of_balls]
    return {
        "box_weight": weights,
        "box_reference": np.reshape([one.reference for one in own], (-1, 2)),
        "box_impedance": np.reshape([one.impedance for one in own], (-1, 5)),
        "box_margin": [one.margin for one in own],
    }


def soft_constraints(robot: Model, soft: bool) -> frozenset[str]:
    """Names of constraints that give way in steps with contacts.

    Args:
        robot: The mechanism.
        soft: Whether contacts are soft.
    """
    return frozenset(constraint.name for constraint in robot.constraints if not constraint.is_exact(soft))


def soft_rows(robot: Model) -> dict[str, Any]:
    """Arrays ``soft_row_`` of soft constraints, for `plans.contact_reduced`.

    Rotations of welds are half the vector of our rows in MuJoCo, times their ``torquescale``: ``soft_row_scale``.

    Args:
        robot: The mechanism.
    """
    weight, scale, bias = np.zeros(robot.nc), np.ones(robot.nc), np.zeros(robot.nc)
    soft = [USUAL_CONSTRAINT] * robot.nc
    bodies = inverse_weights(robot) | {WORLD: InverseWeights(0.0, 0.0)}
    for constraint in robot.constraints:
        rows = range(robot.nc)[robot.row_slice(constraint.name)]
        own = constraint.soft or USUAL_CONSTRAINT
        for row in rows:
            soft[row] = own
        if isinstance(constraint, Point | Weld):
            ends = [bodies[robot.frames[place].body] for place in constraint.places]
            weight[rows], bias[rows] = sum(end.translation for end in ends), 1.0
            if isinstance(constraint, Weld):
                turned = rows[:3]
                weight[turned] = sum(end.rotation for end in ends)
                scale[turned] = own.torque_scale / 2
        elif isinstance(constraint, PolynomialCoupling):
            dofs = [robot.v_slice(joint).start for joint in constraint.joints]
            weight[rows] = joint_weights(robot)[dofs].sum()
        else:
            weight[rows] = scales_of(robot).rows[rows]
    return {
        "soft_row_weight": weight,
        "soft_row_scale": scale,
        "soft_row_bias": bias,
        "soft_row_reference": np.reshape([one.reference for one in soft], (-1, 2)),
        "soft_row_impedance": np.reshape([one.impedance for one in soft], (-1, 5)),
    }
