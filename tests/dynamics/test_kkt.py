# SPDX-License-Identifier: BSD-3-Clause
"""The factor of the KKT matrix: what it multiplies to, what it solves, where it has entries, what it refuses."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import InputError, SingularConstraints
from linkwork.mechanism import Mechanism
from tests.support import linkages
from tests.support.states import Floats
from tests.zoo import test_zoo, test_zoo_scenes

MAKE: dict[str, Callable[[], Mechanism]] = {
    "four-bar": lw.zoo.four_bar,
    "chain of 5 loops": partial(test_zoo.made, "chain of 5 loops"),
    "geared chain": partial(test_zoo.made, "geared chain"),
    "center of mass": partial(linkages.made, "center of mass"),
    "quadruped": partial(test_zoo_scenes.made, "quadruped standing, friction"),
    "humanoid": partial(test_zoo_scenes.made, "humanoid standing"),
    "random tree": partial(lw.zoo.random_tree, 3),
    **{f"random loops {seed}": partial(lw.zoo.random_loops, seed) for seed in range(4)},
}
each_robot = pytest.mark.parametrize("name", MAKE)
COMPILED = ("four-bar", "geared chain", "center of mass", "random tree", "random loops 0", "random loops 1")
"""Robots of which straight-line programs are made, too: each kind of row, and none. Large ones take seconds."""


class Dense:
    """A factor at a random configuration, and the matrix by dense algebra."""

    def __init__(self, name: str, damping: float | None = None) -> None:
        self.robot = MAKE[name]()
        self.rng = np.random.default_rng(7)
        self.q = self.robot.random(self.rng)
        self.family = lw.KKT(self.robot)
        self.factor = self.family.at(self.q, damping)
        self.M = lw.mass_matrix(self.robot, self.q)
        nc, nv = self.family.robot.nc, self.robot.nv
        self.J = lw.constraint_jacobian(self.family.robot, self.q) if nc else np.zeros((0, nv))
        self.K = self.matrix(self.M, self.factor.damping)
        self.n = nc + nv

    def matrix(self, M: Floats, damping: Floats) -> Floats:
        return np.block([[-np.diag(damping), self.J], [self.J.T, M]])

    def rounding(self, K: Floats | None = None) -> float:
        """What sums of the matrix's size lose."""
        return 1e-13 * float(np.abs(self.K if K is None else K).max()) * max(1, self.n) ** 0.5


@cache
def dense(name: str, damping: float | None = None) -> Dense:
    return Dense(name, damping)


@each_robot
def test_factor_multiplies_to_the_matrix(name: str) -> None:
    x = dense(name)
    U = x.factor.U @ np.eye(x.n)
    assert np.abs((U * x.factor.D) @ U.T - x.K).max() <= x.rounding()
    assert np.abs(x.factor.toarray() - x.K).max() <= x.rounding()
    b = x.rng.normal(size=(x.n, 2))
    assert np.abs(x.factor @ b - x.K @ b).max() <= 10 * x.rounding()


@each_robot
def test_factor_is_unit_upper_triangular_and_has_no_entry_outside_its_pattern(name: str) -> None:
    x = dense(name)
    U = x.factor.U @ np.eye(x.n)
    assert (np.diagonal(U) == 1).all()
    assert not U[~x.family.sparsity].any()
    assert not x.family.sparsity[np.tril_indices(x.n, -1)].any()
    nc = x.family.robot.nc
    assert (x.factor.D[:nc] < 0).all() and (x.factor.D[nc:] > 0).all()


@each_robot
def test_products_and_solutions_with_the_triangles_are_each_others_inverses(name: str) -> None:
    x = dense(name, 1e-2)
    U = x.factor.U @ np.eye(x.n)
    lost = 1e-15 * np.linalg.cond(U) * x.n
    assert np.array_equal(x.factor.U.T @ np.eye(x.n), U.T)
    assert np.abs(x.factor.U_inverse @ U - np.eye(x.n)).max() <= lost
    assert np.abs(x.factor.U_inverse.T @ U.T - np.eye(x.n)).max() <= lost


@each_robot
def test_solution_solves_the_system(name: str) -> None:
    x = dense(name, 1e-2)
    b = x.rng.normal(size=(x.n, 3))
    solution = x.factor.solve(b)
    assert np.abs(x.K @ solution - b).max() <= 1e-15 * np.linalg.cond(x.K) * x.n
    assert np.array_equal(x.factor.solve(b[:, 1]), solution[:, 1])


