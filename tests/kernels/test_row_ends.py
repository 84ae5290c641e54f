# SPDX-License-Identifier: BSD-3-Clause
"""Rows that end at a floating base: fewer operations, the same accelerations; the world where a block is singular."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.program import Program
from linkwork.compilers.trace.tracing import trace
from linkwork.dynamics.methods import METHODS
from linkwork.dynamics.rows.ends import prox_bbo_tree, pv_tree, rows_at_base, world_tree
from linkwork.mechanism import Mechanism
from linkwork.plans.bbo import LOOP, WORLD_END, bbo_tree, estimated_operations, rows_of_block, rows_passing
from tests.support.gauss import open_state
from tests.support.states import Floats

METHODS_OF_ROWS = ("pv", "prox_pv", "prox_bbo")
AXES = ("z", "x", "y", "y", "y", "x")


def standing(
    joints: int,
    legs: int,
    foot: type[lw.constraints.Constraint],
    *,
    seed: int | None = 1,
    extra: tuple[lw.constraints.Constraint, ...] = (),
) -> Mechanism:
    """A floating body on legs whose feet are held where they are: stretched, or bent at random."""
    build = (
        lw.Builder("stander")
        .body("torso", lw.Inertia.box(10.0, (0.3, 0.4, 0.5)))
        .joint("root", lw.joints.Free(), "world", "torso")
    )
    for leg in range(legs):
        parent, at = "torso", (0.1 * leg, 0.2 * (-1) ** leg, -0.25)
        for k in range(joints):
            name = f"leg{leg}-{k}"
            build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.2), radius=0.03))
            build.joint(name, lw.joints.Revolute(AXES[k]), parent, name, at)
            parent, at = name, (0.0, 0.0, -0.2)
    robot = build.build()
    q = robot.neutral()
    if seed is not None:
        q = robot.integrate(q, 0.5 * np.random.default_rng(seed).normal(size=robot.nv))
    feet = [foot("world", f"leg{leg}-{joints - 1}", name=f"foot{leg}", second_at=(0, 0, -0.2)) for leg in range(legs)]
    return replace(robot.constrained(*feet, *extra, at=q), poses={"standing": q})


ROBOTS = {
    "biped": lambda: standing(6, 2, lw.constraints.Weld),
    "quadruped": lambda: standing(3, 4, lw.constraints.Point),
    "one leg": lambda: standing(6, 1, lw.constraints.Weld),
    "legs too short for welds": lambda: standing(4, 1, lw.constraints.Weld),
    "one short leg of three": lambda: standing(6, 3, lw.constraints.Weld).constrained(
        lw.constraints.Point("world", "leg0-1", name="shin"), at=standing(6, 3, lw.constraints.Weld).poses["standing"]
    ),
    "held by its base too": lambda: standing(3, 3, lw.constraints.Point).constrained(
        lw.constraints.Point("world", "torso", name="hook"), at=standing(3, 3, lw.constraints.Point).poses["standing"]
    ),
    "loop in a leg": lambda: standing(6, 2, lw.constraints.Point).constrained(
        lw.constraints.Point("leg0-0", "leg0-5", name="rod"), at=standing(6, 2, lw.constraints.Point).poses["standing"]
    ),
    "legs tied": lambda: standing(6, 2, lw.constraints.Point).constrained(
        lw.constraints.Point("leg0-3", "leg1-3", name="tie"), at=standing(6, 2, lw.constraints.Point).poses["standing"]
    ),
}


@cache
def made(name: str) -> Mechanism:
    return ROBOTS[name]()


def state(robot: Mechanism, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    q = robot.poses["standing"]
    return q, robot.project_velocity(q, rng.normal(size=robot.nv)), 5.0 * rng.normal(size=robot.nv)


def relative(ours: Floats, theirs: Floats) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@pytest.mark.parametrize("method", METHODS_OF_ROWS)
@pytest.mark.parametrize("name", ROBOTS)
def test_methods_agree_with_dense_algebra(name: str, method: str) -> None:
    robot = made(name)
    q, v, tau = state(robot)
    wanted = lw.ForwardDynamics(robot, "kkt")(q, v, tau)
    for fd in (lw.ForwardDynamics(robot, method), lw.ForwardDynamics(robot, method).plain()):
        found = fd(q, v, tau)
        assert relative(found.acceleration, wanted.acceleration) < 1e-9
        assert relative(found.multipliers, wanted.multipliers) < 1e-7


@pytest.mark.parametrize("method", METHODS_OF_ROWS)
def test_a_foot_that_is_lifted_binds_nothing(method: str) -> None:
    robot = made("biped").switched({"foot0": False})
    q, v, tau = state(robot)
    found, wanted = (lw.ForwardDynamics(robot, m)(q, v, tau) for m in (method, "kkt"))
    assert relative(found.acceleration, wanted.acceleration) < 1e-9
    assert np.abs(found.forces["foot0"]).max() < 1e-15


def test_branches_end_at_the_base_where_their_rows_are_independent() -> None:
    """Each branch for itself: six rows on two joints, and rows on the base, go on to the world."""
    at_base = {name: len(rows_at_base(made(name), WORLD_END, 1)) for name in ROBOTS}
    assert at_base["biped"] == 12 and at_base["quadruped"] == 12 and at_base["one leg"] == 6
    assert at_base["legs too short for welds"] == 0
    assert at_base["one short leg of three"] == 12  # a leg of six joints is held by nine rows
    assert at_base["held by its base too"] == 9
    assert rows_at_base(made("loop in a leg"), LOOP, 3) == {3, 4, 5}  # a loop that leaves the foot too little
    plan = prox_bbo_tree(made("biped"))
    assert rows_passing(plan, 1) == 0
    assert [rows_of_block(plan, b) for b in range(plan.nblocks)] == [6, 6]


@pytest.mark.parametrize("method", METHODS_OF_ROWS)
def test_a_gear_on_the_joint_of_the_base_passes_it(method: str) -> None:
    """A cart with two pendulums, whose way is tied to the angle of one."""
    build = lw.Builder("cart").body("cart", lw.Inertia.box(3.0, (0.2, 0.2, 0.1)))
    build.joint("slide", lw.joints.Prismatic("x"), "world", "cart")
    for name, at in (("left", -0.1), ("right", 0.1)):
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5))).joint(
            name, lw.joints.Revolute("y"), "cart", name, (at, 0, 0)
        )
    robot = build.constrain(lw.constraints.Gear("slide", "left", 0.3, name="gear")).build()
    assert not rows_at_base(robot, WORLD_END, 1)
    assert not rows_at_base(robot, LOOP, 3)
    q, v, tau = np.array([0.3 * 0.4, 0.4, -0.7]), np.array([0.3, 1.0, 0.5]), np.array([1.0, -2.0, 0.5])
    found, wanted = (lw.ForwardDynamics(robot, m)(q, v, tau) for m in (method, "kkt"))
    assert relative(found.acceleration, wanted.acceleration) < 1e-10


def test_arms_on_the_world_end_there() -> None:
    """One joint is no base to save anything at."""
    assert not rows_at_base(lw.zoo.held_chain(7), WORLD_END, 1)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(("method", "end", "iterations"), [("pv", WORLD_END, 1), ("prox_bbo", LOOP, 3)])
def test_the_estimate_tells_which_plan_has_fewer_operations(name: str, method: str, end: int, iterations: int) -> None:
    """By exact counts of both, for all rows that may end at the base."""
    robot = made(name)
    rows = rows_at_base(robot, end, 100 if end == WORLD_END else iterations)
    plans = [bbo_tree(robot, (), end, chosen) for chosen in (frozenset(), rows)]

    def counted(plan: object) -> int:
        algorithm = METHODS[method].algorithm
        assert algorithm is not None
        traced = trace(algorithm, Program.of_robot(robot, algorithm, plan).tree)  # type: ignore[arg-type]
        further = sum(traced.iterate.operation_count().values()) if traced.iterate else 0
        return sum(traced.operation_count().values()) + (iterations - 1) * further

    exact = counted(plans[0]) - counted(plans[1])
    estimated = estimated_operations(plans[0], iterations) - estimated_operations(plans[1], iterations)
    assert exact == estimated == 0 if not rows else (estimated > 0) == (exact > 0)
    assert abs(exact - estimated) < 0.2 * abs(exact) + 250


# Where a block is singular -----------------------------------------------------------------------------------------


@cache
def stretched() -> Mechanism:
    """Both legs straight: each foot is held by six rows of which its leg feels five, the base all."""
    return standing(6, 2, lw.constraints.Weld, seed=None)


def test_stretched_legs_take_the_plan_of_the_world() -> None:
    """In a call, a batch, a bound call, compiled code and plain text; bent states of the batch too."""
    robot = stretched()
    assert rows_at_base(robot, WORLD_END, 1)
    q, v, tau = state(robot)
    wanted = lw.ForwardDynamics(robot, "kkt")(q, v, tau)
    bent = robot.integrate(q, 0.3 * np.cos(np.arange(robot.nv)))
    for fd in (lw.ForwardDynamics(robot, "pv"), lw.ForwardDynamics(robot, "pv").plain()):
        assert relative(fd(q, v, tau).acceleration, wanted.acceleration) < 1e-10
        many = fd(np.array([bent, q, bent]), v, tau)
        assert relative(many.acceleration[1], wanted.acceleration) < 1e-10
        assert relative(many.acceleration[0], fd(bent, v, tau).acceleration) < 1e-9
    fd = lw.ForwardDynamics(robot, "pv").compile(lanes=1)
    out, result = np.empty(robot.nv), np.empty(fd.runner.outputs[1])
    for bound in (fd.bind(q, v, tau, out=out), fd.bind(q, v, tau, out=(out, result))):
        out[:] = 0.0
        bound()
        assert relative(out, wanted.acceleration) < 1e-10
    assert relative(fd(q, v, tau).multipliers, wanted.multipliers) < 1e-9


def test_a_call_with_a_nearly_singular_block_takes_machine_code_of_both_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the general path, which takes ten times as long."""
    robot = stretched()
    q, v, tau = state(robot)
    q = q.copy()
    for leg in range(2):
        q[robot.q_index(f"leg{leg}-3")] = 1e-4
    fd = lw.ForwardDynamics(robot, "pv")
    wanted = fd(q, v, tau).acceleration
    assert fd.fallback is not None
    for runner in (fd.runner, fd.fallback.runner):
        monkeypatch.setattr(runner, "evaluate", None)
    assert (fd(q, v, tau).acceleration == wanted).all()


