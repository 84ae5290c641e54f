# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of constrained dynamics against complex steps, the dense KKT matrix, differences, and Pinocchio."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.dynamics.iterations import REGULARIZATION, row_regularization
from linkwork.dynamics.jacobians.constrained import ConstrainedDerivatives, ConstrainedJacobians
from linkwork.dynamics.rows.dependence import rows_depend
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.constrained.constraints import CONSTRAINT_BIAS, CONSTRAINT_JACOBIAN, ERRORS, TARGET
from linkwork.kernels.tree.rnea import RNEA
from linkwork.mechanism import Mechanism
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import tree_of, without_passive_elements
from tests.support import linkages, long_doubles
from tests.support.catalog import OF_TENDONS, bound
from tests.support.complex_steps import by_configuration, by_vector, run
from tests.support.states import Floats, assert_close, random_state
from tests.zoo import test_zoo

EXACT = 1e-11
"""Of complex steps, which leave rounding errors alone."""

SHARE = 1e-9
"""Of solutions with the dense KKT matrix, times the condition of the rows in the metric of inertia (below 1e3 here)."""

INDEPENDENT = 1e-5
"""Singular values of rows below this part of the largest belong to rows that depend on others."""


def rows(robot: Mechanism, q: Any, v: Any, a: Any) -> Any:
    """``J a + dJ/dt v`` by the texts of rows, on complex numbers."""
    tree = constrained_tree(robot)
    return run(CONSTRAINT_JACOBIAN, tree, q)[0] @ a + run(CONSTRAINT_BIAS, tree, q, v)[0]


@pytest.mark.parametrize("seed", [0, 3])
def test_derivatives_of_rows_of_every_kind_are_exact(seed: int) -> None:
    robot, s = bound(seed), random_state(bound(seed), seed)
    by_q = by_configuration(robot, s.q, lambda q: rows(robot, q, s.v, s.a))
    by_v = by_vector(s.v, lambda v: rows(robot, s.q, v, s.a))
    found = lw.derivatives.constraint_derivatives(robot, s.q, s.v, s.a)
    for c in robot.constraints:
        at = robot.row_slice(c.name)
        assert_close(found.ds_dq[at], by_q[at], EXACT, 1.0)
        assert_close(found.ds_dv[at], by_v[at], EXACT, 1.0)


def test_derivatives_of_errors_are_those_of_rows_where_loops_are_closed() -> None:
    robot, s = bound(1), random_state(bound(1), 1)
    tree = constrained_tree(robot)
    assert_close(
        lw.derivatives.constraint_error_jacobian(robot, s.q),
        by_configuration(robot, s.q, lambda q: run(ERRORS, tree, q)[0]),
        EXACT,
    )
    closed = linkages.rssr()
    q = closed.assemble(closed.neutral())
    assert_close(lw.derivatives.constraint_error_jacobian(closed, q), lw.constraint_jacobian(closed, q), EXACT)


# Solutions ---------------------------------------------------------------------------------------------------


def with_functions() -> Mechanism:
    """Three joints that follow functions with every operation of a tape, on a base that floats."""
    build = lw.Builder("functions").body("base", linkages.BOX).joint("free", lw.joints.Free(), "world", "base")
    for k, parent in enumerate(("base", "link0", "link1", "base", "link3")):
        build.body(f"link{k}", linkages.rod(0.5 + 0.1 * k))
        build.joint(f"joint{k}", lw.joints.Revolute("yxz"[k % 3]), parent, f"link{k}", (0.4, 0.1, 0.0))

    def two(x: Any, y: Any, z: Any) -> Any:
        return np.sqrt(2.0 + x * y) - z / (3.0 + np.cos(x)), np.sin(y * z) - (-x) * x

    build.constrain(lw.constraints.FunctionCoupling(two, ("joint0", "joint3", "joint4"), name="two", gains=(3.0, 2.0)))
    build.constrain(
        lw.constraints.PolynomialCoupling("joint1", "joint2", (0.1, 0.2, 0.3, 0.4, 0.5), name="cam", gains=(5.0, 1.0))
    )
    return build.build()


