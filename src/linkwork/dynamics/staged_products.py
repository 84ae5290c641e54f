# SPDX-License-Identifier: BSD-3-Clause
"""Products of methods that iterate, in stages: the function, a linear system, and the residual's derivative.

See `implicit_products` for the equations. `jvp` and `vjp` share the program that solves the linear system. A solution
that is at hand need not be computed again: pass it as ``solution``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Program
from linkwork.dynamics.bound_stages import BoundStages
from linkwork.dynamics.implicit_products import DUALS
from linkwork.dynamics.stages import evaluated, named_outputs
from linkwork.errors import UnsupportedFeature
from linkwork.quantities.arguments import Array, bound_call
from linkwork.quantities.products import HessianVectorProduct, JacobianVectorProduct, VectorJacobianProduct


class StagedJacobianVectorProduct(BoundStages, JacobianVectorProduct):
    """Rates of accelerations and constraint forces: the residual's tangent, then a linear system.

    Args:
        evaluator: What is differentiated: forward dynamics or impacts.
        by: Names of the inputs to differentiate by.
    """

    projections = 3

    def _derived(self) -> Program:
        return self.implicit.forward_program(self.inputs)

    @property
    def _row_program(self) -> Program:
        return self.implicit.row_forward_program(self.inputs)

    def _evaluated(self, inputs: dict[str, Any]) -> list[Array]:
        force, rows = evaluated(self.runner, [inputs[name] for name in self.runner.names])
        dependent = self._dependent_rows(inputs, forces=True)
        if dependent is None:
            return list(self._system(inputs).solution(force, rows, seeds=False))
        return list(
            dependent.rates(force, rows, lambda: self._of_rows(self._row_program, {**inputs, **dependent.held}))
        )

    def _bound(self, named: dict[str, Any], out: Sequence[Array], lead: tuple[int, ...]) -> list[Callable[[], None]]:
        right = [np.empty((*lead, *shape), self.dtype) for shape in self.runner.outputs]
        inputs = [named[name] for name in self.program.algorithm.inputs]
        system = self._bound_system(named, lead, out[0])

        def solve() -> None:
            out[1][...] = system.solution(right[0], right[1], seeds=False)[1]

        return [bound_call(self.runner, [*inputs, *right]), solve]


class StagedVectorJacobianProduct(BoundStages, VectorJacobianProduct):
    """Seeds of accelerations and constraint forces times the Jacobian: a linear system, then the residual's adjoint.

    Args:
        evaluator: What is differentiated: forward dynamics or impacts.
        by: Names of the inputs to differentiate by.
    """

    projections = 4

    def _derived(self) -> Program:
        return self.implicit.reverse_program(self.inputs)

    @property
    def _row_program(self) -> Program:
        return self.implicit.row_reverse_program(self.inputs)

    @property
    def _seeds(self) -> list[str]:
        return [f"y_{name}" for name in self._known.results]

    def _evaluated(self, inputs: dict[str, Any]) -> list[Array]:
        y, y_forces = (inputs[name] for name in self._seeds)
        p, w = self._system(inputs).solution(y, -y_forces, seeds=True)
        inputs |= zip(DUALS.values(), (p, w), strict=True)
        found = named_outputs(self.runner, inputs) if self.program.algorithm.outputs else {}
        dependent = self._dependent_rows(inputs, forces=bool(np.any(y_forces))) if found else None
        if dependent is not None:

            def reverse(torques: Any, velocities: Any) -> dict[str, Array]:
                seeds = {"y_torques": torques, "y_velocities": velocities}
                return self._of_rows(self._row_program, {**inputs, **dependent.held, **seeds})

            for name, x in dependent.gradients(w, y_forces, reverse).items():
                found[name] = found[name] + x
        found |= {"tau": p, "target": -w}
        return [found[name] for name in self.inputs]

    def _bound(self, named: dict[str, Any], out: Sequence[Array], lead: tuple[int, ...]) -> list[Callable[[], None]]:
        given = dict(zip(self.inputs, out, strict=True))
        y, y_forces = (named[name] for name in self._seeds)
        w, p = np.empty((*lead, self.robot.nc), self.dtype), np.empty((*lead, self.robot.nv), self.dtype)
        system = self._bound_system(named, lead, p)

        def solve() -> None:
            w[...] = system.solution(y, -y_forces, seeds=True)[1]

        named |= zip(DUALS.values(), (p, w), strict=True)
        moving = list(self.program.algorithm.outputs)
        steps: list[Callable[[], None]] = [solve]
        if moving:
            arrays = [named[name] for name in self.program.algorithm.inputs]
            steps.append(bound_call(self.runner, [*arrays, *(given[name] for name in moving)]))
        if "tau" in given:
            steps.append(lambda: np.copyto(given["tau"], p))
        if "target" in given:
            steps.append(lambda: cast(None, np.negative(w, out=given["target"])))
        return steps


class StagedHessianVectorProduct(BoundStages, HessianVectorProduct):
    """Rates of the gradient `vjp` along a direction: three linear systems with one matrix (forward over implicit).

    Args:
        evaluator: What is differentiated: forward dynamics or impacts.
        by: Names of the inputs to differentiate by.
    """

    systems = 3
    projections = 6

    def _derived(self) -> Program:
        return self.implicit.second_program(self.inputs)

    def _further_programs(self) -> Sequence[Program]:
        return self.implicit.forward_program(self.inputs), self.implicit.reverse_program(self.inputs)

    def _sweep(self, kind: str, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Outputs by name of the tangent (``"forward"``) or adjoint (``"reverse"``) of the residual."""
        make = {"forward": self.implicit.forward_program, "reverse": self.implicit.reverse_program}[kind]
        runner = self.keep(kind, lambda: runner_for(make(self.inputs), self.execution.backend))
        return named_outputs(runner, inputs)

    def _evaluated(self, inputs: dict[str, Any]) -> list[Array]:
        y, y_forces = (inputs[f"y_{name}"] for name in self._known.results)
        dependent = self._dependent_rows(inputs, forces=bool(np.any(y_forces)))
        if dependent is not None and not dependent.nothing:
            raise UnsupportedFeature(
                f"rows of the constraints of '{self.robot.name}' depend on each other: second derivatives are known "
                "there of accelerations on closed loops, not of constraint forces or where loops are open; leave out "
                "seeds of forces and assemble q, or take differences of vjp"
            )
        system = self._system(inputs)
        inputs |= zip(DUALS.values(), system.solution(y, -y_forces, seeds=True), strict=True)
        sides = self._sweep("forward", inputs)
        rates = system.solution(sides["force"], sides["rows"], seeds=False)
        inputs |= zip((f"d{name}" for name in self.implicit.solution), rates, strict=True)
        found = named_outputs(self.runner, inputs)
        force, rows = (found[name] for name in self.implicit.solution)
        dp, dw = system.solution(force, -rows, seeds=True)
        if self.implicit.moving(self.inputs):
            for name, x in self._sweep("reverse", inputs | dict(zip(DUALS.values(), (dp, dw), strict=True))).items():
                found[name] = found[name] + x
        found |= {"tau": dp, "target": -dw}
        return [found[name] for name in self.inputs]

    def bind(self, *inputs: Array, out: Any, **given: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``: for control loops.

        Args:
            inputs: Arrays as for a call, that every call reads as they then are.
            out: Array that every call writes, or a tuple of as many as there are results.
            given: Arrays by name, as for a call.
        """

        def run() -> None:
            self(*inputs, out=out, **given)

        return run


STAGED: Mapping[type[Any], type[Any]] = {
    JacobianVectorProduct: StagedJacobianVectorProduct,
    VectorJacobianProduct: StagedVectorJacobianProduct,
    HessianVectorProduct: StagedHessianVectorProduct,
}
"""Products in stages, by the class whose place they take."""


def staged(evaluator: Any, kind: type[Any]) -> Any:
    """The product of an evaluator that iterates."""
    return STAGED[kind](evaluator)
