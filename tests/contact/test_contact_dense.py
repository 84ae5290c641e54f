# SPDX-License-Identifier: BSD-3-Clause
"""Contact problems of rows: analytic cases, every solver against the true problem, each other and Pinocchio."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork import zoo
from linkwork.contact.dense import RowSolverName, row_solver, solve_contacts
from linkwork.contact.row_problem import RowSolution
from linkwork.dynamics.delassus import Contacts, Delassus
from linkwork.errors import InputError

Floats = npt.NDArray[np.float64]
Solver = Literal["pgs", "admm", "newton"]

SOLVERS: tuple[Solver, ...] = ("pgs", "admm", "newton")
ITERATIVE: tuple[RowSolverName, ...] = ("pgs", "admm")
"""Solvers with a first-order iteration, made once for a structure."""
TOLERANCE = 1e-8


class Problem(NamedTuple):
    """A contact problem with the robot that it is of."""

    G: Floats
    g: Floats
    mu: Floats


def cross(a: Floats) -> Floats:
    """``a x``."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def impact(seed: int, bodies: int = 4, contacts: int = 6, decades: float = 1.5, most_friction: float = 1.2) -> Problem:
    """Free bodies that hit each other and the world at random places."""
    rng = np.random.default_rng(seed)
    inverse = np.zeros((6 * bodies, 6 * bodies))
    for k, mass in enumerate(10 ** rng.uniform(-decades, decades, bodies)):
        A = rng.normal(size=(3, 3))
        inverse[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = np.eye(3) / mass
        inverse[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = np.linalg.inv(A @ A.T + 0.3 * np.eye(3)) / (mass * 0.01)
    J = np.zeros((contacts, 3, 6 * bodies))
    for c in range(contacts):
        i, j = rng.permutation(bodies)[:2] if c % 2 and bodies > 1 else (int(rng.integers(bodies)), -1)
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        for body, sign in ((i, 1.0), (j, -1.0)):
            if body >= 0:
                arm = cross(0.1 * rng.normal(size=3))
                J[c, :, 6 * body : 6 * body + 3] = sign * Q
                J[c, :, 6 * body + 3 : 6 * body + 6] = -sign * Q @ arm
    rows = J.reshape(3 * contacts, -1)
    g = rows @ rng.normal(size=6 * bodies)
    return Problem(rows @ inverse @ rows.T, g, rng.uniform(0.0, most_friction, contacts))


def stack(boxes: int, top: float = 1.0, mu: float = 0.5, push: float = 0.0, dt: float = 1e-3) -> Problem:
    """Boxes on each other, four contacts each; the top one of another mass, and pushed by an acceleration."""
    h, nv = 0.1, 6 * boxes
    masses = np.array([1.0] * (boxes - 1) + [top])
    inverse = np.concatenate([np.concatenate([np.full(3, 1 / m), np.full(3, 6 / (m * 4 * h * h))]) for m in masses])
    J = []
    for k in range(boxes):
        for x in (-h, h):
            for y in (-h, h):
                R = np.zeros((3, nv))
                for body, z, sign in ((k, -h, 1.0), (k - 1, h, -1.0)):
                    if body >= 0:
                        R[:, 6 * body : 6 * body + 3] = sign * np.eye(3)
                        R[:, 6 * body + 3 : 6 * body + 6] = -sign * cross(np.array([x, y, z]))
                J.append(R)
    rows, v = np.vstack(J), np.zeros(nv)
    v[2::6] = -9.81 * dt
    v[nv - 6] = push * dt
    G = (rows * inverse) @ rows.T
    G[np.abs(G) < 1e-12 * np.abs(G).max()] = 0.0
    return Problem(G, rows @ v, np.full(4 * boxes, mu))


def violations(p: Problem, f: Floats) -> dict[str, float]:
    """What forces violate of Signorini's condition, of Coulomb's cone and of maximum dissipation, in velocities."""
    u, F = (p.G @ f + p.g).reshape(-1, 3), f.reshape(-1, 3)
    D = np.diagonal(p.G).reshape(-1, 3).mean(axis=1)
    r, s = np.linalg.norm(F[:, :2], axis=1), np.linalg.norm(u[:, :2], axis=1)
    against = np.einsum("ki,ki->k", F[:, :2], u[:, :2]) + p.mu * F[:, 2] * s  # zero: the force opposes sliding fully
    return {
        "penetration": float(np.maximum(-u[:, 2], 0).max()),
        "adhesion": float((D * np.maximum(-F[:, 2], 0)).max()),
        "cone": float((D * np.maximum(r - p.mu * F[:, 2], 0)).max()),
        "complementarity": float(np.sqrt(np.abs(D * F[:, 2] * u[:, 2])).max()),
        "dissipation": float(np.sqrt(np.abs(D * against)).max()),
    }


def solved(p: Problem, solver: Solver, **options: Any) -> RowSolution:
    """The solution, which has converged."""
    found = solve_contacts(p.G, p.g, p.mu, solver, **options)
    assert found.converged.all(), (solver, found.residual, found.iterations)
    return found


# One contact ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_contact_that_opens_has_no_force(solver: Solver) -> None:
    found = solved(Problem(np.eye(3), np.array([0.3, -0.2, 0.1]), np.array([0.5])), solver)
    assert np.abs(found.impulses).max() < TOLERANCE
    assert found.velocities == pytest.approx([0.3, -0.2, 0.1], abs=2 * TOLERANCE)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_contact_within_its_cone_sticks(solver: Solver) -> None:
    G = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, -0.3], [0.2, -0.3, 1.5]])
    g = np.array([0.1, 0.2, -1.0])
    found = solved(Problem(G, g, np.array([0.8])), solver)
    assert found.impulses == pytest.approx(-np.linalg.solve(G, g), abs=10 * TOLERANCE)
    assert np.abs(found.velocities).max() < 10 * TOLERANCE


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_contact_beyond_its_cone_slips_against_its_motion(solver: Solver) -> None:
    """A point mass that hits the ground obliquely: ``f_n = m v_n``, ``f_t = -mu f_n`` along the motion."""
    m, v, mu = 2.0, np.array([3.0, 4.0, -1.0]), 0.25
    found = solved(Problem(np.eye(3) / m, v, np.array([mu])), solver)
    f = np.array([-0.6 * mu * m, -0.8 * mu * m, m])
    assert found.impulses == pytest.approx(f, abs=20 * TOLERANCE)
    assert found.velocities == pytest.approx(v + f / m, abs=20 * TOLERANCE)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.floats(0.0, 10.0), st.floats(-2.0, 0.5))
