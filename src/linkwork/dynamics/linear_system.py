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

from linkwork.dynamics.solution import HEAD, PROGRESS
from linkwork.kernels.constrained import DISABLED
from linkwork.quantities.arguments import Array

CONTRADICTORY = 1e-6
"""What rows may miss of right-hand sides, as a part of all of these: rounding errors that ``w`` makes of more count."""


SOFT = 1e-4
"""Stiffness of the rows, relative to R^-1, that leaves little of rounding."""


class Unsolved(Exception):
    """Iterations ended before rows had their right-hand sides: rows are too near to dependent ones."""


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

    @classmethod
    def of_inputs(cls, regularization: Array, settings: Array, nv: int) -> Weights:
        """Those in the inputs of constrained forward dynamics.

        Args:
            regularization: Of each row.
            settings: Settings of the iterations (`kernels.constrained`).
            nv: Degrees of freedom.
        """
        rows = len(settings) - len(regularization)
        _, mobility, row_inertia = np.split(settings, [rows - nv, rows])
        return cls(regularization, mobility, row_inertia, float(settings[0]))


class LinearSystem(NamedTuple):
    """A system at some states, with any right-hand sides."""

    solve: Callable[[Any, Any], tuple[Array, Array]]
    """``solve(force, rows)``: ``x``, and the result with ``w`` and what rows miss (`linear_solve.OUTPUTS`)."""
    balance: Callable[[Any, float], Array]
    """``balance(w, stiffness)``: forces that do to joints what ``w`` does, with R over ``stiffness``."""
    weights: Weights
    redundant: bool
    """Whether rows depend on others at all configurations."""
    idle: npt.NDArray[np.bool_]
    """Rows that nothing moves, ``(nc,)``: their forces are zero."""
    strict: bool = False
    """Whether iterations that do not end well are an exception, `Unsolved`."""

    def solution(self, force: Any, rows: Any, seeds: bool) -> tuple[Array, Array]:
        """``x`` and the smallest ``w``.

        Args:
            force: Right-hand sides, ``(..., nv)``.
            rows: Right-hand sides of rows, ``(..., nc)``.
            seeds: Whether rows are any numbers: those that are redundant contradict each other, then.
        """
        redundant, nc = self.redundant, len(self.weights.regularization)
        rows = self.consistent(rows) if seeds and redundant else self._without_idle(rows)
        x, result = self.solve(force, rows)
        if self._missed(force, rows, result) > CONTRADICTORY:
            redundant = True
            x, result = self.solve(force, self.consistent(rows))
        if self.strict and not (result[..., PROGRESS] <= self.weights.tolerance).all():
            raise Unsolved("iterations ended before rows had their right-hand sides")
        w = np.ascontiguousarray(result[..., HEAD : HEAD + nc])
        return x, self.smallest(w) if redundant else self._without_idle(w)

    def unique(self, w: Any) -> Any:
        """Forces without what cancels: those of redundant rows are the smallest.

        Args:
            w: Forces of rows, ``(..., nc)``.
        """
        return self.smallest(w) if self.redundant else self._without_idle(w)

    def smallest(self, w: Any) -> Array:
        """The smallest forces that do to joints what others do.

        Args:
            w: Forces of rows, ``(..., nc)``.
        """
        found = self.balance(w, SOFT)
        return np.ascontiguousarray(self._without_idle(found + self.balance(w - found, 1.0)))

    def _without_idle(self, x: Any) -> Any:
        """Numbers of rows, zero where nothing moves a row."""
        return np.where(self.idle, np.zeros((), self.weights.regularization.dtype), x) if self.idle.any() else x

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

    def _missed(self, force: Any, rows: Any, result: Array) -> float:
        """What rows miss, as a part of the right-hand sides: the most of all states."""
        nc, mobility, row_inertia = len(self.weights.regularization), self.weights.mobility, self.weights.row_inertia
        scale = (mobility * np.square(force)).sum(axis=-1) + (row_inertia * np.square(rows)).sum(axis=-1)
        missed = (row_inertia * np.square(result[..., HEAD + nc : HEAD + 2 * nc])).max(axis=-1, initial=0.0)
        return float(np.sqrt(np.max(missed / np.where(scale > 0, scale, 1.0), initial=0.0)))
