# SPDX-License-Identifier: BSD-3-Clause
"""PV-early: rows shrink joint by joint; where a joint hardly feels its row, ranks are revealed instead."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.methods import method_cost, refusal
from linkwork.dynamics.rows.ranks import pv_early_plan
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.constrained.pv_early_refinement import SINGULAR, UNREFINED
from linkwork.mechanism import Mechanism
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.tree import Tree
from linkwork.zoo.closed import random_loops
from tests.support.gauss import Problem, closed_state, distance, open_state

EXACT = 1e-9
"""Of accelerations, relative to the largest, wherever the problem itself is well posed."""

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")


def arm(links: int, *, at: tuple[float, float, float] = (0.5, 0.1, 0.2), base: bool = False) -> Mechanism:
    """Links in space, each axis another one than the last, a point of the last held; with a free base, or without."""
    build, parent = lw.Builder("arm"), "world"
    if base:
        build.body("base", lw.Inertia.box(5.0, (0.5, 0.3, 0.2))).joint("base", lw.joints.Free(), "world", "base")
        parent = "base"
    for k in range(links):
        build.body(f"link{k}", lw.Inertia.box(1.0 + k, (0.5, 0.1, 0.2)))
        build.joint(f"joint{k}", lw.joints.Revolute("yzx"[k % 3]), parent, f"link{k}", (0.4, 0.1 * k, 0.0))
        parent = f"link{k}"
    build.constrain(lw.constraints.Point("world", parent, name="tip", second_at=at))
    return build.build()


def rope(links: int) -> Mechanism:
    """Links on ball joints, a point of the last held."""
    build, parent = lw.Builder("rope"), "world"
    for k in range(links):
        build.body(f"link{k}", lw.Inertia.box(1.0, (0.1, 0.1, 0.5)))
        build.joint(f"ball{k}", lw.joints.Spherical(), parent, f"link{k}", (0, 0, 0.5 if k else 0.0))
        parent = f"link{k}"
    build.constrain(lw.constraints.Point("world", parent, name="end", second_at=(0, 0, 0.5)))
    return build.build()


def dynamics(robot: Mechanism) -> lw.ForwardDynamics:
    return lw.ForwardDynamics(robot, "pv_early")


def plan(robot: Mechanism) -> Tree:
    return pv_early_plan(robot, ())


def agrees(p: Problem, s: lw.results.Solution) -> bool:
    return distance(s.acceleration, p.hard[0]) <= EXACT and p.unbalanced(s) <= EXACT


# Plans -----------------------------------------------------------------------------------------------


def test_one_row_ends_at_each_joint_until_none_are_left() -> None:
    tree = plan(lw.zoo.held_chain(8))
    assert tree.early_ends == 1
    assert tree.early_rank.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert tree.early_count.tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 6]


def test_joint_whose_axis_goes_through_the_point_hands_rows_on() -> None:
    on_axis = plan(arm(4, at=(0.0, 0.7, 0.0)))
    assert on_axis.early_rank.tolist() == [0, 1, 1, 1, 0]
    assert on_axis.early_count.tolist() == [0, 1, 2, 3, 3]
    assert plan(arm(4)).early_rank.tolist() == [0, 0, 1, 1, 1]


def test_ball_joint_takes_what_turns_about_its_center() -> None:
    """Of the three rows of a point, the one along the line to the center of the ball joint is not felt."""
    tree = plan(rope(3))
    assert tree.early_rank.tolist() == [0, 0, 1, 2]
    p = open_state(rope(3), np.random.default_rng(0))
    assert agrees(p, dynamics(p.robot)(p.q, p.v, p.tau))


def test_rows_that_reach_a_free_base_end_there() -> None:
    robot = arm(1, base=True)
    tree = plan(robot)
    assert tree.early_rank.tolist() == [0, 2, 1]
    p = open_state(robot, np.random.default_rng(0))
    assert agrees(p, dynamics(robot)(p.q, p.v, p.tau))


def test_rows_that_say_the_same_everywhere_are_left_to_revealed_ranks() -> None:
    robot = lw.zoo.held_chain(8)
    twice = robot.constrained(replace(robot.constraints[0], name="again"))
    assert plan(robot).early_ends == 1 and plan(twice).early_ends == 0
    p = closed_state(twice, robot.poses["assembled"], np.random.default_rng(0))
    s = dynamics(twice)(p.q, p.v, p.tau)
    assert agrees(p, s) and s.iterations == 1


# Agreement -------------------------------------------------------------------------------------------


@cache
def grounded(seed: int) -> Mechanism:
    """A random mechanism with random constraints to the world and on joints."""
    rng = np.random.default_rng([seed, 5])
    robot = random_loops(seed, bodies=int(rng.integers(2, 14)), loops=14)
    served = [c for c in robot.constraints if refusal(replace(robot, constraints=(c,)), "pv_early") is None]
    return replace(robot, constraints=tuple(served[: int(rng.integers(1, 5))]))


@pytest.mark.parametrize("seed", range(0, 60, 12))
def test_random_mechanisms_accelerate_as_gauss_says(seed: int) -> None:
    """All kinds of joints, armature, rows on joints, more than six rows on a link, redundant rows."""
    for robot in map(grounded, range(seed, seed + 12)):
        if not robot.constraints:
            continue
        rng = np.random.default_rng(seed)
        fd = dynamics(robot)
        p = closed_state(robot, robot.poses["assembled"], rng)
        assert agrees(p, fd(p.q, p.v, p.tau)), robot.name
        p = open_state(robot, rng)
        if not p.redundant:
            assert agrees(p, fd(p.q, p.v, p.tau)), robot.name


def test_row_on_the_joint_of_a_held_link() -> None:
    """Seven rows on a link and its joint, all independent; and with the weld twice, not."""
    robot = lw.zoo.held_chain(9)
    lock = lw.constraints.JointLock(robot.joints[-1].name, name="lock")
    rng = np.random.default_rng(0)
    for constraints in ((lock,), (lock, replace(robot.constraints[0], name="again"))):
        locked = robot.constrained(*constraints)
        p = closed_state(locked, robot.poses["assembled"], rng)
        assert agrees(p, dynamics(locked)(p.q, p.v, p.tau))


# Singular configurations -----------------------------------------------------------------------------


def stretched(bend: float) -> Problem:
    """Two links on a free base, stretched but for a bend: along them, no joint moves the held point."""
    build, parent = lw.Builder("stretched"), "base"
    build.body("base", lw.Inertia.box(5.0, (0.5, 0.3, 0.2))).joint("base", lw.joints.Free(), "world", "base")
    for k, axis in enumerate("xyy"):
        build.body(f"link{k}", lw.Inertia.box(1.0, (0.1, 0.1, 0.5)))
        build.joint(f"joint{k}", lw.joints.Revolute(axis), parent, f"link{k}", (0, 0, 0.5 if k == 2 else 0.0))
        parent = f"link{k}"
    build.constrain(lw.constraints.Point("world", parent, name="foot", second_at=(0, 0, 0.5)))
    robot = build.build()
    q = robot.neutral()
    q[-1] = bend
    v, tau = np.random.default_rng(2).normal(size=(2, robot.nv))
    return Problem(robot, q, v, tau)


@pytest.mark.parametrize("bend", [0.0, 1e-14, 1e-11, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1.0])
def test_stretched_leg_is_as_exact_as_a_bent_one(bend: float) -> None:
    p = stretched(bend)
    s = dynamics(p.robot)(p.q, p.v, p.tau)
    assert agrees(p, s)
    assert (s.iterations == 1) == (bend > 1e-4)


@pytest.mark.parametrize("backend", ["native", "compile", "plain"])
def test_only_singular_states_of_a_batch_are_done_again(backend: str) -> None:
    problems = [stretched(bend) for bend in (1.0, 0.5, 0.0, 0.3, 1e-6, 0.7, 0.2)]
    robot = problems[0].robot
    fd = getattr(dynamics(robot), backend)()
    s = fd(*(np.array([getattr(p, name) for p in problems]) for name in ("q", "v", "tau")))
    assert [k > 1 for k in s.iterations] == [False, False, True, False, True, False, False]
    for p, a, forces in zip(problems, s.acceleration, s.multipliers, strict=True):
        assert distance(a, p.hard[0]) <= EXACT and distance(forces, p.hard[1]) <= EXACT


def wrist(bend: float) -> Problem:
    """An arm of seven joints like that of KUKA's iiwa, a point of its last link held, the wrist bent by so much.

    The sixth joint takes one of three rows; the fifth and the fourth feel the others by about the bend alone.
    """
    build, parent = lw.Builder("wrist"), "world"
    for k, (axis, at) in enumerate(zip("zyzyzyz", (0.15, 0.2, 0.2, 0.2, 0.2, 0.2, 0.08), strict=True)):
        build.body(f"link{k}", lw.Inertia.box(4.0 - 0.5 * k, (0.1, 0.15, 0.3)))
        build.joint(f"joint{k}", lw.joints.Revolute(axis), parent, f"link{k}", (0, 0, at))
        parent = f"link{k}"
    build.constrain(lw.constraints.Point("world", parent, name="hand", second_at=(0, 0, 0.05)))
    robot = build.build()
    q = 0.4 * np.cos(np.arange(7.0))
    q[5] = bend
    v, tau = np.random.default_rng(5).normal(size=(2, 7))
    return Problem(robot, q, v, 10.0 * tau)


def refined(p: Problem) -> tuple[list[float], list[float]]:
    """``progress`` and the error of accelerations: after the sweeps, and after each step of refinement by their
    factor."""
    program = dynamics(p.robot).program
    algorithm, tree = program.algorithm, program.tree
    shapes = [resolve(shape, tree) for shape in algorithm.work.values()]
    work = algorithm.work_type(*(np.full(shape, np.nan) for shape in shapes))
    held = dynamics(p.robot).execution.held
    inputs = [p.q, p.v, p.tau, np.zeros((0, 6)), *(held[name] for name in [*algorithm.inputs][4:])]
    outputs = [np.zeros(shape) for shape in program.output_shapes()]
    progress, errors = [], []
    for text in (algorithm.text, algorithm.refine, algorithm.refine):
        assert text is not None
        with np.errstate(all="ignore"):
            text(tree, work, *inputs, *outputs)
        progress.append(float(outputs[1][0]))
        errors.append(distance(outputs[0], p.hard[0]))
        if progress[-1] != UNREFINED:
            break
    return progress, errors


@pytest.mark.parametrize(("bend", "steps"), [(0.1, 0), (1e-3, 1), (3e-4, 1), (1e-4, 1), (1e-5, 2)])
def test_joints_that_hardly_feel_their_rows_keep_all_digits_by_refinement(bend: float, steps: int) -> None:
    """The rows of a nearly straight wrist: digits that inertias lost come back without another elimination."""
    p = wrist(bend)
    progress, errors = refined(p)
    assert progress == [UNREFINED] * steps + [0.0]
    assert errors[-1] <= EXACT
    assert agrees(p, s := dynamics(p.robot)(p.q, p.v, p.tau)) and s.iterations == 1 + steps


def test_refinement_contracts_errors() -> None:
    """Each step multiplies the error by about what the first solution is off by."""
    _, errors = refined(wrist(1e-5))
    assert errors[0] > 1e-6 and errors[1] < errors[0] / 30 and errors[2] < 1e-3 * errors[1] + 1e-13


def test_singular_states_leave_refinement_for_revealed_ranks() -> None:
    for p in (wrist(0.0), wrist(1e-9), stretched(0.0)):
        assert refined(p)[0][-1] == SINGULAR
        assert agrees(p, dynamics(p.robot)(p.q, p.v, p.tau))


@pytest.mark.parametrize("backend", ["native", "compile"])
def test_states_of_a_batch_are_refined_or_done_again_each_by_itself(backend: str) -> None:
    bends = (0.3, 1e-3, 0.0, 1e-5, 0.2, 1e-9, 1e-4, 0.1, 0.5, 1e-3)
    problems = [wrist(bend) for bend in bends]
    fd = getattr(dynamics(problems[0].robot), backend)()
    s = fd(*(np.array([getattr(p, name) for p in problems]) for name in ("q", "v", "tau")))
    for p, a, forces in zip(problems, s.acceleration, s.multipliers, strict=True):
        assert distance(a, p.hard[0]) <= EXACT and distance(forces, p.hard[1]) <= EXACT
    alone = [fd(p.q, p.v, p.tau).iterations for p in problems]
    assert s.iterations.tolist() == alone


def test_no_state_of_a_ladder_needs_ranks() -> None:
    """Of ten rungs, some joint hardly feels its row in 1 of 20 random states."""
    robot = lw.zoo.ladder(10)
    rng = np.random.default_rng(1)
    q = np.array(
        [robot.assemble(robot.integrate(robot.poses["assembled"], 0.1 * rng.normal(size=robot.nv))) for _ in range(24)]
    )
    v, tau = rng.normal(size=(2, 24, robot.nv))
    s = dynamics(robot)(q, v, 10.0 * tau)
    for k, a in enumerate(s.acceleration):
        assert distance(a, Problem(robot, q[k], v[k], 10.0 * tau[k]).hard[0]) <= EXACT
    assert 1 < s.iterations.max() <= 3


def test_iterations_that_are_allowed_do_not_matter() -> None:
    p = stretched(0.0)
    fd = lw.ForwardDynamics(p.robot, "pv_early", max_iterations=1, tolerance=1e-300, strict=True)
    assert agrees(p, fd(p.q, p.v, p.tau))
    a = np.empty(p.robot.nv)
    fd.bind(p.q, p.v, p.tau, out=a)()
    assert distance(a, p.hard[0]) <= EXACT


def test_link_without_mass_moves_as_its_rows_say() -> None:
    """Its joint has no inertia to divide by; the row that it satisfies says how it moves."""
    robot = arm(4, base=True)
    massless = replace(robot, inertias={**robot.inertias, "link3": lw.Inertia.zero()})
    q = robot.random(3)
    v, tau = np.random.default_rng(4).normal(size=(2, robot.nv))
    tau[-1] = 0.0
    s, p = dynamics(massless)(q, v, tau), Problem(massless, q, v, tau)
    matrix = np.block([[p.M, -p.J.T], [p.J, np.zeros((3, 3))]])
    exact = np.linalg.solve(matrix, np.concatenate([p.pull, p.k]))
    assert distance(s.acceleration, exact[: robot.nv]) <= EXACT


# Rows that are not enabled ---------------------------------------------------------------------------


def two_feet() -> Mechanism:
    robot = lw.zoo.ladder(2)
    assert len(robot.constraints) == 2
    return robot


def test_rows_of_disabled_constraints_take_no_operations() -> None:
    robot = two_feet()
    one = robot.switched({robot.constraints[0].name: False})
    both, single = method_cost(robot, "pv_early"), method_cost(one, "pv_early")
    assert both is not None and single is not None and single.total < both.total
    p = Problem(one, robot.poses["assembled"], *np.random.default_rng(0).normal(size=(2, robot.nv)))
    s = dynamics(one)(p.q, p.v, p.tau)
    assert agrees(p, s) and s.iterations == 1
    assert not s.multipliers[robot.row_slice(robot.constraints[0].name)].any()


def test_call_may_enable_rows_and_disable_them() -> None:
    """The plan is for the constraints as the robot has them; a call can say otherwise by the rows' regularization."""
    robot = two_feet()
    one = robot.switched({robot.constraints[0].name: False})
    q = robot.poses["assembled"]
    v, tau = np.random.default_rng(0).normal(size=(2, robot.nv))
    R = np.zeros(robot.nc)
    enabled = dynamics(one)(q, v, tau, regularization=R)
    assert distance(enabled.acceleration, Problem(robot, q, v, tau).hard[0]) <= EXACT
    R[robot.row_slice(robot.constraints[0].name)] = UNBOUNDED
    disabled = dynamics(robot)(q, v, tau, regularization=R)
    assert distance(disabled.acceleration, Problem(one, q, v, tau).hard[0]) <= EXACT


