# SPDX-License-Identifier: BSD-3-Clause
"""Radau IIA: its order, stiff dampers and springs, loops, dead centers."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import InputError, UnsupportedFeature
from tests.support.benchmark_mechanisms import n_four_bar, n_four_bar_state


def chain() -> tuple[lw.Mechanism, np.ndarray, np.ndarray]:
    """Three rods on a hinge, a ball and a hinge, and a state in which they whirl."""
    build, parent = lw.Builder("chain"), "world"
    for k, joint in enumerate((lw.joints.Revolute("y"), lw.joints.Spherical(), lw.joints.Revolute("y"))):
        build.body(f"rod{k}", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -1.0)))
        build.joint(f"joint{k}", joint, parent, f"rod{k}", at=(0, 0, -1.0 * (k > 0)))
        parent = f"rod{k}"
    robot = build.build()
    q = robot.neutral()
    q[0] = 1.0
    return robot, q, np.array([0.3, 0.5, -1.0, 2.0, 0.7])


def damped(damping: float) -> lw.Mechanism:
    """A mass of 1 kg between a spring and a damper."""
    build = lw.Builder("damped", gravity=(0, 0, 0))
    build.body("mass", lw.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3)))
    build.joint("x", lw.joints.Prismatic("x"), "world", "mass", stiffness=100.0, damping=damping)
    return build.build()


def test_steps_are_of_fifth_order() -> None:
    """On the rotation group, too: halving the step takes the error at the end to a thirtieth or less."""
    robot, q, v = chain()
    fine = lw.simulate(robot, q, v, seconds=0.2, dt=1e-4, integrator="rk4", record_every=2000)
    errors = []
    for dt in (0.02, 0.01):
        run = lw.simulate(robot, q, v, seconds=0.2, dt=dt, integrator="radau", accuracy=1e-3)
        errors.append(np.abs(run.q[-1] - fine.q[-1]).max())
    assert errors[0] / errors[1] >= 28 and errors[1] <= 2e-7


def test_error_control_keeps_the_energy() -> None:
    robot, q, v = chain()
    drift = []
    for accuracy in (1e-5, 1e-8):
        run = lw.simulate(robot, q, v, seconds=1, dt=0.5, integrator="radau", accuracy=accuracy)
        drift.append(np.ptp(run.energy["total"]))
    assert drift[1] <= 1e-7 and drift[1] <= 1e-2 * drift[0]


def test_a_stiff_damper_needs_no_short_steps() -> None:
    """A pole at -1e6 1/s and one at -1e-4 1/s: steps of 50 ms, exact solution; rk4 ends early and says so."""
    damping = 1e6
    robot = damped(damping)
    run = lw.simulate(robot, [0.1], seconds=1.0, dt=0.05, integrator="radau")
    root = np.sqrt(damping**2 - 400)
    slow, fast = -200 / (damping + root), -(damping + root) / 2
    exact = 0.1 * (slow * np.exp(fast * run.times) - fast * np.exp(slow * run.times)) / (slow - fast)
    assert np.abs(run.q[:, 0] - exact).max() <= 1e-8
    with pytest.warns(lw.errors.SimulationWarning, match="ended early"):
        explicit = lw.simulate(robot, [0.1], [0.1], seconds=1.0, dt=0.05, integrator="rk4")
    assert explicit.ended


def test_loops_are_closed_to_rounding() -> None:
    robot = lw.zoo.four_bar()
    q = robot.poses["assembled"]
    v = robot.project_velocity(q, [2.0, 0, 0])
    run = lw.simulate(robot, q, v, seconds=1, dt=0.05, integrator="radau")
    fine = lw.simulate(robot, q, v, seconds=1, dt=1e-4, integrator="rk4", method="minimal", record_every=1000)
    assert run.errors.max() <= 1e-11
    assert np.ptp(run.energy["total"]) <= 1e-8
    np.testing.assert_allclose(run.q[-1], fine.q[-1], rtol=0, atol=1e-8)


def test_dead_centers_are_passed() -> None:
    """Two four-bars whose links lie on one line twice: the exact motion of the equal pendulum."""
    robot, (q, v) = n_four_bar(2), n_four_bar_state(2, np.pi / 2, -1.0)
    run = lw.simulate(robot, q, v, seconds=1.5, dt=0.02, integrator="radau", limits=False)
    fine = lw.simulate(robot, q, v, seconds=1.5, dt=1e-3, integrator="rk4", record_every=1500, limits=False)
    assert run.ended == ""
    np.testing.assert_allclose(run.joint_position("pivot0")[-1], fine.joint_position("pivot0")[-1], rtol=0, atol=1e-6)


def test_events_end_implicit_runs() -> None:
    robot = damped(100.0)
    run = lw.simulate(robot, [0.1], seconds=1.0, dt=0.05, integrator="radau", until=lambda t, q, v: q[0] - 0.09)
    assert abs(run.q[-1, 0] - 0.09) <= 1e-9


def test_what_radau_does_not_have_is_refused() -> None:
    robot, q, v = chain()
    with pytest.raises(InputError, match="'radau' needs method 'auto'"):
        lw.simulate(lw.zoo.four_bar(), seconds=0.1, integrator="radau", method="minimal")
    with pytest.raises(InputError, match="steps of adaptive length"):
        lw.rollouts(robot, q[None], v[None], seconds=0.1, integrator="radau")
    driven = lw.zoo.four_bar()
    start = driven.poses["assembled"][0]
    driven = driven.constrained(lw.Drive(driven.joint_names[0], lambda t: start + t))
    with pytest.raises(UnsupportedFeature, match="steps by 'radau' have no clock"):
        lw.simulate(driven, seconds=0.1, integrator="radau")
