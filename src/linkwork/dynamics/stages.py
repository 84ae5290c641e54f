# SPDX-License-Identifier: BSD-3-Clause
"""What products of methods that iterate share: the function, a linear system, and a program of the residual.

See `implicit_products` for the equations. Each stage is a program of its own, called with whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from linkwork.closure.tolerances import ROUNDED
from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner, check_out
from linkwork.dynamics.implicit_products import Implicit
from linkwork.dynamics.iterations import MAX_ITERATIONS
from linkwork.dynamics.linear_solve import solve_program
from linkwork.dynamics.linear_system import LinearSystem, Unsolved, Weights
from linkwork.dynamics.row_dependence import row_dependence, rows_redundant, rows_redundant_open
from linkwork.dynamics.solution import HEAD, ResultLayout
from linkwork.dynamics.turned_rows import TurnedRows
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.kernels.algorithm import resolve
from linkwork.quantities.arguments import Array, bound_call
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.products import Product
from linkwork.quantities.scales import scales_of

if TYPE_CHECKING:
    from linkwork.dynamics.forward import ForwardDynamics


MISSED, OPENED = "missed", "opened"
"""Among the inputs of stages: what rows of the solution miss, and whether loops are open where that counts."""


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

    @property
    def redundant(self) -> bool:
        """Whether rows of the robot depend on others, so that forces are not unique, and are projected."""
        return self.projects and rows_redundant(self.robot)

    def without_projections(self) -> Self:
        """The same where accelerations count and forces do not: redundant rows are not projected.

        Their forces, which gradients of accelerations depend on off closed loops alone, have eight digits then, in a
        third of the time.
        """
        made = copy(self)
        made.projects = False
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
        solver = self.solver
        if solver.dtype != self._dtype:
            solver = solver.native(self._dtype.name)  # type: ignore[arg-type]
        R, _, _, settings = solver._held_inputs()
        self._held_of_solver = R, settings
        source = self.evaluator.differentiated_program
        self._input_names = [*source.algorithm.inputs, *self._further_inputs(source)]
        self._result_names = list(self._result_shapes(source))

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

    # Calls -----------------------------------------------------------------------------------------------------

    def __call__(
        self, *arrays: npt.ArrayLike, out: Any = None, solution: Any = None, **given: npt.ArrayLike | None
    ) -> Any:
        """Evaluate. Leading axes of all arguments are batch axes and broadcast.

        Args:
            arrays: Inputs of the evaluator, then seeds of results or directions of inputs, as the class says.
            out: Array to write the result to, or a tuple of as many as there are results; by default new ones.
            solution: What the evaluator returned for these inputs, where it is at hand.
            given: By name: inputs that need not be given (``wrenches``, ``target``), seeds of further results
                (``forces``), and directions of such inputs (``dwrenches``, ``dtarget``).
        """
        if not self._sees_results:
            self._check_gpu(self._dtype.name)
        if self._too_large() is not None:
            return self._by_jacobians(arrays, given, out)
        typed = self._for_type_of([*arrays, *given.values(), *(() if out is None else _listed(out))])
        inputs = typed._by_name(arrays, given)
        inputs |= {name: typed._checked(name, inputs[name]) for name in typed._zeros}
        if solution is None:
            solution = typed._holder(*(inputs[name] for name in self._known.given), **self._options(given))
        if typed._has_jacobians and not np.all(solution.converged):
            return self._by_jacobians(arrays, given, out)
        first, forces = self.evaluator.solved(solution)
        inputs |= zip(self.implicit.solution, (first, np.ascontiguousarray(forces)), strict=True)
        inputs[OPENED] = self._opened(solution._result)
        inputs[self.implicit.solution[1]] = typed._system(inputs).unique(forces)
        inputs[MISSED] = solution._result[..., ResultLayout(self.robot.nc).residuals]
        try:
            return self._packed(self._written(typed._evaluated(inputs), out))
        except Unsolved:  # near a singular configuration
            return self._by_jacobians(arrays, given, out)

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
        outputs = _listed(out)
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

    @property
    def _weights(self) -> Weights:
        R, settings = self._held_of_solver
        return Weights.of_inputs(R, settings, self.robot.nv)

    def _system(self, inputs: Mapping[str, Any]) -> LinearSystem:
        """The linear system."""
        none = np.zeros(self.robot.nc, self._dtype)

        def solve(force: Any, rows: Any) -> tuple[Array, Array]:
            x, result = self.solve_runner.evaluate(self._of_system(inputs, force, rows), [None, None])
            return x, result

        def balance(w: Any, stiffness: float) -> Array:
            force, _ = self.transpose_runner.evaluate(self._of_transpose(inputs, -w), [None, None])
            arrays = self._of_system(inputs, force, none, stiffness)
            _, result = self.solve_runner.evaluate(arrays, [None, None])
            return np.ascontiguousarray(result[..., HEAD : HEAD + self.robot.nc])

        found, opened = row_dependence(self.robot), inputs[OPENED]
        redundant = self.redundant or (opened and self.projects)
        idle = found.idle_open if opened else found.idle
        return LinearSystem(solve, balance, self._weights, redundant, idle, self._has_jacobians)

    def _opened(self, result: Array) -> bool:
        """Whether loops of some state are open, of a robot whose rows are redundant there and not on closed ones."""
        if not rows_redundant_open(self.robot):
            return False
        gap = result[..., ResultLayout(self.robot.nc).gap]
        return bool(np.max(gap, initial=0.0) > ROUNDED * min(1.0, scales_of(self.robot).length))

    def _turned(self, inputs: Mapping[str, Any], forces: bool) -> TurnedRows | None:
        """What turns with rows that depend on others; None where none do."""
        if not (rows_redundant(self.robot) or inputs[OPENED]):
            return None
        a, f = (inputs[name] for name in self.implicit.solution)
        return TurnedRows.of_solution(self._system(inputs), a, f, inputs[MISSED], forces and self.projects)

    def _of_rows(self, program: Program, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Outputs by name of the program of `Implicit.row_products` that the product has."""
        if self._row_runner is None:
            self._row_runner = runner_for(program, self._backend)
        return named_outputs(self._row_runner, inputs)

    def bind(self, *inputs: Array, out: Any, **given: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``: for control loops.

        Args:
            inputs: Arrays as for a call, that every call reads as they then are.
            out: Array that every call writes, or a tuple of as many as there are results.
            given: Arrays by name, as for a call.
        """
        if rows_redundant(self.robot):

            def call() -> None:
                self(*inputs, out=out, **given)

            return call
        outputs, known = self._given_out(out), self._known
        named = self._by_name(inputs, given)
        source = self.evaluator.differentiated_program
        at, lead = self._batch_axes(named, source)
        for (name, shape), array in zip(self._result_shapes(source).items(), outputs, strict=True):
            check_out(name, array, (*lead, *shape), self._dtype)
        shapes = dict(zip(source.algorithm.outputs, source.output_shapes(), strict=True))
        first, result = (np.empty((*at, *shape), self._dtype) for shape in shapes.values())
        state = [named[name] for name in (*known.given, *(name for name in known.optional if name == "wrenches"))]
        options = self._options(given)
        if "target" in options:
            raise UnsupportedFeature(f"{self.quantity} is bound without targets: call it")
        parameters = {name: x for name, x in options.items() if name != "wrenches"}
        steps = [self._holder.bind(*state, out=(first, result), **parameters)]
        forces = np.empty((*at, self.robot.nc), self._dtype)
        steps.append(lambda: np.copyto(forces, result[..., HEAD : HEAD + self.robot.nc]))
        named |= zip(self.implicit.solution, (first, forces), strict=True)
        system = self._bound_system(named, at, np.empty((*at, self.robot.nv), self._dtype))
        steps.append(lambda: np.copyto(forces, system.unique(forces)))
        steps += self._bound(named, outputs, lead)

        def run() -> None:
            steps[0]()
            if self._opened(result):
                self(*inputs, out=out, **given)
                return
            for step in steps[1:]:
                step()

        return run

    def _batch_axes(self, named: Mapping[str, Any], source: Program) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Batch axes of the inputs of the function, and of these with seeds and directions."""
        shapes = {name: resolve(shape, source.tree) for name, shape in source.algorithm.inputs.items()}
        state = [np.shape(named[name])[: np.ndim(named[name]) - len(shape)] for name, shape in shapes.items()]
        further = [np.shape(self._shaped(name, named[name]))[: -zero.ndim] for name, zero in self._zeros.items()]
        try:
            return np.broadcast_shapes(*state), np.broadcast_shapes(*state, *further)
        except ValueError:
            each = ", ".join(str(axes) for axes in dict.fromkeys([*state, *further]) if axes)
            raise InputError(f"bind: batch axes do not broadcast: {each}") from None

    def _bound(self, named: dict[str, Any], out: Sequence[Array], lead: tuple[int, ...]) -> list[Callable[[], None]]:
        """Bound stages after the function."""
        raise NotImplementedError

    def _bound_system(self, inputs: Mapping[str, Any], lead: tuple[int, ...], x: Array) -> LinearSystem:
        """The linear system, bound: it writes ``x``."""
        nv, nc, dtype = self.robot.nv, self.robot.nc, self._dtype
        force, rows = np.empty((*lead, nv), dtype), np.empty((*lead, nc), dtype)
        result = np.empty((*lead, *self.solve_runner.outputs[1]), dtype)
        call = bound_call(self.solve_runner, [*self._of_system(inputs, force, rows), x, result])

        def solve(f: Any, r: Any) -> tuple[Array, Array]:
            force[...], rows[...] = f, r
            call()
            return x, result

        held, none = np.empty((*lead, nc), dtype), np.zeros((*lead, nc), dtype)
        torques, still, found = np.empty_like(force), np.empty_like(force), np.empty_like(result)

        @cache  # made where they are needed: of redundant rows
        def calls(stiffness: float) -> tuple[Callable[[], None], Callable[[], None]]:
            transpose = [*self._of_transpose(inputs, held), torques, np.empty_like(rows)]
            system = [*self._of_system(inputs, torques, none, stiffness), still, found]
            return bound_call(self.transpose_runner, transpose), bound_call(self.solve_runner, system)

        def balance(w: Any, stiffness: float) -> Array:
            np.negative(w, out=held)
            for step in calls(stiffness):
                step()
            return found[..., HEAD : HEAD + nc].copy()

        return LinearSystem(solve, balance, self._weights, self.redundant, row_dependence(self.robot).idle)


def named_outputs(runner: Runner, inputs: Mapping[str, Any]) -> dict[str, Array]:
    """Outputs of a program by name, of inputs by name.

    Args:
        runner: What runs the program.
        inputs: Its inputs, among others.
    """
    algorithm = runner.program.algorithm
    found = runner.evaluate([inputs[name] for name in algorithm.inputs], [None] * len(algorithm.outputs))
    return dict(zip(algorithm.outputs, found, strict=True))


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, tuple | list) else [out]
