# SPDX-License-Identifier: BSD-3-Clause
"""How each kind of scenario is measured: answers compared first, then times, contenders taking turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Any, cast

import numpy as np

import linkwork as lw
from linkwork.closure.clusters import ties_of
from linkwork.dynamics.costs import program_cost
from linkwork.dynamics.inverse import METHODS as INVERSE_METHODS
from linkwork.dynamics.methods import METHODS as FORWARD_METHODS
from linkwork.dynamics.methods import method_cost
from linkwork.plans.cluster_efpa import cluster_efpa_tree
from linkwork.quantities.base import BaseEvaluator
from linkwork_benchmarks import runner
from linkwork_benchmarks.clusters import backends, leg, pinocchio, robots
from linkwork_benchmarks.clusters.projected import ProjectedInverseDynamics
from linkwork_benchmarks.clusters.scenarios import METHODS, Growth, Parallel, Stem, System, Torques
from linkwork_benchmarks.constrained.agreement import worst_difference
from linkwork_benchmarks.constrained.states import closed_states
from linkwork_benchmarks.contender import Contender
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats, States, random_states
from linkwork_benchmarks.runner import Settings, best_times, measure_by_type, say

FULL = Settings(rounds=40, pass_seconds=0.001, clock=process_time)
QUICK = Settings(rounds=3, pass_seconds=0.0005, clock=process_time)

STATES = 16


@dataclass
class Journal(runner.Journal):
    """What was found, with curves."""

    curves: dict[str, list[float]] = field(default_factory=dict)


begin = Journal
"""What a run writes to."""


# Evaluators ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """An evaluator with the inputs that it is timed with, and the answer that it is to give."""

    evaluator: BaseEvaluator
    inputs: tuple[Floats, ...]
    pick: backends.Pick
    wanted: Floats | None
    """None where a method is not exact."""


@dataclass(frozen=True)
class Bench:
    """A robot with loops at states on them, and what exact methods find there."""

    robot: lw.Mechanism
    effectors: tuple[str, ...]
    states: States
    """Torques of the tree are random."""

    def forward(self, method: str) -> Made | None:
        """None where linkwork has no such method, or it cannot serve the robot."""
        robot = self._served(method)
        if method not in FORWARD_METHODS or robot is None:
            return None
        fd = lw.ForwardDynamics(robot, cast(Any, method), threads=1)
        exact = getattr(FORWARD_METHODS[method], "exact", True)
        wanted = lw.ForwardDynamics(self.robot, "kkt")(*self.states).acceleration if exact else None
        return Made(fd, tuple(self.states), backends.acceleration_of, wanted)

    def inverse(self, method: str) -> Made | None:
        """The same of inverse dynamics."""
        q, v, _ = self.states
        at = lw.Minimal(self.robot)
        second = np.random.default_rng(1).normal(size=(len(q), at.ny))
        a = at.acceleration(q, v, second)
        tree = lw.InverseDynamics(self.robot, "rnea", passive=False, threads=1)
        wanted = at.force(q, tree(q, v, a))
        if method == "projected":
            return Made(ProjectedInverseDynamics(self.robot, threads=1), (q, v, second), backends.first_of, wanted)
        if method == "rnea":
            return Made(tree, (q, v, a), backends.first_of, tree(q, v, a))
        robot = self._served(method)
        if method not in INVERSE_METHODS or robot is None:
            return None
        free = lw.Minimal(robot).index
        found = lw.InverseDynamics(robot, cast(Any, method), passive=False, threads=1)
        return Made(found, (q, v, a), lambda tau: tau[..., free], wanted if method == "cluster" else None)

    def inertia(self, method: str) -> Made | None:
        """The same of the inverse inertia of end effectors."""
        if not hasattr(lw, "OperationalInertia"):
            return None
        q, at = self.states.q, lw.Minimal(self.robot)
        J = lw.frame_jacobian(self.robot, q, self.effectors)
        J = J.reshape(len(q), -1, self.robot.nv) @ at.matrix(q)
        H = np.swapaxes(at.matrix(q), 1, 2) @ lw.mass_matrix(self.robot, q) @ at.matrix(q)
        wanted = J @ np.linalg.solve(H, np.swapaxes(J, 1, 2))
        robot = self._served(method)
        if robot is None:
            return None
        found = lw.OperationalInertia(robot, self.effectors, cast(Any, method), threads=1)
        return Made(found, (q,), backends.first_of, None if method == "approximate" else wanted)

    def make(self, quantity: str, method: str) -> Made | None:
        """One of the above."""
        makers: dict[str, Callable[[str], Made | None]] = {
            "forward": self.forward,
            "inverse": self.inverse,
            "inertia": self.inertia,
        }
        return makers[quantity](method)

    def _served(self, method: str) -> lw.Mechanism | None:
        """The robot, its links' joints made the independent ones where a method leaves out dependent bodies."""
        if method != "approximate":
            return self.robot
        if method not in FORWARD_METHODS:
            return None
        if method in lw.methods.methods_for(self.robot):
            return self.robot
        links = [n for cluster in lw.loops.clusters(self.robot) for n in cluster.joints if "rotor" not in n]
        other = self.robot.with_independent(*links)
        return other if method in lw.methods.methods_for(other) else None


