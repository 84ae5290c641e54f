# SPDX-License-Identifier: BSD-3-Clause
"""Assembling by singular values, one configuration at a time: what the compiled descent is compared with."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly_problem import Problem
from linkwork.kernels.constrained.assembly import MAX_STALLED, MAX_STEP, REGULARIZATION, STEP_SIZES
from linkwork.kernels.thresholds import LITTLE_CLOSING
from linkwork.plans.loops import loops_of
from linkwork.quantities.functions import constraint_jacobian
from linkwork.quantities.scales import joint_units, typical_row_units
from tests.support.states import Floats

RANK_TOLERANCE = 1e-9


class BySingularValues(Problem):
    """Gauss-Newton, not damped once loops are nearly closed."""

    def descend_alone(self, q: Floats, tolerance: float, max_iterations: int) -> tuple[Floats, float, int]:
        """The same from one configuration, by singular values: not damped once loops are nearly closed."""
        e = self._error(q)
        size, slow, iteration = float(np.linalg.norm(e)), 0, -1
        for iteration in range(max_iterations):
            gap = float(np.abs(e).max(initial=0.0))
            if gap <= tolerance:
                return q, gap, iteration
            step = self._step(q, e, size)
            best = None
            for scale in STEP_SIZES:
                trial = self.within(self.robot.integrate(q, scale * step))
                e_trial = self._error(trial)
                if float(np.linalg.norm(e_trial)) < (1 - 1e-4 * scale) * size:
                    best = trial, e_trial
                    break
            if best is None:
                return q, gap, iteration + 1
            q, e = best
            slow = slow + 1 if float(np.linalg.norm(e)) > (1 - LITTLE_CLOSING) * size else 0
            size = float(np.linalg.norm(e))
            if slow > MAX_STALLED:
                break
        return q, float(np.abs(e).max(initial=0.0)), iteration + 1

    def _step(self, q: Floats, e: Floats, size: float) -> Floats:
        """The least motion that closes the loops to first order; damped while they are wide open.

        Coordinates at a limit that would be passed are held and the rest solved again.
        """
        units = joint_units(self.robot)
        J = np.where(self.moves, constraint_jacobian(self.robot, q), 0.0) * units
        J = (J / typical_row_units(self.robot)[:, None])[self.rows]
        mobile = self.free.copy()
        damping = REGULARIZATION * size if size > REGULARIZATION else 0.0
        step = np.zeros(self.robot.nv)
        for _ in range(len(self.in_v) + 1):
            step[:] = 0.0
            step[mobile] = _least_squares(J[:, mobile], -e, damping)
            x, dx = q[self.in_q], step[self.in_v]
            pressed = ((x <= self.lower[self.in_q]) & (dx < 0)) | ((x >= self.upper[self.in_q]) & (dx > 0))
            pressed &= mobile[self.in_v]
            if not pressed.any():
                break
            mobile[self.in_v[pressed]] = False
        length = float(np.abs(step).max(initial=0.0))
        return units * step * (MAX_STEP / max(length, MAX_STEP))

    def _error(self, q: Floats) -> Floats:
        """Without units."""
        found: Floats = super()._error(q) / typical_row_units(self.robot)[self.rows]
        return found

    @cached_property
    def moves(self) -> npt.NDArray[np.bool_]:
        """Which joints close which rows.

        Where points that should meet are apart, J also says how the gap turns with what carries the whole loop: that
        closes nothing.
        """
        found = np.zeros((self.robot.nc, self.robot.nv), dtype=bool)
        for loop in loops_of(self.robot).loops:
            for name in loop.support:
                found[self.robot.row_slice(loop.constraint), self.robot.v_slice(name)] = True
        return found


def _least_squares(A: Floats, b: Floats, damping: float) -> Floats:
    """The shortest ``x`` of least ``|A x - b|² + damping |x|²``, by singular values."""
    if 0 in A.shape:
        return np.zeros(A.shape[1])
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    cut = RANK_TOLERANCE * s[0]
    gain = np.where(s > cut, s / np.maximum(s * s + damping, np.finfo(float).tiny), 0.0)
    x: Floats = Vt.T @ (gain * (U.T @ b))
    return x
