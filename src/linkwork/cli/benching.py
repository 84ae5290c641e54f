"""Times of models, and studies: what ``linkwork bench`` asks of linkwork_benchmarks, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.cli.counting import known_methods
from linkwork.cli.finding import format_of
from linkwork.cli.looking import Look, Misused, read, start_of
from linkwork.cli.pages import heading, item
from linkwork.cli.sheets import Sheet, comma_separated, latex, of_metrics, together
from linkwork.cli.terminal import printable
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork_benchmarks.models import Times

KEPT = (".json", ".csv", ".tex")
"""Kinds of files that results are written to."""
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

    def sheets(self) -> list[Sheet]:
        """A table for each quantity: microseconds, and how many times faster than the best of the others."""
        found = []
        for quantity in dict.fromkeys(t.quantity for t in self.times.times):
            peer = self.times.peer(quantity)
            rows = [
                (t.by, t.way, t.us, None if peer is None or t.way == "call" else peer / t.us, t.error)
                for t in self.times.times
                if t.quantity == quantity
            ]
            iterated = f", {self.times.iterations} iterations" if quantity == "forward_dynamics" and self.nc else ""
            words = f"{quantity.replace('_', ' ').capitalize()}{iterated}: µs for a state"
            title = f"{words}, best of {self.times.rounds} rounds"
            found.append(Sheet(title, ("by", "way", "µs", "times faster than others", "error"), rows, 2).used())
        return found


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


def run_suite(suite: str, only: str | None, quick: bool) -> dict[str, Any]:
    """Run a study; its results, as in a result file."""
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


def results_of(found: Sequence[Timed]) -> dict[str, Any]:
    """Times of models with the circumstances in which they were measured."""
    here = _report().circumstances()
    return {
        "linkwork": lw.__version__,
        "date": here["date"],
        "machine": here["machine"],
        "versions": here["versions"],
        "files": [timed.as_json() for timed in found],
    }


def check_places(places: Sequence[Path]) -> None:
    """`Misused` where results would be of no kind that is written: known before a long study."""
    for place in places:
        if place.suffix not in KEPT:
            raise Misused(f"--out: {place} ends in '{place.suffix}'; results are {', '.join(KEPT)}")


def keep(results: dict[str, Any], sheets: Sequence[Sheet], flat: Sheet, places: Sequence[Path]) -> None:
    """Write results to files of the kinds that their endings say: tables for LaTeX, one flat one as CSV."""
    machine, versions = results["machine"], results["versions"]
    where = [
        f"linkwork {lw.__version__}, {results['date']}",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}",
        ", ".join(f"{name} {version}" for name, version in versions.items() if version),
    ]
    texts: dict[str, Callable[[], str]] = {
        ".json": lambda: _report().as_text(results),
        ".csv": lambda: comma_separated(flat),
        ".tex": lambda: latex(sheets, where),
    }
    for place in places:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(texts[place.suffix](), encoding="utf-8")
        except OSError as error:
            raise LinkworkError(f"cannot write {place}: {error.strerror or error}") from None


def keep_times(results: dict[str, Any], found: Sequence[Timed], places: Sequence[Path]) -> None:
    """Write times of models."""
    sheets = [replace(sheet, title=f"{timed.name}: {sheet.title}") for timed in found for sheet in timed.sheets()]
    models = ("file", "name", "nv", "nc")
    times = ("quantity", "by", "way", "us", "ratio", "error")
    rows = [
        (*(file[key] for key in models), *(time[key] for key in times))
        for file in results["files"]
        for time in file["times"]
    ]
    keep(results, sheets, Sheet("times", (*models, *times), rows, 7), places)


def keep_suite(suite: str, results: dict[str, Any], places: Sequence[Path]) -> None:
    """Write the results of a study."""
    sheets = of_metrics(f"Suite {suite}", results["metrics"])
    keep(results, sheets, together(suite, sheets), places)


def draw_times(console: Console, timed: Timed) -> None:
    """Times of a model for people."""
    console.print(Text(printable(timed.name), "bold"), Text(f"(nv {timed.nv}, nc {timed.nc})", "dim"))
    for sheet in timed.sheets():
        sheet.without("error").draw(console)
    _draw_notes(console, timed.times.notes)


def draw_results(console: Console, suite: str, results: dict[str, Any]) -> None:
    """Numbers of a study in tables."""
    console.print(Text(f"Suite {suite}", "bold"))
    for sheet in of_metrics(f"Suite {suite}", results.get("metrics", {})):
        sheet.draw(console)
    _draw_notes(console, results.get("notes", ()))


def _draw_notes(console: Console, notes: Sequence[str]) -> None:
    if notes:
        heading(console, "Notes", "cyan")
        for note in notes:
            item(console, note)