def _count(made: Made) -> lw.results.OperationCount | None:
    """Exact operations; None where they are too many to count."""
    if isinstance(made.evaluator, lw.ForwardDynamics) and made.evaluator.robot.nc:
        return method_cost(made.evaluator.robot, made.evaluator.method)
    return lw.operation_count(made.evaluator)


def _keep_counts(label: str, made: Made, journal: Journal) -> int:
    """Keep operations and iterations; the operations of all iterations, or 0 where they are too many to count."""
    counted = _count(made)
    if isinstance(made.evaluator, lw.ForwardDynamics):
        journal.metrics[f"{label}.iterations"] = float(np.max(made.evaluator(*made.inputs).iterations))
    if counted is None:
        return 0
    further = counted.iteration * (max(journal.metrics.get(f"{label}.iterations", 1.0), 1.0) - 1)
    journal.metrics[f"{label}.operations"] = counted.total + further
    return int(counted.total + further)


def _agrees(label: str, c: Contender, wanted: Floats | None, journal: Journal) -> bool:
    """Whether an answer is right; its error is kept, and said where it is more than round-off."""
    if wanted is None:
        return True
    answer = c.answer().reshape(len(wanted), -1)
    error = worst_difference(answer, wanted.reshape(len(wanted), -1)) if np.isfinite(answer).all() else np.nan
    if np.isfinite(error):
        journal.metrics[f"{label}.{c.name}.error"] = error
    if error < c.tolerance:
        return True
    journal.note(f"{label}: {c.name} is off by {error:.1e} of the largest number, and is not timed")
    return False


# Times of systems ------------------------------------------------------------------------------------------


def _system(scenario: System, settings: Settings, journal: Journal) -> None:
    name, subject = scenario.name, scenario.subject
    robot, tree = subject.make(), subject.tree()
    bench = Bench(robot, subject.effectors, closed_states(robot, STATES))
    at, groups = lw.Minimal(robot), lw.loops.clusters(robot)
    journal.metrics |= {f"{name}.nv": robot.nv, f"{name}.rows": robot.nc, f"{name}.ny": at.ny}
    journal.metrics |= {f"{name}.clusters": len(groups), f"{name}.largest": max(len(c.joints) for c in groups)}
    for quantity, methods in METHODS.items():
        label = f"{name}.{quantity}"
        contenders = []
        for method in methods:
            try:
                made = bench.make(quantity, method)
            except (lw.errors.SingularConstraints, lw.errors.UnsupportedFeature) as error:
                journal.note(f"{label}.{method}: {error}")
                continue
            if made is None:
                journal.note(f"{label}: no method {method} that can serve this robot")
                continue
            contenders += _every_way(label, method, made, scenario, journal)
        contenders += _bare_tree(label, quantity, scenario, tree, journal)
        for c, seconds in zip(contenders, best_times(contenders, settings), strict=True):
            journal.metrics[f"{label}.{c.name}.us"] = 1e6 * seconds
            say(f"  {quantity:<8} {c.name:<34}{1e6 * seconds:10.3f} µs")


def _every_way(label: str, method: str, made: Made, scenario: System, journal: Journal) -> list[Contender]:
    operations = _keep_counts(f"{label}.{method}", made, journal)
    found = backends.contenders(method, made.evaluator, made.inputs, made.pick, "native")
    if 0 < operations <= scenario.specialized:
        fast = made.evaluator.compile(threads=1)
        found += backends.contenders(method, fast, made.inputs, made.pick, "specialized")
    return [c for c in found if _agrees(label, c, made.wanted, journal)]


def _bare_tree(label: str, quantity: str, scenario: System, tree: lw.Mechanism, journal: Journal) -> list[Contender]:
    """The same of the tree without rotors: ours, and Pinocchio's."""
    states = random_states(tree, STATES)
    made: Made | None
    match quantity:
        case "forward":
            fd = lw.ForwardDynamics(tree, "aba", threads=1)
            made = Made(fd, tuple(states), backends.acceleration_of, fd(*states).acceleration)
        case "inverse":
            tau = lw.InverseDynamics(tree, "rnea", passive=False, threads=1)
            made = Made(tau, tuple(states), backends.first_of, tau(*states))
        case _:
            made = Bench(tree, scenario.subject.effectors, states).inertia("efpa")
    if made is None:
        return []
    found = _every_way(label, "tree", made, scenario, journal)
    journal.metrics[f"{scenario.name}.tree_nv"] = tree.nv
    if quantity not in pinocchio.FUNCTIONS:
        return found
    try:
        c = pinocchio.contender(pinocchio.twin(tree, scenario.subject.urdf), quantity, states)
    except Unable as reason:
        journal.note(f"{label}: {reason}")
    except ImportError:
        journal.note(f"{label}: pinocchio is not installed")
    else:
        if _agrees(label, c, made.wanted, journal):
            found.append(c)
    return found


