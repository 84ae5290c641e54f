# SPDX-License-Identifier: BSD-3-Clause
"""Impacts of a robot with its constraints: a foot that touches down, a latch that closes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.conversions import converted
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.dynamics.implicit_products import Implicit, with_text
from linkwork.dynamics.iterations import (
    MAX_ITERATIONS,
    REGULARIZATION,
    TOLERANCE,
    SolverSettings,
)
from linkwork.dynamics.methods import best_method
from linkwork.dynamics.rows.ends import prox_bbo_tree
from linkwork.dynamics.solution import PROGRESS, NamedRows, ResultLayout
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import Auto, ImpactMethod, real_array
from linkwork.kernels.constrained import impact
from linkwork.kernels.constrained.residual import IMPACT_RESIDUAL
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.model.notebook import state_tables
from linkwork.plans.lcaba import lcaba_tree_of_compliances
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.computation import Computation
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.product_attributes import differentiable
from linkwork.quantities.products import Product

METHODS: Mapping[str, Any] = MappingProxyType(
    {"prox_bbo": (impact.IMPACT_ROWS, prox_bbo_tree), "lcaba": (impact.IMPACT_SPRINGS, lcaba_tree_of_compliances)}
)
"""Methods of impact dynamics, by name."""


class Impact:
    """Velocities after an impact, and its impulses. Leading axes are those of the batch."""

    __slots__ = ("_robot", "_tolerance", "result", "velocity")

    velocity: Array
    """Joint velocities after the impact, ``(..., nv)``."""
    result: Array
    """Progress, impulses and residuals of rows, as `ResultLayout` says."""

    def __init__(self, velocity: Array, result: Array, robot: Model, tolerance: float) -> None:
        self.velocity = velocity
        self.result = result
        self._robot = robot
        self._tolerance = tolerance

    @property
    def impulses(self) -> Mapping[str, Array]:
        """Impulses of the constraints by name, ``(..., rows)`` each, in N s or N m s."""
        return NamedRows(self._robot, self.result[..., ResultLayout(self._robot.nc).multipliers])

    @property
    def converged(self) -> Any:
        """Whether iterations ended within the tolerance."""
        ended = self.result[..., PROGRESS] <= self._tolerance
        return bool(ended) if ended.ndim == 0 else ended

    def __repr__(self) -> str:
        return f"Impact(velocity={self.velocity!r}, converged={self.converged})"

    def _repr_html_(self) -> str:
        impulses = self.result[..., ResultLayout(self._robot.nc).multipliers]
        return state_tables("Impact", self._robot, {"velocity after": self.velocity}, {"impulse": impulses})


@differentiable
class ImpactDynamics(BaseEvaluator):
    """Velocities after the enabled constraints of a robot act at once: ``impact(q, v).velocity``.

    The velocity of each row is reversed, and multiplied by its restitution.

    Args:
        robot: The mechanism, with at least one enabled constraint.
        method: Method of solution; ``"auto"``: the one with fewer operations.
        regularization: As for `ForwardDynamics`.
        tolerance: Residual of rows at which iterations end, as for `ForwardDynamics`.
        max_iterations: The most iterations.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    @converted
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
        check_robot(robot)
        if not any(c.enabled for c in robot.constraints):
            raise UnsupportedFeature(f"robot '{robot.name}' has no enabled constraint: an impact needs one")
        if method != "auto" and method not in METHODS:
            raise InputError(f"no method '{method}' for impacts; there are auto, {', '.join(METHODS)}")
        self._method: ImpactMethod | Auto = method
        self.solver = SolverSettings(regularization, tolerance, max_iterations)
        """Settings of the proximal iterations."""
        arguments = {"robot": robot, "method": method, **vars(self.solver)}
        super().__init__(robot, "impact", self._program, arguments, (), threads)

    @property
    def method(self) -> ImpactMethod:
        """The method; of ``"auto"``, the one that it stands for, chosen at first use."""
        if self._method == "auto":
            self._method = "lcaba" if best_method(self.robot) == "lcaba" else "prox_bbo"
        return self._method

    def recipe(self) -> dict[str, Any]:
        """Keyword arguments that make an equal evaluator, with the chosen method in place of ``"auto"`` where known."""
        return {**super().recipe(), "method": self._method}

    def _program(self) -> Program:
        algorithm, plan = METHODS[self.method]
        return Program.of_robot(self.robot, algorithm, plan(self.robot, ()))

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls leave out: regularization, impulses to start from, and settings.

        Args:
            dtype: Type of the numbers.
        """
        rows, settings = self.solver.rows(self.robot, dtype.name), self.solver.array(self.robot, dtype.name)
        return {"regularization": rows, "multipliers": np.zeros(self.robot.nc, dtype), "settings": settings}

    @property
    def differentiated(self) -> Differentiated:
        """Inputs and results of derivatives of an impact: velocities after it, and impulses."""
        impulses = ("result", ResultLayout(self.robot.nc).multipliers)
        return Differentiated(("q", "v", "restitution"), (), {"velocity": ("after", slice(None)), "impulses": impulses})

    @property
    def linear_solver(self) -> ForwardDynamics:
        """Forward dynamics whose program solves the linear system of derivatives."""
        return self.keep(
            "linear solver",
            lambda: ForwardDynamics(self.robot, self.method, regularization=self.solver.regularization),
        )

    @property
    def implicit(self) -> Implicit:
        """The equations that velocities after the impact and impulses satisfy."""
        return Implicit(with_text(self.linear_solver.program, IMPACT_RESIDUAL), ("v1", "impulses"), {})

    def solved(self, solution: Impact) -> tuple[Array, Array]:
        """Velocities after an impact, and the result that its impulses are a part of (`ResultLayout`).

        Args:
            solution: Result of a call.
        """
        return solution.velocity, solution.result

    def computation_of(self, product: Product) -> Computation:
        """The computation of a product.

        Args:
            product: The product.
        """
        from linkwork.dynamics.implicit_computation import ImplicitComputation  # the first call needs none

        return ImplicitComputation(product)

    def __call__(
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
            raise InputError(f"restitution must be between 0 and 1; found {e[~((e >= 0) & (e <= 1))].flat[0]:g}")
        if e.ndim == 0:
            e = np.full(self.robot.nc, float(e))
        after, result = self.runner.evaluate(self.input_arrays([q, v, e]), [out, None])
        return Impact(after, result, self.robot, self.solver.tolerance)
