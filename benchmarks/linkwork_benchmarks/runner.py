# SPDX-License-Identifier: BSD-3-Clause
"""The runner: checks that contenders agree, then times them in turn, in one process, and keeps the best of k rounds."""

from __future__ import annotations

import gc
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np

import linkwork as lw
from linkwork_benchmarks import startup
from linkwork_benchmarks.contender import CALLS, Contender, one_by_one, ours
from linkwork_benchmarks.peers import Unable, contender
from linkwork_benchmarks.robots import ROBOTS, Floats, load, random_states
from linkwork_benchmarks.scenarios import BATCH, REFERENCE, Chains, Operations, Scenario, Startup, Threads, Timing

Metrics = dict[str, float]


class Settings(NamedTuple):
    """How long to measure."""

    rounds: int = 40
    """Rounds of which the best counts."""
    pass_seconds: float = 0.004
    """A contender's turn in a round lasts about this long."""
    sustained_seconds: float = 1.0
    """How long a thread count is kept up before the other has its turn."""
    processes: int = 3
    """Warm processes of which the best counts."""
    clock: Callable[[], float] = perf_counter
    """What seconds are read from: for contenders on one thread, `process_time` does not count what other processes
    take."""


QUICK = Settings(rounds=10, pass_seconds=0.001, sustained_seconds=0.2, processes=1)


class Disagreement(Exception):
    """Two contenders give different answers: nothing is timed."""


def say(message: str) -> None:
    """Progress, to standard error; nothing where ``LINKWORK_QUIET`` is set."""
    if not os.environ.get("LINKWORK_QUIET"):
        print(message, file=sys.stderr, flush=True)