@each_robot
def test_another_damping_gives_the_factor_that_it_would_have_had(name: str) -> None:
    x = dense(name)
    softer = x.factor.with_damping(0.3)
    fresh = x.family.at(x.q, 0.3)
    assert np.array_equal(softer.D, fresh.D)
    b = x.rng.normal(size=x.n)
    assert np.array_equal(softer.solve(b), fresh.solve(b))
    before = x.factor.toarray()
    assert np.array_equal(x.factor.toarray(), before)  # it has not changed the one that it comes from
    assert np.abs(before - x.K).max() <= x.rounding()


@each_robot
def test_factor_of_the_operational_inertia_is_its_upper_left_part(name: str) -> None:
    x = dense(name, 1e-2)
    nc = x.family.robot.nc
    U, D = x.factor.osim_factor
    A = x.J @ np.linalg.solve(x.M, x.J.T)
    size = 1e-13 * np.linalg.cond(x.M) * np.abs(A).max(initial=1.0)
    assert np.array_equal(U, (x.factor.U @ np.eye(x.n))[:nc, :nc])
    assert np.abs((U * D) @ U.T - A - 1e-2 * np.eye(nc)).max(initial=0.0) <= size
    assert np.abs(x.factor.delassus_matrix - A).max(initial=0.0) <= size
    inertia = x.factor.operational_inertia @ ((U * D) @ U.T)
    assert np.abs(inertia - np.eye(nc)).max(initial=0.0) <= 1e-13 * max(
        1.0, np.linalg.cond(A + 1e-2 * np.eye(nc)) if nc else 1.0
    )
    mass = x.factor.mass_factor
    assert np.abs((mass.U * mass.D) @ mass.U.T - x.M).max() <= 1e-13 * np.abs(x.M).max()


@each_robot
def test_any_matrix_with_the_sparsity_of_the_tree_takes_the_place_of_the_mass_matrix(name: str) -> None:
    x = dense(name)
    nc, nv = x.family.robot.nc, x.robot.nv
    upper = x.family.sparsity[nc:, nc:]
    M = np.where(upper | upper.T, x.rng.normal(size=(nv, nv)), 0.0)
    M = M + M.T + 4 * nv * np.eye(nv)
    factor = x.family.at(x.q, 1e-3, matrix=M)
    K = x.matrix(M, np.full(nc, 1e-3))
    assert np.abs(factor.toarray() - K).max() <= x.rounding(K)
    assert np.abs(factor.with_damping(1.0).toarray() - x.matrix(M, np.ones(nc))).max() <= x.rounding(K)


@each_robot
def test_batches_agree_with_single_factors(name: str) -> None:
    x = dense(name)
    nc, nv = x.family.robot.nc, x.robot.nv
    q = np.stack([x.robot.random(x.rng) for _ in range(5)])
    b = x.rng.normal(size=(5, x.n))
    compiled = [x.family.solution.compile()] if name in COMPILED else []
    for evaluator in (x.family.solution, *compiled):
        rows, joints = evaluator(q, b[:, :nc], b[:, nc:], 1e-2)
        assert rows.shape == (5, nc) and joints.shape == (5, nv)
        for k in range(5):
            factor = x.family.at(q[k], 1e-2)
            lost = 1e-15 * np.linalg.cond(factor.toarray()) * x.n
            expected = factor.solve(b[k])
            assert np.abs(np.concatenate([rows[k], joints[k]]) - expected).max() <= lost * np.abs(expected).max()


def test_solution_is_constrained_dynamics() -> None:
    robot = lw.zoo.quadruped_standing()
    q, v = robot.poses["assembled"], np.zeros(robot.nv)
    tau = np.linspace(-1, 1, robot.nv)
    k = lw.constraint_target(robot, q, v) - lw.constraint_bias(robot, q, v)
    b = np.concatenate([k, tau - lw.bias_forces(robot, q, v)])
    x = lw.KKT(robot).at(q, 0.0).solve(b)
    solution = lw.ForwardDynamics(robot, "kkt")(q, v, tau)
    assert np.allclose(x[robot.nc :], solution.acceleration, rtol=0, atol=1e-10)
    assert np.allclose(-x[: robot.nc], solution.multipliers, rtol=0, atol=1e-10)


