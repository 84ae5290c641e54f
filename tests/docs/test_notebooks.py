# SPDX-License-Identifier: BSD-3-Clause
"""The notebooks run from top to bottom, print what they say that they print, and are small and plain JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import REPOSITORY
from tests.support.robots import model_file

ROOT = REPOSITORY
sys.path.append(str(ROOT / "scripts"))
from run_notebooks import FOLDER, executed, outputs, read, source  # noqa: E402

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NEEDS = {"cassie": "cassie/cassie.xml"}
"""Notebooks that do nothing without a file, and which."""


def shown(notebook: dict[str, Any]) -> list[list[tuple[str, ...]]]:
    """Of each code cell what it prints, and kinds of what else it shows: pictures and tables have rounding in them."""
    return [
        [
            ("printed", *output["text"]) if "text" in output else tuple(sorted(output["data"]))
            for output in cell["outputs"]
        ]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_what_is_kept_in_it(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("agg")
    if path.stem in NEEDS:
        file = model_file(NEEDS[path.stem])
        monkeypatch.setenv("LINKWORK_MODELS", str(file.parents[1]))
    monkeypatch.chdir(tmp_path)
    notebook = read(path)
    assert shown(executed(notebook)) == shown(notebook), (
        f"run scripts/run_notebooks.py {path.stem}, and read what changed"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_small_and_plain(path: Path) -> None:
    notebook = read(path)
    cells = notebook["cells"]
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert path.stat().st_size < 300_000 and len(cells) <= 16
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert cells[0]["cell_type"] == "markdown" and source(cells[0]).startswith("# ")
    code = [source(cell) for cell in cells if cell["cell_type"] == "code"]
    assert not any(line.startswith(("%", "!")) for text in code for line in text.splitlines())
    assert all(len(line) <= 120 for text in code for line in text.splitlines())


def test_notebooks_are_listed() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "tutorials" / "first-steps.md").read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        assert f"notebooks/{path.stem}.md" in listed and f"(notebooks/{path.stem}.ipynb)" in page
    assert len(NOTEBOOKS) == 3


def test_a_cell_shows_what_jupyter_shows() -> None:
    """Prints first, then the value of the last expression unless a semicolon follows; statements show nothing."""
    names: dict[str, Any] = {}
    assert outputs("x = 3", names, 1) == []
    printed, value = outputs("print(x)\nx + 1", names, 2)
    assert printed["text"] == ["3\n"] and value["data"] == {"text/plain": ["4"]} and value["execution_count"] == 2
    assert outputs("x + 1;", names, 3) == []
    (table,) = outputs("import linkwork as lw\nlw.zoo.pendulum()", names, 4)
    assert set(table["data"]) == {"text/plain", "text/html"}
