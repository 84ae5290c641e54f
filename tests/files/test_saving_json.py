# SPDX-License-Identifier: BSD-3-Clause
"""JSON files: all of a robot to the last bit, functions as what they compute, and clear errors for what is damaged."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import linkwork as lw
from linkwork import zoo
from linkwork.model.plain import types
from linkwork.model.recordings import Recording
from linkwork.zoo import ASSEMBLED

FOUR_BAR = zoo.four_bar()
START = FOUR_BAR.poses[ASSEMBLED][0]
ZOO = [name for name in zoo.__all__ if name.islower() and callable(getattr(zoo, name))]


def again(robot: lw.Mechanism, folder: Path) -> lw.Mechanism:
    """The robot, saved and loaded."""
    robot.save(folder / "robot.json")
    return lw.load(folder / "robot.json")


def machine() -> lw.Mechanism:
    """A linkage with a drive, springs by functions and tables, a clutch, and forces by time and state."""
    coupler, rocker = FOUR_BAR.body_names[1:3]
    turning = lw.profiles.periodic(lw.profiles.cycloidal(START, START + 1.0, 2.0), 2.0)
    law = CubicSpline([-1.0, 0.0, 1.0], [-250.0, 0.0, 300.0])
    driven = FOUR_BAR.constrained(lw.Drive("A", turning, name="drive"))
    return driven.with_forces(
        lw.SpringDamper(("world", (0, 0, 1)), coupler, law, lambda rate: 3 * rate + abs(rate) * rate, preload=10.0),
        lw.forces.TorsionSpring("A", damping=lambda v: 0.2 * np.tanh(v / 0.01), name="dry"),
        lw.forces.Clutch("B", "D", capacity=([0.0, 1.0, 2.0], [0.1, 0.3, 0.2]), name="clutch"),
        lw.Force("world", rocker, lambda x, rate, t: -20 * x - rate * np.exp(-t), name="fades"),
        lw.Force(rocker, lambda t: (0, 0, -5 * np.sin(20 * t)), name="shaker"),
    )


@pytest.mark.parametrize("name", ZOO)
def test_every_robot_of_the_zoo_is_written_as_what_was_loaded(name: str, tmp_path: Path) -> None:
    try:
        robot = getattr(zoo, name)()
    except TypeError:
        pytest.skip("it takes arguments")
    if not isinstance(robot, lw.Mechanism):
        pytest.skip("it is no mechanism")
    text = robot.to_text("json", folder=tmp_path)
    (tmp_path / "robot.json").write_text(text, encoding="utf-8")
    assert lw.load(tmp_path / "robot.json").to_text("json", folder=tmp_path) == text


@pytest.mark.parametrize("way", ["json", "pickle"])
def test_machines_with_functions_move_alike_to_the_last_bit(way: str, tmp_path: Path) -> None:
    robot = machine()
    same = again(robot, tmp_path) if way == "json" else pickle.loads(pickle.dumps(robot))
    runs = [lw.simulate(one, seconds=0.2, dt=1e-3) for one in (robot, same)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert np.array_equal(runs[0].v, runs[1].v)
    assert abs(runs[0].v).max() > 0.1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.maximum(np.sin(3 * x), -0.5) * np.exp(-x),
        lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 3.0, 1.0]) + np.arctan2(x, 1 + x * x) - np.sqrt(abs(x)),
        lw.profiles.sequence(lw.profiles.modified_sine(0, 1, 1.0), lw.profiles.polynomial_345(1, 0, 1.0, begin=2.0)),
    ],
)
def test_recordings_are_recorded_as_what_they_record(function: Callable[..., Any]) -> None:
    drive = lw.Drive("A", function)
    recording = Recording(drive.tape)
    assert lw.Drive("A", recording).tape == drive.tape
    times = np.linspace(0.1, 2.9, 17)
    np.testing.assert_allclose(recording(times), drive.at(times)[0][:, 0], rtol=1e-14, atol=1e-15)


def test_functions_of_several_joints_and_of_states_are_kept(tmp_path: Path) -> None:
    arm = zoo.pendulum(3)
    first, second, third = arm.joint_names
    coupled = arm.constrained(
        lw.constraints.Follows(third, [first, second], lambda a, b: 0.3 * np.sin(a) * b, name="cam"),
    )
    watched = lw.Force(
        arm.body_names[-1], lambda t, q, v: (q[0] * v[1], 0, -t), watched=(first, second), axes="local", name="state"
    )
    robot = coupled.with_forces(watched)
    same = again(robot, tmp_path)
    q, v = np.array([0.3, 0.8, 0.0]), np.array([1.0, -2.0, 0.5])
    tau = lw.forces.element_forces(robot, q, v)
    assert abs(tau).max() > 0.1
    assert np.array_equal(lw.forces.element_forces(same, q, v), tau)
    assert np.array_equal(lw.constraint_error(same, q), lw.constraint_error(robot, q))


def test_curves_of_scipy_are_functions_of_springs_and_couplings() -> None:
    x = np.linspace(-1.0, 1.0, 9)
    curve = CubicSpline(x, x**3)
    spring = lw.forces.TorsionSpring(zoo.pendulum(1).joint_names[0], stiffness=curve)
    robot = zoo.pendulum(1).with_forces(spring)
    tau = lw.forces.element_forces(robot, np.array([0.37]), np.zeros(1))
    np.testing.assert_allclose(tau, [-(0.37**3)], rtol=1e-12)
    coupling = lw.constraints.Follows("b", "a", curve)
    np.testing.assert_allclose(Recording(coupling.tape)(0.5, 0.37), 0.5 - 0.37**3, rtol=1e-12)


@dataclass(frozen=True, eq=False)
class Sticky(lw.forces.TorsionSpring):
    """An element that is none of linkwork's."""


