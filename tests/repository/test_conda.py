# SPDX-License-Identifier: BSD-3-Clause
"""The conda recipe requires what pyproject.toml requires, and renders."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

import linkwork
from tests.support import REPOSITORY

FILE = REPOSITORY / "conda" / "recipe.yaml"
RECIPE = yaml.safe_load(FILE.read_text(encoding="utf-8"))
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def spaced(requirement: str) -> str:
    """A requirement as conda writes it: a name, and what it must be."""
    return re.sub(r"(?=[<>=])", " ", requirement, count=1)


def test_requirements_are_those_of_the_project() -> None:
    needed = PROJECT["project"]["dependencies"]
    assert RECIPE["requirements"]["run"] == [
        f"python {PROJECT['project']['requires-python']}",
        *map(spaced, needed),
    ]
    assert set(map(spaced, PROJECT["build-system"]["requires"])) <= set(RECIPE["requirements"]["host"])


def test_commands_are_those_of_the_project() -> None:
    commands = [f"{name} = {entry}" for name, entry in PROJECT["project"]["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == commands


def test_the_recipe_renders(monkeypatch: pytest.MonkeyPatch) -> None:
    rattler_build = pytest.importorskip("rattler_build")
    monkeypatch.setenv("LINKWORK_VERSION", linkwork.__version__)
    (package,) = rattler_build.Stage0Recipe.from_file(str(FILE)).render(rattler_build.VariantConfig({}))
    said = package.recipe.to_dict()
    assert said["package"] == {"name": "linkwork", "version": linkwork.__version__}
    assert said["requirements"]["run"] == RECIPE["requirements"]["run"]
