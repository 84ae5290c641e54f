# SPDX-License-Identifier: BSD-3-Clause
"""Joint types: one class each, and the atoms that kernels know them by (`kernels.joints`).

| joint     | q                                  | v                        | motion subspace S     |
|-----------|------------------------------------|--------------------------|-----------------------|
| Revolute  | angle                              | rate                     | {rz}                  |
| Prismatic | length                             | rate                     | {tz}                  |
| Helical   | angle                              | rate                     | rz + pitch tz         |
| Universal | two angles                         | rates                    | two Revolutes         |
| Spherical | quaternion x y z w                 | angular, body frame      | {rx ry rz}            |
| Planar    | x, y, cos, sin                     | x, y, turn, body frame   | {tx ty rz}            |
| Free      | position, quaternion               | linear, angular, body    | {tx ty tz rx ry rz}   |

Kernels know atoms: the z axis of a body is the axis of its one-DoF joint, S is a selection of unit axes
(`axis_of`), and a universal joint is two revolutes around a massless link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import ModelError
from linkwork.model import lie
from linkwork.model.arrays import Floats, VectorLike, finite_array

REVOLUTE, PRISMATIC, HELICAL, SPHERICAL, PLANAR, FREE = range(6)

DOF = (1, 1, 1, 3, 3, 6)
"""Degrees of freedom of each kind of atom."""

_NAMED_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}


def unit_axis(axis: str | VectorLike) -> Floats:
    """A unit vector from ``"x"``, ``"-z"`` or three numbers."""
    if isinstance(axis, str):
        if axis not in _NAMED_AXES:
            raise ModelError(f"axis '{axis}' is none of {', '.join(_NAMED_AXES)}; give one of them or three numbers")
        axis = _NAMED_AXES[axis]
    values = np.array(finite_array(axis, (3,), "axis"))
    length = float(np.linalg.norm(values))
    if length < 1e-9:
        raise ModelError("axis has zero length, needs a direction")
    values /= length
    whole = np.rint(values)
    return finite_array(np.where(np.abs(values - whole) < 4e-16, whole + 0.0, values), (3,), "axis")


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint type: its coordinates q and v, and its configuration space. ``neutral`` is its q at the identity."""

    neutral: ClassVar[tuple[float, ...]] = (0.0,)
    nv: ClassVar[int] = 1
    unit: ClassVar[tuple[int, int] | None] = None
    """Coordinates of q that have unit length together, as (start, count); None where there are none."""
    group: ClassVar[lie.Group] = lie.VECTOR
    """Its configuration space as a Lie group: integrate, difference, random."""
    width: ClassVar[float] = np.pi
    """Half the width of random configurations without limits: in radians, or in meters where q has any."""

    @property
    def nq(self) -> int:
        """Number of coordinates q."""
        return len(self.neutral)

    @property
    def kind_name(self) -> str:
        """Name of the type in lower case, for messages."""
        return type(self).__name__.lower()


@dataclass(frozen=True, eq=False)
class _OneAxis(Joint):
    axis: Floats

    def __init__(self, axis: str | VectorLike = "z") -> None:
        object.__setattr__(self, "axis", unit_axis(axis))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.axis.tolist()})"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Revolute(_OneAxis):
    """Rotation about an axis; the angle is a number, with or without limits.

    Args:
        axis: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's placement.
    """


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Prismatic(_OneAxis):
    """Translation along an axis.

    Args:
        axis: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's placement.
    """

    width: ClassVar[float] = 1.0


@converted
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Helical(_OneAxis):
    """A screw: translation along an axis, coupled to the rotation about it.

    Args:
        axis: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's placement.
        pitch: Meters per radian.
    """

    pitch: float = 0.0

    def __init__(self, axis: str | VectorLike = "z", pitch: float = 0.0) -> None:
        super().__init__(axis)
        object.__setattr__(self, "pitch", float(pitch))
        if not np.isfinite(self.pitch):
            raise ModelError(f"helical joint: pitch {pitch} must be finite")


@dataclass(frozen=True, eq=False)
class Universal(Joint):
    """Rotation about ``first``, then about ``second``, which moves with the first rotation.

    Args:
        first: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's placement.
        second: Options of the second axis.
    """

    neutral: ClassVar[tuple[float, ...]] = (0.0, 0.0)
    nv: ClassVar[int] = 2
    first: Floats
    second: Floats

    def __init__(self, first: str | VectorLike = "x", second: str | VectorLike = "y") -> None:
        object.__setattr__(self, "first", unit_axis(first))
        object.__setattr__(self, "second", unit_axis(second))
        if np.linalg.norm(np.cross(self.first, self.second)) < 1e-6:
            raise ModelError("universal joint: the two axes are parallel, which leaves one degree of freedom")


@dataclass(frozen=True, eq=False)
class Spherical(Joint):
    """A ball joint: q is a quaternion ``x y z w``, v the angular velocity in the body's frame."""

    neutral: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, 1.0)
    nv: ClassVar[int] = 3
    unit: ClassVar[tuple[int, int] | None] = (0, 4)
    group: ClassVar[lie.Group] = lie.SO3


@dataclass(frozen=True, eq=False)
class Planar(_OneAxis):
    """Translation in the plane normal to ``axis``, and rotation about it.

    q is ``x y cos sin``, v is ``[linear x y, angular]`` in the body's frame.

    Args:
        axis: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's placement.
    """

    neutral: ClassVar[tuple[float, ...]] = (0.0, 0.0, 1.0, 0.0)
    nv: ClassVar[int] = 3
    unit: ClassVar[tuple[int, int] | None] = (2, 2)
    group: ClassVar[lie.Group] = lie.SE2
    width: ClassVar[float] = 1.0

    def __init__(self, axis: str | VectorLike = "z") -> None:
        super().__init__(axis)


@dataclass(frozen=True, eq=False)
class Free(Joint):
    """A floating base: q is ``x y z, qx qy qz qw``, v is ``[linear, angular]`` in the body's frame."""

    neutral: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    nv: ClassVar[int] = 6
    unit: ClassVar[tuple[int, int] | None] = (3, 4)
    group: ClassVar[lie.Group] = lie.SE3
    width: ClassVar[float] = 1.0


@dataclass(frozen=True, eq=False)
class Fixed(Joint):
    """No motion: the bodies are merged, their frames stay."""

    neutral: ClassVar[tuple[float, ...]] = ()
    nv: ClassVar[int] = 0


@dataclass(frozen=True, eq=False)
class Atom:
    """A joint as kernels know it: its kind, the axis that becomes z (None: axes stay), and the pitch."""

    kind: int
    axis: Floats | None = None
    pitch: float = 0.0


def atoms_of(joint: Joint) -> tuple[Atom, ...]:
    """The atoms of a joint, from parent to child."""
    return _ATOMS[type(joint)](joint)


_ATOMS: dict[type[Joint], Callable[..., tuple[Atom, ...]]] = {
    Revolute: lambda j: (Atom(REVOLUTE, j.axis),),
    Prismatic: lambda j: (Atom(PRISMATIC, j.axis),),
    Helical: lambda j: (Atom(HELICAL, j.axis, j.pitch),),
    Universal: lambda j: (Atom(REVOLUTE, j.first), Atom(REVOLUTE, j.second)),
    Spherical: lambda j: (Atom(SPHERICAL),),
    Planar: lambda j: (Atom(PLANAR, j.axis),),
    Free: lambda j: (Atom(FREE),),
}
