# SPDX-License-Identifier: BSD-3-Clause
"""Delassus operators in use: in SciPy's solvers, beside the Jacobian, in threads, for impacts and accelerations."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg as sla

import linkwork as lw
from linkwork.dynamics.delassus import METHODS, DampedInverse, Delassus, DelassusOperator, memory
from linkwork.mechanism import Mechanism
from tests.dynamics import test_forward_models
from tests.support import linkages
from tests.support.gauss import closed_state, distance
from tests.support.states import Floats, assert_close
from tests.zoo import test_zoo, test_zoo_scenes

MAKE: dict[str, Callable[[], Mechanism]] = {
    "four-bar": lw.zoo.four_bar,
    "delta with rods of no mass": partial(test_zoo.made, "delta with rods of no mass"),
    "chain of 5 loops": partial(test_zoo.made, "chain of 5 loops"),
    "geared chain": partial(test_zoo.made, "geared chain"),
    "center of mass": partial(linkages.made, "center of mass"),
    "swimmer": partial(test_zoo.made, "swimmer"),
    "pyramid": partial(test_zoo.made, "pyramid of 2 layers"),
    "quadruped": partial(test_zoo_scenes.made, "quadruped standing, friction"),
    "humanoid": partial(test_zoo_scenes.made, "humanoid standing"),
    "Cassie": partial(test_forward_models.from_file, "Cassie"),
    "Kangaroo": partial(test_forward_models.from_file, "Kangaroo"),
}
each_robot = pytest.mark.parametrize("name", MAKE)


class Setup:
    """An operator, its configuration and dense matrices."""

    def __init__(self, robot: Mechanism, method: str = "matrix_free", seed: int = 0) -> None:
        self.robot, self.rng = robot, np.random.default_rng(seed)
        self.q = robot.random(self.rng)
        self.family = Delassus(robot, method)
        self.op = self.family.at(self.q)
        self.J, self.M = lw.constraint_jacobian(robot, self.q), lw.mass_matrix(robot, self.q)
        self.D = self.J @ np.linalg.solve(self.M, self.J.T)

    @property
    def n(self) -> int:
        return self.robot.nc

    def damped(self, r: float) -> Floats:
        return np.asarray(self.D + r * np.eye(self.n))


@cache
def setup(name: str, method: str = "matrix_free") -> Setup:
    return Setup(MAKE[name](), method)


@pytest.fixture(params=["matrix_free", "pv_osim"])
def quadruped(request: pytest.FixtureRequest) -> Setup:
    return setup("quadruped", request.param)


# In SciPy ----------------------------------------------------------------------------------------------------


def test_operators_are_what_scipy_knows(quadruped: Setup) -> None:
    inverse = quadruped.op.damped_inverse(0.1)
    others = (quadruped.op.jacobian, quadruped.op.inverse_mass, quadruped.op.response, quadruped.op.preconditioner())
    for op in (quadruped.op, inverse, *others):
        assert isinstance(op, sla.LinearOperator) and op.dtype == np.float64
    n, nv = quadruped.n, quadruped.robot.nv
    assert isinstance(quadruped.op, DelassusOperator) and isinstance(inverse, DampedInverse)
    assert quadruped.op.shape == inverse.shape == others[3].shape == (n, n)
    assert [op.shape for op in others[:3]] == [(n, nv), (nv, nv), (nv, n)]


@pytest.mark.parametrize("solve", [sla.cg, sla.minres, sla.gmres, sla.bicgstab])
def test_iterative_solvers_take_it(quadruped: Setup, solve: Callable[..., Any]) -> None:
    b = quadruped.rng.normal(size=quadruped.n)
    shifted = quadruped.op + sla.aslinearoperator(np.eye(quadruped.n))
    x, failed = solve(shifted, b, rtol=1e-12, maxiter=1000)
    assert not failed
    assert_close(x, np.linalg.solve(quadruped.damped(1.0), b), 1e-9)


def test_the_damped_inverse_is_the_perfect_preconditioner(quadruped: Setup) -> None:
    b, steps = quadruped.rng.normal(size=quadruped.n), []
    shifted = quadruped.op + sla.aslinearoperator(1e-2 * np.eye(quadruped.n))
    M = quadruped.op.damped_inverse(1e-2)
    x, failed = sla.cg(shifted, b, rtol=1e-10, M=M, callback=lambda x: steps.append(x))
    assert not failed and len(steps) <= 3
    assert_close(x, np.linalg.solve(quadruped.damped(1e-2), b), 1e-9)


def test_eigenvalues_and_singular_values(quadruped: Setup) -> None:
    exact = np.linalg.eigvalsh(quadruped.D)
    assert_close(np.sort(sla.eigsh(quadruped.op, 3, return_eigenvectors=False)), exact[-3:], 1e-9)
    assert_close(np.sort(sla.svds(quadruped.op, 3, return_singular_vectors=False)), exact[-3:], 1e-7)
    start = np.random.default_rng(1).normal(size=(quadruped.n, 2))
    assert_close(np.sort(sla.lobpcg(quadruped.op, start, tol=1e-8, maxiter=500)[0]), exact[-2:], 1e-7)


@each_robot
def test_products_with_vectors_and_matrices(name: str) -> None:
    s = setup(name)
    X = np.random.default_rng(1).normal(size=(s.n, 4))
    r = 0.1
    for op, A in ((s.op, s.D), (s.op.damped_inverse(r), np.linalg.inv(s.damped(r)))):
        assert_close(op @ X, A @ X, 1e-9)
        assert (op.matmat(X) == op @ X).all()
        for k in range(4):
            assert (op @ X[:, k] == (op @ X)[:, k]).all()
        assert (op.matvec(X[:, :1]) == (op @ X)[:, :1]).all() and op.matvec(X[:, :1]).shape == (s.n, 1)
        assert (op @ np.asfortranarray(X) == op @ X).all() and (op @ X[::-1][::-1] == op @ X).all()
        assert (op @ X[:, :0]).shape == (s.n, 0)
        assert (op.rmatvec(X[:, 0]) == op @ X[:, 0]).all() and (op.rmatmat(X) == op @ X).all()
        assert_close(op @ (X[:, 0] + 1j * X[:, 1]), A @ (X[:, 0] + 1j * X[:, 1]), 1e-9)
        assert_close(op @ (X + 1j * X[:, ::-1]), A @ (X + 1j * X[:, ::-1]), 1e-9)
        assert_close(op.toarray(), A, 1e-9)
        assert (op.toarray() == op.toarray().T).all()


def test_operators_add_and_scale(quadruped: Setup) -> None:
    op, D, x = quadruped.op, quadruped.D, quadruped.rng.normal(size=quadruped.n)
    inverse = op.damped_inverse(0.5)
    for found, matrix in (
        (op + op, 2 * D),
        (2 * op, 2 * D),
        (-op, -D),
        (op - 0.5 * op, 0.5 * D),
        (op @ op, D @ D),
        (op**2, D @ D),
        (op.T, D),
        (op.H, D),
        (inverse.T, np.linalg.inv(quadruped.damped(0.5))),
        (inverse @ (op + sla.aslinearoperator(0.5 * np.eye(quadruped.n))), np.eye(quadruped.n)),
    ):
        assert_close(found @ x, matrix @ x, 1e-9)


def test_vectors_of_other_types(quadruped: Setup) -> None:
    whole = np.arange(quadruped.n) - 3
    for op in (quadruped.op, quadruped.op.damped_inverse(0.1)):
        expected = op @ whole.astype(np.float64)
        for x in (whole, whole.astype(np.float32), whole.tolist()):
            found = op @ x
            assert found.dtype == np.float64 and (found == expected).all()
    whole = np.arange(quadruped.robot.nv)
    assert (quadruped.op.jacobian @ whole == quadruped.op.jacobian @ whole.astype(np.float64)).all()


@pytest.mark.parametrize("which", ["product", "inverse", "jacobian", "inverse_mass", "response", "preconditioner"])
def test_vectors_of_wrong_sizes_are_errors(quadruped: Setup, which: str) -> None:
    op = quadruped.op
    made = {"product": op, "inverse": op.damped_inverse(1.0), "preconditioner": op.preconditioner()}
    found = made[which] if which in made else getattr(op, which)
    for shape in ((found.shape[1] + 1,), (found.shape[1] - 1, 2), (1,), (found.shape[1], 2, 2)):
        with pytest.raises(ValueError):
            found @ np.ones(shape)


# Beside it -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["matrix_free", "efpa"])
@each_robot
def test_the_jacobian_the_inverse_mass_and_the_response(name: str, method: str) -> None:
    s, rng = setup(name, method), np.random.default_rng(2)
    inverse = np.linalg.inv(s.M)
    for op, A in ((s.op.jacobian, s.J), (s.op.inverse_mass, inverse), (s.op.response, inverse @ s.J.T)):
        X, Y = rng.normal(size=(A.shape[1], 3)), rng.normal(size=(A.shape[0], 3))
        assert_close(op @ X, A @ X, 1e-10)
        assert_close(op @ X[:, 0], A @ X[:, 0], 1e-10)
        assert_close(op.T @ Y, A.T @ Y, 1e-10)
        assert_close(op.H @ Y[:, 0], A.T @ Y[:, 0], 1e-10)
        assert_close(op.rmatvec(Y[:, :1]), A.T @ Y[:, :1], 1e-10)
        assert_close(op.rmatmat(Y), A.T @ Y, 1e-10)
    assert_close(s.op.error, lw.constraint_error(s.robot, s.q), 1e-12, scale=1.0)


@pytest.mark.parametrize("name", ["four-bar", "quadruped"])
def test_operators_beside_it_take_complex_vectors(name: str) -> None:
    """As SciPy's own do: none of the imaginary part is lost."""
    op, rng = setup(name).op, np.random.default_rng(3)
    for other in (op.jacobian, op.inverse_mass, op.response):
        x, y = rng.normal(size=(2, other.shape[1]))
        assert_close(other @ (x + 1j * y), other @ x + 1j * (other @ y), 1e-14)
        x, y = rng.normal(size=(2, other.shape[0]))
        assert_close(other.T @ (x + 1j * y), other.T @ x + 1j * (other.T @ y), 1e-14)