def on_all_kinds() -> Mechanism:
    """A chain with constraints of several kinds, and gains, that its joints can satisfy together."""
    build = lw.Builder("chain").body("base", linkages.BOX).joint("free", lw.joints.Free(), "world", "base")
    kinds = (
        lw.joints.Spherical(),
        lw.joints.Universal(),
        lw.joints.Planar(),
        lw.joints.Helical("x", 0.2),
        lw.joints.Prismatic("y"),
        lw.joints.Revolute("z"),
    )
    parent = "base"
    for k, kind in enumerate(kinds):
        build.body(f"link{k}", linkages.BOX).joint(f"joint{k}", kind, parent, f"link{k}", (0.3, 0.1, -0.2))
        parent = f"link{k}"
    build.constrain(lw.constraints.Hinge("link0", "link4", axis=(1, 2, 0), second_at=(0.1, 0, 0), time_constant=0.1))
    build.constrain(lw.constraints.Rod("world", "link5", length=0.7, gains=(2.0, 3.0)))
    build.constrain(lw.constraints.PointOnPlane("link1", "link3", axis="y", gains=(1.0, 0.0)))
    build.constrain(lw.constraints.CenterOfMass(axes="x", time_constant=0.3))
    build.constrain(lw.constraints.Cardan("base", "link5", axis="x", second_axis="y"))
    return build.build()


CASES: dict[str, Callable[[], Mechanism]] = {
    "floating four-bar": partial(linkages.four_bar, base=True),
    "RSSR": linkages.rssr,
    "shafts": linkages.crosses,
    "hexapod": linkages.hexapod,
    "balanced": linkages.balanced,
    "functions": with_functions,
    "all kinds": on_all_kinds,
    **{kind: partial(linkages.roped, kind) for kind in OF_TENDONS},
    "four-bar, weld": partial(test_zoo.made, "four-bar, weld"),
    "watt, point": partial(test_zoo.made, "watt, point"),
}


class Problem(NamedTuple):
    """A state, and partials of both equations at its solution by complex steps."""

    robot: Mechanism
    q: Floats
    v: Floats
    tau: Floats
    found: ConstrainedJacobians
    by_q: Floats
    by_v: Floats


@cache
def made(name: str) -> Mechanism:
    return CASES[name]()


@cache
def problem(name: str, closed: bool) -> Problem:
    robot = made(name)
    s = random_state(robot, 7)
    q, v = s.q, s.v
    if closed:
        q = robot.assemble(robot.poses.get("assembled", robot.neutral()), limits=False)
        J = lw.constraint_jacobian(robot, q)
        v = v - np.linalg.pinv(J, rcond=INDEPENDENT) @ (J @ v)
    found = ConstrainedDerivatives(robot, threads=1)(q, v, s.tau)
    plan, tree = constrained_tree(robot), without_passive_elements(tree_of(robot))

    def equations(q: Any, v: Any) -> Any:
        J = run(CONSTRAINT_JACOBIAN, plan, q)[0]
        torques = run(RNEA, tree, q, v, found.a, np.zeros((0, 6)))[0] - J.T @ found.f
        accelerations = J @ found.a + run(CONSTRAINT_BIAS, plan, q, v)[0] - run(TARGET, plan, q, v)[0]
        return np.concatenate([torques, accelerations])

    by_q = by_configuration(robot, q, lambda x: equations(x, v))
    return Problem(robot, q, v, s.tau, found, by_q, by_vector(v, lambda x: equations(q, x)))


