# SPDX-License-Identifier: BSD-3-Clause
"""Disc cams: exact profiles from the law of the follower, pressure angles, curvature; as couplings and by contact.

Norton, Cam Design and Manufacturing Handbook, chapters 7 and 8. The cam turns counterclockwise about the origin by
``theta``; ``c(theta)`` is the center of the roller in the frame, where a translating follower moves along y at
``x = offset``, and a swinging arm turns about ``(pivot, 0)``. In the axes of the cam ``P = R(-theta) c``, so that
``P' = R(-theta) (c' - J c)`` with ``J`` a quarter turn. A flat face across y touches at ``(s', base + s)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, Unpack

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError
from linkwork.inputs import count
from linkwork.model.arrays import Floats
from linkwork.model.constraints.base import ConstraintOptions
from linkwork.model.constraints.functions import Follows
from linkwork.model.extrusions import extrusion
from linkwork.model.forces.base import ForceElement
from linkwork.model.functions import Tape
from linkwork.model.motions import motion_at, motion_tape, value_and_rate
from linkwork.model.shapes import Mesh


class _Path(NamedTuple):
    """A curve and its first two derivatives, ``(..., 2)`` each."""

    at: Floats
    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class Cam:
    """A disc cam, by the law of its follower.

    Args:
        law: Displacement ``s(theta)`` of the follower, in m, or in rad of a swinging one, from 0 on: a profile, mostly
            ``periodic(sequence(...))``, or any function of the angle.
        base: Radius of the base circle, in m.
        follower: ``"roller"`` and ``"flat"`` translate along y, ``"swinging"`` is an arm with a roller.
        roller: Radius of the roller, in m; 0: a knife edge.
        offset: Of the line of a translating roller from the axis of the cam, along x, in m.
        arm: Length of a swinging arm, in m.
        pivot: Distance of its pivot from the axis of the cam, along x, in m.
    """

    law: Callable[[Any], Any]
    base: float
    follower: Literal["roller", "flat", "swinging"] = "roller"
    roller: float = 0.0
    offset: float = 0.0
    arm: float = 0.0
    pivot: float = 0.0

    def __post_init__(self) -> None:
        numbers = (self.base, self.roller, self.offset, self.arm, self.pivot)
        if self.follower not in ("roller", "flat", "swinging"):
            raise ModelError(f"follower is {self.follower!r}, needs 'roller', 'flat' or 'swinging'")
        if not np.isfinite(numbers).all() or self.base <= 0 or self.roller < 0:
            raise ModelError(f"a cam with base {self.base} and roller {self.roller}: needs base > 0 and roller >= 0")
        reach = self.base + self.roller
        if self.follower == "roller" and abs(self.offset) >= reach:
            raise ModelError(f"offset is {self.offset}, needs less than base and roller together ({reach:g})")
        if self.follower == "swinging" and not abs(self.pivot - self.arm) < reach < self.pivot + self.arm:
            raise ModelError(f"an arm of {self.arm} at {self.pivot} does not reach the base circle ({reach:g})")

    @cached_property
    def tape(self) -> Tape:
        """The law, recorded."""
        return motion_tape(self.law, "the law of a cam")

    def displacement(self, angle: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Displacement of the follower and its first two derivatives by the angle, ``(...)`` each.

        Args:
            angle: Of the cam, in rad, ``(...)``.
        """
        s, first, second = (x[..., 0] for x in motion_at(self.tape, angle))
        return s, first, second

    def _center(self, angle: npt.ArrayLike) -> _Path:
        """Where the center of the roller is in the frame."""
        s, d, dd = self.displacement(angle)
        if self.follower == "roller":
            height = float(np.sqrt((self.base + self.roller) ** 2 - self.offset**2))
            pairs = ((np.full_like(s, self.offset), height + s), (0 * s, d), (0 * s, dd))
            return _Path(*(np.stack(pair, axis=-1) for pair in pairs))
        reach = self.base + self.roller
        start = float(np.arccos((self.arm**2 + self.pivot**2 - reach**2) / (2 * self.arm * self.pivot)))
        along = np.stack([-np.cos(start + s), np.sin(start + s)], axis=-1)
        across = np.stack([np.sin(start + s), np.cos(start + s)], axis=-1)
        at = np.array([self.pivot, 0.0]) + self.arm * along
        d, dd = d[..., None], dd[..., None]
        return _Path(at, self.arm * d * across, self.arm * (dd * across - d**2 * along))

    def _pitch(self, angle: npt.ArrayLike) -> _Path:
        """The path of the center on the cam, in axes that the angle turns: those of the frame."""
        c = self._center(angle)
        first = c.first - _quarter(c.at)
        return _Path(c.at, first, c.second - _quarter(c.first) - _quarter(first))

    def contact_point(self, angle: npt.ArrayLike) -> Floats:
        """Where cam and follower touch, in the frame, ``(..., 2)``.

        Args:
            angle: Of the cam, in rad, ``(...)``.
        """
        if self.follower == "flat":
            s, first, _ = self.displacement(angle)
            return np.stack([first, self.base + s], axis=-1)
        path = self._pitch(angle)
        inward = -_quarter(path.first)
        points: Floats = path.at + self.roller * inward / np.linalg.norm(inward, axis=-1, keepdims=True)
        return points

    def profile(self, points: int = 360) -> Floats:
        """Points of the cam's contour in its own axes, ``(points, 2)``, counterclockwise.

        Args:
            points: Number of points.
        """
        angle = -np.linspace(0, 2 * np.pi, count(points, "points"), endpoint=False)
        x, y = np.moveaxis(self.contact_point(angle), -1, 0)
        c, s = np.cos(angle), np.sin(angle)
        return np.stack([c * x + s * y, c * y - s * x], axis=-1)

    def pressure_angle(self, angle: npt.ArrayLike) -> Floats:
        """Between the common normal and the motion of the follower, in rad, ``(...)``; below 30° as a rule.

        Args:
            angle: Of the cam, in rad, ``(...)``.
        """
        if self.follower == "flat":
            return np.zeros(np.shape(angle))
        outward = _quarter(self._pitch(angle).first)
        along = np.zeros_like(outward)
        along[..., 1] = 1.0
        if self.follower == "swinging":
            along = -_quarter(self._center(angle).at - np.array([self.pivot, 0.0]))
        turn = along[..., 0] * outward[..., 1] - along[..., 1] * outward[..., 0]
        angles: Floats = np.arctan2(turn, (along * outward).sum(axis=-1))
        return angles

    def curvature_radius(self, angle: npt.ArrayLike) -> Floats:
        """Radius of curvature of the contour where it touches, in m, ``(...)``; negative where it is hollow.

        A convex contour with less than zero after the roller was taken off is undercut: it does not exist.

        Args:
            angle: Of the cam, in rad, ``(...)``.
        """
        if self.follower == "flat":
            s, _, second = self.displacement(angle)
            return self.base + s + second
        path = self._pitch(angle)
        x, y = path.first[..., 0], path.first[..., 1]
        turn = y * path.second[..., 0] - x * path.second[..., 1]
        with np.errstate(divide="ignore"):
            radii: Floats = np.hypot(x, y) ** 3 / turn - self.roller
        return radii

    @property
    def undercut(self) -> bool:
        """Whether the contour crosses itself: the base circle is too small, or the roller too large."""
        angle = np.linspace(0, 2 * np.pi, 3600, endpoint=False)
        radius = self.curvature_radius(angle)
        return bool(((radius < 0) & (radius > -self.roller)).any() or (self.follower == "flat" and (radius < 0).any()))

    def follows(self, cam: str, follower: str, **options: Unpack[ConstraintOptions]) -> Follows:
        """The constraint ``q_follower = s(q_cam)``: cam and follower never part.

        Args:
            cam: Joint of the cam.
            follower: Joint of the follower, which slides along y, or turns outward where it swings.
            options: Those of `Constraint`: name, compliance, and more.
        """
        return Follows(follower, cam, self.law, **options)

    def contact(
        self, cam: str, follower: str, *, stiffness: float, damping: float = 0.0, exponent: float = 1.0, name: str = ""
    ) -> CamContact:
        """A force element: the exact profile pushes the follower and never pulls, so that it may jump.

        Args:
            cam: Joint of the cam.
            follower: Joint of the follower.
            stiffness: In N/m^exponent, along the coordinate of the follower (Nm/rad^exponent where it swings).
            damping: In N s/m, while it touches.
            exponent: Of the indentation: 1, or 1.5 (Hertz).
            name: Its name.
        """
        return CamContact(cam, follower, self.tape, stiffness, damping, exponent, name=name or f"{cam}:{follower}")

    def solid(self, thickness: float, points: int = 180) -> Mesh:
        """The disc as a mesh between ``z = -thickness / 2`` and ``thickness / 2``, for `Builder.shape`.

        Args:
            thickness: In m.
            points: Of its contour.
        """
        return extrusion(self.profile(points), thickness, "cam")


