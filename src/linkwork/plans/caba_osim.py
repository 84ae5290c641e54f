# SPDX-License-Identifier: BSD-3-Clause
"""Paths of rows in the order of elimination of LCABA (cABA-OSIM with loops).

A row on a body that is eliminated goes to the parent and to all neighbors, the bodies that springs of rows couple to
it: see `lcaba`.
"""

from __future__ import annotations

from typing import Any

from linkwork.model.model import Model
from linkwork.plans.bbo import PATH_SIZES, PATHS, WORLD_END, RowPaths, first_rows
from linkwork.plans.layout import ragged
from linkwork.plans.lcaba import LCABA_TREE, lcaba_tree
from linkwork.plans.tree import Tree

CABA_OSIM_TREE = LCABA_TREE.extended(
    "caba_osim",
    (*PATH_SIZES, "nneighbor_places"),
    PATHS
    | {
        "neighbor_place_start": ("nneighbors",),  # places on a neighbor of the panels that reach it, one a slot
        "neighbor_place": ("nneighbor_places",),
    },
    {},
)
"""A mechanism with its constraints, the order of elimination, and the paths of rows in it."""


def caba_osim_tree(mechanism: Model) -> Tree:
    """The arrays of a mechanism with the paths of its rows through parents and neighbors."""
    return _CoupledPaths(lcaba_tree(mechanism), WORLD_END, first_rows(mechanism)).build()


class _CoupledPaths(RowPaths):
    """Paths of rows to parents and neighbors."""

    layout = CABA_OSIM_TREE

    def _order(self) -> list[int]:
        order: list[int] = self.tree.elimination_order.tolist()
        return [*order[1:], 0]

    def _stays_on_joint(self, row: int) -> bool:
        return bool(self.tree.single_joint[row])

    def _neighbors(self, i: int) -> list[int]:
        start = self.tree.neighbor_start[i]
        neighbors: list[int] = self.tree.neighbor_body[start : start + self.tree.neighbor_count[i]].tolist()
        return neighbors

    def _supports(self) -> tuple[list[list[int]], list[list[int]]]:
        """Panels that reach each body."""
        reaching: list[set[int]] = [
            {p for p, panel in enumerate(self.panels) if i in panel.starts} for i in range(self.tree.n)
        ]
        self.from_neighbors: list[set[int]] = [set() for _ in reaching]
        for i in self.order[:-1]:
            reaching[self.parent[i]] |= reaching[i]
            for j in self._neighbors(i):
                reaching[j] |= reaching[i]
                self.from_neighbors[j] |= reaching[i]
        return [sorted(panels) for panels in [set(), *reaching[1:]]], [[] for _ in reaching]

    def _starts(self, body: int, panel: int) -> bool:
        return super()._starts(body, panel) or panel in self.from_neighbors[body]

    def _fields(self) -> dict[str, Any]:
        fields = super()._fields()
        reached = ragged(
            [self.places[self.slots[j, p]] for p in self.passing[i]]
            for i in self.order[:-1]
            for j in self._neighbors(i)
        )
        return fields | {"neighbor_place_start": reached.start, "neighbor_place": reached.entries}
