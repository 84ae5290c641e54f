# SPDX-License-Identifier: BSD-3-Clause
"""Assembly: configurations in which the loops of a mechanism are closed.

This is the function behind `Mechanism.assemble`; `evaluators.Assembly` is the same to hold on to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from linkwork.closure.assembly_problem import AssemblySolution, Problem, Search
from linkwork.closure.loop_rounding import loop_rounding, loops_close
from linkwork.conversions import texts, truth
from linkwork.model.computed import computed_once
from linkwork.model.model import Model


def assemble(
    robot: Model,
    q: npt.ArrayLike | None = None,
    fixed: Sequence[str] = (),
    *,
    tolerance: float | None = None,
    max_iterations: int = 200,
    attempts: int = 20,
    seed: int = 0,
    limits: bool = True,
) -> AssemblySolution:
    """Configurations near ``q``, ``(..., nq)``, at which every enabled constraint is satisfied to ``tolerance``.

    Damped Gauss-Newton on the joints' manifolds with a line search, in compiled code: each step is the least motion
    that closes the loops to first order. Leading axes are batch axes: each state is closed as it would be alone, up to
    rounding.

    Args:
        robot: The mechanism.
        q: Where to start, ``(..., nq)``; neutral, if nothing is given. Closed configurations are returned unchanged.
        fixed: Names of joints that stay where they are.
        tolerance: Errors below it are closed loops, in rad or m: those of rows that turn or of rows that slide, which
            are measured by the larger of one and the robot's length, and of the others as much less. Unless it is
            given, 1e-13 of these; then, as numbers in files are rounded, loops that do not close but come near
            (`ROUNDED`) are taken as closed there, with a `ModelWarning`.
        max_iterations: Of each attempt.
        attempts: Where one gets stuck, the next starts from ``q`` moved at random, farther each time.
        seed: Of these random moves.
        limits: Whether to keep the limits of joints whose coordinates are plain numbers.

    Raises:
        AssemblyError: Where loops stay open after all attempts. It names the constraint that is farthest from closed
            and, unless there was to be one attempt only, says which loops cannot be closed even alone; in a batch it
            names the states, and the others are kept in it.
    """
    search = Search(tolerance, max_iterations, attempts, seed)
    return problem_of(robot, fixed, limits).solve(robot.neutral() if q is None else q, search)


def problem_of(robot: Model, fixed: str | Sequence[str], limits: bool) -> Problem:
    """The loops of a robot as equations in its free joints, made once for the constraints that are enabled."""
    names = (fixed,) if isinstance(fixed, str) else fixed
    if type(names) is not tuple or names:
        names = texts(names, "fixed")
    bounded = limits if isinstance(limits, bool) else truth(limits, "limits")
    return _problem_of(robot, tuple([c.enabled for c in robot.constraints]), names, bounded)


@computed_once
def _problem_of(robot: Model, enabled: tuple[bool, ...], fixed: tuple[str, ...], limits: bool) -> Problem:
    return Problem(robot, fixed, limits, _rounding_of)


def _rounding_of(robot: Model) -> float:
    """`loop_rounding` of a robot whose loops close nowhere; otherwise there is none."""
    return 0.0 if loops_close(robot) else loop_rounding(robot)
