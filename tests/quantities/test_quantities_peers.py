# SPDX-License-Identifier: BSD-3-Clause
"""Quantities beyond the equation of motion as Pinocchio and MuJoCo have them, on real robots and random mechanisms.

What is looked at elsewhere: torques, accelerations, energies and frames in `test_agreement_pinocchio`, terms and
configurations in `test_terms`, derivatives in `test_derivatives_pinocchio`, mechanisms with loops in
`test_looped_quantities`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import linkwork as lw
from linkwork import zoo
from linkwork.mechanism import Mechanism
from tests.support import twins
from tests.support.mujoco_written import WrittenTwin, mujoco
from tests.support.robots import ROBOTS
from tests.support.states import Floats, State, random_state
from tests.support.twins import Twin, pin

AGREEMENT = 1e-10
"""Relative to the largest number of a result, or of what it is the rate of."""
SEEDS = range(0, 200, 8)
"""Of 200 mechanisms, of which all were compared once."""
BLOCK = 5

Compared = tuple[str, Any, Any, float]
"""What, ours, theirs, and the least size of a number that counts."""


def middle(robot: Mechanism) -> Any:
    return robot.joints[len(robot.joints) // 2]


def points_of(count: int, seed: int) -> Floats:
    return np.random.default_rng([seed, 3]).normal(size=(count, 3))


def turning_axes(robot: Mechanism) -> bool:
    """Whether a joint's axes turn with its own angles: Pinocchio 4.1 leaves that out of rates."""
    return any(isinstance(joint.type, lw.joints.Universal) for joint in robot.joints)


# Pinocchio ------------------------------------------------------------------------------------------------


def with_pinocchio(twin: Twin, seed: int) -> Iterator[Compared]:
    robot, s = twin.robot, random_state(twin.robot, seed)
    M, branch = lw.mass_matrix(robot, s.q), middle(robot)
    # as far as the condition of M lets both know it
    yield "inverse mass matrix", lw.inverse_mass_matrix(robot, s.q), twin.inverse_mass_matrix(s), 1e-5 * cond_size(M)
    yield "center-of-mass Jacobian", lw.center_of_mass_jacobian(robot, s.q), twin.center_of_mass_jacobian(s), 0.0
    A = lw.centroidal_momentum_matrix(robot, s.q)
    yield "momentum matrix", A, twin.momentum_matrix(s), 0.0
    body = branch.child
    yield "subtree", lw.kinematics.subtree_center_of_mass(robot, s.q, body), twin.subtree_center(s, branch.name), 1.0
    J = twin.subtree_jacobian(s, branch.name)
    yield "subtree Jacobian", lw.kinematics.subtree_center_of_mass_jacobian(robot, s.q, body), J, 0.0
    C = lw.coriolis_matrix(robot, s.q, s.v)
    if not turning_axes(robot):
        yield "Coriolis matrix", C, twin.coriolis_matrix(s), size(M)
        rate = lw.centroidal_momentum_matrix_rate(robot, s.q, s.v)
        yield "momentum matrix rate", rate, twin.momentum_matrix_rate(s), size(A)
        rate = lw.center_of_mass_jacobian_rate(robot, s.q, s.v)
        yield "center-of-mass Jacobian rate", rate, twin.center_of_mass_jacobian_rate(s), 1.0
    yield from frames_with_pinocchio(twin, s, seed)
    yield from configurations_with_pinocchio(twin, s, seed)


