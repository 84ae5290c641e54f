"""What closes each loop: the joints that move its rows, and which rows have to be solved for together."""

from __future__ import annotations

import numpy as np

from linkwork.joints import DOF
from linkwork.mechanism import Mechanism
from linkwork.plans.loops import LOOPS, constrained_tree, coupled
from linkwork.plans.tree import Tree

SUPPORTS = LOOPS.extended(
    "supports",
    sizes=("nsupport", "ngroups"),
    integers={
        "k_root": ("nk",),  # where the bodies of a row meet: joints that carry it move all of them alike
        "row_start": ("nc",),  # degrees of freedom of the joints that move a row: first and count
        "row_count": ("nc",),
        "row_dof": ("nsupport",),
        "group_start": ("ngroups",),  # rows that share joints, directly or through others: first and count
        "group_count": ("ngroups",),
        "group_row": ("nc",),
    },
    floats={},
)
"""A mechanism with its constraints, and the joints that each of them is closed by."""


def supports_tree(mechanism: Mechanism) -> Tree:
    """The arrays of a mechanism with the supports of its rows."""
    tree = constrained_tree(mechanism)
    parent = tree.parent.tolist()

    def line(body: int) -> list[int]:
        """The body and all that carry it, ending with the world."""
        found = [body]
        while found[-1] > 0:
            found.append(parent[found[-1]])
        return found

    bodies: list[list[int]] = [[] for _ in range(tree.nc)]
    for body, row in zip(tree.k_body.tolist(), tree.k_row.tolist(), strict=True):
        bodies[row].append(body)
    lines = [[line(body) for body in touched] for touched in bodies]
    roots = [max(set(some[0]).intersection(*some[1:])) if some else 0 for some in lines]
    dofs: list[set[int]] = [set() for _ in range(tree.nc)]
    for row, (some, root) in enumerate(zip(lines, roots, strict=True)):
        for body in {b for one in some for b in one[: one.index(root)]}:
            dofs[row] |= set(range(int(tree.iv[body]), int(tree.iv[body]) + DOF[int(tree.kind[body])]))
    for dof, row in zip(tree.term_v.tolist(), tree.term_row.tolist(), strict=True):
        dofs[row].add(dof)
    numbers = coupled(dofs)
    groups = [[r for r, number in enumerate(numbers) if number == g] for g in range(max(numbers, default=-1) + 1)]

    def starts(counts: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.cumsum([0, *counts])[:-1].astype(np.int64)

    counts, sizes = [len(some) for some in dofs], [len(some) for some in groups]
    return SUPPORTS.type(
        **tree._asdict(),
        nsupport=sum(counts),
        ngroups=len(groups),
        k_root=np.array([roots[row] for row in tree.k_row.tolist()], dtype=np.int64),
        row_start=starts(counts),
        row_count=np.array(counts, dtype=np.int64),
        row_dof=np.array([k for some in dofs for k in sorted(some)], dtype=np.int64),
        group_start=starts(sizes),
        group_count=np.array(sizes, dtype=np.int64),
        group_row=np.array([r for some in groups for r in some], dtype=np.int64),
    )