@each_robot
def test_transposes_are_adjoint(name: str) -> None:
    s, rng = setup(name), np.random.default_rng(4)
    for op in (s.op.jacobian, s.op.inverse_mass, s.op.response, s.op, s.op.damped_inverse(1.0)):
        for _ in range(5):
            x, y = rng.normal(size=op.shape[1]), rng.normal(size=op.shape[0])
            there, back = op @ x, op.T @ y
            assert abs(there @ y - x @ back) <= 1e-12 * np.linalg.norm(there) * np.linalg.norm(y)


@pytest.mark.parametrize("method", METHODS)
def test_all_that_an_operator_has_fits_together(method: str) -> None:
    """``D = J (M^-1 J')``, by whatever method."""
    s = Setup(test_zoo_scenes.made("humanoid standing"), method)
    f = s.rng.normal(size=s.n)
    assert_close(s.op @ f, s.D @ f, 1e-10)
    assert_close(s.op.jacobian @ (s.op.response @ f), s.D @ f, 1e-10)
    assert_close(s.op.inverse_mass @ (s.op.jacobian.T @ f), s.op.response @ f, 1e-10)
    assert_close(s.op.diagonal(), np.diagonal(s.D), 1e-10)


@each_robot
def test_the_diagonal_and_the_blocks(name: str) -> None:
    s = setup(name)
    assert_close(s.op.diagonal(), np.diagonal(s.D), 1e-10)
    blocks = s.op.blocks()
    assert list(blocks) == [c.name for c in s.robot.constraints]
    for constraint, block in blocks.items():
        rows = s.robot.row_slice(constraint)
        assert_close(block, s.D[rows, rows], 1e-10, scale=float(np.abs(s.D).max()))


