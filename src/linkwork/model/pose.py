"""The constants of a rigid body as users give them: where it is (`Placement`), what it weighs (`Inertia`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError

Floats = npt.NDArray[np.float64]
VectorLike = Sequence[float] | npt.NDArray[np.float64]


def _frozen(values: npt.ArrayLike, shape: tuple[int, ...], what: str) -> Floats:
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise ModelError(f"{what} has shape {array.shape}, needs {shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what} holds NaN or infinity")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Placement:
    """Position and rotation of one frame in another: ``x_outer = rotation @ x_inner + position``.

    >>> Placement((0, 0, 1)) * Placement((1, 0, 0))
    Placement(position=[1.0, 0.0, 1.0])

    Args:
        position: Of the inner frame's origin, in meters.
        rotation: Matrix, ``(3, 3)``; by default no rotation.
    """

    position: Floats = field(default_factory=lambda: np.zeros(3))
    rotation: Floats = field(default_factory=lambda: np.eye(3))

    def __init__(self, position: VectorLike = (0.0, 0.0, 0.0), rotation: npt.ArrayLike | None = None) -> None:
        R = np.eye(3) if rotation is None else np.array(rotation, dtype=np.float64)
        object.__setattr__(self, "position", _frozen(position, (3,), "position"))
        object.__setattr__(self, "rotation", _frozen(R, (3, 3), "rotation"))
        if not np.allclose(R @ R.T, np.eye(3), atol=1e-9) or np.linalg.det(R) < 0:
            raise ModelError("rotation is not a rotation matrix (R Rᵀ = 1, det R = 1)")

    @staticmethod
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
    def quaternion(x: float, y: float, z: float, w: float, position: VectorLike = (0.0, 0.0, 0.0)) -> Placement:
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
            raise ModelError("a quaternion of zero length is no rotation")
        return Placement(position, quaternion_matrix(np.array([x, y, z, w]) / n))

    @staticmethod
    def _known(position: Floats, rotation: Floats) -> Placement:
        """From what is known to be right."""
        placement = object.__new__(Placement)
        for name, array in (("position", position), ("rotation", rotation)):
            array.setflags(write=False)
            object.__setattr__(placement, name, array)
        return placement

    def __mul__(self, other: Placement) -> Placement:
        R = self.rotation
        return Placement._known(R @ other.position + self.position, tidy(R @ other.rotation))

    def inverse(self) -> Placement:
        """The outer frame seen from the inner one."""
        return Placement._known(-self.rotation.T @ self.position, self.rotation.T)

    def __repr__(self) -> str:
        turned = "" if np.array_equal(self.rotation, np.eye(3)) else f", rotation={self.rotation.tolist()}"
        return f"Placement(position={self.position.tolist()}{turned})"


PlacementLike = Placement | VectorLike
"""A `Placement`, or three numbers for a position alone."""


def as_placement(value: PlacementLike) -> Placement:
    """A placement from what users write for one."""
    return value if isinstance(value, Placement) else Placement(value)


def axis_rotation(axis: VectorLike, angle: float) -> Floats:
    """Rotation matrix about a unit axis (Rodrigues); exact for quarter turns about coordinate axes."""
    x, y, z = (float(k) for k in axis)
    c, s = np.cos(angle), np.sin(angle)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return tidy(np.eye(3) + s * K + (1 - c) * (K @ K))


def quaternion_matrix(q: Floats) -> Floats:
    """Rotation matrix of a unit quaternion ``x y z w``."""
    x, y, z, w = q
    return tidy(
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )
    )


def quaternion_of(rotation: Floats) -> Floats:
    """The quaternion ``x y z w`` of a rotation matrix, w not negative.

    ``4 q qᵀ`` is linear in the rotation; its longest column is the safest to divide by.
    """
    (a, b, c), (d, e, f), (g, h, i) = rotation
    outer = np.array(
        [
            [1 + a - e - i, b + d, c + g, h - f],
            [b + d, 1 - a + e - i, f + h, c - g],
            [c + g, f + h, 1 - a - e + i, d - b],
            [h - f, c - g, d - b, 1 + a + e + i],
        ]
    )
    column = outer[:, int(np.argmax(np.diag(outer)))]
    found: Floats = column / np.linalg.norm(column)
    return -found if found[3] < 0 else found


def aligning_rotation(axis: Floats) -> Floats:
    """A rotation whose z column is the unit vector ``axis``: a signed permutation for a coordinate axis."""
    k = int(np.argmax(np.abs(axis)))
    x = np.zeros(3)
    x[(k + 1) % 3] = 1.0
    x = x - axis * (axis @ x)
    x /= np.linalg.norm(x)
    return tidy(np.column_stack([x, np.cross(axis, x), axis]))


def tidy(R: Floats) -> Floats:
    """Round-off below one unit of 1.0 is not structure: make it exactly 0, 1 or -1."""
    whole = np.rint(R)
    return np.where(np.abs(R - whole) < 4e-16, whole + 0.0, R)
