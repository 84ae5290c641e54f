# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of forward dynamics and impacts as pipelines: the implicit function theorem at a solution.

Each function returns a `Pipeline` that reads the inputs of the evaluator, its solution (``a`` and ``result``, or ``v1``
and ``result``), cotangents ``y_<result>`` and tangents ``d<input>``.

| function | outputs                                                                      |
|----------|------------------------------------------------------------------------------|
| `jvp`    | ``jvp.<result>``: rates of accelerations and forces                          |
| `vjp`    | ``vjp.<input>``: cotangents times the Jacobian, by inputs                    |
| `hvp`    | ``hvp.<input>``: the rate of `vjp` along a tangent, cotangents held          |

Beside them, masks of states: ``unconverged``, whose iterations ended before forces were exact, and of `hvp` ``refused``,
which have no second derivative.
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
# Solving (1) exactly. Proximal iterations divide what rows contradict each other by, rounding at least, by R, and w gets
# it: a part of 1e-10 and more of internal forces. Accelerations do not. Both are mended by (1) itself with rows = 0:
# the torques -J' w are balanced by the smallest forces that do what w does, without motion.
#
#     smallest(w)      = w' of  M x - J' w' = -J' w,  J x = 0        takes internal forces off
#     consistent(rows) = R smallest(R^-1 rows)                       its transpose: takes contradictions off
#
# Rounding of x, which cancels, is divided by R here, too. So the system is solved with a softer R first, which leaves
# little of that, and with R for the rest of w, which is little.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np

from linkwork.closure.tolerances import ROUNDED
from linkwork.compilers.pipeline import Call, Factor, Mask, Part, Pipeline, Step, Sum, When
from linkwork.compilers.program import Program
from linkwork.dynamics.implicit_products import DUALS, HELD, Implicit
from linkwork.dynamics.linear_solve import solve_program
from linkwork.dynamics.rows.dependence import INDEPENDENT, row_dependence, rows_redundant
from linkwork.dynamics.solution import ITERATIONS, PROGRESS, ResultLayout
from linkwork.kernels.constrained.problem import DISABLED
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.scales import scales_of

SOFT = 3e-5
"""Stiffness of the rows, relative to R^-1, that leaves little of rounding."""
CONTRADICTORY = 1e-6
"""What rows may miss of right-hand sides, as a part of all of these: rounding errors that ``w`` makes of more count."""
CONTRADICTED = 1e-11
"""What rows of a solution may miss without contradicting each other, as a part of what accelerations and forces do:
iterations end at less."""
EXACT = 3e-12
"""What iterations may leave of the error of forces, relative to these."""
STAGNATION = 1e-3
"""Forces that change by more than this part of themselves in the last iteration are those of rows that contradict each
other: iterations ended as nothing else changed."""


@dataclass(frozen=True, eq=False)
class System:
    """The linear system (1) of a robot, and what is known of its rows."""

    solve: Program
    """Solves it (`linear_solve`)."""
    transpose: Program
    """``J' w``: the tangent of the residual along forces."""
    regularization: Array
    """R of each row, ``(nc,)``."""
    settings: Array
    """Settings of the iterations (`kernels.constrained`)."""
    tolerance: float
    """The relative residual above which a state is unconverged."""
    redundant: bool
    """Whether rows depend on each other at all configurations."""
    dependent: bool
    """Whether they may do so at some."""
    zero: Array
    """Rows that no joint moves on closed loops, ``(nc,)``."""
    zero_open: Array
    """Rows that no joint moves on open loops either."""
    closed: float
    """Loops that are open by less than this, in m or rad, count as closed where ``zero_open`` differs."""
    watched: bool
    """Whether states are found out whose iterations ended before forces were exact."""
    iterated: bool
    """Whether the solution itself is one of these iterations."""

    @classmethod
    def of_robot(
        cls,
        robot: Model,
        equations: Implicit,
        source: Program,
        regularization: Array,
        settings: Array,
        tolerance: float,
        watched: bool,
        iterated: bool,
    ) -> System:
        """The system of a robot.

        Args:
            robot: The mechanism.
            equations: What a solution satisfies.
            source: Forward dynamics, whose program solves linear systems.
            regularization: As `System.regularization`.
            settings: As `System.settings`.
            tolerance: As `System.tolerance`.
            watched: As `System.watched`.
            iterated: As `System.iterated`.
        """
        rows = row_dependence(robot)
        return cls(
            solve_program(source),
            equations.forward_program(equations.solution[1:]),
            regularization,
            settings,
            tolerance,
            rows_redundant(robot),
            rows.least < INDEPENDENT,
            rows.idle,
            rows.idle_open,
            ROUNDED * min(1.0, scales_of(robot).length),
            watched,
            iterated,
        )

    @property
    def opened(self) -> System:
        """The same on open loops, where rows that were zero are not, and depend on others."""
        return replace(self, redundant=True, zero=self.zero_open)

    @cached_property
    def constants(self) -> dict[str, Array]:
        """Rows of constants, by name."""
        R, nc = self.regularization, len(self.regularization)
        rows = len(self.settings) - nc
        enabled, moved = R < DISABLED, ~self.zero
        mobility, row_inertia = self.settings[-self._nv - nc : rows], self.settings[rows:]
        counted = (row_inertia > 0) & moved
        inverse = np.where(enabled, 1.0 / np.where(enabled, R, 1.0), 0.0)
        of_forces = np.where(counted, 1.0 / np.where(counted, row_inertia, 1.0), 0.0)
        made = {
            "stiff": R,
            "soft": R / SOFT,
            "settings of systems": self.settings,
            "R": np.where(enabled, R, 0.0),
            "-R": np.where(enabled, -R, 0.0),
            "1/R": inverse,
            "nonzero": moved,
            "nonzero/R": moved * inverse,
            "mobility": mobility,
            "inertia": 1.0 / mobility,
            "row inertia": row_inertia,
            "row mobility": 1.0 / np.where(row_inertia > 0, row_inertia, 1.0),
            "of forces": of_forces,
            "no rows": np.zeros(nc),
            "no force": np.zeros(self._nv),
        }
        constants = {name: x.astype(R.dtype) for name, x in made.items()}
        if self.watched:  # of numbers whose squares single precision does not have
            constants["of changes"] = of_forces / np.where(counted, R, 1.0) ** 2
        return constants

    @property
    def _nv(self) -> int:
        return int(self.solve.tree.nv)


