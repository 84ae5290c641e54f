# SPDX-License-Identifier: BSD-3-Clause
"""Loops that steps could not close, and loops that opened: names, time and a remedy."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from linkwork.closure.clusters import reports
from linkwork.closure.thresholds import DOUBTFUL
from linkwork.dynamics.motion import Motion
from linkwork.errors import AssemblyError, LinkworkError, SimulationWarning, SingularConstraints
from linkwork.inputs import outer_level
from linkwork.kernels.clusters.minimal import CORRECTIONS
from linkwork.model.model import Model
from linkwork.plans.clusters import clusters_of, enabled_rows
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import LOCAL
from linkwork.quantities.scales import typical_row_units
from linkwork.simulation.thresholds import CHECKED_STATES, LIGHT_BODY


def open_loops(robot: Model, fault: float, where: str) -> LinkworkError:
    """The error for ``progress[0]`` of a step whose loops could not be closed (`kernels.clusters.minimal`).

    Args:
        robot: The mechanism.
        fault: Number of the cluster, and the kind of its fault.
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


def warn_of_open_loops(motion: Motion) -> None:
    """A `SimulationWarning` where loops that hold exactly opened, at a few of the recorded states: steps lost them."""
    robot = motion._known()
    exact = np.array([c.is_exact(False) for c in robot.constraints for _ in range(c.rows)], dtype=bool)
    if not exact.any():
        return
    at = np.unique(np.linspace(0, len(motion) - 1, CHECKED_STATES).astype(int))
    enabled = None if motion.enabled is None else motion.enabled[at]
    seen = replace(motion, times=motion.times[at], q=motion.q[at], enabled=enabled)
    error = np.nan_to_num(seen._row_errors()) * exact
    apart = error / typical_row_units(robot)
    k, row = np.unravel_index(apart.argmax(), apart.shape)
    if apart[k, row] <= DOUBTFUL:
        return
    name = next(c.name for c in robot.constraints if row < robot.row_slice(c.name).stop)
    masses = {body: inertia.mass for body, inertia in robot.inertias.items()}
    lightest, most = min(masses, key=lambda body: masses[body]), max(masses.values())
    light = masses[lightest] < LIGHT_BODY * most
    cause = f"body '{lightest}' of {masses[lightest]:.2g} kg is too light beside {most:.3g} kg: " if light else ""
    warnings.warn(
        f"'{name}' of '{robot.name}' is open by {error[k, row]:.2g} at {seen.times[k]:g} s: {cause}try "
        f"{'a heavier body, ' if light else ''}project_every=1, or a shorter dt",
        SimulationWarning,
        stacklevel=outer_level(),
    )
