# SPDX-License-Identifier: BSD-3-Clause
"""Points of bodies: where they are, how they move, and their Jacobians, for points that differ from call to call.

A point is given in the axes of a frame; many points of a frame are a batch. What moves with the frame all the time may
as well be a frame of its own (`Mechanism.with_frame`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import Quantity
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import evaluator_of


def point_position(robot: Model, q: npt.ArrayLike, frame: str, point: npt.ArrayLike) -> Array:
    """Where a point is in the world, ``(..., 3)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        frame: Name of the frame or body that the point moves with.
        point: In the axes of the frame, ``(..., 3)``, in meters.
    """
    return _of_point(robot, "point_position", frame, point, q)


def point_velocity(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, frame: str, point: npt.ArrayLike) -> Array:
    """The velocity of a point in the world, ``(..., 3)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        frame: Name of the frame or body that the point moves with.
        point: In the axes of the frame, ``(..., 3)``, in meters.
    """
    return _of_point(robot, "point_velocity", frame, point, q, v)


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
    return _of_point(robot, "point_acceleration", frame, point, q, v, a)


def point_jacobian(robot: Model, q: npt.ArrayLike, frame: str, point: npt.ArrayLike) -> Array:
    """``J``, ``(..., 3, nv)``: ``J v`` is the `point_velocity`, and ``J' f`` the torques of a force at the point.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        frame: Name of the frame or body that the point moves with.
        point: In the axes of the frame, ``(..., 3)``, in meters.
    """
    return _of_point(robot, "point_jacobian", frame, point, q)


def point_jacobian_rate(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, frame: str, point: npt.ArrayLike) -> Array:
    """``dJ/dt``, ``(..., 3, nv)``: ``J a + dJ/dt v`` is the `point_acceleration`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        frame: Name of the frame or body that the point moves with.
        point: In the axes of the frame, ``(..., 3)``, in meters.
    """
    return _of_point(robot, "point_jacobian_rate", frame, point, q, v)


def _of_point(robot: Model, quantity: Quantity, frame: str, point: npt.ArrayLike, *state: npt.ArrayLike) -> Array:
    """A quantity of one point."""
    if not isinstance(frame, str):
        raise InputError(f"points are those of one frame, not of {frame!r}")
    found = np.asarray(point, dtype=np.float64)
    if found.shape[-1:] != (3,) or not np.isfinite(found).all():
        raise InputError(f"point has shape {found.shape}; it needs three finite numbers, in its last axis")
    result: Array = evaluator_of(robot, quantity, frame)(*state, found[..., None, :])
    return result[..., 0, :, :] if "jacobian" in quantity else result[..., 0, :]
