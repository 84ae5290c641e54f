# SPDX-License-Identifier: BSD-3-Clause
"""linkwork's operators as contenders.

| backend         | what is timed                                                                 |
|-------------|-------------------------------------------------------------------------------|
| native      | ``Delassus(robot).product`` or ``.inverse`` through `bind`, a state a call      |
| specialized | that of ``Delassus(robot).compile()``                                           |
| batch       | that program, many states a call on one thread                                |
| further     | an existing operator on another vector: ``at(q).bind(f, out)`` and its kin |
| columns     | an existing operator on a matrix, ``op @ X``: a column's share                 |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.dynamics.delassus import Delassus
from linkwork.dynamics.delassus.batches import settings
from linkwork.quantities.base import BaseEvaluator
from linkwork_benchmarks.contender import Contender
from linkwork_benchmarks.delassus.scenarios import DAMPING, NEW
from linkwork_benchmarks.robots import Floats
from linkwork_benchmarks.scenarios import BATCH
from linkwork_benchmarks.scenes import ASSEMBLED

AGREES = 1e-6
"""What answers may differ by, of their largest number."""

MANY_ROWS = 200
FEW = 256
"""States of a batch where there are many rows."""
COLUMNS = 64
"""Columns of a matrix."""


def contender(name: str, call: Callable[[], object], answer: Callable[[], Floats]) -> Contender:
    """A call without arguments."""
    return Contender(name, call, [()], 1, answer, AGREES)


@dataclass(frozen=True)
class Bench:
    """A robot in contact in its assembled pose, vectors on its rows, and what dense algebra makes of them."""

    robot: lw.Mechanism

    @cached_property
    def family(self) -> Delassus:
        """Its operators."""
        return Delassus(self.robot, threads=1)

    @cached_property
    def q(self) -> Floats:
        """The pose."""
        found: Floats = self.robot.poses[ASSEMBLED].copy()
        return found

    @cached_property
    def forces(self) -> Floats:
        """Random ones."""
        return np.random.default_rng(0).normal(size=self.robot.nc)

    @cached_property
    def accelerations(self) -> Floats:
        """Of rows under random accelerations of joints: redundant rows agree on them."""
        found: Floats = self._jacobian @ np.random.default_rng(1).normal(size=self.robot.nv)
        return found

    @cached_property
    def _jacobian(self) -> Floats:
        found: Floats = lw.Evaluator(self.robot, "constraint_jacobian")(self.q)
        return found

    @cached_property
    def matrix(self) -> Floats:
        """``J M^-1 J'``."""
        J, M = self._jacobian, lw.mass_matrix(self.robot, self.q)
        found: Floats = J @ np.linalg.solve(M, J.T)
        return 0.5 * (found + found.T)

    def inverse(self, damping: float = DAMPING) -> Floats:
        """The damped inverse on the accelerations."""
        damped = self.matrix + damping * np.eye(self.robot.nc)
        return np.asarray(np.linalg.solve(damped, self.accelerations), dtype=np.float64)

    # First applications

    def inputs(self, quantity: str, damping: float = DAMPING) -> tuple[Floats, ...]:
        """Of ``product`` or ``inverse``."""
        if quantity == "product":
            return self.q, self.forces, np.zeros(self.robot.nv)
        return self.q, np.full(self.robot.nc, damping), self.accelerations, settings(True)

    def first(self, name: str, evaluator: BaseEvaluator, inputs: tuple[Floats, ...]) -> Contender:
        """A state a call."""
        out = [np.empty(shape) for shape in evaluator.program.output_shapes()]
        step = evaluator.bind(*inputs, out=out)

        def answer() -> Floats:
            step()
            return out[1].copy()

        return contender(name, step, answer)

    def batch(self, name: str, evaluator: BaseEvaluator, inputs: tuple[Floats, ...]) -> Contender:
        """Many states a call: copies of the pose."""
        states = BATCH if self.robot.nc < MANY_ROWS else FEW
        many = [np.tile(x, (states, 1)) for x in inputs]
        out = [np.empty((states, *shape)) for shape in evaluator.program.output_shapes()]
        step = evaluator.bind(*many, out=out)

        def answer() -> Floats:
            step()
            last: Floats = out[1][-1].copy()
            return last

        return Contender(name, step, [()], states, answer, AGREES)

    def passes(self, damping: float) -> float:
        """How often the inverse sweeps until it is right."""
        progress = self.family.inverse.runner.evaluate(list(self.inputs("inverse", damping)), [None] * 3)[2]
        return float(progress[1])

    # Further applications

    def further(self) -> dict[str, tuple[Contender, Floats]]:
        """Further applications of an operator, with the expected results."""
        operator = self.family.at(self.q)
        inverse = operator.damped_inverse(DAMPING)
        f, a, R = self.forces, self.accelerations, np.full(self.robot.nc, NEW)
        out = [np.empty(self.robot.nc) for _ in range(3)]
        steps = {
            "product": (operator.bind(f, out[0]), out[0], self.matrix @ f),
            "inverse": (inverse.bind(a, out[1]), out[1], self.inverse()),
            "damping": (operator.bind_damped_inverse(R, a, out[2]), out[2], self.inverse(NEW)),
        }
        found = {name: (_further(name, step, y), wanted) for name, (step, y, wanted) in steps.items()}
        plain = contender("further.plain", lambda: operator @ f, lambda: np.asarray(operator @ f))
        found |= {"plain": (plain, self.matrix @ f)}
        for name, op, x, wanted in (
            ("columns.product", operator, f, self.matrix @ f),
            ("columns.inverse", inverse, a, self.inverse()),
        ):
            found[name] = (_columns(name, op, x), wanted)
        return found


def _further(name: str, step: Callable[[], None], out: Floats) -> Contender:
    def answer() -> Floats:
        step()
        return out.copy()

    return contender(f"further.{name}", step, answer)


def _columns(name: str, operator: Any, x: Floats) -> Contender:
    """An operator on the columns of a matrix, all of them one vector; a column's share."""
    X = np.tile(x[:, None], (1, COLUMNS))

    def answer() -> Floats:
        last: Floats = (operator @ X)[:, -1].copy()
        return last

    return Contender(name, lambda: operator @ X, [()], COLUMNS, answer, AGREES)


def bound(name: str, evaluator: BaseEvaluator, inputs: tuple[Floats, ...], pick: int = 0) -> Contender:
    """An evaluator on one state; the answer is one of its outputs."""
    out = [np.empty(shape) for shape in evaluator.program.output_shapes()]
    step = evaluator.bind(*inputs, out=out[0] if len(out) == 1 else out)

    def answer() -> Floats:
        step()
        return out[pick].copy()

    return contender(name, step, answer)
