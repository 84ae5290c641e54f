"""Benchmarks from the command line, ``python -m linkwork_benchmarks COMMAND``.

``[run] [--quick] [--only REGEX] [--out FILE]``: trees, beside Pinocchio and MuJoCo.
``table [FILE]``, ``readme [FILE]``: their tables, printed or put into README.md.
``constrained [--quick] [--only REGEX] [--out FILE]``: constrained dynamics, as the papers do.
``page [FILE]``: docs/benchmarks.md, its plots and a table in README.md, from the latter's file.
``clusters [--quick] [--only REGEX] [--out FILE]``: gears and belts, as **clusters** does.
``clusters_page [FILE]``: docs/clusters-benchmarks.md and its plots, from the latter's file.
``delassus [--quick] [--only REGEX] [--out FILE]``: the Delassus operator, as the papers do.
``delassus_page [FILE]``: docs/delassus-benchmarks.md and its plots, from the latter's file.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from linkwork_benchmarks import report
from linkwork_benchmarks.runner import QUICK, Settings, measure, say
from linkwork_benchmarks.scenarios import SCENARIOS

Named = TypeVar("Named")

CONSTRAINED = report.RESULTS.with_name("constrained.json")
CLUSTERS = report.RESULTS.with_name("clusters.json")
DELASSUS = report.RESULTS.with_name("delassus.json")


def run(only: str | None, quick: bool, out: Path | None) -> None:
    """Measure, write the result file, print the tables. What is not a full run writes only where it is told to."""
    settings = QUICK if quick else Settings()
    results = {**report.circumstances(), "rounds": settings.rounds, "metrics": {}}
    chosen = _chosen(SCENARIOS, only)
    start = perf_counter()
    for k, scenario in enumerate(chosen, 1):
        say(f"[{k}/{len(chosen)}] {scenario.name}, at {perf_counter() - start:.0f} s")
        results["metrics"] |= measure(scenario, settings)
    _save(results, out or (None if only or quick else report.RESULTS))
    say("\n" + report.tables(results))


def run_constrained(only: str | None, quick: bool, out: Path | None) -> None:
    """The same for constrained dynamics; ``page`` makes the page of it."""
    from linkwork_benchmarks.constrained import scenarios, studies

    settings, journal = studies.QUICK if quick else studies.FULL, studies.Journal()
    chosen = _chosen(scenarios.SCENARIOS, only)
    start = perf_counter()
    for k, scenario in enumerate(chosen, 1):
        say(f"[{k}/{len(chosen)}] {scenario.name}, at {perf_counter() - start:.0f} s")
        studies.measure(scenarios.smaller(scenario) if quick else scenario, settings, journal)
    results = {
        **report.circumstances(),
        "rounds": settings.rounds,
        "seconds": round(perf_counter() - start),
        "quick": quick,
        "notes": journal.notes,
        "words": journal.words,
        "metrics": journal.metrics,
    }
    _save(results, out or (None if only or quick else CONSTRAINED))


def run_clusters(only: str | None, quick: bool, out: Path | None) -> None:
    """The same for transmissions; ``clusters_page`` makes the page of it."""
    from linkwork_benchmarks.clusters import scenarios, studies

    settings, journal = studies.QUICK if quick else studies.FULL, studies.Journal()
    chosen = _chosen(scenarios.SCENARIOS, only)
    start = perf_counter()
    for k, scenario in enumerate(chosen, 1):
        say(f"[{k}/{len(chosen)}] {scenario.name}, at {perf_counter() - start:.0f} s")
        studies.measure(scenarios.smaller(scenario) if quick else scenario, settings, journal)
    results = {
        **report.circumstances(),
        "rounds": settings.rounds,
        "seconds": round(perf_counter() - start),
        "quick": quick,
        "notes": journal.notes,
        "curves": journal.curves,
        "metrics": journal.metrics,
    }
    _save(results, out or (None if only or quick else CLUSTERS))


def run_delassus(only: str | None, quick: bool, out: Path | None) -> None:
    """The same for the Delassus operator; ``delassus_page`` makes the page of it."""
    from linkwork_benchmarks.delassus import dense, scenarios, studies

    settings, journal = studies.QUICK if quick else studies.FULL, studies.Journal()
    chosen = _chosen(scenarios.SCENARIOS, only)
    if not dense.one_thread():
        journal.note("OpenBLAS was not found in the wheels of NumPy and SciPy: dense algebra may use all cores")
    start = perf_counter()
    for k, scenario in enumerate(chosen, 1):
        say(f"[{k}/{len(chosen)}] {scenario.name}, at {perf_counter() - start:.0f} s")
        studies.measure(scenarios.smaller(scenario) if quick else scenario, settings, journal)
    results = {
        **report.circumstances(),
        "rounds": settings.rounds,
        "seconds": round(perf_counter() - start),
        "quick": quick,
        "notes": journal.notes,
        "metrics": journal.metrics,
    }
    _save(results, out or (None if only or quick else DELASSUS))


def _chosen(scenarios: Sequence[Named], only: str | None) -> list[Named]:
    names = [str(getattr(s, "name", "")) for s in scenarios]
    chosen = [s for s, name in zip(scenarios, names, strict=True) if only is None or re.search(only, name)]
    if not chosen:
        raise SystemExit(f"no scenario matches '{only}'; there are {', '.join(names)}")
    return chosen


def _save(results: dict[str, object], place: Path | None) -> None:
    if place is not None:
        report.save(results, place)
        say(f"wrote {place}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m linkwork_benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = (
        "run",
        "table",
        "readme",
        "constrained",
        "page",
        "clusters",
        "clusters_page",
        "delassus",
        "delassus_page",
    )
    parser.add_argument("command", nargs="?", default="run", choices=commands)
    parser.add_argument("file", nargs="?", type=Path, help="result file for table, readme and pages")
    parser.add_argument("--only", metavar="REGEX", help="scenarios whose name matches")
    parser.add_argument("--quick", action="store_true", help="fewer, shorter rounds")
    parser.add_argument("--out", metavar="FILE", type=Path, help="result file, or for pages the Markdown file")
    options = parser.parse_args()
    match options.command:
        case "table":
            print(report.tables(report.read(options.file or report.RESULTS)))
        case "readme":
            report.rewrite_readme(report.tables(report.read(options.file or report.RESULTS)))
            print(f"rewrote the tables of {report.README} from {options.file or report.RESULTS}")
        case "constrained":
            run_constrained(options.only, options.quick, options.out)
        case "page":
            from linkwork_benchmarks.constrained import page

            results = report.read(options.file or CONSTRAINED)
            print(f"wrote {page.write(results, options.out)}")
            if options.out is None:
                report.rewrite_readme(page.summary(results), "constrained")
                print(f"rewrote the table of {report.README}")
        case "clusters":
            run_clusters(options.only, options.quick, options.out)
        case "clusters_page":
            from linkwork_benchmarks.clusters import page as clusters_page

            print(f"wrote {clusters_page.write(report.read(options.file or CLUSTERS), options.out)}")
        case "delassus":
            run_delassus(options.only, options.quick, options.out)
        case "delassus_page":
            from linkwork_benchmarks.delassus import page as delassus_page

            print(f"wrote {delassus_page.write(report.read(options.file or DELASSUS), options.out)}")
        case _:
            run(options.only, options.quick, options.out)


if __name__ == "__main__":
    main()
