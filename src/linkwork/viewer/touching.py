# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of a robot as they are drawn: forces, and the cones of friction that these lie in."""

from __future__ import annotations

import numpy as np

from linkwork.contact.geometry import ContactGeometry
from linkwork.model.model import Model
from linkwork.quantities.base import Array

RIBS = 8
"""Lines of a cone; as many make its rim."""
STEEP = 2.0
"""Friction coefficients above this are drawn as this: a cone that is nearly flat hides what is there."""


class Touching:
    """Where a robot touches, and with what forces.

    Args:
        robot: The mechanism, with contact pairs.
    """

    def __init__(self, robot: Model) -> None:
        self._geometry = ContactGeometry(robot)
        counts = [self._geometry(robot.neutral())[pair.name].gaps.shape[-1] for pair in robot.contacts]
        self.slots = sum(counts)
        """Contact points of all pairs."""
        self._friction = np.minimum(np.repeat([pair.friction for pair in robot.contacts], counts), STEEP)

    def forces(self, q: Array, forces: Array) -> tuple[Array, Array]:
        """Contact points, and forces on second shapes there in the world's axes, ``(slots, 3)`` each.

        Args:
            q: Configuration, ``(nq,)``.
            forces: Along t1, t2, n of each point, ``(slots, 3)``.
        """
        found = self._geometry(q)
        return found.points, np.einsum("sij,sj->si", found.frames, forces)

    def cones(self, q: Array, heights: Array) -> Array:
        """Lines of the friction cones, ``(slots, 2 RIBS, 2, 3)``: ribs, then rims.

        Args:
            q: Configuration, ``(nq,)``.
            heights: Of the cones along the normals, ``(slots,)``.
        """
        found, angle = self._geometry(q), 2 * np.pi * np.arange(RIBS) / RIBS
        around = np.stack([np.cos(angle), np.sin(angle)])  # of t1 and t2
        wide = np.einsum("sij,jr->sri", found.frames[..., :2], around) * self._friction[:, None, None]
        rim = found.points[:, None] + heights[:, None, None] * (found.normals[:, None] + wide)
        apex = np.broadcast_to(found.points[:, None], rim.shape)
        return np.concatenate([np.stack([apex, rim], axis=2), np.stack([rim, np.roll(rim, 1, axis=1)], axis=2)], axis=1)
