# SPDX-License-Identifier: BSD-3-Clause
"""Environments whose commands are late, and parameters that are drawn for episodes or for actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import linkwork as lw

lg = pytest.importorskip("linkwork.gym", reason="needs gymnasium")

from tests.frameworks.test_gym import PendulumVectorEnv  # noqa: E402


class Late(PendulumVectorEnv):
    """Remembers the commands of all steps."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        super().__init__(num_envs, dt=4e-3, steps_per_action=5, **options)
        self.given: list[Any] = []
        advance = self.robots.advance

        def watched(commands: Any, steps: int, wrenches: Any = None) -> None:
            self.given += [commands[:, 0].copy()] * steps
            advance(commands, steps, wrenches)

        self.robots.advance = watched  # type: ignore[method-assign]


@pytest.mark.parametrize("delay", [0.0, 0.008, 0.02, 0.052])
def test_commands_are_late_by_parts_of_an_action_and_by_several(delay: float) -> None:
    envs, rng = Late(3, action_delay=delay), np.random.default_rng(0)
    envs.reset(seed=0)
    actions = rng.uniform(-0.1, 0.1, size=(8, 3, 2)).astype(np.float32)
    for u in actions:
        envs.step(u)
    held = np.repeat(actions[:, :, 0], 5, axis=0)
    late = round(delay / 4e-3)
    expected = np.concatenate([np.repeat(held[:1], late, axis=0), held])[: len(held)]
    np.testing.assert_allclose(envs.given, expected, atol=1e-7)


def test_delays_have_the_distribution_that_is_stated_and_belong_to_episodes_or_actions() -> None:
    envs = Late(400, action_delay=(0.0, 0.04))
    envs.reset(seed=1)
    late = envs.delay.late.copy()
    assert set(late) == set(range(11)) and late.mean() == pytest.approx(5.0, abs=0.4)
    assert late.std() == pytest.approx(10 / 12**0.5, rel=0.1)
    zeros = np.zeros((400, 2), dtype=np.float32)
    envs.step(zeros)
    assert np.array_equal(envs.delay.late, late)
    envs.reset(seed=2)
    assert (envs.delay.late != late).mean() > 0.7
    every = Late(400, action_delay=lg.Draw(0.0, 0.04, each="action"))
    every.reset(seed=1)
    before = every.delay.late.copy()
    every.step(zeros)
    assert (every.delay.late != before).mean() > 0.7
    one = Late(1, action_delay=(0.0, 0.04))
    one.reset(seed=8)
    assert one.delay.late[0] == late[7]  # row i of seed s is one environment of the seed s + i
    with pytest.raises(lw.errors.InputError, match="action_delay is -1"):
        Late(1, action_delay=-1.0)


def test_parameters_are_drawn_for_each_action_where_they_say_so() -> None:
    ranges: Any = {"mass": lg.Draw(0.5, 1.5, each="action"), "gravity": (0.8, 1.2)}
    envs = PendulumVectorEnv(50, randomize=ranges)
    envs.reset(seed=0)
    gravity, factors = envs.robots.parameters["gravity"].copy(), []
    for _ in range(20):
        envs.step(np.zeros((50, 2), dtype=np.float32))
        assert np.array_equal(envs.robots.parameters["gravity"], gravity)
        factors.append(envs.robots.parameters["mass"] / envs.randomization.values["mass"])
    drawn = np.array(factors)
    assert drawn.min() >= 0.5 and drawn.max() <= 1.5 and drawn.mean() == pytest.approx(1.0, abs=0.02)
    assert drawn.std() == pytest.approx(12**-0.5, rel=0.05)
    assert abs(np.corrcoef(drawn[:-1, :, 0].ravel(), drawn[1:, :, 0].ravel())[0, 1]) < 0.1


