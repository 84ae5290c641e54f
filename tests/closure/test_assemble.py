# SPDX-License-Identifier: BSD-3-Clause
"""Assembling: loops close from anywhere, what is fixed or limited stays so, and what cannot close says what is open."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.closure.assembly import assemble
from linkwork.mechanism import Mechanism
from tests.support.linkages import BOX, MECHANISMS, five_bar, four_bar, made, rod, rssr
from tests.support.states import Floats, assert_close, random_state


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", MECHANISMS)
def test_loops_close_from_random_starts(name: str, seed: int) -> None:
    robot = made(name)
    start = random_state(robot, seed).q
    found = assemble(robot, start)
    assert found.gap <= 1e-12
    assert np.abs(lw.constraint_error(robot, found.q)).max() == pytest.approx(found.gap, abs=1e-15)
    assert_close(robot.normalize(found.q), found.q, 1e-15)
    np.testing.assert_array_equal(robot.assemble(start), found.q)  # the same way in, and the same again


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_start_nearby_is_closed_nearby(name: str) -> None:
    """To first order the gap is closed by the least motion, which is no longer than what opened it."""
    robot = made(name)
    closed = robot.assemble(random_state(robot, 0).q)
    push = 1e-4 * random_state(robot, 1).v
    found = assemble(robot, robot.integrate(closed, push))
    assert found.attempts == 1
    assert np.linalg.norm(robot.difference(closed, found.q)) < 2.1 * np.linalg.norm(push)


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_assembled_stays_as_it_is(name: str) -> None:
    robot = made(name)
    q = robot.assemble(random_state(robot, 3).q)
    found = assemble(robot, q)
    assert (found.iterations, found.attempts) == (0, 0)
    assert_close(found.q, q, 1e-15)  # a quaternion is normalized on its way in
    if not robot.unit_slices():
        np.testing.assert_array_equal(found.q, q)


def test_without_a_start_it_is_the_neutral_configuration() -> None:
    robot = four_bar()
    np.testing.assert_array_equal(robot.assemble(), robot.assemble(robot.neutral()))


def test_a_mechanism_without_joints_is_assembled() -> None:
    wall = lw.Builder("wall").build()
    assert wall.assemble().shape == (0,) and wall.assemble(np.zeros((3, 0))).shape == (3, 0)
    assert wall.equilibrium().q.shape == (0,)


def test_a_mechanism_without_constraints_is_assembled() -> None:
    robot = lw.zoo.pendulum(3)
    np.testing.assert_array_equal(robot.assemble([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("seed", range(3))
def test_another_seed_may_close_otherwise_the_same_never(seed: int) -> None:
    """Where the start is stuck, random starts are tried: the same ones for the same seed."""
    robot = rssr()
    start = flipped(robot)
    np.testing.assert_array_equal(robot.assemble(start, seed=seed), robot.assemble(start, seed=seed))


def flipped(robot: Mechanism) -> Floats:
    """Every joint at half a turn."""
    q = robot.neutral()
    for joint in robot.joints:
        q[robot.q_slice(joint.name)] = [1.0, 0.0, 0.0, 0.0] if joint.type.nv == 3 else np.pi
    return q


# Fixed joints and limits -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_fixed_joints_stay_bit_for_bit(seed: int) -> None:
    robot = four_bar()
    start = random_state(robot, seed).q
    found = robot.assemble(start, fixed=["j1"])
    assert found[0] == start[0]
    assert np.abs(lw.constraint_error(robot, found)).max() < 1e-12
    assert robot.assemble(start, fixed="j1")[0] == start[0]  # one name does


def test_a_fixed_quaternion_stays() -> None:
    robot = rssr()
    start = random_state(robot, 1).q
    at = robot.q_slice("ball")
    start[at] = robot.assemble(start)[at]
    found = robot.assemble(start, fixed=["ball"])
    assert_close(found[at], start[at], 2e-16)


def test_fixing_everything_leaves_nothing_to_close() -> None:
    robot = four_bar()
    with pytest.raises(lw.errors.AssemblyError):
        robot.assemble([0.3, 0.2, 0.1], fixed=["j1", "j2", "j3"])


def test_a_fixed_joint_may_stand_beyond_its_limits() -> None:
    robot = four_bar(lower=-0.5, upper=0.5)
    assert robot.assemble([1.0, 0.0, 0.0], fixed=["j1"])[0] == 1.0


@settings(max_examples=40)
@given(low=st.floats(-3, 2.5), width=st.floats(0.05, 1.0), seed=st.integers(0, 1000))
def test_limits_are_respected(low: float, width: float, seed: int) -> None:
    """A crank that can turn all the way around closes at every angle, so that some within the limits is found."""
    robot = four_bar(lower=low, upper=low + width)
    start = random_state(four_bar_free(), seed).q
    q = robot.assemble(start)
    assert low <= q[0] <= low + width
    assert np.abs(lw.constraint_error(robot, q)).max() <= 1e-12


@cache
def four_bar_free() -> Mechanism:
    return four_bar()


def test_limits_may_be_passed_where_nobody_asks_for_them() -> None:
    robot = four_bar(lower=-0.5, upper=0.5)
    start = four_bar().assemble([2.0, 0.0, 0.0], fixed=["j1"])
    near = start + np.array([0.0, 1e-3, 0.0])
    assert robot.assemble(near, limits=False)[0] == pytest.approx(2.0, abs=1e-2)
    assert robot.assemble(near)[0] <= 0.5
    np.testing.assert_array_equal(robot.assemble(start), start)  # what is closed stays, beyond its limits too


def test_a_model_of_rounded_numbers_is_taken_as_closed_with_a_warning() -> None:
    robot = lw.zoo.pendulum(1).constrained(
        lw.constraints.Point("tip", "world", second_at=(0, 0, -1 - 1e-6), name="hold")
    )
    with pytest.warns(lw.errors.ModelWarning, match="close only to 1e-06"):
        np.testing.assert_allclose(robot.assemble(attempts=1), [0.0], atol=1e-6)
    with pytest.raises(lw.errors.AssemblyError, match="without a tolerance, such loops are taken as closed"):
        robot.assemble(attempts=1, tolerance=1e-9)
    np.testing.assert_array_equal(robot.assemble(tolerance=1e-5), [0.0])


def test_limits_that_keep_the_loop_open_are_named() -> None:
    build = (
        lw.Builder("reach").body("a", rod(1.0)).joint("i", lw.joints.Revolute("y"), "world", "a", lower=-0.1, upper=0.1)
    )
    build.body("b", rod(1.0)).joint("j", lw.joints.Revolute("y"), "a", "b", (1, 0, 0), lower=-0.2, upper=0.2)
    robot = build.constrain(
        lw.constraints.Point("b", "world", first_at=(1, 0, 0), second_at=(0, 0, 1), name="tip")
    ).build()
    with pytest.raises(lw.errors.AssemblyError, match="at their limits: i, j") as caught:
        robot.assemble()
    q = np.asarray(caught.value.q)
    assert (np.abs(q) <= [0.1, 0.2]).all()


# Loops that do not close -----------------------------------------------------------------------------


def test_an_impossible_four_bar_says_which_constraint_is_open_and_by_how_much() -> None:
    robot = four_bar(ground=3.0, crank=0.5, coupler=0.7, rocker=0.8)
    with pytest.raises(lw.errors.AssemblyError) as caught:
        robot.assemble([0.1, 0.2, 0.3])
    error = caught.value
    assert error.constraint == "close"
    apart = lw.constraint_error(robot, error.q)
    assert np.linalg.norm(apart) == pytest.approx(1.0, rel=0.02)  # 3 - 0.5 - 0.7 - 0.8, with all links nearly in line
    assert np.abs(apart).max() == pytest.approx(error.gap, rel=1e-12)
    gap = f"is still {error.gap:.3g} off (tolerance: 1e-13)"
    for part in ("the loops of 'four-bar' do not close", "after 20 attempts", "Hinge 'close'", gap):
        assert part in str(error)


def test_the_worst_of_several_constraints_is_named() -> None:
    robot = lw.zoo.pendulum(3).constrained(
        lw.constraints.Point("tip", "world", second_at=(0, 0, -9), name="far"),
        lw.constraints.JointLock("joint0", 0.1, name="lock"),
    )
    with pytest.raises(lw.errors.AssemblyError, match="Point 'far'") as caught:
        robot.assemble(attempts=2)
    assert caught.value.constraint == "far"
    assert caught.value.gap > 5.9


def two_legs(first: float, second: float) -> lw.Mechanism:
    """Two pendulums of three bars of 1 m, their tips held so far below their pivots."""
    legs = lw.compose({"a": lw.zoo.pendulum(3), "b": lw.zoo.pendulum(3)}, at={"b": (5, 0, 0)})
    holds = [
        lw.constraints.Point("a/tip", "world", second_at=(0, 0, -first), name="a_hold"),
        lw.constraints.Point("b/tip", "world", second_at=(5, 0, -second), name="b_hold"),
    ]
    return legs.constrained(*holds)


def test_the_loop_that_cannot_close_alone_is_named_with_its_gap() -> None:
    robot = two_legs(2.0, 9.0)
    says = r"even with all others open these do not close: Point 'b_hold' \(\d\.\d+ off\)$"
    with pytest.raises(lw.errors.AssemblyError, match=says) as e:
        robot.assemble(attempts=2)
    assert list(e.value.alone) == ["b_hold"]
    assert 6 / np.sqrt(2) < e.value.alone["b_hold"] < 6.1  # in the plane, of a vector that is 6 m long at least
    with pytest.raises(lw.errors.AssemblyError) as e:
        two_legs(8.0, 9.0).assemble(attempts=2)
    assert set(e.value.alone) == {"a_hold", "b_hold"}


def test_loops_that_contradict_each_other_close_alone() -> None:
    robot = two_legs(2.0, 2.0)
    twice = robot.constrained(lw.constraints.Point("a/tip", "world", second_at=(0.5, 0, -2), name="elsewhere"))
    with pytest.raises(
        lw.errors.AssemblyError, match="each closes alone, but not together: 'a_hold', 'elsewhere'"
    ) as e:
        twice.assemble(attempts=2)
    assert e.value.alone == {}
    both = twice.unconstrained("b_hold")
    with pytest.raises(lw.errors.AssemblyError, match="each closes alone, but not all together"):
        both.assemble(attempts=2)


def test_one_attempt_is_for_those_who_do_not_ask_why() -> None:
    with pytest.raises(lw.errors.AssemblyError) as e:
        two_legs(2.0, 9.0).assemble(attempts=1)
    assert e.value.alone == {} and "alone" not in str(e.value) and "others" not in str(e.value)


def test_the_only_loop_there_is_needs_no_words_about_others() -> None:
    with pytest.raises(lw.errors.AssemblyError) as e:
        two_legs(2.0, 9.0).switched({"a_hold": False}).assemble(attempts=2)
    assert "others" not in str(e.value)


def test_a_constraint_that_was_put_on_without_saying_where_is_given_a_hint() -> None:
    """The point is at the world's origin, out of reach; people mean the place where it is."""
    robot = lw.compose({"a": lw.zoo.pendulum(1)}, at={"a": (0, 0, 5)})
    body = robot.body_names[-1]
    q = np.array([0.3])
    forgotten = robot.constrained(lw.constraints.Weld("world", body))
    hint = rf"to hold '{body}' where it is at q, say so: robot\.constrained\(Weld\(\.\.\.\), at=q\)"
    with pytest.raises(lw.errors.AssemblyError, match=hint):
        forgotten.assemble(q, attempts=2)
    with pytest.raises(lw.errors.AssemblyError, match=hint):
        lw.simulate(forgotten, q, seconds=0.01)
    np.testing.assert_array_equal(robot.constrained(lw.constraints.Weld("world", body), at=q).assemble(q), q)
    with pytest.raises(lw.errors.AssemblyError) as e:
        robot.constrained(lw.constraints.Weld("world", body, first_at=(0, 0, 9))).assemble(q, attempts=2)
    assert "at=q" not in str(e.value)


