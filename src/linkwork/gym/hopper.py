# SPDX-License-Identifier: BSD-3-Clause
"""A hopper with a four-bar leg that is to run at a commanded speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.errors import InputError
from linkwork.gym.rendering import Camera
from linkwork.gym.robots import Rows
from linkwork.gym.single import Env
from linkwork.gym.vector import Mask, VectorEnv
from linkwork.quantities.arguments import Array
from linkwork.zoo.running import running_hopper

HIP, CRANK = 0.8, 0.9
"""Radians by which actions move the targets of the servos."""
X, Z, PITCH = 0, 1, 2
"""Coordinates of the trunk in q and v."""


class HopperVectorEnv(VectorEnv):
    """`zoo.running_hopper`: keep the trunk upright and run at a commanded speed, on one leg with a point foot.

    Args:
        num_envs: Number of environments.
        speed: The least and the greatest commanded speed, in m/s: one is drawn for each episode.
        max_episode_steps: Actions after which an episode is truncated, 20 ms each; None: it is not.
        options: ``autoreset_mode``, ``randomize``, ``compile``, ``threads``, ``render_mode``, ``dt`` and
            ``steps_per_action`` of `VectorEnv`.
    """

    action_names = ("hip", "crank")
    observation_names = (
        "height",
        "pitch",
        "hip angle",
        "crank angle",
        "knee angle",
        "forward velocity",
        "vertical velocity",
        "pitch rate",
        "hip rate",
        "crank rate",
        "touching",
        "commanded speed",
    )
    reward_names = ("reward_speed", "reward_height", "reward_upright", "reward_effort", "reward_smooth")
    draws = 8
    camera: Camera = Camera((0.0, 0.0, 0.28), 0.8, 8.0, -82.0, "trunk")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        speed: tuple[float, float] = (0.5, 1.5),
        max_episode_steps: int | None = 500,
        **options: Any,
    ) -> None:
        low, high = (float(x) for x in speed)
        if not -3 <= low <= high <= 3:
            raise InputError(f"speed is {speed}, needs (low, high) with -3 <= low <= high <= 3, in m/s")
        super().__init__(running_hopper(), num_envs, max_episode_steps=max_episode_steps, **options)
        robot = self.robot
        self._rest = robot.poses["assembled"]
        self._joints = [robot.q_index(name) for name in ("hip", "crank", "knee")]
        self._nominal = self._rest[self._joints[:2]]
        self._speeds = (low, high)
        self._touch = 1e-3 * robot.mass * float(np.linalg.norm(robot.gravity))  # newtons
        self.speed: Array = np.full(num_envs, low)
        """Commanded speeds, ``(num_envs,)``."""
        self._x = np.zeros(num_envs)

    def start(self, rows: Rows, draws: Array) -> tuple[Array, Array]:
        """Above the ground by up to 10 cm, tilted, moving; the commanded speed is drawn, too."""
        low, high = self._speeds
        self.speed[rows] = low + (high - low) * draws[:, 0]
        q, v = np.tile(self._rest, (len(rows), 1)), np.zeros((len(rows), self.robot.nv))
        spread = 2 * draws - 1
        q[:, Z] += 0.1 * draws[:, 1]  # falls from up to 10 cm
        q[:, PITCH] = 0.1 * spread[:, 2]
        v[:, X] = self.speed[rows] * draws[:, 3]
        v[:, Z] = 0.3 * spread[:, 4]
        v[:, PITCH] = 0.3 * spread[:, 5]
        return q, v

    def commands(self, actions: Array) -> Array:
        """Angles of hip and crank."""
        return self._nominal + actions * (HIP, CRANK)

    def observe(self) -> Array:
        """See `observation_names`, scaled to be about 1."""
        q, v = self.robots.q, self.robots.v
        hip, crank, knee = self._joints
        touching = self.robots.contact_forces[:, 0, 2] > self._touch
        angles = q[:, [hip, crank, knee]] - self._rest[[hip, crank, knee]]
        columns = [
            5.0 * (q[:, Z] - self._rest[Z]),
            q[:, PITCH],
            *angles.T,
            v[:, X],
            v[:, Z],
            0.2 * v[:, PITCH],
            0.1 * v[:, hip],
            0.1 * v[:, crank],
            touching,
            self.speed,
        ]
        return np.stack(columns, axis=1)

    def before_step(self, actions: Array) -> None:
        """Where the trunk is."""
        self._x = self.robots.q[:, X].copy()

    def reward(self, actions: Array) -> Mapping[str, Array]:
        """Speed as commanded, a trunk that is high and upright; small and smooth actions."""
        q = self.robots.q
        speed = (q[:, X] - self._x) / self.period
        return {
            "reward_speed": np.exp(-4.0 * (speed - self.speed) ** 2),
            "reward_height": 0.5 * np.clip((q[:, Z] - self._rest[Z]) / 0.15, 0.0, 1.0),
            "reward_upright": 0.5 * np.exp(-10.0 * q[:, PITCH] ** 2),
            "reward_effort": -0.02 * (actions**2).sum(axis=1),
            "reward_smooth": -0.02 * ((actions - self.actions) ** 2).sum(axis=1),
        }

    def failed(self) -> Mask:
        """Where the trunk is below 0.2 m or tilted by more than 0.8 rad."""
        q = self.robots.q
        return np.asarray((q[:, Z] < 0.2) | (np.abs(q[:, PITCH]) > 0.8))


class HopperEnv(Env):
    """One environment of `HopperVectorEnv`."""

    vector_class = HopperVectorEnv
