# SPDX-License-Identifier: BSD-3-Clause
"""The command line: what it prints is what the library says, and every failure is a message and an exit code."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
import typer.main
from typer.testing import CliRunner, Result

import linkwork as lw
from linkwork.cli import app
from linkwork.cli.options import LoadOptions
from linkwork.cli.program import ORDER
from linkwork.cli.terminal import silence_notices, slow_notice
from linkwork.parsing import options as parsing_options
from linkwork.plans.loops import loops_of
from tests.support.robots import REPOSITORY, model_file

INERTIAL = """<inertial><origin xyz="{x} {y} 0"/><mass value="1"/>
  <inertia ixx="{I}" ixy="0" ixz="0" iyy="{I}" iyz="0" izz="{I}"/></inertial>"""


def link(name: str, x: float = 0.0, y: float = 0.0, I: float = 0.01) -> str:
    return f'<link name="{name}">{INERTIAL.format(x=x, y=y, I=I)}</link>'


def joint(name: str, parent: str, child: str, x: float, y: float, more: str = "", type: str = "continuous") -> str:
    return (
        f'<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} {y} 0"/><axis xyz="0 0 1"/>{more}</joint>'
    )


def loop(name: str, first: str, at: float, second: str) -> str:
    return (
        f'<loop name="{name}" type="revolute"><predecessor link="{first}"><origin xyz="{at} 0 0"/></predecessor>'
        f'<successor link="{second}"><origin xyz="0 0.5 0"/></successor><axis xyz="0 0 1"/></loop>'
    )


def robot_text(*parts: str, name: str = "robot") -> str:
    return "\n".join([f'<robot name="{name}">', *parts, "</robot>"])


def four_bar(ground: float = 1.0, name: str = "four_bar", more: str = "", limit: str = "") -> str:
    """Cranks of 0.5 m on pivots ``ground`` apart, coupler of 1 m: closed at neutral where ground is 1."""
    kind = "revolute" if limit else "continuous"
    return robot_text(
        link("base"),
        link("crank", y=0.25),
        link("coupler", x=0.5),
        link("rocker", y=0.25),
        joint("crank_joint", "base", "crank", 0, 0, limit, kind),
        joint("coupler_joint", "crank", "coupler", 0, 0.5, limit, kind),
        joint("rocker_joint", "base", "rocker", ground, 0, limit, kind),
        loop("closure", "coupler", 1.0, "rocker"),
        more,
        name=name,
    )


def three_rockers() -> str:
    """A four-bar with a rocker more: two loops that share crank and coupler; and one couple of joints apart."""
    return four_bar(
        more="\n".join(
            [
                link("middle", y=0.25),
                joint("middle_joint", "base", "middle", 0.5, 0),
                loop("closure_of_middle", "coupler", 0.5, "middle"),
                link("wheel"),
                joint("wheel_joint", "base", "wheel", 3, 0),
                link("follower"),
                joint("follower_joint", "base", "follower", 4, 0, '<mimic joint="wheel_joint" multiplier="2"/>'),
            ]
        )
    )


Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "robot.urdf") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def run(*args: str, **env: str | None) -> Result:
    return CliRunner(env={"COLUMNS": None, "NO_COLOR": None, **env}).invoke(app, list(args), prog_name="linkwork")


def json_of(command: str, *args: str) -> dict[str, Any]:
    """The JSON object that a command prints."""
    result = run(command, "--json", *args)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


report = partial(json_of, "info")


def words(text: str) -> str:
    """Text as one line, borders of panels dropped."""
    return re.sub(r"[\s│╭╮╰╯─]+", " ", text)


# What info says ------------------------------------------------------------------------------------


def test_json_has_the_numbers_of_the_mechanism(write: Write) -> None:
    file = write(three_rockers())
    robot, found = lw.load(file), report(file)
    mobility = robot.mobility(robot.neutral())
    assert (found["name"], found["format"], found["file"]) == ("four_bar", "URDF", file)
    assert (found["nq"], found["nv"], found["nc"]) == (robot.nq, robot.nv, robot.nc)
    assert (found["bodies"], found["joints"]) == (len(robot.body_names), len(robot.joints))
    assert found["joint_types"] == {"revolute": 6}
    assert found["mass"] == robot.mass
    assert found["gravity"] == robot.gravity.tolist()
    assert found["dof"] == mobility.dof == 2
    assert found["mobility"] == {
        "dof": mobility.dof,
        "rows": mobility.rows,
        "rank": mobility.rank,
        "redundancy": mobility.redundancy,
        "closed": True,
        "redundant": mobility.redundant,
        "conflicting": {},
        "singular": 0,
        "weak": 0,
    }
    for entry, said in zip(robot.joints, found["joint_list"], strict=True):
        assert (said["name"], said["parent"], said["child"]) == (entry.name, entry.parent, entry.child)
        assert slice(*said["q"]) == robot.q_slice(entry.name)
        assert slice(*said["v"]) == robot.v_slice(entry.name)
        assert said["lower"] == said["upper"] == [None]


def test_info_says_what_pulls_and_senses(tmp_path: Path) -> None:
    body = '<body><joint name="j"/><geom size="1"/></body>'
    tendon = '<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>'
    sensors = '<sensor><tendonpos name="length" tendon="t"/><user name="own" dim="1"/></sensor>'
    (tmp_path / "arm.xml").write_text(f"<mujoco><worldbody>{body}</worldbody>{tendon}{sensors}</mujoco>")
    found = report(str(tmp_path / "arm.xml"))
    assert found["tendons"] == ["t"]
    assert [(s["name"], s["type"], s["of"], bool(s["refused"])) for s in found["sensors"]] == [
        ("length", "tendonpos", "t", False),
        ("own", "user", "", True),
    ]


def test_info_says_how_angles_and_quaternions_are_written(write: Write) -> None:
    urdf = report(write(four_bar()))
    assert (urdf["coordinates"], urdf["read_as"]) == (
        "angles in rad, lengths in m",
        "angles in radians, rotations as roll, pitch, yaw",
    )
    ball = '<body><joint type="ball"/><geom size="1"/></body>'
    mjcf = write(
        f"<mujoco><worldbody><body><freejoint/><geom size='1'/>{ball * 5}</body></worldbody></mujoco>", "b.xml"
    )
    found = report(mjcf)
    where = "q[3:7], q[7:11], q[11:15], q[15:19] and 2 more"
    assert found["coordinates"] == f"angles in rad, lengths in m; quaternions (x, y, z, w) at {where}"
    assert found["read_as"] == 'angles in degrees unless <compiler angle="radian"/>, quaternions (w, x, y, z)'
    printed = run("info", mjcf).stdout
    assert (
        f"coordinates q       {found['coordinates']}" in printed
        and f"in the file         {found['read_as']}" in printed
    )
    planar = four_bar(more=link("sledge") + joint("floor", "base", "sledge", 0, 0, type="planar"))
    assert report(write(planar, "p.urdf"))["coordinates"].endswith("; directions (cos, sin) at q[5:7]")


def test_info_of_a_file_that_is_not_quite_xml_warns_and_goes_on(write: Write) -> None:
    found = report(write("<!-- <mujoco> -- ---> " + four_bar()))
    assert found["format"] == "URDF" and found["dof"] == report(write(four_bar(), "well.urdf"))["dof"]
    assert any("not well-formed XML: '--' inside a comment" in text for text in found["warnings"])


def test_info_of_a_model_that_does_not_move(write: Write) -> None:
    result = run("info", write(robot_text(link("base"))))
    assert result.exit_code == 0 and "joints              0" in result.stdout


def test_a_template_says_how_it_becomes_a_model(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xacro", None)
    result = run("info", write(four_bar(), "robot.urdf.xacro"))
    assert result.exit_code == 1 and "expand it first: xacro" in result.stderr


def test_json_says_which_loops_share_joints(write: Write) -> None:
    file = write(three_rockers())
    found, loops = report(file), loops_of(lw.load(file))
    for said, known in zip(found["constraints"], loops.loops, strict=True):
        assert (said["name"], said["type"], said["rows"]) == (known.constraint, known.kind, known.rows)
        assert (said["root"], said["support"], said["group"]) == (known.root, list(known.support), known.group)
    for said, group in zip(found["groups"], loops.groups, strict=True):
        assert (said["constraints"], said["joints"], said["top"]) == (
            list(group.constraints),
            list(group.joints),
            group.root,
        )
    assert [len(group["constraints"]) for group in found["groups"]] == [2, 1]
    assert found["groups"][0]["shared"] == ["crank_joint", "coupler_joint"]
    assert found["groups"][1]["shared"] == []


def test_a_tree_has_as_many_degrees_of_freedom_as_velocities(write: Write) -> None:
    file = write(robot_text(link("base"), link("arm", x=1), joint("turn", "base", "arm", 0, 0)))
    assert report(file)["dof"] == 1
    assert report(file, "--base", "floating")["dof"] == 7
    assert report(file)["mobility"]["rows"] == 0


def test_open_loops_are_closed_before_freedoms_are_counted(write: Write) -> None:
    file = write(four_bar(ground=1.2))
    robot, found = lw.load(file), report(file)
    pose = found["pose"]
    assert pose["assembled"] and pose["start"] == "neutral" and pose["failure"] is None
    assert pose["start_gap"] == pytest.approx(0.2, abs=1e-12)
    assert pose["gap"] <= 1e-12
    assert np.abs(lw.constraint_error(robot, pose["q"])).max() <= 1e-12
    assert found["constraints"][0]["gap"] == pose["start_gap"]
    assert found["dof"] == robot.mobility(pose["q"]).dof == 1


def test_open_loops_stay_open_if_asked(write: Write) -> None:
    file = write(four_bar(ground=1.2))
    robot, found = lw.load(file), report(file, "--no-assemble")
    assert not found["pose"]["assembled"]
    assert found["pose"]["q"] == robot.neutral().tolist()
    assert not found["mobility"]["closed"]
    assert "where the loops are open" in run("info", "--no-assemble", file).stdout


def test_loops_that_cannot_close_are_a_warning_of_info(write: Write) -> None:
    file = write(four_bar(ground=5.0))
    found = report(file)
    assert not found["pose"]["assembled"]
    assert found["pose"]["gap"] == pytest.approx(3.0, abs=0.5)  # 5 - 0.5 - 1 - 0.5, spread over directions
    assert found["pose"]["failure"] in found["warnings"]
    assert "'closure' is still" in found["pose"]["failure"]
    result = run("info", file)
    assert result.exit_code == 0
    assert "Warnings" in result.stdout and "do not close" in result.stdout


def test_limits_are_named_where_they_keep_loops_open(write: Write) -> None:
    file = write(four_bar(ground=1.2, limit='<limit lower="-0.01" upper="0.01" effort="1" velocity="1"/>'))
    failed = run("check", file)
    assert failed.exit_code == 1
    assert "--ignore-limits" in failed.stdout
    assert run("check", "--ignore-limits", file).exit_code == 0
    assert report("--ignore-limits", file)["pose"]["assembled"]


def askew(angle: float) -> str:
    """A four-bar whose rocker turns about an axis that is not quite parallel to the others."""
    return four_bar().replace('<origin xyz="1.0 0 0"/><axis', f'<origin xyz="1.0 0 0" rpy="{angle} 0 0"/><axis')


def test_loops_that_all_but_close_do_so_with_a_tolerance(write: Write) -> None:
    assert "rpy" in askew(1e-4)
    file = write(askew(1e-4))
    assert run("check", file).exit_code == 1
    assert run("check", "--tolerance", "1e-3", file).exit_code == 0
    found = report("--tolerance", "1e-3", file)
    assert found["mobility"]["closed"] and not found["warnings"]
    assert run("check", write(askew(1e-8), "less.urdf")).exit_code == 0


def test_rank_that_is_a_close_call_is_a_note(write: Write) -> None:
    """With a crank that is askew in its own joint, motion moves the tip out of the plane by very little."""
    file = write(
        four_bar().replace(
            '<origin xyz="0 0.5 0"/><axis xyz="0 0 1"/>', '<origin xyz="0 0.5 0"/><axis xyz="1e-5 0 1"/>'
        )
    )
    found = report("--no-assemble", file)
    assert (found["mobility"]["weak"], found["dof"]) == (1, 0)
    assert "would be 1 degree of freedom, not 0" in found["notes"][-1]


def test_a_singular_pose_is_called_so(write: Write) -> None:
    """With cranks along the coupler, all four pivots are on one line."""
    file = write(four_bar().replace('<origin xyz="0 0.5 0"/>', '<origin xyz="0.5 0 0"/>'))
    found = report(file)
    assert found["pose"]["start_gap"] <= 1e-12
    assert (found["dof"], found["mobility"]["singular"]) == (2, 1)
    assert "2 at pose 'neutral', 1 near it (singular)" in run("info", file).stdout


def test_a_pose_of_the_file_serves_where_neutral_is_open(tmp_path: Path) -> None:
    text = """<mujoco model="two"><worldbody>
      <body><joint name="x" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
      <body><joint name="y" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
      </worldbody><equality><joint name="sum" joint1="x" joint2="y" polycoef="0.5 1 0 0 0"/></equality>
      <keyframe><key name="apart" qpos="0.5 0"/><key name="wrong" qpos="0.1 0"/></keyframe></mujoco>"""
    file = tmp_path / "two.xml"
    file.write_text(text)
    found = report(str(file))
    assert found["format"] == "MJCF"
    assert (found["pose"]["start"], found["pose"]["assembled"]) == ("apart", False)
    assert {pose["name"]: round(pose["gap"], 12) for pose in found["poses"]}["wrong"] == 0.4
    asked = report(str(file), "--pose", "wrong")
    assert (asked["pose"]["start"], asked["pose"]["assembled"]) == ("wrong", True)
    assert report(str(file), "--pose", "neutral")["pose"]["start"] == "neutral"
    unknown = run("info", str(file), "--pose", "aprt")
    assert unknown.exit_code == 2
    assert "did you mean 'apart'" in words(unknown.stderr)


def test_mimic_that_is_ignored_is_a_note(write: Write) -> None:
    file = write(three_rockers())
    found = report("--mimic", "ignore", file)
    assert found["nc"] == 10
    assert found["notes"][0] == "1 tag <mimic> ignored: the joints are free"


def test_the_page_shows_joints_constraints_groups_and_mobility(write: Write) -> None:
    page = run("info", "--tree", write(three_rockers())).stdout
    lines = page.splitlines()
    assert lines[0] == "four_bar (URDF)"
    assert any(re.fullmatch(r"  degrees of freedom +2 at pose 'neutral'", line) for line in lines)
    assert any(re.match(r"  crank_joint +revolute +world +crank +0 +0", line) for line in lines)
    assert any(re.match(r"  closure +Hinge +5 +coupler - rocker +world +3 +1 +0$", line) for line in lines)
    assert "group 1: closure, closure_of_middle; 4 joints above 'world', 2 of them shared" in page
    assert "6 - 4 = 2 degrees of freedom" in page
    assert "7 of 11 rows redundant" in page
    assert any(re.search(r"coupler +coupler_joint: revolute +=closure +=closure_of_middle", line) for line in lines)


def test_many_joints_are_listed_when_asked(write: Write) -> None:
    parts = [link("l0")]
    for k in range(20):
        parts += [link(f"l{k + 1}", x=0.1), joint(f"j{k}", f"l{k}", f"l{k + 1}", 0.1, 0)]
    file = write(robot_text(*parts))
    assert "j19" not in run("info", file).stdout
    assert "j19" in run("info", "--joints", file).stdout


def test_many_contact_pairs_are_listed_when_asked(write: Write) -> None:
    bodies = "".join(f'<body name="b{k}"><freejoint/><geom name="g{k}" size="0.1"/></body>' for k in range(8))
    file = write(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>", "balls.xml")
    for flags, listed in (((), False), (("--joints",), False), (("--pairs",), True)):
        page = run("info", *flags, file).stdout
        assert ("g6:g7" in page) == listed and "28 pairs" in page


# What check says -----------------------------------------------------------------------------------


def test_check_goes_on_after_a_failure(write: Write) -> None:
    good, bad, other = write(four_bar()), write("<robot", "bad.urdf"), write(four_bar(1.2), "open.urdf")
    result = run("check", good, bad, other)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"OK   {good}: 'four_bar', 3 joints, 1 degree of freedom, 1 constraint closed at")
    assert lines[1].startswith(f"FAIL {bad}:1: not well-formed XML")
    assert lines[2].startswith(f"OK   {other}:") and "assembled near pose 'neutral'" in lines[2]
    assert lines[3] == "3 files, 1 failed"
    assert run("check", good, other).stdout.splitlines()[-1] == "2 files, none failed"


def test_check_fails_where_loops_do_not_close(write: Write) -> None:
    file = write(four_bar(ground=5.0))
    result = run("check", file)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"FAIL {file}: the loops of 'four_bar' do not close")
    assert run("check", "--no-assemble", file).exit_code == 0


def test_strict_takes_warnings_for_failures(write: Write) -> None:
    thin = INERTIAL.format(x=0, y=0, I=1).replace('ixx="1"', 'ixx="5"')
    file = write(robot_text(link("base"), f'<link name="odd">{thin}</link>', joint("turn", "base", "odd", 0, 0)))
    lenient, strict = run("check", file), run("check", "--strict", file)
    assert lenient.exit_code == 0 and lenient.stdout.startswith("OK ")
    assert f"warning: {file}:" in lenient.stdout and "principal moments of inertia" in lenient.stdout
    assert strict.exit_code == 1 and strict.stdout.startswith("FAIL ")
    assert run("check", "--strict", "--inertias", "trust", file).exit_code == 0
    assert run("check", "--inertias", "check", file).exit_code == 1
    assert len(report(file)["warnings"]) == 1


def test_check_in_json_says_where(write: Write) -> None:
    bad = write(four_bar().replace("</robot>", '\n<link name="crank"/>\n</robot>'))
    result = run("check", "--json", bad, write(four_bar(), "good.urdf"))
    found = json.loads(result.stdout)
    assert result.exit_code == 1 and found["ok"] is False
    assert [file["ok"] for file in found["files"]] == [False, True]
    error = found["files"][0]["error"]
    line = Path(bad).read_text().splitlines().index('<link name="crank"/>') + 1
    assert (error["type"], error["line"], error["element"]) == ("ModelError", line, 'link name="crank"')
    assert found["files"][1]["error"] is None and found["files"][1]["dof"] == 1


# Failures ------------------------------------------------------------------------------------------

WRONG = {
    "bad xml": ("<robot name='a'>\n<link>\n</robot>", r"robot\.urdf:3: not well-formed XML"),
    "unsupported": (
        robot_text(link("base"), link("arm"), joint("j", "base", "arm", 0, 0, type="elastic")),
        r'robot\.urdf:\d+ <joint name="j">: .*elastic',
    ),
    "no link": ("<robot name='a'/>", r"robot\.urdf:1 <robot name=\"a\">: "),
    "two roots": (robot_text(link("a"), link("b")), r"robot\.urdf"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("command", ["info", "check"])
def test_a_wrong_file_is_a_message_that_says_where(write: Write, command: str, case: str) -> None:
    text, message = WRONG[case]
    result = run(command, write(text))
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert re.search(message, result.output), result.output
    assert result.stdout == "" or command == "check"


@pytest.mark.parametrize("command", ["info", "check"])
def test_a_missing_file_is_a_failure(tmp_path: Path, command: str) -> None:
    for path, message in ((tmp_path / "none.urdf", "no such file"), (tmp_path, "folder"), (Path("x.obj"), "x.obj")):
        result = run(command, str(path))
        assert result.exit_code == 1
        assert f"{path}: " in result.output and message in result.output


def test_a_failure_of_info_in_json_leaves_standard_output_empty(write: Write) -> None:
    result = run("info", "--json", write("<robot"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("linkwork: error: ")


USAGE = {
    "no command": ["--frobnicate"],
    "unknown command": ["explain", "robot.urdf"],
    "no file": ["info"],
    "no files": ["check"],
    "two files": ["info", "a.urdf", "b.urdf"],
    "unknown option": ["info", "--wobbly", "a.urdf"],
    "base": ["info", "--base", "wobbly", "a.urdf"],
    "mimic": ["check", "--mimic", "maybe", "a.urdf"],
    "inertias": ["check", "--inertias", "", "a.urdf"],
    "dependent": ["info", "--dependent", "never", "a.urdf"],
    "tolerance": ["info", "--tolerance", "-1", "a.urdf"],
    "nothing to time": ["bench"],
    "models and a suite": ["bench", "--suite", "loops", "a.urdf"],
    "no suite": ["bench", "--suite", "everything"],
    "only without a suite": ["bench", "a.urdf", "--only", "x"],
    "nowhere to draw": ["graph", "a.urdf"],
    "what": ["export", "--what", "everything", "a.urdf"],
    "language": ["export", "--to", "fortran", "a.urdf"],
    "shell": ["--show-completion", "sh"],
    "port": ["view", "--port", "0", "a.urdf"],
}


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage_exits_with_2(case: str) -> None:
    result = run(*USAGE[case])
    assert result.exit_code == 2
    assert "Usage: linkwork" in result.stderr
    assert result.stdout == ""


def test_an_option_that_the_format_does_not_have_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "empty.xml"
    file.write_text("<mujoco/>")
    result = run("info", "--base", "fixed", str(file))
    assert result.exit_code == 2
    assert "has no meaning" in words(result.stderr)


def test_an_interrupt_exits_with_130(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lw, "load", interrupted)
    assert run("info", "robot.urdf").exit_code == 130
    assert run("check", "robot.urdf").exit_code == 130


def test_any_error_of_the_library_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (
        lw.errors.LinkworkError,
        lw.errors.TopologyError,
        lw.errors.UnsupportedFeature,
        lw.errors.ProgramTooLarge,
        lw.errors.NotConverged,
    ):

        def fail(*args: object, kind: type[Exception] = kind, **options: object) -> None:
            raise kind("no good")

        monkeypatch.setattr(lw, "load", fail)
        assert run("info", "robot.urdf").stderr == "linkwork: error: robot.urdf: no good\n"
        assert run("check", "robot.urdf").stdout == "FAIL robot.urdf: no good\n"


def test_options_of_load_are_passed_on(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    robot, given = lw.load(write(four_bar())), []

    def load(file: Path, **options: object) -> lw.Mechanism:
        given.append(options)
        return robot

    monkeypatch.setattr(lw, "load", load)
    file = write(four_bar())
    for command in ("info", "check"):
        run(command, file)
        run(command, file, "--base", "floating", "--mimic", "ignore", "--inertias", "trust", "--dependent", "free")
        run(command, file, "--loops", "none")
        run(command, file, "--loops", "loops.yaml")
    words = {"base": "floating", "mimic": "ignore", "inertias": "trust", "dependent": "free"}
    assert given == [{}, words, {"loops": False}, {"loops": "loops.yaml"}] * 2


# Terminals and pipes -------------------------------------------------------------------------------


def in_terminal(*args: str, columns: int = 100, **env: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": str(columns), **env}
    with subprocess.Popen([sys.executable, "-m", "linkwork", *args], stdout=theirs, env=environment) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            text += part
            if not part:
                break
    os.close(ours)
    assert process.returncode == 0
    return text.decode()


@pytest.mark.slow
def test_color_on_a_terminal_only_and_not_where_unwanted(write: Write) -> None:
    file = write(four_bar())
    assert "\x1b[" in in_terminal("info", file)
    assert "\x1b" not in in_terminal("info", file, NO_COLOR="1")
    assert "\x1b" not in in_terminal("info", file, TERM="dumb")
    assert "\x1b" not in run("info", file).output


@pytest.mark.parametrize("columns", [10, 24, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(write: Write, columns: int) -> None:
    page = run("info", "--tree", write(three_rockers()), COLUMNS=str(columns)).stdout
    assert max(map(len, page.splitlines())) <= columns
    for name in ("crank_joint", "closure_of_middle", "follower"):
        assert name in re.sub(r"[\s│├└─]+", "", page)


def test_in_a_pipe_a_row_is_a_line(write: Write) -> None:
    long = "a_name_that_is_rather_long_" * 8
    file = write(four_bar().replace('"closure"', f'"{long}"').replace('"rocker"', f'"{long}2"'))
    rows = [line for line in run("info", file).stdout.splitlines() if line.startswith(f"  {long} ")]
    assert len(rows) == 1 and f"coupler - {long}2" in rows[0]


def test_names_are_shown_as_they_are_and_on_one_line(write: Write) -> None:
    file = write(four_bar(name="[bold]a&#10;b[/bold] :smile:").replace('"crank"', '"[red]crank"'))
    page = run("info", "--tree", file).stdout
    assert page.splitlines()[0].endswith("b[/bold] :smile: (URDF)")
    assert "[red]crank" in page


def test_what_the_encoding_cannot_say_is_escaped(write: Write) -> None:
    file = write(four_bar(name="Gelenk-Vünf"))
    done = subprocess.run(
        [sys.executable, "-m", "linkwork", "info", "--tree", file],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == rb"Gelenk-V\xfcnf (URDF)"


def test_a_reader_that_goes_away_is_no_traceback(write: Write) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "linkwork", "info", "--quiet", write(four_bar())]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        _, stderr = process.communicate()
    assert (process.returncode, stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("form", [["--json"], []])
def test_a_full_disk_is_a_message(form: list[str], write: Write) -> None:
    command = [sys.executable, "-m", "linkwork", "info", "--quiet", *form, write(four_bar())]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "linkwork: error: standard output: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="preexec_fn")
def test_closed_standard_output_is_no_traceback(write: Write) -> None:
    command = [sys.executable, "-m", "linkwork", "info", "--quiet", write(four_bar())]
    done = subprocess.run(command, preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_takes_long_is_announced_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINKWORK_QUIET", raising=False)
    for quiet, said in ((False, "linkwork: thinking ...\n"), (True, "")):
        with silence_notices(quiet), slow_notice("thinking", after=0.001):
            time.sleep(0.2)
        assert capsys.readouterr() == ("", said)
    with slow_notice("thinking", after=10.0):
        pass
    assert capsys.readouterr() == ("", "")
    assert "LINKWORK_QUIET" not in os.environ


# Help and start ------------------------------------------------------------------------------------


def test_every_option_and_argument_is_explained() -> None:
    group = typer.main.get_command(app)
    assert list(group.list_commands(None)) == list(ORDER)  # type: ignore[attr-defined, arg-type]
    for command in (group, *group.commands.values()):  # type: ignore[attr-defined]
        assert command.help
        for parameter in command.params:
            assert parameter.help, parameter.name
    for name in ORDER:
        text = run(name, "--help").stdout
        assert "Examples" in text and f"linkwork {name}" in text


def test_without_arguments_there_is_help() -> None:
    result = run()
    assert "Usage: linkwork" in result.output and "info" in result.output


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout == f"linkwork {lw.__version__}\n"


PROBE = """
import sys
sys.argv = ["linkwork", *sys.argv[1:]]
from linkwork.cli import main
try:
    main()
