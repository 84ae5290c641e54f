# SPDX-License-Identifier: BSD-3-Clause
"""The study of steps on a GPU beside MuJoCo Warp, without a GPU and without the peer."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.parsing.mjcf import mujoco_map
from linkwork_benchmarks import suites
from linkwork_benchmarks.gpu_peers import before, studies
from linkwork_benchmarks.gpu_peers.scenarios import PHASES, SCENARIOS, Fall, smaller
from linkwork_benchmarks.runner import Journal
from tests.compilers.test_cuda_warps import Assign
from tests.support.cuda_on_host import use_host_simulations

BALL = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body pos="0 0 0.3"><freejoint/><geom type="sphere" size="0.1"/></body></worldbody></mujoco>"""
FEW = Fall("ball", 3, "float64", steps=2, compile=False)


@pytest.fixture
def ball(tmp_path: Path) -> Path:
    path = tmp_path / "ball.xml"
    path.write_text(BALL)
    return path


def test_phases_follow_each_other() -> None:
    begins = list(PHASES.values())
    assert all(a + s.steps <= b for s in SCENARIOS for a, b in pairwise(begins))
    assert len({s.name for s in SCENARIOS}) == len(SCENARIOS)
    assert smaller(SCENARIOS[3]).robots <= 1024
    assert suites.study("gpu_peers").scenarios is SCENARIOS


def test_what_is_left_is_beside_the_speeds(monkeypatch: pytest.MonkeyPatch, ball: Path) -> None:
    """A ball that rests on the ground at the end, and a loop that is closed."""
    use_host_simulations(monkeypatch, Assign)
    robot = lw.load(ball)
    q = studies._states(robot, 3)
    rates, left = studies._ours(robot, FEW, q)
    assert rates.keys() == PHASES.keys() and min(rates.values()) > 0
    assert left["lost"] == left["missed"] == 0 and left["residual"] < 1e-7 and left["deepest"] < 1e-4
    loop = zoo.ball_on_stewart()
    _, left = studies._ours(loop, FEW, studies._states(loop, 2))
    assert left["loops"] < 1e-4


def test_two_revisions_are_compared_by_their_fastest_runs(monkeypatch: pytest.MonkeyPatch, ball: Path) -> None:
    use_host_simulations(monkeypatch, Assign)
    monkeypatch.setattr(before, "scene_file", lambda name: ball)
    monkeypatch.setattr(before, "Fall", lambda scene, robots: FEW)
    rates, left = before.alone("humanoid", 2)
    assert left["lost"] == 0
    assert before.fastest([rates, {phase: 0.5 * rate for phase, rate in rates.items()}]) == rates


def test_the_peer_begins_in_the_same_states(monkeypatch: pytest.MonkeyPatch, ball: Path) -> None:
    robot, seen = lw.load(ball), dict[str, Any]()

    def run(command: list[str], **options: Any) -> Any:
        seen.update(json.loads(command[-1]))
        seen["qpos"] = np.load(seen["states"])
        return subprocess.CompletedProcess(command, 0, "some words\n" + json.dumps({"version": "1"}), "")

    monkeypatch.setattr(subprocess, "run", run)
    q = studies._states(robot, 5)
    assert studies._peer(ball, robot, FEW, q) == {"version": "1"}
    np.testing.assert_allclose(seen["qpos"], [mujoco_map(robot).to_qpos(x) for x in q], rtol=0, atol=1e-15)
    assert seen["dt"] == FEW.dt and seen["phases"] == PHASES


def test_a_peer_that_fails_is_told_of(monkeypatch: pytest.MonkeyPatch, ball: Path) -> None:
    journal = Journal()
    monkeypatch.setattr(studies, "scene_file", lambda name: ball)
    monkeypatch.setattr(studies, "FILES", {"ball": "ball.xml"})
    monkeypatch.setattr(studies, "_ours", lambda *given: ({"falling": 1.0}, {"lost": 0.0}))
    failed = subprocess.CompletedProcess([], 1, "", "Traceback\nModuleNotFoundError: No module named 'mujoco_warp'")
    monkeypatch.setattr(subprocess, "run", lambda *given, **options: failed)
    studies.measure(Fall("ball", 2), studies.QUICK, journal)
    assert "No module named 'mujoco_warp'" in journal.notes[0]
    assert journal.metrics["gpu_peers.ball.2.float32.falling.steps_per_s"] == 1.0
