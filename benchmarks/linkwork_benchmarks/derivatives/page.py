# SPDX-License-Identifier: BSD-3-Clause
"""The page of results, in Markdown. No number on it is written by hand."""

from __future__ import annotations

from pathlib import Path

from linkwork_benchmarks import report, tables
from linkwork_benchmarks.derivatives.scenarios import BATCH, SCENARIOS, Feet, Growth, HeldGrowth, Jacobians
from linkwork_benchmarks.report import Results

PAGE = report.REPOSITORY / "docs" / "internals" / "derivatives-benchmarks.md"

PEER = {"forward": "pin.computeABADerivatives", "inverse": "pin.computeRNEADerivatives"}
BACKENDS = ("native", "specialized", "batch", "specialized_batch")


def write(results: Results, page: Path | None = None) -> Path:
    """Write the page."""
    sections = (
        _introduction(results),
        _times(results, "forward", "Forward dynamics of trees"),
        _times(results, "inverse", "Inverse dynamics of trees"),
        _feet(results),
        _growth(results),
        _held_growth(results),
        tables.notes(results),
    )
    return tables.write_page(page or PAGE, sections)


def _introduction(results: Results) -> str:
    return (
        "# Derivatives, measured\n\n"
        "Made by `python -m linkwork_benchmarks derivatives_page` from the result file of "
        "`python -m linkwork_benchmarks derivatives`: every number on this page. "
        f"{tables.circumstances(results)} Times are of one thread, processor time, the best of {results['rounds']} "
        "rounds in which contenders take turns, called from Python. "
        "What is computed: [Derivatives](../how-to/derivatives.md)."
    )


def _times(results: Results, dynamics: str, title: str) -> str:
    """All Jacobians and the function itself, in microseconds a state, and how many times faster than Pinocchio."""
    metrics, rows = results["metrics"], []
    for s in SCENARIOS:
        if not isinstance(s, Jacobians) or s.dynamics != dynamics or f"{s.name}.nv" not in metrics:
            continue
        theirs = metrics[f"{s.name}.us.pinocchio"]
        cells = []
        for backend in BACKENDS:
            us = metrics.get(f"{s.name}.us.{backend}")
            cells.append("–" if us is None else f"{tables.time(us)} ({theirs / us:.1f} x)")
        stores = tables.time(metrics[f"{s.name}.us.stores"])
        counts = [f"{metrics[f'{s.name}.nv']:.0f}", tables.whole(metrics[f"{s.name}.operations"])]
        rows.append([tables.words(s.robot), *counts, tables.time(theirs), *cells, stores])
    titles = (
        "robot",
        "nv",
        "operations",
        f"`{PEER[dynamics]}`",
        "native",
        "specialized",
        "native batch",
        "specialized batch",
        "stores alone",
    )
    text = (
        f"Microseconds a state, and how many times faster than Pinocchio. Batches of {BATCH} states; *stores alone* is "
        "what writing a constant to all results takes. Straight-line programs of more than 120 000 operations are made "
        "where `max_operations` asks for them, as here."
    )
    return f"## {title}\n\n{text}\n\n{tables.table(titles, rows)}"


def _feet(results: Results) -> str:
    """Robots whose feet are held."""
    metrics, rows = results["metrics"], []
    for s in SCENARIOS:
        if not isinstance(s, Feet) or f"{s.name}.nv" not in metrics:
            continue
        theirs, cells = metrics[f"{s.name}.us.pinocchio"], []
        for backend in BACKENDS:
            us = metrics.get(f"{s.name}.us.{backend}")
            cells.append("–" if us is None else f"{tables.time(us)} ({theirs / us:.1f} x)")
        feet = f"{len(s.joints)} {'welded' if s.rows == 6 else 'points'}"
        counts = [f"{metrics[f'{s.name}.nv']:.0f}", f"{metrics[f'{s.name}.nc']:.0f}"]
        counts.append(tables.whole(metrics[f"{s.name}.operations"]))
        rows.append([tables.words(s.robot), feet, *counts, tables.time(theirs), *cells])
    titles = ("robot", "feet", "nv", "rows", "operations", "Pinocchio", *(b.replace("_", " ") for b in BACKENDS))
    text = (
        "All Jacobians of accelerations and constraint forces by configuration, velocity and torque (here by targets "
        "too), with the solution itself: `pin.constraintDynamics` and `pin.computeConstraintDynamicsDerivatives`. "
        "[Derivatives with constraints](../how-to/constrained-derivatives.md) says what is computed, and where "
        "Pinocchio's are not those of its dynamics."
    )
    return f"## Robots on their feet\n\n{text}\n\n{tables.table(titles, rows)}"


def _growth(results: Results) -> str:
    """Operations over sizes."""
    metrics, rows = results["metrics"], []
    for s in SCENARIOS:
        if isinstance(s, Growth):
            sizes = sorted(int(k.rsplit(".", 1)[1]) for k in metrics if k.startswith(f"{s.name}.inverse."))
            for nv in sizes:
                counts = [metrics[f"{s.name}.{kind}.{nv}"] for kind in ("inverse", "forward")]
                cells = [tables.whole(counts[0]), f"{counts[0] / nv**2:.1f}", tables.whole(counts[1])]
                rows.append([s.family, str(nv), *cells, f"{counts[1] / (3 * nv**2):.1f}"])
    text = (
        "Operations of all Jacobians. Those of inverse dynamics have an entry for each pair of a joint and an "
        "ancestor, n d in all with the depth d: on chains n², on stars a number that is linear in n. Those of "
        "forward dynamics are full, 3 n² numbers, and take a bounded number of operations each: on shallow trees as "
        "many products as row and column have ancestors in common, on deep ones sweeps of articulated bodies. "
        "*Branched* is a chain of half as many links with another link at each."
    )
    titles = ("family", "nv", "inverse", "inverse / nv²", "forward", "forward / number")
    return f"## Growth\n\n{text}\n\n{tables.table(titles, rows)}"


def _held_growth(results: Results) -> str:
    """Operations over sizes, of chains whose tip is held."""
    metrics, rows = results["metrics"], []
    for s in SCENARIOS:
        if isinstance(s, HeldGrowth):
            for nv in sorted(int(k.rsplit(".", 1)[1]) for k in metrics if k.startswith(f"{s.name}.")):
                count, numbers = metrics[f"{s.name}.{nv}"], (nv + s.rows) * (3 * nv + s.rows)
                shares = [f"{count / x:.1f}" for x in (nv**2 * s.rows, numbers)]
                rows.append(["weld" if s.rows == 6 else "point", str(nv), str(s.rows), tables.whole(count), *shares])
    text = (
        "Operations of all Jacobians of a chain whose tip is held, by n joints and m rows. They are (n + m) (3 n + m) "
        "numbers, and take a bounded number of operations each: short chains have products, long ones sweeps of "
        "articulated bodies, which the rows correct by some n² m products."
    )
    titles = ("tip", "n", "m", "operations", "operations / n² m", "operations / number")
    return f"## Growth with constraints\n\n{text}\n\n{tables.table(titles, rows)}"
