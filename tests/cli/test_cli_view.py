# SPDX-License-Identifier: BSD-3-Clause
"""``linkwork view``, ``simulate --view``, films, methods; and completion with the tab key."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.cli.test_cli import four_bar, run, words


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "four_bar.urdf").write_text(four_bar())
    return str(tmp_path / "four_bar.urdf")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is shown: nothing is, but it is written down."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(Mechanism, "view", lambda self, q=None, **how: found.append((self, q, how)))
    monkeypatch.setattr(lw.Trajectory, "view", lambda self, **how: found.append((self, how)))
    return found


def test_a_model_is_shown(model: str, seen: list[Any]) -> None:
    """Live, paused, with closed loops."""
    for options, more in (
        ((), {}),
        (("--pose", "neutral", "--port", "9000", "--no-browser"), {"port": 9000, "open_browser": False}),
    ):
        assert run("view", model, *options).exit_code == 0
        robot, q, how = seen[-1]
        assert robot.name == "four_bar" and how["live"] and not how["playing"]
        np.testing.assert_allclose(lw.constraint_error(robot, q), 0.0, atol=1e-12)
        assert {name: how[name] for name in ("wait", "port", "open_browser") if name in how} == {"wait": True, **more}


def test_a_simulation_runs_live(model: str, seen: list[Any]) -> None:
    assert run("simulate", model, "--live", "--dt", "0.002", "--no-browser").exit_code == 0
    _, _, how = seen[-1]
    assert how["live"] and how["playing"] and how["dt"] == 0.002 and how["wait"]
    for refused in (("--out", "run.npz"), ("--view",), ("--json",), ("--integrator", "rk4")):
        result = run("simulate", model, "--live", *refused)
        assert result.exit_code == 2 and "--live" in words(result.stderr), refused
    assert len(seen) == 1


def test_a_run_is_shown(model: str, seen: list[Any], tmp_path: Path) -> None:
    kept = tmp_path / "run.npz"
    result = run("simulate", model, "--seconds", "0.05", "--out", str(kept), "--view", "--no-browser", "-q")
    assert result.exit_code == 0, result.output
    shown, how = seen[0]
    assert len(shown) == 6 and how == {"wait": True, "open_browser": False}
    assert run("view", model, "--run", str(kept)).exit_code == 0
    again, _ = seen[1]
    np.testing.assert_array_equal(again.q, shown.q)


def test_what_cannot_be_shown_is_a_message(model: str, seen: list[Any], tmp_path: Path) -> None:
    both = run("view", model, "--run", "run.npz", "--pose", "neutral")
    assert both.exit_code == 2 and "--pose or --run" in words(both.stderr)
    assert run("view", model, "--pose", "home").exit_code == 2
    missing = run("view", model, "--run", str(tmp_path / "none.npz"))
    assert missing.exit_code == 1 and "no saved trajectory" in missing.stderr
    assert not seen


def test_a_real_viewer_starts_and_stops(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("viser")
    from linkwork.viewer import Viewer

    pages: list[int] = []

    def wait(self: Any) -> None:
        with urllib.request.urlopen(self.url, timeout=10) as page:
            pages.append(page.status)
        self.close()

    monkeypatch.setattr(Viewer, "wait", wait)
    result = run("view", model, "--no-browser", "--port", "8931")
    assert result.exit_code == 0, result.output
    assert pages == [200]


def test_a_film(model: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    film = tmp_path / "film.gif"
    result = run("simulate", model, "--seconds", "0.1", "--video", str(film), "-q")
    assert result.exit_code == 0, result.output
    assert film.read_bytes().startswith(b"GIF89a")
    wrong = run("simulate", model, "--seconds", "1000", "--video", "film.avi")
    assert wrong.exit_code == 2 and ".gif" in wrong.stderr


def test_a_method_is_passed_on(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    simulated = lw.simulate

    def simulate(robot: Any, q: Any, *, method: str | None = None, **options: Any) -> lw.Trajectory:
        given.append(method)
        return simulated(robot, q, **options)

    monkeypatch.setattr(lw, "simulate", simulate, raising=False)
    for method in (None, "auto", "minimal", "prox_bbo"):
        asked = [] if method is None else ["--method", method]
        assert run("simulate", model, "--seconds", "0.01", "-q", *asked).exit_code == 0
    assert given == [None, "auto", "minimal", "prox_bbo"]
    unknown = run("simulate", model, "--method", "minmal")
    assert unknown.exit_code == 2 and "did you mean 'minimal'" in words(unknown.stderr)


# Completion ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_script_for_each_shell(shell: str) -> None:
    result = run("--show-completion", shell)
    assert result.exit_code == 0
    assert "_LINKWORK_COMPLETE" in result.stdout and "linkwork" in result.stdout


def completed(*line: str) -> set[str]:
    """What the tab key offers at the end of a line."""
    environment = {
        **os.environ,
        "_LINKWORK_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("linkwork", *line)),
        "COMP_CWORD": str(len(line)),
    }
    done = subprocess.run([sys.executable, "-m", "linkwork"], env=environment, capture_output=True, text=True)
    return set(done.stdout.split())


def test_the_tab_key(tmp_path: Path) -> None:
    file = tmp_path / "bar.xml"
    file.write_text(
        '<mujoco model="bar"><worldbody><body name="bar"><joint name="a"/><inertial pos="0 0 1" mass="1" '
        'diaginertia="1 1 1"/></body></worldbody><keyframe><key name="home" qpos="0.5"/></keyframe></mujoco>'
    )
    assert completed("ex") == {"export"}
    assert completed("bench", "--suite", "l") == {"loops", "lqr"}
    assert {"neutral", "home"} <= completed("view", str(file), "--pose", "")
    assert completed("count", str(file), "--method", "") == {"auto", "aba"}
    assert "bar" in completed("export", str(file), "--frame", "b")
    assert completed("info", "--base", "f") == {"fixed", "floating"}


def test_a_page_is_written_for_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("four_bar.urdf").write_text(four_bar())
    shown = run("page", "four_bar.urdf", "--drive", "crank_joint=velocity:3", "--quiet")
    assert shown.exit_code == 0, shown.output
    text = Path("four_bar.html").read_text()
    assert '"mode":"velocity","value":3.0' in text and "four_bar.html" in shown.stdout
    for wrong in ("crank=fast:3", "crank=velocity", "velocity:3", "crank=velocity:x"):
        assert run("page", "four_bar.urdf", "--drive", wrong).exit_code == 2
    assert run("page", "four_bar.urdf", "--drive", "nothing=velocity:3").exit_code == 2
