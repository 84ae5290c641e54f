# SPDX-License-Identifier: BSD-3-Clause
"""The solver of reduced steps alone: ``M v = p + A' z`` with cones, boxes, equalities, and hard places on purpose."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest

from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.contact.dense import solve_contacts
from linkwork.kernels.contact.reduced.array_problem import ARRAY_PROBLEM
from linkwork.kernels.contact.reduced.problem import BOX, CONE, EQUALITY
from linkwork.plans.contact_sets import RowSet, contact_sets

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-8
SOLVED, NEARLY_SOLVED, CONVEX = range(3)


@dataclass(frozen=True)
class Rows:
    """A set of rows with one condition, not scaled by friction."""

    kind: int
    J: Floats
    """The normal first."""
    c: Floats
    mu: Floats = field(default_factory=lambda: np.zeros(0))
    """Coefficients of the tangential rows."""
    bounds: tuple[float, float] = (0.0, 0.0)
    compliance: float = 0.0

    @property
    def scales(self) -> Floats:
        return np.concatenate([[1.0], self.mu]) if self.kind == CONE else np.ones(len(self.J))


@dataclass(frozen=True)
class Problem:
    M: Floats
    vf: Floats
    sets: tuple[Rows, ...]

    @property
    def A(self) -> Floats:
        return np.vstack([s.J * s.scales[:, None] for s in self.sets])


@dataclass(frozen=True)
class Solution:
    v: Floats
    z: Floats
    residual: float
    iterations: int
    status: int


@lru_cache(maxsize=64)
def runner(sets: tuple[RowSet, ...], nv: int, backend: str = "native") -> Runner:
    return runner_for(Program(ARRAY_PROBLEM, contact_sets(sets, nv), (), "test"), Backend(backend))  # type: ignore[arg-type]


def arrays(p: Problem, start: Floats | None = None) -> list[Floats]:
    inverse = np.linalg.inv(p.M)
    rows, bounds = [], []
    for s in p.sets:
        J = s.J[: min(3, len(s.J))]
        D = float(np.mean(np.diagonal(J @ inverse @ J.T)))
        rows += [[c, s.compliance if k == 0 else 0.0, 0.0] for k, c in enumerate(s.c * s.scales)]
        bounds.append([*s.bounds, D if D > 0 else 1.0, s.mu[0] if len(s.mu) else 0.0, 1.0])
    table = np.array(rows)
    if start is not None:
        table[:, 2] = start
    return [p.M, p.M @ p.vf, p.A, table, np.array(bounds), np.array([TOLERANCE, 300.0, 1e-7, 1.0])]


def kinds(p: Problem) -> tuple[RowSet, ...]:
    return tuple(RowSet(s.kind, len(s.J)) for s in p.sets)


def solve(p: Problem, start: Floats | None = None, backend: str = "native") -> Solution:
    v, z, _, progress = runner(kinds(p), len(p.vf), backend).evaluate(arrays(p, start), [None] * 4)
    return Solution(v, z, float(progress[0]), int(progress[1]), int(progress[2]))


def violations(p: Problem, s: Solution) -> dict[str, float]:
    """What a solution violates of each condition, in velocities and impulses."""
    found = {"dynamics": float(np.abs(np.linalg.solve(p.M, p.M @ (s.v - p.vf) - p.A.T @ s.z)).max())}
    at = 0
    for rows in p.sets:
        z = s.z[at : at + len(rows.J)]
        y = rows.scales * (rows.J @ s.v + rows.c)
        at += len(z)
        if rows.kind == CONE:
            w = y.copy()
            w[0] += np.linalg.norm(y[1:]) + rows.compliance * z[0]
            each = {
                "impulse": max(np.linalg.norm(z[1:]) - z[0], 0.0),
                "velocity": max(np.linalg.norm(w[1:]) - w[0], 0.0),
                "complementarity": abs(z @ w),
            }
        elif rows.kind == EQUALITY:
            each = {"equality": float(np.abs(y).max())}
        else:
            low, high = rows.bounds
            each = {"bounds": max(low - z[0], z[0] - high, 0.0)}
            each["box"] = abs(z[0] - np.clip(z[0] - y[0], low, high))
        found = {key: max(found.get(key, 0.0), float(each.get(key, 0.0))) for key in {**found, **each}}
    return found


def cross(a: Floats) -> Floats:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def random_problem(seed: int, bodies: int = 3, dims: tuple[int, ...] = (1, 3, 4, 6), decades: float = 1.5) -> Problem:
    """Free bodies that meet each other and the world at random places, with contacts of all dimensions."""
    rng = np.random.default_rng(seed)
    nv = 6 * bodies
    M = np.zeros((nv, nv))
    for b, mass in enumerate(10 ** rng.uniform(-decades, decades, bodies)):
        X = rng.normal(size=(3, 3))
        M[6 * b : 6 * b + 3, 6 * b : 6 * b + 3] = mass * np.eye(3)
        M[6 * b + 3 : 6 * b + 6, 6 * b + 3 : 6 * b + 6] = 0.01 * mass * (X @ X.T + 0.3 * np.eye(3))
    sets = []
    for k in range(2 * bodies):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        J = np.zeros((6, nv))
        chosen = rng.permutation(bodies)[: 1 + k % 2]
        for b, sign in zip(chosen, (1.0, -1.0), strict=False):
            J[:3, 6 * b : 6 * b + 3] = sign * Q
            J[:3, 6 * b + 3 : 6 * b + 6] = -sign * Q @ cross(0.1 * rng.normal(size=3))
            J[3:, 6 * b + 3 : 6 * b + 6] = sign * Q
        dim = dims[k % len(dims)]
        mu = np.array([*[rng.uniform(0, 1.2)] * 2, 0.02, 0.01, 0.01])[: dim - 1]
        gap = rng.uniform(0, 2) if rng.random() < 0.3 else 0.0
        sets.append(Rows(CONE, J[:dim], np.array([gap, *np.zeros(dim - 1)]), mu))
    return Problem(M, rng.normal(size=nv), tuple(sets))


def rod(mu: float, angle: float, speed: float, spin: float, fall: float = 0.0) -> Problem:
    """Painlevé's rod: one end slides on the ground."""
    r = np.array([-0.5 * np.cos(angle), 0.0, -0.5 * np.sin(angle)])
    J = np.hstack([np.eye(3), -cross(r)])[[2, 0, 1]]
    v = np.array([speed, 0, 0, 0, spin, 0])
    v[2] = -(J[0] @ v) - fall - 9.81e-3
    return Problem(np.diag([1, 1, 1, 1e-3, 1 / 12, 1 / 12]), v, (Rows(CONE, J, np.zeros(3), np.full(2, mu)),))


