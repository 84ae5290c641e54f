# SPDX-License-Identifier: BSD-3-Clause
"""Facts of mechanics that hold for every mechanism, on random ones; derivatives are differences of fourth order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.support.states import Floats, assert_close, random_state

SEEDS = range(30)
VECTOR_JOINTS = "rphu"
"""Joints whose q is a vector, so that ``dq/dt = v``."""

STEP = 1e-3
DERIVATIVE = 1e-8
"""Error of `rate`, relative: truncation h⁴ = 1e-12 times fifth derivatives (motions of 1 rad/s in chains of up to 8
joints: up to 1e3), round-off 1e-16 / h = 1e-13 times sums over bodies."""

EXACT = 1e-10
"""For identities without differences: round-off times the condition number of M, below 1e5."""


@cache
def tree(seed: int, kinds: str = "rphusSf") -> Mechanism:
    return lw.zoo.random_tree(seed, bodies=2 + seed % 7, kinds=kinds)


@cache
def floating(seed: int) -> Mechanism:
    """A random tree hanging on one free body, without gravity and armature: a rotor's spin is no momentum of a body."""
    base = lw.Builder("floating", gravity=(0, 0, 0))
    base.body("base", lw.Inertia.box(2.0, (0.2, 0.3, 0.4), com=(0.05, 0, 0.1)))
    base.joint("free", lw.joints.Free(), "world", "base")
    arm = lw.zoo.random_tree(seed, bodies=2 + seed % 5, kinds="rphus", armature=False).with_gravity((0, 0, 0))
    return lw.attach(base.build(), arm, to="base", at=(0.1, 0.2, 0.0), prefix="arm")


def rate(f: Callable[[float], Any], h: float = STEP) -> Floats:
    """df/dt at t = 0."""
    near, far = np.asarray(f(h)) - np.asarray(f(-h)), np.asarray(f(2 * h)) - np.asarray(f(-2 * h))
    return np.asarray((8 * near - far) / (12 * h))


