# SPDX-License-Identifier: BSD-3-Clause
"""Run docs/tutorials/notebooks and keep what they show: ``python scripts/run_notebooks.py [name ...]``.

Cells run in this process, without Jupyter: a notebook is JSON, and what a cell shows is what it prints, the value of
its last expression, and the figures that it leaves open. That of Cassie needs ``LINKWORK_MODELS``.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import linecache
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials" / "notebooks"
DOTS_PER_INCH = 80


def read(path: Path) -> dict[str, Any]:
    """A notebook, as it is in its file."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def write(notebook: dict[str, Any], path: Path) -> None:
    """Write a notebook as Jupyter writes it."""
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def source(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of a new run, in the current folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cells.append({**cell, "execution_count": count, "outputs": outputs(source(cell), names, count)})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def outputs(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell in a namespace: what Jupyter would show below it.

    Args:
        code: Text of the cell.
        names: The namespace.
        count: Which code cell of the notebook it is, from 1.
    """
    file = f"<cell {count}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)  # where kernel text is read
    statements, last = ast.parse(code).body, None
    if statements and isinstance(statements[-1], ast.Expr) and not code.rstrip().endswith(";"):
        last = ast.Expression(statements.pop().value)  # type: ignore[attr-defined]
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(statements, []), file, "exec"), names)
        if last is not None:
            value = eval(compile(last, file, "eval"), names)
    shown: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        shown.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        result = {"data": _data(value), "execution_count": count, "metadata": {}, "output_type": "execute_result"}
        shown.append(result)
    return shown + [
        {"data": _data(figure), "metadata": {}, "output_type": "display_data"} for figure in _open_figures()
    ]


def _data(value: Any) -> dict[str, Any]:
    """A value as text, and as a picture or a table where it has one."""
    if type(value).__name__ == "Figure":
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=DOTS_PER_INCH, bbox_inches="tight", metadata={"Software": None})
        return {"image/png": base64.b64encode(picture.getvalue()).decode() + "\n", "text/plain": ["<Figure>"]}
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return data


def _open_figures() -> list[Any]:
    """Figures of pyplot that the cell made, which are closed: the next cell begins with none."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:
        return []
    figures = [plt.figure(number) for number in plt.get_fignums()]
    plt.close("all")
    return figures


def main(names: list[str]) -> None:
    """Run these notebooks, or all."""
    os.environ.setdefault("MPLBACKEND", "agg")
    for path in [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            write(executed(read(path)), path)
        print(path, f"{path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
