# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps: loops stay closed and on their branch, dead centers are found, and what comes back is drawn as a run is."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.zoo import ASSEMBLED


def four_bar(crank: float, coupler: float, rocker: float, **knee: Any) -> lw.Mechanism:
    """On a ground of 1 m. Where the crank is at angle ``x``, its end is at ``crank (cos x, -sin x)`` in x and z."""
    build = lw.Builder("four-bar")
    for name, length in {"crank": crank, "coupler": coupler, "rocker": rocker}.items():
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (length, 0, 0)))
    build.joint("motor", lw.joints.Revolute("y"), "world", "crank", actuated=True)
    build.joint("knee", lw.joints.Revolute("y"), "crank", "coupler", at=(crank, 0, 0), **knee)
    build.joint("hip", lw.joints.Revolute("y"), "world", "rocker", at=(1, 0, 0))
    build.joint("ankle", lw.joints.Revolute("y"), "coupler", "rocker", at=(coupler, 0, 0), child_at=(rocker, 0, 0))
    return build.build()


def test_loops_are_closed_at_every_value_and_a_full_turn_ends_where_it_began() -> None:
    robot = four_bar(0.5, 1.2, 0.9)
    values = np.linspace(0.7, 0.7 + 2 * np.pi, 50)
    found = robot.sweep("motor", values, [0.7, 0, 0])
    np.testing.assert_array_equal(found.values, values)
    assert found.errors.max() < 1e-12
    ends = found.frame_placement("coupler").position
    np.testing.assert_allclose(ends, 0.5 * np.stack([np.cos(values), 0 * values, -np.sin(values)], axis=-1), atol=1e-12)
    np.testing.assert_allclose(found.q[-1] - found.q[0], [2 * np.pi, -2 * np.pi, 0], atol=1e-9)
    np.testing.assert_allclose(found.q[0], robot.assemble([0.7, 0, 0], fixed=["motor"]), atol=1e-12)


@pytest.mark.parametrize("step", [0.1, 0.1 + 1e-15, 0.05, 0.01, 1e-9, 1e-14, 0.0, 0.3, -0.1])
def test_values_may_be_any_distance_apart(step: float) -> None:
    """Also the length of a step of its own, where rounding leaves a crumb, and less than loops are closed to."""
    robot = four_bar(0.5, 1.2, 0.9)
    values = np.cumsum(np.append(0.7, np.full(20, step)))
    found = robot.sweep("motor", np.append(values, values[-1] + 1.0), [0.7, 0, 0])
    assert len(found) == 22 and found.errors.max() < 1e-12
    np.testing.assert_allclose(found.q[-1], robot.assemble(found.q[-1] + [0, 1e-3, 0], fixed=["motor"]), atol=1e-10)


def crossed(x: float) -> list[float]:
    """The way to close a parallelogram, its crank at ``x``, that is not one: mirrored on the diagonal."""
    end = 0.5 * np.array([np.cos(x), -np.sin(x)])
    along = np.array([1.0, 0.0]) - end
    tip = end + 2 * along * (along[0] / (along @ along)) - [1.0, 0.0]
    return [x, -np.arctan2(*(tip - end)[::-1]) - x, -np.arctan2(*(tip - [1.0, 0.0])[::-1])]


@pytest.mark.parametrize("count", [40, 41, 97], ids=lambda n: f"{n} values")
@pytest.mark.parametrize("parallel", [True, False], ids=["parallel", "crossed"])
def test_a_branch_is_kept_where_branches_cross(count: int, parallel: bool) -> None:
    """A parallelogram is flat twice a turn, and could go on crossed from there; or crossed, and go on parallel."""
    robot = four_bar(0.5, 1.0, 0.5)
    values = np.concatenate([np.linspace(0.5, np.pi, count), np.linspace(np.pi, 2 * np.pi, count)[1:], [7.0]])
    found = robot.sweep("motor", values, [0.5, -0.5, 0.5] if parallel else crossed(0.5))
    assert found.errors.max() < 1e-12
    hip = found.joint_position("hip")
    if parallel:
        np.testing.assert_allclose(hip, values, atol=1e-9)
    else:
        assert (np.diff(hip) < 0).all()  # the rocker turns against the crank
        for x, q in zip(values, found.q, strict=True):
            np.testing.assert_allclose(np.exp(1j * q), np.exp(1j * np.array(crossed(x))), atol=1e-5)


