# SPDX-License-Identifier: BSD-3-Clause
"""How each kind of scenario is measured: residuals first, by one definition, then times, contenders taking turns."""

from __future__ import annotations

import warnings
from time import process_time

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork.contact.dense import row_solver
from linkwork.errors import LinkworkError
from linkwork_benchmarks.contact import ours, pinocchio, robots
from linkwork_benchmarks.contact.motions import Beside, Fact, Impacts, Moving, RandomScenes, measure_motion
from linkwork_benchmarks.contact.scenarios import RESIDUAL, Growth, OnGround, Solve, masses
from linkwork_benchmarks.contender import Contender
from linkwork_benchmarks.delassus import dense
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats
from linkwork_benchmarks.runner import Journal, Settings, best_times, measure_by_type, say

FULL = Settings(rounds=8, pass_seconds=0.004, clock=process_time)
QUICK = Settings(rounds=2, pass_seconds=0.0005, clock=process_time)


def begin() -> Journal:
    """What a run writes to; dense algebra is kept on one core from here on."""
    dense.one_thread()
    pinocchio.raise_stack_limit()
    return Journal()


def _solve(scenario: Solve, settings: Settings, journal: Journal) -> None:
    pile = scenario.make()
    measure_residual = row_solver(pile.G, pile.friction).residual

    def residual(f: Floats) -> float:
        return float(measure_residual(*pile, f))

    journal.metrics[f"{scenario.name}.rows"] = len(pile.g)
    runs = [ours.on_matrix(pile, solver, RESIDUAL, scenario.most) for solver in ours.ON_MATRIX]
    for name in pinocchio.SOLVERS:
        peer = pinocchio.fitted(pile, name, residual, RESIDUAL, scenario.most)
        journal.words[f"{scenario.name}.pinocchio.{name}.settings"] = f"{peer.rule} {peer.tolerance:g}".strip()
        runs.append(ours.Run(f"pinocchio.{name}", peer.call, residual(peer.forces()), peer.iterations(), peer.forces))
    runs += _steps(scenario, journal)
    contenders = []
    for run in runs:
        journal.metrics[f"{scenario.name}.{run.name}.residual"] = run.residual
        journal.metrics[f"{scenario.name}.{run.name}.iterations"] = run.iterations
        if run.residual <= RESIDUAL:
            contenders.append(Contender(run.name, run.call, [()], 1, run.answer))
        else:
            say(f"  {run.name}: residual {run.residual:.1e} after {run.iterations} iterations, not timed")
    for contender, seconds in zip(contenders, best_times(contenders, settings), strict=True):
        journal.metrics[f"{scenario.name}.{contender.name}.us"] = seconds * 1e6
        say(f"  {contender.name:<24}{seconds * 1e6:12.2f} µs")


def _steps(scenario: Solve, journal: Journal) -> list[ours.Run]:
    """Whole steps of the same scene, where the zoo has it."""
    runs = []
    try:
        robot = ours.scene(*scenario.scene)
        q = robot.poses["assembled"]
        for solver in ours.STEPS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                runs.append(ours.whole_step(robot, solver, RESIDUAL, q, np.zeros(robot.nv), None))
    except (Unable, LinkworkError) as reason:
        journal.note(f"{scenario.name}: whole steps were not measured: {reason}")
    return runs


def _growing(family: str, size: int) -> tuple[lw.Mechanism, Floats]:
    """A scene of a family, and a velocity that keeps its contacts busy."""
    if family == "boxes":
        robot = ours.scene("boxes", masses(size))
        return robot, np.zeros(robot.nv)
    robot = ours.swimmer(size)
    v = np.zeros(robot.nv)
    v[0] = 0.1
    return robot, v


def _growth(scenario: Growth, settings: Settings, journal: Journal) -> None:
    """Time of a step over its iterations, which is that of an iteration with its part of the setup."""
    runs: list[tuple[str, ours.Run]] = []
    for size in scenario.sizes:
        try:
            robot, v = _growing(scenario.family, size)
            q = robot.poses.get(zoo.ASSEMBLED, robot.neutral())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                runs += [(f"{size}.{s}", ours.whole_step(robot, s, RESIDUAL, q, v, 20)) for s in ("newton", "admm")]
        except (Unable, LinkworkError) as reason:
            journal.note(f"{scenario.name}.{size}: not measured: {reason}")
            break
    contenders = [Contender(name, run.call, [()], 1, run.answer) for name, run in runs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = best_times(contenders, settings)
    for (name, run), seconds in zip(runs, times, strict=True):
        journal.metrics[f"{scenario.name}.{name}.iterations"] = run.iterations
        journal.metrics[f"{scenario.name}.{name}.residual"] = run.residual
        journal.metrics[f"{scenario.name}.{name}.us"] = seconds * 1e6
        journal.metrics[f"{scenario.name}.{name}.us_per_iteration"] = seconds * 1e6 / max(run.iterations, 1)
        say(f"  {name:<24}{seconds * 1e6:12.2f} µs, {run.iterations} iterations")


def _on_ground(scenario: OnGround, settings: Settings, journal: Journal) -> None:
    try:
        found = robots.measured(scenario.motion, scenario.robots, scenario.seconds, scenario.rounds)
    except (Unable, LinkworkError) as reason:
        journal.note(f"{scenario.name}: not measured: {reason}")
        return
    journal.metrics |= {f"{scenario.name}.{key}": value for key, value in found.items()}
    say("  " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()))


measure = measure_by_type(
    {
        Solve: _solve,
        Growth: _growth,
        OnGround: _on_ground,
        **dict.fromkeys((Fact, Moving, Impacts, RandomScenes, Beside), measure_motion),
    }
)
