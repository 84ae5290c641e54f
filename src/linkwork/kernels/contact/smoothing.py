# SPDX-License-Identifier: BSD-3-Clause
"""The schedule of smoothing in `contact_newton`: the state between iterations.

A *path* leads from the largest smoothing to none. Where steps get stuck too often, another path begins, with another
weight of ``w`` against ``z``.
"""

from __future__ import annotations

from linkwork.kernels.elementary import maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, kernel, sqrt, where
from linkwork.kernels.thresholds import LEAST_SMOOTHING

SHORT = 0.05
"""Where steps are shorter, smoothing goes back."""
NEAR = 3.0
"""Smoothing goes down where the residual is less than this many times it."""
APART = 1.0 + 1e-9
"""So that the residual is less, and rounding does not decide that it is."""
FAST = 0.1
"""And faster, where it is less than this part of that."""
SHRINK, LEAST_SHRINK, MOST_SHRINK = 0.1, 0.02, 0.8
"""The factor by which it does: at first, and its bounds."""
CAREFUL, LEAST_CAREFUL = (0.3, 0.6), (0.1, 0.4)
"""On later paths: of the first round, and of the second."""
MORE_SLACK, MOST_SLACK = 10.0, 1e-4
"""Where steps get stuck, the slack of projections is so much larger, at most so much; and smaller again where steps
reduce the residual to no less than `SLOW`."""
SLOW = 0.5
ROUND = 3.0
"""Paths of a round; the second round goes along them more slowly."""
FAILURES = 3.5
"""More steps that got stuck than this lead to another path: another weight of ``w`` against ``z``."""


MOST_FAILURES = 8.5
"""Where a solution is close, so many do."""
LATE = 1e-3
"""It is where the residual is less than this part of the largest smoothing."""
FLOOR, CENTERED = 0.3, 3.0
"""Smoothing is at least this part of the residual, and this many times it where the step was not taken in full: where
the path bends, the next step begins near to it."""
WHOLE = 0.8
"""Length from which on a step counts as full."""

SMOOTHING, PREVIOUS, LARGEST, FACTOR, LEAST, STUCK, PATH, FRESH, SLACK, LENGTH, MERIT, CLOSE = range(12)
"""Entries of the solver's state: smoothing now, before, and the largest; its factor, and the least that it may be;
steps that got stuck on this path; the number of the path, and whether it begins; the slack; length of the last step,
and the residual after it; whether a solution is close."""


@kernel
def update_smoothing(
    state: Array, t: Scalar, start: Scalar, residual: Scalar, missed: Scalar, first_slack: Scalar
) -> None:
    """Smoothing of the next step: less where the residual has followed, more where steps got stuck; another path where
    they did so too often, far from a solution. ``missed`` is the residual of the true problem, an acceleration."""
    theta = state[SMOOTHING]
    before = state[PREVIOUS]
    factor = state[FACTOR]
    largest = state[LARGEST]
    stuck = where(t, SHORT, 1.0, 0.0)
    near = where(residual, NEAR * theta, 1.0 - stuck, 0.0)
    slower = minimum(sqrt(factor), MOST_SHRINK)
    fast = where(residual, NEAR * FAST * theta, where(t, 1.0, 0.0, 1.0), 0.0)
    faster = where(0.5, fast, maximum(factor * factor, state[LEAST]), factor)
    floor = where(t, WHOLE, CENTERED, FLOOR) * residual
    less = minimum(theta, maximum(maximum(factor * theta, floor), LEAST_SMOOTHING * largest))
    far = where(LATE * largest, missed, 1.0, 0.0)
    count = state[STUCK] + stuck
    lost = where(FAILURES, count, where(MOST_FAILURES, count, 1.0, far), 0.0)
    path = state[PATH] + lost
    state[PATH] = where(2.0 * ROUND - 0.5, path, 0.0, path)
    second = where(ROUND - 0.5, path, 1.0, 0.0)
    state[FRESH] = lost
    state[STUCK] = where(0.5, lost, 0.0, count)
    state[SMOOTHING] = where(0.5, lost, largest, where(0.5, stuck, before, where(0.5, near, less, theta)))
    earlier = where(0.5, stuck, minimum(before / slower, largest), where(0.5, near, theta, before))
    state[PREVIOUS] = where(0.5, lost, largest, earlier)
    state[CLOSE] = 1.0 - far
    kept = where(0.5, stuck - far, maximum(state[LEAST], slower), state[LEAST])
    state[LEAST] = where(0.5, lost, where(0.5, second, LEAST_CAREFUL[1], LEAST_CAREFUL[0]), kept)
    slow = where(SLOW * start, residual, 1.0 - stuck, 0.0) - near
    more = minimum(MORE_SLACK * state[SLACK], MOST_SLACK)
    less_slack = maximum(state[SLACK] / MORE_SLACK, first_slack)
    slack = where(0.5, stuck, more, where(0.5, slow, less_slack, state[SLACK]))
    state[SLACK] = where(0.5, far, first_slack, slack)
    state[LENGTH] = t
    state[MERIT] = residual
    first = where(0.5, second, CAREFUL[1], CAREFUL[0])
    state[FACTOR] = where(0.5, lost, first, where(0.5, stuck, slower, where(0.5, near, faster, factor)))


@kernel
def follow_change(state: Array, changed: Scalar, now: Scalar, slack: Scalar) -> None:
    """Smoothing where the equations have changed (``changed`` is one): that of the residual ``now``, and the first
    factors."""
    theta = maximum(APART * now / NEAR, LEAST_SMOOTHING * state[LARGEST])
    state[SMOOTHING] = where(0.5, changed, theta, state[SMOOTHING])
    state[LARGEST] = where(0.5, changed, maximum(theta, state[LARGEST]), state[LARGEST])
    state[PREVIOUS] = where(0.5, changed, minimum(theta / SHRINK, state[LARGEST]), state[PREVIOUS])
    state[FACTOR] = where(0.5, changed, SHRINK, state[FACTOR])
    state[LEAST] = where(0.5, changed, LEAST_SHRINK, state[LEAST])
    state[SLACK] = where(0.5, changed, slack, state[SLACK])
    state[STUCK] = where(0.5, changed, 0.0, state[STUCK])
    state[PATH] = where(0.5, changed, 0.0, state[PATH])
    state[FRESH] = where(0.5, changed, 0.0, state[FRESH])
    state[CLOSE] = where(0.5, changed, 0.0, state[CLOSE])
