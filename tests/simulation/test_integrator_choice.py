# SPDX-License-Identifier: BSD-3-Clause
"""Integrators that `simulate` chooses by default, by what the robot is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import SimulationWarning
from tests.support.robots import model_file


def sprung_cart(stiffness: float, damping: float) -> lw.Mechanism:
    """A cart of 1 kg on a spring and a damper to the world."""
    build = lw.Builder("cart", gravity=(0, 0, 0))
    build.body("cart", lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    build.joint("slide", lw.joints.Prismatic("x"), "world", "cart", at=(1, 0, 0))
    spring = lw.SpringDamper(("world", (0, 0, 0)), ("cart", (0, 0, 0)), stiffness, damping, free_length=0.9)
    return build.build().with_forces(spring)


def damped_four_bar(damping: float) -> lw.Mechanism:
    robot = lw.zoo.four_bar()
    return robot.with_parameters(damping=[damping, *robot.damping[1:]])


ROBOTS: dict[str, tuple[Any, str]] = {
    "tree": (lambda: lw.zoo.pendulum(3), "euler"),
    "loops": (lw.zoo.four_bar, "rk4"),
    "redundant loops": (lw.zoo.jansen, "rk4"),
    "couplings": (lw.zoo.geared_chain, "rk4"),
    "contacts": (lw.zoo.bouncing_ball, "euler"),
    "weak spring": (lambda: sprung_cart(100.0, 1.0), "euler"),
    "stiff spring": (lambda: sprung_cart(1e7, 1.0), "radau"),
    "stiff damper": (lambda: sprung_cart(100.0, 1e5), "radau"),
    "loops, a stiff damper of a joint": (lambda: damped_four_bar(1e5), "euler"),
    "loops, open now": (lambda: lw.zoo.four_bar().switched({lw.zoo.four_bar().constraints[0].name: False}), "euler"),
}


@pytest.mark.parametrize("kind", ROBOTS)
def test_integrator_is_chosen_by_what_the_robot_is(kind: str) -> None:
    """The run says which, and why; named, it makes the same run to the last bit."""
    make, integrator = ROBOTS[kind]
    robot = make()
    run = lw.simulate(robot, seconds=0.01)
    assert run.integrator == integrator
    assert run.settings["integrator_reason"]
    again = lw.simulate(robot, seconds=0.01, integrator=integrator)  # type: ignore[arg-type]
    np.testing.assert_array_equal(run.q, again.q)
    assert "integrator_reason" not in again.settings


def test_shorter_steps_of_stiff_springs_are_explicit() -> None:
    """What is stiff depends on the step: 1 kg on 1e7 N/m has a pole at 3162 1/s."""
    robot = sprung_cart(1e7, 1.0)
    assert [lw.simulate(robot, seconds=1e-3, dt=dt).integrator for dt in (1e-3, 3e-4)] == ["radau", "euler"]


def test_stiff_spring_keeps_its_energy_by_default() -> None:
    run = lw.simulate(sprung_cart(1e7, 0.0), [1e-3], seconds=0.02)
    energy = run.energy["total"]
    assert run.integrator == "radau"
    assert np.ptp(energy) <= 1e-5 * energy[0]


@pytest.mark.parametrize("method", ["kkt", "minimal"])
def test_other_methods_choose_too(method: Any) -> None:
    robot = lw.zoo.four_bar()
    run = lw.simulate(robot, seconds=0.01, method=method)
    exact = lw.simulate(robot, seconds=0.01, integrator="dopri5", accuracy=1e-12)
    assert run.integrator == "rk4"
    np.testing.assert_allclose(run.q[-1], exact.q[-1], rtol=0, atol=1e-9)


def test_resumed_runs_keep_the_integrator() -> None:
    run = lw.simulate(lw.zoo.four_bar(), seconds=0.02)
    np.testing.assert_array_equal(run.resume(10, seconds=0.01).q[-1], run.q[-1])


def test_what_rk4_does_not_pass_is_passed_by_euler() -> None:
    """Rods between two ball joints of three hinges each are singular where their middle hinge stands at 90 degrees."""
    robot = lw.load(model_file("example_parallel_robots/robot_delta/robot.urdf"))
    q = robot.assemble(robot.random(2), limits=False)
    v = robot.project_velocity(q, np.random.default_rng(2).normal(size=robot.nv))
    run = lw.simulate(robot, q, v, seconds=0.5)
    assert run.integrator == "euler" and "rk4 was not finite" in run.settings["integrator_reason"]
    assert not run.ended and run.errors.max() <= 1e-3
    with pytest.warns(lw.errors.SimulationWarning, match="try integrator='euler'"):
        lw.simulate(robot, q, v, seconds=0.5, integrator="rk4")
    with pytest.warns(lw.errors.SimulationWarning, match="try integrator='euler'"):  # events happen once
        lw.simulate(robot, q, v, seconds=0.5, until=lambda t, q, v: t - 1.0)


def test_dropped_delta_robot_passes_its_stretched_arms() -> None:
    """Without motors, universal joints of its rods come to a singular direction after 0.23 s."""
    robot = lw.zoo.delta()
    run = lw.simulate(robot, seconds=0.5)
    fine = lw.simulate(robot, seconds=0.5, dt=1e-4, record_every=10)
    assert not run.ended
    energy = run.energy["total"]
    assert np.abs(energy - energy[0]).max() <= 0.03 * np.ptp(run.energy["potential"])
    np.testing.assert_allclose(run.q[200], fine.q[200], rtol=0, atol=1e-7)
    with pytest.warns(lw.errors.SimulationWarning, match="try integrator='rk4'"):
        lw.simulate(robot, seconds=0.5, integrator="euler")


def test_brakes_that_close_are_examined_where_they_hold() -> None:
    """Not stiff at the start, and chattering by 0.4 rad/s where it should hold, without a word."""
    build = lw.Builder("shaft", gravity=(0, 0, 0)).body("shaft", lw.Inertia.disc(1.0, 0.1))
    build.joint("shaft", lw.joints.Revolute("z"), "world", "shaft")
    close = lw.profiles.cycloidal(0, 50, 0.1, begin=0.1)
    braked = build.build().with_forces(lw.forces.Friction("shaft", coulomb=close, slip=0.01, name="brake"))
    with pytest.warns(SimulationWarning, match=r"damp joint 'shaft' at .* with a pole at .*larger slip"):
        lw.simulate(braked, v=[5.0], tau=[1.0], seconds=0.3, dt=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = lw.simulate(braked, v=[5.0], tau=[1.0], seconds=0.3, dt=1e-6, record_every=1000)
    assert held.v[-1, 0] == pytest.approx(0.01 * np.arctanh(1 / 50), rel=1e-3)
