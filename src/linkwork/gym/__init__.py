# SPDX-License-Identifier: BSD-3-Clause
"""Environments of Gymnasium on batched steps of robots with loops and contacts: ``lw.gym.HopperVectorEnv(256)``.

Importing it registers ``linkwork/Hopper-v0``, ``linkwork/BallBalance-v0`` and ``linkwork/CassieStand-v0``, for
`gymnasium.make` and `gymnasium.make_vec`.
"""

from __future__ import annotations

from linkwork.errors import UnsupportedFeature

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
except ImportError:
    raise UnsupportedFeature(
        "linkwork.gym needs Gymnasium 1.1 or newer: pip install 'linkwork[gym]' or pip install 'gymnasium>=1.1'"
    ) from None

from linkwork.gym.ball_balance import BallBalanceEnv, BallBalanceVectorEnv
from linkwork.gym.cassie_stand import CassieStandEnv, CassieStandVectorEnv
from linkwork.gym.hopper import HopperEnv, HopperVectorEnv
from linkwork.gym.randomization import Draw, Randomization
from linkwork.gym.rendering import Camera
from linkwork.gym.robots import RobotBatch
from linkwork.gym.single import Env
from linkwork.gym.vector import VectorEnv

ENVIRONMENTS: dict[str, tuple[type[Env], type[VectorEnv]]] = {
    "linkwork/Hopper-v0": (HopperEnv, HopperVectorEnv),
    "linkwork/BallBalance-v0": (BallBalanceEnv, BallBalanceVectorEnv),
    "linkwork/CassieStand-v0": (CassieStandEnv, CassieStandVectorEnv),
}
"""Classes of one environment and of many, by the ids that Gymnasium knows them by."""

for _id, (_one, _many) in ENVIRONMENTS.items():
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point=f"{_one.__module__}:{_one.__name__}",
            vector_entry_point=f"{_many.__module__}:{_many.__name__}",
            max_episode_steps=500,
        )

__all__ = [
    "ENVIRONMENTS",
    "AutoresetMode",
    "BallBalanceEnv",
    "BallBalanceVectorEnv",
    "Camera",
    "CassieStandEnv",
    "CassieStandVectorEnv",
    "Draw",
    "Env",
    "HopperEnv",
    "HopperVectorEnv",
    "Randomization",
    "RobotBatch",
    "VectorEnv",
]