def test_nearly_stretched_legs_lose_no_digits() -> None:
    robot = stretched()
    q, v, tau = state(robot)
    fd, dense = lw.ForwardDynamics(robot, "pv"), lw.ForwardDynamics(robot, "kkt")
    for bend in (1e-1, 1e-2, 1e-3, 1e-4, 1e-6):
        near = q.copy()
        for leg in range(2):
            near[robot.q_index(f"leg{leg}-3")] = bend
        assert relative(fd(near, v, tau).acceleration, dense(near, v, tau).acceleration) < 1e-9


@pytest.mark.parametrize("method", ["prox_pv", "prox_bbo"])
def test_regularized_rows_keep_ten_digits_where_a_block_is_singular(method: str) -> None:
    robot = stretched().switched({"foot1": False})
    q, v, tau = state(robot)
    found, wanted = (lw.ForwardDynamics(robot, m)(q, v, tau) for m in (method, "kkt"))
    assert relative(found.acceleration, wanted.acceleration) < 1e-10


def test_dependent_rows_are_reported_after_both_plans() -> None:
    robot = made("biped")
    twice = robot.constrained(lw.constraints.Weld("world", "leg0-5", name="again"), at=robot.poses["standing"])
    straight = stretched().constrained(
        lw.constraints.Point("world", "leg0-5", name="again"), at=stretched().poses["standing"]
    )
    for double in (twice, straight):
        double = replace(double, poses=robot.poses if double is twice else stretched().poses)
        with pytest.raises(lw.errors.SingularConstraints, match="not independent"):
            lw.ForwardDynamics(double, "pv")(*state(double))


