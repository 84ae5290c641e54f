# SPDX-License-Identifier: BSD-3-Clause
"""The plan of derivatives of constrained dynamics by articulated bodies
(`kernels.derivatives.constrained_articulated`).

Forces of a constraint act on a few bodies, its *ends*. Where a degree of freedom moves the ends of a constraint against
each other, the wrenches on them change; couplings of joints change torques at their joints alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.aba_derivatives import LINE
from linkwork.plans.articulated_derivatives import (
    ARTICULATED_INTEGERS,
    ARTICULATED_SIZES,
    articulated_fields,
    products,
)
from linkwork.plans.constraint_derivatives import ROW_INTEGERS, ROW_SIZES, common_body, row_fields
from linkwork.plans.layout import ragged
from linkwork.plans.ltl import LTL_TREE, ltl_tree
from linkwork.plans.tree import Tree

CONSTRAINED_ARTICULATED_TREE = LTL_TREE.extended(
    "constrained_articulated",
    sizes=(
        *ARTICULATED_SIZES,
        *ROW_SIZES,
        "nends",
        "nend_columns",  # six for each end, rounded up to lines
        "nline_ends",
        "ncoupled",
    ),
    integers={
        **ARTICULATED_INTEGERS,
        **ROW_INTEGERS,
        "end_body": ("nends",),
        "pair_first_end": ("npairs",),  # ends of the bodies of a pair, -1 for the world
        "pair_second_end": ("npairs",),
        "com_end": ("ncom",),
        "combination_end": ("ncombinations",),
        "end_start": ("nlines",),  # ends whose wrenches a column of a line changes: first and count
        "end_count": ("nlines",),
        "line_end": ("nline_ends",),
        "coupled_start": ("nlines",),  # degrees of freedom that are coupled to a column of a line: first and count
        "coupled_count": ("nlines",),
        "coupled_dof": ("ncoupled",),
    },
    floats={},
)
"""A mechanism with its constraints by degrees of freedom, the paths of columns, and the ends of constraints."""


def constrained_articulated_tree(
    robot: Model, frames: Sequence[str] = (), redundant: bool = True, soft: bool = False
) -> Tree:
    """The plan `constraint_derivatives.derivative_tree` for articulated bodies; of robots without tendon rows."""
    tree = ltl_tree(robot, frames)
    changes = _wrench_changes(tree)
    bodies = sorted(changes)
    end = {body: e for e, body in enumerate(bodies)} | {0: -1}
    frame_end = [end.get(int(body), -1) for body in tree.frame_body]
    lines = [set(range(first, min(first + LINE, tree.nv))) for first in range(0, tree.nv, LINE)]
    coupled = _coupled(tree)
    ends = ragged([e for e, body in enumerate(bodies) if changes[body] & line] for line in lines)
    couplings = ragged(sorted(set().union(*(coupled[k] for k in line))) for line in lines)
    return CONSTRAINED_ARTICULATED_TREE.build(
        tree,
        **articulated_fields(tree),
        **row_fields(tree, redundant, soft),
        nend_columns=-(-6 * len(bodies) // LINE) * LINE,
        end_body=bodies,
        pair_first_end=[frame_end[int(f)] for f in tree.pair_first],
        pair_second_end=[frame_end[int(f)] for f in tree.pair_second],
        com_end=[end[int(body)] for body in tree.com_body],
        combination_end=[frame_end[int(f)] for f in tree.combination_frame],
        end_start=ends.start,
        end_count=ends.count,
        line_end=ends.entries,
        coupled_start=couplings.start,
        coupled_count=couplings.count,
        coupled_dof=couplings.entries,
    )


def _wrench_changes(tree: Tree) -> dict[int, set[int]]:
    """The bodies on which wrenches of constraints change, and the degrees of freedom that change them."""
    changes: dict[int, set[int]] = {}

    def add(bodies: Sequence[int], dofs: set[int]) -> None:
        for body in bodies:
            if body:
                changes.setdefault(body, set()).update(dofs)

    for p in range(tree.npairs):
        pair = [int(tree.frame_body[f[p]]) for f in (tree.pair_first, tree.pair_second)]
        root = common_body(tree, *pair)
        add(pair, _dofs_between(tree, pair[0], root) | _dofs_between(tree, pair[1], root))
    for body in tree.com_body.tolist():
        add([body], _dofs_between(tree, body, 0))
    for f in tree.combination_frame[tree.combination_aligned != 0].tolist():
        body = int(tree.frame_body[f])
        add([body], _dofs_between(tree, body, 0))
    return changes


def _dofs_between(tree: Tree, i: int, root: int) -> set[int]:
    """The degrees of freedom of the joints from ``root`` to body ``i``."""
    dofs = set[int]()
    while i != root:
        dofs.update(range(int(tree.iv[i]), int(tree.iv[i]) + DOF[int(tree.kind[i])]))
        i = int(tree.parent[i])
    return dofs


def _coupled(tree: Tree) -> list[set[int]]:
    """For each degree of freedom, those that it shares a coupling with, itself among them."""
    rows: dict[int, set[int]] = {}
    for row, k in zip(tree.term_row.tolist(), tree.term_v.tolist(), strict=True):
        rows.setdefault(row, set()).add(k)
    groups: list[set[int]] = [set() for _ in range(tree.nv)]
    for group in rows.values():
        for k in group:
            groups[k] |= group
    return groups


# Which text has fewer products -------------------------------------------------------------------------


def constrained_products(tree: Tree) -> tuple[int, int]:
    """Multiplications of derivatives of constrained dynamics, by paths (`kernels.derivatives.constrained`) and by
    articulated bodies, without those that both have; of a `constraint_derivatives.derivative_tree`."""
    by_paths, by_bodies = products(tree)
    depth, nv, near = tree.depth + 1, tree.nv, tree.line_count
    columns = np.minimum(nv - LINE * np.arange(tree.nlines), LINE)
    reached = np.maximum(tree.reach, tree.bound_depth[:, None]).sum(axis=0)  # rows take a column to all that they bind
    by_paths += max(int(columns @ (2 * reached - near * (near + 1))), 0)
    by_paths += int(depth[tree.row_dof].sum()) + tree.nc * int(depth.sum())
    changes = _wrench_changes(tree)
    by_paths += 6 * sum(len(dofs) * len(_dofs_between(tree, body, 0)) for body, dofs in changes.items())
    by_bodies += 24 * nv * (tree.nc + 6 * len(changes)) + 6 * nv * sum(map(len, changes.values()))
    return by_paths, by_bodies