def inverse_of_kkt(robot: Mechanism, q: Floats) -> tuple[Floats, Floats, Floats]:
    """``da_dtau``, ``da_dtarget`` and ``df_dtarget`` by singular values, of redundant rows the smallest forces."""
    M, J = lw.mass_matrix(robot, q), lw.constraint_jacobian(robot, q)
    R = row_regularization(robot, REGULARIZATION)
    weight = np.where(R < UNBOUNDED, 1 / np.sqrt(R), 0.0)
    half = np.linalg.inv(np.linalg.cholesky(M)).T  # M^-1 = half half'
    u, s, vt = np.linalg.svd(weight[:, None] * (J @ half), full_matrices=False)
    on = s > INDEPENDENT * s.max()
    inverse = np.where(on, 1 / np.where(on, s, 1.0), 0.0)
    T = half @ (vt.T * inverse) @ u.T * weight
    N = half @ (np.eye(robot.nv) - vt.T @ (on[:, None] * vt)) @ half.T
    return N, T, weight[:, None] * ((u * inverse**2) @ u.T) * weight


def turned(p: Problem, T: Floats) -> tuple[Floats, Floats]:
    """By configuration, what turns with redundant rows: targets of the fit, and forces that cancel.

    ``R T' d(J' h)/dq`` of what rows miss over R, ``h``, and ``R^-1 (1 - J T) d(J y)/dq`` of ``y = T R f``.
    """
    robot, q, plan = p.robot, p.q, constrained_tree(p.robot)
    R = row_regularization(robot, REGULARIZATION)
    on = R < UNBOUNDED
    R, weight = np.where(on, R, 0.0), np.where(on, 1 / R, 0.0)
    missed = lw.constraint_target(robot, q, p.v) - lw.constraint_bias(robot, q, p.v)
    missed = missed - lw.constraint_jacobian(robot, q) @ p.found.a
    apart = np.eye(robot.nc) - lw.constraint_jacobian(robot, q) @ T
    h, y = weight * (apart @ missed), T @ (R * p.found.f)
    torques = by_configuration(robot, q, lambda x: run(CONSTRAINT_JACOBIAN, plan, x)[0].T @ h)
    rows = by_configuration(robot, q, lambda x: run(CONSTRAINT_JACOBIAN, plan, x)[0] @ y)
    idle = np.abs(lw.constraint_jacobian(robot, q)).max(axis=1) < 1e-12  # rows that nothing moves have no forces
    return R[:, None] * (T.T @ torques), np.where(idle, 0.0, weight)[:, None] * (apart @ rows)


each_case = pytest.mark.parametrize("name", CASES)


@each_case
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_derivatives_of_solutions_are_those_of_the_implicit_function_theorem(name: str, closed: bool) -> None:
    """Open and closed, with and without redundant rows; at all kinds of joints and constraints."""
    if closed and name in ("balanced", "all kinds", "functions"):
        pytest.skip("its constraints are satisfied elsewhere")
    p = problem(name, closed)
    N, T, X = inverse_of_kkt(p.robot, p.q)
    nv, d = p.robot.nv, p.found
    scale = float(np.abs(np.linalg.inv(lw.mass_matrix(p.robot, p.q))).max())
    assert_close(d.da_dtau, N, SHARE, scale)
    assert_close(d.da_dtarget, T, SHARE)
    assert_close(d.df_dtau, -T.T, SHARE)
    assert_close(d.df_dtarget, X, SHARE)
    rows, cancelling = turned(p, T)
    none = np.zeros_like(cancelling)
    for by, turn, extra, da, df in (
        (p.by_q, rows, cancelling, d.da_dq, d.df_dq),
        (p.by_v, none, none, d.da_dv, d.df_dv),
    ):
        size = float(np.abs(by).max() + np.abs(turn).max())
        assert_close(da, -N @ by[:nv] - T @ (by[nv:] - turn), SHARE, scale * size)
        assert_close(df, T.T @ by[:nv] - X @ (by[nv:] - turn) + extra, SHARE, float(np.abs(X).max()) * size)


@each_case
def test_the_solution_comes_with_its_derivatives(name: str) -> None:
    p = problem(name, False)
    s = lw.ForwardDynamics(p.robot, "kkt")(p.q, p.v, p.tau)
    assert s.multipliers is not None
    assert_close(p.found.a, s.acceleration, SHARE)
    assert_close(p.found.f, s.multipliers, SHARE)


