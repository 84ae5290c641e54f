# SPDX-License-Identifier: BSD-3-Clause
"""Where the rows of constraints meet in the tree (EFPA and KJR, as compared in **lqr** Section VII).

Every row of K acts on one body. Two rows meet at the common ancestor of their bodies; rows that meet at the world are
independent. EFPA propagates rows to these ancestors and needs the inverse inertias there; KJR propagates inverse
inertias from there to the two bodies.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

from linkwork.model.graphs import ancestors, common_ancestor
from linkwork.model.model import Model
from linkwork.plans.constraints import CONSTRAINED_TREE, constrained_tree
from linkwork.plans.layout import Ragged, ragged
from linkwork.plans.lcaba import link_rows
from linkwork.plans.tree import LOCAL, Tree

EFPA_TREE = CONSTRAINED_TREE.extended(
    "efpa",
    sizes=("npaths", "ncommon", "nomega", "nbody_pairs", "ndescent", "nproducts"),
    integers={
        "term_k": ("nterms",),  # rows of K of a joint's body, and of its parent
        "term_parent_k": ("nterms",),
        "term_body": ("nterms",),
        "path_start": ("n",),  # rows of K on a body, on their path to the root: first and count
        "path_count": ("n",),
        "path_k": ("npaths",),  # the row of K
        "path_parent": ("npaths",),  # its place on the parent, -1 if it goes no further
        "common_start": ("npaths",),  # rows whose common ancestor with this one is here, itself among them
        "common_count": ("npaths",),
        "common_path": ("ncommon",),
        "omega_body": ("nomega",),  # bodies whose inverse inertia is needed, parents first
        "body_pair_ancestor": ("nbody_pairs",),  # pairs of bodies with rows: their common ancestor,
        "first_descent_start": ("nbody_pairs",),  # the paths from there to both,
        "first_descent_count": ("nbody_pairs",),
        "second_descent_start": ("nbody_pairs",),
        "second_descent_count": ("nbody_pairs",),
        "descent_body": ("ndescent",),
        "product_start": ("nbody_pairs",),  # and the rows of K on them
        "product_count": ("nbody_pairs",),
        "product_first_k": ("nproducts",),
        "product_second_k": ("nproducts",),
    },
    floats={},
)
"""A mechanism with its constraints and where their rows meet."""


class _Meeting(NamedTuple):
    """Two bodies with rows, and their common ancestor."""

    a: int
    b: int
    ancestor: int


def efpa_tree(mechanism: Model, pairs: bool = False) -> Tree:
    """The arrays of a mechanism with the paths of its rows; with those of pairs of bodies if wanted (KJR)."""
    tree = constrained_tree(mechanism, (), LOCAL, joint_level=True)
    rows = link_rows(tree)
    parent = tree.parent.tolist()
    lines = [ancestors(parent, body) for body in range(tree.n)]
    of_body: dict[int, list[int]] = {}
    for m, body in enumerate(rows.k_body):
        if body > 0:
            of_body.setdefault(body, []).append(m)
    meetings = [
        _Meeting(a, b, common_ancestor((lines[a], lines[b])))
        for a, b in combinations_with_replacement(sorted(of_body), 2)
    ]
    meetings = [meeting for meeting in meetings if meeting.ancestor > 0]
    paths = _Paths(of_body, meetings, lines)
    descents = _descents(meetings if pairs else [], lines)
    products = [
        [(m, other) for m in of_body[a] for other in of_body[b] if a != b or other <= m]
        for a, b, _ in (meetings if pairs else [])
    ]
    first_k, second_k = (ragged([pair[side] for pair in each] for each in products) for side in (0, 1))
    return EFPA_TREE.build(
        tree,
        path_start=paths.on_body.start,
        path_count=paths.on_body.count,
        path_k=paths.on_body.entries,
        path_parent=paths.parent,
        common_start=paths.common.start,
        common_count=paths.common.count,
        common_path=paths.common.entries,
        omega_body=sorted({body for meeting in meetings for body in lines[meeting.ancestor] if body > 0}),
        body_pair_ancestor=[meeting.ancestor for meeting in meetings] if pairs else [],
        first_descent_start=descents.start[0::2],
        first_descent_count=descents.count[0::2],
        second_descent_start=descents.start[1::2],
        second_descent_count=descents.count[1::2],
        descent_body=descents.entries,
        product_start=first_k.start,
        product_count=first_k.count,
        product_first_k=first_k.entries,
        product_second_k=second_k.entries,
        **rows._asdict(),
    )


class _Paths:
    """Rows on every body on their path to the last one where they meet others, and which they meet there."""

    def __init__(self, of_body: dict[int, list[int]], meetings: list[_Meeting], lines: list[list[int]]) -> None:
        end = {body: body for body in of_body}
        for a, b, c in meetings:
            end[a], end[b] = min(end[a], c), min(end[b], c)
        n = len(lines)
        on_body: list[list[int]] = [[] for _ in range(n)]
        for i in range(1, n):
            on_body[i] = [m for body, ms in of_body.items() if i in lines[body] and i >= end[body] for m in ms]
        place: dict[tuple[int, int], int] = {}
        for i in range(n - 1, 0, -1):
            for m in on_body[i]:
                place[i, m] = len(place)
        leaves_first = ragged(on_body[::-1])
        self.on_body = Ragged(leaves_first.start[::-1], leaves_first.count[::-1], leaves_first.entries)
        self.parent = [place.get((lines[i][1], m), -1) for i, m in place]
        met: list[list[int]] = [[] for _ in place]
        for a, b, c in meetings:
            for m in of_body[a]:
                met[place[c, m]] += [place[c, other] for other in of_body[b] if a != b or other <= m]
        self.common = ragged(met)


def _descents(meetings: list[_Meeting], lines: list[list[int]]) -> Ragged:
    """The paths from where two bodies meet to the first of them and to the second, one after the other."""
    return ragged(
        lines[body][: lines[body].index(meeting.ancestor)][::-1]
        for meeting in meetings
        for body in (meeting.a, meeting.b)
    )
