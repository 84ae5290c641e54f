# SPDX-License-Identifier: BSD-3-Clause
"""What products of methods that iterate share: the function, a linear system, and a program of the residual.

See `implicit_products` for the equations. Each stage is a program of its own, called with whole batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from linkwork.closure.tolerances import ROUNDED
from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.dynamics.dependent_rows import DependentRows
from linkwork.dynamics.implicit_products import Implicit
from linkwork.dynamics.iterations import MAX_ITERATIONS
from linkwork.dynamics.linear_solve import solve_program
from linkwork.dynamics.linear_system import LinearSystem, Weights
from linkwork.dynamics.rows.dependence import row_dependence, rows_redundant, rows_redundant_open
from linkwork.dynamics.solution import HEAD, ResultLayout
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.quantities.arguments import Array
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.products import Product
from linkwork.quantities.scales import scales_of

if TYPE_CHECKING:
    from linkwork.dynamics.forward import ForwardDynamics


MISSED, OPENED = "missed", "opened"
"""Among the inputs of stages: what rows of the solution miss, and whether loops are open where that counts."""
DOUBTS = "doubts"
"""`LinearSystem.doubts`, among the inputs of stages."""
LATER, LAST = 0.03, 1e-3
"""Parts of the tolerance at which iterations end in products: derivatives have the error of the solution, or more where
rows are nearly dependent. Well-conditioned rows are below the first at once; the second is for states in doubt."""


class Stages(Product):
    """A product in stages.

    Args:
        evaluator: What is differentiated: forward dynamics or impacts.
        by: Names of the inputs to differentiate by.
    """

    evaluator: Any
    systems: ClassVar[int] = 1
    """Linear systems that are solved."""
    projections: ClassVar[int] = 1
    """How often forces or rows are projected, of redundant rows: two linear systems each."""
    projects: bool = True
    """Whether forces that cancel, of redundant rows, are taken off."""
    ending: float
    """The part of the tolerance at which iterations end."""

    def _check_gpu(self, dtype: str) -> None:
        method = self.evaluator.method
        raise UnsupportedFeature(
            f"products of {method} of '{self.robot.name}' are several programs and a linear system between them: on a "
            "GPU they are there through lw.torch.function and lw.jax.function, or by method 'cluster'"
        )

    @property
    def implicit(self) -> Implicit:
        """The equations that the solution satisfies."""
        found: Implicit = self.evaluator.implicit
        return found

    @property
    def solver(self) -> ForwardDynamics:
        """Whose program solves the linear system."""
        found: ForwardDynamics = self.evaluator.linear_solver
        return found

    def _set_backend(self, backend: Backend) -> None:
        super()._set_backend(backend)
        self._solve_runner: Runner | None = None
        self._transpose_runner: Runner | None = None
        self._row_runner: Runner | None = None
        self._exact_function: Any = None
        self._with_more_iterations: Self | None = None
        self._native_jacobians: Any = None
        self._alike: bool | None = None
        self._has_held = False  # whether `_prepare_inputs` was called

    @property
    def redundant(self) -> bool:
        """Whether rows of the robot depend on others, so that forces are not unique, and are projected."""
        return self.projects and rows_redundant(self.robot)

    @property
    def _may_depend(self) -> bool:
        """Whether rows of the robot depend on others, or do so where loops are open."""
        return rows_redundant(self.robot) or rows_redundant_open(self.robot)

    def without_projections(self) -> Self:
        """The same where accelerations count and forces do not: redundant rows are not projected.

        Their forces, which gradients of accelerations depend on off closed loops alone, have eight digits then, in a
        third of the time.
        """
        made = copy(self)
        made.projects, made._has_held = False, False
        return made

    @property
    def transpose_runner(self) -> Runner:
        """What runs ``J' w``."""
        if self._transpose_runner is None:
            self._transpose_runner = runner_for(self._transpose_program, self._backend)
        return self._transpose_runner

    @property
    def _transpose_program(self) -> Program:
        return self.implicit.forward_program(self.implicit.solution[1:])

    @property
    def solve_runner(self) -> Runner:
        """What runs the linear system."""
        self.runner  # noqa: B018  makes what is held
        if self._solve_runner is None:
            self._solve_runner = runner_for(solve_program(self.solver.program), self._backend)
        return self._solve_runner

    def _prepare_inputs(self) -> None:
        super()._prepare_inputs()
        if "ending" not in self.__dict__:  # of redundant rows, each iteration adds to forces that cancel
            self.ending = 1.0 if rows_redundant(self.robot) else LATER
        solver = self.solver
        if solver.dtype != self._dtype:
            solver = solver.native(self._dtype.name)  # type: ignore[arg-type]
        R, _, _, settings = solver._held_inputs()
        rows = row_dependence(self.robot)
        self._weights = Weights.of_inputs(R, settings, self.robot.nv, rows.idle)
        self._moved, self._moved_open = (
            (~idle).astype(self._dtype) if idle.any() else None for idle in (rows.idle, rows.idle_open)
        )
        opens = rows_redundant_open(self.robot)
        self._most_gap = ROUNDED * min(1.0, scales_of(self.robot).length) if opens else None
        if self._may_depend and not self.projects:  # forces have changes that cancel
            self._weights = self._weights._replace(of_changes=0.0 * self._weights.of_changes)
        self._held_of_solver = R, self._ending_later(settings)
        source = self.evaluator.differentiated_program
        self._input_names = [*source.algorithm.inputs, *self._further_inputs(source)]
        self._result_names = list(self._result_shapes(source))

    def _ending_later(self, settings: Array) -> Array:
        """Settings of iterations that end at a part of the tolerance.

        Not in single precision, where rounding is above it.
        """
        changed = settings.copy()
        changed[0] *= self.ending if self._dtype == np.float64 else 1.0
        return changed

    def compile(self, *arguments: Any, **keywords: Any) -> Self:
        """The same with its programs compiled now; see `Evaluator.compile`.

        Args:
            arguments: As for `Evaluator.compile`.
            keywords: As for `Evaluator.compile`.
        """
        made = super().compile(*arguments, **keywords)
        made.solve_runner  # noqa: B018
        return made

    def operation_count(self) -> OperationCount:
        """Exact count of the operations of all stages, the function included: of its first iteration and the first of
        each linear system, and of a further one of all. Of redundant rows, forces and solutions are projected; where
        these contradict each other, one more system is solved."""
        function = self.evaluator.operation_count()
        solve = OperationCount.of_trace(solve_program(self.solver.program).trace(10**9))
        projections = 2 * self.projections if self.redundant else 0
        rows = [program for program in [self._row_program] if program is not None and self.redundant]
        solves = self.systems + projections + len(rows)
        total: dict[str, int] = {}
        for part, times in ((function, 1), (solve, solves), (super().operation_count(), 1)):
            for name, count in part.items():
                total[name] = total.get(name, 0) + times * count
        for program in (*self._further_programs(), *[self._transpose_program] * projections, *rows):
            for name, count in program.trace(10**9).operation_count().items():
                total[name] = total.get(name, 0) + count
        iteration, refinement = solves * solve.iteration, solves * solve.refinement
        return OperationCount(total, function.iteration + iteration, function.refinement + refinement)

    @property
    def _row_program(self) -> Program | None:
        """The program of how rows turn that depend on others; None where there is none."""
        return None

    def _further_programs(self) -> Sequence[Program]:
        """Programs besides the function, the linear system and this one."""
        return ()

    # What a call needs ------------------------------------------------------------------------------------------

    def _by_name(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """All inputs, seeds and directions, by name."""
        arranged = self._arranged(arrays, given)  # makes the names
        return dict(zip(self._input_names, arranged, strict=True))

    def _options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: given[name] for name in self._known.optional if given.get(name) is not None}

    @property
    def _has_jacobians(self) -> bool:
        """Whether Jacobians can take the place of iterations that do not end well."""
        known = hasattr(type(self.evaluator), "derivatives") and not (self.seeded and self.directed)
        known = known and set(self.inputs) <= {"q", "v", "tau", "target"} and self._dtype == np.float64
        return known and self.solver.max_iterations >= MAX_ITERATIONS  # fewer are asked for where time counts

    def _given_out(self, out: Any) -> list[Any]:
        self.runner  # noqa: B018  makes the names
        if out is None:
            return [None] * len(self._result_names)
        outputs = listed(out)
        if len(outputs) != len(self._result_names):
            names = ", ".join(self._result_names)
            raise InputError(f"{self.quantity} writes {names}: out needs as many arrays; found {len(outputs)}")
        return outputs

    def _evaluated(self, inputs: dict[str, Any]) -> list[Array]:
        """Results of the stages after the function."""
        raise NotImplementedError

    def _of_system(self, inputs: Mapping[str, Any], force: Any, rows: Any, stiffness: float = 1.0) -> list[Any]:
        """Inputs of the linear system, with the regularization over ``stiffness``."""
        R, settings = self._held_of_solver
        R = R if stiffness == 1.0 else (R / stiffness).astype(R.dtype)
        given = {**inputs, "force": force, "rows": rows, "regularization": R, "settings": settings}
        return [given[name] for name in self.solve_runner.names]

    def _of_transpose(self, inputs: Mapping[str, Any], w: Any) -> list[Any]:
        """Inputs of ``J' w``."""
        given = {**inputs, f"d{self.implicit.solution[1]}": w}
        return [given[name] for name in self.transpose_runner.names]

    def _system(self, inputs: Mapping[str, Any]) -> LinearSystem:
        """The linear system."""
        none = np.zeros(self.robot.nc, self._dtype)

        def solve(force: Any, rows: Any) -> tuple[Array, Array]:
            x, result = evaluated(self.solve_runner, self._of_system(inputs, force, rows))
            return x, result

        def balance(w: Any, stiffness: float) -> Array:
            force, _ = evaluated(self.transpose_runner, self._of_transpose(inputs, -w))
            _, result = evaluated(self.solve_runner, self._of_system(inputs, force, none, stiffness))
            return np.ascontiguousarray(result[..., HEAD : HEAD + self.robot.nc])

        opened = inputs[OPENED]
        redundant = self.redundant or (opened and self.projects)
        moved = self._moved_open if opened else self._moved
        return LinearSystem(solve, balance, self._weights, redundant, moved, inputs[DOUBTS])

    def _opened(self, result: Array) -> bool:
        """Whether loops of some state are open, of a robot whose rows are redundant there and not on closed ones."""
        gap = result[..., ResultLayout(self.robot.nc).gap]
        return self._most_gap is not None and bool((gap > self._most_gap).any())

    def _dependent_rows(self, inputs: Mapping[str, Any], forces: bool) -> DependentRows | None:
        """What turns with rows that depend on others; None where none do."""
        if not (rows_redundant(self.robot) or inputs[OPENED]):
            return None
        a, f = (inputs[name] for name in self.implicit.solution)
        return DependentRows.of_solution(self._system(inputs), a, f, inputs[MISSED], forces and self.projects)

    def _of_rows(self, program: Program, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Outputs by name of the program of `Implicit.row_products` that the product has."""
        if self._row_runner is None:
            self._row_runner = runner_for(program, self._backend)
        return named_outputs(self._row_runner, inputs)


def named_outputs(runner: Runner, inputs: Mapping[str, Any]) -> dict[str, Array]:
    """Outputs of a program by name, of inputs by name.

    Args:
        runner: What runs the program.
        inputs: Its inputs, among others.
    """
    found = evaluated(runner, [inputs[name] for name in runner.names])
    return dict(zip(runner.program.algorithm.outputs, found, strict=True))


def evaluated(runner: Runner, inputs: Sequence[Any]) -> list[Array]:
    """New outputs of a program; of one state at once, where its arrays fit as they are.

    Args:
        runner: What runs the program.
        inputs: Its inputs.
    """
    if all(np.ndim(x) == len(shape) for x, shape in zip(inputs, runner.inputs, strict=True)):
        results = [np.empty(shape, runner.dtype) for shape in runner.outputs]
        if not runner.entry(*inputs, *results):
            return results
    return runner.evaluate(inputs, [None] * len(runner.outputs))


def listed(out: Any) -> list[Any]:
    """Arrays to write to, one or several, as a list.

    Args:
        out: As given to a call.
    """
    return list(out) if isinstance(out, tuple | list) else [out]
