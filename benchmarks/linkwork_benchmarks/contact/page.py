# SPDX-License-Identifier: BSD-3-Clause
"""The page of results, in Markdown. No number on it is written by hand."""

from __future__ import annotations

from pathlib import Path

from linkwork_benchmarks import report, tables
from linkwork_benchmarks.constrained import series
from linkwork_benchmarks.contact import bars, motion_page
from linkwork_benchmarks.contact.scenarios import RESIDUAL
from linkwork_benchmarks.report import Results

PAGE = report.REPOSITORY / "docs" / "internals" / "contact-benchmarks.md"

SOLVERS = {
    "pinocchio.admm": "Pinocchio's ADMM",
    "pinocchio.admm_tuned": "the same, tuned",
    "pinocchio.pgs": "Pinocchio's PGS",
    "linkwork.admm": "`admm`",
    "linkwork.pgs": "`pgs`",
    "step.newton": "step, `newton`",
    "step.admm": "step, `admm`",
    "step.pgs": "step, `pgs`",
}


def write(results: Results, page: Path | None = None) -> Path:
    """Write the page."""
    page = page or PAGE
    motions = motion_page.sections(results)
    sections = (
        _introduction(results),
        _solved(results),
        _growth(results),
        _robots(results),
        *motions,
        _bars(results),
        tables.notes(results),
    )
    return tables.write_page(page, sections)


def _introduction(results: Results) -> str:
    return (
        "# Contact with friction, measured\n\n"
        "Made by `python -m linkwork_benchmarks contact_page` from the result file of "
        "`python -m linkwork_benchmarks contact`: every number on this page. "
        f"{tables.circumstances(results, mujoco=True)}"
    )


def _solved(results: Results) -> str:
    metrics = results["metrics"]
    piles = bars.piles(metrics)
    if not piles:
        return ""
    times, counts = [], []
    for pile in piles:
        rows = tables.whole(metrics.get(f"solve.{pile}.rows"))
        cells = [tables.time(bars.value(metrics, pile, solver, "us")) for solver in SOLVERS]
        times.append((f"{pile} ({rows})", *cells))
        counts.append((pile, *(_iterations(metrics, pile, solver) for solver in SOLVERS)))
    titles = ("scene (rows)", *SOLVERS.values())
    return (
        "## Piles of boxes\n\n"
        "Cubes of 20 cm and 1 kg at rest, friction 0.5, a step of 1 ms from zero forces. Solvers before the columns "
        "*step* have the same Delassus matrix and free velocity, and are given the matrix; a *step* is all of it, from "
        "geometry to the next state. All end at a residual of 1e-8 m/s by one definition (`kernels/contact/cones.py`), "
        "which Pinocchio's forces are measured with, too: of its tolerances the loosest decade that reaches it, of its "
        "three rules for the penalty the fastest; *tuned*: with 10 steps of Lanczos' method in place of as many as "
        "there are rows. Microseconds, one thread, best of rounds that take turns in one process; "
        f"no time where the residual was not reached.\n\n{tables.table(titles, times)}\n\n"
        "Iterations, and in brackets the residual where it was not reached:\n\n"
        f"{tables.table(('scene', *SOLVERS.values()), counts)}"
    )


def _iterations(metrics: bars.Metrics, pile: str, solver: str) -> str:
    count, residual = (bars.value(metrics, pile, solver, what) for what in ("iterations", "residual"))
    if count is None or residual is None:
        return "–"
    missed = f" ({residual:.0e})" if residual > RESIDUAL else ""
    return f"{tables.whole(count)}{missed}"


def _growth(results: Results) -> str:
    metrics = results["metrics"]
    rows = []
    for family in series.names(metrics, "growth", 1):
        for solver in ("newton", "admm"):
            curve = series.growth(metrics, family, solver, "us_per_iteration")
            cells = ", ".join(f"{n:.0f}: {tables.time(us)}" for n, us in curve)
            rows.append((f"{family}, `{solver}`", cells, tables.power(bars.growth(metrics, family, solver))))
    if not rows:
        return ""
    titles = ("scene, solver", "µs an iteration, by boxes or links", "exponent, 10 to 500")
    return (
        "## Growth\n\nTime of a whole step over its iterations: stacks of boxes at rest, and a swimmer with two "
        f"spheres under each link that slides.\n\n{tables.table(titles, rows)}"
    )


def _robots(results: Results) -> str:
    metrics, rows = results["metrics"], []
    for motion in bars.MOTIONS:
        found = {
            key.removeprefix(f"robots.cassie.{motion}."): value
            for key, value in metrics.items()
            if key.startswith(f"robots.cassie.{motion}.")
        }
        if found:
            rows.append(
                (
                    motion,
                    *(f"{found[f'{name}.us']:.2f}" for name in ("compiled", "native", "mujoco")),
                    f"{found['compiled.ratio']:.1f}",
                    f"{found['compiled.open']:.0e}",
                )
            )
    titles = ("Cassie", "compiled, µs", "native, µs", "`mj_step`, µs", "times", "loops open by, m")
    return (
        ""
        if not rows
        else "## Robots\n\nCassie on two feet with four contact points each, under a controller that holds it: time of "
        "a step of 1 ms of a robot in a batch of 4096 on one core, contacts solved to 3e-9, and of MuJoCo's step of "
        f"the same scene with its own contacts.\n\n{tables.table(titles, rows)}"
    )


def _bars(results: Results) -> str:
    words = {True: "yes", False: "**no**", None: "–"}
    rows = [
        (bar.asked, bar.found, words[bar.met])
        for bar in (*bars.bars(results["metrics"]), *motion_page.motion_bars(results["metrics"]))
    ]
    return f"## What was asked\n\n{tables.table(('asked', 'found', 'met'), rows)}"
