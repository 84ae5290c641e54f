# SPDX-License-Identifier: BSD-3-Clause
"""Products with Jacobians of forward dynamics and impacts, by the implicit function theorem.

A solution satisfies ``F = b``, with the residuals ``F(q, v, ...; a, lambda)`` of `kernels.constrained.residual`, and
``b`` the right-hand side: torques and targets. With ``K`` the matrix of the linear system, the
derivative of ``F`` by the solution::

    jvp:  K (da, dlambda) = db - dF                   the residual's tangent, then a solution
    vjp:  K (p, w) = (y_a, -y_lambda)                 a solution (K is symmetric in x and -w), then
          y' d(a, lambda) = (p, -w)' (db - dF)        the residual's adjoint
    hvp:  K (dp, dw) = -dK (p, w)                     second derivatives of F, which is linear in a and lambda; then
                                                      the adjoint's tangent along inputs, (da, dlambda) and (dp, dw)

Of a tree, and of methods that take rows to be independent, function, solution and residual are one straight-line
program, which factorizes once. Methods that iterate have three in sequence: the function with its own iterations, then
these. Iterations are differentiated at their fixed point: how many there were does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compilers.program import Program
from linkwork.compilers.trace import derived_programs as programs
from linkwork.compilers.trace.composition import Composition
from linkwork.compilers.trace.derived_programs import Sweeps, TangentSpace, derived, whole
from linkwork.compilers.trace.tracing import Trace
from linkwork.dynamics.linear_solve import linear_solve
from linkwork.kernels.algorithm import Algorithm, resolve
from linkwork.kernels.constrained.residual import CONSTRAINED_RESIDUAL, TREE_RESIDUAL
from linkwork.plans.lcaba import with_all_rows

if TYPE_CHECKING:
    from linkwork.quantities.differentiable import Differentiated

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Implicit:
    """Equations that a solution satisfies, and their inputs."""

    residual: Program
    """Makes ``F``: output ``tau`` and, with constraints, ``rows``."""
    solution: tuple[str, ...]
    """Its inputs that are the solution: accelerations, then constraint forces."""
    right: Mapping[str, str]
    """Inputs of the evaluator that stand on the right-hand side, and the output of the residual that they equal."""

    @classmethod
    def of_forward_dynamics(cls, source: Program, parametrized: Callable[[Program], Program]) -> Implicit:
        """The equations of forward dynamics.

        Args:
            source: Its program, without parameters as inputs.
            parametrized: Gives a program the parameters that are inputs.
        """
        if "result" not in source.algorithm.outputs:
            return cls(parametrized(with_text(source, TREE_RESIDUAL)), ("a",), {"tau": "tau"})
        residual = parametrized(with_text(source, CONSTRAINED_RESIDUAL))
        return cls(residual, ("a", "multipliers"), {"tau": "tau", "target": "rows"})

    @property
    def shapes(self) -> Shapes:
        """Shapes of the residual's inputs."""
        return dict(zip(self.residual.algorithm.inputs, self.residual.input_shapes(), strict=True))

    def moving(self, by: Sequence[str]) -> list[str]:
        """Those of the inputs to differentiate by that the residual depends on."""
        return [name for name in by if name in self.residual.algorithm.inputs]

    def width(self, name: str) -> tuple[int, ...]:
        """The shape of a derivative by an input."""
        tree = self.residual.tree
        if name in self.right:
            return resolve(self.residual.algorithm.outputs[self.right[name]], tree)
        return (int(tree.nv),) if name == "q" else self.shapes[name]

    # Traces ----------------------------------------------------------------------------------------------------

    def forward(self, by: Sequence[str], limit: int) -> Trace:
        """``db - dF``: further inputs ``d<input>``, outputs ``force`` and ``rows``."""
        sweeps = Sweeps(self.residual.trace(limit), TangentSpace(self.residual.tree))
        directions = {name: sweeps.input(f"d{name}", int(np.prod(self.width(name)))) for name in by}
        moving = {name: directions[name] for name in self.moving(by)}
        rates = sweeps.forward(whole(sweeps.traced), moving)
        seeds = {output: directions[name] for name, output in self.right.items() if name in directions}
        sides = {}
        for output, rate in rates.items():
            b = seeds.get(output, [0.0] * len(rate))
            sides[RIGHT_SIDES[output]] = [x - y for x, y in zip(b, rate, strict=True)]
        return sweeps.trace("residual_jvp", sides, limit)

    def reverse(self, by: Sequence[str], limit: int) -> Trace:
        """``(p, -w)' (db - dF)`` by inputs that the residual depends on: further inputs ``p`` and ``w``."""
        sweeps = Sweeps(self.residual.trace(limit), TangentSpace(self.residual.tree))
        parts = whole(sweeps.traced)
        seeds: dict[str, list[Any]] = {}
        for name in parts:
            w = sweeps.input(DUALS[name], len(sweeps.part(name, slice(None))))
            seeds[name] = [-x for x in w] if name == "tau" else list(w)
        return sweeps.trace("residual_vjp", sweeps.reverse(parts, seeds, self.moving(by)), limit)

    def second(self, by: Sequence[str], limit: int) -> Trace:
        """The tangent of `reverse` by the inputs and by the solution, ``p`` and ``w`` held, along all of these."""
        moving = [*self.moving(by), *self.solution]
        gradient = self.reverse(moving, limit)
        space = TangentSpace(self.residual.tree)
        return programs.jvp(gradient, whole(gradient), moving, space, limit)

    def row_products(self, limit: int) -> Trace:
        """``J' h`` and ``J y``: further inputs ``h`` and ``y``, outputs ``torques`` and ``velocities``."""
        sweeps = Sweeps(self.residual.trace(limit), TangentSpace(self.residual.tree))
        first, forces = self.solution
        h, y = (sweeps.input(name, self.shapes[of][0]) for name, of in zip(HELD, (forces, first), strict=True))
        torques = sweeps.forward(whole(sweeps.traced), {forces: h})["tau"]
        velocities = sweeps.forward(whole(sweeps.traced), {first: y})["rows"]
        rows = {"torques": [-x for x in torques], "velocities": velocities}
        return sweeps.trace("row_products", rows, limit)

    # Programs of their own -------------------------------------------------------------------------------------

    def forward_program(self, by: Sequence[str]) -> Program:
        """`forward` as a program."""
        inputs = {**self.shapes, **{f"d{name}": self.width(name) for name in by}}
        outputs = {RIGHT_SIDES[name]: shape for name, shape in self.residual.algorithm.outputs.items()}
        return self._derived("jvp", by, inputs, outputs, lambda limit: self.forward(by, limit))

    def reverse_program(self, by: Sequence[str]) -> Program:
        """`reverse` as a program."""
        duals = {DUALS[name]: shape for name, shape in self.residual.algorithm.outputs.items()}
        outputs = {name: self.width(name) for name in self.moving(by)}
        return self._derived("vjp", by, {**self.shapes, **duals}, outputs, lambda limit: self.reverse(by, limit))

    def second_program(self, by: Sequence[str]) -> Program:
        """`second` as a program."""
        duals = {DUALS[name]: shape for name, shape in self.residual.algorithm.outputs.items()}
        widths = {name: self.width(name) for name in (*self.moving(by), *self.solution)}
        inputs = {**self.shapes, **duals, **{f"d{name}": shape for name, shape in widths.items()}}
        return self._derived("hvp", by, inputs, widths, lambda limit: self.second(by, limit))

    def row_forward_program(self, by: Sequence[str]) -> Program:
        """The tangent of `row_products`, ``h`` and ``y`` held: how torques and velocities of rows turn."""
        moving = self.moving(by)
        inputs = {**self.shapes, **self._held, **{f"d{name}": self.width(name) for name in moving}}

        def make(limit: int) -> Trace:
            products = self.row_products(limit)
            return programs.jvp(products, whole(products), moving, TangentSpace(self.residual.tree), limit)

        return self._derived("rows_jvp", by, inputs, self._row_outputs, make)

    def row_reverse_program(self, by: Sequence[str]) -> Program:
        """The adjoint of `row_products`: further inputs ``y_torques`` and ``y_velocities``."""
        moving = self.moving(by)
        inputs = {**self.shapes, **self._held, **{f"y_{name}": shape for name, shape in self._row_outputs.items()}}
        outputs = {name: self.width(name) for name in moving}

        def make(limit: int) -> Trace:
            products = self.row_products(limit)
            return programs.vjp(products, whole(products), moving, TangentSpace(self.residual.tree), limit)

        return self._derived("rows_vjp", by, inputs, outputs, make)

    @property
    def _held(self) -> Shapes:
        first, forces = self.solution
        return dict(zip(HELD, (self.shapes[forces], self.shapes[first]), strict=True))

    @property
    def _row_outputs(self) -> Shapes:
        first, forces = self.solution
        return {"torques": self.shapes[first], "velocities": self.shapes[forces]}

    def _derived(
        self,
        kind: str,
        by: Sequence[str],
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        make: Callable[[int], Trace],
    ) -> Program:
        name = f"{self.residual.algorithm.name}_{kind}"
        return derived(self.residual, name, inputs, outputs, make, key=f"implicit {kind} by {', '.join(by)}")


