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
        position: Of the inner frame's origin, in metres.
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
            position: Of the origin, in metres.
        """
        R = axis_rotation((0, 0, 1), yaw) @ axis_rotation((0, 1, 0), pitch) @ axis_rotation((1, 0, 0), roll)
        return Placement(position, R)

    @staticmethod
    def quaternion(x: float, y: float, z: float, w: float, position: VectorLike = (0.0, 0.0, 0.0)) -> Placement:
        """From a quaternion, normalised here.

        Args:
            x: First imaginary part.
            y: Second imaginary part.
            z: Third imaginary part.
            w: Real part.
            position: Of the origin, in metres.
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


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass, centre of mass and rotational inertia of a body.

    Args:
        mass: In kilograms.
        com: Centre of mass in the body's frame, in metres.
        rotational: Rotational inertia about the centre of mass in the body's axes, ``(3, 3)``, in kg m²; by default
            that of a point mass, zero.
    """

    mass: float
    com: Floats
    rotational: Floats

    def __init__(
        self,
        mass: float,
        com: VectorLike = (0.0, 0.0, 0.0),
        rotational: npt.ArrayLike | None = None,
    ) -> None:
        values = np.zeros((3, 3)) if rotational is None else np.array(rotational, dtype=np.float64)
        if values.shape == (3,):
            values = np.diag(values)
        object.__setattr__(self, "mass", float(mass))
        object.__setattr__(self, "com", _frozen(com, (3,), "centre of mass"))
        object.__setattr__(self, "rotational", _frozen(values, (3, 3), "rotational inertia"))

    @staticmethod
    def zero() -> Inertia:
        """No mass at all."""
        return Inertia(0.0)

    @staticmethod
    def box(mass: float, size: VectorLike, com: VectorLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid box of edge lengths ``size``.

        Args:
            mass: In kilograms.
            size: Edge lengths along x, y, z, in metres.
            com: Its centre, in metres.
        """
        x, y, z = (float(k) for k in size)
        return Inertia(mass, com, np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) * mass / 12)

    @staticmethod
    def sphere(mass: float, radius: float, com: VectorLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid ball.

        Args:
            mass: In kilograms.
            radius: In metres.
            com: Its centre, in metres.
        """
        return Inertia(mass, com, np.eye(3) * 0.4 * mass * radius**2)

    @staticmethod
    def rod(mass: float, start: VectorLike, end: VectorLike, radius: float = 0.01) -> Inertia:
        """A solid cylinder from ``start`` to ``end``.

        Args:
            mass: In kilograms.
            start: Centre of one end, in metres.
            end: Centre of the other end, in metres.
            radius: In metres.
        """
        a, b = np.array(start, dtype=np.float64), np.array(end, dtype=np.float64)
        length = float(np.linalg.norm(b - a))
        if length == 0:
            raise ModelError("a rod needs two different ends")
        R = aligning_rotation((b - a) / length)
        side = mass * (3 * radius**2 + length**2) / 12
        return Inertia(mass, (a + b) / 2, R @ np.diag([side, side, mass * radius**2 / 2]) @ R.T)

    def about_origin(self) -> Floats:
        """Rotational inertia about the origin of the body's frame."""
        c = self.com
        total: Floats = self.rotational + self.mass * (np.dot(c, c) * np.eye(3) - np.outer(c, c))
        return total

    def moved(self, placement: Placement) -> Inertia:
        """The same matter, seen from the outer frame of ``placement``.

        Args:
            placement: Where its frame stands in the outer one.
        """
        R = placement.rotation
        return Inertia(self.mass, R @ self.com + placement.position, R @ self.rotational @ R.T)

    def __add__(self, other: Inertia) -> Inertia:
        mass = self.mass + other.mass
        if mass == 0:
            return Inertia(0.0, (0, 0, 0), self.rotational + other.rotational)
        com = (self.mass * self.com + other.mass * other.com) / mass
        total = np.zeros((3, 3))
        for part in (self, other):
            d = part.com - com
            total += part.rotational + part.mass * (np.dot(d, d) * np.eye(3) - np.outer(d, d))
        return Inertia(mass, com, total)

    def validate_mass(self, body: str) -> None:
        """Raise `ModelError` unless the mass is one.

        Args:
            body: What errors call it.
        """
        if not self.mass >= 0 or not np.isfinite(self.mass):
            raise ModelError(f"body '{body}' has mass {self.mass}; a mass is finite and not negative", subject=body)

    def validate(self, body: str) -> None:
        """Raise `ModelError` unless some distribution of mass has this inertia.

        Args:
            body: What errors call it.
        """
        self.validate_mass(body)
        I = self.rotational
        scale = float(np.abs(I).max())
        if not np.allclose(I, I.T, rtol=0, atol=1e-9 * scale):
            raise ModelError(f"body '{body}': the rotational inertia is not symmetric", subject=body)
        # Files round: moments of inertia are given to a few digits.
        slack = 1e-5 * scale + 1e-12 * self.mass
        low, middle, high = np.linalg.eigvalsh(I)
        if low < -slack or low + middle < high - slack:
            raise ModelError(
                f"body '{body}' has principal moments of inertia {low:.4g}, {middle:.4g}, {high:.4g}: no "
                "distribution of mass has these (none is negative, and no two sum to less than the third). "
                "Check the units, and that the inertia is given about the centre of mass",
                subject=body,
            )

    def __repr__(self) -> str:
        return f"Inertia(mass={self.mass:g}, com={self.com.tolist()})"
