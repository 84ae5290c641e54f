# SPDX-License-Identifier: BSD-3-Clause
"""The page of the papers, docs/internals/papers.md."""

from __future__ import annotations

from pathlib import Path

from linkwork_benchmarks import report, tables
from linkwork_benchmarks.papers import clusters, delassus, loops, lqr, proximal
from linkwork_benchmarks.papers.entry import VERDICTS, Entry, Paper
from linkwork_benchmarks.papers.found import Found
from linkwork_benchmarks.reflow import reflowed

PAGE = report.REPOSITORY / "docs" / "internals" / "papers.md"
PAPERS = (loops.PAPER, clusters.PAPER, proximal.PAPER, lqr.PAPER, delassus.PAPER)
RUN = "python -m linkwork_benchmarks"
TITLES = ("item", "where", "printed", "here", "verdict", "what differs, and why", "made by")


def write(found: Found | None = None, out: Path = PAGE) -> Path:
    """Write the page."""
    out.write_text(text(found or Found()), encoding="utf-8")
    return out


def text(found: Found) -> str:
    """The page."""
    sections = [_introduction(found), _summary(found), *(_section(paper, found) for paper in PAPERS)]
    return reflowed("\n\n".join(sections) + "\n")


def _introduction(found: Found) -> str:
    runs = "; ".join(
        f"{name} {results['date'][:10]} at {results['commit'][:10]}{' (a quick run)' if results['quick'] else ''}"
        for name, results in found.results.items()
        if "date" in results
    )
    count = sum(len(paper.entries) for paper in PAPERS)
    return (
        "# The papers, item by item\n\n"
        f"Every algorithm, numbered equation, table, figure and remark of five papers, what they claim and what they "
        f"leave for future work, {count} items in all: where it is in linkwork, what the paper prints, what is found "
        "here, a verdict, what differs and why, and what makes the number. What a paper makes is *here* or *not here*; "
        "what it states *holds*, *holds in part* (on some systems, or by some measures) or *fails*. Made by "
        f"`{RUN} papers` from the result files of the studies; `{RUN} pages` makes all pages of results. Numbers of "
        "ours are never typed. Papers print times of their own machines: what can be compared is who needs less than "
        "whom, how many times, and how things grow.\n\n"
        "Paths are those in `src/linkwork`, or else in the repository. Commands are those of "
        f"`{RUN}`: `constrained --only growth` is `{RUN} constrained --only growth`, which shows its numbers, and with "
        "`--update` puts them into the result file; tests are run by `pytest`. What each study measures, with all its "
        "systems: [constrained dynamics](benchmarks.md), [clusters](clusters-benchmarks.md), "
        "[Delassus](delassus-benchmarks.md), [simulation](simulation-benchmarks.md). "
        f"Results: {runs}."
    )


def _section(paper: Paper, found: Found) -> str:
    lines = [f"| {' | '.join(TITLES)} |", "|" + "---|" * len(TITLES)]
    lines += [f"| {' | '.join(_cells(entry, found))} |" for entry in paper.entries]
    return f"## {paper.name}\n\n{paper.title}.\n\n" + "\n".join(lines)


def _cells(entry: Entry, found: Found) -> tuple[str, ...]:
    here = entry.here if isinstance(entry.here, str) else entry.here(found)
    where = ", ".join(_place(place) for place in entry.where)
    cells = (
        f"**{entry.item}**: {entry.about}",
        where,
        entry.printed,
        here,
        verdict_of(entry, found),
        entry.differs,
        _command(entry.command),
    )
    return tuple(cell.replace("|", "\\|") or "–" for cell in cells)


def verdict_of(entry: Entry, found: Found) -> str:
    """The verdict on an item, by the results found."""
    return entry.verdict if isinstance(entry.verdict, str) else entry.verdict(found)


def _summary(found: Found) -> str:
    """How many items of each paper have which verdict."""
    rows = []
    for paper in PAPERS:
        given = [verdict_of(entry, found) for entry in paper.entries]
        rows.append((f"[{paper.name}](#{paper.name})", str(len(given)), *(str(given.count(v)) for v in VERDICTS)))
    return tables.table(("paper", "items", *VERDICTS), rows)


def _place(place: str) -> str:
    file, _, name = place.partition(":")
    return f"`{file}`: `{name}`" if name else f"`{file}`"


def _command(command: str) -> str:
    return f"`{command}`" if command else ""


ROOTS = ("src/linkwork", "benchmarks", "")
"""Folders of the repository that places are relative to, in this order."""


def file_of(place: str) -> Path | None:
    """The file of a place, if there is one."""
    name = place.partition(":")[0]
    found = (report.REPOSITORY / root / name for root in ROOTS)
    return next((path for path in found if path.is_file()), None)
