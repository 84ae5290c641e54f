# SPDX-License-Identifier: BSD-3-Clause
"""``linkwork export``: the program that was asked for, and a message where there is none."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.cli.options import QUANTITIES
from tests.cli.test_cli import four_bar, joint, json_of, link, robot_text, run, words


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("four_bar.urdf").write_text(four_bar())
    return "four_bar.urdf"


exported = partial(json_of, "export")


def test_by_default_forward_dynamics_under_the_name_of_the_model(model: str) -> None:
    found = exported(model)
    assert found["function"] == "four_bar_forward_dynamics"
    assert Path("four_bar_forward_dynamics.c").is_file() and Path("four_bar_forward_dynamics.h").is_file()
    assert found["inputs"] == {"q": 3, "v": 3, "tau": 3} and found["outputs"] == {"a": 3, "result": 14}
    assert f"by {lw.methods.best_method(lw.load(model))}" in Path(found["header"]).read_text()
    assert found["total"] == sum(found["operations"].values()) and found["iteration"] > 0
    page = run("export", model).stdout
    assert "four_bar_forward_dynamics(q[3], v[3], tau[3], a[3], result[14])" in page


@pytest.mark.parametrize("what", QUANTITIES)
def test_all_that_can_be_asked_for(model: str, what: str) -> None:
    frames = ["--frame", "coupler"] if what.startswith(("frame", "operational")) else []
    found = exported(model, "--what", what, "--out", "made.c", *frames)
    assert found["function"] == "made" and "void made(" in Path("made.h").read_text()


def test_webassembly_is_a_package_for_javascript(model: str) -> None:
    found = exported(model, "--what", "step", "--wasm")
    folder = Path("four_bar_step")
    assert found["function"] == "four_bar_step" and found["size"] == (folder / "four_bar_step.wasm").stat().st_size
    assert found["inputs"] == {"q": 3, "v": 3, "tau": 3} and list(found["outputs"])[:2] == ["q1", "v1"]
    assert "four_bar_step.wasm" in run("export", model, "--what", "step", "--wasm").stdout
    assert "leave --float out" in words(run("export", model, "--wasm", "--float").stderr)


def test_options_are_passed_on(model: str) -> None:
    found = exported(model, "--float", "--name", "Bars", "--out", "x.c", "--method", "lcaba", "--iterations", "1")
    text = Path("x.c").read_text()
    assert (found["dtype"], found["iteration"]) == ("float32", 0)
    assert "void Bars(const float q[BARS_Q_SIZE]" in text and "by lcaba" in Path("x.h").read_text()
    assert list(exported(model, "--argument", "multipliers", "--to", "c")["inputs"])[-1] == "multipliers"
    pushed = exported(model, "--what", "inverse-dynamics", "--frame", "coupler", "--frame", "rocker")
    assert pushed["inputs"]["wrenches"] == 12


WRONG = {
    "frame": (["--what", "frame-jacobian"], 2, "needs one frame"),
    "no frame": (["--what", "frame-jacobian", "--frame", "couplr"], 2, "did you mean 'coupler'"),
    "frames of nothing": (["--what", "mass-matrix", "--frame", "coupler"], 2, "no frames"),
    "method": (["--method", "lcabba"], 2, "did you mean 'lcaba'"),
    "method of one": (["--what", "mass-matrix", "--method", "lcaba"], 2, "one method only"),
    "inverse": (["--what", "inverse-dynamics", "--method", "lcaba"], 2, "there are rnea"),
    "iterations": (["--what", "energy", "--iterations", "2"], 2, "forward-dynamics"),
    "name": (["--name", "a b"], 2, "'a_b' is"),
    "place": (["--out", "x.cpp"], 2, "does not end in .c"),
    "folder": (["--out", "none/x.c"], 2, "cannot write"),
    "argument": (["--argument", "gravity"], 2, "no input 'gravity'"),
    "dense": (["--method", "kkt"], 1, "NumPy"),
}


def test_inverse_dynamics_by_some_joints_is_exported(model: str) -> None:
    result = run("export", model, "--what", "inverse-dynamics", "--method", "least")
    assert result.exit_code == 0
    assert "(q[3], v[3], a[3], tau[3], full[3], multipliers[5], checks[4])" in result.output


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_a_message(model: str, case: str) -> None:
    args, code, message = WRONG[case]
    result = run("export", model, *args)
    assert result.exit_code == code, result.output
    assert message in words(result.stderr)
    assert result.stdout == "" and not list(Path().glob("*.c"))


def test_a_tree_has_no_constraints(tmp_path: Path) -> None:
    file = tmp_path / "tree.urdf"
    file.write_text(robot_text(link("base"), link("arm", x=1), joint("turn", "base", "arm", 0, 0), name="tree"))
    result = run("export", str(file), "--what", "constraint-error", "--out", str(tmp_path / "x.c"))
    assert result.exit_code == 2 and "no constraints" in words(result.stderr)