def frames_with_pinocchio(twin: Twin, s: State, seed: int) -> Iterator[Compared]:
    robot, names = twin.robot, tuple(twin.frames)
    points = points_of(len(names), seed)
    arms = twin.arms(s, points)
    J = twin.frame_jacobian(s, "aligned")
    moved = np.array([linear(x, arm) for x, arm in zip(J, arms, strict=True)])
    of_points = lw.Evaluator(robot, "point_jacobian", names)(s.q, points)
    yield "point Jacobian", of_points, moved, 0.0
    found = np.array([lw.kinematics.point_position(robot, s.q, f, x) for f, x in zip(names, points, strict=True)])
    yield "point", found, twin.position(s) + arms, 0.0
    velocity = lw.Evaluator(robot, "point_velocity", names)(s.q, s.v, points)
    yield "point velocity", velocity, moved @ s.v, 1.0
    if not turning_axes(robot):
        for axes in ("local", "aligned", "world"):
            rate = lw.frame_jacobian_rate(robot, s.q, s.v, names, axes)  # type: ignore[arg-type]
            yield f"frame Jacobian rate, {axes}", rate, twin.frame_jacobian_rate(s, axes), size(J)
        rates = zip(twin.frame_jacobian_rate(s, "aligned"), J, arms, strict=True)
        expected = np.array([linear(x, arm) + linear(y, np.cross(y[:3] @ s.v, arm), 0.0) for x, y, arm in rates])
        rate = lw.Evaluator(robot, "point_jacobian_rate", names)(s.q, s.v, points)
        yield "point Jacobian rate", rate, expected, size(J)
        acceleration = lw.Evaluator(robot, "point_acceleration", names)(s.q, s.v, s.a, points)
        yield "point acceleration", acceleration, moved @ s.a + expected @ s.v, 1.0


def configurations_with_pinocchio(twin: Twin, s: State, seed: int) -> Iterator[Compared]:
    robot, model, q = twin.robot, twin.model, twin._q(s)
    moved = lw.Evaluator(robot, "integrate")(s.q, s.v)
    theirs = pin.integrate(model, q, twin._there(s.v))
    yield "integrate", pin.difference(model, theirs, twin._q(State(moved, s.v, s.v, s.v))), np.zeros(model.nv), 1.0
    if model.nq != robot.nq:  # continuous joints: Pinocchio's turn the shorter way round
        return
    p = random_state(robot, seed + 1).q
    there = twin._q(State(p, s.v, s.v, s.v))
    difference = lw.Evaluator(robot, "difference")(s.q, p)
    yield "difference", difference, np.array(pin.difference(model, q, there))[twin.perm], 0.0
    yield "distance", lw.Evaluator(robot, "distance")(s.q, p), [pin.distance(model, q, there)], 0.0
    between = lw.Evaluator(robot, "interpolate")(s.q, p, [0.3])
    theirs = pin.interpolate(model, q, there, 0.3)
    yield "interpolate", pin.difference(model, theirs, twin._q(State(between, s.v, s.v, s.v))), np.zeros(model.nv), 1.0


def linear(J: Floats, arm: Floats, share: float = 1.0) -> Floats:
    """Rows of the linear velocity at the end of an arm, ``[angular; linear]`` being those at its start."""
    return np.array(share * J[3:] + np.cross(J[:3].T, arm).T)


def size(x: Floats) -> float:
    return float(np.abs(x).max(initial=0.0))


def cond_size(M: Floats) -> float:
    """Largest number of ``M^-1`` times the condition number."""
    return size(np.linalg.inv(M)) * float(np.linalg.cond(M))


# MuJoCo ----------------------------------------------------------------------------------------------------


def with_mujoco(robot: Mechanism, seed: int) -> Iterator[Compared]:
    s = random_state(robot, seed)
    twin, branch = WrittenTwin(robot, s), middle(robot)
    t, M = lw.terms(robot, s.q, s.v), twin.mass_matrix()
    yield "mass matrix", t.mass_matrix, M, 0.0
    yield "inverse mass matrix", lw.inverse_mass_matrix(robot, s.q), twin.inverse_mass_matrix(), 1e-5 * cond_size(M)
    yield "energies", np.array([t.energy.potential, t.energy.kinetic]), twin.energies(), 1.0
    J = twin.center_of_mass_jacobian()
    yield "center-of-mass Jacobian", lw.center_of_mass_jacobian(robot, s.q), J, 0.0
    rate = lw.center_of_mass_jacobian_rate(robot, s.q, s.v)
    yield "center-of-mass Jacobian rate", rate, twin.center_of_mass_jacobian_rate(), 1.0
    body = branch.child
    yield "subtree", lw.kinematics.subtree_center_of_mass(robot, s.q, body), twin.subtree_center(body), 1.0
    yield (
        "subtree Jacobian",
        lw.kinematics.subtree_center_of_mass_jacobian(robot, s.q, body),
        twin.subtree_jacobian(body),
        0.0,
    )
    if sum(joint.parent == "world" for joint in robot.joints) == 1:
        A = lw.centroidal_momentum_matrix(robot, s.q)
        yield "momentum matrix", A[:3], twin.angular_momentum_matrix(robot.joints[0].child), size(A)
    (point,) = points_of(1, seed)
    place = twin.place(body, point)
    yield "point", lw.kinematics.point_position(robot, s.q, body, point), place, 1.0
    linear_rows, _ = twin.jacobian_at(body, place)
    yield "point Jacobian", lw.kinematics.point_jacobian(robot, s.q, body, point), linear_rows, 1.0
    yield "point velocity", lw.kinematics.point_velocity(robot, s.q, s.v, body, point), linear_rows @ s.v, 1.0
    rate, _ = twin.rate_at(body, place)
    yield "point Jacobian rate", lw.kinematics.point_jacobian_rate(robot, s.q, s.v, body, point), rate, 1.0
    linear_rate, angular_rate = twin.rate_at(body, twin.place(body, np.zeros(3)))
    found = lw.frame_jacobian_rate(robot, s.q, s.v, body, "aligned")
    yield "frame Jacobian rate, aligned", found, np.concatenate([angular_rate, linear_rate]), 1.0


