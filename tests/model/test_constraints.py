# SPDX-License-Identifier: BSD-3-Clause
"""What constraints mean: their errors, the joints they stand for, capture, switching, and what is refused."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import Constraint, Coupling, Pair, Renaming, closing
from linkwork.model.rotations import axis_rotation
from tests.support import REPOSITORY
from tests.support.catalog import NAMES, PAIRS, SEEDS, SIZES, bound, constraints, free_tree
from tests.support.states import Floats, assert_close, random_state

BOX = lw.Inertia.box(1.5, (0.1, 0.2, 0.3), com=(0.05, -0.1, 0.2))
Z = np.array([0.0, 0.0, 1.0])


@cache
def one_body() -> Mechanism:
    """A body that can be anywhere."""
    return lw.Builder("one").body("a", BOX).joint("free", lw.joints.Free(), "world", "a").build()


def error_at(pair: Pair, position: Floats, turn: lw.Placement | None = None) -> Floats:
    """The error of a pair from the world to a body that stands there."""
    robot = one_body().constrained(pair)
    q = np.concatenate([position, quaternion(np.eye(3) if turn is None else turn.rotation)])
    return lw.constraint_error(robot, q)


def quaternion(R: Floats) -> Floats:
    """``x y z w`` of a rotation: the eigenvector of Bar-Itzhack's matrix that belongs to its greatest eigenvalue."""
    K = np.zeros((4, 4))
    K[:3, :3] = R + R.T - np.trace(R) * np.eye(3)
    K[:3, 3] = K[3, :3] = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    K[3, 3] = np.trace(R)
    return np.asarray(np.linalg.eigh(K)[1][:, -1])


def about(axis: Floats, angle: float) -> lw.Placement:
    return lw.Placement((0, 0, 0), axis_rotation(axis / np.linalg.norm(axis), angle))


# Errors --------------------------------------------------------------------------------------------

ANGLES = [0.0, 1e-9, 1e-3, 0.5, 1.5, 3.0, np.pi - 1e-3, -0.7, -3.1]


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("kind", [lw.constraints.Weld, lw.constraints.Slider])
def test_a_turn_that_is_not_allowed_is_twice_the_sine_of_its_half(kind: type[Pair], angle: float) -> None:
    axis = np.array([2.0, -1.0, 3.0]) / np.sqrt(14)
    error = error_at(kind("world", "a"), np.zeros(3), about(axis, angle))
    # The sum of the cosine and one loses digits near half a turn: 1e-16 / (1e-3)².
    assert_close(error[:3], 2 * np.sin(angle / 2) * axis, 1e-12 if abs(angle) < 3.05 else 1e-9, scale=1e-3)


@pytest.mark.parametrize("spin", [0.0, 2.0])
@pytest.mark.parametrize("angle", [angle for angle in ANGLES if angle >= 0])
@pytest.mark.parametrize("kind", [lw.constraints.Hinge, lw.constraints.Cylindrical, lw.constraints.PlaneOnPlane])
def test_a_tilt_is_twice_the_sine_of_its_half_about_both_axes(kind: type[Pair], angle: float, spin: float) -> None:
    """Turning about the axis first makes no difference; the error is about z x b, b the axis of the second."""
    normal = np.array([3.0, 4.0, 0.0]) / 5
    error = error_at(kind("world", "a"), np.zeros(3), about(normal, angle) * about(Z, spin))
    assert_close(error[:2], 2 * np.sin(angle / 2) * normal[:2], 1e-9, scale=1e-3)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (2, -1, 3)], ids=str)
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
def test_half_a_turn_is_not_closed(kind: type[Pair], axis: tuple[float, float, float]) -> None:
    if kind not in (lw.constraints.Weld, lw.constraints.Slider):  # about a normal of the axis
        axis = (axis[0] + axis[2], axis[1] - 0.5 * axis[2], 0)
    count = 3 if kind in (lw.constraints.Weld, lw.constraints.Slider) else 2
    error = error_at(kind("world", "a"), np.zeros(3), about(np.array(axis, dtype=float), np.pi))
    assert np.linalg.norm(error[:count]) == pytest.approx(2.0, abs=1e-3)


def test_a_class_that_leaves_all_motion_free_is_refused() -> None:
    """A constraint without rows is a class whose codes were forgotten."""
    with pytest.raises(lw.errors.ModelError, match="Pair has no rows"):
        Pair("world", "box", name="nothing")


def test_a_cardan_measures_the_cosine_between_its_axes() -> None:
    for angle in (0.0, 0.4, 2.0, -1.0):
        error = error_at(lw.constraints.Cardan("world", "a"), np.zeros(3), about(Z, angle))
        assert error[0] == pytest.approx(-np.sin(angle), abs=1e-14)


AXIS = np.array([2.0, 3.0, 6.0]) / 7
SHIFT = np.array([0.3, -0.4, 0.7])
ALONG, ACROSS = float(AXIS @ SHIFT), float(np.linalg.norm(SHIFT - AXIS * (AXIS @ SHIFT)))


