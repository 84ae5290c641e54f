# SPDX-License-Identifier: BSD-3-Clause
"""`StableBaselinesVecEnv`: a `linkwork.gym.VectorEnv` as a ``VecEnv`` of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.gym.vector import VectorEnv
from linkwork.rl.autoreset import require

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise UnsupportedFeature(
        "StableBaselinesVecEnv needs Stable-Baselines3: pip install 'linkwork[sb3]' or pip install stable-baselines3"
    ) from None

Indices = None | int | Sequence[int]


class StableBaselinesVecEnv(VecEnv):
    """All environments of a vector, moved in one call: ``PPO("MlpPolicy", StableBaselinesVecEnv(envs))``.

    Infos of an episode that ended have ``terminal_observation`` and ``TimeLimit.truncated``; ``VecMonitor`` around it
    adds returns of episodes.

    Args:
        env: The environments, with ``autoreset_mode=AutoresetMode.SAME_STEP``.
    """

    def __init__(self, env: VectorEnv) -> None:
        require(env, AutoresetMode.SAME_STEP, "StableBaselinesVecEnv")
        self.env = env
        """The environments."""
        self.render_mode = env.render_mode
        self._actions: npt.NDArray[np.float32] = np.zeros(env.action_space.shape or (), dtype=np.float32)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> npt.NDArray[np.float32]:
        """Observations of new episodes, ``(num_envs, observations)``, after `seed` with those seeds."""
        drawn = None if all(seed is None for seed in self._seeds) else list(self._seeds)
        seen, _ = self.env.reset(seed=drawn)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        return seen

    def step_async(self, actions: npt.NDArray[np.float32]) -> None:
        """Keep the actions of `step_wait`.

        Args:
            actions: From -1 to 1, ``(num_envs, actions)``.
        """
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Observations, rewards, ends of episodes and infos after one action each."""
        seen, rewards, terminated, truncated, infos = self.env.step(self._actions)
        ended = terminated | truncated
        each: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for k in np.flatnonzero(ended):
            each[k]["terminal_observation"] = infos["final_obs"][k]
            each[k]["TimeLimit.truncated"] = bool(truncated[k] and not terminated[k])
        return seen, rewards.astype(np.float32), ended, each

    def close(self) -> None:
        """Close the environments."""
        self.env.close()

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """Pictures of all robots; None without a render mode."""
        pictures = self.env.render()
        return [None] * self.num_envs if pictures is None else list(pictures)

    # Attributes are those of all environments at once --------------------------------------------------------

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of the vector, once for each environment: its row where it has one.

        Args:
            attr_name: Its name.
            indices: Environments; by default all.
        """
        rows = self._rows(indices)
        value = getattr(self.env, attr_name)
        of_rows = isinstance(value, np.ndarray) and value.shape[:1] == (self.num_envs,)
        return [value[k] if of_rows else value for k in rows]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of the vector: rows of an array, or as a whole for all environments.

        Args:
            attr_name: Its name.
            value: The value.
            indices: Environments; by default all.
        """
        known = getattr(self.env, attr_name, None)
        if isinstance(known, np.ndarray) and known.shape[:1] == (self.num_envs,):
            known[list(self._rows(indices))] = value
        elif indices is None:
            setattr(self.env, attr_name, value)
        else:
            raise InputError(f"'{attr_name}' is one for all environments: set it without indices")

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **options: Any) -> list[Any]:
        """Call a method of the vector; its result, once for each environment.

        Args:
            method_name: Its name.
            args: Of the method.
            indices: Environments; by default all.
            options: Of the method.
        """
        result = getattr(self.env, method_name)(*args, **options)
        return [result for _ in self._rows(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        """Whether environments are wrapped: they are not.

        Args:
            wrapper_class: A wrapper.
            indices: Environments; by default all.
        """
        return [False for _ in self._rows(indices)]

    def _rows(self, indices: Indices) -> Sequence[int]:
        rows: Sequence[int] = list(self._get_indices(indices))
        return rows
