# SPDX-License-Identifier: BSD-3-Clause
"""Steps that are not solved: dissipative, finite, counted, and of no effect on other robots of a batch."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact import ContactStep
from linkwork.errors import StateWarning
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box
from linkwork_benchmarks.contact import impacts
from linkwork_benchmarks.scene_files import texts
from tests.support.contact_scenes import free_bodies, ground, touching
from tests.support.robots import Floats, scene_file

EDGE, WALL = 0.2, 1.0


def between_walls(overlap: float = 0.05 * EDGE) -> lw.Mechanism:
    """A box on the ground, and two walls at x = 5 that are closer to each other than the box is wide.

    Args:
        overlap: Of the box with each of them.
    """
    solid = Box((EDGE, EDGE, EDGE))
    own = ContactShape("box", "b0", solid)
    pairs = [ContactPair(ground(), own, friction=0.5)]
    for k, side in enumerate((-1, 1)):
        at = Placement((5.0 + side * (0.5 * EDGE - overlap + WALL / 2), 0.0, 0.0))
        pairs.append(ContactPair(ContactShape(f"wall{k}", "world", Box((WALL, WALL, WALL)), at), own, friction=0.5))
    return touching(free_bodies([solid], [1.0]), *pairs)


def at_rest(robot: lw.Mechanism, x: float) -> Floats:
    q = robot.neutral()
    q[0], q[2] = x, EDGE / 2
    return q


def test_a_jammed_body_stays_and_is_said_to() -> None:
    robot = between_walls()
    with pytest.warns(StateWarning, match="could not be removed in 200 steps .*wall0:box, wall1:box, 0.01 m at most"):
        motion = lw.simulate(robot, at_rest(robot, 5.0), seconds=0.2, dt=1e-3)
    assert motion.contacts.jammed[-1] == 200
    assert motion.contacts.fallback[-1] == motion.contacts.missed[-1] == 0
    assert np.abs(motion.v).max() < 1e-8
    np.testing.assert_allclose(motion.q[-1], motion.q[0], atol=1e-9)


@pytest.mark.parametrize("overlap", [1e-9, 1e-8, 1e-7])
def test_slight_overlaps_that_contradict_each_other_yield(overlap: float) -> None:
    """Overlaps as rounding leaves them: no velocity removes both."""
    robot = between_walls(overlap)
    stepper = lw.Stepper(robot, 1e-3)
    q, v, state, iterations = at_rest(robot, 5.0), np.zeros(6), None, []
    for _ in range(40):
        result = stepper(q, v, contact_state=state)
        q, v, state = result.q, result.v, result.contact_state
        iterations.append(int(result.contacts.iterations))
        assert not result.contacts.jammed
        assert not result.contacts.missed
    assert np.median(iterations) == 1
    assert np.abs(v).max() < 1e-8
    np.testing.assert_allclose(q, at_rest(robot, 5.0), atol=1e-8)


def test_piles_of_mixed_bodies_are_solved() -> None:
    """Redundant contacts at different depths have a solution, and steps after one without it remove penetration."""
    missed = 0
    for seed in range(4):
        robot = lw.loads(texts.pile(30, seed=seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StateWarning)
            contacts = lw.Stepper(robot, 2e-3, threads=1)(robot.poses["qpos0"], np.zeros(robot.nv), steps=2500).contacts
        missed += int(contacts.missed)
    assert missed < 100  # 1 %; 3 % without what loads take of the removal


def test_a_jammed_step_costs_what_others_do() -> None:
    """The first one finds out; those that follow remember, in one call or call by call, and try again at times."""
    robot = between_walls()
    stepper = lw.Stepper(robot, 1e-3)
    q, v, state, iterations = at_rest(robot, 5.0), np.zeros(6), None, []
    for _ in range(100):
        result = stepper(q, v, contact_state=state)
        q, v, state = result.q, result.v, result.contact_state
        iterations.append(int(result.contacts.iterations))
    assert np.median(iterations) == 1
    assert np.mean(iterations[1:]) < 4


def test_what_is_not_jammed_is_moved_apart_beside_what_is() -> None:
    """A box between walls that are too close, and one that is 1 mm deep in the ground."""
    solid = Box((EDGE, EDGE, EDGE))
    free = ContactShape("other", "b1", solid)
    bodies = free_bodies([solid, solid], [1.0, 1.0])
    robot = touching(bodies, *between_walls().contacts, ContactPair(ground(), free, friction=0.5))
    q = np.concatenate([at_rest(between_walls(), 5.0), at_rest(between_walls(), 0.0)])
    q[9] -= 1e-3
    with pytest.warns(StateWarning, match="could not be removed"):
        motion = lw.simulate(robot, q, seconds=0.3, dt=1e-3)
    assert motion.q[-1, 9] == pytest.approx(EDGE / 2, abs=1e-5)
    np.testing.assert_allclose(motion.q[-1, :7], q[:7], atol=1e-9)


def test_bodies_that_are_freed_are_moved_apart() -> None:
    """Out of the walls, penetration of the ground is removed again."""
    robot = between_walls()
    q = at_rest(robot, 5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        jammed = lw.Stepper(robot, 1e-3)(q, np.zeros(6), steps=40)
    q = at_rest(robot, 0.0)
    q[2] -= 1e-3
    freed = lw.Stepper(robot, 1e-3)(q, np.zeros(6), steps=300, contact_state=jammed.contact_state)
    assert freed.q[2] == pytest.approx(EDGE / 2, abs=1e-5)


def test_bodies_that_overlap_in_contradicting_ways_come_apart() -> None:
    """Two bodies of two spheres each, within each other: normals of the four pairs contradict each other."""
    spheres = '<geom size=".1" pos="-.12 0 0" friction=".3"/><geom size=".1" pos=".12 0 0" friction=".3"/>'
    robot = lw.loads(
        f"""<mujoco><worldbody><body><freejoint/>{spheres}</body>
        <body pos=".05 0 .02" euler="0 0 90"><freejoint/>{spheres}</body></worldbody></mujoco>"""
    )
    with pytest.warns(StateWarning, match="could not be removed"):
        motion = lw.simulate(robot, robot.poses["qpos0"], seconds=0.8, dt=2e-3)
    gaps = np.stack([motion.contacts[name].gaps.min(axis=-1) for name in motion.contacts], axis=-1).min(axis=-1)
    assert gaps[1] < -0.05
    assert gaps[-1] > 0
    assert 10 < motion.contacts.jammed[-1] < 200
    assert motion.contacts.missed[-1] == 0


def test_a_jammed_robot_does_not_change_others_of_its_batch() -> None:
    robot = between_walls()
    rng = np.random.default_rng(0)
    q = np.array([at_rest(robot, x) for x in np.linspace(-1, 1, 16)])
    v = np.zeros((16, 6))
    v[:, :2] = rng.normal(size=(16, 2))
    jammed, thrown = q.copy(), v.copy()
    jammed[3], thrown[3] = at_rest(robot, 5.0), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        found = lw.rollouts(robot, jammed, thrown, seconds=0.1, dt=2e-3)
    alone = lw.rollouts(robot, q, v, seconds=0.1, dt=2e-3)
    others = np.arange(16) != 3
    np.testing.assert_array_equal(found.contacts.jammed[-1] > 0, ~others)
    assert not found.contacts.missed[-1].any()
    # lists of a batch have the walls for all: the order of sums differs, and iterations end at other residuals
    np.testing.assert_allclose(found.q[:, others], alone.q[:, others], atol=1e-8)
    np.testing.assert_allclose(found.v[:, others], alone.v[:, others], atol=1e-7)


def kinetic_energy(robot: lw.Mechanism, q: Floats, v: Floats) -> float:
    return float(0.5 * v @ lw.mass_matrix(robot, q) @ v)


@pytest.mark.parametrize("seed", range(40))
def test_a_step_that_is_not_solved_takes_energy(seed: int) -> None:
    """From free motion: ``f(z) <= 0`` whatever iterations leave; one is not enough for these impacts."""
    hit = impacts.impact(20_000 + seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        step = ContactStep(hit.scene, impacts.DT, max_iterations=1)
        s = step(hit.q, hit.v, given=hit.given)
    if not s.fallback:
        assert s.residual <= max(10 * step.layout.tolerance, 1e-3 * 9.81 * impacts.DT)
        return
    free = ContactStep(replace(hit.scene, contacts=()), impacts.DT)(hit.q, hit.v)
    after = hit.v + impacts.DT * s.acceleration
    unhindered = hit.v + impacts.DT * free.acceleration
    before = kinetic_energy(hit.scene, hit.q, unhindered)
    assert kinetic_energy(hit.scene, hit.q, after) <= before * (1 + 1e-9) + 1e-12


def test_some_of_these_steps_are_those_of_the_convex_problem() -> None:
    taken = []
    for seed in range(40):
        hit = impacts.impact(20_000 + seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StateWarning)
            taken.append(ContactStep(hit.scene, impacts.DT, max_iterations=1)(hit.q, hit.v, given=hit.given).fallback)
    assert sum(taken) >= 10


@pytest.mark.parametrize("most", [1, 5])
@pytest.mark.parametrize("compiled", [False, True], ids=["native", "compiled"])
def test_steps_by_slots_stand_still_where_they_are_far_from_solved(most: int, compiled: bool) -> None:
    """A stack that is dropped while it turns, with too few iterations: nothing runs away, and it is said."""
    robot = lw.zoo.boxes(2)
    q = np.tile(robot.poses["assembled"], (4, 1))
    q[:, 2::7] += 0.02 * np.arange(1, 3)
    v = np.random.default_rng(0).normal(size=(4, robot.nv))
    stepper = lw.Stepper(robot, 5e-3, max_iterations=most).by_slots
    stepper = stepper.compile() if compiled else stepper
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        after = stepper(q, v, steps=100)
    assert np.isfinite(after.q).all()
    assert np.abs(after.v).max() < 20
    assert after.contacts.missed.min() > 0


@pytest.mark.parametrize("most", [1, 5, 30, 200])
def test_a_humanoid_does_not_run_away_whatever_the_iterations(most: int) -> None:
    """From keyframes, legs apart or limbs in each other: no velocity beyond those of a fall in two seconds."""
    mujoco = pytest.importorskip("mujoco")
    file = scene_file("humanoid/humanoid.xml")
    keys = mujoco.MjModel.from_xml_path(str(file)).key_qpos
    q = np.concatenate([keys[:, :3], keys[:, 4:7], keys[:, 3:4], keys[:, 7:]], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = lw.rollouts(lw.load(file), q, seconds=2.0, dt=5e-3, max_iterations=most)
    assert np.isfinite(motion.q).all()
    assert np.abs(motion.v).max() < 2 * 9.81 * 2.0
    assert (motion.contacts.missed[-1] >= motion.contacts.fallback[-1]).all()
    if most == 200:
        assert not motion.contacts.missed[-1].any()