@pytest.mark.parametrize(
    "kind", [lw.constraints.Weld, lw.constraints.Hinge, lw.constraints.Cardan, lw.constraints.Point]
)
def test_points_that_should_meet_are_apart_by_metres_in_the_axes_of_the_first(kind: type[Pair]) -> None:
    pair = kind("world", "a", first_at=about(Z, np.pi / 2), second_at=about(Z, np.pi / 2))
    found = error_at(pair, SHIFT)[-3:]
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(SHIFT), rel=1e-14)
    if kind is not lw.constraints.Hinge and kind is not lw.constraints.Cardan:  # whose axes x and y are theirs
        assert_close(found, np.array([SHIFT[1], -SHIFT[0], SHIFT[2]]), 1e-14)


@pytest.mark.parametrize("kind", [lw.constraints.Slider, lw.constraints.Cylindrical, lw.constraints.PointOnLine])
def test_a_point_is_off_its_line_by_metres(kind: type[Pair]) -> None:
    found = error_at(kind("world", "a", axis=AXIS), SHIFT)[-2:]
    assert np.linalg.norm(found) == pytest.approx(ACROSS, rel=1e-13)
    assert_close(error_at(kind("world", "a", axis=AXIS), 5 * AXIS)[-2:], np.zeros(2), 1e-14, scale=1.0)


@pytest.mark.parametrize("kind", [lw.constraints.PlaneOnPlane, lw.constraints.PointOnPlane])
def test_a_point_is_off_its_plane_by_metres_along_the_normal(kind: type[Pair]) -> None:
    assert error_at(kind("world", "a", axis=AXIS), SHIFT)[-1] == pytest.approx(ALONG, rel=1e-13)


@pytest.mark.parametrize("length", [0.1, 0.7, 2.0])
def test_a_rod_measures_squares_of_lengths(length: float) -> None:
    found = error_at(lw.constraints.Rod("world", "a", length=length), SHIFT)
    assert found[0] == pytest.approx((SHIFT @ SHIFT - length**2) / (2 * length), rel=1e-13)
    near = error_at(lw.constraints.Rod("world", "a", length=length), (length + 1e-6) * AXIS)  # meters, to first order
    assert near[0] == pytest.approx(1e-6, rel=1e-5)


def test_what_rolls_is_off_by_its_height() -> None:
    found = error_at(lw.constraints.Rolling("world", "a", axis=AXIS, radius=0.25), SHIFT)
    assert_close(found, np.array([0.0, 0.0, ALONG - 0.25]), 1e-14)


def test_couplings_measure_their_equations() -> None:
    robot = free_tree(0).constrained(
        lw.constraints.Gear("arm/turn", "arm/slide", 3.0, 0.2, name="gear"),
        lw.constraints.Belt("arm/turn", {"arm/slide": 2.0}, 0.1, name="belt"),
        lw.constraints.PolynomialCoupling("arm/slide", "arm/turn", (1, 2, 3, 4, 5), 0.1, 0.2, name="polynomial"),
        lw.constraints.JointLock("arm/cross", (0.1, 0.2), name="lock"),
    )
    q = random_state(robot, 0).q
    a, b = q[robot.q_index("arm/turn")], q[robot.q_index("arm/slide")]
    cross, x = q[robot.q_slice("arm/cross")], a - 0.2
    follow = b - 0.1 - (1 + 2 * x + 3 * x**2 + 4 * x**3 + 5 * x**4)
    expected = [a - 3 * b - 0.2, a - 2 * b - 0.1, follow, cross[0] - 0.1, cross[1] - 0.2]
    assert_close(lw.constraint_error(robot, q), np.array(expected), 1e-14)


# The joints that constraints stand for ---------------------------------------------------------------

JOINTS = {
    "Weld": lw.joints.Fixed(),
    "Hinge": lw.joints.Revolute((1, 2, -2)),
    "Slider": lw.joints.Prismatic((3, 4, 12)),
    "PlaneOnPlane": lw.joints.Planar((2, -1, 2)),
    "Point": lw.joints.Spherical(),
    "Cardan": lw.joints.Universal((1, 2, 2), (2, 1, -2)),
}


def doubled(joint: lw.joints.Joint, seed: int) -> Mechanism:
    """A chain of a free body, a turning one and one on ``joint``, that a constraint closes in the same place."""
    rng = np.random.default_rng([seed, 14])
    at, child_at = lw.zoo.random_placement(rng), lw.zoo.random_placement(rng)
    build = lw.Builder().body("base", BOX).joint("free", lw.joints.Free(), "world", "base")
    build.body("arm", BOX).joint("turn", lw.joints.Revolute("y"), "base", "arm", lw.zoo.random_placement(rng))
    build.body("hand", BOX)
    if isinstance(joint, lw.joints.Fixed):  # on which the two would be one body
        build.joint("wrist", lw.joints.Prismatic("x"), "arm", "hand", at, child_at, lower=0, upper=0)
    else:
        build.joint("wrist", joint, "arm", "hand", at, child_at)
    pair = closing("pair", joint, "arm", "hand", at, child_at)
    assert pair is not None
    return build.constrain(pair).build()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", JOINTS)
