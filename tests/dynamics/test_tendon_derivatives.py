# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of robots whose tendons follow others: those of products, of differences, in every way to run them.

Against complex steps, open and closed, they are in `test_constrained_derivatives`, of rows of random trees as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.plans.constraint_derivatives import derivative_tree
from tests.support import linkages
from tests.support.catalog import OF_TENDONS
from tests.support.states import Floats, assert_close

PRODUCT = 1e-11
"""Of Jacobians with products, which differ in rounding errors."""
DIFFERENCE = 1e-8
"""Of differences of fourth order, with steps of 3e-4."""

each_kind = pytest.mark.parametrize("kind", OF_TENDONS)
pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")


@cache
def robot_of(kind: str) -> Mechanism:
    return linkages.roped(kind)


def state(kind: str, closed: bool = False, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    """A state near the assembled pose, and torques."""
    robot, rng = robot_of(kind), np.random.default_rng(seed)
    q = robot.integrate(robot.poses["assembled"], 0.1 * rng.normal(size=robot.nv))
    v, tau = rng.normal(size=(2, robot.nv))
    if closed:
        q = robot.assemble(q)
        v = robot.project_velocity(q, v)
    return q, v, tau


def differences(f: Callable[[float], Floats], h: float = 3e-4) -> Floats:
    return np.asarray((8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h))


@each_kind
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_jacobians_are_those_of_differences(kind: str, closed: bool) -> None:
    robot, (q, v, tau) = robot_of(kind), state(kind, closed)
    forward = lw.ForwardDynamics(robot, "ltl").plain()
    d = forward.derivatives(q, v, tau)

    def solved(q: Floats, v: Floats) -> Floats:
        solution = forward(q, v, tau)
        return np.concatenate([solution.acceleration, solution.multipliers])

    E = np.eye(robot.nv)
    by_q = np.stack([differences(lambda t, e=e: solved(robot.integrate(q, t * e), v)) for e in E], axis=-1)  # type: ignore[misc]
    by_v = np.stack([differences(lambda t, e=e: solved(q, v + t * e)) for e in E], axis=-1)  # type: ignore[misc]
    assert_close(np.concatenate([d.da_dq, d.df_dq]), by_q, DIFFERENCE)
    assert_close(np.concatenate([d.da_dv, d.df_dv]), by_v, DIFFERENCE)


@each_kind
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_jacobians_are_those_of_products(kind: str, closed: bool) -> None:
    robot, inputs = robot_of(kind), state(kind, closed)
    forward = lw.ForwardDynamics(robot, "ltl").plain()
    rng, J = np.random.default_rng(2), forward.derivatives(*inputs)
    d, y, y_forces = rng.normal(size=(3, robot.nv)), rng.normal(size=robot.nv), rng.normal(size=robot.nc)
    rate, force_rate = forward.jvp(*inputs, *d)
    assert_close(rate, J.da_dq @ d[0] + J.da_dv @ d[1] + J.da_dtau @ d[2], PRODUCT)
    assert_close(force_rate, J.df_dq @ d[0] + J.df_dv @ d[1] + J.df_dtau @ d[2], PRODUCT)
    gradient = forward.vjp(*inputs, y, forces=y_forces)
    for part, da, df in zip(gradient, (J.da_dq, J.da_dv, J.da_dtau), (J.df_dq, J.df_dv, J.df_dtau), strict=True):
        assert_close(part, y @ da + y_forces @ df, PRODUCT)


def test_batches_bound_calls_and_backends_agree_and_operations_are_counted() -> None:
    robot = robot_of("rope by rope")
    states = [np.array(x) for x in zip(*(state("rope by rope", seed=k) for k in range(9)), strict=True)]
    one = [x[2] for x in states]
    derivatives = lw.ForwardDynamics(robot, threads=1).derivatives
    batch, found = derivatives(*states), derivatives(*one)
    kept = [np.empty_like(x) for x in found]
    derivatives.bind(*one, out=kept)()
    compiled = lw.ForwardDynamics(robot, threads=1).compile().derivatives
    assert compiled.backend == "specialized"
    assert 1000 < derivatives.operation_count().total < 100_000
    for x, y, b, c, p in zip(found, kept, batch, compiled(*one), derivatives.plain()(*one), strict=True):
        assert_close(y, x, 0.0)
        for other in (b[2], c, p):
            assert_close(other, x, PRODUCT)


def test_errors_of_rows_have_the_jacobian_of_rows() -> None:
    for kind in OF_TENDONS:
        robot, (q, *_) = robot_of(kind), state(kind)
        assert_close(lw.derivatives.constraint_error_jacobian(robot, q), lw.constraint_jacobian(robot, q), 1e-13)


def test_joints_that_carry_a_whole_rope_have_no_part_in_its_derivatives() -> None:
    robot = robot_of("rope by rope")
    tree, (q, v, _) = derivative_tree(robot), state("rope by rope")
    assert (tree.k_root == 1).all()
    found = lw.derivatives.constraint_derivatives(robot, q, v, np.ones(robot.nv))
    assert not found.ds_dq[:, :6].any()
    assert not found.ds_dv[:, :6].any()


@pytest.mark.parametrize("kind", ["rope by rope", "joints by joints"])
def test_linear_systems_are_derivatives_in_minimal_coordinates(kind: str) -> None:
    robot, (q, v, tau) = robot_of(kind), state(kind, closed=True)
    found, d = lw.linearize(robot, q, v, tau), lw.derivatives.minimal_derivatives(robot, q, v, tau)
    n = d.ddy_dy.shape[0]
    assert_close(found.A[n:], np.hstack([d.ddy_dy, d.ddy_drate]), PRODUCT)


@pytest.mark.parametrize("kind", ["rope by rope", "joints by joints"])
def test_jacobians_of_inverse_dynamics_are_those_of_differences(kind: str) -> None:
    robot, (q, v, a) = robot_of(kind), state(kind, closed=True)
    inverse = lw.InverseDynamics(robot, "cluster").plain()
    d = inverse.derivatives(q, v, a)

    def moved(t: float) -> Floats:
        return np.stack([inverse(robot.integrate(q, t * e), v, a) for e in np.eye(robot.nv)], axis=-1)

    assert_close(d.dtau_dq, differences(moved), DIFFERENCE)
    assert_close(d.dtau_dv, differences(lambda t: inverse(q, v + t * np.eye(robot.nv), a).T), DIFFERENCE)
