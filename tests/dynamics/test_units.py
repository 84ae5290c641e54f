# SPDX-License-Identifier: BSD-3-Clause
"""Units do not matter: a robot in millimeters, grams, milliseconds moves as it does in meters, kilograms, seconds.

Every mechanism of the zoo that has constraints is written anew in units a thousand times smaller and larger (`units`),
and what is found there must be what was found before. Results are brought back to the first units, so that differences
are compared with what is large there: of accelerations, with those that the same forces make where nothing binds the
robot.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.dynamics import impact as impulse
from linkwork.dynamics.iterations import REGULARIZATION
from linkwork.dynamics.methods import METHODS
from linkwork.mechanism import Mechanism
from tests.support.robots import model_file
from tests.support.states import Floats, assert_close
from tests.support.units import Units, scaled
from tests.zoo.test_zoo import FACTS

AGREEMENT = 1e-8
ROUNDING = float(np.finfo(np.float64).eps)
ONE_FACTOR = AGREEMENT + 10 * ROUNDING / REGULARIZATION
"""What a factor of rows that are as stiff as their damping is small knows, where nothing improves it: of redundant
rows, which forces are the smallest; of a step with one iteration, everything."""
SINGLE = 1e-3

FACTORS = (1e-3, 1.0, 1e3)
CORNERS = tuple(corner for corner in product(FACTORS, repeat=3) if corner != (1.0, 1.0, 1.0))
"""Lengths, masses, times."""
EXTREME = ((1e-3, 1e-3, 1e3), (1e3, 1e3, 1e-3), (1e-3, 1e3, 1e-3), (1e3, 1e-3, 1.0))
"""A robot is tried in two of them, every second one in the others; those of `THOROUGH` in all corners."""


def four_bar(unit: float, mass: float) -> Mechanism:
    """That of the README, its crank half a unit long and its bars of one mass."""
    build = lw.Builder(f"four-bar of {unit:g} m and {mass:g} kg")
    for name, length in {"crank": 0.5, "coupler": 1.2, "rocker": 0.9}.items():
        build.body(name, lw.Inertia.rod(mass, (0, 0, 0), (length * unit, 0, 0), 0.01 * unit))
    build.joint("motor", lw.joints.Revolute("y"), "world", "crank", actuated=True)
    build.joint("knee", lw.joints.Revolute("y"), "crank", "coupler", at=(0.5 * unit, 0, 0))
    build.joint("hip", lw.joints.Revolute("y"), "world", "rocker", at=(unit, 0, 0))
    ends = {"at": (1.2 * unit, 0, 0), "child_at": (0.9 * unit, 0, 0)}
    build.joint("ankle", lw.joints.Revolute("y"), "coupler", "rocker", **ends)  # type: ignore[arg-type]
    return build.build()


def coupled() -> Mechanism:
    """Constraints that the zoo has none of: screws and racks that couple joints of different units, a rolling wheel."""
    build = lw.Builder("racks")
    turning = {"armature": 0.05, "damping": 0.1, "stiffness": 2.0, "rest": 0.3, "lower": -3.0, "upper": 3.0}
    sliding = {"armature": 0.4, "damping": 3.0, "stiffness": 20.0, "rest": 0.2, "lower": -1.0, "upper": 1.0}
    build.body("drum", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0.2, 0), 0.1))
    build.joint("drum", lw.joints.Revolute("y"), "world", "drum", **turning)
    build.body("rack", lw.Inertia.box(2.0, (0.5, 0.1, 0.1)))
    build.joint("rack", lw.joints.Prismatic("x"), "world", "rack", **sliding)
    build.body("nut", lw.Inertia.box(0.5, (0.1, 0.1, 0.2)))
    build.joint("nut", lw.joints.Helical("z", 0.02), "rack", "nut", (0.1, 0, 0.1), damping=0.2)
    build.body("cam", lw.Inertia.box(0.3, (0.1, 0.2, 0.1)))
    build.joint("cam", lw.joints.Prismatic("z"), "rack", "cam", (0.3, 0, 0.1))
    build.body("arm", lw.Inertia.rod(0.7, (0, 0, 0), (0.3, 0, 0)))
    build.joint("arm", lw.joints.Universal(), "rack", "arm", (0.2, 0, 0))
    build.body("wheel", lw.Inertia.sphere(1.5, 0.3)).joint("wheel", lw.joints.Free(), "world", "wheel")
    build.body("sledge", lw.Inertia.box(0.8, (0.2, 0.2, 0.1)))
    build.joint("sledge", lw.joints.Planar(), "world", "sledge", (1, 1, 0))
    robot = build.build()
    q = robot.neutral()
    q[robot.q_index("rack")] = 0.1
    q[robot.q_slice("wheel")][:3] = (1.0, -1.0, 0.3)
    robot = robot.constrained(
        lw.constraints.Gear("rack", "drum", 0.1, time_constant=0.1),
        lw.constraints.PolynomialCoupling("cam", "nut", (0.0, 0.01, 0.002)),
        lw.constraints.Follows("nut", "rack", lambda x: 3.0 * np.sin(5.0 * x)),
        lw.constraints.JointLock("arm", (0.1, 0.2)),
        lw.constraints.Rolling("world", "wheel", radius=0.3, name="rolling"),
        lw.constraints.Rod("wheel", "sledge", length=1.0, first_at=(0.1, 0, 0), name="rod"),
        lw.constraints.CenterOfMass(bodies=("sledge", "rack"), axes="x"),
        lw.constraints.LinearCombination(
            {"wheel": [[0, 0, 1.0, 0, 0, 0]], "sledge": [[0, 0, -2.0, 0.5, 0, 0]]}, name="mix"
        ),
        at=q,
    )
    return replace(robot, poses={zoo.ASSEMBLED: q})


ROBOTS: dict[str, Callable[[], Mechanism]] = {
    "README's four-bar": lambda: four_bar(1.0, 1.0),
    "couplings of different units": coupled,
    **{name: fact.make for name, fact in FACTS.items() if fact.rows},
}
THOROUGH = ("README's four-bar", "slider-crank, line")
each_robot = pytest.mark.parametrize("name", ROBOTS)


class Case(NamedTuple):
    """A robot in its first units, moving as its loops allow."""

    robot: Mechanism
    q: Floats
    v: Floats
    tau: Floats
    free: float
    """The largest acceleration that nothing that binds the robot hinders."""


@functools.cache
def case(name: str) -> Case:
    robot = ROBOTS[name]()
    rng = np.random.default_rng(0)
    q = robot.poses[zoo.ASSEMBLED] if robot.poses else robot.assemble([0.7, 0, 0], fixed=["motor"])
    v, tau = rng.normal(size=(2, robot.nv))
    v = robot.project_velocity(q, v)
    free = lw.ForwardDynamics(robot.unconstrained())(q, v, tau).acceleration
    return Case(robot, q, v, tau, float(np.abs(free).max()))


@functools.cache
def written(name: str, corner: tuple[float, float, float]) -> tuple[Mechanism, Units]:
    """The robot in other units."""
    robot = case(name).robot
    return scaled(robot, *corner), Units(robot, *corner)


def corners(name: str) -> tuple[tuple[float, float, float], ...]:
    return CORNERS if name in THOROUGH else EXTREME[:2] if list(ROBOTS).index(name) % 2 else EXTREME[2:]


def distance(ours: Floats, theirs: Floats, scale: float = 0.0) -> float:
    """The largest difference as a part of the largest number of the second, or of ``scale`` if that is larger."""
    size = max(float(np.abs(theirs).max(initial=0.0)), scale)
    return float(np.abs(ours - theirs).max(initial=0.0)) / (size or 1.0)


def first_a(units: Units, a: Floats) -> Floats:
    """Accelerations in the first units."""
    return a / units.a(np.ones_like(a))


# The units themselves --------------------------------------------------------------------------------------


@each_robot
def test_scaled_robots_have_the_energy_and_the_errors_of_the_first(name: str) -> None:
    """What has nothing to do with tolerances: to rounding."""
    p = case(name)
    off = p.robot.integrate(p.q, 0.01 * np.random.default_rng(1).normal(size=p.robot.nv))
    for corner in corners(name):
        robot, units = written(name, corner)
        assert_close(
            lw.energy(robot, units.q(off), units.v(p.v)).kinetic / units.energy,
            lw.energy(p.robot, off, p.v).kinetic,
            1e-12,
        )
        assert_close(
            lw.constraint_error(robot, units.q(off)) / units.rows, lw.constraint_error(p.robot, off), 1e-11, scale=1.0
        )
        J = lw.constraint_jacobian(p.robot, off)
        assert_close(lw.constraint_jacobian(robot, units.q(off)) / np.outer(units.rows, 1 / units.motions), J, 1e-12)
        target = lw.constraint_target(robot, units.q(off), units.v(p.v)) * units.time**2 / units.rows
        assert_close(target, lw.constraint_target(p.robot, off, p.v), 1e-11, scale=1.0)


# Dynamics ---------------------------------------------------------------------------------------------------


def methods(robot: Mechanism) -> tuple[str, ...]:
    return tuple(m for m in lw.methods.methods_for(robot) if METHODS[m].exact and m != "pv_soft")


def solved(robot: Mechanism, method: str, q: Floats, v: Floats, tau: Floats) -> lw.results.Solution | type:
    """The solution, or what kind of refusal there is instead."""
    try:
        return lw.ForwardDynamics(robot, method)(q, v, tau)
    except lw.errors.LinkworkError as refusal:
        return type(refusal)


@functools.cache
def first(name: str) -> dict[str, lw.results.Solution | type]:
    """Solutions in the first units."""
    p = case(name)
    return {method: solved(p.robot, method, p.q, p.v, p.tau) for method in methods(p.robot)}


@each_robot
def test_every_method_agrees_with_kkt_in_all_units(name: str) -> None:
    p, expected = case(name), first(name)
    exact = expected["kkt"]
    assert isinstance(exact, lw.results.Solution)
    redundant = p.robot.mobility(p.q).redundancy > 0
    wrong = []
    for corner in corners(name):
        robot, units = written(name, corner)
        for method, before in expected.items():
            if method == "cluster_lcaba" and corner != corners(name)[0]:
                continue  # which loops it takes is chosen by counting, which takes longer than all the rest
            found = solved(robot, method, units.q(p.q), units.v(p.v), units.tau(p.tau))
            if not isinstance(found, lw.results.Solution) or not isinstance(before, lw.results.Solution):
                if found is not before:
                    wrong.append((corner, method, found, before))
                continue
            off = distance(first_a(units, found.acceleration), exact.acceleration, p.free)
            if off > AGREEMENT or found.converged != before.converged:
                wrong.append((corner, method, off, found.converged))
            # of forces that do the same, proximal methods find the smallest by inertia, others their own
            own = METHODS[method].hard or METHODS[method].closed
            same = before if redundant and own else exact
            off = distance(found.multipliers / units.forces(np.ones(robot.nc)), same.multipliers)
            if off > (ONE_FACTOR if redundant else AGREEMENT):
                wrong.append((corner, method, "forces", off))
    assert not wrong


@each_robot
def test_impacts_are_the_same_in_all_units(name: str) -> None:
    p = case(name)
    v = np.random.default_rng(2).normal(size=p.robot.nv)
    after = p.robot.project_velocity(p.q, v)
    for method in impulse.METHODS:
        before = lw.ImpactDynamics(p.robot, method)(p.q, v)
        assert distance(before.velocity, after, np.abs(v).max()) <= AGREEMENT
        for corner in corners(name):
            robot, units = written(name, corner)
            found = lw.ImpactDynamics(robot, method)(units.q(p.q), units.v(v))
            velocity = found.velocity / units.v(np.ones(robot.nv))
            assert distance(velocity, after, np.abs(v).max()) <= AGREEMENT, (method, corner)
            assert found.converged == before.converged, (method, corner)


@each_robot
def test_velocities_are_projected_alike_in_all_units(name: str) -> None:
    p = case(name)
    v = np.random.default_rng(2).normal(size=p.robot.nv)
    expected = p.robot.project_velocity(p.q, v)
    for corner in corners(name):
        robot, units = written(name, corner)
        found = robot.project_velocity(units.q(p.q), units.v(v)) / units.v(np.ones(robot.nv))
        assert distance(found, expected, np.abs(v).max()) <= AGREEMENT, corner


@each_robot
def test_mobility_is_the_same_in_all_units(name: str) -> None:
    p = case(name)

    def counts(robot: Mechanism, q: Floats) -> tuple[Any, ...]:
        found = robot.mobility(q)
        return found.dof, found.rows, found.rank, found.closed, found.redundant, found.conflicting, found.singular.shape

    expected = counts(p.robot, p.q)
    wrong = {}
    for corner in corners(name):
        robot, units = written(name, corner)
        if (found := counts(robot, units.q(p.q))) != expected:
            wrong[corner] = found
    assert not wrong, expected


@each_robot
def test_disturbed_poses_are_assembled_alike_in_all_units(name: str) -> None:
    p = case(name)
    off = p.robot.integrate(p.q, 0.01 * np.random.default_rng(0).normal(size=p.robot.nv))
    expected = p.robot.assemble(off)
    wrong = {}
    for corner in corners(name):
        robot, units = written(name, corner)
        try:
            found = robot.assemble(units.q(off)) / units.positions
        except lw.errors.AssemblyError as failure:
            wrong[corner] = str(failure)
            continue
        if (gap := distance(found, expected, 1.0)) > AGREEMENT:
            wrong[corner] = f"differs by {gap:.1e}"
    assert not wrong


@each_robot
@pytest.mark.parametrize("method", ["rnea", "cluster", "actuated", "least"])
def test_inverse_dynamics_asks_for_the_same_torques_in_all_units(name: str, method: str) -> None:
    p = case(name)
    exact = first(name)["kkt"]
    assert isinstance(exact, lw.results.Solution)
    try:
        expected = lw.InverseDynamics(p.robot, method)(p.q, p.v, exact.acceleration)
    except lw.errors.UnsupportedFeature as refusal:
        pytest.skip(str(refusal))
    wrong = {}
    for corner in corners(name):
        robot, units = written(name, corner)
        try:
            tau = lw.InverseDynamics(robot, method)(units.q(p.q), units.v(p.v), units.a(exact.acceleration))
        except lw.errors.LinkworkError as refusal:
            wrong[corner] = str(refusal)
            continue
        if (off := distance(tau / units.tau(np.ones(robot.nv)), expected)) > AGREEMENT:
            wrong[corner] = f"differs by {off:.1e}"
    assert not wrong


@each_robot
@pytest.mark.parametrize("method", ["lcaba", "prox_bbo"])
def test_single_precision_is_as_good_in_all_units(name: str, method: str) -> None:
    p = case(name)
    exact = first(name)["kkt"]
    assert isinstance(exact, lw.results.Solution)

    def single(robot: Mechanism, q: Floats, v: Floats, tau: Floats) -> lw.results.Solution:
        return lw.ForwardDynamics(robot, method)(*(x.astype(np.float32) for x in (q, v, tau)))

    before = single(p.robot, p.q, p.v, p.tau)
    allowed = SINGLE + 10 * distance(before.acceleration, exact.acceleration, p.free)
    for corner in corners(name):
        robot, units = written(name, corner)
        found = single(robot, units.q(p.q), units.v(p.v), units.tau(p.tau))
        assert distance(first_a(units, found.acceleration), exact.acceleration, p.free) <= allowed, corner


# Motion -----------------------------------------------------------------------------------------------------

STEP = 1e-3
PULL = 5e-3
"""Seconds in which loops close again: a time, and given as one."""


@each_robot
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_steps_lead_to_the_same_state_in_all_units(name: str, integrator: str) -> None:
    p = case(name)
    before = lw.Stepper(p.robot, integrator, STEP, time_constant=PULL)(p.q, p.v, p.tau, steps=3)
    for corner in corners(name):
        robot, units = written(name, corner)
        stepper = lw.Stepper(robot, integrator, STEP * units.time, time_constant=PULL * units.time)
        found = stepper(units.q(p.q), units.v(p.v), units.tau(p.tau), steps=3)
        assert found.steps == before.steps == 3
        assert distance(found.q / units.positions, before.q, 1.0) <= AGREEMENT, corner
        assert distance(found.v / units.v(np.ones(robot.nv)), before.v, p.free * STEP) <= ONE_FACTOR, corner


@each_robot
def test_simulations_that_close_loops_are_the_same_in_all_units(name: str) -> None:
    p = case(name)

    def run(robot: Mechanism, units: Units) -> lw.Trajectory:
        h = STEP * units.time
        start = units.q(p.q), units.v(p.v)
        return lw.simulate(
            robot, *start, tau=units.tau(p.tau), seconds=3 * h, dt=h, time_constant=PULL * units.time, project_every=1
        )

    before = run(p.robot, Units(p.robot, 1, 1, 1))
    assert not before.ended
    wrong = {}
    for corner in corners(name):
        robot, units = written(name, corner)
        try:
            found = run(robot, units)
        except lw.errors.LinkworkError as failure:
            wrong[corner] = str(failure)
            continue
        assert not found.ended and len(found) == len(before)
        off = distance(found.q / units.positions, before.q, 1.0)
        off = max(off, distance(found.v / units.v(np.ones(robot.nv)), before.v, p.free * STEP))
        if off > ONE_FACTOR:
            wrong[corner] = f"differs by {off:.1e}"
    assert not wrong


# In particular ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "mass"), [(1e-2, 1e-5), (1e-3, 1e-9)])
def test_the_readmes_four_bar_in_centimeters_and_in_millimeters(unit: float, mass: float) -> None:
    """Bars of 10 mg and of 1 µg, built and not scaled: the same constraints, and accelerations of all methods."""
    p, units = case("README's four-bar"), Units(case("README's four-bar").robot, unit, mass, 1.0)
    exact = first("README's four-bar")["kkt"]
    assert isinstance(exact, lw.results.Solution)
    small = four_bar(unit, mass)
    assert [type(c) for c in small.constraints] == [type(c) for c in p.robot.constraints]
    same = scaled(p.robot.with_gravity(p.robot.gravity / unit), unit, mass, 1.0)
    q = small.assemble([0.7, 0, 0], fixed=["motor"])
    assert_close(q, p.q, AGREEMENT)
    assert_close(lw.mass_matrix(small, p.q), lw.mass_matrix(same, p.q), 1e-12)
    lighter = small.with_gravity(small.gravity * unit)  # falls as the large one does
    for method, before in first("README's four-bar").items():
        found = solved(lighter, method, p.q, p.v, units.tau(p.tau))
        if not isinstance(before, lw.results.Solution):
            assert found is before
            continue
        assert isinstance(found, lw.results.Solution) and found.converged
        assert distance(found.acceleration, exact.acceleration, p.free) <= AGREEMENT, method


def test_least_torques_of_joints_that_slide_and_turn_do_not_depend_on_the_unit_of_length() -> None:
    """A force of a slider counts as the torque that it makes at the length of the robot."""
    p = case("slider-crank")
    a = np.zeros(p.robot.nv)
    expected = lw.InverseDynamics(p.robot, "least")(p.q, p.v, a)
    for length in (1e-3, 1e3):
        robot, units = written("slider-crank", (length, 1.0, 1.0))
        found = lw.InverseDynamics(robot, "least")(units.q(p.q), units.v(p.v), units.a(a))
        assert_close(found / units.tau(np.ones(robot.nv)), expected, AGREEMENT)


def test_the_delta_robot_of_the_parallel_robots_is_served_by_auto_and_simulated() -> None:
    path = model_file("example_parallel_robots/robot_delta/robot.urdf")
    robot = lw.load(path)
    still = np.zeros(robot.nv)
    for seed in range(3):
        q = robot.assemble(robot.random(seed), limits=False)
        v = robot.project_velocity(q, np.random.default_rng(seed).normal(size=robot.nv))
        exact = lw.ForwardDynamics(robot, "kkt")(q, v, still)
        found = lw.ForwardDynamics(robot)(q, v, still)
        free = float(np.abs(lw.ForwardDynamics(robot.unconstrained())(q, v, still).acceleration).max())
        assert found.converged and distance(found.acceleration, exact.acceleration, free) <= AGREEMENT
        run = lw.simulate(robot, q, v, seconds=0.1)
        assert not run.ended and len(run) == 101 and run.errors.max() <= 1e-3
    nearly_singular = robot.assemble()
    run = lw.simulate(robot, nearly_singular, seconds=0.1)
    assert not run.ended and run.errors.max() <= 1e-3