# Families --------------------------------------------------------------------------------------------------


def _native(label: str, bench: Bench, quantity: str, methods: tuple[str, ...], journal: Journal) -> list[Contender]:
    """Methods natively, through `bind`; what cannot serve a robot is a note."""
    found = []
    for method in methods:
        try:
            made = bench.make(quantity, method)
            if made is None:
                continue
            _keep_counts(f"{label}.{method}", made, journal)
            _, bound = backends.contenders(method, made.evaluator, made.inputs, made.pick, "native")
            if _agrees(label, bound, made.wanted, journal):
                found.append(bound)
        except (lw.errors.SingularConstraints, lw.errors.UnsupportedFeature) as error:
            journal.note(f"{label}.{method}: {str(error).split(';')[0]}")
    return found


def _timed(label: str, contenders: list[Contender], settings: Settings, journal: Journal) -> None:
    times = best_times(contenders, settings)
    for c, seconds in zip(contenders, times, strict=True):
        journal.metrics[f"{label}.{c.name}.us"] = 1e6 * seconds
    shown = (f"{c.name.split('.')[0]} {1e6 * t:.1f}" for c, t in zip(contenders, times, strict=True))
    say(f"  {label}: {', '.join(shown)} µs")


def _growth(scenario: Growth, settings: Settings, journal: Journal) -> None:
    for size in scenario.sizes:
        robot = scenario.make(size)
        label = f"{scenario.name}.{size}"
        journal.metrics[f"{label}.nv"] = robot.nv
        bench = Bench(robot, (f"link{size - 1}",), closed_states(robot, 4, spread=0.05))
        _timed(label, _native(label, bench, scenario.quantity, scenario.methods, journal), settings, journal)


def _parallel(scenario: Parallel, settings: Settings, journal: Journal) -> None:
    for depth, sizes in scenario.loops.items():
        for loop in sizes:
            robot = robots.parallel_chain(scenario.kind, depth, loop)
            label = f"{scenario.name}.{depth}.{loop}"
            journal.metrics |= {f"{label}.nv": robot.nv, f"{label}.rows": robot.nc}
            journal.metrics[f"{label}.largest"] = max(len(c.joints) for c in lw.loops.clusters(robot))
            bench = Bench(robot, (), closed_states(robot, 4, spread=0.05))
            _timed(label, _native(label, bench, "forward", scenario.methods, journal), settings, journal)


def _stem(scenario: Stem, settings: Settings, journal: Journal) -> None:
    frames = robots.tips(scenario.branches)
    for stem in scenario.stems:
        robot, label = scenario.make(stem, scenario.branches), f"{scenario.name}.{stem}"
        chosen = lw.OperationalInertia(robot, frames, threads=1).program
        to_world = replace(chosen, tree=cluster_efpa_tree(robot, frames, ties_of(robot)))
        journal.metrics[f"{label}.nv"] = robot.nv
        for name, program in {"efpa": chosen, "to_world": to_world}.items():
            counted = program_cost(program)
            if counted is not None:
                journal.metrics[f"{label}.{name}.operations"] = counted.total
        say(f"  {label}: {journal.metrics[f'{label}.efpa.operations']:.0f} operations")


# One leg ---------------------------------------------------------------------------------------------------


def _torques(scenario: Torques, settings: Settings, journal: Journal) -> None:
    subject = robots.leg(scenario.side)
    time = np.arange(scenario.states) / scenario.states / scenario.frequency
    found = leg.torques(subject, scenario.amplitude, scenario.frequency, time)
    names, kept = list(robots.leg_joints(scenario.side)), slice(None, None, max(1, scenario.states // scenario.points))
    journal.metrics |= {"leg.amplitude": scenario.amplitude, "leg.frequency": scenario.frequency}
    journal.curves["leg.time"] = _rounded(time[kept])
    for k, name in enumerate(names):
        journal.metrics[f"leg.{name}.largest"] = float(np.abs(found["exact"][:, k]).max())
        for model in leg.DYNAMICS:
            journal.curves[f"leg.{name}.{model}"] = _rounded(found[model][kept, k])
            if model != "exact":
                journal.metrics[f"leg.{name}.{model}"] = float(leg.off(found[model], found["exact"])[k])
        shown = ", ".join(f"{model} {journal.metrics[f'leg.{name}.{model}']:.3f}" for model in leg.DYNAMICS[1:])
        say(f"  {name:<6} off by {shown} N m of {journal.metrics[f'leg.{name}.largest']:.2f}")
    for joint, name in zip(subject.joints, names, strict=True):
        journal.metrics[f"leg.{name}.reflected"] = float(subject.reflecting.armature[subject.reflecting.v_index(joint)])


def _rounded(x: Floats) -> list[float]:
    return [float(f"{value:.5g}") for value in x]


measure = measure_by_type(
    {
        System: _system,
        Growth: _growth,
        Parallel: _parallel,
        Stem: _stem,
        Torques: _torques,
    }
)
"""Measures one scenario; a missing model file is a note."""
