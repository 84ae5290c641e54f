# SPDX-License-Identifier: BSD-3-Clause
"""Tello's transmissions: rows as the sources state them, closed poses, and dynamics by clusters."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.support.gauss import distance
from tests.support.robots import model_file
from tests.support.states import Floats

FILES = {"humanoid": "tello/tello_humanoid.urdf", "legs": "tello/tello_legs.urdf"}
SIZES = {"humanoid": (42, 18, 24), "legs": (20, 10, 10)}
"""Velocities, rows, degrees of freedom."""

pytestmark = pytest.mark.models


@cache
def tello(name: str) -> Mechanism:
    return lw.zoo.tello(lw.load(model_file(FILES[name]), dependent="free"))


def states(robot: Mechanism, count: int = 6) -> tuple[Floats, Floats]:
    """Closed poses about the assembled one, with velocities that keep them closed."""
    at, rng = lw.Minimal(robot), np.random.default_rng(0)
    moved = np.zeros((count, robot.nv))
    moved[:, at.index] = rng.uniform(-0.5, 0.5, (count, at.ny))
    q = at.complete(robot.integrate(robot.poses["assembled"], moved))
    return q, at.velocity(q, rng.normal(size=(count, at.ny)))


@pytest.mark.parametrize("name", FILES)
def test_rows_ranks_and_degrees_of_freedom(name: str) -> None:
    robot, (nv, rows, dof) = tello(name), SIZES[name]
    mobility = robot.mobility(robot.poses["assembled"])
    assert (robot.nv, robot.nc, mobility.rank, mobility.dof) == (nv, rows, rows, dof)
    assert lw.Minimal(robot).ny == dof


@pytest.mark.parametrize("name", FILES)
def test_poses_close(name: str) -> None:
    robot = tello(name)
    assert np.abs(lw.constraint_error(robot, robot.poses["assembled"])).max() < 1e-12
    assert np.abs(lw.constraint_error(robot, states(robot)[0])).max() < 1e-12


def test_the_legs_of_both_files_are_alike() -> None:
    whole, legs = tello("humanoid"), tello("legs")
    for constraint in legs.constraints:
        parts = [robot.row_slice(constraint.name) for robot in (whole, legs)]
        a, b = (lw.constraint_error(r, r.neutral())[at] for r, at in zip((whole, legs), parts, strict=True))
        assert a == pytest.approx(b, abs=1e-15)


# Rows -----------------------------------------------------------------------------------------------------


def hip(q1: float, q2: float, rotor1: float, rotor2: float) -> list[float]:
    """The hip's differential, term by term as the sources state it."""
    rows = []
    for y, s in ((rotor1 / 6, 1), (rotor2 / 6, -1)):
        rows.append(
            57 / 2500 * np.sin(y)
            - 49 / 5000 * np.cos(q1)
            - s * 399 / 20000 * np.sin(q1)
            - 8 / 625 * np.cos(y) * np.cos(q2)
            - 57 / 2500 * np.cos(q1) * np.sin(q2)
            - s * 7 / 625 * np.sin(y) * np.sin(q1)
            + s * 7 / 625 * np.sin(q1) * np.sin(q2)
            - 8 / 625 * np.cos(q1) * np.sin(y) * np.sin(q2)
            + 3021 / 160000
        )
    return rows


def knee_ankle(q1: float, q2: float, rotor1: float, rotor2: float) -> list[float]:
    """The differential of knee and ankle in the same way."""
    y1, y2 = rotor1 / 6, rotor2 / 6
    h = (y1 - y2) / 2
    rod = (
        21 / 6250 * np.cos(h + 1979 * np.pi / 4500)
        - 13 / 625 * np.cos(h + 493 * np.pi / 1500)
        - 273 / 12500 * np.cos(np.pi / 9)
        - 7 / 2500 * np.sin(h + q2 + 231 * np.pi / 500)
        + 91 / 5000 * np.sin(q2 + 2 * np.pi / 15)
        - 147 / 50000 * np.sin(q2 + np.pi / 45)
        + 163349 / 6250000
    )
    return [rod, q1 - (y1 + y2) / 2]


