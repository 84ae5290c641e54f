# SPDX-License-Identifier: BSD-3-Clause
"""Times of one model: each backend of linkwork, beside Pinocchio and MuJoCo where these take the model.

Answers are compared first; then all take turns, in one process, and the best of many rounds counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

import linkwork as lw
from linkwork.dynamics.iterations import EXPECTED
from linkwork.dynamics.methods import METHODS
from linkwork_benchmarks.constrained import mujoco, pinocchio
from linkwork_benchmarks.constrained.agreement import worst_difference
from linkwork_benchmarks.constrained.ours import NEVER, in_the_papers_units
from linkwork_benchmarks.constrained.scenarios import REGULARIZATION
from linkwork_benchmarks.constrained.states import closed_states
from linkwork_benchmarks.contender import Contender, one_by_one
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States
from linkwork_benchmarks.runner import Settings, best_times, say
from linkwork_benchmarks.scenarios import BATCH
from linkwork_benchmarks.scenes import ASSEMBLED

FULL = Settings(rounds=20, pass_seconds=0.004)
QUICK = Settings(rounds=3, pass_seconds=0.0005)

STATES = 16
AGREES = 1e-6
"""Errors beyond this, relative to the largest number of a state, are no round-off: they are said in a note."""
NO_NUMBER = 1e300
"""The error of what is no number: JSON has none."""
OF_PINOCCHIO = {"inverse_dynamics": "rnea", "mass_matrix": "crba"}

Evaluate = Callable[..., Any]


@dataclass(frozen=True)
class Time:
    """How long one evaluation takes."""

    quantity: str
    by: str
    """A method of linkwork, or a library and its function."""
    backend: str
    """``native``, ``specialized``, ``bound``, ``batch``; of another library ``call``."""
    us: float
    """Microseconds for a state."""
    error: float
    """Against what is right, relative to the largest number of a state."""


@dataclass
class Times:
    """What was measured of a model."""

    times: list[Time] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    iterations: int = EXPECTED
    """Of methods that iterate, ours and others'."""
    rounds: int = FULL.rounds

    def note(self, text: str) -> None:
        """Keep a note, and show it; once."""
        if text in self.notes:
            return
        say(f"  note: {text}")
        self.notes.append(text)

    def peer(self, quantity: str) -> float | None:
        """The best time of another library for a quantity, if there is one."""
        return min((t.us for t in self.times if t.quantity == quantity and t.backend == "call"), default=None)


@dataclass(frozen=True)
class Entry:
    """A contender, as it will be listed, and what it is to answer."""

    by: str
    backend: str
    contender: Contender
    wanted: Floats


def measure(
    robot: lw.Mechanism, q: Floats, mjcf: Path | None = None, methods: Sequence[str] = (), quick: bool = False
) -> Times:
    """Times of forward dynamics by ``methods`` (default: what ``auto`` takes), inverse dynamics, mass matrix.

    States are random ones near ``q``, with loops closed. ``mjcf`` is the model's file where MuJoCo can read it.
    """
    settings = QUICK if quick else FULL
    found = Times(rounds=settings.rounds)
    states = closed_states(replace(robot, poses={ASSEMBLED: q}), STATES)
    twin = _twin("Pinocchio", lambda: pinocchio.twin(robot), found)
    tree_twin = twin
    if twin is None and robot.constraints:
        tree_twin = _twin("Pinocchio", lambda: pinocchio.twin(robot.unconstrained()), found)
    automatic = lw.methods.best_method(robot, EXPECTED)
    chosen = dict.fromkeys(automatic if method == "auto" else method for method in methods or ["auto"])
    say("forward dynamics")
    entries = [*_forward(robot, states, chosen, found), *_forward_peers(robot, states, twin, mjcf, found)]
    _race("forward_dynamics", entries, settings, found)
    for quantity in OF_PINOCCHIO:
        say(quantity.replace("_", " "))
        _race(quantity, list(_tree(robot, quantity, states, tree_twin, found)), settings, found)
    return found


def _race(quantity: str, entries: Sequence[Entry], settings: Settings, found: Times) -> None:
    """Compare all answers, then time all of them."""
    ready, errors = [], []
    for entry in entries:
        try:
            answer = entry.contender.answer().reshape(len(entry.wanted), -1)
        except lw.errors.LinkworkError as error:
            found.note(f"{quantity.replace('_', ' ')} without {entry.by}: {error}")
            continue
        off = worst_difference(answer, entry.wanted.reshape(len(answer), -1))
        if not off < AGREES:
            name = quantity.replace("_", " ")
            found.note(f"{name} by {entry.by}, {entry.backend}, is off by {off:.1e} of the largest number")
        ready.append(entry)
        errors.append(off)
    for entry, off, seconds in zip(ready, errors, best_times([e.contender for e in ready], settings), strict=True):
        found.times.append(
            Time(quantity, entry.by, entry.backend, 1e6 * seconds, float(np.nan_to_num(off, nan=NO_NUMBER)))
        )
        say(f"  {entry.by:<32}{entry.backend:<14}{1e6 * seconds:10.3f} µs")


# Ours ------------------------------------------------------------------------------------------------------


