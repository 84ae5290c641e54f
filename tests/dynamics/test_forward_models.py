# SPDX-License-Identifier: BSD-3-Clause
"""All methods of constrained dynamics solve one problem: on the zoo, the papers' scenes, real robots, any mechanism."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.methods import METHODS
from linkwork.mechanism import Mechanism
from tests.support import linkages
from tests.support.gauss import ROUNDING, Problem, closed_state, distance, open_state
from tests.support.robots import load_quietly
from tests.zoo import test_scenes, test_zoo

AGREEMENT = 1e-9
"""Relative to the largest acceleration, or to 1 m/s² if that is larger."""

TIGHT = 1e-14
"""Tolerance of iterations here: what a row misses is divided by its inverse inertia, and may become more."""

CONTRADICTION = 1e-7
"""What rows miss, relative to what they ask, where nothing satisfies all of them."""

CLOSED = 1e-9
"""Errors of constraints below this are those of closed loops."""

SLOW = 10.0
"""Directions with an inverse inertia of less than this times the damping need more iterations than there are."""

REDUNDANT = 1e-8
"""`AGREEMENT` where rows are redundant: rounding puts forces into rows that have none, by the damping."""

EARLY = 1e-8
"""The same for pv_early: a joint that a row hardly feels has to satisfy it, if it is the first on its way."""

BOUND = tuple(name for name, method in METHODS.items() if name != "aba" and method.exact)

FILES = {
    "Cassie": "cassie/cassie_nomesh.xml",
    "Digit, its file": "digit/digit-v3_nomesh.xml",
    "Robotiq": "robotiq_2f85/2f85_nomesh.xml",
    "Robotiq, version 4": "robotiq_2f85_v4/2f85_nomesh.xml",
    "Reachy Mini": "reachy_mini/reachy_mini_nomesh.xml",
    "Booster T1": "booster_t1/T1_23dof_parallel_nomesh.xml",
    "Kangaroo": "kangaroo/kangaroo_nomesh.xml",
    "Kangaroo with grippers": "kangaroo/kangaroo_grippers_nomesh.xml",
    "Kangaroo, lower body": "kangaroo/kangaroo_lower_body_nomesh.xml",
    "grbda four-bar": "grbda_linkages/four_bar.urdf",
    "grbda planar leg": "grbda_linkages/planar_leg_linkage.urdf",
    "grbda rotor chain": "grbda_linkages/revolute_rotor_chain.urdf",
    "grbda six-bar": "grbda_linkages/six_bar.urdf",
}


@cache
def from_file(name: str) -> Mechanism:
    return load_quietly(FILES[name])


SYSTEMS: dict[str, Callable[[], Mechanism]] = {
    **{f"zoo: {name}": partial(test_zoo.made, name) for name in test_zoo.FACTS},
    **{f"scene: {name}": partial(test_scenes.made, name) for name, scene in test_scenes.TABLES.items() if scene.rows},
    "scene: Digit, rods on balls": partial(test_scenes.made, "Digit, rods on balls"),
    **{f"file: {name}": partial(from_file, name) for name in FILES},
    **{f"linkage: {name}": partial(linkages.made, name) for name in linkages.MECHANISMS},
}
each_system = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "cube" in name else name for name in SYSTEMS]
)
"""Robots around a cube are large."""


@cache
def problems(name: str) -> tuple[Problem, ...]:
    """States of a system: closed and moving as loops allow, closed and moving anyhow, and open."""
    robot, rng = SYSTEMS[name](), np.random.default_rng([len(name), 4])
    found = [open_state(robot, rng), open_state(robot, rng)]
    if "assembled" in robot.poses:
        q = robot.poses["assembled"]
    else:
        # not where the file has it: the loops of a robot that stands upright may be stretched
        start = robot.integrate(robot.poses.get("qpos0", robot.neutral()), 0.1 * rng.normal(size=robot.nv))
        q = robot.assemble(start, limits=False)
    found += [closed_state(robot, q, rng), Problem(robot, q, *rng.normal(size=(2, robot.nv)))]
    return tuple(found)


@cache
def solver(robot: Mechanism, method: str) -> lw.ForwardDynamics:
    return lw.ForwardDynamics(robot, method, tolerance=TIGHT, threads=1)


def contradicted(p: Problem) -> bool:
    return p.gap > CONTRADICTION * max(1.0, float(np.abs(p.k).max()))


def closed(p: Problem) -> bool:
    """Whether loops are closed, so that methods for closed loops know how many rows are independent."""
    return float(np.abs(lw.constraint_error(p.robot, p.q))[p.on].max(initial=0.0)) < CLOSED


def slow(p: Problem, damping: float) -> bool:
    return p.weakest < SLOW * damping


def check(p: Problem, method: str, fd: lw.ForwardDynamics | None = None) -> None:
    """One state by one method, by its kind: regular, redundant, contradicted, slow."""
    fd = solver(p.robot, method) if fd is None else fd
    soft = method == "pv_soft"
    if METHODS[method].closed and not closed(p):
        return
    if not soft and contradicted(p) and method != "kkt":
        if METHODS[method].closed:  # as near as rows that say the same let it be, and says by how much it misses them
            s = fd(p.q, p.v, p.tau)
            assert distance(s.residuals, p.k - p.J @ s.acceleration, float(np.abs(p.k).max())) <= AGREEMENT
        elif METHODS[method].hard:
            with pytest.raises(lw.errors.SingularConstraints):
                fd(p.q, p.v, p.tau)
        return  # more of these in test_forward_redundant
    if method in ("ltl", "pv") and p.redundant:
        with pytest.raises(lw.errors.SingularConstraints):
            fd(p.q, p.v, p.tau)
        return
    s = fd(p.q, p.v, p.tau)
    expected, _ = p.soft(fd.solver.regularization) if soft else p.hard
    error = distance(s.acceleration, expected)
    exact = method == "kkt" or METHODS[method].closed
    allowed = EARLY if method == "pv_early" else REDUNDANT if p.redundant and not exact else AGREEMENT
    if METHODS[method].iterates and slow(p, fd.solver.regularization):
        assert error <= allowed or not s.converged
        return
    if METHODS[method].hard and method != "pv_early":  # one factor, which nothing improves
        allowed += 10 * ROUNDING * p.condition
    if METHODS[method].iterates and method != "prox_ltl":  # rows are stiff springs on the inertias of bodies
        allowed += 0.1 * ROUNDING * p.stiffness / fd.solver.regularization
    if soft:  # one iteration of stiff rows knows no more digits than these leave of the inertias
        allowed += 10 * ROUNDING * p.stiffness / fd.solver.regularization
    assert error <= allowed, f"differs by {error:.1e}, may by {allowed:.1e}"
    assert p.unbalanced(s) <= allowed
    if not soft and not contradicted(p):
        left = AGREEMENT + (ROUNDING * p.condition if METHODS[method].hard else 0.0)
        assert s.residual <= left * max(1.0, float(np.abs(p.k).max()))


@pytest.mark.parametrize("method", BOUND)
@each_system
def test_every_method_agrees_with_least_squares(name: str, method: str) -> None:
    if method not in lw.methods.methods_for(SYSTEMS[name]()):
        with pytest.raises(lw.errors.UnsupportedFeature):
            lw.ForwardDynamics(SYSTEMS[name](), method)
        return
    for p in problems(name):
        check(p, method)


@each_system
def test_default_settings_converge_to_seven_digits(name: str) -> None:
    """Seven: rows may miss 1e-10, and along the weakest direction of the zoo that is 1e-8 of an acceleration."""
    robot = SYSTEMS[name]()
    fd = {method: lw.ForwardDynamics(robot, method) for method in ("lcaba", "prox_bbo")}
    for p in problems(name):
        for method, solve in fd.items():
            if contradicted(p) or slow(p, solve.solver.regularization):
                continue
            s = solve(p.q, p.v, p.tau)
            assert s.converged and s.iterations <= 10, (method, s)
            assert distance(s.acceleration, p.hard[0]) <= 1e-7


BLOCK = 10
RANDOM = 150


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, RANDOM, BLOCK))
def test_every_method_agrees_on_random_mechanisms(first: int) -> None:
    """Three to ten bodies on any joints, bound by one to four constraints of any type, closed and open."""
    for seed in range(first, first + BLOCK):
        robot = lw.zoo.random_loops(seed, bodies=3 + seed % 8, loops=1 + seed % 4)
        rng = np.random.default_rng([seed, 5])
        states = (closed_state(robot, robot.poses["assembled"], rng), open_state(robot, rng))
        for method in [name for name in BOUND if name in lw.methods.methods_for(robot)]:
            if method == "cluster_lcaba" and seed % 3:
                continue  # which loops it takes is chosen by counting, which takes longer than all the rest
            fd = lw.ForwardDynamics(robot, method, tolerance=TIGHT, threads=1)
            for p in states:
                try:
                    check(p, method, fd)
                except (AssertionError, lw.errors.LinkworkError) as wrong:
                    raise AssertionError(f"seed {seed}, {method}: {wrong}") from wrong


def test_random_mechanisms_have_every_constraint() -> None:
    robots = [lw.zoo.random_loops(seed, bodies=3 + seed % 8, loops=1 + seed % 4) for seed in range(60)]
    kinds = {type(c).__name__ for robot in robots for c in robot.constraints}
    assert kinds >= set(lw.zoo.LOOP_KINDS)


# Methods that cannot serve ---------------------------------------------------------------------------

GROUNDED = ("pv_early", "pv_soft", "constrained_aba")
"""Methods for constraints that bind one moving body, or one joint, each."""

INTERNAL = {
    "a loop": lambda: lw.zoo.four_bar(),
    "a gear": lambda: lw.zoo.serial_chain(3).constrained(lw.constraints.Gear("joint0", "joint1", 2.0, name="gear")),
    "the center of mass": lambda: lw.zoo.serial_chain(3).constrained(lw.constraints.CenterOfMass(name="com")),
    "a combination": lambda: lw.zoo.serial_chain(3).constrained(
        lw.constraints.LinearCombination({"link0": np.ones((1, 6)), "link2": np.ones((1, 6))}, name="sum")
    ),
}


@pytest.mark.parametrize("method", GROUNDED)
@pytest.mark.parametrize("name", INTERNAL)
def test_methods_for_the_ground_refuse_constraints_between_bodies(name: str, method: str) -> None:
    robot = INTERNAL[name]()
    assert method not in lw.methods.methods_for(robot)
    with pytest.raises(lw.errors.UnsupportedFeature, match=f"{method} cannot serve") as refused:
        lw.ForwardDynamics(robot, method)
    assert str(robot.constraints[0]) in str(refused.value)
    assert all(other in str(refused.value) for other in lw.methods.methods_for(robot))


@pytest.mark.parametrize("seed", range(20))
def test_a_centre_of_mass_of_one_body_is_served_or_refused(seed: int) -> None:
    """Moving mass across joints spreads its rows over several bodies."""
    robot = lw.zoo.random_loops(seed, bodies=5, loops=1, kinds="sr", constraints=["CenterOfMass"])
    robot = robot.unconstrained().constrained(lw.constraints.CenterOfMass(bodies=(robot.body_names[-1],), name="com"))
    p = open_state(robot, np.random.default_rng(seed))
    for method in set(GROUNDED) & set(lw.methods.methods_for(robot)):
        check(p, method)


def test_aba_serves_no_constraints_but_those_switched_off() -> None:
    robot = lw.zoo.four_bar()
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"ignores constraints.*Hinge 'C'"):
        lw.ForwardDynamics(robot, "aba")
    assert lw.ForwardDynamics(robot.switched({"C": False}), "aba").method == "aba"


@pytest.mark.parametrize("method", [name for name in METHODS if name != "aba"])
def test_methods_with_constraints_refuse_a_tree(method: str) -> None:
    with pytest.raises(lw.errors.UnsupportedFeature, match="no constraints; use aba"):
        lw.ForwardDynamics(lw.zoo.serial_chain(3), method)
