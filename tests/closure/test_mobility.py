# SPDX-License-Identifier: BSD-3-Clause
"""Velocities that constraints allow, and what they leave free: degrees of freedom, redundancy, conflicts."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.support.linkages import BOX, MECHANISMS, five_bar, four_bar, made, rod, rssr
from tests.support.states import Floats, assert_close, random_state


@cache
def closed(name: str) -> Floats:
    return made(name).assemble(random_state(made(name), 0).q)


# Velocities ----------------------------------------------------------------------------------------


def nearest(robot: Mechanism, q: Floats, v: Floats) -> Floats:
    """``min |u - v|² in M, J u = 0``: the normal equations ``[M J'; J 0]``, by least squares."""
    M, J = lw.mass_matrix(robot, q), lw.constraint_jacobian(robot, q)
    K = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    return np.asarray(np.linalg.lstsq(K, np.concatenate([M @ v, np.zeros(len(J))]), rcond=1e-11)[0][: robot.nv])


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_projected_velocity_is_allowed_nearest_and_stays(name: str) -> None:
    robot, q = made(name), closed(name)
    v = random_state(robot, 1).v
    found = robot.project_velocity(q, v)
    J = lw.constraint_jacobian(robot, q)
    assert_close(J @ found, np.zeros(robot.nc), 1e-11, scale=float(np.abs(J).max() * np.abs(v).max()))
    assert_close(found, nearest(robot, q, v), 1e-9, scale=1.0)
    assert_close(robot.project_velocity(q, found), found, 1e-10, scale=1.0)
    assert np.abs(found - v).max() > 1e-3


@pytest.mark.parametrize("name", ["RSSR", "humanoid", "four-bar"])
def test_batches_are_projected_one_by_one(name: str) -> None:
    robot, q = made(name), closed(name)
    v = random_state(robot, 2, 4).v
    batch = robot.project_velocity(q, v)
    assert batch.shape == (4, robot.nv)
    for k in range(4):
        assert_close(batch[k], robot.project_velocity(q, v[k]), 1e-12)
    both = robot.project_velocity(np.stack([q, q])[:, None], v)
    assert_close(both, np.stack([batch, batch]), 1e-12)


def test_a_constraint_said_twice_projects_as_once() -> None:
    robot, q = rssr(), closed("RSSR")
    again = lw.constraints.Point("bar", "b", first_at=(1.2, 0, 0), second_at=(0.9, 0, 0), name="again")
    v = random_state(robot, 3).v
    expected = robot.project_velocity(q, v)
    assert_close(robot.constrained(again).project_velocity(q, v), expected, 1e-10)
    off = robot.constrained(again).switched({"close": False})
    assert_close(off.project_velocity(q, v), expected, 1e-10)


def test_disabled_constraints_do_not_hold_velocities() -> None:
    robot, q = rssr(), closed("RSSR")
    v = random_state(robot, 3).v
    assert_close(robot.switched({"close": False}).project_velocity(q, v), v, 1e-13)
    assert_close(robot.unconstrained().project_velocity(q, v), v, 1e-13)


def test_a_rolling_ball_keeps_rolling() -> None:
    """A sphere thrown without spin keeps 5/7 of its speed, and spins as it rolls."""
    build = (
        lw.Builder("ball").body("ball", lw.Inertia.sphere(2.0, 0.3)).joint("free", lw.joints.Free(), "world", "ball")
    )
    robot = build.constrain(lw.constraints.Rolling("world", "ball", radius=0.3)).build()
    found = robot.project_velocity([0, 0, 0.3, 0, 0, 0, 1], [1.0, 0, 0.5, 0, 0, 0.2])
    assert_close(found, np.array([5 / 7, 0, 0, 0, 5 / 7 / 0.3, 0.2]), 1e-13)


def test_a_constraint_that_binds_nothing_leaves_velocities_alone() -> None:
    build = lw.Builder().body("a", BOX).joint("j", lw.joints.Revolute((1, 2, 3)), "world", "a")
    robot = build.body("b", BOX).joint("k", lw.joints.Revolute("x"), "a", "b").build()
    robot = robot.constrained(lw.constraints.Hinge("world", "a", axis=(1, 2, 3)))
    assert_close(robot.project_velocity([0.4, 0.5], [1.0, 2.0]), np.array([1.0, 2.0]), 1e-12)


def test_velocities_of_the_wrong_size_are_refused() -> None:
    with pytest.raises(lw.errors.InputError, match="v has 2 numbers, robot 'four-bar' needs 3"):
        four_bar().project_velocity(closed("four-bar"), [1.0, 2.0])


# Degrees of freedom ----------------------------------------------------------------------------------


def split_four_bar(cut: lw.joints.Joint | None) -> Mechanism:
    """A four-bar whose coupler is two halves on four revolute joints, welded in the middle; or cut at a joint."""
    build = lw.Builder("four-bar").body("crank", rod(0.5)).joint("j1", lw.joints.Revolute("y"), "world", "crank")
    build.body("rocker", rod(0.9)).joint("j3", lw.joints.Revolute("y"), "world", "rocker", (1, 0, 0))
    build.body("half", rod(0.6)).joint("j2", lw.joints.Revolute("y"), "crank", "half", (0.5, 0, 0))
    if cut is None:
        build.body("other", rod(0.6)).joint("j4", lw.joints.Revolute("y"), "rocker", "other", (0.9, 0, 0))
        build.joint(
            "close",
            lw.joints.Fixed(),
            "half",
            "other",
            (0.6, 0, 0),
            lw.Placement.rpy(0, np.pi, 0, (0.6, 0, 0)),
            cut=True,
        )
    else:
        build.joint("close", cut, "half", "rocker", (1.2, 0, 0), (0.9, 0, 0), cut=True)
    return build.build()


COUNTS: dict[str, tuple[lw.joints.Joint | None, int, int]] = {
    # rows, and their rank: in the plane a weld binds two shifts and a turn, a hinge or a point two shifts
    "weld": (None, 6, 3),
    "hinge": (lw.joints.Revolute("y"), 5, 2),
    "point": (lw.joints.Spherical(), 3, 2),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", COUNTS)
def test_a_four_bar_has_one_degree_of_freedom_however_it_is_cut(name: str, seed: int) -> None:
    cut, rows, rank = COUNTS[name]
    robot = split_four_bar(cut)
    found = robot.mobility(robot.assemble(random_state(robot, seed).q))
    assert (found.dof, found.rows, found.rank, found.redundancy) == (1, rows, rank, rows - rank)
    assert found.closed
    assert found.redundant == {"close": rows - rank}
    assert found.conflicting == {}
    assert found.singular.shape == (robot.nv, 0)


DOF = {"four-bar": 1, "floating four-bar": 7, "five-bar": 2, "RSSR": 2, "universal joints": 1, "hexapod": 0}
DOF |= {"center of mass": 3, "gears": 2, "humanoid": 25}


@pytest.mark.parametrize("name", DOF)
def test_degrees_of_freedom_are_those_of_the_textbook(name: str) -> None:
    robot, q = made(name), closed(name)
    found = robot.mobility(q)
    assert found.dof == DOF[name]
    assert found.freedom.shape == (robot.nv, found.dof)
    assert_close(found.freedom.T @ found.freedom, np.eye(found.dof), 1e-13)
    J = lw.constraint_jacobian(robot, q)
    assert_close(J @ found.freedom, np.zeros((robot.nc, found.dof)), 1e-9, scale=1.0)
    assert found.rank == np.linalg.matrix_rank(J, tol=1e-9)
    counted = "1 degree" if found.dof == 1 else f"{found.dof} degrees"
    assert f"{counted} of freedom; {found.rows} row{'s' * (found.rows != 1)} of rank {found.rank}" in str(found)


def test_a_mechanism_without_constraints_is_free() -> None:
    found = lw.zoo.pendulum(3).mobility([0.1, 0.2, 0.3])
    assert (found.dof, found.rows, found.rank, found.closed, found.redundant) == (3, 0, 0, True, {})


def test_disabled_constraints_do_not_count() -> None:
    robot, q = five_bar().constrained(lw.constraints.JointLock("left1", name="lock")), closed("five-bar")
    assert robot.mobility(q).dof == 1
    off = robot.switched({"lock": False}).mobility(q)
    assert (off.dof, off.rows, off.closed) == (2, 5, True)
    assert not robot.mobility(q).closed


def test_an_open_loop_is_said_to_be_open() -> None:
    found = four_bar().mobility([0.3, 0.2, 0.1])
    assert not found.closed
    assert str(found).endswith("loops are open here")


def test_one_configuration_at_a_time() -> None:
    with pytest.raises(lw.errors.InputError, match="mobility takes one configuration of 3 numbers, not \\(2, 3\\)"):
        four_bar().mobility(np.zeros((2, 3)))


# Redundant and conflicting ---------------------------------------------------------------------------


def test_a_constraint_said_twice_is_redundant_in_both() -> None:
    robot = lw.zoo.serial_chain(7)
    q = random_state(robot, 0).q
    twice = robot.constrained(
        lw.constraints.Weld("tip", "world", name="one"), lw.constraints.Weld("tip", "world", name="two"), at=q
    )
    found = twice.mobility(q)
    assert (found.dof, found.rows, found.rank) == (1, 12, 6)
    assert found.redundant == {"one": 6, "two": 6}
    assert found.conflicting == {}


def test_a_constraint_that_others_imply_in_part_is_redundant_in_part() -> None:
    robot = lw.zoo.serial_chain(7)
    q = random_state(robot, 0).q
    point, plane = (
        lw.constraints.Point("tip", "world", name="point"),
        lw.constraints.PlaneOnPlane("tip", "world", name="plane"),
    )
    found = robot.constrained(point, plane, lw.constraints.JointLock("joint0", name="lock"), at=q).mobility(q)
    assert (found.rows, found.rank) == (7, 6)
    assert found.redundant == {"point": 1, "plane": 1}


def test_a_hinge_on_the_axis_of_a_joint_is_wholly_redundant() -> None:
    robot = lw.zoo.serial_chain(3).constrained(lw.constraints.Hinge("world", "link0", axis="x"))
    found = robot.mobility([0.3, 0.4, 0.5])
    assert (found.dof, found.rank, found.redundant) == (3, 0, {"world:link0": 5})


def test_two_welds_to_different_places_conflict() -> None:
    robot = lw.zoo.serial_chain(7)
    q = random_state(robot, 0).q
    pose = lw.frame_placement(robot, q, "tip")
    there = lw.Placement(pose.position, pose.rotation)
    away = lw.Placement(pose.position + np.array([0.02, 0, 0]), pose.rotation)
    twice = robot.constrained(
        lw.constraints.Weld("world", "tip", first_at=there, name="here"),
        lw.constraints.Weld("world", "tip", first_at=away, name="there"),
    )
    found = twice.mobility(q)
    assert not found.closed
    assert set(found.conflicting) == {"here", "there"}
    half = 0.01 * np.abs(pose.rotation[0]).max()  # of the way, along the axis of the first frame where it is largest
    assert found.conflicting == pytest.approx({"here": half, "there": half}, rel=1e-9)
    assert "conflicting: here, there" in str(found)
    with pytest.raises(lw.errors.AssemblyError):
        twice.assemble(q, attempts=1)


def test_locks_at_different_angles_conflict_by_half_their_difference() -> None:
    robot = lw.zoo.pendulum(2).constrained(
        lw.constraints.JointLock("joint0", 0.1, name="low"),
        lw.constraints.JointLock("joint0", 0.3, name="high"),
        lw.constraints.JointLock("joint1"),
    )
    found = robot.mobility([0.1, 0.0])
    assert found.conflicting == pytest.approx({"low": 0.1, "high": 0.1}, rel=1e-12)
    assert found.redundant == {"low": 1, "high": 1}


# Singular configurations -----------------------------------------------------------------------------


def test_a_flat_parallelogram_has_a_direction_that_is_free_only_there() -> None:
    """All links in line: it can go on as a parallelogram or fold into a kite; a little way on either, one is left."""
    robot = four_bar(ground=1.0, crank=0.5, coupler=1.0, rocker=0.5)
    q = np.zeros(3)
    assert np.abs(lw.constraint_error(robot, q)).max() < 1e-15
    found = robot.mobility(q)
    assert (found.dof, found.rank) == (2, 1)
    assert found.singular.shape == (3, 1)
    assert_close(lw.constraint_jacobian(robot, q) @ found.singular, np.zeros((5, 1)), 1e-12, scale=1.0)
    assert "singular in 1 direction" in str(found)
    bent = robot.mobility(robot.assemble([0.7, -0.7, 0.7]))
    assert (bent.dof, bent.singular.shape[1]) == (1, 0)


def test_an_arm_held_at_full_reach_has_a_direction_that_leads_nowhere() -> None:
    robot = lw.zoo.pendulum(2).constrained(lw.constraints.Point("tip", "world", second_at=(0, 0, -2), name="reach"))
    found = robot.mobility([0.0, 0.0])
    assert (found.dof, found.rank) == (1, 1)
    assert found.singular.shape == (2, 1)
    # bent at the elbow, the tip rests to first order: joint1 turns twice as far back
    assert_close(np.abs(found.singular[:, 0]), np.array([1.0, 2.0]) / np.sqrt(5), 1e-6)


def test_of_a_longer_arm_held_at_full_reach_one_direction_is_lost() -> None:
    """Two rows in the plane have rank one there and two elsewhere."""
    robot = lw.zoo.pendulum(3).constrained(lw.constraints.Point("tip", "world", second_at=(0, 0, -3), name="reach"))
    found = robot.mobility(np.zeros(3))
    assert (found.dof, found.rank) == (2, 1)
    assert found.singular.shape == (3, 1)


@pytest.mark.parametrize("name", DOF)
def test_random_configurations_are_not_singular(name: str) -> None:
    assert made(name).mobility(closed(name)).singular.shape[1] == 0


def test_without_a_configuration_it_is_that_of_the_assembled_pose() -> None:
    robot = lw.zoo.four_bar()
    assert str(robot.mobility()) == str(robot.mobility(robot.poses["assembled"]))
