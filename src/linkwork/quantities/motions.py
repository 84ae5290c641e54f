# SPDX-License-Identifier: BSD-3-Clause
"""Rows of constraints whose targets move: their positions, velocities and accelerations at given times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from linkwork.model.constraints import Drive
from linkwork.model.model import Model
from linkwork.model.motions import motion_at
from linkwork.quantities.arguments import Array


def is_timed(robot: Model) -> bool:
    """Whether constraints or forces of a robot depend on time.

    Args:
        robot: The mechanism.
    """
    return has_motions(robot) or any(element.timed for element in robot.forces)


def has_motions(robot: Model) -> bool:
    """Whether a constraint of a robot has rows that move.

    Args:
        robot: The mechanism.
    """
    return any(c.motion is not None for c in robot.constraints)


def without_motions(robot: Model) -> Model:
    """The robot without constraints that move; joints that these drive are actuated.

    Args:
        robot: The mechanism.
    """
    if not has_motions(robot):
        return robot
    driven = {c.joint for c in robot.constraints if isinstance(c, Drive)}
    joints = tuple(replace(j, actuated=True) if j.name in driven else j for j in robot.joints)
    return replace(robot, joints=joints, constraints=tuple(c for c in robot.constraints if c.motion is None))


def row_motions(robot: Model, time: npt.ArrayLike) -> tuple[Array, Array, Array]:
    """Targets of all rows at some times, their rates and second rates, ``(..., nc)`` each; zero where none moves.

    Args:
        robot: The mechanism.
        time: Seconds, ``(...)``.
    """
    t = np.asarray(time, dtype=np.float64)
    value, rate, second = (np.zeros((*t.shape, robot.nc)) for _ in range(3))
    for c in robot.constraints:
        if c.motion is not None:
            rows = robot.row_slice(c.name)
            value[..., rows], rate[..., rows], second[..., rows] = motion_at(c.motion, t)
    return value, rate, second
