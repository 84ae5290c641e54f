# SPDX-License-Identifier: BSD-3-Clause
"""`integrate` and `difference` undo each other on every joint, and most of all where formulas divide by zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.support.states import assert_close

STABLE = settings(derandomize=True, max_examples=300)

HARD_ANGLES = [0.0, 1e-300, 1e-16, 1e-9, 1e-8, 1e-5, 1e-3, 0.4999999, 0.5, 0.5000001, 1.0, 3.0]
HARD_ANGLES += [np.pi - d for d in (0.1, 1e-3, 1e-6, 1e-9, 1e-12)]
"""Where series and closed forms meet, and up to half a turn."""


def one(joint: lw.joints.Joint) -> Mechanism:
    build = lw.Builder(joint.kind_name)
    build.body("body", lw.Inertia.sphere(1.0, 0.1)).joint("joint", joint, "world", "body")
    return build.build()


JOINTS = {
    joint.kind_name: one(joint)
    for joint in (
        lw.joints.Revolute("x"),
        lw.joints.Prismatic((1, 2, 3)),
        lw.joints.Helical("z", 0.2),
        lw.joints.Universal(),
        lw.joints.Spherical(),
        lw.joints.Planar(),
        lw.joints.Free(),
    )
}
TURNS = {"spherical": slice(0, 3), "planar": slice(2, 3), "free": slice(3, 6)}
"""Where the angular velocity of a joint stands in v."""


def velocity(kind: str, angle: float, seed: int) -> np.ndarray:
    """A velocity that turns by ``angle`` in one second, and moves by about a meter."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=JOINTS[kind].nv)
    w = v[TURNS[kind]]
    v[TURNS[kind]] = w / np.linalg.norm(w) * angle
    return v


@pytest.mark.parametrize("angle", HARD_ANGLES)
@pytest.mark.parametrize("kind", TURNS)
def test_difference_recovers_the_velocity_that_was_integrated(kind: str, angle: float) -> None:
    robot = JOINTS[kind]
    for seed in range(20):
        q, v = robot.random(seed), velocity(kind, angle, seed)
        assert_close(robot.difference(q, robot.integrate(q, v)), v, 1e-14, scale=1.0)


@pytest.mark.parametrize("angle", [*HARD_ANGLES, np.pi, 4.0, 2 * np.pi, 10.0])
@pytest.mark.parametrize("kind", TURNS)
def test_integrating_a_difference_arrives(kind: str, angle: float) -> None:
    """Also from beyond half a turn, where the difference goes the shorter way round."""
    robot = JOINTS[kind]
    for seed in range(20):
        q = robot.random(seed)
        p = robot.integrate(q, velocity(kind, angle, seed))
        arrived = robot.integrate(q, robot.difference(q, p))
        at = robot.unit_slices()[0]
        if kind != "planar" and arrived[at] @ p[at] < 0:
            arrived[at] *= -1.0  # both quaternions are the same turn
        assert_close(arrived, p, 4e-14, scale=1.0)


@STABLE
@given(
    kind=st.sampled_from(sorted(JOINTS)),
    seed=st.integers(0, 2**32 - 1),
    scale=st.floats(1e-12, 1.0),
)
def test_integrate_and_difference_are_inverse_on_every_joint(kind: str, seed: int, scale: float) -> None:
    robot = JOINTS[kind]
    rng = np.random.default_rng(seed)
    q, v = robot.random(rng), rng.uniform(-1, 1, robot.nv) * scale
    assert_close(robot.difference(q, robot.integrate(q, v)), v, 1e-13, scale=1.0)


@STABLE
@given(seed=st.integers(0, 2**32 - 1))
def test_difference_to_itself_is_zero(seed: int) -> None:
    for robot in JOINTS.values():
        q = robot.random(seed)
        assert_close(robot.difference(q, q), np.zeros(robot.nv), 1e-15, scale=1.0)


@pytest.mark.parametrize("kind", JOINTS)
def test_half_steps_along_a_constant_velocity_make_a_whole_one(kind: str) -> None:
    """Integration follows a one-parameter subgroup."""
    robot = JOINTS[kind]
    for seed in range(20):
        q, v = robot.random(seed), np.random.default_rng(seed).normal(size=robot.nv)
        assert_close(robot.integrate(robot.integrate(q, v / 2), v / 2), robot.integrate(q, v), 1e-14, scale=1.0)


@pytest.mark.parametrize("kind", TURNS)
def test_quaternions_of_any_length_are_taken_as_turns(kind: str) -> None:
    robot = JOINTS[kind]
    q, p = robot.random(1), robot.random(2)
    scaled = q.copy()
    scaled[robot.unit_slices()[0]] *= 3.7
    assert_close(robot.difference(scaled, p), robot.difference(q, p), 1e-14, scale=1.0)
    assert_close(robot.integrate(scaled, np.ones(robot.nv)), robot.integrate(q, np.ones(robot.nv)), 1e-14, scale=1.0)


def test_leading_axes_broadcast() -> None:
    robot = lw.zoo.random_tree(3, bodies=6)
    q = np.array([robot.random(k) for k in range(3)])[:, None]
    v = np.random.default_rng(0).normal(size=(4, robot.nv))
    moved = robot.integrate(q, v)
    assert moved.shape == (3, 4, robot.nq)
    np.testing.assert_array_equal(moved[2, 1], robot.integrate(q[2, 0], v[1]))
    assert robot.difference(q, moved).shape == (3, 4, robot.nv)


@pytest.mark.parametrize("operation", ["integrate", "difference"])
def test_a_zero_quaternion_is_an_error(operation: str) -> None:
    robot = JOINTS["spherical"]
    other = np.zeros(3) if operation == "integrate" else robot.neutral()
    with pytest.raises(lw.errors.InputError, match="zero length"):
        getattr(robot, operation)(np.zeros(4), other)


@pytest.mark.parametrize(
    "bad",
    [np.zeros(3), np.full(7, np.nan), np.full(7, np.inf), "text", [None] * 7, np.ones(7) * 1j, 1.0],
    ids=["short", "nan", "inf", "text", "none", "complex", "scalar"],
)
def test_a_bad_configuration_is_an_input_error(bad: object) -> None:
    robot = JOINTS["free"]
    with pytest.raises(lw.errors.InputError, match="q "):
        robot.integrate(bad, np.zeros(6))  # type: ignore[arg-type]


def test_leading_axes_that_do_not_broadcast_are_an_input_error() -> None:
    robot = JOINTS["free"]
    with pytest.raises(lw.errors.InputError, match="broadcast"):
        robot.integrate(np.tile(robot.neutral(), (2, 1)), np.zeros((3, 6)))
