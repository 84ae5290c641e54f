# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds are in one module of a level, with what they are a part of and a test of what they decide."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import linkwork
from linkwork.model.thresholds import UNBOUNDED

PACKAGE = Path(linkwork.__file__).parent
MODULES = sorted(PACKAGE.glob("*/thresholds.py"))
LEVELS = {"kernels": 1e-9, "plans": 1e-9, "quantities": 1e-3, "contact": 1e-3, "simulation": 1e-3}
"""Levels, and the least float that is no threshold there."""
LARGEST = 1e9
"""Larger floats are thresholds."""
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


def floats(folder: Path) -> Iterator[tuple[str, int, float]]:
    """Floats in the modules of a folder, but those of thresholds: module, line, value."""
    for path in sorted(folder.rglob("*.py")):
        if path.name != "thresholds.py":
            place = path.relative_to(PACKAGE).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, float):
                    yield place, node.lineno, node.value


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
    for place, line, value in floats(PACKAGE / level):
        allowed = value == 0 or LEVELS[level] <= value <= LARGEST or (place, value) in PARAMETERS
        assert allowed, (place, line, value)


def test_one_number_stands_for_no_bound() -> None:
    assert [place for place, _, value in floats(PACKAGE) if value == UNBOUNDED] == []


@pytest.mark.parametrize("level", ["quantities", "contact", "simulation"])
def test_a_name_of_a_threshold_is_no_other_constant(level: str) -> None:
    names = set(documented(PACKAGE / level / "thresholds.py"))
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name != "thresholds.py":
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign):
                    targets = (one for target in node.targets for one in ast.walk(target))
                    assert names.isdisjoint(ast.unparse(one) for one in targets), (path, node.lineno)