# Cost ------------------------------------------------------------------------------------------------


def operations(robot: Mechanism, method: str) -> int:
    found = method_cost(robot, method)
    assert found is not None
    return found.total


@pytest.mark.parametrize("robot", [lw.zoo.held_chain(7), lw.zoo.ladder(2)], ids=["chain", "ladder"])
def test_fewer_operations_than_pv(robot: Mechanism) -> None:
    assert operations(robot, "pv_early") < operations(robot, "pv")


def test_operations_on_a_ladder_grow_as_its_links_do() -> None:
    few, many = operations(lw.zoo.ladder(4), "pv_early"), operations(lw.zoo.ladder(16), "pv_early")
    assert np.log(many / few) / np.log(4) <= 1.05


def test_links_that_no_row_passes_cost_what_they_cost_without_rows() -> None:
    """A further link of a held chain adds what it adds to ABA, and its part of the pose of the held link."""
    added = {}
    for method in ("pv_early", "aba"):
        robots = [lw.zoo.held_chain(n) for n in (20, 30)]
        if method == "aba":
            robots = [robot.unconstrained() for robot in robots]
        few, many = (lw.ForwardDynamics(robot, method).operation_count().total for robot in robots)
        added[method] = (many - few) / 10
    assert added["pv_early"] - added["aba"] <= 30
