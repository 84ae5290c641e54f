# SPDX-License-Identifier: BSD-3-Clause
"""Inverse inertias that MuJoCo makes contacts soft by: those of the two bodies at the neutral configuration.

MuJoCo scales the regularization of a contact by ``body_invweight0`` of its two bodies: a third of the trace of
``J M⁻¹ J'`` of the translation of the center of mass at ``qpos0``. Bodies that a fixed joint makes one are one body
here, with one center of mass; in MuJoCo a geom on a part of it has that of the part.
"""

from __future__ import annotations

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPairs
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.quantities.evaluator import Evaluator
from linkwork.quantities.scales import free_bodies


@computed_once
def inverse_weights(robot: Model) -> dict[str, float]:
    """Mean inverse inertia of the translation of each moving body's center of mass, in 1/kg, at the neutral
    configuration."""
    alone = free_bodies(robot)
    found = {body: 1 / robot.inertias[body].mass for body in robot.body_names if body in alone}
    carried = [body for body in robot.body_names if body not in alone]
    if carried:
        marked = robot
        names = [f"center of mass {k}" for k in range(len(carried))]
        for name, body in zip(names, carried, strict=True):
            at = robot.frames[body].placement.inverse() * Placement(robot.inertias[body].com)
            marked = marked.with_frame(name, body, at)
        q = robot.neutral()
        J = Evaluator(marked, "frame_jacobian", names, "aligned").plain()(q)[:, 3:]
        M = Evaluator(robot, "mass_matrix").plain()(q)
        moved = np.flatnonzero(np.diag(M) > 0)
        M, J = M[np.ix_(moved, moved)], J[:, :, moved]
        for body, rows in zip(carried, J, strict=True):
            found[body] = float(np.trace(rows @ np.linalg.solve(M, rows.T))) / 3
    return found


@computed_once
def soft_weights(robot: Model) -> Floats:
    """(ncontacts,) inverse inertia of the normal of each pair, as MuJoCo has it: ``D`` of `reduced.soft`."""
    weights = inverse_weights(robot) | {WORLD: 0.0}
    pairs = ContactPairs.of(robot.contacts)
    each = np.array([weights[shape.body] for shape in pairs.shapes])
    return np.asarray(each[pairs.first] + each[pairs.second]) if len(pairs) else np.zeros(0)