def test_a_leg_on_a_softer_knee_stands_as_much_lower_as_the_sag_says() -> None:
    """``m g L sin(x / 2) = k (x - u)`` of a knee at the angle x, whose leg is ``2 L cos(x / 2)`` long."""
    length, mass, stiffness, bent = 0.2, 12.0, 60.0, 1.2
    build = lw.Builder("leg")
    for name, m in (("trunk", mass), ("thigh", 1e-3), ("shank", 1e-3)):
        build.body(name, lw.Inertia(m, (0, 0, 0), 1e-3 * m * np.eye(3)))
    build.joint("rail", lw.joints.Prismatic("z"), "world", "trunk")
    build.joint("hip", lw.joints.Revolute("y"), "trunk", "thigh")
    build.joint("knee", lw.joints.Revolute("y"), "thigh", "shank", at=(0, 0, -length), actuated=True)
    build.frame("foot", "shank", (0, 0, -length))
    build.actuator("servo", "knee", gain=(stiffness, 0, 0), bias=(0, -stiffness, -3.0))
    robot = build.build()
    robot = robot.constrained(lw.constraints.Point("world", "foot", name="ground"), at=[2 * length, 0, 0])
    start = robot.assemble([2 * length * np.cos(bent / 2), -bent / 2, bent], fixed=["knee"])
    weight = mass * 9.81 * length + 2e-3 * 9.81 * length  # and that of the links, near enough for the tolerance
    for factor in (1.0, 0.8):
        made = lg.Randomization(robot, {"actuator_gain": (factor, factor)})
        values = {name: x[0] for name, x in made(np.zeros((1, made.draws))).items()}
        soft = lw.Stepper(robot, dt=2e-3, parameters=made.names, limits=False)
        settled = soft(start, np.zeros(3), commands=[bent], steps=4000, **values)
        x = bent
        for _ in range(60):
            x = bent + weight * np.sin(x / 2) / (factor * stiffness)
        assert settled.q[2] == pytest.approx(x, abs=1e-3)
        assert settled.q[0] == pytest.approx(2 * length * np.cos(x / 2), abs=2e-4)


def test_a_quadruped_on_softer_servos_stands_where_its_energy_is_least() -> None:
    """A trunk on four legs of three servos: 22 mm below its commands, with 0.8 of the stiffness 30 mm."""
    plain, stiffness = lw.zoo.quadruped_standing(), 60.0
    joints = [joint.name for joint in plain.joints if joint.type.nv == 1]
    law: Any = {"gain": (stiffness, 0.0, 0.0), "bias": (0.0, -stiffness, -4.0)}
    robot = plain.with_actuators(*(lw.actuators.Actuator(f"{name} servo", name, (1.0,), **law) for name in joints))
    start, at = robot.poses["standing"], [robot.q_index(name) for name in joints]
    weight = 9.81 * sum(inertia.mass for inertia in robot.inertias.values())
    heights = []
    for factor in (1.0, 0.8):

        def energy(step: Any, factor: float = factor) -> float:
            q = robot.integrate(start, step)
            spring = factor * stiffness / 2 * np.sum((q[at] - start[at]) ** 2)
            return float(weight * lw.center_of_mass(robot, q)[2] + spring)

        feet: Any = {"type": "eq", "fun": lambda step: lw.constraint_error(robot, robot.integrate(start, step))}
        least = minimize(energy, np.zeros(robot.nv), constraints=[feet], method="SLSQP", options={"ftol": 1e-13})
        made = lg.Randomization(robot, {"actuator_gain": (factor, factor)})
        values = {name: x[0] for name, x in made(np.zeros((1, made.draws))).items()}
        soft = lw.Stepper(robot, dt=2e-3, parameters=made.names, limits=False)
        settled = soft(start, np.zeros(robot.nv), commands=start[at], steps=4000, **values)
        np.testing.assert_allclose(settled.q, robot.integrate(start, least.x), rtol=0, atol=1e-6)
        heights.append(settled.q[2] - start[2])
    assert heights == pytest.approx([-0.0220, -0.0305], abs=1e-4)
