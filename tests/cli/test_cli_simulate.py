# SPDX-License-Identifier: BSD-3-Clause
"""``linkwork simulate``: what it says is what the run says, and failures are messages and exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import linkwork as lw
from linkwork.cli import app
from linkwork.cli.simulation import SimulationResult
from tests.cli.test_cli import four_bar


def simulate(*args: object) -> Result:
    return CliRunner(env={"COLUMNS": None, "NO_COLOR": None}).invoke(app, ["simulate", *map(str, args)])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "four_bar.urdf"
    path.write_text(four_bar())
    return path


def test_a_run_in_words_and_in_files(model: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "run.npz", tmp_path / "run.png"
    found = simulate(model, "--seconds", 0.1, "--out", out, "--plot", plot, "-q")
    assert found.exit_code == 0, found.output
    assert "four_bar" in found.stdout and "0.1 s in" in found.stdout and "open by" in found.stdout
    robot = lw.load(model)
    run = lw.Trajectory.load(out, robot)
    assert len(run) == 11
    assert plot.read_bytes().startswith(b"\x89PNG")
    same = lw.simulate(robot, robot.assemble(robot.neutral()), seconds=0.1, record_every=10)
    np.testing.assert_array_equal(run.q, same.q)


def test_energies_at_the_start_and_at_the_end_are_those_of_the_run() -> None:
    robot = lw.zoo.pendulum(1)
    run = lw.simulate(robot, [0.5], seconds=1.0, tau=[5.0])
    found = SimulationResult(run, "pendulum.urdf", 0.1, [])
    first, last = run.energy["total"][[0, -1]]
    assert abs(last - first) > 0.1 * abs(first)
    words = dict(found.lines())["energy"]
    assert words == f"{first:.6g} J at the start, {last:.6g} J at the end ({last - first:+.3g} J)"


def test_json(model: Path) -> None:
    found = simulate(model, "--seconds", 0.05, "--integrator", "rk4", "--json")
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert said["seconds"] == pytest.approx(0.05)
    assert said["settings"]["integrator"] == "rk4"
    assert said["loops_open_by"] < 1e-6
    assert said["ended"] == ""


def test_failures(model: Path, tmp_path: Path) -> None:
    for arguments, code, words in (
        ((model, "--dt", "0"), 2, "not above zero"),
        ((model, "--integrator", "magic"), 2, "none of auto, euler"),
        ((model, "--pose", "home"), 2, "no pose"),
        ((tmp_path / "none.urdf",), 1, "none.urdf"),
        ((model, "--seconds", 0.01, "--out", tmp_path / "no" / "run.npz", "-q"), 1, "cannot save"),
        ((model, "--seconds", 0.01, "--plot", tmp_path / "run.magic", "-q"), 2, "run.magic"),
        ((model, "--seconds", 0.01, "--out", tmp_path / "run.txt", "-q"), 2, "--out: "),
    ):
        found = simulate(*arguments)
        assert found.exit_code == code, (arguments, found.output)
        assert words in found.output
    open_loop = tmp_path / "open.urdf"
    open_loop.write_text(four_bar(ground=5.0))
    found = simulate(open_loop, "-q")
    assert found.exit_code == 1 and "error" in found.output


def test_a_run_that_blew_up_is_told_in_words_and_in_json() -> None:
    robot = lw.zoo.four_bar()
    q = robot.poses["assembled"]
    run = lw.simulate(robot, q, robot.project_velocity(q, [1e4, 0, 0]), seconds=5, dt=0.05, integrator="euler")
    found = SimulationResult(run, "four_bar.urdf", 0.1, [])
    said = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert said["energy_last"] is None and said["energy_first"] > 0 and said["ended"] == run.ended
    words = dict(found.lines())
    assert words["energy"].endswith("not finite at the end") and words["ended early"] == run.ended


BLOCK = """<robot name="block"><link name="block"><inertial><mass value="2"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link></robot>"""


def test_a_floating_robot_stands_on_the_ground(tmp_path: Path) -> None:
    """It would start in the ground: the base of a URDF model is at the origin."""
    block = tmp_path / "block.urdf"
    block.write_text(BLOCK)
    found = simulate(block, "--base", "floating", "--contacts", "ground", "--seconds", 0.02, "--json")
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert said["contacts"]["touching"] == 4 and said["contacts"]["missed"] == 0
    assert said["contacts"]["normal_force"] == pytest.approx(2 * 9.81, rel=1e-6)
    words = simulate(block, "--base", "floating", "--contacts", "ground", "--seconds", 0.02).output
    assert "4 points touch at the end, 0 of them slide; 19.62 N in all" in words
    falls = json.loads(simulate(block, "--base", "floating", "--contacts", "none", "--seconds", 0.02, "--json").stdout)
    assert "contacts" not in falls and falls["fastest"] > 0.1 and falls["ground"] == ""
    refused = simulate(block, "--base", "floating", "--contacts", "ground", "--integrator", "rk4")
    assert refused.exit_code == 1 and "--contacts none" in refused.output.replace("\n", " ")


def test_a_floating_robot_without_a_ground_is_put_on_one(tmp_path: Path) -> None:
    """Its lowest point touches z = 0 wherever the file has it; a fixed base has no ground."""
    block = tmp_path / "block.urdf"
    block.write_text(BLOCK)
    found = simulate(block, "--base", "floating", "--seconds", 0.02, "--out", tmp_path / "run.npz")
    assert found.exit_code == 0, found.output
    words = " ".join(found.stdout.split())
    assert (
        "the plane z = 0, which is not in the file (--contacts none: no ground); the robot starts 0.1 m higher" in words
    )
    assert "contact forces at most ground:block 19.62 N" in words and "not solved no step" in words
    assert "dissipated" in words and "4 points touch at the end, 0 of them slide; 19.62 N in all" in words
    fixed = json.loads(simulate(block, "--seconds", 0.02, "--json").stdout)
    assert "contacts" not in fixed and fixed["ground"] == ""
    exact = json.loads(simulate(block, "--base", "floating", "--integrator", "rk4", "--seconds", 0.02, "--json").stdout)
    assert "contacts" not in exact and exact["ground"] == ""


def test_a_robot_above_a_ground_of_its_file_falls_onto_it(tmp_path: Path) -> None:
    scene = tmp_path / "scene.xml"
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 {z}"><freejoint/>
    <geom type="sphere" size="0.1"/></body></worldbody></mujoco>"""
    for z, rise, touching in ((0.2, "", 0), (0.05, "the robot starts 0.05 m higher, to stand on it", 1)):
        scene.write_text(text.format(z=z))
        said = json.loads(simulate(scene, "--seconds", 0.01, "--json").stdout)
        assert said["ground"] == rise and said["contacts"]["touching"] == touching


def test_cylinders_on_each_other_do_not_need_coal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = tmp_path / "barrels.xml"
    scene.write_text(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.1"><freejoint/>
        <geom name="a" type="cylinder" size="0.1 0.1"/></body><body pos="0 0 0.4"><freejoint/>
        <geom name="b" type="cylinder" size="0.1 0.1"/></body></worldbody></mujoco>"""
    )
    monkeypatch.setitem(sys.modules, "coal", None)
    said = json.loads(simulate(scene, "--seconds", 0.01, "--json").stdout)
    assert not [text for text in said["warnings"] if "linkwork[collide]" in text]
    assert said["contacts"]["touching"] > 0
