# SPDX-License-Identifier: BSD-3-Clause
"""Lists of contact points as results have them, and the same by slots: of pairs that are not near there is nothing.

A point is `LISTED` numbers: its number, force and moment along t1, t2, n on the second shape, velocity along these
after the step, and gap before it. Numbers follow the order of pairs of bodies (`plans.contact_groups.slot_order`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.inputs import at_most_three
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans import contact_lcaba, contact_reduced
from linkwork.plans.contact_groups import slot_order
from linkwork.plans.contact_reduced import LISTED, listed_points
from linkwork.plans.contact_steps import TOTALS as SLOT_TOTALS
from linkwork.plans.contacts import planned_pairs
from linkwork.plans.tree import Tree, build_tree
from linkwork.quantities.arguments import Array

NUMBER, FORCE, MOMENT, VELOCITY, GAP = slice(0, 1), slice(1, 4), slice(4, 7), slice(7, 10), slice(10, 11)
"""Parts of a point."""


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """The lists of one robot."""

    nslots: int
    """Contact points of all pairs."""
    nlisted: int
    """Room of a list."""
    slots: npt.NDArray[np.int64]
    """The slot of each number, ``(nslots,)``."""
    numbers: npt.NDArray[np.int64]
    """The number of each slot, ``(nslots,)``."""

    @property
    def width(self) -> int:
        """Numbers of a list."""
        return LISTED * self.nlisted

    def split(self, flat: Array) -> Array:
        """A list as ``(..., nlisted, LISTED)``.

        Args:
            flat: As results have it, ``(..., width)``.
        """
        return flat.reshape(*flat.shape[:-1], self.nlisted, LISTED)

    def by_slot(self, flat: Array, part: slice, missing: float = 0.0, slots: slice = slice(None)) -> Array:
        """A part of points by slots, ``(..., slots, n)``.

        Args:
            flat: Lists, ``(..., width)``.
            part: `FORCE`, `MOMENT`, `VELOCITY` or `GAP`.
            missing: Values of slots that are not in the list.
            slots: Which slots; by default all.
        """
        points = self.split(flat)
        first, last, _ = slots.indices(self.nslots)
        shape = (*flat.shape[:-1], last - first, part.stop - part.start)
        result = np.full(shape, missing, flat.dtype)
        numbers = points[..., 0]
        there = np.nonzero((numbers >= 0) & (numbers < self.nslots))
        of_slot = self.slots[numbers[there].astype(np.int64)]
        inside = (of_slot >= first) & (of_slot < last)
        lead = tuple(axis[inside] for axis in there[:-1])
        values = points[..., part][there][inside]
        result[(*lead, of_slot[inside] - first)] = values
        return result

    def listed(self, forces: Array, velocities: Array, gaps: Array) -> Array:
        """Lists of results by slots, ``(..., width)``: of all points, or of the nearest where there is no room.

        Args:
            forces: ``(..., nslots, 3)``
            velocities: ``(..., nslots, 3)``
            gaps: ``(..., nslots)``
        """
        order = np.broadcast_to(self.slots, gaps.shape)
        if self.nlisted < self.nslots:
            near = np.argsort(gaps, axis=-1)[..., : self.nlisted]
            order = np.take(self.slots, np.sort(np.take(self.numbers, near), axis=-1))
        result = np.zeros((*gaps.shape[:-1], self.nlisted, LISTED), gaps.dtype)
        result[..., 0] = np.take(self.numbers, order)
        result[..., FORCE] = np.take_along_axis(forces, order[..., None], axis=-2)
        result[..., VELOCITY] = np.take_along_axis(velocities, order[..., None], axis=-2)
        result[..., 10] = np.take_along_axis(gaps, order, axis=-1)
        return result.reshape(*gaps.shape[:-1], self.width)

    def none(self, lead: tuple[int, ...] = (), dtype: npt.DTypeLike = np.float64) -> Array:
        """Lists without points, ``(*lead, width)``.

        Args:
            lead: Leading axes.
            dtype: Of the numbers.
        """
        result = np.zeros((*lead, self.nlisted, LISTED), dtype)
        result[..., 0] = UNBOUNDED
        return result.reshape(*lead, self.width)


def result_by_slots(robot: Model, tree: Tree, result: Array, na: int = 0, totals: bool = False) -> Array:
    """The result of a step with lists, as steps with all slots of all pairs have it (`kernels.contact.problem`).

    Args:
        robot: The mechanism.
        tree: Its arrays (`plans.contact_reduced`).
        result: The result, ``(..., nresult)``.
        na: Activations at its end.
        totals: Whether totals are before these, as in steps of simulations.
    """
    points, lead = contact_points(robot), result.shape[:-1]
    ends = np.cumsum([contact_reduced.HEAD, points.width, tree.nboxes, robot.nc, robot.nv, contact_reduced.TOTALS])
    head, listed, boxes, multipliers, a, sums, act = np.split(result, ends, axis=-1)
    forces, velocities = (points.by_slot(listed, part).reshape(*lead, -1) for part in (FORCE, VELOCITY))
    gaps = points.by_slot(listed, GAP, NO_CONTACT)[..., 0]
    state = np.zeros((*lead, contact_lcaba.HEAD - 3), result.dtype)
    boxes = boxes[..., : tree.njoint_boxes]
    parts = [head[..., :2], state, head[..., 3:], a, forces, velocities, gaps, multipliers, boxes]
    if totals:
        parts += [sums[..., :SLOT_TOTALS], act]
    return np.concatenate(parts, axis=-1)


def words_of_overflow(robot: Model, listed: Array) -> str:
    """The pairs whose contact points exceed the room of lists in a step, in words.

    Args:
        robot: The mechanism.
        listed: Lists of contact points, ``(..., width)``, of which full ones say after which pair it is.
    """
    points = contact_points(robot)
    numbers = points.split(listed)[..., -1, 0]
    full = numbers[numbers < points.nslots]
    if not full.size:
        return f"lists have room for {points.nlisted} contact points, and those beyond did not act"
    return (
        f"lists have room for {points.nlisted} contact points, and those after '{_pair_name(robot, full.min())}', in "
        "the order of bodies, did not act"
    )


def words_of_jam(robot: Model, listed: Array) -> str:
    """Pairs that overlap most, in words; nothing where no pair does.

    Args:
        robot: The mechanism.
        listed: Lists of contact points, ``(..., width)``.
    """
    points = contact_points(robot)
    entries = points.split(listed).reshape(-1, LISTED)
    entries = entries[(entries[:, 0] < points.nslots) & (entries[:, GAP.start] < 0)]
    deepest = entries[np.argsort(entries[:, GAP.start], kind="stable")]
    deepest = deepest[deepest[:, GAP.start] < 0.1 * deepest[:1, GAP.start]]
    names = dict.fromkeys(_pair_name(robot, number) for number in deepest[:, 0])
    depth = f", {-deepest[0, GAP.start]:.2g} m at most" if len(deepest) else ""
    return f" ({at_most_three(list(names))}{depth})" if names else ""


def _pair_name(robot: Model, number: float) -> str:
    slot = int(contact_points(robot).slots[int(number)])
    return robot.contacts[int(np.searchsorted(np.cumsum(planned_pairs(robot.contacts).slots), slot, side="right"))].name


@computed_once
def contact_points(robot: Model) -> ContactPoints:
    """The lists of a robot.

    Args:
        robot: The mechanism.
    """
    bodies = build_tree(robot)[1]
    planned = planned_pairs(robot.contacts)
    bodies_of = np.array([bodies.number[shape.body] for shape in planned.pairs.shapes], dtype=np.int64)
    first, second = bodies_of[planned.pairs.first], bodies_of[planned.pairs.second]
    slots = slot_order(first, second, np.asarray(planned.slots, dtype=np.int64))["listed_slot"]
    numbers = np.empty_like(slots)
    numbers[slots] = np.arange(len(slots))
    return ContactPoints(len(slots), listed_points(robot, len(slots)), slots, numbers)