@each_robot
def test_the_preconditioner_inverts_the_blocks(name: str) -> None:
    s, x = setup(name), np.random.default_rng(5).normal(size=setup(name).n)
    R = 10 ** np.random.default_rng(6).uniform(-2, 2, size=s.n)
    for damping in (0.3, R):
        expected = np.empty(s.n)
        for c in s.robot.constraints:
            rows = s.robot.row_slice(c.name)
            added = np.diag(np.broadcast_to(damping, s.n)[rows])
            expected[rows] = np.linalg.solve(s.D[rows, rows] + added, x[rows])
        assert_close(s.op.preconditioner(damping) @ x, expected, 1e-9)
    assert np.isfinite(s.op.preconditioner() @ x).all()  # also of rows that no joint feels


@pytest.mark.parametrize("name", ["ladder", "stalk", "chain of 5 loops", "quadruped"])
def test_the_preconditioner_saves_iterations_where_rows_are_independent(name: str) -> None:
    """And of different units: welds have rows that turn and rows that slide."""
    robot = lw.zoo.quadruped_standing() if name == "quadruped" else test_zoo.made(name)
    op, r = Delassus(robot).at(robot.poses["assembled"]), 1e-2
    b = np.random.default_rng(7).normal(size=robot.nc)
    shifted, taken = op + r * sla.aslinearoperator(np.eye(robot.nc)), []
    for M in (None, op.preconditioner(r)):
        steps: list[int] = []
        x, failed = sla.cg(shifted, b, rtol=1e-8, M=M, callback=lambda _, steps=steps: steps.append(1))
        assert not failed
        assert_close(x, op.damped_inverse(r) @ b, 1e-4)
        taken.append(len(steps))
    assert taken[1] < 0.7 * taken[0]


