# SPDX-License-Identifier: BSD-3-Clause
"""The order in which constraint forces are eliminated when rows are propagated from child to parent (PV, proxPV,
proxBBO).

A row of a constraint starts on the bodies it acts on and is propagated from child to parent, as forces are, until it
reaches its root. There nothing else can change it, and its force is eliminated: at the root of its loop, at the body
below that hangs from the world, or at the world. Each row on each body on its path has a *slot*. Rows that pass a joint
together, or are eliminated where others pass, become coupled: these pairs are the entries of ``L``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.model.graphs import ancestors, common_ancestor
from linkwork.model.model import Model
from linkwork.plans.constraints import CONSTRAINED_TREE, body_of_dof, constrained_tree
from linkwork.plans.tree import LOCAL, Tree

BBO_TREE = CONSTRAINED_TREE.extended(
    "bbo",
    sizes=(
        "nslots",
        "nentries",  # entries of L
        "nblocks",  # blocks of rows that are eliminated together
        "nblock_entries",
        "ncross",
        "npassing",
        "ncoupled",
        "max_block",  # rows of the largest block
        "max_rows",  # rows of the largest constraint
    ),
    integers={
        "k_slot": ("nk",),  # the slot that a row of K starts in, -1 on the world
        "term_slot": ("nterms",),
        "slot_row": ("nslots",),
        "slot_parent": ("nslots",),  # the slot on the parent, -1 where that is the world
        "slot_constraint_first": ("nslots",),  # the first slot on the same body of a row of the same constraint
        "row_in_constraint": ("nc",),  # the number of a row within its constraint
        "slot_start": ("n",),  # slots of rows that pass the joint of a body: first and count
        "slot_count": ("n",),
        "passing_start": ("n",),  # entries of L of these, the lower triangle row by row
        "passing_entry": ("npassing",),
        "block_start": ("n",),  # blocks eliminated at a body: first and count
        "block_count": ("n",),
        "block_slot": ("nblocks",),  # slots of a block: first and count
        "block_size": ("nblocks",),
        "block_entry_start": ("nblocks",),  # its entries of L, the lower triangle row by row
        "block_entry": ("nblock_entries",),
        "coupled_start": ("nblocks",),  # the passing slots that it is coupled to: first and count
        "coupled_count": ("nblocks",),
        "coupled_slot": ("ncoupled",),
        "coupled_passing_start": ("nblocks",),  # entries of L of these, the lower triangle, in `passing_entry`
        "cross_start": ("nblocks",),  # entries of L between the block's rows and these, one row of the block at a time
        "cross_entry": ("ncross",),
    },
    floats={},
)
"""A mechanism with its constraints and the paths of their rows."""


LOOP, BASE, WORLD_END, NOWHERE = range(4)
"""Where rows end: at the root of their loop; at the body that carries it and hangs from the world; at the world; or
nowhere, if only the products of rows of one constraint are wanted."""


def bbo_tree(mechanism: Model, frames: Sequence[str] = (), end: int = LOOP) -> Tree:
    """The arrays of a mechanism with the paths of its rows, which end at ``end``."""
    first_rows = [mechanism.row_slice(c.name).start for c in mechanism.constraints for _ in range(c.rows)]
    return _RowPaths(constrained_tree(mechanism, frames, LOCAL), end, first_rows).build()


class _Body(NamedTuple):
    """Slots, entries of L and blocks of a body: where they start, and how many slots and blocks."""

    slot_start: int
    slot_count: int
    passing_start: int
    block_start: int
    block_count: int


class _Block(NamedTuple):
    """Slots of a block, and where its entries of L start."""

    slot: int
    size: int
    entry_start: int
    coupled_start: int
    coupled_count: int
    coupled_passing_start: int
    cross_start: int


class _RowPaths:
    """Propagates the rows once, in integers."""

    def __init__(self, tree: Tree, end: int, first_rows: Sequence[int]) -> None:
        self.tree, self.end, self.first_rows = tree, end, first_rows
        self.parent: list[int] = tree.parent.tolist()
        self.joints = body_of_dof(tree)
        self.passing, self.rooted = self._supports()
        self.entries: dict[tuple[int, int], int] = {}
        self.slots: dict[tuple[int, int], int] = {}
        self.bodies: list[_Body] = []
        self.blocks: list[_Block] = []
        self.block_entry: list[int] = []
        self.passing_entry: list[int] = []
        self.coupled_slot: list[int] = []
        self.cross_entry: list[int] = []

    def build(self) -> Tree:
        tree = self.tree
        for i in range(tree.n - 1, -1, -1):
            self._propagate(i)
        bodies, blocks, slots = self.bodies[::-1], self.blocks, self.slots
        firsts = {(body, self.first_rows[r]): s for (body, r), s in reversed(slots.items())}
        k_slots = zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True)
        terms = zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True)
        return BBO_TREE.build(
            tree,
            nentries=len(self.entries),
            max_block=max((block.size for block in blocks), default=0),
            max_rows=max((self.first_rows.count(first) for first in set(self.first_rows)), default=0),
            k_slot=[slots.get((body, r), -1) if body > 0 else -1 for body, r in k_slots],
            term_slot=[slots[self.joints[v], r] for v, r in terms],
            slot_row=[row for _, row in slots],
            slot_parent=[self._parent_slot(body, row) for body, row in slots],
            slot_constraint_first=[firsts[body, self.first_rows[r]] for body, r in slots],
            row_in_constraint=[r - first for r, first in enumerate(self.first_rows)],
            slot_start=[body.slot_start for body in bodies],
            slot_count=[body.slot_count for body in bodies],
            passing_start=[body.passing_start for body in bodies],
            passing_entry=self.passing_entry,
            block_start=[body.block_start for body in bodies],
            block_count=[body.block_count for body in bodies],
            block_slot=[block.slot for block in blocks],
            block_size=[block.size for block in blocks],
            block_entry_start=[block.entry_start for block in blocks],
            block_entry=self.block_entry,
            coupled_start=[block.coupled_start for block in blocks],
            coupled_count=[block.coupled_count for block in blocks],
            coupled_slot=self.coupled_slot,
            coupled_passing_start=[block.coupled_passing_start for block in blocks],
            cross_start=[block.cross_start for block in blocks],
            cross_entry=self.cross_entry,
        )

    def _propagate(self, i: int) -> None:
        """Slots of body ``i``: of rows that pass its joint, then of the blocks that are eliminated there."""
        passing = self.passing[i]
        slot_start, block_start = len(self.slots), len(self.blocks)
        self._take_slots(i, passing)
        blocks = [] if self.end == NOWHERE else self._uncoupled_blocks(self.rooted[i])
        for block in blocks:
            slot = len(self.slots)
            self._take_slots(i, block)
            coupled = [r for r in passing if any(self._are_coupled(r, s) for s in block)]
            starts = len(self.block_entry), len(self.coupled_slot), len(self.passing_entry), len(self.cross_entry)
            self.block_entry += self._triangle(block)
            self.coupled_slot += [self.slots[i, r] for r in coupled]
            self.cross_entry += [self._entry(r, u) for r in block for u in coupled]
            self.passing_entry += self._triangle(coupled)
            entry_start, coupled_start, passing_start, cross_start = starts
            self.blocks.append(
                _Block(slot, len(block), entry_start, coupled_start, len(coupled), passing_start, cross_start)
            )
        self.bodies.append(_Body(slot_start, len(passing), len(self.passing_entry), block_start, len(blocks)))
        self.passing_entry += [] if self.end == NOWHERE else self._triangle(passing)

    def _take_slots(self, body: int, rows: Sequence[int]) -> None:
        for r in rows:
            self.slots[body, r] = len(self.slots)

    def _parent_slot(self, body: int, row: int) -> int:
        if body == 0 or self.parent[body] == 0 or row not in self.passing[body]:
            return -1
        return self.slots.get((self.parent[body], row), -1)

    def _entry(self, r: int, s: int) -> int:
        """The entry of L for two rows."""
        return self.entries.setdefault((max(r, s), min(r, s)), len(self.entries))

    def _are_coupled(self, r: int, s: int) -> bool:
        return (max(r, s), min(r, s)) in self.entries

    def _triangle(self, rows: Sequence[int]) -> list[int]:
        return [self._entry(rows[a], rows[b]) for a in range(len(rows)) for b in range(a + 1)]

    def _supports(self) -> tuple[list[list[int]], list[list[int]]]:
        """Rows that pass the joint of each body, and rows whose root it is."""
        tree = self.tree
        starts: list[set[int]] = [set() for _ in range(tree.nc)]
        ends: list[set[int]] = [set() for _ in range(tree.nc)]
        for body, row in zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True):
            starts[row].add(body)
            ends[row].add(body)
        for v, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
            starts[row].add(self.joints[v])
            ends[row].add(self.parent[self.joints[v]])
        passing: list[list[int]] = [[] for _ in range(tree.n)]
        rooted: list[list[int]] = [[] for _ in range(tree.n)]
        for row in range(tree.nc):
            root = ancestors(self.parent, self._root(ends[row]))
            rooted[root[0]].append(row)
            support = {body for start in starts[row] for body in ancestors(self.parent, start)}
            for body in support - set(root):
                passing[body].append(row)
        return passing, rooted

    def _root(self, bodies: set[int]) -> int:
        """Where a row on these bodies is eliminated."""
        if self.end not in (LOOP, BASE):
            return 0
        if self.end == BASE and len(bodies) > 1:
            bodies = bodies - {0}  # a row to the world acts on the base alone
        root = common_ancestor(ancestors(self.parent, body) for body in bodies)
        return ancestors(self.parent, root)[-2] if self.end == BASE and root > 0 else root

    def _uncoupled_blocks(self, rows: Sequence[int]) -> list[list[int]]:
        """Rows that end at one body, in blocks that are not coupled to each other."""
        left = list(rows)
        blocks: list[list[int]] = []
        while left:
            block = [left.pop(0)]
            for r in block:
                joined = [s for s in left if self._are_coupled(r, s)]
                block += joined
                left = [s for s in left if s not in joined]
            blocks.append(sorted(block))
        return blocks
