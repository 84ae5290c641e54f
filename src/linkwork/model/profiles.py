# SPDX-License-Identifier: BSD-3-Clause
"""Functions of one number from data: piecewise polynomials, tables, splines, and motion profiles of machine design.

A `Profile` is called with numbers, arrays, or the variable of a function that is recorded (`functions.record`), so that
it stands wherever such functions do: in `Drive`, `Follows`, `FunctionCoupling` and laws of force elements.

Norton, Cam Design and Manufacturing Handbook, chapters 2 and 3, with ``s = (t - start) / duration``:

| profile          | displacement over its rise                                          | continuous           |
|------------------|---------------------------------------------------------------------|----------------------|
| trapezoid        | parabola, line, parabola: constant acceleration, cruise, deceleration | velocity           |
| cycloidal        | ``s - sin(2 pi s) / (2 pi)``                                        | acceleration         |
| polynomial_345   | ``10 s^3 - 15 s^4 + 6 s^5``                                         | acceleration         |
| modified_sine    | ``(pi s - sin(4 pi s) / 4) / (4 + pi)`` and two more pieces         | acceleration         |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError
from linkwork.model import series
from linkwork.model.arrays import Floats, finite, frozen
from linkwork.model.functions import TapeVariable
from linkwork.model.recordings import pickled_state


@dataclass(frozen=True, eq=False)
class Profile:
    """A piecewise polynomial of one number, constant beyond its ends.

    Args:
        breaks: Ends of the pieces, increasing, ``(n + 1,)``.
        coefficients: Of powers of the distance from the start of each piece, the constant first, ``(n, degree + 1)``.
    """

    breaks: Floats
    coefficients: Floats

    def __post_init__(self) -> None:
        breaks, coefficients = finite(self.breaks, "breaks"), finite(self.coefficients, "coefficients")
        if breaks.ndim != 1 or len(breaks) < 2 or not (np.diff(breaks) > 0).all():
            raise ModelError(f"breaks of a profile are {breaks}; needs two numbers or more that increase")
        if coefficients.ndim != 2 or len(coefficients) != len(breaks) - 1 or not coefficients.shape[1]:
            raise ModelError(
                f"coefficients of a profile have shape {coefficients.shape}, need ({len(breaks) - 1}, degree + 1)"
            )
        object.__setattr__(self, "breaks", frozen(breaks))
        object.__setattr__(self, "coefficients", frozen(coefficients))

    def __call__(self, x: Any) -> Any:
        """Its value: of a number or an array, or as an expression of a tape variable.

        Args:
            x: Where.
        """
        if isinstance(x, TapeVariable):
            return series.piecewise(x, self.breaks, self.coefficients)
        at = np.clip(np.asarray(x, dtype=np.float64), self.breaks[0], self.breaks[-1])
        piece = np.clip(np.searchsorted(self.breaks, at, side="right") - 1, 0, len(self.coefficients) - 1)
        offset, total = at - self.breaks[piece], np.zeros(at.shape)
        for column in self.coefficients.T[::-1]:
            total = column[piece] + offset * total
        return total if total.ndim else float(total)

    def __repr__(self) -> str:
        degree, (first, last) = self.coefficients.shape[1] - 1, self.breaks[[0, -1]]
        return f"<Profile of degree {degree}, {len(self.coefficients)} pieces from {first:g} to {last:g}>"


def table(x: npt.ArrayLike, y: npt.ArrayLike) -> Profile:
    """Straight lines between the points of a table; constant beyond them.

    Args:
        x: Where, increasing, ``(n,)``.
        y: Values there, ``(n,)``.
    """
    at, to = _points(x, y, 2)
    return Profile(at, np.column_stack([to[:-1], np.diff(to) / np.diff(at)]))


def spline(x: npt.ArrayLike, y: npt.ArrayLike, ends: str = "not-a-knot") -> Profile:
    """The cubic spline through the points of a table (`scipy.interpolate.CubicSpline`); constant beyond them.

    Args:
        x: Where, increasing, ``(n,)``.
        y: Values there, ``(n,)``.
        ends: Conditions at the ends: ``"not-a-knot"``, ``"clamped"`` (zero slopes), ``"natural"`` or ``"periodic"``.
    """
    from scipy.interpolate import CubicSpline

    at, to = _points(x, y, 2)
    return from_scipy(CubicSpline(at, to, bc_type=ends))


def from_scipy(curve: Any) -> Profile:
    """A piecewise polynomial or spline of `scipy.interpolate`, constant beyond its ends.

    Args:
        curve: A ``PPoly`` (``CubicSpline``, ``PchipInterpolator``, ``Akima1DInterpolator``), ``BPoly`` or ``BSpline``.
    """
    from scipy.interpolate import BPoly, BSpline, PPoly

    if isinstance(curve, BSpline):
        curve = PPoly.from_spline(curve)
    elif isinstance(curve, BPoly):
        curve = PPoly.from_bernstein_basis(curve)
    if not isinstance(curve, PPoly):
        raise ModelError(f"{type(curve).__name__} is not a piecewise polynomial of SciPy; use a CubicSpline")
    if curve.c.ndim != 2:
        raise ModelError(f"a curve of shape {curve.c.shape[2:]} is several functions; give one for each")
    pieces = np.flatnonzero(np.diff(curve.x) > 0)
    return Profile(np.append(curve.x[pieces], curve.x[-1]), curve.c[::-1, pieces].T)


def curve_or_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A curve of `scipy.interpolate` as a profile, which can be recorded; any other function itself.

    Args:
        function: The function.
    """
    return from_scipy(function) if type(function).__module__.startswith("scipy.interpolate") else function


