# SPDX-License-Identifier: BSD-3-Clause
"""Which clusters methods solve, by exact operation counts.

`cluster`: a cluster that several bodies of another one carry stays apart from it, or is merged with what is between
these bodies (`plans.clusters`).

`cluster_lcaba`: which constraints are solved where they are, in clusters of bodies, and which as penalties.

A constraint is *local* if few joints support it. How many are few is decided by exact operation counts: of all bounds
that the robot's constraints suggest, the one with the fewest operations, in as many iterations as most robots need. No
bound at all is C-ABA, and a bound of zero is LCABA with couplings of joints in clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkwork.closure.clusters import ties_of
from linkwork.compilers.program import Program
from linkwork.dynamics.costs import program_cost
from linkwork.dynamics.iterations import EXPECTED
from linkwork.kernels.clusters.aba import CLUSTER_ABA
from linkwork.kernels.clusters.lcaba import CLUSTER_LCABA
from linkwork.model.computed import computed_once
from linkwork.model.constraints import Coupling
from linkwork.model.model import Model
from linkwork.plans.cluster_lcaba import InsideCluster, cluster_lcaba_tree
from linkwork.plans.clusters import cluster_tree, enabled_rows
from linkwork.plans.loops import loops_of
from linkwork.plans.tree import Tree


def clusters_by_operations(robot: Model, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a robot by clusters, each carried by one body if that takes fewer operations."""
    return _cluster_tree(robot, frames, _one_carrier(robot, tuple(enabled_rows(robot))))


def _cluster_tree(robot: Model, frames: Sequence[str], single_parent: bool) -> Tree:
    return cluster_tree(robot, frames, ties_of(robot), single_parent=single_parent)


@computed_once
def _one_carrier(robot: Model, rows: tuple[int, ...]) -> bool:
    """Whether merged clusters take fewer operations, where clusters of the enabled ``rows`` have several carriers."""
    if (_cluster_tree(robot, (), False).output_count < 2).all():
        return True
    trees = (_cluster_tree(robot, (), single_parent) for single_parent in (False, True))
    apart, merged = (program_cost(Program.of_robot(robot, CLUSTER_ABA, tree)) for tree in trees)
    return apart is not None and merged is not None and merged.total < apart.total


def local_constraints(robot: Model) -> tuple[str, ...]:
    """Names of the constraints that `cluster_lcaba` solves in clusters; the others are penalties.

    Args:
        robot: The mechanism.
    """
    rows = set(local_rows(robot, tuple(enabled_rows(robot))))
    return tuple(c.name for c in robot.constraints if robot.row_slice(c.name).start in rows and c.enabled)


def loops_in_clusters(robot: Model, frames: Sequence[str] = ()) -> Tree:
    """The arrays of a robot with its local loops in clusters, and penalties for the others, equal in closed form."""
    return _tree(robot, frames, local_rows(robot, tuple(enabled_rows(robot))))


@computed_once
def local_rows(robot: Model, rows: tuple[int, ...]) -> tuple[int, ...]:
    """Those of the enabled ``rows`` that are local, by the fewest operations."""
    choices = _choices(robot)
    if len(choices) == 1:
        return choices[0]
    costs = {choice: cost for choice in choices if (cost := _cost(robot, choice)) is not None}
    return min(costs, key=costs.__getitem__) if costs else choices[0]


def _choices(robot: Model) -> list[tuple[int, ...]]:
    """Sets of local rows to choose from, the smallest first; all of them can be planned for."""
    loops = [loop for loop in loops_of(robot).loops if robot.constraint(loop.constraint).enabled]
    couplings = {c.name for c in robot.constraints if isinstance(c, Coupling)}
    choices: list[tuple[int, ...]] = []
    for bound in [0, *sorted({len(loop.support) for loop in loops})]:
        names = {loop.constraint for loop in loops if len(loop.support) <= bound or loop.constraint in couplings}
        choice = _rows(robot, names)
        if choice in choices:
            continue
        try:
            _tree(robot, (), choice)
        except InsideCluster:
            continue
        choices.append(choice)
    return choices


def _rows(robot: Model, names: Iterable[str]) -> tuple[int, ...]:
    spans = [robot.row_slice(name) for name in names]
    return tuple(sorted(r for span in spans for r in range(span.start, span.stop)))


def _tree(robot: Model, frames: Sequence[str], rows: tuple[int, ...]) -> Tree:
    return cluster_lcaba_tree(robot, frames, ties_of(robot, rows), rows)


def _cost(robot: Model, rows: tuple[int, ...]) -> int | None:
    """Operations with these rows local; None where the program is too large to count."""
    counted = program_cost(Program.of_robot(robot, CLUSTER_LCABA, _tree(robot, (), rows)))
    if counted is None:
        return None
    alone = len(rows) == len(enabled_rows(robot))
    return counted.total if alone else counted.in_iterations(EXPECTED)
