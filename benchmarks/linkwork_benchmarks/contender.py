# SPDX-License-Identifier: BSD-3-Clause
"""A contender: something that evaluates states, ready to be timed. Ours and every peer's look the same from here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from linkwork import Evaluator, ForwardDynamics, InverseDynamics, Mechanism
from linkwork.quantities.base import BaseEvaluator
from linkwork_benchmarks.robots import Floats, States
from linkwork_benchmarks.scenarios import BATCH, Backend

CALLS = 64
"""States that single calls take in turn."""


@dataclass(frozen=True)
class Contender:
    """``call(*a)`` for each ``a`` of ``arguments`` evaluates ``states`` states.

    ``answer`` gives the results of the first `CALLS` states, in our order, to compare with those of others.
    """

    name: str
    call: Callable[..., object]
    arguments: Sequence[tuple[Any, ...]]
    states: int
    answer: Callable[[], Floats]
    tolerance: float = 1e-12
    """Largest error that is round-off."""


def inputs_of(quantity: str, states: States) -> tuple[Floats, ...]:
    """The arguments that a quantity takes."""
    return (states.q,) if quantity == "mass_matrix" else tuple(states)


def one_by_one(arrays: Sequence[Floats], before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Arguments of single calls: each state in arrays of its own."""
    return [(*before, *(row.copy() for row in rows)) for rows in zip(*arrays, strict=True)]


def ours(backend: Backend, robot: Mechanism, quantity: str, states: States) -> Contender:
    """linkwork, by one backend. Batches take all the states, single calls the first `CALLS`."""
    made = _evaluator(robot, quantity)
    dtype = cast(Any, backend.dtype)
    evaluator = made.compile(dtype=dtype, threads=1) if backend.code == "specialized" else made.native(dtype)
    tolerance = 1e-12 if backend.dtype == "float64" else 1e-4
    few = inputs_of(quantity, states.first(CALLS))

    def answer() -> Floats:
        return _plain(evaluator(*few))

    if backend.call == "single":
        return Contender(backend.name, evaluator, one_by_one(few), CALLS, answer)
    if backend.call == "bound":
        state = tuple(x[0].copy() for x in few)
        out = np.empty_like(_plain(evaluator(*state)))
        return Contender(backend.name, evaluator.bind(*state, out=out), [()] * CALLS, CALLS, answer)
    many = tuple(x.astype(backend.dtype) for x in inputs_of(quantity, states))
    if len(states.q) != BATCH:
        raise ValueError(f"a batch has {BATCH} states, found {len(states.q)}")
    return Contender(backend.name, evaluator, [many], BATCH, lambda: _plain(evaluator(*many))[:CALLS], tolerance)


def _evaluator(robot: Mechanism, quantity: str) -> BaseEvaluator:
    match quantity:
        case "forward_dynamics":
            return ForwardDynamics(robot, threads=1)
        case "inverse_dynamics":
            return InverseDynamics(robot, "rnea", passive=False, threads=1)  # as peers do
    return Evaluator(robot, cast(Any, quantity), threads=1)


def _plain(result: Any) -> Floats:
    """The array in a result."""
    array: Floats = getattr(result, "acceleration", result)
    return array