def test_a_constraint_holds_wherever_its_joint_leads(name: str, seed: int) -> None:
    robot = doubled(JOINTS[name], seed)
    assert type(robot.constraints[0]).__name__ == name
    s = random_state(robot, seed)
    assert_close(lw.constraint_error(robot, s.q), np.zeros(robot.nc), 1e-14, scale=1.0)
    J, bias = lw.constraint_jacobian(robot, s.q), lw.constraint_bias(robot, s.q, s.v)
    if name == "Weld":  # held by nothing but its limits
        J, bias = np.delete(J, robot.v_index("wrist"), axis=1), bias * 0
    assert_close(J, np.zeros_like(J), 1e-14, scale=1.0)
    assert_close(bias, np.zeros(robot.nc), 1e-12, scale=1.0)


@pytest.mark.parametrize("name", JOINTS)
def test_a_constraint_binds_what_its_joint_does_not_leave_free(name: str) -> None:
    """On a body that could go anywhere, the rows have full rank and leave as many directions as the joint has."""
    pair = closing("pair", JOINTS[name], "world", "a", lw.Placement(), lw.Placement())
    robot = one_body().constrained(pair)
    J = lw.constraint_jacobian(robot, robot.neutral())
    assert pair.rows == 6 - JOINTS[name].nv
    assert np.linalg.matrix_rank(J) == pair.rows


def test_a_free_joint_binds_nothing() -> None:
    assert closing("x", lw.joints.Free(), "a", "b", lw.Placement(), lw.Placement()) is None


@pytest.mark.parametrize(
    "joint", [lw.joints.Helical("x", 0.1), lw.joints.Universal("x", (1, 1, 0))], ids=["helical", "skew universal"]
)
def test_joints_that_cannot_close_a_loop_say_so(joint: lw.joints.Joint) -> None:
    with pytest.raises(lw.errors.ModelError, match=f"joint 'x' \\({joint.kind_name}\\) would have to close a loop"):
        closing("x", joint, "a", "b", lw.Placement(), lw.Placement())


@pytest.mark.parametrize("kind", PAIRS)
def test_rows_are_as_many_as_the_page_says(kind: type[Pair]) -> None:
    rows = {"Weld": 6, "Hinge": 5, "Slider": 5, "Cylindrical": 4, "Cardan": 4, "Point": 3, "PlaneOnPlane": 3}
    rows |= {"PointOnLine": 2, "PointOnPlane": 1, "Rod": 1, "Rolling": 3}
    pair = kind("a", "b", **SIZES.get(kind, {}))
    assert pair.rows == len(pair.holonomic) == len(pair.compliance) == rows[kind.__name__]


# Captured at a configuration -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_captured_constraint_holds_where_it_was_captured(name: str, seed: int) -> None:
    robot, q = free_tree(seed), random_state(free_tree(seed), seed).q
    given = next(c for c in constraints(seed) if c.name == name)
    caught = robot.constrained(given, at=q)
    assert_close(lw.constraint_error(caught, q), np.zeros(given.rows), 1e-14, scale=1.0)
    made = caught.constraint(name)
    assert (made.gains, made.enabled, made.rows) == (given.gains, given.enabled, given.rows)


def test_a_captured_cardan_of_normal_axes_holds() -> None:
    robot, q = free_tree(0), random_state(free_tree(0), 0).q
    pair = lw.constraints.Cardan("frame1", "frame4", axis=(1, 2, 2), second_axis=(2, 1, -2), first_at=(0.1, 0, 0))
    caught = robot.constrained(pair, at=q)
    assert_close(lw.constraint_error(caught, q), np.zeros(4), 1e-14, scale=1.0)


SIDES = {"world first": ("world", "frame4"), "world second": ("frame4", "world"), "two bodies": ("frame1", "frame4")}
GIVEN = {"none": (), "first": ("first_at",), "second": ("second_at",), "both": ("first_at", "second_at")}
MOVED = {
    "world first": {"none": 0, "first": 1, "second": 0, "both": 0},
    "world second": {"none": 1, "first": 1, "second": 0, "both": 1},
    "two bodies": {"none": 1, "first": 1, "second": 0, "both": 1},
}
"""Whose origin is put where the other is: the world's, or the second; but none that was given alone."""


def held(kind: type[Pair], sides: str, given: str, seed: int = 1) -> tuple[Mechanism, Floats, Pair, Pair]:
    """A robot and where it is, a pair as it was given, and as it is held there."""
    robot, rng = free_tree(seed), np.random.default_rng([seed, 21])
    q = random_state(robot, seed).q
    options = {} if not hasattr(kind, "axis") else {"axis": rng.normal(size=3)}
    at = {side: lw.zoo.random_placement(rng) for side in GIVEN[given]}
    pair = kind(*SIDES[sides], name="pair", **at, **options, **SIZES.get(kind, {}))
    made = robot.constrained(pair, at=q)
    found = made.constraint("pair")
    assert isinstance(found, Pair)
    return made, q, pair, found


def where(robot: Mechanism, q: Floats, pair: Pair) -> tuple[lw.Placement, lw.Placement]:
    """The frames of a pair in the world."""
    pose = lw.frame_placement(robot, q, pair.places)
    first, second = (lw.Placement(pose.position[k], pose.rotation[k]) for k in range(2))
    return first * pair.first_at, second * pair.second_at


each_sides = pytest.mark.parametrize("sides", SIDES)
each_given = pytest.mark.parametrize("given", GIVEN)


