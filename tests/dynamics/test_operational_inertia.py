# SPDX-License-Identifier: BSD-3-Clause
"""Inverse inertia of end effectors: all methods and orders against dense algebra, and exact operation counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics import operational
from linkwork.mechanism import Mechanism
from linkwork_benchmarks.clusters.robots import SUBJECTS, bare_stalk, geared_stalk, rebuilt, reflected_inertias, tips
from tests.support import units
from tests.support.robots import model_file
from tests.support.states import Floats, assert_close

AGREEMENT = 1e-9
"""Relative to the largest entry; the worst of the mechanisms below are conditioned to 1e6."""

NULL = 1e-9
"""Singular values of the constraint Jacobian below this part of the largest are zero: rows may be redundant."""


def dense(robot: Mechanism, q: Floats, frames: Sequence[str]) -> Floats:
    """``J Z (Z' M Z)^-1 Z' J'`` with ``Z`` the motions that constraints allow, from a singular value decomposition."""
    J = lw.frame_jacobian(robot, q, list(frames)).reshape(-1, robot.nv)
    on = [r for c in robot.constraints if c.enabled for r in range(*robot.row_slice(c.name).indices(robot.nc))]
    _, s, v = np.linalg.svd(lw.constraint_jacobian(robot, q)[on])
    Z = v[int((s > NULL * s.max(initial=0.0)).sum()) :].T
    found: Floats = J @ Z @ np.linalg.solve(Z.T @ lw.mass_matrix(robot, q) @ Z, Z.T @ J.T)
    return found


Order = Callable[[Any], Sequence[int]]
"""At which ancestors of a plan rows end."""


def made(robot: Mechanism, frames: Sequence[str], ancestors: Order, method: Any = "efpa") -> lw.OperationalInertia:
    """The evaluator of a plan whose rows end at these ancestors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operational, "efpa_ancestors", ancestors)
        patch.setattr(operational, "program_cost", lambda program: None)
        inertia = lw.OperationalInertia(robot, frames, method, threads=1)
        assert inertia.program.tree.nf == len(frames)  # planned now
        return inertia


def nowhere(tree: Any) -> list[int]:
    return []


def everywhere(tree: Any) -> list[int]:
    return sorted(set(tree.propagator_body.tolist()))


def framed(robot: Mechanism, rng: np.random.Generator, count: int) -> tuple[Mechanism, list[str]]:
    """With frames somewhere on random bodies, some of them on the same."""
    names = []
    for k in range(count):
        body = str(rng.choice(robot.body_names))
        robot = robot.with_frame(f"effector{k}", body, lw.zoo.random_placement(rng))
        names.append(f"effector{k}")
    return robot, names


# Agreement -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", (0, 10))
def test_every_order_agrees_with_dense_algebra_on_random_mechanisms(first: int) -> None:
    """All joint types and constraints, armature, frames on one body; rows end at any ancestors, or at none."""
    served = 0
    for seed in range(first, first + 10):
        rng = np.random.default_rng([seed, 17])
        robot, frames = framed(lw.zoo.random_loops(seed, bodies=8 + seed % 9, loops=seed % 4), rng, 5)
        q = robot.poses["assembled"]
        try:
            lw.Minimal(robot).matrix(q)
        except lw.errors.SingularConstraints:
            continue
        served += 1
        expected = dense(robot, q, frames)

        def some(tree: Any, rng: np.random.Generator = rng) -> list[int]:
            return [i for i in range(1, tree.n) if rng.random() < 0.5]

        for order in (nowhere, everywhere, some):
            found = made(robot, frames, order)(q)
            assert_close(found, expected, AGREEMENT)
            assert (found == found.T).all()
    assert served >= 8


@pytest.mark.parametrize("make", [bare_stalk, geared_stalk], ids=["tree", "geared"])
def test_the_order_that_is_chosen_agrees_on_a_stem_with_branches(make: Callable[[int, int], Mechanism]) -> None:
    """Between the tips of either end, and from one end to the other."""
    robot, frames = make(8, 3), tips(3)
    rng = np.random.default_rng(0)
    q = lw.Minimal(robot).complete(robot.random(rng))
    inertia = lw.OperationalInertia(robot, frames, threads=1)
    assert inertia.program.tree.block_operand.max() >= 0  # rows end at an ancestor
    expected = dense(robot, q, frames)
    for way in (inertia, inertia.plain(), made(robot, frames, nowhere), made(robot, frames, everywhere)):
        assert_close(way(q), expected, AGREEMENT)
    assert_close(lw.OperationalInertia(robot, frames, "projection", threads=1)(q), expected, AGREEMENT)


def test_few_degrees_of_freedom_beyond_an_ancestor() -> None:
    """On a fixed stem of three links an ancestor's inverse inertia has rank three: rows pass it one by one."""
    robot, frames = (
        lw.zoo.stalk(3, 3, links=2, floating=False),
        [f"{side}{k}_1" for side in ("root", "top") for k in range(3)],
    )
    q = robot.random(np.random.default_rng(1))
    inertia = made(robot.unconstrained(), frames, everywhere)
    assert inertia.program.tree.propagator_operand.max() >= 0
    assert_close(inertia(q), dense(robot.unconstrained(), q, frames), AGREEMENT)


@pytest.mark.parametrize("order", [nowhere, everywhere])
def test_clusters_without_degrees_of_freedom_are_crossed_as_one_body(order: Order) -> None:
    """Loops of six hinges on a body that floats: nothing but the first body moves."""
    robot = lw.zoo.chain_of_loops(5)
    assert lw.Minimal(robot).ny == 6
    q, frames = robot.poses["assembled"], ["loop0_5", "loop4_5", "loop1_2", "loop1_2"]
    assert_close(made(robot, frames, order)(q), dense(robot, q, frames), AGREEMENT)


def test_units_change_numbers_alone() -> None:
    """In millimeters, grams and milliseconds: linear rows of inverse inertias in 1/g, angular ones in 1/(g mm²)."""
    robot, frames = geared_stalk(7, 2), tips(2)
    q = lw.Minimal(robot).complete(robot.random(np.random.default_rng(2)))
    by = units.Units(robot, 1e3, 1e3, 1e3)
    other = units.scaled(robot, 1e3, 1e3, 1e3)
    row = np.tile(np.repeat([1e-3, 1.0], 3), len(frames))
    found = lw.OperationalInertia(other, frames, threads=1)(by.positions * q)
    expected = dense(robot, q, frames) * np.outer(row, row) / 1e3
    scale = np.sqrt(np.diag(expected))
    assert_close(found / np.outer(scale, scale), expected / np.outer(scale, scale), AGREEMENT)


def test_disabled_constraints_and_independent_parts() -> None:
    """Rows that are off do not bind; frames that nothing joins do not feel each other, nor do those on the world."""
    robot = lw.zoo.geared_chain(4).switched({"gear1": False})
    q = robot.poses["assembled"]
    frames = ["link3", "link2", "rotor0", "rotor1"]
    for order in (nowhere, everywhere):
        found = made(robot, frames, order)(q)
        assert_close(found, dense(robot, q, frames), AGREEMENT)
    tree = lw.zoo.serial_chain(3).with_frame("base", "world")
    found = lw.OperationalInertia(tree, ["base", "link2"], threads=1)(tree.neutral())
    assert not found[:6].any() and found[6:, 6:].any()


# The independent tree with reflected inertia ---------------------------------------------------------------------


@pytest.mark.parametrize("order", [nowhere, everywhere])
@pytest.mark.parametrize(
    "make", [lambda: lw.zoo.geared_chain(5), lambda: lw.zoo.belt_chain(6, 3), lambda: geared_stalk(3, 2)]
)
def test_approximate_is_that_of_forward_dynamics(make: Callable[[], Mechanism], order: Order) -> None:
    """``J a`` with ``a`` the accelerations that `approximate` forward dynamics has for unit torques, beyond others."""
    robot = make()
    frames = [name for name in robot.body_names if "rotor" not in name][-4:]
    q, at = robot.poses["assembled"], lw.Minimal(robot)
    tau = np.zeros((at.ny + 1, robot.nv))
    tau[np.arange(at.ny), at.index] = 1.0
    a = lw.ForwardDynamics(robot, "approximate", threads=1)(np.tile(q, (at.ny + 1, 1)), 0 * tau, tau).acceleration
    inverse = (a[:-1] - a[-1])[:, at.index]
    J = lw.frame_jacobian(robot, q, frames).reshape(-1, robot.nv)[:, at.index]
    assert_close(made(robot, frames, order, "approximate")(q), J @ inverse @ J.T, AGREEMENT)


def test_approximate_has_the_reflected_inertia_as_armature() -> None:
    """``G² I`` on the diagonal (Section II-C): the tree without rotors that are light and turn fast."""
    robot = lw.zoo.geared_chain(4, ratio=6e3, rotor_mass=2e-7)
    links = {joint.name: joint.type for joint in robot.joints if "rotor" not in joint.name}
    tree = rebuilt(robot, "tree", links, reflected_inertias(robot, tuple(links)))
    assert tree.armature.min() > 1e-3
    q, frames = robot.poses["assembled"], ["link1", "link3"]
    theirs = lw.OperationalInertia(tree, frames, threads=1)(q[[robot.q_index(name) for name in links]])
    assert_close(lw.OperationalInertia(robot, frames, "approximate", threads=1)(q), theirs, 1e-5)


def test_approximate_is_exact_where_rotors_turn_on_the_world() -> None:
    robot = lw.zoo.geared_chain(1)
    exact, found = (
        lw.OperationalInertia(robot, "link0", m, threads=1)(robot.neutral()) for m in ("efpa", "approximate")
    )
    assert_close(found, exact, AGREEMENT)


def test_approximate_of_a_tree_is_exact() -> None:
    robot = lw.zoo.random_tree(3, 9)
    q, frames = robot.random(np.random.default_rng(0)), robot.body_names[-3:]
    assert_close(lw.OperationalInertia(robot, frames, "approximate", threads=1)(q), dense(robot, q, frames), AGREEMENT)


def test_approximate_says_what_it_cannot_serve() -> None:
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"approximate cannot serve 'four-bar.*use efpa"):
        lw.OperationalInertia(lw.zoo.four_bar(), "rocker", "approximate")
    with pytest.raises(
        lw.errors.UnsupportedFeature, match="frame 'rotor1' is on 'rotor1', which is left out: joint 'rotor1'"
    ):
        lw.OperationalInertia(lw.zoo.geared_chain(2), ["link1", "rotor1"], "approximate")


