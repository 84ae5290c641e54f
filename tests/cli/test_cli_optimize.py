# SPDX-License-Identifier: BSD-3-Clause
"""``linkwork optimize``: what another spanning tree saves."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import linkwork as lw
from tests.cli.test_cli import four_bar, json_of, run, words


@pytest.fixture
def loop(tmp_path: Path) -> str:
    (tmp_path / "four_bar.urdf").write_text(four_bar())
    return str(tmp_path / "four_bar.urdf")


found = partial(json_of, "optimize")


def test_the_result_is_that_of_the_library(loop: str) -> None:
    wanted, said = lw.load(loop).optimized(), found(loop)
    assert said["before"]["operations"] == wanted.before.operations
    assert said["after"]["operations"] == wanted.after.operations
    assert (said["saved"], said["changes"], said["name"]) == (wanted.saved, list(wanted.changes), "four_bar")
    assert said["before"]["nv"] == 3 and said["after"]["nc"] == wanted.robot.nc and said["complete"]


def test_options_are_those_of_the_library(loop: str) -> None:
    wanted = lw.load(loop).optimized("lcaba", root=True, ends=True, keep=["crank_joint"], drop=["limits"])
    options = ["--root", "--ends", "--keep", "crank_joint", "--drop", "limits", "--method", "lcaba"]
    said = found(loop, *options, "--seconds", "30")
    assert said["after"]["operations"] == wanted.after.operations and said["after"]["method"] == "lcaba"


def test_the_page_says_what_was_won(loop: str) -> None:
    page = run("optimize", loop).stdout
    for text in ("four_bar", "operations", "% saved", "candidates in", "Changes"):
        assert text in page
    assert max(map(len, run("optimize", loop, COLUMNS="40").stdout.splitlines())) <= 40


def test_wrong_options(loop: str) -> None:
    unknown = run("optimize", loop, "--method", "lcabba")
    assert unknown.exit_code == 2 and "did you mean 'lcaba'" in words(unknown.stderr)
    wrong = run("optimize", loop, "--drop", "armature")
    assert wrong.exit_code == 2 and "needs some of limits, damping, friction" in words(wrong.stderr)
    assert "is not above zero" in words(run("optimize", loop, "--seconds", "0").stderr)
    assert run("optimize", "none.urdf").exit_code == 1
