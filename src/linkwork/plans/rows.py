"""The order in which constraint forces are found when rows travel from body to body (PV, proxPV, proxBBO).

A row of a constraint starts on the bodies it touches and is handed from child to parent, as forces are, until it
reaches its root. There nothing else can change it, and its force is eliminated: at the root of its loop, at the body
below it that hangs from the world, or at the world. Each row on each body on its way has a *slot*. Rows that pass a
joint together, or are eliminated where others pass, become coupled: these pairs are the entries of ``L``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.model.model import Model
from linkwork.plans.loops import LOOPS, constrained_tree
from linkwork.plans.tree import LOCAL, Tree

ROWS = LOOPS.extended(
    "rows",
    sizes=(
        "nslots",
        "nl",  # entries of L
        "nb",  # blocks of rows that are eliminated together
        "nrr",  # as nru, nuu: lists of entries of L
        "nru",
        "nuu",
        "nbu",
        "widest",  # rows of the largest block
        "most",  # rows of the largest constraint
    ),
    integers={
        "k_slot": ("nk",),  # the slot that a row of K starts in, -1 on the world
        "term_slot": ("nterms",),
        "slot_row": ("nslots",),
        "slot_up": ("nslots",),  # the slot on the parent, -1 where that is the world
        "slot_first": ("nslots",),  # the first slot here of a row of the same constraint
        "row_place": ("nc",),  # the place of a row in its constraint
        "slot_start": ("n",),  # slots of rows that pass the joint of a body: first and count
        "slot_count": ("n",),
        "uu_start": ("n",),  # entries of L of these, the lower triangle row by row
        "uu": ("nuu",),
        "block_start": ("n",),  # blocks eliminated at a body: first and count
        "block_count": ("n",),
        "block_slot": ("nb",),  # slots of a block: first and count
        "block_size": ("nb",),
        "rr_start": ("nb",),  # its entries of L, the lower triangle row by row
        "rr": ("nrr",),
        "bu_start": ("nb",),  # the slots that it is coupled to: first and count
        "bu_count": ("nb",),
        "bu": ("nbu",),
        "bu_uu": ("nb",),  # entries of L of these, the lower triangle row by row, in `uu`
        "ru_start": ("nb",),  # entries of L between the block's rows and these, one row of the block after the other
        "ru": ("nru",),
    },
    floats={},
)
"""A mechanism with its constraints and the way of their rows."""


LOOP, BASE, WORLD_END, NOWHERE = range(4)
"""Where rows end: at the root of their loop; at the body that carries it and hangs from the world; at the world; or
nowhere, if only what rows of one constraint do to each other is asked for."""


def rows_tree(mechanism: Model, frames: Sequence[str] = (), end: int = LOOP) -> Tree:
    """The arrays of a mechanism with the way of its rows."""
    firsts = [mechanism.row_slice(c.name).start for c in mechanism.constraints for _ in range(c.rows)]
    return _Way(constrained_tree(mechanism, frames, LOCAL), end, firsts).write()


class _Way:
    """Follows the rows once, in integers."""

    def __init__(self, tree: Tree, end: int, firsts: Sequence[int]) -> None:
        self.tree, self.end, self.firsts = tree, end, firsts
        self.parent = [int(p) for p in tree.parent]
        self.entries: dict[tuple[int, int], int] = {}

    def line(self, body: int) -> list[int]:
        """The body and those below it, ending with the world."""
        found = [body]
        while found[-1] > 0:
            found.append(self.parent[found[-1]])
        return found

    def entry(self, r: int, s: int) -> int:
        """The entry of L for two rows."""
        return self.entries.setdefault((max(r, s), min(r, s)), len(self.entries))

    def write(self) -> Tree:
        tree = self.tree
        passing, rooted = self._supports()
        slot: dict[tuple[int, int], int] = {}
        rows: list[int] = []
        lists: dict[str, list[int]] = {name: [] for name in ("rr", "ru", "uu", "bu")}
        of_body = {
            name: [0] * tree.n for name in ("slot_start", "slot_count", "uu_start", "block_start", "block_count")
        }
        of_block: dict[str, list[int]] = {
            name: [] for name in ("block_slot", "block_size", "rr_start", "bu_start", "bu_count", "bu_uu", "ru_start")
        }

        def take(body: int, row: int) -> int:
            slot[body, row] = len(rows)
            rows.append(row)
            return slot[body, row]

        for i in range(tree.n - 1, -1, -1):
            through = passing[i]
            of_body["slot_start"][i], of_body["slot_count"][i] = len(rows), len(through)
            for r in through:
                take(i, r)
            of_body["block_start"][i] = len(of_block["block_slot"])
            blocks = [] if self.end == NOWHERE else self._blocks(rooted[i])
            of_body["block_count"][i] = len(blocks)
            for block in blocks:
                of_block["block_slot"].append(len(rows))
                of_block["block_size"].append(len(block))
                for r in block:
                    take(i, r)
                coupled = [r for r in through if any((max(r, s), min(r, s)) in self.entries for s in block)]
                of_block["rr_start"].append(len(lists["rr"]))
                lists["rr"] += self._triangle(block)
                of_block["bu_start"].append(len(lists["bu"]))
                of_block["bu_count"].append(len(coupled))
                lists["bu"] += [slot[i, r] for r in coupled]
                of_block["ru_start"].append(len(lists["ru"]))
                lists["ru"] += [self.entry(r, u) for r in block for u in coupled]
                of_block["bu_uu"].append(len(lists["uu"]))
                lists["uu"] += self._triangle(coupled)
            of_body["uu_start"][i] = len(lists["uu"])
            lists["uu"] += [] if self.end == NOWHERE else self._triangle(through)
        up = [-1] * len(rows)
        for (body, row), s in slot.items():
            if body > 0 and row in passing[body]:
                up[s] = slot.get((self.parent[body], row), -1) if self.parent[body] > 0 else -1
        arrays: dict[str, Any] = {**lists, **of_body, **of_block}
        arrays["slot_row"], arrays["slot_up"] = rows, up
        starts = {(body, self.firsts[r]): s for (body, r), s in reversed(slot.items())}
        arrays["slot_first"] = [starts[body, self.firsts[r]] for body, r in slot]
        arrays["row_place"] = [r - first for r, first in enumerate(self.firsts)]
        arrays["k_slot"] = [
            slot.get((int(b), int(r)), -1) if b > 0 else -1 for b, r in zip(tree.k_body, tree.k_row, strict=True)
        ]
        joints = {int(v): i for i, v in enumerate(tree.iv) if i > 0}
        arrays["term_slot"] = [slot[joints[int(v)], int(r)] for v, r in zip(tree.term_v, tree.term_row, strict=True)]
        return ROWS.type(
            **tree._asdict(),
            nslots=len(rows),
            nl=len(self.entries),
            nb=len(of_block["block_slot"]),
            nrr=len(lists["rr"]),
            nru=len(lists["ru"]),
            nuu=len(lists["uu"]),
            nbu=len(lists["bu"]),
            widest=max(of_block["block_size"], default=0),
            most=max((self.firsts.count(first) for first in set(self.firsts)), default=0),
            **{name: np.array(values, dtype=np.int64) for name, values in arrays.items()},
        )

    def _triangle(self, rows: Sequence[int]) -> list[int]:
        return [self.entry(rows[a], rows[b]) for a in range(len(rows)) for b in range(a + 1)]

    def _supports(self) -> tuple[list[list[int]], list[list[int]]]:
        """Rows that pass the joint of each body, and rows whose root it is."""
        tree = self.tree
        starts: list[set[int]] = [set() for _ in range(tree.nc)]
        roots: list[set[int]] = [set() for _ in range(tree.nc)]
        joints = {int(v): i for i, v in enumerate(tree.iv) if i > 0}
        for body, row in zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True):
            starts[row].add(body)
            roots[row].add(body)
        for v, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
            starts[row].add(joints[v])
            roots[row].add(self.parent[joints[v]])
        passing: list[list[int]] = [[] for _ in range(tree.n)]
        rooted: list[list[int]] = [[] for _ in range(tree.n)]
        for row in range(tree.nc):
            if self.end == BASE and len(roots[row]) > 1:
                roots[row].discard(0)  # a row to the world is felt by the base alone
            lines = [self.line(body) for body in roots[row]]
            common = set(lines[0]).intersection(*lines[1:])
            root = next(body for body in lines[0] if body in common) if self.end in (LOOP, BASE) else 0
            if self.end == BASE and root > 0:
                root = self.line(root)[-2]
            rooted[root].append(row)
            below = set(self.line(root))
            for body in {body for start in starts[row] for body in self.line(start)} - below:
                passing[body].append(row)
        return passing, rooted

    def _blocks(self, rows: Sequence[int]) -> list[list[int]]:
        """Rows that end at one body, in sets that are not coupled to each other."""
        left = list(rows)
        blocks: list[list[int]] = []
        while left:
            block = [left.pop(0)]
            for r in block:
                joined = [s for s in left if (max(r, s), min(r, s)) in self.entries]
                block += joined
                left = [s for s in left if s not in joined]
            blocks.append(sorted(block))
        return blocks
