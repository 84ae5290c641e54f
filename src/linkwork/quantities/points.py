# SPDX-License-Identifier: BSD-3-Clause
"""Points of bodies: where they are, how they move, and their Jacobians, for points that differ from call to call.

A point is given in the axes of a frame; many points of a frame are a batch, and points of several frames are computed
in one call. What moves with the frame all the time may as well be a frame of its own (`Mechanism.with_frame`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import Quantity, rows_of
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.functions import evaluator_of


def point_position(robot: Model, q: npt.ArrayLike, frame: str | Sequence[str], point: npt.ArrayLike) -> Array:
    """Where a point is in the world, ``(..., 3)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        frame: Name of the frame or body that the point moves with, or several of them: results then have one more
            axis, before the last ones.
        point: In the axes of the frame, ``(..., 3)``, in meters; of several frames ``(..., frames, 3)``, or ``(3,)``.
    """
    return _of_point(robot, "point_position", frame, point, q)


def point_velocity(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, frame: str | Sequence[str], point: npt.ArrayLike
) -> Array:
    """The velocity of a point in the world, ``(..., 3)``.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        frame: Name of the frame or body that the point moves with, or several of them: results then have one more
            axis, before the last ones.
        point: In the axes of the frame, ``(..., 3)``, in meters; of several frames ``(..., frames, 3)``, or ``(3,)``.
    """
    return _of_point(robot, "point_velocity", frame, point, q, v)


def point_acceleration(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike, frame: str | Sequence[str], point: npt.ArrayLike
) -> Array:
    """The classical acceleration of a point in the world, ``(..., 3)``, without gravity.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        a: Joint accelerations, ``(..., nv)``.
        frame: Name of the frame or body that the point moves with, or several of them: results then have one more
            axis, before the last ones.
        point: In the axes of the frame, ``(..., 3)``, in meters; of several frames ``(..., frames, 3)``, or ``(3,)``.
    """
    return _of_point(robot, "point_acceleration", frame, point, q, v, a)


def point_jacobian(robot: Model, q: npt.ArrayLike, frame: str | Sequence[str], point: npt.ArrayLike) -> Array:
    """``J``, ``(..., 3, nv)``: ``J v`` is the `point_velocity`, and ``J' f`` the torques of a force at the point.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        frame: Name of the frame or body that the point moves with, or several of them: results then have one more
            axis, before the last ones.
        point: In the axes of the frame, ``(..., 3)``, in meters; of several frames ``(..., frames, 3)``, or ``(3,)``.
    """
    return _of_point(robot, "point_jacobian", frame, point, q)


def point_jacobian_rate(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, frame: str | Sequence[str], point: npt.ArrayLike
) -> Array:
    """``dJ/dt``, ``(..., 3, nv)``: ``J a + dJ/dt v`` is the `point_acceleration`.

    Args:
        robot: The mechanism.
        q: Configuration, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        frame: Name of the frame or body that the point moves with, or several of them: results then have one more
            axis, before the last ones.
        point: In the axes of the frame, ``(..., 3)``, in meters; of several frames ``(..., frames, 3)``, or ``(3,)``.
    """
    return _of_point(robot, "point_jacobian_rate", frame, point, q, v)


def _of_point(
    robot: Model, quantity: Quantity, frame: str | Sequence[str], point: npt.ArrayLike, *state: npt.ArrayLike
) -> Array:
    """A quantity of one point, or of one of each frame."""
    names = frame_names(frame)
    points = rows_of(point, "point", (3,))
    if isinstance(frame, str):
        result: Array = evaluator_of(robot, quantity, frame)(*state, points[..., None, :])
        return result[..., 0, :, :] if "jacobian" in quantity else result[..., 0, :]
    if points.ndim > 1 and points.shape[-2] != len(names):
        raise InputError(
            f"point has shape {points.shape}; {len(names)} frames need (..., {len(names)}, 3), or (3,) for all of them"
        )
    each: Array = evaluator_of(robot, quantity, names)(
        *state, np.broadcast_to(points, (*points.shape[:-2], len(names), 3))
    )
    return each
