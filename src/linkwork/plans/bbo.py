# SPDX-License-Identifier: BSD-3-Clause
"""The order in which constraint forces are eliminated when rows are propagated from child to parent (PV, proxPV,
proxBBO).

A row of a constraint starts on the bodies it acts on and is propagated from child to parent, as forces are, until it
reaches its root. There nothing else can change it, and its force is eliminated: at the root of its loop, at the body
below that hangs from the world, or at the world. Each row on each body on its path has a *slot*. Rows that pass a joint
together, or are eliminated where others pass, become coupled: these pairs are the entries of ``L``.

All this is done for up to four rows of a constraint at once, a *panel* (`kernels.panels`): slots are those of panels,
entries of ``L`` tiles of 4 x 4. Panels are numbered in the order of their elimination, so that of two that are coupled
the one with the lower number is eliminated first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from linkwork.model.graphs import ancestors, common_ancestor, connected
from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.constraints import CONSTRAINED_TREE, body_of_dof, constrained_tree
from linkwork.plans.layout import Layout, Shape
from linkwork.plans.tree import LOCAL, Tree

PATH_SIZES = (
    "npanels",  # panels of rows
    "nslots",
    "nplaces",  # places that panels are kept in
    "nlines",  # lines of T
    "ncoefficients",  # slots with coefficients on the joint itself
    "ntiles",  # tiles of L
    "nblocks",  # blocks of panels that are eliminated together
    "nblock_tiles",
    "ncross",
    "npassing",
    "ncoupled",
    "max_panels",  # slots of a body or block, at most
    "max_rows",  # rows of the largest constraint
)
PATHS: dict[str, Shape] = {
    "row_panel": ("nc",),  # the panel of a row, and which of its rows it is
    "row_column": ("nc",),
    "panel_row": ("npanels",),  # rows of a panel: first and count
    "panel_rows": ("npanels",),
    "k_place": ("nk",),  # the place that a row of K starts in, -1 on the world
    "term_coefficient": ("nterms",),  # the coefficient on the joint itself that it adds to, -1 if there is none
    "slot_panel": ("nslots",),
    "slot_place": ("nslots",),  # where its panel is kept: where the child's was, unless rows start or meet there
    "slot_parent": ("nslots",),  # the place of the slot on the parent, -1 where that is the world
    "slot_line": ("nslots",),  # its first line of T: as many as the joint has freedoms, six in a block
    "slot_coefficient": ("nslots",),  # its coefficients on the joint itself, -1 if there are none
    "slot_constraint_first": ("nslots",),  # the first slot on the same body of a panel of the same constraint
    "row_in_constraint": ("nc",),  # the number of a row within its constraint
    "slot_start": ("n",),  # slots of panels that pass the joint of a body: first and count
    "slot_count": ("n",),
    "passing_start": ("n",),  # tiles of L of these, the lower triangle row by row
    "passing_tile": ("npassing",),
    "block_start": ("n",),  # blocks eliminated at a body: first and count
    "block_count": ("n",),
    "block_slot": ("nblocks",),  # slots of a block: first and count
    "block_size": ("nblocks",),
    "block_tile_start": ("nblocks",),  # its tiles of L, the lower triangle row by row
    "block_tile": ("nblock_tiles",),
    "coupled_start": ("nblocks",),  # the passing slots that it is coupled to: first and count
    "coupled_count": ("nblocks",),
    "coupled_slot": ("ncoupled",),
    "coupled_passing_start": ("nblocks",),  # tiles of L of these, the lower triangle, in `passing_tile`
    "cross_start": ("nblocks",),  # tiles of L between the block and these, one panel of the block at a time
    "cross_tile": ("ncross",),
    "tile_first": ("ntiles",),  # panels of a tile of L, the later one,
    "tile_second": ("ntiles",),  # and the earlier
}
"""Paths of rows, by panels."""

BBO_TREE = CONSTRAINED_TREE.extended("bbo", PATH_SIZES, PATHS, {})
"""A mechanism with its constraints and the paths of their rows."""

PANEL = 4
"""Rows of a panel, at most: as many numbers as one instruction of most machines handles."""

LOOP, BASE, WORLD_END, NOWHERE = range(4)
"""Where rows end: at the root of their loop; at the body that carries it and hangs from the world; at the world; or
nowhere, if only the products of rows of one constraint are wanted."""


def bbo_tree(
    mechanism: Model, frames: Sequence[str] = (), end: int = LOOP, at_base: Collection[int] = frozenset()
) -> Tree:
    """The arrays of a mechanism with the paths of its rows, which end at ``end``; those in ``at_base`` at the base."""
    return RowPaths(constrained_tree(mechanism, frames, LOCAL), end, first_rows(mechanism), at_base).build()


def first_rows(mechanism: Model) -> list[int]:
    """For each row, the first one of its constraint."""
    return [mechanism.row_slice(c.name).start for c in mechanism.constraints for _ in range(c.rows)]


class Branch(NamedTuple):
    """Rows that could end at a body on the world, a floating base say, and that share joints beyond its own."""

    base: int
    rows: list[int]
    loops: list[int]
    """Rows that end in a loop on the way."""


def branches_of_bases(tree: Tree, end: int) -> list[Branch]:
    """Rows that would end at the world, by the body on the world that carries them all and the joints they share.

    A row that binds the joint of that body, by a gear say, must pass it.
    """
    paths = RowPaths(tree, end, range(tree.nc))
    parent, panels = paths.parent, paths.panels  # a panel for each row
    terms = zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True)
    on_base = {row for v, row in terms if parent[paths.joints[v]] == 0}
    supports: list[set[int]] = []
    bases: list[int] = []
    for panel in panels:
        lines = [ancestors(parent, body) for body in panel.starts if body > 0]
        supports.append({body for line in lines for body in line[:-2]})
        one = len({line[-2] for line in lines}) == 1 and panel.row not in on_base
        bases.append(lines[0][-2] if one else 0)
    branches: dict[int, Branch] = {}
    for panel, base, group in zip(panels, bases, connected(supports), strict=True):
        branch = branches.setdefault(group, Branch(base, [], []))
        (branch.rows if panel.root == 0 else branch.loops).append(panel.row)
        if base != branch.base:
            branches[group] = branch._replace(base=0)
    return [branch for branch in branches.values() if branch.base > 0 and branch.rows]


def rows_passing(tree: Tree, body: int) -> int:
    """The number of rows that pass the joint of a body."""
    start = tree.slot_start[body]
    return int(tree.panel_rows[tree.slot_panel[start : start + tree.slot_count[body]]].sum())


def rows_of_block(tree: Tree, block: int) -> int:
    """The number of rows of a block."""
    start = tree.block_slot[block]
    return int(tree.panel_rows[tree.slot_panel[start : start + tree.block_size[block]]].sum())


def rows_coupled(tree: Tree, block: int) -> int:
    """The number of passing rows that are coupled to a block."""
    start = tree.coupled_start[block]
    slots = tree.coupled_slot[start : start + tree.coupled_count[block]]
    return int(tree.panel_rows[tree.slot_panel[slots]].sum())


def estimated_operations(tree: Tree, iterations: int) -> int:
    """Operations on rows that depend on where these end: of ``L`` and its factor, and of so many iterations.

    Entries of ``K`` and ``L`` count as if none were known to be zero.
    """
    total = 0
    forced = [False] * tree.n  # whether further iterations find forces at a body: rows are eliminated there or beyond
    for i in range(tree.n - 1, -1, -1):
        for b in range(tree.block_start[i], tree.block_start[i] + tree.block_count[i]):
            n, m = rows_of_block(tree, b), rows_coupled(tree, b)
            total += n**3 // 3 + n * n // 2 + n * m * (n + m + 1)  # L_RR, L_RU, L_UU
            total += iterations * (2 * n * n - n + 4 * n * m)
            if i > 0:
                forced[i] = True
                total += 6 * n * (n - 1) + 48 * n + 12 * n * m + iterations * 24 * n  # Z, T, H, K_U; f, lambda
        if i > 0:
            n, dof = rows_passing(tree, i), DOF[int(tree.kind[i])]
            total += dof * n * (n + 1) + (dof * (2 * dof - 1) * n if dof > 1 else n)  # L, T
            total += iterations * 2 * dof * n  # y
            total += (iterations if forced[i] else 1) * (2 * dof * n + 2 * dof * dof)  # k, D^-1 u
            forced[tree.parent[i]] |= forced[i]
    return total


class Panel(NamedTuple):
    """Rows of a panel, the bodies that they start on, and where they end."""

    row: int
    rows: int
    starts: frozenset[int]
    root: int


class _Body(NamedTuple):
    """Slots, tiles of L and blocks of a body: where they start, and how many slots and blocks."""

    slot_start: int
    slot_count: int
    passing_start: int
    block_start: int
    block_count: int


class _Block(NamedTuple):
    """Slots of a block, and where its tiles of L start."""

    slot: int
    size: int
    tile_start: int
    coupled_start: int
    coupled_count: int
    coupled_passing_start: int
    cross_start: int


class RowPaths:
    """Propagates the panels once, in integers."""

    layout: Layout = BBO_TREE

    def __init__(self, tree: Tree, end: int, first_rows: Sequence[int], at_base: Collection[int] = frozenset()) -> None:
        self.tree, self.end, self.first_rows, self.at_base = tree, end, first_rows, at_base
        self.parent: list[int] = tree.parent.tolist()
        self.order = self._order()
        self.children: list[list[int]] = [[] for _ in self.parent]
        for body in self.order[:-1]:
            self.children[self.parent[body]].append(body)
        self.joints = body_of_dof(tree)
        self.panels = self._panels()
        self.panel_of = {p.row + c: (n, c) for n, p in enumerate(self.panels) for c in range(p.rows)}
        self.passing, self.rooted = self._supports()
        self.tiles: dict[tuple[int, int], int] = {}
        self.slots: dict[tuple[int, int], int] = {}
        self.places: list[int] = []
        self.nplaces = 0
        self.lines: list[int] = []
        self.nlines = 0
        self.bodies: dict[int, _Body] = {}
        self.blocks: list[_Block] = []
        self.block_tile: list[int] = []
        self.passing_tile: list[int] = []
        self.coupled_slot: list[int] = []
        self.cross_tile: list[int] = []

    def build(self) -> Tree:
        """The arrays."""
        return self.layout.build(self.tree, **self._fields())

    def _fields(self) -> dict[str, Any]:
        """Fields of `layout` beyond those of the mechanism."""
        tree = self.tree
        for i in self.order:
            self._propagate(i)
        bodies = [self.bodies[i] for i in range(tree.n)]
        blocks, slots, panels = self.blocks, self.slots, self.panels
        constraint = [self.first_rows[p.row] for p in panels]
        firsts = {(body, constraint[p]): s for (body, p), s in reversed(slots.items())}
        k_rows = list(zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True))
        terms = [
            self.slots[self.joints[v], self.panel_of[row][0]] if self._stays_on_joint(row) else -1
            for v, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True)
        ]
        coefficients = {s: k for k, s in enumerate(dict.fromkeys(s for s in terms if s >= 0))}
        return {
            "nplaces": self.nplaces,
            "nlines": self.nlines,
            "ncoefficients": len(coefficients),
            "ntiles": len(self.tiles),
            "max_panels": max([*(body.slot_count for body in bodies), *(block.size for block in blocks)]),
            "max_rows": max((self.first_rows.count(first) for first in set(self.first_rows)), default=0),
            "row_panel": [self.panel_of[r][0] for r in range(tree.nc)],
            "row_column": [self.panel_of[r][1] for r in range(tree.nc)],
            "panel_row": [p.row for p in panels],
            "panel_rows": [p.rows for p in panels],
            "k_place": [self._place(body, row) for body, row in k_rows],
            "term_coefficient": [coefficients.get(s, -1) for s in terms],
            "slot_panel": [panel for _, panel in slots],
            "slot_place": self.places,
            "slot_parent": [self._parent_place(body, panel) for body, panel in slots],
            "slot_line": self.lines,
            "slot_coefficient": [coefficients.get(s, -1) for s in range(len(slots))],
            "slot_constraint_first": [firsts[body, constraint[p]] for body, p in slots],
            "row_in_constraint": [r - first for r, first in enumerate(self.first_rows[: tree.nc])],
            "slot_start": [body.slot_start for body in bodies],
            "slot_count": [body.slot_count for body in bodies],
            "passing_start": [body.passing_start for body in bodies],
            "passing_tile": self.passing_tile,
            "block_start": [body.block_start for body in bodies],
            "block_count": [body.block_count for body in bodies],
            "block_slot": [block.slot for block in blocks],
            "block_size": [block.size for block in blocks],
            "block_tile_start": [block.tile_start for block in blocks],
            "block_tile": self.block_tile,
            "coupled_start": [block.coupled_start for block in blocks],
            "coupled_count": [block.coupled_count for block in blocks],
            "coupled_slot": self.coupled_slot,
            "coupled_passing_start": [block.coupled_passing_start for block in blocks],
            "cross_start": [block.cross_start for block in blocks],
            "cross_tile": self.cross_tile,
            "tile_first": [p for p, _ in self.tiles],
            "tile_second": [q for _, q in self.tiles],
        }

    def _order(self) -> list[int]:
        """Bodies in the order of their elimination, the world last."""
        return list(range(self.tree.n - 1, -1, -1))

    def _stays_on_joint(self, row: int) -> bool:
        """Whether terms of a row are coefficients on joints, and not rows of K of their bodies."""
        return True

    def _starts(self, body: int, panel: int) -> bool:
        """Whether a panel needs a place of its own on a body: rows are added there to those that children propagate."""
        return body in self.panels[panel].starts

    def _propagate(self, i: int) -> None:
        """Slots of body ``i``: of panels that pass its joint, then of the blocks that are eliminated there."""
        passing = self.passing[i]
        slot_start, block_start = len(self.slots), len(self.blocks)
        self._take_slots(i, passing, DOF[int(self.tree.kind[i])] if i > 0 else 0)
        blocks = [] if self.end == NOWHERE else self._uncoupled_blocks(self.rooted[i])
        for block in blocks:
            slot = len(self.slots)
            self._take_slots(i, block, 6 if i > 0 else 0)
            coupled = [p for p in passing if any(self._are_coupled(p, q) for q in block)]
            starts = len(self.block_tile), len(self.coupled_slot), len(self.passing_tile), len(self.cross_tile)
            self.block_tile += self._triangle(block)
            self.coupled_slot += [self.slots[i, p] for p in coupled]
            self.cross_tile += [self._tile(p, u) for p in block for u in coupled]
            self.passing_tile += self._triangle(coupled)
            tile_start, coupled_start, passing_start, cross_start = starts
            self.blocks.append(
                _Block(slot, len(block), tile_start, coupled_start, len(coupled), passing_start, cross_start)
            )
        self.bodies[i] = _Body(slot_start, len(passing), len(self.passing_tile), block_start, len(blocks))
        self.passing_tile += [] if self.end == NOWHERE else self._triangle(passing)

    def _take_slots(self, body: int, panels: Sequence[int], lines: int) -> None:
        """Slots of panels on a body, in the place of that on the first child, unless rows of K start on the body."""
        for p in panels:
            children = [self.slots[c, p] for c in self.children[body] if p in self.passing[c]]
            if body == 0 or not children or self._starts(body, p):
                self.places.append(self.nplaces if body > 0 else -1)
                self.nplaces += body > 0
            else:
                self.places.append(self.places[children[0]])
            self.slots[body, p] = len(self.slots)
            self.lines.append(self.nlines)
            self.nlines += lines

    def _place(self, body: int, row: int) -> int:
        """The place of a row on a body, -1 on the world."""
        slot = self.slots.get((body, self.panel_of[row][0])) if body > 0 else None
        return -1 if slot is None else self.places[slot]

    def _parent_place(self, body: int, panel: int) -> int:
        if body == 0 or self.parent[body] == 0 or panel not in self.passing[body]:
            return -1
        slot = self.slots.get((self.parent[body], panel))
        return -1 if slot is None else self.places[slot]

    def _tile(self, p: int, q: int) -> int:
        """The tile of L for two panels."""
        return self.tiles.setdefault((max(p, q), min(p, q)), len(self.tiles))

    def _are_coupled(self, p: int, q: int) -> bool:
        return (max(p, q), min(p, q)) in self.tiles

    def _triangle(self, panels: Sequence[int]) -> list[int]:
        return [self._tile(panels[a], panels[b]) for a in range(len(panels)) for b in range(a + 1)]

    def _panels(self) -> list[Panel]:
        """Rows of each constraint, up to `PANEL` that start and end together, in the order of their elimination."""
        tree = self.tree
        starts: list[set[int]] = [set() for _ in range(tree.nc)]
        ends: list[set[int]] = [set() for _ in range(tree.nc)]
        for body, row in zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True):
            starts[row].add(body)
            ends[row].add(body)
        for v, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
            starts[row].add(self.joints[v])
            ends[row].add(self.parent[self.joints[v]])
        panels: list[Panel] = []
        for row in range(tree.nc):
            here, root = frozenset(starts[row]), self._root(ends[row], BASE if row in self.at_base else self.end)
            last = panels[-1] if panels else None
            if (
                last is not None
                and last.rows < PANEL
                and (last.starts, last.root) == (here, root)
                and self.first_rows[last.row] == self.first_rows[row]
            ):
                panels[-1] = last._replace(rows=last.rows + 1)
            else:
                panels.append(Panel(row, 1, here, root))
        return sorted(panels, key=lambda panel: (-panel.root, panel.row))

    def _supports(self) -> tuple[list[list[int]], list[list[int]]]:
        """Panels that pass the joint of each body, and panels whose root it is."""
        n = self.tree.n
        passing: list[list[int]] = [[] for _ in range(n)]
        rooted: list[list[int]] = [[] for _ in range(n)]
        for p, panel in enumerate(self.panels):
            rooted[panel.root].append(p)
            support = {body for start in panel.starts for body in ancestors(self.parent, start)}
            for body in support - set(ancestors(self.parent, panel.root)):
                passing[body].append(p)
        return passing, rooted

    def _root(self, bodies: set[int], end: int) -> int:
        """Where a row on these bodies is eliminated."""
        if end not in (LOOP, BASE):
            return 0
        if end == BASE and len(bodies) > 1:
            bodies = bodies - {0}  # a row to the world acts on the base alone
        root = common_ancestor(ancestors(self.parent, body) for body in bodies)
        return ancestors(self.parent, root)[-2] if end == BASE and root > 0 else root

    def _uncoupled_blocks(self, panels: Sequence[int]) -> list[list[int]]:
        """Panels that end at one body, in blocks that are not coupled to each other."""
        left = list(panels)
        blocks: list[list[int]] = []
        while left:
            block = [left.pop(0)]
            for p in block:
                joined = [q for q in left if self._are_coupled(p, q)]
                block += joined
                left = [q for q in left if q not in joined]
            blocks.append(sorted(block))
        return blocks
