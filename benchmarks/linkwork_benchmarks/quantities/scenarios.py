# SPDX-License-Identifier: BSD-3-Clause
"""What is measured, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwork_benchmarks.scenario import NamedScenario

BATCH = 64
"""States of a batch."""

ROBOTS = ("talos", "ur5")

QUANTITIES = (
    "mass_matrix",
    "inverse_mass_matrix",
    "inverse_dynamics",
    "bias_forces",
    "gravity_forces",
    "coriolis_matrix",
    "regressor",
    "energy",
    "center_of_mass",
    "center_of_mass_jacobian",
    "center_of_mass_jacobian_rate",
    "subtree_center_of_mass",
    "subtree_center_of_mass_jacobian",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
    "frame_placement",
    "body_placements",
    "frame_jacobian",
    "frame_jacobian_rate",
    "point_jacobian",
    "body_jacobians",
    "terms",
    "integrate",
    "difference",
    "interpolate",
    "distance",
)
"""Of `pairs.PAIRS`, in the order of the page."""


@dataclass(frozen=True)
class Timing(NamedScenario):
    """Time per evaluation of one quantity of one robot: by all backends, and Pinocchio's."""

    NAME = "{robot}.{quantity}"

    robot: str
    quantity: str
    compiled: bool = True
    """Whether a straight-line program is made too, in seconds."""
    batch: int = BATCH


SCENARIOS = tuple(Timing(robot, quantity) for robot in ROBOTS for quantity in QUANTITIES)


def smaller(scenario: Timing) -> Timing:
    """The same, for a quick look."""
    return replace(scenario, compiled=False, batch=8)
