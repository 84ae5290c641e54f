# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of inverse kinematics: targets of frames and of the center of mass, and a posture for the remaining freedom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import real_array
from linkwork.model.arrays import Floats
from linkwork.model.placement import Placement
from linkwork.plans.inverse_kinematics import CENTER, ORIENTATION, POSITION


@dataclass(frozen=True)
class Target:
    """Three rows of a task: the frame or point, its target, and the weight of each row."""

    kind: int
    values: Floats
    """``(..., 3, 3)``: a rotation; or a position in the first row."""
    weight: Floats
    """``(3,)``"""


@dataclass(frozen=True, eq=False)
class FrameTask:
    """Where a frame is to be in the world: a pose, a position or an orientation.

    Leading axes of the target are batch axes: one target for each state.

    Args:
        frame: Name of a frame or body.
        pose: Position and orientation at once.
        position: Position alone, ``(..., 3)``, in meters.
        orientation: Rotation matrix alone, ``(..., 3, 3)``.
        position_weight: Weight of a distance of the robot's length; or three numbers, for the world's axes, of which
            some may be 0.
        orientation_weight: Weight of an angle of one radian; or three numbers, for the frame's axes.
    """

    frame: str
    pose: Placement | None = None
    position: npt.ArrayLike | None = None
    orientation: npt.ArrayLike | None = None
    position_weight: npt.ArrayLike = 1.0
    orientation_weight: npt.ArrayLike = 1.0
    targets: tuple[Target, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str):
            raise InputError(f"a task is on the name of a frame; found {self.frame!r}")
        p, R = self.position, self.orientation
        if self.pose is not None:
            if not isinstance(self.pose, Placement) or p is not None or R is not None:
                raise InputError(
                    f"task on '{self.frame}': give a pose, a lw.Placement, or position=..., orientation=..., not both"
                )
            p, R = self.pose.position, self.pose.rotation
        if p is None and R is None:
            raise InputError(f"task on '{self.frame}' has no target: give a pose, position=... or orientation=...")
        targets = []
        if R is not None:
            rotation = Placement((0.0, 0.0, 0.0), R).rotation  # checked there
            targets.append(Target(ORIENTATION, rotation, _weights(self.orientation_weight, "orientation_weight")))
        if p is not None:
            targets.append(Target(POSITION, _position(p), _weights(self.position_weight, "position_weight")))
        object.__setattr__(self, "targets", tuple(targets))

    @property
    def name(self) -> str:
        """The name of the task in results."""
        return self.frame


@dataclass(frozen=True, eq=False)
class CenterOfMassTask:
    """Where the center of mass is to be.

    Args:
        position: In the world, ``(..., 3)``, in meters.
        weight: Weight of a distance of the robot's length; or three numbers, for the world's axes, of which some may
            be 0: ``(1, 1, 0)`` leaves the height free.
    """

    position: npt.ArrayLike
    weight: npt.ArrayLike = 1.0
    targets: tuple[Target, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "targets", (Target(CENTER, _position(self.position), _weights(self.weight, "weight")),)
        )

    @property
    def name(self) -> str:
        """The name of the task in results."""
        return "center_of_mass"


@dataclass(frozen=True, eq=False)
class PostureTask:
    """The configuration to be near to: of all that meet the other targets, the nearest is found.

    Args:
        q: The posture, ``(..., nq)``.
        weight: Weight of a radian, or of the robot's length: one number for all joints, or those of some by name; the
            others then do not count.
    """

    q: npt.ArrayLike
    weight: float | Mapping[str, float] = 1.0


Task = FrameTask | CenterOfMassTask | PostureTask
"""Tasks of inverse kinematics."""


def _position(position: npt.ArrayLike) -> Floats:
    positions = real_array(position, "position").astype(np.float64)
    if positions.shape[-1:] != (3,):
        raise InputError(f"position has shape {positions.shape}, needs (..., 3)")
    values = np.zeros((*positions.shape[:-1], 3, 3))
    values[..., 0, :] = positions
    return values


def _weights(weight: npt.ArrayLike, name: str) -> Floats:
    weights = real_array(weight, name).astype(np.float64)
    if weights.shape not in ((), (3,)) or (weights < 0).any():
        raise InputError(f"{name} is {weight!r}, needs a number >= 0, or three")
    return np.array(np.broadcast_to(weights, (3,)))
