# SPDX-License-Identifier: BSD-3-Clause
"""Words: names say what they hold, documentation says first what is returned, in the words of the field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import REPOSITORY

SOURCE = REPOSITORY / "src" / "linkwork"

NAMES = {"found", "given", "made"}
"""Variables are named by what they hold.

Parameters and fields called ``given`` are contacts, or inputs, of a caller.
"""

OPENINGS = ("What ", "How ", "Who ", "The same ", "The same.", "The same,")
"""No documentation of a function, parameter or field begins like this: the noun does."""

PHRASES = {
    r"nothing moves": "zero rows; at rest",
    r"\bwhat (rows|loops) miss\b|\bwhat of (it|them)\b": "the residual; the part of",
    r"\bforces that cancel\b": "internal (null-space) forces",
    r"\bwhat counts as zero\b|\bwhat (loops )?(is|are) open by\b": "the threshold of zero; the gap of loops",
    r"\bwhat (accelerations and )?forces( and velocities)? do\b": "the effect of forces",
    r"\bin doubt\b|\bdoubtful": "uncertain; implausible",
    r"\bfeels?\b": "the apparent inertia of; coupled with; moved by; measures",
    r"\b(who|whom) (feels|pushes|pulls|moves)\b": "coupling; acting joints",
    r"\b(has|have) what\b": "the layout of; has the part that",
    r"\b[Kk]ernel texts?\b": "kernel code",
    r"\bas it is drawn\b": "in the reference configuration",
    r"\b[Nn]obody\b|\b[Ss]omebody\b": "another program; no process",
    r"\basked for\b": "requested; chosen",
    r"\biterates not\b|\bundo not\b": "does not iterate",
    r"\baccepts a while\b": "accepts while loops",
}
"""Phrases of no technical meaning, and words that replace them."""


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in files():
        yield path.relative_to(REPOSITORY).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def variables(tree: ast.AST, arguments: frozenset[str] = frozenset()) -> Iterator[ast.Name]:
    """Names that functions assign to, but for their own arguments; fields of classes are none."""
    for node in ast.iter_child_nodes(tree):
        own = arguments
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            own = own | {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        field = isinstance(tree, ast.ClassDef) and isinstance(node, ast.AnnAssign)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in own:
            yield node
        if not field:
            yield from variables(node, own)


def documentation(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings of modules, classes, functions and fields, and descriptions of parameters, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            text = node.value.value
            yield node.lineno, text.strip()
            for k, line in enumerate(text.splitlines()):
                if described := re.match(r"\s+\w+: (.*)", line):
                    yield node.lineno + k, described[1]


def test_variables_are_named_by_what_they_hold() -> None:
    wrong = [
        f"{path}:{name.lineno}: {name.id}" for path, tree in trees() for name in variables(tree) if name.id in NAMES
    ]
    assert wrong == []


def test_documentation_begins_with_the_noun() -> None:
    wrong = [
        f"{path}:{line}: {text[:60]}"
        for path, tree in trees()
        for line, text in documentation(tree)
        if text.startswith(OPENINGS)
    ]
    assert wrong == []


@pytest.mark.parametrize("phrase", PHRASES)
def test_sources_have_no_homely_phrase(phrase: str) -> None:
    wrong = [
        f"{path.relative_to(REPOSITORY).as_posix()}:{number}: {line.strip()[:80]}"
        for path in files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(phrase, line)
    ]
    assert wrong == [], f"write instead: {PHRASES[phrase]}"
