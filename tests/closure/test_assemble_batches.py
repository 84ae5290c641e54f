# SPDX-License-Identifier: BSD-3-Clause
"""Assembling batches: each state is closed as it would be alone, and those that cannot be are told from the others."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.closure.assembly import assemble
from linkwork.closure.assembly_problem import Problem, descent_of
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.constrained.assembly import ASSEMBLY, row_errors, support_jacobian
from linkwork.kernels.constrained.constraints import CLOSURE
from linkwork.kernels.tree.kinematics import POSE
from linkwork.mechanism import Mechanism
from linkwork.plans.assembly import assembly_tree
from tests.closure.test_closing import CASSIES, CLOSED, FILES, OPEN, drawn, need
from tests.support.descents import BySingularValues
from tests.support.linkages import MECHANISMS, five_bar, four_bar
from tests.support.linkages import made as linkage
from tests.support.states import Floats, random_state
from tests.zoo.test_zoo import FACTS, made

PUSH = 0.05
"""How far joints are moved from where loops are closed."""

LOOPED = {f"linkage: {name}" for name in MECHANISMS} | {f"zoo: {name}" for name in FACTS}
NEAR = [name for name in FILES if (name, "drawn") not in OPEN and name not in CASSIES]
"""Files that close at all places near where they are drawn; the others do not within their limits."""


def robot_of(name: str) -> Mechanism:
    kind, _, rest = name.partition(": ")
    return linkage(rest) if kind == "linkage" else made(rest) if kind == "zoo" else need(name)


@cache
def closed_pose(name: str) -> Floats:
    robot = robot_of(name)
    return robot.poses["assembled"] if "assembled" in robot.poses else robot.assemble(drawn(robot))


def pushed(name: str, *lead: int, seed: int = 0) -> Floats:
    """Configurations near one at which loops are closed."""
    robot = robot_of(name)
    return robot.integrate(closed_pose(name), PUSH * np.random.default_rng(seed).normal(size=(*lead, robot.nv)))


def assert_closed(robot: Mechanism, q: Floats) -> None:
    assert np.abs(lw.constraint_error(robot, q)).max(initial=0.0) <= CLOSED


def rounding(robot: Mechanism, q: Floats) -> float:
    """How far apart two ways to compute a step may end: normal equations square what J does to rounding."""
    s = np.linalg.svd(lw.constraint_jacobian(robot, q), compute_uv=False)
    s = s[s > 1e-9 * s[0]]
    return 1e-14 * float(s[0] / s[-1]) ** 2


def assert_as_alone(robot: Mechanism, q: Floats, closed: Floats) -> None:
    for start, end in zip(q.reshape(-1, robot.nq), closed.reshape(-1, robot.nq), strict=True):
        alone = robot.assemble(start)
        np.testing.assert_allclose(robot.difference(alone, end), 0.0, atol=rounding(robot, alone))


# Each state as alone -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("lead", [(1,), (2,), (7, 3)], ids=str)
@pytest.mark.parametrize("name", sorted(LOOPED))
def test_states_of_a_batch_close_as_they_do_alone(name: str, lead: tuple[int, ...]) -> None:
    robot, q = robot_of(name), pushed(name, *lead)
    found = assemble(robot, q)
    assert found.q.shape == q.shape
    for x in (found.gap, found.iterations, found.attempts):
        assert np.shape(x) == lead
    assert np.max(found.gap) <= CLOSED and np.all(np.equal(found.attempts, 1))
    assert_closed(robot, found.q)
    assert_as_alone(robot, q[..., :3, :], found.q[..., :3, :])


@pytest.mark.slow
@pytest.mark.parametrize("name", NEAR)
def test_states_about_the_pose_of_a_file_close(name: str) -> None:
    robot = need(name)
    if not robot.nc:
        pytest.skip("no loops")
    q = pushed(name, 9)
    found = robot.assemble(q)
    assert_closed(robot, found)
    plain = [k for j in robot.joints if j.type.nq == j.type.nv for k in range(robot.nq)[robot.q_slice(j.name)]]
    assert (found >= robot.lower)[:, plain].all() and (found <= robot.upper)[:, plain].all()
    assert_as_alone(robot, q[:1], found[:1])


@pytest.mark.parametrize("name", ["linkage: four-bar", "linkage: RSSR", "zoo: 2 coupled loops", "zoo: stewart"])
def test_a_state_does_not_depend_on_its_neighbors(name: str) -> None:
    """To the last bit, also where some need further attempts than others."""
    robot = robot_of(name)
    q = np.concatenate([pushed(name, 5), random_state(robot, 1, 6).q])
    order = np.random.default_rng(0).permutation(len(q))
    kept, mixed = some(robot, q), some(robot, q[order])
    np.testing.assert_array_equal(kept[order], mixed)


def some(robot: Mechanism, q: Floats) -> Any:
    """The states, closed or as far as they can be."""
    try:
        return robot.assemble(q, attempts=3)
    except lw.errors.AssemblyError as error:
        return error.q


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 19))
def test_batches_of_any_size_close_from_anywhere(seed: int, count: int) -> None:
    robot = linkage("five-bar")
    q = random_state(robot, seed, count).q
    found = robot.assemble(q)
    assert found.shape == q.shape
    assert_closed(robot, found)


def test_an_empty_batch_is_closed() -> None:
    assert four_bar().assemble(np.zeros((0, 3))).shape == (0, 3)
    assert assemble(four_bar(), np.zeros((2, 0, 3))).iterations.shape == (2, 0)  # type: ignore[union-attr]


def test_only_states_that_are_open_are_moved() -> None:
    robot = five_bar()
    q = robot.assemble(random_state(robot, 0, 6).q)
    q[[1, 4]] = random_state(robot, 1, 2).q
    found = assemble(robot, q)
    still = [0, 2, 3, 5]
    np.testing.assert_array_equal(found.q[still], q[still])
    assert np.array_equal(np.equal(found.attempts, 0), np.isin(range(6), still))


# Fixed joints, limits, redundant rows ------------------------------------------------------------------


def test_fixed_joints_of_all_states_stay_bit_for_bit() -> None:
    robot = four_bar()
    cranks = np.linspace(-3.0, 3.0, 50)
    found = robot.assemble(np.stack([cranks, 0.3 + 0 * cranks, 1.0 + 0 * cranks], axis=-1), fixed=["j1"])
    np.testing.assert_array_equal(found[:, 0], cranks)
    assert_closed(robot, found)


@settings(max_examples=25)
@given(low=st.floats(-3, 2.5), width=st.floats(0.05, 1.0), seed=st.integers(0, 1000))
def test_all_states_keep_the_limits(low: float, width: float, seed: int) -> None:
    robot = four_bar(lower=low, upper=low + width)
    found = robot.assemble(random_state(linkage("four-bar"), seed, 7).q)
    assert (found[:, 0] >= low).all() and (found[:, 0] <= low + width).all()
    assert_closed(robot, found)


REDUNDANT = ["linkage: five-bar", "zoo: watt", "zoo: stewart, universal at both ends", "zoo: pyramid of 2 layers"]


@pytest.mark.parametrize("name", REDUNDANT)
def test_redundant_rows_are_closed_by_the_least_motion(name: str) -> None:
    """The motion is nearly normal to what the loops leave free: how they curve is of second order in it."""
    robot, q = robot_of(name), pushed(name, 6, seed=2)
    closed = robot.assemble(q)
    for start, end in zip(q, closed, strict=True):
        mobility, way = robot.mobility(end), robot.difference(start, end)
        assert mobility.redundancy > 0
        along = mobility.freedom.T @ way
        assert np.linalg.norm(along) < 10 * np.linalg.norm(way) ** 2


def test_disabled_rows_and_others_share_a_batch() -> None:
    robot = lw.zoo.pendulum(3).constrained(
        lw.constraints.JointLock("joint0", 0.3, name="lock"), lw.constraints.Gear("joint1", "joint2", 2.0, name="gear")
    )
    q = random_state(robot, 0, 4).q
    both, lock = robot.assemble(q), robot.switched({"gear": False}).assemble(q)
    np.testing.assert_allclose(both[:, 0], 0.3, atol=CLOSED)
    assert_closed(robot, both)
    np.testing.assert_array_equal(lock[:, 1:], q[:, 1:])
    np.testing.assert_allclose(lock[:, 0], 0.3, atol=CLOSED)


# States that do not close ------------------------------------------------------------------------------


def test_states_that_stay_open_are_named_and_the_others_kept() -> None:
    robot = four_bar(ground=1.0, crank=0.5, coupler=0.7, rocker=0.6)
    cranks = np.array([[0.2, 3.1, 0.3], [3.0, 0.5, 0.4]])
    q = np.stack([cranks, 0 * cranks + 0.5, 0 * cranks + 1.0], axis=-1)
    with pytest.raises(lw.errors.AssemblyError) as caught:
        robot.assemble(q, fixed=["j1"], attempts=4)
    error = caught.value
    closed, kept = np.asarray(error.closed), np.asarray(error.q)
    np.testing.assert_array_equal(closed, [[True, False, True], [False, True, True]])
    assert kept.shape == q.shape
    assert_closed(robot, kept[closed])
    np.testing.assert_array_equal(kept[..., 0], cranks)
    apart = np.abs(lw.constraint_error(robot, kept)).max(axis=-1)
    assert (apart[~closed] > 1e-3).all() and error.gap == apart.max()
    worst = ", ".join(str(k) for k in np.unravel_index(apart.argmax(), apart.shape))
    for part in ("in 2 of 6 states (0, 1; 1, 0)", "after 4 attempts Hinge 'close'", f"off in state ({worst})"):
        assert part in str(error)


def test_of_many_open_states_a_few_are_named() -> None:
    robot = four_bar(ground=3.0)
    with pytest.raises(lw.errors.AssemblyError, match=r"in 9 of 9 states \(0; 1; 2; 3; 4; \.\.\.\)") as caught:
        robot.assemble(random_state(robot, 0, 9).q, attempts=1)
    assert not np.asarray(caught.value.closed).any()


# The text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(LOOPED))
def test_rows_are_closed_by_the_joints_of_their_loop_alone(name: str) -> None:
    """Joints that carry a whole loop turn its gap, which closes nothing: J without their columns."""
    robot = robot_of(name)
    q = random_state(robot, 2).q
    problem, tree = BySingularValues(robot, (), True), assembly_tree(robot)
    work = ASSEMBLY.work_type(*(np.full(resolve(shape, tree), np.nan) for shape in ASSEMBLY.work.values()))
    rows, mobile = problem.rows.astype(float), np.ones(robot.nv)
    row_errors(tree, work, q, rows)
    support_jacobian(tree, work, rows, mobile)
    wanted = np.where(problem.moves & problem.rows[:, None], lw.constraint_jacobian(robot, q), 0.0)
    np.testing.assert_allclose(work.J, wanted, atol=1e-13 * max(1.0, np.abs(wanted).max()))
    inside = np.zeros_like(wanted, dtype=bool)
    for r in range(robot.nc):
        inside[r, tree.row_dof[tree.row_start[r] : tree.row_start[r] + tree.row_count[r]]] = True
    assert not work.J[~inside].any()


@pytest.mark.parametrize("name", ["linkage: four-bar", "linkage: RSSR", "linkage: center of mass", "zoo: delta"])
def test_compiled_and_plain_text_close_alike(name: str) -> None:
    robot = robot_of(name)
    q = robot.normalize(pushed(name, 3))
    problem = Problem(robot, (), True)
    chosen = (q, problem.rows.astype(float), np.ones(robot.nv), problem.lower, problem.upper, np.array([1e-12, 50.0]))
    descent = descent_of(robot)
    (ours, progress), (plain, counted) = descent(*chosen), descent.plain()(*chosen)
    np.testing.assert_array_equal(progress[:, 1], counted[:, 1])
    np.testing.assert_allclose(robot.difference(plain, ours), 0.0, atol=rounding(robot, ours[0]))


@pytest.mark.parametrize("name", ["linkage: RSSR", "linkage: humanoid", "zoo: stewart", "zoo: delta", "zoo: star"])
def test_compiled_steps_end_where_those_by_singular_values_do(name: str) -> None:
    """Where rows are independent. Damping below errors of 1e-3 is the only difference: 1e-3 |e|, relative to s²."""
    robot = robot_of(name)
    q = robot.normalize(pushed(name, 4, seed=3))
    problem = Problem(robot, (), True)
    start = problem.within(q)
    found, _, _ = problem.descend(start, CLOSED, 50)
    for one, end in zip(start, found, strict=True):
        alone, gap, _ = BySingularValues(robot, (), True).descend_alone(one, CLOSED, 50)
        assert gap <= CLOSED
        s = np.linalg.svd(lw.constraint_jacobian(robot, alone), compute_uv=False)
        np.testing.assert_allclose(robot.difference(alone, end), 0.0, atol=1e-9 / s[-1] ** 3)


def test_work_arrays_of_the_descent_have_names_of_their_own() -> None:
    shared = POSE | CLOSURE
    assert {name: ASSEMBLY.work[name] for name in shared} == shared