def _forward(robot: lw.Mechanism, states: States, methods: Iterable[str], found: Times) -> Iterable[Entry]:
    plain = in_the_papers_units(robot)
    for method in methods:
        fd = lw.ForwardDynamics(
            plain,
            cast(Any, method),
            regularization=REGULARIZATION,
            tolerance=NEVER,
            max_iterations=found.iterations,
            threads=1,
        )
        try:
            exact = robot.nc and METHODS[method].exact and method != "pv_soft"
            wanted = lw.ForwardDynamics(plain, "kkt" if exact else fd.method, regularization=REGULARIZATION)(
                *states
            ).acceleration
            out = (np.empty(robot.nv), np.empty(4 + 2 * robot.nc)) if fd.method != "aba" else np.empty(robot.nv)
            yield from _backends(fd, fd.method, tuple(states), out, wanted, lambda s: s.acceleration, found)
        except lw.errors.LinkworkError as error:
            found.note(f"forward dynamics without {method}: {error}")


def _tree(robot: lw.Mechanism, quantity: str, states: States, twin: Any, found: Times) -> Iterable[Entry]:
    inverse = quantity == "inverse_dynamics"
    rnea = lw.InverseDynamics(robot, "rnea", passive=False, threads=1) if inverse else None  # as Pinocchio's
    evaluator = rnea or lw.Evaluator(robot, cast(Any, quantity), threads=1)
    inputs = tuple(states) if inverse else (states.q,)
    wanted = evaluator(*inputs)
    yield from _backends(evaluator, "linkwork", inputs, np.empty(wanted.shape[1:]), wanted, lambda x: x, found)
    if twin is not None:
        name = OF_PINOCCHIO[quantity]
        yield Entry(f"Pinocchio {name}", "call", _pinocchio(twin, name, quantity, states), wanted)


def _backends(
    evaluator: Any, by: str, inputs: tuple[Floats, ...], out: Any, wanted: Floats, pick: Evaluate, found: Times
) -> Iterable[Entry]:
    """One evaluator natively, as a straight-line program, bound to arrays, and for batches."""
    singles = one_by_one(inputs)
    many = tuple(np.ascontiguousarray(x[np.arange(BATCH) % STATES]) for x in inputs)

    def entry(
        backend: str, call: Evaluate, arguments: Sequence[Any], states: int, answer: Callable[[], Floats]
    ) -> Entry:
        return Entry(by, backend, Contender(backend, call, arguments, states, answer), wanted)

    def one_at_a_time(evaluate: Evaluate) -> Callable[[], Floats]:
        return lambda: np.array([pick(evaluate(*a)) for a in singles])

    yield entry("native", evaluator, singles, STATES, one_at_a_time(evaluator))
    if by == "kkt":  # NumPy: no machine code of ours
        return
    try:
        fast = evaluator.compile(threads=1)
    except lw.errors.ProgramTooLarge as error:
        found.note(f"{by}: {error}")
        fast = None
    quick = fast if fast is not None else evaluator
    if fast is not None:
        yield entry("specialized", fast, singles, STATES, one_at_a_time(fast))
    state = tuple(x[0].copy() for x in inputs)
    yield entry("bound", quick.bind(*state, out=out), [()] * STATES, STATES, one_at_a_time(quick))
    yield entry("batch", quick, [many], BATCH, lambda: np.asarray(pick(quick(*many)))[:STATES])


# Others ----------------------------------------------------------------------------------------------------


def _twin(peer: str, make: Callable[[], Any], found: Times) -> Any:
    """The model in another library, or None with a note."""
    try:
        return make()
    except ImportError:
        found.note(f"without {peer}, which is not installed: pip install ./benchmarks")
    except Unable as reason:
        found.note(f"forward dynamics without {peer}: {reason}")
    return None


def _forward_peers(robot: lw.Mechanism, states: States, twin: Any, mjcf: Path | None, found: Times) -> Iterable[Entry]:
    bound = bool(robot.nc)
    if twin is not None:
        solver: Literal["prox_ltl", "aba"] = "prox_ltl" if bound else "aba"
        plain = in_the_papers_units(robot)
        fd = lw.ForwardDynamics(
            plain, solver, regularization=REGULARIZATION, tolerance=NEVER, max_iterations=found.iterations
        )
        for name in pinocchio.SOLVERS if bound else ("aba",):
            c = pinocchio.contender(twin, name, states, REGULARIZATION, found.iterations)
            yield Entry(f"Pinocchio {name}", "call", c, fd(*states).acceleration)
    theirs = _twin("MuJoCo", lambda: mujoco.twin(robot, mjcf), found)
    if theirs is None:
        return
    try:
        wanted = mujoco.expected(theirs, robot, states)
    except Unable as reason:
        found.note(f"forward dynamics without MuJoCo: {reason}")
        return
    yield Entry("MuJoCo mj_forward", "call", mujoco.contender(theirs, states), wanted)


def _pinocchio(twin: Any, name: str, quantity: str, states: States) -> Contender:
    """A function of Pinocchio that knows no constraints."""
    import pinocchio as pin

    call, memory = getattr(pin, name), twin.model.createData()
    theirs = twin.states(states)
    inputs = tuple(theirs) if quantity == "inverse_dynamics" else (theirs.q,)
    arguments = one_by_one(inputs, (twin.model, memory))
    order = twin.v_order

    def answer() -> Floats:
        results = np.array([call(*a) for a in arguments])
        return results[:, order] if results.ndim == 2 else results[:, order[:, None], order]

    return Contender(name, call, arguments, STATES, answer)
