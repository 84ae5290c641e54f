# SPDX-License-Identifier: BSD-3-Clause
"""Hybrid dynamics: the equations of motion hold, whichever joints are prescribed."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.mechanism import Mechanism
from tests.support.newton_euler import equations_of_motion


def moving_joints(robot: Mechanism) -> list[str]:
    return [joint.name for joint in robot.joints if joint.type.nv]


def inputs(robot: Mechanism, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    v, tau, a = np.random.default_rng(seed).normal(size=(3, robot.nv))
    return v, tau, a


@pytest.mark.parametrize("seed", range(4))
def test_the_partitioned_equations_of_motion_are_solved(seed: int) -> None:
    """``M11 a1 = tau1 - c1 - M12 a2`` and ``tau2 = M21 a1 + M22 a2 + c2``, M and c by NumPy."""
    robot = lw.zoo.random_tree(seed, bodies=9, kinds="rrp")
    rng = np.random.default_rng(seed)
    q = robot.random(seed)
    v, tau, a = inputs(robot, seed)
    names = [name for name in moving_joints(robot) if rng.random() < 0.4] or moving_joints(robot)[:1]
    hd = lw.HybridDynamics(robot, names, passive=False)
    d = np.array(sorted(hd.dofs))
    o = np.setdiff1d(np.arange(robot.nv), d)
    M, c = equations_of_motion(robot, q, v)
    expected = a.copy()
    expected[o] = np.linalg.solve(M[np.ix_(o, o)], tau[o] - c[o] - M[np.ix_(o, d)] @ a[d])
    needed = np.where(np.isin(np.arange(robot.nv), d), M @ expected + c, tau)
    for evaluator in (hd, hd.compile()):
        solution = evaluator(q, v, tau, a)
        np.testing.assert_allclose(solution.acceleration, expected, rtol=0, atol=1e-11 * abs(expected).max())
        np.testing.assert_allclose(solution.torque, needed, rtol=0, atol=1e-11 * abs(needed).max())


@pytest.mark.parametrize("seed", range(4))
def test_inverse_dynamics_of_the_accelerations_has_the_torques(seed: int) -> None:
    """Over all types of joints, with springs, wrenches and armature."""
    robot = lw.zoo.random_tree(seed, bodies=8, kinds=("rphusSf", "srfS", "huSp", "fsrp")[seed])
    frame = robot.body_names[-1]
    q, wrench = robot.random(seed), np.arange(1.0, 7.0)[None]
    v, tau, a = inputs(robot, seed)
    for names in (moving_joints(robot)[::2], moving_joints(robot)[1::2], moving_joints(robot)):
        hd = lw.HybridDynamics(robot, names, wrenches=[frame])
        solution = hd(q, v, tau, a, wrench)
        needed = lw.InverseDynamics(robot, wrenches=[frame])(q, v, solution.acceleration, wrench)
        np.testing.assert_allclose(solution.torque, needed, rtol=0, atol=1e-10 * abs(needed).max())
        np.testing.assert_array_equal(solution.acceleration[hd.dofs], a[hd.dofs])
        free = np.setdiff1d(np.arange(robot.nv), hd.dofs)
        np.testing.assert_array_equal(solution.torque[free], tau[free])


def test_with_all_joints_prescribed_it_is_inverse_dynamics_operation_by_operation() -> None:
    robot = lw.zoo.humanoid()
    hybrid = lw.HybridDynamics(robot, moving_joints(robot)).operation_count()
    assert hybrid.total == lw.InverseDynamics(robot).operation_count().total


def test_batches_bound_calls_and_single_precision_agree() -> None:
    robot = lw.zoo.humanoid()
    hd = lw.HybridDynamics(robot, moving_joints(robot)[1:12])
    rng = np.random.default_rng(0)
    q, (v, tau, a) = robot.random(0, 6), rng.normal(size=(3, 6, robot.nv))
    batch = hd(q, v, tau, a)
    alone = [hd(*state) for state in zip(q, v, tau, a, strict=True)]
    np.testing.assert_allclose(batch.torque, [s.torque for s in alone], rtol=1e-12, atol=1e-10)
    out = np.empty(robot.nv), np.empty(robot.nv)
    hd.bind(q[0], v[0], tau[0], a[0], out=out)()
    np.testing.assert_array_equal(out[1], alone[0].torque)
    single = hd(*(x.astype(np.float32) for x in (q, v, tau, a)))
    assert single.acceleration.dtype == np.float32
    np.testing.assert_allclose(
        single.acceleration, batch.acceleration, rtol=0, atol=2e-3 * abs(batch.acceleration).max()
    )


def test_products_are_those_of_differences() -> None:
    robot = lw.zoo.random_tree(2, bodies=5, kinds="rps")
    hd = lw.HybridDynamics(robot, moving_joints(robot)[1:3])
    q = robot.random(1)
    v, tau, a = inputs(robot, 1)
    d = np.random.default_rng(3).normal(size=(4, robot.nv))
    h = 1e-6
    plus = hd(robot.integrate(q, h * d[0]), v + h * d[1], tau + h * d[2], a + h * d[3])
    minus = hd(robot.integrate(q, -h * d[0]), v - h * d[1], tau - h * d[2], a - h * d[3])
    products = hd.jvp(q, v, tau, a, *d)
    for product, up, down in zip(
        products, (plus.acceleration, plus.torque), (minus.acceleration, minus.torque), strict=True
    ):
        difference = (up - down) / (2 * h)
        np.testing.assert_allclose(product, difference, rtol=0, atol=1e-6 * abs(difference).max())


@pytest.mark.parametrize("method", ["auto", "lcaba", "prox_bbo", "prox_ltl"])
def test_a_driven_crank_takes_the_torque_of_inverse_dynamics(method: lw.methods.Method) -> None:
    robot = lw.zoo.slider_crank()
    q = robot.poses["assembled"]
    crank = moving_joints(robot)[0]
    v = robot.project_velocity(q, [3.0, 0.0, 0.0])
    a = np.array([5.0, 0.0, 0.0])
    hd = lw.HybridDynamics(robot, crank, method=method)
    for evaluator in (hd, hd.compile()):
        solution = evaluator(q, v, np.zeros(robot.nv), a)
        needed = lw.InverseDynamics(robot, "cluster").solve(q, v, solution.acceleration)
        assert solution.converged
        assert solution.acceleration[0] == pytest.approx(5.0, abs=1e-11)
        np.testing.assert_allclose(solution.torque, needed.torque, rtol=0, atol=1e-10)
        for constraint in robot.constraints:
            np.testing.assert_allclose(
                solution.forces[constraint.name], needed.forces[constraint.name], rtol=0, atol=1e-8
            )


def test_equations_of_motion_hold_with_the_forces_of_loops() -> None:
    """Whichever joint of a tree with a loop is prescribed, ball joints among them."""
    tree = lw.zoo.random_tree(5, bodies=6, kinds="rs")
    q = tree.random(5)
    robot = tree.constrained(lw.constraints.Point("body1", "body5"), at=q)
    v, tau, a = inputs(robot, 4)
    v = robot.project_velocity(q, v)
    for name in ("joint0", "joint1", "joint3", "joint4"):
        hd = lw.HybridDynamics(robot, name, passive=False)
        solution = hd(q, v, tau, a)
        forces = np.concatenate([solution.forces[c.name] for c in robot.constraints])
        left = lw.mass_matrix(robot, q) @ solution.acceleration + lw.bias_forces(robot, q, v) - solution.torque
        left -= lw.constraint_jacobian(robot, q).T @ forces
        np.testing.assert_allclose(left, 0.0, rtol=0, atol=1e-12 * abs(forces).max())
        np.testing.assert_allclose(solution.acceleration[hd.dofs], a[hd.dofs], rtol=0, atol=1e-12)


def test_accelerations_that_loops_forbid_leave_a_residual() -> None:
    robot = lw.zoo.four_bar()
    q = robot.assemble()
    hd = lw.HybridDynamics(robot, moving_joints(robot))
    zero = np.zeros(robot.nv)
    assert hd(q, zero, zero, zero).residual < 1e-9
    assert hd(q, zero, zero, np.array([1.0, 1.0, 1.0])).residual > 0.1


def test_what_cannot_be_prescribed_is_an_error() -> None:
    robot = lw.zoo.four_bar()
    joint = moving_joints(robot)[0]
    with pytest.raises(InputError, match="prescribed is empty"):
        lw.HybridDynamics(robot, [])
    with pytest.raises(InputError, match="twice"):
        lw.HybridDynamics(robot, [joint, joint])
    with pytest.raises(InputError, match="no joint"):
        lw.HybridDynamics(robot, "wheel")
    with pytest.raises(InputError, match="has the methods"):
        lw.HybridDynamics(robot, joint, method="cluster")
    with pytest.raises(UnsupportedFeature, match="add a Drive"):
        hd = lw.HybridDynamics(robot, joint)
        zero = np.zeros(robot.nv)
        hd.jvp(robot.assemble(), zero, zero, zero, zero, zero, zero, zero)
