"""Times of models, and studies: what ``linkwork bench`` asks of linkwork_benchmarks, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.cli.counting import known_methods
from linkwork.cli.finding import format_of
from linkwork.cli.looking import Look, read, start_of
from linkwork.cli.pages import heading, item, table
from linkwork.cli.terminal import printable
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork_benchmarks.models import Times

_MISSING = "{}: the studies and their peers come with: pip install 'linkwork[bench]'"


@dataclass(frozen=True)
class Timed:
    """A model, and its times."""

    file: str
    name: str
    nv: int
    nc: int
    times: Times

    def as_json(self) -> dict[str, Any]:
        """What scripts read; keys are explained in docs/cli.md."""
        rows = []
        for t in self.times.times:
            peer = self.times.peer(t.quantity)
            ratio = None if peer is None else peer / t.us
            row = {"quantity": t.quantity, "by": t.by, "way": t.way, "us": t.us, "ratio": ratio, "error": t.error}
            rows.append(row)
        sizes = {"file": self.file, "name": self.name, "nv": self.nv, "nc": self.nc}
        how = {"iterations": self.times.iterations, "rounds": self.times.rounds}
        return {**sizes, **how, "times": rows, "notes": self.times.notes}


def bench_file(file: Path, how: Look, methods: Sequence[str], quick: bool) -> Timed:
    """Load a model, close its loops, and time what is computed with it."""
    robot, _ = read(file, how)
    chosen = known_methods(robot, methods) if methods else ()
    mjcf = file if format_of(str(file)) == "MJCF" else None
    try:
        from linkwork_benchmarks.models import measure
    except ImportError as error:
        raise LinkworkError(_MISSING.format(error)) from None
    return Timed(str(file), robot.name, robot.nv, robot.nc, measure(robot, start_of(robot, how), mjcf, chosen, quick))


def run_suite(suite: str, only: str | None, quick: bool, out: Path | None) -> dict[str, Any]:
    """Run a study; its results, as in a result file."""
    try:
        from linkwork_benchmarks import suites
    except ImportError as error:
        raise LinkworkError(_MISSING.format(error)) from None
    try:
        return suites.run(suite, only, quick, out)
    except suites.NothingToRun as error:
        raise LinkworkError(str(error)) from None
    except ImportError as error:
        raise LinkworkError(_MISSING.format(error)) from None
    except OSError as error:
        raise LinkworkError(f"cannot write {out}: {error.strerror or error}") from None


def results_of(found: Sequence[Timed]) -> dict[str, Any]:
    """Times of models with the circumstances in which they were measured."""
    try:
        from linkwork_benchmarks.report import circumstances
    except ImportError as error:
        raise LinkworkError(_MISSING.format(error)) from None
    here = circumstances()
    return {
        "linkwork": lw.__version__,
        "date": here["date"],
        "machine": here["machine"],
        "versions": here["versions"],
        "files": [timed.as_json() for timed in found],
    }


def keep(results: dict[str, Any], out: Path) -> None:
    """Write results to a file."""
    try:
        out.write_text(json.dumps(results, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise LinkworkError(f"cannot write: {error.strerror or error}") from None


def draw_times(console: Console, timed: Timed) -> None:
    """Times of a model for people: microseconds, and how many times faster than the best of the others."""
    console.print(Text(printable(timed.name), "bold"), Text(f"(nv {timed.nv}, nc {timed.nc})", "dim"))
    found = timed.times
    for quantity in dict.fromkeys(t.quantity for t in found.times):
        peer = found.peer(quantity)
        rows = [
            (t.by, t.way, f"{t.us:.3g}", "" if peer is None or t.way == "call" else f"{peer / t.us:.1f}")
            for t in found.times
            if t.quantity == quantity
        ]
        iterated = f", {found.iterations} iterations" if quantity == "forward_dynamics" and timed.nc else ""
        title = f"{quantity.replace('_', ' ').capitalize()}{iterated}: µs for a state, best of {found.rounds} rounds"
        columns = [("by", False), ("way", True), ("µs", True), ("times faster than others", True)]
        table(console, title, columns if peer is not None else columns[:3], rows if peer else [r[:3] for r in rows])
    if found.notes:
        heading(console, "Notes", "cyan")
        for note in found.notes:
            item(console, note)


def draw_results(console: Console, suite: str, results: dict[str, Any]) -> None:
    """Numbers of a study, a line each."""
    metrics = results.get("metrics", {})
    table(
        console, f"Suite {suite}", (("metric", False), ("value", True)), [(n, f"{x:.6g}") for n, x in metrics.items()]
    )
    if results.get("notes"):
        heading(console, "Notes", "cyan")
        for note in results["notes"]:
            item(console, note)