def trapezoid(start: float, stop: float, duration: float, *, ramp: float = 1 / 3, begin: float = 0.0) -> Profile:
    """From rest at ``start`` to rest at ``stop``: constant acceleration, cruise, constant deceleration.

    Args:
        start: Value before it.
        stop: Value after it.
        duration: Seconds that it takes.
        ramp: The part of the duration that accelerating takes, and decelerating; at most 1/2.
        begin: Time at which it starts.
    """
    if not 0 < ramp <= 0.5:
        raise ModelError(f"ramp is {ramp}, needs a fraction of the duration, > 0 and <= 1/2")
    T, rise = _span(start, stop, duration)
    speed = rise / (1.0 - ramp)  # of s, by the duration
    half = 0.5 * speed * ramp
    pieces = [(0.0, 0.0, 0.5 * speed / ramp), (half, speed, 0.0), (rise - half, speed, -0.5 * speed / ramp)]
    ends = [0.0, ramp, 1.0 - ramp, 1.0]
    if ramp == 0.5:
        del pieces[1], ends[1]
    scaled = np.array([[start + c0, c1 / T, c2 / T**2] for c0, c1, c2 in pieces])
    return Profile(begin + T * np.array(ends), scaled)


def polynomial_345(start: float, stop: float, duration: float, *, begin: float = 0.0) -> Profile:
    """From rest at ``start`` to rest at ``stop`` by the 3-4-5 polynomial: no acceleration at both ends.

    Args:
        start: Value before it.
        stop: Value after it.
        duration: Seconds that it takes.
        begin: Time at which it starts.
    """
    T, rise = _span(start, stop, duration)
    powers = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0]) * rise / T ** np.arange(6)
    powers[0] = start
    return Profile(np.array([begin, begin + T]), powers[None])


@dataclass(frozen=True, eq=False)
class Rise:
    """From rest at ``start`` to rest at ``stop`` by a normalized displacement; constant beyond its ends.

    Args:
        start: Value before it.
        stop: Value after it.
        duration: Seconds or radians that it takes.
        begin: Where it starts.
        displacement: From 0 to 1, of the part of the duration that has passed.
    """

    start: float
    stop: float
    duration: float
    begin: float
    displacement: Callable[[Any], Any]

    def __post_init__(self) -> None:
        _span(self.start, self.stop, self.duration)

    @property
    def end(self) -> float:
        """Where it ends."""
        return self.begin + self.duration

    def __getstate__(self) -> dict[str, Any]:
        return pickled_state(self)

    def __call__(self, x: Any) -> Any:
        """Its value: of a number or an array, or as an expression of a tape variable.

        Args:
            x: Where.
        """
        s = np.minimum(np.maximum((x - self.begin) * (1.0 / self.duration), 0.0), 1.0)
        return self.start + (self.stop - self.start) * self.displacement(s)


def cycloidal(start: float, stop: float, duration: float, *, begin: float = 0.0) -> Rise:
    """From rest at ``start`` to rest at ``stop`` along a cycloid: a full sine of acceleration.

    Args:
        start: Value before it.
        stop: Value after it.
        duration: Seconds that it takes.
        begin: Time at which it starts.
    """
    return Rise(start, stop, duration, begin, lambda s: s - np.sin(2 * np.pi * s) * (0.5 / np.pi))


def modified_sine(start: float, stop: float, duration: float, *, begin: float = 0.0) -> Rise:
    """From rest at ``start`` to rest at ``stop`` by the modified sine: less velocity and torque than a cycloid.

    Args:
        start: Value before it.
        stop: Value after it.
        duration: Seconds that it takes.
        begin: Time at which it starts.
    """

    def displacement(s: Any) -> Any:
        quick, slow = 0.25 * np.sin(4 * np.pi * s), 2.25 * np.sin((np.pi / 3) * (1.0 + 4.0 * s))
        inner = _below(s, 7 / 8, 2.0 - slow, 4.0 - quick)
        return (np.pi * s + _below(s, 1 / 8, -quick, inner)) * (1.0 / (4.0 + np.pi))

    return Rise(start, stop, duration, begin, displacement)


