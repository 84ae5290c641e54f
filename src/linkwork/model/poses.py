# SPDX-License-Identifier: BSD-3-Clause
"""Named configurations that have a meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from linkwork.model.model import Model

HOME = "home"
"""The pose that simulations start from where a file has one."""
ASSEMBLED = "assembled"
"""The pose with closed loops of mechanisms made in code."""
QPOS0 = "qpos0"
"""The pose in which an MJCF file is drawn."""


def default_configuration(robot: Model) -> npt.NDArray[Any]:
    """The pose ``assembled``, else ``qpos0``, else the neutral configuration."""
    drawn = robot.poses.get(QPOS0)
    return np.array(robot.poses.get(ASSEMBLED, robot.neutral() if drawn is None else drawn), dtype=np.float64)