@each_robot
def test_the_largest_eigenvalue(name: str) -> None:
    s = setup(name)
    largest = np.linalg.eigvalsh(s.D)[-1]
    assert s.op.largest_eigenvalue() == pytest.approx(largest, rel=1e-4)
    assert s.op.default_damping() == pytest.approx(1e-6 * largest, rel=0.5)
    assert (s.op.damped_inverse().damping == s.op.default_damping()).all()


def test_the_largest_eigenvalue_of_the_pyramid() -> None:
    robot = lw.zoo.pyramid(3)
    q = robot.poses["assembled"]
    J = lw.constraint_jacobian(robot, q)
    exact = np.linalg.eigvalsh(J @ np.linalg.solve(lw.mass_matrix(robot, q), J.T))[-1]
    assert Delassus(robot).at(q).largest_eigenvalue() == pytest.approx(exact, rel=1e-4)


def test_an_eigenvalue_that_is_not_found_is_an_error() -> None:
    with pytest.raises(lw.errors.NotConverged, match=r"did not converge to a relative error of \S+ in 1 iterations"):
        setup("quadruped").op.largest_eigenvalue(max_iterations=1)


def test_rows_that_nothing_feels_have_an_inverse_by_default() -> None:
    """A plane in which a pendulum swings anyhow: ``D`` is zero."""
    robot = lw.zoo.pendulum(2).constrained(lw.constraints.PointOnPlane("world", "link1", name="plane", axis="y"))
    op = Delassus(robot).at(robot.random(0))
    assert (op.toarray() == 0.0).all() and op.largest_eigenvalue() == 0.0
    assert np.isfinite(op.damped_inverse() @ np.ones(1)).all()


# Values, and threads ---------------------------------------------------------------------------------------------


