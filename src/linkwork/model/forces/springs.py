# SPDX-License-Identifier: BSD-3-Clause
"""Springs, dampers, stops, gas springs and cylinders, between points and on joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.forces.base import Between, OnJoints
from linkwork.model.motions import Motion, function_of_time
from linkwork.model.profiles import curve_or_function


@dataclass(frozen=True, eq=False)
class SpringDamper(Between):
    """A spring and a damper between two points: ``-k (x - free_length) - c x' + preload``, positive where it pushes.

    Args:
        a: A body or frame, or a point of one: ``("arm", (0.1, 0, 0))``.
        b: The other.
        stiffness: In N/m; or a function of the stretch ``x - free_length`` that returns the force that pulls, such as a
            table (`linkwork.profiles`).
        damping: In N s/m; or a function of the rate that returns the force that pulls.
        free_length: Where the spring is at rest, in m.
        preload: Force at that length, in N, positive where it pushes.
    """

    stiffness: float | Callable[[Any], Any] = 0.0
    damping: float | Callable[[Any], Any] = 0.0
    free_length: float = 0.0
    preload: float = 0.0

    def __post_init__(self) -> None:
        self._numbers(free_length=self.free_length, preload=self.preload)
        for name in ("stiffness", "damping"):
            if not callable(getattr(self, name)):
                self._numbers(**{name: getattr(self, name)})
        super().__post_init__()

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        return [_spring(self.stiffness, x[0] - self.free_length) + _spring(self.damping, rate[0]) + self.preload]

    def energy(self, x: Floats) -> Floats | None:
        """Elastic energy, ``(...)``; None where stiffness is a function.

        Args:
            x: Length, ``(..., 1)``.
        """
        return _spring_energy(self.stiffness, self.preload, x[..., 0] - self.free_length)


def _spring(law: float | Callable[[Any], Any], x: Any) -> Any:
    """The force of a spring or damper against ``x``."""
    return -curve_or_function(law)(x) if callable(law) else -(law * x)


def _spring_energy(stiffness: float | Callable[[Any], Any], preload: float, stretch: Floats) -> Floats | None:
    if callable(stiffness):
        return None
    energy: Floats = 0.5 * stiffness * stretch**2 - preload * stretch
    return energy


@dataclass(frozen=True, eq=False)
class Spring(SpringDamper):
    """A spring between two points; see `SpringDamper`."""

    damping: float | Callable[[Any], Any] = field(default=0.0, init=False, repr=False)


@dataclass(frozen=True, eq=False)
class Damper(SpringDamper):
    """A damper between two points: ``Damper(a, b, damping=20)``; see `SpringDamper`."""

    stiffness: float | Callable[[Any], Any] = field(default=0.0, init=False, repr=False)
    free_length: float = field(default=0.0, init=False, repr=False)
    preload: float = field(default=0.0, init=False, repr=False)


@dataclass(frozen=True, eq=False)
class BumpStop(Between):
    """A stop that pushes two points apart where they are nearer than a length: ``k (length - x)^exponent - c x'``.

    Args:
        a: A body or frame, or a point of one.
        b: The other.
        length: Distance at which it begins to push, in m.
        stiffness: In N/m^exponent.
        damping: In N s/m, while it touches.
        exponent: Of the indentation, 1 or more; it never pulls.
    """

    length: float = field(kw_only=True)
    stiffness: float = field(kw_only=True)
    damping: float = field(default=0.0, kw_only=True)
    exponent: float = field(default=1.0, kw_only=True)

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        deep = np.maximum(self.length - x[0], 0.0)
        shape = 1.0 if self.exponent == 1 else np.maximum(deep, np.finfo(float).tiny) ** (self.exponent - 1.0)
        push = self.stiffness * deep * shape - self.damping * rate[0]
        return [(x[0] - self.length).where_below(0.0, np.maximum(push, 0.0), 0.0)]

    def energy(self, x: Floats) -> Floats:
        """Elastic energy, ``(...)``.

        Args:
            x: Length, ``(..., 1)``.
        """
        deep = np.maximum(self.length - x[..., 0], 0.0)
        energy: Floats = self.stiffness * deep ** (self.exponent + 1) / (self.exponent + 1)
        return energy


@dataclass(frozen=True, eq=False)
class GasSpring(Between):
    """A gas spring: ``F (V / (V + A (x - length)))^exponent``, with ``V`` the volume of gas at the length.

    Args:
        a: A body or frame, or a point of one.
        b: The other.
        force: At the length, in N; it pushes.
        length: In m.
        volume: Of the gas at that length, in m³.
        area: Of the rod, by which the volume grows with the length, in m².
        exponent: Polytropic: 1 is isothermal, 1.4 adiabatic.
        damping: In N s/m.
    """

    force: float = field(kw_only=True)
    length: float = field(kw_only=True)
    volume: float = field(kw_only=True)
    area: float = field(kw_only=True)
    exponent: float = field(default=1.3, kw_only=True)
    damping: float = field(default=0.0, kw_only=True)

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        ratio = 1.0 + (self.area / self.volume) * (x[0] - self.length)
        return [self.force * ratio**-self.exponent - self.damping * rate[0]]

    def energy(self, x: Floats) -> Floats:
        """Elastic energy, ``(...)``, zero at the length.

        Args:
            x: Length, ``(..., 1)``.
        """
        ratio, n = 1.0 + (self.area / self.volume) * (x[..., 0] - self.length), self.exponent
        work = np.log(ratio) if n == 1 else (ratio ** (1 - n) - 1) / (1 - n)
        energy: Floats = -self.force * self.volume / self.area * work
        return energy


@dataclass(frozen=True, eq=False)
class HydraulicCylinder(Between):
    """A hydraulic or pneumatic cylinder: ``p(t) area - p_rod(t) rod_area - c x'``, positive where it extends.

    Args:
        a: A body or frame, or a point of one.
        b: The other.
        pressure: On the piston, in Pa: a number, a function of time, or a table ``(times, values)``.
        area: Of the piston, in m².
        rod_pressure: On the side of the rod.
        rod_area: Of the ring around the rod, in m².
        damping: In N s/m.
    """

    pressure: Motion = field(kw_only=True)
    area: float = field(kw_only=True)
    rod_pressure: Motion = field(default=0.0, kw_only=True)
    rod_area: float = field(default=0.0, kw_only=True)
    damping: float = field(default=0.0, kw_only=True)

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        head, rod = (function_of_time(p, str(self))(time) for p in (self.pressure, self.rod_pressure))
        return [self.area * head - self.rod_area * rod - self.damping * rate[0]]


@dataclass(frozen=True, eq=False)
class TorsionSpring(OnJoints):
    """A spring and a damper on a joint, or on a sum of joints (a shaft): ``-k (q - rest) - c v + preload``.

    Args:
        joint: A joint with one coordinate, or weights of several by name.
        stiffness: In N m/rad or N/m; or a function of ``q - rest`` that returns the torque against it.
        damping: In N m s/rad or N s/m; or a function of the velocity: dry friction is
            ``lambda v: 0.3 * np.tanh(v / 0.01)``.
        rest: Where the spring is at rest.
        preload: Torque there.
    """

    stiffness: float | Callable[[Any], Any] = 0.0
    damping: float | Callable[[Any], Any] = 0.0
    rest: float = 0.0
    preload: float = 0.0

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        return [_spring(self.stiffness, x[0] - self.rest) + _spring(self.damping, rate[0]) + self.preload]

    def energy(self, x: Floats) -> Floats | None:
        """Elastic energy, ``(...)``; None where stiffness is a function.

        Args:
            x: Coordinate, ``(..., 1)``.
        """
        return _spring_energy(self.stiffness, self.preload, x[..., 0] - self.rest)
