# SPDX-License-Identifier: BSD-3-Clause
"""linkwork's evaluators as contenders, by every backend.

| backend          | what is timed                                                      |
|--------------|--------------------------------------------------------------------|
| native       | ``evaluator(...)``, a state a call, arguments checked              |
| native_bound | the same code through ``bind``: what is computed, and little else  |
| specialized  | ``evaluator.compile()(...)``                                       |
| bound        | that program through ``bind``                                      |
| batch        | that program, `BATCH` states a call on one thread                  |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.quantities.base import BaseEvaluator
from linkwork_benchmarks.contender import Contender, one_by_one
from linkwork_benchmarks.robots import Floats
from linkwork_benchmarks.scenarios import BATCH

NATIVE = ("native", "native_bound")
SPECIALIZED = ("specialized", "bound", "batch")
BACKENDS = (*NATIVE, *SPECIALIZED)

Pick = Callable[[Any], Floats]
"""Takes what is compared out of a result."""

AGREES = 1e-6
"""What exact methods may differ by, of the largest number of a state."""


def contenders(
    name: str, evaluator: BaseEvaluator, inputs: Sequence[Floats], pick: Pick, backend: str
) -> list[Contender]:
    """An evaluator by the backends of its code, ``"native"`` or ``"specialized"``; states are rows of inputs."""
    states = one_by_one(inputs)

    def answer() -> Floats:
        return np.array([pick(evaluator(*state)) for state in states])

    single = Contender(f"{name}.{backend}", evaluator, states, len(states), answer, AGREES)
    bound = bind(evaluator, states[0])
    named = "native_bound" if backend == "native" else "bound"
    found = [single, Contender(f"{name}.{named}", bound, [()] * len(states), len(states), answer, AGREES)]
    if backend == "native":
        return found
    repeated = np.arange(BATCH) % len(states)
    many = tuple(np.ascontiguousarray(x[repeated]) for x in inputs)

    def first() -> Floats:
        return pick(evaluator(*many))[: len(states)]

    return [*found, Contender(f"{name}.batch", evaluator, [many], BATCH, first, AGREES)]


def bind(evaluator: BaseEvaluator, state: Sequence[Floats]) -> Callable[[], None]:
    """A call without arguments, on one state."""
    out = [np.empty(shape) for shape in evaluator.program.output_shapes()]
    return evaluator.bind(*state, out=out[0] if len(out) == 1 else out)


def first_of(result: Any) -> Floats:
    """The first array of a result, or that in it."""
    found: Floats = result[0] if isinstance(result, tuple) else result
    return found


def acceleration_of(solution: lw.results.Solution) -> Floats:
    """What forward dynamics is asked for."""
    return solution.acceleration
