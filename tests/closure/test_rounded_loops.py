# SPDX-License-Identifier: BSD-3-Clause
"""Loops that close to the rounding of numbers in a file only: ranks, methods, coordinates and motion are not misled."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.closure.assembly import assemble
from linkwork.closure.loop_rounding import loop_rounding
from linkwork.closure.mobility import mobility, state_warning
from linkwork.mechanism import Mechanism
from tests.support.gauss import distance
from tests.support.rounded import three_cranks, wrist
from tests.support.states import Floats

MOTORS = ("base0", "base1", "base2")
DIGITS = {7: 1e-7, 6: 1e-6}
"""Digits after the point, and the size of what they leave out."""


@cache
def closed(digits: int | None) -> tuple[Mechanism, Floats]:
    """A wrist a little off the pose that it is drawn in, where the loops of the exact one are closed."""
    exact = wrist(None)
    start = exact.integrate(exact.neutral(), 0.1 * np.random.default_rng(1).normal(size=exact.nv))
    return wrist(digits), exact.assemble(start)


def state(robot: Mechanism, q: Floats) -> tuple[Floats, Floats, Floats]:
    v, tau = np.random.default_rng(2).normal(size=(2, robot.nv))
    return q, robot.project_velocity(q, v), tau


each_rounding = pytest.mark.parametrize("digits", DIGITS)


@each_rounding
@pytest.mark.parametrize("drawn", [True, False])
def test_a_rounded_wrist_turns_in_three_ways(digits: int, drawn: bool) -> None:
    robot, q = closed(digits)
    found = robot.mobility(robot.neutral() if drawn else q)
    exact = closed(None)[0].mobility(closed(None)[1])
    assert (
        (found.dof, found.rank, found.redundant) == (exact.dof, exact.rank, exact.redundant) == (3, 4, exact.redundant)
    )
    assert found.rounding == 3 and "3 rows taken for rounding" in str(found)
    assert exact.rounding == 0


def test_a_rank_that_is_asked_for_is_taken_at_its_word() -> None:
    robot, q = closed(7)
    assert mobility(robot, q, rank_tolerance=1e-9).dof == 0


@each_rounding
def test_rounded_loops_are_known_by_what_stays_open_a_little_way_off(digits: int) -> None:
    assert loop_rounding(closed(None)[0]) <= 1e-12
    assert 1e-3 * DIGITS[digits] < loop_rounding(closed(digits)[0]) < 10 * DIGITS[digits]


@each_rounding
@pytest.mark.parametrize("method", ["kkt", "cluster", "projection"])
def test_dense_methods_and_clusters_move_as_the_exact_wrist_does(method: str, digits: int) -> None:
    robot, q = closed(digits)
    exact = lw.ForwardDynamics(closed(None)[0], "kkt")(*state(*closed(None)))
    found = lw.ForwardDynamics(robot, method)(*state(robot, q))
    assert distance(found.acceleration, exact.acceleration) <= 1e3 * DIGITS[digits]


@pytest.mark.parametrize("method", ["prox_bbo", "prox_pv", "lcaba", "prox_ltl"])
def test_proximal_methods_stop_where_only_rounding_is_left(method: str) -> None:
    robot, q = closed(7)
    exact = lw.ForwardDynamics(closed(None)[0], "kkt")(*state(*closed(None)))
    found = lw.ForwardDynamics(robot, method)(*state(robot, q))
    assert found.converged and found.iterations <= 4
    assert distance(found.acceleration, exact.acceleration) <= 1e-4


@pytest.mark.parametrize("method", ["ltl", "pv"])
def test_methods_without_damping_refuse_rows_that_differ_by_rounding(method: str) -> None:
    robot, q = closed(7)
    with pytest.raises(lw.errors.SingularConstraints):
        lw.ForwardDynamics(robot, method)(*state(robot, q))


@each_rounding
def test_minimal_coordinates_and_motors_of_a_rounded_wrist(digits: int) -> None:
    robot, q = closed(digits)
    assert lw.Minimal(robot).ny == 3
    found = robot.actuation(q, motors=MOTORS)
    exact = closed(None)[0].actuation(closed(None)[1], motors=MOTORS)
    assert found.joints == exact.joints
    assert distance(found.matrix, exact.matrix) <= 1e3 * DIGITS[digits]
    at = lw.Minimal(robot).complete(robot.integrate(q, np.eye(robot.nv)[lw.Minimal(robot).index[0]] * 0.01))
    assert np.abs(lw.constraint_error(robot, at)).max() <= 10 * DIGITS[digits]


@each_rounding
def test_the_nearest_pose_is_taken_with_a_warning_that_says_how_near(digits: int) -> None:
    robot = wrist(digits)
    start = robot.integrate(robot.neutral(), np.full(robot.nv, 0.1))
    with pytest.warns(lw.errors.ModelWarning, match=r"close only to \d.*e-\d+"):
        found = assemble(robot, start)
    assert 0.0 < found.gap <= 10 * DIGITS[digits]
    with pytest.raises(lw.errors.AssemblyError, match="without a tolerance"):
        robot.assemble(start, tolerance=1e-13, attempts=2)


def test_a_rounded_wrist_moves_as_the_exact_one_does() -> None:
    runs = [lw.simulate(closed(digits)[0], closed(digits)[1], seconds=0.05, dt=1e-3) for digits in (7, None)]
    assert not any(run.ended for run in runs)
    assert np.abs(runs[0].q - runs[1].q).max() <= 1e3 * DIGITS[7]


@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-8, 1e-6])
def test_three_cranks_on_one_coupler_leave_one_joint_free(off: float) -> None:
    robot = three_cranks(off)
    assert lw.Minimal(robot).ny == 1
    q = robot.neutral()
    assert robot.mobility(q).dof == 1
    assert robot.actuation(q, motors=["pivot0"]).joints == ("pin0", "pivot1", "pivot2")


def test_a_pose_near_a_singular_one_is_no_rounding() -> None:
    """An arm whose tip is held, stretched but for 1e-7 rad: the weak direction binds, however little."""
    build, parent = lw.Builder("arm"), "world"
    for k in range(2):
        build.body(f"link{k}", lw.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0)))
        build.joint(f"joint{k}", lw.joints.Revolute("y"), parent, f"link{k}", (0.5 if k else 0.0, 0, 0))
        parent = f"link{k}"
    q = np.array([0.0, 1e-7])
    robot = build.build().constrained(lw.constraints.Point("world", parent, name="tip", second_at=(0.5, 0, 0)), at=q)
    found = robot.mobility(q)
    assert (found.dof, found.rounding) == (0, 0)


# Singular mass matrices ------------------------------------------------------------------------------


def massless() -> Mechanism:
    """A pendulum on two hinges with one axis and nothing between them: only the sum of their angles moves mass."""
    build = lw.Builder("massless").body("between", lw.Inertia.zero())
    build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -1)))
    build.joint("outer", lw.joints.Revolute("y"), "world", "between").joint(
        "inner", lw.joints.Revolute("y"), "between", "arm"
    )
    build.constrain(lw.constraints.JointCoupling({"outer": 1.0, "inner": -1.0}, name="halves"))
    return build.build()


def test_a_singular_mass_matrix_is_an_error_in_words() -> None:
    robot = massless()
    with pytest.raises(lw.errors.SingularMassMatrix, match=r"joint '(inner|outer)' moves no mass") as caught:
        lw.ForwardDynamics(robot, "kkt")(robot.neutral(), np.zeros(2), np.zeros(2))
    assert caught.value.joint in ("inner", "outer")


@pytest.mark.parametrize("method", ["ltl", "prox_ltl", "pv", "prox_pv", "prox_bbo"])
def test_methods_that_factorize_the_mass_matrix_say_that_it_is_singular(method: Any) -> None:
    """Not that constraints are dependent, and not that they converged."""
    robot = massless()
    with pytest.raises(lw.errors.SingularMassMatrix, match="use lcaba"):
        lw.ForwardDynamics(robot, method)([0.15, 0.15], [0.1, 0.1], np.zeros(2))
    assert lw.ForwardDynamics(robot).method == "lcaba"


def test_velocities_of_massless_joints_are_projected() -> None:
    robot = massless()
    v = robot.project_velocity(robot.neutral(), [1.0, 0.0])
    np.testing.assert_allclose(v, [0.5, 0.5], atol=1e-6)


def test_a_massless_link_that_is_held_moves_and_is_simulated() -> None:
    robot = massless()
    s = lw.ForwardDynamics(robot, "lcaba")([0.15, 0.15], np.zeros(2), np.zeros(2))
    single = lw.Builder().body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -1)))
    whole = lw.ForwardDynamics(single.joint("hinge", lw.joints.Revolute("y"), "world", "arm").build())(
        [0.3], [0.0], [0.0]
    )
    np.testing.assert_allclose(s.acceleration, np.repeat(whole.acceleration / 2, 2), rtol=1e-7)
    run = lw.simulate(robot, [0.15, 0.15], seconds=0.1, dt=1e-3)
    assert not run.ended and np.isfinite(run.q).all()


# States that break loops -------------------------------------------------------------------------------


def test_forward_dynamics_says_what_loops_are_open_by() -> None:
    robot = lw.zoo.four_bar()
    q = robot.poses["assembled"]
    off = q + np.array([0.3, *np.zeros(robot.nv - 1)])
    fd = lw.ForwardDynamics(robot)
    with pytest.warns(lw.errors.StateWarning, match="is open by 0"):
        s = fd(off, np.zeros(robot.nv), np.zeros(robot.nv))
    assert s.gap == pytest.approx(np.abs(lw.constraint_error(robot, off)).max(), rel=1e-12)
    assert s.velocity_error is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fd(off, np.zeros(robot.nv), np.zeros(robot.nv)).gap == s.gap  # said once
    batch = fd(np.array([q, off]), np.zeros(robot.nv), np.zeros(robot.nv))
    np.testing.assert_allclose(batch.gap, [0.0, s.gap], atol=1e-12)


def test_forward_dynamics_says_when_a_velocity_opens_loops() -> None:
    robot = lw.zoo.four_bar()
    q = robot.poses["assembled"]
    with pytest.warns(lw.errors.StateWarning, match="project_velocity"):
        lw.ForwardDynamics(robot)(q, np.ones(robot.nv), np.zeros(robot.nv))
    on = np.ones(robot.nc, dtype=bool)
    assert state_warning(robot, q, robot.project_velocity(q, np.ones(robot.nv)), on) is None
    assert state_warning(robot, q, np.zeros(robot.nv), on) is None


@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl", "cluster", "kkt"])
def test_constraints_with_gains_know_how_fast_they_open(method: str) -> None:
    robot = lw.zoo.four_bar()
    loop = robot.constraints[0]
    pulled = robot.unconstrained().constrained(type(loop)(**_arguments(loop), time_constant=0.1))
    q, v = robot.poses["assembled"], np.ones(robot.nv)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.StateWarning)
        s = lw.ForwardDynamics(pulled, method)(q, v, np.zeros(robot.nv))
    assert s.velocity_error == pytest.approx(np.abs(lw.constraint_jacobian(pulled, q) @ v).max(), rel=1e-9)


def _arguments(pair: lw.constraints.Hinge) -> dict[str, object]:
    names = ("name", "first", "second", "first_at", "second_at", "axis", "second_axis")
    return {name: getattr(pair, name) for name in names}