def test_one_sweep_solves_one_contact(seed: int, mu: float, tangential: float) -> None:
    """The local problem is solved exactly, whatever the coupling of normal and tangential directions."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 4))
    p = Problem(A @ A.T, rng.normal(size=3) * [10**tangential, 10**tangential, 1.0], np.array([mu]))
    found = solve_contacts(*p, "pgs", max_iterations=1)
    scale = float(np.abs(p.g).max())
    assert found.residual <= 1e-11 * max(scale, 1.0) * np.linalg.cond(p.G)


# Many contacts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("solver", SOLVERS)
def test_solutions_satisfy_signorini_and_coulomb(solver: Solver, seed: int) -> None:
    """Residuals of the true problem, each by itself: products of two small numbers by their root."""
    p = impact(seed)
    found = solved(p, solver, tolerance=1e-10)
    size = float(np.abs(p.g).max())
    for name, value in violations(p, found.impulses).items():
        root = name in ("complementarity", "dissipation")
        assert value < (np.sqrt(1e-10 * 20 * size) if root else 5e-10), name


@pytest.mark.parametrize("seed", range(12))
def test_solvers_agree(seed: int) -> None:
    """Velocities, which are unique in these problems, to what residuals leave open."""
    p = impact(seed)
    one, *others = (solved(p, solver, tolerance=1e-10) for solver in SOLVERS)
    for other in others:
        assert one.velocities == pytest.approx(other.velocities, abs=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_redundant_contacts_share_a_load(solver: Solver) -> None:
    """Four feet have three unknown shares too many: the sum is unique, the residual zero."""
    p = stack(2)
    found = solved(p, solver, tolerance=1e-9)
    loads = found.impulses.reshape(2, 4, 3).sum(axis=1)
    assert loads == pytest.approx(np.array([[0, 0, 2 * 9.81e-3], [0, 0, 9.81e-3]]), abs=1e-7)
    assert np.abs(found.velocities).max() < 1e-7


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("mu", [0.0, 10.0])
def test_friction_of_zero_and_of_ten(solver: Solver, mu: float) -> None:
    p = stack(1, mu=mu, push=3.0)
    found = solved(p, solver)
    sliding = found.velocities.reshape(4, 3)[:, 0]
    assert sliding == pytest.approx(np.full(4, 3e-3 if mu == 0 else 0.0), abs=1e-7)
    assert violations(p, found.impulses)["penetration"] < 5 * TOLERANCE


def test_admm_bears_mass_ratios() -> None:
    """A thousand times the mass on ten boxes: no more iterations than a few times those of equal masses."""
    assert solved(stack(10), "admm").iterations < 60
    assert solved(stack(10, top=1e3), "admm").iterations < 120
    assert solved(stack(10, top=1e4), "admm").iterations < 120


@pytest.mark.parametrize("rule", ["balance", "linear", "spectral"])
def test_rules_of_the_penalty_find_the_same(rule: str) -> None:
    p = impact(3)
    found = solved(p, "admm", penalty=rule, tolerance=1e-10)
    assert found.velocities == pytest.approx(solved(p, "pgs", tolerance=1e-10).velocities, abs=1e-7)


def test_over_relaxation_finds_the_same() -> None:
    p = impact(5)
    found = solved(p, "admm", relaxation=1.5, tolerance=1e-10)
    assert found.velocities == pytest.approx(solved(p, "admm", tolerance=1e-10).velocities, abs=1e-7)


# Units ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("length", "mass"), [(1e3, 1.0), (1e-3, 1e3), (1.0, 1e-3)])
def test_units_change_nothing(solver: Solver, length: float, mass: float) -> None:
    """Velocities scale with lengths, inverse inertias with masses; iterations are the same."""
    p = impact(7)
    found = solved(p, solver)
    scaled = solved(Problem(p.G / mass, p.g * length, p.mu), solver, tolerance=TOLERANCE * length)
    assert abs(int(scaled.iterations) - int(found.iterations)) <= 1
    unit = length * mass
    assert scaled.impulses / unit == pytest.approx(found.impulses, abs=1e-6 * np.abs(found.impulses).max())


# Further rows --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_without_bounds_are_equalities(solver: Solver) -> None:
    p = impact(11)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 8))
    g = rng.normal(size=8)
    found = solve_contacts(A @ A.T, g, np.array([0.4, 0.6]), solver, contacts=[2, 5], tolerance=1e-10)
    assert found.converged
    assert np.abs(found.velocities[:2]).max() < 1e-9
    alone = solve_contacts(p.G, p.g, np.zeros(0), solver, contacts=[], tolerance=1e-10, max_iterations=100_000)
    least = np.linalg.lstsq(p.G, -p.g, rcond=None)[0]
    assert alone.velocities == pytest.approx(p.G @ least + p.g, abs=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_sided_rows_and_boxes(solver: Solver) -> None:
    """Three rows apart: one-sided and closing, one-sided and opening, dry friction beyond its bound."""
    G, g = np.diag([2.0, 2.0, 4.0]), np.array([-1.0, 1.0, 3.0])
    low, high = np.array([0.0, 0.0, -0.1]), np.array([np.inf, np.inf, 0.1])
    found = solve_contacts(G, g, np.zeros(0), solver, contacts=[], lower=low, upper=high, tolerance=1e-10)
    assert found.converged
    assert found.impulses == pytest.approx([0.5, 0.0, -0.1], abs=1e-9)
    assert found.velocities == pytest.approx([0.0, 1.0, 2.6], abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_compliance_is_a_spring(solver: Solver) -> None:
    """``u_n = -R f_n``: what is left of the approach velocity."""
    R = np.array([0.0, 0.0, 0.5])
    found = solve_contacts(np.eye(3), [0.0, 0.0, -1.0], [0.5], solver, compliance=R, tolerance=1e-10)
    assert found.impulses == pytest.approx([0.0, 0.0, 1 / 1.5], abs=1e-9)
    assert found.velocities[2] == pytest.approx(-0.5 / 1.5, abs=1e-9)


# How it is run -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solution_is_a_warm_start(solver: Solver) -> None:
    p = impact(0)
    first = solved(p, solver)
    again = solved(p, solver, guess=first.impulses)
    assert again.iterations <= (1 if solver == "newton" else 0)  # newton makes one step before it looks
    near = solved(Problem(p.G, p.g * (1 + 1e-6), p.mu), solver, guess=first.impulses)
    assert near.iterations < first.iterations


@pytest.mark.parametrize("solver", ITERATIVE)
def test_not_converging_is_said(solver: Solver) -> None:
    p = stack(10)
    found = solve_contacts(*p, solver, max_iterations=7)
    assert not found.converged
    assert found.iterations == 7
    assert found.residual == pytest.approx(row_solver(p.G, p.mu).residual(*p, found.impulses), rel=1e-6)
    assert found.residual > TOLERANCE


@pytest.mark.parametrize("solver", SOLVERS)
def test_batches_in_lanes_are_single_problems(solver: Solver) -> None:
    """Each lane stops by itself; padding of the last block changes nothing."""
    problems = [impact(seed, bodies=3, contacts=5) for seed in range(11)]
    G, g, mu = (np.stack(x) for x in zip(*problems, strict=True))
    batch = solve_contacts(G, g, mu, solver)
    singles = [solve_contacts(*p, solver) for p in problems]
    assert batch.iterations.tolist() == [int(x.iterations) for x in singles]
    for k, x in enumerate(singles):
        assert batch.impulses[k] == pytest.approx(x.impulses, abs=1e-9 * np.abs(x.impulses).max())


@pytest.mark.parametrize("solver", ITERATIVE)
def test_plain_text_does_the_same(solver: RowSolverName) -> None:
    p = impact(4, bodies=2, contacts=3)
    native = solve_contacts(*p, solver)
    plain = row_solver(p.G, p.mu, solver).plain()(*p)
    assert plain.iterations == native.iterations
    assert plain.impulses == pytest.approx(native.impulses, abs=1e-10 * np.abs(native.impulses).max())


@pytest.mark.parametrize("solver", SOLVERS)
def test_contacts_that_nothing_can_move(solver: Solver) -> None:
    """No inverse inertia at all, beside a contact that has one: finite, and said what is missing."""
    G = np.zeros((6, 6))
    G[3:, 3:] = np.eye(3)
    found = solve_contacts(G, [0.0, 0.0, 0.0, 0.0, 0.0, -1.0], [0.5, 0.5], solver)
    assert np.isfinite(found.impulses).all()
    assert found.impulses[5] == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"G": np.eye(4)[:, :3]}, "needs"),
        ({"G": np.triu(np.ones((3, 3)))}, "symmetric"),
        ({"g": np.zeros(2)}, "2 numbers, needs 3"),
        ({"friction": [-0.1]}, "friction must be >= 0"),
        ({"contacts": [1]}, "three rows"),
        ({"solver": "gauss"}, "there are pgs, admm"),
        ({"lower": 1.0, "upper": 0.0}, "lower must be <= upper"),
        ({"compliance": -1.0}, "compliance must be >= 0"),
        ({"g": [0.0, np.nan, 0.0]}, "NaN"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"G": np.eye(3), "g": np.zeros(3), "friction": [0.5]} | change
    with pytest.raises(InputError, match=words):
        solve_contacts(**arguments)


# Without a matrix ----------------------------------------------------------------------------------------------------


def test_an_operator_gives_what_its_matrix_gives() -> None:
    """A stack whose points are contacts: iteration for iteration, without a matrix."""
    robot = zoo.stack(4)
    operator = Delassus(robot).at(robot.poses["assembled"])
    v = np.zeros(robot.nv)
    v[2::6], v[-6] = -9.81e-3, 4e-3
    g, mu = operator.jacobian @ v, np.full(robot.nc // 3, 0.3)
    explicit, free = (solve_contacts(G, g, mu, "admm") for G in (operator.toarray(), operator))
    assert free.converged
    assert free.iterations == explicit.iterations
    assert free.impulses == pytest.approx(explicit.impulses, abs=1e-9)
    assert free.velocities == pytest.approx(operator @ free.impulses + g, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_contacts_as_data_beside_the_constraints_of_a_robot(seed: int) -> None:
    """A linkage that touches the world at points somewhere: equalities first, then contacts with axes of their own."""
    rng = np.random.default_rng(seed)
    robot = zoo.five_bar()
    q = robot.poses["assembled"]
    bodies = [("world", body) for body in robot.body_names[:3]]
    axes = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in bodies])
    axes[:, :, 2] *= np.linalg.det(axes)[:, None]
    operator = Contacts(robot).at(q, bodies, 0.2 * rng.normal(size=(3, 3)), axes)
    slots = [robot.nc + 3 * k for k in range(3)]
    g = operator.jacobian @ rng.normal(size=robot.nv)
    found = solve_contacts(operator, g, [0.2, 0.5, 0.8], "admm", contacts=slots, max_iterations=20_000)
    assert found.converged
    residual = row_solver(operator.toarray(), np.zeros(3), contacts=slots).residual
    assert residual(operator.toarray(), g, [0.2, 0.5, 0.8], found.impulses) < 2 * TOLERANCE
    assert np.abs(found.velocities[: robot.nc]).max() < 2 * TOLERANCE


def test_projected_gauss_seidel_needs_a_matrix() -> None:
    robot = zoo.stack(1)
    with pytest.raises(InputError, match="needs a matrix"):
        solve_contacts(Delassus(robot).at(robot.poses["assembled"]), np.zeros(12), 0.5, "pgs")


# Pinocchio -----------------------------------------------------------------------------------------------------------


@lru_cache
def pinocchio_contacts(mu: tuple[float, ...]) -> tuple[Any, Any]:
    """Models and memory of contacts for Pinocchio's solvers, which read sets of forces off them."""
    pin = pytest.importorskip("pinocchio")
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    models, memory = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for x in mu:
        contact = pin.PointContactConstraintModel(model, 0, pin.SE3.Identity(), 1, pin.SE3.Identity())
        contact.setFriction(x)
        models.append(pin.ConstraintModel(contact))
        memory.append(models[-1].createData())
    return models, memory