@pytest.mark.parametrize(
    ("end", "reach"),
    [
        (4.0, np.pi - np.arccos((1 + 0.9**2 - 0.7**2) / 1.8)),
        (-4.0, np.pi - np.arccos((1 + 0.9**2 - 1.7**2) / 1.8)),
    ],
    ids=["folded", "stretched"],
)
def test_a_dead_center_is_found_and_told(end: float, reach: float) -> None:
    """The rocker stops where crank and coupler are on one line."""
    robot = four_bar(0.5, 1.2, 0.9)
    q = robot.assemble([0.7, 0, 0], fixed=["motor"])
    values = np.linspace(q[2], end, 60)
    with pytest.raises(
        lw.errors.AssemblyError, match=r"hip stops at .*, where .* would open by .*dead center"
    ) as caught:
        robot.sweep("hip", values, q)
    error: Any = caught.value
    assert error.q[2] == pytest.approx(reach, abs=1e-5)
    assert float(str(error).split("stops at ")[1].split(",")[0]) == pytest.approx(reach, abs=1e-5)
    before = error.trajectory
    past = int(np.flatnonzero(np.abs(values - q[2]) > abs(reach - q[2]))[0])
    assert isinstance(before, lw.results.Sweep) and len(before) == past
    assert f"(value {past + 1} of 60)" in str(error)
    np.testing.assert_array_equal(before.values, values[:past])


def test_a_first_value_that_no_loop_reaches_is_told() -> None:
    robot = four_bar(0.5, 1.2, 0.9)
    with pytest.raises(
        lw.errors.AssemblyError, match=r"sweep of 'four-bar' to 3 \(value 1 of 2\): .*do not close"
    ) as caught:
        robot.sweep("hip", [3.0, 3.1])
    error: Any = caught.value
    assert len(error.trajectory) == 0 and error.constraint == "ankle" and error.gap > 0.01


def test_values_up_to_a_dead_center_are_reached() -> None:
    robot = four_bar(0.5, 1.2, 0.9)
    q = robot.assemble([0.7, 0, 0], fixed=["motor"])
    reach = np.pi - np.arccos((1 + 0.9**2 - 0.7**2) / 1.8)
    found = robot.sweep("hip", np.linspace(q[2], reach - 1e-6, 20), q)
    assert len(found) == 20 and found.errors.max() < 1e-12


def test_there_and_back_is_where_it_began() -> None:
    robot = zoo.jansen()
    crank = robot.joint_names[0]
    begin = robot.poses[ASSEMBLED][robot.q_index(crank)]
    way = begin + np.linspace(0, 4, 20)
    found = robot.sweep(crank, np.concatenate([way, way[::-1]]))
    np.testing.assert_allclose(found.q[20:], found.q[:20][::-1], atol=1e-8)


def test_several_joints_move_together() -> None:
    robot = zoo.stewart()
    legs = [j.name for j in robot.joints if j.actuated]
    begin = robot.poses[ASSEMBLED][[robot.q_index(name) for name in legs]]
    values = begin + np.linspace(0, 0.1, 15)[:, None]
    found = robot.sweep(legs, values)
    np.testing.assert_array_equal(found.values, values)
    assert found.joints == tuple(legs) and found.errors.max() < 1e-12
    platform = found.frame_placement("platform").position
    assert (np.diff(platform[:, 2]) > 0).all()
    np.testing.assert_allclose(platform[-1], lw.frame_placement(robot, found.q[-1], "platform").position, atol=1e-14)


def test_other_joints_stay_within_their_limits_unless_told() -> None:
    robot = four_bar(0.5, 1.2, 0.9, lower=-2.0, upper=2.0)
    q = robot.assemble([0.7, 0, 0], fixed=["motor"])
    values = np.linspace(0.7, 0.7 + 2 * np.pi, 50)
    with pytest.raises(lw.errors.AssemblyError, match=r"motor stops at .*at their limits are knee \(limits=False"):
        robot.sweep("motor", values, q)
    free = robot.sweep("motor", values, q, limits=False)
    assert np.abs(free.joint_position("knee")).max() > 2.0


def five_bar(**elbow: Any) -> lw.Mechanism:
    """Two degrees of freedom, on a ground of 1 m."""
    build = lw.Builder("five-bar")
    for name, length in {"left": 0.5, "left arm": 0.8, "right": 0.5, "right arm": 0.8}.items():
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (length, 0, 0)))
    build.joint("left", lw.joints.Revolute("y"), "world", "left")
    build.joint("left elbow", lw.joints.Revolute("y"), "left", "left arm", at=(0.5, 0, 0), **elbow)
    build.joint("right", lw.joints.Revolute("y"), "world", "right", at=(1, 0, 0))
    build.joint("right elbow", lw.joints.Revolute("y"), "right", "right arm", at=(0.5, 0, 0))
    build.joint("tip", lw.joints.Revolute("y"), "left arm", "right arm", at=(0.8, 0, 0), child_at=(0.8, 0, 0))
    return build.build()


