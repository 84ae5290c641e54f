"""``python -m benchmarks [run] [--quick] [--only REGEX] [--out FILE]``, ``... table [FILE]``, ``... readme [FILE]``."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from time import perf_counter

from benchmarks import report
from benchmarks.runner import QUICK, Settings, measure, say
from benchmarks.scenarios import SCENARIOS


def run(only: str | None, quick: bool, out: Path | None) -> None:
    """Measure, write the result file, print the tables. What is not a full run writes only where it is told to."""
    settings = QUICK if quick else Settings()
    chosen = [s for s in SCENARIOS if only is None or re.search(only, s.name)]
    if not chosen:
        raise SystemExit(f"no scenario matches '{only}'; there are {', '.join(s.name for s in SCENARIOS)}")
    results = {**report.circumstances(), "rounds": settings.rounds, "metrics": {}}
    start = perf_counter()
    for k, scenario in enumerate(chosen, 1):
        say(f"[{k}/{len(chosen)}] {scenario.name}, at {perf_counter() - start:.0f} s")
        results["metrics"] |= measure(scenario, settings)
    place = out or (None if only or quick else report.RESULTS)
    if place is not None:
        report.save(results, place)
        say(f"wrote {place}")
    say("\n" + report.tables(results))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("command", nargs="?", default="run", choices=("run", "table", "readme"))
    parser.add_argument("file", nargs="?", type=Path, default=report.RESULTS, help="result file for table and readme")
    parser.add_argument("--only", metavar="REGEX", help="scenarios whose name matches")
    parser.add_argument("--quick", action="store_true", help="fewer, shorter rounds")
    parser.add_argument("--out", metavar="FILE", type=Path, help=f"result file (default: {report.RESULTS.name})")
    options = parser.parse_args()
    match options.command:
        case "table":
            print(report.tables(report.read(options.file)))
        case "readme":
            report.rewrite_readme(report.read(options.file))
            print(f"rewrote the tables of {report.README} from {options.file}")
        case _:
            run(options.only, options.quick, options.out)


if __name__ == "__main__":
    main()
