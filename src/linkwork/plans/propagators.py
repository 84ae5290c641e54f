"""Where the rows of constraints meet in the tree, for EFPA and KJR.

Every row of K is a *part* that acts on one body. Two parts meet at the body nearest to both from which both hang; parts
that meet at the world know nothing of each other. EFPA hands parts down to where they meet others and needs the inverse
inertias of these bodies; KJR hands inverse inertias up from there to the two bodies.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from linkwork.model.model import Model
from linkwork.plans.elimination import parts_of_terms
from linkwork.plans.loops import LOOPS, constrained_tree
from linkwork.plans.tree import LOCAL, Tree

PROPAGATORS = LOOPS.extended(
    "propagators",
    sizes=("npaths", "nmeets", "nfelt", "ncouples", "nsteps", "nproducts"),
    integers={
        "term_k": ("nterms",),  # rows of K of a joint's body, and of its parent
        "term_parent_k": ("nterms",),
        "term_body": ("nterms",),
        "path_start": ("n",),  # parts at a body, on their way down: first and count
        "path_count": ("n",),
        "path_part": ("npaths",),  # the row of K
        "path_up": ("npaths",),  # where it is on the parent, -1 if it goes no further
        "meet_start": ("npaths",),  # parts that a part meets here, itself among them: first and count
        "meet_count": ("npaths",),
        "meet_path": ("nmeets",),
        "felt": ("nfelt",),  # bodies whose inverse inertia is needed, parents first
        "couple_body": ("ncouples",),  # pairs of bodies with parts: where they meet,
        "first_start": ("ncouples",),  # the ways up from there to both,
        "first_count": ("ncouples",),
        "second_start": ("ncouples",),
        "second_count": ("ncouples",),
        "step": ("nsteps",),
        "product_start": ("ncouples",),  # and the parts that are on them
        "product_count": ("ncouples",),
        "product_one": ("nproducts",),
        "product_other": ("nproducts",),
    },
    floats={},
)
"""A mechanism with its constraints and where their rows meet."""


def propagators_tree(mechanism: Model, pairs: bool = False) -> Tree:
    """The arrays of a mechanism with the ways of its rows; with those of pairs of bodies if asked (KJR)."""
    tree = constrained_tree(mechanism, (), LOCAL)
    terms, bodies, rows = parts_of_terms(tree, every=True)
    parent = tree.parent.tolist()
    lines = [_line(parent, body) for body in range(tree.n)]
    parts: dict[int, list[int]] = {}
    for m, body in enumerate(bodies):
        if body > 0:
            parts.setdefault(body, []).append(m)
    meeting = {
        (a, b): next(c for c in lines[a] if c in set(lines[b]))
        for a, b in combinations_with_replacement(sorted(parts), 2)
    }
    lists: dict[str, list[int]] = {name: [] for name in PROPAGATORS.integers.keys() - LOOPS.integers.keys()}
    lists |= terms
    needed = {c for c in meeting.values() if c > 0}
    if pairs:
        _couples(parts, meeting, lines, lists)
    lists["felt"] = sorted({body for c in needed for body in lines[c] if body > 0})
    _paths(tree.n, parts, meeting, lines, lists)
    kept = {name: x for name, x in tree._asdict().items() if name not in ("nk", "k_body", "k_row")}
    return PROPAGATORS.type(
        **kept,
        nk=len(bodies),
        k_body=np.array(bodies, dtype=np.int64),
        k_row=np.array(rows, dtype=np.int64),
        npaths=len(lists["path_part"]),
        nmeets=len(lists["meet_path"]),
        nfelt=len(lists["felt"]),
        ncouples=len(lists["couple_body"]),
        nsteps=len(lists["step"]),
        nproducts=len(lists["product_one"]),
        **{name: np.array(values, dtype=np.int64) for name, values in lists.items()},
    )


def _line(parent: list[int], body: int) -> list[int]:
    line = [body]
    while line[-1] > 0:
        line.append(parent[line[-1]])
    return line


def _paths(
    n: int,
    parts: dict[int, list[int]],
    meeting: dict[tuple[int, int], int],
    lines: list[list[int]],
    lists: dict[str, list[int]],
) -> None:
    """Parts on every body on their way to the last one where they meet others, and whom they meet there."""
    end = {body: body for body in parts}
    met: dict[int, list[tuple[int, int]]] = {}
    for (a, b), c in meeting.items():
        if c > 0:
            met.setdefault(c, []).append((a, b))
            end[a], end[b] = min(end[a], c), min(end[b], c)
    there: dict[tuple[int, int], int] = {}
    starts, counts = [0] * n, [0] * n
    for i in range(n - 1, 0, -1):
        starts[i] = len(lists["path_part"])
        for body, ms in parts.items():
            if i in lines[body] and i >= end[body]:
                for m in ms:
                    there[i, m] = len(lists["path_part"])
                    lists["path_part"].append(m)
        counts[i] = len(lists["path_part"]) - starts[i]
    lists["path_start"], lists["path_count"] = starts, counts
    home = {m: body for body, ms in parts.items() for m in ms}
    up, meets = [-1] * len(there), [list[int]() for _ in there]
    for (i, m), s in there.items():
        below = lines[i][1]
        up[s] = there.get((below, m), -1) if below > 0 else -1
    for c, couples in met.items():
        for a, b in couples:
            for m in parts[a]:
                meets[there[c, m]] += [there[c, other] for other in parts[b] if a != b or other <= m]
    assert all(home[m] >= i for i, m in there)
    lists["path_up"] = up
    lists["meet_start"] = np.cumsum([0, *map(len, meets)])[:-1].tolist()
    lists["meet_count"] = [len(x) for x in meets]
    lists["meet_path"] = [s for x in meets for s in x]


def _couples(
    parts: dict[int, list[int]],
    meeting: dict[tuple[int, int], int],
    lines: list[list[int]],
    lists: dict[str, list[int]],
) -> None:
    """The ways from where two bodies meet up to each of them."""
    for (a, b), c in meeting.items():
        if c == 0:
            continue
        lists["couple_body"].append(c)
        for name, body in (("first", a), ("second", b)):
            way = lines[body][: lines[body].index(c)][::-1]
            lists[f"{name}_start"].append(len(lists["step"]))
            lists[f"{name}_count"].append(len(way))
            lists["step"] += way
        products = [(m, other) for m in parts[a] for other in parts[b] if a != b or other <= m]
        lists["product_start"].append(len(lists["product_one"]))
        lists["product_count"].append(len(products))
        lists["product_one"] += [m for m, _ in products]
        lists["product_other"] += [other for _, other in products]
