# SPDX-License-Identifier: BSD-3-Clause
"""The page of results, in Markdown with plots. No number on it is written by hand."""

from __future__ import annotations

from pathlib import Path

from linkwork_benchmarks import drawing, report, tables
from linkwork_benchmarks.constrained import bars, page_accuracy, page_systems, plots
from linkwork_benchmarks.constrained.scenarios import GROUNDED, LTL_SOFT, PROXIMAL, REGULARIZATION
from linkwork_benchmarks.report import Results
from linkwork_benchmarks.scenarios import BATCH

PAGE = report.REPOSITORY / "docs" / "internals" / "benchmarks.md"

SUMMARY = {
    "lcaba.native": "native `lcaba`",
    "lcaba.native_batch": "native batch",
    "auto.specialized": "specialized",
    "auto.batch": "batch",
}
"""Columns of the table of performance; of those that the result file has."""


def write(results: Results, page: Path | None = None) -> Path:
    """Write the page, and its plots in the folder ``plots`` beside it."""
    page = page or PAGE
    shown = drawing.write_beside(page, plots.PLOTS, results)
    sections = (
        _introduction(results),
        _bars(results),
        page_systems.loops(results, shown),
        page_systems.growth(
            results,
            shown,
            "loops_growth",
            "loops Figs. 6 to 9",
            ("single_loop", "chain_of_loops", "chain_of_hinged_loops", "coupled_loops", "star_of_loops"),
            PROXIMAL,
        ),
        *page_accuracy.convergence(results, shown),
        page_systems.lqr(results, shown),
        page_systems.growth(
            results,
            shown,
            "lqr_growth",
            "lqr Fig. 4: chains and ladders",
            ("held_chain", "ladder"),
            (*GROUNDED, LTL_SOFT),
        ),
        page_accuracy.softness(results, shown),
        page_accuracy.proximal(results, shown),
        page_accuracy.duplicated(results),
        tables.notes(results),
    )
    return tables.write_page(page, sections)


ON_GPU = {"Cassie": "gpu.cassie.cluster.solution", "Digit, its file": "gpu.digit.prox_bbo.solution"}
"""Systems that the study of GPUs has, too: exact, or one iteration, with constraint forces."""


def summary(results: Results) -> str:
    """A state a call and in batches, one iteration, beside the fastest of each peer, and on how many systems peers'
    answers are off: for the page of performance.
    """
    metrics, rows = results["metrics"], []
    measured = {name.split(".", 3)[-1] for name in metrics if name.endswith(".us")}
    shown = {
        backend: title
        for backend, title in SUMMARY.items()
        if backend.startswith("auto.") or f"{backend}.us" in measured
    }
    measured_there = {system: report.gpu_metric(f"{name}.float64.us") for system, name in ON_GPU.items()}
    on_gpu = {system: us for system, us in measured_there.items() if us is not None}
    baseline = bars.baseline_span(metrics)
    for system in bars.judged(metrics):
        best = bars.fastest(results, system, 1, bars.PINOCCHIO)
        cells = [tables.time(best), tables.time(bars.fastest(results, system, 1, bars.MUJOCO))]
        for backend in shown:
            mine = bars.time(results, system, 1, backend)
            ratio = "" if mine is None or best is None else f" ({best / mine:.1f}×)"
            cells.append(tables.time(mine) + ratio)
        if on_gpu:
            mine = on_gpu.get(system.partition(".")[2])
            ratio = "" if mine is None or best is None else f" ({best / mine:.0f}×)"
            cells.append(tables.time(mine) + ratio)
        if baseline:
            known = bars.baseline_ratio(metrics, system)
            cells.append("–" if known is None else f"{known:.1f}×")
        size = f"{metrics[f'{system}.nv']:.0f}, {metrics[f'{system}.rows']:.0f}"
        rows.append((f"{system.partition('.')[2]} ({size})", f"`{results['words'][f'{system}.1.auto']}`", *cells))
    titles = (
        "system (velocities, rows)",
        "auto takes",
        "Pinocchio",
        "MuJoCo",
        *shown.values(),
        *(["GPU"] if on_gpu else []),
        *(["native `lcaba` without AVX and FMA"] if baseline else []),
    )
    return "\n\n".join(filter(None, (tables.table(titles, rows), _peers_off(results))))


def _peers_off(results: Results) -> str:
    """On how many of the systems a peer's answers are off, and what the last column is."""
    told = bars.peers_off(results)
    told = f"{told} ([notes](benchmarks.md#notes))." if told else ""
    if bars.baseline_span(results["metrics"]):
        told += (
            " Pinocchio's wheel is made for all x86-64 processors: the last column compares with our code for the "
            "same, in a process of its own."
        )
    return told.strip()


# Parts -----------------------------------------------------------------------------------------------------


def _introduction(results: Results) -> str:
    return (
        "# Constrained dynamics, as the papers measure it\n\n"
        "Made by `python -m linkwork_benchmarks page` from the result file of "
        "`python -m linkwork_benchmarks constrained`: every "
        "number on this page, and every sentence that says which bars are met. "
        f"{tables.circumstances(results, mujoco=True)}\n\n"
        "All times are microseconds per state, called from Python, contenders taking turns in one process, best of "
        f"{results['rounds']} rounds. *native*: `fd(q, v, tau)`; *specialized*: `fd.compile()(q, v, tau)`; "
        f"*native batch*, *batch*: {BATCH} states a call of these on one thread. Proximal methods, ours and "
        f"Pinocchio's, have the regularization {REGULARIZATION:g} and a fixed number of iterations. States are random "
        "ones about the assembled pose, with loops closed and velocities that keep them so. Before anything is timed, "
        "accelerations are compared: ours and Pinocchio's after the same number of iterations, MuJoCo's (soft rows, no "
        "bias) at rest with the softness that MuJoCo chose; what differs by more than 1e-6 of the largest acceleration "
        "is under [Notes](#notes). MuJoCo runs without contacts, limits, friction, damping, springs and actuators.\n\n"
        "*Operations* are exact counts of + - * / sqrt sincos in the specialized program: no clock, no noise. An entry "
        "`a + b (last c)` means `a` for the first iteration, `b` for each further one, and `c` for the last of them "
        "where that refines."
    )


def _bars(results: Results) -> str:
    systems = bars.judged(results["metrics"])
    if not systems:
        return ""
    parts = ["## Bars"]
    for iterations in (1, 3):
        rows = []
        for system in systems:
            ratios = [bars.ratio(results, system, iterations, bar) for bar in bars.BARS]
            auto = results["words"].get(f"{system}.{iterations}.auto", "")
            rows.append((system.partition(".")[2], f"`{auto}`", *map(_against, ratios, bars.BARS)))
        titles = [f"{bar.title} (≥ {bar.least:g})" for bar in bars.BARS]
        parts.append(f"Times faster than the fastest of the peer's solvers, {_iterations(iterations)}:")
        parts.append(tables.table(("system", "auto takes", *titles), rows))
        parts.append("\n".join(f"- {bars.verdict(results, systems, iterations, bar)}" for bar in bars.BARS))
    return "\n\n".join(parts)


def _against(value: float | None, bar: bars.Bar) -> str:
    return "–" if value is None else f"{value:.2f} {'✓' if value >= bar.least else '✗'}"


def _iterations(count: int) -> str:
    return "one iteration" if count == 1 else f"{count} iterations"
