# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of loops that close to the rounding of numbers in a file only: those of the solution, with its rank."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.iterations import REGULARIZATION, row_regularization
from linkwork.dynamics.jacobians import constrained as constrained_derivatives
from linkwork.dynamics.jacobians.constrained import ConstrainedJacobians
from linkwork.mechanism import Mechanism
from linkwork.plans.thresholds import ROUND_OFF
from linkwork.plans.tree import tree_of
from tests.dynamics.test_constrained_derivatives import differences
from tests.support.robots import model_file
from tests.support.rounded import doubled_pins, rounded_placements, three_cranks, wrist
from tests.support.states import Floats, assert_close

SAME = 1e-9
"""Accelerations of derivatives and of `kkt`: one problem, one rank."""
JACOBIAN = 1e-7
"""Fourth-order differences of the solution with its rank held have errors below 1e-9 here."""

CASES: dict[str, Callable[[], Mechanism]] = {
    **{f"doubled pins, {digits} digits": partial(doubled_pins, digits) for digits in (6, 7, 8)},
    **{f"wrist, {digits} digits": partial(wrist, digits) for digits in (6, 7, 8)},
    "three cranks": three_cranks,
    "random loops, 6 digits": lambda: rounded_placements(lw.zoo.random_loops(44, 5, 3), 6),
    "random loops, 8 digits": lambda: rounded_placements(lw.zoo.random_loops(100, 7, 2), 8),
    "toddlerbot": lambda: lw.load(model_file("../scenes/toddlerbot_2xc/toddlerbot_2xc_mjx.xml")),
}
each_case = pytest.mark.parametrize("name", CASES)
pytestmark = [
    pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning"),
    pytest.mark.filterwarnings("ignore:.*has a relative error of:linkwork.errors.StateWarning"),
]


@cache
def state(name: str) -> tuple[Mechanism, Floats, Floats, Floats]:
    robot = CASES[name]()
    rng = np.random.default_rng(3)
    q = robot.assemble(next(iter(robot.poses.values()), robot.neutral()), limits=False)
    return robot, q, robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


def solution_of_rank(robot: Mechanism, rank: int, q: Floats, v: Floats, tau: Floats) -> Floats:
    """Accelerations and forces of the nearest rows of a rank, in the metrics of inertia and of the regularization."""
    S = 1 / np.sqrt(row_regularization(robot, REGULARIZATION))
    J, L = lw.constraint_jacobian(robot, q), np.linalg.cholesky(lw.mass_matrix(robot, q))
    k = lw.constraint_target(robot, q, v) - lw.constraint_bias(robot, q, v)
    free = np.linalg.solve(L @ np.swapaxes(L, -1, -2), (tau - lw.bias_forces(robot, q, v))[..., None])
    B = S[:, None] * np.swapaxes(np.linalg.solve(L, np.swapaxes(J, -1, -2)), -1, -2)
    U, s, Vt = np.linalg.svd(B, full_matrices=False)
    U, s, Vt = U[..., :rank], s[..., :rank, None], Vt[..., :rank, :]
    y = np.swapaxes(U, -1, -2) @ (S[:, None] * (k[..., None] - J @ free)) / s
    a = free + np.linalg.solve(np.swapaxes(L, -1, -2), np.swapaxes(Vt, -1, -2) @ y)
    return np.asarray(np.concatenate([a, S[:, None] * (U @ (y / s))], axis=-2)[..., 0])


def moved(robot: Mechanism, q: Floats) -> Floats:
    """Rows that some joint moves by more than rounding."""
    J = lw.constraint_jacobian(robot, q)
    return np.linalg.norm(J, axis=1) > 1e-4 * np.abs(J).max()


@each_case
def test_derivatives_have_the_accelerations_of_the_solution(name: str) -> None:
    robot, q, v, tau = state(name)
    exact = lw.ForwardDynamics(robot, "kkt")(q, v, tau)
    for method in ("auto", "kkt"):
        assert_close(lw.ForwardDynamics(robot, method).derivatives(q, v, tau).a, exact.acceleration, SAME)


