# SPDX-License-Identifier: BSD-3-Clause
"""Points of bodies, and centers of mass of subtrees: functions of a state."""

from linkwork.quantities.points import (
    point_acceleration,
    point_jacobian,
    point_jacobian_rate,
    point_position,
    point_velocity,
)
from linkwork.quantities.subtrees import (
    subtree_center_of_mass,
    subtree_center_of_mass_jacobian,
    subtree_center_of_mass_jacobian_rate,
    subtree_of,
)

__all__ = [
    "point_acceleration",
    "point_jacobian",
    "point_jacobian_rate",
    "point_position",
    "point_velocity",
    "subtree_center_of_mass",
    "subtree_center_of_mass_jacobian",
    "subtree_center_of_mass_jacobian_rate",
    "subtree_of",
]