# Operations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make, most", [(bare_stalk, 310), (geared_stalk, 345)], ids=["tree", "geared"])
def test_a_further_link_of_a_stem_is_crossed_once_for_all_end_effectors(
    make: Callable[[int, int, int], Mechanism], most: int
) -> None:
    """Eight branches at each end: six rows cross it, not those of eight end effectors."""
    counts = [lw.OperationalInertia(make(n, 8, 2), tips(8, 2)).operation_count().total for n in (8, 14)]
    assert (counts[1] - counts[0]) / 6 <= most


def test_the_order_is_chosen_by_exact_counts() -> None:
    robot, frames = bare_stalk(2, 4, 2), tips(4, 2)
    counts = {order: made(robot, frames, order).operation_count().total for order in (nowhere, everywhere)}
    assert counts[nowhere] < counts[everywhere]
    chosen = lw.OperationalInertia(robot, frames, threads=1)
    assert chosen.operation_count().total == counts[nowhere]
    assert chosen.program.tree.block_operand.max() < 0


@pytest.mark.models
@pytest.mark.parametrize(
    "system, exact, approximate",
    [("MIT Humanoid", 5656, 5539), ("geared chain", 3098, 2993), ("belt chain", 2834, 2649)],
)
def test_counts_of_the_papers_systems(system: str, exact: int, approximate: int) -> None:
    """Rows end at the world where feet share nothing but a floating base; an approximation costs less."""
    if system == "MIT Humanoid":
        model_file("mit_humanoid/mit_humanoid.urdf")
    robot, effectors = SUBJECTS[system].make(), SUBJECTS[system].effectors
    assert lw.OperationalInertia(robot, effectors).operation_count().total <= exact
    assert lw.OperationalInertia(robot, effectors, "approximate").operation_count().total <= approximate
