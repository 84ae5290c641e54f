# SPDX-License-Identifier: BSD-3-Clause
"""Products of methods that iterate, in stages: the function, a linear system, and the residual's derivative.

See `implicit_products` for the equations. Each stage is a program of its own, called with whole batches; `jvp` and
`vjp` share the one that solves the linear system. A solution that is at hand need not be computed again: pass it as
``solution``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.dynamics.implicit_products import DUALS, Implicit
from linkwork.dynamics.linear_solve import solve_program
from linkwork.dynamics.solution import HEAD
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import real_array
from linkwork.quantities.arguments import Array, bound_call
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.products import HessianVectorProduct, JacobianVectorProduct, Product, VectorJacobianProduct

if TYPE_CHECKING:
    from linkwork.dynamics.forward import ForwardDynamics


CONTRADICTORY = 1e-12
"""What rows may miss of right-hand sides that do not contradict each other, as a part of the largest."""
PROJECTIONS = 3
"""How often contradictions are taken off at most: what is found of large ones is exact to a few digits."""


class Stages(Product):
    """A product in stages.

    Args:
        evaluator: What is differentiated: forward dynamics or impacts.
        by: Names of the inputs to differentiate by.
    """

    evaluator: Any

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
        the linear system, and of a further one of both."""
        function = self.evaluator.operation_count()
        solve = OperationCount.of_trace(solve_program(self.solver.program).trace(10**9))
        total: dict[str, int] = {}
        for part in (function, solve, super().operation_count()):
            for name, count in part.items():
                total[name] = total.get(name, 0) + count
        return OperationCount(total, function.iteration + solve.iteration, function.refinement + solve.refinement)

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
        if self._too_large() is not None:
            return self._by_jacobians(arrays, given, out)
        typed = self._for_type_of([*arrays, *given.values(), *(() if out is None else _listed(out))])
        inputs = typed._by_name(arrays, given)
        if solution is None:
            solution = typed._holder(*(inputs[name] for name in self._known.given), **self._options(given))
        first, second = self.evaluator.solved(solution)
        inputs |= zip(self.implicit.solution, (first, np.ascontiguousarray(second)), strict=True)
        return self._packed(typed._evaluated(inputs, self._given_out(out)))

    def _by_name(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """All inputs, seeds and directions, by name."""
        arranged = self._arranged(arrays, given)  # makes the names
        return dict(zip(self._input_names, arranged, strict=True))

    def _options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: given[name] for name in self._known.optional if given.get(name) is not None}

    def _given_out(self, out: Any) -> list[Any]:
        self.runner  # noqa: B018  makes the names
        if out is None:
            return [None] * len(self._result_names)
        outputs = _listed(out)
        if len(outputs) != len(self._result_names):
            names = ", ".join(self._result_names)
            raise InputError(f"{self.quantity} writes {names}: out needs as many arrays; found {len(outputs)}")
        return outputs

    def _evaluated(self, inputs: dict[str, Any], out: Sequence[Any]) -> list[Array]:
        """The stages after the function."""
        raise NotImplementedError

    def _of_system(self, inputs: Mapping[str, Any], force: Any, rows: Any) -> list[Any]:
        """Inputs of the linear system."""
        R, settings = self._held_of_solver
        given = {**inputs, "force": force, "rows": rows, "regularization": R, "settings": settings}
        return [given[name] for name in self.solve_runner.names]

    def _solved(
        self, inputs: Mapping[str, Any], force: Any, rows: Any, out: Sequence[Any], project: bool = False
    ) -> tuple[Array, Array]:
        """The solution of the linear system: ``x`` and ``w``.

        With ``project``, what redundant rows contradict each other by is taken off first: along it, rates of forces
        are zero, and ``w`` would grow with every iteration.
        """
        rows_of = slice(HEAD, HEAD + self.robot.nc)
        x, result = self.solve_runner.evaluate(self._of_system(inputs, force, rows), out)
        for _ in range(PROJECTIONS if project else 0):
            if not _contradicts(rows, result):
                break
            rows = rows - result[..., HEAD + self.robot.nc : HEAD + 2 * self.robot.nc]
            x, result = self.solve_runner.evaluate(self._of_system(inputs, force, rows), out)
        return x, np.ascontiguousarray(result[..., rows_of])

    def bind(self, *inputs: Array, out: Any, **given: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``: for control loops.

        Args:
            inputs: Arrays as for a call, that every call reads as they then are.
            out: Array that every call writes, or a tuple of as many as there are results.
            given: Arrays by name, as for a call.
        """
        outputs, known = self._given_out(out), self._known
        named = self._by_name(inputs, given)
        lead = np.shape(inputs[0])[:-1]
        source = self.evaluator.differentiated_program
        shapes = dict(zip(source.algorithm.outputs, source.output_shapes(), strict=True))
        first, result = (np.empty((*lead, *shape), self._dtype) for shape in shapes.values())
        state = [named[name] for name in (*known.given, *(name for name in known.optional if name == "wrenches"))]
        options = self._options(given)
        if "target" in options:
            raise UnsupportedFeature(f"{self.quantity} is bound without targets: call it")
        parameters = {name: x for name, x in options.items() if name != "wrenches"}
        steps = [self._holder.bind(*state, out=(first, result), **parameters)]
        forces = np.empty((*lead, self.robot.nc), self._dtype)
        steps.append(lambda: np.copyto(forces, result[..., HEAD : HEAD + self.robot.nc]))
        named |= zip(self.implicit.solution, (first, forces), strict=True)
        steps += self._bound(named, outputs, lead)

        def run() -> None:
            for step in steps:
                step()

        return run

    def _bound(self, named: dict[str, Any], out: Sequence[Array], lead: tuple[int, ...]) -> list[Callable[[], None]]:
        """Bound stages after the function."""
        raise NotImplementedError

    def _bound_solve(
        self,
        inputs: Mapping[str, Any],
        force: Array,
        rows: Array,
        lead: tuple[int, ...],
        x: Array,
        project: bool = False,
    ) -> tuple[list[Callable[[], None]], Array]:
        """The bound linear system, which writes ``x``, and the array with ``w``."""
        result = np.empty((*lead, *self.solve_runner.outputs[1]), self._dtype)
        w = np.empty((*lead, self.robot.nc), self._dtype)
        solve = bound_call(self.solve_runner, [*self._of_system(inputs, force, rows), x, result])

        def step() -> None:
            solve()
            for _ in range(PROJECTIONS if project else 0):
                if not _contradicts(rows, result):
                    break
                rows[...] -= result[..., HEAD + self.robot.nc : HEAD + 2 * self.robot.nc]
                solve()

        return [step, lambda: np.copyto(w, result[..., HEAD : HEAD + self.robot.nc])], w


class StagedJacobianVectorProduct(Stages, JacobianVectorProduct):
    """Rates of accelerations and constraint forces: the residual's tangent, then a linear system.

    Args:
        evaluator: What is differentiated: forward dynamics or impacts.
        by: Names of the inputs to differentiate by.
    """

    def _planned(self) -> Program:
        return self.implicit.forward_program(self.inputs)

    def _evaluated(self, inputs: dict[str, Any], out: Sequence[Any]) -> list[Array]:
        force, rows = self.runner.evaluate([inputs[name] for name in self.program.algorithm.inputs], [None, None])
        x, w = self._solved(inputs, force, rows, [out[0], None])
        if out[1] is not None:
            out[1][...] = w
            w = out[1]
        return [x, w]

    def _bound(self, named: dict[str, Any], out: Sequence[Array], lead: tuple[int, ...]) -> list[Callable[[], None]]:
        right = [np.empty((*lead, *shape), self._dtype) for shape in self.runner.outputs]
        inputs = [named[name] for name in self.program.algorithm.inputs]
        steps, w = self._bound_solve(named, right[0], right[1], lead, out[0])
        return [bound_call(self.runner, [*inputs, *right]), *steps, lambda: np.copyto(out[1], w)]


class StagedVectorJacobianProduct(Stages, VectorJacobianProduct):
    """Seeds of accelerations and constraint forces times the Jacobian: a linear system, then the residual's adjoint.

    Args:
        evaluator: What is differentiated: forward dynamics or impacts.
        by: Names of the inputs to differentiate by.
    """

    def _planned(self) -> Program:
        return self.implicit.reverse_program(self.inputs)

    @property
    def _seeds(self) -> list[str]:
        return [f"y_{name}" for name in self._known.results]

    def _evaluated(self, inputs: dict[str, Any], out: Sequence[Any]) -> list[Array]:
        given = dict(zip(self.inputs, out, strict=True))
        y, y_forces = (inputs[name] for name in self._seeds)
        rows = -np.asarray(real_array(y_forces, "forces"), self._dtype)
        p, w = self._solved(inputs, y, rows, [given.get("tau"), None], project=True)
        inputs |= zip(DUALS.values(), (p, w), strict=True)
        moving = list(self.program.algorithm.outputs)
        found = {}
        if moving:
            arrays = [inputs[name] for name in self.program.algorithm.inputs]
            found = dict(zip(moving, self.runner.evaluate(arrays, [given[name] for name in moving]), strict=True))
        found |= {"tau": p, "target": -w}
        if given.get("target") is not None:
            given["target"][...] = found["target"]
            found["target"] = given["target"]
        return [found[name] for name in self.inputs]

    def _bound(self, named: dict[str, Any], out: Sequence[Array], lead: tuple[int, ...]) -> list[Callable[[], None]]:
        given = dict(zip(self.inputs, out, strict=True))
        y, y_forces = (named[name] for name in self._seeds)
        rows, p = np.empty((*lead, self.robot.nc), self._dtype), np.empty((*lead, self.robot.nv), self._dtype)
        solve, w = self._bound_solve(named, y, rows, lead, p, project=True)
        named |= zip(DUALS.values(), (p, w), strict=True)
        moving = list(self.program.algorithm.outputs)
        steps: list[Callable[[], None]] = [lambda: cast(None, np.negative(y_forces, out=rows)), *solve]
        if moving:
            arrays = [named[name] for name in self.program.algorithm.inputs]
            steps.append(bound_call(self.runner, [*arrays, *(given[name] for name in moving)]))
        if "tau" in given:
            steps.append(lambda: np.copyto(given["tau"], p))
        if "target" in given:
            steps.append(lambda: cast(None, np.negative(w, out=given["target"])))
        return steps


STAGED: Mapping[type[Any], type[Any]] = {
    JacobianVectorProduct: StagedJacobianVectorProduct,
    VectorJacobianProduct: StagedVectorJacobianProduct,
}
"""Products in stages, by the class whose place they take."""


def staged(evaluator: Any, kind: type[Any]) -> Any:
    """The product of an evaluator that iterates."""
    if kind is HessianVectorProduct:
        raise UnsupportedFeature(
            f"{evaluator.quantity} of '{evaluator.robot.name}' by {evaluator.method} iterates: second derivatives are "
            "there for inverse dynamics, trees, and methods that do not iterate (cluster, ltl, pv)"
        )
    return STAGED[kind](evaluator)


def _contradicts(rows: Array, result: Array) -> bool:
    """Whether iterations ended with rows that miss their right-hand sides by more than rounding."""
    count = rows.shape[-1]
    missed = np.abs(result[..., HEAD + count : HEAD + 2 * count]).max(initial=0.0)
    return bool(missed > CONTRADICTORY * np.abs(rows).max(initial=0.0)) and bool(np.any(rows))


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, tuple | list) else [out]
