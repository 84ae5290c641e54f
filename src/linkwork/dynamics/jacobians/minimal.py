# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of the motion in minimal coordinates: `minimal_derivatives`.

On closed loops ``q`` and ``v`` follow the independent degrees of freedom y (`Minimal`): ``dq = G dy`` and, from
``J v = 0``, ``dv = G dy' + Gamma dy`` with

    J Gamma = -d(J v)/dq G,        rows of Gamma that belong to y are zero

so that with any solution x of the first equation ``Gamma = x - G x_y``; forward dynamics has one, ``da_dtarget`` times
its right-hand side. Accelerations follow by the chain rule: ``dy''/dy = (da_dq G + da_dv Gamma)_y``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.closure.minimal import Minimal
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.dynamics.jacobians.constrained import ConstrainedDerivatives
from linkwork.dynamics.jacobians.trees import ForwardDerivatives, ForwardJacobians
from linkwork.errors import InputError
from linkwork.inputs import real_array
from linkwork.model.checks import check_robot
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.model.notebook import shapes
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import constraint_derivatives


class MinimalJacobians(NamedTuple):
    """Derivatives of motion in minimal coordinates y. Leading axes are those of the batch."""

    ddy_dy: Array
    """Accelerations ``y''`` by ``y``, ``(..., ny, ny)``; q and v follow, so that loops stay closed."""
    ddy_drate: Array
    """By ``y'``, ``(..., ny, ny)``."""
    ddy_dtau: Array
    """By torques of all joints, ``(..., ny, nv)``."""
    ddy: Array
    """The accelerations themselves, ``(..., ny)``."""
    matrix: Array
    """``G``, ``(..., nv, ny)``: all joint velocities as a linear map of ``y'``, and tangents of q as one of dy."""
    dv_dy: Array
    """``Gamma``, ``(..., nv, ny)``: joint velocities by ``y``, with ``y'`` held."""

    def __repr__(self) -> str:
        return shapes(self)


def minimal_derivatives(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike) -> MinimalJacobians:
    """Derivatives of accelerations in minimal coordinates, at a state whose loops are closed.

    Of a tree without constraints, all degrees of freedom are independent.

    Args:
        robot: The mechanism.
        q: Configuration with closed loops, ``(..., nq)``.
        v: Joint velocities that keep them closed, ``(..., nv)``.
        tau: Joint torques, ``(..., nv)``.
    """
    check_robot(robot)
    minimal, evaluator = _made_once(robot)
    y = minimal.index
    rates = real_array(v, "v").astype(np.float64)
    if rates.shape[-1:] != (robot.nv,):
        raise InputError(f"v has shape {rates.shape}, needs (..., {robot.nv})")
    jacobians = evaluator(q, rates, tau)
    if isinstance(jacobians, ForwardJacobians):
        G = np.broadcast_to(np.eye(robot.nv), jacobians.da_dq.shape).copy()
        followed = np.zeros_like(G)
    else:
        G = minimal.matrix(q)
        target = -constraint_derivatives(robot, q, np.zeros(robot.nv), rates).ds_dq @ G
        x = jacobians.da_dtarget @ target
        followed = x - G @ x[..., y, :]
    by_y = jacobians.da_dq @ G + jacobians.da_dv @ followed
    by_rate = jacobians.da_dv @ G
    return MinimalJacobians(
        by_y[..., y, :], by_rate[..., y, :], jacobians.da_dtau[..., y, :], jacobians.a[..., y], G, followed
    )


@computed_once
def _made_once(robot: Model) -> tuple[Minimal, ForwardDerivatives | ConstrainedDerivatives]:
    """The minimal coordinates of a robot, and the evaluator of its Jacobians."""
    return Minimal(robot), ForwardDynamics(robot).derivatives