def test_exported_programs_end_at_the_world() -> None:
    """C has no other plan to take."""
    fd = lw.ForwardDynamics(made("biped"), "pv")
    assert fd.program.plan_bytes() == Program.of_robot(fd.robot, fd.program.algorithm, pv_tree(fd.robot)).plan_bytes()
    world = Program.of_robot(fd.robot, fd.program.algorithm, world_tree(fd.robot))
    assert fd.exported_program.plan_bytes() == world.plan_bytes() != fd.program.plan_bytes()


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_held_anywhere(seed: int) -> None:
    """Frames of random trees on floating bases held at points; joints of all kinds, armature."""
    rng = np.random.default_rng(seed)
    base = (
        lw.Builder("base")
        .body("base", lw.Inertia.box(5.0, (0.3, 0.4, 0.5)))
        .joint("root", lw.joints.Free(), "world", "base")
    )
    tree = lw.attach(base.build(), lw.zoo.random_tree(seed, bodies=12, kinds="rphusS"), to="base", prefix="tree")
    bodies = rng.choice([name for name in tree.inertias if name != "world"], size=3, replace=False)
    q = tree.random(rng)
    robot = tree.constrained(*(lw.constraints.Point("world", str(body), name=str(body)) for body in bodies), at=q)
    p = open_state(robot, rng)
    wanted = lw.ForwardDynamics(robot, "kkt")(p.q, p.v, p.tau)
    for method in METHODS_OF_ROWS:
        try:
            found = lw.ForwardDynamics(robot, method)(p.q, p.v, p.tau)
        except lw.errors.SingularConstraints:
            assert np.linalg.matrix_rank(p.J, 1e-6) < robot.nc
            continue
        assert relative(found.acceleration, wanted.acceleration) < 1e-7
