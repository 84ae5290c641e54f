# SPDX-License-Identifier: BSD-3-Clause
"""What the papers state beside their figures, as facts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from tests.support.gauss import closed_state


@pytest.mark.parametrize("iterations", [1, 2])
def test_the_augmented_lagrangian_and_the_dual_proximal_point_take_the_same_iterations(iterations: int) -> None:
    """loops Eq. 56: multipliers eliminated first or last; the penalties are soft, so that iterates are far apart."""
    robot = lw.zoo.chain_of_loops(3, closing="hinge")
    s = closed_state(robot, robot.poses["assembled"], np.random.default_rng(0))
    found = {
        method: lw.ForwardDynamics(robot, method, regularization=0.1, tolerance=1e-300, max_iterations=iterations)(
            s.q, s.v, s.tau
        ).acceleration
        for method in ("lcaba", "prox_bbo", "prox_ltl")
    }
    exact = lw.ForwardDynamics(robot, "kkt")(s.q, s.v, s.tau).acceleration
    size = np.abs(exact).max()
    assert np.abs(found["prox_ltl"] - exact).max() > 1e-3 * size
    for method in ("lcaba", "prox_bbo"):
        assert np.abs(found[method] - found["prox_ltl"]).max() < 1e-9 * size


def test_rows_of_all_links_cost_less_as_multipliers_than_as_springs() -> None:
    """loops Sec. VII-D: a center of mass couples all bodies in LCABA."""
    standing = lw.zoo.quadruped_standing()
    balanced = standing.constrained(lw.constraints.CenterOfMass(axes="xy", name="balance"))
    operations = {
        (robot.nc, method): lw.operation_count(lw.ForwardDynamics(robot, method)).total
        for robot in (standing, balanced)
        for method in ("lcaba", "prox_bbo")
    }
    assert operations[standing.nc, "lcaba"] < operations[standing.nc, "prox_bbo"]
    assert operations[balanced.nc, "prox_bbo"] < operations[balanced.nc, "lcaba"]


def test_rows_of_several_links_are_served_by_every_proximal_method() -> None:
    """loops Remark 1: a sum of rows on the accelerations of many links."""
    standing = lw.zoo.quadruped_standing()
    balance = lw.constraints.CenterOfMass(axes="xy", name="balance")
    robot = standing.constrained(balance, at=standing.poses["assembled"])
    s = closed_state(robot, robot.poses["assembled"], np.random.default_rng(0))
    exact = lw.ForwardDynamics(robot, "kkt")(s.q, s.v, s.tau).acceleration
    for method in ("lcaba", "prox_bbo", "prox_ltl"):
        found = lw.ForwardDynamics(robot, method)(s.q, s.v, s.tau).acceleration
        assert np.abs(found - exact).max() < 1e-8 * np.abs(exact).max()


@pytest.mark.parametrize("damping", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("in_range", [True, False])
def test_damped_inverses_of_redundant_rows_solve_their_equations(damping: float, in_range: bool) -> None:
    """delassus Sec. V: to 1e-11, as documented; forces agree with dense algebra as far as redundant rows know them."""
    robot = lw.zoo.humanoid_standing()
    q = robot.poses["assembled"]
    J, M = lw.constraint_jacobian(robot, q), lw.mass_matrix(robot, q)
    D = J @ np.linalg.solve(M, J.T)
    assert np.linalg.matrix_rank(D) < robot.nc
    b = np.random.default_rng(0).normal(size=robot.nc)
    b = D @ b if in_range else b
    f = np.asarray(lw.Delassus(robot).at(q).damped_inverse(damping) @ b)
    missed = D @ f + damping * f - b
    assert np.abs(missed).max() <= 1e-11 * max(np.abs(D).max() * np.abs(f).max(), np.abs(b).max())
    dense = np.linalg.solve(D + damping * np.eye(robot.nc), b)
    assert np.abs(f - dense).max() <= max(1e-10, 1e-13 / damping) * np.abs(dense).max()


@pytest.mark.parametrize("make", [lw.zoo.four_bar_cart_pole, lw.zoo.watt, lambda: lw.zoo.geared_chain(3)])
def test_coriolis_matrices_over_clusters(make: Callable[[], lw.Mechanism]) -> None:
    """clusters Sec. XI: the velocity forces of inverse dynamics, a skew matrix, and symmetric Christoffel symbols."""
    robot, rng = make(), np.random.default_rng(0)
    minimal = lw.Minimal(robot)
    q = minimal.complete(robot.poses.get("assembled", robot.neutral()))
    rate = rng.normal(size=minimal.ny)
    C, v = minimal.coriolis_matrix(q, rate), minimal.velocity(q, rate)
    torques = lw.InverseDynamics(robot.unconstrained())
    at_rest = torques(q, np.zeros(robot.nv), np.zeros(robot.nv))
    moving = torques(q, v, minimal.acceleration(q, v, np.zeros(minimal.ny)))
    forces = minimal.force(q, moving - at_rest)
    assert np.abs(C @ rate - forces).max() <= 1e-11 * np.abs(forces).max()

    def inertia(t: float) -> np.ndarray:
        at = minimal.complete(robot.integrate(q, t * v))
        G = minimal.matrix(at)
        return G.T @ lw.mass_matrix(robot, at) @ G

    skew = (inertia(1e-5) - inertia(-1e-5)) / 2e-5 - 2 * C
    assert np.abs(skew + skew.T).max() <= 1e-7 * np.abs(C).max()
    symbols = minimal.christoffel_symbols(q)
    assert np.abs(symbols @ rate - C).max() <= 1e-12 * np.abs(C).max()
    assert np.abs(symbols - np.swapaxes(symbols, 1, 2)).max() <= 1e-12 * np.abs(symbols).max()


@pytest.mark.parametrize("make", [lw.zoo.four_bar_cart_pole, lw.zoo.watt, lambda: lw.zoo.geared_chain(3)])
def test_inertial_parameters_are_identified_over_clusters(make: Callable[[], lw.Mechanism]) -> None:
    """clusters Sec. XI: torques of C-RNEA are linear in them, and those of a fit predict torques of other motions."""
    robot, rng = make(), np.random.default_rng(0)
    minimal = lw.Minimal(robot)
    parameters = robot.parameters["inertial_parameters"].ravel()
    states = 4 * len(parameters)
    closed = np.broadcast_to(robot.poses.get("assembled", robot.neutral()), (states, robot.nq))
    y = 0.2 * rng.normal(size=(states, minimal.ny))
    start = minimal.complete(closed[0])
    q = np.array([minimal.complete(robot.integrate(start, minimal.velocity(start, dy))) for dy in y])
    v = minimal.velocity(q, rng.normal(size=(states, minimal.ny)))
    a = minimal.acceleration(q, v, rng.normal(size=(states, minimal.ny)))
    Y = lw.InverseDynamics(robot, "rnea").regressor(q, v, a)
    W = np.swapaxes(minimal.matrix(q), -1, -2) @ Y
    b = minimal.force(q, lw.InverseDynamics(robot, "cluster")(q, v, a))
    assert np.abs(W @ parameters - b).max() <= 1e-11 * np.abs(b).max()
    half = states // 2
    fitted = np.linalg.lstsq(W[:half].reshape(-1, len(parameters)), b[:half].ravel(), rcond=1e-11)[0]
    assert np.abs(fitted - parameters).max() > 1e-2 * np.abs(parameters).max()  # base parameters alone are determined
    assert np.abs(W[half:] @ fitted - b[half:]).max() <= 1e-8 * np.abs(b).max()
