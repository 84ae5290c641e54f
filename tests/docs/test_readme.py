# SPDX-License-Identifier: BSD-3-Clause
"""README: its code runs as it is printed, and its table is that of the result files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import REPOSITORY

README = REPOSITORY / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


def test_the_example_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = BLOCKS
    exec(block, {})
    assert capsys.readouterr().out.startswith("1 degree of freedom; 5 rows of rank 2; redundant: C\n")
    assert (tmp_path / "four-bar.html").stat().st_size > 10_000


def test_the_table_is_that_of_the_result_files() -> None:
    readme = pytest.importorskip("linkwork_benchmarks.readme")
    assert f"<!-- {readme.NAME} -->\n{readme.table()}\n<!-- /{readme.NAME} -->" in README.read_text(encoding="utf-8")


def test_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 80
