# SPDX-License-Identifier: BSD-3-Clause
"""Muscles as MuJoCo has them: force by length and velocity, and an activation that rises faster than it falls."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.conversions import converted
from linkwork.errors import ModelError


@converted
@dataclass(frozen=True)
class Muscle:
    """The force of a muscle with the activation ``a``: ``-peak (a FL(L) FV(V) + FP(L))``.

    ``L`` is the length in units of the optimal one ``L0``, ``V`` the velocity in those of the largest. The range of the
    actuator's length, ``lengths``, is ``range`` in units of ``L0``.

    Args:
        lengths: The range of the actuator's length.
        peak: Largest active force, in N.
        range: The range of lengths in units of the optimal length.
        shortest: Length below which it has no active force, in units of the optimal one (MJCF: ``lmin``).
        longest: Length above which it has none (``lmax``).
        velocity: Shortening velocity at which it has none, in optimal lengths a second (``vmax``).
        passive: Passive force at ``longest``, in units of the peak (``fpmax``).
        lengthening: Active force at high lengthening velocity, in units of the peak (``fvmax``).
        pulls: Whether its gain is that of a muscle;
        stretches: whether its bias is.
        rise: Time constant of activation, in s.
        fall: Time constant of deactivation, in s.
        smoothing: Width of the transition between both, in units of activation (``tausmooth``).
    """

    lengths: tuple[float, float] = (0.0, 1.0)
    peak: float = 1.0
    range: tuple[float, float] = (0.75, 1.05)
    shortest: float = 0.5
    longest: float = 1.6
    velocity: float = 1.5
    passive: float = 1.3
    lengthening: float = 1.2
    pulls: bool = True
    stretches: bool = True
    rise: float = 0.01
    fall: float = 0.04
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        if (self.pulls or self.stretches) and not self.lengths[0] < self.lengths[1]:
            raise ModelError(f"lengths of a muscle go from {self.lengths[0]} to {self.lengths[1]}")
