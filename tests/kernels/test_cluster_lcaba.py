# SPDX-License-Identifier: BSD-3-Clause
"""Local loops in clusters, other constraints as penalties: any choice gives the same motion, the best costs least."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.program import Program
from linkwork.compilers.run import Runner
from linkwork.dynamics.iterations import iteration_settings, row_regularization
from linkwork.dynamics.local_loops import _choices, _tree, local_constraints
from linkwork.dynamics.methods import method_cost
from linkwork.kernels.clusters.lcaba import CLUSTER_LCABA
from linkwork.mechanism import Mechanism
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.cluster_lcaba import InsideCluster
from linkwork_benchmarks import scenes
from tests.support import REPOSITORY
from tests.support.states import Floats

PAGE = REPOSITORY / "docs" / "concepts" / "algorithms" / "lcaba.md"
SEEDS = range(24)


@cache
def linked(seed: int) -> Mechanism:
    return lw.zoo.random_loops(seed, bodies=12, loops=4)


def state(robot: Mechanism, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng([seed, 5])
    q = robot.poses["assembled"]
    return q, robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


def solve(robot: Mechanism, rows: tuple[int, ...], q: Floats, v: Floats, tau: Floats) -> tuple[Floats, Floats]:
    """Accelerations and multipliers with these rows local."""
    runner = Runner(Program.of_robot(robot, CLUSTER_LCABA, _tree(robot, (), rows)))
    R, none = row_regularization(robot, 1e-8), np.zeros(robot.nc)
    settings = iteration_settings(robot, 1e-8, 1e-13, 20)
    a, result = runner.evaluate([q, v, tau, np.zeros((0, 6)), R, none, none, settings], [None, None])
    return a, result[2 : 2 + robot.nc]


@pytest.mark.parametrize("seed", [*SEEDS, 303])  # 303: a penalty on a leaf that hangs on a ball joint, in a cluster
def test_every_choice_of_local_constraints_gives_the_same_motion(seed: int) -> None:
    robot = linked(seed) if seed in SEEDS else lw.zoo.random_loops(seed, bodies=10, loops=4)
    q, v, tau = state(robot, seed)
    exact = lw.ForwardDynamics(robot, "kkt")(q, v, tau)
    J = lw.constraint_jacobian(robot, q)
    size = np.abs(exact.acceleration).max()
    forces = J.T @ exact.multipliers
    for rows in _choices(robot):
        a, multipliers = solve(robot, rows, q, v, tau)
        assert np.abs(a - exact.acceleration).max() <= 1e-8 * size, rows
        assert np.abs(J.T @ multipliers - forces).max() <= 1e-8 * max(np.abs(forces).max(), 1.0), rows


def test_random_mechanisms_mix_both_and_couple_clusters_to_bodies_outside() -> None:
    mixed = coupled = 0
    for seed in SEEDS:
        robot = linked(seed)
        for rows in _choices(robot):
            tree = _tree(robot, (), rows)
            mixed += 0 < len(rows) < robot.nc
            coupled += int(tree.nmember_couplings) > 0
    assert mixed >= len(SEEDS) // 2
    assert coupled >= len(SEEDS) // 4


each_robot = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "²" in name else name for name in scenes.LOCAL_LOOPS]
)


@cache
def made(name: str) -> Mechanism:
    return scenes.LOCAL_LOOPS[name]()


@each_robot
def test_rods_of_legs_are_local_and_feet_are_not(name: str) -> None:
    robot = made(name)
    local = set(local_constraints(robot))
    feet = {c.name for c in robot.constraints if "foot" in c.name and "world" in c.places}
    assert feet and not feet & local
    rods = {c.name for c in robot.constraints if "rod" in c.name or "plantar" in c.name or "achilles" in c.name}
    assert rods <= local


@each_robot
def test_operations_are_those_on_the_page_and_fewest(name: str) -> None:
    robot = made(name)
    counts = {method: method_cost(robot, method) for method in ("lcaba", "cluster", "cluster_lcaba")}
    table = PAGE.read_text().split("<!-- hybrids -->")[1]
    row = next(line for line in table.splitlines() if line.startswith(f"| {name} ("))
    printed = [[int(x.replace(" ", "")) for x in re.findall(r"\d[\d ]*", cell)] for cell in row.split("|")[2:6]]
    known = {method: count for method, count in counts.items() if count is not None}
    assert len(known) == 3
    for cell, count in zip(printed[:3], known.values(), strict=True):
        assert cell == [x for x in (count.total, count.iteration, count.refinement) if x]
    assert printed[3] == [len(local_constraints(robot)), len(robot.constraints)]
    assert known["cluster_lcaba"].in_iterations(3) < min(known["lcaba"].in_iterations(3), known["cluster"].total)
    assert known["cluster_lcaba"].iteration <= 0.18 * known["cluster_lcaba"].total


@pytest.mark.parametrize(("name", "most"), [("Digit", 25_000), ("Digit-cube", 29_000)])
def test_standing_robots_with_rods_are_cheap(name: str, most: int) -> None:
    count = method_cost(made(name), "cluster_lcaba")
    assert count is not None and count.total <= most


@pytest.mark.parametrize("backend", ["plain", "native", "specialized"])
def test_backends_agree_on_a_robot_on_its_feet(backend: str) -> None:
    robot = made("Cassie, feet welded")
    q, v, tau = state(robot)
    fd = lw.ForwardDynamics(robot, "cluster_lcaba")
    ours = {"plain": fd.plain, "native": fd.native, "specialized": fd.compile}[backend]()(q, v, tau)
    exact = lw.ForwardDynamics(robot, "kkt")(q, v, tau)
    assert np.abs(ours.acceleration - exact.acceleration).max() <= 1e-8 * np.abs(exact.acceleration).max()
    assert ours.converged


def test_multipliers_of_the_state_before_save_iterations() -> None:
    robot = made("Cassie, feet welded")
    q, v, tau = state(robot)
    fd = lw.ForwardDynamics(robot, "cluster_lcaba")
    cold = fd(q, v, tau)
    warm = fd(q, v, tau, multipliers=cold.multipliers)
    assert 1 < warm.iterations <= cold.iterations
    assert np.abs(warm.acceleration - cold.acceleration).max() <= 1e-9 * np.abs(cold.acceleration).max()


@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_penalties_of_a_call_are_soft_and_local_rows_stay_exact(spread: float) -> None:
    robot = made("Cassie, feet welded")
    q, v, tau = state(robot)
    local = [r for name in local_constraints(robot) for r in range(*robot.row_slice(name).indices(robot.nc))]
    R = 0.5 + spread * np.cos(np.arange(robot.nc))
    soft = lw.ForwardDynamics(robot, "cluster_lcaba", max_iterations=1)(q, v, tau, regularization=R)
    J, M = lw.constraint_jacobian(robot, q), lw.mass_matrix(robot, q)
    k = lw.constraint_target(robot, q, v) - lw.constraint_bias(robot, q, v)
    missed = k - J @ soft.acceleration
    outer = np.setdiff1d(np.arange(robot.nc), local)
    assert np.abs(missed[local]).max() <= 1e-9 * np.abs(soft.acceleration).max()
    assert np.allclose(missed[outer], R[outer] * soft.multipliers[outer], rtol=1e-9, atol=1e-9)
    force = M @ soft.acceleration + lw.bias_forces(robot, q, v) - tau - J.T @ soft.multipliers
    assert np.abs(force).max() <= 1e-10 * np.abs(J.T @ soft.multipliers).max()


def test_no_penalties_is_one_iteration_of_the_cluster_method() -> None:
    robot = lw.zoo.four_bar()
    q, v, tau = state(robot)
    ours, cluster = (lw.ForwardDynamics(robot, method)(q, v, tau) for method in ("cluster_lcaba", "cluster"))
    assert ours.iterations == 1
    assert np.array_equal(ours.acceleration, cluster.acceleration)
    assert np.array_equal(ours.multipliers, cluster.multipliers)


def test_a_penalty_inside_a_cluster_is_no_choice() -> None:
    build = lw.Builder("two loops over the same joints")
    parent = "world"
    for k in range(4):
        build.body(f"b{k}", lw.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0), radius=0.05))
        build.joint(f"j{k}", lw.joints.Revolute("z"), parent, f"b{k}", (0, 0, 0) if k == 0 else (1, 0, 0))
        parent = f"b{k}"
    build.constrain(lw.constraints.JointCoupling({"j0": 1.0, "j3": -1.0}, name="gear")).constrain(
        lw.constraints.Point("b0", "b2", name="chord", first_at=(0, 1, 0), second_at=(0.5, 0, 0))
    )
    robot = build.build()
    gear = tuple(range(*robot.row_slice("gear").indices(robot.nc)))
    with pytest.raises(InsideCluster):
        _tree(robot, (), gear)
    assert set(local_constraints(robot)) == {"gear", "chord"}


def test_disabled_constraints_count_for_nothing() -> None:
    robot = made("Cassie, feet welded")
    *others, last = robot.constraints
    fewer = replace(robot, constraints=(*others, replace(last, enabled=False)))
    q, v, tau = state(fewer)
    ours, exact = (lw.ForwardDynamics(fewer, method)(q, v, tau) for method in ("cluster_lcaba", "kkt"))
    assert np.abs(ours.acceleration - exact.acceleration).max() <= 1e-8 * np.abs(exact.acceleration).max()
    assert not np.any(ours.multipliers[fewer.row_slice(last.name)])
    assert (row_regularization(fewer, 1e-8)[fewer.row_slice(last.name)] >= UNBOUNDED).all()
