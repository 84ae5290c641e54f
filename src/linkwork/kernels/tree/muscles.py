# SPDX-License-Identifier: BSD-3-Clause
"""Muscles: gain, passive force and activation as in ``mju_muscleGain``, ``mju_muscleBias``, ``mju_muscleDynamics``.

| symbol | meaning                                                                        |
|--------|--------------------------------------------------------------------------------|
| L      | length in units of the optimal length                                          |
| V      | velocity in units of the largest                                               |
| m      | numbers of a muscle, see the names below                                       |

Parabolas everywhere: ``FL`` rises from ``shortest`` to 1 at ``L = 1`` and falls to ``longest``; ``FV`` is
``(V + 1)²`` in shortening. Cost: a fixed number of operations.
"""

from __future__ import annotations

from linkwork.kernels.elementary import clamp, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.thresholds import LEAST_DIVISOR

LEAST, OPTIMAL, PEAK, LOW, SHORTEST, LONGEST, FASTEST, PASSIVE, LENGTHENING, PULLS, STRETCHES = range(11)
"""Numbers of a muscle: the least length, the optimal one, force, ``LOW`` the least length in optimal ones, ..."""
RISE, FALL, SMOOTHING = range(3)
"""Numbers of its activation."""


@kernel
def optimal_lengths(m: Array, length: Scalar) -> Scalar:
    """``L``."""
    return m[LOW] + (length - m[LEAST]) / m[OPTIMAL]


@kernel
def active_by_length(m: Array, L: Scalar) -> Scalar:
    """``FL``: four parabolas, of which neighbors meet with the same slope."""
    a = 0.5 * (m[SHORTEST] + 1.0)
    b = 0.5 * (1.0 + m[LONGEST])
    x0 = (L - m[SHORTEST]) / maximum(a - m[SHORTEST], LEAST_DIVISOR)
    x1 = (1.0 - L) / maximum(1.0 - a, LEAST_DIVISOR)
    x2 = (L - 1.0) / maximum(b - 1.0, LEAST_DIVISOR)
    x3 = (m[LONGEST] - L) / maximum(m[LONGEST] - b, LEAST_DIVISOR)
    rising = where(a, L, 1.0 - 0.5 * x1 * x1, 0.5 * x0 * x0)
    falling = where(b, L, 0.5 * x3 * x3, 1.0 - 0.5 * x2 * x2)
    y = where(1.0, L, falling, rising)
    return where(L, m[SHORTEST], 0.0, where(m[LONGEST], L, 0.0, y))


@kernel
def active_by_velocity(m: Array, V: Scalar) -> Scalar:
    """``FV``."""
    y = m[LENGTHENING] - 1.0
    up = m[LENGTHENING] - (y - V) * (y - V) / maximum(y, LEAST_DIVISOR)
    stretched = where(y, V, m[LENGTHENING], up)
    return where(V, -1.0, 0.0, where(0.0, V, stretched, (V + 1.0) * (V + 1.0)))


@kernel
def muscle_gain(m: Array, length: Scalar, rate: Scalar) -> Scalar:
    """Force per activation."""
    V = rate / maximum(m[OPTIMAL] * m[FASTEST], LEAST_DIVISOR)
    return -m[PEAK] * active_by_length(m, optimal_lengths(m, length)) * active_by_velocity(m, V)


@kernel
def muscle_bias(m: Array, length: Scalar) -> Scalar:
    """Passive force: half a parabola, then a line."""
    L = optimal_lengths(m, length)
    b = 0.5 * (1.0 + m[LONGEST])
    width = maximum(b - 1.0, LEAST_DIVISOR)
    x = (L - 1.0) / width
    beyond = (L - b) / width
    y = where(b, L, 0.5 + beyond, 0.5 * x * x)
    return where(1.0, L, -m[PEAK] * m[PASSIVE] * y, 0.0)


@kernel
def muscle_activation_rate(m: Array, u: Scalar, act: Scalar) -> Scalar:
    """Rate of an activation under a command: time constants as in Millard et al. 2013."""
    pace = 0.5 + 1.5 * clamp(act, 0.0, 1.0)
    rise = m[RISE] * pace
    fall = m[FALL] / pace
    off = clamp(u, 0.0, 1.0) - act
    x = clamp(off / maximum(m[SMOOTHING], LEAST_DIVISOR) + 0.5, 0.0, 1.0)
    smooth = fall + (rise - fall) * (x * x * x * (3.0 * x * (2.0 * x - 5.0) + 10.0))
    hard = where(0.0, off, rise, fall)
    return off / maximum(where(m[SMOOTHING], LEAST_DIVISOR, hard, smooth), LEAST_DIVISOR)
