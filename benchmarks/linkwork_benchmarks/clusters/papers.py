# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that **clusters** gives: by how many percent a method's time is above C-RNEA's, C-ABA's and C-EFPA's."""

from __future__ import annotations

from typing import NamedTuple

SYSTEMS = ("geared chain", "belt chain", "Mini Cheetah", "MIT Humanoid", "Tello", "JVRC-1")

Percents = dict[str, tuple[float, ...]]
"""Of each method, for `SYSTEMS`."""

INVERSE: Percents = {
    "approximate": (-40.3, -36.2, -41.0, -42.0, -59.6, -37.7),
    "projected": (38.0, 37.8, 36.7, 35.9, 22.4, 36.6),
}
"""Table II: against C-RNEA."""

FORWARD: Percents = {
    "approximate": (-34.1, -34.6, -35.3, -38.6, -49.4, -38.4),
    "projection": (86.8, 73.5, 21.0, 32.5, 22.2, 87.3),
    "ltl": (133.1, 119.8, 76.3, 106.2, 82.7, 212.8),
}
"""Table III: against C-ABA."""

INERTIA: Percents = {
    "approximate": (-35.7, -52.1, -28.6, -37.4, -51.4, -22.54),
    "projection": (51.8, 6.3, 19.0, 23.2, 7.80, 107.4),
}
"""Table IV: against C-EFPA."""

TABLES = {"inverse": INVERSE, "forward": FORWARD, "inertia": INERTIA}


def percent(quantity: str, method: str, system: str) -> float | None:
    """What the paper gives; None where it gives nothing."""
    row = TABLES[quantity].get(method)
    return None if row is None or system not in SYSTEMS else row[SYSTEMS.index(system)]


class Torque(NamedTuple):
    """Root mean squares of what a torque is off, in N m, and as parts of the largest exact torque."""

    unconstrained: float
    approximate: float
    unconstrained_part: float
    approximate_part: float


ANKLE = Torque(4.31, 1.04, 0.392, 0.095)
"""Section IX-B on Fig. 14, which the paper says to be that of the ankle: all that it gives as numbers."""
