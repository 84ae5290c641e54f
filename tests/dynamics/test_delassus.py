# SPDX-License-Identifier: BSD-3-Clause
"""The Delassus matrix by every method, and its damped inverse, against dense algebra: on the zoo, files, anything."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg

import linkwork as lw
from linkwork.dynamics.delassus import METHODS, Delassus
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import Pair
from tests.dynamics import test_forward_models
from tests.kernels import test_clusters
from tests.support import linkages
from tests.support.states import Floats, assert_close
from tests.zoo import test_zoo, test_zoo_scenes

AGREEMENT = 1e-10
"""Of matrices, relative to their largest number."""

INVERSE = 1e-9
"""Of damped inverses, relative to the norm of the forces."""

MATRIX = 1e-8
"""The same of explicit ones, which are not refined."""

ROUNDING = float(np.finfo(np.float64).eps)
DAMPINGS = (1e-4, 1e-2, 1.0, 1e3, 1e10)
EXPLICIT = tuple(name for name in METHODS if name != "matrix_free")
Wide = npt.NDArray[np.longdouble]


# Mechanisms ------------------------------------------------------------------------------------------------


def doubled(robot: Mechanism) -> Mechanism:
    """Every constraint twice."""
    return robot.constrained(*(replace(c, name=f"{c.name} again") for c in robot.constraints))


def stretched_arm() -> Mechanism:
    """A planar arm held at its hand, straight: rows along it and across its plane are felt by no joint."""
    robot = lw.zoo.pendulum(4)
    held = robot.constrained(lw.constraints.Point("link3", "world", name="hand"), at=robot.neutral())
    return replace(held, poses={"assembled": robot.neutral()})


def far_from_the_origin() -> Mechanism:
    """A box held at two points, a kilometer away."""
    robot = lw.zoo.stack(1).unconstrained()
    q = robot.neutral()
    q[:3] += (1e3, -1e3, 1e3)
    return lw.zoo.resting(robot, q, [(robot.body_names[0], (0.1, 0.0, 0.0)), (robot.body_names[0], (0.0, 0.1, 0.0))])


HARD: dict[str, Callable[[], Mechanism]] = {
    "a four-bar said twice": lambda: doubled(lw.zoo.four_bar()),
    "a quadruped said twice": lambda: doubled(lw.zoo.quadruped_standing()),
    "gears said twice": lambda: doubled(linkages.made("gears")),
    "a stretched arm": stretched_arm,
    "far from the origin": far_from_the_origin,
}
LARGE: dict[str, Callable[[], Mechanism]] = {
    "pyramid of 3 layers": partial(lw.zoo.pyramid, 3),
    "pyramid of 4 layers": partial(lw.zoo.pyramid, 4),
    "stack of 12": partial(lw.zoo.stack, 12),
}
SYSTEMS: dict[str, Callable[[], Mechanism]] = {
    **{f"zoo: {name}": partial(test_zoo.made, name) for name in test_zoo.FACTS},
    **{f"scene: {name}": partial(test_zoo_scenes.made, name) for name in test_zoo_scenes.SCENES},
    **{f"scene: {name}": cache(make) for name, make in LARGE.items()},
    **{f"file: {name}": partial(test_forward_models.from_file, name) for name in test_forward_models.FILES},
    **{f"linkage: {name}": partial(linkages.made, name) for name in linkages.MECHANISMS},
    **{f"hard: {name}": cache(make) for name, make in HARD.items()},
}
SMALL = [name for name in SYSTEMS if name.removeprefix("scene: ") not in (*LARGE, "robots on pyramid")]
each_system = pytest.mark.parametrize("name", SYSTEMS)


class Case(NamedTuple):
    """A configuration with its dense matrices."""

    robot: Mechanism
    q: Floats
    D: Wide
    """Exact for the Jacobian and the mass matrix as they are in doubles."""

    @property
    def size(self) -> float:
        """No less than the largest eigenvalue."""
        return float(np.abs(self.D).sum(axis=1).max())

    def solve(self, damping: npt.ArrayLike, accelerations: Floats) -> Wide:
        """``(D + diag(damping))^-1 accelerations``, with more digits than doubles have."""
        R = np.broadcast_to(np.asarray(damping, dtype=np.longdouble), (self.robot.nc,))
        return refined(self.D + np.diag(R), accelerations.astype(np.longdouble))


def refined(A: Wide, b: Wide, steps: int = 4) -> Wide:
    """``A^-1 b`` for a definite matrix: rounding of the factor is taken out again, in long doubles."""
    factor = scipy.linalg.cho_factor(A.astype(np.float64))
    x: Wide = scipy.linalg.cho_solve(factor, b.astype(np.float64)).astype(np.longdouble)
    for _ in range(steps):
        x = x + scipy.linalg.cho_solve(factor, (b - A @ x).astype(np.float64))
    return x


def dense(robot: Mechanism, q: Floats) -> Case:
    J = lw.constraint_jacobian(robot, q).astype(np.longdouble)
    M = lw.mass_matrix(robot, q).astype(np.longdouble)
    D = J @ refined(M, np.ascontiguousarray(J.T), 2)
    return Case(robot, q, 0.5 * (D + D.T))


@cache
def cases(name: str) -> tuple[Case, ...]:
    """Assembled (or as the file has it), and anywhere; large scenes assembled alone."""
    robot = SYSTEMS[name]()
    poses = [robot.poses.get("assembled", robot.poses.get("qpos0", robot.neutral()))]
    if name in SMALL:
        poses.append(robot.random(np.random.default_rng([len(name), 11])))
    return tuple(dense(robot, q) for q in poses)


@functools.lru_cache(maxsize=16)
def family(name: str, method: str) -> Delassus:
    return made(SYSTEMS[name](), method)


def made(robot: Mechanism, method: str) -> Delassus:
    """About all rows, also by the method that would leave out loops."""
    return Delassus(robot, method, [c.name for c in robot.constraints], threads=1)


def serves(robot: Mechanism, method: str) -> bool:
    """One floating base for `pv_osim_fast`; pairs of frames for `cluster_efpa`."""
    if method == "pv_osim_fast":
        bases = [joint for joint in robot.joints if joint.parent == "world" and joint.type.nv > 0]
        return len(bases) == 1 and isinstance(bases[0].type, lw.joints.Free)
    return method != "cluster_efpa" or all(isinstance(c, Pair) for c in robot.constraints)


def error(ours: npt.ArrayLike, exact: Wide) -> float:
    """As a part of the norm."""
    return float(np.linalg.norm(np.asarray(ours) - exact) / np.linalg.norm(exact))


# The matrix ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@each_system
def test_every_method_finds_the_same_matrix(name: str, method: str) -> None:
    if not serves(SYSTEMS[name](), method):
        with pytest.raises(lw.errors.UnsupportedFeature, match=method):
            family(name, method).at(SYSTEMS[name]().neutral())
        return
    for case in cases(name):
        found = family(name, method).at(case.q).toarray()
        assert_close(found, case.D.astype(np.float64), AGREEMENT)
        assert_close(found, found.T, 1e-13)


def random_mechanism(seed: int) -> tuple[Mechanism, np.random.Generator]:
    robot = lw.zoo.random_loops(seed, bodies=3 + seed % 8, loops=1 + seed % 4)
    return robot, np.random.default_rng([seed, 12])


RANDOM, BLOCK = 100, 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, RANDOM, BLOCK))
def test_every_method_agrees_on_random_mechanisms(first: int) -> None:
    """The matrix, and the damped inverse without one."""
    wrong: dict[tuple[int, str], float] = {}
    for seed in range(first, first + BLOCK):
        robot, rng = random_mechanism(seed)
        case, a = dense(robot, robot.random(rng)), rng.normal(size=robot.nc)
        D = case.D.astype(np.float64)
        for method in METHODS:
            if serves(robot, method):
                off = float(np.abs(made(robot, method).at(case.q).toarray() - D).max() / np.abs(D).max())
                if not off <= AGREEMENT:
                    wrong[seed, method] = off
        family = Delassus(robot, threads=1)
        op = family.at(case.q)
        for k, R in enumerate(dampings(robot.nc, rng)):
            exact = case.solve(R, a)
            off = error(op.damped_inverse(R) @ a, exact)
            if not off <= INVERSE:
                wrong[seed, f"damping {k}"] = off
            allowed = MATRIX + 10 * ROUNDING * case.size / np.min(R)
            if not (off := error(family.inverse_matrix(case.q, R) @ a, exact)) <= allowed:
                wrong[seed, f"inverse matrix, damping {k}"] = off
    assert not wrong


def test_random_mechanisms_serve_every_method() -> None:
    robots = [random_mechanism(seed)[0] for seed in range(60)]
    assert all(any(serves(robot, method) for robot in robots) for method in METHODS)


# Loops that are solved where they are ------------------------------------------------------------------------


def touching(robot: Mechanism, q: Floats) -> Mechanism:
    """With two bodies at the ends of branches held at points."""
    rng = np.random.default_rng(robot.nv)
    parents = {joint.parent for joint in robot.joints}
    ends = [body for body in robot.body_names if body not in parents]
    return lw.zoo.resting(robot, q, [(body, 0.1 * rng.normal(size=3)) for body in (ends[0], ends[-1])])


def closed_file(name: str) -> tuple[Mechanism, Floats]:
    p = test_clusters.problem(f"file: {name}")
    return p.robot, p.q


LOOPS = {
    **{
        f"file: {name}": partial(closed_file, name) for name in ("Cassie", "Digit", "Booster T1", "Kangaroo", "Robotiq")
    },
    **{
        f"zoo: {name}": partial(lambda name: (test_zoo.made(name), test_zoo.made(name).poses["assembled"]), name)
        for name in (
            *("four-bar, hinge", "five-bar", "watt", "jansen", "stewart", "delta", "chain of 5 loops", "star, ring"),
            *("geared chain", "belt chain, groups of three"),
        )
    },
}


@cache
def embedded(name: str) -> tuple[Mechanism, Floats, list[str], Floats]:
    """A robot with loops that touches the ground, and ``J G (G' M G)^-1 G' J'`` of the rows that touch."""
    loops, q = LOOPS[name]()
    robot = touching(loops, q)
    contacts = [c.name for c in robot.constraints if c.name not in {loop.name for loop in loops.constraints}]
    G = lw.Minimal(loops).matrix(q)
    J = lw.constraint_jacobian(replace(robot, constraints=robot.constraints[-len(contacts) :]), q) @ G
    return robot, q, contacts, J @ np.linalg.solve(G.T @ lw.mass_matrix(robot, q) @ G, J.T)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_cluster_efpa_solves_the_other_loops_where_they_are(name: str) -> None:
    robot, q, contacts, expected = embedded(name)
    op = Delassus(robot, "cluster_efpa", contacts).at(q)
    assert_close(op.toarray(), expected, INVERSE)
    free = Delassus(robot, "efpa", contacts).at(q).toarray()
    assert np.abs(free - expected).max() > 1e-6 * np.abs(free).max()  # or no loop was felt


@pytest.mark.parametrize("name", ["file: Cassie", "zoo: stewart", "zoo: chain of 5 loops"])
def test_cluster_efpa_is_about_constraints_to_the_world_unless_told(name: str) -> None:
    robot, q, contacts, expected = embedded(name)
    op = Delassus(robot, "cluster_efpa").at(q)
    assert [c.name for c in op.robot.constraints] == contacts
    assert_close(op.toarray(), expected, INVERSE)


def test_cluster_efpa_says_that_all_rows_are_of_loops() -> None:
    with pytest.raises(
        lw.errors.UnsupportedFeature, match=r"rows of constraints to the world, and all 18 rows .* pv_osim"
    ):
        Delassus(lw.zoo.stewart(), "cluster_efpa")


@pytest.mark.parametrize("name", ["file: Cassie", "zoo: stewart", "zoo: geared chain"])
def test_everything_that_an_operator_with_solved_loops_says_is_about_the_same_matrix(name: str) -> None:
    robot, q, contacts, expected = embedded(name)
    made = Delassus(robot, "cluster_efpa", contacts)
    op, f = made.at(q), np.random.default_rng(0).normal(size=3 * len(contacts))
    assert_close(op.damped_inverse(0.1) @ f, np.linalg.solve(expected + 0.1 * np.eye(len(f)), f), INVERSE)
    assert_close(op.diagonal(), np.diagonal(expected), INVERSE)
    for k, block in enumerate(op.blocks().values()):
        assert_close(block, expected[3 * k : 3 * k + 3, 3 * k : 3 * k + 3], INVERSE)
    for unknown in (lambda: op.response, lambda: op.inverse_mass, lambda: made.product, lambda: made.inverse):
        with pytest.raises(lw.errors.UnsupportedFeature, match="loops closed"):
            unknown()


# The damped inverse ------------------------------------------------------------------------------------------


def dampings(nc: int, rng: np.random.Generator) -> list[npt.ArrayLike]:
    """The same for all rows, and any for each."""
    return [*DAMPINGS, 10 ** rng.uniform(-4, 10, size=nc)]


@each_system
def test_the_damped_inverse_is_that_of_dense_algebra(name: str) -> None:
    """Also where rows are redundant, or no joint feels them."""
    rng = np.random.default_rng([len(name), 13])
    for case in cases(name):
        made, a = family(name, "matrix_free"), rng.normal(size=case.robot.nc)
        op = made.at(case.q)
        for R in dampings(case.robot.nc, rng):
            exact = case.solve(R, a)
            assert error(op.damped_inverse(R) @ a, exact) <= INVERSE
            assert error(made.inverse(case.q, a, R), exact) <= INVERSE


@pytest.mark.slow
@pytest.mark.parametrize("method", EXPLICIT)
@pytest.mark.parametrize("name", SMALL)
def test_explicit_methods_invert_their_matrix(name: str, method: str) -> None:
    """As well as a matrix of doubles can be: its rounding counts for what it is of the smallest damping."""
    if not serves(SYSTEMS[name](), method):
        return
    rng = np.random.default_rng([len(name), 14])
    for case in cases(name):
        op, a = family(name, method).at(case.q), rng.normal(size=case.robot.nc)
        for R in (1e-4, 1.0, 10 ** rng.uniform(-4, 10, size=case.robot.nc)):
            allowed = INVERSE + 10 * ROUNDING * case.size / np.min(R)
            assert error(op.damped_inverse(R) @ a, case.solve(R, a)) <= allowed


@each_system
def test_the_damped_inverse_as_a_matrix_is_that_of_dense_algebra(name: str) -> None:
    """With loops too; what rows yield beside the damping is rounded before it cancels.

    Of large matrices 40 columns, others for each damping, and the product with a vector, which all entries enter.
    """
    rng = np.random.default_rng(15)
    for case in cases(name):
        nc = case.robot.nc
        for R in (1e-4, 1.0, 10 ** rng.uniform(-4, 10, size=nc)):
            inverse = family(name, "matrix_free").inverse_matrix(case.q, R)
            some, vector = rng.permutation(nc)[:40], rng.normal(size=(nc, 1))
            for ours, theirs in ((inverse[:, some], np.eye(nc)[:, some]), (inverse @ vector, vector)):
                exact = case.solve(R, theirs).astype(np.float64)
                assert_close(ours, exact, INVERSE + 10 * ROUNDING * case.size / np.min(R))


def test_rows_end_at_junctions_in_trees_and_in_loops() -> None:
    """Or PV-OSIMr is tested as PV-OSIM alone; its operations are never more."""
    loops = (
        lw.zoo.chain_of_loops(5),
        lw.zoo.star_of_loops(6, tips="ring"),
        lw.zoo.stalk(8, 4),
        lw.zoo.humanoid_standing(),
    )
    ended = []
    for robot in loops:
        by_junctions, to_world = (Delassus(robot, m, threads=1).matrix for m in ("pv_osimr", "pv_osim"))
        ended.append(by_junctions.program.tree.njunctions)
        assert by_junctions.operation_count().total <= to_world.operation_count().total
    assert sum(n > 0 for n in ended) >= 3, ended


def test_a_longer_stem_costs_pv_osimr_six_rows_a_link() -> None:
    """O(n + m²): a further link is crossed by six unit forces, however many rows the stem carries."""

    def a_further_link(method: str) -> int:
        short, long = (Delassus(lw.zoo.stalk(n, 4), method, threads=1).matrix for n in (8, 20))
        return (long.operation_count().total - short.operation_count().total) // 12

    six, all_rows = a_further_link("pv_osimr"), a_further_link("pv_osim")
    page = (Path(lw.__file__).parents[2] / "docs/concepts/algorithms/osim.md").read_text(encoding="utf-8")
    assert 4 * six < all_rows
    assert f"{six} operations, and {all_rows // 1000} {all_rows % 1000:03d} by `pv_osim`" in " ".join(page.split())


# Stiff rows ----------------------------------------------------------------------------------------------------


def stiff_error(robot: Mechanism, damping: float, refine: bool) -> float:
    case = dense(robot, robot.poses["assembled"])
    a = np.random.default_rng(16).normal(size=robot.nc)
    return error(Delassus(robot).at(case.q).damped_inverse(damping, refine) @ a, case.solve(damping, a))


def light_boxes(mass: float) -> Mechanism:
    """A stack held at one point for each pair of boxes: independent rows."""
    robot = lw.zoo.stack(3, mass=mass)
    return robot.unconstrained(*(c.name for k, c in enumerate(robot.constraints) if k % 4))


@pytest.mark.parametrize(
    ("make", "damping"),
    [(lw.zoo.quadruped_standing, 1e-8), (partial(light_boxes, 1e-3), 1e-8), (partial(light_boxes, 1e-4), 1e-4)],
    ids=["a quadruped", "boxes of a gram", "boxes of a tenth"],
)
def test_refinement_finds_the_digits_that_stiff_rows_lose(make: Callable[[], Mechanism], damping: float) -> None:
    rough, fine = (stiff_error(make(), damping, refine) for refine in (False, True))
    assert rough > 5e-9
    assert fine <= INVERSE and fine <= 1e-2 * rough


@pytest.mark.parametrize("seed", range(3))
def test_refinement_can_be_asked_for(seed: int) -> None:
    """Forces along directions that hardly yield are large, and so is what rounding does to them, unseen."""
    robot = lw.zoo.chain_of_loops(5)
    case = dense(robot, robot.poses["assembled"])
    a = np.random.default_rng(seed).normal(size=robot.nc)
    assert error(Delassus(robot).at(case.q).damped_inverse(1e-7, refine=3) @ a, case.solve(1e-7, a)) <= INVERSE


def test_another_damping_keeps_to_what_was_said_of_refinement() -> None:
    robot = lw.zoo.quadruped_standing()
    op, a = Delassus(robot).at(robot.poses["assembled"]), np.random.default_rng(0).normal(size=robot.nc)
    for refine in (False, True):
        direct = op.damped_inverse(1e-8, refine) @ a
        assert (op.damped_inverse(1.0, refine).with_damping(1e-8) @ a == direct).all()
    assert (direct != op.damped_inverse(1e-8, False) @ a).any()
