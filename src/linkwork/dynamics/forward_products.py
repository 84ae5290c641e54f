# SPDX-License-Identifier: BSD-3-Clause
"""How forward dynamics is differentiated: which program its products are made of, by method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from linkwork.compilers.program import Program
from linkwork.compilers.trace.tracing import Trace
from linkwork.dynamics.implicit_products import Implicit, composed
from linkwork.dynamics.methods import METHODS, Plan
from linkwork.dynamics.solution import ResultLayout, Solution
from linkwork.dynamics.staged_products import staged
from linkwork.inputs import ForwardMethod
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import ArrayEvaluator
from linkwork.quantities.differentiable import Differentiated


class ForwardProducts(ArrayEvaluator):
    """What products of forward dynamics are made of.

    | methods                                               | products                                            |
    |-------------------------------------------------------|-----------------------------------------------------|
    | `aba`, `ltl`, `pv`, `lagrange`                        | implicit, one program (`implicit_products`)          |
    | those that iterate, `pv_early`, `kkt`                 | implicit, in stages (`staged_products`)              |
    | `cluster`, `projection`, `approximate`, `pv_soft`     | sweeps over the program itself                      |
    """

    regularization: float
    _bound: bool
    _dense: bool

    @property
    def method(self) -> ForwardMethod:
        """The method."""
        raise NotImplementedError

    @property
    def differentiated(self) -> Differentiated:
        """What forward dynamics is differentiated by, and what of it: accelerations and constraint forces."""
        optional = (*(["wrenches"] if self.frames else []), *(["target"] if self._bound else []), *self.parameters)
        results = {"acceleration": ("a", slice(None))}
        if self._bound:
            results["forces"] = ("result", ResultLayout(self.robot.nc).multipliers)
        return Differentiated(("q", "v", "tau"), optional, results)

    @property
    def differentiated_program(self) -> Program:
        """The program that products are made of: a plan that needs no fallback."""
        if self._in_stages:
            return self.linear_solver.program
        if "program" not in self._products:
            self._products["program"] = self.exported_program
        found: Program = self._products["program"]
        return found

    @property
    def implicit(self) -> Implicit:
        """The equations that accelerations and constraint forces satisfy."""
        if "implicit" not in self._products:
            program = self.linear_solver._make_program() if self._in_stages else self._without_parameters()
            made = Implicit.of_forward_dynamics(program, self._parameter_inputs.program)
            self._products["implicit"] = made
        found: Implicit = self._products["implicit"]
        return found

    def _without_parameters(self) -> Program:
        """`differentiated_program` of the robot's own parameters."""
        fallback = METHODS[self.method].fallback
        return self._make_program() if fallback is None else self._program_of(fallback)

    def _program_of(self, plan: Plan) -> Program:
        """The program of a plan."""
        raise NotImplementedError

    @property
    def _in_stages(self) -> bool:
        """Whether products have several programs."""
        method = METHODS[self.method]
        return self._bound and (method.iterates or method.falls_back or self._dense)

    @property
    def linear_solver(self) -> Self:
        """Forward dynamics whose program solves the linear system of derivatives: by this method, if it iterates."""
        method = METHODS[self.method]
        if method.iterates and not method.falls_back:
            return self
        if "solver" not in self._products:
            make: Any = type(self)
            parameters = self._parameter_inputs.recipe
            enabled = any(c.enabled for c in self.robot.constraints)
            by = "auto" if enabled else "prox_ltl"  # of rows that are all disabled, "auto" takes none
            made = make(self.robot, by, regularization=self.regularization, wrenches=self.frames, parameters=parameters)
            self._products["solver"] = made
        found: Self = self._products["solver"]
        return found

    def solved(self, solution: Solution) -> tuple[Array, Any]:
        """Accelerations and constraint forces of a solution.

        Args:
            solution: What a call returned.
        """
        return solution.acceleration, solution.multipliers

    def _make(self, kind: type[Any]) -> Any:
        return staged(self, kind) if self._in_stages else super()._make(kind)

    def product_trace(self, kind: str, by: Sequence[str], limit: int) -> Trace:
        """The straight-line program of a product.

        Args:
            kind: ``"jvp"``, ``"vjp"`` or ``"hvp"``.
            by: Names of the inputs to differentiate by.
            limit: The most operations; `ProgramTooLarge` where there are more.
        """
        method = METHODS[self.method]
        if self._bound and (method.closed or not method.hard):
            return super().product_trace(kind, by, limit)
        return composed(self.differentiated_program, self.implicit, self.differentiated, kind, by, limit)
