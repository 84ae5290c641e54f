# SPDX-License-Identifier: BSD-3-Clause
"""Proximal iterations in compiled code: the same in all three ways, ended by the tolerance, in lanes by the slowest."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.backends import best_lanes
from linkwork.dynamics.iterations import REGULARIZATION, TOLERANCE
from linkwork.dynamics.methods import AUTOMATIC, METHODS
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.constrained import lcaba
from linkwork.kernels.thresholds import DISABLED
from linkwork.mechanism import Mechanism
from linkwork.model.thresholds import UNBOUNDED
from linkwork.quantities.scales import scales_of
from tests.support.gauss import ROUNDING, Problem, closed_state, open_state
from tests.support.states import assert_close
from tests.zoo import test_scenes

AGREEMENT = 1e-12
"""Of the three ways, relative to the largest number: they differ by where multiplications and additions fuse."""

WAYS = ("plain", "native", "specialized")
LANES = best_lanes("float64")
"""Native code for so many is compiled ahead."""
ITERATED = tuple(name for name, method in METHODS.items() if method.iterates and not method.closed)
"""Methods whose rows all have a regularization."""
KERNELS = tuple(name for name, m in METHODS.items() if m.algorithm is not None and name != "aba" and m.exact)
"""Every method that is kernel code for constraints."""


@cache
def looped() -> Mechanism:
    """Five bodies on joints of several kinds, with loops of several kinds, not redundant."""
    kinds = ["Point", "JointCoupling", "Rod", "Hinge"]
    return lw.zoo.random_loops(28, bodies=5, loops=3, kinds="rsph", constraints=kinds)


@cache
def standing() -> Mechanism:
    """A floating body with two legs: one foot held at a point, the other by a joint and in a plane."""
    build = lw.Builder("stander").body("base", lw.Inertia.box(2.0, (0.3, 0.2, 0.1)))
    build.joint("free", lw.joints.Free(), "world", "base")
    for side, y in (("left", 0.1), ("right", -0.1)):
        build.body(f"{side}_leg", lw.Inertia.rod(0.5, (0, 0, 0), (0, 0, -0.4), radius=0.03))
        build.joint(f"{side}_hip", lw.joints.Spherical(), "base", f"{side}_leg", (0, y, 0))
        build.body(f"{side}_shin", lw.Inertia.rod(0.4, (0, 0, 0), (0, 0, -0.4), radius=0.03))
        build.joint(f"{side}_knee", lw.joints.Revolute("y"), f"{side}_leg", f"{side}_shin", (0, 0, -0.4), armature=0.01)
    build.constrain(lw.constraints.Point("world", "left_shin", name="left", second_at=(0, 0, -0.4), time_constant=0.1))
    build.constrain(lw.constraints.PointOnPlane("world", "right_shin", name="right", axis="z", second_at=(0, 0, -0.4)))
    build.constrain(lw.constraints.JointLock("right_knee", 0.3, name="lock"))
    return build.build()


def robot_for(method: str) -> Mechanism:
    return looped() if METHODS[method].internal else standing()


@cache
def solver(method: str, way: str, lanes: int = LANES, dtype: str = "float64", **settings: Any) -> lw.ForwardDynamics:
    fd = lw.ForwardDynamics(robot_for(method), method, threads=1, **settings)
    if way == "plain":
        return fd.plain()
    if way == "native":
        return fd.native(lanes=lanes, dtype=dtype)
    return fd.compile(lanes=lanes, dtype=dtype, threads=1)


def states(robot: Mechanism, seed: int, *lead: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 8])
    q = np.array([robot.random(rng) for _ in range(int(np.prod(lead, dtype=int)))]).reshape(*lead, robot.nq)
    return q, *rng.normal(size=(2, *lead, robot.nv))


def known(method: str, *state: np.ndarray) -> float:
    """`AGREEMENT`, or what stiff rows leave of it in one iteration, or joints that a row hardly feels."""
    if method != "pv_soft":
        return 10 * AGREEMENT if method == "pv_early" else AGREEMENT
    return once(method, *state)


def once(method: str, *state: np.ndarray) -> float:
    """What stiff rows leave of `AGREEMENT` in one iteration."""
    return AGREEMENT + 10 * ROUNDING * Problem(robot_for(method), *state).stiffness / REGULARIZATION


# Three ways ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", ["native", "specialized"])
@pytest.mark.parametrize("method", KERNELS)
def test_the_ways_agree_and_take_the_same_iterations(method: str, way: str, seed: int) -> None:
    state = states(robot_for(method), seed)
    ours, theirs, rel = solver(method, way)(*state), solver(method, "plain")(*state), known(method, *state)
    assert_close(ours.acceleration, theirs.acceleration, rel)
    assert_close(ours.multipliers, theirs.multipliers, 100 * rel, scale=1.0)
    assert_close(ours.residuals, theirs.residuals, rel, scale=100.0)
    assert ours.iterations == theirs.iterations
    assert ours.converged == theirs.converged


def test_the_systems_take_more_than_one_iteration() -> None:
    for method in ITERATED:
        taken = {solver(method, "native")(*states(robot_for(method), seed)).iterations for seed in range(8)}
        assert min(taken) > 1, (method, taken)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ITERATED)
def test_iterations_end_at_the_most_that_are_allowed(method: str, way: str, count: int) -> None:
    state = states(robot_for(method), 1)
    s = solver(method, way, max_iterations=count, tolerance=1e-300)(*state)
    assert s.iterations == count and not s.converged
    batch = solver(method, way, max_iterations=count, tolerance=1e-300)(*states(robot_for(method), 1, LANES + 1))
    assert (batch.iterations == count).all() and not batch.converged.any()


def missed(robot: Mechanism, state: tuple[np.ndarray, ...], s: lw.results.Solution) -> float:
    """What rows miss by what gravity, torques and velocities do, each weighed by the inertia that it moves."""
    p, scales = Problem(robot, *state), scales_of(robot)
    gravity = scales.mass * (robot.gravity**2).sum()
    size = gravity + (p.tau**2 / scales.joints).sum() + (p.k**2 / scales.rows).sum()
    return float(np.sqrt((s.residuals**2 / scales.rows).max() / size))


@pytest.mark.parametrize("tolerance", [1e-5, 1e-8, TOLERANCE])
@pytest.mark.parametrize("method", ITERATED)
def test_iterations_go_on_until_rows_miss_less_than_the_tolerance(method: str, tolerance: float) -> None:
    fd = solver(method, "native", tolerance=tolerance)
    fewer = solver(method, "native", tolerance=1e-300, max_iterations=1)
    for seed in range(6):
        state = states(robot_for(method), seed)
        s = fd(*state)
        assert s.converged and missed(robot_for(method), state, s) <= tolerance
        if s.iterations == 1:
            assert missed(robot_for(method), state, fewer(*state)) <= tolerance


@pytest.mark.parametrize("method", ITERATED)
def test_each_iteration_brings_the_acceleration_nearer(method: str) -> None:
    """In the metric of inertia, by what the damping is to the inverse inertia of the weakest direction."""
    robot = robot_for(method)
    for seed in range(3):
        q, v, tau = states(robot, seed)
        p = Problem(robot, q, v, tau)
        factor = 1e-3 / (1e-3 + p.weakest)
        errors = []
        for count in range(1, 6):
            s = solver(method, "native", regularization=1e-3, max_iterations=count, tolerance=1e-300)(q, v, tau)
            off = s.acceleration - p.hard[0]
            errors.append(np.sqrt(off @ p.M @ off / (p.hard[0] @ p.M @ p.hard[0])))
        for before, after in pairwise(errors):
            assert after <= max(1.001 * factor * before, 1e-11)


# Lanes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize("batch", [1, LANES - 1, LANES, LANES + 1, 2 * LANES + 1])
@pytest.mark.parametrize("method", ITERATED)
@pytest.mark.parametrize("way", ["specialized", "native"])
def test_states_in_lanes_iterate_each_on_its_own(way: str, method: str, batch: int, lanes: int) -> None:
    """Lanes beyond the end of a batch repeat its last state."""
    robot = robot_for(method)
    state = states(robot, 3, batch)
    # A state that starts from its own solution needs one iteration: blocks mix quick and slow ones.
    start = solver(method, "native")(*state).multipliers
    start[::3] = 0.0
    s = solver(method, way, lanes)(*state, multipliers=start)
    single = [solver(method, "plain")(*(x[k] for x in state), multipliers=start[k]) for k in range(batch)]
    np.testing.assert_array_equal(s.iterations, [one.iterations for one in single])
    assert s.converged.all()
    for k, one in enumerate(single):
        # springs know in one iteration what `once` says
        known_to = once(method, *(x[k] for x in state)) if method in ("lcaba", "constrained_aba") else 1e-9
        assert_close(s.acceleration[k], one.acceleration, known_to)


@pytest.mark.parametrize("way", ["specialized", "native"])
@pytest.mark.parametrize("method", ITERATED)
def test_a_state_in_lanes_does_not_depend_on_its_neighbors(method: str, way: str) -> None:
    """Bit for bit, whether they need as many iterations or fewer."""
    robot, fd = robot_for(method), solver(method, way, regularization=1e-4)
    q, v, tau = states(robot, 3, 2 * LANES + 1)
    start = solver(method, "native")(q, v, tau).multipliers
    start[::3] = 0.0
    together = fd(q, v, tau, multipliers=start)
    assert len(set(together.iterations.tolist())) > 1
    for k in range(2 * LANES + 1):
        alone = fd(*(np.tile(x[k], (LANES, 1)) for x in (q, v, tau)), multipliers=start[k])
        np.testing.assert_array_equal(alone.acceleration[0], together.acceleration[k])
        np.testing.assert_array_equal(alone.multipliers[0], together.multipliers[k])


@pytest.mark.parametrize("method", KERNELS)
def test_a_batch_in_lanes_is_its_states_one_by_one(method: str) -> None:
    """Leading axes broadcast: q (3, 1), tau (4,)."""
    robot = robot_for(method)
    q, v, tau = states(robot, 4, 3, 1)[0], states(robot, 5)[1], states(robot, 6, 4)[2]
    s = solver(method, "specialized")(q, v, tau)
    assert s.acceleration.shape == (3, 4, robot.nv) and s.multipliers.shape == (3, 4, robot.nc)
    assert np.shape(s.residual) == np.shape(s.iterations) == np.shape(s.converged) == (3, 4)
    for i, j in np.ndindex(3, 4):
        one = solver(method, "native")(q[i, 0], v, tau[j])
        assert_close(s.acceleration[i, j], one.acceleration, 1e-9 + known(method, q[i, 0], v, tau[j]))


@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl", "pv"])
def test_single_precision_has_its_digits(method: str) -> None:
    """With a damping that float32 can be added to, whatever the one that is asked for."""
    robot = robot_for(method)
    fast = solver(method, "specialized", 8, "float32")
    state = states(robot, 2, 11)
    s, exact = fast(*state), solver(method, "native")(*state)
    assert s.acceleration.dtype == np.float32
    assert_close(s.acceleration, exact.acceleration, 1e-2)
    assert s.converged.all()


def test_early_elimination_in_single_precision_has_its_digits_or_is_refused() -> None:
    """What no row feels is known from what it feels a little by 1e-9, which float32 cannot tell from nothing."""
    robot = robot_for("pv_early")
    state = states(robot, 2, 11)
    try:
        fast = lw.ForwardDynamics(robot, "pv_early").compile(lanes=8, dtype="float32", threads=1)
    except lw.errors.UnsupportedFeature:
        return
    assert_close(fast(*state).acceleration, solver("pv_early", "native")(*state).acceleration, 1e-2)


# Starting from multipliers ---------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ITERATED)
def test_one_iteration_is_enough_from_the_solution(method: str, way: str) -> None:
    state = states(robot_for(method), 1)
    fd = solver(method, way)
    cold = fd(*state)
    warm = fd(*state, multipliers=cold.multipliers)
    stiff = METHODS[method].algorithm is lcaba.LCABA  # a second one is what makes up for the digits that springs cost
    assert warm.iterations == (2 if stiff else 1) and warm.converged
    assert_close(warm.acceleration, cold.acceleration, 1e-8)


@pytest.mark.parametrize("method", ITERATED)
def test_multipliers_of_the_state_before_save_iterations(method: str) -> None:
    """In a rollout, with a damping at which a cold start takes many."""
    robot = robot_for(method)
    q, v, tau = states(robot, 2)
    v = 0.1 * v
    fd = solver(method, "native", regularization=1e-3)
    cold, warm, start = 0, 0, None
    for _ in range(20):
        s = fd(q, v, tau, multipliers=start)
        cold, warm = cold + fd(q, v, tau).iterations, warm + s.iterations
        start = s.multipliers
        v = v + 1e-4 * s.acceleration
        q = robot.integrate(q, 1e-4 * v)
    assert warm < cold


# Both texts and their memory -------------------------------------------------------------------------


def fresh(fd: lw.ForwardDynamics, state: tuple[np.ndarray, ...]) -> tuple[Any, list[Any], list[Any]]:
    """Work arrays and outputs of NaN, and inputs, for the bare text."""
    algorithm, tree = fd.program.algorithm, fd.program.tree
    work = algorithm.work_type(*(np.full(resolve(shape, tree), np.nan) for shape in algorithm.work.values()))
    outputs = [np.full(resolve(shape, tree), np.nan) for shape in algorithm.outputs.values()]
    return work, fd.input_arrays(state), outputs


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("method", KERNELS)
def test_texts_read_no_memory_that_they_have_not_written(method: str, seed: int) -> None:
    """Work and outputs start as NaN, which would spread."""
    kinds = None if METHODS[method].internal else ["JointLock", "Point"]
    robot = lw.zoo.random_loops(seed, bodies=6, loops=3, constraints=kinds) if kinds is None else standing()
    fd = lw.ForwardDynamics(robot, method)
    algorithm, tree = fd.program.algorithm, fd.program.tree
    work, inputs, outputs = fresh(fd, states(robot, seed))
    with np.errstate(all="ignore"):
        algorithm.text(tree, work, *inputs, *outputs)
        if not METHODS[method].hard:  # dependent rows are infinite there
            assert all(np.isfinite(y).all() for y in outputs)
        if algorithm.iterate is not None:
            algorithm.iterate(tree, work, *inputs, *outputs)
            assert all(np.isfinite(y).all() for y in outputs)


@pytest.mark.parametrize("method", ITERATED)
def test_the_second_text_needs_nothing_that_it_changed_itself(method: str) -> None:
    """Specialized code gives it the work arrays of the first text each time, native code those of the time before."""
    robot = robot_for(method)
    fd = lw.ForwardDynamics(robot, method, tolerance=1e-300)
    algorithm, tree = fd.program.algorithm, fd.program.tree
    results = []
    for restored in (True, False):
        work, inputs, outputs = fresh(fd, states(robot, 1))
        algorithm.text(tree, work, *inputs, *outputs)
        kept = [x.copy() for x in work]
        for _ in range(3):
            algorithm.iterate(tree, work, *inputs, *outputs)
            if restored:
                for x, y in zip(work, kept, strict=True):
                    x[...] = y
        results.append(outputs)
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("way", ["native", "specialized"])
@pytest.mark.parametrize("method", KERNELS)
def test_a_result_does_not_depend_on_the_calls_before(method: str, way: str) -> None:
    robot, fd = robot_for(method), solver(method, way)
    first = fd(*states(robot, 1))
    q, v, tau = states(robot, 2, LANES + 3)
    fd(q, 30 * v, 1e3 * tau, multipliers=np.full(robot.nc, 1e3))
    after = fd(*states(robot, 1))
    for field in ("acceleration", "multipliers", "residuals"):
        np.testing.assert_array_equal(getattr(first, field), getattr(after, field))
    assert first.iterations == after.iterations


@pytest.mark.parametrize("method", KERNELS)
def test_inputs_are_left_alone(method: str) -> None:
    robot = robot_for(method)
    arguments = [*states(robot, 1), np.zeros(robot.nc)]
    before = [x.copy() for x in arguments]
    solver(method, "native")(*arguments[:3], multipliers=arguments[3])
    for x, y in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("method", ["lcaba", "prox_bbo"])
def test_results_do_not_depend_on_the_number_of_threads(method: str) -> None:
    """Bit for bit: blocks of lanes are cut at the same places or stand alone."""
    robot = robot_for(method)
    state = states(robot, 0, 1030)
    fds = [lw.ForwardDynamics(robot, method, threads=threads) for threads in (1, 3)]
    np.testing.assert_array_equal(fds[0](*state).acceleration, fds[1](*state).acceleration)
    fast = [fds[0].compile(threads=threads) for threads in (1, 3)]
    found = [f(*state) for f in fast]
    assert_close(found[0].acceleration, found[1].acceleration, 1e-9)


# As in the papers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", AUTOMATIC)
@pytest.mark.parametrize("damping", [1e-5, 1e-6, 1e-7])
def test_two_hands_with_a_cube_converge_in_three_iterations(damping: float, method: str) -> None:
    """loops Fig. 10: rows miss less than 1e-6 after three, at any damping that makes sense; in the paper's units."""
    robot = test_scenes.made("AH²-cube")
    damping = damping / float(np.median(scales_of(robot).rows))
    fd = lw.ForwardDynamics(robot, method, regularization=damping, tolerance=1e-13, max_iterations=3)
    for seed in range(3):
        p = closed_state(robot, robot.poses["assembled"], np.random.default_rng(seed))
        s = fd(p.q, p.v, p.tau)
        assert s.converged and s.iterations <= 3
        assert np.abs(p.J @ s.acceleration - p.k).max() <= 1e-6