@each_case
def test_jacobians_are_those_of_the_solution_with_its_rank_held(name: str) -> None:
    robot, q, v, tau = state(name)
    d: ConstrainedJacobians = lw.ForwardDynamics(robot).derivatives(q, v, tau)
    rank = robot.mobility(q).rank
    unit, rows = np.eye(robot.nv), moved(robot, q)

    def along(part: str, t: float) -> Floats:
        at = np.array([robot.integrate(q, t * e) for e in unit]) if part == "q" else np.tile(q, (robot.nv, 1))
        by = {"v": v, "tau": tau}
        by = {name: x + t * unit if name == part else x for name, x in by.items()}
        return solution_of_rank(robot, rank, at, by["v"], by["tau"]).T

    for part, h in (("q", 3e-4), ("v", 0.3), ("tau", 1.0)):
        accelerations, forces = np.split(differences(partial(along, part), h), [robot.nv])
        assert_close(getattr(d, f"da_d{part}"), accelerations, JACOBIAN)
        assert_close(getattr(d, f"df_d{part}")[rows], forces[rows], JACOBIAN)


def test_batches_bound_calls_and_arrays_to_write_to_are_computed_again_too() -> None:
    robot, q, v, tau = state("doubled pins, 7 digits")
    fd = lw.ForwardDynamics(robot, threads=1)
    one = fd.derivatives(q, v, tau)
    arrays = [np.tile(x, (3, 1)) for x in (q, v, tau)]
    batch = fd.derivatives(*arrays)
    out = tuple(np.empty_like(x) for x in one)
    fd.derivatives.bind(q, v, tau, out=out)()
    for x, y, z in zip(one, batch, out, strict=True):
        np.testing.assert_array_equal(np.broadcast_to(x, y.shape), y)
        np.testing.assert_array_equal(x, z)


def test_exact_loops_need_no_singular_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("computed again")

    monkeypatch.setattr(constrained_derivatives, "dense_derivatives", never)
    for robot in (lw.zoo.watt(), lw.zoo.stewart(), wrist(None), lw.zoo.random_loops(4, 5, 2)):
        q = robot.poses.get("assembled", robot.neutral())
        rng = np.random.default_rng(0)
        v = robot.project_velocity(q, rng.normal(size=robot.nv))
        lw.ForwardDynamics(robot).derivatives(q, v, np.ones(robot.nv))


def test_a_factor_that_disagrees_with_the_solution_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason: here, rows that count as dependent where they are not, and are not reported as uncertain."""
    robot = lw.zoo.watt("line")
    q = robot.poses["assembled"]
    v, tau = robot.project_velocity(q, np.ones(robot.nv)), np.ones(robot.nv)
    right = lw.ForwardDynamics(robot).derivatives(q, v, tau)
    monkeypatch.setattr(constrained_derivatives, "DEPENDENT_PIVOT", 0.99)
    monkeypatch.setattr(constrained_derivatives, "LEFT_OUT", 0.0)
    assert constrained_derivatives.ConstrainedDerivatives(robot)(q, v, tau).pivot[0] == 0.0
    found = lw.ForwardDynamics(robot).derivatives(q, v, tau)
    assert_close(found.da_dq, right.da_dq, 1e-11)
    assert_close(found.df_dtau, right.df_dtau, 1e-11)


def test_forward_dynamics_that_is_not_exact_is_a_warning() -> None:
    robot, q, v, tau = state("wrist, 6 digits")
    with pytest.warns(lw.errors.StateWarning, match=r"'wrist' by prox_ltl has a relative error of .* as by 'kkt'"):
        lw.ForwardDynamics(robot, "prox_ltl").derivatives(q, v, tau)
    with warnings.catch_warnings():
        warnings.simplefilter("error", lw.errors.StateWarning)
        lw.ForwardDynamics(robot, "kkt").derivatives(q, v, tau)


def test_parameters_that_are_inputs_are_refused_where_singular_values_are_needed() -> None:
    robot, q, v, tau = state("doubled pins, 7 digits")
    fd = lw.ForwardDynamics(robot, "prox_ltl", parameters=["mass"])
    with pytest.raises(lw.errors.SingularConstraints, match="with_parameters"):
        fd.derivatives(q, v, tau)


@pytest.mark.parametrize("digits", [6, 7, 8])
def test_nearly_parallel_axes_leave_rotations_that_are_rotations(digits: int) -> None:
    """Frames of kernels may point along what a child's axis is off the joint's: 1e-7, of which rounding is 1e-9."""
    for seed in range(4):
        rotations = np.asarray(tree_of(doubled_pins(digits, seed)).P)
        unit = np.tile(np.eye(3), (len(rotations), 1, 1))
        assert_close(rotations @ np.swapaxes(rotations, -1, -2), unit, 5 * ROUND_OFF)  # smaller numbers are zeros