def rigid_tree(seed: int) -> Mechanism:
    """Of joints that MuJoCo has inside a tree."""
    return zoo.random_tree(seed, bodies=1 + seed % 12, kinds="rps", armature=seed % 2 == 1)


# Both ------------------------------------------------------------------------------------------------------


def check(compared: Iterator[Compared]) -> None:
    wrong = []
    for name, ours, theirs, least in compared:
        a, b = np.asarray(ours), np.asarray(theirs)
        assert a.shape == b.shape, name
        if not np.abs(a - b).max(initial=0.0) <= AGREEMENT * max(size(b), least):
            wrong.append(f"{name}: {np.abs(a - b).max() / max(size(b), least):.1e}")
    assert not wrong


@pytest.mark.parametrize("name", ROBOTS)
def test_real_robots_agree_with_pinocchio(name: str) -> None:
    check(with_pinocchio(twins.of_robot(name), 0))


@pytest.mark.parametrize("name", ROBOTS)
def test_real_robots_agree_with_mujoco(name: str) -> None:
    check(with_mujoco(twins.of_robot(name).robot, 0))


@pytest.mark.parametrize("peer", ["pinocchio", "mujoco"])
@pytest.mark.parametrize("first", range(0, len(SEEDS), BLOCK))
def test_random_mechanisms_agree(first: int, peer: str) -> None:
    compare: dict[str, Callable[[int], Iterator[Compared]]] = {
        "pinocchio": lambda seed: with_pinocchio(twins.of_random_tree(seed), seed),
        "mujoco": lambda seed: with_mujoco(rigid_tree(seed), seed),
    }
    for seed in SEEDS[first : first + BLOCK]:
        try:
            check(compare[peer](seed))
        except AssertionError as wrong:
            raise AssertionError(f"seed {seed}: {wrong}") from wrong


def test_mujoco_moves_configurations_as_we_do() -> None:
    """Of joints other than free ones, which MuJoCo moves along straight lines."""
    for seed in range(0, 24, 3):
        robot = rigid_tree(seed)
        s, p = random_state(robot, seed), random_state(robot, seed + 1).q
        here, there = WrittenTwin(robot, s), WrittenTwin(robot, State(p, s.v, s.a, s.tau))
        found = np.zeros(robot.nv)
        mujoco.mj_differentiatePos(here.model, found, 1.0, here.data.qpos, there.data.qpos)
        difference = lw.Evaluator(robot, "difference")(s.q, p)
        assert np.abs(here.T @ difference - found).max() <= AGREEMENT * max(size(found), 1.0)
        moved = here.data.qpos.copy()
        mujoco.mj_integratePos(here.model, moved, here.T @ s.v, 1.0)
        q1 = lw.Evaluator(robot, "integrate")(s.q, s.v)
        mujoco.mj_differentiatePos(here.model, found, 1.0, moved, WrittenTwin(robot, s._replace(q=q1)).data.qpos)
        assert size(found) <= AGREEMENT