@pytest.mark.parametrize("method", AUTOMATIC)
def test_the_residual_is_what_rows_miss(method: str) -> None:
    """As computed from the accelerations, to what these are known."""
    robot = robot_for(method)
    for seed in range(4):
        q, v, tau = states(robot, seed)
        p = Problem(robot, q, v, tau)
        s = solver(method, "native", regularization=1e-2, max_iterations=2, tolerance=1e-300)(q, v, tau)
        assert_close(s.residuals, p.k - p.J @ s.acceleration, 1e-9, scale=float(np.abs(p.k).max()))
        assert s.residual == np.abs(s.residuals).max()


@pytest.mark.parametrize("method", [*AUTOMATIC, "constrained_aba", "pv_soft"])
@pytest.mark.parametrize("damping", [1e-1, 1e-3, REGULARIZATION])
def test_one_iteration_solves_the_problem_of_soft_rows(method: str, damping: float) -> None:
    """``J a + R (lambda - start) = k`` with weights that differ from row to row."""
    rng = np.random.default_rng(1)
    robot = robot_for(method)
    weighted = replace(
        robot, constraints=tuple(replace(c, compliance=rng.uniform(0.3, 3.0, c.rows)) for c in robot.constraints)
    )
    fd = lw.ForwardDynamics(weighted, method, regularization=damping, max_iterations=1)
    for seed in range(3):
        p = open_state(weighted, np.random.default_rng(seed))
        start = rng.normal(size=robot.nc)
        s = fd(p.q, p.v, p.tau, multipliers=start)
        a, forces = p.soft(damping, start)
        allowed = 1e-12 + 1e-14 * p.stiffness / damping
        assert_close(s.acceleration, a, allowed, scale=1.0)
        assert_close(s.multipliers, forces, allowed * 10, scale=float(np.abs(p.k).max() / damping))


def test_the_damping_of_a_row_that_is_off_is_beyond_all_others() -> None:
    assert UNBOUNDED > DISABLED > 1e6


@pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")
@pytest.mark.parametrize("method", ["prox_ltl", "lcaba", "prox_bbo"])
def test_converged_solutions_are_solutions_under_large_regularization(method: str) -> None:
    """A weak row changes little in an iteration, and its residual is not that of rows that contradict each other."""
    converged = 0
    for seed in (10, 41, 70, 73):  # 70 has a weak row
        robot = lw.zoo.random_loops(seed, bodies=3 + seed % 8, loops=1 + seed % 4)
        rng = np.random.default_rng([seed, 9])
        exact = lw.ForwardDynamics(robot, "kkt")
        proximal = lw.ForwardDynamics(robot, method, regularization=1e-4, max_iterations=40)
        for k in range(4):
            q, v, tau = robot.random(k), rng.normal(size=robot.nv), 5 * rng.normal(size=robot.nv)
            solution = proximal(q, v, tau)
            if solution.converged:
                a = exact(q, v, tau).acceleration
                assert abs(solution.acceleration - a).max() < 1e-6 * max(1.0, abs(a).max())
                converged += 1
    assert converged >= 12