def test_no_iterations_are_too_few() -> None:
    with pytest.raises(lw.errors.AssemblyError):
        four_bar().assemble([0.3, 0.2, 0.1], max_iterations=0)


def test_few_iterations_are_too_few() -> None:
    with pytest.raises(lw.errors.AssemblyError, match="after 1 attempts"):
        four_bar().assemble([0.3, 0.2, 0.1], max_iterations=2, attempts=1)


def test_a_wide_tolerance_is_met_sooner() -> None:
    robot, start = five_bar(), [0.5, 0.4, 2.0, 1.0]
    near, far = assemble(robot, start), assemble(robot, start, tolerance=1e-3)
    assert far.iterations < near.iterations
    assert 1e-12 < far.gap <= 1e-3


def test_what_does_not_fit_the_robot_is_refused() -> None:
    robot = four_bar()
    with pytest.raises(lw.errors.InputError, match="q has 2 numbers, robot 'four-bar' needs 3"):
        robot.assemble(np.zeros((4, 2)))
    with pytest.raises(lw.errors.InputError, match="robot 'four-bar' has no joint 'j11'; did you mean 'j1'"):
        robot.assemble(fixed=["j11"])


# Half a turn -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        lw.constraints.Weld,
        lw.constraints.Slider,
        lw.constraints.Hinge,
        lw.constraints.Cylindrical,
        lw.constraints.PlaneOnPlane,
    ],
)
def test_what_is_flipped_exactly_closes(kind: type[lw.constraints.Weld]) -> None:
    robot = lw.Builder("one").body("a", BOX).joint("free", lw.joints.Free(), "world", "a").build()
    robot = robot.constrained(kind("world", "a"))
    q = robot.assemble([0, 0, 0, 1, 0, 0, 0])
    assert np.abs(lw.constraint_error(robot, q)).max() <= 1e-12


