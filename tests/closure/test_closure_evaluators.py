# SPDX-License-Identifier: BSD-3-Clause
"""Assembly and projected velocities in machine code give what further attempts and singular values give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.closure import assembly, evaluators
from linkwork.closure.mobility import project_by_singular_values
from linkwork.mechanism import Mechanism
from linkwork.quantities.scales import scales_of
from tests.closure.test_assemble_batches import LOOPED, closed_pose, pushed, robot_of
from tests.support.linkages import four_bar
from tests.support.rounded import three_cranks, wrist
from tests.support.states import Floats

FEW = ["linkage: four-bar", "linkage: RSSR", "linkage: humanoid", "zoo: stewart", "zoo: watt"]


def energy_distance(robot: Mechanism, q: Floats, v: Floats, want: Floats, given: Floats) -> float:
    """The energy of a difference, as a part of that of the velocity that was given; the root of it."""
    M, d = lw.mass_matrix(robot, q), v - want
    return float(np.sqrt(abs(d @ M @ d) / (given @ M @ given)))


def openings(robot: Mechanism, q: Floats, v: Floats) -> Any:
    """Rates of the rows, by the inverse inertia that each feels."""
    return np.abs(lw.constraint_jacobian(robot, q) @ v) / np.sqrt(scales_of(robot).rows)


def refuse(*arguments: Any) -> Any:
    raise AssertionError("the general path was taken")


# One state ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FEW)
def test_one_state_takes_machine_code_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot, q = robot_of(name), pushed(name)
    v = np.ones(robot.nv)
    closed = robot.assemble(q)
    robot.project_velocity(closed, v)
    monkeypatch.setattr(assembly.Problem, "solve", refuse)
    monkeypatch.setattr(evaluators, "project_by_singular_values", refuse)
    np.testing.assert_array_equal(robot.assemble(q), closed)
    np.testing.assert_array_equal(robot.assemble(closed), closed)
    robot.project_velocity(closed, v)


@pytest.mark.parametrize("name", FEW)
def test_evaluators_give_what_the_robot_gives(name: str) -> None:
    robot, q = robot_of(name), pushed(name)
    v = np.random.default_rng(1).normal(size=robot.nv)
    closed = robot.assemble(q)
    allowed = robot.project_velocity(closed, v)
    for made, given, want in (
        (lw.loops.Assembly(robot), (q,), closed),
        (lw.loops.VelocityProjection(robot), (closed, v), allowed),
    ):
        np.testing.assert_array_equal(made(*given), want)
        out = np.empty_like(want)
        made.bind(*given, out=out)()
        np.testing.assert_array_equal(out, want)
        assert made(*(list(x) for x in given), out=out) is out
        np.testing.assert_array_equal(out, want)
        batch = made(*(np.stack([x, x, x])[:, None] for x in given))
        np.testing.assert_allclose(batch, np.broadcast_to(want, (3, 1, *want.shape)), atol=1e-11)
        np.testing.assert_allclose(made(*(x.astype(np.float32) for x in given)), want, atol=1e-4)


@pytest.mark.parametrize("name", ["linkage: four-bar", "linkage: RSSR", "zoo: stewart"])
def test_straight_line_programs_close_and_project_alike(name: str) -> None:
    robot, q = robot_of(name), pushed(name, 9)
    v = np.random.default_rng(1).normal(size=(9, robot.nv))
    closed = robot.assemble(q)
    np.testing.assert_allclose(robot.difference(closed, lw.loops.Assembly(robot).compile()(q)), 0.0, atol=1e-11)
    compiled = lw.loops.VelocityProjection(robot).compile()
    np.testing.assert_allclose(compiled(closed, v), robot.project_velocity(closed, v), atol=1e-10)


def test_a_bound_assembly_reads_its_array_anew() -> None:
    robot = four_bar()
    q, out = closed_pose("linkage: four-bar").copy(), np.empty(3)
    step = lw.loops.Assembly(robot, fixed="j1").bind(q, out=out)
    for crank in np.linspace(0.0, 0.5, 5):
        q[:] = out if crank else q
        q[0] += 0.1
        step()
        assert out[0] == q[0]
        assert np.abs(lw.constraint_error(robot, out)).max() <= 1e-12


def test_with_one_attempt_a_bound_assembly_says_at_once_that_loops_stay_open() -> None:
    robot = four_bar(ground=3.0)
    out = np.empty(3)
    step = lw.loops.Assembly(robot, attempts=1).bind(np.array([0.3, 0.4, 0.5]), out=out)
    with pytest.raises(lw.errors.AssemblyError, match="after 1 attempts"):
        step()


def test_what_is_closed_beyond_a_limit_stays_where_it_is() -> None:
    q = closed_pose("linkage: four-bar")
    robot = four_bar(lower=q[0] + 0.1, upper=q[0] + 1.0)
    np.testing.assert_array_equal(robot.assemble(q), q)
    assert robot.assemble(q + np.array([1e-3, 0, 0]))[0] >= q[0] + 0.1


def test_a_robot_without_constraints_is_closed_and_moves_as_it_likes() -> None:
    robot = lw.zoo.quadruped()
    q = robot.random(0)
    v = np.arange(1.0, robot.nv + 1)
    np.testing.assert_allclose(robot.assemble(3.0 * q - 2.0 * q), q, atol=1e-15)
    np.testing.assert_allclose(lw.loops.VelocityProjection(robot)(q, v), v, rtol=1e-11)


def test_no_derivatives_are_taken_of_a_search() -> None:
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"Minimal\(robot\)"):
        lw.loops.Assembly(four_bar()).jvp(np.zeros(3), np.ones(3))


def test_rates_of_a_projection_are_those_of_differences() -> None:
    """Central differences along closed loops: h² and rounding over h, about 1e-9."""
    robot, h = four_bar(), 1e-6
    q = closed_pose("linkage: four-bar")
    v, dv, free = np.random.default_rng(0).normal(size=(3, 3))
    projection = lw.loops.VelocityProjection(robot)
    dq = projection(q, free)
    ends = [projection(robot.assemble(robot.integrate(q, s * dq)), v + s * dv) for s in (h, -h)]
    np.testing.assert_allclose(projection.jvp(q, v, dq, dv), (ends[0] - ends[1]) / (2 * h), atol=1e-8)


@pytest.mark.parametrize(
    "odd",
    [{"fixed": 3}, {"fixed": [["A"]]}, {"tolerance": "x"}, {"tolerance": [1.0]}, {"attempts": "a"}],
    ids=str,
)
def test_odd_arguments_of_an_assembly_are_named(odd: dict[str, Any]) -> None:
    robot = four_bar()
    for call in (robot.assemble, lambda **odd: lw.loops.Assembly(robot, **odd)):
        with pytest.raises(lw.errors.InputError, match=next(iter(odd))):
            call(**odd)


# Velocities by rows that are orthogonal, and by singular values -------------------------------------------


@pytest.mark.parametrize("name", sorted(LOOPED))
def test_velocities_are_those_by_singular_values(name: str) -> None:
    robot = robot_of(name)
    rng = np.random.default_rng(0)
    for q in (closed_pose(name), pushed(name)):
        v = rng.normal(size=robot.nv)
        found, want = robot.project_velocity(q, v), project_by_singular_values(robot, q, v)
        assert energy_distance(robot, q, found, want, v) < 1e-11
        assert openings(robot, q, found).max(initial=0.0) < 1e-12 * np.sqrt(v @ lw.mass_matrix(robot, q) @ v)


@pytest.mark.parametrize("off", [0.0, *10.0 ** -np.arange(1, 14)])
def test_velocities_near_a_dead_center_are_those_by_singular_values(off: float) -> None:
    """A rhombus, stretched, is free in two ways; a little off that, rows are as nearly dependent as it is off."""
    robot = four_bar(ground=1.0, crank=0.7, coupler=1.0, rocker=0.7)
    q = robot.assemble([off, -off, off], fixed=["j1"])
    v = np.array([1.0, -0.3, 0.4])
    found, want = robot.project_velocity(q, v), project_by_singular_values(robot, q, v)
    least = max(off, 1e-9)
    assert energy_distance(robot, q, found, want, v) < 1e-13 / least


ROUNDED: dict[str, Callable[[], Mechanism]] = {"wrist": wrist, "three cranks": three_cranks}


@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_rows_open_no_more_than_by_singular_values(name: str) -> None:
    robot = ROUNDED[name]()
    with pytest.warns(lw.errors.ModelWarning, match="rounded"):
        q = robot.assemble(robot.integrate(robot.neutral(), 0.05 * np.random.default_rng(1).normal(size=robot.nv)))
    for v in np.random.default_rng(2).normal(size=(4, robot.nv)):
        found, want = robot.project_velocity(q, v), project_by_singular_values(robot, q, v)
        assert energy_distance(robot, q, found, want, v) < 1e-5
        assert openings(robot, q, found).max() < 1.5 * openings(robot, q, want).max() + 1e-14


@pytest.mark.parametrize("name", ROUNDED)
def test_loops_that_close_nowhere_are_searched_once(name: str) -> None:
    robot = ROUNDED[name]()
    off = robot.integrate(robot.neutral(), 0.05 * np.random.default_rng(1).normal(size=(3, robot.nv)))
    with pytest.warns(lw.errors.ModelWarning, match="rounded"):
        found = assembly.assemble(robot, off)
    np.testing.assert_array_equal(found.attempts, 1)


def test_joints_that_move_no_mass_count_with_a_little() -> None:
    """Of two hinges on one axis, with nothing between them, one could turn back while the other turns."""
    build = lw.Builder("massless").body("a", lw.Inertia.zero()).joint("first", lw.joints.Revolute("y"), "world", "a")
    build.body("b", lw.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0))).joint("second", lw.joints.Revolute("y"), "a", "b")
    robot = build.build().constrained(lw.constraints.Gear("first", "second", 2.0))
    q, v = np.zeros(2), np.array([0.0, 1.0])
    found = robot.project_velocity(q, v)
    np.testing.assert_array_equal(found, project_by_singular_values(robot, q, v))
    assert np.abs(lw.constraint_jacobian(robot, q) @ found).max() < 1e-7
