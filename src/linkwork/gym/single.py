# SPDX-License-Identifier: BSD-3-Clause
"""`Env`: one environment of Gymnasium, a vector environment with one row."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from linkwork.gym.rendering import Frame
from linkwork.gym.vector import VectorEnv
from linkwork.quantities.arguments import Array


class Env(gymnasium.Env[Array, Array]):
    """One environment: the same as row 0 of the vector environment, with the same seed.

    Episodes are not truncated here: `gymnasium.make` wraps it in a ``TimeLimit``.

    Args:
        options: Those of the vector environment, but for ``num_envs``, ``max_episode_steps`` and ``autoreset_mode``.
    """

    vector_class: ClassVar[type[VectorEnv]]
    """The vector environment."""
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (Gymnasium reads it of the class)

    def __init__(self, **options: Any) -> None:
        fixed: dict[str, Any] = {"max_episode_steps": None, "autoreset_mode": AutoresetMode.DISABLED}
        self.vector = self.vector_class(num_envs=1, **fixed, **options)
        """The vector environment with one row."""
        self.render_mode = self.vector.render_mode
        self.metadata = {key: self.vector.metadata[key] for key in ("render_modes", "render_fps")}
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Of the random numbers; None: they go on.
            options: None are known.
        """
        super().reset(seed=seed)
        self.vector.share_generator(0, self.np_random)
        seen, _ = self.vector.reset()
        return seen[0], {}

    def step(self, action: npt.ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Observation, reward, termination, truncation and info after an action.

        Args:
            action: From -1 to 1, ``(actions,)``.
        """
        command = np.asarray(action, dtype=np.float64)
        seen, rewards, terminated, truncated, infos = self.vector.step(command[None])
        info = {name: float(x[0]) for name, x in infos.items() if not name.startswith("_")}
        return seen[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Frame | None:
        """A picture, ``(height, width, 3)``; None without a render mode."""
        frames = self.vector.render()
        return None if frames is None else frames[0]

    def close(self) -> None:
        """End it; it may be called again."""
        self.vector.close()