@pytest.mark.parametrize("method", ["kkt", "ltl", "prox_ltl", "pv", "prox_bbo", "lcaba", "auto"])
def test_every_exact_method_has_the_same_derivatives(method: Any) -> None:
    p = problem("RSSR", False)
    found = lw.ForwardDynamics(p.robot, method).derivatives(p.q, p.v, p.tau)
    for x, y in zip(found, p.found, strict=True):
        assert_close(x, y, 1e-15)


def test_methods_that_need_independent_rows_say_so() -> None:
    p = problem("floating four-bar", True)
    with pytest.raises(lw.errors.SingularConstraints, match="ltl cannot solve; a proximal method can"):
        lw.ForwardDynamics(p.robot, "ltl").derivatives(p.q, p.v, p.tau)
    geared = test_zoo.made("geared chain")
    with pytest.raises(
        lw.errors.UnsupportedFeature, match="approximate does not solve the constrained dynamics exactly"
    ):
        lw.ForwardDynamics(geared, "approximate").derivatives(geared.neutral(), *np.zeros((2, geared.nv)))


def test_rows_that_are_not_enabled_have_no_forces_and_no_effect() -> None:
    robot = linkages.rssr()
    s = random_state(robot, 2)
    d = ConstrainedDerivatives(robot.switched({"close": False}))(s.q, s.v, s.tau)
    assert not any(x.any() for x in (d.f, d.df_dq, d.df_dv, d.df_dtau, d.df_dtarget, d.da_dtarget))
    free = lw.ForwardDynamics(robot.switched({"close": False})).derivatives(s.q, s.v, s.tau)
    for x, y in ((d.da_dq, free.da_dq), (d.da_dv, free.da_dv), (d.da_dtau, free.da_dtau)):
        assert_close(x, y, 1e-10)


@pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")
def test_soft_rows_have_the_derivatives_of_soft_rows() -> None:
    robot = linkages.hexapod()
    s = random_state(robot, 3)
    fd = lw.ForwardDynamics(robot, "pv_soft", regularization=0.1)
    d = fd.derivatives(s.q, s.v, s.tau)
    assert_close(d.a, fd(s.q, s.v, s.tau).acceleration, 1e-12)
    h = 1e-5
    ahead, behind = (
        fd(np.array([robot.integrate(s.q, t * e) for e in np.eye(robot.nv)]), s.v, s.tau).acceleration for t in (h, -h)
    )
    assert_close(d.da_dq, (ahead - behind).T / (2 * h), 1e-6)


# Calls -------------------------------------------------------------------------------------------------------


def test_batches_arrays_to_write_to_and_bound_calls_agree() -> None:
    robot = made("RSSR")
    s, fd = random_state(robot, 5, 6), lw.ForwardDynamics(robot, threads=1)
    batch = fd.derivatives(s.q, s.v, s.tau)
    one = fd.derivatives(s.q[2], s.v[2], s.tau[2])
    out = [np.empty_like(x) for x in one]
    given = fd.derivatives(s.q[2], s.v[2], s.tau[2], out=out)
    kept = [np.empty_like(x) for x in one]
    fd.derivatives.bind(s.q[2], s.v[2], s.tau[2], out=kept)()
    for x, y, z, b in zip(one, given, kept, batch, strict=True):
        assert_close(y, x, 0.0)
        assert_close(z, x, 0.0)
        assert_close(b[2], x, 1e-10)
    assert given.da_dq is out[0]
    assert repr(one).startswith("ConstrainedJacobians(da_dq: (5, 5), da_dv: (5, 5), ")


def test_backends_agree_and_operations_are_counted() -> None:
    p = problem("RSSR", False)
    fd = lw.ForwardDynamics(p.robot, threads=1)
    compiled = fd.compile()
    assert compiled.derivatives.backend == "specialized"
    assert 1000 < fd.derivatives.operation_count().total < 10_000
    for d in (fd.derivatives.plain(), compiled.derivatives, fd.derivatives.native("float32")):
        rel = 2e-3 if d.dtype == np.float32 else 1e-11
        for x, y in zip(d(p.q, p.v, p.tau)[:10], p.found, strict=False):
            assert_close(x, y, rel, float(np.abs(y).max()))


