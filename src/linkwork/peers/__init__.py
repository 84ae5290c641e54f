# SPDX-License-Identifier: BSD-3-Clause
"""Models and states of other libraries: `from_pinocchio`, `pinocchio_map`, `from_mujoco`, `mujoco_map`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.names import lazy_names

if TYPE_CHECKING:
    from linkwork.peers.mujoco import MujocoMap, from_mujoco, mujoco_map
    from linkwork.peers.pinocchio import PinocchioMap, from_pinocchio, pinocchio_map
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "linkwork.peers.mujoco": ("MujocoMap", "from_mujoco", "mujoco_map"),
            "linkwork.peers.pinocchio": ("PinocchioMap", "from_pinocchio", "pinocchio_map"),
        },
    )


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "MujocoMap",
    "PinocchioMap",
    "from_mujoco",
    "from_pinocchio",
    "mujoco_map",
    "pinocchio_map",
]