@dataclass(frozen=True, eq=False)
class Joined:
    """Profiles one after the other; see `sequence`."""

    profiles: tuple[Profile | Rise, ...]

    @property
    def begin(self) -> float:
        """Where the first begins."""
        return _ends(self.profiles[0])[0]

    @property
    def end(self) -> float:
        """Where the last ends."""
        return _ends(self.profiles[-1])[1]

    def __call__(self, x: Any) -> Any:
        """Its value: of a number or an array, or as an expression of a tape variable.

        Args:
            x: Where.
        """
        total = self.profiles[-1](x)
        for before, after in zip(self.profiles[-2::-1], self.profiles[:0:-1], strict=True):
            total = _below(x, _ends(after)[0], before(x), total)
        return total


@dataclass(frozen=True, eq=False)
class Periodic:
    """A function that repeats; see `periodic`."""

    function: Callable[[Any], Any]
    period: float
    begin: float

    def __getstate__(self) -> dict[str, Any]:
        return pickled_state(self)

    def __call__(self, x: Any) -> Any:
        """Its value: of a number or an array, or as an expression of a tape variable.

        Args:
            x: Where.
        """
        turns = np.rint((x - (self.begin + 0.5 * self.period)) * (1.0 / self.period))
        gain = float(self.function(self.begin + self.period)) - float(self.function(self.begin))
        return self.function(x - self.period * turns) + gain * turns


def periodic(function: Callable[[Any], Any], period: float = 2 * np.pi, *, begin: float = 0.0) -> Periodic:
    """A function of one period, again and again: a cam that turns many times. Its gain in each period accumulates.

    Args:
        function: A profile, or any function of a number, of which the part from ``begin`` on is taken.
        period: Radians or seconds.
        begin: Where the period begins.
    """
    if not (np.isfinite([period, begin]).all() and period > 0):
        raise ModelError(f"a period of {period} from {begin} on: needs finite numbers, and a period above 0")
    return Periodic(function, float(period), float(begin))


def _below(x: Any, bound: float, then: Any, otherwise: Any) -> Any:
    """``then`` where ``x < bound``, of numbers, arrays and tape variables."""
    if isinstance(x, TapeVariable):
        return x.where_below(bound, then, otherwise)
    values = np.where(np.asarray(x) < bound, then, otherwise)
    return values if values.ndim else float(values)


def _ends(profile: Profile | Rise) -> tuple[float, float]:
    if isinstance(profile, Rise):
        return profile.begin, profile.end
    return float(profile.breaks[0]), float(profile.breaks[-1])


def sequence(*profiles: Profile | Rise) -> Profile | Joined:
    """Profiles one after the other; between the end of one and the start of the next the value stays (a dwell).

    Args:
        profiles: In the order of their times.
    """
    if not profiles:
        raise ModelError("a sequence needs at least one profile")
    for profile, last in zip(profiles[1:], profiles, strict=False):
        (first, _), (_, end) = _ends(profile), _ends(last)
        if first < end:
            raise ModelError(f"a profile of a sequence begins at {first:g}, before the previous one ends ({end:g})")
    polynomials = [profile for profile in profiles if isinstance(profile, Profile)]
    if len(polynomials) < len(profiles):
        return Joined(profiles)
    breaks, pieces = [polynomials[0].breaks[0]], list[Floats]()
    for one in polynomials:
        if one.breaks[0] > breaks[-1]:
            pieces.append(np.array([np.polynomial.polynomial.polyval(breaks[-1] - breaks[-2], pieces[-1])]))
            breaks.append(one.breaks[0])
        pieces += list(one.coefficients)
        breaks += list(one.breaks[1:])
    degree = max(len(piece) for piece in pieces)
    return Profile(np.array(breaks), np.array([np.pad(piece, (0, degree - len(piece))) for piece in pieces]))


def _span(start: float, stop: float, duration: float) -> tuple[float, float]:
    if not (np.isfinite([start, stop, duration]).all() and duration > 0):
        raise ModelError(f"from {start} to {stop} in {duration} s: needs finite numbers, and a duration above 0")
    return float(duration), float(stop) - float(start)


def _points(x: npt.ArrayLike, y: npt.ArrayLike, least: int) -> tuple[Floats, Floats]:
    at, to = finite(x, "x"), finite(y, "y")
    if at.ndim != 1 or at.shape != to.shape or len(at) < least or not (np.diff(at) > 0).all():
        raise ModelError(f"a table has x of shape {at.shape} and y of {to.shape}; needs {least} or more, x increasing")
    return at, to
