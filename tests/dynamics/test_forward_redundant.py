# SPDX-License-Identifier: BSD-3-Clause
"""Redundant, singular and contradicting constraints: one acceleration, the smallest forces, or a word of warning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.iterations import REGULARIZATION
from linkwork.dynamics.methods import AUTOMATIC
from linkwork.mechanism import Mechanism
from tests.dynamics.test_forward_models import from_file
from tests.support import linkages
from tests.support.gauss import ROUNDING, Problem, closed_state, distance
from tests.support.linkages import bricard
from tests.support.robots import model_absent
from tests.zoo import test_scenes

scenes = test_scenes.scenes

PROXIMAL = AUTOMATIC
each_method = pytest.mark.parametrize("method", PROXIMAL)

UNIQUE = 1e-8
"""Of accelerations."""


def rounding(p: Problem, method: str) -> float:
    """What is not known of the forces along which rows say the same: there a factor has the damping alone."""
    return 10 * ROUNDING * p.stiffness / REGULARIZATION


def known(p: Problem, method: str) -> float:
    """To how much multipliers are known, as a part of the largest."""
    return max(UNIQUE, 1e-11 * p.stiffness / p.weakest, rounding(p, method))


def arm(links: int = 2, bend: float = 0.0) -> Mechanism:
    """Links in a row, the tip held where it is: stretched but for ``bend``."""
    build, parent = lw.Builder("arm"), "world"
    for k in range(links):
        build.body(f"link{k}", lw.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0)))
        build.joint(f"joint{k}", lw.joints.Revolute("y"), parent, f"link{k}", (0.5 if k else 0.0, 0, 0))
        parent = f"link{k}"
    robot = build.build()
    q = np.full(links, bend)
    robot = robot.constrained(lw.constraints.Point("world", parent, name="tip", second_at=(0.5, 0, 0)), at=q)
    return replace(robot, poses={"assembled": q})


def thrice(robot: Mechanism) -> Mechanism:
    """Every constraint three times."""
    again = [replace(c, name=f"{c.name} {word}") for word in ("again", "once more") for c in robot.constraints]
    return replace(robot.constrained(*again), poses=robot.poses)


def cassie() -> Mechanism:
    robot = from_file("Cassie")
    return replace(robot, poses={"assembled": robot.assemble(robot.poses["qpos0"])})


def talos() -> Mechanism:
    try:
        return thrice(scenes.held(scenes.talos, scenes.TALOS[:2]))
    except FileNotFoundError as missing:
        model_absent(missing)


SYSTEMS: dict[str, Callable[[], Mechanism]] = {
    "four-bar, cut into halves": lambda: lw.zoo.four_bar("weld"),
    "four-bar, hinges": lambda: lw.zoo.four_bar(),
    "Watt's six-bar": lambda: lw.zoo.watt(),
    "Jansen's leg": lambda: lw.zoo.jansen(),
    "star of loops": lambda: lw.zoo.star_of_loops(4, tips="ring"),
    "pyramid": lambda: lw.zoo.pyramid(2),
    "swimmer": lambda: lw.zoo.swimmer(),
    "held chain, thrice": lambda: thrice(lw.zoo.held_chain(10)),
    "gears, thrice": lambda: thrice(lw.zoo.geared_chain(3)),
    "stretched arm": arm,
    "Cassie": cassie,
    "Talos with feet welded thrice": talos,
    "Digit with cut rods": lambda: test_scenes.made("Digit"),
}
each_system = pytest.mark.parametrize("name", SYSTEMS)


@cache
def problem(name: str) -> Problem:
    robot = SYSTEMS[name]()
    p = closed_state(robot, robot.poses["assembled"], np.random.default_rng([len(name), 6]))
    return replace(p, v=np.zeros(robot.nv)) if name == "stretched arm" else p  # that turns: see CONTRADICTIONS


@cache
def solved(name: str, method: str) -> lw.results.Solution:
    p = problem(name)
    return lw.ForwardDynamics(p.robot, method)(p.q, p.v, p.tau)


def test_talos_has_36_rows_of_which_12_are_independent() -> None:
    p = problem("Talos with feet welded thrice")
    assert (p.robot.nc, p.rank) == (36, 12)


@each_system
def test_the_systems_are_redundant_and_free_of_contradictions(name: str) -> None:
    p = problem(name)
    assert p.redundant
    assert p.gap <= 1e-9 * max(1.0, float(np.abs(p.k).max()))


@each_method
@each_system
def test_redundant_constraints_have_one_acceleration(name: str, method: str) -> None:
    p, s = problem(name), solved(name, method)
    assert distance(s.acceleration, p.hard[0]) <= UNIQUE
    assert p.unbalanced(s) <= 1e-9


@each_method
@each_system
def test_the_acceleration_does_not_depend_on_the_multipliers_started_from(name: str, method: str) -> None:
    p, first = problem(name), solved(name, method)
    start = 10 * np.random.default_rng(1).normal(size=p.robot.nc)
    s = lw.ForwardDynamics(p.robot, method, tolerance=1e-12)(p.q, p.v, p.tau, multipliers=start)
    assert distance(s.acceleration, first.acceleration) <= UNIQUE
    assert distance(p.J.T @ s.multipliers, p.J.T @ first.multipliers) <= UNIQUE
    # Directions that no row feels keep the multipliers that they were given, as dampings weigh them.
    null = np.linalg.svd(p.J.T)[2][np.linalg.matrix_rank(p.J, 1e-7 * np.linalg.norm(p.J)) :]
    allowed = (1e-6 + known(p, method)) * max(10.0, float(np.abs(s.multipliers).max()))
    part = p.weights / p.weights.max()
    assert np.abs(null @ (part * s.multipliers) - null @ (part * start)).max(initial=0.0) <= allowed


@each_method
@each_system
def test_multipliers_from_zero_are_the_smallest(name: str, method: str) -> None:
    """As least squares has them."""
    p, s = problem(name), solved(name, method)
    assert distance(s.multipliers, p.hard[1]) <= known(p, method)


@each_method
@pytest.mark.parametrize("name", ["star of loops", "pyramid", "swimmer", "held chain, thrice"])
def test_weights_say_which_multipliers_are_the_smallest(name: str, method: str) -> None:
    """Weighted by their weights; the acceleration is the same."""
    p, rng = problem(name), np.random.default_rng(2)
    constraints = tuple(replace(c, compliance=rng.uniform(0.2, 5.0, c.rows)) for c in p.robot.constraints)
    weighted = replace(p, robot=replace(p.robot, constraints=constraints))
    s = lw.ForwardDynamics(weighted.robot, method, tolerance=1e-12)(p.q, p.v, p.tau)
    assert distance(s.acceleration, p.hard[0]) <= UNIQUE
    assert distance(s.multipliers, weighted.hard[1]) <= 10 * known(weighted, method)
    assert distance(weighted.hard[1], p.hard[1]) > 1e-3  # or nothing was tested


@each_method
@pytest.mark.parametrize("name", ["held chain, thrice", "gears, thrice", "Talos with feet welded thrice"])
def test_constraints_given_thrice_share_the_force(name: str, method: str) -> None:
    p, s = problem(name), solved(name, method)
    third = p.robot.nc // 3
    parts = s.multipliers.reshape(3, third)
    assert distance(parts[1:], parts[[0, 0]]) <= known(p, method)
    once = replace(p, robot=p.robot.unconstrained().constrained(*p.robot.constraints[: len(p.robot.constraints) // 3]))
    assert distance(s.acceleration, once.hard[0]) <= UNIQUE
    assert distance(parts.sum(axis=0), once.hard[1]) <= known(p, method)


# Methods without damping -----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["plain", "native", "specialized"])
@pytest.mark.parametrize("method", ["ltl", "pv"])
@each_system
def test_hard_methods_say_that_rows_are_dependent(name: str, method: str, way: str) -> None:
    p = problem(name)
    if way != "native" and p.robot.nv > 10:
        pytest.skip("shown on small ones")
    fd = lw.ForwardDynamics(p.robot, method)
    fd = {"plain": fd.plain, "native": lambda: fd, "specialized": lambda: fd.compile(lanes=1, threads=1)}[way]()
    with pytest.raises(lw.errors.SingularConstraints, match=r"not independent, which .* cannot solve.*prox_bbo"):
        fd(p.q, p.v, p.tau)


@pytest.mark.parametrize("method", ["ltl", "pv"])
def test_the_state_of_a_batch_that_is_singular_is_named(method: str) -> None:
    robot = arm(3, 0.4)
    q = np.array([[0.4, 0.5, 0.6], [0.1, 0.2, 0.3], [0.2, 0.0, 0.0], [0.3, 0.3, 0.3]])[:, None]
    q = np.tile(q, (1, 2, 1))
    # Rows along y bind nothing here: two of three are left.
    planar = robot.unconstrained().constrained(
        lw.constraints.PointOnLine("world", "link2", axis="y", second_at=(0.5, 0, 0))
    )
    with pytest.raises(lw.errors.SingularConstraints, match=r"in state \(2, 0\)"):
        lw.ForwardDynamics(planar, method)(q, np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("method", ["ltl", "pv"])
def test_light_and_heavy_bodies_are_not_taken_for_dependent_rows(method: str) -> None:
    """Inverse inertias of rows from 1e-6 to 1e6, all independent."""
    build = lw.Builder()
    for k, mass in enumerate((1e6, 1.0, 1e-6)):
        build.body(f"b{k}", lw.Inertia.box(mass, (1.0, 1.0, 1.0))).joint(f"j{k}", lw.joints.Free(), "world", f"b{k}")
        build.constrain(lw.constraints.Point("world", f"b{k}", name=f"p{k}", second_at=(0.5, 0.2, 0.1)))
    robot = build.build()
    p = Problem(robot, robot.neutral(), *np.random.default_rng(0).normal(size=(2, robot.nv)))
    assert distance(lw.ForwardDynamics(robot, method)(p.q, p.v, p.tau).acceleration, p.hard[0]) <= 1e-9


GROUNDED = ["swimmer", "held chain, thrice", "stretched arm", "Talos with feet welded thrice"]


@pytest.mark.parametrize("name", GROUNDED)
def test_early_elimination_serves_redundant_rows(name: str) -> None:
    p, s = problem(name), solved(name, "pv_early")
    assert distance(s.acceleration, p.hard[0]) <= 1e-9
    assert p.unbalanced(s) <= 1e-9
    assert s.residual == 0.0 and s.converged


# Contradictions --------------------------------------------------------------------------------------


def torn(apart: float = 0.1) -> Mechanism:
    """A chain whose tip is pulled to two places."""
    robot = lw.zoo.serial_chain(6)
    q = robot.random(seed=3)
    pose = lw.frame_placement(robot, q, "link5")
    here = np.asarray(pose.position)
    ends = [
        lw.constraints.Point("world", "link5", name=f"to {k}", first_at=here + side, gains=(100.0, 20.0))
        for k, side in enumerate(((apart, 0, 0), (-apart, 0, 0)))
    ]
    return replace(robot.constrained(*ends), poses={"assembled": q})


def stretched_and_turning() -> Mechanism:
    """A stretched arm cannot pull its tip back in: the rows along it ask what no acceleration gives."""
    return arm(3)


CONTRADICTIONS: dict[str, tuple[Callable[[], Mechanism], float]] = {
    "a tip pulled to two places": (torn, 0.0),
    "a stretched arm that turns": (stretched_and_turning, 1.0),
    "a welded four-bar, open": (lambda: lw.zoo.four_bar("weld"), 0.5),
    "a swimmer that slides": (lambda: lw.zoo.swimmer(), 0.5),
    "a pyramid that falls apart": (lambda: lw.zoo.pyramid(2), 0.5),
}


@cache
def contradiction(name: str) -> Problem:
    make, speed = CONTRADICTIONS[name]
    robot, rng = make(), np.random.default_rng(7)
    q = robot.poses["assembled"]
    if name == "a welded four-bar, open":
        # rows out of the plane hold whatever q is: turn the weld
        cut = robot.constraints[0]
        robot = robot.unconstrained().constrained(
            replace(cut, first_at=lw.Placement(cut.first_at.position, lw.Placement.rpy(0.1, 0, 0.2).rotation)),
            lw.constraints.Point("world", "coupler", name="held", gains=(50.0, 10.0)),
        )
    return Problem(robot, q, speed * rng.normal(size=robot.nv), rng.normal(size=robot.nv))


each_contradiction = pytest.mark.parametrize("name", CONTRADICTIONS)


@each_contradiction
def test_nothing_satisfies_contradicting_rows(name: str) -> None:
    assert contradiction(name).gap > 1e-2


@each_method
@each_contradiction
def test_contradicting_rows_have_the_acceleration_of_least_squares(name: str, method: str) -> None:
    """`converged` says that nothing changes any more, `residual` what rows must miss; internal forces do not stay."""
    p = contradiction(name)
    s = lw.ForwardDynamics(p.robot, method, regularization=1e-3)(p.q, p.v, p.tau)
    assert distance(s.acceleration, p.hard[0]) <= UNIQUE
    assert s.converged
    assert s.residual == pytest.approx(p.gap, rel=1e-5)
    assert distance(s.multipliers, p.hard[1]) <= 1e-6


@each_method
@each_contradiction
def test_contradicting_rows_are_least_squares_to_rounding_at_the_damping_by_default(name: str, method: str) -> None:
    """They may then not converge: forces of gap over damping, and what is known of these, each iteration anew."""
    p = contradiction(name)
    s = lw.ForwardDynamics(p.robot, method)(p.q, p.v, p.tau)
    assert distance(s.acceleration, p.hard[0]) <= UNIQUE + s.iterations * p.gap * rounding(p, method)
    assert s.residual == pytest.approx(p.gap, rel=1e-5)


@each_method
def test_multipliers_of_contradicting_rows_grow_with_iterations(method: str) -> None:
    p = contradiction("a tip pulled to two places")
    sizes = []
    for count in (1, 2, 4):
        fd = lw.ForwardDynamics(p.robot, method, tolerance=1e-300, max_iterations=count)
        s = fd(p.q, p.v, p.tau)
        assert s.iterations == count
        sizes.append(np.abs(s.multipliers).max())
    assert sizes[1] / sizes[0] == pytest.approx(2, rel=1e-2)
    assert sizes[2] / sizes[0] == pytest.approx(4, rel=1e-2)


def test_early_elimination_says_by_how_much_rows_contradict_each_other() -> None:
    p = contradiction("a tip pulled to two places")
    with pytest.raises(
        lw.errors.SingularConstraints, match=r"contradict each other by \S+ of the effect of forces.*prox_bbo"
    ):
        lw.ForwardDynamics(p.robot, "pv_early")(p.q, p.v, p.tau)


def test_early_elimination_takes_rows_that_say_the_same() -> None:
    p = contradiction("a tip pulled to two places")
    both = p.robot.constraints[0], replace(p.robot.constraints[0], name="the same")
    robot = p.robot.unconstrained().constrained(*both)
    agreed = replace(p, robot=robot)
    assert distance(lw.ForwardDynamics(robot, "pv_early")(p.q, p.v, p.tau).acceleration, agreed.hard[0]) <= 1e-9


# Nearly singular -------------------------------------------------------------------------------------


@each_method
@pytest.mark.parametrize("bend", [1e-1, 1e-2, 1e-3, 1e-4, 1e-6])
def test_near_a_stretched_arm_accelerations_stay_bounded_or_iterations_say_so(bend: float, method: str) -> None:
    """Where the weakest direction has an inverse inertia below the damping, iterations do not get there."""
    robot = arm(3, bend)
    p = closed_state(robot, robot.poses["assembled"], np.random.default_rng(3))
    s = lw.ForwardDynamics(robot, method)(p.q, p.v, p.tau)
    assert np.isfinite(s.acceleration).all() and np.abs(s.acceleration).max() < 1e3
    if s.converged and p.weakest > 10 * REGULARIZATION:
        assert distance(s.acceleration, p.hard[0]) <= 1e-6
    assert p.unbalanced(s) <= 1e-9


# Loops that are nearly closed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["lcaba", "prox_ltl", "prox_bbo", "pv_early"])
def test_rows_that_a_small_gap_makes_independent_do_not_act(method: Any) -> None:
    """Bricard's loop with a link too long by 1e-8: stabilization over the gap would be 4e4 rad/s²."""
    robot = bricard(opened=1e-8)
    robot = replace(robot, constraints=tuple(replace(c, time_constant=0.005) for c in robot.constraints))
    q = robot.poses["assembled"]
    v = bricard().project_velocity(q, np.ones(5))
    exact, found = (lw.ForwardDynamics(robot, m)(q, v, np.zeros(5)) for m in ("kkt", method))
    assert found.converged
    assert distance(found.acceleration, exact.acceleration) <= 1e-10