@pytest.mark.parametrize("name", ["RSSR", "functions", "all kinds", "four-bar, weld", *OF_TENDONS])
def test_text_reads_no_memory_that_it_has_not_written(name: str) -> None:
    """Work and outputs start as NaN, which would spread."""
    evaluator, s = ConstrainedDerivatives(made(name)), random_state(made(name), 4)
    algorithm, tree = evaluator.program.algorithm, evaluator.program.tree
    work = algorithm.work_type(*(np.full(resolve(shape, tree), np.nan) for shape in algorithm.work.values()))
    outputs = [np.full(resolve(shape, tree), np.nan) for shape in algorithm.outputs.values()]
    algorithm.text(tree, work, *evaluator.input_arrays((s.q, s.v, s.tau)), *outputs)
    assert all(np.isfinite(y).all() for y in outputs)


def test_targets_are_part_of_the_solution() -> None:
    p = problem("hexapod", False)
    target = np.linspace(-1.0, 2.0, p.robot.nc)
    found = lw.ForwardDynamics(p.robot).derivatives(p.q, p.v, p.tau, target=target)
    assert_close(found.a, p.found.a + p.found.da_dtarget @ target, SHARE)
    assert_close(found.f, p.found.f + p.found.df_dtarget @ target, SHARE)


def test_whether_rows_depend_on_others_is_known() -> None:
    assert rows_depend(test_zoo.made("four-bar, weld"))
    assert not rows_depend(test_zoo.made("stewart"))
    assert not rows_depend(made("hexapod"))


# Random mechanisms, Pinocchio, minimal coordinates ----------------------------------------------------------


@settings(max_examples=8, derandomize=True)
@given(seed=st.integers(0, 10_000))
def test_random_mechanisms_by_differences(seed: int) -> None:
    """Partials of both equations by differences, which need no more than the equations."""
    robot = lw.zoo.random_loops(seed, bodies=3 + seed % 6, loops=1 + seed % 3)
    rng = np.random.default_rng(seed)
    q, (v, tau) = robot.random(rng), rng.normal(size=(2, robot.nv))
    d = ConstrainedDerivatives(robot, threads=1)(q, v, tau)

    def equations(q: Floats, v: Floats) -> Floats:
        J = lw.constraint_jacobian(robot, q)
        torques = lw.mass_matrix(robot, q) @ d.a + lw.bias_forces(robot, q, v) - np.swapaxes(J, -1, -2) @ d.f
        target = lw.constraint_target(robot, q, v)
        return np.concatenate([torques, J @ d.a + lw.constraint_bias(robot, q, v) - target], axis=-1)

    def along(t: float) -> Floats:
        return equations(np.array([robot.integrate(q, t * e) for e in np.eye(robot.nv)]), v)

    h = 1e-4
    by_q = ((8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)).T
    # the equations of the derivatives themselves, so that dependent rows need no choice
    M, J = lw.mass_matrix(robot, q), lw.constraint_jacobian(robot, q)
    scale = float(np.abs(by_q).max()) + float(np.abs(M @ d.da_dq).max()) + float(np.abs(J.T @ d.df_dq).max())
    assert_close(M @ d.da_dq - J.T @ d.df_dq, -by_q[: robot.nv], 1e-8, scale)
    if float(d.pivot[0]) > 0.0:
        assert_close(J @ d.da_dq, -by_q[robot.nv :], 1e-8, scale)


def differences(f: Callable[[float], Floats], h: float) -> Floats:
    """``df/dt`` at zero, of fourth order."""
    return np.asarray((8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h))


@pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")
def test_rows_that_become_independent_off_their_loops_have_derivatives_along_motions_that_keep_these_closed() -> None:
    """Rows of rank 6 that have rank 7 nearby: off closed loops accelerations jump, and have no derivative."""
    kinds = ("Weld", "Hinge", "Slider", "Cardan", "Point", "PlaneOnPlane", "Cylindrical")
    robot = lw.zoo.random_loops(24, 7, 2, "rpusSf", kinds, armature=False)
    q, rng = robot.poses["assembled"], np.random.default_rng(24)
    v, tau = rng.normal(size=(2, robot.nv))
    v, fd = robot.project_velocity(q, v), lw.ForwardDynamics(robot, "kkt")
    ranks = [
        np.linalg.matrix_rank(lw.constraint_jacobian(robot, x), 1e-7)
        for x in (q, robot.integrate(q, 1e-3 * rng.normal(size=robot.nv)))
    ]
    assert ranks == [6, 7]
    d, closed = fd.derivatives(q, v, tau), np.linalg.svd(lw.constraint_jacobian(robot, q))[2][ranks[0] :]
    for along in rng.normal(size=(3, len(closed))) @ closed:

        def state(t: float, along: Floats = along) -> tuple[Floats, Floats]:
            x = robot.assemble(robot.integrate(q, t * along), limits=False)
            return x, robot.project_velocity(x, v)

        rates = differences(lambda t: fd(*state(t), tau).acceleration, 1e-3)
        speeds = differences(lambda t: state(t)[1], 1e-3)
        assert_close(d.da_dq @ along + d.da_dv @ speeds, rates, 1e-8)


@pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")
@pytest.mark.parametrize(("seed", "bodies", "loops"), [(24, 3, 1), (4, 5, 2), (16, 3, 1)])
def test_open_loops_whose_rows_contradict_each_other_have_derivatives(seed: int, bodies: int, loops: int) -> None:
    """Rows miss their targets by e: the fit that minimizes ``e' R^-1 e`` turns with J, and so do smallest forces."""
    robot = lw.zoo.random_loops(seed, bodies, loops)
    rng = np.random.default_rng(seed)
    q, (v, tau) = robot.random(rng), rng.normal(size=(2, robot.nv))
    fd = lw.ForwardDynamics(robot, "kkt")
    d = fd.derivatives(q, v, tau)
    assert d.pivot[0] == 0.0
    missed = lw.constraint_target(robot, q, v) - lw.constraint_bias(robot, q, v)
    missed = missed - lw.constraint_jacobian(robot, q) @ d.a
    assert np.abs(missed).max() > 1e-2

    def solution(t: float) -> Floats:
        s = fd(np.array([robot.integrate(q, t * e) for e in np.eye(robot.nv)]), v, tau)
        assert s.multipliers is not None
        return np.concatenate([s.acceleration, s.multipliers], axis=-1).T

    accelerations, forces = np.split(differences(solution, 3e-4), [robot.nv])
    assert_close(d.da_dq, accelerations, 1e-9)
    assert_close(d.df_dq, forces, 1e-9)


@pytest.mark.parametrize("gap", [1e-9, 1e-7])
def test_loops_that_are_open_by_little_have_nearly_the_derivatives_of_closed_ones(gap: float) -> None:
    """Rows across the plane of a loop are moved by a floating base as far as points that are to meet are apart."""
    robot = made("floating four-bar")
    q = robot.assemble(robot.neutral())
    rng = np.random.default_rng(0)
    v, tau, along = rng.normal(size=(3, robot.nv))
    v, fd = robot.project_velocity(q, v), lw.ForwardDynamics(robot, "kkt")
    closed, off = fd.derivatives(q, v, tau), robot.integrate(q, gap * along)
    found = fd.derivatives(off, v, tau)
    assert_close(found.a, fd(off, v, tau).acceleration, 1e-12)
    assert_close(found.da_dq, closed.da_dq, 1e3 * gap)
    assert_close(found.df_dq, closed.df_dq, 1e3 * gap)


