# SPDX-License-Identifier: BSD-3-Clause
"""Forward dynamics with another plan than the method's: where rows are dependent, or their regularization differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from linkwork.dynamics import forward_checks as checks
from linkwork.dynamics.methods import METHODS
from linkwork.dynamics.solution import PROGRESS
from linkwork.plans.lcaba import any_regularization, has_closed_forms, shares_penalties
from linkwork.quantities.arguments import Array

if TYPE_CHECKING:
    from linkwork.dynamics.forward import ForwardDynamics


def fallback(fd: ForwardDynamics) -> ForwardDynamics | None:
    """A copy with the plan `Method.fallback`, native where this one is compiled; None where both plans are equal."""
    plan = METHODS[fd.method].fallback if fd.hard else None
    if plan is None:
        return None
    program, backend = fd.parameter_inputs.program(fd.program_of(plan)), fd.execution.backend
    if program.plan_bytes() == fd.program.plan_bytes():
        return None
    other = fd.on(replace(backend, name="plain" if backend.name == "plain" else "native"), program)
    other.kept["fallback"] = None
    return other


def for_regularization(fd: ForwardDynamics, R: Array | None) -> ForwardDynamics:
    """The evaluator, or one for rows of a pair whose regularization differs, or is not known beforehand (None)."""
    if not has_closed_forms(fd.program.algorithm.layout):
        return fd
    if R is not None and (R.shape[-1:] != (fd.robot.nc,) or shares_penalties(fd.program.tree, R)):
        return fd
    if "any regularization" not in fd.kept:
        program = replace(fd.program, tree=any_regularization(fd.program.tree))
        other = fd.kept["any regularization"] = fd.on(fd.execution.backend, program)
        other.kept["any regularization"] = other
    general: ForwardDynamics = fd.kept["any regularization"]
    return general


def verification(fd: ForwardDynamics, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
    """The verification of a bound call of a hard method (`BaseEvaluator.bind`), by its fallback plan."""
    by, other = fd.solved_by, fd.fallback
    if not fd.hard or (not alone and other is None):
        return None

    def verify(arrays: Sequence[Array]) -> bool:
        result = arrays[-1]
        accepted = result.ndim == 1 and by.least < result[PROGRESS] <= by.most
        if accepted or fd.rows_suffice(by, result):
            return False
        assert other is not None
        other.runner.evaluate(arrays[:-2], arrays[-2:])
        if alone:
            checks.check_rows(fd.robot, fd.method, result)
        return True

    return verify
