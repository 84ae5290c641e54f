# SPDX-License-Identifier: BSD-3-Clause
"""Constraints between two frames: loop joints, contacts, rods. One class each.

Rows are in this order, rotation first:

| constraint   | rows | rotation                   | translation                                 |
|--------------|------|----------------------------|---------------------------------------------|
| Weld         | 6    | none                       | none                                        |
| Hinge        | 5    | about the axis             | none                                        |
| Slider       | 5    | none                       | along the axis                              |
| Cylindrical  | 4    | about the axis             | along the axis                              |
| Cardan       | 4    | about both axes            | none                                        |
| Point        | 3    | free                       | none                                        |
| PlaneOnPlane | 3    | about the normal           | in the plane                                |
| PointOnLine  | 2    | free                       | along the axis                              |
| PointOnPlane | 1    | free                       | in the plane                                |
| Rod          | 1    | free                       | at constant distance                        |
| Rolling      | 3    | without slipping           | at one height (two rows have no position)   |

Kernels (`kernels.constrained.rows`) know a pair of frames by two codes (`model.pairs`): which relative rotation and
which relative translation is free; each class is one choice of both. The error of a pair is expressed in the axes of
the first frame. Where its origins coincide (`MEET`), the error is a vector and its rate the rate of that vector, so
that rows have the span of MuJoCo's, and points the span of Pinocchio's, also where the loop is open. Rotation
is measured by ``2 sin(angle / 2)``, which has no other zero than the true one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linkwork.conversions import converted_but
from linkwork.errors import ModelError
from linkwork.model.arrays import Floats, VectorLike, numbers
from linkwork.model.constraints.base import WORLD, Constraint, Renaming
from linkwork.model.joints import unit_axis
from linkwork.model.pairs import ABOUT_Z, ANY_SHIFT, ANY_TURN, CARDAN, MEET, NO_TURN, ON_LINE, ON_PLANE, ROD, ROLLING
from linkwork.model.placement import Placement, PlacementLike, as_placement
from linkwork.model.rotations import aligning_rotation

TURN_ROWS = (0, 3, 2, 1)
"""Rows of each kind of rotation."""
SHIFT_ROWS = (0, 3, 2, 1, 1, 3)
"""Rows of each kind of translation."""


def _length(x: object, what: str) -> float:
    """A length above zero."""
    length = numbers(x, what)
    if length.ndim or not (np.isfinite(length) and length > 0):
        raise ModelError(f"{what} is {x!r}, needs a finite length > 0")
    return float(length)


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Pair(Constraint):
    """Constrains the relative motion of two frames, each on a body or on the world.

    Args:
        first: Name of a body or frame, or ``"world"``.
        second: The other place; forces are those that act on it.
        first_at: The frame, in that of the first place (three numbers, or a `Placement`).
        second_at: The frame, in that of the second place.
    """

    turns: ClassVar[int] = ANY_TURN
    shifts: ClassVar[int] = ANY_SHIFT
    first: str
    second: str
    first_at: PlacementLike = field(default=(0.0, 0.0, 0.0), kw_only=True)
    second_at: PlacementLike = field(default=(0.0, 0.0, 0.0), kw_only=True)

    def __post_init__(self) -> None:
        self._set(first_at=as_placement(self.first_at), second_at=as_placement(self.second_at))
        for place in self.places:
            if not isinstance(place, str) or not place:
                raise ModelError(f"{type(self).__name__}: {place!r} is not the name of a body or frame")
        if not self.rows:
            raise ModelError(f"{type(self).__name__} has no rows: give the class turns or shifts, codes of model.pairs")
        self._settle()

    @property
    def rows(self) -> int:
        """Rows of rotation, then of translation."""
        return TURN_ROWS[self.turns] + SHIFT_ROWS[self.shifts]

    @property
    def blocks(self) -> tuple[int, ...]:
        """Rows of rotation, rows of translation."""
        return tuple(n for n in (TURN_ROWS[self.turns], SHIFT_ROWS[self.shifts]) if n)

    @property
    def places(self) -> tuple[str, ...]:
        """First and second."""
        return self.first, self.second

    @property
    def size(self) -> float:
        """Its length or radius, in meters; 0 where it has none."""
        return 0.0

    def frames(self) -> tuple[Placement, Placement]:
        """The frames that meet, in the frames of the two places; z is the axis where there is one."""
        return as_placement(self.first_at), as_placement(self.second_at)

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        ends: dict[str, Any] = {}
        for end, place, at in (("first", self.first, self.first_at), ("second", self.second, self.second_at)):
            ends[end] = names.place_or_world(place)
            ends[f"{end}_at"] = names.world_at * as_placement(at) if place == WORLD else at
        return ends


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Weld(Pair):
    """Two frames coincide. Its force is ``[moment, force]``."""

    turns: ClassVar[int] = NO_TURN
    shifts: ClassVar[int] = MEET


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Point(Pair):
    """Two origins coincide: a spherical joint that closes a loop."""

    shifts: ClassVar[int] = MEET


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Axial(Pair):
    """A pair with an axis.

    Args:
        axis: Axis in the first frame: ``"x"``, ``"-z"`` and the like, or three numbers.
        second_axis: Axis in the second frame; by default the same numbers.
    """

    axis: str | VectorLike = field(default="z", kw_only=True)
    second_axis: str | VectorLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        first = unit_axis(self.axis)
        self._set(axis=first, second_axis=first if self.second_axis is None else unit_axis(self.second_axis))
        super().__post_init__()

    def frames(self) -> tuple[Placement, Placement]:
        """The frames that meet, z along the axis."""
        first, second = super().frames()
        turned = [Placement((0, 0, 0), _z_along(np.asarray(axis))) for axis in (self.axis, self.second_axis)]
        return first * turned[0], second * turned[1]


def _z_along(axis: Floats) -> Floats:
    return np.eye(3) if np.array_equal(axis, (0.0, 0.0, 1.0)) else aligning_rotation(axis)


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Hinge(Axial):
    """Rotation about an axis is free: a revolute joint that closes a loop."""

    turns: ClassVar[int] = ABOUT_Z
    shifts: ClassVar[int] = MEET


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Slider(Axial):
    """Translation along an axis is free: a prismatic joint that closes a loop."""

    turns: ClassVar[int] = NO_TURN
    shifts: ClassVar[int] = ON_LINE


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Cylindrical(Axial):
    """Rotation about an axis and translation along it are free: a cylindrical joint that closes a loop."""

    turns: ClassVar[int] = ABOUT_Z
    shifts: ClassVar[int] = ON_LINE


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class PlaneOnPlane(Axial):
    """The second frame's plane lies in the first's: a planar joint that closes a loop. ``axis`` is the normal."""

    turns: ClassVar[int] = ABOUT_Z
    shifts: ClassVar[int] = ON_PLANE


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class PointOnLine(Axial):
    """The second origin stays on the line through the first along its axis."""

    shifts: ClassVar[int] = ON_LINE


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class PointOnPlane(Axial):
    """The second origin stays in the plane through the first, normal to its axis."""

    shifts: ClassVar[int] = ON_PLANE


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Cardan(Pair):
    """A universal joint that closes a loop: an axis of the first stays normal to an axis of the second.

    Args:
        axis: Axis in the first frame: ``"x"``, ``"-z"`` and the like, or three numbers.
        second_axis: Axis in the second frame.
    """

    turns: ClassVar[int] = CARDAN
    shifts: ClassVar[int] = MEET
    axis: str | VectorLike = field(default="x", kw_only=True)
    second_axis: str | VectorLike = field(default="y", kw_only=True)

    def __post_init__(self) -> None:
        self._set(axis=unit_axis(self.axis), second_axis=unit_axis(self.second_axis))
        super().__post_init__()

    def frames(self) -> tuple[Placement, Placement]:
        """The frames that meet: x of the first and y of the second along the axes."""
        first, second = super().frames()
        to_x = _z_along(np.asarray(self.axis)) @ np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0.0]])
        to_y = _z_along(np.asarray(self.second_axis)) @ np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0.0]])
        return first * Placement((0, 0, 0), to_x), second * Placement((0, 0, 0), to_y)


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Rod(Pair):
    """Two origins stay at a distance. Its error is ``(distance² - length²) / (2 length)``.

    Args:
        length: The distance, in meters.
    """

    shifts: ClassVar[int] = ROD
    length: float = field(kw_only=True)

    def __post_init__(self) -> None:
        self._set(length=_length(self.length, "Rod (where it has none, use Point): length"))
        super().__post_init__()

    @property
    def size(self) -> float:
        """The length."""
        return float(self.length)


@converted_but("gains", "length", "radius")
@dataclass(frozen=True, eq=False)
class Rolling(Axial):
    """A ball (or an upright wheel) about the second origin rolls on a plane of the first, to which ``axis`` is normal.

    Two rows constrain velocities alone (the point of contact does not slip), the third keeps the center at its height.

    Args:
        radius: Of the ball or wheel, in meters.
    """

    shifts: ClassVar[int] = ROLLING
    radius: float = field(kw_only=True)

    def __post_init__(self) -> None:
        self._set(radius=_length(self.radius, "Rolling: radius"))
        super().__post_init__()

    @property
    def size(self) -> float:
        """The radius."""
        return float(self.radius)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Rows against slipping are nonholonomic."""
        return False, False, True
