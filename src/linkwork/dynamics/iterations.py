# SPDX-License-Identifier: BSD-3-Clause
"""Proximal iterations: regularization of rows and when iterations end, in the units of a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.inputs import above_zero, count
from linkwork.model.model import Model
from linkwork.model.thresholds import UNBOUNDED
from linkwork.quantities.arguments import Array
from linkwork.quantities.scales import scales_of

REGULARIZATION = 1e-8
"""Regularization of a row of compliance one, relative to the apparent inverse inertia of the row. A smaller one needs
fewer iterations and loses more digits: `prox_bbo`, which does not make up for it, keeps eight."""
REDUNDANT_REGULARIZATION = 1e-7
"""Regularization in steps of robots with redundant rows. Rows that open loops make independent, whose singular values
are below the root of this, do not act: those at the stages of long steps are about 1e-4."""
SINGLE_REGULARIZATION = 1e-4
"""The least in single precision."""
TOLERANCE = 1e-13
"""Residual of rows at which iterations end, relative to the effect of forces and velocities
(`kernels.constrained.problem`)."""
SINGLE_TOLERANCE = 1e-7
"""The least in single precision."""
MAX_ITERATIONS = 20
EXPECTED = 3
"""Iterations that most robots need, assumed by `auto`, or the maximum number if less."""


@dataclass(frozen=True)
class SolverSettings:
    """Settings of proximal iterations, without units; they travel together."""

    regularization: float = REGULARIZATION
    """Of a row, as a part of the diagonal of J M⁻¹ Jᵀ, times the compliance of its constraint."""
    tolerance: float = TOLERANCE
    """The constraint residual at which iterations end, relative to the effect of gravity, torques and velocities."""
    max_iterations: int = MAX_ITERATIONS
    """The most iterations."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "regularization", above_zero(self.regularization, "regularization"))
        object.__setattr__(self, "tolerance", above_zero(self.tolerance, "tolerance"))
        object.__setattr__(self, "max_iterations", count(self.max_iterations, "max_iterations"))

    def rows(self, robot: Model, dtype: str) -> Array:
        """The input ``regularization`` of kernels, `row_regularization`."""
        return row_regularization(robot, self.regularization, dtype)

    def array(self, robot: Model, dtype: str) -> Array:
        """The input ``settings`` of kernels, `iteration_settings`."""
        return iteration_settings(robot, self.regularization, self.tolerance, self.max_iterations, dtype)


def row_regularization(robot: Model, regularization: float, dtype: str = "float64") -> Array:
    """The regularization of each row, ``(nc,)``: relative to its apparent inverse inertia, times its constraint's
    compliance.

    It is as good as infinite where the constraint is not enabled.
    """
    mu = relative_regularization(regularization, dtype)
    parts = [np.where(c.enabled, mu * np.asarray(c.compliance), UNBOUNDED) for c in robot.constraints]
    R = np.concatenate(parts) if parts else np.zeros(0)
    return np.where(R < UNBOUNDED, R * scales_of(robot).rows, UNBOUNDED).astype(dtype)


def relative_regularization(regularization: float, dtype: str) -> float:
    """The regularization of a row as a part of its inverse inertia: in single precision no less than it resolves.

    Args:
        regularization: In double precision.
        dtype: Of the numbers.
    """
    return regularization if dtype == "float64" else max(regularization, SINGLE_REGULARIZATION)


def iteration_settings(
    robot: Model, regularization: float, tolerance: float, iterations: int, dtype: str = "float64"
) -> Array:
    """Tolerances of iterations, and scales of the robot: the input ``settings`` of `algorithms.constrained`."""
    scales = scales_of(robot)
    most = tolerance if dtype == "float64" else max(tolerance, SINGLE_TOLERANCE)
    relative = relative_regularization(regularization, dtype)
    swamped = float(np.finfo(dtype).eps) / relative
    weight = scales.mass * float(robot.gravity @ robot.gravity)
    felt = [np.where(c.enabled, 1.0, 0.0) for c in robot.constraints for _ in range(c.rows)] / scales.rows
    head = [most, iterations, swamped, relative, weight, 1 / scales.mass, 1 / scales.moment]
    return np.concatenate([head, 1 / scales.joints, felt]).astype(dtype)
