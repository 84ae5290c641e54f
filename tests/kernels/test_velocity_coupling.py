# SPDX-License-Identifier: BSD-3-Clause
"""Rows on joint velocities (**delassus** Eq. 5d), on joints of one and of several degrees of freedom."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.delassus import METHODS, Delassus
from linkwork.dynamics.methods import METHODS as FORWARD
from linkwork.mechanism import Mechanism
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.lcaba import lcaba_tree
from tests.support.gauss import distance, open_state
from tests.support.states import Floats, assert_close

SEEDS = range(6)
KINDS = ("sSfprhu", "Sfs", "fsSr", "hsup", "sssS", "fffS")
"""Joints that trees are drawn from: every kind, and those of several degrees of freedom alone."""

AGREEMENT = 1e-10

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")


@cache
def rubbed(seed: int) -> Mechanism:
    """A random tree with rows of single velocities, of several of one joint, and of several joints."""
    rng = np.random.default_rng([seed, 31])
    tree = lw.zoo.random_tree(seed, bodies=6, kinds=KINDS[seed])
    found: list[lw.constraints.Constraint] = []
    for k, joint in enumerate(tree.joints):
        nv = joint.type.nv
        matrices: dict[str, Floats] = {joint.name: rng.normal(size=(min(2, nv), nv))}
        if k % 3 == 0:
            matrices = {joint.name: np.diag(rng.uniform(0.5, 2.0, nv))}
        elif k % 3 == 2:
            other = tree.joints[k - 1]
            matrices = {j.name: rng.normal(size=(1, j.type.nv)) for j in (joint, other)}
        found.append(lw.constraints.VelocityCoupling(matrices, name=f"rows{k}"))
    return tree.constrained(*found)


def rows_of(robot: Mechanism) -> Floats:
    """The Jacobian, which does not depend on the state."""
    J = np.zeros((robot.nc, robot.nv))
    for c in robot.constraints:
        assert isinstance(c, lw.constraints.VelocityCoupling)
        for joint, matrix in c.matrices.items():
            J[robot.row_slice(c.name), robot.v_slice(joint)] = matrix
    return J


@pytest.mark.parametrize("seed", SEEDS)
def test_the_jacobian_is_made_of_the_matrices(seed: int) -> None:
    robot = rubbed(seed)
    q, v = robot.random(np.random.default_rng(seed)), np.random.default_rng(seed).normal(size=robot.nv)
    assert_close(lw.constraint_jacobian(robot, q), rows_of(robot), 1e-12)
    assert (lw.constraint_error(robot, q) == 0).all()
    assert_close(lw.constraint_bias(robot, q, v), np.zeros(robot.nc), 1e-12, scale=1.0)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("pv_osim_fast", "cluster_efpa")])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_delassus_matrix_and_its_damped_inverse_are_those_of_dense_algebra(seed: int, method: str) -> None:
    robot = rubbed(seed)
    q, J = robot.random(np.random.default_rng([seed, 1])), rows_of(robot)
    D = J @ np.linalg.solve(lw.mass_matrix(robot, q), J.T)
    op = Delassus(robot, method, threads=1).at(q)
    assert_close(op.toarray(), D, AGREEMENT)
    damped = np.linalg.inv(D + 1e-2 * np.eye(robot.nc))
    assert_close(op.damped_inverse(1e-2).toarray(), damped, 1e-9)
    assert_close(op.diagonal(), np.diagonal(D), AGREEMENT)
    assert_close(op.jacobian @ np.eye(robot.nv), J, AGREEMENT)


@pytest.mark.parametrize("seed", SEEDS)
def test_products_and_inverses_of_batches_agree(seed: int) -> None:
    robot, rng = rubbed(seed), np.random.default_rng([seed, 2])
    q, x, family = np.stack([robot.random(rng) for _ in range(9)]), rng.normal(size=robot.nc), Delassus(robot)
    ops = [family.at(one) for one in q]
    assert_close(family.product(q, x), np.stack([op @ x for op in ops]), AGREEMENT)
    assert_close(family.inverse(q, x, 0.1), np.stack([op.damped_inverse(0.1) @ x for op in ops]), 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_by_every_method_holds_the_velocities(seed: int) -> None:
    robot = rubbed(seed)
    p = open_state(robot, np.random.default_rng([seed, 3]))
    served = [name for name in lw.methods.methods_for(robot) if not FORWARD[name].closed]
    assert {"kkt", "lcaba", "prox_ltl", "prox_bbo"} <= set(served)
    for method in served:
        s = lw.ForwardDynamics(robot, method, tolerance=1e-12)(p.q, p.v, p.tau)
        assert distance(p.J @ s.acceleration, p.k) <= 1e-8, method
        assert distance(s.acceleration, p.hard[0]) <= 1e-8, method


def test_rows_of_single_velocities_stay_with_their_joint() -> None:
    """LCABA adds them to the joint's own inertia: no body is coupled to its parent."""
    robot = lw.zoo.random_tree(3, bodies=8, kinds="sSfrp")
    held = robot.constrained(
        *(lw.constraints.VelocityCoupling({j.name: np.eye(j.type.nv)}, name=j.name) for j in robot.joints)
    )
    tree = lcaba_tree(held)
    assert held.nc == robot.nv and tree.single_joint.all()
    assert tree.nk == tree.ncouplings == 0
    assert constrained_tree(held).nk > 0  # as other methods have them


