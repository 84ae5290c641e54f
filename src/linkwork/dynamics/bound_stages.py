# SPDX-License-Identifier: BSD-3-Clause
"""Bound calls of products in stages: arrays that every call reads and writes, for control loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from linkwork.compilers.program import Program
from linkwork.compilers.run import check_out
from linkwork.dynamics.linear_system import LinearSystem
from linkwork.dynamics.rows.dependence import rows_redundant
from linkwork.dynamics.solution import HEAD
from linkwork.dynamics.staged_calls import MANY_NUMBERS, StagedCalls, any_doubt
from linkwork.dynamics.stages import DOUBTS
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.kernels.algorithm import resolve
from linkwork.quantities.arguments import Array, bound_call

BOUND = 4
"""How many times less time happens between stages in bound calls."""


class BoundStages(StagedCalls):
    """A product in stages that can be bound to arrays.

    Args:
        evaluator: What is differentiated: forward dynamics or impacts.
        by: Names of the inputs to differentiate by.
    """

    def bind(self, *inputs: Array, out: Any, **given: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``: for control loops.

        Args:
            inputs: Arrays as for a call, that every call reads as they then are.
            out: Array that every call writes, or a tuple of as many as there are results.
            given: Arrays by name, as for a call.
        """
        if rows_redundant(self.robot):

            def call() -> None:
                self(*inputs, out=out, **given)

            return call
        outputs, known = self._given_out(out), self._known
        named = self._by_name(inputs, given)
        source = self.evaluator.differentiated_program
        at, lead = self._batch_axes(named, source)
        for (name, shape), array in zip(self._result_shapes(source).items(), outputs, strict=True):
            check_out(name, array, (*lead, *shape), self._dtype)
        if not lead and self._few(inputs, given, None) and BOUND * self._numbers <= MANY_NUMBERS:
            return self._bound_jacobians(inputs, given, outputs)
        shapes = dict(zip(source.algorithm.outputs, source.output_shapes(), strict=True))
        first, result = (np.empty((*at, *shape), self._dtype) for shape in shapes.values())
        state = [named[name] for name in (*known.given, *(name for name in known.optional if name == "wrenches"))]
        options = self._options(given)
        if "target" in options:
            raise UnsupportedFeature(f"{self.quantity} is bound without targets: call it")
        parameters = {name: x for name, x in options.items() if name != "wrenches"}
        steps = [self._function.bind(*state, out=(first, result), **parameters)]
        forces = np.empty((*at, self.robot.nc), self._dtype)
        named[DOUBTS] = doubts = self._first_doubts()
        steps.append(lambda: np.copyto(forces, result[..., HEAD : HEAD + self.robot.nc]))
        named |= zip(self.implicit.solution, (first, forces), strict=True)
        system = self._bound_system(named, at, np.empty((*at, self.robot.nv), self._dtype))
        steps.append(lambda: np.copyto(forces, self._unique(named, result, system)))
        steps += self._bound(named, outputs, lead)

        def run() -> None:
            if doubts is not None:
                del doubts[1:]
            steps[0]()
            if self._opened(result):
                self(*inputs, out=out, **given)
                return
            for step in steps[1:]:
                step()
            if doubts is not None and any_doubt(doubts):
                for x, found in zip(outputs, self._mended(outputs, doubts, inputs, given, result), strict=True):
                    x[...] = found

        return run

    def _bound_jacobians(
        self, arrays: Sequence[Array], given: Mapping[str, Array], outputs: Sequence[Array]
    ) -> Callable[[], None]:
        """A bound call of one state, by Jacobians."""
        made = self._jacobians
        blocks = [np.empty(shape, self._dtype) for shape in made.runner.outputs]
        step = made.bind(*arrays[: len(self._known.given)], out=blocks)
        further = self._further(arrays, given)
        named = self._blocks(made.record(*blocks), further)

        def run() -> None:
            step()
            found = self._multiplied(named, {name: self._checked(name, x) for name, x in further.items()})
            for x, part in zip(outputs, found, strict=True):
                x[...] = part

        return run

    def _batch_axes(self, named: Mapping[str, Any], source: Program) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Batch axes of the inputs of the function, and of these with seeds and directions."""
        shapes = {name: resolve(shape, source.tree) for name, shape in source.algorithm.inputs.items()}
        state = [np.shape(named[name])[: np.ndim(named[name]) - len(shape)] for name, shape in shapes.items()]
        further = [np.shape(self._shaped(name, named[name]))[: -zero.ndim] for name, zero in self._zeros.items()]
        try:
            return np.broadcast_shapes(*state), np.broadcast_shapes(*state, *further)
        except ValueError:
            each = ", ".join(str(axes) for axes in dict.fromkeys([*state, *further]) if axes)
            raise InputError(f"bind: batch axes do not broadcast: {each}") from None

    def _bound(self, named: dict[str, Any], out: Sequence[Array], lead: tuple[int, ...]) -> list[Callable[[], None]]:
        """Bound stages after the function."""
        raise NotImplementedError

    def _bound_system(self, inputs: Mapping[str, Any], lead: tuple[int, ...], x: Array) -> LinearSystem:
        """The linear system, bound: it writes ``x``."""
        nv, nc, dtype = self.robot.nv, self.robot.nc, self._dtype
        force, rows = np.empty((*lead, nv), dtype), np.empty((*lead, nc), dtype)
        result = np.empty((*lead, *self.solve_runner.outputs[1]), dtype)
        call = bound_call(self.solve_runner, [*self._of_system(inputs, force, rows), x, result])

        def solve(f: Any, r: Any) -> tuple[Array, Array]:
            force[...], rows[...] = f, r
            call()
            return x, result

        held, none = np.empty((*lead, nc), dtype), np.zeros((*lead, nc), dtype)
        torques, still, found = np.empty_like(force), np.empty_like(force), np.empty_like(result)

        @cache  # made where they are needed: of redundant rows
        def calls(stiffness: float) -> tuple[Callable[[], None], Callable[[], None]]:
            transpose = [*self._of_transpose(inputs, held), torques, np.empty_like(rows)]
            system = [*self._of_system(inputs, torques, none, stiffness), still, found]
            return bound_call(self.transpose_runner, transpose), bound_call(self.solve_runner, system)

        def balance(w: Any, stiffness: float) -> Array:
            np.negative(w, out=held)
            for step in calls(stiffness):
                step()
            return found[..., HEAD : HEAD + nc].copy()

        return LinearSystem(solve, balance, self._weights, self.redundant, self._moved, inputs[DOUBTS])
