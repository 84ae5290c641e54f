# SPDX-License-Identifier: BSD-3-Clause
"""Products of forward dynamics and impacts by pipelines (`implicit`), and the policies around them.

- Few states of a small robot: whole Jacobians take less time than several programs.
- Unconverged states: where rows are nearly dependent, iterations end before forces are exact. Pipelines recompute such
  states with more iterations, then by Jacobians; NumPy takes singular values where the rank of rows is uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from linkwork.compilers.backends import runner_for
from linkwork.compilers.pipeline import Call, Pipeline
from linkwork.compilers.pipeline_runner import PipelineRunner, any_state, of_states
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner, check_out
from linkwork.dynamics import implicit
from linkwork.dynamics.forward_checks import check_state
from linkwork.dynamics.implicit_products import Implicit
from linkwork.dynamics.implicit_steps import System
from linkwork.dynamics.iterations import MAX_ITERATIONS
from linkwork.dynamics.methods import METHODS
from linkwork.dynamics.recomputation import by_jacobians, loses_digits, recomputing
from linkwork.dynamics.rows.dependence import rows_redundant, rows_redundant_open
from linkwork.dynamics.solution import ResultLayout
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.kernels.algorithm import resolve
from linkwork.model.thresholds import UNBOUNDED
from linkwork.quantities.arguments import Array, bound_call
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.jacobian_products import jacobian_blocks, multiplied

if TYPE_CHECKING:
    from linkwork.dynamics.forward import ForwardDynamics
    from linkwork.quantities.products import Product

T = TypeVar("T")

LATER, LAST = 0.03, 1e-3
"""Parts of the tolerance at which iterations end in products: derivatives have the error of the solution, or more where
rows are nearly dependent. Well-conditioned rows are below the first at once; the second is for unconverged states."""
MANY_NUMBERS = 8_000
"""Numbers in Jacobians that take about as long as the overhead between programs, of one state; in lanes, the states of
a register take `SLOWER_IN_LANES` times as long as one."""
LANES, SLOWER_IN_LANES = 8, 3
BOUND = 4
"""Number of times less time happens between programs in bound that calls."""
ONE_AXIS = ("acceleration", "forces", "target", "dq", "dv", "dtau", "dtarget")
"""Arguments by name that have one axis: vectors."""


class ImplicitComputation:
    """A product of forward dynamics or impacts, by pipelines.

    Args:
        product: The product.
    """

    def __init__(self, product: Product) -> None:
        self.product = product
        self.evaluator: Any = product.evaluator
        """Forward dynamics or impacts."""
        self._kept: dict[Any, Any] = {}

    def _keep(self, key: Any, make: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = make()
        kept: T = self._kept[key]
        return kept

    # Programs --------------------------------------------------------------------------------------------------

    @property
    def equations(self) -> Implicit:
        """The equations that a solution satisfies."""
        equations: Implicit = self.evaluator.implicit
        return equations

    @property
    def solver(self) -> ForwardDynamics:
        """Whose program solves the linear system."""
        solver: ForwardDynamics = self.evaluator.linear_solver
        return solver

    @property
    def system(self) -> System:
        """The linear system."""
        return self._keep("system", lambda: self._system(self.ending))

    def _system(self, ending: float) -> System:
        """The linear system, whose iterations end at a part of the tolerance."""
        robot, held = self.product.robot, self._typed_solver.execution.held
        R, settings = (held[name] for name in ("regularization", "settings"))
        later, most = self._ending_at(ending, settings), float(settings[0])
        program = self.solver.program
        return System.of_robot(robot, self.equations, program, R, later, most, self.watched, self._iterated)

    @cached_property
    def ending(self) -> float:
        """The part of the tolerance at which iterations end: of redundant rows, each adds to internal forces."""
        return 1.0 if rows_redundant(self.product.robot) else LATER

    def _ending_at(self, ending: float, settings: Array) -> Array:
        """Settings of iterations that end at a part of the tolerance.

        Not in single precision, where rounding is above it.
        """
        changed = settings.copy()
        changed[0] *= ending if self.product.dtype == np.float64 else 1.0
        return changed

    def program(self) -> Program:
        """The program of the residual's derivative."""
        by = self.product.inputs
        programs = {"jvp": self.equations.forward_program, "vjp": self.equations.reverse_program}
        return programs.get(self.product.kind, self.equations.second_program)(by)

    def pipeline(self, seeded: Sequence[str]) -> Pipeline:
        """The programs at a solution.

        Args:
            seeded: Results that have cotangents.
        """
        product, results = self.product, tuple(self.product.known.results)
        forces = product.kind == "jvp" or results[1] in seeded

        def build(system: System) -> Pipeline:
            common, reverse = (
                (self.equations, system, product.inputs, results),
                {"vjp": implicit.vjp, "hvp": implicit.hvp},
            )
            return reverse[product.kind](*common, forces) if product.seeded else implicit.jvp(*common)

        return self._keep(("pipeline", forces), lambda: self._recomputing(build, forces))

    def backend(self, program: Program) -> Backend:
        """The backend of a program.

        Args:
            program: One of a pipeline.
        """
        return (self.product.jacobians if "pivot" in program.algorithm.outputs else self.product).execution.backend

    def runner(self, program: Program) -> Runner:
        """The runner of a program; kept.

        Args:
            program: One of a pipeline, which holds it.
        """
        key = "runner", program.algorithm.name, program.derivation and program.derivation.key
        return self._keep(key, lambda: runner_for(program, self.backend(program)))

    def _run(self, seeded: Sequence[str]) -> PipelineRunner:
        return self._keep(len(seeded), lambda: PipelineRunner(self.pipeline(seeded), self.runner))

    def prepare(self) -> None:
        """Make machine code of all programs that every state needs."""
        for call in self.pipeline(tuple(self.product.known.results)).calls():
            self.runner(call.program)

    def operation_count(self) -> OperationCount:
        """Operations of the function in its first iteration and of all programs, and of a further iteration of all.

        Of redundant rows, forces and solutions are made the smallest; where these contradict each other, more systems
        are solved.
        """
        function = self.evaluator.operation_count()
        traces: dict[int, OperationCount] = {}
        total, iteration, refinement = dict(function), function.iteration, function.refinement
        for call in self.pipeline(tuple(self.product.known.results)).calls():
            key = id(call.program)
            if key not in traces:
                traces[key] = OperationCount.of_trace(call.program.trace(10**9))
            for name, count in traces[key].items():
                total[name] = total.get(name, 0) + count
            iteration, refinement = iteration + traces[key].iteration, refinement + traces[key].refinement
        return OperationCount(total, iteration, refinement)

    # Calls -----------------------------------------------------------------------------------------------------

    def results(self, arrays: Sequence[Any], given: Mapping[str, Any], solution: Any = None) -> list[Array]:
        """Results, each a new array.

        Args:
            arrays: As for a call of the product.
            given: As for a call of the product.
            solution: Result of the evaluator for these inputs, if available; or its arrays, accelerations or
                velocities and the result.
        """
        product = self.product
        inputs = self._arranged(arrays, given)
        seeded = self._seeded(inputs)
        inputs |= {name: product.checked(name, inputs[name]) for name in product.zeros}
        if solution is None:
            solution = self._function(*(inputs[name] for name in product.known.given), **self._options(given))
        scope = self._run(seeded)({**inputs, **self._solution(solution)})
        self._refuse(scope)
        results = [np.asarray(scope[f"{product.kind}.{name}"]) for name in product.result_names]
        return self._verified(results, scope, arrays, given)

    def _arranged(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """All inputs by name, those of the linear system too where another method solves it."""
        inputs = self.product.arranged(arrays, given)
        held = {} if self._iterated else self._typed_solver.execution.held
        return {**held, **inputs, **self._options(given)}

    @cached_property
    def _iterated(self) -> bool:
        """Whether the evaluator itself solves the linear system."""
        return self.solver is self.evaluator

    @property
    def _typed_solver(self) -> ForwardDynamics:
        """The solver of the linear system, in the number type of the product."""
        solver, dtype = self.solver, self.product.dtype
        if solver.dtype == dtype:
            return solver
        return self._keep("solver", lambda: solver.native(dtype.name))  # type: ignore[arg-type]

    def _seeded(self, inputs: Mapping[str, Any]) -> list[str]:
        """Results that have cotangents."""
        first, forces = self.product.known.results
        zero = self.product.zeros.get(f"y_{forces}")
        return [first] if zero is not None and inputs[f"y_{forces}"] is zero else [first, forces]

    def _options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: given[name] for name in self.product.known.optional if given.get(name) is not None}

    def _solution(self, solution: Any) -> dict[str, Array]:
        """Arrays of a solution, as pipelines name them."""
        first, result = solution if isinstance(solution, tuple) else self.evaluator.solved(solution)
        return {self.equations.solution[0]: first, "result": result}

    @property
    def _function(self) -> Any:
        """The function, whose iterations end later: derivatives are taken at its solution."""
        settings = self.solution_inputs
        return (
            self._keep("function", lambda: self.product.holder.holding(settings)) if settings else self.product.holder
        )

    @cached_property
    def solution_inputs(self) -> dict[str, Array]:
        """Inputs of the function that differ where derivatives are taken: settings, where it iterates itself.

        One more iteration takes less time than recomputing unconverged states.
        """
        ending, held = LAST if self.ending < 1.0 else self.ending, self.product.holder.execution.held
        return {"settings": self._ending_at(ending, held["settings"])} if self._iterated else {}

    def _refuse(self, scope: Mapping[str, Any]) -> None:
        if "refused" in scope and scope["refused"].any():
            raise UnsupportedFeature(
                f"rows of the constraints of '{self.product.robot.name}' depend on each other: second derivatives "
                "exist there for accelerations on closed loops, not for constraint forces or on open loops; leave out "
                "cotangents of forces and assemble q, or take differences of vjp"
            )

    # Few states ------------------------------------------------------------------------------------------------

    @property
    def _has_jacobians(self) -> bool:
        """Whether Jacobians can take the place of pipelines."""
        product = self.product
        known = hasattr(type(product.evaluator), "derivatives") and product.kind != "hvp"
        known = known and set(product.inputs) <= {"q", "v", "tau", "target"} and product.dtype == np.float64
        return known and self.solver.solver.max_iterations >= MAX_ITERATIONS  # fewer are requested where time counts

    @property
    def _alike(self) -> bool:
        """Whether Jacobians are those of the same method."""
        fd = self.evaluator

        def alike() -> bool:
            known = self._has_jacobians and self.solver is fd and not rows_redundant(fd.robot)
            return known and not (fd.strict or METHODS[fd.method].closed or fd.backend == "plain")

        return bool(self._keep("alike", alike))

    @property
    def _numbers(self) -> int:
        """The count of entries in all Jacobians."""
        nv, nc = self.product.robot.nv, self.product.robot.nc
        return (nv + nc) * (3 * nv + nc)

    def takes_jacobians(self, arrays: Sequence[Any], given: Mapping[str, Any], out: Sequence[Any]) -> bool:
        """Whether states are so few that Jacobians take less time than several programs.

        Args:
            arrays: As for a call.
            given: As for a call.
            out: Arrays to write to; None for those that are to be made.
        """
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
        return self.product.for_type_of([*arrays, *given.values(), *out]) is self.product

    def check(self, arrays: Sequence[Any]) -> None:
        """Warn of the first state that is computed by Jacobians, where its loops are open or opening.

        Args:
            arrays: As for a call.
        """
        if "checked" not in self._kept:
            self._kept["checked"] = True
            enabled = self.product.holder.execution.held["regularization"] < UNBOUNDED
            check_state(self.product.robot, arrays[0], arrays[1], enabled, stacklevel=5)

    # Unconverged states ----------------------------------------------------------------------------------------

    @cached_property
    def watched(self) -> bool:
        """Whether something can be done about unconverged states: not in single precision, nor where time counts."""
        return self.product.dtype == np.float64 and self.solver.solver.max_iterations >= MAX_ITERATIONS

    def _recomputing(self, build: Callable[[System], Pipeline], forces: bool) -> Pipeline:
        """A pipeline that recomputes unconverged states.

        Of large robots Jacobians take long, and where redundant rows are open they find other rows to be dependent.
        """
        pipeline, robot = build(self.system), self.product.robot
        if not self.watched:
            return pipeline
        if not self._has_jacobians:
            return recomputing(pipeline, self._iterating_on(build), None)
        jacobians = by_jacobians(
            self.product, self.equations.solution[0], self.evaluator.program.algorithm.inputs, forces
        )
        if loses_digits(robot, self.solver.method):
            return jacobians
        if self._numbers > MANY_NUMBERS:
            return recomputing(pipeline, self._iterating_on(build), jacobians)
        if rows_redundant(robot) or rows_redundant_open(robot):
            return recomputing(pipeline, self._iterating_on(build), jacobians, ResultLayout(robot.nc).gap)
        return recomputing(pipeline, None, jacobians)

    def _iterating_on(self, build: Callable[[System], Pipeline]) -> Pipeline:
        """The pipeline with iterations that end at `LAST` of the tolerance, those of the solution too."""
        pipeline = build(self._system(LAST))
        if not self._iterated:
            return pipeline
        outputs = self.equations.solution[0], "result"
        solve = Call(self.solver.program, outputs, {"settings": "settings of systems"})
        return replace(pipeline, steps=(solve, *pipeline.steps))

    def _verified(
        self, results: list[Array], scope: Mapping[str, Any], arrays: Sequence[Any], given: Mapping[str, Any]
    ) -> list[Array]:
        """Results, with those that are unconverged still by Jacobians whose rank is that of singular values."""
        if not (self.watched and scope["unconverged"].any() and self._has_jacobians):
            return results
        unconverged = np.broadcast_to(scope["unconverged"], results[0].shape[:-1])
        inner = {name: len(x) for name, x in self.evaluator.differentiated_program.algorithm.inputs.items()}
        options = {name: of_states(x, inner.get(name, 1), unconverged) for name, x in given.items() if x is not None}
        parts = self.product.by_jacobians([of_states(x, 1, unconverged) for x in arrays], options)
        results = [x if x.flags.writeable else x.copy() for x in results]
        for x, part in zip(results, parts, strict=True):
            x[unconverged] = part
        return results

    # Bound calls -----------------------------------------------------------------------------------------------

    def bind(self, arrays: Sequence[Array], given: Mapping[str, Array], out: Sequence[Array]) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes others.

        Args:
            arrays: As for a call.
            given: As for a call.
            out: Arrays that every call writes.
        """
        product, known = self.product, self.product.known
        inputs = self._arranged(arrays, given)
        seeded = self._seeded(inputs)
        at, lead = self._batch_axes(inputs)
        for (name, shape), array in zip(product.result_shapes.items(), out, strict=True):
            check_out(name, array, (*lead, *shape), product.dtype)
        if not lead and self.takes_jacobians(arrays, given, ()) and BOUND * self._numbers <= MANY_NUMBERS:
            return self._bound_jacobians(arrays, given, out)
        options = self._options(given)
        if "target" in options:
            raise UnsupportedFeature(f"{product.quantity} is bound without targets: call it")
        source = self.evaluator.differentiated_program
        first, result = (np.zeros((*at, *shape), product.dtype) for shape in source.output_shapes())
        state = [inputs[name] for name in (*known.given, *(name for name in known.optional if name == "wrenches"))]
        parameters = {name: x for name, x in options.items() if name != "wrenches"}
        solve = self._function.bind(*state, out=(first, result), **parameters)
        scope = {**inputs, self.equations.solution[0]: first, "result": result}
        call = self._run(seeded).bind(scope, bound_call)
        unconverged = any_state(scope["unconverged"]) if self.watched else lambda: False
        as_computed = "refused" not in scope
        results = [scope[f"{product.kind}.{name}"] for name in product.result_names]

        def run() -> None:
            solve()
            call()
            exact = results
            if not as_computed or unconverged():
                self._refuse(scope)
                exact = self._verified(results, scope, arrays, given)
            for x, y in zip(out, exact, strict=True):
                x[...] = y

        return run

    def _bound_jacobians(
        self, arrays: Sequence[Array], given: Mapping[str, Array], out: Sequence[Array]
    ) -> Callable[[], None]:
        """A bound call of one state, by Jacobians."""
        product = self.product
        jacobians = product.jacobians
        arrays_of = [np.empty(shape, product.dtype) for shape in jacobians.runner.outputs]
        step = jacobians.bind(*arrays[: len(product.known.given)], out=arrays_of)
        further = product.nonzero(arrays, given)
        blocks = jacobian_blocks(jacobians.execution.record(*arrays_of), product.known.results, product.inputs, further)

        def run() -> None:
            step()
            checked = {name: product.checked(name, x) for name, x in further.items()}
            for x, y in zip(out, multiplied(blocks, checked), strict=True):
                x[...] = y

        return run

    def _batch_axes(self, inputs: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Batch axes of the inputs of the function, and of these with cotangents and tangents."""
        product, source = self.product, self.evaluator.differentiated_program
        shapes = {name: resolve(shape, source.tree) for name, shape in source.algorithm.inputs.items()}
        state = [np.shape(inputs[name])[: np.ndim(inputs[name]) - len(shape)] for name, shape in shapes.items()]
        further = [product.shaped(name, inputs[name]).shape[: -zero.ndim] for name, zero in product.zeros.items()]
        try:
            return np.broadcast_shapes(*state), np.broadcast_shapes(*state, *further)
        except ValueError:
            each = ", ".join(str(axes) for axes in dict.fromkeys([*state, *further]) if axes)
            raise InputError(f"bind: batch axes do not broadcast: {each}") from None
