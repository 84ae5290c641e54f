# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of forward dynamics and impacts as pipelines: the implicit function theorem at a solution.

Each function returns a `Pipeline` that reads the inputs of the evaluator, its solution (``a`` and ``result``, or ``v1``
and ``result``), cotangents ``y_<result>`` and tangents ``d<input>``.

| function | outputs                                                                      |
|----------|------------------------------------------------------------------------------|
| `jvp`    | ``jvp.<result>``: rates of accelerations and forces                          |
| `vjp`    | ``vjp.<input>``: cotangents times the Jacobian, by inputs                    |
| `hvp`    | ``hvp.<input>``: the rate of `vjp` along a tangent, cotangents held          |

Beside them, masks of states: ``unconverged``, whose iterations ended before forces were exact, and of `hvp`
``refused``, which have no second derivative.
"""

# The derivative of a constrained solution ------------------------------------------------------------------------
#
# A solution satisfies F(q, v, ...; a, f) = b, with b = (tau, target) on the right-hand side:
#
#     M a + c - J' f = tau,          J a + k = target
#
# Its derivative by a and f is the matrix of the linear system
#
#     M x - J' w = force,            J x = rows                                                                 (1)
#
# which is symmetric in x and -w. Where rows are independent, that is all:
#
#     jvp     (da, df) solves (1) with (force, rows) = db - dF
#     vjp     (p, w) solves (1) with (y_a, -y_f);    y' d(a, f) = (p, -w)' (db - dF)
#     hvp     (dp, dw) solves (1) with -dK (p, w);   the rate of (p, -w)' (db - dF) along (dq, ..., da, df, dp, dw)
#
# Where rows depend on each other, the solution is that of a pseudoinverse. Of all accelerations the fit: what rows
# miss, e = target - k - J a, has the least e' R^-1 e. Of all forces that do the same to the joints the smallest: f' R f
# is least. The derivative of a pseudoinverse has three terms,
#
#     dA⁺ = -A⁺ dA A⁺ + A⁺ A⁺' dA' (1 - A A⁺) + (1 - A⁺ A) dA' A⁺' A⁺
#
# of which (1) is the first. Let (T rows, X rows) be the solution of (1) without force; by symmetry T' force = -w.
#
# The fit.    h = R^-1 e satisfies J' h = 0 at every state: dJ' h + J' dh = 0. With J' R^-1 e = 0 as the normal
#             equations of the fit, the first term is that of targets which change by u, beside db - dF:
#
#                 u = R T' d(J' h) = -R w,       w of (1) with force = d(J' h), rows = 0
#                 y_a' T u + y_f' X u = c' d(J' h),      c = -T R w,  w of the cotangents
#
#             It vanishes where rows do not contradict each other (e = 0).
#
# The forces. R f is in the range of J: R f = J y with y = T R f, so that R df = J dy + dJ y. The part of df that moves
#             no joint, that of internal forces, is
#
#                 z = R^-1 (1 - J T) d(J y),     y_f' z = (R^-1 (1 - J T) y_f)' d(J y)
#
# d(J' h) and d(J y), h and y held, are one program (`Equations.row_products`), its adjoint another.
#
# Solving (1) exactly. Proximal iterations divide what rows contradict each other by, rounding at least, by R, and w
# gets it: a part of 1e-10 and more of internal forces. Accelerations do not. Both are mended by (1) itself with
# rows = 0: the torques -J' w are balanced by the smallest forces that do what w does, without motion.
#
#     smallest(w)      = w' of  M x - J' w' = -J' w,  J x = 0        takes internal forces off
#     consistent(rows) = R smallest(R^-1 rows)                       its transpose: takes contradictions off
#
# Rounding of x, which cancels, is divided by R here, too. So the system is solved with a softer R first, which leaves
# little of that, and with R for the rest of w, which is little.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from linkwork.compilers.pipeline import Map, Pipeline, When
from linkwork.dynamics.implicit_products import Implicit
from linkwork.dynamics.implicit_steps import Steps, System
from linkwork.dynamics.solution import ResultLayout


def jvp(equations: Implicit, system: System, by: Sequence[str], results: Sequence[str]) -> Pipeline:
    """Rates of accelerations and forces along tangents of inputs.

    Args:
        equations: Equations of the solution.
        system: The linear system of derivatives.
        by: Inputs that have tangents.
        results: Names of accelerations and forces among results.
    """
    outputs = tuple(f"jvp.{name}" for name in results)

    def pipeline(system: System) -> Pipeline:
        to = Steps(system, equations)
        to.call(equations.forward_program(by), "force", "rows")
        rows = "rows"
        if system.redundant:
            to.fit_and_forces(force_rates=True)
            to.call(equations.row_forward_program(by), "torques", "velocities")
            fit = to.inner()
            fit.sum("rows", (1.0, "rows"), ("-R", fit.solution("torques", None)[1]))
            to.when("contradicted", fit, "rows")
        x, w = to.solution("force", rows)
        to.sum(outputs[0], (1.0, x))
        to.sum(outputs[1], (1.0, w), *([(1.0, to.internal("velocities"))] if system.redundant else []))
        return to.pipeline(outputs)

    return _for_open_loops(system, pipeline)


def vjp(equations: Implicit, system: System, by: Sequence[str], results: Sequence[str], forces: bool) -> Pipeline:
    """Cotangents of accelerations and forces times the Jacobian, by inputs.

    Args:
        equations: Equations of the solution.
        system: The linear system of derivatives.
        by: Inputs to differentiate by.
        results: Names of accelerations and forces among results.
        forces: Whether forces have cotangents.
    """
    outputs, moving = tuple(f"vjp.{name}" for name in by), equations.moving(by)
    y, y_forces = (f"y_{name}" for name in results)

    def pipeline(system: System) -> Pipeline:
        to = Steps(system, equations)
        p, w = to.solution(y, to.sum(None, (-1.0, y_forces)) if forces else None, cotangents=True)
        to.duals(p, w)
        gradients = [f"vjp.{name}" for name in moving]
        if moving:
            to.call(equations.reverse_program(by), *gradients)
        if moving and system.redundant:
            to.fit_and_forces(force_rates=forces)
            fit = to.inner()
            fit.sum("c", (-1.0, fit.solved("no force", fit.sum(None, ("R", w)))[0]))
            turned = to if forces else fit
            if forces:
                to.sum("c", (0.0, p))
                to.when("contradicted", fit, "c")
            velocities = to.internal(y_forces) if forces else "no rows"
            more = [f"rows {name}" for name in moving]
            turned.call(equations.row_reverse_program(by), *more, y_torques="c", y_velocities=velocities)
            for name, extra in zip(gradients, more, strict=True):
                turned.sum(name, (1.0, name), (1.0, extra))
            if not forces:
                to.when("contradicted", fit, *gradients)
        to.right_sides("vjp", by, p, w)
        return to.pipeline(outputs)

    return _for_open_loops(system, pipeline)


def hvp(equations: Implicit, system: System, by: Sequence[str], results: Sequence[str], forces: bool) -> Pipeline:
    """The rate of `vjp` along tangents of inputs, cotangents held: three systems with one matrix.

    There is none where rows contradict each other, nor of forces that are not unique: ``refused`` says where.

    Args:
        equations: Equations of the solution.
        system: The linear system of derivatives.
        by: Inputs to differentiate by.
        results: Names of accelerations and forces among results.
        forces: Whether forces have cotangents.
    """
    outputs = tuple(f"hvp.{name}" for name in by)
    y, y_forces = (f"y_{name}" for name in results)
    moving, solution = equations.moving(by), equations.solution

    def pipeline(system: System) -> Pipeline:
        to = Steps(system, equations)
        to.refuse(y_forces if forces else None)
        to.duals(*to.solution(y, to.sum(None, (-1.0, y_forces)) if forces else None, cotangents=True))
        to.call(equations.forward_program(by), "force", "rows")
        for name, rate in zip(solution, to.solution("force", "rows"), strict=True):
            to.sum(f"d{name}", (1.0, rate))
        to.call(equations.second_program(by), *(f"hvp.{name}" for name in moving), "force", "rows")
        p, w = to.solution("force", to.sum(None, (-1.0, "rows")), cotangents=True)
        if moving:
            to.duals(p, w)
            more = [f"more {name}" for name in moving]
            to.call(equations.reverse_program(by), *more)
            for name, extra in zip(moving, more, strict=True):
                to.sum(f"hvp.{name}", (1.0, f"hvp.{name}"), (1.0, extra))
        to.right_sides("hvp", by, p, w)
        return to.pipeline((*outputs, "refused"))

    return _for_open_loops(system, pipeline)


def _for_open_loops(system: System, pipeline: Callable[[System], Pipeline]) -> Pipeline:
    """A pipeline for closed loops, and where open ones move rows that were zero, another for states with these."""
    closed = pipeline(system)
    if not (system.zero != system.zero_open).any():
        return closed
    gap, most = ResultLayout(len(system.zero)).gap, system.closed
    opened = pipeline(system.opened)
    steps = (
        Map("opened", ("result",), lambda _, result: result[..., gap] > most),
        When("opened", opened, opened.outputs),
    )
    return replace(closed, steps=(*closed.steps, *steps))
