# SPDX-License-Identifier: BSD-3-Clause
"""Errors of steps in minimal coordinates whose loops could not be closed: the loops, the time, and a remedy."""

from __future__ import annotations

from linkwork.closure.clusters import reports
from linkwork.errors import AssemblyError, LinkworkError, SingularConstraints
from linkwork.kernels.clusters.minimal import CORRECTIONS
from linkwork.model.model import Model
from linkwork.plans.clusters import clusters_of, enabled_rows
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import LOCAL


def open_loops(robot: Model, fault: float, where: str) -> LinkworkError:
    """The error for ``progress[0]`` of a step whose loops could not be closed (`kernels.clusters.minimal`).

    Args:
        robot: The mechanism.
        fault: Which cluster, and what is wrong with it.
        where: Words for the time, or the state of a batch.
    """
    count = len(clusters_of(constrained_tree(robot, (), LOCAL), enabled_rows(robot)))
    number, undetermined = round(-fault) - 1, -fault < count + 0.5
    cluster = reports(robot)[number % count]
    loop = " and ".join(f"'{name}'" for name in cluster.constraints)
    joints = ", ".join(cluster.independent)
    if undetermined:
        return SingularConstraints(
            f"{where}the independent joints of '{robot.name}' ({joints}) do not determine the others of {loop}: the "
            "mechanism is at a dead center of theirs. Choose others with robot.with_independent(...), or another method"
        )
    return AssemblyError(
        f"{where}{loop} of '{robot.name}' stays open after {CORRECTIONS} corrections with the independent joints "
        f"({joints}) where they are: steps are too long for these velocities, or a dead center of these joints is "
        "near. Try a shorter dt, other joints with robot.with_independent(...), or another method",
        constraint=cluster.constraints[0],
    )
