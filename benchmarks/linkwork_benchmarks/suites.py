# SPDX-License-Identifier: BSD-3-Clause
"""What can be run by name: whole studies, and of the study of constrained dynamics the part of each paper.

A study is a room with ``scenarios`` (what is measured, as data, and ``smaller`` for a quick look) and ``studies`` (how:
``FULL`` and ``QUICK`` settings, a ``Journal``, ``measure``). Trees are the study of this package's own rooms.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from linkwork.compilers.cuda import driver
from linkwork.errors import DeviceError
from linkwork_benchmarks import report
from linkwork_benchmarks.robots import EXAMPLES
from linkwork_benchmarks.runner import Settings, say


class Suite(NamedTuple):
    """A study, or what of it belongs to one paper."""

    study: str
    about: str
    paper: str | None = None


SUITES: dict[str, Suite] = {
    "trees": Suite("trees", "robots without loops, beside Pinocchio and MuJoCo"),
    "loops": Suite("constrained", "closed loops: LCABA, proxBBO, proxLTL", "loops"),
    "lqr": Suite("constrained", "constraints to the world: PV and its descendants", "lqr"),
    "proximal": Suite("constrained", "proximal iterations and sparse factors", "proximal"),
    "constrained": Suite("constrained", "the three before together"),
    "clusters": Suite("clusters", "gears, belts and other transmissions"),
    "delassus": Suite("delassus", "the Delassus operator, its inverse and its matrix"),
    "simulation": Suite("simulation", "motion in time, beside MuJoCo and Pinocchio"),
    "contact": Suite("contact", "contact with friction, beside Pinocchio's solvers"),
    "derivatives": Suite("derivatives", "Jacobians of dynamics, beside Pinocchio's"),
    "quantities": Suite("quantities", "functions of a state, beside Pinocchio's"),
    "gpu": Suite("gpu", "dynamics and steps on a GPU, with arrays of torch"),
    "gpu_peers": Suite("gpu_peers", "steps of many robots on a GPU, beside MuJoCo Warp"),
    "environments": Suite("environments", "environments of Gymnasium, beside its hopper on MuJoCo"),
    "scenes": Suite("scene_files", "contact in scenes of others, robot files and piles, beside MuJoCo"),
}


class NothingToRun(Exception):
    """No scenario has a name that was asked for, or what a study needs is not installed; the message says which."""


@dataclass(frozen=True)
class Study:
    """What running a study takes."""

    scenarios: Sequence[Any]
    smaller: Callable[[Any], Any]
    paper_of: Callable[[Any], str] | None
    settings: Settings
    quick: Settings
    begin: Callable[[], Any]
    measure: Callable[[Any, Settings, Any], None]


def study(name: str) -> Study:
    """A study by name, imported when it is asked for."""
    if name == "trees":
        from linkwork_benchmarks import runner, scenarios

        return Study(
            scenarios.SCENARIOS,
            lambda same: same,
            None,
            Settings(),
            runner.QUICK,
            runner.Journal,
            runner.measure,
        )
    data = import_module(f"linkwork_benchmarks.{name}.scenarios")
    how = import_module(f"linkwork_benchmarks.{name}.studies")
    paper_of = getattr(data, "paper_of", None)
    return Study(data.SCENARIOS, data.smaller, paper_of, how.FULL, how.QUICK, how.begin, how.measure)


def results_of(name: str) -> Path:
    """The file that the results of a study are kept in."""
    return report.RESULTS.with_name(f"{name}.json")


def check_peers() -> None:
    """`NothingToRun` where what studies compare with is not installed."""
    needed = {"pin": "pinocchio", "mujoco": "mujoco"}
    missing = [package for package, module in needed.items() if importlib.util.find_spec(module) is None]
    if not EXAMPLES.is_dir():
        missing.append("example-robot-data")
    if missing:
        raise NothingToRun(f"studies need {', '.join(missing)}: pip install ./benchmarks")


def check_gpu() -> None:
    """`NothingToRun` where there is no GPU, or no torch to measure with."""
    if importlib.util.find_spec("torch") is None:
        raise NothingToRun("the study of GPUs needs torch: pip install torch")
    try:
        driver.device(0).name  # noqa: B018
    except DeviceError as error:
        raise NothingToRun(f"the study of GPUs needs one: {error}") from None


def run(
    suite: str, only: str | None = None, quick: bool = False, out: Path | None = None, update: bool = False
) -> dict[str, Any]:
    """Run a suite: its results, which are also written to ``out``, if given.

    With ``update`` what the scenarios find takes the place of what ``out`` has of them; the rest of it stays.
    """
    name, _, paper = SUITES[suite]
    (check_gpu if name in ("gpu", "gpu_peers") else check_peers)()
    made = study(name)
    chosen = _chosen(made, only, paper)
    settings, journal = made.quick if quick else made.settings, made.begin()
    start = perf_counter()
    for k, scenario in enumerate(chosen, 1):
        say(f"[{k}/{len(chosen)}] {scenario.name}, at {perf_counter() - start:.0f} s")
        made.measure(made.smaller(scenario) if quick else scenario, settings, journal)
    results = {
        **report.circumstances(),
        "rounds": settings.rounds,
        "seconds": round(perf_counter() - start),
        "quick": quick,
        **asdict(journal),
    }
    if out is not None and update and out.exists():
        results = report.updated(report.read(out), results, [scenario.name for scenario in chosen])
    if out is not None:
        report.save(results, out)
        say(f"wrote {out}")
    return results


def _chosen(made: Study, only: str | None, paper: str | None) -> list[Any]:
    mine = [s for s in made.scenarios if paper is None or made.paper_of is None or made.paper_of(s) == paper]
    chosen = [s for s in mine if only is None or re.search(only, s.name)]
    if not chosen:
        raise NothingToRun(f"no scenario matches '{only}'; there are {', '.join(s.name for s in mine)}")
    return chosen