@pytest.mark.parametrize("side", ["left", "right"])
def test_differentials_are_those_of_the_sources(side: str) -> None:
    robot = tello("legs")
    for seed in range(5):
        q = np.random.default_rng(seed).uniform(-1.0, 1.0, robot.nq)
        error = lw.constraint_error(robot, q)
        for name, stated, joints in (
            ("hip", hip, ("hip-clamp-to-gimbal", "gimbal-to-thigh", *(f"hip-clamp-to-hip-rotor-{k}" for k in (1, 2)))),
            (
                "knee-ankle",
                knee_ankle,
                ("thigh-to-shin", "shin-to-foot", *(f"thigh-to-knee-ankle-rotor-{k}" for k in (1, 2))),
            ),
        ):
            found = error[robot.row_slice(f"{side}-{name}-differential")]
            wanted = stated(*(q[robot.q_index(f"{side}-{joint}")] for joint in joints))
            assert found == pytest.approx(wanted, abs=1e-15)


def test_rotors_turn_as_often_as_their_gears_say() -> None:
    robot = tello("humanoid")
    q, v = states(robot, 1)
    for link, rotor, ratio in (
        ("torso-to-left-hip-clamp", "torso-to-left-hip-clamp-rotor", 6),
        ("torso-to-right-hip-clamp", "torso-to-right-hip-clamp-rotor", 6),
        ("left-shoulder-ry-to-shoulder-rx", "left-shoulder-ry-to-shoulder-rx-rotor", 6),
        ("right-shoulder-rz-to-elbow", "right-shoulder-rz-to-elbow-rotor", 9),
    ):
        assert q[0, robot.q_index(rotor)] == pytest.approx(ratio * q[0, robot.q_index(link)], abs=1e-12)
        assert v[0, robot.v_index(rotor)] == pytest.approx(ratio * v[0, robot.v_index(link)], abs=1e-12)


def test_the_jacobian_is_the_derivative_of_the_rows() -> None:
    robot = tello("humanoid")
    q, step = states(robot, 1)[0][0], 1e-6
    J = lw.constraint_jacobian(robot, q)
    for k in range(robot.nv):
        moved = [lw.constraint_error(robot, robot.integrate(q, s * step * np.eye(robot.nv)[k])) for s in (1, -1)]
        assert J[:, k] == pytest.approx((moved[0] - moved[1]) / (2 * step), abs=1e-8)


# Dynamics --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_clusters_find_what_the_dense_oracle_finds(name: str) -> None:
    robot = tello(name)
    q, v = states(robot)
    tau = 10 * np.random.default_rng(1).normal(size=v.shape)
    found, wanted = (lw.ForwardDynamics(robot, method)(q, v, tau) for method in ("cluster", "kkt"))
    assert distance(found.acceleration, wanted.acceleration) < 1e-9


@pytest.mark.parametrize("name", FILES)
def test_inverse_dynamics_by_clusters_undoes_forward_dynamics(name: str) -> None:
    robot = tello(name)
    at = lw.Minimal(robot)
    q, v = states(robot)
    tau = np.zeros(v.shape)
    tau[:, at.index] = 10 * np.random.default_rng(2).normal(size=(len(v), at.ny))
    a = lw.ForwardDynamics(robot, "cluster")(q, v, tau).acceleration
    assert distance(lw.InverseDynamics(robot, "cluster")(q, v, a), tau) < 1e-10


def test_motors_move_every_joint_of_the_legs() -> None:
    robot = tello("legs")
    actuation = robot.actuation(robot.poses["assembled"])
    assert len(actuation.motors) == len(actuation.joints) == 10
    assert all("rotor" in name for name in actuation.motors)
    torque = np.arange(10.0)
    assert actuation.motor_torque(actuation.joint_torque(torque)) == pytest.approx(torque, abs=1e-9)


# Wrong robots ------------------------------------------------------------------------------------------------


def test_a_robot_without_rotors_is_refused() -> None:
    tree = lw.load(model_file("tello/tello_humanoid_approximate.urdf"))
    with pytest.raises(lw.errors.ModelError, match=r"no body 'left-hip-clamp-rotor'.*dependent='free'"):
        lw.zoo.tello(tree)


def test_another_robot_is_refused() -> None:
    with pytest.raises(lw.errors.ModelError, match="it is no Tello"):
        lw.zoo.tello(lw.zoo.geared_chain(2))


def test_transmissions_come_once() -> None:
    with pytest.raises(lw.errors.ModelError, match="two constraints are called 'left-hip-clamp'"):
        lw.zoo.tello(tello("legs"))


def test_other_poses_are_kept() -> None:
    plain = lw.load(model_file(FILES["legs"]), dependent="free")
    named = replace(plain, poses={"zero": plain.neutral()})
    assert set(lw.zoo.tello(named).poses) == {"zero", "assembled"}
    assert not lw.load(model_file(FILES["legs"]), dependent="free").constraints
