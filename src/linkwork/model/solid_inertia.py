# SPDX-License-Identifier: BSD-3-Clause
"""Inertias of solids that are filled evenly."""

from __future__ import annotations

from math import pi

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.mesh_files import Triangles
from linkwork.model.mesh_inertia import mesh_properties
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Mesh, Solid, Sphere

WATER = 1000.0
"""Density of water, in kg/m³, which solids have by default."""


def solid_inertia(solid: Solid, density: float = WATER) -> Inertia:
    """The inertia of a solid of a density in its own frame; of a mesh that of the volume that it encloses.

    Args:
        solid: A box, sphere, ellipsoid, cylinder, capsule or mesh.
        density: In kg/m³.
    """
    match solid:
        case Box(size=size):
            return Inertia.box(density * float(np.prod(size)), size)
        case Sphere(radius=r):
            return Inertia.sphere(density * 4 / 3 * pi * r**3, r)
        case Ellipsoid(radii=radii):
            square = np.array(radii) ** 2
            mass = density * 4 / 3 * pi * float(np.prod(radii))
            return Inertia(mass, rotational=np.diag(square.sum() - square) * mass / 5)
        case Cylinder(radius=r, length=length, rounded=rounded):
            middle = density * pi * r**2 * length
            across, along = middle * (3 * r**2 + length**2) / 12, middle * r**2 / 2
            if rounded:  # two half balls, whose centers of mass are 3/8 r from their flats
                ends = density * 4 / 3 * pi * r**3
                along += ends * 0.4 * r**2
                across += ends * (0.4 * r**2 + length**2 / 4 + 3 / 8 * length * r)
                middle += ends
            return Inertia(middle, rotational=np.diag([across, across, along]))
        case Mesh():
            scale = np.array(solid.scale)
            found = solid.surface()
            faces = found.faces if scale.prod() > 0 else found.faces[:, ::-1]
            volume, center, moments = mesh_properties(Triangles(found.vertices * scale, faces), "exact")
            return Inertia(density * volume, center, density * moments)
    raise ModelError(f"a {type(solid).__name__} has no volume, and so no inertia")
