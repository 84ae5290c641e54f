# SPDX-License-Identifier: BSD-3-Clause
"""Scenes of real robots: sizes as the papers' tables give them, loops closed, postures that make sense."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork_benchmarks import scenes
from tests.support.robots import model_absent
from tests.support.states import assert_close

TABLES = scenes.LOOPS_TABLE | scenes.LQR_TABLE
BALL = {
    "Digit, rods on balls": scenes.Scene(functools.partial(scenes.digit_standing, "ball"), 54, 30),
    "Digit-cube, rods on balls": scenes.Scene(functools.partial(scenes.digit_with_box, "ball"), 60, 36),
    "Digit²-cube, rods on balls": scenes.Scene(functools.partial(scenes.two_digits_with_box, "ball"), 114, 72),
}
ALL = TABLES | BALL


@functools.cache
def made(name: str) -> Mechanism:
    try:
        return ALL[name].make()
    except FileNotFoundError as missing:
        model_absent(missing)


def place(robot: Mechanism, frame: str) -> lw.Placement:
    pose = lw.frame_placement(robot, robot.poses["assembled"], frame)
    return lw.Placement(pose.position, pose.rotation)


@pytest.mark.parametrize("name", ALL)
def test_sizes_are_those_of_the_paper(name: str) -> None:
    """But for Atlas, of which lqr gives the length of q."""
    robot = made(name)
    assert (robot.nq if "Atlas" in name else robot.nv, robot.nc) == ALL[name][1:]


@pytest.mark.parametrize("name", ALL)
def test_loops_are_closed_in_the_assembled_pose(name: str) -> None:
    robot = made(name)
    assert np.abs(lw.constraint_error(robot, robot.poses["assembled"])).max(initial=0.0) <= 1e-12


@pytest.mark.parametrize("name", ALL)
def test_the_assembled_pose_is_within_the_limits(name: str) -> None:
    robot = made(name)
    q = robot.poses["assembled"]
    assert ((robot.lower <= q) & (q <= robot.upper)).all()


@pytest.mark.parametrize("name", scenes.LQR_TABLE)
def test_hands_and_feet_are_held_independently(name: str) -> None:
    robot = made(name)
    assert robot.mobility(robot.poses["assembled"]).rank == robot.nc


@pytest.mark.parametrize("name", [name for name in ALL if "AH" in name])
def test_a_hand_holds_the_cube_by_independent_rows(name: str) -> None:
    robot = made(name)
    assert robot.mobility(robot.poses["assembled"]).rank == robot.nc


@pytest.mark.parametrize(("name", "rank"), [("Digit", 32), ("Digit-cube", 38), ("Digit²-cube", 76)])
def test_cut_rods_make_redundant_loops(name: str, rank: int) -> None:
    """A leg: 3 rows bind the planar loop of the shin, 3 that of each toe rod, one more the roll of the foot."""
    robot = made(name)
    found = robot.mobility(robot.poses["assembled"])
    assert (found.rank, found.rows) == (rank, robot.nc)


@pytest.mark.parametrize("name", BALL)
def test_rods_on_balls_are_not_redundant(name: str) -> None:
    robot = made(name)
    assert robot.mobility(robot.poses["assembled"]).rank == robot.nc


@pytest.mark.parametrize("name", [name for name in ALL if "AH" in name])
def test_fingertips_are_on_two_opposite_faces_of_the_cube(name: str) -> None:
    robot = made(name)
    cube = place(robot, "cube/cube").inverse()
    for hand in ("right", "left") if "AH²" in name else ("right",):
        tips = [(cube * place(robot, f"{hand}/link_{k}.0_tip")).position for k in (3, 7, 11, 15)]
        assert_close([tip[2] for tip in tips], [0.05, 0.05, 0.05, -0.05], 1e-10)
        assert np.abs(np.array(tips)[:, :2]).max() < 0.05


@pytest.mark.parametrize("name", ["Digit", "Digit, rods on balls"])
def test_digit_stands_upright_on_level_feet(name: str) -> None:
    robot = made(name)
    for side in scenes.SIDES:
        assert_close(place(robot, f"{side}-foot").rotation, np.eye(3), 1e-10)
    assert place(robot, "base").rotation[2, 2] > 0.99
    assert place(robot, "base").position[2] > 0.9


def test_cutting_rods_changes_neither_mass_nor_posture() -> None:
    cut, whole = made("Digit"), made("Digit, rods on balls")
    assert cut.mass == pytest.approx(whole.mass, rel=1e-12)
    for frame in ("left-hand", "right-toe-roll", "left-toe-A"):
        assert_close(place(cut, frame).position, place(whole, frame).position, 1e-12)


def test_digit_can_squat_with_cut_rods() -> None:
    """The planar loops move: knees bent by assembly, ankles and rods follow."""
    robot = made("Digit")
    q = robot.poses["assembled"].copy()
    q[robot.q_index("left-knee")] += 0.1
    q[robot.q_index("right-knee")] -= 0.1
    bent = robot.assemble(q, fixed=["left-knee", "right-knee"])
    assert abs(bent[robot.q_index("left-tarsus")] - q[robot.q_index("left-tarsus")]) > 0.05


def test_the_box_is_between_the_hands() -> None:
    robot = made("Digit²-cube")
    hands = [place(robot, f"{who}/{side}-hand").position for who in ("first", "second") for side in scenes.SIDES]
    assert_close(np.mean(hands, axis=0), place(robot, "box/box").position, 1e-12)
    assert_close(hands[0] + hands[2], hands[1] + hands[3], 1e-12)  # the corners of a parallelogram


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("Digit") and "cube" in name])
def test_the_box_is_held_at_the_origins_of_the_hands(name: str) -> None:
    robot = made(name)
    box = place(robot, "box/box")
    held = [c for c in robot.constraints if c.places[0] == "box/box"]
    assert {c.second for c in held} == {frame for frame in robot.frames if frame.endswith("-hand")}
    for point in held:
        assert (point.second_at.position == 0.0).all()
        assert_close((box * point.first_at).position, place(robot, point.second).position, 1e-12)


@pytest.mark.parametrize("name", [*scenes.LQR_TABLE, "Digit", "Hum-AH²-cube, feet"])
def test_hands_and_feet_are_held_at_their_origins(name: str) -> None:
    robot = made(name)
    held = [c for c in robot.constraints if c.places[0] == "world"]
    assert held or robot.nc == 0
    for pair in held:
        assert (pair.second_at.position == 0.0).all()
        assert_close(pair.first_at.position, place(robot, pair.second).position, 1e-12)


def test_a_missing_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenes, "EXAMPLES", Path("/nowhere"))
    with pytest.raises(FileNotFoundError, match=r"/nowhere/allegro.*install example-robot-data"):
        scenes.hand_and_cube()
