# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds are in one module of a level, with what they are a part of and a test of what they decide."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import linkwork

PACKAGE = Path(linkwork.__file__).parent
MODULES = sorted(PACKAGE.glob("*/thresholds.py"))
LEVELS = ("kernels", "plans")
LEAST, LARGEST = 1e-9, 1e9
"""Floats beyond these are thresholds."""
PARAMETERS = {("kernels/contact/admm.py", 1e10)}
"""Floats beyond these that are parameters of an algorithm: the largest condition number of the spectral rule."""


def documented(module: Path) -> dict[str, str]:
    """The constants of a module and the texts below them."""
    body = ast.parse(module.read_text(encoding="utf-8")).body
    result = {}
    for one, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
            text = following.value if isinstance(following, ast.Expr) else None
            result[one.targets[0].id] = str(text.value) if isinstance(text, ast.Constant) else ""
    return result


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.parent.name)
def test_a_threshold_says_what_it_is_a_part_of_and_names_a_test(module: Path) -> None:
    for name, lines in documented(module).items():
        text = " ".join(lines.split())
        assert "Part of: " in text, name
        (test,) = re.findall(r"Test: (\S+\.py)$", text)
        assert (PACKAGE.parents[1] / test).is_file(), (name, test)


def test_names_of_thresholds_are_unique() -> None:
    names = [name for module in MODULES for name in documented(module)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("level", LEVELS)
def test_no_threshold_is_elsewhere(level: str) -> None:
    for path in sorted((PACKAGE / level).rglob("*.py")):
        if path.name != "thresholds.py":
            place = path.relative_to(PACKAGE).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value:
                    size = abs(node.value)
                    assert LEAST <= size <= LARGEST or (place, size) in PARAMETERS, (place, node.lineno, node.value)