def test_what_is_given_is_copied_and_what_is_had_is_read_only(quadruped: Setup) -> None:
    q, x = quadruped.q.copy(), quadruped.rng.normal(size=quadruped.n)
    R = np.full(quadruped.n, 0.1)
    op = quadruped.family.at(q)
    inverse = op.damped_inverse(R)
    before = op @ x, inverse @ x, op.error.copy(), op.diagonal()
    q[:] = quadruped.robot.random(1)
    R[:] = 7.0
    for found, expected in zip((op @ x, inverse @ x, op.error, op.diagonal()), before, strict=True):
        assert (found == expected).all()
    for array in (op.q, op.error, inverse.damping):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    op.toarray()[:] = 0.0
    op.diagonal()[:] = 0.0
    next(iter(op.blocks().values()))[:] = 0.0
    assert (op @ x == before[0]).all() and (op.diagonal() == before[3]).all()
    x[0] += 1.0  # results are new arrays each time
    assert not np.may_share_memory(op @ x, op @ x)


def test_another_damping_makes_another_operator(quadruped: Setup) -> None:
    x, rows = quadruped.rng.normal(size=quadruped.n), 10 ** quadruped.rng.uniform(-3, 3, size=quadruped.n)
    first = quadruped.op.damped_inverse(0.1)
    before = first @ x
    for damping in (1e-4, 0.1, 10.0, rows):
        other = first.with_damping(damping)
        assert other is not first and other.operator is first.operator
        assert (other @ x == quadruped.op.damped_inverse(damping) @ x).all()
        assert_close(other @ x, np.linalg.solve(quadruped.D + np.diag(np.broadcast_to(damping, quadruped.n)), x), 1e-9)
    assert (first @ x == before).all() and (first.damping == 0.1).all()


