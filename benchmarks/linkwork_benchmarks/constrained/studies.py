# SPDX-License-Identifier: BSD-3-Clause
"""How each kind of scenario is measured: answers compared first, then times, contenders taking turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.dynamics.methods import METHODS, method_cost
from linkwork_benchmarks.constrained import accuracy, baseline, joint_space, mujoco, ours, pinocchio
from linkwork_benchmarks.constrained.agreement import worst_difference
from linkwork_benchmarks.constrained.factors import factor
from linkwork_benchmarks.constrained.scenarios import (
    LTL_SOFT,
    REGULARIZATION,
    Baseline,
    Convergence,
    Duplicated,
    Factor,
    Growth,
    Softness,
    System,
    links_of,
)
from linkwork_benchmarks.constrained.states import closed_states
from linkwork_benchmarks.contender import Contender
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States
from linkwork_benchmarks.runner import Journal, Settings, best_times, measure_by_type, say

FULL = Settings(rounds=40, pass_seconds=0.001, clock=process_time)
QUICK = Settings(rounds=3, pass_seconds=0.0005, clock=process_time)

HARD = tuple(name for name, method in METHODS.items() if method.hard)
AGREES = 1e-6
AGREES_IN_LONG_CHAINS = 1e-4
"""The mass matrix of a chain is the worse conditioned the longer it is: joint-space methods feel it first."""
SOLVED = 1e-3
"""MuJoCo iterates to a tolerance of its own: what is further off is another problem, and is not timed."""
COUNTED_IN_JOINT_SPACE = 200
"""Velocities up to which the operations of LTL-s are counted."""
SLOW = 0.02
"""Seconds of a call from which on a method is not tried on larger members of a family."""


begin = Journal
"""What a run writes to."""


# Times of systems ------------------------------------------------------------------------------------------


def _system(scenario: System, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc}
    costs = lw.methods.method_costs(robot) if robot.nc else {"aba": lw.ForwardDynamics(robot, "aba").operation_count()}
    for method, cost in costs.items():
        journal.metrics[f"{name}.{method}.operations"] = cost.total
        if cost.iteration:
            journal.metrics[f"{name}.{method}.iteration"] = cost.iteration
        if cost.refinement:
            journal.metrics[f"{name}.{method}.refinement"] = cost.refinement
    methods = tuple(m for m in scenario.methods if m in lw.methods.methods_for(robot)) if robot.nc else ("aba",)
    if robot.nc:
        chosen = {k: lw.methods.best_method(robot, k) for k in scenario.iterations}
        journal.words |= {f"{name}.{k}.auto": method for k, method in chosen.items()}
        if scenario.auto:
            methods = tuple(dict.fromkeys((*methods, *chosen.values())))
    states = closed_states(robot, 16)
    twins = _twins(scenario, robot, journal)
    for iterations in scenario.iterations:
        references = _references(robot, states, iterations, methods)
        contenders = []
        for method in methods:
            wanted = references["hard" if method in HARD else "soft"]
            for c in _ways(scenario, robot, method, iterations, states, costs, journal):
                if _agrees(f"{name}.{iterations}", c, c.answer(), wanted, journal):
                    contenders.append(c)
        if iterations == scenario.iterations[0]:
            contenders += _free(scenario, robot, states, journal) if scenario.free else []
            contenders += _soft_gauss(scenario, robot, states, references["soft"], journal) if scenario.soft else []
        contenders += _peers(scenario, robot, twins, states, iterations, references["soft"], journal)
        for c, seconds in zip(contenders, best_times(contenders, settings), strict=True):
            journal.metrics[f"{name}.{iterations}.{c.name}.us"] = 1e6 * seconds
            say(f"  {iterations} {c.name:<34}{1e6 * seconds:10.3f} µs")


def _references(
    robot: lw.Mechanism, states: States, iterations: int, methods: Sequence[str], soft: str = "prox_ltl"
) -> dict[str, Floats]:
    """What hard methods must find, and what a number of proximal iterations must."""
    if not robot.nc:
        free = ours.answer(lw.ForwardDynamics(robot, "aba", threads=1), states)
        return {"hard": free, "soft": free}
    found = {"soft": ours.answer(ours.dynamics(robot, soft, REGULARIZATION, iterations), states)}
    if any(method in HARD for method in methods):
        found["hard"] = lw.ForwardDynamics(robot, "kkt")(*states).acceleration
    return found


def _ways(
    scenario: System,
    robot: lw.Mechanism,
    method: str,
    iterations: int,
    states: States,
    costs: dict[Any, lw.results.OperationCount],
    journal: Journal,
) -> list[Contender]:
    fd = ours.dynamics(robot, method, REGULARIZATION, iterations)
    found = [ours.single(f"{method}.native", fd, states)]
    if scenario.batches:
        found.append(ours.batch(f"{method}.native_batch", fd, states))
    small = method in costs and costs[method].total <= scenario.specialized
    kept = scenario.auto and method in ("lcaba", journal.words.get(f"{scenario.name}.{iterations}.auto"))
    if not small and not kept:
        return found
    try:
        fast = fd.compile(threads=1, lanes="auto" if scenario.batches else 1)
    except lw.errors.ProgramTooLarge as error:
        if iterations == scenario.iterations[0]:
            journal.note(f"{scenario.name}: {error}")
        return found
    found.append(ours.single(f"{method}.specialized", fast, states))
    if scenario.batches:
        found.append(ours.batch(f"{method}.batch", fast, states))
    return found


def _free(scenario: System, robot: lw.Mechanism, states: States, journal: Journal) -> list[Contender]:
    """`aba` of the robot without its constraints."""
    tree = robot.unconstrained()
    fd = lw.ForwardDynamics(tree, "aba", threads=1)
    journal.metrics[f"{scenario.name}.aba.operations"] = fd.operation_count().total
    fast = fd.compile(threads=1)
    found = [ours.single("aba.native", fd, states), ours.single("aba.specialized", fast, states)]
    if scenario.batches:
        found.append(ours.batch("aba.batch", fast, states))
    try:
        found.append(pinocchio.contender(pinocchio.twin(tree), "aba", states, REGULARIZATION, 1))
    except (ImportError, Unable) as reason:
        journal.note(f"{scenario.name}: {reason}")
    wanted, name = fd(*states).acceleration, f"{scenario.name}.{scenario.iterations[0]}"
    return [c for c in found if _agrees(name, c, c.answer(), wanted, journal)]


def _soft_gauss(
    scenario: System, robot: lw.Mechanism, states: States, wanted: Floats, journal: Journal
) -> list[Contender]:
    """LTL-s, for constraints to the world."""
    evaluator = joint_space.SoftGauss(robot, threads=1)
    operations = evaluator.operation_count().total
    journal.metrics[f"{scenario.name}.{LTL_SOFT}.operations"] = operations
    found = [ours.soft_gauss(f"{LTL_SOFT}.native", evaluator, states, REGULARIZATION)]
    if operations <= scenario.specialized:
        fast = evaluator.compile(threads=1)
        found.append(ours.soft_gauss(f"{LTL_SOFT}.specialized", fast, states, REGULARIZATION))
    name = f"{scenario.name}.{scenario.iterations[0]}"
    return [c for c in found if _agrees(name, c, c.answer(), wanted, journal)]


def _agrees(name: str, c: Contender, answer: Floats, wanted: Floats, journal: Journal) -> bool:
    """Whether answers are right; their error is kept, and said where it is more than round-off."""
    error = worst_difference(answer, wanted) if np.isfinite(answer).all() else np.nan
    if np.isfinite(error):
        journal.metrics[f"{name}.{c.name}.error"] = error
    if error < c.tolerance:
        return True
    reason = f"is off by {error:.1e} of the largest acceleration" if np.isfinite(error) else "gives NaN"
    journal.note(f"{name}: {c.name} {reason}")
    return False


# Peers -----------------------------------------------------------------------------------------------------


def _twins(scenario: System, robot: lw.Mechanism, journal: Journal) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for peer in scenario.peers:
        try:
            found[peer] = pinocchio.twin(robot) if peer == "pinocchio" else mujoco.twin(robot, scenario.mjcf)
        except Unable as reason:
            journal.note(f"{scenario.name}: {reason}")
        except ImportError:
            journal.note(f"{scenario.name}: {peer} is not installed")
    return found


def _peers(
    scenario: System,
    robot: lw.Mechanism,
    twins: dict[str, Any],
    states: States,
    iterations: int,
    wanted: Floats,
    journal: Journal,
) -> list[Contender]:
    """Peers to time. Those that lose digits are timed all the same, with a note and their error beside the time."""
    name, found = f"{scenario.name}.{iterations}", []
    if "pinocchio" in twins:
        twin = twins["pinocchio"]
        solvers = pinocchio.SOLVERS if "lcaba" in scenario.methods else pinocchio.SOLVERS[:1]
        solvers = solvers if robot.nc else ("aba",)
        for solver in solvers:
            c = pinocchio.contender(twin, solver, states, REGULARIZATION, iterations)
            _agrees(name, c, c.answer(), wanted, journal)
            if f"{name}.{c.name}.error" not in journal.metrics:
                continue  # NaN
            found.append(c)
            shared = worst_difference(pinocchio.answers_with_shared_data(twin, c), wanted)
            journal.metrics[f"{name}.{c.name}.error_shared_data"] = shared
            if not shared < max(AGREES, 10 * journal.metrics[f"{name}.{c.name}.error"]):
                journal.note(f"{name}: {c.name} is off by {shared:.1e} when calls share one Data, as they are timed")
        if scenario.predecessor and robot.nc:
            c = pinocchio.predecessor(twin, robot, states, REGULARIZATION)
            if _agrees(name, c, c.answer(), wanted, journal):
                found.append(c)
    if "mujoco" in twins:
        c = mujoco.contender(twins["mujoco"], states)
        try:
            expected = mujoco.expected(twins["mujoco"], robot, states)
        except Unable as reason:
            journal.note(f"{name}: {reason}")
            return found
        answer = c.answer()
        error = worst_difference(answer, expected)
        if not error < AGREES:  # MuJoCo takes sparse Jacobians for large models
            mujoco.take_dense_jacobian(twins["mujoco"])
            answer = c.answer()
            if worst_difference(answer, expected) < AGREES:
                journal.note(f"{name}: {c.name} has a dense Jacobian: by its own choice it is off by {error:.1e}")
        _agrees(name, c, answer, expected, journal)
        if journal.metrics.get(f"{name}.{c.name}.error", 1.0) < SOLVED:
            found.append(c)
    return found


# Families --------------------------------------------------------------------------------------------------


def _growth(scenario: Growth, settings: Settings, journal: Journal) -> None:
    counted, slow = set(scenario.methods), set[str]()
    for size in scenario.sizes:
        robot = scenario.make(size)
        name = f"{scenario.name}.{links_of(robot)}"
        journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc}
        for method in sorted(counted):
            cost = _cost(robot, method)
            if cost is None:
                counted.discard(method)  # too large to count, and larger ones too
                continue
            journal.metrics[f"{name}.{method}.operations"] = cost
        states = closed_states(robot, 2, distinct=2, spread=0.01)
        methods = [m for m in scenario.methods if m not in slow]
        references = _references(robot, states, 1, methods, soft="lcaba")
        contenders = []
        for method in methods:
            c = replace(_native(robot, method, states), tolerance=AGREES_IN_LONG_CHAINS)
            try:
                answer = c.answer()
            except lw.errors.SingularConstraints as error:
                journal.note(f"{name}: {error}")
                continue
            if _agrees(name, c, answer, references["hard" if method in HARD else "soft"], journal):
                contenders.append(c)
        times = best_times(contenders, settings if robot.nv < 150 else settings._replace(rounds=settings.rounds // 3))
        for c, seconds in zip(contenders, times, strict=True):
            if seconds > SLOW:
                slow.add(c.name.split(".")[0])
            journal.metrics[f"{name}.{c.name}.us"] = 1e6 * seconds
        shown = ", ".join(f"{c.name.split('.')[0]} {1e6 * t:.0f}" for c, t in zip(contenders, times, strict=True))
        say(f"  {links_of(robot)} links: {shown} µs")


def _cost(robot: lw.Mechanism, method: str) -> int | None:
    """Operations of one method; None where they are too many to count."""
    if method == LTL_SOFT:
        return joint_space.SoftGauss(robot).operation_count().total if robot.nv <= COUNTED_IN_JOINT_SPACE else None
    counted = method_cost(robot, method)
    return None if counted is None else counted.total


def _native(robot: lw.Mechanism, method: str, states: States) -> Contender:
    """A method of the package, or LTL-s, natively."""
    name = f"{method}.native"
    if method == LTL_SOFT:
        return ours.soft_gauss(name, joint_space.SoftGauss(robot, threads=1), states, REGULARIZATION)
    return ours.single(name, ours.dynamics(robot, method, REGULARIZATION, 1), states)


measure = measure_by_type(
    {
        System: _system,
        Growth: _growth,
        Convergence: accuracy.convergence,
        Softness: accuracy.softness,
        Duplicated: accuracy.duplicated,
        Factor: factor,
        Baseline: baseline.measure,
    }
)
"""Measures one scenario; a missing model file is a note."""
