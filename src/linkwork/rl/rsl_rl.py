# SPDX-License-Identifier: BSD-3-Clause
"""`RslRlVecEnv`: a `linkwork.gym.VectorEnv` as a ``VecEnv`` of rsl_rl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from linkwork.errors import InputError, UnsupportedFeature
from linkwork.gym.vector import VectorEnv
from linkwork.rl.autoreset import require

try:
    import torch
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict
except ImportError:
    raise UnsupportedFeature(
        "RslRlVecEnv needs rsl_rl 5 or newer: pip install 'linkwork[rsl-rl]' or pip install rsl-rl-lib"
    ) from None


class RslRlVecEnv(VecEnv):
    """All environments of a vector, moved in one call: ``OnPolicyRunner(RslRlVecEnv(envs), settings)``.

    Observations are one group, ``"policy"``. Extras have ``time_outs`` of episodes that were truncated, and the mean
    of each term of the reward as ``/reward_...`` in ``log``.

    Args:
        env: The environments, with ``autoreset_mode=AutoresetMode.SAME_STEP`` and ``max_episode_steps``.
        device: Of the tensors that are returned.
        seed: Of the first episodes.
    """

    def __init__(self, env: VectorEnv, device: torch.device | str = "cpu", *, seed: int | None = None) -> None:
        require(env, AutoresetMode.SAME_STEP, "RslRlVecEnv")
        if env.max_episode_steps is None:
            raise InputError("max_episode_steps is None; RslRlVecEnv needs a number: make the environment with one")
        self.env = env
        """The environments."""
        self.device = torch.device(device)
        self.num_envs, self.num_actions = env.num_envs, len(env.action_names)
        self.max_episode_length = env.max_episode_steps
        self.cfg: Mapping[str, Any] = {"environment": type(env).__name__, "robot": env.robot.name, "dt": env.period}
        self._observations = self._tensors(env.reset(seed=seed)[0])

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Actions since the start of each episode, ``(num_envs,)``; those that are set count as taken."""
        return torch.as_tensor(self.env.elapsed, device=self.device)

    @episode_length_buf.setter
    def episode_length_buf(self, elapsed: torch.Tensor) -> None:
        self.env.elapsed[:] = elapsed.cpu().numpy()

    def get_observations(self) -> TensorDict:
        """The last observations."""
        return self._observations

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Observations, rewards, ends of episodes and extras after one action each.

        Args:
            actions: From -1 to 1, ``(num_envs, actions)``; others are clipped.
        """
        seen, rewards, terminated, truncated, infos = self.env.step(actions.detach().cpu().numpy())
        self._observations = self._tensors(seen)
        late = torch.as_tensor(truncated & ~terminated, device=self.device)
        ended = torch.as_tensor(terminated | truncated, device=self.device)
        log = {f"/{name}": float(np.mean(infos[name])) for name in self.env.reward_names if name in infos}
        gained = torch.as_tensor(rewards, dtype=torch.float32, device=self.device)
        return self._observations, gained, ended, {"time_outs": late, "log": log}

    def close(self) -> None:
        """Close the environments."""
        self.env.close()

    def _tensors(self, seen: Any) -> TensorDict:
        observations = torch.as_tensor(seen, device=self.device)
        return TensorDict({"policy": observations}, batch_size=[self.num_envs], device=self.device)