@dataclass
class Journal:
    """What was found: numbers and words by dotted names, and notes for people to read."""

    metrics: Metrics = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep a note, and show it."""
        say(f"  note: {text}")
        self.notes.append(text)


def measure(scenario: Scenario, settings: Settings, journal: Journal) -> None:
    """Measure one scenario; a missing model file is a note."""
    robot = getattr(scenario, "robot", None)
    if robot is not None and not ROBOTS[robot].path.is_file():
        journal.note(f"{scenario.name}: not measured: no file {ROBOTS[robot].path}")
    else:
        journal.metrics |= _measured(scenario, settings)


Measure = Callable[[Any, Settings, Any], None]
"""``(scenario, settings, journal)``: a study may keep a journal of its own."""


def measure_by_type(measures: Mapping[type, Measure]) -> Measure:
    """A function that measures one scenario by the function of its type; a missing model file is a note."""

    def measure(scenario: Any, settings: Settings, journal: Any) -> None:
        try:
            measures[type(scenario)](scenario, settings, journal)
        except FileNotFoundError as missing:
            journal.note(f"{scenario.name}: not measured: {missing}")

    return measure


def _measured(scenario: Scenario, settings: Settings) -> Metrics:
    match scenario:
        case Timing():
            return _timing(scenario, settings)
        case Operations():
            return _operations(scenario)
        case Startup():
            return startup.measure(scenario.robot, settings.processes)
        case Threads():
            return _threads(scenario, settings)
        case Chains():
            return _chains(scenario, settings)


# Timing -------------------------------------------------------------------------------------------


def best_times(contenders: Sequence[Contender], settings: Settings) -> list[float]:
    """Seconds per state of each contender: the best of all rounds, contenders taking turns in each round."""
    turns = [list(c.arguments) * _repeats(c, settings) for c in contenders]
    best = [math.inf] * len(contenders)
    gc.disable()
    try:
        for _ in range(settings.rounds):
            for k, (c, turn) in enumerate(zip(contenders, turns, strict=True)):
                best[k] = min(best[k], _pass(c, turn, settings.clock) * len(c.arguments) / len(turn))
    finally:
        gc.enable()
    return [seconds / c.states for seconds, c in zip(best, contenders, strict=True)]


def _pass(c: Contender, turn: Sequence[tuple[Floats, ...]], clock: Callable[[], float]) -> float:
    call = c.call
    start = clock()
    for a in turn:
        call(*a)
    return clock() - start


def _repeats(c: Contender, settings: Settings) -> int:
    _pass(c, c.arguments, settings.clock)  # warm
    return max(1, round(settings.pass_seconds / max(_pass(c, c.arguments, settings.clock), 1e-9)))


def worst_difference(answer: Floats, reference: Floats) -> float:
    """The largest difference of any state, relative to the largest number of that state."""
    axes = tuple(range(1, reference.ndim))
    return float((np.abs(answer - reference).max(axes) / np.abs(reference).max(axes)).max())


def worst_torque(answer: Floats, reference: Floats, M: Floats) -> float:
    """The torque that a difference of accelerations is worth, relative to the torques in play.

    M of a robot with tiny end links is so ill-conditioned (iCub: 7e11) that any two algorithms differ in the
    acceleration, while each solves the equation of motion to round-off. This is the backward error of ``M a = b``.
    """
    torque = np.abs(np.einsum("kij,kj->ki", M, answer - reference)).max(axis=1)
    return float((torque / np.einsum("kij,kj->ki", np.abs(M), np.abs(reference)).max(axis=1)).max())


def agreement(contenders: Sequence[Contender], M: Floats | None = None) -> dict[str, float]:
    """Errors against the first contender; raises `Disagreement` where one is beyond its tolerance.

    With mass matrices the answers are accelerations, and errors the torques that they are worth.
    """
    reference = contenders[0].answer()
    errors = {}
    for c in contenders[1:]:
        answer = c.answer().astype(np.float64)
        errors[c.name] = worst_difference(answer, reference) if M is None else worst_torque(answer, reference, M)
        if not errors[c.name] < c.tolerance:
            raise Disagreement(f"{c.name} differs from {contenders[0].name} by {errors[c.name]:.1e}")
    return errors


def _timing(scenario: Timing, settings: Settings) -> Metrics:
    robot, quantity = scenario.robot, scenario.quantity
    states = random_states(load(robot), BATCH)
    contenders = []
    for peer in scenario.peers:
        try:
            contenders.append(contender(peer, robot, quantity, states))
        except Unable as reason:
            say(f"  without {peer}: {reason}")
    contenders += [ours(backend, load(robot), quantity, states) for backend in scenario.backends]
    forward = quantity == "forward_dynamics"
    errors = agreement(contenders, lw.mass_matrix(load(robot), states.q[:CALLS]) if forward else None)
    times = {c.name: t * 1e6 for c, t in zip(contenders, best_times(contenders, settings), strict=True)}
    found: Metrics = {f"{scenario.name}.dof": load(robot).nv}
    for name, us in times.items():
        found[f"{scenario.name}.{name}.us"] = us
        if name in errors:
            found[f"{scenario.name}.{name}.error"] = errors[name]
        if name != REFERENCE and REFERENCE in times:
            found[f"{scenario.name}.{name}.ratio"] = times[REFERENCE] / us
        say(f"  {name:<42}{us:9.3f} µs" + (f"{times[REFERENCE] / us:8.2f} x" if REFERENCE in times else ""))
    return found


# Without a peer -----------------------------------------------------------------------------------


def _operations(scenario: Operations) -> Metrics:
    found: Metrics = {}
    for quantity in scenario.quantities:
        count = lw.operation_count(lw.Evaluator(load(scenario.robot), cast(Any, quantity)))
        found[f"{scenario.robot}.{quantity}.operations"] = count.total
        say(f"  {quantity:<42}{count.total:9d} operations")
    return found


def _threads(scenario: Threads, settings: Settings) -> Metrics:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores < 2:
        say("  skipped: this process may use one core only")
        return {}
    fd = lw.ForwardDynamics(load(scenario.robot))
    states = random_states(fd.robot, scenario.states)
    one, two = (fd.compile(threads=n) for n in (1, 2))
    out = np.empty((scenario.states, fd.robot.nv))

    def rate(evaluator: lw.ForwardDynamics) -> float:
        evaluator(*states, out=out)  # warm
        start, calls = perf_counter(), 0
        while perf_counter() - start < settings.sustained_seconds:
            evaluator(*states, out=out)
            calls += 1
        return calls * scenario.states / (perf_counter() - start)

    rates = np.array([(rate(one), rate(two)) for _ in range(4)])
    speedup = float(rates[:, 1].sum() / rates[:, 0].sum())
    say(f"  two threads, {scenario.states} states{speedup:28.2f} x one")
    return {f"{scenario.name}.batch{scenario.states}.speedup": speedup}


def _chains(scenario: Chains, settings: Settings) -> Metrics:
    found: Metrics = {}
    solvers = {n: lw.ForwardDynamics(lw.zoo.serial_chain(n), threads=1) for n in scenario.links}
    contenders = [_chain(f"chain{n}.forward_dynamics.native", fd) for n, fd in solvers.items()]
    for n in scenario.specialized:
        found[f"chain{n}.forward_dynamics.operations"] = lw.operation_count(solvers[n]).total
        contenders.append(_chain(f"chain{n}.forward_dynamics.specialized", solvers[n].compile(threads=1)))
    for n in scenario.refused:
        start = perf_counter()
        try:
            solvers[n].compile()
            found[f"chain{n}.forward_dynamics.refused"] = 0.0
        except lw.errors.ProgramTooLarge as error:
            found[f"chain{n}.forward_dynamics.refused"] = 1.0
            say(f"  chain{n} refused after {perf_counter() - start:.2f} s: {error}")
    for c, seconds in zip(contenders, best_times(contenders, settings), strict=True):
        links = int(c.name.split(".")[0].removeprefix("chain"))
        found[f"{c.name}.single.us"] = seconds * 1e6
        found[f"{c.name}.single.us_per_link"] = seconds * 1e6 / links
        say(f"  {c.name:<42}{seconds * 1e6:9.3f} µs{seconds * 1e6 / links:8.4f} µs a link")
    return found


def _chain(name: str, fd: lw.ForwardDynamics) -> Contender:
    states = random_states(fd.robot, CALLS)
    return Contender(name, fd, one_by_one(tuple(states)), CALLS, lambda: fd(*states).acceleration)