@pytest.mark.parametrize("seed", SEEDS)
def test_power_is_the_rate_of_energy(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    a = lw.ForwardDynamics(robot)(s.q, s.v, s.tau).acceleration
    # q moves along v + t a / 2, whose body velocity at t is v + t a up to second order: enough for a first derivative.

    def total(t: float) -> Floats:
        return lw.energy(robot, robot.integrate(s.q, t * s.v + t * t / 2 * a), s.v + t * a).total

    power, scale = float(s.v @ s.tau), float(np.abs(s.v) @ np.abs(s.tau)) + float(lw.energy(robot, s.q, s.v).kinetic)
    assert_close(rate(total), power, 1e-7, scale=scale)


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_rate_less_twice_coriolis_is_skew(seed: int) -> None:
    """C from the Christoffel symbols of M makes dM/dt - 2 C skew; the bias is C v and gravity, for that C."""
    robot = tree(seed, VECTOR_JOINTS)
    s = random_state(robot, seed)
    n = robot.nv
    slopes = np.array([rate(lambda t, k=k: lw.mass_matrix(robot, s.q + t * np.eye(n)[k])) for k in range(n)])
    # slopes[k, i, j] = dM_ij / dq_k
    C = 0.5 * np.einsum("kij,k->ij", slopes, s.v)
    C += 0.5 * (np.einsum("jik,k->ij", slopes, s.v) - np.einsum("ijk,k->ij", slopes, s.v))
    bias = lw.bias_forces(robot, s.q, s.v) - lw.gravity_forces(robot, s.q)
    assert_close(C @ s.v, bias, DERIVATIVE, scale=float(np.abs(C).max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_coriolis_forces_take_half_the_rate_of_kinetic_mass(seed: int) -> None:
    """``v' (dM/dt - 2 C) v = 0`` along the motion, for joints on manifolds too."""
    robot = tree(seed).with_gravity((0, 0, 0))
    s = random_state(robot, seed)
    slope = rate(lambda t: lw.mass_matrix(robot, robot.integrate(s.q, t * s.v)))
    coriolis = lw.bias_forces(robot, s.q, s.v)
    left = s.v @ slope @ s.v - 2 * s.v @ coriolis
    assert_close(left, 0.0, DERIVATIVE, scale=float(np.abs(s.v) @ np.abs(slope) @ np.abs(s.v)) + 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_momentum_of_a_floating_system_changes_by_its_weight_alone(seed: int) -> None:
    """Internal torques change none of it, linear or angular."""
    gravity = np.array([1.0, -2.0, -9.81])
    robot = floating(seed).with_gravity(gravity)
    s = random_state(robot, seed)
    tau = s.tau.copy()
    tau[robot.v_slice("free")] = 0.0
    a = lw.ForwardDynamics(robot)(s.q, s.v, tau).acceleration

    def momentum(t: float) -> Floats:
        return lw.centroidal_momentum(robot, robot.integrate(s.q, t * s.v + t * t / 2 * a), s.v + t * a)

    weight = np.concatenate([np.zeros(3), robot.mass * gravity])
    assert_close(rate(momentum), weight, DERIVATIVE, scale=float(np.abs(a).max()) * robot.mass)


@pytest.mark.parametrize("seed", SEEDS)
def test_momentum_is_mass_times_velocity_of_the_center(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    velocity = rate(lambda t: lw.center_of_mass(robot, robot.integrate(s.q, t * s.v)))
    assert_close(lw.centroidal_momentum(robot, s.q, s.v)[3:], robot.mass * velocity, DERIVATIVE, scale=1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_undoes_inverse_dynamics(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    tau = lw.InverseDynamics(robot)(s.q, s.v, s.a)
    assert_close(lw.ForwardDynamics(robot)(s.q, s.v, tau).acceleration, s.a, EXACT, scale=float(np.abs(tau).max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_mass_product_solves_with_the_mass_matrix(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    expected = np.linalg.solve(lw.mass_matrix(robot, s.q), s.tau)
    assert_close(lw.inverse_mass_product(robot, s.q, s.tau), expected, EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_is_symmetric_and_positive(seed: int) -> None:
    robot = tree(seed)
    M = lw.mass_matrix(robot, random_state(robot, seed).q)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_kinetic_energy_is_half_v_M_v(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    expected = 0.5 * s.v @ lw.mass_matrix(robot, s.q) @ s.v
    assert_close(lw.energy(robot, s.q, s.v).kinetic, expected, 1e-12, scale=1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_forces_are_the_slope_of_potential_energy(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    steps = np.eye(robot.nv)
    slope = [
        rate(lambda t, k=k: lw.energy(robot, robot.integrate(s.q, t * steps[k]), s.v).potential)
        for k in range(robot.nv)
    ]
    assert_close(lw.gravity_forces(robot, s.q), np.array(slope), DERIVATIVE, scale=10.0)


@pytest.mark.parametrize("reference", ["local", "aligned", "world"])
@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_maps_v_to_frame_velocity(seed: int, reference: str) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    frames = [f"frame{k}" for k in range(len(robot.joints))]
    J = lw.frame_jacobian(robot, s.q, frames, reference)
    assert_close(J @ s.v, lw.frame_velocity(robot, s.q, s.v, frames, reference), 1e-13, scale=1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_frame_velocity_is_the_rate_of_its_placement(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    frame = f"frame{len(robot.joints) - 1}"
    velocity = lw.frame_velocity(robot, s.q, s.v, frame, "aligned")
    turning = rate(lambda t: lw.frame_placement(robot, robot.integrate(s.q, t * s.v), frame).rotation)
    spin = turning @ lw.frame_placement(robot, s.q, frame).rotation.T
    assert_close([spin[2, 1], spin[0, 2], spin[1, 0]], velocity[:3], DERIVATIVE, scale=1.0)
    moving = rate(lambda t: lw.frame_placement(robot, robot.integrate(s.q, t * s.v), frame).position)
    assert_close(moving, velocity[3:], DERIVATIVE, scale=1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_frame_acceleration_is_the_rate_of_aligned_velocity(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    frame = f"frame{len(robot.joints) - 1}"

    def velocity(t: float) -> Floats:
        q = robot.integrate(s.q, t * s.v + t * t / 2 * s.a)
        return lw.frame_velocity(robot, q, s.v + t * s.a, frame, "aligned")

    assert_close(rate(velocity), lw.frame_acceleration(robot, s.q, s.v, s.a, frame, "aligned"), DERIVATIVE, scale=1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_external_wrench_acts_through_the_jacobian(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    frame = f"frame{len(robot.joints) - 1}"
    wrench = np.random.default_rng(seed).normal(size=6)
    pushed = lw.InverseDynamics(robot, wrenches=[frame])(s.q, s.v, s.a, wrench[None])
    expected = lw.InverseDynamics(robot)(s.q, s.v, s.a) - lw.frame_jacobian(robot, s.q, frame).T @ wrench
    assert_close(pushed, expected, 1e-12, scale=10.0)


@pytest.mark.parametrize("far", [1e0, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(10))
def test_dynamics_do_not_depend_on_where_the_robot_stands(seed: int, far: float) -> None:
    """Accelerations come from body frames, which know nothing of the world's origin: nothing is lost ``far`` away."""
    robot = lw.zoo.random_tree(seed, bodies=6)
    s = random_state(robot, seed)
    moved = lw.compose({"there": robot}, at={"there": (far, -far, 2 * far)})
    here = lw.ForwardDynamics(robot)(s.q, s.v, s.tau).acceleration
    assert_close(lw.ForwardDynamics(moved)(s.q, s.v, s.tau).acceleration, here, 1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_dynamics_turn_with_the_world(seed: int) -> None:
    """A robot and its gravity, both turned, move as before."""
    robot = lw.zoo.random_tree(seed, bodies=6)
    s = random_state(robot, seed)
    turn = lw.Placement.from_quaternion(*np.random.default_rng(seed).normal(size=4))
    turned = lw.compose({"there": robot.with_gravity(turn.rotation @ robot.gravity)}, at={"there": turn})
    here = lw.ForwardDynamics(robot)(s.q, s.v, s.tau).acceleration
    assert_close(lw.ForwardDynamics(turned)(s.q, s.v, s.tau).acceleration, here, 1e-11)
