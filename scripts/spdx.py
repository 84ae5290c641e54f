# SPDX-License-Identifier: BSD-3-Clause
"""License headers: the first line of every Python file, behind its shebang and encoding, names the license.

    python scripts/spdx.py          # adds the line where it is missing, and says where
    python scripts/spdx.py --check  # changes nothing; exits with 1 and names the files without it

The license is the one that pyproject.toml says. Run twice, it changes nothing the second time.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "benchmarks", "tests", "scripts", "examples")

TAG = "# SPDX-License-Identifier:"
BEFORE = re.compile(r"#!|#.*?coding[:=]")
"""Lines that must come first: a shebang, and an encoding (PEP 263)."""


def header(project: Path = ROOT / "pyproject.toml") -> str:
    """The line that names the license of a project."""
    return f"{TAG} {tomllib.loads(project.read_text(encoding='utf-8'))['project']['license']}"


def files(root: Path = ROOT) -> Iterator[Path]:
    """Every Python file of the repository that is written by hand."""
    yield from sorted(root.glob("*.py"))
    for folder in FOLDERS:
        yield from sorted(path for path in (root / folder).rglob("*.py") if ".egg-info" not in str(path))


def with_header(text: str, line: str) -> str:
    """A file's text with the line, in its place; a line that names another license is replaced."""
    lines = text.splitlines(keepends=True)
    at = 0
    while at < min(2, len(lines)) and BEFORE.match(lines[at]):
        at += 1
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if at and not lines[at - 1].endswith("\n"):  # the file is a shebang alone
        lines[at - 1] += end
    kept = at + 1 if at < len(lines) and lines[at].startswith(TAG) else at
    return "".join((*lines[:at], line + end, *lines[kept:]))


def read(path: Path) -> str:
    """The text of a file, line ends as they are in it."""
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def missing(root: Path = ROOT) -> list[Path]:
    """Files whose header is not there, or not that of the project."""
    line = header(root / "pyproject.toml")
    return [path for path in files(root) if (text := read(path)) != with_header(text, line)]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Add license headers to Python files.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a file has none")
    check = parser.parse_args(arguments).check
    line, found = header(root / "pyproject.toml"), missing(root)
    for path in found:
        print(f"{path.relative_to(root).as_posix()}: {'no' if check else 'added'} '{line}'")
        if not check:
            text = with_header(read(path), line)
            with path.open("w", encoding="utf-8", newline="") as file:
                file.write(text)
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
