# SPDX-License-Identifier: BSD-3-Clause
"""The section of docs/internals/performance.md about functions of a state. No number in it is written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork_benchmarks import tables
from linkwork_benchmarks.quantities.pairs import PAIRS
from linkwork_benchmarks.quantities.scenarios import BATCH, QUANTITIES, ROBOTS

BACKENDS = {
    "native": "native",
    "specialized": "specialized",
    "bound": "bound",
    "native_batch": "native batch",
    "batch": "batch",
}
"""Columns, by the names of metrics."""


def section(results: Mapping[str, Any] | None) -> str:
    """A table for each robot."""
    if results is None:
        return ""
    parts = [_table(results["metrics"], robot) for robot in ROBOTS]
    worst = max(
        (x for name, x in results["metrics"].items() if name.endswith(".difference")),
        default=0.0,
    )
    return "\n\n".join(
        (
            "## Functions of a state",
            "Quantities of Talos (50 degrees of freedom) and UR5 (6), each by the evaluator that computes it and by "
            "Pinocchio's functions, called from Python as they stand; in brackets times faster than these. Results "
            "that Pinocchio leaves in `data` stay there, while ours are new arrays but where they are *bound*. "
            f"Batches have {BATCH} states. Before anything was timed, results were compared: they differ by "
            f"{worst:.0e} of the largest number at most. Quantities of *bodies* are of all that move, those of a frame "
            "or a point are of the last body, the subtree is that of the joint in the middle of the list.",
            *(part for part in parts if part),
        )
    )


def _table(metrics: Mapping[str, float], robot: str) -> str:
    rows = []
    for quantity in QUANTITIES:
        start = f"{robot}.{quantity}"
        theirs = metrics.get(f"{start}.us.pinocchio")
        if theirs is None:
            continue
        cells = [tables.whole(metrics[f"{start}.operations"]), tables.time(theirs)]
        for backend in BACKENDS:
            us = metrics.get(f"{start}.us.{backend}")
            cells.append("–" if us is None else f"{tables.time(us)} ({_times(theirs / us)}×)")
        rows.append((f"{tables.words(quantity)} (`{PAIRS[quantity].words}`)", *cells))
    if not rows:
        return ""
    titles = ("quantity (Pinocchio's function)", "operations", "Pinocchio", *BACKENDS.values())
    return f"### {robot.capitalize() if robot == 'talos' else robot.upper()}\n\n{tables.table(titles, rows)}"


def _times(ratio: float) -> str:
    """Two digits, or all before the point."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def slower(metrics: Mapping[str, float]) -> list[str]:
    """A sentence for each quantity that takes longer than Pinocchio's."""
    lines = []
    for name, us in metrics.items():
        start, _, backend = name.rpartition(".us.")
        theirs = metrics.get(f"{start}.us.pinocchio")
        if backend in BACKENDS and theirs is not None and us > theirs:
            robot, _, quantity = start.partition(".")
            lines.append(
                f"{tables.words(quantity)} of {robot}, {BACKENDS[backend]}: {theirs / us:.2f} times as fast as "
                f"Pinocchio ({tables.time(us)} and {tables.time(theirs)} µs)."
            )
    return lines
