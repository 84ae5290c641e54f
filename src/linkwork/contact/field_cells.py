# SPDX-License-Identifier: BSD-3-Clause
"""The cells of height fields that contacts depend on in a configuration: data of the derivatives of steps.

A straight-line program of a contact with a height field would have all of its cells. Native code finds the contact
first; a program of two cells has its derivatives (`kernels.contact.shapes.fields`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.compilers.run import Runner
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.contact.shapes.fields import CELLS
from linkwork.kernels.contact.shapes.geometry import CONTACT_POINTS, SHAPE_POSES
from linkwork.plans.contacts import FIELD_BOX, FIELD_CAPSULE, FIELD_SPHERE
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array

NO_CELLS = np.zeros((0, *CELLS))
"""Of robots without height fields, and of programs that have all cells."""


class FieldCells:
    """The two cells of each contact point with a height field: ``cells(q, parameters)``, ``(..., nslots, 2, 6)``.

    Args:
        tree: The plan of the robot.
        runner: Makes native code of an algorithm for it.
    """

    def __init__(self, tree: Tree, runner: Callable[[Algorithm], Runner]) -> None:
        self.tree = tree
        self.contacts = np.flatnonzero(np.isin(tree.contact_kind, (FIELD_SPHERE, FIELD_CAPSULE, FIELD_BOX))).tolist()
        """Pairs with a height field."""
        self.count = int(tree.nslots) if self.contacts else 0
        if self.contacts:
            self._points, self._poses = runner(CONTACT_POINTS), runner(SHAPE_POSES)

    def __call__(self, q: Array, parameters: Sequence[Any]) -> Array:
        """Cells of all slots, as ``cells`` of the equations of a step: none where the robot has no height field.

        Args:
            q: Configuration, ``(..., nq)``.
            parameters: Parameters of the robot that are inputs, in order.
        """
        if not self.contacts:
            return NO_CELLS
        gaps, points, frames = self._points.evaluate([q, np.zeros((0, 7)), *parameters], [None] * 3)
        rotations, positions = self._poses.evaluate([q, *parameters], [None] * 2)
        cells = np.zeros((*gaps.shape, *CELLS))
        margins = dict(zip(self.tree.margin_contact.tolist(), self.tree.contact_margin.tolist(), strict=True))
        for c in self.contacts:
            slots = slice(self.tree.contact_slot[c], self.tree.contact_slot[c] + self.tree.contact_slots[c])
            pair = int(self.tree.contact_first[c]), int(self.tree.contact_second[c])
            (field, solid), way = (pair[::-1], -1.0) if self.tree.contact_reversed[c] else (pair, 1.0)
            radius = 0.0 if self.tree.contact_kind[c] == FIELD_BOX else self.tree.shape_size[solid, 0]
            gap = gaps[..., slots, None] + margins.get(c, 0.0)
            n = way * frames[..., slots, :, 2]
            nearest = points[..., slots, :] - 0.5 * gap * n
            for k, x in enumerate((nearest, nearest + (gap + radius) * n)):
                local = (x - positions[..., None, field, :]) @ rotations[..., field, :, :]
                cells[..., slots, k, :] = self._cells_below(field, local)
        return cells

    def _cells_below(self, field: int, x: Array) -> Array:
        """The cells of a height field below or above points in its axes, or next to them: least x and y, heights."""
        tree = self.tree
        f = int(tree.shape_field[field])
        counts = np.array([tree.field_rows[f], tree.field_columns[f]])
        half = tree.shape_size[field, :2]
        d = 2.0 * half / (counts - 1)
        at = np.clip(np.floor((x[..., :2] + half) / d), 0, counts - 2).astype(int)
        first = tree.field_start[f] + at[..., 0] * counts[1] + at[..., 1]
        corners = first[..., None] + np.array([0, counts[1], counts[1] + 1, 1])
        return np.concatenate([at * d - half, tree.heights[corners]], -1)
