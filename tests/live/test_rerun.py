# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of Rerun: what is logged is the trajectory, told by a module that keeps what it is given, and by Rerun."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.zoo import ASSEMBLED


class Archetype:
    """Keeps what it is made of."""

    def __init__(self, *values: Any, **parts: Any) -> None:
        self.values, self.parts = values, parts

    @classmethod
    def columns(cls, **parts: Any) -> Archetype:
        return cls(**parts)


class Recording:
    """Keeps what is logged, by path."""

    def __init__(self, name: str) -> None:
        self.name, self.time = name, 0.0
        self.static: dict[str, Archetype] = {}
        self.columns: dict[str, tuple[Archetype, Archetype]] = {}
        self.logged: dict[str, list[tuple[float, Archetype]]] = {}

    def log(self, path: str, what: Archetype, static: bool = False) -> None:
        if static:
            self.static[path] = what
        else:
            self.logged.setdefault(path, []).append((self.time, what))

    def send_columns(self, path: str, index: list[Archetype], columns: Archetype) -> None:
        self.columns[path] = index[0], columns

    def set_time(self, timeline: str, duration: float) -> None:
        self.time = duration

    def flush(self) -> None:
        pass


@pytest.fixture
def rerun(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Stands for the package."""
    kinds = ("Mesh3D", "Transform3D", "Scalars", "TimeColumn", "Arrows3D", "Points3D", "LineStrips3D")
    views = SimpleNamespace(RIGHT_HAND_Z_UP=Archetype("z"), RIGHT_HAND_Y_UP=Archetype("y"))
    module = SimpleNamespace(
        RecordingStream=Recording,
        ViewCoordinates=views,
        escape_entity_path_part=lambda name: name.replace(" ", "\\ "),
        **{kind: type(kind, (Archetype,), {}) for kind in kinds},
    )
    monkeypatch.setitem(sys.modules, "rerun", module)
    return module


def stack() -> lw.Trajectory:
    scene = zoo.boxes(2)
    return lw.simulate(scene, scene.poses[ASSEMBLED], seconds=0.1, record_every=10)


def test_poses_numbers_and_contacts_are_those_of_the_trajectory(rerun: Any) -> None:
    run = stack()
    robot = run.robot
    assert robot is not None
    log = lw.log_rerun(run)
    time, pose = log.columns["/world/box1"]
    np.testing.assert_array_equal(time.parts["duration"], run.times)
    placed = run.frame_placement("box1")
    np.testing.assert_allclose(pose.parts["translation"], placed.position, atol=1e-12)
    for turn, quaternion in zip(placed.rotation, pose.parts["quaternion"], strict=True):
        np.testing.assert_allclose(lw.Placement.from_quaternion(*quaternion).rotation, turn, atol=1e-12)
    np.testing.assert_array_equal(log.columns["/energy/total"][1].parts["scalars"], run.energy["total"])
    last, arrows = log.logged["/world/contacts/forces"][-1]
    assert last == run.times[-1]
    total = log.logged["/contacts/force"][-1][1].values[0]
    weights = 9.81 * robot.mass + 9.81 * robot.inertias["box1"].mass
    assert total == pytest.approx(weights, rel=1e-3) and len(arrows.parts["origins"]) == 8


def test_shapes_and_joints_are_logged_by_name(rerun: Any) -> None:
    robot = zoo.four_bar()
    q = robot.poses[ASSEMBLED]
    run = lw.simulate(robot, q, robot.project_velocity(q, [2.0, 0, 0]), seconds=0.05)
    log = lw.log_rerun(run)
    for name in robot.joint_names:
        np.testing.assert_array_equal(log.columns[f"/positions/{name}"][1].parts["scalars"], run.joint_position(name))
    np.testing.assert_array_equal(log.columns["/loops/error"][1].parts["scalars"], run.errors)
    shapes = [path for path in lw.log_rerun(stack()).static if path.startswith("/world/box0/")]
    assert len(shapes) == 1


def test_a_live_run_is_logged_as_it_is_shown(rerun: Any) -> None:
    pytest.importorskip("viser")
    robot = zoo.boxes(1)
    with robot.view(live=True, open_browser=False) as viewer:
        log = lw.log_rerun(viewer)  # type: ignore[arg-type]
        viewer.step(7)  # type: ignore[attr-defined]
        viewer.step(5)  # type: ignore[attr-defined]
    times = [time for time, _ in log.logged["/world/box0"]]
    assert times == pytest.approx([0.007, 0.012])


def test_what_cannot_be_logged_is_refused(rerun: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not Mechanism"):
        lw.log_rerun(zoo.four_bar())  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"a recording of Rerun is \.rrd"):
        lw.log_rerun(stack(), tmp_path / "run.npz")
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(UnsupportedFeature, match=r"pip install 'linkwork\[rerun\]'"):
        lw.log_rerun(stack())


def test_rerun_writes_a_file(tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    recording = lw.log_rerun(stack(), tmp_path / "run.rrd")
    recording.disconnect()
    assert (tmp_path / "run.rrd").stat().st_size > 5_000
