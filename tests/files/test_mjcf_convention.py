# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo's vectors and ours: the same motions, the same power, back and forth."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from linkwork.parsing.mjcf.convention import MujocoMap, mujoco_map
from tests.support.mjcf_texts import body, chain, model
from tests.support.mujoco_twin import MujocoTwin, mujoco
from tests.support.states import assert_close, random_state

TEXT = model(
    chain("<freejoint/>", '<joint ref="0.3" armature="0.1"/><joint type="ball"/>', '<joint type="slide"/>')
    + body('<joint type="ball" pos="0.1 0 0"/>')
    + body("<freejoint/>")
)


@pytest.fixture(scope="module")
def robot() -> Mechanism:
    return lw.loads(TEXT, "mjcf")


@pytest.fixture(scope="module")
def convert(robot: Mechanism) -> MujocoMap:
    return mujoco_map(robot)


def test_every_conversion_can_be_undone_for_batches(robot: Mechanism, convert: MujocoMap) -> None:
    q, v, a, tau = random_state(robot, 1, 2, 3)
    np.testing.assert_array_equal(convert.from_qpos(convert.to_qpos(q)), q)
    np.testing.assert_allclose(convert.from_qvel(q, convert.to_qvel(q, v)), v, atol=1e-14)
    np.testing.assert_allclose(convert.from_qacc(q, v, convert.to_qacc(q, v, a)), a, atol=1e-14)
    np.testing.assert_allclose(convert.from_qfrc(q, convert.to_qfrc(q, tau)), tau, atol=1e-14)
    np.testing.assert_allclose((convert.velocity_matrix(q) @ v[..., None])[..., 0], convert.to_qvel(q, v), atol=1e-14)


def test_each_of_a_batch_is_converted_alone(robot: Mechanism, convert: MujocoMap) -> None:
    q, v, a, _ = random_state(robot, 2, 4)
    for k in range(4):
        np.testing.assert_array_equal(convert.to_qacc(q, v, a)[k], convert.to_qacc(q[k], v[k], a[k]))
    np.testing.assert_array_equal(convert.to_qvel(q[0], v)[2], convert.to_qvel(q[0], v[2]))


def test_velocities_move_both_alike(robot: Mechanism, convert: MujocoMap) -> None:
    """Over 1e-6 s the two ways to integrate differ by its square."""
    q, v, _, _ = random_state(robot, 3)
    step = 1e-6
    theirs = convert.to_qpos(q)
    mujoco.mj_integratePos(MujocoTwin(robot, TEXT).model, theirs, convert.to_qvel(q, v), step)
    np.testing.assert_allclose(convert.to_qpos(robot.integrate(q, step * v)), theirs, atol=1e-11)


def test_accelerations_are_the_rates_of_velocities(robot: Mechanism, convert: MujocoMap) -> None:
    q, v, a, _ = random_state(robot, 4)
    step = 1e-5
    ahead, behind = (convert.to_qvel(robot.integrate(q, h * v), v + h * a) for h in (step, -step))
    np.testing.assert_allclose(convert.to_qacc(q, v, a), (ahead - behind) / (2 * step), atol=1e-8)


def test_accelerations_under_forces_are_mujocos(robot: Mechanism) -> None:
    q, v, _, tau = random_state(robot, 8)
    ours = lw.ForwardDynamics(robot)(q, v, tau).acceleration
    assert_close(ours, MujocoTwin(robot, TEXT).forward_dynamics(q, v, tau), 1e-10)


def test_power_is_the_same(robot: Mechanism, convert: MujocoMap) -> None:
    q, v, _, tau = random_state(robot, 5)
    assert convert.to_qfrc(q, tau) @ convert.to_qvel(q, v) == pytest.approx(tau @ v, rel=1e-13)


def test_a_quaternion_of_any_length_is_a_direction(robot: Mechanism, convert: MujocoMap) -> None:
    q, v, _, _ = random_state(robot, 6)
    longer = q.copy()
    longer[3:7] *= 7
    np.testing.assert_allclose(convert.to_qvel(longer, v), convert.to_qvel(q, v), atol=1e-14)


def test_wrong_arguments_are_errors(robot: Mechanism, convert: MujocoMap) -> None:
    q, v, _, _ = random_state(robot, 7)
    with pytest.raises(InputError, match="qpos has shape"):
        convert.from_qpos(q[:-1])
    with pytest.raises(InputError, match="do not broadcast"):
        convert.to_qvel([q, q], [v, v, v])
    with pytest.raises(InputError, match="zero length"):
        convert.to_qvel(np.zeros(robot.nq), v)


def test_a_joint_that_mujoco_does_not_have_is_an_error() -> None:
    build = lw.Builder().body("a", lw.Inertia.sphere(1.0, 0.1)).joint("j", lw.joints.Planar("z"), "world", "a")
    with pytest.raises(InputError, match="'j' is planar"):
        mujoco_map(build.build())
