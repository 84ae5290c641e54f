# SPDX-License-Identifier: BSD-3-Clause
"""``linkwork convert``: a model in another format, or why not."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkwork as lw
from linkwork.cli.conversion import DIALECTS, FORMATS, KINDS
from linkwork.saving import DIALECTS as KNOWN
from linkwork.saving import DROPPABLE
from linkwork.saving import FORMATS as SAVED
from tests.cli.test_cli import four_bar, json_of, run, words


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("four_bar.urdf").write_text(four_bar())
    return "four_bar.urdf"


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_a_model_is_saved_by_the_extension(model: str) -> None:
    found = json_of("convert", model, "bar.xml")
    assert (found["new"], found["format"], found["file"]) == ("bar.xml", "mjcf", model)
    assert lw.load("bar.xml").joint_names == lw.load(model).joint_names
    assert run("convert", model, "bar", "--to", "urdf", "--dialect", "linkwork").exit_code == 0
    assert lw.loads(Path("bar").read_text()).nc == lw.load(model).nc


def test_what_cannot_be_said_is_named_and_can_be_dropped(model: str) -> None:
    lw.load(model).with_gravity((0, 0, -1)).save("moon.xml")
    refused = run("convert", "moon.xml", "moon.urdf")
    assert refused.exit_code == 1 and not Path("moon.urdf").exists()
    assert "URDF has no gravity" in words(refused.stderr) and "moon.xml" in words(refused.stderr)
    assert "--drop gravity leaves it out" in words(refused.stderr)
    assert "--drop gravity --drop constraints leaves all of this out" in words(refused.stderr)
    assert "--dialect pinocchio" in words(refused.stderr)
    assert run("convert", "moon.xml", "moon.urdf", "--drop", "gravity", "--dialect", "pinocchio").exit_code == 0
    assert lw.load("moon.urdf").nv == lw.load(model).nv


WRONG = {
    "extension": (["bar.step"], 2, "extension '.step'"),
    "no format": (["bar.step"], 2, "give --to urdf"),
    "format": (["bar.xml", "--to", "step"], 2, "none of urdf, mjcf, sdf"),
    "drop": (["bar.xml", "--drop", "motors"], 2, "--drop: 'motors' is none of actuators"),
    "dialect": (["bar.urdf", "--dialect", "drake"], 2, "none of standard, pinocchio, urdfdom, linkwork"),
    "dialect of MJCF": (["bar.xml", "--dialect", "linkwork"], 2, "the format is 'mjcf'"),
    "package of MJCF": (["bar.xml", "--package", "bar"], 2, "the format is 'mjcf'"),
    "pose": (["bar.sdf", "--pose", "hme"], 2, "has no pose 'hme'"),
    "folder": (["nowhere/bar.xml"], 1, "nowhere"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_say_what_is_wrong(case: str, model: str) -> None:
    arguments, code, says = WRONG[case]
    result = run("convert", model, *arguments)
    assert result.exit_code == code and says in words(result.stderr)


def test_words_are_those_of_the_library() -> None:
    assert (*SAVED, "json") == FORMATS and set(KINDS) == set(DROPPABLE) and tuple(KNOWN) == DIALECTS
