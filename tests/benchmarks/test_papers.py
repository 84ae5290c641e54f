# SPDX-License-Identifier: BSD-3-Clause
"""docs/internals/papers.md: every item of the papers has a row with a verdict, and what rows name exists.

The texts of the papers are not part of the repository: what is counted in them is read where ``LINKWORK_PAPERS`` or the
folder ``shared/papers`` beside the repository has them.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from itertools import chain
from pathlib import Path

import pytest

pytest.importorskip("pinocchio")  # studies import peers
from linkwork_benchmarks import report, suites
from linkwork_benchmarks.__main__ import STUDIES
from linkwork_benchmarks.papers import page
from linkwork_benchmarks.papers.entry import FUTURE, VERDICTS, Entry, Paper
from linkwork_benchmarks.papers.found import UNKNOWN, Found

each_paper = pytest.mark.parametrize("paper", page.PAPERS, ids=lambda paper: paper.name)
ENTRIES = [(paper.name, entry) for paper in page.PAPERS for entry in paper.entries]
each_entry = pytest.mark.parametrize(
    "entry", [e for _, e in ENTRIES], ids=[f"{n} {e.item}: {e.about}" for n, e in ENTRIES]
)
ROMAN = ("I", "II", "III", "IV")
PAPERS = Path(os.environ.get("LINKWORK_PAPERS", report.REPOSITORY.parent / "shared" / "papers"))
NUMBERS = {"loops": "000", "clusters": "001", "proximal": "002", "lqr": "003", "delassus": "004"}
"""What the names of the papers' texts begin with."""


def numbered(paper: Paper, kind: str) -> set[str]:
    """Numbers of a kind, ``Algorithm``, ``Table`` or ``Fig.``, that items begin with or name."""
    items = chain.from_iterable(re.split(r", (?=Fig|Table|Sec|Eq|Remark)", entry.item) for entry in paper.entries)
    found = (re.match(rf"{re.escape(kind)} ([IVX]+|\d+)", item) for item in items)
    return {match[1] for match in found if match}


@each_paper
def test_every_algorithm_table_and_figure_has_a_row(paper: Paper) -> None:
    assert numbered(paper, "Algorithm") == {str(k) for k in range(1, paper.algorithms + 1)}
    assert numbered(paper, "Table") == set(ROMAN[: paper.tables])
    assert numbered(paper, "Fig.") == {str(k) for k in range(1, paper.figures + 1)}


def spanned(paper: Paper, kind: str) -> list[int]:
    """Numbers of equations or remarks that items name: ``Eqs. 50 to 52``, ``Remarks 8, 9``."""
    found: list[int] = []
    for entry in paper.entries:
        for words in re.findall(rf"{kind}s?\.? (\d+(?:(?: to |, )\d+)*)", entry.item):
            ends = [int(k) for k in re.findall(r"\d+", words)]
            found += range(ends[0], ends[-1] + 1) if " to " in words else ends
    return found


@each_paper
def test_every_equation_and_remark_has_a_row(paper: Paper) -> None:
    assert set(spanned(paper, "Eq")) == set(range(1, paper.equations + 1))
    assert sorted(spanned(paper, "Remark")) == list(range(1, paper.remarks + 1))


@each_paper
def test_claims_and_future_work_have_rows_that_say_where_they_stand(paper: Paper) -> None:
    told = [entry for entry in paper.entries if entry.words]
    assert sum(entry.printed == FUTURE for entry in told) == paper.future
    assert sum(entry.printed != FUTURE for entry in told) == paper.claims
    assert all(entry.words for entry in paper.entries if entry.printed == FUTURE)
    assert all(len(entry.words.split()) <= 6 for entry in told)


def plain(text: str) -> str:
    """Letters and figures alone, so that line breaks, hyphens and the marks of formulas do not matter."""
    return re.sub(r"[^a-z0-9]", "", text.lower().replace("\\times", "x"))


@each_paper
def test_counts_are_those_of_the_text(paper: Paper) -> None:
    files = sorted(PAPERS.glob(f"{NUMBERS[paper.name]}_*.txt"))
    if not files:
        pytest.skip(f"the papers' texts are not in {PAPERS}")
    whole = files[0].read_text(encoding="utf-8")
    text = re.split(r"\n#*\s*\**REFERENCES", whole)[0]
    tags = re.findall(r"\((\d{1,2})[a-f]?\)\s*\$\$|\\quad \((\d{1,2})[a-f]?\)|\\tag\{(\d{1,2})", text)
    tags += re.findall(r"^\s*\((\d{1,2})[a-f]?\)\s*()()$", text, re.MULTILINE)
    assert max(int(k) for found in tags for k in found if k) == paper.equations
    algorithms = re.findall(r"^\W*Algorithm (\d)", text, re.MULTILINE)
    assert {int(k) for k in algorithms} == set(range(1, paper.algorithms + 1))
    assert set(re.findall(r"TABLE ([IV]+)", text)) == set(ROMAN[: paper.tables])
    assert max(int(k) for k in re.findall(r"^Fig\. (\d+)[.:]", text, re.MULTILINE)) == paper.figures
    remarks = {int(k) for k in re.findall(r"^\W*Remark (\d+)", text, re.MULTILINE)}
    assert remarks == set(range(1, paper.remarks + 1))
    for entry in paper.entries:
        assert plain(entry.words) in plain(text), entry.words


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
        assert entry.printed or entry.here, "a row without a command has no number to make"
        return
    if entry.command.startswith("tests/"):
        file, _, name = entry.command.partition("::")
        path = report.REPOSITORY / file
        assert path.exists(), file
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
    assert page.verdict_of(entry, Found()) in VERDICTS
    if entry.printed == FUTURE:
        assert (page.verdict_of(entry, Found()) == "not here") == (here == "not here")


def test_the_page_is_that_of_the_result_files() -> None:
    """``python -m linkwork_benchmarks papers`` makes it."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.text(Found())
    assert UNKNOWN not in text.replace("mentioned, not measured", "")


def test_without_results_rows_say_so(tmp_path: Path) -> None:
    assert page.text(Found(tmp_path)).count(UNKNOWN) > 40
