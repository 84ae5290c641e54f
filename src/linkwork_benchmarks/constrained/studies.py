# SPDX-License-Identifier: BSD-3-Clause
"""How each kind of scenario is measured: answers compared first, then times, contenders taking turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np

import linkwork as lw
from linkwork.dynamics.methods import METHODS, method_cost
from linkwork.plans.ltl import ltl_tree
from linkwork_benchmarks.constrained import mujoco, ours, pinocchio
from linkwork_benchmarks.constrained.scenarios import (
    REGULARIZATION,
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

FULL = Settings(rounds=20, pass_seconds=0.004)
QUICK = Settings(rounds=3, pass_seconds=0.0005)

HARD = tuple(name for name, method in METHODS.items() if method.hard)
AGREES = 1e-6
AGREES_IN_LONG_CHAINS = 1e-4
"""The mass matrix of a chain is the worse conditioned the longer it is: joint-space methods feel it first."""
SOLVED = 1e-3
"""MuJoCo iterates to a tolerance of its own: what is further off is another problem, and is not timed."""
SLOW = 0.02
"""Seconds of a call from which on a method is not tried on larger members of a family."""


begin = Journal
"""What a run writes to."""


def worst_difference(answer: Floats, wanted: Floats) -> float:
    """The largest difference of any state, relative to the largest number of that state (or to 1, if that is less)."""
    return float((np.abs(answer - wanted).max(axis=1) / np.maximum(np.abs(wanted).max(axis=1), 1.0)).max())


# Times of systems ------------------------------------------------------------------------------------------


def _system(scenario: System, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc}
    costs = lw.method_costs(robot) if robot.nc else {"aba": lw.ForwardDynamics(robot, "aba").operation_count()}
    for method, cost in costs.items():
        journal.metrics[f"{name}.{method}.operations"] = cost.total
        if cost.iteration:
            journal.metrics[f"{name}.{method}.iteration"] = cost.iteration
        if cost.refinement:
            journal.metrics[f"{name}.{method}.refinement"] = cost.refinement
    methods = tuple(m for m in scenario.methods if m in lw.methods_for(robot)) if robot.nc else ("aba",)
    if robot.nc:
        chosen = {k: lw.best_method(robot, k) for k in scenario.iterations}
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
    costs: dict[Any, lw.OperationCount],
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
    except lw.ProgramTooLarge as error:
        if iterations == scenario.iterations[0]:
            journal.note(f"{scenario.name}: {error}")
        return found
    found.append(ours.single(f"{method}.specialized", fast, states))
    if scenario.batches:
        found.append(ours.batch(f"{method}.batch", fast, states))
    return found


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
    if "mujoco" in twins:
        c = mujoco.contender(twins["mujoco"], states)
        try:
            expected = mujoco.expected(twins["mujoco"], robot, states)
        except Unable as reason:
            journal.note(f"{name}: {reason}")
            return found
        _agrees(name, c, c.answer(), expected, journal)
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
            fd = ours.dynamics(robot, method, REGULARIZATION, 1)
            c = replace(ours.single(f"{method}.native", fd, states), tolerance=AGREES_IN_LONG_CHAINS)
            try:
                answer = c.answer()
            except lw.SingularConstraints as error:
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
    counted = method_cost(robot, method)
    return None if counted is None else counted.total


# Accuracy --------------------------------------------------------------------------------------------------


class Rows:
    """The rows of a mechanism at given states, to see what accelerations miss; no method's own account of it."""

    def __init__(self, robot: lw.Mechanism, states: States) -> None:
        self.J = lw.constraint_jacobian(robot, states.q)
        self.k = lw.constraint_target(robot, states.q, states.v) - lw.constraint_bias(robot, states.q, states.v)

    def missed(self, a: Floats) -> Floats:
        """``J a + dJ/dt v`` less what rows are asked for, ``(states, rows)``."""
        found: Floats = np.einsum("kij,kj->ki", self.J, a) - self.k
        return found


