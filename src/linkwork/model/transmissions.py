# SPDX-License-Identifier: BSD-3-Clause
"""Obstacles that tendons wrap around, and transmissions of actuators that are no path.

A transmission is a length whose derivative are the moment arms of an actuator, as a tendon is. `Model.tendons` has
them after the tendons of a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import ModelError
from linkwork.model.arrays import Floats

Names = Callable[[str], str]


@converted
@dataclass(frozen=True)
class Wrap:
    """A sphere or cylinder that a tendon wraps around on its way from one site to the next (MJCF: ``<geom>``).

    Args:
        frame: Where its center is; the z axis is that of a cylinder, which has no ends.
        radius: In meters.
        cylinder: Whether it is a cylinder, and not a sphere.
        side: A frame on the side where the tendon passes; empty: on either. One inside of the sphere or cylinder lets
            the tendon pass inside.
        inside: Whether the tendon passes inside.
    """

    frame: str
    radius: float
    cylinder: bool = False
    side: str = ""
    inside: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.radius < np.inf:
            raise ModelError(f"radius of an obstacle is {self.radius}, needs a finite number > 0")
        if self.inside and not self.side:
            raise ModelError("a tendon that passes inside of an obstacle needs a side")

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames that it stands on."""
        return (self.frame, self.side) if self.side else (self.frame,)

    def renamed(self, place: Names) -> Wrap:
        """A copy on other names.

        Args:
            place: New name of a frame.
        """
        return replace(self, frame=place(self.frame), side=place(self.side) if self.side else "")


class Transmission(ABC):
    """A length that is neither of joints nor of a path."""

    @property
    @abstractmethod
    def frames(self) -> tuple[str, ...]:
        """Frames that it acts on."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that it acts on by name."""
        return ()

    @abstractmethod
    def renamed(self, place: Names, joint: Names) -> Self:
        """A copy on other names."""

    @abstractmethod
    def scaled(self, length: float) -> Self:
        """That of a mechanism whose lengths are multiplied."""

    @abstractmethod
    def mirrored(self, S: Floats) -> Self:
        """That of the mirror image; ``S`` are signs of x, y and z."""


@dataclass(frozen=True)
class _Wrench(Transmission):
    """A force and a moment per unit of the actuator's force."""

    on: str
    gear: tuple[float, ...]

    def __post_init__(self) -> None:
        entries = tuple(np.asarray(self.gear, dtype=np.float64).reshape(-1).tolist())
        if len(entries) != 6 or not np.isfinite(entries).all():
            raise ModelError(f"a wrench on '{self.on}' has the gear {entries}, needs six finite numbers")
        object.__setattr__(self, "gear", entries)

    def scaled(self, length: float) -> Self:
        """A copy with gears of a mechanism of another size: moments scale with a length more than forces.

        Args:
            length: Factor of all lengths.
        """
        return self._multiplied(np.array([1.0] * 3 + [length] * 3))

    def mirrored(self, S: Floats) -> Self:
        """That of the mirror image: moments turn the other way.

        Args:
            S: Signs of x, y and z.
        """
        return self._multiplied(np.concatenate([S, -S]))

    def _multiplied(self, factors: Floats) -> Self:
        return replace(self, gear=tuple((np.array(self.gear) * factors).tolist()))


@dataclass(frozen=True)
class SiteWrench(_Wrench):
    """A force and a moment on a site, in its axes: of a propeller, or of a hand on a tool (MJCF: ``site``).

    Args:
        on: The frame.
        gear: Force along x, y, z and moment about x, y, z per unit of the actuator's force.
        reference: A frame that takes the opposite, in whose axes the gear is then; the length is the pose of ``on``
            in it times the gear. Empty: none, and the length is zero.
    """

    reference: str = ""

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames that it acts on."""
        return (self.on, self.reference) if self.reference else (self.on,)

    def renamed(self, place: Names, joint: Names) -> Self:
        """A copy on other names.

        Args:
            place: New name of a frame.
            joint: New name of a joint.
        """
        return replace(self, on=place(self.on), reference=place(self.reference) if self.reference else "")


@dataclass(frozen=True)
class JointWrench(_Wrench):
    """A torque on a ball joint, or a force and a torque on a free joint (MJCF: ``joint`` and ``jointinparent``).

    Args:
        on: The joint.
        gear: Force along the world's axes, zero of a ball joint, and torque about the body's axes per unit of force.
        in_parent: Whether the torque is about the axes of the parent.
    """

    in_parent: bool = False

    @property
    def frames(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def joints(self) -> tuple[str, ...]:
        """The joint."""
        return (self.on,)

    def renamed(self, place: Names, joint: Names) -> Self:
        """A copy on other names.

        Args:
            place: New name of a frame.
            joint: New name of a joint.
        """
        return replace(self, on=joint(self.on))


@dataclass(frozen=True)
class SliderCrank(Transmission):
    """The position of a slider that a rod connects to a crank (MJCF: ``cranksite``).

    Args:
        crank: The frame of the pin on the crank.
        slider: The frame of the slider, which moves along its z axis.
        rod: Length of the rod, in meters.
    """

    crank: str
    slider: str
    rod: float

    def __post_init__(self) -> None:
        if not 0 <= self.rod < np.inf:
            raise ModelError(f"the rod of a slider-crank has the length {self.rod}, needs a finite number >= 0")

    @property
    def frames(self) -> tuple[str, ...]:
        """Crank and slider."""
        return self.crank, self.slider

    def renamed(self, place: Names, joint: Names) -> Self:
        """A copy on other names.

        Args:
            place: New name of a frame.
            joint: New name of a joint.
        """
        return replace(self, crank=place(self.crank), slider=place(self.slider))

    def scaled(self, length: float) -> Self:
        """A copy with gears of a mechanism of another size: moments scale with a length more than forces.

        Args:
            length: Factor of all lengths.
        """
        return replace(self, rod=self.rod * length)

    def mirrored(self, S: Floats) -> Self:
        """A mirrored copy; its axis is that of its frame.

        Args:
            S: Signs of x, y and z.
        """
        if S[2] < 0:
            raise ModelError(f"a slider-crank on '{self.slider}', whose axis is z, has no mirror image across xy")
        return self
