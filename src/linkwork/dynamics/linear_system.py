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

from linkwork.dynamics.solution import HEAD
from linkwork.kernels.constrained import DISABLED
from linkwork.quantities.arguments import Array

CONTRADICTORY = 1e-6
"""What rows may miss of right-hand sides, as a part of all of these: rounding errors that ``w`` makes of more count."""


SOFT = 1e-4
"""Stiffness of the rows, relative to R^-1, that leaves little of rounding."""


class Weights(NamedTuple):
    """What makes rows and forces of different units comparable."""

    regularization: Array
    """R, ``(nc,)``."""
    mobility: Array
    """Inverse inertia of each joint, ``(nv,)``."""
    row_inertia: Array
    """Inertia that each row feels, ``(nc,)``."""

    @classmethod
    def of_inputs(cls, regularization: Array, settings: Array, nv: int) -> Weights:
        """Those in the inputs of constrained forward dynamics.

        Args:
            regularization: Of each row.
            settings: Settings of the iterations (`kernels.constrained`).
            nv: Degrees of freedom.
        """
        nc = len(regularization)
        return cls(
            regularization, settings[len(settings) - nc - nv : len(settings) - nc], settings[len(settings) - nc :]
        )


class LinearSystem(NamedTuple):
    """A system at some states, with any right-hand sides."""

    solve: Callable[[Any, Any], tuple[Array, Array]]
    """``solve(force, rows)``: ``x``, and the result with ``w`` and what rows miss (`linear_solve.OUTPUTS`)."""
    balance: Callable[[Any, float], Array]
    """``balance(w, stiffness)``: forces that do to joints what ``w`` does, with R over ``stiffness``."""
    weights: Weights
    redundant: bool
    """Whether rows depend on others at all configurations."""

    def solution(self, force: Any, rows: Any, seeds: bool) -> tuple[Array, Array]:
        """``x`` and the smallest ``w``.

        Args:
            force: Right-hand sides, ``(..., nv)``.
            rows: Right-hand sides of rows, ``(..., nc)``.
            seeds: Whether rows are any numbers: those that are redundant contradict each other, then.
        """
        redundant, nc = self.redundant, len(self.weights.regularization)
        if redundant and seeds:
            rows = self.consistent(rows)
        x, result = self.solve(force, rows)
        if self._contradictory(force, rows, result[..., HEAD + nc : HEAD + 2 * nc]):
            redundant = True
            x, result = self.solve(force, self.consistent(rows))
        w = np.ascontiguousarray(result[..., HEAD : HEAD + nc])
        return x, self.smallest(w) if redundant else w

    def smallest(self, w: Any) -> Array:
        """The smallest forces that do to joints what others do.

        Args:
            w: Forces of rows, ``(..., nc)``.
        """
        found = self.balance(w, SOFT)
        return np.ascontiguousarray(found + self.balance(w - found, 1.0))

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

    def _contradictory(self, force: Any, rows: Any, missed: Array) -> bool:
        """Whether rows miss their right-hand sides by more than rounding."""
        _, mobility, row_inertia = self.weights
        scale = (mobility * np.square(force)).sum(axis=-1) + (row_inertia * np.square(rows)).sum(axis=-1)
        least = (row_inertia * np.square(missed)).max(axis=-1, initial=0.0)
        return bool(np.any(least > CONTRADICTORY**2 * scale))
