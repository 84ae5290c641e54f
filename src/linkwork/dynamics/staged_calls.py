# SPDX-License-Identifier: BSD-3-Clause
"""Calls of products in stages: of batches, of few states, and of states whose iterations leave doubt.

Of few states of a small robot whole Jacobians take less time than several programs. Where rows are nearly dependent,
iterations end before forces are exact; such states are noted on the way (`linear_system.Weights.doubtful`) and computed
again, with more iterations or by Jacobians.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkwork.dynamics.iterations import MAX_ITERATIONS
from linkwork.dynamics.linear_system import Doubts, LinearSystem
from linkwork.dynamics.methods import METHODS
from linkwork.dynamics.rows.dependence import rows_redundant
from linkwork.dynamics.solution import ResultLayout
from linkwork.dynamics.stages import DOUBTS, LAST, MISSED, OPENED, Stages, listed
from linkwork.model.constraints import CenterOfMass
from linkwork.quantities.arguments import Array

MANY_NUMBERS = 8_000
"""Numbers in Jacobians that take about as long as what happens between stages, of one state; in lanes, the states of a
register take `SLOWER_IN_LANES` times as long as one."""
LANES, SLOWER_IN_LANES = 8, 3
ONE_AXIS = ("acceleration", "forces", "target", "dq", "dv", "dtau", "dtarget")
"""Arguments by name that have one axis: vectors."""
CLOSED = 1e-12
"""What loops may be open by, in m or rad, where redundant rows are those of closed ones."""


class StagedCalls(Stages):
    """A product in stages that can be called.

    Args:
        evaluator: What is differentiated: forward dynamics or impacts.
        by: Names of the inputs to differentiate by.
    """

    def __call__(
        self, *arrays: npt.ArrayLike, out: Any = None, solution: Any = None, **given: npt.ArrayLike | None
    ) -> Any:
        """Evaluate. Leading axes of all arguments are batch axes and broadcast.

        Args:
            arrays: Inputs of the evaluator, then seeds of results or directions of inputs, as the class says.
            out: Array to write the result to, or a tuple of as many as there are results; by default new ones.
            solution: What the evaluator returned for these inputs, where it is at hand.
            given: By name: inputs that need not be given (``wrenches``, ``target``), seeds of further results
                (``forces``), and directions of such inputs (``dwrenches``, ``dtarget``).
        """
        if not self._sees_results:
            self._check_gpu(self._dtype.name)
        if self._few(arrays, given, out):
            return self._of_few(arrays, given, out)
        if self._too_large() is not None:
            return self._by_jacobians(arrays, given, out)
        typed = self._for_type_of([*arrays, *given.values(), *(() if out is None else listed(out))])
        return self._packed(self._written(typed._results(arrays, given, solution), out))

    def _results(self, arrays: Sequence[Any], given: Mapping[str, Any], solution: Any = None) -> list[Array]:
        """Results of all stages, each a new array."""
        inputs = self._by_name(arrays, given)
        inputs |= {name: self._checked(name, inputs[name]) for name in self._zeros}
        if solution is None:
            solution = self._function(*(inputs[name] for name in self._known.given), **self._options(given))
        first, forces = self.evaluator.solved(solution)
        inputs |= zip(self.implicit.solution, (first, np.ascontiguousarray(forces)), strict=True)
        inputs[DOUBTS] = doubts = self._first_doubts()
        inputs[OPENED] = self._opened(solution._result)
        inputs[self.implicit.solution[1]] = self._unique(inputs, solution._result, self._system(inputs))
        inputs[MISSED] = solution._result[..., ResultLayout(self.robot.nc).residuals]
        results = self._evaluated(inputs)
        if doubts is None or not any_doubt(doubts):
            return results
        return self._mended(results, doubts, arrays, given, solution._result)

    def _few(self, arrays: Sequence[Any], given: Mapping[str, Any], out: Any) -> bool:
        """Whether states are so few that Jacobians take less time than several calls."""
        if self._alike is None:
            fd = self.evaluator
            known = self._has_jacobians and self.solver is fd and not rows_redundant(self.robot)
            self._alike = known and not (fd.strict or METHODS[fd.method].closed or fd.backend == "plain")
        if not self._alike or self._numbers > MANY_NUMBERS or any(name not in ONE_AXIS for name in given):
            return False
        leads = {np.shape(x)[:-1] for x in (*arrays, *given.values())}
        if leads != {()}:
            try:
                states = math.prod(np.broadcast_shapes(*leads))
            except ValueError:
                return False
            if states > 1 and self._numbers * (1 + (states - 1) // LANES) > MANY_NUMBERS // SLOWER_IN_LANES:
                return False
        return self._for_type_of([*arrays, *given.values(), *(() if out is None else listed(out))]) is self

    @property
    def _numbers(self) -> int:
        """How many numbers Jacobians have."""
        nv, nc = self.robot.nv, self.robot.nc
        return (nv + nc) * (3 * nv + nc)

    def _of_few(self, arrays: Sequence[Any], given: Mapping[str, Any], out: Any) -> Any:
        """The product of few states, by Jacobians."""
        found = self._by_jacobians(arrays, given, out)
        holder: Any = self._holder
        if holder._unchecked:
            holder._check_state(arrays[0], arrays[1], found[0])
        return found

    def _make_held(self) -> None:
        if not self._has_held:
            self._prepare_inputs()
            self._has_held = True

    @property
    def _jacobians(self) -> Any:
        if self._native_jacobians is None:
            fd = self.evaluator  # no straight-line program is made for a few states
            alike = fd._on(replace(fd._backend, name="native")) if fd.backend == "specialized" else fd
            self._native_jacobians = alike.derivatives
        return self._native_jacobians

    @property
    def _function(self) -> Any:
        """The function, whose iterations end later: derivatives are taken at its solution."""
        if self._exact_function is None:
            holder: Any = self._holder
            iterates = self.solver is self.evaluator
            self._exact_function = holder._with_settings(self._ending_later) if iterates else holder
        return self._exact_function

    def _first_doubts(self) -> Doubts | None:
        """What is known of all states before anything is computed; None where nothing can be done about it."""
        if self._dtype != np.float64 or self.solver.max_iterations < MAX_ITERATIONS:  # fewer where time counts
            return None
        return [np.array(self._loses_digits)] if self.ending > LAST or self._has_jacobians else None

    @property
    def _loses_digits(self) -> bool:
        """Whether rows hold several bodies at once: in `prox_bbo` they end at one, and rounding is divided by R."""
        held = any(c.enabled and isinstance(c, CenterOfMass) for c in self.robot.constraints)
        return held and self._has_jacobians and self.solver.method == "prox_bbo"

    @property
    def _iterating_on(self) -> Self:
        """The same whose iterations end at `LAST` of the tolerance."""
        if self._with_more_iterations is None:
            other = self._on(self._backend)
            other.projects, other.ending = self.projects, LAST
            other._prepare_inputs()
            other._runner, other._output_shapes = self.runner, self.runner.outputs
            other._solve_runner, other._transpose_runner = self._solve_runner, self._transpose_runner
            other._row_runner = self._row_runner
            self._with_more_iterations = other
        return self._with_more_iterations

    def _unique(self, inputs: Mapping[str, Any], result: Array, system: LinearSystem) -> Any:
        """Forces of the function without what cancels; states are noted of which iterations left too much."""
        forces, doubts = inputs[self.implicit.solution[1]], inputs[DOUBTS]
        unique = system.unique(forces)
        if doubts is not None and self.solver is self.evaluator:
            doubts.append(self._weights.doubtful(result, unique, system.redundant))
        return unique

    def _mended(
        self, results: Sequence[Array], doubts: Doubts, arrays: Sequence[Any], given: Mapping[str, Any], solved: Array
    ) -> list[Array]:
        """Results, with those of doubtful states computed again: with more iterations, or by Jacobians.

        Of large robots Jacobians take long, and where redundant rows are open they find other rows to be dependent.

        Args:
            results: Results of the stages, written to.
            doubts: Of which states they are not exact.
            arrays: As given to a call.
            given: As given to a call.
            solved: What the function left (`ResultLayout`).
        """
        closed = not self._may_depend or solved[..., ResultLayout(self.robot.nc).gap].max() < CLOSED
        small = self._has_jacobians and closed and self._numbers <= MANY_NUMBERS
        by_jacobians = small or self._loses_digits or self.ending == LAST
        again = self._products_by_jacobians if by_jacobians else self._iterating_on._results
        lead = results[0].shape[:-1]
        doubtful = np.zeros(lead, bool)
        for doubt in doubts:
            doubtful |= doubt
        if doubtful.all():
            return again(arrays, given)
        source = self.evaluator.differentiated_program
        inner = {name: len(shape) for name, shape in source.algorithm.inputs.items()}

        def chosen(x: Any, axes: int = 1) -> Array:
            array = np.asarray(x)
            return np.broadcast_to(array, (*lead, *array.shape[array.ndim - axes :]))[doubtful]

        named = {name: chosen(x, inner.get(name, 1)) for name, x in given.items() if x is not None}
        made = again([chosen(x) for x in arrays], named)
        for x, part in zip(results, made, strict=True):
            x[doubtful] = part
        return list(results)


def any_doubt(doubts: Doubts) -> bool:
    """Whether there is doubt about a state.

    Args:
        doubts: Of which states results are not exact.
    """
    return any(doubt.any() for doubt in doubts)
