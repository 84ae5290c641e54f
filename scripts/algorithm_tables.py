# SPDX-License-Identifier: BSD-3-Clause
"""The tables on the pages in docs/concepts/algorithms: ``python scripts/algorithm_tables.py``.

Each page has places between comments: ``<!-- operations -->`` for exact counts, made here and now on small mechanisms,
and ``<!-- measured -->`` for times from the result files of the benchmarks. No number in them is written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import plan_pictures as pictures
from algorithm_times import MEASURED, explicit

import linkwork as lw
from linkwork.dynamics.local_loops import local_constraints
from linkwork.dynamics.methods import METHODS, method_cost
from linkwork_benchmarks import report, scenes, tables

PAGES = Path(__file__).resolve().parents[1] / "docs" / "concepts" / "algorithms"


# Operations ----------------------------------------------------------------------------------------------------------


@cache
def bound() -> dict[str, lw.Mechanism]:
    """Mechanisms with constraints, by titles: a linkage, loops in a row, rungs that are held, a robot on its feet."""
    found = {
        "four-bar": lw.zoo.four_bar(),
        "two loops in a row": lw.zoo.chain_of_loops(2),
        "ladder of 2 rungs": lw.zoo.ladder(2),
        "humanoid, feet welded": pictures.on_feet(),
    }
    return {f"{name} ({robot.nv}, {robot.nc})": robot for name, robot in found.items()}


@cache
def trees() -> dict[str, lw.Mechanism]:
    """Mechanisms without constraints."""
    found = {
        "chain of 7": lw.zoo.serial_chain(7),
        "chain of 70": lw.zoo.serial_chain(70),
        "humanoid": lw.zoo.humanoid(),
    }
    return {f"{name} ({robot.nv})": robot for name, robot in found.items()}


@cache
def geared() -> dict[str, lw.Mechanism]:
    """Mechanisms with transmissions."""
    found = {
        "geared chain of 3": lw.zoo.geared_chain(3),
        "geared chain of 12": lw.zoo.geared_chain(12),
        "belt chain of 12": lw.zoo.belt_chain(12),
        "four-bar": lw.zoo.four_bar(),
    }
    return {f"{name} ({robot.nv}, {robot.nc})": robot for name, robot in found.items()}


@cache
def standing() -> dict[str, lw.Mechanism]:
    """Robots in contact."""
    found = {
        "quadruped, standing": lw.zoo.quadruped_standing(),
        "humanoid, standing": lw.zoo.humanoid_standing(),
        "stalk of 8 links": lw.zoo.stalk(8, 2),
    }
    return {f"{name} ({robot.nv}, {robot.nc})": robot for name, robot in found.items()}


@cache
def moved() -> dict[str, lw.Mechanism]:
    """Mechanisms to step."""
    every = trees() | bound()
    return {title: robot for title, robot in every.items() if not title.startswith(("chain of 70", "ladder"))}


def counts(rows: Mapping[str, Callable[[lw.Mechanism], str]], robots: Mapping[str, lw.Mechanism], corner: str) -> str:
    """A table of counts, a row for each way and a column for each mechanism."""
    body = [
        (f"`{name}`" if name else name, *(count(robot) for robot in robots.values())) for name, count in rows.items()
    ]
    return tables.table((corner, *robots), body)


def total(make: Callable[[lw.Mechanism], Any]) -> Callable[[lw.Mechanism], str]:
    """How an evaluator's operations are written: ``a + b`` where it iterates."""

    def count(robot: lw.Mechanism) -> str:
        found = lw.operation_count(make(robot))
        return iterated(found, bool(found.iteration))

    return count


def iterated(found: lw.results.OperationCount, iterates: bool) -> str:
    """A count as ``a + b``, with what the last iteration takes where that is more than others."""
    last = f" (last {tables.whole(found.refinement)})" if found.refinement else ""
    return tables.whole(found.total) + (f" + {tables.whole(found.iteration)}{last}" if iterates else "")


def by_method(name: str) -> Callable[[lw.Mechanism], str]:
    """The same of a method of forward dynamics; – where it does not serve a mechanism."""

    def count(robot: lw.Mechanism) -> str:
        if name not in lw.methods.methods_for(robot):
            return "–"
        found = method_cost(robot, name)
        if found is None:
            return "–"
        return iterated(found, METHODS[name].iterates)

    return count


def methods(*names: str, robots: Callable[[], Mapping[str, lw.Mechanism]] = bound) -> str:
    """Counts of methods of forward dynamics."""
    return counts({name: by_method(name) for name in names}, robots(), "method")


