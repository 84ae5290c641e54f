# SPDX-License-Identifier: BSD-3-Clause
"""What products of methods that iterate share: the function, a linear system, and a program of the residual.

See `implicit_products` for the equations. Each stage is a program of its own, called with whole batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
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
from linkwork.dynamics.linear_system import Doubts, LinearSystem, Weights
from linkwork.dynamics.methods import METHODS
from linkwork.dynamics.row_dependence import row_dependence, rows_redundant, rows_redundant_open
from linkwork.dynamics.solution import HEAD, ResultLayout
from linkwork.dynamics.turned_rows import TurnedRows
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.kernels.algorithm import resolve
from linkwork.model.constraints import CenterOfMass
from linkwork.quantities.arguments import Array, bound_call
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.products import Product
from linkwork.quantities.scales import scales_of

if TYPE_CHECKING:
    from linkwork.dynamics.forward import ForwardDynamics


MISSED, OPENED = "missed", "opened"
"""Among the inputs of stages: what rows of the solution miss, and whether loops are open where that counts."""
DOUBTS = "doubts"
"""`LinearSystem.doubts`, among the inputs of stages."""
MANY_NUMBERS = 8_000
"""Numbers in Jacobians that take about as long as what happens between stages, of one state; in lanes, the states of a
register take `SLOWER_IN_LANES` times as long as one."""
LANES, SLOWER_IN_LANES = 8, 3
BOUND = 4
"""How many times less time happens between stages in bound calls."""
ONE_AXIS = ("acceleration", "forces", "target", "dq", "dv", "dtau", "dtarget")
"""Arguments by name that have one axis: vectors."""
CLOSED = 1e-12
"""What loops may be open by, in m or rad, where redundant rows are those of closed ones."""
LATER, LAST = 0.01, 1e-3
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
        self._has_held = False

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
        if "ending" not in self.__dict__:  # of redundant rows, each iteration adds to forces that cancel
            self.ending = 1.0 if rows_redundant(self.robot) else LATER
        solver = self.solver
        if solver.dtype != self._dtype:
            solver = solver.native(self._dtype.name)  # type: ignore[arg-type]
        R, _, _, settings = solver._held_inputs()
        self._weights = Weights.of_inputs(R, settings, self.robot.nv)
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
        if self._few(arrays, given, out):
            return self._of_few(arrays, given, out)
        if self._too_large() is not None:
            return self._by_jacobians(arrays, given, out)
        typed = self._for_type_of([*arrays, *given.values(), *(() if out is None else _listed(out))])
        return self._packed(self._written(typed._results(arrays, given, solution), out))

    def _results(self, arrays: Sequence[Any], given: Mapping[str, Any], solution: Any = None) -> list[Array]:
        """Results of all stages, each a new array."""
        inputs = self._by_name(arrays, given)
        inputs |= {name: self._checked(name, inputs[name]) for name in self._zeros}
        if solution is None:
            solution = self._function(*(inputs[name] for name in self._known.given), **self._options(given))
        first, forces = self.evaluator.solved(solution)
        inputs |= zip(self.implicit.solution, (first, np.ascontiguousarray(forces)), strict=True)
        inputs[DOUBTS] = doubts = self._first_doubts()
        inputs[OPENED] = self._opened(solution._result)
        inputs[self.implicit.solution[1]] = self._unique(inputs, solution._result, self._system(inputs))
        inputs[MISSED] = solution._result[..., ResultLayout(self.robot.nc).residuals]
        results = self._evaluated(inputs)
        if doubts is None or not _any(doubts):
            return results
        return self._mended(results, doubts, arrays, given, solution._result)

    def _few(self, arrays: Sequence[Any], given: Mapping[str, Any], out: Any) -> bool:
        """Whether states are so few that Jacobians take less time than several calls."""
        if self._alike is None:
            fd = self.evaluator
            known = self._has_jacobians and self.solver is fd and not self._may_depend
            self._alike = known and not (fd.strict or METHODS[fd.method].closed or fd.backend == "plain")
        if not self._alike or self._numbers > MANY_NUMBERS or any(name not in ONE_AXIS for name in given):
            return False
        leads = {np.shape(x)[:-1] for x in (*arrays, *given.values())}
        if leads != {()}:
            try:
                states = math.prod(np.broadcast_shapes(*leads))
            except ValueError:
                return False
            if states > 1 and self._numbers * (1 + (states - 1) // LANES) > MANY_NUMBERS // SLOWER_IN_LANES:
                return False
        return self._for_type_of([*arrays, *given.values(), *(() if out is None else _listed(out))]) is self

    @property
    def _numbers(self) -> int:
        """How many numbers Jacobians have."""
        nv, nc = self.robot.nv, self.robot.nc
        return (nv + nc) * (3 * nv + nc)

    def _of_few(self, arrays: Sequence[Any], given: Mapping[str, Any], out: Any) -> Any:
        """The product of few states, by Jacobians."""
        found = self._by_jacobians(arrays, given, out)
        holder: Any = self._holder
        if holder._unchecked:
            holder._check_state(arrays[0], arrays[1], found[0])
        return found

    def _make_held(self) -> None:
        if not self._has_held:
            self._prepare_inputs()
            self._has_held = True

    @property
    def _jacobians(self) -> Any:
        if self._native_jacobians is None:
            fd = self.evaluator  # no straight-line program is made for a few states
            alike = fd._on(replace(fd._backend, name="native")) if fd.backend == "specialized" else fd
            self._native_jacobians = alike.derivatives
        return self._native_jacobians

    @property
    def _function(self) -> Any:
        """The function, whose iterations end later: derivatives are taken at its solution."""
        if self._exact_function is None:
            holder: Any = self._holder
            iterates = self.solver is self.evaluator
            self._exact_function = holder._with_settings(self._ending_later) if iterates else holder
        return self._exact_function

    def _first_doubts(self) -> Doubts | None:
        """What is known of all states before anything is computed; None where nothing can be done about it."""
        if self._dtype != np.float64 or self.solver.max_iterations < MAX_ITERATIONS:  # fewer where time counts
            return None
        return [np.array(self._loses_digits)] if self.ending > LAST or self._has_jacobians else None

    @property
    def _loses_digits(self) -> bool:
        """Whether rows hold several bodies at once: in `prox_bbo` they end at one, and rounding is divided by R."""
        held = any(c.enabled and isinstance(c, CenterOfMass) for c in self.robot.constraints)
        return held and self._has_jacobians and self.solver.method == "prox_bbo"

    @property
    def _iterating_on(self) -> Self:
        """The same whose iterations end at `LAST` of the tolerance."""
        if self._with_more_iterations is None:
            other = self._on(self._backend)
            other.projects, other.ending = self.projects, LAST
            other._prepare_inputs()
            other._runner, other._output_shapes = self.runner, self.runner.outputs
            other._solve_runner, other._transpose_runner = self._solve_runner, self._transpose_runner
            other._row_runner = self._row_runner
            self._with_more_iterations = other
        return self._with_more_iterations

    def _unique(self, inputs: Mapping[str, Any], result: Array, system: LinearSystem) -> Any:
        """Forces of the function without what cancels; states are noted of which iterations left too much."""
        forces, doubts = inputs[self.implicit.solution[1]], inputs[DOUBTS]
        unique = system.unique(forces)
        if doubts is not None and self.solver is self.evaluator:
            doubts.append(self._weights.doubtful(result, unique, unique is not forces))
        return unique

    def _mended(
        self, results: Sequence[Array], doubts: Doubts, arrays: Sequence[Any], given: Mapping[str, Any], solved: Array
    ) -> list[Array]:
        """Results, with those of doubtful states computed again: with more iterations, or by Jacobians.

        Of large robots Jacobians take long, and where redundant rows are open they find other rows to be dependent.

        Args:
            results: Results of the stages, written to.
            doubts: Of which states they are not exact.
            arrays: As given to a call.
            given: As given to a call.
            solved: What the function left (`ResultLayout`).
        """
        closed = not self._may_depend or solved[..., ResultLayout(self.robot.nc).gap].max() < CLOSED
        small = self._has_jacobians and closed and self._numbers <= MANY_NUMBERS
        by_jacobians = small or self._loses_digits or self.ending == LAST
        again = self._products_by_jacobians if by_jacobians else self._iterating_on._results
        lead = results[0].shape[:-1]
        doubtful = np.zeros(lead, bool)
        for doubt in doubts:
            doubtful |= doubt
        if doubtful.all():
            return again(arrays, given)
        source = self.evaluator.differentiated_program
        inner = {name: len(shape) for name, shape in source.algorithm.inputs.items()}

        def chosen(x: Any, axes: int = 1) -> Array:
            array = np.asarray(x)
            return np.broadcast_to(array, (*lead, *array.shape[array.ndim - axes :]))[doubtful]

        named = {name: chosen(x, inner.get(name, 1)) for name, x in given.items() if x is not None}
        made = again([chosen(x) for x in arrays], named)
        for x, part in zip(results, made, strict=True):
            x[doubtful] = part
        return list(results)

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

        found, opened = row_dependence(self.robot), inputs[OPENED]
        redundant = self.redundant or (opened and self.projects)
        idle = found.idle_open if opened else found.idle
        return LinearSystem(solve, balance, self._weights, redundant, idle, inputs[DOUBTS])

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
        if not lead and self._few(inputs, given, None) and BOUND * self._numbers <= MANY_NUMBERS:
            return self._bound_jacobians(inputs, given, outputs)
        shapes = dict(zip(source.algorithm.outputs, source.output_shapes(), strict=True))
        first, result = (np.empty((*at, *shape), self._dtype) for shape in shapes.values())
        state = [named[name] for name in (*known.given, *(name for name in known.optional if name == "wrenches"))]
        options = self._options(given)
        if "target" in options:
            raise UnsupportedFeature(f"{self.quantity} is bound without targets: call it")
        parameters = {name: x for name, x in options.items() if name != "wrenches"}
        steps = [self._function.bind(*state, out=(first, result), **parameters)]
        forces = np.empty((*at, self.robot.nc), self._dtype)
        named[DOUBTS] = doubts = self._first_doubts()
        steps.append(lambda: np.copyto(forces, result[..., HEAD : HEAD + self.robot.nc]))
        named |= zip(self.implicit.solution, (first, forces), strict=True)
        system = self._bound_system(named, at, np.empty((*at, self.robot.nv), self._dtype))
        steps.append(lambda: np.copyto(forces, self._unique(named, result, system)))
        steps += self._bound(named, outputs, lead)

        def run() -> None:
            if doubts is not None:
                del doubts[1:]
            steps[0]()
            if self._opened(result):
                self(*inputs, out=out, **given)
                return
            for step in steps[1:]:
                step()
            if doubts is not None and _any(doubts):
                for x, found in zip(outputs, self._mended(outputs, doubts, inputs, given, result), strict=True):
                    x[...] = found

        return run

    def _bound_jacobians(
        self, arrays: Sequence[Array], given: Mapping[str, Array], outputs: Sequence[Array]
    ) -> Callable[[], None]:
        """A bound call of one state, by Jacobians."""
        made = self._jacobians
        blocks = [np.empty(shape, self._dtype) for shape in made.runner.outputs]
        step = made.bind(*arrays[: len(self._known.given)], out=blocks)
        further = self._further(arrays, given)
        named = self._blocks(made.record(*blocks), further)

        def run() -> None:
            step()
            found = self._multiplied(named, {name: self._checked(name, x) for name, x in further.items()})
            for x, part in zip(outputs, found, strict=True):
                x[...] = part

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

        idle = row_dependence(self.robot).idle
        return LinearSystem(solve, balance, self._weights, self.redundant, idle, inputs[DOUBTS])


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


def _any(doubts: Doubts) -> bool:
    """Whether there is doubt about a state."""
    return any(doubt.any() for doubt in doubts)


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, tuple | list) else [out]
