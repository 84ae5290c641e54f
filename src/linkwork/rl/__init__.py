# SPDX-License-Identifier: BSD-3-Clause
"""Vector environments for the libraries that people train with: Stable-Baselines3, rsl_rl and TorchRL.

Each class takes a `linkwork.gym.VectorEnv` and is an environment of its library, which is imported with the class.
skrl's ``wrap_env`` takes a `linkwork.gym.VectorEnv` without an adapter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.names import lazy_names

if TYPE_CHECKING:
    from linkwork.rl.rsl_rl import RslRlVecEnv
    from linkwork.rl.stable_baselines3 import StableBaselinesVecEnv
    from linkwork.rl.torchrl import TorchRLEnv
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "linkwork.rl.rsl_rl": ("RslRlVecEnv",),
            "linkwork.rl.stable_baselines3": ("StableBaselinesVecEnv",),
            "linkwork.rl.torchrl": ("TorchRLEnv",),
        },
    )


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = ["RslRlVecEnv", "StableBaselinesVecEnv", "TorchRLEnv"]
