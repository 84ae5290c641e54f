# SPDX-License-Identifier: BSD-3-Clause
"""Minimal coordinates of a closed mechanism: how its dependent joints follow the independent ones.

**clusters** Section II-B: ``v = G y'`` and ``a = G y'' + g``, with ``y`` the independent degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.closure.clusters import clustered, clusters, dof_names, tied_dofs
from linkwork.closure.thresholds import LEAST_PIVOT, ROUNDED
from linkwork.compilers.program import Program
from linkwork.conversions import converted
from linkwork.errors import AssemblyError, InputError, NotFinite, SingularConstraints
from linkwork.inputs import count, finite_floats, rows_of
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.clusters import explicit as kernels
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.clusters import enabled_rows
from linkwork.quantities.arguments import Array, state_not_finite
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.functions import coriolis_matrix, mass_matrix
from linkwork.quantities.product_attributes import differentiable

ALGORITHMS: Mapping[str, Algorithm] = {"explicit": kernels.EXPLICIT_FORM, "closing_step": kernels.CLOSING_STEP}


class Minimal:
    """Minimal coordinates of a robot: ``y`` are its free degrees of freedom, in the order of ``v``.

    Positions are those of the whole tree, ``q``, in which loops are closed: `complete` closes them.

    Args:
        robot: The mechanism.
    """

    @converted
    def __init__(self, robot: Model) -> None:
        check_robot(robot)
        self.robot = robot
        tied = tied_dofs(robot)
        self.index = np.array([k for k in range(robot.nv) if k not in tied], dtype=np.intp)
        """Where each free degree of freedom stands in v."""
        names = dof_names(robot)
        self.names = tuple(names[k] for k in self.index)
        """Their names."""
        self.ny = len(self.index)
        self._explicit = _Clustered(robot, "explicit")
        self._closing_step = _Clustered(robot, "closing_step")

    def matrix(self, q: npt.ArrayLike) -> Array:
        """``G``: all joint velocities as a linear map of the free ones, ``(..., nv, ny)``.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
        """
        result: Array = self._explicit(q, np.zeros(self.robot.nv))[0]
        return result

    def velocity(self, q: npt.ArrayLike, rate: npt.ArrayLike) -> Array:
        """All joint velocities, ``G y'``.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
            rate: Velocities of the free degrees of freedom, ``(..., ny)``.
        """
        result: Array = (self.matrix(q) @ self.rates(rate, "rate")[..., None])[..., 0]
        return result

    def force(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> Array:
        """Torques on the independent joints, ``G' tau``.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
            tau: Joint torques, ``(..., nv)``.
        """
        torques = rows_of(tau, "tau", (self.robot.nv,))
        result: Array = (np.swapaxes(self.matrix(q), -1, -2) @ torques[..., None])[..., 0]
        return result

    def acceleration(self, q: npt.ArrayLike, v: npt.ArrayLike, second: npt.ArrayLike) -> Array:
        """All joint accelerations, ``G y'' + g``, at velocities that the loops allow.

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            second: Accelerations of the free degrees of freedom, ``(..., ny)``.
        """
        G, g = self._explicit(q, v)
        result: Array = (G @ self.rates(second, "second")[..., None])[..., 0] + g
        return result

    def coriolis_matrix(self, q: npt.ArrayLike, rate: npt.ArrayLike) -> Array:
        """``C = G' (C_tree G + M dG/dt)``: the Coriolis matrix of the free degrees of freedom, ``(..., ny, ny)``.

        ``C y'`` are the velocity-dependent forces, and ``d/dt(G' M G) - 2 C`` is skew (**clusters** Section XI).

        Args:
            q: Configuration with closed loops, ``(..., nq)``.
            rate: Velocities of the free degrees of freedom, ``(..., ny)``.
        """
        G, v = self.matrix(q), self.velocity(q, rate)
        G_dot = self._explicit.jvp(q, np.zeros(self.robot.nv), v, np.zeros(self.robot.nv))[0]
        of_tree = coriolis_matrix(self.robot, q, v) @ G + mass_matrix(self.robot, q) @ G_dot
        result: Array = np.swapaxes(G, -1, -2) @ of_tree
        return result

    def christoffel_symbols(self, q: npt.ArrayLike) -> Array:
        """Christoffel symbols of the first kind, ``(ny, ny, ny)``: the Coriolis matrix is their product with ``y'``
        along the last axis.

        Args:
            q: Configuration with closed loops, ``(nq,)``.
        """
        return np.moveaxis(self.coriolis_matrix(q, np.eye(self.ny)), 0, -1)

    @converted
    def complete(self, q: npt.ArrayLike, tolerance: float = 1e-13, max_iterations: int = 50) -> Array:
        """The configuration near ``q`` in which loops are closed and the free degrees of freedom are where they were.

        Newton's method on the tied ones, until errors are below ``tolerance`` or as small as rounding lets them be,
        that of the robot's numbers included.
        Loops often close in several configurations (a knee bends forwards or backwards), and far from closed it may
        find another than the one that was meant, without a warning: lead it in small steps, each from the configuration
        before.

        Args:
            q: Configuration near one with closed loops, ``(nq,)``.
            tolerance: Largest error of a row.
            max_iterations: The most iterations.
        """
        at: Array = self.robot.integrate(q, np.zeros(self.robot.nv))
        rows = enabled_rows(self.robot)
        if not rows:
            return at
        before = np.inf
        for _ in range(count(max_iterations, "max_iterations")):
            step, error = self._closing_step(at)
            worst = float(np.abs(error[..., rows]).max(initial=0.0))
            if worst <= tolerance or (worst < ROUNDED and worst >= 0.5 * before):
                return at
            at, before = self.robot.integrate(at, step), worst
        c = max(self.robot.constraints, key=lambda c: float(np.abs(error[..., self.robot.row_slice(c.name)]).max()))
        raise AssemblyError(
            f"robot '{self.robot.name}': {c} stays open by {worst:.3g} with the independent joints where they are",
            constraint=c.name,
            gap=worst,
            q=at,
        )

    def rates(self, x: npt.ArrayLike, name: str) -> Array:
        """``x`` as numbers for the free degrees of freedom.

        Args:
            x: One number for each free degree of freedom, ``(..., ny)``.
            name: Its name in errors.
        """
        values = finite_floats(x, name)
        if values.shape[-1:] != (self.ny,):
            raise InputError(f"{name} has shape {values.shape}, needs (..., {self.ny}): {', '.join(self.names)}")
        return values

    def __repr__(self) -> str:
        return f"Minimal({self.robot.name!r}, {self.ny} of {self.robot.nv}: {', '.join(self.names)})"


def evaluated(
    evaluator: BaseEvaluator, inputs: Sequence[npt.ArrayLike], out: Array | None, verify: Callable[[Array], None]
) -> list[Any]:
    """All outputs but the last, which says how well independent joints determine the others.

    Args:
        evaluator: Whose program is run; its last output begins with the least pivot.
        inputs: All inputs of the program, or all but held ones at the end.
        out: Array to write the first output to; by default a new one.
        verify: Raises an error where the last output says that the others mean nothing.
    """
    if out is None:
        results = evaluator.execution.results(*inputs)
        if results is not None:
            verify(results[-1])
            return list(results[:-1])
    runner = evaluator.runner
    arrays = evaluator.execution.completed(inputs) or inputs
    try:
        *others, last = runner.evaluate(arrays, [out, *[None] * (len(runner.outputs) - 1)])
    except NotFinite:
        raise undetermined(evaluator.robot, state_not_finite(evaluator.runner, arrays)) from None
    verify(last)
    return others


def verify_pivots(evaluator: BaseEvaluator, last: Array) -> None:
    """Raise an error where the last output says that independent joints do not determine the others.

    Args:
        evaluator: Whose program was run.
        last: Its last output, which begins with the least pivot.
    """
    if evaluator.sees_results and (last.ndim > 1 or not last[0] > LEAST_PIVOT):
        check_pivots(evaluator.robot, last[..., 0])


def without_pivots(known: Differentiated) -> Differentiated:
    """Inputs and results of derivatives without the last output, the least pivot.

    Args:
        known: Evaluator with all outputs.
    """
    *names, _ = known.results
    return replace(known, results={name: known.results[name] for name in names})


@differentiable
class _Clustered(BaseEvaluator):
    """A quantity of the explicit form of a robot's constraints: all outputs but the least pivot."""

    def __init__(self, robot: Model, quantity: str) -> None:
        def program() -> Program:
            return Program.of_robot(robot, ALGORITHMS[quantity], clustered(robot, ()))

        super().__init__(robot, quantity, program, {"robot": robot, "quantity": quantity})

    @property
    def differentiated(self) -> Differentiated:
        """All outputs but the least pivot."""
        return without_pivots(super().differentiated)

    def __call__(self, *inputs: npt.ArrayLike) -> list[Any]:
        return evaluated(self, inputs, None, lambda last: verify_pivots(self, last))


def check_pivots(robot: Model, least: Array) -> None:
    """`SingularConstraints` where the free joints do not determine the others."""
    bad = ~(np.asarray(least) > LEAST_PIVOT)
    if bad.any():
        where = "" if bad.ndim == 0 else f" in state {tuple(int(k) for k in np.argwhere(bad)[0])}"
        raise undetermined(robot, where)


def undetermined(robot: Model, where: str) -> SingularConstraints:
    """The error for a dead center of the free joints."""
    free = ", ".join(name for cluster in clusters(robot) for name in cluster.independent)
    return SingularConstraints(
        f"the independent joints of '{robot.name}' ({free}) do not determine the others{where}: the mechanism is at a "
        "dead center of theirs. Choose others with robot.with_independent(...), or a proximal method"
    )