RIGHT_SIDES: Mapping[str, str] = {"tau": "force", "rows": "rows"}
"""Outputs of residuals, and the right-hand sides of the linear system that they change."""
HELD = ("h", "y")
"""Inputs of `Implicit.row_products`: forces of rows, and a motion (`kernels.derivatives.dependent_rows`)."""
DUALS: Mapping[str, str] = {"tau": "p", "rows": "w"}
"""Outputs of residuals, and the solutions that they are multiplied with."""


def with_text(source: Program, algorithm: Algorithm) -> Program:
    """A program of another kernel on the plan of a program, with rows of K of all pairs.

    Args:
        source: The program.
        algorithm: The kernel, which reads a part of the plan.
    """
    algorithm = replace(algorithm, layout=source.algorithm.layout)
    return replace(source, algorithm=algorithm, tree=with_all_rows(source.tree))


def composed(
    source: Program, implicit: Implicit, known: Differentiated, kind: str, by: Sequence[str], limit: int
) -> Trace:
    """The product of a method that does not iterate: function, solution and residual in one program.

    Args:
        source: The program of forward dynamics.
        implicit: The equations that it solves.
        known: Inputs and outputs of the derivative.
        kind: ``"jvp"``, ``"vjp"`` or ``"hvp"``.
        by: Names of the inputs to differentiate by.
        limit: The most operations; `ProgramTooLarge` where there are more.
    """
    if kind == "hvp":
        gradient = composed(source, implicit, known, "vjp", by, limit)
        return programs.jvp(gradient, whole(gradient), by, TangentSpace(source.tree), limit)
    traced = source.trace(limit)
    composition = Composition()
    arrays: dict[str, Sequence[Any]] = {name: composition.input(name, size) for name, size in traced.inputs}
    outputs = composition.run(traced, arrays)
    arrays["a"] = outputs["a"]
    if "result" in outputs:
        arrays["multipliers"] = outputs["result"][known.results["forces"][1]]
        solver = linear_solve(source, traced)
    else:
        solver = programs.jvp(traced, {"x": ("a", slice(None))}, ["tau"])
    if kind == "jvp":
        for name in by:
            arrays[f"d{name}"] = composition.input(f"d{name}", int(np.prod(implicit.width(name))))
        right = composition.run(implicit.forward(by, limit), arrays)
        x, forces = _solved(composition, solver, arrays, right, known)
        return composition.trace(f"{traced.name}_jvp", {"acceleration": x, **forces}, limit)
    seeds = {
        name: composition.input(f"y_{name}", len(arrays[s]))
        for name, s in zip(known.results, implicit.solution, strict=True)
    }
    right = {"force": seeds["acceleration"], "rows": [-y for y in seeds.get("forces", [])]}
    x, forces = _solved(composition, solver, arrays, right, known)
    w = forces.get("forces", [])
    outputs = composition.run(implicit.reverse(by, limit), {**arrays, "p": x, "w": w})
    outputs |= {"tau": x, "target": [-y for y in w]}
    return composition.trace(f"{traced.name}_vjp", {name: outputs[name] for name in by}, limit)


def _solved(
    composition: Composition, solver: Trace, arrays: Mapping[str, Any], right: Mapping[str, Any], known: Differentiated
) -> tuple[list[Any], dict[str, list[Any]]]:
    """The solution of the linear system, within another program: ``x``, and ``w`` where there are constraints."""
    outputs = composition.run(solver, {**arrays, **right, "dtau": right["force"]})
    if "result" not in outputs:
        return outputs["x"], {}
    return outputs["x"], {"forces": outputs["result"][known.results["forces"][1]]}
