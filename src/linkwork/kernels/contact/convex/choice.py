# SPDX-License-Identifier: BSD-3-Clause
"""Which of many candidates are the contact points of a pair: as many as it has slots.

Each slot has a direction, and takes the candidate that is farthest out along it, less `GAPS_DIFFER` times its gap: of
points on one face the outermost, of a tilted face those that are nearest to touching. Of candidates that differ by
rounding the first counts, so that contact points do not change places in noise. The nearest point of the two shapes
takes the place of a missing one, or of the one next to it, where no contact point is as near, but for rounding.

| symbol | meaning                                                                                               |
|--------|-------------------------------------------------------------------------------------------------------|
| chosen_x | coordinates along two tangents, gap, and height midway between the surfaces, of each slot            |
| chosen_k | the candidate of each slot; -1 where it has none                                                     |

Cost: 8 operations a candidate and slot.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.elementary import minimum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, some_below
from linkwork.kernels.thresholds import EQUAL_CANDIDATES
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.cores import FAN

MOST_CHOSEN = 8
"""Slots of a pair that have points."""
GAPS_DIFFER = 100.0
"""How many times a difference of gaps counts against a distance of points."""

CHOICE_WORK: dict[str, Shape] = {"chosen_x": (MOST_CHOSEN, 4), "chosen_s": (MOST_CHOSEN,)}
CHOICE_INTEGERS: dict[str, Shape] = {"chosen_k": (MOST_CHOSEN,)}


@kernel
def directions(slots: int) -> int:
    """How many directions there are for so many slots: a power of 2."""
    return 8 if slots >= 8 else (4 if slots >= 4 else (2 if slots >= 2 else 1))


@kernel
def start_choice(w: Array) -> None:
    """No candidate yet."""
    for k in range(MOST_CHOSEN):
        w.chosen_k[k] = -1
        w.chosen_s[k] = -UNBOUNDED


@kernel
def consider(
    w: Array, number: int, slots: int, e: Vector, x: tuple[Scalar, Scalar], gap: Scalar, mid: Scalar, size: Scalar
) -> None:
    """Let a candidate at ``x`` take the slots in whose directions it is farthest out; ``e`` is the first axis of these.

    Numbers of candidates differ.
    """
    fan = directions(slots)
    along = e[0] * x[0] + e[1] * x[1]
    across = e[0] * x[1] - e[1] * x[0]
    for k in range(fan):
        score = FAN[fan - 1 + k][0] * along + FAN[fan - 1 + k][1] * across - GAPS_DIFFER * gap
        if some_below(w.chosen_s[k] + EQUAL_CANDIDATES * size, score):
            w.chosen_s[k] = score
            w.chosen_k[k] = number
            w.chosen_x[k, 0] = x[0]
            w.chosen_x[k, 1] = x[1]
            w.chosen_x[k, 2] = gap
            w.chosen_x[k, 3] = mid


@kernel
def finish_choice(w: Array, slots: int, x: tuple[Scalar, Scalar], gap: Scalar, mid: Scalar, size: Scalar) -> int:
    """Leave each candidate in one slot, and put the nearest point, at ``x``, in where none is as near.

    Returns its slot; -1 where it has none.
    """
    fan = directions(slots)
    least = UNBOUNDED
    for k in range(fan):
        for j in range(k):
            if w.chosen_k[j] == w.chosen_k[k]:
                w.chosen_k[k] = -1
        if w.chosen_k[k] >= 0:
            least = minimum(least, w.chosen_x[k, 2])
    place = -1
    if some_below(least, gap + EQUAL_CANDIDATES * size):
        # as near but for a slight tilt: the point stays where it is, and has the gap
        for k in range(fan):
            if w.chosen_k[k] >= 0 and not some_below(least, w.chosen_x[k, 2]):
                w.chosen_x[k, 2] = minimum(gap, least)
    else:
        next_to = UNBOUNDED
        for k in range(fan):
            dx = w.chosen_x[k, 0] - x[0] if w.chosen_k[k] >= 0 else 0.0
            dy = w.chosen_x[k, 1] - x[1] if w.chosen_k[k] >= 0 else 0.0
            square = dx * dx + dy * dy if w.chosen_k[k] >= 0 else -1.0
            if some_below(square, next_to):
                next_to = square
                place = k
        w.chosen_k[place] = MOST_CHOSEN
        w.chosen_x[place, 0] = x[0]
        w.chosen_x[place, 1] = x[1]
        w.chosen_x[place, 2] = gap
        w.chosen_x[place, 3] = mid
    return place