def inverse(method: str) -> Callable[[lw.Mechanism], str]:
    """Counts of inverse dynamics."""
    return total(lambda robot: lw.InverseDynamics(robot, method))


def quantity(name: str) -> Callable[[lw.Mechanism], str]:
    """Counts of a function of a robot."""
    from linkwork.quantities.functions import evaluator_of

    return total(lambda robot: evaluator_of(robot, name))


def matrix(method: str) -> Callable[[lw.Mechanism], str]:
    """Counts of an explicit Delassus matrix."""
    return total(lambda robot: lw.Delassus(robot, method).matrix)


def step(integrator: str, method: str = "auto") -> Callable[[lw.Mechanism], str]:
    """Counts of one step."""

    def count(robot: lw.Mechanism) -> str:
        found = lw.operation_count(lw.Stepper(robot, integrator=integrator, method=method))
        return tables.whole(found.iteration or found.total)

    return count


STEPS = ("euler", "rk4", "dopri5")

OPERATIONS: dict[str, Callable[[], str]] = {
    "rnea": lambda: (
        counts({"rnea": inverse("rnea")}, trees(), "")
        + "\n\n"
        + counts({"rnea": inverse("rnea"), "cluster": inverse("cluster")}, geared(), "loops cut; with loops")
    ),
    "crba": lambda: (
        counts({"mass_matrix": quantity("mass_matrix")}, trees(), "")
        + "\n\n"
        + methods("projection", "cluster", robots=geared)
    ),
    "aba": lambda: counts(
        {
            "aba": total(lambda robot: lw.ForwardDynamics(robot, "aba")),
            "inverse_mass_product": quantity("inverse_mass_product"),
        },
        trees(),
        "",
    ),
    "ltl": lambda: methods("ltl", "prox_ltl"),
    "pv": lambda: methods("pv", "prox_pv", "pv_early", "pv_soft"),
    "lcaba": lambda: methods("lcaba", "constrained_aba", "pv_soft"),
    "bbo": lambda: methods("prox_bbo", "prox_pv", "lcaba"),
    "clusters": lambda: methods("cluster", "projection", "ltl", "approximate", "prox_bbo", "lcaba", robots=geared),
    "osim": lambda: (
        counts({name: matrix(name) for name in explicit() if name != "pv_osim_fast"}, standing(), "method")
        + "\n"
        + _row("pv_osim_fast", standing())
    ),
    "delassus": lambda: counts(
        {
            "product": total(lambda robot: lw.Delassus(robot).product),
            "inverse": total(lambda robot: lw.Delassus(robot).inverse),
            "matrix (pv_osim)": matrix("pv_osim"),
        },
        standing(),
        "",
    ),
    "motion": lambda: counts(
        {name: step(name) for name in STEPS} | {f"{name}, minimal": step(name, "minimal") for name in STEPS},
        moved(),
        "operations of one step",
    ),
    "impact": lambda: counts({name: total(_impact(name)) for name in ("prox_bbo", "lcaba")}, standing(), "method"),
    "index": lambda: methods(*(name for name in METHODS if name not in ("aba", "kkt"))),
}
"""What goes between ``<!-- operations -->`` and its end, by page."""


def hybrids() -> str:
    """Counts of LCABA, C-ABA and both in one, on robots with loops in their legs and constraints that span them."""
    rows = []
    for name, make in scenes.LOCAL_LOOPS.items():
        robot = make()
        local = f"{len(local_constraints(robot))} of {len(robot.constraints)}"
        cells = (by_method(method)(robot) for method in ("lcaba", "cluster", "cluster_lcaba"))
        rows.append((f"{name} ({robot.nv}, {robot.nc})", *cells, local))
    return tables.table(
        ("system (velocities, rows)", "`lcaba`", "`cluster`", "`cluster_lcaba`", "local constraints"), rows
    )


def _impact(method: str) -> Callable[[lw.Mechanism], Any]:
    return lambda robot: lw.ImpactDynamics(robot, method)


def _row(method: str, robots: Mapping[str, lw.Mechanism]) -> str:
    """One more row of a table, of a method that does not serve all of them."""
    cells = []
    for robot in robots.values():
        try:
            cells.append(matrix(method)(robot))
        except lw.errors.UnsupportedFeature:
            cells.append("–")
    return f"| `{method}` | {' | '.join(cells)} |"


def main(folder: Path = PAGES) -> None:
    """Write them all."""
    for name, blocks in (("operations", OPERATIONS), ("measured", MEASURED)):
        for page, make in blocks.items():
            report.rewrite_readme(make(), name, folder / f"{page}.md")
    report.rewrite_readme(hybrids(), "hybrids", folder / "lcaba.md")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