@each_given
@each_sides
@pytest.mark.parametrize("kind", PAIRS)
def test_a_pair_is_held_as_it_is(kind: type[Pair], sides: str, given: str) -> None:
    robot, q, _, _ = held(kind, sides, given)
    assert_close(lw.constraint_error(robot, q), np.zeros(robot.nc), 1e-14, scale=1.0)


@each_given
@each_sides
@pytest.mark.parametrize("kind", [kind for kind in PAIRS if kind not in (lw.constraints.Rod, lw.constraints.Rolling)])
def test_capture_moves_the_side_of_the_world_or_the_second_but_none_that_was_given(
    kind: type[Pair], sides: str, given: str
) -> None:
    robot, q, before, after = held(kind, sides, given)
    mine, other = ("first_at", "second_at")[:: 1 if MOVED[sides][given] == 0 else -1]
    np.testing.assert_array_equal(getattr(after, other).position, getattr(before, other).position)
    stood, moved = where(robot, q, before), where(robot, q, after)
    assert_close(moved[0].position, moved[1].position, 1e-14)
    kept = 1 - MOVED[sides][given]
    assert_close(moved[kept].position, stood[kept].position, 1e-14)
    assert np.abs(getattr(after, mine).position - getattr(before, mine).position).max() > 1e-3


@each_given
@each_sides
@pytest.mark.parametrize("kind", [kind for kind in PAIRS if hasattr(kind, "axis")])
def test_capture_leaves_the_axis_in_the_first_place(kind: type[Pair], sides: str, given: str) -> None:
    _, _, before, after = held(kind, sides, given)
    expected = before.first_at.rotation @ before.axis
    assert_close(after.first_at.rotation @ after.axis, expected, 1e-14)
    if kind is not lw.constraints.Slider:
        assert_close(after.first_at.rotation, before.first_at.rotation, 1e-15)
        np.testing.assert_array_equal(after.second_at.rotation, before.second_at.rotation)


@each_given
@each_sides
@pytest.mark.parametrize("kind", [lw.constraints.Weld, lw.constraints.Slider])
def test_frames_that_may_not_turn_get_the_axes_of_the_first_or_of_a_second_that_alone_was_turned(
    kind: type[Pair], sides: str, given: str
) -> None:
    robot, q, before, after = held(kind, sides, given)
    stood, found = where(robot, q, before), where(robot, q, after)
    kept = 1 if given == "second" else 0
    for frame in found:
        assert_close(frame.rotation, stood[kept].rotation, 1e-14)


@each_sides
def test_a_rod_takes_its_length_and_leaves_both_ends(sides: str) -> None:
    robot, q, before, after = held(lw.constraints.Rod, sides, "both")
    assert (after.first_at, after.second_at) == (before.first_at, before.second_at)
    first, second = where(robot, q, after)
    assert after.size == pytest.approx(np.linalg.norm(first.position - second.position), rel=1e-14)


@each_sides
def test_a_rolling_ball_stays_where_it_was_given_and_its_plane_is_lifted(sides: str) -> None:
    _, _, before, after = held(lw.constraints.Rolling, sides, "both")
    assert after.second_at is before.second_at
    lift = before.first_at.inverse() * after.first_at
    assert_close(np.cross(lift.position, before.axis), np.zeros(3), 1e-14, scale=1.0)


@pytest.mark.parametrize(
    "kind", [lw.constraints.Point, lw.constraints.Weld, lw.constraints.Hinge, lw.constraints.Cardan]
)
@pytest.mark.parametrize("sides", ["world first", "world second"])
def test_a_foot_that_is_held_stays_where_it_is(kind: type[Pair], sides: str) -> None:
    """Its own origin does, and no other point of it that was somewhere special."""
    robot, q, _, pair = held(kind, sides, "none")
    foot = lw.frame_placement(robot, q, "frame4").position
    on_world, on_foot = (pair.first_at, pair.second_at)[:: 1 if sides == "world first" else -1]
    assert_close(on_world.position, foot, 1e-14)
    assert (on_foot.position == 0.0).all()
    rest = np.zeros(robot.nv)
    a = lw.ForwardDynamics(robot, "kkt")(q, rest, rest).acceleration
    assert_close(lw.frame_acceleration(robot, q, rest, a, "frame4")[3:], np.zeros(3), 1e-9, scale=1.0)
    free = robot.unconstrained()
    falls = lw.ForwardDynamics(free)(q, rest, rest).acceleration
    assert np.abs(lw.frame_acceleration(free, q, rest, falls, "frame4")[3:]).max() > 0.1


def test_forces_of_a_foot_on_the_world_are_in_the_axes_of_the_world() -> None:
    """However the foot is turned: at rest they carry what a robot weighs."""
    robot = one_body()
    q = np.concatenate([[0.3, -0.2, 0.7], quaternion(about(AXIS, 0.8).rotation)])
    for kind in (lw.constraints.Point, lw.constraints.Weld):
        still = robot.constrained(kind("world", "a", name="foot", second_at=BOX.com), at=q)
        force = lw.ForwardDynamics(still, "kkt")(q, np.zeros(6), np.zeros(6)).forces["foot"][-3:]
        assert_close(force, -robot.mass * robot.gravity, 1e-12)