# Products --------------------------------------------------------------------------------------------------------


def jvp(equations: Implicit, system: System, by: Sequence[str], results: Sequence[str]) -> Pipeline:
    """Rates of accelerations and forces along tangents of inputs.

    Args:
        equations: What a solution satisfies.
        system: The linear system of derivatives.
        by: Inputs that have tangents.
        results: Names of accelerations and forces among results.
    """
    outputs = tuple(f"jvp.{name}" for name in results)

    def pipeline(system: System) -> Pipeline:
        to = _Steps(system, equations)
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
        equations: What a solution satisfies.
        system: The linear system of derivatives.
        by: Inputs to differentiate by.
        results: Names of accelerations and forces among results.
        forces: Whether forces have cotangents.
    """
    outputs, moving = tuple(f"vjp.{name}" for name in by), equations.moving(by)
    y, y_forces = (f"y_{name}" for name in results)

    def pipeline(system: System) -> Pipeline:
        to = _Steps(system, equations)
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
        to.sum("vjp.tau", (1.0, p))
        to.sum("vjp.target", (-1.0, w))
        return to.pipeline(outputs)

    return _for_open_loops(system, pipeline)


def hvp(equations: Implicit, system: System, by: Sequence[str], results: Sequence[str], forces: bool) -> Pipeline:
    """The rate of `vjp` along tangents of inputs, cotangents held: three systems with one matrix.

    There is none where rows contradict each other, nor of forces that are not unique: ``refused`` says where.

    Args:
        equations: What a solution satisfies.
        system: The linear system of derivatives.
        by: Inputs to differentiate by.
        results: Names of accelerations and forces among results.
        forces: Whether forces have cotangents.
    """
    outputs = tuple(f"hvp.{name}" for name in by)
    y, y_forces = (f"y_{name}" for name in results)
    moving, solution = equations.moving(by), equations.solution

    def pipeline(system: System) -> Pipeline:
        to = _Steps(system, equations)
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
        to.sum("hvp.tau", (1.0, p))
        to.sum("hvp.target", (-1.0, w))
        return to.pipeline((*outputs, "refused"))

    return _for_open_loops(system, pipeline)


def _for_open_loops(system: System, pipeline: Callable[[System], Pipeline]) -> Pipeline:
    """A pipeline for closed loops, and where rows are redundant on open ones alone, another for states with these."""
    closed = pipeline(system)
    if system.redundant or not (system.zero != system.zero_open).any():
        return closed
    gap, most = ResultLayout(len(system.zero)).gap, system.closed
    opened = pipeline(system.opened)
    steps = (
        Mask("opened", ("result",), lambda _, result: result[..., gap] > most),
        When("opened", opened, opened.outputs),
    )
    return replace(closed, steps=(*closed.steps, *steps))


# Steps -----------------------------------------------------------------------------------------------------------


class _Steps:
    """Steps of a pipeline that is being written; a method returns the names of what it computes."""

    def __init__(self, system: System, equations: Implicit, outer: _Steps | None = None) -> None:
        self.system, self.equations = system, equations
        self.steps: list[Step] = []
        self.masks: list[str] = []
        self._names = {"count": 0} if outer is None else outer._names
        self.layout = ResultLayout(len(system.zero))
        if outer is None:
            forces = self.equations.solution[1]
            raw = self.part("result", self.layout.multipliers)
            self.sum(forces, self._factor(raw))
            if system.redundant:
                self.smallest(raw, forces)
            if system.watched and system.iterated:
                self.watch("result", raw, forces)

    def inner(self) -> _Steps:
        """Steps of a `When`."""
        return _Steps(self.system, self.equations, self)

    def name(self, word: str) -> str:
        """A name that no array has yet."""
        self._names["count"] += 1
        return f"{word} {self._names['count']}"

    def pipeline(self, outputs: Sequence[str]) -> Pipeline:
        """The pipeline, with the states that are not exact among its outputs."""
        if self.system.watched:
            self.steps.append(Mask("unconverged", tuple(self.masks), lambda _, *masks: reduce(or_, masks)))
            outputs = (*outputs, "unconverged")
        return Pipeline(tuple(self.steps), tuple(outputs), self.system.constants)

    def call(self, program: Program, *outputs: str, **inputs: str) -> None:
        """Outputs of a program."""
        self.steps.append(Call(program, outputs, inputs))

    def sum(self, to: str | None, *terms: tuple[Factor, str]) -> str:
        """A sum of arrays with factors."""
        output = self.name("sum") if to is None else to
        self.steps.append(Sum(output, terms))
        return output

    def part(self, array: str, at: slice) -> str:
        """A part of an array."""
        output = self.name("part")
        self.steps.append(Part(output, array, at))
        return output

    def mask(self, output: str, test: Callable[..., Any], *arrays: str) -> None:
        """Which states satisfy a condition."""
        self.steps.append(Mask(output, arrays, test))

    def when(self, mask: str, inner: _Steps, *outputs: str, expected: bool = True) -> None:
        """Other values in the states of a mask."""
        self.steps.append(When(mask, Pipeline(tuple(inner.steps), outputs), outputs, expected))

    def duals(self, p: str, w: str) -> None:
        """Names of residual programs for what they are multiplied with."""
        for name, x in zip(DUALS.values(), (p, w), strict=True):
            self.sum(name, (1.0, x))

    # The linear system ---------------------------------------------------------------------------------------------

    def solved(self, force: str, rows: str, to: tuple[str, str] | None = None, R: str = "stiff") -> tuple[str, str]:
        """``x`` and the result of the linear system as iterations leave it."""
        outputs = (self.name("x"), self.name("result")) if to is None else to
        inputs = {"force": force, "rows": rows, "regularization": R, "settings": "settings of systems"}
        self.steps.append(Call(self.system.solve, outputs, inputs))
        return outputs

    def solution(self, force: str, rows: str | None, cotangents: bool = False) -> tuple[str, str]:
        """``x`` and the smallest ``w``.

        Args:
            force: Right-hand sides.
            rows: Right-hand sides of rows; None: zero.
            cotangents: Whether rows are any numbers: those that are redundant contradict each other, then.
        """
        redundant = self.system.redundant
        if rows is not None:
            rows = self.consistent(rows) if cotangents and redundant else self.nonzero(rows)
        x, result = self.solved(force, rows or "no rows")
        contradictory = self.name("contradictory")
        arrays = result, force, rows or "no rows", "mobility", "row inertia"
        self.mask(contradictory, _Contradictory(self.layout), *arrays)
        expected = self.system.dependent
        if rows is not None:
            fitted = self.inner()
            fitted.solved(force, fitted.consistent(rows), (x, result))
            self.when(contradictory, fitted, x, result, expected=expected)
        w = self.part(result, self.layout.multipliers)
        unique = self.smallest(w) if redundant else self.sum(None, self._factor(w))
        if not redundant:
            without = self.inner()
            without.smallest(w, unique)
            self.when(contradictory, without, unique, expected=expected)
        if self.system.watched:
            self.watch(result, w, unique)
        return x, unique

    def watch(self, result: str, w: str, unique: str) -> None:
        """Note states whose iterations ended before forces were exact."""
        mask, exact = self.name("unconverged"), max(EXACT, 10 * self.system.tolerance)
        test = _Unconverged(self.layout, exact, self.system.tolerance)
        self.mask(mask, test, result, w, unique, "of forces", "of changes")
        self.masks.append(mask)

    def nonzero(self, rows: str) -> str:
        """Numbers of rows, zero where no joint moves a row."""
        return self.sum(None, self._factor(rows)) if self.system.zero.any() else rows

    def _factor(self, rows: str) -> tuple[Factor, str]:
        return ("nonzero" if self.system.zero.any() else 1.0), rows

    def smallest(self, w: str, to: str | None = None) -> str:
        """The smallest forces that do to joints what others do."""
        soft = self.balanced(w, "soft")
        stiff = self.balanced(self.sum(None, (1.0, w), (-1.0, soft)), "stiff")
        return self.sum(to, self._factor(soft), self._factor(stiff))

    def balanced(self, w: str, R: str) -> str:
        """Forces that do to joints what others do, as one solution has them."""
        torques, forces = self.name("torques"), self.equations.solution[1]
        inputs = {f"d{forces}": self.sum(None, (-1.0, w))}
        self.steps.append(Call(self.system.transpose, (torques, self.name("rows")), inputs))
        return self.part(self.solved(torques, "no rows", R=R)[1], self.layout.multipliers)

    def consistent(self, rows: str) -> str:
        """Right-hand sides of rows without what they contradict each other by."""
        return self.sum(None, ("R", self.smallest(self.sum(None, ("1/R", rows)))))

    def internal(self, rows: str) -> str:
        """``R^-1 (1 - J T) rows``."""
        apart = self.sum(None, (1.0, rows), (-1.0, self.consistent(rows)))
        return self.sum(None, ("nonzero/R", apart))

    # Where rows depend on each other -------------------------------------------------------------------------------

    def contradicted(self) -> str:
        """Which states have rows that contradict each other; what rows miss."""
        missed = self.part("result", self.layout.residuals)
        part = max(CONTRADICTED, 10 * self.system.tolerance)
        arrays = missed, *self.equations.solution, "row inertia", "inertia", "row mobility"
        self.mask("contradicted", _Contradicted(part), *arrays)
        return missed

    def fit_and_forces(self, force_rates: bool) -> None:
        """``h``, where rows contradict each other, and ``y``, where forces are differentiated."""
        h, y = HELD
        missed, (a, forces) = self.contradicted(), self.equations.solution
        self.sum(h, (0.0, missed))
        fit = self.inner()
        fit.sum(h, ("1/R", missed))
        self.when("contradicted", fit, h)
        x = self.solved("no force", self.sum(None, ("R", forces)))[0] if force_rates else self.sum(None, (0.0, a))
        self.sum(y, (1.0, x))

    def refuse(self, y_forces: str | None) -> None:
        """Which states have no second derivative: rows contradict each other, or forces that are not unique count."""
        if not self.system.redundant:
            self.mask("refused", lambda _, result: result[..., PROGRESS] < 0.0, "result")
            return
        self.contradicted()
        if y_forces is None:
            self.mask("refused", lambda _, mask: mask, "contradicted")
        else:
            self.mask("refused", lambda xp, mask, y: mask | xp.any(y != 0.0, -1), "contradicted", y_forces)


# Conditions ------------------------------------------------------------------------------------------------------


def _norm(xp: Any, x: Any, weights: Any) -> Any:
    """The sum of weighted squares, of each state."""
    return xp.matmul(x * x, weights)


@dataclass(frozen=True)
class _Contradictory:
    """Whether rows miss more of the right-hand sides than rounding."""

    layout: ResultLayout

    def __call__(self, xp: Any, result: Any, force: Any, rows: Any, mobility: Any, row_inertia: Any) -> Any:
        scale = _norm(xp, force, mobility) + _norm(xp, rows, row_inertia)
        return _norm(xp, result[..., self.layout.residuals], row_inertia) > CONTRADICTORY**2 * scale


@dataclass(frozen=True)
class _Contradicted:
    """Whether rows of a solution miss more than iterations leave."""

    part: float

    def __call__(self, xp: Any, missed: Any, a: Any, f: Any, row_inertia: Any, inertia: Any, row_mobility: Any) -> Any:
        scale = _norm(xp, a, inertia) + _norm(xp, f, row_mobility)
        return _norm(xp, missed, row_inertia) > self.part**2 * scale


@dataclass(frozen=True)
class _Unconverged:
    """Whether iterations ended before forces were exact.

    The last of k iterations changed forces by a part t of themselves, each by rho of the change before. With ``t =
    rho^(k-1)``, what is left is ``rho t = t^(k/(k-1))``: an error that a residual of rows does not show where these are
    nearly dependent. Changes of internal forces, which are taken off, do not count.
    """

    layout: ResultLayout
    exact: float
    tolerance: float

    def __call__(self, xp: Any, result: Any, w: Any, unique: Any, of_forces: Any, of_changes: Any) -> Any:
        size = _norm(xp, unique, of_forces)
        change = xp.sqrt(_norm(xp, result[..., self.layout.residuals], of_changes))
        change = xp.clip(change - xp.sqrt(_norm(xp, w - unique, of_forces)), 0.0, None) ** 2
        k = xp.clip(result[..., ITERATIONS], 2.0, None)
        most = self.exact ** (2.0 * (k - 1.0) / k)
        ended = (change > most * size) & (change < STAGNATION**2 * size)
        return ended | (result[..., PROGRESS] > self.tolerance)
