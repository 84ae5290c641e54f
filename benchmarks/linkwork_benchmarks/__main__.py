# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks from the command line, ``python -m linkwork_benchmarks COMMAND``.

``[run] [--quick] [--only REGEX] [--out FILE]``: trees, beside Pinocchio and MuJoCo.
``table [FILE]``: their tables, printed.
``constrained [--quick] [--only REGEX] [--out FILE]``: constrained dynamics, as the papers do.
``page [FILE]``: docs/internals/benchmarks.md and its plots, from the latter's file.
``clusters [--quick] [--only REGEX] [--out FILE]``: gears and belts, as **clusters** does.
``clusters_page [FILE]``: docs/internals/clusters-benchmarks.md and its plots, from the latter's file.
``delassus [--quick] [--only REGEX] [--out FILE]``: the Delassus operator, as the papers do.
``delassus_page [FILE]``: docs/internals/delassus-benchmarks.md and its plots, from the latter's file.
``simulation [--quick] [--only REGEX] [--out FILE]``: motion in time.
``simulation_page [FILE]``: docs/internals/simulation-benchmarks.md, from the latter's file.
``contact [--quick] [--only REGEX] [--out FILE]``: contact with friction, beside Pinocchio's solvers.
``contact_page [FILE]``: docs/internals/contact-benchmarks.md, from the latter's file.
``derivatives [--quick] [--only REGEX] [--out FILE]``: Jacobians of dynamics, beside Pinocchio's.
``derivatives_page [FILE]``: docs/internals/derivatives-benchmarks.md, from the latter's file.
``quantities [--quick] [--only REGEX] [--out FILE]``: functions of a state, beside Pinocchio's.
``gpu [--quick] [--only REGEX] [--out FILE]``: dynamics and steps on a GPU, with arrays of torch.
``gpu_peers [--quick] [--only REGEX] [--out FILE]``: steps of many robots on a GPU, beside MuJoCo Warp.
``gpu_page [FILE]``: docs/internals/gpu-benchmarks.md, from the latter's file.
``environments [--quick] [--only REGEX] [--out FILE]``: environments of Gymnasium, beside its hopper on MuJoCo.
``scenes [--quick] [--only REGEX] [--out FILE]``: contact in scenes of others, robot files and piles, beside MuJoCo.
``scenes_page [FILE]``: docs/internals/scenes-benchmarks.md and a table in docs/how-to/contact.md, from it.
``performance``: docs/internals/performance.md, from the files of all studies.
``papers``: docs/internals/papers.md, what the papers print and what is found here, from the same files.
``pages``: all of these pages, and the table in README.md.
``anew``: the four studies that the page of the papers is made from, whole, one after the other, and all pages.

A study with ``--update`` puts what it finds into its result file, where the rest stays: with ``--only``, scenarios are
run again alone.

``linkwork bench`` runs the same studies, and times models of one's own.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from linkwork_benchmarks import report, suites

STUDIES = {
    "run": "trees",
    "constrained": "constrained",
    "clusters": "clusters",
    "delassus": "delassus",
    "simulation": "simulation",
    "contact": "contact",
    "derivatives": "derivatives",
    "quantities": "quantities",
    "gpu": "gpu",
    "gpu_peers": "gpu_peers",
    "environments": "environments",
    "scenes": "scenes",
}
"""Commands that measure."""

PAGES = {
    "page": "constrained",
    "clusters_page": "clusters",
    "delassus_page": "delassus",
    "simulation_page": "simulation",
    "contact_page": "contact",
    "derivatives_page": "derivatives",
    "gpu_page": "gpu",
    "scenes_page": "scene_files",
}
"""Commands that write pages."""


def run(name: str, only: str | None, quick: bool, out: Path | None, update: bool) -> None:
    """Run a study. What is not a full run writes only where it is told to, or updates the file of the study."""
    whole = update or not (only or quick)
    results = suites.run(
        name, only, quick, out or (suites.results_of(suites.SUITES[name].study) if whole else None), update
    )
    if name == "trees":
        print(report.tables(results))


def write_page(name: str, file: Path | None, out: Path | None) -> None:
    """Write the page of a study from its result file."""
    page = import_module(f"linkwork_benchmarks.{name}.page")
    results = report.read(file or suites.results_of(name))
    print(f"wrote {page.write(results, out)}")


def write_all_pages() -> None:
    """Write every page that is made from result files, and the table of README.md."""
    from linkwork_benchmarks import performance, readme
    from linkwork_benchmarks.papers import page

    for name in PAGES.values():
        write_page(name, None, None)
    report.rewrite_readme(readme.table(), readme.NAME)
    print(f"wrote {performance.write()}\nwrote {page.write()}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m linkwork_benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = (*STUDIES, *PAGES, "table", "performance", "papers", "pages", "anew")
    parser.add_argument("command", nargs="?", default="run", choices=commands)
    parser.add_argument("file", nargs="?", type=Path, help="result file for table and pages")
    parser.add_argument("--only", metavar="REGEX", help="scenarios whose name matches")
    parser.add_argument("--quick", action="store_true", help="fewer, shorter rounds")
    parser.add_argument("--update", action="store_true", help="put what was found into the result file, keep the rest")
    parser.add_argument("--out", metavar="FILE", type=Path, help="result file, or for pages the Markdown file")
    options = parser.parse_args()
    try:
        match options.command:
            case "table":
                print(report.tables(report.read(options.file or report.RESULTS)))
            case "performance":
                from linkwork_benchmarks import performance

                print(f"wrote {performance.write(out=options.out or performance.PAGE)}")
            case "papers":
                from linkwork_benchmarks.papers import page

                print(f"wrote {page.write(out=options.out or page.PAGE)}")
            case "pages":
                write_all_pages()
            case "anew":
                from linkwork_benchmarks.papers import found

                for study in found.STUDIES:
                    run(study, None, options.quick, None, update=False)
                write_all_pages()
            case command if command in PAGES:
                write_page(PAGES[command], options.file, options.out)
            case command:
                run(STUDIES[command], options.only, options.quick, options.out, options.update)
    except suites.NothingToRun as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