def _spread(name: str, values: Floats, journal: Journal) -> None:
    """Mean, standard deviation, least and most, as in the papers' boxes."""
    for word, value in (
        ("mean", values.mean()),
        ("deviation", values.std()),
        ("least", values.min()),
        ("most", values.max()),
    ):
        journal.metrics[f"{name}.{word}"] = float(value)


def _convergence(scenario: Convergence, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    states = closed_states(robot, scenario.states, distinct=scenario.states, spread=0.2)
    rows = Rows(robot, states)
    journal.metrics[f"{name}.states"] = scenario.states
    for method in scenario.methods:
        for mu in scenario.regularizations:
            for count in scenario.iterations:
                a = ours.dynamics(robot, method, mu, count)(*states).acceleration
                missed = np.abs(rows.missed(a)).max(axis=1)
                _spread(f"{name}.{method}.{mu:.0e}.{count}", missed, journal)
            say(f"  {method}, regularization {mu:.0e}: residual {missed.max():.1e} in the end")
    steady = lw.ForwardDynamics(robot, "prox_ltl", tolerance=1e-14, max_iterations=100)(*states)
    size = np.linalg.norm(steady.acceleration, axis=1)
    for method in scenario.methods:
        for mu in scenario.extremes:
            plain = ours.in_the_papers_units(robot)
            found = lw.ForwardDynamics(plain, cast(Any, method), regularization=mu, max_iterations=20)(*states)
            away = np.linalg.norm(found.acceleration - steady.acceleration, axis=1) / size
            _spread(f"{name}.{method}.{mu:.0e}.away", away, journal)


def _softness(scenario: Softness, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    states = closed_states(robot, scenario.states, distinct=scenario.states)
    journal.metrics[f"{name}.states"] = scenario.states
    hard = lw.ForwardDynamics(robot, "pv")(*states)
    rows = Rows(robot, states)

    def keep(label: str, a: Floats) -> None:
        _spread(f"{name}.{label}.missed", np.linalg.norm(rows.missed(a), axis=1), journal)
        _spread(f"{name}.{label}.away", np.linalg.norm(a - hard.acceleration, axis=1), journal)

    for method in ("pv", "pv_early", "ltl"):
        keep(f"{method}.hard", lw.ForwardDynamics(robot, method)(*states).acceleration)
    for weight in scenario.weights:
        keep(f"pv_soft.{weight:.0e}", ours.dynamics(robot, "pv_soft", 1 / weight, 1)(*states).acceleration)
        keep(f"ltl_soft.{weight:.0e}", ours.dynamics(robot, "prox_ltl", 1 / weight, 1)(*states).acceleration)


# Redundancy ------------------------------------------------------------------------------------------------


def _duplicated(scenario: Duplicated, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    states = closed_states(robot, scenario.states)
    rows = Rows(robot, states)
    wanted = lw.ForwardDynamics(robot, "kkt")(*states)
    rank = robot.mobility(states.q[0]).rank
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc, f"{name}.rank": rank}
    for method in lw.methods_for(robot):
        made = METHODS[method]
        if made.algorithm is None or (not made.hard and not made.iterates):
            continue
        for mu in scenario.regularizations if made.iterates else (0.0,):
            label = f"{name}.{method}.{mu:.0e}"
            try:
                plain = ours.in_the_papers_units(robot)
                found = lw.ForwardDynamics(plain, method, regularization=mu or REGULARIZATION)(*states)
            except lw.SingularConstraints as error:
                journal.words[label] = str(error).split(";")[0]
                continue
            journal.metrics[f"{label}.iterations"] = float(np.max(found.iterations))
            journal.metrics[f"{label}.residual"] = float(np.abs(rows.missed(found.acceleration)).max())
            journal.metrics[f"{label}.error"] = worst_difference(found.acceleration, wanted.acceleration)
            journal.metrics[f"{label}.multipliers"] = _worst(found.multipliers, wanted.multipliers)
    _duplicated_in_pinocchio(scenario, robot, states, wanted.acceleration, journal)


def _worst(found: Any, wanted: Any) -> float:
    return worst_difference(np.asarray(found), np.asarray(wanted))


def _duplicated_in_pinocchio(
    scenario: Duplicated, robot: lw.Mechanism, states: States, wanted: Floats, journal: Journal
) -> None:
    try:
        import pinocchio as pin

        twin = pinocchio.twin(robot)
    except (ImportError, Unable) as reason:
        journal.note(f"{scenario.name}: without Pinocchio: {reason}")
        return
    for mu in (0.0, *scenario.regularizations):
        for solver in pinocchio.SOLVERS:
            if solver == "lcaba" and not mu:
                continue  # needs a mu, it says
            label = f"{scenario.name}.pinocchio_{solver}.{mu:.0e}"
            proximal = pin.ProximalSettings(1e-10, 0.0, mu, 20)
            answers, most = [], 0
            for q, v, tau in zip(*twin.states(states), strict=True):
                memory, of_constraints = twin.prepared(solver)
                call = getattr(pin, solver)
                a = call(twin.model, memory, q, v, tau, twin.constraints, of_constraints, proximal)
                answers.append(a.copy())
                most = max(most, proximal.iter)
            found = np.array(answers)[:, twin.v_order]
            journal.metrics[f"{label}.iterations"] = most
            if not np.isfinite(found).all():
                journal.words[label] = "NaN"
                continue
            journal.metrics[f"{label}.residual"] = float(np.abs(Rows(robot, states).missed(found)).max())
            journal.metrics[f"{label}.error"] = worst_difference(found, wanted)


# The factor of the KKT matrix ------------------------------------------------------------------------------


def _factor(scenario: Factor, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    size = robot.nv + robot.nc
    tree: Any = ltl_tree(robot, ()) if robot.nc else None
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc}
    journal.metrics[f"{name}.sparse"] = _sparse_factor(robot, tree)
    journal.metrics[f"{name}.dense"] = sum(1 + k + k * (k + 1) for k in range(size))


def _sparse_factor(robot: lw.Mechanism, tree: Any) -> int:
    """Multiplications, additions and divisions of `linkwork.kernels.ltl`'s factor, from its loops.

    A pivot with ``d`` entries beside it takes ``d`` products and ``d (d + 1) / 2`` multiplications and additions.
    """
    supports = _supports(robot)
    operations = sum(1 + d + d * (d + 1) for d in supports)
    if tree is None:
        return operations
    for r in range(robot.nc):
        columns = tree.row_dof[tree.row_start[r] : tree.row_start[r] + tree.row_count[r]].tolist()
        operations += sum(2 * supports[k] for k in columns)  # J L^-1
        mine = set(columns)
        operations += len(columns)  # times D^-1
        for s in range(r + 1):
            others = tree.row_dof[tree.row_start[s] : tree.row_start[s] + tree.row_count[s]].tolist()
            operations += 2 * len(mine.intersection(others))
    return operations + sum(1 + k + k * (k + 1) for k in range(robot.nc))


def _supports(robot: lw.Mechanism) -> list[int]:
    """Of each velocity, how many others carry it."""
    parents = {joint.child: joint for joint in robot.joints}

    @cache
    def below(body: str) -> int:
        joint = parents.get(body)
        return 0 if joint is None else joint.type.nv + below(joint.parent)

    return [below(joint.parent) + k for joint in robot.joints for k in range(joint.type.nv)]


measure = measure_by_type(
    {
        System: _system,
        Growth: _growth,
        Convergence: _convergence,
        Softness: _softness,
        Duplicated: _duplicated,
        Factor: _factor,
    }
)
"""Measures one scenario; a missing model file is a note."""
