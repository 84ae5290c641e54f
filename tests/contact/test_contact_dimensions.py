# SPDX-License-Identifier: BSD-3-Clause
"""Friction against spinning and rolling, moving surfaces, adhesion and margins, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

G = 9.81
GROUND = lw.contact.ContactShape("ground", "world", lw.shapes.Ground())
BALL = lw.contact.ContactShape("ball", "body", lw.shapes.Sphere(0.1))
CUBE = lw.contact.ContactShape("cube", "body", lw.shapes.Box((0.2, 0.2, 0.2)))


def body(first: lw.contact.ContactShape, second: lw.contact.ContactShape, **numbers: Any) -> lw.Mechanism:
    """A free body of 2 kg that touches one shape."""
    build = lw.Builder("body").body("body", lw.Inertia(2.0, rotational=0.03 * np.eye(3)))
    robot = build.joint("free", lw.joints.Free(), "world", "body").build()
    return robot.with_contacts(lw.contact.ContactPair(first, second, "pair", **numbers))


def at(robot: lw.Mechanism, z: float) -> Any:
    q = robot.neutral()
    q[2] = z
    return q


def test_friction_against_spinning_slows_a_ball_down_and_stops_it() -> None:
    """The torque is the coefficient times the weight; at rest there is none."""
    robot, v = body(GROUND, BALL, friction=0.5, torsional_friction=0.004), np.zeros(6)
    v[5] = 1.0
    run = lw.simulate(robot, at(robot, 0.1), v, seconds=0.5)
    alpha = 0.004 * 2.0 * G / 0.03
    np.testing.assert_allclose(run.v[:301, 5], np.maximum(1.0 - alpha * 1e-3 * np.arange(301), 0.0), atol=1e-9)
    np.testing.assert_allclose(run.v[400:], 0.0, atol=1e-9)


def test_friction_against_rolling_and_sliding_share_one_cone() -> None:
    """A ball on a fixed axle slides and rolls at once, in a fixed ratio: its torque is ``N |(mu r, mu_r)|``."""
    build = lw.Builder("axle").body("slide", lw.Inertia.zero())
    build.body("body", lw.Inertia(2.0, rotational=0.03 * np.eye(3)))
    build.joint("height", lw.joints.Prismatic("z"), "world", "slide")
    build.joint("axle", lw.joints.Revolute("y"), "slide", "body")
    pair = lw.contact.ContactPair(GROUND, BALL, friction=0.2, rolling_friction=0.015)
    robot = build.build().with_contacts(pair)
    run = lw.simulate(robot, [0.1, 0.0], [0.0, 20.0], seconds=0.2)
    alpha = 2.0 * G * np.hypot(0.2 * 0.1, 0.015) / 0.03
    np.testing.assert_allclose(run.v[:, 1], 20.0 - alpha * 1e-3 * np.arange(201), atol=1e-8)


def test_a_conveyor_takes_a_box_along() -> None:
    """It is accelerated by ``mu g``, and then as fast as the belt."""
    belt = lw.contact.ContactShape("belt", "world", lw.shapes.Box((4, 1, 0.1)), surface_velocity=(0.5, 0, 0))
    robot = body(belt, CUBE, friction=0.3)
    run = lw.simulate(robot, at(robot, 0.15), seconds=0.4)
    np.testing.assert_allclose(run.v[:170, 0], 0.3 * G * 1e-3 * np.arange(170), atol=1e-8)
    np.testing.assert_allclose(run.v[-1], [0.5, 0, 0, 0, 0, 0], atol=1e-8)


def test_a_turntable_spins_a_ball_by_friction_against_spinning() -> None:
    table = lw.contact.ContactShape("table", "world", lw.shapes.Ground(), surface_angular_velocity=(0, 0, 2.0))
    robot = body(table, BALL, torsional_friction=0.02)
    run = lw.simulate(robot, at(robot, 0.1), seconds=0.5)
    alpha = 0.02 * 2.0 * G / 0.03
    np.testing.assert_allclose(run.v[:150, 5], alpha * 1e-3 * np.arange(150), atol=1e-8)
    np.testing.assert_allclose(run.v[-1], [0, 0, 0, 0, 0, 2.0], atol=1e-8)


@pytest.mark.parametrize(("adhesion", "holds"), [(0.99, False), (1.01, True)])
def test_adhesion_holds_a_body_up_to_its_force(adhesion: float, holds: bool) -> None:
    """At a ceiling, by four contact points; reported forces are those that act."""
    above = lw.contact.ContactShape("ceiling", "world", lw.shapes.Box((2, 2, 0.1)), lw.Placement((0, 0, 0.15)))
    robot = body(above, CUBE, adhesion=adhesion * 2.0 * G / 4)
    run = lw.simulate(robot, robot.neutral(), seconds=0.1)
    assert bool(abs(run.q[-1, 2]) < 1e-9) is holds
    total = run.contacts["pair"].forces[-1, :, 2].sum()
    assert total == pytest.approx(-2.0 * G if holds else 0.0, abs=1e-6)


def test_adhesion_at_a_distance_is_a_force() -> None:
    above = lw.contact.ContactShape("ceiling", "world", lw.shapes.Box((2, 2, 0.1)), lw.Placement((0, 0, 0.15)))
    robot = body(above, CUBE, adhesion=8.0, gap=0.5)
    run = lw.simulate(robot, at(robot, -0.3), seconds=0.1)
    assert run.v[-1, 2] == pytest.approx(0.1 * (4 * 8.0 / 2.0 - G), abs=1e-9)


def test_adhesion_adds_to_the_bound_of_friction() -> None:
    """A cube that slides on the ground: ``mu (m g + F)``."""
    robot, v = body(GROUND, CUBE, friction=0.2, adhesion=5.0), np.zeros(6)
    v[0] = 1.0
    run = lw.simulate(robot, at(robot, 0.1), v, seconds=0.1)
    assert run.v[-1, 0] == pytest.approx(1.0 - 0.1 * 0.2 * (2.0 * G + 4 * 5.0) / 2.0, abs=1e-8)


@pytest.mark.parametrize("other", [GROUND, lw.contact.ContactShape("still", "world", lw.shapes.Sphere(0.1))])
def test_margins_are_seen_at_a_distance(other: lw.contact.ContactShape) -> None:
    """Shapes count as touching at their margin, however far their surfaces are apart."""
    robot = body(other, BALL, margin=0.5)
    height = 0.6 if other is GROUND else 0.7
    run = lw.simulate(robot, at(robot, height), seconds=0.1)
    np.testing.assert_allclose(run.q[-1, 2], height, atol=1e-8)
