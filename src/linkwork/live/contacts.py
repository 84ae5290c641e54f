# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of the last step of a run, with where they are.

Steps keep forces and the numbers of points. Where these are is computed of the pairs that touch, one by one: of all
pairs of a robot it takes longer than hundreds of steps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.contact.coal import GivenContacts
from linkwork.contact.geometry import ContactGeometry
from linkwork.contact.points import FORCE, contact_points
from linkwork.drawing.contacts import ContactMarks
from linkwork.errors import LinkworkError
from linkwork.model.model import Model
from linkwork.plans.contacts import planned_pairs
from linkwork.quantities.arguments import Array

MOST = 32
"""Pairs that are drawn, those with the largest forces first."""
WEAK = 1e-6
"""A force that is smaller than this part of the largest is not drawn."""


class LiveContacts:
    """Finds where contact points are, pair by pair.

    Args:
        robot: The mechanism.
        dt: Time of a step, in seconds.
    """

    def __init__(self, robot: Model, dt: float) -> None:
        self._robot, self._dt = robot, dt
        self._points = contact_points(robot)
        self._ends = np.cumsum(planned_pairs(robot.contacts).slots)
        self._geometry: dict[int, ContactGeometry | None] = {}

    def marks(self, q: Array, v: Array, listed: Array) -> ContactMarks | None:
        """Contact points that bear a force; None where none does.

        Args:
            q: Configuration after the step, ``(nq,)``.
            v: Velocities after it, ``(nv,)``.
            listed: The list of its contact points (`contact.points`), ``(width,)``.
        """
        entries = self._points.split(listed)
        forces = np.where((entries[:, 0] < self._points.nslots)[:, None], entries[:, FORCE], 0.0)
        at = np.flatnonzero(forces[:, 2] > WEAK * forces[:, 2].max(initial=0.0))
        slots = self._points.slots[entries[at, 0].astype(np.int64)]
        pairs = np.searchsorted(self._ends, slots, side="right")
        before = self._robot.integrate(q, -self._dt * v)
        parts = []
        for pair in list(dict.fromkeys(pairs[np.argsort(-forces[at, 2])].tolist()))[:MOST]:
            geometry = self._geometry_of(pair)
            if geometry is None:
                continue
            points, mine = geometry(before), pairs == pair
            first = 0 if pair == 0 else int(self._ends[pair - 1])
            own, local = slots[mine] - first, forces[at[mine]]
            there = points.exists[own]
            own, local = own[there], local[there]
            frames = points.frames[own]
            pushes = np.einsum("sij,sj->si", frames, local)
            friction = np.full(len(own), self._robot.contacts[pair].friction)
            parts.append((points.points[own], frames, pushes, np.ones(len(own), dtype=bool), friction))
        if not parts:
            return None
        return ContactMarks(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _geometry_of(self, pair: int) -> ContactGeometry | None:
        """Contact points of one pair; None where they need a package that is not installed."""
        if pair not in self._geometry:
            try:
                alone = replace(self._robot, contacts=(self._robot.contacts[pair],))
                geometry = ContactGeometry(alone, native=True)
                geometry.given = GivenContacts(alone, within=0.0, native=True)
            except LinkworkError:
                self._geometry[pair] = None
            else:
                self._geometry[pair] = geometry
        return self._geometry[pair]
