"""What closes each loop: the joints that move its rows, and which rows have to be solved for together."""

from __future__ import annotations

import numpy as np

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.loops import LOOPS, constrained_tree, coupled
from linkwork.plans.tree import Tree

SUPPORTS = LOOPS.extended(
    "supports",
    sizes=("nsupport", "ngroups"),
    integers={
        "k_root": ("nk",),  # the body that carries both of a pair, whose joints move both alike; else the world
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


def supports_tree(mechanism: Model) -> Tree:
    """The arrays of a mechanism with the supports of its rows."""
    tree = constrained_tree(mechanism)
    parent = tree.parent.tolist()

    def line(body: int) -> list[int]:
        """The body and all that carry it, ending with the world."""
        found = [body]
        while found[-1] > 0:
            found.append(parent[found[-1]])
        return found

    k_root = np.zeros(tree.nk, dtype=np.int64)
    for first, second in zip(tree.first_k.tolist(), tree.second_k.tolist(), strict=True):
        ways = [set(line(int(tree.k_body[k]))) for k in (first, second)]
        k_root[first : 2 * second - first] = max(ways[0] & ways[1])
    dofs: list[set[int]] = [set() for _ in range(tree.nc)]
    for body, root, row in zip(tree.k_body.tolist(), k_root.tolist(), tree.k_row.tolist(), strict=True):
        way = line(body)
        for i in way[: way.index(root)]:
            dofs[row] |= set(range(int(tree.iv[i]), int(tree.iv[i]) + DOF[int(tree.kind[i])]))
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
        k_root=k_root,
        row_start=starts(counts),
        row_count=np.array(counts, dtype=np.int64),
        row_dof=np.array([k for some in dofs for k in sorted(some)], dtype=np.int64),
        group_start=starts(sizes),
        group_count=np.array(sizes, dtype=np.int64),
        group_row=np.array([r for some in groups for r in some], dtype=np.int64),
    )
