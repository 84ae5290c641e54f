# SPDX-License-Identifier: BSD-3-Clause
"""Where rows end that are propagated from child to parent: at the world, or at a floating base (**lqr** Eq. 49).

Rows of different branches of a base are coupled by the base alone. Eliminated there, before the base is, they are
blocks of their own and the base a system of six equations; at the world they are one dense matrix. A branch can end at
the base where its rows are independent without the freedoms of the base, as those of a foot on a leg of six joints are:
else the block is singular. That is determined once for a mechanism, at typical configurations; where it is not so at
one configuration, a leg that is stretched, methods without regularization take the plan that ends at the world.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.dynamics.iterations import EXPECTED
from linkwork.dynamics.thresholds import INDEPENDENT_AT_END, ROUNDED_ROW
from linkwork.errors import NotFinite
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.plans.bbo import LOOP, WORLD_END, Branch, bbo_tree, branches_of_bases, estimated_operations
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import LOCAL, Tree
from linkwork.quantities.scales import quantity, scales_of

POSES = 2
"""Random configurations at which rows of a robot without loops must be independent."""


def pv_tree(robot: Model, frames: Sequence[str] = ()) -> Tree:
    """The plan of `pv`: rows end at the base or at the world, whatever takes fewer operations."""
    return bbo_tree(robot, frames, WORLD_END, rows_at_base(robot, WORLD_END, 1))


def world_tree(robot: Model, frames: Sequence[str] = ()) -> Tree:
    """The plan of `pv` whose rows all end at the world."""
    return bbo_tree(robot, frames, WORLD_END)


def prox_pv_tree(robot: Model, frames: Sequence[str] = ()) -> Tree:
    """The plan of `prox_pv`: as that of `pv`, for the iterations that are expected."""
    return bbo_tree(robot, frames, WORLD_END, rows_at_base(robot, WORLD_END, EXPECTED))


def prox_bbo_tree(robot: Model, frames: Sequence[str] = ()) -> Tree:
    """The plan of `prox_bbo`: rows end at the root of their loop, others at the base or at the world."""
    return bbo_tree(robot, frames, LOOP, rows_at_base(robot, LOOP, EXPECTED))


@computed_once
def rows_at_base(robot: Model, end: int, iterations: int) -> frozenset[int]:
    """Rows that are to end at the base, of those that would end at the world; none where that takes more operations."""
    tree = constrained_tree(robot, (), LOCAL)
    branches = branches_of_bases(tree, end)
    if not branches:
        return frozenset()
    jacobians = _jacobians(robot, tree)
    rows = frozenset(row for b in branches if all(_independent(b, J, tree) for J in jacobians) for row in b.rows)
    if not rows:
        return rows
    plans = bbo_tree(robot, (), end), bbo_tree(robot, (), end, rows)
    at_world, at_base = (estimated_operations(plan, iterations) for plan in plans)
    return rows if at_base < at_world else frozenset()


def _jacobians(robot: Model, tree: Tree) -> list[Floats]:
    """Rows of unit length at typical configurations: where loops are closed if there are any, else anywhere."""
    loops = len(set(tree.k_row[tree.k_body > 0].tolist())) < np.count_nonzero(tree.k_body > 0) or tree.nterms > 0
    rng = np.random.default_rng(0)
    named = next(iter(robot.poses.values()), robot.neutral())
    poses = [named] if loops else [robot.random(rng) for _ in range(POSES)]
    jacobian, weights = quantity(robot, "constraint_jacobian"), 1 / np.sqrt(scales_of(robot).joints)
    result = []
    for q in poses:
        try:
            result.append(jacobian(q) * weights)
        except (ArithmeticError, ValueError, NotFinite):  # a function of joints has no value here
            result.append(np.zeros((robot.nc, robot.nv)))
    return result


def _independent(branch: Branch, J: Floats, tree: Tree) -> bool:
    """Whether rows are independent of each other and of loops on their way, with the base held."""
    first = int(tree.iv[branch.base])
    others = [i for i in range(1, tree.n) if i != branch.base]
    count = min((int(tree.iv[i]) for i in others if tree.iv[i] > first), default=J.shape[1]) - first
    held = np.delete(J, np.s_[first : first + count], axis=1)
    length = np.linalg.norm(held, axis=1)
    if not (length[branch.rows] > 0).all():
        return False
    held = held / np.where(length > 0, length, 1.0)[:, None]
    rows, loops = held[branch.rows], held[branch.loops]
    if len(loops):
        _, sizes, directions = np.linalg.svd(loops, full_matrices=False)
        directions = directions[sizes > ROUNDED_ROW * max(sizes.max(), 1.0)]
        rows = rows - rows @ directions.T @ directions
    return len(rows) <= rows.shape[1] and float(np.linalg.svd(rows, compute_uv=False).min()) > INDEPENDENT_AT_END