except SystemExit as end:
    code = end.code
print("loaded:", code, *(name for name in ("numba", "llvmlite", "scipy", "matplotlib") if name in sys.modules))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    [["--help"], ["info", "--help"], ["bench", "--help"], ["--version"], ["info", "TREE"], ["check", "TREE"]],
    ids=" ".join,
)
def test_no_compiler_is_imported_where_none_is_needed(write: Write, args: list[str]) -> None:
    tree = write(robot_text(link("base"), link("arm", x=1), joint("turn", "base", "arm", 0, 0)))
    command = [sys.executable, "-c", PROBE, *(tree if arg == "TREE" else arg for arg in args)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "loaded: 0", done.stderr


def test_help_imports_no_model() -> None:
    """Help is for looking: it takes the time of importing the terminal's library alone."""
    code = "import sys, linkwork.cli; print([name for name in sys.modules if name.startswith('linkwork.m')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("option", ["base", "mimic", "inertias", "dependent"])
def test_options_of_loading_take_the_words_of_load(option: str) -> None:
    words = get_args(getattr(parsing_options, option.capitalize()))
    declared = get_type_hints(LoadOptions, include_extras=True)[option].__metadata__[0]
    assert declared.metavar == "|".join(words)


@pytest.mark.slow
def test_script_and_module_are_the_same_program(write: Write) -> None:
    script = shutil.which("linkwork", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if script is None:
        pytest.skip("the script is not installed")
    good, bad = write(four_bar()), write("<robot", "bad.urdf")
    for args, code in ((["info", good], 0), (["check", good, bad], 1), (["check"], 2), (["--version"], 0)):
        runs = [
            subprocess.run([*program, *args], capture_output=True, text=True, env={**os.environ, "LINKWORK_QUIET": "1"})
            for program in ([script], [sys.executable, "-m", "linkwork"])
        ]
        assert [done.returncode for done in runs] == [code, code]
        assert runs[0].stdout == runs[1].stdout
        assert runs[0].stderr == runs[1].stderr
        assert "Traceback" not in runs[0].stderr


def test_the_documentation_names_every_key_and_option(write: Write) -> None:
    text = (REPOSITORY / "docs" / "reference" / "cli.md").read_text()

    def keys(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    good, bad = write(three_rockers()), write("<robot", "bad.urdf")
    found = keys(report(good)) | keys(json.loads(run("check", "--json", good, bad).stdout))
    out = str(Path(good).with_name("made.c"))
    for args in (["count", good], ["simulate", good, "--seconds", "0.01"], ["export", good, "--out", out]):
        said = json.loads(run(args[0], "--json", *args[1:]).stdout)
        said.pop("settings", None)
        for inner in (said, *said.get("counts", ())):
            found |= set(inner)
    robot = lw.load(good)
    names = {c.name for c in robot.constraints} | {"revolute"}  # keys of dictionaries by name
    for key in found - names:
        assert f"`{key}`" in text, key
    group = typer.main.get_command(app)
    for command in group.commands.values():  # type: ignore[attr-defined]
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert not option.startswith("--") or f"`{option}" in text, option


# Real robots ---------------------------------------------------------------------------------------

REAL = {
    "digit/digit-v3_nomesh.xml": (54, 18, 18),
    "cassie/cassie_nomesh.xml": (32, 12, 10),
    "kangaroo/kangaroo_nomesh.xml": (32, 6, 4),
    "booster_t1/T1_23dof_parallel_nomesh.xml": (45, 12, 12),
    "reachy_mini/reachy_mini_nomesh.xml": (30, 15, 15),
    "robotiq_2f85/2f85_nomesh.xml": (8, 7, 5),
    "panda/panda_nomesh.xml": (9, 1, 1),
}
"""nv, rows and rank of the constraints as MuJoCo has them (README of the models)."""


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_rank_of_real_robots_is_that_of_mujoco(name: str) -> None:
    file = str(model_file(name))
    found = report(file)
    nv, rows, rank = REAL[name]
    assert (found["nv"], found["nc"], found["mobility"]["rank"], found["dof"]) == (nv, rows, rank, nv - rank)
    checked = run("check", file)
    # a warning, of equalities that are soft in MuJoCo
    soft = "'solimp' acts with contact='soft' alone" in " ".join(checked.output.split())
    assert (checked.exit_code, run("check", "--strict", file).exit_code) == (0, int(soft))
