# SPDX-License-Identifier: BSD-3-Clause
"""Solutions of the linear system of derivatives that are exact where rows are redundant, too.

    M x - J' w = force,        J x = rows

Of redundant rows, those that depend on others, ``w`` is not unique: it is the smallest in ``w' R w``, and ``rows`` may
contradict each other. Proximal iterations (`linear_solve`) divide what rows contradict each other by, rounding errors
of ``rows`` at least, by the regularization R, and ``w`` gets it: a part of 1e-10 and more. Accelerations do not.

Both are mended by the same system with ``rows = 0``: torques ``-J' w`` are balanced by the smallest forces that do what
``w`` does, without motion::

    smallest(w)      = w' of  M x - J' w' = -J' w,  J x = 0         takes forces off that cancel
    consistent(rows) = R smallest(R^-1 rows)                        its transpose, takes contradictions off

Rounding of ``x``, which cancels, is divided by R here, too; so the system is solved with a softer R first, which leaves
little of that, and with R for what is left of ``w``, which is little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.dynamics.solution import HEAD, ITERATIONS, PROGRESS
from linkwork.kernels.constrained.problem import DISABLED
from linkwork.quantities.arguments import Array

Doubts = list[npt.NDArray[np.bool_]]
"""Of which states results are not exact, each ``(...)``: one of them is enough."""

CONTRADICTORY = 1e-6
"""What rows may miss of right-hand sides, as a part of all of these: rounding errors that ``w`` makes of more count."""


SOFT = 3e-5
"""Stiffness of the rows, relative to R^-1, that leaves little of rounding."""


EXACT = 3e-12
"""What iterations may leave of the error of forces, relative to these."""

CREEPING = 1e-3
"""Forces that change by more than this part of themselves in the last iteration are those of rows that contradict each
other: iterations ended as nothing else changed."""


class Weights(NamedTuple):
    """What makes rows and forces of different units comparable."""

    regularization: Array
    """R, ``(nc,)``."""
    mobility: Array
    """Inverse inertia of each joint, ``(nv,)``."""
    row_inertia: Array
    """Inertia that each row feels, ``(nc,)``."""
    tolerance: float
    """The relative residual at which iterations end."""
    of_forces: Array
    """Weights of squared forces in a sum that has no units of rows, ``(nc,)``: inverse inertias."""
    of_changes: Array
    """The same of what rows miss, which is the last change of forces times R."""
    most_changed: Array
    """By the number of iterations, the square of the part of themselves by which the last may change forces."""

    @classmethod
    def of_inputs(cls, regularization: Array, settings: Array, nv: int, idle: npt.NDArray[np.bool_]) -> Weights:
        """Those in the inputs of constrained forward dynamics.

        Args:
            regularization: Of each row.
            settings: Settings of the iterations (`kernels.constrained.problem`).
            nv: Degrees of freedom.
            idle: Rows that nothing moves, whose forces do not count.
        """
        rows = len(settings) - len(regularization)
        _, mobility, row_inertia = np.split(settings, [rows - nv, rows])
        on = (row_inertia > 0) & ~idle
        of_forces = np.where(on, 1.0 / np.where(on, row_inertia, 1.0), 0.0)
        of_changes = of_forces / np.where(on, regularization, 1.0).astype(np.float64) ** 2
        tolerance, k = float(settings[0]), np.maximum(np.arange(int(settings[1]) + 1), 2)
        most_changed = max(EXACT, 10 * tolerance) ** (2.0 * (k - 1) / k)
        return cls(regularization, mobility, row_inertia, tolerance, of_forces, of_changes, most_changed)

    def doubtful(self, result: Array, unique: Array, projected: bool) -> npt.NDArray[np.bool_]:
        """Whether iterations ended before forces were exact, of each state.

        The last of k iterations changed forces by a part t of themselves, each by rho of the change before. With ``t =
        rho^(k-1)``, what is left is ``rho t = t^(k/(k-1))``: an error that a residual of rows does not show where these
        are nearly dependent. Changes of forces that cancel, which projections took off, do not count.

        Args:
            result: What iterations left (`solution.ResultLayout`).
            unique: Forces without what cancels, ``(..., nc)``.
            projected: Whether forces that cancel were taken off.
        """
        nc = len(self.regularization)
        w, missed = result[..., HEAD : HEAD + nc], result[..., HEAD + nc : HEAD + 2 * nc]
        size, change = np.square(unique) @ self.of_forces, np.square(missed) @ self.of_changes
        if projected:
            change = np.maximum(np.sqrt(change) - np.sqrt(np.square(w - unique) @ self.of_forces), 0.0) ** 2
        most = self.most_changed[result[..., ITERATIONS].astype(np.intp)]
        found: Any = (change > most * size) & (change < CREEPING**2 * size) | (result[..., PROGRESS] > self.tolerance)
        return np.asarray(found)


class LinearSystem(NamedTuple):
    """A system at some states, with any right-hand sides."""

    solve: Callable[[Any, Any], tuple[Array, Array]]
    """``solve(force, rows)``: ``x``, and the result with ``w`` and what rows miss (`linear_solve.OUTPUTS`)."""
    balance: Callable[[Any, float], Array]
    """``balance(w, stiffness)``: forces that do to joints what ``w`` does, with R over ``stiffness``."""
    weights: Weights
    redundant: bool
    """Whether rows depend on others at all configurations."""
    moved: Array | None
    """Zero for rows that nothing moves, whose forces are zero, one for others, ``(nc,)``; None where all are moved."""
    doubts: Doubts | None = None
    """Where it is noted of which states iterations left more than rounding; None: nowhere."""

    def solution(self, force: Any, rows: Any, seeds: bool) -> tuple[Array, Array]:
        """``x`` and the smallest ``w``.

        Args:
            force: Right-hand sides, ``(..., nv)``.
            rows: Right-hand sides of rows, ``(..., nc)``.
            seeds: Whether rows are any numbers: those that are redundant contradict each other, then.
        """
        redundant, nc = self.redundant, len(self.weights.regularization)
        rows = self.consistent(rows) if seeds and redundant else self.without_idle(rows)
        x, result = self.solve(force, rows)
        if self._contradictory(force, rows, result):
            redundant = True
            x, result = self.solve(force, self.consistent(rows))
        w = np.ascontiguousarray(result[..., HEAD : HEAD + nc])
        unique = self.smallest(w) if redundant else self.without_idle(w)
        if self.doubts is not None:
            self.doubts.append(self.weights.doubtful(result, unique, redundant))
        return x, unique

    def unique(self, w: Any) -> Any:
        """Forces without what cancels: those of redundant rows are the smallest.

        Args:
            w: Forces of rows, ``(..., nc)``.
        """
        return self.smallest(w) if self.redundant else self.without_idle(w)

    def smallest(self, w: Any) -> Array:
        """The smallest forces that do to joints what others do.

        Args:
            w: Forces of rows, ``(..., nc)``.
        """
        found = self.balance(w, SOFT)
        return np.ascontiguousarray(self.without_idle(found + self.balance(w - found, 1.0)))

    def without_idle(self, x: Any) -> Any:
        """Numbers of rows, zero where nothing moves a row.

        Args:
            x: Of each row, ``(..., nc)``.
        """
        return x if self.moved is None else x * self.moved

    def consistent(self, rows: Any) -> Any:
        """Right-hand sides without what they contradict each other by.

        Args:
            rows: Right-hand sides of rows, ``(..., nc)``.
        """
        if not np.any(rows):
            return rows
        R = self.weights.regularization
        on = R < DISABLED
        found = self.smallest(np.where(on, rows / np.where(on, R, 1.0), 0.0).astype(R.dtype))
        return np.where(on, R * found, 0.0).astype(R.dtype)

    def _contradictory(self, force: Any, rows: Any, result: Array) -> bool:
        """Whether rows miss more of the right-hand sides than rounding, of any state."""
        nc, mobility, row_inertia = len(self.weights.regularization), self.weights.mobility, self.weights.row_inertia
        scale = np.square(force) @ mobility + np.square(rows) @ row_inertia
        missed = np.square(result[..., HEAD + nc : HEAD + 2 * nc]) @ row_inertia
        return bool((missed > CONTRADICTORY**2 * scale).any())
