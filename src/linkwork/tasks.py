# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of inverse kinematics, for `Mechanism.inverse_kinematics`."""

from linkwork.closure.tasks import CenterOfMassTask, FrameTask, PostureTask

__all__ = [
    "CenterOfMassTask",
    "FrameTask",
    "PostureTask",
]