@pytest.mark.parametrize("method", ["matrix_free", "ltl", "pv_osim_fast"])
def test_threads_share_one_operator(method: str) -> None:
    s = Setup(test_zoo_scenes.made("quadruped standing, friction"), method)
    X = s.rng.normal(size=(8, 200, s.n))
    V = s.rng.normal(size=(8, 200, s.robot.nv))
    op = Delassus(s.robot, method).at(s.q)
    inverse = op.damped_inverse(1e-3)
    serial = [(op @ x, inverse @ x, op.jacobian @ v, op.response @ x) for x, v in zip(X[0], V[0], strict=True)]
    op = Delassus(s.robot, method).at(s.q)  # nothing of it is prepared yet
    inverse = op.damped_inverse(1e-3)

    def work(k: int) -> list[tuple[Floats, ...]]:
        x, v = (X[0], V[0]) if k % 2 else (X[k], V[k])
        return [(op @ a, inverse @ a, op.jacobian @ b, op.response @ a) for a, b in zip(x, v, strict=True)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    for k in range(1, 8, 2):
        assert all(
            (a == b).all() for one, other in zip(found[k], serial, strict=True) for a, b in zip(one, other, strict=True)
        )
    for k in range(0, 8, 2):
        for j in (0, 99, 199):
            assert (found[k][j][0] == op @ X[k, j]).all() and (found[k][j][1] == inverse @ X[k, j]).all()


def test_threads_make_operators_of_one_family() -> None:
    s = setup("quadruped")
    rng = np.random.default_rng(8)
    poses, x = [s.robot.random(rng) for _ in range(64)], rng.normal(size=s.n)

    def work(q: Floats) -> tuple[Floats, Floats, Floats]:
        op = s.family.at(q)
        return op @ x, op.damped_inverse(0.1) @ x, op.error

    serial = [work(q) for q in poses]
    with ThreadPoolExecutor(8) as pool:
        for found, expected in zip(pool.map(work, poses * 5), serial * 5, strict=True):
            assert all((a == b).all() for a, b in zip(found, expected, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["matrix_free", "pv_osim"])
def test_operators_of_one_family_do_not_disturb_each_other(method: str) -> None:
    s = Setup(test_zoo_scenes.made("quadruped standing, friction"), method)
    x = s.rng.normal(size=s.n)
    kept = [s.family.at(s.robot.random(s.rng)) for _ in range(3)]
    inverses = [op.damped_inverse(r) for op in kept for r in (1e-3, 10.0)]
    jacobians = [op.jacobian.T for op in kept]
    everything = [*kept, *inverses, *jacobians]
    before = [op @ x for op in everything]
    for _ in range(30):
        other = s.family.at(s.robot.random(s.rng))
        assert np.isfinite(other.damped_inverse(1.0) @ (other @ x)).all()
    gc.collect()
    assert all((op @ x == y).all() for op, y in zip(everything, before, strict=True))
    del kept, inverses, other
    gc.collect()
    for _ in range(10):
        s.family.at(s.robot.random(s.rng)).damped_inverse(1.0)
    assert all((op @ x == y).all() for op, y in zip(everything, before, strict=True))


def test_work_arrays_of_operators_that_are_gone_serve_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    class Counted(memory.Workspace):
        def __init__(self, *given: Any) -> None:
            made.append(None)
            super().__init__(*given)

    monkeypatch.setattr(memory, "Workspace", Counted)
    s = Setup(lw.zoo.quadruped_standing())
    x = np.ones(s.n)
    for _ in range(200):
        op = s.family.at(s.robot.random(s.rng))
        for r in (0.1, 1.0):
            assert np.isfinite(op.damped_inverse(r) @ (op @ x)).all()
    gc.collect()
    assert 0 < len(made) <= 10
    assert len(s.family.operator_memory._idle) + len(s.family.damped_memory._idle) <= len(made)
    idle = s.family.damped_memory._idle
    assert len({id(workspace) for workspace in idle}) == len(idle)  # none is lent twice


# What it is for --------------------------------------------------------------------------------------------------


@each_robot
def test_impulses_change_momentum(name: str) -> None:
    s, rng = setup(name), np.random.default_rng(9)
    v, p = rng.normal(size=s.robot.nv), rng.normal(size=s.n)
    after = v + s.op.response @ p
    assert_close(s.M @ (after - v), s.J.T @ p, 1e-10)
    assert_close(s.J @ (after - v), s.op @ p, 1e-10)


def test_an_inelastic_impact_is_a_damped_inverse() -> None:
    robot = lw.zoo.quadruped_standing()
    q, v = robot.poses["assembled"], np.random.default_rng(10).normal(size=robot.nv)
    op = Delassus(robot).at(q)
    p = -(op.damped_inverse(1e-8) @ (op.jacobian @ v))
    after = v + op.response @ p
    assert np.abs(op.jacobian @ after).max() <= 1e-6
    hit = lw.ImpactDynamics(robot, "lcaba")(q, v)
    assert_close(after, hit.velocity, 1e-6)
    assert_close(p, np.concatenate([hit.impulses[c.name] for c in robot.constraints]), 1e-6)
    assert lw.energy(robot, q, after).kinetic < lw.energy(robot, q, v).kinetic


@pytest.mark.parametrize("name", test_zoo.FACTS)
def test_constrained_dynamics_by_the_schur_complement(name: str) -> None:
    """On mechanisms of independent rows: ``lambda = (D + r)^-1 (k - J a_free)``, r well below what rows yield."""
    robot = test_zoo.made(name)
    p = closed_state(robot, robot.poses["assembled"], np.random.default_rng([len(name), 11]))
    if p.redundant:
        return
    op = Delassus(robot).at(p.q)
    free = op.inverse_mass @ p.pull
    weakest = float(np.linalg.eigvalsh(p.J @ np.linalg.solve(p.M, p.J.T))[0])
    forces = op.damped_inverse(1e-8 * weakest) @ (p.k - op.jacobian @ free)
    s = lw.ForwardDynamics(robot, "kkt", threads=1)(p.q, p.v, p.tau)
    assert distance(free + op.response @ forces, s.acceleration, float(np.abs(free).max())) <= 1e-6
    assert distance(forces, s.multipliers) <= 1e-5


def test_most_of_the_zoo_has_independent_rows() -> None:
    """Or the test above is about little."""
    found = [test_zoo.made(name) for name in test_zoo.FACTS]
    ranks = [robot.mobility(robot.poses["assembled"]).rank == robot.nc for robot in found]
    assert sum(ranks) >= 20
