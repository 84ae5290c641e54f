# SPDX-License-Identifier: BSD-3-Clause
"""Robots of other sizes that move alike: gravity stays, and time goes with the root of lengths."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism.scaling import Scaling
from tests.support.states import assert_close


@pytest.mark.parametrize("robot", [lw.zoo.four_bar(), lw.zoo.humanoid()], ids=lambda robot: robot.name)
def test_a_smaller_robot_moves_alike(robot: lw.Mechanism) -> None:
    small = robot.scaled(length=0.25, mass=0.1)
    by = Scaling(robot, 0.25, 0.1, 0.5)
    assert_close(small.gravity, robot.gravity, 1e-15)
    assert small.mass == pytest.approx(0.1 * robot.mass)
    q = robot.assemble() if robot.nc else robot.normalize(robot.random(0))
    v, tau = np.random.default_rng(0).normal(size=(2, robot.nv))
    ours = lw.ForwardDynamics(small)(by.q(q), by.v(v), by.tau(tau)).acceleration
    assert_close(ours, by.a(lw.ForwardDynamics(robot)(q, v, tau).acceleration), 1e-11)


def test_contacts_stay_where_they_touch() -> None:
    robot = lw.zoo.boxes(2)
    small = robot.scaled(length=0.1, mass=0.001)
    by = Scaling(robot, 0.1, 0.001, 0.1**0.5)
    q, v = robot.poses["assembled"], np.zeros(robot.nv)
    ours = lw.Stepper(small, dt=1e-3 * by.time)(by.q(q), by.v(v), steps=20)
    whole = lw.Stepper(robot, dt=1e-3)(q, v, steps=20)
    assert_close(ours.q, by.q(whole.q), 1e-7, scale=0.1)


def test_factors_are_above_zero() -> None:
    with pytest.raises(lw.errors.InputError, match="mass"):
        lw.zoo.four_bar().scaled(mass=-1.0)
