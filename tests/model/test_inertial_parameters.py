# SPDX-License-Identifier: BSD-3-Clause
"""Inertial parameters as vectors, and the parametrizations in which they are physically consistent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.model.arrays import Floats

SCALES = (1e-6, 1.0, 1e4)
SAFE = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def bodies(seed: int, size: int = 16) -> Floats:
    """Inertial parameters of clouds of eight points, ``(size, 10)``: they exist, for they were made."""
    draw = np.random.default_rng(seed)
    masses = draw.uniform(0.1, 1.0, (size, 8))
    points = draw.normal(size=(size, 8, 3)) + draw.normal(size=(size, 1, 3))
    P = np.zeros((size, 4, 4))
    P[:, :3, :3] = np.einsum("nk,nki,nkj->nij", masses, points, points)
    P[:, :3, 3] = P[:, 3, :3] = np.einsum("nk,nki->ni", masses, points)
    P[:, 3, 3] = masses.sum(axis=-1)
    return lw.inertial_parameters.from_pseudo_inertia(P)


def central(f: object, x: Floats, step: float = 1e-6) -> Floats:
    """Jacobian of a function of one vector by central differences."""
    assert callable(f)
    columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(x.size)]
    return np.stack(columns, axis=-1)


def test_maps_agree_with_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    for pi in bodies(0):
        inertia = pin.Inertia.FromDynamicParameters(pi)
        P = pin.PseudoInertia.FromDynamicParameters(pi)
        assert np.abs(lw.inertial_parameters.pseudo_inertia(pi) - P.toMatrix()).max() < 1e-13 * np.abs(pi).max()
        assert np.abs(lw.inertial_parameters.from_pseudo_inertia(P.toMatrix()) - pi).max() < 1e-13 * np.abs(pi).max()
        theta = lw.inertial_parameters.log_cholesky(pi)
        theirs = pin.LogCholeskyParameters(theta)
        assert np.abs(theirs.toDynamicParameters() - pi).max() < 1e-12 * np.abs(pi).max()
        J = lw.inertial_parameters.from_log_cholesky_jacobian(theta)
        assert np.abs(J - theirs.calculateJacobian()).max() < 1e-12 * np.abs(J).max()
        assert np.abs(theirs.toInertia().inertia - inertia.inertia).max() < 1e-11 * np.abs(pi).max()


def test_maps_are_each_others_inverses_in_batches() -> None:
    pi = bodies(1).reshape(4, 4, 10)
    assert (
        np.abs(lw.inertial_parameters.from_pseudo_inertia(lw.inertial_parameters.pseudo_inertia(pi)) - pi).max()
        < 1e-13 * np.abs(pi).max()
    )
    assert (
        np.abs(lw.inertial_parameters.from_log_cholesky(lw.inertial_parameters.log_cholesky(pi)) - pi).max()
        < 1e-13 * np.abs(pi).max()
    )
    theta = np.random.default_rng(2).normal(size=(3, 5, 10))
    assert (
        np.abs(lw.inertial_parameters.log_cholesky(lw.inertial_parameters.from_log_cholesky(theta)) - theta).max()
        < 1e-10
    )


def test_jacobians_are_derivatives_and_each_others_inverses() -> None:
    pi = bodies(3, 4)
    theta = lw.inertial_parameters.log_cholesky(pi)
    there, back = (
        lw.inertial_parameters.log_cholesky_jacobian(pi),
        lw.inertial_parameters.from_log_cholesky_jacobian(theta),
    )
    for k in range(4):
        assert (
            np.abs(back[k] - central(lw.inertial_parameters.from_log_cholesky, theta[k])).max()
            < 1e-8 * np.abs(back[k]).max()
        )
        assert (
            np.abs(there[k] - central(lw.inertial_parameters.log_cholesky, pi[k])).max() < 1e-7 * np.abs(there[k]).max()
        )
        assert np.abs(there[k] @ back[k] - np.eye(10)).max() < 1e-12 * np.linalg.cond(back[k])


@SAFE
@given(st.lists(st.floats(-5, 5), min_size=10, max_size=10))
def test_any_log_cholesky_parameters_are_those_of_a_body(theta: list[float]) -> None:
    pi = lw.inertial_parameters.from_log_cholesky(theta)
    assert pi[0] > 0
    assert lw.inertial_parameters.is_physically_consistent(pi)


@SAFE
@given(st.lists(st.floats(-3, 3), min_size=10, max_size=10), st.sampled_from(SCALES))
def test_the_nearest_parameters_are_consistent_and_nearest(numbers: list[float], scale: float) -> None:
    pi = np.array(numbers) * scale
    if np.linalg.eigvalsh(lw.inertial_parameters.pseudo_inertia(pi)).max() <= 1e-3 * scale:
        return
    near = lw.inertial_parameters.nearest_physically_consistent(pi, length=1.0)
    assert lw.inertial_parameters.is_physically_consistent(near)
    lw.inertial_parameters.log_cholesky(
        lw.inertial_parameters.nearest_physically_consistent(pi, length=1.0, margin=1e-6)
    )  # exists
    # the optimality condition of a projection on a cone: what was added is orthogonal to where it ended
    P, N = lw.inertial_parameters.pseudo_inertia(pi), lw.inertial_parameters.pseudo_inertia(near)
    assert abs(np.sum((N - P) * N)) < 1e-6 * (1e-12 * scale**2 + np.sum(P * P))
    assert np.linalg.eigvalsh(N - P).min() > -1e-7 * np.abs(P).max()


@pytest.mark.parametrize("mass, square", [(5e-324, 1.0), (1.0, 5e-324), (0.0, 1.0), (1.0, 0.0)])
@pytest.mark.filterwarnings("error")
def test_bodies_of_hardly_any_mass_or_size_have_an_answer(mass: float, square: float) -> None:
    pi = lw.inertial_parameters.from_pseudo_inertia(np.diag([square, square, square, mass]))
    assert lw.inertial_parameters.is_physically_consistent(pi)
    pi[1] = 1.0  # a first moment that the mass cannot have
    assert not lw.inertial_parameters.is_physically_consistent(pi)


def test_consistent_bodies_stay_what_they_are() -> None:
    pi = bodies(4)
    assert np.array_equal(lw.inertial_parameters.nearest_physically_consistent(pi), pi)


@pytest.mark.parametrize("scale", SCALES)
def test_consistency_does_not_depend_on_units(scale: float) -> None:
    thin = lw.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.1, 0.2]) * 0.999)  # a plate but for a thousandth
    robot = single(thin)
    in_other_units = robot.scaled(length=scale, time=1.0).inertial_parameters[0]
    assert lw.inertial_parameters.is_physically_consistent(in_other_units)
    heavy = in_other_units.copy()
    heavy[4] *= 1.5  # more than the two others together
    assert not lw.inertial_parameters.is_physically_consistent(heavy)
    with pytest.raises(lw.errors.InputError, match="not positive definite"):
        lw.inertial_parameters.log_cholesky(np.stack([in_other_units, heavy]))
    near = lw.inertial_parameters.nearest_physically_consistent(heavy)
    assert lw.inertial_parameters.is_physically_consistent(near)
    # the nearest body of other units is the nearest body
    back = single(thin).with_inertial_parameters(
        lw.inertial_parameters.nearest_physically_consistent(unscaled(heavy, scale))
    )
    assert np.allclose(back.scaled(length=scale, time=1.0).inertial_parameters[0], near, rtol=1e-9, atol=0)


def unscaled(pi: Floats, scale: float) -> Floats:
    return pi / np.array([1.0, *[scale] * 3, *[scale**2] * 6])


def single(inertia: lw.Inertia) -> lw.Mechanism:
    """One body on a free joint."""
    return lw.Builder("one").body("body", inertia).joint("root", lw.joints.Free(), "world", "body").build()


def test_a_point_mass_is_consistent_and_has_no_log_cholesky_parameters() -> None:
    position = np.array([1.0, 2.0, 3.0, 1.0])
    pi = lw.inertial_parameters.from_pseudo_inertia(np.outer(position, position))
    assert lw.inertial_parameters.is_physically_consistent(pi)
    with pytest.raises(lw.errors.InputError, match="nearest_physically_consistent"):
        lw.inertial_parameters.log_cholesky(pi)


def test_wrong_shapes_and_numbers_are_named() -> None:
    for f in (
        lw.inertial_parameters.pseudo_inertia,
        lw.inertial_parameters.log_cholesky,
        lw.inertial_parameters.from_log_cholesky,
        lw.inertial_parameters.is_physically_consistent,
    ):
        with pytest.raises(lw.errors.InputError, match=r"needs \(..., 10\)"):
            f(np.zeros(9))
        with pytest.raises(lw.errors.InputError, match="not finite"):
            f(np.full(10, np.nan))
    with pytest.raises(lw.errors.InputError, match=r"needs \(..., 4, 4\)"):
        lw.inertial_parameters.from_pseudo_inertia(np.zeros((3, 3)))
    with pytest.raises(lw.errors.InputError, match="margin"):
        lw.inertial_parameters.nearest_physically_consistent(np.ones(10), margin=-1)
    with pytest.raises(lw.errors.InputError, match="without a positive eigenvalue"):
        lw.inertial_parameters.nearest_physically_consistent(
            lw.inertial_parameters.from_pseudo_inertia([-np.eye(4)] * 2)
        )


# Of a robot -----------------------------------------------------------------------------------------------------------


def test_a_robots_vector_gives_the_robot_again() -> None:
    robot = lw.zoo.humanoid()
    pi = robot.inertial_parameters
    assert pi.shape == (len(robot.joints), 10)
    for given_back in (pi, pi.ravel()):
        again = robot.with_inertial_parameters(given_back)
        assert np.abs(again.inertial_parameters - pi).max() < 1e-14 * np.abs(pi).max()
    q = robot.random(0)
    M = lw.mass_matrix(robot, q)
    assert np.abs(lw.mass_matrix(robot.with_inertial_parameters(2 * pi), q) - 2 * M).max() < 1e-12 * np.abs(M).max()


def test_the_vector_is_that_of_regressors_and_of_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    model = pin.buildSampleModelManipulator()
    robot = lw.peers.from_pinocchio(model)
    theirs = np.stack([model.inertias[k].toDynamicParameters() for k in range(1, model.njoints)])
    assert np.abs(robot.inertial_parameters - theirs).max() < 1e-12 * np.abs(theirs).max()
    new = lw.inertial_parameters.from_log_cholesky(np.random.default_rng(5).normal(size=theirs.shape))
    changed = robot.with_inertial_parameters(new)
    q, v, a = robot.random(1), *np.random.default_rng(2).normal(size=(2, robot.nv))
    tau = lw.InverseDynamics(changed, "rnea")(q, v, a) - robot.armature * a
    for k in range(1, model.njoints):
        model.inertias[k] = pin.Inertia.FromDynamicParameters(new[k - 1])
    scale = np.abs(tau).max()
    assert np.abs(tau - pin.rnea(model, model.createData(), q, v, a)).max() < 1e-12 * scale
    Y = lw.InverseDynamics(robot, "rnea").regressor(q, v, a)
    assert np.abs(Y @ new.ravel() - tau).max() < 1e-12 * scale


def test_a_robot_that_cannot_be_is_refused_unless_it_is_asked_for() -> None:
    robot = lw.zoo.four_bar()
    pi = robot.inertial_parameters
    pi[1, 4] *= -1
    with pytest.raises(lw.errors.InputError, match="no distribution of mass"):
        robot.with_inertial_parameters(pi)
    made = robot.with_inertial_parameters(pi, check=False)
    assert np.allclose(made.inertial_parameters, pi, rtol=1e-12)
    pi[1, 0] = 0.0
    with pytest.raises(lw.errors.InputError, match="no mass and a first moment"):
        robot.with_inertial_parameters(pi, check=False)
    for bad in (pi[:1], pi.ravel()[:-1], np.full_like(pi, np.inf)):
        with pytest.raises(lw.errors.InputError, match="inertial_parameters"):
            robot.with_inertial_parameters(bad, check=False)
