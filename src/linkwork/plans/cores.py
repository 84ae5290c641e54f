# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of cores of convex shapes: a shape is its core and all within a radius of it."""

from __future__ import annotations

POINT_CORE, SEGMENT_CORE, BOX_CORE, CYLINDER_CORE, ELLIPSOID_CORE, HULL_CORE, TRIANGLE_CORE, NO_CORE = range(8)
"""Of spheres; capsules; boxes, cylinders, ellipsoids, hulls of meshes and triangles of height fields, which have no
radius; planes and surfaces have none."""