def test_units_a_thousand_times_smaller_scale_the_factor() -> None:
    robot = lw.zoo.quadruped_standing()
    q = robot.poses["assembled"]
    M = lw.mass_matrix(robot, q)
    K, light = lw.KKT(robot).at(q, 1e-3), lw.KKT(robot).at(q, 1e3, matrix=1e-6 * M)
    assert np.allclose(light.delassus_matrix, 1e6 * K.delassus_matrix, rtol=1e-12)
    assert np.allclose(light.operational_inertia, 1e-6 * K.operational_inertia, rtol=1e-9)


def test_rows_that_are_disabled_are_not_in_the_matrix() -> None:
    robot = lw.zoo.quadruped_standing()
    first, *others = robot.constraints
    fewer = replace(robot, constraints=(replace(first, enabled=False), *others))
    assert lw.KKT(fewer).at(fewer.poses["assembled"]).shape == (robot.nc - 3 + robot.nv,) * 2


def test_dependent_rows_without_damping_are_refused() -> None:
    robot = lw.zoo.four_bar()  # a hinge: five rows of rank two
    q = robot.poses["assembled"]
    with pytest.raises(SingularConstraints, match="damping above zero"):
        lw.KKT(robot).at(q, 0.0)
    assert np.isfinite(lw.KKT(robot).at(q).solve(np.ones(robot.nc + robot.nv))).all()


def test_bad_input_is_refused_by_name() -> None:
    robot = lw.zoo.quadruped_standing()
    q, nv = robot.poses["assembled"], robot.nv
    family = lw.KKT(robot)
    M = lw.mass_matrix(robot, q)
    legs = M.copy()
    legs[-1, 6] = legs[6, -1] = 0.1
    with pytest.raises(InputError, match="joints on different branches"):
        family.at(q, matrix=legs)
    with pytest.raises(InputError, match="not positive definite"):
        family.at(q, matrix=-M)
    with pytest.raises(InputError, match="not symmetric"):
        family.at(q, matrix=M + np.triu(M, 1))
    with pytest.raises(InputError, match=r"needs \(18, 18\)"):
        family.at(q, matrix=M[1:])
    with pytest.raises(InputError, match="NaN"):
        family.at(q, matrix=np.nan * M)
    with pytest.raises(InputError, match="damping must be >= 0"):
        family.at(q, -1.0)
    with pytest.raises(InputError, match="12 rows"):
        family.at(q, np.ones(3))
    with pytest.raises(InputError, match="one configuration"):
        family.at(np.tile(q, (2, 1)))
    with pytest.raises(InputError, match="12 rows of constraints, then 18 velocities"):
        family.at(q).solve(np.ones(nv))


def test_pickled_factor_is_the_same() -> None:
    x = dense("quadruped", 1e-2)
    b = np.arange(float(x.n))
    again = pickle.loads(pickle.dumps(x.factor))
    assert np.array_equal(again.solve(b), x.factor.solve(b))
    assert np.array_equal(pickle.loads(pickle.dumps(x.factor.U)) @ b, x.factor.U @ b)


def test_drift_is_not_divided_by_the_distance_to_a_dead_center() -> None:
    """All bars of a parallelogram in line: 1e-9 rad before and there accelerations are the same, though loops are open
    by 1e-10 and are pulled closed."""
    build = lw.Builder("parallelogram")
    for name, at in (("crank", (0, 0, 0)), ("rocker", (1, 0, 0))):
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0))).joint(
            name, lw.joints.Revolute("-y"), "world", name, at
        )
    build.body("bar", lw.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0)))
    build.joint("bar", lw.joints.Revolute("-y"), "crank", "bar", (1, 0, 0))
    pin = lw.constraints.PointOnLine(
        "bar", "rocker", first_at=(1, 0, 0), second_at=(1, 0, 0), axis="y", time_constant=0.005
    )
    robot = build.constrain(pin).build()
    fd = lw.ForwardDynamics(robot, "kkt")
    turn = np.array([1.0, 1.0, -1.0])
    there, near = (fd((np.pi - off) * turn + [1e-10, 0, 0], turn, np.zeros(3)).acceleration for off in (0.0, 1e-9))
    np.testing.assert_allclose(near, there, atol=1e-5)
