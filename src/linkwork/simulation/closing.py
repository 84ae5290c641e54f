"""Back onto the loops, quickly: what a simulation does every few steps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from linkwork.closure import RANK_TOLERANCE, assemble, which_enabled, which_holonomic
from linkwork.dynamics import Array, constraint_error, constraint_jacobian, mass_matrix
from linkwork.mechanism import Mechanism

CLOSED = 1e-12
"""Errors below this are closed loops; rounding of most robots is smaller."""
NEWTON = 5
"""Iterations after which what is left is for `assemble`."""


class Closing:
    """``Closing(robot)(q, v)``: the nearest state with closed loops, in the metric of kinetic energy."""

    def __init__(self, robot: Mechanism) -> None:
        self.robot = robot
        self._bound = which_enabled(robot)
        self._placed = self._bound & which_holonomic(robot)

    def __call__(self, q: Array, v: Array) -> tuple[Array, Array]:
        """One state, onto the loops."""
        at = self._closed(q)
        J = constraint_jacobian(self.robot, at)[self._bound]
        return at, v - self._least(at, J, J @ v)

    def _closed(self, q: Array) -> Array:
        """Newton's method; where loops are too wide open for it, `assemble`."""
        at = q
        for _ in range(NEWTON):
            error = constraint_error(self.robot, at)[self._placed]
            if np.abs(error).max(initial=0.0) <= CLOSED:
                return at
            J = constraint_jacobian(self.robot, at)[self._placed]
            at = self.robot.integrate(at, -self._least(at, J, error))
        return assemble(self.robot, q, limits=False).q

    def _least(self, q: Array, J: Array, change: npt.NDArray[np.float64]) -> Array:
        """The ``x`` of least energy with ``J x = change``, or as nearly as rows allow."""
        L = np.linalg.cholesky(mass_matrix(self.robot, q))
        A = solve_triangular(L, J.T, lower=True, check_finite=False).T
        y = np.linalg.lstsq(A, change, rcond=RANK_TOLERANCE)[0]
        found: Array = solve_triangular(L, y, lower=True, trans="T", check_finite=False)
        return found
