# SPDX-License-Identifier: BSD-3-Clause
"""The entry point to forward dynamics: one class, all methods (`methods`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from linkwork.closure.minimal import check_pivots, undetermined
from linkwork.closure.mobility import check_mass_matrix, state_doubt
from linkwork.closure.tolerances import LEAST_PIVOT
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import check_out
from linkwork.compilers.trace.tracing import MAX_OPERATIONS
from linkwork.conversions import converted
from linkwork.dynamics.dense import solve_kkt
from linkwork.dynamics.forward_products import ForwardProducts
from linkwork.dynamics.iterations import (
    EXPECTED,
    MAX_ITERATIONS,
    OFF,
    REGULARIZATION,
    TOLERANCE,
    iteration_settings,
    row_regularization,
)
from linkwork.dynamics.jacobians.constrained import forward_derivatives
from linkwork.dynamics.jacobians.trees import JacobiansOf
from linkwork.dynamics.methods import (
    AUTOMATIC,
    METHODS,
    Plan,
    best_method,
    check_parameters,
    method_tree,
    methods_for,
    refusal,
)
from linkwork.dynamics.solution import PROGRESS, ResultLayout, Solution, SolvedBy
from linkwork.errors import (
    InputError,
    NotConverged,
    NotFinite,
    SingularConstraints,
    StateWarning,
    UnsupportedFeature,
)
from linkwork.inputs import (
    Auto,
    ForwardMethod,
    Lanes,
    Precision,
    above_zero,
    count,
    not_negative,
    rows_of,
    were_given,
)
from linkwork.kernels.constrained.problem import DISABLED
from linkwork.kernels.constrained.rank_revealing import LAST, UNFINISHED
from linkwork.kernels.tree import aba
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.lcaba import any_regularization, has_closed_forms, shares_penalties
from linkwork.plans.tree import tree_of
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.parameters import ParameterNames

LEAST_BLOCK_PIVOT = 1e-6
"""The least pivot of rows that end at a base. Below it their block is nearly singular: `Method.fallback` is taken."""

CONTRADICTION = 1e-6
"""What rows may differ by when they say the same, as a part of what forces and velocities do to the robot."""

_UNSET = np.zeros(0)
"""An input that is not made yet."""
_empty = np.empty


class ForwardDynamics(ForwardProducts):
    """Accelerations of a robot under torques, and the forces of its constraints: ``fd(q, v, tau).acceleration``.

    ``method`` is one of `METHODS`, or ``"auto"``: `aba` for a tree, else the proximal one with the fewest operations
    for this robot, in three iterations or as many as are allowed.
    ``regularization``, ``tolerance`` and ``max_iterations`` are those of the proximal iterations, without units: a row
    has the regularization times its constraint's compliance as a part of the inverse inertia that it feels (`scales`),
    and rows may miss the tolerance as a part of what gravity, torques and velocities do. `pv_soft` takes the
    regularization as the softness that rows have, and iterates not. With ``strict``, iterations that do not reach the
    tolerance are an error, `NotConverged`; else `Solution.converged` says.

    Making one is quick: operations are counted, clusters and scales are computed at first use, once for a robot.

    Args:
        robot: The mechanism.
        method: How to solve for them, see `methods_for`. ``"auto"`` takes `aba` for a tree, else the proximal method
            with the fewest operations for this robot, in three iterations or as many as are allowed.
        regularization: Regularization of the proximal iterations, as a part of the inverse inertia that a row feels,
            times the compliance of its constraint. `pv_soft` takes it as the softness that rows have, and does not
            iterate.
        tolerance: What rows may miss when iterations end, as a part of what gravity, torques and velocities do.
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
        if method != "auto" and method not in METHODS:
            raise InputError(f"no method '{method}'; there are auto, {', '.join(METHODS)}")
        reason = None if method == "auto" else refusal(robot, method)
        if reason is not None:
            others = ", ".join(methods_for(robot))
            raise UnsupportedFeature(f"{method} cannot serve '{robot.name}': {reason}. These can: {others}")
        self.regularization = above_zero(regularization, "regularization")
        self.tolerance = above_zero(tolerance, "tolerance")
        self.max_iterations = count(max_iterations, "max_iterations")
        self.strict = bool(strict)
        self._given_method: ForwardMethod | Auto = method
        # Of "auto" what matters here is known without a choice: it takes no hard and no dense method.
        bound = any(c.enabled for c in robot.constraints) if method == "auto" else method != "aba"
        self._bound = bound
        self._dense = method == "kkt"
        self._hard = method != "auto" and (METHODS[method].hard or METHODS[method].closed)
        self._quick = not (self._dense or self.strict)
        self._nv, self._result_size = robot.nv, ResultLayout(robot.nc).size
        self._unchecked = bound
        self._regularization = self._zero_rows = self._settings = _UNSET
        self._by: SolvedBy | None = None
        self._held_last: tuple[Any, Any, tuple[Array, ...]] = (None, None, ())
        watched = self._hard and not METHODS[method].iterates and method != "pv_early"
        # what `progress` of one state may be: a pivot, or a residual that shows no contradiction and no dead center
        self._least_pivot = LEAST_PIVOT if watched else -np.inf
        self._most_progress = np.inf if watched else CONTRADICTION if method == "pv_early" else 0.5 * DISABLED
        self._has_fallback = watched and METHODS[method].fallback is not None
        self._fallback_plan: Program | None = None
        self._fallback: Self | None = None
        frames = frame_names(wrenches)
        arguments = {
            "robot": robot,
            "method": method,
            "regularization": self.regularization,
            "tolerance": self.tolerance,
            "max_iterations": self.max_iterations,
            "strict": self.strict,
            "wrenches": frames,
        }
        super().__init__(robot, "forward_dynamics", self._planned, arguments, frames, threads, parameters)
        if self._own_parameters:
            check_parameters(self.parameters, method)

    @property
    def method(self) -> ForwardMethod:
        """The method; of ``"auto"``, the one that it stands for, chosen at first use."""
        if self._given_method == "auto":
            self._given_method = best_method(self.robot, min(self.max_iterations, EXPECTED))
        return self._given_method

    def _recipe(self) -> dict[str, Any]:
        return {**super()._recipe(), "method": self._given_method}  # the one that "auto" stands for, where it is known

    def _planned(self) -> Program:
        return self._program_of(METHODS[self.method].arrays or tree_of)

    def _program_of(self, plan: Plan) -> Program:
        tree = method_tree(self.robot, self.method, plan, self.frames)
        return Program.of_robot(self.robot, METHODS[self.method].algorithm or aba.ABA, tree)

    def _other_program(self, plan: Plan) -> Program:
        """The program of another plan, with the parameters of this evaluator."""
        return self._parameter_inputs.program(self._program_of(plan))

    def _prepare_inputs(self) -> None:
        robot, method, dtype = self.robot, METHODS[self.method], self._dtype.name
        if method.needs_mass:
            check_mass_matrix(robot)
        tolerance, iterations = self.tolerance, self.max_iterations if method.iterates else 1
        if method.falls_back:
            tolerance, iterations = UNFINISHED, int(LAST)
        R = row_regularization(robot, self.regularization, dtype)
        self._regularization = np.where(R < OFF, 0.0, R).astype(dtype) if method.hard else R
        self._zero_rows = np.zeros(robot.nc, dtype=dtype)
        self._settings = iteration_settings(robot, self.regularization, tolerance, iterations, dtype)
        self._by = SolvedBy(robot, self.method, float(self._settings[0]) if method.iterates else np.inf)
        if self._has_fallback and method.fallback is not None:
            other = self._other_program(method.fallback)
            if other.plan_bytes() != self.program.plan_bytes():
                self._fallback_plan, self._least_pivot = other, LEAST_BLOCK_PIVOT

    def _by_fallback(self) -> Self:
        """The same by the plan `Method.fallback`, in native code where this is compiled."""
        if self._fallback is None:
            other = copy(self)
            other._program, other._has_fallback = self._fallback_plan, False
            other._set_backend(replace(self._backend, name="plain" if self.backend == "plain" else "native"))
            self._fallback = other
        return self._fallback

    def _with_settings(self, change: Callable[[Array], Array]) -> Self:
        """The same with other settings of its iterations; `Solution.converged` says what it does of this one."""
        other = self._on(self._backend)
        other._prepare_inputs()
        other._settings = change(other._settings)
        other._runner, other._output_shapes = self.runner, self.runner.outputs
        return other

    def _set_backend(self, backend: Backend) -> None:
        super()._set_backend(backend)
        self._per_row: Self | None = None

    def _for_regularization(self, R: Array) -> Self:
        """This evaluator, or the same for rows of a pair whose regularization differs though compliances are equal."""
        if (
            not has_closed_forms(self.program.algorithm.layout)
            or R.shape[-1:] != (self.robot.nc,)
            or shares_penalties(self.program.tree, R)
        ):
            return self
        return self._without_closed_forms()

    def _without_closed_forms(self) -> Self:
        """The same for rows of any regularization."""
        if self._per_row is None:
            other = copy(self)
            other._program = replace(self.program, tree=any_regularization(self.program.tree))
            other._set_backend(self._backend)
            other._per_row = self._per_row = other
        return self._per_row

    @property
    def settings(self) -> Array:
        """When iterations end, and the scales of the robot: the input ``settings`` of exported C."""
        return self._held_inputs()[-1].copy()

    def _held_inputs(self) -> tuple[Array, ...]:
        """Inputs of a constrained kernel that a call need not give: regularization, target, multipliers, settings."""
        if not self._settings.size:
            self._prepare_inputs()
        return self._regularization, self._zero_rows, self._zero_rows, self._settings

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
        P = self._given_parameters(parameters) if parameters else self._own_parameters
        if out is None and wrenches is multipliers is target is regularization is None:  # the fast path for one state
            a = _empty(self._nv, self._dtype)
            if not self._bound:
                if not self._entry(q, v, tau, self._no_wrenches, *P, a):
                    return Solution(a)
            elif self._quick:
                result = _empty(self._result_size, self._dtype)
                zero = self._zero_rows
                if not self._entry(
                    q, v, tau, self._no_wrenches, self._regularization, zero, zero, *P, self._settings, a, result
                ):
                    if self._hard and not self._pivots_suffice(result):
                        return self._by_fallback()(q, v, tau, **cast(dict[str, Any], parameters))
                    if self._unchecked:
                        self._check_state(q, v, result)
                    return Solution(a, self._by, result)
        given: dict[str, Any] = {"wrenches": wrenches, "multipliers": multipliers, "target": target}
        given |= {"regularization": regularization, "out": out, **parameters}
        if self._backend.name == "cuda":
            return self._on_gpu(q, v, tau, P, given)
        if not self._dense and self._given_method != "pv_early":
            typed = self._for_type_of([q, v, tau, *given.values()])
            if typed is not self:
                return typed(q, v, tau, **given)
        W = self._no_wrenches if wrenches is None else wrenches
        if not self._bound:
            return Solution(self.runner.evaluate([q, v, tau, W, *P], [out])[0])
        R, zero, _, settings = self._held_inputs()
        target = zero if target is None else target
        if regularization is not None:
            R = not_negative(regularization, "regularization").astype(self._dtype)
            other = self._for_regularization(R)
            if other is not self:
                return other(q, v, tau, **{**given, "regularization": R})
        if self._dense:
            if R.shape[-1:] != (self.robot.nc,):
                raise InputError(f"regularization has shape {R.shape}, needs (..., {self.robot.nc})")
            return self._solve_dense(q, v, tau, W, R, target, out)
        inputs = [q, v, tau, W, R, target, zero if multipliers is None else multipliers, *P, settings]
        try:
            a, result = self.runner.evaluate(inputs, [out, None])
            suffices = not self._hard or self._pivots_suffice(result)
        except NotFinite:
            suffices = self._fallback_plan is None
            if self._hard and suffices:
                raise self._singular(self._state_not_finite(inputs)) from None
            if suffices:
                raise
        if not suffices:
            return self._by_fallback()(q, v, tau, **given)
        if self._unchecked:
            self._check_state(q, v, result)
        solution = Solution(a, self._by, result)
        if self.strict and not np.all(solution.converged):
            raise NotConverged(
                f"{self.method} of '{self.robot.name}' did not converge: residual {np.max(solution.residual):.3g} "
                f"after {np.max(solution.iterations)} iterations (tolerance: {self.tolerance:.1g})"
            )
        return solution

    def _held(self) -> tuple[Array, ...]:
        """All inputs but the state and torques, where a call gives none: the same object every time."""
        runner, parameters, held = self._held_last
        if runner is not self.runner or parameters is not self._own_parameters:
            *rows, settings = self._held_inputs() if self._bound else (None,)
            held = (self._no_wrenches, *rows, *self._own_parameters, *((settings,) if self._bound else ()))
            self._held_last = self.runner, self._own_parameters, held
        return held

    def _on_gpu(self, q: Any, v: Any, tau: Any, parameters: Sequence[Any], given: Mapping[str, Any]) -> Solution:
        """Accelerations, and forces of constraints, as arrays on a GPU that nothing here looks at."""
        if parameters is self._own_parameters and not any(x is not None for x in given.values()):
            found = self.runner.evaluate_with(self._held(), (q, v, tau))
            return Solution(found[0], self._by, found[1]) if self._bound else Solution(found[0])
        W = self._no_wrenches if given["wrenches"] is None else given["wrenches"]
        if not self._bound:
            return Solution(self.runner.evaluate([q, v, tau, W, *parameters], [given["out"]])[0])
        closed = given["regularization"] is not None and has_closed_forms(self.program.algorithm.layout)
        if closed and self._without_closed_forms() is not self:
            return self._without_closed_forms()(q, v, tau, **given)
        R, *rows, settings = self._held_inputs()
        R = R if given["regularization"] is None else given["regularization"]
        rows = [row if x is None else x for row, x in zip(rows, (given["target"], given["multipliers"]), strict=True)]
        a, result = self.runner.evaluate([q, v, tau, W, R, *rows, *parameters, settings], [given["out"], None])
        return Solution(a, self._by, result)

    def _solve_dense(
        self, q: Any, v: Any, tau: Any, wrenches: Any, R: Array, target: Any, out: Array | None
    ) -> Solution:
        nv, frames = self.robot.nv, len(self.frames)
        forces = rows_of(wrenches, "wrenches", (frames, 6))
        given = {name: forces[..., n, :] for n, name in enumerate(self.frames)}
        tau = rows_of(tau, "tau", (nv,))
        target = rows_of(target, "target", (self.robot.nc,))
        a, result = solve_kkt(self.robot, q, v, tau, given, R, self.regularization, target)
        if out is not None:
            check_out("a", out, a.shape, a.dtype)
            out[...] = a
            a = out
        return Solution(a, self._by, result)

    # Checks of results ---------------------------------------------------------------------------

    def _check_state(self, q: npt.ArrayLike, v: npt.ArrayLike, result: Array) -> None:
        """Warn, once for a robot and of the first state that is evaluated, where loops are open or opening."""
        robot = self.robot
        if result.size:
            self._unchecked = False
        if not result.size or not robot.computed.first_time("state checked"):
            return
        first_q = np.asarray(q, dtype=np.float64).reshape(-1, robot.nq)[0]
        first_v = np.asarray(v, dtype=np.float64).reshape(-1, robot.nv)[0]
        doubt = state_doubt(robot, first_q, first_v, self._regularization < OFF)
        if doubt is not None:
            warnings.warn(doubt, StateWarning, stacklevel=3)

    def _singular(self, where: str) -> SingularConstraints:
        if METHODS[self.method].closed:
            return undetermined(self.robot, where)
        return SingularConstraints(
            f"the constraints of '{self.robot.name}' are not independent{where}, which {self.method} cannot solve; "
            f"a proximal method can: {', '.join(AUTOMATIC)}"
        )

    def _pivots_suffice(self, result: Array) -> bool:
        """Whether a method without regularization found its rows independent; False where another plan may do so.

        Raises an error where rows are dependent, or contradict each other.
        """
        if result.ndim == 1 and self._least_pivot < result[PROGRESS] <= self._most_progress:
            return True
        if self._fallback_plan is not None:
            return bool((result[..., PROGRESS] > self._least_pivot).all())
        self._check_pivots(result)
        return True

    def _check_pivots(self, result: Array) -> None:
        """Raise an error where a method without regularization met dependent rows, or rows that contradict."""
        early = self._given_method == "pv_early"
        if METHODS[self.method].closed:
            if METHODS[self.method].iterates:
                lost = result[..., PROGRESS] >= DISABLED
                if lost.any():
                    raise undetermined(self.robot, _first_state(lost))
            else:
                check_pivots(self.robot, result[..., PROGRESS])
            return
        if early:
            wrong = result[..., PROGRESS] > CONTRADICTION
            if wrong.any():
                raise SingularConstraints(
                    f"the constraints of '{self.robot.name}' contradict each other{_first_state(wrong)} by "
                    f"{float(result[..., PROGRESS].max()):.3g} of what forces and velocities do to it; a proximal "
                    f"method minimizes their violation: {', '.join(AUTOMATIC)}"
                )
            return
        independent = result[..., PROGRESS] > LEAST_PIVOT
        if not independent.all():
            raise self._singular(_first_state(~independent))

    # Entry points --------------------------------------------------------------------------------

    def bind(self, *inputs: Array, out: Array | Sequence[Array], **parameters: Array) -> Callable[[], None]:
        """A call without arguments; see `Evaluator.bind`. ``out`` is a, or (a, result), the result as `ResultLayout`.

        With the result nothing is raised where rows are dependent: of a hard method, its first number says how
        independent they are. With a alone it is an error, as in a call.

        Args:
            inputs: ``q``, ``v``, ``tau`` and, where frames were named, wrenches.
            out: ``(a, result)``, or ``a`` alone; of a tree, ``a``.
            parameters: Parameters of the robot that are inputs, by name; the robot's own by default.
        """
        self._need_kernel("bind")
        return super().bind(*inputs, out=out, **parameters)

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
        if not self._hard or (not alone and self._fallback_plan is None):
            return None

        def verify(arrays: Sequence[Array]) -> bool:
            if self._pivots_suffice(arrays[-1]):
                return False
            other = self._by_fallback()
            other.runner.evaluate(arrays[:-2], arrays[-2:])
            if alone:
                other._check_pivots(arrays[-1])
            return True

        return verify

    def plain(self) -> Self:
        """The same, running the Python text itself: slow, for debugging."""
        self._need_kernel("plain")
        return super().plain()

    def compile(
        self,
        lanes: Lanes = "auto",
        dtype: Precision = "float64",
        threads: int | None = None,
        max_operations: int = MAX_OPERATIONS,
    ) -> Self:
        """The same, running a straight-line program made for this robot; see `Evaluator.compile`.

        Args:
            lanes: States that share one SIMD register in batches; ``"auto"``: as many as fit this machine.
            dtype: Numbers to compute with.
            threads: Threads that share a large batch; by default as many as this evaluator has.
            max_operations: The most operations that a program may have.
        """
        self._need_kernel("compile")
        self._check_precision(dtype)
        return super().compile(lanes, dtype, threads, max_operations)

    def _check_gpu(self, dtype: str) -> None:
        self._need_kernel("run on a GPU")
        self._check_precision(dtype)

    def _check_precision(self, dtype: str) -> None:
        if self._given_method == "pv_early" and dtype != "float64":
            raise UnsupportedFeature(
                "pv_early tells rows that feel a joint a little from those that do not: float64 only"
            )

    @property
    def traced_program(self) -> Program:
        """What `compile` makes straight-line code of.

        Without the text of further iterations where there are to be none: it needs much of the first to be kept.
        """
        method = METHODS[self.method]
        once = not method.falls_back and (self.max_iterations == 1 or not method.iterates)
        return self.program.without_iterations() if once else self.program

    @property
    def exported_program(self) -> Program:
        """What `export_c` writes: a plan that needs no fallback."""
        fallback = METHODS[self.method].fallback
        return self.traced_program if fallback is None else self._other_program(fallback)

    @property
    def counted_program(self) -> Program:
        """What `operation_count` counts: without the second text of a method that falls back to one."""
        return self.program.without_iterations() if METHODS[self.method].falls_back else self.program

    def _need_kernel(self, what: str) -> None:
        if self._dense:
            raise UnsupportedFeature(f"{self.method} is dense linear algebra in NumPy: there is nothing to {what}")

    def _inputs(self, given: Sequence[npt.ArrayLike | None]) -> list[npt.ArrayLike]:
        if not self._bound:
            return super()._inputs(given)
        if len(given) not in (3, 4):
            raise InputError(f"forward_dynamics takes q, v, tau, wrenches; {were_given(len(given))}")
        state: list[Any] = list(given[:3])
        W = self._no_wrenches if len(given) == 3 or given[3] is None else given[3]
        return [*state, W, *self._held_inputs()]


def _first_state(wrong: Array) -> str:
    """Words for the first state of a batch of which something is true."""
    return "" if wrong.ndim == 0 else f" in state {tuple(int(k) for k in np.argwhere(wrong)[0])}"
