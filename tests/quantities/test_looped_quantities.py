# SPDX-License-Identifier: BSD-3-Clause
"""Quantities of mechanisms with loops along motions that keep the loops closed, against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from tests.support.states import Floats, assert_close

DERIVATIVE = 1e-7
"""Truncation of fourth order in steps of 5e-4, and over them what loops may be open by, 1e-12."""
STEP = 5e-4
MECHANISMS = (lw.zoo.four_bar, lw.zoo.stewart, lw.zoo.delta, lw.zoo.quadruped_standing)


def closed(robot: Any, q: Floats) -> Floats:
    """The nearest closed configuration, by Gauss and Newton: a smooth function of q, where `assemble` has restarts."""
    for _ in range(6):
        step = np.linalg.pinv(lw.derivatives.constraint_error_jacobian(robot, q), 1e-9) @ lw.constraint_error(robot, q)
        q = robot.integrate(q, -step)
    assert float(np.abs(lw.constraint_error(robot, q)).max()) < 1e-12
    return q


@pytest.mark.parametrize("make", MECHANISMS)
def test_rates_are_those_along_closed_motions(make: Callable[[], Any]) -> None:
    robot = make()
    q, v = robot.random_states(1)
    poses = [closed(robot, robot.integrate(q, k * STEP * v)) for k in (-2, -1, 1, 2)]

    def along(f: Callable[[Floats], Any]) -> Floats:
        far_back, back, ahead, far_ahead = (np.asarray(f(pose)) for pose in poses)
        return np.asarray((8 * (ahead - back) - (far_ahead - far_back)) / (12 * STEP))

    body, point = robot.body_names[-1], np.array([0.1, -0.2, 0.3])
    M, C = lw.mass_matrix(robot, q), lw.coriolis_matrix(robot, q, v)
    scale = float(np.abs(M).max())
    t = robot.terms(q, v, body)
    assert_close(along(lambda x: lw.mass_matrix(robot, x)), C + C.T, DERIVATIVE, scale)
    assert_close(along(lambda x: lw.energy(robot, x, v).potential), t.gravity_forces @ v, DERIVATIVE, scale)
    assert_close(along(lambda x: lw.center_of_mass(robot, x)), t.center_of_mass_velocity, DERIVATIVE, 1.0)
    inverse = lw.inverse_mass_matrix(robot, q)
    size = float(np.abs(inverse).max())
    rate = along(lambda x: lw.inverse_mass_matrix(robot, x))
    assert_close(rate, -inverse @ (C + C.T) @ inverse, DERIVATIVE, size * size * scale)
    pairs: list[tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = [
        (lw.center_of_mass_jacobian, lw.center_of_mass_jacobian_rate, ()),
        (lw.kinematics.subtree_center_of_mass_jacobian, lw.kinematics.subtree_center_of_mass_jacobian_rate, (body,)),
        (lw.centroidal_momentum_matrix, lw.centroidal_momentum_matrix_rate, ()),
        (lw.kinematics.point_jacobian, lw.kinematics.point_jacobian_rate, (body, point)),
        *((lw.frame_jacobian, lw.frame_jacobian_rate, (body, axes)) for axes in ("local", "aligned", "world")),
    ]
    for matrix, its_rate, options in pairs:
        here = np.abs(matrix(robot, q, *options)).max()
        expected = along(lambda x, f=matrix, o=options: f(robot, x, *o))  # type: ignore[misc]
        assert_close(its_rate(robot, q, v, *options), expected, DERIVATIVE, float(here))
    moved = along(lambda x: lw.kinematics.point_position(robot, x, body, point))
    assert_close(lw.kinematics.point_velocity(robot, q, v, body, point), moved, DERIVATIVE, 1.0)
