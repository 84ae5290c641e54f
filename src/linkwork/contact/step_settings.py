# SPDX-License-Identifier: BSD-3-Clause
"""Settings of steps with all slots of all pairs, as solvers read them."""

from __future__ import annotations

import numpy as np

from linkwork.contact.scales import contact_scales, joint_inverse_inertias, loop_row_regularization
from linkwork.contact.thresholds import (
    PENETRATION_VELOCITY,
    RESTING_STEPS,
    SINGLE_CONTACT_TOLERANCE,
    SINGLE_SMOOTHING_SLACK,
    SMOOTHING_SLACK,
)
from linkwork.dynamics.iterations import SolverSettings
from linkwork.kernels.contact.equation import ROUNDINGS
from linkwork.model.model import Model
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.scales import joint_units, typical_row_units

PENALTY = 3.0
"""Penalty of contacts, in units of their apparent inertia."""


def step_settings(
    robot: Model, tree: Tree, dt: float, solver: SolverSettings, time: float, dtype: str = "float64"
) -> Array:
    """The input ``settings`` of `kernels.contact.problem`."""
    scales, gravity = contact_scales(robot), float(np.linalg.norm(robot.gravity))
    velocity = scales.velocity(gravity, dt)
    least, slack = solver.tolerance, SMOOTHING_SLACK
    if dtype == "float32":
        least, slack = max(least, SINGLE_CONTACT_TOLERANCE), SINGLE_SMOOTHING_SLACK
    threshold, push = RESTING_STEPS * gravity * dt, PENETRATION_VELOCITY * velocity
    head = [least * velocity, solver.max_iterations, dt, time, dt, push, threshold, gravity, PENALTY, slack]
    inertias = 2 / (np.repeat(scales.pairs, tree.contact_slots) * (1 + tree.friction**2))
    head += [float(np.exp(np.log(inertias).mean())) if inertias.size else 1.0, ROUNDINGS[0]]
    joints = joint_inverse_inertias(robot)[tree.box_v] if tree.nboxes else np.zeros(0)
    angles = joint_units(robot)[tree.box_v] == 1.0 if tree.nboxes else np.zeros(0, dtype=bool)
    units = scales.length / typical_row_units(robot) if tree.nc else np.zeros(0)
    parts = [
        head,
        np.repeat(scales.pairs, tree.contact_slots),
        joints,
        np.where(angles, scales.length, 1.0),
        loop_row_regularization(robot, solver.regularization, dtype),
        units,
    ]
    return np.concatenate(parts).astype(dtype)