def test_a_frame_that_is_fixed_to_the_world_counts_as_the_world() -> None:
    build = lw.Builder("one").body("a", BOX).joint("free", lw.joints.Free(), "world", "a")
    robot = build.frame("ground", on="world", at=lw.Placement.rpy(0.1, 0.2, 0.3, position=(1, 2, 3))).build()
    q = np.concatenate([SHIFT, quaternion(about(AXIS, 0.8).rotation)])
    point = robot.constrained(lw.constraints.Point("ground", "a", name="foot"), at=q).constraint("foot")
    assert (point.second_at.position == 0.0).all()
    pose = lw.frame_placement(robot, q, "ground")
    assert_close(pose.position + pose.rotation @ point.first_at.position, SHIFT, 1e-14)


def test_a_cardan_of_axes_that_are_parallel_there_gets_another() -> None:
    robot = one_body()
    q = np.concatenate([SHIFT, quaternion(about(Z, np.pi / 2).rotation)])
    pair = lw.constraints.Cardan("world", "a", axis="x", second_axis="-y")  # which points along x now
    caught = robot.constrained(pair, at=q)
    assert_close(lw.constraint_error(caught, q), np.zeros(4), 1e-14, scale=1.0)


def test_a_lock_without_a_position_captures_every_coordinate() -> None:
    robot, q = free_tree(0), random_state(free_tree(0), 0).q
    lock = robot.constrained(lw.constraints.JointLock("arm/cross"), at=q).constraints[0]
    np.testing.assert_array_equal(lock.position, q[robot.q_slice("arm/cross")])


# Switching, removing, keeping ------------------------------------------------------------------------


def test_a_switched_mechanism_shares_what_was_prepared_and_keeps_its_rows() -> None:
    robot = bound(0)
    off = robot.switched({"Weld": False, "com": False})
    assert off.computed is robot.computed
    assert not off.constraint("Weld").enabled
    assert off.constraint("Hinge").enabled
    assert robot.constraint("Weld").enabled
    assert (off.nc, off.row_slice("com")) == (robot.nc, robot.row_slice("com"))
    assert off.switched({"Weld": True}).constraint("Weld").enabled
    q = random_state(robot, 0).q
    np.testing.assert_array_equal(lw.constraint_error(off, q), lw.constraint_error(robot, q))


@pytest.mark.parametrize("name", NAMES)
def test_switching_changes_nothing_but_the_switch(name: str) -> None:
    before = bound(2).constraint(name)
    after = bound(2).switched({name: False}).constraint(name)
    assert type(after) is type(before)
    for key, value in vars(before).items():
        if key != "enabled":
            assert_same(getattr(after, key), value)


def assert_same(ours: object, theirs: object) -> None:
    if isinstance(theirs, lw.Placement):
        np.testing.assert_array_equal(ours.position, theirs.position)
        np.testing.assert_array_equal(ours.rotation, theirs.rotation)
    elif isinstance(theirs, dict):
        for key, value in theirs.items():
            assert_same(ours[key], value)
    elif isinstance(theirs, np.ndarray):  # an axis is made a unit vector again
        assert_close(ours, theirs, 4e-16)
    else:
        np.testing.assert_array_equal(ours, theirs)


def test_unconstrained_removes_the_named_or_all() -> None:
    robot = bound(0)
    assert robot.unconstrained().nc == 0
    left = robot.unconstrained("Weld", "com")
    assert left.nc == robot.nc - 6 - 2
    assert [c.name for c in left.constraints] == [n for n in NAMES if n not in ("Weld", "com")]
    q = random_state(robot, 0).q
    kept = [r for name in NAMES if name not in ("Weld", "com") for r in range(robot.nc)[robot.row_slice(name)]]
    assert_close(lw.constraint_error(left, q), lw.constraint_error(robot, q)[kept], 1e-14)


def test_constraining_leaves_the_old_mechanism_alone() -> None:
    robot = free_tree(0)
    assert robot.constrained(lw.constraints.Weld("frame0", "world")).nc == 6
    assert robot.nc == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_pickled_constraints_are_the_same(seed: int) -> None:
    robot = bound(seed)
    copy = pickle.loads(pickle.dumps(robot))
    s = random_state(robot, seed)
    # Arrays may come back in another order of memory, in which NumPy's products round otherwise.
    assert_close(lw.constraint_error(copy, s.q), lw.constraint_error(robot, s.q), 1e-14)
    assert_close(lw.constraint_target(copy, s.q, s.v), lw.constraint_target(robot, s.q, s.v), 1e-14)
    assert [str(c) for c in copy.constraints] == [str(c) for c in robot.constraints]


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_with_another_weight_is_the_same_otherwise(name: str) -> None:
    before = bound(1).constraint(name)
    after = replace(before, compliance=3.0)
    np.testing.assert_array_equal(after.compliance, np.full(before.rows, 3.0))
    assert after.gains == before.gains


def test_a_copy_may_get_a_time_constant() -> None:
    assert replace(lw.constraints.Weld("a", "b"), time_constant=0.1).gains == pytest.approx((100.0, 20.0))


