# SPDX-License-Identifier: BSD-3-Clause
"""Shapes that touch, and their surfaces."""

from linkwork.model.extrusions import extrusion
from linkwork.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Ground, HeightField, Mesh, Sphere, Surface

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "Ellipsoid",
    "Ground",
    "HeightField",
    "Mesh",
    "Sphere",
    "Surface",
    "extrusion",
]