def stack(boxes: int, top: float) -> Problem:
    """Boxes on each other, four contacts each: redundant."""
    h, nv = 0.1, 6 * boxes
    masses = np.array([1.0] * (boxes - 1) + [top])
    M = np.diag(np.concatenate([np.r_[np.full(3, m), np.full(3, m * 4 * h * h / 6)] for m in masses]))
    sets = []
    for k in range(boxes):
        for x in (-h, h):
            for y in (-h, h):
                J = np.zeros((3, nv))
                for body, z, sign in ((k, -h, 1.0), (k - 1, h, -1.0)):
                    if body >= 0:
                        J[:, 6 * body : 6 * body + 3] = sign * np.eye(3)
                        J[:, 6 * body + 3 : 6 * body + 6] = -sign * cross(np.array([x, y, z]))
                sets.append(Rows(CONE, J[[2, 0, 1]], np.zeros(3), np.full(2, 0.5)))
    v = np.zeros(nv)
    v[2::6] = -9.81e-3
    return Problem(M, v, tuple(sets))


def assert_solved(p: Problem, s: Solution, tolerance: float = 3 * TOLERANCE) -> None:
    assert s.status == SOLVED
    assert s.residual <= TOLERANCE
    scale = max(float(np.abs(s.z).max()), 1.0)
    for name, x in violations(p, s).items():
        assert x <= tolerance * scale, (name, x, s)


# Identities ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_solutions_satisfy_every_condition(seed: int) -> None:
    p = random_problem(seed, bodies=1 + seed % 5)
    assert_solved(p, solve(p))


