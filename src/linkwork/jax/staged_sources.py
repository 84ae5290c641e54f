# SPDX-License-Identifier: BSD-3-Clause
"""Forward dynamics by methods that iterate, and impacts: several programs for a product, at the solution.

`dynamics.staged_products` has the equations; here the same programs are called by JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from linkwork.compilers.program import Backend
from linkwork.dynamics.implicit_products import DUALS, Implicit
from linkwork.dynamics.linear_solve import solve_program
from linkwork.dynamics.rows.dependence import rows_depend, rows_redundant
from linkwork.dynamics.solution import HEAD
from linkwork.jax.calls import ProgramCall
from linkwork.jax.handlers import OnError
from linkwork.jax.sources import Array, Arrays, EvaluatorSource
from linkwork.kernels.constrained.problem import DISABLED
from linkwork.quantities.products import Product

CONTRADICTORY = 1e-6
"""What rows may miss of right-hand sides, as a part of all of these (`dynamics.linear_system`)."""


class StagedSource(EvaluatorSource):
    """Forward dynamics by a method that iterates, or impacts: function, linear system, residual.

    Args:
        evaluator: What is evaluated, with numbers of the type wanted.
        names: Inputs that calls have.
        by: Those of them to differentiate by.
        on_error: What becomes of states that are not finite, on the CPU.
    """

    def __init__(self, evaluator: Any, names: Sequence[str], by: Sequence[str], on_error: OnError) -> None:
        super().__init__(evaluator, names, by, on_error)
        self.nv, self.nc = int(evaluator.robot.nv), int(evaluator.robot.nc)

    @property
    def _implicit(self) -> Implicit:
        found: Implicit = self.evaluator.implicit
        return found

    @property
    def _straight(self) -> Backend:
        return Product._straight(self.evaluator._backend)

    @cached_property
    def _tangent(self) -> ProgramCall:
        """The residual's tangent."""
        return self.call_of(self._implicit.forward_program(self.by), self._straight)

    @cached_property
    def _adjoint(self) -> ProgramCall:
        """The residual's adjoint."""
        return self.call_of(self._implicit.reverse_program(self.by), self._straight)

    @cached_property
    def _second(self) -> ProgramCall:
        """The derivative of the residual's adjoint."""
        return self.call_of(self._implicit.second_program(self.by), self._straight)

    @cached_property
    def _transposed_rows(self) -> ProgramCall:
        """``J' w``."""
        return self.call_of(self._implicit.forward_program(self._implicit.solution[1:]), self._straight)

    @cached_property
    def _solve(self) -> ProgramCall:
        return self.call_of(solve_program(self.evaluator.linear_solver.program), self._straight)

    @cached_property
    def _of_solver(self) -> tuple[Any, Any]:
        """Regularization and settings of the linear system."""
        solver = self.evaluator.linear_solver
        if solver.dtype.name != self.dtype:
            solver = solver.native(self.dtype)
        R, _, _, settings = solver._held_inputs()
        return R, settings

    def _at(self, x: dict[str, Array], outs: Arrays) -> dict[str, Array]:
        """Inputs and the solution; of forces of redundant rows, the smallest."""
        at = {**x, **dict(zip(self._implicit.solution, outs, strict=True))}
        if rows_redundant(self.evaluator.robot):
            at[self._implicit.solution[1]] = self._smallest(at, outs[1])
        return at

    def forward(self, x: dict[str, Array], outs: Arrays, d: dict[str, Array]) -> list[Array]:
        """Rates of the solution.

        Args:
            x: Inputs by name.
            outs: The solution.
            d: Directions by names of inputs, in tangent spaces.
        """
        at = self._at(x, outs)
        right = self.run(self._tangent, at, {f"d{name}": one for name, one in d.items()})
        return list(self._solution(at, right["force"], right["rows"], seeds=False))

    def reverse(self, x: dict[str, Array], outs: Arrays, y: Arrays) -> dict[str, Array]:
        """Gradients by inputs.

        Args:
            x: Inputs by name.
            outs: The solution.
            y: Seeds of the solution.
        """
        at = self._at(x, outs)
        p, w = self._solution(at, y[0], -y[1], seeds=True)
        found = {"tau": p, "target": -w}
        if self._adjoint.outputs:
            found |= self.run(self._adjoint, at, dict(zip(DUALS.values(), (p, w), strict=True)))
        return found

    def second(self, x: dict[str, Array], outs: Arrays, y: Arrays, d: dict[str, Array]) -> dict[str, Array]:
        """Rates of gradients along a direction: three systems with one matrix.

        Args:
            x: Inputs by name.
            outs: The solution.
            y: Seeds of the solution.
            d: Directions by names of inputs, in tangent spaces.
        """
        at = self._at(x, outs) | {f"d{name}": one for name, one in d.items()}
        at |= zip(DUALS.values(), self._solution(at, y[0], -y[1], seeds=True), strict=True)
        right = self.run(self._tangent, at)
        rates = self._solution(at, right["force"], right["rows"], seeds=False)
        at |= zip((f"d{name}" for name in self._implicit.solution), rates, strict=True)
        found = self.run(self._second, at)
        force, rows = (found[name] for name in self._implicit.solution)
        dp, dw = self._solution(at, force, -rows, seeds=True)
        if self._adjoint.outputs:
            more = self.run(self._adjoint, at, dict(zip(DUALS.values(), (dp, dw), strict=True)))
            found |= {name: found[name] + one for name, one in more.items()}
        return found | {"tau": dp, "target": -dw}

    # The linear system: `dynamics.linear_system` ------------------------------------------------------------------

    def _solution(self, at: dict[str, Array], force: Array, rows: Array, seeds: bool) -> tuple[Array, Array]:
        """``x`` and the smallest ``w`` of ``M x - J' w = force, J x = rows``."""
        redundant = rows_redundant(self.evaluator.robot)
        if redundant:
            x, w, _ = self._solved(at, force, self._consistent(at, rows) if seeds else rows)
            return x, self._smallest(at, w)
        x, w, missed = self._solved(at, force, rows)
        if not rows_depend(self.evaluator.robot):
            return x, w

        def again() -> tuple[Array, Array]:
            y, u, _ = self._solved(at, force, self._consistent(at, rows))
            return y, self._smallest(at, u)

        _, settings = self._of_solver
        row_inertia, mobility = settings[len(settings) - self.nc :], settings[-self.nc - self.nv : -self.nc]
        scale = (mobility * jnp.square(force)).sum(-1) + (row_inertia * jnp.square(rows)).sum(-1)
        contradictory = jnp.any((row_inertia * jnp.square(missed)).max(-1) > CONTRADICTORY**2 * scale)
        found: tuple[Array, Array] = jax.lax.cond(contradictory, again, lambda: (x, w))
        return found

    def _solved(self, at: dict[str, Array], force: Array, rows: Array) -> tuple[Array, Array, Array]:
        """``x``, ``w``, and what rows miss."""
        R, settings = self._of_solver
        right = {"force": force, "rows": rows, "regularization": R, "settings": settings}
        found = self.run(self._solve, at, right)
        result = found["result"]
        return found["x"], result[..., HEAD : HEAD + self.nc], result[..., HEAD + self.nc : HEAD + 2 * self.nc]

    def _smallest(self, at: dict[str, Array], w: Array) -> Array:
        """The smallest forces that do to joints what ``w`` does."""
        moved = self.run(self._transposed_rows, at, {f"d{self._implicit.solution[1]}": w})
        return self._solved(at, -moved["force"], np.zeros(self.nc, self.dtype))[1]

    def _consistent(self, at: dict[str, Array], rows: Array) -> Array:
        """Right-hand sides without what they contradict each other by."""
        R, _ = self._of_solver
        on = R < DISABLED
        found = self._smallest(at, jnp.where(on, rows / np.where(on, R, 1.0).astype(self.dtype), 0.0))
        return jnp.where(on, R * found, 0.0)
