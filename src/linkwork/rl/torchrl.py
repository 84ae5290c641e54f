# SPDX-License-Identifier: BSD-3-Clause
"""`TorchRLEnv`: a `linkwork.gym.VectorEnv` as an ``EnvBase`` of TorchRL."""

from __future__ import annotations

import numpy as np
from gymnasium.vector import AutoresetMode

from linkwork.errors import UnsupportedFeature
from linkwork.gym.vector import WIDEST, VectorEnv
from linkwork.rl.autoreset import require

try:
    import torch
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Composite, Unbounded
    from torchrl.envs import EnvBase
except ImportError:
    raise UnsupportedFeature(
        "TorchRLEnv needs TorchRL: pip install 'linkwork[torchrl]' or pip install torchrl"
    ) from None


class TorchRLEnv(EnvBase):
    """All environments of a vector, moved in one call, with ``batch_size`` ``[num_envs]``.

    Episodes that ended are started anew by the mask ``"_reset"``, as TorchRL's collectors give it.

    Args:
        env: The environments, with ``autoreset_mode=AutoresetMode.DISABLED``.
        device: Of the tensors that are returned.
    """

    def __init__(self, env: VectorEnv, device: torch.device | str = "cpu") -> None:
        require(env, AutoresetMode.DISABLED, "TorchRLEnv")
        n = env.num_envs
        super().__init__(device=torch.device(device), batch_size=torch.Size([n]))
        self.env = env
        """The environments."""
        self._seed: int | None = None
        shape = (n, len(env.observation_names))
        observation = Bounded(-WIDEST, WIDEST, shape, dtype=torch.float32, device=self.device)
        self.observation_spec = Composite(observation=observation, shape=[n], device=self.device)
        self.action_spec = Bounded(-1.0, 1.0, (n, len(env.action_names)), dtype=torch.float32, device=self.device)
        self.reward_spec = Unbounded((n, 1), dtype=torch.float32, device=self.device)
        ends = {name: Binary(1, (n, 1), self.device, torch.bool) for name in ("done", "terminated", "truncated")}
        self.done_spec = Composite(**ends, shape=[n], device=self.device)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        seen, rewards, terminated, truncated, _ = self.env.step(tensordict["action"].detach().cpu().numpy())
        ends = {"terminated": terminated, "truncated": truncated, "done": terminated | truncated}
        columns = {name: torch.as_tensor(x, device=self.device)[:, None] for name, x in ends.items()}
        gained = torch.as_tensor(rewards, dtype=torch.float32, device=self.device)[:, None]
        return self._tensors(seen).update({"reward": gained, **columns})

    def _reset(self, tensordict: TensorDictBase | None = None, **options: object) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        n = self.env.num_envs
        rows = np.ones(n, bool) if mask is None else mask.reshape(n, -1)[:, 0].cpu().numpy()
        seen, _ = self.env.reset(seed=self._seed, options={"reset_mask": rows})
        self._seed = None
        return self._tensors(seen)

    def _set_seed(self, seed: int | None) -> None:
        """The seed of the next reset."""
        self._seed = seed

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close the environments.

        Args:
            raise_if_closed: Whether closing twice is an error.
        """
        super().close(raise_if_closed=raise_if_closed)
        self.env.close()

    def _tensors(self, seen: object) -> TensorDict:
        observations = torch.as_tensor(seen, device=self.device)
        return TensorDict({"observation": observations}, batch_size=self.batch_size, device=self.device)
