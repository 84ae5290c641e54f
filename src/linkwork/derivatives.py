# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives beyond those of evaluators: rollouts, linear systems, constraint rows, minimal coordinates."""

from linkwork.dynamics.jacobians.minimal import minimal_derivatives
from linkwork.quantities.functions import constraint_derivatives, constraint_error_jacobian
from linkwork.simulation import Adjoint, Linearization

__all__ = [
    "Adjoint",
    "Linearization",
    "constraint_derivatives",
    "constraint_error_jacobian",
    "minimal_derivatives",
]
