# SPDX-License-Identifier: BSD-3-Clause
"""The Coriolis matrix, Jacobians of the center of mass and of momentum, and rates of Jacobians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from tests.support.states import Floats, State, assert_close, random_state

SEEDS = range(12)
EXACT = 1e-11
"""Round-off of sums over bodies."""
DERIVATIVE = 1e-8
"""Error of `along`: truncation of fourth order in steps of 1e-3, and round-off over them."""
REFERENCES = ("local", "aligned", "world")


def tree(seed: int) -> Mechanism:
    return lw.zoo.random_tree(seed, bodies=1 + seed % 8, armature=seed % 2 == 1)


def along(robot: Mechanism, s: State, f: Callable[[Floats], Any], h: float = 1e-3) -> Floats:
    """How a function of q changes while the robot moves with v."""
    near = np.asarray(f(robot.integrate(s.q, h * s.v))) - np.asarray(f(robot.integrate(s.q, -h * s.v)))
    far = np.asarray(f(robot.integrate(s.q, 2 * h * s.v))) - np.asarray(f(robot.integrate(s.q, -2 * h * s.v)))
    return np.asarray((8 * near - far) / (12 * h))


@pytest.mark.parametrize("seed", SEEDS)
def test_coriolis_matrix_gives_the_forces_of_velocities_and_the_rate_of_the_mass_matrix_less_twice_it_is_skew(
    seed: int,
) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    C = lw.coriolis_matrix(robot, s.q, s.v)
    forces = lw.bias_forces(robot, s.q, s.v) - lw.gravity_forces(robot, s.q)
    assert_close(C @ s.v, forces, EXACT, scale=np.abs(C).max())
    rate = along(robot, s, lambda q: lw.mass_matrix(robot, q))
    assert_close(rate, C + C.T, DERIVATIVE, scale=np.abs(C).max())
    assert_close(lw.coriolis_matrix(robot, s.q, -2.0 * s.v), -2.0 * C, EXACT)


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("seed", SEEDS)
def test_rates_of_frame_jacobians(seed: int, reference: Any) -> None:
    robot = tree(seed)
    s, frames = random_state(robot, seed), robot.body_names
    rate = lw.frame_jacobian_rate(robot, s.q, s.v, frames, reference)
    expected = along(robot, s, lambda q: lw.frame_jacobian(robot, q, frames, reference))
    assert_close(rate, expected, DERIVATIVE, scale=1.0)
    assert_close(lw.frame_jacobian_rate(robot, s.q, s.v, frames[-1], reference), rate[-1], EXACT)
    if reference == "aligned":
        J = lw.frame_jacobian(robot, s.q, frames, reference)
        acceleration = lw.frame_acceleration(robot, s.q, s.v, s.a, frames, reference)
        assert_close(J @ s.a + rate @ s.v, acceleration, EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_center_of_mass_and_momentum_follow_from_their_jacobians(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    J, Jd = lw.center_of_mass_jacobian(robot, s.q), lw.center_of_mass_jacobian_rate(robot, s.q, s.v)
    A, Ad = lw.centroidal_momentum_matrix(robot, s.q), lw.centroidal_momentum_matrix_rate(robot, s.q, s.v)
    assert_close(J @ s.v, along(robot, s, lambda q: lw.center_of_mass(robot, q)), DERIVATIVE, scale=1.0)
    assert_close(Jd, along(robot, s, lambda q: lw.center_of_mass_jacobian(robot, q)), DERIVATIVE, scale=1.0)
    assert_close(A @ s.v, lw.centroidal_momentum(robot, s.q, s.v), EXACT)
    assert_close(Ad, along(robot, s, lambda q: lw.centroidal_momentum_matrix(robot, q)), DERIVATIVE, scale=1.0)
    assert_close(A[3:], robot.mass * J, EXACT)
    assert_close(Ad[3:], robot.mass * Jd, EXACT, scale=robot.mass)


def test_quantities_take_batches_and_run_on_all_backends() -> None:
    robot = tree(6)
    batch = random_state(robot, 6, 5)
    for name in ("coriolis_matrix", "center_of_mass_jacobian_rate", "centroidal_momentum_matrix_rate"):
        evaluator = lw.Evaluator(robot, name)  # type: ignore[arg-type]
        many = evaluator(batch.q, batch.v)
        assert_close(evaluator.plain()(batch.q, batch.v), many, EXACT)
        assert_close(evaluator.compile()(batch.q, batch.v), many, EXACT)
        assert_close(many[3], evaluator(batch.q[3], batch.v[3]), EXACT)
    massless = (
        lw.Builder("massless").body("link").joint("joint", lw.joints.Revolute(), "world", "link", armature=1.0).build()
    )
    with pytest.raises(InputError, match="has no mass"):
        lw.center_of_mass_jacobian(massless, [0.0])
