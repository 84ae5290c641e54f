# SPDX-License-Identifier: BSD-3-Clause
"""Motors of actuators: delayed commands, torque-speed curves, backlash, Coulomb and Stribeck friction.

| symbol  | meaning                                                                                    |
|---------|--------------------------------------------------------------------------------------------|
| m       | numbers of a motor: stall force, one over the rate without load, friction sliding and as it |
|         | starts, one over Stribeck's rate, smoothing rate, integral gain, delay in steps, backlash,  |
|         | factor of the output of a network                                                          |
| r, f    | rate of the actuator and its force                                                         |

Delayed commands are activations, each a step older than the one before (a delay line).

Cost: 20 operations a motor, and 4 a step of delay.
"""

from __future__ import annotations

from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, kernel, sqrt, where
from linkwork.model.thresholds import UNBOUNDED

MOTOR_WIDTH = 10
STALL, SLOPE, COULOMB, STATIC, STRIBECK, SMOOTHING, INTEGRAL_GAIN, DELAY, BACKLASH, NETWORK_SCALE = range(MOTOR_WIDTH)

MOST_DECAY = 64.0
"""Beyond this, ``exp(-x)`` is negligible."""


@kernel
def decay(x: Scalar) -> Scalar:
    """``1 - exp(-x)``, ``x >= 0``: a series at ``x / 1024``, and ten times ``E(2 x) = E(x) (2 - E(x))``."""
    y = where(x, MOST_DECAY, x, MOST_DECAY) * (1.0 / 1024.0)
    e = 1.0 - y * (1.0 / 9.0)
    for k in range(7):
        e = 1.0 - y * (1.0 / float(8 - k)) * e
    e = y * e
    for _ in range(10):
        e = e * (2.0 - e)
    return e


@kernel
def delayed_command(m: Array, u: Scalar, kept: Array, count: int) -> Scalar:
    """The command of ``m[DELAY]`` steps ago, between those of whole steps; ``u`` is that of now."""
    delay = minimum(m[DELAY], float(count))  # an input may be larger on a GPU, where it is not checked
    x = maximum(1.0 - delay, 0.0) * u
    for k in range(count):
        x = x + maximum(1.0 - magnitude(delay - float(k + 1)), 0.0) * kept[k]
    return x


@kernel
def force_across_backlash(m: Array, slope: Scalar, f: Scalar) -> Scalar:
    """The force of a servo, ``-df / dl = slope``, at the point of the gap that is nearest to its target."""
    lost = 0.5 * m[BACKLASH] * maximum(slope, 0.0)
    return maximum(f - lost, 0.0) + minimum(f + lost, 0.0)


@kernel
def force_bounds(m: Array, r: Scalar) -> tuple[Scalar, Scalar]:
    """The torque-speed curve: the least and the largest force at a rate."""
    low = minimum(-m[STALL] * (1.0 + r * m[SLOPE]), 0.0)
    high = maximum(m[STALL] * (1.0 - r * m[SLOPE]), 0.0)
    return maximum(low, -UNBOUNDED), minimum(high, UNBOUNDED)


@kernel
def friction_force(m: Array, r: Scalar) -> tuple[Scalar, Scalar]:
    """Friction at a rate, and the damping that is a part of its slope."""
    x = r * m[STRIBECK]
    size = m[COULOMB] + (m[STATIC] - m[COULOMB]) * (1.0 - decay(x * x))
    length = sqrt(r * r + m[SMOOTHING] * m[SMOOTHING])
    return size * r / length, size * (m[SMOOTHING] * m[SMOOTHING]) / (length * length * length)


@kernel
def motor_force(m: Array, r: Scalar, f: Scalar) -> Scalar:
    """A force within the torque-speed curve."""
    low, high = force_bounds(m, r)
    return minimum(maximum(f, low), high)


@kernel
def motor_damping(m: Array, range: Array, r: Scalar, law: Scalar, damping: Scalar) -> Scalar:
    """``-df / dr``: of the law, or of the curve where the force is on it, or zero at the limits; and of friction.

    Zero of the law within the backlash, where its force is zero.
    """
    low, high = force_bounds(m, r)
    meshed = where(0.0, m[BACKLASH], where(0.0, law * law, damping, 0.0), damping)
    curve = where(m[SLOPE], UNBOUNDED, m[STALL] * m[SLOPE], 0.0)
    above, below = where(high, range[1], curve, 0.0), where(range[0], low, curve, 0.0)
    inside = where(maximum(low, range[0]), law, meshed, below)
    return where(law, minimum(high, range[1]), inside, above) + friction_force(m, r)[1]
