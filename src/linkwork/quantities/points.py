# SPDX-License-Identifier: BSD-3-Clause
"""Points of bodies: where they are, how they move, and their Jacobians, for points that differ from call to call.

A point is given in the axes of a frame; many points of a frame are a batch. What moves with the frame all the time may
as well be a frame of its own (`Mechanism.with_frame`), which evaluators take and compile.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.model.model import Model
from linkwork.model.rotations import cross, rotate
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import (
    frame_acceleration,
    frame_jacobian,
    frame_jacobian_rate,
    frame_placement,
    frame_velocity,
)


def point_position(robot: Model, q: npt.ArrayLike, frame: str, point: npt.ArrayLike) -> Array:
    """Where a point is in the world, ``(..., 3)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        frame: Name of the frame or body that the point moves with.
        point: In the axes of the frame, ``(..., 3)``, in meters.
    """
    return frame_placement(robot, q, frame).act(_checked(point))


def point_velocity(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, frame: str, point: npt.ArrayLike) -> Array:
    """The velocity of a point in the world, ``(..., 3)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        frame: Name of the frame or body that the point moves with.
        point: In the axes of the frame, ``(..., 3)``, in meters.
    """
    x, arm = frame_velocity(robot, q, v, frame, "aligned"), _arm(robot, q, frame, point)
    velocity: Array = x[..., 3:] + cross(x[..., :3], arm)
    return velocity


def point_acceleration(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike, frame: str, point: npt.ArrayLike
) -> Array:
    """The acceleration of a point in the world, ``(..., 3)``, as it is seen: gravity is not added.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        a: Joint accelerations, ``(..., nv)``.
        frame: Name of the frame or body that the point moves with.
        point: In the axes of the frame, ``(..., 3)``, in meters.
    """
    arm = _arm(robot, q, frame, point)
    omega = frame_velocity(robot, q, v, frame, "aligned")[..., :3]
    x = frame_acceleration(robot, q, v, a, frame, "aligned")
    acceleration: Array = x[..., 3:] + cross(x[..., :3], arm) + cross(omega, cross(omega, arm))
    return acceleration


def point_jacobian(robot: Model, q: npt.ArrayLike, frame: str, point: npt.ArrayLike) -> Array:
    """``J``, ``(..., 3, nv)``: ``J v`` is the `point_velocity`, and ``J' f`` the torques of a force at the point.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        frame: Name of the frame or body that the point moves with.
        point: In the axes of the frame, ``(..., 3)``, in meters.
    """
    J = frame_jacobian(robot, q, frame, "aligned")
    return _moved(J, _arm(robot, q, frame, point))


def point_jacobian_rate(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, frame: str, point: npt.ArrayLike) -> Array:
    """``dJ/dt``, ``(..., 3, nv)``: ``J a + dJ/dt v`` is the `point_acceleration`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        frame: Name of the frame or body that the point moves with.
        point: In the axes of the frame, ``(..., 3)``, in meters.
    """
    arm = _arm(robot, q, frame, point)
    omega = frame_velocity(robot, q, v, frame, "aligned")[..., :3]
    J, rate = frame_jacobian(robot, q, frame, "aligned"), frame_jacobian_rate(robot, q, v, frame, "aligned")
    turning = _crossed(J[..., :3, :], cross(omega, arm))
    moved: Array = _moved(rate, arm) + turning
    return moved


def _checked(point: npt.ArrayLike) -> Array:
    found = np.asarray(point, dtype=np.float64)
    if found.shape[-1:] != (3,) or not np.isfinite(found).all():
        raise InputError(f"point has shape {found.shape}; it needs three finite numbers, in its last axis")
    return found


def _arm(robot: Model, q: npt.ArrayLike, frame: str, point: npt.ArrayLike) -> Array:
    """From the frame's origin to the point, in the world's axes."""
    if not isinstance(frame, str):
        raise InputError(f"points are those of one frame, not of {frame!r}")
    return rotate(frame_placement(robot, q, frame).rotation, _checked(point))


def _crossed(columns: Array, arm: Array) -> Array:
    """``columns x arm``, ``(..., 3, nv)``."""
    return np.swapaxes(cross(np.swapaxes(columns, -1, -2), arm[..., None, :]), -1, -2)


def _moved(J: Array, arm: Array) -> Array:
    """The linear part of a Jacobian at the end of an arm."""
    moved: Array = J[..., 3:, :] + _crossed(J[..., :3, :], arm)
    return moved