def test_weights_are_one_for_each_row_and_do_not_change() -> None:
    np.testing.assert_array_equal(lw.constraints.Point("a", "b", compliance=[1, 2, 3]).compliance, [1, 2, 3])
    with pytest.raises(ValueError, match="read-only"):
        lw.constraints.Weld("a", "b").compliance[0] = 2.0


# Hard places ---------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    angle=st.floats(-np.pi, np.pi),
    axis=st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda x: np.linalg.norm(x) > 1e-3),
    kind=st.sampled_from([lw.constraints.Weld, lw.constraints.Slider]),
)
def test_turns_are_measured_everywhere(angle: float, axis: tuple[float, ...], kind: type[Pair]) -> None:
    error = error_at(kind("world", "a"), np.zeros(3), about(np.array(axis), angle))
    # 1 + trace is c² with c = 2 cos(angle / 2): rounding of the matrix is divided by it, down to 1e-12.
    c = max(abs(2 * np.cos(angle / 2)), 1e-6)
    allowed = 1e-14 + 16 * np.finfo(float).eps / c**2 if c > 1e-6 else 1.0
    assert np.linalg.norm(error[:3]) == pytest.approx(2 * abs(np.sin(angle / 2)), abs=allowed)


@settings(max_examples=60)
@given(tilt=st.floats(0, np.pi), way=st.floats(0, 2 * np.pi), spin=st.floats(-np.pi, np.pi))
def test_tilts_are_measured_everywhere(tilt: float, way: float, spin: float) -> None:
    normal = np.array([np.cos(way), np.sin(way), 0.0])
    error = error_at(lw.constraints.Hinge("world", "a"), np.zeros(3), about(normal, tilt) * about(Z, spin))
    # Beyond 1.4e-6 rad from half a turn the cosine has lost its digits: 1e-16 / 1e-12.
    assert np.linalg.norm(error[:2]) == pytest.approx(2 * np.sin(tilt / 2), abs=1e-3)
    assert_close(error[2:], np.zeros(3), 1e-14, scale=1.0)


# What is refused -----------------------------------------------------------------------------------


def arm() -> Mechanism:
    build = lw.Builder("arm").body("upper", BOX).joint("shoulder", lw.joints.Revolute("y"), "world", "upper")
    build.body("lower", BOX).joint("elbow", lw.joints.Universal(), "upper", "lower", (0, 0, 0.3))
    build.body("hand", BOX).joint("wrist", lw.joints.Spherical(), "lower", "hand", (0, 0, 0.3))
    return build.frame("tip", on="hand", at=(0, 0, 0.1)).build()


MISMADE: dict[str, tuple[Callable[[], Constraint], str]] = {
    "two weights": (
        lambda: lw.constraints.Weld("a", "b", compliance=[1, 2]),
        "Weld 'a:b': compliance has 2 numbers, needs one or 6",
    ),
    "a weight of zero": (
        lambda: lw.constraints.Point("a", "b", compliance=[1, 0, 1]),
        "Point 'a:b': compliance must be finite and > 0, not [1.0, 0.0, 1.0]",
    ),
    "an infinite weight": (
        lambda: lw.constraints.Rod("a", "b", length=1, compliance=np.inf),
        "compliance must be finite and > 0",
    ),
    "gains and a time constant": (
        lambda: lw.constraints.Weld("a", "b", gains=(1, 0), time_constant=0.1),
        "Weld 'a:b': give a time constant or gains, not both",
    ),
    "a negative gain": (
        lambda: lw.constraints.Weld("a", "b", gains=(-1, 0)),
        "Weld 'a:b': gains must be (kp, kd), both finite and >= 0, not (-1, 0)",
    ),
    "three gains": (lambda: lw.constraints.Weld("a", "b", gains=(1, 2, 3)), "gains must be (kp, kd)"),  # type: ignore[arg-type]
    "no time": (
        lambda: lw.constraints.Weld("a", "b", time_constant=0),
        "Weld 'a:b': time constant must be finite and > 0, not 0.0",
    ),
    "no name": (lambda: lw.constraints.Weld("", "b"), "Weld: '' is not the name of a body or frame"),
    "an axis without a name": (lambda: lw.constraints.Hinge("a", "b", axis="w"), "axis 'w' is none of x, y, z"),
    "no length": (
        lambda: lw.constraints.Rod("a", "b", length=0),
        "Rod (where it has none, use Point): length is 0, needs a finite length > 0",
    ),
    "no radius": (
        lambda: lw.constraints.Rolling("a", "b", radius=-1),
        "Rolling: radius is -1, needs a finite length > 0",
    ),
    "no joints": (lambda: lw.constraints.JointCoupling({}), "JointCoupling: coefficients name no joints"),
    "no coefficients": (
        lambda: lw.constraints.JointCoupling({"a": 0}),
        "JointCoupling: all coefficients are zero",
    ),
    "NaN": (lambda: lw.constraints.Gear("a", "b", np.nan), "must all be finite numbers"),
    "a polynomial without numbers": (
        lambda: lw.constraints.PolynomialCoupling("a", "b", ()),
        "PolynomialCoupling: 0 coefficients, needs 1 to 5",
    ),
    "a polynomial of degree five": (
        lambda: lw.constraints.PolynomialCoupling("a", "b", range(6)),
        "PolynomialCoupling: 6 coefficients, needs 1 to 5",
    ),
    "a joint that follows itself": (
        lambda: lw.constraints.PolynomialCoupling("a", "a", (0, 1)),
        "PolynomialCoupling: joint 'a' cannot follow itself",
    ),
    "an axis twice": (
        lambda: lw.constraints.CenterOfMass(axes="xx"),
        "CenterOfMass: axes 'xx', needs some of x, y, z, each once",
    ),
    "an axis w": (
        lambda: lw.constraints.CenterOfMass(axes="xw"),
        "CenterOfMass: axes 'xw', needs some of x, y, z, each once",
    ),
    "the center of nothing": (lambda: lw.constraints.CenterOfMass(bodies=()), "CenterOfMass: bodies names none"),
    "no places": (
        lambda: lw.constraints.LinearCombination({}),
        "LinearCombination: matrices names no bodies or frames",
    ),
    "a matrix of one axis": (
        lambda: lw.constraints.LinearCombination({"a": np.ones(6)}),
        "LinearCombination: the matrix of 'a' has shape (6,), needs (rows, 6)",
    ),
    "matrices of different rows": (
        lambda: lw.constraints.LinearCombination({"a": np.ones((1, 6)), "b": np.ones((2, 6))}),
        "LinearCombination: the matrix of 'b' has shape (2, 6), needs (1, 6)",
    ),
    "a matrix with NaN": (
        lambda: lw.constraints.LinearCombination({"a": np.full((1, 6), np.nan)}),
        "LinearCombination: the matrix of 'a' holds NaN or infinity",
    ),
    "a reference": (
        lambda: lw.constraints.LinearCombination({"a": np.ones((1, 6))}, "world"),
        "LinearCombination: reference is 'world', needs 'aligned' or 'local'",
    ),
    "a position without numbers": (lambda: lw.constraints.JointLock("a", ()), "needs one number for each coordinate"),
}


