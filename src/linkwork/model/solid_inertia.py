# SPDX-License-Identifier: BSD-3-Clause
"""Inertias of solids that are filled evenly."""

from __future__ import annotations

from linkwork.model.inertia import Inertia
from linkwork.model.shapes import Solid
from linkwork.model.solids import solid_properties

WATER = 1000.0
"""Density of water, in kg/m³, which solids have by default."""


def solid_inertia(solid: Solid, density: float = WATER) -> Inertia:
    """The inertia of a solid of a density in its own frame; of a mesh that of the volume that it encloses.

    Args:
        solid: A box, sphere, ellipsoid, cylinder, capsule or mesh.
        density: In kg/m³.
    """
    volume, center, moments = solid_properties(solid)
    return Inertia(density * volume, center, density * moments)
