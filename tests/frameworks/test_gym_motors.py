# SPDX-License-Identifier: BSD-3-Clause
"""Environments whose motors have delays, filters and integrals: drawn for each robot, begun anew with each episode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.actuators import Motor

gymnasium = pytest.importorskip("gymnasium", minversion="1.1")

import linkwork.gym as lg  # noqa: E402

FULL = Motor(
    stall=6.0, no_load=4.0, coulomb=0.3, static=0.5, stribeck=0.7, integral=5.0, windup=0.2, delay=1.5, backlash=0.2
)
NUMBERS = ("stall", "no_load", "friction", "stribeck", "integral", "delay", "backlash")
RANDOMIZE: Any = {f"motor_{name}": (0.7, 1.0) for name in NUMBERS}


class ServoVectorEnv(lg.VectorEnv):
    """A flywheel on a servo; it fails where it turns far."""

    action_names = ("target",)
    observation_names = ("angle", "rate")
    reward_names = ("reward_still",)
    draws = 2

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        build = lw.Builder("wheel", gravity=(0, 0, 0))
        build.body("rim", lw.Inertia(1.0, (0, 0, 0), 0.05 * np.eye(3)))
        build.joint("axle", lw.joints.Revolute("z"), "world", "rim", actuated=True)
        build.actuator("motor", "axle", motor=FULL, gain=(30.0, 0, 0), bias=(0, -30.0, -1.0))
        super().__init__(build.build(), num_envs, **options)

    def start(self, rows: Any, draws: Any) -> Any:
        return draws[:, :1] - 0.5, draws[:, 1:] - 0.5

    def commands(self, actions: Any) -> Any:
        return actions

    def observe(self) -> Any:
        return np.concatenate([self.robots.q, self.robots.v], axis=1)

    def reward(self, actions: Any) -> Any:
        return {"reward_still": -(self.robots.v[:, 0] ** 2)}

    def failed(self) -> Any:
        return np.abs(self.robots.q[:, 0]) > 0.9


def test_motors_of_environments_are_those_of_robots_built_with_their_numbers() -> None:
    """Over ends of episodes: neither commands nor integrals of errors outlast them."""
    envs = ServoVectorEnv(
        4, randomize=RANDOMIZE, max_episode_steps=6, autoreset_mode=gymnasium.vector.AutoresetMode.DISABLED
    )
    rng, alone, started = np.random.default_rng(0), list[Any]([None] * 4), 0
    begun = np.ones(4, dtype=bool)
    for _ in range(14):
        if begun.any():
            envs.reset(seed=3 if started == 0 else None, options={"reset_mask": begun})
        for k in np.flatnonzero(begun):  # a robot of its own
            robot = envs.robot.with_parameters(**{name: x[k] for name, x in envs.robots.parameters.items()})
            state = (envs.robots.q[k].copy(), envs.robots.v[k].copy(), np.zeros(robot.na))
            alone[k] = (lw.Stepper(robot, dt=4e-3), *state)
            started += 1
        actions = rng.uniform(-1, 1, (4, 1))
        _, _, terminated, truncated, _ = envs.step(actions)
        for k, (step, q, v, act) in enumerate(alone):
            result: Any = step(q, v, commands=actions[k], act=act, steps=5)
            alone[k] = (step, result.q, result.v, result.act)
            np.testing.assert_allclose(envs.robots.q[k], result.q, atol=1e-12)
            np.testing.assert_allclose(envs.robots.v[k], result.v, atol=1e-11)
        begun = terminated | truncated
    assert started > 8
    assert all(np.ptp(envs.robots.parameters[name], axis=0).max() > 0 for name in RANDOMIZE)