@pytest.mark.skipif(not long_doubles.WIDER, reason="long doubles are doubles here")
@pytest.mark.parametrize(("seed", "closed"), [(412, False), (47, False), (289, True)])
def test_nearly_dependent_rows_lose_digits_by_their_condition_not_its_square(seed: int, closed: bool) -> None:
    """Rows with condition numbers to 15 000, and such that stand for redundant ones after them."""
    robot = lw.zoo.random_loops(seed, bodies=3 + seed % 6, loops=1 + seed % 3)
    rng = np.random.default_rng(seed)
    q, (v, tau) = robot.random(rng), rng.normal(size=(2, robot.nv))
    if closed:
        q = robot.poses["assembled"]
        J = lw.constraint_jacobian(robot, q)
        v = v - np.linalg.pinv(J, rcond=INDEPENDENT) @ (J @ v)
    evaluator = ConstrainedDerivatives(robot).plain()
    found, inputs = evaluator(q, v, tau), evaluator.input_arrays((q, v, tau))
    exact = dict(zip(found._fields, long_doubles.run(evaluator.program, inputs), strict=True))
    rows = np.linalg.solve(np.linalg.cholesky(lw.mass_matrix(robot, q)), lw.constraint_jacobian(robot, q).T)
    values = np.linalg.svd(rows / np.linalg.norm(rows, axis=0), compute_uv=False)
    condition = (
        values[0] / values[values > 1e-9][-1] if found.pivot[0] > 0 else 1e4
    )  # of redundant rows, in their order
    for name in ("f", "df_dq", "df_dtau", "da_dtarget", "df_dtarget", "da_dq"):
        size = float(np.abs(exact[name]).max())
        assert_close(getattr(found, name), exact[name].astype(float), 1e3 * np.finfo(float).eps * condition, size)


@pytest.mark.skipif(not long_doubles.WIDER, reason="long doubles are doubles here")
@pytest.mark.parametrize("off", [1e-2, 1e-5])
def test_states_near_a_singular_one_have_errors_of_rounding_times_condition(off: float) -> None:
    """An arm that is nearly stretched, its tip held along two lines in its plane: one of them is lost in the end."""
    q = np.array([0.3, off, -0.7 * off])
    arm, axes = lw.zoo.pendulum(3), ((1, 0, 0), (1, 0, 1))
    tip = arm.body_names[-1]
    rows = [lw.constraints.PointOnPlane("world", tip, axis=x, second_at=(0, 0, -1), name=str(x)) for x in axes]
    robot = arm.constrained(*rows, at=q)
    v, tau = np.random.default_rng(0).normal(size=(2, 3))
    evaluator = ConstrainedDerivatives(robot).plain()
    found = evaluator(q, v, tau)
    exact = long_doubles.run(evaluator.program, evaluator.input_arrays((q, v, tau)))
    condition = 2.0 / float(np.sqrt(found.pivot[0]))
    assert condition > 1.0 / off
    for x, y in zip(found[:-1], exact, strict=False):
        assert_close(x, y.astype(float), 50 * np.finfo(float).eps * condition, float(np.abs(y).max()))


@pytest.mark.parametrize("closure", ["hinge", "line"])
def test_a_singular_configuration_is_a_warning(closure: Any) -> None:
    """A parallelogram that is folded flat may go on as a parallelogram or as a crossed four-bar."""
    flat, turned = (lw.zoo.four_bar(closure, 0.5, 0.3, 0.5, 0.3, angle) for angle in (0.0, 0.5))
    derivatives = lw.ForwardDynamics(flat).derivatives
    singular, regular, v, tau = flat.poses["assembled"], turned.poses["assembled"], np.zeros(3), np.ones(3)
    assert np.abs(lw.constraint_error(flat, regular)).max() < 1e-12
    with pytest.warns(lw.errors.StateWarning, match="constraints leave 2 degrees of freedom there, and 1 nearby"):
        derivatives(np.stack([regular, singular]), v, tau)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        derivatives(regular, v, tau)