def test_what_is_not_of_linkwork_is_refused_by_name(tmp_path: Path) -> None:
    robot = zoo.pendulum(1)
    robot = robot.with_forces(Sticky(robot.joint_names[0], 3.0))
    with pytest.raises(lw.errors.CannotSave, match=r"forces\[0\] is a Sticky"):
        robot.save(tmp_path / "robot.json")
    assert not (tmp_path / "robot.json").exists()


def damaged(change: Callable[[dict[str, Any]], None]) -> str:
    """The text of a pendulum, changed."""
    data = json.loads(zoo.pendulum(1).to_text("json"))
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.pop("joints"), "no 'joints'"),
        (lambda data: data.update(linkwork=99), "later version"),
        (lambda data: data.pop("linkwork"), "no 'linkwork'"),
        (lambda data: data.update(gravitation=1), "no field 'gravitation'"),
        (lambda data: data["joints"][0].update({"class": "TreeJoin"}), "no class 'TreeJoin'; did you mean 'TreeJoint'"),
        (lambda data: data["joints"][0].pop("parent"), r"joints\[0\]: TreeJoint needs the field 'parent'"),
        (lambda data: data["joints"][0].update(armor=1), "TreeJoint has no field 'armor'"),
        (lambda data: data["gravity"].update(array=[0, 0, "down"]), "gravity is no array"),
        (lambda data: data.update(joints=3), "damaged"),
    ],
)
def test_damaged_files_say_what_is_wrong(change: Callable[[dict[str, Any]], None], said: str) -> None:
    with pytest.raises(lw.errors.ModelError, match=said):
        lw.loads(damaged(change))


def test_options_of_other_formats_have_no_meaning(tmp_path: Path) -> None:
    zoo.pendulum(1).save(tmp_path / "robot.json")
    with pytest.raises(lw.errors.InputError, match="base='floating' has no meaning"):
        lw.load(tmp_path / "robot.json", base="floating")


def test_classes_of_files_have_different_names() -> None:
    assert {"Drive", "SpringDamper", "Cam", "Periodic", "ContactPairs", "Recording"} <= set(types())
