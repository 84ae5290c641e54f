# SPDX-License-Identifier: BSD-3-Clause
"""How a quantity is measured: results are compared first, then times, contenders taking turns."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np

from linkwork.errors import ProgramTooLarge
from linkwork_benchmarks.contender import Contender
from linkwork_benchmarks.delassus import dense
from linkwork_benchmarks.peers import pinocchio_q
from linkwork_benchmarks.quantities.pairs import OF_CONFIGURATIONS, PAIRS, POINT, WITHOUT_DATA, Pair, Twin, twin
from linkwork_benchmarks.quantities.scenarios import Timing
from linkwork_benchmarks.robots import ROBOTS, Floats, random_states
from linkwork_benchmarks.runner import Disagreement, Journal, Settings, best_times, measure_by_type, say

FULL = Settings(rounds=40, pass_seconds=0.001, clock=process_time)
QUICK = Settings(rounds=2, pass_seconds=0.0005, clock=process_time)

AGREEMENT = 1e-9
"""Largest difference of two results, relative to the largest number: that of M^-1 is known as far as M's condition
number, below 1e7, allows."""
CALLS = 16
"""States that single calls take in turn."""


def begin() -> Journal:
    """What a run writes to; one thread each."""
    dense.one_thread()
    return Journal()


def inputs(pair: Pair, there: Twin, count: int) -> list[Floats]:
    """Random inputs of a quantity, one a row."""
    q, v, u = random_states(there.robot, count)
    other = random_states(there.robot, count, seed=1).q
    part, point = np.full((count, 1), 0.3), np.tile(POINT, (count, 1, 1))
    known = {"q": q, "v": v, "u": u, "p": other, "t": part, "x": point}
    return [known[letter] for letter in pair.inputs]


def _their_arguments(scenario: Timing, pair: Pair, there: Twin, rows: Sequence[Floats]) -> list[tuple[Any, ...]]:
    """Arguments of Pinocchio's function for each state."""
    columns: list[Any] = []
    for letter, x in zip(pair.inputs, rows, strict=True):
        if letter in "qp":
            columns.append(pinocchio_q(scenario.robot, there.model, x))
        elif letter in "vu":
            moved = np.empty_like(x)
            moved[:, there.order] = x
            columns.append(moved)
        else:
            columns.append(x[:, 0].tolist() if letter == "t" else x)
    first = (there.model,) if scenario.quantity in WITHOUT_DATA else (there.model, there.data)
    return [(*first, *(x[k] for x in columns)) for k in range(len(rows[0]))]


def _difference(scenario: Timing, pair: Pair, there: Twin, found: Any, theirs: Any) -> float:
    """How far results of one state differ, relative to the largest number."""
    expected, ours = np.asarray(pair.read(there, theirs)), np.asarray(pair.compare(found))
    if scenario.quantity in OF_CONFIGURATIONS:  # quaternions have two signs
        import pinocchio as pin

        way = pin.difference(there.model, expected, pinocchio_q(scenario.robot, there.model, ours[None])[0])
        return float(np.abs(way).max())
    return float(np.abs(ours - expected).max() / np.abs(expected).max())


def _timing(scenario: Timing, settings: Settings, journal: Journal) -> None:
    if not ROBOTS[scenario.robot].path.is_file():
        raise FileNotFoundError(ROBOTS[scenario.robot].path)
    pair, there = PAIRS[scenario.quantity], twin(scenario.robot)
    native, call = pair.ours(there), pair.theirs(there)
    batch = inputs(pair, there, max(scenario.batch, CALLS))
    few = [x[:CALLS] for x in batch]
    singles = [tuple(x[k].copy() for x in few) for k in range(CALLS)]
    arguments = _their_arguments(scenario, pair, there, few)
    worst = max(
        _difference(scenario, pair, there, native(*a), call(*b)) for a, b in zip(singles, arguments, strict=True)
    )
    if not worst < AGREEMENT:
        raise Disagreement(f"{scenario.name}: results differ by {worst:.1e}")
    name, metrics = scenario.name, journal.metrics
    metrics[f"{name}.difference"] = worst
    metrics[f"{name}.operations"] = native.operation_count().total

    def unused() -> Floats:
        return few[0]

    def bound(evaluator: Any, arrays: Sequence[Floats]) -> Any:
        results = evaluator(*arrays)
        several = isinstance(results, tuple)
        out = tuple(np.empty_like(x) for x in results) if several else np.empty_like(results)
        return evaluator.bind(*arrays, out=out)

    states = len(batch[0])
    contenders = [
        Contender("pinocchio", call, arguments, CALLS, unused),
        Contender("native", native, singles, CALLS, unused),
        Contender("native_batch", bound(native, batch), [()], states, unused),
    ]
    if scenario.compiled:
        try:
            program = native.compile(threads=1)
        except ProgramTooLarge as error:
            journal.note(f"{name}: not specialized: {error}")
        else:
            contenders += [
                Contender("specialized", program, singles, CALLS, unused),
                Contender("bound", bound(program, singles[0]), [()] * CALLS, CALLS, unused),
                Contender("batch", bound(program, batch), [()], states, unused),
            ]
    for contender, seconds in zip(contenders, best_times(contenders, settings), strict=True):
        metrics[f"{name}.us.{contender.name}"] = seconds * 1e6
        ratio = metrics[f"{name}.us.pinocchio"] / (seconds * 1e6)
        say(f"  {contender.name:<24}{seconds * 1e6:12.3f} µs{ratio:8.2f} x")


measure = measure_by_type({Timing: _timing})
