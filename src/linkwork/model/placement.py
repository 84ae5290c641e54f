# SPDX-License-Identifier: BSD-3-Clause
"""Where one frame is in another: `Placement`, an element of SE(3), alone or in batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError, ModelError, WrongOperand
from linkwork.inputs import rows_of
from linkwork.model.arrays import Floats, VectorLike, finite
from linkwork.model.rotations import axis_rotation, quaternion_matrix, quaternion_of, rotate, tidy


@dataclass(frozen=True, eq=False)
class Placement:
    """Position and rotation of an inner frame in an outer one: ``x_outer = rotation @ x_inner + position``.

    Placements multiply (``world_body * body_tool``), have an `inverse`, and `act` on points. Leading axes are batch
    axes: they broadcast, and ``placement[k]`` is one of a batch.

    >>> Placement((0, 0, 1)) * Placement((1, 0, 0))
    Placement(position=[1.0, 0.0, 1.0])

    Args:
        position: Of the inner frame's origin, ``(..., 3)``, in meters.
        rotation: Matrix, ``(..., 3, 3)``; by default no rotation.
        check: Whether to check that these are finite numbers and rotation matrices. Without, both are given as arrays
            of doubles, which become read-only.
    """

    position: Floats
    """``(..., 3)``, in meters."""
    rotation: Floats
    """``(..., 3, 3)``"""

    def __init__(
        self,
        position: npt.ArrayLike = (0.0, 0.0, 0.0),
        rotation: npt.ArrayLike | None = None,
        *,
        check: bool = True,
    ) -> None:
        p: Any = position
        R: Any = np.eye(3) if rotation is None else rotation
        if check is not False:
            p, R = _checked(p, R)
        p.setflags(False)
        R.setflags(False)
        fields = self.__dict__  # the class is frozen
        fields["position"], fields["rotation"] = p, R

    @staticmethod
    @converted
    def rpy(roll: float, pitch: float, yaw: float, position: VectorLike = (0.0, 0.0, 0.0)) -> Placement:
        """From URDF's fixed-axis angles: ``Rz(yaw) Ry(pitch) Rx(roll)``.

        Args:
            roll: Angle about x, in radians.
            pitch: Angle about y, in radians.
            yaw: Angle about z, in radians.
            position: Of the origin, in meters.
        """
        R = axis_rotation((0, 0, 1), yaw) @ axis_rotation((0, 1, 0), pitch) @ axis_rotation((1, 0, 0), roll)
        return Placement(position, R)

    @staticmethod
    @converted
    def from_quaternion(x: float, y: float, z: float, w: float, position: VectorLike = (0.0, 0.0, 0.0)) -> Placement:
        """From a quaternion, normalized here.

        Args:
            x: First imaginary part.
            y: Second imaginary part.
            z: Third imaginary part.
            w: Real part.
            position: Of the origin, in meters.
        """
        n = float(np.sqrt(x * x + y * y + z * z + w * w))
        if not n > 1e-6:
            raise ModelError(f"quaternion ({x}, {y}, {z}, {w}) has zero length: it needs a direction to normalize to")
        return Placement(position, quaternion_matrix(np.array([x, y, z, w]) / n))

    @property
    def quaternion(self) -> Floats:
        """The rotation as a unit quaternion ``x y z w``, ``(..., 4)``, w not negative."""
        return quaternion_of(self.rotation)

    def __mul__(self, other: Placement) -> Placement:
        if not isinstance(other, Placement):
            raise WrongOperand(
                f"a Placement multiplies Placements, not {type(other).__name__}: points are moved by .act(points)"
            )
        return Placement(
            rotate(self.rotation, other.position) + self.position, tidy(self.rotation @ other.rotation), check=False
        )

    def inverse(self) -> Placement:
        """The outer frame, seen from the inner one."""
        R = np.swapaxes(self.rotation, -1, -2)
        return Placement(rotate(-R, self.position), R, check=False)

    def act(self, points: npt.ArrayLike) -> Floats:
        """Points of the inner frame, seen from the outer one, ``(..., 3)``.

        Args:
            points: ``(..., 3)``; leading axes broadcast with those of the placement.
        """
        moved: Floats = rotate(self.rotation, _points(points, self.position.shape[:-1])) + self.position
        return moved

    def __getitem__(self, index: Any) -> Placement:
        if self.position.ndim == 1:
            raise TypeError("a single Placement cannot be indexed: use .position and .rotation")
        chosen = index if isinstance(index, tuple) else (index,)
        if not any(k is Ellipsis for k in chosen):
            chosen = (*chosen, Ellipsis)
        whole = slice(None)
        return Placement(self.position[(*chosen, whole)], self.rotation[(*chosen, whole, whole)], check=False)

    def __iter__(self) -> NoReturn:
        raise TypeError("a Placement does not unpack: use .position and .rotation; index a batch, as in placement[0]")

    def __repr__(self) -> str:
        turned = "" if (self.rotation == np.eye(3)).all() else f", rotation={self.rotation.tolist()}"
        return f"Placement(position={self.position.tolist()}{turned})"


def _points(points: npt.ArrayLike, lead: tuple[int, ...]) -> Floats:
    """Points that a placement with these leading axes moves."""
    array = rows_of(points, "points", (3,))
    try:
        np.broadcast_shapes(array.shape[:-1], lead)
    except ValueError:
        raise InputError(f"leading axes do not broadcast: points {array.shape[:-1]}, placement {lead}") from None
    return array


def _checked(position: object, rotation: object) -> tuple[Floats, Floats]:
    """Both as arrays of the same leading axes."""
    p, R = finite(position, "position"), finite(rotation, "rotation")
    for array, shape, what in ((p, (3,), "position"), (R, (3, 3), "rotation")):
        if array.shape[-len(shape) :] != shape:
            raise ModelError(f"{what} has shape {array.shape}, needs {shape}, or that after leading batch axes")
    if not np.allclose(R @ np.swapaxes(R, -1, -2), np.eye(3), atol=1e-9) or (np.linalg.det(R) < 0).any():
        raise ModelError("rotation is not a rotation matrix (R Rᵀ = 1, det R = 1)")
    lead = p.shape[:-1]
    if lead == R.shape[:-2]:
        return p, R
    try:
        lead = np.broadcast_shapes(lead, R.shape[:-2])
    except ValueError:
        raise ModelError(f"position has shape {p.shape}, rotation {R.shape}: leading axes do not broadcast") from None
    return np.array(np.broadcast_to(p, (*lead, 3))), np.array(np.broadcast_to(R, (*lead, 3, 3)))


PlacementLike = Placement | VectorLike
"""A `Placement`, or three numbers for a position alone."""


def as_placement(value: PlacementLike) -> Placement:
    """A single placement from any of the forms that users may write."""
    placement = value if isinstance(value, Placement) else Placement(value)
    if placement.position.ndim != 1:
        shape = placement.position.shape
        raise ModelError(f"position has shape {shape}, needs (3,): one placement, not a batch")
    return placement
