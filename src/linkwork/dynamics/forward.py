# SPDX-License-Identifier: BSD-3-Clause
"""The entry point to forward dynamics: one class, all methods (`methods`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkwork.closure.mobility import check_mass_matrix
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.compilers.trace.tracing import Trace
from linkwork.conversions import converted
from linkwork.dynamics import forward_checks as checks
from linkwork.dynamics import forward_plans as plans
from linkwork.dynamics import forward_products as products
from linkwork.dynamics.dense import dense_solution
from linkwork.dynamics.implicit_products import Implicit
from linkwork.dynamics.iterations import EXPECTED, MAX_ITERATIONS, REGULARIZATION, TOLERANCE, SolverSettings
from linkwork.dynamics.jacobians.constrained import forward_derivatives
from linkwork.dynamics.jacobians.trees import JacobiansOf
from linkwork.dynamics.methods import METHODS, Plan, best_method, check_method, check_parameters, method_tree
from linkwork.dynamics.solution import PROGRESS, Solution, SolvedBy
from linkwork.errors import InputError, NotConverged, NotFinite
from linkwork.inputs import Auto, ForwardMethod, not_negative
from linkwork.kernels.constrained.ltl import PROX_LTL
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.model.parameters import GEOMETRIC
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.ltl import ltl_tree
from linkwork.quantities.arguments import Array, frame_names, present, state_not_finite
from linkwork.quantities.base import NOTHING, BaseEvaluator
from linkwork.quantities.computation import Computation
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.parameters import ParameterNames
from linkwork.quantities.product_attributes import differentiable
from linkwork.quantities.products import Kind, Product


@differentiable
class ForwardDynamics(BaseEvaluator):
    """Accelerations of a robot under torques, and the forces of its constraints: ``fd(q, v, tau).acceleration``.

    Making one is quick: operations are counted, clusters and scales are computed at first use, once for a robot.

    Args:
        robot: The mechanism.
        method: Method of solution, see `methods_for`. ``"auto"`` takes `aba` for a tree, else the proximal method
            that is fast in native code and has few operations (`best_method`), in three iterations or as many as are
            allowed.
        regularization: Regularization of the proximal iterations, relative to the apparent inverse inertia of a row,
            times the compliance of its constraint. `pv_soft` takes it as the softness that rows have, and does not
            iterate.
        tolerance: Residual of rows at which iterations end, relative to the effect of gravity, torques and velocities.
        max_iterations: The most iterations.
        strict: Whether iterations that do not reach the tolerance are an error, `NotConverged`; else
            `Solution.converged` says so.
        wrenches: Frames that external wrenches act on. A call then takes them as ``(..., frames, 6)``, each ``[moment,
            force]`` at the frame's origin in the frame's axes.
        parameters: Parameters of the robot that are inputs, such as ``["mass", "gravity"]`` (`robot.parameters`): each
            is a further argument of a call, so that every row of a batch may have a robot of its own. A mapping, such
            as ``{"mass": ["hand"]}``, makes those of some bodies, joints or constraints inputs alone.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    derivatives = JacobiansOf(forward_derivatives)
    """Jacobians by ``q, v, tau``: ``fd.derivatives(q, v, tau)``, an evaluator on the same backend."""

    @converted
    def __init__(
        self,
        robot: Model,
        method: ForwardMethod | Auto = "auto",
        *,
        regularization: float = REGULARIZATION,
        tolerance: float = TOLERANCE,
        max_iterations: int = MAX_ITERATIONS,
        strict: bool = False,
        wrenches: Sequence[str] = (),
        parameters: ParameterNames = (),
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        check_method(robot, method)
        self.solver = SolverSettings(regularization, tolerance, max_iterations)
        """Settings of the proximal iterations."""
        self.strict = bool(strict)
        self._method: ForwardMethod | Auto = method
        frames = frame_names(wrenches)
        arguments = {"robot": robot, "method": method, **vars(self.solver), "strict": self.strict, "wrenches": frames}
        super().__init__(robot, "forward_dynamics", self.program_of, arguments, frames, threads, parameters)
        if self.parameters:
            check_parameters(self.parameters, method)

    # The method --------------------------------------------------------------------------------------------------

    @property
    def method(self) -> ForwardMethod:
        """The method; of ``"auto"``, the one that it stands for, chosen at first use."""
        if self._method == "auto":
            self._method = best_method(self.robot, min(self.solver.max_iterations, EXPECTED))
        return self._method

    @property
    def bound(self) -> bool:
        """Whether constraints act: the result has their forces."""
        if self._method == "auto":  # known without a choice
            return any(c.enabled for c in self.robot.constraints)
        return self._method != "aba"

    @property
    def hard(self) -> bool:
        """Whether the method takes rows to be independent, or loops to be closed; ``"auto"`` chooses none that does."""
        return self._method != "auto" and (METHODS[self._method].hard or METHODS[self._method].closed)

    def recipe(self) -> dict[str, Any]:
        """Keyword arguments that make an equal evaluator, with the chosen method in place of ``"auto"`` where known."""
        return {**super().recipe(), "method": self._method}

    def _check_backend(self, backend: Backend) -> None:
        checks.check_backend(self._method, backend)

    # Programs ----------------------------------------------------------------------------------------------------

    def program_of(self, plan: Plan | None = None) -> Program:
        """The program of the method, with the robot's own parameters.

        Args:
            plan: Makes another plan than that of the method.
        """
        algorithm, own = METHODS[self.method].algorithm or PROX_LTL, METHODS[self.method].arrays or ltl_tree
        return Program.of_robot(self.robot, algorithm, method_tree(self.robot, self.method, plan or own, self.frames))

    @property
    def traced_program(self) -> Program:
        """The program that `compile` traces: without the kernel of further iterations where there are none."""
        method = METHODS[self.method]
        once = not method.falls_back and (self.solver.max_iterations == 1 or not method.iterates)
        return self.program.without_iterations() if once else self.program

    @property
    def exported_program(self) -> Program:
        """The program that `export_c` writes: its plan needs no fallback."""
        fallback = METHODS[self.method].fallback
        return self.traced_program if fallback is None else self.parameter_inputs.program(self.program_of(fallback))

    @property
    def counted_program(self) -> Program:
        """The program that `operation_count` counts: without the fallback kernel of a method that has one."""
        return self.program.without_iterations() if METHODS[self.method].falls_back else self.program

    def runner_on(self, backend: Backend) -> Runner:
        """The runner of the program on a backend; for `kkt`, a runner that checks shapes only.

        Args:
            backend: Backend of the program.
        """
        if METHODS[self.method].needs_mass:
            check_mass_matrix(self.robot)
        return Runner(self.program) if self._method == "kkt" else super().runner_on(backend)

    @property
    def fallback(self) -> ForwardDynamics | None:
        """A copy with the plan `Method.fallback`, native if this one is compiled; None where the plans are equal."""
        return self.keep("fallback", lambda: plans.fallback(self))

    def _for_regularization(self, R: Array | None) -> ForwardDynamics:
        return plans.for_regularization(self, R)

    # Held inputs -------------------------------------------------------------------------------------------------

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls may leave out: wrenches, parameters, regularization, target, multipliers and settings.

        Args:
            dtype: Type of the numbers.
        """
        held = super().held_inputs(dtype)
        if not self.bound:
            return held
        if METHODS[self.method].needs_mass:
            check_mass_matrix(self.robot)
        R, none = self._row_regularization(self.robot, dtype), np.zeros(self.robot.nc, dtype)
        settings = self._iterations(dtype)
        return {**held, "regularization": R, "target": none, "multipliers": none, "settings": settings}

    def _row_regularization(self, robot: Model, dtype: np.dtype[Any]) -> Array:
        """The regularization of each row of a robot: none of a hard method, unbounded where constraints are off."""
        R = self.solver.rows(robot, dtype.name)
        return np.where(R < UNBOUNDED, 0.0, R).astype(dtype) if METHODS[self.method].hard else R

    def _iterations(self, dtype: np.dtype[Any]) -> Array:
        """When iterations end, and the scales of the robot, as kernels read them."""
        return METHODS[self.method].iterations(self.solver).array(self.robot, dtype.name)

    @property
    def settings(self) -> Array:
        """When iterations end, and the scales of the robot: the input ``settings`` of exported C."""
        return self.execution.held["settings"].copy()

    @property
    def solved_by(self) -> SolvedBy:
        """The method of the solution, and the bounds below which results need no verification."""
        iterates = METHODS[self.method].iterates
        tolerance = float(self._iterations(self.dtype)[0]) if iterates else np.inf
        accepted = checks.accepted_progress(self.method, self.fallback is not None) if self.hard else (-np.inf, np.inf)
        if self.strict:
            accepted = accepted[0], min(accepted[1], tolerance)
        return SolvedBy(self.robot, self.method, tolerance, self.hard or self.strict, *accepted)

    # Calls -------------------------------------------------------------------------------------------------------

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        multipliers: npt.ArrayLike | None = None,
        target: npt.ArrayLike | None = None,
        regularization: npt.ArrayLike | None = None,
        out: Array | None = None,
        **parameters: npt.ArrayLike,
    ) -> Solution:
        """Accelerations, and the forces of constraints. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            multipliers: Forces that iterations start from, ``(..., nc)``: those of a state before (warm start).
            target: Accelerations of rows beyond those of their gains, ``(..., nc)``.
            regularization: Replaces the regularization of each row, ``(..., nc)``, in accelerations for a unit of its
                force.
            out: Array to write accelerations to; by default a new one.
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        state_alone = wrenches is multipliers is target is regularization is None and not parameters
        if state_alone and out is None and not (q.__class__ is np.ndarray and q.ndim > 1):
            results = self.execution.results(q, v, tau)  # of one state, in machine code
            if results is not None:
                if results.__class__ is not tuple:
                    return Solution(results)
                a, result = results
                by = self.kept.get("by") or self._first_solution(q, v, result)
                if not by.watched or by.least < result[PROGRESS] <= by.most:
                    return Solution(a, by, result)
                if self.fallback is not None and result[PROGRESS] <= by.least:
                    return self.fallback(q, v, tau)
        named: dict[str, Any] = {}
        if not state_alone:
            named = present({"wrenches": wrenches, "multipliers": multipliers, "target": target})
            named |= {} if regularization is None else {"regularization": regularization}
        if not self.sees_results:
            return self._on_gpu((q, v, tau), named, out, parameters)
        if self._method not in ("kkt", "pv_early"):
            typed = self.for_type_of((q, v, tau, out, *named.values(), *parameters.values()))
            if typed is not self:
                return typed(q, v, tau, out=out, **named, **parameters)
        if not self.bound:
            return Solution(self.runner.evaluate(self.input_arrays((q, v, tau), named, parameters), [out])[0])
        if regularization is not None:
            R = not_negative(regularization, "regularization").astype(self.dtype)
            named["regularization"], other = R, self._for_regularization(R)
            if other is not self:
                return other(q, v, tau, out=out, **named, **parameters)
        if self._method == "kkt":
            arrays = self.execution.held | named
            a, result = dense_solution(self.robot, self.frames, (q, v, tau), arrays, self.solver.regularization, out)
            return Solution(a, self.keep("by", lambda: self.solved_by), result)
        inputs = self.input_arrays((q, v, tau), named, parameters)
        try:
            a, result = self.runner.evaluate(inputs, [out, None])
        except NotFinite:
            if not self.hard:
                raise
            if self.fallback is None:
                raise checks.singular_rows(self.robot, self.method, state_not_finite(self.runner, inputs)) from None
            return self.fallback(q, v, tau, out=out, **named, **parameters)
        by = self.kept.get("by") or self._first_solution(q, v, result)
        if by.watched and self.hard and not self.rows_suffice(by, result):
            assert self.fallback is not None
            return self.fallback(q, v, tau, out=out, **named, **parameters)
        solution = Solution(a, by, result)
        if self.strict and not np.all(solution.converged):
            raise NotConverged(
                f"{self.method} of '{self.robot.name}' did not converge: residual {np.max(solution.residual):.3g} "
                f"after {np.max(solution.iterations)} iterations (tolerance: {self.solver.tolerance:.1g})"
            )
        return solution

    def _first_solution(self, q: npt.ArrayLike, v: npt.ArrayLike, result: Array) -> SolvedBy:
        """The method of the first solution; warns where loops are open or opening."""
        by = self.solved_by
        if result.size and not GEOMETRIC & set(self.parameters):
            checks.check_state(self.robot, q, v, self.execution.held["regularization"] < UNBOUNDED, stacklevel=3)
            self.kept["by"] = by
        return by

    def without_state_check(self) -> Self:
        """A copy with the same machine code that does not warn where loops are open."""
        other = self.holding({})
        other.kept["by"] = self.solved_by
        return other

    def rows_suffice(self, by: SolvedBy, result: Array) -> bool:
        """Whether a method without regularization found its rows independent; False where another plan may do so.

        Raises an error where rows are dependent, or contradict each other.

        Args:
            by: The method, and the bounds below which its results need verification.
            result: Results of a call, as `ResultLayout`.
        """
        if self.fallback is not None:
            return bool((result[..., PROGRESS] > by.least).all())
        checks.check_rows(self.robot, self.method, result)
        return True

    def _on_gpu(
        self, state: Sequence[Any], named: Mapping[str, Any], out: Any, parameters: Mapping[str, Any]
    ) -> Solution:
        """Accelerations, and forces of constraints, as arrays on a GPU that nothing here looks at."""
        if out is None and not parameters and not named:
            results = self.runner.evaluate_with(self.execution.tail, state)
        else:
            other = self._for_regularization(None) if "regularization" in named and self.bound else self
            if other is not self:
                return other(*state, out=out, **{**named, **parameters})
            inputs = self.input_arrays(state, named, parameters)
            results = self.runner.evaluate(inputs, [out, None] if self.bound else [out])
        by = self.keep("by", lambda: self.solved_by) if self.bound else None
        return Solution(results[0], by, results[1] if self.bound else None)

    def bind(
        self,
        *inputs: Array,
        out: Array | Sequence[Array],
        multipliers: Array | None = None,
        target: Array | None = None,
        regularization: Array | None = None,
        **parameters: Array,
    ) -> Callable[[], None]:
        """A call without arguments; see `Evaluator.bind`. ``out`` is a, or (a, result), the result as `ResultLayout`.

        With the result nothing is raised where rows are dependent: of a hard method, its first number says how
        independent they are. With a alone it is an error, as in a call.

        Constraints are switched between calls by writing the result of `row_regularization` to ``regularization``, and
        moved by an ``anchor_position`` that is an input (`parameters`). Neither plans or compiles anything.

        Args:
            inputs: ``q``, ``v``, ``tau`` and, where frames were named, wrenches.
            out: ``(a, result)``, or ``a`` alone; of a tree, ``a``.
            multipliers: Forces that iterations start from, ``(..., nc)``.
            target: Accelerations of rows beyond those of their gains, ``(..., nc)``.
            regularization: Regularization of each row, ``(..., nc)``: not negative, `row_regularization` by default.
            parameters: Parameters of the robot that are inputs, by name; the robot's own by default.
        """
        if self._method == "kkt":
            raise checks.no_kernel("bind")
        named = present({"multipliers": multipliers, "target": target, "regularization": regularization})
        if named and not self.bound:
            raise InputError(f"'{self.robot.name}' has no enabled constraint: bind takes no {', '.join(named)}")
        other = self
        if regularization is not None:
            not_negative(regularization, "regularization")
            other = self._for_regularization(None)
        return super(ForwardDynamics, other.holding(named) if named else other).bind(*inputs, out=out, **parameters)

    def row_regularization(self, enabled: Mapping[str, bool] = NOTHING) -> Array:
        """The regularization of each row, ``(nc,)``, accelerations for a unit of its force; unbounded where it is off.

        Args:
            enabled: Whether constraints act, by name; the others as in the robot.
        """
        return self._row_regularization(self.robot.switched(enabled), self.dtype).copy()

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
        return plans.verification(self, alone)

    # Derivatives -------------------------------------------------------------------------------------------------

    @property
    def differentiated(self) -> Differentiated:
        """Inputs and results of derivatives: accelerations and constraint forces by states, torques and parameters."""
        return products.differentiated(self)

    @property
    def differentiated_program(self) -> Program:
        """The program that products are made of: a plan that needs no fallback."""
        return self.linear_solver.program if self.in_stages else self.keep("program", lambda: self.exported_program)

    @property
    def in_stages(self) -> bool:
        """Whether products have several programs."""
        method = METHODS[self.method]
        return self.bound and (method.iterates or method.falls_back or self._method == "kkt")

    @property
    def linear_solver(self) -> ForwardDynamics:
        """Forward dynamics whose program solves the linear system of derivatives: by this method, if it iterates."""
        return self.keep("linear solver", lambda: products.linear_solver(self))

    @property
    def implicit(self) -> Implicit:
        """The equations that accelerations and constraint forces satisfy."""
        return self.keep("implicit", lambda: products.implicit(self))

    def solved(self, solution: Solution) -> tuple[Array, Any]:
        """Accelerations of a solution, and the result that constraint forces are a part of (`ResultLayout`).

        Args:
            solution: Result of a call.
        """
        return solution.acceleration, solution.result

    def computation_of(self, product: Product) -> Computation | None:
        """The computation of a product that takes several programs; None where it is one.

        Args:
            product: The product.
        """
        if not self.in_stages:
            return None
        from linkwork.dynamics.implicit_computation import ImplicitComputation  # the first call needs none

        return ImplicitComputation(product)

    def product_trace(self, kind: Kind, by: Sequence[str], limit: int) -> Trace:
        """The straight-line program of a product.

        Args:
            kind: ``"jvp"``, ``"vjp"`` or ``"hvp"``.
            by: Names of the inputs to differentiate by.
            limit: The most operations; `ProgramTooLarge` where there are more.
        """
        method = METHODS[self.method]
        if self.bound and (method.closed or not method.hard):
            return super().product_trace(kind, by, limit)
        return products.composed_trace(self, kind, by, limit)