def _quarter(x: Floats) -> Floats:
    """Vectors of the plane turned by a quarter, counterclockwise."""
    return np.stack([-x[..., 1], x[..., 0]], axis=-1)


@dataclass(frozen=True, eq=False)
class CamContact(ForceElement):
    """A cam that pushes its follower: ``F = k d^e - c (x' - s' theta')`` where ``d = s(theta) - x > 0``; see `Cam`.

    The torque on the cam is ``-F s'(theta)``. Its coordinates are those of the follower and the cam.

    Args:
        cam: Joint of the cam.
        follower_joint: Joint of the follower.
        profile: The recorded law.
        stiffness: Of the contact.
        damping: While it touches.
        exponent: Of the indentation.
    """

    cam: str
    follower_joint: str
    profile: Tape
    stiffness: float
    damping: float = 0.0
    exponent: float = 1.0

    def __post_init__(self) -> None:
        self._numbers(stiffness=self.stiffness, damping=self.damping, exponent=self.exponent)
        if self.stiffness <= 0 or self.damping < 0 or self.exponent < 1:
            raise self._error("needs stiffness > 0, damping >= 0 and an exponent of 1 or more")
        super().__post_init__()

    @property
    def joints(self) -> Mapping[str, float]:
        """Both joints."""
        return {self.follower_joint: 1.0, self.cam: 1.0}

    @property
    def sums(self) -> Sequence[Mapping[str, float]]:
        """Each joint is a coordinate."""
        return ({self.follower_joint: 1.0}, {self.cam: 1.0})

    @property
    def coordinates(self) -> int:
        """Follower and cam."""
        return 2

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        lift, slope = value_and_rate(self.profile, x[1])
        deep = lift - x[0]
        size = np.maximum(deep, 0.0)
        push = self.stiffness * (
            size if self.exponent == 1 else np.maximum(size, np.finfo(float).tiny) ** self.exponent
        )
        push = np.maximum(push - self.damping * (rate[0] - slope * rate[1]), 0.0)
        force = deep.where_below(0.0, 0.0, push)
        return [force, -1.0 * slope * force]

    def energy(self, x: Floats) -> Floats:
        """Elastic energy, ``(...)``.

        Args:
            x: Follower and cam, ``(..., 2)``.
        """
        lift = motion_at(self.profile, x[..., 1])[0][..., 0]
        deep = np.maximum(lift - x[..., 0], 0.0)
        energy: Floats = self.stiffness * deep ** (self.exponent + 1) / (self.exponent + 1)
        return energy

    def renamed(self, name: str, place: Callable[[str], str], joint: Callable[[str], str]) -> Self:
        """A copy on other names.

        Args:
            name: Its new name.
            place: New name of a body or frame.
            joint: New name of a joint.
        """
        watched = tuple(joint(other) for other in self.watched)
        return replace(self, name=name, cam=joint(self.cam), follower_joint=joint(self.follower_joint), watched=watched)
