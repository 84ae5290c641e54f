# SPDX-License-Identifier: BSD-3-Clause
"""Settings of steps with all slots of all pairs, as solvers read them; the time in which penetration is removed."""

from __future__ import annotations

import numpy as np

from linkwork.contact.scales import contact_scales, joint_inverse_inertias
from linkwork.contact.thresholds import (
    LEAST_TIME_CONSTANT,
    PENETRATION_VELOCITY,
    RESTING_STEPS,
    SINGLE_CONTACT_TOLERANCE,
    SINGLE_SMOOTHING_SLACK,
    SMOOTHING_SLACK,
)
from linkwork.dynamics.iterations import SolverSettings, row_regularization
from linkwork.errors import InputError
from linkwork.inputs import TimeConstant, above_zero
from linkwork.kernels.contact.equation import ROUNDINGS
from linkwork.model.model import Model
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.scales import joint_units, typical_row_units

PENALTY = 3.0
"""Penalty of contacts, in units of the inertia that they feel."""


def penetration_time(time_constant: TimeConstant, dt: float) -> float:
    """Seconds in which penetration is removed under steps of the time ``dt``; None: it stays."""
    if time_constant is None:
        return UNBOUNDED
    if isinstance(time_constant, str) and time_constant == "auto":
        return max(LEAST_TIME_CONSTANT, 2 * dt)
    time = above_zero(time_constant, "time_constant")
    if time < dt:
        raise InputError(f"time_constant is {time:g} s: penetration cannot be removed in less than a step ({dt:g} s)")
    return time


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
        row_regularization(robot, solver.regularization, dtype),
        units,
    ]
    return np.concatenate(parts).astype(dtype)
