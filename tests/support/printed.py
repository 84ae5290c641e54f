# SPDX-License-Identifier: BSD-3-Clause
"""Code on pages of the documentation, and what it says that it prints.

A statement that prints is followed by its result as a comment, on its line or on those below; more words may follow
after a colon:

    print(robot.nv)                                    # 3: one for each joint
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^( *)```python[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


class Printed(NamedTuple):
    """A statement, what it printed, and what its comment says."""

    statement: str
    found: str
    claimed: str

    @property
    def true(self) -> bool:
        """Whether the comment is what was printed, or that and words about it."""
        return self.claimed == self.found or self.claimed.startswith(f"{self.found}: ")


def blocks(page: Path) -> list[str]:
    """The Python on a page, block by block; those in tabs without their indentation."""
    return [textwrap.dedent(text) for _, text in BLOCK.findall(page.read_text(encoding="utf-8"))]


def run(code: str, names: dict[str, object]) -> list[Printed]:
    """Run a block statement by statement in this namespace: everything that was printed."""
    lines, found = code.splitlines(), []
    page = filed(code)
    for node in ast.parse(code).body:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            exec(compile(ast.Module([node], []), page, "exec", dont_inherit=True), names)
        if text.getvalue():
            statement = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            found.append(Printed(statement, text.getvalue().rstrip(), _claim(lines, node)))
    return found


def filed(code: str) -> str:
    """A name of a file that has this text, for `compile`: there the text of kernels is found."""
    name = f"<page {len(linecache.cache)}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    return name


def _claim(lines: list[str], node: ast.stmt) -> str:
    """The comment behind a statement, or else those on the lines below it."""
    end = node.end_lineno or node.lineno
    behind = lines[end - 1].encode()[node.end_col_offset :].decode().strip()
    if behind.startswith("#"):
        return behind.removeprefix("#").strip()
    claimed = []
    for line in lines[end:]:
        if not line.startswith("#"):
            break
        claimed.append(line.removeprefix("#").removeprefix(" ").rstrip())
    return "\n".join(claimed)