def test_two_welded_feet_as_pinocchio_has_them() -> None:
    pin = pytest.importorskip("pinocchio")
    from tests.support.robots import load, pinocchio_model, to_pinocchio, velocity_permutation

    robot, model = load("simple_humanoid"), pinocchio_model("simple_humanoid")
    rng = np.random.default_rng(3)
    q, (v, tau) = robot.random(rng), rng.normal(size=(2, robot.nv))
    names = "RLEG_ANKLE_R", "LLEG_ANKLE_R"
    feet = [next(j.child for j in robot.joints if j.name == name) for name in names]
    held = robot.constrained(*(lw.constraints.Weld("world", body, name=body) for body in feet), at=q)
    J = lw.constraint_jacobian(held, q)
    v = v - np.linalg.pinv(J) @ (J @ v)
    data, perm = model.createData(), velocity_permutation(robot, model)
    theirs = np.empty((2, robot.nv))
    theirs[:, perm] = v, tau
    at = to_pinocchio(robot, model, q)
    pin.forwardKinematics(model, data, at)
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for name in names:
        i = model.getJointId(name)
        place, frame = pin.SE3.Identity(), pin.ReferenceFrame.LOCAL
        contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, i, place, 0, data.oMi[i], frame))
        datas.append(contacts[-1].createData())
    pin.initConstraintDynamics(model, data, contacts, datas)
    proximal = pin.ProximalSettings(1e-12, 0.0, 1)
    pin.constraintDynamics(model, data, at, *theirs, contacts, datas, proximal)
    pin.computeConstraintDynamicsDerivatives(model, data, contacts, datas, proximal)
    found = lw.ForwardDynamics(held, "prox_bbo").derivatives(q, v, tau)
    for ours, other in ((found.da_dq, data.ddq_dq), (found.da_dv, data.ddq_dv), (found.da_dtau, data.ddq_dtau)):
        assert_close(ours, other[np.ix_(perm, perm)], 1e-9)


@pytest.mark.parametrize("name", ["floating four-bar", "RSSR", "stewart", "rope by rope", "joints by joints"])
def test_derivatives_in_minimal_coordinates_keep_loops_closed(name: str) -> None:
    robot = made(name) if name in CASES else test_zoo.made(name)
    rng = np.random.default_rng(1)
    start = robot.poses.get("assembled", robot.neutral())
    q = robot.assemble(robot.integrate(start, 0.05 * rng.normal(size=robot.nv)), limits=False)
    m, h = lw.Minimal(robot), 1e-3
    rate, tau = rng.normal(size=m.ny), rng.normal(size=robot.nv)
    v = m.velocity(q, rate)
    d = lw.derivatives.minimal_derivatives(robot, q, v, tau)
    fd = lw.ForwardDynamics(robot)
    assert_close(d.matrix @ rate, v, 1e-10)

    def moved(dy: Floats) -> Floats:
        at = m.complete(robot.integrate(q, d.matrix @ dy))
        speeds = m.velocity(at, rate)
        return np.concatenate([fd(at, speeds, tau).acceleration[m.index], speeds])

    def derivative(f: Callable[[Floats], Floats]) -> Floats:
        E = h * np.eye(m.ny)
        return np.array([(8 * (f(e) - f(-e)) - (f(2 * e) - f(-2 * e))) / (12 * h) for e in E]).T

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.StateWarning)
        by_y = derivative(moved)
        by_rate = derivative(lambda e: np.asarray(fd(q, m.velocity(q, rate + e), tau).acceleration[m.index]))
    assert_close(d.ddy_dy, by_y[: m.ny], 1e-7)
    assert_close(d.dv_dy, by_y[m.ny :], 1e-7)
    assert_close(d.ddy_drate, by_rate, 1e-7)


def test_a_tree_is_its_own_minimal_coordinates() -> None:
    robot = lw.zoo.pendulum(3)
    s = random_state(robot, 4)
    found, free = (
        lw.derivatives.minimal_derivatives(robot, s.q, s.v, s.tau),
        lw.ForwardDynamics(robot).derivatives(s.q, s.v, s.tau),
    )
    assert_close(found.ddy_dy, free.da_dq, 0.0)
    assert_close(found.ddy_drate, free.da_dv, 0.0)
    assert not found.dv_dy.any()
