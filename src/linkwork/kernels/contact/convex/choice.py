# SPDX-License-Identifier: BSD-3-Clause
"""Which of many candidates are the contact points of a pair: as many as it has slots.

Each slot has a direction, and takes the candidate that is farthest out along it, less `GAPS_DIFFER` times its gap, if
that is above zero: of points on one face the outermost, of a tilted face that is apart those that are nearest to
touching, of one that reaches in the outermost that do. Of candidates that differ by rounding the first counts, so that
contact points do not change places in noise. The nearest point of the two shapes takes the place of a missing one, or
of the one next to it, where no contact point is as near, but for rounding.

| symbol | meaning                                                                                               |
|--------|-------------------------------------------------------------------------------------------------------|
| chosen_x | coordinates along two tangents, gap, and height midway between the surfaces, of each slot            |
| chosen_s | how far out that is, less `GAPS_DIFFER` times the gap beyond zero                                    |
| chosen_k | the number of the candidate of each slot; -1 where it has none, `NEAREST` of the nearest point       |

Branches only save work: it serves all lanes at once.

Cost: 12 operations a candidate and slot.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below, where
from linkwork.kernels.thresholds import EQUAL_CANDIDATES
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.cores import FAN

MOST_CHOSEN = 8
"""Slots of a pair that have points."""
GAPS_DIFFER = 100.0
"""Number of times a gap above zero counts against a distance of points."""

CHOICE_WORK: dict[str, Shape] = {"chosen_x": (MOST_CHOSEN, 4), "chosen_s": (MOST_CHOSEN,), "chosen_k": (MOST_CHOSEN,)}
NEAREST = UNBOUNDED
"""The number of the nearest point of two shapes."""


@kernel
def directions(slots: int) -> int:
    """The number of directions for so many slots: a power of 2."""
    return 8 if slots >= 8 else (4 if slots >= 4 else (2 if slots >= 2 else 1))


@kernel
def start_choice(w: Array) -> None:
    """No candidate yet."""
    for k in range(MOST_CHOSEN):
        w.chosen_k[k] = -1.0
        w.chosen_s[k] = -UNBOUNDED
        for j in range(4):
            w.chosen_x[k, j] = 0.0


@kernel
def choose(w: Array, k: int, chosen: Scalar, number: Scalar, x: Vector, gap: Scalar, mid: Scalar) -> None:
    """A candidate takes slot ``k`` where ``chosen`` is one, and not where it is zero."""
    w.chosen_k[k] = where(0.5, chosen, number, w.chosen_k[k])
    w.chosen_x[k, 0] = where(0.5, chosen, x[0], w.chosen_x[k, 0])
    w.chosen_x[k, 1] = where(0.5, chosen, x[1], w.chosen_x[k, 1])
    w.chosen_x[k, 2] = where(0.5, chosen, gap, w.chosen_x[k, 2])
    w.chosen_x[k, 3] = where(0.5, chosen, mid, w.chosen_x[k, 3])


@kernel
def consider(
    w: Array, number: int, slots: int, e: Vector, x: tuple[Scalar, Scalar], gap: Scalar, mid: Scalar, size: Scalar
) -> None:
    """Let a candidate at ``x`` take the slots in whose directions it is farthest out; ``e`` is the first axis of these.

    Numbers of candidates differ. One with a gap of `UNBOUNDED` takes none.
    """
    fan = directions(slots)
    along = e[0] * x[0] + e[1] * x[1]
    across = e[0] * x[1] - e[1] * x[0]
    for k in range(fan):
        score = FAN[fan - 1 + k][0] * along + FAN[fan - 1 + k][1] * across - GAPS_DIFFER * maximum(gap, 0.0)
        bound = w.chosen_s[k] + EQUAL_CANDIDATES * size
        if some_below(bound, score):
            farther = where(bound, score, 1.0, 0.0)
            w.chosen_s[k] = where(0.5, farther, score, w.chosen_s[k])
            choose(w, k, farther, float(number), x, gap, mid)


@kernel
def finish_choice(w: Array, slots: int, x: tuple[Scalar, Scalar], gap: Scalar, mid: Scalar, size: Scalar) -> None:
    """Leave each candidate in one slot, and put the nearest point, at ``x``, in where none is as near."""
    fan = directions(slots)
    least = UNBOUNDED
    for k in range(fan):
        for j in range(k):
            w.chosen_k[k] = where(magnitude(w.chosen_k[k] - w.chosen_k[j]), 0.5, -1.0, w.chosen_k[k])
        least = where(w.chosen_k[k], 0.0, least, minimum(least, w.chosen_x[k, 2]))
    as_near = where(least, gap + EQUAL_CANDIDATES * size, 1.0, 0.0)
    next_to = UNBOUNDED
    place = 0.0
    for k in range(fan):
        there = where(w.chosen_k[k], 0.0, 0.0, 1.0)
        # as near but for a slight tilt: the point stays where it is, and has the gap
        tilted = as_near * there * where(least, w.chosen_x[k, 2], 0.0, 1.0)
        w.chosen_x[k, 2] = where(0.5, tilted, minimum(gap, least), w.chosen_x[k, 2])
        dx = w.chosen_x[k, 0] - x[0]
        dy = w.chosen_x[k, 1] - x[1]
        square = where(0.5, there, dx * dx + dy * dy, -1.0)
        place = where(square, next_to, float(k), place)
        next_to = minimum(square, next_to)
    for k in range(fan):
        here = where(magnitude(place - float(k)), 0.5, 1.0 - as_near, 0.0)
        choose(w, k, here, NEAREST, x, gap, mid)