@pytest.mark.parametrize("method", ["lcaba", "prox_ltl", "prox_bbo"])
def test_arms_on_a_loop_that_is_nearly_closed_move_as_the_exact_solution_does(method: Any) -> None:
    """Their joints are in no row, and follow what internal forces of the loop do until these are taken back."""
    robot = lw.attach(bricard(opened=1e-7), lw.zoo.pendulum(2), "link2")
    robot = replace(robot, constraints=tuple(replace(c, time_constant=0.01) for c in robot.constraints))
    q, v = robot.neutral(), 0.3 * np.random.default_rng(1).normal(size=robot.nv)
    q[:5] = bricard().poses["assembled"]
    exact, found = (lw.ForwardDynamics(robot, m)(q, v, np.zeros(robot.nv)) for m in ("kkt", method))
    assert found.converged
    assert distance(found.acceleration, exact.acceleration) <= 1e-10


@pytest.mark.parametrize("regularization", [1e-4, 1e-8])
@pytest.mark.parametrize("method", ["lcaba", "prox_ltl", "prox_bbo"])
def test_iterations_that_converged_found_the_acceleration(method: Any, regularization: float) -> None:
    """Also where rows creep: those that drift makes independent, and those of wide open loops, which are weak."""
    found = 0
    for make in (bricard, lambda: lw.zoo.stewart("universal", "universal"), lambda: linkages.four_bar(base=True)):
        robot, rng = make(), np.random.default_rng(1)
        q = robot.assemble(robot.poses.get("assembled", robot.neutral()))
        exact = lw.ForwardDynamics(robot, "kkt")
        fd = lw.ForwardDynamics(robot, method, regularization=regularization)
        for gap in (0.0, 1e-9, 1e-7, 1e-6, 1e-3):
            state = robot.integrate(q, gap * rng.normal(size=robot.nv)), rng.normal(size=robot.nv), np.zeros(robot.nv)
            s = fd(*state)
            assert not s.converged or distance(s.acceleration, exact(*state).acceleration) <= 1e-6, gap
            found += s.converged
    assert found >= 9
