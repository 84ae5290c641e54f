# SPDX-License-Identifier: BSD-3-Clause
"""Generic ranks of rows at each joint: how many of the rows that reach a joint it can satisfy. The plan of PV-early
uses them.

The rows that a joint propagates to its parent are those combinations of rows that it does not move (**lqr** Section
VIII). They depend on the configuration alone, not on inertias: on the Jacobian ``J``, of which a joint's columns are
``K S``. So the backward sweep of `kernels.constrained.pv_early` is done here with combinations of the rows of ``J``, at
a few random configurations, by singular values. A joint moves a row in one of them, or structurally nowhere, as where
the row's point is on the joint's axis.

| symbol | meaning                                                                      |
|--------|------------------------------------------------------------------------------|
| J      | Jacobian of the rows, scaled by inertias of rows and joints: without a unit  |
| T      | combinations of rows on a body, ``(count, nc)``, orthonormal                 |
| KS     | ``T J`` in the columns of the body's joint                                   |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.dynamics.thresholds import STRUCTURALLY_ZERO, TRUSTED_JOINT
from linkwork.errors import NotFinite
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.joints import DOF
from linkwork.model.model import Model
from linkwork.plans.clusters import enabled_rows
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.pv_early import RowRanks, children_of, pv_early_tree, rows_of_bodies
from linkwork.plans.tree import Tree
from linkwork.quantities.scales import quantity, scales_of

CONFIGURATIONS = 4
"""Random configurations at which ranks are taken."""


def pv_early_plan(robot: Model, frames: Sequence[str]) -> Tree:
    """The arrays of a mechanism with the stacks of its enabled rows."""
    return pv_early_tree(robot, frames, row_ranks(robot, tuple(enabled_rows(robot))))


@computed_once
def row_ranks(robot: Model, rows: tuple[int, ...]) -> RowRanks:
    """The number of rows that end at each joint."""
    tree = constrained_tree(robot)
    jacobians = _scaled_jacobians(robot)
    own, children, enabled = rows_of_bodies(tree), children_of(tree), set(rows)
    rank = [0] * tree.n
    dofs: list[tuple[int, ...]] = [()] * tree.n
    general = list(range(len(jacobians)))  # configurations in which all ranks so far are those of general ones
    trusted = True
    left: list[list[Floats]] = [[] for _ in range(tree.n)]
    for i in range(tree.n - 1, 0, -1):
        own_rows = np.eye(robot.nc)[[r for r in own[i] if r in enabled]]
        T = [np.vstack([own_rows, *(left[child][s] for child in children[i])]) for s in range(len(jacobians))]
        columns = slice(int(tree.iv[i]), int(tree.iv[i]) + DOF[int(tree.kind[i])])
        KS = [t @ J[:, columns] for t, J in zip(T, jacobians, strict=True)]
        parts = [np.linalg.svd(x) for x in KS]
        ranks = [int((values > STRUCTURALLY_ZERO).sum()) for _, values, _ in parts]
        rank[i] = max((ranks[s] for s in general), default=0)
        general = [s for s in general if ranks[s] == rank[i]]
        trusted = (
            trusted and max((parts[s][1][: rank[i]].min(initial=1.0) for s in general), default=0.0) > TRUSTED_JOINT
        )
        dofs[i] = _independent_columns([KS[s] for s in general], rank[i])
        left[i] = [U[:, rank[i] :].T @ t for (U, _, _), t in zip(parts, T, strict=True)]
        trusted = trusted and (tree.parent[i] > 0 or len(T[0]) == rank[i])
    return RowRanks(tuple(rank), tuple(dofs), trusted)


def _scaled_jacobians(robot: Model) -> list[Floats]:
    """Jacobians of the rows at random configurations, scaled by inertias of rows and joints."""
    jacobian, scales = quantity(robot, "constraint_jacobian"), scales_of(robot)
    rng = np.random.default_rng(1)
    result = []
    for _ in range(CONFIGURATIONS):
        try:
            J = jacobian(robot.random(rng))
        except (ArithmeticError, ValueError, NotFinite):  # a function of joints has no value there
            continue
        result.append(J / np.sqrt(np.outer(scales.rows, scales.joints)))
    return result


def _independent_columns(matrices: Sequence[Floats], rank: int) -> tuple[int, ...]:
    """As many columns as the rank, the most independent ones of all these matrices, best first."""
    rest = [x.copy() for x in matrices]
    chosen: list[int] = []
    while rest and len(chosen) < rank:
        lengths = np.min([np.linalg.norm(x, axis=0) for x in rest], axis=0).round(6)  # the same on every machine
        lengths[chosen] = -1.0
        k = int(np.argmax(lengths))
        chosen.append(k)
        for x in rest:
            u = x[:, k] / max(float(np.linalg.norm(x[:, k])), 1e-300)
            x -= np.outer(u, u @ x)
    return tuple(chosen)
