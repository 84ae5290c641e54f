# SPDX-License-Identifier: BSD-3-Clause
"""Workspaces, conditioning, mechanical advantage and balancing, against closed forms and virtual work."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

FIVE = lw.zoo.five_bar(ground=0.5, crank=0.25, coupler=0.4, angles=(2.0, 1.1))
FOUR = lw.zoo.four_bar()
START = FOUR.poses["assembled"][0]


def test_a_five_bar_reaches_what_its_two_arms_reach() -> None:
    """The tip is where circles about the two elbows meet; it is reached while they do."""
    angles = np.linspace(-1.2, 3.6, 33)
    space = lw.design.workspace(FIVE, "tip", {"A": angles, "E": angles})
    assert 0.3 < space.reached.mean() < 1.0
    assert abs(lw.constraint_error(FIVE, space.q[space.reached])).max() < 1e-9
    assert np.isnan(space.q[~space.reached]).all()
    grid = np.stack(np.meshgrid(angles, angles, indexing="ij"), axis=-1)
    pins = [lw.frame_placement(FIVE, _led(grid), name).position for name in ("left_coupler", "right_coupler")]
    meet = np.linalg.norm(pins[1] - pins[0], axis=-1) < 0.4 + 0.4
    assert not (space.reached & ~meet).any()
    assert (space.reached & meet).sum() >= 0.97 * meet.sum()  # but for what no way through the grid leads to


def _led(grid: np.ndarray) -> np.ndarray:
    """Configurations with both cranks at points of a grid; elbows do not depend on the other joints."""
    q = np.tile(FIVE.poses["assembled"], (*grid.shape[:-1], 1))
    q[..., [FIVE.q_index("A"), FIVE.q_index("E")]] = grid
    return q


def test_conditioning_vanishes_at_dead_centers_of_the_driver() -> None:
    rocker = lw.zoo.four_bar(ground=0.5, crank=0.3, coupler=0.25, rocker=0.4, angle=0.9)
    around = lw.design.circuit(rocker, step=0.05)
    dead = next(x for x in around.dead_centers if x.joint == "A")
    usual = lw.design.conditioning(rocker, around.q, "A", "coupler").drivers
    at_dead = lw.design.conditioning(rocker, dead.q, "A", "coupler").drivers
    assert at_dead < 1e-6 < 1e-2 < np.median(usual)
    arm = lw.zoo.pendulum(2)
    arm = arm.with_frame("hand", arm.body_names[-1], (0.1, 0.2, 0.3))
    both = lw.design.conditioning(arm, np.array([[0.3, 0.0], [0.3, 1.2]]), list(arm.joint_names), "hand")
    assert both.drivers.tolist() == [1.0, 1.0]  # nothing but drivers in a tree


def test_singular_points_of_a_workspace_are_where_couplers_are_in_line() -> None:
    angles = np.linspace(-1.2, 3.6, 49)
    space = lw.design.workspace(FIVE, "tip", {"A": angles, "E": angles})
    near = space.singular(0.1)
    assert 0 < near.sum() < 0.4 * space.reached.sum()
    pins = [
        lw.frame_placement(FIVE, space.q[space.reached], name).position for name in ("left_coupler", "right_coupler")
    ]
    arms = [space.position[space.reached] - pin for pin in pins]
    sine = np.linalg.norm(np.cross(*arms), axis=-1) / np.prod([np.linalg.norm(arm, axis=-1) for arm in arms], axis=0)
    measure = space.conditioning.drivers[space.reached]
    order = np.argsort(sine)
    few = len(order) // 20
    assert measure[order[:few]].max() < np.median(measure)  # nearly in line: badly conditioned


def test_mechanical_advantage_is_the_force_of_virtual_work() -> None:
    """The torque of inverse dynamics that holds a load at the coupler is the load over the mechanical advantage."""
    linkage = FOUR.with_gravity((0, 0, 0)).with_frame("load", "coupler", (0.1, 0, 0.02))
    q = lw.design.circuit(linkage, step=0.3).q[3]
    along = np.array([0.6, 0.0, 0.8])
    advantage = lw.design.mechanical_advantage(linkage, q, "A", "load", along)
    inverse = lw.InverseDynamics(linkage, "rnea", wrenches=["load"])
    R = lw.frame_placement(linkage, q, "load").rotation
    wrench = np.concatenate([np.zeros(3), R.T @ (-7.0 * along)])
    rest = np.zeros(linkage.nv)
    rates = lw.design.rates(linkage, q, "A")[:, 0]
    torque = rates @ inverse(q, rest, rest, wrench[None])  # whichever joints carry it, the power is that of the driver
    assert torque == pytest.approx(7.0 / advantage, rel=1e-10)


def test_counterweights_balance_a_four_bar_in_full() -> None:
    """Berkof and Lowen: two counterweights cancel the shaking force of any four-bar at any speed."""
    driven = FOUR.constrained(lw.Drive("A", lambda t: START + 20 * t + np.sin(5 * t), name="drive"))
    run = lw.simulate(driven, seconds=0.2, dt=1e-3, integrator="rk4")
    found = lw.design.balance(driven, run.q, run.v, run.acceleration, {"crank": 1.0, "rocker": 0.5})
    ground = run.reactions.ground[:, 3:] - driven.mass * driven.gravity
    assert abs(found.before).max() > 10
    np.testing.assert_allclose(found.before, ground, atol=1e-10)  # by Newton and Euler
    assert found.reduction < 1e-13
    again = lw.simulate(found.robot, seconds=0.2, dt=1e-3, integrator="rk4")
    assert abs(again.reactions.ground[:, 3:] - found.robot.mass * driven.gravity).max() < 1e-10
    one = lw.design.balance(driven, run.q, run.v, run.acceleration, {"crank": 1.0})
    assert 0.05 < one.reduction < 0.9


def test_what_cannot_be_meant_is_said() -> None:
    with pytest.raises(lw.errors.InputError, match="drivers have no values"):
        lw.design.workspace(FIVE, "tip", {})
    with pytest.raises(lw.errors.InputError, match="direction is"):
        lw.design.mechanical_advantage(FOUR, FOUR.poses["assembled"], "A", "coupler", (0, 0, 0))
    zero = np.zeros(3)
    with pytest.raises(lw.errors.InputError, match="masses is empty"):
        lw.design.balance(FOUR, zero, zero, zero, {})
    with pytest.raises(lw.errors.UnknownName, match="no body 'crnak'"):
        lw.design.balance(FOUR, zero, zero, zero, {"crnak": 1.0})