def test_a_loop_of_flipped_links_closes() -> None:
    robot = rssr()
    q = robot.assemble(flipped(robot))
    assert np.abs(lw.constraint_error(robot, q)).max() <= 1e-12


# What is not looked at -------------------------------------------------------------------------------


def test_disabled_constraints_are_ignored() -> None:
    robot = lw.zoo.pendulum(2).constrained(
        lw.constraints.Point("tip", "world", second_at=(0, 0, -9), name="far"),
        lw.constraints.JointLock("joint0", 0.3, name="lock"),
    )
    q = robot.switched({"far": False}).assemble()
    np.testing.assert_allclose(q, [0.3, 0.0], atol=1e-15)
    start = random_state(robot, 0).q
    np.testing.assert_array_equal(robot.switched({"far": False, "lock": False}).assemble(start), start)


def test_rows_that_bind_velocities_only_are_ignored() -> None:
    build = lw.Builder("ball").body("ball", BOX).joint("free", lw.joints.Free(), "world", "ball")
    robot = build.constrain(lw.constraints.Rolling("world", "ball", radius=0.3)).build()
    q = robot.assemble([0.5, 0.6, 1.0, 0, 0, 0, 1])
    np.testing.assert_allclose(q, [0.5, 0.6, 0.3, 0, 0, 0, 1], atol=1e-12)
    still = build.constrain(lw.constraints.LinearCombination({"ball": np.eye(6)})).build()
    np.testing.assert_allclose(still.assemble(q), q, atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_internal_loops_do_not_move_a_floating_base(seed: int) -> None:
    robot = made("floating four-bar")
    start = random_state(robot, seed).q
    found = robot.assemble(start, attempts=1)
    assert_close(robot.difference(start, found)[robot.v_slice("free")], np.zeros(6), 1e-12, scale=1.0)
