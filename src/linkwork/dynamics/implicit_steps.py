# SPDX-License-Identifier: BSD-3-Clause
"""The linear system of derivatives, and the steps of pipelines that solve it exactly: see `implicit` for the equations.

M x - J' w = force,        J x = rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import count
from operator import or_
from typing import Any

import numpy as np

from linkwork.closure.thresholds import ROUNDED
from linkwork.compilers.pipeline import Call, Factor, Map, Part, Pipeline, Step, Sum, When
from linkwork.compilers.program import Program
from linkwork.dynamics.implicit_products import DUALS, HELD, Implicit
from linkwork.dynamics.linear_solve import solve_program
from linkwork.dynamics.rows.dependence import row_dependence, rows_redundant
from linkwork.dynamics.solution import ITERATIONS, PROGRESS, ResultLayout
from linkwork.dynamics.thresholds import (
    CHANGING_FORCES,
    CONTRADICTED,
    CONTRADICTORY,
    EXACT_FORCES,
    INDEPENDENT_AT_POSES,
)
from linkwork.kernels.thresholds import DISABLED
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.scales import scales_of

SOFT = 3e-5
"""Stiffness of the rows, relative to R^-1, that leaves little of rounding."""


@dataclass(frozen=True, eq=False)
class System:
    """The linear system (1) of a robot, and properties of its rows."""

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
            equations: Equations of the solution.
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
            rows.least < INDEPENDENT_AT_POSES,
            rows.idle,
            rows.idle_open,
            ROUNDED * min(1.0, scales_of(robot).length),
            watched,
            iterated,
        )

    @property
    def opened(self) -> System:
        """The system on open loops, where rows that were structurally zero become nonzero and may be dependent."""
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
        arrays = {
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
        constants = {name: x.astype(R.dtype) for name, x in arrays.items()}
        if self.watched:  # of numbers whose squares single precision does not have
            constants["of changes"] = of_forces / np.where(counted, R, 1.0) ** 2
        return constants

    @property
    def _nv(self) -> int:
        return int(self.solve.tree.nv)


# Steps -----------------------------------------------------------------------------------------------------------


class Steps:
    """Steps of a pipeline that is being written; a method returns the names of its results."""

    def __init__(self, system: System, equations: Implicit, outer: Steps | None = None) -> None:
        self.system, self.equations = system, equations
        self.steps: list[Step] = []
        self.masks: list[str] = []
        self.numbers: Iterator[int] = count() if outer is None else outer.numbers
        """Prefix that makes names unique, those of inner steps too."""
        self.layout = ResultLayout(len(system.zero))
        if outer is None:
            forces = self.equations.solution[1]
            raw = self.part("result", self.layout.multipliers)
            self.sum(forces, self._factor(raw))
            if system.redundant:
                self.smallest(raw, forces)
            if system.watched and system.iterated:
                self.watch("result", raw if system.redundant else None, forces)

    def inner(self) -> Steps:
        """Steps of a `When`."""
        return Steps(self.system, self.equations, self)

    def name(self, word: str) -> str:
        """A name that no array has yet."""
        return f"{word} {next(self.numbers)}"

    def pipeline(self, outputs: Sequence[str]) -> Pipeline:
        """The pipeline, with the states that are not exact among its outputs."""
        if self.system.watched:
            self.steps.append(Map("unconverged", tuple(self.masks), lambda _, *masks: reduce(or_, masks)))
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
        self.steps.append(Map(output, arrays, test))

    def when(self, mask: str, inner: Steps, *outputs: str, expected: bool = True) -> None:
        """Other values in the states of a mask."""
        self.steps.append(When(mask, Pipeline(tuple(inner.steps), outputs), outputs, expected))

    def duals(self, p: str, w: str) -> None:
        """Names of residual programs by their multipliers."""
        for name, x in zip(DUALS.values(), (p, w), strict=True):
            self.sum(name, (1.0, x))

    def right_sides(self, kind: str, by: Sequence[str], p: str, w: str) -> None:
        """Products by torques and targets, where they are requested."""
        for name, term in {"tau": (1.0, p), "target": (-1.0, w)}.items():
            if name in by:
                self.sum(f"{kind}.{name}", term)

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
        arrays = result, force, "mobility", "row inertia", *([] if rows is None else [rows])
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

    def watch(self, result: str, w: str | None, unique: str) -> None:
        """Note states whose iterations ended before forces were exact.

        Args:
            result: Result of the iterations.
            w: Forces as they left them; None where no internal forces are taken off.
            unique: Forces without internal forces.
        """
        mask, exact = self.name("unconverged"), max(EXACT_FORCES, 10 * self.system.tolerance)
        test = _Unconverged(self.layout, exact, self.system.tolerance, int(self.system.settings[1]))
        self.mask(mask, test, result, unique, "of forces", "of changes", *([] if w is None else [w]))
        self.masks.append(mask)

    def nonzero(self, rows: str) -> str:
        """Numbers of rows, zero where no joint moves a row."""
        return self.sum(None, self._factor(rows)) if self.system.zero.any() else rows

    def _factor(self, rows: str) -> tuple[Factor, str]:
        return ("nonzero" if self.system.zero.any() else 1.0), rows

    def smallest(self, w: str, to: str | None = None) -> str:
        """The smallest forces with the joint torques of others."""
        soft = self.balanced(w, "soft")
        stiff = self.balanced(self.sum(None, (1.0, w), (-1.0, soft)), "stiff")
        return self.sum(to, self._factor(soft), self._factor(stiff))

    def balanced(self, w: str, R: str) -> str:
        """Forces with the joint torques of others, by one solution."""
        torques, forces = self.name("torques"), self.equations.solution[1]
        inputs = {f"d{forces}": self.sum(None, (-1.0, w))}
        self.steps.append(Call(self.system.transpose, (torques, self.name("rows")), inputs))
        return self.part(self.solved(torques, "no rows", R=R)[1], self.layout.multipliers)

    def consistent(self, rows: str) -> str:
        """Right-hand sides of rows without their contradiction."""
        return self.sum(None, ("R", self.smallest(self.sum(None, ("1/R", rows)))))

    def internal(self, rows: str) -> str:
        """``R^-1 (1 - J T) rows``."""
        apart = self.sum(None, (1.0, rows), (-1.0, self.consistent(rows)))
        return self.sum(None, ("nonzero/R", apart))

    # Where rows depend on each other -------------------------------------------------------------------------------

    def contradicted(self) -> str:
        """States whose rows contradict each other; residuals of rows."""
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
    return (x * x).dot(weights) if xp is np else xp.matmul(x * x, weights)


@dataclass(frozen=True)
class _Contradictory:
    """Whether rows miss more of the right-hand sides than rounding."""

    layout: ResultLayout

    def __call__(self, xp: Any, result: Any, force: Any, mobility: Any, row_inertia: Any, rows: Any = None) -> Any:
        scale = _norm(xp, force, mobility) + (0.0 if rows is None else _norm(xp, rows, row_inertia))
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
    iterations: int

    @cached_property
    def _most(self) -> Array:
        """By the number of iterations, the square of the part of themselves by which the last may change forces."""
        k = np.maximum(np.arange(self.iterations + 1), 2)
        return np.asarray(self.exact ** (2.0 * (k - 1) / k))

    def __call__(self, xp: Any, result: Any, unique: Any, of_forces: Any, of_changes: Any, w: Any = None) -> Any:
        size, change = _norm(xp, unique, of_forces), _norm(xp, result[..., self.layout.residuals], of_changes)
        if xp is np:  # most often none is: found out in less time
            most = self._most[result[..., ITERATIONS].astype(np.intp)]
            uncertain = (change > most * size) | (result[..., PROGRESS] > self.tolerance)
            if not uncertain.any():
                return uncertain
        if w is not None:
            change = xp.clip(xp.sqrt(change) - xp.sqrt(_norm(xp, w - unique, of_forces)), 0.0, None) ** 2
        k = xp.clip(result[..., ITERATIONS], 2.0, None)
        most = self.exact ** (2.0 * (k - 1.0) / k)
        ended = (change > most * size) & (change < CHANGING_FORCES**2 * size)
        return ended | (result[..., PROGRESS] > self.tolerance)
