# SPDX-License-Identifier: BSD-3-Clause
"""A Stewart platform that is to keep a ball in the middle of its plate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.gym.frames import rotations, to_body, to_world
from linkwork.gym.rendering import Camera
from linkwork.gym.robots import Rows
from linkwork.gym.single import Env
from linkwork.gym.vector import Mask, VectorEnv
from linkwork.quantities.arguments import Array
from linkwork.zoo.balancing import HEIGHT, PLATE, ball_on_stewart

STROKE = 0.05
"""Meters by which actions move the targets of the legs."""
PLACE, SPEED = 0.12, 0.2
"""Meters, meters a second: how far from the middle the ball starts at most, and how fast, along x and y."""


class BallBalanceVectorEnv(VectorEnv):
    """`zoo.ball_on_stewart`: keep a rolling ball in the middle of the plate, by the lengths of six legs.

    Args:
        num_envs: Number of environments.
        max_episode_steps: Actions after which an episode is truncated, 20 ms each; None: it is not.
        options: ``autoreset_mode``, ``randomize``, ``compile``, ``threads``, ``render_mode``, ``dt`` and
            ``steps_per_action`` of `VectorEnv`.
    """

    action_names = tuple(f"leg{k}" for k in range(6))
    observation_names = (
        *(f"ball {axis}" for axis in "xy"),
        *(f"ball velocity {axis}" for axis in "xy"),
        *(f"plate {axis}" for axis in "xyz"),
        *(f"plate normal {axis}" for axis in "xy"),
        "plate yaw",
        *(f"plate velocity {axis}" for axis in "xyz"),
        *(f"plate angular velocity {axis}" for axis in "xyz"),
    )
    reward_names = ("reward_ball", "reward_velocity", "reward_effort", "reward_smooth")
    draws = 4
    camera: Camera = Camera((0.0, 0.0, 0.42), 1.25, 20.0, -60.0)

    def __init__(self, num_envs: int = 1, *, max_episode_steps: int | None = 500, **options: Any) -> None:
        super().__init__(ball_on_stewart(), num_envs, max_episode_steps=max_episode_steps, **options)
        robot = self.robot
        self._rest = robot.poses["assembled"]
        self._lengths = self._rest[[robot.q_index(f"leg{k}") for k in range(6)]]
        self._plate, self._ball = robot.q_slice("platform"), robot.q_slice("ball")
        self._plate_rate, self._ball_rate = robot.v_slice("platform"), robot.v_slice("ball")

    def start(self, rows: Rows, draws: Array) -> tuple[Array, Array]:
        """The plate level, the ball rolling somewhere on it."""
        q, v = np.tile(self._rest, (len(rows), 1)), np.zeros((len(rows), self.robot.nv))
        spread = 2 * draws - 1
        first = self._ball.start
        q[:, first : first + 2] = PLACE * spread[:, :2]
        at = self._ball_rate.start
        v[:, at : at + 2] = SPEED * spread[:, 2:4]
        radius = q[:, first + 2] - HEIGHT - PLATE[2] / 2
        v[:, at + 3], v[:, at + 4] = -v[:, at + 1] / radius, v[:, at] / radius  # it rolls
        return q, v

    def commands(self, actions: Array) -> Array:
        """Lengths of the legs."""
        return self._lengths + STROKE * actions

    def _ball_on_plate(self) -> tuple[Array, Array]:
        """Position and velocity of the ball, seen from the plate, ``(num_envs, 3)`` each."""
        q, v = self.robots.q, self.robots.v
        plate, ball, rate = q[:, self._plate], q[:, self._ball], v[:, self._plate_rate]
        R = rotations(plate[:, 3:])
        place = to_body(R, ball[:, :3] - plate[:, :3])
        free = to_body(R, to_world(rotations(ball[:, 3:]), v[:, self._ball_rate][:, :3]))
        return place, free - rate[:, :3] - np.cross(rate[:, 3:], place)

    def observe(self) -> Array:
        """See `observation_names`, scaled to be about 1."""
        plate, rate = self.robots.q[:, self._plate], self.robots.v[:, self._plate_rate]
        R = rotations(plate[:, 3:])
        place, velocity = self._ball_on_plate()
        shift = plate[:, :3] - self._rest[self._plate][:3]
        yaw = np.arctan2(R[:, 1, 0], R[:, 0, 0])[:, None]
        parts = [8.0 * place[:, :2], 2.0 * velocity[:, :2], 10.0 * shift, 5.0 * R[:, :2, 2], yaw, rate]
        return np.concatenate(parts, axis=1)

    def reward(self, actions: Array) -> Mapping[str, Array]:
        """A ball that is in the middle and slow; small and smooth actions."""
        place, velocity = self._ball_on_plate()
        return {
            "reward_ball": np.exp(-100.0 * (place[:, :2] ** 2).sum(axis=1)),
            "reward_velocity": -0.2 * np.minimum((velocity[:, :2] ** 2).sum(axis=1), 5.0),
            "reward_effort": -0.02 * (actions**2).sum(axis=1),
            "reward_smooth": -0.02 * ((actions - self.actions) ** 2).sum(axis=1),
        }

    def failed(self) -> Mask:
        """Where the ball is off the plate."""
        place, _ = self._ball_on_plate()
        off = (np.abs(place[:, :2]) > np.array(PLATE[:2]) / 2).any(axis=1)
        return np.asarray(off | (place[:, 2] < 0) | (place[:, 2] > 0.3))


class BallBalanceEnv(Env):
    """One environment of `BallBalanceVectorEnv`."""

    vector_class = BallBalanceVectorEnv
