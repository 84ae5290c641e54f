# SPDX-License-Identifier: BSD-3-Clause
"""The plan of columns of derivatives that propagate through a tree (`kernels.derivatives.articulated`).

Motion of the tree has a *state* after each degree of freedom: state ``k + 1`` after degree of freedom ``k``, state 0 is
the world's; that of a body is the one after its joint. To a column ``j``, a degree of freedom ``k`` is

| relation | if                                                                                       |
|----------|------------------------------------------------------------------------------------------|
| INSIDE   | its joint is that of ``j`` or beyond it                                                  |
| BEFORE   | its joint is before that of ``j``                                                        |
| s >= 0   | neither: ``s`` is the state where their paths to the world meet, a *branching* state, or 0 |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.aba_derivatives import LINE
from linkwork.plans.layout import Integers, Shape, ragged
from linkwork.plans.tree import LOCAL, TREE, Tree, tree_of

INSIDE, BEFORE, MIXED = -1, -2, -3
"""Relations of a degree of freedom to a column; to a line of columns also that they differ."""

BODY = 250
"""Multiplications that articulated bodies take more than composite ones for a degree of freedom by itself."""

ARTICULATED_SIZES = (
    "nstates",  # degrees of freedom and the world
    "nlines",
    "ncolumns",  # degrees of freedom, rounded up to lines
    "ninside",
    "nabove",
    "nbranches",  # branching states on one path, at most
)
ARTICULATED_INTEGERS: dict[str, Shape] = {
    "before": ("nv",),  # state before each degree of freedom
    "entry": ("nv",),  # state before its joint
    "has_beyond": ("nv",),  # 1 if there are degrees of freedom beyond it
    "branch": ("nstates",),  # branching states are numbered along each path, others are -1
    "top": ("nv",),  # the first branching state of the path to a joint, or the state before the joint
    "enters": ("nv", "nlines"),  # 1 if the joint of a column of a line comes after this degree of freedom
    "relation": ("nv", "ncolumns"),
    "line_relation": ("nv", "nlines"),
    "inside_start": ("nlines",),  # degrees of freedom inside one column of a line: first and count
    "inside_count": ("nlines",),
    "inside_dof": ("ninside",),
    "above_start": ("nlines",),  # bodies before the joint of a column of a line, leaves first: first and count
    "above_count": ("nlines",),
    "above_body": ("nabove",),
}

ARTICULATED_TREE = TREE.extended("articulated", sizes=ARTICULATED_SIZES, integers=ARTICULATED_INTEGERS, floats={})
"""A tree with the paths of its columns of derivatives."""


def articulated_tree(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> Tree:
    """The arrays of a mechanism with the paths of its columns."""
    tree = tree_of(mechanism, frames, reference)
    return ARTICULATED_TREE.build(tree, **articulated_fields(tree))


def articulated_fields(tree: Tree) -> dict[str, Any]:
    """The fields of the paths of columns, for a layout that has them."""
    before, entry, body = _states(tree)
    nv, meeting = tree.nv, _meeting_bodies(tree)
    nlines = -(-nv // LINE)
    lines = [range(LINE * l, min(LINE * l + LINE, nv)) for l in range(nlines)]
    ends = np.array([0, *(int(tree.iv[i]) + DOF[int(tree.kind[i])] for i in range(1, tree.n))], dtype=np.int64)
    met = meeting[np.ix_(body, body)]
    relation = np.full((nv, LINE * nlines), MIXED, dtype=np.int64)
    relation[:, :nv] = np.where(met == body[None, :], INSIDE, np.where(met == body[:, None], BEFORE, ends[met]))
    line_relation = np.empty((nv, nlines), dtype=np.int64)
    enters = np.zeros((nv, nlines), dtype=np.int64)
    inside, above = list[list[int]](), list[list[int]]()
    for l, line in enumerate(lines):
        columns = relation[:, line.start : line.stop]
        line_relation[:, l] = np.where((columns == columns[:, :1]).all(axis=1), columns[:, 0], MIXED)
        enters[[entry[j] - 1 for j in line if entry[j] > 0], l] = 1
        inside.append(np.flatnonzero((columns == INSIDE).any(axis=1)).tolist())
        above.append(sorted({int(body[k]) for k in np.flatnonzero((columns == BEFORE).any(axis=1))}, reverse=True))
    insides, aboves = ragged(inside), ragged(above)
    branch, top = _branches(tree, entry, body, ends)
    return {
        "nstates": nv + 1,
        "nlines": nlines,
        "ncolumns": LINE * nlines,
        "nbranches": max(int(branch.max(initial=-1)) + 1, 1),
        "before": before,
        "entry": entry,
        "has_beyond": np.isin(np.arange(1, nv + 1), before),
        "branch": branch,
        "top": top,
        "enters": enters,
        "relation": relation,
        "line_relation": line_relation,
        "inside_start": insides.start,
        "inside_count": insides.count,
        "inside_dof": insides.entries,
        "above_start": aboves.start,
        "above_count": aboves.count,
        "above_body": aboves.entries,
    }


def _states(tree: Tree) -> tuple[list[int], list[int], Integers]:
    """The states before each degree of freedom and before its joint, and its body."""
    before, entry, last = [0] * tree.nv, [0] * tree.nv, [0] * tree.n
    body = np.zeros(tree.nv, dtype=np.int64)
    for i in range(1, tree.n):
        start = last[i] = last[int(tree.parent[i])]
        for k in range(int(tree.iv[i]), int(tree.iv[i]) + DOF[int(tree.kind[i])]):
            before[k], entry[k], body[k] = last[i], start, i
            last[i] = k + 1
    return before, entry, body


def _meeting_bodies(tree: Tree) -> Integers:
    """For each two bodies, where their paths to the world meet: the last body that is on both, or 0."""
    beyond = np.eye(tree.n, dtype=bool)
    for i in range(tree.n - 1, 0, -1):
        beyond[tree.parent[i]] |= beyond[i]
    meeting = np.zeros((tree.n, tree.n), dtype=np.int64)
    for i in range(1, tree.n):
        meeting[i] = np.where(beyond[i], i, meeting[tree.parent[i]])
    return meeting


def _branches(tree: Tree, entry: Sequence[int], body: Integers, ends: Integers) -> tuple[Integers, list[int]]:
    """Numbers of branching states, and the first on the way to each joint."""
    children = np.bincount(tree.parent[1:], minlength=tree.n)
    branch, count, top = np.full(tree.nv + 1, -1, dtype=np.int64), [0] * tree.n, [0] * tree.n
    for i in range(1, tree.n):
        h = int(tree.parent[i])
        count[i], top[i] = count[h], top[h]
        if children[i] > 1:
            branch[ends[i]] = count[i]
            count[i] += 1
            top[i] = top[h] or int(ends[i])
    return branch, [top[int(tree.parent[i])] or entry[k] for k, i in enumerate(body)]


# Which text has fewer products -------------------------------------------------------------------------


def products(tree: Tree) -> tuple[int, int]:
    """Multiplications of derivatives of forward dynamics, by paths (`kernels.derivatives.aba`) and articulated bodies.

    Where all numbers differ from zero, and without those that both have.
    """
    before, entry, body = _states(tree)
    depth, beyond = np.ones(tree.nv, dtype=np.int64), np.ones(tree.nv, dtype=np.int64)  # each with itself
    branching = np.bincount(before, minlength=tree.nv + 1) > 1
    branches = np.zeros(tree.nv, dtype=np.int64)
    for k, s in enumerate(before):
        if s:
            depth[k] += depth[s - 1]
            branches[k] = branches[s - 1] + branching[s]
    for k in range(tree.nv - 1, -1, -1):
        if before[k]:
            beyond[before[k] - 1] += beyond[k]
    by_paths = (36 + depth) * depth + 2 * (depth + beyond) * (depth + beyond - 1) + beyond * beyond // 2
    first = tree.iv[body]
    inside = beyond[first]
    behind = inside - np.bincount(body, minlength=tree.n)[body]  # beyond the joint
    carried = np.where(np.array(entry) > 0, 54, 18)
    apart = tree.nv - inside - (depth[first] - 1)
    by_bodies = 30 * inside + carried * behind + 15 * apart + 36 * branches + BODY
    return int(by_paths.sum()), int(by_bodies.sum())
