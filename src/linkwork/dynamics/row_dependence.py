# SPDX-License-Identifier: BSD-3-Clause
"""Whether rows of a robot's constraints depend on others, in general: at configurations in which loops are closed."""

from __future__ import annotations

import numpy as np

from linkwork.closure.mobility import nearby
from linkwork.closure.tolerances import CLUSTER_RANK
from linkwork.errors import NotFinite
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.plans.clusters import enabled_rows
from linkwork.quantities.scales import quantity, scales_of

INDEPENDENT = 1e-3
"""The least singular value of rows that are independent, each of length one."""
CONFIGURATIONS = 3
"""At how many configurations rows are looked at."""


@computed_once
def row_independence(robot: Model) -> float:
    """The least singular value of the rows, each scaled to length one; zero where one of them cannot move anything.

    Args:
        robot: The mechanism.
    """
    rows = enabled_rows(robot)
    jacobian, weights = quantity(robot, "constraint_jacobian"), 1 / np.sqrt(scales_of(robot).joints)
    poses = [q for q, _ in nearby(robot)[:CONFIGURATIONS]] or [next(iter(robot.poses.values()), robot.neutral())]
    if len(rows) > robot.nv:
        return 0.0
    least = 1.0
    for q in poses:
        try:
            J = jacobian(q)[rows] * weights
        except (ArithmeticError, ValueError, NotFinite):  # a function of joints has no value here
            return 0.0
        length = np.linalg.norm(J, axis=1)
        if not (length > 0).all():
            return 0.0
        least = min(least, float(np.linalg.svd(J / length[:, None], compute_uv=False).min(initial=1.0)))
    return least


def rows_depend(robot: Model) -> bool:
    """Whether some rows may depend on others, at some configurations at least.

    Args:
        robot: The mechanism.
    """
    return row_independence(robot) < INDEPENDENT


def rows_redundant(robot: Model) -> bool:
    """Whether some rows depend on others to rounding: their forces are not unique.

    Args:
        robot: The mechanism.
    """
    return row_independence(robot) < CLUSTER_RANK