def pinocchio_forces(p: Problem, name: str) -> Floats:
    """Forces by a solver of Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    models, memory = pinocchio_contacts(tuple(p.mu.tolist()))
    how, result = getattr(pin, f"{name}SolverSettings")(), getattr(pin, f"{name}SolverResult")()
    how.absolute_feasibility_tol = how.absolute_complementarity_tol = 1e-12
    how.relative_feasibility_tol = how.relative_complementarity_tol = 0.0
    how.max_iterations = 20_000
    solver = getattr(pin, f"{name}ConstraintSolver")(len(p.g))
    solver.solve(pin.DelassusOperatorDense(p.G), p.g, models, memory, how, result)
    return np.array(result.retrieveConstraintImpulses())


@pytest.mark.parametrize(
    ("name", "seed"), [("ADMM", seed) for seed in range(6)] + [("PGS", seed) for seed in range(1, 6)]
)  # its PGS does not converge for seed 0: it steps back and forth with a residual of 2 m/s
@pytest.mark.parametrize("solver", SOLVERS)
def test_pinocchio_finds_the_same_velocities(solver: Solver, name: str, seed: int) -> None:
    p = impact(seed)
    f = pinocchio_forces(p, name)
    assert row_solver(p.G, p.mu).residual(*p, f) < 1e-8
    found = solved(p, solver, tolerance=1e-10)
    assert found.velocities == pytest.approx(p.G @ f + p.g, abs=1e-6)


def test_newton_is_no_solver_that_is_made_beforehand() -> None:
    with pytest.raises(InputError, match=r"use solve_contacts"):
        row_solver(np.eye(3), [0.5], "newton")  # type: ignore[arg-type]
