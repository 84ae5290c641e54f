# SPDX-License-Identifier: BSD-3-Clause
"""The twelve mechanisms of the documentation: short, as their page says, and right by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "mechanisms.md"
PARTS = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
CODES = ["\n".join(re.findall(r"```python\n(.*?)```", part, re.DOTALL)) for part in PARTS[::2]]
START, PROGRAMS = CODES[0], dict(zip(PARTS[1::2], CODES[1:], strict=True))


def quick_return(x: dict[str, Any]) -> bool:
    back = 2 * np.arccos(0.1 / 0.3)
    ratio = float((2 * np.pi - back) / back)
    return abs(x["slow"] / (1 - x["slow"]) - ratio) < 0.01


def jansen(x: dict[str, Any]) -> bool:
    """The foot of the zoo's leg draws the same curve, mirrored."""
    robot = x["lw"].zoo.jansen()
    other = robot.sweep("O", 1 + np.linspace(0, 2 * np.pi, 91)).frame_placement("foot").position
    same = np.ptp(x["foot"], axis=0)[:2] - np.ptp(other, axis=0)[[0, 2]]
    return bool(np.abs(same).max() < 2e-3)


def stewart(x: dict[str, Any]) -> bool:
    """The drives carry the weight and hold the loops."""
    run = x["run"]
    return bool(run.errors.max() < 1e-6 and 20 * 9.81 / 6 < x["most"] < 200)


def differential(x: dict[str, Any]) -> bool:
    """Each wheel has half the torque: steady speeds are in inverse proportion to what resists them."""
    return abs(x["left"] / x["right"] - 0.5 / 6.0) < 1e-3 and abs(x["cage"] - (x["left"] + x["right"]) / 2) < 1e-9


def belt(x: dict[str, Any]) -> bool:
    """At the end the motor's torque carries friction over the ratio of radii."""
    torque = 3.0 - 0.02 * x["motor"]
    return abs(x["drum"] / x["motor"] - 0.25) < 1e-9 and abs(torque - 0.25 * (4.0 + 0.1 * x["drum"])) < 0.02


def wishbone(x: dict[str, Any]) -> bool:
    """Before the bump the tire carries the weight of all but the road."""
    run, states = x["run"], x["states"]
    at = np.searchsorted(run.times, 0.49)
    above = run.frame_placement("hub").position.reshape(-1, 3)[at, 1] - run.joint_position("bump")[at]
    up = states["tire"].force[at, 0] * above / states["tire"].coordinate[at, 0]
    return bool(abs(up - 330.7 * 9.81) < 0.01 * 330.7 * 9.81)


def excavator(x: dict[str, Any]) -> bool:
    """Cylinders are as long as their strokes say."""
    return bool(x["run"].errors.max() < 1e-9)


def engine(x: dict[str, Any]) -> bool:
    """Work of the gas over a turn is that of the shaft."""
    gas = x["run"].power["force elements"]
    shaft = -x["run"].power["shaft"]
    turn = slice(1, 315)
    return bool(abs(gas[turn].mean() - shaft[turn].mean()) < 0.02 * abs(shaft[turn].mean()))


def geneva(x: dict[str, Any]) -> bool:
    return abs(x["standing"].mean() - 2 / 3) < 0.01 and abs(x["run"].q[0, 1] - x["run"].q[-1, 1] - np.pi) < 1e-6


def clutch(x: dict[str, Any]) -> bool:
    """Momentum, with the torque of the engine, is kept."""
    v, t = x["run"].v, x["run"].times
    return bool(np.abs(0.2 * v[:, 0] + 1.5 * v[:, 1] - 40 - 40 * t).max() < 1e-6)


def cam(x: dict[str, Any]) -> bool:
    return bool(x["gap"].max() > 5e-4) and not x["disc"].undercut


def toggle(x: dict[str, Any]) -> bool:
    return bool(x["force"].max() > 20 * x["torque"].max())


FACTS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "Quick-return": quick_return,
    "Jansen's leg": jansen,
    "Stewart platform": stewart,
    "Differential": differential,
    "Belt": belt,
    "Wishbone with a strut on the road": wishbone,
    "Excavator": excavator,
    "V engine": engine,
    "Geneva drive": geneva,
    "Clutch": clutch,
    "Disc cam with dwells": cam,
    "Toggle press": toggle,
}


@pytest.mark.parametrize("title", PROGRAMS)
def test_a_mechanism_is_short_runs_and_is_right(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 40 lines; a film and a plot; what can be computed by hand comes out."""
    code = PROGRAMS[title]
    assert len([line for line in code.splitlines() if line.strip()]) <= 40
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(START + code, title, "exec"), names)
    assert FACTS[title](names)
    written = {file.name for file in tmp_path.iterdir()}
    shown = set(re.findall(r"\(\.\./pictures/mechanisms/(.+?)\)", PARTS[2 * list(PROGRAMS).index(title) + 2]))
    assert shown == written and len(written) >= 2
    for name in written:
        assert ElementTree.parse(tmp_path / name).getroot().tag.endswith("svg")
        assert (PAGE.parents[1] / "pictures" / "mechanisms" / name).is_file()
