# SPDX-License-Identifier: BSD-3-Clause
"""States of closed loops, to hold on to: configurations near given ones, and velocities.

`Mechanism.assemble` and `Mechanism.project_velocity` compute the same. Kernels do the work where one attempt closes the
loops and rows are clearly independent or clearly not; elsewhere further attempts, and singular values, take over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import (
    GAP,
    Search,
    descent_of,
    problem_of,
    which_enabled,
    which_holonomic,
)
from linkwork.closure.mobility import loop_rounding, project_by_singular_values
from linkwork.closure.tolerances import OPEN, RANK, ROUNDED, SINGLE_CLOSED, SINGLE_RANK, WEAK
from linkwork.compilers.program import Backend, Program
from linkwork.errors import NotFinite, UnsupportedFeature
from linkwork.kernels.constrained.velocity_projection import VELOCITY_PROJECTION
from linkwork.model.arrays import Floats
from linkwork.model.checks import check_robot
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.plans.constraint_derivatives import derivative_tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import ArrayEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.scales import scales_of, typical_row_units


class ClosureEvaluator(ArrayEvaluator):
    """An evaluator of states of closed loops: inputs that it holds, and a verdict beside its result.

    Where the verdict, the last output, is that the kernel does not suffice, the result is computed in another way.
    """

    _held: tuple[Array, ...] = ()
    """Inputs that calls do not give."""

    def _set_backend(self, backend: Backend) -> None:
        super()._set_backend(backend)
        self._held = ()

    @property
    def held(self) -> tuple[Array, ...]:
        """Inputs of the program that calls do not give: its last ones."""
        if not self._held:
            self._prepare_inputs()
        return self._held

    def _inputs(self, given: Sequence[npt.ArrayLike | None]) -> list[npt.ArrayLike]:
        return super()._inputs([*given, *self.held])

    def _suffices(self, verdict: Array) -> bool:
        """Whether results of the kernel are those of all states."""
        raise NotImplementedError

    def _other_result(self, *given: npt.ArrayLike) -> Floats:
        """The result of all states where the kernel does not suffice."""
        raise NotImplementedError

    def _evaluated(self, given: Sequence[npt.ArrayLike], out: Array | None) -> Array:
        if out is None and self._held:  # the fast path for one state
            made = self._new_results(*given, *self._held)
            if made is not None and self._suffices(made[1]):
                one: Array = made[0]
                return one
        typed = self._for_type_of([*given, *(() if out is None else [out])])
        try:
            result, verdict = typed.runner.evaluate(typed._inputs(given), [out, None])
            if not typed._sees_results or typed._suffices(verdict):
                return result
        except NotFinite:  # the other way may know why
            pass
        other: Array = typed._other_result(*given).astype(typed._dtype, copy=False)
        if out is None:
            return other
        out[...] = other
        return out

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
        count = len(self.runner.inputs) - len(self.held)

        def verify(arrays: Sequence[Array]) -> bool:
            if self._suffices(arrays[-1]):
                return False
            arrays[-2][...] = self._other_result(*arrays[:count])
            return True

        return verify


class Assembly(ClosureEvaluator):
    """Configurations near given ones at which all loops are closed: ``assembly(q)``, as `Mechanism.assemble` gives.

    `bind` makes a call for a control loop, `compile` machine code for this robot. With ``attempts=1`` the time of a
    call is bounded: where loops do not close from ``q``, it is an error at once.

    Args:
        robot: The mechanism.
        fixed: Names of joints that stay where they are.
        tolerance: Errors below it are closed loops, in rad or m; see `closure.assembly.assemble`.
        max_iterations: Of each attempt.
        attempts: Where one gets stuck, the next starts from ``q`` moved at random, farther each time.
        seed: Of these random moves.
        limits: Whether to keep the limits of joints whose coordinates are plain numbers.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self,
        robot: Model,
        fixed: str | Sequence[str] = (),
        *,
        tolerance: float | None = None,
        max_iterations: int = 200,
        attempts: int = 20,
        seed: int = 0,
        limits: bool = True,
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        self._problem = problem_of(robot, fixed, limits)
        self._search = Search(tolerance, max_iterations, attempts, seed).checked()
        arguments = {"robot": robot, "fixed": self._problem.fixed, "limits": limits, **self._search._asdict()}
        super().__init__(robot, "assembly", lambda: descent_of(robot).program, arguments, (), threads)

    def _prepare_inputs(self) -> None:
        settings = self._problem.settings(self._search)
        if self._dtype != np.float64:
            settings[0] = max(settings[0], SINGLE_CLOSED)
        self._settings, bound = settings, float(np.finfo(self._dtype).max)
        held = (*self._problem.arrays, settings)
        self._held = tuple(np.clip(x, -bound, bound).astype(self._dtype) for x in held)

    def __call__(self, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Configurations with closed loops, ``(..., nq)``.

        Args:
            q: Where to start, ``(..., nq)``; leading axes are batch axes. What is closed already is returned as it is.
            out: Array to write them to; by default a new one.
        """
        return self._evaluated((q,), out)

    def _suffices(self, verdict: Array) -> bool:
        gap = verdict[GAP] if verdict.ndim == 1 else verdict[..., GAP].max(initial=0.0)
        return bool(gap <= self._problem.enough(self._search, self._settings))

    def _other_result(self, *given: npt.ArrayLike) -> Floats:
        return self._problem.solve(given[0], self._search).q

    @property
    def differentiated(self) -> Differentiated:
        """Nothing: an assembly has no derivatives."""
        raise UnsupportedFeature(
            "an assembly is a search, of which no derivatives are computed: closed configurations move as "
            "Minimal(robot).matrix(q) says, or by any velocity with constraint_jacobian(robot, q) @ v = 0"
        )


class VelocityProjection(ClosureEvaluator):
    """Velocities closest to given ones that satisfy the constraints: ``projection(q, v)``.

    What `Mechanism.project_velocity` gives; `bind` makes a call for a control loop, `compile` machine code for this
    robot.

    Args:
        robot: The mechanism.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(self, robot: Model, threads: int | None = None) -> None:
        def program() -> Program:
            return Program.of_robot(robot, VELOCITY_PROJECTION, derivative_tree(robot))

        super().__init__(robot, "velocity_projection", program, {"robot": robot}, (), threads)

    @property
    def differentiated(self) -> Differentiated:
        """What a projection is differentiated by: where rows depend on others, along closed loops."""
        return Differentiated(("q", "v"), (), {"v": ("allowed", slice(None))})

    def _prepare_inputs(self) -> None:
        robot = self.robot
        on = which_enabled(robot)
        scale = np.where(on, 1 / np.sqrt(scales_of(robot).rows), 0.0)
        units = np.where(on & which_holonomic(robot), 1 / typical_row_units(robot), 0.0)
        rank = RANK if self._dtype == np.float64 else SINGLE_RANK
        settings = np.array([rank, OPEN * loop_rounding(robot), OPEN, ROUNDED, max(WEAK, rank)])
        self._held = tuple(x.astype(self._dtype) for x in (scale, units, settings))

    def __call__(self, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Velocities that satisfy the constraints, ``(..., nv)``. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            out: Array to write the result to; by default a new one.
        """
        return self._evaluated((q, v), out)

    def _suffices(self, verdict: Array) -> bool:
        return not (verdict[0] if verdict.ndim == 1 else verdict.any())

    def _other_result(self, *given: npt.ArrayLike) -> Floats:
        return project_by_singular_values(self.robot, *given)


def project_velocity(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """The velocity that all enabled constraints allow at ``q`` and that is nearest to ``v`` in kinetic energy.

    It is the velocity after a perfectly inelastic impact with the constraints. Leading axes broadcast. Joints that move
    no mass count with a little of what others move.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
    """
    result: Floats = _projection_of(robot, tuple([c.enabled for c in robot.constraints]))(q, v)
    return result


@computed_once
def _projection_of(robot: Model, enabled: tuple[bool, ...]) -> VelocityProjection:
    return VelocityProjection(robot).native()
