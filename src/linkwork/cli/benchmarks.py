# SPDX-License-Identifier: BSD-3-Clause
"""Times of models, and suites of linkwork_benchmarks, for ``linkwork bench``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.cli.analysis import format_of
from linkwork.cli.layout import heading, item
from linkwork.cli.loading import ModelRequest, UsageError, load_moving, start_configuration
from linkwork.cli.operation_counts import known_methods
from linkwork.cli.result_tables import ResultTable, csv_text, latex, merge_tables, tables_from_metrics
from linkwork.cli.terminal import printable
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork_benchmarks.models import Times

RESULT_FORMATS = (".json", ".csv", ".tex")
_MISSING = (
    "{}; benchmarks, and the libraries compared with, are a distribution of their own in the repository of linkwork: "
    "clone it, and pip install ./benchmarks there"
)


@dataclass(frozen=True)
class ModelTiming:
    """A model, and its times."""

    file: str
    name: str
    nv: int
    nc: int
    times: Times

    def as_json(self) -> dict[str, Any]:
        """The report for JSON; keys are explained in docs/reference/cli.md."""
        rows = []
        for t in self.times.times:
            peer = self.times.peer(t.quantity)
            ratio = None if peer is None else peer / t.us
            row = {
                "quantity": t.quantity,
                "by": t.by,
                "backend": t.backend,
                "us": t.us,
                "ratio": ratio,
                "error": t.error,
            }
            rows.append(row)
        sizes = {"file": self.file, "name": self.name, "nv": self.nv, "nc": self.nc}
        how = {"iterations": self.times.iterations, "rounds": self.times.rounds}
        return {**sizes, **how, "times": rows, "notes": self.times.notes}

    def tables(self) -> list[ResultTable]:
        """A table for each quantity: microseconds, and how many times faster than the best of the others."""
        table_rows = []
        for quantity in dict.fromkeys(t.quantity for t in self.times.times):
            peer = self.times.peer(quantity)
            rows = [
                (t.by, t.backend, t.us, None if peer is None or t.backend == "call" else peer / t.us, t.error)
                for t in self.times.times
                if t.quantity == quantity
            ]
            iterated = f", {self.times.iterations} iterations" if quantity == "forward_dynamics" and self.nc else ""
            words = f"{quantity.replace('_', ' ').capitalize()}{iterated}: µs for a state"
            title = f"{words}, best of {self.times.rounds} rounds"
            table_rows.append(
                ResultTable(title, ("by", "backend", "µs", "times faster than others", "error"), rows, 2).used()
            )
        return table_rows


def bench_file(file: Path, request: ModelRequest, methods: Sequence[str], quick: bool) -> ModelTiming:
    """Load a model, close its loops, and time its quantities."""
    robot = load_moving(file, request)
    chosen = known_methods(robot, methods) if methods else ()
    mjcf = file if format_of(str(file)) == "MJCF" else None
    try:
        from linkwork_benchmarks.models import measure
    except ImportError as error:
        raise LinkworkError(_MISSING.format(error)) from None
    return ModelTiming(
        str(file),
        robot.name,
        robot.nv,
        robot.nc,
        measure(robot, start_configuration(robot, request), mjcf, chosen, quick),
    )


def run_suite(suite: str, only: str | None, quick: bool) -> dict[str, Any]:
    """The results of a suite, as in a result file."""
    try:
        from linkwork_benchmarks import suites
    except ImportError as error:
        raise LinkworkError(_MISSING.format(error)) from None
    try:
        return suites.run(suite, only, quick)
    except suites.NothingToRun as error:
        raise LinkworkError(str(error)) from None
    except ImportError as error:
        raise LinkworkError(_MISSING.format(error)) from None


def _report() -> Any:
    try:
        return import_module("linkwork_benchmarks.report")
    except ImportError as error:
        raise LinkworkError(_MISSING.format(error)) from None


def results_of(timings: Sequence[ModelTiming]) -> dict[str, Any]:
    """Times of models with the machine and versions."""
    here = _report().circumstances()
    return {
        "linkwork": lw.__version__,
        "date": here["date"],
        "machine": here["machine"],
        "versions": here["versions"],
        "files": [timing.as_json() for timing in timings],
    }


def check_output_paths(places: Sequence[Path]) -> None:
    """Raise `UsageError`, before a long suite, for a file of a kind that is not written."""
    for place in places:
        if place.suffix not in RESULT_FORMATS:
            raise UsageError(
                f"--out: {place} ends in '{place.suffix}'; results are written as {', '.join(RESULT_FORMATS)}"
            )


def save(results: dict[str, Any], tables: Sequence[ResultTable], flat: ResultTable, places: Sequence[Path]) -> None:
    """Write results to files in the formats of their extensions: tables for LaTeX, one flat table as CSV."""
    machine, versions = results["machine"], results["versions"]
    where = [
        f"linkwork {lw.__version__}, {results['date']}",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}",
        ", ".join(f"{name} {version}" for name, version in versions.items() if version),
    ]
    texts: dict[str, Callable[[], str]] = {
        ".json": lambda: _report().as_text(results),
        ".csv": lambda: csv_text(flat),
        ".tex": lambda: latex(tables, where),
    }
    for place in places:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(texts[place.suffix](), encoding="utf-8")
        except OSError as error:
            raise LinkworkError(f"cannot write {place}: {error.strerror or error}") from None


def save_times(results: dict[str, Any], timings: Sequence[ModelTiming], places: Sequence[Path]) -> None:
    """Write times of models."""
    tables = [replace(table, title=f"{timing.name}: {table.title}") for timing in timings for table in timing.tables()]
    models = ("file", "name", "nv", "nc")
    times = ("quantity", "by", "backend", "us", "ratio", "error")
    rows = [
        (*(file[key] for key in models), *(time[key] for key in times))
        for file in results["files"]
        for time in file["times"]
    ]
    save(results, tables, ResultTable("times", (*models, *times), rows, 7), places)


def save_suite(suite: str, results: dict[str, Any], places: Sequence[Path]) -> None:
    """Write the results of a suite."""
    tables = tables_from_metrics(f"Suite {suite}", results["metrics"])
    save(results, tables, merge_tables(suite, tables), places)


def draw_times(console: Console, timing: ModelTiming) -> None:
    """Print the times of a model."""
    console.print(Text(printable(timing.name), "bold"), Text(f"(nv {timing.nv}, nc {timing.nc})", "dim"))
    for table in timing.tables():
        table.without("error").draw(console)
    _draw_notes(console, timing.times.notes)


def draw_results(console: Console, suite: str, results: dict[str, Any]) -> None:
    """Print the results of a suite."""
    console.print(Text(f"Suite {suite}", "bold"))
    for table in tables_from_metrics(f"Suite {suite}", results.get("metrics", {})):
        table.draw(console)
    _draw_notes(console, results.get("notes", ()))


def _draw_notes(console: Console, notes: Sequence[str]) -> None:
    if notes:
        heading(console, "Notes", "cyan")
        for note in notes:
            item(console, note)
