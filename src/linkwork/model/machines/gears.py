# SPDX-License-Identifier: BSD-3-Clause
"""Transmissions by numbers of teeth and radii: racks, worms, planetary gears, harmonic drives, belts, Geneva wheels.

Each function returns a constraint, or several, for ``robot.constrained`` or ``Builder.constrain``. Joints turn
relative to the frame (or their common carrier); positive is counterclockwise about the axis of the joint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.constraints.base import ConstraintOptions
from linkwork.model.constraints.couplings import Gear, JointCoupling
from linkwork.model.constraints.functions import Follows, FunctionCoupling


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < np.inf:
            raise ModelError(f"{name} is {value}, needs a finite number > 0")


def rack(rack: str, pinion: str, radius: float, **options: Unpack[ConstraintOptions]) -> Gear:
    """A rack on a pinion: ``q_rack = radius q_pinion``.

    Args:
        rack: A sliding joint.
        pinion: A turning joint.
        radius: Of the pitch circle, in m; negative: the rack moves the other way.
        options: Those of `Constraint`: name, compliance, and more.
    """
    _positive(radius=abs(radius))
    return Gear(rack, pinion, radius, **options)


def worm(worm: str, wheel: str, teeth: int, starts: int = 1, **options: Unpack[ConstraintOptions]) -> Gear:
    """A worm and its wheel: the worm turns ``teeth / starts`` times as far.

    Args:
        worm: Joint of the worm.
        wheel: Joint of the wheel.
        teeth: Of the wheel.
        starts: Threads of the worm; negative: left-handed.
        options: Those of `Constraint`: name, compliance, and more.
    """
    _positive(teeth=teeth, starts=abs(starts))
    return Gear(worm, wheel, teeth / starts, **options)


def planetary(
    sun: str, carrier: str, ring: str | None, sun_teeth: int, ring_teeth: int, **options: Unpack[ConstraintOptions]
) -> JointCoupling:
    """A planetary gear by Willis' equation: ``z_sun (q_sun - q_carrier) + z_ring (q_ring - q_carrier) = 0``.

    All three joints turn about one axis on the frame. With ``ring_teeth`` of ``-sun_teeth`` it is a bevel differential
    whose wheels turn alike: use `differential`.

    Args:
        sun: Joint of the sun.
        carrier: Joint of the carrier of the planets.
        ring: Joint of the ring; None: it is held.
        sun_teeth: Of the sun.
        ring_teeth: Of the ring.
        options: Those of `Constraint`: name, compliance, and more.
    """
    _positive(sun_teeth=sun_teeth, ring_teeth=ring_teeth)
    weights = {sun: float(sun_teeth), carrier: -float(sun_teeth + ring_teeth)}
    if ring is not None:
        weights[ring] = float(ring_teeth)
    if len(weights) != 2 + (ring is not None):
        raise ModelError(f"a planetary gear of {sun}, {carrier} and {ring}: joints must differ")
    return JointCoupling(weights, **options)


def differential(cage: str, left: str, right: str, **options: Unpack[ConstraintOptions]) -> JointCoupling:
    """A bevel differential: ``q_cage = (q_left + q_right) / 2``, and each wheel has half the torque of the cage.

    Args:
        cage: Joint of the cage.
        left: Joint of one half shaft.
        right: Joint of the other.
        options: Those of `Constraint`: name, compliance, and more.
    """
    if len({cage, left, right}) < 3:
        raise ModelError(f"a differential of {cage}, {left} and {right}: joints must differ")
    return JointCoupling({cage: 2.0, left: -1.0, right: -1.0}, **options)


def harmonic(wave: str, flex: str, flex_teeth: int, circular_teeth: int, **options: Unpack[ConstraintOptions]) -> Gear:
    """A harmonic drive whose circular spline is held: ``q_wave = -z_flex / (z_circular - z_flex) q_flex``.

    Args:
        wave: Joint of the wave generator.
        flex: Joint of the flexspline.
        flex_teeth: Of the flexspline.
        circular_teeth: Of the circular spline, two more as a rule.
        options: Those of `Constraint`: name, compliance, and more.
    """
    _positive(flex_teeth=flex_teeth, circular_teeth=circular_teeth)
    if circular_teeth <= flex_teeth:
        raise ModelError(f"circular_teeth is {circular_teeth}, needs more than the {flex_teeth} of the flexspline")
    return Gear(wave, flex, -flex_teeth / (circular_teeth - flex_teeth), **options)


def belt(pulleys: Mapping[str, float], name: str = "belt") -> tuple[Gear, ...]:
    """A belt or chain around pulleys on fixed axes, without slip: ``radius q`` is the same of all.

    One constraint for each pulley after the first. A belt that stretches is
    ``TorsionSpring({"a": radius, "b": -radius}, stiffness=...)``, in N/m, one for each span.

    Args:
        pulleys: Radii, or numbers of teeth, by joint, in order; negative where the belt's back runs on the pulley.
        name: Constraints are called ``name joint``; the only one ``name``.
    """
    if len(pulleys) < 2:
        raise ModelError(f"a belt runs around {list(pulleys)}, needs two pulleys or more")
    for joint, radius in pulleys.items():
        if not np.isfinite(radius) or radius == 0:
            raise ModelError(f"pulley '{joint}' has the radius {radius}, needs a finite number that is not 0")
    (first, radius), *others = pulleys.items()
    words = {joint: name if len(others) == 1 else f"{name} {joint}" for joint, _ in others}
    return tuple(Gear(first, joint, other / radius, name=words[joint]) for joint, other in others)


def geneva(crank: str, wheel: str, slots: int, **options: Unpack[ConstraintOptions]) -> Follows:
    """An external Geneva wheel: it turns by one slot for each turn of the crank, the other way, and dwells between.

    With the distance 1 of the axes and the crank of ``sin(pi / slots)``, the pin enters its slot along it. At crank
    angle 0 the pin is on the line of the axes, in the middle of a slot.

    Args:
        crank: Joint of the crank.
        wheel: Joint of the wheel, about a parallel axis.
        slots: Three or more.
        options: Those of `Constraint`: name, compliance, and more.
    """
    if int(slots) != slots or slots < 3:
        raise ModelError(f"a Geneva wheel has {slots} slots, needs a whole number of 3 or more")
    ratio, engaged = float(np.sin(np.pi / slots)), float(np.pi / 2 - np.pi / slots)

    def angle(theta: Any) -> Any:
        turns = np.rint(theta * (0.5 / np.pi))
        inside = np.clip(theta - 2 * np.pi * turns, -engaged, engaged)
        swing = np.arctan(ratio * np.sin(inside) / (1.0 - ratio * np.cos(inside)))
        return -1.0 * swing - (2 * np.pi / slots) * turns

    return Follows(wheel, crank, angle, **options)


def homokinetic(first: str, second: str, third: str, **options: Unpack[ConstraintOptions]) -> FunctionCoupling:
    """The coupling that makes three revolute joints x, y, z in a row a constant-velocity joint between shafts along z.

    The axis of the relative rotation stays in the plane across the shafts (their bisector is a plane of symmetry), so
    that both shafts turn by equal angles at any bend, as in a Rzeppa joint.

    Args:
        first: Joint about x.
        second: The next, about y.
        third: The last, about z.
        options: Those of `Constraint`: name, compliance, and more.
    """

    def twist(a: Any, b: Any, c: Any) -> Any:
        a, b, c = 0.5 * a, 0.5 * b, 0.5 * c
        return np.cos(a) * np.cos(b) * np.sin(c) + np.sin(a) * np.sin(b) * np.cos(c)

    return FunctionCoupling(twist, (first, second, third), **options)
