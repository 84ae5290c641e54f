# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of forward dynamics: the program of each product, by method.

| methods                                               | products                                            |
|-------------------------------------------------------|-----------------------------------------------------|
| `aba`, `ltl`, `pv`                                    | implicit, one program (`implicit_products`)          |
| those that iterate, `pv_early`, `kkt`                 | implicit, several programs (`implicit_computation`)   |
| `cluster`, `projection`, `approximate`, `pv_soft`     | sweeps over the program itself                      |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwork.compilers.trace.tracing import Trace
from linkwork.dynamics.implicit_products import Implicit, composed
from linkwork.dynamics.methods import METHODS
from linkwork.dynamics.solution import ResultLayout
from linkwork.quantities.differentiable import Differentiated

if TYPE_CHECKING:
    from linkwork.dynamics.forward import ForwardDynamics
    from linkwork.quantities.products import Kind


def differentiated(fd: ForwardDynamics) -> Differentiated:
    """Inputs and results of derivatives of forward dynamics: accelerations and constraint forces."""
    optional = ("wrenches",) * bool(fd.frames) + ("target",) * fd.bound
    results = {"acceleration": ("a", slice(None))}
    if fd.bound:
        results["forces"] = ("result", ResultLayout(fd.robot.nc).multipliers)
    return Differentiated(("q", "v", "tau"), (*optional, *fd.parameters), results)


def implicit(fd: ForwardDynamics) -> Implicit:
    """The equations that accelerations and constraint forces satisfy."""
    if fd.in_stages:
        program = fd.linear_solver.unparametrized_program
    else:
        fallback = METHODS[fd.method].fallback
        program = fd.unparametrized_program if fallback is None else fd.program_of(fallback)
    return Implicit.of_forward_dynamics(program, fd.parameter_inputs.program)


def linear_solver(fd: ForwardDynamics) -> ForwardDynamics:
    """Forward dynamics whose program solves the linear system of derivatives: by its own method, if that iterates."""
    method = METHODS[fd.method]
    if method.iterates and not method.falls_back:
        return fd
    enabled = any(c.enabled for c in fd.robot.constraints)
    return type(fd)(
        fd.robot,
        "auto" if enabled else "prox_ltl",  # of rows that are all disabled, "auto" takes none
        regularization=fd.solver.regularization,
        wrenches=fd.frames,
        parameters=fd.parameter_inputs.recipe,  # type: ignore[arg-type]
    )


def composed_trace(fd: ForwardDynamics, kind: Kind, by: Sequence[str], limit: int) -> Trace:
    """The straight-line program of an implicit product."""
    return composed(fd.differentiated_program, fd.implicit, fd.differentiated, kind, by, limit)
