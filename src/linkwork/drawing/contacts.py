# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of a trajectory as pictures show them: where they are, their frames, and forces in the world's axes.

Forces of a state are those of the step that led to it, in the contact frames before that step. Where bodies were then
follows from the state, to second order: steps with contacts move along the velocities at their end, ``dt v``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.contact.coal import GivenContacts
from linkwork.contact.geometry import ContactGeometry
from linkwork.dynamics.motion import Motion
from linkwork.errors import LinkworkError
from linkwork.model.model import Model
from linkwork.plans.contacts import contact_slots
from linkwork.quantities.arguments import Array

RING = 12
"""Corners of a friction cone's rim."""


@dataclass(frozen=True, eq=False)
class ContactMarks:
    """Contact points of some states, ``(states, slots, ...)``, or of one."""

    points: Array
    """In the world, ``(states, slots, 3)``."""
    frames: Array
    """Columns t1, t2, n in world axes, ``(states, slots, 3, 3)``."""
    forces: Array
    """On the second shape of each pair, in world axes, ``(states, slots, 3)``, in newtons."""
    touching: npt.NDArray[np.bool_]
    """Whether points bear a force, ``(states, slots)``."""
    friction: Array
    """Coefficients, ``(slots,)``."""

    @property
    def strengths(self) -> Array:
        """Sizes of forces, ``(states, slots)``."""
        magnitudes: Array = np.linalg.norm(self.forces, axis=-1)
        return magnitudes

    def state(self, k: int) -> ContactMarks:
        """One state alone: arrays without the axis of states.

        Args:
            k: Which one.
        """
        return ContactMarks(self.points[k], self.frames[k], self.forces[k], self.touching[k], self.friction)

    def cones(self, heights: Array, widest: float = 2.0) -> Array:
        """Lines of friction cones, ``(states, slots, 2 RING, 2, 3)``: rims, and edges from the points to them.

        Args:
            heights: Of the cones along their normals, ``(states, slots)``, in meters.
            widest: Cones with more friction are drawn with this one.
        """
        angles = np.linspace(0, 2 * np.pi, RING, endpoint=False)
        wide = np.minimum(self.friction, widest)[:, None]
        ring = np.stack(
            [wide * np.cos(angles), wide * np.sin(angles), np.broadcast_to(1.0, (len(wide), RING))], axis=-1
        )
        rim = self.points[..., None, :] + heights[..., None, None] * np.einsum("...sij,srj->...sri", self.frames, ring)
        edges = np.stack([np.broadcast_to(self.points[..., None, :], rim.shape), rim], axis=-2)
        around = np.stack([rim, np.roll(rim, -1, axis=-2)], axis=-2)
        segments: Array = np.concatenate([edges, around], axis=-3)
        return segments


class ContactPictures:
    """Finds contact points of states of a trajectory, if it has contacts.

    Args:
        motion: A trajectory of one robot.
    """

    def __init__(self, motion: Motion) -> None:
        self._motion = motion
        self._geometry: ContactGeometry | None = None
        forces = motion.contact_forces
        self._forces = np.zeros((len(motion), 0, 3)) if forces is None else forces
        touching = motion._contacts("touching")
        self._touching = np.concatenate(list(touching.values()), axis=-1) if touching else np.zeros((len(motion), 0))
        self.slots = self._forces.shape[-2]
        """Contact points."""
        self.friction = np.zeros(0)
        """Coefficients, ``(slots,)``."""
        if self.slots:
            self._robot = self._touching_alone(motion._known())
            self.friction = _friction(self._robot)
            try:
                self._geometry = ContactGeometry(self._robot)
                self._geometry.given = GivenContacts(self._robot, within=0.0)  # what is apart bears no force
            except LinkworkError:  # what the trajectory was made with is not installed here
                self.slots = 0

    def _touching_alone(self, robot: Model) -> Model:
        """The robot with the pairs that touch in some state, or its first; their slots alone are kept of forces.

        Where all pairs of a robot with many shapes are is long to find.
        """
        slots = contact_slots(robot)
        pairs = [pair for pair in robot.contacts if self._touching[:, slots[pair.name]].any()] or [robot.contacts[0]]
        kept = np.concatenate([np.arange(slots[pair.name].start, slots[pair.name].stop) for pair in pairs])
        self._forces, self._touching = self._forces[:, kept], self._touching[:, kept]
        self.slots = len(kept)
        return robot if len(pairs) == len(robot.contacts) else replace(robot, contacts=tuple(pairs))

    def at(self, states: npt.NDArray[np.int64]) -> ContactMarks | None:
        """Contact points of some states; None where nothing is known.

        Args:
            states: Numbers of states, ``(k,)``.
        """
        if self._geometry is None:
            return None
        motion = self._motion
        dt = float(motion.settings.get("dt", 0.0))
        before = motion._known().integrate(motion.q[states], -dt * motion.v[states])
        geometry = self._geometry(before)
        local = np.nan_to_num(self._forces[states], posinf=0.0, neginf=0.0)
        forces = np.einsum("...ij,...j->...i", geometry.frames, local)
        return ContactMarks(
            geometry.points, geometry.frames, forces, self._touching[states].astype(bool), self.friction
        )


def _friction(robot: Model) -> Array:
    slots = contact_slots(robot)
    numbers: list[Any] = [[pair.friction] * (slots[pair.name].stop - slots[pair.name].start) for pair in robot.contacts]
    return np.concatenate(numbers) if numbers else np.zeros(0)