@pytest.mark.parametrize("what", MISMADE)
def test_a_constraint_refuses(what: str) -> None:
    make, message = MISMADE[what]
    with pytest.raises(lw.errors.ModelError) as caught:
        make()
    assert message in str(caught.value)


MISPLACED: dict[str, tuple[Callable[[], tuple[Constraint, ...]], str]] = {
    "an unknown place": (
        lambda: (lw.constraints.Weld("tpi", "world"),),
        "Weld 'tpi:world': robot 'arm' has no body or frame 'tpi'; did you mean 'tip'?",
    ),
    "an unknown joint": (
        lambda: (lw.constraints.Gear("sholder", "elbow", 2.0),),
        "Gear 'sholder:elbow': robot 'arm' has no joint 'sholder'; did you mean 'shoulder'?",
    ),
    "one body twice": (
        lambda: (lw.constraints.Weld("hand", "tip"),),
        "Weld 'hand:tip': 'hand' and 'tip' are both part of 'hand'",
    ),
    "the world twice": (
        lambda: (lw.constraints.Point("world", "world"),),
        "'world' and 'world' are both part of 'world'",
    ),
    "one name twice": (
        lambda: (lw.constraints.Weld("hand", "world"), lw.constraints.Point("hand", "world")),
        "two constraints are called 'hand:world'; give one another name",
    ),
    "a spherical joint in a coupling": (
        lambda: (lw.constraints.JointCoupling({"wrist": 1.0, "shoulder": 2.0}, name="c"),),
        "JointCoupling 'c': joint 'wrist' (spherical) has a configuration space that is not a vector space; "
        "constrain its bodies instead, e.g. with a Weld",
    ),
    "a lock of too many": (
        lambda: (lw.constraints.JointLock("shoulder", (0.1, 0.2)),),
        "JointLock 'shoulder': joint 'shoulder' has 1 coordinate, the constraint 2",
    ),
    "the center of a frame": (
        lambda: (lw.constraints.CenterOfMass(bodies=("tip",)),),
        "CenterOfMass 'center_of_mass': 'tip' is a frame, not a body that moves",
    ),
    "the center of the world": (
        lambda: (lw.constraints.CenterOfMass(bodies=("world",)),),
        "'world' is a frame, not a body",
    ),
}


@pytest.mark.parametrize("what", MISPLACED)
def test_a_mechanism_refuses(what: str) -> None:
    make, message = MISPLACED[what]
    with pytest.raises(lw.errors.ModelError) as caught:
        arm().constrained(*make())
    assert message in str(caught.value)
    assert caught.value.subject


def test_the_builder_refuses_what_the_mechanism_does() -> None:
    build = lw.Builder("arm").body("upper", BOX).joint("shoulder", lw.joints.Revolute("y"), "world", "upper")
    with pytest.raises(lw.errors.ModelError, match="has no body or frame 'uper'; did you mean 'upper'"):
        build.constrain(lw.constraints.Point("uper", "world")).build()
    with pytest.raises(lw.errors.ModelError, match="'weld' is not a constraint, such as Weld or Gear"):
        build.constrain("weld")  # type: ignore[arg-type]