def test_it_goes_on_where_another_joint_comes_to_its_limit() -> None:
    """The joints that are left then move at other rates: that is no jump."""
    q = five_bar().assemble([-1.8, 0.9, -1.3, -0.9], fixed=["left"])
    values = np.linspace(-1.8, -1.0, 30)
    free = five_bar().sweep("left", values, q)
    elbow = free.joint_position("left elbow")
    low, high = np.sort([elbow[0], 0.5 * (elbow[0] + elbow[-1])])
    bounded = five_bar(lower=low - 1e-9, upper=high + 1e-9).sweep("left", values, q)
    stopped = bounded.joint_position("left elbow")
    assert np.abs(elbow[-1] - elbow[0]) > 0.1 and low - 1e-8 <= stopped.min() <= stopped.max() <= high + 1e-8
    assert bounded.errors.max() < 1e-12 and np.abs(np.diff(bounded.q, axis=0)).max() < 0.2


def test_a_robot_without_loops_has_its_joint_moved() -> None:
    robot = zoo.pendulum(3)
    values = np.linspace(-1, 1, 7)
    found = robot.sweep(robot.joint_names[1], values, [0.1, 0, 0.2])
    np.testing.assert_array_equal(found.q, np.stack([0 * values + 0.1, values, 0 * values + 0.2], axis=-1))


@pytest.mark.parametrize(
    ("joints", "values", "words"),
    [
        ("moter", [0.0], "did you mean 'motor'"),
        ("motor", [], "one value or more"),
        ("motor", [[0.0]] * 3 + [[np.nan]], "row 3"),
        (["motor", "hip"], [0.0, 1.0], r"need \(k, 2\): motor, hip"),
        (["motor", "motor"], [[0.0, 0.0]], "each once"),
        ([], [[]], "each once"),
    ],
)
def test_what_is_wrong_is_said(joints: Any, values: Any, words: str) -> None:
    with pytest.raises(lw.errors.InputError, match=words):
        four_bar(0.5, 1.2, 0.9).sweep(joints, values)


# As a run -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def turn() -> lw.results.Sweep:
    return four_bar(0.5, 1.2, 0.9).sweep("motor", np.linspace(0.7, 3.0, 12), [0.7, 0, 0], seconds=0.5)


def test_it_is_at_rest_and_its_energy_is_that_of_its_place(turn: lw.results.Sweep) -> None:
    assert turn.times[0] == 0 and turn.times[-1] == 0.5 and not turn.v.any()
    assert turn.robot is not None
    np.testing.assert_array_equal(turn.energy["total"], lw.energy(turn.robot, turn.q, turn.v).potential)
    assert repr(turn) == "<Sweep of 'four-bar' over motor, 12 configurations>"


def test_it_is_plotted_over_what_was_swept(turn: lw.results.Sweep, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = turn.plot(tmp_path / "turn.png")
    assert figure.axes[-1].get_xlabel() == "motor [rad]"
    assert figure.axes[0].get_title() == "four-bar: sweep of motor"
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), turn.values)
    assert [axis.get_ylabel() for axis in figure.axes][1:] == ["energy [J]", "loops open by [m]"]
    assert "motor = 3" in turn.picture().texts[0].get_text()
    assert turn.save_video(tmp_path / "turn.gif", fps=10).stat().st_size > 1000


def test_it_plays_in_the_browser(turn: lw.results.Sweep, tmp_path: Path) -> None:
    pytest.importorskip("viser")
    assert turn.save_html(tmp_path / "turn.html", fps=10).stat().st_size > 1e5


def test_it_is_kept_and_copied(turn: lw.results.Sweep, tmp_path: Path) -> None:
    kept = lw.results.Sweep.load(turn.save(tmp_path / "turn.npz"), turn.robot)
    for other in (kept, copy.deepcopy(turn)):
        assert other.joints == ("motor",)
        np.testing.assert_array_equal(other.values, turn.values)


def test_places_of_frames_in_rollouts_are_unknown_where_states_are_not_finite() -> None:
    robot = zoo.pendulum(2)
    q = np.array([[[0.1, 0.2], [np.nan, 0.0]]])
    run = lw.Trajectory(robot, np.zeros(1), q, 0 * q, 0 * q, np.zeros((1, 2, 0)))
    last = robot.body_names[-1]
    placement = run.frame_placement(last)
    R, p = placement.rotation, placement.position
    assert R.shape == (1, 2, 3, 3) and p.shape == (1, 2, 3)
    np.testing.assert_array_equal(p[0, 0], lw.frame_placement(robot, q[0, 0], last).position)
    assert np.isnan(R[0, 1]).all() and np.isnan(p[0, 1]).all()
    np.testing.assert_array_equal(run.joint_position(robot.joint_names[0]), q[..., 0])
