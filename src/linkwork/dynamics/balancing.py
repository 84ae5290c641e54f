# SPDX-License-Identifier: BSD-3-Clause
"""Balancing: counterweights that make the shaking force of a machine small.

A point of mass ``m`` at ``r`` on a body with origin ``o``, rotation ``R``, angular velocity ``w`` and acceleration
``a`` adds ``-m (o'' + (a x + w x w x) R r)`` to the shaking force, which is linear in ``r``: positions of
counterweights of given masses are least squares over a motion (Berkof and Lowen, 1969, where the sum vanishes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import above_zero
from linkwork.model.arrays import Floats
from linkwork.model.inertia import Inertia
from linkwork.model.model import Model
from linkwork.quantities.functions import frame_acceleration, frame_placement, frame_velocity

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Balance(Generic[M]):
    """Counterweights, and the shaking force of a motion with them."""

    robot: M
    """The mechanism with them."""
    counterweights: Mapping[str, Floats]
    """Where they are, in the frames of their bodies, ``(3,)``."""
    before: Floats
    """Shaking forces without them, ``(..., 3)``: minus the rate of momentum, in the world's axes."""
    after: Floats
    """And with them."""

    @property
    def reduction(self) -> float:
        """The root mean square of the shaking force with counterweights, as a part of that without."""
        return float(np.sqrt((self.after**2).sum() / (self.before**2).sum()))


def shaking_force(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Floats:
    """The force of moving masses on the ground, minus the rate of momentum, ``(..., 3)``, in the world's axes.

    Args:
        robot: The mechanism.
        q: Configurations, ``(..., nq)``.
        v: Joint velocities, ``(..., nv)``.
        a: Joint accelerations, ``(..., nv)``.
    """
    bodies = robot.body_names
    origin, spread = _point_accelerations(robot, q, v, a, bodies)
    seen = (robot.inertias[name].moved(robot.frames[name].placement.inverse()) for name in bodies)
    total: Floats = np.zeros((*origin.shape[:-2], 3))
    for k, inertia in enumerate(seen):
        total = total - inertia.mass * (origin[..., k, :] + spread[..., k, :, :] @ inertia.com)
    return total


def balance(robot: M, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike, masses: Mapping[str, float]) -> Balance[M]:
    """Places of counterweights, one on each of some bodies, at which the shaking force of a motion is least.

    The motion stays as it is: it is that of a driven machine. Of positions that do not matter (along the axis of a
    plane linkage), those at the origin are taken.

    Args:
        robot: The mechanism.
        q: Configurations of the motion, ``(..., nq)``: ``run.q``.
        v: Joint velocities, ``(..., nv)``.
        a: Joint accelerations, ``(..., nv)``: ``run.acceleration``.
        masses: Of the counterweights, by body, in kg.
    """
    if not masses:
        raise InputError("masses is empty: give the mass of a counterweight for each body that has one")
    weights = {name: above_zero(mass, f"masses['{name}']") for name, mass in masses.items()}
    for name in weights:
        robot.inertias[name]  # raises where there is no such body
    before = shaking_force(robot, q, v, a)
    origin, spread = _point_accelerations(robot, q, v, a, tuple(weights))
    column = np.array(list(weights.values()))
    rest = before - (column[:, None] * origin).sum(axis=-2)
    columns = np.moveaxis(spread * column[:, None, None], -3, -2).reshape(-1, 3 * len(weights))
    places, *_ = np.linalg.lstsq(columns, rest.reshape(-1), rcond=1e-10)
    at = dict(zip(weights, places.reshape(-1, 3), strict=True))
    inertias = dict(robot.inertias)
    for name, place in at.items():
        point = Inertia(weights[name], place, np.zeros((3, 3)))
        inertias[name] = inertias[name] + point.moved(robot.frames[name].placement)
    balanced = replace(robot, inertias=inertias)
    return Balance(balanced, at, before, shaking_force(balanced, q, v, a))


def _point_accelerations(
    robot: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike, bodies: tuple[str, ...]
) -> tuple[Floats, Floats]:
    """Accelerations of bodies' origins, ``(..., bodies, 3)``, and matrices of accelerations of points in them."""
    R = frame_placement(robot, q, bodies).rotation
    omega = frame_velocity(robot, q, v, bodies, "aligned")[..., :3]
    rate = frame_acceleration(robot, q, v, a, bodies, "aligned")
    W = _skew(omega)
    return rate[..., 3:], (_skew(rate[..., :3]) + W @ W) @ R


def _skew(x: Floats) -> Floats:
    """The matrix of ``x ×``, ``(..., 3, 3)``."""
    upper = np.zeros((*x.shape, 3))
    upper[..., 2, 1], upper[..., 0, 2], upper[..., 1, 0] = x[..., 0], x[..., 1], x[..., 2]
    return upper - np.swapaxes(upper, -1, -2)
