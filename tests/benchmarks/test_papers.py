# SPDX-License-Identifier: BSD-3-Clause
"""docs/internals/papers.md: every item of the papers has a row, and what rows name exists."""

from __future__ import annotations

import ast
import re
import shlex
from itertools import chain
from pathlib import Path

import pytest

pytest.importorskip("pinocchio")  # studies import peers
from linkwork_benchmarks import report, suites
from linkwork_benchmarks.__main__ import STUDIES
from linkwork_benchmarks.papers import page
from linkwork_benchmarks.papers.entry import Entry, Paper
from linkwork_benchmarks.papers.found import UNKNOWN, Found

each_paper = pytest.mark.parametrize("paper", page.PAPERS, ids=lambda paper: paper.name)
ENTRIES = [(paper.name, entry) for paper in page.PAPERS for entry in paper.entries]
each_entry = pytest.mark.parametrize(
    "entry", [e for _, e in ENTRIES], ids=[f"{n} {e.item}: {e.about}" for n, e in ENTRIES]
)
ROMAN = ("I", "II", "III", "IV")


def numbered(paper: Paper, kind: str) -> set[str]:
    """Numbers of a kind, ``Algorithm``, ``Table`` or ``Fig.``, that items begin with or name."""
    items = chain.from_iterable(re.split(r", (?=Fig|Table|Sec)", entry.item) for entry in paper.entries)
    found = (re.match(rf"{re.escape(kind)} ([IVX]+|\d+)", item) for item in items)
    return {match[1] for match in found if match}


@each_paper
def test_every_algorithm_table_and_figure_has_a_row(paper: Paper) -> None:
    assert numbered(paper, "Algorithm") == {str(k) for k in range(1, paper.algorithms + 1)}
    assert numbered(paper, "Table") == set(ROMAN[: paper.tables])
    assert numbered(paper, "Fig.") == {str(k) for k in range(1, paper.figures + 1)}


@each_entry
def test_what_a_row_names_exists(entry: Entry) -> None:
    for place in entry.where:
        file = page.file_of(place)
        assert file is not None, place
        if name := place.partition(":")[2]:
            assert name in names_in(file), place


def names_in(file: Path) -> set[str]:
    """Names that a Python file defines at its top."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign():
                found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found


@each_entry
def test_commands_run_something(entry: Entry) -> None:
    """A study with scenarios of that name, or a test that there is."""
    if not entry.command:
        assert entry.printed, "a row without a command has no number to make"
        return
    if entry.command.startswith("tests/"):
        file, _, name = entry.command.partition("::")
        path = report.REPOSITORY / file
        assert path.is_file(), file
        assert not name or f"def {name}(" in path.read_text(encoding="utf-8"), entry.command
        return
    study, *rest = shlex.split(entry.command)
    assert study in STUDIES
    only = rest[1] if rest else ""
    assert any(re.search(only, scenario.name) for scenario in suites.study(STUDIES[study]).scenarios), entry.command


@each_entry
def test_every_row_says_what_is_here(entry: Entry) -> None:
    """All but drawings: a number from the result files, or a name that can be called."""
    if entry.printed.startswith("drawing"):
        return
    here = entry.here if isinstance(entry.here, str) else entry.here(Found())
    assert here


def test_the_page_is_that_of_the_result_files() -> None:
    """``python -m linkwork_benchmarks papers`` makes it."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.text(Found())
    assert UNKNOWN not in text.replace("mentioned, not measured", "")


def test_without_results_rows_say_so(tmp_path: Path) -> None:
    assert page.text(Found(tmp_path)).count(UNKNOWN) > 40
