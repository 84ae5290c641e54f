# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of cores of convex shapes, and directions that kernels of these have as constants."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

POINT_CORE, SEGMENT_CORE, BOX_CORE, CYLINDER_CORE, ELLIPSOID_CORE, HULL_CORE, TRIANGLE_CORE, NO_CORE = range(8)
"""A shape is its core and all within a radius of it. Cores are those of spheres and capsules; boxes, cylinders,
ellipsoids, hulls of meshes and triangles of height fields, which have no radius; planes and surfaces have none."""

RIM = 8
"""Corners that the end of a cylinder has as a polygon."""
TURNS = tuple((cos(2 * pi * k / RIM), sin(2 * pi * k / RIM)) for k in range(RIM))
"""Cosines and sines of their angles."""

FAN = tuple(
    (cos(2 * pi * (k + 0.5) / n + 0.1), sin(2 * pi * (k + 0.5) / n + 0.1)) for n in (1, 2, 4, 8) for k in range(n)
)
"""Directions of one, two, four and eight contact points, one after the other: off the symmetries of faces, so that no
two corners of one are equally far out."""

SLANTS = tuple((cos(pi * k / 4) / sqrt(5.0), sin(pi * k / 4) / sqrt(5.0), -2.0 / sqrt(5.0)) for k in range(8))
"""Unit vectors that go down and outward."""
