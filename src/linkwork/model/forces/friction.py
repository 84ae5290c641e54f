# SPDX-License-Identifier: BSD-3-Clause
"""Friction of joints by regularized laws: Coulomb, Stribeck and viscous friction, brakes, clutches, backlash.

The sign of a velocity ``v`` is ``tanh(v / slip)``: what sticks creeps, with ``slip atanh(torque / bound)``. Laws are
explicit in time; a joint of inertia ``I`` needs steps below ``2 I slip / bound``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkwork.model.arrays import Floats
from linkwork.model.forces.base import ForceElement, OnJoints
from linkwork.model.motions import Motion, function_of_time

ONE = 20.0
"""``tanh`` of this is one to rounding."""


def sign(v: Any, slip: float) -> Any:
    """The sign of a velocity, ``tanh(v / slip)``."""
    return np.tanh(np.clip(v / slip, -ONE, ONE))


@dataclass(frozen=True, eq=False)
class Friction(OnJoints):
    """Friction of a joint: ``-(c + (s - c) exp(-(v / u)²)) sign(v) - b v``, Coulomb, Stribeck and viscous; a brake.

    Args:
        joint: A joint with one coordinate, or weights of several by name.
        coulomb: Torque or force ``c`` while it slides: a number; or a function of time or a table ``(times, values)``,
            of a brake.
        static: Torque ``s`` at which it breaks away; by default ``coulomb``.
        stribeck: Velocity ``u`` over which the one goes over into the other.
        viscous: Factor ``b`` of the velocity.
        slip: Velocity within which the sign changes (``tanh(v / slip)``).
    """

    coulomb: Motion = 0.0
    static: float | None = None
    stribeck: float = 0.01
    viscous: float = 0.0
    slip: float = 1e-3

    def __post_init__(self) -> None:
        self._numbers(stribeck=self.stribeck, viscous=self.viscous, slip=self.slip)
        if min(self.stribeck, self.slip) <= 0 or self.viscous < 0:
            numbers_of_friction = f"stribeck {self.stribeck:g}, slip {self.slip:g}, viscous {self.viscous:g}"
            raise self._error(f"velocities must be > 0 and viscous friction >= 0; found {numbers_of_friction}")
        for name in ("coulomb", "static"):
            value = getattr(self, name)
            if isinstance(value, (int, float)) and not 0 <= value < np.inf:
                raise self._error(f"{name} friction is {value:g}, needs a finite number >= 0")
        super().__post_init__()

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        v = rate[0]
        bound = function_of_time(self.coulomb, type(self).__name__)(time)
        if self.static is not None:
            bound = bound + (self.static - bound) * np.exp(-1.0 * np.clip(v / self.stribeck, -ONE, ONE) ** 2)
        return [-(bound * sign(v, self.slip)) - self.viscous * v]

    def regressor(self, v: npt.ArrayLike) -> Floats:
        """Columns of ``[coulomb, static, viscous]`` in the torque that moving takes, ``(..., 3)``.

        Torques of inverse dynamics are linear in these three; ``stribeck`` and ``slip`` are those of the element.

        Args:
            v: Rates of its coordinate, ``(...)``.
        """
        rate = np.asarray(v, dtype=np.float64)
        side, slow = sign(rate, self.slip), np.exp(-((rate / self.stribeck) ** 2))
        columns: Floats = np.stack([(1.0 - slow) * side, slow * side, rate], axis=-1)
        return columns


@dataclass(frozen=True, eq=False)
class _BetweenJoints(ForceElement):
    """A torque between two shafts, along ``q_first - ratio q_second``; the second may be the frame (None)."""

    first: str
    second: str | None = None
    ratio: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        self._numbers(ratio=self.ratio)
        if self.second is not None and (self.ratio == 0 or self.first == self.second):
            raise self._error(
                f"joins '{self.first}' and '{self.second}' by the ratio {self.ratio:g}, needs two joints, ratio != 0"
            )
        super().__post_init__()

    @property
    def joints(self) -> Mapping[str, float]:
        """Both joints."""
        return {self.first: 1.0} | ({} if self.second is None else {self.second: -self.ratio})

    def _positive(self, **values: float) -> None:
        self._numbers(**values)
        for name, value in values.items():
            if value <= 0:
                raise self._error(f"{name} is {value:g}, needs a number > 0")

    def renamed(self, name: str, place: Callable[[str], str], joint: Callable[[str], str]) -> Self:
        """A copy on other names.

        Args:
            name: Its new name.
            place: New name of a body or frame.
            joint: New name of a joint.
        """
        second = None if self.second is None else joint(self.second)
        watched = tuple(joint(other) for other in self.watched)
        return replace(self, name=name, first=joint(self.first), second=second, watched=watched)


@dataclass(frozen=True, eq=False)
class Clutch(_BetweenJoints):
    """A friction clutch between two shafts: at most ``capacity`` of torque, against ``v_first - ratio v_second``.

    Args:
        first: A joint.
        second: Another; None: the frame, which makes it a brake.
        capacity: Torque that it transmits while it slips: a number, a function of time, or a table ``(times, values)``.
        ratio: Turns of the first for one of the second, engaged.
        slip: Velocity within which the sign of slipping changes (``tanh(v / slip)``).
    """

    capacity: Motion = field(kw_only=True)
    slip: float = field(default=1e-3, kw_only=True)

    def __post_init__(self) -> None:
        self._positive(slip=self.slip)
        super().__post_init__()

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        return [-(function_of_time(self.capacity, str(self))(time) * sign(rate[0], self.slip))]


@dataclass(frozen=True, eq=False)
class OneWayClutch(_BetweenJoints):
    """A freewheel: the first shaft may overtake the second, and is held when it would fall behind.

    Args:
        first: A joint.
        second: Another; None: the frame, which makes it a backstop.
        capacity: The most torque.
        ratio: Turns of the first for one of the second, engaged.
        slip: Velocity within which it engages (``tanh(v / slip)``).
    """

    capacity: float = field(kw_only=True)
    slip: float = field(default=1e-3, kw_only=True)

    def __post_init__(self) -> None:
        self._positive(capacity=self.capacity, slip=self.slip)
        super().__post_init__()

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        return [self.capacity * sign(np.maximum(-1.0 * rate[0], 0.0), self.slip)]


@dataclass(frozen=True, eq=False)
class Backlash(_BetweenJoints):
    """Play between two shafts or in a joint: free within ``gap``, a stiff stop with damping at both of its ends.

    Args:
        first: A joint.
        second: Another, geared by ``ratio``; None: the frame.
        gap: The whole play, in rad or m.
        stiffness: Of the teeth beyond it.
        damping: While they touch; they never pull.
        center: Where ``q_first - ratio q_second`` is in the middle of the play.
        ratio: Turns of the first for one of the second.
    """

    gap: float = field(kw_only=True)
    stiffness: float = field(kw_only=True)
    damping: float = field(default=0.0, kw_only=True)
    center: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        self._numbers(gap=self.gap, damping=self.damping, center=self.center)
        self._positive(stiffness=self.stiffness)
        if self.gap < 0 or self.damping < 0:
            raise self._error(f"gap is {self.gap:g} and damping {self.damping:g}, both need to be >= 0")
        super().__post_init__()

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        total: Any = 0.0
        for side in (1.0, -1.0):
            deep = side * (x[0] - self.center) - 0.5 * self.gap
            push = np.maximum(self.stiffness * deep + self.damping * side * rate[0], 0.0)
            total = total - side * deep.where_below(0.0, 0.0, push)
        return [total]

    def energy(self, x: Floats) -> Floats:
        """Elastic energy, ``(...)``.

        Args:
            x: Coordinate, ``(..., 1)``.
        """
        deep = np.maximum(np.abs(x[..., 0] - self.center) - 0.5 * self.gap, 0.0)
        energy: Floats = 0.5 * self.stiffness * deep**2
        return energy