def test_a_ball_joint_held_by_friction_is_welded() -> None:
    build = lw.Builder("pendulum")
    build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0.4, 0, 0))).joint(
        "hinge", lw.joints.Revolute("y"), "world", "arm"
    )
    build.body("bob", lw.Inertia.sphere(2.0, 0.1, com=(0.1, 0.2, -0.3)))
    ball = build.joint("ball", lw.joints.Spherical(), "arm", "bob", at=(0.4, 0, 0)).build()
    q = ball.random(np.random.default_rng(4))
    v = np.array([1.3, 0.0, 0.0, 0.0])
    held = ball.constrained(lw.constraints.VelocityCoupling({"ball": np.eye(3)}, name="friction"))
    welded = ball.constrained(lw.constraints.Weld("arm", "bob", name="weld"), at=q)
    expected = lw.ForwardDynamics(welded, "kkt")(q, v, np.zeros(4)).acceleration
    for method in ("kkt", "lcaba", "prox_ltl", "prox_bbo"):
        assert_close(lw.ForwardDynamics(held, method)(q, v, np.zeros(4)).acceleration, expected, 1e-8)


def test_single_velocities_are_those_of_a_lock() -> None:
    """Of a lock without errors, on the joints that can have either; helical ones and universal ones among them."""
    robot = lw.zoo.random_tree(5, bodies=7, kinds="rphu")
    q = robot.random(np.random.default_rng(5))
    locked = robot.constrained(
        *(lw.constraints.JointLock(j.name, q[robot.q_slice(j.name)].tolist(), name=j.name) for j in robot.joints)
    )
    rows = robot.constrained(
        *(lw.constraints.VelocityCoupling({j.name: np.eye(j.type.nv)}, name=j.name) for j in robot.joints)
    )
    assert_close(Delassus(rows).at(q).toarray(), Delassus(locked).at(q).toarray(), 1e-13)


def test_methods_that_know_one_body_a_row_refuse_joints_of_several_degrees_of_freedom() -> None:
    assert not {"pv_early", "pv_soft", "constrained_aba"} & set(lw.methods.methods_for(rubbed(4)))


def test_it_is_kept_renamed_and_pickled() -> None:
    robot = rubbed(0)
    whole = lw.compose({"left": robot, "right": robot})
    J = lw.constraint_jacobian(whole, whole.neutral())
    assert_close(J[: robot.nc, : robot.nv], rows_of(robot), 1e-12)
    assert_close(J[robot.nc :, robot.nv :], rows_of(robot), 1e-12)
    again = pickle.loads(pickle.dumps(robot))
    assert_close(rows_of(again), rows_of(robot), 0.0)
    assert robot.mobility(robot.neutral()).dof <= robot.nv


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ({}, "names no joints"),
        ({"ball": np.ones(3)}, r"has shape \(3,\), needs \(rows, nv\)"),
        ({"ball": np.ones((1, 2))}, r"has shape \(1, 2\), needs \(1, 3\)"),
        ({"ball": np.ones((1, 3)), "turn": np.ones((2, 1))}, r"'turn' has shape \(2, 1\), needs \(1, nv\)"),
        ({"ball": np.zeros((1, 3))}, "all coefficients are zero"),
        ({"ball": np.full((1, 3), np.nan)}, "NaN or infinity"),
        ({"bowl": np.ones((1, 3))}, "no joint 'bowl'"),
    ],
)
def test_what_does_not_fit_is_told(matrices: dict[str, Floats], message: str) -> None:
    build = lw.Builder("arm").body("a", lw.Inertia.sphere(1.0, 0.1)).joint("ball", lw.joints.Spherical(), "world", "a")
    robot = build.body("b", lw.Inertia.sphere(1.0, 0.1)).joint("turn", lw.joints.Revolute("x"), "a", "b").build()
    with pytest.raises(lw.errors.ModelError, match=message):
        robot.constrained(lw.constraints.VelocityCoupling(matrices))
