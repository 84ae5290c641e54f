# SPDX-License-Identifier: BSD-3-Clause
"""States of closed loops, to hold on to: configurations near given ones, and velocities.

`Mechanism.assemble` and `Mechanism.project_velocity` compute the same. Kernels do the work where one attempt closes the
loops and rows are clearly independent or clearly not; elsewhere further attempts, and singular values, take over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import problem_of
from linkwork.closure.assembly_problem import GAP, Search, descent_of, which_enabled, which_holonomic
from linkwork.closure.loop_rounding import loop_rounding
from linkwork.closure.mobility import project_by_singular_values
from linkwork.closure.thresholds import OPEN, RANK, ROUNDED, SINGLE_CLOSED, SINGLE_RANK, WEAK
from linkwork.compilers.program import Program
from linkwork.errors import NotFinite, UnsupportedFeature
from linkwork.kernels.constrained.velocity_projection import VELOCITY_PROJECTION
from linkwork.model.arrays import Floats
from linkwork.model.checks import check_robot
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.plans.constraint_derivatives import derivative_tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.functions import constraint_jacobian
from linkwork.quantities.motions import has_motions, row_motions
from linkwork.quantities.product_attributes import differentiable
from linkwork.quantities.scales import scales_of, typical_row_units


class Verdict(NamedTuple):
    """The acceptance test of an evaluator of closed loops, whose last output is the tested number."""

    suffices: Callable[[Array], bool]
    """Whether results of the kernel are those of all states, by the verdict."""
    other_result: Callable[..., Floats]
    """The result of all states where the kernel does not suffice."""


def _evaluated(evaluator: BaseEvaluator, verdict: Verdict, state: Sequence[npt.ArrayLike], out: Array | None) -> Array:
    """The result for anything array-like: by the kernel where it suffices."""
    if out is None:  # the fast path for one state
        results = evaluator.execution.results(*state)
        if results is not None and verdict.suffices(results[1]):
            one: Array = results[0]
            return one
    typed = evaluator.for_type_of([*state, out])
    if typed is not evaluator:
        single: Array = typed(*state, out=out)
        return single
    try:
        result, last = evaluator.runner.evaluate(evaluator.input_arrays(state), [out, None])
        if not evaluator.sees_results or verdict.suffices(last):
            return result
    except NotFinite:  # the other way may know why
        pass
    other: Array = verdict.other_result(*state).astype(evaluator.dtype, copy=False)
    if out is None:
        return other
    out[...] = other
    return out


def _verified(evaluator: BaseEvaluator, verdict: Verdict) -> Callable[[Sequence[Array]], bool]:
    """The verification of bound calls."""
    count = len(evaluator.given_names)

    def verify(arrays: Sequence[Array]) -> bool:
        if verdict.suffices(arrays[-1]):
            return False
        arrays[-2][...] = verdict.other_result(*arrays[:count])
        return True

    return verify


@differentiable
class Assembly(BaseEvaluator):
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

    def _settings(self, dtype: np.dtype[Any]) -> Floats:
        """When descents end, as they read it."""
        settings = self._problem.settings(self._search)
        if dtype != np.float64:
            settings[0] = max(settings[0], SINGLE_CLOSED)
        return settings

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls leave out: rows, joints and limits, and when descents end.

        Args:
            dtype: Type of the numbers.
        """
        bound = float(np.finfo(dtype).max)
        held = zip(list(self.program.algorithm.inputs)[1:], (*self._problem.arrays, self._settings(dtype)), strict=True)
        return {name: np.clip(x, -bound, bound).astype(dtype) for name, x in held}

    @property
    def _verdict(self) -> Verdict:
        return self.keep("verdict", self._judged)

    def _judged(self) -> Verdict:
        settings = self._settings(self.dtype)

        def suffices(verdict: Array) -> bool:
            gap = verdict[GAP] if verdict.ndim == 1 else verdict[..., GAP].max(initial=0.0)
            return bool(gap <= self._problem.enough(self._search, settings))

        return Verdict(suffices, lambda q: self._problem.solve(q, self._search).q)

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
        return _verified(self, self._verdict)

    def __call__(self, q: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Configurations with closed loops, ``(..., nq)``.

        Args:
            q: Where to start, ``(..., nq)``; leading axes are batch axes. Closed configurations are returned unchanged.
            out: Array to write them to; by default a new one.
        """
        return _evaluated(self, self._verdict, (q,), out)

    @property
    def differentiated(self) -> Differentiated:
        """Empty: an assembly has no derivatives."""
        raise UnsupportedFeature(
            "an assembly is a search and has no derivatives: tangents of closed configurations are the columns of "
            "Minimal(robot).matrix(q), and all v with constraint_jacobian(robot, q) @ v = 0"
        )


@differentiable
class VelocityProjection(BaseEvaluator):
    """Velocities closest to given ones that satisfy the constraints: ``projection(q, v)``.

    As `Mechanism.project_velocity`; `bind` makes a call for a control loop, `compile` machine code for this
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
        """Inputs and results of derivatives of a projection: along closed loops where rows are dependent."""
        return Differentiated(("q", "v"), (), {"v": ("allowed", slice(None))})

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls leave out: scales and units of rows, and thresholds of zero.

        Args:
            dtype: Type of the numbers.
        """
        robot = self.robot
        on = which_enabled(robot)
        scale = np.where(on, 1 / np.sqrt(scales_of(robot).rows), 0.0)
        units = np.where(on & which_holonomic(robot), 1 / typical_row_units(robot), 0.0)
        rank = RANK if dtype == np.float64 else SINGLE_RANK
        settings = np.array([rank, OPEN * loop_rounding(robot), OPEN, ROUNDED, max(WEAK, rank)])
        held = zip(list(self.program.algorithm.inputs)[2:], (scale, units, settings), strict=True)
        return {name: x.astype(dtype) for name, x in held}

    def __call__(self, q: npt.ArrayLike, v: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Velocities that satisfy the constraints, ``(..., nv)``. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            out: Array to write the result to; by default a new one.
        """
        return _evaluated(self, self._verdict, (q, v), out)

    @property
    def _verdict(self) -> Verdict:
        return Verdict(_independent, partial(project_by_singular_values, self.robot))

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
        return _verified(self, self._verdict)


def _independent(verdict: Array) -> bool:
    """Whether rows are clearly independent or clearly not, of all states."""
    return not (verdict[0] if verdict.ndim == 1 else verdict.any())


def project_velocity(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """The velocity that all enabled constraints allow at ``q`` and that is nearest to ``v`` in kinetic energy.

    It is the velocity after a perfectly inelastic impact with the constraints. Leading axes broadcast. Joints that move
    no mass count with a small part of the others' inertia.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
    """
    project = _projection_of(robot, tuple([c.enabled for c in robot.constraints]))
    if not has_motions(robot):
        result: Floats = project(q, v)
        return result
    # velocities with J v = p' are those with J v = 0 beyond any one of them
    rates = np.where(which_enabled(robot), row_motions(robot, robot.time)[1], 0.0)
    J = constraint_jacobian(robot, q) * which_enabled(robot)[:, None]
    moving = (np.linalg.pinv(J) @ rates[:, None])[..., 0]
    velocity: Floats = moving + project(q, np.asarray(v, dtype=np.float64) - moving)
    return velocity


@computed_once
def _projection_of(robot: Model, enabled: tuple[bool, ...]) -> VelocityProjection:
    return VelocityProjection(robot).native()
