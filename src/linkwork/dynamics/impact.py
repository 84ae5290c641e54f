"""Impacts of a robot with its constraints: a foot that touches down, a latch that closes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.dynamics.forward import (
    MAX_ITERATIONS,
    REGULARIZATION,
    TOLERANCE,
    NamedRows,
    best_method,
    iteration_settings,
    row_regularization,
)
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import Auto, ImpactMethod, above_zero, count, real_array
from linkwork.kernels import impact
from linkwork.model.model import Model
from linkwork.model.notebook import state_tables
from linkwork.plans.bbo import bbo_tree
from linkwork.plans.lcaba import lcaba_tree
from linkwork.quantities.evaluator import Array, Evaluator

METHODS: Mapping[str, Any] = MappingProxyType(
    {"prox_bbo": (impact.IMPACT_ROWS, bbo_tree), "lcaba": (impact.IMPACT_SPRINGS, lcaba_tree)}
)
"""Methods of impact dynamics, by name."""


class Impact:
    """What an impact did. Leading axes are those of the batch."""

    __slots__ = ("_found", "_robot", "_tolerance", "velocity")

    velocity: Array
    """Joint velocities after the impact, ``(..., nv)``."""

    def __init__(self, velocity: Array, found: Array, robot: Model, tolerance: float) -> None:
        self.velocity = velocity
        self._found = found
        self._robot = robot
        self._tolerance = tolerance

    @property
    def impulses(self) -> Mapping[str, Array]:
        """Impulses of the constraints by name, ``(..., rows)`` each, in N s or N m s."""
        return NamedRows(self._robot, self._found[..., 2 : self._found.shape[-1] // 2])

    @property
    def converged(self) -> Any:
        """Whether iterations ended within the tolerance."""
        ended = self._found[..., 0] <= self._tolerance
        return bool(ended) if ended.ndim == 0 else ended

    def __repr__(self) -> str:
        return f"Impact(velocity={self.velocity!r}, converged={self.converged})"

    def _repr_html_(self) -> str:
        impulses = self._found[..., 2 : 1 + self._found.shape[-1] // 2]
        return state_tables("Impact", self._robot, {"velocity after": self.velocity}, {"impulse": impulses})


class ImpactDynamics(Evaluator):
    """Velocities after the enabled constraints of a robot act at once: ``impact(q, v).velocity``.

    What a row had of velocity before it has after with the other sign, times its restitution.

    Args:
        robot: The mechanism, with at least one enabled constraint.
        method: How to solve for them; ``"auto"``: the one with fewer operations.
        regularization: As for `ForwardDynamics`.
        tolerance: What rows may miss when iterations end, as for `ForwardDynamics`.
        max_iterations: The most iterations.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self,
        robot: Model,
        method: ImpactMethod | Auto = "auto",
        *,
        regularization: float = REGULARIZATION,
        tolerance: float = TOLERANCE,
        max_iterations: int = MAX_ITERATIONS,
        threads: int | None = None,
    ) -> None:
        if not isinstance(robot, Model):
            raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
        if not any(c.enabled for c in robot.constraints):
            raise UnsupportedFeature(f"robot '{robot.name}' has no enabled constraint that could strike")
        if method == "auto":
            method = "lcaba" if best_method(robot) == "lcaba" else "prox_bbo"
        if method not in METHODS:
            raise InputError(f"no method '{method}' for impacts; there are auto, {', '.join(METHODS)}")
        self.method = method
        self.regularization, self.tolerance = (
            above_zero(regularization, "regularization"),
            above_zero(tolerance, "tolerance"),
        )
        self.max_iterations = count(max_iterations, "max_iterations")
        algorithm, arrays = METHODS[method]
        self._prepare(robot, "impact", algorithm, arrays(robot, ()), (), threads)

    def _be(self, runner: Any, dtype: str) -> None:
        super()._be(runner, dtype)
        self._regularization = row_regularization(self.robot, self.regularization, dtype)
        self._still = np.zeros(self.robot.nc, dtype=dtype)
        self._settings = iteration_settings(self.robot, self.regularization, self.tolerance, self.max_iterations, dtype)

    def __call__(  # type: ignore[override]
        self, q: npt.ArrayLike, v: npt.ArrayLike, restitution: npt.ArrayLike = 0.0, *, out: Array | None = None
    ) -> Impact:
        """Velocities after the impact, and its impulses. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities before the impact, ``(..., nv)``.
            restitution: One number or ``(..., nc)``: 0 for a perfectly inelastic impact, 1 for one that keeps energy.
            out: Array to write velocities to; by default a new one.
        """
        e = real_array(restitution, "restitution").astype(np.float64)
        if not ((e >= 0) & (e <= 1)).all():
            raise InputError("restitution is between 0 and 1")
        if e.ndim == 0:
            e = np.full(self.robot.nc, float(e))
        inputs = [q, v, e, self._regularization, self._still, self._settings]
        after, found = self._runner.evaluate(inputs, [out, None])
        return Impact(after, found, self.robot, self.tolerance)