@pytest.mark.parametrize("seed", range(8))
def test_velocities_agree_with_projected_gauss_seidel(seed: int) -> None:
    p = random_problem(seed, dims=(3,))
    J = np.vstack([s.J[[1, 2, 0]] for s in p.sets])
    c = np.concatenate([s.c[[1, 2, 0]] for s in p.sets])
    mu = np.array([s.mu[0] for s in p.sets])
    G = J @ np.linalg.inv(p.M) @ J.T
    other = solve_contacts((G + G.T) / 2, J @ p.vf + c, mu, "pgs", tolerance=1e-10)
    assert other.converged
    assert J @ solve(p).v + c == pytest.approx(other.velocities, abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_boxes_and_equalities_beside_contacts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = random_problem(seed)
    rows = tuple(
        Rows(kind, rng.normal(size=(dim, len(p.vf))), 0.1 * rng.normal(size=dim), bounds=(-0.2, 0.1))
        for kind, dim in ((BOX, 1), (EQUALITY, 3), (BOX, 1))
    )
    p = replace(p, sets=p.sets + rows)
    assert_solved(p, solve(p), 1e-7)


def test_a_solution_is_a_warm_start() -> None:
    p = random_problem(3)
    first = solve(p)
    again = solve(p, first.z)
    near = solve(replace(p, vf=p.vf * (1 + 1e-6)), first.z)
    assert again.iterations <= 1
    assert near.iterations <= 3


def test_compliance_gives_way() -> None:
    """A mass of 2 kg that falls on a spring: ``u_n = -C z``."""
    contact = Rows(CONE, np.eye(3)[[2, 0, 1]], np.zeros(3), np.full(2, 0.5))
    p = Problem(2 * np.eye(3), np.array([0, 0, -1.0]), (contact,))
    soft = replace(p, sets=(replace(p.sets[0], compliance=0.5),))
    assert solve(soft).z[0] == pytest.approx(1.0, abs=1e-8)
    assert solve(soft).v[2] == pytest.approx(-0.5, abs=1e-8)


# Hard places ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_redundant_contacts_of_a_stack_with_mass_ratios(top: float) -> None:
    p = stack(4, top)
    s = solve(p)
    assert s.status == SOLVED
    assert np.abs(s.v).max() < 1e-7
    loads = s.z.reshape(4, 4, 3)[:, :, 0].sum(axis=1)
    assert loads == pytest.approx(9.81e-3 * np.cumsum([top, 1, 1, 1])[::-1], rel=1e-5)


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.5, 5.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_rod_of_painleve(mu: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rod(mu, rng.uniform(0.2, 1.3), rng.uniform(-5, 5), rng.uniform(-5, 5), rng.uniform(0, 2) * (seed % 2))
    assert_solved(p, solve(p))


@pytest.mark.parametrize("seed", range(4))
def test_contacts_without_friction(seed: int) -> None:
    p = random_problem(seed, dims=(3,))
    smooth = replace(p, sets=tuple(replace(s, mu=np.zeros(2)) for s in p.sets))
    alone = replace(p, sets=tuple(Rows(CONE, s.J[:1], s.c[:1]) for s in p.sets))
    assert solve(smooth).v == pytest.approx(solve(alone).v, abs=1e-7)


def test_impacts_never_add_energy() -> None:
    for seed in range(100, 140):
        p = random_problem(seed)
        p = replace(p, sets=tuple(replace(s, c=np.zeros(len(s.c))) for s in p.sets))
        s = solve(p)
        assert s.v @ p.M @ s.v <= p.vf @ p.M @ p.vf * (1 + 1e-9)


def jammed(depth: float) -> Problem:
    """A body between two walls that both ask it to leave."""
    J = np.eye(3)[[2, 0, 1]]
    sides = [Rows(CONE, sign * J, np.array([-depth, 0, 0]), np.full(2, 0.5)) for sign in (1.0, -1.0)]
    return Problem(np.eye(3), np.array([0.3, 0.0, -1.0]), tuple(sides))


@pytest.mark.parametrize("depth", [1e-2, 1.0])
def test_a_problem_without_solution_is_a_step_that_takes_energy(depth: float) -> None:
    """Finite, no energy added, and the violation shared by both walls."""
    p = jammed(depth)
    s = solve(p)
    assert s.status == CONVEX
    assert s.residual > TOLERANCE
    assert abs(s.v[2]) < 1e-2 * depth + 1e-4
    assert s.v @ p.M @ s.v <= p.vf @ p.M @ p.vf


# How it is run -------------------------------------------------------------------------------------------------------


def test_lanes_are_single_problems() -> None:
    """Some lanes need more stages than others: none changes another."""
    problems = [rod(5.0, 0.3 + 0.05 * k, 2.0 - 0.7 * k, 1.0 + k, 0.2 * (k % 3)) for k in range(11)]
    singles = [solve(p) for p in problems]
    inputs = [np.stack(x) for x in zip(*(arrays(p)[:-1] for p in problems), strict=True)]
    v, z, _, progress = runner(kinds(problems[0]), 6).evaluate([*inputs, arrays(problems[0])[-1]], [None] * 4)
    for k, s in enumerate(singles):
        assert int(progress[k, 1]) == s.iterations
        assert v[k] == pytest.approx(s.v, abs=1e-7)
        assert z[k] == pytest.approx(s.z, abs=1e-6)


def test_plain_text_does_the_same() -> None:
    p = random_problem(5, bodies=2)
    native, plain = solve(p), solve(p, backend="plain")
    assert native.iterations == plain.iterations
    assert native.v == pytest.approx(plain.v, abs=1e-9)
