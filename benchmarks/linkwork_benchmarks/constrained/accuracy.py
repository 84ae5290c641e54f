# SPDX-License-Identifier: BSD-3-Clause
"""Studies of accuracy: convergence of iterations, soft rows, and rows that repeat others."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import linkwork as lw
from linkwork.dynamics.methods import METHODS
from linkwork_benchmarks.constrained import joint_space, ours, pinocchio
from linkwork_benchmarks.constrained.agreement import Rows, worst_difference
from linkwork_benchmarks.constrained.scenarios import LTL_SOFT, REGULARIZATION, Convergence, Duplicated, Softness
from linkwork_benchmarks.constrained.states import closed_states
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States
from linkwork_benchmarks.runner import Journal, Settings, say


def _spread(name: str, values: Floats, journal: Journal) -> None:
    """Mean, standard deviation, least and most, as in the papers' boxes."""
    for word, value in (
        ("mean", values.mean()),
        ("deviation", values.std()),
        ("least", values.min()),
        ("most", values.max()),
    ):
        journal.metrics[f"{name}.{word}"] = float(value)


def convergence(scenario: Convergence, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    states = closed_states(robot, scenario.states, scenario.states, spread=scenario.spread, speed=scenario.speed)
    rows = Rows(robot, states)
    journal.metrics[f"{name}.states"] = scenario.states
    journal.metrics |= {f"{name}.rows": robot.nc, f"{name}.rank": robot.mobility(states.q[0]).rank}
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


def softness(scenario: Softness, settings: Settings, journal: Journal) -> None:
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
    in_joint_space = joint_space.SoftGauss(robot)
    for weight in scenario.weights:
        keep(f"pv_soft.{weight:.0e}", ours.dynamics(robot, "pv_soft", 1 / weight, 1)(*states).acceleration)
        keep(f"{LTL_SOFT}.{weight:.0e}", in_joint_space(*states, np.full(robot.nc, 1 / weight)))
        keep(f"prox_ltl.{weight:.0e}", ours.dynamics(robot, "prox_ltl", 1 / weight, 1)(*states).acceleration)


# Redundancy ------------------------------------------------------------------------------------------------


def duplicated(scenario: Duplicated, settings: Settings, journal: Journal) -> None:
    robot, name = scenario.make(), scenario.name
    states = closed_states(robot, scenario.states)
    rows = Rows(robot, states)
    wanted = lw.ForwardDynamics(robot, "kkt")(*states)
    rank = robot.mobility(states.q[0]).rank
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc, f"{name}.rank": rank}
    for method in lw.methods.methods_for(robot):
        made = METHODS[method]
        if made.algorithm is None or (not made.hard and not made.iterates):
            continue
        for mu in scenario.regularizations if made.iterates else (0.0,):
            label = f"{name}.{method}.{mu:.0e}"
            try:
                plain = ours.in_the_papers_units(robot)
                found = lw.ForwardDynamics(plain, method, regularization=mu or REGULARIZATION)(*states)
            except lw.errors.SingularConstraints as error:
                journal.words[label] = str(error).split(";")[0]
                continue
            journal.metrics[f"{label}.iterations"] = float(np.max(found.iterations))
            journal.metrics[f"{label}.residual"] = float(np.abs(rows.missed(found.acceleration)).max())
            journal.metrics[f"{label}.error"] = worst_difference(found.acceleration, wanted.acceleration)
            journal.metrics[f"{label}.multipliers"] = _worst(found.multipliers, wanted.multipliers)
    _in_pinocchio(scenario, robot, states, wanted.acceleration, journal)


def _worst(found: Any, wanted: Any) -> float:
    return worst_difference(np.asarray(found), np.asarray(wanted))


def _in_pinocchio(scenario: Duplicated, robot: lw.Mechanism, states: States, wanted: Floats, journal: Journal) -> None:
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
