# SPDX-License-Identifier: BSD-3-Clause
"""LCABA: rows in closed form, iterations that end with a refinement, and counts that do not depend on round-off."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import Pair
from linkwork.model.placement import Placement, as_placement
from linkwork.model.rotations import axis_rotation
from linkwork.plans.lcaba import lcaba_tree, lcaba_tree_of_compliances, shares_penalties
from tests.support import REPOSITORY
from tests.support.gauss import ROUNDING, closed_state, open_state
from tests.support.states import Floats, assert_close

KINDS = ["Weld", "Hinge", "Point"]


@cache
def welded(seed: int) -> Mechanism:
    """Six bodies with three loops that are closed by welds, hinges and points."""
    return lw.zoo.random_loops(seed, bodies=6, loops=3, constraints=KINDS)


def turned(placement: Placement, rng: np.random.Generator, size: float) -> Placement:
    """A placement that is off by some part of a meter and of a radian."""
    axis = rng.normal(size=3)
    rotation = axis_rotation(axis / np.linalg.norm(axis), size)
    return Placement(placement.position + size * rng.normal(size=3), placement.rotation @ rotation)


def disturbed(robot: Mechanism, size: float, seed: int = 0) -> Mechanism:
    """The same robot with all placements of joints and of pairs off by as much."""
    rng = np.random.default_rng(seed)
    joints = tuple(replace(j, placement=turned(j.placement, rng, size)) for j in robot.joints)
    bound = tuple(
        replace(
            c,
            first_at=turned(as_placement(c.first_at), rng, size),
            second_at=turned(as_placement(c.second_at), rng, size),
        )
        if isinstance(c, Pair)
        else c
        for c in robot.constraints
    )
    return replace(robot, joints=joints, constraints=bound)


def counts(robot: Mechanism) -> list[int]:
    """Operations of the first, of a further and of the last iteration, and of ABA of the tree."""
    found = lw.ForwardDynamics(robot, "lcaba").operation_count()
    tree = lw.ForwardDynamics(replace(robot, constraints=()), "aba").operation_count()
    return [found.total, found.iteration, found.refinement, tree.total]


# Closed forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_rows_in_closed_form_are_those_one_by_one(seed: int) -> None:
    """Off the loops too, where errors of orientation are large."""
    robot = welded(seed)
    fd = lw.ForwardDynamics(robot, "lcaba", max_iterations=1)
    tree = fd.program.tree
    assert tree.closed_translation.any() or tree.closed_rotation.any()
    p = open_state(robot, np.random.default_rng(seed))
    R = 1e-3 * p.weights
    # a part of 1e-15 tells rows apart and changes nothing: the plan for rows of different penalties
    apart = R * (1.0 + 1e-15 * np.arange(robot.nc))
    assert shares_penalties(tree, R) and not shares_penalties(tree, apart)
    closed, single = fd(p.q, p.v, p.tau, regularization=R), fd(p.q, p.v, p.tau, regularization=apart)
    a, forces = p.soft(1e-3)
    allowed = 1e-12 + 1e-14 * p.stiffness / 1e-3
    for s in (closed, single):
        assert_close(s.acceleration, a, allowed)
        assert s.multipliers is not None
        assert_close(s.multipliers, forces, allowed, scale=float(np.abs(p.k).max()))


@pytest.mark.parametrize("seed", range(4))
def test_velocity_errors_of_rows_in_closed_form_are_those_of_the_jacobian(seed: int) -> None:
    """Those rows have no K; stabilization takes ``J v`` of them from the velocities of bodies."""
    plain = welded(seed)
    robot = replace(plain, constraints=tuple(replace(c, time_constant=0.1) for c in plain.constraints))
    fd = lw.ForwardDynamics(robot, "lcaba")
    assert fd.program.tree.closed_form.any()
    p = open_state(robot, np.random.default_rng(seed))
    found, soft = fd(p.q, p.v, p.tau), lw.ForwardDynamics(robot, "prox_bbo")(p.q, p.v, p.tau)
    J = lw.Evaluator(robot, "constraint_jacobian")(p.q)
    assert found.velocity_error == pytest.approx(np.abs(J @ p.v).max(), rel=1e-12)
    assert_close(found.acceleration, soft.acceleration, 1e-7)


@pytest.mark.parametrize("way", ["native", "compile"])
def test_rows_of_a_weld_may_differ_in_regularization(way: str) -> None:
    robot = welded(1)
    fd = getattr(lw.ForwardDynamics(robot, "lcaba", max_iterations=1), way)()
    rng = np.random.default_rng(2)
    for seed in range(3):
        p = closed_state(robot, robot.poses["assembled"], np.random.default_rng(seed))
        R = 1e-2 * p.weights * rng.uniform(0.3, 3.0, robot.nc)
        stiff = p.M + p.J.T @ (p.J / R[:, None])
        a = np.linalg.solve(stiff, p.pull + p.J.T @ (p.k / R))
        assert_close(fd(p.q, p.v, p.tau, regularization=R).acceleration, a, 1e-10)


def test_a_weld_that_is_not_enabled_does_nothing() -> None:
    robot = welded(1)
    names = [c.name for c in robot.constraints]
    off = replace(robot, constraints=tuple(replace(c, enabled=c.name != names[0]) for c in robot.constraints))
    without = replace(robot, constraints=robot.constraints[1:])
    for max_iterations in (1, 3, 20):
        for seed in range(3):
            p = open_state(robot, np.random.default_rng(seed))
            fds = [lw.ForwardDynamics(r, "lcaba", max_iterations=max_iterations) for r in (off, without)]
            ours, theirs = (fd(p.q, p.v, p.tau) for fd in fds)
            rows = robot.row_slice(names[0])
            assert ours.multipliers is not None and theirs.multipliers is not None
            assert (np.abs(ours.multipliers[rows]) < 1e-20).all() and (ours.residuals[rows] == 0).all()
            known = 1e-12 + 10 * ROUNDING * p.stiffness / fds[0].solver.regularization * (max_iterations == 1)
            assert_close(ours.acceleration, theirs.acceleration, known)


@pytest.mark.parametrize("angle", [np.pi, np.pi - 1e-9, np.pi - 1e-4, 3.0])
def test_a_weld_is_pulled_back_from_half_a_turn(angle: float) -> None:
    """Where its axis is not unique the rows are those of some axis, and the factor is that of a definite matrix."""
    build = lw.Builder("turned").body("base", lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    build.joint("free", lw.joints.Free(), "world", "base")
    build.body("tip", lw.Inertia.box(1.0, (0.3, 0.1, 0.2))).joint(
        "turn", lw.joints.Spherical(), "base", "tip", (0, 0, 0.2)
    )
    robot = build.constrain(lw.constraints.Weld("base", "tip", first_at=(0, 0, 0.2))).build()
    for axis in np.eye(3):
        q = robot.neutral()
        q[robot.q_slice("turn")] = [*(np.sin(angle / 2) * axis), np.cos(angle / 2)]
        zero = np.zeros(robot.nv)
        s = lw.ForwardDynamics(robot, "lcaba", regularization=1e-4)(q, zero, zero)
        assert np.isfinite(s.acceleration).all() and np.abs(s.acceleration).max() < 1e3
        assert np.abs(lw.constraint_error(robot, q)).max() > 1.9 * np.sin(angle / 2)


# Iterations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["plain", "native", "compile"])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_forces_balance_after_any_number_of_iterations_but_one(way: str, count: int) -> None:
    """The last one makes up for what stiff rows cost: the factor alone has eight digits here."""
    robot = welded(1)
    fd = getattr(lw.ForwardDynamics(robot, "lcaba", tolerance=1e-300, max_iterations=count), way)()
    for seed in range(3):
        p = closed_state(robot, robot.poses["assembled"], np.random.default_rng(seed))
        s = fd(p.q, p.v, p.tau)
        assert s.iterations == count and p.unbalanced(s) < 1e-13


def test_joints_that_no_row_depends_on_accelerate_with_the_others() -> None:
    """Iterations before the last leave them alone."""
    robot = lw.zoo.random_loops(28, bodies=5, loops=2, constraints=["Point", "Hinge"])
    arm = lw.zoo.pendulum(3)
    whole = lw.attach(robot, arm, to=robot.body_names[-1], at=(0.1, 0.2, 0.3), prefix="arm")
    for damping in (1e-2, 1e-4, 1e-8):
        for count in (2, 3, 4, 20):
            fds = [
                lw.ForwardDynamics(whole, method, regularization=damping, tolerance=1e-300, max_iterations=count)
                for method in ("lcaba", "prox_ltl")
            ]
            p = open_state(whole, np.random.default_rng(count))
            ours, theirs = (fd(p.q, p.v, p.tau) for fd in fds)
            assert_close(ours.acceleration, theirs.acceleration, 1e-9)


def test_a_further_iteration_costs_a_fraction_of_the_first() -> None:
    for seed in range(4):
        cost = lw.ForwardDynamics(welded(seed), "lcaba").operation_count()
        assert 0 < cost.iteration < cost.refinement < cost.total
        assert cost.in_iterations(1) == cost.total
        assert cost.in_iterations(2) == cost.total + cost.refinement
        assert cost.in_iterations(4) == cost.total + 2 * cost.iteration + cost.refinement


# Counts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jansen", "four_bar", "stewart", "watt", "delta"])
def test_counts_do_not_depend_on_round_off(name: str) -> None:
    """Of placements that were composed or assembled: 3e-15 of a meter and of a radian, more than ten ulps."""
    robot = getattr(lw.zoo, name)()
    expected = counts(robot)
    for seed in range(2):
        assert counts(disturbed(robot, 3e-15, seed)) == expected


def test_counts_do_not_depend_on_the_kernels_of_blas() -> None:
    """Here and in a process that multiplies matrices with kernels for an old processor."""
    script = "from tests.kernels import test_lcaba; print(test_lcaba.counts(test_lcaba.held_stewart()))"
    path = os.pathsep.join([str(REPOSITORY), *sys.path])
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott", "PYTHONPATH": path}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[0] == str(counts(held_stewart()))


def held_stewart() -> Mechanism:
    """A hexapod, welded to the world where it stands in an assembled pose."""
    robot = lw.zoo.stewart()
    q = robot.assemble(robot.random(np.random.default_rng(3)))
    return robot.constrained(lw.constraints.Weld("world", robot.body_names[-1], name="held"), at=q)


@pytest.mark.parametrize("seed", range(3))
def test_counts_do_not_depend_on_where_users_have_their_x_axes(seed: int) -> None:
    """An arm in Denavit and Hartenberg's frames, and in frames that are turned about the joints' axes."""
    rng = np.random.default_rng(seed)
    tilts, lengths = rng.choice([0.0, np.pi / 2, 0.7], 5), rng.uniform(0.2, 0.5, 5)
    angles = rng.uniform(-2, 2, 5)

    def arm(angles: Floats) -> Mechanism:
        build, above, before = lw.Builder("arm"), "world", np.eye(3)
        for k, (tilt, length, angle) in enumerate(zip(tilts, lengths, angles, strict=True)):
            turn = axis_rotation((0, 0, 1), angle)
            box = lw.Inertia.box(1.0 + k, (0.1, 0.2, 0.3), com=(length / 2, 0.0, 0.0))
            build.body(f"b{k}", box.moved(Placement((0, 0, 0), turn.T)))
            at = Placement(before.T @ [length, 0, 0], before.T @ axis_rotation((1, 0, 0), tilt) @ turn)
            build.joint(f"j{k}", lw.joints.Revolute("z"), above, f"b{k}", at)
            above, before = f"b{k}", turn
        return build.build()

    straight, other = arm(np.zeros(5)), arm(angles)
    total = [lw.ForwardDynamics(robot, "aba").operation_count().total for robot in (straight, other)]
    assert total[1] <= total[0] + 6 * 5
    q, v, tau = rng.normal(size=(3, 5))
    fds = [lw.ForwardDynamics(robot, "aba") for robot in (straight, other)]
    assert_close(fds[0](q, v, tau).acceleration, fds[1](q, v, tau).acceleration, 1e-10)


def test_the_plan_for_any_regularization_has_no_closed_forms() -> None:
    tree = lcaba_tree(welded(0))
    assert not (tree.closed_rotation.any() or tree.closed_translation.any()) and tree.nouter == tree.nk
    equal = lcaba_tree_of_compliances(welded(0))
    assert equal.nouter < equal.nk


@pytest.mark.parametrize("seed", range(4))
def test_the_plan_for_any_regularization_is_that_of_different_compliances(seed: int) -> None:
    """Made of the plan with closed forms, or from the start."""
    robot, rng = welded(seed), np.random.default_rng(seed)
    apart = tuple(replace(c, compliance=rng.uniform(0.5, 2.0, c.rows)) for c in robot.constraints)
    ours, theirs = lcaba_tree(robot), lcaba_tree_of_compliances(replace(robot, constraints=apart))
    for name in theirs._fields:
        if name not in ("pair_coupling", "pair_coupling_transposed"):  # which rows one by one do not need
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), name)