CALLS: dict[str, tuple[Callable[[Mechanism], object], str]] = {
    "no constraint": (lambda r: r.constrained("weld"), "'weld' is not a constraint, such as Weld or Gear"),
    "at a batch": (
        lambda r: r.constrained(lw.constraints.Weld("hand", "world"), at=[r.neutral()] * 2),
        "at is one configuration of 7 numbers, not (2, 7)",
    ),
    "switch": (lambda r: r.switched({"hld": False}), "robot 'arm' has no constraint 'hld'; did you mean 'held'?"),
    "remove": (lambda r: r.unconstrained("hld"), "robot 'arm' has no constraint 'hld'; did you mean 'held'?"),
    "look up": (lambda r: r.constraint("hld"), "robot 'arm' has no constraint 'hld'; did you mean 'held'?"),
    "rows": (lambda r: r.row_slice("hld"), "robot 'arm' has no constraint 'hld'; did you mean 'held'?"),
    "capture on an unknown place": (
        lambda r: r.constrained(lw.constraints.Weld("tpi", "world"), at=r.neutral()),
        "robot 'arm' has no frame 'tpi'; did you mean 'tip'?",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_error_says_what_is_wrong(call: str) -> None:
    make, message = CALLS[call]
    with pytest.raises(lw.errors.InputError) as caught:
        make(arm().constrained(lw.constraints.Point("tip", "world", name="held")))
    assert message in str(caught.value)


DROPPED: dict[str, tuple[Callable[[], Coupling], str]] = {
    "a universal joint in a coupling": (
        lambda: lw.constraints.JointCoupling({"elbow": 1.0, "shoulder": 2.0}),
        "2 coordinates",
    ),
    "a lock of too few": (lambda: lw.constraints.JointLock("elbow", 0.3), "2 coordinates"),
    "a gear on one joint": (lambda: lw.constraints.Gear("shoulder", "shoulder", 2.0), "shoulder"),
}


@pytest.mark.parametrize("what", DROPPED)
def test_couplings_drop_nothing_in_silence(what: str) -> None:
    make, message = DROPPED[what]
    with pytest.raises(lw.errors.ModelError, match=message):
        arm().constrained(make())


# The page ------------------------------------------------------------------------------------------


def test_the_examples_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = (REPOSITORY / "docs" / "how-to" / "constraints.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec("\n".join(blocks), {})
    printed = capsys.readouterr().out
    said = ["Hinge 'ankle'", "1 degree of freedom; 5 rows of rank 2; redundant: ankle", "[-1.  0. -1.]"]
    for text in (*said, "[[-0.042  1.   ]]", "out_of_reach 3.0"):
        assert text in page
        assert text in printed


def test_the_page_has_every_constraint() -> None:
    page = (REPOSITORY / "docs" / "how-to" / "constraints.md").read_text()
    for name in lw.constraints.__all__:
        assert name == "Constraint" or f"`{name}" in page


# Couplings are classes ---------------------------------------------------------------------------------------------


def twice(x: Any) -> Any:
    return 2.0 * x


COUPLINGS: dict[str, Callable[..., Coupling]] = {
    "Gear": lambda **options: lw.constraints.Gear("turn", "slide", 3.0, 0.2, **options),
    "Belt": lambda **options: lw.constraints.Belt("turn", {"slide": 3.0, "other": -1.0}, 0.2, **options),
    "Follows": lambda **options: lw.constraints.Follows("turn", ["slide"], twice, **options),
}


@pytest.mark.parametrize("kind", COUPLINGS)
def test_couplings_are_classes_and_copies_keep_their_kind(kind: str) -> None:
    cls = getattr(lw.constraints, kind)
    made = COUPLINGS[kind](compliance=2.0, gains=(3.0, 4.0))
    assert type(made) is cls and str(made).startswith(f"{kind} 'turn:slide") and repr(made).startswith(f"{kind}(")
    assert isinstance(made, lw.constraints.FunctionCoupling if kind == "Follows" else lw.constraints.JointCoupling)
    away = made.renamed(Renaming(lambda name: name, lambda name: f"arm/{name}", str, prefix="arm/"))
    assert away.joints == tuple(f"arm/{name}" for name in made.joints) and away.name == f"arm/{made.name}"
    for copy in (pickle.loads(pickle.dumps(made)), replace(made, enabled=False), away):
        assert type(copy) is cls and copy.gains == (3.0, 4.0) and copy.rows == 1
        np.testing.assert_array_equal(copy.compliance, [2.0])
        for (terms, value), (others, same) in zip(made.equations(), copy.equations(), strict=True):
            assert value == same and [t.coefficients for t in terms] == [t.coefficients for t in others]


def test_gears_and_belts_know_their_ratios() -> None:
    gear = replace(lw.constraints.Gear("turn", "slide", 3.0), ratio=5.0)
    assert (gear.driver, gear.driven, gear.ratio, gear.offset) == ("turn", "slide", 5.0, 0.0)
    assert gear.coefficients == {"turn": 1.0, "slide": -5.0}
    belt = replace(lw.constraints.Belt("turn", {"slide": 3.0}), driven={"slide": 2.0, "other": 1.0})
    assert belt.coefficients == {"turn": 1.0, "slide": -2.0, "other": -1.0}
    assert lw.constraints.Follows("turn", "slide", np.sin).leaders == ("slide",)
