# SPDX-License-Identifier: BSD-3-Clause
"""Junctions at which rows end on their way to the world (PV-OSIMr).

A *junction* is a body at which more rows arrive than unit forces on it, six, would be: from there on these six are
propagated in their place, as rows of their own, and may end at a junction nearer to the world in turn. The rows that
arrive are combinations of them. Branching bodies and ends of limbs are where this pays; an estimate of the operations
on the way to the world decides.
"""

from __future__ import annotations

from typing import Any

from linkwork.model.graphs import ancestors
from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.bbo import BBO_TREE, WORLD_END, Panel, RowPaths, first_rows
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.layout import ragged
from linkwork.plans.tree import LOCAL, Tree

PV_OSIMR_TREE = BBO_TREE.extended(
    "pv_osimr",
    sizes=("nall", "njunctions", "nunits", "nending", "nmet"),
    integers={
        "unit_place": ("nunits",),  # panels of unit forces on a junction: the place,
        "unit_panel": ("nunits",),
        "unit_first": ("nunits",),  # and which unit force is in the first column
        "junction_row": ("njunctions",),  # the first of the six rows of a junction, those nearer to the world first
        "ending_start": ("njunctions",),  # slots of panels that end there: first and count
        "ending_count": ("njunctions",),
        "ending_slot": ("nending",),
        "met_start": ("njunctions",),  # rows that those of the junction meet on their way: first and count
        "met_count": ("njunctions",),
        "met_row": ("nmet",),
        "met_ending": ("nmet",),  # 1 for a row that ends at the junction
    },
    floats={},
)
"""A mechanism with the paths of its rows to the world, by junctions; ``nall`` counts unit forces on these as rows."""

UNITS = (0, 4), (4, 2)
"""Panels of the six unit forces: first and count."""
SHIFT, ENTRY, PRODUCT = 24, 12, 11
"""About the operations that take a row to a parent, add those of a degree of freedom, and multiply two vectors of 6."""


def pv_osimr_tree(mechanism: Model, junctions: bool = True) -> Tree:
    """The arrays of a mechanism with the paths of its rows, which end at junctions or at the world.

    Args:
        mechanism: The mechanism.
        junctions: Whether rows may end at junctions.
    """
    kind = _Junctions if junctions else _ToWorld
    return kind(constrained_tree(mechanism, (), LOCAL), WORLD_END, first_rows(mechanism)).build()


class _Junctions(RowPaths):
    """Paths of rows, and of unit forces on junctions."""

    layout = PV_OSIMR_TREE

    def _supports(self) -> tuple[list[list[int]], list[list[int]]]:
        """Panels that pass the joint of each body; those that end at a junction are `ending`."""
        n = self.tree.n
        own: list[set[int]] = [{p for p, panel in enumerate(self.panels) if i in panel.starts} for i in range(n)]
        on_joint: list[set[int]] = [set() for _ in range(n)]
        for v, row in zip(self.tree.term_v.tolist(), self.tree.term_row.tolist(), strict=True):
            on_joint[self.joints[v]].add(self.panel_of[row][0])
        supported = [0] * n
        for panel in self.panels:
            for i in {i for start in panel.starts for i in ancestors(self.parent, start)}:
                supported[i] += panel.rows
        self.ending: dict[int, list[int]] = {}
        passing: list[list[int]] = [[] for _ in range(n)]
        for i in range(n - 1, 0, -1):
            here = own[i].union(*(passing[child] for child in self.children[i]))
            ending = here - on_joint[i]
            if self._saved(i, sum(self.panels[p].rows for p in ending), supported) > 0:
                self.ending[i] = sorted(ending)
                here -= ending
                first = self.tree.nc + 6 * (len(self.ending) - 1)
                for unit, rows in UNITS:
                    here.add(len(self.panels))
                    self.panels.append(Panel(first + unit, rows, frozenset({i}), 0))
            passing[i] = sorted(here)
        constraints = [*self.first_rows, *(self.tree.nc + r - r % 6 for r in range(6 * len(self.ending)))]
        self.first_rows = constraints
        return passing, [[] for _ in range(n)]

    def _saved(self, body: int, rows: int, supported: list[int]) -> int:
        """About the operations saved where so many rows end at a body, six unit forces going on in their place.

        ``supported`` are the numbers of rows that each body carries: the rows of other branches are met on the way.
        """
        path = ancestors(self.parent, body)[:-1]
        dofs = [DOF[int(self.tree.kind[i])] for i in path]
        entries, units = rows * (rows + 1) // 2, 21
        saved = (entries - units) * 2 * sum(dofs) - PRODUCT * (6 * rows + entries)
        for k, i in enumerate(path):
            saved += (rows - 6) * (ENTRY * dofs[k] + (SHIFT if self.parent[i] > 0 else 0))
            others = supported[i] - supported[path[k - 1]] if k > 0 else 0
            saved += others * ((rows - 6) * 2 * sum(dofs[k:]) - PRODUCT * rows)
        return saved

    def _propagate(self, i: int) -> None:
        super()._propagate(i)
        self._take_slots(i, self.ending.get(i, []), 0)

    def _fields(self) -> dict[str, Any]:
        fields = super()._fields()
        panels, nc = self.panels, self.tree.nc
        rows = [range(p.row, p.row + p.rows) for p in panels]
        meeting: list[set[int]] = [set() for _ in range(nc + 6 * len(self.ending))]
        for p, q in self.tiles:
            for r in rows[p]:
                meeting[r].update(rows[q])
            for r in rows[q]:
                meeting[r].update(rows[p])
        first = {body: nc + 6 * k for k, body in enumerate(self.ending)}
        bodies = sorted(self.ending)  # nearer to the world first
        met, ends = [], []
        for body in bodies:
            here = {r for p in self.ending[body] for r in rows[p]}
            others = sorted(set().union(*(meeting[r] for r in range(first[body], first[body] + 6))))
            for r in here:
                meeting[r].update(others)
            for r in others:
                meeting[r].update(here)
            for r in here:
                meeting[r].update(here)
            met.append(others)
            ends.append([int(r in here) for r in met[-1]])
        units = [(i, p) for p, panel in enumerate(panels) if panel.row >= nc for i in panel.starts]
        ending, met_rows = ragged([self.slots[b, p] for p in self.ending[b]] for b in bodies), ragged(met)
        return fields | {
            "nall": len(meeting),
            "unit_place": [self.places[self.slots[i, p]] for i, p in units],
            "unit_panel": [p for _, p in units],
            "unit_first": [(panels[p].row - nc) % 6 for _, p in units],
            "junction_row": [first[body] for body in bodies],
            "ending_start": ending.start,
            "ending_count": ending.count,
            "ending_slot": ending.entries,
            "met_start": met_rows.start,
            "met_count": met_rows.count,
            "met_row": met_rows.entries,
            "met_ending": ragged(ends).entries,
        }


class _ToWorld(_Junctions):
    """Paths of rows that all end at the world, as those of PV-OSIM."""

    def _saved(self, body: int, rows: int, supported: list[int]) -> int:
        return 0
