# SPDX-License-Identifier: BSD-3-Clause
"""Products where rows depend on others: what turns with the dependency.

See `kernels.derivatives.dependent_rows` for the equations. With ``h = R^-1 e`` of what rows miss, ``y = T R f``, and
``u = R T' d(J' h)``, rows follow targets that change by ``u``, and forces change by ``z = R^-1 (1 - J T) d(J y)``
besides::

    jvp:  solve with  rows + u,  then  df + z
    vjp:  y_a' T u + y_f' X u = c' d(J' h),    c = -T R w        (p, w) solves the system of the seeds
          y_f' z              = (R^-1 (1 - J T) y_f)' d(J y)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork.dynamics.implicit_products import HELD
from linkwork.dynamics.linear_system import LinearSystem
from linkwork.kernels.constrained.problem import DISABLED
from linkwork.quantities.arguments import Array

CONTRADICTED = 1e-11
"""What rows may miss without contradicting each other, as a part of what accelerations and forces do: iterations end
at less."""

Outputs = Mapping[str, Array]


class DependentRows(NamedTuple):
    """A linear system of derivatives at a solution, and what of its rows turns."""

    system: LinearSystem
    held: dict[str, Array]
    """``h`` and ``y``; zero where they do not count."""
    contradicted: bool
    """Whether rows contradict each other: ``h`` counts."""
    cancelling: bool
    """Whether forces that cancel are asked for: ``y`` counts."""

    @classmethod
    def of_solution(cls, system: LinearSystem, a: Any, f: Any, missed: Any, forces: bool) -> DependentRows:
        """At a solution.

        Args:
            system: The linear system at its state.
            a: Accelerations, or velocities after an impact, ``(..., nv)``.
            f: The smallest forces, ``(..., nc)``.
            missed: What each row misses, ``(..., nc)``.
            forces: Whether derivatives of forces are asked for.
        """
        weights = system.weights
        R, on = weights.regularization, weights.regularization < DISABLED
        moved = (np.square(a) / weights.mobility).sum(axis=-1)
        inertia = np.where(weights.row_inertia > 0, weights.row_inertia, 1.0)
        scale = moved + (np.square(f) / inertia).sum(axis=-1)
        open_by = (weights.row_inertia * np.square(missed)).sum(axis=-1)
        least = max(CONTRADICTED, 10 * weights.tolerance)
        contradicted = bool((open_by > least**2 * scale).any())
        h = np.where(on, missed / np.where(on, R, 1.0), 0.0) if contradicted else np.zeros_like(missed)
        y = system.solve(np.zeros_like(a), _weighed(R, f))[0] if forces else np.zeros_like(a)
        held = dict(zip(HELD, (h.astype(R.dtype), np.array(y, R.dtype)), strict=True))
        return cls(system, held, contradicted, forces)

    @property
    def nothing(self) -> bool:
        """Whether nothing turns."""
        return not (self.contradicted or self.cancelling)

    def rates(self, force: Any, rows: Any, forward: Callable[[], Outputs]) -> tuple[Array, Array]:
        """Rates of accelerations and forces.

        Args:
            force: Right-hand sides, ``(..., nv)``.
            rows: Right-hand sides of rows, ``(..., nc)``.
            forward: The tangent of `Implicit.row_products`, ``h`` and ``y`` held.
        """
        products = {} if self.nothing else forward()
        if self.contradicted:
            _, w = self.system.solution(products["torques"], np.zeros_like(rows), seeds=False)
            rows = rows - _weighed(self.system.weights.regularization, w)
        x, w = self.system.solution(force, rows, seeds=False)
        return x, w + self._cancelling(products["velocities"]) if self.cancelling else w

    def gradients(self, w: Any, y_forces: Any, reverse: Callable[[Any, Any], Outputs]) -> Outputs:
        """What turning rows add to gradients, by the name of the input.

        Args:
            w: Forces that solve the system of the seeds, ``(..., nc)``.
            y_forces: Seeds of forces, ``(..., nc)``.
            reverse: The adjoint of `Implicit.row_products`, of seeds of torques and velocities.
        """
        if self.nothing:
            return {}
        nv = self.system.weights.mobility.shape[0]
        none = np.zeros((*w.shape[:-1], nv), w.dtype)
        c = none
        if self.contradicted:
            c = -self.system.solve(none, _weighed(self.system.weights.regularization, w))[0]
        return reverse(c, self._cancelling(y_forces) if self.cancelling else np.zeros_like(w))

    def _cancelling(self, rows: Any) -> Any:
        """``R^-1 (1 - J T) rows``."""
        R = self.system.weights.regularization
        on = R < DISABLED
        apart = self.system.without_idle(rows - self.system.consistent(rows))
        return np.where(on, apart / np.where(on, R, 1.0), 0.0).astype(R.dtype)


def _weighed(R: Array, w: Any) -> Any:
    """``R w``, zero of rows that are not enabled."""
    return np.where(R < DISABLED, R * w, 0.0).astype(R.dtype)
